/* Journals what somebody did and what must not stay unknown, but not each time, because he could
 * fill the journal with it: once a minute for each identity and kind, with how often it happened
 * since the last time. Called by the API's threads. Refuses nobody. */
#include "phxd/daemon.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { TELL_AGAIN_MS = 60000, ROWS_MAX = 1024 };

/* A person, and a kind of thing that he does. */
struct row {
	char who[PHX_NAME_MAX], kind[2 * PHX_NAME_MAX];
	int64_t told_ms;
	unsigned n; /* how often since it was told */
};

struct seldom {
	struct daemon *d;
	pthread_mutex_t lock;
	struct phx_list rows; /* struct row, the one that was told longest ago first */
};

int seldom_new(struct daemon *d, struct seldom **ret)
{
	struct seldom *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->d = d;
	pthread_mutex_init(&s->lock, NULL);
	*ret = s;
	return 0;
}

void seldom_free(struct seldom *s)
{
	if (!s)
		return;
	phx_list_fini(&s->rows);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* Counts one more time, and returns how often it happened since it was told; 0: it is not to be
 * told now. The caller has the lock. */
static unsigned count(struct seldom *s, const char *who, const char *kind, int64_t now)
{
	struct row row = {.told_ms = now};
	PHX_STR_SET(row.who, who);
	PHX_STR_SET(row.kind, kind);
	for (uint32_t i = 0; i < s->rows.n; i++) {
		struct row *at = PHX_LIST_AT(&s->rows, struct row, i);
		if (strcmp(at->who, row.who) != 0 || strcmp(at->kind, row.kind) != 0)
			continue;
		at->n++;
		if (now - at->told_ms < TELL_AGAIN_MS)
			return 0;
		row.n = at->n - 1;
		phx_list_remove(&s->rows, sizeof(row), i);
		break;
	}
	if (s->rows.n >= ROWS_MAX)
		phx_list_remove(&s->rows, sizeof(row), 0);
	struct row *to = phx_list_push(&s->rows, sizeof(row));
	unsigned n = row.n + 1;
	row.n = 0;
	if (to)
		*to = row;
	return to ? n : 0;
}

void seldom_tell(struct seldom *s, const struct seldom_fact *f)
{
	struct phx_event ev = {.kind = PHX_EV_notice};
	pthread_mutex_lock(&s->lock);
	unsigned n = count(s, f->who, f->kind, engine_now(s->d->engine));
	pthread_mutex_unlock(&s->lock);
	if (!n)
		return;
	PHX_STR_SET(ev.by, f->who);
	PHX_STR_SET(ev.re, f->re ? f->re : "");
	if (n > 1)
		snprintf(ev.text, sizeof(ev.text), "%s, and %u times before", f->text, n - 1);
	else
		PHX_STR_SET(ev.text, f->text);
	engine_submit(s->d->engine, &ev, NULL, NULL);
}
