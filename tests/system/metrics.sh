#!/bin/bash
# Metrics of a real head with agents as processes, as Debian's prometheus reads them over TLS with the certificate of an auditor: what promtool
# says of the text, of the rules and of the example; who is shown what; each alert fires and does not; and each query of the dashboard has an answer.
. "$(dirname "$0")/agents.bash"

for program in prometheus promtool; do command -v $program >/dev/null || { echo "skip metrics: there is no $program (package prometheus)"; exit 0; }; done
id games >/dev/null 2>&1 || { echo "skip metrics: there is no user games"; exit 0; }
mkdir -p "$WORK/bin" && cp "$BUILD/bin/phx" "$WORK/bin/" && chmod 755 "$WORK" "$WORK/bin"
as() { setpriv --reuid "$1" --regid "$2" --clear-groups env -C / "$WORK/bin/phx" "${@:3}"; }
PORT=$((HTTPS + 3))
PROMETHEUS=
stop_all() {
	{ [ -z "$PROMETHEUS" ] || { kill "$PROMETHEUS" && wait "$PROMETHEUS"; }; } 2>/dev/null
	finish
}
trap stop_all EXIT

roles_init() {
	cat >"$WORK/etc/roles/batch-compute.conf" <<-END
		summary = "jobs"; pool = "batch"; image = "test"; boot = "ram"; runs_jobs = true; drain_grace = "1s"; packages = [ "tools" ];
	END
	cat >"$WORK/etc/roles/plain.conf" <<-END
		summary = "nothing"; pool = "web"; image = "test"; boot = "ram"; packages = [ "tools" ];
	END
	cat >"$WORK/etc/roles/web-server.conf" <<-END
		summary = "pages"; pool = "web"; image = "test"; boot = "ram"; drain_grace = "1s"; packages = [ "web" ];
		services = ( { name = "web"; package = "web"; exec = [ "bin/web" ]; stop_grace = "1s"; } );
	END
	package tools 1.0 'sleep 0.1; echo tools'
	package web 1.0 'exec sleep 100000'
	phx reload >/dev/null
}
metrics() { api /v1/metrics >"$WORK/metrics" && [ -s "$WORK/metrics" ]; }
# row PATTERN: it is there, at the beginning of a line
row() { grep -qE "^$1" "$WORK/metrics" || { echo "no row $1"; return 1; }; }
# value NAME{LABELS}
value() { awk -v row="$1" '{ at = match($0, / [^ ]*$/) } substr($0, 1, at - 1) == row { print substr($0, at + 1) }' "$WORK/metrics"; }
# over TLS with the certificate of DIR
scrape() { curl -sS -m 20 --cacert "$WORK/head/pki/ca.pem" --cert "$WORK/$1/cert.pem" --key "$WORK/$1/key.pem" "${@:2}" "https://127.0.0.1:$HTTPS/v1/metrics"; }
families() { sed -n 's/^# TYPE \([^ ]*\) .*/\1/p' "$1"; }

# ---- what the head says ----

