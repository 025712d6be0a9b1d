/* The link: enrols, says hello, beats, hands orders on.
 *
 *	enrol ──certificate──▶ hello ──▶ beat ◀─┐
 *	  ▲                      ▲ 409,   │ └─────┘ order or time
 *	  └──── 401, 403 ────────┴─facts──┘
 *
 * A lost head is tried again without end, with jitter. The link never carries out a step itself,
 * and never waits for one. It keeps a worker for good: the head holds its calls back, entering a
 * system or starting a role takes long, and between calls it only waits. */
#include "agent/link.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/json.h"
#include "inventory/inventory.h"
#include "agent/agent.h"
#include "agent/anchors.h"
#include "agent/beacon.h"
#include "agent/enrol.h"
#include "agent/log.h"
#include "agent/order.h"
#include "agent/rekey.h"
#include "agent/report.h"
#include "agent/root.h"
#include "agent/state.h"
#include "agent/trust.h"

enum {
	CALL_TIMEOUT_MS = 10000,
	BEAT_DEFAULT_MS = 2000,
	BEAT_MAX_MS = 60000,
	FACTS_EVERY_MS = 60000,
	LOCAL_RETRY_MS = 10000,
	RETRY_FIRST_MS = 250,
	RETRY_MAX_MS = 2000,
	BRAKE_MS = 250, /* between beats when the head repeats itself */
	REFUSALS_MAX = 3,
	FAILED_MAX = 4, /* services whose output is told when the role is not healthy any more */
};

struct link {
	struct agent *agent;
	struct phx_http_client *client;
	struct role_view role;
	struct phx_monitor sample; /* the last sample */
	bool has_sample;
	bool registered;
	bool boot_local;
	bool was_healthy;                     /* when it was looked at last */
	char kernel_release[PHX_RELEASE_MAX]; /* that the head promises for that; "": any */
	bool resumed;    /* services of an earlier boot's role were started, or need not be */
	uint64_t anchor; /* event of the last anchor that is kept */
	uint32_t beat_ms;
	uint32_t retry_ms;
	uint32_t refusals;
	unsigned keys; /* agent->keys when the client was made */
	int64_t facts_due_ms, local_due_ms;
	struct renewal renewal;
};

/* ---- what the agent reports ---- */

/* The active role, zeroed without one; borrowed until the next call. */
static const struct role_state *read_role(struct link *l)
{
	static const struct role_state none;
	return l->agent->env == PHX_ENV_OS ? role_view_look(&l->role, l->agent->cfg.state_dir)
					   : &none;
}

static struct phx_told_report report_of(struct link *l)
{
	struct agent *a = l->agent;
	const struct role_state *role = read_role(l);
	struct phx_told_report r = {.env = (int)a->env};
	PHX_STR_SET(r.boot_id, a->boot_id);
	report_health(a, &r);
	if (!role->run)
		return r;
	PHX_STR_SET(r.actual_role, role->role.name);
	state_identity(a->cfg.state_dir, a->cfg.pkg_root, role->role.name[0] ? &role->role : NULL,
		       r.actual_identity, sizeof(r.actual_identity));
	return r;
}

static void add_monitor(struct link *l, json_t *j)
{
	struct phx_monitor now;
	if (phx_monitor_read(l->agent->cfg.fact_root, l->has_sample ? &l->sample : NULL, &now,
			     NULL) < 0)
		return;
	l->sample = now;
	l->has_sample = true;
	json_t *monitor = phx_json_from_record(&phx_monitor_record, &now);
	web_monitor(l->agent->web, l->agent->services, monitor);
	prefetch_monitor(l->agent->prefetch, monitor);
	ahead_monitor(l->agent->ahead, monitor);
	services_monitor(l->agent->services, monitor);
	site_monitor(l->agent->site, monitor);
	report_sessions(l->agent, monitor);
	json_object_set_new(j, "monitor", monitor);
}

/* A role that was resumed after a start has no health step: its quota begins with the first healthy
 * verdict. */
static void limit_when_healthy(struct link *l, bool healthy)
{
	struct phx_err err = {0};
	if (!l->resumed || !healthy)
		return;
	const struct role_state *role = read_role(l);
	if (role->run && agent_limit(l->agent, &role->role, &err) < 0)
		agent_log("quota: %s", err.text);
}

