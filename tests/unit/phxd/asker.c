/* The relation of who asks to an RE (cmd/phxd/asker.c): the resource provider sees all REs and acts
 * for the service provider only where he is that as well; a service provider has his own, and
 * nobody else any. The table of rights and agreements are real; who asks, and his roles, are the
 * test's. */
#include "fake/request.h"
#include "phxd/asker.c" /* a part of a program, not of the library */

static struct daemon d;
static unsigned fake_roles;
static const char *fake_identity;

unsigned person_roles(struct daemon *of, const struct phx_http_peer *peer)
{
	(void)peer;
	assert_ptr_equal(of, &d);
	return fake_roles;
}
void person_of(struct daemon *of, const struct phx_http_peer *peer, struct person *ret)
{
	(void)peer;
	assert_ptr_equal(of, &d);
	*ret = (struct person){0};
	PHX_STR_SET(ret->identity, fake_identity);
}
bool person_is(const struct person *p, const char *owner)
{
	return owner[0] && !strcmp(p->identity, owner);
}

enum {
	ADMIN = 1u << PHX_WHO_ADMIN,
	OPERATOR = 1u << PHX_WHO_OPERATOR,
	AUDITOR = 1u << PHX_WHO_AUDITOR,
	PROVIDER = 1u << PHX_WHO_PROVIDER,
	USER = 1u << PHX_WHO_USER,
	NODE = 1u << PHX_WHO_NODE,
};

static struct asker asker(unsigned roles, const char *identity, enum phx_right right)
{
	struct phx_http_request q = {0};
	fake_roles = roles;
	fake_identity = identity;
	return asker_of(&d, &q, right);
}

static struct phx_agreement agreement(const char *owner, enum phx_re_relationship relationship)
{
	struct phx_agreement g;
	phx_agreement_init(&g);
	PHX_STR_SET(g.owner, owner);
	g.relationship = relationship;
	return g;
}

static bool serves(unsigned roles, const char *identity, enum phx_right right,
		   const struct phx_agreement *g)
{
	struct asker a = asker(roles, identity, right);
	return asker_is_service(&a, g);
}

static bool sees(unsigned roles, const char *identity, const struct phx_agreement *g)
{
	struct asker a = asker(roles, identity, PHX_RIGHT_re_see);
	return asker_may_see(&a, g);
}

static const enum phx_re_relationship relationships[] = {PHX_RE_SAME, PHX_RE_AFFILIATED,
							 PHX_RE_BUSINESS};

static void an_owner_is_the_service_provider_of_his_own(void **state)
{
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(relationships); i++) {
		struct phx_agreement g = agreement("unix:alice", relationships[i]);
		assert_true(serves(PROVIDER, "unix:alice", PHX_RIGHT_re_order, &g));
		assert_true(sees(PROVIDER, "unix:alice", &g));
		assert_false(serves(PROVIDER, "unix:bob", PHX_RIGHT_re_order, &g));
		assert_false(sees(PROVIDER, "unix:bob", &g));
		assert_false(serves(PROVIDER, "cert:alice", PHX_RIGHT_re_order, &g));
		phx_record_fini(&phx_agreement_record, &g);
	}
}

/* Who has no name is nobody's owner, not that of what has none either. */
static void an_re_without_an_owner_is_nobodys(void **state)
{
	struct phx_agreement g = agreement("", PHX_RE_BUSINESS);
	(void)state;
	assert_false(serves(PROVIDER, "", PHX_RIGHT_re_order, &g));
	assert_false(sees(USER, "", &g));
	assert_false(sees(0, "", &g));
	phx_record_fini(&phx_agreement_record, &g);
}

/* 000 4.2: an administrator does not put files into a stranger's RE. */
static void the_resource_provider_serves_only_where_he_is_both(void **state)
{
	static const unsigned roles[] = {ADMIN, OPERATOR, ADMIN | USER, OPERATOR | AUDITOR};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(roles) * PHX_ARRAY_SIZE(relationships); i++) {
		enum phx_re_relationship relationship = relationships[i % 3];
		struct phx_agreement g = agreement("unix:alice", relationship);
		assert_int_equal(serves(roles[i / 3], "unix:root", PHX_RIGHT_re_order, &g),
				 relationship == PHX_RE_SAME);
		assert_true(sees(roles[i / 3], "unix:root", &g));
		phx_record_fini(&phx_agreement_record, &g);
	}
}

/* An auditor sees all of them, and grants none: he is not the resource provider. */
static void who_sees_all_acts_for_nobody(void **state)
{
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(relationships); i++) {
		struct phx_agreement g = agreement("unix:alice", relationships[i]);
		assert_true(sees(AUDITOR, "unix:eve", &g));
		assert_false(serves(AUDITOR, "unix:eve", PHX_RIGHT_re_see, &g));
		assert_false(serves(AUDITOR | PROVIDER, "unix:eve", PHX_RIGHT_re_see, &g));
		phx_record_fini(&phx_agreement_record, &g);
	}
}

/* What a member may do is asked elsewhere (cmd/phxd/people.c). */
static void for_all_others_it_is_not_there(void **state)
{
	static const unsigned roles[] = {0, USER, NODE, PROVIDER, PROVIDER | USER};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(roles) * PHX_ARRAY_SIZE(relationships); i++) {
		struct phx_agreement g = agreement("unix:alice", relationships[i % 3]);
		assert_false(sees(roles[i / 3], "unix:eve", &g));
		assert_false(serves(roles[i / 3], "unix:eve", PHX_RIGHT_re_order, &g));
		phx_record_fini(&phx_agreement_record, &g);
	}
}

/* A right that he has nowhere he does not have where he is both. */
static void each_right_goes_as_far_as_the_table_says(void **state)
{
	struct phx_agreement g = agreement("unix:alice", PHX_RE_SAME);
	(void)state;
	for (int right = 0; right < PHX_RIGHT_COUNT_; right++)
		for (unsigned roles = 0; roles < 1u << PHX_WHO_COUNT_; roles++) {
			struct asker a = asker(roles, "unix:eve", (enum phx_right)right);
			bool admin = roles & ADMIN &&
				phx_right_cell((enum phx_right)right, PHX_WHO_ADMIN);
			bool operates = roles & OPERATOR &&
				phx_right_cell((enum phx_right)right, PHX_WHO_OPERATOR);
			assert_int_equal(asker_is_service(&a, &g), admin || operates);
			assert_int_equal(a.all,
					 phx_right_scope((enum phx_right)right, roles) ==
						 PHX_SCOPE_ALL);
		}
	phx_record_fini(&phx_agreement_record, &g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_owner_is_the_service_provider_of_his_own),
		cmocka_unit_test(an_re_without_an_owner_is_nobodys),
		cmocka_unit_test(the_resource_provider_serves_only_where_he_is_both),
		cmocka_unit_test(who_sees_all_acts_for_nobody),
		cmocka_unit_test(for_all_others_it_is_not_there),
		cmocka_unit_test(each_right_goes_as_far_as_the_table_says),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
