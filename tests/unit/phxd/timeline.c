/* The past for pictures (cmd/phxd/timeline.c, timeline_look.c): what is written of the state and of
 * the journal's events, with which times, and once; what becomes of a database that is damaged or
 * cannot be written. Journal and series are real files; the thread is not started: the test makes
 * its turns, and the last one is made where the thread would be waited for. */
#include "unit/core/pair.h"

#include "fake/thread.h"
#include "phxd/timeline.c" /* parts of a program, not of the library */
#undef pthread_create
#undef pthread_join
#include "phxd/timeline_look.c"
#include "phxd/timeline_news.c"
#include "fake/journal.h"

#define T0 (INT64_C(20000) * 24 * HOUR_MS)

static struct daemon d;
static struct timeline *t;
static struct world *world;
static char series[96];

void reads_breathe(int64_t since_us)
{
	(void)since_us;
	assert_false(fake_engine_held);
}

static int setup(void **state)
{
	fake_engine_begin();
	fake_no_thread = false;
	fake_now_ms = fake_journal_ms = T0;
	world_setup(state);
	world = *state;
	fake_state = &world->s;
	world_ready(world, "n1", true);
	world_ready(world, "n2", true);
	if (fake_journal_begin() < 0)
		return -1;
	d = (struct daemon){0};
	PHX_STR_SET(d.cfg.journal, fake_journal);
	PHX_STR_SET(d.cfg.state_dir, fake_dir);
	snprintf(series, sizeof(series), "%s/timeline.db", fake_dir);
	happens("node_add", "n1", "{}", "[]"); /* before its time */
	return timeline_new(&d, &t);
}

static int teardown(void **state)
{
	timeline_free(PHX_TAKE(t));
	world_teardown(state);
	return fake_journal_end();
}

/* A turn of the thread, so much later. */
static void turn(int64_t later_ms)
{
	fake_now_ms += later_ms;
	gather(t, false);
}

static void begins(void)
{
	gather(t, true);
}

static void restarts(void)
{
	timeline_free(PHX_TAKE(t));
	assert_int_equal(timeline_new(&d, &t), 0);
}

/* ---- what was written ---- */

struct sum {
	const char *pool;
	uint32_t n;
	struct phx_series_row all;
};

static int add_row(void *arg, const struct phx_series_row *row)
{
	struct sum *s = arg;
	if (strcmp(row->pool, s->pool) != 0)
		return 0;
	s->n++;
	s->all.covered_ms += row->covered_ms;
	for (int q = 0; q < PHX_SERIES_QUANTITIES; q++)
		s->all.sum[q] += row->sum[q];
	return 0;
}

static struct sum sum_of(const char *pool, enum phx_series_level level)
{
	struct phx_series_reader *r = NULL;
	struct sum s = {.pool = pool};
	assert_int_equal(phx_series_reader_open(series, &r, NULL), 0);
	assert_int_equal(phx_series_rows(r, level, 0, INT64_MAX, 10000, add_row, &s, NULL), 0);
	phx_series_reader_close(r);
	return s;
}

static struct phx_list now_is(void)
{
	struct phx_list lines = {0};
	assert_int_equal(timeline_now(t, &lines), 0);
	return lines;
}

/* The present line of that pool: its nodes, and since when. */
static void assert_now(const char *pool, int64_t nodes, int64_t since_ms)
{
	PHX_AUTO(phx_list_fini) struct phx_list lines = now_is();
	const struct timeline_line *l = line_of(&lines, pool);
	assert_non_null(l);
	assert_int_equal(l->values[PHX_SERIES_Q_nodes], nodes);
	assert_int_equal(l->at_ms, since_ms);
}

static int add_text(void *arg, const struct phx_series_holding *h)
{
	phx_buf_addf(arg, "%s %s %lld-%lld\n", h->node, h->pool, (long long)(h->from_ms - T0),
		     h->until_ms == INT64_MAX ? -1 : (long long)(h->until_ms - T0));
	return 0;
}

