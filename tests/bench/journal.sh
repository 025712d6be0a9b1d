# The journal by itself (tests/bench/journal.c), on the disk where phxd's would lie: what an event costs when one thread submits,
# and when several do, which share syncs. Sourced by run.

JOURNAL_EVENTS=${JOURNAL_EVENTS:-4000}
JOURNAL_THREADS=${JOURNAL_THREADS:-8}
JOURNAL_RUNS=${JOURNAL_RUNS:-3}

journal() {
	local i out one=() many=() ratio=() verify=()
	for ((i = 0; i < JOURNAL_RUNS; i++)); do
		rm -rf "$WORK/journal" && mkdir -p "$WORK/journal"
		out=$("$BUILD/tests/bench/journal" "$WORK/journal" "$JOURNAL_EVENTS" "$JOURNAL_THREADS") || { missed journal; return; }
		one+=("$(jq .one_us <<<"$out")")
		many+=("$(jq .many_us <<<"$out")")
		ratio+=("$(jq '.many_us / .one_us * 100 | round / 100' <<<"$out")")
		verify+=("$(jq .verify_us <<<"$out")")
	done
	rm -rf "$WORK/journal"
	row "journal: an event on the disk, one thread submits" - us - "${one[@]}"
	row "journal: the same, $JOURNAL_THREADS threads submit" - us - "${many[@]}"
	row "journal: the second / the first, in the same run" 0.4 x - "${ratio[@]}"
	row "journal: verified at a start, an event" - us - "${verify[@]}"
}
