/* phx re put, get, rm, ls: the data directory of a runtime environment on the head,
 * for its service provider, from wherever he is. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/util.h"
#include "phx/cli.h"

char *cli_re_data_url(const char *re, const char *path)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	PHX_AUTO_FREE char *name = cli_url_escape(re);
	PHX_AUTO_FREE char *copy = strdup(path);
	char *rest = NULL;
	if (!name || !copy)
		return NULL;
	phx_buf_addf(&b, "/v1/res/%s/data", name);
	for (char *part = strtok_r(copy, "/", &rest); part; part = strtok_r(NULL, "/", &rest)) {
		PHX_AUTO_FREE char *escaped = cli_url_escape(part);
		phx_buf_addf(&b, "/%s", escaped ? escaped : "");
	}
	return phx_buf_take(&b);
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* The address of a path; NULL after saying what is wrong with it. */
static char *checked_url(struct cli *cli, const char *path)
{
	struct phx_err err = {0};
	if (phx_beneath_check(path, &err) < 0) {
		cli_fail(CLI_USAGE, "%s", err.text);
		return NULL;
	}
	char *url = cli_re_data_url(cli_arg(cli, 0), path);
	if (!url)
		cli_fail(CLI_PARTIAL, "out of memory");
	return url;
}

int cmd_re_put(struct cli *cli)
{
	const char *file = cli_arg(cli, 1), *path = cli_arg(cli, 2);
	PHX_AUTO_FREE char *url = checked_url(cli, path ? path : last_part(file));
	return url ? cli_upload(cli, url, file, NULL) : CLI_USAGE;
}

int cmd_re_get(struct cli *cli)
{
	const char *path = cli_arg(cli, 1), *file = cli_arg(cli, 2);
	PHX_AUTO_FREE char *url = checked_url(cli, path);
	return url ? cli_download(cli, url, file ? file : last_part(path)) : CLI_USAGE;
}

int cmd_re_rm(struct cli *cli)
{
	PHX_AUTO_JSON json_t *answer = NULL;
	PHX_AUTO_FREE char *url = checked_url(cli, cli_arg(cli, 1));
	return url ? cli_call(cli, "DELETE", url, NULL, &answer) : CLI_USAGE;
}

static const struct cli_column file_columns[] = {
	{.head = "PATH", .path = "path"},
	{.head = "SIZE", .path = "size_bytes", .put = cli_put_size},
	{.head = "CHANGED", .path = "modified_ms", .put = cli_put_when},
};

int cmd_re_ls(struct cli *cli)
{
	PHX_AUTO_JSON json_t *answer = NULL;
	PHX_AUTO_FREE char *url = cli_re_data_url(cli_arg(cli, 0), "");
	int code = url ? cli_get(cli, url, &answer) : cli_fail(CLI_PARTIAL, "out of memory");
	return code ? code
		    : cli_print_rows(cli, file_columns, PHX_ARRAY_SIZE(file_columns),
				     json_object_get(answer, "files"), answer);
}
