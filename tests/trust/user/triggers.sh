#!/bin/bash
# A user has triggers look where he may not: into another's directory, by his pattern, by links, by what he asks of others' triggers
# and hooks. What watches is he, in his own directory, and nobody else's trigger is his to see, fire or end.
. "$(dirname "$0")/../trust.bash"

FLOW='{"name":"w","schemaVersion":"1.5","workflow":{"specification":{"tasks":[{"id":"a","name":"a","parents":[],"children":[]}],"files":[]},"execution":{"tasks":[{"id":"a","runtimeInSeconds":1,"coreCount":1,"command":{"program":"true","arguments":[]}}]}}}'
# make USER NAME WHEN: the status
make_trigger() {
	printf '{"name": "%s", "when": %s}\n%s' "$2" "$3" "$FLOW" >"$WORK/body.$1" && chmod 644 "$WORK/body.$1"
	ask "$1" PUT "/v1/triggers?re=flows" --data-binary "@$WORK/body.$1"
}
trigger() { curl -sS --unix-socket "$PHX_SOCKET" "http://unix/v1/triggers/$1" | jq -r "$2"; }
trigger_is() { [ "$(trigger "$1" "$2")" = "$3" ]; }
USERS=$WORK/head/re/flows/users

each_has_his_own() {
	printf 'name = "flows"; owner = "games"; type = "many_tasks"; relationship = "affiliated"; role = "batch"; lower_bound_size = 1; users = "nobody daemon";\n' >"$WORK/flows.conf"
	phx re create "$WORK/flows.conf" >>"$WORK/re.log" 2>&1 || { cat "$WORK/re.log"; return 1; }
	[ "$(make_trigger daemon of-daemon '{"file": "in/*"}')" = 200 ] && [ "$(make_trigger nobody of-nobody '{"file": "in/*"}')" = 200 ] || { cat "$WORK/answer"; return 1; }
	until_true 20 trigger_is of-daemon .watch watches && until_true 20 trigger_is of-nobody .watch watches || { trigger of-daemon .; return 1; }
	[ "$(stat -c '%U %a' "$USERS/daemon" "$USERS/nobody" | tr '\n' ' ')" = "daemon 700 nobody 700 " ]
}
a_watcher_is_the_user_and_less() {
	local pid
	status_of() { awk -v k="$1:" '$1 == k { print $2 }' "/proc/$pid/status"; }
	for pid in $(pgrep -u nobody -f -- '--watcher'); do
		[ "$(status_of Uid) $(status_of CapEff) $(status_of NoNewPrivs) $(status_of Seccomp)" = "$(id -u nobody) 0000000000000000 1 2" ] || return 1
		[ "$(readlink "/proc/$pid/cwd")" = "$USERS/nobody" ] && return 0
	done
	echo "nobody watches as nobody" && return 1
}
no_pattern_leads_out() {
	local pattern
	for pattern in '../daemon/in/*' '/etc/*' 'in/../../daemon/in/*' '..' 'a//b' ''; do
		[ "$(make_trigger nobody out "{\"file\": \"$pattern\"}")" = 400 ] || { echo "$pattern: $(cat "$WORK/answer")"; return 1; }
	done
	[ "$(make_trigger nobody as-path '{"file": "users/daemon/in/*"}')" = 200 ]
}
# what they would make there themselves: the way to it is the head's
theirs() { chown -hR "$1" "$USERS/$1" && chmod 755 "$USERS/$1"; }
no_link_leads_out() {
	mkdir "$USERS/daemon/in" && ln -s ../daemon/in "$USERS/nobody/in" && theirs daemon && theirs nobody || return 1
	[ "$(make_trigger nobody by-link '{"file": "*/*"}')" = 200 ] && until_true 20 trigger_is by-link .watch watches || return 1
	echo secret >"$USERS/daemon/in/x"
	until_true 20 trigger_is of-daemon .n_fired 1 || { trigger of-daemon .; return 1; }
	mkdir "$USERS/nobody/own" && ln -s ../../daemon/in/x "$USERS/nobody/own/link" && theirs nobody && echo 1 >"$USERS/nobody/own/mine" || return 1
	until_true 20 trigger_is by-link '[.last[].what] | join(" ")' users/nobody/own/mine || { trigger by-link .; return 1; }
	trigger_is of-nobody .n_fired 0 && trigger_is as-path .n_fired 0
}
anothers_trigger_is_not_there() {
	local order
	refused 404 nobody GET /v1/triggers/of-daemon && refused 404 nobody GET /v1/triggers/of-daemon/text || return 1
	for order in fire pause resume delete; do refused 404 nobody POST "/v1/triggers/of-daemon/$order" -d '{}' || return 1; done
	[ "$(ask nobody GET /v1/triggers)" = 200 ] && ! grep -q of-daemon "$WORK/answer" && trigger_is of-daemon .n_fired 1
}
# seqs USER FILTER: of the events that he is told and that are such
seqs() { gets 200 ask "$1" GET '/v1/events?limit=1000' && jq -r "[.events[] | select($2) | .seq] | .[]" "$WORK/answer"; }
# all, or none, of the numbers in FILE are among USER's
hears() { [ -s "$2" ] && seqs "$1" true | grep -cxF -f "$2" | grep -qx "$(wc -l <"$2")"; }
hears_none() { [ -s "$2" ] && ! seqs "$1" true | grep -qxF -f "$2"; }
what_he_does_others_are_not_told() {
	gets 200 ask games POST /v1/res/flows/activate -d '{}' && until_true 60 trigger_is of-daemon .n_begun 1 || { trigger of-daemon .; return 1; }
	gets 200 ask daemon POST /v1/workflows/1/cancel -d '{}' || return 1
	seqs root "(.kind | test(\"^(workflow|trigger)_\")) and (.by == \"uid:$(id -u daemon)\" or .event.trigger == $(trigger of-daemon .id))" >"$WORK/his"
	[ "$(wc -l <"$WORK/his")" -ge 3 ] && hears_none nobody "$WORK/his" && hears daemon "$WORK/his" || { tr '\n' ' ' <"$WORK/his"; cat "$WORK/answer"; return 1; }
}
# the owner of the RE ends what is in his way; what another submits is not his to say
an_owner_submits_nothing_as_his_member() {
	refused 404 games POST /v1/triggers/of-daemon/fire -d '{}' && gets 200 ask games POST /v1/triggers/of-daemon/pause -d '{}'
}
anothers_hook_wants_its_token() {
	local own
	[ "$(make_trigger nobody mine '{"http": "/hook/mine"}')" = 200 ] && own=$(head -n 1 "$WORK/answer" | jq -r .token) || return 1
	[ "$(make_trigger daemon his '{"http": "/hook/his"}')" = 200 ] || return 1
	refused 403 nobody POST /hook/his -d x && refused 403 nobody POST /hook/his -H "Authorization: Bearer $own" -d x || return 1
	refused 400 nobody PUT '/v1/triggers?re=flows' --data-binary 'no line' && [ "$(make_trigger nobody other '{"http": "/hook/his"}')" = 400 ] || return 1
	trigger_is his .n_fired 0 && gets 202 ask nobody POST /hook/mine -H "Authorization: Bearer $own" -d x
}
nobody_makes_triggers_without_end() {
	local i last=
	for i in {1..12}; do last=$(make_trigger nobody "many$i" '{"every_ms": 3600000}'); [ "$last" = 200 ] || break; done
	[ "$last" = 429 ] && grep -q triggers_per_user "$WORK/answer" && [ "$(make_trigger daemon still '{"every_ms": 3600000}')" = 200 ]
}

