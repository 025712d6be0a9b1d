#!/bin/bash
# What somebody has who takes over a process of phxd, in the measure of systemd-analyze security: 0 is nothing, 10 is all. The unit is one, and
# the launcher is root in it; the kernel holds each other process to less than that. It is measured as the unit that would give it so much: what
# phxd.service shuts for all of them, the user and the capabilities that the process has as it runs, the system calls and sockets of its row.
. "$(dirname "$0")/../trust.bash"
[ "$(id -u)" = 0 ] || { echo "skip exposure: only root becomes another user"; exit 0; }
command -v systemd-analyze >/dev/null || { echo "not ok there is no systemd-analyze: make deps"; exit 1; }
[ -x "$BUILD/tests/system/unit_of" ] || { echo "not ok unit_of is not built"; exit 1; }
UNIT=etc/systemd/phxd.service

status_of() { awk -v k="$2:" '$1 == k { print $2 }' "/proc/$1/status"; }
# the names of a set of capabilities
capabilities() { systemd-analyze capability | awk -v set="$1" 'BEGIN { n = length(set); for (i = n; i > 0; i--) digit[n - i] = index("0123456789abcdef", substr(set, i, 1)) - 1 }
	$2 ~ /^[0-9]+$/ { if (int(digit[int($2 / 4)] / 2 ^ ($2 % 4)) % 2) printf "%s ", toupper($1) }'; }
# exposure FILE
exposure() { systemd-analyze security --offline=yes --no-pager "$1" | sed -n 's/.*Overall exposure level.*: \([0-9.]*\) .*/\1/p'; }
# as_unit PROCESS UID CAPABILITIES: a file
as_unit() {
	local file=$WORK/units/phxd-$1.service
	mkdir -p "$WORK/units"
	{
		grep -vE '^(SystemCallFilter|RestrictAddressFamilies|MemoryDenyWriteExecute|CapabilityBoundingSet|ProtectClock|User)=|^\[Install\]|^WantedBy=' "$UNIT"
		echo "User=$2"
		echo "CapabilityBoundingSet=$3"
		"$BUILD/tests/system/unit_of" "$1"
	} >"$file" && echo "$file"
}
at_most() { awk -v is="$1" -v most="$2" 'BEGIN { exit !(is != "" && is <= most) }'; }
# exposed PROCESS MOST PID: it has privileges that it has, and gains none
exposed() {
	local is
	[ "$(status_of "$3" NoNewPrivs) $(status_of "$3" Seccomp)" = '1 2' ] && [ "$(status_of "$3" Uid)" != 0 ] || { echo "$1 is not shut in"; return 1; }
	is=$(exposure "$(as_unit "$1" "$(status_of "$3" Uid)" "$(capabilities "$(status_of "$3" CapPrm)")")")
	at_most "$is" "$2" || { echo "$1: $is, and is to have $2 at most"; return 1; }
}
the_head() { exposed head 1.5 "$(head_pid)"; }
the_vault() { exposed vault 2.5 "$(pgrep -P "$HEAD" -f -- --vault)"; }
the_hands() { exposed hands 2.5 "$(pgrep -P "$HEAD" -f -- --hands)"; }
# there for a moment; that they are users without capabilities: user/links.sh, system/slurm.sh
helper_and_runner() {
	local process
	for process in helper runner planner; do at_most "$(exposure "$(as_unit $process nobody '')")" 2.5 || { echo "$process: $(exposure "$(as_unit $process nobody '')")"; return 1; }; done
}
# root, for what it starts: what is left to it is said in phxd(8)
the_unit_as_a_whole() { at_most "$(exposure "$UNIT")" 3.3 || { exposure "$UNIT"; return 1; }; }
# a process that may do more is told so: else all of this says nothing
more_is_told() {
	local file
	file=$(as_unit head root 'CAP_SYS_ADMIN CAP_NET_ADMIN') && ! at_most "$(exposure "$file")" 1.5 && sed -i 's/^SystemCallFilter=/&mount reboot /; s/^User=.*/User=nobody/; s/^Cap.*/CapabilityBoundingSet=/' "$file" &&
		! at_most "$(exposure "$file")" 1.5
}

trust_head "head_user = \"phoenix\";"
for t in the_head the_vault the_hands helper_and_runner the_unit_as_a_whole more_is_told; do check $t $t; done
exit $FAILED