the_text_is_sound() {
	metrics && promtool check metrics <"$WORK/metrics" >"$WORK/out" 2>&1 && [ ! -s "$WORK/out" ] || { cat "$WORK/out"; return 1; }
	# a family stands once, and its rows together
	[ -z "$(families "$WORK/metrics" | sort | uniq -d)" ] && [ "$(families "$WORK/metrics" | wc -l)" -gt 40 ]
}
nodes_are_told() {
	until_true 20 eval 'metrics && row "phx_node_memory_bytes\{node=\"n2\"\} [1-9]"' || return 1
	row 'phx_node_up\{node="n1"\} 1$' && row 'phx_node_state\{node="n1",state="active"\} 1$' && row 'phx_node_info\{node="n1",pool="[a-z]+",role="[a-z-]+"\} 1$' &&
		row 'phx_node_cpu_use_ratio\{node="n1"\} [01]\.[0-9]{3}$' && row 'phx_node_network_receive_bytes_total\{node="n1"\} [0-9]+$' &&
		[ "$(value 'phx_node_last_heard_timestamp_seconds{node="n1"}' | cut -d. -f1)" -ge $(($(date +%s) - 30)) ]
}
handovers_are_counted() {
	metrics && [ "$(value 'phx_handover_seconds_count{setup="noop"}')" -ge 3 ] && [ "$(value 'phx_step_seconds_count{step="start"}')" -ge 3 ] &&
		[ "$(value 'phx_handover_phase_seconds_count{phase="start",setup="noop"}')" -ge 1 ] && row 'phx_node_handover_seconds\{node="n1",setup="noop"\} ' &&
		[ "$(value 'phx_orders_total{kind="step"}')" -ge 3 ] && [ "$(value phx_beats_total)" -ge 2 ]
}
the_head_is_told() {
	row 'phx_build_info\{version="[0-9.]+"\} 1$' && row 'phx_readonly 0$' && [ "$(value 'phx_store_bytes{store="journal"}')" -gt 4096 ] &&
		[ "$(value 'phx_store_bytes{store="packages"}')" -gt 100 ] && [ "$(value 'phx_store_bytes{store="images"}')" -gt 10 ] &&
		[ "$(value 'phx_certificate_end_timestamp_seconds{certificate="head"}')" -gt "$(date +%s)" ] &&
		[ "$(value phx_state_dir_bytes)" -ge "$(value phx_state_dir_free_bytes)" ] && [ "$(value 'phx_http_requests_total{class="agent",code="2xx"}')" -ge 2 ] &&
		row 'phx_re_nodes\{re="queue",kind="idle"\} 1$'
}

# ---- who is shown what ----

