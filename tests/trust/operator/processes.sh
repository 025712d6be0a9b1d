#!/bin/bash
# Somebody kills processes of phxd, one by one. Who serves is there again and has lost nothing that was answered; who connects meanwhile waits;
# and nothing of phxd is left when the launcher is gone, so that the next start finds everything free. Of all that it starts nothing is root.
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
alive() { grep -ao WATCHDOG=1 "$WORK/notified" | wc -l; }
its_manager_is_told() {
	local word
	for word in READY=1 RELOADING=1 WATCHDOG=1; do until_true 20 grep -q "$word" "$WORK/notified" || { echo "no $word"; return 1; }; done
	# again and again, by a head that serves
	local had
	had=$(alive)
	until_true 20 eval '[ "$(alive)" -ge '$((had + 3))' ]' || { echo "said to be alive $(alive) times, after $had"; return 1; }
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

# ---- all that a head may start ----

# of PID: number of the user, capabilities, are new ones gained, mode of the system calls
rights_of() { awk '$1 ~ /^(Uid|CapPrm|NoNewPrivs|Seccomp):$/ { printf "%s ", $2 }' "/proc/$1/status"; }
# what a command of Slurm's can do that is run for an RE: a word a line
a_command() {
	cat <<-END
		#!/bin/sh
		{
			cat "\$SLURM_CONF" >/dev/null && echo reads its configuration
			cat $WORK/others/file >/dev/null && echo reads what all may read
			echo x >$WORK/others/new && echo writes where all may write
			cat $PHX_CONFIG >/dev/null && echo reads ours
			[ "\$(awk '/^(Uid|CapPrm|NoNewPrivs|Seccomp):/ { printf "%s ", \$2 }' /proc/self/status)" = '$(id -u games) 0000000000000000 1 2 ' ] && echo is shut in
			echo end
		} >$WORK/told/\$\$ 2>/dev/null
		mv $WORK/told/\$\$ $WORK/told/can
	END
}
all_is_started() {
	local command
	mkdir -p "$WORK/slurm-etc" "$WORK/bin" "$WORK/told" "$WORK/others" && chown games "$WORK/told" && chmod 777 "$WORK/others" && echo x >"$WORK/others/file" || return 1
	echo 'ClusterName=test' >"$WORK/slurm-etc/test.conf"
	for command in sinfo squeue scontrol; do a_command >"$WORK/bin/$command" && chmod 755 "$WORK/bin/$command"; done
	head_conf "service_group = \"games\"; engine_user = \"games\"; slurm_dir = \"$WORK/slurm-etc\"; slurm_paths = [ \"$WORK/told\" ];"
	sed -i 's/tftp = "none"/tftp = "in.tftpd"/' "$PHX_CONFIG"
	roles_init
	PATH=$WORK/bin:$PATH head_start && agreement queue 'engine = "slurm"; slurm_conf = "test";'
	until_true 20 test -e "$WORK/told/can" || { tail -n 5 "$WORK/phxd.log"; return 1; }
}
# who may read and write these, as it is: else the next says nothing
the_user_of_a_command_might() { as games cat "$WORK/others/file" >/dev/null && as games sh -c "echo x >$WORK/others/new" && as games cat "$PHX_CONFIG" >/dev/null; }
commands_of_slurm_see_what_they_need() { [ "$(cat "$WORK/told/can")" = $'reads its configuration\nis shut in\nend' ] || { cat "$WORK/told/can"; return 1; }; }
tftpd() { pgrep -P "$HEAD" -x in.tftpd; }
# to bind its port is all that it may of root's, and its directory all that it reads
in_tftpd_is_a_user() {
	local pid
	pid=$(tftpd) && [ "$(rights_of "$pid")" = "$(id -u nobody) 0000000000000400 1 2 " ] || { echo "in.tftpd, $pid: $(rights_of "$pid")"; return 1; }
	[ "$(readlink "/proc/$pid/cwd")" = "$WORK/head/tftp" ]
}
it_serves() {
	local name
	for name in snponly.efi /undionly.kpxe; do
		rm -f "$WORK/got" && timeout 20 tftp 127.0.0.1 -m binary -c get "$name" "$WORK/got" </dev/null && cmp "$WORK/got" "$WORK/head/tftp/${name#/}" || return 1
	done
	for name in ../../etc/phoenix.conf "$PHX_CONFIG" /etc/passwd /proc/self/cwd/../journal.db; do
		rm -f "$WORK/got" && timeout 20 tftp 127.0.0.1 -m binary -c get "$name" "$WORK/got" </dev/null >/dev/null 2>&1
		[ ! -s "$WORK/got" ] || { echo "it serves $name"; return 1; }
	done
}
# the launcher, which is root, has the sockets that it hands on, and answers on none
none_of_them_is_root() {
	local pid n=0
	for pid in $(children_of "$HEAD"); do
		[ "$(awk '$1 == "Uid:" { print $2 + $3 + $4 + $5 }' "/proc/$pid/status")" -gt 0 ] || { echo "$(tr '\0' ' ' <"/proc/$pid/cmdline") is root"; return 1; }
		n=$((n + 1))
	done
	[ "$n" -ge 4 ]
}
in_tftpd_ends_with_the_launcher() {
	local pid
	pid=$(tftpd) || return 1
	{ kill -9 "$HEAD" && wait "$HEAD"; } 2>/dev/null
	HEAD=
	until_true 10 eval "! kill -0 $pid" || { echo "$pid is left"; return 1; }
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
if [ "$(id -u)" = 0 ] && ip -o addr show | grep -qF 192.0.2.1/; then
	for t in all_is_started the_user_of_a_command_might commands_of_slurm_see_what_they_need in_tftpd_is_a_user it_serves none_of_them_is_root in_tftpd_ends_with_the_launcher; do check $t $t; done
else
	echo "skip in_tftpd: root alone binds its port, in a network of its own (tests/run)"
fi
exit $FAILED
