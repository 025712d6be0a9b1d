#!/bin/bash
# by turns: 60 s: it takes long.
# Bad luck of a pair of REs, with real agents: a web node that stops reporting is replaced from the free pool; a reclaim whose
# node is cut off waits until its job has surely ended; the same with the head killed in the middle of it.
. "$(dirname "$0")/agents.bash"

for who in games nobody; do id "$who" >/dev/null 2>&1 || { echo "skip re_cut: there is no user $who"; exit 0; }; done
mkdir -p "$WORK/bin" && cp "$BUILD/bin/phx" "$WORK/bin/" && chmod 755 "$WORK" "$WORK/bin"
# the service provider whose REs they are
owner() { setpriv --reuid games --regid users --clear-groups env -C / "$WORK/bin/phx" "$@"; }
TIMEOUT=10
job_is() { [ "$(api "/v1/jobs/$1" | jq -r "$2")" = "$3" ]; }
at_node() { api "/v1/jobs/$1" | jq -r '.parts[0].node'; }
held() { [ "$(api "/v1/res/queue" | jq .nodes.held) $(api "/v1/res/pages" | jq .nodes.held)" = "$1 $2" ]; }
use() { api /v1/res/pages/use -d "{\"use_ppm\": $1}" | jq -e .changed >/dev/null; }
web_node() { api /v1/nodes | jq -r '[.nodes[] | select(.pool == "pages" and .state == "active" and .up) | .name] | sort | .[0] // ""'; }

roles_init() {
	cat >"$WORK/etc/roles/batch-compute.conf" <<-END
		summary = "jobs"; pool = "batch"; image = "test"; boot = "ram"; runs_jobs = true; drain_grace = "1s"; packages = [ "tools" ];
	END
	cat >"$WORK/etc/roles/web-server.conf" <<-END
		summary = "pages"; pool = "web"; image = "test"; boot = "ram"; drain_grace = "1s"; packages = [ "web" ];
		services = ( { name = "web"; package = "web"; exec = [ "bin/web" ]; stop_grace = "1s"; } );
	END
	package tools 1.0 'echo tools'
	package web 1.0 'exec sleep 100000'
	phx reload >/dev/null
}

# agreement NAME TYPE ROLE PARTNER NODES
agreement() {
	cat >"$WORK/$1.conf" <<-END
		name = "$1"; owner = "games"; type = "$2"; relationship = "affiliated"; granularity = "node"; role = "$3";
		coordinated_RE = "other"; partner = "$4"; resource_coordination_model = "fb"; lower_bound_size = $5; upper_bound_size = $5;
		lease = "2s"; replace_after = "1s"; setup_policy = "noop"; $6
	END
	phx re create "$WORK/$1.conf" >/dev/null
}

# two for the queue, one for the web, and one that nobody has
a_pair_and_a_spare_node() {
	local i
	for i in 1 2 3 4; do
		node_init n$i $i
		phx node add n$i --mac 02:00:00:00:00:0$i >/dev/null || return 1
		agent_start n$i
	done
	chmod 755 "$WORK"/n? "$WORK"/n?/run
	mkdir -p "$WORK/shared" && chmod 777 "$WORK/shared"
	for i in 1 2 3 4; do until_true 30 is n$i .state ready || return 1; done
	agreement queue parallel_batch_jobs batch-compute pages 2 'scheduler = "first-fit"; kill_grace = "1s";' &&
		agreement pages web_service web-server queue 1 'window = "1s"; initial_instances = 1;' &&
		owner re activate queue --wait --timeout 60 >/dev/null && owner re activate pages --wait --timeout 60 >/dev/null && held 2 1
}

silent_web_node_is_replaced() {
	local node
	node=$(web_node)
	agent_kill "$node"
	until_true 20 is "$node" .up false || return 1
	replaced() { [ -n "$(web_node)" ] && held 2 1; }
	until_true 40 replaced && [ "$(web_node)" != "$node" ] && is "$(web_node)" .actual_role web-server || return 1
	owner re history pages | grep -q 'goes from free to pages' || return 1
	# it comes back, and is one too many
	agent_start "$node"
	until_true 40 is "$node" .state ready && is "$node" .pool free && held 2 1
}

