#!/bin/bash
# by turns: 56 s: it takes long.
# Nothing asks again and again whether there is something to do: each process of a head without agents, and a registered agent
# beside its beat, wakes so seldom that no timer can be behind it. Wake-ups are counted, not timed.
. "$(dirname "$0")/agents.bash"
. tests/system/switches.bash

PERIOD=10 MOST=20 # a timer of 100 ms would have 100

# wakes_seldom THREAD PID...: as in switches
wakes_seldom() {
	local thread=$1 pid status=0 n
	local -A before=()
	shift
	[ $# -gt 0 ] || return 1
	for pid in "$@"; do before[$pid]=$(switches "$pid" "$thread"); done
	sleep $PERIOD
	for pid in "$@"; do
		n=$(($(switches "$pid" "$thread") - before[$pid]))
		[ -e "/proc/$pid" ] || { echo "process $pid has ended"; status=1; continue; }
		[ "$n" -le $MOST ] || { echo "$(tr '\0' ' ' <"/proc/$pid/cmdline"): $n wake-ups in $PERIOD s"; status=1; }
	done
	return $status
}
processes_of_the_head() { echo "$HEAD"; pgrep -P "$HEAD"; }

# the control: something that does poll
polls() {
	while :; do sleep 0.1; done
}
a_loop_is_noticed() {
	polls &
	local pid=$! status
	wakes_seldom "" "$pid" >/dev/null
	status=$?
	{ kill "$pid" && wait "$pid"; } 2>/dev/null
	[ $status != 0 ]
}
a_head_without_agents_sleeps() {
	[ "$(processes_of_the_head | wc -l)" -ge 4 ] && sleep 5 || return 1 # what a start still does
	# shellcheck disable=SC2046
	wakes_seldom "" $(processes_of_the_head)
}
an_agent_sleeps_between_beats() {
	until_true 20 is n1 .state ready && sleep 20 || return 1 # connections for results close after a while
	wakes_seldom -phx-link "${AGENT[n1]}"
}

head_init
check a_loop_is_noticed a_loop_is_noticed
check a_head_without_agents_sleeps a_head_without_agents_sleeps
curl -sS -m 20 --unix-socket "$PHX_SOCKET" http://unix/v1/nodes -d '{"name": "n1", "macs": ["02:00:00:00:00:01"]}' >/dev/null
node_init n1 1
agent_start n1
check an_agent_sleeps_between_beats an_agent_sleeps_between_beats
exit $FAILED
