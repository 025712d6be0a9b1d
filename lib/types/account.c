/* Records of accounts and their checks: see account.h. Called by the head, which makes the lists,
 * and by the agent, which does not trust them unchecked. Pure. */
#include "types/account.h"

#include <errno.h>
#include <string.h>

#include "base/mix.h"

PHX_RECORD_TABLE(phx_account_group, PHX_ACCOUNT_GROUP_FIELDS);
PHX_RECORD_TABLE(phx_account, PHX_ACCOUNT_FIELDS);
PHX_RECORD_TABLE(phx_accounts, PHX_ACCOUNTS_FIELDS);

enum { GROUP_USERS = 100 }; /* on Debian, Red Hat and SUSE alike */

bool phx_account_is_person(uint32_t id)
{
	return id >= 1000 && !(id > 60000 && id < 65536) && phx_id_valid(id);
}

/* ---- the fields of an account ---- */

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool name_valid(const char *s)
{
	if (!is_letter(*s))
		return false;
	for (s++; *s; s++)
		if (!is_letter(*s) && !(*s >= '0' && *s <= '9') && *s != '-' && *s != '.')
			return false;
	return true;
}

/* Is it a field of a line of /etc/passwd? Bytes above 127 occur in people's names. */
static bool field_valid(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 127 || *s == ':')
			return false;
	return true;
}

static bool path_valid(const char *s)
{
	return *s == '/' && field_valid(s) && !strstr(s, "/../") && !strstr(s, "/./") &&
		!strstr(s, "//") && !(strlen(s) >= 3 && !strcmp(s + strlen(s) - 3, "/..")) &&
		!(strlen(s) >= 2 && !strcmp(s + strlen(s) - 2, "/."));
}

static int check_group(const struct phx_account_group *g, struct phx_err *err)
{
	if (!name_valid(g->name))
		return phx_err_set(err, -EINVAL, "'%s' is no name of a group", g->name);
	return phx_account_is_person(g->gid)
		? 0
		: phx_err_set(err, -EPERM,
			      "group %s: gid %u is the system's: no node is told of it", g->name,
			      g->gid);
}

static int check_numbers(const struct phx_account *a, struct phx_err *err)
{
	if (!phx_account_is_person(a->uid))
		return phx_err_set(err, -EPERM,
				   "account %s: uid %u is the system's: people have 1000 to 60000, "
				   "or 65536 and above",
				   a->name, a->uid);
	if (!phx_account_is_person(a->gid) && a->gid != GROUP_USERS)
		return phx_err_set(err, -EPERM, "account %s: gid %u is the system's", a->name,
				   a->gid);
	return 0;
}

int phx_account_check(const struct phx_account *a, struct phx_err *err)
{
	if (!name_valid(a->name))
		return phx_err_set(err, -EINVAL, "'%s' is no name of an account", a->name);
	int r = check_numbers(a, err);
	if (r < 0)
		return r;
	if (!field_valid(a->gecos))
		return phx_err_set(err, -EINVAL,
				   "account %s: gecos must have no colon and be one line", a->name);
	if (!path_valid(a->home))
		return phx_err_set(err, -EINVAL, "account %s: home '%s' is no plain path", a->name,
				   a->home);
	if (!path_valid(a->shell))
		return phx_err_set(err, -EINVAL, "account %s: shell '%s' is no plain path", a->name,
				   a->shell);
	PHX_LIST_EACH(struct phx_account_group, g, &a->groups)
		if ((r = check_group(g, err)) < 0)
			return phx_err_prefix(err, r, "account %s", a->name);
	return 0;
}

/* ---- lists ---- */

static int check_twins(const struct phx_account *a, const struct phx_account *b,
		       struct phx_err *err)
{
	if (!strcmp(a->name, b->name))
		return phx_err_set(err, -EINVAL, "account %s is there twice", a->name);
	return a->uid == b->uid ? phx_err_set(err, -EINVAL, "accounts %s and %s have one uid, %u",
					      a->name, b->name, a->uid)
				: 0;
}

