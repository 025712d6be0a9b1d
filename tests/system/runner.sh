#!/bin/bash
# tests/run itself: what it counts, names and refuses, with programs that are made for it.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=$(realpath "${BUILD:-build}")
WORK=$(mktemp -d /tmp/phx-system.XXXXXX)
trap 'rm -rf "$WORK"' EXIT
FAILED=0

check() { # NAME COMMAND...
	local name=$1
	shift
	if "$@"; then
		echo "ok $name"
	else
		echo "not ok $name"
		FAILED=1
		sed 's/^/  /' "$WORK/out"
	fi
}
script() { # NAME: a test script, of standard input
	{ echo '#!/bin/bash' && cat; } >"$WORK/$1"
	chmod 755 "$WORK/$1"
}
runs() { # STATUS PROGRAM...: that is how it ends
	local want=$1
	shift
	env -u PHX_GOLDEN_WRITE -u PHX_TEST_JOBS -u PHX_TEST_TRIES "${SET[@]}" tests/run "$@" >"$WORK/out" 2>&1
	[ $? = "$want" ]
}
SET=(PHX_TEST_TIMEOUT=20)
last_line_is() { [ "$(tail -n 1 "$WORK/out")" = "$1" ]; }
says() { grep -qxF -- "$1" "$WORK/out"; }

