/* Arguments: options by getopt_long() built from the table, the longest command that matches,
 * and each word checked by its type. Called once by run.c. Runs no command. */
#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "cli/cli.h"

enum { FIRST_ID = 256 }; /* getopt's value of an option: FIRST_ID + id */

/* ---- options ---- */

struct getopt_tables {
	struct option longs[CLI_OPT_COUNT_ + 1];
	char shorts[3 * CLI_OPT_COUNT_ + 3];
	int by_letter[128]; /* FIRST_ID + id */
};

/* Options of `c`; of all commands before one is known. */
static void make_tables(const struct cli_command *c, struct getopt_tables *t)
{
	*t = (struct getopt_tables){0};
	size_t n = 0, s = 0;
	/* a foreign command line that words of ours precede begins behind "--" alone */
	bool foreign =
		c && (phx_str_starts(c->grammar, "--") || phx_str_starts(c->grammar, "[--]"));
	t->shorts[s++] = !c || foreign ? '+' : '-';
	t->shorts[s++] = ':';
	for (int id = 0; id < CLI_OPT_COUNT_; id++) {
		const struct cli_option *o = cli_option_info(id);
		static const struct cli_command connection = {.options = "version"};
		if (!cli_command_takes(c ? c : &connection, id))
			continue;
		t->longs[n++] = (struct option){o->name, o->arg ? required_argument : no_argument,
						NULL, FIRST_ID + id};
		if (!o->letter)
			continue;
		t->by_letter[(unsigned char)o->letter] = FIRST_ID + id;
		t->shorts[s++] = o->letter;
		if (o->arg)
			t->shorts[s++] = ':';
	}
}

static int check_value(const char *type, const char *value, struct phx_err *err)
{
	const struct cli_type *t = cli_type_find(type);
	if (t && !*value)
		return phx_err_set(err, -EINVAL, "expected %s", t->what);
	return t && t->check ? t->check(value, err) : 0;
}

static int take_option(struct cli_args *args, int id, const char *value, struct phx_err *err)
{
	const struct cli_option *o = cli_option_info(id);
	struct cli_values *v = &args->opt[id];
	int r = o->arg ? check_value(o->arg, value, err) : 0;
	if (r < 0)
		return phx_err_prefix(err, CLI_USAGE, "--%s", o->name);
	if (v->n == CLI_REPEAT_MAX)
		return phx_err_set(err, CLI_USAGE, "--%s: given more than %d times", o->name,
				   CLI_REPEAT_MAX);
	v->v[v->n++] = value;
	return 0;
}

/* One that is not there, or the beginning of several. */
static int no_option(const struct option *longs, const char *word, const char *where,
		     struct phx_err *err)
{
	PHX_AUTO_FREE char *bare = strndup(word, strcspn(word, "="));
	PHX_AUTO_JSON json_t *names = json_array();
	unsigned begins = 0;
	for (const struct option *o = longs; bare && o->name; o++) {
		PHX_AUTO_FREE char *name = phx_path("--%s", o->name);
		begins += name && phx_str_starts(name, bare);
		json_array_append_new(names, json_string(name ? name : ""));
	}
	if (!bare)
		return phx_err_set(err, CLI_USAGE, "out of memory");
	if (begins > 1)
		return phx_err_set(err, CLI_USAGE, "%s is short for several options%s", bare,
				   where);
	const char *nearest = cli_nearest(names, NULL, bare);
	return phx_err_set(err, CLI_USAGE, "there is no option %s%s%s%s%s", bare, where,
			   nearest ? "; did you mean '" : "", nearest ? nearest : "",
			   nearest ? "'?" : "");
}

static int bad_option(int got, char *const *argv, const struct cli_command *c,
		      const struct option *longs, struct phx_err *err)
{
	const char *word = optind > 0 ? argv[optind - 1] : "";
	const char *where = c ? "" : " before the command";
	if (got == ':')
		return phx_err_set(err, CLI_USAGE, "option %s needs a value", word);
	if (optopt >= FIRST_ID)
		return phx_err_set(err, CLI_USAGE, "option --%s takes no value",
				   cli_option_info(optopt - FIRST_ID)->name);
	if (optopt)
		return phx_err_set(err, CLI_USAGE, "there is no option -%c%s", optopt, where);
	return no_option(longs, word, where, err);
}

