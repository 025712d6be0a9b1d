/* What is submitted to the fake engine, and its notices: kept instead of applied; with a journal
 * and a clock that the test sets. */
#ifndef TESTS_FAKE_SUBMITTED_H
#define TESTS_FAKE_SUBMITTED_H

#include "fake/engine.h"
#include "phxd/daemon.h"

static struct phx_store *fake_store;

static int fake_submit_result;      /* of each event */
static bool fake_changed;           /* what came of it */
static struct phx_list fake_events; /* struct phx_event: its own members, not its lists */
/* looks at an event while its lists are there, and says what comes of it; NULL: nobody does */
static void (*fake_submit_looks)(const struct phx_event *ev, struct phx_outcome *ret);
static unsigned fake_n_notices;
static char fake_notice[400]; /* the last */

static inline void fake_engine_begin(void)
{
	fake_state = NULL;
	fake_store = NULL;
	fake_now_ms = 1000000;
	fake_submit_result = 0;
	fake_changed = false;
	fake_submit_looks = NULL;
	fake_n_notices = 0;
	fake_notice[0] = '\0';
	phx_list_fini(&fake_events);
	fake_events = (struct phx_list){0};
}

static inline const struct phx_event *fake_event(uint32_t i)
{
	assert_true(i < fake_events.n);
	return PHX_LIST_AT(&fake_events, struct phx_event, i);
}

struct phx_store *engine_store(struct engine *e)
{
	(void)e;
	return fake_store;
}

void engine_notice(struct engine *e, const char *re, const char *text)
{
	(void)e;
	(void)re;
	assert_false(fake_engine_held);
	pthread_mutex_lock(&fake_engine_lock);
	fake_n_notices++;
	snprintf(fake_notice, sizeof(fake_notice), "%s", text);
	pthread_mutex_unlock(&fake_engine_lock);
}

int engine_submit(struct engine *e, struct phx_event *ev, struct phx_outcome *ret,
		  struct phx_err *err)
{
	(void)e;
	assert_false(fake_engine_held);
	struct phx_event *to = phx_list_push(&fake_events, sizeof(*to));
	assert_non_null(to);
	*to = *ev;
	if (ret && fake_submit_result == 0)
		ret->changed = fake_changed;
	if (fake_submit_looks && fake_submit_result == 0)
		fake_submit_looks(ev, ret);
	return fake_submit_result < 0
		? phx_err_set(err, fake_submit_result, "the journal refuses it")
		: 0;
}

#endif