skips_are_counted_and_named() {
	script one <<-'END'
		echo "ok first"; echo "skip second: there is no such disk"; echo "ok third # SKIP no such user"
	END
	runs 0 "$WORK/one" && last_line_is '1 passed, 0 failed, 2 skipped' &&
		says "skipped: $WORK/one: second: there is no such disk" && says "skipped: $WORK/one: third: no such user"
}
skips_of_programs_are_named() {
	script like_cmocka <<-'END'
		printf '[==========] Running 3 test(s).\n[ RUN      ] a\n[       OK ] a\n[ RUN      ] b\n[  SKIPPED ] b\n[==========] 3 test(s) run.\n'
		printf '[  PASSED  ] 1 test(s).\n[  SKIPPED ] 1 test(s), listed below:\n[  SKIPPED ] b\n'
	END
	runs 0 "$WORK/like_cmocka" && last_line_is '1 passed, 0 failed, 1 skipped' && says "skipped: $WORK/like_cmocka: b"
}
# by name, also where a log is cut, in the end of what runs several of them
failures_are_named() {
	script like_cmocka <<-'END'
		printf '[==========] Running 2 test(s).\n[ RUN      ] a\n[  FAILED  ] a\n[ RUN      ] b\n[       OK ] b\n[==========] 2 test(s) run.\n'
		printf '[  PASSED  ] 1 test(s).\n[  FAILED  ] 1 test(s), listed below:\n[  FAILED  ] a\n'
		exit 1
	END
	echo 'echo "ok it"; echo "not ok other: why"; exit 1' | script fails
	echo 'echo "ok it"; echo "it ends"; exit 1' | script ends
	runs 1 "$WORK/like_cmocka" "$WORK/fails" "$WORK/ends" && last_line_is '3 passed, 3 failed' || return 1
	local told=("failed: $WORK/like_cmocka: a" "failed: $WORK/fails: other: why" "failed: $WORK/ends: it ends") line
	for line in "${told[@]}"; do says "$line" || return 1; done
	printf 'all:\n\t@%s/run %s/like_cmocka %s/fails %s/ends\n' "$PWD/tests" "$WORK" "$WORK" "$WORK" >"$WORK/Failing"
	! tests/each "make -s -f $WORK/Failing" all nothing >"$WORK/each" 2>&1 || return 1
	tail -n 6 "$WORK/each" >"$WORK/out"
	for line in "${told[@]}" 'failed: nothing, by no test'; do says "$line" || return 1; done
	# one of them may itself run several
	printf 'both:\n\t@%s/each "make -s -f %s/Failing" all\n' "$PWD/tests" "$WORK" >>"$WORK/Failing"
	! tests/each "make -s -f $WORK/Failing" both >"$WORK/each" 2>&1 || return 1
	tail -n 5 "$WORK/each" >"$WORK/out"
	for line in "${told[@]}"; do says "$line" || return 1; done
}
nothing_is_a_failure() {
	script nothing </dev/null
	runs 1 "$WORK/nothing" && last_line_is '0 passed, 1 failed'
}
bad_end_is_a_failure() {
	echo 'echo "ok it"; exit 3' | script dies
	runs 1 "$WORK/dies" && last_line_is '1 passed, 1 failed' && says '--- exit status 3; output:'
}
endless_is_a_failure() {
	echo 'echo "ok it"; exec sleep 60' | script endless
	SET=(PHX_TEST_TIMEOUT=1)
	runs 1 "$WORK/endless" && last_line_is '1 passed, 1 failed'
}
second_try_is_told() {
	script races <<-END
		[ -e "$WORK/been" ] && echo "ok it" && exit
		touch "$WORK/been"; echo "skip that: at first"; echo "not ok it"
	END
	runs 1 "$WORK/races" && rm "$WORK/been" || return 1
	SET=(PHX_TEST_TRIES=2)
	runs 0 "$WORK/races" && says "passed only when tried again: $WORK/races" && last_line_is '1 passed, 0 failed'
}
# compiled ones: each waits until the other one runs, for it cannot be seen otherwise
programs_run_together() {
	cat >"$WORK/meets.c" <<-'END'
		#include <stdio.h>
		#include <string.h>
		#include <unistd.h>
		int main(int argc, char **argv)
		{
			char other[512];
			snprintf(other, sizeof(other), "%s", argv[argc - 1]);
			fclose(fopen(strcat(other, ".here"), "w"));
			char *end = other + strlen(other) - 6;
			*end = *end == '1' ? '2' : '1';
			for (int i = 0; i < 100 && access(other, F_OK); i++)
				usleep(50000);
			puts(access(other, F_OK) ? "not ok alone" : "ok together");
			return 0;
		}
	END
	${CC:-cc} -o "$WORK/meets1" "$WORK/meets.c" && cp "$WORK/meets1" "$WORK/meets2" || return 1
	SET=(PHX_TEST_JOBS=2)
	runs 0 "$WORK/meets1" "$WORK/meets2" && last_line_is '2 passed, 0 failed' || return 1
	rm "$WORK"/*.here
	SET=(PHX_TEST_JOBS=1)
	runs 1 "$WORK/meets1" "$WORK/meets2" && last_line_is '1 passed, 1 failed'
}
# a script begins while the last program still runs
programs_and_scripts_overlap() {
	script meets2 <<-END
		touch "$WORK/meets2.here"
		for ((i = 0; i < 40; i++)); do [ ! -e "$WORK/meets1.here" ] || break; sleep 0.05; done
		echo "ok it"
	END
	rm -f "$WORK"/*.here
	SET=(PHX_TEST_JOBS=1 PHX_TEST_SCRIPTS=2)
	runs 0 "$WORK/meets2" "$WORK/meets1" && last_line_is '2 passed, 0 failed' || return 1
	rm "$WORK"/*.here
	SET=(PHX_TEST_JOBS=1 PHX_TEST_SCRIPTS=1)
	runs 1 "$WORK/meets2" "$WORK/meets1" && last_line_is '1 passed, 1 failed'
}
# a script that waits for the other one to begin; the second line of one that runs alone says so
scripts_run_together() {
	local name other
	for name in first second; do
		other=$([ $name = first ] && echo second || echo first)
		script $name <<-END
			${1:-# with others}
			touch "$WORK/$name.here"
			for ((i = 0; i < 40; i++)); do [ ! -e "$WORK/$other.here" ] || break; sleep 0.05; done
			[ -e "$WORK/$other.here" ] && echo "ok met" || echo "not ok met"
		END
	done
	rm -f "$WORK"/*.here
	runs "${2:-0}" "$WORK/first" "$WORK/second"
}
scripts_run_alone_when_they_say_so() {
	scripts_run_together '# alone: it measures' 1 && last_line_is '1 passed, 1 failed'
}
ports_of_a_script_are_its_own() {
	[ "$(id -u)" = 0 ] || return 0
	script counts <<-'END'
		ip -o link show lo | grep -q UP && [ "$(ip -o addr show up | awk '{ print $4 }' | grep -F . | xargs)" = "127.0.0.1/8 192.0.2.1/24" ] && echo "ok its own"
	END
	runs 0 "$WORK/counts" && last_line_is '1 passed, 0 failed'
}
# in a network of its own a script reaches no mirror; guest.sh is run by others
scripts_that_fetch_run_alone() {
	grep -lE '/fetch-debs |^[^#]*(mmdebstrap|apt-get) ' tests/lab/*.sh tests/system/*.sh | grep -vE '/(guest|runner)\.sh$' >"$WORK/fetch"
	[ "$(wc -l <"$WORK/fetch")" -ge 2 ] || return 1
	xargs -I{} sh -c 'sed -n 2p {} | grep -q "^# alone: " || echo {}' <"$WORK/fetch" >"$WORK/out"
	[ ! -s "$WORK/out" ]
}
golden_tables_are_not_written() {
	local table
	for table in policy ledger plan; do
		SET=(PHX_GOLDEN_WRITE=1)
		runs 1 "$BUILD/tests/golden/$table" && grep -q 'PHX_GOLDEN_WRITE is set' "$WORK/out" || return 1
		PHX_GOLDEN_WRITE=1 env -u PHX_TEST_RUN "$BUILD/tests/golden/$table" 2>/dev/null | grep -v '^\[' >"$WORK/written"
		cmp "$WORK/written" "tests/golden/$table.txt" >"$WORK/out" 2>&1 || return 1
	done
}

# a target that fails hides none behind it, and the end names each and counts all
each_target_is_made() {
	printf '#!/bin/bash\necho "ok one"; echo "skip two"\n' >"$WORK/counted.sh"
	chmod +x "$WORK/counted.sh"
	printf 'good:\n\t@%s/run %s/counted.sh\nbad:\n\t@false\nlast:\n\t@echo made last\n' "$PWD/tests" "$WORK" >"$WORK/Makefile"
	! tests/each "make -s -f $WORK/Makefile" good bad last >"$WORK/out" 2>&1 && grep -q '^bad FAILED, ' "$WORK/out" &&
		grep -q 'made last' "$WORK/out" && grep -q '^20.*: FAILED, ' "$WORK/out" && last_line_is '1 passed, 1 failed, 1 skipped' || return 1
	tests/each "make -s -f $WORK/Makefile" good good last >"$WORK/out" 2>&1 &&
		grep -qE '^20[0-9-]+, commit .*: all passed, [0-9]+ s$' "$WORK/out" && last_line_is '2 passed, 0 failed, 2 skipped'
}

# what passed of a commit is not made again, but for another one, or with something changed
what_passed_is_kept() {
	local each="$PWD/tests/each" repo=$WORK/repo git=(git -C "$WORK/repo" -c user.name=x -c user.email=x@example.org)
	mkdir "$repo" && "${git[@]}" init -q && printf 'made\nkept\n' >"$repo/.gitignore" && "${git[@]}" add .gitignore && "${git[@]}" commit -qm one || return 1
	sed -i "s|^good:|&\n\t@echo good >>$repo/made|" "$WORK/Makefile"
	each_once() { (cd "$repo" && "$each" --keep kept "make -s -f $WORK/Makefile" good bad >"$WORK/out" 2>&1); }
	n_made() { [ "$(wc -l <"$repo/made")" = "$1" ]; }
	! each_once && last_line_is '1 passed, 1 failed, 1 skipped' && ! each_once && n_made 1 &&
		grep -qE '^good passed, [0-9]+ s, on 20' "$WORK/out" && last_line_is '1 passed, 1 failed, 1 skipped' || return 1
	touch "$repo/changed"
	! each_once && n_made 2 || return 1
	"${git[@]}" add changed && "${git[@]}" commit -qm two && ! each_once && n_made 3 && ! each_once && n_made 3
}

# what passed at once of a commit, with nothing changed, is written down for planted bugs: no failure, no second try, no skip
passed_scripts_are_written_down() {
	local runs="$PWD/tests/run" repo=$WORK/passed git=(git -C "$WORK/passed" -c user.name=x -c user.email=x@example.org)
	mkdir "$repo" && "${git[@]}" init -q && printf 'list\nbeen\n' >"$repo/.gitignore" || return 1
	echo 'echo "ok it"' | script passed/good
	echo 'echo "not ok it"' | script passed/bad
	echo 'echo "skip it: no disk"' | script passed/skips
	echo '[ -e been ] && echo "ok it" && exit; touch been; echo "not ok it"' | script passed/races
	"${git[@]}" add . && "${git[@]}" commit -qm one || return 1
	passes() { (cd "$repo" && PHX_TEST_TRIES=2 PHX_TEST_PASSED=list "$runs" ./good ./bad ./skips ./races >"$WORK/out" 2>&1); }
	! passes && [ "$(cat "$repo/list")" = "$("${git[@]}" rev-parse HEAD) ./good" ] || return 1
	touch "$repo/changed" && rm "$repo/been" && ! passes && [ "$(wc -l <"$repo/list")" = 1 ]
}

for test in skips_are_counted_and_named skips_of_programs_are_named failures_are_named nothing_is_a_failure bad_end_is_a_failure \
	endless_is_a_failure second_try_is_told programs_run_together programs_and_scripts_overlap scripts_run_together \
	scripts_run_alone_when_they_say_so ports_of_a_script_are_its_own scripts_that_fetch_run_alone each_target_is_made what_passed_is_kept passed_scripts_are_written_down golden_tables_are_not_written; do
	SET=(PHX_TEST_TIMEOUT=20)
	check $test $test
done
exit $FAILED
