/* The API's reading requests: see API.md. Called by way of routes.def. They change nothing. */
#include "phxd/asker.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "phxd/names.h"
#include "phxd/parse.h"
#include "phxd/view.h"
#include "phxd/metrics.h"
#include "phxd/view_metrics.h"

enum { EVENTS_MAX = 1000, WAIT_MAX_S = 60, PORTION_US = 1000 };

void api_status(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	bool provider = person_has_all(d, phx_http_peer(q), PHX_RIGHT_hardware);
	PHX_AUTO_JSON json_t *j = view_status(d, provider);
	if (provider) {
		char ca[PHX_CA_TEXT_MAX];
		keys_ca_said(d, ca);
		json_object_set_new(j, "mistakes", catalog_mistakes(d));
		json_object_set_new(j, "ca", json_string(ca));
	}
	phx_http_reply_json(q, 200, j);
}

/* ---- nodes ---- */

/* Who asks, and which members of a node that is the asker's own are shown, and of another. */
struct node_view {
	struct person person;
	bool has_own;
	struct view_members own, others;
};

static enum phx_scope of_others(enum phx_scope scope)
{
	return scope == PHX_SCOPE_OWN ? PHX_SCOPE_NONE : scope;
}

static bool has_own(const struct view_scopes *s)
{
	return s->hardware == PHX_SCOPE_OWN || s->logs == PHX_SCOPE_OWN ||
		s->catalog == PHX_SCOPE_OWN;
}

static int node_view_init(struct daemon *d, const struct phx_http_request *q, bool sparse,
			  struct node_view *ret, struct phx_err *err)
{
	const char *fields = phx_http_query(q, "fields");
	const struct phx_http_peer *peer = phx_http_peer(q);
	const struct view_scopes scopes = {.hardware = person_scope(d, peer, PHX_RIGHT_hardware),
					   .logs = person_scope(d, peer, PHX_RIGHT_logs),
					   .catalog = person_scope(d, peer, PHX_RIGHT_catalog)};
	const struct view_scopes others = {of_others(scopes.hardware), of_others(scopes.logs),
					   of_others(scopes.catalog)};
	*ret = (struct node_view){.has_own = has_own(&scopes)};
	int r = view_members(fields, &others, &ret->others, err);
	if (r == 0 && ret->has_own) {
		person_of(d, peer, &ret->person);
		r = view_members(fields, &scopes, &ret->own, err);
	}
	ret->own.less.empty = ret->others.less.empty = sparse;
	return r;
}

static void put_node(struct daemon *d, const struct phx_state *s, const struct phx_node *n,
		     const struct node_view *view, struct phx_buf *b)
{
	bool own = view->has_own && person_holds(s, &view->person, n);
	view_node_put(d, s, n, own ? &view->own : &view->others, b);
}

/* Which nodes are listed, and which of their members. */
struct node_list {
	/* struct number: the named nodes, in order; unless all are listed */
	struct phx_list numbers;
	bool all;
	uint32_t at;    /* index of the next one */
	uint64_t after; /* the last node that was looked at, by its number */
	uint32_t left;  /* how many may still be shown */
	struct node_view view;
};

struct number {
	uint64_t n;
};

static int compare_numbers(const void *a, const void *b)
{
	const struct number *x = a, *y = b;
	return (x->n > y->n) - (x->n < y->n);
}

/* Finds the existing nodes of the list, in the order of the state. */
static void find_numbers(struct daemon *d, const struct phx_nodeset *names, struct node_list *of)
{
	const struct phx_state *s = engine_lock(d->engine);
	for (uint32_t i = 0; i < names->n; i++) {
		const struct phx_node *n = phx_state_node(s, names->names[i]);
		struct number *to = n && n->number > of->after
			? phx_list_push(&of->numbers, sizeof(*to))
			: NULL;
		if (to)
			to->n = n->number;
	}
	engine_unlock(d->engine);
	if (of->numbers.n)
		qsort(of->numbers.items, of->numbers.n, sizeof(struct number), compare_numbers);
}

