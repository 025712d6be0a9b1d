/* Jobs of this node: see jobs.h. Files of job ID in STATE/jobs:
 *
 *	ID.json   it is known, and must never be started (again)
 *	ID.run    locked while its keeper lives; holds the session of the job
 *	ID.end    its exit status
 *
 * Known, not locked and without an end: lost, which counts as 255. Output is in
 * CACHE/jobs/ID.out. Never decides which job runs. */
#include "phx-agent/jobs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/nodeset.h"
#include "phx-agent/config.h"
#include "phx-agent/job_keeper.h"
#include "phx-agent/log.h"

enum {
	POLL_MS = 50,
	KILL_AFTER_MS = 5000,
	DIE_MS = 10000,
	RECORDS_KEPT = 256,
	STATUS_LOST = 255,
	STATUS_NEVER_RAN = 143
};

struct job_record {
	uint64_t id;
	bool reported;
};
static const struct phx_field job_fields[] = {PHX_U64(struct job_record, id), PHX_BOOL(struct job_record, reported)};
static const struct phx_record job_record = PHX_RECORD("job", struct job_record, job_fields);

struct running {
	uint64_t id;
	bool ended;      /* and told, but not reported yet */
	int64_t kill_ms; /* when SIGKILL is due; 0 = not asked to end */
	pid_t keeper;    /* our child, to be reaped; 0 = an earlier agent's */
};

struct jobs {
	char dir[AGENT_PATH_MAX + 8], out_dir[AGENT_PATH_MAX + 8], node_dir[AGENT_PATH_MAX + 8];
	jobs_ended_fn ended;
	void *arg;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool quit, closed;
	struct phx_list list; /* struct running */
};

/* ---- files ---- */

static char *job_path(const struct jobs *j, uint64_t id, const char *what)
{
	return phx_path("%s/%" PRIu64 ".%s", j->dir, id, what);
}

static int read_record(const struct jobs *j, uint64_t id, struct job_record *ret)
{
	PHX_AUTO_FREE char *path = job_path(j, id, "json");
	PHX_AUTO_FREE char *text = NULL;
	PHX_AUTO_JSON json_t *json = NULL;
	size_t n;
	int r = path ? phx_file_read(path, 4096, &text, &n, NULL) : -ENOMEM;
	if (r == 0)
		r = phx_json_parse(text, n, &json, NULL);
	return r < 0 ? r : phx_json_to_record(&job_record, json, ret, NULL);
}

static int write_record(const struct jobs *j, const struct job_record *rec, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = job_path(j, rec->id, "json");
	PHX_AUTO_JSON json_t *json = phx_json_from_record(&job_record, rec);
	PHX_AUTO_FREE char *text = json ? phx_json_text(json) : NULL;
	if (!path || !text)
		return -ENOMEM;
	return phx_file_write(path, text, strlen(text), 0600, err);
}

static int write_end(const struct jobs *j, uint64_t id, int status, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = job_path(j, id, "end");
	char text[16];
	int n = snprintf(text, sizeof(text), "%d\n", status);
	return path ? phx_file_write(path, text, (size_t)n, 0600, err) : -ENOMEM;
}

static void remove_file(char *path)
{
	if (path)
		unlink(path);
	free(path);
}

/* The session of a job whose keeper lives; 0 when it does not. */
static pid_t living_session(const struct jobs *j, uint64_t id, bool *ret_alive)
{
	PHX_AUTO_FREE char *path = job_path(j, id, "run");
	char text[16] = "";
	*ret_alive = false;
	if (!path)
		return 0;
	PHX_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		return 0;
	*ret_alive = true;
	(void)!read(fd, text, sizeof(text) - 1);
	return (pid_t)strtol(text, NULL, 10);
}

