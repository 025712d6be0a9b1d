#!/bin/bash
# The head's whole interface over its real sockets: every administrator's request, bad input, who may do what, agents
# with and without certificates, reloading, restarting, a full disk.
. "$(dirname "$0")/phxd.bash"
[ -x "$BUILD/tests/fake/agent" ] || { echo "not ok fake_agent is not built"; exit 1; }

not_ok() {
	echo "not ok $*"
	FAILED=1
	echo "last answer: $code $(head -c 600 "$WORK/body")"
	tail -n 5 "$WORK/phxd.log"
}

# the state lies on a small disk of its own, so that it can be full
small_disk() { mkdir -p "$WORK/head" && mount -t tmpfs -o size=12m,mode=755 tmpfs "$WORK/head"; }
finish_all() {
	local name
	for name in "${!AGENT[@]}"; do agent_stop "$name"; done
	head_stop
	umount "$WORK/head" 2>/dev/null
	rm -rf "$WORK"
}
trap finish_all EXIT

# req METHOD PATH [BODY [CURL-OPTION...]]: over the Unix socket, as whoever AS says; sets $code, leaves the body
AS=
req() {
	local data=()
	[ -z "${3:-}" ] || data=(-d "$3")
	code=$($AS curl -sS -m 20 -o "$WORK/body" -w '%{http_code}' --unix-socket "$PHX_SOCKET" -X "$1" "${data[@]}" \
		"http://unix$2" "${@:4}" 2>"$WORK/curl.err")
}
tls() { code=$(curl -sS -m 20 -o "$WORK/body" -w '%{http_code}' --cacert "$WORK/head/pki/ca.pem" -X "$1" \
	"https://localhost:$HTTPS$2" "${@:3}" 2>"$WORK/curl.err"); }
plain() { code=$(curl -sS -m 20 -o "$WORK/body" -w '%{http_code}' -X "$1" "http://127.0.0.1:$HTTP$2" "${@:3}" 2>"$WORK/curl.err"); }
# said CODE TEXT: the last answer
said() { [ "$code" = "$1" ] && grep -qF -- "$2" "$WORK/body"; }
# has CODE JQ: the last answer, as JSON, holds
has() { [ "$code" = "$1" ] && [ "$(jq "$2" "$WORK/body" 2>/dev/null)" = true ]; }
# refused CODE TEXT METHOD PATH [BODY]: and nothing was journalled
refused() {
	local before
	before=$(seq_now)
	req "${@:3}"
	said "$1" "$2" && [ "$(jq -r '.error | type' "$WORK/body")" = string ] && [ "$(seq_now)" = "$before" ] && return 0
	echo "$3 $4 ${5:-}: wanted $1 '$2', got $code $(head -c 300 "$WORK/body")"
	return 1
}

# ---- reading ----

status() {
	req GET /v1/status
	has 200 '.nodes == 0 and .readonly == "" and (.pools | length) == 4 and .version != "" and .states.ready == 0 and
		(.children | length) == 0' || return 1
	req GET /v1/status?what=ever
	[ "$code" = 200 ]
}
roles() {
	req GET /v1/roles
	has 200 '[.roles[].name] | sort == ["batch", "vault", "web"]' || return 1
	req GET /v1/roles/web
	has 200 '.pool == "web" and .packages[0].name == "tools" and .image == "test" and (.image_digest | length) == 64' || return 1
	refused 404 "there is no role 'nosuch'" GET /v1/roles/nosuch
}
images_and_packages() {
	req GET /v1/images
	has 200 '[.images[].name] == ["deploy", "test"] and (.images[1].files | length) == 3' || return 1
	cp "$WORK/head/packages/tools-1.0.tar.zst" "$WORK/head/packages/other-1.0.tar.zst"
	head -c 64 /dev/urandom >"$WORK/head/packages/other-1.0.tar.zst.sig"
	req GET /v1/packages
	has 200 '[.packages[].name] == ["tools"] and (.bad | length) == 1 and (.bad[0].reason | length) > 0' || return 1
	rm "$WORK/head/packages/other-1.0.tar.zst"*
}
configuration() {
	req GET /v1/config
	has 200 "[.config[] | select(.key == \"https_port\")][0] | .value == \"$HTTPS\" and (.origin | endswith(\":2\"))" || return 1
	! grep -qi 'private key' "$WORK/body"
}
metrics() {
	req GET /v1/metrics
	said 200 'phx_journal_events_total' && grep -q '^phx_pool_nodes{pool="web",owner="cert:hpc"} [0-9]' "$WORK/body" &&
		grep -q '^phx_readonly 0' "$WORK/body"
}
events() {
	req GET '/v1/events?limit=2'
	has 200 '[.events[].seq] == [1, 2]' || return 1
	req GET '/v1/events?after=2&limit=1'
	has 200 '.events[0].seq == 3 and .events[0].by == "phxd"' || return 1
	local last before=$SECONDS
	last=$(seq_now)
	req GET "/v1/events?after=$last"
	has 200 ".events == [] and .last == $last" || return 1
	req GET "/v1/events?after=$last&wait=1"
	has 200 '.events == []' && [ $((SECONDS - before)) -ge 1 ] || return 1
	refused 400 'wait: must be a number' GET '/v1/events?wait=x' && refused 400 'after: must be' GET '/v1/events?after=-1' &&
		refused 400 'limit: must be' GET '/v1/events?limit=9999999'
}
members_that_are_asked_for() {
	[ "$(api '/v1/nodes?fields=state,name&names=c1,nobody')" = '{"nodes":[{"name":"c1","state":"'"$(api /v1/nodes/c1 | jq -r .state)"'"}]}' ] &&
		[ "$(api '/v1/nodes/c1?fields=name')" = '{"name":"c1"}' ] &&
		[ "$(api '/v1/nodes?names=c1&fields=name,pinned,power,unfit_for,drift&sparse=yes' | jq -c '.nodes[0] | keys')" = '["name","power"]' ] &&
		api /v1/nodes/c1 | jq -e 'keys_unsorted | .[-7:] == ["expected", "drift", "by_mac_alone", "monitor", "site", "turn", "agent_version"]' >/dev/null &&
		refused 400 "a node has no member 'nam'" GET '/v1/nodes?fields=state,nam' &&
		refused 400 "no member 'token'" GET '/v1/nodes/c1?fields=token' || return 1
	# nobody is shown it, whoever asks for it
	[ "$(api '/v1/nodes/c1?fields=name,token_sha256')" = '{"name":"c1"}' ] || return 1
	AS="setpriv --reuid=65534 --regid=65534 --clear-groups" req GET '/v1/nodes/c1?fields=name,serial,by_mac_alone,bmc'
	[ "$(cat "$WORK/body")" = '{"name":"c1"}' ]
}
# page by page all nodes come, each once
nodes_page_by_page() {
	local after=0 names= more=true n=0
	while [ "$more" = true ] && [ $n -lt 99 ]; do
		api "/v1/nodes?fields=name&limit=1&after=$after" >"$WORK/page"
		names="$names $(jq -r '.nodes[].name' "$WORK/page")"
		after=$(jq .last "$WORK/page") more=$(jq .more "$WORK/page") n=$((n + 1))
	done
	[ "$(echo $names)" = "$(api /v1/nodes | jq -r '[.nodes[].name] | join(" ")')" ]
}
events_wait_for_news() {
	local last
	last=$(seq_now)
	(sleep 0.3; post /v1/nodes '{"name": "late", "macs": ["02:00:00:00:01:01"]}' >/dev/null) &
	local child=$! before
	before=$(date +%s%N)
	req GET "/v1/events?after=$last&wait=20"
	wait $child
	has 200 '.events[0].kind == "node_add" and .events[0].node == "late"' && [ $(($(date +%s%N) - before)) -lt 5000000000 ] || return 1
	req GET '/v1/events?node=late'
	has 200 '[.events[].node] | unique == ["late"]' || return 1
	req POST /v1/actions/rm '{"nodes": "late"}'
	has 200 '.results[0].code == 0'
}
unknown_paths() {
	refused 404 '' GET /v1/nosuch && refused 404 '' GET / && refused 404 'there is no such action' POST /v1/actions/explode '{}' &&
		refused 405 '' DELETE /v1/status && refused 404 "there is no node 'c9'" GET /v1/nodes/c9 &&
		refused 404 'no such job' GET /v1/jobs/999 && refused 404 'no such job' GET /v1/jobs/x &&
		refused 404 '' GET /v1/nodes/../../etc/passwd
}

