#!/bin/bash
# by turns: 60 s: it takes long.
# Triggers on a real head with an agent as a process: by a call, by time, by hand, by files and by what a command prints; each
# firing begins its run once, though the head is killed in between; ten thousand files each fire once.
. "$(dirname "$0")/agents.bash"

for who in games nobody daemon; do id "$who" >/dev/null 2>&1 || { echo "skip trigger: there is no user $who"; exit 0; }; done
mkdir -p "$WORK/bin" "$WORK/home" "$WORK/shared" && cp "$BUILD/bin/phx" "$WORK/bin/" && chmod 755 "$WORK" "$WORK/bin"
chmod 777 "$WORK/home" "$WORK/shared"
as() { setpriv --reuid "$1" --regid users --clear-groups env -C "$WORK/home" "$WORK/bin/phx" "${@:2}"; }
owner() { as games "$@"; }
user() { as nobody "$@"; }
exit_of() { "$@" >"$WORK/out" 2>&1; echo $?; }
trigger() { api "/v1/triggers/$1" | jq -r "$2"; }
trigger_is() { [ "$(trigger "$1" "$2")" = "$3" ]; }
trigger_has() { [ "$(trigger "$1" "$2")" -ge "$3" ]; }
run() { api "/v1/workflows/$1" | jq -r "$2"; }
run_is() { [ "$(run "$1" "$2")" = "$3" ]; }
lines() { wc -l 2>/dev/null <"$WORK/shared/$1" || echo 0; }
lines_are() { [ "$(lines "$1")" = "$2" ]; }
at_rest() { trigger_is "$1" '"\(.n_open) \(.n_waiting)"' "0 0"; }
head_killed() { head_kill; head_start; }
IN=$WORK/head/re/flows/users/nobody/in # the user's directory in the RE's data directory

# workflow NAME COMMAND [MORE]: of one task
workflow() {
	printf 'name = "%s"; tasks = ( { id = "a"; command = [ "/bin/sh", "-c", "%s" ]; cores = 1; %s } );\n' "$1" "$2" "${3:-}" >"$WORK/home/$1.conf"
}
# made NAME WHEN [MORE]: a trigger of the user that has the workflow of its name submitted
made() {
	printf 'name = "%s"; re = "flows"; workflow = "%s.conf"; when = %s; %s\n' "$1" "$1" "$2" "${3:-}" >"$WORK/home/$1.trigger"
	user trigger create "$1.trigger"
}

roles_init() {
	printf 'summary = "jobs"; pool = "batch"; image = "test"; boot = "ram"; runs_jobs = true; drain_grace = "1s";\n' \
		>"$WORK/etc/roles/batch-compute.conf"
	phx reload >/dev/null
}
flows_run() {
	node_init n1 1
	phx node add n1 --mac 02:00:00:00:00:01 >/dev/null || return 1
	agent_start n1
	until_true 20 is n1 .state ready || return 1
	cat >"$WORK/flows.conf" <<-END
		name = "flows"; owner = "games"; type = "many_tasks"; relationship = "affiliated"; lower_bound_size = 1;
		users = "nobody"; lease = "10s"; data_directory = "$WORK/shared"; setup_policy = "noop";
	END
	phx re create "$WORK/flows.conf" && owner re activate flows --wait --timeout 60
}

# ---- by a call ----

