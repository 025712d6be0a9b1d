#!/bin/bash
# A start with something missing: no state directory, no journal, an older one, one that was changed, a clock far ahead. What
# is not known is never deleted, what is missing is told, and work that a restored journal does not know of is done again.
. "$(dirname "$0")/phxd.bash"
[ -x "$BUILD/tests/fake/agent" ] || { echo "not ok fake_agent is not built"; exit 1; }

HEAD_DIR=$WORK/head
# start CODE TEXT [OPTION...]: a start that ends, with this status and these words
start() {
	local got
	timeout 60 "$BUILD/bin/phxd" --config "$PHX_CONFIG" "${@:3}" >"$WORK/out" 2>&1
	got=$?
	cat "$WORK/out" >>"$WORK/phxd.log"
	[ $got = "$1" ] && grep -qE -- "$2" "$WORK/out" && return 0
	echo "wanted $1 '$2', got $got: $(cat "$WORK/out")"
	return 1
}
data() { echo "$HEAD_DIR/re/$1"; }
re_create() {
	cat >"$WORK/$1.conf" <<-END
		name = "$1"; type = "parallel_batch_jobs"; relationship = "same"; granularity = "node"; coordinated_RE = "none";
		resource_coordination_model = "fb"; lower_bound_size = 1; upper_bound_size = 1; role = "batch";
	END
	phx re create "$WORK/$1.conf" >>"$WORK/phxd.log" 2>&1 && echo "data of $1" >"$(data "$1")/big.dat"
}
re_known() { api /v1/res | jq -r '.res[] | select(.state != "none" and .state != "destroyed") | .name' | tr '\n' ' '; }
events_say() { api '/v1/events?limit=1000' | jq -r '.events[].actions[]?.text' | grep -qE -- "$1"; }
journal_keep() { rm -rf "$WORK/$1" && mkdir "$WORK/$1" && cp "$HEAD_DIR/journal.db" "$WORK/$1/"; }
journal_restore() { rm -f "$HEAD_DIR"/journal.db "$HEAD_DIR"/journal.db-*[lm] && cp "$WORK/$1/journal.db" "$HEAD_DIR/"; }

# ---- the first start ----

a_missing_state_directory_is_not_made() {
	mv "$HEAD_DIR" "$WORK/away"
	: >"$HEAD_DIR"
	start 78 "state_dir $HEAD_DIR: Not a directory" || return 1
	rm "$HEAD_DIR"
	start 78 "state_dir $HEAD_DIR is not there: mount or restore it" && [ ! -e "$HEAD_DIR" ] &&
		start 0 'a new journal' --new-journal && [ -s "$HEAD_DIR/journal.db" ] && rm -r "$HEAD_DIR" && mv "$WORK/away" "$HEAD_DIR"
}
an_empty_one_is_a_first_start_and_says_so() {
	mv "$HEAD_DIR/images" "$WORK/images" && mkdir -p "$HEAD_DIR/lost+found" "$HEAD_DIR/re/lost+found" # file systems of their own
	: >"$WORK/phxd.log"
	"$BUILD/bin/phxd" --config "$PHX_CONFIG" >>"$WORK/phxd.log" 2>&1 &
	HEAD=$!
	until_true 15 api /v1/status && grep -q 'a new journal; this is the first start: the keys of the site are made' "$WORK/phxd.log" &&
		rmdir "$HEAD_DIR/re/lost+found" "$HEAD_DIR/images" && mv "$WORK/images" "$HEAD_DIR/images" && head_stop
}

# ---- the journal is away ----

