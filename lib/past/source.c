/* Which part of a journal is needed: from the newest snapshot that is old enough, or else from the
 * first event. Called before the events are read. */
#include <errno.h>

#include "past/past.h"

int phx_past_source(struct phx_store_reader *r, const struct phx_past_wish *w,
		    struct phx_past_source *ret, struct phx_err *err)
{
	uint64_t first = 0, from = 0, behind = 0, seq = 0;
	PHX_AUTO_FREE char *snapshot = NULL;
	int code = phx_store_search_time(r, INT64_MIN, &first, err);
	code = code ? code : phx_store_search_time(r, w->from_ms, &from, err);
	code = code ? code : phx_store_search_time(r, w->until_ms + 1, &behind, err);
	code = code ? code : phx_store_reader_snapshot(r, from, &seq, &snapshot, err);
	if (code == 0 && first > seq + 1)
		code = phx_err_set(err, -ENODATA,
				   "the journal begins with event %llu, and no snapshot is from "
				   "before that time: ask for a later one (journal_keep_days)",
				   (unsigned long long)first);
	if (code == 0 && behind <= first)
		code = phx_err_set(err, -ENOENT, "the journal begins after that time");
	if (code == 0)
		*ret = (struct phx_past_source){PHX_TAKE(snapshot), seq, behind - 1};
	return code;
}
