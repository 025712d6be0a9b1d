#!/bin/bash
# alone: it fetches packages over the network of the machine
# A balancer and two web nodes: the kernel's table is the wanted one (ipvsadm says so too); a node leaves by a NOOP
# hand-over and no request fails; a node that loses power is out of the table within 5 s; a web RE grows under load,
# measured against the CPU quota of its instances; a director that dies, or is cut off, has a successor, and one of them
# answers. Prints "ok NAME" or "not ok NAME" a step.
# KEEP=1 leaves the lab; LAB=NAME ONLY="STEP ..." does some steps in one that was left.
export LAB=${LAB:-web$$}
. "$(dirname "$0")/lib.sh"
VIP=10.77.0.250
MADE=$DIR.conf
[ -n "${KEEP:-}" ] || trap 'lab down >/dev/null 2>&1; rm -rf "$DIR" "$MADE"' EXIT

check() {
	local name=$1 begin=$SECONDS
	shift
	[ -z "${ONLY:-}" ] || [[ " $ONLY " == *" $name "* ]] || return 0
	if ("$@"); then
		echo "ok $name ($((SECONDS - begin)) s)"
	else
		echo "not ok $name"
		phx node list
		phx events -n 40
		curl_head /v1/balance
		for n in node1 node2 node3; do tail -n 25 "$DIR/machines/$n/console.log" 2>/dev/null; done
		tail -n 20 "$DIR"/phxd.log 2>/dev/null
		exit 1
	fi
}

# ---- what this lab has beside the others: roles, and a package with ipvsadm that writes to the director's console ----

make_conf() {
	mkdir -p "$MADE/roles"
	cp roles/*.conf "$MADE/roles/"
	sed -i 's/^drain_grace.*/drain_grace = "60s";/' "$MADE/roles/web-server.conf"
	cat >>"$MADE/roles/web-server.conf" <<-END
		web = { address = "$VIP"; port = 80; scheduler = "wlc"; cpu_milli = 100; };
	END
	cat >>"$MADE/roles/lvs-director.conf" <<-END
		packages = [ "ipvs-look" ];
		services = ( { name = "look"; package = "ipvs-look"; exec = [ "bin/look" ]; } );
	END
	sed -i 's/^packages.*/packages = [ "batch-tools", "restarter" ];/' "$MADE/roles/batch-compute.conf"
	cat >>"$MADE/roles/batch-compute.conf" <<-END
		services = ( { name = "restarter"; package = "restarter"; exec = [ "bin/restarter" ]; } );
	END
	sed "s|@ROLES@|$MADE/roles|" tests/lab/web-head.conf >"$MADE/head.conf"
	sed "s|@HEAD@|$MADE/head.conf|" tests/lab/web.conf >"$MADE/lab.conf"
}

# the oracle: Debian's ipvsadm, which reads the table as it likes
pack_look() {
	local src=$DIR/packages-look/src out=$DIR/packages root=$DIR/packages-look/root
	mkdir -p "$src/files/bin" "$src/files/lib" "$root" "$out"
	roles/packages/fetch-debs "$root" ipvsadm libpopt0 libnl-3-200 libnl-genl-3-200 || return 1
	cp "$root/sbin/ipvsadm" "$src/files/bin/" || cp "$root/usr/sbin/ipvsadm" "$src/files/bin/" || return 1
	find "$root" -name 'libnl-*.so.*' -o -name 'libpopt.so.*' | xargs -I{} cp -L {} "$src/files/lib/"
	cat >"$src/files/bin/look" <<-'END'
		#!/bin/sh
		export LD_LIBRARY_PATH=$PHX_PACKAGE/lib
		while :; do
			"$PHX_PACKAGE/bin/ipvsadm" -Sn | tr '\n' ';' | sed 's/^/IPVSADM /;s/$/\n/' >/dev/console
			sleep 1
		done
	END
	chmod 755 "$src/files/bin/look"
	printf 'name = "ipvs-look";\nversion = "1";\narch = "amd64";\nsummary = "ipvsadm on the console";\n' >"$src/package.conf"
	phx package build "$src" --out "$out" --sign-key "$DIR/package.key" >/dev/null
}

