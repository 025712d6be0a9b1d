/* The names of the nodes of this node's jobs, where programs find them: a block
 * of our own in /etc/hosts, so that a host file of names is of use to MPI's
 * launchers, whatever they are linked with. RUN/jobs/ID.hosts is what a job adds. */
#ifndef PHX_AGENT_JOB_HOSTS_H
#define PHX_AGENT_JOB_HOSTS_H

#include "state/state.h"

/** Put the nodes of the job, by the addresses that its order brought, into `hosts_file` ("":
 * nothing is done). What is not ours in the file stays and counts first, but for loopback addresses
 * of these nodes: they are comments meanwhile. A failure is logged: the job goes on without. Twice
 * is as once. */
void job_hosts_put(const char *dir, const char *hosts_file, const struct phx_job *job);
/** The job is over: what no other job wants goes. */
void job_hosts_drop(const char *dir, const char *hosts_file, uint64_t id);
/** The block holds what the jobs in `dir` want, and is not there when they want nothing; of an
 * agent that was killed, or a machine that started anew, nothing is left. */
void job_hosts_settle(const char *dir, const char *hosts_file);

#endif
