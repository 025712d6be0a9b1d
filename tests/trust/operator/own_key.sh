#!/bin/bash
# Somebody takes over the process that listens to the network, and speaks for the head to what holds the site's keys: he would have a
# certificate of a node for a key of his own, with which he is that node. He gets none for a node that has a key; what the node itself
# asks for, again and again, for its next key, and after a start that was ordered, it gets; and all of it stands in the vault's log.
. "$(dirname "$0")/../trust.bash"
for program in as_head; do
	[ -x "$BUILD/tests/system/$program" ] || { echo "not ok $program is not built"; exit 1; }
done

LOG=$WORK/head/pki/vault.log
his() { # NODE [BEHIND...]: a certificate for a key of his own
	mkdir -p "$WORK/his"
	rm -f "$WORK/his"/*
	"$BUILD/tests/system/as_head" "$BUILD/bin/phxd" "$WORK/head/pki" "$WORK/head/keys" cert "$1" "$WORK/his" "${@:2}" >"$WORK/said" 2>&1
}
refused_him() { # WORDS NODE [BEHIND...]
	local before got
	before=$(wc -l <"$LOG")
	head_stop
	his "${@:2}"
	got=$?
	head_start
	[ $got = 1 ] && [ ! -e "$WORK/his/cert.pem" ] && grep -q -e "$1" "$WORK/said" ||
		{ echo "he is given one of $2: $(cat "$WORK/said"; openssl x509 -in "$WORK/his/cert.pem" -noout -subject 2>&1)"; return 1; }
	tail -n +$((before + 1)) "$LOG" | grep -q " cert refuse $2: " || { tail -n 3 "$LOG"; return 1; }
}
fingerprint() { openssl x509 -in "$1" -pubkey -noout | openssl pkey -pubin -outform DER | sha256sum | cut -d' ' -f1; }
# the way there is: of a node that nobody knows, so of one that has no key to lose
a_name_without_a_key_is_free() {
	head_stop
	his n77
	local got=$?
	head_start
	[ $got = 0 ] && [ -s "$WORK/his/cert.pem" ] && grep -q " cert node n77 .*why first" "$LOG" || { cat "$WORK/said"; return 1; }
}
a_known_nodes_he_does_not_get() { refused_him 'the key that it was given' n1; }
a_token_that_he_makes_up_proves_nothing() { refused_him 'the key that it was given' n1 "4711.$(printf '%064d' 1)"; }
# with the nodes' certificates, which the head sees, and signatures of his own
a_signature_that_he_makes_up_proves_nothing() { refused_him 'key has not signed for it' n1 "" 00 "$(cat "$WORK/n1/cert.pem")"; }
the_node_gets_its_own() {
	local before
	before=$(fingerprint "$WORK/n1/cert.pem")
	agent_kill n1
	rm "$WORK/n1/cert.pem"
	fake_start n1 1
	until_true 20 [ -s "$WORK/n1/cert.pem" ] && [ "$(fingerprint "$WORK/n1/cert.pem")" = "$before" ] && grep -q " cert node n1 .*why again" "$LOG" &&
		until_true 20 idle n1 ready ""
}
a_start_that_was_ordered_brings_it_another() {
	action assign '{"nodes": "n1", "role": "batch"}' >/dev/null && until_true 30 idle n1 active batch || return 1
	action release '{"nodes": "n1", "setup": {"mode": "wipe"}}' >/dev/null && until_true 40 idle n1 ready "" || return 1
	grep -qE " start grant n1 start [0-9]+ after sha256:" "$LOG" && grep -qE " cert node n1 .*why start [0-9]+$" "$LOG" && refused_him 'the key that it was given' n1
}
# another machine may have its name when a person has said that it is gone, and not before
one_that_was_removed_begins_anew() {
	agent_kill n2
	rm "$WORK/n2"/{cert,key}.pem
	phx node rm n2 --force --yes >"$WORK/said" 2>&1 || phx node rm n2 --force >"$WORK/said" 2>&1 || { cat "$WORK/said"; return 1; }
	grep -q " node forget n2 key sha256:" "$LOG" || return 1
	post /v1/nodes '{"name": "n2", "macs": ["02:00:00:00:00:02"]}' >/dev/null
	fake_start n2 2
	until_true 20 idle n2 ready "" && grep -c " cert node n2 .*why first" "$LOG" | grep -qx 2
}
it_replays() { replays_the_same 15 5; }

trust_head
for test in a_name_without_a_key_is_free a_known_nodes_he_does_not_get a_token_that_he_makes_up_proves_nothing a_signature_that_he_makes_up_proves_nothing \
	the_node_gets_its_own a_start_that_was_ordered_brings_it_another one_that_was_removed_begins_anew it_replays; do
	check $test $test
done
exit $FAILED
