/* Erasing a disk and reading it back: see disk.h. Called by the agent's wipe
 * step with the disk and the method that the plan named; never picks either,
 * and never weakens a method.
 *
 *   free? -> the one that was meant? -> nothing hidden? -> able? -> erase -> flush -> read back
 *   -------------- nothing touched up to here ------------- */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "disk/internal.h"

struct wipe {
	struct phx_block block;
	const struct phx_disk_facts *facts;
	struct phx_device device;
	struct phx_part_table table;
	struct phx_samples samples;
	struct phx_secure secure;
	const struct phx_wipe_order *order;
	uint64_t seed;
	struct phx_readback readback;
	phx_wipe_progress_fn progress;
	void *arg;
	struct phx_wipe_result result;
	struct phx_err *err;
};

static void tell(void *arg, uint64_t done_bytes)
{
	struct wipe *w = arg;
	if (w->progress)
		w->progress(w->arg, &(struct phx_wipe_progress){done_bytes, w->block.size_bytes});
}

static int read_zero_or(struct wipe *w, struct phx_err *err)
{
	return phx_samples_read_zero(&w->block, w->order->full ? NULL : &w->samples, &w->readback,
				     err);
}

static int read_zero(struct wipe *w)
{
	return read_zero_or(w, w->err);
}

static int zero_all(struct wipe *w)
{
	int r = phx_block_zero(&w->block, 0, w->block.size_bytes, tell, w, w->err);
	return r < 0 ? r : phx_block_flush(&w->block, w->err);
}

/* ---- discard ---- */

static int prepare_discard(struct wipe *w)
{
	if (w->facts->can_discard)
		return 0;
	return phx_err_set(w->err, -EOPNOTSUPP, "disk %s cannot discard", w->facts->id);
}

static int erase_discard(struct wipe *w)
{
	int r = phx_block_discard(&w->block, 0, w->block.size_bytes, tell, w, w->err);
	PHX_STR_SET(w->result.detail, "discard, reads zero");
	return r < 0 ? r : phx_block_flush(&w->block, w->err);
}

/* A drive is free to give anything for discarded blocks: then zeros are written over them. */
static int verify_discard(struct wipe *w)
{
	int r = read_zero_or(w, NULL);
	if (r != -EUCLEAN)
		return r < 0 ? phx_err_set(w->err, r, "%s: reading back: %s", w->block.path,
					   strerror(-r))
			     : 0;
	PHX_STR_SET(w->result.detail, "discard does not read zero: zeros written as well");
	r = zero_all(w);
	return r < 0 ? r : read_zero(w);
}

/* ---- overwrite ---- */

static int prepare_overwrite(struct wipe *w)
{
	(void)w;
	return 0;
}

static int erase_overwrite(struct wipe *w)
{
	PHX_STR_SET(w->result.detail, "zeros over every byte, reads zero");
	return zero_all(w);
}

/* ---- secure erase ---- */

static int prepare_secure(struct wipe *w)
{
	return phx_secure_plan(&w->device, w->facts->bus, &w->secure, w->err);
}

static int erase_secure(struct wipe *w)
{
	int r = phx_samples_mark(&w->block, &w->samples, w->err);
	if (r == 0)
		r = phx_secure_erase(&w->device, &w->secure, w->block.size_bytes, tell, w, w->err);
	return r < 0 ? r : phx_block_flush(&w->block, w->err);
}

/* Zeros go over both ends last, so that leftovers of a scrambled key look like no signature. */
static int zero_ends(struct wipe *w)
{
	uint64_t n = w->block.size_bytes < PHX_MIB ? w->block.size_bytes : PHX_MIB;
	int r = phx_block_zero(&w->block, 0, n, NULL, NULL, w->err);
	if (r == 0)
		r = phx_block_zero(&w->block, w->block.size_bytes - n, n, NULL, NULL, w->err);
	return r < 0 ? r : phx_block_flush(&w->block, w->err);
}

/* Everything is to be read back: only zeros say of every byte that it is erased. */
static int verify_all(struct wipe *w)
{
	int r = read_zero_or(w, NULL);
	if (r != -EUCLEAN)
		return r;
	snprintf(w->result.detail, sizeof(w->result.detail),
		 "%s, does not read zero: zeros written as well", phx_secure_name(&w->secure));
	r = zero_all(w);
	return r < 0 ? r : read_zero(w);
}

static int verify_secure(struct wipe *w)
{
	bool zero;
	int r = phx_samples_read_changed(&w->block, &w->samples, &zero, &w->readback, w->err);
	snprintf(w->result.detail, sizeof(w->result.detail), "%s, reads %s",
		 phx_secure_name(&w->secure),
		 r < 0          ? "old data"
			 : zero ? "zero"
				: "otherwise than before");
	if (r < 0)
		return r;
	if (w->order->full)
		return verify_all(w);
	return zero ? 0 : zero_ends(w);
}

/* ---- crypto ---- */

static int prepare_crypto(struct wipe *w)
{
	return phx_crypto_check(&w->block, &w->table, w->err);
}

static int erase_crypto(struct wipe *w)
{
	int slots, r = phx_crypto_wipe(&w->block, &w->table, &slots, w->err);
	if (r < 0)
		return r;
	if (w->table.n)
		snprintf(w->result.detail, sizeof(w->result.detail),
			 "%d key slots destroyed, headers and table read zero", slots);
	else
		PHX_STR_SET(w->result.detail, "was already destroyed, reads zero");
	tell(w, w->block.size_bytes);
	return 0;
}

