/* The API's commands: announcing nodes and acting on them. A command is an event for each node,
 * some hundreds in a transaction, and is answered after the last commit. Called by way of
 * routes.def. Decides nothing. */
#include "phxd/daemon.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "deploy/store.h"
#include "node/order.h"
#include "node/plan.h"
#include "phxd/accounts.h"
#include "phxd/names.h"
#include "phxd/parse.h"
#include "power/power.h"

/* A user who could name any file would learn what only root may read, or have phxd run any program:
 * so only files that root has put into bmc_dir may be named. */
static int check_bmc_file(const struct daemon *d, const char *what, const char *path,
			  struct phx_err *err)
{
	size_t n = strlen(d->cfg.bmc_dir);
	const char *name = strncmp(path, d->cfg.bmc_dir, n) || path[n] != '/' ? "" : path + n + 1;
	if (!path[0] || (name[0] && name[0] != '.' && !strchr(name, '/')))
		return 0;
	return phx_err_set(err, -EPERM,
			   "%s %s: who is not root names a file of %s (bmc_dir of phoenix.conf)",
			   what, path, d->cfg.bmc_dir);
}

static int check_bmc_files(const struct daemon *d, const struct phx_http_peer *peer,
			   const struct phx_bmc *bmc, struct phx_err *err)
{
	if (peer->via == PHX_HTTP_UNIX && peer->uid == 0)
		return 0;
	int r = check_bmc_file(d, "script", bmc->script, err);
	return r ? r : check_bmc_file(d, "password_file", bmc->password_file, err);
}

/* Refuses a BMC that cannot work now, and not only when a node's power is to be switched. */
static bool parse_bmc(struct daemon *d, struct phx_http_request *q, const json_t *j,
		      struct phx_bmc *ret)
{
	struct phx_err err = {0};
	const json_t *bmc = json_object_get(j, "bmc");
	if (!parse_record(q, j, "bmc", &phx_bmc_record, ret))
		return false;
	struct phx_bmc whole = *ret;
	PHX_STR_SET(whole.node, "its-node"); /* the core fills it in */
	if (json_object_size(bmc) && !person_require(d, q, PHX_RIGHT_bmc))
		return false;
	int r = json_object_size(bmc) && !ret->driver[0]
		? phx_err_set(&err, -EINVAL, "driver: is missing")
		: phx_power_check(&whole, &err);
	r = r < 0 ? -EINVAL : check_bmc_files(d, phx_http_peer(q), ret, &err);
	if (r < 0) {
		phx_err_prefix(&err, r, "bmc");
		phx_http_reply_error(q, r, err.text);
	}
	return r == 0;
}

void api_node_add(struct phx_http_request *q, void *arg)
{
	static const char *const members[] = {"name",  "macs", "serial", "uuid",
					      "token", "ip",   "hold",   "bmc"};
	struct daemon *d = arg;
	struct phx_event ev = {.kind = PHX_EV_node_add};
	struct phx_event_node_add *p = &ev.node_add;
	struct phx_outcome out = {0};
	struct phx_err err = {0};
	PHX_AUTO_JSON json_t *j = body_json(q);
	if (!j)
		return;
	person_name(phx_http_peer(q), ev.by, sizeof(ev.by));
	if (!parse_only(q, j, members, PHX_ARRAY_SIZE(members)) ||
	    !parse_bool(q, j, "hold", &p->hold) || !TAKE(q, j, "name", ev.node) ||
	    !TAKE(q, j, "serial", p->serial) || !TAKE(q, j, "uuid", p->uuid) ||
	    !TAKE(q, j, "ip", p->ip) || !parse_token(q, j, p->token_sha256) ||
	    !parse_macs(q, j, &p->macs) || !parse_bmc(d, q, j, &p->bmc)) {
		phx_event_fini(&ev);
		return;
	}
	int r = p->ip[0] ? phx_config_check_ip(&d->cfg, p->ip, &err) : 0;
	r = r ? r : engine_submit(d->engine, &ev, &out, &err);
	if (r == 0 && out.changed)
		keys_forget(d->keys, ev.node); /* that of another machine which had the name */
	PHX_AUTO_JSON json_t *answer =
		json_pack("{s:I,s:s}", "seq", (json_int_t)phx_store_last(engine_store(d->engine)),
			  "node", ev.node);
	if (r < 0)
		phx_http_reply_error(q, r, err.text);
	else
		phx_http_reply_json(q, 200, answer);
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
}

