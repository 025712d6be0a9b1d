# The portal with 200 browsers open on the page Cluster of 10,000 nodes: what they cost phxd beside what the changes themselves cost, with
# none, 10 and 1,000 nodes that change a second. Sourced by run.

PORTAL_BROWSERS=${PORTAL_BROWSERS:-200}
PORTAL_NODES=${PORTAL_NODES:-10000}
PORTAL_SECONDS=${PORTAL_SECONDS:-20}
PORTAL_PIDS=()

portal_down() {
	[ ${#PORTAL_PIDS[@]} = 0 ] || kill "${PORTAL_PIDS[@]}" 2>/dev/null
	PORTAL_PIDS=()
}

portal_announce() {
	local i
	for ((i = 1; i <= PORTAL_NODES; i++)); do
		printf 'next\nurl = "http://unix/v1/nodes"\nunix-socket = "%s"\nsilent\noutput = "/dev/null"\ndata = "{\\"name\\": \\"m%d\\", \\"macs\\": [\\"02:00:00:01:%02x:%02x\\"]}"\n' \
			"$PHX_SOCKET" "$i" $((i >> 8)) $((i & 255))
	done | tail -n +2 >"$WORK/announce"
	curl --config "$WORK/announce"
}

# a session of each user that there is, into cookies
portal_sign_in() {
	local user word
	: >"$WORK/cookies"
	for user in $(cut -d: -f1 /etc/passwd | head -n 20); do
		word=$(setpriv --reuid="$user" --regid="$(id -g "$user")" --init-groups "$BUILD/bin/phx" portal 2>/dev/null | sed -n 's/.*#link=//p')
		[ -z "$word" ] || in_head curl -sS -o /dev/null -D - --cacert "$WORK/head/pki/ca.pem" "https://$HEAD_IP:8443/v1/session" -d "{\"word\": \"$word\"}" |
			sed -n 's/^[Ss]et-[Cc]ookie: __Host-phoenix=\([0-9a-f]*\);.*/\1/p' >>"$WORK/cookies"
	done
	[ "$(wc -l <"$WORK/cookies")" -ge 13 ]
}

# portal_change RATE: so many labels a second, for as long as a measurement takes
portal_change() {
	local i=0 n=$1 end=$((SECONDS + PORTAL_SECONDS)) next
	next=$(now_ms)
	while [ $SECONDS -lt $end ]; do
		[ "$n" = 0 ] || api /v1/actions/label -o /dev/null -d "{\"nodes\": \"m[$((1 + i % 9 * n))-$((n + i % 9 * n))]\", \"labels\": {\"rack\": \"r$i\"}}"
		i=$((i + 1))
		next=$((next + 1000))
		sleep "$(awk -v ms=$((next - $(now_ms))) 'BEGIN { print (ms > 0 ? ms / 1000 : 0) }')"
	done
}
portal_ticks() { awk '{ print $14 + $15 }' "/proc/$(head_pid)/stat"; }
portal_rss() { awk '/^VmRSS:/ { print $2 / 1024 }' "/proc/$(head_pid)/status"; }
# % of a core while so many change
portal_cpu() {
	local before
	before=$(portal_ticks)
	portal_change "$1"
	awk -v n=$(($(portal_ticks) - before)) -v s="$PORTAL_SECONDS" -v hz="$(getconf CLK_TCK)" 'BEGIN { printf "%.2f", 100 * n / hz / s }'
}

portal() {
	local rate alone=() with=() memory i out
	command -v node >/dev/null || { missed "the portal with $PORTAL_BROWSERS browsers" "there is no node"; return; }
	head_init && chmod 755 "$WORK" && head_start && portal_announce && portal_sign_in ||
		{ missed "the portal with $PORTAL_BROWSERS browsers" "no head with $PORTAL_NODES nodes, or no sessions, see $WORK/phxd.log"; head_stop; return; }
	for rate in 0 10 1000; do alone+=("$(portal_cpu $rate)"); done
	memory=$(portal_rss)
	i=0
	for rate in 0 10 1000; do
		rm -f "$WORK/begin"
		mkfifo "$WORK/begin"
		in_head node tests/bench/portal_readers.mjs "https://$HEAD_IP:8443" "$WORK/head/pki/ca.pem" "$WORK/cookies" "$PORTAL_BROWSERS" "$PORTAL_SECONDS" \
			<"$WORK/begin" >"$WORK/readers" 2>>"$WORK/readers.log" &
		PORTAL_PIDS=($!)
		exec {out}>"$WORK/begin"
		(wait_for 60 "browsers" grep -q open "$WORK/readers") || { missed "the portal with $PORTAL_BROWSERS browsers" "$(tail -n 1 "$WORK/readers.log")"; break; }
		[ $rate != 0 ] || row "memory of phxd that $PORTAL_BROWSERS open browsers cost" 100 MiB - "$(awk -v a="$memory" -v b="$(portal_rss)" 'BEGIN { printf "%.1f", b - a }')"
		echo >&"$out"
		with=$(portal_cpu $rate)
		wait "${PORTAL_PIDS[0]}"
		exec {out}>&-
		row "CPU of phxd that $PORTAL_BROWSERS open browsers cost (% of a core), $rate changes/s" 20 % - "$(awk -v a="${alone[i]}" -v b="$with" 'BEGIN { printf "%.1f", b - a }')"
		note "$rate changes a second: phxd takes ${alone[i]} % of a core without browsers, $with % with them; $(tail -n 1 "$WORK/readers" |
			jq -r --argjson s "$PORTAL_SECONDS" '"\(.events) events to \(.open), \(.bytes / $s / 1e6 * 10 | floor / 10) MB/s, \(.lost) lost, \(.ended) ended"')"
		i=$((i + 1))
	done
	portal_down
	head_stop
}
