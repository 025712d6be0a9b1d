# The batch manager by itself (tests/bench/batch.c): what an end, a submission and a pass cost together, by the number of jobs
# that wait and that have been; memory; a whole small trace. Time is this process's CPU time. Sourced by run.

BATCH_RUNS=${BATCH_RUNS:-3}

# batch_row NAME TARGET UNIT JQ ARGUMENTS...
batch_row() {
	local i values=()
	for ((i = 0; i < BATCH_RUNS; i++)); do
		values+=("$("$BUILD/tests/bench/batch" "${@:5}" | jq "$4")") || { missed "$1"; return; }
	done
	row "$1" "$2" "$3" - "${values[@]}"
}

batch() {
	local scheduler n
	for scheduler in first-fit fcfs sjf easy; do
		for n in 1000 10000 100000 1000000; do
			batch_row "batch $scheduler, end + submit + pass, $n wait" - us '.ns / 1000' "$scheduler" queue "$n" 100000
		done
	done
	for n in 1000 100000 3000000; do
		batch_row "batch first-fit, the same, 1000 wait, $n are gone" - us '.ns / 1000' first-fit queue 1000 "$n"
	done
	# all of a long trace at once; the promise for a whole simulation of it is 200 MB
	batch_row "batch easy, memory of 243306 waiting jobs" 200 MB '.bytes_per_job * 243306 / 1e6' easy queue 243306 1
	for scheduler in first-fit fcfs sjf easy; do
		batch_row "batch $scheduler, 20000 jobs on 128 nodes, a job" - us '.ns / 1000' "$scheduler" trace 20000
	done
	note "batch: the time includes that of the measuring program (an event heap, the making of a job): by perf some 13 % of the first row"
}
