/* Records of tasks and their checks: see task.h. Called by the agent (orders), and by the head
 * (answers). Pure. */
#include "types/task.h"

#include <errno.h>
#include <string.h>

#include "base/nodeset.h"

static const char *const outcomes[] = {"exited",  "killed",    "overdue", "unstarted",
				       "missing", "cancelled", "lost"};
const struct phx_enum phx_task_outcome_names = {"outcome of a task", outcomes,
						PHX_ARRAY_SIZE(outcomes)};

PHX_RECORD_TABLE(phx_task, PHX_TASK_FIELDS);
PHX_RECORD_TABLE(phx_task_cancel, PHX_TASK_CANCEL_FIELDS);
PHX_RECORD_TABLE(phx_task_order, PHX_TASK_ORDER_FIELDS);
PHX_RECORD_TABLE(phx_task_result, PHX_TASK_RESULT_FIELDS);
PHX_RECORD_TABLE(phx_task_results, PHX_TASK_RESULTS_FIELDS);
PHX_RECORD_TABLE(phx_task_ask, PHX_TASK_ASK_FIELDS);
PHX_RECORD_TABLE(phx_task_output, PHX_TASK_OUTPUT_FIELDS);

static bool is_digest_or_none(const char *s)
{
	return !s[0] || phx_is_sha256(s);
}

/* ---- orders ---- */

static int check_paths(const struct phx_list *paths, const char *what, struct phx_err *err)
{
	if (paths->n > PHX_TASK_PATHS_MAX)
		return phx_err_set(err, -E2BIG, "%s: there are %u files, and can be at most %d",
				   what, paths->n, PHX_TASK_PATHS_MAX);
	for (uint32_t i = 0; i < paths->n; i++)
		if (phx_beneath_check(phx_text_at(paths, i), err) < 0)
			return phx_err_prefix(err, -EINVAL, "%s", what);
	return 0;
}

static int check_words(const struct phx_task *t, struct phx_err *err)
{
	if (!t->argv.n || !phx_text_at(&t->argv, 0)[0])
		return phx_err_set(err, -EINVAL, "argv: no program");
	for (uint32_t i = 0; i < t->env.n; i++) {
		const char *word = phx_text_at(&t->env, i), *is = strchr(word, '=');
		if (!is || is == word)
			return phx_err_set(err, -EINVAL, "env: '%.80s' must be NAME=value", word);
	}
	return 0;
}

static int check_nodes(const struct phx_task *t, struct phx_err *err)
{
	struct phx_nodeset set = {0};
	int r = t->nodes ? phx_nodeset_parse(t->nodes, NULL, NULL, &set, err) : 0;
	if (r == 0 && t->rank >= (t->nodes ? set.n : 1))
		r = phx_err_set(err, -EINVAL, "rank: must be less than the number of nodes");
	phx_nodeset_fini(&set);
	return r == -EINVAL ? phx_err_prefix(err, r, "nodes") : r;
}

int phx_task_check(const struct phx_task *t, struct phx_err *err)
{
	int r = check_words(t, err);
	r = r ? r : check_nodes(t, err);
	if (r == 0 && t->dir[0] && phx_beneath_check(t->dir, err) < 0)
		r = phx_err_prefix(err, -EINVAL, "dir");
	r = r ? r : check_paths(&t->outputs, "outputs", err);
	r = r ? r : check_paths(&t->inputs, "inputs", err);
	if (r == 0 && t->limit_ms < 0)
		r = phx_err_set(err, -EINVAL, "limit_ms: must not be negative");
	if (r == 0 && (!is_digest_or_none(t->had_sha256) || (t->had_sha256[0] && !t->outputs.n)))
		r = phx_err_set(err, -EINVAL, "had_sha256: must be the SHA-256 of its outputs");
	return r;
}

int phx_task_order_check(const struct phx_task_order *o, struct phx_err *err)
{
	if (o->tasks.n > PHX_TASKS_MAX || o->cancels.n > PHX_TASKS_MAX)
		return phx_err_set(err, -E2BIG, "there are more than %d tasks", PHX_TASKS_MAX);
	if (!o->tasks.n)
		return 0; /* cancels need nothing of the below */
	if (!phx_name_valid(o->re))
		return phx_err_set(err, -EINVAL, "re: must be a name");
	if (!o->uid || !o->gid || !phx_id_valid(o->uid) || !phx_id_valid(o->gid))
		return phx_err_set(err, -EPERM, "tasks never run as root");
	if (o->data[0] && o->data[0] != '/')
		return phx_err_set(err, -EINVAL, "data: must be an absolute path");
	return 0;
}

/* ---- answers ---- */

static bool is_printable(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return false;
	return true;
}

static int check_row(const struct phx_task_result *w, struct phx_err *err)
{
	bool ran = w->begin_ms || w->end_ms, good = w->outcome == PHX_TASK_EXITED && !w->status;
	if (w->status > 255)
		return phx_err_set(err, -EINVAL, "status: must be 0 to 255");
	if (w->begin_ms < 0 || w->end_ms < w->begin_ms)
		return phx_err_set(err, -EINVAL, "begin_ms, end_ms: it ended before it began");
	if (!is_digest_or_none(w->outputs_sha256) || (w->outputs_sha256[0] && !good))
		return phx_err_set(err, -EINVAL,
				   "outputs_sha256: must be 64 hexadecimal digits, and of a task "
				   "that ended well");
	if (!is_digest_or_none(w->printed_sha256))
		return phx_err_set(err, -EINVAL, "printed_sha256: must be 64 hexadecimal digits");
	if (w->was_there && (!good || !w->outputs_sha256[0]))
		return phx_err_set(err, -EINVAL, "was_there: needs outputs and their SHA-256");
	if (!ran && !w->was_there &&
	    (w->outcome == PHX_TASK_EXITED || w->outcome == PHX_TASK_KILLED ||
	     w->outcome == PHX_TASK_OVERDUE || w->outcome == PHX_TASK_MISSING))
		return phx_err_set(err, -EINVAL, "begin_ms: it never began");
	return is_printable(w->text) ? 0 : phx_err_set(err, -EINVAL, "text: must be printable");
}

int phx_task_results_check(const struct phx_task_results *r, struct phx_err *err)
{
	if (r->rows.n > PHX_TASK_ROWS_MAX)
		return phx_err_set(err, -E2BIG, "there are %u rows, and can be at most %d",
				   r->rows.n, PHX_TASK_ROWS_MAX);
	for (uint32_t i = 0; i < r->rows.n; i++) {
		int why = check_row(PHX_LIST_AT(&r->rows, struct phx_task_result, i), err);
		if (why < 0)
			return phx_err_prefix(err, why, "rows[%u]", i);
	}
	return 0;
}

int phx_task_output_check(const struct phx_task_output *o, struct phx_err *err)
{
	size_t n = o->hex ? strlen(o->hex) : 0;
	if (!is_printable(o->error))
		return phx_err_set(err, -EINVAL, "error: must be printable");
	if (o->size_bytes > INT64_MAX)
		return phx_err_set(err, -EINVAL, "size_bytes: is too large");
	if (n > 2 * PHX_TASK_PIECE_MAX)
		return phx_err_set(err, -E2BIG, "hex: has more than %u bytes", PHX_TASK_PIECE_MAX);
	if (n % 2 || n / 2 > o->size_bytes || (n && strspn(o->hex, "0123456789abcdef") != n))
		return phx_err_set(err, -EINVAL,
				   "hex: must be bytes of what is kept, two digits "
				   "each");
	return 0;
}
