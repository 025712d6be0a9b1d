/* Workflows under faults: some at a time, of all shapes, and people who hold, release, cancel and
 * resume them. Called by the table of loads, and when faults have stopped. */
#include "fault/parts.h"

#include <errno.h>

enum { OPEN_MOST = 5, TASKS_MOST = 40, FAR_MOST = 8, LATEST = 6, WIDE = 2 };

static const char *re_name(void)
{
	return phx_fault_re_name(FAULT_RE_OF_FLOWS);
}

/* ---- shapes ---- */

static void put_wants(struct fault_sim *f, struct phx_buf *b)
{
	static const uint32_t cores[] = {0, 1, 1, 1, 2, 3, 8};
	static const uint64_t gib[] = {0, 0, 1, 3, 9, 16};
	uint32_t n_cores = cores[phx_rng_below(&f->rng, PHX_ARRAY_SIZE(cores))];
	uint64_t memory = gib[phx_rng_below(&f->rng, PHX_ARRAY_SIZE(gib))] << 30;
	int64_t limit = phx_fault_chance(f, 200) ? phx_fault_between(f, SECOND, 5 * MINUTE) : 0;
	uint32_t retries = (uint32_t)phx_rng_below(&f->rng, 4),
		 when_failed = (uint32_t)phx_rng_below(&f->rng, 3);
	phx_buf_addf(b, "=%u,%llu,%lld,%u,%u", n_cores, (unsigned long long)memory,
		     (long long)limit, retries, when_failed);
	if (f->o.wide && phx_fault_chance(f, 300))
		phx_buf_addf(b, ",%d", WIDE);
}

/* Whom the tasks of a shape wait for, as distances: a bit each. */
static uint32_t chain(struct fault_sim *f, uint32_t i, uint32_t n)
{
	(void)f;
	(void)n;
	return i ? 1 : 0;
}

static uint32_t bag(struct fault_sim *f, uint32_t i, uint32_t n)
{
	(void)f;
	(void)i;
	(void)n;
	return 0;
}

/* One, then up to FAR_MOST beside each other, then one, and so on. */
static uint32_t diamonds(struct fault_sim *f, uint32_t i, uint32_t n)
{
	uint32_t at = i % FAR_MOST;
	(void)f;
	if (i && (at == FAR_MOST - 1 || i == n - 1))
		return (1u << (at ? at : 1)) - 1;
	return i ? 1u << (at ? at - 1 : 0) : 0;
}

static uint32_t at_random(struct fault_sim *f, uint32_t i, uint32_t n)
{
	uint32_t far = i < FAR_MOST ? i : FAR_MOST;
	(void)n;
	return (uint32_t)(phx_rng_next(&f->rng) & phx_rng_next(&f->rng)) & ((1u << far) - 1);
}

static void put_shape(struct fault_sim *f, uint32_t n, struct phx_buf *b)
{
	static uint32_t (*const shapes[])(struct fault_sim * f, uint32_t i, uint32_t n) = {
		chain, bag, diamonds, at_random, at_random};
	uint64_t shape = phx_rng_below(&f->rng, PHX_ARRAY_SIZE(shapes));
	for (uint32_t i = 0; i < n; i++) {
		if (!i || phx_fault_chance(f, 300))
			put_wants(f, b);
		uint32_t far = shapes[shape](f, i, n);
		for (uint32_t d = FAR_MOST; d; d--)
			if (far & 1u << (d - 1))
				phx_buf_addf(b, " %u", d);
		phx_buf_addf(b, "\n");
	}
}

/* ---- what people do ---- */

void phx_fault_flow_submit(struct fault_sim *f)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	struct phx_event ev = {.kind = PHX_EV_workflow_submit};
	struct phx_event_workflow_submit *p = &ev.workflow_submit;
	uint32_t n_open = 0;
	PHX_LIST_EACH(struct phx_flowrun, w, &f->head.s->workflows)
		n_open += phx_flowrun_is_open(w);
	if (n_open >= OPEN_MOST)
		return;
	p->uid = p->gid = 1000;
	p->n_tasks = (uint32_t)phx_fault_between(f, 1, TASKS_MOST);
	p->hold = phx_fault_chance(f, 50);
	for (int i = 0; i < 64; i++)
		p->digest[i] = 'a';
	PHX_STR_SET(p->user, "u");
	phx_str_copy(ev.re, sizeof(ev.re), re_name());
	put_shape(f, p->n_tasks, &b);
	phx_buf_add(&b, "", 1);
	phx_text_push(&p->shape, b.data);
	if (phx_fault_submit(f, &ev, NULL) == -EINVAL)
		phx_fault_violated(f, "model", "a workflow is refused: %s", b.data);
	phx_event_fini(&ev);
}

static void order(struct fault_sim *f, int kind, uint64_t id)
{
	struct phx_event ev = {.kind = kind, .workflow_order.workflow = id};
	PHX_STR_SET(ev.by, "u");
	phx_fault_submit(f, &ev, NULL);
}

void phx_fault_flow_order(struct fault_sim *f)
{
	static const int kinds[] = {PHX_EV_workflow_hold,    PHX_EV_workflow_release,
				    PHX_EV_workflow_release, PHX_EV_workflow_release,
				    PHX_EV_workflow_cancel,  PHX_EV_workflow_resume,
				    PHX_EV_workflow_resume};
	uint64_t last = f->head.s->last_workflow_id, back = phx_rng_below(&f->rng, LATEST);
	order(f, kinds[phx_rng_below(&f->rng, PHX_ARRAY_SIZE(kinds))],
	      last > back ? last - back : last);
}

/* The heartbeat timeout of tasks that nodes have already stays what it was. */
void phx_fault_flow_timeout(struct fault_sim *f)
{
	struct phx_event ev = {.kind = PHX_EV_settings, .site.settings = f->head.s->settings};
	ev.site.settings.job_heartbeat_timeout_ms =
		(uint32_t)phx_fault_between(f, 20, 180) * SECOND;
	phx_fault_submit(f, &ev, NULL);
}

/* ---- when faults have stopped ---- */

static void let_go_on(struct fault_sim *f)
{
	for (uint32_t i = 0; i < f->head.s->workflows.n; i++) {
		const struct phx_flowrun *w =
			PHX_LIST_AT(&f->head.s->workflows, struct phx_flowrun, i);
		if (phx_flowrun_is_open(w) && w->live->run.held)
			order(f, PHX_EV_workflow_release, w->id);
	}
}

void phx_fault_flows_go_on(struct fault_sim *f)
{
	f->flows_must_end = f->o.flows;
	if (!f->o.flows || !phx_fault_flows_open(f))
		return;
	let_go_on(f);
	phx_fault_re_of_flows(f);
}
