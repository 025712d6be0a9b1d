/* Records of jobs on this node's disk; job_book.h has their rules.
 * STATE/jobs/ID.json: the newest run of job ID that is known here; neither it nor
 * an older run is ever started again. For each run ID.RUN.run (locked while its
 * keeper lives) and ID.RUN.end (how it ended). */
#ifndef PHX_AGENT_JOB_STORE_H
#define PHX_AGENT_JOB_STORE_H

#include <sys/types.h>

#include "agent/jobs.h"

struct job_store {
	char dir[AGENT_PATH_MAX + 8], out_dir[AGENT_PATH_MAX + 8];
};

/** Make missing directories below the two. */
int job_store_init(struct job_store *s, const char *state_dir, const char *cache_dir,
		   struct phx_err *err);

/** malloc'd path of a file of a run ("run", "end", "end.tmp"); of its output. */
char *job_store_path(const struct job_store *s, struct job_run run, const char *what);
char *job_store_output(const struct job_store *s, struct job_run run);

/** -ENOENT: there is no record of job `id`. */
int job_store_read(const struct job_store *s, uint64_t id, struct job_record *ret);
int job_store_write(const struct job_store *s, const struct job_record *rec, struct phx_err *err);

/** Note that the run ended with `status`, for a run that is never to start. */
int job_store_write_end(const struct job_store *s, struct job_run run, int status,
			struct phx_err *err);
/** How the run ended: 255 and forced when there is no record of its end. */
void job_store_read_end(const struct job_store *s, struct job_run run, struct job_end *ret);

/** Open and lock ID.RUN.run. Returns the descriptor; -EBUSY: its keeper lives. */
int job_store_lock(const struct job_store *s, struct job_run run, struct phx_err *err);
/** Does the run's keeper live? ret_keeper and ret_session: the numbers that the keeper wrote, also
 * when it is dead; 0 = none written yet. */
bool job_store_alive(const struct job_store *s, struct job_run run, pid_t *ret_keeper,
		     pid_t *ret_session);

/** Remove the lock and the output of a run; the record and its end stay. */
void job_store_drop(const struct job_store *s, struct job_run run);
/** Remove all files of a run except the job's record. */
void job_store_forget(const struct job_store *s, struct job_run run);
/** Remove the record of job `id`, and all files of its run. -EBADMSG or another error of
 * job_store_read(): it cannot be known which run that is, so nothing is removed. */
int job_store_remove(const struct job_store *s, uint64_t id);
/** Call fn(arg, ID) for every record. */
int job_store_each(const struct job_store *s, job_book_id_fn *fn, void *arg);

#endif
