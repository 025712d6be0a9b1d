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
remove() { as games curl -sS -m 20 --unix-socket "$PHX_SOCKET" -X DELETE "http://unix/v1/res/closed/data/$1" -o "$WORK/answer" -w '%{http_code}'; }
wrong() { echo "$1"; cat "$WORK/put.txt" "$WORK/answer"; return 1; }
is_full() {
	[ "$(put again "$WORK/large")" = 507 ] && grep -q 'the data of RE closed would hold 15[0-9] MiB, and may hold 120 MiB (data_max_mb)' "$WORK/answer" && [ ! -e "$WORK/head/re/closed/again" ] && [ "$(spooled)" = 0 ]
}
is_full_now() { is_full || { remove again >/dev/null; return 1; }; }
# of 120 MiB he has 50
an_re_holds_no_more_than_it_may() {
	[ "$(put fourth "$WORK/large")" = 200 ] && is_full || { wrong 'it takes more'; return 1; }
	# another one in place of one, or after one went
	[ "$(put fourth "$WORK/large")" = 200 ] && [ "$(remove fourth)" = 200 ] && [ "$(put fifth "$WORK/large")" = 200 ] && is_full || { wrong 'it takes none where there is room'; return 1; }
	# it is counted by what is there: also by a head that starts, and what he puts there himself
	head_stop
	[ "$(remove_as_himself fifth)" = 0 ] && as games cp "$WORK/large" "$WORK/head/re/closed/his" && head_start && until_true 20 is_full_now || { wrong 'it is not counted anew'; return 1; }
}
remove_as_himself() { as games rm "$WORK/head/re/closed/$1"; echo $?; }
the_last_of_the_disk_is_kept() {
	head_stop
	sed -i 's/data_max_mb = 120;/data_reserve_mb = 16777216;/' "$PHX_CONFIG" && head_start
	echo x >"$WORK/small" && chmod 644 "$WORK/small"
	[ "$(put small "$WORK/small")" = 507 ] && grep -q 'MiB are free, and 16777216 MiB stay free (data_reserve_mb)' "$WORK/answer" && [ "$(spooled)" = 0 ] && [ ! -e "$WORK/head/re/closed/small" ] || { wrong 'it takes a file'; return 1; }
	sed -i 's/data_reserve_mb = 16777216;//' "$PHX_CONFIG"
	head_stop
	head_start
	[ "$(put small "$WORK/small")" = 200 ] || { wrong 'it takes none'; return 1; }
}
submit() { as "$1" curl -sS -m 20 --unix-socket "$PHX_SOCKET" -d '{"argv": ["true"], "hold": true}' http://unix/v1/jobs -D "$WORK/job.txt" -o "$WORK/answer" -w '%{http_code}\n'; }
one_user_does_not_fill_the_queue() {
	touch "$WORK/job.txt" && chmod 666 "$WORK/job.txt"
	local i
	for i in 1 2 3 4 5; do [ "$(submit nobody)" = 200 ] || return 1; done
	[ "$(submit nobody)" = 429 ] && grep -qi '^retry-after: [1-9]' "$WORK/job.txt" && grep -q jobs_per_user "$WORK/answer" && [ "$(submit daemon)" = 200 ]
}

trust_head 'polls_per_user = 4; stage_max_mb = 60; upload_mb_per_user = 80; jobs_per_user = 5; data_max_mb = 120;'
agreement closed '' || { not_ok "RE closed is not active: $(cat "$WORK/re.log")"; exit 1; }
check certificates_of_one_name_share certificates_of_one_name_share
check an_upload_over_the_share_leaves_nothing an_upload_over_the_share_leaves_nothing
check an_re_holds_no_more_than_it_may an_re_holds_no_more_than_it_may
check the_last_of_the_disk_is_kept the_last_of_the_disk_is_kept
check one_user_does_not_fill_the_queue one_user_does_not_fill_the_queue
exit $FAILED
