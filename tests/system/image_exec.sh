#!/bin/bash
# by turns: 60 s: it takes long.
# phx image exec and diff: a command in a copy of an image makes a new version, or none; it reaches nothing of the machine. The system
# is a fake: nothing boots here. As root.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. tests/system/containers.bash
BUILD=$(realpath "${BUILD:-build}")
WORK=$(mktemp -d /tmp/phx-exec.XXXXXX)
STORE=$WORK/images
FAILED=0
trap 'rm -rf "$WORK"' EXIT
export PHX_CONFIG=$WORK/phoenix.conf PHX_SIGN_KEY=$WORK/no.key
printf 'state_dir = "%s"; run_dir = "%s"; address = "127.0.0.1"; dhcp_mode = "none"; tftp = "none";\n' "$WORK" "$WORK" >"$PHX_CONFIG"

run() {
	"$@" >"$WORK/out" 2>"$WORK/err" </dev/null
	status=$?
}
check() {
	if "$1"; then echo "ok $1"; else echo "not ok $1: status $status" && FAILED=1 && tail -n 8 "$WORK/out" "$WORK/err"; fi
}
phx_image() { run "$BUILD/bin/phx" image "$@"; }
# in_image VERSION SCRIPT: whatever it makes is version new-...
in_image() { phx_image exec base --dir "$STORE" --image-version "$1" "${@:3}" -- sh -c "$2"; }
versions() { ls "$STORE/base" | paste -sd ' '; }
swept() { ! ls -A "$STORE" | grep -q '^\.'; }

