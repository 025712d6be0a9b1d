# An attack on a real head, with fake agents (tests/system/phxd.bash). Sourced by the scripts of tests/trust/ATTACKER: each is what
# that attacker does, and fails as soon as it succeeds.
#
#	trust_head [KEY = VALUE;...]  a head with the REs `closed` and `named`, both of games; n1 and n2 serve them, with the system
#	                              UUIDs uuid-1 and uuid-2 and the options of FAKES
#	as USER COMMAND...            with the user's number and groups of his own
#	ask USER METHOD PATH [ARGUMENTS...]  status of the answer; its text is in $WORK/answer
#	refused WANTED USER METHOD PATH ...  that status, or one of several: '404|403'
#	by_node NAME METHOD PATH [ARGUMENTS...]  the same as `ask`, with a node's certificate, by somebody who has its key
#	gets WANTED COMMAND...          the status that `ask`, `by_node` or the like prints is that, or one of several

. "$(dirname "${BASH_SOURCE[0]}")/../system/phxd.bash"
[ -x "$BUILD/tests/fake/agent" ] || { echo "not ok fake_agent is not built"; exit 1; }
for who in games nobody daemon; do id "$who" >/dev/null 2>&1 || { echo "skip trust: there is no user $who"; exit 0; }; done

as() { setpriv --reuid="$1" --regid="$(id -g "$1")" --init-groups "${@:2}"; }
ask() {
	as "$1" curl -sS -m 20 --unix-socket "$PHX_SOCKET" -X "$2" "http://unix$3" -w '\n%{http_code}' "${@:4}" >"$WORK/answer" </dev/null
	tail -n 1 "$WORK/answer"
}
refused() {
	local got
	got=$(ask "${@:2}")
	[[ $got =~ ^($1)$ ]] && return 0
	echo "${*:2}: wanted $1, got $got: $(head -c 400 "$WORK/answer")"
	return 1
}
by_node() {
	curl -sS -m 20 --cacert "$WORK/head/pki/ca.pem" --cert "$WORK/$1/cert.pem" --key "$WORK/$1/key.pem" -X "$2" "https://127.0.0.1:$HTTPS$3" \
		-w '\n%{http_code}' "${@:4}" >"$WORK/answer" </dev/null
	tail -n 1 "$WORK/answer"
}
gets() {
	local got
	got=$("${@:2}")
	[[ $got =~ ^($1)$ ]] && return 0
	echo "${*:2}: wanted $1, got $got: $(head -c 400 "$WORK/answer")" | cut -c1-800
	return 1
}
agreement() { # NAME LINES
	printf 'name = "%s"; owner = "games"; type = "parallel_batch_jobs"; relationship = "affiliated"; role = "batch"; lower_bound_size = 1; upper_bound_size = 1; %s\n' \
		"$1" "$2" >"$WORK/$1.conf"
	phx re create "$WORK/$1.conf" >>"$WORK/re.log" 2>&1 && as games "$BUILD/bin/phx" re activate "$1" --wait --timeout 60 >>"$WORK/re.log" 2>&1
}
trust_head() {
	local i
	head_conf "service_group = \"games\"; $*"
	chmod 755 "$WORK" "$WORK/etc"
	head_start
	package tools 1 'exit 0'
	roles_init
	post /v1/reload >/dev/null
	for i in 1 2; do
		post /v1/nodes "{\"name\": \"n$i\", \"macs\": [\"02:00:00:00:00:0$i\"]}" >/dev/null
		# shellcheck disable=SC2086
		fake_start n$i $i ${FAKES:-} --uuid "uuid-$i"
	done
	for i in 1 2; do until_true 20 idle n$i ready "" || { not_ok "n$i is not ready"; exit 1; }; done
}
