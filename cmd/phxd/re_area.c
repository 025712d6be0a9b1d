/* See re_area.h. Called by re_data.c. Each directory on the way is opened from
 * the one before it and is no link; who may come here is not decided here. */
#include "phxd/re_area.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/file.h"
#include "base/file_rights.h"

enum { LIST_MAX = 10000, DEPTH_MAX = 16, PATH_TEXT = 512 };

/* Takes `dir`: a descriptor, or a negative errno. */
static int area_of(int dir, struct re_area *ret)
{
	struct stat st;
	if (dir < 0)
		return dir;
	if (fstat(dir, &st) < 0) {
		close(dir);
		return -EIO;
	}
	*ret = (struct re_area){.dir = dir, .uid = st.st_uid, .gid = st.st_gid};
	return 0;
}

static int open_dir(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

void re_area_fini(struct re_area *a)
{
	if (a->dir >= 0)
		close(a->dir);
	a->dir = -1;
}

int re_area_open(const struct daemon *d, const char *re, struct re_area *ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s", d->cfg.re_dir, re);
	int r = path ? area_of(open_dir(AT_FDCWD, path), ret) : -ENOMEM;
	return r < 0 ? phx_err_set(err, r, "the data directory of RE %s: %s", re, strerror(-r)) : 0;
}

/* ---- users ---- */

/* The directory of users' directories: root's, and nobody else writes in it. */
static int open_users(const struct daemon *d, const char *re, bool make, struct phx_err *err)
{
	struct re_area all;
	struct stat st;
	int r = re_area_open(d, re, &all, err);
	if (r < 0)
		return r;
	bool made = make && mkdirat(all.dir, RE_USERS, 0711) == 0;
	int fd = open_dir(all.dir, RE_USERS);
	re_area_fini(&all);
	if (fd < 0)
		return phx_err_set(err, fd, "the directories of users in RE %s: %s", re,
				   strerror(-fd));
	/* the owner of the RE may have put another one there meanwhile: what is opened is looked
	 * at, and no name */
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

/* One that a crash left is still ours: only we write in `users`. */
static int make_own(int users, const char *name, const struct person_login *who)
{
	struct stat st;
	if (mkdirat(users, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	PHX_AUTO_CLOSE int fd = open_dir(users, name);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 || (st.st_uid == geteuid() && fchown(fd, who->uid, who->gid) < 0))
		return -errno;
	return 0;
}

static bool is_one_name(const char *name)
{
	return phx_beneath_check(name, NULL) == 0 && !strchr(name, '/');
}

int re_area_open_user(const struct daemon *d, const char *re, const struct person_login *who,
		      bool make, struct re_area *ret, struct phx_err *err)
{
	if (!who->uid || !phx_id_valid(who->uid) || !is_one_name(who->name))
		return phx_err_set(err, -EPERM, "user %s can have no directory in an RE",
				   who->name);
	PHX_AUTO_CLOSE int users = open_users(d, re, make, err);
	if (users < 0)
		return users;
	struct re_area own = {.dir = -1};
	int r = make ? make_own(users, who->name, who) : 0;
	r = r ? r : area_of(open_dir(users, who->name), &own);
	if (r < 0)
		return phx_err_set(err, r, "the directory of %s in RE %s: %s", who->name, re,
				   strerror(-r));
	if (own.uid != who->uid) {
		re_area_fini(&own);
		return phx_err_set(
			err, -EPERM,
			"the directory of %s in RE %s is not this user's, who has uid %u",
			who->name, re, who->uid);
	}
	*ret = own;
	return 0;
}

bool re_area_is_users(const char *path)
{
	size_t n = strlen(RE_USERS);
	return !strncmp(path, RE_USERS, n) && (!path[n] || path[n] == '/');
}

/* "users/NAME/REST" */
static int find_user_s(const struct daemon *d, const char *re, const char *path,
		       struct re_area *ret, const char **ret_rest, struct phx_err *err)
{
	char name[PATH_TEXT];
	const char *from = path + strlen(RE_USERS), *slash = *from ? strchr(from + 1, '/') : NULL;
	if (!slash)
		return phx_err_set(err, -EINVAL, "%s: is no regular file", path);
	snprintf(name, sizeof(name), "%.*s", (int)(slash - from - 1), from + 1);
	PHX_AUTO_CLOSE int users = open_users(d, re, false, err);
	int r = users < 0 ? users : area_of(open_dir(users, name), ret);
	*ret_rest = slash + 1;
	return r < 0 ? phx_err_set(err, r, "%s: %s", path, strerror(-r)) : 0;
}

int re_area_find(const struct daemon *d, const char *re, const char *path, struct re_area *ret,
		 const char **ret_rest, struct phx_err *err)
{
	int r = phx_beneath_check(path, err);
	if (r < 0)
		return r;
	if (re_area_is_users(path))
		return find_user_s(d, re, path, ret, ret_rest, err);
	*ret_rest = path;
	return re_area_open(d, re, ret, err);
}

/* ---- files ---- */

int re_area_open_file(const struct re_area *a, const char *path, uint64_t max, struct phx_err *err)
{
	struct phx_rights was;
	uint64_t size;
	int r = phx_rights_take(a->uid, a->gid, &was, err);
	r = r ? r : phx_beneath_open(a->dir, path, max, &size, err);
	phx_rights_give_back(&was);
	return r;
}

int re_area_publish(const struct re_area *a, const char *path, int from, uint64_t max,
		    struct phx_err *err)
{
	struct phx_rights was;
	int r = phx_rights_take(a->uid, a->gid, &was, err);
	r = r ? r
	      : phx_beneath_publish(a->dir, path, from, max,
				    (struct phx_beneath_owner){a->uid, a->gid}, err);
	phx_rights_give_back(&was);
	return r;
}

/* ---- lists ---- */

static void list_dir(int dir, const char *prefix, unsigned depth, json_t *ret);

static void list_entry(int dir, const char *prefix, const char *name, unsigned depth, json_t *ret)
{
	char path[PATH_TEXT];
	struct stat st;
	if (name[0] == '.' || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    snprintf(path, sizeof(path), "%s%s", prefix, name) >= (int)sizeof(path) - 1)
		return;
	if (S_ISREG(st.st_mode)) {
		json_array_append_new(ret,
				      json_pack("{s:s,s:I,s:I}", "path", path, "size_bytes",
						(json_int_t)st.st_size, "modified_ms",
						(json_int_t)st.st_mtime * 1000));
		return;
	}
	int below = S_ISDIR(st.st_mode) && strcmp(path, RE_USERS) != 0 ? open_dir(dir, name) : -1;
	strcat(path, "/");
	if (below >= 0)
		list_dir(below, path, depth + 1, ret);
}

/* Takes `dir`. */
static void list_dir(int dir, const char *prefix, unsigned depth, json_t *ret)
{
	DIR *d = fdopendir(dir);
	if (!d) {
		close(dir);
		return;
	}
	for (struct dirent *e;
	     depth < DEPTH_MAX && json_array_size(ret) < LIST_MAX && (e = readdir(d));)
		list_entry(dirfd(d), prefix, e->d_name, depth, ret);
	closedir(d);
}

void re_area_list(const struct re_area *a, const char *prefix, json_t *ret)
{
	struct phx_rights was;
	if (phx_rights_take(a->uid, a->gid, &was, NULL) < 0)
		return;
	int dir = open_dir(a->dir, ".");
	if (dir >= 0)
		list_dir(dir, prefix, 0, ret);
	phx_rights_give_back(&was);
}

void re_area_list_users(const struct daemon *d, const char *re, json_t *ret)
{
	int users = open_users(d, re, false, NULL);
	DIR *dir = users >= 0 ? fdopendir(users) : NULL;
	for (struct dirent *e; dir && (e = readdir(dir));) {
		char prefix[PATH_TEXT];
		struct re_area own;
		if (!is_one_name(e->d_name) || area_of(open_dir(dirfd(dir), e->d_name), &own) < 0)
			continue;
		snprintf(prefix, sizeof(prefix), RE_USERS "/%s/", e->d_name);
		re_area_list(&own, prefix, ret);
		re_area_fini(&own);
	}
	if (dir)
		closedir(dir);
	else if (users >= 0)
		close(users);
}
