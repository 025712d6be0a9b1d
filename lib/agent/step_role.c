/* Steps about a role in the running system: its packages, services, jobs.
 * Called through the table of step_table.c. */
#include "agent/step.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/spawn.h"
#include "agent/removal.h"
#include "agent/package.h"
#include "agent/state.h"
#include "repo/repo.h"

enum {
	PORT_WAIT_MS = 5000,
	AGAIN_FIRST_MS = 20,
	AGAIN_MOST_MS = 250,
	LEAVE_MS = 60000,
	SITE_WAIT_MS = 60000,
};

/* ---- packages ---- */

static int lend_client(void *arg, struct phx_http_client **ret, struct phx_err *err)
{
	return step_http(arg, ret, err);
}

static struct package_from from_head(struct step_run *s)
{
	return (struct package_from){lend_client, s, {step_cancelled, s}};
}

static int each_package(struct step_run *s,
			int (*act)(const struct agent_config *cfg, const struct phx_package_ref *p,
				   const struct package_from *from, struct phx_err *err),
			struct phx_err *err)
{
	struct package_from from = from_head(s);
	int r = 0;
	PHX_LIST_EACH(struct phx_package_ref, p, &s->order->role.packages) {
		if (r == 0 && step_cancelled(s))
			r = phx_err_set(err, -ECANCELED, "given up before it came to %s", p->name);
		r = r ? r : act(&s->agent->cfg, p, &from, err);
	}
	return r;
}

/* A package that the prefetch has unpacked need not be in the cache as an archive too. */
static int need_in_time(const struct agent_config *cfg, const struct phx_package_ref *p,
			const struct package_from *from, struct phx_err *err)
{
	return package_unpacked(cfg, p) ? 0 : package_need(cfg, p, from, err);
}

int step_prefetch(struct step_run *s, struct phx_err *err)
{
	return each_package(s, need_in_time, err);
}

static bool wants_package(const struct phx_role *role, const char *name)
{
	PHX_LIST_EACH(struct phx_package_ref, p, &role->packages)
		if (phx_str_eq(p->name, name))
			return true;
	return false;
}

/* Only the package knows what its services changed outside of it: its program "leave", of the
 * version that ran, undoes that. If the program fails, the node is not handed on. */
static int run_leave(const struct agent *a, const struct phx_role *role, const char *package,
		     struct phx_err *err)
{
	char version[PHX_NAME_MAX], name[PHX_NAME_MAX + sizeof("PHX_ROLE=")];
	struct phx_err why = {0};
	if (phx_package_current(a->cfg.pkg_root, package, version, NULL) < 0)
		return 0;
	PHX_AUTO_FREE char *dir = phx_path("%s/%s/%s", a->cfg.pkg_root, package, version);
	PHX_AUTO_FREE char *program = dir ? phx_path("%s/leave", dir) : NULL;
	PHX_AUTO_FREE char *where = dir ? phx_path("PHX_PACKAGE=%s", dir) : NULL;
	if (!program || !where)
		return -ENOMEM;
	if (access(program, F_OK) < 0)
		return 0;
	snprintf(name, sizeof(name), "PHX_ROLE=%s", role->name);
	const char *const argv[] = {program, NULL}, *const env[] = {name, where, NULL};
	struct phx_run run = {
		.argv = argv, .env_add = env, .timeout_ms = LEAVE_MS, .output_max = 4096};
	int r = phx_run_check(&run, NULL, &why);
	return r < 0 ? phx_err_set(err, r, "leave of %s-%s: %s", package, version, why.text) : 0;
}

/* Runs the programs "leave" of a role's packages, the last package first. */
static int run_leaves(const struct agent *a, const struct phx_role *role,
		      const struct phx_role *keep, struct phx_err *err)
{
	int r = 0;
	for (uint32_t i = role->packages.n; r == 0 && i-- > 0;) {
		const struct phx_package_ref *p =
			PHX_LIST_AT(&role->packages, struct phx_package_ref, i);
		r = keep && wants_package(keep, p->name) ? 0 : run_leave(a, role, p->name, err);
	}
	return r;
}

