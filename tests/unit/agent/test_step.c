/* The last guard before a disk is touched: a system that runs from one touches none, whatever it
 * was ordered. The orders here name a disk that no machine has, so that this test is harmless even
 * where the guard is broken. */
#include "unit/agent/scratch.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/json.h"
#include "agent/root.h"
#include "agent/step_table.h"

static bool runs_from_ram(void)
{
	struct statfs fs;
	assert_int_equal(statfs("/", &fs), 0);
	return fs.f_type == RAMFS_MAGIC || fs.f_type == TMPFS_MAGIC;
}

/* What the agent is in the deploy initramfs, but for the machine. */
static struct agent in_deploy(const struct scratch *s)
{
	struct agent a = {.env = PHX_ENV_DEPLOY};
	struct phx_err err = {0};
	a.cfg.whole_machine = true;
	PHX_STR_SET(a.cfg.state_dir, s->dir);
	PHX_STR_SET(a.cfg.fact_root, s->dir);
	assert_int_equal(step_log_open(&a.step_log, s->dir, &err), 0);
	assert_int_equal(loop_new(&a.loop, &err), 0);
	return a;
}

static int order(const struct scratch *s, enum phx_step_kind kind, const char *extra,
		 struct phx_err *err)
{
	struct agent a = in_deploy(s);
	struct phx_order o = {.id = 1,
			      .epoch = 1,
			      .step = {.id = 1, .kind = (int)kind, .method = PHX_WIPE_OVERWRITE}};
	PHX_AUTO_JSON json_t *j = json_loads(extra, 0, NULL);
	PHX_STR_SET(o.step.disk, "no-machine-has-this-disk");
	struct step_run run = {.agent = &a, .order = &o, .extra = j, .deadline_ms = INT64_MAX};
	int r = step_run(&run, err);
	assert_false(run.has_wipe);
	phx_record_fini(&phx_facts_record, &a.facts);
	loop_free(a.loop);
	return r;
}

struct newer_order {
	struct agent *agent;
	struct phx_err err;
	int r;
};

static void *order_of_newer_epoch(void *arg)
{
	struct newer_order *n = arg;
	phx_sleep_ms(100);
	n->r = step_log_keep_epoch(&n->agent->step_log, 2, &n->err);
	loop_news(n->agent->loop);
	return NULL;
}

/* A step that waits sleeps for as long as it said, but hears of a newer order at once, and of its
 * own deadline. */
static void test_waits(void **state)
{
	struct agent a = in_deploy(*state);
	struct phx_order o = {.id = 1, .epoch = 1};
	struct step_run run = {.agent = &a, .order = &o, .deadline_ms = INT64_MAX};
	struct newer_order newer = {.agent = &a};
	pthread_t thread;
	int64_t began = phx_clock_ms();
	assert_false(step_wait_ms(&run, 50));
	assert_in_range(phx_clock_ms() - began, 50, 10000);
	run.deadline_ms = phx_clock_ms() + 50;
	assert_true(step_wait_ms(&run, 60000));
	run.deadline_ms = INT64_MAX;
	assert_false(step_cancelled(&run));
	assert_int_equal(pthread_create(&thread, NULL, order_of_newer_epoch, &newer), 0);
	assert_true(step_wait_ms(&run, 60000));
	pthread_join(thread, NULL);
	assert_int_equal(newer.r, 0);
	assert_in_range(phx_clock_ms() - began, 200, 30000);
	assert_true(step_cancelled(&run));
	loop_free(a.loop);
}

/* That is so even if the newer epoch cannot be written down, and its own steps do not begin. */
static void test_waits_no_more_when_the_disk_is_full(void **state)
{
	struct agent a = in_deploy(*state);
	struct phx_order o = {.id = 1, .epoch = 1};
	struct step_run run = {.agent = &a, .order = &o, .deadline_ms = INT64_MAX};
	assert_int_equal(mkdir(scratch_path(*state, "epoch"), 0700), 0);
	assert_false(step_cancelled(&run));
	assert_true(step_log_keep_epoch(&a.step_log, 2, NULL) < 0);
	assert_true(step_cancelled(&run));
	assert_non_null(strstr(step_why_cancelled(&run), "newer"));
	loop_free(a.loop);
}

static void test_a_system_on_a_disk_erases_none(void **state)
{
	struct phx_err err = {0};
	if (runs_from_ram())
		skip();
	assert_int_equal(order(*state, PHX_STEP_wipe, "{}", &err), -EPERM);
	assert_non_null(strstr(err.text, "runs from a disk"));
}

static void test_nor_does_it_write_an_image(void **state)
{
	static const char extra[] =
		"{\"image\":{\"name\":\"i\",\"version\":\"1\",\"files\":[{\"name\":\"root.ext4."
		"zst\",\"size\":1,\"raw_size\":1,"
		"\"sha256\":\"0000000000000000000000000000000000000000000000000000000000000000\"},{"
		"\"name\":\"root.squashfs\","
		"\"size\":1,\"sha256\":"
		"\"0000000000000000000000000000000000000000000000000000000000000000\"}]}}";
	static const enum phx_step_kind kinds[] = {PHX_STEP_image, PHX_STEP_ram};
	if (runs_from_ram())
		skip();
	for (size_t i = 0; i < PHX_ARRAY_SIZE(kinds); i++) {
		struct phx_err err = {0};
		assert_int_equal(order(*state, kinds[i], extra, &err), -EPERM);
		assert_non_null(strstr(err.text, "runs from a disk"));
	}
}

/* The tenant of before had root: what it wrote for the agent of the deploy initramfs, the answer to
 * the erase that is to come and an epoch that refuses every order, is not taken. */
static void test_an_old_tenant_answers_nothing(void **state)
{
	const struct scratch *s = *state;
	struct agent a = {.env = PHX_ENV_DEPLOY};
	struct step_log old, now;
	struct step_log_entry e = {.id = 65537, .epoch = 9, .attempt = 1}, found;
	const char *dir = scratch_path(s, "old-state");
	PHX_STR_SET(a.cfg.state_dir, scratch_path(s, "state"));
	assert_int_equal(mkdir(a.cfg.state_dir, 0700), 0);
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(step_log_open(&old, dir, NULL), 0);
	assert_int_equal(step_log_put(&old, &e, NULL), 0);
	assert_int_equal(step_log_keep_epoch(&old, INT64_MAX, NULL), 0);
	write_text(scratch_path(s, "old-state/agent.key"), "key", 0600);
	write_text(scratch_path(s, "old-state/agent.pem"), "pem", 0600);
	assert_int_equal(root_adopt_from(&a, dir, true, NULL), 0);
	assert_int_equal(access(scratch_path(s, "state/agent.key"), R_OK), 0);
	assert_int_equal(step_log_open(&now, a.cfg.state_dir, NULL), 0);
	assert_int_equal(now.epoch, 0);
	assert_int_equal(step_log_find(&now, e.id, &found, NULL), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_waits, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_waits_no_more_when_the_disk_is_full,
						scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_an_old_tenant_answers_nothing, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(test_a_system_on_a_disk_erases_none, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(test_nor_does_it_write_an_image, scratch_setup,
						scratch_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
