/* One outlet: reads the journal from where it is, and tells it what is news for it, an event after
 * the other.
 *
 *   read some ──▶ tell one ──ok──▶ the cursor moves ──▶ the next
 *                   │  ▲
 *             failed│  │ after 1 s, later up to 5 min; older than event_keep_h: dropped, and said;
 *                   │  │ refused event_tries times and for event_refused_s: put aside, and said
 *                   ▼  │
 *                  waits
 *
 * The journal is not read while anything is told, so that nobody keeps it from being checkpointed.
 * Nothing here is called with the engine's lock. */
#include "phxd/outlets_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/utf8.h"

enum {
	BATCH = 32,            /* events that are kept in memory at once */
	BATCH_BYTES = 1 << 20, /* likewise */
	LOOKED_MAX = 2000,     /* events, in one reading */
	SAVE_MS = 1000,        /* the cursor is written so often at most */
	IDLE_SAVE_MS = 60000,  /* where nothing was told meanwhile */
	LINGER_MS = 10000,     /* its process is kept so long with nothing to tell */
	AGAIN_MS = 1000,
	AGAIN_MOST_MS = 300000,
	HOUR_MS = 3600 * 1000,
};

static const char *what_of(const struct outlet *x)
{
	static const char *const what[] = {"the system's log", "the program of event_dir",
					   "the webhook"};
	return what[x->kind];
}

/* ---- its process ---- */

static int start(struct daemon *d, enum outlet_process which, int *ret_fd, struct phx_err *err)
{
	return which == OUTLET_PROGRAMS ? launch_programs(d->launch, ret_fd, err)
					: launch_webhooks(d->launch, ret_fd, err);
}

int outlet_process(struct daemon *d, enum outlet_process which, struct phx_apart **ret,
		   int *ret_stop, struct phx_err *err)
{
	const struct phx_apart_config config = {.what = "the process that tells of events",
						.answer_ms = PHX_OUTLET_TIMEOUT_MAX_S * 1000 +
							PHX_OUTLET_SLACK_MS,
						.body_max = PHX_OUTLET_BODY_MAX};
	int fd, r = start(d, which, &fd, err);
	if (r < 0)
		return r;
	int stop = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	r = phx_apart_take(&config, fd, ret);
	if (r < 0 || stop < 0) {
		if (stop >= 0)
			close(stop);
		if (r == 0)
			phx_apart_end(PHX_TAKE(*ret));
		return r ? r : -EMFILE;
	}
	*ret_stop = stop;
	return 0;
}

static void end_process(struct outlet *x)
{
	pthread_mutex_lock(&x->o->lock);
	int stop = x->stop_fd;
	x->stop_fd = 0;
	pthread_mutex_unlock(&x->o->lock);
	if (stop)
		close(stop);
	phx_apart_end(PHX_TAKE(x->process));
}

static int need_process(struct outlet *x, struct phx_err *err)
{
	int stop = 0,
	    r = x->process
		? 0
		: outlet_process(x->o->d,
				 x->kind == OUTLET_PROGRAM ? OUTLET_PROGRAMS : OUTLET_WEBHOOKS,
				 &x->process, &stop, err);
	if (r < 0 || x->stop_fd)
		return r;
	pthread_mutex_lock(&x->o->lock);
	x->stop_fd = stop;
	if (x->ended)
		shutdown(stop, SHUT_RDWR);
	pthread_mutex_unlock(&x->o->lock);
	return 0;
}

/* ---- telling ---- */

static int ask(struct outlet *x, const struct phx_news *n, struct phx_err *err)
{
	struct phx_apart_question q = {.op = PHX_OUTLET_run,
				       .number = x->timeout_ms,
				       .body = n->json,
				       .n = (uint32_t)strlen(n->json)};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	if (x->kind == OUTLET_WEBHOOK) {
		q.op = PHX_OUTLET_post;
		q.number = n->seq;
	}
	PHX_STR_SET(q.name, x->name);
	int r = need_process(x, err);
	r = r ? r : phx_apart_ask(x->process, &q, x->timeout_ms + PHX_OUTLET_SLACK_MS, &reply, err);
	/* it has ended, or does not answer: the next attempt has a new one */
	if (r == -EPIPE || r == -EPROTO || r == -ETIMEDOUT)
		end_process(x);
	return r;
}

