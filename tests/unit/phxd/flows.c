/* The texts of workflows (cmd/phxd/flows.c), in a real directory: which are kept, by whom, and when
 * one goes; that one that changed on the disk is not run; and how many stay in memory. */
#include "fake/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/tree.h"
#include "phxd/flows.c" /* a part of a program, not of the library */

static struct daemon head;
static struct phx_state core;
static struct flows *flows;
static char top[64];
static struct phx_err err;

/* ---- texts and files ---- */

/* Workflow number i, of one task, and its digest. */
static const char *text_of(int i, char ret_digest[PHX_SHA256_HEX])
{
	static char text[400];
	snprintf(
		text, sizeof(text),
		"{\"name\": \"w%d\", \"schemaVersion\": \"1.5\", \"workflow\": {\"specification\": "
		"{\"tasks\": [{\"name\": \"t\", \"id\": \"t\", \"parents\": [], \"children\": "
		"[]}]}, "
		"\"execution\": {\"tasks\": [{\"id\": \"t\", \"runtimeInSeconds\": 1}]}}}",
		i);
	assert_int_equal(phx_sha256_of(text, strlen(text), ret_digest), 0);
	return text;
}

static const char *digest_of(int i)
{
	static char digest[PHX_SHA256_HEX];
	text_of(i, digest);
	return digest;
}

static const char *in_top(const char *name)
{
	static char path[2][200];
	static int i;
	i = !i;
	snprintf(path[i], sizeof(path[i]), "%s/%s", top, name);
	return path[i];
}

static void put_file(const char *name, const char *text)
{
	assert_int_equal(phx_file_write(in_top(name), text, strlen(text), 0600, NULL), 0);
}

static bool has_file(const char *name)
{
	return access(in_top(name), F_OK) == 0;
}

static bool has(int i)
{
	PHX_AUTO_FREE char *path = flows_path(flows, digest_of(i));
	assert_true(phx_str_starts(path, top));
	return access(path, F_OK) == 0;
}

static int keep(int i)
{
	char digest[PHX_SHA256_HEX];
	const char *text = text_of(i, digest);
	phx_err_clear(&err);
	return flows_keep_text(flows, text, strlen(text), digest, &err);
}

static void settle(int i, int r)
{
	flows_settle(flows, digest_of(i), r);
	fake_engine_is_free();
}

static void is_run(int i)
{
	struct phx_flowrun *w = phx_list_push(&core.workflows, sizeof(*w));
	PHX_STR_SET(w->digest, digest_of(i));
}

static int setup(void **state)
{
	(void)state;
	strcpy(top, "/tmp/phx-flows.XXXXXX");
	if (!mkdtemp(top))
		return -1;
	head = (struct daemon){0};
	PHX_STR_SET(head.cfg.output_dir, top);
	core = (struct phx_state){0};
	fake_state = &core;
	return flows_new(&head, &flows);
}

static int teardown(void **state)
{
	(void)state;
	flows_free(PHX_TAKE(flows));
	flows_free(NULL);
	phx_list_fini(&core.workflows);
	phx_list_fini(&core.triggers);
	return phx_dir_remove(top, NULL);
}

static void restart(void)
{
	flows_free(PHX_TAKE(flows));
	assert_int_equal(flows_new(&head, &flows), 0);
}

/* ---- kept, and let go ---- */

static void what_is_accepted_stays(void **state)
{
	struct stat st;
	(void)state;
	assert_int_equal(keep(1), 0);
	is_run(1);
	settle(1, 0);
	assert_true(has(1));
	PHX_AUTO_FREE char *path = flows_path(flows, digest_of(1));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600); /* it has command lines of users */
}

static void what_is_refused_goes(void **state)
{
	(void)state;
	assert_int_equal(keep(1), 0);
	assert_true(has(1));
	settle(1, -EPERM);
	assert_false(has(1));
	settle(1, -EPERM); /* of nothing that is kept */
}