# ---- bad input ----

malformed_json() {
	local body
	for body in '{' '{"name": }' 'name' '{"name": "x",}' '{"a": 1} {' $'{"name": "\x80"}'; do
		refused 400 'JSON line 1' POST /v1/nodes "$body" || return 1
	done
	refused 400 'must be a JSON object' POST /v1/nodes '[]' && refused 400 'JSON line 1' POST /v1/actions/assign '7' &&
		refused 400 'duplicate' POST /v1/nodes '{"name": "a", "name": "b"}'
}
malformed_nodes() {
	refused 400 "is no node name" POST /v1/nodes '{"macs": ["02:00:00:00:09:01"]}' &&
		refused 400 "is no node name" POST /v1/nodes '{"name": "a/b", "macs": ["02:00:00:00:09:01"]}' &&
		refused 400 'give a MAC address, a serial number or a token' POST /v1/nodes '{"name": "x"}' &&
		refused 400 'is no MAC address' POST /v1/nodes '{"name": "x", "macs": ["02:00:00:00:09"]}' &&
		refused 400 'is no MAC address' POST /v1/nodes '{"name": "x", "macs": [5]}' &&
		refused 400 'must be a list' POST /v1/nodes '{"name": "x", "macs": "02:00:00:00:09:01"}' &&
		refused 400 'name: must be a text' POST /v1/nodes '{"name": 5, "macs": ["02:00:00:00:09:01"]}' &&
		refused 400 'hold: must be true or false' POST /v1/nodes '{"name": "x", "macs": ["02:00:00:00:09:01"], "hold": "yes"}' &&
		refused 400 'serail: is not known' POST /v1/nodes '{"name": "x", "serail": "1"}' &&
		refused 400 'bmc: ' POST /v1/nodes '{"name": "x", "serial": "1", "bmc": {"driver": "ipmi", "adress": "x"}}' &&
		refused 400 'bmc: driver: is missing' POST /v1/nodes '{"name": "x", "serial": "1", "bmc": {"address": "10.0.0.1"}}' &&
		refused 400 'bmc: address: ' POST /v1/nodes '{"name": "x", "serial": "1", "bmc": {"driver": "ipmi"}}' &&
		refused 400 'wol' POST /v1/nodes '{"name": "x", "serial": "1", "bmc": {"driver": "fire"}}' &&
		refused 400 'at most 63' POST /v1/nodes "{\"name\": \"$(printf 'n%.0s' {1..64})\", \"serial\": \"1\"}" &&
		refused 413 '' POST /v1/reload "{\"x\": \"$(head -c 70000 /dev/zero | tr '\0' s)\"}"
}
a_mac_belongs_to_one() {
	req POST /v1/nodes '{"name": "c1", "macs": ["02:00:00:00:00:01"], "serial": "SN1"}'
	has 200 '.node == "c1" and .seq > 0' || return 1
	refused 409 'belongs to node c1 already' POST /v1/nodes '{"name": "x", "macs": ["02-00-00-00-00-01"]}' &&
		refused 409 'with other MAC addresses' POST /v1/nodes '{"name": "c1", "macs": ["02:00:00:00:00:99"]}' || return 1
	local before
	before=$(seq_now)
	req POST /v1/nodes '{"name": "c1", "macs": ["020000000001"]}' # again is no mistake
	[ "$code" = 200 ] && [ "$(seq_now)" = "$before" ]
}
malformed_hostlists() {
	local list
	for list in 'c[1-' 'c[3-1]' 'c[a-b]' 'c1,,c2,' 'c]' 'c1,!'; do
		refused 400 'column' POST /v1/actions/drain "{\"nodes\": \"$list\"}" || return 1
	done
	refused 413 '' POST /v1/actions/drain '{"nodes": "c[1-99999999]"}' &&
		refused 404 'nosuch' POST /v1/actions/drain '{"nodes": "@nosuch"}' || return 1
	refused 400 'nodes: must be a list of nodes' POST /v1/actions/drain '{}' &&
		refused 400 'nodes: must be a list of nodes' POST /v1/actions/drain '{"nodes": 5}' &&
		refused 400 'at most 63 characters' POST /v1/actions/drain "{\"nodes\": \"$(printf 'n%.0s' {1..70})\"}" || return 1
	refused 400 '' GET '/v1/nodes?names=c%5B1-' && refused 400 '' GET '/v1/rules/match?nodes=c%5B'
}
malformed_orders() {
	refused 404 "there is no role 'webb'" POST /v1/actions/assign '{"nodes": "c1", "role": "webb"}' &&
		refused 404 "there is no role ''" POST /v1/actions/assign '{"nodes": "c1"}' &&
		refused 400 'nme: is not known here' POST /v1/certs/ab12/revoke '{"nme": "carol"}' &&
		refused 400 'name: must be a text' POST /v1/certs/ab12/revoke '{"name": 5}' &&
		refused 404 "there is no pool 'x'" POST /v1/actions/assign '{"nodes": "c1", "role": "web", "pool": "x"}' &&
		refused 400 'dry_run: must be true or false' POST /v1/actions/assign '{"nodes": "c1", "role": "web", "dry_run": "true"}' &&
		refused 400 'dryrun: is not known' POST /v1/actions/assign '{"nodes": "c1", "role": "web", "dryrun": true}' &&
		refused 400 'setup' POST /v1/actions/assign '{"nodes": "c1", "role": "web", "setup": "wipe"}' &&
		refused 400 'there are: noop, data, reimage, wipe' POST /v1/actions/assign '{"nodes": "c1", "role": "web", "setup": {"mode": "erase"}}' &&
		refused 400 'there are: auto, crypto' POST /v1/actions/wipe '{"nodes": "c1", "method": "fire"}' &&
		refused 400 'method' POST /v1/actions/wipe '{"nodes": "c1", "method": 3}' &&
		refused 400 'force: must be' POST /v1/actions/rm '{"nodes": "c1", "force": 1}' &&
		refused 400 'bmc: script: ' POST /v1/actions/bmc '{"nodes": "c1", "bmc": {"driver": "script", "script": "rel"}}' &&
		refused 400 'bmc: address' POST /v1/actions/bmc '{"nodes": "c1", "bmc": {"driver": "ipmi", "address": "-oops", "password_file": "/x"}}' &&
		refused 400 'kill_jobs: must be true, or a list' POST /v1/actions/rm '{"nodes": "c1", "kill_jobs": "all"}' &&
		refused 400 'kill_jobs: must be true, or a list' POST /v1/actions/rm '{"nodes": "c1", "kill_jobs": [1, "2"]}' &&
		refused 400 'kill_jobs: must be true, or a list' POST /v1/actions/rm '{"nodes": "c1", "kill_jobs": [-1]}' &&
		refused 400 'grace_s: must be a whole number' POST /v1/actions/drain '{"nodes": "c1", "grace_s": -1}' &&
		refused 400 'only one node' POST /v1/actions/accept '{"nodes": "c[1-2]", "name": "d"}' &&
		refused 400 'argv: a job needs a command' POST /v1/jobs '{"user": "nobody"}' &&
		refused 400 'argv: must be a list' POST /v1/jobs '{"user": "nobody", "argv": "true"}' &&
		refused 400 'argv: must be a list' POST /v1/jobs '{"user": "nobody", "argv": [1]}' &&
		refused 400 'nodes: must be a whole number' POST /v1/jobs '{"user": "nobody", "argv": ["true"], "nodes": "2"}' &&
		refused 400 'nodes: must be a whole number' POST /v1/jobs '{"user": "nobody", "argv": ["true"], "nodes": 0}' &&
		refused 400 'user: not known' POST /v1/jobs '{"user": "no-such-user", "argv": ["true"]}' &&
		refused 403 'jobs never run as root' POST /v1/jobs '{"argv": ["true"]}'
}
errors_are_told_by_node() {
	req POST /v1/actions/drain '{"nodes": "c1,c8"}'
	has 200 '.results[0].node == "c1" and .results[0].code < 0 and .results[1].node == "c8" and .results[1].code == -2 and
		.results[1].error == "there is no node '\''c8'\''"' || return 1
	req POST /v1/actions/power '{"nodes": "c1", "op": "explode"}'
	has 200 '.results[0].code == -22 and (.results[0].error | contains("on, off, soft, cycle"))' || return 1
	req POST /v1/actions/power '{"nodes": "c1", "op": "on"}'
	has 200 '.results[0].error | contains("has no BMC")'
}

