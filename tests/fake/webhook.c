/* A fake webhook for tests, on libmicrohttpd, with TLS: webhook PORT LOG [CERT KEY]. Each request
 * becomes a line of LOG: PATH, the header X-Phoenix-Signature ("-": none), the body. Its path says
 * what it answers:
 *
 *   /ok        200                        /redirect  302 to /ok
 *   /failing   500 until LOG.well exists  /never     nothing, as long as it runs
 *   /picky     422 if the body has "poison"; otherwise 200
 *   /slow      200, and then a byte each 200 ms
 *   /flood     200, and a body without an end */
#include <fcntl.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/util.h"

struct request {
	struct phx_buf body;
};

static const char *log_path;

static ssize_t drip(void *arg, uint64_t at, char *to, size_t max)
{
	(void)arg, (void)at, (void)max;
	poll(NULL, 0, 200);
	*to = '.';
	return 1;
}

static ssize_t flood(void *arg, uint64_t at, char *to, size_t max)
{
	(void)arg, (void)at;
	memset(to, '.', max);
	return (ssize_t)max;
}

static enum MHD_Result reply(struct MHD_Connection *c, unsigned status, const char *location)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
	if (location)
		MHD_add_response_header(r, "Location", location);
	enum MHD_Result ok = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return ok;
}

static enum MHD_Result reply_by(struct MHD_Connection *c, MHD_ContentReaderCallback reader)
{
	struct MHD_Response *r =
		MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 1024, reader, NULL, NULL);
	enum MHD_Result ok = MHD_queue_response(c, 200, r);
	MHD_destroy_response(r);
	return ok;
}

static void log_request(struct MHD_Connection *c, const char *path, const char *body)
{
	const char *signature =
		MHD_lookup_connection_value(c, MHD_HEADER_KIND, "X-Phoenix-Signature");
	PHX_AUTO(phx_buf_fini) struct phx_buf line = {0};
	int fd = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	phx_buf_addf(&line, "%s %s %s\n", path, signature ? signature : "-", body);
	if (fd < 0 || write(fd, line.data, line.n) != (ssize_t)line.n)
		abort();
	close(fd);
}

static enum MHD_Result answer(struct MHD_Connection *c, const char *path, const char *body)
{
	PHX_AUTO_FREE char *well = phx_path("%s.well", log_path);
	log_request(c, path, body);
	if (!strcmp(path, "/redirect"))
		return reply(c, 302, "/ok");
	if (!strcmp(path, "/failing"))
		return reply(c, access(well, F_OK) == 0 ? 200 : 500, NULL);
	if (!strcmp(path, "/picky"))
		return reply(c, strstr(body, "poison") ? 422 : 200, NULL);
	if (!strcmp(path, "/slow"))
		return reply_by(c, drip);
	if (!strcmp(path, "/flood"))
		return reply_by(c, flood);
	if (!strcmp(path, "/never"))
		poll(NULL, 0, -1);
	return reply(c, strcmp(path, "/ok") ? 404 : 200, NULL);
}

static enum MHD_Result take(void *arg, struct MHD_Connection *c, const char *url,
			    const char *method, const char *version, const char *data, size_t *n,
			    void **request)
{
	struct request *q = *request;
	(void)arg, (void)version;
	if (!q) {
		*request = calloc(1, sizeof(*q));
		return *request ? MHD_YES : MHD_NO;
	}
	if (*n) {
		phx_buf_add(&q->body, data, *n);
		*n = 0;
		return MHD_YES;
	}
	return strcmp(method, "POST") ? reply(c, 405, NULL)
				      : answer(c, url, q->body.data ? q->body.data : "");
}

static void end(void *arg, struct MHD_Connection *c, void **request,
		enum MHD_RequestTerminationCode why)
{
	struct request *q = *request;
	(void)arg, (void)c, (void)why;
	if (q)
		phx_buf_fini(&q->body);
	free(q);
}

int main(int argc, char **argv)
{
	PHX_AUTO_FREE char *cert = NULL;
	PHX_AUTO_FREE char *key = NULL;
	unsigned flags = MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD;
	size_t n;
	if (argc < 3)
		return 64;
	log_path = argv[2];
	bool tls = argc > 4;
	if (tls &&
	    (phx_file_read(argv[3], 1 << 16, &cert, &n, NULL) < 0 ||
	     phx_file_read(argv[4], 1 << 16, &key, &n, NULL) < 0))
		return 66;
	struct MHD_OptionItem with_tls[] = {{MHD_OPTION_HTTPS_MEM_CERT, 0, cert},
					    {MHD_OPTION_HTTPS_MEM_KEY, 0, key},
					    {MHD_OPTION_END, 0, NULL}};
	struct MHD_OptionItem without[] = {{MHD_OPTION_END, 0, NULL}};
	struct MHD_Daemon *d =
		MHD_start_daemon(flags | (tls ? MHD_USE_TLS : 0), (uint16_t)atoi(argv[1]), NULL,
				 NULL, take, NULL, MHD_OPTION_NOTIFY_COMPLETED, end, NULL,
				 MHD_OPTION_ARRAY, tls ? with_tls : without, MHD_OPTION_END);
	if (!d)
		return 1;
	puts("ready");
	fflush(stdout);
	pause();
}
