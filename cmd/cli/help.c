/* Help, and the sections of phx(1) that are made from the command table. Called by run.c and by
 * phx for the manual. Prints only. */
#include <ctype.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/help.h"

static const char *const connection_options[] = {"config", "socket", "server", "cert", "key", "ca"};

static bool is_connection(const struct cli_option *o)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(connection_options); i++)
		if (phx_str_eq(connection_options[i], o->name))
			return true;
	return false;
}

/* Does the command list the option as its own? */
static bool own_option(const struct cli_command *c, enum cli_option_id id)
{
	return id != CLI_OPT_help && !is_connection(cli_option_info(id)) &&
		cli_command_takes(c, id);
}

/* "phx node assign NODES ROLE [options]". */
static void usage_line(FILE *out, const struct cli_command *c)
{
	bool options = false;
	for (int id = 0; id < CLI_OPT_COUNT_; id++)
		options |= own_option(c, (enum cli_option_id)id);
	const char *words = strstr(c->grammar, "--");
	/* a foreign command line ends ours: options stand before it */
	fprintf(out, "phx %s%s%s%s%s", c->path, words && options ? " [options]" : "",
		*c->grammar ? " " : "", c->grammar, !words && options ? " [options]" : "");
}

static void print_option(FILE *out, const struct cli_option *o)
{
	char left[64];
	char letter[5] = "    ";
	if (o->letter)
		snprintf(letter, sizeof(letter), "-%c, ", o->letter);
	snprintf(left, sizeof(left), "%s--%s%s%s", letter, o->name, o->arg ? " " : "",
		 o->arg ? o->arg : "");
	fprintf(out, "  %-28s %s\n", left, o->text);
}

static void help_command(FILE *out, const struct cli_command *c)
{
	fputs("usage: ", out);
	usage_line(out, c);
	fprintf(out, "\n\n%s%s%s\n", c->summary, *c->manual ? " " : "", c->manual);
	bool any = false;
	for (int id = 0; id < CLI_OPT_COUNT_; id++) {
		if (!own_option(c, (enum cli_option_id)id))
			continue;
		fputs(any ? "" : "\n", out);
		any = true;
		print_option(out, cli_option_info((enum cli_option_id)id));
	}
}

static bool path_begins(const char *path, const char *const *words, unsigned n)
{
	const char *p = path;
	for (unsigned i = 0; i < n; i++) {
		size_t len = strlen(words[i]);
		if (strncmp(p, words[i], len) || (p[len] && p[len] != ' '))
			return false;
		p += len + (p[len] == ' ');
	}
	return true;
}

static void help_all(FILE *out, const char *const *words, unsigned n_words)
{
	const struct cli_command *all;
	size_t n = cli_commands(&all);
	if (!n_words)
		fputs("usage: phx [options] COMMAND ...\n\n", out);
	for (size_t i = 0; i < n; i++) {
		char left[96];
		if (!path_begins(all[i].path, words, n_words))
			continue;
		snprintf(left, sizeof(left), "%s %s", all[i].path, all[i].grammar);
		fprintf(out, "  %-34s %s\n", left, all[i].summary);
	}
	if (n_words)
		return;
	fputs("\nOptions of every command:\n", out);
	for (int id = 0; id < CLI_OPT_COUNT_; id++)
		if (id == CLI_OPT_help || id == CLI_OPT_version ||
		    is_connection(cli_option_info((enum cli_option_id)id)))
			print_option(out, cli_option_info((enum cli_option_id)id));
	fputs("\nNODES is a node list: node[001-016], a,b, @all, @up, @missing, @role:ROLE, "
	      "@pool:POOL, @state:STATE; "
	      "',' joins, '!' takes away, '&' intersects.\nphx help COMMAND says more; phx(1) says "
	      "all.\n",
	      out);
}

void cli_help(FILE *out, const char *const *words, unsigned n_words)
{
	const struct cli_command *all;
	size_t n = cli_commands(&all);
	char path[128] = "";
	for (unsigned i = 0; i < n_words; i++) {
		size_t at = strlen(path);
		snprintf(path + at, sizeof(path) - at, "%s%s", i ? " " : "", words[i]);
	}
	for (size_t i = 0; n_words && i < n; i++) {
		if (phx_str_eq(all[i].path, path)) {
			help_command(out, &all[i]);
			return;
		}
	}
	help_all(out, words, n_words);
}

int cmd_help(struct cli *cli)
{
	const struct cli_command *all;
	size_t n = cli_commands(&all);
	bool known = !cli->args.n_args;
	for (size_t i = 0; i < n; i++)
		known |= path_begins(all[i].path, cli->args.arg, cli->args.n_args);
	struct phx_err err = {0};
	if (!known)
		return cli_fail(cli_no_command((int)cli->args.n_args, cli->args.arg, &err), "%s",
				err.text);
	cli_help(stdout, cli->args.arg, cli->args.n_args);
	return CLI_OK;
}

/* ---- sections of the manual, in scdoc ---- */

/* scdoc takes '_' and '*' for underline and bold. */
void cli_scd(FILE *out, const char *text)
{
	for (const char *p = text; *p; p++) {
		if (strchr("_*\\<>#", *p))
			fputc('\\', out);
		fputc(*p, out);
	}
}

/* "*node assign* _NODES_ _ROLE_" */
static void put_grammar(FILE *out, const char *grammar)
{
	for (struct cli_word w; cli_grammar_next(&grammar, &w);) {
		bool literal = !isupper((unsigned char)w.type[0]);
		fprintf(out, " %s%s", w.optional ? "[" : "", literal ? "*" : "_");
		cli_scd(out, w.type);
		fprintf(out, "%s%s%s", literal ? "*" : "_", w.repeated ? "..." : "",
			w.optional ? "]" : "");
	}
}

static void put_option_names(FILE *out, const struct cli_option *o)
{
	if (o->letter)
		fprintf(out, "*-%c*, ", o->letter);
	fprintf(out, "*--%s*", o->name);
	if (o->arg) {
		fputs(" _", out);
		cli_scd(out, o->arg);
		fputs("_", out);
	}
}

static void manual_command(FILE *out, const struct cli_command *c)
{
	fprintf(out, "*phx %s*", c->path);
	put_grammar(out, c->grammar);
	fputs("\n\t", out);
	cli_scd(out, c->summary);
	fputs(*c->manual ? " " : "", out);
	cli_scd(out, c->manual);
	const char *separator = "\n\tOptions: ";
	for (int id = 0; id < CLI_OPT_COUNT_; id++) {
		if (!own_option(c, (enum cli_option_id)id))
			continue;
		fprintf(out, "%s*--%s*", separator, cli_option_info((enum cli_option_id)id)->name);
		separator = ", ";
	}
	fputs("\n\n", out);
}

void cli_manual(FILE *out)
{
	const struct cli_command *all;
	size_t n = cli_commands(&all);
	fputs("# COMMANDS\n\n", out);
	for (size_t i = 0; i < n; i++)
		manual_command(out, &all[i]);
	fputs("# OPTIONS\n\n", out);
	for (int id = 0; id < CLI_OPT_COUNT_; id++) {
		const struct cli_option *o = cli_option_info((enum cli_option_id)id);
		put_option_names(out, o);
		fputs("\n\t", out);
		cli_scd(out, o->text);
		fputs("\n\n", out);
	}
}
