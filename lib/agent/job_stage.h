/* The private directory of one run of a job, and the carrying of files in and out of it.
 * STAGE/ID.RUN is the job's working directory; STAGE/ID.RUN.out (root's) lists what comes back.
 * Files are numbered as in the job: no path of a user's is in an address, and none leads out of his
 * directory (base/beneath.h). */
#ifndef PHX_AGENT_JOB_STAGE_H
#define PHX_AGENT_JOB_STAGE_H

#include "http/http.h"
#include "agent/jobs.h"

/** What is larger is not carried by an agent, whatever the head allows. */
#define JOB_STAGE_MAX (16ull << 30)

/** Has the job files to be carried on any node? */
bool job_stage_wanted(const struct phx_job *job);
/** malloc'd path of the working directory of a run. */
char *job_stage_dir(const char *stage, struct job_run run);
/** Make the directory of a run without files, empty; it is the user's. On failure nothing is
 * left. */
int job_stage_make(const char *stage, const struct phx_job *job, struct phx_err *err);
/** Write the script of a job beside its directory, for its user alone to read and run: ret_path is
 * malloc'd. */
int job_stage_script(const char *stage, const struct phx_job *job, char **ret_path,
		     struct phx_err *err);
/** What job_stage_fetch() asks of who calls it. */
struct job_stage_calls {
	jobs_client_fn client;
	void *client_arg;
	bool (*awaited)(void *arg); /* is the run still to be started? */
	void *awaited_arg;
};
/** Make the directory, fetch every file into it, note what comes back (from the first node). It is
 * the user's from then on. What was there of that run is removed first. A head that is away is
 * tried again for half a minute. On failure nothing is left, and the text says which file. */
int job_stage_fetch(const char *stage, const struct job_stage_calls *calls,
		    const struct phx_job *job, const char *node, struct phx_err *err);
/** Bring back what the run is to bring back; nothing where none was noted. -ENOENT and the like:
 * the text names the file; what the head refuses for good, or cannot be reached for, as
 * phx_http_upload() says. */
int job_stage_out(const char *stage, struct phx_http_client *c, struct job_run run,
		  struct phx_err *err);
/** Remove directory, script and notes of a run. None is fine. */
void job_stage_drop(const char *stage, struct job_run run);

#endif
