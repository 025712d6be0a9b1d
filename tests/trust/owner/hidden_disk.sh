#!/bin/bash
# The owner of an RE has root on its nodes, and leaves something for the next one: on a disk that his system does not report, on one
# that is not there while the node is erased, on one that calls itself removable, or a LUN of somebody's storage; or he has the answer of the erase written beforehand.
# Nobody is given a node with a disk that was not erased.
. "$(dirname "$0")/../trust.bash"

# what the disks of a machine are made out to be, from now on
disks() { printf '%s\n' "${@:2}" >"$WORK/$1/disks" && action inspect "{\"nodes\": \"$1\"}" >/dev/null; }
n_disks() { [ "$(field "$1" '.facts.disks | length')" = "$2" ]; }
leaves() { action release "{\"nodes\": \"$1\", \"setup\": {\"mode\": \"wipe\"}}" | jq -e '.results[0].code == 0' >/dev/null; }
# NAME: it has two disks, and a tenant
tenant_of() {
	disks "$1" shown shown && until_true 20 n_disks "$1" 2 || { echo "$1 has no two disks"; return 1; }
	: >"$WORK/$1/effects"
	action assign "{\"nodes\": \"$1\", \"role\": \"batch\"}" >/dev/null
	until_true 30 idle "$1" active batch || { echo "$1 is $(field "$1" '"\(.state) \(.reason)"')"; return 1; }
}
stands() { # NAME STATE
	until_true 40 idle "$1" "$2" "" && return 0
	echo "$1 is $(field "$1" '"\(.state) \(.reason) \(.plan.steps | map(.kind + "/" + .status) | join(" "))"'), not $2"
	return 1
}
records() { api "/v1/nodes/$1/erasures" | jq "[.erasures[] | select($2)] | length"; }

# his system leaves it out of what it reports
hidden_in_his_system_is_erased() {
	tenant_of n1 || return 1
	disks n1 shown deploy && until_true 20 n_disks n1 1 || { echo "his system still reports it"; return 1; }
	leaves n1 && stands n1 ready || return 1
	[ "$(effects n1 ' wipe .*serial-FAKE-1-1$')" = 1 ] || { echo "it was not erased:"; cat "$WORK/n1/effects"; return 1; }
	[ "$(records n1 '.disk == "serial-FAKE-1-1" and (.disks | length) == 2 and .from_owner == "cert:hpc" and .read_sha256 != ""')" = 1 ] ||
		{ api /v1/nodes/n1/erasures; return 1; }
}
# it is not there while the node is erased, and comes back for the next one
hidden_for_good_quarantines() {
	tenant_of n1 || return 1
	disks n1 shown hidden && until_true 20 n_disks n1 1 || return 1
	leaves n1 && stands n1 quarantined || return 1
	field n1 .reason | grep -q 'serial-FAKE-1-1 .* is not there.*phx node forget-disk' || { field n1 .reason; return 1; }
	[ "$(field n1 .pool)" = "" ]
}
# somebody has taken it out: the node is of use again; only who may do that says so, and not of a disk that is there
only_people_forget_it() {
	[ "$(ask games POST /v1/actions/forget-disk -d '{"nodes": "n1", "text": "serial-FAKE-1-1"}')" = 403 ] || { cat "$WORK/answer"; return 1; }
	phx node forget-disk n1 serial-FAKE-1 --yes >"$WORK/forget" 2>&1 && { echo "the disk that is there is forgotten"; return 1; }
	phx node forget-disk n1 serial-FAKE-1-1 --yes >"$WORK/forget" 2>&1 || { cat "$WORK/forget"; return 1; }
	phx node resume n1 --yes >"$WORK/resume" 2>&1 || { cat "$WORK/resume"; return 1; }
	stands n1 ready
}
removable_is_not_believed() {
	tenant_of n2 || return 1
	disks n2 shown removable
	leaves n2 && stands n2 ready || return 1
	[ "$(effects n2 ' wipe .*serial-FAKE-2-1$')" = 1 ] || { echo "it was not erased:"; cat "$WORK/n2/effects"; return 1; }
}
# remote disks are protected; this one is none, and was seen before it had an owner
called_remote_is_not_believed() {
	local before
	tenant_of n2 || return 1
	disks n2 shown claimed && until_true 20 claims_one || { echo "his system claims nothing"; return 1; }
	before=$(records n2 '.disk == "serial-FAKE-2-1"')
	phx node release n2 --setup wipe --dry-run >"$WORK/plan" 2>&1
	grep -q 'left as protected' "$WORK/plan" && { cat "$WORK/plan"; return 1; }
	leaves n2 && stands n2 ready || return 1
	[ "$(effects n2 ' wipe .*serial-FAKE-2-1$')" = 1 ] || { echo "it was not erased:"; cat "$WORK/n2/effects"; return 1; }
	[ "$(records n2 '.disk == "serial-FAKE-2-1" and all(.disks[]; .left == "")')" -gt "$before" ]
}
claims_one() { [ "$(field n2 '[.facts.disks[] | select(.remote)] | length')" = 1 ]; }

as_n2() { curl -sS -m 20 --cacert "$WORK/head/pki/ca.pem" --cert "$WORK/n2/cert.pem" --key "$WORK/n2/key.pem" -o "$WORK/answer" -w '%{http_code}' \
	"https://localhost:$HTTPS/v1/agent/result" -d "$1"; }
waits_in_wipe() { [ "$(field n2 '.plan.steps[.plan.cursor] | "\(.kind) \(.status)"')" = "wipe issued" ]; }
# he knows the number of the step, the disk, the method, and not the number of the attempt
a_written_answer_counts_for_nothing() {
	local step answer n before
	before=$(records n2 true)
	tenant_of n2 || return 1
	kill "${AGENT[n2]}" && wait "${AGENT[n2]}" 2>/dev/null
	fake_start n2 2 --hang wipe
	leaves n2 && until_true 30 waits_in_wipe || { echo "it never comes to its wipe"; return 1; }
	step=$(field n2 '.plan.steps[.plan.cursor] as $s | {id: $s.id, epoch: .plan.epoch, attempt: $s.attempt, disk: $s.disk, method: $s.method}')
	for n in 0 1 4711; do
		answer=$(jq -c --argjson n $n '{kind: "step", id, epoch, attempt, nonce: $n, result: 0, text: "", wipe: {disk_id: .disk, method, used: .method,
			size_bytes: 4294967296, verified_bytes: 4294967296, verified: true, detail: "as written", places: 9, read_sha256: "5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f"}}' <<<"$step")
		as_n2 "$answer" >"$WORK/status"
	done
	[ "$(records n2 true)" = "$before" ] || { echo "it has a record of an erase that was none"; return 1; }
	[ "$(field n2 .state)" != ready ] || { echo "it is ready"; return 1; }
	kill "${AGENT[n2]}" && wait "${AGENT[n2]}" 2>/dev/null
	fake_start n2 2
	stands n2 ready && [ "$(records n2 '.text == "as written"')" = 0 ]
}
it_replays() { replays_the_same 20 20; }

trust_head
check hidden_in_his_system_is_erased hidden_in_his_system_is_erased
check hidden_for_good_quarantines hidden_for_good_quarantines
check only_people_forget_it only_people_forget_it
check removable_is_not_believed removable_is_not_believed
check called_remote_is_not_believed called_remote_is_not_believed
check a_written_answer_counts_for_nothing a_written_answer_counts_for_nothing
check it_replays it_replays
exit $FAILED
