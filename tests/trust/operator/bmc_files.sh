#!/bin/bash
# An administrator of nodes who is not root: he has the head run a program of his, or read a file that root alone may read and send its
# only line to a machine of his, which he calls a BMC.
. "$(dirname "$0")/../trust.bash"

node() { # NUMBER BMC
	printf '{"name": "b%d", "macs": ["02:00:00:00:01:0%d"], "bmc": %s}' "$1" "$1" "$2"
}
ipmi() { printf '{"driver": "ipmi", "address": "127.0.0.1", "user": "root", "password_file": "%s"}' "$1"; }
script() { printf '{"driver": "script", "script": "%s"}' "$1"; }
named() { grep -q "who is not root names a file of $WORK/bmc" "$WORK/answer"; }

# `refused` only compares the status: 200 is what root gets
he_names_no_file_of_root() {
	local path
	for path in /etc/machine-id "$WORK/bmc/../secret" "$WORK/bmc/sub/secret" "$WORK/bmc/" "$WORK/bmcx"; do
		refused 403 daemon POST /v1/nodes -d "$(node 1 "$(ipmi "$path")")" && named || return 1
	done
	refused 403 daemon POST /v1/actions/bmc -d "{\"nodes\": \"n1\", \"bmc\": $(ipmi /etc/machine-id)}" && named
}
he_names_no_program_of_his() {
	refused 403 daemon POST /v1/nodes -d "$(node 2 "$(script "$WORK/his/run")")" && named || return 1
	refused 403 daemon POST /v1/actions/bmc -d "{\"nodes\": \"n1\", \"bmc\": $(script "$WORK/his/run")}" && named
}
he_names_what_root_gave() {
	refused 200 daemon POST /v1/nodes -d "$(node 3 "$(ipmi "$WORK/bmc/rack1")")" &&
		refused 200 daemon POST /v1/nodes -d "$(node 4 "$(script "$WORK/bmc/relay")")"
}
# root names any file, but what others could change does not run
root_names_any() {
	[ "$(api /v1/nodes -X POST -o /dev/null -w '%{http_code}' -d "$(node 5 "$(script "$WORK/his/run")")")" = 200 ] || return 1
	phx node power b5 status >"$WORK/out" 2>&1
	grep -q 'others may change it' "$WORK/out" && [ ! -e "$WORK/his/ran" ] || { cat "$WORK/out"; return 1; }
}

mkdir -p "$WORK/bmc/sub" "$WORK/his" && chmod 711 "$WORK/bmc" && chown daemon "$WORK/his"
printf 'secret\n' | tee "$WORK/secret" "$WORK/bmc/sub/secret" "$WORK/bmc/rack1" >/dev/null && chmod 600 "$WORK/secret" "$WORK/bmc/rack1"
printf '#!/bin/sh\necho off\n' >"$WORK/bmc/relay" && chmod 755 "$WORK/bmc/relay"
printf '#!/bin/sh\ntouch %s/his/ran\necho off\n' "$WORK" >"$WORK/his/run" && chmod 755 "$WORK/his/run" && chown daemon "$WORK/his/run"
trust_head "socket_group = \"daemon\"; requests_per_s = 100000; bmc_dir = \"$WORK/bmc\";"
check he_names_no_file_of_root he_names_no_file_of_root
check he_names_no_program_of_his he_names_no_program_of_his
check he_names_what_root_gave he_names_what_root_gave
check root_names_any root_names_any
exit $FAILED
