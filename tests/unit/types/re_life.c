/* The life of an RE: every state, operation and person, against the table that
 * was read from 003 2 by hand. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "types/re_life.h"

#define N_STATES (PHX_RE_STATE_DESTROYED + 1)
#define N_OPS (PHX_RE_OP_destroy + 1)

static const struct {
	const char *op, *from, *to, *who;
} rows[] = {
	{"create", "none", "initial", "resource provider"},
	{"deployed", "initial", "deployed", "phxd"},
	{"activate", "deployed", "running", "service provider"},
	{"activate", "deactivated", "running", "service provider"},
	{"suspend", "running", "suspended", "service provider"},
	{"resume", "suspended", "running", "service provider"},
	{"deactivate", "running", "deactivated", "service provider"},
	{"deactivate", "suspended", "deactivated", "service provider"},
	{"safe-deactivate", "running", "suspended", "service provider"},
	{"safe-deactivate", "suspended", "suspended", "service provider"},
	{"drained", "suspended", "deactivated", "phxd"},
	{"destroy", "deployed", "destroyed", "resource provider"},
	{"destroy", "deactivated", "destroyed", "resource provider"},
};

static const char *who_may(const char *op)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		if (!strcmp(rows[i].op, op))
			return rows[i].who;
	return "";
}

static const char *where_to(const char *op, const char *from)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		if (!strcmp(rows[i].op, op) && !strcmp(rows[i].from, from))
			return rows[i].to;
	return NULL;
}

static void check_one(int state, int op, int who)
{
	const char *op_name = phx_enum_name(&phx_re_op_names, op),
		   *from = phx_enum_name(&phx_re_state_names, state);
	const char *to = where_to(op_name, from);
	enum phx_re_state after = (enum phx_re_state)99;
	struct phx_err err = {0};
	int r = phx_re_life_apply((enum phx_re_state)state, (enum phx_re_op)op,
				  (enum phx_re_who)who, &after, &err);

	if (strcmp(who_may(op_name), phx_enum_name(&phx_re_who_names, who))) {
		assert_int_equal(r, -EPERM);
		assert_non_null(strstr(err.text, who_may(op_name)));
	} else if (!to) {
		assert_int_equal(r, -EINVAL);
		assert_non_null(strstr(err.text, state == PHX_RE_STATE_NONE ? "requested" : from));
	} else {
		assert_int_equal(r, 0);
		assert_string_equal(phx_enum_name(&phx_re_state_names, (int)after), to);
		return;
	}
	assert_int_equal(after, 99);
}

static void every_row_and_nothing_else(void **state)
{
	(void)state;
	for (int s = 0; s < N_STATES; s++)
		for (int op = 0; op < N_OPS; op++)
			for (int who = 0; who < 3; who++)
				check_one(s, op, who);
}

static void texts_say_what_would_be_right(void **state)
{
	enum phx_re_state to;
	struct phx_err err = {0};
	(void)state;
	phx_re_life_apply(PHX_RE_STATE_RUNNING, PHX_RE_OP_destroy, PHX_RE_WHO_PROVIDER, &to, &err);
	assert_string_equal(err.text,
			    "the RE is running: destroy wants it deployed or deactivated");
	phx_err_clear(&err);
	phx_re_life_apply(PHX_RE_STATE_RUNNING, PHX_RE_OP_withdraw, PHX_RE_WHO_SERVICE, &to, &err);
	assert_string_equal(err.text, "the RE is running: withdraw wants it requested");
	phx_err_clear(&err);
	phx_re_life_apply(PHX_RE_STATE_NONE, PHX_RE_OP_activate, PHX_RE_WHO_SERVICE, &to, &err);
	assert_string_equal(err.text,
			    "the RE is requested: activate wants it deployed or deactivated");
	phx_err_clear(&err);
	phx_re_life_apply(PHX_RE_STATE_RUNNING, PHX_RE_OP_destroy, PHX_RE_WHO_SERVICE, &to, &err);
	assert_string_equal(
		err.text,
		"to destroy an RE is for the resource provider, not for the service provider");
	assert_int_equal(phx_re_life_apply(PHX_RE_STATE_RUNNING, PHX_RE_OP_resume,
					   PHX_RE_WHO_SERVICE, &to, NULL),
			 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_and_nothing_else),
		cmocka_unit_test(texts_say_what_would_be_right),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
