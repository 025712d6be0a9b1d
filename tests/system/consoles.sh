#!/bin/bash
# by turns: 65 s: it takes long.
# Consoles: a real conserver, programs of the site as consoles, one of which is a line to a program as the machine, and a real
# ipmiconsole whose BMC is not there. People attach, read, steal; what comes from a node has bounds; what ends is started again.
. "$(dirname "$0")/phxd.bash"

IPMI=$((HTTPS + 2)) SERIAL=$((HTTPS + 3)) CONSERVER=$((HTTPS + 4))
BMCS=$WORK/etc/bmc
MACHINE=
consoles_end() {
	[ -z "$MACHINE" ] || kill -- "-$MACHINE"
	finish
}
trap consoles_end EXIT

# ---- the machine and its BMC ----

machine_start() {
	: >"$WORK/says"
	: >"$WORK/typed"
	printf '#!/bin/bash\nexec 3<&0\ncat <&3 >>%q &\nexec tail -n 0 -F %q 2>/dev/null\n' "$WORK/typed" "$WORK/says" >"$WORK/machine"
	chmod 755 "$WORK/machine"
	setsid socat "TCP-LISTEN:$SERIAL,bind=127.0.0.1,reuseaddr,fork" "EXEC:$WORK/machine" >>"$WORK/machine.log" 2>&1 &
	MACHINE=$!
}
says() { printf "$1" >>"$WORK/says"; }
logged() { phx node console "$1" --log -n 1000 | grep -qF -- "$2"; }

# attach NAME [OPTION...]: a person at the console of n1, whose keys are those of keys NAME and who sees $WORK/NAME.sees
declare -A PERSON=() KEYS=()
attach() {
	local name=$1 fd
	shift
	rm -f "$WORK/$name.keys"
	mkfifo "$WORK/$name.keys"
	"$BUILD/bin/phx" node console "$@" <"$WORK/$name.keys" >"$WORK/$name.sees" 2>"$WORK/$name.told" &
	PERSON[$name]=$!
	exec {fd}>"$WORK/$name.keys"
	KEYS[$name]=$fd
	until_true 10 sh -c "grep -qE ': attached|^phx: ' '$WORK/$name.told'" && grep -q ': attached' "$WORK/$name.told"
}
# the reader of it may have ended, which ends nobody else
keys() { (trap '' PIPE; printf "$2" >&"${KEYS[$1]}") 2>/dev/null; }
# by what is typed: others, started later, have what this one reads open, too
leave() {
	keys "$1" '\r~.'
	wait "${PERSON[$1]}"
}
sees() { grep -qF -- "$2" "$WORK/$1.sees"; }

# ---- a console ----

