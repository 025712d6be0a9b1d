#!/bin/bash
# What phxd keeps from whom, and what it does not forget: people and events, agents of removed nodes, silent nodes after
# a restart, machines that nobody knows.
. "$(dirname "$0")/phxd.bash"
[ -x "$BUILD/tests/fake/agent" ] || { echo "not ok fake_agent is not built"; exit 1; }

nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups curl -sS -m 20 --unix-socket "$PHX_SOCKET" "http://unix$1" "${@:2}"; }
as_node() { curl -sS -m 20 --cacert "$WORK/head/pki/ca.pem" --cert "$WORK/$1/cert.pem" --key "$WORK/$1/key.pem" "https://127.0.0.1:$HTTPS$2" "${@:3}"; }
bare() { curl -sS -m 20 --cacert "$WORK/head/pki/ca.pem" "https://127.0.0.1:$HTTPS$1" "${@:2}"; }
mac_of() { printf "02:00:00:00:00:%02x" "$1"; }
announce() { post /v1/nodes "{\"name\": \"$1\", \"macs\": [\"$(mac_of "$2")\"]}" >/dev/null; }
ms() { date +%s%3N; }

# ---- events ----

events_of_jobs_are_their_owners() {
	post /v1/jobs '{"argv": ["secret-of-daemon"], "user": "daemon", "hold": true}' >/dev/null
	nobody /v1/jobs -d '{"argv": ["mine"], "hold": true}' >/dev/null
	nobody "/v1/events?limit=1000" >"$WORK/nobody.json"
	! grep -q secret-of-daemon "$WORK/nobody.json" && jq -e '[.events[] | select(.kind == "job_submit")] | length == 1' "$WORK/nobody.json"
}
events_of_others_are_told_without_their_body() {
	jq -e '(.events | length) > 3 and all(.events[]; has("actions") | not) and
		all(.events[] | select(.kind | startswith("job_") | not); has("event") | not)' "$WORK/nobody.json" &&
		api /v1/events | jq -e 'any(.events[]; .event.argv)'
}
tokens_are_not_shown() {
	post /v1/nodes '{"name": "t1", "token": "1234"}' >/dev/null
	nobody /v1/nodes/t1 | jq -e '.name == "t1" and (has("token_sha256") | not)'
}
a_batch_tells_where_to_go_on() {
	api "/v1/events?limit=2" | jq -e '.last == 2 and (.events | length) == 2'
}
# other nodes' events must not end a poll for one node, or it becomes a storm
a_poll_for_one_node_waits_for_it() {
	local last begun
	last=$(seq_now)
	begun=$(ms)
	(for _ in 1 2 3 4; do sleep 0.2; post /v1/jobs '{"argv": ["x"], "user": "daemon", "hold": true}'; done) >/dev/null &
	api "/v1/events?node=n1&after=$last&wait=2" | jq -e '.events == []' && [ $(($(ms) - begun)) -ge 1800 ]
}
a_poll_for_one_node_is_answered_at_once() {
	local begun
	(sleep 0.3; action drain '{"nodes": "n1", "text": "a test"}' >/dev/null) &
	begun=$(ms)
	api "/v1/events?node=n1&after=$(seq_now)&wait=10" | jq -e '.events[0].node == "n1"' && [ $(($(ms) - begun)) -lt 5000 ]
}

# ---- who may not ----

