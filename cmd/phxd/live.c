/* Liveness and long polls: soft state that a restart may lose. A beat without news never touches
 * the core; silence and changes do. Called by the API's threads and the loop. Uses the monotonic
 * clock: nobody can set how long a node was silent. A timer wheel holds each contact at or before
 * the time when something is due for it; the loop handles those that come, and sleeps until then.
 *
 * libmicrohttpd looks at all polls of a thread whenever it answers some of them, and an answered
 * agent asks again at once. So polls of one thread are answered together (they have a phase of the
 * wheel in common), and threads by turns: a reader finds a processor that is free.
 *
 * Lock order: the engine's, then this one's (the API shows monitors under the engine's lock). So
 * nothing asks the engine while it holds this lock. */
#include "phxd/live_internal.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "phxd/site.h"

enum {
	BACK_MS = 10, /* nodes that return together are told together */
	LOOK_AGAIN_MS = 5000,
};

/* What one agent may have journalled at once; a byte a millisecond is forgotten. The journal keeps
 * everything, and a node gone mad (or bad) must not fill the head's disk. */
enum { TELL_BYTES_MAX = 4 << 20, REPORT_BYTES = 1024 };

int live_new(struct daemon *d, live_orders_fn orders, struct live **ret)
{
	struct live *l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->d = d;
	l->orders = orders;
	phx_wheel_init(&l->wheel, phx_clock_ms());
	pthread_mutex_init(&l->lock, NULL);
	*ret = l;
	return 0;
}

static struct contact *contact_at(const struct live *l, uint32_t i)
{
	return *PHX_LIST_AT(&l->contacts, struct contact *, i);
}

struct contact *live_find(const struct live *l, const char *node)
{
	uint32_t hash = phx_hash_text(node), i;
	for (uint32_t at = hash; phx_hash_next(&l->places, hash, &at, &i);)
		if (!strcmp(contact_at(l, i)->node, node))
			return contact_at(l, i);
	return NULL;
}

/* ---- the wheel: all under the lock ---- */

/* How much of the node's silence was the head's fault. */
static int64_t own_ms(const struct live *l, const struct contact *c)
{
	return phx_lateness_own_ms(&l->late, c->away_ms, l->d->cfg.missing_after_ms);
}

/* When something is due for it; INT64_MAX: never. */
static int64_t due_of(const struct live *l, const struct contact *c)
{
	const struct phx_config *cfg = &l->d->cfg;
	int64_t quiet_ms = phx_config_quiet_ms(cfg), missing_ms = cfg->missing_after_ms;
	int64_t after_ms = c->quiet || missing_ms < quiet_ms ? missing_ms : quiet_ms;
	int64_t silent_ms = c->missing ? INT64_MAX : c->heard_ms + own_ms(l, c) + after_ms + 1;
	silent_ms = silent_ms > c->again_ms ? silent_ms : c->again_ms;
	return c->held && c->held_until_ms < silent_ms ? c->held_until_ms : silent_ms;
}

/* Has the contact come when something is due for it, or earlier. */
static void put_in(struct live *l, struct contact *c)
{
	int64_t due_ms = due_of(l, c);
	if (due_ms == INT64_MAX)
		return;
	int phase = c->held ? (int)phx_http_thread(c->held) : PHX_WHEEL_ANY;
	int64_t comes_ms = phx_wheel_put(&l->wheel, &c->due, due_ms, phase);
	if (comes_ms != INT64_MAX)
		wake_in(l->d->wake, (int)(comes_ms - phx_clock_ms()));
}

/* ---- contacts ---- */

struct contact *live_contact(struct live *l, const char *node, int64_t now)
{
	struct contact *c = live_find(l, node);
	bool room = c || phx_hash_reserve(&l->places, l->contacts.n + 1) == 0;
	if (c || !room || !(c = calloc(1, sizeof(*c))))
		return c;
	struct contact **to = phx_list_push(&l->contacts, sizeof(*to));
	if (!to) {
		free(c);
		return NULL;
	}
	*to = c;
	c->place = l->contacts.n - 1;
	phx_hash_put(&l->places, phx_hash_text(node), c->place);
	PHX_STR_SET(c->node, node);
	c->fresh = c->wake = true;
	c->heard_ms = now;
	c->away_ms = l->late.away_ms;
	c->use_ppm = -1;
	c->site = LIVE_SITE_UNHEARD;
	put_in(l, c);
	return c;
}

