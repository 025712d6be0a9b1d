/* Requests for REs, and the creation of REs. A service provider asks for an RE with an agreement,
 * and the request waits; the resource provider creates the RE from that request, or from an
 * agreement of its own. Called by the table of events. Pure. */
#include "re/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	RES_MAX = 1000,
	REQUESTS_MAX = 16, /* waiting requests of one service provider */
};

struct findings {
	uint32_t n;
	char text[200];
};

static void keep_first(void *arg, const char *field, const char *text)
{
	struct findings *f = arg;
	if (!f->n++)
		snprintf(f->text, sizeof(f->text), "%s: %.150s", field, text);
}

static int check_role(const struct phx_state *s, const struct phx_agreement *g, struct phx_err *err)
{
	const struct phx_role *role = phx_state_role(s, g->role);
	if (!role)
		return phx_err_set(err, -ENOENT, "role: there is no role '%s'", g->role);
	if (role->runs_jobs != phx_re_kind(g)->has_jobs)
		return phx_err_set(err, -EINVAL,
				   "role: '%s' %s jobs: an RE of type %s wants one that %s",
				   g->role, role->runs_jobs ? "runs" : "runs no",
				   phx_enum_name(&phx_re_type_names, g->type),
				   role->runs_jobs ? "does not" : "does");
	if (g->image_digest[0]) /* phxd found it in the catalogue */
		return 0;
	if (g->image[0] && strcmp(g->image, role->image))
		return phx_err_set(err, -EINVAL,
				   "image: role '%s' is deployed with image '%s', not '%s'",
				   g->role, role->image, g->image);
	if (g->image_version[0] && strcmp(g->image_version, role->image_version))
		return phx_err_set(
			err, -EINVAL,
			"image_version: role '%s' has version '%s' of its image, not '%s'", g->role,
			role->image_version, g->image_version);
	return 0;
}

/* The agreement of the RE that `g` names as its partner, or that names `g`'s RE; NULL: none exists.
 */
static const struct phx_agreement *named_partner(const struct phx_state *s,
						 const struct phx_agreement *g)
{
	PHX_LIST_EACH(struct phx_re, re, &s->res) {
		const struct phx_agreement *other = &re->agreement;
		if (re->state == PHX_RE_STATE_NONE || !strcmp(other->name, g->name))
			continue;
		if (!strcmp(g->partner, other->name) ||
		    (g->coordination && !strcmp(other->partner, g->name)))
			return other;
	}
	return NULL;
}

static int check_partner(const struct phx_state *s, const struct phx_agreement *g,
			 struct phx_err *err)
{
	const struct phx_agreement *other = named_partner(s, g);
	if (!other)
		return 0;
	int r = phx_agreement_check_pair(g, other, err);
	return r < 0 ? phx_err_prefix(err, r, "coordinated_RE") : 0;
}

/* Each RE has a Slurm of its own: two REs of one Slurm would open and close the same nodes. */
static int check_engine(const struct phx_state *s, const struct phx_agreement *g,
			struct phx_err *err)
{
	PHX_LIST_EACH(struct phx_re, re, &s->res) {
		const struct phx_agreement *other = &re->agreement;
		if (strcmp(re->name, g->name) && other->engine == PHX_RE_ENGINE_SLURM &&
		    g->engine == other->engine && re->state != PHX_RE_STATE_NONE &&
		    phx_agreement_same_slurm(other, g))
			return phx_err_set(
				err, -EEXIST, "slurm_conf: the Slurm of %s is that of RE '%s'",
				g->slurm_conf[0] ? g->slurm_conf : PHX_SLURM_CONF_DEFAULT,
				re->name);
	}
	return 0;
}

static int check_agreement(const struct phx_state *s, const struct phx_agreement *g,
			   struct phx_err *err)
{
	struct findings f = {0};
	if (!phx_name_valid(g->name))
		return phx_err_set(err, -EINVAL, "name: '%s' is no name", g->name);
	if (phx_agreement_check(g, keep_first, &f))
		return phx_err_set(err, -EINVAL, "agreement of RE %s: %s", g->name, f.text);
	int r = check_role(s, g, err);
	r = r ? r : check_partner(s, g, err);
	r = r ? r : check_engine(s, g, err);
	if (r < 0)
		return r;
	if (phx_state_pool(s, g->name))
		return phx_err_set(err, -EEXIST,
				   "there is a pool '%s' already, and an RE has a pool of its name",
				   g->name);
	return 0;
}

