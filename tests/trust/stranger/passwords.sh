#!/bin/bash
# A stranger guesses passwords of users of the head at the door of the portal, and looks for passwords where they were. PAM is the real one.
. "$(dirname "$0")/../../system/passwords.bash"
. "$(dirname "$0")/../trust.bash"
. tests/system/browser.bash
private_users || { echo "skip passwords: no view of /etc of its own can be made here"; exit 0; }

from() { echo --interface "127.0.1.$1"; }
says() { grep -q "$1" "$WORK/answer" || { echo "the answer: $(head -c 300 "$WORK/answer")"; return 1; }; }
door_pids() { pgrep -P "$HEAD" -f -- --door; }

the_right_password_signs_in() {
	gets 200 with_password a1 alice "$PASSWORD" && [ "$(browse a1 GET /v1/session | head -n 1 | jq -r .identity)" = unix:alice ] &&
		api "/v1/events?limit=1000" | grep -q 'unix:alice signed in with a browser from 127.0.0.1, by a password'
}
a_wrong_one_and_a_wrong_name_are_told_the_same() {
	gets 403 with_password x alice wrong $(from 1) && cp "$WORK/answer" "$WORK/answer1" && gets 403 with_password x nobody-of-this-name "$PASSWORD" $(from 1) &&
		cmp "$WORK/answer" "$WORK/answer1" && gets 403 with_password x shut "$PASSWORD" $(from 1) && cmp "$WORK/answer" "$WORK/answer1"
}
root_never_signs_in_so() { gets 403 with_password x root "$PASSWORD" $(from 2) && says 'name or password is wrong'; }
of_an_account_the_password_tells_more() {
	gets 403 with_password x gone "$PASSWORD" $(from 3) && says 'account has expired' && gets 403 with_password x stale "$PASSWORD" $(from 3) && says passwd &&
		gets 403 with_password x gone wrong $(from 3) && says 'name or password is wrong'
}
what_is_no_name_is_refused() {
	local body
	for body in '{"user": "alice"}' '{"password": "x"}' '{"user": "", "password": "x"}' '{"user": "alice", "password": ["x"]}' '{"user": "alice", "password": "x", "word": "y"}' \
		'{"user": "alice\r\nSet-Cookie: x=y", "password": "x"}' '{"user": "alice", "password": "a\u0000b"}' "{\"user\": \"alice\", \"password\": \"$(printf 'x%.0s' {1..600})\"}"; do
		[ "$(browse - POST /v1/session -d "$body" | tail -n 1)" = 400 ] || { echo "not refused: ${body:0:80}"; return 1; }
	done
}
# from one address and of one name, all at once, before the first is known to be wrong
# is_wrong_again NAME FROM: however much of the first wait has passed, the next one, twice as long, begins now
is_wrong_again() {
	local i
	for i in {1..40}; do [ "$(with_password x "$1" guess $(from "$2"))" != 403 ] || return 0; sleep 0.5; done
	return 1
}
five_are_looked_at_and_then_one_waits() {
	local pids=() i
	for i in {1..12}; do (browse - POST /v1/session $(from 4) -d '{"user": "daemon", "password": "guess"}' >"$WORK/guess$i") & pids+=($!); done
	wait "${pids[@]}"
	for i in {1..12}; do tail -n 1 "$WORK/guess$i"; echo; done | sort | uniq -c | tr -s ' \n' ' ' >"$WORK/counted"
	[ "$(cat "$WORK/counted")" = ' 5 403 7 429 ' ] || { cat "$WORK/counted"; return 1; }
	is_wrong_again daemon 5 || return 1
	gets 429 with_password x daemon guess $(from 5) -i && says 'wait [0-9]* s' && grep -qi '^retry-after: [1-9]' "$WORK/answer" && # by name
		is_wrong_again mallory 4 && gets 429 with_password x alice "$PASSWORD" $(from 4) && # by address
		gets 200 with_password a2 alice "$PASSWORD" $(from 6) &&
		api "/v1/events?limit=1000" | jq -e '[.events[] | select(tostring | test("somebody at 127.0.1.4 is refused: a wrong password for daemon"))] | length == 1' >/dev/null # twelve tried
}
in_again() { [ "$(with_password "$@")" = 200 ]; }
after_that_the_right_one_is_taken() { until_true 20 in_again a3 alice "$PASSWORD" $(from 4); }
# while it looks: root without what root may, in its own calls, for this question alone
who_asks_pam_is_root_with_nothing() {
	local pid
	with_password x alice wrong $(from 7) >"$WORK/status7" &
	until_true 5 door_pids >/dev/null && pid=$(door_pids | head -n 1) || { echo "there is no such process"; return 1; }
	awk '/^CapEff:/ { caps = $2 } /^NoNewPrivs:/ { gains = $2 } /^Seccomp_filters:/ { n = $2 } END { exit !(caps ~ /^0+$/ && gains == 1 && n == 4) }' "/proc/$pid/status" &&
		grep -q '^Max core file size *0 *0' "/proc/$pid/limits" || { grep -E 'Cap|NoNew|Secc' "/proc/$pid/status"; return 1; }
	wait $!
	[ "$(cat "$WORK/status7")" = 403 ] && until_true 5 eval "! grep -q '^State:.*[SRD]' /proc/$pid/status 2>/dev/null"
}
# in no log, no journal, and in the memory of no process of phxd any more
no_password_stays() {
	local secret=hunter-of-$RANDOM-passwords pid
	gets 403 with_password x alice "$secret" $(from 8) || return 1
	! grep -aq "$secret" "$WORK"/*.log "$WORK/head/journal.db" "$WORK/head/journal.db-wal" || { echo "it is in a file"; return 1; }
	for pid in "$HEAD" $(pgrep -P "$HEAD"); do
		python3 - "$pid" "$secret" <<'PY' || { echo "it is in the memory of $(tr '\0' ' ' <"/proc/$pid/cmdline")"; return 1; }
import sys
pid, secret = sys.argv[1], sys.argv[2].encode()
try:
    maps, mem = open(f'/proc/{pid}/maps').read().splitlines(), open(f'/proc/{pid}/mem', 'rb', 0)
except ProcessLookupError:
    sys.exit(0)
read = 0
for line in maps:
    span, rights = line.split()[:2]
    begin, end = (int(x, 16) for x in span.split('-'))
    if 'r' not in rights or 'w' not in rights:
        continue
    try:
        mem.seek(begin)
        text = mem.read(end - begin)
    except (OSError, ValueError):
        continue
    read += len(text)
    if secret in text:
        print(line, text[max(0, text.find(secret) - 60):text.find(secret) + 60])
        sys.exit(1)
sys.exit(0 if read else 2)
PY
	done
}
# ---- sessions of one who is no user any more ----
who_is_no_user_any_more_is_out_at_once() {
	gets 200 with_password a4 alice "$PASSWORD" $(from 6) || return 1
	browse a4 GET /v1/feed -N -H 'Sec-Fetch-Site: same-origin' >"$WORK/fed" &
	until_true 5 grep -q nothing "$WORK/fed" || { echo "no feed: $(cat "$WORK/fed")"; return 1; }
	# the file that is mounted, not another of its name
	sed '/^alice:/d' "$WORK/etc-of-users/passwd" >"$WORK/passwd.new" && cat "$WORK/passwd.new" >"$WORK/etc-of-users/passwd"
	[ "$(browse a4 GET /v1/whoami | tail -n 1)" = 403 ] && [ "$(browse a4 GET /v1/session | head -n 1 | jq .signed_in)" = false ] &&
		until_true 18 eval "! kill -0 $! 2>/dev/null" && [ "$(tail -n 1 "$WORK/fed")" = 200 ]
}

trust_head 'requests_per_s = 100000; portal_pam = true;'
for t in the_right_password_signs_in a_wrong_one_and_a_wrong_name_are_told_the_same root_never_signs_in_so of_an_account_the_password_tells_more what_is_no_name_is_refused \
	five_are_looked_at_and_then_one_waits after_that_the_right_one_is_taken who_asks_pam_is_root_with_nothing no_password_stays who_is_no_user_any_more_is_out_at_once; do
	check "passwords ${t//_/ }" "$t"
done
exit $FAILED
