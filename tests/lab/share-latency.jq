# From the window that asked for one more instance to the first answer of the additional node. Events on the input,
# lines of load_play's --served in $served, the web RE in $re.
#   jq -s -r --rawfile served FILE --arg re NAME -f share-latency.jq <EVENTS

def s($ms): ($ms / 100 | round / 10 | tostring) + " s";
def median: sort | if length % 2 == 1 then .[length / 2 | floor] else (.[length / 2 - 1] + .[length / 2]) / 2 end;

([$served | split("\n")[1:][] | select(. != "") | split(",") | {at: (.[0] | tonumber), node: .[1]}]) as $answers
| [.[] | select(.kind == "re_use" and .event.re == $re) | {at: .time_ms, ppm: .event.use_ppm}] as $samples
# where jobs are killed for it, that is the decision; the node goes when they have ended
| [.[] | . as $e | .actions[]? | select(.kind == "note" and ((.re == $re) or (.other_re == $re) or (.text | startswith("job "))))
	| select(.text | test("the web RE wants"))
	| {at: $e.time_ms} + (.text | capture("^(?<node>[^ ]+) goes from (?<from>[^ ]+) to ") // {})]
| reduce .[] as $note ({moves: [], since: null};
	(.since // $note.at) as $since
	| if $note.node then .moves += [{node: $note.node, from: $note.from, at: $since}] | .since = null else .since = $since end)
| .moves
| [.[] | . as $move
	| ([$samples[] | select(.at > $move.at - 20500 and .at <= $move.at)]) as $window
	| ([$answers[] | select(.node == $move.node and .at > $move.at)] | first) as $answer
	| select($answer != null)
	| {node, from, decided: .at, use: (if ($window | length) > 0 then ([$window[].ppm] | add / length / 10000 | round) else 0 end),
	   first: ($window[0].at // .at), took: ($answer.at - .at), all: ($answer.at - ($window[0].at // .at))}]
| (.[] | "\(.node) from \(.from): use \(.use) %; from the first sample of the window to its first answer \(s(.all)), of it after the decision \(s(.took))"),
  (if length > 0 then "from the decision to the first answer: median \(s([.[].took] | median)), worst \(s([.[].took] | max)), of \(length)"
   else "no additional node answered" end)