static void assert_holdings(const char *want)
{
	struct phx_series_reader *r = NULL;
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	assert_int_equal(phx_series_reader_open(series, &r, NULL), 0);
	assert_int_equal(phx_series_holdings(r, 0, INT64_MAX, "", 100, add_text, &b, NULL), 0);
	phx_series_reader_close(r);
	assert_string_equal(b.n ? b.data : "", want);
}

static void node_goes(const char *node)
{
	assert_int_equal(world_order(world, PHX_EV_assign, node, "compute"), 0);
	world_run(world, node);
}

/* ---- levels and the present ---- */

static void a_state_is_written_when_it_ends_with_the_time_that_it_lasted(void **state)
{
	(void)state;
	begins();
	assert_now("free", 2, T0);
	assert_int_equal(sum_of("free", PHX_SERIES_moment).n, 0);
	node_goes("n1");
	turn(10000);
	assert_now("free", 1, T0 + 10000);
	assert_now("batch", 1, T0 + 10000);
	for (int level = 0; level < PHX_SERIES_LEVELS; level++) {
		struct sum free = sum_of("free", (enum phx_series_level)level);
		assert_int_equal(free.n, 1);
		assert_int_equal(free.all.covered_ms, 10000);
		assert_int_equal(free.all.sum[PHX_SERIES_Q_nodes], 2 * 10000);
	}
	assert_int_equal(sum_of("batch", PHX_SERIES_moment).all.sum[PHX_SERIES_Q_nodes], 0);
}

static void what_stays_the_same_is_written_once_a_minute(void **state)
{
	(void)state;
	begins();
	for (int i = 0; i < 5; i++)
		turn(10000);
	assert_int_equal(sum_of("free", PHX_SERIES_moment).n, 0);
	assert_now("free", 2, T0);
	turn(10000);
	assert_int_equal(sum_of("free", PHX_SERIES_moment).n, 1);
	assert_int_equal(sum_of("free", PHX_SERIES_moment).all.covered_ms, MINUTE_MS);
	assert_now("free", 2, T0 + MINUTE_MS);
	turn(10000);
	assert_int_equal(sum_of("free", PHX_SERIES_moment).n, 1);
}

static void the_end_writes_what_is_known_so_far(void **state)
{
	(void)state;
	begins();
	fake_now_ms += 7000;
	happens("report", "n1", "{}", "[]");
	timeline_committed(t, 2);
	/* the thread itself, which begins and ends at this moment, and what was measured before */
	timeline_free(PHX_TAKE(t));
	assert_int_equal(sum_of("free", PHX_SERIES_moment).all.covered_ms, 7000);
	assert_int_equal(timeline_new(&d, &t), 0);
	assert_int_equal(t->told, 2);
}

static void a_pool_that_goes_is_written_and_gone(void **state)
{
	(void)state;
	begins();
	PHX_STR_SET(PHX_LIST_AT(&world->s.pools, struct phx_pool, 1)->name, "other");
	const uint32_t n = world->s.pools.n;
	turn(1000);
	PHX_AUTO(phx_list_fini) struct phx_list lines = now_is();
	assert_int_equal(lines.n, n);
	assert_null(line_of(&lines, "batch"));
	assert_int_equal(line_of(&lines, "other")->at_ms, T0 + 1000);
	assert_int_equal(sum_of("batch", PHX_SERIES_moment).all.covered_ms, 1000);
	PHX_STR_SET(PHX_LIST_AT(&world->s.pools, struct phx_pool, 1)->name, "batch");
}

