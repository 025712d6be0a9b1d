#!/bin/bash
# The recipe of images of kind "rootfs": a Debian system as an ext4 file-system
# image (for disks) and as squashfs (for RAM), its kernel, and the modules with which that starts.
# usage: rootfs.sh IMAGE_DIR OUT_DIR; called by IMAGE_DIR/build.

. "$(dirname "$0")/lib.sh"

# documentation and translations; the licence texts stay
drop_files() {
	local pattern
	find "$ROOT/usr/share/doc" ! -type d ! -name copyright -delete
	find "$ROOT/usr/share/doc" -depth -type d -empty -delete
	conf_list drop | while read -r pattern; do
		# shellcheck disable=SC2086
		rm -rf "$ROOT"/$pattern
	done
}

# The kernel is taken from its package, not installed: nodes boot it over the
# network with the deploy initramfs, behind which the archive of its modules stands.
add_kernel() {
	local release
	release=$(kernel_release "$WORK/kernel")
	mkdir -p "$ROOT/usr/lib/modules"
	[ -z "$(conf modules)" ] || "$(dirname "$0")/pack-modules" "$WORK/kernel/lib/modules/$release" "$release" \
		"$IMAGE_DIR/$(conf modules)" "$WORK/out/modules.zst" </dev/null
	cp -a "$WORK/kernel/lib/modules/$release" "$ROOT/usr/lib/modules/"
	conf_list drop_modules | (cd "$ROOT/usr/lib/modules/$release/kernel" && xargs rm -rf)
	# a third of the bytes to write to each node's disk; kmod reads them so
	find "$ROOT/usr/lib/modules" -name '*.ko' -print0 | xargs -0 -n 64 -P "$(nproc)" zstd -q --rm -"$(conf zstd_level)"
	depmod -b "$ROOT" "$release"
	cp "$WORK/kernel/boot/vmlinuz-$release" "$WORK/out/vmlinuz"
}

add_services() {
	local unit
	for unit in $(conf_list enable); do
		systemctl --quiet --root="$ROOT" enable "$unit"
	done
	for unit in $(conf_list mask); do
		ln -sf /dev/null "$ROOT/etc/systemd/system/$unit"
	done
	ln -sf /lib/systemd/system/multi-user.target "$ROOT/etc/systemd/system/default.target"
}

# what belongs to this machine or to the moment of building is no part of the image
forget_machine() {
	rm -rf "$ROOT"/etc/apt/{sources.list.d,auth.conf.d,trusted.gpg.d/*~} "$ROOT"/etc/apt/apt.conf.d/99mmdebstrap \
		"$ROOT"/var/lib/apt/lists/* "$ROOT"/var/cache/apt/* "$ROOT"/var/log/{apt,alternatives.log,bootstrap.log,dpkg.log} \
		"$ROOT"/etc/hostname "$ROOT"/var/lib/dbus/machine-id "$ROOT"/etc/.pwd.lock "$ROOT"/var/cache/debconf/*-old \
		"$ROOT"/var/cache/ldconfig/aux-cache "$ROOT"/var/lib/dpkg/*-old "$ROOT"/var/lib/systemd/random-seed
	find "$ROOT/run" "$ROOT/tmp" -mindepth 1 -delete
	mkdir -p "$ROOT/etc/apt/sources.list.d"
	: >"$ROOT/etc/apt/sources.list"
	: >"$ROOT/etc/machine-id"
	# written by the deploy initramfs; /run is carried over
	ln -sf /run/phoenix/resolv.conf "$ROOT/etc/resolv.conf"
	# nothing has to be brought up to date at the first start
	: >"$ROOT/etc/.updated"
	: >"$ROOT/var/.updated"
}

# a UUID that depends on the name and version only, so that two builds compare equal
stable_uuid() {
	echo "$(conf name) $(conf version)" | sha256sum |
		sed 's/^\(.\{8\}\)\(.\{4\}\).\(.\{3\}\).\(.\{3\}\)\(.\{12\}\).*/\1-\2-4\3-8\4-\5/'
}

# size: what is in it, 15 %, and the file system's own 32 MiB; nodes grow it
make_ext4() {
	local size_kib uuid
	size_kib=$(($(du -sk "$ROOT" | cut -f1) * 115 / 100 + 32768))
	uuid=$(stable_uuid)
	E2FSPROGS_FAKE_TIME=$SOURCE_DATE_EPOCH mke2fs -q -F -t ext4 -b 4096 -i 8192 -m 1 -L phx-root -U "$uuid" \
		-E "hash_seed=$uuid,lazy_itable_init=1,lazy_journal_init=1,root_owner=0:0" \
		-J size=16 -d "$ROOT" "$WORK/root.ext4" "${size_kib}k" >/dev/null
	zstd -q -T0 -"$(conf zstd_level)" "$WORK/root.ext4" -o "$WORK/out/root.ext4.zst"
}

make_squashfs() {
	mksquashfs "$ROOT" "$WORK/out/root.squashfs" -quiet -no-progress -noappend \
		-comp zstd -Xcompression-level 9 -b 256K 2>"$WORK/mksquashfs.log" >&2 || {
		cat "$WORK/mksquashfs.log" >&2
		die "mksquashfs failed"
	}
}

recipe_begin "$@"
ROOT=$WORK/root
if built_from base "$DIGEST" && built_from version "$(conf_required version)"; then
	exit 0
fi
echo "image $(conf name)" >&2
bootstrap "$(conf_required variant)" "$ROOT" \
	--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
	--customize-hook="$(dirname "$0")/fetch-package \"\$1\" $(conf_required kernel) '$WORK/kernel'"
add_kernel
drop_files
cp -r --no-preserve=mode,ownership "$IMAGE_DIR/$(conf_required files)/." "$ROOT/"
add_services
forget_machine
clamp_times "$ROOT"
make_ext4
make_squashfs
own=$(conf modules)
own=${own:+modules.zst}
manifest "$WORK/out" "$(kernel_release "$WORK/kernel")" vmlinuz ${own:+"$own"} root.squashfs \
	"root.ext4.zst:$(stat -c %s "$WORK/root.ext4")"
printf 'base %s\nversion %s\n' "$DIGEST" "$(conf version)" >"$WORK/out/recipe"
recipe_end