/* What services wrote before they failed would be gone when somebody asks. */
static void tell_unhealthy(struct link *l, bool healthy)
{
	const struct role_state *role = read_role(l);
	uint32_t n = 0;
	if (l->was_healthy && !healthy && role->run)
		PHX_LIST_EACH(struct phx_service, s, &role->role.services)
			if (n++ < FAILED_MAX)
				logs_tell_failed(l->agent->logs, s->name, 0);
	l->was_healthy = healthy;
}

/* This agent can do all that there is. */
static json_t *hello_body(struct link *l)
{
	struct agent *a = l->agent;
	struct system_state sys = {0};
	struct phx_told_report report = report_of(l);
	struct phx_told_hello h = {.echoes = true,
				   .rekeys = true,
				   .proves = true,
				   .scratches = true,
				   .checker = true,
				   .protects = true,
				   .kernels = true,
				   .layouts = true,
				   .shares = true};
	/* the role of an earlier boot is known from its file before its services run */
	if (!l->resumed && report.actual_role[0]) {
		report.healthy = false;
		PHX_STR_SET(report.health_text, "not started yet");
	}
	PHX_MEMBERS_COPY(PHX_TOLD_REPORT_FIELDS, &h, &report);
	PHX_STR_SET(h.kernel_word, a->cfg.kernel_word);
	PHX_STR_SET(h.version, PHX_VERSION);
	if (system_state_read(a->cfg.state_dir, &sys, NULL) == 0) {
		PHX_STR_SET(h.system_image, sys.image);
		PHX_STR_SET(h.system_digest, sys.digest);
	}
	LOOP_HELD(a->loop);
	h.facts = a->facts;
	return phx_json_from_record(&phx_told_hello_record, &h);
}

static json_t *beat_body(struct link *l, const struct phx_told_report *report)
{
	struct phx_told_beat b = {.wait_ms = l->beat_ms};
	PHX_STR_SET(b.version, PHX_VERSION);
	PHX_MEMBERS_COPY(PHX_TOLD_REPORT_FIELDS, &b, report);
	json_t *j = phx_json_from_record(&phx_told_beat_record, &b);
	report_running(l->agent, (struct report_kept){l->anchor, l->renewal.ca}, j);
	add_monitor(l, j);
	return j;
}

/* ---- calls ---- */

/* 0 with the parsed answer. -EPROTO: the status in *ret_status is not 2xx. */
static int post(struct link *l, const char *path, json_t *body, uint32_t timeout_ms,
		long *ret_status, json_t **ret, struct phx_err *err)
{
	struct phx_http_response response = {0};
	int r = phx_http_call_brief(l->client, "POST", path, body, timeout_ms, &response, err);
	*ret_status = r == 0 ? response.status : 0;
	if (r == 0 && (response.status < 200 || response.status > 299))
		r = phx_err_set(err, -EPROTO, "%s: status %ld: %.200s", path, response.status,
				response.body ? response.body : "");
	if (r == 0 && response.status != 204)
		r = phx_json_parse(response.body, response.n, ret, err);
	phx_http_response_fini(&response);
	return r;
}

static void drop_client(struct link *l)
{
	phx_http_client_free(l->client);
	l->client = NULL;
}

/* Half of the wait is fixed, half drawn, so that a thousand nodes do not come back at once. */
static void back_off(struct link *l)
{
	uint32_t draw = 0;
	(void)!getrandom(&draw, sizeof(draw), GRND_NONBLOCK);
	agent_wait_ms(l->agent, l->retry_ms / 2 + draw % (l->retry_ms / 2));
	l->retry_ms = l->retry_ms * 2 > RETRY_MAX_MS ? RETRY_MAX_MS : l->retry_ms * 2;
}

/* Reacts to the status of a failed call. */
static void recover(struct link *l, long status, const struct phx_err *err)
{
	if (status == 409) {
		l->registered = false;
		return;
	}
	drop_client(l);
	/* if the answer to a step rekey was lost, the key that we have may be invalid */
	if ((status == 401 || status == 403) &&
	    (l->keys != atomic_load(&l->agent->keys) || rekey_take_up(l->agent)))
		return;
	trust_log(l->agent, err);
	if (!status)
		beacon_trouble(l->agent, err);
	/* the head is new, or has certified this node anew: enrol again with the same key */
	if ((status == 401 || status == 403) && ++l->refusals >= REFUSALS_MAX) {
		enrol_forget(l->agent);
		l->registered = false;
		l->refusals = 0;
	}
	back_off(l);
}

