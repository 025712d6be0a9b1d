#!/bin/bash
# Disks of a node beside that of its system: a profile protects one, and nothing changes a byte of it; two get the layout of a
# role, a RAID 1, a volume of LVM with XFS, and swap. What is on them stays when the node is handed over in place and started
# again, also without one disk of the RAID; another layout is refused; an erase takes all but the protected one. Real parts in
# an emulated machine. Prints "ok NAME" or "not ok NAME" a check; leaves nothing behind.
export LAB=layout$$
. "$(dirname "$0")/lib.sh"
SCRATCH=$(mktemp -d)
OUT=$SCRATCH/out
trap 'lab down >/dev/null 2>&1; [ -n "${KEEP:-}" ] || rm -rf "$DIR" "$SCRATCH"' EXIT
trap 'exit 1' INT TERM

# write_role NAME SIZE_OF_THE_MIRROR
write_role() {
	cat >"$SCRATCH/roles/$1.conf" <<-END
		pool = "batch";
		image = "debian-12";
		boot = "disk";
		runs_jobs = true;
		layout = (
			{ name = "mirror"; disks = [ "serial=DATA-*" ]; pick = "all"; count = 2; join = "raid1"; size = "$2"; type = "ext4"; mount = "/data"; options = "noatime"; scratch = true; },
			{ name = "swap"; disks = [ "serial=DATA-2" ]; size = "64 MiB"; type = "swap"; },
			{ name = "scratch"; disks = [ "serial=DATA-2" ]; join = "lvm"; type = "xfs"; mount = "/scratch"; }
		);
	END
}
lab_up() {
	mkdir "$SCRATCH/roles" "$SCRATCH/site" && chmod 755 "$SCRATCH" || return 1 # the head is no root
	{ cat etc/lab-head.conf && printf 'role_dir = "%s";\nrules_file = "%s";\n' "$SCRATCH/roles" "$SCRATCH/roles/rules.conf"; } >"$SCRATCH/head.conf"
	{ cat tests/lab/layout.conf && echo "head_conf = \"$SCRATCH/head.conf\";"; } >"$SCRATCH/lab.conf"
	lab up -f "$SCRATCH/lab.conf" && write_role first "256 MiB" && write_role second "256 MiB" && write_role other "512 MiB" && phx reload
}
# what a storage group has on its disk, and what a former owner left on another
disk() { echo "$DIR/machines/lay1/disk$1.raw"; }
known_bytes() {
	mkfs.ext4 -q -F "$(disk 1)" && printf 'ARCHIVE-OF-THE-YEAR' | dd of="$(disk 1)" bs=1 seek=700000000 conv=notrunc status=none &&
		printf 'LEFT-BY-A-FORMER-OWNER' | dd of="$(disk 2)" bs=1 seek=1000000000 conv=notrunc status=none &&
		sha256sum <"$(disk 1)" >"$SCRATCH/kept"
}
is_kept() { [ "$(sha256sum <"$(disk 1)")" = "$(cat "$SCRATCH/kept")" ] || die "the protected disk has changed"; }
protects() {
	echo 'profiles = ( { name = "archive"; protected_disks = [ "serial=KEEP-*" ]; } );' >"$SCRATCH/site/profiles.conf"
	echo 'nodes = ( { nodes = "lay1"; profiles = [ "archive" ]; } );' >"$SCRATCH/site/nodes.conf"
	phx site apply "$SCRATCH/site" && phx site show lay1 | tee "$SCRATCH/shown" && grep -q '^protected_disks .*serial=KEEP-\*.*profiles.conf:1$' "$SCRATCH/shown"
}
boots() {
	phx node power lay1 on --wait --timeout 2m && wait_for 180 "lay1 enrols" asked lay1 &&
		phx node accept lay1 && wait_for 60 "lay1 is ready" state_is lay1 ready
}
is_planned() {
	phx node plan lay1 first --setup wipe | tee "$SCRATCH/plan"
	grep -q 'left as protected, with all data: .*KEEP-1 by setting protected_disks: serial=KEEP-\*' "$SCRATCH/plan" || die "the protected disk is not named"
	grep -q 'layout: mirror: 256.0 MiB of .*DATA-1, 256.0 MiB of .*DATA-2; raid1, ext4 at /data' "$SCRATCH/plan" || die "the mirror is not planned"
	grep -q 'layout: scratch: 2.7 GiB of .*DATA-2; lvm, xfs at /scratch' "$SCRATCH/plan" || die "the scratch is not planned"
	! grep -q 'wipe.*KEEP' "$SCRATCH/plan" || die "the plan erases the protected disk"
}
deployed() { phx node assign lay1 first --setup wipe --yes --wait --timeout 15m && state_is lay1 active; }
in_job() {
	setpriv --reuid=65534 --regid=65534 --clear-groups "$PHX" job submit -n 1 --wait --timeout 3m -- /bin/sh -c "$1" || die "job: $1"
}
is_mounted() {
	in_job 'cat /proc/mounts; cat /proc/mdstat; cat /proc/swaps; stat -c "%a %n" /data /scratch' >"$SCRATCH/mounts"
	cat "$SCRATCH/mounts"
	grep -q ' /data ext4 rw.*noatime' "$SCRATCH/mounts" && grep -q ' /scratch xfs ' "$SCRATCH/mounts" && grep -q 'raid1' "$SCRATCH/mounts" || die "not mounted as told"
	grep -q "^/dev/vd.* partition" "$SCRATCH/mounts" && grep -qx '1777 /data' "$SCRATCH/mounts" && grep -qx '755 /scratch' "$SCRATCH/mounts" || die "no swap, or wrong modes"
	[ -z "${1:-}" ] || grep -q "$1" "$SCRATCH/mounts" || die "the RAID is not as expected: $1"
}
no_old_data() { ! grep -azqF LEFT-BY-A-FORMER-OWNER "$(disk 2)" || die "what a former owner left is still on the disk"; }
writes() { in_job 'echo kept >/data/note && sync /data/note'; }
still_there() { [ "$(in_job 'cat /data/note')" = kept ] || die "the note is gone"; }
handed_over() {
	phx node plan lay1 second | tee "$SCRATCH/plan"
	grep -q 'in.place' "$SCRATCH/plan" || die "not in place"
	phx node assign lay1 second --yes --wait --timeout 5m && still_there
}
another_is_refused() {
	! phx node assign lay1 other --yes --wait 2>"$SCRATCH/said" || die "another layout was made"
	cat "$SCRATCH/said"
	grep -q 'another layout than that of role other.*only after an erase' "$SCRATCH/said" && state_is lay1 active && still_there
}
reboots() { phx node reboot lay1 "$@" --yes --wait --timeout 6m && still_there; }
qmp() {
	{ echo '{"execute":"qmp_capabilities"}'; printf '%s\n' "$@"; } | timeout 10 socat -t 3 - "UNIX-CONNECT:$DIR/machines/lay1/qmp.sock"
}
# a disk is pulled while the system runs
pulled() {
	local i at
	for i in $(seq 0 20); do
		at="/machine/peripheral-anon/device[$i]"
		qmp "{\"execute\":\"qom-get\",\"arguments\":{\"path\":\"$at\",\"property\":\"serial\"}}" | grep -q '"DATA-1"' || continue
		qmp "{\"execute\":\"device_del\",\"arguments\":{\"id\":\"$at\"}}" | grep -q '"return"' || die "not pulled"
		sleep 3
		in_job 'cat /proc/partitions' >"$SCRATCH/left"
		cat "$SCRATCH/left"
		[ "$(grep -cE ' vd[a-z]$' "$SCRATCH/left")" = 3 ] || die "it is still there"
		# what is written goes to the other one
		writes && still_there && is_mounted '\[_U\]\|\[U_\]'
		return
	done
	die "no such disk"
}
# the machine is switched off and on, and has the pulled disk again, with what was on it when it was pulled
n_disks() { [ "$(node_field lay1 '[.facts.disks[]] | length')" = "$1" ]; }
another_is_made() {
	phx node power lay1 cycle --yes --wait --timeout 2m && wait_for 240 "all disks are there" n_disks 4 && wait_for 120 "lay1 serves" state_is lay1 active &&
		wait_for 120 "its data" still_there || return 1
	phx node assign lay1 other --setup wipe --power-cycle --yes --wait --timeout 15m && is_mounted '\[UU\]' || return 1
	in_job 'test ! -e /data/note && df -k --output=size /data | tail -1' | grep -qE '^ *(4[5-9]|5[0-2])[0-9]{4}$' || die "the note outlived the erase, or it is not as large as told"
}
gone() {
	lab down || return 1
	! ip netns list | grep -q "phx-$LAB" && ! pgrep -f "$DIR/" >/dev/null
}

begin=$SECONDS
check lab_up lab_up
check disks_hold_what_they_hold known_bytes
check blank_machine_boots_and_is_accepted boots
check a_profile_protects_a_disk protects
check the_plan_names_disks is_planned
check the_node_is_deployed deployed
check the_layout_is_mounted is_mounted '\[UU\]'
check former_data_is_gone no_old_data
check the_protected_disk_is_as_it_was is_kept
check data_is_written writes
check in_place_the_layout_stays handed_over
check another_layout_is_refused another_is_refused
check it_comes_back_after_kexec reboots
check it_is_mounted_again is_mounted '\[UU\]'
check raid_goes_on_without_a_disk pulled
check it_starts_without_a_disk reboots
check it_is_mounted_without_a_disk is_mounted '\[_U\]\|\[U_\]'
check an_erase_makes_room_for_another another_is_made
check the_protected_disk_is_still_as_it_was is_kept
check lab_down_leaves_nothing gone
echo "$((SECONDS - begin)) s in all"
