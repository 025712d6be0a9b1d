/* The ledger as a record: out, for snapshots of the core, and back. Called by
 * lib/core. Indexes are built anew; every decision after that is the same. Pure. */
#include <errno.h>
#include <string.h>

#include "re/internal.h"

static const char *const states[] = {"gone", "active", "leaving"};
static const struct phx_enum state_names = {"state in the ledger", states, PHX_ARRAY_SIZE(states)};

static const struct phx_field debt_fields[] = {
	PHX_I64(struct phx_ledger_debt, to),
	PHX_U32(struct phx_ledger_debt, nodes),
	PHX_ENUM(struct phx_ledger_debt, reason, &phx_policy_reason_names),
};
static const struct phx_record debt_record = PHX_RECORD("ledger_debt", struct phx_ledger_debt, debt_fields);

static const struct phx_field lease_fields[] = {
	PHX_I64(struct phx_ledger_lease, end_ms),
	PHX_U64(struct phx_ledger_lease, seq),
	PHX_U32(struct phx_ledger_lease, size),
	PHX_U32(struct phx_ledger_lease, idle),
};
static const struct phx_record lease_record = PHX_RECORD("ledger_lease", struct phx_ledger_lease, lease_fields);

static const struct phx_field part_fields[] = {
	PHX_U64(struct phx_ledger_part, job),
	PHX_U64(struct phx_ledger_part, lease),
	PHX_U32(struct phx_ledger_part, nodes),
};
static const struct phx_record part_record = PHX_RECORD("ledger_part", struct phx_ledger_part, part_fields);

static const struct phx_field ask_fields[] = {
	PHX_U64(struct phx_ledger_ask, job),
	PHX_U32(struct phx_ledger_ask, nodes),
};
static const struct phx_record ask_record = PHX_RECORD("ledger_ask", struct phx_ledger_ask, ask_fields);

static const struct phx_field gone_fields[] = {PHX_U64(struct phx_ledger_gone, job)};
static const struct phx_record gone_record = PHX_RECORD("ledger_gone", struct phx_ledger_gone, gone_fields);

static const struct phx_field unfit_fields[] = {
	PHX_I64(struct phx_ledger_unfit, from),
	PHX_U32(struct phx_ledger_unfit, nodes),
	PHX_U32(struct phx_ledger_unfit, idle),
};
static const struct phx_record unfit_record = PHX_RECORD("ledger_unfit", struct phx_ledger_unfit, unfit_fields);

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
const struct phx_record phx_ledger_re_record = PHX_RECORD("ledger_re", struct phx_ledger_re, re_fields);

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
const struct phx_record phx_ledger_image_record = PHX_RECORD("ledger_image", struct phx_ledger_image, image_fields);

/* ---- out ---- */

static int save_re(const struct re *re, struct phx_ledger_re *ret)
{
	struct phx_batch_counts c;
	int r = phx_record_copy(&phx_ledger_re_record, ret, &re->r);

	if (r < 0 || !re->batch)
		return r;
	phx_batch_counts(re->batch, &c);
	ret->idle = c.idle;
	return phx_batch_jobs(re->batch, &ret->jobs);
}

int phx_ledger_save(const struct phx_ledger *l, struct phx_ledger_image *ret)
{
	struct phx_ledger_image image = {
		.nodes = l->nodes,
		.free = l->free,
		.returning = l->returning,
		.missing = l->missing,
		.unlimited = l->unlimited,
		.seq = l->seq,
		.now_ms = l->now_ms,
		.total = l->total,
	};

	for (uint32_t i = 0; i < l->res.n; i++) {
		struct phx_ledger_re *re = phx_list_push(&image.res, sizeof(*re));
		if (!re || save_re(re_at(l, i), re) < 0) {
			phx_record_fini(&phx_ledger_image_record, &image);
			return -ENOMEM;
		}
	}
	*ret = image;
	return 0;
}

/* ---- back ---- */

static int restore_jobs(struct re *re)
{
	int r = 0;

	PHX_LIST_EACH(struct phx_batch_job, job, &re->r.jobs)
	if (r == 0)
		r = phx_batch_restore(re->batch, job);
	phx_list_fini(&re->r.jobs);
	phx_batch_give(re->batch, re->r.idle);
	re->r.idle = 0;
	return r;
}

static int restore_re(const struct phx_ledger_re *from, struct re *re)
{
	const struct phx_agreement *a = &from->agreement;

	if (a->model < 0 || a->model >= PHX_POLICY_COUNT_ || from->state < RE_GONE || from->state > RE_LEAVING)
		return -EINVAL;
	int r = phx_record_copy(&phx_ledger_re_record, &re->r, from);
	if (r == 0)
		r = phx_re_equip(re);
	return r == 0 && re->batch ? restore_jobs(re) : r;
}

int phx_ledger_restore(const struct phx_ledger_image *image, struct phx_ledger **ret)
{
	struct phx_ledger_config config = {.nodes = image->nodes, .unlimited = image->unlimited};
	struct phx_ledger *l;
	int r = phx_ledger_new(&config, &l);

	if (r < 0)
		return r;
	l->free = image->free;
	l->returning = image->returning;
	l->missing = image->missing;
	l->seq = image->seq;
	l->now_ms = image->now_ms;
	l->total = image->total;
	PHX_LIST_EACH(struct phx_ledger_re, from, &image->res)
	{
		struct re *re = phx_list_push(&l->res, sizeof(*re));
		r = re ? restore_re(from, re) : -ENOMEM;
		if (r < 0)
			break;
	}
	if (r == 0 && phx_ledger_check(l, NULL) < 0)
		r = -EINVAL;
	if (r < 0)
		phx_ledger_free(l);
	else
		*ret = l;
	return r;
}
