/* The client: libcurl's easy interface, one handle and so one kept-alive connection per
 * client. Called by the agent, the CLI and the Redfish driver, each from one thread at a time;
 * never follows redirects and never uses a proxy: what it talks to is configured. */
#include "http/internal.h"

#include <curl/curl.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "http/client.h"
#include "base/json.h"

#define CONNECT_TIMEOUT_MS 5000
#define CALL_TIMEOUT_MS 30000
#define WATCHED_MS 60000 /* libcurl has timers of its own beside */

static int copy_text(char **dst, const char *src)
{
	*dst = src ? strdup(src) : NULL;
	return src && !*dst ? -ENOMEM : 0;
}

static int copy_config(struct phx_http_client *c, const struct phx_http_client_config *config)
{
	c->connect_timeout_ms =
		config->connect_timeout_ms ? config->connect_timeout_ms : CONNECT_TIMEOUT_MS;
	c->insecure = config->insecure;
	return copy_text(&c->unix_path, config->unix_path) ||
			copy_text(&c->base_url, config->base_url) ||
			copy_text(&c->ca, config->ca_pem_path) ||
			copy_text(&c->cert, config->cert_pem_path) ||
			copy_text(&c->key, config->key_pem_path) ||
			copy_text(&c->user, config->user) ||
			copy_text(&c->password, config->password)
		? -ENOMEM
		: 0;
}

static void free_client(struct phx_http_client **c)
{
	phx_http_client_free(*c);
}

int phx_http_client_new(const struct phx_http_client_config *config, struct phx_http_client **ret,
			struct phx_err *err)
{
	const char *url = config->base_url;
	if (!url || (!phx_str_starts(url, "https://") && !phx_str_starts(url, "http://")))
		return phx_err_set(err, -EINVAL,
				   "'%s' is no address; 'https://HOST:PORT' is expected",
				   url ? url : "");
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return phx_err_set(err, -EIO, "libcurl cannot be started");
	PHX_AUTO(free_client) struct phx_http_client *c = calloc(1, sizeof(*c));
	if (!c) {
		curl_global_cleanup();
		return -ENOMEM;
	}
	c->watched_fd = -1;
	c->easy = curl_easy_init();
	int r = c->easy ? copy_config(c, config) : -ENOMEM;
	if (r < 0)
		return r;
	size_t n = strlen(c->base_url);
	while (n && c->base_url[n - 1] == '/')
		c->base_url[--n] = '\0';
	*ret = PHX_TAKE(c);
	return 0;
}

void phx_http_client_free(struct phx_http_client *c)
{
	if (!c)
		return;
	curl_easy_cleanup(c->easy);
	if (c->multi)
		curl_multi_cleanup(c->multi);
	curl_slist_free_all(c->headers);
	if (c->password)
		explicit_bzero(c->password, strlen(c->password));
	free(c->unix_path);
	free(c->base_url);
	free(c->ca);
	free(c->cert);
	free(c->key);
	free(c->user);
	free(c->password);
	free(c);
	curl_global_cleanup();
}

void phx_http_response_fini(struct phx_http_response *r)
{
	free(r->body);
	*r = (struct phx_http_response){0};
}

void phx_http_client_watch(struct phx_http_client *c, int fd)
{
	c->watched_fd = fd;
}

/* ---- one request ---- */

