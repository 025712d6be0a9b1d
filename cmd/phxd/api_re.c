/* The API of runtime environments: requesting, creating, ordering, showing them. Who may order what
 * is in the core's table (types/re_life.def); here the relation of the asker to an RE is found
 * (asker.h). Called by way of routes.def. */
#include "phxd/asker.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/agreement.h"
#include "phxd/accounts.h"
#include "phxd/ends.h"
#include "phxd/parse.h"
#include "phxd/view.h"

static void reply_no_re(struct phx_http_request *q, const char *name)
{
	char text[128];
	snprintf(text, sizeof(text), "there is no RE '%s'", name);
	phx_http_reply_error(q, -ENOENT, text);
}

/* Do users submit jobs to this RE by phxd? Not if an external engine has its jobs. */
static bool has_users(const struct phx_re *re)
{
	return phx_re_kind(&re->agreement)->has_jobs &&
		re->agreement.engine == PHX_RE_ENGINE_BUILTIN;
}

/* May anybody submit jobs now? */
static bool takes_jobs(const struct phx_re *re)
{
	return re->active && re->state == PHX_RE_STATE_RUNNING && has_users(re);
}

bool re_of_user(struct daemon *d, struct phx_http_request *q, bool take, char ret[PHX_NAME_MAX],
		bool *ret_all)
{
	struct asker asker = asker_of(d, q, PHX_RIGHT_re_data);
	struct member member;
	member_of(d, q, PHX_RIGHT_re_data, &member);
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_re *re = phx_state_re(s, phx_http_param(q, 0));
	bool there = re && re->state != PHX_RE_STATE_NONE,
	     all = there && asker_may_see(&asker, &re->agreement);
	/* a user can still fetch own files when the RE accepts no more jobs */
	bool may = all ||
		(there && member_is(&member, &re->agreement, NULL) &&
		 (take ? takes_jobs(re) : has_users(re)));
	if (may)
		phx_str_copy(ret, PHX_NAME_MAX, re->name);
	engine_unlock(d->engine);
	member_fini(&member);
	*ret_all = all;
	if (!may && there && person_has_all(d, phx_http_peer(q), PHX_RIGHT_re_know))
		phx_http_reply_error(q, -EPERM,
				     "files of an RE are its owner's and its members' alone");
	else if (!may)
		reply_no_re(q, phx_http_param(q, 0));
	return may;
}

/* ---- who may order what ---- */

static const struct {
	const char *name;
	enum phx_event_kind kind;
	bool provider; /* an order of the resource provider */
	/* PHX_RE_OP_, for which types/re_life.def says when it is allowed, and for whom; -1: at any
	 * time, and `others` is what all but this provider are told */
	int op;
	const char *others;
} orders[] = {
	{"create", PHX_EV_re_create, true, PHX_RE_OP_create, NULL},
	{"refuse", PHX_EV_re_refuse, true, PHX_RE_OP_refuse, NULL},
	{"withdraw", PHX_EV_re_withdraw, false, PHX_RE_OP_withdraw, NULL},
	{"activate", PHX_EV_re_activate, false, PHX_RE_OP_activate, NULL},
	{"suspend", PHX_EV_re_suspend, false, PHX_RE_OP_suspend, NULL},
	{"resume", PHX_EV_re_resume, false, PHX_RE_OP_resume, NULL},
	{"deactivate", PHX_EV_re_deactivate, false, PHX_RE_OP_deactivate, NULL},
	{"safe-deactivate", PHX_EV_re_safe_deactivate, false, PHX_RE_OP_safe_deactivate, NULL},
	{"destroy", PHX_EV_re_destroy, true, PHX_RE_OP_destroy, NULL},
	{"use", PHX_EV_re_use, true, -1, "measurements are taken from the resource provider only"},
	{"members", PHX_EV_re_members, false, -1,
	 "only the service provider of an RE, its owner, names its members"},
};

/* As whom the asker orders it. Somebody who is both providers acts as the one whose order it is. */
static enum phx_re_who who_orders(const struct asker *asker, const struct phx_agreement *g,
				  bool provider_s)
{
	bool as_provider = asker->provider && (provider_s || !asker_is_service(asker, g));
	return as_provider ? PHX_RE_WHO_PROVIDER : PHX_RE_WHO_SERVICE;
}

/* What the asker's rights allow at all: orders, and access to files. */
struct powers {
	bool orders, files;
	struct asker as, of_files;
};

