#!/bin/bash
# A stranger on the network tries every door: each route of the table without a certificate, over HTTPS and plain HTTP, with bodies that
# are right, wrong and none; names of other machines, paths that leave their directory, headers that say who he is, and requests that
# are two. Nothing of a known node changes, nothing is kept, and what he may read is what firmware needs to boot.
. "$(dirname "$0")/../trust.bash"

TLS=https://127.0.0.1:$HTTPS PLAIN=http://127.0.0.1:$HTTP
# METHOD URL [ARGUMENTS...]
knock() { curl -sS -k -m 20 --path-as-is -X "$1" "$2" -w '\n%{http_code}' "${@:3}" >"$WORK/answer" 2>/dev/null </dev/null; tail -n 1 "$WORK/answer"; }
# what is known of nodes, but for what they measure
nodes_now() { api /v1/nodes | jq -S 'del(.nodes[].monitor)'; }
# what the head measures by itself grows meanwhile, and once a minute an anchor is kept, which the vault's log names
kept_now() {
	(cd "$WORK/head" && find . -type f ! -name 'journal.*' ! -name 'timeline.*' ! -name 'starts.*' ! -name anchors ! -name vault.log -printf '%p %s\n' | sort && grep -vc ' sign anchor' pki/vault.log)
}
# nothing_changes COMMAND...: not a node, not a file, not an event
nothing_changes() {
	local nodes files seq
	nodes=$(nodes_now) files=$(kept_now) seq=$(seq_now)
	"$@" || return 1
	[ "$(nodes_now)" = "$nodes" ] || { echo "a node changed"; diff <(echo "$nodes") <(nodes_now); return 1; }
	[ "$(kept_now)" = "$files" ] || { diff <(echo "$files") <(kept_now); return 1; }
	[ "$(seq_now)" = "$seq" ] || { api "/v1/events?after=$seq" | jq -c '.events[] | [.kind, .by, .text]'; return 1; }
}

# a path of the table, with what there is in place of its stars
path_of() { sed -e "s,/jobs/\*,/jobs/$JOB,; s,^/v1/res/\*,/v1/res/closed,; s,^/v1/actions/\*,/v1/actions/wipe,; s,\*\*,x,; s,\*,n1,g" <<<"$1"; }
shut() { # METHOD PATH [BODY]
	local url code
	for url in "$TLS" "$PLAIN"; do
		code=$(knock "$1" "$url$2" ${3+--data-binary "$3"})
		TRIED=$((TRIED + 1))
		[[ $code =~ ^(403|404|405)$ ]] || { echo "$1 $url$2 '${3:-}': $code $(head -c 300 "$WORK/answer")"; return 1; }
	done
}
every_route_is_shut() {
	local method route via right body path
	TRIED=0
	"$BUILD/bin/phxd" --rights >"$WORK/rights" || return 1
	while IFS=$'\t' read -r method route via right _; do
		[ "$method" != method ] && [ "$right" != public ] || continue
		path=$(path_of "$route")
		if [ "$method" = GET ]; then
			shut GET "$path" || return 1
			continue
		fi
		for body in '' '[' '{"nodes": "n1", "node": "n1", "name": "n1", "boot_id": "x", "env": "os", "id": 1, "epoch": 1, "kind": "step"}'; do
			shut "$method" "$path" "$body" || return 1
		done
	done <"$WORK/rights"
	echo "    $TRIED requests"
	[ $TRIED -gt 100 ]
}
# who is asked for his name in a header is asked for nothing here
words_are_no_certificate() {
	local header
	for header in 'X-Forwarded-For: 127.0.0.1' 'X-Remote-User: root' 'X-SSL-Client-Verify: SUCCESS' 'X-Client-Cert: CN=n1' 'Authorization: Basic cm9vdDo=' \
		'Host: unix' 'Cookie: user=root'; do
		[ "$(knock GET "$TLS/v1/nodes" -H "$header")" = 403 ] && [ "$(knock POST "$TLS/v1/agent/beat" -H "$header" -d '{}')" = 403 ] || { echo "$header: $(cat "$WORK/answer")"; return 1; }
	done
}

# ---- what is public ----

