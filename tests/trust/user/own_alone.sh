#!/bin/bash
# Two service providers, each with an RE, a node, a job and a user: neither finds anything of the other's on any route that shows
# lists, times, events or hardware, and a user finds none of either's. Each finds what is theirs, which shows that there is something to find.
. "$(dirname "$0")/../trust.bash"

declare -A RE_OF=([games]=closed [daemon]=apart) NODE_OF MAC_OF SERIAL_OF JOB_OF
answer() { sed '$d' "$WORK/answer"; }

# every list, and everything of one RE and one node, that a person reads
lists() { # RE NODE JOB
	printf '%s\n' "/v1/nodes" "/v1/nodes?fields=name,macs,serial,facts,plan" "/v1/nodes/$2" "/v1/nodes/$2/erasures" /v1/erasures "/v1/events?limit=1000" \
		"/v1/events?limit=1000&node=$2" /v1/res "/v1/res/$1" "/v1/res/$1/history" /v1/timeline /v1/timeline/nodes /v1/timeline/kills /v1/jobs "/v1/jobs/$3" \
		/v1/workflows /v1/triggers /v1/balance /v1/status "/v1/res/$1/data"
}
# reads USER OF: what USER reads of all that is OF's, one answer after the other
reads() {
	local path
	lists "${RE_OF[$2]}" "${NODE_OF[$2]}" "${JOB_OF[$2]}" | while read -r path; do
		ask "$1" GET "$path" >/dev/null
		echo "== $path"
		answer
	done >"$WORK/read"
}
secrets_of() { printf '%s\n' "${MAC_OF[$1]}" "${SERIAL_OF[$1]}" "argv-of-$1" "file-of-$1"; }
each_finds_what_is_his() {
	local who secret
	for who in games daemon; do
		reads $who $who
		while read -r secret; do
			grep -qF -- "$secret" "$WORK/read" || { echo "$who does not find '$secret'"; return 1; }
		done < <(secrets_of $who)
		grep -A1 '^== /v1/timeline/nodes' "$WORK/read" | grep -q "\"${NODE_OF[$who]}\"" &&
			grep -A1 '/history' "$WORK/read" | grep -q 'is running' || { cut -c1-300 "$WORK/read"; echo "$who finds no time-line of his"; return 1; }
	done
}
# finds_none WHO OF
finds_none() {
	local secret
	reads "$1" "$2"
	while read -r secret; do
		! grep -qF -- "$secret" "$WORK/read" || { echo "$1 reads '$secret' of $2: $(grep -B1 -F -- "$secret" "$WORK/read" | cut -c1-300)"; return 1; }
	done < <(secrets_of "$2")
	! grep -A1 '^== /v1/\(timeline\|res\)' "$WORK/read" | grep -v '^==' | grep -F "\"${RE_OF[$2]}\"" || { echo "$1 finds RE ${RE_OF[$2]}"; return 1; }
	! grep -A1 '^== /v1/timeline/nodes' "$WORK/read" | grep -F "\"node\":\"${NODE_OF[$2]}\"" || { echo "$1 finds who had ${NODE_OF[$2]}"; return 1; }
}
# metrics have a row an RE and a pool: of his own alone, but for those who see all
metrics_name_ones_own() {
	local who of
	for who in games daemon nobody root; do
		ask $who GET /v1/metrics >/dev/null
		answer | grep -q '^phx_nodes_up ' || return 1
		for of in games daemon; do
			[ "$who" = root ] || [ "$who" = $of ] && { answer | grep -q "phx_re_nodes{re=\"${RE_OF[$of]}\"" || { echo "$who misses ${RE_OF[$of]}"; return 1; }; continue; }
			! answer | grep -F "\"${RE_OF[$of]}\"" || { echo "$who finds ${RE_OF[$of]}"; return 1; }
		done
	done
	# and a member sees the REs that he is in
	ask lp GET /v1/metrics >/dev/null && answer | grep -q 'phx_re_jobs{re="apart"' && answer | grep -q 'phx_re_jobs{re="closed"'
}
neither_finds_the_others() { finds_none games daemon && finds_none daemon games; }
a_user_finds_neither_s() { finds_none nobody games && finds_none nobody daemon; }
# how the machine is reached below its system, its keys and numbers stay the resource provider's, also of one's own node
of_ones_own_not_all() {
	local who field
	for who in games daemon; do
		ask $who GET "/v1/nodes/${NODE_OF[$who]}" >/dev/null
		answer | jq -e '.macs | length == 1' >/dev/null || return 1
		for field in bmc key_fp disk_key_id token_sha256; do
			! answer | jq -e "has(\"$field\")" >/dev/null || { echo "$who reads $field"; return 1; }
		done
		ask root GET "/v1/nodes/${NODE_OF[$who]}" >/dev/null && answer | jq -e '(.key_fp | length > 9) and has("bmc")' >/dev/null || return 1
	done
}
nor_orders_it() {
	local order
	for order in activate suspend resume deactivate safe-deactivate members withdraw; do
		refused 404 daemon POST "/v1/res/closed/$order" -d '{}' && refused 404 games POST "/v1/res/apart/$order" -d '{}' || return 1
		# an administrator grants and destroys, and is no service provider
		refused 403 root POST "/v1/res/apart/$order" -d '{}' || return 1
	done
	refused 403 root POST /v1/res/apart/members -d '{"add": "root"}' && refused 403 bin POST /v1/res/apart/members -d '{"add": "bin"}' || return 1
	[ "$(api /v1/res/apart | jq -r '.state + " " + .agreement.users')" = "running unix:lp" ]
}
logs_are_anothers() {
	refused 403 games GET "/v1/nodes/${NODE_OF[daemon]}/logs?service=x" && refused 403 daemon GET "/v1/nodes/${NODE_OF[games]}/logs?service=x" &&
		refused 403 nobody GET "/v1/nodes/${NODE_OF[games]}/logs?service=x"
}
files_are_not_an_administrators() {
	local who
	for who in root bin; do
		for re in closed apart; do
			refused 403 $who GET "/v1/res/$re/data" && refused 403 $who GET "/v1/res/$re/data/file" && refused 403 $who PUT "/v1/res/$re/data/new" --data-binary x &&
				refused 403 $who DELETE "/v1/res/$re/data/file" || return 1
		done
	done
	[ ! -e "$WORK/head/re/closed/new" ] && [ -e "$WORK/head/re/closed/file-of-games" ]
}

