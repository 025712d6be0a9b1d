#!/bin/bash
# One real lab boot for `make check`: a blank machine powers on, boots over the network, enrols, is accepted, is given
# a role and serves a page, what its services write and use is told, and why one fails; then everything is gone again.
# Prints "ok NAME" or "not ok NAME" a step.
export LAB=check$$
. "$(dirname "$0")/lib.sh"
MADE=$BUILD/lab-$LAB
trap 'lab down >/dev/null 2>&1; rm -rf "$DIR" "$MADE"' EXIT

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
# beside the roles that come with it, one whose service does not live
make_conf() {
	mkdir -p "$MADE/roles" && cp roles/*.conf "$MADE/roles/"
	cat >"$MADE/roles/broken.conf" <<-'END'
		summary = "does not live"; pool = "web"; image = "debian-12"; boot = "disk";
		services = ( { name = "broken"; exec = [ "/bin/sh", "-c", "echo cannot listen on port 80 >&2; exit 3" ]; } );
	END
	{ echo "role_dir = \"$MADE/roles\";"; cat etc/lab-head.conf; } >"$MADE/head.conf"
	sed "s|etc/lab-head.conf|$MADE/head.conf|" tests/lab/one.conf >"$MADE/lab.conf"
}
up() { make_conf && lab up -f "$MADE/lab.conf" && push_packages; }
boots() {
	phx node power node1 on --wait --timeout 2m &&
		wait_for 180 "node1 enrols" asked node1 &&
		phx node accept node1 && wait_for 60 "node1 is ready" state_is node1 ready
}
deploys() { phx node assign node1 web-server --wait --timeout 8m; }
serves() { page node1 | grep -qi node1; }
# systemd's journal and control groups, which no other test has
writes_and_uses() {
	wait_for 60 "use of node1 is told" sh -c "'$PHX' node show node1 -o json | jq -e '[.. | .web_use_ppm? | numbers] | length == 1'"
	phx node logs node1 >"$DIR/said" || return 1
	sed 's/^/    /' "$DIR/said"
	grep -q 'Phoenix nginx of role web-server' "$DIR/said" && phx node logs node1 nginx --lines 1 | wc -l | grep -qx 1
}
# on a slow machine it dies after its start was counted: then it is the node's health that says so
why_is_told() { phx node show node1 -o json | jq -e '[.. | .health_text?, .reason? | strings] | any(test("broken .*status 3: cannot listen on port 80"))'; }
says_why_it_fails() {
	phx node assign node1 broken --setup noop --yes --wait --timeout 3m
	wait_for 60 "node1 says why" why_is_told
	phx node logs node1 broken | tee "$DIR/said" | sed 's/^/    /'
	grep -q '^cannot listen on port 80' "$DIR/said"
}
hands_over() {
	local boot
	boot=$(node_field node1 .boot_id)
	phx node assign node1 batch-compute --setup noop --wait --timeout 3m && [ "$(node_field node1 .boot_id)" = "$boot" ]
}
# once from reset, by the TPM's own count, and once where it stands: swtpm is another program than the machine, and knows nothing of us
erased() { # NUMBER RESET [OPTION...]
	phx node wipe node1 "${@:3}" --yes --wait --timeout 3m && phx erasure export node1 "$DIR/erased.$1" &&
		jq -e --arg reset "$2" '.attestation | .tpm == "quoted" and .reset == $reset and (.disks | length == 1)' "$DIR/erased.$1"
}
is_erased() {
	phx node resume node1 --yes && wait_for 120 "node1 is ready" state_is node1 ready && erased 1 power-cycle --power-cycle && erased 2 none || return 1
	phx erasure key "$DIR/attest.pub" && phx erasure verify "$DIR"/erased.{1,2} --pub "$DIR/attest.pub" &&
		phx node show node1 | grep 'signs its erases'
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
check what_services_write_and_use_is_told writes_and_uses
check noop_hand_over_in_place hands_over
check a_service_that_fails_says_why says_why_it_fails
check the_tpm_signs_each_erase is_erased
check lab_down_leaves_nothing gone
