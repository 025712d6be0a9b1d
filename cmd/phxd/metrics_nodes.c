/* The rows of metrics that each node has. Called for a rendering (metrics_reply.c): what the state
 * says is copied some nodes at a time, what beats say likewise, and rows are written without a
 * lock. */
#include "phxd/metrics_internal.h"

#include <errno.h>

#include "base/clock.h"

/* decimals of times and shares; how long a portion may take before others come first */
enum { PORTION = 256, CENTI = 2, THOUSANDTHS = 3, LONG_US = 3000 };

/* ---- reading ---- */

static void take_row(const struct phx_state *s, const struct phx_node *n, struct metrics_row *to)
{
	const struct phx_step *step = phx_node_step(n);
	PHX_STR_SET(to->name, n->name);
	PHX_STR_SET(to->pool, n->pool);
	PHX_STR_SET(to->role, n->role);
	to->state = n->state;
	to->up = n->up;
	to->step = step && step->status == PHX_STEP_ISSUED ? step->kind : -1;
	to->step_ms = to->step >= 0 ? s->now_ms - step->issued_ms : 0;
}

/* Reads the next nodes after `*after`, no more than fit into `left`. False: these were the last. */
static bool read_portion(struct metrics *m, uint64_t *after, uint32_t left, struct phx_list *ret,
			 int *ret_r)
{
	const struct phx_state *s = engine_lock(m->d->engine);
	const struct phx_node *n = phx_nodes_next(s, phx_state_node_place(s, *after + 1));
	for (uint32_t i = 0; n && i < PORTION && i < left; i++, n = phx_nodes_after(s, n)) {
		struct metrics_row *to = phx_list_push(ret, sizeof(*to));
		*ret_r = to ? 0 : -ENOMEM;
		if (!to)
			break;
		take_row(s, n, to);
		*after = n->number;
	}
	engine_unlock(m->d->engine);
	return n && *ret_r == 0;
}

static void take_beside(struct metrics *m, struct metrics_row *rows, uint32_t n)
{
	pthread_mutex_lock(&m->lock);
	for (struct metrics_row *r = rows; r < rows + n; r++) {
		const struct metrics_node *known = metrics_find(m, r->name);
		if (known) {
			r->beside = *known;
			continue;
		}
		r->beside.handover_ms = -1;
		beat_figures_none(&r->beside.figures);
	}
	pthread_mutex_unlock(&m->lock);
}

/* Passes by the nodes of the pages before, whose numbers nobody knows: some may have gone. */
static uint64_t last_before(const struct phx_state *s, uint64_t n_before)
{
	const struct phx_node *n = phx_nodes_next(s, 0);
	uint64_t last = 0;
	for (; n && n_before; n = phx_nodes_after(s, n), n_before--)
		last = n->number;
	return n_before ? UINT64_MAX - 1 : last;
}

int metrics_read_nodes(struct metrics *m, uint32_t page, struct phx_list *ret, uint32_t *ret_pages)
{
	uint32_t most = m->d->cfg.metrics_nodes, n_nodes = 0;
	uint64_t after = 0;
	int r = 0;
	const struct phx_state *s = engine_lock(m->d->engine);
	for (int i = 0; i < phx_node_state_names.n_names; i++)
		n_nodes += phx_members_count(s, PHX_MEMBERS_STATE, phx_node_state_names.names[i]);
	if (most && page > 1)
		after = last_before(s, (uint64_t)(page - 1) * most);
	engine_unlock(m->d->engine);
	*ret_pages = most ? (n_nodes + most - 1) / most : 0;
	for (bool more = most && page <= (*ret_pages ? *ret_pages : 1); more && ret->n < most;) {
		int64_t began_us = phx_clock_us();
		uint32_t from = ret->n;
		more = read_portion(m, &after, most - ret->n, ret, &r);
		take_beside(m, PHX_LIST_AT(ret, struct metrics_row, 0) + from, ret->n - from);
		if (more && phx_clock_us() - began_us > LONG_US)
			reads_breathe(began_us);
	}
	return r;
}

/* ---- writing ---- */

static void put_state(struct phx_buf *b, const struct phx_list *rows)
{
	phx_metric_head(b, PHX_METRIC_node_info);
	PHX_LIST_EACH(const struct metrics_row, r, rows)
		phx_metric_put(b, PHX_METRIC_node_info, (const char *[]){r->name, r->pool, r->role},
			       1, 0);
	phx_metric_head(b, PHX_METRIC_node_state);
	PHX_LIST_EACH(const struct metrics_row, r, rows) {
		const char *labels[] = {r->name, phx_enum_name(&phx_node_state_names, r->state)};
		phx_metric_put(b, PHX_METRIC_node_state, labels, 1, 0);
	}
	phx_metric_head(b, PHX_METRIC_node_up);
	PHX_LIST_EACH(const struct metrics_row, r, rows)
		phx_metric_put(b, PHX_METRIC_node_up, (const char *[]){r->name}, r->up, 0);
}

