/* See job_env.h. Called by job_run.c. Does not pretend to be another batch system: of other
 * systems' variables it sets only those that name a host file. */
#include "agent/job_env.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/account.h"
#include "base/file.h"
#include "base/nodeset.h"

static const char *const hostfile_names[] = {JOB_ENV_NODEFILES};

static void add_word(struct job_env *e, const char *name, const char *value)
{
	phx_buf_addf(&e->words, "%s=%s", name, value);
	phx_buf_add(&e->words, "", 1);
}

/* Has the job's user set `name` (or "name=...") in word number `from` or later? */
static bool is_set(const struct phx_job *job, uint32_t from, const char *name)
{
	size_t n = strcspn(name, "=");
	for (uint32_t i = from; i < job->env.n; i++)
		if (!strncmp(phx_text_at(&job->env, i), name, n) &&
		    phx_text_at(&job->env, i)[n] == '=')
			return true;
	return false;
}

/* Sets a variable that the job's user has not set. */
static void add_default(struct job_env *e, const struct phx_job *job, const char *name,
			const char *value)
{
	if (!is_set(job, 0, name))
		add_word(e, name, value);
}

static void add_number(struct job_env *e, const char *name, uint64_t value)
{
	char text[24];
	snprintf(text, sizeof(text), "%" PRIu64, value);
	add_word(e, name, text);
}

static int fold_nodes(const struct phx_job *job, char **ret_folded, char **ret_lines)
{
	struct phx_nodeset set = {0};
	PHX_AUTO(phx_buf_fini) struct phx_buf lines = {0};
	int r = 0;
	PHX_LIST_EACH(struct phx_job_part, p, &job->parts) {
		r = r ? r : phx_nodeset_add(&set, p->node);
		phx_buf_addf(&lines, "%s\n", p->node);
	}
	*ret_folded = r == 0 ? phx_nodeset_fold(&set) : NULL;
	*ret_lines = phx_buf_take(&lines);
	phx_nodeset_fini(&set);
	return *ret_folded && *ret_lines ? 0 : -ENOMEM;
}

static void add_user(struct job_env *e, const struct phx_job *job)
{
	PHX_AUTO_FREE char *texts = NULL;
	struct passwd pw;
	bool known = phx_user_numbered(job->uid, &pw, &texts) == 0;
	add_default(e, job, "HOME", known ? pw.pw_dir : "/tmp");
	add_default(e, job, "USER", known ? pw.pw_name : job->user);
	add_default(e, job, "LOGNAME", known ? pw.pw_name : job->user);
}

static int rank_of(const struct phx_job *job, const char *node)
{
	for (uint32_t i = 0; i < job->parts.n; i++)
		if (phx_str_eq(PHX_LIST_AT(&job->parts, struct phx_job_part, i)->node, node))
			return (int)i;
	return -EINVAL;
}

static int make_list(struct job_env *e)
{
	size_t n = 0;
	for (const char *p = e->words.data; !e->words.failed && p < e->words.data + e->words.n;
	     p += strlen(p) + 1)
		n++;
	e->list = e->words.failed ? NULL : calloc(n + 1, sizeof(*e->list));
	if (!e->list)
		return -ENOMEM;
	n = 0;
	for (char *p = e->words.data; p < e->words.data + e->words.n; p += strlen(p) + 1)
		e->list[n++] = p;
	return 0;
}

int job_env_make(const struct phx_job *job, const char *node, const char *file,
		 const struct job_env_dirs *dirs, struct job_env *ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *folded = NULL;
	PHX_AUTO_FREE char *lines = NULL;
	int rank = rank_of(job, node);
	if (rank < 0)
		return phx_err_set(err, rank, "job %" PRIu64 ": no part of it is for %s", job->id,
				   node);
	int r = fold_nodes(job, &folded, &lines);
	r = r ? r : phx_file_write(file, lines, strlen(lines), 0644, err);
	if (r < 0)
		return r;
	add_default(ret, job, "PATH", "/usr/local/bin:/usr/bin:/bin");
	add_user(ret, job);
	add_number(ret, "PHX_JOB_ID", job->id);
	add_number(ret, "PHX_JOB_RUN", job->kills);
	add_number(ret, "PHX_JOB_RANK", (uint64_t)rank);
	add_word(ret, "PHX_JOB_NODES", folded);
	add_word(ret, "PHX_JOB_DIR", dirs->own);
	if (dirs->scratch)
		add_word(ret, "PHX_SCRATCH", dirs->scratch);
	if (job->array) {
		add_number(ret, "PHX_ARRAY_JOB", job->array);
		add_number(ret, "PHX_ARRAY_INDEX", job->array_index);
	}
	if (job->re[0])
		add_word(ret, "PHX_JOB_RE", job->re);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(hostfile_names); i++)
		add_default(ret, job, hostfile_names[i], file);
	for (uint32_t i = 0; i < job->env.n; i++)
		if (!is_set(job, i + 1, phx_text_at(&job->env, i)))
			phx_buf_add(&ret->words, phx_text_at(&job->env, i),
				    strlen(phx_text_at(&job->env, i)) + 1);
	return make_list(ret);
}

void job_env_fini(struct job_env *e)
{
	phx_buf_fini(&e->words);
	free(e->list);
	e->list = NULL;
}
