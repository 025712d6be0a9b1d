/* Shows plans, the status, orders (with what an agent needs beside them) and metrics. Called by the
 * API. Reads only. */
#include "metrics/metrics.h"
#include "phxd/view_metrics.h"
#include "phxd/site.h"

#include <stdio.h>
#include <string.h>

#include "deploy/child.h"
#include "deploy/store.h"
#include "phxd/orders.h"
#include "phxd/view.h"
#include "pki/token.h"

json_t *view_plan(const struct phx_plan *p)
{
	json_t *j = phx_json_from_record(&phx_plan_record, p);
	json_t *steps = json_object_get(j, "steps");
	for (uint32_t i = 0; i < p->steps.n; i++) {
		const struct phx_step *step = PHX_LIST_AT(&p->steps, struct phx_step, i);
		const struct phx_step_info *info = phx_step_info((enum phx_step_kind)step->kind);
		json_t *s = json_array_get(steps, i);
		json_object_set_new(
			s, "phase",
			json_string(phx_enum_name(&phx_node_state_names, (int)info->phase)));
		json_object_set_new(s, "text", json_string(info->text));
	}
	return j;
}

/* ---- status ---- */

/* The state counts its nodes (state/members.h), so that no function here looks at each node. */

static uint32_t count_state(const struct phx_state *s, int state)
{
	return phx_members_count(s, PHX_MEMBERS_STATE, phx_enum_name(&phx_node_state_names, state));
}

static json_t *view_states(const struct phx_state *s)
{
	json_t *states = json_object();
	for (int i = 0; i < phx_node_state_names.n_names; i++)
		json_object_set_new(states, phx_node_state_names.names[i],
				    json_integer(count_state(s, i)));
	return states;
}

static json_t *view_pools(struct daemon *d, const struct phx_state *s)
{
	json_t *pools = json_array();
	PHX_LIST_EACH(struct phx_pool, p, &s->pools)
		json_array_append_new(
			pools,
			json_pack("{s:s,s:s,s:o,s:I,s:o}", "name", p->name, "owner", p->owner,
				  "setup", phx_json_from_record(&phx_setup_record, &p->setup),
				  "nodes",
				  (json_int_t)phx_members_count(s, PHX_MEMBERS_POOL, p->name),
				  "hosts", hosts_json(&d->hosts, s, PHX_MEMBERS_POOL, p->name)));
	return pools;
}

static json_t *view_children(struct daemon *d)
{
	PHX_AUTO(phx_list_fini) struct phx_list list = {0};
	launch_children(d->launch, &list);
	return phx_json_from_list(&phx_child_status_record, &list);
}

/* Adds where the journal begins: older events were forgotten. */
static void add_first(struct daemon *d, json_t *j)
{
	uint64_t first;
	int64_t time_ms;
	if (phx_store_first(engine_store(d->engine), &first, &time_ms, NULL) < 0)
		return;
	json_object_set_new(j, "first_seq", json_integer((json_int_t)first));
	json_object_set_new(j, "first_ms", json_integer((json_int_t)time_ms));
}

/* Adds the kernel of the deploy image: nodes run it, whatever kernel their own image has. */
static void add_kernel(struct daemon *d, json_t *j)
{
	struct phx_err why = {0};
	struct phx_image deploy = {0};
	catalog_deploy(d, &deploy, &why);
	json_object_set_new(j, "deploy",
			    json_pack("{s:s,s:s,s:s,s:s}", "image", d->cfg.deploy_image, "version",
				      deploy.version, "kernel", deploy.kernel_release, "error",
				      why.text));
	phx_record_fini(&phx_image_record, &deploy);
}

json_t *view_status(struct daemon *d, bool whole)
{
	struct phx_err readonly = {0};
	engine_readonly(d->engine, &readonly);
	int64_t uptime_s = (engine_now(d->engine) - d->started_ms) / 1000;
	const struct phx_state *s = engine_lock(d->engine);
	json_t *j = json_pack("{s:s,s:I,s:I,s:s,s:I,s:I,s:o,s:o}", "version", PHX_VERSION,
			      "uptime_s", (json_int_t)uptime_s, "seq", (json_int_t)s->seq,
			      "readonly", readonly.text, "nodes", (json_int_t)phx_nodes_count(s),
			      "up", (json_int_t)phx_members_count(s, PHX_MEMBERS_UP, ""), "states",
			      view_states(s), "pools", view_pools(d, s));
	engine_unlock(d->engine);
	size_t i;
	json_t *pool;
	json_array_foreach(json_object_get(j, "pools"), i, pool)
		identity_add_name(pool, phx_json_str(pool, "owner", ""));
	json_object_set_new(j, "children", view_children(d));
	json_object_set_new(j, "refused", refused_view(d->refused, whole));
	add_first(d, j);
	add_kernel(d, j);
	return j;
}

/* ---- orders ---- */

/* The image as JSON; null if no such image can be used: `why` then says why. */
static json_t *image_json(struct daemon *d, const char *name, const char *version,
			  struct phx_err *why)
{
	struct phx_image im;
	char signature[PHX_SIG_HEX];
	if (catalog_image(d, name, version, &im, signature, why) < 0)
		return json_null();
	json_t *j = phx_json_from_record(&phx_image_record, &im);
	if (!im.kernels.n) /* an older agent does not know of them */
		json_object_del(j, "kernels");
	if (signature[0])
		json_object_set_new(j, "signature", json_string(signature));
	phx_record_fini(&phx_image_record, &im);
	return j;
}

