# What the lab's scripts share. Sourced by main-job.sh and boot.sh; expects BUILD and LAB.
# Acts are functions; each prints what it does and fails loudly. Needs jq.

set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
BUILD=$(realpath "${BUILD:-build}")
LAB=${LAB:-lab}
LABS=$BUILD/lab
DIR=$LABS/$LAB
PHX=$BUILD/bin/phx
PATH=$PATH:/usr/sbin:/sbin
export PHX_LAB_DIR=$LABS PHX_SOCKET=$DIR/phxd.sock PHX_CONFIG=$DIR/etc/phoenix.conf

say() { printf '    %s\n' "$*"; }
die() {
	printf '    FAILED: %s\n' "$*" >&2
	exit 1
}
phx() { "$PHX" "$@"; }
lab() { "$PHX" lab "$@" --name "$LAB" --images "$BUILD/images"; }
in_lab() { "$PHX" lab exec --name "$LAB" "$@"; }
node_field() { phx node show "$1" -o json | jq -r ".. | objects | select(.name? == \"$1\" and has(\"plan\")) | $2" | head -n 1; }
machine_field() { lab status --json | jq -r ".machines[] | select(.name == \"$1\") | $2"; }

# wait_for SECONDS TEXT COMMAND...: until it succeeds
wait_for() {
	local end=$((SECONDS + $1)) what=$2
	shift 2
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || die "gave up waiting: $what"
		sleep 0.3
	done
}
state_is() { [ "$(node_field "$1" .state)" = "$2" ]; }
asked() { [ "$(node_field "$1" .asked)" = true ]; }

# curl_head PATH [OPTION...]: the head's answer, as JSON
curl_head() { curl -s --unix-socket "$PHX_SOCKET" "http://phxd$1" "${@:2}"; }

# page NODE [PATH]: what its web server answers, asked from inside the lab's network
page() { in_lab curl -sf -m 5 "http://$(machine_field "$1" .ip)${2:-/}"; }

# ---- disks, from outside ----

disk_of() { echo "$DIR/machines/$1/$(ls "$DIR/machines/$1" | grep -E '^disk.*' | head -n 1)"; }
# -z: a blank disk is one endless line otherwise. A search that fails is no answer.
disk_has() {
	grep -azqF "$2" "$(disk_of "$1")"
	case $? in 0) true ;; 1) false ;; *) die "the disk of $1 cannot be searched" ;; esac
}
# CANARY: what a script wrote there
has_canary() { disk_has "$1" "$CANARY"; }

# build and sign the roles' packages with the lab's key, put them into its repository
push_packages() {
	local key=$DIR/package.key src
	mkdir -p "$DIR/packages"
	for src in "$BUILD"/packages/src/*/; do
		phx package build "$src" --out "$DIR/packages" --sign-key "$key" >/dev/null || die "package build $src"
	done
	for src in "$DIR"/packages/*.tar.zst; do
		phx package push --dir "$DIR/state/packages" --pub "$DIR/package.pub" "$src" >/dev/null || die "package push $src"
	done
	phx reload >/dev/null || die "reload"
}

# compare what the agent found with what QEMU was told
check_inventory() {
	local n=$1 want got
	want=$(lab status --json | jq -c ".machines[] | select(.name == \"$n\") |
		{cpus, mac, serial, disks: ([.disks[] | {serial, size: .size_bytes}] | sort_by(.serial))}")
	got=$(phx node show "$n" -o json | jq -c "[.. | objects | select(.name? == \"$n\" and has(\"facts\"))][0] |
		{cpus: .facts.cpus, mac: .facts.nics[0].mac, serial: .facts.serial,
		 disks: ([.facts.disks[] | {serial, size: .size_bytes}] | sort_by(.serial))}")
	[ "$want" = "$got" ] || die "$n: inventory differs: QEMU was told $want, the agent found $got"
	local told found
	told=$(machine_field "$n" .memory_bytes)
	found=$(node_field "$n" .facts.memory_bytes)
	# the kernel keeps some of it for itself
	[ "$found" -gt $((told * 80 / 100)) ] && [ "$found" -le "$told" ] || die "$n: memory $found of $told"
	# a card and a disk controller, with their drivers, and what the firmware says of memory
	[ "$(node_field "$n" '[.facts.pci[] | select(.driver != "")] | length')" -ge 2 ] &&
		[ "$(node_field "$n" '[.facts.pci[] | select(.driver == "" and (.class_code / 65536 | floor) == 2)] | length')" = 0 ] || die "$n: $(phx node hardware "$n")"
	[ "$(node_field "$n" '[.facts.modules[].size_bytes] | add')" = "$told" ] || die "$n: $(phx node hardware "$n")"
}

# ---- checks of a script that ends with the first that fails ----

# check NAME COMMAND...: what it prints is kept in $OUT, a file of the script; of one that passes only what it says is shown. Of one
# that fails all is, with what head and machines have to say, and the script ends.
check() {
	local name=$1 begin=$SECONDS
	shift
	if ("$@") >"$OUT" 2>&1; then
		grep '^    ' "$OUT"
		echo "ok $name ($((SECONDS - begin)) s)"
		return
	fi
	echo "not ok $name ($((SECONDS - begin)) s)"
	cat "$OUT"
	phx events -n 60
	phx node show '@all'
	tail -n 30 "$DIR/phxd.log"
	tail -n 80 "$DIR"/machines/*/console.log
	exit 1
}

# ---- parts: what lab-report.json is made of ----

PARTS=()
FAILED=0
BROKEN= # a part that failed and on which all that follow rest
part() {
	local name=$1 begin end ok=true
	shift
	if [ -n "$BROKEN" ]; then
		printf '\nnot ok %s: not tried, because this failed: %s\n' "$name" "$BROKEN"
		PARTS+=("$(jq -nc --arg n "$name" '{name: $n, ok: false, skipped: true, seconds: 0}')")
		FAILED=$((FAILED + 1))
		return 1
	fi
	printf '\n== %s\n' "$name"
	begin=$(date +%s.%N)
	("$@") || ok=false
	end=$(date +%s.%N)
	local seconds
	seconds=$(awk "BEGIN { printf \"%.1f\", $end - $begin }")
	PARTS+=("$(jq -nc --arg n "$name" --argjson ok $ok --argjson s "$seconds" '{name: $n, ok: $ok, seconds: $s}')")
	if $ok; then
		printf 'ok %s (%s s)\n' "$name" "$seconds"
	else
		printf 'not ok %s (%s s)\n' "$name" "$seconds"
		FAILED=$((FAILED + 1))
		return 1
	fi
}
# a part without which the following ones mean nothing
need() { part "$@" || BROKEN=${BROKEN:-$1}; }
# the machine that a figure was measured on
machine_json() {
	jq -nc --arg cpu "$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)" --argjson cores "$(nproc)" \
		--argjson memory "$(awk '/^MemTotal/ { print $2 * 1024 }' /proc/meminfo)" \
		'{cpu: $cpu, cores: $cores, memory_bytes: $memory}'
}
write_report() {
	printf '%s\n' "${PARTS[@]}" | jq -s '{parts: .}' >"$1"
}
