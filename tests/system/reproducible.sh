#!/bin/bash
# alone: it compiles, which takes what the others wait for
# by turns: 30 s: it takes long.
# Two builds of the same files are equal, byte by byte, wherever, when and by whom they are made. A part of what BUILD has is made again at
# another path, on another day, with another umask, time zone and locale: each eighth object, by turns, and all that is linked or made of objects.
# PHX_REPRODUCIBLE=all clones the commit to two paths and builds all of it, the Debian packages too, in each: ten minutes and more (make check-reproducible).
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
BUILD=$(realpath "${BUILD:-build}")
if [ "$BUILD" != "$PWD/build" ] || ! grep -q -- ' -O2 ' "$BUILD/flags"; then
	echo "skip reproducible: $BUILD is none that is installed"
	exit 0
fi
grep -q -- -ftrivial-auto-var-init "$BUILD/flags" || { echo "skip reproducible: it wants gcc"; exit 0; }
WORK=$(mktemp -d /tmp/phx-reproducible.XXXXXX)
FAILED=0
trap 'rm -rf "$WORK"' EXIT
export CCACHE_DISABLE=1 # what is fetched was not made
unset MAKEFLAGS MFLAGS MAKELEVEL
compiler=$(sed 's/ -I.*//' "$BUILD/flags")
check() {
	if "${@:2}" >"$WORK/said" 2>&1; then
		echo "ok $1"
	else
		echo "not ok $1"
		tail -n 25 "$WORK/said" | sed 's/^/  /'
		FAILED=1
	fi
}

# tree DIR: the tracked files; elsewhere, at another time, readable for fewer
tree() {
	mkdir -p "$1" && { git ls-files -z | while IFS= read -r -d '' f; do [ ! -f "$f" ] || printf '%s\0' "$f"; done | tar --null -T - -cf - | (umask 077 && tar --no-same-permissions -xf - -C "$1"); } || return 1
	find "$1" -type f -exec touch -d 2001-02-03 {} +
}
# made DIR ARGUMENT...: by make, as somebody else elsewhere would
made() { (umask 077 && cd "$1" && TZ=Pacific/Auckland LC_ALL=C.UTF-8 SOURCE_DATE_EPOCH=${DAY:-1000000000} make -j2 BUILD=build CC="$compiler" "${@:2}"); }
# made_equal FILE...: of the other tree and of BUILD; how many
equal() {
	local f n=0
	for f in "$@"; do
		cmp "$OTHER/build/$f" "$BUILD/$f" || return 1
		n=$((n + 1))
	done
	echo "$n equal"
	[ "$n" -gt 0 ]
}
OTHER=$WORK/a/longer/path/than/the/one