what_it_left_is_a_new_version() {
	in_image 1 'echo new >/etc/new; rm /etc/gone; chmod 600 /etc/mode; echo b >/etc/same-size; ln -sfn b /etc/link
		printf "Package: nginx\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1.22\n\n" >>/var/lib/dpkg/status
		sed -i s/1:1.35/1:1.36/ /var/lib/dpkg/status'
	[ "$status" = 0 ] && grep -qx 'base 1-r1' "$WORK/out" && [ "$(versions)" = '1 1-r1' ] && swept || return 1
	local parent
	parent=$(sha256sum <"$STORE/base/1/manifest.conf" | cut -d' ' -f1)
	grep -q "parent = \"$parent\"" "$STORE/base/1-r1/manifest.conf" && "$BUILD/bin/phx" image verify base --dir "$STORE" >/dev/null &&
		grep -qx 'busybox amd64 1:1.35 1:1.36' "$STORE/base/1-r1/changes.txt" && grep -qx 'nginx amd64 - 1.22' "$STORE/base/1-r1/changes.txt"
}
diff_says_what_differs() {
	phx_image diff base:1 base:1-r1 --dir "$STORE" -o json
	[ "$status" = 0 ] && jq -e '.packages == [{name:"busybox",architecture:"amd64",from:"1:1.35",to:"1:1.36"},{name:"nginx",architecture:"amd64",from:"",to:"1.22"}]' "$WORK/out" >/dev/null || return 1
	[ "$(jq -c '[.files[] | [.path, .change]]' "$WORK/out")" = '[["/etc/gone","went"],["/etc/link","target"],["/etc/mode","mode"],["/etc/new","came"],["/etc/same-size","content"],["/var/lib/dpkg/status","size"]]' ] &&
		jq -e '.from.version == "1" and .to.version == "1-r1"' "$WORK/out" >/dev/null && swept
}
diff_with_what_it_was_made_of() {
	phx_image diff base --dir "$STORE" && grep -q '^nginx  *amd64 .*1.22' "$WORK/out" && grep -q '^went  */etc/gone' "$WORK/out" || return 1
	phx_image diff base --dir "$STORE" --no-files
	[ "$status" = 0 ] && grep -q '^nginx' "$WORK/out" && ! grep -q /etc "$WORK/out" || return 1
	phx_image diff base:1 --dir "$STORE"
	[ "$status" != 0 ] && grep -q 'image base 1 was made of no other one: name two images' "$WORK/err"
}
the_same_does_not_differ() {
	phx_image diff base:1 base:1 --dir "$STORE"
	[ "$status" = 0 ] && [ ! -s "$WORK/out" ]
}
the_next_is_counted() {
	in_image 1-r1 'touch /etc/more' && [ "$(versions)" = '1 1-r1 1-r2' ] && in_image 1 'touch /etc/more' && [ "$(versions)" = '1 1-r1 1-r2 1-r3' ] || return 1
	in_image 1 'touch /etc/more' --new-version 2 && [ "$(versions)" = '1 1-r1 1-r2 1-r3 2' ] || return 1
	in_image 1 'touch /etc/more' --new-version 2
	[ "$status" != 0 ] && grep -q "image 'base' of version '2' is there already" "$WORK/err"
}
two_do_not_count_the_same() {
	local first
	mkfifo "$WORK/goes" || return 1
	"$BUILD/bin/phx" image exec base --dir "$STORE" --image-version 1 -- sh -c 'echo runs; read line; echo two >/etc/two' \
		<"$WORK/goes" >"$WORK/first" 2>&1 &
	first=$!
	exec 8>"$WORK/goes"
	for ((i = 0; i < 300; i++)); do grep -q runs "$WORK/first" && break || sleep 0.1; done
	in_image 1 'touch /etc/more'
	[ "$status" != 0 ] && grep -q "another phx image exec makes the next version of image 'base'" "$WORK/err" &&
		in_image 1 'touch /etc/more' --new-version beside && [ "$status" = 0 ] && [ -e "$STORE/base/beside" ]
	local refused=$?
	echo >&8
	exec 8>&-
	wait "$first" && grep -q 'base 1-r4' "$WORK/first" && [ "$refused" = 0 ] && in_image 1 'touch /etc/more' && [ -e "$STORE/base/1-r5" ] && swept
}
a_failure_makes_none() {
	in_image 1 'touch /etc/more; exit 7' --new-version f
	[ "$status" = 7 ] && grep -q 'sh ended with status 7: no image is made' "$WORK/err" && [ ! -e "$STORE/base/f" ] && swept || return 1
	in_image 1 'touch /etc/more; kill -9 $$' --new-version f
	[ "$status" != 0 ] && [ ! -e "$STORE/base/f" ]
}
no_change_makes_none() {
	in_image 1 'ls -lR / >/dev/null; cat /etc/mode; touch /run/x /dev/shm/x' --new-version f
	[ "$status" = 0 ] && grep -q 'nothing changed in base: no image is made' "$WORK/err" && [ ! -e "$STORE/base/f" ] && swept
}
what_is_not_there_is_told() {
	phx_image exec base --dir "$STORE" -- /no/program
	[ "$status" != 0 ] && grep -q '/no/program: No such file' "$WORK/err" && swept || return 1
	phx_image exec nosuch --dir "$STORE" -- ls
	[ "$status" != 0 ] && grep -q "there is no image 'nosuch'" "$WORK/err" || return 1
	phx_image exec base --dir "$STORE"
	[ "$status" = 64 ] && grep -q 'a command is missing' "$WORK/err"
}
an_altered_image_is_not_run() {
	cp -r "$STORE/base/1" "$STORE/base/bad" && sed -i 's/^version = .*/version = "bad";/' "$STORE/base/bad/manifest.conf" && printf X | dd of="$STORE/base/bad/root.squashfs" bs=1 seek=500 conv=notrunc status=none
	in_image bad 'touch /etc/more'
	[ "$status" != 0 ] && grep -q 'altered' "$WORK/err"
	local found=$?
	rm -r "$STORE/base/bad"
	return $found
}
owners_links_and_devices_come_along() {
	phx_image exec disk --dir "$STORE" -- sh -c 'touch /etc/more' && phx_image diff disk --dir "$STORE" -o json || return 1
	[ "$(jq -c '[.files[].path]' "$WORK/out")" = '["/etc/more"]' ] && [ ! -e "$STORE/disk/1-r1/root.squashfs" ] && swept || return 1
	zstd -qdf "$STORE/disk/1-r1/root.ext4.zst" -o "$WORK/raw" && debugfs -R 'stat /etc/odd' "$WORK/raw" 2>/dev/null | grep -q 'User:  1234' &&
		debugfs -R 'stat /etc/device' "$WORK/raw" 2>/dev/null | grep -q 'character special' && ! losetup -a | grep -q "$WORK"
}

