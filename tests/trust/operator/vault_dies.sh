#!/bin/bash
# The process that holds the keys dies in the middle of an erase: between what a node tells of its last disk and the head's own signature, and
# while the key of a disk is destroyed; once, and again and again. Nothing is lost, and no node is ready whose erase is not attested.
. "$(dirname "$0")/../trust.bash"

vault_of() { pgrep -P "$HEAD" -f -- '--vault'; }
# of the journal itself: while the head waits for a signature it answers nobody
in_journal() { sqlite3 -readonly "$WORK/head/journal.db" "$1"; }
attested() { in_journal "SELECT count(*) FROM attestations WHERE node='$1'"; }
wipes() { effects "$1" '^STEP [0-9]+ wipe'; }
erased_more() { [ "$(wipes "$1")" -gt "$2" ]; }
comes_up() { # NAME NUMBER ROLE [OPTION...]
	post /v1/nodes "{\"name\": \"$1\", \"macs\": [\"02:00:00:00:00:0$2\"]}" >/dev/null
	fake_start "$1" "$2" --env os --image test --digest "$IMAGE_DIGEST" "${@:4}"
	until_true 20 is "$1" .state ready && serves "$1" "$3"
}
serves() { action assign "{\"nodes\": \"$1\", \"role\": \"$2\"}" >/dev/null && until_true 30 idle "$1" active "$2"; }
released() { action release "{\"nodes\": \"$1\", \"setup\": {\"mode\": \"wipe\"}}" >/dev/null; }
# is_attested NAME COUNT: there are so many, and the last is good where there is no head
is_attested() {
	[ "$(attested "$1")" = "$2" ] || { echo "$1 has $(attested "$1") attestations, not $2"; return 1; }
	phx erasure export "$1" "$WORK/last" && phx erasure verify "$WORK/last" --pub "$WORK/attest.pub" >"$WORK/verify" || { cat "$WORK/verify"; return 1; }
}

# the vault stands still before the last result comes, and is killed when the head waits for its signature
it_dies_before_it_signs() {
	local n before
	comes_up n3 3 batch --hang wipe && n=$(attested n3) && released n3 || return 1
	until_true 30 is n3 '.plan.steps[.plan.cursor] | "\(.kind) \(.status)"' 'wipe issued' || { field n3 .plan; return 1; }
	agent_kill n3
	before=$(wipes n3)
	kill -STOP "$(vault_of)" || return 1
	fake_start n3 3
	until_true 30 erased_more n3 "$before" || { echo "n3 does not erase: nothing was tried"; return 1; }
	sleep 2
	[ "$(attested n3)" = "$n" ] || { echo "it is attested while nothing can be signed"; return 1; }
	kill -9 "$(vault_of)"
	until_true 60 idle n3 ready "" && is_attested n3 $((n + 1))
}
# as fast as it can: without a program of its own
kills_each() {
	local pids pid word
	while :; do
		read -r -a pids <"/proc/$HEAD/task/$HEAD/children" # without a line's end
		for pid in "${pids[@]}"; do
			{ read -r -d '' word && read -r -d '' word; } <"/proc/$pid/cmdline" && [ "$word" = --vault ] && kill -9 "$pid"
		done
	done
}
# each that is started is killed, from when the node is to erase: whatever the head does meanwhile, the node is not ready without the attestation
it_dies_again_and_again() {
	local n end killer state code=0
	agent_kill n3
	fake_start n3 3 --hang wipe
	until_true 20 is n3 .up true && serves n3 batch && n=$(attested n3) && released n3 || return 1
	until_true 30 is n3 '.plan.steps[.plan.cursor] | "\(.kind) \(.status)"' 'wipe issued' || { field n3 .plan; return 1; }
	agent_kill n3
	kills_each 2>/dev/null &
	killer=$!
	fake_start n3 3
	end=$((SECONDS + 8))
	while [ $code = 0 ] && [ $SECONDS -lt $end ]; do
		state=$(field n3 '"\(.state) \(.role)"' 2>/dev/null)
		[ "$state" != "ready " ] || [ "$(attested n3)" = $((n + 1)) ] || code=1
	done
	kill $killer
	wait $killer 2>/dev/null
	[ $code = 0 ] || { echo "n3 is ready, and its erase is not attested"; return 1; }
	until_true 60 idle n3 ready "" && is_attested n3 $((n + 1))
}
# the erase of an encrypted disk is that its key is gone
it_dies_as_it_destroys_a_key() {
	local round key n
	comes_up c4 4 vault || return 1
	for round in 0 1 2 3; do
		[ "$round" = 0 ] || serves c4 vault || return 1
		key=$(field c4 .disk_key_id) n=$(attested c4)
		[ -n "$key" ] && [ -e "$WORK/head/keys/$key" ] || { echo "c4 has no key '$key'"; return 1; }
		kill -STOP "$(vault_of)"
		released c4
		sleep "0.$((round * 3))"
		kill -9 "$(vault_of)"
		until_true 60 idle c4 ready "" || { echo "round $round: c4 is $(field c4 '"\(.state) \(.reason)"')"; return 1; }
		[ ! -e "$WORK/head/keys/$key" ] || { echo "round $round: the key of c4 is there"; return 1; }
		is_attested c4 $((n + 1)) || return 1
	done
}

trust_head
phx erasure key "$WORK/attest.pub" || { not_ok "there is no key"; exit 1; }
for t in it_dies_before_it_signs it_dies_again_and_again it_dies_as_it_destroys_a_key; do check $t $t; done
exit $FAILED
