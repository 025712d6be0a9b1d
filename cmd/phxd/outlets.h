/* Outlets: the system's log, the programs of event_dir and the webhooks, which are told what
 * happens (lib/outlet). Each has a thread that reads the journal at its own pace, and a file with
 * the number of the event up to which it was told (state_dir/outlets), so that it is told each
 * event at least once and in order, over restarts too. Who hangs or fails keeps nobody: events wait
 * in the journal, for event_keep_h hours, and what was dropped then is said. One that it refuses
 * again and again (event_tries, event_refused_s), is put aside and said. Programs and
 * webhooks are told by processes of event_user (outlet/outlet.h), which the launcher starts. */
#ifndef PHXD_OUTLETS_H
#define PHXD_OUTLETS_H

#include "config/config.h"

struct daemon;
struct outlets;

/** Starts them; whatever is wrong with one is said and stops nobody. */
int outlets_new(struct daemon *d, struct outlets **ret, struct phx_err *err);
/** Events were committed, up to `seq`. On any thread; returns at once. */
void outlets_committed(struct outlets *o, uint64_t seq);
/** Looks into event_dir again, and tries again at once whoever failed. Returns at once. */
void outlets_reload(struct outlets *o);
/** Appends the rows of metrics about them (metrics/metric.def). */
void outlets_put_metrics(struct outlets *o, struct phx_buf *b);
/** Ends their threads: what is being told is cut off, and told again after the next start. Safe on
 * NULL and twice. */
void outlets_stop(struct outlets *o);
/** After outlets_stop(), when no other thread uses `o`. Safe on NULL. */
void outlets_free(struct outlets *o);

/* ---- the launcher's side ---- */

enum outlet_process { OUTLET_PROGRAMS, OUTLET_WEBHOOKS, OUTLET_PROCESSES };
/** Starts such a process: its socket, owned by the caller. -ENOENT: there is no event_user; -EPERM:
 * it is root, or a user of phxd's other processes. */
int outlet_spawn(const struct phx_config *cfg, enum outlet_process which, int *ret_fd,
		 struct phx_err *err);

#endif
