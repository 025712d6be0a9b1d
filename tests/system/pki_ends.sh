#!/bin/bash
# A CA that ends: told before, worth nothing afterwards; and a clock that is before its beginning. The CA is given another life by its own
# key, so that the clock may stay.
. "$(dirname "$0")/agents.bash"

PKI=$WORK/head/pki
in_days() { date -u -d "$1 days" +%Y%m%d%H%M%SZ; }
# lives FROM UNTIL: in days from now; the head is started with it, and n1 believes it
lives() {
	local ca=$WORK/ca
	head_stop
	rm -rf "$ca" && mkdir "$ca" && : >"$ca/index.txt" && openssl rand -hex 8 >"$ca/serial" &&
		printf 'basicConstraints = critical, CA:TRUE, pathlen:0\nkeyUsage = critical, keyCertSign, cRLSign\nsubjectKeyIdentifier = hash\n' >"$ca/ext" &&
		printf '[ca]\ndefault_ca = c\n[c]\ndatabase = %s/index.txt\nserial = %s/serial\nnew_certs_dir = %s\ndefault_md = sha256\npolicy = p\n[p]\norganizationName = supplied\ncommonName = supplied\n' \
			"$ca" "$ca" "$ca" >"$ca/conf" &&
		openssl req -new -key "$PKI/ca.key" -subj "/O=phoenix/CN=Phoenix site CA" -out "$ca/csr" &&
		openssl ca -batch -notext -preserveDN -selfsign -config "$ca/conf" -keyfile "$PKI/ca.key" -extfile "$ca/ext" \
			-startdate "$(in_days "$1")" -enddate "$(in_days "$2")" -in "$ca/csr" -out "$PKI/ca.pem" 2>"$ca/err" || { cat "$ca/err"; return 1; }
	cp "$PKI/ca.pem" "$WORK/n1/etc/phoenix/ca.pem"
	: >"$WORK/phxd.log"
	head_start
}
# whatever the caller's own clock says of the head
asks() { curl -sSk -m 20 --cert "$WORK/alice/cert.pem" --key "$WORK/alice/key.pem" -o "$WORK/body" -w '%{http_code}' "https://127.0.0.1:$HTTPS/v1/access"; }
said() { # TEXT: at the start, by status and by show
	grep -q "$1" "$WORK/phxd.log" && phx status | grep -q "$1" && phx pki show 2>&1 | grep -q "$1" && phx events | grep -q "$1"
}
issues_none() { ! (cd "$WORK" && phx cert issue bob --out "$WORK/bob") 2>"$WORK/out" && grep -q "$1" "$WORK/out" && [ ! -e "$WORK/bob/cert.pem" ]; }
agent_says() {
	: >"$WORK/n1.log"
	agent_start n1
	until_true 20 grep -q "ca.pem: $1" "$WORK/n1.log"
	local r=$?
	agent_stop n1
	return $r
}
up() { [ "$(field n1 .up)" = true ]; }

nothing_is_said_of_one_that_lasts() { ! grep -q "site's CA" "$WORK/phxd.log" && phx status >"$WORK/out" && ! grep -q "site's CA" "$WORK/out"; }
its_end_is_told_before() { lives -10 60 && said 'days: change it before' && [ "$(asks)" = 200 ]; }
and_more_urgently() { lives -10 20 && said 'days: change it now' && [ "$(asks)" = 200 ]; }
ended_it_is_worth_nothing() { lives -10 -1 && said 'ended on' && [ "$(asks)" = 403 ] && issues_none 'ended on'; }
the_agent_says_that_it_ended() { agent_says "the site's CA (sha256:.*) ended on"; }
a_wrong_clock_is_told() { lives 1 300 && said 'the clock is wrong' && [ "$(asks)" = 403 ] && issues_none 'the clock is wrong'; }
the_agent_says_that_its_clock_is_wrong() { agent_says 'the clock is wrong: it says'; }
another_one_helps() {
	lives -10 -1 && phx pki rotate 2>/dev/null && phx pki retire --yes --force 2>/dev/null && cp "$PKI/ca.pem" "$WORK/n1/etc/phoenix/ca.pem" || return 1
	agent_start n1
	until_true 20 up && (cd "$WORK" && phx cert issue bob --out "$WORK/bob") >/dev/null
}

head_init
api /v1/nodes -d '{"name": "n1", "macs": ["02:00:00:00:00:01"]}' >/dev/null
node_init n1 1
agent_start n1
until_true 20 is n1 .state ready || { not_ok "n1 is not ready"; exit 1; }
agent_stop n1
(cd "$WORK" && phx cert issue alice --kind provider --out "$WORK/alice") >/dev/null
for test in nothing_is_said_of_one_that_lasts its_end_is_told_before and_more_urgently ended_it_is_worth_nothing the_agent_says_that_it_ended a_wrong_clock_is_told \
	the_agent_says_that_its_clock_is_wrong another_one_helps; do
	check "$test" "$test"
done
exit $FAILED