for who in bin lp; do id $who >/dev/null 2>&1 || { echo "skip own_alone: there is no user $who"; exit 0; }; done
trust_head 'operator_group = "bin"; requests_per_s = 100000;'
phx access grant unix:daemon provider 2>/dev/null
agreement closed 'users = "lp";' || { not_ok "RE closed is not active: $(cat "$WORK/re.log")"; exit 1; }
sed 's/"closed"/"apart"/; s/"games"/"daemon"/' "$WORK/closed.conf" >"$WORK/apart.conf"
phx re create "$WORK/apart.conf" >>"$WORK/re.log" 2>&1 && as daemon "$BUILD/bin/phx" re activate apart --wait --timeout 60 >>"$WORK/re.log" 2>&1 ||
	{ not_ok "RE apart is not active: $(cat "$WORK/re.log")"; exit 1; }
for who in games daemon; do
	re=${RE_OF[$who]}
	NODE_OF[$who]=$(api "/v1/nodes" | jq -r --arg re "$re" '.nodes[] | select(.pool == $re).name')
	MAC_OF[$who]=$(field "${NODE_OF[$who]}" .macs[0].mac) SERIAL_OF[$who]=$(field "${NODE_OF[$who]}" .serial)
	JOB_OF[$who]=$(as lp "$BUILD/bin/phx" job submit --hold --re "$re" -- "argv-of-$who")
	echo words >"$WORK/words" && refused 200 $who PUT "/v1/res/$re/data/file-of-$who" -T "$WORK/words" || { not_ok "no file in $re"; exit 1; }
done
# the time-line is written by a thread of its own, a moment later
has_held() { api /v1/timeline/nodes | jq -e --arg n "$1" --arg re "$2" 'any(.holdings[]; .node == $n and .pool == $re)'; }
for who in games daemon; do until_true 30 has_held "${NODE_OF[$who]}" "${RE_OF[$who]}" || { not_ok "the time-line does not know of ${NODE_OF[$who]}"; exit 1; }; done
for test in each_finds_what_is_his neither_finds_the_others a_user_finds_neither_s metrics_name_ones_own of_ones_own_not_all nor_orders_it logs_are_anothers files_are_not_an_administrators; do
	check $test $test
done
exit $FAILED
