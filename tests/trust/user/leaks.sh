#!/bin/bash
# What a user is not to read in answers that he is let read: command lines and environment of other people's services, what these
# wrote, from where agents asked, who was refused, what was before an RE, and he does not take all places of triggers that wait for files.
# Who may, finds each, which shows that there is something to find.
. "$(dirname "$0")/../trust.bash"

answer() { sed '$d' "$WORK/answer"; }
# finds USER PATH WORD, finds_none USER PATH WORD: in an answer that is given
finds() { gets 200 ask "$1" GET "$2" && { answer | grep -qF -- "$3" || { echo "$1 does not find '$3' in $2"; return 1; }; }; }
finds_none() {
	gets 200 ask "$1" GET "$2" || return 1
	! answer | grep -qF -- "$3" || { echo "$1 finds '$3' in $2: $(answer | grep -oE -- ".{0,80}$3.{0,20}" | head -n 1)"; return 1; }
}

# ---- roles ----

SECRETS='argv-secret env-secret health-secret'
of_roles_and_images_a_user_reads_names() {
	local path who secret
	for path in /v1/roles /v1/roles/batch; do
		for secret in $SECRETS service-of-batch '"image_digest"' tools; do
			for who in root bin games; do finds $who $path "$secret" || return 1; done
			for who in nobody daemon; do finds_none $who $path "$secret" && finds $who $path '"name":"batch"' || return 1; done
		done
	done
	for who in root bin games; do finds $who /v1/images vmlinuz || return 1; done
	for who in nobody daemon; do gets 200 ask $who GET /v1/images && answer | jq -e '. == {images: [{name: "deploy"}, {name: "test"}], bad: []}' >/dev/null || { answer; return 1; }; done
	# of an image that no role of his RE runs the owner reads the name, too
	gets 200 ask games GET /v1/images && answer | jq -e '.images[0] == {name: "deploy"}' >/dev/null
}
# what software nodes get, and how the head is set up, is for who works with them
packages_and_configuration_are_not_his() {
	local path who
	for path in /v1/packages /v1/config; do
		for who in root bin; do gets 200 ask $who GET $path || return 1; done
		for who in games nobody daemon; do gets 403 ask $who GET $path || return 1; done
	done
}
# an RE that was only asked for shows nothing
a_request_shows_no_role() {
	sed 's/"closed"/"wish"/; s/"games"/"daemon"/' "$WORK/closed.conf" >"$WORK/wish.conf" && chmod 644 "$WORK/wish.conf" || return 1
	as daemon "$BUILD/bin/phx" re request "$WORK/wish.conf" && finds_none daemon /v1/roles/batch env-secret && as daemon "$BUILD/bin/phx" re withdraw wish
}
# no line says of what he is not told that there is none
role_show_copes() {
	local what
	for what in "role show batch" "role list" "image list"; do
		# shellcheck disable=SC2086
		as nobody "$BUILD/bin/phx" $what >"$WORK/shown" && grep -qwE "batch|test" "$WORK/shown" && ! grep -qwE "yes|no|none|0 B|secret|service-of" "$WORK/shown" || { cat "$WORK/shown"; return 1; }
	done
	phx role show batch >"$WORK/shown" && grep -q argv-secret "$WORK/shown" || { cat "$WORK/shown"; return 1; }
}

# ---- what services wrote ----

# n2 is nobody's; what a service wrote is in its reason, and in the note of the event
SAID='service s ended within its settle time of 1 s with status 1: SECRETLOG "x" y-secret'
what_services_wrote_is_not_told() {
	local who path secret
	gets 200 ask root POST /v1/actions/quarantine -d "$(jq -cn --arg text "$SAID" --arg node "$FREE" '{nodes: $node, text: $text}')" || return 1
	for path in "/v1/nodes/$FREE" /v1/nodes '/v1/events?limit=1000' "/v1/events?limit=1000&node=$FREE"; do
		for secret in SECRETLOG y-secret; do
			for who in root bin; do finds $who "$path" $secret || return 1; done
			for who in nobody daemon games; do finds_none $who "$path" $secret && finds $who "$path" 'with status 1' || return 1; done
		done
	done
}
# his node tells of its health what its check wrote: he reads it, and who has the right logs
of_his_own_node_he_is_told() {
	local who
	kill -STOP "${AGENT[$HIS]}" # it would say something else
	gets 200 by_node "$HIS" POST /v1/agent/beat -d "$(field $HIS . | jq -c '{boot_id, env, actual_role, actual_identity, epoch, healthy: false,
		health_text: "bin/tools: exit status 1: SECRETCHECK", running: []}')" || return 1
	until_true 5 eval "[[ \$(field $HIS .health_text) =~ SECRETCHECK ]]" || { cat "$WORK/answer"; return 1; }
	for who in root bin games; do finds $who "/v1/nodes/$HIS" SECRETCHECK || return 1; done
	for who in nobody daemon; do finds_none $who "/v1/nodes/$HIS" SECRETCHECK && finds $who "/v1/nodes/$HIS" 'exit status 1' || return 1; done
	kill -CONT "${AGENT[$HIS]}"
}

# ---- addresses, refusals ----

from_where_agents_asked_is_not_told() {
	local who
	for who in root bin; do finds $who '/v1/events?limit=1000' '"by":"127.0.0.1"' || return 1; done
	for who in nobody daemon games; do finds_none $who '/v1/events?limit=1000' '127.0.0.1' && finds $who '/v1/events?limit=1000' '"kind":"enrol"' || return 1; done
}
a_refusal_is_told_to_whom_it_is_of() {
	local who refusal="uid:$(id -u nobody) is refused"
	refused 403 nobody GET /v1/certs || return 1
	for who in root bin nobody; do finds $who '/v1/events?limit=1000' "$refusal" || return 1; done
	for who in daemon games; do finds_none $who '/v1/events?limit=1000' "$refusal" || return 1; done
}

