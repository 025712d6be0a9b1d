#!/bin/bash
# phxd under many clients at once: nothing hangs, nothing answers 500, a kill in the middle loses nothing, and it ends in
# time while everybody is still asking. `make check-tsan` and `make check-asan` run this with the sanitizers.
. "$(dirname "$0")/phxd.bash"
[ -x "$BUILD/tests/system/stress" ] || { echo "not ok stress is not built"; exit 1; }
export TSAN_OPTIONS="halt_on_error=0 detect_deadlocks=1 second_deadlock_stack=1 ${TSAN_OPTIONS:-}"

stress_start() {
	"$BUILD/tests/system/stress" --socket "$PHX_SOCKET" --server "https://127.0.0.1:$HTTPS" --ca "$WORK/head/pki/ca.pem" \
		--dir "$WORK/agents" --agents 8 --seconds "$1" >"$WORK/stress.out" 2>"$WORK/stress.log" &
	STRESS=$!
}
stress_ends() { wait "$STRESS" && cat "$WORK/stress.out"; }
# ends_in SECONDS: phxd, asked to, with status 0
ends_in() {
	local end=$((SECONDS + $1))
	kill "$HEAD"
	while kill -0 "$HEAD" 2>/dev/null; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.1
	done
	wait "$HEAD"
}
state() { api /v1/nodes | jq -S 'del(.nodes[].monitor)'; }
no_reports() { ! grep -E -A 25 'ThreadSanitizer|AddressSanitizer|LeakSanitizer|runtime error' "$WORK/phxd.log"; }

mkdir -p "$WORK/agents"
head_conf
head_start
package tools 1 'exit 0'
roles_init
post /v1/reload >/dev/null

stress_start 5
check "answers_all_in_time" stress_ends

stress_start 5
sleep 2
head_kill
head_start
check "killed_in_the_middle" stress_ends

stress_start 4
sleep 2
check "ends_while_all_are_asking" ends_in 15
wait "$STRESS"
HEAD=

head_start
state >"$WORK/before.json"
head_kill
head_start
state >"$WORK/after.json"
check "journal_brings_all_back" cmp "$WORK/before.json" "$WORK/after.json"
check "nothing_is_reported" no_reports
exit $FAILED
