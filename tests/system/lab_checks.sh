#!/bin/bash
# What the lab's scripts prove, without a lab: made-up lines of a player, of a replay, of a journal; each check must be able
# to fail.
set -u
LAB=checks
. "$(dirname "$0")/../lab/lib.sh"
WORK=$(mktemp -d /tmp/phx-system.XXXXXX)
trap 'rm -rf "$WORK"' EXIT
N_SHARED=3 SIZES=(1)
. tests/lab/share.bash
RUN=$WORK
FAILED=0

check() { # NAME COMMAND...
	local name=$1
	shift
	if ("$@") >"$WORK/out" 2>&1; then
		echo "ok $name"
	else
		echo "not ok $name"
		FAILED=1
		sed 's/^/  /' "$WORK/out"
	fi
}

# played REQUESTS ANSWERED FAILED: is that a day on which nothing failed? Its rates ask for 300 requests.
played() {
	printf '0.00 10\n20.00 5\n40.00 0\n' >"$WORK/rates"
	echo "$1 requests, $2 answered, $3 failed" >"$WORK/play.out"
	(nothing_failed '')
}
no_request_failed_needs_requests() {
	played 299 299 0 && ! played 0 0 0 && ! played 200 200 0 && ! played 299 298 1 && ! played 299 298 0 || return 1
	: >"$WORK/play.out"
	! (nothing_failed '') || return 1
	printf '0.00 0.1\n40.00 0\n' >"$WORK/rates"
	echo "4 requests, 4 answered, 0 failed" >"$WORK/play.out"
	! (nothing_failed '')
}

# killed JOB: at 100 s, of job 1 on two nodes and jobs 2 and 3 on one node each; 3 began last
killed() {
	printf 'job,run,nodes,started_ms\n1,0,2,1000\n2,0,1,2000\n3,0,1,3000\n' >"$WORK/runs"
	jq -nc "{seq: 7, time_ms: 100000, kind: \"re_use\", event: {}, actions: [{kind: \"note\", re: \"queue\",
		text: \"job $1 of RE queue is killed and queued again: the web RE wants more\"}]}" >"$WORK/events.json"
	jq -R -s -r --slurpfile events "$WORK/events.json" --rawfile sizes "$WORK/sizes" --arg re queue -f tests/lab/share-kills.jq <"$WORK/runs" | tee "$WORK/kills"
	grep -q ^ok "$WORK/kills" && ! grep -q ^WRONG "$WORK/kills"
}
the_order_of_kills_is_checked() {
	printf '1 2\n2 1\n3 1\n' >"$WORK/sizes"
	killed 3 && ! killed 2 && ! killed 1
}
kills_are_checked_against_known_sizes() {
	# what the queue says of a size does not count: job 1 was asked for with one node, and began first
	printf '1 1\n2 2\n3 2\n' >"$WORK/sizes"
	killed 1 && ! killed 3 || return 1
	printf '1 2\n2 1\n' >"$WORK/sizes"
	! killed 3 && grep -q 'nobody wrote down how many nodes were asked for by job 3' "$WORK/kills"
}

for test in no_request_failed_needs_requests the_order_of_kills_is_checked kills_are_checked_against_known_sizes; do
	check $test $test
done
exit $FAILED
