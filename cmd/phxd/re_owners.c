/* See re_owners.h. Called by the launcher: by re_place.c, and when the head asks what is there. The
 * owner of an RE may be writing there: everything is reached by the descriptor of its directory,
 * and no link is followed. */
#include "phxd/re_owners.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/account.h"
#include "base/file.h"
#include "phxd/head_user.h"
#include "phxd/re_place.h"

/* Each level has a descriptor open. */
enum { LEVELS_MAX = 100 };

struct mend {
	uid_t head, uid;
	gid_t gid;
	dev_t dev;
};

static bool is_self(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

bool re_owners_find(const char *login, uid_t *ret_uid, gid_t *ret_gid)
{
	PHX_AUTO_FREE char *texts = NULL;
	struct passwd pw;
	if (phx_user_named(login, &pw, &texts) != 0 || !pw.pw_uid)
		return false;
	*ret_uid = pw.pw_uid;
	*ret_gid = pw.pw_gid;
	return true;
}

/* ---- looked at ---- */

static void look_at_users(int users, struct re_owners *ret)
{
	struct stat st;
	DIR *dir = fdopendir(users);
	if (!dir)
		close(users);
	for (const struct dirent *e; dir && (e = readdir(dir));) {
		if (is_self(e->d_name) || fstatat(users, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    st.st_uid || !S_ISDIR(st.st_mode))
			continue;
		ret->n_lost++;
		phx_str_copy(ret->lost, sizeof(ret->lost), e->d_name);
	}
	if (dir)
		closedir(dir);
}

void re_owners_look(const struct phx_config *cfg, const char *re, struct re_owners *ret)
{
	enum { DIRECTORY = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };
	PHX_AUTO_FREE char *path = phx_path("%s/%s", cfg->re_dir, re);
	PHX_AUTO_CLOSE int fd = path ? open(path, DIRECTORY) : -1;
	struct stat st;
	uid_t head;
	gid_t gid;
	*ret = (struct re_owners){0};
	if (fd < 0 || fstat(fd, &st) < 0)
		return;
	head_user_find(cfg, &head, &gid);
	ret->head_s = st.st_uid == 0 || st.st_uid == head;
	int users = openat(fd, RE_USERS, DIRECTORY);
	if (users >= 0)
		look_at_users(users, ret);
}

/* ---- mended ---- */

static int mend_all(int fd, const struct mend *m, int depth);

/* What is neither file nor directory, has several names, or is mounted, is left. */
static int mend_one(int at, const char *name, const struct mend *m, int depth)
{
	struct stat st;
	PHX_AUTO_CLOSE int fd = -1;
	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return 0;
	fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return errno == ENOENT || errno == ELOOP ? 0 : -errno;
	if (st.st_dev != m->dev)
		return 0;
	int r = S_ISDIR(st.st_mode) ? mend_all(fd, m, depth) : 0;
	bool taken = st.st_uid == 0 || st.st_uid == m->head;
	bool own = S_ISDIR(st.st_mode) || (S_ISREG(st.st_mode) && st.st_nlink == 1);
	return r == 0 && taken && own && fchown(fd, m->uid, m->gid) < 0 ? -errno : r;
}

static int mend_all(int fd, const struct mend *m, int depth)
{
	if (depth == LEVELS_MAX)
		return -ELOOP;
	int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = again < 0 ? NULL : fdopendir(again);
	int r = dir ? 0 : -errno;
	if (!dir)
		phx_close_fd(&again);
	for (const struct dirent *e; r == 0 && (e = readdir(dir));)
		if (!is_self(e->d_name) && (depth || strcmp(e->d_name, RE_USERS) != 0))
			r = mend_one(fd, e->d_name, m, depth + 1);
	if (dir)
		closedir(dir);
	return r;
}

int re_owners_mend(const struct phx_config *cfg, const char *path, uid_t uid, gid_t gid,
		   struct phx_err *err)
{
	struct mend m = {.uid = uid, .gid = gid};
	struct stat st;
	gid_t head_group;
	PHX_AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	head_user_find(cfg, &m.head, &head_group);
	int r = fd < 0 || fstat(fd, &st) < 0 ? -errno : 0;
	if (r == 0) {
		m.dev = st.st_dev;
		r = mend_all(fd, &m, 0);
	}
	if (r == 0 && fchown(fd, uid, gid) < 0)
		r = -errno;
	return r < 0 ? phx_err_set(err, r, "cannot be given to the user with uid %u: %s", uid,
				   strerror(-r))
		     : 0;
}
