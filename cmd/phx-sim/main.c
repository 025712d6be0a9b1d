/* phx-sim: what `phx sim` runs, with the command line that phx was given. Needs
 * no phxd. */
#include "cli/cli.h"

int main(int argc, char **argv)
{
	static const struct cli_program sim = {
		.run =
			{
#define COMMAND(id, ...)
#define SIM(id, ...) [CLI_COMMAND_##id] = cmd_##id,
#include "cli/commands.def"
#undef COMMAND
			},
	};
	return cli_main(&sim, argc, argv);
}
