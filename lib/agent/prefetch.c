/* See prefetch.h. Called by the link (orders, beats) and the worker (pause).
 *
 *	rests ──package missing, no step for a while──▶ works (a worker) ──none missing──▶ rests
 *	              ▲                                    │ failed, or a step begins: later
 *	              └────────────────────────────────────┘
 *
 * After that the worker starts the role that is wanted ahead, if its packages are there (ahead.h).
 * Never activates a package, never touches packages of the active role. */
#include "agent/prefetch.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
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
	struct loop *loop;
	const struct agent_config *cfg;
	struct ahead *ahead; /* its role is started when its packages are there; NULL: none */
	prefetch_client_fn make_client;
	void *client_arg;
	sd_event_source *due;       /* a worker is to look */
	struct prefetch_state want; /* as recorded on disk */
	struct phx_list gone;       /* struct phx_package_ref: wanted earlier, to be removed */
	uint32_t there;             /* how many wanted packages were unpacked at the last check */
	bool look;                  /* a package may be missing */
	int64_t due_ms;             /* no fetch before then; on phx_clock_ms()'s clock */
	uint32_t paused;
	bool working;
	struct phx_package_ref at;     /* of the worker: the package that it works on */
	const struct phx_role *needed; /* role of the step that waits; NULL none */
	pid_t tid;                     /* of the worker */
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

/* ---- one package; in a worker ---- */