static void read_end(const struct jobs *j, uint64_t id, struct job_end *ret)
{
	PHX_AUTO_FREE char *path = job_path(j, id, "end");
	PHX_AUTO_FREE char *text = NULL;
	uint64_t status;
	*ret = (struct job_end){.id = id, .status = STATUS_LOST};
	snprintf(ret->output, sizeof(ret->output), "%s/%" PRIu64 ".out", j->out_dir, id);
	if (path && phx_file_read(path, 16, &text, NULL, NULL) == 0) {
		text[strcspn(text, "\n")] = '\0';
		if (phx_u64_parse(text, 0, 255, &status) == 0) {
			ret->status = (int64_t)status;
			return;
		}
	}
	PHX_STR_SET(ret->text, "the job's process is gone, how it ended is not known");
}

/* ---- the list; all with the lock held ---- */

static struct running *find(struct jobs *j, uint64_t id)
{
	PHX_LIST_EACH(struct running, r, &j->list)
	if (r->id == id)
		return r;
	return NULL;
}

static int track(struct jobs *j, uint64_t id, pid_t keeper)
{
	struct running *r = find(j, id);
	if (!r)
		r = phx_list_push(&j->list, sizeof(*r));
	if (!r)
		return -ENOMEM;
	*r = (struct running){.id = id, .keeper = keeper};
	pthread_cond_broadcast(&j->changed);
	return 0;
}

static void signal_job(struct jobs *j, uint64_t id, int sig)
{
	bool alive;
	pid_t session = living_session(j, id, &alive);
	/* before its setsid() it is not yet a group */
	if (session > 1 && kill(-session, sig) < 0)
		kill(session, sig);
}

static void look_after(struct jobs *j, struct running *r, struct job_end *ret_end)
{
	bool alive;
	living_session(j, r->id, &alive);
	if (!alive) {
		if (r->keeper > 0)
			waitpid(r->keeper, NULL, 0);
		read_end(j, r->id, ret_end);
		r->ended = true;
	} else if (r->kill_ms && agent_now_ms() >= r->kill_ms) {
		signal_job(j, r->id, SIGKILL);
		r->kill_ms = agent_now_ms() + 1000;
	}
}

static void look_after_all(struct jobs *j)
{
	for (uint32_t i = 0; i < j->list.n; i++) {
		struct running *r = PHX_LIST_AT(&j->list, struct running, i);
		struct job_end end = {0};
		if (r->ended)
			continue;
		look_after(j, r, &end);
		if (!r->ended)
			continue;
		pthread_cond_broadcast(&j->changed);
		pthread_mutex_unlock(&j->lock);
		j->ended(j->arg, &end);
		pthread_mutex_lock(&j->lock);
	}
}

static void *run_thread(void *arg)
{
	struct jobs *j = arg;
	pthread_mutex_lock(&j->lock);
	while (!j->quit) {
		bool busy = false;
		look_after_all(j);
		PHX_LIST_EACH(struct running, r, &j->list)
		busy = busy || !r->ended;
		if (!busy) {
			pthread_cond_wait(&j->changed, &j->lock);
			continue;
		}
		pthread_mutex_unlock(&j->lock);
		agent_sleep_ms(POLL_MS);
		pthread_mutex_lock(&j->lock);
	}
	pthread_mutex_unlock(&j->lock);
	return NULL;
}

/* ---- starting ---- */

struct environment {
	struct phx_buf words; /* NUL-separated */
	char *list[10];
};

static void add_word(struct environment *e, const char *name, const char *value)
{
	phx_buf_addf(&e->words, "%s=%s", name, value);
	phx_buf_add(&e->words, "", 1);
}

static int fold_nodes(const struct phx_job *job, char **ret_folded, char **ret_lines)
{
	struct phx_nodeset set = {0};
	PHX_AUTO(phx_buf_fini) struct phx_buf lines = {0};
	int r = 0;
	PHX_LIST_EACH(struct phx_job_part, p, &job->parts)
	{
		r = r ? r : phx_nodeset_add(&set, p->node);
		phx_buf_addf(&lines, "%s\n", p->node);
	}
	*ret_folded = r == 0 ? phx_nodeset_fold(&set) : NULL;
	*ret_lines = phx_buf_take(&lines);
	phx_nodeset_fini(&set);
	return *ret_folded && *ret_lines ? 0 : -ENOMEM;
}

