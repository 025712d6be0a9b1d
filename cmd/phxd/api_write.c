/* The API's commands that act on nodes. A command is an event for each node,
 * some hundreds in a transaction, and is answered after the last commit. Dry runs: tried.c. Called
 * by way of routes.def. Decides nothing. */
#include "phxd/daemon.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "phxd/accounts.h"
#include "phxd/ends.h"
#include "phxd/names.h"
#include "phxd/consoles.h"
#include "phxd/parse.h"
#include "phxd/site.h"
#include "phxd/tried.h"
#include "power/power.h"

enum { GRACE_MAX_S = 30 * 24 * 3600 };

static const struct {
	const char *name;
	enum phx_event_kind kind;
	/* --dry-run can show its plan; other orders are tried on a copy of the state */
	bool plans;
} actions[] = {
	{"accept", PHX_EV_node_accept, false},
	{"assign", PHX_EV_assign, true},
	{"release", PHX_EV_release, true},
	{"rebuild", PHX_EV_rebuild, true},
	{"wipe", PHX_EV_wipe, true},
	{"drain", PHX_EV_drain, true},
	{"reboot", PHX_EV_reboot, true},
	{"check", PHX_EV_check, true},
	{"resume", PHX_EV_resume, false},
	{"quarantine", PHX_EV_quarantine, false},
	{"power", PHX_EV_power, false},
	{"rm", PHX_EV_node_remove, false},
	{"bmc", PHX_EV_node_bmc, false},
	{"edit", PHX_EV_node_edit, false},
	{"inspect", PHX_EV_inspect, false},
	{"label", PHX_EV_node_label, false},
	{"note", PHX_EV_node_note, false},
	{"cancel", PHX_EV_cancel, false},
	{"forget-disk", PHX_EV_disk_forget, false},
	{"forget-tpm", PHX_EV_tpm_forget, false},
};

static int find_action(const char *name)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(actions); i++)
		if (!strcmp(actions[i].name, name))
			return (int)i;
	return -ENOENT;
}

/* By such a label somebody logs in on a node, as root perhaps, or a secret comes there: that is for
 * those to say who apply the settings. False after answering. */
static bool may_label(struct daemon *d, struct phx_http_request *q, const char *key)
{
	char text[160];
	if (!site_goes_by_label(d->site, key) ||
	    person_has_all(d, phx_http_peer(q), PHX_RIGHT_site))
		return true;
	snprintf(
		text, sizeof(text),
		"label %.31s: settings of the site go by it (users, files): an administrator gives "
		"and takes it",
		key);
	person_refused(d, phx_http_peer(q), PHX_RIGHT_site);
	phx_http_reply_error(q, -EPERM, text);
	return false;
}

/* "labels": {KEY: VALUE, or null to take it off} */
static bool parse_labels(struct daemon *d, struct phx_http_request *q, const json_t *j,
			 struct phx_event_node_label *p)
{
	json_t *labels = json_object_get(j, "labels"), *value;
	const char *key;
	bool ok = !labels || (json_is_object(labels) && json_object_size(labels) <= PHX_LABELS_MAX);
	json_object_foreach(labels, key, value) {
		if (ok && !may_label(d, q, key))
			return false;
		struct phx_label *l =
			ok && json_is_string(value) ? phx_list_push(&p->labels, sizeof(*l)) : NULL;
		struct phx_word *w =
			ok && json_is_null(value) ? phx_list_push(&p->unlabel, sizeof(*w)) : NULL;
		ok = (l && PHX_STR_SET(l->key, key) == 0 &&
		      PHX_STR_SET(l->value, json_string_value(value)) == 0) ||
			(w && PHX_STR_SET(w->text, key) == 0);
	}
	if (ok)
		return true;
	phx_http_reply_error(
		q, -EINVAL,
		"labels: expected an object of at most 32 short texts, or null to take one off");
	return false;
}

/* Parts that there are not are told once, not for each node. */
static bool take_parts(struct phx_http_request *q, const json_t *j, struct phx_event_order *p)
{
	struct phx_err err = {0};
	uint32_t parts;
	if (!TAKE(q, j, "with", p->with))
		return false;
	int r = phx_check_parts_parse(p->with, &parts, &err);
	if (r < 0)
		phx_http_reply_error(q, r, err.text);
	return r == 0;
}