/* A command line of others from its first word on: its options are not ours, wherever they
 * stand. */
static bool all_foreign(int argc, char **argv, const struct cli_command *c)
{
	bool help = argc > 1 && (phx_str_eq(argv[1], "--help") || phx_str_eq(argv[1], "-h"));
	return c && !help && phx_str_starts(c->grammar, "-- ") && !c->options[0];
}

/* Options of `c` from argv[1..argc); other words are moved to `rest`. Returns their number or -1
 * with a text. */
static int read_options(int argc, char **argv, const struct cli_command *c, struct cli_args *args,
			const char **rest, struct phx_err *err)
{
	struct getopt_tables t;
	int n = 0;
	if (all_foreign(argc, argv, c)) {
		while (n + 1 < argc) {
			rest[n] = argv[n + 1];
			n++;
		}
		return n;
	}
	make_tables(c, &t);
	opterr = 0;
	optind = 0;
	for (int got; (got = getopt_long(argc, argv, t.shorts, t.longs, NULL)) != -1;) {
		if (got == 1) {
			rest[n++] = optarg;
			continue;
		}
		if (got == '?' || got == ':') {
			bad_option(got, argv, c, t.longs, err);
			return -1;
		}
		bool letter = got < (int)PHX_ARRAY_SIZE(t.by_letter);
		int id = (letter ? t.by_letter[got] : got) - FIRST_ID;
		if (take_option(args, id, optarg, err) != 0)
			return -1;
	}
	/* a "--" that is no option's value ended them */
	args->foreign = !n && optind > 1 && optind < argc && phx_str_eq(argv[optind - 1], "--") &&
		optarg != argv[optind - 1];
	while (optind < argc)
		rest[n++] = argv[optind++];
	return n;
}

/* ---- the command ---- */

/* How many words of `argv` the path matches; 0 = it does not. */
static int path_match(const char *path, int argc, char **argv)
{
	int n = 0;
	for (const char *p = path; *p; n++) {
		size_t len = strcspn(p, " ");
		if (n >= argc || strlen(argv[n]) != len || memcmp(argv[n], p, len))
			return 0;
		p += len + strspn(p + len, " ");
	}
	return n;
}

static int find_command(int argc, char **argv, const struct cli_command **ret)
{
	const struct cli_command *all;
	size_t n = cli_commands(&all);
	int best = 0;
	for (size_t i = 0; i < n; i++) {
		int words = path_match(all[i].path, argc, argv);
		if (words > best) {
			best = words;
			*ret = &all[i];
		}
	}
	return best;
}

/* Is `word` the noun of commands? */
static bool is_noun(const char *word)
{
	const struct cli_command *all;
	size_t n = cli_commands(&all), len = strlen(word);
	for (size_t i = 0; i < n; i++)
		if (!strncmp(all[i].path, word, len) && all[i].path[len] == ' ')
			return true;
	return false;
}

/* The words that may stand behind the noun (NULL: in front of all), as a list of strings. New
 * reference. */
static json_t *next_words(const char *noun)
{
	const struct cli_command *all;
	size_t n = cli_commands(&all), len = noun ? strlen(noun) : 0;
	json_t *words = json_array();
	for (size_t i = 0; i < n; i++) {
		const char *p = all[i].path;
		if (noun && (strncmp(p, noun, len) || p[len] != ' '))
			continue;
		p += noun ? len + 1 : 0;
		json_array_append_new(words, json_stringn(p, strcspn(p, " ")));
	}
	return words;
}

