/* Power: drivers for BMCs. Every call blocks (worker threads only) and does
 * one thing; 'off' is what the BMC reports, never assumed (faults.md 23). */
#ifndef PHX_POWER_POWER_H
#define PHX_POWER_POWER_H

#include "node/bmc.h"

enum phx_power_op { PHX_POWER_STATUS, PHX_POWER_ON, PHX_POWER_OFF, PHX_POWER_CYCLE, PHX_POWER_RESET, PHX_POWER_BOOT_PXE, PHX_POWER_BOOT_DISK };
extern const struct phx_enum phx_power_op_names;
enum phx_power_state { PHX_POWER_UNKNOWN, PHX_POWER_IS_ON, PHX_POWER_IS_OFF };
extern const struct phx_enum phx_power_state_names;

/** Do `op`. ON/OFF/CYCLE return after the state was observed (poll with STATUS until `timeout_ms`), except where the
 * driver cannot observe (wol: ret PHX_POWER_UNKNOWN). Already-so is success. -ETIMEDOUT not observed in
 * time, -EHOSTUNREACH BMC silent, -EACCES refused credentials, -EOPNOTSUPP, -EBUSY (BMC busy after retries).
 * ret_state may be NULL. */
int phx_power_do(const struct phx_bmc *bmc, enum phx_power_op op, uint32_t timeout_ms, enum phx_power_state *ret_state,
		 struct phx_err *err);

/** Names of all drivers, for the manual and errors. */
size_t phx_power_drivers(const char *const **ret_names);

/* ---- queue: worker threads, bounded per BMC (one at a time) and in all ---- */
typedef void (*phx_power_done_fn)(void *arg, uint64_t ticket, int result, enum phx_power_state state, const char *text);
struct phx_power_queue;
/** `done` is called on a worker thread. threads: most operations at once; a slow or dead BMC never delays others beyond its own. */
int phx_power_queue_new(unsigned threads, phx_power_done_fn done, void *arg, struct phx_power_queue **ret,
			struct phx_err *err);
/** Copies `bmc`. -EALREADY when `ticket` is queued or running (idempotent re-issue). */
int phx_power_queue_add(struct phx_power_queue *q, const struct phx_bmc *bmc, enum phx_power_op op, uint32_t timeout_ms,
			uint64_t ticket, struct phx_err *err);
void phx_power_queue_free(struct phx_power_queue *q); /* waits for running ones */

#endif
