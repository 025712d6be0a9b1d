/* See prefetch.h. Called by the link (orders, beats) and the worker (pause).
 *
 *	rests ──package missing, no step for a while──────▶ works on one package ──▶ rests
 *	              ▲                                            │ failed: later
 *	              └────────────────────────────────────────────┘
 *
 * Never activates a package, never touches packages of the active role. */
#include "agent/prefetch.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "agent/log.h"
#include "agent/package.h"
#include "agent/state.h"
#include "repo/repo.h"

enum { QUIET_MS = 3000, AGAIN_MS = 60000, LOW_PRIORITY = 10, ARCHIVE_MAX_RATIO = 5 };

struct prefetch {
	const struct agent_config *cfg;
	prefetch_client_fn make_client;
	void *client_arg;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct prefetch_state want; /* as it is written down */
	struct phx_list gone;       /* struct phx_package_ref: wanted earlier, to be removed */
	uint32_t there;             /* how many wanted packages were unpacked at the last check */
	bool look;                  /* a package may be missing */
	int64_t due_ms;             /* work begins not before; on phx_clock_ms()'s clock */
	uint32_t paused;
	bool quit, working;
	struct phx_package_ref at;     /* the package that the thread works on */
	const struct phx_role *needed; /* role of the step that waits; NULL none */
	pid_t tid;
};

static bool same(const struct phx_package_ref *a, const struct phx_package_ref *b)
{
	return phx_str_eq(a->name, b->name) && phx_str_eq(a->version, b->version);
}

static bool holds(const struct phx_list *packages, const struct phx_package_ref *p)
{
	PHX_LIST_EACH(struct phx_package_ref, other, packages)
		if (same(other, p))
			return true;
	return false;
}

/* ---- one package; without the lock ---- */

/* Must the thread stop its work? Asked while bytes come in. */
static bool must_let_go(void *arg)
{
	struct prefetch *s = arg;
	pthread_mutex_lock(&s->lock);
	bool stop = s->quit || (s->paused && !(s->needed && holds(&s->needed->packages, &s->at))) ||
		!holds(&s->want.packages, &s->at);
	pthread_mutex_unlock(&s->lock);
	return stop;
}

struct loan {
	struct prefetch *prefetch;
	struct phx_http_client *client; /* made when asked for */
};

static int lend_client(void *arg, struct phx_http_client **ret, struct phx_err *err)
{
	struct loan *l = arg;
	int r = l->client ? 0 : l->prefetch->make_client(l->prefetch->client_arg, &l->client, err);
	if (r == 0)
		*ret = l->client;
	return r;
}

/* Packages that may never be needed must not fill a file system. */
static int check_room(const struct agent_config *cfg, const struct phx_package_ref *p,
		      struct phx_err *err)
{
	int r = phx_dir_make(cfg->pkg_root, 0755, err);
	r = r ? r : package_room(cfg->cache_dir, p->size_bytes, err);
	return r ? r : package_room(cfg->pkg_root, p->size_bytes * (1 + ARCHIVE_MAX_RATIO), err);
}

static int provide(struct prefetch *s, const struct phx_package_ref *p, struct phx_err *err)
{
	struct loan loan = {.prefetch = s};
	struct package_from from = {lend_client, &loan, {must_let_go, s}};
	int r = check_room(s->cfg, p, err);
	r = r ? r : package_need(s->cfg, p, &from, err);
	if (r == 0 && must_let_go(s))
		r = -ECANCELED; /* the archive stays; a step or a later turn unpacks it */
	r = r ? r : package_unpack(s->cfg, p, &from, err);
	if (r == 0 && !package_unpacked(s->cfg, p))
		r = phx_err_set(err, -EBADMSG,
				"the unpacked package is not the version of the role");
	phx_http_client_free(loan.client);
	return r;
}

/* ---- the thread ---- */

/* Finds the first package that is not unpacked, and counts those that are. With the lock: it reads
 * only small files. */
static bool find_missing(struct prefetch *s, struct phx_package_ref *ret)
{
	uint32_t there = 0;
	bool found = false;
	PHX_LIST_EACH(struct phx_package_ref, p, &s->want.packages) {
		bool is = package_unpacked(s->cfg, p);
		there += is;
		if (!is && !found)
			*ret = *p;
		found = found || !is;
	}
	s->there = there;
	return found;
}

static void work(struct prefetch *s)
{
	struct phx_err err = {0};
	s->working = true;
	pthread_mutex_unlock(&s->lock);
	int r = provide(s, &s->at, &err);
	if (r == 0)
		agent_log("prefetch: %s-%s is at hand", s->at.name, s->at.version);
	else if (r != -ECANCELED)
		agent_log("prefetch: %s-%s: %s", s->at.name, s->at.version,
			  err.text[0] ? err.text : strerror(-r));
	setpriority(PRIO_PROCESS, (id_t)s->tid, LOW_PRIORITY);
	pthread_mutex_lock(&s->lock);
	s->working = false;
	if (r < 0 && r != -ECANCELED)
		s->due_ms = phx_clock_ms() + AGAIN_MS;
	pthread_cond_broadcast(&s->changed);
}

/* Is the package used by the active role, or by a role that a step is starting? */
static bool in_use(const struct prefetch *s, const struct phx_package_ref *p)
{
	struct role_state role;
	char current[PHX_NAME_MAX];
	bool of_role = false;
	if (role_state_read(s->cfg->state_dir, &role, NULL) == 0) {
		of_role = holds(&role.role.packages, p);
		phx_record_fini(&role_state_record, &role);
	}
	return of_role ||
		(phx_package_current(s->cfg->pkg_root, p->name, current, NULL) == 0 &&
		 phx_str_eq(current, p->version));
}

