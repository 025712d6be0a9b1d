/* What the agent is told: options, file, kernel command line, and how it says that something is
 * wrong. */
#include "unit/agent/scratch.h"

#include "agent/config.h"

static void check_bad(void **state, const char *text, const char *expected)
{
	struct agent_config c = {0};
	struct phx_err err = {0};
	const char *path = scratch_path(*state, "agent.conf");
	write_text(path, text, 0644);
	PHX_STR_SET(c.server, "kept:1");
	assert_int_equal(agent_config_read(&c, path, &err), -EINVAL);
	assert_string_equal(c.server, "kept:1"); /* untouched */
	assert_true(phx_str_starts(err.text, path));
	if (!strstr(err.text, expected))
		fail_msg("\"%s\" is not in \"%s\"", expected, err.text);
}

static void test_file(void **state)
{
	struct agent_config c = {0};
	struct phx_err err = {0};
	const char *path = scratch_path(*state, "agent.conf");
	write_text(path,
		   "# a comment\nserver = \"10.77.0.1:8443\";\nhttp = \"[fd77::1]:8080\";\n"
		   "state_dir = \"/srv/state\";\nsupervisor = \"own\";\n",
		   0644);
	assert_int_equal(agent_config_read(&c, path, &err), 0);
	assert_string_equal(c.server, "10.77.0.1:8443");
	assert_string_equal(c.http, "[fd77::1]:8080");
	assert_string_equal(c.state_dir, "/srv/state");
	assert_int_equal(c.supervisor, AGENT_SUPERVISOR_OWN);
}

static void test_bad_files(void **state)
{
	check_bad(state, "server = \"10.77.0.1:8443\";\n\nsever = \"x\";\n",
		  "agent.conf:3: unknown key \"sever\"");
	check_bad(state, "server = 5;\n", "agent.conf:1: server is a number; it must be a text");
	check_bad(state, "\nserver = \"10.77.0.1\";\n",
		  "agent.conf:2: server = \"10.77.0.1\" must be ADDRESS:PORT");
	check_bad(state, "server = \"10.77.0.1:99999\";\n", "must be ADDRESS:PORT");
	check_bad(state, "server = \"a b:1\";\n", "must be ADDRESS:PORT");
	check_bad(state, "ca = \"ca.pem\";\n",
		  "agent.conf:1: ca = \"ca.pem\" must be an absolute path");
	check_bad(state, "supervisor = \"runit\";\n", "agent.conf:1: ");
	check_bad(state, "job_scopes = \"perhaps\";\n", "agent.conf:1: ");
	check_bad(state, "server = \"x:1\"\nserver = \n", "agent.conf:");
}

static void test_missing_file(void **state)
{
	struct agent_config c = {0};
	struct phx_err err = {0};
	assert_int_equal(agent_config_read(&c, scratch_path(*state, "none"), &err), -ENOENT);
	assert_non_null(strstr(err.text, "none"));
}

static void test_kernel_command_line(void **state)
{
	(void)state;
	struct agent_config c = {0};
	struct phx_err err = {0};
	assert_int_equal(agent_config_cmdline(&c,
					      "quiet phx.server=10.0.0.1:443 xphx.http=no "
					      "phx.http=10.0.0.1:80 phx.beacon=10.0.0.1:81 "
					      "phx.image=abc\n",
					      &err),
			 0);
	assert_string_equal(c.server, "10.0.0.1:443");
	assert_string_equal(c.http, "10.0.0.1:80");
	assert_string_equal(c.beacon, "10.0.0.1:81");
	assert_string_equal(c.image_sha256, "abc");
	/* the last one counts, as for the kernel */
	assert_int_equal(agent_config_cmdline(&c, "phx.server=a:1 phx.server=b:2", &err), 0);
	assert_string_equal(c.server, "b:2");
	assert_int_equal(agent_config_cmdline(&c, "quiet", &err), -EINVAL);
	assert_non_null(strstr(err.text, "phx.server=ADDRESS:PORT is missing"));
	phx_err_clear(&err);
	assert_int_equal(agent_config_cmdline(&c, "phx.server=a", &err), -EINVAL);
	assert_non_null(strstr(err.text, "kernel command line"));
	assert_string_equal(c.server, "b:2");
}

