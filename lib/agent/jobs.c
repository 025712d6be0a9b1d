/* Jobs of this node: see jobs.h. job_book.h decides by their records
 * (job_store.h), job_run.h starts a run; each run has a keeper (job_keeper.h).
 * RUN/jobs/contact says when the head was last heard: keepers read it. Never decides
 * which job runs. */
#include "agent/jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "agent/decide.h"
#include "agent/job_hosts.h"
#include "agent/job_keeper.h"
#include "agent/job_private.h"
#include "agent/job_run.h"
#include "agent/job_stage.h"
#include "agent/job_user.h"
#include "agent/jobs_internal.h"
#include "agent/log.h"

enum { AGAIN_MS = 100 };

/* ---- looking after them ---- */

static void look_after_all(void *jobs);

/* Has a worker look after the jobs soon. Called with the loop held. */
static void look_soon(void *jobs)
{
	struct jobs *j = jobs;
	if (j->looking || !j->again)
		return;
	j->looking = loop_work(j->loop, look_after_all, j) == 0;
	if (!j->looking)
		loop_arm(j->loop, j->again, phx_clock_ms() + AGAIN_MS);
}

static void unwatch(struct jobs *j, struct running *r)
{
	loop_forget(j->loop, &r->death);
	phx_close_fd(&r->pidfd);
}

static void untrack(struct jobs *j, struct job_run run)
{
	struct running *r = jobs_find(j, run);
	if (!r)
		return;
	unwatch(j, r);
	phx_list_remove(&j->list, sizeof(*r),
			(uint32_t)(r - PHX_LIST_AT(&j->list, struct running, 0)));
}

static int track(struct jobs *j, struct job_run run, pid_t keeper, int64_t goodbye_ms)
{
	struct running *r = jobs_find(j, run);
	if (r)
		unwatch(j, r);
	else
		r = phx_list_push(&j->list, sizeof(*r));
	if (!r)
		return -ENOMEM;
	*r = (struct running){.run = run, .keeper = keeper, .pidfd = -1, .goodbye_ms = goodbye_ms};
	if (keeper > 0)
		r->pidfd = pidfd_open(keeper, 0);
	LOOP_HELD(j->loop);
	look_soon(j);
	return 0;
}

/* Kills and removes what a killed keeper has left of its job. */
static void clear_away(struct jobs *j, struct job_run run, pid_t session)
{
	job_group_remove(&j->at.groups, run.id, run.run);
	if (session > 1)
		kill(-session, SIGKILL);
}

/* Does the keeper live? The keeper of an earlier agent is known by its lock; it is watched by a
 * pidfd once it has written its process id. */
static bool keeper_lives(struct jobs *j, struct running *r)
{
	pid_t keeper, session;
	if (r->pidfd >= 0)
		return poll(&(struct pollfd){r->pidfd, POLLIN, 0}, 1, 0) <= 0;
	if (!job_store_alive(&j->at.store, r->run, &keeper, &session))
		return false;
	r->pidfd = keeper > 1 ? pidfd_open(keeper, 0) : -1;
	/* the keeper may have ended meanwhile, and another process have its id */
	bool lives = r->pidfd < 0 || job_store_alive(&j->at.store, r->run, &keeper, &session);
	if (lives && r->pidfd >= 0 && r->told)
		kill(keeper, r->told);
	return lives;
}

static void look_after(struct jobs *j, struct running *r, struct job_end *ret_end)
{
	pid_t keeper, session;
	if (keeper_lives(j, r))
		return;
	unwatch(j, r);
	if (r->keeper > 0)
		waitpid(r->keeper, NULL, 0);
	job_store_alive(&j->at.store, r->run, &keeper, &session);
	job_store_read_end(&j->at.store, r->run, ret_end);
	clear_away(j, r->run, ret_end->status == 255 && ret_end->forced ? session : 0);
	r->ended = true;
}

/* Reports an end; others may have the jobs meanwhile. Waits for the end of jobs count an end as
 * running until it is reported. */
static void tell_end(struct jobs *j, const struct job_end *end)
{
	j->n_telling++;
	loop_give(j->loop, &j->busy);
	j->ended(j->arg, end);
	loop_take(j->loop, &j->busy);
	j->n_telling--;
}