is_file() { [ "$(knock GET "$1")" = 200 ] && head -c -4 "$WORK/answer" | cmp -s - "$2"; } # URL FILE
firmware_gets_what_boots() {
	is_file "$PLAIN/images/deploy/1/vmlinuz" "$WORK/head/images/deploy/1/vmlinuz" && is_file "$PLAIN/site.cpio" "$WORK/head/site.cpio" &&
		[ "$(knock GET "$PLAIN/boot/02:00:00:00:00:01")" = 200 ] && grep -q '^#!ipxe' "$WORK/answer"
}
and_no_image_of_a_tenant() {
	local url path
	for url in "$PLAIN" "$TLS"; do
		for path in test/1/vmlinuz test/1/root.ext4.zst test/1/root.squashfs test/1/manifest.conf; do
			[ "$(knock GET "$url/images/$path")" = 404 ] || { echo "$url/images/$path: $(tail -n 1 "$WORK/answer")"; return 1; }
		done
	done
}
# of a system that brings its own kernel these two files boot, and no other is given away
of_a_system_what_boots() {
	local url path
	for url in "$PLAIN" "$TLS"; do
		is_file "$url/images/own/1/vmlinuz" "$WORK/head/images/own/1/vmlinuz" &&
			is_file "$url/images/own/1/modules.zst" "$WORK/head/images/own/1/modules.zst" || return 1
		for path in root.ext4.zst root.squashfs manifest.conf; do
			[ "$(knock GET "$url/images/own/1/$path")" = 404 ] || { echo "$url/images/own/1/$path: $(tail -n 1 "$WORK/answer")"; return 1; }
		done
	done
}
and_no_secret() { ! strings -a "$WORK/head/site.cpio" | grep -q 'PRIVATE'; }
and_nothing_outside() {
	local path
	echo outside >"$WORK/head/images/outside" && echo outside >"$WORK/head/images/deploy/1/other"
	ln -s ../../../pki/ca.key "$WORK/head/images/deploy/1/initrd" || return 1
	for path in /images/deploy/1/../../../pki/ca.key /images/deploy/1/%2e%2e/%2e%2e/%2e%2e/pki/ca.key /images/deploy/1/..%2f..%2f..%2fpki%2fca.key \
		/images/deploy/../outside /images/../pki/ca.key /images/deploy/1/initrd /images/deploy/1/other /images/deploy/1//vmlinuz%00.x /images/deploy/1/%00 /ipxe/../pki/site.key \
		/ipxe/%2e%2e%2fpki%2fsite.key /ipxe/..%5cpki%5csite.key /site.cpio/../pki/ca.key //etc/passwd /../../../../etc/passwd /packages/tools-1.tar.zst; do
		[[ $(knock GET "$PLAIN$path") =~ ^(400|403|404)$ ]] || { echo "$path: $(head -c 300 "$WORK/answer")"; return 1; }
		! grep -qE 'outside|PRIVATE|root:' "$WORK/answer" || { echo "$path is read"; return 1; }
	done
	rm "$WORK/head/images/outside" "$WORK/head/images/deploy/1/other" "$WORK/head/images/deploy/1/initrd"
}
# it asks how others are booted, with addresses that are none; what it is told holds no token, and starts nothing
boots_of_others_start_nothing() {
	local mac
	for mac in 02:00:00:00:00:01 02:00:00:00:00:02 02-00-00-00-00-01 ff:ff:ff:ff:ff:ff; do
		[ "$(knock GET "$PLAIN/boot/$mac")" = 200 ] && ! grep -qE 'phx.start=|[0-9]\.[0-9a-f]{64}' "$WORK/answer" || { cat "$WORK/answer"; return 1; }
	done
	for mac in x '' 02:00:00:00:00 02:00:00:00:00:01%0achain '02:00:00:00:00:01;shell' "$(head -c 3000 /dev/zero | tr '\0' 0)"; do
		[[ $(knock GET "$PLAIN/boot/$mac") =~ ^(400|404)$ ]] || { echo "boot/$mac: $(head -c 300 "$WORK/answer")"; return 1; }
	done
}

# ---- requests that are two, or none ----

