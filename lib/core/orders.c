/* What the state means for the outside: orders for agents, the files that they may fetch,
 * outstanding actions, the next deadline, answers to booting machines. All of it is derived from
 * the state, so a restart of the daemon loses none. Pure. */
#include "core/core.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "job/job.h"
#include "node/director.h"
#include "node/node.h"
#include "node/wipes.h"
#include "re/re.h"
#include "state/node_sets.h"
#include "state/index.h"
#include "state/known.h"
#include "state/timed.h"

static bool agent_may_do(const struct phx_node *n, const struct phx_step *step)
{
	const struct phx_step_info *info = phx_step_info((enum phx_step_kind)step->kind);
	return step->status == PHX_STEP_ISSUED && info->executor == PHX_EXEC_AGENT &&
		n->env == (info->needs == PHX_NEEDS_OS ? PHX_ENV_OS : PHX_ENV_DEPLOY);
}

static int add_step_order(const struct phx_state *s, const struct phx_node *n,
			  const struct phx_step *step, struct phx_list *ret)
{
	struct phx_role store;
	const struct phx_role *role = phx_step_role(s, n, step, &store);
	struct phx_order *o = phx_list_push(ret, sizeof(*o));
	if (!o)
		return -ENOMEM;
	o->kind = PHX_ORDER_step;
	o->request = n->plan.request;
	o->id = step->id;
	o->epoch = n->plan.epoch;
	o->deadline_s = phx_step_deadline_s(s, n, step);
	o->step = *step;
	if (!n->echoes)
		o->step.nonce = 0; /* an older agent refuses a member that it does not know */
	int r = role ? phx_record_copy(&phx_role_record, &o->role, role) : 0;
	if (role && r == 0)
		o->role.web = phx_node_web_of(s, n, role);
	return r;
}

/* Writes the address of each node of the job into its part: the job's programs find each other by
 * these addresses. */
static void put_addresses(const struct phx_state *s, struct phx_job *j)
{
	PHX_LIST_EACH(struct phx_job_part, p, &j->parts) {
		const struct phx_node *n = phx_state_node(s, p->node);
		if (n)
			PHX_STR_SET(p->address, n->address[0] ? n->address : n->ip);
	}
}

/* Copies the words of the array's first member to `j`, if `j` is another member. */
static int take_words(const struct phx_state *s, struct phx_job *j)
{
	struct phx_job copy;
	const struct phx_job *from = phx_job_words(s, j);
	if (from->id == j->id)
		return 0;
	int r = phx_record_copy(&phx_job_record, &copy, from);
	if (r < 0)
		return r;
	j->argv = copy.argv;
	j->env = copy.env;
	j->script = PHX_TAKE(copy.script);
	j->stage_in = copy.stage_in;
	j->stage_out = copy.stage_out;
	copy.argv = copy.env = copy.stage_in = copy.stage_out = (struct phx_list){0};
	phx_record_fini(&phx_job_record, &copy);
	return 0;
}

static int add_job_order(const struct phx_state *s, const struct phx_job *j, struct phx_list *ret)
{
	struct phx_order *o = phx_list_push(ret, sizeof(*o));
	if (!o)
		return -ENOMEM;
	o->kind = phx_job_is_told(j) ? PHX_ORDER_kill : PHX_ORDER_job;
	o->id = j->id;
	o->run = j->kills;
	int r = phx_record_copy(&phx_job_record, &o->job, j);
	r = r ? r : take_words(s, &o->job);
	if (r == 0)
		put_addresses(s, &o->job);
	return r;
}

static int add_inspect_order(struct phx_list *ret)
{
	struct phx_order *o = phx_list_push(ret, sizeof(*o));
	if (!o)
		return -ENOMEM;
	o->kind = PHX_ORDER_inspect;
	return 0;
}

static int add_table_order(const struct phx_state *s, const struct phx_node *n,
			   struct phx_list *ret)
{
	struct phx_order *o = phx_list_push(ret, sizeof(*o));
	int r = o ? phx_director_order(s, n, &o->table, &o->share) : -ENOMEM;
	if (r < 0)
		return r;
	o->kind = PHX_ORDER_table;
	o->id = phx_web_order_id(&o->table, &o->share);
	return 0;
}

