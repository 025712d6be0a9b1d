/* plan_handover against a list of plans that people have read: each line of plan.txt is a node, an
 * order and what must come of it. PHX_GOLDEN_WRITE=1 prints the list as it would be now, to be read
 * and put in its place. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "unit/node/plan_world.h"
#include "golden/table.h"

static char *read_all(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = calloc(1, 1 << 18);
	assert_non_null(f);
	assert_non_null(text);
	assert_true(fread(text, 1, (1 << 18) - 1, f) > 0);
	fclose(f);
	return text;
}

/* "in -> out" of one line; false for comments and empty lines. */
static bool split_line(char *line, char **ret_in, char **ret_out)
{
	char *arrow = strstr(line, " -> ");
	if (line[0] == '#' || !arrow)
		return false;
	*arrow = '\0';
	*ret_in = line;
	*ret_out = arrow + 4;
	return true;
}

static void plans_are_as_read(void **state)
{
	PHX_AUTO_FREE char *text = read_all(TEST_DIR "/golden/plan.txt");
	bool write = golden_write();
	unsigned lines = 0, wrong = 0;
	(void)state;
	for (char *next = text, *line; (line = strsep(&next, "\n"));) {
		char *in, *want, got[1024], words[256];
		if (!split_line(line, &in, &want)) {
			if (write && next)
				puts(line);
			continue;
		}
		struct plan_world w = {0};
		snprintf(words, sizeof(words), "%s", in);
		plan_world_read(&w, words);
		plan_world_say(&w, got, sizeof(got));
		plan_world_fini(&w);
		lines++;
		if (write)
			printf("%s -> %s\n", in, got);
		else if (strcmp(want, got)) {
			print_error("%s\n  want %s\n  got  %s\n", in, want, got);
			wrong++;
		}
	}
	assert_true(lines > 100);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(plans_are_as_read)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
