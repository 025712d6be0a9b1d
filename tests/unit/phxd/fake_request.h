/* Requests for tests of parts of phxd, in the place of the server's: what each is answered is kept,
 * and that it is answered once. */
#ifndef TESTS_PHXD_FAKE_REQUEST_H
#define TESTS_PHXD_FAKE_REQUEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <semaphore.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/json.h"
#include "http/http.h"

struct phx_http_request {
	struct phx_http_peer peer;
	const char *body;
	int hang_up;     /* a socket that is closed when the client hangs up; 0: none */
	bool no_room;    /* its sender has too many under way */
	bool suspended;  /* it is held, or was */
	int code;        /* 0: not answered yet; 200; an error: negative; 429: come again */
	unsigned wait_s; /* 429 */
	char text[400];
	json_t *answer;
};

/* posted with each answer */
static sem_t fake_answered;

static inline void fake_requests_begin(void)
{
	sem_init(&fake_answered, 0, 0);
}

static inline void fake_answer(struct phx_http_request *q, int code, const char *text)
{
	if (q->code)
		fail_msg("answered twice: %d, then %d", q->code, code);
	snprintf(q->text, sizeof(q->text), "%s", text ? text : "");
	q->code = code;
	sem_post(&fake_answered);
}

/* Until one more is answered, whichever. */
static inline void fake_await(void)
{
	while (sem_wait(&fake_answered) < 0)
		;
}

static inline void fake_request_fini(struct phx_http_request *q)
{
	json_decref(q->answer);
	*q = (struct phx_http_request){0};
}

const struct phx_http_peer *phx_http_peer(const struct phx_http_request *q)
{
	return &q->peer;
}

const char *phx_http_body(const struct phx_http_request *q, size_t *ret_n)
{
	const char *body = q->body ? q->body : "";
	*ret_n = strlen(body);
	return body;
}

const char *phx_http_query(const struct phx_http_request *q, const char *name)
{
	(void)q;
	(void)name;
	return NULL;
}

void phx_http_suspend(struct phx_http_request *q)
{
	assert_int_equal(q->code, 0);
	q->suspended = true;
}

void phx_http_drop_body(struct phx_http_request *q)
{
	q->body = NULL;
}

bool phx_http_gone(const struct phx_http_request *q)
{
	struct pollfd p = phx_http_hang_up(q);
	return p.fd >= 0 && poll(&p, 1, 0) > 0;
}

struct pollfd phx_http_hang_up(const struct phx_http_request *q)
{
	return (struct pollfd){.fd = q->hang_up ? q->hang_up : -1, .events = POLLRDHUP};
}

bool phx_http_claim(struct phx_http_request *q, enum phx_http_claim what, unsigned max)
{
	(void)what;
	(void)max;
	if (q->no_room)
		fake_answer(q, 429, "too many");
	return !q->no_room;
}

void phx_http_reply_json(struct phx_http_request *q, int status, const json_t *j)
{
	q->answer = json_deep_copy(j);
	fake_answer(q, status, "");
}

void phx_http_reply_error(struct phx_http_request *q, int code, const char *text)
{
	fake_answer(q, code, text);
}

void phx_http_reply_later(struct phx_http_request *q, unsigned wait_s, const char *text)
{
	q->wait_s = wait_s;
	fake_answer(q, 429, text);
}

#endif
