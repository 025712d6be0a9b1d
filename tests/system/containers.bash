# Containers made by hand, for tests of what reads them. Sourced. WORK is a directory of the test.
#
#	fake_root DIR                    what an image must have: its init, systemd and kernel are fakes, its os-release is Debian's
#	blob LAYOUT FILE                 puts a file into it; prints its digest
#	layout LAYOUT TAG TAR...         a container of these layers, in a layout that may have others; ARCH=, LABELS=JSON, MEDIA=

fake_root() {
	mkdir -p "$1"/{boot,etc,sbin,usr/lib/systemd,usr/sbin,bin,var/lib/dpkg,tmp,run,proc,sys,dev,lib/modules}
	echo 'a fake' | tee "$1/sbin/init" "$1/usr/lib/systemd/systemd" >"$1/boot/vmlinuz-6.1.0-fake"
	# a kernel into which all is built that its archive is to have
	mkdir "$1/lib/modules/6.1.0-fake"
	sed 's/#.*//' images/deploy/modules | tr -s '[:space:]' '\n' | sed -n 's|^?\{0,1\}\(..*\)|kernel/\1.ko|p' >"$1/lib/modules/6.1.0-fake/modules.builtin"
	printf 'PRETTY_NAME="Debian of a test"\nID=debian\n' >"$1/etc/os-release"
	printf 'Package: busybox\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1:1.35\n\n' >"$1/var/lib/dpkg/status"
	cp "$(command -v busybox)" "$1/bin/busybox"
	local word
	for word in sh cat ls rm touch mkdir mv chmod ln sleep sed hostname ps id mount kill; do ln -sf busybox "$1/bin/$word"; done
}

blob() {
	local sum
	sum=$(sha256sum <"$2" | cut -d' ' -f1)
	mkdir -p "$1/blobs/sha256" && cp "$2" "$1/blobs/sha256/$sum" && echo "sha256:$sum"
}

descriptor() { # LAYOUT FILE MEDIA
	printf '{"mediaType":"%s","digest":"%s","size":%d}' "$3" "$(blob "$1" "$2")" "$(stat -c %s "$2")"
}

layout() {
	local dir=$1 tag=$2 tar layers='' ids='' manifest labels=${LABELS:-null}
	local oci=application/vnd.oci.image
	shift 2
	for tar; do
		gzip -nc "$tar" >"$WORK/layer.gz"
		layers=$layers${layers:+,}$(descriptor "$dir" "$WORK/layer.gz" "${MEDIA:-$oci.layer.v1.tar+gzip}")
		ids=$ids${ids:+,}\"sha256:$(sha256sum <"$tar" | cut -d' ' -f1)\"
	done
	printf '{"architecture":"%s","os":"linux","config":{"Labels":%s},"rootfs":{"type":"layers","diff_ids":[%s]}}' \
		"${ARCH:-amd64}" "$labels" "$ids" >"$WORK/config.json"
	printf '{"schemaVersion":2,"config":%s,"layers":[%s]}' "$(descriptor "$dir" "$WORK/config.json" "$oci.config.v1+json")" \
		"$layers" >"$WORK/manifest.json"
	manifest=$(descriptor "$dir" "$WORK/manifest.json" "$oci.manifest.v1+json")
	[ -e "$dir/index.json" ] || printf '{"schemaVersion":2,"manifests":[]}' >"$dir/index.json"
	jq -c --argjson m "$manifest" --arg tag "$tag" \
		'.manifests += [$m + {annotations: {"org.opencontainers.image.ref.name": $tag}}]' "$dir/index.json" >"$WORK/index.json"
	mv "$WORK/index.json" "$dir/index.json"
	printf '{"imageLayoutVersion":"1.0.0"}' >"$dir/oci-layout"
}
