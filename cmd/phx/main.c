/* phx: the command line of Phoenix. Everything that is shared with the other
 * programs behind its words is cmd/cli's; here is what phx has of its own: the
 * handlers of its commands, the configuration, the end of the connection. */
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

static void fini(struct cli *cli)
{
	cli_client_close(cli);
	json_decref(cli->head);
	if (cli->has_config)
		phx_config_fini(&cli->config);
}

int main(int argc, char **argv)
{
	static const struct cli_program phx = {
		.run =
			{
#define COMMAND(id, ...) [CLI_COMMAND_##id] = cmd_##id,
#define SIM(id, ...) [CLI_COMMAND_##id] = cli_become_sim,
#include "cli/commands.def"
#undef COMMAND
			},
		.fini = fini,
	};
	return cli_main(&phx, argc, argv);
}
