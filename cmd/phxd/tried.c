/* Orders that are tried and not given, and whether one that is given can begin at all: see tried.h.
 * Reads the state, images and the files of BMCs; orders nothing. */
#include "phxd/tried.h"

#include "console/console.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "node/order.h"
#include "node/plan.h"
#include "phxd/ends.h"
#include "phxd/view.h"
#include "power/power.h"

void tried_fini(struct tried *rq)
{
	phx_record_fini(&phx_image_record, &rq->image.image);
	phx_record_fini(&phx_image_record, &rq->deploy.image);
}

/* Looks up an image, with a cache, as most nodes of a request want the same one. `version` NULL:
 * the newest. */
static int find_image(const struct daemon *d, struct tried_image *f, const char *name,
		      const char *version, struct phx_err *err)
{
	const char *key = version ? version : "newest";
	if (strcmp(f->name, name) || strcmp(f->version, key)) {
		phx_record_fini(&phx_image_record, &f->image);
		*f = (struct tried_image){0};
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
 * next node; NULL without one. ret_kernel: which of its own kernels is to run; "" the deploy
 * image's. */
static int try_plan(struct tried *rq, struct phx_plan *ret, const struct phx_image **ret_image,
		    char ret_kernel[PHX_RELEASE_MAX], struct phx_err *err)
{
	char name[PHX_NAME_MAX] = "", version[PHX_NAME_MAX] = "";
	const struct phx_state *s = engine_lock(rq->d->engine);
	int r = phx_order_plan_of(s, rq->ev, ret, err);
	struct phx_role store;
	const struct phx_role *role = r == 0 && writes_image(ret)
		? phx_state_role_in(s, phx_state_role(s, ret->to_role), ret->to_pool, &store)
		: NULL;
	*ret_kernel = '\0';
	if (role) {
		snprintf(ret_kernel, PHX_RELEASE_MAX, "%s", role->image_kernel);
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

/* Adds which kernel a node runs after a plan that writes `im`: its own one of release `own`, if
 * that is not "". */
static void add_kernel(struct tried *rq, json_t *plan, const struct phx_image *im, const char *own)
{
	char why[PHX_ERR_TEXT_MAX];
	if (!im || find_image(rq->d, &rq->deploy, rq->d->cfg.deploy_image, NULL, NULL) < 0)
		return;
	json_object_set_new(plan, "runs_kernel",
			    json_string(own[0] ? own : rq->deploy.image.kernel_release));
	if (phx_image_kernel_differs(im, &rq->deploy.image, why, sizeof(why)))
		json_object_set_new(plan, "kernel_warning", json_string(why));
}

/* Appends what the order would do to one node; with ends_only only if it would end something. */
static void plan_node(struct tried *rq, json_t *results)
{
	struct phx_event *ev = rq->ev;
	struct phx_err err = {0};
	struct phx_plan plan = {0};
	const struct phx_image *im;
	char kernel[PHX_RELEASE_MAX];
	int r = try_plan(rq, &plan, &im, kernel, &err);
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
		add_kernel(rq, json_object_get(j, "plan"), im, kernel);
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

/* Would the node's BMC be one that can work, with the members that are changed? */
static int check_changed(const struct phx_state *s, const struct phx_event *ev, struct phx_err *err)
{
	PHX_CARRIES(ev, node_bmc);
	const struct phx_node *n = phx_state_node(s, ev->node);
	struct phx_bmc bmc = n ? n->bmc : (struct phx_bmc){0};
	if (!n || !ev->node_bmc.only.n)
		return 0;
	phx_bmc_change(&bmc, &ev->node_bmc.bmc, &ev->node_bmc.only);
	PHX_STR_SET(bmc.node, n->name);
	int r = bmc.driver[0] ? phx_power_check(&bmc, err)
			      : phx_err_set(err, -EINVAL, "driver: is missing");
	r = r ? r : phx_console_check(&bmc, err);
	return r < 0 ? phx_err_prefix(err, -EINVAL, "bmc") : 0;
}

/* Could the operation be done at all? Asks the driver, and looks at its files. */
static int check_power(const struct tried *rq, const struct phx_bmc *bmc, struct phx_err *err)
{
	const struct phx_event *ev = rq->ev;
	PHX_CARRIES(ev, order);
	int r = phx_power_can(bmc, (enum phx_power_op)ev->order.op, err);
	/* who asks what ends gives the order next, which looks at the files of thousands of BMCs */
	return r || rq->ends_only ? r : phx_hands_ready(hands_process(rq->d->hands), bmc, err);
}

/* The plan that an order began on the copy, if it did (resume and cancel may not); null: none. */
static json_t *plan_begun(const struct phx_state *copy, const char *name, uint64_t epoch)
{
	const struct phx_node *n = phx_state_node(copy, name);
	return n && n->epoch != epoch && n->plan.steps.n ? view_plan(&n->plan) : json_null();
}

/* Tries an order without a plan of its own on a copy of the state: is it refused, or what would it
 * do? */
static json_t *try_node(struct tried *rq, struct phx_state *copy)
{
	struct daemon *d = rq->d;
	const struct phx_event *ev = rq->ev;
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
	PHX_AUTO_JSON json_t *serves = view_serves(copy, ev);
	int r = bmc_of(copy, ev, &bmc) ? check_power(rq, &bmc, &err) : 0;
	r = r ? r : phx_core_apply(copy, &told, &out, &err);
	json_t *j = json_pack(
		"{s:s,s:i,s:s,s:b,s:I,s:o,s:O,s:o,s:o,s:O}", "node", ev->node, "code", r, "error",
		err.text, "changed", out.changed, "epoch", (json_int_t)0, "plan",
		r == 0 ? plan_begun(copy, out.node[0] ? out.node : ev->node, epoch) : json_null(),
		"jobs", jobs, "sessions", view_sessions(d, ev, NULL), "notes", view_notes(&out),
		"serves", serves);
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

int tried_begins(struct tried *rq, struct phx_err *err)
{
	char name[PHX_NAME_MAX], version[PHX_NAME_MAX], kernel[PHX_RELEASE_MAX];
	struct phx_plan plan = {0};
	const struct phx_image *im;
	struct phx_err why = {0};
	struct phx_bmc bmc;
	const struct phx_state *s = engine_lock(rq->d->engine);
	int r = rq->ev->kind == PHX_EV_node_bmc ? check_changed(s, rq->ev, err) : 0;
	bool asks = bmc_of(s, rq->ev, &bmc), writes = image_of(s, rq->ev, name, version);
	engine_unlock(rq->d->engine);
	if (r < 0)
		return r;
	if (asks)
		return check_power(rq, &bmc, err);
	if (!writes || find_image(rq->d, &rq->image, name, version, NULL) != -EBADMSG)
		return 0;
	r = try_plan(rq, &plan, &im, kernel, &why); /* this node may have the image already */
	if (r == 0)
		phx_record_fini(&phx_plan_record, &plan);
	return r == -EBADMSG ? phx_err_set(err, r, "%s", why.text) : 0;
}

int tried_plan_all(struct tried *rq, const struct phx_nodeset *names, json_t *results)
{
	for (uint32_t i = 0; i < names->n; i++) {
		PHX_STR_SET(rq->ev->node, names->names[i]);
		plan_node(rq, results);
	}
	return 0;
}

int tried_all(struct tried *rq, const struct phx_nodeset *names, json_t *results)
{
	struct phx_state copy;
	const struct phx_state *s = engine_lock(rq->d->engine);
	int r = phx_record_copy(&phx_state_record, &copy, s);
	engine_unlock(rq->d->engine);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < names->n; i++) {
		PHX_STR_SET(rq->ev->node, names->names[i]);
		PHX_AUTO_JSON json_t *tried = try_node(rq, &copy);
		if (!rq->ends_only || view_is_asked(tried))
			json_array_append(results, tried);
	}
	phx_state_fini(&copy);
	return 0;
}
