/* The body of a request on its way in: into memory, or spooled to a file. Called by request.c;
 * knows limits, never what a body means. A body tells its length first: nothing of it is taken
 * before its limit, its sender's share and the room on the disk are known to do. What is over a
 * limit is read and dropped, so that the sender gets to read why. */
#include "http/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file.h"

#define SPOOL_PREFIX "phx-upload-"

/* What an upload leaves free of the file system that the journal may share: a twentieth, but no
 * more than this. */
#define ROOM_BYTES (1ull << 30)

/* What the head says of where the body ends. */
struct framing {
	unsigned n_lengths;
	bool chunked;
};

static enum MHD_Result note_framing(void *cls, enum MHD_ValueKind kind, const char *name,
				    const char *value)
{
	struct framing *f = cls;
	(void)kind, (void)value;
	f->n_lengths += !strcasecmp(name, "Content-Length");
	f->chunked = f->chunked || !strcasecmp(name, "Transfer-Encoding");
	return MHD_YES;
}

/* Chunks would have to be parsed by libmicrohttpd, whose refusals are not ours. Of two lengths who
 * stands in between may have believed the other one: what is a body to him is a request here. */
uint64_t phx_http_body_announced(const struct phx_http_request *q)
{
	struct framing f = {0};
	uint64_t n = 0;
	MHD_get_connection_values(q->mhd, MHD_HEADER_KIND, note_framing, &f);
	const char *text = MHD_lookup_connection_value(q->mhd, MHD_HEADER_KIND, "Content-Length");
	if (f.chunked || f.n_lengths > 1 ||
	    (text && phx_u64_parse(text, 0, UINT64_MAX - 1, &n) < 0))
		return UINT64_MAX;
	return n;
}

static int open_spool(struct phx_http_request *q)
{
	PHX_AUTO_FREE char *path = phx_path("%s/" SPOOL_PREFIX "XXXXXX", q->server->spool_dir);
	if (!path)
		return -ENOMEM;
	q->spool_fd = mkostemp(path, O_CLOEXEC);
	if (q->spool_fd < 0)
		return -errno;
	q->spool_path = PHX_TAKE(path);
	return 0;
}

/* Beside what others have on the way; what of that is written already counts twice, on the safe
 * side. */
static bool has_room(struct phx_http_request *q, uint64_t n)
{
	struct statvfs fs;
	if (statvfs(q->server->spool_dir, &fs) < 0)
		return true; /* opening the file tells why */
	uint64_t size = (uint64_t)fs.f_blocks * fs.f_frsize,
		 left = (uint64_t)fs.f_bavail * fs.f_frsize;
	uint64_t room = size / 20 < ROOM_BYTES ? size / 20 : ROOM_BYTES;
	uint64_t others = phx_http_guard_spooled(q->connection->listener->guard);
	return left >= room && left - room >= others && left - room - others >= n;
}

static int begin_spool(struct phx_http_request *q, uint64_t n)
{
	struct phx_http_connection *c = q->connection;
	if (!has_room(q, n))
		return -ENOSPC;
	if (!phx_http_guard_spool(c->listener->guard, &c->entry, n))
		return -EDQUOT;
	q->spool_claim = n;
	return open_spool(q);
}

int phx_http_body_begin(struct phx_http_request *q)
{
	uint64_t n = phx_http_body_announced(q);
	if (n == UINT64_MAX)
		return -EDESTADDRREQ;
	if (n > q->route->body_max)
		return -EFBIG;
	return q->route->body_file ? begin_spool(q, n) : 0;
}

void phx_http_body_take(struct phx_http_request *q, const char *data, size_t n)
{
	if (q->body_error < 0)
		return;
	if (n > q->route->body_max - q->n_body) {
		q->body_error = -EFBIG;
		return;
	}
	q->n_body += n;
	if (q->spool_fd >= 0) {
		q->body_error = phx_write_all(q->spool_fd, data, n);
		return;
	}
	phx_buf_add(&q->body, data, n);
	if (q->body.failed)
		q->body_error = -ENOMEM;
}

void phx_http_body_end(struct phx_http_request *q)
{
	phx_close_fd(&q->spool_fd);
}

void phx_http_body_fini(struct phx_http_request *q)
{
	phx_close_fd(&q->spool_fd);
	if (q->spool_path)
		unlink(q->spool_path); /* gone already when the handler renamed it away */
	free(q->spool_path);
	if (q->body.data) /* a password may have come in it */
		explicit_bzero(q->body.data, q->body.n);
	phx_buf_fini(&q->body);
}

void phx_http_spool_clean(const char *dir)
{
	DIR *d = opendir(dir);
	if (!d)
		return;
	for (struct dirent *e; (e = readdir(d));)
		if (phx_str_starts(e->d_name, SPOOL_PREFIX))
			unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
}