# ---- agents and certificates ----

tls_needs_a_certificate() {
	local path
	for path in /v1/status /v1/nodes /v1/events /v1/config /v1/jobs /packages/tools-1.0.tar.zst; do
		tls GET $path
		[ "$code" = 403 ] || { echo "GET $path: $code"; return 1; }
	done
	for path in /v1/agent/hello /v1/agent/beat /v1/agent/result /v1/agent/inventory /v1/agent/disk-key/k /v1/nodes /v1/actions/assign /v1/reload; do
		tls POST $path -d '{}'
		[ "$code" = 403 ] || { echo "POST $path: $code"; return 1; }
	done
	tls PUT /v1/agent/jobs/1/output -d x
	[ "$code" = 403 ] || return 1
	curl -sS -m 5 "https://localhost:$HTTPS/site.cpio" -o /dev/null 2>/dev/null && return 1 # not the CA's
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$WORK/eve.key" -out "$WORK/eve.pem" \
		-subj /O=phoenix/OU=provider/CN=eve -days 1 2>/dev/null
	tls GET /v1/status --cert "$WORK/eve.pem" --key "$WORK/eve.key"
	[ "$code" = 403 ] || [ "$code" = 000 ]
}
plain_http_gives_nothing_secret() {
	local path
	for path in /v1/status /v1/nodes /v1/agent/disk-key/k /packages/tools-1.0.tar.zst /v1/config; do
		plain GET $path
		[ "$code" = 404 ] || { echo "$path: $code"; return 1; }
	done
	plain POST /v1/agent/enrol -d '{}'
	[ "$code" = 404 ] || return 1
	plain GET /site.cpio
	[ "$code" = 200 ] && grep -aq 'BEGIN CERTIFICATE' "$WORK/body" && ! grep -aq 'PRIVATE' "$WORK/body" || return 1
	# neither what roles deploy, nor that it is there: only what boots is for everybody
	plain GET /images/test/1/vmlinuz
	said 404 'no such image that boots' || return 1
	for path in /images/test/1/../../../pki/ca.key /images/test/1/%2e%2e%2f%2e%2e%2fjournal.db /images/test/1/nosuch \
		/images/..%2f../1/x /ipxe/../pki/site.key; do
		plain GET $path --path-as-is
		[ "${code:0:1}" = 4 ] || { echo "$path: $code"; return 1; }
	done
}
boot_scripts() {
	plain GET /boot/02:00:00:00:00:01
	said 200 '#!ipxe' || return 1
	plain GET /boot/02-00-00-00-77-77
	said 200 '#!ipxe' || return 1
	plain GET /boot/nonsense
	said 400 'no MAC address'
}
enrolment() {
	tls POST /v1/agent/enrol -d '{"macs": ["02:00:00:00:00:01"], "csr": "nonsense"}'
	said 400 'csr: ' || return 1
	openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$WORK/s.key" -out "$WORK/s.csr" -subj /CN=root 2>/dev/null
	jq -n --rawfile csr "$WORK/s.csr" '{csr: $csr, macs: ["02:00:00:00:55:55"], serial: "S", env: "deploy"}' >"$WORK/enrol.json"
	tls POST /v1/agent/enrol -d @"$WORK/enrol.json"
	has 202 '.state == "new" and (.node | test("^n-[0-9a-f]{8}$"))' || return 1
	local before guest
	guest=$(jq -r .node "$WORK/body")
	AS="setpriv --reuid=65534 --regid=65534 --clear-groups" req GET /v1/nodes
	[ "$code" = 200 ] && grep -qF "$guest" "$WORK/body" && ! grep -qE '5555' "$WORK/body" || return 1
	before=$(seq_now)
	tls POST /v1/agent/enrol -d @"$WORK/enrol.json"
	has 202 true && [ "$(seq_now)" = "$before" ] || return 1 # asking again is no event
	jq '.macs = []' "$WORK/enrol.json" >"$WORK/enrol2.json"
	tls POST /v1/agent/enrol -d @"$WORK/enrol2.json"
	said 400 'at least one MAC' || return 1
	jq '.env = "moon"' "$WORK/enrol.json" >"$WORK/enrol2.json"
	tls POST /v1/agent/enrol -d @"$WORK/enrol2.json"
	said 400 'environment' || return 1
	req POST /v1/actions/accept "{\"nodes\": \"$guest\", \"name\": \"guest1\"}"
	has 200 '.results[0].node == "guest1" and .results[0].changed' || return 1
	tls POST /v1/agent/enrol -d @"$WORK/enrol.json"
	has 200 '.node == "guest1" and (.cert | contains("BEGIN CERTIFICATE"))' || return 1
	jq -r .cert "$WORK/body" >"$WORK/s.pem"
	openssl x509 -in "$WORK/s.pem" -noout -subject | grep -q 'CN = guest1' || return 1 # not what the request asked for
	openssl verify -CAfile "$WORK/head/pki/ca.pem" "$WORK/s.pem" >/dev/null
}
a_node_speaks_for_itself_only() {
	local node=(--cert "$WORK/s.pem" --key "$WORK/s.key") path
	for path in /v1/status /v1/nodes /v1/nodes/c1 /v1/jobs /v1/events; do
		tls GET $path "${node[@]}"
		[ "$code" = 403 ] || { echo "$path: $code"; return 1; }
	done
	tls POST /v1/actions/quarantine -d '{"nodes": "c1"}' "${node[@]}"
	[ "$code" = 403 ] || return 1
	tls POST /v1/agent/disk-key/c1-1 -d '{}' "${node[@]}"
	said 403 'may not have this key' || return 1
	tls POST /v1/agent/beat -d '{"boot_id": "b", "env": "os"}' "${node[@]}"
	said 409 'say hello first' || return 1
	tls POST /v1/agent/hello -d '{"env": "os"}' "${node[@]}"
	said 400 'boot_id' || return 1
	tls POST /v1/agent/hello -d '{"boot_id": "b", "env": "os", "facts": {"cpus": "two"}}' "${node[@]}"
	said 400 'cpus: must be a whole number' || return 1
	tls POST /v1/agent/result -d '{"kind": "step", "id": 1, "epoch": 1}' "${node[@]}"
	said 409 'of the past' || return 1
	tls POST /v1/agent/result -d '{"kind": "step", "id": "x"}' "${node[@]}"
	said 400 'id: must be a positive number' || return 1
	tls PUT /v1/agent/jobs/1/output -d x "${node[@]}"
	[ "$code" = 404 ] || return 1
	tls GET /packages/tools-1.0.tar.zst "${node[@]}"
	said 404 'no order of this node names that package' || return 1
	tls GET /images/test/1/root.squashfs "${node[@]}"
	said 404 'no order of this node names that image' || return 1
	for path in /packages/..%2fpki%2fsite.key /packages/.hidden /packages/nosuch; do
		tls GET $path "${node[@]}"
		[ "${code:0:1}" = 4 ] || { echo "$path: $code"; return 1; }
	done
}
a_removed_node_is_nobody() {
	req POST /v1/actions/rm '{"nodes": "guest1"}'
	has 200 '.results[0].code == 0' || return 1
	tls POST /v1/agent/beat -d '{}' --cert "$WORK/s.pem" --key "$WORK/s.key"
	said 403 "not the node's present one"
}

