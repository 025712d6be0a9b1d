# Jobs of a batch RE, engine builtin: a real phxd and real agents as processes on one machine. How long from `phx job submit` to
# the first instruction of the job on an idle node; and how many one-second jobs a second are started on 64 agents when
# thousands wait. Then the same of a real Slurm with as many slurmd (slurm.sh). Sourced by run.

JOBS_RUNS=${JOBS_RUNS:-40}
JOBS_NODES=${JOBS_NODES:-64}
JOBS_QUEUED=${JOBS_QUEUED:-10000}
JOBS_AGENTS=()
JOBS_DIR=
JOBS_MS= # what was measured, to be compared
JOBS_RATE=

jobs_head() {
	head_init 'service_group = "users"; jobs_per_user = 10000;' && head_start && noop_image || return 1
	chmod 755 "$BUILD" "$WORK"
	cat >"$WORK/etc/roles/bench-compute.conf" <<-END
		summary = "jobs"; pool = "batch"; image = "debian-12"; boot = "ram"; runs_jobs = true; drain_grace = "1s";
	END
	phx reload >/dev/null
}

# jobs_agent N: machine N and its agent
jobs_agent() {
	local root=$JOBS_DIR/n$1 mac
	mac=$(printf '02:00:00:00:%02x:%02x' $(($1 / 256)) $(($1 % 256)))
	mkdir -p "$root/etc/phoenix" "$root/var/lib/phoenix" "$root/run"
	cp "$WORK/head/pki/ca.pem" "$WORK/head/pki/site.pub" "$WORK/packages.pub" "$root/etc/phoenix/"
	echo "server = \"$HEAD_IP:8443\"; http = \"$HEAD_IP:8080\"; supervisor = \"own\";" >"$root/etc/phoenix/agent.conf"
	echo "{\"image\": \"debian-12\", \"version\": \"1\", \"digest\": \"$IMAGE_DIGEST\"}" >"$root/var/lib/phoenix/system.json"
	printf '{"arch": "x86_64", "cpus": 2, "memory_bytes": 4294967296, "serial": "J%d", "uuid": "00000000-0000-4000-8000-%012d",
		 "disks": [{"id": "serial-J%d", "size_bytes": 4294967296}], "nics": [{"mac": "%s", "dev": "eth0", "link": true}]}' \
		"$1" "$1" "$1" "$mac" >"$root/facts.json"
	phx node add "j$1" --mac "$mac" >/dev/null || return 1
	ip netns exec "$HEAD_NS" "$BUILD/bin/phx-agent" --root "$root" --run-dir "$root/run" --facts "$root/facts.json" --boot-id "bench-$1" \
		>>"$WORK/agents.log" 2>&1 &
	JOBS_AGENTS+=($!)
}

active_nodes() { api /v1/nodes | jq '[.nodes[] | select(.state == "active" and .up)] | length'; }
are_active() { [ "$(active_nodes)" = "$1" ]; }
are_ready() { [ "$(api /v1/nodes | jq '[.nodes[] | select(.state == "ready")] | length')" = "$1" ]; }

# jobs_re N: an RE of all N nodes, active
jobs_re() {
	cat >"$WORK/queue.conf" <<-END
		name = "queue"; owner = "games"; type = "parallel_batch_jobs"; relationship = "same"; granularity = "node"; role = "bench-compute";
		coordinated_RE = "none"; resource_coordination_model = "fb"; lower_bound_size = $1; upper_bound_size = $1;
		scheduler = "first-fit"; setup_policy = "noop";
	END
	jobs_active queue "$1"
}
# jobs_active RE N: makes the RE of $WORK/RE.conf, and waits for its N nodes
jobs_active() {
	phx re create "$WORK/$1.conf" >/dev/null &&
		setpriv --reuid games --regid users --clear-groups curl -sSf -m 60 --unix-socket "$PHX_SOCKET" \
			"http://unix/v1/res/$1/activate" -d '{}' >/dev/null && (wait_for 120 "the nodes of the RE" are_active "$2")
}

# jobs_agents N: a head, and N agents that are ready
jobs_agents() {
	local i
	# as its user reads its node list, and short enough for a job's paths
	JOBS_DIR=$(mktemp -d /tmp/phx-bench.XXXXXX) && chmod 755 "$JOBS_DIR" && mkdir -m 777 "$JOBS_DIR/shared" && jobs_head || return 1
	for ((i = 1; i <= $1; i++)); do jobs_agent $i || return 1; done
	(wait_for 120 "the agents" are_ready "$1")
}
jobs_up() { jobs_agents "$1" && jobs_re "$1"; }
jobs_down() {
	local pid
	head_stop
	for pid in "${JOBS_AGENTS[@]}"; do kill "$pid"; done 2>/dev/null
	for pid in "${JOBS_AGENTS[@]}"; do wait "$pid"; done 2>/dev/null
	JOBS_AGENTS=()
	[ -z "$JOBS_DIR" ] || rm -rf "$JOBS_DIR"
	JOBS_DIR=
}

