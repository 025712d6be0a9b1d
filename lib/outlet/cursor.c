/* How far an outlet has come, in a file: see outlet.h. Called by phxd's outlets. */
#include "outlet/outlet.h"

#include <errno.h>
#include <stdio.h>

#include "base/file.h"
#include "base/json.h"

enum { CURSOR_MAX = 512 };

int phx_cursor_read(const char *path, struct phx_cursor *ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *text = NULL;
	PHX_AUTO_JSON json_t *j = NULL;
	struct phx_cursor c = {0};
	size_t n;
	int r = phx_file_read(path, CURSOR_MAX, &text, &n, err);
	if (r < 0)
		return r;
	r = phx_json_parse(text, n, &j, NULL);
	int64_t seq = phx_json_int(j, "seq", -1);
	if (r < 0 || seq < 0 || PHX_STR_SET(c.journal, phx_json_str(j, "journal", "")) < 0 ||
	    !c.journal[0])
		return phx_err_set(err, -EBADMSG,
				   "%s: must be {\"journal\": ID, \"seq\": NUMBER of an event}",
				   path);
	c.seq = (uint64_t)seq;
	*ret = c;
	return 0;
}

int phx_cursor_write(const char *path, const struct phx_cursor *c, struct phx_err *err)
{
	char text[CURSOR_MAX];
	int n = snprintf(text, sizeof(text), "{\"journal\": \"%s\", \"seq\": %llu}\n", c->journal,
			 (unsigned long long)c->seq);
	return phx_file_write(path, text, (size_t)n, 0600, err);
}
