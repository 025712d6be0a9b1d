#!/bin/bash
# Sessions of browsers: a user tries to be signed in as somebody else, by links, cookies and pages of others; and a session has no more
# rights than who has it, on any route.
. "$(dirname "$0")/../trust.bash"
. tests/system/browser.bash
trust_head "requests_per_s = 100000;" || exit 1

is() { # WANTED COMMAND...: the status
	local got
	got=$(status "${@:2}")
	[[ $got =~ ^($1)$ ]] || { echo "${*:2}: wanted $1, got $got"; return 1; }
}
who_is() { browse "$1" GET /v1/session | head -n 1 | jq -r .identity; }

# ---- links ----

a_link_signs_in_who_asked_for_it() { is 200 sign_in daemon d1 && [ "$(who_is d1)" = unix:daemon ] && is 200 sign_in root r1 && [ "$(who_is r1)" = unix:root ]; }
a_link_is_good_once() {
	local word
	word=$(word_of root)
	is 200 sign_in root r2 "$word" && is 403 sign_in root stolen "$word"
}
a_look_at_a_link_does_not_use_it_and_tells_whose() {
	local word
	word=$(word_of daemon)
	[ "$(browse - POST /v1/session -d "{\"word\": \"$word\", \"look\": true}" | head -n 1 | jq -r .identity)" = unix:daemon ] && is 200 sign_in daemon d2 "$word"
}
a_guess_is_nobodys() {
	is 403 sign_in root g "$(printf '0%.0s' {1..64})" && is 403 sign_in root g "" && is 403 sign_in root g "a' or 1" &&
		is 400 browse - POST /v1/session -d '{"word": ["x"]}' && is 400 browse - POST /v1/session -d '{"user": "root"}'
}
the_network_asks_for_no_link() { is 404 browse - POST /v1/portal/link -d '{}' && is 404 browse r1 POST /v1/portal/link -d '{}'; }
the_word_is_in_no_log_and_no_journal() {
	local word
	word=$(word_of root)
	sign_in root r3 "$word" >/dev/null
	api "/v1/events?limit=1000" | grep -q 'unix:root signed in with a browser from 127.0.0.1' &&
		! grep -q "$word" "$WORK"/*.log && ! grep -qa "$word" "$WORK/head/journal.db" "$WORK/head/journal.db-wal"
}

# The journal keeps everything: who signs in without end is a row a minute of an address.
signing_in_without_end_fills_no_journal() {
	local seq i
	seq=$(seq_now)
	for i in {1..30}; do is 200 sign_in nobody many || return 1; done
	[ $(($(seq_now) - seq)) -le 2 ] || { echo "$(($(seq_now) - seq)) events"; return 1; }
}

# ---- cookies ----

the_cookie_is_hidden_and_of_this_host_alone() {
	local said
	said=$(browse - POST /v1/session -i -d "{\"word\": \"$(word_of daemon)\"}" | grep -i '^set-cookie:')
	[[ $said == *"__Host-phoenix="* && $said == *"; Path=/"* && $said == *"; Secure"* && $said == *"; HttpOnly"* && $said == *"; SameSite=Strict"* ]]
}
nobodys_cookie_is_told_so() {
	is 401 browse - GET /v1/whoami -H "Cookie: __Host-phoenix=$(printf '0%.0s' {1..64})" && is 401 browse - GET /v1/whoami -H 'Cookie: __Host-phoenix=' &&
		is 403 browse - GET /v1/whoami
}
a_cookie_is_nothing_on_the_routes_of_nodes() {
	local path
	for path in hello beat result inventory tasks logs rekey; do
		is 403 page r1 POST /v1/agent/$path -d '{}' || return 1
	done
	is 403 page r1 POST /v1/agent/disk-key/x -d '{}' && is 403 page r1 GET /packages/tools.tar.zst
}
# what a node's key opens, a cookie beside it neither widens nor narrows
a_cookie_beside_a_certificate_is_nothing() {
	gets 403 by_node n1 GET /v1/whoami -b "$WORK/r1.jar" && gets 403 by_node n1 POST /v1/actions/drain -b "$WORK/r1.jar" -d '{"nodes": "n1"}'
}
a_header_says_nothing_of_who_asks() { is 403 browse - GET /v1/whoami -H 'X-Forwarded-User: root' -H 'Remote-User: root' -H 'Authorization: Basic cm9vdDo='; }

# what a browser brought along when somebody signed in is worth nothing afterwards, and what a stranger put there never was
nobody_is_given_a_session_that_another_knows() {
	local chosen=$(printf 'ab%.0s' {1..32})
	browse - POST /v1/session -c "$WORK/f1.jar" -H "Cookie: __Host-phoenix=$chosen" -d "{\"word\": \"$(word_of daemon)\"}" >"$WORK/answer"
	! grep -q "$chosen" "$WORK/f1.jar" && is 401 browse - GET /v1/whoami -H "Cookie: __Host-phoenix=$chosen" || return 1
	cp "$WORK/f1.jar" "$WORK/f2.jar"
	is 200 browse f2 POST /v1/session -c "$WORK/f1.jar" -H "Phoenix-Token: $(token_of f2)" -d "{\"word\": \"$(word_of games)\"}" &&
		is 401 browse f2 GET /v1/whoami && [ "$(who_is f1)" = unix:games ]
}
# a copy of the cookie is used from another address: it is told, seen, and ended by its user, who is signed in elsewhere, and by nobody else
a_stolen_session_is_told_and_ended() {
	local id
	is 200 sign_in games s1 && is 200 sign_in games s2 && cp "$WORK/s1.jar" "$WORK/thief.jar" && is 200 browse thief GET /v1/whoami --interface 127.0.0.77 || return 1
	until_true 5 eval 'api "/v1/events?limit=1000" | grep -q "a session of unix:games is used from 127.0.0.77, and was from 127.0.0.1 before"' || return 1
	id=$(browse s2 GET /v1/sessions | head -n 1 | jq '.sessions[] | select(.used_at == "127.0.0.77" and .address == "127.0.0.1" and (.here | not)) | .id')
	[ -n "$id" ] && is 404 page d1 POST "/v1/sessions/$id/end" -d '{}' && is 403 browse s2 POST "/v1/sessions/$id/end" -d '{}' && is 200 browse thief GET /v1/whoami &&
		is 200 page s2 POST "/v1/sessions/$id/end" -d '{}' && is 401 browse thief GET /v1/whoami && is 200 browse s2 GET /v1/whoami &&
		! browse s2 GET /v1/sessions | head -n 1 | grep -q "$(awk '/__Host/ { print $7 }' "$WORK/s2.jar")"
}
# what a browser holds open is his as long as the session is, and so is a right
what_is_held_ends_with_the_session() {
	local held fed
	is 200 sign_in games h1 || return 1
	browse h1 GET '/v1/events?after=999999&wait=18' -H 'Sec-Fetch-Site: same-origin' >"$WORK/held" & held=$!
	browse h1 GET /v1/feed -N -H 'Sec-Fetch-Site: same-origin' >"$WORK/fed" & fed=$!
	until_true 5 grep -q nothing "$WORK/fed" || return 1
	as games "$BUILD/bin/phx" portal --sign-out 2>/dev/null
	until_true 5 eval "! kill -0 $held 2>/dev/null && ! kill -0 $fed 2>/dev/null" && [ "$(tail -n 1 "$WORK/held")" = 403 ] && [ "$(tail -n 1 "$WORK/fed")" = 200 ]
}
nobody_signs_in_with_a_password_where_that_is_off() {
	is 403 browse - POST /v1/session -d '{"user": "daemon", "password": "x"}' && [ "$(browse - GET /v1/session | head -n 1 | jq .passwords)" = false ]
}

# ---- pages of others ----

without_the_token_nothing_is_changed() {
	is 403 browse r1 POST /v1/reload -d '{}' && is 403 browse r1 POST /v1/reload -d '{}' -H "Phoenix-Token: $(token_of d1)" &&
		is 403 browse r1 POST /v1/reload -d '{}' -H 'Phoenix-Token: ' && is 200 page r1 POST /v1/reload -d '{}'
}
pages_of_other_origins_are_refused() {
	local token
	token=$(token_of r1)
	for origin in https://evil.example "https://127.0.0.1:$((HTTPS + 7))" "http://127.0.0.1:$HTTPS" null; do
		is 403 browse r1 POST /v1/reload -d '{}' -H "Origin: $origin" -H "Phoenix-Token: $token" || return 1
		is 403 browse r1 GET /v1/whoami -H "Origin: $origin" || return 1
	done
	# who is of another site is nobody, even where its browser brings the cookie
	is 401 browse r1 GET /v1/whoami -H 'Sec-Fetch-Site: cross-site' && is 401 browse r1 GET /v1/whoami -H 'Sec-Fetch-Site: same-site'
}
nobody_is_signed_in_by_a_page_of_others() { is 403 browse - POST /v1/session -H 'Origin: https://evil.example' -d "{\"word\": \"$(word_of daemon)\"}"; }
# a page that is forwarded to the socket would have the rights of who forwards it
the_socket_serves_no_page() {
	[ "$(api /v1/status -o /dev/null -w '%{http_code}' -H 'Origin: http://localhost:8000')" = 403 ] && [ "$(api /portal/ -o /dev/null -w '%{http_code}')" = 404 ]
}
pages_say_what_browsers_may_do_with_them() {
	local head
	head=$(browse - GET /portal/ -i)
	[[ $head == *"default-src 'none'; script-src 'self'"* && $head == *"frame-ancestors 'none'"* && $head == *nosniff* && $head == *no-referrer* &&
		$head == *'X-Frame-Options: DENY'* && $head == *"form-action 'none'"* ]]
}
# a form of another page needs no script: it sends what its page wrote as text/plain, and the browser brings the cookie
a_form_of_another_page_is_refused() {
	is 403 browse r1 POST /v1/reload -H 'Content-Type: text/plain' -H 'Origin: https://evil.example' -H 'Sec-Fetch-Site: cross-site' -d '{"a": "="}' &&
		is '401|403' browse r1 POST /v1/reload -H 'Content-Type: text/plain' -H 'Sec-Fetch-Site: cross-site' -d '{"a": "="}'
}
no_name_writes_a_header() {
	local path
	for path in '/portal/x%0d%0aSet-Cookie:%20a=b' '/v1/nodes/x%0d%0aSet-Cookie:%20a=b' '/v1/sessions/1%0aX:y/end'; do
		! browse d1 GET "$path" -i | grep -qi '^set-cookie' && is '400|404|405' browse d1 GET "$path" || return 1
	done
}
no_other_file_is_served() {
	local path
	for path in ../../etc/phoenix.conf %2e%2e/x ..%2f..%2fetc%2fpasswd npm/package.json index.html.gz build.mjs; do
		is '400|404' browse - GET "/portal/$path" --path-as-is || return 1
	done
}

# ---- rights ----

# each route that can be asked without doing anything: the session of a user is told what the user is told on the socket
a_session_may_what_its_user_may() {
	local user method path via wanted got n=0
	is 200 sign_in games g1 && is 200 sign_in nobody n1 || return 1
	while IFS=$'\t' read -r method path via _; do
		[ "$method" != method ] && [[ $via == *U* && $via == *T* ]] || continue
		path=${path//\*\*/x}
		path=${path//\*/none}
		for user in root:r1 games:g1 nobody:n1; do
			# a body that is no object is refused before anything is done, after the right was asked for
			wanted=$(ask "${user%:*}" "$method" "$path" $([ "$method" = GET ] || echo -d []))
			got=$(status page "${user#*:}" "$method" "$path" $([ "$method" = GET ] || echo -d []))
			n=$((n + 1))
			[ "$wanted" = "$got" ] || { echo "$method $path: ${user%:*} gets $wanted on the socket, $got with a session"; return 1; }
		done
	done < <("$BUILD/bin/phxd" -c "$PHX_CONFIG" --rights)
	[ $n -gt 120 ]
}
a_job_is_of_who_submits_it_with_a_browser() {
	local id
	id=$(page d1 POST /v1/jobs -d '{"argv": ["true"], "hold": true}' | head -n 1 | jq .id)
	[ "$(api "/v1/jobs/$id" | jq -r .user)" = daemon ] && is 403 page d1 POST /v1/jobs -d '{"argv": ["true"], "user": "root"}'
}

# ---- the end ----

a_session_ends_where_its_user_ends_it() {
	is 200 sign_in daemon d3 && is 200 page d3 POST /v1/session/end -d '{}' && is 401 browse d3 GET /v1/whoami && is 200 browse d1 GET /v1/whoami
}
sign_out_ends_all_of_one_user_and_no_other() {
	local word
	word=$(word_of daemon)
	as daemon "$BUILD/bin/phx" portal --sign-out 2>&1 | grep -q 'sessions ended' && is 401 browse d1 GET /v1/whoami && is 401 browse d2 GET /v1/whoami &&
		is 403 sign_in daemon d4 "$word" && is 200 browse r1 GET /v1/whoami
}
a_restart_signs_everybody_out() {
	head_stop
	head_start
	is 401 browse r1 GET /v1/whoami && [ "$(browse r1 GET /v1/session | head -n 1 | jq -r .signed_in)" = false ]
}

for t in a_link_signs_in_who_asked_for_it a_link_is_good_once a_look_at_a_link_does_not_use_it_and_tells_whose a_guess_is_nobodys the_network_asks_for_no_link \
	the_word_is_in_no_log_and_no_journal signing_in_without_end_fills_no_journal the_cookie_is_hidden_and_of_this_host_alone nobodys_cookie_is_told_so a_cookie_is_nothing_on_the_routes_of_nodes \
	nobody_is_given_a_session_that_another_knows a_stolen_session_is_told_and_ended what_is_held_ends_with_the_session nobody_signs_in_with_a_password_where_that_is_off \
	a_form_of_another_page_is_refused no_name_writes_a_header a_cookie_beside_a_certificate_is_nothing a_header_says_nothing_of_who_asks without_the_token_nothing_is_changed pages_of_other_origins_are_refused \
	nobody_is_signed_in_by_a_page_of_others the_socket_serves_no_page pages_say_what_browsers_may_do_with_them no_other_file_is_served \
	a_session_may_what_its_user_may a_job_is_of_who_submits_it_with_a_browser a_session_ends_where_its_user_ends_it \
	sign_out_ends_all_of_one_user_and_no_other a_restart_signs_everybody_out; do
	check "session ${t//_/ }" "$t"
done
exit $FAILED
