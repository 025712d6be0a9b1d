#!/bin/bash
# An image is refused whose kernel lacks a driver that known machines need, or that is for another processor; and the archive of a
# kernel's modules has what they need, beside the list. A real head and agents; the systems are fakes with modules that are none.
. "$(dirname "$0")/agents.bash"
. tests/system/containers.bash

run() {
	"$@" >"$WORK/out" 2>"$WORK/err" </dev/null
	status=$?
}
not_ok() {
	echo "not ok $*"
	FAILED=1
	echo "status $status" && tail -n 8 "$WORK/out" "$WORK/err" "$WORK/phxd.log"
}
import() { run phx image import "$WORK/root.tar" --no-squashfs --image-version 1 "$@"; }
# refused TEXT OPTION...: and nothing of it is left
refused() {
	local text=$1
	shift
	import --image-name bad "$@"
	[ "$status" != 0 ] && grep -qF -- "$text" "$WORK/err" && [ ! -e "$WORK/head/images/bad" ] && ! ls -A "$WORK/head/images" | grep -q '^\.'
}
# pci CLASS VENDOR DEVICE DRIVER: one device, as an agent reports it
pci() { printf '{"address": "0000:%02x:00.0", "class_code": %d, "vendor": %d, "device": %d, "driver": "%s"}' $((n++)) "$1" "$2" "$3" "$4"; }
# node_of NAME N DEVICES
node_of() {
	node_init "$1" "$2" && jq --argjson pci "[$3]" '.pci = $pci' "$WORK/$1/facts.json" >"$WORK/facts" && mv "$WORK/facts" "$WORK/$1/facts.json" &&
		phx node add "$1" --mac "02:00:00:00:00:0$2" >/dev/null && agent_start "$1" && until_true 10 is "$1" .state new &&
		phx node accept "$1" --yes >/dev/null && until_true 10 is "$1" .state ready
}
# module NAME ALIAS: a kernel module as far as depmod looks at it, in the root of the image
module() {
	local dir=$WORK/root/lib/modules/6.1.0-fake/kernel/odd
	mkdir -p "$dir" &&
		printf 'const char a[] __attribute__((section(".modinfo"), used)) = "alias=%s"; const char n[] __attribute__((section(".modinfo"), used)) = "name=%s";' \
			"$2" "$1" | gcc -xc -c -o "$dir/$1.ko" -
}
root_again() { tar -C "$WORK/root" -cf "$WORK/root.tar" .; }
# packed NAME: the modules in the archive of the image's kernel
packed() { zstd -qdc "$WORK/head/images/$1/1/modules.zst" | cpio --quiet -t | grep '\.ko$'; }

machines_begin() {
	n=0
	fake_root "$WORK/root" && root_again || return 1
	# drivers that the fake kernel has, of a device that it needs not, and of devices that had none so far
	node_of n1 1 "$(pci 131072 32902 4110 e1000), $(pci 131072 4660 22136 odd), $(pci 196608 4318 7864 nvidia), $(pci 65536 6987 37424 "")" &&
		node_of n2 2 "$(pci 131072 32902 4110 e1000)" && node_of n3 3 "$(pci 131072 4660 22136 odd), $(pci 65664 1 2 'worse name')"
}
a_driver_that_is_missing_refuses_it() {
	refused 'kernel 6.1.0-fake has no driver for network 1234:5678 of n[1,3] (driver odd)' && ! grep -q 'nvidia\|1b4b\|8086\|worse' "$WORK/err"
}
other_machines_do_not_count() {
	import --image-name forn2 --machines n2
	[ "$status" = 0 ] || return 1
	import --image-name forall --machines none
	[ "$status" = 0 ]
}
a_node_that_is_none_is_told() { refused "n9" --machines n9; }
with_the_module_it_is_taken_and_packed() {
	module other_name 'pci:v00001234d00005678sv*sd*bc*sc*i*' && module unneeded 'pci:v00001234d00009999sv*sd*bc*sc*i*' && root_again || return 1
	import --image-name good
	[ "$status" = 0 ] && packed good | grep -q '/other_name\.ko$' && ! packed good | grep -q unneeded || return 1
	# by the driver's own name, too
	rm -r "$WORK/root/lib/modules/6.1.0-fake/kernel/odd" && module odd 'of:N*T*C*' && root_again || return 1
	import --image-name named
	[ "$status" = 0 ] && packed named | grep -q '/odd\.ko$'
}
another_processor_is_refused() {
	cp "$(command -v busybox)" "$WORK/root/usr/lib/systemd/systemd" && root_again || return 1
	import --image-name native
	[ "$status" = 0 ] || return 1
	printf '\267\0' | dd of="$WORK/root/usr/lib/systemd/systemd" bs=1 seek=18 conv=notrunc status=none && root_again || return 1
	refused "its programs are for processor aarch64, not $(uname -m)" || return 1
	printf '\5\0' | dd of="$WORK/root/usr/lib/systemd/systemd" bs=1 seek=18 conv=notrunc status=none && root_again || return 1
	refused 'for processor one of number 5'
}

head_init
for t in machines_begin a_driver_that_is_missing_refuses_it other_machines_do_not_count a_node_that_is_none_is_told \
	with_the_module_it_is_taken_and_packed another_processor_is_refused; do
	check "$t" "$t"
done
exit "$FAILED"
