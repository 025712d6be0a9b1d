#!/bin/bash
# The owner of an RE speaks as his node and lies: it says the addresses, the serial number, the system UUID and the disks of another machine, a role and a
# start that are not its own, an epoch of years to come, numbers that fit nowhere, and as much of all this as it can send. The other machine stays who it
# is, his own is taken back and erased as ever, and the head keeps little of it, on its disk and in its memory.
. "$(dirname "$0")/../trust.bash"

HUGE=4611686018427387904 # 2^62
hello_of() { # MAC SERIAL: all else is as it was
	field n1 . | jq -c --arg mac "$1" --arg serial "$2" '{boot_id, env, healthy, echoes, actual_role, actual_identity, system_image, system_digest, facts} |
		.facts.serial = $serial | .facts.uuid = "uuid-1" | .facts.nics = [{mac: $mac, dev: "eth0"}]'
}
# what of a node is decided on, and not measured
who_is() { field "$1" '[.name, .macs, .serial, .uuid, .key_fp, .state, .role, .pool, .known_disks] | tostring'; }

it_is_no_other_machine() {
	local before mine
	before=$(who_is n2) mine=$(who_is n1)
	gets 200 by_node n1 POST /v1/agent/hello -d "$(hello_of 02:00:00:00:00:02 SN2)" || return 1
	[ "$(field n1 '.facts.nics[0].mac')" = 02:00:00:00:00:02 ] || { echo "the lie was not taken down: nothing was tried"; return 1; }
	[ "$(who_is n2)" = "$before" ] && [ "$(who_is n1)" = "$mine" ] || { who_is n1; who_is n2; return 1; }
	curl -sS "http://127.0.0.1:$HTTP/boot/02:00:00:00:00:02" | grep -q 'node n2 ' || return 1
	# and the other one comes back as who it is
	agent_kill n2 && fake_start n2 2 && until_true 20 is n2 .up true && until_true 20 idle n2 ready ""
}
# machines that nobody has announced yet: he says, with the node's own key, that they are his
it_takes_no_addresses_of_others() {
	openssl req -new -key "$WORK/n1/key.pem" -subj /CN=n1 -out "$WORK/csr.pem" 2>/dev/null
	jq -n --rawfile csr "$WORK/csr.pem" '{csr: $csr, macs: ["02:00:00:00:00:01", "02:00:00:00:00:05"], serial: "SN1", env: "os"}' >"$WORK/enrol.json"
	gets 200 by_node n1 POST /v1/agent/enrol -d @"$WORK/enrol.json" && grep -q 'BEGIN CERTIFICATE' "$WORK/answer" || return 1
	[ "$(field n1 '.macs | tostring')" = '[{"mac":"02:00:00:00:00:01"}]' ] || { field n1 .macs; return 1; }
	gets 200 ask root POST /v1/nodes -d '{"name": "n5", "macs": ["02:00:00:00:00:05"]}' && curl -sS "http://127.0.0.1:$HTTP/boot/02:00:00:00:00:05" | grep -q 'node n5 '
}
# answer ID EPOCH [MORE]: to a step of another time
answer() { jq -nc --argjson id "$1" --argjson epoch "$2" --argjson more "${3:-{\}}" '{kind: "step", id: $id, epoch: $epoch, attempt: 1, nonce: 1, result: 0, text: ""} + $more'; }
a_huge_epoch_locks_nothing() {
	local epoch code
	epoch=$(field n1 .plan.epoch)
	for code in "$(answer 1 $HUGE)" "$(answer $HUGE $HUGE)" "$(answer 1 9223372036854775807)" "$(answer 1 9223372036854775808)" "$(answer -1 -1)" \
		"$(answer 1 1 '{"attempt": 4294967297, "nonce": -9223372036854775808}')" "$(answer 1 1 '{"id": 1e300}')" "$(answer 1 1 '{"epoch": "1"}')"; do
		gets '200|400|403|409' by_node n1 POST /v1/agent/result -d "$code" || return 1
	done
	gets 200 by_node n1 POST /v1/agent/beat -d "$(field n1 . | jq -c --argjson n $HUGE '{boot_id, env, healthy, actual_role, actual_identity, epoch: $n, running: [{kind: "step", id: $n}, {kind: "job", id: $n, run: $n}]}')" || return 1
	[ "$(field n1 .plan.epoch)" = "$epoch" ] && [ "$(field n1 .state)" = active ]
}
journal_bytes() { sqlite3 "$WORK/head/journal.db" 'SELECT SUM(LENGTH(event) + LENGTH(actions)) FROM events'; }
# tells N PATH FILE: sends FILE.0 and FILE.1 in turn; how many were answered with what
tells() {
	local i
	for ((i = 0; i < $1; i++)); do printf 'next\nurl = "https://127.0.0.1:%s%s"\ncacert = "%s"\ncert = "%s"\nkey = "%s"\ndata = "@%s"\noutput = /dev/null\nwrite-out = "%%{http_code}\\n"\n' \
		"$HTTPS" "$2" "$WORK/head/pki/ca.pem" "$WORK/n1/cert.pem" "$WORK/n1/key.pem" "$3.$((i % 2))"; done | tail -n +2 >"$WORK/curl"
	curl -sS -m 60 -K "$WORK/curl" 2>/dev/null </dev/null | sort | uniq -c | tr -s ' \n' ' '
}
long() { head -c "$1" /dev/zero | tr '\0' "$2"; }
what_it_tells_without_end_is_not_kept() {
	local before kind
	for kind in 0 1; do
		jq -nc --arg text "$(long 60000 $kind)" '{kind: "step", id: 7, epoch: 7, attempt: 1, nonce: 1, result: -5, text: $text}' >"$WORK/result.$kind"
		jq -nc --arg text "$(long 60 $kind)" --argjson up "$([ $kind = 0 ] && echo true || echo false)" '{boot_id: $b, env: $e, healthy: $up, actual_role: "batch", actual_identity: $text, report: $text, wait_ms: 0, running: []}' --arg b "$(field n1 .boot_id)" --arg e "$(field n1 .env)" >"$WORK/beat.$kind"
		hello_of 02:00:00:00:00:01 SN1 | jq -c --arg text "$(long 60 $kind)" '.facts.os = $text | .facts.nics += [range(10; 100) | {mac: "02:00:00:00:01:\(.)", dev: ("x" * 30), driver: $text[:30]}]' >"$WORK/hello.$kind"
		long 900000 $kind | jq -Rc '{id: 1, service: "x", text: .}' >"$WORK/logs.$kind"
	done
	for kind in result:100 beat:300 hello:600 logs:10; do
		before=$(journal_bytes)
		echo "    ${kind#*:} of ${kind%:*}: $(tells "${kind#*:}" "/v1/agent/${kind%:*}" "$WORK/${kind%:*}"), $(($(journal_bytes) - before)) bytes kept"
		[ $(($(journal_bytes) - before)) -lt $((6 << 20)) ] || return 1
	done
}
# of the process that serves; $HEAD is the launcher, which takes nothing in
peak_kb() { awk '/^VmHWM/ { print $2 }' "/proc/$(head_pid)/status"; }
now_kb() { awk '/^VmRSS/ { print $2 }' "/proc/$(head_pid)/status"; }
many() { yes "$1" | head -n $((1000000 / (${#1} + 1))) | paste -sd, -; }
# a MiB of what is small in JSON and large in memory
a_mib_costs_little() {
	local word at before grown
	echo 5 >"/proc/$(head_pid)/clear_refs" || { echo "its peak cannot be set back"; return 1; }
	before=$(now_kb)
	for word in '{}' '[]' '""' 0 '{"a":0}' '[[[0]]]'; do
		for at in '/v1/agent/hello {"boot_id":"x","env":"os","facts":{"disks":[%s]}}' '/v1/agent/inventory {"nics":[%s]}' '/v1/agent/logs {"logs":[%s]}'; do
			printf "${at#* }" "$(many "$word")" >"$WORK/body"
			gets '400|413' by_node n1 POST "${at%% *}" -d "@$WORK/body" || return 1
		done
	done
	# the most that is looked at at all
	printf '{"disks":[%s]}' "$(yes '{}' | head -n 19990 | paste -sd, -)" >"$WORK/body" && gets 400 by_node n1 POST /v1/agent/inventory -d "@$WORK/body" || return 1
	grown=$(($(peak_kb) - before))
	echo "    $grown KiB at most"
	[ $grown -lt 40000 ]
}
# What a parser of others does not take, he has among the measurements of his node, which are told to all as they came.
what_it_measures_breaks_no_list() {
	local value beat
	beat=$(field n1 . | jq -c '{boot_id, env, healthy, actual_role, actual_identity, running: [], wait_ms: 0}')
	gets 200 by_node n1 POST /v1/agent/beat -d "${beat%\}}, \"monitor\": {\"x\": 1.5}}" && [ "$(field n1 .monitor.x)" = 1.5 ] || { echo "nothing of him is told"; return 1; }
	for value in 1e999 -1e999 1e-999 9e0000999 '"\ud800"' '"a\u0000b"' "\"$(printf '\377')\"" 01 - nul '[1,]' "$(printf '%080d' 0 | tr 0 [)" '"\u001b[31m"'; do
		by_node n1 POST /v1/agent/beat -d "${beat%\}}, \"monitor\": {\"x\": $value}}" >/dev/null
		phx node list -o json >"$WORK/list" 2>&1 && jq -e '.nodes[] | select(.name == "n2")' "$WORK/list" >/dev/null || { echo "after $value: $(head -c 300 "$WORK/list")"; return 1; }
	done
}
it_is_taken_back_all_the_same() {
	fake_start n1 1 && until_true 20 is n1 .up true || return 1
	action release '{"nodes": "n1", "setup": {"mode": "wipe"}}' >/dev/null
	until_true 60 idle n1 ready "" || { field n1 '"\(.state) \(.reason)"'; return 1; }
	[ "$(effects n1 ' wipe ')" -ge 1 ] && [ "$(field n1 '.macs | tostring')" = '[{"mac":"02:00:00:00:00:01"}]' ]
}
# says UUID: its system, the fake being gone
says() { gets 200 by_node n1 POST /v1/agent/hello -d "$(hello_of 02:00:00:00:00:01 SN1 | jq -c --arg uuid "$1" '.facts.uuid = $uuid')"; }
# the UUID of another one, known or yet to come: told at once, or after it has told none; who is quarantined is his own node
it_has_no_uuid_of_others() {
	local before
	[ "$(field n2 .proven_uuid)" = uuid-2 ] && [ "$(field n1 .facts.uuid)" = uuid-1 ] || { echo "nothing was to be had"; return 1; }
	agent_kill n1
	before=$(who_is n2)
	# what it told without end is not forgiven at once
	until_true 30 says "" && [ "$(field n1 '.facts.uuid + .state')" = uuid-1ready ] || { field n1 '.facts.uuid + .state'; return 1; }
	until_true 30 says uuid-2 && [ "$(field n1 .state)" = quarantined ] && field n1 .reason | grep -q 'another system UUID' && [ "$(field n1 .facts.uuid)" = uuid-2 ] || { field n1 .reason; return 1; }
	[ "$(who_is n2)" = "$before" ] || { who_is n2; return 1; }
	# nor does it keep the other one out, which was set aside meanwhile
	action quarantine '{"nodes": "n2"}' >/dev/null && action resume '{"nodes": "n2"}' >/dev/null && until_true 30 idle n2 ready "" || { field n2 '.state + " " + .reason'; return 1; }
	# nor one that comes for the first time
	until_true 30 says uuid-6 && post /v1/nodes '{"name": "n6", "macs": ["02:00:00:00:00:06"]}' >/dev/null && fake_start n6 6 --env deploy --uuid uuid-6 && until_true 20 idle n6 ready "" || { field n6 '.state + " " + .reason'; return 1; }
}
it_replays() { replays_the_same 20 20; }

FAKES="--env deploy"
trust_head
action assign '{"nodes": "n1", "role": "batch"}' >/dev/null && until_true 30 idle n1 active batch || { not_ok "n1 has no tenant"; exit 1; }
agent_kill n1
for t in it_is_no_other_machine it_takes_no_addresses_of_others a_huge_epoch_locks_nothing a_mib_costs_little what_it_tells_without_end_is_not_kept what_it_measures_breaks_no_list it_is_taken_back_all_the_same it_has_no_uuid_of_others it_replays; do
	check $t $t
done
exit $FAILED
