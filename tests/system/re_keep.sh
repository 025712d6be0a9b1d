#!/bin/bash
# An RE that keeps its jobs (keep_jobs) closes for the summer: a job that counts gets its checkpoint signal, writes down how far it
# came, waits with the others over deactivation, a killed head and activation, and counts on where it was; each run is counted once.
. "$(dirname "$0")/agents.bash"

for who in games nobody; do id "$who" >/dev/null 2>&1 || { echo "skip re_keep: there is no user $who"; exit 0; }; done
mkdir -p "$WORK/bin" && cp "$BUILD/bin/phx" "$WORK/bin/" && chmod 755 "$WORK" "$WORK/bin"
owner() { setpriv --reuid games --regid users --clear-groups env -C / "$WORK/bin/phx" "$@"; }
user() { setpriv --reuid nobody --regid nogroup --clear-groups env -C / "$WORK/bin/phx" "$@"; }
job_is() { [ "$(api "/v1/jobs/$1" | jq -r "$2")" = "$3" ]; }
re_is() { [ "$(api "/v1/res/$1" | jq -r "$2")" = "$3" ]; }
# said TEXT: among what the last command printed
said() { grep -qF -- "$1" "$WORK/out" || { echo "not said: $1"; cat "$WORK/out"; return 1; }; }
SHARED=$WORK/shared
COUNTS=0 WAITS=0 ONCE=0

# agreement NAME KEEP
agreement() {
	cat >"$WORK/$1.conf" <<-END
		name = "$1"; owner = "games"; users = "nobody"; type = "parallel_batch_jobs"; relationship = "affiliated";
		role = "batch-compute"; resource_coordination_model = "fb"; lower_bound_size = 2; upper_bound_size = 2;
		lease = "2s"; scheduler = "fcfs"; kill_grace = "1s"; setup_policy = "noop"; keep_jobs = $2;
	END
	phx re create "$WORK/$1.conf" >/dev/null
}

two_nodes_serve() {
	local i
	cat >"$WORK/etc/roles/batch-compute.conf" <<-END
		summary = "jobs"; pool = "batch"; image = "test"; boot = "ram"; runs_jobs = true; drain_grace = "1s"; packages = [ "tools" ];
	END
	package tools 1.0 'echo tools'
	phx reload >/dev/null
	for i in 1 2; do
		node_init n$i $i
		phx node add n$i --mac 02:00:00:00:00:0$i >/dev/null || return 1
		agent_start n$i
	done
	chmod 755 "$WORK"/n? "$WORK"/n?/run
	mkdir -p "$SHARED" && chmod 777 "$SHARED"
	for i in 1 2; do until_true 30 is n$i .state ready || return 1; done
	agreement queue true && phx re show queue --conf | grep -q 'keep_jobs = true' &&
		owner re activate queue --wait --timeout 60 >/dev/null
}

# Counts, a step at a time, each step once: from where its checkpoint says, until it may end. Each run writes its number down.
COUNT='n=$(cat $0/count 2>/dev/null || echo 0); echo "$PHX_JOB_RUN from $n" >>$0/runs
	trap "echo \$n >$0/count; exit 75" USR2
	until [ -e $0/enough ]; do n=$((n + 1)); echo $n >>$0/steps; sleep 0.1; done'
jobs_run() {
	COUNTS=$(user job submit --re queue --checkpoint-signal USR2 --checkpoint-time 20s -- bash -c "${COUNT//\$0/$SHARED}") &&
		ONCE=$(user job submit --re queue --no-requeue -- sleep 1000) &&
		WAITS=$(user job submit --re queue -n 2 -- sh -c "echo \$PHX_JOB_RUN >$SHARED/wide") &&
		until_true 20 job_is "$COUNTS" .state running && until_true 20 job_is "$ONCE" .state running &&
		until_true 20 test -s "$SHARED/steps" && job_is "$WAITS" .state queued
}

