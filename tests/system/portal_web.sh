#!/bin/bash
# The page of web services in a real browser, against a real head with an instance whose use its agent measures. The tests are
# tests/portal/web.mjs; pictures lie in $BUILD/portal/pictures afterwards.
. "$(dirname "$0")/agents.bash"
. tests/system/browser.bash
for needed in "$BUILD/portal/index.html" "$BUILD/npm/done"; do
	[ -e "$needed" ] || { echo "not ok $needed is not built"; exit 1; }
done
[ "$(id -u)" = 0 ] || { echo "skip portal_web: only root asks for links of several users"; exit 0; }
for who in games daemon; do id "$who" >/dev/null 2>&1 || { echo "skip portal_web: there is no user $who"; exit 0; }; done
export BUILD
WEB_PORT=$((HTTPS + 2))

shop_serves() {
	cat >"$WORK/etc/roles/web-server.conf" <<-END
		summary = "pages"; pool = "web"; image = "test"; boot = "ram"; packages = [ "web" ];
		services = ( { name = "web"; package = "web"; exec = [ "bin/web" ]; stop_grace = "2s"; } );
		health = { kind = "exec"; exec = [ "/usr/bin/test", "!", "-e", "$WORK/ill" ]; interval = "1s"; timeout = "2s"; failures = 1; };
		web = { address = "127.9.9.9"; port = $WEB_PORT; scheduler = "lc"; cpu_milli = 100; };
	END
	package web 1.0 'exec sleep 1000'
	phx reload >/dev/null
	node_init n1 1 && phx node add n1 --mac 02:00:00:00:00:01 >/dev/null && agent_start n1 && until_true 20 is n1 .state ready || return 1
	mkdir -p "$WORK/home" && cat >"$WORK/home/shop.conf" <<-END
		name = "shop"; owner = "games"; relationship = "affiliated"; type = "web_service"; granularity = "node"; role = "web-server";
		coordinated_RE = "none"; resource_coordination_model = "fb"; lower_bound_size = 1; upper_bound_size = 1;
		window = "2s"; threshold = 0.8; setup_policy = "noop"; initial_instances = 1; address = "127.9.9.90"; port = $WEB_PORT;
	END
	phx re create "$WORK/home/shop.conf" && setpriv --reuid games --regid games --clear-groups "$BUILD/bin/phx" re activate shop --wait --timeout 60 &&
		until_true 30 eval '[ "$(api /v1/res/shop | jq ".manager.decisions | length")" -gt 0 ]' && until_true 20 eval '[ "$(api /v1/balance | jq "[.services[] | select(.address == \"127.9.9.90\") | .servers[] | select(.use_ppm >= 0)] | length")" = 1 ]'
}

head_init 'server_names = [ "localhost" ]; service_group = "games"; requests_per_s = 100000;'
check "portal a web service has its instance" shop_serves
[ $# -gt 0 ] || set -- web
for tests; do HOME=$WORK/home PORTAL_WORK=$WORK timeout 400 node tests/portal/run.mjs "tests/portal/$tests.mjs" || FAILED=1; done
exit $FAILED