static struct powers powers_of(struct daemon *d, const struct phx_http_request *q)
{
	const struct phx_http_peer *peer = phx_http_peer(q);
	return (struct powers){.orders =
				       person_scope(d, peer, PHX_RIGHT_re_order) != PHX_SCOPE_NONE,
			       .files = person_scope(d, peer, PHX_RIGHT_re_data) != PHX_SCOPE_NONE,
			       .as = asker_of(d, q, PHX_RIGHT_re_grant),
			       .of_files = asker_of(d, q, PHX_RIGHT_re_data)};
}

/* An RE that is still giving back nodes cannot be activated or destroyed. */
static bool is_giving_back(const struct phx_re *re, int op)
{
	return re->active && re->state == PHX_RE_STATE_DEACTIVATED &&
		(op == PHX_RE_OP_activate || op == PHX_RE_OP_destroy);
}

static bool may_order(const struct powers *p, const struct phx_re *re, size_t i)
{
	enum phx_re_who who = who_orders(&p->as, &re->agreement, orders[i].provider);
	enum phx_re_state to;
	if (!p->orders || !asker_may_see(&p->as, &re->agreement))
		return false;
	if (orders[i].op < 0)
		return orders[i].provider == (who == PHX_RE_WHO_PROVIDER);
	return !is_giving_back(re, orders[i].op) &&
		phx_re_life_apply((enum phx_re_state)re->state, (enum phx_re_op)orders[i].op, who,
				  &to, NULL) == 0;
}

/* What the asker may do with the RE now: names of orders, and "data" for its files. */
static json_t *may_json(const struct powers *p, const struct phx_re *re)
{
	json_t *list = json_array();
	for (size_t i = 0; i < PHX_ARRAY_SIZE(orders); i++)
		if (may_order(p, re, i))
			json_array_append_new(list, json_string(orders[i].name));
	if (p->files && re->state != PHX_RE_STATE_NONE &&
	    asker_may_see(&p->of_files, &re->agreement))
		json_array_append_new(list, json_string("data"));
	return list;
}

/* ---- looking ---- */

/* All that somebody who only submits jobs may know of the RE. */
static json_t *brief_re(const struct phx_state *s, const struct phx_re *re)
{
	struct phx_ledger_counts c;
	phx_ledger_counts(s->ledger, (int)re->number, &c);
	return json_pack("{s:s,s:s,s:s,s:{s:I,s:I,s:I}}", "name", re->name, "state",
			 phx_enum_name(&phx_re_state_names, re->state), "type",
			 phx_enum_name(&phx_re_type_names, re->agreement.type), "nodes", "idle",
			 (json_int_t)c.batch.idle, "busy", (json_int_t)c.batch.busy, "most",
			 (json_int_t)phx_ledger_widest(s->ledger, (int)re->number));
}

static void name_owner(json_t *re)
{
	const json_t *g = json_object_get(re, "agreement");
	if (g)
		identity_add_name(re, phx_json_str(g, "owner", ""));
}

static void name_owners(const json_t *res)
{
	size_t i;
	json_t *re;
	json_array_foreach((json_t *)res, i, re)
		name_owner(re);
}

static json_t *re_json(struct daemon *d, const struct phx_state *s, const struct phx_re *re,
		       const struct powers *powers, int64_t now_ms)
{
	json_t *j = view_re(d, s, re, now_ms);
	if (j)
		json_object_set_new(j, "may", may_json(powers, re));
	return j;
}

/* Refused requests for REs, shown to those who asked and to the resource provider. */
static json_t *refusals_json(const struct phx_state *s, const struct asker *asker, bool user)
{
	json_t *list = json_array();
	PHX_LIST_EACH(struct phx_re_refusal, it, &s->refusals)
		if (!user && (asker->all || person_is(&asker->person, it->owner)))
			json_array_append_new(list,
					      phx_json_from_record(&phx_re_refusal_record, it));
	return list;
}

