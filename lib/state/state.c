/* Core state: its record tables, phx_state_init() and phx_state_fini(). Called by
 * core_apply, the journal (snapshots), the API and tests. Pure. */
#include "state/index.h"

#include <errno.h>
#include <string.h>

PHX_RECORD_TABLE(phx_pool, PHX_POOL_FIELDS);

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
const struct phx_record phx_settings_record =
	PHX_RECORD("settings", struct phx_settings, settings_fields);

static const char *const job_states[] = {"queued", "running",   "done",
					 "failed", "cancelled", "timeout"};
const struct phx_enum phx_job_state_names = {"job state", job_states, PHX_ARRAY_SIZE(job_states)};

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
const struct phx_record phx_job_part_record =
	PHX_RECORD("part", struct phx_job_part, job_part_fields);

static const struct phx_field job_fields[] = {
#define J struct phx_job
	PHX_U64(J, id),
	PHX_ENUM(J, state, &phx_job_state_names),
	PHX_U32(J, nodes),
	PHX_U32(J, uid),
	PHX_U32(J, gid),
	PHX_STR(J, user),
	PHX_STR(J, re),
	PHX_I64(J, estimate_ms),
	PHX_BOOL(J, held),
	PHX_BOOL(J, overdue),
	PHX_BOOL(J, no_requeue),
	PHX_U32(J, kills),
	PHX_BOOL(J, killing),
	PHX_U32(J, lease_ms),
	PHX_U32(J, output_max_mb),
	PHX_U32(J, grace_ms),
	PHX_U32(J, checkpoint_signal),
	PHX_U32(J, checkpoint_ms),
	PHX_STR(J, killed_by),
	PHX_STR(J, killed_why),
	PHX_I64(J, killed_ms),
	PHX_BOOL(J, cancel),
	PHX_BOOL(J, broken),
	PHX_I64(J, submitted_ms),
	PHX_I64(J, started_ms),
	PHX_I64(J, ended_ms),
	PHX_I64(J, status),
	PHX_LIST(J, argv, &phx_text_record),
	PHX_LIST(J, env, &phx_text_record),
	PHX_TEXT(J, script),
	PHX_STR(J, chdir),
	PHX_LIST(J, stage_in, &phx_word_record),
	PHX_LIST(J, stage_out, &phx_word_record),
	PHX_BOOL(J, timed_out),
	PHX_TEXT(J, why),
	PHX_U64(J, array),
	PHX_U32(J, array_index),
	PHX_BOOL(J, throttled),
	PHX_BOOL(J, words_stay),
	PHX_U32(J, array_n),
	PHX_U32(J, array_open),
	PHX_U32(J, array_next),
	PHX_LIST(J, parts, &phx_job_part_record),
	PHX_STR(J, engine_id),
	PHX_BOOL(J, ending),
	PHX_BOOL(J, hurry),
	PHX_I64(J, begin_ms),
#undef J
};
const struct phx_record phx_job_record = PHX_RECORD("job", struct phx_job, job_fields);

static const struct phx_field doomed_key_fields[] = {
	PHX_STR(struct phx_doomed_key, key_id),
	PHX_I64(struct phx_doomed_key, again_ms),
};
const struct phx_record phx_doomed_key_record =
	PHX_RECORD("key", struct phx_doomed_key, doomed_key_fields);

static const char *const engine_node_states[] = {"absent", "open", "closed"};
const struct phx_enum phx_engine_node_state_names = {"state of a node", engine_node_states,
						     PHX_ARRAY_SIZE(engine_node_states)};

static const struct phx_field engine_node_fields[] = {
	PHX_STR(struct phx_engine_node, name),
	PHX_ENUM(struct phx_engine_node, state, &phx_engine_node_state_names),
	PHX_BOOL(struct phx_engine_node, ours),
	PHX_BOOL(struct phx_engine_node, sure),
};
const struct phx_record phx_engine_node_record =
	PHX_RECORD("node", struct phx_engine_node, engine_node_fields);

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
const struct phx_record phx_revoked_record =
	PHX_RECORD("certificate", struct phx_revoked, revoked_fields);

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

static const struct phx_live ledger_live = {&phx_ledger_image_record, ledger_save, ledger_restore,
					    ledger_free};

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
	*s = (struct phx_state){.settings = {.missing_after_ms = 6000,
					     .repairs_max = 4,
					     .power_off_quarantined = true,
					     .image_deploy = "deploy",
					     .job_lease_ms = PHX_JOB_LEASE_MS}};
	struct phx_pool *p = phx_list_push(&s->pools, sizeof(*p));
	return p ? PHX_STR_SET(p->name, PHX_POOL_FREE) : -ENOMEM;
}

void phx_state_fini(struct phx_state *s)
{
	phx_index_drop(s);
	phx_record_fini(&phx_state_record, s);
}
