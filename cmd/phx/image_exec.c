/* phx image exec: a program in a copy of an image makes a new version of it. As phx image import
 * it works on the store itself, on the head. */
#include <errno.h>
#include <unistd.h>

#include "deploy/store.h"
#include "phx/cli.h"
#include "phx/image.h"

enum { WORDS_MAX = CLI_WORDS_MAX + 1 };

static const char *const shell[] = {"/bin/sh", "-l", NULL};

/* The words behind the image, with or without "--" before them; a shell where there are none. NULL:
 * there is no terminal for one. */
static const char *const *command_of(struct cli *cli, const char *words[WORDS_MAX])
{
	unsigned n = 0;
	for (unsigned i = 1; i < cli->args.n_args; i++)
		words[n++] = cli_arg(cli, i);
	words[n] = NULL;
	if (n)
		return words;
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) ? shell : NULL;
}

static int tell_end(struct cli *cli, const struct phx_image_exec *ex, int r, int status,
		    const struct phx_err *err)
{
	(void)cli;
	if (r < 0)
		return cli_fail_err(r, err);
	if (r == PHX_EXEC_FAILED)
		return cli_fail(status, "%s ended with status %d: no image is made", ex->argv[0],
				status);
	fprintf(stderr, "phx: nothing changed in %s: no image is made\n", ex->name);
	return CLI_OK;
}

int cmd_image_exec(struct cli *cli)
{
	const char *words[WORDS_MAX], *dir = cli_image_store(cli);
	PHX_AUTO_FREE char *tools = dir ? cli_image_tools() : NULL;
	const struct phx_image_exec ex = {
		.name = cli_arg(cli, 0),
		.version = cli_opt(cli, CLI_OPT_image_version, NULL),
		.new_version = cli_opt(cli, CLI_OPT_new_version, NULL),
		.no_network = cli_has(cli, CLI_OPT_no_network),
		.argv = command_of(cli, words),
		.kernel = cli_opt(cli, CLI_OPT_kernel, NULL),
		.tools = tools,
	};
	struct phx_err err = {0};
	struct phx_image im;
	int status = 0;
	if (!dir)
		return cli->head_code;
	if (!tools)
		return CLI_CONFIG;
	if (!ex.argv)
		return cli_fail(CLI_USAGE,
				"image exec: a command is missing; without one it needs "
				"a terminal, for a shell");
	int r = phx_images_exec(dir, &ex, &im, &status, &err);
	if (r != 0)
		return tell_end(cli, &ex, r, status, &err);
	int code = cli_image_made(cli, dir, &im);
	phx_record_fini(&phx_image_record, &im);
	return code;
}
