/* Inventory: what this machine is, read from sysfs, procfs and DMI below a
 * root directory (so that tests run on fixtures), CPU topology by hwloc. */
#ifndef PHX_INVENTORY_INVENTORY_H
#define PHX_INVENTORY_INVENTORY_H

#include "node/facts.h"

/** Read everything. `root` is "" for the running machine, or a directory that
 * holds sys/, proc/, etc/; with a fixture, devices are not opened (abilities
 * that need ioctls come from sysfs alone or `hwloc.xml` in the root).
 * Sorted: disks by id, NICs by MAC. Virtual devices (loop, ram, dm, md, zram,
 * CD-ROM; NICs without hardware behind them) are left out. Parts that cannot be read stay empty;
 * only a failure that makes the report worthless is an error.
 * Caller owns *ret: phx_record_fini(&phx_facts_record, ret). */
int phx_inventory_read(const char *root, struct phx_facts *ret, struct phx_err *err);

/** Monitor sample: cumulative counters and gauges of the running node. */
struct phx_monitor {
	uint32_t cpu_permille; /* busy share of all CPUs since the previous sample */
	uint64_t memory_total_bytes, memory_available_bytes;
	uint64_t swap_total_bytes, swap_used_bytes;
	uint64_t disk_read_bytes, disk_written_bytes; /* whole disks, since boot */
	uint64_t net_rx_bytes, net_tx_bytes;          /* hardware NICs, since boot */
	uint64_t cpu_busy_ticks, cpu_total_ticks;     /* what cpu_permille is computed from */
	uint32_t load1_centi;                         /* load average * 100 */
	uint64_t uptime_s;
};
extern const struct phx_record phx_monitor_record;

/** Sample below `root`; `last` is the previous sample or NULL (cpu_permille is
 * then since boot). Does not allocate: ready for a 2 s beat. */
int phx_monitor_read(const char *root, const struct phx_monitor *last, struct phx_monitor *ret, struct phx_err *err);

/** Somebody who is logged in. */
struct phx_session {
	char user[64];
	char tty[32];
	char from[64]; /* the host it came from; "" = at the machine itself */
	int64_t since_ms;
};
extern const struct phx_record phx_session_record;
#define PHX_SESSIONS_MAX 64

/** Those of the machine below `root`, appended to *ret (struct phx_session, at most PHX_SESSIONS_MAX; caller:
 * phx_list_fini()). Negative: neither logind nor utmp is there, nobody knows. */
int phx_sessions_read(const char *root, struct phx_list *ret);

/** Boot id (/proc/sys/kernel/random/boot_id) into `ret`. */
int phx_boot_id_read(const char *root, char ret[40], struct phx_err *err);

#endif
