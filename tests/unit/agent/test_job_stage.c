/* The directory of one run of a job and the files that come and go: from a real server, into real
 * directories, of which the job's user may have made what he likes. */
#include "base/tree.h"
#include "unit/agent/scratch.h"
#include "unit/http/world.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/mount.h>

#include "agent/job_stage.h"

enum { USER = 65534, GROUP = 65533 };

struct stand {
	struct scratch *s;
	struct world *head;
	char *stage;
	struct phx_job job;
	struct phx_err err;
	/* what the head does and saw */
	atomic_int n_asked, n_away; /* away: it cannot be reached so often */
	atomic_bool given_up;       /* nobody waits for the run any more */
	char got[2][32];            /* files that were brought */
};

/* ---- the head ---- */

/* File N of a run is "file N of run R"; there are three. */
static void give(struct phx_http_request *q, void *arg)
{
	struct stand *t = arg;
	char text[64];
	const char *run = phx_http_query(q, "run");
	atomic_fetch_add(&t->n_asked, 1);
	if (phx_http_param(q, 1)[0] > '2') {
		phx_http_reply_error(q, -ENOENT, "no such file of the job");
		return;
	}
	snprintf(text, sizeof(text), "file %s of run %s", phx_http_param(q, 1), run ? run : "");
	phx_http_reply_text(q, 200, "application/octet-stream", text);
}

static void take(struct phx_http_request *q, void *arg)
{
	struct stand *t = arg;
	unsigned i = (unsigned)(phx_http_param(q, 1)[0] - '0');
	PHX_AUTO_JSON json_t *answer = json_object();
	PHX_AUTO_FREE char *text = read_text(phx_http_body_path(q));
	atomic_fetch_add(&t->n_asked, 1);
	if (i >= PHX_ARRAY_SIZE(t->got) || phx_str_eq(text, "refused")) {
		phx_http_reply_error(q, -EDQUOT, "no room for it");
		return;
	}
	PHX_STR_SET(t->got[i], text);
	phx_http_reply_json(q, 200, answer);
}

static const struct phx_http_route routes[] = {
	{"GET", "/v1/agent/jobs/*/in/*", 1u << PHX_HTTP_PLAIN, give, 0, false, NULL},
	{"PUT", "/v1/agent/jobs/*/out/*", 1u << PHX_HTTP_PLAIN, take, 1 << 20, true, NULL},
};

static int lend_client(void *arg, struct phx_http_client **ret, struct phx_err *err)
{
	struct stand *t = arg;
	if (atomic_fetch_sub(&t->n_away, 1) > 0)
		return phx_err_set(err, -ECONNREFUSED, "away");
	*ret = plain_client(t->head);
	return 0;
}

static bool awaited(void *arg)
{
	return !atomic_load(&((struct stand *)arg)->given_up);
}

/* ---- a job ---- */

static int setup(void **state)
{
	struct stand *t = calloc(1, sizeof(*t));
	struct phx_http_server_config config = {.arg = t};
	bool root = geteuid() == 0;
	scratch_setup((void **)&t->s);
	t->head = world_new(routes, PHX_ARRAY_SIZE(routes), &config);
	t->stage = strdup(scratch_path(t->s, "stage"));
	t->job = (struct phx_job){.id = 5,
				  .kills = 2,
				  .uid = root ? USER : geteuid(),
				  .gid = root ? GROUP : getegid()};
	struct phx_job_part *part = phx_list_push(&t->job.parts, sizeof(*part));
	PHX_STR_SET(part->node, "n1");
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct stand *t = *state;
	phx_record_fini(&phx_job_record, &t->job);
	free(t->stage);
	world_free(t->head);
	scratch_teardown((void **)&t->s);
	free(t);
	return 0;
}

static int fetch(struct stand *t, const char *node)
{
	const struct job_stage_calls calls = {lend_client, t, awaited, t};
	phx_err_clear(&t->err);
	atomic_store(&t->n_asked, 0);
	return job_stage_fetch(t->stage, &calls, &t->job, node, &t->err);
}