# raw PRINTF-TEXT: what plain HTTP answers to these bytes
raw() {
	local in
	exec {in}<>"/dev/tcp/127.0.0.1/$HTTP" || return 1
	printf "$1" >&"$in" 2>/dev/null
	timeout 1 cat <&"$in" >"$WORK/raw" 2>/dev/null # where nothing comes, it is waited for
	exec {in}>&-
}
n_answered() { grep -aoE 'HTTP/1.. 200' "$WORK/raw" | wc -l; }
TWO='GET /boot/02:00:00:00:00:02 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
# the same bytes one behind the other are two requests, which shows that a second one would be seen
two_are_two() { raw "GET /site.cpio HTTP/1.1\r\nHost: x\r\n\r\n$TWO" && [ "$(n_answered)" = 2 ]; }
none_is_hidden_in_another() {
	local head
	for head in 'Content-Length: 4\r\nTransfer-Encoding: chunked' 'Transfer-Encoding: chunked\r\nContent-Length: 4' 'Content-Length: 4\r\nContent-Length: 90' \
		'Content-Length: -1' 'Content-Length: 18446744073709551617' 'Content-Length: 0x4' 'Transfer-Encoding: chunked, identity' 'Transfer-Encoding : chunked'; do
		raw "POST /v1/agent/enrol HTTP/1.1\r\nHost: x\r\n$head\r\n\r\n0\r\n\r\n$TWO"
		[ "$(n_answered)" = 0 ] || { echo "$head:"; cat "$WORK/raw"; return 1; }
	done
}
peak_kb() { awk '/^VmHWM/ { print $2 }' "/proc/$(head_pid)/status"; }
what_is_too_large_is_cut() {
	local before long grown
	echo 5 >"/proc/$(head_pid)/clear_refs" || { echo "its peak cannot be set back"; return 1; }
	before=$(peak_kb)
	long=$(head -c 2000000 /dev/zero | tr '\0' a)
	raw "GET /$long HTTP/1.1\r\nHost: x\r\n\r\n"
	[ "$(n_answered)" = 0 ] || return 1
	raw "GET /site.cpio HTTP/1.1\r\nHost: x\r\nX: $long\r\n\r\n"
	[ "$(n_answered)" = 0 ] || return 1
	raw "GET /site.cpio HTTP/1.1\r\nHost: x\r\n$(head -c 50000 /dev/zero | sed 's/\x00/X: y\\r\\n/g')\r\n"
	[ "$(n_answered)" = 0 ] || return 1
	raw '\0\0\0\0\r\n\r\n' && raw 'GET\r\n\r\n' && raw 'GET / HTTP/9.9\r\n\r\n' && raw "$(printf '\\x16\\x03\\x01\\x02')"
	[ "$(n_answered)" = 0 ] || return 1
	grown=$(($(peak_kb) - before))
	echo "    $grown KiB at most"
	[ $grown -lt 20000 ]
}

trust_head
agreement closed '' || { not_ok "RE closed is not active: $(cat "$WORK/re.log")"; exit 1; }
trap '' PIPE
mkdir -p "$WORK/head/images/own/1"
for file in vmlinuz modules.zst root.squashfs; do echo of-a-system >"$WORK/head/images/own/1/$file"; done
echo of-a-system | zstd -q >"$WORK/head/images/own/1/root.ext4.zst"
manifest_of "$WORK/head/images/own/1" rootfs vmlinuz modules.zst root.squashfs root.ext4.zst >/dev/null
sed -i '1s/$/\nkernels = ( { release = "6.1.0-test"; kernel = "vmlinuz"; modules = "modules.zst"; } );/' "$WORK/head/images/own/1/manifest.conf"
JOB=$(phx job submit --hold --re closed --user games -- true)
for i in 1 2; do until_true 20 idle n$i "$(field n$i .state)" "$(field n$i .role)"; agent_kill n$i; done
until_true 20 is n1 .up false && until_true 20 is n2 .up false
for t in every_route_is_shut words_are_no_certificate firmware_gets_what_boots and_no_image_of_a_tenant of_a_system_what_boots and_nothing_outside boots_of_others_start_nothing \
	none_is_hidden_in_another what_is_too_large_is_cut; do check $t nothing_changes $t; done
check two_are_two two_are_two
check and_no_secret and_no_secret
exit $FAILED
