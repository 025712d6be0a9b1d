#!/bin/bash
# The attestation of a hand-over: made once its last erase counts, exported, and verified where there is no head, with the file and
# the public key alone. What lacks the evidence of one disk, or has that of another attempt or image, is no proof, and the node
# goes to nobody.
. "$(dirname "$0")/phxd.bash"
[ -x "$BUILD/tests/fake/agent" ] || { echo "not ok fake_agent is not built"; exit 1; }

list() { phx erasure list -o json "$@" | jq "${FILTER:-.erasures | length}"; }
# verify EXIT WORDS FILE...: where there is neither head nor configuration
verify() {
	local status
	env -i PATH="$PATH" "$BUILD/bin/phx" erasure verify "${@:3}" --pub "$WORK/away/attest.pub" >"$WORK/verify" 2>&1
	status=$?
	[ $status = "$1" ] && grep -q -e "$2" "$WORK/verify" && return 0
	echo "phx erasure verify ${*:3}: $status, not $1 with '$2':"
	cat "$WORK/verify"
	return 1
}
comes_up() { # NAME NUMBER [OPTION...]
	post /v1/nodes "{\"name\": \"$1\", \"macs\": [\"02:00:00:00:00:0$2\"], \"serial\": \"SN$2\"}" >/dev/null
	[ -e "$WORK/$1/disks" ] || { mkdir -p "$WORK/$1" && printf 'shown\nshown\n' >"$WORK/$1/disks"; }
	fake_start "$1" "$2" --env os --image test --digest "$IMAGE_DIGEST" "${@:3}"
	until_true 20 is "$1" .state ready && assigned "$1"
}
assigned() { action assign "{\"nodes\": \"$1\", \"role\": \"batch\"}" >/dev/null && until_true 30 idle "$1" active batch; }
# handed_over NAME STATE: it is released and erased
handed_over() {
	action release "{\"nodes\": \"$1\", \"setup\": {\"mode\": \"wipe\"}}" >/dev/null
	until_true 60 idle "$1" "$2" "" && return 0
	echo "$1 is $(field "$1" '"\(.state) \(.reason)"'), not $2"
	return 1
}

