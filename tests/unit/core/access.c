/* Roles that are granted and taken, owners of before that get their kind, members that change. */
#include "unit/core/world.h"

#include "state/named.h"

static int access_of(struct world *w, const char *identity, int role, const char *login, bool take)
{
	struct phx_event ev = {.kind = PHX_EV_access, .access = {.role = role, .revoke = take}};
	PHX_STR_SET(ev.access.identity, identity);
	PHX_STR_SET(ev.access.login, login);
	PHX_STR_SET(ev.by, "uid:0");
	return world_apply(w, &ev, NULL);
}

static void roles_are_granted_and_taken(void **state)
{
	struct world *w = *state;
	assert_int_equal(access_of(w, "unix:ann", PHX_WHO_OPERATOR, "", false), 0);
	assert_int_equal(access_of(w, "unix:ann", PHX_WHO_AUDITOR, "", false), 0);
	assert_int_equal(access_of(w, "unix:ann", PHX_WHO_AUDITOR, "", false), 0);
	assert_int_equal(w->s.grants.n, 2);
	assert_int_equal(phx_state_granted(&w->s, "unix:ann"),
			 1u << PHX_WHO_OPERATOR | 1u << PHX_WHO_AUDITOR);
	/* the certificate of her name is somebody else */
	assert_int_equal(phx_state_granted(&w->s, "cert:ann"), 0);
	assert_int_equal(phx_state_granted(&w->s, "ann"), 0);
	assert_int_equal(access_of(w, "cert:ann", PHX_WHO_OPERATOR, "", true), -ENOENT);
	assert_int_equal(access_of(w, "unix:ann", PHX_WHO_OPERATOR, "", true), 0);
	assert_int_equal(access_of(w, "unix:ann", PHX_WHO_OPERATOR, "", true), -ENOENT);
	assert_int_equal(phx_state_granted(&w->s, "unix:ann"), 1u << PHX_WHO_AUDITOR);
}

static void a_certificate_has_one_login(void **state)
{
	struct world *w = *state;
	assert_int_equal(access_of(w, "cert:lab", 0, "ann", false), 0);
	assert_string_equal(phx_state_login(&w->s, "cert:lab"), "ann");
	assert_int_equal(phx_state_granted(&w->s, "cert:lab"), 0);
	assert_int_equal(access_of(w, "cert:lab", 0, "bob", false), 0);
	assert_string_equal(phx_state_login(&w->s, "cert:lab"), "bob");
	assert_string_equal(phx_state_login(&w->s, "unix:lab"), "");
	assert_int_equal(access_of(w, "cert:lab", 0, "ann", true), -ENOENT);
	assert_int_equal(access_of(w, "cert:lab", 0, "bob", true), 0);
	assert_string_equal(phx_state_login(&w->s, "cert:lab"), "");
}

static void what_cannot_be_is_refused(void **state)
{
	static const struct {
		const char *identity;
		int role;
		const char *login;
	} rows[] = {
		{"ann", PHX_WHO_OPERATOR, ""},       {"node:n1", PHX_WHO_OPERATOR, ""},
		{"unix:", PHX_WHO_OPERATOR, ""},     {"unix:ann", PHX_WHO_USER, ""},
		{"unix:ann", PHX_WHO_NODE, ""},      {"unix:ann", PHX_WHO_ADMIN, "bob"},
		{"cert:lab", PHX_WHO_ADMIN, "root"}, {"cert:lab", PHX_WHO_ADMIN, "a:b"},
	};
	struct world *w = *state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		assert_int_equal(access_of(w, rows[i].identity, rows[i].role, rows[i].login, false),
				 -EINVAL);
	/* nobody locks the last administrator out */
	assert_int_equal(access_of(w, "unix:root", PHX_WHO_ADMIN, "", true), -EPERM);
	assert_int_equal(w->s.grants.n, 0);
}

static int settle(struct world *w, const char *word, const char *identity)
{
	struct phx_event ev = {.kind = PHX_EV_identity};
	PHX_STR_SET(ev.identity.word, word);
	PHX_STR_SET(ev.identity.identity, identity);
	return world_apply(w, &ev, NULL);
}

