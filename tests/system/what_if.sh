#!/bin/bash
# What would have been, asked of a real head with fake agents: the answer, who may ask what, twice the same, too many, and the process that
# simulates: what it may do, killed, cancelled, too slow for nobody.
. "$(dirname "$0")/phxd.bash"
for who in games daemon bin lp; do id "$who" >/dev/null 2>&1 || { echo "skip what_if: there is no user $who"; exit 0; }; done
[ "$(id -u)" = 0 ] || { echo "skip what_if: only root asks as several users"; exit 0; }

# as USER PATH [ARGUMENTS...]: its answer, the status in the last line
as() { setpriv --reuid="$1" --regid="$(id -g "$1")" --init-groups curl -sS -m 20 --unix-socket "$PHX_SOCKET" "http://unix$2" -w '\n%{http_code}' "${@:3}" </dev/null; }
ask() { as "$1" /v1/what-if -d "$2"; }
status() { tail -n 1; }
id_of() { head -n 1 | jq .question.id; }
state_of() { as "$1" "/v1/what-if/$2" | head -n 1 | jq -r .question.state; }
is_now() { [ "$(state_of "$1" "$2")" = "$3" ]; }
planner() { pgrep -P "$HEAD" -f -- --planner; }
# years of checks once a minute: it is simulated for a while
LONG='{"from_ms": 0, "model": "dr"}'

