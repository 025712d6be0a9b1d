#!/bin/bash
# phx node why: a head, curl as the firmware of machines, ipmi_sim as a BMC, fake agents. Each planted failure is named, and no
# other cause; what is mended is said no more; what strangers say decides nothing.
. "$(dirname "$0")/phxd.bash"

MAC=52:54:00:00:00:0
head_conf "bmc_dir = \"$WORK/bmc\";"
roles_init
head -c 40M /dev/urandom >"$WORK/head/images/deploy/1/initrd.zst"
DEPLOY_SHA256=$(manifest_of "$WORK/head/images/deploy/1" initramfs vmlinuz initrd.zst)
mkdir -p "$WORK/bmc"
SIM=
end_sim() { [ -z "$SIM" ] || { kill "$SIM" && wait "$SIM"; } 2>/dev/null; SIM=; }
trap 'end_sim; finish' EXIT
package tools 1.0 true
head_start

# why NODE CAUSE [TEXT]: is it that, and does the sentence have the text?
why() {
	api "/v1/nodes/$1/why" >"$WORK/why.json"
	jq -e --arg cause "$2" --arg text "${3:-}" '.cause == $cause and (.text | contains($text))' "$WORK/why.json" >/dev/null ||
		{ jq -c . "$WORK/why.json"; return 1; }
}
firmware() { curl -sS -m 20 -o "$WORK/got" -w '%{http_code}' "http://127.0.0.1:$HTTP/$1" "${@:2}"; }

