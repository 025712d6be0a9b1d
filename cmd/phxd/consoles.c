/* The process that has the consoles (lib/console/consoles.h), and which nodes it is told of: a
 * thread compares what BMCs nodes have with what was told, when somebody has changed some. Another
 * takes what consoles say of why a machine does not start, for phx node why. Called by main.c, and
 * by handlers that changed nodes. */
#include "phxd/consoles.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "phxd/apart.h"
#include "phxd/starts.h"

#define WHAT "the process that has the consoles"

enum { GATHER_MS = 100, AGAIN_MS = 5000 };

struct told {
	char node[PHX_NAME_MAX];
	struct phx_bmc bmc;
};

struct consoles {
	struct apart_watch watch;
	struct phx_consoles *process;
	struct sessions *sessions;
	pthread_t thread, hears;
	bool running, hearing;
	struct phx_list told; /* struct told, by name; of the thread alone */
	pthread_mutex_t lock;
	pthread_cond_t news, ends;
	bool changed, forgot, stopped;
};

struct phx_consoles_config consoles_config(const struct phx_config *cfg)
{
	return (struct phx_consoles_config){.program = "/proc/self/exe",
					    .user = cfg->hands_user,
					    .bmc_dir = cfg->bmc_dir,
					    .run_dir = cfg->run_dir,
					    .state_dir = cfg->state_dir,
					    .conserver = cfg->conserver,
					    .port = cfg->console_port,
					    .log_mb = cfg->console_log_mb,
					    .paths = &cfg->hands_paths};
}

void consoles_changed(struct consoles *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	c->changed = true;
	pthread_cond_signal(&c->news);
	pthread_mutex_unlock(&c->lock);
}

/* The new process knows no node. */
static void restarted(void *arg)
{
	struct consoles *c = arg;
	apart_restarted(&c->watch);
	pthread_mutex_lock(&c->lock);
	c->forgot = true;
	pthread_mutex_unlock(&c->lock);
	consoles_changed(c);
}

/* ---- what is told ---- */

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct told *)a)->node, ((const struct told *)b)->node);
}

static bool has_console(const struct phx_bmc *bmc)
{
	enum phx_console_driver driver;
	return phx_console_driver_of(bmc, &driver, NULL) == 0 && driver != PHX_CONSOLE_none;
}

static void collect(struct daemon *d, struct phx_list *ret)
{
	const struct phx_state *s = engine_lock(d->engine);
	PHX_NODES_EACH(n, s) {
		struct told *to = has_console(&n->bmc) ? phx_list_push(ret, sizeof(*to)) : NULL;
		if (!to)
			continue;
		to->bmc = n->bmc;
		PHX_STR_SET(to->node, n->name);
	}
	engine_unlock(d->engine);
	if (ret->n)
		qsort(ret->items, ret->n, sizeof(struct told), by_name);
}

static void tell(struct consoles *c, const struct told *t)
{
	struct phx_err err = {0};
	if (phx_consoles_put(c->process, t->node, &t->bmc, &err) < 0)
		fprintf(stderr, "phxd: the console of %s: %s\n", t->node, err.text);
}

/* Both lists are sorted: one walk finds what came, went, or is another one. */
static void tell_changes(struct consoles *c, const struct phx_list *now)
{
	uint32_t i = 0, k = 0;
	while (i < c->told.n || k < now->n) {
		const struct told *was =
			i < c->told.n ? PHX_LIST_AT(&c->told, struct told, i) : NULL;
		const struct told *is = k < now->n ? PHX_LIST_AT(now, struct told, k) : NULL;
		int order = !was ? 1 : !is ? -1 : by_name(was, is);
		if (order < 0)
			(void)phx_consoles_drop(c->process, was->node, NULL);
		else if (order > 0 || !phx_record_equal(&phx_bmc_record, &was->bmc, &is->bmc))
			tell(c, is);
		i += order <= 0;
		k += order >= 0;
	}
}

static bool await_change(struct consoles *c, bool *ret_forgot)
{
	pthread_mutex_lock(&c->lock);
	while (!c->changed && !c->stopped)
		pthread_cond_wait(&c->news, &c->lock);
	/* nodes that come together are looked for once */
	int64_t until = phx_clock_ms() + GATHER_MS;
	while (!c->stopped && phx_cond_until(&c->news, &c->lock, until))
		;
	*ret_forgot = c->forgot;
	c->changed = c->forgot = false;
	bool goes_on = !c->stopped;
	pthread_mutex_unlock(&c->lock);
	return goes_on;
}

