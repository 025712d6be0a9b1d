#!/bin/bash
# Agents of other versions than the head's: what a newer one tells beyond is passed over, at any depth; one that is two versions ahead
# is refused and told why; which version each node's agent is, and that one does not tell it, is shown.
. "$(dirname "$0")/agents.bash"

OWN=$("$BUILD/bin/phx-agent" --version | sed 's/.* //')
agent_is() { [ "$(api "/v1/nodes/n1" | jq -r .agent_version)" = "$1" ]; }
# hello VERSION FACTS STATUS: by the key of the node, whose agent does not run
hello() {
	local cert key got
	cert=$(find "$WORK/n1" -name agent.pem | head -n 1) key=$(find "$WORK/n1" -name agent.key | head -n 1)
	got=$(curl -sS -m 20 --cacert "$WORK/head/pki/ca.pem" --cert "$cert" --key "$key" "https://127.0.0.1:$HTTPS/v1/agent/hello" -o "$WORK/answer" \
		-w '%{http_code}' -d "{\"env\": \"os\", \"boot_id\": \"boot-n1\", $1 \"facts\": $2}")
	[ "$got" = "$3" ] || { echo "wanted $3, got $got"; cat "$WORK/answer"; return 1; }
}
enrols() {
	node_init n1 1 && phx node add n1 --mac 02:00:00:00:00:01 >/dev/null 2>&1 && agent_start n1 && until_true 30 is n1 .state ready
}
its_version_is_shown() { agent_is "$OWN" && phx node list -o wide >"$WORK/said" && grep -q AGENT "$WORK/said" && phx node show n1 | grep -qE "Agent +$OWN"; }
what_newer_ones_tell_is_passed_over() {
	agent_stop n1
	hello '"version": "0.2.0",' '{"moons": 3, "disks": [{"id": "d1", "size_bytes": 1000, "spins": {"fast": true}}]}' 200 && agent_is 0.2.0
}
one_of_before_is_taken() { hello '' '{}' 200 && agent_is ""; }
two_versions_ahead_is_refused() {
	hello '"version": "0.3.0",' '{}' 503 && agent_is 0.3.0 &&
		grep -q "the agent is version 0.3.0 and this head $OWN: they work together one minor version apart; upgrade the head first" "$WORK/answer" &&
		hello '"version": "1.0.0",' '{}' 503
}
it_comes_back() { agent_start n1 && until_true 30 agent_is "$OWN"; }
# who upgrades has just restarted the head, and asks which agents are left
a_head_that_was_restarted_knows_it() { head_stop && head_start && until_true 10 agent_is "$OWN"; }

head_init
for test in enrols its_version_is_shown what_newer_ones_tell_is_passed_over one_of_before_is_taken two_versions_ahead_is_refused it_comes_back a_head_that_was_restarted_knows_it; do
	check "$test" "$test"
done
exit $FAILED