/* It may be in the journal all the same: the next start knows. */
static void what_is_uncertain_stays_until_the_next_start(void **state)
{
	static const int unsure[] = {-EIO, -EROFS, -EAGAIN, -ENOMEM};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(unsure); i++) {
		assert_int_equal(keep(1), 0);
		settle(1, unsure[i]);
		assert_true(has(1));
	}
	restart();
	assert_false(has(1));
}

/* Two submit the same, and one of them is refused. */
static void what_somebody_else_has_stays(void **state)
{
	(void)state;
	assert_int_equal(keep(1), 0);
	assert_int_equal(keep(1), 0);
	settle(1, -EPERM);
	assert_true(has(1)); /* the other one is not settled yet */
	settle(1, -EPERM);
	assert_false(has(1));
	is_run(1);
	assert_int_equal(keep(1), 0);
	settle(1, -EPERM);
	assert_true(has(1)); /* a run has it */
}

static void what_a_trigger_needs_stays(void **state)
{
	struct phx_trigger *t = phx_list_push(&core.triggers, sizeof(*t));
	(void)state;
	PHX_STR_SET(t->flow.digest, digest_of(1));
	PHX_STR_SET(t->look.digest, digest_of(2));
	for (int i = 1; i <= 3; i++)
		assert_int_equal(keep(i), 0);
	restart(); /* it was killed before it settled them */
	assert_true(has(1));
	assert_true(has(2));
	assert_false(has(3));
}

/* The directory has the output of jobs, too. */
static void what_is_no_text_is_left_alone(void **state)
{
	(void)state;
	put_file("17.out", "output");
	put_file("my-workflow-1", "output");
	put_file("workflow-of-nobody", "text");
	restart();
	assert_true(has_file("17.out"));
	assert_true(has_file("my-workflow-1"));
	assert_false(has_file("workflow-of-nobody"));
}

/* The core forgets old runs; now and then their texts are looked for. */
static void texts_of_runs_that_were_forgotten_go(void **state)
{
	(void)state;
	assert_int_equal(keep(1), 0);
	is_run(1);
	settle(1, 0);
	phx_list_fini(&core.workflows);
	core.workflows = (struct phx_list){0};
	is_run(2);
	assert_int_equal(keep(3), 0); /* the engine has not answered yet */
	for (int i = 1; i < SWEEP_EACH; i++) {
		assert_true(has(1));
		assert_int_equal(keep(2), 0);
		settle(2, 0);
	}
	assert_false(has(1));
	assert_true(has(2));
	assert_true(has(3));
}

/* The name of a text that is just written is not its own yet. */
static void what_is_written_meanwhile_is_not_taken_away(void **state)
{
	char mine[120], dead[120];
	(void)state;
	snprintf(mine, sizeof(mine), "workflow-%s.%d.tmp", digest_of(7), (int)gettid());
	snprintf(dead, sizeof(dead), "workflow-%s.%d.tmp", digest_of(7), 0x7ffffff0);
	put_file(mine, "half of it");
	put_file(dead, "of a head that was killed");
	is_run(2);
	for (int i = 0; i < SWEEP_EACH; i++) {
		assert_int_equal(keep(2), 0);
		settle(2, 0);
	}
	assert_true(has_file(mine));
	assert_false(has_file(dead));
}

static void what_cannot_be_written_is_kept_by_nobody(void **state)
{
	(void)state;
	snprintf(head.cfg.output_dir, sizeof(head.cfg.output_dir), "%s/gone", top);
	assert_true(keep(1) < 0);
	assert_non_null(strstr(err.text, "/gone/workflow-"));
	assert_int_equal(flows->keeping.n, 0);
	PHX_STR_SET(head.cfg.output_dir, top);
	assert_int_equal(keep(1), 0);
	settle(1, -EPERM);
	assert_false(has(1));
}

