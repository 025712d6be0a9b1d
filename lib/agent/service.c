/* Supervision: see service.h. Whoever has taken the services (loop_take()) owns the slots and talks
 * to the backend, which may take long: a worker with a step, the link, or look_after(), which is
 * called when a service dies or one is to be started again.
 *
 *	down ──start──▶ up ──dies──▶ down (restart, after its backoff; its dependants too)
 *	                up ──dies──▶ done (status 0) or failed, when it is not to be restarted
 *
 * Never decides which role runs. */
#include "agent/service.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "agent/config.h"
#include "agent/log.h"
#include "agent/service_internal.h"

enum {
	BACKOFF_FIRST_MS = 100,
	BACKOFF_MAX_MS = 10000,
	GOOD_RUN_MS = 30000,
	GLANCE_MS = 50,
	TICK_MS = 500
};

/* ---- one service ---- */

static bool after(const struct phx_service *svc, const char *name)
{
	PHX_LIST_EACH(struct phx_word, w, &svc->after)
		if (phx_str_eq(w->text, name))
			return true;
	return false;
}

static const char *package_version(const struct phx_role *role, const char *package)
{
	PHX_LIST_EACH(struct phx_package_ref, p, &role->packages)
		if (phx_str_eq(p->name, package))
			return p->version;
	return NULL;
}

/* The directory of the service's package; "" without one. */
static char *package_dir(const struct services *s, const struct phx_service *svc)
{
	const char *version = package_version(&s->role, svc->package);
	return version ? phx_path("%s/%s/%s", s->pkg_root, svc->package, version) : strdup("");
}

static char **word_vector(const struct phx_list *words, size_t extra)
{
	char **v = calloc(words->n + extra + 1, sizeof(*v));
	size_t i = 0;
	if (v)
		PHX_LIST_EACH(struct phx_word, w, words)
			v[i++] = w->text;
	return v;
}

static int run_service(struct services *s, struct slot *slot, struct phx_err *err)
{
	const struct phx_service *svc = slot->svc;
	PHX_AUTO_FREE char *dir = package_dir(s, svc);
	PHX_AUTO_FREE char **argv = word_vector(&svc->argv, 0);
	PHX_AUTO_FREE char **env = word_vector(&svc->env, 3);
	if (!dir || !argv || !env)
		return -ENOMEM;
	const char *word = argv[0] ? argv[0] : "";
	if (word[0] != '/' && !*dir)
		return phx_err_set(err, -EINVAL,
				   "\"%s\": a relative program needs a package of the role", word);
	PHX_AUTO_FREE char *program = word[0] == '/' ? strdup(word) : phx_path("%s/%s", dir, word);
	PHX_AUTO_FREE char *env_package = phx_path("PHX_PACKAGE=%s", dir);
	PHX_AUTO_FREE char *env_role = phx_path("PHX_ROLE=%s", s->role.name);
	if (!program || !env_package || !env_role)
		return -ENOMEM;
	argv[0] = program;
	env[svc->env.n] = env_package;
	env[svc->env.n + 1] = env_role;
	env[svc->env.n + 2] =
		(char *)"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	PHX_AUTO(phx_buf_fini) struct phx_buf what = {0};
	phx_buf_addf(&what, "Phoenix %s of role %s:", svc->name, s->role.name);
	for (char **a = argv; *a; a++)
		phx_buf_addf(&what, " %s", *a);
	struct service_command c = {.name = svc->name,
				    .description = what.data ? what.data : "",
				    .cwd = *dir ? dir : "/",
				    .user = svc->user,
				    .argv = argv,
				    .env = env,
				    .stop_grace_s = svc->stop_grace_s,
				    .cpu_milli = s->role.web.cpu_milli,
				    .ahead = s->exchanged,
				    .first = !slot->started_ms};
	return s->backend->start(s->self, &c, &slot->proc, err);
}

static int start_slot(struct services *s, struct slot *slot, struct phx_err *err)
{
	struct phx_err why = {0};
	slot_log_begin(s, slot);
	int r = run_service(s, slot, &why);
	if (r < 0) {
		slot_log_end(s, slot);
		return phx_err_set(err, r, "service %s: %.200s%s%s", slot->svc->name, why.text,
				   slot->said[0] ? ": " : "", slot->said);
	}
	slot->state = SLOT_UP;
	slot->started_ms = phx_clock_ms();
	return 0;
}

