#!/bin/bash
# Every route as every identity, of his own and of another's, against the table that phxd --rights prints: whoever it lets in gets there,
# whoever it does not is refused, and what is another's is not there for whom it gives his own alone.
. "$(dirname "$0")/phxd.bash"

# a member is named by the agreement of the RE "mine", whose owner he is not; a user by none
declare -A USER_OF=([admin]=root [operator]=daemon [auditor]=bin [provider]=games [member]=nobody [user]=lp)
for who in "${USER_OF[@]}"; do id "$who" >/dev/null 2>&1 || { echo "skip rights: there is no user $who"; exit 0; }; done
URL=https://127.0.0.1:$HTTPS
TRIED=0 WRONG=0

on_socket() { setpriv --reuid="$1" --regid="$(id -g "$1")" --init-groups curl -sS -m 20 --unix-socket "$PHX_SOCKET" "${@:2}"; }
with_cert() { curl -sS -m 20 --cacert "$WORK/head/pki/ca.pem" --cert "$WORK/$1/cert.pem" --key "$WORK/$1/key.pem" "${@:2}"; }
# G: a certificate that is a user alone, and has the role by a grant
IDENTITIES=(U:admin U:operator U:auditor U:provider U:member U:user T:admin T:provider T:member T:user T:node G:operator G:auditor N:nobody P:nobody)
# wants IDENTITY METHOD PATH PATTERN: is asked later, all of one identity by one curl, over one connection
wants() {
	local how=${1%%:*} who=${1#*:} dir=$WORK/asked/$1 base
	TRIED=$((TRIED + 1))
	case $how in
	U) base="unix-socket = \"$PHX_SOCKET\"
url = \"http://unix$3\"" ;;
	T | G) base="cacert = \"$WORK/head/pki/ca.pem\"
cert = \"$WORK/$who/cert.pem\"
key = \"$WORK/$who/key.pem\"
url = \"$URL$3\"" ;;
	N) base="cacert = \"$WORK/head/pki/ca.pem\"
url = \"$URL$3\"" ;;
	P) base="url = \"http://127.0.0.1:$HTTP$3\"" ;;
	esac
	[ "$2" = GET ] || base+='