/* ---- hello ---- */

/* Starts the role that an earlier agent or an earlier boot ran, if the head still wants it. */
static void resume_role(struct link *l, const json_t *wanted)
{
	struct agent *a = l->agent;
	const struct role_state *role = read_role(l);
	struct phx_role want = {0};
	struct phx_err err = {0};
	char is[200], should[200];
	state_identity(a->cfg.state_dir, a->cfg.pkg_root, role->role.name[0] ? &role->role : NULL,
		       is, sizeof(is));
	if (!role->run || !json_is_object(wanted) ||
	    phx_json_to_record(&phx_role_record, wanted, &want, &err) < 0)
		goto out;
	phx_role_identity(&want, should, sizeof(should));
	if (!phx_str_eq(want.name, role->role.name) || !phx_str_eq(is, should))
		agent_log("the head wants role %s (%s), here is %s (%s): nothing is started",
			  want.name, should, role->role.name, is);
	else if (web_enter(a->web, &role->role, &err) == 0 &&
		 services_start(a->services, &role->role, &err) == 0)
		health_watch(a->health, &role->role, &err);
out:
	if (err.text[0])
		agent_log("role %s: %s", role->role.name, err.text);
	agent_set_trouble(a, err.text);
	phx_record_fini(&phx_role_record, &want);
}

static int take_hello(struct link *l, const json_t *answer, struct phx_err *err)
{
	struct agent *a = l->agent;
	struct phx_told_welcome w;
	int r = phx_json_to_message(&phx_told_welcome_record, answer, &w, err);
	if (r < 0)
		return phx_err_prefix(err, r, "hello");
	l->beat_ms =
		w.beat_ms > 0 && w.beat_ms <= BEAT_MAX_MS ? (uint32_t)w.beat_ms : BEAT_DEFAULT_MS;
	l->boot_local = a->env == PHX_ENV_DEPLOY && phx_str_eq(w.boot, "local");
	PHX_STR_SET(l->kernel_release, w.kernel_release);
	loop_hold(a->loop);
	bool renamed = !phx_str_eq(a->node, w.node);
	PHX_STR_SET(a->node, w.node);
	loop_release(a->loop);
	if (renamed)
		agent_log("registered as %s in environment %s", w.node,
			  phx_enum_name(&phx_node_env_names, (int)a->env));
	if (!l->resumed && a->env == PHX_ENV_OS)
		resume_role(l, json_object_get(answer, "role"));
	l->resumed = true;
	l->registered = true;
	outbox_open(a->outbox);
	l->retry_ms = RETRY_FIRST_MS;
	l->refusals = 0;
	return 0;
}

static void say_hello(struct link *l)
{
	struct phx_err err = {0};
	long status = 0;
	PHX_AUTO_JSON json_t *answer = NULL;
	PHX_AUTO_JSON json_t *body = hello_body(l);
	int64_t sent = phx_clock_boot_ms();
	int r = post(l, "/v1/agent/hello", body, CALL_TIMEOUT_MS, &status, &answer, &err);
	if (r == 0) {
		jobs_heard(l->agent->jobs, sent);
		r = take_hello(l, answer, &err);
	}
	if (r == 0) {
		director_heard(l->agent->web, l->beat_ms);
		return;
	}
	if (status == 409)
		back_off(l); /* the head cannot take a hello now */
	recover(l, status, &err);
}

/* ---- orders ---- */

static int take_step(struct link *l, struct phx_order *o, const json_t *extra, struct phx_err *err)
{
	(void)err;
	return worker_order(l->agent->worker, o, extra);
}

static bool runs_jobs(struct link *l)
{
	const struct role_state *role = read_role(l);
	return role->run && role->role.runs_jobs;
}

static int take_job(struct link *l, struct phx_order *o, const json_t *extra, struct phx_err *err)
{
	(void)extra;
	if (!runs_jobs(l))
		return phx_err_set(err, -EPERM, "the active role of this node runs no jobs");
	char node[PHX_NAME_MAX];
	agent_node_name(l->agent, node);
	if (o->job.id != o->id || o->job.kills != o->run)
		return phx_err_set(err, -EINVAL, "the order names another job than it carries");
	return jobs_start(l->agent->jobs, &o->job, node, err);
}

static int take_kill(struct link *l, struct phx_order *o, const json_t *extra, struct phx_err *err)
{
	(void)extra;
	return jobs_kill(l->agent->jobs, (struct job_run){o->id, o->run},
			 phx_job_is_killed(&o->job), err);
}

