/* Runs Slurm's commands: argument vectors, our formats, a time-out. Called on a
 * thread of its own (phxd's phxd/slurm.c). See slurm.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "slurm/internal.h"

enum { OUTPUT_MAX = 64 << 20, ENDS_MAX = 200, ID_SIZE = 32 };

void phx_slurm_report_fini(struct phx_slurm_report *r)
{
	PHX_LIST_EACH(struct phx_engine_job, j, &r->jobs)
		phx_record_fini(&phx_engine_job_record, j);
	phx_list_fini(&r->jobs);
	phx_list_fini(&r->nodes);
	phx_list_fini(&r->partitions);
}

/* ---- whose configuration ---- */

void phx_slurm_conf_path(const char *dir, const char *slurm_conf, char ret[PATH_MAX])
{
	const char *slash = strrchr(slurm_conf, '/');
	if (!slurm_conf[0] || !strcmp(slurm_conf, PHX_SLURM_CONF_DEFAULT))
		snprintf(ret, PATH_MAX, "%s", PHX_SLURM_CONF_DEFAULT);
	else if (slash)
		snprintf(ret, PATH_MAX, "%s%s", dir, slash);
	else
		snprintf(ret, PATH_MAX, "%s/%s.conf", dir, slurm_conf);
}

/* `fd`: what is at `path`, opened as itself. */
static int check_owned(int fd, const char *path, bool last, struct phx_err *err)
{
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (S_ISLNK(st.st_mode))
		return phx_err_set(err, -ELOOP, "%s is a link now, and was none a moment ago",
				   path);
	if (last && !S_ISREG(st.st_mode))
		return phx_err_set(err, -EPERM, "%s is no regular file", path);
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return phx_err_set(err, -EPERM,
				   "%s is not root's: whoever can change it decides what Slurm's "
				   "commands load",
				   path);
	/* in a directory with the sticky bit nobody can put another file in its place */
	bool sticky = S_ISDIR(st.st_mode) && (st.st_mode & S_ISVTX);
	if ((st.st_mode & (S_IWGRP | S_IWOTH)) && !sticky)
		return phx_err_set(err, -EPERM,
				   "%s may be written by others than root: they would decide what "
				   "Slurm's commands load",
				   path);
	return 0;
}

/* From the root down, each part as itself and not by what it leads to. */
static int check_parts(char *real, struct phx_err *err)
{
	PHX_AUTO_CLOSE int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r = check_owned(fd, "/", false, err);
	for (char *part = real + 1, *end; r == 0 && part[0]; part = end[0] ? end + 1 : end) {
		end = part + strcspn(part, "/");
		char was = *end;
		*end = '\0';
		int next = openat(fd, part, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		r = check_owned(next, real, !was, err);
		*end = was;
		phx_close_fd(&fd);
		fd = next;
	}
	return r;
}

int phx_slurm_conf_find(const char *path, char ret[PATH_MAX], struct phx_err *err)
{
	char real[PATH_MAX];
	if (!realpath(path, real))
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	int r = check_parts(real, err);
	if (r == 0)
		memcpy(ret, real, sizeof(real));
	return r;
}

/* ---- commands ---- */

static bool is_command(const char *name)
{
	static const char *const commands[] = {"sinfo", "squeue", "scontrol", "scancel"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(commands); i++)
		if (!strcmp(name, commands[i]))
			return true;
	return false;
}

int phx_slurm_run(const struct phx_slurm *slurm, const char *const *argv,
		  struct phx_run_result *ret, struct phx_err *err)
{
	char conf[PATH_MAX + 16];
	const char *const env[] = {conf, "SLURM_TIME_FORMAT=%s", "LC_ALL=C", NULL};
	struct phx_run job = {.argv = argv,
			      .env_add = env,
			      .as = &slurm->as,
			      .timeout_ms = slurm->timeout_ms,
			      .output_max = OUTPUT_MAX};
	if (!is_command(argv[0]))
		return phx_err_set(err, -EPERM, "%s: is no command of Slurm's", argv[0]);
	if (slurm->as.uid == 0)
		return phx_err_set(err, -EPERM, "%s: Slurm's commands never run as root", argv[0]);
	snprintf(conf, sizeof(conf), "SLURM_CONF=%s", slurm->conf);
	return phx_run_check(&job, ret, err);
}

static int run(const struct phx_slurm *slurm, const char *const *argv, struct phx_run_result *ret,
	       struct phx_err *err)
{
	return slurm->run ? slurm->run(slurm->arg, slurm->conf, argv, ret, err)
			  : phx_slurm_run(slurm, argv, ret, err);
}

static int ask_nodes(const struct phx_slurm *slurm, struct phx_slurm_report *ret,
		     struct phx_err *err)
{
	static const char *const argv[] = {"sinfo", "-a", "-h", "-N", "-O", PHX_SLURM_NODE_FORMAT,
					   NULL};
	PHX_AUTO(phx_run_result_fini) struct phx_run_result out = {0};
	int r = run(slurm, argv, &out, err);
	return r < 0 ? r : phx_slurm_parse_nodes(out.out, ret, err);
}

static int ask_jobs(const struct phx_slurm *slurm, struct phx_list *ret, struct phx_err *err)
{
	static const char *const argv[] = {
		"squeue", "-a", "-h", "-r", "--noconvert", "-O", PHX_SLURM_JOB_FORMAT, NULL};
	PHX_AUTO(phx_run_result_fini) struct phx_run_result out = {0};
	int r = run(slurm, argv, &out, err);
	return r < 0 ? r : phx_slurm_parse_jobs(out.out, ret, err);
}

/* ---- a report ---- */

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct phx_engine_node *)a)->name,
		      ((const struct phx_engine_node *)b)->name);
}

