#!/bin/bash
# by turns: 45 s: it takes long.
# Images from containers: what is taken of one, and every way in which one may be wrong. Layouts are made by hand (their
# systems are fakes: nothing boots here), and one by umoci. As root.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. tests/system/containers.bash
BUILD=$(realpath "${BUILD:-build}")
WORK=$(mktemp -d /tmp/phx-oci.XXXXXX)
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
	if "$1"; then echo "ok $1"; else echo "not ok $1: status $status" && FAILED=1 && tail -n 5 "$WORK/out" "$WORK/err"; fi
}
image() { "$BUILD/bin/phx" image "$@" --dir "$STORE"; }
takes() { # SOURCE [OPTION...]
	run image import "$@" --no-squashfs
	[ "$status" = 0 ]
}
# refuses TEXT SOURCE [OPTION...]: and nothing of it is left
refuses() {
	local text=$1
	shift
	run image import "$@" --no-squashfs --image-name bad --image-version 1
	[ "$status" != 0 ] && grep -qF -- "$text" "$WORK/err" && nothing_left bad
}
nothing_left() { [ ! -e "$STORE/$1" ] && ! ls -A "$STORE" 2>/dev/null | grep -q '^\.'; }
# unpacked NAME VERSION: its root into $WORK/root
unpacked() {
	rm -rf "$WORK/root" "$WORK/raw"
	zstd -qd "$STORE/$1/$2/root.ext4.zst" -o "$WORK/raw" && mkdir "$WORK/root" && debugfs -R "rdump / $WORK/root" "$WORK/raw" 2>/dev/null
}
tar_of() { tar --sort=name --mtime=@0 -C "$1" -cf "$2" .; } # DIR TAR
# of_python TAR CODE: a tar that tar would not write; t is open
of_python() {
	python3 - "$1" <<-END
		import tarfile, io, sys
		t = tarfile.open(sys.argv[1], "w", format=tarfile.GNU_FORMAT)
		def file(name, data=b"evil", **more):
		    i = tarfile.TarInfo(name); i.size = len(data)
		    for k in more: setattr(i, k, more[k])
		    t.addfile(i, io.BytesIO(data))
		def link(name, to, kind=tarfile.SYMTYPE):
		    i = tarfile.TarInfo(name); i.type = kind; i.linkname = to; t.addfile(i)
		$2
		t.close()
	END
}
evil() { # LAYOUT CODE: the system, and above it a layer of that code
	of_python "$WORK/evil.tar" "$2" && rm -rf "${WORK:?}/$1" && layout "$WORK/$1" a "$WORK/base.tar" "$WORK/evil.tar"
}

# ---- what is taken ----

