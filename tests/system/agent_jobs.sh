#!/bin/bash
# Jobs of a batch RE on agents as processes: what they find around them, how they end, what each run wrote; and that no job
# ever runs twice at once, whoever is silent, hangs or dies.
. "$(dirname "$0")/agents.bash"

for who in games nobody; do id "$who" >/dev/null 2>&1 || { echo "ok agent_jobs # SKIP there is no user $who"; exit 0; }; done
mkdir -p "$WORK/bin" && cp "$BUILD/bin/phx" "$WORK/bin/" && chmod 755 "$WORK" "$WORK/bin"
# the service provider whose RE it is
owner() { setpriv --reuid games --regid users --clear-groups env -C / "$WORK/bin/phx" "$@"; }
LEASE=10
job() { api "/v1/jobs/$1" | jq -r "$2"; }
job_is() { [ "$(job "$1" "$2")" = "$3" ]; }
at_node() { job "$1" '.parts[0].node'; }
# submit OPTIONS... -- CMD...: prints the number
submit() { phx job submit --re queue --user nobody "$@"; }
lines() { wc -l 2>/dev/null <"$1"; }

roles_init() {
	cat >"$WORK/etc/roles/batch-compute.conf" <<-END
		summary = "jobs"; pool = "batch"; image = "test"; boot = "ram"; runs_jobs = true; drain_grace = "1s"; packages = [ "tools" ];
	END
	package tools 1.0 'echo tools'
	phx reload >/dev/null
}

queue_runs() {
	local i
	for i in 1 2 3; do
		node_init n$i $i
		phx node add n$i --mac 02:00:00:00:00:0$i >/dev/null || return 1
		agent_start n$i
	done
	chmod 755 "$WORK"/n? "$WORK"/n?/run
	mkdir -p "$WORK/shared" && chmod 777 "$WORK/shared"
	for i in 1 2 3; do until_true 15 is n$i .state ready || return 1; done
	cat >"$WORK/queue.conf" <<-END
		name = "queue"; owner = "games"; type = "parallel_batch_jobs"; relationship = "affiliated"; granularity = "node";
		role = "batch-compute"; coordinated_RE = "none"; resource_coordination_model = "fb"; lower_bound_size = 3; upper_bound_size = 3;
		lease = "2s"; scheduler = "first-fit"; setup_policy = "noop";
	END
	phx re create "$WORK/queue.conf" && owner re activate queue --wait --timeout 60 &&
		until_true 30 sh -c "[ \$(curl -s --unix-socket $PHX_SOCKET http://unix/v1/nodes | jq '[.nodes[] | select(.state == \"active\")] | length') = 3 ]"
}

# ---- what a job finds, and what it used ----

environment_and_usage() {
	local id
	id=$(submit -n 2 -- sh -c 'echo $PHX_JOB_ID.$PHX_JOB_RUN.$PHX_JOB_RANK $PHX_JOB_RE; wc -l <$HYDRA_HOST_FILE; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done') || return 1
	until_true 20 job_is "$id" .state done || return 1
	[ "$(phx job output "$id" --node "$(at_node "$id")")" = "$(printf '%s.0.0 queue\n2\n' "$id")" ] || return 1
	[ "$(job "$id" '[.parts[] | .cpu_ms > 10 and .memory_peak_bytes > 100000] | all')" = true ] || return 1
	phx job show "$id" | grep -q 'CPU *MEMORY'
}

time_limit() {
	local id
	id=$(submit -t 1s -- sleep 100) || return 1
	until_true 10 job_is "$id" .state failed && [ "$(job "$id" .status)" = 143 ]
}

# The head is away: the agent keeps the limit, and the head hears of it when it is back.
time_limit_without_the_head() {
	local id pid
	id=$(submit -t 2s -- sh -c "echo \$\$ >$WORK/shared/pid; exec sleep 100") || return 1
	until_true 10 test -s "$WORK/shared/pid" || return 1
	pid=$(cat "$WORK/shared/pid")
	head_kill
	until_true 6 sh -c "! kill -0 $pid" || { head_start; return 1; }
	head_start
	until_true 15 job_is "$id" .state failed
}

# ---- runs ----