static int bring(struct stand *t)
{
	struct phx_http_client *c = plain_client(t->head);
	phx_err_clear(&t->err);
	atomic_store(&t->n_asked, 0);
	int r = job_stage_out(t->stage, c, (struct job_run){5, 2}, &t->err);
	phx_http_client_free(c);
	return r;
}

static char *below(const struct stand *t, const char *name)
{
	char path[128];
	snprintf(path, sizeof(path), "stage/5.2/%s", name);
	return scratch_path(t->s, path);
}

static void assert_of_user(const struct stand *t, const char *path, mode_t mode)
{
	struct stat st;
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(st.st_uid, t->job.uid);
	assert_int_equal(st.st_gid, t->job.gid);
	assert_int_equal(st.st_mode & 07777, mode);
}

static void assert_nothing_left(const struct stand *t)
{
	assert_false(exists(scratch_path(t->s, "stage/5.2")));
	assert_false(exists(scratch_path(t->s, "stage/5.2.in")));
	assert_false(exists(scratch_path(t->s, "stage/5.2.in.tmp")));
	assert_false(exists(scratch_path(t->s, "stage/5.2.out")));
	assert_false(exists(scratch_path(t->s, "stage/5.2.script")));
}

/* ---- in ---- */

static void test_in(void **state)
{
	struct stand *t = *state;
	struct stat st;
	assert_false(job_stage_wanted(&t->job));
	add_word(&t->job.stage_in, "a.txt");
	add_word(&t->job.stage_in, "deep/er/b.txt");
	add_word(&t->job.stage_out, "result");
	assert_true(job_stage_wanted(&t->job));
	for (int i = 0; i < 2; i++) { /* twice is once, and what the first left is gone */
		assert_int_equal(fetch(t, "n1"), 0);
		assert_text(below(t, "a.txt"), "file 0 of run 2");
		assert_text(below(t, "deep/er/b.txt"), "file 1 of run 2");
		assert_of_user(t, scratch_path(t->s, "stage/5.2"), 0700);
		assert_of_user(t, below(t, "a.txt"), 0644);
		assert_of_user(t, below(t, "deep/er"), 0755);
		assert_text(scratch_path(t->s, "stage/5.2.out"), "result\n");
		assert_false(exists(scratch_path(t->s, "stage/5.2.in")));
		assert_false(exists(below(t, "left")));
		write_text(below(t, "left"), "x", 0644);
	}
	/* nobody lists the runs of others */
	assert_int_equal(stat(t->stage, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0711);
	/* results are brought from the first node alone */
	assert_int_equal(fetch(t, "n2"), 0);
	assert_false(exists(scratch_path(t->s, "stage/5.2.out")));
	job_stage_drop(t->stage, (struct job_run){5, 2});
	assert_nothing_left(t);
}

static void test_a_link_in_its_place(void **state)
{
	struct stand *t = *state;
	assert_int_equal(phx_dir_make(scratch_path(t->s, "precious"), 0755, NULL), 0);
	write_text(scratch_path(t->s, "precious/a.txt"), "kept", 0644);
	assert_int_equal(phx_dir_make(t->stage, 0711, NULL), 0);
	assert_int_equal(symlink("../precious", scratch_path(t->s, "stage/5.2")), 0);
	add_word(&t->job.stage_in, "a.txt");
	assert_int_equal(fetch(t, "n1"), 0);
	assert_text(scratch_path(t->s, "precious/a.txt"), "kept");
	assert_text(below(t, "a.txt"), "file 0 of run 2");
}

/* No path leads out of the directory, and the head is not even asked. */
static void test_in_refuses_paths(void **state)
{
	static const char *const bad[] = {"../a", "/etc/passwd", "a/../../b", "a//b", ".", ""};
	(void)state;
	for (size_t i = 0; i < 2 * PHX_ARRAY_SIZE(bad); i++) {
		struct stand *t;
		setup((void **)&t);
		add_word(&t->job.stage_in, "a.txt");
		add_word(i % 2 ? &t->job.stage_in : &t->job.stage_out, bad[i / 2]);
		assert_int_equal(fetch(t, "n1"), -EINVAL);
		assert_int_equal(atomic_load(&t->n_asked), 0);
		assert_nothing_left(t);
		teardown((void **)&t);
	}
}

/* What the head says of a file is final; the files before it do not stay. */
static void test_in_missing(void **state)
{
	struct stand *t = *state;
	for (int i = 0; i < 4; i++)
		add_word(&t->job.stage_in, (const char *const[]){"a", "b", "c", "d"}[i]);
	assert_int_equal(fetch(t, "n1"), -ENOENT);
	assert_contains(t->err.text, "stage-in d");
	assert_int_equal(atomic_load(&t->n_asked), 4);
	assert_nothing_left(t);
}

/* One file in the way of another: a name that is a directory's already. */
static void test_in_in_each_others_way(void **state)
{
	struct stand *t = *state;
	add_word(&t->job.stage_in, "a");
	add_word(&t->job.stage_in, "a/b");
	assert_true(fetch(t, "n1") < 0);
	assert_contains(t->err.text, "stage-in a/b");
	assert_nothing_left(t);
}

static void test_in_tries_again(void **state)
{
	struct stand *t = *state;
	add_word(&t->job.stage_in, "a.txt");
	atomic_store(&t->n_away, 2);
	assert_int_equal(fetch(t, "n1"), 0);
	assert_string_equal(t->err.text, "");
	assert_text(below(t, "a.txt"), "file 0 of run 2");
	/* but not for a run that nobody waits for */
	atomic_store(&t->n_away, 1000);
	atomic_store(&t->given_up, true);
	assert_true(fetch(t, "n1") < 0);
	assert_int_equal(atomic_load(&t->n_away), 1000);
}

static void test_in_full_disk(void **state)
{
	struct stand *t = *state;
	assert_int_equal(mkdir(t->stage, 0711), 0);
	if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", t->stage, "tmpfs", 0, "size=64k,nr_inodes=8") < 0)
		skip();
	char *filler = calloc(1, 60 << 10);
	assert_int_equal(
		phx_file_write(scratch_path(t->s, "stage/filler"), filler, 60 << 10, 0600, NULL),
		0);
	free(filler);
	add_word(&t->job.stage_in, "a");
	add_word(&t->job.stage_in, "b");
	assert_int_equal(fetch(t, "n1"), -ENOSPC);
	assert_contains(t->err.text, "stage-in");
	assert_nothing_left(t);
	assert_int_equal(umount2(t->stage, 0), 0);
}

/* ---- directory and script ---- */

static void test_make(void **state)
{
	struct stand *t = *state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(job_stage_make(t->stage, &t->job, &t->err), 0);
		assert_of_user(t, scratch_path(t->s, "stage/5.2"), 0700);
		assert_false(exists(below(t, "left")));
		write_text(below(t, "left"), "x", 0644);
	}
	job_stage_drop(t->stage, (struct job_run){5, 2});
	/* of another run nothing is touched */
	assert_int_equal(job_stage_make(t->stage, &t->job, &t->err), 0);
	job_stage_drop(t->stage, (struct job_run){5, 1});
	assert_true(exists(scratch_path(t->s, "stage/5.2")));
	/* a file where the directory of all runs would be */
	assert_int_equal(phx_dir_remove(t->stage, NULL), 0);
	write_text(t->stage, "x", 0644);
	assert_int_equal(job_stage_make(t->stage, &t->job, &t->err), -ENOTDIR);
}