static int verify_crypto(struct wipe *w)
{
	return phx_crypto_verify(&w->block, &w->table, &w->readback, w->err);
}

/* ---- all methods ---- */

static const struct method {
	int (*prepare)(struct wipe *w); /* touches nothing */
	int (*erase)(struct wipe *w);
	int (*verify)(struct wipe *w);
} methods[] = {
	[PHX_WIPE_CRYPTO] = {prepare_crypto, erase_crypto, verify_crypto},
	[PHX_WIPE_DISCARD] = {prepare_discard, erase_discard, verify_discard},
	[PHX_WIPE_OVERWRITE] = {prepare_overwrite, erase_overwrite, read_zero},
	[PHX_WIPE_SECURE_ERASE] = {prepare_secure, erase_secure, verify_secure},
};

/* The drive is reached through the descriptor that is open: opening it anew would let go of it. */
static int open_hidden(struct wipe *w)
{
	int r = phx_hidden_open(&w->device, w->facts->bus, w->result.hidden, w->err);
	if (r == 0 && w->result.hidden[0])
		r = phx_block_measure(&w->block, w->err);
	return r;
}

static int open_disk(struct wipe *w, const struct phx_device *dev, const char *path)
{
	int r = phx_disk_check_free(path, w->err);
	if (r == 0)
		r = phx_block_open(path, true, true, &w->block, w->err);
	if (r == 0)
		r = phx_disk_check_same(&w->block, w->facts, w->err);
	w->device = dev ? *dev : (struct phx_device){&phx_device_linux, &w->block.fd};
	if (r == 0)
		r = open_hidden(w);
	if (r == 0)
		r = phx_table_read(path, &w->table, w->err);
	return r;
}

static int start(struct wipe *w)
{
	PHX_STR_SET(w->result.disk_id, w->facts->id);
	w->result.method = w->order->method;
	w->result.size_bytes = w->block.size_bytes;
	w->seed = w->order->seed;
	if (!w->seed && getrandom(&w->seed, sizeof(w->seed), 0) != (ssize_t)sizeof(w->seed))
		return phx_err_set(w->err, -EIO, "the kernel gives no random bytes");
	return phx_samples_plan(w->block.size_bytes, &w->table, w->seed, &w->samples, w->err);
}

static int run_method(struct wipe *w, enum phx_wipe_method method)
{
	w->result.used = method;
	int r = methods[method].prepare(w);
	if (r == 0)
		r = methods[method].erase(w);
	if (r == 0)
		r = phx_table_forget(w->block.path, w->err);
	if (r == 0) {
		r = methods[method].verify(w);
		w->result.verified = r == 0;
		phx_readback_end(&w->readback, &w->result);
	}
	return r;
}

/* The drive's own erase did not do. What it claims is no reason to give the disk up, nor to believe
 * it: the others need nothing but that it keeps what is written. */
static int run_others(struct wipe *w)
{
	static const enum phx_wipe_method others[] = {PHX_WIPE_DISCARD, PHX_WIPE_OVERWRITE};
	int r = -EOPNOTSUPP;
	snprintf(w->result.tried, sizeof(w->result.tried), "%s: %s",
		 phx_enum_name(&phx_wipe_method_names, (int)w->order->method), w->err->text);
	for (size_t i = 0; r < 0 && r != -EUCLEAN && i < PHX_ARRAY_SIZE(others); i++)
		if (others[i] != PHX_WIPE_DISCARD || w->facts->can_discard)
			r = run_method(w, others[i]);
	return r;
}

static int run(struct wipe *w)
{
	int64_t begin_ms = phx_clock_ms();
	int r = start(w);
	if (r < 0)
		return r;
	r = run_method(w, w->order->method);
	if (r < 0 && w->order->or_less && w->order->method == PHX_WIPE_SECURE_ERASE)
		r = run_others(w);
	w->result.seconds = (uint64_t)(phx_clock_ms() - begin_ms) / 1000;
	return r;
}

int phx_disk_wipe_with(const struct phx_device *dev, const char *path,
		       const struct phx_disk_facts *facts, const struct phx_wipe_order *order,
		       phx_wipe_progress_fn progress, void *arg, struct phx_wipe_result *ret,
		       struct phx_err *err)
{
	struct phx_err none = {0};
	if (order->method == PHX_WIPE_AUTO)
		return phx_err_set(err, -EINVAL,
				   "a wipe needs a method; 'auto' is for the plan to resolve");
	PHX_AUTO_FREE struct wipe *w = calloc(1, sizeof(*w));
	if (!w)
		return phx_err_set(err, -ENOMEM, "out of memory");
	*w = (struct wipe){.block = {.fd = -1},
			   .facts = facts,
			   .order = order,
			   .progress = progress,
			   .arg = arg,
			   .err = err ? err : &none};
	int r = open_disk(w, dev, path);
	if (r == 0)
		r = run(w);
	if (r == 0 || r == -EUCLEAN)
		*ret = w->result;
	phx_list_fini(&w->samples.list);
	phx_readback_fini(&w->readback);
	phx_block_close(&w->block);
	return r;
}

int phx_disk_wipe(const char *path, const struct phx_disk_facts *facts,
		  const struct phx_wipe_order *order, phx_wipe_progress_fn progress, void *arg,
		  struct phx_wipe_result *ret, struct phx_err *err)
{
	return phx_disk_wipe_with(NULL, path, facts, order, progress, arg, ret, err);
}
