#!/bin/bash
# The main job of `make lab-share`, shortened (`make check-share`): three shared machines, one node out of the queue to the
# web with a wipe, and back. Prints "ok NAME" or "not ok NAME" a step. KEEP=1 leaves the lab.
# by turns: 930 s: emulated machines, a quarter of an hour.
export LAB=${LAB:-share$$}
. "$(dirname "$0")/lib.sh"
N_SHARED=3 SIZES=(2 1 1 1 1 1 1 2)
. tests/lab/share.bash
[ -n "${KEEP:-}" ] || trap 'lab down >/dev/null 2>&1; rm -rf "$DIR" "$MADE" "$RUN"' EXIT

check() {
	local name=$1 begin=$SECONDS
	shift
	if ("$@"); then
		echo "ok $name ($((SECONDS - begin)) s)"
	else
		echo "not ok $name"
		phx node list
		phx events -n 60
		curl_head /v1/balance
		tail -n 20 "$RUN"/*.out "$RUN"/*.err
		for n in $(all_nodes); do tail -n 15 "$DIR/machines/$n/console.log" 2>/dev/null; done
		tail -n 20 "$DIR"/phxd.log 2>/dev/null
		exit 1
	fi
}
for who in games daemon nobody; do id "$who" >/dev/null 2>&1 || { echo "skip share: there is no user $who"; exit 0; }; done
check lab_up stands
check machines_boot_and_are_accepted boots
check director_and_nodes_are_deployed deployed
check nodes_move_wiped_and_every_job_completes wiped_variant '' 8
check no_request_failed nothing_failed ''
check jobs_were_killed_in_order kill_order ''
check time_line_is_drawn draw '' "$RUN/timeline" "Shortened"
check journal_replays_the_same replays 150
