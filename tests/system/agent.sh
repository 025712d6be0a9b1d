#!/bin/bash
# Agents as processes against a real head: enrolment, roles, hand-over in place, jobs, crashes of either side.
. "$(dirname "$0")/agents.bash"

WEB_PORT=$((HTTPS + 2))
# what the web role serves: one process that writes its pid and listens
SERVE='echo $$ >"$PHX_STATE"; [ ! -e "$PHX_STATE.slow" ] || sleep 3; exec perl -MIO::Socket::INET -e '\''
	my $s = IO::Socket::INET->new(Listen => 16, LocalAddr => "127.0.0.1", LocalPort => shift, ReuseAddr => 1) or die;
	while (my $c = $s->accept) { my $l = <$c>; print $c "HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nhi\n"; close $c }'\'' "$1"'

roles_init() {
	cat >"$WORK/etc/roles/batch-compute.conf" <<-END
		summary = "jobs"; pool = "batch"; image = "test"; boot = "ram"; runs_jobs = true; drain_grace = "1s";
		packages = [ "tools" ]; leave = { remove = [ "/var/lib/batch" ]; };
	END
	cat >"$WORK/etc/roles/web-server.conf" <<-END
		summary = "pages"; pool = "web"; image = "test"; boot = "ram"; drain_grace = "1s"; packages = [ "web" ];
		services = ( { name = "web"; package = "web"; exec = [ "bin/web", "$WEB_PORT" ]; stop_grace = "2s";
			       env = [ "PHX_STATE=$WORK/web.pid" ]; } );
		health = { kind = "http"; target = "http://127.0.0.1:$WEB_PORT/"; interval = "1s"; timeout = "2s"; failures = 3; };
		ports = [ $WEB_PORT ];
	END
	package tools 1.0 'echo tools'
	# what its services leave in the system it takes back itself
	cat >"$WORK/etc/roles/marked.conf" <<-END
		summary = "marks"; pool = "batch"; image = "test"; boot = "ram"; packages = [ "marks", "tools" ];
	END
	mkdir -p "$WORK/src/marks-1.0/files"
	printf '#!/bin/sh\necho "$PHX_ROLE $PHX_PACKAGE" >>%s\n[ ! -e %s ] || { echo "eth9 is busy" >&2; exit 3; }\nrm -f %s\n' \
		"$WORK/left" "$WORK/busy" "$WORK/mark" >"$WORK/src/marks-1.0/files/leave"
	chmod 755 "$WORK/src/marks-1.0/files/leave"
	package marks 1.0 'echo marks'
	package web 1.0 "$SERVE"
	phx reload >/dev/null
}