static void stop_slot(struct services *s, struct slot *slot)
{
	struct phx_err err = {0};
	if (slot->state == SLOT_UP &&
	    s->backend->stop(s->self, slot->svc->name, &slot->proc, slot->svc->stop_grace_s, &err) <
		    0)
		agent_log("service %s: %s", slot->svc->name, err.text);
	slot->state = SLOT_DOWN;
}

/* Has a service that was up died? */
static bool slot_died(struct services *s, struct slot *slot)
{
	if (slot->state != SLOT_UP ||
	    s->backend->running(s->self, slot->svc->name, &slot->proc, &slot->status))
		return false;
	slot_log_end(s, slot);
	return true;
}

/* ---- all services ---- */

void services_forget_role(struct services *s)
{
	free(PHX_TAKE(s->slots));
	s->n = 0;
	phx_record_fini(&phx_role_record, &s->role);
}

void services_stop_all(struct services *s)
{
	for (uint32_t i = s->n; i > 0; i--)
		stop_slot(s, &s->slots[i - 1]);
	services_forget_role(s);
}

static int load_role(struct services *s, const struct phx_role *role, struct phx_err *err)
{
	uint32_t n = role->services.n;
	PHX_AUTO_FREE uint32_t *order = calloc(n + 1, sizeof(*order));
	struct slot *slots = calloc(n + 1, sizeof(*slots));
	int r = order && slots ? phx_role_order(role, order, err) : -ENOMEM;
	if (r == 0)
		r = phx_record_copy(&phx_role_record, &s->role, role);
	if (r < 0) {
		free(slots);
		return r;
	}
	for (uint32_t i = 0; i < n; i++) {
		slots[i].svc = PHX_LIST_AT(&s->role.services, struct phx_service, order[i]);
		slots[i].proc.pidfd = -1;
	}
	s->slots = slots;
	s->n = n;
	if (!s->exchanged)
		services_publish_names(s);
	return 0;
}

bool services_all_up(struct services *s, const struct phx_role *role)
{
	if (!phx_record_equal(&phx_role_record, &s->role, role))
		return false;
	for (uint32_t i = 0; i < s->n; i++)
		if (s->slots[i].state == SLOT_DOWN || s->slots[i].state == SLOT_FAILED ||
		    slot_died(s, &s->slots[i]))
			return false;
	return true;
}

/* ---- do services live? ---- */

/* Called with the loop held, as is watch_slots(): a pidfd that is watched must not be closed. */
void services_unwatch(struct services *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		loop_forget(s->loop, &s->slots[i].death);
}

static void watch_slots(struct services *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		struct slot *slot = &s->slots[i];
		if (slot->state == SLOT_UP && slot->proc.pidfd >= 0)
			loop_watch(s->loop, slot->proc.pidfd, services_notice, s, &slot->death);
	}
}

/* How long a service must have lived before its start counts: its settle time, or a moment in which
 * a program that cannot run at all ends. */
static uint32_t must_live_ms(const struct slot *slot, bool settle)
{
	return settle ? slot->svc->settle_s * 1000 : GLANCE_MS;
}

static int check_alive(struct services *s, struct slot *slot, struct phx_err *err)
{
	char within[48] = "at once";
	if (slot_died(s, slot))
		slot->state = slot->status || slot->svc->restart ? SLOT_DOWN : SLOT_DONE;
	if (slot->state == SLOT_UP || slot->state == SLOT_DONE)
		return 0;
	if (slot->svc->settle_s)
		snprintf(within, sizeof(within), "within its settle time of %u s",
			 slot->svc->settle_s);
	return phx_err_set(err, -EIO, "service %s ended %s with status %d%s%s", slot->svc->name,
			   within, slot->status, slot->said[0] ? ": " : "", slot->said);
}

/* Waits until a service dies, there is other news, or the time has come. Asks whether to give up
 * while the loop is held, so that no news can be missed in between. */
static bool wait_death(struct services *s, const struct fetch_stop *stop, int64_t due_ms)
{
	LOOP_HELD(s->loop);
	bool given_up = stop && stop->wanted(stop->arg);
	watch_slots(s);
	if (!given_up)
		loop_wait(s->loop, due_ms);
	services_unwatch(s);
	return given_up;
}

/* Waits until all services have lived long enough. Wakes when one dies; a service without pidfd is
 * checked when the time is over. */