static void add_user(struct environment *e, const struct phx_job *job)
{
	struct passwd pw, *found = NULL;
	char buf[4096];
	bool known = getpwuid_r(job->uid, &pw, buf, sizeof(buf), &found) == 0 && found;
	add_word(e, "HOME", known ? pw.pw_dir : "/tmp");
	add_word(e, "USER", known ? pw.pw_name : job->user);
	add_word(e, "LOGNAME", known ? pw.pw_name : job->user);
}

static int make_environment(const struct jobs *j, const struct phx_job *job, struct environment *ret,
			    struct phx_err *err)
{
	PHX_AUTO_FREE char *folded = NULL;
	PHX_AUTO_FREE char *lines = NULL;
	PHX_AUTO_FREE char *file = phx_path("%s/%" PRIu64 ".nodes", j->node_dir, job->id);
	char id[32];
	int r = fold_nodes(job, &folded, &lines);
	if (r < 0 || !file)
		return -ENOMEM;
	r = phx_file_write(file, lines, strlen(lines), 0644, err);
	if (r < 0)
		return r;
	snprintf(id, sizeof(id), "%" PRIu64, job->id);
	add_word(ret, "PATH", "/usr/local/bin:/usr/bin:/bin");
	add_user(ret, job);
	add_word(ret, "PHX_JOB_ID", id);
	add_word(ret, "PHX_JOB_NODES", folded);
	add_word(ret, "PHX_JOB_NODEFILE", file);
	if (ret->words.failed)
		return -ENOMEM;
	size_t n = 0;
	for (char *p = ret->words.data; p < ret->words.data + ret->words.n; p += strlen(p) + 1)
		ret->list[n++] = p;
	return 0;
}

static int open_lock(const struct jobs *j, uint64_t id, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = job_path(j, id, "run");
	int fd = path ? open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
	if (fd < 0)
		return phx_err_set(err, path ? -errno : -ENOMEM, "job %" PRIu64 ": lock: %s", id, strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		close(fd);
		return phx_err_set(err, -EBUSY, "job %" PRIu64 ": runs already", id);
	}
	return fd;
}

static int fork_keeper(const struct jobs *j, const struct phx_job *job, struct job_keeper *k, struct phx_err *err)
{
	PHX_AUTO_FREE char *output = phx_path("%s/%" PRIu64 ".out", j->out_dir, job->id);
	PHX_AUTO_FREE char *end = job_path(j, job->id, "end");
	PHX_AUTO_FREE char *tmp = job_path(j, job->id, "end.tmp");
	if (!output || !end || !tmp)
		return -ENOMEM;
	k->output = output;
	k->end_path = end;
	k->end_tmp = tmp;
	PHX_AUTO_CLOSE int lock_fd = open_lock(j, job->id, err);
	if (lock_fd < 0)
		return lock_fd;
	k->lock_fd = lock_fd;
	pid_t pid = fork();
	if (pid == 0)
		job_keeper_run(k);
	return pid > 0 ? pid : phx_err_set(err, -errno, "job %" PRIu64 ": fork: %s", job->id, strerror(errno));
}

/* Known from here on, so that whatever happens it is never started again. */
static int launch(struct jobs *j, const struct phx_job *job, struct phx_err *err)
{
	struct environment env = {0};
	struct job_keeper k = {.user = {.uid = job->uid, .gid = job->gid}, .env = env.list};
	PHX_AUTO_FREE char **argv = calloc(job->argv.n + 1, sizeof(*argv));
	if (!argv)
		return -ENOMEM;
	for (uint32_t i = 0; i < job->argv.n; i++)
		argv[i] = PHX_LIST_AT(&job->argv, struct phx_word, i)->text;
	k.argv = argv;
	int r = write_record(j, &(struct job_record){.id = job->id}, err);
	if (r == 0)
		r = make_environment(j, job, &env, err);
	if (r == 0)
		r = fork_keeper(j, job, &k, err);
	phx_buf_fini(&env.words);
	return r < 0 ? r : track(j, job->id, r);
}

