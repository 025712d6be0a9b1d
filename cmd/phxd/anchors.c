/* Anchors: from time to time the head signs how far its journal has come, and sends the line away:
 * to the agents with the answers to their beats, to the system's log, to the files and the program
 * that an administrator chose. Somebody who becomes root on the head later cannot rewrite earlier
 * events unnoticed (phx journal verify). Works on a thread of its own, since a file may be on a
 * slow disk; its timer runs only while there are events that no anchor covers. Called by the
 * threads of the loop and the API. Decides nothing. */
#include "phxd/daemon.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <syslog.h>

#include "base/clock.h"
#include "base/file.h"
#include "phxd/beat.h"

enum { EVERY_MS = 60000, EVERY_EVENTS = 1000, KEEP = 300 };

/* What may fail; each failure is told separately. The configured files have the numbers from FILES
 * on. */
enum { SIGNING, OWN_FILE, PROGRAM, FILES, FILES_MAX = 8, PLACES = FILES + FILES_MAX };

struct anchors {
	struct daemon *d;
	char own[PHX_CONFIG_TEXT_MAX + 16]; /* path of the head's own file of anchors */
	pthread_t thread;
	bool started, ended;
	pthread_mutex_t lock;
	pthread_cond_t wanted;
	uint64_t seq;      /* the last event */
	uint64_t covered;  /* the last event that needs no further anchor */
	int64_t due_ms;    /* INT64_MAX: nothing is new */
	uint64_t last_seq; /* event of `last`, the line that agents are given */
	char last[PHX_ANCHOR_LINE_MAX];
	char plain[PHX_ANCHOR_LINE_MAX]; /* without words about the vault's log; "": none */
	/* of the thread: what failed at the last attempt; only the first failure is told */
	bool failed[PLACES];
};

/* ---- where they go ---- */

/* Told once, until it works again. */
static void tell(struct anchors *a, size_t which, int r, const struct phx_err *err)
{
	char text[300];
	bool news = r < 0 && !a->failed[which];
	a->failed[which] = r < 0;
	if (!news)
		return;
	snprintf(text, sizeof(text), "an anchor of the journal does not reach its place: %.200s",
		 err->text);
	engine_notice(a->d->engine, "", text);
}

static void publish(struct anchors *a, const char *line)
{
	const struct phx_config *cfg = &a->d->cfg;
	struct phx_err err = {0};
	size_t which = FILES;
	int r;
	tell(a, OWN_FILE, phx_anchor_append(a->own, line, KEEP, &err), &err);
	for (uint32_t i = 0; i < cfg->anchor_file.n; i++) {
		phx_err_clear(&err);
		tell(a, which, launch_anchor(a->d->launch, i, line, &err), &err);
		which += which < PLACES - 1;
	}
	if (cfg->anchor_syslog)
		syslog(LOG_AUTHPRIV | LOG_NOTICE, "%s", line);
	phx_err_clear(&err);
	r = cfg->anchor_program.n ? phx_hands_anchor(hands_process(a->d->hands), line, &err) : 0;
	tell(a, PROGRAM, r, &err);
}

/* ---- making one ---- */

static int sign_line(struct anchors *a, struct phx_anchor *ret, struct phx_err *err)
{
	int r = phx_store_reached(engine_store(a->d->engine), ret);
	return r ? r : phx_anchor_sign(ret, engine_signer(a->d->engine), err);
}

/* Agents of before keep no line with words that they do not know. */
static void sign_plain(struct anchors *a, const struct phx_anchor *of,
		       char ret[PHX_ANCHOR_LINE_MAX])
{
	struct phx_signer signer = *engine_signer(a->d->engine);
	struct phx_anchor plain = *of;
	signer.sign_end = NULL;
	ret[0] = '\0';
	if (of->log_hash[0] && phx_anchor_sign(&plain, &signer, NULL) == 0)
		phx_anchor_format(&plain, ret);
}

static void take(struct anchors *a, const struct phx_anchor *anchor, const char *line)
{
	char plain[PHX_ANCHOR_LINE_MAX];
	sign_plain(a, anchor, plain);
	pthread_mutex_lock(&a->lock);
	a->last_seq = anchor->seq;
	PHX_STR_SET(a->last, line);
	PHX_STR_SET(a->plain, anchor->log_hash[0] ? plain : line);
	pthread_mutex_unlock(&a->lock);
}

static void make(struct anchors *a)
{
	struct phx_anchor anchor;
	struct phx_err err = {0};
	char line[PHX_ANCHOR_LINE_MAX];
	int r = sign_line(a, &anchor, &err);
	if (r == -ENODATA)
		return;
	tell(a, SIGNING, r, &err);
	if (r < 0)
		return;
	phx_anchor_format(&anchor, line);
	take(a, &anchor, line);
	publish(a, line);
}

static bool is_due(const struct anchors *a)
{
	return a->due_ms != INT64_MAX &&
		(phx_clock_ms() >= a->due_ms || a->seq - a->covered >= EVERY_EVENTS || a->ended);
}

