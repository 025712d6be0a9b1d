# Agents and root beside people who take what they get: 4,000 connections of one user on the socket, 4,000 of one machine
# over TLS, and eight loops of that user which read all there is, on a journal of a million events. Sourced by run.

HOSTILE_NODES=${HOSTILE_NODES:-300}
HOSTILE_SECONDS=${HOSTILE_SECONDS:-60}
HOSTILE_EVENTS=${HOSTILE_EVENTS:-1000000}
HOSTILE_CONNECTIONS=${HOSTILE_CONNECTIONS:-4000}
HOSTILE_PIDS=()
HOSTILE_IN=()

hostile_down() {
	local fd
	for fd in "${HOSTILE_IN[@]}"; do exec {fd}>&-; done
	rm -f "$WORK/reading"
	[ ${#HOSTILE_PIDS[@]} = 0 ] || wait "${HOSTILE_PIDS[@]}" 2>/dev/null
	HOSTILE_PIDS=() HOSTILE_IN=()
}

# a journal of a phxd that has run, made long in memory: no disk syncs a million times
hostile_journal() {
	local dir
	head_start && head_stop || return 1
	dir=$(mktemp -d /dev/shm/phx-bench.XXXXXX) || return 1
	mv "$WORK"/head/journal.db* "$dir" && "$BUILD/tests/bench/fill" --events "$HOSTILE_EVENTS" "$dir/journal.db" 2>>"$WORK/phxd.log"
	local r=$?
	mv "$dir"/journal.db* "$WORK/head" && rmdir "$dir"
	return $r
}

# hoard_start NAMESPACE ARGUMENTS...
hostile_hoard() {
	local fifo=$WORK/hoard.$1 in
	mkfifo "$fifo"
	ip netns exec "$1" "$BUILD/tests/system/hoard" --connections "$HOSTILE_CONNECTIONS" "${@:2}" <"$fifo" >"$fifo.out" 2>>"$WORK/hoard.log" &
	HOSTILE_PIDS+=($!)
	exec {in}>"$fifo"
	HOSTILE_IN+=("$in")
	rm -f "$fifo"
}

hostile_reader() {
	local path
	while [ -e "$WORK/reading" ]; do
		for path in "/v1/events?after=0" /v1/nodes /v1/jobs; do
			setpriv --reuid=65533 --regid=65533 --clear-groups \
				curl -s -m 30 -o /dev/null --unix-socket "$PHX_SOCKET" "http://unix$path"
		done
	done
}

hostile_begin() {
	local i
	hostile_hoard "$HEAD_NS" --uid 65534 "$PHX_SOCKET"
	hostile_hoard "$NODE_NS" "$HEAD_IP:8443"
	: >"$WORK/reading"
	# they belong to another user than the hoard: its connections are taken by itself
	for i in 1 2 3 4 5 6 7 8; do
		hostile_reader 2>/dev/null &
		HOSTILE_PIDS+=($!)
	done
}

# How long root waits, in milliseconds, a line an answer; one that does not come in 100 s is told as such
root_waits() {
	local begin
	while [ -e "$WORK/reading" ]; do
		begin=$(now_ms)
		curl -s -m 100 -o /dev/null --unix-socket "$PHX_SOCKET" http://unix/v1/status
		echo $(($(now_ms) - begin))
		sleep 0.2
	done
}

hostile() {
	local out=$WORK/hostile.json missing swarm what="$HOSTILE_NODES agents beside $((2 * HOSTILE_CONNECTIONS)) hostile connections, $HOSTILE_EVENTS events"
	head_init && sed -i 's/connections_per_address = [0-9]*; requests_per_s = 0;//' "$PHX_CONFIG" && chmod 755 "$WORK" &&
		hostile_journal && head_start || { missed "$what" "phxd does not start, see $WORK/phxd.log"; return; }
	say "started with $HOSTILE_EVENTS events in $HEAD_START_MS ms; $HOSTILE_NODES machines enrol and connect"
	rm -f "$WORK/connected" "$WORK/reading"
	in_head "$BUILD/tests/bench/swarm" --server $HEAD_IP:8443 --ca "$WORK/head/pki/ca.pem" --socket "$PHX_SOCKET" --pid "$(head_pid)" \
		--nodes "$HOSTILE_NODES" --seconds "$HOSTILE_SECONDS" --connected "$WORK/connected" >"$out" 2>"$WORK/swarm.log" &
	swarm=$!
	while [ ! -e "$WORK/connected" ] && kill -0 $swarm 2>/dev/null; do sleep 0.1; done
	hostile_begin
	root_waits >"$WORK/root_waits" &
	HOSTILE_PIDS+=($!)
	if wait $swarm; then
		hostile_down
		missing=$(api "/v1/metrics" | awk '/^phx_nodes_up / { print $2 }')
		row "answer to a beat late by, 99 of 100 ($what)" 1 s - "$(jq '.late_ms.p99 / 1000' "$out")"
		row "root's phx status, median of $(wc -l <"$WORK/root_waits")" 1 s - "$(sort -n "$WORK/root_waits" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] / 1000 }')"
		row "the same, the slowest" - s - "$(sort -n "$WORK/root_waits" | tail -n 1 | awk '{ print $1 / 1000 }')"
		row "beats lost or refused" 0 "" - "$(jq .failures "$out")"
		row "memory of all processes of phxd beside them" 300 MB - "$(head_memory_mb)"
		note "$(jq -r '"hostile: \(.beats) beats in \(.seconds) s; late by \(.late_ms.p50) ms median, \(.late_ms.p99) p99, \(.late_ms.worst) worst; peak memory of the process that serves \(.peak_kib * 1024 / 1e6 | floor) MB"' "$out"); $missing nodes up at the end"
	else
		hostile_down
		missed "$what" "$(tail -n 1 "$WORK/swarm.log")"
	fi
	head_stop
}
