/* One run of a program behind the words of phx: parses the arguments by the
 * command table, runs one command. Called by the main() of each; keeps no state
 * between runs. */
#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

enum { WATCH_MS = 2000 };

static void init_terminal(struct cli *cli)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	bool dumb = term && phx_str_eq(term, "dumb");
	cli->color = isatty(STDOUT_FILENO) && !(no_color && *no_color) && !dumb;
	cli->progress = isatty(STDERR_FILENO) && !dumb;
	cli->ask = isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

static int run_command(const struct cli_program *program, struct cli *cli)
{
	const struct cli_command *c = cli->args.command;
	cli_run_fn command = program->run[c->id];
	if (!command)
		return cli_fail(CLI_USAGE, "%s is done by phx alone", c->path);
	if (!cli_has(cli, CLI_OPT_watch))
		return command(cli);
	for (;;) {
		if (isatty(STDOUT_FILENO))
			fputs("\033[H\033[2J", stdout);
		int r = command(cli);
		if (fflush(stdout) != 0 || (r != CLI_OK && r != CLI_UNAVAILABLE))
			return r;
		if (poll(&(struct pollfd){.fd = STDOUT_FILENO}, 1, WATCH_MS) > 0)
			return CLI_OK; /* whoever read it is gone */
	}
}

/* What is no list has no rows: a script that asks for them is told so, and not given prose. */
static int check_format(const struct cli *cli)
{
	const struct cli_command *c = cli->args.command;
	bool rows = cli->format == CLI_NAME || cli->format >= CLI_TSV;
	if (!rows || cli_command_takes(c, CLI_OPT_no_header))
		return CLI_OK;
	return cli_fail(CLI_USAGE,
			"%s: --output: %s is for lists; there are: table, wide, json, yaml",
			c->path, phx_enum_name(&cli_format_names, (int)cli->format));
}

static int run(const struct cli_program *program, struct cli *cli)
{
	if (cli_has(cli, CLI_OPT_version)) {
		puts("phx " PHX_VERSION);
		return CLI_OK;
	}
	if (cli_has(cli, CLI_OPT_help)) {
		const struct cli_command *c = cli->args.command;
		cli_help(stdout, c ? &c->path : cli->args.arg, c ? 1 : cli->args.n_args);
		return CLI_OK;
	}
	if (!cli->args.command) {
		cli_help(stderr, NULL, 0);
		return CLI_USAGE;
	}
	int format = CLI_TABLE;
	phx_enum_parse(&cli_format_names, cli_opt(cli, CLI_OPT_output, "table"), &format, NULL);
	cli->format = (enum cli_format)format;
	int code = check_format(cli);
	return code ? code : run_command(program, cli);
}

int cli_main(const struct cli_program *program, int argc, char **argv)
{
	setlocale(LC_ALL, "");
	struct phx_err err = {0};
	/* parsing moves the words */
	PHX_AUTO_FREE char **given = calloc((size_t)argc + 1, sizeof(*given));
	if (!given)
		return cli_fail(CLI_PARTIAL, "out of memory");
	memcpy(given, argv, (size_t)argc * sizeof(*given));
	struct cli cli = {.argv = given};
	init_terminal(&cli);
	int code = cli_args_parse(argc, argv, &cli.args, &err);
	code = code ? cli_fail(code, "%s", err.text) : run(program, &cli);
	if (program->fini)
		program->fini(&cli);
	/* what did not fit the buffer was refused earlier */
	if ((fflush(stdout) != 0 || ferror(stdout)) && code == CLI_OK)
		code = cli_fail(CLI_PARTIAL, "standard output: %s",
				errno ? strerror(errno) : "cannot be written");
	return code;
}