/* The keeper of an earlier agent that has not written its process id yet is looked at again. */
static void watch_all(struct jobs *j)
{
	LOOP_HELD(j->loop);
	PHX_LIST_EACH(struct running, r, &j->list) {
		if (r->ended || r->staging || r->death || !j->again)
			continue;
		if (r->pidfd < 0 || loop_watch(j->loop, r->pidfd, look_soon, j, &r->death) < 0)
			loop_arm(j->loop, j->again, phx_clock_ms() + AGAIN_MS);
	}
}

/* In a worker. */
static void look_after_all(void *jobs)
{
	struct jobs *j = jobs;
	LOOP_TAKEN(j->loop, &j->busy);
	loop_hold(j->loop);
	j->looking = false; /* anything that happens from now on has the jobs looked after again */
	loop_release(j->loop);
	for (uint32_t i = 0; i < j->list.n; i++) {
		struct running *r = PHX_LIST_AT(&j->list, struct running, i);
		struct job_end end = {0};
		if (r->ended || r->staging)
			continue;
		look_after(j, r, &end);
		if (!r->ended)
			continue;
		tell_end(j, &end);
	}
	watch_all(j);
}

void jobs_heard(struct jobs *j, int64_t clock_ms)
{
	(void)!pwrite(j->at.contact_fd, &clock_ms, sizeof(clock_ms), 0);
}

/* ---- starting ---- */

static int64_t goodbye_of(const struct phx_job *job)
{
	return (int64_t)job->checkpoint_ms + job->grace_ms;
}

/* Starts a run under its keeper and tracks it. */
static int start_run(struct jobs *j, const struct phx_job *job, const char *node,
		     struct phx_err *err)
{
	pid_t keeper = job_run_start(&j->at, job, node, err);
	return keeper < 0
		? keeper
		: track(j, (struct job_run){job->id, job->kills}, keeper, goodbye_of(job));
}

/* ---- files ---- */

struct staging {
	struct jobs *jobs;
	struct phx_job job;
	char node[PHX_NAME_MAX];
};

/* Is the run still to be started? */
static bool is_awaited(void *arg)
{
	const struct staging *s = arg;
	struct jobs *j = s->jobs;
	LOOP_TAKEN(j->loop, &j->busy);
	const struct running *r = jobs_find(j, (struct job_run){s->job.id, s->job.kills});
	return r && !r->told && j->again && !j->closed;
}

/* Ends a run that has not begun. Called by whoever has the jobs; others may have them while the end
 * is reported. */
static void end_unstarted(struct jobs *j, struct running *r, int status, const char *text)
{
	struct job_end end = {
		.run = r->run, .status = status, .forced = r->told == JOB_SIGNAL_RETURN};
	PHX_STR_SET(end.text, r->told ? "" : text);
	job_store_write_end(&j->at.store, r->run, status, NULL);
	r->staging = false;
	r->ended = true;
	tell_end(j, &end);
}

/* In a worker. */
static void stage(void *arg)
{
	struct staging *s = arg;
	struct jobs *j = s->jobs;
	struct job_run run = {s->job.id, s->job.kills};
	struct phx_err err = {0};
	struct job_stage_calls calls = {j->client, j->arg, is_awaited, s};
	int r = job_stage_fetch(j->at.stage, &calls, &s->job, s->node, &err);
	loop_take(j->loop, &j->busy);
	struct running *known = jobs_find(j, run);
	bool go = known && !known->told && !j->closed;
	if (r == 0 && go)
		r = start_run(j, &s->job, s->node, &err);
	known = jobs_find(j, run);
	if (known && known->staging && !j->closed && (r < 0 || !go))
		end_unstarted(j, known, known->told ? JOB_STATUS_BARRED : JOB_STATUS_UNSTARTED,
			      err.text);
	j->n_staging--;
	loop_give(j->loop, &j->busy);
	phx_record_fini(&phx_job_record, &s->job);
	free(s);
}

