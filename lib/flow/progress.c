/* Workflows that the head carries out, and their images: see progress.h. Pure. */
#include "flow/progress.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

PHX_RECORD_TABLE(phx_flow_image, PHX_FLOW_IMAGE_FIELDS);

void phx_flow_progress_free(struct phx_flow_progress *l)
{
	if (!l)
		return;
	phx_flow_run_fini(&l->run);
	phx_flow_fini(&l->flow);
	free(l->at);
	free(l);
}

/* Makes the object, without its run. */
static struct phx_flow_progress *make(struct phx_flow *flow)
{
	struct phx_flow_progress *l = calloc(1, sizeof(*l));
	if (l) {
		l->flow = *flow;
		l->at = calloc(flow->n_tasks, sizeof(*l->at));
	} else {
		phx_flow_fini(flow);
	}
	*flow = (struct phx_flow){0};
	if (l && l->at)
		return l;
	phx_flow_progress_free(l);
	return NULL;
}

int phx_flow_progress_new(struct phx_flow *flow, struct phx_flow_progress **ret)
{
	struct phx_flow_progress *l = make(flow);
	if (!l || phx_flow_run_init(&l->flow, NULL, NULL, &l->run) < 0) {
		phx_flow_progress_free(l);
		return -ENOMEM;
	}
	*ret = l;
	return 0;
}

/* ---- saving ---- */

static bool alike(const struct phx_flow_progress *l, uint32_t a, uint32_t b)
{
	const struct phx_flow_run_task *x = &l->run.tasks[a], *y = &l->run.tasks[b];
	return x->state == y->state && x->n_failures == y->n_failures &&
		!memcmp(&l->at[a], &l->at[b], sizeof(l->at[a]));
}

static void put_tasks(const struct phx_flow_progress *l, struct phx_buf *b)
{
	for (uint32_t i = 0, n; i < l->flow.n_tasks; i += n) {
		const struct phx_flow_place *at = &l->at[i];
		for (n = 1; i + n < l->flow.n_tasks && alike(l, i, i + n);)
			n++;
		phx_buf_addf(b, "%u %u %" PRIu32 " %" PRIu32 " %" PRIu32 "*%" PRIu32 "\n",
			     l->run.tasks[i].state, l->run.tasks[i].n_failures, at->node,
			     at->n_runs, at->n_losses, n);
	}
}

static void put_ready(const struct phx_flow_progress *l, struct phx_buf *b)
{
	for (int wide = 0; wide < 2; wide++)
		for (uint32_t i = l->run.first[wide], n; i != PHX_FLOW_NONE;) {
			uint32_t first = i;
			for (n = 1; (i = l->run.tasks[i].next) == first + n;)
				n++;
			phx_buf_addf(b, "%" PRIu32 "*%" PRIu32 "\n", first, n);
		}
}

static void put_had(const struct phx_flow_progress *l, struct phx_buf *b)
{
	for (uint32_t i = 0; l->run.had && i < l->flow.n_tasks; i++) {
		const struct phx_flow_had *had = &l->run.had[i];
		char sum[65] = "";
		if (had->kind == PHX_FLOW_HAD_NONE)
			continue;
		if (had->kind != PHX_FLOW_HAD_PASSES)
			phx_hex(had->sha256, sizeof(had->sha256), sum);
		phx_buf_addf(b, "%" PRIu32 " %u %s\n", i, had->kind, sum);
	}
}

static int pieces_of(const struct phx_flow_progress *l,
		     void (*put)(const struct phx_flow_progress *l, struct phx_buf *b),
		     struct phx_list *ret)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	put(l, &b);
	return b.failed ? -ENOMEM : phx_flow_pieces(&b, ret);
}

int phx_flow_progress_save(const struct phx_flow_progress *l, struct phx_flow_image *ret)
{
	struct phx_flow_image image = {.n_tasks = l->flow.n_tasks,
				       .held = l->run.held,
				       .stopped = l->run.stopped,
				       .cancelled = l->run.cancelled};
	int r = phx_flow_shape_write(&l->flow, &image.shape);
	r = r ? r : pieces_of(l, put_tasks, &image.tasks);
	r = r ? r : pieces_of(l, put_ready, &image.ready);
	r = r ? r : pieces_of(l, put_had, &image.had);
	if (r < 0)
		phx_record_fini(&phx_flow_image_record, &image);
	else
		*ret = image;
	return r < 0 ? -ENOMEM : 0;
}

/* ---- restoring ---- */

/* Reads numbers, each followed by its character of `ends`; false: the text is malformed. */
static bool numbers(const char **at, const char *ends, uint32_t *ret)
{
	for (; *ends; ends++, ret++) {
		uint64_t v;
		if (!phx_flow_number(at, UINT32_MAX, &v) || **at != *ends)
			return false;
		++*at;
		*ret = (uint32_t)v;
	}
	return true;
}

