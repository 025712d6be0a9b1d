#!/bin/bash
# Somebody kills processes of phxd, one by one. Who serves is there again and has lost nothing that was answered; who connects meanwhile waits;
# and nothing of phxd is left when the launcher is gone, so that the next start finds everything free.
. "$(dirname "$0")/../trust.bash"

children_of() { pgrep -P "$1"; }
told() { phx events 2>/dev/null | grep -q "$1"; }
serves_as() { [ "$(head_pid)" = "$1" ]; }
states() { api /v1/nodes | jq -c '[.nodes[] | {name, state, role, pool}]'; }

a_killed_head_is_there_again() {
	local before=$SERVES was
	was=$(states)
	post /v1/nodes '{"name": "n8", "macs": ["02:00:00:00:00:08"]}' | jq -e '.seq > 0' >/dev/null || return 1
	kill -9 "$before"
	# the socket listens all the time: this waits, and is answered
	[ "$(ask root GET /v1/nodes/n8)" = 200 ] || { echo "n8: $(cat "$WORK/answer")"; return 1; }
	SERVES=$(head_pid)
	[ -n "$SERVES" ] && [ "$SERVES" != "$before" ] && kill -0 "$HEAD" || { echo "it is $SERVES, and was $before"; return 1; }
	grep -q "phxd: the head, process $before, was ended by signal 9: it is started again" "$WORK/phxd.log" || return 1
	[ "$(states | jq -c 'map(select(.name != "n8"))')" = "$was" ] && until_true 20 is n1 .up true
}
its_vault_is_a_new_one() { [ "$(children_of "$HEAD" | wc -l)" = 3 ] && pgrep -P "$HEAD" -f -- --vault >/dev/null; }
signals_reach_the_head() {
	printf 'summary = "new"; pool = "web"; image = "test"; drain_grace = "1s";\n' >"$WORK/etc/roles/new.conf"
	kill -HUP "$HEAD"
	until_true 10 eval "api /v1/roles | grep -q '\"new\"'"
}
# the launcher is told what the head says of itself, and tells its manager; one text comes right behind the other
its_manager_is_told() {
	local word
	for word in READY=1 RELOADING=1 WATCHDOG=1; do until_true 20 grep -q "$word" "$WORK/notified" || { echo "no $word"; return 1; }; done
}
the_head_has_no_way_to_the_manager() {
	! tr '\0' '\n' <"/proc/$SERVES/environ" | grep -q '^NOTIFY_SOCKET=' && tr '\0' '\n' <"/proc/$HEAD/environ" | grep -q '^NOTIFY_SOCKET='
}
# of each filter there are two, of the launcher's children beneath its own
filters_of() { awk '$1 == "Seccomp:" { mode = $2 } $1 == "Seccomp_filters:" { n = $2 } END { print mode, n }' "/proc/$1/status"; }
each_process_makes_its_own_calls_alone() {
	local pid
	[ "$(filters_of "$HEAD")" = '2 2' ] || { echo "the launcher has $(filters_of "$HEAD")"; return 1; }
	for pid in $(children_of "$HEAD"); do [ "$(filters_of "$pid")" = '2 4' ] || { echo "$(tr '\0' ' ' <"/proc/$pid/cmdline") has $(filters_of "$pid")"; return 1; }; done
}
# of root's what binds a port, spawns somebody else and ends him; no network of its own where nothing serves DHCP and TFTP. Bits by number:
# CHOWN, DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER, KILL, SETGID, SETUID, SETPCAP, NET_BIND_SERVICE, NET_RAW (wake-on-LAN)
LEFT=00000000000025ef
caps_of() { awk '/^Cap(Prm|Eff|Bnd):/ { print $2 }' "/proc/$1/status" | sort -u; }
the_launcher_keeps_what_it_needs() {
	[ "$(id -u)" = 0 ] || return 0
	[ "$(caps_of "$HEAD")" = "$LEFT" ] || { echo "the launcher has $(caps_of "$HEAD" | tr '\n' ' ')"; return 1; }
	local pid
	for pid in $(children_of "$HEAD"); do
		[ "$(awk '/^CapBnd:/ { print $2 }' "/proc/$pid/status")" = "$LEFT" ] || { echo "$pid: $(caps_of "$pid")"; return 1; }
	done
}
the_launcher_has_no_network() {
	# what it listens on it never reads: no connection is its own
	! ss -Htnp 2>/dev/null | grep -q "pid=$HEAD,"
}
without_the_launcher_nothing_is_left() {
	local pids
	pids=$(children_of "$HEAD")
	[ "$(wc -w <<<"$pids")" = 3 ] || { echo "children: $pids"; return 1; }
	{ kill -9 "$HEAD" && wait "$HEAD"; } 2>/dev/null
	HEAD=
	for pid in $pids; do until_true 10 eval "! kill -0 $pid" || { echo "$pid is left"; return 1; }; done
	head_start && is n8 .name n8
}
it_ends_as_a_whole() {
	local pids
	pids=$(children_of "$HEAD")
	kill "$HEAD"
	wait "$HEAD" || { echo "it ended with $?"; return 1; }
	HEAD=
	for pid in $pids; do ! kill -0 "$pid" 2>/dev/null || { echo "$pid is left"; return 1; }; done
	[ ! -e "$PHX_SOCKET" ] && grep -q STOPPING=1 "$WORK/notified"
}
# one that cannot even begin is not begun for ever
one_that_never_served_is_not_started_again() {
	timeout 20 "$BUILD/bin/phxd" --head --config "$PHX_CONFIG" </dev/null >"$WORK/alone" 2>&1
	[ $? = 78 ] && grep -q 'is for phxd itself' "$WORK/alone"
}

export NOTIFY_SOCKET=$WORK/notify WATCHDOG_USEC=2000000
socat -u "UNIX-RECV:$NOTIFY_SOCKET" "OPEN:$WORK/notified,creat,append" &
MANAGER=$!
trap 'kill $MANAGER; finish' EXIT
trust_head
SERVES=$(head_pid)
[ -n "$SERVES" ] || { echo "not ok processes: no head"; exit 1; }
for t in a_killed_head_is_there_again its_vault_is_a_new_one signals_reach_the_head its_manager_is_told the_head_has_no_way_to_the_manager each_process_makes_its_own_calls_alone the_launcher_keeps_what_it_needs the_launcher_has_no_network \
	without_the_launcher_nothing_is_left it_ends_as_a_whole one_that_never_served_is_not_started_again; do check $t $t; done
exit $FAILED
