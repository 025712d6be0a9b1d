/* Large bodies: files fetched with resumption, files sent. Called by the agent (images,
 * packages) and the CLI (imports). Bytes go straight to the sink: never twice, never out of
 * order, and nothing after a file that changed in between. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "http/client.h"

#define RETRIES_MAX 5
#define RETRY_FIRST_MS 100
#define RETRY_MOST_MS 2000
#define SLOW_BYTES 1024L
#define SLOW_SECONDS 10L
#define UPLOAD_SILENT_SECONDS 600L
#define ETAG_MAX 128
#define ANSWER_MAX 4096 /* of an error's body */

struct fetch {
	struct phx_http_client *c;
	phx_http_sink_fn sink;
	void *arg;
	struct phx_err *err;
	uint64_t done; /* bytes given to the sink */
	uint64_t skip; /* of this answer: a server that ignored Range sends them again */
	char etag[ETAG_MAX], new_etag[ETAG_MAX];
	uint64_t range_from; /* of Content-Range, UINT64_MAX when there was none */
	struct phx_buf refusal;
	bool checked; /* the headers of this answer fit what came before */
	int code;
};

/* The value of header `name` if `line` is it, without the blanks around. */
static bool header_value(const char *line, size_t n, const char *name, char *ret, size_t ret_size)
{
	size_t n_name = strlen(name);
	if (n <= n_name || strncasecmp(line, name, n_name) || line[n_name] != ':')
		return false;
	line += n_name + 1;
	n -= n_name + 1;
	for (; n && (*line == ' ' || *line == '\t'); n--)
		line++;
	while (n && strchr(" \t\r\n", line[n - 1]))
		n--;
	if (n >= ret_size)
		return false;
	memcpy(ret, line, n);
	ret[n] = '\0';
	return true;
}

static void take_header(void *arg, const char *line, size_t n)
{
	struct fetch *f = arg;
	char text[64];
	header_value(line, n, "ETag", f->new_etag, sizeof(f->new_etag));
	if (header_value(line, n, "Content-Range", text, sizeof(text)) &&
	    phx_str_starts(text, "bytes ")) {
		text[strcspn(text, "-")] = '\0';
		if (phx_u64_parse(text + strlen("bytes "), 0, INT64_MAX, &f->range_from) < 0)
			f->range_from = UINT64_MAX;
	}
}

/* At the first byte of a good answer: is it the rest of what we have? */
static int check_answer(struct fetch *f, long status)
{
	f->checked = true;
	if (f->done == 0) {
		memcpy(f->etag, f->new_etag, sizeof(f->etag));
		return 0;
	}
	if (strcmp(f->etag, f->new_etag))
		return phx_err_set(f->err, -ESTALE,
				   "the file changed on the server while it was fetched");
	if (status == 206 && f->range_from != f->done)
		return phx_err_set(f->err, -EPROTO,
				   "the server sent another range than the one asked for");
	f->skip = status == 206 ? 0 : f->done;
	return 0;
}

static int take_bytes(struct fetch *f, const char *data, size_t n)
{
	long status = 0;
	curl_easy_getinfo(f->c->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status != 200 && status != 206) {
		if (f->refusal.n + n <= ANSWER_MAX)
			phx_buf_add(&f->refusal, data, n);
		return 0;
	}
	int r = f->checked ? 0 : check_answer(f, status);
	if (r < 0)
		return r;
	size_t known = f->skip < n ? (size_t)f->skip : n;
	f->skip -= known;
	if (known == n)
		return 0;
	r = f->sink(f->arg, data + known, n - known, f->err);
	if (r == 0)
		f->done += n - known;
	return r;
}

static size_t take_data(char *data, size_t size, size_t n, void *arg)
{
	struct fetch *f = arg;
	f->code = take_bytes(f, data, size * n);
	return f->code < 0 ? 0 : size * n;
}

static void set_slow_limit(CURL *easy)
{
	curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, SLOW_BYTES);
	curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, SLOW_SECONDS);
}

/* One attempt, from where we are. */
static int fetch_once(struct fetch *f, const char *path, struct phx_err *err)
{
	CURL *easy = phx_http_client_begin(f->c, path, err);
	char range[40];
	if (!easy)
		return -EINVAL;
	f->new_etag[0] = '\0';
	f->range_from = UINT64_MAX;
	f->checked = false;
	f->skip = 0;
	if (f->done) {
		snprintf(range, sizeof(range), "%llu-", (unsigned long long)f->done);
		curl_easy_setopt(easy, CURLOPT_RANGE, range);
		phx_http_client_header(f->c, "If-Range", f->etag);
	}
	set_slow_limit(easy);
	f->c->on_header = take_header;
	f->c->on_header_arg = f;
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_data);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, f);
	return phx_http_client_perform(f->c, path, &f->code, err);
}

