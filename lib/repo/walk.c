/* A package archive, read entry by entry: libarchive does tar and zstd, this
 * decides what is acceptable and how much of it. Called by verify, unpack and
 * the repository. Writes nothing.
 *
 * Warnings of libarchive (it warns about every non-ASCII name in the C locale)
 * are no errors; only a failed or fatal read is. */
#include "repo/internal.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTES_DEFAULT (2ULL << 30)
#define ENTRIES_DEFAULT 100000U
#define RATIO_DEFAULT 200U
#define RATIO_FREE (1ULL << 20) /* small packages may be as dense as they like */

static int damaged(struct phx_package_walk *w, struct phx_err *err)
{
	if (archive_errno(w->a) == ENOMEM)
		return -ENOMEM;
	const char *text = archive_error_string(w->a);
	return phx_err_set(err, -EBADMSG, "damaged archive: %s", text ? text : "unreadable");
}

static void set_limits(struct phx_package_limits *l, const struct phx_package_limits *wanted)
{
	struct phx_package_limits given = wanted ? *wanted : (struct phx_package_limits){0};
	l->bytes_max = given.bytes_max ? given.bytes_max : BYTES_DEFAULT;
	l->entries_max = given.entries_max ? given.entries_max : ENTRIES_DEFAULT;
	l->ratio_max = given.ratio_max ? given.ratio_max : RATIO_DEFAULT;
}

static int check_bytes(const struct phx_package_walk *w, uint64_t more, struct phx_err *err)
{
	uint64_t used = w->unpacked_bytes, max = w->limits.bytes_max;
	if (more > max || used > max - more)
		return phx_err_set(err, -E2BIG, "unpacks to more than %" PRIu64 " bytes", max);
	uint64_t dense = w->packed_bytes > UINT64_MAX / w->limits.ratio_max
		? UINT64_MAX
		: w->packed_bytes * w->limits.ratio_max;
	if (used + more > RATIO_FREE && used + more > dense)
		return phx_err_set(err, -E2BIG, "unpacks to more than %" PRIu32 " times its size",
				   w->limits.ratio_max);
	return 0;
}

