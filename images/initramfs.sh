#!/bin/bash
# The recipe of images of kind "initramfs": a kernel and a newc archive with
# busybox, some programs, kernel modules and (if given) the agent's bundle.
# usage: initramfs.sh IMAGE_DIR OUT_DIR [AGENT_BUNDLE]; called by IMAGE_DIR/build.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/modules.sh"

# copy FILE...: files or links of the extracted packages into the archive, same path
copy() {
	local file
	for file in "$@"; do
		mkdir -p "$TREE$(dirname "$file")"
		cp -a "$ROOT$file" "$TREE$file"
		[ ! -L "$ROOT$file" ] || copy "$(link_target "$file")"
	done
}

link_target() {
	local to
	to=$(readlink "$ROOT$1")
	case $to in
	/*) echo "$to" ;;
	*) echo "$(dirname "$1")/$to" ;;
	esac
}

# the shared libraries a program needs, as its own loader finds them
libraries_of() {
	chroot "$ROOT" /lib64/ld-linux-x86-64.so.2 --list "$1" 2>/dev/null |
		sed -n 's/.*=> \(\/[^ ]*\).*/\1/p'
}

add_programs() {
	local program
	copy /lib64/ld-linux-x86-64.so.2
	for program in $(conf_list programs); do
		[ -e "$ROOT$program" ] || die "image.conf: program $program is in none of the packages"
		copy "$program"
		case $program in
		*.so.*) ;;
		*) libraries_of "$program" ;;
		esac
	done | sort -u >"$WORK/libraries"
	# shellcheck disable=SC2046
	copy $(cat "$WORK/libraries")
}

add_busybox() {
	local applet
	mkdir -p "$TREE"/{bin,sbin,usr/bin,usr/sbin}
	cp "$ROOT/bin/busybox" "$TREE/bin/busybox"
	for applet in $("$TREE/bin/busybox" --list); do
		[ -e "$TREE/sbin/$applet" ] || [ -e "$TREE/usr/sbin/$applet" ] || [ -e "$TREE/bin/$applet" ] ||
			ln -s busybox "$TREE/bin/$applet"
	done
	# the path that the kernel itself calls
	ln -sf ../bin/busybox "$TREE/sbin/modprobe"
}

# the modules of the list, and what depmod wants to know of the kernel
add_modules() {
	local release=$1 dir=lib/modules/$1
	depmod -b "$ROOT" "$release"
	mkdir -p "$TREE/$dir"
	module_paths "$ROOT" "$release" "$IMAGE_DIR/$(conf_required modules)" >"$WORK/modules"
	[ -s "$WORK/modules" ] || die "no module chosen"
	(cd "$ROOT" && cpio --quiet -pdm "$TREE" <"$WORK/modules")
	cp "$ROOT/$dir"/modules.{order,builtin,builtin.modinfo} "$TREE/$dir/"
	depmod -b "$TREE" "$release"
}

add_files() {
	local base
	base=$IMAGE_DIR/$(conf_required files)
	cp -r --no-preserve=mode "$base/." "$TREE/"
	chmod 755 "$TREE/init"
	find "$TREE/etc" -name '*.script' -exec chmod 755 {} +
	mkdir -p "$TREE"/{dev,proc,sys,run,tmp,mnt,root,var,etc/phoenix,opt/phoenix}
	ln -sf /run "$TREE/var/run"
	ln -sf /run/phoenix/resolv.conf "$TREE/etc/resolv.conf"
	ln -sf /proc/mounts "$TREE/etc/mtab"
	[ -c "$TREE/dev/console" ] || mknod -m 600 "$TREE/dev/console" c 5 1
}

# pack DIR FILE: padded to whole blocks, since archives are put one behind
# another (the agent's, the site's) and one must start at a multiple of 4 bytes
pack() {
	clamp_times "$1"
	(cd "$1" && find . -mindepth 1 -printf '%P\0' | sort -z |
		cpio --quiet --null --reproducible -o -H newc -R 0:0) | zstd -q -"$(conf zstd_level)" -T0 >"$2"
	truncate -s %512 "$2"
}

# the programs of phx node check, with their libraries, in a file of their own: nodes fetch it when they are checked
add_check() {
	local tree=$WORK/check program
	[ -n "$(conf_list check)" ] || return 0
	mkdir -p "$tree/bin" "$tree/lib"
	for program in $(conf_list check); do
		[ -e "$ROOT$program" ] || die "image.conf: check: $program is in none of the packages"
		cp -L "$ROOT$program" "$tree/bin/"
		libraries_of "$program"
	done | sort -u >"$WORK/check-libraries"
	while read -r program; do cp -L "$ROOT$program" "$tree/lib/"; done <"$WORK/check-libraries"
	clamp_times "$tree"
	mksquashfs "$tree" "$WORK/out/check.squashfs" -quiet -no-progress -noappend -all-root -comp zstd \
		2>"$WORK/mksquashfs.log" >&2 || {
		cat "$WORK/mksquashfs.log" >&2
		die "mksquashfs failed"
	}
}

# kernel and archive without the agent: rebuilt when the recipe changes only
make_base() {
	local release
	mkdir -p "$TREE"
	bootstrap extract "$ROOT"
	release=$(kernel_release "$ROOT")
	add_programs
	add_busybox
	add_modules "$release"
	add_files
	add_check
	pack "$TREE" "$WORK/out/base.zst"
	cp "$ROOT/boot/vmlinuz-$release" "$WORK/out/vmlinuz"
	echo "$release" >"$WORK/out/release"
}

# the agent's archive comes behind the base
add_agent() {
	mkdir -p "$WORK/agent/opt/phoenix" "$WORK/agent/etc/phoenix"
	cp -a "$AGENT" "$WORK/agent/opt/phoenix/agent"
	echo "$(conf name) $(conf version)" >"$WORK/agent/etc/phoenix/image"
	pack "$WORK/agent" "$WORK/agent.zst"
	cat "$WORK/agent.zst" >>"$WORK/out/initrd.zst"
}

recipe_begin "$@"
ROOT=$WORK/root
TREE=$WORK/tree
agent_digest=${AGENT:+$(digest_of "$AGENT")}
agent_digest=${agent_digest:-none}
if built_from base "$DIGEST" && built_from agent "$agent_digest" && built_from version "$(conf_required version)"; then
	exit 0
fi
echo "image $(conf name)" >&2
if built_from base "$DIGEST"; then
	cp "$OUT"/{base.zst,vmlinuz,release} "$WORK/out/"
	[ ! -e "$OUT/check.squashfs" ] || cp "$OUT/check.squashfs" "$WORK/out/"
else
	make_base
fi
cp "$WORK/out/base.zst" "$WORK/out/initrd.zst"
[ -z "$AGENT" ] || add_agent
manifest "$WORK/out" "$(cat "$WORK/out/release")" vmlinuz initrd.zst \
	$([ ! -e "$WORK/out/check.squashfs" ] || echo check.squashfs)
printf 'base %s\nagent %s\nversion %s\n' "$DIGEST" "$agent_digest" "$(conf version)" >"$WORK/out/recipe"
recipe_end
