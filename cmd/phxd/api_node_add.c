/* The API's POST /v1/nodes: machines are announced, one, or a list of them ("nodes"). Of a list
 * everything is read and checked before the first is announced; what the core refuses then is told
 * of each, and the others go on. Called by way of routes.def. */
#include "phxd/daemon.h"

#include <errno.h>
#include <string.h>

#include "phxd/consoles.h"
#include "phxd/parse.h"
#include "phxd/site.h"

enum { NODES_AT_ONCE = 1000 };

static bool take_node(struct daemon *d, struct phx_http_request *q, const json_t *j,
		      struct phx_event *ev)
{
	static const char *const members[] = {"name",  "macs", "serial", "uuid",
					      "token", "ip",   "hold",   "bmc"};
	struct phx_event_node_add *p = &ev->node_add;
	struct phx_err err = {0};
	PHX_CARRIES(ev, node_add);
	person_name(phx_http_peer(q), ev->by, sizeof(ev->by));
	if (!parse_only(q, j, members, PHX_ARRAY_SIZE(members)) ||
	    !parse_bool(q, j, "hold", &p->hold) || !TAKE(q, j, "name", ev->node) ||
	    !TAKE(q, j, "serial", p->serial) || !TAKE(q, j, "uuid", p->uuid) ||
	    !TAKE(q, j, "ip", p->ip) || !parse_token(q, j, p->token_sha256) ||
	    !parse_macs(q, j, &p->macs) || !parse_bmc(d, q, j, &p->bmc))
		return false;
	int r = p->ip[0] ? site_check_ip(d, p->ip, &err) : 0;
	if (r < 0)
		phx_http_reply_error(q, r, err.text);
	return r == 0;
}

static json_int_t last_event(struct daemon *d)
{
	return (json_int_t)phx_store_last(engine_store(d->engine));
}

static void add_one(struct daemon *d, struct phx_http_request *q, const json_t *j)
{
	struct phx_event ev = {.kind = PHX_EV_node_add};
	struct phx_outcome out = {0};
	struct phx_err err = {0};
	if (!take_node(d, q, j, &ev)) {
		phx_event_fini(&ev);
		return;
	}
	int r = engine_submit(d->engine, &ev, &out, &err);
	consoles_changed(d->consoles);
	if (r == 0 && out.changed)
		keys_forget(d->keys, ev.node); /* that of another machine which had the name */
	PHX_AUTO_JSON json_t *answer =
		json_pack("{s:I,s:s}", "seq", last_event(d), "node", ev.node);
	if (r < 0)
		phx_http_reply_error(q, r, err.text);
	else
		phx_http_reply_json(q, 200, answer);
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
}

/* ---- many ---- */

struct many {
	struct phx_event *events;
	struct phx_each *each;
	uint32_t n;
};

static void many_fini(struct many *m)
{
	for (uint32_t i = 0; i < m->n; i++) {
		phx_event_fini(&m->events[i]);
		phx_outcome_fini(&m->each[i].out);
	}
	free(m->events);
	free(m->each);
}

static bool take_all(struct daemon *d, struct phx_http_request *q, const json_t *nodes,
		     struct many *m)
{
	size_t i;
	json_t *node;
	m->events = calloc(json_array_size(nodes), sizeof(*m->events));
	m->each = calloc(json_array_size(nodes), sizeof(*m->each));
	if (!m->events || !m->each) {
		phx_http_reply_error(q, -ENOMEM, "there is not enough memory for so many nodes");
		return false;
	}
	json_array_foreach((json_t *)nodes, i, node) {
		if (!json_is_object(node)) {
			phx_http_reply_error(q, -EINVAL, "nodes: each must be an object");
			return false;
		}
		struct phx_event *ev = &m->events[m->n];
		m->each[m->n++] = (struct phx_each){.node = ev->node, .ev = ev};
		ev->kind = PHX_EV_node_add;
		if (!take_node(d, q, node, ev))
			return false;
	}
	return true;
}

static json_t *view_added(const struct phx_each *e)
{
	return json_pack("{s:s,s:i,s:s,s:b}", "node", e->node, "code", e->result, "error",
			 e->err.text, "changed", e->result == 0 && e->out.changed);
}

static void add_all(struct daemon *d, const struct many *m, json_t *results)
{
	for (uint32_t at = 0; at < m->n; at += PHX_JOURNAL_PORTION) {
		uint32_t left = m->n - at,
			 n = left < PHX_JOURNAL_PORTION ? left : PHX_JOURNAL_PORTION;
		engine_submit_each(d->engine, NULL, &m->each[at], n);
		consoles_changed(d->consoles);
		for (uint32_t i = at; i < at + n; i++) {
			const struct phx_each *e = &m->each[i];
			if (e->result == 0 && e->out.changed)
				keys_forget(d->keys, e->node);
			json_array_append_new(results, view_added(e));
		}
	}
}

static void add_many(struct daemon *d, struct phx_http_request *q, const json_t *j)
{
	static const char *const members[] = {"nodes"};
	const json_t *nodes = json_object_get(j, "nodes");
	PHX_AUTO(many_fini) struct many m = {0};
	PHX_AUTO_JSON json_t *results = json_array();
	if (!parse_only(q, j, members, PHX_ARRAY_SIZE(members)))
		return;
	if (!json_array_size(nodes) || json_array_size(nodes) > NODES_AT_ONCE) {
		phx_http_reply_error(q, -EINVAL, "nodes: must be a list of 1 to 1000 nodes");
		return;
	}
	if (!take_all(d, q, nodes, &m))
		return;
	add_all(d, &m, results);
	PHX_AUTO_JSON json_t *answer =
		json_pack("{s:I,s:O}", "seq", last_event(d), "results", results);
	phx_http_reply_json(q, 200, answer);
}

void api_node_add(struct phx_http_request *q, void *arg)
{
	PHX_AUTO_JSON json_t *j = body_json(q);
	if (j && json_object_get(j, "nodes"))
		add_many(arg, q, j);
	else if (j)
		add_one(arg, q, j);
}
