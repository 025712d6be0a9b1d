# Ten thousand nodes on one head, each an agent with its own TLS connection (swarm.c): what a reader waits for, what an
# order for half of them takes, and whether a reader ever costs a beat. Sourced by run.

SCALE_NODES=${SCALE_NODES:-10000}
SCALE_SECONDS=${SCALE_SECONDS:-10} # of each disturbance
SCALE_SWARM=
SCALE_READERS=()

scale_down() {
	scale_calm
	[ -z "$SCALE_SWARM" ] || { kill "$SCALE_SWARM" && wait "$SCALE_SWARM"; } 2>/dev/null
	SCALE_SWARM=
}

scale_head() {
	head_init "connections_max = $((SCALE_NODES + 1000));" && head_start && noop_image || return 1
	cat >"$WORK/etc/roles/bench-compute.conf" <<-END
		summary = "work"; pool = "batch"; image = "debian-12"; boot = "ram"; drain_grace = "1s";
	END
	phx reload >/dev/null
}

# Machines that enrolled in an earlier run of this head are not there any more: each run begins with an empty one.
scale_connect() {
	rm -f "$WORK/connected" "$WORK/orders"
	ip netns exec "$HEAD_NS" "$BUILD/tests/bench/swarm" --server $HEAD_IP:8443 --ca "$WORK/head/pki/ca.pem" --socket "$PHX_SOCKET" \
		--pid "$(head_pid)" --nodes "$SCALE_NODES" --seconds 0 --connected "$WORK/connected" --orders "$WORK/orders" \
		--image debian-12 --digest "$IMAGE_DIGEST" >"$WORK/scale.json" 2>"$WORK/swarm.log" &
	SCALE_SWARM=$!
	until [ -e "$WORK/connected" ]; do
		kill -0 $SCALE_SWARM 2>/dev/null || return 1
		sleep 0.2
	done
	sleep 7 # it lets things settle
}

# Ends the swarm's window and prints what it says of it.
scale_window() {
	local before
	before=$(wc -l <"$WORK/scale.json")
	kill -USR1 "$SCALE_SWARM"
	until [ "$(wc -l <"$WORK/scale.json")" -gt "$before" ]; do sleep 0.05; done
	tail -n 1 "$WORK/scale.json"
}

# How often nodes were said to be quiet or missing after event $1
scale_missed() {
	api "/v1/events?after=$1" | jq '[.events[] | select(.kind == "quiet" or .kind == "missing")] | length'
}

# scale_asks NAME TARGET RUNS PATH [SECONDS]: answers through the socket, in ms, with a pause before each
scale_asks() {
	local i s times=()
	for ((i = 0; i < $3; i++)); do
		sleep "${5:-0.1}"
		s=$(curl -sS -f -m 60 -o "$WORK/answer" -w '%{time_total}' --unix-socket "$PHX_SOCKET" "http://unix$4") || { missed "$1" "$4 was refused"; return; }
		times+=("$(awk '{ print $1 * 1000 }' <<<"$s")")
	done
	row "$1" "$2" ms - "${times[@]}"
}

# scale_runs NAME TARGET RUNS COMMAND...: a command, in ms
scale_runs() {
	local i times=() begin
	for ((i = 0; i < $3; i++)); do
		begin=$(now_ms)
		"${@:4}" >"$WORK/answer" || return 1
		times+=($(($(now_ms) - begin)))
	done
	row "$1" "$2" ms - "${times[@]}"
}

# scale_of_nodes [SUFFIX]: the answers about 300 nodes, in ms, the shortest first
scale_of_nodes() {
	local i
	for ((i = 1; i <= 300; i++)); do
		curl -sS -f -m 60 -o "$WORK/answer" -w '%{time_total}\n' --unix-socket "$PHX_SOCKET" \
			"http://unix/v1/nodes/swarm$((i * 31 % SCALE_NODES + 1))${1:-}" | awk '{ print $1 * 1000 }'
	done | sort -g
}
scale_one() {
	local times
	mapfile -t times < <(scale_of_nodes)
	row "one node by the API, median of 300 ($SCALE_NODES nodes)" 10 ms - "${times[150]}"
	row "the same, 99 of 100" 10 ms - "${times[297]}"
}

