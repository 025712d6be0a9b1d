/* What is kept of jobs on this node's disk: STATE/jobs/ID.json (the newest run
 * of job ID that is known here: neither it nor an older one is ever started
 * again), and of a run ID.RUN.run (locked while its keeper lives) and
 * ID.RUN.end (how it ended). */
#ifndef PHX_AGENT_JOB_STORE_H
#define PHX_AGENT_JOB_STORE_H

#include <sys/types.h>

#include "agent/jobs.h"

struct job_store {
	char dir[AGENT_PATH_MAX + 8], out_dir[AGENT_PATH_MAX + 8];
};

struct job_record {
	uint64_t id;
	uint32_t run;
	bool reported;
	int64_t goodbye_ms; /* how long it may take to end when it is told to */
	/* which job of this number: a head that lost its journal gives it again; 0 = not known */
	int64_t submitted_ms;
};

/** Make what is missing below the two directories. */
int job_store_init(struct job_store *s, const char *state_dir, const char *cache_dir,
		   struct phx_err *err);

/** malloc'd path of a file of a run ("run", "end", "end.tmp"); of what it wrote. */
char *job_store_path(const struct job_store *s, struct job_run run, const char *what);
char *job_store_output(const struct job_store *s, struct job_run run);

/** -ENOENT nothing is known of job `id`. */
int job_store_read(const struct job_store *s, uint64_t id, struct job_record *ret);
int job_store_write(const struct job_store *s, const struct job_record *rec, struct phx_err *err);

/** It is never to run: as if it had ended with `status`. */
int job_store_write_end(const struct job_store *s, struct job_run run, int status,
			struct phx_err *err);
/** How it ended: 255 and forced when nobody knows. */
void job_store_read_end(const struct job_store *s, struct job_run run, struct job_end *ret);

/** Open and lock ID.RUN.run: the descriptor, -EBUSY when its keeper lives. */
int job_store_lock(const struct job_store *s, struct job_run run, struct phx_err *err);
/** Does its keeper live? ret_keeper and ret_session: as it wrote them, 0 = not yet; of a dead one
 * too. */
bool job_store_alive(const struct job_store *s, struct job_run run, pid_t *ret_keeper,
		     pid_t *ret_session);

/** Remove what a run left, but for the record and its end. */
void job_store_drop(const struct job_store *s, struct job_run run);
/** Remove everything of a run but the record. */
void job_store_forget(const struct job_store *s, struct job_run run);
/** Remove the oldest job's record while there are more than are kept, unless `in_use(arg, id)`. */
void job_store_prune(const struct job_store *s, bool (*in_use)(void *arg, uint64_t id), void *arg);
/** Every record of the directory. */
int job_store_each(const struct job_store *s, void (*fn)(void *arg, const struct job_record *rec),
		   void *arg);

#endif
