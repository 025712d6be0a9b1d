/* Files as answers: whole or one range, on the plain listener by sendfile, with the
 * conditions that make a resumed download safe (RFC 9110, 13 and 14). Called by handlers;
 * reads the one file it is given. */
#include "http/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define ETAG_MAX 128
#define READ_BYTES (64u * 1024)

static const char *header(const struct phx_http_request *q, const char *name)
{
	return MHD_lookup_connection_value(q->mhd, MHD_HEADER_KIND, name);
}

static void format_etag(const char *given, const struct stat *st, char *ret, size_t ret_size)
{
	if (given)
		snprintf(ret, ret_size, "\"%s\"", given);
	else
		snprintf(ret, ret_size, "\"%lx-%llx-%llx.%lx\"", (unsigned long)st->st_ino,
			 (unsigned long long)st->st_size, (unsigned long long)st->st_mtim.tv_sec,
			 (unsigned long)st->st_mtim.tv_nsec);
}

static int open_regular(const char *path, struct stat *ret_st)
{
	PHX_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, ret_st) < 0)
		return -errno;
	if (!S_ISREG(ret_st->st_mode))
		return -ENOENT;
	int taken = fd;
	fd = -1;
	return taken;
}

/* A file being sent by reading, where it is not sent by the kernel. */
struct part {
	int fd;
	uint64_t from;
};

/* A file that got shorter ends the connection: the peer sees that something is missing, and is not
 * kept waiting. */
static ssize_t read_part(void *cls, uint64_t pos, char *buf, size_t max)
{
	const struct part *p = cls;
	ssize_t n;
	do
		n = pread(p->fd, buf, max, (off_t)(p->from + pos));
	while (n < 0 && errno == EINTR);
	return n > 0 ? n : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void free_part(void *cls)
{
	struct part *p = cls;
	close(p->fd);
	free(p);
}

/* Takes `fd` when it succeeds. */
static struct MHD_Response *read_response(int fd, uint64_t from, uint64_t n)
{
	struct part *p = malloc(sizeof(*p));
	if (!p)
		return NULL;
	*p = (struct part){fd, from};
	struct MHD_Response *r =
		MHD_create_response_from_callback(n, READ_BYTES, read_part, p, free_part);
	if (!r)
		free(p);
	return r;
}

/* Takes `fd`. On the provisioning network images are sent by the kernel; who may change the file
 * that is sent is not there. */
static struct MHD_Response *part_response(const struct phx_http_request *q, int fd, uint64_t from,
					  uint64_t n)
{
	struct MHD_Response *r = NULL;
	if (!n)
		r = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
	else if (q->connection->peer.via == PHX_HTTP_PLAIN) /* libmicrohttpd closes it */
		r = MHD_create_response_from_fd_at_offset64(n, fd, from);
	else
		r = read_response(fd, from, n);
	if (!r || !n)
		close(fd);
	return r;
}

/* What people put there is a file to keep, whatever is in it: no browser shows it as a page of
 * ours. */
static void add_headers(struct MHD_Response *r, const char *etag, const char *type)
{
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(r, "Content-Disposition", "attachment");
	MHD_add_response_header(r, MHD_HTTP_HEADER_ETAG, etag);
	MHD_add_response_header(r, MHD_HTTP_HEADER_ACCEPT_RANGES, "bytes");
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE,
				type ? type : "application/octet-stream");
}

static void add_content_range(struct MHD_Response *r, enum phx_http_range kind, uint64_t from,
			      uint64_t n, uint64_t size)
{
	char text[96];
	if (kind == PHX_HTTP_RANGE_BAD)
		snprintf(text, sizeof(text), "bytes */%llu", (unsigned long long)size);
	else
		snprintf(text, sizeof(text), "bytes %llu-%llu/%llu", (unsigned long long)from,
			 (unsigned long long)(from + n - 1), (unsigned long long)size);
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_RANGE, text);
}

/* The range asked for, if it is to be honoured: of GET only, and of the file the asker knows. */
static enum phx_http_range wanted_range(const struct phx_http_request *q, const char *etag,
					uint64_t size, uint64_t *ret_from, uint64_t *ret_n)
{
	const char *if_range = header(q, MHD_HTTP_HEADER_IF_RANGE);
	if (strcmp(q->method, "GET") || (if_range && strcmp(if_range, etag)))
		return PHX_HTTP_RANGE_NONE;
	return phx_http_range_parse(header(q, MHD_HTTP_HEADER_RANGE), size, ret_from, ret_n);
}

static void give_file(struct phx_http_request *q, int fd, const struct stat *st, const char *etag,
		      const char *type)
{
	uint64_t size = (uint64_t)st->st_size, from = 0, n = size;
	const char *known = header(q, MHD_HTTP_HEADER_IF_NONE_MATCH);
	int status = 200;
	enum phx_http_range kind = PHX_HTTP_RANGE_NONE;
	if (known && phx_http_etag_listed(known, etag)) {
		status = 304;
		n = 0;
	} else if ((kind = wanted_range(q, etag, size, &from, &n)) != PHX_HTTP_RANGE_NONE) {
		status = kind == PHX_HTTP_RANGE_PART ? 206 : 416;
		n = kind == PHX_HTTP_RANGE_PART ? n : 0;
	}
	struct MHD_Response *r = part_response(q, fd, from, n);
	if (!r) {
		phx_http_reply_error(q, -ENOMEM, "out of memory");
		return;
	}
	add_headers(r, etag, type);
	if (kind != PHX_HTTP_RANGE_NONE)
		add_content_range(r, kind, from, n, size);
	if (n && strcmp(q->method, "HEAD") != 0)
		phx_http_sent_begin(q, n);
	phx_http_give(q, status, r);
}

void phx_http_reply_fd(struct phx_http_request *q, int fd, const char *type)
{
	struct stat st;
	char tag[ETAG_MAX];
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		phx_http_refuse(q, 404, -ENOENT, "no such file", NULL);
		return;
	}
	format_etag(NULL, &st, tag, sizeof(tag));
	give_file(q, fd, &st, tag, type);
}

void phx_http_reply_file(struct phx_http_request *q, const char *path, const char *etag,
			 const char *type)
{
	struct stat st;
	char tag[ETAG_MAX];
	int fd = open_regular(path, &st);
	if (fd < 0) {
		phx_http_refuse(q, 404, -ENOENT, "no such file", NULL);
		return;
	}
	format_etag(etag, &st, tag, sizeof(tag));
	give_file(q, fd, &st, tag, type);
}
