/* Records of jobs on this node's disk. STATE/jobs/ID.json: the newest run of job
 * ID that is known here; neither it nor an older run is ever started again. For
 * each run ID.RUN.run (locked while its keeper lives) and ID.RUN.end (how it
 * ended). */
#ifndef PHX_AGENT_JOB_STORE_H
#define PHX_AGENT_JOB_STORE_H

#include <sys/types.h>

#include "agent/jobs.h"

struct job_store {
	char dir[AGENT_PATH_MAX + 8], out_dir[AGENT_PATH_MAX + 8];
};

#define JOB_RECORD_FIELDS(F, S) \
	F(S, id, U64) \
	F(S, run, U32) \
	F(S, reported, BOOL) \
	F(S, goodbye_ms, I64) /* how long the run may take to end when it is told to */ \
	/* tells jobs of one number apart: a head that lost its journal uses numbers again; \
	 * 0 = not known */ \
	F(S, submitted_ms, I64)
struct job_record {
	PHX_MEMBERS(job_record, JOB_RECORD_FIELDS)
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
/** Remove the oldest job's record if there are too many, unless `in_use(arg, id)`. */
void job_store_prune(const struct job_store *s, bool (*in_use)(void *arg, uint64_t id), void *arg);
/** Call `fn` with every record. */
int job_store_each(const struct job_store *s, void (*fn)(void *arg, const struct job_record *rec),
		   void *arg);

#endif
