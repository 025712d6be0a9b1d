/* Certificates of people that are revoked: state, by number. */
#include "unit/core/world.h"

static int revoke(struct world *w, const char *serial, const char *name, struct phx_outcome *out)
{
	struct phx_event ev = {.kind = PHX_EV_cert_revoke};
	PHX_STR_SET(ev.cert_revoke.serial, serial);
	PHX_STR_SET(ev.cert_revoke.name, name);
	PHX_STR_SET(ev.text, "lost");
	return world_apply(w, &ev, out);
}

static void a_number_is_revoked_once(void **state)
{
	struct world *w = *state;
	struct phx_outcome out = {0};
	assert_null(phx_state_revoked(&w->s, "4a01"));
	assert_int_equal(revoke(w, "4a01", "alice", &out), 0);
	assert_true(out.changed);
	assert_string_equal(PHX_LIST_AT(&out.actions, struct phx_action, 0)->text,
			    "certificate 4a01 of alice is revoked: lost");
	phx_outcome_fini(&out);
	assert_non_null(phx_state_revoked(&w->s, "4a01"));
	assert_null(phx_state_revoked(&w->s, "4a"));
	uint64_t seq = w->s.seq;
	assert_int_equal(revoke(w, "4a01", "alice", &out), 0);
	assert_false(out.changed);
	assert_int_equal(w->s.seq, seq);
	phx_outcome_fini(&out);
}

static void no_numbers(void **state)
{
	static const char *const wrong[] = {"", "4", "4A01", "4g", "0x4a", "4a01 "};
	struct world *w = *state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(wrong); i++)
		assert_int_equal(revoke(w, wrong[i], "alice", NULL), -EINVAL);
	assert_int_equal(revoke(w, "4a", "../alice", NULL), -EINVAL);
	assert_int_equal(w->s.revoked.n, 0);
	assert_int_equal(revoke(w, "4a", "", NULL), 0); /* whose it was need not be known */
}

static void it_outlives_the_head(void **state)
{
	struct world *w = *state;
	struct phx_state copy;
	assert_int_equal(revoke(w, "4a01", "alice", NULL), 0);
	assert_int_equal(phx_record_copy(&phx_state_record, &copy, &w->s), 0);
	assert_non_null(phx_state_revoked(&copy, "4a01"));
	phx_state_fini(&copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_number_is_revoked_once),
		WORLD_TEST(no_numbers),
		WORLD_TEST(it_outlives_the_head),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
