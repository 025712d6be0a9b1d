/* FCFS without waiting (002 3.2, FCFS-NW): there is no queue. A task goes to a free
 * node or, when there is none, to the next busy node, round robin. The tasks of a
 * node share it equally (processor sharing, no cost of switching: policies.md,
 * reading 24). Used by the model of the IaaS study. Pure: time comes in and never
 * goes back.
 *
 * A node is free, or runs n tasks at 1/n of its speed each. Work done is counted
 * in 1/1024 ms and rounded down; an end is reported at the next whole
 * millisecond. */
#ifndef PHX_BATCH_NOWAIT_H
#define PHX_BATCH_NOWAIT_H

#include "base/util.h"

/** The longest task. */
#define PHX_NOWAIT_WORK_MAX_MS (366 * INT64_C(86400000))
/** The most tasks that share one node: with the longest task, products stay within 64 bits. */
enum { PHX_NOWAIT_SHARE_MAX = 100000 };

struct phx_nowait; /* owned by the caller of phx_nowait_new() */

/** A task that was placed or that ended. */
struct phx_nowait_task {
	uint64_t id;
	uint32_t node;
};

int phx_nowait_new(struct phx_nowait **ret); /* -ENOMEM */
void phx_nowait_free(struct phx_nowait *w);

/** A free node joins. Numbers are small: they index an array. -EEXIST, -ENOMEM. */
int phx_nowait_give(struct phx_nowait *w, uint32_t node);
/** A free node leaves. -EBUSY the node runs tasks, -ENOENT. */
int phx_nowait_take(struct phx_nowait *w, uint32_t node);

/** A task comes; phx_nowait_pass() places it. work_ms: its run time alone on a node. -EINVAL:
 * negative, or more than PHX_NOWAIT_WORK_MAX_MS; -ENOMEM. */
int phx_nowait_submit(struct phx_nowait *w, uint64_t id, int64_t work_ms);
/** Place new tasks, in order of submission: each on the free node with the lowest number, else on
 * the node after the last shared one. While there is no node, tasks wait. Appends struct
 * phx_nowait_task. -ENOMEM, or -ENOSPC a node has PHX_NOWAIT_SHARE_MAX tasks: only the appended
 * tasks were placed. */
int phx_nowait_pass(struct phx_nowait *w, int64_t now_ms, struct phx_list *ret_placed);

/** When the next task ends if no task comes before; INT64_MAX: none runs. */
int64_t phx_nowait_next_ms(const struct phx_nowait *w);
/** Appends the tasks that have ended by now_ms (struct phx_nowait_task), by time, then node, then
 * order of arrival. Call it at every phx_nowait_next_ms(), or ends are reported late. O(ended · log
 * nodes). -ENOMEM: the appended tasks have ended, the next call reports the rest. */
int phx_nowait_ended(struct phx_nowait *w, int64_t now_ms, struct phx_list *ret_ended);

/** Number of tasks that a node runs; 0 also for an unknown node. */
uint32_t phx_nowait_load(const struct phx_nowait *w, uint32_t node);
/** Number of tasks that are not placed yet. */
uint32_t phx_nowait_unplaced(const struct phx_nowait *w);

#endif
