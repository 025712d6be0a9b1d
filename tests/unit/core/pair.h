/* A batch RE "queue" and a web RE "shop" that share five nodes, for tests of what
 * they do to each other. Everything real but the machines (world.h). */
#ifndef TESTS_CORE_PAIR_H
#define TESTS_CORE_PAIR_H

#include "unit/core/world.h"

enum { NODES = 5 };

static inline void nodes_ready(struct world *w)
{
	char name[8];
	for (unsigned i = 1; i <= NODES; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		world_ready(w, name, true);
	}
}

/* `n` free nodes like n1, in one go. */
static inline void many_ready(struct world *w, uint32_t n)
{
	world_ready(w, "n1", true);
	for (uint32_t i = 2; i <= n; i++) {
		struct phx_node *twin = phx_list_push(&w->s.nodes, sizeof(*twin));
		assert_int_equal(phx_record_copy(&phx_node_record, twin,
						 PHX_LIST_AT(&w->s.nodes, struct phx_node, 0)),
				 0);
		twin->number = i;
		snprintf(twin->name, sizeof(twin->name), "n%u", i);
		snprintf(twin->serial, sizeof(twin->serial), "serial-%u", i);
		snprintf(twin->key_fp, sizeof(twin->key_fp), "key-%u", i);
		snprintf(twin->facts.uuid, sizeof(twin->facts.uuid), "uuid-%u", i);
		PHX_STR_SET(twin->proven_uuid, twin->facts.uuid);
		snprintf(PHX_LIST_AT(&twin->macs, struct phx_mac, 0)->mac, PHX_MAC_MAX,
			 "52:54:00:00:%02x:%02x", i >> 8, i & 255);
		snprintf(PHX_LIST_AT(&twin->facts.nics, struct phx_nic_facts, 0)->mac, PHX_MAC_MAX,
			 "52:54:00:00:%02x:%02x", i >> 8, i & 255);
		snprintf(PHX_LIST_AT(&twin->facts.disks, struct phx_disk_facts, 0)->id, 32,
			 "serial-disk%u", i);
		snprintf(PHX_LIST_AT(&twin->known_disks, struct phx_known_disk, 0)->id, 32,
			 "serial-disk%u", i);
	}
	w->s.last_node_number = n;
}

/* Machines do what they are told until all are at rest. */
static inline void settle(struct world *w)
{
	for (bool moved = true; moved;) {
		moved = false;
		for (uint32_t i = 0; i < w->s.nodes.n; i++) {
			char name[PHX_NAME_MAX];
			PHX_STR_SET(name, PHX_LIST_AT(&w->s.nodes, struct phx_node, i)->name);
			moved = (name[0] && world_step(w, name)) || moved;
		}
	}
}

static inline struct phx_agreement agreement(const char *name, int type, uint32_t lower)
{
	struct phx_agreement a;
	phx_agreement_init(&a);
	PHX_STR_SET(a.name, name);
	PHX_STR_SET(a.owner, type == PHX_RE_BATCH ? "hpc" : "shop");
	PHX_STR_SET(a.role, type == PHX_RE_BATCH ? "compute" : "web");
	PHX_STR_SET(a.partner, type == PHX_RE_BATCH ? "shop" : "queue");
	a.type = type;
	a.coordination = PHX_RE_COORDINATED_OTHER;
	a.model = PHX_POLICY_fb;
	a.lower = a.upper = lower;
	a.lease_s = 60;
	return a;
}

/* Of the many-task RE "mtc"; one that does not grow has `upper` = `lower`. */
static inline struct phx_agreement mtc_agreement(const char *owner, uint32_t lower)
{
	struct phx_agreement a;
	phx_agreement_init(&a);
	PHX_STR_SET(a.name, "mtc");
	PHX_STR_SET(a.owner, owner);
	PHX_STR_SET(a.role, "compute");
	a.type = PHX_RE_MANY_TASKS;
	a.model = phx_agreement_model(&a);
	a.cycle_s = phx_agreement_cycle(&a);
	a.lower = lower;
	return a;
}

static inline int create(struct world *w, const struct phx_agreement *a)
{
	struct phx_event ev = {.kind = PHX_EV_re_create,
			       .ask = {.who = PHX_RE_WHO_PROVIDER, .agreement = *a}};
	return world_apply(w, &ev, NULL);
}

static inline int operate(struct world *w, int kind, const char *re)
{
	struct phx_event ev = {.kind = kind, .re_order.who = PHX_RE_WHO_SERVICE};
	ev.re_order.who = kind == PHX_EV_re_destroy ? PHX_RE_WHO_PROVIDER : PHX_RE_WHO_SERVICE;
	PHX_STR_SET(ev.re, re);
	return world_apply(w, &ev, NULL);
}

static inline void pair_running(struct world *w, uint32_t batch, uint32_t web)
{
	struct phx_agreement q = agreement("queue", PHX_RE_BATCH, batch),
			     s = agreement("shop", PHX_RE_WEB, web);
	nodes_ready(w);
	assert_int_equal(create(w, &q), 0);
	assert_int_equal(create(w, &s), 0);
	assert_int_equal(operate(w, PHX_EV_re_activate, "queue"), 0);
	assert_int_equal(operate(w, PHX_EV_re_activate, "shop"), 0);
	settle(w);
}

static inline uint32_t held(const struct world *w, const char *re)
{
	uint32_t n_held = 0;
	PHX_NODES_EACH(n, &w->s)
		n_held += n->allocation == PHX_ALLOCATION_HELD && !strcmp(n->allocated_to, re) &&
			n->state == PHX_NODE_ACTIVE && !strcmp(n->pool, re);
	return n_held;
}

static inline void tick(struct world *w, int64_t ms)
{
	struct phx_event ev = {.kind = PHX_EV_tick};
	w->now += ms;
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

/* A job of the queue; its number. */
static inline uint64_t submit(struct world *w, uint32_t nodes)
{
	struct phx_event ev = {.kind = PHX_EV_job_submit,
			       .job_submit = {.job_nodes = nodes, .uid = 1000, .gid = 1000}};
	struct phx_outcome out = {0};
	assert_int_equal(phx_text_push(&ev.job_submit.argv, "/bin/true"), 0);
	PHX_STR_SET(ev.re, "queue");
	assert_int_equal(world_apply(w, &ev, &out), 0);
	uint64_t id = out.job;
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
	return id;
}

/* A window of full use: one instance more is wanted. */
static inline void web_is_busy(struct world *w)
{
	struct phx_event ev = {.kind = PHX_EV_re_use, .re_use.use_ppm = 950000};
	PHX_STR_SET(ev.re, "shop");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	int64_t due = phx_ledger_next_ms(w->s.ledger);
	assert_true(due - w->now <= 20000);
	tick(w, due > w->now ? due - w->now : 0);
}

#endif
