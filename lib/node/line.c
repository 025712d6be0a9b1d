/* Reboots: a node starts anew and serves as before, with its role, system and data; its plan is one
 * of a hand-over to itself (plan.c). Nodes that one order has rebooted in turn are a line, of which
 * at most some are away at once; a node that does not serve for another reason counts as away, too.
 * Which nodes wait, and which are away (turn.c), is in the state, so that a head that dies goes on
 * where it was. The table of events calls this file, and so does the end of each event that changes
 * where a node stands. Pure. */
#include "node/internal.h"

#include <errno.h>
#include <stdio.h>

static int begin(struct phx_apply *a, struct phx_node *n, const struct phx_node_order *o)
{
	char reason[sizeof(n->reason)];
	PHX_STR_SET(reason, n->state == PHX_NODE_MAINTENANCE ? n->reason : "");
	int r = phx_order_begin(a, o);
	if (r == 0 && !strncmp(reason, phx_reboot_failed, strlen(phx_reboot_failed)))
		PHX_STR_SET(n->reason, "a reboot of before had failed: resume it to have it serve");
	else if (r == 0 && reason[0]) /* it stays out of service */
		PHX_STR_SET(n->reason, reason);
	return r;
}

/* ---- whose turn it is ---- */

static bool serves(const struct phx_node *n)
{
	return n->up && !phx_node_step(n) &&
		(n->state == PHX_NODE_ACTIVE || n->state == PHX_NODE_MAINTENANCE);
}

static bool is_away(const struct phx_state *s, const struct phx_line_node *e)
{
	const struct phx_node *n = phx_state_node(s, e->name);
	return e->stage == PHX_LINE_AWAY || (n && !serves(n));
}

/* The node whose turn it is: if no further node may be away, a node that is away in any case; else
 * a node without a job, else the first node that waits. NULL: it is no node's turn. */
static struct phx_line_node *next_of(const struct phx_state *s, const struct phx_line *line)
{
	struct phx_line_node *found = NULL;
	uint32_t n_away = 0;
	PHX_LIST_EACH(struct phx_line_node, e, &line->nodes)
		n_away += is_away(s, e);
	PHX_LIST_EACH(struct phx_line_node, e, &line->nodes) {
		const struct phx_node *n = phx_state_node(s, e->name);
		if (e->stage != PHX_LINE_WAITS || (n && phx_node_step(n)) ||
		    n_away - is_away(s, e) >= line->most)
			continue;
		if (!n || !phx_index_job_on(s, n))
			return e;
		found = found ? found : e;
	}
	return found;
}

static void remove_entry(struct phx_line *line, struct phx_line_node *e)
{
	phx_list_remove(&line->nodes, sizeof(*e),
			(uint32_t)(e - PHX_LIST_AT(&line->nodes, struct phx_line_node, 0)));
}

/* The line waits for a job that may not be ended. */
static struct phx_node_order order_of(struct phx_apply *a, const struct phx_line *line,
				      const struct phx_node *n)
{
	struct phx_node_order o = phx_order_own(PHX_EV_reboot, n, line->text);
	o.by = line->by;
	o.power_cycle = line->power_cycle;
	o.when_idle = line->when_idle;
	o.has_grace = line->has_grace;
	o.grace_ms = line->grace_ms;
	o.jobs = (enum phx_jobs_say)line->jobs;
	o.may_end = &line->may_end;
	o.when_idle = o.when_idle || phx_order_jobs_allow(a, &o) < 0;
	return o;
}

/* Begins the reboot of the node whose turn it is, or takes the node out of the line. */
static void go(struct phx_apply *a, struct phx_line *line, struct phx_line_node *e)
{
	struct phx_node *n = phx_state_node(a->s, e->name);
	struct phx_err why = {0};
	struct phx_apply own = phx_by_itself(a, &why);
	if (!n) {
		remove_entry(line, e);
		return;
	}
	const struct phx_node_order o = order_of(&own, line, n);
	e->stage = PHX_LINE_AWAY;
	n->line_waits = false;
	a->out->changed = true;
	if (begin(&own, n, &o) == 0)
		return;
	phx_note(a, n, "%s is not rebooted: %s", n->name, why.text);
	phx_line_leave(a, n);
}

