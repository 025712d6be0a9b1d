#!/bin/bash
# The kernel of an image: the deploy image brings one, the system another. A machine is deployed to its disk with an erase,
# started again by kexec and by its BMC, and has its system in memory: each time the image's kernel runs, with the words
# that the role has for it. Beside it the same system without an archive of modules, which runs under the deploy image's
# kernel as before. Real parts in an emulated machine. Prints "ok NAME" or "not ok NAME" a check; leaves nothing behind.
export LAB=kernels$$
. "$(dirname "$0")/lib.sh"
SCRATCH=$(mktemp -d)
trap 'lab down >/dev/null 2>&1; [ -n "${KEEP:-}" ] || rm -rf "$DIR" "$SCRATCH"' EXIT
trap 'exit 1' INT TERM
OWN=$(sed -n 's/^kernel_release = "\(.*\)";/\1/p' "$BUILD/images/debian-12/manifest.conf")
DEPLOY=$(sed -n 's/^kernel_release = "\(.*\)";/\1/p' "$BUILD/images/deploy-cloud/manifest.conf")

check() {
	local name=$1 begin=$SECONDS
	shift
	if ("$@") >"$SCRATCH/out" 2>&1; then
		echo "ok $name ($((SECONDS - begin)) s)$(sed -n 's/^time: /, /p' "$SCRATCH/out")"
		return
	fi
	echo "not ok $name ($((SECONDS - begin)) s)"
	cat "$SCRATCH/out"
	phx events -n 60
	phx node show '@all'
	tail -n 10 "$DIR/phxd.log"
	tail -n 60 "$DIR"/machines/*/console.log
	exit 1
}

# write_role NAME IMAGE BOOT ARGS
write_role() {
	cat >"$SCRATCH/roles/$1.conf" <<-END
		pool = "web";
		image = "$2";
		boot = "$3";
		kernel_args = "$4";
		runs_jobs = true;
		packages = [ "hello" ];
		services = ( { name = "hello"; package = "hello"; exec = [ "bin/busybox", "httpd", "-f", "-p", "80", "-h", "www" ]; } );
		health = { kind = "http"; target = "http://127.0.0.1:80/"; };
	END
}

push_hello() {
	local src=$SCRATCH/hello key=$DIR/package.key
	mkdir -p "$src/files/bin" "$src/files/www"
	cp /bin/busybox "$src/files/bin/"
	echo "hello" >"$src/files/www/index.html"
	printf 'name = "hello";\nversion = "1";\narch = "amd64";\nsummary = "one page";\n' >"$src/package.conf"
	phx package build "$src" --out "$SCRATCH" --sign-key "$key" && phx package push "$SCRATCH/hello-1.tar.zst"
}

# the same system, with an archive of the modules of its kernel
add_own() {
	local to=$SCRATCH/own size digest
	mkdir "$to" && cp "$BUILD/images/debian-12"/{vmlinuz,root.ext4.zst,root.squashfs} "$to/" || return 1
	unsquashfs -q -n -d "$SCRATCH/root" "$to/root.squashfs" usr/lib/modules >/dev/null &&
		images/pack-modules "$SCRATCH/root/usr/lib/modules/$OWN" "$OWN" images/deploy/modules "$to/modules.zst" </dev/null || return 1
	size=$(stat -c %s "$to/modules.zst") digest=$(sha256sum <"$to/modules.zst" | cut -d' ' -f1)
	sed -e 's/^name = .*/name = "own";/' -e "s/^files = (/kernels = ( { release = \"$OWN\"; kernel = \"vmlinuz\"; modules = \"modules.zst\"; } );\n&\n	{ name = \"modules.zst\"; size = ${size}L; sha256 = \"$digest\"; },/" \
		"$BUILD/images/debian-12/manifest.conf" >"$to/manifest.conf"
	phx image sign "$to" --sign-key "$DIR/package.key" && phx image add "$to"
}

lab_up() {
	[ "$OWN" != "$DEPLOY" ] || die "both kernels are $OWN: nothing to tell apart"
	mkdir "$SCRATCH/roles" && chmod 755 "$SCRATCH" || return 1 # the head is no root
	{ cat etc/lab-head.conf && printf 'role_dir = "%s";\nrules_file = "%s";\n' "$SCRATCH/roles" "$SCRATCH/roles/rules.conf"; } >"$SCRATCH/head.conf"
	{ cat tests/lab/kernels.conf && echo "head_conf = \"$SCRATCH/head.conf\";"; } >"$SCRATCH/lab.conf"
	lab up -f "$SCRATCH/lab.conf" && push_hello && add_own &&
		write_role own-disk own disk "phx_test=1 isolcpus=7" && write_role own-ram own ram "" &&
		write_role older debian-12 disk "" && phx reload
}

