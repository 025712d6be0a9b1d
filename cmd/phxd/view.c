/* What the API shows: nodes with expectation and drift, plans, status, orders
 * with what an agent needs beside them, metrics. Reads only. */
#include "phxd/daemon.h"

#include <stdio.h>
#include <string.h>

#include "base/nodeset.h"
#include "deploy/store.h"

static void expected_identity(const struct phx_state *s, const struct phx_node *n, char *ret, size_t ret_size)
{
	const struct phx_role *role = n->role[0] ? phx_state_role(s, n->role) : NULL;
	ret[0] = '\0';
	if (role)
		phx_role_identity(role, ret, ret_size);
}

/* Members by which a machine is known, or reached below its system: who knows them can claim to be it, or look for it.
 * A path leads into lists too. */
static const char *const hardware[] = {
	"macs", "serial", "uuid", "key_fp", "bmc", "disk_key_id", "system_disk", "facts.serial", "facts.uuid",
	"facts.bmc_address", "facts.disks.id", "facts.disks.wwn", "facts.disks.serial", "facts.nics.mac",
	"plan.steps.disk", "plan.steps.key_id", "by_mac_alone",
};

static void drop_member(json_t *j, const char *path)
{
	size_t n = strcspn(path, "."), i;
	char key[32];
	json_t *item;
	json_array_foreach(j, i, item)
		drop_member(item, path);
	if (!json_is_object(j))
		return;
	snprintf(key, sizeof(key), "%.*s", (int)n, path);
	if (path[n])
		drop_member(json_object_get(j, key), path + n + 1);
	else
		json_object_del(j, key);
}

void view_hide_hardware(json_t *node)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(hardware); i++)
		drop_member(node, hardware[i]);
}

json_t *view_node(const struct phx_state *s, const struct phx_node *n)
{
	char expected[200];
	json_t *j = phx_json_from_record(&phx_node_record, n);
	if (!j)
		return NULL;
	expected_identity(s, n, expected, sizeof(expected));
	json_object_del(j, "token_sha256"); /* who sees it could try tokens on it */
	bool settled = n->state == PHX_NODE_ACTIVE && n->up;
	bool drift = settled && (strcmp(n->actual_role, n->role) || strcmp(n->actual_identity, expected));
	json_object_set_new(j, "expected", json_string(expected));
	json_object_set_new(j, "drift", json_boolean(drift));
	json_object_set_new(j, "by_mac_alone", json_boolean(phx_node_by_mac_alone(n)));
	return j;
}

void view_add_monitor(struct daemon *d, json_t *node)
{
	json_t *m = live_monitor(d->live, phx_json_str(node, "name", ""));
	json_object_del(m, "sessions"); /* who is logged in is for who orders something (ends.c) */
	json_object_set_new(node, "monitor", m ? m : json_null());
}

json_t *view_plan(const struct phx_plan *p)
{
	json_t *j = phx_json_from_record(&phx_plan_record, p);
	json_t *steps = json_object_get(j, "steps");
	for (uint32_t i = 0; i < p->steps.n; i++) {
		const struct phx_step *step = PHX_LIST_AT(&p->steps, struct phx_step, i);
		const struct phx_step_info *info = phx_step_info((enum phx_step_kind)step->kind);
		json_t *s = json_array_get(steps, i);
		json_object_set_new(s, "phase", json_string(phx_enum_name(&phx_node_state_names, (int)info->phase)));
		json_object_set_new(s, "text", json_string(info->text));
	}
	return j;
}

/* ---- status ---- */

static json_t *view_pool(const struct phx_state *s, const struct phx_pool *p)
{
	struct phx_nodeset set = { 0 };
	PHX_LIST_EACH(struct phx_node, n, &s->nodes)
		if (!strcmp(n->pool, p->name))
			phx_nodeset_add(&set, n->name);
	PHX_AUTO_FREE char *hosts = phx_nodeset_fold(&set);
	json_t *j = json_pack("{s:s,s:s,s:o,s:I,s:s}", "name", p->name, "owner", p->owner, "setup",
			      phx_json_from_record(&phx_setup_record, &p->setup), "nodes", (json_int_t)set.n, "hosts",
			      hosts ? hosts : "");
	phx_nodeset_fini(&set);
	return j;
}

static json_t *view_children(struct daemon *d)
{
	struct phx_list list = { 0 };
	json_t *a = json_array();
	if (d->children)
		phx_children_status(d->children, &list);
	PHX_LIST_EACH(struct phx_child_status, c, &list)
		json_array_append_new(a, phx_json_from_record(&phx_child_status_record, c));
	phx_list_fini(&list);
	return a;
}

/* Where the journal begins: what is older was forgotten. */
static void add_first(struct daemon *d, json_t *j)
{
	uint64_t first;
	int64_t time_ms;
	if (phx_store_first(engine_store(d->engine), &first, &time_ms, NULL) < 0)
		return;
	json_object_set_new(j, "first_seq", json_integer((json_int_t)first));
	json_object_set_new(j, "first_ms", json_integer((json_int_t)time_ms));
}

/* The kernel that nodes run, whatever their image brings. */
static void add_kernel(struct daemon *d, json_t *j)
{
	struct phx_err why = { 0 };
	struct phx_image deploy = { 0 };
	catalog_deploy(d, &deploy, &why);
	json_object_set_new(j, "deploy",
			    json_pack("{s:s,s:s,s:s,s:s}", "image", d->cfg.deploy_image, "version", deploy.version,
				      "kernel", deploy.kernel_release, "error", why.text));
	phx_record_fini(&phx_image_record, &deploy);
}