/* Removes packages that are not wanted any more. With the lock, so that no step begins meanwhile. A
 * package in use is kept for a later turn. */
static void drop_gone(struct prefetch *s)
{
	for (uint32_t i = s->gone.n; i > 0; i--) {
		const struct phx_package_ref *p =
			PHX_LIST_AT(&s->gone, struct phx_package_ref, i - 1);
		bool wanted = holds(&s->want.packages, p);
		if (!wanted && in_use(s, p))
			continue;
		if (!wanted) {
			package_drop(s->cfg, p);
			phx_package_remove(s->cfg->pkg_root, p->name, p->version, NULL);
		}
		phx_list_remove(&s->gone, sizeof(*p), i - 1);
	}
}

static void *run_thread(void *arg)
{
	struct prefetch *s = arg;
	pthread_mutex_lock(&s->lock);
	s->tid = (pid_t)syscall(SYS_gettid);
	setpriority(PRIO_PROCESS, (id_t)s->tid, LOW_PRIORITY);
	while (!s->quit) {
		if (s->gone.n && !s->paused)
			drop_gone(s);
		if (!s->look || s->paused)
			pthread_cond_wait(&s->changed, &s->lock);
		else if (phx_clock_ms() < s->due_ms)
			phx_cond_until(&s->changed, &s->lock, s->due_ms);
		else if (find_missing(s, &s->at))
			work(s);
		else
			s->look = false;
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* ---- the wanted packages ---- */

static int copy_of(uint64_t id, const struct phx_list *packages, struct prefetch_state *ret)
{
	struct prefetch_state from = {.id = id, .packages = *packages};
	return phx_record_copy(&prefetch_state_record, ret, &from);
}

/* With the lock; takes `want`. */
static void replace(struct prefetch *s, struct prefetch_state want)
{
	PHX_LIST_EACH(struct phx_package_ref, p, &s->want.packages) {
		struct phx_package_ref *gone =
			holds(&want.packages, p) ? NULL : phx_list_push(&s->gone, sizeof(*gone));
		if (gone)
			*gone = *p;
	}
	phx_record_fini(&prefetch_state_record, &s->want);
	s->want = want;
	s->look = true;
	s->due_ms = phx_clock_ms() + QUIET_MS;
	pthread_cond_broadcast(&s->changed);
}

int prefetch_want(struct prefetch *s, uint64_t id, const struct phx_list *packages,
		  struct phx_err *err)
{
	struct prefetch_state want = {0};
	int r = s ? copy_of(id, packages, &want) : -EOPNOTSUPP;
	if (r < 0)
		return r;
	pthread_mutex_lock(&s->lock);
	if (s->want.id != id)
		r = prefetch_state_write(s->cfg->state_dir, &want, err);
	if (r == 0 && s->want.id != id) {
		replace(s, want);
		want = (struct prefetch_state){0};
	}
	pthread_mutex_unlock(&s->lock);
	phx_record_fini(&prefetch_state_record, &want);
	return r;
}

uint64_t prefetch_id(struct prefetch *s)
{
	if (!s)
		return 0;
	pthread_mutex_lock(&s->lock);
	uint64_t id = s->want.id;
	pthread_mutex_unlock(&s->lock);
	return id;
}

bool prefetch_keeps(struct prefetch *s, const struct phx_package_ref *p)
{
	if (!s)
		return false;
	pthread_mutex_lock(&s->lock);
	bool keeps = holds(&s->want.packages, p);
	pthread_mutex_unlock(&s->lock);
	return keeps;
}

void prefetch_monitor(struct prefetch *s, json_t *monitor)
{
	if (!prefetch_id(s))
		return;
	pthread_mutex_lock(&s->lock);
	json_object_set_new(monitor, "prefetch_wanted", json_integer(s->want.packages.n));
	json_object_set_new(monitor, "prefetch_there", json_integer(s->there));
	pthread_mutex_unlock(&s->lock);
}

/* ---- steps come first ---- */

void prefetch_pause(struct prefetch *s, const struct phx_role *role)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->paused++;
	s->needed = role;
	/* a step waits for the thread now */
	if (s->working)
		setpriority(PRIO_PROCESS, (id_t)s->tid, 0);
	while (s->working)
		pthread_cond_wait(&s->changed, &s->lock);
	s->needed = NULL;
	pthread_mutex_unlock(&s->lock);
}

void prefetch_resume(struct prefetch *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->paused--;
	s->look = true;
	s->due_ms = phx_clock_ms() + QUIET_MS;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

/* ---- life ---- */

int prefetch_new(const struct agent_config *cfg, prefetch_client_fn client, void *arg,
		 struct prefetch **ret, struct phx_err *err)
{
	struct prefetch *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	*s = (struct prefetch){.cfg = cfg, .make_client = client, .client_arg = arg, .look = true};
	s->due_ms = phx_clock_ms() + QUIET_MS;
	pthread_mutex_init(&s->lock, NULL);
	phx_cond_init(&s->changed);
	if (prefetch_state_read(cfg->state_dir, &s->want, NULL) < 0)
		s->want = (struct prefetch_state){0};
	int r = -pthread_create(&s->thread, NULL, run_thread, s);
	if (r < 0) {
		phx_record_fini(&prefetch_state_record, &s->want);
		free(s);
		return phx_err_set(err, r, "prefetch thread: %s", strerror(-r));
	}
	*ret = s;
	return 0;
}

void prefetch_free(struct prefetch *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->quit = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	phx_record_fini(&prefetch_state_record, &s->want);
	phx_list_fini(&s->gone);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->changed);
	free(s);
}
