#!/bin/bash
# Somebody takes over the process that listens to the network, or reads its memory. He finds no key of the CA, of the site or of a
# disk there, also none that a node was just given through it; what holds them gives him no signature of a package, and a disk's key to
# nobody but its node, a few times a start; killing it costs nobody anything.
. "$(dirname "$0")/../trust.bash"
for program in in_memory ask_key; do
	[ -x "$BUILD/tests/system/$program" ] || { echo "not ok $program is not built"; exit 1; }
done

vault_of() { pgrep -P "$1" -f -- '--vault'; }
hex_of() { openssl pkey -in "$1" -text -noout | awk '/^pub/ { exit } on { gsub(/[ :]/, ""); printf "%s", $0 } /^priv/ { on = 1 }' | sed 's/^00//'; }
found() { "$BUILD/tests/system/in_memory" "$@"; } # PID HEX [unlocked]: how often

# the CA's key is used for certificates all the time, and stays in memory: where it is, the search finds it
the_search_finds_it_in_the_vault() { [ "$(found "$VAULT" "$CA")" -ge 1 ]; }
the_head_has_no_ca_key() { [ "$(found "$SERVES" "$CA")" = 0 ]; }
the_head_has_no_site_key() { [ "$(found "$SERVES" "$SITE")" = 0 ]; }
# what it serves TLS with is its own, and shows that the search finds what is there
the_head_has_its_own() { [ "$(found "$SERVES" "$(hex_of "$WORK/head/pki/server.key")")" -ge 1 ]; }
# a swapped page outlives the process, and is read by whoever takes the disk out; after handshakes, of which none leaves a copy
it_is_never_swapped() {
	local key version
	key=$(hex_of "$WORK/head/pki/server.key")
	for version in 1.2 1.3; do by_tls $version || { echo "no handshake of TLS $version"; return 1; }; done
	[ "$(found "$SERVES" "$key" unlocked)" = 0 ] || { echo "it is $(found "$SERVES" "$key") times there, and $(found "$SERVES" "$key" unlocked) times in memory that may be swapped"; return 1; }
}
by_tls() { curl -sS -m 20 "--tlsv$1" --tls-max "$1" --cacert "$WORK/head/pki/ca.pem" "https://localhost:$HTTPS/v1/status" -o /dev/null; }
the_head_holds_no_file_open() { ! ls -l "/proc/$SERVES/fd" | grep -E 'ca\.key|site\.key|/keys/'; }
the_vault_has_no_network() {
	[ "$(ls -l "/proc/$VAULT/fd" | grep -c 'socket:')" = 1 ] && grep -q '^Seccomp:.2$' "/proc/$VAULT/status" &&
		grep -q '^NoNewPrivs:.1$' "/proc/$VAULT/status" && grep -q '^Max core file size *0 *0 ' "/proc/$VAULT/limits"
}
its_death_is_survived_and_told() {
	local before=$VAULT
	kill -9 "$VAULT"
	post /v1/nodes '{"name": "n9", "macs": ["02:00:00:00:00:09"]}' >/dev/null
	fake_start n9 9
	until_true 20 idle n9 ready "" || { echo "no node enrols"; return 1; }
	VAULT=$(vault_of "$HEAD")
	[ -n "$VAULT" ] && [ "$VAULT" != "$before" ] || { echo "it was not started again"; return 1; }
	until_true 10 told 'the process that holds the keys had ended and was started again'
}
# a node with an encrypted disk, c3
comes_up() {
	post /v1/nodes '{"name": "c3", "macs": ["02:00:00:00:00:03"]}' >/dev/null
	fake_start c3 3 --env os --image test --digest "$IMAGE_DIGEST"
	until_true 10 is c3 .state ready && action assign '{"nodes": "c3", "role": "vault"}' >/dev/null && until_true 30 idle c3 active vault &&
		DISK=$(field c3 .disk_key_id) && [ -n "$DISK" ]
}
# neither its bytes nor their digits: a node has just been given it through the head
the_head_never_sees_a_disks_key() {
	local key
	comes_up && key=$(disk_key c3 "$DISK" b0) && [ ${#key} = 128 ] || return 1
	[ "$(found "$SERVES" "$key")" = 0 ] && [ "$(found "$SERVES" "$(printf %s "$key" | od -An -v -tx1 | tr -d ' \n')")" = 0 ]
}
# who has the node's certificate and not its key, as the head has
a_disks_key_is_asked_for_with_the_nodes() {
	local cert
	cert=$(jq -Rs . "$WORK/c3/cert.pem")
	gets '400|403' by_node c3 POST "/v1/agent/disk-key/$DISK" -d '{}' &&
		gets 403 by_node c3 POST "/v1/agent/disk-key/$DISK" -d "{\"boot_id\": \"b1\", \"to\": \"$(printf '%064d' 9)\", \"signature\": \"00\", \"cert\": $cert}"
}
a_disks_key_is_given_a_few_times_a_start() {
	local n=0 said
	while said=$(disk_key c3 "$DISK" b1); do ((++n < 30)) || { echo "it is given again and again"; return 1; }; done
	((n >= 2)) && [[ $said = *'since that start of the machine'* ]] || { echo "given $n times, and then: $said"; return 1; }
	grep -q " key refuse $DISK: it was given $n times" "$WORK/head/pki/vault.log" && until_true 10 told 'c3 was refused the key of its disk' || return 1
	# the head was restarted in between
	head_stop && head_start
	VAULT=$(vault_of "$HEAD") SERVES=$(head_pid)
	! disk_key c3 "$DISK" b1 >/dev/null && disk_key c3 "$DISK" b2 >/dev/null
}
told() { phx events 2>/dev/null | grep -q "$1"; }

trust_head
VAULT=$(vault_of "$HEAD") SERVES=$(head_pid)
CA=$(hex_of "$WORK/head/pki/ca.key") SITE=$(hex_of "$WORK/head/pki/site.key")
[ ${#CA} -ge 62 ] && [ ${#SITE} = 64 ] && [ -n "$VAULT" ] || { echo "not ok keys_apart: head '$HEAD', vault '$VAULT', keys ${#CA} ${#SITE}"; exit 1; }
for t in the_search_finds_it_in_the_vault the_head_has_no_ca_key the_head_has_no_site_key the_head_has_its_own it_is_never_swapped \
	the_head_holds_no_file_open the_vault_has_no_network the_head_never_sees_a_disks_key a_disks_key_is_asked_for_with_the_nodes \
	a_disks_key_is_given_a_few_times_a_start its_death_is_survived_and_told; do check $t $t; done
exit $FAILED
