#!/bin/bash
# The words of `phx lab` without a machine that is switched on: which lab is meant, options in front, and two directories
# with labs of the same name. And the scripts of the lab: what rests on a part that failed is not tried.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
BUILD=$(realpath "${BUILD:-build}")
WORK=$(mktemp -d /tmp/phx-labs.XXXXXX)
NAME=t$$
FAILED=0
trap 'lab -d "$WORK/d" --name $NAME-x down >/dev/null 2>&1; lab -d "$WORK/e" --name $NAME-x down >/dev/null 2>&1; lab -d "$WORK/c" --name $NAME down >/dev/null 2>&1; lab -d "$WORK/a" --name $NAME down >/dev/null 2>&1; lab -d "$WORK/b" --name $NAME down >/dev/null 2>&1; rm -rf "$WORK"' EXIT
lab() { "$BUILD/bin/phx" lab "$@"; }
check() {
	local name=$1
	shift
	if "$@"; then echo "ok $name"; else echo "not ok $name"; FAILED=1; cat "$WORK/out"; fi
}
run() {
	"$@" >"$WORK/out" 2>&1
	status=$?
}
ends() { [ "$status" = "$1" ] && grep -q -- "$2" "$WORK/out"; } # STATUS TEXT

rests_on_what_failed() {
	cat >"$WORK/parts.sh" <<-END
		cd "$PWD"; . tests/lab/lib.sh
		need "0 stands" true; part "1 may fail" false; need "2 serves" false; part "3 tried" touch "$WORK/tried"
		write_report "$WORK/report"; exit \$FAILED
	END
	# shellcheck disable=SC2097,SC2098
	BUILD=$BUILD LAB=none run bash -c '. "$0"' "$WORK/parts.sh"
	sed -n 1,3p "$WORK/report" >>"$WORK/out"
	[ ! -e "$WORK/tried" ] && ends 3 '3 tried: not tried, because this failed: 2 serves' &&
		[ "$(jq -c '[.parts[] | [.ok, .skipped]]' "$WORK/report")" = '[[true,null],[false,null],[false,null],[false,true]]' ]
}
none_is_said() {
	mkdir "$WORK/none"
	run lab status -d "$WORK/none"
	ends 1 "there is no lab in $WORK/none; make one with: phx lab up"
}
the_only_one_is_found() {
	run lab -d "$WORK/a" up --no-head --name "$NAME" -f "$WORK/lab.conf" && [ "$status" = 0 ] || return 1
	run lab -d "$WORK/a" status
	ends 0 "lab $NAME in $WORK/a/$NAME" || return 1
	PHX_LAB_DIR=$WORK/a run lab status --json
	[ "$status" = 0 ] && [ "$(jq -r .name "$WORK/out")" = "$NAME" ]
}
two_directories_do_not_collide() {
	run lab up -d "$WORK/b" --no-head --name "$NAME" -f "$WORK/lab.conf"
	ends 0 "this one gets phx-$NAME-2" || return 1
	[ -e "/run/netns/phx-$NAME" ] && [ -e "/run/netns/phx-$NAME-2" ] || return 1
	run lab exec -d "$WORK/b" ip -o link show phxbr0
	ends 0 phxbr0 || return 1
	run lab up -d "$WORK/b" --no-head --name "$NAME" -f "$WORK/lab.conf"
	ends 0 "$NAME is up" || return 1
	run lab down -d "$WORK/b"
	[ "$status" = 0 ] && [ -e "/run/netns/phx-$NAME" ] && [ ! -e "/run/netns/phx-$NAME-2" ]
}
# at the same instant: none takes the other's namespace, nor ends it
two_begin_at_once() {
	local i
	for i in 1 2 3 4; do
		lab up -d "$WORK/d" --no-head --name "$NAME-x" -f "$WORK/lab.conf" >"$WORK/out" 2>&1 &
		lab up -d "$WORK/e" --no-head --name "$NAME-x" -f "$WORK/lab.conf" >"$WORK/out2" 2>&1
		local second=$?
		wait $! && [ $second = 0 ] && [ -e "/run/netns/phx-$NAME-x" ] && [ -e "/run/netns/phx-$NAME-x-2" ] || { cat "$WORK/out2" >>"$WORK/out"; return 1; }
		lab -d "$WORK/d" --name "$NAME-x" down >/dev/null && lab -d "$WORK/e" --name "$NAME-x" down >/dev/null || return 1
	done
}
# what a lab left does not end the lab that has its namespace now
left_is_not_taken_for_up() {
	lab up -d "$WORK/d" --no-head --name "$NAME-x" -f "$WORK/lab.conf" >"$WORK/out" 2>&1 && lab down -d "$WORK/d" --name "$NAME-x" >/dev/null &&
		lab up -d "$WORK/e" --no-head --name "$NAME-x" -f "$WORK/lab.conf" >"$WORK/out" 2>&1 || return 1
	lab down -d "$WORK/d" --name "$NAME-x" >"$WORK/out" 2>&1
	[ -e "/run/netns/phx-$NAME-x" ] || return 1
	run lab exec -d "$WORK/d" --name "$NAME-x" true
	[ "$status" != 0 ] || return 1
	run lab exec -d "$WORK/e" --name "$NAME-x" ip -o link show phxbr0
	ends 0 phxbr0 && lab down -d "$WORK/e" --name "$NAME-x" >/dev/null && [ ! -e "/run/netns/phx-$NAME-x" ]
}
several_are_named() {
	mkdir -p "$WORK/a/other" && cp "$WORK/a/$NAME/lab.json" "$WORK/a/other/"
	run lab status -d "$WORK/a"
	rm -r "$WORK/a/other"
	ends 78 "which lab? In $WORK/a there are other, $NAME: say --name"
}
# what no machine could boot, but a lab may be given
deploy_image() {
	local dir=$WORK/images/deploy-cloud file
	mkdir -p "$dir"
	for file in vmlinuz initrd.zst; do echo "$file" >"$dir/$file"; done
	(
		echo 'name = "deploy-cloud"; version = "1"; kind = "initramfs"; architecture = "amd64"; kernel_release = "6.1.0-test";'
		echo 'files = ('
		for file in vmlinuz initrd.zst; do
			printf '%s{ name = "%s"; size = %dL; sha256 = "%s"; }\n' "${sep:-}" "$file" "$(stat -c %s "$dir/$file")" \
				"$(sha256sum <"$dir/$file" | cut -d' ' -f1)"
			sep=,
		done
		echo ');'
	) >"$dir/manifest.conf"
}
# The head of a lab whose journal is gone says so, as that of a site does; it does not begin anew in silence.
head_without_its_journal() {
	local state=$WORK/c/$NAME/state
	mkdir -p "$WORK/c" && deploy_image || return 1
	run lab up -d "$WORK/c" --name "$NAME" -f "$WORK/lab.conf" --images "$WORK/images"
	[ "$status" = 0 ] || return 1
	kill -9 "$(lab status -d "$WORK/c" --json | jq .head_pid)"
	for f in "" -wal -shm; do [ ! -e "$state/journal.db$f" ] || mv "$state/journal.db$f" "$WORK/c/away$f"; done
	run lab head -d "$WORK/c"
	ends 1 'phxd does not serve' && grep -q 'journal.db is not there' "$WORK/c/$NAME/phxd.log" && [ ! -e "$state/journal.db" ] ||
		{ tail -n 3 "$WORK/c/$NAME/phxd.log"; return 1; }
	for f in "" -wal -shm; do [ ! -e "$WORK/c/away$f" ] || mv "$WORK/c/away$f" "$state/journal.db$f"; done
	run lab head -d "$WORK/c"
	[ "$status" = 0 ] || return 1
	run lab down -d "$WORK/c"
	[ "$status" = 0 ]
}
down_needs_no_name() {
	run lab --dir "$WORK/a" down
	[ "$status" = 0 ] && [ ! -e "/run/netns/phx-$NAME" ]
}

