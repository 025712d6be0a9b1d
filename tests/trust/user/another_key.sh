#!/bin/bash
# A user with a login on the head, or on another machine of the network, reads the MAC address and the serial number of a node that
# is being started, and asks for its certificate; and the owner of a node keeps a copy of its key. Neither is the node: a known node
# gets a certificate for another key by the token of its start alone, which its own address is given, and the former key is dead then.
. "$(dirname "$0")/../trust.bash"

openssl req -new -newkey ed25519 -nodes -keyout "$WORK/key.pem" -subj /CN=x -out "$WORK/csr.pem" 2>/dev/null
# enrol FROM N [MEMBERS]: status; as node N, from that address
enrol() {
	jq -n --rawfile csr "$WORK/csr.pem" --arg mac "02:00:00:00:00:0$2" --arg serial "SN$2" '{csr: $csr, macs: [$mac], serial: $serial, env: "deploy"} + '"${3:-{\}}" \
		>"$WORK/enrol.json"
	as nobody curl -sS -m 20 --interface "$1" --cacert "$WORK/ca.pem" -o "$WORK/body" -w '%{http_code}' "https://127.0.0.1:$HTTPS/v1/agent/enrol" -d @"$WORK/enrol.json"
}
boot() { as nobody curl -sS -m 20 --interface "$1" "http://127.0.0.1:$HTTP/boot/02:00:00:00:00:0$2"; } # FROM N
no_token() { boot "$1" "$2" >"$WORK/script"; grep -q '^#!ipxe' "$WORK/script" && ! grep -q phx.start "$WORK/script" || { cat "$WORK/script"; return 1; }; }
as_n1() { curl -sS -m 20 --cacert "$WORK/ca.pem" --cert "$1/cert.pem" --key "$1/key.pem" -o "$WORK/body" -w '%{http_code}' "https://localhost:$HTTPS/v1/agent/hello" -d '{}'; }
in_kexec() { [ "$(field n1 '.plan.steps[.plan.cursor] | "\(.kind) \(.status)"')" = "kexec issued" ]; }
stands() { until_true 40 idle "$@" "" || { field "$1" '"\(.state) \(.reason) \(.plan.steps | map(.kind + "/" + .status) | join(" "))"'; return 1; }; }

# its agent was told to start anew, and is not there yet
nobody_else_enrols_while_it_is_started() {
	local key guess
	action assign '{"nodes": "n1", "role": "batch"}' >/dev/null
	until_true 30 idle n1 active batch || return 1
	cp -r "$WORK/n1" "$WORK/copy" # of its key, by its owner
	kill "${AGENT[n1]}" && wait "${AGENT[n1]}" 2>/dev/null
	fake_start n1 1 --hang kexec
	action release '{"nodes": "n1", "setup": {"mode": "wipe"}}' >/dev/null
	until_true 30 in_kexec || return 1
	key=$(field n1 .key_fp)
	for guess in '{}' '{start: "1"}' '{start: "70000.00"}' "{start: \"$(field n1 '.plan.steps[.plan.cursor].id').$(printf '0%.0s' {1..64})\"}" '{token: "x"}'; do
		[ "$(enrol 127.0.0.1 1 "$guess")" = 403 ] || { echo "$guess: $(cat "$WORK/body")"; return 1; }
	done
	grep -q 'does not show the token of its last start' "$WORK/body" || { cat "$WORK/body"; return 1; }
	[ "$(enrol 127.0.0.9 1)" = 403 ] && is n1 .key_fp "$key" && is n1 .state cleaning
}
# it was tried five times within a minute
it_leaves_a_trace() {
	api "/v1/events?node=n1" | jq -e '[.events[].text | select(test("a certificate is refused to who asks for it from 127.0.0.1"))] | length == 1' >/dev/null
}
only_its_own_address_is_given_the_token() {
	no_token 127.0.0.9 1 || return 1
	# nor does a list of nodes show it
	! phx node show n1 -o json | grep -q '[0-9]\.[0-9a-f]\{64\}'
}
# the machine itself, by the token of its order; the copy of its key is worth nothing then
the_machine_comes_and_the_copy_is_dead() {
	kill "${AGENT[n1]}" && wait "${AGENT[n1]}" 2>/dev/null
	fake_start n1 1
	stands n1 ready || return 1
	[ "$(effects n1 ' wipe ')" -ge 1 ] || return 1
	[ "$(as_n1 "$WORK/copy")" = 403 ] && grep -q 'not the node.s present one' "$WORK/body" || { cat "$WORK/body"; return 1; }
	[ "$(as_n1 "$WORK/n1")" != 403 ]
}
# nor is it let in again by what the copy can prove
the_copy_is_not_certified_again() {
	openssl req -new -key "$WORK/copy/key.pem" -subj /CN=x -out "$WORK/csr.pem" 2>/dev/null
	[ "$(enrol 127.0.0.1 1)" = 403 ] || { cat "$WORK/body"; return 1; }
}
# what is announced with a token has to show it, whatever else fits
an_announced_token_is_demanded() {
	echo the-token >"$WORK/token"
	phx node add n7 --mac 02:00:00:00:00:07 --serial SN7 --token-file "$WORK/token" >/dev/null || return 1
	[ "$(enrol 127.0.0.1 7)" = 403 ] && [ "$(enrol 127.0.0.1 7 '{token: "another"}')" = 403 ] && is n7 .state new || return 1
	[ "$(enrol 127.0.0.1 7 '{token: "the-token"}')" = 200 ]
}
it_replays() { replays_the_same 20 20; }

trust_head
cp "$WORK/head/pki/ca.pem" "$WORK/ca.pem" && : >"$WORK/body" && : >"$WORK/enrol.json" && chmod 666 "$WORK/body" "$WORK/enrol.json" "$WORK/ca.pem"
for test in nobody_else_enrols_while_it_is_started it_leaves_a_trace only_its_own_address_is_given_the_token \
	the_machine_comes_and_the_copy_is_dead the_copy_is_not_certified_again an_announced_token_is_demanded it_replays; do
	check "$test" "$test"
done
exit $FAILED
