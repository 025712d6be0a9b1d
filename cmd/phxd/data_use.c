/* See data_use.h. Called by re_data.c, which knows whose files they are. Never opens a file: the
 * owners of directories count them (re_area.h). */
#include "phxd/data_use.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "phxd/re_area.h"

enum { COUNT_AGAIN_MS = 3600 * 1000, COUNT_SOON_MS = 60 * 1000, MIB = 1 << 20 };

struct used {
	char re[PHX_NAME_MAX];
	int64_t created_ms; /* of which RE of that name */
	int64_t n_bytes;    /* once `known`; before that, what was put since the start */
	bool known;
	bool wanted; /* the thread is to count it */
	bool counting;
	int64_t counted_ms; /* when that was begun */
	int64_t meanwhile;  /* what was put since then, or was on its way then */
	int64_t coming;     /* what is taken and not settled */
};

struct data_use {
	struct daemon *d;
	pthread_t thread;
	bool running;
	pthread_mutex_t lock;
	pthread_cond_t news; /* something is wanted, or stopped */
	bool stopped;
	struct phx_list list; /* struct used */
	int64_t n_coming;     /* bytes that are taken and not published yet */
};

/* How much an RE may hold, and which of that name it is. */
struct bound {
	int64_t created_ms; /* -1: there is no such RE */
	uint32_t most_mb;   /* 0: it is not bounded */
	bool agreed;        /* its agreement says so, not phoenix.conf */
};

static struct bound bound_of(const struct data_use *u, const struct phx_re *re)
{
	uint32_t agreed_mb = re ? re->agreement.data_max_mb : 0;
	return (struct bound){re ? re->created_ms : -1,
			      agreed_mb ? agreed_mb : u->d->cfg.data_max_mb, agreed_mb};
}

static struct bound look_up(const struct data_use *u, const char *re)
{
	const struct phx_state *s = engine_lock(u->d->engine);
	struct bound b = bound_of(u, phx_state_re(s, re));
	engine_unlock(u->d->engine);
	return b;
}

bool data_use_bounds(const struct data_use *u, const char *re)
{
	return look_up(u, re).most_mb;
}

/* ---- under the lock ---- */

static struct used *find(struct data_use *u, const char *re)
{
	PHX_LIST_EACH(struct used, x, &u->list)
		if (!strcmp(x->re, re))
			return x;
	return NULL;
}

static void want(struct data_use *u, struct used *x, int64_t after_ms)
{
	if (x->wanted || x->counting ||
	    (x->counted_ms && phx_clock_ms() - x->counted_ms < after_ms))
		return;
	x->wanted = true;
	pthread_cond_signal(&u->news);
}

/* That of this RE: one that has the name of a former one begins anew. NULL on ENOMEM. */
static struct used *used_of(struct data_use *u, const char *re, int64_t created_ms)
{
	struct used *x = find(u, re);
	if (x && x->created_ms == created_ms)
		return x;
	if (!x && !(x = phx_list_push(&u->list, sizeof(*x))))
		return NULL;
	*x = (struct used){.created_ms = created_ms};
	PHX_STR_SET(x->re, re);
	want(u, x, 0);
	return x;
}

static void add(struct used *x, int64_t n_bytes)
{
	x->n_bytes += n_bytes;
	x->meanwhile += n_bytes;
	if (x->known && x->n_bytes < 0)
		x->n_bytes = 0;
}

/* ---- the thread that counts ---- */

static struct used *next_wanted(struct data_use *u)
{
	PHX_LIST_EACH(struct used, x, &u->list)
		if (x->wanted)
			return x;
	return NULL;
}

static void begin_count(struct used *x, struct used *ret)
{
	x->wanted = false;
	x->counting = true;
	x->counted_ms = phx_clock_ms();
	x->meanwhile = x->coming;
	*ret = *x;
}

/* What came meanwhile may have been seen, too: then it counts twice until the next time. One that
 * could not be counted is tried again when something is put. */
static void end_count(struct data_use *u, const struct used *asked, int r, uint64_t n_bytes)
{
	struct used *x = find(u, asked->re);
	if (!x || x->created_ms != asked->created_ms)
		return;
	x->counting = false;
	if (r < 0) {
		x->counted_ms = 0;
		return;
	}
	x->n_bytes = (int64_t)n_bytes + x->meanwhile;
	x->n_bytes = x->n_bytes > 0 ? x->n_bytes : 0;
	x->known = true;
}

static bool is_awaited(void *arg)
{
	struct data_use *u = arg;
	pthread_mutex_lock(&u->lock);
	bool on = !u->stopped;
	pthread_mutex_unlock(&u->lock);
	return on;
}

static void *run(void *arg)
{
	struct data_use *u = arg;
	struct used asked;
	pthread_mutex_lock(&u->lock);
	while (!u->stopped) {
		struct used *x = next_wanted(u);
		if (!x) {
			pthread_cond_wait(&u->news, &u->lock);
			continue;
		}
		begin_count(x, &asked);
		pthread_mutex_unlock(&u->lock);
		uint64_t n = 0;
		int r = re_area_sum(u->d, asked.re, is_awaited, u, &n);
		pthread_mutex_lock(&u->lock);
		end_count(u, &asked, r, n);
	}
	pthread_mutex_unlock(&u->lock);
	return NULL;
}