is_told() {
	phx image kernels own | tee "$SCRATCH/told"
	grep -q "^$OWN *yes *vmlinuz *modules.zst" "$SCRATCH/told" || die "image kernels"
	phx image kernels debian-12 2>&1 | grep -q "brings kernel $OWN without an archive of its modules" || die "no warning"
	phx role check "$SCRATCH/roles/own-disk.conf" 2>&1 | tee "$SCRATCH/checked"
	! grep -q warning "$SCRATCH/checked" || die "a warning for an image with its own kernel"
}
# a root is for nodes that are ordered to have it; its kernel is for firmware
root_stays_closed() {
	local head file
	head=http://$(sed -n 's/^address = "\(.*\)";/\1/p' "$PHX_CONFIG" | head -n 1):8080
	for file in vmlinuz modules.zst; do
		in_lab curl -sf -o /dev/null "$head/images/own/1/$file" || die "$file is closed to firmware"
	done
	for file in root.ext4.zst root.squashfs; do
		! in_lab curl -sf -o /dev/null "$head/images/own/1/$file" || die "$file is open to everybody"
	done
	! in_lab curl -sf -o /dev/null "$head/images/debian-12/1/vmlinuz" || die "a kernel that nobody boots is open"
}

boots() {
	phx node power own1 on --wait --timeout 2m && wait_for 180 "own1 enrols" asked own1 &&
		phx node accept own1 && wait_for 60 "own1 is ready" state_is own1 ready
}
serves() { page own1 | grep -q hello; }
in_job() {
	setpriv --reuid=65534 --regid=65534 --clear-groups "$PHX" job submit -n 1 --wait --timeout 2m -- /bin/sh -c "$1" || die "job: $1"
}
# runs RELEASE [WORDS]: what uname -r says in the node, and its command line
runs() {
	local out
	out=$(in_job 'uname -r; cat /proc/cmdline; test -d /lib/modules/$(uname -r) && echo modules')
	echo "$out"
	grep -qx "$1" <<<"$out" && grep -qx modules <<<"$out" || die "not kernel $1 with its modules"
	[ -z "${2:-}" ] || grep -q " $2 " <<<"$out" || die "the words of the role are not on its command line"
	[ "$(node_field own1 .facts.kernel)" = "$1" ] || die "the head knows of kernel $(node_field own1 .facts.kernel)"
}
# deployed ROLE RELEASE [WORDS]
deployed() {
	local begin end
	begin=$(date +%s.%N)
	phx node assign own1 "$1" --yes --wait --timeout 15m || return 1
	end=$(date +%s.%N)
	echo "time: $(awk "BEGIN { printf \"%.1f s to role $1\", $end - $begin }")"
	serves && runs "$2" "${3:-}"
}
released() { phx node wipe own1 --yes --wait --timeout 10m && wait_for 60 "own1 is ready" state_is own1 ready; }
# a statement of an erase names the deploy image; and the kernel of that made it
erased_by_deploy() {
	phx node plan own1 own-disk | tee "$SCRATCH/plan"
	grep -q kernel "$SCRATCH/plan" || die "the plan has no step kernel"
	grep -q "kernel $DEPLOY" "$DIR"/machines/own1/console.log || die "the console never showed kernel $DEPLOY"
}
new_boot() { [ "$(node_field own1 .boot_id)" != "$1" ]; }
reboots() {
	local boot
	boot=$(node_field own1 .boot_id)
	phx node reboot own1 "$@" --yes --wait --timeout 6m || return 1
	new_boot "$boot" || die "it has not started anew"
	wait_for 60 "its page" serves
	runs "$OWN" "${WORDS:-}"
}
# nobody ordered this start: the answer to firmware alone decides
cut_off() {
	local boot
	boot=$(node_field own1 .boot_id)
	phx node power own1 cycle --yes --wait --timeout 2m || return 1
	wait_for 240 "own1 starts again" new_boot "$boot"
	wait_for 240 "its page" serves
	runs "$OWN" "phx_test=1 isolcpus=7"
}
gone() {
	lab down || return 1
	! ip netns list | grep -q "phx-$LAB" && ! pgrep -f "$DIR/" >/dev/null
}

begin=$SECONDS
check lab_up lab_up
check kernels_are_told is_told
check root_of_an_image_stays_closed root_stays_closed
check blank_machine_boots_and_is_accepted boots
check image_without_modules_runs_as_before deployed older "$DEPLOY"
check it_is_wiped released
check plan_enters_the_kernel_after_the_erase erased_by_deploy
check own_kernel_runs_from_disk deployed own-disk "$OWN" "phx_test=1 isolcpus=7"
WORDS="phx_test=1 isolcpus=7" check own_kernel_after_kexec reboots
WORDS="phx_test=1 isolcpus=7" check own_kernel_after_a_reset reboots --power-cycle
check own_kernel_after_a_cut cut_off
check own_kernel_runs_in_memory deployed own-ram "$OWN"
check own_kernel_in_memory_after_kexec reboots
check lab_down_leaves_nothing gone
echo "$((SECONDS - begin)) s in all"