static bool take_order(struct phx_http_request *q, const json_t *j, struct phx_event_order *p)
{
	int64_t grace_s = -1, for_s = 0;
	if (!parse_number(q, j, "until_ms", 0, INT64_MAX >> 11, &p->until_ms) ||
	    !parse_number(q, j, "for_s", 1, PHX_CHECK_S_MAX, &for_s) || !take_parts(q, j, p) ||
	    !parse_number(q, j, "grace_s", 0, GRACE_MAX_S, &grace_s) ||
	    !parse_kill_jobs(q, j, &p->jobs, &p->may_end))
		return false;
	p->for_s = (uint32_t)for_s;
	p->has_grace = grace_s >= 0;
	p->grace_ms = p->has_grace ? (uint32_t)grace_s * 1000 : 0;
	p->has_setup = json_is_object(json_object_get(j, "setup"));
	return parse_bool(q, j, "encrypt", &p->encrypt) && parse_bool(q, j, "pin", &p->pin) &&
		parse_bool(q, j, "power_cycle", &p->power_cycle) &&
		parse_bool(q, j, "force", &p->force) &&
		parse_bool(q, j, "when_idle", &p->when_idle) && TAKE(q, j, "role", p->role) &&
		TAKE(q, j, "pool", p->pool) &&
		parse_record(q, j, "setup", &phx_setup_record, &p->setup) &&
		parse_enum(q, j, "method", &phx_wipe_method_names, &p->setup.method) &&
		parse_enum(q, j, "verify", &phx_verify_names, &p->setup.verify);
}

static bool take_edit(struct daemon *d, struct phx_http_request *q, const json_t *j,
		      struct phx_event_node_edit *p)
{
	struct phx_err err = {0};
	p->has_serial = json_is_string(json_object_get(j, "serial"));
	p->has_ip = json_is_string(json_object_get(j, "ip"));
	if (!TAKE(q, j, "serial", p->serial) || !TAKE(q, j, "ip", p->ip) ||
	    !parse_macs(q, j, &p->macs))
		return false;
	int r = p->ip[0] ? site_check_ip(d, p->ip, &err) : 0;
	if (r < 0)
		phx_http_reply_error(q, r, err.text);
	return r == 0;
}

/* What is no operation stays in the text: the core refuses it, for each node. */
static void take_power_op(struct phx_event *ev)
{
	enum phx_power_op op;
	PHX_CARRIES(ev, order);
	if (phx_power_op_parse(ev->text, PHX_POWER_STATUS, &op, NULL) < 0)
		return;
	ev->order.op = (int)op;
	ev->text[0] = '\0';
}

/* Reads what is common to all nodes of the request; false after answering. */
static bool parse_event(struct daemon *d, struct phx_http_request *q, const json_t *j,
			struct phx_event *ev)
{
	static const char *const members[] = {
		"nodes",       "dry_run",  "role",      "pool",      "name",    "op",
		"text",        "setup",    "method",    "bmc",       "encrypt", "pin",
		"power_cycle", "force",    "labels",    "kill_jobs", "grace_s", "ends_only",
		"verify",      "rolling",  "when_idle", "keep",      "macs",    "serial",
		"ip",          "until_ms", "with",      "for_s"};
	enum phx_payload payload = phx_event_payload((enum phx_event_kind)ev->kind);
	person_name(phx_http_peer(q), ev->by, sizeof(ev->by));
	if (!parse_only(q, j, members, PHX_ARRAY_SIZE(members)) ||
	    !TAKE(q, j, ev->kind == PHX_EV_power ? "op" : "text", ev->text))
		return false;
	if (ev->kind == PHX_EV_power)
		take_power_op(ev);
	if (payload == PHX_PAYLOAD_named)
		return TAKE(q, j, "name", ev->named.name);
	if (payload == PHX_PAYLOAD_node_bmc)
		return parse_bmc_change(d, q, j, &ev->node_bmc);
	if (payload == PHX_PAYLOAD_node_edit)
		return take_edit(d, q, j, &ev->node_edit);
	if (payload == PHX_PAYLOAD_node_label)
		return parse_labels(d, q, j, &ev->node_label);
	return payload != PHX_PAYLOAD_order || take_order(q, j, &ev->order);
}

