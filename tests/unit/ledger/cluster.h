/* A cluster for tests of the ledger: it carries out what the ledger says, at
 * once or when the test says so, and checks the invariants after every call. */
#ifndef TESTS_UNIT_LEDGER_CLUSTER_H
#define TESTS_UNIT_LEDGER_CLUSTER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "ledger/ledger.h"

struct cluster {
	struct phx_ledger *l;
	int64_t now_ms;
	bool by_hand;        /* confirmations are the test's */
	struct phx_list out; /* struct phx_ledger_action of the last call, carried out */
	uint32_t at;         /* the next action to be carried out */
};

static inline void cluster_check(struct cluster *c)
{
	struct phx_err err = {0};
	int r = phx_ledger_check(c->l, &err);

	if (r < 0)
		fail_msg("at %lld ms: %s", (long long)c->now_ms, err.text);
}

static inline void cluster_confirm(struct cluster *c, const struct phx_ledger_action *a)
{
	if (a->kind == PHX_LEDGER_MOVE)
		assert_int_equal(
			phx_ledger_arrived(c->l, a->re, a->to, a->nodes, c->now_ms, &c->out), 0);
	else if (a->kind == PHX_LEDGER_KILL)
		assert_int_equal(phx_ledger_job_killed(c->l, a->re, a->job, c->now_ms, &c->out), 0);
	cluster_check(c);
}

/* Carry out what the last call said, and what follows from that. */
static inline void cluster_act(struct cluster *c)
{
	cluster_check(c);
	while (!c->by_hand && c->at < c->out.n) {
		struct phx_ledger_action a =
			*PHX_LIST_AT(&c->out, struct phx_ledger_action, c->at++);
		cluster_confirm(c, &a);
	}
}

static inline void cluster_init(struct cluster *c, uint32_t nodes)
{
	struct phx_ledger_config config = {.nodes = nodes, .unlimited = !nodes};

	memset(c, 0, sizeof(*c));
	assert_int_equal(phx_ledger_new(&config, &c->l), 0);
}

static inline void cluster_fini(struct cluster *c)
{
	phx_ledger_free(c->l);
	phx_list_fini(&c->out);
}

static inline void cluster_clear(struct cluster *c)
{
	c->out.n = c->at = 0;
}

static inline int cluster_activate(struct cluster *c, const struct phx_agreement *a)
{
	struct phx_err err = {0};
	int re = -1, r = phx_ledger_activate(c->l, a, c->now_ms, &re, &c->out, &err);

	if (r < 0)
		fail_msg("activate %s: %s", a->name, err.text);
	cluster_act(c);
	return re;
}

static inline void cluster_submit(struct cluster *c, int re, uint64_t id, uint32_t size)
{
	struct phx_batch_job job = {.id = id,
				    .submit_ms = c->now_ms,
				    .size = size,
				    .estimate_ms = -1,
				    .state = PHX_BATCH_WAITING};
	struct phx_err err = {0};
	int r = phx_ledger_submit(c->l, re, &job, c->now_ms, &c->out, &err);

	if (r < 0)
		fail_msg("submit: %s", err.text);
	cluster_act(c);
}

static inline void cluster_end(struct cluster *c, int re, uint64_t id)
{
	assert_int_equal(phx_ledger_job_ended(c->l, re, id, c->now_ms, &c->out), 0);
	cluster_act(c);
}

static inline void cluster_demand(struct cluster *c, int re, uint32_t n)
{
	assert_int_equal(phx_ledger_demand(c->l, re, n, c->now_ms, &c->out), 0);
	cluster_act(c);
}

static inline void cluster_tick(struct cluster *c)
{
	assert_int_equal(phx_ledger_tick(c->l, c->now_ms, &c->out), 0);
	cluster_act(c);
}

static inline void cluster_pass(struct cluster *c)
{
	assert_int_equal(phx_ledger_pass(c->l, c->now_ms, &c->out), 0);
	cluster_act(c);
}

static inline struct phx_ledger_counts cluster_counts(const struct cluster *c, int re)
{
	struct phx_ledger_counts counts;

	phx_ledger_counts(c->l, re, &counts);
	return counts;
}

static inline uint32_t cluster_held(const struct cluster *c, int re)
{
	struct phx_ledger_counts n = cluster_counts(c, re);

	return n.idle + n.busy + n.coming;
}

/* An agreement with the defaults of the papers. */
static inline struct phx_agreement agreement(const char *name, int type, int model, uint32_t lower)
{
	struct phx_agreement a;

	phx_agreement_init(&a);
	PHX_STR_SET(a.name, name);
	a.type = type;
	a.model = model;
	a.lower = lower;
	a.coordination = PHX_RE_COORDINATED_OTHER;
	return a;
}

#endif
