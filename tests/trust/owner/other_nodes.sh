#!/bin/bash
# The owner of an RE has root on his node and its key, and asks with its certificate for what is of others: the key of a disk, the image and
# the package that only another tenant's node is to have, the order that it waits for, what goes into and comes out of a job elsewhere, what
# somebody asked another node. Those nodes are given theirs, which shows that there was something to get.
. "$(dirname "$0")/../trust.bash"

is_issued() { [ "$(field "$1" '.plan.steps[.plan.cursor] | "\(.kind) \(.status)"')" = "$2 issued" ]; }
# what a node would beat that does nothing of what it is told
beat_of() { api "/v1/nodes/$1" | jq -c '{boot_id, env, running: [], wait_ms: 0}'; }
# not_there NAME METHOD PATH ...: and what is answered has nothing of it
not_there() { gets '400|403|404|409' by_node "$@" && ! grep -qE 'of-others-alone|"key"|"sealed"' "$WORK/answer"; }

the_key_of_another_disk() {
	local id
	id=$(field n3 .disk_key_id)
	[ -n "$id" ] && disk_key n3 "$id" b1 >/dev/null && ! disk_key $ME "$id" b1 >/dev/null && not_there $ME POST "/v1/agent/disk-key/$id" -d '{}' &&
		not_there $ME POST "/v1/agent/disk-key/../disk-key/$id" -d '{}' && not_there $ME POST "/v1/agent/disk-key/$id%00" -d '{}' &&
		not_there $ME POST "/v1/agent/disk-key/n3" -d '{}'
}
images_and_packages_of_others() {
	local file
	for file in /images/other/1/vmlinuz /images/other/1/root.ext4.zst /packages/secret-1.tar.zst; do
		gets 200 by_node n3 GET "$file" -o /dev/null && not_there $ME GET "$file" && not_there $WORKER GET "$file" || return 1
	done
}
is_told() { [ "$(by_node "$1" POST /v1/agent/beat -d "$(beat_of "$1")")" = 200 ] && head -n 1 "$WORK/answer" | jq -e '.orders | length > 0'; }
# nor is he told what another is to do, whatever name he says
orders_of_others() {
	local body name
	is_issued n3 activate || { echo "n3 waits for nothing: $(field n3 .plan.steps)"; return 1; }
	for name in n3 N3 '../n3' "$ME n3"; do
		body=$(beat_of $ME | jq -c --arg n "$name" '. + {node: $n, name: $n}')
		gets 200 by_node $ME POST /v1/agent/beat -d "$body" && head -n 1 "$WORK/answer" | jq -e '.orders == []' >/dev/null || { echo "$body"; cat "$WORK/answer"; return 1; }
	done
	until_true 20 is_told n3
}
answers_for_others() {
	local step
	step=$(field n3 '.plan.steps[.plan.cursor].id')
	by_node $ME POST /v1/agent/result -d "$(field n3 '. as $n | .plan.steps[.plan.cursor] | {kind: "step", node: "n3", id, epoch: $n.plan.epoch, attempt, nonce, result: 0, text: ""}')" >/dev/null
	is_issued n3 activate && [ "$(field n3 '.plan.steps[.plan.cursor].id')" = "$step" ] || { echo "the step of n3 is done"; return 1; }
	by_node $ME POST /v1/agent/result -d "{\"kind\": \"job\", \"id\": $JOB, \"run\": 0, \"result\": 0}" >/dev/null
	[ "$(api "/v1/jobs/$JOB" | jq -r .state)" = running ]
}
files_of_a_job_elsewhere() {
	gets 200 by_node $WORKER GET "/v1/agent/jobs/$JOB/in/0?run=0" && grep -q of-others-alone "$WORK/answer" || return 1
	not_there $ME GET "/v1/agent/jobs/$JOB/in/0?run=0" && not_there $ME PUT "/v1/agent/jobs/$JOB/out/0?run=0" --data-binary forged &&
		not_there $ME PUT "/v1/agent/jobs/$JOB/output?run=0" --data-binary forged && not_there $ME GET "/v1/jobs/$JOB/output" || return 1
	gets 200 by_node $WORKER PUT "/v1/agent/jobs/$JOB/out/0?run=0" --data-binary right && [ "$(ask games GET /v1/res/closed/data/out)" = 200 ] && grep -qx right "$WORK/answer"
}
logs_of_others() {
	local id
	(api "/v1/nodes/$WORKER/logs?service=x" >"$WORK/logs" &)
	until_true 10 asked_for_logs || { echo "$WORKER is not asked: $(cat "$WORK/$WORKER.orders")"; return 1; }
	id=$(jq '.orders[] | select(.kind == "logs").id' "$WORK/$WORKER.orders" | head -n 1)
	by_node $ME POST /v1/agent/logs -d "{\"id\": $id, \"node\": \"$WORKER\", \"service\": \"x\", \"text\": \"forged\"}" >/dev/null
	by_node $WORKER POST /v1/agent/logs -d "{\"id\": $id, \"service\": \"x\", \"text\": \"true\"}" >/dev/null
	until_true 10 grep -q '"text": *"true"' "$WORK/logs" && ! grep -q forged "$WORK/logs" || { cat "$WORK/logs"; return 1; }
}
asked_for_logs() { jq -e '.orders[]? | select(.kind == "logs")' "$WORK/$WORKER.orders" >/dev/null; }
# nor what people are told
nothing_that_people_are_told() {
	local path
	for path in /v1/nodes /v1/nodes/n3 /v1/events /v1/jobs "/v1/jobs/$JOB" /v1/res /v1/res/closed /v1/res/closed/data/in /v1/nodes/n3/erasures /v1/erasures /v1/roles /v1/config \
		/v1/certs /v1/status /v1/anchors /v1/metrics; do
		gets 403 by_node $ME GET "$path" || return 1
	done
}

