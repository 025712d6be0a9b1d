/* The command table: commands.def and options.def as arrays, and the words of
 * a grammar. Read by the parser, help, completion and tests; decides nothing. */
#include <string.h>

#include "cli/cli.h"
#include "console/drivers.h"
#include "power/drivers.h"

static const struct cli_option options[] = {
#define OPTION(id, name, letter, arg, text) {name, letter, arg, text},
#include "cli/options.def"
#undef OPTION
};

const struct cli_option *cli_option_info(enum cli_option_id id)
{
	return &options[id];
}

#define CLI_DRIVER_KEYS(name, keys) "; " #name ": " keys
static const struct cli_command commands[] = {
#define COMMAND(id, path, grammar, opts, summary, manual) \
	{CLI_COMMAND_##id, path, grammar, opts, summary, manual},
#include "cli/commands.def"
#undef COMMAND
};

size_t cli_commands(const struct cli_command **ret_commands)
{
	*ret_commands = commands;
	return PHX_ARRAY_SIZE(commands);
}

static bool list_has(const char *list, const char *name)
{
	size_t n = strlen(name);
	for (const char *p = list; (p = strstr(p, name)); p += n)
		if ((p == list || p[-1] == ' ') && (p[n] == ' ' || !p[n]))
			return true;
	return false;
}

bool cli_command_takes(const struct cli_command *c, enum cli_option_id id)
{
	return id == CLI_OPT_help ||
		list_has("config socket server cert key ca", options[id].name) ||
		list_has(c->options, options[id].name);
}

bool cli_grammar_next(const char **at, struct cli_word *ret)
{
	const char *p = *at + strspn(*at, " ");
	size_t n = strcspn(p, " ");
	*at = p + n;
	if (!n)
		return false;
	*ret = (struct cli_word){0};
	if (*p == '[') {
		ret->optional = true;
		p++;
		n -= 2;
	}
	if (n > 3 && !memcmp(p + n - 3, "...", 3)) {
		ret->repeated = true;
		n -= 3;
	}
	memcpy(ret->type, p, n < sizeof(ret->type) ? n : sizeof(ret->type) - 1);
	return true;
}

static const char *const format_names[] = {"table", "wide", "json", "yaml",
					   "name",  "tsv",  "csv",  "markdown"};
const struct phx_enum cli_format_names = {"output format", format_names,
					  PHX_ARRAY_SIZE(format_names)};
