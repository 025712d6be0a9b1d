# How far this machine got, told to the head in the clear: before the agent has a key nobody can prove who it is, so the
# head shows it as a claim (lib/types/beacon.h has the form). Sourced by /init and udhcpc.script. ROOT is empty but in tests.

# value of NAME= on the kernel command line
argument() {
	tr ' ' '\n' <"$ROOT/proc/cmdline" | sed -n "s/^$1=//p" | tail -n 1
}

beacon_nics() {
	for sys in "$ROOT"/sys/class/net/*/device; do
		nic=${sys%/device}
		read -r address 2>/dev/null <"$nic/address" || continue
		driver=$(readlink "$sys/driver")
		link=0
		read -r link 2>/dev/null <"$nic/carrier"
		[ "$link" = 1 ] && link=up || link=down
		driver=${driver##*/}
		echo "nic ${nic##*/} $address ${driver:--} $link"
	done
}

# network cards and controllers of disks that no driver has; a virtio card's own driver binds below that of its PCI device
beacon_pci() {
	for sys in "$ROOT"/sys/bus/pci/devices/* "$ROOT"/sys/bus/virtio/devices/*; do
		[ -e "$sys" ] && [ ! -e "$sys/driver" ] || continue
		pci=$sys
		[ -e "$sys/class" ] || pci=$sys/..
		{ read -r class <"$pci/class" && read -r vendor <"$pci/vendor" && read -r device <"$pci/device"; } 2>/dev/null || continue
		case $class in
		0x01* | 0x02* | 0x0c04*) echo "pci ${vendor#0x}:${device#0x} ${class#0x}" ;;
		esac
	done
}

beacon_disks() {
	for sys in "$ROOT"/sys/block/*/device; do
		disk=${sys%/device}
		case ${disk##*/} in sr* | fd*) continue ;; esac
		read -r sectors 2>/dev/null <"$disk/size" || continue
		echo "disk ${disk##*/} $((sectors / 2))"
	done
}

# lost and tried of ten requests to the head
beacon_loss() {
	ping -c 10 -A -w 8 -W 1 -q "${1%:*}" 2>/dev/null |
		sed -n 's/^\([0-9]*\) packets transmitted, \([0-9]*\) packets received.*/\1 \2/p' |
		while read -r sent got; do
			[ "$sent" -lt 5 ] || [ "$got" -gt "$sent" ] || echo "lost $((sent - got)) $sent"
		done
}

# beacon_text [WHY]: what keeps it from the head
beacon_text() {
	echo "phoenix-beacon 1"
	echo "from init"
	echo "stage $(cat "$ROOT/run/phoenix/stage")"
	sed 's/^\([0-9]*\).*/up \1/' "$ROOT/proc/uptime"
	echo "clock $(date +%s)"
	sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' "$ROOT/proc/meminfo" | while read -r kib; do echo "memory $((kib / 1024))"; done
	echo "kernel $(uname -r)"
	sed -n '1s/^/image /p' "$ROOT/etc/phoenix/image"
	sed -n 's/^address=/address /p' "$ROOT/run/phoenix/lease"
	[ -z "$1" ] || echo "head $1"
	beacon_nics
	beacon_pci
	beacon_disks
}

# beacon [WHY]: at most one in five seconds; one that is not taken is not sent again, since the next says more
beacon() {
	mac=$(argument BOOTIF | tr 'A-Z-' 'a-z:')
	http=$(argument phx.beacon)
	[ -n "$mac" ] && [ -n "$http" ] && [ -s "$ROOT/run/phoenix/lease" ] || return 0
	read -r now <"$ROOT/proc/uptime"
	now=${now%%.*} last=
	[ ! -e "$ROOT/run/phoenix/beacon.at" ] || read -r last <"$ROOT/run/phoenix/beacon.at"
	[ -z "$last" ] || [ $((now - last)) -ge 5 ] || return 0
	echo "$now" >"$ROOT/run/phoenix/beacon.at"
	{
		beacon_text "$1"
		beacon_loss "$http"
	} 2>/dev/null | head -c 4000 >"$ROOT/run/phoenix/beacon.$now"
	timeout 10 wget -q -O /dev/null --post-file "$ROOT/run/phoenix/beacon.$now" "http://$http/beacon/${mac#01:}" 2>/dev/null
	rm -f "$ROOT/run/phoenix/beacon.$now"
}