/* Removes it from the table; the last one takes its place. */
static void remove_contact(struct live *l, struct contact *c)
{
	struct contact *last = contact_at(l, --l->contacts.n);
	phx_hash_drop(&l->places, phx_hash_text(last->node), last->place);
	if (last == c)
		return;
	phx_hash_drop(&l->places, phx_hash_text(c->node), c->place);
	last->place = c->place;
	*PHX_LIST_AT(&l->contacts, struct contact *, last->place) = last;
	phx_hash_put(&l->places, phx_hash_text(last->node),
		     last->place); /* a slot has become free */
}

static void free_contact(struct contact *c)
{
	if (!c)
		return;
	phx_list_fini(&c->running);
	free(c->monitor);
	free(c->sessions);
	free(c->use_error);
	free(c->site_error);
	free(c);
}

/* Under the lock. */
static bool hear(struct live *l, struct contact *c, int64_t now)
{
	bool tell = c->missing || c->fresh || c->quiet;
	if (c->free_ms && !c->missing && !c->fresh)
		phx_lateness_read(&l->late, c->free_ms, now, l->d->cfg.missing_after_ms);
	c->heard_ms = now;
	c->away_ms = l->late.away_ms;
	c->free_ms = 0;
	c->missing = c->fresh = c->quiet = false;
	put_in(l, c);
	return tell;
}

bool live_heard(struct live *l, const char *node)
{
	int64_t now = phx_clock_ms();
	pthread_mutex_lock(&l->lock);
	struct contact *c = live_contact(l, node, now);
	bool tell = c && hear(l, c, now);
	pthread_mutex_unlock(&l->lock);
	return tell;
}

/* Under the lock. */
static bool may_tell(struct contact *c, size_t bytes, int64_t now)
{
	int64_t forgotten = now - c->told_ms;
	c->told_bytes = c->told_bytes > forgotten ? c->told_bytes - forgotten : 0;
	c->told_ms = now;
	if (c->told_bytes + (int64_t)bytes > TELL_BYTES_MAX)
		return false;
	c->told_bytes += (int64_t)bytes;
	return true;
}

bool live_may_tell(struct live *l, const char *node, size_t bytes)
{
	int64_t now = phx_clock_ms();
	pthread_mutex_lock(&l->lock);
	struct contact *c = live_contact(l, node, now);
	bool may = !c || may_tell(c, bytes, now);
	pthread_mutex_unlock(&l->lock);
	return may;
}

/* Under the lock: does it differ from the report that the core was told? Remembers it. */
static bool changes(struct contact *c, const struct beat_report *r, int64_t now)
{
	bool same = c->reported && !memcmp(&c->report, r, sizeof(*r));
	if (same || !may_tell(c, REPORT_BYTES, now))
		return false;
	c->reported = true;
	c->report = *r;
	return true;
}

static void keep_error(char **to, const char *text)
{
	free(*to);
	*to = text[0] ? strdup(text) : NULL;
}

/* Under the lock: does it stand otherwise with the settings of the site than before? */
static bool measure(struct contact *c, struct beat *b)
{
	free(c->monitor);
	free(c->sessions);
	c->monitor = PHX_TAKE(b->monitor);
	c->sessions = PHX_TAKE(b->sessions);
	c->use_ppm = b->use_ppm;
	keep_error(&c->use_error, b->use_error);
	const struct beat_running *site = beat_running_of(&b->running, PHX_ORDER_site);
	int64_t id = site ? site->id : LIVE_SITE_NONE;
	bool same = c->site == id && phx_str_eq(c->site_error ? c->site_error : "", b->site_error);
	c->site = id;
	keep_error(&c->site_error, b->site_error);
	return !same;
}

struct live_news live_beat(struct live *l, const char *node, struct beat *b)
{
	int64_t now = phx_clock_ms();
	struct live_news news = {0};
	pthread_mutex_lock(&l->lock);
	struct contact *c = live_contact(l, node, now);
	if (c) {
		if (b->version[0])
			PHX_STR_SET(c->version, b->version);
		news.site = measure(c, b);
		news.back = hear(l, c, now);
		news.report = changes(c, &b->report, now);
		/* an answer may have been lost: look now and then anyway */
		news.look = c->wake || now - c->looked_ms > LOOK_AGAIN_MS;
		c->looked_ms = news.look ? now : c->looked_ms;
		c->wake = false;
	}
	pthread_mutex_unlock(&l->lock);
	return news;
}

