/* A request and the core behind it, for targets that include handlers of phxd: the body is the
 * target's input, each answer is counted, and an event is looked at as the journal would. A target
 * gives `peer` before it includes this. */
#ifndef FUZZ_REQUEST_H
#define FUZZ_REQUEST_H

#include "fuzz/fuzz.h"
#include "phxd/daemon.h"
#include "state/event.h"

static const char *body;
static unsigned answers, mood; /* what comes of it: the target's */
static struct phx_state state;

/* ---- the request ---- */

const struct phx_http_peer *phx_http_peer(const struct phx_http_request *q)
{
	(void)q;
	return &peer;
}

const char *phx_http_query(const struct phx_http_request *q, const char *name)
{
	(void)q, (void)name;
	return NULL;
}

void phx_http_reply_error(struct phx_http_request *q, int code, const char *text)
{
	(void)q;
	fuzz_never(code >= 0 || !text[0]);
	answers++;
}

json_t *body_json(struct phx_http_request *q)
{
	struct phx_err err = {0};
	json_t *j = NULL;
	size_t n = strlen(body);
	int r = phx_json_check_shape(body, n, BODY_SHAPE, &err);
	r = r ? r : phx_json_parse(body, n, &j, &err);
	if (r == 0 && json_is_object(j))
		return j;
	json_decref(j);
	phx_http_reply_error(q, -EINVAL, "no object");
	return NULL;
}

/* ---- the core ---- */

const struct phx_state *engine_lock(struct engine *e)
{
	(void)e;
	return &state;
}

void engine_unlock(struct engine *e)
{
	(void)e;
}

/* The journal gives it back as it was. */
static inline void check_journal(const struct phx_event *ev)
{
	struct phx_event again = {0};
	PHX_AUTO_FREE char *text = phx_json_record_text_sparse(&phx_event_record, ev);
	fuzz_never(!text || phx_json_text_to_record(&phx_event_record, text, &again, NULL) < 0);
	PHX_AUTO_FREE char *other = phx_json_record_text_sparse(&phx_event_record, &again);
	fuzz_never(!other || strcmp(text, other));
	phx_event_fini(&again);
}

#endif
