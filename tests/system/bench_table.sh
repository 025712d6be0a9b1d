#!/bin/bash
# tests/bench/table: what a run of `make bench` measured goes into the results, and from there into the README. Made-up results.
set -u
cd "$(dirname "$0")/../.." || exit 1
WORK=$(mktemp -d /tmp/phx-system.XXXXXX)
trap 'rm -rf "$WORK"' EXIT
FAILED=0
check() { # NAME COMMAND...
	if "${@:2}"; then echo "ok $1"; else echo "not ok $1" && FAILED=1 && head -n 40 "$WORK"/README "$WORK"/results; fi
}
row() { # COMMAND NAME TARGET MEDIAN RUNS
	echo "{\"command\": $1, \"name\": \"$2\", \"target\": $3, \"unit\": \"s\", \"median\": $4, \"worst\": 2.5, \"runs\": $5, \"date\": \"2026-01-02\", \"machine\": \"old\"}"
}
made_up() {
	{
		echo "[" && row '"make bench BENCH=noop"' "old noop" 1 0.5 3 && echo , && row '"make lab-share"' "by hand" null 9 1 && echo ,
		row null "no command" 1 1 1 && echo , && row '"make bench BENCH=gone"' "no figure" 1 null 0 && echo "]"
	} >"$WORK/results"
	printf 'before\n<!-- bench: written -->\nstale\n<!-- bench: end -->\nbehind\n' >"$WORK/README"
	cat >"$WORK/bench.json" <<-'END'
		{"machine": {"cpu": "New", "cores": 2, "memory_bytes": 25769803776}, "notes": [], "measures": [
			{"command": "make bench BENCH=noop", "name": "  new noop", "target": 1, "unit": "s", "median": 0.25, "worst": 0.75, "runs": 9},
			{"command": "make bench BENCH=fleet", "name": "not measured", "failed": "no namespaces"}]}
	END
}
line_is() { sed -n "$1p" "$WORK/README" | grep -qxF -- "$2"; }

table_is_written() {
	made_up && tests/bench/table write "$WORK/results" "$WORK/README" || return 1
	[ "$(wc -l <"$WORK/README")" = 10 ] && line_is 1 before && line_is 10 behind && ! grep -q stale "$WORK/README" &&
		line_is 5 '| old noop | 1 s | 0.5 s | 2.5 s | 3 | `make bench BENCH=noop` | 2026-01-02 |' &&
		line_is 6 '| by hand |  | 9 s |  | 1 | `make lab-share` | 2026-01-02 |'
}
rows_without_a_command_go() { ! grep -q 'no command\|no figure' "$WORK/README"; }
a_run_takes_the_place_of_its_part() {
	made_up && tests/bench/table merge "$WORK/results" "$WORK/bench.json" 2026-03-04 && tests/bench/table write "$WORK/results" "$WORK/README" || return 1
	! grep -q 'old noop\|not measured' "$WORK/README" && grep -q '^| by hand .* 2026-01-02 (2) |$' "$WORK/README" &&
		grep -qxF '| new noop | 1 s | 0.25 s | 0.75 s | 9 | `make bench BENCH=noop` | 2026-03-04 (1) |' "$WORK/README" &&
		grep -qxF '(1) New, 2 cores, 24 GiB; (2) old.' "$WORK/README"
}
twice_is_once() {
	cp "$WORK/README" "$WORK/again" && tests/bench/table merge "$WORK/results" "$WORK/bench.json" 2026-03-04 &&
		tests/bench/table write "$WORK/results" "$WORK/again" && cmp "$WORK/README" "$WORK/again"
}
no_place_is_an_error() {
	echo "nothing" >"$WORK/bare"
	! tests/bench/table write "$WORK/results" "$WORK/bare" 2>/dev/null && [ "$(cat "$WORK/bare")" = nothing ]
}
# what is committed: the README shows the last results, and each row a command of this tree
readme_is_current() {
	cp README.md "$WORK/README" && tests/bench/table write tests/bench/results.json "$WORK/README" && cmp README.md "$WORK/README" || return 1
	local part
	for part in $(jq -r '.[].command' tests/bench/results.json | sed -n 's/^make bench BENCH=//p' | sort -u); do
		grep -q "^for part in .*\b$part\b" tests/bench/run || return 1
	done
	[ "$(jq -r '.[].command' tests/bench/results.json | grep -cv '^make \(bench BENCH=\|lab-share$\)')" = 0 ]
}

for test in table_is_written rows_without_a_command_go a_run_takes_the_place_of_its_part twice_is_once no_place_is_an_error readme_is_current; do
	check $test $test
done
exit $FAILED
