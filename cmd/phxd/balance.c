/* Web services as phxd sees them between events: the CPU use that instances
 * tell with their beats becomes one event a web RE and heartbeat; directors are
 * woken when the wanted table has changed. Soft state that a restart may lose.
 * Decides nothing: how many instances there are is the core's, and so is the
 * table.
 *
 * Lock order: nothing asks the engine while it holds this lock. */
#include "phxd/daemon.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

enum { TICK_MS = 100, USE_MAX_PPM = 1000000 };

/* What was measured of one web RE since the last event. */
struct use {
	char re[PHX_NAME_MAX];
	uint64_t sum_ppm;
	uint32_t n;
};

struct balance {
	struct daemon *d;
	pthread_mutex_t lock;
	struct phx_list uses; /* struct use */
	/* of the loop's thread alone */
	int64_t due_ms;
	uint64_t seq; /* the state whose table was last looked at */
	uint64_t table_id;
	char acting[PHX_NAME_MAX];
};

int balance_new(struct daemon *d, struct balance **ret)
{
	struct balance *b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->d = d;
	pthread_mutex_init(&b->lock, NULL);
	*ret = b;
	return 0;
}

void balance_free(struct balance *b)
{
	if (!b)
		return;
	phx_list_fini(&b->uses);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

/* ---- use ---- */

static bool counts_use(const struct phx_re *re)
{
	return re->agreement.type == PHX_RE_WEB &&
	       (re->state == PHX_RE_STATE_RUNNING || re->state == PHX_RE_STATE_SUSPENDED);
}

/* The web RE that the node serves now. */
static bool re_of(struct daemon *d, const char *node, char ret[PHX_NAME_MAX])
{
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_node *n = phx_state_node(s, node);
	const struct phx_re *re = n && n->share == PHX_SHARE_HELD ? phx_state_re(s, n->share_re) : NULL;
	bool counts = re && counts_use(re);
	if (counts)
		phx_str_copy(ret, PHX_NAME_MAX, re->name);
	engine_unlock(d->engine);
	return counts;
}

static struct use *use_of(struct balance *b, const char *re)
{
	PHX_LIST_EACH(struct use, u, &b->uses)
		if (!strcmp(u->re, re))
			return u;
	struct use *u = phx_list_push(&b->uses, sizeof(*u));
	if (u)
		PHX_STR_SET(u->re, re);
	return u;
}

void balance_sample(struct balance *b, const char *node, const json_t *monitor)
{
	char re[PHX_NAME_MAX];
	int64_t ppm = phx_json_int(monitor, "web_use_ppm", -1);
	if (ppm < 0 || !re_of(b->d, node, re))
		return;
	pthread_mutex_lock(&b->lock);
	struct use *u = use_of(b, re);
	if (u) {
		u->sum_ppm += ppm < USE_MAX_PPM ? (uint64_t)ppm : USE_MAX_PPM;
		u->n++;
	}
	pthread_mutex_unlock(&b->lock);
}

static struct phx_list take_uses(struct balance *b)
{
	pthread_mutex_lock(&b->lock);
	struct phx_list taken = b->uses;
	b->uses = (struct phx_list){ 0 };
	pthread_mutex_unlock(&b->lock);
	return taken;
}

/* An RE that ended meanwhile refuses its sample, and that is that. */
static void tell_uses(struct balance *b)
{
	struct phx_list uses = take_uses(b);
	PHX_LIST_EACH(struct use, u, &uses)
	{
		struct phx_event ev = { .kind = PHX_EV_re_use, .use_ppm = (uint32_t)(u->sum_ppm / u->n) };
		PHX_STR_SET(ev.by, "phxd");
		PHX_STR_SET(ev.re, u->re);
		engine_submit(b->d->engine, &ev, NULL, NULL);
	}
	phx_list_fini(&uses);
}

/* ---- tables ---- */

/* Is the table another one than when this was last asked, or the director? */
static bool changed(struct balance *b, const struct phx_state *s)
{
	PHX_AUTO(phx_web_table_fini) struct phx_web_table t = { 0 };
	const struct phx_node *n = phx_core_acting_director(s);
	const char *acting = n ? n->name : "";
	if (s->seq == b->seq || phx_core_web_table(s, &t) < 0)
		return false;
	uint64_t id = phx_web_table_id(&t);
	bool is = id != b->table_id || strcmp(acting, b->acting) != 0;
	b->seq = s->seq;
	b->table_id = id;
	PHX_STR_SET(b->acting, acting);
	return is;
}

/* Names of the directors that have to hear of it. */
static void changed_for(struct balance *b, struct phx_list *ret_names)
{
	const struct phx_state *s = engine_lock(b->d->engine);
	if (changed(b, s))
		PHX_LIST_EACH(struct phx_node, n, &s->nodes)
		{
			struct phx_word *w =
				phx_core_is_director(s, n) ? phx_list_push(ret_names, sizeof(*w)) : NULL;
			if (w)
				PHX_STR_SET(w->text, n->name);
		}
	engine_unlock(b->d->engine);
}

static void wake_directors(struct balance *b)
{
	PHX_AUTO(phx_list_fini) struct phx_list names = { 0 };
	changed_for(b, &names);
	PHX_LIST_EACH(struct phx_word, w, &names)
		live_wake(b->d->live, w->text);
}

int balance_tick(struct balance *b)
{
	int64_t now = engine_now(b->d->engine);
	wake_directors(b);
	if (now >= b->due_ms) {
		b->due_ms = now + b->d->cfg.heartbeat_ms;
		tell_uses(b);
	}
	return TICK_MS;
}

void api_balance(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	PHX_AUTO(phx_web_table_fini) struct phx_web_table t = { 0 };
	const struct phx_state *s = engine_lock(d->engine);
	int r = phx_core_web_table(s, &t);
	engine_unlock(d->engine);
	PHX_AUTO_JSON json_t *j = r == 0 ? phx_json_from_record(&phx_web_table_record, &t) : NULL;
	if (j)
		phx_http_reply_json(q, 200, j);
	else
		phx_http_reply_error(q, -ENOMEM, "out of memory");
}
