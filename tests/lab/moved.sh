#!/bin/bash
# The head is lost and comes back from a backup, on an emulated machine: a node serves, a job runs, phx backup makes its file; then the
# head is killed and all that it had is destroyed. phx restore brings it back; the node goes on without another start, the job ends, and
# the node starts over the network and is handed over as before. Prints "ok NAME" or "not ok NAME" a step; leaves nothing behind.
export LAB=moved$$
. "$(dirname "$0")/lib.sh"
MADE=$BUILD/lab-$LAB
OUT=$MADE/out
trap 'lab down >/dev/null 2>&1; rm -rf "$DIR" "$MADE"' EXIT
trap 'exit 1' INT TERM

up() { lab up -f tests/lab/one.conf && push_packages; }
boots() {
	phx node power node1 on --wait --timeout 2m && wait_for 180 "node1 enrols" asked node1 &&
		phx node accept node1 && wait_for 60 "node1 is ready" state_is node1 ready
}
serves_jobs() { phx node assign node1 batch-compute --wait --timeout 12m && keep boot "$(node_field node1 .boot_id)"; }
keep() { echo "$2" >"$MADE/$1"; }
kept() { cat "$MADE/$1"; }
job_is() { phx job show "$(kept job)" -o json | jq -e --arg s "$1" '[.. | .state? | strings] | any(. == $s)' >/dev/null; }
# it ends when the head is gone, or has just come back
job_begins() {
	keep job "$(setpriv --reuid=65534 --regid=65534 --clear-groups "$PHX" job submit -- /bin/sh -c 'sleep 45; echo it ran on')" &&
		wait_for 30 "the job runs" job_is running
}
is_backed_up() {
	(umask 077 && echo 'correct horse battery staple' >"$MADE/passphrase")
	phx backup --passphrase-file "$MADE/passphrase" --with-images "$MADE/head.phxbackup" | sed 's/^/    /'
	[ "${PIPESTATUS[0]}" = 0 ] && keep events "$(curl_head /v1/status | jq .seq)"
}
# as with a disk that is gone: nothing of it is asked to end
is_destroyed() {
	local pid
	pid=$(lab status --json | jq .head_pid)
	kill -9 "$pid" $(pgrep -P "$pid") || return 1
	rm -rf "$DIR/state" "$DIR/etc" "$DIR/run/boot"
	! curl_head /v1/status >/dev/null
}
comes_back() {
	phx restore "$MADE/head.phxbackup" --state "$DIR/state" --etc "$DIR/etc" --force --passphrase-file "$MADE/passphrase" | sed 's/^/    /'
	[ "${PIPESTATUS[0]}" = 0 ] || return 1
	lab head && wait_for 30 "the head answers" phx status
}
goes_on() {
	wait_for 60 "node1 serves" state_is node1 active && wait_for 60 "node1 is heard" is_heard &&
		[ "$(node_field node1 .boot_id)" = "$(kept boot)" ] && [ "$(curl_head /v1/status | jq .seq)" -ge "$(kept events)" ]
}
is_heard() { [ "$(node_field node1 .up)" = true ]; }
job_ends() {
	wait_for 120 "the job ends" job_is done
	phx job show "$(kept job)" -o json | jq -e '[.. | objects | select(has("kills")) | .kills == 0 and .run == 0] == [true]' || return 1
	phx job output "$(kept job)" | grep -q 'it ran on'
}
# by what the head that was restored has: boot scripts, images, keys
starts_over_the_network() {
	phx node power node1 cycle --yes --wait --timeout 2m && wait_for 400 "node1 has started again" runs_again && state_is node1 active
}
runs_again() { is_heard && [ "$(node_field node1 '"\(.env) \(.healthy)"')" = "os true" ] && [ "$(node_field node1 .boot_id)" != "$(kept boot)" ]; }
is_handed_over() { phx node assign node1 web-server --setup wipe --yes --wait --timeout 12m && page node1 | grep -qi node1; }

mkdir -p "$MADE"
for t in up boots serves_jobs job_begins is_backed_up is_destroyed comes_back goes_on job_ends starts_over_the_network is_handed_over; do
	check "$t" "$t"
done