# a copy of phx alone knows where it looks; in an installation its programs are in libexec
programs_are_found() {
	mkdir -p "$WORK/usr/bin" "$WORK/usr/libexec/phoenix" && cp "$BUILD/bin/phx" "$WORK/usr/bin/"
	run "$WORK/usr/bin/phx" lab status -d "$WORK/none"
	ends 1 "phx-lab is not installed: neither $WORK/usr/bin/phx-lab nor $WORK/usr/bin/../libexec/phoenix/phx-lab is there" || return 1
	cp "$BUILD/bin/phx-lab" "$WORK/usr/libexec/phoenix/"
	run "$WORK/usr/bin/phx" lab status -d "$WORK/none"
	ends 1 "there is no lab in $WORK/none" || return 1
	run "$WORK/usr/bin/phx" lab nonsense
	ends 64 'usage: phx lab'
}

sed 's/^\(\t{ name = "node1";\)/\1 bmc = false;/' tests/lab/one.conf | sed '/head_conf/d' >"$WORK/lab.conf"
check "what rests on a part that failed is not tried" rests_on_what_failed
check "no lab is said" none_is_said
check "phx finds its programs" programs_are_found
if ip netns add "phx-$NAME-try" 2>/dev/null; then
	ip netns del "phx-$NAME-try"
	check "the only lab is found, options may stand first" the_only_one_is_found
	check "two directories have a lab of one name" two_directories_do_not_collide
	check "two of one name begin at once" two_begin_at_once
	check "what a lab left is not taken for it" left_is_not_taken_for_up
	check "several labs are named" several_are_named
	check "a head without its journal says so" head_without_its_journal
	check "the only lab is ended" down_needs_no_name
else
	echo "skip labs_in_namespaces: namespaces cannot be made here"
fi
exit $FAILED
