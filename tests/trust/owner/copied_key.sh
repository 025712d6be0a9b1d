#!/bin/bash
# The owner of an RE has root on its nodes, and keeps a copy of a node's key. The node goes to another owner without an erase and without
# a start, as both agreements say (NOOP): the copy asks for the orders of the next one, holds a question open since before, and asks for a
# certificate of its own while the node is given another key. It is answered nothing, and the node is nobody else's.
. "$(dirname "$0")/../trust.bash"

# as COPY METHOD PATH [BODY] [FROM]: status; under the key in that directory
as_copy() { curl -sS -m 30 --interface "${5:-127.0.0.1}" --cacert "$WORK/ca.pem" --cert "$1/cert.pem" --key "$1/key.pem" -X "$2" -o "$WORK/body" -w '%{http_code}' \
	"https://127.0.0.1:$HTTPS$3" -d "$4"; }
stands() { until_true 40 idle "$@" || { field "$1" '"\(.state) \(.reason) \(.plan.steps | map(.kind + "/" + .status) | join(" "))"'; return 1; }; }
in_rekey() { [ "$(field n1 '.plan.steps[.plan.cursor] | "\(.kind) \(.status)"')" = "rekey issued" ]; }
restart() { # NAME N OPTIONS: the machine goes on with another agent
	kill "${AGENT[$1]}" && wait "${AGENT[$1]}" 2>/dev/null
	fake_start "$@"
}
beat_of() { printf '{"env": "os", "boot_id": "%s", "actual_role": "%s", "healthy": true, "running": [%s], "wait_ms": %d}' "$(field n1 .boot_id)" "$1" "$2" "$3"; }

tenant_copies_its_key() {
	action assign '{"nodes": "n1", "role": "batch"}' >/dev/null
	stands n1 active batch && cp -r "$WORK/n1" "$WORK/copy"
}
reads_its_order() {
	[ "$(as_copy "$WORK/copy" POST /v1/agent/beat "$(beat_of batch '' 0)" 127.0.0.9)" = 200 ] &&
		jq -ce --rawfile csr "$WORK/mine.csr" '.orders[] | select(.kind == "step") | {csr: $csr, id, epoch}' "$WORK/body" >"$WORK/order"
}
rekey_as_copy() { # NONCE [FROM]: jq knows no numbers of 63 bits
	as_copy "$WORK/copy" POST /v1/agent/rekey "$(sed "s/}\$/,\"nonce\":$1}/" "$WORK/order")" "${2:-127.0.0.1}"
}
# it is told to have another key, and has not asked yet: the copy has, with all that it can read in an order, from its own address
the_copy_is_given_no_certificate() {
	local nonce guess
	restart n1 1 --hang rekey
	phx node assign n1 lab --dry-run >"$WORK/dry" 2>&1 && grep -q rekey "$WORK/dry" || { cat "$WORK/dry"; return 1; }
	action assign '{"nodes": "n1", "role": "lab"}' >/dev/null
	until_true 30 in_rekey || { echo "no step gives it another key"; return 1; }
	openssl req -new -newkey ed25519 -nodes -keyout "$WORK/mine.pem" -subj /CN=x -out "$WORK/mine.csr" 2>/dev/null
	until_true 15 reads_its_order || { echo "the copy reads no order, and it is the present key still: $(cat "$WORK/body")"; return 1; }
	nonce=$(grep -o '"nonce":[0-9]*' "$WORK/body" | cut -d: -f2)
	[ "$(rekey_as_copy "$nonce" 127.0.0.9)" = 403 ] || { cat "$WORK/body"; return 1; }
	grep -q 'that is not its address' "$WORK/body" || { cat "$WORK/body"; return 1; }
	for guess in 1 $((nonce - 1)); do
		[ "$(rekey_as_copy "$guess")" = 409 ] || { cat "$WORK/body"; return 1; }
	done
}
# held since before the node had another key: it is ended, and not answered with orders of the next owner
what_the_copy_holds_open_tells_it_nothing() {
	local step
	step=$(field n1 '.plan.steps[.plan.cursor].id')
	as_copy "$WORK/copy" POST /v1/agent/beat "$(beat_of batch "$step" 20000)" 127.0.0.9 >"$WORK/held.status" &
	local held=$!
	sleep 0.3
	restart n1 1
	stands n1 active lab || return 1
	wait $held
	grep -q '"orders":\[\]' "$WORK/body" || [ "$(cat "$WORK/held.status")" = 403 ] || { cat "$WORK/held.status" "$WORK/body"; return 1; }
	[ "$(field n1 .pool)" = lab ]
}
the_copy_is_dead() {
	local path
	for path in hello beat result inventory logs disk-key/x; do
		[ "$(as_copy "$WORK/copy" POST /v1/agent/$path "$(beat_of lab '' 0)")" = 403 ] || { echo "$path: $(cat "$WORK/body")"; return 1; }
	done
	[ "$(as_copy "$WORK/copy" GET /packages/tools-1.tar.zst '')" = 403 ] || return 1
	openssl req -new -key "$WORK/copy/key.pem" -subj /CN=x -out "$WORK/csr.pem" 2>/dev/null
	jq -n --rawfile csr "$WORK/csr.pem" '{csr: $csr, macs: ["02:00:00:00:00:01"], serial: "SN1", env: "os"}' >"$WORK/enrol.json"
	[ "$(curl -sS -m 20 --cacert "$WORK/ca.pem" -o "$WORK/body" -w '%{http_code}' "https://127.0.0.1:$HTTPS/v1/agent/enrol" -d @"$WORK/enrol.json")" = 403 ]
}
# its agent says that it has another key, and keeps the one that he has
who_keeps_his_key_keeps_no_node() {
	action assign '{"nodes": "n2", "role": "batch"}' >/dev/null
	stands n2 active batch || return 1
	restart n2 2 --lazy
	action assign '{"nodes": "n2", "role": "lab"}' >/dev/null
	until_true 60 idle n2 quarantined "" || { field n2 .state; return 1; }
	field n2 .reason | grep -q 'has not asked for a certificate for a new key' || { field n2 .reason; return 1; }
	[ "$(effects n2 'activate lab')" = 0 ]
}
it_replays() { replays_the_same 20 20; }

mkdir -p "$WORK/etc/conf.d"
echo 'pools = ( { name = "lab"; owner = "uni"; setup = { mode = "noop"; }; } );' >"$WORK/etc/conf.d/lab.conf"
trust_head
sed 's/pool = "batch"/pool = "lab"/' "$WORK/etc/roles/batch.conf" >"$WORK/etc/roles/lab.conf" && post /v1/reload >/dev/null
cp "$WORK/head/pki/ca.pem" "$WORK/ca.pem"
for test in tenant_copies_its_key the_copy_is_given_no_certificate what_the_copy_holds_open_tells_it_nothing the_copy_is_dead who_keeps_his_key_keeps_no_node it_replays; do
	check "$test" "$test"
done
exit $FAILED
