#!/bin/bash
# The owner of an RE is root on a node, and goes for the settings of the site: he has them refused to all by what his node says of its cards,
# wants them where none are given, and as often at once as his lines carry, to fill the head's memory. The other node is told them all the while.
. "$(dirname "$0")/../trust.bash"

SITE=$WORK/etc/site
hello_of() { # MAC ENV
	field n1 . | jq -c --arg mac "$1" --arg env "$2" '{boot_id, env: $env, healthy, echoes, actual_role, actual_identity, system_image, system_digest, facts} |
		.facts.nics = [{mac: $mac, dev: "eth0"}]'
}
nic_of_n2() { # MAC
	echo 'networks = ( { name = "lan"; subnet = "10.9.0.0/16"; } );' >"$SITE/networks.conf"
	echo "nodes = ( { nodes = \"n2\"; nics = ( { name = \"eth0\"; mac = \"$1\"; network = \"lan\"; address = \"10.9.0.5\"; } ); } );" >"$SITE/nodes.conf"
}
# of a machine that is known, and of one that nobody has seen yet
cards_of_others_are_not_his() {
	local mac
	for mac in 02:00:00:00:00:02 02:00:00:00:00:77; do
		gets 200 by_node n1 POST /v1/agent/hello -d "$(hello_of $mac os)" && [ "$(field n1 '.facts.nics[0].mac')" = $mac ] || { echo "the lie was not taken down: nothing was tried"; return 1; }
		nic_of_n2 $mac
		phx site apply >"$WORK/said" 2>&1 || { cat "$WORK/said"; return 1; }
	done
	# his own is still no other's
	nic_of_n2 02:00:00:00:00:01
	phx site apply >"$WORK/said" 2>&1 && return 1
	rm "$SITE"/n*.conf
	grep -q 'nodes.conf:1: eth0 of n2: 02:00:00:00:00:01 is a card of node n1' "$WORK/said" || { cat "$WORK/said"; return 1; }
}
none_in_the_deploy_environment() {
	gets 200 by_node n1 POST /v1/agent/hello -d "$(hello_of 02:00:00:00:00:01 deploy)" && gets 403 by_node n1 GET /v1/agent/site || return 1
	gets 200 by_node n1 POST /v1/agent/hello -d "$(hello_of 02:00:00:00:00:01 os)" && gets 200 by_node n1 GET /v1/agent/site && grep -q of-all-nodes "$WORK/answer"
}
now_kb() { awk '/^VmRSS/ { print $2 }' "/proc/$(head_pid)/status"; }
peak_kb() { awk '/^VmHWM/ { print $2 }' "/proc/$(head_pid)/status"; }
# 40 at once, whose answers he does not read
they_fill_no_memory() {
	local i before grown p=()
	for ((i = 0; i < 50; i++)); do head -c 60000 /dev/zero | tr '\0' x >"$SITE/files/all/etc/long$i"; done
	phx site apply >"$WORK/said" 2>&1 || { cat "$WORK/said"; return 1; }
	gets 200 by_node n1 GET /v1/agent/site -o /dev/null && echo 5 >"/proc/$(head_pid)/clear_refs" || { echo "nothing was asked for"; return 1; }
	before=$(now_kb)
	for ((i = 0; i < 40; i++)); do
		curl -sS -m 60 --limit-rate 1k --cacert "$WORK/head/pki/ca.pem" --cert "$WORK/n1/cert.pem" --key "$WORK/n1/key.pem" \
			"https://127.0.0.1:$HTTPS/v1/agent/site" -o /dev/null </dev/null 2>/dev/null &
		p+=($!)
	done
	until_true 20 gets 429 by_node n1 GET /v1/agent/site -o /dev/null || { kill "${p[@]}"; return 1; }
	gets 200 by_node n2 GET /v1/agent/site -o /dev/null || { kill "${p[@]}"; return 1; }
	sleep 2
	grown=$(($(peak_kb) - before))
	kill "${p[@]}" 2>/dev/null
	echo "    $grown KiB at most"
	[ $grown -lt 40000 ]
}

FAKES="--env os"
trust_head
action assign '{"nodes": "n1", "role": "batch"}' >/dev/null && until_true 30 idle n1 active batch || { not_ok "n1 has no tenant"; exit 1; }
agent_kill n1
mkdir -p "$SITE/files/all/etc" && echo of-all-nodes >"$SITE/files/all/etc/all" && phx site apply >/dev/null || { not_ok "there are no settings"; exit 1; }
for t in cards_of_others_are_not_his none_in_the_deploy_environment they_fill_no_memory; do check $t $t; done
exit $FAILED
