# A head and agents as processes on loopback, each agent below a root of its own.
# Sourced by the system tests; makes everything in $WORK, below $WORK_IN (/tmp), and leaves nothing behind.
#
#	head_init [KEY = VALUE;...]   configuration, image, then head_start
#	agent_start NAME, agent_stop NAME, agent_kill NAME
#	ok TEXT / not_ok TEXT         count a test

set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. tests/system/node_root.bash
BUILD=$(realpath "${BUILD:-build}")
WORK=$(mktemp -d "${WORK_IN:-/tmp}/phx-system.XXXXXX")
chmod 755 "$WORK" # the users that phxd becomes must get there
# two free ports below those that the kernel gives to clients (32768 and up)
port_free() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
HTTPS=$((20000 + RANDOM % 11998))
until port_free "$HTTPS" && port_free $((HTTPS + 1)); do HTTPS=$((20000 + RANDOM % 11998)); done
HTTP=$((HTTPS + 1))
declare -A AGENT=()
HEAD=
FAILED=0
export PHX_SOCKET=$WORK/head/phxd.sock PHX_CONFIG=$WORK/etc/phoenix.conf PHX_SIGN_KEY=$WORK/package.key

ok() { echo "ok $*"; }
not_ok() {
	echo "not ok $*"
	FAILED=1
	tail -n 15 "$WORK"/*.log
}
# check NAME COMMAND...: one test
check() {
	local name=$1
	shift
	if "$@"; then ok "$name"; else
		echo # what it said may end in the middle of a line
		not_ok "$name"
	fi
}
phx() { "$BUILD/bin/phx" "$@"; }
api() { curl -sS -m 20 --unix-socket "$PHX_SOCKET" "http://unix$1" "${@:2}"; }

# until_true SECONDS COMMAND...: true as soon as it succeeds. The seconds are those of a quiet machine; a busy one has
# four times as many.
until_true() {
	local end=$(($(date +%s) + ($1 < 60 ? 4 * $1 : $1)))
	shift
	while ! "$@" >/dev/null 2>&1; do
		[ "$(date +%s)" -lt "$end" ] || return 1
		sleep 0.05
	done
}

# replays_the_same EVENTS ACTIONS: the head's journal, with at least so many of them in it: an empty one is identical, too
replays_the_same() {
	head_stop
	phx sim replay "$WORK/head/journal.db" -o json >"$WORK/out" 2>&1
	jq -r '"    \(.events) events, \(.actions) actions"' "$WORK/out"
	jq -e ".identical and .events >= $1 and .actions >= $2" "$WORK/out" >/dev/null || { cat "$WORK/out"; return 1; }
}

# for_hands PATH...: what scripts of BMCs and anchor_program write; who they are is hands_user
for_hands() { [ "$(id -u)" != 0 ] || chown phx-hands "$@"; }

finish() {
	local name
	for name in "${!AGENT[@]}"; do agent_stop "$name"; done
	head_stop
	rm -rf "$WORK"
}
trap finish EXIT

# ---- the head ----

# manifest_of DIR KIND FILE...: DIR is that of an image's version; prints the image's digest
manifest_of() {
	local dir=$1 kind=$2 file sep=
	(
		printf 'name = "%s"; version = "%s"; kind = "%s"; architecture = "amd64"; kernel_release = "6.1.0-test";\nfiles = (\n' \
			"$(basename "$(dirname "$dir")")" "$(basename "$dir")" "$kind"
		for file in "${@:3}"; do
			printf '%s{ name = "%s"; size = %dL; sha256 = "%s";%s }\n' "$sep" "$file" "$(stat -c %s "$dir/$file")" \
				"$(sha256sum <"$dir/$file" | cut -d' ' -f1)" "$([ "$file" = root.ext4.zst ] && echo ' raw_size = 5L;')"
			sep=,
		done
		echo ');'
	) >"$dir/manifest.conf"
	sha256sum <"$dir/manifest.conf" | cut -d' ' -f1
}
# an image that no machine could boot, but that roles may name
image_init() {
	local dir=$WORK/head/images/test/1 file
	mkdir -p "$dir"
	for file in vmlinuz root.squashfs; do echo "$file" >"$dir/$file"; done
	echo root | zstd -q >"$dir/root.ext4.zst"
	IMAGE_DIGEST=$(manifest_of "$dir" rootfs vmlinuz root.squashfs root.ext4.zst)
}
# deploy_init [VERSION]: the same of the image that erases; fake agents say that they run from it
deploy_init() {
	local dir=$WORK/head/images/deploy/${1:-1} file
	mkdir -p "$dir"
	for file in vmlinuz initrd.zst; do echo "$file ${1:-1}" >"$dir/$file"; done
	DEPLOY_SHA256=$(manifest_of "$dir" initramfs vmlinuz initrd.zst)
	export DEPLOY_SHA256
}

# deploy_image RELEASE: what every node boots, made like the images that a head has
deploy_image() {
	local dir=$WORK/head/images/deploy/1 file
	rm -rf "$dir" && mkdir -p "$dir"
	for file in vmlinuz initrd.zst; do echo "$file $1" >"$dir/$file"; done
	{
		echo "name = \"deploy\"; version = \"1\"; kind = \"initramfs\"; architecture = \"amd64\"; kernel_release = \"$1\"; files = ("
		for file in vmlinuz initrd.zst; do
			printf '{ name = "%s"; size = %dL; sha256 = "%s"; },\n' "$file" "$(stat -c %s "$dir/$file")" "$(sha256sum <"$dir/$file" | cut -d' ' -f1)"
		done | sed '$s/,$//'
		echo ');'
	} >"$dir/manifest.conf"
}

head_init() {
	mkdir -p "$WORK/head" "$WORK/etc/roles"
	cat >"$WORK/etc/phoenix.conf" <<-END
		state_dir = "$WORK/head"; run_dir = "$WORK/head"; address = "127.0.0.1"; interface = "lo";
		http_port = $HTTP; https_port = $HTTPS; dhcp_mode = "none"; tftp = "none";
		heartbeat_ms = 500; missing_after_ms = 2000; enrol_over_loopback = true;
		pools = ( { name = "batch"; owner = "batch"; setup = { mode = "noop"; }; },
			  { name = "web"; owner = "web"; setup = { mode = "noop"; }; } );
		${PHX_TEST_HEAD:-}
		$*
	END
	image_init
	head_start
}

# the key that packages are signed with: beside the head, which has the public half alone
package_key() {
	[ -e "$WORK/package.key" ] && return
	phx package key new "$WORK/package.key" >/dev/null && mkdir -p "$WORK/head/package-keys" &&
		cp "$WORK/package.pub" "$WORK/head/package-keys/tests.pub"
}
# the image is there before the first start, which phxd does not take for one
head_begin() {
	package_key
	[ -e "$WORK/head/journal.db" ] || "$BUILD/bin/phxd" --config "$PHX_CONFIG" --new-journal >>"$WORK/phxd.log" 2>&1
}
# what somebody did to the journal is accepted: the head is down
journal_accept() { "$BUILD/bin/phxd" --config "$PHX_CONFIG" --accept-journal >>"$WORK/phxd.log" 2>&1; }
head_start() {
	head_begin
	"$BUILD/bin/phxd" --config "$WORK/etc/phoenix.conf" >>"$WORK/phxd.log" 2>&1 &
	HEAD=$!
	until_true 15 api /v1/status || { echo "phxd does not answer" >&2; cat "$WORK/phxd.log" >&2; exit 1; }
}

head_stop() {
	[ -z "$HEAD" ] || { kill "$HEAD" && wait "$HEAD"; } 2>/dev/null
	HEAD=
}

# phxd is several processes: $HEAD is the launcher, which was started; this is the one that serves
head_pid() { pgrep -P "$HEAD" -f -- ' --head'; }

# all of phxd at once, as when the power goes: the launcher's end is that of the others
head_kill() {
	local serving
	serving=$(head_pid)
	{ kill -9 "$HEAD" && wait "$HEAD"; } 2>/dev/null
	HEAD=
	[ -z "$serving" ] || until_true 10 eval "! kill -0 $serving"
}

# package NAME VERSION SCRIPT [KEY]: a signed package whose bin/NAME is SCRIPT
package() {
	local src=$WORK/src/$1-$2
	mkdir -p "$src/files/bin"
	printf 'name = "%s"; version = "%s"; arch = "all"; summary = "a test";\n' "$1" "$2" >"$src/package.conf"
	printf '#!/bin/sh\n%s\n' "$3" >"$src/files/bin/$1"
	chmod 755 "$src/files/bin/$1"
	package_key
	phx package build "$src" --out "$WORK/head/packages" --sign-key "${4:-$WORK/package.key}" >/dev/null
}

# ---- agents ----

# node_init NAME N: what machine number N finds when it looks at itself
node_init() {
	chmod 755 "$WORK"
	node_root "$WORK/$1" "$2" "127.0.0.1:$HTTPS" "127.0.0.1:$HTTP" "$WORK/head/pki" "$WORK/package.pub"
	node_system "$WORK/$1" test 1 "$IMAGE_DIGEST"
}

agent_start() {
	local root=$WORK/$1
	"$BUILD/bin/phx-agent" --root "$root" --run-dir "$root/run" --facts "$root/facts.json" --boot-id "${2:-boot-$1}" \
		>>"$WORK/$1.log" 2>&1 &
	AGENT[$1]=$!
}

agent_stop() {
	{ kill "${AGENT[$1]}" && wait "${AGENT[$1]}"; } 2>/dev/null
	unset "AGENT[$1]"
}

agent_kill() {
	{ kill -9 "${AGENT[$1]}" && wait "${AGENT[$1]}"; } 2>/dev/null
	unset "AGENT[$1]"
}

# field NODE JQ
field() { api "/v1/nodes/$1" | jq -r "$2"; }
is() { [ "$(field "$1" "$2")" = "$3" ]; }
