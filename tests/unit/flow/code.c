/* Which words of a command are code of an interpreter (lib/flow/code.c). In a row words are divided
 * by `|`; # begins those that are code, ? those that would be an option if they began as one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "flow/code.h"

static void look_at(const char *row)
{
	static const char *const kinds[] = {"no code", "an option", "code"};
	struct phx_code_look look = {0};
	char copy[300], *save = NULL;
	assert_int_equal(PHX_STR_SET(copy, row), 0);
	for (char *word = strtok_r(copy, "|", &save); word; word = strtok_r(NULL, "|", &save)) {
		const char *what = NULL;
		enum phx_code_word want = *word == '#' ? PHX_CODE_IS
			: *word == '?'                 ? PHX_CODE_OPTION
						       : PHX_CODE_NONE;
		enum phx_code_word is = phx_code_next(&look, word + (want != PHX_CODE_NONE), &what);
		if (is != want)
			fail_msg("%s: \"%s\" is %s", row, word, kinds[is]);
		assert_int_equal(what != NULL && *what, is != PHX_CODE_NONE);
	}
}

static void look_at_all(const char *const *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		look_at(rows[i]);
}
#define LOOK_AT(...) \
	do { \
		static const char *const rows_[] = {__VA_ARGS__}; \
		(void)state; \
		look_at_all(rows_, PHX_ARRAY_SIZE(rows_)); \
	} while (0)

static void a_shell_runs_its_first_operand_behind_c(void **state)
{
	LOOK_AT("sh|-c|#X|y|z", "/bin/bash|-lc|#X|-c|y", "bash|-c|-e|#X|y", "bash|-ec|-o|a|#X",
		"bash|-oc|pipefail|#X|y", "bash|+x|-c|#X", "sh|-c|--|#X|y", "sh|-c|-|#X|y",
		"dash|--|x|-c|y", "bash|-x|?a|-c|y", "bash|?a|--check|y", "bash|?a|-c|y",
		"bash|--rcfile|?a|-c|#X|y", "bash-5.2|-c|#X", "zsh|-o|a|-ic|#X", "tcsh|-fc|#X|y",
		"bash|#-{x}", "sh|-s|?x|y", "timeout|9|ksh|-c|#X", "fish|-c|#X|?y",
		"fish|-C|#X|?y|z");
}

static void options_have_code_as_each_interpreter_reads_them(void **state)
{
	LOOK_AT("perl|-e|#X|?y|-e|z", "perl|-ne|#X|-e|#Y|?z", "perl|#-eX|?y", "perl|#-neX",
		"perl|-i.e|?y", "perl|-F:e|?y", "perl|-0pe|#X|?y", "perl|-pie|?a|-e|y",
		"perl|-0777|-pe|#X|?y", "perl|-I|a|-e|#X", "perl|-Ie|?y", "perl|#-MX|?y",
		"perl|-l|-E|#X", "perl5.36|-e|#X", "perl|--|x|-e|y", "perl|?a.pl|-e|y",
		"perl|#-n{x}", "python3|-c|#X|-c|y", "python3.11|-uc|#X|y", "python|#-cX|y",
		"python|-W|a|-c|#X", "python|-Wc|?y", "python|-m|a|-c|y", "python|-ma|-c|y",
		"pypy3|-c|#X", "python|?a.py|-c|y", "ruby|-e|#X|-e|#Y|?z", "ruby|-ruri|-e|#X",
		"ruby|-r|e|-ne|#X", "ruby|#-eX", "ruby|-W2|?a|-e|y", "node|-e|#X|?y|-e|z",
		"node|-pe|#X|?y", "node|-p|#X", "node|--eval|#X|?y", "node|#--eval=X|?y",
		"nodejs|--print|#X", "node|-r|a|-e|#X", "node|--import|?a|-e|#X", "node|?a.js|-e|y",
		"php|-r|#X|?y", "php|-d|a=1|-r|#X", "php|-c|a|?b", "php|#--run=X", "php|#-rX",
		"lua5.4|-e|#X|?y", "lua|-l|e|-e|#X", "luajit|-jv|-e|#X", "Rscript|-e|#X|?y|-e|z",
		"R|-q|-e|#X|?y|-e|#X", "julia|-E|#X|?y", "julia|-L|e|-e|#X", "julia|--eval|#X",
		"env|-S|#X|?y", "env|#-SX", "env|-iS|#X", "env|#--split-string=X", "env|-u|S|?y",
		"env|-i|?A=1|y|-S|z", "su|?alice|-c|#X", "su|-c|#X|?y",
		"runuser|-u|?a|--command|#X", "su|#--command=X|?y", "flock|?a|-c|#X",
		"script|-qc|#X|?y");
}

/* The first operand, unless the code is elsewhere. */
static void awk_and_sed_have_their_code_first(void **state)
{
	LOOK_AT("awk|#X|y|-e|z", "/usr/bin/gawk|-F|:|#X|y", "mawk|-F:|-v|a=1|#X|y", "awk|-f|a|?y|z",
		"awk|-fa|?y|-e|z", "gawk|-e|#X|?y", "gawk|#--source=X", "gawk|--file|a|?y",
		"gawk|--file=a|?y", "awk|--|#X|y", "sed|#X|?y|?z", "sed|-n|#X|?y",
		"sed|-ne|#X|?y|-e|#Z", "sed|-i|#X|?y", "sed|-ie|#X", "sed|-f|a|?y|-e|#X",
		"sed|-E|--expression|#X|?y", "sed|#--expression=X|?y", "gawk|--lint|#a|#X|y");
}