# A node is taken away by hand: its job is ended (with its checkpoint signal) and runs again elsewhere; each run's output is there.
drained_runs_again() {
	local id node
	id=$(submit --checkpoint-signal USR2 --checkpoint-time 5s --grace 1s -- \
		sh -c 'trap "echo saved; exit 75" USR2; echo begun $PHX_JOB_RUN; [ $PHX_JOB_RUN = 1 ] || while :; do sleep 0.1; done') || return 1
	until_true 10 job_is "$id" .state running && node=$(at_node "$id") && sleep 0.5 || return 1
	phx node drain "$node" --yes >/dev/null || return 1
	until_true 20 job_is "$id" .state done && job_is "$id" .kills 1 || return 1
	[ "$(phx job output "$id")" = "begun 1" ] && phx job output "$id" --run 0 | grep -q saved &&
		[ "$(phx job output "$id" --run 0 | head -n 1)" = "begun 0" ] || return 1
	phx job output "$id" --run 2 >"$WORK/out" 2>&1 && return 1
	grep -q 'no such run' "$WORK/out" || return 1
	phx node resume "$node" --yes >/dev/null && until_true 30 is "$node" .state active
}

# ---- never twice at once ----

# Each run writes its number ten times a second where both see it.
WRITE='while :; do echo $PHX_JOB_RUN >>$0; sleep 0.1; done'
# Run 0 never wrote after run 1 had begun.
one_after_the_other() { [ "$(uniq "$1" | tr '\n' ' ')" = "0 1 " ]; }

# The agent hangs, its job does not: its keeper ends it when the lease is over, and the head waits for that.
agent_hangs() {
	local id node log=$WORK/shared/hangs
	id=$(submit --grace 1s -- sh -c "$WRITE" "$log") || return 1
	until_true 10 test -s "$log" && node=$(at_node "$id") || return 1
	kill -STOP "${AGENT[$node]}"
	until_true 10 is "$node" .up false || { kill -CONT "${AGENT[$node]}"; return 1; }
	sleep $((LEASE - 5))
	job_is "$id" .kills 0 || { kill -CONT "${AGENT[$node]}"; return 1; }
	until_true 40 job_is "$id" .kills 1 && until_true 10 sh -c "tail -n 1 $log | grep -q 1"
	local ran=$?
	kill -CONT "${AGENT[$node]}"
	until_true 15 is "$node" .up true || return 1
	sleep 1
	[ $ran = 0 ] && one_after_the_other "$log" && job_is "$id" .state running && job_is "$id" .kills 1 || return 1
	phx job cancel "$id" && until_true 15 job_is "$id" .state cancelled
}

# The agent is killed and stays away, but not for as long as the lease: the job goes on, once.
agent_back_in_time() {
	local id node log=$WORK/shared/back
	id=$(submit -- sh -c "$WRITE" "$log") || return 1
	until_true 10 test -s "$log" && node=$(at_node "$id") || return 1
	agent_kill "$node"
	until_true 10 is "$node" .up false || return 1
	sleep 2
	agent_start "$node"
	until_true 10 is "$node" .up true && sleep 1 && job_is "$id" .kills 0 && job_is "$id" .state running || return 1
	[ "$(uniq "$log")" = 0 ] && phx job cancel "$id" && until_true 15 job_is "$id" .state cancelled
}

# It starts anew as after a reset: what ran is gone without a word, its keeper too, and runs again at once.
machine_starts_anew() {
	local id node keeper job log=$WORK/shared/anew
	id=$(submit -- sh -c "$WRITE" "$log") || return 1
	until_true 10 test -s "$log" && node=$(at_node "$id") || return 1
	read -r keeper job <"$WORK/$node/var/lib/phoenix/jobs/$id.0.run" || return 1
	agent_kill "$node"
	kill -KILL "$keeper" && until_true 5 sh -c "! kill -0 $job" || return 1
	agent_start "$node" another-boot-$RANDOM
	until_true 10 job_is "$id" .kills 1 && until_true 15 sh -c "tail -n 1 $log | grep -q 1" && one_after_the_other "$log" || return 1
	phx job cancel "$id" && until_true 15 job_is "$id" .state cancelled
}

nothing_is_left() {
	! pgrep -u nobody -f "$WORK" >/dev/null
}

head_init "job_lease_s = $LEASE; service_group = \"users\";"
roles_init
for test in queue_runs environment_and_usage time_limit time_limit_without_the_head drained_runs_again agent_back_in_time machine_starts_anew \
	agent_hangs nothing_is_left; do
	check "$test" "$test"
done
exit $FAILED