/* A job that is known already: its end is told again, unless it is on its way. */
static int repeat(struct jobs *j, uint64_t id)
{
	return find(j, id) ? 0 : track(j, id, 0);
}

int jobs_start(struct jobs *j, const struct phx_job *job, struct phx_err *err)
{
	struct job_record rec;
	if (job->uid == 0 || job->gid == 0)
		return phx_err_set(err, -EPERM, "job %" PRIu64 ": jobs never run as root", job->id);
	if (!job->argv.n)
		return phx_err_set(err, -EINVAL, "job %" PRIu64 ": no program", job->id);
	pthread_mutex_lock(&j->lock);
	int r = j->closed ? -ECANCELED : read_record(j, job->id, &rec);
	if (r == -ENOENT)
		r = launch(j, job, err);
	else if (r != -ECANCELED)
		r = repeat(j, job->id);
	pthread_mutex_unlock(&j->lock);
	return r;
}

/* ---- ending ---- */

static void end_job(struct jobs *j, struct running *r)
{
	if (r->ended || r->kill_ms)
		return;
	signal_job(j, r->id, SIGTERM);
	r->kill_ms = agent_now_ms() + KILL_AFTER_MS;
}

int jobs_kill(struct jobs *j, uint64_t id, struct phx_err *err)
{
	struct job_record rec;
	int r = 0;
	pthread_mutex_lock(&j->lock);
	struct running *run = find(j, id);
	if (run) {
		end_job(j, run);
	} else {
		if (read_record(j, id, &rec) == -ENOENT) {
			r = write_record(j, &(struct job_record){.id = id}, err);
			r = r ? r : write_end(j, id, STATUS_NEVER_RAN, err);
		}
		r = r ? r : track(j, id, 0);
	}
	pthread_mutex_unlock(&j->lock);
	return r;
}

static bool any_running(struct jobs *j)
{
	pthread_mutex_lock(&j->lock);
	bool any = false;
	PHX_LIST_EACH(struct running, r, &j->list)
	any = any || !r->ended;
	pthread_mutex_unlock(&j->lock);
	return any;
}

static int wait_none(struct jobs *j, uint32_t timeout_ms, bool (*cancelled)(void *), void *arg)
{
	int64_t end = agent_now_ms() + timeout_ms;
	while (any_running(j)) {
		if (cancelled(arg))
			return -ECANCELED;
		if (agent_now_ms() >= end)
			return -ETIMEDOUT;
		agent_sleep_ms(20);
	}
	return 0;
}

int jobs_drain(struct jobs *j, uint32_t grace_ms, bool (*cancelled)(void *), void *arg, struct phx_err *err)
{
	int r = wait_none(j, grace_ms, cancelled, arg);
	if (r == -ETIMEDOUT) {
		pthread_mutex_lock(&j->lock);
		PHX_LIST_EACH(struct running, run, &j->list)
		end_job(j, run);
		pthread_mutex_unlock(&j->lock);
		r = wait_none(j, DIE_MS, cancelled, arg);
	}
	return r < 0 ? phx_err_set(err, r, "jobs: %s", r == -ETIMEDOUT ? "some do not die" : strerror(-r)) : 0;
}

/* ---- reported ---- */

struct oldest {
	uint64_t id;
	uint32_t n;
};

/* Ids of the records (ID.json) in the directory, given to `fn`. */
static int each_record(const struct jobs *j, void (*fn)(void *arg, uint64_t id), void *arg)
{
	DIR *d = opendir(j->dir);
	if (!d)
		return -errno;
	for (const struct dirent *e; (e = readdir(d));) {
		char name[32];
		uint64_t id;
		size_t n = strlen(e->d_name);
		if (n < 6 || n - 5 >= sizeof(name) || !phx_str_eq(e->d_name + n - 5, ".json"))
			continue;
		memcpy(name, e->d_name, n - 5);
		name[n - 5] = '\0';
		if (phx_u64_parse(name, 0, UINT64_MAX, &id) == 0)
			fn(arg, id);
	}
	closedir(d);
	return 0;
}

