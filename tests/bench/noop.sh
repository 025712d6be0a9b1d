# NOOP hand-over without emulation: a real phxd and a real phx-agent as processes, the agent in namespaces of its own,
# the shipped roles and packages (nginx on port 80 of the node's namespace). Sourced by run.

NOOP_RUNS=${NOOP_RUNS:-20}
NODE=$WORK/node
AGENT=

# an image that no machine could boot: the system that the node is said to run
noop_image() {
	local dir=$WORK/head/images/debian-12/1 file sep=
	mkdir -p "$dir"
	for file in vmlinuz root.squashfs; do echo "$file" >"$dir/$file"; done
	{
		echo 'name = "debian-12"; version = "1"; kind = "rootfs"; architecture = "amd64"; kernel_release = "6.1.0-bench";'
		echo 'files = ('
		for file in vmlinuz root.squashfs; do
			printf '%s{ name = "%s"; size = %dL; sha256 = "%s"; }\n' "$sep" "$file" "$(stat -c %s "$dir/$file")" \
				"$(sha256sum <"$dir/$file" | cut -d' ' -f1)"
			sep=,
		done
		echo ');'
	} >"$dir/manifest.conf"
	IMAGE_DIGEST=$(sha256sum <"$dir/manifest.conf" | cut -d' ' -f1)
}

# the shipped roles; a process has no disk of its own, so the system counts as one in RAM
noop_roles() {
	sed 's|^boot = .*|boot = "ram";|' roles/batch-compute.conf >"$WORK/etc/roles/batch-compute.conf"
	sed -e 's|^boot = .*|boot = "ram";|' -e "s|stop_grace = |env = [ \"PHX_RUN_DIR=$NODE/run/web\" ]; stop_grace = |" \
		roles/web-server.conf >"$WORK/etc/roles/web-server.conf"
	local src
	for src in "$BUILD"/packages/src/*/; do
		phx package build "$src" --out "$WORK/head/packages" --sign-key "$WORK/package.key" >/dev/null || return 1
	done
	phx reload >/dev/null
}

noop_node() {
	rm -rf "$NODE"
	mkdir -p "$NODE/etc/phoenix" "$NODE/var/lib/phoenix" "$NODE/run/web"
	cp "$WORK/head/pki/ca.pem" "$WORK/head/pki/site.pub" "$WORK/packages.pub" "$NODE/etc/phoenix/"
	echo "server = \"$HEAD_IP:8443\"; http = \"$HEAD_IP:8080\"; supervisor = \"own\";" >"$NODE/etc/phoenix/agent.conf"
	echo "{\"image\": \"debian-12\", \"version\": \"1\", \"digest\": \"$IMAGE_DIGEST\"}" >"$NODE/var/lib/phoenix/system.json"
	cat >"$NODE/facts.json" <<-END
		{"arch": "x86_64", "cpus": 2, "memory_bytes": 4294967296, "serial": "BENCH", "boot_mode": "uefi",
		 "uuid": "00000000-0000-4000-8000-0000000000be",
		 "disks": [{"id": "serial-BENCH-0", "serial": "B0", "model": "BENCH", "size_bytes": 4294967296, "can_discard": true}],
		 "nics": [{"mac": "02:00:00:00:be:01", "dev": "n0", "link": true}]}
	END
	phx node add bench1 --mac 02:00:00:00:be:01 >/dev/null || return 1
	ip netns exec "$NODE_NS" unshare --mount --pid --fork --kill-child --mount-proc "$BUILD/bin/phx-agent" --root "$NODE" \
		--run-dir "$NODE/run" --facts "$NODE/facts.json" --boot-id bench >>"$WORK/agent.log" 2>&1 &
	AGENT=$!
}

page_served() { in_node curl -sf -m 2 -o "$WORK/page" http://127.0.0.1/ && grep -q h1 "$WORK/page"; }
port_closed() { ! in_node curl -s -m 2 -o "$WORK/page" http://127.0.0.1/; }

noop_prepare() {
	head_init && head_start && noop_image && noop_roles && noop_node &&
		(wait_for 20 "the agent" state_is bench1 ready) &&
		handover bench1 batch-compute noop >/dev/null && handover bench1 web-server noop >/dev/null &&
		handover bench1 batch-compute noop >/dev/null
}

# where the time of the last hand-over went, step by step: "name ms"
noop_steps() {
	api /v1/nodes/bench1 | jq -r '[.plan.steps[] | "\(.kind) \(.ended_ms - .issued_ms)"] | join(", ")'
}

noop_measure() {
	local i to_web=() to_batch=() all=() pairs=() a b
	for ((i = 0; i < NOOP_RUNS; i += 2)); do
		a=$(handover bench1 web-server noop) && page_served || return 1
		[ $i = 0 ] && note "NOOP batch to web, steps in ms: $(noop_steps)"
		b=$(handover bench1 batch-compute noop) && port_closed || return 1
		[ $i = 0 ] && note "NOOP web to batch, steps in ms: $(noop_steps)"
		to_web+=("$(seconds "$a")") to_batch+=("$(seconds "$b")")
		all+=("$(seconds "$a")" "$(seconds "$b")") pairs+=("$(seconds $((a + b)))")
	done
	row "NOOP hand-over, no emulation, packages prefetched" 0.2 s - "${all[@]}"
	row "  of these: batch to web" - s - "${to_web[@]}"
	row "  of these: web to batch" - s - "${to_batch[@]}"
	row "  there and back (assign and reclaim one node)" - s 15.743 "${pairs[@]}"
}

noop_share() {
	local out=$WORK/share.json
	if in_head "$BUILD/tests/bench/share" --server $HEAD_IP:8443 --ca "$WORK/head/pki/ca.pem" --socket "$PHX_SOCKET" \
		--image debian-12 --digest "$IMAGE_DIGEST" --runs "$NOOP_RUNS" batch-compute web-server >"$out" 2>"$WORK/share.log"; then
		# shellcheck disable=SC2046
		row "  the daemon's own share (agent that answers at once)" 10 ms - $(jq -r '.ms[]' "$out")
	else
		missed "the daemon's own share" "$(tail -n 1 "$WORK/share.log")"
	fi
}

# what every command of phx pays before it does anything, by the clock, with the shell's fork
phx_start() {
	local i begin ms=()
	for ((i = 0; i < 200; i++)); do
		begin=${EPOCHREALTIME/[.,]/}
		"$PHX" --version >"$WORK/version" || return 1
		ms+=("$(awk -v us=$((${EPOCHREALTIME/[.,]/} - begin)) 'BEGIN { print us / 1000 }')")
	done
	row "start of phx (phx --version)" 10 ms - "${ms[@]}"
}

noop() {
	phx_start || missed "start of phx" "phx --version fails"
	noop_prepare && noop_measure || missed "NOOP hand-over, no emulation" "see $WORK/agent.log and $WORK/phxd.log"
	noop_share
	[ -z "$AGENT" ] || { kill -KILL "$AGENT" && wait "$AGENT"; } 2>/dev/null # unshare heeds no other; its namespace dies with it
	AGENT=
	head_stop
}
