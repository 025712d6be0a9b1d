# Users of this machine with passwords that tests know, and real PAM: the script runs in a view of the file system of its own, in which
# passwd, shadow and pam.d are copies. Sourced first; private_users after $WORK is there.
#
#	alice: "correct horse"; gone: the same, but the account has expired; stale: the same, but the password has; shut: it is locked

[ "$(id -u)" = 0 ] || { echo "skip passwords: only root makes a view of the file system of its own"; exit 0; }
[ -n "${PRIVATE_ETC:-}" ] || PRIVATE_ETC=1 exec unshare --mount --propagation private "$BASH" "$0" "$@"

PASSWORD='correct horse'
add_user() { # NAME NUMBER HASH DAYS_CHANGED DAY_OF_END
	printf '%s:x:%s:%s::/:/bin/sh\n' "$1" "$2" "$2" >>"$WORK/etc-of-users/passwd"
	printf '%s:%s:%s:0:99999:7::%s:\n' "$1" "$3" "$4" "$5" >>"$WORK/etc-of-users/shadow"
	printf '%s:x:%s:\n' "$1" "$2" >>"$WORK/etc-of-users/group"
}
private_users() {
	local to=$WORK/etc-of-users file hash
	mkdir "$to" && cp -a /etc/passwd /etc/shadow /etc/group /etc/pam.d "$to" && cp etc/pam.d/phoenix "$to/pam.d/" || return 1
	hash=$(openssl passwd -6 -salt phoenix "$PASSWORD")
	add_user alice 47110 "$hash" 19000 ''
	add_user gone 47111 "$hash" 19000 19001
	add_user stale 47112 "$hash" 0 ''
	add_user shut 47113 "!$hash" 19000 ''
	sed -i "s|^root:[^:]*:|root:$hash:|" "$to/shadow"
	for file in passwd shadow group pam.d; do mount --bind "$to/$file" "/etc/$file" || return 1; done
}
# with_password NAME USER PASSWORD [ARGUMENTS...]: a session NAME, where that is the password; the status, and the answer in $WORK/answer
with_password() {
	browse - POST /v1/session -c "$WORK/$1.jar" -d "$(jq -nc --arg user "$2" --arg password "$3" '{$user, $password}')" "${@:4}" >"$WORK/answer"
	tail -n 1 "$WORK/answer"
}
