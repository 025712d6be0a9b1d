/* Differences of images: see difference.h. Called by `phx image diff`; changes nothing in the store
 * but a directory of its own, which goes again. */
#include "deploy/difference.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/tree.h"
#include "deploy/root.h"
#include "deploy/store.h"
#include "deploy/system.h"

PHX_RECORD_TABLE(phx_file_change, PHX_FILE_CHANGE_FIELDS);

void phx_image_difference_fini(struct phx_image_difference *d)
{
	struct phx_file_change *files = d->files.items;
	for (uint32_t i = 0; i < d->files.n; i++)
		phx_record_fini(&phx_file_change_record, &files[i]);
	phx_list_fini(&d->files);
	phx_list_fini(&d->packages);
}

/* ---- files ---- */

struct side {
	FTS *walk;
	FTSENT *e; /* NULL: no more */
	size_t root_n;
};

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static const char *path_of(const struct side *s)
{
	return s->e->fts_path + s->root_n;
}

/* The next file below the root, each once. */
static void go_on(struct side *s)
{
	do
		s->e = fts_read(s->walk);
	while (s->e && (s->e->fts_info == FTS_DP || s->e->fts_level == 0));
}

/* As fts walks: what is below a directory comes before what stands beside it. */
static int compare_paths(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	int x = *a == '/' ? 1 : (unsigned char)*a, y = *b == '/' ? 1 : (unsigned char)*b;
	return x - y;
}

