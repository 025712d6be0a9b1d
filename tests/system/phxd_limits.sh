#!/bin/bash
# What phxd refuses because of a limit it says: in its log, in its status, with whose limit it was; and whoever sends more
# requests than one may is told when to come again, which phx does by itself.
. "$(dirname "$0")/phxd.bash"
for program in fake/agent system/hoard; do
	[ -x "$BUILD/tests/$program" ] || { echo "not ok $program is not built"; exit 1; }
done

as() { setpriv --reuid="$1" --regid="$1" --clear-groups "${@:2}"; }
# codes UID N: the statuses of so many requests, the headers of the last
codes() {
	as "$1" curl -sS -m 20 --unix-socket "$PHX_SOCKET" -D "$WORK/headers" -o "$WORK/answer" -w '%{http_code}\n' "http://unix/v1/roles?n=[1-$2]"
}
refused() { api /v1/status | jq -c ".refused[] | select(.limit == \"$1\")"; }

# ---- requests ----

nothing_was_refused_yet() { api /v1/status | jq -e '.refused == []' >/dev/null && ! phx status | grep -q refused; }
# at one a second, the twenty seconds' worth that may come at once, and as many more as seconds pass meanwhile
too_many_are_told_when_to_come_again() {
	codes 65534 200 >"$WORK/codes"
	[ "$(grep -c 200 "$WORK/codes")" -ge 20 ] && [ "$(tail -n 1 "$WORK/codes")" = 429 ] && grep -qx 200 <(head -n 20 "$WORK/codes" | sort -u) &&
		grep -qiE '^Retry-After: [1-9]' "$WORK/headers" && jq -e '.code == "EDQUOT" and (.error | contains("requests_per_s"))' "$WORK/answer" >/dev/null
}
others_have_their_own() { [ "$(codes 65533 5 | sort -u)" = 200 ]; }
root_has_no_limit() { [ "$(codes 0 300 | sort -u)" = 200 ]; }
# a beat is no request: the node stays up, however many there were
beats_are_not_counted() {
	local i boot
	boot=$(field n1 .boot_id)
	for i in $(seq 60); do
		printf 'next\nurl = https://127.0.0.1:%d/v1/agent/beat\ncacert = %s\ncert = %s\nkey = %s\noutput = /dev/null\nwrite-out = "%%{http_code}\\n"\ndata = {"boot_id": "%s", "env": "os", "wait_ms": 0, "running": []}\n' \
			"$HTTPS" "$WORK/head/pki/ca.pem" "$WORK/n1/cert.pem" "$WORK/n1/key.pem" "$boot" | sed 's/^data = \(.*\)$/data = "\1"/; /^data/s/"/\\"/g; /^data/s/\\"\(.*\)\\"/"\1"/'
	done | tail -n +2 >"$WORK/beats"
	curl -sS -m 60 --config "$WORK/beats" >"$WORK/codes"
	[ "$(wc -l <"$WORK/codes")" = 60 ] && ! grep -qx 429 "$WORK/codes" && grep -qx 200 "$WORK/codes"
}
# for twice the time after which a node is missing nobody was heard, and that is nobody's silence
a_head_that_was_away_blames_no_node() {
	local seq
	seq=$(api /v1/status | jq .seq)
	kill -STOP "$(head_pid)"
	sleep 6
	kill -CONT "$(head_pid)"
	sleep 2
	[ "$(field n1 .up)" = true ] &&
		api "/v1/events?after=$seq" | jq -e '[.events[] | select(.kind == "missing" or .kind == "quiet" or .kind == "back")] == []' >/dev/null
}
a_dead_node_is_found_all_the_same() {
	kill "${AGENT[n1]}"
	until_true 8 is n1 .up false
}
phx_comes_again() {
	codes 65534 100 | grep -qx 429 && as 65534 "$WORK/phx" status >"$WORK/out" 2>&1 && grep -q '^phxd ' "$WORK/out"
}
that_is_told() {
	refused requests_per_s | jq -e '.what == "requests" and .over == "the socket" and .value == 1 and .n > 0 and .whom == "uid:65534"' >/dev/null &&
		until_true 10 grep -qE 'phxd: [0-9]+ requests over the socket refused: requests_per_s = 1 is reached, last by uid:65534' "$WORK/phxd.log" &&
		phx status | grep -qE '^[0-9]+ requests over the socket were refused, by requests_per_s = 1; the last uid:65534 .* ago$'
}
whom_is_for_the_provider_alone() {
	as 65533 curl -sS --unix-socket "$PHX_SOCKET" http://unix/v1/status | jq -e '.refused[0].n > 0 and .refused[0].whom == ""' >/dev/null
}
# once a minute, not once a request
it_is_told_rarely() {
	codes 65534 100 >/dev/null
	[ "$(grep -c 'requests over the socket refused' "$WORK/phxd.log")" = 1 ]
}

# ---- connections ----

hoarded() {
	mkfifo "$WORK/hoard.fifo"
	"$BUILD/tests/system/hoard" "$@" <"$WORK/hoard.fifo" >"$WORK/hoard.out" 2>"$WORK/hoard.err" &
	exec {HOARD}>"$WORK/hoard.fifo"
	until_true 20 grep -q ready "$WORK/hoard.out"
}
a_users_share_is_told() {
	hoarded --uid 65534 --connections 40 "$PHX_SOCKET" || return 1
	until_true 20 eval 'refused connections_per_user | grep -q uid:65534'
	until_true 20 grep -qE 'connections over the socket refused: connections_per_user = 8 is reached, last by uid:65534' "$WORK/phxd.log" &&
		refused connections_per_user | jq -e '.what == "connections" and .value == 8 and .n >= 32' >/dev/null
}

cp "$BUILD/bin/phx" "$WORK/phx"
for file in headers answer; do : >"$WORK/$file" && chmod 666 "$WORK/$file"; done
head_conf 'requests_per_s = 1; connections_per_user = 8;'
head_start
chmod 755 "$WORK" "$WORK/phx"
post /v1/nodes '{"name": "n1", "macs": ["02:00:00:00:00:01"]}' >/dev/null
fake_start n1 1
until_true 20 idle n1 ready "" || not_ok "n1 is not ready"

check nothing_was_refused_yet nothing_was_refused_yet
check too_many_are_told_when_to_come_again too_many_are_told_when_to_come_again
check others_have_their_own others_have_their_own
check root_has_no_limit root_has_no_limit
check beats_are_not_counted beats_are_not_counted
check phx_comes_again phx_comes_again
check that_is_told that_is_told
check whom_is_for_the_provider_alone whom_is_for_the_provider_alone
check it_is_told_rarely it_is_told_rarely
check a_users_share_is_told a_users_share_is_told
check a_head_that_was_away_blames_no_node a_head_that_was_away_blames_no_node
check a_dead_node_is_found_all_the_same a_dead_node_is_found_all_the_same
exit $FAILED
