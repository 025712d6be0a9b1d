/* What the programs share that compare the tree with a table that people have read. */
#ifndef PHX_TEST_GOLDEN_TABLE_H
#define PHX_TEST_GOLDEN_TABLE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

/* PHX_GOLDEN_WRITE=1: print the table as it would be now and compare nothing. By hand only:
 * tests/run says that it runs the program, and a run that compares nothing must not pass there. */
static inline bool golden_write(void)
{
	if (!getenv("PHX_GOLDEN_WRITE"))
		return false;
	if (getenv("PHX_TEST_RUN"))
		fail_msg("PHX_GOLDEN_WRITE is set: the table would be written, not compared");
	return true;
}

/* Did a line of a table, "WORDS -> WANT", come to that? What it came to is printed where it did
 * not, or is to be written. */
static inline bool golden_line(const char *words, const char *want, const char *got)
{
	bool same = !strcmp(got, want);
	if (golden_write())
		printf("%s -> %s\n", words, got);
	else if (!same)
		print_error("%s\n  want %s\n  got  %s\n", words, want, got);
	return golden_write() || same;
}

/* Each line of the table `path` holds, and there are more than 30. */
static inline void golden_lines(const char *path, void **state,
				bool (*holds)(void **state, const char *words, const char *want))
{
	PHX_AUTO_FREE char *text = NULL;
	unsigned lines = 0, wrong = 0;
	assert_int_equal(phx_file_read(path, 1 << 18, &text, NULL, NULL), 0);
	for (char *next = text, *line; (line = strsep(&next, "\n"));) {
		char *arrow = strstr(line, " -> ");
		if (line[0] == '#' || !arrow) {
			if (golden_write() && next)
				puts(line);
			continue;
		}
		*arrow = '\0';
		lines++;
		wrong += !holds(state, line, arrow + 4);
	}
	assert_true(lines > 30);
	assert_int_equal(wrong, 0);
}

#endif
