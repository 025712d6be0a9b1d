/* Names and addresses of the nodes of this node's jobs, in a block of our own in
 * /etc/hosts: launchers of MPI find the nodes of a host file by name, whatever
 * library they resolve names with. RUN/jobs/ID.hosts has the lines of one job. */
#ifndef PHX_AGENT_JOB_HOSTS_H
#define PHX_AGENT_JOB_HOSTS_H

#include "state/state.h"

/** Put the nodes of the job, by the addresses that its order brought, into `hosts_file` ("": does
 * nothing). Other lines of the file stay and come first, but loopback addresses of these nodes
 * become comments meanwhile. A failure is logged, and the job goes on without. Safe twice. */
void job_hosts_put(const char *dir, const char *hosts_file, const struct phx_job *job);
/** The job is over: remove its lines, unless another job has them too. */
void job_hosts_drop(const char *dir, const char *hosts_file, uint64_t id);
/** Of an agent that starts: make the block hold the lines of the jobs in `dir`, and remove it when
 * they have none, so that nothing stays of an agent that was killed, or from before the machine
 * started anew; nor what that agent had begun to write. */
void job_hosts_begin(const char *dir, const char *hosts_file);

#endif