static int check_name_free(const struct phx_state *s, const char *name, struct phx_err *err)
{
	const struct phx_re *re = phx_state_re(s, name);
	if (re && re->state == PHX_RE_STATE_NONE)
		return phx_err_set(
			err, -EEXIST,
			"RE '%s' is asked for already: it is created by its name, or refused",
			name);
	if (re)
		return phx_err_set(err, -EEXIST, "there is an RE '%s' already", name);
	if (s->res.n >= RES_MAX)
		return phx_err_set(err, -EAGAIN, "there are %d REs: no more are taken", RES_MAX);
	return 0;
}

static int add_re(struct phx_apply *a, const struct phx_agreement *g, struct phx_re **ret)
{
	struct phx_re *re = phx_grow(a, &a->s->res, sizeof(*re));
	if (!re)
		return -ENOMEM;
	int r = phx_record_copy(&phx_agreement_record, &re->agreement, g);
	if (r < 0) {
		a->s->res.n--;
		return r;
	}
	PHX_STR_SET(re->name, g->name);
	re->asked_ms = re->created_ms = a->s->now_ms;
	re->asked_seq = a->s->seq + 1;
	phx_re_become(a, re, PHX_RE_STATE_NONE);
	phx_refusal_forget(a->s, g);
	*ret = re;
	return 0;
}

/* ---- request ---- */

static int check_waiting(const struct phx_state *s, const char *owner, struct phx_err *err)
{
	int n = 0;
	if (!owner[0])
		return phx_err_set(err, -EINVAL, "owner: it is nobody's");
	PHX_LIST_EACH(struct phx_re, re, &s->res)
		n += re->state == PHX_RE_STATE_NONE && !strcmp(re->agreement.owner, owner);
	if (n >= REQUESTS_MAX)
		return phx_err_set(err, -EAGAIN,
				   "%d requests of %s wait to be answered: no more are taken", n,
				   owner);
	return 0;
}

static int check_request(const struct phx_state *s, const struct phx_agreement *g,
			 enum phx_re_who who, enum phx_re_state *ret_state, struct phx_err *err)
{
	int r = phx_re_life_apply(PHX_RE_STATE_NONE, PHX_RE_OP_request, who, ret_state, err);
	r = r ? r : check_agreement(s, g, err);
	r = r ? r : check_name_free(s, g->name, err);
	return r ? r : check_waiting(s, g->owner, err);
}

int phx_apply_re_request(struct phx_apply *a, const struct phx_event_ask *p)
{
	const struct phx_agreement *g = &p->agreement;
	enum phx_re_state state;
	struct phx_re *re;
	int r = check_request(a->s, g, (enum phx_re_who)p->who, &state, a->err);
	r = r ? r : add_re(a, g, &re);
	if (r < 0)
		return r;
	phx_re_become(a, re, state);
	phx_note_re(a, NULL, re->name, NULL, "%s asks for RE %s: %s, %u nodes", g->owner, g->name,
		    phx_enum_name(&phx_re_type_names, g->type), g->lower);
	return 0;
}

/* ---- create ---- */

/* The RE is created even if nodes are missing, since they may still come; the note says that its
 * activation has to wait for them. */
static void tell_created(struct phx_apply *a, const struct phx_re *re)
{
	const struct phx_agreement *g = &re->agreement, *other = named_partner(a->s, g);
	uint64_t sum = (uint64_t)g->lower + (other ? other->lower : 0);
	const char *state = phx_enum_name(&phx_re_state_names, re->state);
	if (sum <= phx_nodes_count(a->s))
		phx_note_re(a, NULL, re->name, NULL, "RE %s of %s is %s", re->name, g->owner,
			    state);
	else
		phx_note_re(a, NULL, re->name, NULL,
			    "RE %s of %s is %s; it can be activated when there are %llu nodes to "
			    "be guaranteed%s%s, and the "
			    "cluster has %u",
			    re->name, g->owner, state, (unsigned long long)sum,
			    other ? ", with those of " : "", other ? other->name : "",
			    phx_nodes_count(a->s));
}

