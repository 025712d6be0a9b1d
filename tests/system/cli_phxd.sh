#!/bin/bash
# The command line against a real head with agents as processes: lists, orders, waiting, exit codes, formats.
. "$(dirname "$0")/agents.bash"

# what the last phx said tells more than the logs of the head and the agents
not_ok() {
	echo "not ok $*"
	FAILED=1
	echo "status $status" && tail -n 8 "$WORK/out" "$WORK/err"
}

roles_init() {
	cat >"$WORK/etc/roles/batch-compute.conf" <<-END
		pool = "batch"; image = "test"; boot = "ram"; runs_jobs = true; drain_grace = "1s"; packages = [ "tools" ];
	END
	cat >"$WORK/etc/roles/web-server.conf" <<-END
		pool = "web"; image = "test"; boot = "ram"; drain_grace = "1s"; packages = [ "tools", "web" ];
		services = ( { name = "web"; package = "web"; exec = [ "bin/web" ]; stop_grace = "1s"; } );
	END
	echo 'rules = ( { role = "web-server"; when = [ "name ~ c1" ]; }, { role = "batch-compute"; when = [ "cpus >= 1" ]; } );' \
		>"$WORK/etc/roles/rules.conf"
	package tools 1.0 'echo tools'
	package web 1.0 'exec sleep 1000'
	phx reload 2>/dev/null
}

# run COMMAND...: its status in $status, its output in $WORK/out and $WORK/err
run() {
	"$@" >"$WORK/out" 2>"$WORK/err" </dev/null
	status=$?
}
# said STATUS FILE TEXT: what the last run left
said() { [ "$status" = "$1" ] && grep -qF -- "$3" "$WORK/$2"; }
silent() { [ ! -s "$WORK/out" ]; }

# ---- before there is anything ----