bodies_of_strangers_are_not_taken() {
	head -c 3000000 /dev/zero >"$WORK/zeros"
	[ "$(bare /v1/agent/jobs/1/output -T "$WORK/zeros" -o /dev/null -w '%{http_code}')" = 403 ] &&
		bare /v1/agent/hello -d '{}' | grep -q certificate
}
enrol() { bare /v1/agent/enrol -d "$(jq -n --rawfile csr "$WORK/stranger.csr" --arg mac "$1" --arg serial "$2" '{csr: $csr, macs: [$mac], serial: $serial}')"; }
made_up_machines_fill_a_waiting_room_only() {
	openssl req -new -newkey ed25519 -nodes -keyout /dev/null -subj /CN=stranger -out "$WORK/stranger.csr" 2>/dev/null
	local before
	jq -rn --rawfile csr "$WORK/stranger.csr" --arg url "https://127.0.0.1:$HTTPS/v1/agent/enrol" --arg ca "$WORK/head/pki/ca.pem" '
		def hex: "0123456789abcdef" as $d | $d[. / 16 | floor:][:1] + $d[. % 16:][:1];
		range(1; 1004) | "06:00:00:00:\(. / 256 | floor | hex):\(. % 256 | hex)" as $mac
		| {csr: $csr, macs: [$mac]} | tojson | "next\nurl = \($url)\ncacert = \($ca)\noutput = /dev/null\ndata = \(tojson)"' |
		tail -n +2 >"$WORK/flood"
	curl -sS -m 60 --config "$WORK/flood" || return 1
	before=$(seq_now)
	enrol 06:00:00:00:ff:ff x | grep -q '1000 unknown machines' && [ "$(seq_now)" = "$before" ]
}
words_for_terminals_are_refused() {
	enrol 06:00:00:00:00:01 $'\e]0;x' | grep -q 'control characters' &&
		post /v1/nodes '{"name": "bad", "macs": ["02:00:00:00:00:77"], "ip": "10.0.0.1\nhost"}' | grep -q 'ip: ' &&
		post /v1/nodes '{"name": "bad", "macs": ["02:00:00:00:00:77"], "ip": "10.0.0"}' | grep -q 'IPv4'
}
a_removed_nodes_poll_ends() {
	local begun body
	body=$(api /v1/nodes/n2 | jq -c '{boot_id, env, wait_ms: 15000, running: []}')
	agent_kill n2
	(sleep 0.5; action rm '{"nodes": "n2", "force": true}' >/dev/null) &
	begun=$(ms)
	as_node n2 /v1/agent/beat -d "$body" | jq -e '.orders == []' && [ $(($(ms) - begun)) -lt 8000 ]
}
a_removed_nodes_certificate_is_worth_nothing() {
	announce n2 2
	as_node n2 /v1/agent/beat -d "{}" | grep -q certificate &&
		as_node n2 /packages/tools-1-all.tar.zst | grep -q certificate &&
		as_node n2 /v1/agent/jobs/1/output -T /etc/hostname | grep -q certificate
}
# Nobody does by a certificate what another kind of person may; each hears what he is.
nobody_is_taken_for_another() {
	phx cert issue games --kind user --out "$WORK/games" >/dev/null
	phx cert issue daemon --kind service-provider --out "$WORK/daemon" >/dev/null
	phx access grant cert:daemon login:daemon 2>/dev/null
	as_node games /v1/res -d '{}' | grep -q 'a service provider may do this, and you are a user' &&
		as_node games /packages/tools-1.tar.zst | grep -q 'a node may do this, and you are a user' &&
		as_node daemon /v1/agent/beat -d '{}' | grep -q 'a node may do this, and you are a service provider' &&
		as_node n1 /v1/jobs -d '{"argv": ["x"]}' | grep -q 'a user may do this, and you are a node'
}
a_beat_of_another_start_is_none() {
	as_node n1 /v1/agent/beat -d '{"boot_id": "another", "env": "os"}' | grep -q 'say hello first'
}
packages_are_plain_files() { as_node n1 /packages/.hidden | grep -q 'a plain file name is wanted'; }
# It counts what was verified, whatever number of bytes the node claims.
an_erase_that_was_not_verified_is_none() {
	announce n4 4
	fake_start n4 4 --unread
	until_true 20 idle n4 ready "" || return 1
	action wipe '{"nodes": "n4", "method": "overwrite"}' >/dev/null
	until_true 60 is n4 .state quarantined && field n4 .reason | grep -q 'read back' && agent_kill n4
}
# a service provider sees that it was done; what the disks are known by is for whoever holds the node
erasures_tell_disks_to_the_holder_only() {
	local node
	action wipe '{"nodes": "n1,n3", "method": "overwrite"}' >/dev/null && until_true 30 is n1 .dirty false && until_true 30 is n3 .dirty false &&
		until_true 30 idle n1 ready "" && until_true 30 idle n3 ready "" || return 1
	api /v1/nodes/n1/erasures | jq -e '.erasures | length > 0 and all(.[]; (.disk | test("FAKE")) and .method == "overwrite" and .verified_bytes > 0)' &&
		as_node daemon /v1/nodes/n1/erasures | grep -q "there is no erase of 'n1' that is yours" || return 1
	cat >"$WORK/safe.conf" <<-END
		name = "safe"; owner = "daemon"; type = "parallel_batch_jobs"; relationship = "same"; granularity = "node"; coordinated_RE = "none";
		resource_coordination_model = "fb"; lower_bound_size = 1; upper_bound_size = 1; role = "batch"; setup_policy = "noop";
	END
	{ phx re create "$WORK/safe.conf" && phx re activate safe --wait --timeout 120; } >"$WORK/out" 2>&1 || { cat "$WORK/out"; return 1; }
	node=$(api /v1/nodes | jq -r '.nodes[] | select(.pool == "safe") | .name')
	as_node daemon "/v1/nodes/$node/erasures" | jq -e '.erasures | length > 0 and all(.[]; (.disk | test("FAKE")) and (.signature | length) == 128)' &&
		! as_node nobody "/v1/nodes/$node/erasures" | grep -qE 'FAKE|signature' || return 1
	phx re deactivate safe --yes --wait --timeout 120 >/dev/null && phx re destroy safe --yes >/dev/null && until_true 60 idle "$node" ready ""
}
# service providers see and end their own jobs only, as API.md says
jobs_of_others_are_hidden_from_service_providers() {
	phx cert issue nobody --kind service-provider --out "$WORK/nobody" >/dev/null && phx access grant cert:nobody login:nobody 2>/dev/null
	local id
	id=$(as_node daemon /v1/jobs -d '{"argv": ["own"], "hold": true}' | jq .id)
	as_node daemon "/v1/jobs/$id" | jq -e '.user == "daemon"' &&
		as_node nobody "/v1/jobs/$id" | grep -q 'no such job' &&
		as_node nobody "/v1/jobs/$id/cancel" -d '{}' | grep -q 'no such job' &&
		as_node nobody /v1/jobs | jq -e 'all(.jobs[]; .user == "nobody")'
}

