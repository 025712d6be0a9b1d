#!/bin/bash
# A workflow carried out by the head on agents as processes: six tasks whose outputs are right, with the head killed in the
# middle and each task run as often as it should; one that fails and is resumed; one that is cancelled.
. "$(dirname "$0")/agents.bash"

for who in games nobody; do id "$who" >/dev/null 2>&1 || { echo "skip workflow: there is no user $who"; exit 0; }; done
mkdir -p "$WORK/bin" "$WORK/home" "$WORK/shared" && cp "$BUILD/bin/phx" "$WORK/bin/" && chmod 755 "$WORK" "$WORK/bin"
chmod 777 "$WORK/home" "$WORK/shared"
as() { setpriv --reuid "$1" --regid users --clear-groups env -C "$WORK/home" "$WORK/bin/phx" "${@:2}"; }
owner() { as games "$@"; }
user() { as nobody "$@"; }
run() { api "/v1/workflows/$1" | jq -r "$2"; }
run_is() { [ "$(run "$1" "$2")" = "$3" ]; }
lines() { wc -l <"$WORK/shared/$1"; }

# task ID COMMAND [MORE]: what it runs notes itself, for how often it ran
task() {
	printf '{ id = "%s"; command = [ "/bin/sh", "-c", "echo x >>%s/shared/ran.%s; %s" ]; cores = 1; %s },\n' "$1" "$WORK" "$1" "$2" "${3:-}"
}
six_tasks() {
	echo 'name = "six"; tasks = ('
	task a 'echo 1 >a.out' 'outputs = [ "a.out" ];'
	task b 'echo 2 >b.out' 'outputs = [ "b.out" ];'
	task c 'sleep 2; expr $(cat a.out) + $(cat b.out) >c.out' 'inputs = [ "a.out", "b.out" ]; outputs = [ "c.out" ]; parents = [ "a", "b" ];'
	task d 'sleep 2; expr $(cat a.out) + 10 >d.out' 'inputs = [ "a.out" ]; outputs = [ "d.out" ]; parents = [ "a" ];'
	task e 'sleep 1; expr $(cat c.out) + 100 >e.out' 'inputs = [ "c.out" ]; outputs = [ "e.out" ]; parents = [ "c" ];'
	task f 'cat d.out e.out >f.out' 'inputs = [ "d.out", "e.out" ]; outputs = [ "f.out" ]; parents = [ "d", "e" ];' | sed 's/,$//'
	echo ');'
}

roles_init() {
	printf 'summary = "jobs"; pool = "batch"; image = "test"; boot = "ram"; runs_jobs = true; drain_grace = "1s";\n' \
		>"$WORK/etc/roles/batch-compute.conf"
	phx reload >/dev/null
}
flows_run() {
	local i
	for i in 1 2; do
		node_init n$i $i
		phx node add n$i --mac 02:00:00:00:00:0$i >/dev/null || return 1
		agent_start n$i
	done
	for i in 1 2; do until_true 20 is n$i .state ready || return 1; done
	cat >"$WORK/flows.conf" <<-END
		name = "flows"; owner = "games"; type = "many_tasks"; relationship = "affiliated"; lower_bound_size = 1;
		users = "nobody"; lease = "10s"; data_directory = "$WORK/shared"; setup_policy = "noop";
	END
	phx re create "$WORK/flows.conf" && owner re activate flows --wait --timeout 60
}

right_in_spite_of_a_crash() {
	local id
	six_tasks >"$WORK/home/six.conf"
	id=$(user workflow submit six.conf --re flows) || return 1
	until_true 20 run_is "$id" .n_done 2 || { run "$id" .; return 1; }
	kill -9 "$HEAD" && wait "$HEAD" 2>/dev/null
	head_start
	until_true 60 run_is "$id" .status done || { run "$id" .; return 1; }
	[ "$(cat "$WORK/shared/f.out" | tr '\n' ' ')" = "11 103 " ] || { cat "$WORK/shared/f.out"; return 1; }
	[ "$(stat -c %U "$WORK/shared/f.out")" = nobody ] && [ "$(run "$id" .n_runs)" = 6 ] || return 1
	local t
	for t in a b c d e f; do [ "$(lines ran.$t)" = 1 ] || { echo "$t ran $(lines ran.$t) times"; return 1; }; done
	user workflow show "$id" | grep -q 'LEVEL' && user workflow show "$id" -o json | jq -e '[.tasks[].state] == ["done","done","done","done","done","done"]' >/dev/null &&
		user workflow show "$id" --graph dot | grep -q '"a" -> "c"' && user workflow list | grep -q six
}
resumed_from_what_is_done() {
	local id
	{ echo 'name = "two"; tasks = ('; task g 'true'; task h "test -e $WORK/shared/now" 'parents = [ "g" ];' | sed 's/,$//'; echo ');'; } >"$WORK/home/two.conf"
	id=$(user workflow submit two.conf --re flows) || return 1
	until_true 30 run_is "$id" .status failed || { run "$id" .; return 1; }
	run "$id" .why | grep -q 'task 2 on n[12]: exit status 1' && touch "$WORK/shared/now" && user workflow resume "$id" || return 1
	until_true 30 run_is "$id" .status done && [ "$(lines ran.g)" = 1 ] && [ "$(lines ran.h)" = 2 ]
}
cancelled_ends_what_runs() {
	local id
	{ echo 'name = "long"; tasks = ('; task i 'sleep 300'; task j 'true' 'parents = [ "i" ];' | sed 's/,$//'; echo ');'; } >"$WORK/home/long.conf"
	id=$(user workflow submit long.conf --re flows) || return 1
	until_true 30 test -e "$WORK/shared/ran.i" && user workflow cancel "$id" || return 1
	until_true 30 run_is "$id" .status cancelled && [ ! -e "$WORK/shared/ran.j" ] && [ "$(run "$id" .n_running)" = 0 ]
}
exit_of() { "$@" >"$WORK/out" 2>&1; echo $?; }
wrong_ones_are_refused() {
	echo 'tasks = ( { id = "a"; command = [ "true" ]; nodes = 2; } );' >"$WORK/home/wide.conf"
	[ "$(exit_of user workflow submit wide.conf --re flows)" != 0 ] && grep -q 'wants 2 nodes' "$WORK/out" || { cat "$WORK/out"; return 1; }
	[ "$(exit_of as daemon workflow submit six.conf --re flows)" != 0 ] && grep -q "no RE 'flows'" "$WORK/out" || { cat "$WORK/out"; return 1; }
	[ "$(exit_of user job submit --re flows -- true)" != 0 ] && grep -q 'phx workflow submit' "$WORK/out" || { cat "$WORK/out"; return 1; }
	[ "$(exit_of as daemon workflow show 1)" != 0 ] && grep -q 'no such workflow run' "$WORK/out" && [ -z "$(as daemon workflow list -o name)" ]
}

head_init "job_lease_s = 10; service_group = \"users\";"
roles_init
check "an RE for workflows has its node" flows_run
check "six tasks have the right outputs, each runs once, though the head is killed" right_in_spite_of_a_crash
check "a workflow that failed is resumed from what is done" resumed_from_what_is_done
check "a cancelled workflow ends what runs" cancelled_ends_what_runs
check "what cannot be carried out, or is not his, is refused" wrong_ones_are_refused
check "a replay decides the same" replays_the_same 30 20
exit $FAILED