static int await_life(struct services *s, bool settle, const struct fetch_stop *stop,
		      struct phx_err *err)
{
	for (;;) {
		int64_t due_ms = 0;
		for (uint32_t i = 0; i < s->n; i++) {
			struct slot *slot = &s->slots[i];
			int64_t until_ms = slot->started_ms + must_live_ms(slot, settle);
			int r = check_alive(s, slot, err);
			if (r < 0)
				return r;
			if (slot->state == SLOT_UP && until_ms > due_ms)
				due_ms = until_ms;
		}
		if (due_ms <= phx_clock_ms())
			return 0;
		if (wait_death(s, stop, due_ms))
			return phx_err_set(
				err, -ECANCELED,
				"given up before the services had run for their settle time");
	}
}

int services_run_role(struct services *s, const struct phx_role *role, struct phx_err *err)
{
	if (s->n && services_all_up(s, role))
		return 0;
	services_stop_all(s);
	int r = load_role(s, role, err);
	for (uint32_t i = 0; r == 0 && i < s->n; i++)
		r = start_slot(s, &s->slots[i], err);
	if (r == 0)
		r = await_life(s, false, NULL, err);
	if (r < 0)
		services_stop_all(s);
	return r;
}

static int settle(struct services *s, const struct fetch_stop *stop, struct phx_err *err)
{
	int r = await_life(s, true, stop, err);
	if (r < 0)
		services_stop_all(s);
	return r;
}

/* Stops services that an earlier agent may have left, the last of the role first: later ones may
 * depend on earlier ones. */
int services_stop_leftovers(struct services *s, const struct phx_role *role, struct phx_err *err)
{
	int r = 0;
	for (uint32_t i = role ? role->services.n : 0; r == 0 && i > 0; i--) {
		const struct phx_service *svc =
			PHX_LIST_AT(&role->services, struct phx_service, i - 1);
		r = s->backend->stop(s->self, svc->name, NULL, svc->stop_grace_s, err);
		if (r < 0)
			phx_err_prefix(err, r, "service %s", svc->name);
	}
	return r;
}

/* ---- death and restart ---- */

static void take_down(struct services *s, struct slot *slot)
{
	if (slot->state == SLOT_UP)
		agent_log("service %s: stopped, one it depends on died", slot->svc->name);
	stop_slot(s, slot);
	slot->next_start_ms = 0;
}

/* Takes down all services that come after `name`, directly or not, the last first. Start order puts
 * dependants behind, so the recursion ends. */
static void take_down_dependants(struct services *s, const char *name)
{
	for (uint32_t i = s->n; i > 0; i--) {
		struct slot *slot = &s->slots[i - 1];
		if (!after(slot->svc, name) || slot->state == SLOT_DOWN)
			continue;
		take_down_dependants(s, slot->svc->name);
		take_down(s, slot);
	}
}

static void bury(struct services *s, struct slot *slot)
{
	int64_t now = phx_clock_ms();
	if (!slot->svc->restart || slot->drained) {
		slot->state = slot->status && !slot->drained ? SLOT_FAILED : SLOT_DONE;
		agent_log("service %s: ended with status %d", slot->svc->name, slot->status);
		return;
	}
	bool good = now - slot->started_ms >= GOOD_RUN_MS;
	slot->backoff_ms = good || !slot->backoff_ms ? BACKOFF_FIRST_MS : slot->backoff_ms * 2;
	if (slot->backoff_ms > BACKOFF_MAX_MS)
		slot->backoff_ms = BACKOFF_MAX_MS;
	slot->next_start_ms = now + slot->backoff_ms;
	agent_log("service %s: ended with status %d, starting again in %u ms", slot->svc->name,
		  slot->status, slot->backoff_ms);
	slot->state = SLOT_DOWN;
	take_down_dependants(s, slot->svc->name);
}

static bool dependencies_up(const struct services *s, const struct slot *slot)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const struct slot *other = &s->slots[i];
		if (after(slot->svc, other->svc->name) && other->state != SLOT_UP &&
		    other->state != SLOT_DONE)
			return false;
	}
	return true;
}

static void restart_slot(struct services *s, struct slot *slot)
{
	struct phx_err err = {0};
	if (start_slot(s, slot, &err) < 0) {
		agent_log("%s", err.text);
		slot->next_start_ms = phx_clock_ms() + BACKOFF_MAX_MS;
		return;
	}
	LOOP_HELD(s->loop);
	s->restarts++;
}

/* Does every running service have a pidfd, so that its end is noticed? systemd names none while it
 * ends the rest of a unit: it has to be asked then. */
