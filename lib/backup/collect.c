/* The files that go into an archive of the head, with their digests. Called by make.c. No link is
 * followed; what is neither file nor directory is left out, and named. Changes nothing. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backup/internal.h"
#include "base/file.h"

enum { DEPTH_MAX = 32, MEMORY_MAX = 64 << 20, DIGEST_MAX = 16 << 20 };

static void item_fini(struct backup_item *i)
{
	if (i->bytes)
		explicit_bzero(i->bytes, i->row.size);
	free(i->bytes);
	free(i->from);
}

void backup_collection_fini(struct backup_collection *c)
{
	PHX_LIST_EACH(struct backup_item, i, &c->items)
		item_fini(i);
	phx_list_fini(&c->items);
	phx_list_fini(&c->left_out);
	phx_list_fini(&c->catalog);
}

static int leave_out(struct backup_collection *c, const char *name)
{
	struct phx_backup_name *n = phx_list_push(&c->left_out, sizeof(*n));
	if (!n)
		return -ENOMEM;
	PHX_STR_SET(n->path, name);
	return 0;
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);
	return n >= m && !strcmp(text + n - m, end);
}

static const char *base_of(const char *name)
{
	const char *slash = strrchr(name, '/');
	return slash ? slash + 1 : name;
}

/* What a file holds counts whatever its name and mode say. */
static bool is_secret(enum backup_kind kind, const char *name, mode_t mode, const char *bytes,
		      size_t n)
{
	const char *own = base_of(name);
	bool open = mode & S_IROTH;
	if (kind == BACKUP_KEYS || (bytes && memmem(bytes, n, "PRIVATE KEY", 11)))
		return true;
	if (kind == BACKUP_PKI)
		return !ends_with(own, ".pem") && !ends_with(own, ".pub") &&
			!phx_str_starts(own, "vault.log");
	if (kind == BACKUP_STATE && !strcmp(own, "anchors"))
		return false;
	return kind <= BACKUP_STATE && !open;
}

/* What is made anew, or only means something while a head runs. */
static bool is_passed_over(enum backup_kind kind, const char *name)
{
	const char *own = base_of(name);
	if (phx_file_is_temporary(own, NULL))
		return true;
	return kind == BACKUP_STATE &&
		(phx_str_starts(own, "journal.db") || phx_str_starts(own, "timeline.db") ||
		 ends_with(own, ".sock") || ends_with(own, ".pid") || ends_with(own, ".lock"));
}

static bool is_taken(const struct backup_collection *c, const char *name)
{
	PHX_LIST_EACH(struct backup_item, i, &c->items) {
		if (!strcmp(i->row.path, name))
			return true;
	}
	return false;
}

static int add(struct backup_collection *c, const struct backup_item *item)
{
	struct backup_item *kept = phx_list_push(&c->items, sizeof(*kept));
	if (!kept)
		return -ENOMEM;
	*kept = *item;
	return 0;
}

/* Whole, for it may be another one in a moment. */
static int add_read(struct backup_collection *c, const char *path, struct backup_item *item,
		    enum backup_kind kind, struct phx_err *err)
{
	size_t n = 0;
	int r = phx_file_read(path, MEMORY_MAX, &item->bytes, &n, err);
	if (r == -ENOENT)
		return 0; /* it was removed meanwhile */
	if (r < 0)
		return r;
	item->row.size = n;
	bool secret = is_secret(kind, item->row.path, item->row.mode, item->bytes, n);
	r = secret && !c->secrets ? leave_out(c, item->row.path)
				  : phx_sha256_of(item->bytes, n, item->row.sha256);
	if (r == 0 && (!secret || c->secrets))
		return add(c, item);
	item_fini(item);
	return r < 0 ? phx_err_set(err, r, "%s: no digest", path) : 0;
}

int backup_collect_file(struct backup_collection *c, const char *path, const char *name,
			unsigned mode, struct phx_err *err)
{
	struct backup_item item = {.row.mode = mode & 0777, .from = strdup(path)};
	PHX_STR_SET(item.row.path, name);
	int r = item.from ? phx_sha256_file(path, item.row.sha256, &item.row.size, err) : -ENOMEM;
	r = r < 0 ? r : add(c, &item);
	if (r < 0)
		item_fini(&item);
	return r;
}

/* With the digest of what is small: manifests, which have those of the rest. */
static int add_catalog(struct backup_collection *c, const char *path, const char *name,
		       const struct stat *st, struct phx_err *err)
{
	struct phx_backup_file *f = phx_list_push(&c->catalog, sizeof(*f));
	if (!f)
		return -ENOMEM;
	PHX_STR_SET(f->path, name);
	f->mode = st->st_mode & 0777;
	f->size = (uint64_t)st->st_size;
	return f->size <= DIGEST_MAX ? phx_sha256_file(path, f->sha256, NULL, err) : 0;
}

static int take_file(struct backup_collection *c, const char *path, const char *name,
		     const struct stat *st, enum backup_kind kind, struct phx_err *err)
{
	struct backup_item item = {.row.mode = st->st_mode & 0777};
	PHX_STR_SET(item.row.path, name);
	if (kind == BACKUP_LIST)
		return add_catalog(c, path, name, st, err);
	if (kind == BACKUP_STATE && is_taken(c, name))
		return 0;
	return kind == BACKUP_STORE ? backup_collect_file(c, path, name, st->st_mode, err)
				    : add_read(c, path, &item, kind, err);
}

static int walk(struct backup_collection *c, const char *dir, const char *prefix,
		enum backup_kind kind, int depth, struct phx_err *err);

static int take(struct backup_collection *c, const char *path, const char *name,
		enum backup_kind kind, int depth, struct phx_err *err)
{
	struct stat st;
	if (is_passed_over(kind, name))
		return 0;
	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0
				       : phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (strlen(name) >= PHX_BACKUP_PATH_MAX)
		return phx_err_set(err, -ENAMETOOLONG, "%s: the path is too long", path);
	if (S_ISREG(st.st_mode))
		return take_file(c, path, name, &st, kind, err);
	if (!S_ISDIR(st.st_mode))
		return S_ISSOCK(st.st_mode) ? 0 : leave_out(c, name);
	return kind == BACKUP_STATE ? 0 : walk(c, path, name, kind, depth + 1, err);
}

static int walk(struct backup_collection *c, const char *dir, const char *prefix,
		enum backup_kind kind, int depth, struct phx_err *err)
{
	DIR *d = depth > DEPTH_MAX ? NULL : opendir(dir);
	int r = 0;
	if (!d && depth > DEPTH_MAX)
		return phx_err_set(err, -ELOOP, "%s: directories are nested too deep", dir);
	if (!d)
		return errno == ENOENT ? 0
				       : phx_err_set(err, -errno, "%s: %s", dir, strerror(errno));
	for (struct dirent *e; r == 0 && (e = readdir(d));) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		PHX_AUTO_FREE char *path = phx_path("%s/%s", dir, e->d_name);
		PHX_AUTO_FREE char *name = phx_path("%s/%s", prefix, e->d_name);
		r = path && name ? take(c, path, name, kind, depth, err) : -ENOMEM;
	}
	closedir(d);
	return r;
}

int backup_collect(struct backup_collection *c, const char *dir, const char *prefix,
		   enum backup_kind kind, struct phx_err *err)
{
	return walk(c, dir, prefix, kind, 0, err);
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct backup_item *)a)->row.path,
		      ((const struct backup_item *)b)->row.path);
}

void backup_collection_sort(struct backup_collection *c)
{
	if (c->items.n)
		qsort(c->items.items, c->items.n, sizeof(struct backup_item), by_path);
}
