/* Making a package from its source directory. Called by the CLI. The same
 * source gives the same bytes: sorted, owned by root, two modes, one time.
 *
 * SRC/package.conf is the manifest; the files are SRC/files/, or whatever the
 * recipe SRC/build puts into the empty directory given as its argument. */
#include "repo/tree.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/spawn.h"
#include "base/tree.h"

#define RECIPE_TIMEOUT_MS (15 * 60 * 1000)

struct build {
	struct phx_package package;
	struct phx_list tree;
	struct archive *a;
	time_t mtime;
};

static void close_build(struct build *b)
{
	phx_tree_free(&b->tree);
	archive_write_free(b->a); /* takes NULL */
}

static int not_packed(struct build *b, const char *path, struct phx_err *err)
{
	char shown[200];
	const char *text = archive_error_string(b->a);
	int code = archive_errno(b->a);
	return phx_err_set(err, code > 0 ? -code : -EIO, "%s: %s",
			   phx_entry_show(path, shown, sizeof(shown)),
			   text ? text : "cannot be packed");
}

static int read_conf(const char *src_dir, struct phx_package *ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/package.conf", src_dir);
	PHX_AUTO_FREE char *text = NULL;
	size_t n;
	if (!path)
		return -ENOMEM;
	int r = phx_file_read(path, PHX_MANIFEST_MAX, &text, &n, err);
	if (r < 0)
		return r;
	r = phx_manifest_parse(text, n, false, ret, err);
	return r < 0 ? phx_err_prefix(err, r, "%s", path) : 0;
}

static int read_epoch(time_t *ret_time, struct phx_err *err)
{
	const char *text = getenv("SOURCE_DATE_EPOCH");
	uint64_t value = 0;
	if (text && phx_u64_parse(text, 0, INT32_MAX, &value) < 0)
		return phx_err_set(err, -EINVAL,
				   "SOURCE_DATE_EPOCH: \"%s\" is no number of seconds", text);
	*ret_time = (time_t)value;
	return 0;
}

static int open_archive(struct build *b, int fd)
{
	b->a = archive_write_new();
	if (!b->a)
		return -ENOMEM;
	/* gnutar: names are bytes, whatever the locale */
	if (archive_write_add_filter_zstd(b->a) < ARCHIVE_WARN ||
	    archive_write_set_filter_option(b->a, "zstd", "compression-level", "12") <
		    ARCHIVE_WARN ||
	    archive_write_set_format_gnutar(b->a) < ARCHIVE_WARN ||
	    archive_write_set_bytes_in_last_block(b->a, 1) < ARCHIVE_WARN ||
	    archive_write_open_fd(b->a, fd) < ARCHIVE_WARN)
		return -EIO;
	return 0;
}

static int write_header(struct build *b, const char *path, mode_t type, uint64_t size,
			const char *target, bool runs, struct phx_err *err)
{
	struct archive_entry *e = archive_entry_new();
	if (!e)
		return -ENOMEM;
	archive_entry_copy_pathname(e, path);
	archive_entry_set_mode(
		e, type | (S_ISLNK(type) ? 0777 : phx_entry_mode(type | (runs ? 0111 : 0))));
	archive_entry_set_size(e, (int64_t)size);
	archive_entry_set_mtime(e, b->mtime, 0);
	archive_entry_set_uid(e, 0);
	archive_entry_set_gid(e, 0);
	if (target)
		archive_entry_copy_symlink(e, target);
	int r = archive_write_header(b->a, e) < ARCHIVE_WARN ? not_packed(b, path, err) : 0;
	archive_entry_free(e);
	return r;
}

static int write_manifest(struct build *b, struct phx_err *err)
{
	PHX_AUTO_FREE char *text = phx_manifest_format(&b->package);
	if (!text)
		return -ENOMEM;
	size_t n = strlen(text);
	int r = write_header(b, PHX_PACKAGE_MANIFEST, S_IFREG, n, NULL, false, err);
	if (r == 0 && archive_write_data(b->a, text, n) != (ssize_t)n)
		r = not_packed(b, PHX_PACKAGE_MANIFEST, err);
	return r;
}

