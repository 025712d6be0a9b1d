# The simulator, start to printed result, as its users call it. Sourced by tests/bench/run. The archives' logs are wanted
# below PHX_TRACES (default ../shared/traces); what needs them is else said to be missing.

SIM_RUNS=${SIM_RUNS:-9}

# timed COMMAND...: one run; WALL and CPU are its milliseconds, its output is in $WORK/sim.out
timed() {
	local spent TIMEFORMAT='%3R %3U %3S'
	spent=$({ time "$@" >"$WORK/sim.out" 2>"$WORK/sim.err"; } 2>&1) || return 1
	read -r WALL CPU < <(awk '{ printf "%d %d\n", $1 * 1000 + 0.5, ($2 + $3) * 1000 + 0.5 }' <<<"$spent")
}
# runs COMMAND...: SIM_RUNS runs; WALLS and CPUS
runs() {
	local i
	WALLS=() CPUS=()
	for ((i = 0; i < SIM_RUNS; i++)); do
		timed "$@" || return 1
		WALLS+=("$WALL") CPUS+=("$CPU")
	done
}
sim_value() { jq -r "$1" "$WORK/sim.out"; }

# 20,000 jobs for 128 nodes, from a generator of its own, so that every tool can read the very same file: Poisson arrivals,
# sizes powers of two, run times log-uniform up to 10,000 s, estimates up to five times as long; load about 0.85
sim_log() {
	awk 'function u() { s = (s * 16807) % 2147483647; return s / 2147483647 }
		BEGIN { s = 12345; print "; MaxNodes: 128"
			for (i = 1; i <= 20000; i++) {
				t += -log(u()) * 400; size = 2 ^ int(u() * 8); run = int(exp(2 + u() * 7.2)) + 1
				printf "%d %d -1 %d %d -1 -1 %d %d -1 1 1 1 -1 1 -1 -1 -1\n", i, t, run, size, size, int(run * (1 + 4 * u()))
			} }' >"$WORK/easy.swf"
}

ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f ", b ? a / b : 0 }'; }

# Whole runs of the yardstick and of phx in turn, so that both see the same machine.
sim_yardstick() {
	local i ours=() theirs=() walls= cpus= our_wait their_wait
	sim_log
	for ((i = 0; i < SIM_RUNS; i++)); do
		timed "$BUILD/tests/bench/yardstick" "$WORK/easy.swf" 128 || return 1
		local wall=$WALL cpu=$CPU
		theirs+=("$WALL")
		their_wait=$(sim_value .mean_wait_s)
		timed "$BUILD/bin/phx" sim run --swf "$WORK/easy.swf" --nodes 128 --scheduler easy -o json || return 1
		ours+=("$WALL")
		our_wait=$(sim_value .mean_wait_s)
		walls+=$(ratio "$WALL" "$wall")
		cpus+=$(ratio "$CPU" "$cpu")
	done
	row "sim: 20,000 jobs, 128 nodes, EASY, whole process" - ms - "${ours[@]}"
	row "sim: the same by the yardstick (sixty lines of C)" - ms - "${theirs[@]}"
	row "sim: ours / yardstick, in turn, by the clock" 2 x - $walls
	row "sim: ours / yardstick, in turn, by CPU time" 2 x - $cpus
	row "sim: difference of their mean waits" 0.5 s - "$(awk -v a="$our_wait" -v b="$their_wait" 'BEGIN { d = a - b; printf "%.6f", d < 0 ? -d : d }')"
}

# memory COMMAND...: megabytes at most, by looking every few milliseconds
memory() {
	local process now most=0
	"$@" >"$WORK/sim.out" 2>"$WORK/sim.err" &
	process=$!
	while now=$(awk '/^VmHWM/ { print $2 }' "/proc/$process/status" 2>/dev/null) && [ -n "$now" ]; do
		[ "$now" -gt "$most" ] && most=$now
		sleep 0.005
	done
	wait "$process" || return 1
	awk -v kb="$most" 'BEGIN { printf "%.1f", kb / 1024 }'
}

