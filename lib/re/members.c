/* Changes of an RE's members: its owner or the resource provider adds users and groups to its
 * agreement, or removes them. Called by the table of events. Pure. */
#include <errno.h>
#include <string.h>

#include "base/identity.h"
#include "state/apply.h"

#define GROUP "group:"

/* The agreement's lists of users and groups, while they are changed. */
struct members {
	char users[PHX_MEMBERS_MAX], groups[PHX_MEMBERS_MAX];
};

/* The user as older agreements name him, without a kind; "" if `word` is no user of the head. */
static const char *untyped(const char *word)
{
	struct phx_identity is;
	bool user = phx_identity_parse(word, &is, NULL) == 0 && is.kind == PHX_IDENTITY_UNIX;
	return user ? strchr(word, ':') + 1 : "";
}

static int check_word(struct phx_apply *a, const char *word)
{
	struct phx_identity is = {.kind = PHX_IDENTITY_KINDS};
	bool group = phx_str_starts(word, GROUP);
	if (!strcmp(word, "*"))
		return 0;
	int r = phx_identity_parse(group ? word + strlen(GROUP) : word, &is, a->err);
	if (r < 0)
		return phx_err_prefix(a->err, r, "'%s'", word);
	if (group ? is.kind == PHX_IDENTITY_KINDS : is.kind < PHX_IDENTITY_NODE)
		return 0;
	return phx_err_set(a->err, -EINVAL,
			   "'%s' is no member: unix:NAME, cert:NAME, group:NAME or \"*\"", word);
}

static int add(struct phx_apply *a, struct members *m, const char *word)
{
	bool group = phx_str_starts(word, GROUP);
	int r = check_word(a, word);
	if (r < 0 || (!group && phx_words_have(m->users, untyped(word))))
		return r;
	r = group ? phx_words_add(m->groups, sizeof(m->groups), word + strlen(GROUP))
		  : phx_words_add(m->users, sizeof(m->users), word);
	return r < 0
		? phx_err_set(
			  a->err, r,
			  "'%s' does not fit into the list of members: name a group of the head",
			  word)
		: 0;
}

static int strike_out(struct phx_apply *a, struct members *m, const char *word)
{
	bool gone = phx_str_starts(word, GROUP)
		? phx_words_remove(m->groups, word + strlen(GROUP))
		: phx_words_remove(m->users, word) || phx_words_remove(m->users, untyped(word));
	return gone ? 0
		    : phx_err_set(a->err, -ENOENT, "%s is not named by the agreement of RE %s",
				  word, a->ev->re);
}

/* Calls `change` for each word of the list, up to the first error. */
static int each(struct phx_apply *a, struct members *m, const char *list,
		int (*change)(struct phx_apply *a, struct members *m, const char *word))
{
	char word[PHX_IDENTITY_MAX + 1];
	int r = 0;
	for (const char *at = list; r == 0 && phx_words_next(&at, word, sizeof(word));)
		r = change(a, m, word);
	return r;
}

int phx_apply_re_members(struct phx_apply *a, const struct phx_event_re_members *p)
{
	struct phx_re *re = phx_state_re(a->s, a->ev->re);
	if (!re)
		return phx_err_set(a->err, -ENOENT, "there is no RE '%s'", a->ev->re);
	if (p->who != PHX_RE_WHO_PROVIDER && p->who != PHX_RE_WHO_SERVICE)
		return phx_err_set(a->err, -EPERM,
				   "only the owner of RE '%s' and the resource provider name its "
				   "members",
				   re->name);
	struct phx_agreement *g = &re->agreement;
	struct members m;
	PHX_STR_SET(m.users, g->users);
	PHX_STR_SET(m.groups, g->groups);
	int r = each(a, &m, p->remove, strike_out);
	r = r ? r : each(a, &m, p->add, add);
	if (r < 0 || (!strcmp(m.users, g->users) && !strcmp(m.groups, g->groups)))
		return r;
	PHX_STR_SET(g->users, m.users);
	PHX_STR_SET(g->groups, m.groups);
	a->out->changed = true;
	phx_note_re(a, NULL, re->name, NULL, "members of RE %s:%s%.100s%s%.100s", re->name,
		    p->add[0] ? " with " : "", p->add, p->remove[0] ? " without " : "", p->remove);
	return 0;
}