static int tell(struct outlet *x, const struct phx_news *n, struct phx_err *err)
{
	if (x->kind != OUTLET_LOG)
		return ask(x, n, err);
	int r = phx_news_log(n);
	return r < 0 ? phx_err_set(err, r, "the system's log takes nothing: %s", strerror(-r)) : 0;
}

/* Journals what people must know, at most once an hour: such an event is told, too. */
static bool may_say(int64_t *said_ms)
{
	int64_t now = phx_clock_ms();
	bool may = !*said_ms || now - *said_ms >= HOUR_MS;
	if (may)
		*said_ms = now;
	return may;
}

static void say(struct outlet *x, const char *text)
{
	if (may_say(&x->said_ms))
		engine_notice(x->o->d->engine, "", text);
}

static void note_failure(struct outlet *x, int r, const struct phx_err *err)
{
	char text[400];
	pthread_mutex_lock(&x->o->lock);
	bool first = !x->error[0];
	snprintf(x->error, sizeof(x->error), "%s", err->text[0] ? err->text : strerror(-r));
	phx_utf8_repair(x->error);
	if (first)
		x->since_ms = phx_wall_ms();
	x->attempts++;
	bool ended = x->ended;
	snprintf(text, sizeof(text), "%s %s is not told what happens: %s", what_of(x), x->name,
		 x->error);
	pthread_mutex_unlock(&x->o->lock);
	if (first && !ended)
		say(x, text);
}

static void note_success(struct outlet *x)
{
	pthread_mutex_lock(&x->o->lock);
	x->error[0] = '\0';
	x->since_ms = 0;
	x->attempts = 0;
	x->told++;
	pthread_mutex_unlock(&x->o->lock);
}

static void note_dropped(struct outlet *x, uint64_t n, const char *why)
{
	char text[400];
	pthread_mutex_lock(&x->o->lock);
	x->dropped += n;
	snprintf(text, sizeof(text),
		 "%s %s was not told of %llu events of the journal, the last is number %llu: %s",
		 what_of(x), x->name, (unsigned long long)x->dropped,
		 (unsigned long long)(x->cursor + n), why);
	pthread_mutex_unlock(&x->o->lock);
	say(x, text);
}

/* Each is said in phxd's own log, and once an hour how many they are: an outlet that refuses
 * everything is told of that, too. */
static void note_aside(struct outlet *x, uint64_t seq)
{
	char text[600];
	pthread_mutex_lock(&x->o->lock);
	x->aside++;
	x->aside_seq = seq;
	memcpy(x->aside_error, x->error, sizeof(x->aside_error));
	x->error[0] = '\0';
	x->since_ms = 0;
	x->attempts = 0;
	snprintf(text, sizeof(text),
		 "%s %s refuses events again and again, and is told the next ones: %llu were put "
		 "aside since phxd started, the last is number %llu: %s",
		 what_of(x), x->name, (unsigned long long)x->aside, (unsigned long long)seq,
		 x->aside_error);
	pthread_mutex_unlock(&x->o->lock);
	if (may_say(&x->aside_said_ms))
		engine_notice(x->o->d->engine, "", text);
	else
		fprintf(stderr, "phxd: %s\n", text);
}

/* Waits for `ms`; false: it was ended. */
static bool rest(struct outlet *x, uint32_t ms)
{
	int64_t until = phx_clock_ms() + ms;
	pthread_mutex_lock(&x->o->lock);
	while (!x->ended && !x->kicked && phx_cond_until(&x->o->news, &x->o->lock, until))
		;
	x->kicked = false;
	bool goes_on = !x->ended;
	pthread_mutex_unlock(&x->o->lock);
	return goes_on;
}

static bool is_over(struct outlet *x)
{
	pthread_mutex_lock(&x->o->lock);
	bool ended = x->ended;
	pthread_mutex_unlock(&x->o->lock);
	return ended;
}

