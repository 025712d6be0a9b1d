/* Files that triggers wait for. Each such trigger that is active has a watcher (watcher.h); one
 * thread reads their messages and tells the core which files came and went. The core's state says
 * which have fired: one that came while no watcher ran fires now, and none fires twice. A watcher
 * is a process of its user: its messages are checked, bounded and counted as his. */
#include "phxd/daemon.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mix.h"
#include "flow/glob.h"
#include "phxd/watcher.h"

enum {
	READ_BYTES = 64 << 10,
	AGAIN_MS = 5000,   /* until a watcher that ended or did not begin is started again */
	ROW_BYTES = 160,   /* that a row takes in the journal, beside its path */
	CAME_SLACK_MS = 10 /* times of files may be so far behind the clock */
};

/* What a watcher is started for: copied from the state. */
struct wanted {
	uint64_t id;
	char name[PHX_NAME_MAX], re[PHX_NAME_MAX], owner[PHX_IDENTITY_MAX], pattern[256];
	struct person_login user;
	bool whole;
	int64_t stable_ms, created_ms;
	size_t path_max;
};

struct watch {
	struct wanted is;
	int fd; /* of the watcher's socket; -1: no watcher runs */
	struct phx_buf in;
	struct phx_list rows; /* struct phx_trigger_file, to be told to the core */
	struct phx_list keys; /* uint64_t: paths that are there, of a report of all files */
	bool looks, dead;     /* such a report has begun; memory is lacking */
	bool troubled;        /* the watcher has said why it ends */
	uint64_t n_odd;
	int64_t not_before_ms; /* it is started, or read from, no sooner; 0: it is read from now */
	char told[WATCH_TOLD_MAX];
};

struct watches {
	struct daemon *d;
	pthread_t thread;
	bool started, ends;
	int wake;
	pthread_mutex_t lock; /* of `told` of each watch, and of the list */
	struct phx_list all;  /* struct watch * */
	uint64_t known;       /* digest of the triggers that the loop saw last */
};

static void say(struct watches *ws, struct watch *w, const char *text)
{
	pthread_mutex_lock(&ws->lock);
	snprintf(w->told, sizeof(w->told), "%s", text);
	pthread_mutex_unlock(&ws->lock);
}

static void say_watches(struct watches *ws, struct watch *w)
{
	char text[WATCH_TOLD_MAX] = "watches";
	if (w->n_odd)
		snprintf(text, sizeof(text),
			 "watches; files whose names are too long or not printable do not fire: "
			 "%llu",
			 (unsigned long long)w->n_odd);
	say(ws, w, text);
}

/* ---- one watcher ---- */

/* Drops the first n rows. */
static void drop_rows(struct phx_list *rows, uint32_t n)
{
	struct phx_trigger_file *all = rows->items;
	for (uint32_t i = 0; i < n; i++)
		free(all[i].path);
	rows->n -= n;
	if (rows->n)
		memmove(all, all + n, rows->n * sizeof(*all));
}

static void stop(struct watch *w)
{
	phx_close_fd(&w->fd);
	phx_buf_fini(&w->in);
	w->in = (struct phx_buf){0};
	drop_rows(&w->rows, w->rows.n);
	phx_list_fini(&w->rows);
	phx_list_fini(&w->keys);
	w->looks = w->troubled = false;
	w->n_odd = 0;
}

/* Ends the watch for AGAIN_MS. `text`: why; NULL: the watcher has said so itself. */
static void fail(struct watches *ws, struct watch *w, const char *text)
{
	stop(w);
	w->not_before_ms = phx_clock_ms() + AGAIN_MS;
	if (text)
		say(ws, w, text);
}

static int greet(int fd, const struct wanted *is)
{
	const struct watch_start how = {.n = (uint32_t)strlen(is->pattern),
					.path_max = (uint32_t)is->path_max,
					.stable_ms = is->stable_ms,
					.whole = is->whole};
	int r = phx_write_all(fd, &how, sizeof(how));
	return r ? r : phx_write_all(fd, is->pattern, how.n);
}

