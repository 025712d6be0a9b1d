/* Power: drivers for BMCs. Every call blocks (worker threads only) and does
 * one thing; 'off' is what the BMC reports, never assumed (faults.md 23). */
#ifndef PHX_POWER_POWER_H
#define PHX_POWER_POWER_H

#include "types/bmc.h"

/** Do `op`. SOFT returns when the BMC has taken it; ON/OFF/CYCLE/BOOT after the state was observed
 * (poll with STATUS until `timeout_ms`), except where the driver cannot observe (wol: ret
 * PHX_POWER_UNKNOWN). Already-so is success. -ETIMEDOUT not observed in time, -EHOSTUNREACH BMC
 * silent, -EACCES refused credentials, -EOPNOTSUPP, -EBUSY (BMC busy until `timeout_ms`), -EINVAL
 * the BMC's record lacks or garbles a field (the text names it), -EIO anything else the BMC said.
 * timeout_ms 0 = 60 s. ret_state may be NULL. */
int phx_power_do(const struct phx_bmc *bmc, enum phx_power_op op, uint32_t timeout_ms,
		 enum phx_power_state *ret_state, struct phx_err *err);

/** Is the record complete for its driver? As phx_power_do() would say, but
 * without talking to the BMC or reading a file: -EINVAL names the field. */
int phx_power_check(const struct phx_bmc *bmc, struct phx_err *err);

/** Could it be asked to do something now? As phx_power_check(), and the files that the record names
 * are looked at: password file, script. -EINVAL names field and file; -EOPNOTSUPP there is no BMC.
 * Talks to nobody. */
int phx_power_ready(const struct phx_bmc *bmc, struct phx_err *err);

/** Has the driver of the record such an operation at all? -EOPNOTSUPP says what it has. A BMC may
 * lack one of its driver's all the same. Talks to nobody. */
int phx_power_can(const struct phx_bmc *bmc, enum phx_power_op op, struct phx_err *err);

/* ---- queue: worker threads, bounded per BMC (one at a time) and in all ---- */

/** Result of one operation; `text` is "" on success. Borrowed for the call. It
 * may call phx_power_queue_add(), but not phx_power_queue_free(). */
typedef void (*phx_power_done_fn)(void *arg, uint64_t ticket, int result,
				  enum phx_power_state state, const char *text);
/** What carries an operation out, as phx_power_do(): on a worker thread. */
typedef int (*phx_power_run_fn)(void *arg, const struct phx_bmc *bmc, enum phx_power_op op,
				uint32_t timeout_ms, enum phx_power_state *ret_state,
				struct phx_err *err);
struct phx_power_queue;

/** `done` is called on a worker thread, too. threads (at least 1): most operations at once. One
 * operation at a time goes to one BMC, in the order added. BMCs that were silent the last time wait
 * behind all others and get at most half of the threads, so that a slow or dead BMC never delays
 * others beyond its own. */
int phx_power_queue_new(unsigned threads, phx_power_run_fn run, phx_power_done_fn done, void *arg,
			struct phx_power_queue **ret, struct phx_err *err);

/** Copies `bmc`. -EALREADY when `ticket` is queued or running (idempotent re-issue), -EBUSY when
 * this BMC or the whole queue has too much waiting. */
int phx_power_queue_add(struct phx_power_queue *q, const struct phx_bmc *bmc, enum phx_power_op op,
			uint32_t timeout_ms, uint64_t ticket, struct phx_err *err);

/** Waits for running operations; waiting ones are dropped without a call of `done`. Takes NULL. */
void phx_power_queue_free(struct phx_power_queue *q);

#endif
