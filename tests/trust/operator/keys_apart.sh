#!/bin/bash
# Somebody takes over the process that listens to the network, or reads its memory. He finds no key of the CA, of the site or of a
# disk there, and what holds them gives him no signature of a package; killing it costs nobody anything.
. "$(dirname "$0")/../trust.bash"
[ -x "$BUILD/tests/system/in_memory" ] || { echo "not ok in_memory is not built"; exit 1; }

vault_of() { pgrep -P "$1" -f -- '--vault'; }
hex_of() { openssl pkey -in "$1" -text -noout | awk '/^pub/ { exit } on { gsub(/[ :]/, ""); printf "%s", $0 } /^priv/ { on = 1 }' | sed 's/^00//'; }
found() { "$BUILD/tests/system/in_memory" "$1" "$2"; } # PID HEX: how often

# the CA's key is used for certificates all the time, and stays in memory: where it is, the search finds it
the_search_finds_it_in_the_vault() { [ "$(found "$VAULT" "$CA")" -ge 1 ]; }
the_head_has_no_ca_key() { [ "$(found "$HEAD" "$CA")" = 0 ]; }
the_head_has_no_site_key() { [ "$(found "$HEAD" "$SITE")" = 0 ]; }
# what it serves TLS with is its own, and shows that the search finds what is there
the_head_has_its_own() { [ "$(found "$HEAD" "$(hex_of "$WORK/head/pki/server.key")")" -ge 1 ]; }
the_head_holds_no_file_open() { ! ls -l "/proc/$HEAD/fd" | grep -E 'ca\.key|site\.key|/keys/'; }
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
told() { phx events 2>/dev/null | grep -q "$1"; }

trust_head
VAULT=$(vault_of "$HEAD")
CA=$(hex_of "$WORK/head/pki/ca.key") SITE=$(hex_of "$WORK/head/pki/site.key")
[ ${#CA} -ge 62 ] && [ ${#SITE} = 64 ] && [ -n "$VAULT" ] || { echo "not ok keys_apart: head '$HEAD', vault '$VAULT', keys ${#CA} ${#SITE}"; exit 1; }
for t in the_search_finds_it_in_the_vault the_head_has_no_ca_key the_head_has_no_site_key the_head_has_its_own \
	the_head_holds_no_file_open the_vault_has_no_network its_death_is_survived_and_told; do check $t $t; done
exit $FAILED