int cli_no_command(int argc, const char *const *argv, struct phx_err *err)
{
	bool noun = is_noun(argv[0]);
	if (noun && argc < 2)
		return phx_err_set(err, CLI_USAGE, "%s: what to do with it? See phx help %s",
				   argv[0], argv[0]);
	PHX_AUTO_JSON json_t *words = next_words(noun ? argv[0] : NULL);
	const char *nearest = cli_nearest(words, NULL, argv[noun]);
	char meant[160] = "";
	if (nearest)
		snprintf(meant, sizeof(meant), "did you mean '%s%s%s'? ", noun ? argv[0] : "",
			 noun ? " " : "", nearest);
	if (!noun)
		return phx_err_set(err, CLI_USAGE, "there is no command '%s'; %ssee phx help",
				   argv[0], meant);
	return phx_err_set(err, CLI_USAGE, "there is no command '%s %s'; %ssee phx help %s",
			   argv[0], argv[1], meant, argv[0]);
}

/* ---- positional arguments ---- */

static bool choice_has(const char *choices, const char *word)
{
	size_t n = strlen(word);
	for (const char *p = choices; *p; p += strcspn(p, "|"), p += *p == '|')
		if (strcspn(p, "|") == n && !memcmp(p, word, n))
			return true;
	return false;
}

static int check_word(const struct cli_word *w, const char *value, struct phx_err *err)
{
	if (!strchr(w->type, '|'))
		return check_value(w->type, value, err);
	if (w->repeated || choice_has(w->type, value))
		return 0;
	return phx_err_set(err, -EINVAL, "'%s' is none of %s", value, w->type);
}

static unsigned count_required(const char *grammar)
{
	struct cli_word w;
	unsigned n = 0;
	while (cli_grammar_next(&grammar, &w))
		n += !w.optional && !phx_str_eq(w.type, "--");
	return n;
}

static int check_words(const struct cli_args *args, struct phx_err *err)
{
	const char *at = args->command->grammar;
	unsigned required = count_required(at), i = 0;
	unsigned spare = args->n_args > required ? args->n_args - required : 0;
	char last_type[sizeof(((struct cli_word *)0)->type)] = "";
	for (struct cli_word w; cli_grammar_next(&at, &w);) {
		if (phx_str_eq(w.type, "--"))
			continue;
		if (w.optional && !spare)
			continue;
		if (i >= args->n_args)
			return phx_err_set(err, CLI_USAGE, "%s is missing", w.type);
		PHX_STR_SET(last_type, w.type);
		unsigned last = w.repeated ? args->n_args : i + 1;
		spare -= w.optional ? last - i : 0;
		for (; i < last; i++)
			if (check_word(&w, args->arg[i], err) < 0) /* choices are in the text */
				return strchr(w.type, '|')
					? CLI_USAGE
					: phx_err_prefix(err, CLI_USAGE, "%s", w.type);
	}
	if (i < args->n_args && i && phx_str_eq(last_type, "NODES"))
		return phx_err_set(
			err, CLI_USAGE,
			"'%s' is one word too many: a list of nodes is one word, like %s,%s",
			args->arg[i], args->arg[i - 1], args->arg[i]);
	if (i < args->n_args)
		return phx_err_set(err, CLI_USAGE, "'%s' is one word too many", args->arg[i]);
	return 0;
}

/* --selector stands in place of the node list: it becomes one, in front of the other words. */
static int stand_in(struct cli_args *args, struct phx_err *err)
{
	const struct cli_values *selector = &args->opt[CLI_OPT_selector];
	if (!selector->n)
		return 0;
	if (cli_selector_list(selector, args->selector, sizeof(args->selector)) < 0 ||
	    args->n_args >= CLI_WORDS_MAX)
		return phx_err_set(err, CLI_USAGE, "--selector: too long");
	args->selected[0] = args->selector;
	for (unsigned i = 0; i < args->n_args; i++)
		args->selected[i + 1] = args->arg[i];
	args->arg = args->selected;
	args->n_args++;
	int r = check_words(args, err);
	return r ? phx_err_prefix(err, r, "(no NODES beside --selector)") : 0;
}

/* Options that mean nothing without another. */
static int check_options(const struct cli_args *args, struct phx_err *err)
{
	bool waits = cli_command_takes(args->command, CLI_OPT_wait);
	if (waits && args->opt[CLI_OPT_timeout].n && !args->opt[CLI_OPT_wait].n)
		return phx_err_set(err, CLI_USAGE,
				   "--timeout: nothing is waited for without --wait");
	if (args->opt[CLI_OPT_checkpoint_time].n && !args->opt[CLI_OPT_checkpoint_signal].n)
		return phx_err_set(
			err, CLI_USAGE,
			"--checkpoint-time: nothing is sent without --checkpoint-signal");
	return 0;
}

