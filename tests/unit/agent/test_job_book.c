/* The rules of the records of jobs, over records in memory that fail when told: what is written
 * when, what an order comes to, what is kept and what is forgotten. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "agent/job_book.h"

enum { KEEP = 3, ROOM = 16 };

/* What lies on the disk, what the owner knows, and what was done. */
struct disk {
	struct job_record recs[ROOM];
	uint32_t n;
	int write_fails, end_fails, each_fails;
	uint64_t damaged;    /* a job */
	uint64_t used[ROOM]; /* jobs in use */
	uint32_t n_used;
	bool runs, older_asked;
	struct job_run asked; /* which was asked about last */
	char done[200];       /* "w7.1 e7.1=143 r3": wrote run 1 of job 7, its end, removed 3 */
};

static void note(struct disk *d, const char *text)
{
	size_t n = strlen(d->done);
	snprintf(d->done + n, sizeof(d->done) - n, "%s%s", n ? " " : "", text);
}

static struct job_record *find(struct disk *d, uint64_t id)
{
	for (uint32_t i = 0; i < d->n; i++)
		if (d->recs[i].id == id)
			return &d->recs[i];
	return NULL;
}

static int do_write(void *arg, const struct job_record *rec, struct phx_err *err)
{
	struct disk *d = arg;
	struct job_record *to = find(d, rec->id);
	char text[40];
	if (d->write_fails)
		return phx_err_set(err, d->write_fails, "job %" PRIu64, rec->id);
	snprintf(text, sizeof(text), "w%" PRIu64 ".%u", rec->id, rec->run);
	note(d, text);
	assert_true(to || d->n < ROOM);
	to = to ? to : &d->recs[d->n++];
	*to = *rec;
	return 0;
}

static int do_read(void *arg, uint64_t id, struct job_record *ret)
{
	struct disk *d = arg;
	const struct job_record *rec = find(d, id);
	memset(ret, 0x5a, sizeof(*ret)); /* what is left of a read that fails is nothing to go by */
	if (d->damaged == id)
		return -EBADMSG;
	if (rec)
		*ret = *rec;
	return rec ? 0 : -ENOENT;
}

static int do_write_end(void *arg, struct job_run run, int status, struct phx_err *err)
{
	struct disk *d = arg;
	char text[40];
	if (d->end_fails)
		return phx_err_set(err, d->end_fails, "job %" PRIu64, run.id);
	snprintf(text, sizeof(text), "e%" PRIu64 ".%u=%d", run.id, run.run, status);
	note(d, text);
	return 0;
}

static int do_remove(void *arg, uint64_t id)
{
	struct disk *d = arg;
	struct job_record *rec = find(d, id);
	char text[40];
	assert_non_null(rec);
	snprintf(text, sizeof(text), "r%" PRIu64, id);
	note(d, text);
	*rec = d->recs[--d->n];
	return 0;
}

static int do_each(void *arg, job_book_id_fn *fn, void *fn_arg)
{
	const struct disk *d = arg;
	for (uint32_t i = 0; i < d->n && !d->each_fails; i++)
		fn(fn_arg, d->recs[i].id);
	return d->each_fails;
}

static bool is_used(void *arg, uint64_t id)
{
	const struct disk *d = arg;
	for (uint32_t i = 0; i < d->n_used; i++)
		if (d->used[i] == id)
			return true;
	return false;
}

static bool do_runs(void *arg, struct job_run run, bool older)
{
	struct disk *d = arg;
	d->asked = run;
	d->older_asked = older;
	return d->runs;
}

static struct job_book book_of(struct disk *d)
{
	return (struct job_book){d,         KEEP,    do_write, do_read, do_write_end,
				 do_remove, do_each, is_used,  do_runs};
}

static void put(struct disk *d, uint64_t id, uint32_t run, int64_t submitted_ms, bool reported)
{
	assert_true(d->n < ROOM);
	d->recs[d->n++] = (struct job_record){
		.id = id, .run = run, .submitted_ms = submitted_ms, .reported = reported};
}

/* ---- orders ---- */