script_console() { # NODE NAME BODY
	printf '#!/bin/bash\n%s\n' "$3" >"$BMCS/$2"
	chmod 755 "$BMCS/$2"
	post /v1/nodes "{\"name\": \"$1\", \"macs\": [\"02:00:00:00:01:0${1#n}\"]}" >/dev/null
	phx node bmc "$1" driver=none console=script "console_script=$BMCS/$2"
}
is_up() { api "/v1/nodes/$1/console" | jq -e .up; }
a_program_is_a_console() {
	script_console n2 plain 'echo still-here; while read -r l; do echo "got $l"; done' || return 1
	until_true 20 logged n2 still-here
}
a_line_is_a_console() {
	machine_start
	script_console n1 line "exec socat -,raw,echo=0 TCP:127.0.0.1:$SERIAL,retry=20,interval=0.2" && until_true 20 is_up n1
}
what_it_says_is_in_its_log_without_control() {
	says 'Linux version 6.1\r\n\033[31mred\033[0m\007\r\nKernel panic - not syncing\r\n'
	until_true 10 logged n1 'Kernel panic - not syncing' && logged n1 ' red' && ! phx node console n1 --log | grep -q "$(printf '[\033\007]')"
}
rows() { api "/v1/nodes/$1/why?rows=yes" | jq -c '.rows[] | select(.kind == "console")'; }
row_says() { rows "$1" | grep -qF -- "$2"; }
a_panic_is_seen_of_its_start() {
	until_true 10 row_says n1 'Kernel panic - not syncing' || { api '/v1/nodes/n1/why?rows=yes'; return 1; }
	for _ in 1 2 3 4 5 6 7 8; do
		says 'Kernel panic - once more\r\nplain words\r\nOut of memory: Killed process 7 (x\033[31m)\r\n'
	done
	until_true 10 row_says n1 'Killed process 7' || return 1
	# each is told once in a while, and as the machine's own word
	rows n1 >"$WORK/rows"
	[ "$(wc -l <"$WORK/rows")" -le 6 ] && ! grep -q 'plain words' "$WORK/rows" && ! grep -q '"proven":true' "$WORK/rows" || { cat "$WORK/rows"; return 1; }
}
a_log_is_searched() {
	[ "$(phx node console n1 --log --grep panic | wc -l)" = 1 ] && phx node console n1 --log -n 1 | grep -q panic
}
a_password_is_on_no_command_line() {
	echo secret-of-bmc >"$BMCS/n4.password"
	chmod 600 "$BMCS/n4.password"
	post /v1/nodes '{"name": "n4", "macs": ["02:00:00:00:01:04"]}' >/dev/null
	phx node bmc n4 driver=ipmi "address=127.0.0.1:$IPMI" user=ops "password_file=$BMCS/n4.password" workarounds=opensesspriv || return 1
	until_true 20 pgrep -f "ipmiconsole --config-file=$WORK" && ! ps -eo args | grep -v grep | grep -q secret-of-bmc &&
		[ "$(stat -c %a "$WORK/head/consoles/secrets/n4")" = 600 ] && grep -q secret-of-bmc "$WORK/head/consoles/secrets/n4"
}
people_type_and_see() {
	attach anna n1 || return 1
	keys anna 'root\r&.\005c|x'
	until_true 10 grep -qF "$(printf 'root\r&.\005c|x')" "$WORK/typed" || { od -c "$WORK/typed"; return 1; }
	says 'password:\r\n'
	until_true 10 sees anna password: && ! sees anna '[quote'
}
one_writes_and_others_read() {
	! phx node console n1 </dev/null >"$WORK/out" 2>&1 && grep -q 'unix:.* writes on the console of n1: --steal takes it' "$WORK/out" &&
		attach bert n1 --read && keys bert 'not-sent' && says 'both-see\r\n' &&
		until_true 10 sees bert both-see && until_true 10 sees anna both-see && ! grep -q not-sent "$WORK/typed"
}
a_console_is_taken() {
	attach carl n1 --steal && grep -q 'n1: taken from unix:' "$WORK/carl.told" && until_true 10 sees anna 'has taken this console' || return 1
	keys anna 'annas\r'
	keys carl 'carls\r'
	until_true 10 grep -q carls "$WORK/typed" && ! grep -q annas "$WORK/typed"
}
each_attach_is_journalled() {
	api '/v1/events?limit=1000' >"$WORK/events.json"
	[ "$(grep -o 'console of n1: attached' "$WORK/events.json" | wc -l)" -ge 3 ] && grep -q 'attached, taken from unix:' "$WORK/events.json"
}
who_leaves_leaves() { leave anna && leave carl && leave bert && grep -q 'left the console' "$WORK/carl.told"; }

# ---- what ends ----

pid_of_conserver() { pgrep -f "^[^ ]*conserver -M 127.0.0.1 -p $CONSERVER " -o; }
conserver_that_is_killed_comes_back() {
	local pid
	attach dora n1 || return 1
	pid=$(pid_of_conserver)
	kill -9 "$pid"
	wait "${PERSON[dora]}" && return 1
	grep -q 'conserver has ended' "$WORK/dora.told" && until_true 20 attach erik n1 --steal && says 'after-conserver\r\n' &&
		until_true 20 sees erik after-conserver && leave erik && [ "$(pid_of_conserver)" != "$pid" ]
}
a_bmc_that_is_down_is_told() {
	until_true 30 logged n4 'the console is not open: the BMC does not answer; it is tried again by itself' && ! is_up n4 >/dev/null && is_up n2
}
what_has_ended_is_started_again() {
	pkill -P "$(pgrep -o -f -- "--consoles .*$WORK")" -f "$BMCS/plain"
	until_true 10 logged n2 'the console is not open: its program has ended' && until_true 20 logged n2 'the console is open again'
}