static void untold(struct live *l, const char *node, int64_t again_ms)
{
	pthread_mutex_lock(&l->lock);
	struct contact *c = live_find(l, node);
	if (c) {
		c->again_ms = again_ms;
		c->fresh = true;
		c->missing = c->quiet = c->reported = false;
		put_in(l, c);
	}
	pthread_mutex_unlock(&l->lock);
}

void live_untold(struct live *l, const char *node)
{
	untold(l, node, 0);
}

/* ---- long polls ---- */

static const char no_orders[] = "{\"orders\":[]}";

/* A poll to answer, taken out of the table so that the reply is sent without the lock. */
struct release {
	struct phx_http_request *q;
	struct phx_list running;
};

static struct release take_held(struct contact *c)
{
	struct release r = {c->held, c->running};
	c->held = NULL;
	c->running = (struct phx_list){0};
	c->free_ms = r.q ? phx_clock_ms() : c->free_ms;
	return r;
}

static void answer_empty(struct release r)
{
	phx_http_reply_all(&r.q, r.q ? 1 : 0, no_orders);
	phx_list_fini(&r.running);
}

/* False, without an answer, if there are no orders. */
static bool answer_orders(struct live *l, const char *node, const struct release *r)
{
	struct phx_buf b = {0};
	phx_buf_addf(&b, "{\"orders\":[");
	size_t none = b.n;
	l->orders(l->d, node, phx_http_peer(r->q)->cert.fingerprint, &r->running, &b);
	bool some = b.n > none || b.failed;
	phx_buf_addf(&b, "]}");
	if (some)
		phx_http_reply_json_text(r->q, 200, phx_buf_take(&b));
	phx_buf_fini(&b);
	return some;
}

/* Puts the suspended poll where live_wake() finds it. Returns the poll that must be answered at
 * once instead: the one that was held before, or `new` if it cannot be held. */
static struct release hold(struct live *l, const char *node, struct release new, int64_t wait_ms,
			   bool *ret_again)
{
	int64_t now = phx_clock_ms();
	*ret_again = false;
	pthread_mutex_lock(&l->lock);
	struct contact *c = l->stopped ? NULL : live_contact(l, node, now);
	struct release old = new;
	if (c) {
		old = take_held(c);
		c->held = new.q;
		c->held_until_ms = now + wait_ms;
		c->running = new.running;
		*ret_again = c->wake;
		put_in(l, c);
	}
	pthread_mutex_unlock(&l->lock);
	return old;
}

void live_hold(struct live *l, const char *node, struct phx_http_request *q,
	       struct phx_list *running, bool look, int64_t wait_ms)
{
	struct release new = {q, *running};
	bool again;
	*running = (struct phx_list){0};
	if (look && answer_orders(l, node, &new)) {
		phx_list_fini(&new.running);
	} else if (wait_ms <= 0) {
		answer_empty(new);
	} else {
		phx_http_drop_body(q);
		phx_http_suspend(q);
		answer_empty(hold(l, node, new, wait_ms, &again));
		if (again)
			live_wake(l, node);
	}
}

void live_wake(struct live *l, const char *node)
{
	int64_t now = phx_clock_ms();
	pthread_mutex_lock(&l->lock);
	struct contact *c = live_contact(l, node, now);
	struct release r = {0};
	if (c) {
		r = take_held(c);
		c->wake = !r.q;
		c->looked_ms = now;
	}
	pthread_mutex_unlock(&l->lock);
	if (r.q && !answer_orders(l, node, &r))
		answer_empty(r);
	else
		phx_list_fini(&r.running);
}

void live_forget_gone(struct live *l, const char *node)
{
	struct release r = {0};
	const struct phx_state *s = engine_lock(l->d->engine);
	bool there = phx_state_node(s, node);
	engine_unlock(l->d->engine);
	if (there)
		return;
	pthread_mutex_lock(&l->lock);
	struct contact *gone = live_find(l, node);
	if (gone) {
		r = take_held(gone);
		phx_wheel_out(&l->wheel, &gone->due);
		remove_contact(l, gone);
	}
	pthread_mutex_unlock(&l->lock);
	answer_empty(r);
	free_contact(gone);
}

/* ---- time ---- */

/* Names (struct phx_word) of nodes to tell the core about. */
struct told {
	struct phx_list quiet, missing, back;
};

void live_back(struct live *l, const char *node)
{
	pthread_mutex_lock(&l->lock);
	tell_put_name(&l->back, node); /* without memory, its next beat finds it down */
	pthread_mutex_unlock(&l->lock);
	wake_in(l->d->wake, BACK_MS);
}

