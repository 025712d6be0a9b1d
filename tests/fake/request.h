/* A fake request, for the unit tests of phxd's parts: what a part asks of it is what the test has
 * put there, and its answer is kept; a second answer fails the test. The functions take the place
 * of those of lib/http. */
#ifndef TESTS_FAKE_REQUEST_H
#define TESTS_FAKE_REQUEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "http/http.h"

enum { FAKE_WORDS = 6, FAKE_TEXT = 2048, FAKE_LATER = 429 };

struct fake_word {
	const char *name, *value;
};

struct phx_http_request {
	struct phx_http_peer peer;
	const char *params[2];
	struct fake_word query[FAKE_WORDS], headers[FAKE_WORDS];
	const char *body;      /* NULL: none */
	const char *body_path; /* of an upload */
	uint64_t announced;
	bool busy;       /* as much is under way as may be */
	unsigned thread; /* that answers it */
	int hang_up;     /* whose other end is closed when its client hangs up; 0: he never does */
	/* the answer */
	int code; /* 0: none yet; that of an error; or a status */
	bool held;
	unsigned wait_s;
	char text[FAKE_TEXT]; /* of an error, or what a file holds */
	json_t *json;
	const struct phx_http_page *page;
};

static sem_t fake_answered; /* is posted with each answer */

static inline void fake_requests_begin(void)
{
	sem_init(&fake_answered, 0, 0);
}

static inline void fake_request_fini(struct phx_http_request *q)
{
	json_decref(q->json);
	*q = (struct phx_http_request){0};
}
#define FAKE_REQUEST PHX_AUTO(fake_request_fini) struct phx_http_request

static inline const char *fake_word_of(const struct fake_word *words, const char *name)
{
	for (int i = 0; i < FAKE_WORDS && words[i].name; i++)
		if (!strcmp(words[i].name, name))
			return words[i].value;
	return NULL;
}

static inline void fake_answer_with(struct phx_http_request *q, int code, const char *text)
{
	if (q->code)
		fail_msg("answered twice: %d, then %d", q->code, code);
	snprintf(q->text, sizeof(q->text), "%s", text);
	q->code = code;
	sem_post(&fake_answered);
}

/* Until one more request is answered, whichever; the test began with fake_requests_begin(). */
static inline void fake_await(void)
{
	while (sem_wait(&fake_answered) < 0)
		;
}

/* ---- what is asked of it ---- */

const struct phx_http_peer *phx_http_peer(const struct phx_http_request *q)
{
	return &q->peer;
}
const char *phx_http_param(const struct phx_http_request *q, int i)
{
	return q->params[i] ? q->params[i] : "";
}
const char *phx_http_query(const struct phx_http_request *q, const char *name)
{
	return fake_word_of(q->query, name);
}
const char *phx_http_header(const struct phx_http_request *q, const char *name)
{
	return fake_word_of(q->headers, name);
}
const char *phx_http_body(const struct phx_http_request *q, size_t *ret_n)
{
	*ret_n = q->body ? strlen(q->body) : 0;
	return q->body ? q->body : "";
}
const char *phx_http_body_path(const struct phx_http_request *q)
{
	return q->body_path;
}
uint64_t phx_http_body_announced(const struct phx_http_request *q)
{
	return q->announced;
}
bool phx_http_claim(struct phx_http_request *q, enum phx_http_claim what, unsigned max)
{
	(void)what;
	(void)max;
	if (q->busy)
		fake_answer_with(q, FAKE_LATER, "too many of yours are under way");
	return !q->busy;
}
void phx_http_suspend(struct phx_http_request *q)
{
	assert_int_equal(q->code, 0);
	q->held = true;
}
void phx_http_drop_body(struct phx_http_request *q)
{
	q->body = NULL;
}
bool phx_http_gone(const struct phx_http_request *q)
{
	struct pollfd p = phx_http_hang_up(q);
	return poll(&p, 1, 0) > 0;
}
struct pollfd phx_http_hang_up(const struct phx_http_request *q)
{
	return (struct pollfd){.fd = q->hang_up ? q->hang_up : -1, .events = POLLRDHUP};
}
unsigned phx_http_thread(const struct phx_http_request *q)
{
	return q->thread;
}

/* ---- answers ---- */

void phx_http_reply_error(struct phx_http_request *q, int code, const char *text)
{
	assert_true(code < 0);
	fake_answer_with(q, code, text);
}
void phx_http_reply_later(struct phx_http_request *q, unsigned wait_s, const char *text)
{
	q->wait_s = wait_s;
	fake_answer_with(q, FAKE_LATER, text);
}
void phx_http_reply_json(struct phx_http_request *q, int status, const json_t *j)
{
	q->json = json_deep_copy(j);
	fake_answer_with(q, status, "");
}
void phx_http_reply_json_text(struct phx_http_request *q, int status, char *text)
{
	fake_answer_with(q, status, text);
	free(text);
}
void phx_http_reply_all(struct phx_http_request *const *q, size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++)
		fake_answer_with(q[i], 200, text);
}
void phx_http_reply_text(struct phx_http_request *q, int status, const char *type, const char *text)
{
	q->page = NULL;
	q->json = json_string(type);
	fake_answer_with(q, status, text);
}
void phx_http_reply_page(struct phx_http_request *q, const struct phx_http_page *page)
{
	q->page = page;
	fake_answer_with(q, 200, "");
}
void phx_http_reply_file(struct phx_http_request *q, const char *path, const char *etag,
			 const char *type)
{
	PHX_AUTO_FREE char *data = NULL;
	(void)etag;
	(void)type;
	int r = phx_file_read(path, FAKE_TEXT - 1, &data, NULL, NULL);
	if (r == -EFBIG) /* no test needs to see it */
		fake_answer_with(q, 200, "...");
	else
		fake_answer_with(q, r < 0 ? r : 200, r < 0 ? "" : data);
}
void phx_http_reply_fd(struct phx_http_request *q, int fd, const char *type)
{
	char opened[64];
	snprintf(opened, sizeof(opened), "/proc/self/fd/%d", fd);
	phx_http_reply_file(q, opened, NULL, type);
	close(fd);
}

#endif