static int read_tasks(const char *at, struct phx_flow_progress *l, struct phx_flow_run_task *tasks)
{
	uint32_t v[6], i = 0; /* state, failures, node, runs, losses, count */
	while (*at) {
		if (!numbers(&at, "    *\n", v) || v[0] >= PHX_FLOW_TASK_STATES ||
		    v[1] > UINT16_MAX || v[5] > l->flow.n_tasks - i)
			return -EINVAL;
		for (uint32_t n = 0; n < v[5]; n++, i++) {
			tasks[i].state = (uint8_t)v[0];
			tasks[i].n_failures = (uint16_t)v[1];
			l->at[i] = (struct phx_flow_place){v[2], v[3], v[4]};
		}
	}
	return i == l->flow.n_tasks ? 0 : -EINVAL;
}

static int read_ready(const char *at, uint32_t *ready, uint32_t n_max, uint32_t *ret_n)
{
	uint32_t v[2], n = 0;
	while (*at) {
		if (!numbers(&at, "*\n", v) || v[1] > n_max - n)
			return -EINVAL;
		for (uint32_t i = 0; i < v[1]; i++)
			ready[n++] = v[0] + i;
	}
	*ret_n = n;
	return 0;
}

/* Reads the digits of a digest. */
static bool read_sum(const char **at, uint8_t ret[32])
{
	bool is = phx_unhex(*at, 32, ret);
	*at += is ? 64 : 0;
	return is;
}

static int read_had(const char *at, struct phx_flow_progress *l)
{
	uint32_t n = l->flow.n_tasks, v[2]; /* task, kind */
	struct phx_flow_had *had = *at ? calloc(n, sizeof(*had)) : NULL;
	int r = *at && !had ? -ENOMEM : 0;
	while (*at && r == 0) {
		bool good = numbers(&at, "  ", v) && v[0] < n && v[1] <= PHX_FLOW_HAD_PASSES;
		bool sum = good && v[1] != PHX_FLOW_HAD_PASSES;
		if (!good || (sum && !read_sum(&at, had[v[0]].sha256)) || *at++ != '\n')
			r = -EINVAL;
		else
			had[v[0]].kind = (uint8_t)v[1];
	}
	if (r < 0)
		free(had);
	else
		l->run.had = had;
	return r;
}

static int read_run(const struct phx_flow_image *image, struct phx_flow_progress *l)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf tasks_text = {0}, ready_text = {0}, had_text = {0};
	PHX_AUTO_FREE uint32_t *ready = calloc(image->n_tasks, sizeof(*ready));
	struct phx_flow_run_task *tasks = calloc((size_t)image->n_tasks + 1, sizeof(*tasks));
	uint32_t n_ready = 0;
	int r = ready && tasks ? phx_flow_join(&image->tasks, &tasks_text) : -ENOMEM;
	r = r ? r : phx_flow_join(&image->ready, &ready_text);
	r = r ? r : phx_flow_join(&image->had, &had_text);
	r = r ? r : read_tasks(tasks_text.data, l, tasks);
	r = r ? r : read_ready(ready_text.data, ready, image->n_tasks, &n_ready);
	if (r < 0) {
		free(tasks);
		return r;
	}
	r = phx_flow_run_restore(&l->flow, tasks, ready, n_ready, &l->run);
	r = r ? r : read_had(had_text.data, l);
	l->run.held = image->held;
	l->run.stopped = image->stopped;
	l->run.cancelled = image->cancelled;
	return r;
}

int phx_flow_progress_restore(const struct phx_flow_image *image, struct phx_flow_progress **ret)
{
	struct phx_flow flow;
	int r = phx_flow_shape_read(&image->shape, image->n_tasks, &flow, NULL);
	if (r < 0)
		return r == -ENOMEM ? r : -EINVAL;
	struct phx_flow_progress *l = make(&flow);
	r = l ? read_run(image, l) : -ENOMEM;
	if (r < 0)
		phx_flow_progress_free(l);
	else
		*ret = l;
	return r;
}

/* ---- the places only ---- */

static void put_places(const struct phx_flow_progress *l, struct phx_buf *b)
{
	const struct phx_flow_place *at = l->at;
	for (uint32_t i = 0, n; i < l->flow.n_tasks; i += n) {
		for (n = 1; i + n < l->flow.n_tasks && at[i].node == at[i + n].node &&
		     at[i].n_runs == at[i + n].n_runs;)
			n++;
		phx_buf_addf(b, "%" PRIu32 " %" PRIu32 "*%" PRIu32 "\n", at[i].node, at[i].n_runs,
			     n);
	}
}

int phx_flow_places_write(const struct phx_flow_progress *l, struct phx_list *ret)
{
	return pieces_of(l, put_places, ret);
}

int phx_flow_places_read(const struct phx_list *text, uint32_t n_tasks, struct phx_flow_place *ret)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	uint32_t v[3], i = 0; /* node, runs, count */
	if (phx_flow_join(text, &b) < 0)
		return -ENOMEM;
	for (const char *at = b.data; *at;) {
		if (!numbers(&at, " *\n", v) || v[2] > n_tasks - i)
			return -EINVAL;
		for (uint32_t n = 0; n < v[2]; n++)
			ret[i++] = (struct phx_flow_place){v[0], v[1], 0};
	}
	return i == n_tasks ? 0 : -EINVAL;
}