static void count_oldest(void *arg, uint64_t id)
{
	struct oldest *o = arg;
	if (!o->n || id < o->id)
		o->id = id;
	o->n++;
}

static void prune(struct jobs *j)
{
	struct oldest o = {0};
	if (each_record(j, count_oldest, &o) < 0 || o.n <= RECORDS_KEPT || find(j, o.id))
		return;
	remove_file(job_path(j, o.id, "json"));
	remove_file(job_path(j, o.id, "end"));
}

void jobs_reported(struct jobs *j, uint64_t id)
{
	struct phx_err err = {0};
	pthread_mutex_lock(&j->lock);
	for (uint32_t i = 0; i < j->list.n; i++)
		if (PHX_LIST_AT(&j->list, struct running, i)->id == id) {
			phx_list_remove(&j->list, sizeof(struct running), i);
			break;
		}
	if (write_record(j, &(struct job_record){id, true}, &err) < 0)
		agent_log("job %" PRIu64 ": %s", id, err.text);
	remove_file(job_path(j, id, "run"));
	remove_file(phx_path("%s/%" PRIu64 ".out", j->out_dir, id));
	remove_file(phx_path("%s/%" PRIu64 ".nodes", j->node_dir, id));
	prune(j);
	pthread_mutex_unlock(&j->lock);
}

uint32_t jobs_ids(struct jobs *j, uint64_t *ret_ids, uint32_t max)
{
	pthread_mutex_lock(&j->lock);
	uint32_t n = j->list.n;
	for (uint32_t i = 0; i < n && i < max; i++)
		ret_ids[i] = PHX_LIST_AT(&j->list, struct running, i)->id;
	pthread_mutex_unlock(&j->lock);
	return n;
}

/* ---- life ---- */

static void take_up(void *arg, uint64_t id)
{
	struct jobs *j = arg;
	struct job_record rec;
	if (read_record(j, id, &rec) == 0 && !rec.reported)
		track(j, id, 0);
}

static int make_dirs(struct jobs *j, const struct jobs_config *c, struct phx_err *err)
{
	snprintf(j->dir, sizeof(j->dir), "%s/jobs", c->state_dir);
	snprintf(j->out_dir, sizeof(j->out_dir), "%s/jobs", c->cache_dir);
	snprintf(j->node_dir, sizeof(j->node_dir), "%s/jobs", c->run_dir);
	int r = phx_dir_make(j->dir, 0700, err);
	r = r ? r : phx_dir_make(j->out_dir, 0700, err);
	return r ? r : phx_dir_make(j->node_dir, 0755, err);
}

int jobs_new(const struct jobs_config *config, struct jobs **ret, struct phx_err *err)
{
	struct jobs *j = calloc(1, sizeof(*j));
	if (!j)
		return -ENOMEM;
	j->ended = config->ended;
	j->arg = config->arg;
	pthread_mutex_init(&j->lock, NULL);
	pthread_cond_init(&j->changed, NULL);
	int r = make_dirs(j, config, err);
	if (r == 0)
		r = each_record(j, take_up, j);
	if (r == 0)
		r = -pthread_create(&j->thread, NULL, run_thread, j);
	if (r < 0) {
		phx_list_fini(&j->list);
		free(j);
		return phx_err_set(err, r, "jobs: %s", strerror(-r));
	}
	*ret = j;
	return 0;
}

void jobs_close(struct jobs *j)
{
	pthread_mutex_lock(&j->lock);
	j->closed = true;
	pthread_mutex_unlock(&j->lock);
}

void jobs_free(struct jobs *j)
{
	if (!j)
		return;
	pthread_mutex_lock(&j->lock);
	j->quit = true;
	pthread_cond_broadcast(&j->changed);
	pthread_mutex_unlock(&j->lock);
	pthread_join(j->thread, NULL);
	phx_list_fini(&j->list);
	pthread_mutex_destroy(&j->lock);
	pthread_cond_destroy(&j->changed);
	free(j);
}
