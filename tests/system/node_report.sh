#!/bin/bash
# phx node report: the archive has what it says, and no secret: known ones are put into every place that could carry one out (what a service
# wrote, the kernel's command line and log, the agent's messages, what the head kept, events, notes, labels, the configuration), and none is in
# it. That the search would find them is shown by the same search in what the archive is made of.
. "$(dirname "$0")/agents.bash"

# what must not leave the site; each is written in a form in which it is met
SECRETS=(hunter2bmc 7.5ecfe7a11c0ffee5ecfe7a11c0ffee5ecfe7a11c0ffee5ecfe7a11c0ffee5ec MIISECRETKEYMATERIAL '$6$saltsalt$SECRETHASHSECRETHASHSECRETHASH' tokenSECRETtoken basicSECRETbasic urlSECRETpw)
FORMS='bmc password=hunter2bmc
cmdline: phx.start=7.5ecfe7a11c0ffee5ecfe7a11c0ffee5ecfe7a11c0ffee5ecfe7a11c0ffee5ec quiet
-----BEGIN PRIVATE KEY-----
MIISECRETKEYMATERIAL
-----END PRIVATE KEY-----
root:$6$saltsalt$SECRETHASHSECRETHASHSECRETHASH:19000::
X-Auth-Token: tokenSECRETtoken
Authorization: Basic basicSECRETbasic
GET https://admin:urlSECRETpw@10.0.0.9/redfish'

# found DIR: how many of the secrets are somewhere in it
found() {
	local secret n=0
	for secret in "${SECRETS[@]}"; do ! grep -rqF -- "$secret" "$1" || n=$((n + 1)); done
	echo $n
}
report() { rm -rf "$WORK/unpacked" && mkdir "$WORK/unpacked" && phx node report n1 -f "$WORK/report.tar.zst" >"$WORK/out" 2>"$WORK/err" && tar --zstd -xf "$WORK/report.tar.zst" -C "$WORK/unpacked" && TOP=$(echo "$WORK"/unpacked/phoenix-report-*); }

