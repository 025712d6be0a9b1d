#!/bin/bash
# What the first hour of a new administrator met: a file that was not taken, a service that fails, a head that is away while
# somebody follows, names that do not exist. Nothing of it is silent, and what is said is so.
. "$(dirname "$0")/agents.bash"

role() { # NAME RUNS_JOBS [MORE]
	printf 'summary = "a test"; pool = "batch"; image = "test"; boot = "ram"; drain_grace = "1s"; runs_jobs = %s; %s\n' \
		"$2" "${3:-}" >"$WORK/etc/roles/$1.conf"
}
# said FILE TEXT: it has it; else what it has
said() { grep -qF -- "$2" "$1" || { cat "$1"; return 1; }; }
refused() { # CODE TEXT COMMAND...
	local want=$1 text=$2 code
	shift 2
	"$@" >"$WORK/said" 2>&1
	code=$?
	[ "$code" = "$want" ] || { echo "exit $code"; cat "$WORK/said"; return 1; }
	said "$WORK/said" "$text"
}
nodes_come() {
	local i
	for i in 1 2 3; do
		node_init n$i $i && phx node add n$i --mac 02:00:00:00:00:0$i >/dev/null && agent_start n$i || return 1
	done
	until_true 20 is n1 .state ready && until_true 20 is n2 .state ready && until_true 20 is n3 .state ready
}

# A role whose file has a mistake is missed: whoever looks for it hears why, and status tells it until it is mended.
file_that_was_not_taken_is_told() {
	role web false 'packages = [ "nosuch" ];'
	echo 'rules = ( { role = "gone"; when = [ "cpus >= 1" ]; } );' >"$WORK/etc/roles/rules.conf"
	refused 78 "$WORK/etc/roles/web.conf:1: package 'nosuch' does not exist" phx reload || return 1
	said "$WORK/said" "$WORK/etc/roles/rules.conf:1: there is no role 'gone'" || return 1
	phx status >"$WORK/status" && said "$WORK/status" "phxd could not take $WORK/etc/roles/web.conf:1: package 'nosuch'" &&
		said "$WORK/status" "phxd could not take $WORK/etc/roles/rules.conf:1: " || return 1
	refused 64 "there is no role 'web', as its file was not taken: $WORK/etc/roles/web.conf:1: package" phx role show web &&
		refused 64 "there is no role 'web', as its file was not taken: " phx node assign n1 web &&
		refused 64 "there is no role 'other'" phx node assign n1 other || return 1
	# its files are the resource provider's business
	mkdir -p "$WORK/bin" && cp "$BUILD/bin/phx" "$WORK/bin/" && chmod 755 "$WORK" "$WORK/bin"
	setpriv --reuid nobody --regid users --clear-groups "$WORK/bin/phx" status >"$WORK/status" && ! grep -q 'could not take' "$WORK/status" ||
		{ cat "$WORK/status"; return 1; }
	rm "$WORK/etc/roles/rules.conf" "$WORK/etc/roles/web.conf"
	phx reload >/dev/null && phx status >"$WORK/status" && ! grep -q 'could not take' "$WORK/status"
}

# The way back from quarantine takes steps: the dry run tells them.
resume_tells_its_steps() {
	role bad false 'services = ( { name = "s"; exec = [ "/bin/false" ]; } );'
	phx reload >/dev/null && refused 1 'quarantined: step start failed' phx node assign n2 bad --wait || return 1
	phx node resume n2 --dry-run >"$WORK/said" || return 1
	said "$WORK/said" '-> free' && said "$WORK/said" 'STEP' && said "$WORK/said" 'kexec' && ! grep -q 'at once' "$WORK/said"
}

