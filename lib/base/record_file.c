/* Records as files of JSON: see record_file.h. Called by the agent for what it must remember over a
 * restart, and by phx lab. */
#include "base/record_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"

int phx_record_file_read(const char *path, size_t max, const struct phx_record *rec, void *ret,
			 struct phx_err *err)
{
	PHX_AUTO_FREE char *text = NULL;
	PHX_AUTO_JSON json_t *j = NULL;
	size_t n;
	int r = path ? phx_file_read(path, max, &text, &n, err) : -ENOMEM;
	if (r < 0)
		return r;
	r = phx_json_parse(text, n, &j, err);
	r = r ? r : phx_json_to_record(rec, j, ret, err);
	return r < 0 ? phx_err_prefix(err, r, "%s", path) : 0;
}

int phx_record_file_recover(const char *path, size_t max, const struct phx_record *rec, void *ret,
			    struct phx_err *err)
{
	int r = phx_record_file_read(path, max, rec, ret, err);
	if (r != -ENOENT && r != -EINVAL && r != -EFBIG)
		return r;
	memset(ret, 0, rec->size);
	if (r == -ENOENT) {
		phx_err_clear(err);
		return 0;
	}
	PHX_AUTO_FREE char *aside = phx_path("%s.damaged", path);
	return aside && rename(path, aside) == 0 ? 1 : r;
}

int phx_record_file_write(const char *path, const struct phx_record *rec, const void *obj,
			  mode_t mode, struct phx_err *err)
{
	PHX_AUTO_FREE char *text = path ? phx_json_record_text(rec, obj) : NULL;
	if (!text)
		return phx_err_set(err, -ENOMEM, "out of memory");
	return phx_file_write(path, text, strlen(text), mode, err);
}
