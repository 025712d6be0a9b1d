#!/bin/bash
# The units of etc/systemd: systemd understands every line, phxd and what it starts make no system call that its unit forbids,
# and the exit statuses that end the restarts are those of phxd. No systemd runs here: strace sees the calls.
if [ "${1:-}" != inside ]; then
	# ports of DHCP and TFTP are this test's own in a network of its own; other processes are seen as the unit lets them be
	[ "$(id -u)" = 0 ] || { echo "skip phxd_unit: it wants root"; exit 0; }
	exec unshare --net --mount "$0" inside
fi
mount -t proc -o hidepid="$(sed -n 's/^ProtectProc=//p' "$(dirname "$0")/../../etc/systemd/phxd.service")" proc /proc || exit 1
# an address beside loopback: without one, names are not resolved
ip link set lo up && ip link add phx0 type bridge && ip addr add 10.254.254.1/24 dev phx0 && ip link set phx0 up || exit 1
. "$(dirname "$0")/phxd.bash"
SLURM_USER=slurm
. tests/system/slurm.bash
[ -x "$BUILD/tests/fake/agent" ] || { echo "not ok fake_agent is not built"; exit 1; }
for program in systemd-analyze strace slurmctld munged tftp; do
	PATH=$PATH:/usr/sbin command -v $program >/dev/null || { echo "not ok there is no $program: make deps"; exit 1; }
done
export PATH=$PATH:/usr/sbin
trap 'slurm_stop; finish' EXIT

UNITS=etc/systemd
unit_value() { sed -n "s/^$2=//p" "$UNITS/$1"; }

# ---- what systemd says of the units ----