# ---- orders ----

comes_up() {
	fake_start c1 1 --env os --image test --digest "$IMAGE_DIGEST"
	until_true 10 is c1 .state ready || return 1
	req GET '/v1/nodes?names=c1'
	has 200 '.nodes[0] | .up and .env == "os" and .facts.disks[0].id == "serial-FAKE-1" and .pool == "free" and .drift == false' || return 1
	req GET '/v1/nodes?names=@up'
	has 200 '[.nodes[].name] == ["c1"]' || return 1
	req GET '/v1/nodes?names=@state:ready%26@all'
	has 200 '[.nodes[].name] == ["c1"]'
}
# who only asks what ends is not sent the plans of all others
dry_run_of_what_ends() {
	req POST /v1/actions/drain '{"nodes": "c1", "dry_run": true, "ends_only": true}'
	has 200 '.results == []' || return 1
	req POST /v1/actions/assign '{"nodes": "c1", "role": "web", "dry_run": true, "ends_only": true}'
	has 200 '(.results | length == 1) and any(.results[0].plan.steps[]; .kind == "image")'
}
dry_run_does_nothing() {
	local before
	before=$(seq_now)
	req POST /v1/actions/assign '{"nodes": "c1", "role": "web", "dry_run": true}'
	has 200 '.results[0] | .code == 0 and .changed and ([.plan.steps[].kind] | join(" ")) == "kexec image enter activate start health join" and
		.plan.expected_ms > 0 and .plan.reason != ""' || return 1
	req POST /v1/actions/assign '{"nodes": "c1", "role": "web", "setup": {"mode": "wipe", "method": "secure-erase"}, "dry_run": true}'
	has 200 '.results[0] | .code == -95 and (.error | contains("it can: discard, overwrite")) and .plan == null' || return 1
	# what has no steps is tried too: no promise that is not kept
	req POST /v1/actions/rm '{"nodes": "c1", "dry_run": true}'
	has 200 '.results[0] | .code == 0 and .changed and .plan == null and .jobs == []' || return 1
	req POST /v1/actions/power '{"nodes": "c1", "op": "off", "dry_run": true}'
	has 200 '.results[0] | .code == -113 and (.error | contains("has no BMC"))' || return 1
	req POST /v1/actions/drain '{"nodes": "c1", "dry_run": true}'
	has 200 '.results[0] | .code == 0 and (.plan.steps | length) == 0 and .plan.waits' || return 1
	[ "$(seq_now)" = "$before" ] && is c1 .state ready
}
rm_of_a_node_in_use_is_no_dry_promise() {
	req POST /v1/actions/rm '{"nodes": "c1", "dry_run": true}'
	has 200 '.results[0] | .code == -1 and (.error | contains("release it first"))' && is c1 .state active
}
assigns() {
	req POST /v1/actions/assign '{"nodes": "c1", "role": "batch"}'
	has 200 '.results[0] | .code == 0 and .changed and .epoch > 0' && until_true 10 idle c1 active batch || return 1
	local before epoch
	before=$(seq_now)
	epoch=$(field c1 .plan.epoch)
	req POST /v1/actions/assign '{"nodes": "c1", "role": "batch"}'
	has 200 ".results[0] | .code == 0 and .changed == false and .epoch == $epoch" && [ "$(seq_now)" = "$before" ]
}
counts() {
	req GET /v1/status
	has 200 '.up == 1 and .states.active == 1 and ([.pools[] | select(.name == "batch")][0] | .nodes == 1 and .hosts == "c1")'
}
matches_rules() {
	echo 'rules = ( { role = "vault"; when = [ "cpus >= 64" ]; }, { role = "web"; when = [ "name ~ c*" ]; } );' >"$WORK/etc/roles/rules.conf"
	req POST /v1/reload
	has 200 '.errors == []' || return 1
	req GET '/v1/rules/match?nodes=c1'
	has 200 '.matches[0] | .role == "web" and (.reason | startswith("rules.conf:1: name")) '
}
drains_and_resumes() {
	req POST /v1/actions/drain '{"nodes": "c1", "text": "new fan"}'
	has 200 '.results[0].code == 0' && until_true 10 idle c1 maintenance batch && is c1 .reason 'new fan' || return 1
	req POST /v1/actions/resume '{"nodes": "c1"}'
	has 200 '.results[0].changed' && is c1 .state active
}
a_step_that_fails_is_tried_again() {
	agent_stop c1
	fake_start c1 1 --fail stop --times 1
	req POST /v1/actions/assign '{"nodes": "c1", "role": "web"}'
	has 200 '.results[0].code == 0' && until_true 15 idle c1 active web || return 1
	[ "$(field c1 '[.plan.steps[] | select(.kind == "stop")][0].attempt')" = 2 ] &&
		grep -q 'step stop, attempt 1: it was told to fail' <(api '/v1/events?node=c1' | jq -r '.events[].text')
}
reason_has() { field "$1" .reason | grep -qF "$2"; }
a_step_that_never_works_changes_nothing() {
	agent_stop c1
	fake_start c1 1 --fail prefetch --times 99
	req POST /v1/actions/assign '{"nodes": "c1", "role": "batch"}'
	has 200 '.results[0].code == 0' && until_true 20 idle c1 active web &&
		until_true 20 reason_has c1 'hand-over given up: step prefetch failed 3 times' || return 1
	agent_stop c1
	fake_start c1 1
	is c1 .pool web && until_true 5 is c1 .healthy true
}
quarantine_is_left_by_resume_only() {
	req POST /v1/actions/quarantine '{"nodes": "c1", "text": "smells odd"}'
	has 200 '.results[0].code == 0' && is c1 .state quarantined && is c1 .pool '' || return 1
	plain GET /boot/02:00:00:00:00:01
	said 200 'smells odd' || return 1
	req POST /v1/actions/assign '{"nodes": "c1", "role": "web"}'
	has 200 '.results[0] | .code == -1 and (.error | contains("resume it first"))' || return 1
	req POST /v1/actions/resume '{"nodes": "c1"}'
	has 200 '.results[0].code == 0' && until_true 15 idle c1 ready ''
}
wipes() {
	req POST /v1/actions/assign '{"nodes": "c1", "role": "web"}'
	has 200 '.results[0].code == 0' && until_true 15 idle c1 active web || return 1
	req POST /v1/actions/wipe '{"nodes": "c1", "method": "overwrite"}'
	has 200 '.results[0].code == 0' && until_true 15 idle c1 ready '' && is c1 .dirty false || return 1
	req GET /v1/nodes/c1/erasures
	has 200 '.erasures | length == 1 and .[0].disk == "serial-FAKE-1" and .[0].method == "overwrite" and .[0].verified_bytes == 1073741824 and
		(.[0].signature | length) == 128'
}