# what no job may do: it restarts the agent for one that asks for it, and tells the console of other jobs' processes
pack_restarter() {
	local src=$DIR/packages-restarter/src
	mkdir -p "$src/files/bin" "$DIR/packages"
	cat >"$src/files/bin/restarter" <<-'END'
		#!/bin/sh
		while :; do
			echo "SLEEPERS $(grep -lzx '765[456]' /proc/[0-9]*/cmdline 2>/dev/null | wc -l)" >/dev/console
			sleep 1
			rm /var/cache/phoenix-jobs/*/restart-agent 2>/dev/null || continue
			systemctl restart phx-agent
			systemctl kill --kill-whom=all --signal=KILL phx-agent
		done
	END
	chmod 755 "$src/files/bin/restarter"
	printf 'name = "restarter";\nversion = "1";\narch = "all";\nsummary = "restarts the agent, looks for sleepers";\n' >"$src/package.conf"
	phx package build "$src" --out "$DIR/packages" --sign-key "$DIR/package.key" >/dev/null
}

up() { make_conf && lab up -f "$MADE/lab.conf" && pack_look && pack_restarter && push_packages; }
boots() {
	phx node power 'node[1-3]' on --wait --timeout 2m || return 1
	for n in node1 node2 node3; do wait_for 240 "$n enrols" asked $n; done
	phx node accept 'node[1-3]' || return 1
	for n in node1 node2 node3; do wait_for 60 "$n is ready" state_is $n ready; done
}
deploys() {
	phx node assign node1 lvs-director --pin &
	phx node assign 'node[2-3]' web-server --wait --timeout 10m || return 1
	wait $!
	phx node assign node1 lvs-director --pin --wait --timeout 5m
}

# ---- the table ----

# "ADDRESS=WEIGHT ..." as it should be, as the director's agent reads it, as ipvsadm reads it
wanted() { curl_head /v1/balance | jq -r '[.services[].servers[] | "\(.address)=\(.weight)"] | join(" ")'; }
has() { node_field node1 '.monitor.balancer.services // [] | [.[].servers[] | "\(.address)=\(.weight)"] | join(" ")'; }
oracle() {
	tr -d '\r' <"$DIR/machines/node1/console.log" | grep -a '^IPVSADM' | tail -n 1 | tr ';' '\n' |
		sed -n "s/^-a -t $VIP:80 -r \([0-9.]*\):80 -g -w \([0-9]*\)\$/\1=\2/p" | sort | paste -sd' '
}
table_is() { [ "$(wanted)" = "$1" ] && [ "$(has)" = "$1" ]; }
ip_of() { machine_field "$1" .ip; }
both() { echo "$(ip_of node2)=1 $(ip_of node3)=1"; }

table_is_wanted() {
	wait_for 20 "the director's table: $(both)" table_is "$(both)"
	sleep 2
	say "ipvsadm: $(oracle)"
	[ "$(oracle)" = "$(both)" ] || die "ipvsadm says '$(oracle)'"
}
both_answer() {
	local who
	who=$(for i in 1 2 3 4 5 6; do in_lab curl -sf -m 5 "http://$VIP/health"; done | sort | uniq -c)
	say "$(echo $who)"
	grep -q node2 <<<"$who" && grep -q node3 <<<"$who"
}

# ---- jobs below systemd: each has a scope, nothing of it is left, and it does not mind its agent ----

job_field() { curl_head "/v1/jobs/$1" | jq -r "$2"; }
job_is() { [ "$(job_field "$1" .state)" = "$2" ]; }
submit() { phx job submit --user nobody "$@" | grep -oE '[0-9]+' | head -n 1; }
# how many processes of node3 have 7654, 7655 or 7656 for an argument, as its console said last
sleepers_are() { [ "$(tr -d '\r' <"$DIR/machines/node3/console.log" | grep -a '^SLEEPERS' | tail -n 1)" = "SLEEPERS $1" ]; }
jobs_have_scopes() {
	local id
	phx node assign node3 batch-compute --setup noop --wait --timeout 3m || return 1
	id=$(submit -- sh -c 'cat /proc/self/cgroup; i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done')
	wait_for 180 "a job ends" job_is "$id" done
	phx job output "$id" | sed 's/^/    /'
	phx job output "$id" | grep -q "phx-jobs.slice/phx-job-.*-$id.0.scope/job" || return 1
	say "CPU $(job_field "$id" .parts[0].cpu_ms) ms, memory $(job_field "$id" .parts[0].memory_peak_bytes) bytes"
	# the memory of its group, not of the largest process of the agent
	[ "$(job_field "$id" .parts[0].cpu_ms)" -gt 10 ] && [ "$(job_field "$id" .parts[0].memory_peak_bytes)" -lt 8000000 ] || return 1
	# daemons in sessions of their own
	id=$(submit --grace 2s -- sh -c 'setsid sh -c "setsid sleep 7654 & trap : TERM; sleep 7655" & sleep 7656')
	wait_for 90 "it runs, with its daemons" sleepers_are 3
	phx job cancel "$id" && wait_for 90 "it is over" job_is "$id" cancelled
	wait_for 60 "nothing of it is left" sleepers_are 0
}
agent_restarts_under_a_job() {
	local id
	id=$(submit -- sh -c 'a=$(systemctl show -P MainPID phx-agent); touch restart-agent; sleep 15; b=$(systemctl show -P MainPID phx-agent); echo "agent $a then $b"; [ "$a" != "$b" ]')
	wait_for 180 "the job ends" job_is "$id" done
	phx job output "$id" | sed 's/^/    /'
	[ "$(job_field "$id" .kills)" = 0 ] || die "it was killed"
	phx node assign node3 web-server --setup noop --wait --timeout 3m && wait_for 10 "node3 is back" table_is "$(both)"
}

# ---- load; each request its own connection ----

load() { in_lab wrk -t 1 -c 4 -d "$1" --timeout 8s -H 'Connection: close' "http://$VIP$2" >"$DIR/wrk.out" 2>&1; }
# load_is_whole REQUESTS: none failed of at least so many
load_is_whole() {
	local sent
	sed 's/^/    /' "$DIR/wrk.out"
	sent=$(sed -n 's/^ *\([0-9]*\) requests in .*/\1/p' "$DIR/wrk.out")
	[ "${sent:-0}" -ge "$1" ] || die "${sent:-no} requests were answered, fewer than $1: that shows nothing"
	! grep -qE 'Socket errors|Non-2xx' "$DIR/wrk.out"
}

