/* Saves the ledger as a record, for snapshots of the core, and restores it. Called
 * by lib/state. Indexes are built anew; a restored ledger decides as before. Pure. */
#include <errno.h>

#include "ledger/internal.h"

/* ---- saving ---- */

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

/* ---- restoring ---- */

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

	if (a->model < 0 || a->model >= PHX_POLICY_COUNT_ || from->state < RE_GONE ||
	    from->state > RE_LEAVING)
		return -EINVAL;
	int r = phx_record_copy(&phx_ledger_re_record, &re->r, from);
	if (r == 0)
		r = phx_ledger_equip(re);
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
	PHX_LIST_EACH(struct phx_ledger_re, from, &image->res) {
		struct re *re = phx_list_push(&l->res, sizeof(*re));
		r = re ? restore_re(from, re) : -ENOMEM;
		if (r < 0)
			break;
	}
	if (r == 0)
		r = phx_ledger_check(l, NULL);
	if (r == -EPROTO)
		r = -EINVAL;
	if (r < 0)
		phx_ledger_free(l);
	else
		*ret = l;
	return r;
}
