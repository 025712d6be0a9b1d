/* Tells whom the listeners refused because of a limit: on standard error, at most once a minute for
 * each limit, and in the status. So the person who set the limit learns that it was reached, and by
 * whom. Called by the loop and the API. Refuses nobody itself. */
#include "phxd/daemon.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

enum { TELL_AGAIN_MS = 60000 };

/* One limit of one listener. */
struct row {
	struct phx_http_refused now; /* as the listener had it at the last look */
	int64_t last_ms;             /* when a look last found more refusals */
	uint64_t n_told;             /* refusals that standard error was told of */
	int64_t told_ms;             /* and when */
};

struct refused {
	struct daemon *d;
	pthread_mutex_t lock;
	struct row rows[PHX_HTTP_LISTENERS][PHX_HTTP_LIMITS];
};

int refused_new(struct daemon *d, struct refused **ret)
{
	struct refused *f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->d = d;
	pthread_mutex_init(&f->lock, NULL);
	*ret = f;
	return 0;
}

void refused_free(struct refused *f)
{
	if (!f)
		return;
	pthread_mutex_destroy(&f->lock);
	free(f);
}

static const char *const listeners[] = {
	[PHX_HTTP_UNIX] = "the socket", [PHX_HTTP_TLS] = "HTTPS", [PHX_HTTP_PLAIN] = "HTTP"};

static const char *const limits[] = {
	[PHX_HTTP_LIMIT_CONNECTIONS] = "connections_max",
	[PHX_HTTP_LIMIT_ADDRESS] = "connections_per_address",
	[PHX_HTTP_LIMIT_PERSON] = "connections_per_user",
	[PHX_HTTP_LIMIT_FILES] = "LimitNOFILE",
	[PHX_HTTP_LIMIT_REQUESTS] = "requests_per_s",
};

static uint64_t value_of(const struct phx_config *cfg, enum phx_http_limit limit)
{
	struct rlimit files = {0};
	switch (limit) {
	case PHX_HTTP_LIMIT_CONNECTIONS:
		return cfg->connections_max;
	case PHX_HTTP_LIMIT_ADDRESS:
		return cfg->connections_per_address;
	case PHX_HTTP_LIMIT_PERSON:
		return cfg->connections_per_user;
	case PHX_HTTP_LIMIT_FILES:
		getrlimit(RLIMIT_NOFILE, &files);
		return files.rlim_cur;
	case PHX_HTTP_LIMIT_REQUESTS:
		return cfg->requests_per_s;
	case PHX_HTTP_LIMITS:
		break;
	}
	return 0;
}

static const char *what_of(int limit)
{
	return limit == PHX_HTTP_LIMIT_REQUESTS ? "requests" : "connections";
}

/* Looks at one limit and tells of new refusals; the caller has the lock. Returns in how many
 * milliseconds the limit is to be looked at again. */
static int look(struct refused *f, int which, int limit, int64_t now)
{
	struct row *row = &f->rows[which][limit];
	uint64_t before = row->now.n;
	phx_http_server_refused(f->d->http, (enum phx_http_listener)which,
				(enum phx_http_limit)limit, &row->now);
	if (row->now.n != before)
		row->last_ms = now;
	if (row->now.n == row->n_told)
		return WAKE_NEVER;
	if (row->n_told && now - row->told_ms < TELL_AGAIN_MS)
		return (int)(row->told_ms + TELL_AGAIN_MS - now);
	fprintf(stderr, "phxd: %llu %s over %s refused: %s = %llu is reached, last by %s\n",
		(unsigned long long)(row->now.n - row->n_told), what_of(limit), listeners[which],
		limits[limit], (unsigned long long)value_of(&f->d->cfg, (enum phx_http_limit)limit),
		row->now.whom[0] ? row->now.whom : "all together");
	row->n_told = row->now.n;
	row->told_ms = now;
	return WAKE_NEVER;
}

int refused_tick(struct refused *f)
{
	int64_t now = engine_now(f->d->engine);
	int ms = WAKE_NEVER;
	pthread_mutex_lock(&f->lock);
	for (int which = 0; which < PHX_HTTP_LISTENERS; which++)
		for (int limit = 0; limit < PHX_HTTP_LIMITS; limit++) {
			int again_ms = look(f, which, limit, now);
			ms = again_ms < ms ? again_ms : ms;
		}
	pthread_mutex_unlock(&f->lock);
	return ms;
}

json_t *refused_view(struct refused *f, bool whole)
{
	json_t *a = json_array();
	pthread_mutex_lock(&f->lock);
	for (int which = 0; which < PHX_HTTP_LISTENERS; which++)
		for (int limit = 0; limit < PHX_HTTP_LIMITS; limit++) {
			const struct row *row = &f->rows[which][limit];
			if (row->now.n)
				json_array_append_new(
					a,
					json_pack("{s:s,s:s,s:s,s:I,s:I,s:I,s:s}", "what",
						  what_of(limit), "over", listeners[which], "limit",
						  limits[limit], "value",
						  (json_int_t)value_of(&f->d->cfg,
								       (enum phx_http_limit)limit),
						  "n", (json_int_t)row->now.n, "last_ms",
						  (json_int_t)row->last_ms, "whom",
						  whole ? row->now.whom : ""));
		}
	pthread_mutex_unlock(&f->lock);
	return a;
}