static void start(struct watches *ws, struct watch *w)
{
	struct re_place_whose of = {.uid = w->is.whole ? (uid_t)-1 : w->is.user.uid,
				    .gid = w->is.user.gid,
				    .make = !w->is.whole};
	struct phx_err err = {0};
	if (!w->is.whole)
		PHX_STR_SET(of.user, w->is.user.name);
	re_dir_whose(ws->d, w->is.re, &of);
	int r = launch_re_watch(ws->d->launch, &of, &w->fd, &err);
	if (r == 0 && (r = greet(w->fd, &w->is)) < 0)
		phx_err_set(&err, r, "the watcher: %s", strerror(-r));
	if (r < 0)
		fail(ws, w, err.text);
	else
		say(ws, w, "looks at what is there");
}

/* ---- telling the core ---- */

/* Drops rows of files that have fired already. All rows behind one that says that a file is gone
 * stay: that file may have come back as it was. */
static void filter(struct watches *ws, struct watch *w)
{
	const struct phx_state *s = engine_lock(ws->d->engine);
	const struct phx_trigger *t = phx_state_trigger(s, w->is.id);
	uint32_t kept = 0;
	bool forgets = false;
	PHX_LIST_EACH(struct phx_trigger_file, row, &w->rows) {
		forgets = forgets || row->gone[0];
		bool known = t && !forgets &&
			phx_seen_has(t->seen, phx_seen_path(row->path), row->digest);
		if (known)
			free(row->path);
		else
			*PHX_LIST_AT(&w->rows, struct phx_trigger_file, kept++) = *row;
	}
	w->rows.n = kept;
	engine_unlock(ws->d->engine);
}

static size_t bytes_of(const struct phx_list *rows)
{
	size_t n = 0;
	PHX_LIST_EACH(struct phx_trigger_file, row, rows)
		n += ROW_BYTES + (row->path ? 2 * strlen(row->path) : 0);
	return n;
}

/* Tells the core as many rows as go into one event. False: they cannot be journalled now, so they
 * are kept, and the watcher is not read from meanwhile. */
static bool tell_some(struct watches *ws, struct watch *w)
{
	struct phx_event ev = {.kind = PHX_EV_trigger_files, .trigger_files.trigger = w->is.id};
	struct phx_err err = {0};
	struct phx_list some = w->rows; /* borrows */
	some.n = some.n < PHX_TRIGGER_ROWS_MAX ? some.n : PHX_TRIGGER_ROWS_MAX;
	int64_t wait_s = quota_take(ws->d->quota, w->is.owner, (int64_t)bytes_of(&some));
	if (wait_s) {
		w->not_before_ms = phx_clock_ms() + wait_s * 1000;
		say(ws, w,
		    "waits: so many files came that what its user may have journalled is "
		    "used up (journal_mb_per_user)");
		return false;
	}
	PHX_STR_SET(ev.by, "phxd");
	ev.trigger_files.rows = some;
	int r = engine_submit(ws->d->engine, &ev, NULL, &err);
	/* -EBUSY: the trigger is paused; if it is active again soon, the rows are told again */
	if (r == -EROFS || r == -EAGAIN || r == -ENOMEM || r == -EBUSY) {
		w->not_before_ms = phx_clock_ms() + AGAIN_MS;
		say(ws, w, err.text);
		return false;
	}
	if (r < 0 && r != -ENOENT) /* -ENOENT: the trigger is gone */
		say(ws, w, err.text);
	drop_rows(&w->rows, some.n);
	return true;
}

static void tell(struct watches *ws, struct watch *w)
{
	filter(ws, w);
	while (w->rows.n && tell_some(ws, w))
		;
}

static void add_row(struct watches *ws, struct watch *w, struct phx_trigger_file *row)
{
	struct phx_trigger_file *to = phx_list_push(&w->rows, sizeof(*to));
	if (!to) {
		free(row->path);
		w->dead = true;
		return;
	}
	*to = *row;
	if (w->rows.n >= PHX_TRIGGER_ROWS_MAX && !w->not_before_ms)
		tell(ws, w);
}

/* ---- messages of a watcher ---- */

static int digest_of(const char *path, const struct watch_said *m, char ret[PHX_SHA256_HEX])
{
	char text[512];
	int n = snprintf(text, sizeof(text), "%s%c%llu%c%lld%c%llu%c", path, 0,
			 (unsigned long long)m->size, 0, (long long)m->changed_ns, 0,
			 (unsigned long long)m->number, 0);
	return phx_sha256_of(text, (size_t)n, ret);
}

