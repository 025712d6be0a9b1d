#!/bin/bash
# Who is let in as a node, over the real sockets, with the configuration that is shipped: nobody on the head itself, a node from
# its own address alone, with its token where it has one; and what refusals do to a node that is silent.
. "$(dirname "$0")/phxd.bash"

head_conf
sed -i 's/enrol_over_loopback = true;//' "$WORK/etc/phoenix.conf"
mkdir -p "$WORK/etc/roles"
head_start
openssl req -new -newkey ed25519 -nodes -keyout "$WORK/key.pem" -subj /CN=x -out "$WORK/csr.pem" 2>/dev/null

# enrol FROM MAC SERIAL [TOKEN]: sets $code
enrol() {
	jq -n --rawfile csr "$WORK/csr.pem" --arg mac "$2" --arg serial "$3" --arg token "${4:-}" \
		'{csr: $csr, macs: [$mac], serial: $serial, env: "deploy"} + if $token == "" then {} else {token: $token} end' >"$WORK/enrol.json"
	code=$(setpriv --reuid=65534 --regid=65534 --clear-groups curl -sS -m 20 --interface "$1" --cacert "$WORK/ca.pem" -o "$WORK/body" \
		-w '%{http_code}' "https://127.0.0.1:$HTTPS/v1/agent/enrol" -d @"$WORK/enrol.json")
}
said() { [ "$code" = "$1" ] && grep -qF -- "$2" "$WORK/body" || { echo "$code $(cat "$WORK/body")"; return 1; }; }
cp "$WORK/head/pki/ca.pem" "$WORK/ca.pem" && chmod 755 "$WORK" && : >"$WORK/body" && : >"$WORK/enrol.json" &&
	chmod 666 "$WORK/body" "$WORK/enrol.json" "$WORK/ca.pem"

nobody_enrols_on_the_head() {
	local before
	phx node add n1 --mac 02:00:00:00:00:01 2>"$WORK/warned" || return 1
	grep -q 'warning: n1 is known by its MAC address alone' "$WORK/warned" && is n1 .by_mac_alone true || return 1
	before=$(seq_now)
	enrol 127.0.0.1 02:00:00:00:00:01 SN1
	said 403 enrol_over_loopback && is n1 .state new && is n1 .key_fp '' || return 1
	enrol 127.0.0.9 02:00:00:00:00:99 SN9
	said 403 enrol_over_loopback && [ "$(api /v1/nodes | jq '.nodes | length')" = 1 ] && [ $(($(seq_now) - before)) -le 1 ] &&
		api "/v1/events?node=n1" | jq -e '[.events[].text | select(test("a certificate is refused to who asks for it from 127.0.0.1"))] | length == 1' >/dev/null
}
# the tests' way: an address of its own, which is reserved for it
a_node_enrols_from_its_own_address() {
	phx node add n2 --mac 02:00:00:00:00:02 --ip 127.0.0.52 >/dev/null && is n2 .by_mac_alone false || return 1
	enrol 127.0.0.53 02:00:00:00:00:02 SN2
	said 403 'from another address' && is n2 .state new || return 1
	enrol 127.0.0.52 02:00:00:00:00:02 SN2
	said 200 '"node":"n2"' || said 200 '"node": "n2"'
}
its_token_is_demanded() {
	echo the-token-of-n3 >"$WORK/token"
	phx node add n3 --mac 02:00:00:00:00:03 --ip 127.0.0.54 --token-file "$WORK/token" >/dev/null || return 1
	enrol 127.0.0.54 02:00:00:00:00:03 SN3
	said 403 'announced with a token' || return 1
	enrol 127.0.0.54 02:00:00:00:00:03 SN3 another
	said 403 'announced with a token' && is n3 .state new || return 1
	enrol 127.0.0.54 02:00:00:00:00:03 SN3 the-token-of-n3
	said 200 n3
}
# n2 has a certificate and is not heard: a claim with its MAC address leaves it as it is
claims_change_nothing() {
	local before key i
	before=$(seq_now) key=$(field n2 .key_fp)
	for i in $(seq 20); do
		enrol 127.0.0.52 02:00:00:00:00:02 "serial-$i"
		said 403 'another serial number' || return 1
	done
	is n2 .state commissioning && is n2 .key_fp "$key" && [ $(($(seq_now) - before)) -le 1 ]
}
addresses_of_others_are_refused() {
	local ip
	for ip in 127.0.0.1 127.0.0.0 0.0.0.0 239.1.1.1 10.0.0; do
		phx node add x --mac 02:00:00:00:00:44 --ip "$ip" >"$WORK/out" 2>&1 && { echo "$ip was taken"; return 1; }
		grep -q 'ip: ' "$WORK/out" || { cat "$WORK/out"; return 1; }
	done
}

for test in nobody_enrols_on_the_head a_node_enrols_from_its_own_address its_token_is_demanded claims_change_nothing \
	addresses_of_others_are_refused; do
	check "$test" "$test"
done
exit $FAILED