# by turns: the commit says which eighth
sample() {
	local turn
	turn=$((0x$(git rev-parse HEAD | cut -c1-7) % 8))
	(cd "$BUILD" && find obj -name '*.o' | LC_ALL=C sort | awk -v turn=$turn 'NR % 8 == turn')
}
objects_are_equal() {
	tree "$OTHER" || return 1
	mapfile -t objects < <(sample)
	[ ${#objects[@]} -ge 50 ] && made "$OTHER" "${objects[@]/#/build/}" && equal "${objects[@]}"
}
# the other objects are BUILD's; what is made of them is made there
what_is_linked_is_equal() {
	cp -a --no-preserve=timestamps "$BUILD/obj" "$OTHER/build/" && mkdir -p "$OTHER/build/npm" && cp -al "$BUILD/npm/node_modules" "$OTHER/build/npm/" 2>/dev/null ||
		cp -a "$BUILD/npm/node_modules" "$OTHER/build/npm/" || return 1
	touch "$OTHER/build/npm/done"
	DAY=$(git log -1 --format=%ct) made "$OTHER" all agent-bundle portal || return 1
	equal $(cd "$BUILD" && find bin agent-bundle portal libphx.a libcli.a -type f ! -path 'portal/pictures/*' | LC_ALL=C sort)
}
# with itself, or not, as the shell was fast or slow, it would be another each time
id_of_the_bundle_is_that_of_its_files() {
	local dir=$BUILD/agent-bundle id
	id=$(cd "$dir" && find . -type f ! -path ./share/bundle.id | LC_ALL=C sort | xargs sha256sum | sha256sum | cut -d' ' -f1)
	echo "$id of the files" && cat "$dir/share/bundle.id" && [ "$(cat "$dir/share/bundle.id")" = "$id" ]
}
# in what is installed, no path of the one who built it
no_path_is_in_them() {
	local f
	for f in "$BUILD"/bin/* "$BUILD/agent-bundle/bin/phx-agent" "$BUILD"/portal/*.js; do
		! grep -aqF -- "$PWD" "$f" || { echo "$f: $(grep -aoE "${PWD}[^[:cntrl:]]*" "$f" | head -n 3)"; return 1; }
	done
}

# what the above would find: a day, and a path, in one object
OBJECT=build/obj/lib/base/err.o
both_ways() { # ARGUMENT...: of one object, made here and there
	rm -f "$OTHER/$OBJECT" "$WORK/b/$OBJECT"
	DAY=1000000000 made "$OTHER" "$OBJECT" "$@" && DAY=1100000000 made "$WORK/b" "$OBJECT" "$@" && [ -s "$OTHER/$OBJECT" ] && [ -s "$WORK/b/$OBJECT" ]
}
a_path_would_be_found() {
	tree "$WORK/b" && both_ways && cmp "$OTHER/$OBJECT" "$WORK/b/$OBJECT" && both_ways PATHS= && ! cmp "$OTHER/$OBJECT" "$WORK/b/$OBJECT"
}
a_day_would_be_found() {
	printf 'extern const char phx_planted[];\nconst char phx_planted[] = __DATE__ " " __TIME__;\n' | tee -a "$OTHER/lib/base/err.c" >>"$WORK/b/lib/base/err.c"
	both_ways && ! cmp "$OTHER/$OBJECT" "$WORK/b/$OBJECT"
}

# ---- all of it ----

whole() { # DIR UMASK TZ LOCALE
	mkdir -p "$(dirname "$1")" && git clone -q "$PWD" "$1" && mkdir -p "$1/build/npm" && cp -a "$BUILD/npm/." "$1/build/npm/" && touch "$1/build/npm/done" &&
		(umask "$2" && cd "$1" && TZ=$3 LC_ALL=$4 make -j2 BUILD=build CC="$compiler" all agent-bundle portal deb)
}
two_whole_builds_are_equal() {
	whole "$WORK/one" 022 UTC C && whole "$WORK/the/other/of/two" 077 Asia/Kolkata C.UTF-8 || return 1
	OTHER=$WORK/one BUILD=$WORK/the/other/of/two/build
	equal $(cd "$BUILD" && find bin man agent-bundle portal deb -type f ! -name '*.scd' ! -name log ! -name built ! -name '*.buildinfo' ! -name '*.changes' | LC_ALL=C sort)
}
images_are_equal() {
	"$PWD/images/deploy-cloud/build" "$WORK/image-1" "$WORK/one/build/agent-bundle" && (umask 077 && TZ=Asia/Kolkata "$PWD/images/deploy-cloud/build" "$WORK/image-2" "$WORK/the/other/of/two/build/agent-bundle") &&
		diff -r "$WORK/image-1" "$WORK/image-2"
}

check "the id of the agent's bundle is that of its files" id_of_the_bundle_is_that_of_its_files
check "no path of the build is in what is installed" no_path_is_in_them
if [ "${PHX_REPRODUCIBLE:-}" = all ]; then
	check "two whole builds are equal: programs, manual, portal, bundle, Debian packages" two_whole_builds_are_equal
	check "and so are two images with them" images_are_equal
	exit $FAILED
fi
check "an eighth of the objects, made elsewhere, is equal" objects_are_equal
check "programs, libraries, the agent's bundle and the portal, made elsewhere, are equal" what_is_linked_is_equal
check "a path would be found" a_path_would_be_found
check "a day would be found" a_day_would_be_found
exit $FAILED
