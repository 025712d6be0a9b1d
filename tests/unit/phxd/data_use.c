/* How much the data of REs holds (cmd/phxd/data_use.c): what is counted, by whom, and what does not
 * fit. Directories, helpers and the thread that counts are real, the disk's size is a fake. */
#include "fake/engine.h"

#include <sys/statvfs.h>

static int fake_statvfs(const char *path, struct statvfs *ret);
#define statvfs(path, ret) fake_statvfs(path, ret) /* the function, not the struct */
#include "phxd/data_use.c"                         /* a part of a program, not of the library */
#undef statvfs

#include "unit/phxd/areas.h"

#define CARLS "re/hpc/" RE_USERS "/carl"
enum { PATIENCE_MS = 20000 };

static struct daemon d;
static struct phx_state s;
static struct phx_err err;
static struct data_use *use;
static uint64_t fake_free_mb, fake_spool_free_mb;

static int fake_statvfs(const char *path, struct statvfs *ret)
{
	bool spool = !strcmp(path, d.cfg.output_dir);
	*ret = (struct statvfs){.f_frsize = MIB,
				.f_bavail = spool ? fake_spool_free_mb : fake_free_mb};
	return 0;
}

/* A little more than that: a directory takes something on some file systems, and nothing on others.
 */
static void put_mb(const char *path, unsigned mb, uid_t uid)
{
	static char zeros[MIB];
	int fd = open(in_top(path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	for (unsigned i = 0; i < mb; i++)
		assert_int_equal(phx_write_all(fd, zeros, sizeof(zeros)), 0);
	assert_int_equal(phx_write_all(fd, zeros, 1), 0);
	assert_int_equal(fchown(fd, uid, uid), 0);
	/* blocks are told once they are on the disk */
	assert_int_equal(fsync(fd), 0);
	close(fd);
}

/* An RE of nobody's, with 2 MiB of his and 1 MiB of carl's. */
static int setup(void **state)
{
	if (places_setup(state) < 0 || phx_state_init(&s) < 0)
		return -1;
	fake_state = &s;
	fake_free_mb = fake_spool_free_mb = 1000000;
	n_helpers = 0;
	phx_err_clear(&err);
	d = (struct daemon){.cfg = cfg};
	d.cfg.data_max_mb = 5;
	PHX_STR_SET(d.cfg.output_dir, in_top("output"));
	struct phx_re *re = phx_list_push(&s.res, sizeof(*re));
	PHX_STR_SET(re->name, "hpc");
	re->state = PHX_RE_STATE_RUNNING;
	re->created_ms = 7;
	re_made("hpc", "nobody");
	put_mb("re/hpc/a", 2, NOBODY);
	make_dir_of("re/hpc/" RE_USERS, 0, 0711);
	make_dir_of(CARLS, OTHER, 0700);
	put_mb(CARLS "/a", 1, OTHER);
	use = NULL;
	return 0;
}

static int teardown(void **state)
{
	data_use_free(use);
	helpers_have_ended();
	fake_engine_is_free();
	phx_state_fini(&s);
	return places_teardown(state);
}

static struct used now(void)
{
	struct used copy = {0};
	pthread_mutex_lock(&use->lock);
	const struct used *x = find(use, "hpc");
	if (x)
		copy = *x;
	pthread_mutex_unlock(&use->lock);
	return copy;
}

static void wait_until_counted(void)
{
	int64_t until = phx_clock_ms() + PATIENCE_MS;
	while (now().wanted || now().counting || !now().known)
		if (phx_clock_ms() > until)
			fail_msg("nobody counts");
		else
			usleep(10000);
}

static void begin(void)
{
	assert_int_equal(data_use_new(&d, &use), 0);
	if (data_use_bounds(use, "hpc"))
		wait_until_counted();
}

static int takes(unsigned mb, unsigned had_mb)
{
	const struct data_use_file f = {"hpc", (uint64_t)mb * MIB, (uint64_t)had_mb * MIB};
	phx_err_clear(&err);
	return data_use_take(use, &f, &err);
}

static void settles(unsigned mb, unsigned had_mb, bool is_there)
{
	const struct data_use_file f = {"hpc", (uint64_t)mb * MIB, (uint64_t)had_mb * MIB};
	data_use_settle(use, &f, is_there);
}

/* ---- what an RE holds ---- */

static void what_is_there_counts_of_all_users(void **state)
{
	(void)state;
	begin();
	assert_in_range(now().n_bytes, 3 * MIB, 3 * MIB + MIB / 2);
	assert_int_equal(takes(2, 0), -EDQUOT);
	assert_non_null(
		strstr(err.text, "the data of RE hpc would hold 6 MiB, and may hold 5 MiB"));
	assert_non_null(strstr(err.text, "data_max_mb"));
	assert_int_equal(takes(1, 0), 0);
	settles(1, 0, true);
	assert_int_equal(takes(1, 0), -EDQUOT);
}

static void what_did_not_come_counts_no_more(void **state)
{
	(void)state;
	begin();
	assert_int_equal(takes(1, 0), 0);
	assert_int_equal(takes(1, 0), -EDQUOT); /* while it is on its way */
	settles(1, 0, false);
	assert_int_equal(takes(1, 0), 0);
	settles(1, 0, true);
}

static void what_is_replaced_or_removed_makes_room(void **state)
{
	(void)state;
	begin();
	assert_int_equal(takes(3, 2), 0);
	settles(3, 2, true);
	assert_int_equal(takes(3, 3), 0); /* as large as before: also where all is full */
	settles(3, 3, true);
	assert_int_equal(takes(1, 0), -EDQUOT);
	data_use_gone(use, "hpc", 3 * MIB);
	data_use_gone(use, "none", 3 * MIB);
	assert_int_equal(takes(3, 0), 0);
	settles(3, 0, true);
}

/* What is on its way when a count begins is in none of the directories yet. */
static void what_comes_while_it_is_counted_counts(void **state)
{
	(void)state;
	begin();
	assert_int_equal(takes(1, 0), 0);
	pthread_mutex_lock(&use->lock);
	find(use, "hpc")->counted_ms -= COUNT_SOON_MS;
	pthread_mutex_unlock(&use->lock);
	assert_int_equal(takes(1, 0), -EDQUOT);
	wait_until_counted();
	assert_int_equal(takes(1, 0), -EDQUOT);
	settles(1, 0, false);
	assert_int_equal(takes(1, 0), 0);
	settles(1, 0, true);
}

/* He who has a login on the head writes and removes there himself. */
static void what_others_did_is_seen_soon(void **state)
{
	(void)state;
	begin();
	assert_int_equal(takes(3, 0), -EDQUOT);
	assert_int_equal(unlink(in_top("re/hpc/a")), 0);
	wait_until_counted();
	assert_int_equal(takes(3, 0), -EDQUOT);
	assert_false(now().wanted); /* not for each that is refused */
	pthread_mutex_lock(&use->lock);
	find(use, "hpc")->counted_ms -= COUNT_SOON_MS;
	pthread_mutex_unlock(&use->lock);
	assert_int_equal(takes(3, 0), -EDQUOT);
	wait_until_counted();
	assert_int_equal(takes(3, 0), 0);
	settles(3, 0, true);
	/* and what they wrote, where something is put, after an hour */
	put_mb("re/hpc/b", 3, NOBODY);
	assert_int_equal(takes(0, 0), 0);
	settles(0, 0, true);
	assert_false(now().wanted);
	pthread_mutex_lock(&use->lock);
	find(use, "hpc")->counted_ms -= COUNT_AGAIN_MS;
	pthread_mutex_unlock(&use->lock);
	assert_int_equal(takes(0, 0), 0);
	settles(0, 0, true);
	wait_until_counted();
	assert_int_equal(takes(2, 0), -EDQUOT);
}

static void an_re_of_a_former_name_begins_anew(void **state)
{
	(void)state;
	begin();
	assert_int_equal(takes(3, 0), -EDQUOT);
	PHX_LIST_AT(&s.res, struct phx_re, 0)->created_ms = 8;
	assert_int_equal(unlink(in_top("re/hpc/a")), 0);
	assert_int_equal(takes(1, 0), 0); /* not counted yet */
	settles(1, 0, true);
	wait_until_counted();
	assert_int_equal(takes(2, 0), 0);
	settles(2, 0, true);
}

static void without_a_bound_nobody_counts(void **state)
{
	(void)state;
	d.cfg.data_max_mb = 0;
	begin();
	assert_int_equal(takes(1000, 0), 0);
	settles(1000, 0, true);
	assert_int_equal(n_helpers, 0);
	assert_int_equal(use->list.n, 0);
}

/* What its agreement says counts, more or less than others may, and from the next file on. */
static void an_agreement_has_its_own_bound(void **state)
{
	(void)state;
	struct phx_agreement *g = &PHX_LIST_AT(&s.res, struct phx_re, 0)->agreement;
	g->data_max_mb = 8;
	begin();
	assert_int_equal(takes(4, 0), 0);
	settles(4, 0, false);
	assert_int_equal(takes(5, 0), -EDQUOT);
	assert_non_null(strstr(err.text, "may hold 8 MiB (data_max_mb of its agreement)"));
	g->data_max_mb = 4;
	assert_int_equal(takes(1, 0), -EDQUOT);
	g->data_max_mb = 0;
	assert_int_equal(takes(1, 0), 0);
	settles(1, 0, false);
	assert_int_equal(takes(2, 0), -EDQUOT);
	assert_non_null(strstr(err.text, "may hold 5 MiB (data_max_mb)"));
	assert_true(data_use_bounds(use, "none"));
}

/* One that gets a bound while phxd runs is counted then; others are not. */
static void a_bound_that_comes_later_is_looked_at(void **state)
{
	(void)state;
	d.cfg.data_max_mb = 0;
	begin();
	assert_false(data_use_bounds(use, "hpc"));
	PHX_LIST_AT(&s.res, struct phx_re, 0)->agreement.data_max_mb = 4;
	assert_true(data_use_bounds(use, "hpc"));
	assert_false(data_use_bounds(use, "none"));
	assert_int_equal(takes(1, 0), 0); /* before it has been counted */
	settles(1, 0, false);
	wait_until_counted();
	assert_int_equal(takes(2, 0), -EDQUOT);
}

static bool never(void *arg)
{
	(void)arg;
	return false;
}

/* A long walk does not hold up the end of phxd. */
static void a_count_can_be_ended(void **state)
{
	char path[128];
	uint64_t n = 0;
	(void)state;
	for (int i = 0; i < FILES_SUM_AT_ONCE; i++) {
		snprintf(path, sizeof(path), CARLS "/%d", i);
		put_text(path, "");
	}
	assert_int_equal(re_area_sum(&d, "hpc", never, NULL, &n), -ECANCELED);
	assert_int_equal(n, 0);
}

/* ---- the disk ---- */

static void what_is_to_stay_free_stays_free(void **state)
{
	(void)state;
	d.cfg.data_max_mb = 0;
	d.cfg.data_reserve_mb = 100;
	begin();
	fake_free_mb = 110;
	assert_int_equal(takes(11, 0), -EDQUOT);
	assert_non_null(
		strstr(err.text, "110 MiB are free, and 100 MiB stay free (data_reserve_mb)"));
	/* those that come at once do not each get what is left */
	assert_int_equal(takes(6, 0), 0);
	assert_int_equal(takes(6, 0), -EDQUOT);
	settles(6, 0, false);
	assert_int_equal(takes(10, 0), 0);
	settles(10, 0, true);
	fake_free_mb = 99;
	assert_int_equal(takes(0, 0), -EDQUOT);
}

static void before_it_comes_both_disks_are_asked(void **state)
{
	(void)state;
	d.cfg.data_reserve_mb = 100;
	begin();
	fake_free_mb = fake_spool_free_mb = 110;
	assert_int_equal(data_use_room(use, 10 * MIB, &err), 0);
	assert_int_equal(data_use_room(use, 11 * MIB, &err), -EDQUOT);
	fake_free_mb = 1000;
	assert_int_equal(data_use_room(use, 11 * MIB, &err), -EDQUOT);
	fake_spool_free_mb = 1000;
	assert_int_equal(data_use_room(use, 11 * MIB, &err), 0);
	fake_free_mb = 50;
	assert_int_equal(data_use_room(use, 0, &err), -EDQUOT);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	if (geteuid() != 0) {
		print_message("directories of others are root's to make\n");
		return 0;
	}
	const struct CMUnitTest tests[] = {
		T(what_is_there_counts_of_all_users),      T(what_did_not_come_counts_no_more),
		T(what_is_replaced_or_removed_makes_room), T(what_comes_while_it_is_counted_counts),
		T(what_others_did_is_seen_soon),           T(an_re_of_a_former_name_begins_anew),
		T(without_a_bound_nobody_counts),          T(an_agreement_has_its_own_bound),
		T(a_bound_that_comes_later_is_looked_at),  T(a_count_can_be_ended),
		T(what_is_to_stay_free_stays_free),        T(before_it_comes_both_disks_are_asked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
