#!/bin/bash
# phx node check on an emulated machine with the real stress-ng, memtester and fio of the deploy image: a blank disk is written, one
# that is protected is not; a machine whose power is cut in the middle is brought back, or put out of service, and one that was
# cancelled is free. Prints "ok NAME" or "not ok NAME" a check; leaves nothing behind.
export LAB=burnin$$
. "$(dirname "$0")/lib.sh"
MADE=$BUILD/lab-$LAB
OUT=$MADE/out
trap 'lab down >/dev/null 2>&1; rm -rf "$DIR" "$MADE"' EXIT
trap 'exit 1' INT TERM

disk_named() { find "$DIR/machines/node1" -name 'disk*' | sort | sed -n "$1p"; }
is_blank() { ! LC_ALL=C grep -aqP '[^\x00]' "$1"; }
up() {
	{ echo 'protected_disks = [ "serial=KEEP-1" ];'; cat etc/lab-head.conf; } >"$MADE/head.conf"
	sed "s|etc/lab-head.conf|$MADE/head.conf|" tests/lab/burnin.conf >"$MADE/lab.conf"
	lab up -f "$MADE/lab.conf"
}
boots() {
	phx node power node1 on --wait --timeout 2m && wait_for 180 "node1 enrols" asked node1 &&
		phx node accept node1 && wait_for 60 "node1 is ready" state_is node1 ready
}
parts_pass() {
	is_blank "$(disk_named 1)" && is_blank "$(disk_named 2)" || die "the disks are not blank"
	phx node check node1 --for 10s --wait --timeout 5m || return 1
	phx node show node1 -o json | jq '.nodes[0].checks'
	phx node show node1 -o json | jq -e '.nodes[0].checks | length == 3 and all(.passed and .seconds >= 10 and .errors == 0) and
		(map(.part) == ["cpu", "memory", "disk"]) and (.[0].rate > 0) and (.[1].bytes > 50000000) and
		(.[2] | .disk == "serial-BURN-1" or (.disk | test("BURN-1"))) and .[2].writes and .[2].write_rate > 0' || return 1
	state_is node1 ready && ! is_blank "$(disk_named 1)" && is_blank "$(disk_named 2)"
}
is_at() { [ "$(node_field node1 ".plan.steps[.plan.cursor].kind")" = "$1" ]; }
is_idle() { [ "$(node_field node1 '.plan.cursor == (.plan.steps | length)')" = true ]; }
# its agent goes on until the next order, which ends the programs of the former
cancelled_is_free() {
	phx node check node1 --with cpu --for 1h && wait_for 30 "the check begins" is_at check_cpu || return 1
	sleep 3
	phx node cancel node1 && is_idle && state_is node1 ready || return 1
	phx node check node1 --with cpu --for 2s --wait --timeout 2m
}
# the power is cut, and nobody says so: the machine is started again, and the step is done from its beginning
without_power_it_is_brought_back() {
	phx node check node1 --with cpu --for 20s && wait_for 30 "the check begins" is_at check_cpu || return 1
	phx node power node1 off --hard --force --yes --wait --timeout 1m
	wait_for 240 "the check is over" is_idle
	node_field node1 '"\(.state): \(.reason)"'
	# seen off by its BMC: it may have died of the load
	state_is node1 maintenance && node_field node1 .reason | grep -q '^its check failed: '
}
repaired_is_checked_again() {
	phx node check node1 --with cpu,memory --for 3s --wait --timeout 5m && state_is node1 maintenance &&
		phx node resume node1 --yes && wait_for 10 "node1 is ready" state_is node1 ready
}

mkdir -p "$MADE"
for t in up boots parts_pass cancelled_is_free without_power_it_is_brought_back repaired_is_checked_again; do
	check "$t" "$t"
done
