/* Reads from an event of the journal what charts show: which nodes it is about, what use was
 * measured, which jobs were killed for their nodes and which may have ended. Called by the thread
 * of timeline.c; reads only the event's text, never the state. */
#include "phxd/timeline.h"

#include <string.h>

void timeline_news_fini(struct timeline_news *n)
{
	phx_list_fini(&n->nodes);
	phx_hash_fini(&n->places);
	phx_list_fini(&n->jobs);
	phx_list_fini(&n->uses);
	phx_list_fini(&n->kills);
	phx_list_fini(&n->happened);
}

static struct timeline_node *find_node(const struct timeline_news *n, const char *name)
{
	uint32_t hash = phx_hash_text(name), i;
	for (uint32_t at = hash; phx_hash_next(&n->places, hash, &at, &i);)
		if (!strcmp(PHX_LIST_AT(&n->nodes, struct timeline_node, i)->name, name))
			return PHX_LIST_AT(&n->nodes, struct timeline_node, i);
	return NULL;
}

void timeline_add_node(struct timeline_news *n, const char *name, int64_t at_ms)
{
	struct timeline_node *to = find_node(n, name);
	if (!to && phx_hash_reserve(&n->places, n->nodes.n + 1) == 0) {
		to = phx_list_push(&n->nodes, sizeof(*to));
		if (to && PHX_STR_SET(to->name, name) == 0)
			phx_hash_put(&n->places, phx_hash_text(name), n->nodes.n - 1);
	}
	if (to)
		to->at_ms = at_ms;
	else
		n->failed = true;
}

static void add_job(struct timeline_news *n, uint64_t id, int64_t at_ms)
{
	struct timeline_job *to = phx_list_push(&n->jobs, sizeof(*to));
	if (to)
		*to = (struct timeline_job){id, at_ms};
	else
		n->failed = true;
}

/* Notes the use of an RE; the last one of a turn counts. */
static void add_use(struct timeline_news *n, const char *re, int64_t ppm)
{
	struct timeline_use *to = NULL;
	PHX_LIST_EACH(struct timeline_use, u, &n->uses)
		if (!strcmp(u->re, re))
			to = u;
	to = to ? to : phx_list_push(&n->uses, sizeof(*to));
	if (to && PHX_STR_SET(to->re, re) == 0)
		to->ppm = ppm;
	else
		n->failed = true;
}

static void add_kill(struct timeline_news *n, const struct phx_store_event *ev, const json_t *note)
{
	struct phx_series_mark *to = phx_list_push(&n->kills, sizeof(*to));
	if (!to) {
		n->failed = true;
		return;
	}
	to->seq = ev->seq;
	to->at_ms = ev->time_ms;
	PHX_STR_SET(to->pool, phx_json_str(note, "re", ""));
	PHX_STR_SET(to->node, phx_json_str(note, "node", ""));
	PHX_STR_SET(to->text, phx_json_str(note, "text", ""));
}

/* Does this action tell that a job is killed? re/allocation.c and job/external_orders.c write that
 * sentence into the history of the job's RE. */
static bool is_kill(const json_t *act)
{
	return !strcmp(phx_json_str(act, "kind", ""), "note") && *phx_json_str(act, "re", "") &&
		phx_str_starts(phx_json_str(act, "text", ""), "job ") &&
		strstr(phx_json_str(act, "text", ""), " is killed");
}

static void read_actions(struct timeline_news *n, const struct phx_store_event *ev)
{
	PHX_AUTO_JSON json_t *actions =
		strcmp(ev->actions, "[]") ? json_loads(ev->actions, 0, NULL) : NULL;
	size_t i;
	json_t *act;
	json_array_foreach(actions, i, act) {
		const char *node = phx_json_str(act, "node", "");
		if (*node)
			timeline_add_node(n, node, ev->time_ms);
		if (is_kill(act))
			add_kill(n, ev, act);
	}
}

int timeline_read_event(void *arg, const struct phx_store_event *ev)
{
	struct timeline_news *n = arg;
	bool use = !strcmp(ev->kind, "re_use"), result = !strcmp(ev->kind, "job_result");
	PHX_AUTO_JSON json_t *event = use || result ? json_loads(ev->event, 0, NULL) : NULL;
	if (use)
		add_use(n, phx_json_str(event, "re", ""), phx_json_int(event, "use_ppm", 0));
	if (result)
		add_job(n, (uint64_t)phx_json_int(event, "job", 0), ev->time_ms);
	if (ev->node[0])
		timeline_add_node(n, ev->node, ev->time_ms);
	read_actions(n, ev);
	n->last = ev->seq;
	n->n++;
	return 0;
}
