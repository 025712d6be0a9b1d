# What the measurements share: rows of the table, and a head with network namespaces of its own, so that neither
# addresses nor ports of this machine are touched. Sourced by tests/bench/run. Needs root, jq, curl.

set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
BUILD=$(realpath "${BUILD:-build}")
PATH=$PATH:/usr/sbin:/sbin
WORK=$BUILD/bench
ROWS=$WORK/rows
MISSED=()
LAB=bench
. tests/lab/lib.sh

# ---- the table ----

say() { printf '  %s\n' "$*" >&2; }

# row NAME TARGET UNIT SEED VALUES...: one line of the table. TARGET or SEED "-": there is none.
# VALUES: one a run; the worst is the largest, smaller is better in all of them.
row() {
	jq -nc --arg name "$1" --arg target "$2" --arg unit "$3" --arg seed "$4" --arg load "$(cut -d' ' -f1 /proc/loadavg)" \
		--arg command "make bench BENCH=$PART" '
		def number: if . == "-" then null else tonumber end;
		($ARGS.positional | map(tonumber) | sort) as $v | ($v | length) as $n |
		{command: $command, name: $name, target: ($target | number), unit: $unit, seed: ($seed | number), load: ($load | tonumber),
		 median: (if $n == 0 then null elif $n % 2 == 1 then $v[($n - 1) / 2] else ($v[$n / 2 - 1] + $v[$n / 2]) / 2 end),
		 worst: $v[-1], runs: $n, values: ($ARGS.positional | map(tonumber))}
		| .met = (if .target == null or .median == null then null else .median <= .target end)' \
		--args "${@:5}" >>"$ROWS"
	local what=$1
	shift 4
	say "$what: $*"
}
# note TEXT: printed below the table
note() { jq -nc --arg text "$*" '{note: $text}' >>"$ROWS"; }
# A measurement that could not be made: the table says so, and the run ends with status 1.
missed() {
	MISSED+=("$1")
	jq -nc --arg name "$1" --arg why "${2:-}" '{name: $name, failed: $why}' >>"$ROWS"
	say "$1: COULD NOT BE MEASURED${2:+: $2}"
}
# A measurement that found what must not be: it was made, and its result is a defect. CMD... shows it again.
broken() {
	local name=$1 why=$2
	shift 2
	MISSED+=("$name")
	jq -nc --arg name "$name" --arg why "$why; to see it again: $*" '{name: $name, broken: $why}' >>"$ROWS"
	say "$name: BROKEN: $why; to see it again: $*"
}

# one synchronous write of 4 KiB where phxd's journal will lie: what a commit costs at least
sync_ms() {
	local begin
	begin=$(now_ms)
	dd if=/dev/zero of="$WORK/sync" bs=4k count=200 oflag=dsync status=none && rm -f "$WORK/sync"
	awk -v ms=$(($(now_ms) - begin)) 'BEGIN { printf "%.2f", ms / 200 }'
}

bench_machine_json() {
	machine_json | jq -c --arg kernel "$(uname -sr)" --arg os "$(. /etc/os-release && echo "$PRETTY_NAME")" \
		--arg load "$(cut -d' ' -f1 /proc/loadavg)" --argjson sync "$(sync_ms)" \
		'. + {kernel: $kernel, os: $os, sync_write_ms: $sync, load_at_start: ($load | tonumber)}'
}

print_table() {
	jq -r '
		def pad($n): . + (" " * ([$n - length, 0] | max));
		def left($n): (" " * ([$n - length, 0] | max)) + .;
		def num: if . == null then "-" elif . >= 100 then (. + 0.5 | floor | tostring)
			else (. * 100 + 0.5 | floor) / 100 | tostring end;
		def cell($u): if . == null then "-" else num + " " + $u end;
		def line($c): ($c[0] | pad(58)) + ($c[1] | left(11)) + ($c[2] | left(11)) + ($c[3] | left(11)) +
			($c[4] | left(6)) + ($c[5] | left(11)) + ($c[6] | left(7)) + "  " + $c[7];
		"\(.machine.cpu), \(.machine.cores) cores, \(.machine.memory_bytes / 1073741824 * 10 + 0.5 | floor / 10) GiB, \(.machine.kernel), \(.machine.os); synchronous write \(.machine.sync_write_ms) ms; load \(.machine.load_at_start) when it began", "",
		line(["MEASURE", "TARGET", "MEDIAN", "WORST", "RUNS", "SEED", "LOAD", ""]),
		(.measures[] | . as $m | if .broken then ($m.name | pad(58)) + "  BROKEN: " + $m.broken
			elif .failed then ($m.name | pad(58)) + "  could not be measured: " + $m.failed
			else line([$m.name, ($m.target | cell($m.unit)), ($m.median | cell($m.unit)), ($m.worst | cell($m.unit)),
				($m.runs | tostring), ($m.seed | cell($m.unit)), ($m.load | tostring),
				(if $m.met == null then "" elif $m.met then "met" else "MISSED" end)]) end),
		"", (.notes[] | "- " + .)' "$1"
}

write_report() {
	jq -s --argjson machine "$MACHINE" '{machine: $machine, measures: map(select(.name)), notes: map(select(.note) | .note)}' \
		"$ROWS" >"$BUILD/bench.json"
}

# ---- time ----

now_ms() { echo $((${EPOCHREALTIME/[.,]/} / 1000)); }
seconds() { awk -v ms="$1" 'BEGIN { printf "%.3f", ms / 1000 }'; }
api() { curl -sS -m 90 --unix-socket "$PHX_SOCKET" "http://unix$1" "${@:2}"; }
seq_now() { api /v1/status | jq .seq; }
# events NODE AFTER JQ: what JQ makes of the list of events
events() { api "/v1/events?after=$2&limit=1000&node=$1" | jq -r ".events | $3"; }