packages_of_the_head() {
	run phx package list -o tsv --no-header
	[ "$status" = 0 ] && [ "$(cut -f1 "$WORK/out" | sort | paste -sd,)" = tools,web ]
}
counts_in_words() {
	run phx reload
	said 0 err 'phx: phxd knows 2 roles, 1 image, 2 packages'
}
images_of_the_head() {
	run phx image list -o name
	[ "$status" = 0 ] && [ "$(cat "$WORK/out")" = test ]
}
announces() {
	run phx node add c1 --mac 02:00:00:00:00:01 --serial SN1
	[ "$status" = 0 ] || return 1
	run phx node add c1 --mac 02-00-00-00-00-01
	said 0 err 'this is so already' || return 1
	run phx node add c9 --mac 02:00:00:00:00:01
	said 64 err 'belongs to node c1'
}
csv() { printf '%s\n' "$@" >"$WORK/nodes.csv"; }
announces_many() {
	# nothing of a file in which something is wrong, and every mistake with its line
	csv 'name,mac,serial,bmc_driver,ip' 'm1,02:00:00:00:01:01,,,' 'm2,02:00:00:00:01:1,,,' '' 'm3,02:00:00:00:01:01,"S,""3",,' 'm4,,,,' 'm/5,02:00:00:00:01:05,,,' 'm6,02:00:00:00:01:06'
	run phx node add --from "$WORK/nodes.csv"
	[ "$status" = 64 ] && [ "$(sed -n 's/.*nodes.csv:\([0-9]*\): .*/\1/p' "$WORK/err" | sort -n | paste -sd ' ')" = '3 3 5 6 7 8' ] || return 1
	grep -q "nodes.csv:5: MAC address 02:00:00:00:01:01 is that of node m1, too" "$WORK/err" || return 1
	csv 'name,mac,colour' 'm1,02:00:00:00:01:01,red'
	run phx node add --from "$WORK/nodes.csv"
	said 64 err "nodes.csv:1: there is no column 'colour'" && ! phx node show m1 2>/dev/null || return 1
	# what the head refuses of one keeps no other away, and what was there before is told
	csv '# ours' 'name,mac,serial,ip' 'm1,02:00:00:00:01:01 02:00:00:00:01:02,"S ""1""",' 'm2,02:00:00:00:01:03,S2,' 'm3,02:00:00:00:00:01,S3,'
	run phx node add --from "$WORK/nodes.csv" --hold
	said 1 err 'm3: MAC 02:00:00:00:00:01 belongs to node c1' || return 1
	[ "$(field m1 .serial)" = 'S "1"' ] && [ "$(field m1 '.macs | length')" = 2 ] && [ "$(field m2 .hold)" = true ] || return 1
	run phx node add --from "$WORK/nodes.csv"
	said 1 err 'm[1-2]: this is so already' || return 1
	phx node add --from - <"$WORK/nodes.csv" 2>&1 | grep -qF 'm[1-2]: this is so' || return 1
	run phx node add m2 --mac 02:00:00:00:01:03 --serial S9
	said 64 err 'another serial number (phx node edit' || return 1
	run phx node add 'k[1-2]' --mac 02:00:00:00:02:01 --mac 02:00:00:00:02:02 --ip 10.77.5.9
	said 64 err 'end the first one with a +' || return 1
	run phx node add 'k[1-3]' --mac 02:00:00:00:02:01 --mac 02:00:00:00:02:02
	said 64 err '3 nodes and 2 times --mac' || return 1
	run phx node add 'k[1-2]' --mac 02:00:00:00:02:01 --mac 02:00:00:00:02:02 --bmc driver=ipmi,address=10.9.0.7+,user=u,password_file=/nowhere
	[ "$status" = 0 ] && [ "$(field k2 .bmc.address)" = 10.9.0.8 ] && phx node rm 'm[1-2],k[1-2]' --yes >/dev/null 2>&1
}
exports_what_it_imports() {
	local how
	csv 'name,mac,serial,uuid,ip,bmc_driver,bmc_address,bmc_user,bmc_password_file,bmc_insecure' \
		'x1,02:00:00:00:03:01 02:00:00:00:03:02,"S, ""1""",,10.77.3.1,ipmi,10.9.0.1,root,/nowhere,' 'x2,02:00:00:00:03:03,,uuid-2,,redfish,https://10.9.0.2,u,/nowhere,true' \
		'x3,,S3,,,,,,,'
	phx node add --from "$WORK/nodes.csv" 2>/dev/null && phx node add x4 --mac 02:00:00:00:03:04 --hold 2>/dev/null || return 1
	phx node export 'x[1-4]' >"$WORK/x.csv" && phx node export 'x[1-4]' -o json >"$WORK/x.json" || return 1
	grep -qx 'x1,02:00:00:00:03:01 02:00:00:00:03:02,"S, ""1""",,10.77.3.1,,ipmi,10.9.0.1,root,/nowhere,' "$WORK/x.csv" && grep -qx 'x4,02:00:00:00:03:04,,,,true,,,,,' "$WORK/x.csv" ||
		{ cat "$WORK/x.csv"; return 1; }
	for how in csv json; do
		phx node rm 'x[1-4]' --yes >/dev/null 2>&1 && phx node add --from "$WORK/x.$how" 2>/dev/null && phx node export 'x[1-4]' | cmp - "$WORK/x.csv" &&
			phx node export 'x[1-4]' -o json | cmp - "$WORK/x.json" || { echo "$how"; return 1; }
	done
	printf '{"nodes": [\n{"name": "x/1"}]}' >"$WORK/x.json" && ! phx node add --from "$WORK/x.json" 2>"$WORK/err" && grep -q 'nodes\[0\]: "name" is no name of a node' "$WORK/err" || return 1
	printf '{"nodes":\n[' >"$WORK/x.json" && ! phx node add --from "$WORK/x.json" 2>"$WORK/err" && grep -q 'x.json:2: ' "$WORK/err" || return 1
	# a token is nowhere to be exported from
	echo secret >"$WORK/token" && chmod 600 "$WORK/token" && phx node add x5 --token-file "$WORK/token" || return 1
	run phx node export 'x[1-5]'
	[ "$status" = 1 ] && cmp "$WORK/out" "$WORK/x.csv" && grep -q 'x5: left out' "$WORK/err" && phx node rm 'x[1-5]' --yes >/dev/null 2>&1
}
lists_what_comes() {
	phx node add c2 --mac 02:00:00:00:00:02 && agent_start c1 && agent_start c2 || return 1
	until_true 15 is c1 .state ready && until_true 15 is c2 .state ready || return 1
	run phx node list -o name --fold
	[ "$(cat "$WORK/out")" = 'c[1-2]' ] || return 1
	run phx node list @state:ready -o tsv --no-header
	[ "$(wc -l <"$WORK/out")" = 2 ]
}
shows_facts() {
	run phx node show c1
	said 0 out 'serial-TEST-1' && said 0 out '4.0 GiB' && said 0 out '02:00:00:00:00:01'
}
rules_have_reasons() {
	run phx role match -o tsv --no-header
	grep -q '^c1	web-server	.*name' "$WORK/out" && grep -q '^c2	batch-compute	.*cpus' "$WORK/out"
}