a_layout_becomes_an_image() {
	LABELS='{"org.opencontainers.image.title":"webhost","org.opencontainers.image.version":"2.1"}' \
		layout "$WORK/good" a "$WORK/base.tar"
	takes "oci:$WORK/good" && grep -q '^webhost 2.1$' "$WORK/out" || return 1
	run image show webhost
	grep -q 'System *Debian of a test' "$WORK/out" && grep -q "From *oci:good@$(jq -r '.manifests[0].digest' "$WORK/good/index.json")" "$WORK/out" || return 1
	grep -q 'os_id = "debian"' "$STORE/webhost/2.1/manifest.conf" && grep -qx 'busybox amd64 1:1.35' "$STORE/webhost/2.1/packages.txt" &&
		image verify webhost >/dev/null && ! ls -A "$STORE" | grep -q '^\.'
}
the_same_again_is_there_already() {
	! takes "oci:$WORK/good" && grep -q "image 'webhost' of version '2.1' is there already" "$WORK/err"
}
owners_devices_and_bits_are_kept() {
	cp -a "$WORK/base" "$WORK/odd" && chown 1234:4321 "$WORK/odd/etc/os-release" && mknod "$WORK/odd/dev/null" c 1 3 &&
		chmod 4755 "$WORK/odd/bin/busybox" && ln "$WORK/odd/bin/busybox" "$WORK/odd/bin/second" && tar_of "$WORK/odd" "$WORK/odd.tar" || return 1
	layout "$WORK/odd.oci" a "$WORK/odd.tar"
	takes "oci:$WORK/odd.oci:a" --image-name odd && takes "$WORK/odd.tar" --image-name odd --image-version tar || return 1
	local version
	for version in 1 tar; do
		zstd -qdf "$STORE/odd/$version/root.ext4.zst" -o "$WORK/raw"
		debugfs -R 'stat /etc/os-release' "$WORK/raw" 2>/dev/null | grep -q 'User:  1234   Group:  4321' &&
			debugfs -R 'stat /dev/null' "$WORK/raw" 2>/dev/null | grep -q 'Type: character special' &&
			debugfs -R 'stat /bin/busybox' "$WORK/raw" 2>/dev/null | grep -q 'Mode:  04755' || return 1
	done
}
layers_lie_upon_each_other() {
	rm -rf "$WORK/l2" && mkdir -p "$WORK/l2/etc/conf" "$WORK/l2/opt" && echo new >"$WORK/l2/etc/conf/new" &&
		touch "$WORK/l2/opt/.wh.gone" "$WORK/l2/etc/conf/.wh..wh..opq"
	cp -a "$WORK/base" "$WORK/l1" && mkdir -p "$WORK/l1/etc/conf" "$WORK/l1/opt" && touch "$WORK/l1/etc/conf/old" "$WORK/l1/opt/"{gone,stays}
	tar_of "$WORK/l1" "$WORK/l1.tar" && tar_of "$WORK/l2" "$WORK/l2.tar" && layout "$WORK/two" a "$WORK/l1.tar" "$WORK/l2.tar"
	takes "oci:$WORK/two" --image-name two && unpacked two 1 || return 1
	[ "$(ls -A "$WORK/root/etc/conf")" = new ] && [ "$(ls -A "$WORK/root/opt")" = stays ]
}
archives_are_taken() {
	tar -C "$WORK/good" -cf "$WORK/good.tar" . && takes "oci-archive:$WORK/good.tar" --image-version 3 && grep -q '^webhost 3$' "$WORK/out" || return 1
	skopeo copy -q "oci:$WORK/good:a" "docker-archive:$WORK/docker.tar:site/webhost:7" || return 1
	takes "docker-archive:$WORK/docker.tar" --image-version 4 && takes "docker-archive:$WORK/docker.tar:site/webhost:7" --image-version 5
}
layers_of_zstd_are_taken() {
	skopeo copy -q --dest-compress-format zstd "oci:$WORK/good:a" "oci:$WORK/zstd:a" && grep -rq 'tar+zstd' "$WORK/zstd/blobs" || return 1
	takes "oci:$WORK/zstd" --image-name zstd && grep -q "@$(jq -r '.manifests[0].digest' "$WORK/zstd/index.json")" "$STORE/zstd/2.1/manifest.conf"
}
what_umoci_made_is_taken() {
	umoci init --layout "$WORK/umoci" && umoci new --image "$WORK/umoci:a" && umoci unpack --image "$WORK/umoci:a" "$WORK/bundle" 2>/dev/null &&
		cp -a "$WORK/base/." "$WORK/bundle/rootfs/" && umoci repack --image "$WORK/umoci:a" "$WORK/bundle" 2>/dev/null &&
		umoci config --image "$WORK/umoci:a" --config.label org.opencontainers.image.title=packed || return 1
	takes "oci:$WORK/umoci" && grep -q '^packed 1$' "$WORK/out"
}

# ---- which one ----

several_want_a_choice() {
	layout "$WORK/many" one "$WORK/base.tar" && ARCH=arm64 layout "$WORK/many" two "$WORK/base.tar"
	refuses 'it holds several containers: choose one by its tag; there is: one, two' "oci:$WORK/many" &&
		refuses "no container with the tag 'three'; there is: one, two" "oci:$WORK/many:three" || return 1
	tar -C "$WORK/many" -cf "$WORK/many.tar" .
	refuses 'choose one by its tag; there is: one, two' "oci-archive:$WORK/many.tar" && takes "oci-archive:$WORK/many.tar:one" --image-name many
}
several_of_docker_want_a_choice() {
	mkdir "$WORK/dd" && printf '[{"RepoTags":["a:1","a:latest"]},{"RepoTags":["b:1"]}]' >"$WORK/dd/manifest.json" && tar -C "$WORK/dd" -cf "$WORK/dd.tar" manifest.json
	refuses 'choose one by its tag; there is: a:1, a:latest, b:1' "docker-archive:$WORK/dd.tar"
}
of_another_machine() { refuses 'a container for arm64; this head makes images for amd64' "oci:$WORK/many:two"; }
no_name_of_its_own() {
	layout "$WORK/plain" a "$WORK/base.tar"
	! takes "oci:$WORK/plain" && grep -q 'no name of its own (a container.s label org.opencontainers.image.title): --image-name' "$WORK/err" || return 1
	LABELS='{"org.opencontainers.image.title":"My Host/1"}' layout "$WORK/odd name" a "$WORK/base.tar"
	! takes "oci:$WORK/odd name" && grep -q "it calls itself 'My Host/1', which is no name" "$WORK/err"
}

