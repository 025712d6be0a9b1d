# What share.sh and share-short.sh share: a director and some machines, two departments with an RE each, jobs, load.
# Sourced behind lib.sh; expects N_SHARED, the machines beside the director (node1), and SIZES, of the jobs.
VIP=10.77.0.250
MADE=$DIR.conf     # configuration made for this lab
RUN=$DIR.share     # what is written down while load is played
PAGE=/
USERS=32          # of the web service: so many requests at a time
CANARY="phoenix-canary-$$-$RANDOM$RANDOM"
SHARED="node[2-$((N_SHARED + 1))]"
BIN=$BUILD/tests/lab

# two service providers and an end user, each a user of the head
as() { setpriv --reuid "$1" --regid "$2" --clear-groups env -C / "$PHX" "${@:3}"; }
batch_dept() { as games users "$@"; }
web_dept() { as daemon users "$@"; }
end_user() { as nobody nogroup "$@"; }

# ---- the lab ----

make_conf() {
	mkdir -p "$MADE/roles" "$RUN"
	chmod 755 "$RUN"
	cp roles/*.conf "$MADE/roles/"
	# an instance under more load than it can bear is slow, not dead
	sed -i 's/^drain_grace.*/drain_grace = "60s";/; s/timeout = "2s";/timeout = "8s";/; s/failures = 3;/failures = 5;/' "$MADE/roles/web-server.conf"
	cat >>"$MADE/roles/web-server.conf" <<-END
		web = { address = "$VIP"; port = 80; scheduler = "wlc"; cpu_milli = 100; };
	END
	sed "s|@ROLES@|$MADE/roles|" tests/lab/share-head.conf >"$MADE/head.conf"
	{
		# the generic kernel: the one for virtual machines would come to the installed system without the balancer's modules
		printf 'name = "share"; subnet = "10.77.0.0/24"; deploy_image = "deploy"; head_conf = "%s";\nmachines = (\n' "$MADE/head.conf"
		local i
		for ((i = 1; i <= N_SHARED + 1; i++)); do
			printf '%s{ name = "node%d"; memory = "512 MiB"; disks = ( { bus = "virtio"; size = "2 GiB"; } ); }\n' "$([ $i = 1 ] || echo ,)" $i
		done
		echo ');'
	} >"$MADE/lab.conf"
}
stands() {
	lab down >/dev/null 2>&1
	rm -rf "$DIR" "$MADE" "$RUN"
	make_conf && lab up -f "$MADE/lab.conf" && push_packages
}
all_nodes() { seq -f 'node%g' 1 $((N_SHARED + 1)); }
# in_groups COMMAND: with two nodes at a time. All at once they take no less time (the machine has few CPUs), and each so
# long that a loaded machine misses deadlines.
in_groups() {
	local i
	for ((i = 1; i <= N_SHARED + 1; i += 2)); do
		"$@" $i $((i <= N_SHARED ? i + 1 : i)) || return 1
	done
}
boot_some() {
	local n
	phx node power "node[$1-$2]" on --wait --timeout 3m || return 1
	for n in $(seq -f 'node%g' "$1" "$2"); do wait_for 300 "$n enrols" asked "$n"; done
	phx node accept "node[$1-$2]" || return 1
	for n in $(seq -f 'node%g' "$1" "$2"); do wait_for 120 "$n is ready" state_is "$n" ready; done
}
boots() { in_groups boot_some; }
deploy_some() {
	local from=$1
	[ "$from" != 1 ] || { phx node assign node1 lvs-director --pin && from=2; } || return 1
	phx node assign "node[$from-$2]" web-server --wait --timeout 15m || return 1
	[ "$1" != 1 ] || phx node assign node1 lvs-director --pin --wait --timeout 10m
}

# Everybody has the system on disk; then a shared node says what it can do. Its capacity is measured, not assumed:
# requests a second at which its tenth of a CPU is used up.
deployed() {
	in_groups deploy_some || return 1
	local begin
	begin=$(date +%s%N)
	seq 150 | in_lab xargs -P 4 -I{} curl -sf -m 60 -o /dev/null "http://$(machine_field node2 .ip)$PAGE" || return 1
	awk "BEGIN { printf \"%.2f\\n\", 150e9 / ($(date +%s%N) - $begin) }" >"$RUN/capacity"
	say "an instance answers $(cat "$RUN/capacity") requests a second ($PAGE) with a tenth of its CPU"
	phx node release "$SHARED" --wait --timeout 5m
}

