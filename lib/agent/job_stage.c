/* See job_stage.h. Called by jobs.c in a worker before a run, by the outbox after it. Never decides
 * which files. */
#include "agent/job_stage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/tree.h"
#include "agent/fetch.h"
#include "agent/job_private.h"
#include "agent/log.h"

enum { LIST_BYTES_MAX = 64 * 260, TRIES = 30, AGAIN_FIRST_MS = 200, AGAIN_MOST_MS = 1200 };

bool job_stage_wanted(const struct phx_job *job)
{
	return job->stage_in.n || job->stage_out.n;
}

char *job_stage_dir(const char *stage, struct job_run run)
{
	return phx_path("%s/%" PRIu64 ".%u", stage, run.id, run.run);
}

static char *list_path(const char *stage, struct job_run run)
{
	return phx_path("%s/%" PRIu64 ".%u.out", stage, run.id, run.run);
}

static char *script_path(const char *stage, struct job_run run)
{
	return phx_path("%s/%" PRIu64 ".%u.script", stage, run.id, run.run);
}

/* Only root reaches what is in it. */
static char *gone_dir(const char *stage)
{
	return phx_path("%s/gone", stage);
}

/* Removes it here and now where it cannot be moved. */
static void move_away(const char *stage, const char *path)
{
	const char *name = strrchr(path, '/');
	PHX_AUTO_FREE char *gone = gone_dir(stage);
	PHX_AUTO_FREE char *to =
		gone && name ? phx_path("%s%s.%lld", gone, name, (long long)phx_clock_us()) : NULL;
	struct stat st;
	if (lstat(path, &st) < 0)
		return;
	if (!to || phx_dir_make(gone, 0700, NULL) < 0 || rename(path, to) < 0)
		phx_dir_remove(path, NULL);
}

void job_stage_drop(const char *stage, struct job_run run)
{
	PHX_AUTO_FREE char *dir = job_stage_dir(stage, run);
	PHX_AUTO_FREE char *list = list_path(stage, run);
	PHX_AUTO_FREE char *script = script_path(stage, run);
	PHX_AUTO_FREE char *private = job_private_dir(stage, run);
	if (!dir || !list || !script || !private)
		return;
	move_away(stage, dir);
	move_away(stage, private);
	unlink(list);
	unlink(script);
}

void job_stage_clear(const char *stage, bool (*goes_on)(void *arg), void *arg)
{
	PHX_AUTO_FREE char *gone = gone_dir(stage);
	DIR *d = gone ? opendir(gone) : NULL;
	for (const struct dirent *e; d && goes_on(arg) && (e = readdir(d));) {
		PHX_AUTO_FREE char *path = phx_path("%s/%s", gone, e->d_name);
		struct phx_err err = {0};
		if (path && strcmp(e->d_name, ".") && strcmp(e->d_name, "..") &&
		    phx_dir_remove(path, &err) < 0)
			agent_log("what a job left cannot be removed: %s", err.text);
	}
	if (d)
		closedir(d);
	if (gone)
		rmdir(gone); /* unless more has come */
}

void job_stage_each(const char *stage, void (*fn)(void *arg, struct job_run run), void *arg)
{
	DIR *d = opendir(stage);
	for (const struct dirent *e; d && (e = readdir(d));) {
		struct job_run run;
		int n = 0;
		if (sscanf(e->d_name, "%" SCNu64 ".%u%n", &run.id, &run.run, &n) == 2 &&
		    run.id <= INT64_MAX && (!e->d_name[n] || e->d_name[n] == '.'))
			fn(arg, run);
	}
	if (d)
		closedir(d);
}

/* ---- in ---- */

/* Fetches a file to a place that only root reaches, then publishes it in the run's directory. */
static int fetch_one(const char *stage, int dir, struct phx_http_client *c,
		     const struct phx_job *job, uint32_t i, struct phx_err *err)
{
	const struct phx_word *path = PHX_LIST_AT(&job->stage_in, struct phx_word, i);
	PHX_AUTO_FREE char *url =
		phx_path("/v1/agent/jobs/%" PRIu64 "/in/%u?run=%u", job->id, i, job->kills);
	PHX_AUTO_FREE char *temp = phx_path("%s/%" PRIu64 ".%u.in", stage, job->id, job->kills);
	if (!url || !temp)
		return -ENOMEM;
	int r = fetch_file(c, url, temp, 0, JOB_STAGE_MAX, "", NULL, err);
	PHX_AUTO_CLOSE int from = r == 0 ? open(temp, O_RDONLY | O_CLOEXEC) : -1;
	if (r == 0)
		r = from < 0 ? -errno
			     : phx_beneath_publish(
				       dir, path->text, from, JOB_STAGE_MAX,
				       (struct phx_beneath_owner){.uid = job->uid, .gid = job->gid},
				       err);
	unlink(temp);
	return r < 0 ? phx_err_prefix(err, r, "stage-in %s", path->text) : 0;
}

static int note_out(const char *stage, const struct phx_job *job, struct phx_err *err)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	PHX_AUTO_FREE char *list = list_path(stage, (struct job_run){job->id, job->kills});
	PHX_LIST_EACH(struct phx_word, w, &job->stage_out)
		phx_buf_addf(&b, "%s\n", w->text);
	if (!list || b.failed)
		return -ENOMEM;
	return b.n ? phx_file_write(list, b.data, b.n, 0600, err) : 0;
}

