#!/bin/bash
# The owner of an RE has root on its nodes. Before a node is taken from him he has its agent say that it is the deploy environment, started
# anew: it is the one that is told to erase, and it would say that it did. What does not show the token of a start is told nothing of the kind.
. "$(dirname "$0")/../trust.bash"

as_n1() { curl -sS -m 20 --cacert "$WORK/head/pki/ca.pem" --cert "$WORK/n1/cert.pem" --key "$WORK/n1/key.pem" -o "$WORK/body" -w '%{http_code}' \
	"https://127.0.0.1:$HTTPS/v1/agent/$1" -d "$2"; }
stands() { until_true 40 idle "$@" || { field "$1" '"\(.state) \(.reason) \(.plan.steps | map(.kind + "/" + .status) | join(" "))"'; return 1; }; }
steps() { field n1 '[.plan.steps[] | select(.status != "done") | .kind] | join(" ")'; }

tenant_says_that_it_is_the_deploy_environment() {
	action assign '{"nodes": "n1", "role": "batch"}' >/dev/null
	stands n1 active batch || return 1
	kill "${AGENT[n1]}" && wait "${AGENT[n1]}" 2>/dev/null
	field n1 '{echoes: true, rekeys: true, boot_id: "another", env: "deploy", facts, system_image, system_digest}' >"$WORK/hello.json"
	[ "$(as_n1 hello "@$WORK/hello.json")" = 200 ] && is n1 .env deploy || { cat "$WORK/body"; return 1; }
}
it_is_told_to_erase_nothing() {
	phx node release n1 --setup wipe --yes >"$WORK/out" 2>&1
	grep -q 'does not show the token of a start' "$WORK/out" || { cat "$WORK/out"; return 1; }
	[ "$(steps)" = "" ] || { echo "steps: $(steps)"; return 1; }
	[ "$(as_n1 beat '{"env": "deploy", "boot_id": "another", "healthy": true, "running": [], "wait_ms": 0}')" = 200 ] && ! grep -q '"wipe"' "$WORK/body" &&
		is n1 .dirty true
}
# a person switches it off and on: what is there then comes by a token to its erase
serves_from_its_disk() { is n1 .env os && is n1 .up true; }
it_is_started_by_hand() {
	echo off >"$WORK/n1/power"
	fake_start n1 1
	until_true 20 is n1 .up false || return 1
	echo on >"$WORK/n1/power"
	until_true 20 serves_from_its_disk || return 1
	phx node wipe n1 --yes --wait --timeout 60 >"$WORK/out" 2>&1 || { cat "$WORK/out"; return 1; }
	is n1 .dirty false && [ "$(effects n1 ' wipe ')" = 1 ]
}
it_replays() { replays_the_same 20 20; }

trust_head
for test in tenant_says_that_it_is_the_deploy_environment it_is_told_to_erase_nothing it_is_started_by_hand it_replays; do
	check "$test" "$test"
done
exit $FAILED
