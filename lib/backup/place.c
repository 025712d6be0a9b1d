/* Puts what was restored in its place: see internal.h. By renames alone, so that a directory is the
 * old one or the new one, and back again after any error. Called by restore.c. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "backup/internal.h"
#include "base/clock.h"
#include "base/file.h"

static bool holds_something(const char *path)
{
	DIR *dir = opendir(path);
	bool found = false;
	for (struct dirent *e; dir && !found && (e = readdir(dir));)
		found = strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	if (dir)
		closedir(dir);
	return found;
}

static int check_dir(const char *path, bool force, struct phx_err *err)
{
	struct stat st, above;
	PHX_AUTO_FREE char *parent = phx_path("%s/..", path);
	if (path[0] != '/')
		return phx_err_set(err, -EINVAL, "%s: must be an absolute path", path);
	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0
				       : phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return phx_err_set(err, -ENOTDIR, "%s: that is no directory", path);
	if (!parent || stat(parent, &above) < 0 || above.st_dev != st.st_dev)
		return phx_err_set(err, -EXDEV,
				   "%s is a file system of its own, which no rename replaces: "
				   "restore into a directory of it, and name that in phoenix.conf",
				   path);
	return force || !holds_something(path)
		? 0
		: phx_err_set(err, -ENOTEMPTY,
			      "%s holds something: --force moves it aside, and then restores",
			      path);
}

int backup_place_check(const struct phx_restore_how *how, int *ret_lock, struct phx_err *err)
{
	PHX_AUTO_FREE char *lock = phx_path("%s/journal.db.lock", how->state_dir);
	*ret_lock = -1;
	if (!lock)
		return -ENOMEM;
	int fd = open(lock, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0) {
		close(fd);
		return phx_err_set(err, -EBUSY,
				   "a head runs on %s: end it first (systemctl stop phxd)",
				   how->state_dir);
	}
	int r = check_dir(how->state_dir, how->force, err);
	if (r == 0 && how->etc_dir)
		r = check_dir(how->etc_dir, how->force, err);
	if (r < 0 && fd >= 0)
		close(fd);
	else
		*ret_lock = fd;
	return r;
}

/* ---- renames, each of which can be taken back ---- */

struct renamed {
	char *from, *to;
};

static int move(struct phx_list *done, const char *from, const char *to, struct phx_err *err)
{
	struct renamed *r = phx_list_push(done, sizeof(*r));
	if (!r || !(r->from = strdup(from)) || !(r->to = strdup(to)))
		return -ENOMEM;
	if (rename(from, to) == 0)
		return 0;
	int code = -errno;
	free(r->to);
	r->to = NULL; /* nothing to take back */
	return phx_err_set(err, code, "%s: it cannot be called %s: %s", from, to, strerror(-code));
}

static void finish(struct phx_list *done, bool back)
{
	for (uint32_t i = done->n; i-- > 0;) {
		struct renamed *r = PHX_LIST_AT(done, struct renamed, i);
		if (back && r->from && r->to)
			(void)!rename(r->to, r->from);
		free(r->from);
		free(r->to);
	}
	phx_list_fini(done);
}

/* The old journal and what is made from it is not taken over. */
static bool is_of_journal(const char *name)
{
	return phx_str_starts(name, "journal.db") || phx_str_starts(name, "timeline.db") ||
		!strcmp(name, "anchors");
}

static int take_over_one(struct phx_list *done, const char *from, const char *to, const char *name,
			 bool has_keys, struct phx_err *err)
{
	struct stat st;
	PHX_AUTO_FREE char *a = phx_path("%s/%s", from, name);
	PHX_AUTO_FREE char *b = phx_path("%s/%s", to, name);
	PHX_AUTO_FREE char *aside = phx_path("%s/%s.of-backup", to, name);
	if (!a || !b || !aside)
		return -ENOMEM;
	if (lstat(b, &st) < 0)
		return move(done, a, b, err);
	if (has_keys || strcmp(name, "pki") != 0)
		return 0;
	int r = move(done, b, aside, err);
	return r < 0 ? r : move(done, a, b, err);
}

static int take_over(struct phx_list *done, const char *from, const char *to, bool has_keys,
		     struct phx_err *err)
{
	DIR *d = opendir(from);
	int r = 0;
	if (!d)
		return phx_err_set(err, -errno, "%s: %s", from, strerror(errno));
	for (struct dirent *e; r == 0 && (e = readdir(d));)
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") && !is_of_journal(e->d_name))
			r = take_over_one(done, from, to, e->d_name, has_keys, err);
	closedir(d);
	return r;
}

static void old_name(const char *dir, char *ret, size_t size)
{
	char when[32];
	struct tm tm;
	time_t now = (time_t)(phx_wall_ms() / 1000);
	gmtime_r(&now, &tm);
	strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", &tm);
	snprintf(ret, size, "%s.before-%s", dir, when);
}

static int move_aside(struct phx_list *done, const char *dir, char *ret_old, size_t size,
		      struct phx_err *err)
{
	ret_old[0] = '\0';
	if (!holds_something(dir))
		return 0; /* a rename replaces it */
	old_name(dir, ret_old, size);
	return move(done, dir, ret_old, err);
}

static int place(struct phx_list *done, const struct phx_restore_how *how, const char *state,
		 const char *etc, struct phx_backup_done *d, struct phx_err *err)
{
	int r = chmod(state, 0755) < 0 ? phx_err_set(err, -errno, "%s: %s", state, strerror(errno))
				       : 0;
	r = r < 0 ? r : move_aside(done, how->state_dir, d->old_state, sizeof(d->old_state), err);
	if (r == 0 && how->keep && d->old_state[0])
		r = take_over(done, d->old_state, state, d->manifest.keys, err);
	r = r < 0 ? r : move(done, state, how->state_dir, err);
	if (r < 0 || !etc)
		return r;
	r = chmod(etc, 0755) < 0 ? phx_err_set(err, -errno, "%s: %s", etc, strerror(errno)) : 0;
	r = r < 0 ? r : move_aside(done, how->etc_dir, d->old_etc, sizeof(d->old_etc), err);
	return r < 0 ? r : move(done, etc, how->etc_dir, err);
}

static void sync_above(const char *path)
{
	PHX_AUTO_FREE char *parent = phx_path("%s/..", path);
	PHX_AUTO_CLOSE int fd = parent ? open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (fd >= 0)
		fsync(fd);
}

int backup_place(const struct phx_restore_how *how, const char *state, const char *etc,
		 struct phx_backup_done *done, struct phx_err *err)
{
	struct phx_list moved = {0};
	int r = place(&moved, how, state, etc, done, err);
	finish(&moved, r < 0);
	sync_above(how->state_dir);
	if (etc)
		sync_above(how->etc_dir);
	return r;
}
