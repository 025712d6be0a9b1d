#!/bin/bash
# alone: it fetches packages over the network of the machine
# An image that Phoenix did not build: a tar of another Debian release, made by mmdebstrap from the machine's own mirror, is
# imported and deployed, first into memory, then to a disk. Real parts in an emulated machine. Prints "ok NAME" or
# "not ok NAME" a check; leaves nothing behind.
# usage: import.sh; SUITE says which release (default trixie), TAR names a tar that is there already.
export LAB=import$$
. "$(dirname "$0")/lib.sh"
SUITE=${SUITE:-trixie}
SCRATCH=$(mktemp -d)
OUT=$SCRATCH/out
TAR=${TAR:-$SCRATCH/$SUITE.tar}
trap 'lab down >/dev/null 2>&1; [ -n "${KEEP:-}" ] || rm -rf "$DIR" "$SCRATCH"' EXIT
trap 'exit 1' INT TERM

# ---- the foreign system ----

# the mirror that the machine's apt uses for its own release
mirror() { apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Component: main' | grep -v security | head -n 1; }

make_tar() {
	local options=()
	[ -s "$TAR" ] && return 0
	mapfile -t options < <(apt-config dump | sed -n 's/^\(Acquire::[a-z]*::Proxy[^ ]* ".*"\);$/--aptopt=\1/p')
	mmdebstrap --mode=root --variant=minbase --architectures=amd64 --include=systemd,systemd-sysv,linux-image-cloud-amd64 \
		"${options[@]}" "$SUITE" "$TAR" "$(mirror)"
}
kernel_in_tar() { tar -tf "$TAR" | sed -n 's,^\./boot/vmlinuz-,,p'; }
kernel_of() { sed -n 's/^kernel_release = "\(.*\)";/\1/p' "$DIR/state/images/$1"/*/manifest.conf; }

# ---- a service that needs nothing of the system it runs on: its package brings all of it ----

push_hello() {
	local src=$SCRATCH/hello key=$DIR/package.key
	mkdir -p "$src/files/bin" "$src/files/www"
	cp /bin/busybox "$src/files/bin/"
	echo "hello from a foreign system" >"$src/files/www/index.html"
	cat >"$src/package.conf" <<-END
		name = "hello";
		version = "1";
		arch = "amd64";
		summary = "one page";
	END
	phx package build "$src" --out "$SCRATCH" --sign-key "$key" && phx package push "$SCRATCH/hello-1.tar.zst"
}

# write_role NAME BOOT
write_role() {
	cat >"$SCRATCH/roles/$1.conf" <<-END
		pool = "web";
		image = "$SUITE";
		boot = "$2";
		runs_jobs = true;
		packages = [ "hello" ];
		services = ( { name = "hello"; package = "hello"; exec = [ "bin/busybox", "httpd", "-f", "-p", "80", "-h", "www" ]; } );
		health = { kind = "http"; target = "http://127.0.0.1:80/"; };
	END
}

lab_up() {
	mkdir "$SCRATCH/roles" && chmod 755 "$SCRATCH" || return 1 # the head is no root
	{ cat etc/lab-head.conf && printf 'role_dir = "%s";\nrules_file = "%s";\n' "$SCRATCH/roles" "$SCRATCH/roles/rules.conf"; } >"$SCRATCH/head.conf"
	{ cat tests/lab/import.conf && echo "head_conf = \"$SCRATCH/head.conf\";"; } >"$SCRATCH/lab.conf"
	lab up -f "$SCRATCH/lab.conf" && push_hello
}

imported() {
	phx image import "$TAR" --image-name "$SUITE" 2>"$SCRATCH/err" || die "$(cat "$SCRATCH/err")"
	cat "$SCRATCH/err"
	[ "$(kernel_of "$SUITE")" = "$(kernel_in_tar)" ] || die "the kernel in its manifest: $(kernel_of "$SUITE")"
	zstd -dcq "$DIR/state/images/$SUITE/1/root.ext4.zst" >"$SCRATCH/root.ext4" && e2fsck -fn "$SCRATCH/root.ext4" || return 1
	dumpe2fs -h "$SCRATCH/root.ext4" 2>/dev/null | grep -q 'volume name: *phx-root' || die "no label"
	rm "$SCRATCH/root.ext4"
}

# the system's own kernel will run, and everything that shows an image says so
kernel_is_told() {
	local own
	own=$(kernel_of "$SUITE")
	[ "$own" != "$(kernel_of deploy)" ] || die "both kernels are $own: nothing to tell apart"
	! grep -q warning "$SCRATCH/err" || die "import: $(cat "$SCRATCH/err")"
	phx image kernels "$SUITE" | grep -q "^$own *yes " || die "image kernels"
	phx image list -o wide | grep "^$SUITE" | grep -q "$own *$own" || die "image list -o wide"
}

roles_are_read() {
	write_role guest-ram ram && write_role guest-disk disk && phx reload || return 1
	phx role check --strict "$SCRATCH/roles/guest-ram.conf"
}

# ---- the machine ----

boots() {
	phx node power guest1 on --wait --timeout 2m && wait_for 180 "guest1 enrols" asked guest1 &&
		phx node accept guest1 && wait_for 60 "guest1 is ready" state_is guest1 ready
}
serves() { page guest1 | grep -q "hello from a foreign system"; }
disk_untouched() { [ "$(stat -c %b "$(disk_of guest1)")" = 0 ]; }
# what a job sees: the foreign system, with its own kernel and the modules of that
runs_foreign() {
	local out
	out=$(setpriv --reuid=65534 --regid=65534 --clear-groups "$PHX" job submit -n 1 --wait --timeout 2m -- \
		/bin/sh -c '. /etc/os-release; echo "$VERSION_CODENAME $(uname -r)"; ls /lib/modules') || die "job: $out"
	say "$out"
	grep -q "^$SUITE $(kernel_of "$SUITE")\$" <<<"$out" || die "another system, or another kernel"
	grep -qx "$(kernel_of "$SUITE")" <<<"$out" || die "no modules of the kernel that runs"
}
runs_in_memory() {
	phx node plan guest1 guest-ram >"$SCRATCH/plan" && grep -q "$(kernel_of "$SUITE")" "$SCRATCH/plan" || die "the plan: $(cat "$SCRATCH/plan")"
	phx node assign guest1 guest-ram --wait --timeout 10m && serves && runs_foreign || return 1
	disk_untouched || die "its disk was written to"
}
runs_from_disk() {
	phx node assign guest1 guest-disk --yes --wait --timeout 15m && serves && runs_foreign || return 1
	! disk_untouched
}
comes_back() {
	local boot
	boot=$(node_field guest1 .boot_id)
	phx node power guest1 cycle --yes --wait --timeout 2m || return 1
	wait_for 180 "guest1 starts again" sh -c "[ \"\$('$PHX' node show guest1 -o json | jq -r '[.. | .boot_id? | select(.)][0]')\" != $boot ]"
	wait_for 240 "its page" serves && runs_foreign
}
gone() {
	lab down || return 1
	! ip netns list | grep -q "phx-$LAB" && ! pgrep -f "$DIR/" >/dev/null
}

begin=$SECONDS
check foreign_system_is_made make_tar
check lab_up lab_up
check foreign_tar_is_imported imported
check kernel_that_runs_is_told kernel_is_told
check roles_of_it_are_read roles_are_read
check blank_machine_boots_and_is_accepted boots
check foreign_system_runs_in_memory runs_in_memory
check foreign_system_runs_from_disk runs_from_disk
check it_comes_back_after_a_power_cycle comes_back
check lab_down_leaves_nothing gone
echo "$((SECONDS - begin)) s in all"
