/* Drafts of workflows: see draft.h. Called by the readers; does not check what it keeps. Pure. */
#include "flow/draft.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

#define TEXT_MAX ((size_t)1 << 30)
#define LINKS_MAX 100000000

void phx_flow_draft_fini(struct phx_flow_draft *d)
{
	phx_buf_fini(&d->text);
	phx_list_fini(&d->tasks);
	phx_list_fini(&d->links);
	phx_list_fini(&d->files);
}

int phx_flow_fail(const struct phx_flow_draft *d, uint32_t line, struct phx_err *err,
		  const char *fmt, ...)
{
	char text[PHX_ERR_TEXT_MAX];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	phx_utf8_repair(text);
	return phx_err_set(err, -EINVAL, "%s:%u: %s", d->what, line, text);
}

int phx_flow_draft_text(struct phx_flow_draft *d, const char *text, size_t n, uint32_t *ret,
			struct phx_err *err)
{
	if (d->text.n + n >= TEXT_MAX)
		return phx_err_set(err, -E2BIG, "%s: more than %zu bytes of names and commands",
				   d->what, TEXT_MAX);
	if (d->text.n == 0)
		phx_buf_add(&d->text, "", 1);
	size_t at = d->text.n;
	phx_buf_add(&d->text, text, n);
	phx_buf_add(&d->text, "", 1);
	if (d->text.failed)
		return phx_err_set(err, -ENOMEM, "%s: out of memory", d->what);
	*ret = (uint32_t)at;
	return 0;
}

struct phx_flow_task *phx_flow_draft_task(struct phx_flow_draft *d, uint32_t line,
					  struct phx_err *err)
{
	if (d->tasks.n == PHX_FLOW_TASKS_MAX) {
		phx_flow_fail(d, line, err, "more than %d tasks", PHX_FLOW_TASKS_MAX);
		return NULL;
	}
	struct phx_flow_task *t = phx_list_push(&d->tasks, sizeof(*t));
	if (!t)
		phx_err_set(err, -ENOMEM, "%s: out of memory", d->what);
	else
		*t = (struct phx_flow_task){.line = line, .nodes = 1, .run_ms = -1};
	return t;
}

static int add_link(struct phx_flow_draft *d, struct phx_flow_link link, struct phx_err *err)
{
	if (d->links.n == LINKS_MAX)
		return phx_flow_fail(d, link.line, err,
				     "more than %d words, files and parents of tasks", LINKS_MAX);
	struct phx_flow_link *l = phx_list_push(&d->links, sizeof(*l));
	if (!l)
		return phx_err_set(err, -ENOMEM, "%s: out of memory", d->what);
	*l = link;
	return 0;
}

int phx_flow_draft_link(struct phx_flow_draft *d, uint32_t task, enum phx_flow_link_kind kind,
			const char *text, size_t n, uint32_t line, struct phx_err *err)
{
	struct phx_flow_link link = {.task = task, .kind = kind, .line = line};
	int r = phx_flow_draft_text(d, text, n, &link.text, err);
	return r < 0 ? r : add_link(d, link, err);
}

int phx_flow_draft_order(struct phx_flow_draft *d, uint32_t child, uint32_t parent, uint32_t line,
			 struct phx_err *err)
{
	return add_link(d, (struct phx_flow_link){child, PHX_FLOW_LINK_ORDER, parent, line, 0},
			err);
}

void phx_flow_draft_size(struct phx_flow_draft *d, uint64_t size_bytes)
{
	PHX_LIST_AT(&d->links, struct phx_flow_link, d->links.n - 1)->size_bytes = size_bytes;
}

int phx_flow_draft_file(struct phx_flow_draft *d, const char *name, size_t n, uint64_t size_bytes,
			bool outside, uint32_t line, struct phx_err *err)
{
	struct phx_flow_file file = {.size_bytes = size_bytes, .outside = outside, .line = line};
	int r = phx_flow_draft_text(d, name, n, &file.name, err);
	if (r < 0)
		return r;
	struct phx_flow_file *f = phx_list_push(&d->files, sizeof(*f));
	if (!f)
		return phx_err_set(err, -ENOMEM, "%s: out of memory", d->what);
	*f = file;
	return 0;
}

/* ---- finding ---- */

struct named {
	const char *id;
	uint32_t task;
};

static int by_id(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int r = strcmp(x->id, y->id);
	return r ? r : (x->task > y->task) - (x->task < y->task);
}

static const char *id_of(const struct phx_flow_draft *d, uint32_t task)
{
	return d->text.data + PHX_LIST_AT(&d->tasks, struct phx_flow_task, task)->id;
}

uint32_t *phx_flow_draft_sort(const struct phx_flow_draft *d)
{
	uint32_t n = d->tasks.n;
	PHX_AUTO_FREE struct named *names = calloc((size_t)n + 1, sizeof(*names));
	uint32_t *sorted = calloc((size_t)n + 1, sizeof(*sorted));
	if (!names || !sorted) {
		free(sorted);
		return NULL;
	}
	for (uint32_t i = 0; i < n; i++)
		names[i] = (struct named){id_of(d, i), i};
	qsort(names, n, sizeof(*names), by_id);
	for (uint32_t i = 0; i < n; i++)
		sorted[i] = names[i].task;
	return sorted;
}

uint32_t phx_flow_draft_find(const struct phx_flow_draft *d, const uint32_t *sorted, const char *id)
{
	uint32_t low = 0, high = d->tasks.n;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		int r = strcmp(id_of(d, sorted[middle]), id);
		if (r == 0)
			return sorted[middle];
		if (r < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return PHX_FLOW_NONE;
}