static int begin_staging(struct jobs *j, const struct phx_job *job, const char *node,
			 struct phx_err *err)
{
	struct job_run run = {job->id, job->kills};
	struct staging *s = calloc(1, sizeof(*s));
	int r = !s           ? -ENOMEM
		: !j->client ? -EOPNOTSUPP
			     : phx_record_copy(&phx_job_record, &s->job, job);
	r = r ? r : track(j, run, 0, goodbye_of(job));
	if (r == 0) {
		s->jobs = j;
		PHX_STR_SET(s->node, node);
		jobs_find(j, run)->staging = true;
		r = loop_work(j->loop, stage, s);
	}
	if (r < 0) {
		untrack(j, run);
		if (s)
			phx_record_fini(&phx_job_record, &s->job);
		free(s);
		return phx_err_set(err, r, "job %" PRIu64 ": cannot write its files: %s", run.id,
				   strerror(-r));
	}
	j->n_staging++;
	return 0;
}

/* Writes the run's record first: whatever happens, the run is never started again. */
static int launch(struct jobs *j, const struct phx_job *job, const char *node, struct phx_err *err)
{
	const struct job_book book = jobs_book(j);
	int r = job_book_begin(&book, (struct job_run){job->id, job->kills}, goodbye_of(job),
			       job->submitted_ms, err);
	if (r < 0)
		return r;
	return job_stage_wanted(job) && job->parts.n ? begin_staging(j, job, node, err)
						     : start_run(j, job, node, err);
}

int jobs_bring_back(struct jobs *j, struct phx_http_client *c, struct job_run run,
		    struct phx_err *err)
{
	struct job_end end = {0};
	job_store_read_end(&j->at.store, run, &end);
	return end.ended_by == PHX_ENDED_ITSELF ? job_stage_out(j->at.stage, c, run, err) : 0;
}

/* ---- ending ---- */

void jobs_tell_keeper(struct jobs *j, struct running *r, int sig)
{
	pid_t keeper, session;
	if (r->staging)
		r->told = sig;
	else if (r->keeper > 0) /* our child, not reaped: it may not have written its id yet */
		kill(r->keeper, sig);
	else if (job_store_alive(&j->at.store, r->run, &keeper, &session) && keeper > 1)
		kill(keeper, sig);
	else
		r->told = sig; /* keeper_lives() signals it once it has written its id */
}

/* Records the end of a run that never began, so that it never will. */
static int bar(struct jobs *j, struct job_run run, struct phx_err *err)
{
	const struct job_book book = jobs_book(j);
	int r = job_book_bar(&book, run, err);
	return r ? r : track(j, run, 0, 0);
}

/* An order about a run: to start it, or to end it. */
struct order {
	struct job_run run;
	const struct phx_job *job; /* NULL: it is to end */
	const char *node;
	bool to_run_again;
};

/* An older run of the job, or another job of its number, has ended: the head has given it up. */
static void forget_older(struct jobs *j, struct job_run old)
{
	pid_t keeper, session;
	job_store_alive(&j->at.store, old, &keeper, &session);
	clear_away(j, old, session);
	untrack(j, old);
	job_store_forget(&j->at.store, old);
	job_stage_drop(j->at.stage, old);
}

static void make_way(struct jobs *j, struct job_run old)
{
	pid_t keeper, session;
	if (job_store_alive(&j->at.store, old, &keeper, &session) && keeper > 1)
		kill(keeper, JOB_SIGNAL_END);
}

