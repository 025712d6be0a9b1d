/* Core state: record tables, lookup, invariants. Called by core_apply, the
 * store (snapshots), the API and tests. Pure. */
#include "core/internal.h"
#include "core/index.h"

#include <errno.h>
#include <string.h>

static const struct phx_field pool_fields[] = {
	PHX_STR(struct phx_pool, name),
	PHX_STR(struct phx_pool, owner),
	PHX_REC(struct phx_pool, setup, &phx_setup_record),
};
const struct phx_record phx_pool_record = PHX_RECORD("pool", struct phx_pool, pool_fields);

static const struct phx_field settings_fields[] = {
	PHX_BOOL(struct phx_settings, auto_assign),
	PHX_U32(struct phx_settings, missing_after_ms),
	PHX_U32(struct phx_settings, repairs_max),
	PHX_BOOL(struct phx_settings, power_off_quarantined),
	PHX_STR(struct phx_settings, image_deploy),
	PHX_U32(struct phx_settings, job_lease_ms),
	PHX_U32(struct phx_settings, job_output_max_mb),
	PHX_U32(struct phx_settings, balance_rest_ms),
	PHX_U32(struct phx_settings, jobs_per_user),
	PHX_U32(struct phx_settings, job_mb_per_user),
};
const struct phx_record phx_settings_record = PHX_RECORD("settings", struct phx_settings, settings_fields);

static const char *const job_states[] = { "queued", "running", "done", "failed", "cancelled", "timeout" };
const struct phx_enum phx_job_state_names = { "job state", job_states, PHX_ARRAY_SIZE(job_states) };

static const struct phx_field job_part_fields[] = {
	PHX_STR(struct phx_job_part, node),
	PHX_BOOL(struct phx_job_part, ended),
	PHX_I64(struct phx_job_part, status),
	PHX_U64(struct phx_job_part, cpu_ms),
	PHX_U64(struct phx_job_part, memory_peak_bytes),
	PHX_I64(struct phx_job_part, lost_ms),
	PHX_STR(struct phx_job_part, address),
	PHX_U64(struct phx_job_part, output_cut_bytes),
};
const struct phx_record phx_job_part_record = PHX_RECORD("part", struct phx_job_part, job_part_fields);

static const struct phx_field job_fields[] = {
#define J struct phx_job
	PHX_U64(J, id),		  PHX_ENUM(J, state, &phx_job_state_names), PHX_U32(J, nodes),
	PHX_U32(J, uid),	  PHX_U32(J, gid),			    PHX_STR(J, user),
	PHX_STR(J, re),		  PHX_I64(J, estimate_ms),
	PHX_BOOL(J, held),	  PHX_BOOL(J, overdue),
	PHX_BOOL(J, no_requeue),  PHX_U32(J, kills),	  PHX_BOOL(J, killing),
	PHX_U32(J, lease_ms),	  PHX_U32(J, output_max_mb),	  PHX_U32(J, grace_ms),
	PHX_U32(J, checkpoint_signal), PHX_U32(J, checkpoint_ms),
	PHX_STR(J, killed_by),	  PHX_STR(J, killed_why), PHX_I64(J, killed_ms),
	PHX_BOOL(J, cancel),	  PHX_BOOL(J, broken),	  PHX_I64(J, submitted_ms),		    PHX_I64(J, started_ms),
	PHX_I64(J, ended_ms),	  PHX_I64(J, status),			    PHX_LIST(J, argv, &phx_text_record),
	PHX_LIST(J, env, &phx_text_record), PHX_TEXT(J, script),
	PHX_STR(J, chdir), PHX_LIST(J, stage_in, &phx_word_record), PHX_LIST(J, stage_out, &phx_word_record),
	PHX_BOOL(J, timed_out), PHX_TEXT(J, why),
	PHX_U64(J, array), PHX_U32(J, array_index), PHX_BOOL(J, throttled),
	PHX_BOOL(J, words_stay), PHX_U32(J, array_n), PHX_U32(J, array_open), PHX_U32(J, array_next),
	PHX_LIST(J, parts, &phx_job_part_record), PHX_STR(J, engine_id), PHX_BOOL(J, ending),
	PHX_BOOL(J, hurry),	  PHX_I64(J, begin_ms),
#undef J
};
const struct phx_record phx_job_record = PHX_RECORD("job", struct phx_job, job_fields);

