# Table 5 of 003 in full (tests/system/policies.sh): its 100 jobs on a real head with agents as processes, a hundred times as
# fast, against the simulator on the same jobs. Sourced by run.
policies() {
	local name out
	out=$(T5_JOBS=100 T5_FACTOR=100 timeout 3600 tests/system/policies.sh 2>&1) || { note "policies: $(grep -m1 '^not ok' <<<"$out")"; missed "policies"; return; }
	for name in DCS DawningCloud; do
		row "003 table 5, $name, real against emulated (published 1.17 and 1.14)" - x - \
			"$(grep 'real / emulated' <<<"$out" | sed -nE "s/.*$name:? (real \/ emulated )?([0-9.]+) \(.*/\2/p")"
	done
	note "policies: $(grep -o 'table 5, emulated.*' <<<"$out")"
}
