/* Options of phxd (cmd/phxd/options.c). getopt, and what is printed, are real; the table of rights
 * is a fake. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "phxd/options.c" /* a part of a program, not of the library */

static unsigned printed;

void routes_print(void)
{
	printed++;
}

struct row {
	const char *words[4]; /* behind "phxd" */
	int wanted;
	struct options options; /* if 0 is wanted */
};

#define OF(f, t, h) \
	{ \
		.config = (f), .task = (t), .head = (h) \
	}
static const struct row rows[] = {
	{{0}, 0, OF(PHX_CONFIG_PATH, SERVE, false)},
	{{"-c", "/tmp/x.conf"}, 0, OF("/tmp/x.conf", SERVE, false)},
	{{"--config=/tmp/x.conf", "--check"}, 0, OF("/tmp/x.conf", CHECK, false)},
	{{"--new-journal"}, 0, OF(PHX_CONFIG_PATH, NEW_JOURNAL, false)},
	{{"--accept-journal"}, 0, OF(PHX_CONFIG_PATH, ACCEPT_JOURNAL, false)},
	{{"--accept-clock", "--head"}, 0, OF(PHX_CONFIG_PATH, ACCEPT_CLOCK, true)},
	{{"--head"}, 0, OF(PHX_CONFIG_PATH, SERVE, true)},
	{{"--version"}, OPTIONS_SAID, OF(NULL, 0, false)},
	{{"--rights"}, OPTIONS_SAID, OF(NULL, 0, false)},
	{{"-h"}, OPTIONS_SAID, OF(NULL, 0, false)},
	{{"--help"}, OPTIONS_SAID, OF(NULL, 0, false)},
	{{"--chek"}, EXIT_USAGE_, OF(NULL, 0, false)},
	{{"--config"}, EXIT_USAGE_, OF(NULL, 0, false)},
	{{"--accept"}, EXIT_USAGE_, OF(NULL, 0, false)}, /* of two that begin so */
	{{"--check=yes"}, EXIT_USAGE_, OF(NULL, 0, false)},
};

static void each_option_says_what_it_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		char *argv[6] = {"phxd"};
		int argc = 1;
		struct options o;
		for (; argc <= 4 && rows[i].words[argc - 1]; argc++)
			argv[argc] = (char *)rows[i].words[argc - 1];
		optind = 0; /* getopt begins anew */
		assert_int_equal(options_read(argc, argv, &o), rows[i].wanted);
		if (rows[i].wanted)
			continue;
		assert_string_equal(o.config, rows[i].options.config);
		assert_int_equal(o.task, rows[i].options.task);
		assert_int_equal(o.head, rows[i].options.head);
	}
	assert_int_equal(printed, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_option_says_what_it_says),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