void api_res(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct asker asker = asker_of(d, q, PHX_RIGHT_re_history);
	bool user = !person_scope(d, phx_http_peer(q), PHX_RIGHT_re_history);
	int64_t now_ms = engine_now(d->engine);
	PHX_AUTO_JSON json_t *list = json_array();
	struct member member;
	struct powers powers = powers_of(d, q);
	member_of(d, q, PHX_RIGHT_re_know, &member);
	const struct phx_state *s = engine_lock(d->engine);
	PHX_AUTO_JSON json_t *refusals = refusals_json(s, &asker, user);
	PHX_LIST_EACH(struct phx_re, re, &s->res)
		if (!user && asker_may_see(&asker, &re->agreement))
			json_array_append_new(list, re_json(d, s, re, &powers, now_ms));
		else if (takes_jobs(re) && member_is(&member, &re->agreement, NULL))
			json_array_append_new(list, brief_re(s, re));
	engine_unlock(d->engine);
	member_fini(&member);
	name_owners(list);
	PHX_AUTO_JSON json_t *j = json_pack("{s:O,s:O}", "res", list, "refused", refusals);
	phx_http_reply_json(q, 200, j);
}

/* States that a client may wait for, by the name in the query. */
static const struct {
	const char *name;
	bool (*is)(const struct phx_state *s, const struct phx_re *re);
} goals[] = {{"serves", view_re_serves}, {"returned", view_re_returned}};

static bool goal_reached(const struct phx_state *s, const struct phx_http_request *q)
{
	const struct phx_re *re = phx_state_re(s, phx_http_param(q, 0));
	const char *until = phx_http_query(q, "until");
	for (size_t i = 0; re && until && i < PHX_ARRAY_SIZE(goals); i++)
		if (!strcmp(goals[i].name, until))
			return goals[i].is(s, re);
	return true;
}

static bool parse_goal(struct phx_http_request *q, uint64_t *ret_wait_s)
{
	const char *until = phx_http_query(q, "until");
	bool known = !until;
	for (size_t i = 0; until && i < PHX_ARRAY_SIZE(goals); i++)
		known |= !strcmp(goals[i].name, until);
	if (!known)
		phx_http_reply_error(q, -EINVAL, "until: must be 'serves' or 'returned'");
	return known && parse_query_number(q, "wait", HOLD_MAX_S, 0, ret_wait_s);
}

static bool is_for(struct daemon *d, const struct phx_http_request *q)
{
	struct asker asker = asker_of(d, q, PHX_RIGHT_re_history);
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_re *re = phx_state_re(s, phx_http_param(q, 0));
	bool is = re && asker_may_see(&asker, &re->agreement);
	engine_unlock(d->engine);
	return is;
}

/* The agreement as phx re show --conf prints it. */
static void add_conf(json_t *j, const struct phx_agreement *g)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	if (phx_agreement_write_conf(g, &b) == 0)
		json_object_set_new(j, "conf", json_string(b.data));
}

/* A member sees the agreement, and of what the RE holds only how much. */
static json_t *re_of_member(const struct phx_state *s, const struct phx_re *re)
{
	json_t *j = brief_re(s, re);
	if (j)
		json_object_set_new(j, "agreement",
				    phx_json_from_record(&phx_agreement_record, &re->agreement));
	return j;
}

/* NULL: there is none for him, as he was told. */
static json_t *show_re(struct phx_http_request *q, struct daemon *d)
{
	struct asker asker = asker_of(d, q, PHX_RIGHT_re_see);
	int64_t now_ms = engine_now(d->engine);
	const char *name = phx_http_param(q, 0);
	struct powers powers = powers_of(d, q);
	struct member member = {0};
	json_t *j = NULL;
	if (!asker.all) /* it asks the user database */
		member_of(d, q, PHX_RIGHT_re_see, &member);
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_re *re = phx_state_re(s, name);
	if (re && asker_may_see(&asker, &re->agreement))
		j = re_json(d, s, re, &powers, now_ms);
	else if (re && re->state != PHX_RE_STATE_NONE && member_is(&member, &re->agreement, NULL))
		j = re_of_member(s, re);
	if (j)
		add_conf(j, &re->agreement);
	if (j && phx_http_query(q, "until"))
		json_object_set_new(j, "reached", json_boolean(goal_reached(s, q)));
	engine_unlock(d->engine);
	member_fini(&member);
	name_owner(j);
	if (!j)
		reply_no_re(q, name);
	return j;
}

static const struct holds_wish goal = {goal_reached, show_re, PHX_RIGHT_re_see};

void api_re(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	uint64_t wait_s;
	unsigned rights = d->rights;
	if (!parse_goal(q, &wait_s))
		return;
	if (wait_s && is_for(d, q)) {
		holds_take(d->holds, q, &goal, rights, (int64_t)wait_s * 1000);
		return;
	}
	PHX_AUTO_JSON json_t *j = show_re(q, d);
	if (j)
		phx_http_reply_json(q, 200, j);
}

