/* The kind of an identity that people wrote without one (cmd/phxd/identity.c). "root" and "nobody"
 * are users of every machine; the other names here are nobody's. */
#include "unit/core/world.h"

#include "phxd/identity.c" /* a part of a program, not of the library */
#include "fake/submitted.h"

#define NOBODYS "phx-no-such-user"

static struct daemon d;

static int setup(void **state)
{
	fake_engine_begin();
	world_setup(state);
	fake_state = &((struct world *)*state)->s;
	return 0;
}

static void assert_settled(const char *word, const char *known, const char *want)
{
	char ret[PHX_IDENTITY_MAX] = "";
	struct phx_err err = {0};
	assert_int_equal(identity_settle(word, known, ret, &err), 0);
	assert_string_equal(ret, want);
}

static void a_name_is_a_user_of_the_head_or_a_certificate(void **state)
{
	(void)state;
	assert_settled("root", "", "unix:root");
	assert_settled(NOBODYS, "", "cert:" NOBODYS);
}

static void a_kind_that_is_written_counts(void **state)
{
	(void)state;
	assert_settled("cert:root", "", "cert:root");
	assert_settled("unix:" NOBODYS, "", "unix:" NOBODYS);
	assert_settled("cert:root", "unix:root", "cert:root");
	assert_settled("node:n1", "", "node:n1");
}

/* A user who is made later does not take over what a certificate of his name owns. */
static void what_was_known_by_that_name_stays(void **state)
{
	(void)state;
	assert_settled("root", "cert:root", "cert:root");
	assert_settled(NOBODYS, "unix:" NOBODYS, "unix:" NOBODYS);
	/* another name, or one whose kind nobody knows either, says nothing */
	assert_settled("root", "cert:other", "unix:root");
	assert_settled("root", "root", "unix:root");
	assert_settled("root", "not a name", "unix:root");
}

static void what_is_no_name_is_refused(void **state)
{
	static const char *const words[] = {"",    "a b",  "cert:", "cert:a/b",
					    "a:b", "x\ny", "unix:", "group:wheel"};
	char ret[PHX_IDENTITY_MAX] = "as before";
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(words); i++) {
		struct phx_err err = {0};
		assert_int_equal(identity_settle(words[i], "", ret, &err), -EINVAL);
		assert_true(err.text[0] == '\'');
	}
}

static void each_word_of_a_list_is_settled(void **state)
{
	char list[200] = "root, " NOBODYS " * group:staff cert:campus root";
	struct phx_err err = {0};
	(void)state;
	assert_int_equal(identity_settle_list(list, sizeof(list), &err), 0);
	assert_string_equal(list, "unix:root cert:" NOBODYS " * group:staff cert:campus");
	char empty[8] = "";
	assert_int_equal(identity_settle_list(empty, sizeof(empty), &err), 0);
	assert_string_equal(empty, "");
}

/* With kinds it is longer than people wrote it. */
static void a_list_that_does_not_fit_is_refused_and_stays(void **state)
{
	char list[10] = "root a";
	struct phx_err err = {0};
	(void)state;
	assert_int_equal(identity_settle_list(list, sizeof(list), &err), -E2BIG);
	assert_string_equal(list, "root a");
	assert_non_null(strstr(err.text, "more than 9 bytes of names"));
	char bad[40] = "root cert:a/b";
	phx_err_clear(&err);
	assert_int_equal(identity_settle_list(bad, sizeof(bad), &err), -EINVAL);
	assert_string_equal(bad, "root cert:a/b");
}

/* So that who writes it back means the same. */
static void a_name_is_shown_without_its_kind_if_it_means_the_same(void **state)
{
	static const char *const rows[][2] = {{"unix:root", "root"},
					      {"unix:" NOBODYS, NOBODYS},
					      {"cert:" NOBODYS, NOBODYS},
					      {"cert:root", "cert:root"},
					      {"node:n1", "node:n1"},
					      {"", ""},
					      {"old", "old"}};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		PHX_AUTO_JSON json_t *j = json_object();
		identity_add_name(j, rows[i][0]);
		assert_string_equal(phx_json_str(j, "owner_name", "?"), rows[i][1]);
	}
}

/* ---- owners in an older journal ---- */

static bool settles(const char *word, const char *identity)
{
	for (uint32_t i = 0; i < fake_events.n; i++)
		if (!strcmp(fake_event(i)->identity.word, word))
			return !strcmp(fake_event(i)->identity.identity, identity);
	return false;
}

static void owners_without_a_kind_get_one_each_once(void **state)
{
	struct world *w = *state;
	struct phx_err err = {0};
	/* the pools' are "hpc", several times, and "other" */
	world_ready(w, "n1", true);
	PHX_STR_SET(world_node(w, "n1")->tenant, "root");
	struct phx_re *re = phx_list_push(&w->s.res, sizeof(*re));
	PHX_STR_SET(re->agreement.owner, "cert:campus");
	assert_int_equal(identity_settle_owners(&d, &err), 0);
	assert_int_equal(fake_events.n, 3);
	assert_true(settles("hpc", "cert:hpc"));
	assert_true(settles("other", "cert:other"));
	assert_true(settles("root", "unix:root"));
	w->s.res.n--;
}

static void a_journal_that_cannot_be_written_is_no_reason_not_to_start(void **state)
{
	struct phx_err err = {0};
	(void)state;
	fake_submit_result = -EROFS;
	assert_int_equal(identity_settle_owners(&d, &err), 0);
	fake_submit_result = -ENOMEM;
	assert_int_equal(identity_settle_owners(&d, &err), -ENOMEM);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, world_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_name_is_a_user_of_the_head_or_a_certificate),
		TEST(a_kind_that_is_written_counts),
		TEST(what_was_known_by_that_name_stays),
		TEST(what_is_no_name_is_refused),
		TEST(each_word_of_a_list_is_settled),
		TEST(a_list_that_does_not_fit_is_refused_and_stays),
		TEST(a_name_is_shown_without_its_kind_if_it_means_the_same),
		TEST(owners_without_a_kind_get_one_each_once),
		TEST(a_journal_that_cannot_be_written_is_no_reason_not_to_start),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
