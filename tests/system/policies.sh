#!/bin/bash
# by turns: 90 s: it takes long.
# The papers' policies on a real head with agents as processes. dr: table 5 of 003, whose 100 synthetic jobs a dedicated cluster
# and DawningCloud ran for real and emulated: the same jobs here through phxd and through the simulator, in compressed time.
# coop2008 (001 II-B) and flb-nub (000 5.2): who gets which nodes, when, and whose jobs are killed.
#
#	T5_JOBS    of the 100 so many are played (default 30; make bench: 100)
#	T5_FACTOR  time runs so many times as fast (default 600; make bench: 100)
. "$(dirname "$0")/agents.bash"

id nobody >/dev/null 2>&1 || { echo "skip policies: there is no user nobody"; exit 0; }
T5_JOBS=${T5_JOBS:-30} T5_FACTOR=${T5_FACTOR:-600}
NODES=15
# a node stands for four of the testbed's: 32 cores
CORES=32
LEASE=$((3600 / T5_FACTOR))
re_is() { [ "$(api "/v1/res/$1" | jq -r "$2")" = "$3" ]; }
re_get() { api "/v1/res/$1" | jq -r "$2"; }
job_is() { [ "$(api "/v1/jobs/$1" | jq -r "$2")" = "$3" ]; }
use() { api /v1/res/pages/use -d "{\"use_ppm\": $1}" | jq -e .changed >/dev/null; }
submit() { phx job submit --re "$1" --user nobody -n "$2" -- "${@:3}"; }

cluster_stands() {
	local i role
	head_init "measure_web_use = false;"
	for role in batch web; do
		printf 'summary = "a test"; pool = "%s"; image = "test"; boot = "ram"; runs_jobs = %s; drain_grace = "1s"; packages = [ "tools" ];\n' \
			$role "$([ $role = batch ] && echo true || echo false)" >"$WORK/etc/roles/$role-node.conf"
	done
	package tools 1.0 'echo tools'
	phx reload >/dev/null 2>&1 || return 1
	for ((i = 1; i <= NODES; i++)); do
		node_init n$i "$(printf %x $i)"
		phx node add n$i --mac "02:00:00:00:00:0$(printf %x $i)" >/dev/null 2>&1 || return 1
		agent_start n$i
	done
	chmod 755 "$WORK"/n? "$WORK"/n??
	for ((i = 1; i <= NODES; i++)); do until_true 30 is n$i .state ready || return 1; done
}

# re NAME TYPE MODEL LOWER KEYS...: requested, created, active
re() {
	cat >"$WORK/$1.conf" <<-END
		name = "$1"; type = "$2"; relationship = "same"; granularity = "node"; resource_coordination_model = "$3";
		lower_bound_size = $4; setup_policy = "noop"; ${*:5}
	END
	phx re create "$WORK/$1.conf" >/dev/null
}
begins() { phx re activate "$1" --wait --timeout 240 >/dev/null; }
ends() {
	local name
	for name; do phx re deactivate "$name" --yes --wait --timeout 240 >/dev/null && until_true 20 phx re destroy "$name" --yes || return 1; done
}

# ---- table 5 of 003 ----

# t5_log JOBS FACTOR CORES: 100 jobs of 8 to 64 cores, 300 s between two on average, work of 93.2 % of 20 nodes for 12 hours
# (its emulated 240 node hours); their laws are not printed: sizes uniform, gaps and run times exponential
t5_log() {
	awk -v jobs="$1" -v factor="$2" -v cores="$3" 'function u() { x = (x * 16807) % 2147483647; return x / 2147483647 }
		BEGIN { x = 1; for (i = 0; i < 10; i++) u()
			for (i = 1; i <= 100; i++) {
				size[i] = 8 * (1 + int(8 * u())); run[i] = -log(u()); gap[i] = -log(u())
				work += size[i] / 8 * run[i]; sum += i > 1 ? gap[i] : 0
			}
			for (i = 1; i <= jobs; i++) {
				at += i > 1 ? gap[i] * 300 * 99 / sum : 0
				r = int(run[i] * 0.932 * 240 * 3600 / work / factor + 0.5); n = int((size[i] + cores - 1) / cores)
				r = r < 1 ? 1 : r
				printf "%d %d 0 %d %d -1 -1 %d %d -1 1 1 1 1 1 1 -1 -1\n", i, int(at / factor), r, n, n, r
			} }'
}
# t5_sim LOG FIXED LOWER UPPER LEASE CYCLE: what the simulator makes of it
t5_sim() {
	cat >"$WORK/t5.conf" <<-END
		name = "table 5"; clusters = ( { name = "own"; nodes = $2; }, { name = "provider"; nodes = $4; } );
		traces = ( { name = "jobs"; swf = "$1"; } );
		res = ( { name = "dcs"; type = "parallel_batch_jobs"; jobs = "jobs"; cluster = "own";
			  resource_coordination_model = "dcs"; lower_bound_size = $2; upper_bound_size = $2; },
			{ name = "dr"; type = "parallel_batch_jobs"; jobs = "jobs"; cluster = "provider"; resource_coordination_model = "dr";
			  lower_bound_size = $3; upper_bound_size = $4; lease = "$5"; cycle = "$6"; obtain_threshold = 1.5; } );
	END
	phx sim run "$WORK/t5.conf" -o json >"$WORK/t5.json" || { cat "$WORK/t5.json"; return 1; }
}
sim_get() { jq -r ".res[] | select(.name == \"$1\") | .$2" "$WORK/t5.json"; }
# near A B PERCENT
near() { awk -v a="$1" -v b="$2" -v p="$3" 'BEGIN { d = 100 * (a / b - 1); exit !(d <= p && d >= -p) }'; }