/* ---- doing ---- */

static void add_use_notes(struct daemon *d, const char *name, json_t *notes)
{
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_re *re = phx_state_re(s, name);
	if (re)
		view_use_notes(d, s, re, notes);
	engine_unlock(d->engine);
}

/* The notes of the core; for a new request also what the agreement was made into, and for the start
 * of a web RE where its use cannot be measured. */
static json_t *notes_json(struct daemon *d, const struct phx_event *ev,
			  const struct phx_outcome *out, bool settled)
{
	json_t *notes = view_notes(out);
	if (settled)
		json_array_append_new(
			notes,
			json_string("no node passes between a business owner and another "
				    "one but erased, from a reset: the agreement has "
				    "setup_policy wipe, setup_moment both, setup_start "
				    "power, and no noop_between_owners"));
	if (ev->kind == PHX_EV_re_activate || ev->kind == PHX_EV_re_resume)
		add_use_notes(d, ev->re, notes);
	return notes;
}

/* Tries an order on a copy of the state. Jobs that it would end are returned, and do not count as a
 * reason to refuse it. */
static int try_order(struct daemon *d, struct phx_event *ev, struct phx_outcome *ret,
		     json_t **ret_jobs, struct phx_err *err)
{
	bool ends = ev->kind == PHX_EV_re_deactivate;
	ev->now_ms = engine_now(d->engine);
	if (ends)
		ev->re_order.jobs = PHX_JOBS_ANY;
	const struct phx_state *s = engine_lock(d->engine);
	ev->now_ms = s->now_ms > ev->now_ms ? s->now_ms : ev->now_ms;
	*ret_jobs = ends ? view_ends_re(s, ev->re) : json_array();
	int r = phx_core_try(s, ev, ret, err);
	engine_unlock(d->engine);
	return r;
}

/* Carries out the order, or tries it, and answers. */
static void carry_out(struct daemon *d, struct phx_http_request *q, struct phx_event *ev,
		      const char *name, bool dry_run, bool settled)
{
	struct phx_outcome out = {0};
	struct phx_err err = {0};
	PHX_AUTO_JSON json_t *jobs = NULL;
	person_name(phx_http_peer(q), ev->by, sizeof(ev->by));
	int r = dry_run ? try_order(d, ev, &out, &jobs, &err)
			: engine_submit(d->engine, ev, &out, &err);
	bool moved = ev->kind == PHX_EV_re_create || ev->kind == PHX_EV_re_destroy;
	if (r == 0 && !dry_run && moved)
		re_dirs_sync(d);
	if (r == 0 && !dry_run)
		accounts_look(d->accounts);
	PHX_AUTO_JSON json_t *answer =
		json_pack("{s:I,s:s,s:b,s:b,s:o,s:O*}", "seq",
			  (json_int_t)phx_store_last(engine_store(d->engine)), "re", name,
			  "changed", out.changed, "dry_run", dry_run, "notes",
			  notes_json(d, ev, &out, settled), "jobs", jobs);
	if (r < 0)
		phx_http_reply_error(q, r, err.text);
	else
		phx_http_reply_json(q, 200, answer);
	phx_outcome_fini(&out);
}

void api_re_ask(struct phx_http_request *q, void *arg)
{
	static const char *const members[] = {"agreement", "create", "dry_run"};
	struct daemon *d = arg;
	struct asker asker = asker_of(d, q, PHX_RIGHT_re_grant);
	struct phx_event ev = {0};
	struct phx_err err = {0};
	bool create, dry_run;
	PHX_AUTO_JSON json_t *j = body_json(q);
	if (!j || !parse_only(q, j, members, PHX_ARRAY_SIZE(members)) ||
	    !parse_bool(q, j, "create", &create) || !parse_bool(q, j, "dry_run", &dry_run) ||
	    !agreement_parse(d, q, j, &ev.ask.agreement))
		return;
	ev.kind = create ? PHX_EV_re_create : PHX_EV_re_request;
	int r = agreement_settle_owner(&asker, &ev.ask.agreement, &err);
	if (r < 0) {
		phx_http_reply_error(q, r, err.text);
	} else {
		ev.ask.who = (int)agreement_who(&asker, &ev.ask.agreement, create);
		bool settled = phx_agreement_settle(&ev.ask.agreement);
		carry_out(d, q, &ev, ev.ask.agreement.name, dry_run, settled);
	}
	phx_event_fini(&ev);
}