static void *work(void *arg)
{
	struct anchors *a = arg;
	pthread_mutex_lock(&a->lock);
	while (!a->ended || is_due(a)) {
		if (!is_due(a)) {
			phx_cond_until(&a->wanted, &a->lock, a->due_ms);
			continue;
		}
		a->covered = a->seq;
		a->due_ms = INT64_MAX;
		pthread_mutex_unlock(&a->lock);
		make(a);
		pthread_mutex_lock(&a->lock);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

void anchors_committed(struct anchors *a, uint64_t seq)
{
	pthread_mutex_lock(&a->lock);
	bool many = a->seq - a->covered < EVERY_EVENTS && seq - a->covered >= EVERY_EVENTS,
	     first = a->due_ms == INT64_MAX && seq > a->covered;
	a->seq = seq > a->seq ? seq : a->seq;
	if (first)
		a->due_ms = phx_clock_ms() + EVERY_MS;
	if (first || many)
		pthread_cond_signal(&a->wanted);
	pthread_mutex_unlock(&a->lock);
}

/* ---- start and end ---- */

/* Starts with the last anchor of an earlier phxd: agents that lack it get it, and the same event is
 * not signed twice. */
static void go_on(struct anchors *a)
{
	struct phx_list lines = {0};
	uint32_t n_bad;
	if (phx_anchor_read(a->own, 1, &lines, &n_bad, NULL) == 0 && lines.n) {
		const struct phx_anchor *last = PHX_LIST_AT(&lines, struct phx_anchor, 0);
		uint64_t seq = phx_store_last(engine_store(a->d->engine));
		bool ours = !strcmp(last->journal, phx_store_id(engine_store(a->d->engine)));
		if (ours && last->seq <= seq) {
			a->covered = a->last_seq = last->seq;
			phx_anchor_format(last, a->last);
			if (!last->log_hash[0])
				PHX_STR_SET(a->plain, a->last);
		}
	}
	phx_list_fini(&lines);
	anchors_committed(a, phx_store_last(engine_store(a->d->engine)));
}

int anchors_new(struct daemon *d, struct anchors **ret)
{
	struct anchors *a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->d = d;
	a->due_ms = INT64_MAX;
	snprintf(a->own, sizeof(a->own), "%s/anchors", d->cfg.state_dir);
	pthread_mutex_init(&a->lock, NULL);
	phx_cond_init(&a->wanted);
	go_on(a);
	int r = -pthread_create(&a->thread, NULL, work, a);
	a->started = r == 0;
	if (r < 0) {
		anchors_free(a);
		return r;
	}
	*ret = a;
	return 0;
}

void anchors_free(struct anchors *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->ended = true;
	pthread_cond_signal(&a->wanted);
	pthread_mutex_unlock(&a->lock);
	if (a->started)
		pthread_join(a->thread, NULL);
	pthread_cond_destroy(&a->wanted);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

/* ---- to agents and people ---- */

/* An agent that keeps anchors reports which it has last, and whether it knows of the vault's log;
 * others would not know this order. */
void anchors_orders_put(struct anchors *a, const struct phx_list *running, struct phx_buf *b)
{
	const struct beat_running *has = beat_running_of(running, PHX_ORDER_anchor);
	pthread_mutex_lock(&a->lock);
	const char *line = has && has->run ? a->last : a->plain;
	if (has && line[0] && (uint64_t)has->id != a->last_seq) {
		PHX_AUTO_JSON json_t *j =
			json_pack("{s:s,s:I,s:s}", "kind", phx_order_name(PHX_ORDER_anchor), "id",
				  (json_int_t)a->last_seq, "anchor", line);
		phx_json_put_item(b);
		phx_json_put_tree(b, j);
	}
	pthread_mutex_unlock(&a->lock);
}

static json_t *view(const struct phx_anchor *anchor)
{
	char line[PHX_ANCHOR_LINE_MAX];
	phx_anchor_format(anchor, line);
	return json_pack("{s:I,s:I,s:s,s:s,s:s}", "seq", (json_int_t)anchor->seq, "time_ms",
			 (json_int_t)anchor->time_ms, "journal", anchor->journal, "hash",
			 anchor->hash, "line", line);
}

void api_anchors(struct phx_http_request *q, void *arg)
{
	const struct daemon *d = arg;
	struct phx_err err = {0};
	struct phx_list lines = {0};
	uint32_t n_bad = 0;
	PHX_AUTO_JSON json_t *list = json_array();
	int r = phx_anchor_read(d->anchors->own, KEEP, &lines, &n_bad, &err);
	if (r < 0 && r != -ENOENT) {
		phx_http_reply_error(q, r, err.text);
		return;
	}
	PHX_LIST_EACH(struct phx_anchor, anchor, &lines)
		json_array_append_new(list, view(anchor));
	phx_list_fini(&lines);
	PHX_AUTO_JSON json_t *j = json_pack("{s:O,s:I}", "anchors", list, "bad", (json_int_t)n_bad);
	phx_http_reply_json(q, 200, j);
}
