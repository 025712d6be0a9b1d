/* Tables of events, actions and orders: see event.h, order.h. Pure. */
#include "state/event.h"

#include "state/order.h"

static const char *const event_names[] = {
#define EVENT(name, text) #name,
#include "state/event.def"
#undef EVENT
};
const struct phx_enum phx_event_kind_names = {"event", event_names, PHX_ARRAY_SIZE(event_names)};

const char *phx_event_text(enum phx_event_kind kind)
{
	static const char *const texts[] = {
#define EVENT(name, text) text,
#include "state/event.def"
#undef EVENT
	};
	return (unsigned)kind < PHX_ARRAY_SIZE(texts) ? texts[kind] : "?";
}

static const char *const ended_bys[] = {"unknown", "itself", "told", "limit", "lease"};
const struct phx_enum phx_job_ended_by_names = {"end", ended_bys, PHX_ARRAY_SIZE(ended_bys)};

static const char *const engine_job_states[] = {"waiting", "held",   "running",  "ending",
						"done",    "failed", "cancelled"};
const struct phx_enum phx_engine_job_state_names = {"job state", engine_job_states,
						    PHX_ARRAY_SIZE(engine_job_states)};

static const char *const engine_acts[] = {"close", "open",   "requeue", "cancel",
					  "hurry", "refuse", "admit"};
const struct phx_enum phx_engine_act_names = {"order", engine_acts, PHX_ARRAY_SIZE(engine_acts)};

static const struct phx_field engine_host_fields[] = {PHX_STR(struct phx_engine_host, node)};
const struct phx_record phx_engine_host_record =
	PHX_RECORD("host", struct phx_engine_host, engine_host_fields);

static const struct phx_field engine_job_fields[] = {
#define J struct phx_engine_job
	PHX_STR(J, id),
	PHX_STR(J, user),
	PHX_U32(J, uid),
	PHX_ENUM(J, state, &phx_engine_job_state_names),
	PHX_U32(J, nodes),
	PHX_I64(J, submitted_ms),
	PHX_I64(J, started_ms),
	PHX_I64(J, limit_ms),
	PHX_I64(J, begin_ms),
	PHX_U32(J, restarts),
	PHX_BOOL(J, no_requeue),
	PHX_I64(J, status),
	PHX_LIST(J, hosts, &phx_engine_host_record),
#undef J
};
const struct phx_record phx_engine_job_record =
	PHX_RECORD("engine job", struct phx_engine_job, engine_job_fields);

static const char *const jobs_says[] = {"unsaid", "spare", "named", "any"};
const struct phx_enum phx_jobs_say_names = {"word on jobs", jobs_says, PHX_ARRAY_SIZE(jobs_says)};

static const struct phx_field index_row_fields[] = {PHX_U32(struct phx_index_row, from),
						    PHX_U32(struct phx_index_row, to),
						    PHX_U32(struct phx_index_row, step)};
const struct phx_record phx_index_row_record =
	PHX_RECORD("row of indices", struct phx_index_row, index_row_fields);

static const struct phx_field job_ref_fields[] = {PHX_U64(struct phx_job_ref, id)};
const struct phx_record phx_job_ref_record = PHX_RECORD("job", struct phx_job_ref, job_ref_fields);