static int check_paths(const struct phx_list *paths, struct phx_err *err)
{
	int r = 0;
	PHX_LIST_EACH(struct phx_word, w, paths)
		r = r ? r : phx_beneath_check(w->text, err);
	return r;
}

static int fill(const char *stage, const char *path, struct phx_http_client *c,
		const struct phx_job *job, struct phx_err *err)
{
	int r = phx_dir_make(path, 0700, err);
	PHX_AUTO_CLOSE int dir =
		r == 0 ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	if (r == 0 && dir < 0)
		r = phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	for (uint32_t i = 0; r == 0 && i < job->stage_in.n; i++)
		r = fetch_one(stage, dir, c, job, i, err);
	/* last: the user cannot write into the directory while it is filled */
	if (r == 0 && fchown(dir, job->uid, job->gid) < 0)
		r = phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	return r;
}

static int stage_in(const char *stage, struct phx_http_client *c, const struct phx_job *job,
		    bool first_node, struct phx_err *err)
{
	struct job_run run = {job->id, job->kills};
	PHX_AUTO_FREE char *path = job_stage_dir(stage, run);
	if (!path)
		return -ENOMEM;
	job_stage_drop(stage, run);
	int r = phx_dir_make(stage, 0711, err);
	r = r ? r : check_paths(&job->stage_in, err);
	r = r ? r : check_paths(&job->stage_out, err);
	r = r ? r : fill(stage, path, c, job, err);
	if (r == 0 && first_node)
		r = note_out(stage, job, err);
	if (r < 0)
		job_stage_drop(stage, run);
	return r;
}

int job_stage_make(const char *stage, const struct phx_job *job, struct phx_err *err)
{
	struct job_run run = {job->id, job->kills};
	PHX_AUTO_FREE char *path = job_stage_dir(stage, run);
	if (!path)
		return -ENOMEM;
	job_stage_drop(stage, run);
	int r = phx_dir_make(stage, 0711, err);
	r = r ? r : phx_dir_make(path, 0700, err);
	if (r == 0 && chown(path, job->uid, job->gid) < 0)
		r = phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (r < 0)
		job_stage_drop(stage, run);
	return r;
}

int job_stage_script(const char *stage, const struct phx_job *job, char **ret_path,
		     struct phx_err *err)
{
	PHX_AUTO_FREE char *path = script_path(stage, (struct job_run){job->id, job->kills});
	if (!path)
		return -ENOMEM;
	int r = phx_file_write(path, job->script, strlen(job->script), 0500, err);
	if (r == 0 && chown(path, job->uid, job->gid) < 0)
		r = phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (r == 0)
		*ret_path = PHX_TAKE(path);
	return r;
}

/* Is a failure temporary? The head may be away for a moment; its verdict on a file is final. */
static bool may_pass(int r)
{
	return r == -ECONNREFUSED || r == -ECONNRESET || r == -ETIMEDOUT || r == -EAGAIN ||
		r == -EPROTO;
}

int job_stage_fetch(const char *stage, const struct job_stage_calls *calls,
		    const struct phx_job *job, const char *node, struct phx_err *err)
{
	bool first = phx_str_eq(PHX_LIST_AT(&job->parts, struct phx_job_part, 0)->node, node);
	struct phx_again again = {AGAIN_FIRST_MS, AGAIN_MOST_MS, 0};
	int r = -EAGAIN;
	for (int i = 0; i < TRIES && may_pass(r) && calls->awaited(calls->awaited_arg); i++) {
		struct phx_http_client *c = NULL;
		if (i)
			phx_again(&again, INT64_MAX);
		phx_err_clear(err);
		r = calls->client(calls->client_arg, &c, err);
		r = r ? r : stage_in(stage, c, job, first, err);
		phx_http_client_free(c);
	}
	return r;
}

/* ---- out ---- */

static int bring_one(int dir, struct phx_http_client *c, struct job_run run, uint32_t i,
		     const char *path, struct phx_err *err)
{
	char opened[64];
	uint64_t size;
	PHX_AUTO_JSON json_t *answer = NULL;
	PHX_AUTO_FREE char *url =
		phx_path("/v1/agent/jobs/%" PRIu64 "/out/%u?run=%u", run.id, i, run.run);
	PHX_AUTO_CLOSE int fd =
		url ? phx_beneath_open(dir, path, JOB_STAGE_MAX, &size, err) : -ENOMEM;
	snprintf(opened, sizeof(opened), "/proc/self/fd/%d", fd);
	int r = fd < 0 ? fd : phx_http_upload(c, url, opened, &answer, err);
	return r < 0 ? phx_err_prefix(err, r, "stage-out %s", path) : 0;
}

int job_stage_out(const char *stage, struct phx_http_client *c, struct job_run run,
		  struct phx_err *err)
{
	PHX_AUTO_FREE char *list = list_path(stage, run);
	PHX_AUTO_FREE char *path = job_stage_dir(stage, run);
	PHX_AUTO_FREE char *text = NULL;
	if (!list || !path)
		return -ENOMEM;
	if (phx_file_read(list, LIST_BYTES_MAX, &text, NULL, NULL) < 0)
		return 0;
	PHX_AUTO_CLOSE int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int r = dir < 0
		? phx_err_set(err, -errno, "stage-out: the job's directory: %s", strerror(errno))
		: 0;
	char *rest = NULL;
	uint32_t i = 0;
	for (char *name = strtok_r(text, "\n", &rest); r == 0 && name;
	     name = strtok_r(NULL, "\n", &rest))
		r = bring_one(dir, c, run, i++, name, err);
	return r;
}