# ---- power, by a script ----

bmc_script() {
	mkdir "$WORK/bmc"
	cat >"$WORK/bmc/script" <<-END
		#!/bin/sh
		p=$WORK/\$2/power
		case \$1 in
		status) read now <"\$p" 2>/dev/null || now=on; echo "\$now" ;;
		on|off) echo "\$1" >"\$p.new"; mv "\$p.new" "\$p" ;;
		soft) [ -e "\$p.deaf" ] || { echo off >"\$p.new"; mv "\$p.new" "\$p"; } ;;
		cycle|reset) echo off >"\$p"; sleep 0.3; echo on >"\$p" ;;
		esac
	END
	chmod 755 "$WORK/bmc/script"
}
power_is_switched() {
	req POST /v1/actions/bmc "{\"nodes\": \"c1\", \"bmc\": {\"driver\": \"script\", \"script\": \"$WORK/bmc/script\"}}"
	has 200 '.results[0] | .code == 0 and .changed' || return 1
	req POST /v1/actions/power '{"nodes": "c1", "op": "off", "dry_run": true}'
	has 200 '.results[0] | .code == 0 and .serves == null' || return 1
	req POST /v1/actions/power '{"nodes": "c1", "op": "off"}'
	has 200 '.results[0].code == 0' && until_true 10 is c1 .power off && until_true 10 is c1 .up false || return 1
	req POST /v1/actions/power '{"nodes": "c1", "op": "status"}'
	has 200 '.results[0].code == 0' || return 1
	req GET "/v1/events?after=$(($(seq_now) - 20))"
	has 200 '[.events[] | select(.kind == "power").event | .op, .text] | .[-4:] == ["off", null, "status", null]'
}
a_node_that_is_off_is_started() {
	req POST /v1/actions/assign '{"nodes": "c1", "role": "web"}'
	has 200 '.results[0].code == 0' && until_true 20 idle c1 active web &&
		[ "$(field c1 '.plan.steps[0].kind')" = boot ] && is c1 .plan.tier power
}
# one key of it: the others stay, and the whole is looked at
one_key_of_a_bmc_is_changed() {
	req POST /v1/actions/bmc '{"nodes": "c1", "keep": true, "bmc": {"mac": "02:00:00:00:00:09"}}'
	has 200 '.results[0] | .code == 0 and .changed' && is c1 .bmc.driver script && is c1 .bmc.mac 02:00:00:00:00:09 &&
		is c1 .bmc.script "$WORK/bmc/script" || return 1
	req POST /v1/actions/bmc '{"nodes": "c1", "keep": true, "bmc": {"script": "none"}}'
	has 200 '.results[0] | .code == -22 and (.error | contains("full path"))' && is c1 .bmc.script "$WORK/bmc/script"
}
identity_is_edited() {
	req POST /v1/actions/edit '{"nodes": "c1", "macs": ["02:00:00:00:00:01", "02:00:00:00:00:77"], "serial": "SN77"}'
	has 200 '.results[0] | .code == 0 and .changed' && is c1 '(.macs | length)' 2 && is c1 .serial SN77 || return 1
	req POST /v1/actions/edit '{"nodes": "c1", "ip": "127.0.0.9"}'
	has 200 '.results[0] | .code == -1 and (.error | contains("is active, and has its address in use"))' || return 1
	req POST /v1/actions/edit '{"nodes": "c1,c2", "serial": "SN77"}'
	[ "$code" = 400 ] || [ "$code" = 404 ] || return 1
	req POST /v1/actions/edit '{"nodes": "c1", "macs": ["x"]}'
	said 400 'is no MAC address' || return 1
	req POST /v1/actions/edit '{"nodes": "c1", "macs": ["02:00:00:00:00:01"], "serial": ""}'
	has 200 '.results[0] | .code == 0' && is c1 '(.macs | length)' 1
}
# a system that does not end is left on, and what to order then is told; one that ends is seen off
soft_off_is_never_hard() {
	req POST /v1/actions/power '{"nodes": "c1", "op": "soft", "dry_run": true, "ends_only": true}'
	has 200 '.results[0] | .code == 0 and .serves == "active"' || return 1
	touch "$WORK/c1/power.deaf"
	req POST /v1/actions/power '{"nodes": "c1", "op": "soft"}'
	has 200 '.results[0].code == 0' && until_true 20 is c1 '(.soft_failed[:39])' 'its system did not end within 10 s; phx' &&
		is c1 .power on && is c1 .up true && [ "$(cat "$WORK/c1/power")" != off ] || return 1
	rm "$WORK/c1/power.deaf"
	timeout 60 "$BUILD/bin/phx" node power c1 off --yes --wait 2>"$WORK/soft.err" || { cat "$WORK/soft.err"; return 1; }
	[ "$(cat "$WORK/c1/power")" = off ] && is c1 .power off && is c1 .soft_failed "" || return 1
	req POST /v1/actions/rebuild '{"nodes": "c1"}'
	has 200 '.results[0].code == 0' && until_true 20 idle c1 active web
}