static int take_tasks(struct link *l, struct phx_order *o, const json_t *extra, struct phx_err *err)
{
	if (!runs_jobs(l))
		return phx_err_set(err, -EPERM, "the active role of this node runs no tasks");
	return tasks_order(l->agent->tasks, o->id, extra, err);
}

/* Sends the facts, whether or not they changed: the order stands until they have arrived. */
static int take_inspect(struct link *l, struct phx_order *o, const json_t *extra,
			struct phx_err *err)
{
	long status = 0;
	PHX_AUTO_JSON json_t *answer = NULL;
	(void)o, (void)extra;
	int r = agent_read_facts(l->agent, err);
	if (r < 0)
		return r;
	LOOP_HELD(l->agent->loop);
	PHX_AUTO_JSON json_t *facts = phx_json_from_record(&phx_facts_record, &l->agent->facts);
	return facts ? post(l, "/v1/agent/inventory", facts, CALL_TIMEOUT_MS, &status, &answer, err)
		     : -ENOMEM;
}

static int take_table(struct link *l, struct phx_order *o, const json_t *extra, struct phx_err *err)
{
	(void)extra;
	return director_apply(l->agent->web, o->id, &o->table, &o->share, err);
}

static int take_prefetch(struct link *l, struct phx_order *o, const json_t *extra,
			 struct phx_err *err)
{
	(void)extra;
	return prefetch_want(l->agent->prefetch, o->id, &o->role.packages, err);
}

static int take_ahead(struct link *l, struct phx_order *o, const json_t *extra, struct phx_err *err)
{
	(void)extra;
	int r = ahead_want(l->agent->ahead, o->id, &o->role, err);
	if (r == 0)
		prefetch_look_ahead(l->agent->prefetch);
	return r;
}

static int take_logs(struct link *l, struct phx_order *o, const json_t *extra, struct phx_err *err)
{
	return logs_ask(l->agent->logs, o->id, extra, err);
}

static int take_output(struct link *l, struct phx_order *o, const json_t *extra,
		       struct phx_err *err)
{
	return logs_ask_output(l->agent->logs, o->id, extra, err);
}

static int take_anchor(struct link *l, struct phx_order *o, const json_t *extra,
		       struct phx_err *err)
{
	(void)o;
	return anchors_keep(l->agent->cfg.state_dir, phx_json_str(extra, "anchor", ""), &l->anchor,
			    err);
}

static int take_ca(struct link *l, struct phx_order *o, const json_t *extra, struct phx_err *err)
{
	(void)extra, (void)err;
	enrol_renew_soon(&l->renewal, o->id, l->beat_ms);
	return 0;
}

static int take_accounts(struct link *l, struct phx_order *o, const json_t *extra,
			 struct phx_err *err)
{
	struct phx_accounts list;
	int r = order_accounts(extra, &list, err);
	if (r < 0)
		return r;
	r = accounts_want(l->agent->accounts, o->id, &list, err);
	phx_record_fini(&phx_accounts_record, &list);
	return r;
}

static int take_site(struct link *l, struct phx_order *o, const json_t *extra, struct phx_err *err)
{
	(void)o, (void)extra;
	return site_fetch(l->agent->site, err);
}

/* NULL of PHX_ORDER_NONE, which order_parse() refuses. */
static int (*const takes[PHX_ORDER_KIND_COUNT_])(struct link *l, struct phx_order *o,
						 const json_t *extra, struct phx_err *err) = {
#define ORDER_KIND(name) [PHX_ORDER_##name] = take_##name,
#include "types/order_kind.def"
#undef ORDER_KIND
};

static void take_order(struct link *l, const json_t *j)
{
	struct phx_order o;
	struct phx_err err = {0};
	int r = order_parse(j, &o, &err);
	if (r < 0) {
		agent_log("%s", err.text);
		return;
	}
	r = takes[o.kind](l, &o, j, &err);
	if (r < 0) {
		agent_log("order %s %" PRIu64 ": %s", phx_order_name((enum phx_order_kind)o.kind),
			  o.id, err.text[0] ? err.text : strerror(-r));
		/* a stale order is for no present run; while an older run ends the head asks again
		 */
		if (o.kind == PHX_ORDER_job && r != -ESTALE && r != -EAGAIN && r != -ECANCELED)
			outbox_refuse_job(l->agent->outbox, o.id, o.run, err.text);
	}
	phx_record_fini(&phx_order_record, &o);
}

