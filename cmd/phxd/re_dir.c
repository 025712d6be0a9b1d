/* The data directory of each runtime environment on the head: made when it is
 * created, kept over its deactivation, removed when it is destroyed. A marker
 * beside it (.NAME), where its owner cannot reach, says whose it is: the
 * journal's identity, the RE, and which creation. Only the event that destroyed
 * that very creation removes a directory, now or, after a crash, at the next
 * start. Whatever else is not known (the journal was restored, or is another
 * one) is moved to lost+found, and told. Called at start and after REs came or
 * went. */
#include "phxd/daemon.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/account.h"
#include "base/file.h"

enum { MARKER_MAX = 300, ID_MAX = 40, TRIES = 1000 };

/* Which creation of an RE. */
struct dir {
	char name[PHX_NAME_MAX];
	char login[PHX_NAME_MAX]; /* user of the head who is, or works for, its owner; "" none */
	int64_t created_ms;
	char site[ID_MAX]; /* of the journal; "" in markers of the time before */
};

static void login_of(const struct phx_state *s, const char *owner, char ret[PHX_NAME_MAX])
{
	struct phx_identity is = {0};
	bool user = phx_identity_parse(owner, &is, NULL) == 0 && is.kind == PHX_IDENTITY_UNIX;
	phx_str_copy(ret, PHX_NAME_MAX, user ? is.name : phx_state_login(s, owner));
}

static struct phx_list wanted_dirs(struct daemon *d)
{
	struct phx_list dirs = {0};
	const struct phx_state *s = engine_lock(d->engine);
	PHX_LIST_EACH(struct phx_re, re, &s->res) {
		struct dir *to =
			re->state == PHX_RE_STATE_NONE ? NULL : phx_list_push(&dirs, sizeof(*to));
		if (!to)
			continue;
		PHX_STR_SET(to->name, re->name);
		login_of(s, re->agreement.owner, to->login);
		PHX_STR_SET(to->site, phx_store_id(engine_store(d->engine)));
		to->created_ms = re->created_ms;
	}
	engine_unlock(d->engine);
	return dirs;
}

static void complain(const char *path, const struct phx_err *err)
{
	fprintf(stderr, "phxd: data directory %s: %s\n", path, err->text);
}

/* ---- markers ---- */

/* Of which creation the directory `name` is; -ENOENT: not ours. */
static int read_marker(const char *base, const char *name, struct dir *ret)
{
	PHX_AUTO_FREE char *path = phx_path("%s/.%s", base, name);
	PHX_AUTO_FREE char *text = NULL;
	struct dir m = {0};
	long long ms;
	if (!path || phx_file_read(path, MARKER_MAX, &text, NULL, NULL) < 0 ||
	    sscanf(text, "created %lld\nsite %39s", &ms, m.site) < 1)
		return -ENOENT;
	PHX_STR_SET(m.name, name);
	m.created_ms = ms;
	*ret = m;
	return 0;
}

static int write_marker(const char *base, const struct dir *dir, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/.%s", base, dir->name);
	char text[MARKER_MAX];
	int n = snprintf(text, sizeof(text), "created %lld\nsite %s\nname %s\n",
			 (long long)dir->created_ms, dir->site, dir->name);
	return path ? phx_file_write(path, text, (size_t)n, 0444, err) : -ENOMEM;
}

static bool of_this_site(const struct dir *marker, const char *site)
{
	return !marker->site[0] || !strcmp(marker->site, site);
}

static void drop_marker(const char *base, const char *name)
{
	PHX_AUTO_FREE char *path = phx_path("%s/.%s", base, name);
	if (path)
		unlink(path);
}

/* ---- what is not known ---- */

/* A place of its own in `lost`; -EXDEV: that is another file system. */
static int move_into(const char *lost, const char *from, const struct dir *what, char **ret_to,
		     struct phx_err *err)
{
	int r = phx_dir_make(lost, 0700, err);
	for (int i = 0; r == 0 && i < TRIES; i++) {
		PHX_AUTO_FREE char *to = i
			? phx_path("%s/%s-%lld.%d", lost, what->name, (long long)what->created_ms,
				   i)
			: phx_path("%s/%s-%lld", lost, what->name, (long long)what->created_ms);
		if (!to)
			return -ENOMEM;
		if (access(to, F_OK) == 0)
			continue;
		if (rename(from, to) < 0)
			return errno == EXDEV
				? -EXDEV
				: phx_err_set(err, -errno, "%s: %s", to, strerror(errno));
		*ret_to = PHX_TAKE(to);
		return 0;
	}
	return r < 0 ? r : phx_err_set(err, -EEXIST, "%s: is full", lost);
}

/* To lost+found of the state directory, or of the file system that it is on. */
static int set_aside(struct daemon *d, const struct dir *what, const char *why)
{
	struct phx_err err = {0};
	char text[256];
	PHX_AUTO_FREE char *from = phx_path("%s/%s", d->cfg.re_dir, what->name);
	PHX_AUTO_FREE char *lost = phx_path("%s/lost+found", d->cfg.state_dir);
	PHX_AUTO_FREE char *beside = phx_path("%s/lost+found", d->cfg.re_dir);
	PHX_AUTO_FREE char *to = NULL;
	if (!from || !lost || !beside)
		return -ENOMEM;
	int r = access(from, F_OK) < 0 ? -ENOENT : move_into(lost, from, what, &to, &err);
	if (r == -EXDEV)
		r = move_into(beside, from, what, &to, &err);
	if (r < 0 && r != -ENOENT) {
		complain(from, &err);
		return r;
	}
	drop_marker(d->cfg.re_dir, what->name);
	if (r == -ENOENT)
		return 0;
	snprintf(text, sizeof(text), "data of RE %.40s, %s, was moved to %.120s", what->name, why,
		 to);
	engine_notice(d->engine, what->name, text);
	return 0;
}