# each run writes its number where all see it
WRITE='until [ -e $1 ]; do echo $PHX_JOB_RUN >>$0; sleep 0.1; done; echo end >>$0'
FIRST=0 SECOND=0 CUT='' BEFORE=0
# job NAME END: until END is there; prints its number
job() { phx job submit --re queue --user nobody -- sh -c "$WRITE" "$WORK/shared/$1" "$WORK/shared/$2"; }

jobs_run() {
	rm -f "$WORK"/shared/*
	FIRST=$(job first end.first) && until_true 20 job_is "$FIRST" .state running &&
		SECOND=$(job second end.second) && until_true 20 test -s "$WORK/shared/second" && CUT=$(at_node "$SECOND")
}

# A partition: its agent neither hears nor speaks, its job goes on.
cut_off() { BEFORE=$(api /v1/status | jq .seq) && kill -STOP "${AGENT[$CUT]}"; }
heard_again() { kill -CONT "${AGENT[$CUT]}"; }

# By the journal's own times: from the node's silence to the end of its job lie its heartbeat timeout and more.
waited_for_the_timeout() {
	local ms
	ms=$(api "/v1/events?after=$BEFORE&limit=1000" | jq '(.events | map(select(.kind == "missing" and .node == "'"$CUT"'"))[-1].time_ms) as $silent |
		(.events | map(select(any(.actions[]?; (.text // "") | test("the lease of job '"$SECOND"' has ended"))))[-1].time_ms) - $silent')
	[ "$ms" -ge $((TIMEOUT * 1000)) ] || { echo "queued again after $ms ms of silence"; return 1; }
}

# The web wants one more, and the younger job has to go; the head may be killed after that. Its node says nothing: the job is
# not queued again before its heartbeat timeout, and then the node counts for nobody.
reclaim_from_a_node_that_is_cut_off() {
	jobs_run && cut_off && use 950000 && until_true 10 job_is "$SECOND" .killing true || return 1
	[ "${1:-}" != kill ] || { head_kill && head_start; }
	until_true 20 is "$CUT" .up false || return 1
	until_true 90 job_is "$SECOND" .kills 1 && waited_for_the_timeout || return 1
	# another one serves the web instead; the one cut off is in nobody's count
	until_true 40 held 1 2 && is "$CUT" .up false && job_is "$SECOND" .state queued
}

it_comes_back_and_is_nobody_s() {
	heard_again
	until_true 40 is "$CUT" .up true && until_true 40 is "$CUT" .state ready && is "$CUT" .pool free && held 1 2 || return 1
	touch "$WORK/shared/end.first"
	until_true 40 job_is "$FIRST" .state 'done' && until_true 40 grep -qsx 1 "$WORK/shared/second" && touch "$WORK/shared/end.second" &&
		until_true 40 job_is "$SECOND" .state 'done' && job_is "$SECOND" .kills 1 &&
		[ "$(uniq <"$WORK/shared/second" | tr '\n' ' ')" = "0 1 end " ] &&
		owner re history queue | grep -q "is silent and the lease of job $SECOND has ended"
}

# back to one for the web, two for the queue
the_web_wants_less() { use 50000 && until_true 60 held 2 1; }

the_same_and_the_head_is_killed() { reclaim_from_a_node_that_is_cut_off kill; }
and_comes_back() { it_comes_back_and_is_nobody_s; }

replayed() { replays_the_same 80 90; }

head_init "measure_web_use = false; job_lease_s = $TIMEOUT; service_group = \"users\";"
roles_init
for test in a_pair_and_a_spare_node silent_web_node_is_replaced reclaim_from_a_node_that_is_cut_off it_comes_back_and_is_nobody_s \
	the_web_wants_less the_same_and_the_head_is_killed and_comes_back replayed; do
	check "$test" "$test"
done
for name in "${!AGENT[@]}"; do kill -CONT "${AGENT[$name]}" 2>/dev/null; done
exit $FAILED
