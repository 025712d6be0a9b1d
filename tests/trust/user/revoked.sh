#!/bin/bash
# Somebody whose certificate is revoked, or whose role is taken, has a request open that phxd holds: it ends at once, and what happens
# after that he is not told.
. "$(dirname "$0")/../trust.bash"

URL=https://127.0.0.1:$HTTPS
# held NAME PATH: what the certificate in $WORK/NAME holds open; ends with its status in $WORK/NAME.held
held() {
	(curl -sS -m 50 --cacert "$WORK/head/pki/ca.pem" --cert "$WORK/$1/cert.pem" --key "$WORK/$1/key.pem" "$URL$2" -w '\n%{http_code}' >"$WORK/$1.answer" 2>&1 </dev/null
		tail -n 1 "$WORK/$1.answer" >"$WORK/$1.held") &
	HELD=$!
	sleep 0.7
	[ ! -e "$WORK/$1.held" ] || { echo "$1 $2: was not held: $(cat "$WORK/$1.answer")"; return 1; }
}
# ends NAME STATUS: at once
ends() {
	until_true 3 test -s "$WORK/$1.held" || { echo "$1: still held"; kill $HELD; return 1; }
	[ "$(cat "$WORK/$1.held")" = "$2" ] || { echo "$1: wanted $2: $(cat "$WORK/$1.answer")"; return 1; }
}
still_held() { sleep 0.7; [ ! -e "$WORK/$1.held" ]; }
last() { api /v1/events?limit=1000 | jq .last; }
cert() { phx cert issue "$1" --kind "$2" --out "$WORK/$1" >/dev/null 2>&1; }

who_follows_events_is_told_no_more() {
	cert eve provider && cert bob user || return 1
	held bob "/v1/events?wait=40&after=$(($(last) + 5))" && held eve "/v1/events?wait=40&after=$(($(last) + 5))" || return 1
	phx cert revoke eve 2>/dev/null
	ends eve 403 && grep -q 'is revoked' "$WORK/eve.answer" || return 1
	# of others it ends nobody's
	still_held bob && phx cert revoke bob 2>/dev/null && ends bob 403
}
who_waits_for_a_job_is_told_no_more() {
	local id
	cert joe user && phx access grant cert:joe login:nobody 2>/dev/null && id=$(phx job submit --hold --user nobody -- true) && held joe "/v1/jobs/$id?wait=40" || return 1
	phx cert revoke joe 2>/dev/null
	ends joe 403
}
a_role_that_is_taken_ends_it_too() {
	cert ann user && phx access grant cert:ann auditor 2>/dev/null && held ann "/v1/events?wait=40&after=$(($(last) + 5))" || return 1
	phx access revoke cert:ann auditor 2>/dev/null
	ends ann 403 && grep -q 'less than when you asked' "$WORK/ann.answer" || return 1
	rm "$WORK/ann.held"
	# as the user that is left he may still follow his own
	held ann "/v1/events?wait=40&after=$(($(last) + 5))" && phx access grant cert:ann operator 2>/dev/null && still_held ann && phx access revoke cert:ann operator 2>/dev/null &&
		still_held ann && phx cert revoke ann 2>/dev/null && ends ann 403
}
# whose RE it was, too: his certificate is the owner no more
who_waits_for_an_re_is_told_no_more() {
	cert chem service-provider || return 1
	printf 'name = "far"; owner = "cert:chem"; type = "parallel_batch_jobs"; relationship = "affiliated"; role = "batch"; lower_bound_size = 1;\n' >"$WORK/far.conf"
	phx re create "$WORK/far.conf" >/dev/null && held chem '/v1/res/far?until=serves&wait=40' || return 1
	phx cert revoke chem 2>/dev/null
	ends chem 403
}

trust_head
check who_follows_events_is_told_no_more who_follows_events_is_told_no_more
check who_waits_for_a_job_is_told_no_more who_waits_for_a_job_is_told_no_more
check a_role_that_is_taken_ends_it_too a_role_that_is_taken_ends_it_too
check who_waits_for_an_re_is_told_no_more who_waits_for_an_re_is_told_no_more
exit $FAILED