static int check_group_twins(const struct phx_account_group *a, const struct phx_account_group *b,
			     struct phx_err *err)
{
	if (!strcmp(a->name, b->name))
		return phx_err_set(err, -EINVAL, "group %s is there twice", a->name);
	return a->gid == b->gid ? phx_err_set(err, -EINVAL, "groups %s and %s have one gid, %u",
					      a->name, b->name, a->gid)
				: 0;
}

static int check_groups(const struct phx_list *groups, struct phx_err *err)
{
	int r = 0;
	PHX_LIST_EACH(struct phx_account_group, g, groups) {
		r = r ? r : check_group(g, err);
		for (const struct phx_account_group *b = groups->items; r == 0 && b < g; b++)
			r = check_group_twins(b, g, err);
	}
	return r;
}

int phx_accounts_check(const struct phx_accounts *l, struct phx_err *err)
{
	if (l->list.n > PHX_ACCOUNTS_MAX || l->groups.n > PHX_ACCOUNT_GROUPS_MAX)
		return phx_err_set(err, -E2BIG, "there are more than %d accounts or %d groups",
				   PHX_ACCOUNTS_MAX, PHX_ACCOUNT_GROUPS_MAX);
	if (l->re[0] ? !phx_name_valid(l->re) : l->list.n || l->groups.n)
		return phx_err_set(err, -EINVAL, "re '%s': must be a name", l->re);
	int r = check_groups(&l->groups, err);
	PHX_LIST_EACH(struct phx_account, a, &l->list) {
		r = r ? r : phx_account_check(a, err);
		for (const struct phx_account *b = l->list.items; r == 0 && b < a; b++)
			r = check_twins(b, a, err);
	}
	return r;
}

const struct phx_account *phx_accounts_find(const struct phx_accounts *l, const char *name,
					    uint32_t uid)
{
	PHX_LIST_EACH(struct phx_account, a, &l->list)
		if (a->uid == uid && !strcmp(a->name, name))
			return a;
	return NULL;
}

int phx_account_group_add(struct phx_list *groups, const char *name, uint32_t gid)
{
	struct phx_account_group group = {.gid = gid}, *at;
	if (PHX_STR_SET(group.name, name) < 0)
		return 0; /* no node could make it */
	PHX_LIST_EACH(struct phx_account_group, g, groups)
		if (g->gid == gid || !strcmp(g->name, name))
			return 0;
	at = phx_list_push(groups, sizeof(*at));
	if (at)
		*at = group;
	return at ? 0 : -ENOMEM;
}

/* ---- a number for a list ---- */

static uint64_t mix_groups(uint64_t h, const struct phx_list *groups)
{
	PHX_LIST_EACH(struct phx_account_group, g, groups)
		h = phx_mix(phx_mix_text(h, g->name), &g->gid, sizeof(g->gid));
	return phx_mix(h, &groups->n, sizeof(groups->n));
}

uint64_t phx_accounts_id(const struct phx_accounts *l)
{
	uint64_t h = phx_mix_text(PHX_MIX_NONE, l->re);
	if (!l->re[0])
		return 0;
	PHX_LIST_EACH(struct phx_account, a, &l->list) {
		h = phx_mix_text(phx_mix_text(h, a->name), a->gecos);
		h = phx_mix_text(phx_mix_text(h, a->home), a->shell);
		h = phx_mix(phx_mix(h, &a->uid, sizeof(a->uid)), &a->gid, sizeof(a->gid));
		h = mix_groups(h, &a->groups);
	}
	h = mix_groups(h, &l->groups);
	h = phx_mix_id(h);
	return h > PHX_ACCOUNTS_UNKNOWN ? h : PHX_ACCOUNTS_UNKNOWN + 1;
}