# call NAME [HEADER...]: its status; the answer is in body. NAME?[1-70]: so often, by one client, which no busy machine slows down
# so much that limits let all through; a status a line
call() {
	local name=$1 header args=()
	for header in "${@:2}"; do args+=(-H "$header"); done
	curl -sS -m 20 --cacert "$WORK/head/pki/ca.pem" -o "$WORK/body" -w '%{http_code}\n' "${args[@]}" -d '{"x": 1}' "https://127.0.0.1:$HTTPS/hook/$name"
}
a_call_with_its_token_fires() {
	workflow called 'echo \"$PHX_TRIGGER $PHX_TRIGGER_DIGEST\" >>called'
	TOKEN=$(made called '{ http = "/hook/called"; }' 'when_busy = "queue";') && [ ${#TOKEN} = 40 ] || return 1
	[ "$(call called "Authorization: Bearer $TOKEN")" = 202 ] || { cat "$WORK/body"; return 1; }
	until_true 30 lines_are called 1 && [ "$(cat "$WORK/shared/called")" = "called $(printf '{"x": 1}' | sha256sum | cut -d' ' -f1)" ] || { cat "$WORK/shared/called"; return 1; }
	# the same call again fires again, unless it says that it is the same
	[ "$(call called "X-Phoenix-Token: $TOKEN" 'Idempotency-Key: k1')" = 202 ] && jq -e '.fired' "$WORK/body" >/dev/null || return 1
	[ "$(call called "Authorization: Bearer $TOKEN" 'Idempotency-Key: k1')" = 202 ] && jq -e '.fired == false' "$WORK/body" >/dev/null || return 1
	until_true 30 lines_are called 2 && trigger_is called .n_fired 2 || return 1
	user trigger list | grep -q '/hook/called' && user trigger show called -o json | jq -e '.last[0].came == "begun" and .token_sha256 == null' >/dev/null
}
a_wrong_token_does_not() {
	local i
	for i in "Authorization: Bearer x" "Authorization: Bearer ${TOKEN}0" "Authorization: Basic $TOKEN" "X-Other: $TOKEN"; do
		[ "$(call called "$i")" = 403 ] || { echo "$i: $(cat "$WORK/body")"; return 1; }
	done
	cp "$WORK/body" "$WORK/wrong"
	# one that is not there says the same
	[ "$(call nothing "Authorization: Bearer $TOKEN")" = 403 ] && cmp "$WORK/wrong" "$WORK/body" || { cat "$WORK/body"; return 1; }
	call 'called?[1-12]' "Authorization: Bearer x" >"$WORK/statuses"
	[ "$(tail -n 1 "$WORK/statuses")" = 429 ] && trigger_is called .n_fired 2 || { cat "$WORK/statuses"; return 1; }
	# who has it is let in all the same
	[ "$(call called "Authorization: Bearer $TOKEN")" = 202 ] && until_true 30 lines_are called 3 || return 1
	# and nothing keeps it
	! grep -rqa "$TOKEN" "$WORK/head" "$WORK/phxd.log"
}
a_hook_is_not_called_without_end() {
	call 'called?[1-70]' "Authorization: Bearer $TOKEN" >"$WORK/statuses"
	[ "$(uniq "$WORK/statuses" | head -n 2 | tr '\n' ' ')" = '202 429 ' ] || { cat "$WORK/statuses"; return 1; }
	user trigger delete called && [ "$(call called "Authorization: Bearer $TOKEN")" != 202 ]
}

# ---- by hand, by time ----

busy_as_it_asks() {
	local id kind
	workflow slow "read x <$WORK/shared/go"
	mkfifo -m 666 "$WORK/shared/go"
	for kind in coalesce queue skip; do
		cp "$WORK/home/slow.conf" "$WORK/home/slow-$kind.conf"
		made slow-$kind '{ http = "/hook/slow-'$kind'"; }' "when_busy = \"$kind\"; queue_max = 2;" >/dev/null || return 1
		id=$(user trigger fire slow-$kind) && run_is "$id" .status active || return 1
		user trigger fire slow-$kind slow-$kind slow-$kind 2>"$WORK/out" || { cat "$WORK/out"; return 1; }
	done
	trigger_is slow-coalesce '"\(.n_fired) \(.n_begun) \(.n_waiting) \(.n_coalesced) \(.n_skipped)"' "4 1 1 2 0" || return 1
	trigger_is slow-queue '"\(.n_fired) \(.n_begun) \(.n_waiting) \(.n_coalesced) \(.n_skipped)"' "4 1 2 0 1" || return 1
	trigger_is slow-skip '"\(.n_fired) \(.n_begun) \(.n_waiting) \(.n_coalesced) \(.n_skipped)"' "4 1 0 0 3" || return 1
	# who reads may be gone before it is written
	(trap '' PIPE; while :; do echo >"$WORK/shared/go"; done 2>/dev/null) & local feeder=$!
	until_true 60 at_rest slow-coalesce && until_true 60 at_rest slow-queue && until_true 60 at_rest slow-skip
	local r=$?
	kill "$feeder" && wait "$feeder" 2>/dev/null
	[ $r = 0 ] && trigger_is slow-coalesce .n_begun 2 && trigger_is slow-queue .n_begun 3 && trigger_is slow-skip .n_begun 1 &&
		user trigger delete slow-coalesce slow-queue slow-skip
}
time_fires() {
	local n
	workflow timed 'echo x >>timed'
	made timed '{ every = "1s"; }' && until_true 20 trigger_has timed .n_begun 2 && user trigger pause timed && user trigger pause timed 2>"$WORK/out" &&
		grep -q 'paused already' "$WORK/out" || return 1
	n=$(trigger timed .n_fired)
	sleep 1.5
	trigger_is timed .n_fired "$n" && trigger_is timed .state paused && [ "$(exit_of user trigger fire timed)" != 0 ] && grep -q 'phx trigger resume timed' "$WORK/out" || return 1
	user trigger resume timed && until_true 20 trigger_has timed .n_fired $((n + 1)) && user trigger delete timed
}

# ---- by files ----

watches() { trigger "$1" .watch | grep -q ^watches; }
watched() { until_true 10 watches "$1"; }
put() { echo "$2" >"$IN/.$1" && mv "$IN/.$1" "$IN/$1"; } # FILE TEXT
a_file_fires() {
	local before id
	mkdir -p "$IN" && echo old >"$IN/old.fits" || return 1
	workflow arrived 'echo $PHX_TRIGGER_FILE {trigger.stem} >>arrived'
	[ "$(exit_of made arrived '{ file = "in/*.fits"; }' 'when_busy = "queue";')" != 0 ] && grep -q 'PHX_TRIGGER_FILE' "$WORK/out" || { cat "$WORK/out"; return 1; }
	printf 'tasks = ( { id = "a"; command = [ "/bin/sh", "-c", "echo \\"$0 $PHX_TRIGGER_FILE\\" >>arrived", "out/{trigger.stem}.cat" ]; cores = 1; } );\n' >"$WORK/home/arrived.conf"
	made arrived '{ file = "in/*.fits"; }' 'when_busy = "queue"; at_once = 4;' && watched arrived || return 1
	before=$(date +%s%3N)
	put new.fits x
	until_true 10 trigger_has arrived .n_begun 1 || { trigger arrived .; return 1; }
	id=$(trigger arrived '.last[-1].run')
	echo "    file there -> workflow submitted: $(($(run "$id" .submitted_ms) - before)) ms"
	[ $(($(run "$id" .submitted_ms) - before)) -le 200 ] || return 1
	until_true 30 lines_are arrived 1 && [ "$(cat "$WORK/shared/arrived")" = "out/new.cat users/nobody/in/new.fits" ] || { cat "$WORK/shared/arrived"; return 1; }
	# what was there before does not fire, nor what is no file, or goes by another name
	ln -s /etc/passwd "$IN/link.fits" && mkdir "$IN/dir.fits" && echo x >"$IN/.hidden.fits" && echo x >"$IN/x.txt" && echo x >"$IN/$(printf 'odd\n\377').fits"
	# written again it does
	echo again >>"$IN/new.fits"
	until_true 30 lines_are arrived 2 && trigger_is arrived .n_fired 2 && trigger arrived .watch | grep -q 'do not fire: 1'
}
what_came_meanwhile_fires_once() {
	head_kill
	put down1.fits 1 && put down2.fits 2 && rm "$IN/new.fits"
	head_start
	until_true 20 trigger_is arrived .n_fired 4 && until_true 30 lines_are arrived 4 || { trigger arrived .; return 1; }
	head_killed
	watched arrived && until_true 20 at_rest arrived && trigger_is arrived .n_fired 4 && lines_are arrived 4 || { trigger arrived .; return 1; }
	# what is gone is forgotten, and is new when it comes again; while it is paused it waits
	user trigger pause arrived && put new.fits y && user trigger resume arrived && until_true 20 trigger_is arrived .n_fired 5
}
# by hand there is no file: a workflow that asks for none is told of none, and another is not begun
by_hand_there_is_no_file() {
	[ "$(exit_of user trigger fire arrived)" != 0 ] && grep -q 'cannot be fired by hand: .*{trigger.stem}' "$WORK/out" || { cat "$WORK/out"; return 1; }
	workflow hand 'echo \"$PHX_TRIGGER_FILE.\" >>hand'
	made hand '{ file = "in/*.hand"; }' && user trigger fire hand >/dev/null && until_true 30 lines_are hand 1 && [ "$(cat "$WORK/shared/hand")" = . ] || { cat "$WORK/shared/hand"; return 1; }
	user trigger delete hand
}
# moved away and back, of which the head hears at once: it came again, and is not forgotten
comes_back_as_it_was() {
	local head fired
	head=$(head_pid) fired=$(trigger arrived .n_fired)
	kill -STOP "$head"
	mv "$IN/down1.fits" "$IN/.away" && mv "$IN/.away" "$IN/down1.fits"
	sleep 0.3
	kill -CONT "$head"
	until_true 10 trigger_is arrived .n_fired $((fired + 1)) || { trigger arrived .; return 1; }
	head_killed
	watched arrived && until_true 20 at_rest arrived && trigger_is arrived .n_fired $((fired + 1))
}
# by phx re put, as jobs bring theirs with --stage-out; in a directory that is there, and in one that comes with it
what_phx_puts_fires() {
	workflow sent 'true'
	made sent '{ file = "sent/*.dat"; }' 'when_busy = "queue";' && watched sent && echo 1 >"$WORK/home/1" || return 1
	user re put flows "$WORK/home/1" sent/1.dat && until_true 10 trigger_is sent .n_fired 1 || { trigger sent .; return 1; }
	user re put flows "$WORK/home/1" sent/2.dat && until_true 10 trigger_is sent .n_fired 2 || { trigger sent .; return 1; }
	# in the place of one that is there
	echo again >"$WORK/home/1" && user re put flows "$WORK/home/1" sent/2.dat && until_true 10 trigger_is sent .n_fired 3 || { trigger sent .; return 1; }
	until_true 20 at_rest sent && user trigger delete sent
}
# forty files, and the head is killed again and again while their runs begin and end
each_has_its_run_once() {
	local i
	for i in {1..40}; do put "k$i.fits" "$i"; [ $((i % 20)) != 10 ] || head_killed; done
	until_true 60 trigger_is arrived .n_fired 46 && head_killed
	until_true 60 at_rest arrived && trigger_is arrived .n_begun 46 || { trigger arrived .; return 1; }
	[ "$(sort "$WORK/shared/arrived" | grep -c '/k[0-9]*.fits')" = 40 ] && [ -z "$(grep '/k' "$WORK/shared/arrived" | sort | uniq -d)" ]
}
stable_waits() {
	workflow stable 'true'
	made stable '{ file = "grow/*"; stable = "2s"; }' && watched stable || return 1
	mkdir "$IN/../grow"
	local i
	for i in {1..4}; do echo x >>"$IN/../grow/a"; sleep 0.7; done
	trigger_is stable .n_fired 0 && echo x >"$IN/../grow/b" && rm "$IN/../grow/b" && until_true 15 trigger_is stable .n_fired 1 && sleep 0.3 && trigger_is stable .n_fired 1 &&
		user trigger delete stable
}
# The watcher keeps 10,000 files in mind that may still change, and looks at all again after ten seconds where there are more.
more_than_are_kept_in_mind() {
	workflow crowd 'true'
	mkdir -p "$WORK/head/re/flows/users/nobody/"{crowd,later} || return 1
	made crowd '{ file = "crowd/*"; stable = "1s"; }' && watched crowd || return 1
	(cd "$WORK/head/re/flows/users/nobody" && seq -f later/f%05g 10500 | xargs touch && mv later/* crowd/) || return 1
	until_true 60 trigger_is crowd .n_fired 10500 && user trigger delete crowd || { trigger crowd 'del(.last)'; return 1; }
}
ten_thousand_files() {
	local begun
	workflow many 'true'
	mkdir -p "$WORK/head/re/flows/users/nobody/"{many,wait} || return 1
	made many '{ file = "many/*.dat"; }' && watched many || return 1
	(cd "$WORK/head/re/flows/users/nobody/wait" && seq -f f%05g.dat 10000 | xargs touch) || return 1
	begun=$(date +%s%3N)
	(cd "$WORK/head/re/flows/users/nobody" && mv wait/*.dat many/) &
	local mover=$!
	until_true 30 trigger_has many .n_fired 1000 && head_killed
	wait "$mover"
	until_true 60 trigger_is many .n_fired 10000 || { trigger many 'del(.last)'; return 1; }
	echo "    10000 files, the head killed between: all have fired after $(($(date +%s%3N) - begun)) ms, $(trigger many .n_begun) runs"
	head_killed
	until_true 20 at_rest many && watched many && trigger_is many '"\(.n_fired) \(.n_fired - .n_coalesced - .n_begun)"' "10000 0" && user trigger delete many
}

# ---- by what a command prints ----

a_command_fires_by_news() {
	echo 1 >"$WORK/shared/db" && chmod 644 "$WORK/shared/db"
	workflow asked 'echo $PHX_TRIGGER_DIGEST >>asked'
	made asked '{ command = [ "cat", "'"$WORK"'/shared/db" ]; every = "5s"; }' || return 1
	ASKED=$(date +%s)
}
a_command_has_fired() {
	until_true 30 eval '[ "$(trigger asked .printed_sha256)" = "$(printf "1\n" | sha256sum | cut -d" " -f1)" ]' && trigger_is asked .n_fired 0 || { trigger asked .; return 1; }
	echo 2 >"$WORK/shared/db"
	until_true 30 lines_are asked 1 && [ "$(cat "$WORK/shared/asked")" = "$(printf '2\n' | sha256sum | cut -d' ' -f1)" ] || { trigger asked .; return 1; }
	# one that fails does not fire, and its runs are not kept
	rm "$WORK/shared/db"
	until_true 30 eval 'trigger asked .why | grep -q "exit status 1"' && trigger_is asked .n_fired 1 || { trigger asked .; return 1; }
	[ "$(api /v1/workflows | jq '[.workflows[] | select(.looks and .ended_ms > 0)] | length')" -le 1 ] && user trigger delete asked
}

# ---- who may ----

others_may_not() {
	local order
	[ -z "$(as daemon trigger list -o name)" ] && [ "$(exit_of as daemon trigger show arrived)" != 0 ] && grep -q 'no such trigger' "$WORK/out" || return 1
	for order in pause fire delete; do [ "$(exit_of as daemon trigger $order arrived)" != 0 ] && grep -q 'no such trigger' "$WORK/out" || return 1; done
	workflow foreign true
	printf 'name = "foreign"; workflow = "foreign.conf"; when = { every = "1m"; };\n' >"$WORK/home/foreign.trigger"
	[ "$(exit_of as daemon trigger create foreign.trigger --re flows)" != 0 ] && grep -q "no RE 'flows'" "$WORK/out" || { cat "$WORK/out"; return 1; }
	# the owner of the RE sees it and may stop it, but not have it submit as another
	owner trigger list | grep -q arrived && owner trigger pause arrived && [ "$(exit_of owner trigger fire arrived)" != 0 ] && user trigger resume arrived
}
who_is_no_member_is_stopped() {
	owner re members flows nobody- >/dev/null || return 1
	put late.fits x
	until_true 20 trigger_is arrived .state stopped && trigger arrived .why | grep -q "no RE 'flows'" || { trigger arrived .; return 1; }
	owner re members flows nobody >/dev/null && user trigger resume arrived && until_true 30 eval 'grep -q late.fits "$WORK/shared/arrived"'
}
wrong_ones_are_refused() {
	local line
	workflow wrong true
	while IFS='|' read -r line text; do
		[ "$(exit_of made wrong "$line")" = 78 ] && grep -q "wrong.trigger:1: .*$text" "$WORK/out" || { echo "$line: $(cat "$WORK/out")"; return 1; }
	done <<-'END'
		{ }|exactly one of
		{ file = "../x"; }|when.file
		{ every = "0.1s"; }|must be a time
		{ every = "9999d"; }|from 1 s to a year
		{ command = [ "true" ]; }|from 5 s
		{ http = "/v1/nodes"; }|must be /hook/wrong
		{ fil = "x"; }|fil
	END
	made wrong '{ every = "1h"; }' && [ "$(exit_of made wrong '{ every = "1h"; }')" != 0 ] && grep -q 'called .wrong. already' "$WORK/out" && user trigger delete wrong
}

head_init "job_lease_s = 10; service_group = \"users\";"
roles_init
check "an RE for workflows has its node" flows_run
check "a trigger looks at what a command prints" a_command_fires_by_news
check "a call with its token fires, over TLS and without another identity" a_call_with_its_token_fires
check "a wrong token fires nothing, and soon has to wait" a_wrong_token_does_not
check "a hook is not called without end" a_hook_is_not_called_without_end
check "what fires faster than its workflow runs is coalesced, queued or skipped, as it asks" busy_as_it_asks
check "time fires, but not while it is paused" time_fires
check "a file fires within 0.2 s, as it should and no other" a_file_fires
check "what came while phxd was down fires once" what_came_meanwhile_fires_once
check "who fires by hand has no file" by_hand_there_is_no_file
check "a file that goes and comes back as it was has come again" comes_back_as_it_was
check "a file that phx puts there fires" what_phx_puts_fires
check "each file has its run once, though the head is killed" each_has_its_run_once
check "a file that grows is waited for" stable_waits
check "more files that may still change than are kept in mind all fire" more_than_are_kept_in_mind
check "ten thousand files fire once each, though the head is killed" ten_thousand_files
check "a command fires when it prints something else" a_command_has_fired
check "what is wrong is told with its line" wrong_ones_are_refused
check "others see and order nothing" others_may_not
check "who is a member no more has his triggers stopped" who_is_no_member_is_stopped
check "a replay decides the same" replays_the_same 100 50
exit $FAILED