/* Finds as whom the asker orders; false if the asker may not know that the RE exists. */
static bool find_who(struct daemon *d, const struct asker *asker, const char *name, bool provider_s,
		     int *ret_who)
{
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_re *re = phx_state_re(s, name);
	bool seen = re && asker_may_see(asker, &re->agreement);
	if (seen)
		*ret_who = (int)who_orders(asker, &re->agreement, provider_s);
	engine_unlock(d->engine);
	return seen;
}

static int *who_of(struct phx_event *ev)
{
	if (ev->kind == PHX_EV_re_create)
		return &ev->ask.who;
	if (ev->kind == PHX_EV_re_use)
		return &ev->re_use.who;
	if (ev->kind == PHX_EV_re_members)
		return &ev->re_members.who;
	PHX_CARRIES(ev, re_order);
	return &ev->re_order.who;
}

/* Reads which members to add and to remove: words separated by blanks. */
static bool parse_members(struct phx_http_request *q, const json_t *j,
			  struct phx_event_re_members *p, bool *ret_dry_run)
{
	static const char *const members[] = {"dry_run", "add", "remove"};
	struct phx_err err = {0};
	if (!parse_only(q, j, members, PHX_ARRAY_SIZE(members)) ||
	    !parse_bool(q, j, "dry_run", ret_dry_run) || !TAKE(q, j, "add", p->add) ||
	    !TAKE(q, j, "remove", p->remove))
		return false;
	int r = identity_settle_list(p->add, sizeof(p->add), &err);
	r = r ? phx_err_prefix(&err, r, "add")
	      : identity_settle_list(p->remove, sizeof(p->remove), &err);
	if (r < 0)
		phx_http_reply_error(q, r, err.text);
	return r == 0;
}

static bool parse_order(struct phx_http_request *q, const json_t *j, struct phx_event *ev,
			bool *ret_dry_run)
{
	static const char *const members[] = {"dry_run", "text", "use_ppm", "kill_jobs"};
	int64_t use_ppm = 0;
	if (ev->kind == PHX_EV_re_members)
		return parse_members(q, j, &ev->re_members, ret_dry_run);
	if (!parse_only(q, j, members, PHX_ARRAY_SIZE(members)) ||
	    !parse_bool(q, j, "dry_run", ret_dry_run) || !TAKE(q, j, "text", ev->text) ||
	    !parse_number(q, j, "use_ppm", 0, 1000000, &use_ppm))
		return false;
	if (ev->kind == PHX_EV_re_deactivate) {
		ev->re_order.tells = true;
		return parse_kill_jobs(q, j, &ev->re_order.jobs, &ev->re_order.may_end);
	}
	if (ev->kind != PHX_EV_re_use)
		return true;
	ev->re_use.use_ppm = (uint32_t)use_ppm;
	if (json_object_get(j, "use_ppm"))
		return true;
	phx_http_reply_error(
		q, -EINVAL,
		"use_ppm: is missing: CPU use of one instance, millionths of its share");
	return false;
}

void api_re_order(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct asker asker = asker_of(d, q, PHX_RIGHT_re_grant);
	const char *name = phx_http_param(q, 0), *order = phx_http_param(q, 1);
	struct phx_event ev = {0};
	bool dry_run;
	size_t i = 0;
	while (i < PHX_ARRAY_SIZE(orders) && strcmp(orders[i].name, order))
		i++;
	if (i == PHX_ARRAY_SIZE(orders)) {
		phx_http_reply_error(q, -ENOENT, "there is no such operation on an RE");
		return;
	}
	ev.kind = (int)orders[i].kind;
	if (!find_who(d, &asker, name, orders[i].provider, who_of(&ev)) ||
	    phx_str_copy(ev.re, sizeof(ev.re), name) < 0) {
		reply_no_re(q, name);
		return;
	}
	if (orders[i].op < 0 && orders[i].provider != (*who_of(&ev) == PHX_RE_WHO_PROVIDER)) {
		phx_http_reply_error(q, -EPERM, orders[i].others);
		return;
	}
	PHX_AUTO_JSON json_t *j = body_json(q);
	if (j && parse_order(q, j, &ev, &dry_run))
		carry_out(d, q, &ev, name, dry_run, false);
	phx_event_fini(&ev);
}
