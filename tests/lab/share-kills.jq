# At each forced return: were the killed jobs the first of those that ran, by size, then by latest start (then by latest
# submission), and no more of them than the return needed? Computed from the journal and from the runs as they were
# seen (CSV on standard input); sizes are those that were asked for ("JOB NODES" a line of SIZES): a job of which nobody
# wrote one down cannot be checked, and is WRONG. Nothing here knows how the core decides.
#   jq -R -s -r --slurpfile events EVENTS --rawfile sizes SIZES --arg re NAME -f share-kills.jq <RUNS

def killed_in: [.actions[]? | select(.kind == "note" and .re == $re) | .text
	| capture("^job (?<id>[0-9]+) of RE [^ ]+ is killed[^:]*: (?<why>.*)$") | {id: (.id | tonumber), why}];

($events | map(select(any(.actions[]?; .kind == "note" and .re == $re)) | {seq, time_ms, kills: killed_in} | select(.kills != []))) as $returns
| ($events | map(select(.kind == "job_result" and (.event.job != null)) | {seq, id: .event.job, run: (.event.run // 0)})) as $results
| ([$returns[] | .seq as $s | .kills[] | {seq: $s, id}]) as $kills
| (split("\n")[1:] | map(select(. != "") | split(",") | map(tonumber) | {id: .[0], run: .[1], size: .[2], started_ms: .[3]})) as $runs
| ($sizes | split("\n") | map(select(. != "") | split(" ") | {(.[0]): (.[1] | tonumber)}) | add) as $asked
| def run_of($id; $seq): [$kills[] | select(.id == $id and .seq < $seq)] | length;
  def over($run; $seq): ([$results[] | select(.id == $run.id and .run == $run.run and .seq <= $seq)] | length) >= $run.size;
  $returns[]
| select(any(.kills[]; .why | test("the web RE wants")))
| . as $r
| [.kills[].id] as $ids
# a run that nobody saw began after everybody looked last: just before it was killed
| ([$ids[] | . as $id | run_of($id; $r.seq) as $run | select(any($runs[]; .id == $id and .run == $run) | not)
	| {id: $id, run: $run, started_ms: $r.time_ms}]) as $unseen
| [($runs + $unseen)[] | . + {size: $asked[.id | tostring]} | . as $run | select(.started_ms <= $r.time_ms and .run == run_of(.id; $r.seq) and (.size == null or (over($run; $r.seq) | not)))]
| sort_by([.size, -.started_ms, -.id])
| . as $running
| ([$running[] | select(.size == null) | .id]) as $unsized
| ([.[:($ids | length)][].id] | sort) as $first
| ($r.time_ms / 1000 | floor | strflocaltime("%H:%M:%S")) as $at
| (if $unsized == [] and $first == ($ids | sort) and ($ids | length) == 1 then "ok" else "WRONG" end)
	+ " \($at) killed: \($ids | map(tostring) | join(", ")); ran, by size and latest start: "
	+ ([$running[] | "job \(.id) (\(.size // "?") nodes, for \(($r.time_ms - .started_ms) / 1000 | round) s)"] | join(", "))
	+ (if $unsized == [] then "" else "; nobody wrote down how many nodes were asked for by \($unsized | map("job \(.)") | join(", "))" end)
	+ "; because " + $r.kills[0].why