# beside a copy of each of them, since the programs are not installed where the units look for them
verified() {
	local unit
	mkdir -p "$WORK/units"
	for unit in "$@"; do
		sed 's,^ExecStart=/[^ ]*,ExecStart=/bin/true,' "$unit" >"$WORK/units/${unit##*/}"
	done
	systemd-analyze verify --man=no "$WORK"/units/* >"$WORK/verify" 2>&1
	[ $? = 0 ] && [ ! -s "$WORK/verify" ] && return
	cat "$WORK/verify"
	return 1
}
every_line_is_understood() { verified "$UNITS"/*; }
# what is not is told: else the test above says nothing
a_mistake_is_told() {
	sed 's/^WatchdogSec=/WatchdogSeconds=/' "$UNITS/phxd.service" >"$WORK/wrong.service"
	! verified "$WORK/wrong.service" >/dev/null
	rm -r "$WORK/units"
}

# ---- system calls ----

# calls_of SET...: the names of its calls; a set may hold sets
calls_of() {
	local name
	for name in "$@"; do
		case $name in
		@*) # shellcheck disable=SC2046 # one word each
			calls_of $(systemd-analyze syscall-filter "$name" | sed -n '2,$s/^ *\([@a-z0-9_-]*\)$/\1/p') ;;
		*) echo "$name" ;;
		esac
	done
}
# what a unit's filter lets through, and @default always; a line of it that begins with ~ takes away: the groups that it names
allowed() { # UNIT
	# shellcheck disable=SC2046
	calls_of @default $(unit_value "$1" SystemCallFilter | grep -v '^~') | sort -u >"$WORK/listed"
	# shellcheck disable=SC2046
	calls_of $(unit_value "$1" SystemCallFilter | sed -n 's/^~//p' | tr ' ' '\n' | sed 's/:.*//') | sort -u | comm -23 "$WORK/listed" -
}
# trace NAME [OPTION...]: phxd; its calls, and those of whatever it starts, are in $WORK/NAME.calls when it has ended
# who looks for leaks is itself a tracer, and there can be one
trace() { ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 exec strace -f -qq -c -U name -o "$WORK/$1.calls" "$BUILD/bin/phxd" --config "$PHX_CONFIG" "${@:2}" >>"$WORK/phxd.log" 2>&1; }
head_traced() {
	(trace "$1") &
	STRACE=$!
	until_true 30 eval "! kill -0 $STRACE || api /v1/status" && HEAD=$(pgrep -P "$STRACE")
}
# a child of strace's, not ours
traced_stop() {
	kill "$HEAD"
	wait "$STRACE"
	HEAD=
}
made() { sort -u "$WORK"/*.calls | grep -xE '[a-z0-9_]+' | grep -vxE 'syscall|total'; }

unit_conf() {
	head_conf 'slurm_dir = "'"$SLURM_ETC"'"; engine_user = "slurm"; open_images = true;'
	sed -i 's/dhcp_mode = "none"; tftp = "none"/dhcp_mode = "dhcp"; dhcp_range = "127.0.0.10,127.0.0.99"; tftp = "in.tftpd"/' "$PHX_CONFIG"
	roles_init
}
# and it answered: its partition is known
slurm_was_asked() { api '/v1/events?limit=1000' | jq -e 'any(.events[]; .kind == "re_queue" and (.event.engine_partitions | length) > 0)'; }
slurm_re() {
	cat >"$WORK/queue.conf" <<-END
		name = "queue"; type = "parallel_batch_jobs"; relationship = "same"; granularity = "node"; role = "batch";
		coordinated_RE = "none"; resource_coordination_model = "fb"; lower_bound_size = 1; upper_bound_size = 1;
		engine = "slurm"; slurm_conf = "test";
	END
	phx re create "$WORK/queue.conf" >>"$WORK/phxd.log" 2>&1 && phx re activate queue --wait --timeout 240 >>"$WORK/phxd.log" 2>&1 &&
		until_true 60 slurm_was_asked
}
downloaded() {
	curl -sS -m 20 "http://127.0.0.1:$HTTP/images/test/1/vmlinuz" | cmp - "$WORK/head/images/test/1/vmlinuz" &&
		curl -sS -m 20 --cacert "$WORK/head/pki/ca.pem" "https://127.0.0.1:$HTTPS/images/test/1/vmlinuz" | cmp - "$WORK/head/images/test/1/vmlinuz"
}
booted() {
	tftp 127.0.0.1 -m binary -c get snponly.efi "$WORK/booted.efi" && cmp "$WORK/booted.efi" "$WORK/head/tftp/snponly.efi"
}
staged() {
	api /v1/res/queue/data/in.conf -T "$WORK/queue.conf" >/dev/null && api /v1/res/queue/data/in.conf | cmp - "$WORK/queue.conf"
}
snapshots() { sqlite3 "$WORK/head/journal.db" 'SELECT COUNT(*) FROM snapshots'; }
a_snapshot_is_made() {
	local i
	for i in $(seq 120); do post /v1/nodes "{\"name\": \"x$i\", \"macs\": [\"02:00:00:00:01:$(printf %02x "$i")\"]}" >/dev/null; done
	until_true 30 eval '[ "$(snapshots)" -gt 0 ]'
}
answers_as_a_user() {
	local pid
	pid=$(api /v1/status | jq -r --arg n "$1" '.children[] | select(.name == $n) | .pid') && [ "$(awk '$1 == "Uid:" { print $2 + $3 + $4 + $5 }' "/proc/$pid/status")" -gt 0 ] ||
		{ echo "$1, $pid: $(grep Uid: "/proc/$pid/status")"; return 1; }
}
serves_as_it_does() {
	chmod 755 "$WORK" && slurm_init 1 && slurmctld_start -i && unit_conf && head_begin && head_traced first || return 1
	package tools 1.0 'echo tools' && phx reload >/dev/null 2>&1 || return 1
	post /v1/nodes '{"name": "n1", "macs": ["02:00:00:00:00:01"], "serial": "SN1"}' >/dev/null
	fake_start n1 1 --env os --image test --digest "$IMAGE_DIGEST"
	until_true 30 idle n1 ready "" && slurm_re && until_true 30 idle n1 active batch && downloaded && booted && staged && a_snapshot_is_made || return 1
	for child in dnsmasq in.tftpd; do answers_as_a_user "$child" || return 1; done
	traced_stop
}
# the last that the journal knows of is a week and a day ago: phxd asks whether somebody keeps the clock right
serves_after_a_week_off() {
	sqlite3 "$WORK/head/journal.db" "UPDATE snapshots SET hash = NULL,
		state = json_set(state, '\$.now_ms', json_extract(state, '\$.now_ms') - 8 * 24 * 3600 * 1000)"
	head_traced second && traced_stop && made | grep -qxE 'adjtimex|clock_adjtime'
}
every_call_is_allowed() {
	comm -23 <(made) <(allowed phxd.service) >"$WORK/forbidden"
	[ ! -s "$WORK/forbidden" ] && return
	echo "phxd.service forbids: $(tr '\n' ' ' <"$WORK/forbidden")"
	return 1
}
# the trace is of the whole, and the sets are resolved: what a head does and a filter must let through, and what it must not
calls_were_seen() {
	local call
	for call in execve sendfile fsync accept4 setuid; do made | grep -qx $call || { echo "no $call in the trace"; return 1; }; done
	allowed phxd.service >"$WORK/allowed"
	grep -qx openat "$WORK/allowed" && ! grep -qxE 'mount|reboot|settimeofday|.*@.*' "$WORK/allowed"
}
# phx-agent is root on its node, where it mounts, starts services and boots: it has no filter. One that gets one needs a test.
the_agent_has_no_filter() { ! grep -q SystemCallFilter "$UNITS/phx-agent.service"; }

# ---- exit statuses ----

# ends OPTION...: a start that ends, with $ENDED
ends() {
	timeout 60 "$BUILD/bin/phxd" --config "$PHX_CONFIG" "$@" >>"$WORK/phxd.log" 2>&1
	ENDED=$?
}
ends_for_good() { ends "$@"; unit_value phxd.service RestartPreventExitStatus | tr ' ' '\n' | grep -qx "$ENDED"; }
a_person_must_look() {
	cp "$PHX_CONFIG" "$WORK/good.conf"
	mv "$WORK/head/journal.db" "$WORK/journal.away" && ends_for_good && mv "$WORK/journal.away" "$WORK/head/journal.db" &&
		echo 'http_port = "many";' >"$PHX_CONFIG" && ends_for_good && rm "$PHX_CONFIG" && ends_for_good &&
		cp "$WORK/good.conf" "$PHX_CONFIG" && ends_for_good --nonsense
}
# what passes by itself is tried again: another phxd has the journal
what_passes_is_tried_again() {
	head_start
	ends
	[ $ENDED != 0 ] && ! unit_value phxd.service RestartPreventExitStatus | tr ' ' '\n' | grep -qx "$ENDED"
}

# as phxd asks for by itself, where it may: main.c; and the default is for 10,000 agents, each with one or two connections
# StateDirectory= would give all below it to root where the group is head_user's (tests/lab/deb.guest shows it on a real systemd)
no_file_is_given_to_root() {
	[ -z "$(unit_value phxd.service StateDirectory)" ] && unit_value phxd.service ReadWritePaths | grep -qx /var/lib/phoenix
}
files_are_enough_for_the_default() {
	local max
	max=$(phx config show -o json | jq -r '.. | objects | select(.key == "connections_max") | .value')
	[ "$(unit_value phxd.service LimitNOFILE)" -ge $((max * 3 * 11 / 10 + 1024)) ] && [ "$max" -ge 20000 ]
}

check "systemd understands every line of the units" every_line_is_understood
check "a line that systemd does not understand is told" a_mistake_is_told
check "phxd serves nodes, Slurm, files, DHCP and TFTP under a tracer" serves_as_it_does
check "and after a week off" serves_after_a_week_off
check "the tracer saw what it must have" calls_were_seen
check "phxd.service allows every system call that was made" every_call_is_allowed
check "phx-agent.service has no filter" the_agent_has_no_filter
check "what needs a person ends with a status that ends the restarts" a_person_must_look
check "what passes by itself does not" what_passes_is_tried_again
check "phxd.service has systemd give no file to root" no_file_is_given_to_root
check "LimitNOFILE is enough for connections_max" files_are_enough_for_the_default
exit $FAILED
