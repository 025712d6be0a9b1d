#!/bin/bash
# One real lab boot for `make check`: a blank machine powers on, boots over the network, enrols, is accepted, is given
# a role and serves a page; then everything is gone again. Prints "ok NAME" or "not ok NAME" a step.
export LAB=check$$
. "$(dirname "$0")/lib.sh"
trap 'lab down >/dev/null 2>&1; rm -rf "$DIR"' EXIT

check() {
	local name=$1
	shift
	if ("$@"); then
		echo "ok $name"
	else
		echo "not ok $name"
		phx events -n 60
		phx node show '@all'
		tail -n 40 "$DIR"/run/phxd.log "$DIR"/phxd.log "$DIR"/head.log 2>/dev/null
		tail -n 60 "$DIR"/machines/node1/console.log 2>/dev/null
		exit 1
	fi
}
up() { lab up -f tests/lab/one.conf && push_packages; }
boots() {
	phx node power node1 on --wait --timeout 2m &&
		wait_for 180 "node1 enrols" asked node1 &&
		phx node accept node1 && wait_for 60 "node1 is ready" state_is node1 ready
}
deploys() { phx node assign node1 web-server --wait --timeout 8m; }
serves() { page node1 | grep -qi node1; }
hands_over() {
	local boot
	boot=$(node_field node1 .boot_id)
	phx node assign node1 batch-compute --setup noop --wait --timeout 3m && [ "$(node_field node1 .boot_id)" = "$boot" ]
}
gone() {
	lab down || return 1
	! ip netns list | grep -q "phx-$LAB" && ! pgrep -f "$DIR/" >/dev/null
}

check lab_up up
check blank_machine_boots_and_is_accepted boots
check inventory_is_what_qemu_was_told check_inventory node1
check role_is_deployed_to_disk deploys
check page_is_served serves
check noop_hand_over_in_place hands_over
check lab_down_leaves_nothing gone