/* An upload is a file already. */
static void a_file_is_kept_as_a_text_is(void **state)
{
	char digest[PHX_SHA256_HEX];
	struct phx_flow f = {0};
	(void)state;
	put_file("upload", text_of(1, digest));
	assert_int_equal(flows_read(in_top("upload"), digest, &f, &err), 0);
	assert_string_equal(digest, digest_of(1));
	assert_int_equal(f.n_tasks, 1);
	phx_flow_fini(&f);
	assert_int_equal(flows_keep(flows, in_top("upload"), digest, &err), 0);
	assert_true(has(1));
	settle(1, -EPERM);
	assert_false(has(1));
	assert_true(flows_keep(flows, in_top("nosuch"), digest, &err) < 0);
	assert_int_equal(flows->keeping.n, 0);
}

/* ---- read ---- */

static void a_text_has_a_greatest_size(void **state)
{
	char digest[PHX_SHA256_HEX];
	struct phx_flow f = {0};
	(void)state;
	put_file("large", "");
	assert_int_equal(truncate(in_top("large"), ((off_t)FLOW_TEXT_MAX_MB << 20) + 1), 0);
	phx_err_clear(&err);
	assert_int_equal(flows_read(in_top("large"), digest, &f, &err), -EFBIG);
	assert_non_null(strstr(err.text, "large"));
}

static const char *name_locked(int i)
{
	static char name[40];
	phx_err_clear(&err);
	const struct phx_flow *f = flows_lock(flows, digest_of(i), &err);
	if (!f)
		return NULL;
	assert_int_equal(PHX_STR_SET(name, phx_flow_text(f, f->name)), 0);
	flows_unlock(flows);
	return name;
}

/* What runs is what was checked and journalled, or nothing. */
static void a_text_that_changed_is_not_run(void **state)
{
	char other[PHX_SHA256_HEX];
	(void)state;
	assert_int_equal(keep(1), 0);
	PHX_AUTO_FREE char *path = flows_path(flows, digest_of(1));
	const char *text = text_of(2, other);
	assert_int_equal(phx_file_write(path, text, strlen(text), 0600, NULL), 0);
	for (int i = 0; i < 3; i++) { /* and nothing stays locked */
		assert_null(name_locked(1));
		assert_non_null(strstr(err.text, "is not what it was"));
	}
	assert_int_equal(phx_file_write(path, "{}", 2, 0600, NULL), 0);
	assert_null(name_locked(1));
	assert_int_equal(unlink(path), 0);
	assert_null(name_locked(1));
	assert_string_not_equal(err.text, "");
	assert_int_equal(keep(1), 0); /* somebody submits it again */
	assert_string_equal(name_locked(1), "w1");
}

static void those_that_are_used_stay_in_memory(void **state)
{
	char want[16];
	(void)state;
	for (int i = 1; i <= READ_MAX + 1; i++)
		assert_int_equal(keep(i), 0);
	for (int i = 1; i <= READ_MAX; i++) {
		snprintf(want, sizeof(want), "w%d", i);
		assert_string_equal(name_locked(i), want);
	}
	assert_string_equal(name_locked(1), "w1");
	assert_string_equal(name_locked(READ_MAX + 1), "w17"); /* in the place of the oldest, w2 */
	for (int i = 1; i <= READ_MAX + 1; i++) {
		PHX_AUTO_FREE char *path = flows_path(flows, digest_of(i));
		assert_int_equal(unlink(path), 0);
	}
	assert_string_equal(name_locked(1), "w1");
	assert_string_equal(name_locked(READ_MAX), "w16");
	assert_string_equal(name_locked(READ_MAX + 1), "w17");
	assert_null(name_locked(2));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(what_is_accepted_stays),
		T(what_is_refused_goes),
		T(what_is_uncertain_stays_until_the_next_start),
		T(what_somebody_else_has_stays),
		T(what_a_trigger_needs_stays),
		T(what_is_no_text_is_left_alone),
		T(texts_of_runs_that_were_forgotten_go),
		T(what_is_written_meanwhile_is_not_taken_away),
		T(what_cannot_be_written_is_kept_by_nobody),
		T(a_file_is_kept_as_a_text_is),
		T(a_text_has_a_greatest_size),
		T(a_text_that_changed_is_not_run),
		T(those_that_are_used_stay_in_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