leaves_without_failures() {
	load 20s /health &
	sleep 3
	phx node assign node3 batch-compute --setup noop --wait --timeout 3m || return 1
	wait_for 5 "node3 is out of the table" table_is "$(ip_of node2)=1"
	say "weights seen by ipvsadm: $(tr -d '\r' <"$DIR/machines/node1/console.log" | grep -aoE "r $(ip_of node3):80 -g -w [0-9]" | uniq | tail -n 2 | tr '\n' ' ')"
	wait
	load_is_whole 100
}
comes_back_without_failures() {
	load 20s /health &
	sleep 2
	phx node assign node3 web-server --setup noop --wait --timeout 3m || return 1
	wait_for 5 "node3 is in the table" table_is "$(both)"
	wait
	load_is_whole 100
}
slow_request_survives() {
	in_lab curl -s -m 60 -o "$DIR/slow.out" -w '%{http_code} %{size_download} %{time_total}\n' "http://$(ip_of node2)/work/10" >"$DIR/slow.want"
	for i in 1 2 3 4; do
		in_lab curl -s -m 60 -o /dev/null -w '%{http_code} %{size_download} %{time_total}\n' "http://$VIP/work/10" >"$DIR/slow.$i" &
	done
	sleep 0.5
	phx node assign node3 batch-compute --setup noop --wait --timeout 3m || return 1
	wait
	cat "$DIR"/slow.want "$DIR"/slow.[1-4] | sed 's/^/    /'
	[ "$(cut -d' ' -f1,2 "$DIR"/slow.want "$DIR"/slow.[1-4] | uniq -c | awk '{ print $1, $2 }')" = '5 200' ] || return 1
	phx node assign node3 web-server --setup noop --wait --timeout 3m && wait_for 5 "node3 is back" table_is "$(both)"
}
# A client that keeps its connection and says nothing does not hold the node, and is let go whole.
idle_client_is_let_go() {
	cat >"$DIR/idle.sh" <<-END
		for i in 1 2 3 4; do
			(
				exec 3<>/dev/tcp/$VIP/80
				printf 'GET /health HTTP/1.1\r\nHost: x\r\n\r\n' >&3
				cat <&3 >"$DIR/idle.\$i"
				echo "closed after \$SECONDS s" >>"$DIR/idle.\$i"
			) &
		done
		wait
	END
	in_lab timeout 90 bash "$DIR/idle.sh" &
	sleep 2
	local begin=$SECONDS
	phx node assign node3 batch-compute --setup noop --wait --timeout 3m || return 1
	say "left after $((SECONDS - begin)) s with clients that only stay connected (drain_grace is 60 s)"
	[ $((SECONDS - begin)) -lt 50 ] || return 1
	grep -c 'closed after' "$DIR"/idle.[1-4] | sed 's/^/    /'
	grep -lq 'ok node3' "$DIR"/idle.[1-4] || die "no client was at node3"
	for i in $(grep -l 'ok node3' "$DIR"/idle.[1-4]); do grep -q '200 OK' "$i" && grep -q 'closed after' "$i" || return 1; done
	phx node assign node3 web-server --setup noop --wait --timeout 3m && wait_for 5 "node3 is back" table_is "$(both)"
	wait
}
killed_is_out() {
	local begin now rests=
	begin=$(date +%s%N)
	lab kill node3 || return 1
	until [ "$(wanted)" = "$(ip_of node2)=1" ]; do
		case $(wanted) in *=0) rests=${rests:-$((($(date +%s%N) - begin) / 1000000))} ;; esac
		sleep 0.1
	done
	now=$(date +%s%N)
	say "weight 0 after ${rests:-?} ms"
	say "out of the wanted table after $(((now - begin) / 1000000)) ms"
	until [ "$(has)" = "$(ip_of node2)=1" ]; do sleep 0.1; done
	now=$(date +%s%N)
	say "out of the director's table (as its next beat tells) after $(((now - begin) / 1000000)) ms"
	[ $((now - begin)) -lt 5000000000 ]
}

