/* See re_place.h. Called by the launcher; the head decides whom a directory is for and what becomes
 * of it (re_dir.c, re_data.c). Below an RE's directory each directory is opened from the one above
 * it and must not be a link. */
#include "phxd/re_place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/file.h"
#include "base/tree.h"
#include "phxd/head_user.h"
#include "phxd/re_owners.h"

enum { MARKER_MAX = 300, TRIES = 1000 };

/* ---- markers ---- */

/* -ENOENT: there is none of ours. */
static int read_marker(const char *base, const char *name, struct re_marker *ret)
{
	PHX_AUTO_FREE char *path = phx_path("%s/.%s", base, name);
	PHX_AUTO_FREE char *text = NULL;
	struct re_marker m = {0};
	long long ms;
	if (!path || phx_file_read(path, MARKER_MAX, &text, NULL, NULL) < 0 ||
	    sscanf(text, "created %lld\nsite %39s", &ms, m.site) < 1)
		return -ENOENT;
	PHX_STR_SET(m.name, name);
	m.created_ms = ms;
	*ret = m;
	return 0;
}

bool re_marker_is_of(const struct re_marker *marker, const char *site)
{
	return !marker->site[0] || !strcmp(marker->site, site);
}

static int write_marker(const char *base, const struct re_marker *m, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/.%s", base, m->name);
	char text[MARKER_MAX];
	int n = snprintf(text, sizeof(text), "created %lld\nsite %s\nname %s\n",
			 (long long)m->created_ms, m->site, m->name);
	return path ? phx_file_write(path, text, (size_t)n, 0444, err) : -ENOMEM;
}

static void drop_marker(const char *base, const char *name)
{
	PHX_AUTO_FREE char *path = phx_path("%s/.%s", base, name);
	if (path)
		unlink(path);
}

bool re_place_look(const struct phx_config *cfg, const char *re, bool *ret_marked,
		   struct re_marker *ret)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s", cfg->re_dir, re);
	*ret_marked = read_marker(cfg->re_dir, re, ret) == 0;
	return path && access(path, F_OK) == 0;
}

void re_place_list(const struct phx_config *cfg, struct phx_list *ret)
{
	struct re_marker m;
	DIR *dir = opendir(cfg->re_dir);
	if (!dir)
		return;
	for (struct dirent *e; (e = readdir(dir));) {
		struct re_marker *to = e->d_name[0] == '.' && phx_name_valid(e->d_name + 1) &&
				read_marker(cfg->re_dir, e->d_name + 1, &m) == 0
			? phx_list_push(ret, sizeof(*to))
			: NULL;
		if (to)
			*to = m;
	}
	closedir(dir);
}

/* ---- made, removed, set aside ---- */

static int make_dir(const struct phx_config *cfg, const char *path, const char *login,
		    struct phx_err *err)
{
	uid_t uid;
	gid_t gid;
	int r = phx_dir_make(path, 0750, err);
	if (r < 0)
		return r;
	if (re_owners_find(login, &uid, &gid))
		return re_owners_mend(cfg, path, uid, gid, err);
	head_user_find(cfg, &uid, &gid);
	/* data of root's is served by the head itself, so it belongs to the head's user */
	if (chown(path, uid, gid) < 0)
		r = phx_err_set(err, -errno, "%s", strerror(errno));
	return r;
}

int re_place_make(const struct phx_config *cfg, const struct re_marker *m, const char *login,
		  struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s", cfg->re_dir, m->name);
	int r = path ? phx_dir_make(cfg->re_dir, 0755, err) : -ENOMEM;
	r = r ? r : write_marker(cfg->re_dir, m, err);
	return r ? r : make_dir(cfg, path, login, err);
}

static bool is_empty(const char *path)
{
	DIR *d = opendir(path);
	bool is = d;
	for (const struct dirent *e; is && (e = readdir(d));)
		is = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");
	if (d)
		closedir(d);
	return is;
}

int re_place_remove(const struct phx_config *cfg, const char *re, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s", cfg->re_dir, re);
	int r = path ? phx_dir_remove(path, err) : -ENOMEM;
	if (r == -EBUSY && is_empty(path)) /* a file system of its own is mounted there */
		r = 0;
	if (r == 0)
		drop_marker(cfg->re_dir, re);
	return r;
}

