# The same jobs on a real Slurm: slurmctld, munged and as many slurmd on this machine, in the same run as ours (jobs.sh), so that
# the two can be compared. Sourced by run, after jobs.sh.

SLURM_SECONDS=${SLURM_SECONDS:-120}
SLURMD=()
until_true() { (wait_for "$1" "${*:2}" "${@:2}"); }
# not "ip netns exec": that has a /sys of its own, without the control groups that slurmd looks for
SLURM_NET=(nsenter "--net=/run/netns/$HEAD_NS")
port_free() { ! "${SLURM_NET[@]}" bash -c "exec 3<>/dev/tcp/127.0.0.1/$1" 2>/dev/null; }
. tests/system/slurm.bash
in_slurm() { "${SLURM_NET[@]}" "$@"; }

slurm_there() {
	local program
	for program in slurmctld slurmd munged sbatch; do command -v $program >/dev/null || return 1; done
}

slurm_nodes_are_idle() { [ "$(in_slurm sinfo -h -t idle -o %D)" = "$1" ]; }

# slurm_up N: a Slurm of N nodes, all idle
slurm_up() {
	local i
	JOBS_DIR=$(mktemp -d /tmp/phx-bench.XXXXXX) && chmod 755 "$JOBS_DIR" && mkdir -m 777 "$JOBS_DIR/shared" || return 1
	SLURM=$JOBS_DIR/slurm
	slurm_init "$1" "MaxArraySize=$((JOBS_QUEUED + 1))" && slurmctld_start -i || return 1
	for ((i = 1; i <= $1; i++)); do
		in_slurm_alone slurmd -D -N "n$i" -f "$SLURM_CONF" &
		SLURMD+=($!)
	done
	(wait_for 120 "the slurmd" slurm_nodes_are_idle "$1")
}
# its messages are in its own log
in_slurm_alone() { exec "${SLURM_NET[@]}" "$@" >/dev/null 2>&1; }

slurm_down() {
	local pid
	slurm_stop
	for pid in "${SLURMD[@]}"; do kill "$pid"; done 2>/dev/null
	for pid in "${SLURMD[@]}"; do wait "$pid"; done 2>/dev/null
	SLURMD=()
	[ -z "$JOBS_DIR" ] || rm -rf "$JOBS_DIR"
	JOBS_DIR=
	unset SLURM_CONF
}

slurm_submit() { in_slurm setpriv --reuid nobody --regid nogroup --clear-groups sbatch --parsable "$@"; }

# As job_latency; the job says when it began.
slurm_latency() {
	local begin out
	out=$JOBS_DIR/shared/latency.$BASHPID
	begin=${EPOCHREALTIME/[.,]/}
	slurm_submit -N 1 -o "$out" "$JOBS_DIR/latency.sh" >/dev/null || return 1
	until [ -s "$out" ] && slurm_nodes_are_idle "$JOBS_NODES"; do sleep 0.05; done
	awk -v a="$begin" -v b="$(cat "$out")" 'BEGIN { printf "%.1f", (b - a) / 1000 }'
	rm -f "$out"
}

slurm_throughput() {
	local name="Slurm's: jobs started a second, $JOBS_QUEUED of 1 s queued on $JOBS_NODES slurmd" n
	slurm_submit -N 1 -o /dev/null --array="1-$JOBS_QUEUED" --wrap "echo >>$JOBS_DIR/shared/started; exec sleep 1" >/dev/null ||
		{ missed "$name" "the jobs cannot be submitted"; return; }
	watch_starts "$JOBS_QUEUED" "$SLURM_SECONDS" >"$WORK/starts"
	n=$(tail -n 1 "$WORK/starts" | cut -d' ' -f2)
	[ "$n" -gt 0 ] || { missed "$name" "none has started in $SLURM_SECONDS s"; return; }
	JOBS_RATE=$(starts_a_second "$n")
	row "$name" - 1/s - "$JOBS_RATE"
	note "Slurm: $(slurmctld -V), the jobs submitted as one array, which is least work for it; measured while the first $n began (at most $SLURM_SECONDS s)"
}

# slurm_ratio WHAT OURS SLURM'S: nothing when one of them is missing
slurm_ratio() {
	[ -z "$2" ] || [ -z "$3" ] ||
		note "$1: ours $2, Slurm's $3: $(awk -v a="$2" -v b="$3" 'BEGIN { if (b > 0) printf "%.2f", a / b; else print "-" }') of it"
}

# slurm_jobs MS RATE: what ours were
slurm_jobs() {
	slurm_there || { note "Slurm: not measured, it is not installed (slurmctld, slurmd, slurm-client, munge)"; return; }
	JOBS_MS='' JOBS_RATE=''
	if slurm_up "$JOBS_NODES"; then
		printf '#!/bin/bash\necho ${EPOCHREALTIME/[.,]/}\n' >"$JOBS_DIR/latency.sh"
		jobs_latency "Slurm's: sbatch to running, an idle node of $JOBS_NODES" - slurm_latency && slurm_ratio "submit to running, ms" "$1" "$JOBS_MS"
		slurm_throughput
		slurm_ratio "jobs started a second" "$2" "$JOBS_RATE"
	else
		cp -r "$SLURM/log" "$WORK/slurm.log"
		missed "Slurm on $JOBS_NODES slurmd" "see $WORK/slurm.log"
	fi
	slurm_down
}