static int add_prefetch_order(const struct phx_state *s, const struct phx_node *n,
			      struct phx_list *ret)
{
	struct phx_list packages = {0};
	uint64_t id;
	int r = phx_re_prefetch(s, n, &packages, &id);
	struct phx_order *o = r == 0 ? phx_list_push(ret, sizeof(*o)) : NULL;
	if (!o) {
		phx_list_fini(&packages);
		return r == -ENOENT ? 0 : r ? r : -ENOMEM;
	}
	o->kind = PHX_ORDER_prefetch;
	o->id = id;
	o->role.packages = packages;
	return 0;
}

static int add_ahead_order(const struct phx_state *s, const struct phx_node *n,
			   struct phx_list *ret)
{
	struct phx_role role;
	uint64_t id;
	int r = phx_re_ahead(s, n, &role, &id);
	struct phx_order *o = r == 0 ? phx_list_push(ret, sizeof(*o)) : NULL;
	if (!o) {
		if (r == 0)
			phx_record_fini(&phx_role_record, &role);
		return r == -ENOENT ? 0 : r ? r : -ENOMEM;
	}
	o->kind = PHX_ORDER_ahead;
	o->id = id;
	o->role = role;
	return 0;
}

/* Does the node still act as a director although it should not, because it was quarantined or goes
 * to another role? Its successor has the virtual addresses now. */
static bool directs_still(const struct phx_state *s, const struct phx_node *n)
{
	const struct phx_role *role = phx_state_role(s, n->actual_role);
	return n->env == PHX_ENV_OS && role && role->director;
}

int phx_core_orders(const struct phx_state *s, const char *node, struct phx_list *ret_orders)
{
	const struct phx_node *n = phx_state_node(s, node);
	int r = 0;
	if (!n)
		return -ENOENT;
	const struct phx_step *step = phx_node_step(n);
	if (step && agent_may_do(n, step))
		r = add_step_order(s, n, step, ret_orders);
	if (r == 0 && n->inspect)
		r = add_inspect_order(ret_orders);
	if (r == 0 && (phx_director_is(s, n) || directs_still(s, n)))
		r = add_table_order(s, n, ret_orders);
	const struct phx_job *j = phx_index_job_on(s, n);
	if (r == 0 && j && !j->engine_id[0] && !j->worker)
		r = add_job_order(s, j, ret_orders);
	r = r ? r : add_prefetch_order(s, n, ret_orders);
	return r ? r : add_ahead_order(s, n, ret_orders);
}

/* ---- files ---- */

struct wanted {
	const char *name, *version; /* version NULL: `name` is a file of a package */
};

static bool names_image(const struct phx_order *o, const struct wanted *w)
{
	return phx_str_eq(o->role.image, w->name) &&
		(!o->role.image_version[0] || phx_str_eq(o->role.image_version, w->version));
}

static bool names_package(const struct phx_order *o, const struct wanted *w)
{
	char archive[2 * PHX_NAME_MAX + 16];
	PHX_LIST_EACH(struct phx_package_ref, p, &o->role.packages) {
		int n = snprintf(archive, sizeof(archive), PHX_PACKAGE_ARCHIVE, p->name,
				 p->version);
		if (!strncmp(w->name, archive, (size_t)n) &&
		    (!w->name[n] || !strcmp(w->name + n, ".sig")))
			return true;
	}
	return false;
}

static bool is_named(const struct phx_state *s, const char *node, const struct wanted *w,
		     bool (*names)(const struct phx_order *o, const struct wanted *w))
{
	struct phx_list orders = {0};
	bool found = false, whole = phx_core_orders(s, node, &orders) == 0;
	PHX_LIST_EACH(struct phx_order, o, &orders) {
		found = found || (whole && names(o, w));
		phx_record_fini(&phx_order_record, o);
	}
	phx_list_fini(&orders);
	return found;
}

bool phx_core_gives_image(const struct phx_state *s, const char *node, const char *image,
			  const char *version)
{
	return is_named(s, node, &(struct wanted){image, version}, names_image);
}

