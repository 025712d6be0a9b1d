/* See job_store.h. Called by jobs.c with its lock held. Never starts or ends a
 * run. */
#include "agent/job_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "base/record_file.h"
#include "agent/job_keeper.h"

enum { RECORD_MAX = 4096 };

PHX_RECORD_LOCAL(job, job_record, JOB_RECORD_FIELDS);

int job_store_init(struct job_store *s, const char *state_dir, const char *cache_dir,
		   struct phx_err *err)
{
	snprintf(s->dir, sizeof(s->dir), "%s/jobs", state_dir);
	snprintf(s->out_dir, sizeof(s->out_dir), "%s/jobs", cache_dir);
	int r = phx_dir_make(s->dir, 0700, err);
	return r ? r : phx_dir_make(s->out_dir, 0700, err);
}

char *job_store_path(const struct job_store *s, struct job_run run, const char *what)
{
	return phx_path("%s/%" PRIu64 ".%u.%s", s->dir, run.id, run.run, what);
}

char *job_store_output(const struct job_store *s, struct job_run run)
{
	return phx_path("%s/%" PRIu64 ".%u.out", s->out_dir, run.id, run.run);
}

static char *record_path(const struct job_store *s, uint64_t id)
{
	return phx_path("%s/%" PRIu64 ".json", s->dir, id);
}

int job_store_read(const struct job_store *s, uint64_t id, struct job_record *ret)
{
	PHX_AUTO_FREE char *path = record_path(s, id);
	return phx_record_file_read(path, RECORD_MAX, &job_record, ret, NULL);
}

int job_store_write(const struct job_store *s, const struct job_record *rec, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = record_path(s, rec->id);
	return phx_record_file_write(path, &job_record, rec, 0600, err);
}

int job_store_write_end(const struct job_store *s, struct job_run run, int status,
			struct phx_err *err)
{
	PHX_AUTO_FREE char *path = job_store_path(s, run, "end");
	char text[32];
	int n = snprintf(text, sizeof(text), "%d 0 0 0 %d\n", status, JOB_WHY_TOLD);
	return path ? phx_file_write(path, text, (size_t)n, 0600, err) : -ENOMEM;
}

static bool parse_end(const char *text, struct job_end *ret)
{
	static const char *const whys[] = {
		[JOB_WHY_NOTHING] = "",
		[JOB_WHY_TOLD] = "",
		[JOB_WHY_LIMIT] = "it ran for as long as it may",
		[JOB_WHY_HEARTBEAT_TIMEOUT] =
			"the head could not be reached for as long as its heartbeat timeout",
	};
	static const int ends[] = {
		[JOB_WHY_NOTHING] = PHX_ENDED_ITSELF,
		[JOB_WHY_TOLD] = PHX_ENDED_TOLD,
		[JOB_WHY_LIMIT] = PHX_ENDED_LIMIT,
		[JOB_WHY_HEARTBEAT_TIMEOUT] = PHX_ENDED_HEARTBEAT_TIMEOUT,
	};
	unsigned status, forced, why;
	if (sscanf(text, "%u %u %" SCNu64 " %" SCNu64 " %u %" SCNu64, &status, &forced,
		   &ret->cpu_ms, &ret->memory_peak_bytes, &why,
		   &ret->output_cut_bytes) < 5 || /* an older keeper leaves out the last */
	    status > 255 ||
	    why >= PHX_ARRAY_SIZE(whys))
		return false;
	ret->status = status;
	ret->forced = forced;
	ret->ended_by = why == JOB_WHY_NOTHING && forced ? PHX_ENDED_UNKNOWN : ends[why];
	PHX_STR_SET(ret->text, whys[why]);
	return true;
}

void job_store_read_end(const struct job_store *s, struct job_run run, struct job_end *ret)
{
	PHX_AUTO_FREE char *path = job_store_path(s, run, "end");
	PHX_AUTO_FREE char *output = job_store_output(s, run);
	PHX_AUTO_FREE char *text = NULL;
	*ret = (struct job_end){.run = run};
	if (!path || phx_file_read(path, 128, &text, NULL, NULL) < 0 || !parse_end(text, ret)) {
		*ret = (struct job_end){.run = run, .status = JOB_STATUS_LOST, .forced = true};
		PHX_STR_SET(ret->text, "the job's process is gone, how it ended is not known");
	}
	PHX_STR_SET(ret->output, output ? output : "");
}

int job_store_lock(const struct job_store *s, struct job_run run, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = job_store_path(s, run, "run");
	int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	if (fd < 0)
		return phx_err_set(err, path ? -errno : -ENOMEM, "job %" PRIu64 ": lock: %s",
				   run.id, strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 || ftruncate(fd, 0) < 0) {
		close(fd);
		return phx_err_set(err, -EBUSY, "job %" PRIu64 ": runs already", run.id);
	}
	return fd;
}

bool job_store_alive(const struct job_store *s, struct job_run run, pid_t *ret_keeper,
		     pid_t *ret_session)
{
	PHX_AUTO_FREE char *path = job_store_path(s, run, "run");
	char text[32] = "";
	int keeper = 0, session = 0;
	PHX_AUTO_CLOSE int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	bool alive = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
	if (fd < 0 || pread(fd, text, sizeof(text) - 1, 0) <= 0 ||
	    sscanf(text, "%d %d", &keeper, &session) != 2)
		keeper = session = 0;
	*ret_keeper = keeper;
	*ret_session = session;
	return alive;
}

/* ---- removing ---- */

static void remove_file(char *path)
{
	if (path)
		unlink(path);
	free(path);
}

void job_store_drop(const struct job_store *s, struct job_run run)
{
	remove_file(job_store_path(s, run, "run"));
	remove_file(job_store_output(s, run));
}

void job_store_forget(const struct job_store *s, struct job_run run)
{
	job_store_drop(s, run);
	remove_file(job_store_path(s, run, "end"));
}

/* The id of "ID.json"; 0 for every other name. */
static uint64_t id_of(const char *name)
{
	char digits[24];
	uint64_t id;
	size_t n = strspn(name, "0123456789");
	if (!n || n >= sizeof(digits) || strcmp(name + n, ".json") != 0)
		return 0;
	memcpy(digits, name, n);
	digits[n] = '\0';
	return phx_u64_parse(digits, 1, UINT64_MAX, &id) == 0 ? id : 0;
}

int job_store_each(const struct job_store *s, job_book_id_fn *fn, void *arg)
{
	DIR *d = opendir(s->dir);
	if (!d)
		return -errno;
	for (const struct dirent *e; (e = readdir(d));) {
		uint64_t id = id_of(e->d_name);
		if (id)
			fn(arg, id);
	}
	closedir(d);
	return 0;
}

int job_store_remove(const struct job_store *s, uint64_t id)
{
	struct job_record rec;
	int r = job_store_read(s, id, &rec);
	if (r < 0)
		return r;
	job_store_forget(s, JOB_RECORD_RUN(&rec));
	remove_file(record_path(s, id));
	return 0;
}
