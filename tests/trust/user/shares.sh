#!/bin/bash
# One identity takes all it can: polls, by several certificates of its name; bytes of uploads; jobs. It is told what and when with
# 429, leaves nothing behind, and others go on.
. "$(dirname "$0")/../trust.bash"

URL=https://127.0.0.1:$HTTPS
MINE=()
cert() { phx cert issue "$1" --out "$WORK/$2" >/dev/null 2>&1; }
by_cert() { curl -sS -m 50 --cacert "$WORK/head/pki/ca.pem" --cert "$WORK/$1/cert.pem" --key "$WORK/$1/key.pem" "${@:2}"; }
holds() { # FILES N: N polls, each over a connection of its own
	local i
	for ((i = 0; i < $2; i++)); do
		(exec curl -sS -m 50 --cacert "$WORK/head/pki/ca.pem" --cert "$WORK/$1/cert.pem" --key "$WORK/$1/key.pem" "$URL/v1/events?wait=30&after=100000" -o /dev/null \
			-w '%{http_code}\n' >>"$WORK/$1.polls" 2>/dev/null) &
		MINE+=($!)
	done
}
refused_polls() { cat "$WORK"/eve*.polls 2>/dev/null | grep -c 429; }
let_go() { kill "${MINE[@]}" 2>/dev/null; wait "${MINE[@]}" 2>/dev/null; MINE=(); }

certificates_of_one_name_share() {
	cert eve eve1 && cert eve eve2 && cert eve eve3 && cert bob bob1 || return 1
	holds eve1 3 && holds eve2 3 && holds eve3 3
	until_true 10 eval '[ "$(refused_polls)" = 5 ]' || { echo "of 9 polls $(refused_polls) are refused, and 4 may be held"; let_go; return 1; }
	by_cert eve2 "$URL/v1/events?wait=5&after=100000" -D "$WORK/head.txt" -o "$WORK/answer" && grep -q '^HTTP.* 429' "$WORK/head.txt" && grep -qi '^retry-after: [1-9]' "$WORK/head.txt" &&
		grep -q 'you have 4 requests that wait' "$WORK/answer" || { cat "$WORK/head.txt" "$WORK/answer"; let_go; return 1; }
	# others have theirs
	[ "$(by_cert bob1 "$URL/v1/events?wait=1&after=100000" -o /dev/null -w '%{http_code}')" = 200 ] || { let_go; return 1; }
	let_go
	until_true 10 eval '[ "$(by_cert eve1 "$URL/v1/events?wait=0" -o /dev/null -w "%{http_code}")" = 200 ]'
}
spooled() { find "$WORK/head" -name 'phx-upload-*' | wc -l; }
# put PATH FILE [OPTION...]: as games, whose RE it is
put() { as games curl -sS -m 40 --unix-socket "$PHX_SOCKET" -X PUT "http://unix/v1/res/closed/data/$1" -T "$2" -D "$WORK/put.txt" -o "$WORK/answer" -w '%{http_code}' "${@:3}"; }
an_upload_over_the_share_leaves_nothing() {
	head -c 50M /dev/zero >"$WORK/large" && chmod 644 "$WORK/large" && touch "$WORK/put.txt" "$WORK/answer" && chmod 666 "$WORK/put.txt" "$WORK/answer" || return 1
	# the first is on its way, slowly; the second would be over what one may send at once
	(exec setpriv --reuid=games --regid="$(id -g games)" --init-groups curl -sS -m 40 --unix-socket "$PHX_SOCKET" -X PUT http://unix/v1/res/closed/data/slow -T "$WORK/large" \
		--limit-rate 2M -o /dev/null >/dev/null 2>&1) &
	local slow=$!
	until_true 10 eval '[ "$(spooled)" = 1 ]' || { echo 'the first is not taken'; return 1; }
	[ "$(put second "$WORK/large")" = 429 ] && grep -qi '^retry-after: [1-9]' "$WORK/put.txt" && grep -q 'more than one may' "$WORK/answer" && [ "$(spooled)" = 1 ] ||
		{ cat "$WORK/put.txt" "$WORK/answer"; kill $slow; return 1; }
	# of one that breaks off in the middle nothing stays, and its share is free again
	kill $slow
	until_true 10 eval '[ "$(spooled)" = 0 ]' && [ ! -e "$WORK/head/re/closed/slow" ] && [ ! -e "$WORK/head/re/closed/second" ] || { echo "left: $(spooled)"; return 1; }
	[ "$(put third "$WORK/large")" = 200 ] && [ "$(stat -c %s "$WORK/head/re/closed/third")" = 52428800 ] && [ "$(spooled)" = 0 ]
}
submit() { as "$1" curl -sS -m 20 --unix-socket "$PHX_SOCKET" -d '{"argv": ["true"], "hold": true}' http://unix/v1/jobs -D "$WORK/job.txt" -o "$WORK/answer" -w '%{http_code}\n'; }
one_user_does_not_fill_the_queue() {
	touch "$WORK/job.txt" && chmod 666 "$WORK/job.txt"
	local i
	for i in 1 2 3 4 5; do [ "$(submit nobody)" = 200 ] || return 1; done
	[ "$(submit nobody)" = 429 ] && grep -qi '^retry-after: [1-9]' "$WORK/job.txt" && grep -q jobs_per_user "$WORK/answer" && [ "$(submit daemon)" = 200 ]
}

trust_head 'polls_per_user = 4; stage_max_mb = 60; upload_mb_per_user = 80; jobs_per_user = 5;'
agreement closed '' || { not_ok "RE closed is not active: $(cat "$WORK/re.log")"; exit 1; }
check certificates_of_one_name_share certificates_of_one_name_share
check an_upload_over_the_share_leaves_nothing an_upload_over_the_share_leaves_nothing
check one_user_does_not_fill_the_queue one_user_does_not_fill_the_queue
exit $FAILED
