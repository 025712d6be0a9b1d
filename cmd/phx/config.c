/* The configuration of this head, read when a command first wants it. Called by what needs a key
 * of it; keeps it for the run. */
#include <unistd.h>

#include "phx/cli.h"

static int load_config(struct cli *cli, struct phx_err *err)
{
	const char *asked = cli_opt(cli, CLI_OPT_config, getenv("PHX_CONFIG"));
	if (asked)
		return phx_config_load(asked, &cli->config, err);
	if (access(PHX_CONFIG_PATH, F_OK) == 0)
		return phx_config_load(PHX_CONFIG_PATH, &cli->config, err);
	return phx_config_defaults("/etc/phoenix", &cli->config, err);
}

const struct phx_config *cli_config(struct cli *cli)
{
	struct phx_err err = {0};
	if (!cli->has_config) {
		int r = load_config(cli, &err);
		if (r < 0) {
			cli_fail(CLI_CONFIG, "%s", err.text);
			return NULL;
		}
		cli->has_config = true;
	}
	return &cli->config;
}
