# Browsers without one: sessions of users of this machine by curl, as a page has them. Sourced after phxd.bash.
#
#	sign_in USER NAME [WORD]      a session NAME of that user, by a link that he asks for
#	browse NAME METHOD PATH [ARGUMENTS...]   its answer, status in the last line; NAME "-": nobody's
#	page NAME METHOD PATH [ARGUMENTS...]     the same with the token and the origin that a page of the portal shows

link_of() { setpriv --reuid="$1" --regid="$(id -g "$1")" --init-groups "$BUILD/bin/phx" portal 2>/dev/null; }
word_of() { link_of "$1" | sed -n 's/.*#link=//p'; }
browse() {
	local jar=()
	[ "$1" = - ] || jar=(-b "$WORK/$1.jar")
	curl -sS -m 20 --cacert "$WORK/head/pki/ca.pem" "${jar[@]}" -X "$2" "https://127.0.0.1:$HTTPS$3" -w '\n%{http_code}' "${@:4}" </dev/null
}
token_of() { browse "$1" GET /v1/session | head -n 1 | jq -r .token; }
page() { browse "$1" "$2" "$3" -H "Origin: https://127.0.0.1:$HTTPS" -H 'Sec-Fetch-Site: same-origin' -H "Phoenix-Token: $(token_of "$1")" "${@:4}"; }
sign_in() {
	local word=${3-$(word_of "$1")}
	browse - POST /v1/session -c "$WORK/$2.jar" -d "{\"word\": \"$word\"}" | tail -n 1
}
status() { "$@" | tail -n 1; }
