#!/bin/bash
# What a user is not to read in answers that he is let read: command lines and environment of other people's services, what these
# wrote, from where agents asked, who was refused, what was before an RE, and he does not take all places of triggers that wait for files.
# Who may, finds each, which shows that there is something to find.
. "$(dirname "$0")/../trust.bash"

answer() { sed '$d' "$WORK/answer"; }
# finds USER PATH WORD, finds_none USER PATH WORD: in an answer that is given
finds() { gets 200 ask "$1" GET "$2" && { answer | grep -qF -- "$3" || { echo "$1 does not find '$3' in $2"; return 1; }; }; }
finds_none() {
	gets 200 ask "$1" GET "$2" || return 1
	! answer | grep -qF -- "$3" || { echo "$1 finds '$3' in $2: $(answer | grep -oE -- ".{0,80}$3.{0,20}" | head -n 1)"; return 1; }
}

# ---- roles ----

SECRETS='argv-secret env-secret health-secret'
of_services_a_user_reads_names() {
	local path who secret
	for path in /v1/roles /v1/roles/batch; do
		for secret in $SECRETS; do
			for who in root bin games; do finds $who $path $secret || return 1; done
			for who in nobody daemon; do finds_none $who $path $secret && finds $who $path '"name":"service-of-batch"' || return 1; done
		done
	done
}
# an RE that was only asked for shows nothing
a_request_shows_no_role() {
	sed 's/"closed"/"wish"/; s/"games"/"daemon"/' "$WORK/closed.conf" >"$WORK/wish.conf" && chmod 644 "$WORK/wish.conf" || return 1
	as daemon "$BUILD/bin/phx" re request "$WORK/wish.conf" && finds_none daemon /v1/roles/batch env-secret && as daemon "$BUILD/bin/phx" re withdraw wish
}
role_show_copes() {
	as nobody "$BUILD/bin/phx" role show batch >"$WORK/shown" && grep -q service-of-batch "$WORK/shown" && ! grep service-of "$WORK/shown" | grep -qwE "yes|no" && ! grep -q secret "$WORK/shown" &&
		phx role show batch >"$WORK/shown" && grep -q argv-secret "$WORK/shown" || { cat "$WORK/shown"; return 1; }
}

id bin >/dev/null 2>&1 || { echo "skip leaks: there is no user bin"; exit 0; }
roles_init() {
	printf 'summary = "a test"; pool = "batch"; image = "test"; drain_grace = "1s"; runs_jobs = true; packages = [ "tools" ];
services = ( { name = "service-of-batch"; package = "tools"; exec = [ "bin/tools", "--key=argv-secret" ]; env = [ "PASSWORD=env-secret" ]; } );
health = { kind = "exec"; exec = [ "bin/tools", "health-secret" ]; };\n' >"$WORK/etc/roles/batch.conf"
}
trust_head 'operator_group = "bin"; requests_per_s = 100000;'
phx access grant unix:daemon provider 2>/dev/null
agreement closed '' || { not_ok "RE closed is not active: $(cat "$WORK/re.log")"; exit 1; }
for test in of_services_a_user_reads_names a_request_shows_no_role role_show_copes; do check $test $test; done
exit $FAILED
