#!/bin/bash
# Whoever orders, and whoever tries what he may not, leaves a trace in the journal with his own name.
. "$(dirname "$0")/../trust.bash"

events() { api "/v1/events?limit=1000" | jq -e "$1" >/dev/null || { api "/v1/events?limit=1000" | jq -c '.events[-8:][] | [.kind, .by, .text]'; return 1; }; }
uid() { echo "uid:$(id -u "$1")"; }

# a role that he has written is put in force by him, and not by phxd
a_reload_is_his() {
	sed -i 's/a test/another test/' "$WORK/etc/roles/web.conf"
	refused 200 daemon POST /v1/reload &&
		events "[.events[] | select(.by == \"$(uid daemon)\" and .kind == \"role_put\")] | length == 1" &&
		events "[.events[] | select(.by == \"$(uid daemon)\" and .kind == \"notice\")] | length == 1"
}
# what is refused is told once a minute, however often it is tried
a_refusal_is_told() {
	local i
	for i in 1 2 3; do refused 403 nobody POST /v1/actions/wipe -d '{"nodes": "n1"}' || return 1; done
	events "[.events[] | select(.by == \"$(uid nobody)\" and (.text | contains(\"is refused: no right nodes\")))] | length == 1"
}
# whose files somebody read or wrote is told once a minute, to the owner of the RE and who reads the whole journal; not which files
access_of() { echo "[.events[] | select(.by == \"$(uid "$1")\" and (.text | test(\"$2 files of closed\")))] | length"; }
access_is_told() {
	local i
	for i in 1 2 3; do
		refused 200 games PUT /v1/res/closed/data/secret-name --data-binary words && refused 200 games GET /v1/res/closed/data/secret-name &&
			refused 200 games GET /v1/res/closed/data && refused 403 root GET /v1/res/closed/data || return 1
	done
	events "($(access_of games writes)) == 1 and ($(access_of games reads)) == 1 and ($(access_of games lists)) == 1" || return 1
	! api "/v1/events?limit=1000" | grep -q secret-name || return 1
	refused 200 games GET /v1/res/closed/history && grep -q 'lists files of closed' "$WORK/answer" || return 1
	ask nobody GET '/v1/events?limit=1000' >/dev/null && ! grep -q 'files of closed' "$WORK/answer"
}
certificates_are_told() {
	phx cert issue carol --kind provider --out "$WORK/carol" >/dev/null 2>"$WORK/err" && [ ! -s "$WORK/err" ] || { cat "$WORK/err"; return 1; }
	local serial
	serial=$(phx cert list -o json | jq -r '.certs[] | select(.name == "carol") | .serial')
	events "[.events[] | select(.by == \"uid:0\" and .text == \"certificate $serial was issued to carol (provider)\")] | length == 1" || return 1
	# the agents' too
	events '[.events[] | select(.by == "node:n1" and .text == "n1 was given a certificate")] | length == 1' || return 1
	# where phxd is away it is good all the same, and that nobody wrote it down is told
	head_stop
	phx cert issue dave --out "$WORK/dave" >/dev/null 2>"$WORK/err" && grep -q 'warning: it is not in the journal' "$WORK/err"
	local code=$?
	head_start
	return $code
}

# a head of before knew no operators: OLD=1 makes them administrators
trust_head "$([ -n "${OLD:-}" ] && echo socket || echo operator)_group = \"daemon\"; requests_per_s = 100000;"
check a_reload_is_his a_reload_is_his
check a_refusal_is_told a_refusal_is_told
agreement closed '' || { not_ok "RE closed is not active: $(cat "$WORK/re.log")"; exit 1; }
check access_is_told access_is_told
check certificates_are_told certificates_are_told
exit $FAILED