/* ---- what was destroyed ---- */

static int is_its_end(void *arg, const struct phx_store_event *stored)
{
	const struct dir *what = arg;
	PHX_AUTO_JSON json_t *ev = NULL;
	if (stored->time_ms < what->created_ms)
		return 0;
	if (phx_json_parse(stored->event, strlen(stored->event), &ev, NULL) < 0)
		return 0;
	return !strcmp(phx_json_str(ev, "re", ""), what->name);
}

/* Does the journal say that this creation was destroyed? */
static bool was_destroyed(struct daemon *d, const struct dir *what)
{
	struct phx_store *store = engine_store(d->engine);
	struct dir copy = *what;
	return of_this_site(what, phx_store_id(store)) &&
		phx_store_events_of(store, phx_enum_name(&phx_event_kind_names, PHX_EV_re_destroy),
				    is_its_end, &copy, NULL) > 0;
}

static void remove_dir(const char *base, const char *name)
{
	struct phx_err err = {0};
	PHX_AUTO_FREE char *path = phx_path("%s/%s", base, name);
	if (!path)
		return;
	if (phx_dir_remove(path, &err) < 0)
		complain(path, &err);
	else
		drop_marker(base, name);
}

static int end_dir(struct daemon *d, const struct dir *what)
{
	if (!was_destroyed(d, what))
		return set_aside(d, what, "which the journal does not know");
	remove_dir(d->cfg.re_dir, what->name);
	return 0;
}

/* ---- what is wanted ---- */

static int make_dir(const char *path, const char *login, struct phx_err *err)
{
	PHX_AUTO_FREE char *texts = NULL;
	struct passwd pw;
	int r = phx_dir_make(path, 0750, err);
	if (r == 0 && phx_user_named(login, &pw, &texts) == 0 &&
	    chown(path, pw.pw_uid, pw.pw_gid) < 0)
		r = phx_err_set(err, -errno, "%s", strerror(errno));
	return r;
}

static void tell_missing(struct daemon *d, const struct dir *dir)
{
	char text[256];
	snprintf(
		text, sizeof(text),
		"data of RE %.40s is not there: %.120s/%.40s was made anew, empty (is it mounted?)",
		dir->name, d->cfg.re_dir, dir->name);
	engine_notice(d->engine, dir->name, text);
}

/* There, and of this creation: a name that is used again begins with nothing. */
static void have_dir(struct daemon *d, const struct dir *dir, bool starting)
{
	struct phx_err err = {0};
	struct dir marker = {0};
	PHX_AUTO_FREE char *path = phx_path("%s/%s", d->cfg.re_dir, dir->name);
	if (!path)
		return;
	bool there = access(path, F_OK) == 0,
	     ours = read_marker(d->cfg.re_dir, dir->name, &marker) == 0;
	bool of_this =
		ours && marker.created_ms == dir->created_ms && of_this_site(&marker, dir->site);
	int r = 0;
	if (there && of_this && marker.site[0])
		return;
	if (there && !ours)
		r = phx_err_set(&err, -EEXIST, "is there and was not made by phxd: move it away");
	else if (there && !of_this && end_dir(d, &marker) < 0)
		return;
	if (!there && starting)
		tell_missing(d, dir);
	if (r == 0 && !(of_this && marker.site[0]))
		r = write_marker(d->cfg.re_dir, dir, &err);
	r = r ? r : make_dir(path, dir->login, &err);
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

/* Markers of REs that are not there. */
static void end_others(struct daemon *d, const struct phx_list *dirs)
{
	struct dir marker;
	DIR *dir = opendir(d->cfg.re_dir);
	if (!dir)
		return;
	for (struct dirent *e; (e = readdir(dir));)
		if (e->d_name[0] == '.' && phx_name_valid(e->d_name + 1) &&
		    !is_wanted(dirs, e->d_name + 1) &&
		    read_marker(d->cfg.re_dir, e->d_name + 1, &marker) == 0)
			end_dir(d, &marker);
	closedir(dir);
}

static void sync_dirs(struct daemon *d, bool starting)
{
	static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
	struct phx_err err = {0};
	pthread_mutex_lock(&one_at_a_time);
	struct phx_list dirs = wanted_dirs(d);
	if (dirs.n && phx_dir_make(d->cfg.re_dir, 0755, &err) < 0)
		complain(d->cfg.re_dir, &err);
	PHX_LIST_EACH(struct dir, dir, &dirs)
		have_dir(d, dir, starting);
	end_others(d, &dirs);
	phx_list_fini(&dirs);
	pthread_mutex_unlock(&one_at_a_time);
}

void re_dirs_sync(struct daemon *d)
{
	sync_dirs(d, false);
}

void re_dirs_begin(struct daemon *d)
{
	sync_dirs(d, true);
}