scale_reads() {
	scale_asks "GET /v1/status, $SCALE_NODES nodes" 5 10 /v1/status
	scale_asks "GET /v1/nodes, everything of all" - 3 /v1/nodes
	note "GET /v1/nodes: $(stat -c %s "$WORK/answer") bytes of $SCALE_NODES nodes"
	scale_asks "GET /v1/nodes, what phx node list asks for" 50 5 "/v1/nodes?fields=$(scale_fields)"
	note "the fields of a list: $(stat -c %s "$WORK/answer") bytes"
	scale_runs "phx node list" 300 5 phx node list
	scale_runs "phx node list ONE" 10 20 phx node list swarm77
	scale_one
}
# as cmd/phx/node_list.c has them, with what goes with them
scale_fields() { sed -n '/list_fields\[\] =/,/;$/p' cmd/phx/node_list.c | grep -o '"[^"]*"' | tr -d '"
'; }

# scale_order NAME FROM TO HOW: orders for half of the nodes; one line a node's first order is in $WORK/orders
scale_order() {
	local before begin answered half=$((SCALE_NODES / 2)) end
	before=$(wc -l <"$WORK/orders")
	begin=$(mono_ms)
	$4 "swarm[$2-$3]" >"$WORK/answer" || { missed "$1" "$(head -c 200 "$WORK/answer")"; return; }
	answered=$(($(mono_ms) - begin))
	end=$((SECONDS + 60))
	until [ $(($(wc -l <"$WORK/orders") - before)) -ge $half ] || [ $SECONDS -gt $end ]; do sleep 0.2; done
	[ $(($(wc -l <"$WORK/orders") - before)) -ge $half ] || { missed "$1" "$(($(wc -l <"$WORK/orders") - before)) of $half orders came"; return; }
	row "$1: answer" 1 s - "$(seconds $answered)"
	row "$1: the last one is out" 2 s - "$(awk -v b="$begin" -v n="$before" 'NR > n && $1 > t { t = $1 } END { print (t - b) / 1000 }' "$WORK/orders")"
}
mono_ms() { awk '{ printf "%d", $1 * 1000 }' /proc/uptime; }
scale_by_api() {
	curl -sSf -m 100 --unix-socket "$PHX_SOCKET" http://unix/v1/actions/assign \
		-d "{\"nodes\": \"$1\", \"role\": \"bench-compute\", \"setup\": {\"mode\": \"noop\"}}"
}
scale_by_phx() { phx node assign "$1" bench-compute --setup noop --yes --force; }

# ---- readers against agents ----

scale_loop() {
	while [ -e "$WORK/reading" ]; do curl -s -m 30 -o /dev/null --unix-socket "$PHX_SOCKET" "http://unix$1"; done
}
scale_calm() {
	rm -f "$WORK/reading"
	[ ${#SCALE_READERS[@]} = 0 ] || { kill "${SCALE_READERS[@]}" && wait "${SCALE_READERS[@]}"; } 2>/dev/null
	SCALE_READERS=()
}

# scale_against NAME: the disturbance is under way
scale_against() {
	local seq late
	seq=$(seq_now)
	scale_window >/dev/null
	sleep "$SCALE_SECONDS"
	late=$(scale_window)
	scale_calm
	row "beats late by, 99 of 100, beside $1" 1 s - "$(jq '.late_ms.p99 / 1000' <<<"$late")"
	row "nodes said to be quiet or missing, beside $1" 0 "" - "$(($(scale_missed "$seq") + $(jq .failures <<<"$late")))"
}
scale_readers() {
	local i
	for ((i = 0; i < 50; i++)); do
		"$PHX" events -f >/dev/null 2>&1 &
		SCALE_READERS+=($!)
	done
	scale_against "50 phx events -f"
	for i in /v1/nodes /v1/status; do
		: >"$WORK/reading"
		scale_loop $i &
		SCALE_READERS+=($!)
		scale_against "a loop of GET $i"
	done
}

# Half of the machines have fallen silent, and are said to be missing while the other half is ordered about.
gone() {
	local half=$((SCALE_NODES / 2)) end missing=0
	scale_head && scale_connect || { missed "$SCALE_NODES nodes" "$(tail -n 1 "$WORK/swarm.log")"; scale_down; head_stop; return; }
	kill -USR2 "$SCALE_SWARM"
	sleep 6 # from then on they are told as missing
	scale_order "orders for half of the nodes while the other half goes missing" 1 $half scale_by_api
	end=$((SECONDS + 60))
	until [ "$missing" -ge $half ] || [ $SECONDS -gt $end ]; do
		sleep 1
		missing=$(api "/v1/nodes?fields=name,missing_since_ms&sparse=yes" | jq '[.nodes[] | select(.missing_since_ms)] | length')
	done
	row "phxd memory, all its processes, half of the nodes missing" 300 MB - "$(head_memory_mb)"
	scale_asks "GET /v1/status, half of the nodes missing" 5 10 /v1/status
	if [ "$missing" -ge $half ]; then
		row "nodes that beat and are said to be missing" 0 "" - "$((missing - half))"
	else
		missed "nodes that beat and are said to be missing" "$missing of $half silent ones are said to be"
	fi
	scale_down
	head_stop
}

scale() {
	scale_head && scale_connect || { missed "$SCALE_NODES nodes" "$(tail -n 1 "$WORK/swarm.log")"; scale_down; head_stop; return; }
	sleep "$SCALE_SECONDS"
	local quiet
	quiet=$(scale_window)
	note "$(jq -r '"\(.nodes) agents enrolled in \(.enrol_s) s, connected and registered in \(.connect_s) s"' <<<"$quiet")"
	row "phxd memory, all its processes, $SCALE_NODES agents on TLS" 300 MB - "$(head_memory_mb)"
	row "  of these: the process that serves" - MB - "$(jq '.rss_kib * 1024 / 1e6' <<<"$quiet")"
	row "phxd CPU, their beats (% of one core)" 25 % - "$(jq .cpu_percent <<<"$quiet")"
	scale_reads
	row "phxd memory, all its processes, after the lists" 300 MB - "$(head_memory_mb)"
	scale_readers
	scale_order "orders for half of the nodes, by the API" 1 $((SCALE_NODES / 2)) scale_by_api
	sleep 5
	scale_order "orders for the other half, by phx node assign" $((SCALE_NODES / 2 + 1)) "$SCALE_NODES" scale_by_phx
	row "phxd memory at the end, the peak of the process that serves" - MB - "$(scale_window | jq '.peak_kib * 1024 / 1e6')"
	scale_down
	restarts "$SCALE_NODES" 1 TERM "restart to serving with $SCALE_NODES nodes"
	head_stop
}