static const struct phx_field doomed_key_fields[] = {
	PHX_STR(struct phx_doomed_key, key_id),
	PHX_I64(struct phx_doomed_key, again_ms),
};
const struct phx_record phx_doomed_key_record = PHX_RECORD("key", struct phx_doomed_key, doomed_key_fields);

static const char *const engine_node_states[] = { "absent", "open", "closed" };
const struct phx_enum phx_engine_node_state_names = { "state of a node", engine_node_states,
						      PHX_ARRAY_SIZE(engine_node_states) };

static const struct phx_field engine_node_fields[] = {
	PHX_STR(struct phx_engine_node, name),
	PHX_ENUM(struct phx_engine_node, state, &phx_engine_node_state_names),
	PHX_BOOL(struct phx_engine_node, ours),
	PHX_BOOL(struct phx_engine_node, sure),
};
const struct phx_record phx_engine_node_record = PHX_RECORD("node", struct phx_engine_node, engine_node_fields);

static const struct phx_field re_fields[] = {
	PHX_STR(struct phx_re, name),
	PHX_REC(struct phx_re, agreement, &phx_agreement_record),
	PHX_ENUM(struct phx_re, state, &phx_re_state_names),
	PHX_BOOL(struct phx_re, active),
	PHX_U32(struct phx_re, number),
	PHX_BOOL(struct phx_re, leaving),
	PHX_I64(struct phx_re, asked_ms),
	PHX_U64(struct phx_re, asked_seq),
	PHX_I64(struct phx_re, created_ms),
	PHX_I64(struct phx_re, changed_ms),
	PHX_BOOL(struct phx_re, attached),
	PHX_STR(struct phx_re, trouble),
	PHX_LIST(struct phx_re, engine_nodes, &phx_engine_node_record),
	PHX_LIST(struct phx_re, engine_partitions, &phx_engine_node_record),
};
const struct phx_record phx_re_record = PHX_RECORD("RE", struct phx_re, re_fields);

static const struct phx_field revoked_fields[] = {
	PHX_STR(struct phx_revoked, serial),
	PHX_STR(struct phx_revoked, name),
	PHX_I64(struct phx_revoked, at_ms),
};
const struct phx_record phx_revoked_record = PHX_RECORD("certificate", struct phx_revoked, revoked_fields);

static int ledger_save(const void *live, void *ret_image)
{
	return phx_ledger_save(live, ret_image);
}

static int ledger_restore(const void *image, void **ret_live)
{
	struct phx_ledger *l;
	int r = phx_ledger_restore(image, &l);
	if (r == 0)
		*ret_live = l;
	return r;
}

static void ledger_free(void *live)
{
	phx_ledger_free(live);
}

static const struct phx_live ledger_live = { &phx_ledger_image_record, ledger_save, ledger_restore, ledger_free };

static const struct phx_field state_fields[] = {
	PHX_U64(struct phx_state, seq),
	PHX_I64(struct phx_state, now_ms),
	PHX_U64(struct phx_state, incarnation),
	PHX_U64(struct phx_state, last_step_id),
	PHX_U64(struct phx_state, last_job_id),
	PHX_U32(struct phx_state, last_node_number),
	PHX_REC(struct phx_state, settings, &phx_settings_record),
	PHX_LIST(struct phx_state, pools, &phx_pool_record),
	PHX_LIST(struct phx_state, roles, &phx_role_record),
	PHX_LIST(struct phx_state, formers, &phx_role_record),
	PHX_LIST(struct phx_state, rules, &phx_rule_record),
	PHX_LIST(struct phx_state, nodes, &phx_node_record),
	PHX_LIST(struct phx_state, jobs, &phx_job_record),
	PHX_LIST(struct phx_state, doomed_keys, &phx_doomed_key_record),
	PHX_LIST(struct phx_state, res, &phx_re_record),
	PHX_LIST(struct phx_state, revoked, &phx_revoked_record),
	PHX_I64(struct phx_state, refused_ms),
	PHX_STR(struct phx_state, director),
	PHX_LIVE(struct phx_state, ledger, &ledger_live),
};
const struct phx_record phx_state_record = PHX_RECORD("state", struct phx_state, state_fields);

