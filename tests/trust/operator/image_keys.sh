#!/bin/bash
# Somebody alters an image on the head, or signs another one there with a key that he finds: with images_signed the head gives it to nobody,
# says which it is, and roles keep the image that they had. Or he takes the newest deploy image away, or restores the one of before, with a
# fault that the newer one has no more: no machine is started with it unless phoenix.conf says so. What an agent makes of such an order is in tests/unit/agent/test_order.c.
. "$(dirname "$0")/../../system/phxd.bash"

STORE=$WORK/head/images
role() { # IMAGE VERSION
	printf 'summary = "a test"; pool = "web"; image = "%s"; image_version = "%s";\n' "$1" "$2" >"$WORK/etc/roles/web.conf"
	phx reload >"$WORK/reload" 2>&1
}
version() { phx role show web -o json | jq -r .image_version; }
boot() { curl -sS -m 20 "http://127.0.0.1:$HTTP/boot/02:00:00:00:00:01" >"$WORK/boot"; }
boots() { boot && grep -q '^kernel ' "$WORK/boot"; }
refused_to_boot() { boot && ! grep -q '^kernel ' "$WORK/boot" && grep -q "$1" "$WORK/boot" || { cat "$WORK/boot"; return 1; }; }
copy_of_test() { # VERSION: another version of the image, unsigned
	cp -a "$STORE/test/1" "$STORE/test/$1" && rm -f "$STORE/test/$1/manifest.sig" && sed -i "s/version = \"1\"/version = \"$1\"/" "$STORE/test/$1/manifest.conf"
}

a_signed_one_is_used() { role test 1 && [ "$(version)" = 1 ] && boots; }
an_unsigned_one_is_not() {
	copy_of_test 2
	role test 2 && return 1
	grep -q 'image test 2 is not signed (images_signed): phx image sign' "$WORK/reload" && [ "$(version)" = 1 ] &&
		phx image list 2>&1 | grep -q 'test/2: image test 2 is not signed' || { cat "$WORK/reload"; return 1; }
}
signed_by_a_key_of_the_head_is_not() {
	local key
	for key in site attest; do
		phx image sign "$STORE/test/2" --sign-key "$WORK/head/pki/$key.key" >/dev/null && role test 2 && return 1
		grep -q 'image test 2 was altered, or is not signed by a key of' "$WORK/reload" || { cat "$WORK/reload"; return 1; }
	done
}
# The manifest with another digest: the image that every node boots is given to no machine, which is shown why.
one_byte_is_enough() {
	local manifest=$STORE/deploy/1/manifest.conf before after
	cp "$manifest" "$WORK/manifest"
	before=$(grep -oE 'sha256 = "[0-9a-f]' "$manifest" | head -n 1)
	after=${before%?}$([ "${before: -1}" = 0 ] && echo 1 || echo 0)
	sed -i "0,/$before/s//$after/" "$manifest"
	! cmp -s "$manifest" "$WORK/manifest" || return 1
	refused_to_boot 'image deploy 1 was altered, or is not signed by a key of' || return 1
	[ "$(curl -sS -m 20 -o "$WORK/out" -w '%{http_code}' "http://127.0.0.1:$HTTP/images/deploy/1/vmlinuz")" != 200 ] || { echo "it is served"; return 1; }
	cp "$WORK/manifest" "$manifest" && boots
}
without_its_signature_it_boots_nobody() {
	mv "$STORE/deploy/1/manifest.sig" "$WORK/" && refused_to_boot 'image deploy 1 is not signed' && mv "$WORK/manifest.sig" "$STORE/deploy/1/" && boots
}
nodes_are_told_to_demand_it() { curl -sS -m 20 "http://127.0.0.1:$HTTP/site.cpio" | cpio --quiet -t | grep -qx 'etc/phoenix/images.signed'; }
# The images of before are used where nobody asked for more.
unasked_it_is_as_before() {
	head_stop
	sed -i 's/images_signed = true;//' "$WORK/etc/phoenix.conf"
	head_start
	rm "$STORE/deploy/1/manifest.sig" "$STORE/test/2/manifest.sig" && boots && role test 2 && [ "$(version)" = 2 ]
}
told() { phx events --lines 0 2>/dev/null | grep -q "$1"; }
an_older_deploy_image_boots_nobody_unsaid() {
	local why='deploy image deploy 1 is older than 2, which was used: to go back, phoenix.conf says deploy_allow_older'
	cp -a "$STORE/deploy/1" "$STORE/deploy/2" && sed -i 's/version = "1"/version = "2"/' "$STORE/deploy/2/manifest.conf" || return 1
	boots && grep -q 'deploy/2' "$WORK/boot" && told 'deploy image deploy 2 from now on, and no more with 1' || { cat "$WORK/boot"; return 1; }
	rm -r "$STORE/deploy/2"
	refused_to_boot "$why" && ! phx reload >"$WORK/reload" 2>&1 && grep -q "$why" "$WORK/reload" && told "$why" || { cat "$WORK/reload"; return 1; }
	[[ $(phx status -o json | jq -r .deploy.error) = "$why"* ]] || return 1
	head_stop && head_start && refused_to_boot "$why"
}
where_it_is_said_it_does() {
	head_stop
	echo 'deploy_allow_older = [ "deploy-1" ];' >>"$WORK/etc/phoenix.conf"
	head_start
	boots && grep -q 'deploy/1' "$WORK/boot" && told 'deploy image deploy 1 from now on, and no more with 2: an older one'
}

head_conf 'images_signed = true;'
package_key
phx image sign "$STORE/test/1" "$STORE/deploy/1" >/dev/null || not_ok "the images are signed"
head_start
post /v1/nodes '{"name": "n1", "macs": ["02:00:00:00:00:01"]}' >/dev/null
for t in a_signed_one_is_used an_unsigned_one_is_not signed_by_a_key_of_the_head_is_not one_byte_is_enough without_its_signature_it_boots_nobody \
	nodes_are_told_to_demand_it unasked_it_is_as_before an_older_deploy_image_boots_nobody_unsaid where_it_is_said_it_does; do check $t $t; done
exit $FAILED