# What runs is asked about, what waits is not; what becomes of each is told before.
what_it_would_come_to() {
	owner re deactivate queue </dev/null >"$WORK/out" 2>&1 && return 1
	said "job $COUNTS of nobody (bash), for" && said "1 of them to run again when it is active, the others for good" &&
		! grep -q "job $WAITS" "$WORK/out" || return 1
	owner re deactivate queue --dry-run >"$WORK/out" 2>&1 && said 'nothing was done' &&
		said 'RE queue keeps 2 jobs until it is activated again; 1 of them runs and is told to end' &&
		said '1 job of RE queue ends for good' && said 'it is queued again' && said 'it does not run again' &&
		re_is queue .state running && job_is "$COUNTS" .kept false
}

deactivated() {
	owner re deactivate queue --yes --wait --timeout 60 >"$WORK/out" 2>&1 && said 'RE queue keeps 2 jobs until it is activated again' &&
		re_is queue .state deactivated && re_is queue .nodes.held 0 && job_is "$ONCE" .state cancelled &&
		job_is "$COUNTS" .state queued && job_is "$COUNTS" .kills 1 && job_is "$COUNTS" .kept true && [ -s "$SHARED/count" ]
}

it_is_told_why_they_wait() {
	user job show "$COUNTS" >"$WORK/out" && said 'kept: its RE queue is not active' && user job list >"$WORK/out" &&
		said 'kept: its RE queue is not active' && user job submit --re queue -- true >"$WORK/out" 2>&1 && return 1
	said 'it takes jobs while it is running'
}

# Nothing of it is in anybody's memory.
the_head_is_killed() {
	head_kill
	head_start
	job_is "$COUNTS" .kept true && job_is "$WAITS" .kept true && job_is "$WAITS" .state queued &&
		user job hold "$WAITS" >/dev/null && job_is "$WAITS" .held true && user job release "$WAITS" >/dev/null
}

# The head dies once more, just after the order; then the job counts on where it was, and each step was done once.
activated_it_goes_on() {
	owner re activate queue >"$WORK/out" 2>&1 && said '2 kept jobs of RE queue wait in its queue again' || return 1
	head_kill
	head_start
	until_true 40 job_is "$COUNTS" .state running && job_is "$COUNTS" .kept false || return 1
	until_true 20 grep -q '^1 from' "$SHARED/runs" && sleep 0.5 && touch "$SHARED/enough" || return 1
	until_true 40 job_is "$COUNTS" .state 'done' && job_is "$COUNTS" .kills 1 && until_true 40 job_is "$WAITS" .state 'done' || return 1
	[ "$(cat "$SHARED/runs")" = "$(printf '0 from 0\n1 from %s' "$(cat "$SHARED/count")")" ] &&
		[ "$(cat "$SHARED/steps")" = "$(seq "$(wc -l <"$SHARED/steps")")" ] && [ "$(cat "$SHARED/wide")" = 0 ] ||
		{ cat "$SHARED/runs" "$SHARED/count"; return 1; }
}

# What is kept ends with the RE, and that is told.
destroyed() {
	local id
	rm -f "$SHARED"/*
	id=$(user job submit --re queue -n 2 -- sleep 1000) && until_true 20 job_is "$id" .state running &&
		owner re deactivate queue --yes --wait --timeout 60 >/dev/null && job_is "$id" .kept true || return 1
	phx re destroy queue --yes >"$WORK/out" && said "1 kept job of RE queue is cancelled" && job_is "$id" .state cancelled &&
		job_is "$id" .killed_why 'RE queue is destroyed'
}

# Without it they end, as ever.
not_kept() {
	local id
	agreement brief false && owner re activate brief --wait --timeout 60 >/dev/null &&
		id=$(user job submit --re brief -- sleep 1000) && until_true 20 job_is "$id" .state running || return 1
	owner re deactivate brief </dev/null >"$WORK/out" 2>&1 && return 1
	said 'for good' && owner re deactivate brief --yes --wait --timeout 60 >"$WORK/out" && said '1 job of RE brief ends for good' &&
		job_is "$id" .state cancelled
}

replayed() { replays_the_same 60 60; }

head_init 'service_group = "users";'
for test in two_nodes_serve jobs_run what_it_would_come_to deactivated it_is_told_why_they_wait the_head_is_killed activated_it_goes_on \
	destroyed not_kept replayed; do
	check "$test" "$test"
done
exit $FAILED