# ---- persons ----

as_nobody() { AS="setpriv --reuid=65534 --regid=65534 --clear-groups"; }
unknown_names_are_told() {
	req GET '/v1/events?node=nosuch'
	said 404 "there is no node 'nosuch'" || return 1
	req GET '/v1/jobs?re=nosuch'
	said 404 'there is no such RE' || return 1
	req GET /v1/nodes/nosuch/erasures
	said 404 "there is no node 'nosuch'" || return 1
	req GET /v1/res/nosuch/history
	said 404 'no history of one' || return 1
	phx events --node nosuch >"$WORK/out" 2>&1
	[ $? = 64 ] && phx re history nosuch >"$WORK/out" 2>&1
	[ $? = 64 ] && phx events --node c1 | grep -q 'c1: '
}
an_event_is_about_its_node() {
	req GET '/v1/events?after=0&limit=1000'
	has 200 '[.events[] | .node as $n | .text as $t | select($n != "" and ([.notes[] | select(.text == $t and .node != "" and .node != $n)] | length) > 0)] == []'
}
# those that the journal's index finds, and those of a walk through all
events_of_a_node_are_all_of_it() {
	local node
	req GET '/v1/events?after=0&limit=1000'
	cp "$WORK/body" "$WORK/all"
	for node in $(jq -r '[.events[] | .node, .notes[].node | select(. != "")] | unique | .[]' "$WORK/all"); do
		req GET "/v1/events?node=$node&after=0&limit=1000"
		[ "$(jq -c '[.events[].seq]' "$WORK/body")" = "$(jq -c --arg n "$node" \
			'[.events[] | select(.node == $n or any(.notes[]; .node == $n)) | .seq]' "$WORK/all")" ] ||
			{ echo "$node: $(jq -c '[.events[].seq]' "$WORK/body")"; return 1; }
	done
}
users_read_and_submit() {
	local path
	: >"$WORK/body" && chmod 666 "$WORK/body" && as_nobody
	for path in /v1/status /v1/nodes /v1/nodes/c1 /v1/roles /v1/roles/web /v1/images /v1/events /v1/jobs /v1/metrics; do
		req GET $path
		[ "$code" = 200 ] || { AS=; echo "GET $path: $code"; return 1; }
	done
	req POST /v1/jobs '{"argv": ["true"], "nodes": 1, "hold": true}'
	AS=
	has 200 '.id > 0'
}
# One request waits for the end of a job, and is answered then; nobody learns of another's end by when he is refused.
what_ends_is_waited_for() {
	local id pid
	req POST /v1/jobs '{"argv": ["true"], "nodes": 1, "hold": true, "user": "daemon"}'
	id=$(jq .id "$WORK/body")
	api "/v1/jobs/$id?wait=1" | jq -e '.state == "queued"' >/dev/null || return 1
	api "/v1/jobs/$id?wait=20" >"$WORK/waited" 2>&1 &
	pid=$!
	as_nobody
	req GET "/v1/jobs/$id?wait=60" # 20 s is as long as req waits
	AS=
	said 404 'there is no such job' && kill -0 $pid && [ ! -s "$WORK/waited" ] || { echo "nobody: $code"; return 1; }
	post "/v1/jobs/$id/cancel" >/dev/null
	wait $pid && jq -e '.state == "cancelled"' "$WORK/waited" >/dev/null || { cat "$WORK/waited"; return 1; }
	refused 400 'wait: must be' GET "/v1/jobs/$id?wait=61" && refused 400 'until: must be' GET '/v1/res/none?wait=1&until=whenever' &&
		refused 404 "there is no RE 'none'" GET '/v1/res/none?wait=60&until=serves'
}
# Who hangs up is held no longer: what he asked for counts as his until then, and here for most of a minute.
who_hangs_up_is_forgotten() {
	local id i held=1 pids=()
	: >"$WORK/body" && chmod 666 "$WORK/body" && as_nobody
	req POST /v1/jobs '{"argv": ["true"], "nodes": 1, "hold": true}'
	id=$(jq .id "$WORK/body")
	for i in {1..30}; do
		$AS curl -s -o /dev/null --unix-socket "$PHX_SOCKET" "http://unix/v1/jobs/$id?wait=60" &
		pids+=($!)
		[ "$i" -ge 16 ] && req GET "/v1/jobs/$id?wait=1" && said 429 'you have 16' && held=0 && break
	done
	kill "${pids[@]}"
	wait "${pids[@]}" 2>/dev/null
	[ $held = 0 ] && until_true 8 one_more_is_held "$id" || { AS= && cat "$WORK/body"; return 1; }
	AS=
	post "/v1/jobs/$id/cancel" >/dev/null
}
one_more_is_held() { req GET "/v1/jobs/$1?wait=1" && has 200 '.state == "queued"'; }
# by what a machine is known is for the resource provider: who has it could claim to be the machine
users_do_not_see_hardware() {
	local path serial
	serial=$(api /v1/nodes/c1 | jq -r .serial)
	[ -n "$serial" ] && api /v1/nodes | grep -qF "$serial" && api /v1/nodes/c1 | grep -qF 02:00:00:00:00:01 &&
		api /v1/nodes/c1 | jq -e '(.facts.disks[0].id | length > 0) and has("bmc") and (.key_fp | length > 0)' >/dev/null || return 1
	as_nobody
	for path in /v1/nodes /v1/nodes/c1 /v1/nodes?names=c1 '/v1/events?after=0' /v1/jobs /v1/balance /v1/metrics /v1/images /v1/roles /v1/status; do
		req GET "$path"
		[ "$code" = 200 ] && ! grep -qiE "02:00:00:00:00:0|\"macs\"|\"serial\"|\"uuid\"|\"bmc\"|key_fp|key_id|$serial\"" "$WORK/body" ||
			{ AS=; echo "GET $path:" && cut -c1-500 "$WORK/body"; return 1; }
	done
	req GET /v1/nodes/c1
	has 200 '.name == "c1" and .state == "active" and (.facts.cpus > 0) and (.facts.disks[0].size_bytes > 0)' || { AS=; return 1; }
	req GET /v1/rules/match # its reason tells facts
	AS=
	said 403 'not permitted'
}
users_do_not_act() {
	local action
	as_nobody
	for action in accept assign release rebuild wipe drain resume quarantine power rm bmc nosuch; do
		req POST /v1/actions/$action '{"nodes": "c1", "role": "web", "force": true}'
		said 403 'not permitted' || { AS=; echo "$action: $code"; return 1; }
	done
	for action in /v1/nodes /v1/reload; do
		req POST $action '{"name": "x", "serial": "1"}'
		said 403 'not permitted' || { AS=; return 1; }
	done
	req GET /v1/nodes/c1/erasures
	[ "$code" = 403 ] || { AS=; return 1; }
	req POST /v1/jobs '{"argv": ["true"], "user": "daemon"}'
	AS=
	said 403 'only the resource provider submits for somebody else' && is c1 .state active
}
users_see_their_own_jobs() {
	local other
	req POST /v1/jobs '{"argv": ["true"], "nodes": 7, "user": "daemon", "hold": true}'
	other=$(jq .id "$WORK/body")
	as_nobody
	req GET /v1/jobs
	has 200 '[.jobs[].user] | unique == ["nobody"]' || { AS=; return 1; }
	req GET "/v1/jobs/$other"
	[ "$code" = 404 ] || { AS=; return 1; }
	req POST "/v1/jobs/$other/cancel"
	[ "$code" = 404 ] || { AS=; return 1; }
	AS=
	req GET "/v1/jobs/$other"
	has 200 '.state == "queued" and .reason == "held back until it is let go"' || return 1
	refused 400 'lst: is not known here' POST "/v1/jobs/$other/cancel" '{"lst": 9}' &&
		refused 400 'last: is not known here' POST "/v1/jobs/$other/release" '{"last": 9}' || return 1
	req POST /v1/jobs '{"argv": ["true"], "nodes": 7, "user": "daemon"}'
	said 400 'outside of the REs runs jobs' || return 1
	req POST "/v1/jobs/$other/cancel"
	has 200 '.changed' || return 1
	req POST "/v1/jobs/$other/cancel"
	has 200 '.changed == false'
}
a_job_runs() {
	local id
	req POST /v1/actions/assign '{"nodes": "c1", "role": "batch"}'
	until_true 15 idle c1 active batch || return 1
	req POST /v1/jobs '{"argv": ["true"], "user": "nobody"}'
	id=$(jq .id "$WORK/body")
	phx events -n 20 | grep -q "job submitted: job $id, nodes 1, user nobody" || return 1
	until_true 10 sh -c "curl -sS --unix-socket $PHX_SOCKET http://unix/v1/jobs/$id | jq -e '.state == \"done\" and .parts[0].node == \"c1\"'" || return 1
	[ "$(effects c1 "^JOB $id\$")" = 1 ] || return 1
	req GET "/v1/jobs/$id/output"
	[ "$code" = 200 ] && [ ! -s "$WORK/body" ]
}
# what came of it is written once, also where it comes late, and not anew by who has run it
an_ended_jobs_output_stays() {
	local id c1=(--cert "$WORK/c1/cert.pem" --key "$WORK/c1/key.pem")
	id=$(api /v1/jobs | jq '[.jobs[] | select(.parts[0].node == "c1" and .state == "done")] | last | .id')
	tls PUT "/v1/agent/jobs/$id/output?run=0" -d late "${c1[@]}"
	[ "$code" = 200 ] || return 1
	tls PUT "/v1/agent/jobs/$id/output?run=0" -d forged "${c1[@]}"
	said 409 'over' || return 1
	tls PUT "/v1/agent/jobs/$id/output?run=1" -d forged "${c1[@]}"
	[ "$code" = 404 ] || return 1
	req GET "/v1/jobs/$id/output"
	said 200 late && ! grep -q forged "$WORK/body"
}

