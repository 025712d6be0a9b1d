/* What an event costs that is on the disk before its answer, submitted by one thread, and by
 * several at once, which share syncs; and what a start needs to verify them.
 * usage: journal DIRECTORY EVENTS THREADS; prints JSON. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "journal/journal.h"

enum { THREADS_MAX = 64, EVENTS_MAX = 10000000 };

/* One thread, and the node whose label it changes. */
struct writer {
	pthread_t thread;
	struct phx_journal *journal;
	uint32_t number, n;
	int r;
	struct phx_err err;
};

static double now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int64_t wall_ms(void *arg)
{
	(void)arg;
	return phx_wall_ms();
}

static int64_t mono_ms(void *arg)
{
	(void)arg;
	return phx_clock_ms();
}

static bool is_synchronised(void *arg)
{
	(void)arg;
	return true;
}

static uint64_t draw(void *arg)
{
	(void)arg;
	return 4711;
}

static int act(void *arg, const struct phx_action *action)
{
	(void)arg;
	(void)action;
	return 0;
}

static int announce(struct writer *w)
{
	struct phx_event ev = {.kind = PHX_EV_node_add, .by = "bench"};
	struct phx_mac *m = phx_list_push(&ev.node_add.macs, sizeof(*m));
	if (!m)
		return -1;
	snprintf(ev.node, sizeof(ev.node), "n%u", w->number);
	snprintf(m->mac, sizeof(m->mac), "02:00:00:00:00:%02x", w->number);
	w->r = phx_journal_submit(w->journal, &ev, NULL, &w->err);
	phx_event_fini(&ev);
	return w->r;
}

static void *write_events(void *arg)
{
	struct writer *w = arg;
	struct phx_event ev = {.kind = PHX_EV_node_label, .by = "bench"};
	struct phx_label *l = phx_list_push(&ev.node_label.labels, sizeof(*l));
	w->r = l ? 0 : -1;
	snprintf(ev.node, sizeof(ev.node), "n%u", w->number);
	for (uint32_t i = 0; w->r == 0 && i < w->n; i++) {
		PHX_STR_SET(l->key, "turn");
		snprintf(l->value, sizeof(l->value), "%u", i);
		w->r = phx_journal_submit(w->journal, &ev, NULL, &w->err);
	}
	phx_event_fini(&ev);
	return NULL;
}

/* Seconds for `n` events of so many threads; negative: an error, which is told. */
static double measure(struct phx_journal *j, uint32_t n, uint32_t threads)
{
	struct writer writers[THREADS_MAX] = {0};
	double begin;
	int r = 0;
	for (uint32_t i = 0; r == 0 && i < threads; i++) {
		writers[i] = (struct writer){.journal = j, .number = i, .n = n / threads};
		bool known = phx_journal_state(j)->nodes.n > i;
		r = known ? 0 : announce(&writers[i]);
	}
	begin = now();
	for (uint32_t i = 0; r == 0 && i < threads; i++)
		r = -pthread_create(&writers[i].thread, NULL, write_events, &writers[i]);
	for (uint32_t i = 0; r == 0 && i < threads; i++)
		pthread_join(writers[i].thread, NULL);
	for (uint32_t i = 0; i < threads; i++) {
		if (writers[i].r < 0)
			fprintf(stderr, "journal: %s\n", writers[i].err.text);
		r = r ? r : writers[i].r;
	}
	return r < 0 ? -1 : now() - begin;
}

int main(int argc, char **argv)
{
	struct phx_err err = {0};
	struct phx_store *s = NULL;
	struct phx_journal *j = NULL;
	struct phx_store_findings found;
	uint64_t n = 0, threads = 0;
	if (argc != 4 || phx_u64_parse(argv[2], 1, EVENTS_MAX, &n) < 0 ||
	    phx_u64_parse(argv[3], 1, THREADS_MAX, &threads) < 0) {
		fprintf(stderr, "usage: journal DIRECTORY EVENTS THREADS\n");
		return 64;
	}
	PHX_AUTO_FREE char *path = phx_path("%s/journal.db", argv[1]);
	int r = path ? phx_store_open(path, &s, &err) : -1;
	struct phx_journal_config config = {.clock = {wall_ms, mono_ms, is_synchronised, NULL},
					    .snapshot_every = UINT32_MAX,
					    .draw = draw,
					    .act = act};
	if (r == 0)
		config.store = phx_journal_on_sqlite(s);
	r = r ? r : phx_journal_open(&config, &j, NULL, &err);
	double one = r ? -1 : measure(j, (uint32_t)n, 1);
	double many = one < 0 ? -1 : measure(j, (uint32_t)n, (uint32_t)threads);
	double begin = now();
	r = many < 0 ? -1 : phx_store_verify(s, &found, &err);
	double verified = now() - begin;
	phx_journal_close(j, false);
	phx_store_close(s);
	if (r < 0) {
		fprintf(stderr, "journal: %s\n", err.text);
		return 1;
	}
	printf("{\"one_us\": %.1f, \"many_us\": %.1f, \"verify_us\": %.2f}\n",
	       one * 1e6 / (double)n, many * 1e6 / (double)n, verified * 1e6 / (double)(2 * n));
	return 0;
}