/* Must the worker stop its work? Asked while bytes come in. */
static bool must_let_go(void *arg)
{
	struct prefetch *s = arg;
	LOOP_HELD(s->loop);
	return !s->due || (s->paused && !(s->needed && holds(&s->needed->packages, &s->at))) ||
		!holds(&s->want.packages, &s->at);
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

/* ---- the work; in a worker ---- */

static int copy_of(uint64_t id, const struct phx_list *packages, struct prefetch_state *ret)
{
	struct prefetch_state from = {.id = id, .packages = *packages};
	return phx_record_copy(&prefetch_state_record, ret, &from);
}

/* Finds the first package that is not unpacked, and counts those that are. False also if it is not
 * yet time to fetch one. */
static bool find_missing(struct prefetch *s)
{
	struct prefetch_state want = {0};
	uint32_t there = 0;
	bool found = false;
	loop_hold(s->loop);
	bool look = s->look && !s->paused && s->due && phx_clock_ms() >= s->due_ms &&
		copy_of(s->want.id, &s->want.packages, &want) == 0;
	loop_release(s->loop);
	PHX_LIST_EACH(struct phx_package_ref, p, &want.packages) {
		bool is = package_unpacked(s->cfg, p);
		there += is;
		if (!is && !found)
			s->at = *p;
		found = found || !is;
	}
	loop_hold(s->loop);
	if (look)
		s->there = there;
	if (look && !found && want.id == s->want.id)
		s->look = false;
	loop_release(s->loop);
	phx_record_fini(&prefetch_state_record, &want);
	return found;
}

static int fetch_one(struct prefetch *s)
{
	struct phx_err err = {0};
	int r = provide(s, &s->at, &err);
	if (r == 0)
		agent_log("prefetch: %s-%s is at hand", s->at.name, s->at.version);
	else if (r != -ECANCELED)
		agent_log("prefetch: %s-%s: %s", s->at.name, s->at.version,
			  err.text[0] ? err.text : strerror(-r));
	return r;
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

/* Removes a package that is not wanted any more. It is kept for a later turn if it is in use, or if
 * a step waits: no step begins before the worker is done. */
static void drop(struct prefetch *s, const struct phx_package_ref *p)
{
	loop_hold(s->loop);
	bool wanted = holds(&s->want.packages, p), later = s->paused;
	loop_release(s->loop);
	if (wanted)
		return;
	later = later || in_use(s, p);
	loop_hold(s->loop);
	struct phx_package_ref *kept = later ? phx_list_push(&s->gone, sizeof(*kept)) : NULL;
	if (kept)
		*kept = *p;
	loop_release(s->loop);
	if (later)
		return;
	package_drop(s->cfg, p);
	phx_package_remove(s->cfg->pkg_root, p->name, p->version, NULL);
}

static void drop_gone(struct prefetch *s)
{
	loop_hold(s->loop);
	struct phx_list gone = s->gone;
	s->gone = (struct phx_list){0};
	loop_release(s->loop);
	PHX_LIST_EACH(struct phx_package_ref, p, &gone)
		drop(s, p);
	phx_list_fini(&gone);
}

/* Sets when a worker looks again, unless something happens before. */
static void arm(struct prefetch *s, int64_t due_ms)
{
	if (s->due && !s->working)
		loop_arm(s->loop, s->due, s->paused ? INT64_MAX : due_ms);
}

/* Does a step wait, or does the agent end? */
static bool must_rest(struct prefetch *s)
{
	LOOP_HELD(s->loop);
	return s->paused || !s->due;
}

static void work(void *arg)
{
	struct prefetch *s = arg;
	int r = 0;
	loop_hold(s->loop);
	s->tid = gettid();
	setpriority(PRIO_PROCESS, (id_t)s->tid, LOW_PRIORITY);
	loop_release(s->loop);
	ahead_stop_unwanted(s->ahead); /* before its packages go */
	drop_gone(s);
	while (r == 0 && find_missing(s))
		r = fetch_one(s);
	if (!must_rest(s))
		ahead_start_wanted(s->ahead);
	loop_hold(s->loop);
	setpriority(PRIO_PROCESS, (id_t)s->tid, 0);
	if (r < 0 && r != -ECANCELED)
		s->due_ms = phx_clock_ms() + AGAIN_MS;
	s->working = false;
	arm(s, s->look ? s->due_ms : INT64_MAX);
	loop_news(s->loop);
	loop_release(s->loop);
}

static void on_due(void *arg)
{
	struct prefetch *s = arg;
	s->working = !s->paused && loop_work(s->loop, work, s) == 0;
	arm(s, phx_clock_ms() + QUIET_MS);
}

/* Packages are looked at after a while without steps; those to be removed go at once. */
static void look_soon(struct prefetch *s)
{
	s->look = true;
	s->due_ms = phx_clock_ms() + QUIET_MS;
	arm(s, s->gone.n ? 0 : s->due_ms);
}

/* ---- the wanted packages ---- */

/* Takes `want`. */
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
	look_soon(s);
}

/* Called by the link alone, so that nobody changes the list between check and change. */
int prefetch_want(struct prefetch *s, uint64_t id, const struct phx_list *packages,
		  struct phx_err *err)
{
	struct prefetch_state want = {0};
	if (s && prefetch_id(s) == id)
		return 0;
	int r = s ? copy_of(id, packages, &want) : -EOPNOTSUPP;
	r = r ? r : prefetch_state_write(s->cfg->state_dir, &want, err);
	if (r < 0) {
		phx_record_fini(&prefetch_state_record, &want);
		return r;
	}
	LOOP_HELD(s->loop);
	replace(s, want);
	return 0;
}

void prefetch_look_ahead(struct prefetch *s)
{
	if (!s)
		return;
	LOOP_HELD(s->loop);
	look_soon(s);
}

uint64_t prefetch_id(struct prefetch *s)
{
	if (!s)
		return 0;
	LOOP_HELD(s->loop);
	return s->want.id;
}

bool prefetch_keeps(struct prefetch *s, const struct phx_package_ref *p)
{
	if (!s)
		return false;
	LOOP_HELD(s->loop);
	return holds(&s->want.packages, p);
}

void prefetch_monitor(struct prefetch *s, json_t *monitor)
{
	if (!prefetch_id(s))
		return;
	LOOP_HELD(s->loop);
	json_object_set_new(monitor, "prefetch_wanted", json_integer(s->want.packages.n));
	json_object_set_new(monitor, "prefetch_there", json_integer(s->there));
}

/* ---- steps come first ---- */

void prefetch_pause(struct prefetch *s, const struct phx_role *role)
{
	if (!s)
		return;
	LOOP_HELD(s->loop);
	s->paused++;
	s->needed = role;
	/* a step waits for the worker now */
	if (s->working)
		setpriority(PRIO_PROCESS, (id_t)s->tid, 0);
	while (s->working)
		loop_wait(s->loop, INT64_MAX);
	s->needed = NULL;
}

void prefetch_resume(struct prefetch *s)
{
	if (!s)
		return;
	LOOP_HELD(s->loop);
	s->paused--;
	look_soon(s);
}

/* ---- life ---- */

int prefetch_new(struct loop *loop, const struct agent_config *cfg, struct ahead *ahead,
		 prefetch_client_fn client, void *arg, struct prefetch **ret, struct phx_err *err)
{
	struct prefetch *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	*s = (struct prefetch){
		.loop = loop, .cfg = cfg, .ahead = ahead, .make_client = client, .client_arg = arg};
	if (prefetch_state_read(cfg->state_dir, &s->want, NULL) < 0)
		s->want = (struct prefetch_state){0};
	loop_hold(loop);
	int r = loop_timer(loop, on_due, s, &s->due);
	if (r == 0)
		look_soon(s);
	loop_release(loop);
	if (r < 0) {
		prefetch_free(s);
		return phx_err_set(err, r, "prefetch: %s", strerror(-r));
	}
	*ret = s;
	return 0;
}

void prefetch_free(struct prefetch *s)
{
	if (!s)
		return;
	loop_hold(s->loop);
	loop_forget(s->loop, &s->due);
	while (s->working)
		loop_wait(s->loop, INT64_MAX);
	loop_release(s->loop);
	phx_record_fini(&prefetch_state_record, &s->want);
	phx_list_fini(&s->gone);
	free(s);
}