without_its_journal_nothing_is_touched() {
	local how before
	package tools 1.0 'echo tools'
	head_start
	roles_init
	post /v1/reload >/dev/null
	re_create alpha && re_create beta || return 1
	head_stop
	before=$(cd "$HEAD_DIR" && find . ! -path './journal*' ! -path . | sort)
	mkdir "$WORK/kept" && cp "$HEAD_DIR"/journal.db* "$WORK/kept"
	for how in away cut; do
		rm -f "$HEAD_DIR"/journal.db*
		[ $how = away ] || : >"$HEAD_DIR/journal.db"
		start 78 'but .*/re holds data of runtime environments: mount or restore the journal' || return 1
		[ "$(cd "$HEAD_DIR" && find . ! -path './journal*' ! -path . | sort)" = "$before" ] || return 1
	done
	cp "$WORK"/kept/* "$HEAD_DIR/"
	head_start
	[ "$(re_known)" = "alpha beta " ] && [ -s "$(data alpha)/big.dat" ] && [ ! -e "$HEAD_DIR/lost+found/alpha"* ]
}
each_other_thing_that_is_there_counts() {
	local dir
	head_stop
	mkdir "$WORK/full" && mv "$HEAD_DIR"/* "$HEAD_DIR"/.??* "$WORK/full/" 2>/dev/null
	for dir in keys re output images packages pki; do
		mkdir -p "$HEAD_DIR/$dir" && : >"$HEAD_DIR/$dir/thing"
		start 78 "journal.db is not there, but $HEAD_DIR/$dir holds" && [ -e "$HEAD_DIR/$dir/thing" ] && [ ! -e "$HEAD_DIR/journal.db" ] || return 1
		rm -r "${HEAD_DIR:?}/$dir"
	done
	rm -rf "${HEAD_DIR:?}"/* && mv "$WORK/full"/* "$HEAD_DIR/"
	head_start
}
a_journal_with_events_is_not_given_up() {
	head_stop
	start 78 'holds [0-9]* events: move it away' --new-journal && head_start && [ "$(re_known)" = "alpha beta " ]
}
beside_a_new_journal_data_is_set_aside() {
	head_stop
	journal_keep whole && cp "$HEAD_DIR/journal.db.mark" "$WORK/whole/"
	rm -f "$HEAD_DIR"/journal.db "$HEAD_DIR"/journal.db-*
	start 0 'a new journal, beside what is there' --new-journal || return 1
	: >"$WORK/phxd.log"
	head_start
	[ "$(re_known)" = "" ] && [ "$(cat "$HEAD_DIR"/lost+found/alpha-*/big.dat)" = "data of alpha" ] &&
		[ -s "$HEAD_DIR"/lost+found/beta-*/big.dat ] && [ ! -e "$(data alpha)" ] && [ ! -e "$HEAD_DIR/re/.alpha" ] &&
		grep -q 'data of RE alpha, which the journal does not know, was moved to' "$WORK/phxd.log" &&
		events_say 'data of RE beta, which the journal does not know, was moved' || return 1
	# and back
	head_stop
	rm -f "$HEAD_DIR"/journal.db*
	cp "$WORK"/whole/* "$HEAD_DIR/"
	head_start
	[ "$(re_known)" = "alpha beta " ] && [ ! -e "$(data alpha)/big.dat" ] &&
		events_say 'data of RE alpha is not there: .* was made anew, empty' || return 1
	mv "$HEAD_DIR"/lost+found/alpha-*/big.dat "$(data alpha)/" && mv "$HEAD_DIR"/lost+found/beta-*/big.dat "$(data beta)/" &&
		rm -r "$HEAD_DIR/lost+found"
}

# ---- an older journal ----

