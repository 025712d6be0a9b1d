#!/bin/bash
# The Debian packages on machines: an emulated one with Debian 12 and systemd, in which apt installs them; two lines of the configuration
# are edited and phxd is enabled, under its own unit. A second, blank one beside it boots from the first by the network, runs a job, and is
# handed over with an erase, which this script looks for on its disk. The packages of the next version come while it is handed over once
# more; then its agent is upgraded; all by the commands of phoenix-upgrade(7), as they stand there. Then removal and purge. What the first
# machine does is deb.guest. Prints "ok NAME" or "not ok NAME" a step, with the seconds that it took there. As root; `make lab-deb`.
# KEPT=DIR: disks and consoles of the machines stay there; where they are there, both go on behind the last step that passed. One that was cut
# off in its midst may refuse to be begun once more: keep a copy.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../system/deb.bash"
. "$(dirname "$0")/../system/words.bash"
PAGE=cmd/phx/phoenix-upgrade.7.scd
WORK=${KEPT:-$(mktemp -d "$BUILD/deb/lab.XXXXXX")}
MACHINES=()
trap '[ ${#MACHINES[@]} = 0 ] || kill "${MACHINES[@]}" 2>/dev/null; [ -n "${KEPT:-}" ] || rm -rf --one-file-system "$WORK"' EXIT
PORT=$((20000 + $$ % 20000))
for f in images/deploy/initrd.zst images/debian-12/root.ext4.zst deb/root.tar next/deb/built; do [ -s "$BUILD/$f" ] || die "there is no $BUILD/$f: make lab-deb"; done

# next_deploy_image DIR WORDS: the deploy image with the next version's agent, as the version of it that the page has built
next_deploy_image() {
	local version
	version=$(sed -n 's/^phx image build .* --image-version \([^ ]*\)$/\1/p' "$2")
	[ -n "$version" ] || { echo "$PAGE does not say how the deploy image is built" && return 1; }
	cp -r "$BUILD/images/deploy" "$1" && dpkg-deb -x "$BUILD"/next/deb/phoenix-agent_*.deb "$WORK/agent" || return 1
	HOME=$WORK "$PHX" image build images/deploy --agent-bundle "$WORK/agent/usr/lib/phoenix/agent" --image-version "$version" --out "$1" && rm -rf "$WORK/agent"
}
# of_the_page DIR: the commands of its chapters that the head's machine follows, each with so many at least
of_the_page() {
	mkdir "$1" && words "$PAGE" 'BACK UP' 4 >"$1/back-up" && words "$PAGE" UPGRADE 6 >"$1/upgrade" && words "$PAGE" 'UPGRADE THE AGENTS' 4 >"$1/upgrade-the-agents"
}
# the head's disk: the system, packages, images, and what it does with them
make_disk() {
	local root=$WORK/root image package
	mkdir -p "$root" && tar -xf "$BUILD/deb/root.tar" -C "$root" || return 1
	mkdir -p "$root/root/debs" "$root/root/next" "$root/root/images" && cp "$DEBS"/phoenix-{head,agent,cli}_*.deb "$root/root/debs/" &&
		echo "$CANARY" >"$root/root/canary" && of_the_page "$root/root/words" || return 1
	for package in head agent cli; do cp "$BUILD"/next/deb/phoenix-"${package}"_*.deb "$root/root/next/phoenix-$package.deb" || return 1; done
	for image in deploy debian-12; do
		mkdir "$root/root/images/$image" && cp "$BUILD/images/$image/manifest.conf" "$root/root/images/$image/" || return 1
		sed -n 's/.*{ name = "\([^"]*\)"; size.*/\1/p' "$BUILD/images/$image/manifest.conf" |
			while read -r f; do cp "$BUILD/images/$image/$f" "$root/root/images/$image/" || exit 1; done || return 1
	done
	next_deploy_image "$root/root/images/next" "$root/root/words/upgrade-the-agents" || return 1
	install -m 755 tests/lab/deb.guest "$root/root/guest" && install -m 755 tests/fake/deploy-image-recipe "$root/root/" || return 1
	echo head >"$root/etc/hostname" && printf '127.0.0.1 localhost head\n' >"$root/etc/hosts"
	# a first start would ask a person, and enable what it finds
	echo 0123456789abcdef0123456789abcdef >"$root/etc/machine-id"
	printf '[Match]\nName=e*\n[Network]\nAddress=192.168.100.1/24\nConfigureWithoutCarrier=yes\n' >"$root/etc/systemd/network/10-head.network"
	cat >"$root/etc/systemd/system/guest.service" <<-'END'
		[Unit]
		After=multi-user.target systemd-networkd.service
		[Service]
		Type=simple
		ExecStart=/root/guest
		StandardOutput=tty
		StandardError=tty
		TTYPath=/dev/ttyS0
	END
	mkdir -p "$root/etc/systemd/system/multi-user.target.wants" "$root/etc/systemd/system/sockets.target.wants"
	ln -s ../guest.service "$root/etc/systemd/system/multi-user.target.wants/" || return 1
	ln -s /lib/systemd/system/systemd-networkd.service "$root/etc/systemd/system/multi-user.target.wants/" || return 1
	local unit
	for unit in serial-getty@.service e2scrub_reap.service apt-daily.timer apt-daily-upgrade.timer; do ln -sf /dev/null "$root/etc/systemd/system/$unit"; done
	truncate -s 6G "$WORK/head.raw" && mke2fs -q -F -t ext4 -d "$root" "$WORK/head.raw" || return 1
	rm -rf --one-file-system "$root"
}
# the disk of KEPT, with what the scripts say now
renew_disk() {
	local file
	e2fsck -fy "$WORK/head.raw" >"$WORK/e2fsck.log" 2>&1
	[ $? -le 1 ] && rm -rf "$WORK/words" && of_the_page "$WORK/words" || return 1
	for file in tests/lab/deb.guest:guest tests/fake/deploy-image-recipe:deploy-image-recipe "$WORK"/words/{back-up:words/back-up,upgrade:words/upgrade,upgrade-the-agents:words/upgrade-the-agents}; do
		printf 'rm /root/%s\nwrite %s /root/%s\nsif /root/%s mode 0100755\n' "${file#*:}" "${file%:*}" "${file#*:}" "${file#*:}"
	done | debugfs -w -f - "$WORK/head.raw" >"$WORK/debugfs.log" 2>&1
}
# the deploy image's kernel and modules, and an /init that does nothing but enter the disk
make_initrd() {
	local over=$WORK/over
	mkdir -p "$over/head"
	cat >"$over/init" <<-'END'
		#!/bin/sh
		PATH=/sbin:/bin:/usr/sbin:/usr/bin
		export PATH
		mount -t proc proc /proc && mount -t sysfs sysfs /sys && mount -t devtmpfs dev /dev
		modprobe -a -b virtio_pci virtio_blk virtio_net ext4 autofs4
		until mount -t ext4 /dev/vda /head; do sleep 0.2; done
		for dir in dev proc sys; do mount -o move /$dir /head/$dir; done
		exec switch_root /head /sbin/init
	END
	chmod 755 "$over/init"
	(cd "$over" && find . | cpio --quiet -o -H newc | gzip -n) >"$WORK/over.gz" && cat "$BUILD/images/deploy/initrd.zst" "$WORK/over.gz" >"$WORK/initrd"
}
machine() { # NAME MEMORY OPTION...
	qemu-system-x86_64 -accel tcg,tb-size=64 -m "$2" -smp 1 -display none -serial "file:$WORK/$1.console" \
		-drive "file=$WORK/$1.raw,if=none,id=d,format=raw" -device "virtio-blk-pci,drive=d,serial=DEB-$1" "${@:3}" 2>"$WORK/$1.log" &
	MACHINES+=($!)
}
said() { grep -qa "^$1" "$WORK/head.console"; }
# so long as both run
ends() { said 'end [01]' || { kill -0 "${MACHINES[0]}" || die "the head's machine has ended"; false; }; }