lists_parts() {
	run phx node hardware 'c[1-2]' -o json
	[ "$status" = 0 ] && [ "$(jq -c .parts "$WORK/out")" = '[]' ] || return 1
	run phx node deviations -o tsv --no-header
	[ "$status" = 0 ] && [ ! -s "$WORK/out" ]
}

# ---- orders ----

plans_first() {
	run phx node plan 'c[1-2]' web-server
	said 0 out 'activate' && said 0 out 'c[1-2]: ' && is c1 .state ready || return 1
	run phx node assign c1 web-server --dry-run -o json
	[ "$(jq '.results[0].plan.steps | length' "$WORK/out")" -gt 0 ] && is c1 .state ready
}
assigns_and_waits() {
	run phx node assign 'c[1-2]' web-server --wait --timeout 60
	said 0 err '2 of 2 nodes are done' && silent && is c1 .state active && is c2 .actual_role web-server
}
assigns_again() {
	run phx node assign 'c[1-2]' web-server --wait --timeout 60
	said 0 err 'c[1-2]: this is so already'
}
in_place_needs_no_yes() {
	run phx node assign c2 batch-compute --setup noop --wait --timeout 60
	[ "$status" = 0 ] && is c2 .role batch-compute
}
groups_are_known() {
	run phx node list '@all!@role:web-server' -o name
	[ "$(cat "$WORK/out")" = c2 ]
}
erasing_needs_yes() {
	run phx node assign c1 batch-compute --setup wipe
	# no BMC and no deploy environment: refused in the plan, or asked for; never done
	[ "$status" = 64 ] || [ "$status" = 1 ] || return 1
	is c1 .state active && is c1 .role web-server || return 1
	run phx node rebuild c1
	said 64 err '--yes'
}
shows_drift_free() {
	run phx node show c1
	said 0 out 'drift      no' || return 1
	run phx node list c1
	said 0 out 'web-server'
}
job_runs() {
	run phx job submit -n 1 --user nobody --wait --timeout 30 -- echo from a job
	said 0 out 'from a job' || return 1
	run phx job submit -n 1 --user nobody --wait --timeout 30 -- sh -c 'exit 3'
	said 1 err 'c2: exit status 3' || return 1
	run phx job submit -- true
	said 77 err 'jobs never run as root'
}
waiting_outlives_a_killed_head() {
	phx node assign c1 batch-compute --setup noop --wait --timeout 60 >"$WORK/out" 2>"$WORK/err" &
	local waiting=$!
	until_true 5 grep -q . <(phx events -n 1)
	head_kill
	sleep 1
	head_start
	# ordered before or never: ordering again finishes it either way
	wait "$waiting" || phx node assign c1 batch-compute --setup noop --wait --timeout 60 2>>"$WORK/err" || return 1
	is c1 .role batch-compute && is c1 .state active
}
drains_and_resumes() {
	run phx node drain c1 --reason 'new fan' --wait --timeout 30
	[ "$status" = 0 ] && is c1 .state maintenance || return 1
	run phx node list c1
	said 0 out 'new fan' || return 1
	run phx node resume c1 --wait --timeout 30
	[ "$status" = 0 ] && until_true 10 is c1 .state active
}
power_without_bmc_fails_by_name() {
	run phx node power 'c[1-2]' off
	[ "$status" = 1 ] && grep -q '^phx: c\[1-2\]: ' "$WORK/err"
}
# what cannot even begin is refused at once, with --wait and without
a_missing_password_file_is_named() {
	phx node bmc c1 driver=ipmi address=127.0.0.1:9 user=x password_file="$WORK/nosuch.pw" || return 1
	run phx node power c1 on
	said 1 err "c1: password_file $WORK/nosuch.pw: No such file" || return 1
	run phx node power c1 on --dry-run
	phx node bmc c1 driver=none
	said 1 err "c1: password_file $WORK/nosuch.pw: No such file"
}
# of what is in use, as every order that ends something; nothing is switched before
power_asks_of_a_node_in_use() {
	local op seq
	(umask 077 && echo secret >"$WORK/bmc/rack1")
	phx node bmc c1 driver=ipmi address=127.0.0.1:9 user=x password_file="$WORK/bmc/rack1" || return 1
	seq=$(api /v1/status | jq .seq)
	for op in off 'off --hard' cycle reset; do
		# shellcheck disable=SC2086
		run phx node power c1 $op </dev/null
		said 64 err '1 node is active (c1)' || return 1
	done
	[ "$(api /v1/status | jq .seq)" = "$seq" ] && phx node bmc c1 driver=none
}
# nobody listens there: it is said by name, and the node goes on
a_silent_bmc_is_named() {
	local before
	command -v ipmitool >/dev/null || { echo "no ipmitool"; return 0; }
	(umask 077 && echo secret >"$WORK/bmc/rack1")
	before=$(field c1 '"\(.state) \(.role) \(.epoch) \(.up)"')
	phx node bmc c1 driver=ipmi address=127.0.0.1:9 user=x password_file="$WORK/bmc/rack1" || return 1
	run phx node power c1 off --hard --yes --wait --timeout 60
	phx node bmc c1 driver=none
	said 1 err 'c1: ' && said 1 err 'the BMC does not answer' && ! grep -q secret "$WORK/err" "$WORK/phxd.log" &&
		[ "$(field c1 '"\(.state) \(.role) \(.epoch) \(.up)"')" = "$before" ]
}
# its reader goes away, and nothing happens any more
following_ends_with_its_reader() {
	timeout 60 bash -c "set -o pipefail; '$BUILD/bin/phx' events -f -n 3 2>'$WORK/err' | head -n 1 >'$WORK/out'"
	[ $? != 124 ] && [ "$(wc -l <"$WORK/out")" = 1 ] && [ ! -s "$WORK/err" ]
}
events_are_told() {
	run phx events -n 0
	said 0 out 'c1: ' && grep -q 'role assigned: role web-server.*by uid:0' "$WORK/out" || return 1
	timeout 2 "$BUILD/bin/phx" events -f -n 1 >"$WORK/out" 2>&1
	[ -s "$WORK/out" ]
}
# more than a buffer, so that the first write that fails is not the last
a_full_output_is_a_failure() {
	phx node show @all -o json >/dev/full 2>"$WORK/err"
	[ $? = 1 ] && grep -q 'standard output' "$WORK/err" || return 1
	phx config show -o json >/dev/full 2>"$WORK/err"
	[ $? = 1 ] && grep -q 'standard output' "$WORK/err"
}
status_counts() {
	run phx status
	said 0 out '2 nodes, 2 up' && said 0 out 'batch'
}
config_has_origins() {
	run phx config show --origin -o tsv
	grep -q "^https_port	$HTTPS	$WORK/etc/phoenix.conf:2\$" "$WORK/out" || return 1
	[ "$(phx config show https_port -o tsv --no-header)" = "https_port	$HTTPS" ] || return 1
	run phx config show https_port htps_port
	said 64 err "config show: there is no key 'htps_port'; did you mean 'https_port'?"
}

