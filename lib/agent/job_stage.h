/* The private directory of one run of a job, and the transfer of files into and out of it.
 * STAGE/ID.RUN is the job's working directory; STAGE/ID.RUN.out (root's) lists files to bring back.
 * URLs number files as the job does: they hold no path of a user. No path leads out of the run's
 * directory (base/beneath.h). */
#ifndef PHX_AGENT_JOB_STAGE_H
#define PHX_AGENT_JOB_STAGE_H

#include "http/http.h"
#include "agent/jobs.h"

/** The largest file that an agent transfers, whatever the head allows. */
#define JOB_STAGE_MAX (16ull << 30)

/** Has the job files to transfer, on any of its nodes? */
bool job_stage_wanted(const struct phx_job *job);
/** malloc'd path of the working directory of a run. */
char *job_stage_dir(const char *stage, struct job_run run);
/** Make the empty directory of a run that has no files to transfer; the user owns it. On failure no
 * directory is left. */
int job_stage_make(const char *stage, const struct phx_job *job, struct phx_err *err);
/** Write the script of a job beside its directory; only its user may read and run it. ret_path is
 * malloc'd. */
int job_stage_script(const char *stage, const struct phx_job *job, char **ret_path,
		     struct phx_err *err);
/** Functions that job_stage_fetch() needs from its caller. */
struct job_stage_calls {
	jobs_client_fn client;
	void *client_arg;
	bool (*awaited)(void *arg); /* is the run still to be started? */
	void *awaited_arg;
};
/** Make the directory, fetch every file into it, and on the first node note which files to bring
 * back. The user owns the directory from then on. Old files of the run are removed first. A head
 * that is away is tried again for half a minute. On failure no file is left, and the text names the
 * file. */
int job_stage_fetch(const char *stage, const struct job_stage_calls *calls,
		    const struct phx_job *job, const char *node, struct phx_err *err);
/** Bring back the files that job_stage_fetch() noted, if any. -ENOENT and the like: a file is
 * missing or unfit, the text names it. Other errors as phx_http_upload(): the head refused a file,
 * or could not be reached. */
int job_stage_out(const char *stage, struct phx_http_client *c, struct job_run run,
		  struct phx_err *err);
/** Move the directories of a run out of everybody's reach (STAGE/gone), and remove its script and
 * notes: soon done, however much its user left. Missing ones are no error. */
void job_stage_drop(const char *stage, struct job_run run);
/** Remove what job_stage_drop() moved away, as long as `goes_on` says so. Takes as long as what
 * users left is large. */
void job_stage_clear(const char *stage, bool (*goes_on)(void *arg), void *arg);
/** Call fn() for each run of a job (none of tasks) of which anything is there, maybe twice. */
void job_stage_each(const char *stage, void (*fn)(void *arg, struct job_run run), void *arg);

#endif
