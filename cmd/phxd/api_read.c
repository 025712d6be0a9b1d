/* The API's reading requests: see API.md. */
#include "phxd/daemon.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "phxd/names.h"

enum { EVENTS_MAX = 1000, WAIT_MAX_S = 60 };

void api_status(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	PHX_AUTO_JSON json_t *j = view_status(d);
	phx_http_reply_json(q, 200, j);
}

void api_nodes(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct phx_err err = { 0 };
	struct phx_nodeset names = { 0 };
	const char *filter = phx_http_query(q, "names");
	int r = filter ? names_parse(d, filter, &names, &err) : 0;
	if (r < 0) {
		phx_http_reply_error(q, r, err.text);
		return;
	}
	PHX_AUTO_JSON json_t *list = json_array();
	const struct phx_state *s = engine_lock(d->engine);
	PHX_LIST_EACH(struct phx_node, n, &s->nodes)
		if (!filter || phx_nodeset_has(&names, n->name))
			json_array_append_new(list, view_node(d, s, n));
	engine_unlock(d->engine);
	phx_nodeset_fini(&names);
	PHX_AUTO_JSON json_t *j = json_pack("{s:O}", "nodes", list);
	phx_http_reply_json(q, 200, j);
}

void api_node(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	const char *name = phx_http_param(q, 0);
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_node *n = phx_state_node(s, name);
	PHX_AUTO_JSON json_t *j = n ? view_node(d, s, n) : NULL;
	engine_unlock(d->engine);
	if (j) {
		phx_http_reply_json(q, 200, j);
		return;
	}
	char text[128];
	snprintf(text, sizeof(text), "there is no node '%s'", name);
	phx_http_reply_error(q, -ENOENT, text);
}

static int add_erasure(void *arg, const struct phx_store_erasure *e)
{
	json_t *j = json_loads(e->record, 0, NULL);
	if (!j)
		return -EBADMSG;
	/* the signature is over the record's text as it stands: give both */
	json_object_set_new(j, "signature", json_string(e->signature));
	json_object_set_new(j, "record", json_string(e->record));
	return json_array_append_new(arg, j) ? -ENOMEM : 0;
}

void api_erasures(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct phx_err err = { 0 };
	PHX_AUTO_JSON json_t *list = json_array();
	int r = phx_store_erasures(engine_store(d->engine), phx_http_param(q, 0), add_erasure, list, &err);
	if (r < 0) {
		phx_http_reply_error(q, r, err.text);
		return;
	}
	PHX_AUTO_JSON json_t *j = json_pack("{s:O}", "erasures", list);
	phx_http_reply_json(q, 200, j);
}

void api_roles(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	PHX_AUTO_JSON json_t *list = json_array();
	const struct phx_state *s = engine_lock(d->engine);
	PHX_LIST_EACH(struct phx_role, role, &s->roles)
		json_array_append_new(list, phx_json_from_record(&phx_role_record, role));
	engine_unlock(d->engine);
	PHX_AUTO_JSON json_t *j = json_pack("{s:O}", "roles", list);
	phx_http_reply_json(q, 200, j);
}

void api_role(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	const char *name = phx_http_param(q, 0);
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_role *role = phx_state_role(s, name);
	PHX_AUTO_JSON json_t *j = role ? phx_json_from_record(&phx_role_record, role) : NULL;
	engine_unlock(d->engine);
	if (j) {
		phx_http_reply_json(q, 200, j);
		return;
	}
	char text[128];
	snprintf(text, sizeof(text), "there is no role '%s'", name);
	phx_http_reply_error(q, -ENOENT, text);
}

/* {node, role, reason} of one node by the rules that are in force. */
static json_t *match_of(const struct phx_state *s, const struct phx_node *n)
{
	char reason[512];
	int i = phx_rules_match(&s->rules, n->name, &n->facts, reason, sizeof(reason));
	const char *role = i < 0 ? "" : PHX_LIST_AT(&s->rules, struct phx_rule, (uint32_t)i)->role;
	return json_pack("{s:s,s:s,s:s}", "node", n->name, "role", role, "reason", reason);
}

void api_rules_match(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct phx_err err = { 0 };
	struct phx_nodeset names = { 0 };
	const char *filter = phx_http_query(q, "nodes");
	int r = names_parse(d, filter ? filter : "@all", &names, &err);
	if (r < 0) {
		phx_http_reply_error(q, r, err.text);
		return;
	}
	PHX_AUTO_JSON json_t *list = json_array();
	const struct phx_state *s = engine_lock(d->engine);
	PHX_LIST_EACH(struct phx_node, n, &s->nodes)
		if (phx_nodeset_has(&names, n->name))
			json_array_append_new(list, match_of(s, n));
	engine_unlock(d->engine);
	phx_nodeset_fini(&names);
	PHX_AUTO_JSON json_t *j = json_pack("{s:O}", "matches", list);
	phx_http_reply_json(q, 200, j);
}

void api_images(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	PHX_AUTO_JSON json_t *j = catalog_images(d);
	phx_http_reply_json(q, 200, j);
}

void api_packages(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	PHX_AUTO_JSON json_t *j = catalog_packages(d);
	phx_http_reply_json(q, 200, j);
}

/* A number of the query string; 400 is answered and false returned when it is none. */
static bool query_number(struct phx_http_request *q, const char *name, uint64_t max, uint64_t fallback,
			 uint64_t *ret)
{
	const char *text = phx_http_query(q, name);
	*ret = fallback;
	if (!text || phx_u64_parse(text, 0, max, ret) == 0)
		return true;
	char why[160];
	snprintf(why, sizeof(why), "%s: must be a number from 0 to %llu", name, (unsigned long long)max);
	phx_http_reply_error(q, -EINVAL, why);
	return false;
}

void api_events(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	uint64_t after, wait_s, limit;
	const char *node = phx_http_query(q, "node");
	if (!query_number(q, "after", INT64_MAX, 0, &after) ||
	    !query_number(q, "wait", WAIT_MAX_S, 0, &wait_s) || !query_number(q, "limit", EVENTS_MAX, EVENTS_MAX, &limit))
		return;
	waits_hold(d->waits, q, after, limit ? (uint32_t)limit : EVENTS_MAX, node ? node : "",
		   (int64_t)wait_s * 1000);
}

void api_config(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct phx_list lines = { 0 };
	PHX_AUTO_JSON json_t *list = json_array();
	int r = phx_config_show(&d->cfg, &lines);
	PHX_LIST_EACH(struct phx_config_line, line, &lines)
		json_array_append_new(list, phx_json_from_record(&phx_config_line_record, line));
	phx_list_fini(&lines);
	if (r < 0) {
		phx_http_reply_error(q, r, "configuration cannot be shown");
		return;
	}
	PHX_AUTO_JSON json_t *j = json_pack("{s:O}", "config", list);
	phx_http_reply_json(q, 200, j);
}

void api_metrics(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	PHX_AUTO_FREE char *text = view_metrics(d);
	phx_http_reply_text(q, 200, "text/plain; version=0.0.4", text ? text : "");
}
