/* A fake phxd for the tests of the command line: a real HTTP server on a Unix
 * socket that gives canned answers and writes down what it was asked. And the
 * real phx, run as a program. */
#ifndef TESTS_FAKE_PHXD_H
#define TESTS_FAKE_PHXD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/spawn.h"
#include "base/tree.h"
#include "http/http.h"

enum { FAKE_ANSWERS_MAX = 64, FAKE_LOG_MAX = 65536 };

/* One canned answer. Answers to the same request are given in order, the last one again and
 * again. */
struct fake_answer {
	/* "GET /v1/nodes", without the query; "GET /v1/nodes?names=@up": who is in one group */
	const char *request;
	int status;
	char *body;
	unsigned given;
};

struct fake_phxd {
	struct phx_http_server *server;
	char dir[64];
	char socket[96];
	pthread_mutex_t lock;
	struct fake_answer answers[FAKE_ANSWERS_MAX];
	unsigned n_answers;
	char log[FAKE_LOG_MAX]; /* "METHOD PATH BODY\n" of every request */
};

static struct fake_answer *fake_find(struct fake_phxd *f, const char *request)
{
	struct fake_answer *last = NULL;
	for (unsigned i = 0; i < f->n_answers; i++) {
		if (strcmp(f->answers[i].request, request) != 0)
			continue;
		last = &f->answers[i];
		if (!last->given)
			break;
	}
	return last;
}

/* To a question for one group: its own answer, or else that to a question for all. */
static struct fake_answer *fake_find_for(struct fake_phxd *f, const char *request,
					 const char *names)
{
	char asked[1024];
	snprintf(asked, sizeof(asked), "%s?names=%s", request, names ? names : "");
	struct fake_answer *a = names && names[0] == '@' ? fake_find(f, asked) : NULL;
	return a ? a : fake_find(f, request);
}

static void fake_handle(struct phx_http_request *q, struct fake_phxd *f, const char *method)
{
	char request[1000];
	size_t n = 0;
	const char *body = phx_http_body(q, &n);
	snprintf(request, sizeof(request), "%s %s", method, phx_http_path(q));
	pthread_mutex_lock(&f->lock);
	size_t at = strlen(f->log);
	const char *after = phx_http_query(q, "after");
	snprintf(f->log + at, sizeof(f->log) - at, "%s%s%s %s\n", request, after ? "?after=" : "",
		 after ? after : "", n ? body : "");
	struct fake_answer *a = fake_find_for(f, request, phx_http_query(q, "names"));
	if (a)
		a->given++;
	pthread_mutex_unlock(&f->lock);
	if (!a)
		phx_http_reply_error(q, -ENOENT, "fake_phxd has no answer for this");
	else
		phx_http_reply_text(q, a->status, "application/json", a->body);
}

static void fake_get(struct phx_http_request *q, void *arg)
{
	fake_handle(q, arg, "GET");
}

static void fake_post(struct phx_http_request *q, void *arg)
{
	fake_handle(q, arg, "POST");
}

static void fake_put(struct phx_http_request *q, void *arg)
{
	fake_handle(q, arg, "PUT");
}

static const struct phx_http_route fake_routes[] = {
	{"GET", "/v1/**", 1u << PHX_HTTP_UNIX, fake_get, 0, false, NULL},
	{"POST", "/v1/**", 1u << PHX_HTTP_UNIX, fake_post, 1 << 20, false, NULL},
	{"PUT", "/v1/**", 1u << PHX_HTTP_UNIX, fake_put, 1 << 20, false, NULL},
};

