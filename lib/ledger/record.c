/* The records of the ledger: field tables of an RE, its debts, leases and sums, and of the ledger's
 * image in a snapshot of the core. Pure. */
#include "ledger/internal.h"

static const char *const acts[] = {"start", "kill", "move"};
const struct phx_enum phx_ledger_act_names = {"ledger action", acts, PHX_ARRAY_SIZE(acts)};

static const char *const states[] = {"gone", "active", "leaving"};
static const struct phx_enum state_names = {"state in the ledger", states, PHX_ARRAY_SIZE(states)};

static const struct phx_field debt_fields[] = {
	PHX_I64(struct phx_ledger_debt, to),
	PHX_U32(struct phx_ledger_debt, nodes),
	PHX_ENUM(struct phx_ledger_debt, reason, &phx_policy_reason_names),
};
static const struct phx_record debt_record =
	PHX_RECORD("ledger_debt", struct phx_ledger_debt, debt_fields);

static const struct phx_field lease_fields[] = {
	PHX_I64(struct phx_ledger_lease, end_ms),
	PHX_U64(struct phx_ledger_lease, seq),
	PHX_U32(struct phx_ledger_lease, size),
	PHX_U32(struct phx_ledger_lease, idle),
};
static const struct phx_record lease_record =
	PHX_RECORD("ledger_lease", struct phx_ledger_lease, lease_fields);

static const struct phx_field part_fields[] = {
	PHX_U64(struct phx_ledger_part, job),
	PHX_U64(struct phx_ledger_part, lease),
	PHX_U32(struct phx_ledger_part, nodes),
};
static const struct phx_record part_record =
	PHX_RECORD("ledger_part", struct phx_ledger_part, part_fields);

static const struct phx_field ask_fields[] = {
	PHX_U64(struct phx_ledger_ask, job),
	PHX_U32(struct phx_ledger_ask, nodes),
};
static const struct phx_record ask_record =
	PHX_RECORD("ledger_ask", struct phx_ledger_ask, ask_fields);

static const struct phx_field gone_fields[] = {PHX_U64(struct phx_ledger_gone, job)};
static const struct phx_record gone_record =
	PHX_RECORD("ledger_gone", struct phx_ledger_gone, gone_fields);

static const struct phx_field unfit_fields[] = {
	PHX_I64(struct phx_ledger_unfit, from),
	PHX_U32(struct phx_ledger_unfit, nodes),
	PHX_U32(struct phx_ledger_unfit, idle),
};
static const struct phx_record unfit_record =
	PHX_RECORD("ledger_unfit", struct phx_ledger_unfit, unfit_fields);

static const struct phx_field meter_fields[] = {
#define M struct phx_ledger_meter
	PHX_I64(M, at_ms),         PHX_U64(M, held_node_ms), PHX_U64(M, busy_node_ms),
	PHX_U64(M, unmet_node_ms), PHX_U64(M, lost_node_ms), PHX_U32(M, peak),
	PHX_U64(M, n_adjusted),    PHX_U64(M, nodes_moved),  PHX_U64(M, n_kills),
#undef M
};
const struct phx_record phx_ledger_meter_record =
	PHX_RECORD("ledger_meter", struct phx_ledger_meter, meter_fields);

static const struct phx_field re_fields[] = {
#define R struct phx_ledger_re
	PHX_ENUM(R, state, &state_names),
	PHX_REC(R, agreement, &phx_agreement_record),
	PHX_U32(R, partner),
	PHX_BOOL(R, suspended),
	PHX_U32(R, idle),
	PHX_U32(R, coming),
	PHX_U32(R, owed),
	PHX_U32(R, owed_in),
	PHX_U32(R, kept),
	PHX_U32(R, away),
	PHX_U32(R, lack),
	PHX_U32(R, want),
	PHX_U32(R, asked),
	PHX_U64(R, asked_seq),
	PHX_BOOL(R, asked_lease),
	PHX_ENUM(R, asked_reason, &phx_policy_reason_names),
	PHX_BOOL(R, cycle_open),
	PHX_I64(R, began_ms),
	PHX_I64(R, last_cycle_ms),
	PHX_I64(R, next_cycle_ms),
	PHX_I64(R, next_unit_ms),
	PHX_REC(R, window, &phx_web_window_record),
	PHX_REC(R, meter, &phx_ledger_meter_record),
	PHX_U32(R, leased),
	PHX_U32(R, unleased),
	PHX_LIST(R, leases, &lease_record),
	PHX_LIST(R, parts, &part_record),
	PHX_LIST(R, debts, &debt_record),
	PHX_LIST(R, asks, &ask_record),
	PHX_LIST(R, gone, &gone_record),
	PHX_LIST(R, unfit, &unfit_record),
	PHX_LIST(R, jobs, &phx_batch_job_record),
#undef R
};
const struct phx_record phx_ledger_re_record =
	PHX_RECORD("ledger_re", struct phx_ledger_re, re_fields);

static const struct phx_field image_fields[] = {
#define I struct phx_ledger_image
	PHX_LIST(I, res, &phx_ledger_re_record),
	PHX_U32(I, nodes),
	PHX_U32(I, free),
	PHX_U32(I, returning),
	PHX_U32(I, missing),
	PHX_BOOL(I, unlimited),
	PHX_U64(I, seq),
	PHX_I64(I, now_ms),
	PHX_REC(I, total, &phx_ledger_meter_record),
#undef I
};
const struct phx_record phx_ledger_image_record =
	PHX_RECORD("ledger_image", struct phx_ledger_image, image_fields);
