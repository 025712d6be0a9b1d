#!/bin/bash
# alone: it takes packages from the mirror, which a network of its own does not reach
# A system with two kernels, Debian's generic one and its real-time one, packed as a container by umoci, imported, and run: a machine
# gets it with the default kernel, then with the other one by its role's word. Real parts in an emulated machine; takes packages by
# apt-get. Prints "ok NAME" or "not ok NAME" a check; leaves nothing behind.
export LAB=containers$$
. "$(dirname "$0")/lib.sh"
MADE=$(mktemp -d /var/tmp/phx-containers.XXXXXX)
trap 'lab down >/dev/null 2>&1; [ -n "${KEEP:-}" ] || rm -rf "$DIR" "$MADE"' EXIT
trap 'exit 1' INT TERM
GENERIC=$(sed -n 's/^kernel_release = "\(.*\)";/\1/p' "$BUILD/images/debian-12/manifest.conf")

# what a site would do in its Dockerfile: the system, and one kernel package more
system_is_packed() {
	local root=$MADE/root package rt
	unsquashfs -q -n -d "$root" "$BUILD/images/debian-12/root.squashfs" >/dev/null &&
		cp "$BUILD/images/debian-12/vmlinuz" "$root/boot/vmlinuz-$GENERIC" || return 1
	package=$(apt-cache depends linux-image-rt-amd64 | sed -n 's/.*Depends: \(linux-image-.*\)/\1/p' | head -n 1)
	(cd "$MADE" && apt-get download -q "$package") && dpkg -x "$MADE/$package"_*.deb "$root.rt" || return 1
	rt=$(ls "$root.rt/lib/modules")
	cp "$root.rt/boot/vmlinuz-$rt" "$root/boot/" && mv "$root.rt/lib/modules/$rt" "$root/lib/modules/" && depmod -b "$root" "$rt" || return 1
	umoci init --layout "$MADE/oci" && umoci new --image "$MADE/oci:site" && umoci unpack --image "$MADE/oci:site" "$MADE/bundle" &&
		rm -rf "$MADE/bundle/rootfs" && mv "$root" "$MADE/bundle/rootfs" && umoci repack --image "$MADE/oci:site" "$MADE/bundle" || return 1
	rm -rf "$MADE/bundle" "$root.rt"
	echo "$rt" >"$MADE/rt"
}
# role NAME LINE
role() {
	printf 'pool = "web"; image = "site"; boot = "disk"; runs_jobs = true; %s\n' "$2" >"$MADE/roles/$1.conf"
}
lab_is_up() {
	mkdir "$MADE/roles" && chmod 755 "$MADE" || return 1 # the head is no root
	{ cat etc/lab-head.conf && printf 'role_dir = "%s";\nrules_file = "%s";\n' "$MADE/roles" "$MADE/roles/rules.conf"; } >"$MADE/head.conf"
	{ cat tests/lab/kernels.conf && echo "head_conf = \"$MADE/head.conf\";"; } >"$MADE/lab.conf"
	lab up -f "$MADE/lab.conf" && phx node power own1 on --wait --timeout 2m && wait_for 240 "own1 enrols" asked own1 &&
		phx node accept own1 && wait_for 60 "own1 is ready" state_is own1 ready
}
# the head knows the machine by now: its drivers are in both archives, or the image is refused
container_is_imported() {
	local rt
	rt=$(cat "$MADE/rt")
	phx image import "oci:$MADE/oci:site" --image-name site --image-version 1 --kernel "$GENERIC" --no-squashfs --sign-key "$DIR/package.key" || return 1
	phx image kernels site -o json | jq -r '.[] | "\(.release) \(.runs)"' | tee "$MADE/kernels"
	[ "$(sort "$MADE/kernels")" = "$(printf '%s true\n%s false\n' "$GENERIC" "$rt" | sort)" ] || die "the kernels of the image"
	role generic '' && role realtime "kernel = \"$rt\";" && phx reload || return 1
	[ "$(phx role show realtime -o json | jq -r .image_kernel)" = "$rt" ]
}
# runs RELEASE TEXT: of the node, from a job on it
runs() {
	local said
	said=$(setpriv --reuid=65534 --regid=65534 --clear-groups "$PHX" job submit -n 1 --wait --timeout 3m -- uname -rv) || die "the job"
	echo "$said"
	[ "${said%% *}" = "$1" ] && [ "$(node_field own1 .facts.kernel)" = "$1" ] || die "not kernel $1"
	[ -z "$2" ] || grep -q "$2" <<<"$said" || die "not '$2'"
}
generic_runs() { phx node assign own1 generic --yes --wait --timeout 15m && runs "$GENERIC" ''; }
realtime_runs() { phx node assign own1 realtime --setup reimage --yes --wait --timeout 15m && runs "$(cat "$MADE/rt")" PREEMPT_RT; }

need system_is_packed system_is_packed
need lab_is_up lab_is_up
need container_is_imported container_is_imported
need default_kernel_runs generic_runs
need kernel_of_the_role_runs realtime_runs
if [ "$FAILED" -gt 0 ]; then
	phx events -n 40
	tail -n 40 "$DIR/phxd.log" "$DIR"/machines/*/console.log 2>/dev/null
	exit 1
fi