/* What is not journalled is noticed again, but not at once, unless the node is gone. */
static void tell(struct live *l, int kind, struct phx_list *names)
{
	tell_nodes(l->d, kind, names);
	PHX_LIST_EACH(struct phx_word, w, names) {
		live_forget_gone(l, w->text);
		untold(l, w->text, phx_clock_ms() + LOOK_AGAIN_MS);
	}
	phx_list_fini(names);
}

/* Adds nodes that the core believes up but were never heard: their silence counts from now. */
static void adopt_nodes(struct live *l)
{
	PHX_AUTO(phx_list_fini) struct phx_list names = {0};
	tell_up_nodes(l->d, &names);
	int64_t now = phx_clock_ms();
	pthread_mutex_lock(&l->lock);
	PHX_LIST_EACH(struct phx_word, w, &names)
		live_contact(l, w->text, now);
	pthread_mutex_unlock(&l->lock);
}

/* A missing node counts as quiet, too. Under the lock. */
static void look_for_silence(const struct live *l, struct contact *c, int64_t now, struct told *t)
{
	const struct phx_config *cfg = &l->d->cfg;
	int64_t silent_ms = now - c->heard_ms - own_ms(l, c);
	bool missing = silent_ms > cfg->missing_after_ms,
	     quiet = silent_ms > phx_config_quiet_ms(cfg);
	if (c->missing || (c->quiet && !missing) || (!missing && !quiet))
		return;
	if (tell_put_name(missing ? &t->missing : &t->quiet, c->node) < 0)
		return; /* the next look finds it again */
	c->quiet = true;
	c->missing = missing;
}

static struct contact *contact_of_entry(struct phx_wheel_entry *e)
{
	return (struct contact *)((char *)e - offsetof(struct contact, due));
}

/* Looks at all contacts whose time has come, and puts them in again. Under the lock. */
static void turn_wheel(struct live *l, int64_t now, struct phx_list *overdue, struct told *t)
{
	for (struct phx_wheel_entry *e = phx_wheel_turn(&l->wheel, now), *next; e; e = next) {
		struct contact *c = contact_of_entry(e);
		next = e->next;
		e->next = NULL;
		struct phx_http_request **q = c->held && now >= c->held_until_ms
			? phx_list_push(overdue, sizeof(*q))
			: NULL;
		if (q) {
			struct release r = take_held(c);
			*q = r.q;
			phx_list_fini(&r.running);
		}
		look_for_silence(l, c, now, t);
		put_in(l, c);
	}
}

int live_tick(struct live *l, int64_t due_ms)
{
	PHX_AUTO(phx_list_fini) struct phx_list overdue = {0};
	struct told t = {0};
	if (!l->adopted)
		adopt_nodes(l);
	l->adopted = true;
	int64_t now = phx_clock_ms();
	pthread_mutex_lock(&l->lock);
	phx_lateness_turned(&l->late, due_ms, now);
	turn_wheel(l, now, &overdue, &t);
	t.back = l->back;
	l->back = (struct phx_list){0};
	int64_t next_ms = phx_wheel_next_ms(&l->wheel);
	pthread_mutex_unlock(&l->lock);
	phx_http_reply_all(overdue.items, overdue.n, no_orders);
	tell(l, PHX_EV_back, &t.back);
	tell(l, PHX_EV_quiet, &t.quiet);
	tell(l, PHX_EV_missing, &t.missing);
	return next_ms == INT64_MAX ? WAKE_NEVER : (int)(next_ms - now);
}

/* Takes out any held poll; none is held from now on. */
static struct release take_any(struct live *l)
{
	struct release r = {0};
	pthread_mutex_lock(&l->lock);
	l->stopped = true;
	for (uint32_t i = 0; i < l->contacts.n && !r.q; i++)
		r = take_held(contact_at(l, i));
	pthread_mutex_unlock(&l->lock);
	return r;
}

void live_stop(struct live *l)
{
	for (struct release r; l && (r = take_any(l)).q;)
		answer_empty(r);
}

void live_free(struct live *l)
{
	if (!l)
		return;
	for (uint32_t i = 0; i < l->contacts.n; i++) {
		answer_empty(take_held(contact_at(l, i)));
		free_contact(contact_at(l, i));
	}
	phx_list_fini(&l->contacts);
	phx_hash_fini(&l->places);
	phx_list_fini(&l->back);
	pthread_mutex_destroy(&l->lock);
	free(l);
}
