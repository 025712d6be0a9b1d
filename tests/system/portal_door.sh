#!/bin/bash
# by turns: 80 s: a browser, minutes.
# The door of the portal in a real browser: passwords by real PAM, one's sessions, pages that are older than the head. The tests are
# tests/portal/door.mjs.
. "$(dirname "$0")/passwords.bash"
. "$(dirname "$0")/phxd.bash"
for needed in "$BUILD/portal/index.html" "$BUILD/npm/done"; do [ -e "$needed" ] || { echo "not ok $needed is not built"; exit 1; }; done
private_users || { echo "skip portal_door: no view of /etc of its own can be made here"; exit 0; }
export BUILD PASSWORD HTTPS

cp -r "$BUILD/portal" "$WORK/portal" && rm -rf "$WORK/portal/pictures"
chmod -R go+rX "$WORK"
head_conf "requests_per_s = 100000; portal_pam = true; portal_dir = \"$WORK/portal\";"
head_start
post /v1/nodes '{"name": "n1", "macs": ["02:00:00:00:00:01"]}' >/dev/null
HEAD_PID=$HEAD HOME=$WORK PORTAL_WORK=$WORK timeout 200 node tests/portal/run.mjs tests/portal/door.mjs || FAILED=1
[ ! -s "$WORK/again.pid" ] || { HEAD=$(cat "$WORK/again.pid"); kill "$HEAD"; until_true 20 eval '! kill -0 $HEAD'; HEAD=; }
exit $FAILED