# All of it, not compressed, on the testbed's nodes: beside what the paper's emulation printed.
t5_emulated_is_near_the_paper() {
	t5_log 100 1 8 >"$WORK/t5-all.swf"
	t5_sim "$WORK/t5-all.swf" 20 8 40 60m 60s || return 1
	printf '    table 5, emulated: DCS %.0f node hours (240 published), DawningCloud %.0f (234 published)\n' \
		"$(sim_get dcs node_hours)" "$(sim_get dr node_hours)"
	[ "$(sim_get dcs completed) $(sim_get dr completed)" = "100 100" ] && near "$(sim_get dcs node_hours)" 240 5 &&
		near "$(sim_get dr node_hours)" 234 25
}

# the log's jobs to both REs, each when its time has come
t5_play() {
	local begin id at size run now
	begin=$(date +%s%N)
	while read -r id at _ run size _; do
		now=$((($(date +%s%N) - begin) / 1000000))
		[ $now -ge $((at * 1000)) ] || sleep "$(awk -v ms=$((at * 1000 - now)) 'BEGIN { print ms / 1000 }')"
		submit dcs "$size" sleep "$run" >>"$WORK/t5.ids" && submit dr "$size" sleep "$run" >>"$WORK/t5.ids" || return 1
	done <"$WORK/t5.swf"
}
t5_over() { re_is "$1" '.jobs | .waiting + .running' 0; }
held_ms() { re_get "$1" .meter.held_node_ms; }
# t5_until_over NAME BEGIN_MS: node seconds from then until its last job has ended
t5_until_over() {
	until_true $((60 + 30 * T5_JOBS / 10 * 400 / T5_FACTOR)) t5_over "$1" || { re_get "$1" .jobs >&2; return 1; }
	echo $((($(held_ms "$1") - $2) / 1000))
}

# Real against emulated, as the paper has it (1.17 and 1.14): the same jobs, nodes, lease and cycle for both.
t5_real_against_emulated() {
	local dcs dr dcs_ms dr_ms most
	t5_log "$T5_JOBS" "$T5_FACTOR" $CORES >"$WORK/t5.swf"
	t5_sim "$WORK/t5.swf" 5 2 10 "${LEASE}s" 1s || return 1
	re dcs parallel_batch_jobs dcs 5 'role = "batch-node"; upper_bound_size = 5;' &&
		re dr parallel_batch_jobs dr 2 "role = \"batch-node\"; upper_bound_size = 10; lease = \"${LEASE}s\"; cycle = \"1s\"; obtain_threshold = 1.5;" &&
		begins dcs && begins dr && re_is dcs .nodes.held 5 && re_is dr .nodes.held 2 || return 1
	dcs_ms=$(held_ms dcs) dr_ms=$(held_ms dr)
	t5_play || return 1
	dr=$(t5_until_over dr "$dr_ms") && dcs=$(t5_until_over dcs "$dcs_ms") || return 1
	most=$(re_get dr .meter.peak)
	awk -v f="$T5_FACTOR" -v a="$dcs" -v b="$(sim_get dcs node_hours)" -v c="$dr" -v d="$(sim_get dr node_hours)" 'BEGIN {
		printf "    %s: real / emulated %.2f (1.17 published), DawningCloud %.2f (1.14 published)\n", "DCS", a / b / 3600, c / d / 3600
		exit !(a / b / 3600 >= 0.9 && a / b / 3600 < 3 && c / d / 3600 >= 0.7 && c / d / 3600 < 3) }' || return 1
	# it obtained nodes and, once its leases have ended, gave them all back but its own
	[ "$most" -gt 2 ] && [ "$most" -le 10 ] && until_true $((3 * LEASE + 10)) re_is dr .nodes.held 2 || { echo "peak $most"; return 1; }
	[ "$(sort -u "$WORK/t5.ids" | wc -l)" = $((2 * T5_JOBS)) ] && all_done
}
all_done() {
	local id
	while read -r id; do job_is "$id" .state 'done' || { echo "job $id: $(api "/v1/jobs/$id")"; return 1; }; done <"$WORK/t5.ids"
}
t5_ends() { ends dcs dr; }