# ---- what is wrong ----

what_it_lacks_is_told() {
	rm -rf "$WORK/less" && cp -a "$WORK/base" "$WORK/less" && rm "$WORK/less/boot/"* && tar_of "$WORK/less" "$WORK/less.tar" && layout "$WORK/less.oci" kernel "$WORK/less.tar"
	refuses '; in it: apt-''get install linux-image-amd64 systemd-sysv' "oci:$WORK/less.oci:kernel" || return 1
	sed -i 's/^ID=.*/ID="rocky"\nID_LIKE="rhel centos fedora"/' "$WORK/less/etc/os-release" && rm "$WORK/less/sbin/init" && tar_of "$WORK/less" "$WORK/less.tar" &&
		layout "$WORK/less.oci" init "$WORK/less.tar"
	refuses 'no /sbin/init in it; is it a whole root file system?; in it: dnf install kernel systemd' "oci:$WORK/less.oci:init"
}
names_that_lead_up() {
	evil up 'file("etc/../../../../'"$WORK"'/pwned")' && refuses 'layer 2 of 2: etc/../../../../' "oci:$WORK/up" || return 1
	evil up 'link("etc/x", "../../../../etc/shadow", tarfile.LNKTYPE)' && refuses 'etc/x: a hard link to ../../' "oci:$WORK/up" || return 1
	of_python "$WORK/up.tar" 'file("../pwned")' && refuses '../pwned: a name with ".."' "$WORK/up.tar" && [ ! -e "$WORK/pwned" ]
}
absolute_names_stay_inside() {
	evil abs 'file("'"$WORK"'/pwned")' && takes "oci:$WORK/abs" --image-name abs && [ ! -e "$WORK/pwned" ] && unpacked abs 1 && [ -e "$WORK/root$WORK/pwned" ]
}
links_stay_inside() {
	mkdir "$WORK/victim"
	evil leads 'link("opt", "'"$WORK"'/victim"); file("opt/pwned"); link("srv", "../../../../../../../../'"$WORK"'/victim"); file("srv/pwned")' || return 1
	run image import "oci:$WORK/leads" --no-squashfs --image-name out
	[ -z "$(ls -A "$WORK/victim")" ] || return 1
	run image import "$WORK/evil.tar" --no-squashfs --image-name out --image-version tar
	[ -z "$(ls -A "$WORK/victim")" ]
}
a_link_of_one_layer_is_no_way_for_the_next() {
	of_python "$WORK/link.tar" 'link("opt", "'"$WORK"'/victim")' && of_python "$WORK/through.tar" 'file("opt/pwned"); file("opt/.wh.kept")' && touch "$WORK/victim/kept" &&
		layout "$WORK/through" a "$WORK/base.tar" "$WORK/link.tar" "$WORK/through.tar" || return 1
	run image import "oci:$WORK/through" --no-squashfs --image-name through
	[ "$(ls -A "$WORK/victim")" = kept ]
}
whiteouts_of_what_is_no_name() {
	evil wh 'file("etc/.wh...")' && refuses 'layer 2 of 2: etc/.wh...: a whiteout of no name' "oci:$WORK/wh" || return 1
	evil wh 'file("etc/.wh..")' && refuses 'etc/.wh..: a whiteout of no name' "oci:$WORK/wh" || return 1
	evil wh 'file("etc/.wh.")' && refuses 'etc/.wh.: a whiteout of no name' "oci:$WORK/wh" || return 1
	evil wh 'file("etc/.wh..wh.x")' && refuses 'etc/.wh..wh.x: a whiteout of a whiteout' "oci:$WORK/wh"
}
a_layer_cut_short() {
	cp -r "$WORK/good" "$WORK/cut" && local big && big=$(find "$WORK/cut/blobs" -type f -size +50k) && truncate -s -1000 "$big"
	refuses "oci:$WORK/cut" "oci:$WORK/cut" || return 1
	# the digests are right, the tar is not
	head -c 300000 "$WORK/base.tar" >"$WORK/short.tar" && layout "$WORK/short" a "$WORK/short.tar"
	refuses 'layer 1 of 1: no whole tar: Truncated' "oci:$WORK/short" || return 1
	refuses 'short.tar: no whole tar: Truncated' "$WORK/short.tar"
}
a_digest_that_does_not_fit() {
	cp -r "$WORK/good" "$WORK/altered" && local big && big=$(find "$WORK/altered/blobs" -type f -size +50k) &&
		printf 'XX' | dd of="$big" bs=1 seek=5000 conv=notrunc status=none
	refuses 'Digest did not match' "oci:$WORK/altered" || return 1
	sed -i 's/sha256:[0-9a-f]*/sha256:..\/..\/x/' "$WORK/altered/index.json"
	refuses "digest 'sha256:../../x': it must be sha256: and 64 hexadecimal digits" "oci:$WORK/altered"
}
what_unpacks_to_too_much() {
	truncate -s 20G "$WORK/zeros" && tar -S -C "$WORK" -cf "$WORK/bomb.tar" zeros && rm "$WORK/zeros" && layout "$WORK/bomb" a "$WORK/base.tar" "$WORK/bomb.tar"
	refuses 'layer 2 of 2: it unpacks to more than 10.0 GiB (--max-size)' "oci:$WORK/bomb" --max-size '10 GiB' || return 1
	refuses 'bomb.tar: it unpacks to more than 10.0 GiB' "$WORK/bomb.tar" --max-size 10G
}
what_the_disk_has_no_place_for() {
	mkdir -p "$STORE" && mount -t tmpfs -o size=8m none "$STORE" || return 1
	truncate -s 30M "$WORK/zeros" && tar -C "$WORK" -cf "$WORK/large.tar" zeros && rm "$WORK/zeros" && layout "$WORK/large" a "$WORK/base.tar" "$WORK/large.tar"
	refuses 'to make an image of it' "oci:$WORK/large" && refuses 'must be free; there are' "$WORK/large.tar"
	local found=$?
	umount "$STORE"
	return $found
}
a_program_that_is_missing_is_named() {
	mkdir "$WORK/path" && ln -s "$(command -v umoci)" "$WORK/path/"
	PATH=$WORK/path run "$BUILD/bin/phx" image import "oci:$WORK/good" --dir "$STORE" --image-name bad
	[ "$status" != 0 ] && grep -q 'the program skopeo is missing, which reads containers: install the package skopeo' "$WORK/err"
}
what_is_no_source() {
	refuses "neither a file nor oci:DIR" docker-daemon:x:1 && refuses 'nosuch: No such file' "oci:$WORK/nosuch" &&
		refuses 'nothing stands behind oci:' oci: && refuses 'index.json' "oci:$WORK/base" && refuses 'there is no manifest.json in it' "docker-archive:$WORK/base.tar" &&
		refuses 'no whole tar' "oci-archive:$PHX_CONFIG"
}

umask 022
fake_root "$WORK/base"
tar_of "$WORK/base" "$WORK/base.tar"
for t in a_layout_becomes_an_image the_same_again_is_there_already owners_devices_and_bits_are_kept layers_lie_upon_each_other archives_are_taken \
	layers_of_zstd_are_taken what_umoci_made_is_taken several_want_a_choice several_of_docker_want_a_choice of_another_machine no_name_of_its_own \
	what_it_lacks_is_told names_that_lead_up absolute_names_stay_inside links_stay_inside a_link_of_one_layer_is_no_way_for_the_next \
	whiteouts_of_what_is_no_name a_layer_cut_short a_digest_that_does_not_fit what_unpacks_to_too_much what_the_disk_has_no_place_for \
	a_program_that_is_missing_is_named what_is_no_source; do
	check "$t"
done
exit "$FAILED"