static void fake_start(struct fake_phxd *f)
{
	struct phx_err err = {0};
	memset(f, 0, sizeof(*f));
	pthread_mutex_init(&f->lock, NULL);
	snprintf(f->dir, sizeof(f->dir), "/tmp/phx-cli.XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->socket, sizeof(f->socket), "%s/phxd.sock", f->dir);
	const struct phx_http_server_config config = {.routes = fake_routes,
						      .n_routes = PHX_ARRAY_SIZE(fake_routes),
						      .arg = f,
						      .unix_path = f->socket,
						      .unix_gid = getgid(),
						      .spool_dir = f->dir};
	if (phx_http_server_start(&config, &f->server, &err) < 0)
		fail_msg("fake_phxd: %s", err.text);
}

static void fake_stop(struct fake_phxd *f)
{
	phx_http_server_free(f->server);
	for (unsigned i = 0; i < f->n_answers; i++)
		free(f->answers[i].body);
	phx_dir_remove(f->dir, NULL);
	pthread_mutex_destroy(&f->lock);
}

/* Forget answers and log; the server stays. */
static __attribute__((unused)) void fake_reset(struct fake_phxd *f)
{
	pthread_mutex_lock(&f->lock);
	for (unsigned i = 0; i < f->n_answers; i++)
		free(f->answers[i].body);
	f->n_answers = 0;
	f->log[0] = '\0';
	pthread_mutex_unlock(&f->lock);
}

/* `body` is JSON in which ' stands for ". */
static __attribute__((unused)) void fake_answer_status(struct fake_phxd *f, const char *request,
						       int status, const char *body)
{
	char *copy = strdup(body);
	for (char *p = copy; *p; p++)
		if (*p == '\'')
			*p = '"';
	pthread_mutex_lock(&f->lock);
	assert_true(f->n_answers < FAKE_ANSWERS_MAX);
	f->answers[f->n_answers++] = (struct fake_answer){request, status, copy, 0};
	pthread_mutex_unlock(&f->lock);
}

static __attribute__((unused)) void fake_answer(struct fake_phxd *f, const char *request,
						const char *body)
{
	fake_answer_status(f, request, 200, body);
}

/* ---- phx ---- */

struct phx_said {
	int status;
	char *out, *errout;
};

static inline void phx_said_fini(struct phx_said *s)
{
	free(s->out);
	free(s->errout);
}
#define PHX_SAID PHX_AUTO(phx_said_fini) struct phx_said

/* build/bin/phx beside this test: build/tests/unit/cli/NAME. */
static const char *phx_program(void)
{
	static char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);
	assert_true(n > 0);
	path[n] = '\0';
	for (int i = 0; i < 4; i++)
		*strrchr(path, '/') = '\0';
	strcat(path, "/bin/phx");
	return path;
}

static struct phx_said run_argv(const char *const *argv, const char *const *env)
{
	struct phx_run_result r = {0};
	struct phx_err err = {0};
	if (phx_run(&(struct phx_run){.argv = argv, .env_add = env, .timeout_ms = 300000}, &r,
		    &err) < 0)
		fail_msg("%s: %s", argv[0], err.text);
	return (struct phx_said){r.status, r.out, r.errout};
}

/* Run phx with the words of `line` (divided by blanks) against the fake. */
static __attribute__((unused)) struct phx_said phx_at(const char *socket, const char *line)
{
	char copy[2048], env_socket[160];
	const char *argv[64] = {phx_program()};
	unsigned n = 1;
	snprintf(copy, sizeof(copy), "%s", line);
	snprintf(env_socket, sizeof(env_socket), "PHX_SOCKET=%s", socket);
	char *save = NULL;
	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[n++] = w;
	const char *const env[] = {env_socket, "TZ=UTC", "LC_ALL=C.UTF-8", NULL};
	return run_argv(argv, env);
}

#define phx(f, line) phx_at((f)->socket, line)

static __attribute__((unused)) void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("expected \"%s\" in:\n%s", part, text);
}

static __attribute__((unused)) void assert_lacks(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("did not expect \"%s\" in:\n%s", part, text);
}

/* A test group's fake, made and ended by cmocka. */
static __attribute__((unused)) int fake_setup(void **state)
{
	static struct fake_phxd fake;
	fake_start(&fake);
	*state = &fake;
	return 0;
}

static __attribute__((unused)) int fake_teardown(void **state)
{
	fake_stop(*state);
	return 0;
}

static __attribute__((unused)) int fake_clean(void **state)
{
	fake_reset(*state);
	return 0;
}

#endif