a_hand_over_with_erases_is_attested() {
	comes_up n1 1 && [ "$(list n1)" = 0 ] && handed_over n1 ready || return 1
	[ "$(list n1)" = 1 ] || { phx erasure list -o json; return 1; }
	phx erasure show n1 -o json >"$WORK/shown" || return 1
	jq -e '.node == "n1" and .serial == "SN1" and .from_owner == "cert:hpc" and .reset == "kexec" and .tpm == "none" and .previous == ""
		and .reset_ms > 0 and .until_ms > .made_ms and (.disks | length) == 2
		and all(.disks[]; .image == "deploy 1" and .said.image_sha256 == "'"$DEPLOY_SHA256"'" and .said.nonce == .nonce and .nonce > 0
			and .said.read_sha256 != "" and .said.boot_id != "" and (.signer | startswith("sha256:")))
		and (.disks | map(.nonce) | unique | length) == 2' "$WORK/shown" >/dev/null || { jq . "$WORK/shown"; return 1; }
	# the places of the read-back, as the manual says that they follow from the nonce: drawn again by somebody else
	perl -MJSON::PP -Mbigint -e '
		local $/;
		my ($W, $wrong, $disks) = (2 ** 64, 0, decode_json(<STDIN>)->{disks});
		for my $disk (@$disks) {
			my ($x, $size, @drawn) = (0 + $disk->{nonce}, $disk->{said}{size_bytes});
			my ($m, $left) = ($size >> 20, ($size / 100 + 2 ** 20 - 1) >> 20);
			for (my $i = 0; $i < $m && $left; $i++) {
				$x = ($x + hex("0x9e3779b97f4a7c15")) % $W;
				my $y = ($x ^ $x >> 30) * hex("0xbf58476d1ce4e5b9") % $W;
				my $z = ($y ^ $y >> 27) * hex("0x94d049bb133111eb") % $W;
				push @drawn, $i << 20 and $left-- if (($z ^ $z >> 31) * ($m - $i) >> 64) < $left;
			}
			$wrong++ unless @drawn && join(",", @drawn) eq join(",", @{$disk->{drawn}});
		}
		exit !(@$disks && !$wrong)' <"$WORK/shown" || { echo "other places follow from the nonces: $(jq -c '.disks[].drawn[:9]' "$WORK/shown")"; return 1; }
	phx erasure show n1 | grep -q 'READ BACK A MIB AT' && phx erasure show n1 | grep -q 'serial-FAKE-1-1.*deploy 1' && phx erasure list -o wide | grep -q 'n1 .*hpc .*kexec'
}
it_is_verified_without_a_head() {
	mkdir -p "$WORK/away"
	phx erasure export n1 "$WORK/away/first" && phx erasure key "$WORK/away/attest.pub" || return 1
	cmp "$WORK/away/attest.pub" <(cat "$WORK/head/pki/attest.pub" "$WORK/head/pki/ca.pem") && ! cmp -s "$WORK/away/attest.pub" "$WORK/head/pki/site.pub" || return 1
	phx erasure export "$(jq .id "$WORK/shown")" | cmp - "$WORK/away/first" || return 1
	head_stop
	verify 0 'OK: attestation .* of n1, .*hpc is erased from its 2 disks' "$WORK/away/first"
	local r=$?
	verify 0 '"finding": *"ok"' "$WORK/away/first" -o json || r=1
	verify 0 'finding: ok' "$WORK/away/first" -o yaml || r=1
	head_start
	return $r
}
an_altered_copy_is_refused() {
	sed 's/"from_owner":"cert:hpc"/"from_owner":"cert:web"/' "$WORK/away/first" >"$WORK/away/altered"
	verify 1 'NO: it was altered' "$WORK/away/altered" || return 1
	head -c 700 "$WORK/away/first" >"$WORK/away/cut"
	verify 1 'NO: it is no attestation' "$WORK/away/cut" "$WORK/away/first" || return 1
	grep -q 'first: OK' "$WORK/verify" || return 1
	verify 1 'altered' "$WORK/away/altered" -o json && jq -e '.files[0] | .ok == false and .finding == "altered"' "$WORK/verify" >/dev/null || return 1
	# another site's key
	openssl genpkey -algorithm ed25519 2>/dev/null | openssl pkey -pubout >"$WORK/away/other.pub" 2>/dev/null
	phx erasure verify "$WORK/away/first" --pub "$WORK/away/other.pub" >"$WORK/verify" 2>&1
	[ $? = 1 ] && grep -q 'NO: it names key sha256:' "$WORK/verify" || { cat "$WORK/verify"; return 1; }
	# what cannot be looked at is no answer
	phx erasure verify "$WORK/away/nothing" --pub "$WORK/away/attest.pub" >"$WORK/verify" 2>&1
	[ $? = 64 ] || { cat "$WORK/verify"; return 1; }
	phx erasure verify "$WORK/away/first" >"$WORK/verify" 2>&1
	[ $? = 64 ] && grep -q -e '--pub' "$WORK/verify"
}
one_names_the_one_before() {
	local i
	for i in second third; do
		assigned n1 && handed_over n1 ready && phx erasure export n1 "$WORK/away/$i" || return 1
	done
	[ "$(FILTER='.erasures[0].previous' list n1)" = "\"$(sha256sum <"$WORK/away/second" | cut -d' ' -f1)\"" ] || return 1
	verify 0 'third: OK.*follows an earlier' "$WORK/away/third" "$WORK/away/first" "$WORK/away/second" || return 1
	verify 1 'third: NO: .*does not follow.*missing' "$WORK/away/third" "$WORK/away/first" || return 1
	verify 0 'second: OK' "$WORK/away/second" "$WORK/away/third" "$WORK/away/second"
}
# signed_anew FROM TO EXPRESSION: what root on the head can do: alter it, and sign it with the head's key
signed_anew() {
	local body
	body=$(sed -e 's/^{"attestation"://' -e 's/,"signature":"[0-9a-f]*"}$//' "$1" | sed -e "$3")
	printf '%s' "$body" >"$WORK/body"
	openssl pkeyutl -sign -rawin -inkey "$WORK/head/pki/attest.key" -in "$WORK/body" -out "$WORK/signature" || return 1
	printf '{"attestation":%s,"signature":"%s"}\n' "$body" "$(od -An -v -tx1 <"$WORK/signature" | tr -d ' \n')" >"$2"
	! cmp -s "$1" "$2" || [ -z "$3" ]
}
it_does_not_count_for_ever() {
	signed_anew "$WORK/away/first" "$WORK/away/same" '' && cmp "$WORK/away/first" "$WORK/away/same" || return 1
	signed_anew "$WORK/away/first" "$WORK/away/old" 's/"until_ms":[0-9]*/"until_ms":1600000000000/' &&
		verify 1 'NO: it counted until 2020-09-13' "$WORK/away/old"
}
# a LUN is protected, by default: the plan, the record, the document and who verifies it say that it was left
a_protected_disk_is_left_and_said() {
	mkdir -p "$WORK/n9" && printf 'shown\nlun\n' >"$WORK/n9/disks"
	post /v1/nodes '{"name": "n9", "macs": ["02:00:00:00:00:09"], "serial": "SN9"}' >/dev/null
	fake_start n9 9 --env deploy
	until_true 20 is n9 .state ready && assigned n9 || return 1
	phx node release n9 --setup wipe --dry-run >"$WORK/plan" 2>&1
	grep -q 'n9: left as protected, with all data: serial-FAKE-9-1 by remote (fc), setting protect_remote_disks' "$WORK/plan" &&
		! grep -q 'wipe.*serial-FAKE-9-1' "$WORK/plan" || { cat "$WORK/plan"; return 1; }
	handed_over n9 ready && phx erasure export n9 "$WORK/away/left" || return 1
	[ "$(effects n9 ' wipe .*serial-FAKE-9$')" = 1 ] && [ "$(effects n9 ' wipe .*serial-FAKE-9-1$')" = 0 ] || { cat "$WORK/n9/effects"; return 1; }
	api /v1/nodes/n9/erasures | jq -e '.erasures | length == 1 and (.[0].disks | map(.left)) == ["", "remote (fc), setting protect_remote_disks"]' >/dev/null || return 1
	phx node show n9 | grep -q 'serial-FAKE-9-1 .*remote (fc), setting protect_remote_disks' || { phx node show n9; return 1; }
	phx node show n9 | grep -q 'fc, 2 paths' || return 1
	verify 0 'OK: .* erased from its 1 unprotected disk;' "$WORK/away/left" &&
		verify 0 ': 1 disk left as protected, with all data: serial-FAKE-9-1 by remote (fc), setting protect_remote_disks$' "$WORK/away/left" || return 1
	verify 0 '"left"' "$WORK/away/left" -o json && jq -e '.files[0].left | length == 1 and .[0].id == "serial-FAKE-9-1"' "$WORK/verify" >/dev/null || return 1
	signed_anew "$WORK/away/first" "$WORK/away/forged" 's/"left":""/"left":"remote"/' &&
		verify 1 'NO: disk serial-FAKE-1: it says that it was left, and that it was erased' "$WORK/away/forged"
}
# with the head's key in his hands, but not the nodes': what a node signed he cannot alter, nor another node's make this one's
the_heads_key_alone_forges_no_evidence() {
	signed_anew "$WORK/away/first" "$WORK/away/forged" 's/"read_sha256":"fa0e/"read_sha256":"0000/' &&
		verify 1 'NO: disk serial-FAKE-1: its evidence is not signed' "$WORK/away/forged" || return 1
	signed_anew "$WORK/away/first" "$WORK/away/forged" 's/"node":"n1"/"node":"n2"/' &&
		verify 1 'NO: disk serial-FAKE-1: its evidence is of another node' "$WORK/away/forged" || return 1
	# the head asked for an attempt, and is given the evidence of another one
	signed_anew "$WORK/away/first" "$WORK/away/forged" 's/"nonce":[0-9]*,"erased_ms"/"nonce":4711,"erased_ms"/' &&
		verify 1 'NO: disk serial-FAKE-1: its evidence is of another attempt' "$WORK/away/forged" || return 1
	signed_anew "$WORK/away/first" "$WORK/away/forged" 's/"signature":"[0-9a-f]*"/"signature":""/' &&
		verify 1 'NO: disk serial-FAKE-1: nothing proves its erase' "$WORK/away/forged"
}

