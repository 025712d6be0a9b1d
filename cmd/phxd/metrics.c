/* Counts what happens, for metrics: see metrics.h. Called wherever it happens; renders nothing. */
#include "phxd/metrics_internal.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"

int metrics_new(struct daemon *d, struct metrics **ret)
{
	struct metrics *m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->d = d;
	pthread_mutex_init(&m->lock, NULL);
	pthread_mutex_init(&m->rendering, NULL);
	*ret = m;
	return 0;
}

void metrics_free(struct metrics *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < METRICS_PAGES_KEPT; i++) {
		if (m->kept[i]) {
			free(m->kept[i]->text);
			free(m->kept[i]->packed);
		}
		free(m->kept[i]);
	}
	phx_list_fini(&m->nodes);
	phx_hash_fini(&m->places);
	pthread_mutex_destroy(&m->rendering);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

const char *metrics_verdict_name(int verdict)
{
	static const char *const names[] = {"quoted", "signed", "unsigned", "unread", "failed"};
	return names[verdict];
}

/* ---- nodes: all under the lock ---- */

struct metrics_node *metrics_find(struct metrics *m, const char *node)
{
	uint32_t hash = phx_hash_text(node), i;
	for (uint32_t at = hash; phx_hash_next(&m->places, hash, &at, &i);)
		if (!strcmp(PHX_LIST_AT(&m->nodes, struct metrics_node, i)->name, node))
			return PHX_LIST_AT(&m->nodes, struct metrics_node, i);
	return NULL;
}

/* The same, made when it is new. Whose name comes here was enrolled, so there are no more of them
 * than names that administrators gave. NULL: out of memory. */
static struct metrics_node *node_of(struct metrics *m, const char *node)
{
	struct metrics_node *n = metrics_find(m, node);
	if (n || phx_hash_reserve(&m->places, m->nodes.n + 1) < 0)
		return n;
	n = phx_list_push(&m->nodes, sizeof(*n));
	if (!n)
		return NULL;
	PHX_STR_SET(n->name, node);
	n->handover_ms = -1;
	beat_figures_none(&n->figures);
	phx_hash_put(&m->places, phx_hash_text(node), m->nodes.n - 1);
	return n;
}

/* ---- hand-overs ---- */

/* A phase that the plan had no step for is not counted as one of no length. */
static void count_plan(struct metrics *m, const struct phx_step_end *e)
{
	struct metrics_counts *c = &m->counts;
	int64_t phase_ms[PHX_PHASES] = {0};
	struct metrics_node *n = node_of(m, e->node);
	for (int k = 0; k < PHX_STEP_COUNT_; k++)
		phase_ms[phx_phase_of((enum phx_step_kind)k)] += e->took_of_ms[k];
	phx_histogram_observe(&c->handovers[e->mode], &phx_buckets_steps, e->plan_ms * 1000);
	for (int p = 0; p < PHX_PHASES; p++)
		if (phase_ms[p])
			phx_histogram_observe(&c->phases[p][e->mode], &phx_buckets_steps,
					      phase_ms[p] * 1000);
	if (n) {
		n->handover_ms = e->plan_ms;
		n->mode = e->mode;
	}
}

static void count_erase(struct metrics *m, const char *node, int method,
			enum metrics_verdict verdict)
{
	struct metrics_node *n = node_of(m, node);
	m->counts.erases[method][verdict]++;
	if (n)
		n->erases[verdict]++;
}

static void count_end(struct metrics *m, const struct phx_step_end *e)
{
	if (e->failed) {
		m->counts.step_failures[e->kind]++;
		if (e->kind == PHX_STEP_wipe)
			count_erase(m, e->node, e->method, METRICS_FAILED);
		return;
	}
	phx_histogram_observe(&m->counts.steps[e->kind], &phx_buckets_steps, e->took_ms * 1000);
	if (e->last)
		count_plan(m, e);
}

void metrics_ended(struct metrics *m, const struct phx_list *ended)
{
	if (!m || !ended->n)
		return;
	pthread_mutex_lock(&m->lock);
	PHX_LIST_EACH(const struct phx_step_end, e, ended)
		count_end(m, e);
	pthread_mutex_unlock(&m->lock);
}

void metrics_action(struct metrics *m, const struct phx_action *act)
{
	if (!m || act->kind != PHX_ACT_ERASED)
		return;
	enum metrics_verdict verdict = !act->verified_bytes ? METRICS_UNREAD
		: !act->signer[0]                           ? METRICS_UNSIGNED
		: act->tpm[0]                               ? METRICS_QUOTED
							    : METRICS_SIGNED;
	pthread_mutex_lock(&m->lock);
	count_erase(m, act->node, act->used ? act->used : act->method, verdict);
	pthread_mutex_unlock(&m->lock);
}

/* ---- agents, BMCs, requests ---- */

void metrics_beat(struct metrics *m, const char *node, const struct beat_figures *f, int64_t us)
{
	pthread_mutex_lock(&m->lock);
	struct metrics_node *n = node_of(m, node);
	phx_histogram_observe(&m->counts.beats, &phx_buckets_answers, us);
	if (n) {
		n->heard_ms = phx_wall_ms();
		n->figures = *f;
	}
	pthread_mutex_unlock(&m->lock);
}

void metrics_order(struct metrics *m, int kind)
{
	pthread_mutex_lock(&m->lock);
	m->counts.orders[kind]++;
	pthread_mutex_unlock(&m->lock);
}

void metrics_power(struct metrics *m, enum phx_power_op op, bool failed)
{
	pthread_mutex_lock(&m->lock);
	m->counts.power[op][failed]++;
	pthread_mutex_unlock(&m->lock);
}

void metrics_answered(struct metrics *m, enum metrics_class of, unsigned status, int64_t us,
		      bool held)
{
	unsigned code = status / 100 - 1;
	if (!m || code >= METRICS_CODES)
		return;
	pthread_mutex_lock(&m->lock);
	m->counts.requests[of][code]++;
	if (!held)
		phx_histogram_observe(&m->counts.answers[of], &phx_buckets_answers, us);
	pthread_mutex_unlock(&m->lock);
}