# the journal keeps what agents tell: one that tells without end would fill the head's disk
inventory() { jq -nc --argjson cpus "$1" '{arch: "x86_64", cpus: $cpus, memory_bytes: 1073741824, serial: "SN1",
	disks: [range(1; 401) | {id: "serial-FAKE-\(.)", size_bytes: 4294967296, model: ("m" * 60)}], nics: [{mac: "02:00:00:00:00:01"}]}'; }
a_node_that_tells_without_end_is_put_off() {
	local i before
	for i in 1 2; do inventory $i >"$WORK/facts$i"; done
	for i in $(seq 60); do
		printf 'next\nurl = https://127.0.0.1:%d/v1/agent/inventory\ncacert = %s\ncert = %s\nkey = %s\noutput = /dev/null\nwrite-out = "%%{http_code}\\n"\ndata = @%s\n' \
			"$HTTPS" "$WORK/head/pki/ca.pem" "$WORK/n1/cert.pem" "$WORK/n1/key.pem" "$WORK/facts$((i % 2 + 1))"
	done | tail -n +2 >"$WORK/flood"
	for i in 1 2 3; do curl -sS -m 60 --config "$WORK/flood"; done >"$WORK/codes"
	grep -qx 200 "$WORK/codes" && [ "$(tail -n 1 "$WORK/codes")" = 503 ] || return 1
	before=$(seq_now)
	as_node n1 /v1/agent/inventory -d @"$WORK/facts1" | grep -q 'send it again later' || return 1
	# others are heard of meanwhile
	api "/v1/events?node=n1&after=$before" | jq -e '[.events[] | select(.kind == "inventory")] | length == 0' >/dev/null || return 1
	# its orders go on, and others are not put off
	as_node n3 /v1/agent/inventory -d "$(api /v1/nodes/n3 | jq -c ".facts | .cpus = 3")" | grep -qx "{}" || return 1
	phx node assign n1 batch --yes --wait --timeout 120 2>/dev/null
}

# ---- what is not forgotten ----

# one agent answers so soon that the head has not looked around yet; the other died with the head
the_silent_are_missed_after_a_restart() {
	until_true 10 eval '[ "$(field n1 .up) $(field n3 .up)" = "true true" ]' || return 1
	head_kill
	agent_kill n3
	head_start
	until_true 10 eval '[ "$(field n3 .up)" = false ]' && [ "$(field n1 .up)" = true ]
}

head_conf
head_start
package tools 1 'exit 0'
roles_init
post /v1/reload >/dev/null
for i in 1 2 3; do
	announce n$i $i
	fake_start n$i $i
done
for i in 1 2 3; do until_true 20 idle n$i ready "" || not_ok "n$i is not ready"; done

check events_of_jobs_are_their_owners events_of_jobs_are_their_owners
check events_of_others_are_told_without_their_body events_of_others_are_told_without_their_body
check tokens_are_not_shown tokens_are_not_shown
check a_batch_tells_where_to_go_on a_batch_tells_where_to_go_on
check a_poll_for_one_node_waits_for_it a_poll_for_one_node_waits_for_it
check a_poll_for_one_node_is_answered_at_once a_poll_for_one_node_is_answered_at_once
check bodies_of_strangers_are_not_taken bodies_of_strangers_are_not_taken
check made_up_machines_fill_a_waiting_room_only made_up_machines_fill_a_waiting_room_only
check a_removed_nodes_poll_ends a_removed_nodes_poll_ends
check a_removed_nodes_certificate_is_worth_nothing a_removed_nodes_certificate_is_worth_nothing
check nobody_is_taken_for_another nobody_is_taken_for_another
check a_beat_of_another_start_is_none a_beat_of_another_start_is_none
check packages_are_plain_files packages_are_plain_files
check an_erase_that_was_not_verified_is_none an_erase_that_was_not_verified_is_none
check jobs_of_others_are_hidden_from_service_providers jobs_of_others_are_hidden_from_service_providers
check erasures_tell_disks_to_the_holder_only erasures_tell_disks_to_the_holder_only
check words_for_terminals_are_refused words_for_terminals_are_refused
check a_node_that_tells_without_end_is_put_off a_node_that_tells_without_end_is_put_off
check the_silent_are_missed_after_a_restart the_silent_are_missed_after_a_restart
exit $FAILED