static int follow(struct jobs *j, const struct order *o, struct phx_err *err)
{
	struct running *r = jobs_find(j, o->run);
	const struct job_book book = jobs_book(j);
	const struct job_order order = {o->run, o->job ? o->job->submitted_ms : 0, !o->job, r};
	struct job_known known;
	int act = job_book_order(&book, &order, &known);
	if (act < 0)
		return act;
	switch ((enum decide_job_act)act) {
	case DECIDE_JOB_START:
		if (known.older)
			forget_older(j, JOB_RECORD_RUN(&known.rec));
		return launch(j, o->job, o->node, err);
	case DECIDE_JOB_BAR:
		return bar(j, o->run, err);
	case DECIDE_JOB_TELL:
		return r ? 0 : track(j, o->run, 0, o->job ? goodbye_of(o->job) : 0);
	case DECIDE_JOB_END:
		jobs_tell_keeper(j, r, o->to_run_again ? JOB_SIGNAL_RETURN : JOB_SIGNAL_END);
		return 0;
	case DECIDE_JOB_MAKE_WAY:
		make_way(j, JOB_RECORD_RUN(&known.rec));
		break;
	case DECIDE_JOB_AWAIT:
		break;
	case DECIDE_JOB_REFUSE:
		return phx_err_set(err, -ESTALE,
				   "job %" PRIu64 ": run %u is of the past, %u is known", o->run.id,
				   o->run.run, known.rec.run);
	}
	return phx_err_set(err, -EAGAIN, "job %" PRIu64 ": run %u still ends", o->run.id,
			   known.rec.run);
}

int jobs_start(struct jobs *j, const struct phx_job *job, const char *node, struct phx_err *err)
{
	struct job_run run = {job->id, job->kills};
	if (job->uid == 0 || job->gid == 0)
		return phx_err_set(err, -EPERM, "job %" PRIu64 ": jobs never run as root", job->id);
	if (!phx_id_valid(job->uid) || !phx_id_valid(job->gid))
		return phx_err_set(err, -EPERM,
				   "job %" PRIu64 ": %u is no number of a user or group", job->id,
				   UINT32_MAX);
	if (!job->argv.n)
		return phx_err_set(err, -EINVAL, "job %" PRIu64 ": no program", job->id);
	LOOP_TAKEN(j->loop, &j->busy);
	return j->closed ? -ECANCELED : follow(j, &(struct order){run, job, node, false}, err);
}

int jobs_kill(struct jobs *j, struct job_run run, bool to_run_again, struct phx_err *err)
{
	LOOP_TAKEN(j->loop, &j->busy);
	return follow(j, &(struct order){.run = run, .to_run_again = to_run_again}, err);
}

/* ---- reported ---- */

/* Finds the user of a run, who owns its directory. -ENOENT: there is none, so the user is not
 * known. */
static int find_user(const struct jobs *j, struct job_run run, uid_t *ret)
{
	struct stat st;
	PHX_AUTO_FREE char *dir = job_stage_dir(j->at.stage, run);
	if (!dir || lstat(dir, &st) < 0)
		return dir ? -errno : -ENOMEM;
	*ret = st.st_uid;
	return 0;
}

/* Removes what the user of a finished run left on the node, unless another run here is his. */
static void clear_user(struct jobs *j, struct job_run run)
{
	uid_t user, other;
	if (!j->at.private_places || find_user(j, run, &user) < 0)
		return;
	PHX_LIST_EACH(struct running, r, &j->list)
		if (find_user(j, r->run, &other) == 0 && other == user)
			return;
	job_user_leave(j->at.root, user);
}

void jobs_reported(struct jobs *j, struct job_run run)
{
	struct phx_err err = {0};
	const struct job_book book = jobs_book(j);
	LOOP_TAKEN(j->loop, &j->busy);
	untrack(j, run);
	int r = job_book_reported(&book, run, &err);
	if (r < 0)
		agent_log("job %" PRIu64 ": %s", run.id, err.text);
	if (r <= 0) {
		PHX_AUTO_FREE char *nodes =
			phx_path("%s/%" PRIu64 ".nodes", j->at.node_dir, run.id);
		if (nodes)
			unlink(nodes);
		job_hosts_drop(j->at.node_dir, j->at.hosts_file, run.id);
	}
	job_store_drop(&j->at.store, run);
	clear_user(j, run);
	job_stage_drop(j->at.stage, run);
	jobs_sweep(j);
}

bool jobs_work_for(struct jobs *j, uint32_t uid)
{
	uid_t user;
	LOOP_TAKEN(j->loop, &j->busy);
	PHX_LIST_EACH(struct running, r, &j->list)
		if (find_user(j, r->run, &user) == 0 && user == uid)
			return true;
	return false;
}