static bool is_over(const struct phx_line *line)
{
	PHX_LIST_EACH(struct phx_line_node, e, &line->nodes)
		if (e->stage != PHX_LINE_DONE)
			return false;
	return true;
}

static void end(struct phx_apply *a, struct phx_line *line)
{
	PHX_LIST_EACH(struct phx_line_node, e, &line->nodes) {
		struct phx_node *n = phx_state_node(a->s, e->name);
		if (n)
			n->line = 0;
	}
	phx_record_fini(&phx_line_record, line);
	phx_list_remove(&a->s->lines, sizeof(*line),
			(uint32_t)(line - PHX_LIST_AT(&a->s->lines, struct phx_line, 0)));
	a->out->changed = true;
}

/* Begins all reboots that may begin, and forgets the line when all its nodes are done. */
static void settle(struct phx_apply *a, uint64_t id)
{
	struct phx_line *line;
	struct phx_line_node *e;
	while ((line = phx_state_line(a->s, id)) && !line->stopped[0] && (e = next_of(a->s, line)))
		go(a, line, e);
	if (line && is_over(line))
		end(a, line);
}

static int make_line(struct phx_apply *a, const struct phx_node_order *o,
		     const struct phx_event_order *p, struct phx_line **ret)
{
	struct phx_line *line = phx_grow(a, &a->s->lines, sizeof(*line));
	if (!line)
		return -ENOMEM;
	*line = (struct phx_line){.id = p->line,
				  .most = p->line_most ? p->line_most : 1,
				  .power_cycle = o->power_cycle,
				  .when_idle = o->when_idle,
				  .has_grace = o->has_grace,
				  .grace_ms = o->grace_ms,
				  .jobs = (int)o->jobs};
	PHX_STR_SET(line->by, o->by);
	snprintf(line->text, sizeof(line->text), "%s", o->text);
	PHX_LIST_EACH(struct phx_job_ref, ref, &p->may_end) {
		struct phx_job_ref *to = phx_grow(a, &line->may_end, sizeof(*to));
		if (!to)
			return -ENOMEM;
		*to = *ref;
	}
	*ret = line;
	return 0;
}

static uint32_t count(const struct phx_line *line, enum phx_line_stage stage)
{
	uint32_t n = 0;
	PHX_LIST_EACH(struct phx_line_node, e, &line->nodes)
		n += e->stage == (int)stage;
	return n;
}

static int join(struct phx_apply *a, struct phx_node *n, const struct phx_node_order *o,
		const struct phx_event_order *p)
{
	struct phx_plan plan;
	if (n->line == p->line || (phx_node_step(n) && n->plan.request == PHX_REQUEST_reboot))
		return 0;
	/* a reboot that cannot begin joins no line */
	int r = phx_order_plan(a->s, o, &plan, a->err);
	if (r < 0)
		return r;
	phx_record_fini(&phx_plan_record, &plan);
	phx_line_leave(a, n);
	struct phx_line *line = phx_state_line(a->s, p->line);
	r = line ? 0 : make_line(a, o, p, &line);
	struct phx_line_node *e = r == 0 ? phx_grow(a, &line->nodes, sizeof(*e)) : NULL;
	if (!e)
		return -ENOMEM;
	PHX_STR_SET(e->name, n->name);
	phx_touch(a->s, n);
	n->line = line->id;
	n->line_waits = a->out->changed = true;
	if (count(line, PHX_LINE_AWAY) < line->most)
		settle(a, p->line);
	return 0;
}

void phx_lines_settle(struct phx_apply *a, struct phx_node *n)
{
	(void)n;
	for (uint32_t i = 0; i < a->s->lines.n;) {
		uint64_t id = PHX_LIST_AT(&a->s->lines, struct phx_line, i)->id;
		settle(a, id);
		i += phx_state_line(a->s, id) != NULL;
	}
}

int phx_apply_reboot(struct phx_apply *a, const struct phx_event_order *p)
{
	struct phx_node_order o;
	struct phx_node *n;
	int r = phx_need_order(a, p, &n, &o);
	if (r < 0)
		return r;
	if (p->line)
		return join(a, n, &o, p);
	r = begin(a, n, &o);
	if (r == 0 && n->line_waits)
		phx_line_leave(a, n);
	return r;
}
