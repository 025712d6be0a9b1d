/* Reads trace files whole: plain ones straight into memory, compressed ones
 * through libarchive. Called by phx sim and by tests; looks at no content
 * beyond the first bytes. */
#include "trace/input.h"

#include <archive.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

void phx_trace_input_fini(struct phx_trace_input *in)
{
	if (!in)
		return;
	free(in->data);
	free(in->path);
	*in = (struct phx_trace_input){0};
}

static int read_plain(const char *path, char **ret_data, size_t *ret_n, struct phx_err *err)
{
	PHX_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return phx_file_read(path, PHX_TRACE_INPUT_MAX, ret_data, ret_n, err);
	if ((uint64_t)st.st_size > PHX_TRACE_INPUT_MAX)
		return phx_err_set(err, -EFBIG, "%s: larger than %zu bytes", path,
				   PHX_TRACE_INPUT_MAX);
	size_t size = (size_t)st.st_size, n = 0;
	PHX_AUTO_FREE char *data = malloc(size + 1);
	if (!data)
		return -ENOMEM;
	while (n < size) {
		ssize_t got = read(fd, data + n, size - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
		if (got == 0)
			break;
		n += (size_t)got;
	}
	data[n] = 0;
	*ret_data = PHX_TAKE(data);
	*ret_n = n;
	return 0;
}

static bool is_compressed(const char *data, size_t n)
{
	static const struct {
		const char *bytes;
		size_t n;
	} magic[] = {{"\xfd"
		      "7zXZ\0",
		      6},
		     {"\x1f\x8b", 2},
		     {"\x28\xb5\x2f\xfd", 4}};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(magic); i++)
		if (n >= magic[i].n && memcmp(data, magic[i].bytes, magic[i].n) == 0)
			return true;
	return false;
}

static void close_archive(struct archive **a)
{
	archive_read_free(*a);
}

static int archive_error(struct archive *a, const char *path, struct phx_err *err)
{
	const char *text = archive_error_string(a);
	return phx_err_set(err, -EINVAL, "%s: cut short or damaged: %s", path,
			   text ? text : "cannot be unpacked");
}

/* Everything that the archive's one entry holds. */
static int read_entry(struct archive *a, const char *path, size_t guess, char **ret_data,
		      size_t *ret_n, struct phx_err *err)
{
	size_t cap = guess, n = 0;
	PHX_AUTO_FREE char *data = malloc(cap + 1);
	for (;;) {
		if (!data)
			return -ENOMEM;
		ssize_t got = archive_read_data(a, data + n, cap - n);
		if (got == ARCHIVE_RETRY)
			continue;
		if (got < 0)
			return archive_error(a, path, err);
		if (got == 0)
			break;
		n += (size_t)got;
		if (n < cap)
			continue;
		if (cap >= PHX_TRACE_INPUT_MAX)
			return phx_err_set(err, -EFBIG, "%s: unpacks to more than %zu bytes", path,
					   PHX_TRACE_INPUT_MAX);
		cap *= 2;
		char *more = realloc(data, cap + 1);
		if (!more)
			return -ENOMEM;
		data = more;
	}
	data[n] = 0;
	*ret_data = PHX_TAKE(data);
	*ret_n = n;
	return 0;
}

static int unpack(const char *path, const char *packed, size_t n_packed, char **ret_data,
		  size_t *ret_n, struct phx_err *err)
{
	PHX_AUTO(close_archive) struct archive *a = archive_read_new();
	struct archive_entry *entry;
	if (!a)
		return -ENOMEM;
	archive_read_support_filter_xz(a);
	archive_read_support_filter_gzip(a);
	archive_read_support_filter_zstd(a);
	archive_read_support_format_raw(a);
	if (archive_read_open_memory(a, packed, n_packed) != ARCHIVE_OK ||
	    archive_read_next_header(a, &entry) != ARCHIVE_OK)
		return archive_error(a, path, err);
	return read_entry(a, path, n_packed * 10 + 4096, ret_data, ret_n, err);
}

int phx_trace_input_read(const char *path, struct phx_trace_input *ret, struct phx_err *err)
{
	PHX_AUTO_TRACE_INPUT struct phx_trace_input in = {0};
	int r = read_plain(path, &in.data, &in.n, err);
	if (r < 0)
		return r;
	if (is_compressed(in.data, in.n)) {
		PHX_AUTO_FREE char *packed = PHX_TAKE(in.data);
		r = unpack(path, packed, in.n, &in.data, &in.n, err);
		if (r < 0)
			return r;
	}
	in.path = strdup(path);
	if (!in.path)
		return -ENOMEM;
	*ret = in;
	in = (struct phx_trace_input){0};
	return 0;
}

/* 1 when one of the spellings of dir/name was there and is read. */
static int find_in(const char *dir, const char *name, struct phx_trace_input *ret,
		   struct phx_err *err)
{
	static const char *const behind[] = {"", ".xz", ".gz", ".zst"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(behind); i++) {
		PHX_AUTO_FREE char *path =
			phx_path("%s%s%s%s", dir ? dir : "", dir ? "/" : "", name, behind[i]);
		if (!path)
			return -ENOMEM;
		if (access(path, F_OK) < 0)
			continue;
		int r = phx_trace_input_read(path, ret, err);
		return r < 0 ? r : 1;
	}
	return 0;
}

int phx_trace_input_find(const char *name, const char *traces, struct phx_trace_input *ret,
			 struct phx_err *err)
{
	int r = find_in(NULL, name, ret, err);
	if (r == 0 && traces && name[0] != '/')
		r = find_in(traces, name, ret, err);
	if (r != 0)
		return r < 0 ? r : 0;
	return phx_err_set(err, -ENOENT, "%s: no such trace, neither here nor below %s", name,
			   traces ? traces : "a traces directory (--traces DIR or PHX_TRACES)");
}
