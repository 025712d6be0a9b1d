/* Events of configuration: settings, pools, roles, rules, keys of packages, the deploy image; and
 * notices of phxd itself. Called by apply.c. Pure. */
#include <errno.h>
#include <string.h>

#include "base/version.h"
#include "core/core.h"
#include "node/node.h"
#include "state/named.h"
#include "state/index.h"
#include "state/node_sets.h"

int phx_apply_settings(struct phx_apply *a, const struct phx_event_site *p)
{
	if (p->settings.missing_after_ms < 1000)
		return phx_err_set(a->err, -EINVAL, "missing_after_ms: must be at least 1000");
	struct phx_settings set = p->settings;
	if (!set.job_heartbeat_timeout_ms)
		set.job_heartbeat_timeout_ms = PHX_JOB_HEARTBEAT_TIMEOUT_MS;
	a->out->changed = !phx_record_equal(&phx_settings_record, &a->s->settings, &set);
	a->s->settings = set;
	return 0;
}

/* A node that the pool holds, that is on its way to the pool, or whose data was written in it. */
static const struct phx_node *user_of(const struct phx_state *s, const struct phx_pool *p)
{
	PHX_NODES_EACH(n, s)
		if (phx_node_is_of(n, p->name) || (n->dirty && !strcmp(n->tenant_pool, p->name)))
			return n;
	return NULL;
}

int phx_apply_pool_put(struct phx_apply *a, const struct phx_event_pool *p)
{
	const struct phx_pool *put = &p->pool_put;
	if (!phx_name_valid(put->name))
		return phx_err_set(a->err, -EINVAL, "pool: '%s' is no name", put->name);
	const struct phx_re *re = phx_state_re(a->s, put->name);
	if (re && re->state != PHX_RE_STATE_NONE)
		return phx_err_set(
			a->err, -EEXIST,
			"pool '%s' is that of an RE: its agreement says how it is set up",
			put->name);
	struct phx_pool *pool = phx_state_pool(a->s, put->name);
	if (pool && phx_record_equal(&phx_pool_record, pool, put))
		return 0;
	const struct phx_node *n =
		pool && strcmp(pool->owner, put->owner) ? user_of(a->s, pool) : NULL;
	if (n)
		return phx_err_set(a->err, -EBUSY,
				   "pool '%s' cannot pass from owner '%s' to '%s': node %s holds "
				   "data of it, or serves it",
				   pool->name, pool->owner, put->owner, n->name);
	if (!pool)
		pool = phx_grow(a, &a->s->pools, sizeof(*pool));
	if (!pool)
		return -ENOMEM;
	*pool = *put;
	phx_named_changed(a->s);
	a->out->changed = true;
	return 0;
}

int phx_apply_pool_remove(struct phx_apply *a, const struct phx_event_named *p)
{
	struct phx_pool *pool = phx_state_pool(a->s, p->name);
	if (!pool)
		return phx_err_set(a->err, -ENOENT, "there is no pool '%s'", p->name);
	if (!strcmp(pool->name, PHX_POOL_FREE))
		return phx_err_set(a->err, -EPERM, "the pool '%s' is always there", PHX_POOL_FREE);
	const struct phx_re *re = phx_state_re(a->s, pool->name);
	if (re && re->state != PHX_RE_STATE_NONE)
		return phx_err_set(a->err, -EBUSY, "pool '%s' is that of an RE: destroy the RE",
				   pool->name);
	const struct phx_node *n = user_of(a->s, pool);
	if (n)
		return phx_err_set(a->err, -EBUSY, "pool '%s' still holds node %s", pool->name,
				   n->name);
	phx_list_remove(&a->s->pools, sizeof(*pool),
			(uint32_t)(pool - PHX_LIST_AT(&a->s->pools, struct phx_pool, 0)));
	phx_named_changed(a->s);
	a->out->changed = true;
	return 0;
}

int phx_apply_role_put(struct phx_apply *a, const struct phx_event_role *p)
{
	const struct phx_role *put = &p->role_put;
	int r = phx_role_check(put, a->err);
	if (r < 0)
		return r;
	if (!phx_state_pool(a->s, put->pool))
		return phx_err_set(a->err, -ENOENT, "role %s: there is no pool '%s'", put->name,
				   put->pool);
	struct phx_role copy;
	struct phx_role *role = phx_state_role(a->s, put->name);
	if (role && phx_record_equal(&phx_role_record, role, put))
		return 0;
	r = role && p->not_older ? phx_role_not_older(role, put, a->err) : 0;
	if (r < 0)
		return r;
	r = role ? phx_former_keep(a, role, put) : 0;
	r = r ? r : phx_record_copy(&phx_role_record, &copy, put);
	if (r < 0)
		return r;
	if (role)
		phx_record_fini(&phx_role_record, role);
	else
		role = phx_grow(a, &a->s->roles, sizeof(*role));
	if (!role) {
		phx_record_fini(&phx_role_record, &copy);
		return -ENOMEM;
	}
	*role = copy;
	phx_named_changed(a->s);
	phx_touch_all(a->s);
	a->out->changed = true;
	return 0;
}

