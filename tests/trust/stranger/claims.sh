#!/bin/bash
# A stranger reads a MAC address from the network and says that he is that node, which is switched off just then: with a serial number that
# he invents, with the right one, with its key's fingerprint but not its key, with addresses of two nodes. Not a member of the node changes; it
# comes back as it was, and what he did is in the journal, once a minute. Machines that he invents wait in a room of their own; who is let in with the
# UUID of a known node is set aside alone.
. "$(dirname "$0")/../trust.bash"

openssl req -new -newkey ed25519 -nodes -keyout "$WORK/key.pem" -subj /CN=n1 -out "$WORK/csr.pem" 2>/dev/null
# enrol MEMBERS [FROM]: as whatever they say, from an address of his own; the status
enrol() {
	jq -n --rawfile csr "$WORK/csr.pem" '{csr: $csr, env: "deploy"} + '"$1" >"$WORK/enrol.json"
	curl -sS -k -m 20 --interface "${2:-127.0.0.9}" -o "$WORK/answer" -w '%{http_code}' "https://127.0.0.1:$HTTPS/v1/agent/enrol" -d @"$WORK/enrol.json"
}
nodes_now() { api /v1/nodes | jq -S 'del(.nodes[] | .monitor, .refused_ms, .claimed_ms)'; }
claims=('{macs: ["02:00:00:00:00:01"], serial: "another"}' '{macs: ["02:00:00:00:00:01"]}' '{macs: ["02:00:00:00:00:01"], serial: "SN1"}' '{macs: ["02:00:00:00:00:01"], serial: "SN2"}'
	'{macs: ["02:00:00:00:00:01", "02:00:00:00:00:02"], serial: "SN1"}' '{macs: ["02:00:00:00:00:01"], serial: "SN1", uuid: "x", boot_id: "x", start: "1.00"}'
	'{macs: ["02-00-00-00-00-01"], serial: "sn1"}' '{macs: [], serial: "SN1"}' '{macs: ["02:00:00:00:00:01"], serial: "SN1", token: ""}' '{macs: ["02:00:00:00:00:01"], serial: "SN1", key_fp: "sha256:0", node: "n1", name: "n1"}')