static void other_programs_have_none(void **state)
{
	LOOK_AT("cat|x", "gzip|-c|x", "/bin/bzip2|-c|x", "timeout|9|zstd|-c|x", "sha256sum|-c|x",
		"lz4|-c|x", "wc|-c|x", "grep|-e|x|-c|y", "tar|-xzcf|x", "mProject|-e|x", "a|-ec|x");
	/* of which one knows nothing, but for what is usual */
	LOOK_AT("psql|-c|#X|y", "foo|a|-c|#X|y", "foo|--|-c|#X", "foo|--command|#X",
		"foo|#--command=X|y", "foo|gzip|-c|x");
}

/* Whatever was there before: what it does with its words is not known. */
static void an_interpreter_may_be_started_by_another(void **state)
{
	LOOK_AT("env|?A=1|bash|-c|#X|y", "env|--unset=A|perl|-e|#X", "env|--null|perl|-e|#X",
		"xargs|-n1|sh|-c|#X|sh|y", "sh|-c|#X|perl|-e|#Y", "sh|-c|#X|y|su|?a|-c|#Z",
		"sh|-c|#X|sh|bash|-c|#Y", "perl|-e|#X|?y|bash|-c|#Z", "cat|perl|-e|#X",
		"sh|?a|awk|#X",
		/* what it calls itself is its name, and words behind it are no options of it */
		"sh|-c|#X|sh|y", "bash|-lc|#X|bash|y|-c|z", "bash|-c|#X|bash|-c|#Y",
		"perl|-e|#X|bash|-c|#Z", "flock|?a|perl|-e|#X", "env|--null|su|-c|#X",
		/* a text is no name, nor is a script */
		"bash|?script|-c|x", "python|?perl|-e|x", "perl|-w|?bash|-c|x", "sh|-c|#perl|-e|y",
		"awk|#sh|-c|x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_shell_runs_its_first_operand_behind_c),
		cmocka_unit_test(options_have_code_as_each_interpreter_reads_them),
		cmocka_unit_test(awk_and_sed_have_their_code_first),
		cmocka_unit_test(other_programs_have_none),
		cmocka_unit_test(an_interpreter_may_be_started_by_another),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