texts() { find "$WORK/head" -name 'workflow-*' | wc -l; }
# each has a text of its own: what is refused leaves none
what_is_refused_leaves_no_text() {
	local FLOW=$FLOW before who seconds status
	before=$(texts)
	[ "$before" -ge 1 ] || return 1
	while read -r who seconds status; do
		FLOW=${FLOW/runtimeInSeconds\":[0-9]/runtimeInSeconds\":$seconds}
		[ "$(make_trigger "$who" refused '{"every_ms": 3600000}')" = "$status" ] || { cat "$WORK/answer"; return 1; }
	done <<<$'mail 2 404\nnobody 3 429'
	printf %s "$FLOW" >"$WORK/flow" && chmod 644 "$WORK/flow"
	refused 404 mail PUT '/v1/workflows?re=flows' --data-binary "@$WORK/flow" && [ "$(texts)" = "$before" ] || return 1
	[ "$(make_trigger daemon taken '{"every_ms": 3600000}')" = 200 ] && [ "$(texts)" = $((before + 1)) ]
}

trust_head 'triggers_per_user = 8;'
check "a user's trigger looks into his own directory" each_has_his_own
check "what watches is the user, and can do less than he" a_watcher_is_the_user_and_less
check "no pattern leads out of it" no_pattern_leads_out
check "no link leads out of it" no_link_leads_out
check "another's trigger is not there for him" anothers_trigger_is_not_there
check "others are told nothing of what he does" what_he_does_others_are_not_told
check "an RE's owner has nothing submitted as a member" an_owner_submits_nothing_as_his_member
check "another's hook wants its token" anothers_hook_wants_its_token
check "no user makes triggers without end" nobody_makes_triggers_without_end
check "of what is refused no text is kept" what_is_refused_leaves_no_text
exit $FAILED
