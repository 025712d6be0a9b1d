/* The step scratch: destroys what jobs and their users left on this node while its system stays up,
 * and then searches all its disks once more. It succeeds only if nothing of a person is found; if
 * it fails, the head has the disks erased. Files are removed, and their blocks are discarded where
 * the disk can do that: no disk is erased or read back here, and the answer says so. Called through
 * the table of step_table.c. */
#include "agent/step.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <mntent.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/job_user.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/tree.h"

enum { ASK_EVERY = 4096, DEPTH_MAX = 256 };

/* The next entry but "." and ".."; NULL at the end. Sets *r when the directory cannot be read: what
 * it has is not known then. */
static const struct dirent *next_entry(DIR *d, int *r)
{
	struct dirent *e;
	do {
		errno = 0;
		e = readdir(d);
	} while (e && (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")));
	if (!e && errno)
		*r = -errno;
	return e;
}

static int cannot(int r, const char *path, struct phx_err *err)
{
	return phx_err_set(err, r, "%s: %s", path, strerror(-r));
}

/* ---- waiting until nothing runs ---- */

/* Ends of jobs, with their output, must have reached the head; the keeper of tasks ends by itself
 * when it has nothing to do. */
static int wait_until_quiet(struct step_run *s, struct phx_err *err)
{
	int64_t now = phx_clock_ms();
	struct jobs_until until = {step_cancelled, s, now + (s->deadline_ms - now) / 2};
	int r = jobs_await_told(s->agent->jobs, &until, err);
	return r ? r : tasks_await_end(s->agent->tasks, &until, err);
}

/* -EBUSY if a process of a person runs, since it could write while we search. With --root the
 * machine's processes are not the node's, and are not looked at. */
static int check_processes(const struct agent *a, struct phx_err *err)
{
	int r = 0;
	if (!a->cfg.whole_machine)
		return 0;
	DIR *d = opendir("/proc");
	if (!d)
		return cannot(-errno, "/proc", err);
	for (const struct dirent *e; r == 0 && (e = next_entry(d, &r));) {
		struct stat st;
		if (isdigit((unsigned char)e->d_name[0]) &&
		    fstatat(dirfd(d), e->d_name, &st, 0) == 0 && job_user_is_person(st.st_uid))
			r = phx_err_set(err, -EBUSY, "process %s of user %u runs", e->d_name,
					(unsigned)st.st_uid);
	}
	closedir(d);
	return r < 0 ? cannot(r, "/proc", err) : r;
}

/* ---- destroying ---- */

/* Empties a directory, which itself stays: it may be a file system of its own, and others hold it
 * open. */
static int empty(const char *path, uint32_t *n, struct phx_err *err)
{
	int r = 0;
	DIR *d = opendir(path);
	if (!d)
		return errno == ENOENT ? 0 : cannot(-errno, path, err);
	for (const struct dirent *e; r == 0 && (e = next_entry(d, &r));) {
		PHX_AUTO_FREE char *file = phx_path("%s/%s", path, e->d_name);
		r = file ? phx_dir_remove(file, err) : -ENOMEM;
		++*n;
	}
	closedir(d);
	return r < 0 ? cannot(r, path, err) : r;
}

/* Destroys all that jobs and tasks have below the cache: their directories and private places, data
 * of REs that have no data directory, and output. */
static int destroy(const struct agent *a, uint32_t *n, struct phx_err *err)
{
	static const char *const places[] = {"-jobs", "-tasks", "/jobs", "/tasks"};
	int r = 0;
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(places); i++) {
		PHX_AUTO_FREE char *path = phx_path("%s%s", a->cfg.cache_dir, places[i]);
		r = path ? empty(path, n, err) : -ENOMEM;
	}
	return r;
}

/* ---- searching ---- */

struct search {
	struct step_run *step;
	dev_t dev; /* of the file system that is searched */
	uint32_t n;
};

static int look_at(struct search *l, const char *path, unsigned depth, struct phx_err *err);

/* What cannot be read may be anybody's. What is gone by now is nobody's. */
static int look_in(struct search *l, const char *path, unsigned depth, struct phx_err *err)
{
	int r = 0, fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		r = errno == ENOENT ? 0 : cannot(-errno, path, err);
		phx_close_fd(&fd);
		return r;
	}
	for (const struct dirent *e; r == 0 && (e = next_entry(d, &r));) {
		PHX_AUTO_FREE char *below =
			phx_path("%s/%s", phx_str_eq(path, "/") ? "" : path, e->d_name);
		r = below ? look_at(l, below, depth + 1, err) : -ENOMEM;
	}
	closedir(d);
	return r < 0 ? cannot(r, path, err) : r;
}

static int look_at(struct search *l, const char *path, unsigned depth, struct phx_err *err)
{
	struct stat st;
	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : cannot(-errno, path, err);
	if (job_user_is_person(st.st_uid))
		return phx_err_set(err, -EUCLEAN, "%s is of user %u, and not in the scratch", path,
				   (unsigned)st.st_uid);
	if (++l->n % ASK_EVERY == 0 && step_cancelled(l->step))
		return phx_err_set(err, -ECANCELED, "given up at %s", path);
	if (depth == 0)
		l->dev = st.st_dev;
	if (!S_ISDIR(st.st_mode) || st.st_dev != l->dev)
		return 0;
	return depth < DEPTH_MAX ? look_in(l, path, depth, err) : cannot(-ELOOP, path, err);
}

static int look_below(struct step_run *s, const char *path, struct phx_err *err)
{
	return look_at(&(struct search){.step = s}, path, 0, err);
}

/* Is the file system on a disk or in memory? One that is served over a network is not the
 * node's. */
static bool is_local(const struct mntent *m)
{
	static const char *const kinds[] = {"tmpfs", "overlay", "ramfs"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(kinds); i++)
		if (phx_str_eq(m->mnt_type, kinds[i]))
			return true;
	return phx_str_starts(m->mnt_fsname, "/dev/");
}

static int look_everywhere(struct step_run *s, struct phx_err *err)
{
	if (!s->agent->cfg.whole_machine)
		return look_below(s, s->agent->cfg.root, err);
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	int r = mounts ? 0 : phx_err_set(err, -errno, "/proc/self/mounts: %s", strerror(errno));
	struct mntent m;
	char buf[4096];
	while (r == 0 && mounts && getmntent_r(mounts, &m, buf, sizeof(buf)))
		if (is_local(&m))
			r = look_below(s, m.mnt_dir, err);
	if (mounts)
		endmntent(mounts);
	return r;
}

/* Lets the disk discard the blocks of removed files. One that cannot is no failure, but
 * reported. */
static bool discard(const struct agent *a)
{
	struct fstrim_range all = {.len = UINT64_MAX};
	PHX_AUTO_CLOSE int fd = a->cfg.whole_machine
		? open(a->cfg.cache_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
		: -1;
	sync();
	return fd >= 0 && ioctl(fd, FITRIM, &all) == 0;
}

int step_scratch(struct step_run *s, struct phx_err *err)
{
	uint32_t n = 0;
	int r = wait_until_quiet(s, err);
	r = r ? r : check_processes(s->agent, err);
	r = r ? r : destroy(s->agent, &n, err);
	r = r ? r : look_everywhere(s, err);
	if (r == 0)
		snprintf(s->said, sizeof(s->said),
			 "%u left by jobs removed, none of a user's files elsewhere; %s; no disk "
			 "was erased",
			 n, discard(s->agent) ? "free blocks discarded" : "free blocks stay");
	return r;
}