static void test_script(void **state)
{
	struct stand *t = *state;
	t->job.script = strdup("#!/bin/sh\nexit 0\n");
	assert_int_equal(job_stage_make(t->stage, &t->job, &t->err), 0);
	for (int i = 0; i < 2; i++) {
		char *path = NULL;
		assert_int_equal(job_stage_script(t->stage, &t->job, &path, &t->err), 0);
		assert_string_equal(path, scratch_path(t->s, "stage/5.2.script"));
		assert_text(path, t->job.script);
		assert_of_user(t, path, 0500);
		free(path);
	}
	job_stage_drop(t->stage, (struct job_run){5, 2});
	assert_nothing_left(t);
}

/* ---- out ---- */

static void with_results(struct stand *t)
{
	add_word(&t->job.stage_out, "result");
	add_word(&t->job.stage_out, "deep/log");
	assert_int_equal(fetch(t, "n1"), 0);
	assert_int_equal(mkdir(below(t, "deep"), 0755), 0);
	write_text(below(t, "result"), "42", 0600);
	write_text(below(t, "deep/log"), "said", 0600);
}

static void test_out(void **state)
{
	struct stand *t = *state;
	assert_int_equal(bring(t), 0); /* nothing was noted */
	with_results(t);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(bring(t), 0);
		assert_int_equal(atomic_load(&t->n_asked), 2);
		assert_string_equal(t->got[0], "42");
		assert_string_equal(t->got[1], "said");
	}
}

