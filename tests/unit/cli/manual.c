/* The manual pages: what is made from tables is as the tables say, scdoc takes
 * every page, and no page lacks its final newline (then tables would vanish). */
#include "fake/phxd.h"

static const char *const pages[] = {"cmd/phx/phx.1.scd",        "cmd/phx-sim/phx-sim.1.scd",
				    "cmd/phxd/phxd.8.scd",      "cmd/phx-agent/phx-agent.8.scd",
				    "etc/phoenix.conf.5.scd",   "etc/phoenix-agreement.5.scd",
				    "etc/phoenix-role.5.scd",   "etc/phoenix-image.5.scd",
				    "etc/phoenix-package.5.scd"};

static char *read_page(const char *name)
{
	char path[512];
	char *text = NULL;
	struct phx_err err = {0};
	snprintf(path, sizeof(path), "%s/../%s", TEST_DIR, name);
	if (phx_file_read(path, 1 << 20, &text, NULL, &err) < 0)
		fail_msg("%s", err.text);
	return text;
}

/* The part of `page` from the heading `from` to the heading `to` is what phx prints for `words`. */
static void compare(const char *page, const char *from, const char *to, const char *words)
{
	PHX_AUTO_FREE char *text = read_page(page);
	PHX_SAID made = phx_at("/nonexistent", words);
	const char *begin = strstr(text, from), *end = begin ? strstr(begin, to) : NULL;
	if (!begin || !end)
		fail_msg("%s: no section between '%s' and '%s'", page, from, to);
	assert_int_equal(made.status, 0);
	size_t n = (size_t)(end - begin), same = 0;
	while (same < n && begin[same] == made.out[same])
		same++;
	if (same != n || made.out[n])
		fail_msg("%s: the section '%s' differs from: phx %s\npage: %.80s\nmade: %.80s",
			 page, from, words, begin + same, made.out + same);
}

static void phx_1_is_as_the_command_table(void **state)
{
	(void)state;
	compare("cmd/phx/phx.1.scd", "# COMMANDS\n", "# NODE LISTS\n", "completion manual");
}

static void phoenix_conf_5_is_as_the_option_table(void **state)
{
	(void)state;
	compare("etc/phoenix.conf.5.scd", "# KEYS\n", "# POOLS\n", "completion conf-manual");
}

static void phx_sim_1_is_as_the_simulator_s_tables(void **state)
{
	(void)state;
	compare("cmd/phx-sim/phx-sim.1.scd", "# POLICIES\n", "# TRACES\n", "completion sim-manual");
}

static void every_page_becomes_roff(void **state)
{
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(pages); i++) {
		PHX_AUTO_FREE char *text = read_page(pages[i]);
		const char *const argv[] = {"scdoc", NULL};
		struct phx_run_result r = {0};
		struct phx_err err = {0};
		assert_int_equal(text[strlen(text) - 1], '\n');
		if (phx_run_check(&(struct phx_run){.argv = argv, .input = text}, &r, &err) < 0)
			fail_msg("%s: %s", pages[i], err.text);
		assert_has(r.out, ".SH NAME");
		phx_run_result_fini(&r);
	}
}

static void options_of_the_daemons_are_in_their_pages(void **state)
{
	(void)state;
	static const struct {
		const char *page, *part;
	} rows[] = {
		{"cmd/phxd/phxd.8.scd", "--config"},
		{"cmd/phxd/phxd.8.scd", "--check"},
		{"cmd/phx-agent/phx-agent.8.scd", "--deploy"},
		{"cmd/phx-agent/phx-agent.8.scd", "--root"},
		{"cmd/phx-agent/phx-agent.8.scd", "--facts"},
		{"cmd/phx-agent/phx-agent.8.scd", "--boot-id"},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		PHX_AUTO_FREE char *text = read_page(rows[i].page);
		assert_has(text, rows[i].part);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(phx_1_is_as_the_command_table),
		cmocka_unit_test(phoenix_conf_5_is_as_the_option_table),
		cmocka_unit_test(phx_sim_1_is_as_the_simulator_s_tables),
		cmocka_unit_test(every_page_becomes_roff),
		cmocka_unit_test(options_of_the_daemons_are_in_their_pages),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