static bool is_too_old(const struct outlet *x, int64_t time_ms)
{
	return phx_wall_ms() - time_ms > (int64_t)x->o->d->cfg.event_keep_h * HOUR_MS;
}

/* How an event was refused so far. */
struct refusals {
	uint32_t n;
	int64_t first_ms;
};

/* Was it refused so often and so long that it is put aside? An outlet that cannot be reached does
 * not say anything about the event. */
static bool is_refused(const struct outlet *x, int r, struct refusals *f)
{
	const struct phx_config *cfg = &x->o->d->cfg;
	int64_t now = phx_clock_ms();
	if (r != -EBADMSG || x->kind == OUTLET_LOG)
		return false;
	f->first_ms = f->n++ ? f->first_ms : now;
	return f->n >= cfg->event_tries && now - f->first_ms >= cfg->event_refused_s * 1000ll;
}

enum { TOLD, TOO_OLD, REFUSED };

/* One of these; -ECANCELED: ended before. */
static int tell_until_told(struct outlet *x, const struct phx_news *n)
{
	struct phx_again again = {AGAIN_MS, AGAIN_MOST_MS, 0};
	struct refusals refusals = {0};
	for (;;) {
		struct phx_err err = {0};
		if (is_too_old(x, n->time_ms))
			return TOO_OLD;
		int r = tell(x, n, &err);
		if (r == 0)
			return TOLD;
		if (is_over(x))
			return -ECANCELED;
		note_failure(x, r, &err);
		if (is_refused(x, r, &refusals))
			return REFUSED;
		if (!rest(x, phx_again_ms(&again)))
			return -ECANCELED;
	}
}

/* ---- how far it is ---- */

static void save(struct outlet *x)
{
	struct phx_cursor c = {.seq = x->cursor};
	struct phx_err err = {0};
	PHX_STR_SET(c.journal, phx_store_id(engine_store(x->o->d->engine)));
	int r = x->saved == x->cursor ? 0 : phx_cursor_write(x->cursor_path, &c, &err);
	if (r == 0)
		x->saved = x->cursor;
	else
		note_failure(x, r, &err);
	x->saved_ms = phx_clock_ms();
}

static void move_to(struct outlet *x, uint64_t seq)
{
	pthread_mutex_lock(&x->o->lock);
	x->cursor = seq > x->cursor ? seq : x->cursor;
	pthread_mutex_unlock(&x->o->lock);
}

static void save_in_time(struct outlet *x, int64_t every_ms)
{
	if (phx_clock_ms() - x->saved_ms >= every_ms)
		save(x);
}

void outlet_begin(struct outlet *x)
{
	struct phx_cursor c = {0};
	struct phx_err err = {0};
	uint64_t last = phx_store_last(engine_store(x->o->d->engine));
	int r = phx_cursor_read(x->cursor_path, &c, &err);
	bool ours = r == 0 && !strcmp(c.journal, phx_store_id(engine_store(x->o->d->engine)));
	if (r < 0 && r != -ENOENT)
		fprintf(stderr, "phxd: %s %s is told what happens from now on: %s\n", what_of(x),
			x->name, err.text);
	/* of a journal that began anew all is new; one that was restored may be behind */
	x->cursor = ours ? c.seq < last ? c.seq : last : r == 0 ? 0 : last;
	x->saved = ours ? c.seq : UINT64_MAX;
	save(x);
}

/* ---- reading ---- */

struct batch {
	struct outlet *x;
	struct phx_list kinds; /* borrowed */
	struct phx_news news[BATCH];
	uint32_t n, n_looked;
	size_t n_bytes;
	uint64_t looked; /* the last event that was looked at */
	uint64_t gap;    /* events that the journal has forgotten */
	int64_t first_ms;
	struct phx_err err;
};

static void batch_fini(struct batch *b)
{
	for (uint32_t i = 0; i < b->n; i++)
		phx_news_fini(&b->news[i]);
}