static void an_re_is_measured_by_its_ledger(void **state)
{
	(void)state;
	phx_list_fini(&world->done);
	world_ready(world, "n3", true);
	struct phx_agreement q = agreement("queue", PHX_RE_BATCH, 2);
	q.coordination = PHX_RE_COORDINATED_NONE;
	q.partner[0] = '\0';
	q.role[0] = '\0';
	PHX_STR_SET(q.role, "compute");
	assert_int_equal(create(world, &q), 0);
	assert_int_equal(operate(world, PHX_EV_re_activate, "queue"), 0);
	PHX_AUTO(phx_list_fini) struct phx_list before = {0}, after = {0};
	assert_int_equal(timeline_measure(&world->s, &before), 0);
	assert_int_equal(line_of(&before, "queue")->values[PHX_SERIES_Q_coming], 2);
	settle(world);
	submit(world, 1);
	submit(world, 2);
	assert_int_equal(timeline_measure(&world->s, &after), 0);
	const int64_t *v = line_of(&after, "queue")->values;
	assert_int_equal(v[PHX_SERIES_Q_nodes], 2);
	assert_int_equal(v[PHX_SERIES_Q_busy], 1);
	assert_int_equal(v[PHX_SERIES_Q_running], 1);
	assert_int_equal(v[PHX_SERIES_Q_waiting], 1);
	assert_int_equal(v[PHX_SERIES_Q_demand], 3); /* of what runs, and of what waits */
}

/* ---- events ---- */

static void a_kill_is_a_mark_at_its_moment(void **state)
{
	(void)state;
	begins();
	happens("re_use", "", "{}",
		"[{\"kind\":\"note\",\"re\":\"hpc\",\"text\":\"job 7 of RE hpc is killed and "
		"queued again: the web RE wants nodes\"}]");
	turn(1000);
	turn(1000); /* not twice */
	assert_int_equal(sum_of("hpc", PHX_SERIES_hour).all.sum[PHX_SERIES_Q_kills], 1);
}

static struct phx_job *job(uint64_t id, const char *re, int state, int64_t ended_ms)
{
	struct phx_job *j = phx_list_push(&world->s.jobs, sizeof(*j));
	*j = (struct phx_job){.id = id,
			      .state = state,
			      .submitted_ms = ended_ms - 50,
			      .started_ms = ended_ms - 20,
			      .ended_ms = ended_ms};
	PHX_STR_SET(j->re, re);
	return j;
}

/* At event `seq`, whose time is a second each. */
static void tells_of_job(uint64_t id)
{
	char text[64];
	snprintf(text, sizeof(text), "{\"job\":%llu}", (unsigned long long)id);
	happens("job_result", "n1", text, "[]");
}

static void a_job_counts_once_where_it_ended_well(void **state)
{
	(void)state;
	begins();
	job(1, "hpc", PHX_JOB_DONE, T0 + 2000);   /* by event 2 */
	job(2, "hpc", PHX_JOB_FAILED, T0 + 3000); /* by event 3 */
	job(3, "", PHX_JOB_DONE, T0 + 4000);      /* of no RE */
	job(4, "hpc", PHX_JOB_DONE, T0 + 9999);   /* not by event 5 */
	for (uint64_t id = 1; id <= 4; id++)
		tells_of_job(id);
	tells_of_job(77); /* forgotten */
	turn(1000);
	struct sum s = sum_of("hpc", PHX_SERIES_hour);
	assert_int_equal(s.all.sum[PHX_SERIES_Q_ended], 1);
	assert_int_equal(s.all.sum[PHX_SERIES_Q_turnaround], 50);
	assert_int_equal(s.all.sum[PHX_SERIES_Q_queued], 30);
	assert_int_equal(sum_of("", PHX_SERIES_hour).n, 0);
	phx_list_fini(&world->s.jobs);
}

/* Of a job with two parts, whose results come in one moment. */
static void two_events_of_one_moment_end_a_job_once(void **state)
{
	struct timeline_news n = {0};
	static const struct timeline_job jobs[] = {{1, 5000}, {2, 5000}, {1, 5000}, {1, 6000}};
	(void)state;
	job(1, "hpc", PHX_JOB_DONE, 5000);
	job(2, "hpc", PHX_JOB_DONE, 5000);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(jobs); i++)
		*(struct timeline_job *)phx_list_push(&n.jobs, sizeof(jobs[i])) = jobs[i];
	timeline_look(&d, &n);
	assert_int_equal(n.happened.n, 2);
	timeline_news_fini(&n);
	phx_list_fini(&world->s.jobs);
}

