/* Inventory: what this machine is, read from sysfs, procfs and DMI below a
 * root directory (so that tests run on fixtures), CPU topology by hwloc. */
#ifndef PHX_INVENTORY_INVENTORY_H
#define PHX_INVENTORY_INVENTORY_H

#include "types/facts.h"

/** Read everything. `root` is "" for the running machine, or a directory that
 * holds sys/, proc/, etc/; with a fixture, devices are not opened (abilities
 * that need ioctls come from sysfs alone or `hwloc.xml` in the root).
 * Sorted: disks by id, NICs by MAC, PCI devices by address. Virtual devices (loop, ram, dm, md,
 * zram, CD-ROM; NICs without hardware behind them) are left out. Parts that cannot be read stay
 * empty; only a failure that makes the report worthless is an error.
 * Caller owns *ret: phx_record_fini(&phx_facts_record, ret). */
int phx_inventory_read(const char *root, struct phx_facts *ret, struct phx_err *err);

/** Monitor sample: cumulative counters and gauges of the running node. */
#define PHX_MONITOR_FIELDS(F, S) \
	F(S, cpu_permille, U32) /* busy share of all CPUs since the previous sample */ \
	F(S, memory_total_bytes, U64) \
	F(S, memory_available_bytes, U64) \
	F(S, swap_total_bytes, U64) \
	F(S, swap_used_bytes, U64) \
	F(S, disk_read_bytes, U64) \
	F(S, disk_written_bytes, U64) /* whole disks, since boot */ \
	F(S, net_rx_bytes, U64) \
	F(S, net_tx_bytes, U64) /* hardware NICs, since boot */ \
	F(S, cpu_busy_ticks, U64) \
	F(S, cpu_total_ticks, U64) /* what cpu_permille is computed from */ \
	F(S, load1_centi, U32)     /* load average * 100 */ \
	F(S, uptime_s, U64)
PHX_RECORD_STRUCT(phx_monitor, PHX_MONITOR_FIELDS);

/** Sample below `root`; `last` is the previous sample or NULL (cpu_permille is
 * then since boot). Does not allocate: ready for a 2 s beat. */
int phx_monitor_read(const char *root, const struct phx_monitor *last, struct phx_monitor *ret,
		     struct phx_err *err);

/** Somebody who is logged in. */
#define PHX_SESSION_FIELDS(F, S) \
	F(S, user, STR(64)) \
	F(S, tty, STR(32)) \
	F(S, from, STR(64)) /* the host it came from; "" = at the machine itself */ \
	F(S, since_ms, I64)
PHX_RECORD_STRUCT(phx_session, PHX_SESSION_FIELDS);
#define PHX_SESSIONS_MAX 64

/** Those of the machine below `root`, appended to *ret (struct phx_session, at most
 * PHX_SESSIONS_MAX; caller: phx_list_fini()). Negative: neither logind nor utmp is there, nobody
 * knows. */
int phx_sessions_read(const char *root, struct phx_list *ret);

/** Whom a network card is plugged into, by what that says of itself. */
struct phx_lldp_neighbor {
	char system[64]; /* the switch: its name, else the id of its chassis */
	char port[64];   /* its port, as it calls it; "" unknown */
	bool ends;       /* it says that it goes away */
};
/** Reads one LLDP frame, without its Ethernet header. -EBADMSG: it is none that says who sent it;
 * *ret is untouched then. */
int phx_lldp_parse(const void *frame, size_t n, struct phx_lldp_neighbor *ret);

/** Boot id (/proc/sys/kernel/random/boot_id) into `ret`. */
int phx_boot_id_read(const char *root, char ret[40], struct phx_err *err);

#endif
