#!/bin/bash
# The main job of `make lab-share`: two departments share five emulated machines behind a director. A batch queue runs
# jobs while a day of the 1998 World Cup, compressed, is played against a web service; nodes leave the queue, serve, and
# go back; and once more with an agreement that wants them wiped. Writes lab-share-report.json and the time-lines; exits
# 0 only if every part passed; leaves the lab running, or ends it with ENDS=1.
. "$(dirname "$0")/lib.sh"
[ -z "${ENDS:-}" ] || trap 'lab down >/dev/null 2>&1' EXIT
N_SHARED=5 SIZES=(2 1 1 3 1 2)
. tests/lab/share.bash

DAY_SECONDS=${DAY_SECONDS:-600}
JOBS=${JOBS:-24}
# at the peak of the day demand is this many instances' capacity: more than three of them, above 80 % of use
PEAK=2.6

day() {
	local series=etc/sim/samples/web.csv
	[ -z "${PHX_TRACES:-}" ] || series=$PHX_TRACES/wc98-per-minute.csv.xz
	echo "$series"
}

plays_the_day() {
	rates "$(day)" 1998-06-10 0 24 "$DAY_SECONDS" "$(of_capacity $PEAK)" >"$RUN/rates" || die "no such day in $(day)"
	say "1998-06-10 of $(day) in $DAY_SECONDS s, $(of_capacity $PEAK) requests a second at its peak"
	watch_begins ''
	submit_jobs queue "$JOBS" 30
	trap 'kill "$WATCH" "$PLAYER" 2>/dev/null' EXIT
	play_begins ''
	play_ends
	wait_for 300 "the web has given back what it took" holds pages 1
	say "the queue works on"
	jobs_complete queue
	local status=$?
	watch_ends
	trap - EXIT
	return $status
}
no_request_failed() { nothing_failed ''; }
nodes_moved() {
	local most
	most=$(awk -F, 'NR > 1 && $4 > m { m = $4 } END { print m }' "$RUN/watch.csv")
	phx re history pages | grep -E 'goes from|killed' | sed 's/^/    /'
	say "the web held $most nodes at most"
	[ "$most" -ge 3 ] && holds pages 1
}
order_of_kills() { kill_order ''; }

# ---- from the decision to the first answer of the additional node ----

additional_node() {
	journal
	jq -s -r --rawfile served "$RUN/served.csv" --arg re pages -f tests/lab/share-latency.jq <"$RUN/events.json" | tee "$RUN/latency" | sed 's/^/    /'
	grep -q median "$RUN/latency" && bench_row >"$BUILD/lab-share-bench.json"
}
# for tests/bench/table: what `make lab-share` measures
bench_row() {
	local median worst n
	read -r median worst n < <(sed -n 's/.*: median \([0-9.]*\) s, worst \([0-9.]*\) s, of \([0-9]*\)$/\1 \2 \3/p' "$RUN/latency") &&
		jq -n --argjson machine "$(machine_json)" --argjson median "$median" --argjson worst "$worst" --argjson runs "$n" '{machine: $machine, measures: [
			{command: "make lab-share", name: "decision that the web needs a node to its first answer, NOOP, other work beside it",
			 target: 5, unit: "s", median: $median, worst: $worst, runs: $runs}]}'
}

begin=$SECONDS
rm -f "$BUILD/lab-share-bench.json"
need "0 the lab stands" stands
need "1 six blank machines boot, enrol, are accepted" boots
need "2 a director and five nodes are deployed" deployed
need "3 two departments ask for an RE each; they are paired" begin_sharing '' $((N_SHARED - 1)) noop
part "4 a day of the World Cup; every job completes" plays_the_day
part "5 no request failed" no_request_failed
part "6 nodes moved, and came back" nodes_moved
part "7 jobs were killed in order" order_of_kills
part "8 how soon the additional node serves" additional_node
[ -n "$BROKEN" ] || draw '' "$BUILD/lab-share-timeline" "A day of the World Cup, two departments, five nodes"
part "9 both REs end" end_sharing ''
part "10 agreements that wipe: no canary on what left the queue; every job completes" wiped_variant -wiped 14
part "11 no request failed" nothing_failed -wiped
part "12 jobs were killed in order" kill_order -wiped
[ -n "$BROKEN" ] || draw -wiped "$BUILD/lab-share-wiped-timeline" "Nodes are wiped when they leave the queue"
part "13 the journal, replayed, decides the same" replays 400
write_report "$BUILD/lab-share-report.json"

echo
phx node list
echo
jq -r '.parts[] | "\(if .ok then "ok     " elif .skipped then "skipped" else "FAILED " end) \(.seconds)s  \(.name)"' "$BUILD/lab-share-report.json"
echo "time-lines: $BUILD/lab-share-timeline.{csv,svg}, $BUILD/lab-share-wiped-timeline.{csv,svg}"
echo "$((SECONDS - begin)) s in all; the lab runs on: PHX_SOCKET=$PHX_SOCKET $PHX node list; make lab-down LAB=$LAB ends it"
[ $FAILED -eq 0 ]
