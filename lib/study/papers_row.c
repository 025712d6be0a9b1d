/* Rows of the papers' tables that are put together, and the notes that rows
 * share. Called by papers.c and by what adds rows. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "study/papers_internal.h"

#define NOTE(id, text) const char phx_paper_note_##id[] = text;
#include "study/papers_note.def"
#undef NOTE

struct paper_row *phx_papers_add_row(struct phx_papers *p, const char *fmt, ...)
{
	char config[160];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(config, sizeof(config), fmt, ap);
	va_end(ap);
	char *kept = strdup(config);
	struct paper_row *row = kept ? phx_list_push(&p->rows, sizeof(*row)) : NULL;
	if (!row) {
		free(kept);
		return NULL;
	}
	*row = (struct paper_row){.row = {.config = kept,
					  .published = "",
					  .note = "",
					  .tolerance_milli = -1,
					  .kind = PHX_PAPER_COMPUTED},
				  .config = kept};
	return row;
}
