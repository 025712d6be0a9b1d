/* See job_run.h. Never decides which run starts. */
#include "agent/job_run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "agent/job_env.h"
#include "agent/job_hosts.h"
#include "agent/job_keeper.h"
#include "agent/job_private.h"
#include "agent/job_stage.h"
#include "agent/log.h"

/* Forks with every signal blocked, so that the keeper loses none before it watches them. No program
 * begins, which base/process.h would start: the keeper goes on with what is in memory here. */
static pid_t fork_blocked(void)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid_t pid = fork();
	if (pid != 0)
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	return pid;
}

/* Has systemd make the scope for which the keeper waits. Without a scope the job runs without a
 * control group. */
static void let_go(struct job_place *at, struct job_run run, struct job_keeper *k, pid_t keeper)
{
	struct phx_err err = {0};
	uint32_t stop_ms = k->checkpoint_ms + k->grace_ms + JOB_DIE_MS;
	int r = keeper > 0 ? job_scope_start(&at->groups, run.id, run.run, keeper, stop_ms, &err)
			   : -ESRCH;
	if (keeper > 0 && r < 0)
		agent_log("job %" PRIu64 ": no control group: %s", run.id, err.text);
	if (r == -ETIMEDOUT) /* systemd does not answer: later jobs do not wait for it again */
		at->groups.base[0] = '\0';
	(void)!write(k->go_fds[1], r == 0 ? "1" : "0", 1);
	phx_close_fd(&k->go_fds[0]);
	phx_close_fd(&k->go_fds[1]);
}

static int fork_keeper(struct job_place *at, struct job_run run, struct job_keeper *k,
		       struct phx_err *err)
{
	PHX_AUTO_FREE char *output = job_store_output(&at->store, run);
	PHX_AUTO_FREE char *end = job_store_path(&at->store, run, "end");
	PHX_AUTO_FREE char *tmp = job_store_path(&at->store, run, "end.tmp");
	char group[JOB_GROUP_MAX];
	if (!output || !end || !tmp)
		return -ENOMEM;
	k->output = output;
	k->end_path = end;
	k->end_tmp = tmp;
	k->contact_fd = at->contact_fd;
	PHX_AUTO_CLOSE int lock_fd = job_store_lock(&at->store, run, err);
	if (lock_fd < 0)
		return lock_fd;
	k->lock_fd = lock_fd;
	job_group_make(&at->groups, run.id, run.run, group);
	k->group = group;
	k->go_fds[0] = k->go_fds[1] = -1;
	if (group[0] && at->groups.scopes && pipe2(k->go_fds, O_CLOEXEC) < 0)
		return phx_err_set(err, -errno, "job %" PRIu64 ": %s", run.id, strerror(errno));
	pid_t pid = fork_blocked();
	if (pid == 0)
		job_keeper_run(k);
	int r = pid > 0
		? pid
		: phx_err_set(err, -errno, "job %" PRIu64 ": fork: %s", run.id, strerror(errno));
	if (k->go_fds[0] >= 0)
		let_go(at, run, k, r);
	return r;
}

/* The run did not start, so no keeper reports its end: removes the files made for it. */
static void take_back(struct job_place *at, struct job_run run, const char *nodes)
{
	unlink(nodes);
	job_hosts_drop(at->node_dir, at->hosts_file, run.id);
	job_stage_drop(at->stage, run);
}

/* The user's scratch on this node, malloc'd; NULL: there is none. */
static char *find_scratch(const struct job_place *at, const struct phx_job *job)
{
	struct stat st;
	PHX_AUTO_FREE char *path = at->scratch[0] && job->re[0] && phx_name_valid(job->user)
		? phx_path("%s/%s/%s", at->scratch, job->re, job->user)
		: NULL;
	bool his = path && lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == job->uid;
	return his ? PHX_TAKE(path) : NULL;
}

pid_t job_run_start(struct job_place *at, const struct phx_job *job, const char *node,
		    struct phx_err *err)
{
	struct job_run run = {job->id, job->kills};
	struct job_env env = {0};
	PHX_AUTO_FREE char *dir = job_stage_dir(at->stage, run);
	struct job_keeper k = {.user = {.uid = job->uid, .gid = job->gid},
			       .cwd = dir,
			       .chdir = job->chdir,
			       .heartbeat_timeout_ms = job->heartbeat_timeout_ms,
			       .grace_ms = job->grace_ms,
			       .checkpoint_ms = job->checkpoint_ms,
			       .checkpoint_signal = (int)job->checkpoint_signal,
			       .limit_ms = job->estimate_ms,
			       .output_max_mb = job->output_max_mb};
	PHX_AUTO_FREE char *script = NULL;
	PHX_AUTO_FREE char *private = NULL;
	PHX_AUTO_FREE char *scratch = find_scratch(at, job);
	PHX_AUTO_FREE const char **argv = calloc(job->argv.n + 1, sizeof(*argv));
	PHX_AUTO_FREE char *nodes = phx_path("%s/%" PRIu64 ".nodes", at->node_dir, job->id);
	if (!argv || !nodes || !dir)
		return -ENOMEM;
	for (uint32_t i = 0; i < job->argv.n; i++)
		argv[i] = phx_text_at(&job->argv, i);
	k.argv = argv;
	int r = job_stage_wanted(job) ? 0 : job_stage_make(at->stage, job, err);
	r = r ? r : job_env_make(job, node, nodes, &(struct job_env_dirs){dir, scratch}, &env, err);
	if (r == 0)
		job_hosts_put(at->node_dir, at->hosts_file, job);
	k.env = (const char *const *)env.list;
	if (r == 0 && job->script && (r = job_stage_script(at->stage, job, &script, err)) == 0)
		argv[0] = script;
	if (r == 0 && at->private_places)
		r = job_private_make(at->stage, run, err);
	if (r == 0 && at->private_places)
		r = (k.private_dir = private = job_private_dir(at->stage, run)) ? 0 : -ENOMEM;
	if (r == 0)
		r = fork_keeper(at, run, &k, err);
	job_env_fini(&env);
	if (r < 0)
		take_back(at, run, nodes);
	return r;
}