# ---- bounds ----

a_flood_has_bounds() {
	local before after
	script_console n3 flood 'exec yes "a line of a flood that never ends, and is longer than others"' || return 1
	until_true 20 logged n3 flood || return 1
	sleep 12
	# 64 KiB a second, of 1 MiB in all: the log turned, and no file is longer than its half
	[ "$(du -cb "$WORK"/head/console-logs/n3.log* | tail -n 1 | cut -f1)" -le $((1 << 20)) ] || { ls -l "$WORK/head/console-logs"; return 1; }
	before=$(cpu_of_consoles)
	sleep 5
	after=$(cpu_of_consoles)
	echo "    $(((after - before) * 100 / 5 / $(getconf CLK_TCK))) % of a processor for a flood"
	[ $((after - before)) -lt $((2 * $(getconf CLK_TCK))) ]
}
cpu_of_consoles() {
	local pid
	pid=$(pgrep -o -f -- "--consoles .*$WORK")
	awk '{ print $14 + $15 }' "/proc/$pid/stat"
}
a_console_goes_with_its_node() {
	phx node bmc n3 console=none && until_true 10 sh -c "! pgrep -f '[y]es a line of a flood'" && [ ! -e "$WORK/head/consoles/s/n3" ]
}
others_may_not() {
	local who
	for who in /v1/nodes/n2/console "/v1/nodes/n2/console/0"; do
		setpriv --reuid=65534 --regid=65534 --clear-groups curl -sS -m 20 --unix-socket "$PHX_SOCKET" "http://unix$who" | grep -q EPERM || return 1
	done
	! (echo -e 'login phx\nwrong\n' | timeout 5 socat - "TCP:127.0.0.1:$CONSERVER") | grep -q '^\[attached'
}
nothing_stays_when_phxd_ends() {
	head_stop
	until_true 10 sh -c "! pgrep -f '[c]onserver -M 127.0.0.1 -p $CONSERVER ' && ! pgrep -f '[c]onfig-file=$WORK/head'" && [ ! -s "$WORK/head/consoles/secrets/n4" ]
}

head_conf "consoles = true; console_port = $CONSERVER; console_log_mb = 1; bmc_dir = \"$BMCS\";"
mkdir -p "$BMCS"
head_start
check 'a program of the site is a console' a_program_is_a_console
check 'a line to a machine is one' a_line_is_a_console
check 'what it says is in its log, without control characters' what_it_says_is_in_its_log_without_control
check 'a log is searched' a_log_is_searched
check 'what it says of its end is a row of its start, unproven, and bounded' a_panic_is_seen_of_its_start
check 'a password is in a file of mode 0600 and on no command line' a_password_is_on_no_command_line
check 'people type and see, and give conserver and ipmiconsole no orders' people_type_and_see
check 'one writes, others read' one_writes_and_others_read
check 'a console is taken, and who had it is told' a_console_is_taken
check 'each attach is journalled' each_attach_is_journalled
check 'who leaves leaves' who_leaves_leaves
check 'conserver that is killed comes back, and who was attached is told' conserver_that_is_killed_comes_back
check 'a BMC that does not answer is told, and others go on' a_bmc_that_is_down_is_told
check 'a program that has ended is started again' what_has_ended_is_started_again
check 'a flood has bounds' a_flood_has_bounds
check 'a console goes with the BMC record' a_console_goes_with_its_node
check 'others may not' others_may_not
check 'nothing stays when phxd ends' nothing_stays_when_phxd_ends
exit $FAILED