static void *follow(void *arg)
{
	struct consoles *c = arg;
	bool forgot;
	while (await_change(c, &forgot)) {
		struct phx_list now = {0};
		if (forgot)
			phx_list_fini(&c->told);
		collect(c->watch.d, &now);
		tell_changes(c, &now);
		phx_list_fini(&c->told);
		c->told = now;
	}
	return NULL;
}

/* ---- what consoles say ---- */

/* A claim of the machine, and kept as one. */
static void tell_start(struct daemon *d, const struct phx_console_marked *m)
{
	struct phx_start_row row = {.kind = PHX_START_console};
	char text[sizeof(m->meaning) + sizeof(m->line) + 2];
	snprintf(text, sizeof(text), "%s: %s", m->meaning, m->line);
	phx_start_clean(row.text, sizeof(row.text), text);
	if (phx_name_valid(m->node) && PHX_STR_SET(row.node, m->node) == 0)
		starts_tell(d->starts, &row);
}

/* False: phxd ends. A process that cannot be asked is asked again after a while. */
static bool goes_on(struct consoles *c, bool failed)
{
	pthread_mutex_lock(&c->lock);
	const int64_t until = phx_clock_ms() + AGAIN_MS;
	while (failed && !c->stopped && phx_cond_until(&c->ends, &c->lock, until))
		;
	const bool ret = !c->stopped;
	pthread_mutex_unlock(&c->lock);
	return ret;
}

static void *hear(void *arg)
{
	struct consoles *c = arg;
	uint64_t after = 0;
	int r;
	do {
		PHX_AUTO(phx_list_fini) struct phx_list marks = {0};
		r = phx_consoles_marks(c->process, after, &marks, NULL);
		PHX_LIST_EACH(struct phx_console_marked, m, &marks) {
			tell_start(c->watch.d, m);
			after = m->seq;
		}
	} while (goes_on(c, r < 0));
	return NULL;
}

/* ---- start and end ---- */

static int begin(struct consoles *c, struct phx_err *err)
{
	struct phx_consoles_config config = consoles_config(&c->watch.d->cfg);
	config.restarted = restarted;
	config.arg = c;
	config.start = launch_consoles;
	config.start_arg = c->watch.d->launch;
	int r = phx_consoles_start(&config, &c->process, err);
	r = r ? r : sessions_new(c->watch.d, &c->sessions);
	r = r ? r : -pthread_create(&c->thread, NULL, follow, c);
	c->running = r == 0;
	r = r ? r : -pthread_create(&c->hears, NULL, hear, c);
	c->hearing = r == 0;
	return r;
}

int consoles_new(struct daemon *d, struct consoles **ret, struct phx_err *err)
{
	struct consoles *c = d->cfg.consoles ? calloc(1, sizeof(*c)) : NULL;
	if (!c)
		return d->cfg.consoles ? -ENOMEM : 0;
	c->watch.d = d;
	c->watch.what = WHAT;
	pthread_mutex_init(&c->lock, NULL);
	phx_cond_init(&c->news);
	phx_cond_init(&c->ends);
	c->changed = true;
	int r = begin(c, err);
	if (r < 0)
		consoles_free(c);
	else
		*ret = c;
	return r;
}

void consoles_stop(struct consoles *c)
{
	if (!c)
		return;
	sessions_stop(c->sessions);
	pthread_mutex_lock(&c->lock);
	c->stopped = true;
	pthread_cond_signal(&c->news);
	pthread_cond_signal(&c->ends);
	pthread_mutex_unlock(&c->lock);
	if (c->running)
		pthread_join(c->thread, NULL);
	c->running = false;
	if (c->hearing) {
		phx_consoles_hush(c->process);
		pthread_join(c->hears, NULL);
	}
	c->hearing = false;
}

void consoles_free(struct consoles *c)
{
	if (!c)
		return;
	consoles_stop(c);
	sessions_free(c->sessions);
	phx_consoles_end(c->process);
	phx_list_fini(&c->told);
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->news);
	pthread_cond_destroy(&c->ends);
	free(c);
}

struct phx_consoles *consoles_process(struct consoles *c)
{
	return c ? c->process : NULL;
}

struct sessions *consoles_sessions(struct consoles *c)
{
	return c->sessions;
}

int consoles_tick(struct consoles *c)
{
	return c ? apart_tick(&c->watch, phx_consoles_pid(c->process)) : WAKE_NEVER;
}