/* ---- beat ---- */

/* Pauses; less if the node gets another key meanwhile, since the head waits for a call under it. */
static void pause_ms(struct link *l, uint32_t ms)
{
	int64_t due_ms = phx_clock_ms() + ms;
	LOOP_HELD(l->agent->loop);
	while (!agent_stopping(l->agent) && l->keys == atomic_load(&l->agent->keys) &&
	       loop_wait(l->agent->loop, due_ms))
		;
}

static void beat(struct link *l)
{
	struct phx_err err = {0};
	long status = 0;
	size_t i;
	json_t *order;
	int64_t began = phx_clock_ms(), sent = phx_clock_boot_ms();
	PHX_AUTO_JSON json_t *answer = NULL;
	const struct phx_told_report report = report_of(l);
	limit_when_healthy(l, report.healthy);
	tell_unhealthy(l, report.healthy);
	PHX_AUTO_JSON json_t *body = beat_body(l, &report);
	int r = post(l, "/v1/agent/beat", body, l->beat_ms + CALL_TIMEOUT_MS, &status, &answer,
		     &err);
	if (r < 0) {
		recover(l, status, &err);
		return;
	}
	l->retry_ms = RETRY_FIRST_MS;
	jobs_heard(l->agent->jobs, sent);
	accounts_settle(l->agent->accounts);
	site_settle(l->agent->site);
	director_heard(l->agent->web, l->beat_ms);
	director_told(l->agent->web, report.health_text);
	const json_t *orders = json_object_get(answer, "orders");
	json_array_foreach((json_t *)orders, i, order)
		take_order(l, order);
	/* a head that answers early, or repeats its orders, must not cause a storm of beats */
	pause_ms(l,
		 phx_clock_ms() - began >= BRAKE_MS ? 0
			 : json_array_size(orders)  ? 20
						    : BRAKE_MS);
}

/* ---- for good ---- */

static void refresh_facts(struct link *l)
{
	struct phx_err err = {0};
	if (phx_clock_ms() < l->facts_due_ms)
		return;
	l->facts_due_ms = phx_clock_ms() + FACTS_EVERY_MS;
	int r = agent_read_facts(l->agent, &err);
	if (r < 0)
		agent_log("inventory: %s", err.text);
	if (r > 0)
		l->registered = false;
}

/* The head says that the node's own system is installed: enters it. A failure is reported, and
 * entering is tried again. */
static void boot_local(struct link *l)
{
	struct phx_err err = {0};
	if (!l->boot_local || phx_clock_ms() < l->local_due_ms)
		return;
	l->local_due_ms = phx_clock_ms() + LOCAL_RETRY_MS;
	int r = root_check_kernel(l->kernel_release, &err);
	r = r ? r : root_open_installed(l->agent, l->client, &err);
	if (r == 0)
		r = root_enter(l->agent, &err);
	if (r < 0)
		agent_log("the installed system cannot be entered: %s", err.text);
	agent_set_trouble(l->agent, err.text);
}

/* 0: there is a client with the node's certificate. */
static int need_client(struct link *l)
{
	struct phx_err err = {0};
	if (l->client && l->keys == atomic_load(&l->agent->keys))
		return 0;
	drop_client(l);
	l->keys = atomic_load(&l->agent->keys);
	int r = enrol(l->agent, &err);
	if (r == 0)
		r = agent_client(l->agent, &l->client, &err);
	if (r < 0 && !agent_stopping(l->agent)) {
		agent_log("%s", err.text);
		back_off(l);
	}
	return r;
}

void link_run(void *agent)
{
	struct link l = {.agent = agent, .beat_ms = BEAT_DEFAULT_MS, .retry_ms = RETRY_FIRST_MS};
	l.anchor = anchors_last(l.agent->cfg.state_dir);
	pthread_setname_np(pthread_self(), "phx-link"); /* its wake-ups are beats */
	while (!agent_stopping(l.agent)) {
		refresh_facts(&l);
		if (need_client(&l) < 0)
			continue;
		if (enrol_renew(l.agent, &l.renewal)) {
			drop_client(&l);
			continue;
		}
		if (!l.registered)
			say_hello(&l);
		else
			beat(&l);
		if (l.registered)
			boot_local(&l);
	}
	drop_client(&l);
	role_view_fini(&l.role);
}
