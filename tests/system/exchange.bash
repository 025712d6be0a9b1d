# What holds of a batch RE whoever runs its jobs: they start, they are killed in the order that was agreed when their nodes
# must be returned, they run again and to their end, and no run of a job begins while another one lasts. Sourced after
# agents.bash by the test of each engine, which says how its users submit:
#
#	ENGINE              as in the agreement
#	HEAD_CONF           more of phoenix.conf, if it needs any
#	engine_script       what the package of a batch node runs
#	engine_submit NODES COMMAND...   prints the id that users know
#	engine_ends FILE    the ends of a job: one line is as it should be
#	engine_state        what the engine knows of its jobs, for a test that failed
#	phx_id ID           the job's number in phxd

WIDE=0 NARROW=0 NEXT=0 MORE=0
# on a machine with much else to do; nothing here asks how long something took
PATIENCE=240

re_is() { [ "$(api "/v1/res/$1" | jq -r "$2")" = "$3" ]; }
job_is() { [ "$(api "/v1/jobs/$(phx_id "$1")" | jq -r "$2")" = "$3" ]; }
use() { api /v1/res/pages/use -d "{\"use_ppm\": $1}" | jq -e .changed >/dev/null; }
history_says() { phx re history "$1" | grep -qF -- "$2"; }

# explained TEST: one that fails says what is known of jobs and nodes
explained() {
	"$@" && return
	phx job list
	phx node list -o wide
	phx re list
	phx re history queue | tail -n 20
	engine_state
	return 1
}

exchange_init() {
	local i
	head_init "measure_web_use = false; ${HEAD_CONF:-}"
	exchange_roles
	mkdir -m 777 "$WORK/jobs"
	for i in 1 2 3 4; do
		node_init n$i $i
		phx node add n$i --mac 02:00:00:00:00:0$i >/dev/null || return 1
		agent_start n$i
	done
	chmod 755 "$WORK"/n? "$WORK"/n?/run
	for i in 1 2 3 4; do until_true $PATIENCE is n$i .state ready || return 1; done
}

exchange_roles() {
	cat >"$WORK/etc/roles/batch-node.conf" <<-END
		summary = "jobs"; pool = "batch"; image = "test"; boot = "ram"; runs_jobs = true; drain_grace = "1s"; packages = [ "engine" ];
		services = ( { name = "engine"; package = "engine"; exec = [ "bin/engine" ]; stop_grace = "5s"; } );
	END
	cat >"$WORK/etc/roles/web-server.conf" <<-END
		summary = "pages"; pool = "web"; image = "test"; boot = "ram"; drain_grace = "1s"; packages = [ "web" ];
		services = ( { name = "web"; package = "web"; exec = [ "bin/web" ]; stop_grace = "1s"; } );
	END
	package engine 1.0 "$(engine_script)"
	package web 1.0 'exec sleep 100000'
	phx reload >/dev/null
	cat >"$WORK/queue.conf" <<-END
		name = "queue"; type = "parallel_batch_jobs"; relationship = "same"; granularity = "node"; role = "batch-node";
		coordinated_RE = "own"; resource_coordination_model = "fb"; lower_bound_size = 3; upper_bound_size = 3; lease = "2s";
		$ENGINE
	END
	cat >"$WORK/pages.conf" <<-END
		name = "pages"; type = "web_service"; relationship = "same"; granularity = "node";
		coordinated_RE = "own"; resource_coordination_model = "fb"; lower_bound_size = 1; upper_bound_size = 1; lease = "2s";
		window = "1s"; setup_policy = "noop"; initial_instances = 1;
	END
}

activation() {
	phx re create "$WORK/pages.conf" >/dev/null && phx re create "$WORK/queue.conf" >/dev/null &&
		phx re activate pages --wait --timeout 240 >/dev/null && phx re activate queue --wait --timeout 240 >/dev/null &&
		re_is queue .nodes.held 3 && re_is pages .nodes.held 1
}