# what a job writes, and an erase must take
if [ -s "$WORK/head.raw" ]; then
	CANARY=$(cat "$WORK/canary")
	renew_disk || die "the head's disk"
else
	mkdir -p "$WORK" && CANARY="phoenix-canary-$$-$RANDOM$RANDOM" && echo "$CANARY" >"$WORK/canary" || die "$WORK"
	make_disk || die "the head's disk"
fi
make_initrd || die "the head's initrd"
machine head 1024 -kernel "$BUILD/images/deploy/vmlinuz" -initrd "$WORK/initrd" -append "console=ttyS0,115200 quiet no_timer_check" \
	-netdev "socket,id=n,listen=127.0.0.1:$PORT" -device virtio-net-pci,netdev=n,mac=52:54:00:de:b0:01,romfile= -no-reboot
serves() { said 'ok it is on its network' || ends; }
wait_for 900 "the head serves" serves
[ -s "$WORK/node.raw" ] || truncate -s 3G "$WORK/node.raw"
machine node 512 -netdev "socket,id=n,connect=127.0.0.1:$PORT" -device virtio-net-pci,netdev=n,mac=52:54:00:de:b0:02 -boot n \
	-smbios type=1,serial=DEB-NODE-1
# looked for from outside
has_canary() { [ "$(grep -azcF "$CANARY" "$WORK/node.raw")" != 0 ]; }
job_ran() { said 'ok a job runs' || ends; }
wait_for 1500 "a job runs" job_ran
[ -e "$WORK/canary-was" ] || ! has_canary || touch "$WORK/canary-was"
wait_for 3600 "the head's machine is done" ends
tr -d '\r' <"$WORK/head.console" | sed -n '/^\(not \)\?ok /,$p'
said 'end 0' || { echo "--- the node:" && tail -n 40 "$WORK/node.console"; exit 1; }
[ -e "$WORK/canary-was" ] && ! has_canary && echo "ok what a job wrote on the disk is not there" || { echo "not ok what a job wrote on the disk is not there"; exit 1; }