# ---- REs ----

# agreements SUFFIX BATCH_NODES SETUP: queueSUFFIX and pagesSUFFIX
agreements() {
	cat >"$RUN/queue$1.conf" <<-END
		name = "queue$1"; relationship = "affiliated"; type = "parallel_batch_jobs"; granularity = "node";
		role = "batch-compute"; coordinated_RE = "other"; partner = "pages$1"; resource_coordination_model = "fb";
		lower_bound_size = $2; upper_bound_size = $2; lease = "20s"; scheduler = "first-fit"; users = "nobody";
		kill_order = "smallest-latest"; kill_grace = "2s"; setup_policy = "$3"; setup_moment = "release";
		setup_start = "kexec"; start_ahead = true;
	END
	cat >"$RUN/pages$1.conf" <<-END
		name = "pages$1"; relationship = "affiliated"; type = "web_service"; granularity = "node"; role = "web-server";
		coordinated_RE = "other"; partner = "queue$1"; resource_coordination_model = "fb"; lower_bound_size = 1;
		upper_bound_size = 1; lease = "20s"; window = "20s"; threshold = 0.8; initial_instances = 1; setup_policy = "noop"; setup_start = "kexec";
		start_ahead = true;
	END
	chmod 644 "$RUN"/*.conf
}
re_field() { curl_head "/v1/res/$1" | jq -r "$2"; }
re_is() { [ "$(re_field "$1" "$2")" = "$3" ]; }
n_free_is() { [ "$(curl_head /v1/status | jq '.pools[] | select(.name == "free") | .nodes')" = "$1" ]; }
has_grown() { [ "$(re_field "$1" .nodes.held)" -ge 2 ]; }
holds() { [ "$(re_field "$1" '"\(.nodes.held) \(.nodes.coming)"')" = "$2 0" ]; }
serving() { curl_head /v1/balance | jq '[.services[].servers[] | select(.weight > 0)] | length'; }
serves_on() { [ "$(serving)" -ge "$1" ]; }

# begin SUFFIX BATCH_NODES SETUP: asked for, created, active
begin_sharing() {
	agreements "$@"
	phx re check "$RUN/queue$1.conf" "$RUN/pages$1.conf" || return 1
	web_dept re request "$RUN/pages$1.conf" && batch_dept re request "$RUN/queue$1.conf" || return 1
	phx re create "pages$1" && phx re create "queue$1" || return 1
	web_dept re activate "pages$1" --wait --timeout 5m || return 1
	batch_dept re activate "queue$1" --wait --timeout 5m || return 1
	wait_for 300 "queue$1 holds $2 nodes" holds "queue$1" "$2"
	wait_for 60 "an instance is in the balancer's table" serves_on 1
	re_is "queue$1" .paired_with "pages$1"
}
end_sharing() {
	batch_dept re deactivate "queue$1" --safe || return 1
	wait_for 300 "queue$1 has ended" re_is "queue$1" .state deactivated
	web_dept re deactivate "pages$1" --yes --wait --timeout 5m || return 1
	wait_for 300 "the nodes are free" n_free_is $N_SHARED
}

# ---- jobs: each computes a little every second on each of its nodes, and leaves a canary on their disks ----

JOB='for i in $(seq $1); do head -c 65536 /dev/urandom | sha256sum; sleep 1; done >/var/tmp/work.$PHX_JOB_ID; yes "$2" | head -n 20000 >/var/tmp/canary.$PHX_JOB_ID; sync; echo "$(hostname) is done"'
submit_job() {
	local id
	id=$(end_user job submit --re "$1" -n "$2" -t 20m -- /bin/sh -c "$JOB" job "$3" "$CANARY") || die "job submit"
	echo "$id $2" >>"$RUN/sizes"
}
# submit_jobs RE COUNT SECONDS: sizes in turn
submit_jobs() {
	local i
	for ((i = 0; i < $2; i++)); do submit_job "$1" "${SIZES[i % ${#SIZES[@]}]}" $(($3 * (2 + i % 3) / 3)); done
}
jobs_not_done() { curl_head "/v1/jobs?re=$1" | jq '[.jobs[] | select(.state != "done")] | length'; }
all_done() { [ "$(jobs_not_done "$1")" = 0 ]; }
jobs_complete() {
	wait_for 600 "every job of $1 is done" all_done "$1"
	curl_head "/v1/jobs?re=$1" | jq -r '.jobs | "\(length) jobs done, \([.[] | select(.kills > 0)] | length) of them after \([.[].kills] | add) kills"' | sed 's/^/    /'
	local id
	for id in $(curl_head "/v1/jobs?re=$1" | jq -r '.jobs[] | "\(.id):\(.nodes)"'); do
		wait_for 60 "all ${id#*:} nodes of job ${id%:*} say that they are done" said_done "${id%:*}" "${id#*:}"
	done
}
said_done() { [ "$(phx job output "$1" | grep -c 'is done')" = "$2" ]; }

# ---- load ----

# rates CSV DAY FROM_HOUR TO_HOUR SECONDS PEAK: those hours of a day as "SECOND RATE", scaled to the peak (of that part)
rates() {
	case $1 in *.xz) xz -dc "$1" ;; *) cat "$1" ;; esac |
		awk -F'[ :,]' -v day="$2" -v from="$3" -v to="$4" -v seconds="$5" -v peak="$6" '
			$1 == day && $2 >= from && $2 < to { k = int(($2 * 60 + $3 - from * 60) / 10); sum[k] += $5; if (k + 1 > n) n = k + 1 }
			END {
				if (!n) exit 1
				for (k = 0; k < n; k++) if (sum[k] > most) most = sum[k]
				for (k = 0; k < n; k++) printf "%.2f %.3f\n", k * seconds / n, sum[k] / most * peak
				printf "%.2f 0\n", seconds
			}'
}
# times the capacity of an instance
of_capacity() { awk -v c="$(cat "$RUN/capacity")" -v f="$1" 'BEGIN { printf "%.3f", c * f }'; }

watch_begins() {
	"$BIN/share_watch" --socket "$PHX_SOCKET" --batch "queue$1" --web "pages$1" --out "$RUN/watch$1.csv" --runs "$RUN/runs$1.csv" 2>"$RUN/watch$1.err" &
	WATCH=$!
}
watch_ends() {
	kill "$WATCH"
	wait "$WATCH"
}
# play_begins SUFFIX [--hold SECOND]: plays RUN/ratesSUFFIX
play_begins() {
	"$PHX" lab exec --name "$LAB" "$BIN/load_play" --url "http://$VIP$PAGE" --rates "$RUN/rates$1" --users $USERS --out "$RUN/load$1.csv" \
		--served "$RUN/served$1.csv" --timeout 300 "${@:2}" >"$RUN/play$1.out" 2>&1 &
	PLAYER=$!
}
play_ends() { wait "$PLAYER"; }
# how many requests the rates of standard input ask for
asked_by_rates() { awk '{ if (NR > 1) n += ($1 - from) * rate; from = $1; rate = $2 } END { printf "%d\n", n }'; }
# Nothing failed, all was answered, and no fewer requests were sent than the rates ask for (of the last one, rounded, a tenth may
# be missing), and some hundred at least.
nothing_failed() {
	local sent answered failed least
	tail -n 3 "$RUN/play$1.out" | sed 's/^/    /'
	least=$(($(asked_by_rates <"$RUN/rates$1") * 9 / 10))
	[ "$least" -ge 100 ] || die "the rates ask for $least requests: too few to show anything"
	read -r sent answered failed < <(sed -n 's/^\([0-9]*\) requests, \([0-9]*\) answered, \([0-9]*\) failed$/\1 \2 \3/p' "$RUN/play$1.out") ||
		die "the player did not say how many requests it sent"
	[ "$sent" -ge "$least" ] || die "$sent requests were sent, fewer than $least"
	[ "$failed" = 0 ] && [ "$answered" = "$sent" ]
}
draw() {
	"$BIN/share_draw" --watch "$RUN/watch$1.csv" --load "$RUN/load$1.csv" --csv "$2.csv" --svg "$2.svg" --title "$3"
}

# ---- what must hold ----

journal() {
	local after=0 page last
	: >"$RUN/events.json"
	while :; do
		page=$(curl_head "/v1/events?after=$after&limit=1000")
		jq -c '.events[]' <<<"$page" >>"$RUN/events.json"
		last=$(jq '.events | last | .seq // 0' <<<"$page")
		[ "$last" -gt "$after" ] || break
		after=$last
	done
}
# the order of kills, from the journal and the runs that were seen; knows nothing of the core
kill_order() {
	journal
	jq -R -s -r --slurpfile events "$RUN/events.json" --rawfile sizes "$RUN/sizes" --arg re "queue$1" -f tests/lab/share-kills.jq <"$RUN/runs$1.csv" >"$RUN/kills$1.out" || die "the kills cannot be checked"
	sed 's/^/    /' "$RUN/kills$1.out"
	grep -q ^ok "$RUN/kills$1.out" && ! grep -q '^WRONG' "$RUN/kills$1.out"
}
# replays EVENTS: with at least so many, and half as many actions: an empty journal is identical, too
replays() {
	sqlite3 "$DIR/state/journal.db" ".backup '$RUN/journal.db'" || die "copy of the journal"
	phx sim replay -o json "$RUN/journal.db" | tee "$RUN/replay.json" | jq -r '"    \(.events) events, \(.actions) actions"'
	jq -e ".identical and .events >= $1 and .actions >= $1 / 2" "$RUN/replay.json" >/dev/null || die "$(head -c 2000 "$RUN/replay.json")"
}

# ---- the agreement that wants nodes wiped when they leave the queue ----

hosts_of() { curl_head /v1/nodes | jq -r "[.nodes[] | select(.allocation == \"held\" and .allocated_to == \"$1\") | .name] | join(\" \")"; }
canary_everywhere() {
	local n
	for n in $(hosts_of "queue$1"); do has_canary "$n" || return 1; done
}
# The morning of a day is played, and its noon lasts until a node has come out of the queue and serves; then the evening.
wiped_variant() {
	local batch=$((N_SHARED - 1)) node first
	begin_sharing "$1" $batch wipe || return 1
	watch_begins "$1"
	trap 'kill "$WATCH" "${PLAYER:-$WATCH}" 2>/dev/null' EXIT
	submit_job "queue$1" $batch 1
	wait_for 300 "the first job is done" all_done "queue$1"
	canary_everywhere "$1" || die "the canary is not on the disks of the queue's nodes"
	first=$(hosts_of "pages$1")
	submit_jobs "queue$1" "$2" 30
	rates etc/sim/samples/web.csv 1998-06-10 4 22 120 "$(of_capacity 1.1)" >"$RUN/rates$1"
	play_begins "$1" --hold 53
	wait_for 400 "a second node serves pages$1" has_grown "pages$1"
	node=$(hosts_of "pages$1" | tr ' ' '\n' | grep -vx "$first" | head -n 1)
	[ -n "$node" ] || die "which node came?"
	has_canary "$node" && die "$node was wiped, and the canary is on its disk"
	canary_everywhere "$1" || die "the canary is gone from a node that was not wiped: the search proves nothing"
	phx node erasures "$node" | sed 's/^/    /'
	say "$node came to serve: no canary on its disk; it is on those of the queue: $(hosts_of "queue$1")"
	wait_for 60 "two instances are in the balancer's table" serves_on 2
	kill -USR1 "$PLAYER"
	wait_for 400 "the web has given it back" holds "pages$1" 1
	play_ends
	say "$(tail -n 1 "$RUN/play$1.out")"
	jobs_complete "queue$1" || return 1
	wait_for 120 "the queue has all its nodes" holds "queue$1" $batch
	watch_ends
	trap - EXIT
}