# every file plain, as the papers' two weeks are measured "from plain files"
sim_phoenixcloud() {
	local name
	for name in NASA-iPSC-1993-3.1-cln.swf wc98-per-minute.csv; do
		if [ -f "$PHX_TRACES/$name" ]; then cp "$PHX_TRACES/$name" "$WORK/"; else xz -dkc "$PHX_TRACES/$name.xz" >"$WORK/$name"; fi || return 1
	done
	runs "$BUILD/bin/phx" sim run etc/sim/phoenixcloud.conf --traces "$WORK" || return 1
	row "sim: two weeks of PhoenixCloud (NASA iPSC, World Cup, FB)" 20 ms - "${WALLS[@]}"
	row "sim: its CPU time" 20 ms - "${CPUS[@]}"
	note "sim: the papers took about 3 hours for the two weeks of PhoenixCloud"
}

sim_blue() {
	local log=SDSC-BLUE-2000-4.2-cln.swf mem
	runs "$BUILD/bin/phx" sim run --swf $log --processors-per-node 8 --nodes 144 -o json || return 1
	row "sim: SDSC BLUE, 32 months, first-fit, from .xz" 1000 ms - "${WALLS[@]}"
	cat >"$WORK/dr.conf" <<-END
		clusters = ( { name = "cloud"; unlimited = true; } );
		traces = ( { name = "blue"; swf = "$log"; processors_per_node = 8; } );
		res = ( { name = "batch"; type = "parallel_batch_jobs"; jobs = "blue"; resource_coordination_model = "dr"; lower_bound_size = 40; } );
	END
	runs "$BUILD/bin/phx" sim run "$WORK/dr.conf" -o json || return 1
	row "sim: SDSC BLUE, 32 months, DR, from .xz" 1000 ms - "${WALLS[@]}"
	mem=$(memory "$BUILD/bin/phx" sim run "$WORK/dr.conf" -o json) || return 1
	row "sim: its memory" 200 MB - "$mem"
	runs "$BUILD/bin/phx" sim plan --swf NASA-iPSC-1993-3.1-cln.swf --requests wc98-per-minute.csv --begin 1998-06-07 --peak 64 -o json || return 1
	row "sim: plan on NASA iPSC and World Cup, some 40 sizes" - ms - "${WALLS[@]}"
}

# 5,000 hours of a cluster a minute are 12 ms an hour. A life in which an invariant does not hold is no measurement, and
# no failure to measure either.
sim_faults() {
	local seed hours values=()
	for ((seed = 1; seed <= SIM_RUNS; seed++)); do
		if ! timed "$BUILD/bin/phx" sim faults --seed "$seed" --hours 72 -o json; then
			[ "$(sim_value .ok 2>/dev/null)" = false ] || return 1
			broken "sim: faults, seed $seed" "invariant '$(sim_value .invariant)' does not hold: $(sim_value .violation)" \
				phx sim faults --seed "$seed" --hours 72
			return 0
		fi
		hours=$(sim_value .hours)
		values+=("$(ratio "$CPU" "$hours")")
	done
	row "sim: an hour of 64 nodes under faults, CPU time" 12 ms - "${values[@]}"
}

sim() {
	export PHX_TRACES=${PHX_TRACES:-$(realpath ../shared/traces 2>/dev/null)}
	sim_yardstick || missed "sim: 20,000 jobs, EASY" "$(head -c 200 "$WORK/sim.err")"
	sim_faults || missed "sim: faults" "$(head -c 200 "$WORK/sim.err")"
	if [ -z "$PHX_TRACES" ] || [ ! -d "$PHX_TRACES" ]; then
		note "sim: the archives' logs are not here (PHX_TRACES): PhoenixCloud's two weeks and SDSC BLUE were not measured"
		return
	fi
	sim_phoenixcloud || missed "sim: two weeks of PhoenixCloud" "$(head -c 200 "$WORK/sim.err")"
	sim_blue || missed "sim: SDSC BLUE" "$(head -c 200 "$WORK/sim.err")"
}
