/* Arrays: jobs that differ only in their index. Each member is a job with a number of its own, and
 * members have consecutive numbers. The first member stores the words, script, environment and
 * files for all. If only some may run at a time, the others are throttled: queued, but held back in
 * the ledger until a member ends. Called on submission, and by the API. Pure. */
#include "job/internal.h"

#include <errno.h>
#include <string.h>

enum { INDEX_MAX = 1000000000, MEMBERS_MAX = 10000 };

const struct phx_job *phx_job_words(const struct phx_state *s, const struct phx_job *j)
{
	const struct phx_job *first =
		j->array && j->array != j->id ? phx_state_job(s, j->array) : NULL;
	return first ? first : j;
}

/* ---- indices ---- */

/* Parses "N", "N-M" or "N-M:S". */
static int parse_row(char *text, struct phx_index_row *ret)
{
	uint64_t from = 0, to, step = 1;
	char *dash = strchr(text, '-'), *colon = dash ? strchr(dash, ':') : NULL;
	if (dash)
		*dash = '\0';
	if (colon)
		*colon = '\0';
	bool good = phx_u64_parse(text, 0, INDEX_MAX, &from) == 0;
	to = from;
	good = good && (!dash || phx_u64_parse(dash + 1, from, INDEX_MAX, &to) == 0) &&
		(!colon || phx_u64_parse(colon + 1, 1, INDEX_MAX, &step) == 0);
	*ret = (struct phx_index_row){(uint32_t)from, (uint32_t)to, (uint32_t)step};
	return good ? 0 : -EINVAL;
}

static uint32_t row_size(const struct phx_index_row *row)
{
	return (row->to - row->from) / row->step + 1;
}

static int add_indices(struct phx_list *all, const struct phx_index_row *row, struct phx_err *err)
{
	if (row_size(row) > MEMBERS_MAX - all->n)
		return phx_err_set(err, -E2BIG, "array: it can have at most %d members",
				   MEMBERS_MAX);
	for (uint64_t index = row->from; index <= row->to; index += row->step) {
		uint32_t *to = phx_list_push(all, sizeof(*to));
		if (!to)
			return -ENOMEM;
		*to = (uint32_t)index;
	}
	return 0;
}

static int parse_indices(char *text, struct phx_list *all, struct phx_err *err)
{
	static const char right[] = "array: must be indices or FROM-TO[:STEP], with commas between "
				    "them, and maybe %AT_ONCE behind them";
	int r = 0;
	for (char *comma, *word = text; r == 0 && word; word = comma) {
		struct phx_index_row row;
		comma = strchr(word, ',');
		if (comma)
			*comma++ = '\0';
		if (parse_row(word, &row) < 0)
			return phx_err_set(err, -EINVAL, "%s (an index is at most %d)", right,
					   INDEX_MAX);
		r = add_indices(all, &row, err);
	}
	return r;
}