/* The outcome for one node. Under the engine's lock. */
static json_t *view_result(const struct phx_state *s, struct phx_event *ev,
			   const struct phx_each *e)
{
	const char *name = e->out.node[0] ? e->out.node : e->node;
	const struct phx_node *n = phx_state_node(s, name);
	/* ordered before and not finished: there is something to wait for */
	bool under_way = n && n->plan.cursor < n->plan.steps.n;
	PHX_STR_SET(ev->node, e->node);
	json_t *j =
		json_pack("{s:s,s:i,s:s,s:b,s:I,s:n,s:o}", "node", name, "code", e->result, "error",
			  e->err.text, "changed", e->result == 0 && (e->out.changed || under_way),
			  "epoch", (json_int_t)(n ? n->epoch : 0), "plan", "jobs",
			  e->result == -EBUSY ? view_ends(s, ev) : json_array());
	if (e->result == 0 && e->out.text[0])
		json_object_set_new(j, "text", json_string(e->out.text));
	return j;
}

/* The node is gone, or has the name that another one may have had before. */
static void forget_keys(struct daemon *d, const struct phx_event *ev, const struct phx_each *of)
{
	bool renamed = ev->kind == PHX_EV_node_accept && ev->named.name[0];
	if (of->result == 0 && of->out.changed && (renamed || ev->kind == PHX_EV_node_remove))
		keys_forget(d->keys, renamed ? ev->named.name : of->node);
}

/* Acts on a portion of the nodes, in one transaction. */
static void act_on_portion(struct tried *rq, char *const *names, uint32_t n, json_t *results)
{
	struct phx_each *each = calloc(n, sizeof(*each));
	for (uint32_t i = 0; each && i < n; i++) {
		each[i].node = names[i];
		PHX_STR_SET(rq->ev->node, names[i]);
		each[i].result = tried_begins(rq, &each[i].err);
	}
	if (each)
		engine_submit_each(rq->d->engine, rq->ev, each, n);
	for (uint32_t i = 0; each && i < n; i++)
		forget_keys(rq->d, rq->ev, &each[i]);
	consoles_changed(rq->d->consoles);
	const struct phx_state *s = engine_lock(rq->d->engine);
	for (uint32_t i = 0; i < n; i++) {
		struct phx_each lacking = {.node = names[i], .result = -ENOMEM};
		json_array_append_new(results, view_result(s, rq->ev, each ? &each[i] : &lacking));
	}
	engine_unlock(rq->d->engine);
	for (uint32_t i = 0; each && i < n; i++)
		phx_outcome_fini(&each[i].out);
	free(each);
}

/* Finds a mistake that concerns the whole request, before any node is touched. */
static int check_request(struct daemon *d, const struct phx_event *ev,
			 const struct phx_nodeset *names, struct phx_err *err)
{
	int r = 0;
	if (!names->n)
		return phx_err_set(err, -EINVAL, "nodes: no node is in this list");
	if (ev->kind == PHX_EV_node_accept && ev->named.name[0] && names->n > 1)
		return phx_err_set(err, -EINVAL, "name: only one node can be given a new name");
	if (ev->kind == PHX_EV_node_edit && names->n > 1)
		return phx_err_set(err, -EINVAL, "nodes: only one node can have this identity");
	const struct phx_state *s = engine_lock(d->engine);
	bool no_role = ev->kind == PHX_EV_assign && !phx_state_role(s, ev->order.role);
	bool orders = phx_event_payload((enum phx_event_kind)ev->kind) == PHX_PAYLOAD_order;
	if (!no_role && orders && ev->order.pool[0] && !phx_state_pool(s, ev->order.pool))
		r = phx_err_set(err, -ENOENT, "there is no pool '%s'", ev->order.pool);
	engine_unlock(d->engine);
	return no_role ? catalog_no_role(d, ev->order.role, err) : r;
}

/* "rolling": how many of the nodes may be away at once, or "N%" of them, one at least. */
static int take_rolling(struct phx_event *ev, const json_t *j, uint32_t n_nodes,
			struct phx_err *err)
{
	const json_t *rolling = json_object_get(j, "rolling");
	const char *text = json_string_value(rolling);
	uint32_t n = 0;
	if (!rolling || json_is_null(rolling))
		return 0;
	if (ev->kind != PHX_EV_reboot || parse_share(text, n_nodes, &n) < 0)
		return phx_err_set(err, -EINVAL,
				   "rolling: for a reboot, a text such as \"2\" (of %u nodes), or "
				   "\"5%%\"",
				   n_nodes);
	PHX_CARRIES(ev, order);
	ev->order.line_most = n;
	while (!ev->order.line)
		if (getrandom(&ev->order.line, sizeof(ev->order.line), 0) > 0)
			ev->order.line >>= 12; /* JSON keeps it */
	return 0;
}

