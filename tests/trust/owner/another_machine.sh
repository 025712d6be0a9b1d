#!/bin/bash
# The owner of an RE has the key of a node's agent and answers for the node from another machine, or from the node itself without
# having started it anew. A node whose TPM has signed an erase before is erased when that TPM has signed again, for just this erase;
# else it is nobody's until somebody looks. That it has counted a power cycle, too: unit/node/tpm.c, and the lab's machine.
. "$(dirname "$0")/../trust.bash"

# A disk is erased by who is at the node now: NAME STATE
erased() {
	action wipe "{\"nodes\": \"$1\", \"method\": \"overwrite\"${3:-}}" >/dev/null && until_true 40 idle "$1" "$2" ""
}
restarts() { # NAME NUMBER [OPTION...]: another machine, or another agent, with what the agent of that one knew
	agent_kill "$1"
	fake_start "$@"
}
quarantined() { # NAME WORDS
	erased "$1" quarantined && field "$1" .reason | grep -q "$2" && return 0
	field "$1" '"\(.state): \(.reason)"'
	return 1
}
let_in_again() { action resume "{\"nodes\": \"$1\"}" >/dev/null && until_true 40 idle "$1" ready ""; }

the_first_one_is_believed() {
	restarts n1 1 --tpm one
	erased n1 ready && phx erasure export n1 "$WORK/first" && phx erasure key "$WORK/attest.pub" &&
		phx erasure verify "$WORK/first" --pub "$WORK/attest.pub" && jq -e '.attestation.tpm == "quoted"' "$WORK/first" >/dev/null
}
the_same_one_goes_on() { erased n1 ready && phx erasure export n1 "$WORK/second" && phx erasure verify "$WORK"/{first,second} --pub "$WORK/attest.pub"; }
a_machine_without_it_is_none() {
	restarts n1 1
	quarantined n1 'TPM did not sign'
}
nor_one_with_another() {
	mv "$WORK/n1/tpm.pem" "$WORK/kept.pem"
	restarts n1 1 --tpm one
	let_in_again n1
	quarantined n1 'another TPM'
}
nor_what_it_signed_before() {
	mv "$WORK/kept.pem" "$WORK/n1/tpm.pem"
	restarts n1 1 --tpm stale
	let_in_again n1
	quarantined n1 'not of this erase'
}
a_new_board_is_said_by_an_administrator() {
	refused '403|404' games POST /v1/actions/forget-tpm -d '{"nodes": "n1"}' || return 1
	rm -f "$WORK/n1/tpm.pem"
	restarts n1 1 --tpm one
	action forget-tpm '{"nodes": "n1"}' >/dev/null && let_in_again n1 && erased n1 ready
}
a_user_sees_no_key_of_it() {
	[ "$(ask games GET /v1/nodes/n1)" = 200 ] || return 1
	head -n 1 "$WORK/answer" | jq -e '.tpms | length == 1 and all(has("resets") and (has("key") or has("pcrs") | not))' >/dev/null &&
		api /v1/nodes/n1 | jq -e '.tpms[0] | .key | startswith("sha256:")' >/dev/null
}

it_replays() { replays_the_same 20 20; }

trust_head
for test in the_first_one_is_believed the_same_one_goes_on a_machine_without_it_is_none nor_one_with_another nor_what_it_signed_before \
	a_new_board_is_said_by_an_administrator a_user_sees_no_key_of_it it_replays; do
	check $test $test
done
exit $FAILED