/* Gives away what root made while the head was root: the directory of an RE without a user, and all
 * in it except the directories of users. Nobody else could write there. */
static int give_tree(const char *path, uid_t uid, gid_t gid, struct phx_err *err)
{
	PHX_AUTO_FREE char *copy = strdup(path);
	char *const roots[] = {copy, NULL};
	FTS *fts = copy ? fts_open(roots, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR, NULL) : NULL;
	int r = fts ? 0 : -ENOMEM;
	for (FTSENT *e; r == 0 && (e = fts_read(fts));) {
		bool users = e->fts_level == 1 && !strcmp(e->fts_name, RE_USERS);
		if (e->fts_info == FTS_D && users)
			fts_set(fts, e, FTS_SKIP);
		/* a directory after its content, so that an interrupted run begins again */
		bool roots_own = (e->fts_info == FTS_DP || e->fts_info == FTS_F) && !users &&
			e->fts_statp->st_uid == 0;
		if (roots_own && lchown(e->fts_path, uid, gid) < 0)
			r = phx_err_set(err, -errno, "%s: %s", e->fts_path, strerror(errno));
	}
	if (fts)
		fts_close(fts);
	return r;
}

int re_place_give(const struct phx_config *cfg, struct phx_err *err)
{
	PHX_AUTO(phx_list_fini) struct phx_list list = {0};
	struct stat st;
	uid_t uid;
	gid_t gid;
	int r = 0;
	head_user_find(cfg, &uid, &gid);
	if (uid != geteuid())
		re_place_list(cfg, &list);
	for (uint32_t i = 0; r == 0 && i < list.n; i++) {
		const char *name = PHX_LIST_AT(&list, struct re_marker, i)->name;
		PHX_AUTO_FREE char *path = phx_path("%s/%s", cfg->re_dir, name);
		if (!path)
			r = -ENOMEM;
		else if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == 0)
			r = give_tree(path, uid, gid, err);
	}
	return r;
}

/* Moves `from` to an unused name in `lost`; -EXDEV: that is another file system. */
static int move_into(const char *lost, const char *from, const struct re_marker *what,
		     char **ret_to, struct phx_err *err)
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

int re_place_set_aside(const struct phx_config *cfg, const struct re_marker *m, char **ret_to,
		       struct phx_err *err)
{
	PHX_AUTO_FREE char *from = phx_path("%s/%s", cfg->re_dir, m->name);
	PHX_AUTO_FREE char *lost = phx_path("%s/lost+found", cfg->state_dir);
	PHX_AUTO_FREE char *beside = phx_path("%s/lost+found", cfg->re_dir);
	PHX_AUTO_FREE char *to = NULL;
	if (!from || !lost || !beside)
		return -ENOMEM;
	int r = access(from, F_OK) < 0 ? -ENOENT : move_into(lost, from, m, &to, err);
	if (r == -EXDEV)
		r = move_into(beside, from, m, &to, err);
	if (r < 0 && r != -ENOENT)
		return r;
	drop_marker(cfg->re_dir, m->name);
	*ret_to = PHX_TAKE(to);
	return 0;
}

/* ---- opened ---- */

