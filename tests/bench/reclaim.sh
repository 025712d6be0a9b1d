# The core by itself in a large cluster (tests/bench/reclaim.c): what it needs to decide that the web takes a node of a job,
# and for ordinary events beside it. CPU time of this process. Sourced by run.

RECLAIM_NODES=${RECLAIM_NODES:-10000}
RECLAIM_JOBS=${RECLAIM_JOBS:-5000}
RECLAIM_RUNS=${RECLAIM_RUNS:-500}

# reclaim_row NAME TARGET KIND: its median and its worst, as two rows
reclaim_row() {
	row "core: $1, median of $RECLAIM_RUNS" "$2" us - "$(jq ".$3.median" "$WORK/reclaim.out")"
	row "core: $1, the worst" "$2" us - "$(jq ".$3.worst" "$WORK/reclaim.out")"
}

# whole: what Slurm's queue costs when it is told of as a whole, as after a start of phxd
whole() {
	"$BUILD/tests/bench/reclaim" slurm "$RECLAIM_JOBS" 20 >"$WORK/whole.out" 2>"$WORK/reclaim.err" || {
		missed "core: Slurm's queue" "$(head -c 200 "$WORK/reclaim.err")"
		return
	}
	row "core: Slurm's queue told of as a whole, $RECLAIM_JOBS new jobs" - us - "$(jq .whole.median "$WORK/whole.out")"
	row "core: Slurm's queue told of as a whole, $RECLAIM_JOBS known jobs" - us - "$(jq .again.median "$WORK/whole.out")"
	row "core: Slurm's queue told of as a whole, $RECLAIM_JOBS jobs are gone" - us - "$(jq .gone.median "$WORK/whole.out")"
}

reclaim() {
	"$BUILD/tests/bench/reclaim" "$RECLAIM_NODES" "$RECLAIM_JOBS" "$RECLAIM_RUNS" >"$WORK/reclaim.out" 2>"$WORK/reclaim.err" || {
		missed "core: a reclaim" "$(head -c 200 "$WORK/reclaim.err")"
		return
	}
	reclaim_row "a reclaim is decided, a job told to end" 1000 reclaim
	reclaim_row "the job has ended, its node is sent to the web" 1000 vacate
	reclaim_row "a job ends, the next one starts" - job_end
	reclaim_row "a job is submitted" - submit
	reclaim_row "an agent reports news with its beat" - report
	reclaim_row "a step of a hand-over ends" - step
	reclaim_row "the table of 100 web nodes, and who is to have it" - table
	row "core: when the next deadline is" - us - "$(jq .deadline.median "$WORK/reclaim.out")"
	whole
	note "core: $RECLAIM_NODES nodes, $RECLAIM_JOBS running jobs, FB; the cluster was built by its own events in $(jq .build_s "$WORK/reclaim.out") s of CPU time"
}