/* The next named node; NULL: the end. A node that was removed meanwhile is skipped. */
static const struct phx_node *next_named(const struct phx_state *s, struct node_list *of)
{
	while (of->at < of->numbers.n) {
		uint64_t wanted = PHX_LIST_AT(&of->numbers, struct number, of->at++)->n;
		const struct phx_node *n = phx_state_node_numbered(s, wanted);
		if (n)
			return n;
	}
	return NULL;
}

/* Appends the next nodes of a long list; the engine is unlocked between two calls. False: these
 * were the last. */
static bool put_nodes(struct daemon *d, struct node_list *of, struct phx_buf *b)
{
	const struct phx_state *s = engine_lock(d->engine);
	int64_t until_us = phx_clock_us() + PORTION_US;
	const struct phx_node *next = phx_nodes_next(s, phx_state_node_place(s, of->after + 1));
	bool more = true;
	while (more && phx_clock_us() < until_us) {
		const struct phx_node *n = of->all ? next : next_named(s, of);
		more = n && of->left;
		if (!more)
			break;
		next = phx_nodes_after(s, n);
		phx_json_put_item(b);
		put_node(d, s, n, &of->view, b);
		of->after = n->number;
		of->left--;
	}
	engine_unlock(d->engine);
	return more;
}

/* False after answering. */
static bool parse_node_list(struct phx_http_request *q, struct daemon *d, struct node_list *ret)
{
	struct phx_err err = {0};
	PHX_AUTO(phx_nodeset_fini) struct phx_nodeset names = {0};
	const char *filter = phx_http_query(q, "names");
	uint64_t limit;
	if (!parse_query_number(q, "after", UINT32_MAX, 0, &ret->after) ||
	    !parse_query_number(q, "limit", UINT32_MAX, UINT32_MAX, &limit))
		return false;
	ret->left = (uint32_t)limit;
	ret->all = !filter;
	int r = filter ? names_parse(d, phx_http_peer(q), filter, &names, &err) : 0;
	r = r ? r : node_view_init(d, q, phx_http_query(q, "sparse"), &ret->view, &err);
	if (r < 0)
		phx_http_reply_error(q, r, err.text);
	else
		find_numbers(d, &names, ret);
	return r == 0;
}

void api_nodes(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct node_list of = {0};
	struct phx_buf b = {0};
	if (parse_node_list(q, d, &of)) {
		phx_buf_addf(&b, "{\"nodes\":[");
		while (put_nodes(d, &of, &b))
			reads_breathe(phx_clock_us());
		phx_buf_addf(&b, "]");
		if (phx_http_query(q, "limit"))
			phx_buf_addf(&b, ",\"last\":%llu,\"more\":%s", (unsigned long long)of.after,
				     of.left ? "false" : "true");
		phx_buf_addf(&b, "}");
		phx_http_reply_json_text(q, 200, phx_buf_take(&b));
	}
	phx_list_fini(&of.numbers);
}

void api_node(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	const char *name = phx_http_param(q, 0);
	struct node_view view;
	struct phx_err err = {0};
	struct phx_buf b = {0};
	int r = node_view_init(d, q, false, &view, &err);
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_node *n = r < 0 ? NULL : phx_state_node(s, name);
	if (n)
		put_node(d, s, n, &view, &b);
	engine_unlock(d->engine);
	if (r == 0 && !n)
		r = phx_err_set(&err, -ENOENT, "there is no node '%s'", name);
	if (r < 0)
		phx_http_reply_error(q, r, err.text);
	else
		phx_http_reply_json_text(q, 200, phx_buf_take(&b));
}

/* ---- roles, images, rules ---- */

/* Who asks for roles or images. Who has not the right to all of what is in them reads it of what
 * his own REs run, and of others the names. */
struct catalog_reader {
	struct person person;
	bool all;
};

static struct catalog_reader catalog_reader_of(struct daemon *d, const struct phx_http_request *q)
{
	struct catalog_reader r = {.all = person_has_all(d, phx_http_peer(q), PHX_RIGHT_catalog)};
	person_of(d, phx_http_peer(q), &r.person);
	return r;
}

