# Day two: what it costs to look at ten thousand nodes (metrics), to keep a copy of their head while it serves (backup), to ask why
# one of them did not come up with a million rows of what was seen, and to keep the consoles of two hundred. Sourced by run.

DAY_ROWS=${DAY_ROWS:-1000000}
DAY_CONSOLES=${DAY_CONSOLES:-200}
DAY_SECONDS=${DAY_SECONDS:-30}
DAY_KEEP_S=5 # metrics_keep_s: a rendering serves all who ask so long
DAY_LINES=

day_down() {
	[ -z "$DAY_LINES" ] || kill "$DAY_LINES" 2>/dev/null
	DAY_LINES=
}

# day_scrape NAME TARGET RUNS PAUSE_S
day_scrape() {
	scale_asks "$1" "$2" "$3" /v1/metrics "$4"
	grep -q '^phx_node_up{node="swarm'"$SCALE_NODES"'"' "$WORK/answer" || missed "$1" "the last node is not in it"
}

day_backup() {
	local i begin times=() late
	scale_window >/dev/null
	for i in 1 2 3; do
		rm -f "$WORK/backup"
		begin=$(now_ms)
		phx backup "$WORK/backup" >"$WORK/answer" 2>&1 && [ -s "$WORK/backup" ] || { missed "phx backup" "$(tail -n 1 "$WORK/answer")"; return; }
		times+=("$(seconds $(($(now_ms) - begin)))")
	done
	late=$(scale_window)
	row "phx backup of a head that serves $SCALE_NODES nodes" 5 s - "${times[@]}"
	row "beats late by, 99 of 100, beside it" 1 s - "$(jq '.late_ms.p99 / 1000' <<<"$late")"
	note "a backup of $SCALE_NODES nodes: $(stat -c %s "$WORK/backup") bytes"
}

# the head has begun anew, with a database that was filled meanwhile
day_why() {
	local times
	head_stop
	"$BUILD/tests/bench/starts" --rows "$DAY_ROWS" --nodes "$SCALE_NODES" "$WORK/head/starts.db" || { missed "why" "starts.db is not filled"; return; }
	chown --reference="$WORK/head/journal.db" "$WORK/head"/starts.db*
	head_start || { missed "why" "phxd does not come back"; return; }
	mapfile -t times < <(scale_of_nodes /why)
	api "/v1/nodes/swarm$SCALE_NODES/why?rows=yes" >"$WORK/answer"
	[ "$(jq '.rows | length' "$WORK/answer")" -ge 100 ] || { missed "why" "no hundred rows: $(head -c 300 "$WORK/answer")"; return; }
	row "phx node why's answer, $DAY_ROWS rows of $SCALE_NODES nodes, median of 300" 100 ms - "${times[150]}"
	row "the same, the slowest" 100 ms - "${times[299]}"
	note "$DAY_ROWS rows of starts: $(stat -c %s "$WORK/head/starts.db") bytes"
}

# ---- consoles ----

# user and system time, in ticks, of the process of consoles and its conserver; the programs that are the consoles are the site's
day_ticks() {
	local pid all i ticks=0
	all=($(pgrep -f -- "--consoles .*$WORK"))
	for ((i = 0; i < ${#all[@]}; i++)); do
		all+=($(pgrep -P "${all[i]}" "conserver|phx"))
		ticks=$((ticks + $(awk '{ print $14 + $15 }' "/proc/${all[i]}/stat" 2>/dev/null || echo 0)))
	done
	[ ${#all[@]} -ge 2 ] && echo "$ticks"
}
day_up() { curl -s -m 20 --unix-socket "$PHX_SOCKET" "http://unix/v1/nodes/c$1/console" | jq -e .up >/dev/null; }
day_consoles() {
	local i before after end name="consoles of $DAY_CONSOLES nodes, a line a second each, logged (% of one core)"
	head_init "consoles = true; bmc_dir = \"$WORK/etc/bmc\";" && mkdir -p "$WORK/etc/bmc" && head_start || { missed "$name" "phxd does not start"; return; }
	: >"$WORK/etc/bmc/says"
	printf '#!/bin/sh\nexec tail -n 0 -f %s\n' "$WORK/etc/bmc/says" >"$WORK/etc/bmc/line" && chmod 755 "$WORK/etc/bmc/line"
	for ((i = 1; i <= DAY_CONSOLES; i++)); do
		api /v1/nodes -d "{\"name\": \"c$i\", \"macs\": [\"02:00:00:00:$(printf '%02x:%02x' $((i / 256)) $((i % 256)))\"]}" >"$WORK/answer"
	done
	phx node bmc "c[1-$DAY_CONSOLES]" driver=none console=script "console_script=$WORK/etc/bmc/line" >"$WORK/answer" 2>&1 || { missed "$name" "$(tail -n 1 "$WORK/answer")"; return; }
	end=$((SECONDS + 60))
	until day_up "$DAY_CONSOLES" && day_up 1; do
		[ $SECONDS -lt $end ] || { missed "$name" "the consoles do not come up"; return; }
		sleep 0.5
	done
	(while echo "[12345.678901] a line as kernels and services say them, of some eighty bytes in all"; do sleep 1; done) >>"$WORK/etc/bmc/says" &
	DAY_LINES=$!
	sleep 5
	before=$(day_ticks) && sleep "$DAY_SECONDS" && after=$(day_ticks) || { missed "$name" "conserver does not run"; return; }
	day_down
	i=$(cat "$WORK/head/console-logs/c$DAY_CONSOLES.log" | wc -l)
	[ "$i" -ge "$DAY_SECONDS" ] || { missed "$name" "the log of the last one has $i lines"; return; }
	row "$name" 5 % - "$(awk -v t=$((after - before)) -v s="$DAY_SECONDS" -v hz="$(getconf CLK_TCK)" 'BEGIN { print t * 100 / s / hz }')"
}

day() {
	scale_head && scale_connect || { missed "$SCALE_NODES nodes" "$(tail -n 1 "$WORK/swarm.log")"; scale_down; head_stop; return; }
	day_scrape "metrics of $SCALE_NODES nodes, rendered anew" 500 3 $((DAY_KEEP_S + 1))
	day_scrape "the same, while the last rendering is kept" - 5 0.1
	day_backup
	scale_down
	day_why
	head_stop
	command -v conserver >/dev/null && day_consoles || missed "consoles" "there is no conserver"
	head_stop
}
