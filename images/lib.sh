# What the image recipes share: reading image.conf, the machine's apt sources,
# kernels, manifests. Sourced by initramfs.sh and rootfs.sh; never run itself.

set -euo pipefail
export LC_ALL=C
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-1767225600}
umask 022

die() {
	echo "$0: $*" >&2
	exit 1
}

# conf KEY: a string of image.conf, "" when absent. One key a line. Who builds may say another version (phx image build --image-version).
conf() {
	[ "$1" != version ] || [ -z "${PHX_IMAGE_VERSION:-}" ] || { echo "$PHX_IMAGE_VERSION" && return; }
	sed -n "s/^[[:space:]]*$1[[:space:]]*=[[:space:]]*\"\\(.*\\)\"[[:space:]]*;.*/\\1/p" "$IMAGE_DIR/image.conf"
}

# conf_list KEY: the strings of a list, one a line; it may span lines.
conf_list() {
	awk -v key="$1" '$1 == key && $2 == "=" { on = 1 } on { print } /\];/ { on = 0 }' "$IMAGE_DIR/image.conf" |
		grep -o '"[^"]*"' | tr -d '"' || true
}

conf_required() {
	local value
	value=$(conf "$1")
	[ -n "$value" ] || die "$IMAGE_DIR/image.conf: $1 = \"...\"; is missing"
	echo "$value"
}

# The machine's own apt sources for our suite, as one file in deb822 or one-line
# form each. What belongs to other distributions or vendors' suites stays out.
apt_sources() {
	local suite=$1 to=$2 f
	mkdir -p "$to"
	for f in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
		[ -e "$f" ] || continue
		grep -E "^deb[[:space:]](.*[[:space:]])?$suite(-[a-z-]+)?(/updates)?[[:space:]]+main" "$f" \
			>>"$to/machine.list" || true
	done
	for f in /etc/apt/sources.list.d/*.sources; do
		[ -e "$f" ] || continue
		awk -v RS= -v suite="$suite" \
			'$0 ~ "(^|\n)Suites:[^\n]*" suite && /(^|\n)Components:[^\n]*main/ && !/(^|\n)Enabled: *no/ { print $0 "\n" }' \
			"$f" >>"$to/machine.sources"
	done
	find "$to" -type f -empty -delete
	[ -n "$(ls "$to")" ] || die "no apt source for $suite in /etc/apt"
}

# How the machine's apt reaches its sources (proxies), as options of mmdebstrap.
apt_options() {
	apt-config dump | sed -n 's/^\(Acquire::[a-z]*::Proxy[^ ]* ".*"\);$/--aptopt=\1/p'
}

# bootstrap VARIANT ROOT [option...]: mmdebstrap with the packages of image.conf;
# what it says is shown when it fails. It mounts /proc below ROOT and cannot take it
# away while another program looks there: in a mount namespace of its own it ends
# with the program.
bootstrap() {
	local variant=$1 root=$2 suite sources options=()
	shift 2
	suite=$(conf_required suite)
	sources=$WORK/sources
	apt_sources "$suite" "$sources"
	mapfile -t options < <(apt_options)
	unshare --mount mmdebstrap --mode=root --variant="$variant" --architectures="$(conf_required architecture)" \
		--include="$({ conf_list packages; conf_list extra; } | paste -sd,)" "${options[@]}" "$@" \
		"$suite" "$root" "$sources"/* >"$WORK/mmdebstrap.log" 2>&1 || {
		cat "$WORK/mmdebstrap.log" >&2
		die "mmdebstrap failed"
	}
}

# kernel_release ROOT: the one kernel in it.
kernel_release() {
	local found=("$1"/boot/vmlinuz-*)
	[ ${#found[@]} = 1 ] && [ -e "${found[0]}" ] || die "expected one kernel in the image, found: ${found[*]}"
	echo "${found[0]##*/vmlinuz-}"
}