/* ---- room on the disk ---- */

/* -EDQUOT: less than what is to be kept free would be left. */
static int check_disk(const struct data_use *u, const char *dir, uint64_t n_bytes,
		      struct phx_err *err)
{
	struct statvfs is;
	uint64_t reserve = (uint64_t)u->d->cfg.data_reserve_mb * MIB;
	if (statvfs(dir, &is) < 0) /* what is wrong there who writes will be told */
		return 0;
	uint64_t free_bytes = (uint64_t)is.f_bavail * is.f_frsize;
	return free_bytes < reserve || free_bytes - reserve < n_bytes
		? phx_err_set(
			  err, -EDQUOT,
			  "the head's disk has no room for it: %llu MiB are free, and %u MiB stay "
			  "free (data_reserve_mb)",
			  (unsigned long long)(free_bytes / MIB), u->d->cfg.data_reserve_mb)
		: 0;
}

int data_use_room(const struct data_use *u, uint64_t n_bytes, struct phx_err *err)
{
	int r = check_disk(u, u->d->cfg.re_dir, n_bytes, err);
	return r ? r : check_disk(u, u->d->cfg.output_dir, n_bytes, err);
}

/* ---- what is put, and goes ---- */

static int check_most(struct data_use *u, struct used *x, const struct bound *b, int64_t n_more,
		      struct phx_err *err)
{
	if (!x->known || n_more <= 0 || x->n_bytes + n_more <= (int64_t)b->most_mb * MIB)
		return 0;
	want(u, x, COUNT_SOON_MS);
	return phx_err_set(err, -EDQUOT,
			   "the data of RE %s would hold %lld MiB, and may hold %u MiB (%s): files "
			   "that nobody needs must go before (phx re rm)",
			   x->re, (long long)((x->n_bytes + n_more + MIB - 1) / MIB), b->most_mb,
			   b->agreed ? "data_max_mb of its agreement" : "data_max_mb");
}

int data_use_take(struct data_use *u, const struct data_use_file *f, struct phx_err *err)
{
	const struct bound b = look_up(u, f->re);
	int64_t n_more = (int64_t)f->n_bytes - (int64_t)f->n_had;
	pthread_mutex_lock(&u->lock);
	struct used *x = b.most_mb ? used_of(u, f->re, b.created_ms) : NULL;
	int r = b.most_mb && !x
		? -ENOMEM
		: check_disk(u, u->d->cfg.re_dir, f->n_bytes + (uint64_t)u->n_coming, err);
	r = r || !x ? r : check_most(u, x, &b, n_more, err);
	if (r == 0)
		u->n_coming += (int64_t)f->n_bytes;
	if (r == 0 && x) {
		add(x, n_more);
		x->coming += n_more;
		want(u, x, COUNT_AGAIN_MS);
	}
	pthread_mutex_unlock(&u->lock);
	return r;
}

void data_use_settle(struct data_use *u, const struct data_use_file *f, bool is_there)
{
	pthread_mutex_lock(&u->lock);
	int64_t n_more = (int64_t)f->n_bytes - (int64_t)f->n_had;
	struct used *x = find(u, f->re);
	u->n_coming -= (int64_t)f->n_bytes;
	if (x)
		x->coming -= n_more;
	if (x && !is_there)
		add(x, -n_more);
	pthread_mutex_unlock(&u->lock);
}

void data_use_gone(struct data_use *u, const char *re, uint64_t n_bytes)
{
	pthread_mutex_lock(&u->lock);
	struct used *x = find(u, re);
	if (x)
		add(x, -(int64_t)n_bytes);
	pthread_mutex_unlock(&u->lock);
}

/* ---- start and end ---- */

/* All that are bounded are counted. */
static int want_all(struct data_use *u)
{
	const struct phx_state *s = engine_lock(u->d->engine);
	int r = 0;
	PHX_LIST_EACH(struct phx_re, re, &s->res)
		if (re->state != PHX_RE_STATE_NONE && bound_of(u, re).most_mb &&
		    !used_of(u, re->name, re->created_ms))
			r = -ENOMEM;
	engine_unlock(u->d->engine);
	return r;
}

int data_use_new(struct daemon *d, struct data_use **ret)
{
	struct data_use *u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	u->d = d;
	pthread_mutex_init(&u->lock, NULL);
	pthread_cond_init(&u->news, NULL);
	*ret = u;
	int r = want_all(u);
	if (r == 0)
		r = -pthread_create(&u->thread, NULL, run, u);
	u->running = r == 0;
	return r;
}

void data_use_free(struct data_use *u)
{
	if (!u)
		return;
	pthread_mutex_lock(&u->lock);
	u->stopped = true;
	pthread_cond_signal(&u->news);
	pthread_mutex_unlock(&u->lock);
	if (u->running)
		pthread_join(u->thread, NULL);
	phx_list_fini(&u->list);
	pthread_cond_destroy(&u->news);
	pthread_mutex_destroy(&u->lock);
	free(u);
}
