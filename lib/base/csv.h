/* Lines of CSV, read in place: files that people write, or a spreadsheet. What the columns are is
 * for the caller. Pure. */
#ifndef PHX_BASE_CSV_H
#define PHX_BASE_CSV_H

#include "base/util.h"

struct phx_csv {
	char *rest;    /* of the text, borrowed; NULL: nothing is left */
	uint32_t line; /* number of the line that was read last */
};

/** The next line that is not empty and does not begin with #; NULL: there is none. A byte order
 * mark ahead of the first is left out. */
char *phx_csv_next(struct phx_csv *c);

/** Cuts a line into its cells: without the blanks around them, or, between quotes, as they are,
 * commas too, and a quote written twice. Returns how many, at most `max`; -EINVAL with a text that
 * follows FILE:LINE: there are more, a quote does not end its cell, or it is no text in UTF-8. */
int phx_csv_cut(char *line, char **ret_cells, int max, struct phx_err *err);

#endif