static void test_orders(void **state)
{
	(void)state;
	/* the newest run that is known is run 2 of job 5, submitted at 70 */
	static const struct {
		struct job_order order;
		bool runs;
		int act;
		bool older;
	} cases[] = {
		{{{6, 0}, 70, false, false}, false, DECIDE_JOB_START, false},
		{{{6, 0}, 0, true, false}, false, DECIDE_JOB_BAR, false},
		{{{5, 2}, 70, false, false}, false, DECIDE_JOB_TELL, false},
		{{{5, 2}, 70, false, true}, true, DECIDE_JOB_TELL, false},
		{{{5, 2}, 0, true, true}, true, DECIDE_JOB_END, false},
		{{{5, 2}, 0, true, false}, false, DECIDE_JOB_TELL, false},
		{{{5, 3}, 70, false, false}, false, DECIDE_JOB_START, true},
		{{{5, 3}, 70, false, false}, true, DECIDE_JOB_MAKE_WAY, true},
		{{{5, 3}, 0, true, false}, false, DECIDE_JOB_BAR, true},
		{{{5, 3}, 0, true, false}, true, DECIDE_JOB_AWAIT, true},
		{{{5, 1}, 70, false, false}, false, DECIDE_JOB_REFUSE, false},
		{{{5, 1}, 0, true, false}, true, DECIDE_JOB_REFUSE, false},
		/* another job of that number, of a head that lost its journal */
		{{{5, 0}, 71, false, false}, false, DECIDE_JOB_START, true},
		{{{5, 0}, 71, false, false}, true, DECIDE_JOB_MAKE_WAY, true},
	};
	struct disk d = {0};
	const struct job_book b = book_of(&d);
	put(&d, 5, 2, 70, false);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		struct job_known known;
		struct job_run run = cases[i].order.run;
		d.runs = cases[i].runs;
		assert_int_equal(job_book_order(&b, &cases[i].order, &known), cases[i].act);
		assert_int_equal(known.older, cases[i].older);
		assert_int_equal(d.older_asked, cases[i].older);
		assert_int_equal(d.asked.run, cases[i].older ? 2 : run.run);
		if (cases[i].act == DECIDE_JOB_REFUSE)
			assert_int_equal(known.rec.run, 2);
	}
	assert_string_equal(d.done, ""); /* an order alone writes nothing */
}

/* It shows that the job was here: its run does not start, and one that is known to run ends. */
static void test_damaged_record(void **state)
{
	(void)state;
	struct disk d = {.damaged = 5, .runs = true};
	const struct job_book b = book_of(&d);
	struct job_known known;
	put(&d, 5, 2, 70, false);
	const struct job_order start = {{5, 3}, 70, false, false}, end = {{5, 2}, 0, true, false},
			       ends = {{5, 2}, 0, true, true};
	assert_int_equal(job_book_order(&b, &start, &known), DECIDE_JOB_TELL);
	assert_int_equal(known.rec.id, 0);
	assert_int_equal(job_book_order(&b, &end, &known), -EBADMSG);
	assert_int_equal(job_book_order(&b, &ends, &known), DECIDE_JOB_END);
}

/* ---- what is written ---- */

static void test_record_comes_first(void **state)
{
	(void)state;
	struct disk d = {0};
	const struct job_book b = book_of(&d);
	put(&d, 7, 0, 70, true);
	assert_int_equal(job_book_begin(&b, (struct job_run){7, 1}, 900, 70, NULL), 0);
	assert_string_equal(d.done, "w7.1");
	const struct job_record *rec = find(&d, 7);
	assert_int_equal(rec->goodbye_ms, 900);
	assert_int_equal(rec->submitted_ms, 70);
	assert_false(rec->reported); /* that was the older one's */
	d.write_fails = -ENOSPC;
	assert_int_equal(job_book_begin(&b, (struct job_run){7, 2}, 900, 70, NULL), -ENOSPC);
}

/* The order to end it says nothing of when the job was submitted: the run is barred, whatever an
 * order to start it says. */
