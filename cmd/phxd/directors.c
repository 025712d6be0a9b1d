/* Web services as phxd sees them between events: the CPU use that instances
 * tell with their beats becomes one event a web RE and heartbeat; directors are
 * woken when the wanted table has changed, and what they tell of theirs lets
 * leaving nodes go on. Soft state that a restart may lose.
 * Decides nothing: how many instances there are is the core's, and so is the
 * table.
 *
 * Lock order: nothing asks the engine while it holds this lock. */
#include "phxd/daemon.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mix.h"
#include "node/director.h"
#include "phxd/beat.h"

enum { USE_MAX_PPM = 1000000, ASK_AGAIN_MS = 300 };
/* The table follows from all instances, so that events do not make it as often as they come: after
 * each look it rests for so many times as long as the look took, and for so long at most. */
enum { REST_TIMES = 20, REST_MOST_US = 50000 };

/* Uses of one web RE's instances since the last event. */
struct use {
	char re[PHX_NAME_MAX];
	uint64_t sum_ppm;
	uint32_t n;
};

/* The last report of a director. */
struct director {
	char node[PHX_NAME_MAX];
	int64_t heard_ms;
	uint64_t table_id; /* of the table in force; 0: none */
	struct phx_list
		active; /* struct phx_web_server: servers with connections, over all services */
};

struct directors {
	struct daemon *d;
	pthread_mutex_t lock;
	struct phx_list uses;      /* struct use */
	struct phx_list directors; /* struct director */
	int64_t due_ms;            /* when uses are sent to the core; 0: there are none */
	/* of the loop's thread alone */
	uint64_t seq; /* the state whose table was last looked at */
	uint64_t table_id;
	uint64_t share_id;     /* who had which address then */
	uint64_t names_id;     /* which names stood for which addresses then */
	bool renamed;          /* others do now, and dnsmasq is not told yet */
	int64_t rest_until_us; /* no look at the table before that */
	bool waited;       /* a step waited for a director at the last look, at state wait_seq */
	uint64_t wait_seq; /* the state at that look */
	int64_t ask_ms;    /* when the director is asked again */
};

int directors_new(struct daemon *d, struct directors **ret)
{
	struct directors *b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->d = d;
	pthread_mutex_init(&b->lock, NULL);
	*ret = b;
	return 0;
}

