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
hex() { od -An -v -tx1 | tr -d ' \n'; }
signature_by() { # KEY: of the text that comes in
	cat >"$WORK/text" && openssl pkeyutl -sign -rawin -inkey "$1" -in "$WORK/text" -out "$WORK/signature" && hex <"$WORK/signature"
}
# what stands in the database, in the head's own hand
body_of() { sed -e 's/^{"attestation"://' -e 's/,"signature":"[0-9a-f]*"}$//' "$WORK/kept/$1"; }
root_signs() { # BODY
	printf '{"attestation":%s,"signature":"%s"}\n' "$1" "$(printf '%s' "$1" | signature_by "$WORK/head/pki/attest.key")" >"$WORK/forged"
}
signed_by_root() { root_signs "$(body_of 2 | sed -e "$1")"; } # EXPRESSION
root_makes_no_evidence() {
	signed_by_root 's/"read_sha256":"fa0e/"read_sha256":"0000/' && verify 1 'NO: disk .* not signed with the node' "$WORK/forged" || return 1
	signed_by_root 's/"nonce":[0-9]*,"erased_ms"/"nonce":4711,"erased_ms"/' && verify 1 'NO: disk .* of another attempt' "$WORK/forged" || return 1
	# and what he may write anew in his own hand breaks what others kept
	signed_by_root 's/"from_owner":"cert:hpc"/"from_owner":"cert:bank"/' && verify 0 OK "$WORK/forged" &&
		verify 1 'NO: .*does not follow' "$WORK/forged" "$WORK/kept/3" && verify 1 'NO: .*does not follow' "$WORK/forged" "$WORK/kept/2"
}
# a key that was made on the spot, of which all in the document is made: what it says of each disk, and that it is the node's
his_own() { # sets body
	local key pair said
	openssl genpkey -algorithm ed25519 -out "$WORK/own.key" 2>/dev/null || return 1
	openssl pkey -in "$WORK/own.key" -pubout -outform DER >"$WORK/own.der" || return 1
	key=$(hex <"$WORK/own.der")
	body=$(body_of 2 | sed -E -e "s/\"signer\":\"[^\"]*\"/\"signer\":\"sha256:$(sha256sum <"$WORK/own.der" | cut -d' ' -f1)\"/g" \
		-e "s/\"key\":\"[0-9a-f]+\"/\"key\":\"$key\"/g" -e 's/"read_sha256":"fa0e/"read_sha256":"0000/g')
	while read -r pair; do
		said=${pair%,\"signature\":*}
		body=${body//"$pair"/"$said,\"signature\":\"$(printf '%s' "${said#\"said\":}" | signature_by "$WORK/own.key")\""}
	done < <(grep -oE '"said":\{[^}]*\},"signature":"[0-9a-f]*"' <<<"$body")
	[[ $body == *\"0000fa0e*"$key"* || $body == *"$key"*\"0000fa0e* ]]
}
his_certificate() { # of a CA of his own, for the key of his own
	openssl req -x509 -newkey ed25519 -nodes -keyout "$WORK/own-ca.key" -out "$WORK/own-ca.pem" -subj /O=phoenix/CN=site -days 30 2>/dev/null &&
		openssl req -new -key "$WORK/own.key" -subj /O=phoenix/OU=node/CN=n1 2>/dev/null |
		openssl x509 -req -CA "$WORK/own-ca.pem" -CAkey "$WORK/own-ca.key" -days 30 -out "$WORK/own.pem" 2>/dev/null
}
a_key_of_his_own_proves_nothing() {
	local body
	his_own && his_certificate && root_signs "$body" && verify 1 'NO: disk .*certificate is not that of the key' "$WORK/forged" || return 1
	root_signs "$(certified_by "$WORK/own.pem")" && verify 1 'NO: disk .*nothing proves whose key .*not signed by this site' "$WORK/forged" || return 1
	root_signs "$(sed -E 's/"cert":"[^"]*"/"cert":""/g' <<<"$body")" && verify 1 'NO: disk .*nothing proves whose key' "$WORK/forged" || return 1
	verify 1 'not-certified' "$WORK/forged" -o json
}
certified_by() { sed -E "s|\"cert\":\"[^\"]*\"|\"cert\":$(jq -Rs . "$1" | sed 's/\\/\\\\/g')|g" <<<"$body"; }
# of a format without certificates he can still make one, where he has the head's key itself: who reads it is told what it lacks
one_of_before_says_what_it_lacks() {
	local body
	his_own && root_signs "$(sed -E -e 's/"format":4/"format":2/' -e 's/"cert":"[^"]*",//g' -e 's/"verify":"[a-z]*",//g' -e 's/,"left":"[^"]*"//g' <<<"$body")" &&
		verify 0 'carries no proof of whose keys signed' "$WORK/forged" && verify 0 '"signers": *"unproven"' "$WORK/forged" -o json &&
		verify 0 'the site certified the keys that signed' "$WORK/kept/2" && verify 0 '"signers": *"certified"' "$WORK/kept/2" -o json
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
	a_key_of_his_own_proves_nothing one_of_before_says_what_it_lacks evidence_of_before_counts_for_nothing it_replays; do
	check $test $test
done
exit $FAILED
