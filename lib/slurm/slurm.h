/* Slurm as the batch engine of an RE: its own commands, run with formats of
 * ours, become what the core hears (state/event.h: phx_engine_job, phx_engine_node),
 * and what the core orders becomes commands. Decides nothing. Every call but the
 * parsers runs programs and blocks until they end: never on the daemon's loop. */
#ifndef PHX_SLURM_SLURM_H
#define PHX_SLURM_SLURM_H

#include <limits.h>

#include "base/spawn.h"
#include "state/event.h"
#include "state/order.h"

/** Jobs that wait beyond so many are not told of: those of highest priority are. */
#define PHX_SLURM_WAITING_MAX 10000

/** Which Slurm: its configuration on this machine (phx_slurm_conf_find), whom its commands run as
 * (never root: they load the plugins that it names), and how long one may take. */
struct phx_slurm {
	const char *conf;
	struct phx_run_as as;
	uint32_t timeout_ms;
	/* who runs the commands where that is another process: as phx_slurm_run(), with `arg` for
	 * us; `as` is his then. NULL: they are run here */
	int (*run)(void *arg, const char *conf, const char *const *argv, struct phx_run_result *ret,
		   struct phx_err *err);
	void *arg;
};
/** Run one of Slurm's commands that are used here, to its end, by the configuration `conf`: argv[0]
 * is its name alone. -EPERM: it is none of them, or is to run as root. As phx_run_check(). */
int phx_slurm_run(const struct phx_slurm *slurm, const char *const *argv,
		  struct phx_run_result *ret, struct phx_err *err);

struct phx_slurm_report {
	struct phx_list jobs;  /* struct phx_engine_job, by id; none that is over */
	struct phx_list nodes; /* struct phx_engine_node, by name */
	/* the same; ours: it is drained, by whomever, and not down or inactive */
	struct phx_list partitions;
};
void phx_slurm_report_fini(struct phx_slurm_report *r);

/** The file that the slurm_conf of an agreement means: "" the head's own; a NAME is NAME.conf in
 * `dir`; of a path, as agreements had before, the last part counts and is looked for in `dir`
 * too. */
void phx_slurm_conf_path(const char *dir, const char *slurm_conf, char ret[PATH_MAX]);

/** The place itself that `path` leads to, without links. Nobody but root (or who runs this) may be
 * able to change it, nor a directory above it: neither can be another one the next moment. -EPERM,
 * -ENOENT, -ELOOP (it changes as one looks); the text names what is wrong. */
int phx_slurm_conf_find(const char *path, char ret[PATH_MAX], struct phx_err *err);

/** Ask for all nodes, then for all jobs: a node that is closed in the report and has no job in it
 * has none. -EPROTO names the line that is not understood; -EIO what the command said; -ETIMEDOUT,
 * -ENOENT. */
int phx_slurm_ask(const struct phx_slurm *slurm, struct phx_slurm_report *ret, struct phx_err *err);

/** How jobs that are gone ended, as far as Slurm still knows: sets state (DONE, FAILED, CANCELLED)
 * and status of those in `jobs` (struct phx_engine_job, by id) that it tells of; the others stay as
 * they are. */
int phx_slurm_ask_ends(const struct phx_slurm *slurm, struct phx_list *jobs, struct phx_err *err);

/** Carry out one order. -EIO with what Slurm said: it may have been done already, or be too late;
 * the next report tells. */
int phx_slurm_tell(const struct phx_slurm *slurm, const struct phx_engine_order *order,
		   struct phx_err *err);

/** There was an order for it: the next report counts as news, whatever it says of that node or
 * partition. */
void phx_slurm_forget(struct phx_slurm_report *known, const struct phx_engine_order *order);

/** What differs between two reports, as a re_queue event: jobs, nodes and partitions that are new
 * or other ones, jobs that are gone as DONE. `known` NULL: all of it, as a whole. ret is zeroed;
 * phx_event_fini(). -ENOMEM. */
int phx_slurm_changes(const struct phx_slurm_report *known, const struct phx_slurm_report *now,
		      struct phx_event *ret);

/* ---- the parsers, for themselves ---- */

/** Output of squeue / sinfo with our formats; appended to the lists, in order; nodes and partitions
 * maybe more than once. -EPROTO names the line. */
int phx_slurm_parse_jobs(const char *text, struct phx_list *ret_jobs, struct phx_err *err);
int phx_slurm_parse_nodes(const char *text, struct phx_slurm_report *ret, struct phx_err *err);
/** Output of squeue for jobs that are over: sets what phx_slurm_ask_ends() says. `jobs`: by id, as
 * strcmp() has it. */
int phx_slurm_parse_ends(const char *text, struct phx_list *jobs, struct phx_err *err);
/** "10:00", "1:00:00", "2-03:04:05", "UNLIMITED"; ret_ms 0 = no limit. -EINVAL. */
int phx_slurm_parse_limit(const char *text, int64_t *ret_ms);

#endif
