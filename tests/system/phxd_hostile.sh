#!/bin/bash
# One user, one node, one machine of the network against the head: whatever it takes or sends, administrators and agents
# are answered. No time is measured here (make bench BENCH=hostile does), only that an answer comes at all.
. "$(dirname "$0")/phxd.bash"
for program in fake/agent system/hoard; do
	[ -x "$BUILD/tests/$program" ] || { echo "not ok $program is not built"; exit 1; }
done

PATIENCE=10
as() { setpriv --reuid="$1" --regid="$1" --clear-groups "${@:2}"; }
nobody() { as 65534 curl -sS -m $PATIENCE --unix-socket "$PHX_SOCKET" "http://unix$1" "${@:2}"; }
# asked PATH ARGUMENTS...: the answer goes to $WORK/answer, its status is printed
asked() { nobody "$1" -w '\n%{http_code}' "${@:2}" >"$WORK/answer" && tail -n 1 "$WORK/answer" && echo; }
root_asks() { curl -sS -m $PATIENCE --unix-socket "$PHX_SOCKET" "http://unix$1" "${@:2}"; }
as_node() { curl -sS -m 20 --cacert "$WORK/head/pki/ca.pem" --cert "$WORK/$1/cert.pem" --key "$WORK/$1/key.pem" "https://127.0.0.1:$HTTPS$2" "${@:3}"; }
mac_of() { printf "02:00:00:00:00:%02x" "$1"; }
announce() { post /v1/nodes "{\"name\": \"$1\", \"macs\": [\"$(mac_of "$2")\"]}" >/dev/null; }
# stays true for the seconds that the head would need to find a node missing
stays_up() {
	local end=$(($(date +%s) + $2))
	while [ "$(date +%s)" -lt "$end" ]; do
		[ "$(root_asks "/v1/nodes/$1" | jq .up)" = true ] || return 1
		sleep 0.5
	done
}

# hoard_start NAME ARGUMENTS...: returns when it holds what it gets
declare -A HOARD=()
hoard_start() {
	local name=$1
	shift
	mkfifo "$WORK/$name.fifo"
	"$BUILD/tests/system/hoard" "$@" <"$WORK/$name.fifo" >"$WORK/$name.out" 2>"$WORK/$name.err" &
	HOARD[$name]=$!
	exec {HOARD_IN}>"$WORK/$name.fifo"
	eval "${name}_in=$HOARD_IN"
	until_true 20 grep -q ready "$WORK/$name.out"
}
hoard_stop() {
	local name=$1
	eval "exec {${name}_in}>&-"
	wait "${HOARD[$name]}"
	rm -f "$WORK/$name.fifo"
}

# ---- connections ----

root_is_answered() {
	local i
	for i in 1 2 3 4 5 6 7 8 9 10; do
		root_asks /v1/status | jq -e .seq >/dev/null || return 1
	done
	timeout $PATIENCE "$BUILD/bin/phx" node list >/dev/null
}
silence_of_one_user_locks_nobody_out() {
	hoard_start silent --uid 65534 --connections 9000 "$PHX_SOCKET" || return 1
	root_is_answered && as 65533 curl -sS -m $PATIENCE --unix-socket "$PHX_SOCKET" http://unix/v1/status | jq -e .seq &&
		stays_up n1 5
}
# asked while his connections are held; those that are cut after a minute leave room for a moment
who_has_too_many_is_told_so() { until_true 10 he_is_told_so; }
he_is_told_so() {
	local code
	as 65534 "$BUILD/bin/phx" status >"$WORK/told" 2>&1
	code=$?
	[ $code = 75 ] && grep -q 'as many connections open as one may.*try again' "$WORK/told"
}
half_a_request_locks_nobody_out() {
	hoard_start half --uid 65534 --connections 3000 --send "GET /v1/status HTTP/1.1
Host: x
X: " "$PHX_SOCKET" || return 1
	root_is_answered
}
one_address_locks_no_agent_out() {
	hoard_start tls --connections 9000 "127.0.0.1:$HTTPS" || return 1
	root_is_answered && stays_up n1 6 && stays_up n2 1
}

# ---- bodies ----