# ---- what goes wrong ----

unknown_names() {
	run phx node assign c1 web
	said 64 err "there is no role 'web'; did you mean 'web-server'?" || return 1
	run phx node show c3
	said 64 err "there is no node 'c3'" || return 1
	run phx node list 'c[1-'
	said 64 err 'column 5'
}
wrong_package_is_refused() {
	cp "$WORK/head/packages/web-1.0.tar.zst" "$WORK/web-1.0.tar.zst"
	head -c 64 /dev/zero >"$WORK/web-1.0.tar.zst.sig"
	run phx package verify "$WORK/web-1.0.tar.zst"
	[ "$status" = 1 ] || return 1
	run phx package push "$WORK/web-1.0.tar.zst"
	[ "$status" = 1 ] && silent
}
used_things_stay() {
	run phx image rm test --yes
	said 64 err 'is the image of role' || return 1
	run phx package rm tools-1.0 --yes
	said 64 err 'is a package of role' || return 1
	run phx package rm tools-9.9 --yes
	said 0 err 'is not there'
}
truncated_image_is_found() {
	echo cut >"$WORK/head/images/test/1/root.squashfs"
	run phx image verify test
	[ "$status" = 1 ] && silent && grep -q root.squashfs "$WORK/err" || return 1
	# no node is taken down for it
	run phx node rebuild c1 --yes
	said 1 err 'cut short or altered' || return 1
	is c1 .state active && run phx node plan c1 batch-compute --setup wipe:overwrite
	grep -q root.squashfs "$WORK/err"
}
bad_role_is_told_with_its_line() {
	printf 'pool = "web";\nimage = "nosuch";\n' >"$WORK/etc/roles/odd.conf"
	run phx reload
	rm "$WORK/etc/roles/odd.conf"
	said 78 err 'odd.conf:2'
}
not_permitted() {
	chmod 755 "$WORK/head" && chmod 666 "$PHX_SOCKET"
	local copy=$WORK/phx
	cp "$BUILD/bin/phx" "$copy" && chmod 755 "$copy"
	run setpriv --reuid=65534 --regid=65534 --clear-groups "$copy" --socket "$PHX_SOCKET" node quarantine c1
	said 77 err 'not permitted' && [ "$(field c1 .state)" != quarantined ]
}
remote() {
	env -u PHX_SOCKET "$BUILD/bin/phx" --server "https://127.0.0.1:$HTTPS" --cert "$WORK/$1/cert.pem" --key "$WORK/$1/key.pem" \
		--ca "$WORK/$1/ca.pem" "${@:2}"
}
by_certificate() {
	run phx cert issue alice --kind provider --out "$WORK/alice"
	[ "$status" = 0 ] && [ "$(stat -c %a "$WORK/alice/key.pem")" = 600 ] || return 1
	run phx cert issue bob --out "$WORK/bob"
	run phx cert issue bob --out "$WORK/bob"
	said 64 err 'is there already' || return 1
	run remote alice node list -o name --fold
	[ "$status" = 0 ] && [ "$(cat "$WORK/out")" = 'c[1-2]' ] || return 1
	run remote bob node quarantine c1
	said 77 err 'and you are a user' || return 1
	run remote alice node drain c2 --reason remote
	[ "$status" = 0 ] && grep -q 'by provider:alice' <(phx events -n 20) && phx node resume c2 --wait --timeout 20 2>/dev/null
}
# lasts NAME DAYS: the certificate of NAME ends then, to the day
lasts() {
	openssl x509 -in "$WORK/$1/cert.pem" -noout -checkend $((($2 - 1) * 86400)) >/dev/null &&
		! openssl x509 -in "$WORK/$1/cert.pem" -noout -checkend $((($2 + 1) * 86400)) >/dev/null
}
# person_cert_days_max: no longer than that, by default and by --days; who has a longer one keeps it
certificates_have_a_ceiling() {
	local days
	lasts alice 365 || return 1
	for days in 366 0 1000000000; do
		run phx cert issue erin --days $days --out "$WORK/erin"
		said 64 err "--days is $days; it must be a number from 1 to 365, which is person_cert_days_max of phoenix.conf" &&
			[ ! -e "$WORK/erin" ] || return 1
	done
	run phx cert issue erin --days 7 --out "$WORK/erin"
	[ "$status" = 0 ] && lasts erin 7 || return 1
	echo 'person_cert_days_max = 30;' >>"$WORK/etc/phoenix.conf"
	head_kill
	head_start
	run phx cert issue frank --days 31 --out "$WORK/frank"
	said 64 err 'from 1 to 30, which is person_cert_days_max' && [ ! -e "$WORK/frank" ] || return 1
	run phx cert issue frank --out "$WORK/frank"
	[ "$status" = 0 ] && lasts frank 30 || return 1
	run remote alice node list -o name --fold
	[ "$status" = 0 ] && sed -i '/^person_cert_days_max/d' "$WORK/etc/phoenix.conf"
}
# what was lost is refused at once, and after a restart; what is issued later in the same name is good
revoked_is_refused() {
	local serial
	run phx cert issue carol --kind provider --out "$WORK/carol"
	run remote carol node list -o name --fold
	[ "$status" = 0 ] || return 1
	serial=$(phx cert list -o json | jq -r '.certs[] | select(.name == "carol") | .serial')
	[ "$serial" = "$(openssl x509 -in "$WORK/carol/cert.pem" -noout -serial | cut -d= -f2 | tr A-F a-f)" ] || return 1
	run phx cert revoke carol --reason 'her laptop is gone'
	said 0 err "certificate $serial of carol is revoked" || return 1
	run remote carol node list
	said 77 err "your certificate $serial is revoked" || return 1
	run phx cert issue carol --kind provider --out "$WORK/carol2"
	run remote carol2 node list
	[ "$status" = 0 ] || return 1
	head_kill
	head_start
	run remote carol node list
	[ "$status" = 77 ] || return 1
	run remote carol2 node list
	[ "$status" = 0 ] && grep -q 'is revoked: her laptop is gone (by uid:0)' <(phx events -n 50) || return 1
	# the directory that cert issue has made is in the way of nothing
	run phx cert issue dave --out "$WORK/dave"
	(cd "$WORK" && phx cert revoke dave) 2>"$WORK/err"
	status=$?
	said 0 err 'of dave is revoked' || return 1
	run phx cert revoke "$WORK/carol2/cert.pem"
	run remote carol2 node list
	[ "$status" = 77 ] && [ "$(phx cert list -o json | jq '[.certs[] | select(.name == "carol" and .revoked)] | length')" = 2 ] || return 1
	run phx cert revoke "$serial"
	said 0 err 'was revoked already' || return 1
	run phx cert revoke nobody-of-this-name
	said 64 err 'is no file' || return 1
	run remote alice cert list
	[ "$status" = 0 ]
}
no_certificate_no_entry() {
	mkdir -p "$WORK/eve" && cp "$WORK/alice/ca.pem" "$WORK/eve"
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$WORK/eve/key.pem" -out "$WORK/eve/cert.pem" \
		-subj /O=phoenix/OU=provider/CN=alice -days 1 2>/dev/null
	run remote eve node list
	[ "$status" = 69 ] || [ "$status" = 77 ] || return 1
	# a head of another CA is not believed
	cp "$WORK/eve/cert.pem" "$WORK/eve/ca.pem" && cp "$WORK/alice/cert.pem" "$WORK/alice/key.pem" "$WORK/eve"
	run remote eve node list
	[ "$status" = 69 ] && silent
}
# what passes by itself has the status 75, whoever tells it: that of a request, and that of each node
is_read_only() { phx status | grep -q READ-ONLY; }
journal_cannot_be_written() {
	mv "$WORK/head/journal.db" "$WORK/head/away.db"
	until_true 30 is_read_only || { mv "$WORK/head/away.db" "$WORK/head/journal.db"; return 1; }
	run phx node add c7 --mac 02:00:00:00:00:07
	local added=$status
	run phx node label c1 rack=7
	mv "$WORK/head/away.db" "$WORK/head/journal.db"
	[ "$added" = 75 ] && said 75 err 'c1: read-only: ' && until_true 30 phx node label c1 rack=7 && phx node label c1 rack-
}
forgets() {
	agent_stop c2
	until_true 10 is c2 .up false || return 1
	run phx node logs c2
	said 75 err 'c2 is not heard' || return 1
	run phx node rm c2 --yes --force
	[ "$status" = 0 ] || return 1
	run phx node list -o name
	[ "$(cat "$WORK/out")" = c1 ]
}
head_is_gone() {
	head_stop
	run phx node list
	said 69 err 'cannot be reached'
}

mkdir "$WORK/bmc"
head_init "bmc_dir = \"$WORK/bmc\";"
roles_init
node_init c1 1
node_init c2 2
for t in packages_of_the_head counts_in_words images_of_the_head announces announces_many exports_what_it_imports lists_what_comes shows_facts lists_parts rules_have_reasons plans_first \
	assigns_and_waits assigns_again in_place_needs_no_yes groups_are_known erasing_needs_yes shows_drift_free job_runs \
	waiting_outlives_a_killed_head drains_and_resumes power_without_bmc_fails_by_name a_missing_password_file_is_named power_asks_of_a_node_in_use a_silent_bmc_is_named events_are_told following_ends_with_its_reader a_full_output_is_a_failure status_counts \
	config_has_origins unknown_names wrong_package_is_refused used_things_stay truncated_image_is_found \
	bad_role_is_told_with_its_line not_permitted by_certificate certificates_have_a_ceiling revoked_is_refused no_certificate_no_entry journal_cannot_be_written forgets head_is_gone; do
	check $t $t
done
exit "$FAILED"