void directors_free(struct directors *b)
{
	if (!b)
		return;
	phx_list_fini(&b->uses);
	PHX_LIST_EACH(struct director, d, &b->directors)
		phx_list_fini(&d->active);
	phx_list_fini(&b->directors);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

/* ---- use ---- */

static bool counts_use(const struct phx_re *re)
{
	return phx_re_kind(&re->agreement)->has_demand &&
		(re->state == PHX_RE_STATE_RUNNING || re->state == PHX_RE_STATE_SUSPENDED);
}

/* The web RE that the node serves now. */
static bool re_of(struct daemon *d, const char *node, char ret[PHX_NAME_MAX])
{
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_node *n = phx_state_node(s, node);
	const struct phx_re *re =
		n && n->allocation == PHX_ALLOCATION_HELD ? phx_state_re(s, n->allocated_to) : NULL;
	bool counts = re && counts_use(re);
	if (counts)
		phx_str_copy(ret, PHX_NAME_MAX, re->name);
	engine_unlock(d->engine);
	return counts;
}

static struct use *use_of(struct directors *b, const char *re)
{
	PHX_LIST_EACH(struct use, u, &b->uses)
		if (!strcmp(u->re, re))
			return u;
	struct use *u = phx_list_push(&b->uses, sizeof(*u));
	if (u)
		PHX_STR_SET(u->re, re);
	return u;
}

void directors_sample(struct directors *b, const char *node, const struct beat *beat)
{
	char re[PHX_NAME_MAX];
	int64_t ppm = beat->use_ppm;
	if (ppm < 0 || !b->d->cfg.measure_web_use || !re_of(b->d, node, re))
		return;
	int64_t now = engine_now(b->d->engine);
	pthread_mutex_lock(&b->lock);
	struct use *u = use_of(b, re);
	if (u) {
		u->sum_ppm += ppm < USE_MAX_PPM ? (uint64_t)ppm : USE_MAX_PPM;
		u->n++;
	}
	bool first = u && !b->due_ms;
	if (first)
		b->due_ms = now + b->d->cfg.heartbeat_ms;
	pthread_mutex_unlock(&b->lock);
	if (first)
		wake_in(b->d->wake, (int)b->d->cfg.heartbeat_ms);
}

static struct phx_list take_uses(struct directors *b)
{
	pthread_mutex_lock(&b->lock);
	struct phx_list taken = b->uses;
	b->uses = (struct phx_list){0};
	b->due_ms = 0;
	pthread_mutex_unlock(&b->lock);
	return taken;
}

/* The sample of an RE that ended meanwhile is refused, which does not matter. */
static void tell_uses(struct directors *b)
{
	struct phx_list uses = take_uses(b);
	PHX_LIST_EACH(struct use, u, &uses) {
		struct phx_event ev = {.kind = PHX_EV_re_use,
				       .re_use.use_ppm = (uint32_t)(u->sum_ppm / u->n)};
		PHX_STR_SET(ev.by, "phxd");
		PHX_STR_SET(ev.re, u->re);
		engine_submit(b->d->engine, &ev, NULL, NULL);
	}
	phx_list_fini(&uses);
}

/* ---- tables ---- */

static void rest(struct directors *b, int64_t begin_us)
{
	int64_t now_us = phx_clock_us(), rest_us = (now_us - begin_us) * REST_TIMES;
	b->rest_until_us = now_us + (rest_us < REST_MOST_US ? rest_us : REST_MOST_US);
}

/* A number for who has which address, and which directors there are: equal ones are equal. */
static uint64_t share_id(const struct phx_state *s)
{
	uint64_t h = PHX_MIX_NONE;
	PHX_LIST_EACH(struct phx_held, held, &s->held)
		h = phx_mix_text(phx_mix_text(h, held->address), held->director);
	for (const struct phx_node *n = NULL; (n = phx_director_next(s, n));)
		h = phx_mix_number(phx_mix_text(h, n->name), phx_director_acts(s, n));
	return h;
}

/* A number for which names stand for which addresses. */
static uint64_t names_id(const struct phx_state *s)
{
	uint64_t h = PHX_MIX_NONE;
	PHX_LIST_EACH(struct phx_re, re, &s->res) {
		if (!phx_director_serves_re(re))
			continue;
		h = phx_mix_text(phx_mix_text(h, re->name), re->agreement.address);
		h = phx_mix_text(h, re->agreement.addresses);
		h = phx_mix_number(h, phx_state_node(s, re->name) != NULL); /* has the name */
	}
	return h;
}

/* Have the table or who has which address changed since the last call? *ret_ms: when to ask again,
 * because that cannot be said yet; WAKE_NEVER: after the next event. */
static bool changed(struct directors *b, const struct phx_state *s, int *ret_ms)
{
	PHX_AUTO(phx_web_table_fini) struct phx_web_table t = {0};
	int64_t begin_us = phx_clock_us();
	bool news = s->seq != b->seq, rests = begin_us < b->rest_until_us;
	*ret_ms = news && rests ? (int)((b->rest_until_us - begin_us) / 1000) + 1 : WAKE_NEVER;
	if (!news || rests)
		return false;
	if (phx_director_table(s, &t) < 0)
		return false;
	rest(b, begin_us);
	uint64_t id = phx_web_table_id(&t), shares = share_id(s), names = names_id(s);
	bool is = id != b->table_id || shares != b->share_id;
	b->renamed = b->renamed || names != b->names_id;
	b->names_id = names;
	b->seq = s->seq;
	b->table_id = id;
	b->share_id = shares;
	return is;
}

/* Names of the directors to wake because the table has changed. */
static void changed_for(struct directors *b, struct phx_list *ret_names, int *ret_ms)
{
	const struct phx_state *s = engine_lock(b->d->engine);
	if (changed(b, s, ret_ms))
		for (const struct phx_node *n = NULL; (n = phx_director_next(s, n));) {
			struct phx_word *w = phx_list_push(ret_names, sizeof(*w));
			if (w)
				PHX_STR_SET(w->text, n->name);
		}
	engine_unlock(b->d->engine);
}

/* Returns ms until the next look. */
static int wake_directors(struct directors *b)
{
	PHX_AUTO(phx_list_fini) struct phx_list names = {0};
	int ms;
	changed_for(b, &names, &ms);
	if (b->renamed)
		net_sync_services(b->d);
	b->renamed = false;
	PHX_LIST_EACH(struct phx_word, w, &names)
		live_wake(b->d->live, w->text);
	return ms;
}

/* ---- what directors tell ---- */

static struct director *director_of(struct directors *b, const char *node, bool make)
{
	PHX_LIST_EACH(struct director, d, &b->directors)
		if (!strcmp(d->node, node))
			return d;
	struct director *d = make ? phx_list_push(&b->directors, sizeof(*d)) : NULL;
	if (d)
		PHX_STR_SET(d->node, node);
	return d;
}

static uint64_t table_in(const struct phx_list *running)
{
	const struct beat_running *has = beat_running_of(running, PHX_ORDER_table);
	return has ? (uint64_t)has->id : 0;
}

static void take_active(const json_t *services, struct phx_list *ret)
{
	size_t i, k;
	json_t *service, *server;
	ret->n = 0;
	json_array_foreach((json_t *)services, i, service)
		json_array_foreach(json_object_get(service, "servers"), k, server) {
			int64_t active = phx_json_int(server, "active", 0);
			struct phx_web_server *s =
				active > 0 ? phx_list_push(ret, sizeof(*s)) : NULL;
			if (!s)
				continue;
			PHX_STR_SET(s->address, phx_json_str(server, "address", ""));
			s->active = (uint32_t)active;
		}
}

void directors_heard(struct directors *b, const char *node, const struct beat *beat)
{
	uint64_t id = table_in(&beat->running);
	int64_t now = engine_now(b->d->engine);
	PHX_AUTO_JSON json_t *monitor = beat->balancer ? json_loads(beat->monitor, 0, NULL) : NULL;
	pthread_mutex_lock(&b->lock);
	struct director *d = director_of(b, node, id != 0);
	if (d) {
		d->heard_ms = now;
		d->table_id = id;
		take_active(json_object_get(json_object_get(monitor, "balancer"), "services"),
			    &d->active);
	}
	bool is = d;
	pthread_mutex_unlock(&b->lock);
	if (is)
		wake_in(b->d->wake, 0);
}

/* A director that has addresses, and the order that must be in force on it. */
struct acting {
	char node[PHX_NAME_MAX];
	uint64_t order_id;
};

/* A node whose step waits for the directors that have addresses. */
struct wait {
	char node[PHX_NAME_MAX];
	char address[PHX_WEB_ADDRESS_MAX];
	int kind; /* of the step */
	uint64_t step_id, epoch;
	int64_t since_ms;
};

static void add_wait(const struct phx_node *n, struct phx_list *waits)
{
	const struct phx_step *step = phx_node_step(n);
	struct wait *w = phx_list_push(waits, sizeof(*w));
	if (!w)
		return;
	*w = (struct wait){.kind = step->kind,
			   .step_id = step->id,
			   .epoch = n->plan.epoch,
			   .since_ms = step->issued_ms};
	PHX_STR_SET(w->node, n->name);
	snprintf(w->address, sizeof(w->address), "%s", phx_director_address(n));
}

/* The directors that have addresses; none if one of them could not be looked at. */
static void find_acting(const struct phx_state *s, struct phx_list *ret)
{
	for (const struct phx_node *n = NULL; (n = phx_director_next_acting(s, n));) {
		struct phx_web_table t = {0};
		struct phx_web_share share = {0};
		struct acting *to = phx_list_push(ret, sizeof(*to));
		if (!to || phx_director_order(s, n, &t, &share) < 0) {
			ret->n = 0;
			return;
		}
		PHX_STR_SET(to->node, n->name);
		to->order_id = phx_web_order_id(&t, &share);
		phx_web_table_fini(&t);
		phx_list_fini(&share.held);
	}
}

/* Finds the nodes that wait, and the directors that have addresses; nothing if no node waits. */
static void find_waits(struct directors *b, struct phx_list *waits, struct phx_list *ret_acting)
{
	const struct phx_state *s = engine_lock(b->d->engine);
	if (b->waited || s->seq != b->wait_seq)
		for (const struct phx_node *n = NULL; (n = phx_director_next_leaving(s, n));)
			add_wait(n, waits);
	b->waited = waits->n;
	b->wait_seq = s->seq;
	if (waits->n)
		find_acting(s, ret_acting);
	engine_unlock(b->d->engine);
}

/* Has the director reported since the step began, and is the report what the step waits for? Under
 * the lock. */
static bool is_met(const struct wait *w, const struct director *d, uint64_t table)
{
	if (d->heard_ms <= w->since_ms || d->table_id != table)
		return false;
	if (w->kind == PHX_STEP_settle)
		PHX_LIST_EACH(struct phx_web_server, s, &d->active)
			if (!strcmp(s->address, w->address))
				return false;
	return true;
}

/* By each of the directors? */
static bool is_met_by_all(struct directors *b, const struct wait *w, const struct phx_list *acting)
{
	bool met = true;
	pthread_mutex_lock(&b->lock);
	PHX_LIST_EACH(struct acting, it, acting) {
		const struct director *d = director_of(b, it->node, false);
		met = met && d && is_met(w, d, it->order_id);
	}
	pthread_mutex_unlock(&b->lock);
	return met;
}

static void tell_balanced(struct directors *b, const struct wait *w, const struct phx_list *acting)
{
	const char *director = PHX_LIST_AT(acting, struct acting, 0)->node;
	char others[48] = "";
	if (acting->n > 1)
		snprintf(others, sizeof(others), "; %u other directors neither", acting->n - 1);
	struct phx_event ev = {.kind = PHX_EV_balanced,
			       .answer = {.step_id = w->step_id, .epoch = w->epoch}};
	PHX_STR_SET(ev.by, "phxd");
	PHX_STR_SET(ev.node, w->node);
	snprintf(ev.text, sizeof(ev.text), "%s %s%s", director,
		 w->kind == PHX_STEP_settle ? "counts no connection to it" : "sends it nothing new",
		 others);
	engine_submit(b->d->engine, &ev, NULL, NULL);
}

/* Lets leaving nodes go on that all directors which have addresses have confirmed, and asks these
 * for the others. Returns ms until the next look. */
static int serve_waits(struct directors *b, int64_t now)
{
	PHX_AUTO(phx_list_fini) struct phx_list waits = {0}, acting = {0};
	uint32_t n_met = 0;
	find_waits(b, &waits, &acting);
	if (!acting.n)
		return WAKE_NEVER;
	PHX_LIST_EACH(struct wait, w, &waits) {
		bool met = is_met_by_all(b, w, &acting);
		if (met)
			tell_balanced(b, w, &acting);
		n_met += met;
	}
	if (n_met == waits.n)
		return WAKE_NEVER;
	if (now >= b->ask_ms) {
		b->ask_ms = now + ASK_AGAIN_MS;
		PHX_LIST_EACH(struct acting, it, &acting)
			live_wake(b->d->live, it->node);
	}
	return (int)(b->ask_ms - now);
}

/* Ms until uses are to be sent; WAKE_NEVER: there are none. */
static int uses_due(struct directors *b, int64_t now)
{
	pthread_mutex_lock(&b->lock);
	int ms = !b->due_ms ? WAKE_NEVER : b->due_ms > now ? (int)(b->due_ms - now) : 0;
	pthread_mutex_unlock(&b->lock);
	return ms;
}

int directors_tick(struct directors *b)
{
	int64_t now = engine_now(b->d->engine);
	int ms = wake_directors(b), waits_ms = serve_waits(b, now), uses_ms = uses_due(b, now);
	if (uses_ms == 0) {
		tell_uses(b);
		uses_ms = WAKE_NEVER;
	}
	ms = ms < waits_ms ? ms : waits_ms;
	return ms < uses_ms ? ms : uses_ms;
}
