/* Whose jobs, workflows and triggers a person sees: a table of persons against a table of what was
 * given to REs. Who a person is, the daemon finds out; here the tests say it. */
#include "unit/core/pair.h"

#include "phxd/viewer.c" /* a part of a program, not of the library */

enum { ALICE = 1000, BOB = 1001 };

/* what of the daemon it calls */

static struct asked {
	bool all, is_user;
	unsigned roles;
	const char *identity, *login;
} asked;

bool person_has_all(struct daemon *d, const struct phx_http_peer *peer, enum phx_right right)
{
	(void)d, (void)peer;
	assert_int_equal(right, PHX_RIGHT_job_see);
	return asked.all;
}
unsigned person_roles(struct daemon *d, const struct phx_http_peer *peer)
{
	(void)d, (void)peer;
	return asked.roles;
}
bool person_is_user(const struct phx_http_peer *peer)
{
	(void)peer;
	return asked.is_user;
}
void person_of(struct daemon *d, const struct phx_http_peer *peer, struct person *ret)
{
	(void)d, (void)peer;
	PHX_STR_SET(ret->identity, asked.identity);
	PHX_STR_SET(ret->login, asked.login);
}
bool person_is(const struct person *p, const char *owner)
{
	return !strcmp(p->identity, owner);
}

static struct viewer viewer(uint32_t uid, const struct asked *who)
{
	struct phx_http_peer peer = {.uid = uid};
	asked = *who;
	return viewer_of(NULL, &peer, PHX_RIGHT_job_see);
}

static const struct asked user = {.is_user = true, .identity = "unix:alice", .login = "alice"};
static const struct asked by_cert = {.identity = "cert:alice", .login = "alice"};
static const struct asked nameless = {.identity = "cert:campus", .login = ""};
static const struct asked provider = {
	.is_user = true,
	.roles = 1u << PHX_WHO_PROVIDER,
	.identity = "unix:hpc",
	.login = "hpc",
};

static void own_is_seen_by_number_or_login(void **state)
{
	(void)state;
	const struct viewer alice = viewer(ALICE, &user), cert = viewer(ALICE, &by_cert),
			    none = viewer(ALICE, &nameless);
	assert_true(viewer_owns(&alice, ALICE, "alice"));
	/* a user is his number: another may have had the name */
	assert_true(viewer_owns(&alice, ALICE, "renamed"));
	assert_false(viewer_owns(&alice, BOB, "alice"));
	assert_true(viewer_owns(&cert, BOB, "alice"));
	assert_false(viewer_owns(&cert, ALICE, "bob"));
	/* who works as no user of the head has nothing of anybody, also not of nobody's name */
	assert_false(viewer_owns(&none, ALICE, "alice"));
	assert_false(viewer_owns(&none, 0, ""));
}

static void everybodys_is_for_who_has_all(void **state)
{
	(void)state;
	struct asked all = nameless;
	all.all = true;
	const struct viewer v = viewer(0, &all);
	assert_true(viewer_owns(&v, BOB, "bob"));
}

static void re_runs(struct world *w)
{
	struct phx_agreement a = mtc_agreement("unix:hpc", 1);
	a.upper = 1;
	world_ready(w, "n1", true);
	assert_int_equal(create(w, &a), 0);
}

static void provider_sees_what_his_re_was_given(void **state)
{
	struct world *w = *state;
	re_runs(w);
	const struct phx_re *re = phx_state_re(&w->s, "mtc");
	const int64_t made = re->created_ms;
	struct asked other = provider, member = provider;
	other.identity = "unix:web";
	member.roles = 0;
	const struct viewer hpc = viewer(BOB + 1, &provider), web = viewer(BOB + 2, &other),
			    no = viewer(BOB + 1, &member);
	assert_true(viewer_sees(&hpc, &w->s, "mtc", made, ALICE, "alice"));
	assert_true(made > 0);
	assert_false(viewer_sees(&hpc, &w->s, "mtc", made - 1, ALICE, "alice"));
	assert_false(viewer_sees(&hpc, &w->s, "", made, ALICE, "alice"));
	assert_false(viewer_sees(&hpc, &w->s, "gone", made, ALICE, "alice"));
	assert_false(viewer_sees(&web, &w->s, "mtc", made, ALICE, "alice"));
	assert_false(viewer_sees(&no, &w->s, "mtc", made, ALICE, "alice"));
	struct phx_flowrun run = {.uid = ALICE, .submitted_ms = made - 1, .re = "mtc"};
	struct phx_trigger t = {.uid = ALICE, .re = "mtc"};
	assert_false(viewer_sees_flowrun(&hpc, &w->s, &run));
	run.submitted_ms = made;
	assert_true(viewer_sees_flowrun(&hpc, &w->s, &run));
	assert_true(viewer_sees_trigger(&hpc, &w->s, &t));
	assert_false(viewer_sees_trigger(&web, &w->s, &t));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_is_seen_by_number_or_login),
		cmocka_unit_test(everybodys_is_for_who_has_all),
		cmocka_unit_test_setup_teardown(provider_sees_what_his_re_was_given, world_setup,
						world_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