an_older_journal_is_told_and_loses_no_data() {
	head_stop
	journal_keep yesterday
	head_start
	re_create gamma || return 1
	phx re destroy beta --yes >/dev/null && [ ! -e "$(data beta)" ] && re_create beta || return 1
	head_stop
	journal_restore yesterday
	start 78 'it ends with event [0-9]*, but event [0-9]* was acknowledged: [0-9]* events are missing' || return 1
	[ -s "$(data gamma)/big.dat" ] || return 1
	start 0 'the journal was accepted as it is' --accept-journal || return 1
	head_start
	[ "$(re_known)" = "alpha beta " ] && [ "$(cat "$(data alpha)/big.dat")" = "data of alpha" ] &&
		[ -s "$HEAD_DIR"/lost+found/gamma-*/big.dat ] && [ -s "$HEAD_DIR"/lost+found/beta-*/big.dat ] && [ ! -e "$(data gamma)" ] &&
		[ -d "$(data beta)" ] && [ -z "$(ls -A "$(data beta)")" ] && events_say 'data of RE gamma, .* was moved'
}
a_journal_without_its_log_is_told() {
	local seq
	happens_some
	seq=$(seq_now)
	head_kill
	mv "$HEAD_DIR/journal.db-wal" "$WORK/wal"
	rm -f "$HEAD_DIR/journal.db-shm"
	start 78 "but event $seq was acknowledged" || return 1
	mv "$WORK/wal" "$HEAD_DIR/journal.db-wal"
	head_start
	[ "$(seq_now)" -ge "$seq" ]
}
happens_some() {
	local i
	for i in $(seq 20); do post /v1/nodes "{\"name\": \"x$i\", \"macs\": [\"02:00:00:00:01:$(printf %02x $i)\"]}" >/dev/null; done
}
a_changed_event_is_named() {
	head_stop
	journal_keep sound
	sqlite3 "$HEAD_DIR/journal.db" "UPDATE events SET event=replace(event,'x7','x8') WHERE event LIKE '%\"x7\"%'"
	start 78 'event [0-9]* is not as it was written; restore it, or go on with what is there: phxd --accept-journal' || return 1
	journal_restore sound
	head_start
}
a_damaged_snapshot_is_told_once() {
	head_stop
	sqlite3 "$HEAD_DIR/journal.db" 'UPDATE snapshots SET state=substr(state,1,length(state)/2)'
	: >"$WORK/phxd.log"
	head_start
	[ "$(grep -c 'all events are whole: going on with a new snapshot' "$WORK/phxd.log")" = 1 ] && [ "$(re_known)" = "alpha beta " ] || return 1
	head_kill
	: >"$WORK/phxd.log"
	head_start
	! grep -q snapshot "$WORK/phxd.log" && [ "$(re_known)" = "alpha beta " ]
}

# ---- a destroyed RE ----

# phxd dies between the order and the deed, and somebody else's directory is not mistaken for it
what_was_ordered_is_carried_out_after_a_crash() {
	re_create delta || return 1
	head_stop
	PHXD_TEST_CRASH_AT=commit:$(($(sqlite3 "$HEAD_DIR/journal.db" 'SELECT MAX(seq) FROM events') + 1)) \
		"$BUILD/tests/system/phxd_that_dies" --config "$PHX_CONFIG" >>"$WORK/phxd.log" 2>&1 &
	HEAD=$!
	until_true 15 api /v1/status
	phx re destroy delta --yes >/dev/null 2>&1
	wait "$HEAD" 2>/dev/null
	[ -s "$(data delta)/big.dat" ] || { echo "it was gone already"; return 1; }
	head_start
	[ ! -e "$(data delta)" ] && [ ! -e "$HEAD_DIR/re/.delta" ] && [ -z "$(ls -d "$HEAD_DIR"/lost+found/delta* 2>/dev/null)" ] &&
		[ "$(re_known)" = "alpha beta " ]
}

# in the name of an RE that is created: nothing of it is taken, or removed with the RE
what_is_not_phxds_is_left_alone() {
	mkdir -p "$(data zeta)" && echo mine >"$(data zeta)/mine"
	re_create zeta || return 1
	grep -q "data directory $(data zeta): is there and was not made by phxd: move it away" "$WORK/phxd.log" &&
		[ "$(cat "$(data zeta)/mine")" = mine ] && [ ! -e "$HEAD_DIR/re/.zeta" ] && phx re destroy zeta --yes >/dev/null &&
		[ "$(cat "$(data zeta)/mine")" = mine ] && rm -r "$(data zeta)" && [ "$(re_known)" = "alpha beta " ]
}

# left_behind NAME CREATED_MS SITE: data of an RE of the name, as another phxd has left it
left_behind() {
	mkdir "$(data "$1")" && echo "data of $1" >"$(data "$1")/big.dat" &&
		printf 'created %s\nsite %s\nname %s\n' "$2" "$3" "$1" >"$HEAD_DIR/re/.$1"
}
# the journal says that delta and zeta were destroyed: one of an earlier creation, one of here; of omega it says nothing
only_its_own_end_removes_data() {
	local name site
	head_stop
	site=$(sqlite3 "$HEAD_DIR/journal.db" 'SELECT id FROM chain')
	left_behind delta 9999999999999 "$site" && left_behind zeta 1 elsewhere && left_behind omega 1 "$site" || return 1
	head_start
	for name in delta zeta omega; do
		[ "$(cat "$HEAD_DIR/lost+found/$name"-*/big.dat)" = "data of $name" ] && [ ! -e "$(data $name)" ] || { echo "$name"; return 1; }
	done
}

