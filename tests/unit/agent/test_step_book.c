/* The rules of the step log, over steps in memory that fail when told: what is written when, what
 * is kept, what is forgotten. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "agent/step_book.h"

enum { KEEP = 3, ROOM = 16 };

struct step {
	uint64_t id;
	int result;
};

/* What lies on one disk, and what was done to it. */
struct disk {
	struct step steps[ROOM];
	uint32_t n;
	uint64_t epoch;
	uint64_t unwritable; /* step */
	int write_fails, read_fails, remove_fails, each_fails;
	char done[200]; /* "w7 r3 e5": wrote 7, removed 3, wrote epoch 5 */
};

static void note(struct disk *d, char what, uint64_t number)
{
	size_t n = strlen(d->done);
	snprintf(d->done + n, sizeof(d->done) - n, "%s%c%" PRIu64, n ? " " : "", what, number);
}

static struct step *find(struct disk *d, uint64_t id)
{
	for (uint32_t i = 0; i < d->n; i++)
		if (d->steps[i].id == id)
			return &d->steps[i];
	return NULL;
}

static int do_write(void *arg, uint64_t id, const void *step, struct phx_err *err)
{
	struct disk *d = arg;
	struct step *to = find(d, id);
	if (d->write_fails || d->unwritable == id)
		return phx_err_set(err, d->write_fails ? d->write_fails : -EIO, "step %" PRIu64,
				   id);
	note(d, 'w', id);
	assert_true(to || d->n < ROOM);
	to = to ? to : &d->steps[d->n++];
	*to = *(const struct step *)step;
	return 0;
}

static int do_read(void *arg, uint64_t id, void *ret, struct phx_err *err)
{
	struct disk *d = arg;
	const struct step *s = find(d, id);
	if (d->read_fails)
		return phx_err_set(err, d->read_fails, "damaged");
	assert_non_null(s);
	*(struct step *)ret = *s;
	return 0;
}

static int do_remove(void *arg, uint64_t id)
{
	struct disk *d = arg;
	struct step *s = find(d, id);
	if (d->remove_fails)
		return d->remove_fails;
	note(d, 'r', id);
	assert_non_null(s);
	*s = d->steps[--d->n];
	return 0;
}

static int do_each(void *arg, step_book_fn *fn, void *fn_arg)
{
	const struct disk *d = arg;
	if (d->each_fails)
		return d->each_fails;
	for (uint32_t i = 0; i < d->n; i++)
		fn(fn_arg, d->steps[i].id);
	return 0;
}

static int do_write_epoch(void *arg, uint64_t epoch, struct phx_err *err)
{
	struct disk *d = arg;
	if (d->write_fails)
		return phx_err_set(err, d->write_fails, "epoch");
	note(d, 'e', epoch);
	d->epoch = epoch;
	return 0;
}

static struct step_book book_of(struct disk *d)
{
	return (struct step_book){d, KEEP, do_write, do_read, do_remove, do_each, do_write_epoch};
}

static int put(struct disk *d, uint64_t id, int result)
{
	const struct step_book b = book_of(d);
	const struct step s = {id, result};
	return step_book_put(&b, id, &s, NULL);
}

static void test_the_oldest_go(void **state)
{
	struct disk d = {0};
	(void)state;
	assert_int_equal(put(&d, 11, 0), 0);
	assert_int_equal(put(&d, 10, 0), 0);
	assert_int_equal(put(&d, 12, 0), 0);
	assert_string_equal(d.done, "w11 w10 w12"); /* up to the bound all stay */
	assert_int_equal(put(&d, 13, 0), 0);
	assert_string_equal(d.done, "w11 w10 w12 w13 r10"); /* written before another goes */
	assert_int_equal(put(&d, 14, 0), 0);
	assert_int_equal(d.n, KEEP);
	assert_null(find(&d, 11));
	assert_non_null(find(&d, 12));
}

static void test_a_later_attempt_takes_the_place(void **state)
{
	struct disk d = {0};
	(void)state;
	for (uint64_t id = 1; id <= KEEP; id++)
		assert_int_equal(put(&d, id, -EIO), 0);
	assert_int_equal(put(&d, 1, 0), 0);
	assert_string_equal(d.done, "w1 w2 w3 w1"); /* nothing is forgotten for it */
	assert_int_equal(find(&d, 1)->result, 0);
}

/* What is not written costs nothing that is. */
static void test_a_step_that_cannot_be_written(void **state)
{
	struct disk d = {0};
	(void)state;
	for (uint64_t id = 1; id <= KEEP; id++)
		assert_int_equal(put(&d, id, 0), 0);
	d.write_fails = -ENOSPC;
	assert_int_equal(put(&d, 9, 0), -ENOSPC);
	assert_int_equal(d.n, KEEP);
	assert_string_equal(d.done, "w1 w2 w3");
	d.write_fails = 0;
	d.remove_fails = -EROFS;
	assert_int_equal(put(&d, 4, 0), 0);
	d.write_fails = -ENOSPC;
	d.remove_fails = 0;
	assert_int_equal(put(&d, 5, 0), -ENOSPC);
	assert_string_equal(d.done, "w1 w2 w3 w4");
}