/* squeue prints those that wait in the order of their priority. */
static void drop_waiting(struct phx_list *jobs)
{
	uint32_t n_waiting = 0, kept = 0;
	for (uint32_t i = 0; i < jobs->n; i++) {
		struct phx_engine_job *j = PHX_LIST_AT(jobs, struct phx_engine_job, i);
		bool waits = j->state == PHX_ENGINE_JOB_WAITING || j->state == PHX_ENGINE_JOB_HELD;
		if (waits && n_waiting++ >= PHX_SLURM_WAITING_MAX)
			phx_record_fini(&phx_engine_job_record, j);
		else
			*PHX_LIST_AT(jobs, struct phx_engine_job, kept++) = *j;
	}
	jobs->n = kept;
}

/* Sorted, and each once. */
static void drop_same(struct phx_list *nodes)
{
	uint32_t kept = 0;
	if (nodes->n)
		qsort(nodes->items, nodes->n, sizeof(struct phx_engine_node), by_name);
	for (uint32_t i = 0; i < nodes->n; i++) {
		struct phx_engine_node *n = PHX_LIST_AT(nodes, struct phx_engine_node, i);
		if (!kept || by_name(n, PHX_LIST_AT(nodes, struct phx_engine_node, kept - 1)))
			*PHX_LIST_AT(nodes, struct phx_engine_node, kept++) = *n;
	}
	nodes->n = kept;
}

static int check_once(const struct phx_slurm_report *r, struct phx_err *err)
{
	for (uint32_t i = 1; i < r->jobs.n; i++)
		if (!phx_slurm_by_id(PHX_LIST_AT(&r->jobs, struct phx_engine_job, i - 1),
				     PHX_LIST_AT(&r->jobs, struct phx_engine_job, i)))
			return phx_err_set(err, -EPROTO, "squeue: job %s is listed twice",
					   PHX_LIST_AT(&r->jobs, struct phx_engine_job, i)->id);
	return 0;
}

struct place {
	const char *node, *job;
};

static int by_node(const void *a, const void *b)
{
	return strcmp(((const struct place *)a)->node, ((const struct place *)b)->node);
}

/* A node is given as a whole: of parts of nodes nobody here knows. */
static int check_whole(const struct phx_list *jobs, struct phx_err *err)
{
	PHX_AUTO(phx_list_fini) struct phx_list places = {0};
	PHX_LIST_EACH(struct phx_engine_job, j, jobs)
		PHX_LIST_EACH(struct phx_engine_host, h, &j->hosts) {
			struct place *p = phx_list_push(&places, sizeof(*p));
			if (!p)
				return -ENOMEM;
			*p = (struct place){h->node, j->id};
		}
	if (places.n)
		qsort(places.items, places.n, sizeof(struct place), by_node);
	for (uint32_t i = 1; i < places.n; i++) {
		const struct place *p = PHX_LIST_AT(&places, struct place, i);
		if (!by_node(p - 1, p))
			return phx_err_set(err, -EPROTO,
					   "jobs %s and %s are both on %s: give whole nodes "
					   "(OverSubscribe=EXCLUSIVE)",
					   p[-1].job, p->job, p->node);
	}
	return 0;
}