# as the recipes make them: the kernel is a file of the image, and in its root are the modules alone
a_kernel_outside_the_root_comes_along() {
	local bare=$STORE/bare/1
	mkdir -p "$bare" && cp "$STORE/base/1/vmlinuz" "$bare/" && rm -rf "$WORK/root" &&
		unsquashfs -q -n -d "$WORK/root" "$STORE/base/1/root.squashfs" >/dev/null && rm "$WORK/root/boot/vmlinuz-6.1.0-fake" &&
		mksquashfs "$WORK/root" "$bare/root.squashfs" -comp zstd -noappend -no-progress -quiet >/dev/null || return 1
	{
		printf 'name = "bare";\nversion = "1";\nkind = "rootfs";\narchitecture = "amd64";\nkernel_release = "6.1.0-fake";\nfiles = (\n'
		for f in vmlinuz root.squashfs; do
			printf '%s{ name = "%s"; size = %dL; sha256 = "%s"; }\n' "$([ $f = vmlinuz ] || echo ,)" $f "$(stat -c %s "$bare/$f")" "$(sha256sum <"$bare/$f" | cut -d' ' -f1)"
		done
		echo ');'
	} >"$bare/manifest.conf"
	phx_image exec bare --dir "$STORE" -- sh -c 'cat /lib/modules/6.1.0-fake/vmlinuz && touch /etc/more'
	[ "$status" = 0 ] && grep -q 'a fake' "$WORK/out" && cmp "$bare/vmlinuz" "$STORE/bare/1-r1/vmlinuz" || return 1
	phx_image kernels bare --dir "$STORE" && grep -q '^6.1.0-fake .*modules.zst' "$WORK/out"
}
# A default that was chosen stays the default while it is there; one that was the newest gives way to a newer one.
default_of() { sed -n 's/^kernel_release = "\(.*\)";/\1/p' "$STORE/$1/manifest.conf"; }
another_kernel() { # RELEASE: what a package of a kernel does
	echo "cp -r /lib/modules/6.1.0-fake /lib/modules/$1 && cp /boot/vmlinuz-6.1.0-fake /boot/vmlinuz-$1"
}
a_default_that_was_chosen_stays() {
	phx_image exec base --dir "$STORE" --image-version 1 --new-version k2 -- sh -c "$(another_kernel 6.2.0-fake)" && [ "$(default_of base/k2)" = 6.2.0-fake ] || return 1
	phx_image exec base --dir "$STORE" --image-version 1 --new-version k1 --kernel 6.1.0-fake -- sh -c "$(another_kernel 6.2.0-fake)" &&
		[ "$(default_of base/k1)" = 6.1.0-fake ] || return 1
	phx_image exec base --dir "$STORE" --image-version k1 --new-version k3 -- sh -c "$(another_kernel 6.3.0-fake)" && [ "$(default_of base/k3)" = 6.1.0-fake ] || return 1
	phx_image exec base --dir "$STORE" --image-version k3 --new-version k4 -- rm -r /boot/vmlinuz-6.1.0-fake /lib/modules/6.1.0-fake &&
		[ "$(default_of base/k4)" = 6.3.0-fake ]
	local found=$?
	rm -r "$STORE"/base/k?
	return $found
}
# what a program says of it is told, and not only the number of the error
why_it_cannot_be_unpacked_is_told() {
	local bad=$STORE/cut/1 sum
	mkdir -p "$bad" && cp "$STORE/base/1"/* "$bad/" && truncate -s 4096 "$bad/root.squashfs" && sum=$(sha256sum <"$bad/root.squashfs" | cut -d' ' -f1) || return 1
	sed -i -e 's/^name = "base"/name = "cut"/' -e "/\"root.squashfs\"/s/size = [0-9]*L; sha256 = \"[0-9a-f]*\"/size = 4096L; sha256 = \"$sum\"/" "$bad/manifest.conf"
	phx_image exec cut --dir "$STORE" -- true
	[ "$status" != 0 ] && grep -q 'unsquashfs' "$WORK/err"
	local found=$?
	rm -r "$STORE/cut"
	return $found
}

# ---- apart from the machine ----

nothing_of_the_machine_is_reached() {
	in_image 1 'set -x; ! kill -0 '$$' && [ "$(hostname)" = image ] && ! mount -t tmpfs none /tmp && ! hostname other && ! touch /sys/x && ! echo 1 >/proc/sys/kernel/printk &&
		[ ! -e '"$WORK"' ] && ! busybox mknod /dev/vda b 254 0 && ! (: </etc/device) && [ -c /dev/null ] && echo x >/dev/null && [ ! -e /dev/vda ] && [ $$ -lt 9 ]' --new-version f
	[ "$status" = 0 ] && grep -q 'nothing changed' "$WORK/err" && [ ! -e "$WORK/pwned" ]
}
# what no process has to itself in /proc is the machine's, and root may write to some of it by his number alone
nothing_of_the_machine_is_written() {
	local mine
	mine=$(find /proc -maxdepth 3 -path '/proc/[0-9]*' -prune -o -path /proc/self -prune -o -path /proc/thread-self -prune -o -type f -perm -u+w -print 2>/dev/null | head -n 1)
	[ -n "$mine" ] || { echo "nothing of /proc could be written here" && return 0; }
	in_image 1 'for f in $(busybox find /proc -maxdepth 4 -type f -perm -u+w 2>/dev/null | grep -v -e "^/proc/[0-9]" -e "^/proc/self/" -e "^/proc/thread-self/"); do
		(: >>"$f") 2>/dev/null && echo "written: $f"; done; true' --new-version f
	[ "$status" = 0 ] && ! grep written "$WORK/out"
}
# what runs it is that file of the machine's still: libraries of the image must not be loaded into it, for they could change it
our_own_program_is_not_given_away() {
	in_image 1 'ln -s /proc/self/exe /bin/self && printf "#! /proc/1/exe x\n" >/bin/script && printf "#!/bin/script\n" >/bin/scripts && printf "echo plain\n" >/bin/plain &&
		chmod 755 /bin/script /bin/scripts /bin/plain' --new-version own-program && [ "$status" = 0 ] || return 1
	local word
	for word in self script scripts /bin/scripts; do
		phx_image exec base --dir "$STORE" --image-version own-program --new-version f -- "$word"
		[ "$status" != 0 ] && grep -q "$word: Operation not permitted" "$WORK/err" || return 1
	done
	phx_image exec base --dir "$STORE" --image-version own-program --new-version f -- plain
	[ "$status" = 0 ] && grep -qx plain "$WORK/out" && rm -r "$STORE/base/own-program" && swept
}
# a terminal is that of who started it: what is typed into it there, his shell would read
nothing_is_typed_for_us() {
	cat >"$WORK/type.c" <<-'END'
		#include <errno.h>
		#include <sys/ioctl.h>
		#include <sys/syscall.h>
		#include <unistd.h>
		/* the same call by other numbers: of 32 bits, and of x32 */
		static int by_other_numbers(void)
		{
		#ifdef __x86_64__
			long r = 54;
			__asm__ volatile("int $0x80" : "+a"(r) : "b"(0), "c"(TIOCSTI), "d"(0) : "memory", "r8", "r9", "r10", "r11");
			return r == -EPERM && syscall(0x40000000 | SYS_getpid) < 0 && errno == EPERM;
		#endif
			return 1;
		}
		int main(void)
		{
			if (!isatty(0))
				return 4;
			return ioctl(0, TIOCSTI, "x") < 0 && syscall(SYS_ioctl, 0, 1UL << 32 | TIOCSTI, "x") < 0 && by_other_numbers() ? 0 : 3;
		}
	END
	cc -static -o "$WORK/root.base/bin/type" "$WORK/type.c" && tar -C "$WORK/root.base" -cf "$WORK/type.tar" . && rm "$WORK/root.base/bin/type" || return 1
	phx_image import "$WORK/type.tar" --image-name type --dir "$STORE"
	run script -qec "$BUILD/bin/phx image exec type --dir $STORE -- type" /dev/null
	[ "$status" = 0 ] && grep -q 'nothing changed' "$WORK/out" && rm -r "$STORE/type" && swept
}
names_are_found_as_here() {
	in_image 1 'cat /etc/resolv.conf; cat /usr/sbin/policy-rc.d' --new-version f
	[ "$status" = 0 ] && grep -qF "$(head -n 1 /etc/resolv.conf)" "$WORK/out" && grep -q 'exit 101' "$WORK/out" || return 1
	in_image 1 'touch /etc/more' --new-version resolv && rm -rf "$WORK/root" && unsquashfs -q -n -d "$WORK/root" "$STORE/base/resolv/root.squashfs" >/dev/null || return 1
	[ "$(readlink "$WORK/root/etc/resolv.conf")" = ../run/systemd/resolve/stub-resolv.conf ] && [ ! -e "$WORK/root/usr/sbin/policy-rc.d" ] || return 1
	in_image 1 'rm /etc/resolv.conf; echo own >/etc/resolv.conf' --new-version own && rm -rf "$WORK/root" && unsquashfs -q -n -d "$WORK/root" "$STORE/base/own/root.squashfs" >/dev/null &&
		[ "$(cat "$WORK/root/etc/resolv.conf")" = own ]
}
the_network_can_be_left_out() {
	in_image 1 'cat /proc/net/dev' --no-network
	[ "$status" = 0 ] && [ "$(grep -c : "$WORK/out")" = 1 ] || return 1
	in_image 1 'cat /proc/net/dev'
	[ "$(grep -c : "$WORK/out")" = "$(grep -c : /proc/net/dev)" ]
}
# tar asks another machine for what stands ahead of the colon
a_name_with_a_colon_is_a_file() {
	cp "$WORK/base.tar" "$WORK/no-such-machine:base.tar" && (cd "$WORK" && phx_image import no-such-machine:base.tar --no-squashfs --image-name colon --dir "$STORE" && [ "$status" = 0 ]) && rm -r "$STORE/colon"
}
# a device of the image is one of the machine, to which opening it can do something; a pipe is waited for
devices_and_pipes_are_not_opened() {
	local kernel=$WORK/root.base/boot/vmlinuz-6.2.0-odd how
	for how in p 'c 1 5'; do
		mknod "$kernel" $how && tar -C "$WORK/root.base" -cf "$WORK/odd.tar" . && rm "$kernel" || return 1
		run timeout 20 "$BUILD/bin/phx" image import "$WORK/odd.tar" --image-name odd --no-squashfs --dir "$STORE"
		[ "$status" != 124 ] && grep -q 'its kernel 6.2.0-odd cannot be read: Invalid argument' "$WORK/err" && [ ! -e "$STORE/odd" ] && swept || return 1
	done
}
what_was_interrupted_is_swept() {
	mkfifo "$WORK/begun"
	"$BUILD/bin/phx" image exec base --dir "$STORE" --image-version 1 -- sh -c 'echo begun; sleep 987' >"$WORK/begun" 2>"$WORK/err" </dev/null &
	local pid=$! left
	read -r _ <"$WORK/begun" && kill -9 $pid
	wait $pid 2>/dev/null
	left=$(ls -A "$STORE" | grep '^\.import')
	[ -n "$left" ] || return 1
	local i
	for i in $(seq 50); do pgrep -f 'sleep 987' >/dev/null || break; sleep 0.1; done
	! pgrep -f 'sleep 987' >/dev/null || return 1
	in_image 1 true --new-version f && swept
}

