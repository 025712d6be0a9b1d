# Wake-ups of programs that have nothing to do: how often a second a thread of theirs goes to sleep again (voluntary context
# switches of all threads). phxd without agents; a registered agent without a job, and with one that runs. What the thread of
# the agent's beat does is told apart: each beat is a request over TLS, which the head holds. Sourced by run, after jobs.sh.

WAKEUPS_SECONDS=${WAKEUPS_SECONDS:-60}

. tests/system/switches.bash

# wakeups_of NAME TARGET PID THREAD...: one row each, "NAME" of the first thread, "NAME, THREAD" of the others
wakeups_of() {
	local name=$1 target=$2 pid=$3 before=() after=() i
	shift 3
	for i in "$@"; do before+=("$(switches "$pid" "$i")"); done
	sleep "$WAKEUPS_SECONDS"
	for i in "$@"; do after+=("$(switches "$pid" "$i")"); done
	for ((i = 0; i < $#; i++)); do
		row "$name${before[1]:+$([ $i = 0 ] && echo ', beside its beat' || echo ', its beat')}" \
			"$([ $i = 0 ] && echo "$target" || echo -)" 1/s - \
			"$(awk -v n=$((after[i] - before[i])) -v s="$WAKEUPS_SECONDS" 'BEGIN { printf "%.2f", n / s }')"
	done
}

job_runs() { [ "$(api "/v1/jobs/$1" | jq -r .state)" = running ]; }

# keeper_of AGENT: the process that keeps its only job
keeper_of() { pgrep -P "$1" -x phx-job; }

wakeups() {
	local id
	if head_init && head_start; then
		sleep 5
		wakeups_of "wake-ups of phxd without agents" 1 "$(head_pid)" ""
	else
		missed "wake-ups of phxd" "phxd does not start, see $WORK/phxd.log"
	fi
	head_stop
	jobs_up 1 || { missed "wake-ups of phx-agent" "see $WORK/phxd.log"; jobs_down; return; }
	sleep 20 # connections for results close after a while
	wakeups_of "wake-ups of an idle phx-agent" 1 "${JOBS_AGENTS[0]}" -phx-link phx-link
	id=$(phx job submit --re queue --user nobody --time 1h -- sleep 3600) && (wait_for 30 "the job" job_runs "$id") ||
		{ missed "wake-ups of phx-agent with a job" "the job does not run"; jobs_down; return; }
	sleep 20
	wakeups_of "wake-ups of phx-agent with a job" 1 "${JOBS_AGENTS[0]}" -phx-link phx-link
	wakeups_of "wake-ups of the job's keeper" 1 "$(keeper_of "${JOBS_AGENTS[0]}")" ""
	phx job cancel "$id" --yes >/dev/null
	jobs_down
}