static int open_archive(struct phx_package_walk *w, int fd, struct phx_err *err)
{
	struct stat st;
	if (fstat(fd, &st) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return phx_err_set(err, -errno, "%s", strerror(errno));
	w->packed_bytes = (uint64_t)st.st_size;
	w->a = archive_read_new();
	if (!w->a)
		return -ENOMEM;
	if (archive_read_support_filter_zstd(w->a) < ARCHIVE_WARN ||
	    archive_read_support_format_tar(w->a) < ARCHIVE_WARN ||
	    archive_read_open_fd(w->a, fd, 65536) < ARCHIVE_WARN)
		return damaged(w, err);
	return 0;
}

/* One zstd around one tar: no plain tar, no zstd in zstd. */
static int check_layers(struct phx_package_walk *w, struct phx_err *err)
{
	if (archive_filter_count(w->a) == 2 && archive_filter_code(w->a, 0) == ARCHIVE_FILTER_ZSTD)
		return 0;
	return phx_err_set(err, -EBADMSG, "not a tar.zst archive");
}

/* 0, 1 at the end. */
static int read_header(struct phx_package_walk *w, struct archive_entry **ret, struct phx_err *err)
{
	int r = archive_read_next_header(w->a, ret);
	if (r == ARCHIVE_EOF)
		return 1;
	return r < ARCHIVE_WARN ? damaged(w, err) : 0;
}

static int read_text(struct phx_package_walk *w, char *text, size_t size, struct phx_err *err)
{
	size_t n = 0;
	for (;;) {
		ssize_t r = archive_read_data(w->a, text + n, size - n);
		if (r < 0)
			return damaged(w, err);
		n += (size_t)r;
		if (r == 0 || n == size)
			break;
	}
	return n == size ? 0 : phx_err_set(err, -EBADMSG, "damaged archive: manifest cut short");
}

static int read_manifest(struct phx_package_walk *w, struct phx_err *err)
{
	struct archive_entry *e;
	int r = read_header(w, &e, err);
	if (r == 0)
		r = check_layers(w, err);
	if (r < 0)
		return r;
	const char *path = r == 0 ? archive_entry_pathname(e) : NULL;
	if (!phx_str_eq(path, PHX_PACKAGE_MANIFEST) || archive_entry_filetype(e) != AE_IFREG ||
	    archive_entry_hardlink(e))
		return phx_err_set(err, -EBADMSG,
				   "no package: the first entry is not " PHX_PACKAGE_MANIFEST);
	int64_t size = archive_entry_size(e);
	if (size < 0 || size > PHX_MANIFEST_MAX)
		return phx_err_set(err, -EBADMSG, PHX_PACKAGE_MANIFEST ": larger than %d bytes",
				   PHX_MANIFEST_MAX);
	PHX_AUTO_FREE char *text = malloc((size_t)size + 1);
	if (!text)
		return -ENOMEM;
	r = read_text(w, text, (size_t)size, err);
	if (r < 0)
		return r;
	r = phx_manifest_parse(text, (size_t)size, true, &w->manifest, err);
	if (r == -EINVAL)
		return phx_err_prefix(err, -EBADMSG, PHX_PACKAGE_MANIFEST);
	w->manifest.size_bytes = w->packed_bytes;
	return r;
}

int phx_walk_open(struct phx_package_walk *w, int fd, const struct phx_package_limits *limits,
		  struct phx_err *err)
{
	memset(w, 0, sizeof(*w));
	set_limits(&w->limits, limits);
	int r = open_archive(w, fd, err);
	if (r == 0)
		r = read_manifest(w, err);
	if (r < 0)
		phx_walk_close(w);
	return r;
}

/* Ascending order makes a path come once, and a directory before what is in it. */
static int check_order(struct phx_package_walk *w, const char *path, struct phx_err *err)
{
	char shown[200];
	if (strcmp(w->last, path) >= 0)
		return phx_err_set(err, -EPERM, "%s: twice, or out of order",
				   phx_entry_show(path, shown, sizeof(shown)));
	return PHX_STR_SET(w->last, path);
}

static int describe(struct archive_entry *e, struct phx_package_entry *ret, struct phx_err *err)
{
	const char *path = archive_entry_pathname(e);
	if (!path)
		return phx_err_set(err, -EBADMSG, "an entry without a readable path");
	*ret = (struct phx_package_entry){
		.path = path,
		.target = archive_entry_symlink(e),
		.hard = archive_entry_hardlink(e),
		.mode = archive_entry_mode(e),
	};
	/* tar writes directories with a closing slash */
	size_t n = strlen(path);
	if (S_ISDIR(ret->mode) && n > 1 && path[n - 1] == '/') {
		PHX_AUTO_FREE char *bare = strndup(path, n - 1);
		if (!bare)
			return -ENOMEM;
		archive_entry_copy_pathname(e, bare);
		ret->path = archive_entry_pathname(e);
	}
	int64_t size = S_ISREG(ret->mode) ? archive_entry_size(e) : 0;
	ret->size_bytes = size > 0 ? (uint64_t)size : 0;
	return ret->path ? 0 : -ENOMEM;
}

static int finish(struct phx_package_walk *w, struct phx_err *err)
{
	if (w->n_entries == w->manifest.n_entries &&
	    w->unpacked_bytes == w->manifest.unpacked_bytes)
		return 1;
	return phx_err_set(err, -EBADMSG,
			   "damaged archive: %" PRIu32 " entries of %" PRIu64
			   " bytes, the manifest says %" PRIu32 " of %" PRIu64,
			   w->n_entries, w->unpacked_bytes, w->manifest.n_entries,
			   w->manifest.unpacked_bytes);
}

int phx_walk_next(struct phx_package_walk *w, struct phx_package_entry *ret,
		  struct archive_entry **ret_entry, struct phx_err *err)
{
	struct archive_entry *raw;
	struct phx_package_entry e;
	int r = read_header(w, &raw, err);
	if (r == 1)
		return finish(w, err);
	if (r == 0)
		r = describe(raw, &e, err);
	if (r == 0 && ++w->n_entries > w->limits.entries_max)
		r = phx_err_set(err, -E2BIG, "more than %" PRIu32 " entries",
				w->limits.entries_max);
	if (r == 0)
		r = phx_entry_check(&e, err);
	if (r == 0)
		r = check_order(w, e.path, err);
	if (r == 0)
		r = check_bytes(w, e.size_bytes, err);
	if (r < 0)
		return r;
	w->unpacked_bytes += e.size_bytes;
	w->entry_bytes = e.size_bytes;
	*ret = e;
	*ret_entry = raw;
	return 0;
}

int phx_walk_block(struct phx_package_walk *w, const void **ret_data, size_t *ret_n,
		   int64_t *ret_offset, struct phx_err *err)
{
	const void *data;
	size_t n;
	int64_t offset;
	int r = archive_read_data_block(w->a, &data, &n, &offset);
	if (r == ARCHIVE_EOF)
		return 1;
	if (r < ARCHIVE_WARN)
		return damaged(w, err);
	if (offset < 0 || n > w->entry_bytes || (uint64_t)offset > w->entry_bytes - n)
		return phx_err_set(err, -EBADMSG,
				   "damaged archive: content past the size of its entry");
	*ret_data = data;
	*ret_n = n;
	*ret_offset = offset;
	return 0;
}

int phx_walk_all(struct phx_package_walk *w, struct phx_err *err)
{
	struct phx_package_entry e;
	struct archive_entry *raw;
	const void *data;
	size_t n;
	int64_t offset;
	int r;
	while ((r = phx_walk_next(w, &e, &raw, err)) == 0) {
		while ((r = phx_walk_block(w, &data, &n, &offset, err)) == 0)
			;
		if (r < 0)
			return r;
	}
	return r < 0 ? r : 0;
}

void phx_walk_close(struct phx_package_walk *w)
{
	archive_read_free(w->a); /* takes NULL */
	w->a = NULL;
}