# every time stamp no later than the epoch, so that two builds compare equal
clamp_times() {
	find "$1" -newermt "@$SOURCE_DATE_EPOCH" -print0 |
		xargs -0 --no-run-if-empty touch --no-dereference --date="@$SOURCE_DATE_EPOCH"
}

# manifest OUT RELEASE FILE...: FILE is NAME or NAME:UNCOMPRESSED_SIZE
manifest() {
	local out=$1 release=$2 file name raw sep=""
	shift 2
	{
		echo "# made by the recipe of image $(conf name); sizes in bytes, digests of the files as they are"
		echo "name = \"$(conf name)\";"
		echo "version = \"$(conf version)\";"
		echo "kind = \"$(conf kind)\";"
		echo "architecture = \"$(conf architecture)\";"
		echo "kernel_release = \"$release\";"
		[ ! -e "$out/modules.zst" ] ||
			echo "kernels = ( { release = \"$release\"; kernel = \"vmlinuz\"; modules = \"modules.zst\"; } );"
		echo "files = ("
		for file in "$@"; do
			name=${file%%:*}
			raw=${file#"$name"}
			raw=${raw#:}
			printf '%s\t{ name = "%s"; size = %sL; sha256 = "%s";%s }' "$sep" "$name" \
				"$(stat -c %s "$out/$name")" "$(sha256sum <"$out/$name" | cut -d' ' -f1)" \
				"${raw:+ raw_size = ${raw}L;}"
			sep=$',\n'
		done
		printf '\n);\n'
	} >"$out/manifest.conf"
}

# digest_of PATH...: one digest over the names, modes and contents below the paths
digest_of() {
	local path
	for path in "$@"; do
		(cd "$path" && find . -type f -printf '%P %m\n' -o -type l -printf '%P %l\n' | sort &&
			find . -type f -print0 | sort -z | xargs -0 --no-run-if-empty sha256sum)
	done | sha256sum | cut -d' ' -f1
}

# the shared scripts, the image's own directory, and what it names elsewhere
recipe_digest() {
	local modules
	modules=$(conf modules)
	{
		find "$(dirname "$0")" -maxdepth 1 -type f -print0 | sort -z | xargs -0 cat
		cat ${modules:+"$IMAGE_DIR/$modules"}
		digest_of "$IMAGE_DIR" "$IMAGE_DIR/$(conf_required files)"
	} </dev/null | sha256sum | cut -d' ' -f1
}

# arguments of a recipe: IMAGE_DIR OUT_DIR [AGENT_BUNDLE]. Builds in a directory
# beside OUT_DIR that is renamed to it at the end: a failed build leaves the old.
# DIGEST stands for the recipe; OUT_DIR/recipe tells from which it was built.
recipe_begin() {
	IMAGE_DIR=$1
	# absolute: parts of the recipe change the directory
	OUT=$(realpath -m "${2:?the output directory is missing}")
	AGENT=${3:-}
	[ -e "$IMAGE_DIR/image.conf" ] || die "$IMAGE_DIR/image.conf: no such file"
	[ "$(id -u)" = 0 ] || die "building an image needs root"
	[ -z "$AGENT" ] || [ -x "$AGENT/bin/phx-agent" ] ||
		die "$AGENT/bin/phx-agent: no such program; is this the agent's bundle?"
	DIGEST=$(recipe_digest)
	mkdir -p "$(dirname "$OUT")"
	WORK=$(mktemp -d "$(dirname "$OUT")/.$(basename "$OUT").XXXXXX")
	trap 'rm -rf --one-file-system "$WORK"' EXIT
	mkdir "$WORK/out"
}

# built_from KEY DIGEST: OUT_DIR was built from that very state
built_from() {
	grep -qx "$1 $2" "$OUT/recipe" 2>/dev/null
}

recipe_end() {
	chmod 755 "$WORK/out"
	rm -rf --one-file-system "$OUT"
	mv "$WORK/out" "$OUT"
}
