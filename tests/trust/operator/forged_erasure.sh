#!/bin/bash
# An operator, or root on the head once, would have it that a node was erased when it was not, or that another's data was: he alters an
# attestation that he may read, takes one away, signs one with the head's own key, or has an agent answer without evidence. Who has
# the public key, and copies from before, is told each time.
. "$(dirname "$0")/../trust.bash"

verify() { # EXIT WORDS FILE...
	local status
	"$BUILD/bin/phx" erasure verify "${@:3}" --pub "$WORK/kept/attest.pub" >"$WORK/verify" 2>&1
	status=$?
	[ $status = "$1" ] && grep -q -e "$2" "$WORK/verify" && return 0
	echo "verify ${*:3}: $status, wanted $1 and '$2': $(cat "$WORK/verify")"
	return 1
}
erased() { # NAME FILE: it goes from its tenant, and what proves it is kept elsewhere
	action assign "{\"nodes\": \"$1\", \"role\": \"batch\"}" >/dev/null && until_true 30 idle "$1" active batch || return 1
	action release "{\"nodes\": \"$1\", \"setup\": {\"mode\": \"wipe\"}}" >/dev/null && until_true 40 idle "$1" ready "" &&
		phx erasure export "$1" "$WORK/kept/$2"
}
the_auditor_keeps_copies() {
	mkdir -p "$WORK/kept"
	phx erasure key "$WORK/kept/attest.pub" && erased n1 1 && erased n1 2 && erased n1 3 && erased n2 other &&
		verify 0 'OK' "$WORK"/kept/{1,2,3,other}
}
altered() { # WORDS EXPRESSION
	sed -e "$2" "$WORK/kept/2" >"$WORK/altered"
	! cmp -s "$WORK/kept/2" "$WORK/altered" || { echo "$2 alters nothing"; return 1; }
	verify 1 "$1" "$WORK/altered"
}
no_word_of_it_is_altered() {
	altered 'NO: it was altered' 's/"from_owner":"cert:hpc"/"from_owner":"cert:bank"/' && altered 'NO: it was altered' 's/"node":"n1"/"node":"n2"/g' &&
		altered 'NO: it was altered' 's/"until_ms":1/"until_ms":2/' &&
		altered 'NO: it was altered' 's/"disks":\[.*\]/"disks":[]/'
}
another_nodes_is_none_of_this_one() { verify 1 'NO: .*does not follow' "$WORK"/kept/{1,3} && verify 0 OK "$WORK"/kept/{2,other}; }
who_lacks_the_right_reads_none() {
	[ "$(ask games GET /v1/erasures)" = 200 ] && [ "$(head -n 1 "$WORK/answer" | jq '.erasures | length')" = 0 ] || { cat "$WORK/answer"; return 1; }
	refused 404 games GET /v1/erasures/n1
}
# what stands in the database, in the head's own hand
signed_by_root() { # EXPRESSION
	local body
	body=$(sed -e 's/^{"attestation"://' -e 's/,"signature":"[0-9a-f]*"}$//' "$WORK/kept/2" | sed -e "$1")
	printf '%s' "$body" >"$WORK/body"
	openssl pkeyutl -sign -rawin -inkey "$WORK/head/pki/attest.key" -in "$WORK/body" -out "$WORK/signature" || return 1
	printf '{"attestation":%s,"signature":"%s"}\n' "$body" "$(od -An -v -tx1 <"$WORK/signature" | tr -d ' \n')" >"$WORK/forged"
}
root_makes_no_evidence() {
	signed_by_root 's/"read_sha256":"of-a-fake"/"read_sha256":"of-nobody"/' && verify 1 'NO: disk .* not signed with the node' "$WORK/forged" || return 1
	signed_by_root 's/"nonce":[0-9]*,"erased_ms"/"nonce":4711,"erased_ms"/' && verify 1 'NO: disk .* of another attempt' "$WORK/forged" || return 1
	# and what he may write anew in his own hand breaks what others kept
	signed_by_root 's/"from_owner":"cert:hpc"/"from_owner":"cert:bank"/' && verify 0 OK "$WORK/forged" &&
		verify 1 'NO: .*does not follow' "$WORK/forged" "$WORK/kept/3" && verify 1 'NO: .*does not follow' "$WORK/forged" "$WORK/kept/2"
}
evidence_of_before_counts_for_nothing() {
	agent_kill n2
	fake_start n2 2 --seal stale
	action assign '{"nodes": "n2", "role": "batch"}' >/dev/null && until_true 30 idle n2 active batch || return 1
	action release '{"nodes": "n2", "setup": {"mode": "wipe"}}' >/dev/null
	until_true 60 idle n2 quarantined "" && field n2 .reason | grep -q 'not of this attempt' && [ "$(field n2 .pool)" = "" ] &&
		phx erasure export n2 | cmp - "$WORK/kept/other"
}
it_replays() { replays_the_same 20 20; }

trust_head
for test in the_auditor_keeps_copies no_word_of_it_is_altered another_nodes_is_none_of_this_one who_lacks_the_right_reads_none root_makes_no_evidence \
	evidence_of_before_counts_for_nothing it_replays; do
	check $test $test
done
exit $FAILED