static void reply_results(struct daemon *d, struct phx_http_request *q, const json_t *results)
{
	PHX_AUTO_JSON json_t *j =
		json_pack("{s:I,s:O}", "seq", (json_int_t)phx_store_last(engine_store(d->engine)),
			  "results", results);
	phx_http_reply_json(q, 200, j);
}

static void try_all(struct tried *rq, struct phx_http_request *q, const struct phx_nodeset *names,
		    bool plans)
{
	PHX_AUTO_JSON json_t *results = json_array();
	int r = plans ? tried_plan_all(rq, names, results) : tried_all(rq, names, results);
	if (r < 0)
		phx_http_reply_error(q, r, "there is not enough memory to try it");
	else
		reply_results(rq->d, q, results);
}

static void act_on_all(struct tried *rq, struct phx_http_request *q,
		       const struct phx_nodeset *names)
{
	PHX_AUTO_JSON json_t *results = json_array();
	for (uint32_t i = 0; i < names->n; i += PHX_JOURNAL_PORTION) {
		uint32_t left = names->n - i;
		act_on_portion(rq, &names->names[i],
			       left < PHX_JOURNAL_PORTION ? left : PHX_JOURNAL_PORTION, results);
	}
	reply_results(rq->d, q, results);
}

void api_action(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct phx_err err = {0};
	struct phx_nodeset names = {0};
	int which = find_action(phx_http_param(q, 0));
	if (which < 0) {
		phx_http_reply_error(q, -ENOENT, "there is no such action");
		return;
	}
	PHX_AUTO_JSON json_t *j = body_json(q);
	struct phx_event ev = {.kind = (int)actions[which].kind};
	PHX_AUTO(tried_fini) struct tried rq = {.d = d, .ev = &ev};
	bool dry_run;
	if (!j || !parse_event(d, q, j, &ev) || !parse_bool(q, j, "dry_run", &dry_run) ||
	    !parse_bool(q, j, "ends_only", &rq.ends_only)) {
		phx_event_fini(&ev);
		return;
	}
	const char *list = phx_json_str(j, "nodes", "");
	int r = list[0]
		? names_parse(d, phx_http_peer(q), list, &names, &err)
		: phx_err_set(&err, -EINVAL, "nodes: must be a list of nodes, such as \"n[1-4]\"");
	r = r ? r : check_request(d, &ev, &names, &err);
	r = r ? r : take_rolling(&ev, j, names.n, &err);
	if (r < 0)
		phx_http_reply_error(q, r, err.text);
	else if (dry_run)
		try_all(&rq, q, &names, actions[which].plans);
	else
		act_on_all(&rq, q, &names);
	phx_nodeset_fini(&names);
	phx_event_fini(&ev);
}

void api_reload(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct phx_err err = {0};
	PHX_AUTO_JSON json_t *errors = json_array(), *warnings = json_array();
	struct phx_event told = {.kind = PHX_EV_notice,
				 .text = "roles, rules, pools and settings are read again"};
	person_name(phx_http_peer(q), told.by, sizeof(told.by));
	int r = engine_submit(d->engine, &told, NULL, &err);
	r = r ? r : catalog_load(d, told.by, errors, warnings, &err);
	if (r < 0) {
		phx_http_reply_error(q, r, err.text);
		return;
	}
	outlets_reload(d->outlets);
	accounts_look(d->accounts); /* the name service may have news, too */
	PHX_AUTO_JSON json_t *images = catalog_images(d);
	PHX_AUTO_JSON json_t *packages = catalog_packages(d);
	const struct phx_state *s = engine_lock(d->engine);
	json_int_t n_roles = s->roles.n;
	engine_unlock(d->engine);
	PHX_AUTO_JSON json_t *j = json_pack(
		"{s:I,s:I,s:I,s:O,s:O}", "roles", n_roles, "images",
		(json_int_t)json_array_size(json_object_get(images, "images")), "packages",
		(json_int_t)json_array_size(json_object_get(packages, "packages")), "errors",
		errors, "warnings", warnings);
	phx_http_reply_json(q, 200, j);
}