grid_has_had_a_job() {
	printf 'name = "grid"; owner = "games"; relationship = "affiliated"; type = "parallel_batch_jobs"; role = "batch"; resource_coordination_model = "fb";
		lower_bound_size = 2; upper_bound_size = 2; setup_policy = "noop";\n' >"$WORK/grid.conf"
	phx re create "$WORK/grid.conf" >/dev/null && setpriv --reuid games --regid games --clear-groups "$BUILD/bin/phx" re activate grid --wait --timeout 60 >/dev/null || return 1
	post /v1/jobs '{"argv": ["work"], "re": "grid", "user": "games", "nodes": 2}' >/dev/null
	until_true 20 eval '[ "$(api /v1/jobs | jq -r ".jobs[0].state")" = done ]'
}
what_would_have_been() {
	local id
	id=$(ask root '{"nodes": 3}' | id_of)
	until_true 30 is_now root "$id" done || return 1
	as root "/v1/what-if/$id" | head -n 1 >"$WORK/answer"
	jq -e '.question.progress == 1 and .question.wish.nodes == 3 and .answer.nodes == 4 and .answer.nodes_changed == 7 and .answer.jobs == 1 and
		.answer.agreed.total.completed == 1 and .answer.changed.total.completed == 1' "$WORK/answer" >/dev/null || return 1
	# as the series of the time-line, once it has some: the same members, and in each as many values as there are times
	until_true 30 eval 'api /v1/timeline | jq -e ".pools[0].at_ms | length > 0" >/dev/null' && diff <(api /v1/timeline | jq -c '.pools[0] | [keys, (.values | keys), (.most | keys)]') <(jq -c '.answer.changed.pools[0] | [keys, (.values | keys), (.most | keys)]' "$WORK/answer") &&
		jq -e '.answer.changed.pools[0] | .pool == "grid" and (.values.nodes | max) == 2 and ([.at_ms, .values[]] | map(length) | unique | length == 1)' "$WORK/answer" >/dev/null
}
of_ones_own_re() {
	local id
	id=$(ask games '{"re": "grid"}' | id_of)
	until_true 30 is_now games "$id" done || return 1
	as games "/v1/what-if/$id" | head -n 1 | jq -e '.answer.agreed.res | map(.name) == ["grid"]' >/dev/null || return 1
	# another's is none, by number or by name
	[ "$(as root "/v1/what-if/$id" | status)" = 404 ] && [ "$(as root "/v1/what-if/$id/cancel" -d '{}' | status)" = 404 ] || return 1
	as games /v1/what-if | head -n 1 | jq -e --argjson id "$id" '.questions | map(.id) == [$id]' >/dev/null || return 1
	# a time before it was asked for may have been another's
	ask games '{"re": "grid", "from_ms": 5}' | head -n 1 | jq -e --argjson asked "$(api /v1/res/grid | jq .asked_ms)" '.question.wish.from_ms == $asked' >/dev/null
}
who_may_ask_what() {
	sed 's/"grid"/"other"/; s/"games"/"sync"/' "$WORK/grid.conf" >"$WORK/other.conf" && phx re create "$WORK/other.conf" >/dev/null || return 1
	[ "$(ask games '{"re": "other"}' | status)" = 404 ] || return 1
	[ "$(ask games '{}' | status)" = 403 ] && [ "$(ask games '{"re": "nonesuch"}' | status)" = 404 ] && [ "$(ask lp '{"re": "grid"}' | status)" = 403 ] || return 1
	# an operator does not search the journal, and knows what REs hold
	[ "$(ask daemon '{}' | status)" = 403 ] && [ "$(ask daemon '{"re": "grid"}' | status)" = 200 ] && [ "$(ask bin '{}' | status)" = 200 ]
}
bad_questions() {
	local bad
	for bad in '{"from_ms": 9, "until_ms": 9}' '{"nodes": 1, "re": "grid"}' '{"more": 1}' '{"model": "magic"}' '{"agreement": {}}' '{"wipe_ms": -1}' '{"nodes": "ten"}' '[]'; do
		[ "$(ask root "$bad" | status)" = 400 ] || { echo "$bad"; return 1; }
	done
	ask root '{"model": "magic"}' | grep -q 'fb'
}
# the launcher is stopped: the first question does not get on, and the others wait
twice_and_too_many() {
	local first second
	kill -STOP "$HEAD"
	first=$(ask root '{"nodes": 5}' | id_of) second=$(ask root '{"nodes": 6}' | id_of)
	local again third whole=1
	again=$(as root /v1/what-if/"$first" | head -n 1 | jq -c '.question.wish | {from_ms, until_ms, nodes}')
	[ "$(ask root "$again" | id_of)" = "$first" ] || whole=0
	third=$(ask root '{"nodes": 7}')
	grep -q '2 questions of yours' <<<"$third" && [ "$(status <<<"$third")" = 429 ] || whole=0
	[ "$(as root "/v1/what-if/$second/cancel" -d '{}' | status)" = 200 ] && is_now root "$second" cancelled || whole=0
	kill -CONT "$HEAD"
	[ $whole = 1 ] && until_true 30 is_now root "$first" 'done' && is_now root "$second" cancelled
}
status_line() { awk -v k="$2:" '$1 == k { print $2 }' "/proc/$1/status"; }
what_the_process_may_do() {
	local id pid
	id=$(ask root "$LONG" | id_of)
	until_true 30 is_now root "$id" simulating && pid=$(planner) && [ "$(wc -w <<<"$pid")" = 1 ] || return 1
	[ "$(status_line "$pid" NoNewPrivs) $(status_line "$pid" Seccomp) $(status_line "$pid" CapPrm)" = '1 2 0000000000000000' ] || { cat "/proc/$pid/status"; return 1; }
	[ "$(status_line "$pid" Uid)" = "$(id -u nobody)" ] && grep -q '^Max cpu time  *600 ' "/proc/$pid/limits" && grep -q '^Max file size  *0 ' "/proc/$pid/limits" || return 1
	# its socket alone
	! find "/proc/$pid/fd" -mindepth 1 -printf '%l\n' | grep -vE '^(socket:|/dev/null|pipe:|'"$WORK"'.*log)' || return 1
	# the head serves meanwhile, and so does a second question, which waits
	[ "$(ask bin '{}' | status)" = 200 ] && kill -KILL "$pid" && until_true 20 is_now root "$id" failed || return 1
	as root "/v1/what-if/$id" | grep -q 'it was ended: it took more than'
}
one_that_nobody_wants_any_more() {
	local id pid
	id=$(ask root "$LONG" | id_of)
	until_true 30 is_now root "$id" simulating && pid=$(planner) || return 1
	as root "/v1/what-if/$id/cancel" -d '{}' >/dev/null && until_true 10 is_now root "$id" cancelled && until_true 10 eval "! kill -0 $pid 2>/dev/null"
}
# while a question is simulated phxd ends as ever
it_holds_nobody_up() {
	local id pid
	id=$(ask root "$LONG" | id_of)
	until_true 30 is_now root "$id" simulating && pid=$(planner) && head_stop && until_true 5 eval "! kill -0 $pid 2>/dev/null"
}

head_conf 'service_group = "games"; operator_group = "daemon"; auditor_group = "bin"; requests_per_s = 100000;'
head_start
package tools 1 'exit 0'
roles_init
post /v1/reload >/dev/null
for i in 1 2 3 4; do
	post /v1/nodes "{\"name\": \"n$i\", \"macs\": [\"02:00:00:00:00:0$i\"]}" >/dev/null
	fake_start n$i $i
done
for i in 1 2 3 4; do until_true 20 idle n$i ready "" || { not_ok "n$i is not ready"; exit 1; }; done
check grid_has_had_a_job grid_has_had_a_job
for t in what_would_have_been of_ones_own_re who_may_ask_what bad_questions twice_and_too_many what_the_process_may_do one_that_nobody_wants_any_more it_holds_nobody_up; do check $t $t; done
exit $FAILED