/* Is it worth another try? Not what the sink or the file itself says, nor what will not change. */
static bool worth_retry(const struct fetch *f, int code)
{
	if (f->code < 0)
		return false;
	if (f->done == 0 && code == -ECONNREFUSED)
		return false;
	if (f->done && !f->etag[0]) /* nothing to tell us that it still is the same file */
		return false;
	return code == -ECONNRESET || code == -ETIMEDOUT || code == -ECONNREFUSED ||
		code == -EHOSTUNREACH || code == -ENETUNREACH;
}

/* After an answer came to its end. */
static int judge(struct fetch *f, const char *path)
{
	struct phx_http_response response = {0};
	curl_easy_getinfo(f->c->easy, CURLINFO_RESPONSE_CODE, &response.status);
	if (response.status == 200 || response.status == 206)
		return f->skip ? phx_err_set(f->err, -ESTALE,
					     "%s: shorter than what was fetched already", path)
			       : 0;
	response.body = phx_buf_take(&f->refusal);
	response.n = response.body ? strlen(response.body) : 0;
	int r = response.body ? phx_http_answer_json(path, &response, NULL, f->err) : -ENOMEM;
	phx_http_response_fini(&response);
	return r < 0 ? r : phx_err_set(f->err, -EPROTO, "%s: unexpected status", path);
}

int phx_http_fetch(struct phx_http_client *c, const char *path, phx_http_sink_fn sink, void *arg,
		   uint64_t *ret_total, struct phx_err *err)
{
	struct fetch f = {.c = c, .sink = sink, .arg = arg, .err = err};
	struct phx_err last = {0};
	struct phx_again again = {RETRY_FIRST_MS, RETRY_MOST_MS, 0};
	int r = fetch_once(&f, path, &last);
	for (unsigned i = 0; r < 0 && i < RETRIES_MAX && worth_retry(&f, r); i++) {
		phx_again(&again, INT64_MAX);
		phx_err_clear(&last);
		r = fetch_once(&f, path, &last);
	}
	if (r < 0)
		phx_err_set(err, r, "%s", last.text);
	else
		r = judge(&f, path);
	phx_buf_fini(&f.refusal);
	if (r == 0 && ret_total)
		*ret_total = f.done;
	return r;
}

/* ---- upload ---- */

struct upload {
	int fd;
	int code;
};

static size_t give_data(char *data, size_t size, size_t n, void *arg)
{
	struct upload *u = arg;
	ssize_t got = read(u->fd, data, size * n);
	if (got < 0) {
		u->code = -errno;
		return CURL_READFUNC_ABORT;
	}
	return (size_t)got;
}

static int rewind_data(void *arg, curl_off_t offset, int origin)
{
	struct upload *u = arg;
	return lseek(u->fd, offset, origin) < 0 ? CURL_SEEKFUNC_FAIL : CURL_SEEKFUNC_OK;
}

static int open_upload(const char *file, struct stat *ret_st, struct phx_err *err)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return phx_err_set(err, -errno, "%s: %s", file, strerror(errno));
	if (fstat(fd, ret_st) == 0 && S_ISREG(ret_st->st_mode))
		return fd;
	close(fd);
	return phx_err_set(err, -EINVAL, "%s: not a regular file", file);
}

int phx_http_upload(struct phx_http_client *c, const char *path, const char *file,
		    json_t **ret_json, struct phx_err *err)
{
	struct stat st;
	PHX_AUTO_CLOSE int fd = open_upload(file, &st, err);
	if (fd < 0)
		return fd;
	CURL *easy = phx_http_client_begin(c, path, err);
	if (!easy)
		return -EINVAL;
	struct upload u = {.fd = fd};
	curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
	curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)st.st_size);
	curl_easy_setopt(easy, CURLOPT_READFUNCTION, give_data);
	curl_easy_setopt(easy, CURLOPT_READDATA, &u);
	curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, rewind_data);
	curl_easy_setopt(easy, CURLOPT_SEEKDATA, &u);
	/* the server may work long on what it got before it answers */
	curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, UPLOAD_SILENT_SECONDS);
	/* a refusal comes before the file is sent */
	phx_http_client_header(c, "Expect", "100-continue");
	PHX_AUTO(phx_http_response_fini) struct phx_http_response response = {0};
	struct phx_err why = {0};
	int r = phx_http_client_receive(c, path, &response, &why);
	if (u.code < 0)
		return phx_err_set(err, -ENODATA, "%s: %s", file, strerror(-u.code));
	return r < 0 ? phx_err_set(err, r, "%s", why.text)
		     : phx_http_answer_json(path, &response, ret_json, err);
}
