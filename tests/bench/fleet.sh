# One head and a thousand agents: memory, CPU, restart. Sourced by run.

FLEET_NODES=${FLEET_NODES:-1000}
FLEET_SECONDS=${FLEET_SECONDS:-30}

fleet() {
	local out=$WORK/swarm.json
	head_init && head_start || { missed "phxd with $FLEET_NODES agents" "phxd does not start, see $WORK/phxd.log"; return; }
	say "$FLEET_NODES machines enrol and connect"
	if in_head "$BUILD/tests/bench/swarm" --server $HEAD_IP:8443 --ca "$WORK/head/pki/ca.pem" --socket "$PHX_SOCKET" \
		--pid "$(head_pid)" --nodes "$FLEET_NODES" --seconds "$FLEET_SECONDS" >"$out" 2>"$WORK/swarm.log"; then
		row "phxd memory, the process that serves, $FLEET_NODES agents on TLS, beat every 2 s" 100 MB - "$(jq '.rss_kib * 1024 / 1e6' "$out")"
		row "phxd CPU, the same (% of one core, over $FLEET_SECONDS s)" 10 % - "$(jq .cpu_percent "$out")"
		note "$(jq -r '"\(.nodes) agents: \(.beats) beats in \(.seconds) s, \(.failures) failures; peak memory \(.peak_kib * 1024 / 1e6 | floor) MB; enrolled in \(.enrol_s) s (three commits each), connected and registered in \(.connect_s) s"' "$out")"
	else
		missed "phxd with $FLEET_NODES agents" "$(tail -n 1 "$WORK/swarm.log")"
	fi
	restarts "$FLEET_NODES" 2 TERM "restart to serving with $FLEET_NODES nodes"
	restarts "$FLEET_NODES" 2 KILL "the same after SIGKILL (whole journal replayed)"
	head_stop
}
