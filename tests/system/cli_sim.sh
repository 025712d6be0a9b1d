#!/bin/bash
# phx sim from the outside: formats, exit codes, messages, pictures; and a real head's journal replayed.
. "$(dirname "$0")/phxd.bash"

SAMPLES=etc/sim/samples
LOG=$SAMPLES/jobs.swf
export PHX_TRACES=${PHX_TRACES:-}

# what the last phx said tells more than the head's log
not_ok() {
	echo "not ok $*"
	FAILED=1
	echo "status ${status:-}" && tail -n 8 "$WORK/out" "$WORK/err"
}
# run COMMAND...: its status in $status, its output in $WORK/out and $WORK/err
run() {
	"$@" >"$WORK/out" 2>"$WORK/err" </dev/null
	status=$?
}
# said STATUS FILE TEXT: what the last run left
said() { [ "$status" = "$1" ] && grep -qF -- "$3" "$WORK/$2"; }
sim() { run phx sim "$@"; }
announce() { post /v1/nodes "$(printf '{"name": "%s", "macs": ["02:00:00:00:00:%02x"]}' "$1" "$2")" >/dev/null; }
value() { jq -r "$1" "$WORK/out"; }

# ---- the quick form ----

one_object() {
	sim run --swf $LOG --nodes 32 --processors-per-node 4 --scheduler fcfs -o json
	[ "$status" = 0 ] && [ ! -s "$WORK/err" ] && [ "$(jq -s length "$WORK/out")" = 1 ] || return 1
	for key in jobs completed mean_wait_s mean_exec_s mean_turnaround_s makespan_s node_hours peak_nodes; do
		[ "$(value "has(\"$key\")")" = true ] || return 1
	done
	[ "$(value .jobs)" = 577 ] && [ "$(value .completed)" = 577 ] && [ "$(value .peak_nodes)" = 32 ] &&
		[ "$(value '(.mean_wait_s + .mean_exec_s - .mean_turnaround_s) * 1000 | fabs | floor')" = 0 ]
}
# without --nodes the log's own
nodes_of_the_log() {
	sim run --swf $LOG --processors-per-node 4 -o json
	[ "$status" = 0 ] && [ "$(value .nodes)" = 32 ]
}
same_whatever_it_is_packed_with() {
	local packed plain
	sim run --swf $LOG --processors-per-node 4 --scheduler easy -o csv && plain=$(cat "$WORK/out")
	gzip -c $LOG >"$WORK/j.swf.gz" && xz -c $LOG >"$WORK/k.swf.xz" && zstd -q -c $LOG >"$WORK/l.swf.zst" || return 1
	for packed in j k l; do
		sim run --swf $packed.swf --traces "$WORK" --processors-per-node 4 --scheduler easy -o csv
		[ "$status" = 0 ] && [ "$(cat "$WORK/out")" = "$plain" ] || return 1
	done
}
schedulers_differ() {
	local s waits=
	for s in first-fit fcfs easy sjf; do
		sim run --swf $LOG --processors-per-node 4 --scheduler $s -o json && [ "$status" = 0 ] || return 1
		waits+="$(value .mean_wait_s) "
	done
	[ "$(tr ' ' '\n' <<<"$waits" | sort -u | grep -c .)" = 4 ]
}
weeks_cut() {
	sim run --swf $LOG --processors-per-node 4 --weeks 1 -o json
	[ "$status" = 0 ] && [ "$(value '.jobs == 577 and .completed < 577 and .completed + .unfinished == 577')" = true ]
}
twice_the_same() {
	phx sim run etc/sim/drawn.conf -o json >"$WORK/a" && phx sim run etc/sim/drawn.conf -o json >"$WORK/b" && cmp "$WORK/a" "$WORK/b"
}
nasa_is_exact() {
	sim run --swf NASA-iPSC-1993-3.1-cln.swf --nodes 128 --weeks 2 -o json
	[ "$status" = 0 ] && [ "$(value '"\(.jobs) \(.completed) \(.mean_exec_s | floor)"')" = '2604 2603 573' ]
}

# ---- formats ----

formats_agree() {
	local csv
	sim run etc/sim/shared.conf -o csv
	csv=$(awk -F, '$1 == "batch" { print $3 "," $9 }' "$WORK/out")
	[ "$(awk -F, '{ print NF }' "$WORK/out" | sort -u | wc -l)" = 1 ] || return 1
	sim run etc/sim/shared.conf -o json
	[ "$csv" = "$(value '.res[] | select(.name == "batch") | "\(.completed),\(.mean_turnaround_s)"')" ] || return 1
	[ "$(value '.total.completed == ([.res[].completed] | add)')" = true ] || return 1
	sim run etc/sim/shared.conf -o yaml && said 0 out 'scenario: ' || return 1
	sim run etc/sim/shared.conf -o tsv --no-header
	[ "$status" = 0 ] && grep -q "^completed$(printf '\t')" "$WORK/out" && ! grep -q METRIC "$WORK/out"
}
examples_run() {
	local s
	for s in shared dedicated cloud workflow drawn; do
		sim run etc/sim/$s.conf
		[ "$status" = 0 ] && [ ! -s "$WORK/err" ] || return 1
	done
}
pictures() {
	sim run etc/sim/shared.conf --svg "$WORK/run.svg" && [ "$status" = 0 ] &&
		grep -q '^<svg ' "$WORK/run.svg" && grep -q 'Nodes held' "$WORK/run.svg" && tail -n 1 "$WORK/run.svg" | grep -q '</svg>' ||
		return 1
	sim run etc/sim/shared.conf --svg /nonexistent/run.svg
	[ "$status" = 64 ] && said 64 err /nonexistent
}

# ---- sweep, compare, plan ----

sweep_in_order() {
	sim sweep etc/sim/shared.conf --vary clusters.shared.nodes=36..40:2 --vary res.batch.lease=30m,1h --workers 3 \
		-o csv --svg "$WORK/sweep.svg"
	[ "$status" = 0 ] && [ "$(tail -n +2 "$WORK/out" | cut -d, -f1,2 | paste -sd' ')" = '36,30m 36,1h 38,30m 38,1h 40,30m 40,1h' ] &&
		grep -q 'clusters.shared.nodes = 38' "$WORK/sweep.svg" || return 1
	cp "$WORK/out" "$WORK/three"
	sim sweep etc/sim/shared.conf --vary clusters.shared.nodes=36..40:2 --vary res.batch.lease=30m,1h --workers 1 -o csv
	cmp "$WORK/out" "$WORK/three"
}
compare_files_and_scenarios() {
	phx sim run etc/sim/dedicated.conf -o json >"$WORK/before.json" || return 1
	sim compare "$WORK/before.json" etc/sim/shared.conf
	said 0 out DIFFERENCE && grep -q '^completed ' "$WORK/out" || return 1
	sim compare "$WORK/before.json" "$WORK/before.json" -o csv
	[ "$status" = 0 ] && grep -q '^completed,.*,+0,' "$WORK/out"
}
plan_answers() {
	sim plan --swf $LOG --processors-per-node 4 --requests $SAMPLES/web.csv --peak 16 --weeks 1 --slower 20 \
		-o json --svg "$WORK/plan.svg"
	[ "$status" = 0 ] && grep -q 'smallest that is enough' "$WORK/plan.svg" || return 1
	[ "$(value '.answer_nodes as $n | .before as $b | .points[] | select(.nodes == $n) |
		.nodes < $b.nodes and .batch.completed >= $b.batch.completed and
		.batch.mean_turnaround_s <= $b.batch.mean_turnaround_s * 1.2')" = true ] || return 1
	sim plan --swf $LOG --processors-per-node 4 --demand $SAMPLES/demand.csv --weeks 1 --slower 20
	said 0 out 'nodes are enough' && said 0 out '<- smallest that is enough'
}
plan_may_have_no_answer() {
	# killed jobs must not wait: not even on all nodes together
	sim plan --swf $LOG --processors-per-node 4 --nodes 8 --demand $SAMPLES/demand.csv --weeks 1 --slower 0 --lost 0 --model coop2008
	[ "$status" = 0 ] || said 1 out 'No shared cluster'
}
plan_on_the_archives() {
	sim plan --swf NASA-iPSC-1993-3.1-cln.swf --requests wc98-per-minute.csv --begin 1998-06-07 --peak 64 -o json
	[ "$status" = 0 ] && [ "$(value '.before.batch.completed')" = 2603 ] && [ "$(value '.answer_nodes < 160')" = true ]
}

# ---- mistakes ----

# every name of the list is one that a simulation takes
policies_are_listed() {
	run phx policy list -o json
	[ "$status" = 0 ] && [ "$(value '[.policies[].kind] | unique | length')" = 5 ] || return 1
	[ "$(value '.policies[] | select(.name == "dr") | .parameters')" = "R S C" ] || return 1
	local name
	for name in $(phx policy list scheduler -o name); do
		sim run --swf $LOG --scheduler "$name" -o json && [ "$status" = 0 ] || return 1
	done
	for name in $(phx policy list provisioning -o name); do
		sim iaas --policy "$name" -o json && [ "$status" = 0 ] || return 1
	done
	run phx policy list nosuch
	said 64 err "'nosuch' is none of coordination"
}
options_are_checked() {
	sim run && said 64 err 'one of a scenario file, --swf FILE and --workflow FILE' || return 1
	sim run --swf $LOG etc/sim/shared.conf && said 64 err 'one of a scenario file, --swf FILE and --workflow FILE' || return 1
	sim run etc/sim/shared.conf --nodes 5 && said 64 err '--nodes goes with --swf' || return 1
	sim run --swf $LOG --scheduler best && said 64 err "'best' is no scheduler; there are: first-fit" || return 1
	sim run --swf $LOG --nodes many && said 64 err '"many" is not a number' || return 1
	sim run --swf $LOG --weeks 0 && said 64 err '--weeks: a number from 1 to 1000' || return 1
	sim run --swf /nonexistent.swf && said 64 err '/nonexistent.swf' || return 1
	sim run --swf $LOG -o xml && said 64 err "'xml'" || return 1
	sim sweep etc/sim/shared.conf && said 64 err 'settings are to be varied' || return 1
	sim sweep etc/sim/shared.conf --vary a=1..x && said 64 err 'FROM..TO' || return 1
	sim plan --swf $LOG && said 64 err 'either --requests FILE' || return 1
	sim plan --swf $LOG --requests $SAMPLES/web.csv && said 64 err 'either --capacity' || return 1
	sim plan --swf $LOG --demand $SAMPLES/demand.csv --slower much && said 64 err 'percent are wanted' || return 1
	sim compare etc/sim/shared.conf && said 64 err 'FILE is missing'
}
files_are_checked() {
	printf '; MaxNodes: 8\n1 0 -1 10 1\n' >"$WORK/short.swf"
	sim run --swf "$WORK/short.swf" && said 78 err "$WORK/short.swf:2: " || return 1
	printf '; MaxNodes: 8\n1 0 -1 x 1 -1 -1 1 10 -1 1 1 1 -1 1 -1 -1 -1\n2 0 -1 10 1 -1 -1 1 10 -1 1 1 1 -1 1 -1 -1 -1\n' >"$WORK/bad.swf"
	sim run --swf "$WORK/bad.swf" && said 78 err "$WORK/bad.swf:2: run time" || return 1
	sim run --swf "$WORK/bad.swf" --lenient -o json && said 0 err '1 malformed rows skipped' || return 1
	[ "$(value '"\(.jobs) \(.input.malformed)"')" = '1 1' ] || return 1
	sed 's/nodes = 40/nodes = 0/' etc/sim/shared.conf >"$WORK/bad.conf"
	sim run "$WORK/bad.conf" && said 78 err "$WORK/bad.conf:9: nodes is 0" || return 1
	sim run etc/sim/shared.conf --set clusters.shared.size=3 && said 78 err "unknown key 'size'" || return 1
	echo '{"a": 1}' >"$WORK/no.json"
	sim compare "$WORK/no.json" "$WORK/no.json" && said 78 err 'this is no result' || return 1
	sim replay $LOG && said 78 err 'this is no journal' || return 1
	sim replay /nonexistent && said 64 err '/nonexistent'
}

# ---- faults ----

faults_are_survived() {
	sim faults --seed 7 --hours 3 --nodes 16 -o json && [ "$(value '.ok and .events > 200')" = true ] || return 1
	local hash
	hash=$(value .hash)
	sim faults --seed 7 --hours 3 --nodes 16 && said 0 out "trace $hash" && said 0 out 'every invariant held'
}
faults_that_do_not_exist() {
	sim faults --fault 5 && said 64 err 'fault 5 is not in the table' || return 1
	sim faults --nodes 5000 && said 64 err 'nodes'
}

# ---- a real journal ----

head_works() {
	local i
	head_conf && head_start && package tools 1 'exit 0' && roles_init && post /v1/reload >/dev/null || return 1
	for i in 1 2 3; do announce n$i $i && fake_start n$i $i; done
	for i in 1 2 3; do until_true 20 idle n$i ready "" || return 1; done
	run phx node assign 'n[1-3]' batch --wait --timeout 60 && [ "$status" = 0 ] || return 1
	run phx node assign n1 web --wait --timeout 60 && [ "$status" = 0 ]
}
# one node, a job that has ended: what the cluster's own journal says would have been
a_job_ends() {
	announce n4 4 && fake_start n4 4 && until_true 20 idle n4 ready "" || return 1
	printf 'name = "queue"; relationship = "same"; type = "parallel_batch_jobs"; role = "batch"; resource_coordination_model = "fb";
		lower_bound_size = 1; upper_bound_size = 1; setup_policy = "noop";\n' >"$WORK/queue.conf"
	run phx re create "$WORK/queue.conf" && run phx re activate queue --wait --timeout 60 && [ "$status" = 0 ] || return 1
	post /v1/jobs '{"argv": ["work"], "re": "queue", "user": "daemon"}' >/dev/null
	until_true 20 eval '[ "$(api /v1/jobs | jq -r ".jobs[0].state")" = done ]'
}
what_would_have_been() {
	a_job_ends || return 1
	sim plan --journal "$WORK/head/journal.db" --more-nodes 2 -o json
	[ "$status" = 0 ] && [ "$(value '[.nodes_changed - .nodes, .jobs, .left_out, .agreed.total.completed, .changed.total.completed] | @csv')" = 2,1,0,1,1 ] || return 1
	[ "$(value '.agreed.pools[0] | "\(.pool) \(.values.nodes | max)"')" = 'queue 1' ] || return 1
	sim plan --journal "$WORK/head/journal.db" --model dr --setup wipe
	said 0 out 'AS AGREED' && said 0 out completed || return 1
	sim plan --journal "$WORK/head/journal.db" --more-nodes -9
	said 1 err 'the cluster could not have been so: there were' || return 1
	sim plan --journal "$WORK/head/journal.db" --begin 1990-01-01 && said 64 err 'the journal begins after that time' || return 1
	sim plan --journal "$WORK/head/journal.db" --more-nodes many && said 64 err 'a number is wanted' || return 1
	sim plan --journal "$WORK/head/journal.db" --swf $LOG && said 64 err '--swf is for logs' || return 1
	sim plan --swf $LOG --more-nodes 3 && said 64 err 'go with --journal' || return 1
	sim plan --journal /nonexistent && said 64 err '/nonexistent'
}
a_running_head_keeps_its_journal() {
	sim replay "$WORK/head/journal.db"
	said 75 err 'phxd has it open'
}
its_journal_is_identical() {
	head_stop
	sim replay "$WORK/head/journal.db" -o json
	[ "$status" = 0 ] && [ "$(value '.identical and .events > 20 and .actions > 10 and .checked_snapshot > 0')" = true ] || return 1
	sim replay "$WORK/head/journal.db"
	said 0 out ': identical, the newest snapshot too'
}
a_changed_journal_is_not() {
	sqlite3 "$WORK/head/journal.db" "UPDATE events SET actions = '[]' WHERE seq = (SELECT min(seq) FROM events WHERE actions <> '[]')"
	sim replay "$WORK/head/journal.db"
	said 1 out 'first difference at event' && said 1 out 'recorded  []'
}

# what loads slowly is loaded when it is first called (cmd/phx/late.c): a simulation is shorter than that
slow_libraries_are_left_out() {
	! ldd "$BUILD/bin/phx" | grep -E 'libcurl|libxml2|libicu' && ! ldd "$BUILD/bin/phx-sim" | grep libcurl
}

# phx-sim is given what phx was, options in front of the words too, and does nothing else
it_is_a_program_of_its_own() {
	local alone=$WORK/usr/bin/phx
	mkdir -p "$WORK/usr/bin" "$WORK/usr/libexec/phoenix" && cp "$BUILD/bin/phx" "$alone"
	run "$alone" sim faults --hours 1
	said 1 err "phx: phx-sim is not installed: neither $WORK/usr/bin/phx-sim nor $WORK/usr/bin/../libexec/phoenix/phx-sim is there" || return 1
	run "$alone" help sim faults
	said 0 out 'usage: phx sim faults' || return 1
	cp "$BUILD/bin/phx-sim" "$WORK/usr/libexec/phoenix/"
	run "$BUILD/bin/phx" --config /nonexistent sim faults --hours 1 -o json
	[ "$status" = 0 ] && mv "$WORK/out" "$WORK/beside" || return 1
	run "$alone" --config /nonexistent sim faults --hours 1 -o json
	[ "$status" = 0 ] && cmp "$WORK/beside" "$WORK/out" || return 1
	run "$BUILD/bin/phx-sim" node list
	said 64 err 'phx: node list is done by phx alone'
}

check slow_libraries_are_left_out slow_libraries_are_left_out
check it_is_a_program_of_its_own it_is_a_program_of_its_own
check one_object one_object
check nodes_of_the_log nodes_of_the_log
check same_whatever_it_is_packed_with same_whatever_it_is_packed_with
check schedulers_differ schedulers_differ
check weeks_cut weeks_cut
check twice_the_same twice_the_same
check formats_agree formats_agree
check examples_run examples_run
check pictures pictures
check sweep_in_order sweep_in_order
check compare_files_and_scenarios compare_files_and_scenarios
check plan_answers plan_answers
check plan_may_have_no_answer plan_may_have_no_answer
check policies_are_listed policies_are_listed
check options_are_checked options_are_checked
check files_are_checked files_are_checked
check faults_are_survived faults_are_survived
check faults_that_do_not_exist faults_that_do_not_exist
if [ -n "$PHX_TRACES" ]; then
	check nasa_is_exact nasa_is_exact
	check plan_on_the_archives plan_on_the_archives
else
	echo "skip nasa_is_exact: there are no archives" && echo "skip plan_on_the_archives: there are no archives"
fi
check head_works head_works
check what_would_have_been what_would_have_been
check a_running_head_keeps_its_journal a_running_head_keeps_its_journal
check its_journal_is_identical its_journal_is_identical
check a_changed_journal_is_not a_changed_journal_is_not
exit $FAILED