# A hand-over from the accepted command to the event that makes the node active: handover NODE ROLE SETUP OPTIONS...
# Prints milliseconds.
handover() {
	local node=$1 role=$2 setup=$3 after ms
	after=$(seq_now)
	phx node assign "$node" "$role" --setup "$setup" --yes --wait --timeout 10m "${@:4}" >"$WORK/assign.out" 2>&1 ||
		{ cat "$WORK/assign.out" >&2; return 1; }
	ms=$(events "$node" "$after" '(map(select(.kind == "assign"))[0].time_ms) as $from |
		(map(select(any(.actions[]?; .kind == "note" and ((.text // "") | test("is active in pool")))))[-1].time_ms) as $to |
		if $from and $to then $to - $from else empty end')
	[ -n "$ms" ] && [ "$(api "/v1/nodes/$node" | jq -r .actual_role)" = "$role" ] && echo "$ms"
}

# ---- a head in a namespace, and one for a node beside it ----

HEAD_NS=phxbench-$$
NODE_NS=phxbench-$$n
HEAD_IP=10.213.77.1
NODE_IP=10.213.77.2
HEAD=

net_up() {
	ip netns add "$HEAD_NS" && ip netns add "$NODE_NS" &&
		ip link add h0 netns "$HEAD_NS" type veth peer name n0 netns "$NODE_NS" &&
		ip -n "$HEAD_NS" addr add $HEAD_IP/24 dev h0 && ip -n "$NODE_NS" addr add $NODE_IP/24 dev n0 || return 1
	ip -n "$HEAD_NS" link set lo up && ip -n "$NODE_NS" link set lo up &&
		ip -n "$HEAD_NS" link set h0 up && ip -n "$NODE_NS" link set n0 up
}
net_down() {
	ip netns del "$HEAD_NS" 2>/dev/null
	ip netns del "$NODE_NS" 2>/dev/null
	return 0
}
in_head() { ip netns exec "$HEAD_NS" "$@"; }
in_node() { ip netns exec "$NODE_NS" "$@"; }

# head_init MORE...: an empty head of its own below $WORK/head
head_init() {
	rm -rf "$WORK/head" "$WORK/etc" "$WORK"/package*.{key,pub}
	mkdir -p "$WORK/head/package-keys" "$WORK/etc/roles"
	phx package key new "$WORK/package.key" >/dev/null && cp "$WORK/package.pub" "$WORK/head/package-keys/bench.pub" &&
		cp "$WORK/package.pub" "$WORK/packages.pub"
	export PHX_SOCKET=$WORK/head/phxd.sock PHX_CONFIG=$WORK/etc/phoenix.conf
	cat >"$PHX_CONFIG" <<-END
		state_dir = "$WORK/head"; run_dir = "$WORK/head"; address = "$HEAD_IP"; interface = "h0"; enrol_over_loopback = true;
		dhcp_mode = "none"; tftp = "none"; connections_per_address = 65536; requests_per_s = 0;
		pools = ( { name = "batch"; owner = "campus"; setup = { mode = "noop"; }; },
			  { name = "web"; owner = "campus"; setup = { mode = "noop"; }; } );
		$*
	END
}
# Prints the milliseconds until it served; HEAD is the process that was started.
head_start() {
	local begin end
	[ -e "$WORK/head/journal.db" ] || "$BUILD/bin/phxd" --config "$PHX_CONFIG" --new-journal >>"$WORK/phxd.log" 2>&1
	begin=$(now_ms)
	ip netns exec "$HEAD_NS" "$BUILD/bin/phxd" --config "$PHX_CONFIG" >>"$WORK/phxd.log" 2>&1 &
	HEAD=$!
	end=$((SECONDS + 60))
	until curl -s -m 5 -o "$WORK/status" --unix-socket "$PHX_SOCKET" http://unix/v1/status; do
		[ $SECONDS -lt $end ] && kill -0 "$HEAD" || return 1
		sleep 0.005
	done
	HEAD_START_MS=$(($(now_ms) - begin))
}
# of phxd's processes the one that serves; HEAD is the launcher
head_pid() { pgrep -P "$HEAD" -f -- ' --head'; }
# head_proc FILE: that file of /proc of the launcher and of all processes that it and they started
head_proc() {
	local pid all=("$HEAD") i
	for ((i = 0; i < ${#all[@]}; i++)); do
		for pid in $(pgrep -P "${all[i]}"); do all+=("$pid"); done
	done
	for pid in "${all[@]}"; do cat "/proc/$pid/$1" 2>/dev/null; done
}
# Memory of all of them, in MB: what several share is counted once (Pss)
head_memory_mb() {
	head_proc smaps_rollup | awk '/^Pss:/ { n += $2 } END { printf "%.1f", n * 1024 / 1e6 }'
}

# head_stop [SIGNAL]
head_stop() {
	local serving
	[ -n "$HEAD" ] || return 0
	serving=$(head_pid)
	{ kill "-${1:-TERM}" "$HEAD" && wait "$HEAD"; } 2>/dev/null
	while [ -n "$serving" ] && kill -0 "$serving" 2>/dev/null; do sleep 0.005; done
	HEAD=
}
# restarts NODES TARGET SIGNAL NAME: a row of the seconds until the head serves its NODES again, three times
restarts() {
	local times=() i
	for i in 1 2 3; do
		head_stop "$3"
		head_start && [ "$(jq .nodes "$WORK/status")" = "$1" ] || { missed "$4" "phxd does not come back"; return; }
		times+=("$(seconds $HEAD_START_MS)")
	done
	row "$4" "$2" s - "${times[@]}"
}
