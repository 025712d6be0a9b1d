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

# a head of before knew no operators: OLD=1 makes them administrators
trust_head "$([ -n "${OLD:-}" ] && echo socket || echo operator)_group = \"daemon\"; requests_per_s = 100000;"
check a_reload_is_his a_reload_is_his
check a_refusal_is_told a_refusal_is_told
exit $FAILED