static bool all_watched(const struct services *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->slots[i].state == SLOT_UP && s->slots[i].proc.pidfd < 0)
			return false;
	return true;
}

/* Restarts services that died. Returns when the next call is due. */
static int64_t supervise(struct services *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (slot_died(s, &s->slots[i])) {
			slot_tell_end(s, &s->slots[i]);
			bury(s, &s->slots[i]);
		}
	int64_t due_ms = all_watched(s) ? INT64_MAX : phx_clock_ms() + TICK_MS;
	for (uint32_t i = 0; i < s->n; i++) {
		struct slot *slot = &s->slots[i];
		if (slot->state != SLOT_DOWN || !dependencies_up(s, slot))
			continue;
		if (slot->next_start_ms <= phx_clock_ms())
			restart_slot(s, slot);
		if (slot->state == SLOT_DOWN && slot->next_start_ms < due_ms)
			due_ms = slot->next_start_ms;
	}
	return due_ms;
}

/* ---- clients that stay ---- */

static int drain_all(struct services *s, struct phx_err *err)
{
	static const int signals[] = {[PHX_DRAIN_HUP] = SIGHUP,
				      [PHX_DRAIN_QUIT] = SIGQUIT,
				      [PHX_DRAIN_USR1] = SIGUSR1,
				      [PHX_DRAIN_USR2] = SIGUSR2,
				      [PHX_DRAIN_WINCH] = SIGWINCH};
	int r = 0;
	for (uint32_t i = 0; r == 0 && i < s->n; i++) {
		struct slot *slot = &s->slots[i];
		unsigned sig = (unsigned)slot->svc->drain_signal;
		if (slot->state != SLOT_UP || sig == PHX_DRAIN_NONE ||
		    sig >= PHX_ARRAY_SIZE(signals))
			continue;
		slot->drained = true;
		r = s->backend->signal(s->self, slot->svc->name, &slot->proc, signals[sig], err);
	}
	return r;
}

/* ---- who may touch the slots ---- */

/* -ECANCELED: the services have ended for good. */
int services_begin(struct services *s, struct phx_err *err)
{
	loop_take(s->loop, &s->busy);
	loop_hold(s->loop);
	services_unwatch(s);
	bool ended = s->ended;
	loop_release(s->loop);
	if (ended)
		loop_give(s->loop, &s->busy);
	return ended ? phx_err_set(err, -ECANCELED, "the agent stops") : 0;
}

/* Gives the services back. From now on look_after() is called when one dies, or when the time has
 * come. */
int services_finish(struct services *s, int64_t due_ms, int r)
{
	services_publish(s);
	LOOP_HELD(s->loop);
	watch_slots(s);
	loop_arm(s->loop, s->due, due_ms);
	loop_give(s->loop, &s->busy);
	return r;
}

/* In a worker. */
static void look_after(void *arg)
{
	struct services *s = arg;
	int r = services_begin(s, NULL);
	loop_hold(s->loop);
	s->looking = false; /* any later event has the services looked after again */
	loop_news(s->loop);
	loop_release(s->loop);
	if (r == 0)
		services_finish(s, supervise(s), 0);
}

/* A service has died, or the time has come: whoever has the services looks after them, or else a
 * worker does. */
void services_notice(void *services)
{
	struct services *s = services;
	loop_news(s->loop);
	if (s->busy || s->looking)
		return;
	s->looking = loop_work(s->loop, look_after, s) == 0;
	if (!s->looking)
		loop_arm(s->loop, s->due, phx_clock_ms() + TICK_MS);
}

int services_settle(struct services *s, const struct fetch_stop *stop, struct phx_err *err)
{
	int r = services_begin(s, err);
	return r ? r : services_finish(s, 0, settle(s, stop, err));
}

int services_stop(struct services *s, const struct phx_role *role, struct phx_err *err)
{
	int r = services_begin(s, err);
	if (r < 0)
		return r;
	services_stop_all(s);
	return services_finish(s, 0, services_stop_leftovers(s, role, err));
}

int services_drain(struct services *s, struct phx_err *err)
{
	int r = services_begin(s, err);
	return r ? r : services_finish(s, 0, drain_all(s, err));
}

int services_limit(struct services *s, struct phx_err *err)
{
	int r = services_begin(s, err);
	if (r < 0)
		return r;
	if (s->role.web.cpu_milli && s->backend->limit)
		r = s->backend->limit(s->self, s->role.web.cpu_milli, err);
	return services_finish(s, 0, r);
}
