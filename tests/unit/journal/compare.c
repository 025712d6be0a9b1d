/* Comparison: a journal as phxd writes it is identical; one changed action, event or snapshot is
 * found. */
#include <sqlite3.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/tree.h"
#include "core/core.h"
#include "fake/append_one.h"
#include "journal/compare.h"
#include "store/store.h"
#include "unit/trace/traces.h"

enum { EVENTS = 40, SNAPSHOT = 25 };
static char dir[64], path[96];

/* As the daemon does it: apply, append event and actions, now and then a snapshot. */
static void journal_event(struct phx_store *store, struct phx_state *s, struct phx_event *ev,
			  struct phx_err *err)
{
	struct phx_outcome out;
	uint64_t before = s->seq;
	if (phx_core_apply(s, ev, &out, err) < 0)
		fail_msg("%s", err->text);
	PHX_AUTO_FREE char *act = phx_json_list_text(&phx_action_record, &out.actions);
	assert_non_null(act);
	PHX_AUTO_FREE char *event = phx_json_record_text_sparse(&phx_event_record, ev);
	assert_non_null(event);
	phx_outcome_fini(&out);
	if (s->seq == before)
		return;
	assert_int_equal(append_one(store, s->seq, ev->now_ms,
				    phx_enum_name(&phx_event_kind_names, ev->kind), ev->node, event,
				    act, NULL, err),
			 0);
	if (s->seq != SNAPSHOT)
		return;
	PHX_AUTO_FREE char *snapshot = phx_json_record_text(&phx_state_record, s);
	assert_non_null(snapshot);
	assert_int_equal(phx_store_snapshot(store, s->seq, snapshot, err), 0);
}

static int make_journal(void **state)
{
	struct phx_store *store;
	struct phx_state s;
	struct phx_err err = {0};
	(void)state;
	strcpy(dir, "/tmp/phx-replay.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/journal.db", dir);
	assert_int_equal(phx_store_open(path, &store, &err), 0);
	assert_int_equal(phx_state_init(&s), 0);
	for (int i = 0; i < EVENTS; i++) {
		struct phx_event ev = {.kind = PHX_EV_node_add, .now_ms = 1000000 + i * 1000};
		snprintf(ev.node, sizeof(ev.node), "node%d", i);
		snprintf(ev.node_add.serial, sizeof(ev.node_add.serial), "SN%d", i);
		PHX_STR_SET(ev.by, "uid:0");
		journal_event(store, &s, &ev, &err);
		phx_event_fini(&ev);
	}
	assert_int_equal(s.seq, EVENTS);
	phx_state_fini(&s);
	phx_store_close(store);
	return 0;
}

static int remove_journal(void **state)
{
	(void)state;
	return phx_dir_remove(dir, NULL);
}

static void sql(const char *text)
{
	sqlite3 *db;
	char *why = NULL;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, text, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s", why);
	sqlite3_close(db);
}

static void replay(struct phx_comparison *ret)
{
	struct phx_err err = {0};
	if (phx_journal_compare(path, ret, &err) < 0)
		fail_msg("%s", err.text);
}

static void an_untouched_journal_is_identical(void **state)
{
	struct phx_comparison r;
	(void)state;
	replay(&r);
	assert_true(r.identical);
	assert_int_equal(r.n_events, EVENTS);
	assert_int_equal(r.first, 1);
	assert_int_equal(r.last, EVENTS);
	assert_int_equal(r.last_ms - r.first_ms, (EVENTS - 1) * 1000);
	assert_int_equal(r.from_snapshot, 0);
	assert_int_equal(r.checked_snapshot, SNAPSHOT);
	phx_comparison_fini(&r);
	replay(&r); /* it changed nothing */
	assert_true(r.identical);
	phx_comparison_fini(&r);
}

static void another_action_is_found(void **state)
{
	struct phx_comparison r;
	(void)state;
	sql("UPDATE events SET actions = '[]' WHERE seq = 12");
	replay(&r);
	assert_false(r.identical);
	assert_int_equal(r.seq, 12);
	assert_string_equal(r.kind, "node_add");
	assert_string_equal(r.recorded, "[]");
	assert_non_null(strstr(r.now, "node11"));
	assert_int_equal(r.n_events, 12); /* it ends there */
	phx_comparison_fini(&r);
}

static void another_event_is_found(void **state)
{
	struct phx_comparison r;
	(void)state;
	sql("UPDATE events SET event = replace(event, 'node7', 'node6') WHERE seq = 8");
	replay(&r);
	assert_false(r.identical);
	assert_int_equal(r.seq, 8);
	phx_comparison_fini(&r);
}

static void another_snapshot_is_found(void **state)
{
	struct phx_comparison r;
	(void)state;
	sql("UPDATE snapshots SET state = replace(state, '\"SN3\"', '\"SN99\"')");
	replay(&r);
	assert_false(r.identical);
	assert_int_equal(r.seq, SNAPSHOT);
	assert_string_equal(r.kind, "snapshot");
	assert_non_null(strstr(r.reason, "at nodes.3.serial"));
	assert_string_equal(r.recorded, "\"SN99\"");
	assert_string_equal(r.now, "\"SN3\"");
	phx_comparison_fini(&r);
}

static void a_journal_without_its_beginning_starts_at_the_snapshot(void **state)
{
	struct phx_comparison r;
	(void)state;
	sql("DELETE FROM events WHERE seq < 20");
	replay(&r);
	assert_true(r.identical);
	assert_int_equal(r.from_snapshot, SNAPSHOT);
	assert_int_equal(r.n_events, EVENTS - SNAPSHOT);
	phx_comparison_fini(&r);
}

static void refuse(const char *file, int code, const char *says)
{
	struct phx_comparison r;
	struct phx_err err = {0};
	assert_int_equal(phx_journal_compare(file, &r, &err), code);
	assert_says(&err, says);
}

static void what_is_no_journal_is_refused(void **state)
{
	struct phx_store *store;
	struct phx_err err = {0};
	char file[128];
	(void)state;
	refuse("/nonexistent/journal.db", -ENOENT, "/nonexistent/journal.db");
	refuse(dir, -EBADMSG, "this is no journal");
	snprintf(file, sizeof(file), "%s/empty", dir);
	fclose(fopen(file, "w"));
	refuse(file, -EBADMSG, "this is no journal");
	FILE *f = fopen(file, "w");
	fputs("1 2 3 some text that is longer than a header of SQLite would be, and is none "
	      "................\n",
	      f);
	fclose(f);
	refuse(file, -EBADMSG, "this is no journal");
	strcat(file, ".lock");
	assert_int_equal(access(file, F_OK), -1); /* nothing is left beside it */
	sql("UPDATE events SET event = '{\"kind\":' WHERE seq = 3");
	refuse(path, -EBADMSG, "event 3: ");
	assert_int_equal(phx_store_open(path, &store, &err), 0);
	refuse(path, -EBUSY, "phxd has it open");
	phx_store_close(store);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, make_journal, remove_journal)
int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_untouched_journal_is_identical),
		TEST(another_action_is_found),
		TEST(another_event_is_found),
		TEST(another_snapshot_is_found),
		TEST(a_journal_without_its_beginning_starts_at_the_snapshot),
		TEST(what_is_no_journal_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
