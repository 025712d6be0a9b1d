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

head_init "job_lease_s = 30; service_group = \"users\";"
check "an RE for workflows has its node" flows_run
check "hundreds of tasks run once each, as their user" hundreds
check "tasks outlive an agent that is killed" the_agent_is_killed
check "what a machine that starts anew took along runs again" the_machine_starts_anew
exit $FAILED