umask 022
fake_root "$WORK/root.base"
touch "$WORK/root.base/etc/"{gone,mode} && echo a >"$WORK/root.base/etc/same-size" && ln -s a "$WORK/root.base/etc/link" && mknod "$WORK/root.base/etc/device" c 1 5
ln -s ../run/systemd/resolve/stub-resolv.conf "$WORK/root.base/etc/resolv.conf"
touch "$WORK/root.base/etc/odd" && chown 1234:1234 "$WORK/root.base/etc/odd"
tar -C "$WORK/root.base" -cf "$WORK/base.tar" .
"$BUILD/bin/phx" image import "$WORK/base.tar" --image-name base --dir "$STORE" >/dev/null 2>&1 &&
	"$BUILD/bin/phx" image import "$WORK/base.tar" --image-name disk --no-squashfs --dir "$STORE" >/dev/null 2>&1 || echo "not ok no image"
for t in what_it_left_is_a_new_version diff_says_what_differs diff_with_what_it_was_made_of the_same_does_not_differ the_next_is_counted two_do_not_count_the_same a_failure_makes_none \
	no_change_makes_none what_is_not_there_is_told an_altered_image_is_not_run owners_links_and_devices_come_along a_kernel_outside_the_root_comes_along a_default_that_was_chosen_stays why_it_cannot_be_unpacked_is_told nothing_of_the_machine_is_reached nothing_of_the_machine_is_written our_own_program_is_not_given_away nothing_is_typed_for_us \
	names_are_found_as_here the_network_can_be_left_out a_name_with_a_colon_is_a_file devices_and_pipes_are_not_opened what_was_interrupted_is_swept; do
	check "$t"
done
exit "$FAILED"