static void put_times(struct phx_buf *b, const struct phx_list *rows)
{
	phx_metric_head(b, PHX_METRIC_node_last_heard_timestamp_seconds);
	PHX_LIST_EACH(const struct metrics_row, r, rows)
		if (r->beside.heard_ms)
			phx_metric_put(b, PHX_METRIC_node_last_heard_timestamp_seconds,
				       (const char *[]){r->name}, r->beside.heard_ms, THOUSANDTHS);
	phx_metric_head(b, PHX_METRIC_node_step_seconds);
	PHX_LIST_EACH(const struct metrics_row, r, rows)
		if (r->step >= 0) {
			const char *labels[] = {r->name, phx_step_kind_names.names[r->step]};
			phx_metric_put(b, PHX_METRIC_node_step_seconds, labels, r->step_ms,
				       THOUSANDTHS);
		}
	phx_metric_head(b, PHX_METRIC_node_handover_seconds);
	PHX_LIST_EACH(const struct metrics_row, r, rows)
		if (r->beside.handover_ms >= 0) {
			const char *labels[] = {r->name,
						phx_setup_mode_names.names[r->beside.mode]};
			phx_metric_put(b, PHX_METRIC_node_handover_seconds, labels,
				       r->beside.handover_ms, THOUSANDTHS);
		}
}

static void put_erases_of_nodes(struct phx_buf *b, const struct phx_list *rows)
{
	phx_metric_head(b, PHX_METRIC_node_erases_total);
	PHX_LIST_EACH(const struct metrics_row, r, rows)
		for (int v = 0; v < METRICS_VERDICTS; v++) {
			const char *labels[] = {r->name, metrics_verdict_name(v)};
			if (r->beside.erases[v])
				phx_metric_put(b, PHX_METRIC_node_erases_total, labels,
					       (int64_t)r->beside.erases[v], 0);
		}
}

static void put_figure(struct phx_buf *b, const struct phx_list *rows, enum phx_metric m,
		       int figure, int64_t most, unsigned decimals)
{
	phx_metric_head(b, m);
	PHX_LIST_EACH(const struct metrics_row, r, rows) {
		int64_t v = r->beside.figures.of[figure];
		if (v >= 0)
			phx_metric_put(b, m, (const char *[]){r->name}, v < most ? v : most,
				       decimals);
	}
}

void metrics_put_nodes(struct phx_buf *b, const struct phx_list *rows)
{
	static const struct {
		enum phx_metric metric;
		int figure;
		int64_t most; /* what no machine has more of */
		unsigned decimals;
	} figures[] = {
		{PHX_METRIC_node_cpu_use_ratio, BEAT_FIGURE_cpu_permille, 1000, THOUSANDTHS},
		{PHX_METRIC_node_load1, BEAT_FIGURE_load1_centi, INT64_MAX, CENTI},
		{PHX_METRIC_node_memory_bytes, BEAT_FIGURE_memory_total_bytes, INT64_MAX, 0},
		{PHX_METRIC_node_memory_available_bytes, BEAT_FIGURE_memory_available_bytes,
		 INT64_MAX, 0},
		{PHX_METRIC_node_swap_bytes, BEAT_FIGURE_swap_total_bytes, INT64_MAX, 0},
		{PHX_METRIC_node_swap_used_bytes, BEAT_FIGURE_swap_used_bytes, INT64_MAX, 0},
		{PHX_METRIC_node_disk_read_bytes_total, BEAT_FIGURE_disk_read_bytes, INT64_MAX, 0},
		{PHX_METRIC_node_disk_written_bytes_total, BEAT_FIGURE_disk_written_bytes,
		 INT64_MAX, 0},
		{PHX_METRIC_node_network_receive_bytes_total, BEAT_FIGURE_net_rx_bytes, INT64_MAX,
		 0},
		{PHX_METRIC_node_network_transmit_bytes_total, BEAT_FIGURE_net_tx_bytes, INT64_MAX,
		 0},
		{PHX_METRIC_node_uptime_seconds, BEAT_FIGURE_uptime_s, INT64_MAX, 0},
	};
	put_state(b, rows);
	put_times(b, rows);
	put_erases_of_nodes(b, rows);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(figures); i++)
		put_figure(b, rows, figures[i].metric, figures[i].figure, figures[i].most,
			   figures[i].decimals);
}
