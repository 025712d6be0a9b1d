/* An RE "mtc" of unix:hpc, with member alice, whose triggers the core itself fires: for the tests
 * of what calls and files lead to. */
#ifndef TESTS_PHXD_TRIGGER_H
#define TESTS_PHXD_TRIGGER_H

#include "unit/core/pair.h"

static inline void re_runs(struct world *w)
{
	struct phx_agreement a = mtc_agreement("unix:hpc", 1);
	PHX_STR_SET(a.users, "unix:alice");
	a.upper = 1;
	world_ready(w, "n1", true);
	assert_int_equal(create(w, &a), 0);
	assert_int_equal(operate(w, PHX_EV_re_activate, "mtc"), 0);
	settle(w);
}

/* What differs between triggers. */
struct made {
	const char *name, *user; /* user: "alice", or "hpc", who owns the RE */
	enum phx_trigger_kind kind;
	const char *file, *token; /* the token itself; NULL: none */
	int64_t every_ms, stable_ms;
	bool existing;
};

static inline struct phx_trigger *trigger_made(struct world *w, const struct made *m)
{
	struct phx_event ev = {.kind = PHX_EV_trigger_create};
	struct phx_event_trigger_create *p = &ev.trigger_create;
	p->trigger_kind = m->kind;
	p->uid = p->gid = 1000;
	p->must_be_member = true;
	p->queue_max = p->at_once = 1;
	p->existing = m->existing;
	p->when.every_ms = m->every_ms;
	p->when.stable_ms = m->stable_ms;
	p->flow.n_tasks = 1;
	memset(p->flow.digest, 'a', 64);
	PHX_STR_SET(p->when.file, m->file);
	if (m->kind == PHX_TRIGGER_HTTP)
		snprintf(p->when.http, sizeof(p->when.http), PHX_TRIGGER_HOOK "%s", m->name);
	PHX_STR_SET(p->name, m->name);
	PHX_STR_SET(p->user, m->user);
	snprintf(p->owner, sizeof(p->owner), "unix:%.60s", m->user);
	PHX_STR_SET(ev.re, "mtc");
	assert_int_equal(phx_text_push(&p->flow.shape, "=1,0,0,0,0\n"), 0);
	if (m->token)
		assert_int_equal(phx_sha256_of(m->token, strlen(m->token), p->token_sha256), 0);
	if (world_apply(w, &ev, NULL) < 0)
		fail_msg("%s: %s", m->name, w->err.text);
	phx_event_fini(&ev);
	return phx_state_trigger_named(&w->s, m->name);
}

static inline int trigger_order(struct world *w, int kind, const char *name)
{
	struct phx_event ev = {.kind = kind, .by = "unix:alice"};
	ev.trigger_order.trigger = phx_state_trigger_named(&w->s, name)->id;
	return world_apply(w, &ev, NULL);
}

#endif
