#!/bin/bash
# Jobs of a batch RE on agents as processes: what they find around them, how they end, what each run wrote; and that no job
# ever runs twice at once, whoever is silent, hangs or dies.
. "$(dirname "$0")/agents.bash"

for who in games nobody; do id "$who" >/dev/null 2>&1 || { echo "skip agent_jobs: there is no user $who"; exit 0; }; done
mkdir -p "$WORK/bin" && cp "$BUILD/bin/phx" "$WORK/bin/" && chmod 755 "$WORK" "$WORK/bin"
# the service provider whose RE it is
owner() { setpriv --reuid games --regid users --clear-groups env -C / "$WORK/bin/phx" "$@"; }
TIMEOUT=10
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

# The names in its host file are found by whatever looks names up, for as long as it runs (its nodes are this machine here).
names_of_nodes_resolve() {
	local id node other
	echo '127.0.0.1 localhost' | tee "$WORK"/n{1,2,3}/etc/hosts >/dev/null
	id=$(submit -n 2 -- sh -c 'cat $PHX_JOB_NODEFILE; sleep 100') || return 1
	until_true 15 job_is "$id" .state running && node=$(at_node "$id") && other=$(job "$id" '.parts[1].node') || return 1
	until_true 10 grep -q "^127.0.0.1	$other\$" "$WORK/$node/etc/hosts" || return 1
	if unshare -m true 2>/dev/null; then
		[ "$(unshare -m sh -c "mount --bind $WORK/$node/etc/hosts /etc/hosts && getent ahostsv4 $other" | head -n 1 | cut -d' ' -f1)" = 127.0.0.1 ] ||
			return 1
	fi
	phx job cancel "$id" && until_true 15 job_is "$id" .state cancelled &&
		until_true 10 sh -c "[ \"\$(cat $WORK/$node/etc/hosts)\" = '127.0.0.1 localhost' ]"
}