it_has_what_it_says() {
	local file
	report || { cat "$WORK/out" "$WORK/err"; return 1; }
	for file in version.json status.json config.json roles.json images.json packages.json n1/node.json n1/events.json n1/agent.log n1/kept.log; do
		[ -s "$TOP/$file" ] || { echo "$file is not in it"; find "$TOP"; cat "$WORK/err"; return 1; }
	done
	jq -e '.name == "n1" and .facts.serial == "SN1" and (.plan.steps | length) > 0' "$TOP/n1/node.json" >/dev/null && jq -e 'length > 3 and .[-1].seq > 0' "$TOP/n1/events.json" >/dev/null &&
		grep -q 'what was seen' "$TOP/n1/why.txt" && grep -q 'step failed: start' "$TOP/n1/why.txt" &&
		grep -q 'registered as n1' "$TOP/n1/agent.log" && [ "$(stat -c %a "$WORK/report.tar.zst")" = 600 ] && grep -q 'report.tar.zst: [0-9]* files of 1 node' "$WORK/out"
}
# what could not be had is named, with the reason, and nothing else is; what the head kept is there
holes_are_named() {
	agent_kill n1
	until_true 20 is n1 .up false && report || { cat "$WORK/out" "$WORK/err"; return 1; }
	grep -q '^n1/agent.log: n1 is not heard' "$TOP/missing.txt" && ! grep -q 'node.json' "$TOP/missing.txt" && grep -q 'agent.log' "$WORK/err" || { cat "$TOP/missing.txt" "$WORK/err"; return 1; }
	[ ! -e "$TOP/n1/agent.log" ] && grep -q 'step [0-9]*: phx-agent: step' "$TOP/n1/kept.log" && [ "$(found "$TOP")" = 0 ]
}
# the positive control: what the archive is made of has them all
the_search_finds_them() {
	mkdir -p "$WORK/raw"
	api "/v1/nodes/n1/logs?of=agent&lines=10000" | jq -r .text >"$WORK/raw/agent"
	api "/v1/nodes/n1/logs?of=kept" | jq -r .text >"$WORK/raw/kept"
	api "/v1/events?node=n1" >"$WORK/raw/events"
	api /v1/nodes/n1 >"$WORK/raw/node"
	[ "$(found "$WORK/raw")" = ${#SECRETS[@]} ] || { echo "it finds $(found "$WORK/raw") of ${#SECRETS[@]}"; return 1; }
	# one by one, so that none of the places is without any
	for place in agent kept events node; do
		mkdir -p "$WORK/one" && cp "$WORK/raw/$place" "$WORK/one/" && [ "$(found "$WORK/one")" -ge 1 ] || { echo "none is in $place"; return 1; }
		rm -r "$WORK/one"
	done
}
none_is_in_it() {
	[ "$(found "$TOP")" = 0 ] || { for s in "${SECRETS[@]}"; do grep -rF -- "$s" "$TOP" | cut -c1-300; done; return 1; }
	# nor in the archive's own bytes, unpacked
	zstd -dc "$WORK/report.tar.zst" >"$WORK/report.tar" && for s in "${SECRETS[@]}"; do ! grep -qaF -- "$s" "$WORK/report.tar" || return 1; done
	grep -rq '(left out)' "$TOP"
}
# nor what the head's own files hold: a key in words is sought by its first line, one of bytes by their digits
nor_keys_of_the_head() {
	local key word n=0
	for key in "$WORK"/head/pki/*.key "$WORK/package.key"; do
		word=$(grep -aq -- '-----BEGIN' "$key" && sed -n 2p "$key" || od -An -tx1 -N16 "$key" | tr -d ' \n')
		[ ${#word} -ge 20 ] && ! grep -rqF -- "$word" "$TOP" || { echo "$key: '$word'"; return 1; }
		n=$((n + 1))
	done
	[ $n -ge 3 ]
}
who_may_not_see_gets_less() {
	setpriv --reuid nobody --regid users --clear-groups "$BUILD/bin/phx" node report n1 -f /tmp/phx-report-nobody.$$ >"$WORK/out" 2>"$WORK/err"
	rm -rf "$WORK/his" && mkdir "$WORK/his" && tar --zstd -xf /tmp/phx-report-nobody.$$ -C "$WORK/his"
	rm -f /tmp/phx-report-nobody.$$
	grep -q 'agent.log: not permitted' "$WORK"/his/*/missing.txt && [ ! -e "$WORK"/his/*/n1/agent.log ] && ! grep -rq SN1 "$WORK/his" ||
		{ find "$WORK/his"; cat "$WORK/out" "$WORK/err"; grep -r SN1 "$WORK/his"; return 1; }
}
a_bad_one_leaves_nothing() {
	phx node report n9 -f "$WORK/none" >"$WORK/out" 2>&1 && return 1
	[ ! -e "$WORK/none" ] && [ ! -e "$WORK/none.part" ] && ! phx node report n1 -f "$WORK/nowhere/none" >"$WORK/out" 2>&1 && grep -q nowhere "$WORK/out"
}

head_init || exit 1
cat >"$WORK/etc/roles/web.conf" <<-END
	summary = "pages"; pool = "web"; image = "test"; boot = "ram"; packages = [ "web" ];
	services = ( { name = "web"; package = "web"; exec = [ "bin/web" ]; stop_grace = "2s"; } );
END
printf '%s\n' "$FORMS" >"$WORK/forms" && chmod 644 "$WORK/forms"
package web 1.0 "cat $WORK/forms; while :; do sleep 0.2; done"
phx reload >/dev/null
phx node add n1 --mac 02:00:00:00:00:01 >/dev/null
node_init n1 1
agent_start n1
until_true 20 is n1 .state ready || not_ok "n1 is ready"
phx node note n1 "somebody wrote password=hunter2bmc here" >/dev/null
phx node assign n1 web --yes --wait --timeout 60 >"$WORK/out" 2>&1 || { not_ok "n1 does not serve"; cat "$WORK/out"; }
# a step that fails brings it to the head
package web 2.0 "cat $WORK/forms >&2; exit 7"
phx reload >/dev/null
phx node assign n1 web --yes --wait --timeout 60 >"$WORK/out" 2>&1
until_true 20 eval "api '/v1/nodes/n1/logs?of=kept' | grep -q hunter2bmc"
for t in it_has_what_it_says the_search_finds_them none_is_in_it nor_keys_of_the_head who_may_not_see_gets_less a_bad_one_leaves_nothing holes_are_named; do check $t $t; done
exit $FAILED