static int open_dir(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* A directory of that name that phxd did not make, or made for a former RE and could not move away,
 * has somebody else's data. */
static int check_marker(const struct phx_config *cfg, const struct re_place_whose *w,
			struct phx_err *err)
{
	struct re_marker m;
	bool marked = read_marker(cfg->re_dir, w->re, &m) == 0;
	if (marked && !w->created_ms)
		return 0;
	if (marked && m.created_ms == w->created_ms && re_marker_is_of(&m, w->site))
		return 0;
	return phx_err_set(err, -EPERM,
			   "the data directory of RE %s %s: whoever runs the head must move it "
			   "away, then reload",
			   w->re, marked ? "is that of a former RE" : "was not made by phxd");
}

static int open_re(const struct phx_config *cfg, const struct re_place_whose *w,
		   struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s", cfg->re_dir, w->re);
	int fd = path ? open_dir(AT_FDCWD, path) : -ENOMEM;
	if (fd < 0)
		return phx_err_set(err, fd, "the data directory of RE %s: %s", w->re,
				   strerror(-fd));
	int r = check_marker(cfg, w, err);
	if (r == 0)
		return fd;
	close(fd);
	return r;
}

/* Opens the directory of users' directories, which must be root's, and writable by nobody else. */
static int open_users(const struct phx_config *cfg, const struct re_place_whose *w,
		      struct phx_err *err)
{
	struct stat st;
	const char *re = w->re;
	PHX_AUTO_CLOSE int all = open_re(cfg, w, err);
	if (all < 0)
		return all;
	bool made = w->make && mkdirat(all, RE_USERS, 0711) == 0;
	int fd = open_dir(all, RE_USERS);
	if (fd < 0)
		return phx_err_set(err, fd, "the directories of users in RE %s: %s", re,
				   strerror(-fd));
	/* the RE's owner may have replaced it meanwhile: so check the open descriptor, not the name
	 */
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 022) &&
	    (!made || fchmod(fd, 0711) == 0))
		return fd;
	close(fd);
	return phx_err_set(
		err, -EPERM,
		RE_USERS
		" in the data directory of RE %s was not made by phxd: its owner must move it away",
		re);
}

/* Makes a user's directory. One that root still owns was left by a crash, as only we write in
 * `users`. */
static int make_own(int users, const struct re_place_whose *w)
{
	struct stat st;
	if (mkdirat(users, w->user, 0700) < 0 && errno != EEXIST)
		return -errno;
	PHX_AUTO_CLOSE int fd = open_dir(users, w->user);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 || (st.st_uid == geteuid() && fchown(fd, w->uid, w->gid) < 0))
		return -errno;
	return 0;
}

static bool is_one_name(const char *name)
{
	return phx_beneath_check(name, NULL) == 0 && !strchr(name, '/');
}

static int open_own(const struct phx_config *cfg, const struct re_place_whose *w,
		    struct phx_err *err)
{
	bool anybody = w->uid == (uid_t)-1;
	if (!is_one_name(w->user) || (anybody ? w->make : !w->uid || !phx_id_valid(w->gid)))
		return phx_err_set(err, -EPERM, "user %s can have no directory in an RE", w->user);
	PHX_AUTO_CLOSE int users = open_users(cfg, w, err);
	if (users < 0)
		return users;
	int r = w->make ? make_own(users, w) : 0;
	r = r ? r : open_dir(users, w->user);
	return r < 0 ? phx_err_set(err, r, "the directory of %s in RE %s: %s", w->user, w->re,
				   strerror(-r))
		     : r;
}

int re_place_open(const struct phx_config *cfg, const struct re_place_whose *w, struct stat *ret,
		  struct phx_err *err)
{
	if (!phx_name_valid(w->re))
		return phx_err_set(err, -EINVAL, "'%s' is no name of an RE", w->re);
	PHX_AUTO_CLOSE int fd = w->user[0] ? open_own(cfg, w, err) : open_re(cfg, w, err);
	if (fd < 0)
		return fd;
	if (fstat(fd, ret) < 0)
		return -errno;
	if (w->user[0] && w->uid != (uid_t)-1 && ret->st_uid != w->uid)
		return phx_err_set(
			err, -EPERM,
			"the directory of %s in RE %s is not this user's, who has uid %u", w->user,
			w->re, w->uid);
	int taken = fd;
	fd = -1;
	return taken;
}

void re_place_users(const struct phx_config *cfg, const char *re, struct phx_list *ret)
{
	struct re_place_whose w = {.uid = (uid_t)-1};
	bool named = phx_name_valid(re) && PHX_STR_SET(w.re, re) == 0;
	int users = named ? open_users(cfg, &w, NULL) : -1;
	DIR *dir = users >= 0 ? fdopendir(users) : NULL;
	for (struct dirent *e; dir && (e = readdir(dir));) {
		struct phx_word *to =
			is_one_name(e->d_name) ? phx_list_push(ret, sizeof(*to)) : NULL;
		if (to)
			PHX_STR_SET(to->text, e->d_name);
	}
	if (dir)
		closedir(dir);
	else if (users >= 0)
		close(users);
}