int phx_state_init(struct phx_state *s)
{
	*s = (struct phx_state){ .settings = { .missing_after_ms = 6000,
					       .repairs_max = 4,
					       .power_off_quarantined = true,
					       .image_deploy = "deploy",
					       .job_lease_ms = PHX_JOB_LEASE_MS } };
	struct phx_pool *p = phx_list_push(&s->pools, sizeof(*p));
	return p ? PHX_STR_SET(p->name, PHX_POOL_FREE) : -ENOMEM;
}

void phx_state_fini(struct phx_state *s)
{
	phx_index_drop(s);
	phx_record_fini(&phx_state_record, s);
}

/* Every named item has its name first. */
static void *find_named(const struct phx_list *l, size_t item_size, size_t name_offset, const char *name)
{
	for (uint32_t i = 0; i < l->n; i++) {
		char *item = (char *)l->items + (size_t)i * item_size;
		if (!strcmp(item + name_offset, name))
			return item;
	}
	return NULL;
}

#define FIND(list, type, name) find_named((list), sizeof(type), offsetof(type, name), name)

struct phx_node *phx_state_node(const struct phx_state *s, const char *name)
{
	int64_t i = phx_index_find(s, name);
	if (i == -EAGAIN)
		return FIND(&s->nodes, struct phx_node, name);
	return i < 0 ? NULL : PHX_LIST_AT(&s->nodes, struct phx_node, i);
}

struct phx_pool *phx_state_pool(const struct phx_state *s, const char *name)
{
	return FIND(&s->pools, struct phx_pool, name);
}

struct phx_role *phx_state_role(const struct phx_state *s, const char *name)
{
	return FIND(&s->roles, struct phx_role, name);
}

struct phx_node *phx_state_node_by_mac(const struct phx_state *s, const char *mac)
{
	PHX_LIST_EACH(struct phx_node, n, &s->nodes)
		if (phx_node_has_mac(n, mac))
			return n;
	return NULL;
}

struct phx_re *phx_state_re(const struct phx_state *s, const char *name)
{
	return FIND(&s->res, struct phx_re, name);
}

const struct phx_revoked *phx_state_revoked(const struct phx_state *s, const char *serial)
{
	PHX_LIST_EACH(struct phx_revoked, c, &s->revoked)
		if (!strcmp(c->serial, serial))
			return c;
	return NULL;
}

static uint64_t number_of_job(const void *item)
{
	return ((const struct phx_job *)item)->id;
}

uint32_t phx_state_job_place(const struct phx_state *s, uint64_t id)
{
	return phx_list_place(&s->jobs, sizeof(struct phx_job), number_of_job, id);
}

static uint64_t number_of_node(const void *item)
{
	return ((const struct phx_node *)item)->number;
}

uint32_t phx_state_node_place(const struct phx_state *s, uint64_t number)
{
	return phx_list_place(&s->nodes, sizeof(struct phx_node), number_of_node, number);
}

struct phx_job *phx_state_job(const struct phx_state *s, uint64_t id)
{
	uint32_t at = phx_state_job_place(s, id);
	struct phx_job *j = at < s->jobs.n ? PHX_LIST_AT(&s->jobs, struct phx_job, at) : NULL;
	return j && j->id == id ? j : NULL;
}

/* ---- invariants (faults.md) ---- */

static int check_place(const struct phx_state *s, const struct phx_node *n, struct phx_err *err)
{
	if (n->pool[0] && !phx_state_pool(s, n->pool))
		return phx_err_set(err, -EPROTO, "%s is in pool '%s', which does not exist", n->name, n->pool);
	if (n->state == PHX_NODE_QUARANTINED && n->pool[0])
		return phx_err_set(err, -EPROTO, "%s is quarantined and counted in pool '%s'", n->name, n->pool);
	if (n->state == PHX_NODE_ACTIVE && (!n->pool[0] || !n->role[0]))
		return phx_err_set(err, -EPROTO, "%s is active without a pool or a role", n->name);
	return 0;
}

