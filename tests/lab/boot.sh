#!/bin/bash
# by turns: 450 s: an emulated machine, minutes.
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
# ---- people log in: settings of the site, on a real sshd ----

SITE=$MADE/site
# site_users USER...: who is in the settings
site_users() {
	local who uid=5000
	mkdir -p "$SITE/files/all/etc"
	for who in ada bob; do [ -e "$MADE/$who" ] || ssh-keygen -q -t ed25519 -N '' -C "$who" -f "$MADE/$who" || return 1; done
	{
		echo 'users = ('
		for who in "$@"; do
			uid=$((uid + 1))
			printf '%s\n\t{ name = "%s"; uid = %d; keys = [ "%s" ]; sudo = true; }' "$([ $uid = 5001 ] || echo ,)" "$who" $uid "$(cat "$MADE/$who.pub")"
		done
		printf '\n);\n'
	} >"$SITE/users.conf"
	echo 'This is @NODE@, a @ROLE@.' >"$SITE/files/all/etc/motd"
	phx site apply "$SITE" | sed 's/^/    /' && wait_for 60 "node1 has the settings" site_is 'up to date'
}
site_is() { [ "$(node_field node1 .site)" = "$1" ]; }
# ssh_as USER [OPTION...] COMMAND: by his key, to the host whose key the head tells
ssh_as() {
	in_lab ssh -F "$MADE/ssh/config" -l "$1" -i "$MADE/$1" "${@:2:$#-2}" node1 "${!#}"
}
knows_host() {
	mkdir -p "$MADE/ssh" && chmod 700 "$MADE/ssh"
	cat >"$MADE/ssh/config" <<-END
		Host *
		HostName $(machine_field node1 .ip)
		HostKeyAlias node1
		UserKnownHostsFile $MADE/ssh/known_hosts
		StrictHostKeyChecking yes
		User ada
		IdentityFile $MADE/ada
		IdentitiesOnly yes
		BatchMode yes
		ConnectTimeout 20
	END
	phx node hostkeys node1 >"$MADE/ssh/known_hosts" && grep -q '^node1,.* ssh-ed25519 ' "$MADE/ssh/known_hosts"
}
logs_in() {
	site_users ada bob && wait_for 60 "node1 tells its host key" knows_host && wait_for 60 "sshd of node1" ssh_as ada true || return 1
	[ "$(ssh_as ada 'id -un; cat /etc/motd')" = "$(printf 'ada\nThis is node1, a web-server.')" ] || return 1
	[ "$(ssh_as ada 'sudo -n id -u')" = 0 ]
}
# Neither does a password get in, nor a key of somebody else, nor an account that the site does not name.
others_do_not() {
	ssh_as ada -o PreferredAuthentications=password,keyboard-interactive true 2>"$MADE/said" && return 1
	grep -q 'Permission denied (publickey)' "$MADE/said" || { cat "$MADE/said"; return 1; }
	grep -v IdentityFile "$MADE/ssh/config" >"$MADE/ssh/bare"
	! in_lab ssh -F "$MADE/ssh/bare" -l ada -i "$MADE/bob" node1 true 2>/dev/null &&
		! in_lab ssh -F "$MADE/ssh/config" -l root node1 true 2>/dev/null
}
# bob leaves while he is logged in; what he started behind himself ends, too
removed_is_locked_out() {
	ssh_as bob 'nohup sleep 9999 >/dev/null 2>&1 & exec sleep 9998' &
	local session=$!
	# who shares the node does not see what others run
	wait_for 30 "bob works" ssh_as ada 'test "$(sudo -n pgrep -c -u bob sleep)" = 2' && [ "$(ssh_as ada 'pgrep -c -u bob .')" = 0 ] || return 1
	site_users ada && wait "$session"
	# sshd reads its settings again: while it does, it refuses everybody
	[ $? != 0 ] && wait_for 60 "sshd of node1" ssh_as ada true && ! ssh_as bob true 2>/dev/null && [ "$(ssh_as ada 'sudo -n pgrep -c -u 5002 .; getent passwd bob; ls /etc/ssh/phoenix')" = "$(printf '0\nada')" ]
}
# as the manual prints them, but for where files are before an installation
manuals_examples_run() {
	local line
	grep -E '^(clush|ansible) ' cmd/phx/phx.1.scd | sed 's,/usr/share/phoenix/,etc/,' >"$MADE/examples" && [ "$(wc -l <"$MADE/examples")" -ge 2 ] || return 1
	[ -d /root/.ssh ] || { mkdir -m 700 /root/.ssh && trap 'rmdir /root/.ssh' RETURN; }
	while read -r line; do
		say "$line"
		in_lab unshare -m bash -c '
			mkdir -p /etc/clustershell/groups.conf.d && mount --bind etc/clustershell /etc/clustershell/groups.conf.d && mount --bind "$1" /root/.ssh || exit 1
			export PATH=$2:$PATH HOME=$3
			eval "$4"' - "$MADE/ssh" "$BUILD/bin" "$MADE" "$line" </dev/null >"$MADE/said" 2>&1
		grep -q 'load average' "$MADE/said" || { cat "$MADE/said"; return 1; }
	done <"$MADE/examples"
}

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
# the BMC presses the power button: its own system, without systemd-logind, ends; then the deploy environment (below)
is_off() { [ "$(machine_field node1 .on)" = false ]; }
switches_itself_off() {
	! is_off && phx node power node1 off --yes --wait --timeout 2m && wait_for 10 "node1 is off" is_off
}
system_ends_and_starts_again() {
	local boot
	boot=$(node_field node1 .boot_id)
	switches_itself_off && phx node power node1 on --wait --timeout 1m && wait_for 180 "node1 is back" is_back "$boot"
}
is_back() { [ "$(node_field node1 .boot_id)" != "$1" ] && [ "$(node_field node1 .up)" = true ] && state_is node1 active; }
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
check a_user_of_the_site_logs_in logs_in
check others_do_not others_do_not
check the_manuals_examples_run manuals_examples_run
check who_is_removed_is_locked_out removed_is_locked_out
check what_services_write_and_use_is_told writes_and_uses
check noop_hand_over_in_place hands_over
check a_soft_off_ends_its_system system_ends_and_starts_again
check a_service_that_fails_says_why says_why_it_fails
check the_tpm_signs_each_erase is_erased
check a_soft_off_ends_the_deploy_environment switches_itself_off
check lab_down_leaves_nothing gone
