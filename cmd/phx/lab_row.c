/* phx lab: hands its words to the emulated cluster (lab.c), which has a grammar
 * of its own. */
#include "phx/cli.h"
#include "phx/lab_command.h"

int cmd_lab(struct cli *cli)
{
	/* argv[0] of a command is its name */
	char *argv[CLI_WORDS_MAX + 2] = {(char *)"lab"};
	if (cli->args.n_args > CLI_WORDS_MAX)
		return cli_fail(CLI_USAGE, "lab: too many words");
	for (unsigned i = 0; i < cli->args.n_args; i++)
		argv[i + 1] = (char *)cli->args.arg[i];
	return phx_cmd_lab((int)cli->args.n_args + 1, argv);
}