static int compare_indices(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

/* Makes rows as long as possible from sorted indices; a repeated index counts once. */
static int make_rows(const struct phx_list *all, struct phx_list *rows)
{
	struct phx_index_row *row = NULL;
	for (uint32_t i = 0; i < all->n; i++) {
		uint32_t index = *PHX_LIST_AT(all, uint32_t, i), step = row ? index - row->to : 0;
		if (row && !step)
			continue;
		if (row && (row->from == row->to || row->step == step)) {
			row->to = index;
			row->step = step;
			continue;
		}
		row = phx_list_push(rows, sizeof(*row));
		if (!row)
			return -ENOMEM;
		*row = (struct phx_index_row){index, index, 1};
	}
	return 0;
}

int phx_array_parse(const char *text, struct phx_list *ret_rows, uint32_t *ret_at_once,
		    struct phx_err *err)
{
	PHX_AUTO_FREE char *copy = strdup(text);
	PHX_AUTO(phx_list_fini) struct phx_list all = {0};
	uint64_t at_once = 0;
	if (!copy)
		return -ENOMEM;
	char *percent = strchrnul(copy, '%');
	int r = 0;
	if (*percent && phx_u64_parse(percent + 1, 1, UINT32_MAX, &at_once) < 0)
		r = phx_err_set(
			err, -EINVAL,
			"array: behind %% must be a number: how many members run at a time");
	*percent = '\0';
	r = r ? r : parse_indices(copy, &all, err);
	if (r < 0)
		return r;
	qsort(all.items, all.n, sizeof(uint32_t), compare_indices);
	*ret_at_once = (uint32_t)at_once;
	return make_rows(&all, ret_rows);
}

/* The event's rows. An event of an older journal has a single row in other fields; it is put into
 * `one`. */
static struct phx_list rows_of(const struct phx_event_job_submit *p, struct phx_index_row *one)
{
	*one = (struct phx_index_row){p->array_from, p->array_to, p->array_step};
	return p->array_rows.n ? p->array_rows
			       : (struct phx_list){.items = one, .n = p->array_step != 0};
}

bool phx_array_is(const struct phx_event_job_submit *p)
{
	return p->array_rows.n || p->array_step;
}

int phx_array_check(const struct phx_event_job_submit *p, struct phx_err *err)
{
	struct phx_index_row one;
	struct phx_list rows = rows_of(p, &one);
	const struct phx_index_row *last = NULL;
	PHX_LIST_EACH(struct phx_index_row, row, &rows) {
		if (row->to < row->from || !row->step)
			return phx_err_set(err, -EINVAL,
					   "array: its last index lies before the first");
		if (row->to > INDEX_MAX)
			return phx_err_set(err, -EINVAL, "array: an index is at most %d",
					   INDEX_MAX);
		if (last && row->from <= last->to)
			return phx_err_set(
				err, -EINVAL,
				"array: each row of indices must lie behind the one before");
		last = row;
	}
	return 0;
}

uint32_t phx_array_size(const struct phx_event_job_submit *p)
{
	struct phx_index_row one;
	struct phx_list rows = rows_of(p, &one);
	uint32_t n = 0;
	PHX_LIST_EACH(struct phx_index_row, row, &rows)
		n += row_size(row);
	return n ? n : 1;
}

/* ---- members ---- */

/* Adds member `i` of the array whose first member is at place `at`. */
static int add_member(struct phx_list *jobs, uint32_t at, uint32_t i)
{
	struct phx_job *j = phx_list_push(jobs, sizeof(*j));
	if (!j)
		return -ENOMEM;
	*j = *PHX_LIST_AT(jobs, struct phx_job, at);
	j->argv = j->env = j->stage_in = j->stage_out = j->parts = (struct phx_list){0};
	j->script = j->why = NULL;
	j->throttled = i >= j->array_next;
	j->array_n = j->array_open = j->array_next = 0;
	j->words_stay = false;
	j->id += i;
	return 0;
}

int phx_array_make(struct phx_apply *a, const struct phx_event_job_submit *p)
{
	struct phx_list *jobs = &a->s->jobs;
	struct phx_index_row one;
	struct phx_list rows = rows_of(p, &one);
	uint32_t n = phx_array_size(p), at = jobs->n - 1, i = 0;
	struct phx_job *first = PHX_LIST_AT(jobs, struct phx_job, at);
	first->array = first->id;
	first->array_n = first->array_open = n;
	first->array_next = p->array_at_once ? p->array_at_once : n;
	/* in older journals the words stopped counting when the first member ended: a replay must
	 * do the same */
	first->words_stay = p->array_rows.n > 0;
	PHX_LIST_EACH(struct phx_index_row, row, &rows)
		for (uint64_t index = row->from; index <= row->to; index += row->step, i++) {
			if (i && add_member(jobs, at, i) < 0)
				return -ENOMEM;
			PHX_LIST_AT(jobs, struct phx_job, at + i)->array_index = (uint32_t)index;
		}
	return 0;
}
