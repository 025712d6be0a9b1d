/* What a role may have removed, and what never goes. */
#include "unit/agent/scratch.h"

#include "agent/removal.h"

static void test_allowed(void **state)
{
	(void)state;
	static const char *const good[] = {"/var/lib/batch",     "/var/lib/web-nginx/cache",
					   "/var/log/web-nginx", "/srv/www",
					   "/etc/opt/tool.conf", "/var/lib/phoenix-batch"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(good); i++)
		assert_int_equal(removal_check(good[i], NULL), 0);
}

static void test_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"",
		"/",
		"/var",
		"/var/lib",
		"/var/lib/",
		"/etc",
		"/etc/passwd",
		"/usr/bin/env",
		"/var/lib/phoenix",
		"/var/lib/phoenix/agent.key",
		"/var/lib/dpkg/status",
		"/var/lib/systemd",
		"/var/cache/phoenix/packages",
		"/var/lib/../../etc/passwd",
		"/var/lib/x/../phoenix",
		"/var/lib/./phoenix",
		"/var/lib//phoenix",
		"/var/lib/x/",
		"var/lib/x",
		"/srv/..",
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		struct phx_err err = {0};
		if (removal_check(bad[i], &err) != -EPERM)
			fail_msg("\"%s\" is allowed", bad[i]);
		assert_true(err.text[0]);
	}
}

static void test_remove(void **state)
{
	const struct scratch *s = *state;
	assert_int_equal(phx_dir_make(scratch_path(s, "var/lib/batch/deep"), 0755, NULL), 0);
	write_text(scratch_path(s, "var/lib/batch/deep/file"), "x", 0644);
	write_text(scratch_path(s, "var/lib/other"), "x", 0644);
	assert_int_equal(removal_remove(s->dir, "/var/lib/batch", NULL), 0);
	assert_false(exists(scratch_path(s, "var/lib/batch")));
	assert_true(exists(scratch_path(s, "var/lib/other")));
	assert_int_equal(removal_remove(s->dir, "/var/lib/batch", NULL), 0); /* twice */
	assert_int_equal(removal_remove(s->dir, "/srv/none/below", NULL), 0);
}

/* Whoever asks for it: the check is part of the removal. */
static void test_remove_asks_itself(void **state)
{
	const struct scratch *s = *state;
	struct phx_err err = {0};
	assert_int_equal(phx_dir_make(scratch_path(s, "etc"), 0755, &err), 0);
	write_text(scratch_path(s, "etc/passwd"), "root\n", 0644);
	assert_int_equal(removal_remove(s->dir, "/etc/passwd", &err), -EPERM);
	assert_int_equal(access(scratch_path(s, "etc/passwd"), F_OK), 0);
}

static void test_links_lead_nowhere(void **state)
{
	const struct scratch *s = *state;
	struct phx_err err = {0};
	assert_int_equal(phx_dir_make(scratch_path(s, "var/lib"), 0755, NULL), 0);
	assert_int_equal(phx_dir_make(scratch_path(s, "precious/data"), 0755, NULL), 0);
	assert_int_equal(symlink(scratch_path(s, "precious"), scratch_path(s, "var/lib/link")), 0);
	/* through a link: refused */
	assert_int_equal(removal_remove(s->dir, "/var/lib/link/data", &err), -EPERM);
	assert_true(exists(scratch_path(s, "precious/data")));
	/* the link itself: removed, not what it points to */
	assert_int_equal(removal_remove(s->dir, "/var/lib/link", NULL), 0);
	assert_false(exists(scratch_path(s, "var/lib/link")));
	assert_true(exists(scratch_path(s, "precious/data")));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
	const struct CMUnitTest tests[] = {TEST(test_allowed), TEST(test_refused),
					   TEST(test_remove), TEST(test_remove_asks_itself),
					   TEST(test_links_lead_nowhere)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