static int add_pool(struct phx_apply *a, const struct phx_agreement *g)
{
	phx_named_changed(a->s);
	struct phx_pool *p = phx_grow(a, &a->s->pools, sizeof(*p));
	if (!p)
		return -ENOMEM;
	PHX_STR_SET(p->name, g->name);
	PHX_STR_SET(p->owner, g->owner);
	p->setup = g->setup;
	p->needs_check_s = g->needs_check_s;
	return 0;
}

static int need_ledger(struct phx_apply *a)
{
	static const struct phx_ledger_config empty = {0};
	if (a->s->ledger)
		return 0;
	/* phx_ledger_found() adds nodes as they are found to be free: each one is looked at */
	phx_touch_all(a->s);
	return phx_ledger_new(&empty, &a->s->ledger);
}

/* The agreement of the new RE: that of the event, or that of the request which the event names. */
static int find_agreement(struct phx_apply *a, const struct phx_agreement *of_event,
			  struct phx_re **ret_request, const struct phx_agreement **ret)
{
	*ret_request = NULL;
	*ret = of_event;
	if (of_event->name[0] || !a->ev->re[0])
		return 0;
	*ret_request = phx_state_re(a->s, a->ev->re);
	if (!*ret_request)
		return phx_err_set(a->err, -ENOENT, "there is no request for an RE '%s'",
				   a->ev->re);
	*ret = &(*ret_request)->agreement;
	return 0;
}

/* An address that both agreements have. */
static bool common_address(const struct phx_agreement *a, const struct phx_agreement *b,
			   char ret[PHX_WEB_ADDRESS_MAX])
{
	char other[PHX_WEB_ADDRESS_MAX];
	for (uint32_t i = 0; phx_agreement_address(a, i, ret); i++)
		for (uint32_t k = 0; phx_agreement_address(b, k, other); k++)
			if (!strcmp(ret, other))
				return true;
	return false;
}

/* Two services cannot share a virtual address and port. */
static int check_address_free(const struct phx_state *s, const struct phx_agreement *g,
			      struct phx_err *err)
{
	char address[PHX_WEB_ADDRESS_MAX];
	PHX_LIST_EACH(struct phx_re, re, &s->res) {
		bool there = re->state != PHX_RE_STATE_NONE && re->state != PHX_RE_STATE_DESTROYED;
		if (there && common_address(g, &re->agreement, address) &&
		    phx_agreement_port(&re->agreement) == phx_agreement_port(g))
			return phx_err_set(err, -EEXIST, "address %s, port %u is that of RE '%s'",
					   address, phx_agreement_port(g), re->name);
	}
	return 0;
}

static int check_create(const struct phx_state *s, enum phx_re_who who,
			const struct phx_re *request, const struct phx_agreement *g,
			enum phx_re_state *ret_state, struct phx_err *err)
{
	enum phx_re_state from = request ? (enum phx_re_state)request->state : PHX_RE_STATE_NONE;
	int r = phx_re_life_apply(from, PHX_RE_OP_create, who, ret_state, err);
	if (r < 0 && request)
		return phx_err_prefix(err, r, "RE '%s'", request->name);
	if (r == 0 && !request)
		r = check_name_free(s, g->name, err);
	r = r ? r : check_address_free(s, g, err);
	return r ? r : check_agreement(s, g, err);
}

int phx_re_check_new(const struct phx_state *s, const struct phx_agreement *g, enum phx_re_who who,
		     bool create, struct phx_err *err)
{
	enum phx_re_state state;
	return create ? check_create(s, who, NULL, g, &state, err)
		      : check_request(s, g, who, &state, err);
}

int phx_apply_re_create(struct phx_apply *a, const struct phx_event_ask *p)
{
	const struct phx_agreement *g;
	struct phx_re *re;
	enum phx_re_state state;
	int r = find_agreement(a, &p->agreement, &re, &g);
	r = r ? r : check_create(a->s, (enum phx_re_who)p->who, re, g, &state, a->err);
	r = r ? r : need_ledger(a);
	r = r ? r : add_pool(a, g);
	if (r < 0)
		return r;
	if (!re && (r = add_re(a, g, &re)) < 0) {
		a->s->pools.n--;
		return r;
	}
	re->created_ms = a->s->now_ms;
	/* nothing is deployed on the head for an RE: its manager is this state, and its packages go
	 * to the nodes that it is granted */
	phx_re_life_apply(state, PHX_RE_OP_deployed, PHX_RE_WHO_PHXD, &state, a->err);
	phx_re_become(a, re, state);
	tell_created(a, re);
	return 0;
}