bool phx_core_gives_package(const struct phx_state *s, const char *node, const char *file)
{
	return is_named(s, node, &(struct wanted){file, NULL}, names_package);
}

/* ---- outstanding ---- */

static int add_pending(const struct phx_node *n, const struct phx_step *step, struct phx_list *ret)
{
	struct phx_action *act = phx_list_push(ret, sizeof(*act));
	if (!act)
		return -ENOMEM;
	PHX_STR_SET(act->node, n->name);
	act->step_id = step->id;
	act->epoch = n->plan.epoch;
	PHX_STR_SET(act->key_id, step->key_id);
	switch (phx_step_info((enum phx_step_kind)step->kind)->executor) {
	case PHX_EXEC_AGENT:
	case PHX_EXEC_CORE:
	case PHX_EXEC_DIRECTOR:
		act->kind = PHX_ACT_ORDER;
		break;
	case PHX_EXEC_POWER:
		act->kind = PHX_ACT_POWER;
		act->op = PHX_POWER_BOOT;
		break;
	case PHX_EXEC_KEY:
		act->kind =
			step->kind == PHX_STEP_make_key ? PHX_ACT_KEY_MAKE : PHX_ACT_KEY_DESTROY;
		break;
	}
	return 0;
}

static int add_power(const struct phx_node *n, enum phx_power_op op, struct phx_list *ret)
{
	struct phx_action *act = phx_list_push(ret, sizeof(*act));
	if (!act)
		return -ENOMEM;
	act->kind = PHX_ACT_POWER;
	act->op = (int)op;
	act->epoch = n->plan.epoch;
	return PHX_STR_SET(act->node, n->name);
}

static int add_keys(const struct phx_state *s, struct phx_list *ret)
{
	PHX_LIST_EACH(struct phx_doomed_key, k, &s->doomed_keys) {
		if (!k->key_id[0])
			continue;
		struct phx_action *act = phx_list_push(ret, sizeof(*act));
		if (!act)
			return -ENOMEM;
		act->kind = PHX_ACT_KEY_DESTROY;
		PHX_STR_SET(act->key_id, k->key_id);
	}
	return 0;
}

int phx_core_pending(const struct phx_state *s, struct phx_list *ret_actions)
{
	PHX_NODES_EACH(n, s) {
		const struct phx_step *step = phx_node_step(n);
		int r = step && step->status == PHX_STEP_ISSUED ? add_pending(n, step, ret_actions)
								: 0;
		if (r == 0 && n->off_wanted)
			r = add_power(n, PHX_POWER_OFF, ret_actions);
		if (r == 0 && n->soft_until_ms && !n->soft_taken)
			r = add_power(n, PHX_POWER_SOFT, ret_actions);
		if (r < 0)
			return r;
	}
	return add_keys(s, ret_actions);
}

int64_t phx_core_next_deadline(const struct phx_state *s)
{
	int64_t next = phx_index_nodes_due(s), job = phx_index_jobs_due(s);
	next = job < next ? job : next;
	if (s->ledger && phx_ledger_next_ms(s->ledger) < next)
		next = phx_ledger_next_ms(s->ledger);
	int64_t shared = phx_director_due_ms(s);
	next = shared < next ? shared : next;
	for (int list = 0; list < PHX_TIMED_COUNT_; list++) {
		int64_t first = phx_timed_first(s, (enum phx_timed)list);
		next = first < next ? first : next;
	}
	return next;
}

bool phx_core_key_holds(const struct phx_state *s, const char *node, const char *key_fp)
{
	const struct phx_node *n = phx_state_node(s, node);
	return n && phx_node_key_holds(n, key_fp);
}

struct phx_boot phx_core_boot(const struct phx_state *s, const char *mac, const char *address)
{
	const struct phx_node *n = phx_known_next(s, PHX_KNOWN_MAC, mac, 0);
	struct phx_boot ret = {.node = n ? n->name : ""};
	if (n && n->state == PHX_NODE_QUARANTINED && !n->awaited)
		ret.choice = PHX_BOOT_REFUSE;
	else if (n) {
		ret.start = phx_start_given(n, address);
		phx_kernel_of(s, n, &ret.kernel);
	}
	return ret;
}
