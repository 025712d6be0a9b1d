#!/bin/bash
# A user puts links, fifos and files of others into his directory within an RE, and has the head read and write there. What comes is what he
# could have had without it: a process that is he looks, in that directory and nowhere else.
. "$(dirname "$0")/../trust.bash"

OWN= # his directory
get() { ask nobody GET "/v1/res/named/data/$1"; }
put() { ask nobody PUT "/v1/res/named/data/$1" --data-binary "${2:-mine}"; }
came() { grep -q "$1" "$WORK/answer"; }

his_own_comes_back() {
	[ "$(put in/mine words)" = 200 ] && [ "$(get in/mine)" = 200 ] && came words || return 1
	OWN=$WORK/head/re/named/users/nobody
	[ "$(stat -c '%U %G %a' "$OWN/in/mine" "$OWN/in" | sort -u)" = "nobody $(id -gn nobody) 644
nobody $(id -gn nobody) 755" ] && [ "$(stat -c '%U %a' "$WORK/head/re/named/users")" = 'root 711' ]
}
links_lead_nowhere() {
	local name
	echo t0p >"$WORK/secret" && chmod 644 "$WORK/secret"
	# the RE's directory is closed to him; a job of his could have brought them
	ln -s "$WORK/secret" "$OWN/link" && ln -s "$WORK" "$OWN/dir" && ln -s /etc/shadow "$OWN/shadow" && mkfifo "$OWN/fifo" &&
		chown -h nobody "$OWN"/{link,dir,shadow,fifo} || return 1
	for name in link dir/secret shadow fifo ../../../../keys; do
		[ "$(get "$name")" != 200 ] && ! came t0p && ! came 'root:' || { echo "$name: $(cat "$WORK/answer")"; return 1; }
	done
	[ "$(put dir/secret taken)" != 200 ] && [ "$(cat "$WORK/secret")" = t0p ] && [ "$(put dir/new taken)" != 200 ] && [ ! -e "$WORK/new" ] || { ls -l "$WORK" "$OWN"; cat "$WORK/answer"; return 1; }
}
what_he_may_not_read_does_not_come() {
	echo t0p >"$OWN/roots" && chmod 600 "$OWN/roots"
	[ "$(get roots)" = 403 ] && ! came t0p || { cat "$WORK/answer"; return 1; }
	mkdir "$OWN/closed" && echo t0p >"$OWN/closed/file" && chmod 700 "$OWN/closed"
	[ "$(get closed/file)" = 403 ] && ! came t0p && [ "$(put closed/new)" = 403 ] && [ ! -e "$OWN/closed/new" ]
}
a_list_shows_what_he_sees() {
	[ "$(ask nobody GET /v1/res/named/data)" = 200 ] && came '"in/mine"' && ! came closed/file && ! came t0p
}
# the owner of the RE moves the users' directories away, and puts his own there
an_owner_is_not_his_users() {
	local users=$WORK/head/re/named/users
	mv "$users" "$WORK/away" && as games mkdir "$users" && as games mkdir "$users/nobody" && as games ln -s "$WORK/secret" "$users/nobody/bait" || return 1
	[ "$(put gift words)" = 403 ] && [ "$(get bait)" != 200 ] && ! came t0p && [ ! -e "$users/nobody/gift" ] || { cat "$WORK/answer"; return 1; }
	rm -r "$users" && mv "$WORK/away" "$users"
}
# what has such a directory in its hands is he, and can do less than he
status_of() { awk -v k="$1:" '$1 == k { print $2 }' "/proc/$HELPER/status"; }
a_helper_is_the_user_and_less() {
	(cd "$OWN" && exec socat EXEC:"setpriv --reuid=nobody --regid=$(id -g nobody) --clear-groups $BUILD/bin/phxd --helper",nofork=0 PIPE) &
	local outer=$!
	until_true 10 eval 'HELPER=$(pgrep -u nobody -f -- "phxd --helper") && [ "$(status_of Seccomp)" = 2 ]' || { kill $outer; echo "helper '$HELPER'"; return 1; }
	HELPER=$(pgrep -u nobody -f -- 'phxd --helper')
	local said="$(status_of Uid) $(status_of CapEff) $(status_of NoNewPrivs) $(status_of Seccomp)"
	kill $outer
	wait $outer 2>/dev/null
	[ "$said" = "$(id -u nobody) 0000000000000000 1 2" ] || { echo "uid, capabilities, no new ones, seccomp: $said"; return 1; }
}
nobody_is_helped_as_root() {
	(cd "$OWN" && "$BUILD/bin/phxd" --helper </dev/null) >"$WORK/helper" 2>&1
	[ $? = 1 ] && grep -q 'the helper is never root' "$WORK/helper"
}
no_helper_is_left() { until_true 10 eval "! pgrep -P $HEAD -f -- --helper"; }

trust_head
agreement named "users = \"daemon\"; groups = \"$(id -gn nobody), games\";" || { not_ok "RE named is not active: $(cat "$WORK/re.log")"; exit 1; }
for t in his_own_comes_back links_lead_nowhere what_he_may_not_read_does_not_come a_list_shows_what_he_sees an_owner_is_not_his_users \
	a_helper_is_the_user_and_less nobody_is_helped_as_root no_helper_is_left; do check $t $t; done
exit $FAILED