job_done() { [ "$(api "/v1/jobs/$1" | jq -r .state)" = done ]; }

# Milliseconds from before the command to the job's own clock. The node is idle and so is phxd.
job_latency() {
	local begin id
	begin=${EPOCHREALTIME/[.,]/}
	id=$(phx job submit --re queue --user nobody -- bash -c 'echo ${EPOCHREALTIME/[.,]/}') || return 1
	until job_done "$id"; do sleep 0.05; done
	awk -v a="$begin" -v b="$(phx job output "$id")" 'BEGIN { printf "%.1f", (b - a) / 1000 }'
}

# jobs_latency NAME TARGET COMMAND: COMMAND submits one job and prints how long that took to run
jobs_latency() {
	local values=() i
	for ((i = 0; i < JOBS_RUNS; i++)); do
		values+=("$("$3")") || { missed "$1"; return 1; }
		sleep 0.3
	done
	row "$1" "$2" ms - "${values[@]}"
	JOBS_MS=$(printf '%s\n' "${values[@]}" | sort -n | sed -n "$(((JOBS_RUNS + 1) / 2))p")
}

# All over one connection; the file is what curl reads.
submit_many() {
	local body="{\"re\": \"queue\", \"user\": \"nobody\", \"argv\": [\"sh\", \"-c\", \"echo >>$JOBS_DIR/shared/started; exec sleep 1\"]}"
	awk -v n="$1" -v body="${body//\"/\\\\\"}" 'BEGIN { for (i = 0; i < n; i++)
		printf "%surl = \"http://unix/v1/jobs\"\ndata = \"%s\"\noutput = \"/dev/null\"\n", i ? "next\n" : "", body }' >"$WORK/many"
	sed -i "s|^next\$|next\nunix-socket = \"$PHX_SOCKET\"\nfail|; 1i unix-socket = \"$PHX_SOCKET\"\nfail" "$WORK/many"
	curl -sS -m 600 -K "$WORK/many"
}

# watch_starts N SECONDS: how many of N jobs have begun, and when: one line a second until all have, or the time is over.
watch_starts() {
	local n=0 end=$((SECONDS + $2))
	while [ "$n" -lt "$1" ] && [ $SECONDS -lt $end ]; do
		n=$(wc -l 2>/dev/null <"$JOBS_DIR/shared/started" || echo 0)
		echo "$EPOCHREALTIME $n"
		sleep 1
	done
	[ "$n" -ge "$1" ]
}
# starts_a_second N: of the watched from a tenth to nine tenths of N: all nodes are busy, and jobs wait
starts_a_second() {
	awk -v n="$1" '$2 >= n / 10 && !t { t = $1; c = $2 } $2 <= n * 9 / 10 { u = $1; d = $2 }
		END { printf "%.1f", (u > t) ? (d - c) / (u - t) : 0 }' "$WORK/starts"
}

throughput() {
	local begin submit_ms name="jobs started a second, $JOBS_QUEUED of 1 s queued on $JOBS_NODES agents"
	begin=$(now_ms)
	watch_starts "$JOBS_QUEUED" $((JOBS_QUEUED / 8 + 60)) >"$WORK/starts" &
	local watcher=$!
	submit_many "$JOBS_QUEUED" || { missed "$name" "the jobs cannot be submitted"; return; }
	submit_ms=$(($(now_ms) - begin))
	wait $watcher || { missed "$name" "$(tail -n 1 "$WORK/starts" | cut -d' ' -f2) of $JOBS_QUEUED were started in time"; return; }
	JOBS_RATE=$(starts_a_second "$JOBS_QUEUED")
	row "$name" - 1/s - "$JOBS_RATE"
	note "jobs: $JOBS_NODES real agents, phxd and all jobs shared this machine's $(nproc) cores; at most $JOBS_NODES jobs a second are possible; submitted in $((submit_ms / 1000)) s over one connection"
}

jobs() {
	if jobs_up 1; then
		jobs_latency "phx job submit to running, an idle node" 100 job_latency
	else
		missed "phx job submit to running" "see $WORK/phxd.log"
	fi
	jobs_down
	if jobs_up "$JOBS_NODES"; then throughput; else missed "jobs on $JOBS_NODES agents" "see $WORK/phxd.log"; fi
	jobs_down
	slurm_jobs "$JOBS_MS" "$JOBS_RATE"
}