static void set_tls(struct phx_http_client *c)
{
	curl_easy_setopt(c->easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (c->ca) {
		curl_easy_setopt(c->easy, CURLOPT_CAINFO, c->ca);
		curl_easy_setopt(c->easy, CURLOPT_CAPATH, NULL);
	}
	if (c->cert)
		curl_easy_setopt(c->easy, CURLOPT_SSLCERT, c->cert);
	if (c->key)
		curl_easy_setopt(c->easy, CURLOPT_SSLKEY, c->key);
	if (c->insecure) {
		curl_easy_setopt(c->easy, CURLOPT_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(c->easy, CURLOPT_SSL_VERIFYHOST, 0L);
	}
}

static void set_login(struct phx_http_client *c)
{
	if (!c->user)
		return;
	curl_easy_setopt(c->easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
	curl_easy_setopt(c->easy, CURLOPT_USERNAME, c->user);
	curl_easy_setopt(c->easy, CURLOPT_PASSWORD, c->password ? c->password : "");
}

static size_t take_header(char *line, size_t size, size_t n, void *arg)
{
	struct phx_http_client *c = arg;
	if (size * n >= 5 && !strncmp(line, "HTTP/", 5))
		c->headers_ended = false; /* the answer proper after a "100 Continue" */
	if (line[0] == '\r' || line[0] == '\n')
		c->headers_ended = true;
	if (c->on_header)
		c->on_header(c->on_header_arg, line, size * n);
	return size * n;
}

CURL *phx_http_client_begin(struct phx_http_client *c, const char *path, struct phx_err *err)
{
	PHX_AUTO_FREE char *url = NULL;
	if (path[0] != '/' || asprintf(&url, "%s%s", c->base_url, path) < 0) {
		phx_err_set(err, -EINVAL, "'%s': a path begins with '/'", path);
		return NULL;
	}
	curl_easy_reset(c->easy); /* keeps the connection */
	curl_slist_free_all(PHX_TAKE(c->headers));
	c->error[0] = '\0';
	c->headers_ended = false;
	c->on_header = NULL;
	curl_easy_setopt(c->easy, CURLOPT_ERRORBUFFER, c->error);
	curl_easy_setopt(c->easy, CURLOPT_HEADERFUNCTION, take_header);
	curl_easy_setopt(c->easy, CURLOPT_HEADERDATA, c);
	curl_easy_setopt(c->easy, CURLOPT_URL, url);
	curl_easy_setopt(c->easy, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(c->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(c->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(c->easy, CURLOPT_PROXY, "");
	curl_easy_setopt(c->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c->easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(c->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)c->connect_timeout_ms);
	if (c->unix_path)
		curl_easy_setopt(c->easy, CURLOPT_UNIX_SOCKET_PATH, c->unix_path);
	set_tls(c);
	set_login(c);
	return c->easy;
}

void phx_http_client_header(struct phx_http_client *c, const char *name, const char *value)
{
	PHX_AUTO_FREE char *line = NULL;
	if (asprintf(&line, "%s: %s", name, value) < 0)
		return;
	struct curl_slist *more = curl_slist_append(c->headers, line);
	c->headers = more ? more : c->headers;
	curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, c->headers);
}

static bool has_hung_up(int fd)
{
	struct pollfd p = {.fd = fd};
	return poll(&p, 1, 0) > 0;
}

/* Until the answer is there, or whoever reads what is watched is gone. */
static CURLcode perform_watching(struct phx_http_client *c)
{
	int running = 0, left;
	CURLcode code = CURLE_ABORTED_BY_CALLBACK;
	c->multi = c->multi ? c->multi : curl_multi_init();
	if (!c->multi || curl_multi_add_handle(c->multi, c->easy) != CURLM_OK)
		return CURLE_OUT_OF_MEMORY;
	while (curl_multi_perform(c->multi, &running) == CURLM_OK && running &&
	       !has_hung_up(c->watched_fd)) {
		struct curl_waitfd watched = {.fd = c->watched_fd}; /* that it hung up is told */
		if (curl_multi_poll(c->multi, &watched, 1, WATCHED_MS, NULL) != CURLM_OK)
			break;
	}
	for (CURLMsg *m; (m = curl_multi_info_read(c->multi, &left));)
		if (m->msg == CURLMSG_DONE)
			code = m->data.result;
	curl_multi_remove_handle(c->multi, c->easy);
	return code;
}

/* OpenSSL writes with write(2): a peer that hangs up would kill a program that has not
 * ignored SIGPIPE. Not our decision to change for the process, so it is held off this thread. */
static CURLcode perform_quietly(struct phx_http_client *c)
{
	sigset_t pipe, before, pending;
	const struct timespec no_wait = {0};
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigpending(&pending);
	bool was_pending = sigismember(&pending, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, &before);
	CURLcode code = c->watched_fd < 0 ? curl_easy_perform(c->easy) : perform_watching(c);
	if (!was_pending)
		while (sigtimedwait(&pipe, NULL, &no_wait) < 0 && errno == EINTR)
			continue;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return code;
}

/* libcurl's codes that say one thing. */
static const struct {
	CURLcode curl;
	int code;
} curl_codes[] = {
	{CURLE_OPERATION_TIMEDOUT, -ETIMEDOUT},
	{CURLE_ABORTED_BY_CALLBACK, -ECANCELED},
	{CURLE_COULDNT_RESOLVE_HOST, -EHOSTUNREACH},
	{CURLE_URL_MALFORMAT, -EINVAL},
	{CURLE_SSL_CONNECT_ERROR, -EPROTO},
	{CURLE_PEER_FAILED_VERIFICATION, -EPROTO},
	{CURLE_SSL_CERTPROBLEM, -EPROTO},
	{CURLE_SSL_CIPHER, -EPROTO},
	{CURLE_SSL_CACERT_BADFILE, -EPROTO},
	{CURLE_SSL_ISSUER_ERROR, -EPROTO},
	{CURLE_WEIRD_SERVER_REPLY, -EPROTO},
	{CURLE_GOT_NOTHING, -ECONNRESET},
	{CURLE_RECV_ERROR, -ECONNRESET},
	{CURLE_SEND_ERROR, -ECONNRESET},
	{CURLE_PARTIAL_FILE, -ECONNRESET},
	{CURLE_OUT_OF_MEMORY, -ENOMEM},
};

/* What an answer says, no way to a server does: -ENOENT is 404, and a missing socket a daemon that
 * is not there; -EACCES and -EPERM are 403, and what routes and filters of this machine say. */
static int connect_code(const struct phx_http_client *c)
{
	long code = 0;
	curl_easy_getinfo(c->easy, CURLINFO_OS_ERRNO, &code);
	if (!c->unix_path && (code == EACCES || code == EPERM))
		return -EHOSTUNREACH;
	return code == ENOENT || code <= 0 ? -ECONNREFUSED : (int)-code;
}

static int code_of(const struct phx_http_client *c, CURLcode curl)
{
	if (curl == CURLE_COULDNT_CONNECT)
		return connect_code(c);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(curl_codes); i++)
		if (curl_codes[i].curl == curl)
			return curl_codes[i].code;
	return -EIO;
}

int phx_http_client_perform(struct phx_http_client *c, const char *path, const int *receiver_code,
			    struct phx_err *err)
{
	CURLcode curl = perform_quietly(c);
	if (receiver_code && *receiver_code < 0)
		return *receiver_code;
	if (curl == CURLE_OK && c->headers_ended)
		return 0;
	if (curl == CURLE_OK)
		return phx_err_set(err, -ECONNRESET, "%s%s: the answer was cut", c->base_url, path);
	long os_error = 0;
	curl_easy_getinfo(c->easy, CURLINFO_OS_ERRNO, &os_error);
	if (curl == CURLE_COULDNT_CONNECT && c->unix_path && os_error > 0)
		return phx_err_set(err, connect_code(c), "%s: %s", c->unix_path,
				   strerror((int)os_error));
	const char *text = c->error[0] ? c->error : curl_easy_strerror(curl);
	return phx_err_set(err, code_of(c, curl), "%s%s: %s",
			   c->unix_path ? c->unix_path : c->base_url, path, text);
}

/* ---- calls ---- */

struct receiver {
	struct phx_buf body;
	int code;
	struct phx_err *err;
};

static size_t receive(char *data, size_t size, size_t n, void *arg)
{
	struct receiver *r = arg;
	if (r->body.n + size * n > PHX_HTTP_BODY_MAX) {
		r->code = phx_err_set(r->err, -EFBIG, "the answer is larger than %u bytes",
				      PHX_HTTP_BODY_MAX);
		return 0;
	}
	phx_buf_add(&r->body, data, size * n);
	if (r->body.failed)
		r->code = -ENOMEM;
	return r->body.failed ? 0 : size * n;
}

int phx_http_client_receive(struct phx_http_client *c, const char *path,
			    struct phx_http_response *ret, struct phx_err *err)
{
	struct receiver got = {.err = err};
	struct phx_http_response response = {0};
	curl_easy_setopt(c->easy, CURLOPT_WRITEFUNCTION, receive);
	curl_easy_setopt(c->easy, CURLOPT_WRITEDATA, &got);
	int r = phx_http_client_perform(c, path, &got.code, err);
	response.n = got.body.n;
	if (r == 0)
		response.body = phx_buf_take(&got.body);
	phx_buf_fini(&got.body);
	if (r < 0)
		return r;
	if (!response.body)
		return -ENOMEM;
	curl_off_t retry_after_s = 0;
	curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &response.status);
	if (curl_easy_getinfo(c->easy, CURLINFO_RETRY_AFTER, &retry_after_s) == CURLE_OK &&
	    retry_after_s > 0)
		response.retry_after_s =
			retry_after_s < UINT32_MAX ? (uint32_t)retry_after_s : UINT32_MAX;
	*ret = response;
	return 0;
}

static void set_method(CURL *easy, const char *method, const char *text)
{
	if (text) {
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(text));
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS, text);
	} else if (!strcmp(method, "HEAD")) {
		curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
	}
	if (text || strcmp(method, "HEAD"))
		curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
}

static void free_secret(char **text)
{
	if (*text)
		explicit_bzero(*text, strlen(*text));
	free(*text);
}

static int call_with(struct phx_http_client *c, const char *method, const char *path,
		     const char *type, const char *text, uint32_t timeout_ms, bool brief,
		     struct phx_http_response *ret, struct phx_err *err)
{
	CURL *easy = phx_http_client_begin(c, path, err);
	if (!easy)
		return -EINVAL;
	if (text) {
		phx_http_client_header(c, "Content-Type", type);
		phx_http_client_header(c, "Expect", ""); /* no round trip before the body */
	}
	if (brief)
		phx_http_client_header(c, PHX_HTTP_PREFER, PHX_HTTP_PREFER_MINIMAL);
	set_method(easy, method, text);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS,
			 (long)(timeout_ms ? timeout_ms : CALL_TIMEOUT_MS));
	return phx_http_client_receive(c, path, ret, err);
}