/* A transient state has a step, and the step has a live deadline. */
static int check_deadline(const struct phx_node *n, struct phx_err *err)
{
	const struct phx_step *step = phx_node_step(n);
	if (phx_node_state_transient((enum phx_node_state)n->state) && !step)
		return phx_err_set(err, -EPROTO, "%s is %s and follows no plan", n->name,
				   phx_enum_name(&phx_node_state_names, n->state));
	if (!step)
		return 0;
	if (n->state == PHX_NODE_QUARANTINED || n->state == PHX_NODE_NEW)
		return phx_err_set(err, -EPROTO, "%s is %s and follows a plan", n->name,
				   phx_enum_name(&phx_node_state_names, n->state));
	if (step->deadline_ms <= 0)
		return phx_err_set(err, -EPROTO, "%s: step %s has no deadline", n->name,
				   phx_enum_name(&phx_step_kind_names, step->kind));
	return 0;
}

/* Nothing unwiped reaches another tenant where the agreement says wipe. */
static int check_tenant(const struct phx_state *s, const struct phx_node *n, struct phx_err *err)
{
	const struct phx_pool *to = phx_state_pool(s, n->pool);
	if (!n->dirty || !to || !strcmp(n->tenant, to->owner))
		return 0;
	/* its key is gone, and nobody gets it before it is read back */
	bool unread = n->key_unread && !strcmp(to->name, PHX_POOL_FREE);
	if (n->owes_wipe && !unread)
		return phx_err_set(err, -EPROTO, "%s is in pool %s and holds data of %s that had to be erased", n->name,
				   to->name, n->tenant);
	if (n->state == PHX_NODE_ACTIVE)
		return phx_err_set(err, -EPROTO, "%s serves '%s' and its data passes for that of '%s'", n->name, to->owner,
				   n->tenant);
	return 0;
}

static int check_macs(const struct phx_state *s, uint32_t i, struct phx_err *err)
{
	const struct phx_node *n = PHX_LIST_AT(&s->nodes, struct phx_node, i);
	PHX_LIST_EACH(struct phx_mac, m, &n->macs)
		if (phx_state_node_by_mac(s, m->mac) != n)
			return phx_err_set(err, -EPROTO, "MAC %s belongs to two nodes", m->mac);
	return 0;
}

static int check_order(const struct phx_state *s, struct phx_err *err)
{
	for (uint32_t i = 1; i < s->jobs.n; i++)
		if (PHX_LIST_AT(&s->jobs, struct phx_job, i - 1)->id >= PHX_LIST_AT(&s->jobs, struct phx_job, i)->id)
			return phx_err_set(err, -EPROTO, "job %llu is not in its place",
					   (unsigned long long)PHX_LIST_AT(&s->jobs, struct phx_job, i)->id);
	return 0;
}

/* The parts that a node runs are the jobs' open parts on it. */
static int check_jobs(const struct phx_state *s, const struct phx_node *n, struct phx_err *err)
{
	uint32_t open = 0;
	PHX_LIST_EACH(struct phx_job, j, &s->jobs)
		PHX_LIST_EACH(struct phx_job_part, p, &j->parts)
			open += j->state == PHX_JOB_RUNNING && !p->ended && !strcmp(p->node, n->name);
	if (open != n->jobs_running)
		return phx_err_set(err, -EPROTO, "%s runs %u parts of jobs and counts %u", n->name, open, n->jobs_running);
	return 0;
}

int phx_state_check(const struct phx_state *s, struct phx_err *err)
{
	int r = 0;
	for (uint32_t i = 0; r == 0 && i < s->nodes.n; i++) {
		const struct phx_node *n = PHX_LIST_AT(&s->nodes, struct phx_node, i);
		r = check_place(s, n, err);
		r = r ? r : check_deadline(n, err);
		r = r ? r : check_tenant(s, n, err);
		r = r ? r : check_macs(s, i, err);
		r = r ? r : check_jobs(s, n, err);
		if (!r && phx_state_node(s, n->name) != n)
			r = phx_err_set(err, -EPROTO, "two nodes are called %s", n->name);
	}
	r = r ? r : check_order(s, err);
	r = r ? r : phx_index_check(s, err);
	return r ? r : phx_share_check(s, err);
}
