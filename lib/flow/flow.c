/* Workflows as they were written, and their totals: see flow.h. Pure. */
#include "flow/flow.h"

#include <errno.h>
#include <string.h>

static const char *const when_failed_names[] = {"stop", "go_on", "hold"};
const struct phx_enum phx_flow_when_failed_names = {"what a failure does", when_failed_names,
						    PHX_ARRAY_SIZE(when_failed_names)};

void phx_flow_fini(struct phx_flow *f)
{
	if (!f)
		return;
	free(f->text);
	free(f->tasks);
	free(f->files);
	free(f->refs);
	*f = (struct phx_flow){0};
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int count_kinds(const struct phx_flow *f, uint32_t *ret)
{
	PHX_AUTO_FREE const char **names = calloc(f->n_tasks, sizeof(*names));
	if (!names)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->n_tasks; i++)
		names[i] = phx_flow_text(f, f->tasks[i].name);
	qsort(names, f->n_tasks, sizeof(*names), by_text);
	*ret = 0;
	for (uint32_t i = 0; i < f->n_tasks; i++)
		*ret += i == 0 || strcmp(names[i - 1], names[i]) != 0;
	return 0;
}

static int find_widest(const struct phx_flow *f, uint32_t *ret)
{
	PHX_AUTO_FREE uint32_t *width = calloc(f->n_levels, sizeof(*width));
	if (!width)
		return -ENOMEM;
	*ret = 0;
	for (uint32_t i = 0; i < f->n_tasks; i++) {
		uint32_t n = ++width[f->tasks[i].level];
		*ret = n > *ret ? n : *ret;
	}
	return 0;
}

static int64_t run_ms(const struct phx_flow_task *t)
{
	return t->run_ms < 0 ? 0 : t->run_ms;
}

/* For each task the end of the longest path to it by time, and the task before it on that path.
 * Visits tasks level by level, for which they are sorted first. */
static int measure_ways(const struct phx_flow *f, int64_t *end_ms, uint32_t *before)
{
	PHX_AUTO_FREE uint32_t *first = calloc(f->n_levels + 1, sizeof(*first)),
			       *order = calloc(f->n_tasks, sizeof(*order));
	if (!first || !order)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->n_tasks; i++)
		first[f->tasks[i].level + 1]++;
	for (uint32_t l = 0; l < f->n_levels; l++)
		first[l + 1] += first[l];
	for (uint32_t i = 0; i < f->n_tasks; i++)
		order[first[f->tasks[i].level]++] = i;
	for (uint32_t k = 0; k < f->n_tasks; k++) {
		uint32_t i = order[k];
		int64_t begin_ms = 0;
		before[i] = PHX_FLOW_NONE;
		PHX_FLOW_EACH(p, f, i, PHX_FLOW_PARENTS)
		{
			if (before[i] == PHX_FLOW_NONE || end_ms[*p] > begin_ms) {
				begin_ms = end_ms[*p];
				before[i] = *p;
			}
		}
		end_ms[i] = begin_ms + run_ms(&f->tasks[i]);
	}
	return 0;
}

int phx_flow_longest(const struct phx_flow *f, uint32_t **ret, uint32_t *ret_n)
{
	PHX_AUTO_FREE int64_t *end_ms = calloc(f->n_tasks, sizeof(*end_ms));
	PHX_AUTO_FREE uint32_t *before = calloc(f->n_tasks, sizeof(*before)), *way = NULL;
	uint32_t last = 0, n = 0;
	int r = end_ms && before ? measure_ways(f, end_ms, before) : -ENOMEM;
	if (r < 0)
		return r;
	for (uint32_t i = 1; i < f->n_tasks; i++)
		last = end_ms[i] > end_ms[last] ? i : last;
	for (uint32_t i = last; i != PHX_FLOW_NONE; i = before[i])
		n++;
	way = calloc(n, sizeof(*way));
	if (!way)
		return -ENOMEM;
	for (uint32_t i = last, k = n; i != PHX_FLOW_NONE; i = before[i])
		way[--k] = i;
	*ret = PHX_TAKE(way);
	*ret_n = n;
	return 0;
}

int phx_flow_sum(const struct phx_flow *f, struct phx_flow_sums *ret)
{
	struct phx_flow_sums s = {0};
	PHX_AUTO_FREE uint32_t *way = NULL;
	uint32_t n_way;
	int r = count_kinds(f, &s.n_kinds);
	r = r < 0 ? r : find_widest(f, &s.widest);
	r = r < 0 ? r : phx_flow_longest(f, &way, &n_way);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < n_way; i++)
		s.longest_ms += run_ms(&f->tasks[way[i]]);
	for (uint32_t i = 0; i < f->n_tasks; i++) {
		const struct phx_flow_task *t = &f->tasks[i];
		s.n_dependencies += t->at[PHX_FLOW_PARENTS + 1] - t->at[PHX_FLOW_PARENTS];
		s.n_unknown += t->run_ms < 0;
		s.work_ms += run_ms(t);
	}
	for (uint32_t i = 0; i < f->n_files; i++)
		s.n_bytes +=
			f->files[i].size_bytes * (f->files[i].n_readers + f->files[i].n_writers);
	*ret = s;
	return 0;
}