nothing_is_known_at_first() {
	phx node add n1 --mac ${MAC}1 >/dev/null 2>&1 && why n1 unknown &&
		phx node why n1 | grep -q 'n1: no start of it was seen' && phx node why n1 | grep -q 'next: switch it on: phx node power n1 on'
}
a_boot_script_without_its_image() {
	mv "$WORK/head/images/deploy" "$WORK/away"
	firmware boot/${MAC}1 >/dev/null && why n1 script_refused deploy && phx node why n1 -v | grep -q 'boot script refused: ' || return 1
	mv "$WORK/away" "$WORK/head/images/deploy"
	firmware boot/${MAC}1 >/dev/null && why n1 within 'fetches kernel and initrd'
}
a_file_that_is_not_there() {
	[ "$(firmware images/deploy/7/initrd.zst)" = 404 ] && why n1 file_refused images/deploy/7/initrd.zst
}
# the peer goes after some of it: curl is killed by its own time limit
a_transfer_cut_short() {
	local bytes
	curl -sS -m 1.5 --limit-rate 2M -o "$WORK/got" "http://127.0.0.1:$HTTP/images/deploy/1/initrd.zst" 2>/dev/null
	until_true 10 why n1 file_cut 'the fetch of images/deploy/1/initrd.zst broke off at' || { why n1 file_cut; return 1; }
	phx node why n1 -o json >"$WORK/why.json" && jq -e '.text | contains("of 41943040 bytes")' "$WORK/why.json" >/dev/null || return 1
	bytes=$(jq -r '.text | capture("at (?<n>[0-9]+) of").n' "$WORK/why.json")
	[ "$bytes" -ge 1000000 ] && [ "$bytes" -lt 41943040 ] || { echo "$bytes bytes"; return 1; }
}
# every third packet of the head's is lost: the transfer crawls, does not end, and is looked at while it is under way
a_cable_that_loses_packets() {
	local curl ok=0
	ip link show own0 >/dev/null 2>&1 || { echo "this network is not the script's own: run it by tests/run"; return 1; }
	ip link set lo mtu 1500
	nft "add table inet plant; add chain inet plant in { type filter hook input priority 0; }; add rule inet plant in tcp sport $HTTP numgen inc mod 3 == 0 drop" || return 1
	curl -sS -m 60 --limit-rate 1M -o "$WORK/got" "http://127.0.0.1:$HTTP/images/deploy/1/initrd.zst" 2>/dev/null &
	curl=$!
	until_true 10 why n1 loss 'packets had to be sent again' || { why n1 loss; ok=1; }
	kill -0 $curl || { echo "it has ended"; ok=1; }
	# of the same node it is told once a minute, however often one asks
	why n1 loss >/dev/null; why n1 loss >/dev/null
	[ "$(phx node why n1 -v | grep -c 'packets were lost: ')" = 1 ] || { phx node why n1 -v; ok=1; }
	nft delete table inet plant
	ip link set lo mtu 65536
	kill $curl 2>/dev/null
	return $ok
}
then_all_of_it() {
	local file
	for file in images/deploy/1/vmlinuz images/deploy/1/initrd.zst site.cpio; do [ "$(firmware $file)" = 200 ] || return 1; done
	until_true 10 why n1 within 'its kernel starts and finds the network' || { why n1 within; return 1; }
}
# its agent asks for the token of its start by HTTPS: that is no start of a machine
an_agent_begins_no_start() {
	local before
	before=$(api /v1/nodes/n1/why | jq .start)
	[ "$(curl -sS -m 20 --cacert "$WORK/head/pki/ca.pem" -o "$WORK/got" -w '%{http_code}' "https://127.0.0.1:$HTTPS/boot/${MAC}1")" = 200 ] &&
		why n1 within 'its kernel starts and finds the network' && [ "$(jq .start "$WORK/why.json")" = "$before" ]
}
# a machine that nobody announced is asked for by its MAC, and has its starts when it gets a name
a_machine_without_a_name() {
	[ "$(firmware boot/${MAC}8)" = 200 ] && phx node why ${MAC}8 -v | grep -q "boot script asked for" || return 1
	phx node add n8 --mac ${MAC}8 >/dev/null 2>&1 && firmware boot/${MAC}8 >/dev/null && phx node why n8 -v >"$WORK/out" &&
		[ "$(grep -c "boot script asked for" "$WORK/out")" = 2 ]
}

bmc_conf() {
	cat >"$WORK/bmc/lan.conf" <<-END
		name "bmc"
		set_working_mc 0x20
		  startlan 1
		    addr 127.0.0.1 $1
		    priv_limit admin
		    allowed_auths_admin md5
		    guid "phoenix-test-01"
		  endlan
		  startnow false
		  user 1 false "" "" user 10 none
		  user 2 true "phoenix" "right" admin 10 md5
	END
	printf 'mc_setbmc 0x20\nmc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02\nsel_enable 0x20 1000 0x0a\nmc_enable 0x20\n' >"$WORK/bmc/sim.emu"
	ipmi_sim -c "$WORK/bmc/lan.conf" -f "$WORK/bmc/sim.emu" -s "$WORK/bmc" -n >"$WORK/sim.log" 2>&1 &
	SIM=$!
}
a_bmc_that_refuses_the_password() {
	local port=$((HTTPS + 2))
	bmc_conf $port
	(umask 077; echo wrong >"$WORK/bmc/pw")
	for_hands "$WORK/bmc/pw"
	phx node add n2 --mac ${MAC}2 >/dev/null 2>&1 && phx node bmc n2 driver=ipmi address=127.0.0.1:$port user=phoenix \
		password_file="$WORK/bmc/pw" >/dev/null || return 1
	phx node power n2 on --yes >"$WORK/out" 2>&1
	until_true 20 why n2 bmc_password refuses || { cat "$WORK/out" "$WORK/sim.log"; why n2 bmc_password; return 1; }
	phx node why n2 | grep -q 'phx node bmc n2'
}
a_bmc_that_does_not_answer() {
	end_sim
	phx node power n2 on --yes >"$WORK/out" 2>&1
	until_true 40 why n2 bmc_silent || { cat "$WORK/out"; why n2 bmc_silent; return 1; }
}

a_step_that_fails() {
	phx node add n3 --mac 02:00:00:00:00:03 >/dev/null 2>&1
	fake_start n3 3 --fail activate --times 9
	until_true 20 is n3 .state ready || return 1
	why n3 nothing || return 1
	phx node assign n3 batch --yes >/dev/null 2>&1
	until_true 60 is n3 .state quarantined || return 1
	why n3 step_failed activate: && phx node why n3 | grep -q 'phx node resume n3'
}
a_service_that_fails() {
	phx node add n5 --mac 02:00:00:00:00:05 >/dev/null 2>&1
	fake_start n5 5 --fail health --times 9
	until_true 20 is n5 .state ready && phx node assign n5 batch --yes >/dev/null 2>&1 && until_true 60 is n5 .state quarantined || return 1
	why n5 service health: && phx node why n5 | grep -q 'phx node logs n5'
}
# hello ROLE DISKS: of n6, which stands still meanwhile, with a controller of disks that no driver of its kernel has
hello_of_n6() {
	[ "$(curl -sS -m 20 --cacert "$WORK/head/pki/ca.pem" --key "$WORK/n6/key.pem" --cert "$WORK/n6/cert.pem" -o "$WORK/got" -w '%{http_code}' \
		"https://127.0.0.1:$HTTPS/v1/agent/hello" -d "{\"env\": \"deploy\", \"boot_id\": \"$1\", \"facts\": {\"arch\": \"x86_64\", \"disks\": [$2], \"pci\": [
			{\"address\": \"0000:00:02.0\", \"class_code\": 131072, \"vendor\": 32902, \"device\": 4110, \"driver\": \"e1000\"},
			{\"address\": \"0000:00:1f.2\", \"class_code\": 67073, \"vendor\": 32902, \"device\": 10530, \"driver\": \"\"}]}}")" = 200 ] || { cat "$WORK/got"; return 1; }
}
# nobody orders a node without disks a step that wants one: it is told of what is ready
a_controller_without_driver() {
	phx node add n6 --mac 02:00:00:00:00:06 >/dev/null 2>&1
	fake_start n6 6 --env deploy
	until_true 20 is n6 .state ready || return 1
	agent_stop n6
	hello_of_n6 one '' && why n6 disk_driver 8086:2922 && hello_of_n6 two '{"id": "d1", "size_bytes": 1000}' && why n6 nothing
}
# forged: whoever asks for the boot script of a node that serves changes nothing that is said of it
strangers_decide_nothing() {
	phx node add n4 --mac 02:00:00:00:00:04 >/dev/null 2>&1
	fake_start n4 4
	until_true 20 is n4 .state ready && why n4 nothing || return 1
	firmware boot/02:00:00:00:00:04 >/dev/null
	firmware images/deploy/9/initrd.zst >/dev/null
	why n4 nothing
}
# the key of a former certificate is the node's no more
a_certificate_that_counts_no_more() {
	agent_stop n4
	cp "$WORK/n4/key.pem" "$WORK/old.key" && cp "$WORK/n4/cert.pem" "$WORK/old.pem" && phx node rm n4 --yes >/dev/null 2>&1 || return 1
	phx node add n4 --mac 02:00:00:00:00:04 >/dev/null 2>&1
	[ "$(curl -sS -m 20 --cacert "$WORK/head/pki/ca.pem" --key "$WORK/old.key" --cert "$WORK/old.pem" -o "$WORK/got" -w '%{http_code}' \
		"https://127.0.0.1:$HTTPS/v1/agent/beat" -d '{}')" = 403 ] || { cat "$WORK/got"; return 1; }
	why n4 cert_revoked 'not the node'
}
# certificate KEY BEGIN END CA_CERT CA_KEY: of n4, into dated.pem
certificate() {
	local ca=$WORK/ca
	rm -rf "$ca" && mkdir "$ca" && : >"$ca/index.txt" && openssl rand -hex 8 >"$ca/serial" &&
		printf 'extendedKeyUsage = clientAuth\nkeyUsage = critical, digitalSignature\n' >"$ca/ext" &&
		printf '[ca]\ndefault_ca = c\n[c]\ndatabase = %s/index.txt\nserial = %s/serial\nnew_certs_dir = %s\ndefault_md = sha256\npolicy = p\n[p]\norganizationName = supplied\norganizationalUnitName = supplied\ncommonName = supplied\n' \
			"$ca" "$ca" "$ca" >"$ca/conf" &&
		openssl req -new -key "$1" -subj "/O=phoenix/OU=node/CN=n4" -out "$ca/csr" &&
		openssl ca -batch -notext -preserveDN -config "$ca/conf" -cert "$4" -keyfile "$5" -extfile "$ca/ext" \
			-startdate "$2" -enddate "$3" -in "$ca/csr" -out "$WORK/dated.pem" 2>"$ca/err" || { cat "$ca/err"; return 1; }
}
# shows KEY: asks with that certificate, which does not count
shows() {
	[ "$(curl -sS -m 20 --cacert "$WORK/head/pki/ca.pem" --key "$1" --cert "$WORK/dated.pem" -o "$WORK/got" -w '%{http_code}' \
		"https://127.0.0.1:$HTTPS/v1/agent/beat" -d '{}')" = 403 ] || { cat "$WORK/got"; return 1; }
}
n_refused() { phx node why n4 -v | grep -c 'certificate refused: '; }
in_days() { date -u -d "$1 days" +%Y%m%d%H%M%SZ; }
# a clock that is off: the node's own key, a certificate of the site's CA, and another time. What strangers show is none of the node's
a_certificate_of_another_time() {
	local pki=$WORK/head/pki
	agent_stop n4
	openssl ecparam -name prime256v1 -genkey -noout -out "$WORK/other.key" &&
		openssl req -x509 -new -key "$WORK/other.key" -subj "$(openssl x509 -in "$pki/ca.pem" -noout -subject -nameopt compat | cut -d= -f2-)" -days 99 -out "$WORK/other.pem" || return 1
	# its own key and a CA of its own; the site's CA and a key that is not the node's
	certificate "$WORK/n4/key.pem" 19700101000000Z "$(in_days -1)" "$WORK/other.pem" "$WORK/other.key" && shows "$WORK/n4/key.pem" || return 1
	certificate "$WORK/other.key" 19700101000000Z "$(in_days -1)" "$pki/ca.pem" "$pki/ca.key" && shows "$WORK/other.key" || return 1
	until_true 20 is n4 .up false && [ "$(n_refused)" = 0 ] && ! why n4 cert_dates >/dev/null || { why n4 none; return 1; }
	certificate "$WORK/n4/key.pem" 19700101000000Z 20260102030405Z "$pki/ca.pem" "$pki/ca.key" && shows "$WORK/n4/key.pem" &&
		why n4 cert_dates 'it is valid no more since 2026-01-02 03:04:05 UTC' && phx node why n4 | grep -q 'compare the clocks' || return 1
	# as often as it likes: a row a minute
	shows "$WORK/n4/key.pem" && shows "$WORK/n4/key.pem" && [ "$(n_refused)" = 1 ] || { n_refused; return 1; }
	head_stop
	head_start
	certificate "$WORK/n4/key.pem" 20900101000000Z 20910101000000Z "$pki/ca.pem" "$pki/ca.key" && shows "$WORK/n4/key.pem" &&
		why n4 cert_dates 'it is valid only from 2090-01-01 00:00:00 UTC' || return 1
	fake_start n4 4
	until_true 30 why n4 nothing >/dev/null || why n4 nothing
}
who_may_ask() {
	phx node why n9 >"$WORK/out" 2>&1
	[ $? = 64 ] && grep -q "there is no node 'n9'" "$WORK/out" || { cat "$WORK/out"; return 1; }
	install -m 755 "$BUILD/bin/phx" "$WORK/phx"
	setpriv --reuid nobody --regid nogroup --clear-groups "$WORK/phx" node why n1 >"$WORK/out" 2>&1
	[ $? = 77 ] || { cat "$WORK/out"; return 1; }
}
# the file is damaged while phxd runs, and is nothing at all when it starts
a_damaged_file_ends_nothing() {
	head_stop
	echo 'this is no database, and longer than the head of one would be' >"$WORK/head/starts.db"
	rm -f "$WORK/head/starts.db-wal" "$WORK/head/starts.db-shm"
	head_start
	firmware boot/${MAC}1 >/dev/null && why n1 within && grep -q 'starts.db is damaged' "$WORK/phxd.log" && [ -s "$WORK/head/starts.db.damaged" ]
}

for test in nothing_is_known_at_first a_boot_script_without_its_image a_file_that_is_not_there a_transfer_cut_short a_cable_that_loses_packets then_all_of_it an_agent_begins_no_start \
	a_machine_without_a_name a_bmc_that_refuses_the_password a_bmc_that_does_not_answer a_step_that_fails a_service_that_fails a_controller_without_driver \
	strangers_decide_nothing \
	a_certificate_of_another_time a_certificate_that_counts_no_more who_may_ask a_damaged_file_ends_nothing; do
	check "$test" "$test"
done
exit $FAILED