# A script goes with the job, with options of its own, and with more words and environment than would fit 255 characters.
script_with_long_words() {
	local id long
	long=$(printf '%0100000d' 7)
	printf '#!/bin/bash\n#PHX -n 2 -t 5m --env "GREETING=good day"\necho ${#1} $GREETING $FROM_HERE ${BASH_VERSION:+bash}\n' >"$WORK/solve.sh"
	id=$(FROM_HERE=here submit --env FROM_HERE "$WORK/solve.sh" "$long") || return 1
	until_true 20 job_is "$id" .state done || return 1
	[ "$(phx job output "$id" --node "$(at_node "$id")" | tee "$WORK/out")" = "100000 good day here bash" ] && job_is "$id" .nodes 2 &&
		[ -z "$(find "$WORK"/n?/var/cache/phoenix-jobs -name '*.script')" ] || return 1
	id=$(submit -- sh -c "# $long
echo long") && until_true 20 job_is "$id" .state done && [ "$(phx job output "$id")" = long ] || return 1
	! submit -- echo "$long" "$long" 2>"$WORK/out" && grep -q 'at most 128 KiB in all' "$WORK/out"
}

waiting_ones_say_why() {
	local id other
	id=$(submit -n 3 -- sleep 30) && other=$(submit -n 2 -- true) || return 1
	until_true 10 job_is "$id" .state running && job_is "$other" .reason "waits for 2 nodes: of the 3 of RE queue 0 are idle" &&
		phx job list | grep -q "queued.*waits for 2 nodes" || return 1
	! phx job submit --user nobody -- true 2>"$WORK/out" && grep -q 'no node outside of the REs runs jobs' "$WORK/out" || return 1
	phx job cancel "$id" "$other" && until_true 15 job_is "$id" .state cancelled
}

# A job for each index, two at a time; the rest is cancelled in one go.
arrays() {
	local row first last
	row=$(submit --array 5-25:5%2 -- sh -c 'echo $PHX_ARRAY_INDEX of $PHX_ARRAY_JOB; [ $PHX_ARRAY_INDEX = 5 ] || sleep 30') || return 1
	first=${row%-*} last=${row#*-}
	[ $((last - first)) = 4 ] && until_true 10 job_is "$first" .state done && [ "$(phx job output "$first")" = "5 of $first" ] || return 1
	until_true 10 job_is $((first + 2)) .state running && [ "$(api /v1/jobs | jq '[.jobs[] | select(.state == "running")] | length')" = 2 ] &&
		job_is "$last" .reason "as many members of its array run as may run at a time" && job_is "$last" '.argv[0].text' sh || return 1
	phx job list | grep -q "^ *$((first + 3))-$last  $first\[20-25:5\]  queued" || return 1
	phx job cancel "$row" --yes && until_true 15 job_is $((first + 1)) .state cancelled && until_true 15 job_is $((first + 2)) .state cancelled &&
		job_is "$last" .state cancelled && [ "$(phx events --lines 0 | grep -c 'job.*cancelled')" -ge 1 ] || return 1
	local bad
	for bad in 5-1 1-5% 1-5:0 a-b 1-5:x -1-5 1,; do ! submit "--array=$bad" -- true 2>/dev/null || return 1; done
}

# Lists of indices; all members are waited for, and the worst of them counts.
array_of_a_list_is_waited_for() {
	submit --array 7,1-5:2 --wait -- sh -c 'exit 0' 2>"$WORK/out" && grep -q '^phx: jobs [0-9]*-[0-9]*$' "$WORK/out" || return 1
	submit --array 7,1-5:2%2 --wait -o json -- sh -c '[ $PHX_ARRAY_INDEX != 5 ] || exit 3' >"$WORK/out.json" 2>"$WORK/out"
	[ $? = 1 ] && grep -q '^phx: job[0-9]*: failed: exit status 3$' "$WORK/out" || { cat "$WORK/out"; return 1; }
	[ "$(jq -c '[.jobs[] | [.array_index, .state]]' "$WORK/out.json")" = '[[1,"done"],[3,"done"],[5,"failed"],[7,"done"]]' ]
}

# What is not kept of the output is told: at its end, with the job, by the exit status.
output_is_cut() {
	local id
	id=$(submit -- head -c 1148576 /dev/zero) || return 1
	until_true 15 job_is "$id" .state done && job_is "$id" '.parts[0].output_cut_bytes' 100000 || return 1
	phx job output "$id" >"$WORK/out" 2>"$WORK/err"
	[ $? = 1 ] && tail -n 1 "$WORK/out" | grep -aq 'output cut here' && grep -q "$(at_node "$id"): the output was cut: 97.7 KiB" "$WORK/err" &&
		phx job show "$id" | grep -q 'OUTPUT LOST' || return 1
	id=$(submit -- head -c 1048576 /dev/zero) && until_true 15 job_is "$id" .state done && [ "$(phx job output "$id" | wc -c)" = 1048576 ]
}

time_limit() {
	local id
	id=$(submit -t 1s -- sleep 100) || return 1
	until_true 10 job_is "$id" .state timeout && [ "$(job "$id" .status)" = 143 ] && job_is "$id" .reason "it ran for the 1 s that it may" &&
		phx job list | grep -q "timeout.*it ran for the 1 s" && phx job show "$id" | grep -q "^ *Reason *it ran for the 1 s"
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
	until_true 15 job_is "$id" .state timeout && job_is "$id" .reason "it ran for the 2 s that it may"
}

# ---- runs ----

# A node is taken away by hand: its job is ended (with its checkpoint signal) and runs again elsewhere; each run's output is there.
drained_runs_again() {
	local id node
	id=$(submit --checkpoint-signal USR2 --checkpoint-time 5s --grace 1s -- \
		sh -c 'trap "echo saved; exit 75" USR2; echo begun $PHX_JOB_RUN; [ $PHX_JOB_RUN = 1 ] || while :; do sleep 0.1; done') || return 1
	until_true 10 job_is "$id" .state running && node=$(at_node "$id") && sleep 0.5 || return 1
	phx node drain "$node" --grace 1s >"$WORK/out" 2>&1 </dev/null
	[ $? = 64 ] && grep -q "job $id of .* on $node, for .* ends: .*needs --yes" "$WORK/out" || return 1
	phx node drain "$node" --grace 1s --yes >/dev/null || return 1
	until_true 20 job_is "$id" .state done && job_is "$id" .kills 1 || return 1
	[ "$(phx job output "$id")" = "begun 1" ] && phx job output "$id" --run 0 | grep -q saved &&
		[ "$(phx job output "$id" --run 0 | head -n 1)" = "begun 0" ] || return 1
	phx job output "$id" --run 2 >"$WORK/out" 2>&1 && return 1
	grep -q 'no such run' "$WORK/out" || return 1
	# who, why, how often: with the job, in the history of its RE, among the events
	phx job show "$id" | sed 's/  */ /g' >"$WORK/out" && grep -q "^ *Runs killed 1$" "$WORK/out" && grep -q "^ *Killed by uid:0$" "$WORK/out" &&
		grep -q "^ *Killed because $node: drain$" "$WORK/out" || { cat "$WORK/out"; return 1; }
	phx re history queue | grep -q "job $id is killed and queued again (kill 1): $node: drain, by order of uid:0" || return 1
	phx node resume "$node" --yes >/dev/null && until_true 30 is "$node" .state active
}

# Without a time for it a job is waited for; nothing that begins in between is lost either.
drain_waits() {
	local id node
	rm -f "$WORK/shared/go"
	id=$(submit -- sh -c "while ! [ -e $WORK/shared/go ]; do sleep 0.1; done") || return 1
	until_true 10 job_is "$id" .state running && node=$(at_node "$id") || return 1
	phx node drain "$node" --dry-run | grep -q "job $id of .*: it is waited for until it has ended" || return 1
	phx node drain "$node" </dev/null || return 1
	sleep 3
	job_is "$id" .state running && is "$node" .state draining || return 1
	# nobody else ends it unasked either, whichever way he comes
	api /v1/actions/quarantine -d "{\"nodes\": \"$node\"}" | jq -e --argjson id "$id" '.results[0] | .code == -16 and .jobs[0].id == $id and
		(.error | contains("would end"))' >/dev/null || return 1
	touch "$WORK/shared/go"
	until_true 10 job_is "$id" .state done && job_is "$id" .kills 0 && until_true 10 is "$node" .state maintenance || return 1
	phx node resume "$node" >/dev/null </dev/null && until_true 30 is "$node" .state active
}

# ---- never twice at once ----

# Each run writes its number ten times a second where both see it.
WRITE='while :; do echo $PHX_JOB_RUN >>$0; sleep 0.1; done'
# Run 0 never wrote after run 1 had begun.
one_after_the_other() { [ "$(uniq "$1" | tr '\n' ' ')" = "0 1 " ]; }

# The agent hangs, its job does not: its keeper ends it at the heartbeat timeout, and the head waits for that.
agent_hangs() {
	local id node log=$WORK/shared/hangs
	id=$(submit --grace 1s -- sh -c "$WRITE" "$log") || return 1
	until_true 10 test -s "$log" && node=$(at_node "$id") || return 1
	kill -STOP "${AGENT[$node]}"
	until_true 10 is "$node" .up false || { kill -CONT "${AGENT[$node]}"; return 1; }
	sleep $((TIMEOUT - 5))
	job_is "$id" .kills 0 || { kill -CONT "${AGENT[$node]}"; return 1; }
	until_true 40 job_is "$id" .kills 1 && until_true 10 sh -c "tail -n 1 $log | grep -q 1"
	local ran=$?
	kill -CONT "${AGENT[$node]}"
	until_true 15 is "$node" .up true || return 1
	sleep 1
	[ $ran = 0 ] && one_after_the_other "$log" && job_is "$id" .state running && job_is "$id" .kills 1 || return 1
	phx job cancel "$id" && until_true 15 job_is "$id" .state cancelled
}

# The agent is killed and stays away, but not for the heartbeat timeout: the job goes on, once.
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

head_init "job_lease_s = $TIMEOUT; service_group = \"users\"; job_output_max_mb = 1;"
roles_init
for test in queue_runs environment_and_usage names_of_nodes_resolve script_with_long_words output_is_cut arrays array_of_a_list_is_waited_for waiting_ones_say_why time_limit time_limit_without_the_head drained_runs_again drain_waits agent_back_in_time machine_starts_anew \
	agent_hangs nothing_is_left; do
	check "$test" "$test"
done
exit $FAILED
