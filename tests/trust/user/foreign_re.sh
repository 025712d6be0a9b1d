#!/bin/bash
# A user of the head and an RE that has not named him: he does not submit to it, reads and writes nothing in it, and is not told that
# it is there. What is answered is what is answered of an RE that does not exist. Those whom the agreement names do all that.
. "$(dirname "$0")/../trust.bash"

submit='{"re": "%s", "argv": ["true"], "nodes": 1}'
job() { printf "$submit" "$1"; }
# the same answer as of an RE that is not there, but for its name
as_if_absent() { # USER METHOD PATH ARGUMENTS...: PATH has RE
	local there absent
	there=$(ask "$1" "$2" "${3/RE/closed}" "${@:4}") && sed 's/closed/NAME/g' "$WORK/answer" >"$WORK/there"
	absent=$(ask "$1" "$2" "${3/RE/absent}" "${@:4}") && sed 's/absent/NAME/g' "$WORK/answer" >"$WORK/absent"
	[ "$there" = 404 ] && [ "$absent" = 404 ] && cmp -s "$WORK/there" "$WORK/absent" && return 0
	echo "$2 $3: $there $(head -c 300 "$WORK/there"), of an absent one $absent $(head -c 300 "$WORK/absent")"
	return 1
}

submits_nothing() { refused 404 nobody POST /v1/jobs -d "$(job closed)" && ! grep -q members "$WORK/answer"; }
stages_nothing_in() {
	echo words >"$WORK/head/re/closed/words" && chown games "$WORK/head/re/closed/words"
	as_if_absent nobody PUT /v1/res/RE/data/mine --data-binary mine && as_if_absent nobody GET /v1/res/RE/data &&
		as_if_absent nobody GET /v1/res/RE/data/words && [ ! -e "$WORK/head/re/closed/users" ]
}
knows_of_nothing() {
	ask nobody GET /v1/res >/dev/null && ! grep -q closed "$WORK/answer" || { cat "$WORK/answer"; return 1; }
	as_if_absent nobody GET '/v1/jobs?re=RE'
}
# the owner of another RE is a stranger here, too
other_owners_do_no_more() { refused 404 daemon POST /v1/jobs -d "$(job closed)" && refused 404 daemon GET /v1/res/closed/data; }

members_do_it() {
	refused 200 daemon POST /v1/jobs -d "$(job named)" && refused 200 nobody POST /v1/jobs -d "$(job named)" || return 1
	refused 200 nobody PUT /v1/res/named/data/mine --data-binary mine && refused 200 nobody GET /v1/res/named/data/mine || return 1
	refused 200 games POST /v1/jobs -d "$(job closed)" && refused 200 games GET /v1/res/closed/data/words || return 1
	ask nobody GET /v1/res >/dev/null && grep -q '"named"' "$WORK/answer"
}
# an administrator submits for whom he likes
root_names_a_user() { api /v1/jobs -X POST -d '{"re": "closed", "user": "nobody", "argv": ["true"], "nodes": 1}' | jq -e .id >/dev/null; }
# what the journal has is decided again as it was
it_replays() { replays_the_same 20 20; }

trust_head
agreement closed '' || { not_ok "RE closed is not active: $(cat "$WORK/re.log")"; exit 1; }
[ -n "${OLD:-}" ] || agreement named "users = \"daemon\"; groups = \"$(id -gn nobody), games\";" || { not_ok "RE named is not active: $(cat "$WORK/re.log")"; exit 1; }
check submits_nothing submits_nothing
check stages_nothing_in stages_nothing_in
check knows_of_nothing knows_of_nothing
check other_owners_do_no_more other_owners_do_no_more
check members_do_it members_do_it
check root_names_a_user root_names_a_user
check it_replays it_replays
exit $FAILED