static const struct phx_field event_fields[] = {
#define E struct phx_event
	PHX_ENUM(E, kind, &phx_event_kind_names),
	PHX_I64(E, now_ms),
	PHX_STR(E, by),
	PHX_STR(E, node),
	PHX_STR(E, name),
	PHX_LIST(E, macs, &phx_mac_record),
	PHX_STR(E, serial),
	PHX_STR(E, uuid),
	PHX_STR(E, ip),
	PHX_STR(E, token_sha256),
	PHX_STR(E, key_fp),
	PHX_BOOL(E, local),
	PHX_BOOL(E, local_ok),
	PHX_BOOL(E, hold),
	PHX_REC(E, bmc, &phx_bmc_record),
	PHX_LIST(E, labels, &phx_label_record),
	PHX_LIST(E, unlabel, &phx_word_record),
	PHX_ENUM(E, env, &phx_node_env_names),
	PHX_STR(E, boot_id),
	PHX_STR(E, address),
	PHX_STR(E, actual_role),
	PHX_STR(E, actual_identity),
	PHX_STR(E, system_image),
	PHX_STR(E, system_digest),
	PHX_BOOL(E, healthy),
	PHX_REC(E, facts, &phx_facts_record),
	PHX_STR(E, role),
	PHX_STR(E, pool),
	PHX_BOOL(E, has_setup),
	PHX_REC(E, setup, &phx_setup_record),
	PHX_BOOL(E, encrypt),
	PHX_BOOL(E, pin),
	PHX_BOOL(E, power_cycle),
	PHX_BOOL(E, force),
	PHX_ENUM(E, jobs, &phx_jobs_say_names),
	PHX_LIST(E, may_end, &phx_job_ref_record),
	PHX_BOOL(E, has_grace),
	PHX_U64(E, step_id),
	PHX_U64(E, epoch),
	PHX_U32(E, attempt),
	PHX_I64(E, result),
	PHX_STR(E, text),
	PHX_ENUM(E, power, &phx_power_names),
	PHX_STR(E, erased_disk),
	PHX_U64(E, erased_bytes),
	PHX_U64(E, verified_bytes),
	PHX_U64(E, job),
	PHX_U32(E, run),
	PHX_BOOL(E, forced),
	PHX_ENUM(E, ended_by, &phx_job_ended_by_names),
	PHX_U64(E, cpu_ms),
	PHX_U64(E, memory_peak_bytes),
	PHX_U64(E, output_cut_bytes),
	PHX_U32(E, job_nodes),
	PHX_BOOL(E, must_fit),
	PHX_LIST(E, array_rows, &phx_index_row_record),
	PHX_U32(E, array_from),
	PHX_U32(E, array_to),
	PHX_U32(E, array_step),
	PHX_U32(E, array_at_once),
	PHX_U64(E, job_last),
	PHX_U32(E, uid),
	PHX_U32(E, gid),
	PHX_STR(E, user),
	PHX_LIST(E, argv, &phx_text_record),
	PHX_LIST(E, job_env, &phx_text_record),
	PHX_TEXT(E, script),
	PHX_I64(E, estimate_ms),
	PHX_BOOL(E, no_requeue),
	PHX_U32(E, grace_ms),
	PHX_U32(E, checkpoint_signal),
	PHX_U32(E, checkpoint_ms),
	PHX_STR(E, chdir),
	PHX_LIST(E, stage_in, &phx_word_record),
	PHX_LIST(E, stage_out, &phx_word_record),
	PHX_STR(E, re),
	PHX_ENUM(E, who, &phx_re_who_names),
	PHX_REC(E, agreement, &phx_agreement_record),
	PHX_U32(E, use_ppm),
	PHX_BOOL(E, whole),
	PHX_LIST(E, engine_jobs, &phx_engine_job_record),
	PHX_LIST(E, engine_nodes, &phx_engine_node_record),
	PHX_LIST(E, engine_partitions, &phx_engine_node_record),
	PHX_REC(E, settings, &phx_settings_record),
	PHX_REC(E, pool_put, &phx_pool_record),
	PHX_REC(E, role_put, &phx_role_record),
	PHX_LIST(E, rules, &phx_rule_record),
	PHX_U64(E, incarnation),
	PHX_U64(E, skip_jobs),
#undef E
};
const struct phx_record phx_event_record = PHX_RECORD("event", struct phx_event, event_fields);

void phx_event_fini(struct phx_event *ev)
{
	phx_record_fini(&phx_event_record, ev);
}

static const char *const action_names[] = {"order",  "power", "key_make", "key_destroy",
					   "erased", "dhcp",  "note"};
const struct phx_enum phx_action_kind_names = {"action", action_names,
					       PHX_ARRAY_SIZE(action_names)};

static const struct phx_field action_fields[] = {
#define A struct phx_action
	PHX_ENUM(A, kind, &phx_action_kind_names),
	PHX_STR(A, node),
	PHX_U64(A, step_id),
	PHX_U64(A, epoch),
	PHX_STR(A, key_id),
	PHX_STR(A, disk),
	PHX_ENUM(A, method, &phx_wipe_method_names),
	PHX_U64(A, size_bytes),
	PHX_U64(A, verified_bytes),
	PHX_STR(A, text),
	PHX_STR(A, re),
	PHX_STR(A, other_re),
#undef A
};
const struct phx_record phx_action_record = PHX_RECORD("action", struct phx_action, action_fields);

void phx_outcome_fini(struct phx_outcome *o)
{
	phx_list_fini(&o->actions);
	*o = (struct phx_outcome){0};
}

static const struct phx_field order_fields[] = {
#define O struct phx_order
	PHX_STR(O, kind),
	PHX_U64(O, id),
	PHX_U64(O, epoch),
	PHX_U32(O, run),
	PHX_U32(O, deadline_s),
	PHX_REC(O, step, &phx_step_record),
	PHX_REC(O, role, &phx_role_record),
	PHX_REC(O, job, &phx_job_record),
	PHX_STR(O, request),
	PHX_REC(O, table, &phx_web_table_record),
#undef O
};
const struct phx_record phx_order_record = PHX_RECORD("order", struct phx_order, order_fields);
