/* What the programs share that compare the tree with a table that people have read. */
#ifndef PHX_TEST_GOLDEN_TABLE_H
#define PHX_TEST_GOLDEN_TABLE_H

#include <stdlib.h>

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

#endif
