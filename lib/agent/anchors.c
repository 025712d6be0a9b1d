/* See anchors.h. */
#include "agent/anchors.h"

#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "pki/anchor.h"

static char *path_in(const char *state_dir)
{
	return phx_path("%s/anchors", state_dir);
}

int anchors_keep(const char *state_dir, const char *line, uint64_t *ret_seq, struct phx_err *err)
{
	struct phx_anchor anchor;
	PHX_AUTO_FREE char *path = path_in(state_dir);
	int r = path ? phx_anchor_parse(line, &anchor, err) : -ENOMEM;
	r = r ? r : phx_anchor_append(path, line, ANCHORS_KEPT, err);
	if (r == 0)
		*ret_seq = anchor.seq;
	return r;
}

/* A missing file counts as empty. */
static int read_last(const char *state_dir, uint32_t max, struct phx_list *ret, struct phx_err *err)
{
	uint32_t n_bad;
	PHX_AUTO_FREE char *path = path_in(state_dir);
	int r = path ? phx_anchor_read(path, max, ret, &n_bad, err) : -ENOMEM;
	return r == -ENOENT ? 0 : r;
}

uint64_t anchors_last(const char *state_dir)
{
	PHX_AUTO(phx_list_fini) struct phx_list lines = {0};
	if (read_last(state_dir, 1, &lines, NULL) < 0 || !lines.n)
		return 0;
	return PHX_LIST_AT(&lines, struct phx_anchor, 0)->seq;
}

int anchors_text(const char *state_dir, char **ret, struct phx_err *err)
{
	PHX_AUTO(phx_list_fini) struct phx_list lines = {0};
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	char line[PHX_ANCHOR_LINE_MAX];
	int r = read_last(state_dir, ANCHORS_KEPT, &lines, err);
	if (r < 0)
		return r;
	PHX_LIST_EACH(struct phx_anchor, anchor, &lines) {
		phx_anchor_format(anchor, line);
		phx_buf_addf(&b, "%s\n", line);
	}
	*ret = lines.n ? phx_buf_take(&b) : strdup("");
	return *ret ? 0 : -ENOMEM;
}