owner() { setpriv --reuid=daemon --regid="$(id -g daemon)" --init-groups curl -sS -m $PATIENCE --unix-socket "$PHX_SOCKET" "http://unix$1" "${@:2}"; }
# put WHO PATH FILE: the status, and how much of the file was sent
put() { "$1" "$2" -X PUT -T "$3" -w '\n%{http_code} %{size_upload}\n' >"$WORK/answer" 2>/dev/null; tail -n 1 "$WORK/answer"; }
spooled() { find "$WORK/head" -name 'phx-upload-*' | wc -l; }
refused_unread() { # WANTED-STATUS STATUS SENT
	[ "$2" = "$1" ] && [ "$3" -lt 10000000 ] && [ "$(spooled)" = 0 ]
}
uploads_are_refused_before_they_are_taken() {
	truncate -s 3G "$WORK/large"
	cat >"$WORK/q.conf" <<-END
		name = "q"; owner = "daemon"; type = "parallel_batch_jobs"; relationship = "affiliated"; granularity = "node";
		role = "batch"; coordinated_RE = "none"; resource_coordination_model = "fb"; lower_bound_size = 1; upper_bound_size = 1;
		lease = "2s"; scheduler = "first-fit"; setup_policy = "noop";
	END
	phx re create "$WORK/q.conf" >/dev/null || return 1
	# a user for whom the RE is not there, a node that has no such job, and the owner with more than there may be
	refused_unread 404 $(put nobody /v1/res/q/data/x "$WORK/large") || return 1
	refused_unread 404 $(put as_n1 /v1/agent/jobs/77/output "$WORK/large") || return 1
	refused_unread 409 $(put as_n1 "/v1/agent/jobs/77/out/0?run=0" "$WORK/large") || return 1
	refused_unread 413 $(put owner /v1/res/q/data/x "$WORK/large") && grep -q 'larger than 1024 MiB (stage_max_mb)' "$WORK/answer" || return 1
	echo fits >"$WORK/small"
	put owner /v1/res/q/data/x "$WORK/small" | grep -q '^200 ' && [ "$(owner /v1/res/q/data/x)" = fits ]
}
as_n1() { as_node n1 "$@"; }
bodies_tell_their_length() {
	local out
	out=$(printf 'text' | nobody /v1/jobs -X POST -H 'Transfer-Encoding: chunked' -T - -w ' %{http_code}')
	[[ $out == *Content-Length*\ 411 ]]
}
# what stands in a data directory and is no file: refused with a sentence, at once
what_is_no_file_is_refused() {
	local dir=$WORK/head/re/q name
	mkfifo "$dir/fifo" && mkdir "$dir/folder" && ln -s /etc/passwd "$dir/link" && mknod "$dir/device" c 1 5 || return 1
	perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => shift, Listen => 1)' "$dir/socket" || return 1
	for name in fifo folder link device socket; do
		owner "/v1/res/q/data/$name" -w ' %{http_code}' >"$WORK/answer"
		grep -q '"error":.* 40[0-9]$' "$WORK/answer" || { cat "$WORK/answer"; return 1; }
	done
}

# ---- what is kept of a body ----

beat_of() { root_asks /v1/nodes/n2 | jq -c --argjson m "$1" '{boot_id, env, monitor: $m, running: []}'; }
a_deep_monitor_ends_no_list() {
	agent_kill n2
	beat_of '{"load": 1}' >"$WORK/beat"
	as_node n2 /v1/agent/beat -d @"$WORK/beat" | jq -e .orders >/dev/null || return 1
	{ sed 's/"monitor":.*//' "$WORK/beat"; printf '"monitor":{"a":'; printf '[%.0s' {1..2040}; printf ']%.0s' {1..2040}; echo '}}'; } |
		tr -d '\n' >"$WORK/deep"
	as_node n2 /v1/agent/beat -d @"$WORK/deep" -w ' %{http_code}' | grep -q 'nested deeper.* 400' || return 1
	beat_of "{\"a\": \"$(head -c 40000 /dev/zero | tr '\0' x)\"}" >"$WORK/long"
	as_node n2 /v1/agent/beat -d @"$WORK/long" -w ' %{http_code}' | grep -q 'longer than 32 KiB.* 400' || return 1
	"$BUILD/bin/phx" node list >/dev/null && [ "$(root_asks /v1/nodes/n2 | jq -c .monitor)" = '{"load":1}' ] || return 1
	# a member that stands twice is no JSON to some readers
	sed 's/"monitor":{[^}]*}/"monitor":{"load":{"x":1,"x":2}}/' "$WORK/beat" >"$WORK/twice"
	as_node n2 /v1/agent/beat -d @"$WORK/twice" | jq -e .orders >/dev/null || return 1
	[ "$(root_asks /v1/nodes/n2 | grep -c '"x":1,"x":2')" = 1 ] || { echo "the monitor is not passed on: nothing was tried"; return 1; }
	"$BUILD/bin/phx" node list -o json >/dev/null && "$BUILD/bin/phx" node show n2 >/dev/null
}

# ---- jobs ----