/* The result counts as kept: it is. */
static void test_what_cannot_be_forgotten_stays(void **state)
{
	struct disk d = {0};
	(void)state;
	for (uint64_t id = 1; id <= KEEP; id++)
		assert_int_equal(put(&d, id, 0), 0);
	d.remove_fails = -EROFS;
	assert_int_equal(put(&d, 4, 0), 0);
	d.remove_fails = 0;
	d.each_fails = -EIO;
	assert_int_equal(put(&d, 5, 0), 0);
	assert_int_equal(d.n, KEEP + 2);
	d.each_fails = 0;
	assert_int_equal(put(&d, 6, 0), 0); /* and goes when it can */
	assert_string_equal(d.done, "w1 w2 w3 w4 w5 w6 r1 r2 r3");
}

static void test_epochs(void **state)
{
	struct disk d = {0};
	const struct step_book b = book_of(&d);
	struct step_epochs e = {0};
	(void)state;
	assert_int_equal(step_book_keep_epoch(&b, &e, 5, NULL), 0);
	assert_int_equal(step_book_keep_epoch(&b, &e, 5, NULL), 0);
	assert_int_equal(step_book_keep_epoch(&b, &e, 4, NULL), 0);
	assert_int_equal(e.seen, 5);
	assert_string_equal(d.done, "e5");
	assert_int_equal(step_book_keep_epoch(&b, &e, 6, NULL), 0);
	assert_string_equal(d.done, "e5 e6"); /* each one, not only the first */
	d.write_fails = -ENOSPC;
	assert_int_equal(step_book_keep_epoch(&b, &e, 7, NULL), -ENOSPC);
	/* what would not outlast the agent does not count for orders, and nothing older begins */
	assert_int_equal(e.written, 6);
	assert_int_equal(e.seen, 7);
	d.write_fails = 0;
	assert_int_equal(step_book_keep_epoch(&b, &e, 7, NULL), 0);
	assert_int_equal(e.written, 7);
}

static int copy(struct disk *from, struct disk *to)
{
	const struct step_book a = book_of(from), b = book_of(to);
	struct step room;
	from->done[0] = to->done[0] = '\0';
	return step_book_copy(&a, from->epoch, &b, to->epoch, &room, NULL);
}

static void test_copy(void **state)
{
	struct disk a = {.epoch = 9}, b = {.epoch = 8};
	(void)state;
	assert_int_equal(put(&a, 4, 0) + put(&a, 5, -EIO), 0);
	assert_int_equal(put(&b, 2, 0) + put(&b, 3, 0) + put(&b, 4, -EIO), 0);
	assert_int_equal(copy(&a, &b), 0);
	assert_string_equal(b.done, "w4 w5 r2 e9"); /* steps before the epoch, within the bound */
	assert_string_equal(a.done, "");
	assert_int_equal(find(&b, 4)->result, 0);
	assert_int_equal(find(&b, 5)->result, -EIO);
	assert_int_equal(copy(&a, &b), 0); /* twice is once */
	assert_string_equal(b.done, "w4 w5");
	/* more than one goes: a machine may enter the same system again and again */
	struct disk c = {.epoch = 20};
	assert_int_equal(put(&c, 11, 0) + put(&c, 12, 0) + put(&c, 13, 0), 0);
	assert_int_equal(copy(&c, &b), 0);
	assert_string_equal(b.done, "w11 w12 w13 r3 r4 r5 e20");
}

/* An older memory never lowers the epoch. */
static void test_copy_of_the_past(void **state)
{
	struct disk a = {.epoch = 2}, b = {.epoch = 17};
	(void)state;
	assert_int_equal(put(&a, 1, 0), 0);
	assert_int_equal(copy(&a, &b), 0);
	assert_int_equal(b.epoch, 17);
	assert_string_equal(b.done, "w1");
}

/* The epoch is not taken along without the steps. */
static void test_copy_that_fails(void **state)
{
	struct disk a = {.epoch = 9}, b = {0};
	(void)state;
	assert_int_equal(put(&a, 1, 0) + put(&a, 2, 0), 0);
	b.unwritable = 1;
	assert_int_equal(copy(&a, &b), -EIO); /* though the last one could be written */
	b.unwritable = 0;
	a.read_fails = -EBADMSG;
	assert_int_equal(copy(&a, &b), -EBADMSG);
	a.read_fails = 0;
	a.each_fails = -EIO;
	assert_int_equal(copy(&a, &b), -EIO);
	assert_int_equal(b.epoch, 0);
	assert_int_equal(b.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_oldest_go),
		cmocka_unit_test(test_a_later_attempt_takes_the_place),
		cmocka_unit_test(test_a_step_that_cannot_be_written),
		cmocka_unit_test(test_what_cannot_be_forgotten_stays),
		cmocka_unit_test(test_epochs),
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_copy_of_the_past),
		cmocka_unit_test(test_copy_that_fails),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