/* Does an RE of the asker run it? A request alone gives nothing. */
static bool runs_role(const struct phx_state *s, const struct person *p, const char *role)
{
	bool runs = false;
	PHX_LIST_EACH(struct phx_re, re, &s->res)
		runs = runs ||
			(re->state != PHX_RE_STATE_NONE && !strcmp(re->agreement.role, role) &&
			 person_is(p, re->agreement.owner));
	return runs;
}

static void put_role(const struct phx_state *s, const struct catalog_reader *reader,
		     const struct phx_role *role, struct phx_buf *b)
{
	static const struct phx_json_less whole;
	bool reads = reader->all || runs_role(s, &reader->person, role->name);
	phx_buf_add(b, "{", 1);
	for (size_t i = 0; i < phx_role_record.n_fields; i++)
		if (reads || !strcmp(phx_role_record.fields[i].name, "name"))
			phx_json_put_field(b, &phx_role_record.fields[i], role, &whole);
	phx_buf_addf(b, "}");
}

void api_roles(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct catalog_reader reader = catalog_reader_of(d, q);
	struct phx_buf b = {0};
	phx_buf_addf(&b, "{\"roles\":[");
	const struct phx_state *s = engine_lock(d->engine);
	PHX_LIST_EACH(struct phx_role, role, &s->roles) {
		phx_json_put_item(&b);
		put_role(s, &reader, role, &b);
	}
	engine_unlock(d->engine);
	phx_buf_addf(&b, "]}");
	phx_http_reply_json_text(q, 200, phx_buf_take(&b));
}

void api_role(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	const char *name = phx_http_param(q, 0);
	struct catalog_reader reader = catalog_reader_of(d, q);
	struct phx_err err = {0};
	struct phx_buf b = {0};
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_role *role = phx_state_role(s, name);
	if (role)
		put_role(s, &reader, role, &b);
	engine_unlock(d->engine);
	if (role)
		phx_http_reply_json_text(q, 200, phx_buf_take(&b));
	else if (reader.all)
		phx_http_reply_error(q, catalog_no_role(d, name, &err), err.text);
	else
		phx_http_reply_error(q, phx_err_set(&err, -ENOENT, "there is no role '%s'", name),
				     err.text);
}

/* {node, role, reason} of one node by the rules in force. */
static json_t *match_of(const struct phx_state *s, const struct phx_node *n)
{
	char reason[512];
	int i = phx_rules_match(&s->rules, n->name, &n->facts, reason, sizeof(reason));
	const char *role = i < 0 ? "" : PHX_LIST_AT(&s->rules, struct phx_rule, (uint32_t)i)->role;
	return json_pack("{s:s,s:s,s:s}", "node", n->name, "role", role, "reason", reason);
}

/* The next nodes of a list, as in put_nodes(). */
static bool add_matches(struct daemon *d, struct node_list *of, json_t *list)
{
	const struct phx_state *s = engine_lock(d->engine);
	int64_t until_us = phx_clock_us() + PORTION_US;
	bool more = true;
	while (more && phx_clock_us() < until_us) {
		const struct phx_node *n = next_named(s, of);
		more = n;
		if (n)
			json_array_append_new(list, match_of(s, n));
	}
	engine_unlock(d->engine);
	return more;
}

void api_rules_match(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct phx_err err = {0};
	PHX_AUTO(phx_nodeset_fini) struct phx_nodeset names = {0};
	struct node_list of = {0};
	const char *filter = phx_http_query(q, "nodes");
	int r = names_parse(d, phx_http_peer(q), filter ? filter : "@all", &names, &err);
	if (r < 0) {
		phx_http_reply_error(q, r, err.text);
		return;
	}
	PHX_AUTO_JSON json_t *list = json_array();
	find_numbers(d, &names, &of);
	while (add_matches(d, &of, list))
		reads_breathe(phx_clock_us());
	phx_list_fini(&of.numbers);
	PHX_AUTO_JSON json_t *j = json_pack("{s:O}", "matches", list);
	phx_http_reply_json(q, 200, j);
}