int phx_slurm_ask(const struct phx_slurm *slurm, struct phx_slurm_report *ret, struct phx_err *err)
{
	struct phx_slurm_report got = {0};
	/* in this order: a node that is closed now gets no job afterwards, so that the jobs told of
	 * are all it has */
	int r = ask_nodes(slurm, &got, err);
	r = r ? r : ask_jobs(slurm, &got.jobs, err);
	if (r == 0) {
		drop_waiting(&got.jobs);
		if (got.jobs.n)
			qsort(got.jobs.items, got.jobs.n, sizeof(struct phx_engine_job),
			      phx_slurm_by_id);
		drop_same(&got.nodes);
		drop_same(&got.partitions);
		r = check_once(&got, err);
		r = r ? r : check_whole(&got.jobs, err);
	}
	if (r < 0)
		phx_slurm_report_fini(&got);
	else
		*ret = got;
	return r;
}

static int ask_ends_of(const struct phx_slurm *slurm, const char *ids, struct phx_list *jobs,
		       struct phx_err *err)
{
	const char *const argv[] = {"squeue", "-a",  "-h", "-r",
				    "-t",     "all", "-O", PHX_SLURM_END_FORMAT,
				    "-j",     ids,   NULL};
	PHX_AUTO(phx_run_result_fini) struct phx_run_result out = {0};
	int r = run(slurm, argv, &out, err);
	return r < 0 ? r : phx_slurm_parse_ends(out.out, jobs, err);
}

int phx_slurm_ask_ends(const struct phx_slurm *slurm, struct phx_list *jobs, struct phx_err *err)
{
	int r = 0;
	for (uint32_t i = 0; r == 0 && i < jobs->n;) {
		PHX_AUTO(phx_buf_fini) struct phx_buf ids = {0};
		uint32_t last = i;
		for (unsigned n = 0; i < jobs->n && n < ENDS_MAX; i++) {
			const struct phx_engine_job *j =
				PHX_LIST_AT(jobs, struct phx_engine_job, i);
			if (j->state >= PHX_ENGINE_JOB_DONE)
				phx_buf_addf(&ids, "%s%s", n++ ? "," : "", j->id);
		}
		if (ids.n && i > last)
			r = ask_ends_of(slurm, ids.data, jobs, err);
	}
	return r;
}

/* ---- orders ---- */

int phx_slurm_tell(const struct phx_slurm *slurm, const struct phx_engine_order *o,
		   struct phx_err *err)
{
	char node[PHX_NAME_MAX + 16], partition[PHX_NAME_MAX + 16], job[PHX_NAME_MAX + 16];
	const char *const close[] = {"scontrol",
				     "update",
				     node,
				     "state=drain",
				     "reason=" PHX_SLURM_REASON_MARK " not given to this RE",
				     NULL};
	const char *const open[] = {"scontrol", "update", node, "state=resume", NULL};
	const char *const requeue[] = {"scontrol", "requeue", o->target, NULL};
	const char *const cancel[] = {"scancel", o->target, NULL};
	const char *const expedite[] = {"scontrol", "update", job, "starttime=now", NULL};
	const char *const refuse[] = {"scontrol", "update", partition, "state=drain", NULL};
	const char *const admit[] = {"scontrol", "update", partition, "state=up", NULL};
	const char *const *const argv[] = {
		[PHX_ENGINE_CLOSE] = close,       [PHX_ENGINE_OPEN] = open,
		[PHX_ENGINE_REQUEUE] = requeue,   [PHX_ENGINE_CANCEL] = cancel,
		[PHX_ENGINE_EXPEDITE] = expedite, [PHX_ENGINE_REFUSE] = refuse,
		[PHX_ENGINE_ADMIT] = admit};
	PHX_AUTO(phx_run_result_fini) struct phx_run_result out = {0};
	snprintf(node, sizeof(node), "nodename=%s", o->target);
	snprintf(partition, sizeof(partition), "partitionname=%s", o->target);
	snprintf(job, sizeof(job), "jobid=%s", o->target);
	return run(slurm, argv[o->kind], &out, err);
}
