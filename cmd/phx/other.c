/* Commands that are programs of their own, which phx only finds and becomes:
 * phx sim is given the whole command line, phx lab has a grammar of its own.
 * Prints nothing but that one is missing. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/spawn.h"
#include "phx/cli.h"

/* Become `program`, which stands beside phx, or in an installation in libexec. */
static int become(const char *program, char *const *argv)
{
	PHX_AUTO_FREE char *away = phx_path("../libexec/phoenix/%s", program);
	PHX_AUTO_FREE char *beside = phx_run_beside(program),
			   *installed = away ? phx_run_beside(away) : NULL;
	if (!beside || !installed)
		return cli_fail(CLI_PARTIAL, "%s: %s", program, strerror(errno));
	execv(beside, argv);
	if (errno == ENOENT)
		execv(installed, argv);
	if (errno == ENOENT)
		return cli_fail(CLI_PARTIAL, "%s is not installed: neither %s nor %s is there",
				program, beside, installed);
	return cli_fail(CLI_PARTIAL, "%s: %s", program, strerror(errno));
}

int cli_become_sim(struct cli *cli)
{
	return become("phx-sim", cli->argv);
}

int cmd_lab(struct cli *cli)
{
	char *argv[CLI_WORDS_MAX + 2] = {(char *)"phx-lab"};
	if (cli->args.n_args > CLI_WORDS_MAX)
		return cli_fail(CLI_USAGE, "lab: there are too many words");
	for (unsigned i = 0; i < cli->args.n_args; i++)
		argv[i + 1] = (char *)cli->args.arg[i];
	return become(argv[0], argv);
}