# ---- what was before ----

# rows_of USER: of the time-line of pool closed, how many rows there are, and when the first begins
rows_of() {
	gets 200 ask "$1" GET /v1/timeline/nodes && answer | jq -r '[.holdings[] | select(.pool == "closed").from_ms] | "\(length) \(min)"' &&
		gets 200 ask "$1" GET "/v1/timeline?points=5000" && answer | jq -r '[.pools[] | select(.pool == "closed").at_ms[]] | "\(length) \(min)"'
}
# the RE of games is destroyed, and daemon has one of that name
the_time_before_his_re_is_not_told() {
	local asked n first
	as games "$BUILD/bin/phx" re deactivate closed --yes --wait --timeout 60 >>"$WORK/re.log" 2>&1 && phx re destroy closed --yes >>"$WORK/re.log" 2>&1 || { cat "$WORK/re.log"; return 1; }
	sleep 1.1
	sed 's/"games"/"daemon"/' "$WORK/closed.conf" >"$WORK/next.conf" && phx re create "$WORK/next.conf" >>"$WORK/re.log" 2>&1 &&
		as daemon "$BUILD/bin/phx" re activate closed --wait --timeout 60 >>"$WORK/re.log" 2>&1 || { cat "$WORK/re.log"; return 1; }
	asked=$(api /v1/res/closed | jq .asked_ms)
	until_true 10 eval '[ "$(rows_of daemon | grep -vc "^0 ")" = 2 ]' || { echo "daemon finds nothing: $(rows_of daemon)"; return 1; }
	rows_of root >"$WORK/rows" && rows_of daemon >"$WORK/rows.his" && cat "$WORK/rows" "$WORK/rows.his" || return 1
	while read -r n first; do [ "$n" -ge 1 ] && [ "$first" -lt "$asked" ] || { echo "root: $n from $first, asked $asked"; return 1; }; done <"$WORK/rows"
	while read -r n first; do [ "$n" -ge 1 ] && [ "$first" -ge "$asked" ] || { echo "daemon: $n from $first, asked $asked"; return 1; }; done <"$WORK/rows.his"
}

# ---- places ----

FLOW='{"name":"w","schemaVersion":"1.5","workflow":{"specification":{"tasks":[{"id":"a","name":"a","parents":[],"children":[]}],"files":[]},"execution":{"tasks":[{"id":"a","runtimeInSeconds":1,"coreCount":1,"command":{"program":"true","arguments":[]}}]}}}'
waits_for_files() { # USER NAME: the status
	printf '{"name": "%s", "when": {"file": "%s/*"}}\n%s' "$2" "$2" "$FLOW" >"$WORK/body.$1" && chmod 644 "$WORK/body.$1"
	ask "$1" PUT "/v1/triggers?re=flows" --data-binary "@$WORK/body.$1"
}
# 25 of the 100 places; others get theirs, and his triggers of other kinds are taken
nobody_takes_all_places() {
	local i
	printf 'name = "flows"; owner = "games"; type = "many_tasks"; relationship = "affiliated"; role = "batch"; lower_bound_size = 1; users = "nobody daemon";\n' >"$WORK/flows.conf"
	phx re create "$WORK/flows.conf" >>"$WORK/re.log" 2>&1 || { cat "$WORK/re.log"; return 1; }
	for i in {1..25}; do gets 200 waits_for_files nobody "n$i" || return 1; done
	gets 429 waits_for_files nobody n26 && grep -q '25 of 100' "$WORK/answer" && gets 200 waits_for_files daemon d1 || { cat "$WORK/answer"; return 1; }
	printf '{"name": "timed", "when": {"every_ms": 3600000}}\n%s' "$FLOW" >"$WORK/body.nobody"
	gets 200 ask nobody PUT "/v1/triggers?re=flows" --data-binary "@$WORK/body.nobody"
}

id bin >/dev/null 2>&1 || { echo "skip leaks: there is no user bin"; exit 0; }
roles_init() {
	printf 'summary = "a test"; pool = "batch"; image = "test"; drain_grace = "1s"; runs_jobs = true; packages = [ "tools" ];
services = ( { name = "service-of-batch"; package = "tools"; exec = [ "bin/tools", "--key=argv-secret" ]; env = [ "PASSWORD=env-secret" ]; } );
health = { kind = "exec"; exec = [ "bin/tools", "health-secret" ]; };\n' >"$WORK/etc/roles/batch.conf"
}
trust_head 'operator_group = "bin"; requests_per_s = 100000;'
phx access grant unix:daemon provider 2>/dev/null
agreement closed '' || { not_ok "RE closed is not active: $(cat "$WORK/re.log")"; exit 1; }
HIS=$([ "$(field n1 .pool)" = closed ] && echo n1 || echo n2) FREE=$([ "$HIS" = n1 ] && echo n2 || echo n1)
for test in of_roles_and_images_a_user_reads_names packages_and_configuration_are_not_his a_request_shows_no_role role_show_copes what_services_wrote_is_not_told of_his_own_node_he_is_told \
	from_where_agents_asked_is_not_told a_refusal_is_told_to_whom_it_is_of the_time_before_his_re_is_not_told nobody_takes_all_places; do check $test $test; done
exit $FAILED
