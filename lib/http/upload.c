/* The body of a request on its way in: into memory, or spooled to a file. Called by request.c;
 * knows limits, never what a body means. What is over a limit is read and dropped, so that the
 * sender gets to read why. */
#include "http/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define SPOOL_PREFIX "phx-upload-"

uint64_t phx_http_body_announced(const struct phx_http_request *q)
{
	if (MHD_lookup_connection_value(q->mhd, MHD_HEADER_KIND, "Transfer-Encoding"))
		return UINT64_MAX;
	const char *text = MHD_lookup_connection_value(q->mhd, MHD_HEADER_KIND, "Content-Length");
	uint64_t n = 0;
	if (text && phx_u64_parse(text, 0, UINT64_MAX - 1, &n) < 0)
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

int phx_http_body_begin(struct phx_http_request *q)
{
	uint64_t n = phx_http_body_announced(q);
	if (n != UINT64_MAX && n > q->route->body_max)
		return -EFBIG;
	return q->route->body_file ? open_spool(q) : 0;
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