# ends when it may; says so, and when it finds itself running already. Its lock is of the kernel: it lasts as long as the run.
run_until() {
	cat >"$WORK/jobs/$1.sh" <<-END
		go() { until [ -e $WORK/jobs/go ]; do sleep 0.1; done; }
		[ "\${PHX_JOB_RANK:-0}" = 0 ] || { go; exit; }
		exec 9>>$WORK/jobs/$1.lock
		flock -n 9 || { sleep 2; flock -n 9; } || echo $1 >>$WORK/jobs/twice
		echo run >>$WORK/jobs/$1.runs
		go
		echo done >>$WORK/jobs/$1.done
	END
	engine_submit "$2" bash "$WORK/jobs/$1.sh"
}

jobs_start() {
	WIDE=$(run_until wide 2) && NARROW=$(run_until narrow 1) && NEXT=$(run_until next 1) && MORE=$(run_until more 1) &&
		until_true $PATIENCE job_is "$WIDE" .state running && until_true $PATIENCE job_is "$NARROW" .state running &&
		job_is "$NEXT" .state queued && until_true $PATIENCE re_is queue .jobs.waiting 2 && until_true $PATIENCE test -s "$WORK/jobs/wide.runs" &&
		until_true $PATIENCE test -s "$WORK/jobs/narrow.runs"
}

settled() { re_is queue .nodes.held "$1" && re_is pages .nodes.held "$2" && re_is queue .nodes.coming 0 && re_is pages .nodes.coming 0; }

demand_kills_the_smallest_latest() {
	use 950000 && until_true $PATIENCE settled 2 2 && job_is "$NARROW" .state queued && job_is "$NARROW" .kills 1 &&
		job_is "$WIDE" .state running && job_is "$WIDE" .kills 0 && history_says queue 'is killed and queued again: the web RE wants' &&
		history_says pages 'goes from queue to pages'
}

# the head dies as soon as the return is decided; nothing is lost and nothing done twice
killed_in_the_middle() {
	use 950000 && until_true $PATIENCE job_is "$WIDE" '.killing or .kills == 1' true || return 1
	head_kill
	sleep 0.3
	head_start
	until_true $PATIENCE settled 1 3 && job_is "$WIDE" .kills 1 || return 1
	until_true $PATIENCE one_runs
}
one_runs() { job_is "$NARROW" .state running || job_is "$NEXT" .state running || job_is "$MORE" .state running; }

demand_falls() {
	use 50000 && until_true $PATIENCE settled 2 2 || return 1
	use 50000 && until_true $PATIENCE settled 3 1
}

# at ever later moments of a node's way to the web and back
killed_at_any_moment() {
	local k web
	for k in 0 0.2 0.5 0.9; do
		web=$((3 - $(api /v1/res/pages | jq .nodes.held)))
		use $([ $web = 2 ] && echo 950000 || echo 50000) || return 1
		until_true $PATIENCE re_is pages .nodes.want $web || return 1
		sleep $k
		head_kill
		head_start
		until_true $PATIENCE settled $((4 - web)) $web || return 1
	done
}

# a suspended RE takes no new job, and those it has go on
suspension() {
	phx re suspend queue >/dev/null && until_true $PATIENCE refuses && re_is queue .state suspended &&
		phx re resume queue >/dev/null && until_true $PATIENCE engine_submit 1 true
}
refuses() { ! engine_submit 1 true; }

all_complete() {
	local id name
	touch "$WORK/jobs/go"
	for id in $WIDE $NARROW $NEXT $MORE; do
		until_true $PATIENCE job_is "$id" .state 'done' || { echo "job $id is not done"; return 1; }
	done
	for name in wide narrow next more; do
		[ "$(engine_ends "$WORK/jobs/$name.done")" = 'done' ] || { echo "$name did not end once:" && cat "$WORK/jobs/$name".{runs,done}; return 1; }
	done
}

none_ran_twice_at_once() { [ ! -e "$WORK/jobs/twice" ] || { cat "$WORK/jobs/twice"; return 1; }; }

deactivation() {
	phx re deactivate queue --yes --wait --timeout 240 >/dev/null && phx re deactivate pages --yes --wait --timeout 240 >/dev/null &&
		until_true $PATIENCE phx re destroy queue --yes && until_true $PATIENCE phx re destroy pages --yes
}

replayed() { replays_the_same 100 120 && ! grep -i -E 'differ|sanitizer' "$WORK/phxd.log"; }