# ---- reloading, restarting, a full disk ----

a_bad_role_is_told_and_the_old_one_stays() {
	local good=$WORK/etc/roles/web.conf
	cp "$good" "$WORK/web.good"
	sed -i 's/image = "test"/image = "nosuch"/' "$good"
	: >"$WORK/phxd.log"
	kill -HUP "$HEAD"
	until_true 10 grep -q 'web.conf:1: .*nosuch' "$WORK/phxd.log" || return 1
	req GET /v1/roles/web
	has 200 '.image == "test"' || return 1
	req POST /v1/reload
	has 200 '(.errors | length) == 1 and (.errors[0] | contains("web.conf:1")) and .roles == 3' || return 1
	echo 'pool = ' >"$good"
	req POST /v1/reload
	has 200 '.errors | length == 1' || return 1
	sed 's/drain_grace = "1s"/drain_grace = "2s"/' "$WORK/web.good" >"$good"
	kill -HUP "$HEAD"
	until_true 10 sh -c "curl -sS --unix-socket $PHX_SOCKET http://unix/v1/roles/web | jq -e '.drain_grace_s == 2'"
}
a_role_in_use_stays() {
	mv "$WORK/etc/roles/batch.conf" "$WORK/batch.conf"
	req POST /v1/reload
	has 200 '.errors | length == 1 and (.[0] | contains("still used by node c1"))' || return 1
	mv "$WORK/batch.conf" "$WORK/etc/roles/batch.conf"
	rm "$WORK/etc/roles/vault.conf" "$WORK/etc/roles/rules.conf"
	req POST /v1/reload
	has 200 '.errors == [] and .roles == 2'
}
picture() {
	api /v1/nodes | jq -S '[.nodes[] | del(.monitor)]'
	api /v1/jobs | jq -S .
	api /v1/roles | jq -S .
	api /v1/nodes/c1/erasures | jq -S .
	api /v1/status | jq -S '.pools'
}
a_restart_keeps_everything() {
	picture >"$WORK/before"
	if [ "${1:-stop}" = kill ]; then head_kill; else head_stop; fi
	head_start
	picture >"$WORK/after"
	cmp "$WORK/before" "$WORK/after"
}
a_second_head_is_refused() {
	timeout 10 "$BUILD/bin/phxd" --config "$WORK/etc/phoenix.conf" >"$WORK/second" 2>&1
	[ $? = 1 ] && grep -q 'another phxd has it open' "$WORK/second" && api /v1/status >/dev/null
}
a_full_disk_refuses_and_loses_nothing() {
	local i
	picture >"$WORK/before"
	cat /dev/zero >"$WORK/head/ballast" 2>/dev/null
	for i in 1 2 3 4 5 6 7 8 9; do # what the journal has already taken from the disk may hold a few more
		req POST /v1/nodes "{\"name\": \"full$i\", \"serial\": \"F$i\"}"
		[ "$code" = 200 ] || break
	done
	# an agent may have told something first: then it is known already
	said 507 'journal cannot be written' || said 507 'read-only: journal' || return 1
	req GET /v1/status
	has 200 '.readonly | contains("full")' || return 1
	req POST /v1/actions/drain '{"nodes": "c1"}'
	has 200 '.results[0] | .code == -30 and (.error | startswith("read-only: journal"))' || return 1
	req GET "/v1/nodes/full$i"
	[ "$code" = 404 ] || return 1 # what was refused is not there
	req GET /v1/metrics
	said 200 'phx_readonly 1'
}
# ordered ACTION JSON: it was taken
ordered() { action "$@" | grep -q '"code":0'; }
freed_it_works_again() {
	rm "$WORK/head/ballast"
	writable() { api /v1/status | jq -r .readonly | grep -qx ''; }
	until_true 10 writable && until_true 10 ordered drain '{"nodes": "c1"}' && until_true 10 idle c1 maintenance batch || return 1
	req POST /v1/actions/resume '{"nodes": "c1"}'
	req GET /v1/status
	has 200 '.readonly == ""' || return 1
	for i in 1 2 3 4 5 6 7 8 9; do post /v1/actions/rm "{\"nodes\": \"full$i\"}" >/dev/null; done
	picture | grep -v '_ms"\|"seq"\|"epoch"\|"id"\|reason' >"$WORK/after"
	jq -e . >/dev/null <<<"$(api /v1/nodes)" && is c1 .state active && is c1 .role batch
}
fills_up_while_steps_run() {
	agent_stop c1
	cat /dev/zero >"$WORK/head/ballast" 2>/dev/null
	fake_start c1 1
	sleep 4 # silent for longer than missing_after: what cannot be journalled is told later
	rm "$WORK/head/ballast"
	until_true 15 is c1 .up true || return 1
	until_true 10 ordered assign '{"nodes": "c1", "role": "web"}' && until_true 20 idle c1 active web
}
silence_on_a_full_disk_is_told_later() {
	cat /dev/zero >"$WORK/head/ballast" 2>/dev/null
	for i in 1 2 3 4 5 6 7 8 9; do post /v1/nodes "{\"name\": \"more$i\", \"serial\": \"M$i\"}" >/dev/null; done
	agent_stop c1
	sleep 4
	rm "$WORK/head/ballast"
	until_true 10 is c1 .up false || return 1
	fake_start c1 1
	until_true 10 is c1 .up true
}
ends_cleanly() {
	kill "$HEAD"
	wait "$HEAD"
	local status=$?
	HEAD=
	[ $status = 0 ] && [ ! -S "$PHX_SOCKET" ]
}

