/* Power: drivers for BMCs. Every call blocks (worker threads only) and does
 * one thing; 'off' is what the BMC reports, never assumed (faults.md 23). */
#ifndef PHX_POWER_POWER_H
#define PHX_POWER_POWER_H

#include "base/util.h"

enum phx_power_op { PHX_POWER_STATUS, PHX_POWER_ON, PHX_POWER_OFF, PHX_POWER_CYCLE, PHX_POWER_RESET, PHX_POWER_BOOT_PXE, PHX_POWER_BOOT_DISK };
extern const struct phx_enum phx_power_op_names;
enum phx_power_state { PHX_POWER_UNKNOWN, PHX_POWER_IS_ON, PHX_POWER_IS_OFF };
extern const struct phx_enum phx_power_state_names;

/** How to reach a node's BMC; from nodes' configuration, never journalled with secrets: the password is in a file. */
struct phx_bmc {
	char driver[32];  /* "ipmi", "redfish", "wol", "script", "none" */
	char address[128]; /* host[:port]; redfish: URL */
	char user[64];
	char password_file[256]; /* 0600, one line */
	char workarounds[128];	 /* freeipmi -W list, e.g. "opensesspriv" (trap 8) */
	char tool[16];		 /* ipmi: "ipmitool" (default) or "ipmipower" */
	char mac[PHX_MAC_MAX];	 /* wol: the NIC to wake */
	char interface[32];	 /* wol: outgoing interface */
	char script[256];	 /* script: program called as SCRIPT OP NODE; prints "on"/"off" for status */
	char node[PHX_NAME_MAX];
	bool insecure;		 /* redfish: do not verify the certificate */
	char system[128];	 /* redfish: path of the system; "" = the only member of /redfish/v1/Systems */
};
extern const struct phx_record phx_bmc_record;

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
