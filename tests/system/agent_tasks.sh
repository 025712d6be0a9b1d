#!/bin/bash
# Tasks of workflows on one agent as a process: several hundred of them, one agent that is killed, one machine that starts
# anew. Each runs as often as it should, and the workflow gets to its end.
. "$(dirname "$0")/agents.bash"

for who in games nobody; do id "$who" >/dev/null 2>&1 || { echo "skip agent_tasks: there is no user $who"; exit 0; }; done
mkdir -p "$WORK/bin" "$WORK/home" "$WORK/shared" && cp "$BUILD/bin/phx" "$WORK/bin/" && chmod 755 "$WORK" "$WORK/bin"
chmod 777 "$WORK/home" "$WORK/shared"
as() { setpriv --reuid "$1" --regid users --clear-groups env -C "$WORK/home" "$WORK/bin/phx" "${@:2}"; }
run() { api "/v1/workflows/$1" | jq -r "$2"; }
run_is() { [ "$(run "$1" "$2")" = "$3" ]; }
lines() { wc -l 2>/dev/null <"$WORK/shared/$1"; }
lines_are() { [ "$(lines "$1")" = "$2" ]; }
# those of our agents alone
keepers() { pgrep -f -- "--tasks $WORK/"; }

flows_run() {
	printf 'summary = "jobs"; pool = "batch"; image = "test"; boot = "ram"; runs_jobs = true; drain_grace = "1s";\n' \
		>"$WORK/etc/roles/batch-compute.conf"
	phx reload >/dev/null
	node_init n1 1
	phx node add n1 --mac 02:00:00:00:00:01 >/dev/null || return 1
	agent_start n1
	until_true 20 is n1 .state ready || return 1
	cat >"$WORK/flows.conf" <<-END
		name = "flows"; owner = "games"; type = "many_tasks"; relationship = "affiliated"; lower_bound_size = 1;
		users = "nobody"; lease = "30s"; data_directory = "$WORK/shared"; setup_policy = "noop";
	END
	phx re create "$WORK/flows.conf" && as games re activate flows --wait --timeout 60
}

# flow NAME COUNT COMMAND: so many tasks that wait for nobody; prints the number of its run
flow() {
	local i
	{
		echo "name = \"$1\"; tasks = ("
		for ((i = 1; i <= $2; i++)); do
			printf '%s{ id = "t%d"; command = [ "/bin/sh", "-c", "%s" ]; cores = 1; }\n' "$([ "$i" = 1 ] || echo ,)" "$i" "$3"
		done
		echo ');'
	} >"$WORK/home/$1.conf"
	as nobody workflow submit "$1.conf" --re flows
}

hundreds() {
	local id
	id=$(flow many 600 "echo x >>$WORK/shared/many") || return 1
	until_true 60 run_is "$id" .status done || { run "$id" .; return 1; }
	lines_are many 600 && run_is "$id" .n_runs 600 && [ "$(stat -c %U "$WORK/shared/many")" = nobody ] && [ "$(keepers | wc -l)" = 1 ]
}

the_agent_is_killed() {
	local id before
	id=$(flow killed 2 "echo x >>$WORK/shared/killed; while [ ! -e $WORK/shared/go ]; do sleep 0.05; done") || return 1
	until_true 20 lines_are killed 2 && before=$(keepers) || return 1
	agent_kill n1
	touch "$WORK/shared/go"
	agent_start n1
	until_true 40 run_is "$id" .status done && lines_are killed 2 && run_is "$id" .n_runs 2 && [ "$(keepers)" = "$before" ]
}

# Agent, keeper and tasks are gone at once, and it is another boot: what ran is lost, and runs again.
the_machine_starts_anew() {
	local id
	id=$(flow anew 2 "echo x >>$WORK/shared/anew; while [ ! -e $WORK/shared/go2 ]; do sleep 0.05; done") || return 1
	until_true 20 lines_are anew 2 || return 1
	agent_kill n1
	kill -9 "$(keepers)"
	agent_start n1 boot-again
	until_true 60 lines_are anew 4 && touch "$WORK/shared/go2" && until_true 40 run_is "$id" .status done && lines_are anew 4
}