uint32_t jobs_list(struct jobs *j, struct job_run *ret, uint32_t max)
{
	LOOP_TAKEN(j->loop, &j->busy);
	uint32_t n = j->list.n;
	for (uint32_t i = 0; i < n && i < max; i++)
		ret[i] = PHX_LIST_AT(&j->list, struct running, i)->run;
	return n;
}

/* ---- life ---- */

static void take_up(void *arg, const struct job_record *rec)
{
	track(arg, JOB_RECORD_RUN(rec), 0, rec->goodbye_ms);
}

/* Opens RUN/jobs/contact. An agent that starts again uses the same file: keepers have it open. */
static int open_contact(struct jobs *j, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/contact", j->at.node_dir);
	j->at.contact_fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	return j->at.contact_fd < 0
		? phx_err_set(err, path ? -errno : -ENOMEM, "%s: %s", path, strerror(errno))
		: 0;
}

/* Checks that private places do not hide the runs' own directories and lists of nodes. */
static int check_seen(const struct jobs *j, struct phx_err *err)
{
	const char *const dirs[][2] = {{"cache_dir", j->at.stage}, {"run_dir", j->at.node_dir}};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(dirs); i++)
		if (job_private_hides(dirs[i][1]))
			return phx_err_set(err, -EINVAL,
					   "%s: jobs would not see %s, for each run has that place "
					   "for its own: name another directory, or say "
					   "job_private = \"no\"",
					   dirs[i][0], dirs[i][1]);
	return 0;
}

static int prepare(struct jobs *j, const struct jobs_config *c, struct phx_err *err)
{
	snprintf(j->at.node_dir, sizeof(j->at.node_dir), "%s/jobs", c->run_dir);
	snprintf(j->at.stage, sizeof(j->at.stage), "%s-jobs", c->cache_dir);
	int r = c->private_places ? check_seen(j, err) : 0;
	r = r ? r : job_store_init(&j->at.store, c->state_dir, c->cache_dir, err);
	r = r ? r : phx_dir_make(j->at.node_dir, 0755, err);
	r = r ? r : open_contact(j, err);
	if (r < 0)
		return r;
	PHX_STR_SET(j->at.hosts_file, c->hosts_file);
	PHX_STR_SET(j->at.root, c->root ? c->root : "");
	PHX_STR_SET(j->at.scratch, c->scratch_dir ? c->scratch_dir : "");
	j->at.private_places = c->private_places;
	job_hosts_begin(j->at.node_dir, j->at.hosts_file);
	job_group_find(j->at.store.dir, c->may_ask_systemd, &j->at.groups);
	agent_log("jobs: each run has %s", j->at.groups.how);
	const struct job_book book = jobs_book(j);
	return job_book_open(&book, take_up, j);
}

int jobs_new(const struct jobs_config *config, struct jobs **ret, struct phx_err *err)
{
	struct jobs *j = calloc(1, sizeof(*j));
	if (!j)
		return -ENOMEM;
	*j = (struct jobs){.loop = config->loop,
			   .ended = config->ended,
			   .arg = config->arg,
			   .client = config->client,
			   .at.contact_fd = -1};
	int r = prepare(j, config, err);
	loop_hold(j->loop);
	r = r ? r : loop_timer(j->loop, look_soon, j, &j->again);
	if (r == 0)
		look_soon(j);
	loop_release(j->loop);
	if (r == 0) {
		LOOP_TAKEN(j->loop, &j->busy);
		jobs_sweep_begin(j);
	}
	if (r < 0) {
		jobs_free(j);
		return phx_err_set(err, r, "jobs: %s", strerror(-r));
	}
	*ret = j;
	return 0;
}

void jobs_close(struct jobs *j)
{
	LOOP_TAKEN(j->loop, &j->busy);
	j->closed = true;
}

void jobs_free(struct jobs *j)
{
	if (!j)
		return;
	loop_take(j->loop, &j->busy);
	loop_forget(j->loop, &j->again);
	while (j->n_staging || j->n_telling || j->looking || j->sweeping)
		loop_yield(j->loop, &j->busy, INT64_MAX);
	PHX_LIST_EACH(struct running, r, &j->list)
		unwatch(j, r);
	phx_close_fd(&j->at.contact_fd);
	phx_list_fini(&j->list);
	free(j);
}
