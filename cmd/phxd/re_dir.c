/* The data directory of each runtime environment on the head: made when it is
 * created, kept over its deactivation, removed when it is destroyed. A marker
 * beside it (.NAME), where its owner cannot reach, says that it is ours and
 * which creation it belongs to: nothing without one is ever removed. Called at
 * start and after REs came or went. */
#include "phxd/daemon.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

enum { MARKER_MAX = 200 };

struct dir {
	char name[PHX_NAME_MAX], owner[PHX_NAME_MAX];
	int64_t created_ms;
};

static struct phx_list wanted_dirs(struct daemon *d)
{
	struct phx_list dirs = { 0 };
	const struct phx_state *s = engine_lock(d->engine);
	PHX_LIST_EACH(struct phx_re, re, &s->res)
	{
		struct dir *to = re->state == PHX_RE_STATE_NONE ? NULL : phx_list_push(&dirs, sizeof(*to));
		if (!to)
			continue;
		PHX_STR_SET(to->name, re->name);
		PHX_STR_SET(to->owner, re->agreement.owner);
		to->created_ms = re->created_ms;
	}
	engine_unlock(d->engine);
	return dirs;
}

static void complain(const char *path, const struct phx_err *err)
{
	fprintf(stderr, "phxd: data directory %s: %s\n", path, err->text);
}

/* Of which creation a directory is; -ENOENT: not ours. */
static int read_marker(const char *marker, int64_t *ret_ms)
{
	PHX_AUTO_FREE char *text = NULL;
	long long ms;
	if (phx_file_read(marker, MARKER_MAX, &text, NULL, NULL) < 0 || sscanf(text, "created %lld", &ms) != 1)
		return -ENOENT;
	*ret_ms = ms;
	return 0;
}

static int write_marker(const char *marker, int64_t ms, struct phx_err *err)
{
	char text[MARKER_MAX];
	int n = snprintf(text, sizeof(text), "created %lld\n", (long long)ms);
	return phx_file_write(marker, text, (size_t)n, 0444, err);
}

static int make_dir(const char *path, const char *owner, struct phx_err *err)
{
	char buf[4096];
	struct passwd pw, *found = NULL;
	int r = phx_dir_make(path, 0750, err);
	getpwnam_r(owner, &pw, buf, sizeof(buf), &found);
	if (r == 0 && found && chown(path, pw.pw_uid, pw.pw_gid) < 0)
		r = phx_err_set(err, -errno, "%s", strerror(errno));
	return r;
}

/* There, and of this creation: a name that is used again begins with nothing. */
static void have_dir(const char *base, const struct dir *dir)
{
	struct phx_err err = { 0 };
	PHX_AUTO_FREE char *path = phx_path("%s/%s", base, dir->name);
	PHX_AUTO_FREE char *marker = phx_path("%s/.%s", base, dir->name);
	int64_t created = 0;
	if (!path || !marker)
		return;
	bool there = access(path, F_OK) == 0, ours = read_marker(marker, &created) == 0;
	bool of_this = ours && created == dir->created_ms;
	int r = 0;
	if (there && of_this)
		return;
	if (there && !ours)
		r = phx_err_set(&err, -EEXIST, "is there and was not made by phxd: move it away");
	if (there && ours)
		r = phx_dir_remove(path, &err);
	if (r == 0 && !of_this)
		r = write_marker(marker, dir->created_ms, &err);
	r = r ? r : make_dir(path, dir->owner, &err);
	if (r < 0)
		complain(path, &err);
}

static bool is_wanted(const struct phx_list *dirs, const char *name)
{
	PHX_LIST_EACH(struct dir, dir, dirs)
		if (!strcmp(dir->name, name))
			return true;
	return false;
}

static void remove_dir(const char *base, const char *name)
{
	struct phx_err err = { 0 };
	PHX_AUTO_FREE char *path = phx_path("%s/%s", base, name);
	PHX_AUTO_FREE char *marker = phx_path("%s/.%s", base, name);
	if (!path || !marker)
		return;
	if (phx_dir_remove(path, &err) < 0)
		complain(path, &err);
	else
		unlink(marker);
}

/* Markers of REs that are gone. */
static void remove_others(const char *base, const struct phx_list *dirs)
{
	DIR *dir = opendir(base);
	if (!dir)
		return;
	for (struct dirent *e; (e = readdir(dir));)
		if (e->d_name[0] == '.' && phx_name_valid(e->d_name + 1) && !is_wanted(dirs, e->d_name + 1))
			remove_dir(base, e->d_name + 1);
	closedir(dir);
}

void re_dirs_sync(struct daemon *d)
{
	static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
	struct phx_err err = { 0 };
	pthread_mutex_lock(&one_at_a_time);
	struct phx_list dirs = wanted_dirs(d);
	if (dirs.n && phx_dir_make(d->cfg.re_dir, 0755, &err) < 0)
		complain(d->cfg.re_dir, &err);
	PHX_LIST_EACH(struct dir, dir, &dirs)
		have_dir(d->cfg.re_dir, dir);
	remove_others(d->cfg.re_dir, &dirs);
	phx_list_fini(&dirs);
	pthread_mutex_unlock(&one_at_a_time);
}