trust_head
package secret 1 'echo of-others-alone'
mkdir -p "$WORK/head/images/other/1"
for file in vmlinuz root.squashfs; do echo of-others-alone >"$WORK/head/images/other/1/$file"; done
echo of-others-alone | zstd -q >"$WORK/head/images/other/1/root.ext4.zst"
manifest_of "$WORK/head/images/other/1" rootfs vmlinuz root.squashfs root.ext4.zst >/dev/null
sed -i 's/image = "test"/image = "other"/; s/"tools"/"secret"/' "$WORK/etc/roles/vault.conf"
post /v1/reload >/dev/null
agreement closed '' || { not_ok "RE closed is not active: $(cat "$WORK/re.log")"; exit 1; }
WORKER=$([ "$(field n1 .pool)" = closed ] && echo n1 || echo n2) ME=$([ "$(field n1 .pool)" = closed ] && echo n2 || echo n1)
until_true 30 idle $WORKER active batch && action assign "{\"nodes\": \"$ME\", \"role\": \"web\"}" >/dev/null && until_true 30 idle $ME active web || { not_ok "no tenants"; exit 1; }
post /v1/nodes '{"name": "n3", "macs": ["02:00:00:00:00:03"]}' >/dev/null
fake_start n3 3 --hang activate
until_true 20 idle n3 ready "" && action assign '{"nodes": "n3", "role": "vault"}' >/dev/null && until_true 30 is_issued n3 activate || { not_ok "n3 is not deployed"; exit 1; }
# from here on each is what somebody makes of its key
for node in n1 n2; do agent_kill $node; done
echo of-others-alone >"$WORK/in" && chmod 644 "$WORK/in" && refused 200 games PUT /v1/res/closed/data/in -T "$WORK/in" || { not_ok "nothing to stage"; exit 1; }
keep_up() {
	while sleep 0.5; do
		for node in n1 n2; do
			curl -sS -m 5 --cacert "$WORK/head/pki/ca.pem" --cert "$WORK/$node/cert.pem" --key "$WORK/$node/key.pem" -w '\n' \
				"https://127.0.0.1:$HTTPS/v1/agent/beat" -d "$(beat_of $node)" >>"$WORK/$node.orders"
		done
	done
}
keep_up >/dev/null 2>&1 &
BEATS=$!
JOB=$(as games "$BUILD/bin/phx" job submit --re closed --stage-in in --stage-out out -- true)
until_true 20 eval '[ "$(api "/v1/jobs/$JOB" | jq -r .state)" = running ]' || { not_ok "the job does not run"; exit 1; }
for t in the_key_of_another_disk images_and_packages_of_others orders_of_others answers_for_others files_of_a_job_elsewhere logs_of_others \
	nothing_that_people_are_told; do check $t $t; done
kill $BEATS
exit $FAILED
