#!/bin/bash
# Somebody takes over the process that listens to the network, or reads its memory, or takes over the one that talks to BMCs. The first
# has no password of a BMC, not even while one is asked; the second sees neither journal nor keys; killing it costs no operation.
. "$(dirname "$0")/../trust.bash"
[ -x "$BUILD/tests/system/in_memory" ] || { echo "not ok in_memory is not built"; exit 1; }
for program in ipmitool socat; do command -v $program >/dev/null || { echo "not ok there is no $program: make deps"; exit 1; }; done

hands_of() { pgrep -P "$1" -f -- '--hands'; }
hex() { printf %s "$1" | od -An -tx1 | tr -d ' \n'; }
found() { "$BUILD/tests/system/in_memory" "$1" "$(hex "$2")"; } # PID TEXT: how often
set_bmc() { post /v1/actions/bmc "{\"nodes\": \"$1\", \"bmc\": $2}" | jq -e '.results[0].code == 0' >/dev/null; }
script() { set_bmc n1 "{\"driver\": \"script\", \"script\": \"$WORK/bmc/relay\"}"; }
relay() { printf '#!/bin/sh\n%s\n' "$1" >"$WORK/bmc/relay.new" && chmod 755 "$WORK/bmc/relay.new" && mv "$WORK/bmc/relay.new" "$WORK/bmc/relay"; }
told() { phx events -n 0 2>/dev/null | grep -q "$1"; }

# its BMC takes packets and says nothing: the password is in use for seconds
the_head_has_no_password_while_it_is_used() {
	socat -u "UDP4-RECV:$((HTTP + 7)),bind=127.0.0.1" /dev/null &
	SOCAT=$!
	set_bmc n2 "{\"driver\": \"ipmi\", \"address\": \"127.0.0.1:$((HTTP + 7))\", \"user\": \"root\", \"password_file\": \"$WORK/bmc/rack1\"}" || return 1
	"$PHX" node power n2 status >"$WORK/out" 2>&1 & # it waits for a head that has ended, too
	ASKS=$!
	until_true 20 pgrep -P "$HANDS" -x ipmitool || { echo "no ipmitool of the hands runs: $(cat "$WORK/out")"; return 1; }
	# the search finds what is there: in the process that has it, and in the head the name of the file
	local found
	found="$(found "$HANDS" "$PASSWORD") $(found "$SERVES" "$PASSWORD") $(found "$SERVES" "$WORK/bmc/rack1")"
	[[ $found =~ ^[1-9][0-9]*\ 0\ [1-9] ]] || { echo "hands, head, the name in the head: $found"; return 1; }
	! grep -qaF "$PASSWORD" /proc/[0-9]*/cmdline 2>/dev/null
}
# whoever is the head's or the hands' program: the file stays root's
the_file_stays_roots() {
	[ "$(stat -c '%u %a' "$WORK/bmc/rack1")" = '0 600' ] && ! as games cat "$WORK/bmc/rack1" 2>/dev/null
}
the_hands_are_shut_in() {
	grep -q "^Uid:.$(id -u daemon).$(id -u daemon).$(id -u daemon)" "/proc/$HANDS/status" && grep -q '^Seccomp:.2$' "/proc/$HANDS/status" &&
		grep -q '^NoNewPrivs:.1$' "/proc/$HANDS/status" && grep -q '^CapEff:.0000000000002004$' "/proc/$HANDS/status" &&
		grep -q '^Max core file size *0 *0 ' "/proc/$HANDS/limits"
}
# what runs as the hands do; here they are even given the rights of files
they_see_neither_journal_nor_keys() {
	local f
	chmod 755 "$WORK/head" "$WORK/head/pki" && chmod 644 "$WORK/head/journal.db" "$WORK/head/pki/"*
	relay "for f in $WORK/head/journal.db $WORK/head/pki/ca.key $WORK/head/pki/site.pub $WORK/bmc/rack1 $WORK/bmc/relay; do
		head -c 1 \$f >/dev/null 2>&1 && echo \$f; done >\$TMPDIR/seen; echo on"
	script && phx node power n1 status --wait --timeout 30 >"$WORK/out" 2>&1 || { cat "$WORK/out"; return 1; }
	[ "$(cat "$WORK/head/hands/seen")" = "$WORK/bmc/relay" ] || { cat "$WORK/head/hands/seen"; return 1; }
}
# in the middle of an operation, which is given again to the next process
their_death_is_survived_and_told() {
	local before=$HANDS
	relay "echo \$1 >>\$TMPDIR/given; [ -e \$TMPDIR/slow ] && exec sleep 600; echo off"
	touch "$WORK/head/hands/slow"
	phx node power n1 off --hard --wait --timeout 60 --yes >"$WORK/out" 2>&1 &
	local waiting=$!
	until_true 20 grep -q off "$WORK/head/hands/given" || { cat "$WORK/out"; return 1; }
	rm "$WORK/head/hands/slow"
	kill -9 "$HANDS"
	wait $waiting || { echo "the operation failed: $(cat "$WORK/out")"; return 1; }
	HANDS=$(hands_of "$HEAD")
	[ -n "$HANDS" ] && [ "$HANDS" != "$before" ] && until_true 10 told 'the process that talks to BMCs had ended and was started again' &&
		[ "$(phx events -n 0 | grep -c 'the process that talks to BMCs had ended')" = 1 ]
}
# no program of theirs is left when the head ends
they_end_with_the_head() {
	local pid=$HANDS
	head_stop
	until_true 10 eval "! kill -0 $pid 2>/dev/null"
}

PASSWORD=$(head -c 10 /dev/urandom | od -An -tx1 | tr -d ' \n')
mkdir -p "$WORK/bmc" && chmod 711 "$WORK/bmc" && (umask 077 && printf '%s\n' "$PASSWORD" >"$WORK/bmc/rack1")
relay 'echo on'
trust_head "bmc_dir = \"$WORK/bmc\"; hands_user = \"daemon\";"
HANDS=$(hands_of "$HEAD") SERVES=$(head_pid)
[ -n "$HANDS" ] || { echo "not ok hands_apart: no process of the head $HEAD talks to BMCs"; exit 1; }
for t in the_head_has_no_password_while_it_is_used the_file_stays_roots the_hands_are_shut_in they_see_neither_journal_nor_keys \
	their_death_is_survived_and_told they_end_with_the_head; do check $t $t; done
kill "$SOCAT" "$ASKS" 2>/dev/null
exit $FAILED
