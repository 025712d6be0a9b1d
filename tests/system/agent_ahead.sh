#!/bin/bash
# by turns: 105 s: it takes long.
# Services of the web role run ahead on nodes of the queue: idle, beside the jobs, where both agreements say so. A hand-over takes
# them over as they are, so that a service which takes long to start serves at once; what is not wanted any more is gone.
. "$(dirname "$0")/agents.bash"
. tests/system/exchange.bash

ENGINE='engine = "builtin"; start_ahead = true;'
engine_script() { echo 'exec sleep 100000'; }
START_S=3

# it serves (its check is good) from three seconds after its start on; notes its starts and its pid in RUN of its node
slow_web() {
	cat <<-END
		run=\$(dirname "\$0")/../../../../../../run
		[ "\${1:-}" != ok ] || exec test -e "\$run/web.up"
		rm -f "\$run/web.up"
		echo x >>"\$run/web.starts"
		sleep $START_S
		echo \$\$ >"\$run/web.pid"
		touch "\$run/web.up"
		sleep 100000
	END
}
web_role() {
	cat >"$WORK/etc/roles/web-server.conf" <<-END
		summary = "pages"; pool = "web"; image = "test"; boot = "ram"; drain_grace = "1s"; packages = [ "web" ];
		services = ( { name = "web"; package = "web"; exec = [ "bin/web" ]; stop_grace = "1s"; } );
		health = { kind = "exec"; exec = [ "bin/web", "ok" ]; interval = "1s"; };
	END
	package web 2.0 "$(slow_web)"
	phx reload >/dev/null && sed -i 's/initial_instances/start_ahead = true; &/' "$WORK/pages.conf"
}

node_of() { api /v1/nodes | jq -r "[.nodes[] | select(.pool == \"$1\") | .name] | .[$2] // empty"; }
starts() { cat "$WORK/$1/run/web.starts" 2>/dev/null | wc -l; }
web_pid() { cat "$WORK/$1/run/web.pid"; }
web_runs() { [ -e "$WORK/$1/run/web.up" ] && kill -0 "$(web_pid "$1")"; }
web_nice() { ps -o ni= -p "$(web_pid "$1")" | tr -d ' '; }
web_is_gone() { ! pgrep -f "$WORK/$1/opt/phoenix/pkg/web/.*/bin/web" >/dev/null; }
ahead_on() { until_true 40 is "$1" '.monitor.ahead // "none"' "$2"; }
all_ahead() {
	local n
	for n in $(api /v1/nodes | jq -r '.nodes[] | select(.pool == "queue") | .name'); do
		ahead_on "$n" web-server && until_true 20 web_runs "$n" || { echo "$n runs nothing ahead"; return 1; }
	done
}

queue_runs_it_ahead() {
	activation && all_ahead || return 1
	local n
	for n in $(node_of queue 0) $(node_of queue 1) $(node_of queue 2); do
		[ "$(web_nice "$n")" = 19 ] && is "$n" .actual_role batch-node && is "$n" .healthy true || return 1
	done
	ahead_on "$(node_of pages 0)" none && [ "$(web_nice "$(node_of pages 0)")" = 0 ]
}
jobs_run_beside_it() {
	local id n before
	before=$(for n in n1 n2 n3 n4; do web_pid $n; done)
	id=$(phx job submit --re queue --user nobody -n 3 -- sh -c 'echo it ran') || return 1
	until_true 30 eval "[ \$(api /v1/jobs/$id | jq -r .state) = done ]" && all_ahead || return 1
	[ "$(phx job output "$id" | grep -c '^it ran')" = 3 ] && [ "$(for n in n1 n2 n3 n4; do web_pid $n; done)" = "$before" ]
}
# what the node was told between two events, and how long each step took
steps_of() { api "/v1/events?after=$2&limit=1000" | jq -r ".events[].actions[]?.text // empty" | grep "^$1: step"; }
seq_now() { api /v1/status | jq .seq; }
# of the event whose text has $2, since $1
time_of() { api "/v1/events?after=$1&limit=1000" | jq -r "[.events[] | select(any(.actions[]?; (.text // \"\") | test(\"$2\"))) | .time_ms] | first // empty"; }

hand_over_takes_it() {
	local before old node pid took
	before=$(seq_now) old=$(node_of pages 0)
	use 950000 && until_true 60 settled 2 2 || return 1
	node=$(node_of pages 0)
	[ "$node" != "$old" ] || node=$(node_of pages 1)
	took=$(($(time_of "$before" "^$node is active") - $(time_of "$before" "^$node goes from queue")))
	steps_of "$node" "$before" | sed 's/^/    /'
	echo "    $took ms from the decision until it serves; a start takes $START_S s"
	[ "$took" -lt $((START_S * 1000)) ] && [ "$(starts "$node")" = 1 ] && [ "$(web_nice "$node")" = 0 ] && ahead_on "$node" none &&
		web_runs "$node" && is "$node" .healthy true
}
comes_back_and_is_ahead_again() {
	local node
	use 50000 && until_true 60 settled 3 1 || return 1
	all_ahead && ahead_on "$(node_of pages 0)" none || return 1
	for node in $(node_of queue 0) $(node_of queue 1) $(node_of queue 2); do [ "$(web_nice "$node")" = 19 ] || return 1; done
}
killed_agents_leave_one() {
	local node
	node=$(node_of queue 0)
	agent_kill "$node"
	agent_start "$node"
	ahead_on "$node" none
	ahead_on "$node" web-server && until_true 20 web_runs "$node" && [ "$(pgrep -fc "$WORK/$node/opt/phoenix/pkg/web/.*/bin/web")" = 1 ]
}
# the head dies as soon as it has decided
killed_in_the_middle() {
	local before
	before=$(seq_now)
	use 950000 && until_true 20 eval "[ -n \"\$(time_of $before 'goes from queue')\" ]" || return 1
	head_kill
	head_start
	until_true $PATIENCE settled 2 2 || return 1
	use 50000 && until_true 60 settled 3 1 && all_ahead
}
a_node_in_maintenance_runs_nothing() {
	local node
	node=$(node_of queue 1)
	phx node drain "$node" --yes --wait --timeout 20 >/dev/null && ahead_on "$node" none && until_true 20 web_is_gone "$node" || return 1
	phx node resume "$node" >/dev/null && ahead_on "$node" web-server
}
it_ends_with_the_pair() {
	deactivation || return 1
	local i
	for i in 1 2 3 4; do until_true 40 web_is_gone n$i && ahead_on n$i none && [ ! -e "$WORK/n$i/var/lib/phoenix/ahead.json" ] || return 1; done
}
one_word_is_not_enough() {
	sed -i 's/start_ahead = true;//' "$WORK/pages.conf"
	activation || return 1
	sleep 6
	local i
	for i in 0 1 2; do is "$(node_of queue $i)" '.monitor.ahead // "none"' none && web_is_gone "$(node_of queue $i)" || return 1; done
}

check exchange_init exchange_init
check web_role web_role
for test in queue_runs_it_ahead jobs_run_beside_it hand_over_takes_it comes_back_and_is_ahead_again killed_agents_leave_one killed_in_the_middle \
	a_node_in_maintenance_runs_nothing it_ends_with_the_pair one_word_is_not_enough replayed; do
	check "$test" "$test"
done
exit $FAILED
