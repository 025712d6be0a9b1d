/* See site.h. Which version of the settings of the site is in force, and which nodes are told:
 *
 *   all at once                    apply ──▶ everybody is told
 *   in portions     apply ──▶ portion 1 ──over──▶ portion 2 ──over──▶ ... ──▶ everybody has it
 *                                │
 *                                └─ over, with too many failures ──▶ stopped: nodes that wait keep
 *                                   the settings that they have, until a person applies the same
 *                                   settings again, or others
 *
 * Nodes have their turn by their numbers, so the state keeps no list of them: nodes that are
 * announced later are told at once. The table of events calls this file. */
#include "core/site.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "state/apply.h"
#include "state/index.h"

enum { PORTION_MS = 10 * 60 * 1000 };

bool phx_site_in_portions(const struct phx_site_version *v)
{
	return v->last && !v->stopped[0];
}

bool phx_site_waits(const struct phx_state *s, const struct phx_node *n)
{
	return s->site.last && n->number >= s->site.next && n->number <= s->site.last &&
		!phx_node_step(n);
}

/* ---- portions ---- */

const struct phx_node *phx_site_portion_node(const struct phx_state *s,
					     const struct phx_node *after)
{
	const struct phx_node *n = after ? phx_nodes_after(s, after)
					 : phx_nodes_next(s, phx_state_node_place(s, s->site.from));
	return n && n->number < s->site.next ? n : NULL;
}

int64_t phx_site_portion_until(const struct phx_site_version *v)
{
	return v->told_ms + PORTION_MS;
}

/* Begins the next portion; if no node is left, all portions are over. */
static void begin_portion(struct phx_apply *a)
{
	struct phx_site_version *v = &a->s->site;
	const struct phx_node *first = phx_nodes_next(a->s, phx_state_node_place(a->s, v->next)),
			      *behind = first;
	for (uint32_t i = 0; behind && i < v->portion; i++)
		behind = phx_nodes_after(a->s, behind);
	v->from = v->next;
	v->told_ms = a->s->now_ms;
	v->next = behind ? behind->number : v->last + 1;
	v->next = v->next > v->last ? v->last + 1 : v->next;
	if (first && first->number <= v->last)
		return;
	v->last = v->from = v->next = 0;
	phx_note(a, NULL, "the settings of the site are applied to all portions of nodes%s",
		 v->failed ? ", though not everywhere" : "");
}

/* Settings that are in force already, as their digest says, are applied again without an event of
 * their own, and nothing changes. If some nodes still wait for them, they go on, with the next
 * portion or to all nodes that are left. */
int phx_apply_site_apply(struct phx_apply *a, const struct phx_event_site_apply *p)
{
	struct phx_site_version *v = &a->s->site;
	if (!phx_is_sha256(p->digest))
		return phx_err_set(a->err, -EINVAL, "site: '%s' is no digest", p->digest);
	bool same = !strcmp(v->digest, p->digest);
	uint64_t next = same ? v->next : 1;
	if (same && !v->last)
		return 0;
	int r = same ? 0 : phx_site_protect_nodes(a, &p->protects);
	if (r < 0)
		return r;
	*v = (struct phx_site_version){
		.users = p->users, .groups = p->groups, .files = p->files, .at_ms = a->s->now_ms};
	PHX_STR_SET(v->digest, p->digest);
	PHX_STR_SET(v->by, a->ev->by);
	a->out->changed = true;
	if (!p->portion)
		return 0;
	v->portion = p->portion;
	v->max_failed = p->max_failed;
	v->next = next;
	v->last = a->s->last_node_number;
	begin_portion(a);
	return 0;
}

static uint32_t n_waiting(const struct phx_state *s)
{
	const struct phx_node *node = phx_nodes_next(s, phx_state_node_place(s, s->site.next));
	uint32_t n = 0;
	for (; node && node->number <= s->site.last; node = phx_nodes_after(s, node))
		n++;
	return n;
}

static void stop(struct phx_apply *a, const struct phx_event_site_portion *p)
{
	struct phx_site_version *v = &a->s->site;
	const struct phx_site_failure *f =
		p->failures.n ? PHX_LIST_AT(&p->failures, struct phx_site_failure, 0) : NULL;
	char others[32] = "";
	if (p->n_failed > 1)
		snprintf(others, sizeof(others), " (and %u others)", p->n_failed - 1);
	snprintf(v->stopped, sizeof(v->stopped), "%s%s: %s", f ? f->node : "a node", others,
		 f ? f->why : "it failed");
	phx_note(a, NULL, "the settings of the site are not told to the nodes that wait (%u): %s",
		 n_waiting(a->s), v->stopped);
}

int phx_apply_site_portion(struct phx_apply *a, const struct phx_event_site_portion *p)
{
	struct phx_site_version *v = &a->s->site;
	if (p->n_failed < p->failures.n)
		return phx_err_set(a->err, -EINVAL, "site: more failures are named than counted");
	if (!phx_site_in_portions(v) || strcmp(v->digest, p->digest) != 0 || v->from != p->from)
		return 0; /* the event is about a portion that was over already */
	v->failed += p->n_failed;
	a->out->changed = true;
	PHX_LIST_EACH(struct phx_site_failure, f, &p->failures)
		phx_note(a, phx_state_node(a->s, f->node), "settings of the site on %s: %s",
			 f->node, f->why);
	if (v->failed > v->max_failed)
		stop(a, p);
	else
		begin_portion(a);
	return 0;
}

/* ---- is it over? ---- */

/* Why the node has failed; "": it has not. */
static void judge(const struct phx_state *s, const struct phx_site_heard *h, bool late,
		  char ret_why[160])
{
	const struct phx_node *n = phx_state_node(s, h->node);
	bool lost = n && !n->up && n->missing_since_ms >= s->site.told_ms;
	if (lost)
		phx_str_copy(ret_why, 160, "it was not heard any more when it had been told them");
	else if (h->stands == PHX_SITE_STANDS_FAILED)
		phx_str_copy(ret_why, 160, h->why);
	else
		phx_str_copy(ret_why, 160,
			     late && h->stands == PHX_SITE_STANDS_APPLYING
				     ? "it has not applied them within ten minutes"
				     : "");
}

static bool add_failure(struct phx_event_site_portion *p, const char *node, const char *why)
{
	struct phx_site_failure *f = NULL;
	p->n_failed++;
	if (p->failures.n >= PHX_SITE_FAILURES_MAX)
		return true;
	if (!(f = phx_list_push(&p->failures, sizeof(*f))))
		return false;
	PHX_STR_SET(f->node, node);
	PHX_STR_SET(f->why, why);
	return true;
}

bool phx_site_portion_over(const struct phx_state *s, const struct phx_list *heard, int64_t now_ms,
			   struct phx_event *ret)
{
	struct phx_event ev = {.kind = PHX_EV_site_portion};
	struct phx_event_site_portion *p = &ev.site_portion;
	bool late = now_ms >= phx_site_portion_until(&s->site), over = true;
	PHX_STR_SET(p->digest, s->site.digest);
	p->from = s->site.from;
	PHX_LIST_EACH(struct phx_site_heard, h, heard) {
		char why[160];
		judge(s, h, late, why);
		if (why[0])
			over = over && add_failure(p, h->node, why);
		else
			over = over && h->stands != PHX_SITE_STANDS_APPLYING;
	}
	if (over)
		*ret = ev;
	else
		phx_event_fini(&ev);
	return over;
}