static void note_key(struct watch *w, const char *path)
{
	uint64_t *key = w->looks && w->keys.n < PHX_SEEN_MAX + 1
		? phx_list_push(&w->keys, sizeof(*key))
		: NULL;
	if (key)
		*key = phx_seen_path(path);
	else if (w->looks)
		w->dead = true;
}

static void file_there(struct watches *ws, struct watch *w, const char *path,
		       const struct watch_said *m)
{
	struct phx_trigger_file row = {.old = m->came_ms + CAME_SLACK_MS < w->is.created_ms};
	if (digest_of(path, m, row.digest) < 0 || !(row.path = strdup(path)))
		w->dead = true;
	else
		add_row(ws, w, &row);
}

static void file_gone(struct watches *ws, struct watch *w, uint64_t key)
{
	struct phx_trigger_file row = {0};
	phx_seen_format(key, row.gone);
	add_row(ws, w, &row);
}

static int by_key(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* The report of all files has ended: has the core forget files that fired and are not there now. */
static void looked(struct watches *ws, struct watch *w)
{
	PHX_AUTO(phx_list_fini) struct phx_list lost = {0};
	w->looks = false;
	if (w->keys.n)
		qsort(w->keys.items, w->keys.n, sizeof(uint64_t), by_key);
	const struct phx_state *s = engine_lock(ws->d->engine);
	const struct phx_trigger *t = phx_state_trigger(s, w->is.id);
	for (uint32_t i = 0; t && t->seen && i < t->seen->n; i++) {
		uint64_t key = t->seen->files[i].path, *to;
		if (w->keys.n && bsearch(&key, w->keys.items, w->keys.n, sizeof(uint64_t), by_key))
			continue;
		if ((to = phx_list_push(&lost, sizeof(*to))))
			*to = key;
	}
	engine_unlock(ws->d->engine);
	PHX_LIST_EACH(uint64_t, key, &lost)
		file_gone(ws, w, *key);
	phx_list_fini(&w->keys);
	say_watches(ws, w);
}

static bool is_awaited(const struct watch *w, const char *path)
{
	return phx_beneath_check(path, NULL) == 0 && strlen(path) <= w->is.path_max &&
		phx_glob_meets_path(w->is.pattern, path);
}

static void odd(struct watches *ws, struct watch *w)
{
	w->n_odd++;
	if (!w->looks)
		say_watches(ws, w);
}

static void take_said(struct watches *ws, struct watch *w, const struct watch_said *m,
		      const char *text)
{
	bool of_file = m->kind == WATCH_FILE || m->kind == WATCH_THERE || m->kind == WATCH_GONE;
	if (of_file && !is_awaited(w, text)) {
		odd(ws, w);
		return;
	}
	switch ((enum watch_kind)m->kind) {
	case WATCH_FILE:
		note_key(w, text);
		file_there(ws, w, text, m);
		return;
	case WATCH_THERE:
		note_key(w, text);
		return;
	case WATCH_GONE:
		file_gone(ws, w, phx_seen_path(text));
		return;
	case WATCH_LOOKS:
		w->looks = true;
		w->keys.n = 0;
		w->n_odd = 0;
		return;
	case WATCH_LOOKED:
		looked(ws, w);
		return;
	case WATCH_ODD:
		odd(ws, w);
		return;
	case WATCH_TROUBLE:
		w->troubled = true;
		say(ws, w, phx_beneath_check(text, NULL) == 0 ? text : "the watcher has failed");
		return;
	case WATCH_KINDS:
		return;
	}
}

/* Takes the whole messages out of the bytes that came. -EPROTO: they are no messages. */
static int take_messages(struct watches *ws, struct watch *w)
{
	size_t at = 0;
	int r = 0;
	while (r == 0 && w->in.n - at >= sizeof(struct watch_said) && !w->not_before_ms) {
		struct watch_said m;
		char text[WATCH_TEXT_MAX + 1];
		memcpy(&m, w->in.data + at, sizeof(m));
		if (m.kind >= WATCH_KINDS || m.n > WATCH_TEXT_MAX)
			r = -EPROTO;
		else if (w->in.n - at < sizeof(m) + m.n)
			break;
		if (r < 0)
			break;
		memcpy(text, w->in.data + at + sizeof(m), m.n);
		text[m.n] = '\0';
		at += sizeof(m) + m.n;
		take_said(ws, w, &m, text);
	}
	memmove(w->in.data, w->in.data + at, w->in.n - at);
	w->in.n -= at;
	return w->dead ? -ENOMEM : r;
}

static void hear(struct watches *ws, struct watch *w)
{
	char *to = phx_buf_extend(&w->in, READ_BYTES);
	ssize_t n = to ? recv(w->fd, to, READ_BYTES, MSG_DONTWAIT) : -1;
	w->in.n -= to ? READ_BYTES - (size_t)(n > 0 ? n : 0) : 0;
	if (to && n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	int r = n > 0 ? take_messages(ws, w) : to ? -EPIPE : -ENOMEM;
	if (r == 0 && !w->not_before_ms)
		tell(ws, w);
	if (r == -EPIPE)
		fail(ws, w, w->troubled ? NULL : "its watcher has ended");
	else if (r < 0)
		fail(ws, w, r == -EPROTO ? "its watcher sends malformed data" : "out of memory");
	w->dead = false;
}

/* The time to wait is over: starts the watcher, or goes on with the messages that it has sent. */
static void go_on(struct watches *ws, struct watch *w)
{
	w->not_before_ms = 0;
	if (w->fd < 0) {
		start(ws, w);
		return;
	}
	say_watches(ws, w);
	tell(ws, w);
	if (!w->not_before_ms && take_messages(ws, w) < 0)
		fail(ws, w, "its watcher sends malformed data");
	else if (!w->not_before_ms)
		tell(ws, w);
}

/* ---- watches come and go ---- */

static int want(const struct phx_state *s, struct phx_list *ret)
{
	PHX_LIST_EACH(struct phx_trigger, t, &s->triggers) {
		if (t->kind != PHX_TRIGGER_FILE || t->state != PHX_TRIGGER_ACTIVE)
			continue;
		struct wanted *w = phx_list_push(ret, sizeof(*w));
		if (!w)
			return -ENOMEM;
		*w = (struct wanted){.id = t->id,
				     .user = {.uid = t->uid, .gid = t->gid},
				     .whole = t->whole,
				     .stable_ms = t->when.stable_ms,
				     .created_ms = t->created_ms,
				     .path_max = phx_trigger_path_max(t)};
		PHX_STR_SET(w->name, t->name);
		PHX_STR_SET(w->re, t->re);
		PHX_STR_SET(w->owner, t->owner);
		PHX_STR_SET(w->pattern, t->when.file);
		PHX_STR_SET(w->user.name, t->user);
	}
	return 0;
}

static struct watch *watch_at(const struct watches *ws, uint32_t i)
{
	return *PHX_LIST_AT(&ws->all, struct watch *, i);
}

static bool is_wanted(const struct phx_list *wanted, uint64_t id)
{
	PHX_LIST_EACH(struct wanted, w, wanted)
		if (w->id == id)
			return true;
	return false;
}

static bool is_there(const struct watches *ws, uint64_t id)
{
	for (uint32_t i = 0; i < ws->all.n; i++)
		if (watch_at(ws, i)->is.id == id)
			return true;
	return false;
}

static void add(struct watches *ws, const struct wanted *is)
{
	struct watch *w = calloc(1, sizeof(*w));
	if (!w)
		return;
	w->is = *is;
	w->fd = -1;
	w->not_before_ms = 1;
	pthread_mutex_lock(&ws->lock);
	struct watch **to = phx_list_push(&ws->all, sizeof(w));
	if (to)
		*to = w;
	pthread_mutex_unlock(&ws->lock);
	if (!to)
		free(w);
}

static void drop(struct watches *ws, uint32_t i)
{
	struct watch *w = watch_at(ws, i);
	pthread_mutex_lock(&ws->lock);
	phx_list_remove(&ws->all, sizeof(w), i);
	pthread_mutex_unlock(&ws->lock);
	stop(w);
	free(w);
}

static void reconcile(struct watches *ws)
{
	PHX_AUTO(phx_list_fini) struct phx_list wanted = {0};
	const struct phx_state *s = engine_lock(ws->d->engine);
	int r = want(s, &wanted);
	engine_unlock(ws->d->engine);
	for (uint32_t i = ws->all.n; r == 0 && i-- > 0;)
		if (!is_wanted(&wanted, watch_at(ws, i)->is.id))
			drop(ws, i);
	PHX_LIST_EACH(struct wanted, w, &wanted)
		if (!is_there(ws, w->id))
			add(ws, w);
}

/* ---- the thread ---- */

static int time_left(const struct watches *ws)
{
	int64_t now = phx_clock_ms(), due = INT64_MAX;
	for (uint32_t i = 0; i < ws->all.n; i++) {
		int64_t of = watch_at(ws, i)->not_before_ms;
		due = of && of < due ? of : due;
	}
	return due == INT64_MAX     ? -1
		: due <= now        ? 0
		: due - now > 60000 ? 60000
				    : (int)(due - now);
}

static void turn(struct watches *ws, struct pollfd *fds)
{
	uint64_t number;
	fds[0] = (struct pollfd){ws->wake, POLLIN, 0};
	for (uint32_t i = 0; i < ws->all.n; i++)
		fds[i + 1] = (struct pollfd){
			watch_at(ws, i)->not_before_ms ? -1 : watch_at(ws, i)->fd, POLLIN, 0};
	uint32_t n = ws->all.n;
	poll(fds, n + 1, time_left(ws));
	for (uint32_t i = 0; i < n; i++) {
		struct watch *w = watch_at(ws, i);
		if (w->not_before_ms && w->not_before_ms <= phx_clock_ms())
			go_on(ws, w);
		else if (fds[i + 1].fd >= 0 && fds[i + 1].revents)
			hear(ws, w);
	}
	if (fds[0].revents && read(ws->wake, &number, sizeof(number)) > 0)
		reconcile(ws);
}

static void *run(void *arg)
{
	struct watches *ws = arg;
	for (;;) {
		PHX_AUTO_FREE struct pollfd *fds = calloc(ws->all.n + 1, sizeof(*fds));
		pthread_mutex_lock(&ws->lock);
		bool ends = ws->ends || !fds;
		pthread_mutex_unlock(&ws->lock);
		if (ends)
			return NULL;
		turn(ws, fds);
	}
}

static void wake_up(struct watches *ws)
{
	const uint64_t one = 1;
	(void)!write(ws->wake, &one, sizeof(one));
}

int watches_new(struct daemon *d, struct watches **ret)
{
	struct watches *ws = calloc(1, sizeof(*ws));
	if (!ws)
		return -ENOMEM;
	ws->d = d;
	ws->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&ws->lock, NULL);
	int r = ws->wake < 0 ? -errno : -pthread_create(&ws->thread, NULL, run, ws);
	ws->started = r == 0;
	if (r < 0)
		watches_free(ws);
	else
		*ret = ws;
	return r;
}

void watches_free(struct watches *ws)
{
	if (!ws)
		return;
	pthread_mutex_lock(&ws->lock);
	ws->ends = true;
	pthread_mutex_unlock(&ws->lock);
	wake_up(ws);
	if (ws->started)
		pthread_join(ws->thread, NULL);
	while (ws->all.n)
		drop(ws, ws->all.n - 1);
	phx_list_fini(&ws->all);
	phx_close_fd(&ws->wake);
	pthread_mutex_destroy(&ws->lock);
	free(ws);
}

void watches_tick(struct watches *ws)
{
	uint64_t known = PHX_MIX_NONE; /* of no trigger; at the start ws->known is 0 */
	const struct phx_state *s = engine_lock(ws->d->engine);
	PHX_LIST_EACH(struct phx_trigger, t, &s->triggers)
		if (t->kind == PHX_TRIGGER_FILE && t->state == PHX_TRIGGER_ACTIVE)
			known = phx_mix_number(known, t->id);
	engine_unlock(ws->d->engine);
	if (known != ws->known)
		wake_up(ws);
	ws->known = known;
}

void watches_told(struct watches *ws, uint64_t id, char ret[WATCH_TOLD_MAX])
{
	ret[0] = '\0';
	pthread_mutex_lock(&ws->lock);
	for (uint32_t i = 0; i < ws->all.n; i++)
		if (watch_at(ws, i)->is.id == id)
			snprintf(ret, WATCH_TOLD_MAX, "%s", watch_at(ws, i)->told);
	pthread_mutex_unlock(&ws->lock);
}