static void test_barred(void **state)
{
	(void)state;
	struct disk d = {0};
	const struct job_book b = book_of(&d);
	const struct job_order start = {{7, 1}, 70, false, false};
	struct job_known known;
	assert_int_equal(job_book_bar(&b, (struct job_run){7, 1}, NULL), 0);
	assert_string_equal(d.done, "w7.1 e7.1=143");
	assert_int_equal(find(&d, 7)->submitted_ms, 0);
	assert_false(find(&d, 7)->reported);
	assert_int_equal(job_book_order(&b, &start, &known), DECIDE_JOB_TELL);
	d.end_fails = -EIO;
	assert_int_equal(job_book_bar(&b, (struct job_run){8, 0}, NULL), -EIO);
	d.write_fails = -ENOSPC;
	assert_int_equal(job_book_bar(&b, (struct job_run){9, 0}, NULL), -ENOSPC);
	assert_null(find(&d, 9));
}

static void test_reported(void **state)
{
	(void)state;
	struct disk d = {0};
	const struct job_book b = book_of(&d);
	put(&d, 7, 1, 70, false);
	assert_int_equal(job_book_reported(&b, (struct job_run){7, 0}, NULL), 1); /* an older run */
	assert_int_equal(job_book_reported(&b, (struct job_run){8, 0}, NULL), 1); /* not known */
	assert_false(find(&d, 7)->reported);
	assert_string_equal(d.done, "");
	assert_int_equal(job_book_reported(&b, (struct job_run){7, 1}, NULL), 0);
	assert_true(find(&d, 7)->reported);
	assert_int_equal(find(&d, 7)->submitted_ms, 70);
	d.write_fails = -ENOSPC;
	assert_int_equal(job_book_reported(&b, (struct job_run){7, 1}, NULL), -ENOSPC);
	d.damaged = 7;
	assert_int_equal(job_book_reported(&b, (struct job_run){7, 1}, NULL), 1);
}

/* ---- what is forgotten ---- */

static void test_oldest_go(void **state)
{
	(void)state;
	struct disk d = {0};
	const struct job_book b = book_of(&d);
	static const uint64_t ids[] = {12, 30, 9, 11, 10};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(ids); i++)
		put(&d, ids[i], 0, 70, true);
	assert_int_equal(job_book_reported(&b, (struct job_run){30, 0}, NULL), 0);
	assert_string_equal(d.done, "w30.0 r9 r10");
	assert_int_equal(job_book_reported(&b, (struct job_run){30, 0}, NULL), 0);
	assert_int_equal(d.n, KEEP);
	/* though its record cannot be written */
	put(&d, 31, 0, 70, false);
	d.write_fails = -ENOSPC;
	assert_int_equal(job_book_reported(&b, (struct job_run){31, 0}, NULL), -ENOSPC);
	assert_null(find(&d, 11));
}

/* What is in use stays, and does not keep others. */
static void test_used_stay(void **state)
{
	(void)state;
	struct disk d = {.used = {1, 2}, .n_used = 2};
	const struct job_book b = book_of(&d);
	for (uint64_t id = 1; id <= 5; id++)
		put(&d, id, 0, 70, id > 2);
	assert_int_equal(job_book_reported(&b, (struct job_run){5, 0}, NULL), 0);
	assert_string_equal(d.done, "w5.0 r3 r4");
	for (uint64_t id = 6; id <= 8; id++) {
		put(&d, id, 0, 70, false);
		d.used[d.n_used++] = id;
	}
	assert_int_equal(job_book_reported(&b, (struct job_run){5, 0}, NULL), 0);
	assert_int_equal(d.n, 5); /* all that is left is in use */
	assert_null(find(&d, 5));
}

/* ---- the agent starts ---- */

static void sum_up(void *arg, const struct job_record *rec)
{
	*(uint64_t *)arg += rec->id;
}

static void test_open(void **state)
{
	(void)state;
	struct disk d = {.damaged = 100};
	const struct job_book b = book_of(&d);
	uint64_t sum = 0;
	put(&d, 1, 0, 70, false);
	put(&d, 10, 0, 70, true);
	put(&d, 100, 0, 70, false);
	put(&d, 1000, 3, 70, false);
	assert_int_equal(job_book_open(&b, sum_up, &sum), 0);
	assert_int_equal(sum, 1001);
	d.each_fails = -EIO;
	assert_int_equal(job_book_open(&b, sum_up, &sum), -EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_damaged_record),
		cmocka_unit_test(test_record_comes_first),
		cmocka_unit_test(test_barred),
		cmocka_unit_test(test_reported),
		cmocka_unit_test(test_oldest_go),
		cmocka_unit_test(test_used_stay),
		cmocka_unit_test(test_open),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