int cli_args_add(struct cli_args *args, int n_words, char **words, struct phx_err *err)
{
	struct cli_args more = {.command = args->command};
	int n = read_options(n_words, words, args->command, &more, (const char **)words, err);
	if (n != 0)
		return n < 0 ? CLI_USAGE
			     : phx_err_set(err, CLI_USAGE, "'%s' is no option", words[0]);
	static const struct cli_command none = {.options = ""};
	for (int id = 0; id < CLI_OPT_COUNT_; id++) {
		if (more.opt[id].n && cli_command_takes(&none, id))
			return phx_err_set(err, CLI_USAGE, "--%s stands on the command line only",
					   cli_option_info(id)->name);
		if (!args->opt[id].n)
			args->opt[id] = more.opt[id];
	}
	/* they add up: what comes later counts */
	struct cli_values *env = &more.opt[CLI_OPT_env], *own = &args->opt[CLI_OPT_env];
	if (env->n && env->v[0] != own->v[0]) {
		if (env->n + own->n > CLI_REPEAT_MAX)
			return phx_err_set(err, CLI_USAGE, "--env: given more than %d times",
					   CLI_REPEAT_MAX);
		memcpy(&env->v[env->n], own->v, own->n * sizeof(own->v[0]));
		env->n += own->n;
		*own = *env;
	}
	return check_options(args, err);
}

int cli_args_parse(int argc, char **argv, struct cli_args *ret, struct phx_err *err)
{
	struct cli_args args = {0};
	int n = read_options(argc, argv, NULL, &args, (const char **)argv, err);
	if (n < 0)
		return CLI_USAGE;
	/* argv now begins with the words after the options before the command */
	int words = n ? find_command(n, argv, &args.command) : 0;
	if (args.opt[CLI_OPT_help].n || args.opt[CLI_OPT_version].n || !n) {
		args.arg = (const char *const *)argv;
		args.n_args = (unsigned)n;
		*ret = args;
		return 0;
	}
	if (!words) {
		static const char *const help_words[] = {"-h", "--help"};
		bool help = n > 1 && is_noun(argv[0]) &&
			(phx_str_eq(argv[1], help_words[0]) || phx_str_eq(argv[1], help_words[1]));
		if (!help)
			return cli_no_command(n, (const char *const *)argv, err);
		args.opt[CLI_OPT_help].n = 1;
		args.arg = (const char *const *)argv;
		args.n_args = 1;
		*ret = args;
		return 0;
	}
	char **from = argv + words - 1; /* getopt skips the first */
	int n_rest =
		read_options(n - words + 1, from, args.command, &args, (const char **)from, err);
	if (n_rest < 0)
		return phx_err_prefix(err, CLI_USAGE, "%s", args.command->path);
	args.arg = (const char *const *)from;
	args.n_args = (unsigned)n_rest;
	bool selects = args.opt[CLI_OPT_selector].n, helps = args.opt[CLI_OPT_help].n;
	if (!helps && check_options(&args, err) != 0)
		return phx_err_prefix(err, CLI_USAGE, "%s", args.command->path);
	if (!helps && !selects && check_words(&args, err) != 0)
		return phx_err_prefix(err, CLI_USAGE, "%s", args.command->path);
	*ret = args;
	if (!helps && stand_in(ret, err) != 0)
		return phx_err_prefix(err, CLI_USAGE, "%s", args.command->path);
	return 0;
}

/* ---- what was parsed ---- */

const char *cli_opt(const struct cli *cli, enum cli_option_id id, const char *fallback)
{
	const struct cli_values *v = &cli->args.opt[id];
	return v->n ? v->v[v->n - 1] : fallback;
}

bool cli_has(const struct cli *cli, enum cli_option_id id)
{
	return cli->args.opt[id].n > 0;
}

const char *cli_arg(const struct cli *cli, unsigned i)
{
	return i < cli->args.n_args ? cli->args.arg[i] : NULL;
}
