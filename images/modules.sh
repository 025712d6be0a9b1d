# Which modules of a kernel a list means. Sourced by initramfs.sh and pack-modules, which have die().

# module_paths BASE RELEASE LIST: of the modules that the file LIST names, and of all they depend on, the paths below BASE, sorted.
# "?name" may be absent from a flavour of the kernel; what is built in needs nothing.
module_paths() {
	local base=$1 release=$2 list=$3 name found missing=()
	found=$(while read -r name; do
		modprobe --dirname "$base" --set-version "$release" --ignore-install --show-depends "${name#\?}" 2>/dev/null ||
			[ "${name#\?}" != "$name" ] || echo "missing $name"
	done < <(sed 's/#.*//' "$list" | tr -s '[:space:]' '\n' | sed '/^$/d'))
	mapfile -t missing < <(sed -n 's/^missing //p' <<<"$found")
	[ ${#missing[@]} = 0 ] || die "kernel $release has no module ${missing[*]}: is its package of modules whole?"
	sed -n "s|^insmod $base/*\(lib/modules/$release/[^ ]*\).*|\1|p" <<<"$found" | sort -u
}