static int collect(void *arg, const struct phx_store_event *ev)
{
	struct batch *b = arg;
	struct phx_news *n = &b->news[b->n];
	if (!b->n_looked++) {
		b->gap = ev->seq - b->looked - 1;
		b->first_ms = ev->time_ms;
	}
	int r = phx_news_may_be(ev, b->x->asked) ? phx_news_of(ev, n, &b->err) : 1;
	if (r < 0)
		return r;
	if (r == 0 && phx_news_wanted(n, &b->kinds)) {
		b->n++;
		b->n_bytes += strlen(n->json);
	} else if (r == 0) {
		phx_news_fini(n);
		*n = (struct phx_news){0};
	}
	b->looked = ev->seq;
	return b->n == BATCH || b->n_bytes >= BATCH_BYTES;
}

/* Leaves out what is too old, without looking at each. */
static void skip_old(struct outlet *x)
{
	struct phx_err err = {0};
	int64_t from_ms = phx_wall_ms() - (int64_t)x->o->d->cfg.event_keep_h * HOUR_MS;
	uint64_t seq, after = x->cursor;
	if (phx_store_search_time(x->reader, from_ms, &seq, &err) < 0 || seq <= after + 1)
		return;
	note_dropped(x, seq - 1 - after, "they are older than event_keep_h");
	move_to(x, seq - 1);
	save(x);
}

static bool tell_batch(struct outlet *x, const struct batch *b)
{
	for (uint32_t i = 0; i < b->n; i++) {
		int r = tell_until_told(x, &b->news[i]);
		if (r < 0)
			return false;
		if (r == TOLD)
			note_success(x);
		else if (r == REFUSED)
			note_aside(x, b->news[i].seq);
		else
			note_dropped(x, 1, "it is older than event_keep_h");
		move_to(x, b->news[i].seq);
		save_in_time(x, i + 1 < b->n ? SAVE_MS : 0);
	}
	return true;
}

/* Reads and tells some; a negative errno: the journal cannot be read just now. */
static int step(struct outlet *x, struct phx_err *err)
{
	PHX_AUTO_FREE struct batch *b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->x = x;
	b->looked = x->cursor;
	pthread_mutex_lock(&x->o->lock);
	b->kinds = x->kinds; /* changed by nobody before this outlet has ended */
	pthread_mutex_unlock(&x->o->lock);
	int r = x->reader ? 0 : phx_store_reader_open(x->o->d->cfg.journal, &x->reader, err);
	r = r ? r
	      : phx_store_reader_events(x->reader, x->cursor, LOOKED_MAX, NULL, collect, b, err);
	if (r < 0) {
		if (b->err.text[0])
			phx_err_set(err, r, "%s", b->err.text);
		batch_fini(b);
		return r;
	}
	if (b->n_looked && b->gap)
		note_dropped(x, b->gap, "the journal has forgotten them (journal_keep_days)");
	if (b->n_looked && is_too_old(x, b->first_ms)) {
		skip_old(x);
	} else if (tell_batch(x, b)) {
		move_to(x, b->looked);
		save_in_time(x, IDLE_SAVE_MS);
	}
	batch_fini(b);
	return 0;
}

/* Nothing is to be told; false: it was ended. */
static bool wait_for_news(struct outlet *x)
{
	bool lingers = x->process;
	int64_t until = lingers ? phx_clock_ms() + LINGER_MS : INT64_MAX;
	pthread_mutex_lock(&x->o->lock);
	bool time = true;
	while (!x->ended && x->o->last <= x->cursor && time)
		time = phx_cond_until(&x->o->news, &x->o->lock, until);
	x->kicked = false;
	bool goes_on = !x->ended;
	pthread_mutex_unlock(&x->o->lock);
	if (goes_on && !time)
		end_process(x);
	return goes_on;
}

void *outlet_run(void *outlet)
{
	struct outlet *x = outlet;
	struct phx_again again = {AGAIN_MS, AGAIN_MOST_MS, 0};
	phx_news_ask(&x->kinds, x->asked);
	while (wait_for_news(x)) {
		struct phx_err err = {0};
		int r = step(x, &err);
		if (r == 0) {
			again.last_ms = 0;
			continue;
		}
		note_failure(x, r, &err);
		if (!rest(x, phx_again_ms(&again)))
			break;
	}
	save(x);
	end_process(x);
	phx_store_reader_close(PHX_TAKE(x->reader));
	return NULL;
}