# what_quarantines NAME NUMBER WORDS OPTION...: without that evidence nobody gets the node, and nothing is attested
what_quarantines() {
	comes_up "$1" "$2" "${@:4}" && handed_over "$1" quarantined || return 1
	field "$1" .reason | grep -q -e "$3" || { field "$1" .reason; return 1; }
	[ "$(list "$1")" = 0 ] && [ "$(field "$1" .pool)" = "" ]
}
evidence_that_is_missing_for_one_disk_quarantines() { what_quarantines n2 2 'did not sign' --seal none --seal-of serial-FAKE-2-1; }
evidence_of_another_attempt_quarantines() { what_quarantines n3 3 'not of this attempt' --seal stale; }
altered_evidence_quarantines() { what_quarantines n4 4 'is not what it says' --seal altered; }
another_image_quarantines() { what_quarantines n5 5 'none of an image that this head has' --seal image; }
a_sum_that_is_no_digest_quarantines() { what_quarantines n7 7 'does not say what it read back' --seal sum; }
# a machine that was started before a newer image came runs none that is unknown
an_image_of_before_is_known() {
	comes_up n6 6 --hang wipe || return 1
	action release '{"nodes": "n6", "setup": {"mode": "wipe"}}' >/dev/null
	until_true 30 is n6 '.plan.steps[.plan.cursor] | "\(.kind) \(.status)"' 'wipe issued' || return 1
	agent_kill n6
	deploy_init 2
	fake_start n6 6
	until_true 60 idle n6 ready "" && [ "$(phx erasure show n6 -o json | jq -r '.disks[0].image')" = "deploy 1" ]
}
it_is_read_by_who_may() {
	local owner
	mkdir -p "$WORK/cert"
	for owner in hpc games; do
		phx cert issue "$owner" --kind service-provider --out "$WORK/cert/$owner" >/dev/null 2>&1 || return 1
	done
	as() { curl -sS -m 20 --cacert "$WORK/head/pki/ca.pem" --cert "$WORK/cert/$1/cert.pem" --key "$WORK/cert/$1/key.pem" "https://127.0.0.1:$HTTPS$2" "${@:3}"; }
	[ "$(as hpc /v1/erasures | jq '.erasures | length')" = "$(list)" ] || { as hpc /v1/erasures; return 1; }
	[ "$(as games /v1/erasures | jq '.erasures | length')" = 0 ] || return 1
	[ "$(as games /v1/erasures/n1 -o "$WORK/answer" -w '%{http_code}')" = 404 ] && [ "$(as hpc /v1/erasures/n1 | jq -r .node)" = n1 ]
}
it_survives_the_head() {
	head_kill
	head_start
	phx erasure export n1 | cmp - "$WORK/away/third" && phx erasure show nobody 2>&1 | grep -q "no attestation of 'nobody'.*phx node erasures"
}
# root who is in the database while the head is down, and writes hashes anew: proofs lie beside the events, and are looked for
what_is_missing_is_found() {
	local copy=$WORK/copy.db n=0 sql said
	head_stop
	audit() { phx journal verify --journal "$copy" --pub "$WORK/head/pki/site.pub" >"$WORK/out" 2>&1; }
	fresh() { rm -f "$copy"* && sqlite3 "$WORK/head/journal.db" ".backup $copy"; }
	fresh && audit && grep -q '^OK' "$WORK/out" || { cat "$WORK/out"; return 1; }
	while IFS='|' read -r said sql; do
		fresh && sqlite3 "$copy" "$sql" && [ "$(sqlite3 "$copy" "$sql; SELECT total_changes() > 0")" = 1 ] || { echo "nothing is changed by: $sql"; return 1; }
		! audit && grep -q "$said" "$WORK/out" || { echo "$sql:"; cat "$WORK/out"; return 1; }
		n=$((n + 1))
	done <<-END
		attestation [0-9]* is missing|DELETE FROM attestations WHERE id=(SELECT MAX(id) FROM attestations); UPDATE snapshots SET seq=seq
		attestation [0-9]* is missing|UPDATE attestations SET to_owner='cert:x', hash=NULL
		erase record of step [0-9]* is missing|DELETE FROM erasures WHERE step_id=(SELECT MAX(step_id) FROM erasures); UPDATE snapshots SET seq=seq
		erase record of step [0-9]* is not as|UPDATE erasures SET record=replace(record,'FAKE','FAKF')
		attestation of step [0-9]* is not as|UPDATE attestations SET text=text||' '
		erase record of step [0-9]* .*has no hash|UPDATE erasures SET record=replace(record,'FAKE','FAKF'), hash=NULL
		attestation [0-9]* .*has no hash|UPDATE attestations SET text=text||' ', hash=NULL
		event 9 is not as|UPDATE events SET event=event||char(0)||'evil' WHERE seq=9
	END
	[ $n = 8 ] && head_start
}
# an operator, or root, who is in the database: the start says so, and the copies elsewhere prove it
an_altered_database_is_found() {
	head_stop
	sqlite3 "$WORK/head/journal.db" "UPDATE attestations SET text=replace(text,'\"from_owner\":\"cert:hpc\"','\"from_owner\":\"web\"')" || return 1
	timeout 20 "$BUILD/bin/phxd" --config "$PHX_CONFIG" >"$WORK/started" 2>&1
	[ $? = 78 ] && grep -q 'attestation .* is not as it was written' "$WORK/started" || { cat "$WORK/started"; return 1; }
	journal_accept
	head_start
	phx erasure export n1 "$WORK/away/lied" && verify 1 'NO: it was altered' "$WORK/away/lied"
}

head_conf
head_start
package tools 1.0 'echo tools'
roles_init
post /v1/reload >/dev/null
for test in a_hand_over_with_erases_is_attested it_is_verified_without_a_head an_altered_copy_is_refused one_names_the_one_before it_does_not_count_for_ever the_heads_key_alone_forges_no_evidence a_protected_disk_is_left_and_said \
	evidence_that_is_missing_for_one_disk_quarantines evidence_of_another_attempt_quarantines altered_evidence_quarantines another_image_quarantines a_sum_that_is_no_digest_quarantines \
	an_image_of_before_is_known it_is_read_by_who_may it_survives_the_head what_is_missing_is_found an_altered_database_is_found; do
	check $test $test
done
exit "$FAILED"
