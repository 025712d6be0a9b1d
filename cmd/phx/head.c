/* Where the head keeps what phx works on itself: its stores, its keys, its
 * roles. phxd is asked, so that every command looks where phxd looks; without
 * it the configuration of this machine counts, unless a socket or server was
 * named that does not answer. Asked once a run. */

#include "base/json.h"
#include "phx/cli.h"

enum { ASK_TIMEOUT_MS = 10000 };

static bool said(const struct cli *cli, enum cli_option_id id, const char *variable)
{
	return cli_has(cli, id) || getenv(variable);
}

/* This machine's configuration, as GET /v1/config shows one. */
static int local_config(struct cli *cli, json_t **ret)
{
	const struct phx_config *cfg = cli_config(cli);
	PHX_AUTO(phx_list_fini) struct phx_list lines = {0};
	if (!cfg)
		return CLI_CONFIG;
	if (phx_config_show(cfg, &lines) < 0)
		return cli_fail(CLI_PARTIAL, "out of memory");
	*ret = json_pack("{s:o}", "config", phx_json_from_list(&phx_config_line_record, &lines));
	return CLI_OK;
}

int cli_head(struct cli *cli)
{
	struct phx_err err = {0};
	if (cli->head)
		return CLI_OK;
	int code = cli_call_quiet(cli, "GET", "/v1/config", NULL, ASK_TIMEOUT_MS, &cli->head, &err);
	cli->head_answers = code == CLI_OK;
	if (code == CLI_OK)
		return CLI_OK;
	/* one was named: what lies elsewhere is not what is meant */
	bool named =
		said(cli, CLI_OPT_socket, "PHX_SOCKET") || said(cli, CLI_OPT_server, "PHX_SERVER");
	if (named && !said(cli, CLI_OPT_config, "PHX_CONFIG"))
		return err.text[0] ? cli_fail(code, "%s", err.text) : code;
	return local_config(cli, &cli->head);
}

const char *cli_head_value(struct cli *cli, const char *key)
{
	size_t i;
	json_t *row;
	cli->head_code = cli_head(cli);
	if (cli->head_code)
		return NULL;
	json_array_foreach(json_object_get(cli->head, "config"), i, row) {
		if (phx_str_eq(phx_json_str(row, "key", ""), key))
			return phx_json_str(row, "value", "");
	}
	cli->head_code = cli_fail(CLI_CONFIG, "phxd does not report its setting %s", key);
	return NULL;
}

const char *cli_head_dir(struct cli *cli, const char *key)
{
	const char *dir = cli_head_value(cli, key);
	if (!dir || !cli->remote)
		return dir;
	cli->head_code = cli_fail(CLI_USAGE, "%s is a directory of the head's (%s): run this there",
				  dir, key);
	return NULL;
}