json_t *view_status(struct daemon *d, bool whole)
{
	struct phx_err readonly = { 0 };
	json_t *states = json_object(), *pools = json_array();
	int counts[16] = { 0 }, up = 0;
	engine_readonly(d->engine, &readonly);
	int64_t uptime_s = (engine_now(d->engine) - d->started_ms) / 1000;
	const struct phx_state *s = engine_lock(d->engine);
	PHX_LIST_EACH(struct phx_node, n, &s->nodes)
	{
		counts[n->state]++;
		up += n->up;
	}
	for (int i = 0; i < phx_node_state_names.n_names; i++)
		json_object_set_new(states, phx_node_state_names.names[i], json_integer(counts[i]));
	PHX_LIST_EACH(struct phx_pool, p, &s->pools)
		json_array_append_new(pools, view_pool(s, p));
	json_t *j = json_pack("{s:s,s:I,s:I,s:s,s:I,s:i,s:o,s:o}", "version", PHX_VERSION, "uptime_s",
			      (json_int_t)uptime_s, "seq", (json_int_t)s->seq, "readonly", readonly.text, "nodes",
			      (json_int_t)s->nodes.n, "up", up, "states", states, "pools", pools);
	engine_unlock(d->engine);
	json_object_set_new(j, "children", view_children(d));
	json_object_set_new(j, "refused", refused_view(d->refused, whole));
	add_first(d, j);
	add_kernel(d, j);
	return j;
}

/* ---- orders ---- */

/* Null when there is none that can be used; `why` then says so. */
static json_t *image_json(struct daemon *d, const char *name, const char *version, struct phx_err *why)
{
	struct phx_image im;
	if (phx_images_find(d->cfg.image_dir, name, version, &im, why) < 0)
		return json_null();
	json_t *j = phx_json_from_record(&phx_image_record, &im);
	phx_record_fini(&phx_image_record, &im);
	return j;
}

static json_t *deploy_json(struct daemon *d, struct phx_err *why)
{
	char cmdline[PHX_CONFIG_TEXT_MAX + 200];
	json_t *j = image_json(d, d->cfg.deploy_image, NULL, why);
	snprintf(cmdline, sizeof(cmdline), "%s phx.server=%s:%u phx.http=%s:%u", d->cfg.kernel_args, d->cfg.address,
		 d->cfg.https_port, d->cfg.address, d->cfg.http_port);
	if (json_is_object(j))
		json_object_set_new(j, "cmdline", json_string(cmdline));
	return j;
}

json_t *view_order(struct daemon *d, const struct phx_order *o)
{
	struct phx_err why = { 0 };
	json_t *j = phx_json_from_record(&phx_order_record, o);
	if (!j || strcmp(o->kind, "step"))
		return j;
	if (o->step.kind == PHX_STEP_kexec)
		json_object_set_new(j, "deploy", deploy_json(d, &why));
	if (o->step.kind == PHX_STEP_image || o->step.kind == PHX_STEP_ram)
		json_object_set_new(j, "image", image_json(d, o->role.image, o->role.image_version, &why));
	if (why.text[0])
		json_object_set_new(j, "image_error", json_string(why.text));
	return j;
}

/* ---- metrics (Prometheus text, base units) ---- */

static void metric(struct phx_buf *b, const char *name, const char *help, const char *type)
{
	phx_buf_addf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

char *view_metrics(struct daemon *d)
{
	struct phx_buf b = { 0 };
	struct phx_err readonly;
	int counts[16] = { 0 }, up = 0;
	bool ro = engine_readonly(d->engine, &readonly);
	const struct phx_state *s = engine_lock(d->engine);
	metric(&b, "phx_pool_nodes", "Nodes a pool holds.", "gauge");
	PHX_LIST_EACH(struct phx_pool, p, &s->pools)
	{
		int n_pool = 0;
		PHX_LIST_EACH(struct phx_node, n, &s->nodes)
			n_pool += !strcmp(n->pool, p->name);
		phx_buf_addf(&b, "phx_pool_nodes{pool=\"%s\",owner=\"%s\"} %d\n", p->name, p->owner, n_pool);
	}
	PHX_LIST_EACH(struct phx_node, n, &s->nodes)
	{
		counts[n->state]++;
		up += n->up;
	}
	view_re_metrics(&b, s);
	metric(&b, "phx_nodes", "Nodes by state.", "gauge");
	for (int i = 0; i < phx_node_state_names.n_names; i++)
		phx_buf_addf(&b, "phx_nodes{state=\"%s\"} %d\n", phx_node_state_names.names[i], counts[i]);
	metric(&b, "phx_nodes_up", "Nodes heard of lately.", "gauge");
	phx_buf_addf(&b, "phx_nodes_up %d\n", up);
	metric(&b, "phx_journal_events_total", "Events journalled.", "counter");
	phx_buf_addf(&b, "phx_journal_events_total %llu\n", (unsigned long long)s->seq);
	engine_unlock(d->engine);
	metric(&b, "phx_readonly", "1 while the journal cannot be written.", "gauge");
	phx_buf_addf(&b, "phx_readonly %d\n", ro);
	return phx_buf_take(&b);
}
