#!/bin/bash
# Beacons on their whole way: what /init of the deploy image finds below a root that looks like a machine's is sent by busybox alone to a
# real phxd; an agent that does not reach its head by TLS (a CA that is another site's, nobody at the port) says why.
. "$(dirname "$0")/agents.bash"
command -v busybox >/dev/null || { echo "skip beacon: there is no busybox"; exit 0; }

DB=$WORK/head/starts.db ROOT=$WORK/machine
# the words of the last beacon of that machine
words() { sqlite3 -readonly "file:$DB?mode=ro" "select seen.text from seen join starts on seen.start = starts.id where seen.kind = 'beacon' and starts.node = '$1' order by seen.start desc, seen.n desc limit 1" 2>/dev/null; }
says() { [[ " $(words "$1") " = *" $2 "* ]] || { echo "wanted '$2': $(words "$1")"; return 1; }; }

# what the boot script shows of a machine: cards, devices, disks
machine() {
	local dev=$ROOT/sys/devices
	mkdir -p "$ROOT"/{proc,run/phoenix,etc/phoenix,sys/class/net,sys/block,sys/bus/pci/devices,sys/bus/virtio/devices,bin}
	busybox --install -s "$ROOT/bin"
	echo "phx.server=127.0.0.1:$HTTPS phx.beacon=127.0.0.1:$HTTP BOOTIF=01-02-00-00-00-00-0A quiet" >"$ROOT/proc/cmdline"
	echo "77.12 100.00" >"$ROOT/proc/uptime"
	printf 'MemTotal:        2097152 kB\nMemFree: 1 kB\n' >"$ROOT/proc/meminfo"
	echo network >"$ROOT/run/phoenix/stage"
	printf 'interface=eth0\naddress=10.0.0.5/24\n' >"$ROOT/run/phoenix/lease"
	echo "deploy 1" >"$ROOT/etc/phoenix/image"
	# a card with driver and link, one with neither; a virtio card without, below a PCI device that has one; a disk
	mkdir -p "$dev"/{pci0,pci1,pci2/virtio0,pci3,net/eth0,net/eth1,net/lo,block/sda} "$ROOT/sys/drivers/e1000"
	pci pci0 0x8086 0x100e 0x020000 && ln -s "$ROOT/sys/drivers/e1000" "$dev/pci0/driver"
	pci pci1 0x8086 0x1593 0x020000
	pci pci2 0x1af4 0x1000 0x020000 && ln -s "$ROOT/sys/drivers/e1000" "$dev/pci2/driver" && ln -s "$dev/pci2/virtio0" "$ROOT/sys/bus/virtio/devices/virtio0"
	pci pci3 0x1000 0x0097 0x010700
	pci pci4 0x8086 0x7010 0x068000 # of the board: nobody misses its driver
	echo 02:00:00:00:00:0a >"$dev/net/eth0/address" && echo 1 >"$dev/net/eth0/carrier" && ln -s "$dev/pci0" "$dev/net/eth0/device"
	echo 02:00:00:00:00:0b >"$dev/net/eth1/address" && echo 0 >"$dev/net/eth1/carrier" && ln -s "$dev/pci1" "$dev/net/eth1/device"
	echo 00:00:00:00:00:00 >"$dev/net/lo/address"
	echo 2097152 >"$dev/block/sda/size" && ln -s "$dev/pci3" "$dev/block/sda/device"
	ln -s "$dev"/net/* "$ROOT/sys/class/net/" && ln -s "$dev"/block/* "$ROOT/sys/block/"
}
pci() { # NAME VENDOR DEVICE CLASS
	mkdir -p "$ROOT/sys/devices/$1"
	echo "$2" >"$ROOT/sys/devices/$1/vendor" && echo "$3" >"$ROOT/sys/devices/$1/device" && echo "$4" >"$ROOT/sys/devices/$1/class"
	ln -s "$ROOT/sys/devices/$1" "$ROOT/sys/bus/pci/devices/$1"
}
# as /init does: nothing but busybox is there
beacon() { env -i ROOT="$ROOT" PATH="$ROOT/bin" "$ROOT/bin/sh" -c '. images/deploy/files/etc/beacon.sh; beacon "$1"' sh "$1"; }

init_says_how_far_it_got() {
	local word
	beacon "" && until_true 10 says 02:00:00:00:00:0a from=init || { words 02:00:00:00:00:0a; return 1; }
	for word in reached=address stage=network memory_mb=2048 address=10.0.0.5/24 nic=eth0,02:00:00:00:00:0a,e1000,up nic=eth1,02:00:00:00:00:0b,-,down disk=sda,1048576 \
		nic_without=8086:1593 nic_without=1af4:1000 disk_without=1000:0097 "kernel=$(uname -r)" by=127.0.0.1; do
		says 02:00:00:00:00:0a "$word" || return 1
	done
	[[ $(words 02:00:00:00:00:0a) != *8086:100e* && $(words 02:00:00:00:00:0a) != *7010* && $(words 02:00:00:00:00:0a) != *nic=lo* ]] &&
		[[ $(words 02:00:00:00:00:0a) =~ clock_s=([0-9]+) ]] && [ $((BASH_REMATCH[1] - $(date +%s))) -le 60 ]
}
# a second one within five seconds is not sent, the next is
it_does_not_send_too_often() {
	beacon "too early" && echo "83.00 1.00" >"$ROOT/proc/uptime" && echo agent >"$ROOT/run/phoenix/stage" && beacon "the agent ended with status 1" || return 1
	until_true 10 says 02:00:00:00:00:0a head=the_agent_ended_with_status_1 && says 02:00:00:00:00:0a stage=agent || return 1
	! sqlite3 -readonly "file:$DB?mode=ro" "select text from seen" | grep early
}
# without an address, and where nobody answers, it ends soon, and says nothing
it_holds_nobody_up() {
	local began
	began=$(date +%s)
	mv "$ROOT/run/phoenix/lease" "$ROOT/lease" && echo "93.00 1.00" >"$ROOT/proc/uptime" && beacon nothing && mv "$ROOT/lease" "$ROOT/run/phoenix/lease" || return 1
	[ ! -e "$ROOT/run/phoenix/beacon.93" ] && [ $(($(date +%s) - began)) -lt 5 ]
}
# the agent's CA is another site's
agent_says_why() {
	openssl req -x509 -newkey ed25519 -nodes -keyout "$WORK/other.key" -subj "/CN=another site" -out "$WORK/other.pem" 2>/dev/null || return 1
	node_init n1 1 && cp "$WORK/other.pem" "$WORK/n1/etc/phoenix/ca.pem" && agent_start n1 || return 1
	until_true 20 says 02:00:00:00:00:01 from=agent || { words 02:00:00:00:00:01; return 1; }
	agent_stop n1
	says 02:00:00:00:00:01 stage=head && says 02:00:00:00:00:01 by=127.0.0.1 && [[ $(words 02:00:00:00:00:01) =~ \ head=[^\ ]*ertificate ]] || { words 02:00:00:00:00:01; return 1; }
}
agent_says_that_nobody_answers() {
	local port=$((HTTPS + 7))
	node_root "$WORK/n2" 2 "127.0.0.1:$port" "127.0.0.1:$HTTP" "$WORK/head/pki" "$WORK/package.pub"
	node_system "$WORK/n2" test 1 "$IMAGE_DIGEST"
	agent_start n2 && until_true 20 says 02:00:00:00:00:02 from=agent || return 1
	agent_stop n2
	[[ $(words 02:00:00:00:00:02) =~ \ head=[^\ ]*$port ]] || { words 02:00:00:00:00:02; return 1; }
}

head_init
machine
for t in init_says_how_far_it_got it_does_not_send_too_often it_holds_nobody_up agent_says_why agent_says_that_nobody_answers; do check $t $t; done
exit $FAILED