# ---- quota ----

use_of() { node_field "$1" '.monitor.web_use_ppm // -1'; }
use_above() { [ "$(use_of "$1")" -gt "$2" ]; }
use_below() { [ "$(use_of "$1")" -ge 0 ] && [ "$(use_of "$1")" -lt "$2" ]; }
use_is_of_the_quota() {
	use_below node2 500000 || die "idle: $(use_of node2)"
	say "idle: $(use_of node2) millionths of a tenth of a CPU"
	load 15s /work/3 &
	wait_for 12 "node2 uses its share" use_above node2 800000
	say "under load: $(use_of node2)"
	wait
	sed 's/^/    /' "$DIR/wrk.out" | grep -E 'requests in|Socket'
	wait_for 10 "node2 is idle again" use_below node2 500000
}

# ---- a web RE: it grows when its instances use more than 80 % of their shares ----

seen_by_director() { node_field node1 "[.monitor.balancer.services // [] | .[].servers[] | select(.active + .inactive > 0)] | length"; }
# when did the journal first say so, after event SEQ
event_ms() { curl_head "/v1/events?after=$2&limit=1000" | jq "[.events[] | select(.text | test(\"$1\")) | .time_ms] | first"; }
re_serves() { [ "$(wanted | wc -w)" = "$1" ] && [ "$(has | wc -w)" = "$1" ]; }
web_re_grows() {
	phx node power node3 on >/dev/null
	wait_for 300 "node3 is back" table_is "$(both)"
	phx node release 'node[2-3]' --wait --timeout 3m || return 1
	cat >"$MADE/shop.conf" <<-'END'
		name = "shop";
		relationship = "same";
		type = "web_service";
		granularity = "node";
		role = "web-server";
		coordinated_RE = "none";
		resource_coordination_model = "flb-nub";
		lower_bound_size = 1;
		upper_bound_size = "none";
		window = "20s";
		threshold = 0.8;
		initial_instances = 1;
		setup_policy = "noop";
	END
	phx re create "$MADE/shop.conf" && phx re activate shop || return 1
	wait_for 120 "one node serves the RE" re_serves 1
	local granted served seq
	seq=$(curl_head /v1/status | jq .seq)
	load 60s /work/3 &
	wait_for 60 "a second instance" re_serves 2
	until [ "$(seen_by_director)" = 2 ]; do sleep 0.1; done
	served=$(date +%s%3N)
	granted=$(event_ms 'the web RE wants more' "$seq")
	phx re history shop | sed 's/^/    /'
	say "from the decision to a request on the second node: $((served - granted)) ms (as the director's next beat tells)"
	wait
	load_is_whole 50 || return 1
	[ $((served - granted)) -le 15000 ]
}
re_shrinks() {
	wait_for 90 "one instance is enough again" re_serves 1
	phx re history shop | tail -n 3 | sed 's/^/    /'
}

# ---- two directors: one acts; another one takes its place and its address, and gets it alone ----

