#!/bin/bash
# The certificate of a node lives thirty days. Its agent has it renewed for the same key when ten are left, when it has ended, and when
# it was given for longer; clocks that were set make it renew too early at worst.
. "$(dirname "$0")/agents.bash"

PEM=$WORK/n1/var/lib/phoenix/agent.pem KEY=$WORK/n1/var/lib/phoenix/agent.key
ends_within() { ! openssl x509 -noout -in "$PEM" -checkend $(($1 * 86400)) >/dev/null; }
fresh() { ends_within 31 && ! ends_within 29; }
up() { [ "$(field n1 .up)" = true ]; }

# certificate_until DATE: as the site's CA gives it, for the node's key, until then (YYMMDDHHMMSSZ)
certificate_until() {
	local ca=$WORK/ca
	rm -rf "$ca" && mkdir "$ca" && : >"$ca/index.txt" && openssl rand -hex 8 >"$ca/serial" &&
		printf 'extendedKeyUsage = clientAuth\nkeyUsage = critical, digitalSignature\n' >"$ca/ext" &&
		printf '[ca]\ndefault_ca = c\n[c]\ndatabase = %s/index.txt\nserial = %s/serial\nnew_certs_dir = %s\ndefault_md = sha256\npolicy = p\n[p]\norganizationName = supplied\norganizationalUnitName = supplied\ncommonName = supplied\n' \
			"$ca" "$ca" "$ca" >"$ca/conf" &&
		openssl req -new -key "$KEY" -subj "/O=phoenix/OU=node/CN=n1" -out "$ca/csr" &&
		openssl ca -batch -notext -preserveDN -config "$ca/conf" -cert "$WORK/head/pki/ca.pem" -keyfile "$WORK/head/pki/ca.key" -extfile "$ca/ext" \
			-startdate 19700101000000Z -enddate "$1" -in "$ca/csr" -out "$PEM" 2>"$ca/err" || { cat "$ca/err"; return 1; }
}
in_days() { date -u -d "$1 days" +%Y%m%d%H%M%SZ; }
# the agent is given a certificate that ends on DATE, and started: it has a fresh one for the same key, and is heard
renewed_from() {
	local key
	key=$(field n1 .key_fp)
	agent_stop n1
	certificate_until "$1" && ! fresh || return 1
	agent_start n1
	until_true 20 fresh && until_true 20 up && is n1 .key_fp "$key" && is n1 .state ready
}

it_lives_thirty_days() { fresh; }
it_is_renewed_in_time() { renewed_from "$(in_days 9)"; }
one_that_has_ended_is_renewed() { renewed_from "$(in_days -1)"; }
one_of_before_is_renewed() { renewed_from "$(in_days 3650)"; }
one_with_time_left_stays() {
	local was
	agent_stop n1
	certificate_until "$(in_days 20)" && was=$(sha256sum <"$PEM") || return 1
	agent_start n1 boot-2
	until_true 20 is n1 .boot_id boot-2 && sleep 1 && [ "$(sha256sum <"$PEM")" = "$was" ]
}

head_init
post_node() { curl -sS -m 20 --unix-socket "$PHX_SOCKET" http://unix/v1/nodes -d '{"name": "n1", "macs": ["02:00:00:00:00:01"]}' >/dev/null; }
post_node
node_init n1 1
agent_start n1
until_true 20 is n1 .state ready || { not_ok "n1 is not ready"; exit 1; }
for test in it_lives_thirty_days it_is_renewed_in_time one_that_has_ended_is_renewed one_of_before_is_renewed one_with_time_left_stays; do
	check "$test" "$test"
done
exit $FAILED