# A head that is away is told once to who waits for a job, and who follows a log.
following_outlives_the_head() {
	role jobs true 'services = ( { name = "s"; exec = [ "/bin/sh", "-c", "while :; do [ -e '"$WORK"'/quiet ] || echo tick; sleep 0.2; done" ]; } );'
	phx reload >/dev/null && phx node assign n1 jobs --wait || return 1
	phx node logs n1 -f >"$WORK/log" 2>"$WORK/log.err" &
	local follower=$! waiter
	phx job submit --user nobody --wait -- sh -c "until [ -e $WORK/go ]; do sleep 0.1; done; echo gone on" >"$WORK/out" 2>"$WORK/err" &
	waiter=$!
	until_true 10 grep -q tick "$WORK/log" && until_true 10 said "$WORK/err" 'job 1' || return 1
	head_kill
	until_true 20 said "$WORK/err" 'still waiting' && until_true 40 said "$WORK/log.err" 'still waiting' || return 1
	sleep 1
	head_start
	touch "$WORK/go"
	wait $waiter || return 1
	[ "$(grep -c 'cannot be reached' "$WORK/err")" = 1 ] && [ "$(grep -c 'cannot be reached' "$WORK/log.err")" = 1 ] &&
		said "$WORK/out" 'gone on' || { cat "$WORK/err" "$WORK/log.err"; kill $follower; return 1; }
	# it goes on with what is written now
	local had
	had=$(wc -l <"$WORK/log")
	more() { [ "$(wc -l <"$WORK/log")" -gt "$had" ]; }
	until_true 40 more || { kill $follower; return 1; }
	kill $follower
}
# Nothing is followed for a reader who is gone, although nothing more is written.
follower_ends_with_its_reader() {
	touch "$WORK/quiet"
	sleep 1
	"$BUILD/bin/phx" node logs n1 -f 2>&1 | head -n 1 >/dev/null &
	local all=$!
	ended() { ! kill -0 $all 2>/dev/null; }
	until_true 30 ended
}

# A service that dies again and again is told, although the node is healthy whenever one looks.
service_that_dies_again_and_again() {
	role dies false 'services = ( { name = "s"; exec = [ "/bin/sh", "-c", "sleep 2; echo disk is full >&2; exit 4" ]; } );'
	phx reload >/dev/null && phx node assign n3 dies --wait || return 1
	told() { phx node show n3 | grep -q 'Restarts .* of its services, last: s ended with status 4: disk is full'; }
	until_true 30 told || { phx node show n3; return 1; }
}

names_that_do_not_exist() {
	refused 64 'there is no such RE' phx job cancel --re nosuch --yes &&
		refused 64 'node: the job has no part on this node' phx job output 1 --node nosuch &&
		refused 69 "phxd cannot be reached (does it run?): $WORK/nosuch: No such file or directory" phx --socket "$WORK/nosuch" node list
}

# A user reads what he ordered himself with its numbers, and nothing of what others did.
own_events_are_told_whole() {
	setpriv --reuid nobody --regid users --clear-groups "$WORK/bin/phx" job submit --hold -- true >"$WORK/id" || return 1
	setpriv --reuid nobody --regid users --clear-groups "$WORK/bin/phx" events -n 0 >"$WORK/events" || return 1
	said "$WORK/events" "job submitted: job $(cat "$WORK/id"), nodes 1" && ! grep -q 'role web\|job submitted: job 1,' "$WORK/events" ||
		{ cat "$WORK/events"; return 1; }
}

# A job of a node that is not heard runs on in the books: why, is told.
job_of_a_silent_node() {
	phx job submit --user nobody -- sleep 1000 >/dev/null || return 1
	running() { phx job list -o tsv | grep -q "running.*sleep 1000"; }
	until_true 10 running && agent_kill n1 || return 1
	told() { phx job list -o tsv | grep -q "n1 is not heard: the job may run there until its heartbeat timeout"; }
	until_true 20 told
}

head_init
nodes_come || { cat "$WORK/phxd.log" "$WORK"/n?.log; exit 1; }
for t in file_that_was_not_taken_is_told resume_tells_its_steps following_outlives_the_head follower_ends_with_its_reader \
	service_that_dies_again_and_again names_that_do_not_exist own_events_are_told_whole job_of_a_silent_node; do
	check "$t" "$t"
done
exit "$FAILED"