static void missing(const struct stand *t)
{
	assert_int_equal(unlink(below(t, "result")), 0);
}

/* What root can read is not the user's to send. */
static void link_to_a_secret(const struct stand *t)
{
	missing(t);
	write_text(scratch_path(t->s, "secret"), "of root", 0600);
	assert_int_equal(symlink("../../secret", below(t, "result")), 0);
}

static void fifo(const struct stand *t)
{
	missing(t);
	assert_int_equal(mkfifo(below(t, "result"), 0600), 0);
}

static void directory(const struct stand *t)
{
	missing(t);
	assert_int_equal(mkdir(below(t, "result"), 0700), 0);
}

static void too_large(const struct stand *t)
{
	if (truncate(below(t, "result"), (off_t)JOB_STAGE_MAX + 1) < 0)
		skip();
}

static void refused_by_the_head(const struct stand *t)
{
	write_text(below(t, "result"), "refused", 0600);
}

static void all_gone(const struct stand *t)
{
	assert_int_equal(phx_dir_remove(scratch_path(t->s, "stage/5.2"), NULL), 0);
}

static void all_a_link(const struct stand *t)
{
	assert_int_equal(rename(scratch_path(t->s, "stage/5.2"), scratch_path(t->s, "moved")), 0);
	assert_int_equal(symlink("../moved", scratch_path(t->s, "stage/5.2")), 0);
}

static void test_out_refused(void **state)
{
	static const struct {
		void (*make)(const struct stand *t);
		int error, n_asked;
		const char *says;
	} rows[] = {{missing, -ENOENT, 0, "stage-out result"},
		    {link_to_a_secret, -ELOOP, 0, "stage-out result"},
		    {fifo, -EINVAL, 0, "stage-out result"},
		    {directory, -EINVAL, 0, "stage-out result"},
		    {too_large, -EFBIG, 0, "stage-out result"},
		    {refused_by_the_head, -EDQUOT, 1, "no room for it"},
		    {all_gone, -ENOENT, 0, "the job's directory"},
		    {all_a_link, -ENOTDIR, 0, "the job's directory"}};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		struct stand *t;
		setup((void **)&t);
		with_results(t);
		rows[i].make(t);
		assert_int_equal(bring(t), rows[i].error);
		assert_contains(t->err.text, rows[i].says);
		assert_int_equal(atomic_load(&t->n_asked), rows[i].n_asked);
		assert_string_equal(t->got[0], "");
		teardown((void **)&t);
	}
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_in),
		TEST(test_a_link_in_its_place),
		cmocka_unit_test(test_in_refuses_paths),
		TEST(test_in_missing),
		TEST(test_in_in_each_others_way),
		TEST(test_in_tries_again),
		TEST(test_in_full_disk),
		TEST(test_make),
		TEST(test_script),
		TEST(test_out),
		cmocka_unit_test(test_out_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