long_job() { jq -nc --arg word "$(head -c 100000 /dev/zero | tr '\0' x)" '{argv: ["x", $word], hold: true}'; }
one_user_does_not_fill_the_queue() {
	local i
	local job
	job=$(long_job)
	for i in $(seq 55); do asked /v1/jobs -d "$job"; done >"$WORK/codes"
	[ "$(grep -c 200 "$WORK/codes")" = 51 ] && [ "$(grep . "$WORK/codes" | tail -n 1)" = 429 ] && grep -q job_mb_per_user "$WORK/answer" || return 1
	# small ones have room until there are 60
	for i in $(seq 30); do asked /v1/jobs -d '{"argv": ["x"], "hold": true}'; done >"$WORK/codes"
	[ "$(grep . "$WORK/codes" | tail -n 1)" = 429 ] && grep -q jobs_per_user "$WORK/answer" || return 1
	as 65534 "$BUILD/bin/phx" job submit --hold -- /bin/true 2>"$WORK/told"
	[ $? = 75 ] && grep -q 'submit more when some have ended' "$WORK/told" || return 1
	post /v1/jobs '{"argv": ["x"], "user": "daemon", "hold": true}' | jq -e .id
}
nobody_cancels_all() { as 65534 "$BUILD/bin/phx" job cancel $(nobody "/v1/jobs" | jq '.jobs[].id') >/dev/null 2>&1; }
one_user_does_not_fill_the_journal() {
	local i job
	job=$(long_job)
	for i in $(seq 100); do
		[ "$(asked /v1/jobs -d "$job")" = 200 ] && asked "/v1/jobs/$(head -n 1 "$WORK/answer" | jq .id)/cancel" -d '{}' >/dev/null || break
	done
	[ "$i" -gt 10 ] && [ "$i" -lt 100 ] && grep -q 'journal_mb_per_user.*try again in [0-9]* s' "$WORK/answer" &&
		post /v1/jobs '{"argv": ["x"], "user": "daemon", "hold": true}' | jq -e .id
}
lists_of_jobs_come_in_pages() {
	local n
	n=$("$BUILD/bin/phx" job list -o json | jq '.jobs | length')
	[ "$n" -gt 50 ] && root_asks "/v1/jobs?limit=20" | jq -e '.more and (.jobs | length) == 20 and .last == .jobs[-1].id' &&
		root_asks "/v1/jobs?limit=20&after=20" | jq -e '.jobs[0].id == 21' &&
		[ "$(root_asks /v1/jobs | wc -c)" -lt 200000 ] &&
		root_asks /v1/jobs/1 | jq -e '(.argv[1] | .text // .) | length == 100000'
}

# ---- long reads ----

# loops of a user that read all there is, with eight connections; a node must not be lost by that
readers_start() {
	local i
	for i in 1 2 3 4 5 6 7 8; do
		(while [ -e "$WORK/reading" ]; do
			nobody "/v1/events?after=0" -o /dev/null
			nobody /v1/jobs -o /dev/null
			nobody /v1/nodes -o /dev/null
			sleep 0.01
		done) 2>/dev/null &
	done
}
who_reads_all_keeps_nobody_waiting() {
	: >"$WORK/reading"
	readers_start
	root_is_answered && stays_up n1 5
	local r=$?
	rm -f "$WORK/reading"
	return $r
}
events_come_in_portions() {
	local after=0 n=0 answer
	while :; do
		answer=$(nobody "/v1/events?after=$after&limit=7") || return 1
		n=$((n + $(jq '.events | length' <<<"$answer")))
		after=$(jq .last <<<"$answer")
		[ "$(jq .more <<<"$answer")" = true ] || break
	done
	[ "$after" = "$(seq_now)" ] && [ $n -gt 20 ]
}
polls_of_one_user_are_limited() {
	local i after pids=()
	after=$(seq_now)
	for i in $(seq 20); do nobody "/v1/events?after=$((after + 1000000))&wait=4" -w ' %{http_code}' >"$WORK/poll.$i" & pids+=($!); done
	wait "${pids[@]}"
	[ "$(grep -l 'wait for events.* 429$' "$WORK"/poll.* | wc -l)" = 4 ] && [ "$(grep -l ' 200$' "$WORK"/poll.* | wc -l)" = 16 ]
}

head_conf 'jobs_per_user = 60; job_mb_per_user = 5; journal_mb_per_user = 8;'
head_start
package tools 1 'exit 0'
roles_init
post /v1/reload >/dev/null
for i in 1 2; do
	announce n$i $i
	fake_start n$i $i
done
for i in 1 2; do until_true 20 idle n$i ready "" || not_ok "n$i is not ready"; done

check silence_of_one_user_locks_nobody_out silence_of_one_user_locks_nobody_out
check who_has_too_many_is_told_so who_has_too_many_is_told_so
hoard_stop silent
check half_a_request_locks_nobody_out half_a_request_locks_nobody_out
hoard_stop half
check one_address_locks_no_agent_out one_address_locks_no_agent_out
hoard_stop tls
check uploads_are_refused_before_they_are_taken uploads_are_refused_before_they_are_taken
check bodies_tell_their_length bodies_tell_their_length
check what_is_no_file_is_refused what_is_no_file_is_refused
check one_user_does_not_fill_the_queue one_user_does_not_fill_the_queue
nobody_cancels_all
check one_user_does_not_fill_the_journal one_user_does_not_fill_the_journal
check lists_of_jobs_come_in_pages lists_of_jobs_come_in_pages
check who_reads_all_keeps_nobody_waiting who_reads_all_keeps_nobody_waiting
check events_come_in_portions events_come_in_portions
check polls_of_one_user_are_limited polls_of_one_user_are_limited
check a_deep_monitor_ends_no_list a_deep_monitor_ends_no_list
exit $FAILED