/* The names of the images that the asker's REs run, as members of an object. */
static json_t *images_he_runs(struct daemon *d, const struct catalog_reader *reader)
{
	json_t *names = json_object();
	const struct phx_state *s = engine_lock(d->engine);
	PHX_LIST_EACH(struct phx_role, role, &s->roles)
		if (runs_role(s, &reader->person, role->name))
			json_object_set_new(names, role->image, json_true());
	engine_unlock(d->engine);
	return names;
}

/* What is left of them for who has not the right to all: a name once, where it is not his. */
static json_t *less_of_images(const json_t *images, const json_t *his)
{
	PHX_AUTO_JSON json_t *named = json_object();
	json_t *less = json_array(), *image;
	size_t i;
	json_array_foreach((json_t *)images, i, image) {
		const char *name = phx_json_str(image, "name", "");
		if (json_object_get(his, name))
			json_array_append(less, image);
		else if (!json_object_get(named, name))
			json_array_append_new(less, json_pack("{s:s}", "name", name));
		json_object_set_new(named, name, json_true());
	}
	return less;
}

void api_images(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct catalog_reader reader = catalog_reader_of(d, q);
	PHX_AUTO_JSON json_t *j = catalog_images(d);
	if (!reader.all) {
		PHX_AUTO_JSON json_t *his = images_he_runs(d, &reader);
		json_object_set_new(j, "images", less_of_images(json_object_get(j, "images"), his));
		json_object_set_new(j, "bad", json_array());
	}
	phx_http_reply_json(q, 200, j);
}

void api_packages(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	PHX_AUTO_JSON json_t *j = catalog_packages(d);
	phx_http_reply_json(q, 200, j);
}

static int count_one(void *arg, const struct phx_store_event *ev)
{
	(void)ev;
	*(bool *)arg = true;
	return 1;
}

/* Does the node exist, or did it (its events are kept)? Else answers 404. */
static bool node_is_known(struct daemon *d, struct phx_http_request *q, const char *node)
{
	struct phx_err err = {0};
	const struct phx_state *s = engine_lock(d->engine);
	bool known = phx_state_node(s, node) != NULL;
	engine_unlock(d->engine);
	if (!known)
		phx_store_events(engine_store(d->engine), 0, 1, node, count_one, &known, &err);
	if (known)
		return true;
	char text[160];
	snprintf(text, sizeof(text), "there is no node '%.100s', and nothing is kept of one", node);
	phx_utf8_repair(text);
	phx_http_reply_error(q, -ENOENT, text);
	return false;
}

struct erasures {
	json_t *list;
	bool whole; /* with ids of disks */
	/* of nodes that he does not hold: only where he had it before, or is next; NULL: all */
	const struct person *whose;
};

static int add_erasure(void *arg, const struct phx_store_erasure *e)
{
	struct erasures *to = arg;
	json_t *j = json_loads(e->record, 0, NULL);
	if (!j)
		return -EBADMSG;
	if (to->whose && !to->whole && !person_is(to->whose, phx_json_str(j, "from_owner", "")) &&
	    !person_is(to->whose, phx_json_str(j, "to_owner", ""))) {
		json_decref(j);
		return 0;
	}
	if (to->whole) {
		/* the signature covers the exact text of the record: give both */
		json_object_set_new(j, "signature", json_string(e->signature));
		json_object_set_new(j, "record", json_string(e->record));
	} else {
		json_object_del(j, "disk");
		static const char *const hardware[] = {
			"key_id",           "text",          "disks",
			"hidden",           "tried",         "signer_key",
			"signer_signature", "tpm",           "tpm_key",
			"tpm_said",         "tpm_signature", "tpm_pcrs"};
		for (size_t i = 0; i < PHX_ARRAY_SIZE(hardware); i++)
			json_object_del(j, hardware[i]);
	}
	return json_array_append_new(to->list, j) ? -ENOMEM : 0;
}

