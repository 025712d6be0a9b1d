/* Names and addresses of the nodes of this node's jobs, in a block of our own in
 * /etc/hosts: launchers of MPI find the nodes of a host file by name, whatever
 * library they resolve names with. RUN/jobs/ID.hosts has the lines of one job. */
#ifndef PHX_AGENT_JOB_HOSTS_H
#define PHX_AGENT_JOB_HOSTS_H

#include "state/state.h"

/** Put the nodes of the job, with the addresses that its order brought, into `hosts_file` ("": does
 * nothing). Other lines of the file stay and come first, but loopback addresses of these nodes
 * become comments meanwhile. A failure is logged, and the job goes on without the names. Safe
 * twice. */
void job_hosts_put(const char *dir, const char *hosts_file, const struct phx_job *job);
/** The job is over: remove its lines, unless another job has them too. */
void job_hosts_drop(const char *dir, const char *hosts_file, uint64_t id);
/** Called when the agent starts: make the block hold the lines of the jobs in `dir`, or remove it
 * if there are none. So nothing remains of an agent that was killed or of an earlier boot; files
 * that such an agent had only begun to write are removed, too. */
void job_hosts_begin(const char *dir, const char *hosts_file);

#endif