an_auditor_sees_all() {
	[ "$(scrape prometheus -o "$WORK/metrics" -w '%{http_code} %{content_type}')" = '200 text/plain; version=0.0.4; charset=utf-8' ] && row 'phx_node_up\{node="n1"\}' && row 'phx_re_nodes\{re="queue"'
}
# two scrapes of one rendering, which may end between them
packed_is_plain() {
	scrape prometheus -o "$WORK/plain" && scrape prometheus -H 'Accept-Encoding: gzip' -D "$WORK/head.txt" -o "$WORK/packed" && grep -qi '^content-encoding: gzip' "$WORK/head.txt" &&
		gzip -dc "$WORK/packed" >"$WORK/unpacked" && cmp "$WORK/plain" "$WORK/unpacked" && [ "$(stat -c %s "$WORK/packed")" -lt $(($(stat -c %s "$WORK/plain") / 3)) ]
}
# who has no right to more sees how many nodes there are, but none, nothing of the head's, and no RE of others
others_see_no_node() {
	setpriv --reuid=games --regid=games --clear-groups curl -sS -m 20 --unix-socket "$PHX_SOCKET" http://unix/v1/metrics >"$WORK/metrics" && row 'phx_nodes_up 2$' || return 1
	! grep -E 'phx_node_|n1|queue|phx_http|phx_certificate|phx_store' "$WORK/metrics"
}
a_stranger_sees_nothing() { [ "$(curl -sSk -m 20 -o "$WORK/body" -w '%{http_code}' "https://127.0.0.1:$HTTPS/v1/metrics")" = 403 ] && ! grep -q phx_nodes "$WORK/body"; }

# ---- Prometheus ----

rules_and_example_are_sound() {
	promtool check rules etc/prometheus/phoenix.rules.yml >"$WORK/out" 2>&1 || { cat "$WORK/out"; return 1; }
	mkdir -p "$WORK/example/phoenix" && cp etc/prometheus/*.yml "$WORK/example/" && cp "$WORK/prometheus/"*.pem "$WORK/example/phoenix/" || return 1
	promtool check config "$WORK/example/prometheus.yml" >"$WORK/out" 2>&1 && ! grep -qi 'warn\|fail' "$WORK/out" || { cat "$WORK/out"; return 1; }
}
# each alert of the rules stands in the cases twice: it fires in one, in another it does not
each_alert_fires_and_does_not() {
	local alert
	while read -r alert; do
		[ "$(grep -cx " *alertname: $alert" tests/system/metrics_alerts.yml)" -ge 2 ] || { echo "no two cases of $alert"; return 1; }
	done < <(sed -n 's/^ *- alert: //p' etc/prometheus/phoenix.rules.yml)
	cp tests/system/metrics_alerts.yml etc/prometheus/phoenix.rules.yml "$WORK/" && promtool test rules "$WORK/metrics_alerts.yml" >"$WORK/out" 2>&1 || { cat "$WORK/out"; return 1; }
}
ask() { curl -sS -m 20 "http://127.0.0.1:$PORT/api/v1/$1" "${@:2}" >"$WORK/answer"; }
# has_data EXPR: Prometheus gives it a value
has_data() { ask query --data-urlencode "query=$1" && jq -e '.status == "success" and (.data.result | length) > 0' "$WORK/answer" >/dev/null; }
prometheus_scrapes() {
	mkdir -p "$WORK/tsdb" && sed "s/head.example.org:8443/127.0.0.1:$HTTPS/; s/15s/1s/; s/scrape_timeout: 10s/scrape_timeout: 1s/" "$WORK/example/prometheus.yml" >"$WORK/example/test.yml" &&
		cp "$WORK/head/pki/ca.pem" "$WORK/example/phoenix/ca.pem" || return 1
	prometheus --config.file="$WORK/example/test.yml" --storage.tsdb.path="$WORK/tsdb" --web.listen-address="127.0.0.1:$PORT" >>"$WORK/prometheus.log" 2>&1 &
	PROMETHEUS=$!
	until_true 30 has_data 'up{job="phoenix"} == 1' || { tail -5 "$WORK/prometheus.log"; cat "$WORK/answer"; return 1; }
}
# what happens while it scrapes is what increase() and rate() need
something_happens() {
	local i
	for i in 1 2; do
		phx node assign n2 web-server --yes --wait --timeout 60 >"$WORK/out" 2>&1 && phx node release n2 --yes --wait --timeout 60 >"$WORK/out" 2>&1 || { cat "$WORK/out"; return 1; }
	done
	until_true 20 has_data 'increase(phx_handover_seconds_count{setup="noop"}[1h]) > 0'
}
# the queries of the dashboard, with its variables as Grafana fills them in
queries() {
	jq -r '.panels[] | .title as $title | (.targets // [])[] | "\($title)\t\(.expr)"' etc/grafana/phoenix.json |
		sed 's/\$__rate_interval/1m/g; s/\$__range/1h/g; s/\$instance/.*/g; s/\$node/.*/g'
}
every_query_has_an_answer() {
	local title expr n=0 bad=0
	while IFS=$'\t' read -r title expr; do
		n=$((n + 1))
		until_true 10 has_data "$expr" || { echo "panel '$title': $expr: $(head -c 300 "$WORK/answer")"; bad=1; }
	done < <(queries)
	echo "    $n queries"
	[ "$n" -ge 50 ] && [ $bad = 0 ]
}
# no rule is about a metric that there is not
rules_name_what_there_is() {
	local name bad=0
	metrics || return 1
	while read -r name; do
		grep -qE "^# TYPE ($name|$(sed -E 's/_(bucket|sum|count)$//' <<<"$name")) " "$WORK/metrics" || { echo "rules or dashboard name $name, which there is not"; bad=1; }
	done < <(cat etc/prometheus/phoenix.rules.yml etc/grafana/phoenix.json | grep -oE '\bphx_[a-z0-9_]+' | sort -u)
	return $bad
}
the_dashboard_is_whole() {
	jq -e '[.panels[].id] as $ids | ($ids | length) == ($ids | unique | length) and .title == "Phoenix" and .uid == "phoenix" and ([.panels[] | select(.type == "row").title] |
		. == ["Overview", "Hand-overs", "Nodes", "Web", "Batch", "Erases", "The head'\''s health"]) and ([.panels[] | select(.type != "row") | (.gridPos | .x + .w <= 24) and (.targets | length > 0)] | all)' \
		etc/grafana/phoenix.json >/dev/null
}

# ---- configuration, and a restart ----

serves_twice() {
	scrape prometheus -o "$WORK/first" && scrape prometheus -o "$WORK/second" && cmp -s "$WORK/first" "$WORK/second"
}
gzip_is_the_same() { until_true 20 packed_is_plain; }
one_rendering_serves_all() { until_true 20 serves_twice; }
again() { # KEY = VALUE;...
	head_stop
	sed -i '/^metrics_/d' "$PHX_CONFIG" && echo "$1" >>"$PHX_CONFIG" && head_start
}
nodes_come_in_pages() {
	again 'metrics_nodes = 1; metrics_keep_s = 0;' && metrics && [ "$(value phx_node_pages)" = 2 ] && row 'phx_node_up\{node="n1"\}' && ! row 'phx_node_up\{node="n2"\}' >/dev/null || return 1
	api '/v1/metrics?page=2' >"$WORK/metrics" && row 'phx_node_up\{node="n2"\}' && ! grep -q 'n1\|phx_build_info' "$WORK/metrics" && promtool check metrics <"$WORK/metrics" &&
		api '/v1/metrics?page=3' >"$WORK/metrics" && ! grep -q 'node=' "$WORK/metrics" && [ "$(api '/v1/metrics?page=x' -o /dev/null -w '%{http_code}')" = 400 ]
}
nodes_can_be_left_out() { again 'metrics_nodes = 0;' && metrics && ! grep -q '^phx_node_[a-oq-z]' "$WORK/metrics" && [ "$(value phx_node_pages)" = 0 ] && row 'phx_nodes_up '; }
counters_begin_anew() { metrics && [ "$(value 'phx_handover_seconds_count{setup="noop"}')" = 0 ] && [ "$(value phx_journal_events_total)" -gt 10 ]; }

head_init 'metrics_keep_s = 1;'
roles_init
for n in 1 2; do
	phx node add n$n --mac 02:00:00:00:00:0$n >/dev/null
	node_init n$n $n
	agent_start n$n
	until_true 20 is n$n .state ready || { not_ok "n$n is not ready"; exit 1; }
done
(cd "$WORK" && phx cert issue prometheus --out "$WORK/prometheus") >/dev/null && phx access grant cert:prometheus auditor 2>/dev/null || { not_ok "no certificate"; exit 1; }
cat >"$WORK/queue.conf" <<-END
	name = "queue"; type = "parallel_batch_jobs"; relationship = "same"; granularity = "node"; coordinated_RE = "none"; resource_coordination_model = "fb";
	lower_bound_size = 1; upper_bound_size = 1; lease = "2s"; scheduler = "first-fit"; users = "nobody";
END
{ phx re create "$WORK/queue.conf" && phx re activate queue --wait --timeout 60; } >"$WORK/out" 2>&1 || { cat "$WORK/out"; not_ok "queue does not run"; exit 1; }
for i in 1 2; do
	{ phx node assign n2 web-server --yes --wait --timeout 60 && phx node release n2 --yes --wait --timeout 60; } >"$WORK/out" 2>&1 || { cat "$WORK/out"; not_ok "n2 is not handed over"; exit 1; }
done
for test in the_text_is_sound nodes_are_told handovers_are_counted the_head_is_told an_auditor_sees_all gzip_is_the_same others_see_no_node a_stranger_sees_nothing \
	one_rendering_serves_all the_dashboard_is_whole rules_and_example_are_sound each_alert_fires_and_does_not prometheus_scrapes something_happens every_query_has_an_answer \
	rules_name_what_there_is nodes_come_in_pages nodes_can_be_left_out counters_begin_anew; do
	check "$test" "$test"
done
exit $FAILED