/* All that was one owner's is one owner's afterwards, and of others nothing. */
static void owners_of_before_get_their_kind(void **state)
{
	struct world *w = *state;
	struct phx_pool *one = phx_list_push(&w->s.pools, sizeof(*one));
	struct phx_pool *other = phx_list_push(&w->s.pools, sizeof(*other));
	struct phx_re *re = phx_list_push(&w->s.res, sizeof(*re));
	phx_named_changed(&w->s);
	one = other - 1;
	PHX_STR_SET(one->name, "one");
	PHX_STR_SET(other->name, "other");
	PHX_STR_SET(one->owner, "ann");
	PHX_STR_SET(other->owner, "cert:ann");
	PHX_STR_SET(re->agreement.owner, "ann");
	assert_int_equal(settle(w, "ann", "ann"), -EINVAL);
	assert_int_equal(settle(w, "ann", "unix:bob"), -EINVAL);
	assert_int_equal(settle(w, "ann", "unix:ann"), 0);
	assert_string_equal(one->owner, "unix:ann");
	assert_string_equal(other->owner, "cert:ann");
	assert_string_equal(re->agreement.owner, "unix:ann");
	uint64_t seq = w->s.seq;
	assert_int_equal(settle(w, "ann", "cert:ann"), 0);
	assert_int_equal(w->s.seq, seq); /* it is decided */
	assert_string_equal(one->owner, "unix:ann");
}

static int change(struct world *w, int who, const char *add, const char *out)
{
	struct phx_event ev = {.kind = PHX_EV_re_members, .re_members.who = who};
	PHX_STR_SET(ev.re, "lab");
	PHX_STR_SET(ev.re_members.add, add);
	PHX_STR_SET(ev.re_members.remove, out);
	return world_apply(w, &ev, NULL);
}

static void members_change(void **state)
{
	struct world *w = *state;
	assert_int_equal(change(w, PHX_RE_WHO_SERVICE, "unix:bob", ""), -ENOENT);
	struct phx_re *re = phx_list_push(&w->s.res, sizeof(*re));
	phx_named_changed(&w->s);
	PHX_STR_SET(re->name, "lab");
	PHX_STR_SET(re->agreement.users, "old, unix:eve");
	assert_int_equal(change(w, PHX_RE_WHO_SERVICE, "unix:bob group:staff unix:old", ""), 0);
	assert_string_equal(re->agreement.users, "old, unix:eve unix:bob");
	assert_string_equal(re->agreement.groups, "staff");
	/* one that is not there: nothing of it is done */
	assert_int_equal(change(w, PHX_RE_WHO_SERVICE, "unix:zoe", "cert:bob"), -ENOENT);
	assert_int_equal(change(w, PHX_RE_WHO_SERVICE, "", "cert:old"), -ENOENT);
	assert_string_equal(re->agreement.users, "old, unix:eve unix:bob");
	/* a user of before has no kind */
	assert_int_equal(change(w, PHX_RE_WHO_PROVIDER, "", "unix:old group:staff unix:eve"), 0);
	assert_string_equal(re->agreement.users, "unix:bob");
	assert_string_equal(re->agreement.groups, "");
	assert_int_equal(change(w, PHX_RE_WHO_PROVIDER, "bob", ""), -EINVAL);
	assert_int_equal(change(w, PHX_RE_WHO_PROVIDER, "node:n1", ""), -EINVAL);
	assert_int_equal(change(w, PHX_RE_WHO_PROVIDER, "group:unix:x", ""), -EINVAL);
	assert_int_equal(change(w, PHX_RE_WHO_PHXD, "unix:zoe", ""), -EPERM);
	for (int i = 0, r = 0; r == 0; i++) {
		char word[32];
		snprintf(word, sizeof(word), "unix:somebody%d", i);
		r = change(w, PHX_RE_WHO_PROVIDER, word, "");
		assert_true(r == 0 || r == -E2BIG);
	}
	assert_true(strlen(re->agreement.users) < PHX_MEMBERS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(roles_are_granted_and_taken),
		WORLD_TEST(a_certificate_has_one_login),
		WORLD_TEST(what_cannot_be_is_refused),
		WORLD_TEST(owners_of_before_get_their_kind),
		WORLD_TEST(members_change),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
