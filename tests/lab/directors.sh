#!/bin/bash
# Directors on a real IPVS, in one guest with Debian's kernel: the agent's own code takes addresses, sets tables and has
# the kernel tell the other director of connections (tests/lab/direct.c stands for the agent's link to a head; what the
# guest does is in directors.init). Clients that keep their connections lose none when a director dies, gives an address
# back, or stops; without being told of connections they do. Prints "ok NAME" or "not ok NAME" a step.
. "$(dirname "$0")/lib.sh"
WORK=$(mktemp -d /tmp/phx-directors.XXXXXX)
QEMU=
trap '[ -z "$QEMU" ] || kill $QEMU 2>/dev/null; rm -rf "$WORK"' EXIT
RELEASE=$(cat "$BUILD/images/deploy/release") || die "the image deploy is not built"
MODULES="veth bridge stp llc nf_conntrack nf_defrag_ipv4 nf_defrag_ipv6 libcrc32c crc32c_generic ip_vs ip_vs_rr"

# put PROGRAM...: with the libraries that it needs
put() {
	local lib program
	for program in "$@"; do
		cp -L "$program" "$WORK/tree/bin/" || return 1
		ldd "$program" | grep -oE '/[^ ]+' | while read -r lib; do cp -Ln "$lib" "$WORK/tree/lib/"; done
	done
	cp -Ln /lib64/ld-linux-x86-64.so.2 "$WORK/tree/lib64/"
}
make_initrd() {
	local tree=$WORK/tree m
	mkdir -p "$tree"/{bin,lib,lib64,proc,sys,dev,sbin} "$WORK/root"
	unsquashfs -q -n -f -d "$WORK/root" "$BUILD/images/debian-12/root.squashfs" "usr/lib/modules/$RELEASE" >/dev/null || return 1
	mkdir -p "$tree/lib/modules/$RELEASE"
	cp "$WORK/root/usr/lib/modules/$RELEASE"/modules.{order,builtin,builtin.modinfo} "$tree/lib/modules/$RELEASE/" || return 1
	for m in $MODULES; do
		m=$(find "$WORK/root" -name "$m.ko*") && cp "$m" "$tree/lib/modules/$RELEASE/" || return 1
	done
	zstd -q -d --rm "$tree/lib/modules/$RELEASE"/*.zst && depmod -b "$tree" "$RELEASE" || return 1
	# other archives stand behind the one that is wanted
	zstd -qdc "$BUILD/images/deploy/base.zst" 2>/dev/null | (cd "$tree" && cpio --quiet -id bin/busybox) || return 1
	chroot "$tree" /bin/busybox --install -s /bin && ln -s ../bin/busybox "$tree/sbin/modprobe" || return 1
	rm -f "$tree/bin/ip"
	put "$(command -v ip)" "$BUILD/tests/lab/direct" "$BUILD/tests/lab/hold" || return 1
	cp tests/lab/directors.init "$tree/init" && chmod 755 "$tree/init" || return 1
	(cd "$tree" && find . | cpio --quiet -o -H newc) | zstd -q -1 >"$WORK/initrd"
}

make_initrd || die "the guest's initrd"
qemu-system-x86_64 -accel tcg,tb-size=64 -m 384 -smp 1 -display none -no-reboot -serial "file:$WORK/console" -net none \
	-kernel "$BUILD/images/deploy/vmlinuz" -initrd "$WORK/initrd" -append "console=ttyS0,115200 quiet no_timer_check panic=-1" &
QEMU=$!
wait_for 1200 "the guest ends" grep -qa '^end [01]' "$WORK/console"
tr -d '\r' <"$WORK/console" | sed -n '/^ok network\|^not ok network/,$p'
grep -qa '^end 0' "$WORK/console"
