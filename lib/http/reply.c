/* Answers: JSON, text, errors, and handing them to libmicrohttpd. Called by handlers on any
 * thread, once per request. JSON may carry secrets (a disk key on its way to its node), so its
 * text is written once, in one piece, and wiped when sent. */
#include "http/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

/* Nobody knows when what is under way ends. */
enum { SHARE_AGAIN_S = 30 };

/* Under the server's lock. */
static void give_locked(struct phx_http_request *q, int status, struct MHD_Response *response)
{
	const struct phx_http_server *s = q->server;
	bool constant = response == s->constant || response == s->constant_none;
	if (response && q->response) {
		if (!constant)
			MHD_destroy_response(response);
	} else if (response) {
		q->response = response;
		q->constant = constant;
		q->status = (unsigned)status;
		if (q->suspended)
			MHD_resume_connection(q->mhd);
	}
}

void phx_http_give(struct phx_http_request *q, int status, struct MHD_Response *response)
{
	struct phx_http_server *s = q->server;
	pthread_mutex_lock(&s->lock);
	give_locked(q, status, response);
	pthread_mutex_unlock(&s->lock);
	/* from here on q may be gone */
}

static void wipe_text(void *text)
{
	explicit_bzero(text, strlen(text));
	free(text);
}

/* Takes `text`. */
static struct MHD_Response *make_response(char *text, const char *type)
{
	struct MHD_Response *r = text
		? MHD_create_response_from_buffer_with_free_callback(strlen(text), text, wipe_text)
		: NULL;
	if (!r)
		free(text);
	else if (type)
		MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (r) /* what a job wrote is no page, whatever it looks like */
		MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	return r;
}

/* Out of memory: an answer all the same, so that a suspended request never hangs, and one that
 * nobody takes for what was asked for. */
static struct MHD_Response *no_memory(void)
{
	static const char text[] =
		"{\"error\":\"phxd has no memory for the answer\",\"code\":\"ENOMEM\"}";
	struct MHD_Response *r = MHD_create_response_from_buffer(sizeof(text) - 1, (void *)text,
								 MHD_RESPMEM_PERSISTENT);
	if (r)
		MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, "application/json");
	return r;
}

static char *dump(const json_t *j)
{
	size_t flags = JSON_COMPACT | JSON_ENCODE_ANY;
	size_t n = json_dumpb(j, NULL, 0, flags);
	char *text = n ? malloc(n + 1) : NULL;
	if (!text || json_dumpb(j, text, n, flags) != n) {
		free(text);
		return NULL;
	}
	text[n] = '\0';
	return text;
}

/* `r`: NULL for want of memory. With one more header, unless it has no name. */
static void give(struct phx_http_request *q, int status, struct MHD_Response *r, const char *header,
		 const char *value)
{
	if (!r) {
		r = no_memory();
		status = status < 400 ? 500 : status; /* a refusal stays what it is */
	}
	if (r && header)
		MHD_add_response_header(r, header, value);
	phx_http_give(q, status, r);
}

void phx_http_reply_json_with(struct phx_http_request *q, int status, const json_t *j,
			      const char *header, const char *value)
{
	give(q, status, j ? make_response(dump(j), "application/json") : NULL, header, value);
}

void phx_http_reply_json_text(struct phx_http_request *q, int status, char *text)
{
	give(q, status, make_response(text, "application/json"), NULL, NULL);
}

void phx_http_reply_json(struct phx_http_request *q, int status, const json_t *j)
{
	phx_http_reply_json_with(q, status, j, NULL, NULL);
}

void phx_http_reply_text(struct phx_http_request *q, int status, const char *type, const char *text)
{
	give(q, status, make_response(strdup(text), type), NULL, NULL);
}

/* Under the server's lock. */
static struct MHD_Response *constant_response(struct phx_http_server *s, const char *text)
{
	if (s->constant && s->constant_text == text)
		return s->constant;
	struct MHD_Response *r = make_response(strdup(text), "application/json");
	if (!s->constant) {
		s->constant = r;
		s->constant_text = text;
	}
	return r;
}

/* The same; NULL without memory. */
static struct MHD_Response *constant_none(struct phx_http_server *s)
{
	if (!s->constant_none)
		s->constant_none = MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
	return s->constant_none;
}

void phx_http_reply_all(struct phx_http_request *const *q, size_t n, const char *text)
{
	struct phx_http_server *s = n ? q[0]->server : NULL;
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < n; i++) {
		struct MHD_Response *none = q[i]->brief ? constant_none(s) : NULL;
		struct MHD_Response *r = none ? none : constant_response(s, text);
		give_locked(q[i], none ? 204 : r ? 200 : 500, r ? r : no_memory());
	}
	pthread_mutex_unlock(&s->lock);
}

/* A JSON string whatever the bytes: a path quoted in an error may be no UTF-8. */
static json_t *safe_string(const char *text)
{
	json_t *j = json_string(text);
	if (j)
		return j;
	char *copy = strdup(text);
	for (char *p = copy; p && *p; p++)
		if ((unsigned char)*p >= 0x80)
			*p = '?';
	j = copy ? json_string(copy) : NULL;
	free(copy);
	return j;
}

static json_t *error_json(int code, const char *text)
{
	return json_pack("{s:o, s:s}", "error", safe_string(text), "code",
			 phx_http_code_name(code));
}

void phx_http_refuse(struct phx_http_request *q, int status, int code, const char *text,
		     const char *allow)
{
	PHX_AUTO_JSON json_t *j = error_json(code, text);
	phx_http_reply_json_with(q, status, j, allow ? MHD_HTTP_HEADER_ALLOW : NULL, allow);
}

static void refuse_for_now(struct phx_http_request *q, int code, unsigned wait_s, const char *text)
{
	PHX_AUTO_JSON json_t *j = error_json(code, text);
	char value[16];
	snprintf(value, sizeof(value), "%u", wait_s);
	phx_http_reply_json_with(q, phx_http_status_of(code), j, MHD_HTTP_HEADER_RETRY_AFTER,
				 value);
}

void phx_http_reply_later(struct phx_http_request *q, unsigned wait_s, const char *text)
{
	refuse_for_now(q, -EDQUOT, wait_s, text);
}

void phx_http_reply_error(struct phx_http_request *q, int code, const char *text)
{
	const char *why = text && text[0] ? text : strerror(-code);
	if (code == -EDQUOT || code == -EAGAIN)
		refuse_for_now(q, code, SHARE_AGAIN_S, why);
	else
		phx_http_refuse(q, phx_http_status_of(code), code, why, NULL);
}