int phx_apply_role_remove(struct phx_apply *a, const struct phx_event_named *p)
{
	struct phx_role *role = phx_state_role(a->s, p->name);
	if (!role)
		return phx_err_set(a->err, -ENOENT, "there is no role '%s'", p->name);
	PHX_NODES_EACH(n, a->s)
		if (!strcmp(n->role, role->name) || !strcmp(n->plan.to_role, role->name) ||
		    !strcmp(n->actual_role, role->name))
			return phx_err_set(a->err, -EBUSY, "role '%s' is still used by node %s",
					   role->name, n->name);
	PHX_LIST_EACH(struct phx_re, re, &a->s->res)
		if (re->state != PHX_RE_STATE_NONE && !strcmp(re->agreement.role, role->name))
			return phx_err_set(a->err, -EBUSY, "role '%s' is that of RE %s", role->name,
					   re->name);
	phx_record_fini(&phx_role_record, role);
	phx_list_remove(&a->s->roles, sizeof(*role),
			(uint32_t)(role - PHX_LIST_AT(&a->s->roles, struct phx_role, 0)));
	phx_named_changed(a->s);
	phx_touch_all(a->s);
	a->out->changed = true;
	return 0;
}

static int check_rules(struct phx_apply *a, const struct phx_list *rules)
{
	PHX_LIST_EACH(struct phx_rule, rule, rules) {
		if (!phx_state_role(a->s, rule->role))
			return phx_err_set(a->err, -ENOENT, "rules.conf:%u: there is no role '%s'",
					   rule->line, rule->role);
		PHX_LIST_EACH(struct phx_rule_term, t, &rule->terms)
			if (phx_rule_term_check(t, a->err) < 0)
				return phx_err_prefix(a->err, -EINVAL, "rules.conf:%u", rule->line);
	}
	return 0;
}

int phx_apply_rules_put(struct phx_apply *a, const struct phx_event_rules_put *p)
{
	struct phx_event_rules_put copy, old = {a->s->rules};
	int r = check_rules(a, &p->rules);
	r = r ? r : phx_record_copy(&phx_event_rules_put_record, &copy, p);
	if (r < 0)
		return r;
	a->out->changed = !phx_record_equal(&phx_event_rules_put_record, &old, &copy);
	phx_record_fini(&phx_event_rules_put_record, &old);
	a->s->rules = copy.rules;
	if (!a->s->settings.auto_assign)
		return 0;
	PHX_NODES_EACH(n, a->s)
		phx_auto_assign(a, n);
	return 0;
}

/* ---- keys of packages ---- */

static const struct phx_trusted_key *find_key(const struct phx_list *keys,
					      const struct phx_trusted_key *key)
{
	PHX_LIST_EACH(struct phx_trusted_key, k, keys)
		if (phx_record_equal(&phx_trusted_key_record, k, key))
			return k;
	return NULL;
}

/* Adds a note for each key of `keys` that is not among `others`: `what` became of it. */
static void note_keys(struct phx_apply *a, const struct phx_list *keys,
		      const struct phx_list *others, const char *what)
{
	PHX_LIST_EACH(struct phx_trusted_key, k, keys)
		if (!find_key(others, k))
			phx_note(a, NULL, "packages signed by key %s (%s) are %s", k->name, k->id,
				 what);
}

int phx_apply_package_keys(struct phx_apply *a, const struct phx_event_package_keys *p)
{
	struct phx_event_package_keys copy, old = {a->s->package_keys};
	if (phx_record_equal(&phx_event_package_keys_record, &old, p))
		return 0;
	int r = phx_record_copy(&phx_event_package_keys_record, &copy, p);
	if (r < 0)
		return r;
	note_keys(a, &p->keys, &a->s->package_keys, "believed from now on");
	note_keys(a, &a->s->package_keys, &p->keys, "believed no more");
	phx_record_fini(&phx_event_package_keys_record, &old);
	a->s->package_keys = copy.keys;
	a->out->changed = true;
	return 0;
}

/* ---- the deploy image ---- */

static struct phx_used_image *used_image(const struct phx_state *s, const char *name)
{
	PHX_LIST_EACH(struct phx_used_image, u, &s->deploy_used)
		if (!strcmp(u->name, name))
			return u;
	return NULL;
}

int phx_core_deploy_image(const struct phx_state *s, const char *name, const char *version,
			  const char *kernel, bool may_be_older, struct phx_err *err)
{
	const struct phx_used_image *u = used_image(s, name);
	if (u && !strcmp(u->version, version))
		return kernel[0] && strcmp(u->kernel, kernel);
	if (!u || phx_version_compare(version, u->version) > 0 || may_be_older)
		return 1;
	return phx_err_set(err, -ESTALE,
			   "deploy image %s %s is older than %s, which was used: to go back, "
			   "phoenix.conf says deploy_allow_older = [ \"%s-%s\" ]",
			   name, version, u->version, name, version);
}

int phx_apply_deploy_image(struct phx_apply *a, const struct phx_event_deploy_image *p)
{
	int r = phx_core_deploy_image(a->s, p->name, p->version, p->kernel, p->may_be_older,
				      a->err);
	struct phx_used_image *u = used_image(a->s, p->name);
	if (r <= 0)
		return r;
	a->out->changed = true;
	if (u && !strcmp(u->version, p->version))
		return PHX_STR_SET(u->kernel, p->kernel);
	phx_note(a, NULL, "machines are started with deploy image %s %s from now on%s%.40s%s",
		 p->name, p->version, u ? ", and no more with " : "", u ? u->version : "",
		 u && phx_version_compare(p->version, u->version) < 0 ? ": an older one" : "");
	u = u ? u : phx_grow(a, &a->s->deploy_used, sizeof(*u));
	if (!u)
		return -ENOMEM;
	PHX_STR_SET(u->name, p->name);
	PHX_STR_SET(u->version, p->version);
	PHX_STR_SET(u->kernel, p->kernel);
	return 0;
}

int phx_apply_notice(struct phx_apply *a, const struct phx_event_notice *p)
{
	a->s->last_job_id += p->skip_jobs;
	a->out->changed = true;
	phx_note_re(a, NULL, a->ev->re, NULL, "%s", a->ev->text);
	return 0;
}