# killed at each of the first publications of a start: the next one leaves none of its temporary files
what_a_killed_start_was_writing_goes() {
	local i left=0
	head_stop
	for i in 1 2 3; do
		rm -f "$HEAD_DIR/site.cpio" "$HEAD_DIR/re"/.alpha "$HEAD_DIR/pki/server.pem"
		# who looks for leaks is itself a tracer, and there can be one
		ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 timeout 60 strace -f -qq -o /dev/null -e trace=rename -e inject=rename:signal=KILL:when=$i "$BUILD/bin/phxd" --config "$PHX_CONFIG" \
			>>"$WORK/phxd.log" 2>&1
		left=$((left + $(find "$HEAD_DIR" -name '*.tmp' | wc -l)))
	done
	[ $left -gt 0 ] || { echo "nothing was left"; return 1; }
	head_start
	[ -z "$(find "$HEAD_DIR" -name '*.tmp')" ]
}

# ---- the journal under a running phxd ----

a_removed_journal_takes_no_commands() {
	local name=$HEAD_DIR/journal.db
	mv "$name" "$WORK/journal.moved"
	post /v1/nodes '{"name": "lost", "macs": ["02:00:00:00:02:01"]}' | grep -q 'was removed while it was open' || return 1
	until_true 10 eval 'phx status | grep -qi read-only' && grep -q 'read-only, nothing is acknowledged: .*was removed' "$WORK/phxd.log" || return 1
	mv "$WORK/journal.moved" "$name"
	until_true 10 eval 'post /v1/nodes "{\"name\": \"found\", \"macs\": [\"02:00:00:00:02:02\"]}" | jq -e .seq' &&
		head_kill && head_start && is found .name found && api /v1/nodes/lost | grep -q 'no node'
}

# ---- work that a restored journal does not know of ----

works() { action assign "{\"nodes\": \"c1\", \"role\": \"$1\"}" | grep -q '"code":0' && until_true 30 idle c1 active "$1"; }
steps_since() { tail -n "+$(($1 + 1))" "$WORK/c1/effects" | awk '$1 == "STEP" { print $3 }' | tr '\n' ' '; }
# the agent has done the steps that follow, and remembers them by their ids: they are done once more all the same
restored_work_is_done_again() {
	local before
	post /v1/nodes '{"name": "c1", "macs": ["02:00:00:00:00:01"], "serial": "SN1"}' >/dev/null
	fake_start c1 1 --env os --image test --digest "$IMAGE_DIGEST"
	until_true 20 idle c1 ready "" && works batch || return 1
	head_stop
	journal_keep before
	head_start
	works web && works batch && works web || return 1
	head_stop
	journal_restore before
	journal_accept || return 1
	before=$(wc -l <"$WORK/c1/effects")
	head_start
	until_true 20 is c1 .up true
	works web && works batch || return 1
	[ "$(steps_since "$before" | grep -o activate | wc -l)" = 2 ] || { echo "steps: $(steps_since "$before")"; return 1; }
}

head_conf
check a_missing_state_directory_is_not_made a_missing_state_directory_is_not_made
check an_empty_one_is_a_first_start_and_says_so an_empty_one_is_a_first_start_and_says_so
check without_its_journal_nothing_is_touched without_its_journal_nothing_is_touched
check each_other_thing_that_is_there_counts each_other_thing_that_is_there_counts
check a_journal_with_events_is_not_given_up a_journal_with_events_is_not_given_up
check beside_a_new_journal_data_is_set_aside beside_a_new_journal_data_is_set_aside
check an_older_journal_is_told_and_loses_no_data an_older_journal_is_told_and_loses_no_data
check a_journal_without_its_log_is_told a_journal_without_its_log_is_told
check a_changed_event_is_named a_changed_event_is_named
check a_damaged_snapshot_is_told_once a_damaged_snapshot_is_told_once
check what_was_ordered_is_carried_out_after_a_crash what_was_ordered_is_carried_out_after_a_crash
check what_is_not_phxds_is_left_alone what_is_not_phxds_is_left_alone
check only_its_own_end_removes_data only_its_own_end_removes_data
check what_a_killed_start_was_writing_goes what_a_killed_start_was_writing_goes
check a_removed_journal_takes_no_commands a_removed_journal_takes_no_commands
check restored_work_is_done_again restored_work_is_done_again
exit "$FAILED"