/* Portions of the state that are looked at under one lock leave nobody out. */
static void more_nodes_than_a_portion_are_all_looked_at(void **state)
{
	struct timeline_news n = {0};
	(void)state;
	for (int i = 0; i < 2 * PORTION; i++) {
		char name[16];
		snprintf(name, sizeof(name), "m%d", i);
		timeline_add_node(&n, name, 1);
	}
	timeline_add_node(&n, "n1", 1);
	timeline_look(&d, &n);
	assert_string_equal(PHX_LIST_AT(&n.nodes, struct timeline_node, 2 * PORTION)->pool, "free");
	assert_string_equal(PHX_LIST_AT(&n.nodes, struct timeline_node, 0)->pool, "");
	timeline_news_fini(&n);
}

static void a_use_counts_while_the_pool_has_nodes(void **state)
{
	(void)state;
	begins();
	happens("re_use", "", "{\"re\":\"free\",\"use_ppm\":500000}", "[]");
	happens("re_use", "", "{\"re\":\"batch\",\"use_ppm\":700000}", "[]");
	turn(1000);
	PHX_AUTO(phx_list_fini) struct phx_list lines = now_is();
	assert_int_equal(line_of(&lines, "free")->values[PHX_SERIES_Q_measured], 1);
	assert_int_equal(line_of(&lines, "free")->values[PHX_SERIES_Q_use], 500000);
	assert_int_equal(line_of(&lines, "batch")->values[PHX_SERIES_Q_measured], 0);
	/* the last one counts, and lasts */
	happens("re_use", "", "{\"re\":\"free\",\"use_ppm\":600000}", "[]");
	turn(1000);
	turn(1000);
	PHX_AUTO(phx_list_fini) struct phx_list later = now_is();
	assert_int_equal(t->uses.n, 2);
	assert_int_equal(line_of(&later, "free")->values[PHX_SERIES_Q_use], 600000);
}

static void who_held_a_node_is_written_with_the_events_about_it(void **state)
{
	(void)state;
	begins();
	assert_holdings("n1 free 0--1\nn2 free 0--1\n");
	node_goes("n1");
	fake_now_ms += 5000;
	struct phx_store_row row = {.event = {2, T0 + 4000, "step_result", "n1", "{}", "[]"}};
	assert_int_equal(phx_store_append(fake_store, &row, 1, NULL), 0);
	gather(t, false);
	assert_holdings("n1 free 0-4000\nn1 batch 4000--1\nn2 free 0--1\n");
}

/* ---- over restarts ---- */

static void it_goes_on_from_the_event_that_it_was_told_last(void **state)
{
	static const char kill[] =
		"[{\"kind\":\"note\",\"re\":\"hpc\",\"text\":\"job 7 of RE hpc is killed and "
		"queued again: x\"}]";
	(void)state;
	happens("re_use", "", "{}", kill);
	restarts(); /* which reads it: its turn when it ends */
	assert_int_equal(sum_of("hpc", PHX_SERIES_hour).all.sum[PHX_SERIES_Q_kills], 1);
	happens("re_use", "", "{}", kill); /* while nobody follows */
	begins();
	assert_int_equal(sum_of("hpc", PHX_SERIES_hour).all.sum[PHX_SERIES_Q_kills], 2);
	restarts();
	begins();
	assert_int_equal(sum_of("hpc", PHX_SERIES_hour).all.sum[PHX_SERIES_Q_kills], 2);
}

static void a_node_that_went_meanwhile_is_held_no_more(void **state)
{
	(void)state;
	begins();
	restarts();
	fake_now_ms += 3000;
	struct phx_event ev = {.kind = PHX_EV_node_remove};
	PHX_STR_SET(ev.node, "n1");
	assert_int_equal(world_apply(world, &ev, NULL), 0);
	begins();
	assert_holdings("n1 free 0-3000\nn2 free 0--1\n");
}