static int write_content(struct build *b, int dir_fd, const struct phx_tree_node *node,
			 struct phx_err *err)
{
	PHX_AUTO_CLOSE int fd = openat(dir_fd, node->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return phx_err_set(err, -errno, "%s: %s", node->path, strerror(errno));
	char chunk[65536];
	uint64_t left = node->size_bytes;
	while (left) {
		ssize_t n = read(fd, chunk, left < sizeof(chunk) ? (size_t)left : sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return phx_err_set(err, n < 0 ? -errno : -EIO, "%s: %s", node->path,
					   n < 0 ? strerror(errno)
						 : "became shorter while it was read");
		if (archive_write_data(b->a, chunk, (size_t)n) != n)
			return not_packed(b, node->path, err);
		left -= (uint64_t)n;
	}
	return 0;
}

static int write_tree(struct build *b, const char *root, struct phx_err *err)
{
	PHX_AUTO_CLOSE int dir_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		return phx_err_set(err, -errno, "%s: %s", root, strerror(errno));
	int r = 0;
	PHX_LIST_EACH(struct phx_tree_node, node, &b->tree) {
		r = write_header(b, node->path, node->mode & S_IFMT, node->size_bytes, node->target,
				 node->mode & 0111, err);
		if (r == 0 && node->size_bytes)
			r = write_content(b, dir_fd, node, err);
		if (r < 0)
			return r;
	}
	return r;
}

static void count_tree(struct build *b)
{
	b->package.n_entries = b->tree.n;
	PHX_LIST_EACH(struct phx_tree_node, node, &b->tree)
		b->package.unpacked_bytes += node->size_bytes;
}

static int write_package(struct build *b, const char *root, const char *path, struct phx_err *err)
{
	PHX_AUTO_CLOSE int fd =
		open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	int r = open_archive(b, fd);
	if (r == 0)
		r = write_manifest(b, err);
	if (r == 0)
		r = write_tree(b, root, err);
	if (r == 0 && archive_write_close(b->a) < ARCHIVE_WARN)
		r = not_packed(b, path, err);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	return r < 0 ? phx_err_set(err, r, "%s: %s", path, strerror(-r)) : 0;
}

/* Fill `dir` by the recipe. 1: there is none. */
static int run_recipe(const char *src_dir, const char *dir, struct phx_err *err)
{
	PHX_AUTO_FREE char *recipe = phx_path("%s/build", src_dir);
	if (!recipe)
		return -ENOMEM;
	if (access(recipe, F_OK) < 0)
		return 1;
	int r = phx_dir_remove(dir, err);
	if (r == 0)
		r = phx_dir_make(dir, 0755, err);
	if (r < 0)
		return r;
	const char *const argv[] = {recipe, dir, NULL};
	const struct phx_run run = {.argv = argv, .timeout_ms = RECIPE_TIMEOUT_MS};
	r = phx_run_check(&run, NULL, err);
	return r < 0 ? phx_err_prefix(err, r, "%s", recipe) : 0;
}

/* Pack `root` into a temporary file, read it back as a node would, publish it. */
static int pack(struct build *b, const char *root, const char *path, struct phx_err *err)
{
	PHX_AUTO_FREE char *tmp = phx_path("%s.%d.tmp", path, (int)getpid());
	if (!tmp)
		return -ENOMEM;
	int r = phx_tree_list(root, &b->tree, err);
	if (r < 0) /* what a package may not hold is a mistake in it, no lack of permission */
		return phx_err_prefix(err, r == -EPERM ? -EINVAL : r, "%s", root);
	count_tree(b);
	r = write_package(b, root, tmp, err);
	struct phx_package made;
	if (r == 0)
		r = phx_package_inspect(tmp, &made, err);
	if (r == 0 && rename(tmp, path) < 0)
		r = phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (r < 0)
		unlink(tmp);
	return r;
}

static int build_from(struct build *b, const char *src_dir, const char *out_dir, const char *path,
		      struct phx_err *err)
{
	PHX_AUTO_FREE char *made =
		phx_path("%s/.%s.%d.files", out_dir, b->package.name, (int)getpid());
	PHX_AUTO_FREE char *files = phx_path("%s/files", src_dir);
	if (!made || !files)
		return -ENOMEM;
	int r = run_recipe(src_dir, made, err);
	if (r >= 0)
		r = pack(b, r == 1 ? files : made, path, err);
	phx_dir_remove(made, NULL);
	return r;
}

int phx_package_build(const char *src_dir, const char *out_dir, char **ret_path,
		      struct phx_err *err)
{
	PHX_AUTO(close_build) struct build b = {0};
	int r = read_conf(src_dir, &b.package, err);
	if (r == 0)
		r = read_epoch(&b.mtime, err);
	if (r == 0)
		r = phx_dir_make(out_dir, 0755, err);
	if (r < 0)
		return r;
	char *path =
		phx_path("%s/" PHX_PACKAGE_ARCHIVE, out_dir, b.package.name, b.package.version);
	if (!path)
		return -ENOMEM;
	r = build_from(&b, src_dir, out_dir, path, err);
	if (r < 0)
		free(path);
	else
		*ret_path = path;
	return r;
}
