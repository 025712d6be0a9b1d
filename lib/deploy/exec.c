/* A new version of an image, made by a program that runs in a copy of it: see store.h. Called by
 * `phx image exec`; blocks for minutes. What the program left is made an image by the import. */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/version.h"
#include "deploy/import.h"
#include "deploy/inside.h"
#include "deploy/packages.h"
#include "deploy/root.h"
#include "deploy/store.h"
#include "deploy/system.h"
#include "pki/pki.h"

enum { RESOLV_MAX = 64 << 10, COUNT_MAX = 10000 };

/* ---- files that are there while the program runs ---- */

/* A file of ours in place of what the image has, which lies in `work` meanwhile. */
struct placed {
	const char *dir, *name;
	mode_t mode;
	bool only_new;  /* what the image has stays */
	struct stat st; /* as we left it; st_ino 0: it is not there */
};

/* Services do not start where packages are installed; names are found as this machine finds
 * them. */
#define PLACED \
	{ \
		{.dir = "etc", .name = "resolv.conf", .mode = 0644}, \
		{ \
			.dir = "usr/sbin", .name = "policy-rc.d", .mode = 0755, .only_new = true \
		} \
	}
enum { PLACED_N = 2 };

static int place_file(struct placed *p, const char *root, int work, const char *text)
{
	PHX_AUTO_CLOSE int dir = phx_rooted_open(root, p->dir, O_PATH | O_DIRECTORY);
	if (dir < 0)
		return dir == -ENOENT ? 0 : dir;
	if (p->only_new && faccessat(dir, p->name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	if (renameat(dir, p->name, work, p->name) < 0 && errno != ENOENT)
		return -errno;
	PHX_AUTO_CLOSE int fd =
		openat(dir, p->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, p->mode);
	if (fd < 0 || fchmod(fd, p->mode) < 0)
		return -errno;
	int r = phx_write_all(fd, text, strlen(text));
	return r ? r : fstat(fd, &p->st) < 0 ? -errno : 0;
}

static bool is_as_left(const struct placed *p, const struct stat *st)
{
	return st->st_ino == p->st.st_ino && st->st_ctim.tv_sec == p->st.st_ctim.tv_sec &&
		st->st_ctim.tv_nsec == p->st.st_ctim.tv_nsec;
}

/* What the program put in its place stays. */
static int take_back(const struct placed *p, const char *root, int work)
{
	struct stat st;
	if (!p->st.st_ino)
		return 0;
	PHX_AUTO_CLOSE int dir = phx_rooted_open(root, p->dir, O_PATH | O_DIRECTORY);
	if (dir < 0 ||
	    (fstatat(dir, p->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !is_as_left(p, &st)))
		return 0;
	if (unlinkat(dir, p->name, 0) < 0 && errno != ENOENT)
		return -errno;
	return renameat(work, p->name, dir, p->name) < 0 && errno != ENOENT ? -errno : 0;
}

static int place_all(struct placed p[PLACED_N], const char *root, int work)
{
	PHX_AUTO_FREE char *resolv = NULL;
	int r = 0;
	if (phx_file_read("/etc/resolv.conf", RESOLV_MAX, &resolv, NULL, NULL) == 0)
		r = place_file(&p[0], root, work, resolv);
	return r ? r : place_file(&p[1], root, work, "#!/bin/sh\nexit 101\n");
}

/* ---- is it another one? ---- */

static int add_entry(struct phx_sha256 *d, const FTSENT *e)
{
	const struct stat *st = e->fts_statp;
	char line[256];
	/* nobody can set ctime back */
	int n = snprintf(line, sizeof(line), "%llu %o %u %u %llu %lld.%09ld %u\n",
			 (unsigned long long)st->st_ino, st->st_mode, st->st_uid, st->st_gid,
			 (unsigned long long)st->st_size, (long long)st->st_ctim.tv_sec,
			 st->st_ctim.tv_nsec, (unsigned)st->st_nlink);
	int r = phx_sha256_add(d, e->fts_path, e->fts_pathlen);
	return r ? r : phx_sha256_add(d, line, (size_t)n);
}

/* What changes whenever a file in the tree does. */
static int fingerprint(const char *root, char ret_hex[PHX_SHA256_HEX], struct phx_err *err)
{
	char *const roots[] = {(char *)root, NULL};
	struct phx_sha256 *d = NULL;
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	int r = walk ? phx_sha256_new(&d) : -errno;
	for (FTSENT *e; r == 0 && (e = fts_read(walk));)
		if (e->fts_info != FTS_DP && e->fts_statp)
			r = add_entry(d, e);
	if (walk)
		fts_close(walk);
	if (r == 0)
		phx_sha256_hex(d, ret_hex);
	phx_sha256_free(d);
	return r < 0 ? phx_err_set(err, r, "%s: %s", root, strerror(-r)) : 0;
}

/* ---- the copy, and the program in it ---- */

struct work {
	const struct phx_image_exec *ex;
	const char *dir;
	struct phx_image old;
	struct phx_list packages; /* of the old one */
	int status;
	int counts; /* of who counts versions of the image: locked until one is made */
};

static void work_fini(struct work *w)
{
	phx_record_fini(&phx_image_record, &w->old);
	phx_list_fini(&w->packages);
	phx_close_fd(&w->counts);
}

/* Runs it; 0 when something changed. */
static int run_and_look(struct work *w, const char *root, struct phx_err *err)
{
	char before[PHX_SHA256_HEX], after[PHX_SHA256_HEX];
	const struct phx_inside in = {
		.root = root, .argv = w->ex->argv, .network = !w->ex->no_network};
	int r = fingerprint(root, before, err);
	r = r ? r : phx_inside_run(&in, &w->status, err);
	if (r == 0 && w->status)
		return PHX_EXEC_FAILED;
	r = r ? r : fingerprint(root, after, err);
	return r ? r : strcmp(before, after) ? 0 : PHX_EXEC_SAME;
}

static int put_kernel(const struct work *w, const char *root, const char *release, const char *file,
		      struct phx_err *err)
{
	PHX_AUTO_FREE char *from =
		phx_path("%s/%s/%s/%s", w->dir, w->old.name, w->old.version, file);
	return from ? phx_import_put_kernel(root, release, from, err) : -ENOMEM;
}

/* What is made of the copy is an image by its kernels. */
static int put_kernels(const struct work *w, const char *root, struct phx_err *err)
{
	int r = 0;
	PHX_LIST_EACH(struct phx_image_own, k, &w->old.kernels)
		r = r ? r : put_kernel(w, root, k->release, k->kernel, err);
	return r || w->old.kernels.n
		? r
		: put_kernel(w, root, w->old.kernel_release, PHX_IMAGE_KERNEL, err);
}

static int fill(const struct phx_image_import *im, const char *work, const char *root,
		struct phx_err *err)
{
	struct work *w = im->arg;
	struct placed placed[PLACED_N] = PLACED;
	PHX_AUTO_CLOSE int dir = open(work, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r = dir < 0 ? -errno : phx_root_unpack(w->dir, &w->old, work, root, err);
	if (r == 0 && (r = phx_system_packages(root, &w->packages, err)) == 1)
		r = 0; /* their list is empty, as that of what is made will be */
	r = r ? r : put_kernels(w, root, err);
	r = r ? r : phx_inside_places(root, err);
	r = r ? r : place_all(placed, root, dir);
	r = r ? r : run_and_look(w, root, err);
	for (size_t i = 0; r == 0 && i < PLACED_N; i++)
		r = take_back(&placed[i], root, dir);
	return r < 0 ? phx_err_set(err, r, "%s: %s", im->source, strerror(-r)) : r;
}

/* ---- which version ---- */

static bool is_there(const char *dir, const char *name, const char *version)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s/%s", dir, name, version);
	return !path || access(path, F_OK) == 0;
}

/* Until the version is there, nobody else counts: he would come to the same one, and learn that
 * only when his program has run. */
static int count_alone(struct work *w, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s", w->dir, w->old.name);
	w->counts = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (w->counts < 0)
		return path ? phx_err_set(err, -errno, "%s: %s", path, strerror(errno)) : -ENOMEM;
	return flock(w->counts, LOCK_EX | LOCK_NB) == 0
		? 0
		: phx_err_set(err, -EBUSY,
			      "another phx image exec makes the next version of image '%s': wait "
			      "for it, or name yours by --new-version",
			      w->old.name);
}

/* "12" becomes 12-r1, 12-r1 becomes 12-r2: the first that is not there. */
static int count_version(const struct work *w, char ret[PHX_NAME_MAX], struct phx_err *err)
{
	const char *old = w->old.version, *count = strrchr(old, '-');
	uint64_t n = 0;
	if (!count || count[1] != 'r' || phx_u64_parse(count + 2, 1, COUNT_MAX, &n) < 0) {
		count = old + strlen(old);
		n = 0;
	}
	do
		snprintf(ret, PHX_NAME_MAX, "%.*s-r%llu", (int)(count - old), old,
			 (unsigned long long)++n);
	while (n < COUNT_MAX && is_there(w->dir, w->old.name, ret));
	return strlen(old) + sizeof("-r10000") <= PHX_NAME_MAX
		? 0
		: phx_err_set(err, -EINVAL, "version '%s' is too long to be counted: --new-version",
			      old);
}

static int begin(struct work *w, struct phx_err *err)
{
	int r = geteuid() == 0
		? 0
		: phx_err_set(err, -EPERM, "running a program in an image needs root");
	r = r ? r : phx_images_find(w->dir, w->ex->name, w->ex->version, &w->old, err);
	return r ? r : phx_images_verify(w->dir, w->old.name, w->old.version, err);
}

/* Somebody chose it: a newer kernel was there. A default that was the newest gives way to one that
 * the command brings. */
static const char *chosen_kernel(const struct phx_image *old)
{
	PHX_LIST_EACH(struct phx_image_own, k, &old->kernels)
		if (phx_version_compare(k->release, old->kernel_release) > 0)
			return old->kernel_release;
	return NULL;
}

int phx_images_exec(const char *dir, const struct phx_image_exec *ex, struct phx_image *ret,
		    int *ret_status, struct phx_err *err)
{
	PHX_AUTO(work_fini) struct work w = {.ex = ex, .dir = dir, .counts = -1};
	char version[PHX_NAME_MAX], source[2 * PHX_NAME_MAX + 16];
	int r = begin(&w, err);
	if (r == 0 && !ex->new_version && (r = count_alone(&w, err)) == 0)
		r = count_version(&w, version, err);
	if (r < 0)
		return r;
	snprintf(source, sizeof(source), "image %s %s", w.old.name, w.old.version);
	const struct phx_image_import im = {
		.source = source,
		.name = w.old.name,
		.version = ex->new_version ? ex->new_version : version,
		.no_squashfs = !phx_image_file(&w.old, PHX_IMAGE_ROOT_RAM),
		.tools = ex->tools,
		.kernel = ex->kernel,
		.kernel_of_parent = chosen_kernel(&w.old),
		.fill = fill,
		.arg = &w,
		.parent = w.old.digest,
		.parent_packages = &w.packages,
	};
	r = phx_images_import(dir, &im, ret, err);
	*ret_status = w.status;
	return r;
}