nothing_becomes_of_claims() {
	local before seq i round
	before=$(nodes_now) seq=$(seq_now)
	for round in 1 2 3; do
		for ((i = 0; i < ${#claims[@]}; i++)); do
			[[ $(enrol "${claims[i]}") =~ ^4 ]] || { echo "${claims[i]}: $(cat "$WORK/answer")"; return 1; }
		done
	done
	[ "$(nodes_now)" = "$before" ] || { diff <(echo "$before") <(nodes_now); return 1; }
	# a sentence for each of the two nodes, not for each claim
	[ $(($(seq_now) - seq)) -le 2 ] && [ $(($(seq_now) - seq)) -ge 1 ] || { echo "$(($(seq_now) - seq)) events"; return 1; }
	api "/v1/events?after=$seq" | jq -e 'any(.events[]; .text | test("a certificate is refused to who asks for it from 127.0.0.9"))' >/dev/null
}
# Nor from the address that the silent node had, with all that is known of it: that is told, with the order that lets the machine in, and
# changes nothing. Once an administrator has said that it is the machine, its address is given a token.
nor_at_its_own_address() {
	local before seq claim='{macs: ["02:00:00:00:00:01"], serial: "SN1"}'
	before=$(nodes_now) seq=$(seq_now)
	told() { [ "$(enrol "$claim" 127.0.0.1)" = 403 ] && api "/v1/events?after=$seq" | jq -e 'any(.events[]; .text | test("127.0.0.1: it comes without its key.*: phx node accept n1"))' >/dev/null; }
	until_true 30 told || { api "/v1/events?after=$seq"; return 1; }
	[ "$(nodes_now)" = "$before" ] || { diff <(echo "$before") <(nodes_now); return 1; }
	[ $(($(seq_now) - seq)) -le 2 ] || { echo "$(($(seq_now) - seq)) events"; return 1; }
	phx node show n1 | grep -q 'asked for without its key' && phx node list | grep -q 'n1.*asked for without its key' || return 1
	no_token 127.0.0.1 && phx node accept n1 && ! no_token 127.0.0.1 && no_token 127.0.0.9 && is n1 .state active
}
no_token() { curl -sS -m 20 --interface "$1" "http://127.0.0.1:$HTTP/boot/02:00:00:00:00:01" >"$WORK/script" && grep -q '^#!ipxe' "$WORK/script" && ! grep -q phx.start "$WORK/script"; }
# nor is what he asks with any request that has a body of any other kind
nor_of_what_is_no_claim() {
	local before seq body
	before=$(nodes_now) seq=$(seq_now)
	for body in '' '{}' '[]' '{"csr": "x", "macs": ["02:00:00:00:00:01"]}' '{"csr": 1}' "$(printf '[%.0s' {1..5000})" '{"csr": "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n", "macs": ["02:00:00:00:00:01"]}'; do
		[[ $(curl -sS -k -m 20 -o "$WORK/answer" -w '%{http_code}' "https://127.0.0.1:$HTTPS/v1/agent/enrol" -d "$body") =~ ^4 ]] || { echo "$body: $(cat "$WORK/answer")"; return 1; }
	done
	[ "$(nodes_now)" = "$before" ] && [ "$(seq_now)" = "$seq" ]
}
they_come_back_as_they_were() {
	fake_start n1 1 && fake_start n2 2 && until_true 20 idle n1 active batch && until_true 20 is n1 .up true && until_true 20 is n2 .up true && until_true 20 idle n2 ready ""
}
# a machine that nobody knows is taken down, and no more than that
who_is_new_waits() {
	local before
	before=$(nodes_now)
	[ "$(enrol '{macs: ["06:00:00:00:00:01"], serial: "X"}')" = 202 ] && ! grep -q cert "$WORK/answer" || { cat "$WORK/answer"; return 1; }
	api /v1/nodes | jq -e '[.nodes[] | select(.state == "new" and (.accepted | not))] | length == 1' >/dev/null &&
		[ "$(nodes_now | jq '.nodes |= map(select(.state != "new"))')" = "$(jq . <<<"$before")" ]
}
# One who is let in, for a machine that was announced and has not come, with the UUID of a known node, which stands in every DHCP request of it:
# that one goes on, and is told of; he waits.
nor_of_who_has_its_uuid() {
	local before seq
	before=$(nodes_now) seq=$(seq_now)
	[ "$(field n1 .proven_uuid)" = uuid-1 ] || { echo "n1 has no UUID to claim: nothing was tried"; return 1; }
	post /v1/nodes '{"name": "n7", "macs": ["02:00:00:00:00:07"]}' >/dev/null && fake_start n7 7 --env deploy --uuid uuid-1 && until_true 20 is n7 .state quarantined || { echo "n7 is $(field n7 .state)"; return 1; }
	[ "$(nodes_now | jq '.nodes |= map(select(.name != "n7"))')" = "$before" ] || { diff <(echo "$before") <(nodes_now); return 1; }
	api "/v1/events?after=$seq" | jq -e 'any(.events[].notes[]; .node == "n1" and (.text | test("n7 reports the system UUID of n1, and is quarantined")))' >/dev/null || { api "/v1/events?after=$seq"; return 1; }
}
it_replays() { replays_the_same 20 20; }

FAKES="--env deploy"
trust_head
action assign '{"nodes": "n1", "role": "batch"}' >/dev/null && until_true 30 idle n1 active batch || { not_ok "n1 has no tenant"; exit 1; }
for node in n1 n2; do agent_kill $node; done
until_true 20 is n1 .up false && until_true 20 is n2 .up false || { not_ok "they are still up"; exit 1; }
for t in nothing_becomes_of_claims nor_at_its_own_address nor_of_what_is_no_claim they_come_back_as_they_were who_is_new_waits nor_of_who_has_its_uuid it_replays; do check $t $t; done
exit $FAILED