small_disk || { echo "skip phxd_api: no tmpfs can be mounted"; exit 0; }
# the script says what the machine c1 does
mkdir "$WORK/c1" && for_hands "$WORK/c1"
head_conf "bmc_dir = \"$WORK/bmc\"; hands_paths = [ \"$WORK/c1\" ];"
bmc_script
head_start
package tools 1.0 'echo tools'
roles_init
post /v1/reload >/dev/null
code=
a_kill_keeps_everything() { a_restart_keeps_everything kill; }
# some of them, in this order: tests/system/phxd_api.sh NAME...
[ $# -gt 0 ] || set -- status roles images_and_packages configuration metrics events events_wait_for_news unknown_paths malformed_json \
	malformed_nodes a_mac_belongs_to_one malformed_hostlists malformed_orders errors_are_told_by_node tls_needs_a_certificate \
	plain_http_gives_nothing_secret boot_scripts enrolment a_node_speaks_for_itself_only a_removed_node_is_nobody comes_up \
	dry_run_does_nothing dry_run_of_what_ends assigns rm_of_a_node_in_use_is_no_dry_promise counts matches_rules drains_and_resumes a_step_that_fails_is_tried_again \
	a_step_that_never_works_changes_nothing quarantine_is_left_by_resume_only wipes power_is_switched \
	a_node_that_is_off_is_started one_key_of_a_bmc_is_changed identity_is_edited soft_off_is_never_hard unknown_names_are_told an_event_is_about_its_node events_of_a_node_are_all_of_it users_read_and_submit users_do_not_see_hardware members_that_are_asked_for nodes_page_by_page users_do_not_act users_see_their_own_jobs what_ends_is_waited_for who_hangs_up_is_forgotten a_job_runs an_ended_jobs_output_stays \
	a_bad_role_is_told_and_the_old_one_stays a_role_in_use_stays a_restart_keeps_everything a_kill_keeps_everything \
	a_second_head_is_refused a_full_disk_refuses_and_loses_nothing freed_it_works_again fills_up_while_steps_run \
	silence_on_a_full_disk_is_told_later ends_cleanly
for t in "$@"; do check "$t" "$t"; done
exit "$FAILED"