/* May the asker see the hardware of the node? The resource provider may, and the service provider
 * who holds it; others see only its name. */
static bool sees_hardware(struct daemon *d, const struct phx_http_peer *peer, const char *node)
{
	struct person person;
	if (person_has_all(d, peer, PHX_RIGHT_hardware))
		return true;
	/* before the engine is locked: it may ask the user database */
	person_of(d, peer, &person);
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_node *n = phx_state_node(s, node);
	bool sees = n && person_holds(s, &person, n);
	engine_unlock(d->engine);
	return sees;
}

void api_erasures(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct phx_err err = {0};
	PHX_AUTO_JSON json_t *list = json_array();
	const char *node = phx_http_param(q, 0);
	struct person person;
	bool all = person_has_all(d, phx_http_peer(q), PHX_RIGHT_erasures);
	person_of(d, phx_http_peer(q), &person);
	struct erasures to = {list, sees_hardware(d, phx_http_peer(q), node), all ? NULL : &person};
	int r = phx_store_erasures(engine_store(d->engine), node, add_erasure, &to, &err);
	if (r == 0 && !all && !to.whole && !json_array_size(list))
		r = phx_err_set(&err, -ENOENT, "there is no erase of '%.63s' that is yours", node);
	if (r < 0) {
		phx_http_reply_error(q, r, err.text);
		return;
	}
	if (!json_array_size(list) && !node_is_known(d, q, node))
		return;
	PHX_AUTO_JSON json_t *j = json_pack("{s:O}", "erasures", list);
	phx_http_reply_json(q, 200, j);
}

void api_events(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	uint64_t after, wait_s, limit;
	const char *node = phx_http_query(q, "node");
	if (!parse_query_number(q, "after", INT64_MAX, 0, &after) ||
	    !parse_query_number(q, "wait", WAIT_MAX_S, 0, &wait_s) ||
	    !parse_query_number(q, "limit", EVENTS_MAX, EVENTS_MAX, &limit))
		return;
	if (node && !node_is_known(d, q, node))
		return;
	waits_hold(d->waits, q, after, limit ? (uint32_t)limit : EVENTS_MAX, node ? node : "",
		   (int64_t)wait_s * 1000);
}

void api_config(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	PHX_AUTO(phx_list_fini) struct phx_list lines = {0};
	int r = phx_config_show(&d->cfg, &lines);
	if (r < 0) {
		phx_http_reply_error(q, r, "configuration cannot be shown");
		return;
	}
	PHX_AUTO_JSON json_t *j =
		json_pack("{s:o}", "config", phx_json_from_list(&phx_config_line_record, &lines));
	phx_http_reply_json(q, 200, j);
}

/* Who asks for the metrics. */
struct metrics_reader {
	struct asker asker;
	struct member member;
};

static bool reads_metrics_of(const void *arg, const struct phx_re *re)
{
	const struct metrics_reader *r = arg;
	return asker_may_see(&r->asker, &re->agreement) ||
		member_is(&r->member, &re->agreement, NULL);
}

void api_metrics(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	uint64_t page = 1;
	const char *asked = phx_http_query(q, "page");
	if (asked && phx_u64_parse(asked, 1, UINT32_MAX, &page) < 0) {
		phx_http_reply_error(q, -EINVAL, "page: a number from 1 is wanted");
		return;
	}
	if (person_has_all(d, phx_http_peer(q), PHX_RIGHT_metrics)) {
		metrics_reply(d->metrics, q, (uint32_t)page);
		return;
	}
	struct metrics_reader r = {.asker = asker_of(d, q, PHX_RIGHT_re_see)};
	member_of(d, q, PHX_RIGHT_re_know, &r.member);
	const struct view_reader reader = {reads_metrics_of, &r};
	PHX_AUTO_FREE char *text = view_metrics(d, &reader);
	member_fini(&r.member);
	phx_http_reply_text(q, 200, "text/plain; version=0.0.4", text ? text : "");
}
