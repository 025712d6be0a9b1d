/* Tars before they are unpacked: see layer.h. Called by source.c. libarchive reads them; filters
 * that run other programs are not among those that it may use. Writes nothing. */
#include "deploy/layer.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

enum { READ_BLOCK = 1 << 20, DISK_BLOCK = 4096 };
#define WHITEOUT ".wh."
#define OPAQUE ".wh..wh..opq"

static void close_archive(struct archive **a)
{
	archive_read_free(*a); /* takes NULL */
}

static int damaged(const char *file, struct archive *a, struct phx_err *err)
{
	const char *text = archive_error_string(a);
	return archive_errno(a) == ENOMEM ? -ENOMEM
					  : phx_err_set(err, -EINVAL, "%s: no whole tar: %s", file,
							text ? text : "it cannot be read");
}

static int open_archive(const char *file, struct archive **ret, struct phx_err *err)
{
	struct archive *a = *ret = archive_read_new();
	if (!a)
		return -ENOMEM;
	bool fine = archive_read_support_filter_gzip(a) >= ARCHIVE_WARN &&
		archive_read_support_filter_bzip2(a) >= ARCHIVE_WARN &&
		archive_read_support_filter_xz(a) >= ARCHIVE_WARN &&
		archive_read_support_filter_zstd(a) >= ARCHIVE_WARN &&
		archive_read_support_format_tar(a) >= ARCHIVE_WARN &&
		archive_read_open_filename(a, file, READ_BLOCK) >= ARCHIVE_WARN;
	return fine ? 0 : damaged(file, a, err);
}

/* Outside a UTF-8 locale libarchive gives the name of other bytes in one of these ways only. */
static const char *name_of(struct archive_entry *e)
{
	const char *name = archive_entry_pathname(e);
	return name ? name : archive_entry_pathname_utf8(e);
}

static bool leads_up(const char *path)
{
	for (const char *p = path; *p;) {
		size_t n = strcspn(p, "/");
		if (n == 2 && p[0] == '.' && p[1] == '.')
			return true;
		p += n + strspn(p + n, "/");
	}
	return false;
}

/* ".wh.." would take away the directory that it is in, ".wh..." the one above. */
static int check_whiteout(const char *file, const char *name, struct phx_err *err)
{
	const char *slash = strrchr(name, '/'), *last = slash ? slash + 1 : name;
	if (!phx_str_starts(last, WHITEOUT) || !strcmp(last, OPAQUE))
		return 0;
	const char *gone = last + strlen(WHITEOUT);
	if (phx_str_starts(gone, WHITEOUT))
		return phx_err_set(err, -EINVAL, "%s: %.200s: a whiteout of a whiteout", file,
				   name);
	if (!gone[0] || !strcmp(gone, ".") || !strcmp(gone, ".."))
		return phx_err_set(err, -EINVAL, "%s: %.200s: a whiteout of no name", file, name);
	return 0;
}

static int check_entry(const char *file, struct archive_entry *e, bool whiteouts,
		       struct phx_err *err)
{
	const char *name = name_of(e), *link = archive_entry_hardlink(e);
	if (!name)
		return phx_err_set(err, -EINVAL, "%s: it holds a name that cannot be read", file);
	if (leads_up(name))
		return phx_err_set(err, -EINVAL, "%s: %.200s: a name with \"..\"", file, name);
	if (link && leads_up(link))
		return phx_err_set(err, -EINVAL, "%s: %.150s: a hard link to %.150s", file, name,
				   link);
	return whiteouts ? check_whiteout(file, name, err) : 0;
}

static int count_entry(const char *file, struct archive_entry *e, struct phx_layer_count *count,
		       struct phx_err *err)
{
	int64_t size = archive_entry_hardlink(e) ? 0 : archive_entry_size(e);
	uint64_t left = count->bytes_max - count->bytes, place;
	char max[32];
	if (count->entries == count->entries_max)
		return phx_err_set(err, -E2BIG, "%s: it unpacks to more than %llu files", file,
				   (unsigned long long)count->entries_max);
	if (size < 0 || (uint64_t)size > left ||
	    (place = ((uint64_t)size / DISK_BLOCK + 1) * DISK_BLOCK) > left)
		return phx_err_set(err, -E2BIG, "%s: it unpacks to more than %s (--max-size)", file,
				   phx_size_format(count->bytes_max, max, sizeof(max)));
	count->entries++;
	count->bytes += place;
	return 0;
}

int phx_layer_scan(const char *file, bool whiteouts, struct phx_layer_count *count,
		   struct phx_err *err)
{
	PHX_AUTO(close_archive) struct archive *a = NULL;
	struct phx_layer_count c = *count;
	int r = open_archive(file, &a, err);
	while (r == 0) {
		struct archive_entry *e;
		int got = archive_read_next_header(a, &e);
		if (got == ARCHIVE_EOF)
			break;
		r = got < ARCHIVE_WARN ? damaged(file, a, err)
				       : check_entry(file, e, whiteouts, err);
		r = r ? r : count_entry(file, e, &c, err);
	}
	if (r == 0)
		*count = c;
	return r;
}

/* ---- one file ---- */

/* 0 at the file, 1: there is none. */
static int find_entry(const char *file, struct archive *a, const char *name,
		      struct archive_entry **ret, struct phx_err *err)
{
	for (;;) {
		int got = archive_read_next_header(a, ret);
		if (got == ARCHIVE_EOF)
			return 1;
		if (got < ARCHIVE_WARN)
			return damaged(file, a, err);
		const char *at = name_of(*ret);
		at = at && phx_str_starts(at, "./") ? at + 2 : at;
		if (phx_str_eq(at, name) && archive_entry_filetype(*ret) == AE_IFREG)
			return 0;
	}
}

static int read_entry(const char *file, struct archive *a, size_t size, char **ret,
		      struct phx_err *err)
{
	char *text = malloc(size + 1);
	size_t n = 0;
	int r = text ? 0 : -ENOMEM;
	while (r == 0 && n < size) {
		ssize_t got = archive_read_data(a, text + n, size - n);
		if (got <= 0)
			r = damaged(file, a, err);
		else
			n += (size_t)got;
	}
	if (r < 0) {
		free(text);
		return r;
	}
	text[n] = '\0';
	*ret = text;
	return 0;
}

int phx_layer_read(const char *file, const char *name, size_t max, char **ret, size_t *ret_n,
		   struct phx_err *err)
{
	PHX_AUTO(close_archive) struct archive *a = NULL;
	struct archive_entry *e = NULL;
	int r = open_archive(file, &a, err);
	r = r ? r : find_entry(file, a, name, &e, err);
	if (r > 0)
		return phx_err_set(err, -ENOENT, "%s: there is no %s in it", file, name);
	if (r < 0)
		return r;
	int64_t size = archive_entry_hardlink(e) ? -1 : archive_entry_size(e);
	if (size < 0 || (uint64_t)size > max)
		return phx_err_set(err, -EINVAL, "%s: its %s has more than %zu bytes", file, name,
				   max);
	r = read_entry(file, a, (size_t)size, ret, err);
	if (r == 0)
		*ret_n = (size_t)size;
	return r;
}
