/* Grants of roles and logins beyond what the head's groups and certificates say; and the identities
 * that the head has found for owners that were written without a kind. Called by apply.c. Pure. */
#include <errno.h>
#include <string.h>

#include "state/apply.h"
#include "state/index.h"

enum { GRANTS_MAX = 1000 };

/* Nothing is granted to root or revoked from him: the last administrator cannot be locked out. */
static const char root[] = "unix:root";

static const char *what_of(const struct phx_event_access *p)
{
	return p->login[0] ? p->login : phx_enum_name(&phx_who_names, p->role);
}

static int check_login(struct phx_apply *a, const struct phx_event_access *p, int kind)
{
	char user[PHX_IDENTITY_MAX];
	phx_identity_format(PHX_IDENTITY_UNIX, p->login, user);
	if (kind != PHX_IDENTITY_CERT)
		return phx_err_set(a->err, -EINVAL,
				   "login: %s works as himself; a certificate is given a login",
				   p->identity);
	if (!user[0] || !strcmp(user, root))
		return phx_err_set(a->err, -EINVAL,
				   "login: '%s' is no user as whom a certificate works", p->login);
	return 0;
}

static int check_access(struct phx_apply *a, const struct phx_event_access *p)
{
	struct phx_identity is;
	int r = phx_identity_parse(p->identity, &is, a->err);
	if (r < 0)
		return phx_err_prefix(a->err, r, "identity: '%.80s'", p->identity);
	if (is.kind != PHX_IDENTITY_UNIX && is.kind != PHX_IDENTITY_CERT)
		return phx_err_set(a->err, -EINVAL, "identity: '%s' is not unix:NAME or cert:NAME",
				   p->identity);
	if (p->login[0])
		return check_login(a, p, is.kind);
	if (p->role < PHX_WHO_ADMIN || p->role > PHX_WHO_PROVIDER)
		return phx_err_set(a->err, -EINVAL,
				   "role: admin, operator, auditor and provider are granted");
	if (!strcmp(p->identity, root))
		return phx_err_set(a->err, -EPERM,
				   "root on the head is always an administrator: nothing of that "
				   "is granted or revoked");
	return 0;
}

/* The grant that the event means; a certificate has at most one login. */
static struct phx_grant *find_grant(struct phx_apply *a, const struct phx_event_access *p)
{
	PHX_LIST_EACH(struct phx_grant, g, &a->s->grants)
		if (!strcmp(g->identity, p->identity) && !g->login[0] == !p->login[0] &&
		    (p->login[0] || g->role == p->role))
			return g;
	return NULL;
}

static int revoke(struct phx_apply *a, const struct phx_event_access *p, struct phx_grant *g)
{
	if (!g || strcmp(g->login, p->login))
		return phx_err_set(a->err, -ENOENT, "%s was not granted to %s", what_of(p),
				   p->identity);
	phx_list_remove(&a->s->grants, sizeof(*g),
			(uint32_t)(g - PHX_LIST_AT(&a->s->grants, struct phx_grant, 0)));
	a->out->changed = true;
	phx_note(a, NULL, "%s is taken from %s", what_of(p), p->identity);
	return 0;
}

int phx_apply_access(struct phx_apply *a, const struct phx_event_access *p)
{
	int r = check_access(a, p);
	struct phx_grant *g = r ? NULL : find_grant(a, p);
	if (r < 0)
		return r;
	if (p->revoke)
		return revoke(a, p, g);
	if (g && !strcmp(g->login, p->login))
		return 0;
	if (!g && a->s->grants.n >= GRANTS_MAX)
		return phx_err_set(a->err, -ENOSPC, "%d grants are there: no more are taken",
				   GRANTS_MAX);
	g = g ? g : phx_grow(a, &a->s->grants, sizeof(*g));
	if (!g)
		return -ENOMEM;
	PHX_STR_SET(g->identity, p->identity);
	PHX_STR_SET(g->login, p->login);
	PHX_STR_SET(g->by, a->by);
	g->role = p->role;
	g->at_ms = a->s->now_ms;
	a->out->changed = true;
	phx_note(a, NULL, "%s is granted to %s", what_of(p), p->identity);
	return 0;
}

/* Replaces an owner that was written without a kind. All pools, REs and nodes change in one event:
 * what belonged to one owner still belongs to one owner. */
static bool settle(char owner[PHX_IDENTITY_MAX], const struct phx_event_identity *p)
{
	return !strcmp(owner, p->word) && phx_str_copy(owner, PHX_IDENTITY_MAX, p->identity) == 0;
}

int phx_apply_identity(struct phx_apply *a, const struct phx_event_identity *p)
{
	struct phx_identity is;
	if (phx_identity_parse(p->identity, &is, a->err) < 0 || is.kind == PHX_IDENTITY_KINDS ||
	    strcmp(is.name, p->word))
		return phx_err_set(a->err, -EINVAL, "identity: '%s' is not a kind of '%s'",
				   p->identity, p->word);
	PHX_LIST_EACH(struct phx_pool, pool, &a->s->pools)
		a->out->changed |= settle(pool->owner, p);
	PHX_LIST_EACH(struct phx_re, re, &a->s->res)
		a->out->changed |= settle(re->agreement.owner, p);
	PHX_NODES_EACH(n, a->s)
		a->out->changed |= settle(n->tenant, p);
	if (!a->out->changed)
		return 0;
	phx_touch_all(a->s);
	phx_note(a, NULL, "owner %s is %s from now on", p->word, p->identity);
	return 0;
}
