/* FCFS without waiting (002 3.2, FCFS-NW): no queue; a task goes to a free node
 * or, when there is none, to the next busy one, round robin, and the tasks of a
 * node share it equally (processor sharing, no cost of switching: policies.md,
 * reading 24). Used by the model of the IaaS study. Pure: time comes in and
 * never goes back.
 *
 * A node is free, or runs n tasks at 1/n of its speed each. Work done is counted
 * in 1/1024 ms and rounded down, an end is told at the next whole millisecond. */
#ifndef PHX_BATCH_NOWAIT_H
#define PHX_BATCH_NOWAIT_H

#include "base/util.h"

/** No task is longer. */
#define PHX_NOWAIT_WORK_MAX_MS (366 * INT64_C(86400000))
/** So many tasks at most share one node: with the above, products stay within 64 bits. */
enum { PHX_NOWAIT_SHARE_MAX = 100000 };

struct phx_nowait; /* owned by whoever made it */

/** A task that was placed or that ended. */
struct phx_nowait_task {
	uint64_t id;
	uint32_t node;
};

int phx_nowait_new(struct phx_nowait **ret); /* -ENOMEM */
void phx_nowait_free(struct phx_nowait *w);

/** A node comes, free. Numbers are small: they index an array. -EEXIST, -ENOMEM. */
int phx_nowait_give(struct phx_nowait *w, uint32_t node);
/** A free node goes. -EBUSY when it runs tasks, -ENOENT. */
int phx_nowait_take(struct phx_nowait *w, uint32_t node);

/** A task comes; phx_nowait_pass() places it. work_ms is what it takes alone on a node. -EINVAL
 * beyond PHX_NOWAIT_WORK_MAX_MS or negative, -ENOMEM. */
int phx_nowait_submit(struct phx_nowait *w, uint64_t id, int64_t work_ms);
/** Place what has come, in order of submission: the free node with the lowest number, else the next
 * after the last that was shared. Where there is no node, tasks stay. Appends struct
 * phx_nowait_task. -ENOMEM, or -ENOSPC where a node has PHX_NOWAIT_SHARE_MAX tasks: those that were
 * appended were placed, no others. */
int phx_nowait_pass(struct phx_nowait *w, int64_t now_ms, struct phx_list *ret_placed);

/** When the next task ends if nothing comes before; INT64_MAX: none runs. */
int64_t phx_nowait_next_ms(const struct phx_nowait *w);
/** Tasks that have ended by now_ms, by time, then node, then order of arrival: appends struct
 * phx_nowait_task. To be called at every phx_nowait_next_ms(), or ends are told late. O(ended · log
 * nodes). -ENOMEM: what was appended has ended, the rest is told by the next call.
 */
int phx_nowait_ended(struct phx_nowait *w, int64_t now_ms, struct phx_list *ret_ended);

/** Tasks that a node runs; 0 also for an unknown one. */
uint32_t phx_nowait_load(const struct phx_nowait *w, uint32_t node);
/** Tasks not placed yet. */
uint32_t phx_nowait_unplaced(const struct phx_nowait *w);

#endif