/* Removes packages and files of a role, except packages that `keep` (may be NULL) needs too. */
static int remove_role(const struct agent *a, const struct phx_role *role,
		       const struct phx_role *keep, struct phx_err *err)
{
	PHX_LIST_EACH(struct phx_word, w, &role->leave_remove) {
		int r = removal_check(w->text, err);
		if (r < 0)
			return r;
	}
	int left = run_leaves(a, role, keep, err);
	if (left < 0)
		return left;
	PHX_LIST_EACH(struct phx_package_ref, p, &role->packages) {
		if (keep && wants_package(keep, p->name))
			continue;
		int r = phx_package_remove(a->cfg.pkg_root, p->name, NULL, err);
		if (r < 0)
			return r;
	}
	PHX_LIST_EACH(struct phx_word, w, &role->leave_remove) {
		int r = removal_remove(a->cfg.root, w->text, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int step_leave(struct step_run *s, struct phx_err *err)
{
	struct agent *a = s->agent;
	int r = remove_role(a, &s->order->role, NULL, err);
	PHX_LIST_EACH(struct phx_package_ref, p, &s->order->role.packages)
		if (r == 0 && !prefetch_keeps(a->prefetch, p))
			package_drop(&a->cfg, p);
	return r ? r : role_state_remove(a->cfg.state_dir, err);
}

/* Removes another role that an unfinished hand-over left. */
static int remove_previous(const struct agent *a, const struct phx_role *to, struct phx_err *err)
{
	struct role_state old;
	int r = role_state_read(a->cfg.state_dir, &old, NULL);
	if (r < 0)
		return 0;
	r = phx_str_eq(old.role.name, to->name) ? 0 : remove_role(a, &old.role, to, err);
	phx_record_fini(&role_state_record, &old);
	return r;
}

/* Switches all packages or none: when one cannot be switched, those before it are switched back. */
static int switch_all(const struct agent *a, const struct phx_role *role, struct phx_err *err)
{
	char(*before)[PHX_NAME_MAX] = calloc(role->packages.n + 1, sizeof(*before));
	uint32_t done = 0;
	int r = before ? 0 : -ENOMEM;
	for (; r == 0 && done < role->packages.n; done++) {
		const struct phx_package_ref *p =
			PHX_LIST_AT(&role->packages, struct phx_package_ref, done);
		phx_package_current(a->cfg.pkg_root, p->name, before[done], NULL);
		if (!phx_str_eq(before[done], p->version))
			r = phx_package_activate(a->cfg.pkg_root, p->name, p->version, err);
	}
	for (uint32_t i = done; r < 0 && i > 0; i--) {
		const struct phx_package_ref *p =
			PHX_LIST_AT(&role->packages, struct phx_package_ref, i - 1);
		if (!before[i - 1][0])
			phx_package_remove(a->cfg.pkg_root, p->name, NULL, NULL);
		else if (!phx_str_eq(before[i - 1], p->version))
			phx_package_activate(a->cfg.pkg_root, p->name, before[i - 1], NULL);
	}
	free(before);
	return r;
}

/* Refuses a role that is older than the active one, unless going back is ordered: by the role's
 * file, or as the way back of an update that failed. Orders are the head's word, so this protects
 * against a restored catalogue, not against a head that lies. */
static int check_older(struct step_run *s, struct phx_err *err)
{
	struct role_state here;
	if (s->order->step.former || role_state_read(s->agent->cfg.state_dir, &here, NULL) < 0)
		return 0;
	int r = phx_str_eq(here.role.name, s->order->role.name)
		? phx_role_not_older(&here.role, &s->order->role, err)
		: 0;
	phx_record_fini(&role_state_record, &here);
	return r;
}

/* Removes what the members of the node's RE have here, unless the head says that the node stays in
 * that RE. */
static int leave_members(struct step_run *s, struct phx_err *err)
{
	return accounts_leave(s->agent->accounts, phx_json_str(s->extra, "re", ""), err);
}

/* What the agent starts by itself when the node has started again. */
static int keep_role(const struct step_run *s, bool run, struct phx_err *err)
{
	struct role_state state = {.run = run};
	if (phx_record_copy(&phx_role_record, &state.role, &s->order->role) < 0)
		return -ENOMEM;
	int r = role_state_write(s->agent->cfg.state_dir, &state, err);
	phx_record_fini(&role_state_record, &state);
	return r;
}

int step_activate(struct step_run *s, struct phx_err *err)
{
	struct agent *a = s->agent;
	/* a node that was silent comes here without a step stop */
	int r = leave_members(s, err);
	/* a hand-over with a wipe comes here without a step prefetch */
	r = r ? r : check_older(s, err);
	r = r ? r : each_package(s, package_unpack, err);
	if (r == 0)
		r = switch_all(a, &s->order->role, err);
	if (r == 0)
		r = remove_previous(a, &s->order->role, err);
	return r ? r : keep_role(s, false, err);
}

/* ---- jobs and services ---- */

static int let_clients_go(void *arg, struct phx_err *err)
{
	struct step_run *s = arg;
	return services_drain(s->agent->services, err);
}

int step_drain(struct step_run *s, struct phx_err *err)
{
	struct web_drain_calls calls = {step_wait_ms, let_clients_go, s};
	struct jobs_until until = {step_cancelled, s, s->deadline_ms};
	struct agent *a = s->agent;
	uint32_t grace_ms = s->order->role.drain_grace_s * 1000;
	int r = jobs_drain(a->jobs, grace_ms, &until, err);
	r = r ? r : tasks_drain(a->tasks, &until, err);
	return r ? r : web_drain(a->web, &s->order->role, grace_ms, &calls, err);
}

static bool port_open(const char *port)
{
	uint64_t n;
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	if (phx_u64_parse(port, 1, 65535, &n) < 0)
		return false;
	to.sin_port = htons((uint16_t)n);
	PHX_AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0;
}

static int wait_ports_closed(struct step_run *s, struct phx_err *err)
{
	int64_t end = phx_clock_ms() + PORT_WAIT_MS;
	struct phx_again again = {AGAIN_FIRST_MS, AGAIN_MOST_MS, 0};
	PHX_LIST_EACH(struct phx_word, port, &s->order->role.ports)
		while (port_open(port->text)) {
			if (phx_clock_ms() >= end || step_wait_ms(s, phx_again_ms(&again)))
				return phx_err_set(err, -EBUSY, "port %s is still open",
						   port->text);
		}
	return 0;
}

/* Leaves both the address that the node entered and the order's: they differ if the RE that named
 * the first is gone. */
static int leave_web(struct step_run *s, struct phx_err *err)
{
	struct role_state here;
	struct agent *a = s->agent;
	int r = 0;
	if (role_state_read(a->cfg.state_dir, &here, NULL) == 0) {
		r = web_leave(a->web, &here.role, err);
		phx_record_fini(&role_state_record, &here);
	}
	return r ? r : web_leave(a->web, &s->order->role, err);
}

int step_stop(struct step_run *s, struct phx_err *err)
{
	struct agent *a = s->agent;
	/* first, so that an agent that starts again in between starts no service */
	int r = role_state_set_run(a->cfg.state_dir, false, err);
	if (r < 0 && r != -ENOENT)
		return r;
	phx_err_clear(err);
	r = health_watch(a->health, NULL, err);
	r = r ? r : services_stop(a->services, &s->order->role, err);
	r = r ? r : leave_web(s, err);
	if (r == 0 && s->order->role.director)
		r = director_clear(a->web, err);
	r = r ? r : leave_members(s, err);
	return r ? r : wait_ports_closed(s, err);
}

int step_start(struct step_run *s, struct phx_err *err)
{
	const struct fetch_stop stop = {step_cancelled, s};
	struct agent *a = s->agent;
	site_wait(a->site, SITE_WAIT_MS);
	int r = web_enter(a->web, &s->order->role, err);
	if (r < 0)
		return r;
	r = ahead_over(a->ahead, &s->order->role, err);
	r = r ? r : services_start(a->services, &s->order->role, err);
	r = r ? r : services_settle(a->services, &stop, err);
	if (r < 0)
		web_leave(a->web, &s->order->role, NULL);
	if (r == 0) /* it may have been mended since it was activated */
		r = keep_role(s, true, err);
	return r ? r : health_watch(a->health, &s->order->role, err);
}

/* Checks the role's health. A starting service needs the CPU more than the check does: the whole
 * check runs only when the service listens. */
static int ask_health(struct step_run *s, struct phx_err *why)
{
	char text[SERVICE_TEXT_MAX];
	struct agent *a = s->agent;
	int r = services_ok(a->services, text, sizeof(text)) ? 0
							     : phx_err_set(why, -EIO, "%s", text);
	r = r ? r : health_listens(&s->order->role, why);
	return r ? r : health_check(&s->order->role, a->cfg.pkg_root, why);
}

int step_health(struct step_run *s, struct phx_err *err)
{
	struct agent *a = s->agent;
	struct phx_again again = {AGAIN_FIRST_MS, AGAIN_MOST_MS, 0};
	for (;;) {
		struct phx_err why = {0};
		if (ask_health(s, &why) == 0) {
			health_passed(a->health);
			return agent_limit(a, &s->order->role, err);
		}
		if (step_wait_ms(s, phx_again_ms(&again))) {
			char said[SERVICE_TEXT_MAX];
			services_said(a->services, said, sizeof(said));
			/* the text of a service that died has its last output already */
			bool more = said[0] && !strstr(why.text, "not running: ");
			return phx_err_set(err, -ETIMEDOUT, "not healthy: %.120s%s%.120s", why.text,
					   more ? "; " : "", more ? said : "");
		}
	}
}