is_free() { [ "$(node_field "$1" '.state + " " + .pool')" = 'ready free' ]; }
acting() { curl_head /v1/balance | jq -r .director; }
acts() { [ "$(acting)" = "$1" ]; }
is_up() { [ "$(node_field "$1" .up)" = "$2" ]; }
other_than() { [ "$1" = node1 ] && echo node3 || echo node1; }
asked_mac() { in_lab ip neigh show $VIP | sed -n 's/.*lladdr \([^ ]*\).*/\1/p'; }
# nobody but that node says it has the address, however often it is asked for
answers_alone() {
	local mac i
	mac=$(machine_field "$1" .mac)
	for i in 1 2 3 4 5 6 7 8; do
		in_lab ip neigh flush to $VIP
		in_lab curl -sf -m 2 "http://$VIP/health" >/dev/null && [ "$(asked_mac)" = "$mac" ] || return 1
	done
}
# until_served SINCE: and how long that took
until_served() {
	until in_lab curl -sf -m 0.5 "http://$VIP/health" >/dev/null; do
		[ $(($(date +%s%3N) - $1)) -lt 30000 ] || die "nobody answers for 30 s"
	done
	say "the address answers again after $(($(date +%s%3N) - $1)) ms, from $(asked_mac)"
}
# what a director said of an address that it gave up, in the journal since event SEQ; of a report, or a registration
said_given_up() { curl_head "/v1/events?after=$2&limit=1000" | jq -e "[.events[] | select(.node == \"$1\" and (.event.text // \"\" | test(\"was given up to\")))] | length > 0"; }

two_directors_stand_by() {
	phx re deactivate shop --yes || return 1
	for n in node2 node3; do wait_for 60 "$n is free" is_free $n; done
	phx node assign node3 lvs-director --pin --wait --timeout 3m && phx node assign node2 web-server --wait --timeout 3m || return 1
	wait_for 10 "one web node" table_is "$(ip_of node2)=1"
	acts node1 && answers_alone node1
}
# Its cable is pulled: it goes on holding the address, where nobody hears it, and comes back with it.
director_is_cut_off() {
	local old=node1 new=node3 begin tap
	tap=tap$(($(machine_field $old .index)))
	begin=$(date +%s%3N)
	in_lab ip link set "$tap" down || return 1
	wait_for 30 "$new acts" acts $new
	until_served "$begin"
	load 30s /health &
	sleep 2
	in_lab ip link set "$tap" up || return 1
	begin=$(date +%s%3N)
	wait_for 40 "$old is heard again" is_up $old true
	say "heard again after $(($(date +%s%3N) - begin)) ms"
	wait
	load_is_whole 100 && acts $new && answers_alone $new
}
# It hears everybody but the head: it sees its successor, and gives the address up.
director_loses_the_head() {
	local old=node3 new=node1 seq begin
	seq=$(curl_head /v1/status | jq .seq)
	begin=$(date +%s%3N)
	in_lab nft -f - <<-END || return 1
		table ip fence {
			chain in { type filter hook input priority 0; ip saddr $(ip_of $old) ip protocol tcp drop; }
		}
	END
	wait_for 30 "$new acts" acts $new
	until_served "$begin"
	wait_for 30 "$new answers alone" answers_alone $new
	say "$new alone answers after $(($(date +%s%3N) - begin)) ms; the head does not hear $old: up $(node_field $old .up)"
	is_up $old false || return 1
	in_lab nft delete table ip fence
	wait_for 60 "$old is heard again" is_up $old true
	wait_for 20 "$old tells what it did" said_given_up $old "$seq"
	acts $new && answers_alone $new
}
director_fails_over() {
	local old new begin
	old=$(acting) new=$(other_than "$(acting)")
	in_lab curl -sf -m 2 "http://$VIP/health" >/dev/null || die "nobody answers"
	begin=$(date +%s%3N)
	lab kill "$old" || return 1
	until_served "$begin"
	[ "$(asked_mac)" = "$(machine_field "$new" .mac)" ]
}

check lab_up up
check three_machines_boot boots
check director_and_web_nodes_are_deployed deploys
check kernel_table_is_the_wanted_one table_is_wanted
check both_nodes_answer_behind_one_address both_answer
check use_is_measured_against_the_quota use_is_of_the_quota
check jobs_have_scopes jobs_have_scopes
check agent_restarts_under_a_job agent_restarts_under_a_job
check node_leaves_and_no_request_fails leaves_without_failures
check node_comes_back_and_no_request_fails comes_back_without_failures
check slow_requests_in_flight_survive slow_request_survives
check idle_clients_are_let_go idle_client_is_let_go
check killed_node_is_out_within_5_s killed_is_out
check web_re_grows_under_load web_re_grows
check web_re_shrinks_without_load re_shrinks
check two_directors_stand_by two_directors_stand_by
check director_that_was_cut_off_comes_back director_is_cut_off
check director_that_loses_the_head_gives_up director_loses_the_head
check director_dies_and_another_takes_over director_fails_over