assign() { phx node assign "$1" "$2" --yes --wait --timeout 30 >"$WORK/out" 2>&1 || { cat "$WORK/out"; return 1; }; }
page() { [ "$(curl -s -m 2 "http://127.0.0.1:$WEB_PORT/")" = hi ]; }
no_page() { ! page; }
output_of() { phx job output "$1"; }

# ---- enrolment ----

# the name that it was given: it does not tell its MAC address, which users do not see
stranger() { api /v1/nodes | jq -r '.nodes[] | select(.macs[0].mac == "02:00:00:00:00:0'"$1"'" and (.name | startswith("n-"))) | .name'; }
enrol_stranger() {
	agent_start n1
	until_true 10 eval '[ "$(stranger 1)" ]' && is "$(stranger 1)" .state new || return 1
	[ -e "$WORK/n1/var/lib/phoenix/agent.pem" ] && return 1
	phx node accept "$(stranger 1)" --name n1 --yes >/dev/null || return 1
	until_true 10 is n1 .state ready && [ "$(stat -c %a "$WORK/n1/var/lib/phoenix/agent.key")" = 600 ]
}

enrol_announced() {
	phx node add n2 --mac 02:00:00:00:00:02 >/dev/null && agent_start n2 && until_true 10 is n2 .state ready &&
		is n2 '.facts.memory_bytes' 1073741824
}

# a change that nobody would notice for a minute is there at once when it is asked for
inventory_on_demand() {
	sed -i 's/1073741824/2147483648/' "$WORK/n2/facts.json"
	phx node inspect n2 || return 1
	until_true 5 is n2 .facts.memory_bytes 2147483648 && is n2 .inspect false
}

# what a switch says of itself is a fact of the card that is plugged into it
speak() { # NAME
	printf '\x01\x80\xc2\x00\x00\x0e\x02\x00\x00\x00\x00\x77\x88\xcc\x02\x07\x04\x02\x00\x00\x00\x00\x77\x04\x06\x05swp12\x06\x02\x00\x78\x0a\x05%s\x00\x00' "$1" |
		socat -u - INTERFACE:switch0 && phx node inspect n2
}
switch_is_heard() {
	ip link add eth0 type veth peer name switch0 && ip link set eth0 up && ip link set switch0 up || return 1
	phx node inspect n2 && until_true 5 is n2 .inspect false || return 1
	until_true 10 eval 'speak tor-7; is n2 ".facts.nics[0].neighbor" tor-7' && is n2 '.facts.nics[0].neighbor_port' swp12 || return 1
	# another one, and what it says in between does not stay
	until_true 10 eval 'speak tor-8; is n2 ".facts.nics[0].neighbor" tor-8' && phx node show n2 | grep -q 'tor-8 *swp12' &&
		[ "$(phx node list -o name -l switch=tor-8,port=swp12)" = n2 ] && [ -z "$(phx node list -o name @switch=tor-7)" ] && ! phx node list @swich=tor-8 >"$WORK/out" 2>&1
}

key_is_kept() {
	local before
	before=$(sha256sum "$WORK/n1/var/lib/phoenix/agent.key")
	agent_stop n1
	until_true 10 is n1 .up false || return 1
	agent_start n1
	until_true 10 is n1 .up true && [ "$before" = "$(sha256sum "$WORK/n1/var/lib/phoenix/agent.key")" ]
}

# ---- roles ----

batch_role() {
	assign n1,n2 batch-compute && is n1 .state active && is n1 .actual_role batch-compute &&
		[ "$(readlink "$WORK/n1/opt/phoenix/pkg/tools/current")" = 1.0 ]
}

assign_again_does_nothing() {
	local before after
	before=$(field n1 .epoch)
	assign n1 batch-compute || return 1
	after=$(field n1 .epoch)
	[ "$before" = "$after" ]
}

job_over_both() {
	local id
	chmod 755 "$WORK" "$WORK"/n? "$WORK"/n?/run
	id=$(api /v1/jobs -d '{"nodes": 2, "argv": ["sh", "-c", "id -un; echo $PHX_JOB_NODES; cat $PHX_JOB_NODEFILE"], "user": "nobody"}' | jq .id)
	until_true 15 sh -c "curl -s --unix-socket $PHX_SOCKET http://unix/v1/jobs/$id | jq -e '.state == \"done\"'" || return 1
	[ "$(api "/v1/jobs/$id/output?node=n2")" = "$(printf 'nobody\nn[1-2]\nn1\nn2\n')" ]
}

job_is_killed() {
	local id
	id=$(api /v1/jobs -d '{"nodes": 1, "argv": ["sleep", "300"], "user": "nobody"}' | jq .id)
	until_true 10 sh -c "curl -s --unix-socket $PHX_SOCKET http://unix/v1/jobs/$id | jq -e '.state == \"running\"'" || return 1
	sleep 0.5
	api "/v1/jobs/$id/cancel" -d '{}' >/dev/null
	until_true 15 sh -c "curl -s --unix-socket $PHX_SOCKET http://unix/v1/jobs/$id | jq -e '.state == \"cancelled\"'"
}

# the next owner is another one: the node has another key, and nothing is left of how it came to it
hand_over_in_place() {
	local key=$WORK/n1/var/lib/phoenix/agent.key before
	before=$(sha256sum "$key")
	mkdir -p "$WORK/n1/var/lib/batch"
	assign n1 web-server && is n1 .state active && is n1 .pool web && page && is n1 .healthy true &&
		[ ! -e "$WORK/n1/var/lib/batch" ] && [ ! -e "$WORK/n1/opt/phoenix/pkg/tools" ] || return 1
	field n1 '"    steps in ms: " + ([.plan.steps[] | "\(.kind) \(.ended_ms - .issued_ms)"] | join(", "))'
	[ "$before" != "$(sha256sum "$key")" ] && [ "$(stat -c %a "$key")" = 600 ] && [ ! -e "$WORK/n1/var/lib/phoenix/next-key.json" ]
}

service_comes_back() {
	local pid
	pid=$(cat "$WORK/web.pid")
	kill -9 "$pid"
	until_true 10 page && [ "$pid" != "$(cat "$WORK/web.pid")" ]
}

# the agent dies in the worst way: its service with it, and the next agent starts it again
agent_comes_back() {
	agent_kill n1
	agent_start n1
	until_true 15 page && until_true 10 is n1 .healthy true && is n1 .state active
}

# another boot of the machine: what runs is configuration kept by the head
reboot() {
	agent_stop n1
	no_page || return 1
	agent_start n1 another-boot
	until_true 15 page
}

head_comes_back() {
	head_kill
	sleep 1
	page || return 1
	head_start
	until_true 10 is n1 .up true && is n1 .state active && page
}

# hand-overs to and fro, in which the agent (or the head) is killed at ever later moments
killed_in_the_middle() {
	local who=$1 role k
	for k in 0.02 0.1 0.2 0.3 0.4 0.6; do
		role=$([ "$(field n1 .role)" = web-server ] && echo batch-compute || echo web-server)
		phx node assign n1 "$role" --yes >/dev/null 2>&1 || return 1
		sleep $k
		if [ "$who" = agent ]; then
			agent_kill n1
			agent_start n1
		else
			head_kill
			head_start
		fi
		until_true 30 is n1 .state active && until_true 10 is n1 .actual_role "$role" || return 1
		if [ "$role" = web-server ]; then until_true 5 page || return 1; else no_page || return 1; fi
		[ "$(ls "$WORK/n1/opt/phoenix/pkg" | wc -l)" = 1 ] || return 1
	done
	is n1 .role web-server || assign n1 web-server
}
agent_killed_in_the_middle() { killed_in_the_middle agent; }
head_killed_in_the_middle() { killed_in_the_middle head; }

# the services are started, and nobody has answered yet: the next agent starts them again
agent_killed_before_the_role_answers() {
	local begin
	assign n1 batch-compute || return 1
	begin=$(wc -l <"$WORK/n1.log")
	touch "$WORK/web.pid.slow"
	phx node assign n1 web-server --yes >/dev/null 2>&1
	until_true 20 eval 'tail -n +$((begin + 1)) "$WORK/n1.log" | grep -q " health of"' || return 1
	agent_kill n1
	rm "$WORK/web.pid.slow"
	agent_start n1
	until_true 10 is n1 .state active && page
}

bad_package_keeps_what_was() {
	package web 2.0 "exit 1"
	phx reload >/dev/null
	# altered after it was signed, and after the head read it
	printf x >>"$WORK/head/packages/web-2.0.tar.zst"
	phx node assign n1 web-server --yes --wait --timeout 60 >"$WORK/out" 2>&1
	local status=$?
	rm -f "$WORK"/head/packages/web-2.0*
	phx reload >/dev/null
	[ $status != 0 ] && is n1 .state active && page &&
		[ "$(readlink "$WORK/n1/opt/phoenix/pkg/web/current")" = 1.0 ]
}

release_stops_all() {
	phx node release n1 --yes --wait --timeout 30 >/dev/null && is n1 .state ready && no_page &&
		[ ! -e "$WORK/n1/opt/phoenix/pkg/web" ] && [ ! -e "$WORK/n1/var/lib/phoenix/role.json" ]
}

# what the services changed outside of their packages: the plan says that it stays, and the package takes it back
leave_program_runs() {
	assign n1 marked && : >"$WORK/mark" || return 1
	phx node release n1 --dry-run | grep -q 'not undone: what the services changed outside of their packages' || return 1
	phx node release n1 --yes --wait --timeout 30 >/dev/null && is n1 .state ready && [ ! -e "$WORK/mark" ] &&
		[ "$(cat "$WORK/left")" = "marked $WORK/n1/opt/phoenix/pkg/marks/1.0" ] && [ ! -e "$WORK/n1/opt/phoenix/pkg/marks" ]
}

leave_program_that_fails_hands_on_nothing() {
	assign n1 marked && : >"$WORK/mark" && : >"$WORK/busy" || return 1
	phx node assign n1 batch-compute --yes --wait --timeout 60 >"$WORK/out" 2>&1 && return 1
	is n1 .state quarantined && field n1 .reason | grep -q 'step leave failed 3 times: leave of marks-1.0: .*eth9 is busy' &&
		[ -e "$WORK/mark" ] && [ -e "$WORK/n1/opt/phoenix/pkg/marks/1.0/leave" ]
}

# the head forgets who the node is; its key no longer opens anything
stranger_with_old_certificate() {
	agent_stop n2
	phx node rm n2 --yes --force >/dev/null 2>&1 || api /v1/actions/rm -d '{"nodes": "n2", "force": true}' >/dev/null
	agent_start n2
	until_true 20 eval '[ "$(stranger 2)" ]' && is "$(stranger 2)" .state new
}

head_init
node_init n1 1
node_init n2 2
roles_init
for test in enrol_stranger enrol_announced inventory_on_demand switch_is_heard key_is_kept batch_role assign_again_does_nothing job_over_both job_is_killed \
	hand_over_in_place service_comes_back agent_comes_back reboot head_comes_back \
	agent_killed_before_the_role_answers agent_killed_in_the_middle head_killed_in_the_middle bad_package_keeps_what_was release_stops_all \
	leave_program_runs leave_program_that_fails_hands_on_nothing stranger_with_old_certificate; do
	check "$test" "$test"
done
exit $FAILED