/* An older journal was put back: what it was told of are events that are to come. */
static void a_journal_that_was_put_back_is_followed_from_its_end(void **state)
{
	(void)state;
	begins();
	happens("tick", "", "{}", "[]");
	turn(1000);
	assert_int_equal(t->told, 2);
	timeline_free(PHX_TAKE(t));
	struct phx_series *s = NULL;
	assert_int_equal(phx_series_open(series, &s, NULL), 0);
	assert_int_equal(phx_series_begin(s, NULL), 0);
	assert_int_equal(phx_series_commit(s, phx_store_id(fake_store), 1000, NULL), 0);
	phx_series_close(s);
	assert_int_equal(timeline_new(&d, &t), 0);
	assert_int_equal(t->told, 2);
}

/* ---- trouble ---- */

static void a_damaged_database_is_kept_beside_and_another_begun(void **state)
{
	char aside[128], *kept = NULL;
	size_t n;
	(void)state;
	begins();
	timeline_free(PHX_TAKE(t));
	assert_int_equal(phx_file_write(series, "this is none, and much too short", 32, 0600, NULL),
			 0);
	assert_int_equal(timeline_new(&d, &t), 0);
	assert_int_equal(fake_n_notices, 1);
	assert_non_null(strstr(fake_notice, "the time-line is damaged: it is kept as "));
	snprintf(aside, sizeof(aside), "%s.damaged", series);
	assert_int_equal(phx_file_read(aside, 100, &kept, &n, NULL), 0);
	assert_int_equal(n, 32);
	free(kept);
	begins();
	turn(MINUTE_MS);
	assert_int_equal(sum_of("free", PHX_SERIES_moment).n, 1);
}

static void a_database_that_cannot_be_opened_is_no_reason_not_to_start(void **state)
{
	(void)state;
	timeline_free(PHX_TAKE(t));
	PHX_STR_SET(d.cfg.state_dir, "/proc/self/none");
	fake_n_notices = 0;
	assert_int_equal(timeline_new(&d, &t), 0);
	assert_int_equal(fake_n_notices, 1);
	assert_non_null(strstr(fake_notice, "will be missing in the time-line: "));
	PHX_AUTO(phx_list_fini) struct phx_list lines = now_is();
	assert_int_equal(lines.n, 0);
	timeline_committed(t, 9); /* and waits for nobody */
	timeline_free(PHX_TAKE(t));
	/* a thread that cannot be had is the same */
	PHX_STR_SET(d.cfg.state_dir, fake_dir);
	fake_no_thread = true;
	assert_int_equal(timeline_new(&d, &t), 0);
	assert_int_equal(fake_n_notices, 2);
}