static int call(struct phx_http_client *c, const char *method, const char *path, const json_t *json,
		uint32_t timeout_ms, bool brief, struct phx_http_response *ret, struct phx_err *err)
{
	PHX_AUTO(free_secret) char *text = json ? phx_json_text(json) : NULL;
	if (json && !text)
		return -ENOMEM;
	return call_with(c, method, path, "application/json", text, timeout_ms, brief, ret, err);
}

int phx_http_call_text(struct phx_http_client *c, const char *path, const char *text,
		       uint32_t timeout_ms, struct phx_http_response *ret, struct phx_err *err)
{
	return call_with(c, "POST", path, "text/plain", text, timeout_ms, false, ret, err);
}

int phx_http_call(struct phx_http_client *c, const char *method, const char *path,
		  const json_t *json, uint32_t timeout_ms, struct phx_http_response *ret,
		  struct phx_err *err)
{
	return call(c, method, path, json, timeout_ms, false, ret, err);
}

int phx_http_call_brief(struct phx_http_client *c, const char *method, const char *path,
			const json_t *json, uint32_t timeout_ms, struct phx_http_response *ret,
			struct phx_err *err)
{
	return call(c, method, path, json, timeout_ms, true, ret, err);
}

/* The server's own words for a status that is no success. */
static int fail_as_told(const char *path, const struct phx_http_response *response,
			struct phx_err *err)
{
	PHX_AUTO_JSON json_t *j = NULL;
	if (phx_json_parse(response->body, response->n, &j, NULL) < 0)
		j = NULL;
	const char *text = phx_json_str(j, "error", NULL);
	int code = phx_http_code_of(response->status, phx_json_str(j, "code", NULL));
	return text ? phx_err_set(err, code, "%s", text)
		    : phx_err_set(err, code, "%s: status %ld", path, response->status);
}

int phx_http_answer_json(const char *path, const struct phx_http_response *response,
			 json_t **ret_json, struct phx_err *err)
{
	if (response->status < 200 || response->status > 299)
		return fail_as_told(path, response, err);
	if (!ret_json)
		return 0;
	json_t *j = NULL;
	if (response->n) {
		struct phx_err why = {0};
		if (phx_json_parse(response->body, response->n, &j, &why) < 0)
			return phx_err_set(err, -EBADMSG, "%s: the answer is not JSON: %s", path,
					   why.text);
	}
	*ret_json = j;
	return 0;
}

int phx_http_call_json(struct phx_http_client *c, const char *method, const char *path,
		       const json_t *json, uint32_t timeout_ms, json_t **ret_json,
		       struct phx_err *err)
{
	PHX_AUTO(phx_http_response_fini) struct phx_http_response response = {0};
	int r = phx_http_call(c, method, path, json, timeout_ms, &response, err);
	if (r == 0)
		r = phx_http_answer_json(path, &response, ret_json, err);
	if (response.body) /* it may hold a disk key */
		explicit_bzero(response.body, response.n);
	return r;
}