# ---- coop2008 ----

wait_for() { echo "until [ -e $WORK/go/$1 ]; do sleep 0.1; done"; }
held() { re_is queue .nodes.held "$1" && re_is pages .nodes.held "$2" && re_is queue .nodes.coming 0 && re_is pages .nodes.coming 0; }
pair() { # MODEL BATCH_KEYS WEB_KEYS
	mkdir -p "$WORK/go" && chmod 777 "$WORK/go"
	re pages web_service "$1" 1 "role = \"web-node\"; coordinated_RE = \"own\"; window = \"1s\"; initial_instances = 1; $3" &&
		re queue parallel_batch_jobs "$1" 3 "role = \"batch-node\"; coordinated_RE = \"own\"; $2" &&
		begins pages && begins queue && until_true 20 held 3 1
}

# The lease is an hour: whatever moves within this test moves at once.
coop2008_gives_and_takes_at_once() {
	local wide early late
	pair coop2008 'upper_bound_size = 3; lease = "1h";' 'upper_bound_size = 1; lease = "1h";' || return 1
	wide=$(submit queue 1 sh -c "$(wait_for all)") && until_true 20 job_is "$wide" .state running || return 1
	early=$(submit queue 1 sh -c "$(wait_for all)") && until_true 20 job_is "$early" .state running || return 1
	sleep 1.1
	late=$(submit queue 1 sh -c "$(wait_for all)") && until_true 20 job_is "$late" .state running || return 1
	# no node is free: of three jobs of one size the one that has run for the shortest time is killed, and waits again
	use 950000 && until_true 20 held 2 2 && job_is "$late" .kills 1 && job_is "$late" .state queued &&
		job_is "$early" .kills 0 && job_is "$wide" .kills 0 || return 1
	# what the web lets go is the queue's at once, and the job runs again; nobody waits for a timer
	use 50000 && until_true 20 held 3 1 && until_true 20 job_is "$late" .state running || return 1
	touch "$WORK/go/all"
	for id in $wide $early $late; do until_true 20 job_is "$id" .state 'done' || return 1; done
	ends queue pages
}

# ---- flb-nub ----

# U 1.2, V 0.2, G 0.5; B = 4 of 15 nodes, the others are the provider's. Every 3 s the queue looks.
flb_nub_asks_and_returns_by_its_thresholds() {
	local first second small
	rm -f "$WORK/go"/*
	pair flb-nub 'lease = "3s";' 'lease = "3s";' || return 1
	small=$(submit queue 1 sh -c "$(wait_for small)") && until_true 20 job_is "$small" .state running || return 1
	# Q / owned = 5 / 3 is above U: DR1 = Q - owned = 2 are obtained, and that fits with one node busy only a second time:
	# 5 / 5 is not above U, nor is the biggest job above owned
	first=$(submit queue 5 sh -c "$(wait_for first)") && until_true 20 held 5 1 && job_is "$first" .state queued || return 1
	touch "$WORK/go/small"
	until_true 20 job_is "$first" .state running || return 1
	# 6 / 5 is not above U, but the job is wider than all that is owned: DR2 = big - idle = 6
	second=$(submit queue 6 sh -c "$(wait_for second)") && until_true 20 held 11 1 && until_true 20 job_is "$second" .state running || return 1
	# the web's wish is granted from the provider's nodes: nobody is killed
	use 950000 && until_true 20 held 11 2 && job_is "$first" .kills 0 && job_is "$second" .kills 0 || return 1
	# nothing waits: half of what is idle goes, rounded down, at each look: 6 idle of 11, then 3 of 8, 1 of 6
	touch "$WORK/go/second"
	until_true 20 job_is "$second" .state 'done' && until_true 20 held 8 2 && until_true 20 held 7 2 && until_true 20 held 6 2 || return 1
	touch "$WORK/go/first"
	until_true 20 job_is "$first" .state 'done' && until_true 60 eval '[ "$(re_get queue .nodes.held)" -le 3 ]' || return 1
	ends queue pages
}

replayed() { replays_the_same 200 200; }

for test in ${*:-cluster_stands t5_emulated_is_near_the_paper t5_real_against_emulated t5_ends coop2008_gives_and_takes_at_once \
	flb_nub_asks_and_returns_by_its_thresholds replayed}; do
	begin=$SECONDS
	check "$test" "$test"
	echo "    $((SECONDS - begin)) s"
done
exit $FAILED
