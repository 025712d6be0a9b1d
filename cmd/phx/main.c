/* phx: the command line of Phoenix. Everything that is shared with the other
 * programs behind its words is cmd/cli's; here is what phx has of its own: the
 * handlers of its commands, and what ends with a run. */
#include "phx/cli.h"

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