data = "{\"dry_run\": true}"'
	printf '%s\nrequest = "%s"\noutput = "%s"\nwrite-out = "%%{http_code}\\n"\nmax-time = %s\ngloboff\nnext\n' "$base" "$2" "$dir/$TRIED" "$([[ $3 = /v1/feed || $3 = */logs ]] && echo 1 || echo 20)" \
		>>"$dir/config"
	echo "$TRIED $2 $3 $4" >>"$dir/wanted"
}
# ask IDENTITY: what it wants, and whether it got that
ask() {
	local dir=$WORK/asked/$1 as=() n method path pattern got text
	[ "${1%%:*}" != U ] || as=(setpriv --reuid="${USER_OF[${1#*:}]}" --regid="$(id -g "${USER_OF[${1#*:}]}")" --init-groups)
	"${as[@]}" curl -sS -K "$dir/config" >"$dir/got" 2>"$dir/noise" </dev/null
	[ "$(wc -l <"$dir/got")" = "$(wc -l <"$dir/wanted")" ] || { echo "$1: not all was asked: $(cat "$dir/noise")"; WRONG=$((WRONG + 1)); }
	while read -r n method path pattern got; do
		text=
		[ ! -f "$dir/$n" ] || IFS= read -rd '' -n 300 text <"$dir/$n"
		# what is refused for what he asks, and not for who he is
		# it is there, and another's: who may know of every RE is told so
		[ "$got" = 403 ] && [[ $text =~ "its owner's and its members' alone"|'is for the service provider'|'the owner of the RE that has it' ]] && got=404another
		[ "$got" = 409 ] && [[ $text =~ 'this node has no part of such a run' ]] && got=404another
		[ "$got" = 403 ] && [[ ! $text =~ 'not permitted'|certificate ]] && got=400
		# what is his, and is said not to be there
		[ "$got" = 404 ] && [[ $pattern = *404absent* && ! $text =~ "no RE 'mine'"|'no such job' ]] && got=404absent
		[[ $got =~ ^($pattern)$ ]] && continue
		WRONG=$((WRONG + 1))
		echo "$1 $method $path: wanted $pattern, got $got: $text"
	done < <(paste -d ' ' "$dir/wanted" "$dir/got")
}
# let in: done, or refused for what he asks (000: the answer is held back until there is news)
LET_IN='000|2..|30.|40[059]|41.|42.|50[37]'
# of these there is none here, whoever asks: what is public, settings of the site, what a task printed. Sessions and what somebody asked (what_if.sh) are a person's, whatever his
# rights (trust/user/session.sh); the key of a disk takes more than a request (trust/owner/other_nodes.sh)
ABSENT='^(/ipxe/\*|/hook/\*|/images/.*|/boot/\*|/v1/sessions/\*/end|/v1/agent/disk-key/\*|/v1/agent/site|/v1/workflows/\*/output|/v1/what-if/\*.*)$'
# a path of the table with its stars filled: of RE mine, or other, or of ours, which is the resource provider's own. Runs and triggers are
# of the REs of many tasks of the same owners; "other" of a node's route is the node that is nobody's
path_of() { # ROUTE RE METHOD
	local whose=OWN
	[ "$2" != other ] || whose=OTHER
	local job=${whose}_JOB flow=${whose}_FLOW trigger=${whose}_TRIGGER erasure=${whose}_ERASURE node=${whose}_NODE runs=${whose}_RUNS
	case $1 in
	/v1/agent/jobs/\**) echo "${1/\*/${!runs}}?run=0" | sed 's,\*,0,' ;;
	/v1/jobs/\**) echo "${1/\*/${!job}}" ;;
	/v1/workflows/\**) echo "${1/\*/${!flow}}" | sed 's,\*,cancel,' ;;
	/v1/triggers/\**) echo "${1/\*/${!trigger}}" | sed 's,\*,pause,' ;;
	/v1/erasures/\*) echo "/v1/erasures/${!erasure}" ;;
	/v1/nodes/\**) echo "${1/\*/${!node}}" ;;
	/v1/res/\*/\*) echo "/v1/res/$2/activate" ;;
	# what is put is deleted next, and what is read stays
	/v1/res/\*/data/\*\*) echo "/v1/res/$2/data/$([ "$3" = GET ] && echo file || echo more)" ;;
	/v1/res/\**) echo "${1/\*/$2}" ;;
	/v1/actions/\*) echo /v1/actions/assign ;;
	/v1/roles/\*) echo /v1/roles/batch ;;
	/packages/\*) echo "/packages/$([ "$2" = other ] && echo secret || echo tools)-1.tar.zst" ;;
	/portal/\*) echo "/portal/$(basename "$BUILD"/portal/app-*.js)" ;;
	*) echo "$1" | sed 's,\*\*,file,; s,\*,n1,g' ;;
	esac
}
# is the job, the run, or the RE, that the path names IDENTITY's, as a user or as a member?
is_his() { # IDENTITY ROUTE
	case $2 in
	/v1/jobs/\** | /v1/workflows/\** | /v1/triggers/\**) [ "${1#*:}" = member ] ;;
	*) [[ $1 = U:admin || $1 = U:operator || $1 = U:auditor || ${1#*:} = member ]] ;;
	esac
}
# one row: METHOD PATH VIA RIGHT and the cells
try_row() {
	local method=$1 route=$2 via=$3 identity how cell mine ours own other in=$LET_IN
	mine=$(path_of "$route" mine "$method") ours=$(path_of "$route" ours "$method") other=$(path_of "$route" other "$method")
	local -A cells=([admin]=$5 [operator]=$6 [auditor]=$7 [provider]=$8 [member]=$9 [user]=${10} [node]=${11} [nobody]=${12})
	[[ ! $route =~ $ABSENT ]] || in+='|404absent'
	for identity in "${IDENTITIES[@]}"; do
		how=${identity%%:*}
		[[ $how = [NG] ]] && how=T
		cell=${cells[${identity#*:}]}
		own=$mine
		[[ ${identity#*:}:$cell = @(admin|operator):own ]] && own=$ours
		# every person is a user, too, and may be a member of an RE
		case ${identity#*:}:$cell in admin:- | operator:- | auditor:- | provider:- | user:-) cell=${cells[member]}-as-member ;; esac
		[[ $route = /v1/@(jobs|workflows|triggers)/\** && ${identity#*:}:$cell = user:own ]] && cell=own-as-member
		if [[ $identity:$method\ $route = *:@(auditor:POST /v1/@(workflows|triggers)|operator:POST /v1/triggers)/\*/\* ]]; then
			# who may see them may not order them: that takes the right job_cancel, or job_hold
			wants "$identity" "$method" "$own" '404|403'
		elif [[ $via != *$how* ]]; then
			wants "$identity" "$method" "$own" '404|405|403'
		elif [[ $cell = - || $cell = --as-member ]]; then
			wants "$identity" "$method" "$own" 403
		elif [ $how = T ] && [[ $route = /v1/sessions* || ($route = /images/* && $identity != [TN]:no*) ]]; then
			# a certificate has no sessions; with one, images are a node's that was told to fetch them
			wants "$identity" "$method" "$own" 403
		elif [ "$cell" = own-as-member ] && [[ $route = *\** ]] && ! is_his "$identity" "$route"; then
			wants "$identity" "$method" "$own" '404|404another'
		else
			wants "$identity" "$method" "$own" "$in"
			[[ $cell = own* ]] && [ "$other" != "$own" ] || continue
			# the owner of both is none of these; the job of a user is not his provider's
			wants "$identity" "$method" "$other" '404|404another'
		fi
	done
}
every_route_is_as_the_table_says() {
	local line row identity
	for identity in "${IDENTITIES[@]}"; do mkdir -p "$WORK/asked/$identity" && chmod 777 "$WORK/asked/$identity"; done
	"$BUILD/bin/phxd" --rights >"$WORK/rights" && [ "$(wc -l <"$WORK/rights")" -gt 40 ] || return 1
	while read -r line; do
		IFS=$'\t' read -ra row <<<"$line"
		[ "${row[0]}" = method ] || try_row "${row[@]}"
	done <"$WORK/rights"
	for identity in "${IDENTITIES[@]}"; do ask "$identity"; done
	echo "    $TRIED requests, $WRONG not as the table says"
	[ $WRONG = 0 ] && [ $TRIED -gt 400 ]
}
everybody_is_told_who_he_is() {
	local who
	for who in "${!USER_OF[@]}"; do
		on_socket "${USER_OF[$who]}" http://unix/v1/whoami | jq -e --arg who "${who/member/user}" '.roles | index($who) and index("user")' >/dev/null || return 1
	done
	with_cert provider "$URL/v1/whoami" | jq -e '.identity == "cert:games" and .login == "games" and .roles == ["provider", "user"] and .rights.re_order == "own" and
			(.ways | map(.way) == ["certificate", "grant"])' >/dev/null &&
		with_cert operator "$URL/v1/whoami" | jq -e '.roles == ["operator", "user"] and .login == ""' >/dev/null &&
		on_socket daemon http://unix/v1/whoami | jq -e '.identity == "unix:daemon" and .ways[0].way == "group"' >/dev/null &&
		phx whoami | grep -q '^unix:root: admin, user' && phx whoami | grep -q 'as admin by root' && phx whoami -o json | jq -e '.rights.people == "all"' >/dev/null
}
# of the RE that names him a member is told that it is there, and its agreement; who is named by none is told nothing
a_member_sees_his_re() {
	on_socket nobody http://unix/v1/res | jq -e '[.res[] | .name] == ["mine", "tasks"] and (.res[0] | has("owner") or has("agreement") | not)' >/dev/null || return 1
	on_socket nobody http://unix/v1/res/mine | jq -e '.agreement.owner == "unix:games" and (has("hosts") or has("may") | not)' >/dev/null || return 1
	on_socket lp http://unix/v1/res | jq -e '.res == []' >/dev/null || return 1
	with_cert member "$URL/v1/res" | jq -e '.res | length == 2' >/dev/null && with_cert user "$URL/v1/res" | jq -e '.res == []' >/dev/null || return 1
	on_socket nobody http://unix/v1/res/mine/data | jq -e 'has("error") | not' >/dev/null && on_socket lp http://unix/v1/res/mine/data | grep -q 'no RE' || return 1
	on_socket nobody http://unix/v1/res/mine/history | grep -q 'not permitted' && on_socket nobody http://unix/v1/res/mine/suspend -d '{}' | grep -q 'not permitted' &&
		on_socket lp http://unix/v1/jobs -d '{"re": "mine", "argv": ["true"]}' | grep -q error
}
# what the one right holds that the other does not
an_operator_is_no_administrator() {
	on_socket daemon http://unix/v1/actions/bmc -d '{"nodes": "n1", "bmc": {"driver": "none"}}' | grep -q 'the resource provider may do this' || return 1
	on_socket daemon http://unix/v1/nodes -d '{"name": "n9", "macs": ["02:00:00:00:00:09"], "bmc": {"driver": "none"}}' | grep -q 'not permitted' || return 1
	on_socket daemon http://unix/v1/actions/quarantine -d "{\"nodes\": \"$FORMER\", \"text\": \"by an operator\"}" | jq -e '.results[0].code == 0' >/dev/null || return 1
	on_socket bin http://unix/v1/actions/quarantine -d '{"nodes": "n1"}' | grep -q 'not permitted' || return 1
	on_socket bin "http://unix/v1/events?limit=1000" | jq -e '[.events[] | select(.kind == "quarantine")] | length == 1' >/dev/null
}

head_conf 'service_group = "games"; operator_group = "daemon"; auditor_group = "bin"; requests_per_s = 100000;'
head_start
package tools 1 'exit 0'
package secret 1 'exit 0'
roles_init
post /v1/reload >/dev/null
for i in 1 2; do
	post /v1/nodes "{\"name\": \"n$i\", \"macs\": [\"02:00:00:00:00:0$i\"]}" >/dev/null
	fake_start n$i $i
done
for i in 1 2; do until_true 20 idle n$i ready "" || { not_ok "n$i is not ready"; exit 1; }; done
phx cert issue games --kind service-provider --out "$WORK/provider" >/dev/null && phx cert issue nobody --kind user --out "$WORK/member" >/dev/null &&
	phx cert issue lp --kind user --out "$WORK/user" >/dev/null || exit 1
phx cert issue root --kind provider --out "$WORK/admin" >/dev/null
for role in operator auditor; do
	phx cert issue $role --out "$WORK/$role" >/dev/null && phx access grant cert:$role $role 2>/dev/null || exit 1
done
# by themselves they are nobody of these names
phx access grant cert:games login:games 2>/dev/null && phx access grant cert:nobody login:nobody 2>/dev/null && phx access grant cert:lp login:lp 2>/dev/null || exit 1
for re in mine other; do
	printf 'name = "%s"; owner = "%s"; type = "parallel_batch_jobs"; relationship = "affiliated"; role = "batch"; lower_bound_size = 1; upper_bound_size = 1; %s\n' \
		$re "$([ $re = mine ] && echo games || echo sync)" "$([ $re = mine ] && echo 'users = "nobody daemon bin root";')" >"$WORK/$re.conf"
	phx re create "$WORK/$re.conf" >/dev/null || { not_ok "RE $re is not there"; exit 1; }
done
sed 's/"mine"/"ours"/; s/owner = "games"; //; s/"affiliated"/"same"/; s/users = .*//' "$WORK/mine.conf" >"$WORK/ours.conf"
phx re create "$WORK/ours.conf" >/dev/null || { not_ok "RE ours is not there"; exit 1; }
# an erase of a node that was his, and one of a node that nobody had
serving() { api /v1/nodes | jq -re "[.nodes[] | select(.pool == \"$1\" and .state == \"active\") | .name][0] | values"; }
joins_mine() { until_true 40 eval "OWN_NODE=\$(serving mine) && idle \$OWN_NODE active batch" && OWN_NODE=$(serving mine); }
erasures_of() { api "/v1/erasures?node=$1" | jq '.erasures | length'; }
erased() { action "$1" "{\"nodes\": \"$2\", \"setup\": {\"mode\": \"wipe\"}}" >/dev/null && until_true 40 eval "[ \$(erasures_of $2) = $3 ]" && api "/v1/erasures?node=$2" | jq '.erasures[0].id'; }
on_socket games http://unix/v1/res/mine/activate -d '{}' >/dev/null
joins_mine && OWN_ERASURE=$(erased release "$OWN_NODE" 1) && FORMER=$OWN_NODE && joins_mine && [ "$OWN_NODE" != "$FORMER" ] || { not_ok "no erase of a node of RE mine"; exit 1; }
# a node that was never his
post /v1/nodes '{"name": "n3", "macs": ["02:00:00:00:00:03"]}' >/dev/null && fake_start n3 3 && OTHER_NODE=n3
until_true 20 idle n3 ready "" && OTHER_ERASURE=$(erased wipe n3 1) && until_true 40 idle n3 ready "" && action assign '{"nodes": "n3", "role": "batch"}' >/dev/null &&
	until_true 40 idle n3 active batch || { not_ok "no erase of a node of nobody, or it serves not"; exit 1; }
# files: the owner's, and of each member in his directory
echo file >"$WORK/file" && chmod 644 "$WORK/file"
for who in games nobody daemon bin root; do
	on_socket $who "http://unix/v1/res/$([ $who = root ] && echo ours || echo mine)/data/file" -T "$WORK/file" | grep -q error && { not_ok "$who has no file"; exit 1; }
done
mkdir -p "$WORK/node" && cp "$WORK/$OWN_NODE/cert.pem" "$WORK/$OWN_NODE/key.pem" "$WORK/node/" # its present ones
chmod 755 "$WORK"
check everybody_is_told_who_he_is everybody_is_told_who_he_is
check an_operator_is_no_administrator an_operator_is_no_administrator
OWN_JOB=$(phx job submit --hold --re mine --user nobody -- true) OTHER_JOB=$(phx job submit --hold --user sync -- true)
# jobs that run, with a file to fetch and one to bring: in RE mine, and on the node that is not his
touch "$WORK/$OWN_NODE/busy" "$WORK/n3/busy"
OWN_RUNS=$(setpriv --reuid nobody --regid "$(id -g nobody)" --init-groups "$BUILD/bin/phx" job submit --re mine --stage-in file --stage-out out -- true) OTHER_RUNS=$(phx job submit --user sync -- true)
runs() { [ "$(api "/v1/jobs/$1" | jq -r .state)" = running ]; }
until_true 20 runs "$OWN_RUNS" && until_true 20 runs "$OTHER_RUNS" || { not_ok "no job runs: $(api "/v1/jobs/$OWN_RUNS") $(api "/v1/jobs/$OTHER_RUNS")"; exit 1; }
# of each owner an RE of many tasks, with a run and a trigger of its member
FLOW='{"name":"w","schemaVersion":"1.5","workflow":{"specification":{"tasks":[{"id":"a","name":"a","parents":[],"children":[]}],"files":[]},"execution":{"tasks":[{"id":"a","runtimeInSeconds":1,"coreCount":1,"command":{"program":"true","arguments":[]}}]}}}'
many_tasks() { # RE OWNER MEMBER: sets FLOW_ID, TRIGGER_ID
	printf 'name = "%s"; owner = "%s"; type = "many_tasks"; relationship = "affiliated"; role = "batch"; lower_bound_size = 0; users = "%s";\n' "$1" "$2" "$3" >"$WORK/$1.conf"
	phx re create "$WORK/$1.conf" >/dev/null && on_socket "$2" "http://unix/v1/res/$1/activate" -d '{}' >/dev/null || return 1
	FLOW_ID=$(on_socket "$3" -X PUT "http://unix/v1/workflows?re=$1&hold=true" --data-binary "$FLOW" | tee "$WORK/flow" | jq .id) || return 1
	TRIGGER_ID=$(printf '{"name": "timed-%s", "when": {"every_ms": 3600000}}\n%s' "$1" "$FLOW" | on_socket "$3" -X PUT "http://unix/v1/triggers?re=$1" --data-binary @- | jq -r .name)
	[[ $FLOW_ID$TRIGGER_ID != *null* ]]
}
phx access grant unix:sync provider 2>/dev/null
many_tasks tasks games nobody && OWN_FLOW=$FLOW_ID OWN_TRIGGER=$TRIGGER_ID && many_tasks others sync sync && OTHER_FLOW=$FLOW_ID OTHER_TRIGGER=$TRIGGER_ID ||
	{ not_ok "no run or no trigger: $(cat "$WORK/flow") $TRIGGER_ID"; exit 1; }
check a_member_sees_his_re a_member_sees_his_re
check every_route_is_as_the_table_says every_route_is_as_the_table_says
exit $FAILED