static void meddle(const char *sql)
{
	sqlite3 *db = NULL;
	assert_int_equal(sqlite3_open(series, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/* What could not be written is told once, and written when it can be. */
static void what_cannot_be_written_now_is_written_later(void **state)
{
	(void)state;
	begins();
	happens("tick", "", "{}", "[]");
	meddle("CREATE TRIGGER full BEFORE UPDATE ON told BEGIN SELECT RAISE(ABORT, 'no room'); "
	       "END;"
	       "CREATE TRIGGER full2 BEFORE INSERT ON told BEGIN SELECT RAISE(ABORT, 'no room'); "
	       "END;"
	       "CREATE TRIGGER full3 BEFORE DELETE ON told BEGIN SELECT RAISE(ABORT, 'no room'); "
	       "END");
	turn(MINUTE_MS);
	turn(MINUTE_MS);
	assert_int_equal(fake_n_notices, 1);
	assert_non_null(strstr(fake_notice, "no room"));
	assert_int_equal(t->told, 1);
	assert_int_equal(sum_of("free", PHX_SERIES_moment).n, 0); /* nor half of it */
	assert_now("free", 2, T0);
	meddle("DROP TRIGGER full; DROP TRIGGER full2; DROP TRIGGER full3");
	turn(MINUTE_MS);
	assert_int_equal(t->told, 2);
	assert_int_equal(sum_of("free", PHX_SERIES_minute).all.covered_ms, 3 * MINUTE_MS);
	/* and is told again if it fails again */
	meddle("ALTER TABLE told RENAME TO gone");
	turn(MINUTE_MS);
	assert_int_equal(fake_n_notices, 2);
	meddle("ALTER TABLE gone RENAME TO told");
}

/* Half of it is undone, so that the next turn can begin. */
static void a_kill_that_cannot_be_written_now_is_written_later(void **state)
{
	(void)state;
	begins();
	happens("re_use", "", "{}",
		"[{\"kind\":\"note\",\"re\":\"hpc\",\"text\":\"job 7 of RE hpc is killed and "
		"queued again: x\"}]");
	meddle("CREATE TRIGGER full BEFORE INSERT ON marks BEGIN SELECT RAISE(ABORT, 'no room'); "
	       "END");
	turn(MINUTE_MS);
	assert_int_equal(t->told, 1);
	meddle("DROP TRIGGER full");
	turn(MINUTE_MS);
	assert_int_equal(t->told, 2);
	assert_int_equal(sum_of("hpc", PHX_SERIES_hour).all.sum[PHX_SERIES_Q_kills], 1);
	assert_int_equal(sum_of("free", PHX_SERIES_minute).all.covered_ms, 2 * MINUTE_MS);
}

static void events_that_cannot_be_read_now_are_read_later(void **state)
{
	(void)state;
	begins();
	happens("tick", "", "{}", "[]");
	fake_journal_breaks();
	turn(1000);
	assert_int_equal(fake_n_notices, 1);
	assert_int_equal(t->told, 1);
	fake_journal_heals();
	turn(1000);
	assert_int_equal(t->told, 2);
}

/* A turn reads so many events at most, and the next one the rest. */
static void a_turn_has_an_end(void **state)
{
	static struct phx_store_row rows[EVENTS_MAX + PAGE];
	(void)state;
	begins();
	for (uint64_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		rows[i].event = (struct phx_store_event){i + 2, 1, "tick", "", "{}", "[]"};
	assert_int_equal(phx_store_append(fake_store, rows, PHX_ARRAY_SIZE(rows), NULL), 0);
	turn(1000);
	assert_int_equal(t->told, 1 + EVENTS_MAX);
	turn(1000);
	assert_int_equal(t->told, 1 + EVENTS_MAX + PAGE);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_state_is_written_when_it_ends_with_the_time_that_it_lasted),
		TEST(what_stays_the_same_is_written_once_a_minute),
		TEST(the_end_writes_what_is_known_so_far),
		TEST(a_pool_that_goes_is_written_and_gone),
		TEST(an_re_is_measured_by_its_ledger),
		TEST(a_kill_is_a_mark_at_its_moment),
		TEST(a_job_counts_once_where_it_ended_well),
		TEST(two_events_of_one_moment_end_a_job_once),
		TEST(more_nodes_than_a_portion_are_all_looked_at),
		TEST(a_use_counts_while_the_pool_has_nodes),
		TEST(who_held_a_node_is_written_with_the_events_about_it),
		TEST(it_goes_on_from_the_event_that_it_was_told_last),
		TEST(a_node_that_went_meanwhile_is_held_no_more),
		TEST(a_journal_that_was_put_back_is_followed_from_its_end),
		TEST(a_damaged_database_is_kept_beside_and_another_begun),
		TEST(a_database_that_cannot_be_opened_is_no_reason_not_to_start),
		TEST(what_cannot_be_written_now_is_written_later),
		TEST(a_kill_that_cannot_be_written_now_is_written_later),
		TEST(events_that_cannot_be_read_now_are_read_later),
		TEST(a_turn_has_an_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
