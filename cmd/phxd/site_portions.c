/* When is a portion of nodes over that were told the settings of the site? The core decides
 * (core/site.h) from what agents say of themselves in their beats, which is in no journal; here it
 * is put together, whenever one of them stands otherwise, the journal has gone on, or the time of
 * the portion is up. Called by the loop. */
#include <errno.h>
#include <stdatomic.h>

#include "core/site.h"
#include "phxd/beat.h"
#include "phxd/site_internal.h"

enum { LOOK_MS = 500 };

struct site_portions {
	struct daemon *d;
	atomic_bool news;
	uint64_t seq;     /* of the journal when it was looked at */
	int64_t next_ms;  /* core time: when it may be looked at again */
	int64_t until_ms; /* the same: when a portion may take no longer; INT64_MAX: none is */
};

int site_portions_new(struct daemon *d, struct site_portions **ret)
{
	struct site_portions *p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->d = d;
	p->news = true;
	*ret = p;
	return 0;
}

void site_portions_free(struct site_portions *p)
{
	free(p);
}

void site_portions_heard(struct site_portions *p)
{
	p->news = true;
	wake_in(p->d->wake, LOOK_MS);
}

/* ---- a look ---- */

/* A node of the portion. */
struct part {
	struct site_facts facts; /* of one that is to have no bundle now, the name alone */
	bool has;
};

static void parts_fini(struct phx_list *parts)
{
	PHX_LIST_EACH(struct part, p, parts)
		site_facts_fini(&p->facts);
	phx_list_fini(parts);
}

/* Under the engine's lock. */
static int copy_parts(const struct phx_state *s, struct phx_list *ret)
{
	PHX_SITE_PORTION_EACH(n, s) {
		struct part *to = phx_list_push(ret, sizeof(*to));
		if (!to)
			return -ENOMEM;
		to->has = n->up && n->env == PHX_ENV_OS && site_facts_of(s, n, &to->facts);
		if (!to->has)
			PHX_STR_SET(to->facts.name, n->name);
	}
	return 0;
}

static int hear(struct daemon *d, const struct part *p, struct phx_list *ret)
{
	char error[BEAT_ERROR_MAX] = "";
	enum site_standing is = p->has ? site_standing_of(d, &p->facts, error) : SITE_NONE;
	struct phx_site_heard *to = phx_list_push(ret, sizeof(*to));
	if (!to)
		return -ENOMEM;
	PHX_STR_SET(to->node, p->facts.name);
	if (p->has && live_site(d->live, p->facts.name, error) == LIVE_SITE_UNHEARD)
		is = SITE_APPLYING; /* of a head that has just started */
	phx_str_copy(to->why, sizeof(to->why), error);
	to->stands = is == SITE_FAILED ? PHX_SITE_STANDS_FAILED
		: is == SITE_APPLYING  ? PHX_SITE_STANDS_APPLYING
				       : PHX_SITE_STANDS_DONE;
	return 0;
}

/* Is it over? Bundles are made without the engine's lock. */
static bool is_over(struct site_portions *p, int64_t now, struct phx_event *ret)
{
	struct engine *e = p->d->engine;
	struct phx_list parts = {0}, heard = {0};
	const struct phx_state *s = engine_lock(e);
	bool under_way = phx_site_in_portions(&s->site), over = false;
	p->until_ms = under_way ? phx_site_portion_until(&s->site) : INT64_MAX;
	int r = under_way ? copy_parts(s, &parts) : -ENOENT;
	engine_unlock(e);
	PHX_LIST_EACH(struct part, part, &parts)
		r = r ? r : hear(p->d, part, &heard);
	if (r == 0) {
		s = engine_lock(e);
		over = phx_site_portion_over(s, &heard, now, ret);
		engine_unlock(e);
	}
	parts_fini(&parts);
	phx_list_fini(&heard);
	return over;
}

/* The portion that has begun is to ask. */
static void wake_portion(struct daemon *d)
{
	PHX_AUTO(phx_list_fini) struct phx_list names = {0};
	const struct phx_state *s = engine_lock(d->engine);
	PHX_SITE_PORTION_EACH(n, s)
		tell_put_name(&names, n->name);
	engine_unlock(d->engine);
	PHX_LIST_EACH(struct phx_word, w, &names)
		live_wake(d->live, w->text);
}

/* Nobody applies other settings meanwhile. */
static void look(struct site_portions *p, int64_t now)
{
	struct phx_event ev = {0};
	if (!is_over(p, now, &ev))
		return;
	PHX_STR_SET(ev.by, "phxd");
	if (engine_submit(p->d->engine, &ev, NULL, NULL) == 0)
		wake_portion(p->d);
	phx_event_fini(&ev);
}

static int until_due(const struct site_portions *p, int64_t now)
{
	int64_t left = p->until_ms - now;
	return p->until_ms == INT64_MAX ? WAKE_NEVER : left > LOOK_MS ? (int)left : LOOK_MS;
}

int site_portions_tick(struct site_portions *p)
{
	int64_t now = engine_now(p->d->engine);
	uint64_t seq = phx_store_last(engine_store(p->d->engine));
	if (!p->news && seq == p->seq && now < p->until_ms)
		return until_due(p, now);
	if (now < p->next_ms)
		return (int)(p->next_ms - now);
	p->next_ms = now + LOOK_MS;
	if (!site_turn_try(p->d->site))
		return LOOK_MS;
	p->news = false;
	p->seq = seq;
	look(p, now);
	site_turn_end(p->d->site);
	return until_due(p, now);
}