# Who resumes a workflow has that done again whose outputs are not there as they were, and nothing else.
what_is_there_is_found() {
	local id
	made() { (cd "$WORK/shared" && cat ran.a ran.b ran.c 2>/dev/null | sort | uniq -c | tr -s ' \n' ' '); }
	cat >"$WORK/home/again.conf" <<-END
		name = "again";
		tasks = (
		  { id = "a"; cores = 1; outputs = [ "a.out" ]; command = [ "/bin/sh", "-c", "echo a >>ran.a; echo first >a.out" ]; },
		  { id = "b"; cores = 1; inputs = [ "a.out" ]; outputs = [ "b.out" ]; command = [ "/bin/sh", "-c", "echo b >>ran.b; cp a.out b.out" ]; },
		  { id = "c"; cores = 1; outputs = [ "c.out" ]; command = [ "/bin/sh", "-c", "echo c >>ran.c; date +%N >c.out" ]; },
		  { id = "z"; cores = 1; inputs = [ "b.out", "c.out" ]; command = [ "test", "-e", "go3" ]; } );
	END
	id=$(as nobody workflow submit again.conf --re flows) || return 1
	until_true 20 run_is "$id" .status failed && [ "$(made)" = ' 1 a 1 b 1 c ' ] || { made; return 1; }
	rm "$WORK/shared/c.out"
	as nobody workflow resume "$id" && until_true 20 run_is "$id" .status failed && [ "$(made)" = ' 1 a 1 b 2 c ' ] || { made; return 1; }
	run_is "$id" .n_there 2 || return 1
	# b was made of what a makes once more: it is what it was
	echo other >"$WORK/shared/a.out" && as nobody workflow resume "$id" && until_true 20 run_is "$id" .status failed &&
		[ "$(made)" = ' 2 a 1 b 2 c ' ] || { made; return 1; }
	rm "$WORK/shared/a.out" "$WORK/shared/b.out" && touch "$WORK/shared/go3"
	as nobody workflow resume "$id" --unchecked && until_true 20 run_is "$id" .status done && [ "$(made)" = ' 2 a 1 b 2 c ' ]
}

# A task of two nodes runs on both at once, each with its number and the names of both; its output is looked at on the first.
two_nodes() {
	local id
	node_init n2 2
	phx node add n2 --mac 02:00:00:00:00:02 >/dev/null || return 1
	agent_start n2
	until_true 20 is n2 .state ready || return 1
	cat >"$WORK/home/wide.conf" <<-END
		name = "wide";
		tasks = (
		  { id = "both"; nodes = 2; outputs = [ "both.out" ]; command = [ "/bin/sh", "-c",
		    "echo \$PHX_JOB_RANK \$PHX_JOB_NODES >>wide; cat \$PHX_JOB_NODEFILE >wide.\$PHX_JOB_RANK; until [ \$(wc -l <wide) = 2 ]; do sleep 0.05; done; [ \$PHX_JOB_RANK = 1 ] || echo x >both.out" ]; },
		  { id = "small"; cores = 1; inputs = [ "both.out" ]; command = [ "/bin/sh", "-c", "echo small >>wide; ! env | grep PHX_JOB >>wide" ]; } );
	END
	id=$(as nobody workflow submit wide.conf --re flows) || return 1
	until_true 60 run_is "$id" .status done || { run "$id" .; cat "$WORK/shared/wide"; return 1; }
	[ "$(sort "$WORK/shared/wide")" = "$(printf '0 n[1-2]\n1 n[1-2]\nsmall')" ] &&
		[ "$(cat "$WORK/shared/wide.0")" = "$(printf 'n1\nn2')" ] && cmp -s "$WORK/shared/wide.0" "$WORK/shared/wide.1" &&
		run_is "$id" .n_runs 2 && [ -z "$(find "$WORK" -name 'task-*.nodes')" ]
}

# Only one node fails: the other is ended, though it would go on for ever, and the task has failed once.
one_of_two_fails() {
	local id
	printf 'tasks = ( { id = "both"; nodes = 2; command = [ "/bin/sh", "-c", "[ $PHX_JOB_RANK = 0 ] || exit 3; sleep 600" ]; } );\n' \
		>"$WORK/home/half.conf"
	id=$(as nobody workflow submit half.conf --re flows) || return 1
	until_true 40 run_is "$id" .status failed || { run "$id" .; return 1; }
	run "$id" .why | grep -q 'exit status 3' && ! pgrep -f "^sleep 600" >/dev/null || return 1
	printf 'tasks = ( { id = "all"; nodes = 60; command = [ "true" ]; } );\n' >"$WORK/home/many.conf"
	as nobody workflow submit many.conf --re flows 2>"$WORK/said" && return 1
	grep -q 'task 1 wants 60 nodes' "$WORK/said"
}

head_init "job_lease_s = 30; service_group = \"users\";"
check "an RE for workflows has its node" flows_run
check "hundreds of tasks run once each, as their user" hundreds
check "tasks outlive an agent that is killed" the_agent_is_killed
check "what a machine that starts anew took along runs again" the_machine_starts_anew
check "of a workflow that is resumed, what is not there as it was is made again" what_is_there_is_found
check "a task of two nodes has them at once" two_nodes
check "and ends on both if it fails on one" one_of_two_fails
exit $FAILED
