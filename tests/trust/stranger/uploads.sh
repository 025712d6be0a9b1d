#!/bin/bash
# A stranger on the network sends files: without a certificate, with one that is revoked, with one of another site. Not a byte of
# them is kept, and he is told so before he has sent them.
. "$(dirname "$0")/../trust.bash"

URL=https://127.0.0.1:$HTTPS
spooled() { find "$WORK/head" -name 'phx-upload-*' | wc -l; }
# sends WANTED OPTION...: a large file, slowly, to where files go; its spool is looked at all the while
sends() {
	local wanted=$1 path got seen=0 sent
	for path in /v1/res/closed/data/x /v1/agent/jobs/1/output /v1/agent/jobs/1/out/0; do
		curl -sS -m 20 --limit-rate 8M -k -X PUT "${@:2}$path" -T "$WORK/large" -o "$WORK/answer" -w '%{http_code} %{size_upload}' >"$WORK/got" 2>/dev/null &
		while kill -0 $! 2>/dev/null; do seen=$((seen + $(spooled))); done
		read -r got sent <"$WORK/got"
		[[ $got =~ ^($wanted)$ ]] && [ "$seen" = 0 ] && [ "${sent%.*}" -lt 20000000 ] || { echo "${*:2}$path: $got, sent $sent, spooled $seen times: $(head -c 300 "$WORK/answer")"; return 1; }
	done
}
without_a_certificate_nothing_is_kept() { sends 403 "$URL"; }
over_plain_http_neither() { sends '403|404|405' "http://127.0.0.1:$HTTP"; }
nor_with_one_that_is_revoked() {
	phx cert issue eve --kind provider --out "$WORK/eve" >/dev/null 2>&1 && phx cert revoke eve 2>/dev/null
	sends 403 --cert "$WORK/eve/cert.pem" --key "$WORK/eve/key.pem" "$URL"
}
nor_with_one_of_another_site() {
	openssl req -x509 -newkey rsa:2048 -nodes -keyout "$WORK/own.key" -out "$WORK/own.pem" -days 1 -subj '/O=phoenix/OU=provider/CN=root' 2>/dev/null || return 1
	sends 403 --cert "$WORK/own.pem" --key "$WORK/own.key" "$URL"
}
# bodies that are no files have small limits, and are dropped
large_bodies_are_none() {
	local got
	got=$(curl -sS -m 20 -k "$URL/v1/agent/enrol" -H 'Content-Type: application/json' --data-binary @"$WORK/large" -o /dev/null -w '%{http_code} %{size_upload}' 2>/dev/null)
	[ "${got% *}" = 413 ] && [ "${got#* }" -lt 20000000 ] || { echo "$got"; return 1; }
}

trust_head
agreement closed '' || { not_ok "RE closed is not active: $(cat "$WORK/re.log")"; exit 1; }
head -c 60M /dev/zero >"$WORK/large"
check without_a_certificate_nothing_is_kept without_a_certificate_nothing_is_kept
check over_plain_http_neither over_plain_http_neither
check nor_with_one_that_is_revoked nor_with_one_that_is_revoked
check nor_with_one_of_another_site nor_with_one_of_another_site
check large_bodies_are_none large_bodies_are_none
exit $FAILED