static bool same_bytes(const char *a, const char *b)
{
	enum { BLOCK = 1 << 16 };
	PHX_AUTO_CLOSE int in = open(a, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	PHX_AUTO_CLOSE int other = open(b, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	PHX_AUTO_FREE char *x = malloc(2 * BLOCK);
	while (x && in >= 0 && other >= 0) {
		ssize_t n = read(in, x, BLOCK), m = read(other, x + BLOCK, BLOCK);
		if (n < 0 || n != m || memcmp(x, x + BLOCK, (size_t)n) != 0)
			return false;
		if (n == 0)
			return true;
	}
	return false;
}

static bool same_target(const char *a, const char *b)
{
	char x[4096], y[4096];
	ssize_t n = readlink(a, x, sizeof(x)), m = readlink(b, y, sizeof(y));
	return n >= 0 && n == m && !memcmp(x, y, (size_t)n);
}

static void say(char *ret, size_t size, bool differs, const char *what)
{
	size_t n = strlen(ret);
	if (differs)
		snprintf(ret + n, size - n, "%s%s", n ? " " : "", what);
}

/* What of the file differs; "" nothing. */
static void compare_files(const FTSENT *a, const FTSENT *b, char *ret, size_t size)
{
	const struct stat *x = a->fts_statp, *y = b->fts_statp;
	ret[0] = '\0';
	bool type = (x->st_mode & S_IFMT) != (y->st_mode & S_IFMT);
	say(ret, size, type, "type");
	say(ret, size, (x->st_mode & 07777) != (y->st_mode & 07777), "mode");
	say(ret, size, x->st_uid != y->st_uid || x->st_gid != y->st_gid, "owner");
	if (type)
		return;
	if (S_ISREG(x->st_mode)) {
		bool longer = x->st_size != y->st_size;
		say(ret, size, longer, "size");
		say(ret, size, !longer && !same_bytes(a->fts_accpath, b->fts_accpath), "content");
	}
	if (S_ISLNK(x->st_mode))
		say(ret, size, !same_target(a->fts_accpath, b->fts_accpath), "target");
	if (S_ISCHR(x->st_mode) || S_ISBLK(x->st_mode))
		say(ret, size, x->st_rdev != y->st_rdev, "device");
}

static int add_file(struct phx_list *to, const char *path, const char *change)
{
	struct phx_file_change *f = phx_list_push(to, sizeof(*f));
	if (!f)
		return -ENOMEM;
	PHX_STR_SET(f->change, change);
	f->path = strdup(path);
	return f->path ? 0 : -ENOMEM;
}

static int walk_both(struct side *a, struct side *b, struct phx_list *to)
{
	char change[64];
	int r = 0;
	go_on(a);
	go_on(b);
	while (r == 0 && (a->e || b->e)) {
		int order = !a->e ? 1 : !b->e ? -1 : compare_paths(path_of(a), path_of(b));
		if (order == 0) {
			compare_files(a->e, b->e, change, sizeof(change));
			r = change[0] ? add_file(to, path_of(b), change) : 0;
		} else {
			r = add_file(to, path_of(order < 0 ? a : b), order < 0 ? "went" : "came");
		}
		if (order <= 0)
			go_on(a);
		if (order >= 0)
			go_on(b);
	}
	return r;
}

static int open_side(struct side *s, const char *root)
{
	char *const roots[] = {(char *)root, NULL};
	s->root_n = strlen(root);
	s->walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, by_name);
	return s->walk ? 0 : -errno;
}

static int compare_roots(const char *a, const char *b, struct phx_list *to, struct phx_err *err)
{
	struct side x = {0}, y = {0};
	int r = open_side(&x, a);
	r = r ? r : open_side(&y, b);
	r = r ? r : walk_both(&x, &y, to);
	if (x.walk)
		fts_close(x.walk);
	if (y.walk)
		fts_close(y.walk);
	return r < 0 ? phx_err_set(err, r, "%s: %s", a, strerror(-r)) : 0;
}

/* ---- packages ---- */

/* A file of lines of the image: 1, there is none. */
static int read_lines(const char *dir, const struct phx_image *im, const char *name,
		      int (*parse)(const char *text, size_t n, const char *what,
				   struct phx_list *ret, struct phx_err *err),
		      struct phx_list *ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s/%s/%s", dir, im->name, im->version, name);
	PHX_AUTO_FREE char *text = NULL;
	size_t n;
	if (!phx_image_file(im, name))
		return 1;
	int r = path ? phx_file_read(path, PHX_OS_PACKAGES_TEXT_MAX, &text, &n, err) : -ENOMEM;
	return r ? r : parse(text, n, path, ret, err);
}

int phx_image_changes(const char *dir, const struct phx_image *im, struct phx_list *ret_changes,
		      struct phx_err *err)
{
	struct phx_list changes = {0};
	int r = read_lines(dir, im, PHX_IMAGE_CHANGES, phx_changes_parse, &changes, err);
	if (r >= 0)
		*ret_changes = changes;
	return r < 0 ? r : 0;
}

/* ---- both ---- */

struct both {
	const char *dir;
	const struct phx_image *im[2];
	char *work, *root[2]; /* root: NULL, it is not unpacked */
};

static void both_fini(struct both *b)
{
	if (b->work)
		phx_dir_remove(b->work, NULL);
	free(b->work);
	free(b->root[0]);
	free(b->root[1]);
}

static int unpack(struct both *b, int i, struct phx_err *err)
{
	const struct phx_image *im = b->im[i];
	b->root[i] = phx_path("%s/%d", b->work, i);
	int r = b->root[i] ? phx_dir_make(b->root[i], 0755, err) : -ENOMEM;
	r = r ? r : phx_images_verify(b->dir, im->name, im->version, err);
	return r ? r : phx_root_unpack(b->dir, im, b->work, b->root[i], err);
}

static int unpack_both(struct both *b, struct phx_err *err)
{
	if (geteuid() != 0)
		return phx_err_set(err, -EPERM,
				   "comparing files needs root: images are unpacked (--no-files)");
	b->work = phx_path("%s/.diff.%d", b->dir, (int)gettid());
	if (!b->work)
		return -ENOMEM;
	phx_images_sweep(b->dir);
	int r = phx_dir_remove(b->work, err);
	r = r ? r : phx_dir_make(b->work, 0700, err);
	for (int i = 0; r == 0 && i < 2; i++)
		r = unpack(b, i, err);
	return r;
}

/* The list of the image, or that of its root; 1: nobody has one. */
static int packages_of(const struct both *b, int i, struct phx_list *ret, struct phx_err *err)
{
	int r = read_lines(b->dir, b->im[i], PHX_IMAGE_PACKAGES, phx_packages_parse, ret, err);
	if (r == 1 && b->root[i])
		r = phx_system_packages(b->root[i], ret, err);
	return r;
}

static int compare_packages(const struct both *b, struct phx_image_difference *d,
			    struct phx_err *err)
{
	struct phx_list lists[2] = {0};
	int r = packages_of(b, 0, &lists[0], err);
	int s = r < 0 ? r : packages_of(b, 1, &lists[1], err);
	d->no_packages = r == 1 || s == 1;
	r = r < 0 ? r : s < 0 ? s : 0;
	if (r == 0 && !d->no_packages)
		r = phx_packages_compare(&lists[0], &lists[1], &d->packages);
	phx_list_fini(&lists[0]);
	phx_list_fini(&lists[1]);
	return r;
}

int phx_images_compare(const char *dir, const struct phx_image *a, const struct phx_image *b,
		       bool files, struct phx_image_difference *ret, struct phx_err *err)
{
	PHX_AUTO(both_fini) struct both both = {.dir = dir, .im = {a, b}};
	struct phx_image_difference d = {0};
	int r = files ? unpack_both(&both, err) : 0;
	r = r ? r : compare_packages(&both, &d, err);
	if (r == 0 && files)
		r = compare_roots(both.root[0], both.root[1], &d.files, err);
	if (r < 0)
		phx_image_difference_fini(&d);
	else
		*ret = d;
	return r;
}
