#!/bin/bash
# Somebody has a certificate with the name of a user of the head, and a user has the name of a certificate that owns an RE: neither is
# the other. He submits to none of the other's REs, orders and reads none, and sees none of his jobs; until an administrator says as
# whom the certificate works.
. "$(dirname "$0")/../trust.bash"

URL=https://127.0.0.1:$HTTPS
# status of what the certificate in $WORK/NAME asks; the text is in $WORK/answer
by_cert() { # NAME METHOD PATH ARGUMENTS...
	curl -sS -m 20 --cacert "$WORK/head/pki/ca.pem" --cert "$WORK/$1/cert.pem" --key "$WORK/$1/key.pem" -X "$2" "$URL$3" -w '\n%{http_code}' "${@:4}" >"$WORK/answer" </dev/null
	tail -n 1 "$WORK/answer"
}
gets() { # STATUS NAME METHOD PATH ...
	local got
	got=$(by_cert "${@:2}")
	[[ $got =~ ^($1)$ ]] && return 0
	echo "${*:2}: wanted $1, got $got: $(head -c 400 "$WORK/answer")"
	return 1
}
issue() { phx cert issue "$1" --kind "$2" --out "$WORK/$3" >/dev/null 2>&1; }
job='{"re": "closed", "argv": ["true"], "nodes": 1}'

a_certificate_is_not_the_user_of_its_name() {
	gets '404|400' games POST /v1/jobs -d "$job" && gets 404 games GET /v1/res/closed && gets 404 games GET /v1/res/closed/data &&
		gets 404 games POST /v1/res/closed/suspend -d '{}' && gets 404 games GET /v1/res/closed/history && gets 404 games GET "/v1/jobs/$JOB" &&
		gets 404 games POST "/v1/jobs/$JOB/cancel" -d '{}' && gets 200 games GET /v1/res && ! grep -q closed "$WORK/answer"
}
nor_a_member_of_it() { gets '404|400' daemon POST /v1/jobs -d '{"re": "named", "argv": ["true"], "nodes": 1}' && gets 404 daemon GET /v1/res/named/data; }
it_works_as_no_user() { gets 400 games POST /v1/jobs -d '{"argv": ["true"], "nodes": 1}' && grep -q 'works as no user' "$WORK/answer"; }
a_user_is_not_the_certificate_of_his_name() {
	printf 'name = "far"; owner = "cert:bin"; type = "parallel_batch_jobs"; relationship = "affiliated"; role = "batch"; lower_bound_size = 1;\n' >"$WORK/far.conf"
	phx re create "$WORK/far.conf" >/dev/null || return 1
	refused 404 bin POST /v1/jobs -d '{"re": "far", "argv": ["true"], "nodes": 1}' && refused 404 bin GET /v1/res/far/data &&
		gets 200 bin GET /v1/res/far && gets 200 bin GET /v1/res && grep -q '"far"' "$WORK/answer" && phx re list | grep -q 'cert:bin'
}
an_administrator_says_as_whom_it_works() {
	phx access grant cert:games login:games 2>/dev/null || return 1
	gets 200 games POST /v1/jobs -d "$job" && gets 200 games GET "/v1/jobs/$JOB" && gets 200 games GET /v1/res/closed || return 1
	phx access revoke cert:games login:games 2>/dev/null
	gets 404 games GET /v1/res/closed && ! phx access grant cert:games login:root 2>"$WORK/err" && grep -q root "$WORK/err"
}
# its name is shown short where that means the same
owners_have_their_kind() {
	api /v1/res/closed | jq -e '.agreement.owner == "unix:games" and .owner_name == "games"' >/dev/null && phx re list | grep -q ' games '
}
# users and groups change while it is there, by its owner or an administrator and nobody else
members_come_and_go() {
	refused 404 bin POST /v1/jobs -d "$job" && refused '403|404' bin POST /v1/res/closed/members -d '{"add": "bin"}' || return 1
	as games "$BUILD/bin/phx" re members closed bin "group:$(id -gn nobody)" >/dev/null && refused 200 bin POST /v1/jobs -d "$job" && refused 200 nobody POST /v1/jobs -d "$job" || return 1
	phx re members closed | grep -q '^unix:bin ' && as games "$BUILD/bin/phx" re members closed bin- "group:$(id -gn nobody)-" >/dev/null || return 1
	refused 404 bin POST /v1/jobs -d "$job" && refused 404 nobody POST /v1/jobs -d "$job" && phx re history closed | grep -q 'members of RE closed: without unix:bin'
}
it_replays() { replays_the_same 20 20; }

trust_head
id bin >/dev/null 2>&1 || { echo "skip namesake: there is no user bin"; exit 0; }
agreement closed '' || { not_ok "RE closed is not active: $(cat "$WORK/re.log")"; exit 1; }
agreement named 'users = "daemon";' || { not_ok "RE named is not active: $(cat "$WORK/re.log")"; exit 1; }
issue games service-provider games && issue daemon user daemon && issue bin service-provider bin || { not_ok 'no certificates'; exit 1; }
JOB=$(as games "$BUILD/bin/phx" job submit --hold --re closed -- true)
check a_certificate_is_not_the_user_of_its_name a_certificate_is_not_the_user_of_its_name
check nor_a_member_of_it nor_a_member_of_it
check it_works_as_no_user it_works_as_no_user
check a_user_is_not_the_certificate_of_his_name a_user_is_not_the_certificate_of_his_name
check an_administrator_says_as_whom_it_works an_administrator_says_as_whom_it_works
check owners_have_their_kind owners_have_their_kind
check members_come_and_go members_come_and_go
check it_replays it_replays
exit $FAILED