static int init(struct agent_config *c, struct phx_err *err, const char *a, const char *b,
		const char *x, const char *y)
{
	char *argv[] = {(char *)"phx-agent", (char *)a, (char *)b, (char *)x, (char *)y, NULL};
	int argc = 1;
	while (argv[argc])
		argc++;
	return agent_config_init(argc, argv, c, err);
}

/* What a file does not name has the default of its row, not 0. */
static void test_defaults(void **state)
{
	struct agent_config c = {0};
	struct phx_err err = {0};
	const struct scratch *s = *state;
	assert_int_equal(phx_dir_make(scratch_path(s, "etc/phoenix"), 0755, NULL), 0);
	write_text(scratch_path(s, "etc/phoenix/agent.conf"), "server = \"10.77.0.1:8443\";\n",
		   0644);
	if (init(&c, &err, "--root", s->dir, NULL, NULL) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(c.network_silence_s, 60);
}

static void test_root(void **state)
{
	const struct scratch *s = *state;
	struct agent_config c;
	struct phx_err err = {0};
	char expected[128];
	assert_int_equal(phx_dir_make(scratch_path(s, "etc/phoenix"), 0755, NULL), 0);
	write_text(scratch_path(s, "etc/phoenix/agent.conf"),
		   "server = \"a:1\"; ca = \"/site/ca.pem\";", 0644);
	assert_int_equal(init(&c, &err, "--root", s->dir, "--run-dir", "/run/x"), 0);
	snprintf(expected, sizeof(expected), "%s/var/lib/phoenix", s->dir);
	assert_string_equal(c.state_dir, expected); /* defaults lie below the root */
	assert_string_equal(c.ca, "/site/ca.pem");  /* what is named is taken as it stands */
	assert_string_equal(c.run_dir, "/run/x");
	assert_false(c.whole_machine);
}

static void test_bad_options(void **state)
{
	const struct scratch *s = *state;
	struct agent_config c;
	struct phx_err err = {0};
	assert_int_equal(init(&c, &err, "--rot", "/x", NULL, NULL), -EINVAL);
	assert_non_null(strstr(err.text, "--rot: unknown option"));
	phx_err_clear(&err);
	assert_int_equal(init(&c, &err, "--root", NULL, NULL, NULL), -EINVAL);
	assert_non_null(strstr(err.text, "needs a value"));
	phx_err_clear(&err);
	assert_int_equal(init(&c, &err, "rest", NULL, NULL, NULL), -EINVAL);
	assert_non_null(strstr(err.text, "unexpected argument \"rest\""));
	phx_err_clear(&err);
	assert_int_equal(init(&c, &err, "--deploy", "--root", s->dir, NULL), -EINVAL);
	phx_err_clear(&err);
	write_text(scratch_path(s, "empty"), "", 0644);
	assert_int_equal(init(&c, &err, "--config", scratch_path(s, "empty"), NULL, NULL), -EINVAL);
	assert_non_null(strstr(err.text, "server = \"ADDRESS:PORT\"; is missing"));
}

/* A node that was deployed before there were package keys has the site's; one with such a file,
 * even an empty one, does not believe that any more. */
static void test_which_keys_count(void **state)
{
	const struct scratch *s = *state;
	struct agent_config c = {0};
	PHX_STR_SET(c.site_pub, "/etc/phoenix/site.pub");
	PHX_STR_SET(c.package_keys, scratch_path(s, "packages.pub"));
	assert_string_equal(agent_config_ring(&c), c.site_pub);
	write_text(c.package_keys, "", 0644);
	assert_string_equal(agent_config_ring(&c), c.package_keys);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_file),        TEST(test_bad_files),           TEST(test_missing_file),
		TEST(test_defaults),    TEST(test_kernel_command_line), TEST(test_root),
		TEST(test_bad_options), TEST(test_which_keys_count)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