/* ---- actions ---- */

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
	{"resume", PHX_EV_resume, false},
	{"quarantine", PHX_EV_quarantine, false},
	{"power", PHX_EV_power, false},
	{"rm", PHX_EV_node_remove, false},
	{"bmc", PHX_EV_node_bmc, false},
	{"inspect", PHX_EV_inspect, false},
	{"label", PHX_EV_node_label, false},
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

/* "labels": {KEY: VALUE, or null to take it off} */
static bool parse_labels(struct phx_http_request *q, const json_t *j,
			 struct phx_event_node_label *p)
{
	json_t *labels = json_object_get(j, "labels"), *value;
	const char *key;
	bool ok = !labels || (json_is_object(labels) && json_object_size(labels) <= PHX_LABELS_MAX);
	json_object_foreach(labels, key, value) {
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

static bool take_order(struct phx_http_request *q, const json_t *j, struct phx_event_order *p)
{
	int64_t grace_s = -1;
	if (!parse_number(q, j, "grace_s", 0, GRACE_MAX_S, &grace_s) ||
	    !parse_kill_jobs(q, j, &p->jobs, &p->may_end))
		return false;
	p->has_grace = grace_s >= 0;
	p->grace_ms = p->has_grace ? (uint32_t)grace_s * 1000 : 0;
	p->has_setup = json_is_object(json_object_get(j, "setup"));
	return parse_bool(q, j, "encrypt", &p->encrypt) && parse_bool(q, j, "pin", &p->pin) &&
		parse_bool(q, j, "power_cycle", &p->power_cycle) &&
		parse_bool(q, j, "force", &p->force) && TAKE(q, j, "role", p->role) &&
		TAKE(q, j, "pool", p->pool) &&
		parse_record(q, j, "setup", &phx_setup_record, &p->setup) &&
		parse_enum(q, j, "method", &phx_wipe_method_names, &p->setup.method) &&
		parse_enum(q, j, "verify", &phx_verify_names, &p->setup.verify);
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
		"nodes",  "dry_run",   "role",    "pool",      "name",  "op",          "text",
		"setup",  "method",    "bmc",     "encrypt",   "pin",   "power_cycle", "force",
		"labels", "kill_jobs", "grace_s", "ends_only", "verify"};
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
		return person_require(d, q, PHX_RIGHT_bmc) && parse_bmc(d, q, j, &ev->node_bmc.bmc);
	if (payload == PHX_PAYLOAD_node_label)
		return parse_labels(q, j, &ev->node_label);
	return payload != PHX_PAYLOAD_order || take_order(q, j, &ev->order);
}

/* What is common to all nodes of a request, and a cache of the last look-up. */
struct request {
	struct daemon *d;
	struct phx_event *ev;
	bool ends_only; /* a dry run tells only of nodes on which something ends */
	struct found {
		char name[PHX_NAME_MAX], version[PHX_NAME_MAX]; /* "": nothing was looked up yet */
		int code;
		struct phx_err err;
		struct phx_image image;
	} image, deploy;
};

static void request_fini(struct request *rq)
{
	phx_record_fini(&phx_image_record, &rq->image.image);
	phx_record_fini(&phx_image_record, &rq->deploy.image);
}

/* Looks up an image, with a cache, as most nodes of a request want the same one. `version` NULL:
 * the newest. */
static int find_image(const struct daemon *d, struct found *f, const char *name,
		      const char *version, struct phx_err *err)
{
	const char *key = version ? version : "newest";
	if (strcmp(f->name, name) || strcmp(f->version, key)) {
		phx_record_fini(&phx_image_record, &f->image);
		*f = (struct found){0};
		PHX_STR_SET(f->name, name);
		PHX_STR_SET(f->version, key);
		f->code = catalog_image(d, name, version, &f->image, NULL, &f->err);
	}
	return f->code < 0 ? phx_err_set(err, f->code, "image %s: %s", name, f->err.text) : 0;
}

static bool writes_image(const struct phx_plan *p)
{
	PHX_LIST_EACH(struct phx_step, step, &p->steps)
		if (step->kind == PHX_STEP_image || step->kind == PHX_STEP_ram)
			return true;
	return false;
}

/* Makes the plan of an order and checks that it can begin: the image that it writes must be
 * complete, or a node would be taken down for nothing. ret_image: that image, borrowed until the
 * next node; NULL without one. */
static int try_plan(struct request *rq, struct phx_plan *ret, const struct phx_image **ret_image,
		    struct phx_err *err)
{
	char name[PHX_NAME_MAX] = "", version[PHX_NAME_MAX] = "";
	const struct phx_state *s = engine_lock(rq->d->engine);
	int r = phx_order_plan_of(s, rq->ev, ret, err);
	struct phx_role store;
	const struct phx_role *role = r == 0 && writes_image(ret)
		? phx_state_role_in(s, phx_state_role(s, ret->to_role), ret->to_pool, &store)
		: NULL;
	if (role) {
		PHX_STR_SET(name, role->image);
		PHX_STR_SET(version, role->image_version);
	}
	engine_unlock(rq->d->engine);
	*ret_image = NULL;
	if (r < 0 || !name[0])
		return r;
	r = find_image(rq->d, &rq->image, name, version, err);
	*ret_image = r == 0 ? &rq->image.image : NULL;
	if (r < 0)
		phx_record_fini(&phx_plan_record, ret);
	return r;
}

/* Adds which kernel a node runs after a plan that writes `im`. */
static void add_kernel(struct request *rq, json_t *plan, const struct phx_image *im)
{
	char why[PHX_ERR_TEXT_MAX];
	if (!im || find_image(rq->d, &rq->deploy, rq->d->cfg.deploy_image, NULL, NULL) < 0)
		return;
	json_object_set_new(plan, "runs_kernel", json_string(rq->deploy.image.kernel_release));
	if (phx_image_kernel_differs(im, &rq->deploy.image, why, sizeof(why)))
		json_object_set_new(plan, "kernel_warning", json_string(why));
}

/* Appends what the order would do to one node; with ends_only only if it would end something. */
static void plan_node(struct request *rq, json_t *results)
{
	struct phx_event *ev = rq->ev;
	struct phx_err err = {0};
	struct phx_plan plan = {0};
	const struct phx_image *im;
	int r = try_plan(rq, &plan, &im, &err);
	bool moves = r == 0 && (plan.steps.n || ev->kind == PHX_EV_drain);
	const struct phx_state *s = engine_lock(rq->d->engine);
	PHX_AUTO_JSON json_t *jobs = moves ? view_ends(s, ev) : json_array();
	engine_unlock(rq->d->engine);
	PHX_AUTO_JSON json_t *sessions = view_sessions(rq->d, ev, &plan);
	bool nobody = json_is_array(sessions) && !json_array_size(sessions);
	if (!rq->ends_only || json_array_size(jobs) || !nobody || phx_plan_takes_data(&plan)) {
		json_t *j =
			json_pack("{s:s,s:i,s:s,s:b,s:I,s:o,s:O,s:O}", "node", ev->node, "code", r,
				  "error", err.text, "changed", plan.steps.n > 0, "epoch",
				  (json_int_t)0, "plan", r == 0 ? view_plan(&plan) : json_null(),
				  "jobs", jobs, "sessions", sessions);
		add_kernel(rq, json_object_get(j, "plan"), im);
		json_array_append_new(results, j);
	}
	if (r == 0)
		phx_record_fini(&phx_plan_record, &plan);
}

/* The BMC of a power operation; false: it is another order, or one that the core will refuse. */
static bool bmc_of(const struct phx_state *s, const struct phx_event *ev, struct phx_bmc *ret)
{
	const struct phx_node *n = ev->kind == PHX_EV_power ? phx_state_node(s, ev->node) : NULL;
	if (n)
		*ret = n->bmc;
	return n && n->bmc.driver[0];
}

/* The plan that an order began on the copy, if it did (resume and cancel may not); null: none. */
static json_t *plan_begun(const struct phx_state *copy, const char *name, uint64_t epoch)
{
	const struct phx_node *n = phx_state_node(copy, name);
	return n && n->epoch != epoch && n->plan.steps.n ? view_plan(&n->plan) : json_null();
}

/* Tries an order without a plan of its own on a copy of the state: is it refused, or what would it
 * do? */
static json_t *try_node(struct daemon *d, struct phx_state *copy, const struct phx_event *ev)
{
	struct phx_event told = *ev; /* borrows */
	struct phx_err err = {0};
	struct phx_outcome out = {0};
	PHX_AUTO_JSON json_t *jobs = view_ends(copy, ev);
	told.now_ms = copy->now_ms;
	if (json_array_size(jobs)) {
		/* jobs are shown, so they are no reason to refuse the order */
		PHX_CARRIES(&told, order);
		told.order.jobs = PHX_JOBS_ANY;
	}
	struct phx_bmc bmc;
	const struct phx_node *n = phx_state_node(copy, ev->node);
	uint64_t epoch = n ? n->epoch : 0;
	int r = bmc_of(copy, ev, &bmc) ? phx_hands_ready(hands_process(d->hands), &bmc, &err) : 0;
	r = r ? r : phx_core_apply(copy, &told, &out, &err);
	json_t *j = json_pack(
		"{s:s,s:i,s:s,s:b,s:I,s:o,s:O,s:o,s:o}", "node", ev->node, "code", r, "error",
		err.text, "changed", out.changed, "epoch", (json_int_t)0, "plan",
		r == 0 ? plan_begun(copy, out.node[0] ? out.node : ev->node, epoch) : json_null(),
		"jobs", jobs, "sessions", view_sessions(d, ev, NULL), "notes", view_notes(&out));
	phx_outcome_fini(&out);
	return j;
}

/* The image of the role that an order assigns; false: it has none. */
static bool image_of(const struct phx_state *s, const struct phx_event *ev,
		     char ret_name[PHX_NAME_MAX], char ret_version[PHX_NAME_MAX])
{
	const struct phx_node *n = ev->kind == PHX_EV_rebuild ? phx_state_node(s, ev->node) : NULL;
	const char *name = ev->kind == PHX_EV_assign ? ev->order.role : n ? n->role : "";
	const struct phx_role *role = name[0] ? phx_state_role(s, name) : NULL;
	struct phx_role store;
	if (!role || !role->image[0])
		return false;
	role = phx_state_role_in(s, role,
				 ev->order.pool[0] ? ev->order.pool
					 : n       ? n->pool
						   : role->pool,
				 &store);
	return phx_str_copy(ret_name, PHX_NAME_MAX, role->image) == 0 &&
		phx_str_copy(ret_version, PHX_NAME_MAX, role->image_version) == 0;
}

/* Refuses an order that cannot even begin, and would fail where nobody looks: a power operation
 * without its driver, an image that is incomplete. All else is left to the core. */
static int check_begin(struct request *rq, struct phx_err *err)
{
	char name[PHX_NAME_MAX], version[PHX_NAME_MAX];
	struct phx_plan plan = {0};
	const struct phx_image *im;
	struct phx_err why = {0};
	struct phx_bmc bmc;
	const struct phx_state *s = engine_lock(rq->d->engine);
	bool asks = bmc_of(s, rq->ev, &bmc), writes = image_of(s, rq->ev, name, version);
	engine_unlock(rq->d->engine);
	if (asks)
		return phx_hands_ready(hands_process(rq->d->hands), &bmc, err);
	if (!writes || find_image(rq->d, &rq->image, name, version, NULL) != -EBADMSG)
		return 0;
	int r = try_plan(rq, &plan, &im, &why); /* this node may have the image already */
	if (r == 0)
		phx_record_fini(&phx_plan_record, &plan);
	return r == -EBADMSG ? phx_err_set(err, r, "%s", why.text) : 0;
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
static void act_on_portion(struct request *rq, char *const *names, uint32_t n, json_t *results)
{
	struct phx_each *each = calloc(n, sizeof(*each));
	for (uint32_t i = 0; each && i < n; i++) {
		each[i].node = names[i];
		PHX_STR_SET(rq->ev->node, names[i]);
		each[i].result = check_begin(rq, &each[i].err);
	}
	if (each)
		engine_submit_each(rq->d->engine, rq->ev, each, n);
	for (uint32_t i = 0; each && i < n; i++)
		forget_keys(rq->d, rq->ev, &each[i]);
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
	const struct phx_state *s = engine_lock(d->engine);
	bool no_role = ev->kind == PHX_EV_assign && !phx_state_role(s, ev->order.role);
	bool orders = phx_event_payload((enum phx_event_kind)ev->kind) == PHX_PAYLOAD_order;
	if (!no_role && orders && ev->order.pool[0] && !phx_state_pool(s, ev->order.pool))
		r = phx_err_set(err, -ENOENT, "there is no pool '%s'", ev->order.pool);
	engine_unlock(d->engine);
	return no_role ? catalog_no_role(d, ev->order.role, err) : r;
}

static void reply_results(struct daemon *d, struct phx_http_request *q, const json_t *results)
{
	PHX_AUTO_JSON json_t *j =
		json_pack("{s:I,s:O}", "seq", (json_int_t)phx_store_last(engine_store(d->engine)),
			  "results", results);
	phx_http_reply_json(q, 200, j);
}

static void act_on_all(struct request *rq, struct phx_http_request *q,
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

static void plan_all(struct request *rq, struct phx_http_request *q,
		     const struct phx_nodeset *names)
{
	PHX_AUTO_JSON json_t *results = json_array();
	for (uint32_t i = 0; i < names->n; i++) {
		PHX_STR_SET(rq->ev->node, names->names[i]);
		plan_node(rq, results);
	}
	reply_results(rq->d, q, results);
}

/* Tries the order for all nodes one after the other on one copy, as it would be carried out. */
static void try_all(struct daemon *d, struct phx_http_request *q, struct phx_event *ev,
		    const struct phx_nodeset *names)
{
	struct phx_state copy;
	PHX_AUTO_JSON json_t *results = json_array();
	const struct phx_state *s = engine_lock(d->engine);
	int r = phx_record_copy(&phx_state_record, &copy, s);
	engine_unlock(d->engine);
	if (r < 0) {
		phx_http_reply_error(q, r, "there is not enough memory to try it");
		return;
	}
	for (uint32_t i = 0; i < names->n; i++) {
		PHX_STR_SET(ev->node, names->names[i]);
		json_array_append_new(results, try_node(d, &copy, ev));
	}
	phx_state_fini(&copy);
	reply_results(d, q, results);
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
	PHX_AUTO(request_fini) struct request rq = {.d = d, .ev = &ev};
	bool dry_run;
	if (!j || !parse_event(d, q, j, &ev) || !parse_bool(q, j, "dry_run", &dry_run) ||
	    !parse_bool(q, j, "ends_only", &rq.ends_only)) {
		phx_event_fini(&ev);
		return;
	}
	const char *list = phx_json_str(j, "nodes", "");
	int r = list[0]
		? names_parse(d, list, &names, &err)
		: phx_err_set(&err, -EINVAL, "nodes: must be a list of nodes, such as \"n[1-4]\"");
	r = r ? r : check_request(d, &ev, &names, &err);
	if (r < 0)
		phx_http_reply_error(q, r, err.text);
	else if (dry_run && !actions[which].plans)
		try_all(d, q, &ev, &names);
	else if (dry_run)
		plan_all(&rq, q, &names);
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
