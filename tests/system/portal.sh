#!/bin/bash
# by turns: 250 s: a browser, minutes.
# The portal in a real browser, against a real head with fake agents. The tests are tests/portal/*.mjs; pictures of the pages lie in
# $BUILD/portal/pictures afterwards.
. "$(dirname "$0")/phxd.bash"
. tests/system/browser.bash
for needed in "$BUILD/tests/fake/agent" "$BUILD/portal/index.html" "$BUILD/npm/done"; do
	[ -e "$needed" ] || { echo "not ok $needed is not built"; exit 1; }
done
[ "$(id -u)" = 0 ] || { echo "skip portal: only root asks for links of several users"; exit 0; }
export BUILD

nodes=6
head_conf 'service_group = "games"; auditor_group = "bin"; requests_per_s = 100000; measure_web_use = false;'
head_start
package tools 1 'exit 0'
roles_init
post /v1/reload >/dev/null
for i in $(seq $nodes); do
	post /v1/nodes "{\"name\": \"n$i\", \"macs\": [\"02:00:00:00:00:0$i\"]}" >/dev/null
	fake_start "n$i" "$i"
done
for i in $(seq $nodes); do until_true 30 idle "n$i" ready "" || { not_ok "n$i is not ready"; exit 1; }; done

in_browser() { HEAD_PID=$HEAD AGENT_PID=${AGENT[n4]} HOME=$WORK PORTAL_WORK=$WORK timeout 400 node tests/portal/run.mjs "tests/portal/$1.mjs" || FAILED=1; }
wire=$(cat "$BUILD"/portal/*.gz | wc -c)
check "portal the first page is at most 300 kB on the wire ($wire)" [ "$wire" -le 300000 ]
[ $# -gt 0 ] || set -- sign_in jobs timeline audit pages
for tests; do in_browser "$tests"; done
# the last of the cluster's tests has started another head
[ ! -s "$WORK/again.pid" ] || { HEAD=$(cat "$WORK/again.pid"); kill "$HEAD"; until_true 20 eval '! kill -0 $HEAD'; HEAD=; }
exit $FAILED
