#!/bin/bash
# One user takes what he can get of a head with few connections: all of them, silent; heads that never end; bodies that come byte by byte; the
# whole of a long journal, by a filter that finds nothing. Root is answered, the beats of nodes are, no node is missed; and so is
# another user. What he does at the same time without exceeding his share is answered, too.
. "$(dirname "$0")/../trust.bash"
[ -x "$BUILD/tests/system/hoard" ] || { echo "not ok hoard is not built"; exit 1; }

PATIENCE=10
as_user() { as "$1" curl -sS -m $PATIENCE --unix-socket "$PHX_SOCKET" "http://unix$2" "${@:3}"; }
# holds N TEXT: connections of nobody that begin so, until let_go; "ready" when each was tried
holds() {
	mkfifo "$WORK/hoard.fifo"
	"$BUILD/tests/system/hoard" --uid "$(id -u nobody)" --connections "$1" ${2:+--send "$2"} "$PHX_SOCKET" <"$WORK/hoard.fifo" >"$WORK/hoard.out" 2>"$WORK/hoard.err" &
	HOARD=$!
	exec {HOARD_IN}>"$WORK/hoard.fifo"
	until_true 20 grep -q ready "$WORK/hoard.out"
}
let_go() { exec {HOARD_IN}>&-; wait $HOARD; rm -f "$WORK/hoard.fifo"; }
# no node was missed, and none has come back, since event $1
none_was_missed() { api "/v1/events?after=$1&limit=1000" | jq -e '[.events[] | select(.kind == "missing" or .kind == "back")] == []' >/dev/null; }
all_are_answered() {
	local i
	for i in 1 2 3 4 5; do
		api /v1/status | jq -e .seq >/dev/null && as_user daemon /v1/status | jq -e .seq >/dev/null || { echo "not answered"; return 1; }
	done
	gets 200 by_node n1 POST /v1/agent/beat -d "$(api /v1/nodes/n1 | jq -c '{boot_id, env, running: [], wait_ms: 0}')" && none_was_missed "$1"
}
# more than the listener has, and more than one user may have
held_back() { # SECONDS TEXT
	local seq code=0
	seq=$(seq_now)
	holds 300 "${2:-}" || { let_go; return 1; }
	sleep "$1"
	all_are_answered "$seq" || code=1
	# he has his share, and hears why he gets no more
	[ "$(ask nobody GET /v1/status)" = 429 ] && grep -q 'as many connections open' "$WORK/answer" || { echo "he is not held back: nothing was tried: $(tail -n 1 "$WORK/answer")"; code=1; }
	let_go
	return $code
}
# after so long without a beat a node is missed
silent_connections() { held_back 3.5; }
heads_without_end() { held_back 0 "GET /v1/status HTTP/1.1
Host: x
X: "; }
bodies_byte_by_byte() { held_back 0 "POST /v1/jobs HTTP/1.1
Host: x
Content-Length: 60000

{"; }
# thousands of events, eight readers, a name that none of them has
happens_much() {
	local i
	for ((i = 1; i <= 60; i++)); do printf '{"name": "c%d", "macs": ["02:00:00:00:01:%02x"]}\n' $i $i; done | while read -r body; do post /v1/nodes "$body" >/dev/null; done
	for ((i = 0; i < 50; i++)); do action label "{\"nodes\": \"c[1-60]\", \"labels\": {\"k\": \"v$i\"}}" >/dev/null; done
	[ "$(seq_now)" -gt 3000 ]
}
who_walks_the_journal_stalls_nobody() {
	local i seq code=0 readers=()
	happens_much || return 1
	seq=$(seq_now)
	for i in 1 2 3 4 5 6 7 8; do
		(while [ ! -e "$WORK/enough" ]; do as_user nobody '/v1/events?node=n2&after=0&limit=1000' -o /dev/null 2>/dev/null && as_user nobody '/v1/events?after=0&limit=1000' -o "/dev/null"; done) 2>/dev/null &
		readers+=($!)
	done
	sleep 3.5
	all_are_answered "$seq" || code=1
	: >"$WORK/enough"
	wait "${readers[@]}"
	return $code
}

trust_head 'connections_max = 64; connections_per_user = 40; requests_per_s = 100000;'
for t in silent_connections heads_without_end bodies_byte_by_byte who_walks_the_journal_stalls_nobody; do check $t $t; done
exit $FAILED