/* What the node's machine is to boot. `start`: id of the step that starts it anew. */
static json_t *deploy_json(struct daemon *d, const char *node, const char *head_address,
			   uint64_t start, const struct phx_kernel *kernel, struct phx_err *why)
{
	char head[PHX_BOOT_WORDS_MAX], token[PHX_START_TOKEN_MAX];
	char word[PHX_KERNEL_WORD_MAX];
	PHX_AUTO_FREE char *site = site_kernel_args(d->site, node);
	PHX_AUTO_FREE char *args = phx_kernel_line(d->cfg.kernel_args, kernel->args, site);
	struct phx_image im;
	if (catalog_deploy(d, &im, why) < 0)
		return json_null();
	json_t *j = image_json(d, im.name, im.version, why);
	keys_start_token(d->keys, node, start, token);
	phx_kernel_word(kernel->release, kernel->args, word);
	phx_boot_words(&d->cfg, head_address, &im, token, word, head);
	PHX_AUTO_FREE char *line = phx_kernel_line(args, head, NULL);
	json_object_set_new(j, "cmdline", json_string(line ? line : ""));
	phx_record_fini(&phx_image_record, &im);
	return j;
}

static void put_beside(struct phx_buf *b, const char *name, json_t *j)
{
	phx_json_put_member(b, name);
	phx_json_put_tree(b, j);
	json_decref(j);
}

/* The image that has the programs of a check; without it those of the node are used. */
static void put_tools(struct daemon *d, struct phx_buf *b)
{
	struct phx_err why = {0};
	struct phx_image im;
	if (catalog_deploy(d, &im, &why) < 0)
		return;
	put_beside(b, "image", image_json(d, im.name, im.version, &why));
	phx_record_fini(&phx_image_record, &im);
}

void view_order_put(struct daemon *d, const char *node, const struct phx_order *o,
		    const struct order_beside *beside, struct phx_buf *b)
{
	struct phx_err why = {0};
	int kind = o->kind == PHX_ORDER_step ? o->step.kind : -1;
	/* an older agent, which gets no number, refuses members that it does not know */
	PHX_AUTO_FREE char *text =
		(kind >= 0 && !o->step.nonce) || !beside->layouts || !beside->shares
		? phx_json_record_text_sparse(&phx_order_record, o)
		: phx_json_record_text(&phx_order_record, o);
	b->failed = b->failed || !text;
	phx_json_put_item(b);
	phx_buf_add(b, text, text ? strlen(text) - 1 : 0); /* without its last brace */
	if (kind == PHX_STEP_kexec || kind == PHX_STEP_kernel)
		put_beside(b, "deploy",
			   deploy_json(d, node, beside->head, o->step.id, &beside->kernel, &why));
	if ((kind == PHX_STEP_kexec || kind == PHX_STEP_kernel) && beside->kernel.image[0])
		put_beside(b, "kernel",
			   image_json(d, beside->kernel.image, beside->kernel.version, &why));
	if (phx_step_leaves(kind) && beside->kernel.release[0])
		put_beside(b, "kernel_release", json_string(beside->kernel.release));
	if (kind == PHX_STEP_image || kind == PHX_STEP_ram)
		put_beside(b, "image", image_json(d, o->role.image, o->role.image_version, &why));
	if (kind == PHX_STEP_layout && beside->layouts) {
		put_beside(b, "layout", phx_json_from_record(&phx_layout_record, &beside->layout));
		put_beside(b, "keeps_layout", json_boolean(beside->keeps_layout));
		put_beside(b, "layout_erased", json_boolean(beside->layout_erased));
	}
	if (phx_step_checks(kind, NULL))
		put_tools(d, b);
	if ((kind == PHX_STEP_wipe || kind == PHX_STEP_image || kind == PHX_STEP_layout ||
	     kind == PHX_STEP_check_disk) &&
	    beside->protects)
		put_beside(b, "protect",
			   phx_json_from_record(&phx_protect_record, &beside->protect));
	if (kind >= 0 && beside->re)
		put_beside(b, "re", json_string(beside->re));
	if (why.text[0])
		put_beside(b, "image_error", json_string(why.text));
	phx_buf_add(b, "}", 1);
}

/* ---- metrics (Prometheus text, base units) ---- */

/* The pool of an RE has its name. */
static bool sees_pool(const struct phx_state *s, const struct phx_pool *p,
		      const struct view_reader *reader)
{
	const struct phx_re *re = phx_state_re(s, p->name);
	return !re || reader->sees(reader->arg, re);
}

static void put_one(struct phx_buf *b, enum phx_metric m, int64_t value)
{
	phx_metric_head(b, m);
	phx_metric_put(b, m, NULL, value, 0);
}

char *view_metrics(struct daemon *d, const struct view_reader *reader)
{
	struct phx_buf b = {0};
	struct phx_err readonly;
	bool ro = engine_readonly(d->engine, &readonly);
	const struct phx_state *s = engine_lock(d->engine);
	phx_metric_head(&b, PHX_METRIC_pool_nodes);
	PHX_LIST_EACH(struct phx_pool, p, &s->pools)
		if (sees_pool(s, p, reader))
			phx_metric_put(&b, PHX_METRIC_pool_nodes,
				       (const char *[]){p->name, p->owner},
				       phx_members_count(s, PHX_MEMBERS_POOL, p->name), 0);
	view_re_metrics(&b, s, reader);
	phx_metric_head(&b, PHX_METRIC_nodes);
	for (int i = 0; i < phx_node_state_names.n_names; i++)
		phx_metric_put(&b, PHX_METRIC_nodes, &phx_node_state_names.names[i],
			       count_state(s, i), 0);
	put_one(&b, PHX_METRIC_nodes_up, phx_members_count(s, PHX_MEMBERS_UP, ""));
	put_one(&b, PHX_METRIC_journal_events_total, (int64_t)s->seq);
	engine_unlock(d->engine);
	put_one(&b, PHX_METRIC_readonly, ro);
	return phx_buf_take(&b);
}
