#!/bin/bash
# A machine of the lab that Phoenix did not install: Debian with sshd and no agent, for `phx package push`.
# usage: guest.sh up | ip | down. Its disk is the image debian-12 with Debian's openssh-server put in; it is started by
# the kernel and modules of the deploy image, whose agent is replaced by three lines that enter the disk.
. "$(dirname "$0")/lib.sh"
G=$DIR/guest
MAC=52:54:00:99:00:01

ssh_packages() { echo openssh-server openssh-sftp-server openssh-client libwrap0 libwtmpdb0 libedit2 libbsd0 libmd0 libcbor0.8 libfido2-1 \
	libgssapi-krb5-2 libkrb5-3 libk5crypto3 libkrb5support0 libkeyutils1 libcom-err2 ucf libselinux1 libnsl2 libpam0g libcap-ng0 libcrypt1 libtirpc3 libtirpc-common libaudit1 libssl3; }

make_disk() {
	local root=$G/root
	mkdir -p "$G/debs" "$root"
	zstd -qdf "$BUILD/images/debian-12/root.ext4.zst" -o "$G/disk.raw" || return 1
	truncate -s 1G "$G/disk.raw" && e2fsck -fp "$G/disk.raw" >/dev/null
	resize2fs "$G/disk.raw" >/dev/null 2>&1 || return 1
	(cd "$G/debs" && for p in $(ssh_packages); do
		! apt-cache show "$p" >/dev/null 2>&1 || apt-get -q download "$p" >/dev/null 2>&1 || exit 1
	done) || return 1
	mount -o loop "$G/disk.raw" "$root" || return 1
	local deb
	# not dpkg -x: it would put directories where the system has links to /usr
	for deb in "$G"/debs/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink -C "$root" || break
	done
	[ -e "$root/etc/ssh/sshd_config" ] || sed -n '/^[^#]/p' >"$root/etc/ssh/sshd_config" <<-END
		PermitRootLogin prohibit-password
		UsePAM no
		Subsystem sftp /usr/lib/openssh/sftp-server
	END
	grep -q '^sshd:' "$root/etc/passwd" || echo 'sshd:x:110:65534::/run/sshd:/usr/sbin/nologin' >>"$root/etc/passwd"
	mkdir -p "$root/root/.ssh" && chmod 700 "$root/root/.ssh"
	cp "$G/id_ed25519.pub" "$root/root/.ssh/authorized_keys"
	rm -f "$root/etc/ssh/sshd_config.d/50-phoenix.conf" # it takes keys from elsewhere
	cp "$G/host_key" "$root/etc/ssh/ssh_host_ed25519_key" && chmod 600 "$root/etc/ssh/ssh_host_ed25519_key"
	echo guest >"$root/etc/hostname"
	ln -sf /lib/systemd/system/ssh.service "$root/etc/systemd/system/multi-user.target.wants/ssh.service"
	umount "$root"
}

make_initrd() {
	local over=$G/over
	mkdir -p "$over/opt/phoenix/agent/bin"
	cat >"$over/opt/phoenix/agent/bin/phx-agent" <<-'END'
		#!/bin/sh
		mkdir -p /guest && mount -t ext4 /dev/vda /guest && echo switch_root /guest /sbin/init >/run/phoenix/next
	END
	chmod 755 "$over/opt/phoenix/agent/bin/phx-agent"
	(cd "$over" && find . | cpio --quiet -o -H newc | gzip) >"$G/over.cpio.gz"
	cat "$BUILD/images/deploy/initrd.zst" "$G/over.cpio.gz" >"$G/initrd"
}

case ${1:-} in
up)
	mkdir -p "$G"
	[ -s "$G/id_ed25519" ] || ssh-keygen -q -t ed25519 -N '' -f "$G/id_ed25519"
	[ -s "$G/host_key" ] || ssh-keygen -q -t ed25519 -N '' -f "$G/host_key"
	make_disk || { umount "$G/root" 2>/dev/null; die "the guest's disk"; }
	make_initrd || die "the guest's initrd"
	in_lab ip tuntap add guest0 mode tap && in_lab ip link set guest0 master phxbr0 up || die "tap"
	in_lab qemu-system-x86_64 -accel tcg,tb-size=64 -m 384 -smp 1 -display none -serial "file:$G/console.log" \
		-kernel "$BUILD/images/deploy/vmlinuz" -initrd "$G/initrd" -append "console=ttyS0,115200 quiet no_timer_check" \
		-drive "file=$G/disk.raw,if=virtio,format=raw" -netdev tap,id=n,ifname=guest0,script=no,downscript=no \
		-device "virtio-net-pci,netdev=n,mac=$MAC,romfile=" -smbios type=1,serial=GUEST-1,uuid=00000000-0000-4000-8000-000000990001 \
		-pidfile "$G/pid" -daemonize || die "qemu"
	wait_for 120 "the guest's address" "$0" ip
	ip=$("$0" ip)
	echo "$ip $(cut -d' ' -f1,2 "$G/host_key.pub")" >"$G/known_hosts"
	wait_for 120 "the guest's sshd" in_lab ssh -i "$G/id_ed25519" -o UserKnownHostsFile="$G/known_hosts" -o BatchMode=yes -o ConnectTimeout=3 "root@$ip" true
	say "guest $ip runs sshd and has no agent"
	;;
ip)
	awk -v mac=$MAC '$2 == mac { print $3; found = 1 } END { exit !found }' "$DIR/state/dnsmasq.leases"
	;;
down)
	[ ! -s "$G/pid" ] || kill "$(cat "$G/pid")"
	;;
*)
	echo "usage: guest.sh up|ip|down" >&2
	exit 64
	;;
esac
