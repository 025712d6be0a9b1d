/* What the programs behind the words of phx share: exit codes, the command
 * table, arguments, output. phx is one of them and knows phxd (phx/cli.h);
 * phx-sim does what begins with `phx sim`. The folder is no program itself. */
#ifndef PHX_CLI_CLI_H
#define PHX_CLI_CLI_H

#include <jansson.h>
#include <stdio.h>

#include "base/nodeset.h"
#include "base/util.h"
#include "config/config.h"

/** What phx exits with; the same table stands in phx(1). */
enum cli_exit {
	CLI_OK = 0,           /* done, also when it already was so */
	CLI_PARTIAL = 1,      /* some nodes failed: listed on stderr */
	CLI_USAGE = 64,       /* wrong command, or a name that does not exist */
	CLI_UNAVAILABLE = 69, /* phxd cannot be reached */
	CLI_TRY_AGAIN = 75,
	CLI_NOT_PERMITTED = 77,
	CLI_CONFIG = 78,
	CLI_TIMEOUT = 124,
};

/* ---- the command table ---- */

enum cli_option_id {
#define OPTION(id, ...) CLI_OPT_##id,
#include "cli/options.def"
#undef OPTION
	CLI_OPT_COUNT_
};

struct cli_option {
	const char *name; /* long, without dashes */
	char letter;      /* 0 = none */
	const char *arg;  /* type of its value (args.c), NULL = a switch */
	const char *text;
};
/** Row of an option; the table of all is indexed by id. */
const struct cli_option *cli_option_info(enum cli_option_id id);

/** The commands, by their rows in commands.def. */
enum cli_command_id {
#define COMMAND(id, ...) CLI_COMMAND_##id,
#include "cli/commands.def"
#undef COMMAND
	CLI_COMMAND_COUNT_
};

struct cli;
/** Does a command and returns what phx exits with; has printed what there is to say. */
typedef int (*cli_run_fn)(struct cli *cli);

/** One row of commands.def. Grammar: words like NODES, [NODES], FILE..., [FILE...], on|off, and
 * "--" before words of a foreign command. Options: long names; those of the connection are always
 * there. */
struct cli_command {
	enum cli_command_id id;
	const char *path; /* "node list" */
	const char *grammar;
	const char *options;
	const char *summary;
	const char *manual; /* further sentences for help and manual, or "" */
};
size_t cli_commands(const struct cli_command **ret_commands);
/** Does the command take the option? */
bool cli_command_takes(const struct cli_command *c, enum cli_option_id id);

/** One word of a grammar. */
struct cli_word {
	char type[64]; /* "NODES", "on|off", "--" */
	bool optional, repeated;
};
/** Next word at *at; false at the end. */
bool cli_grammar_next(const char **at, struct cli_word *ret);

/** A type of argument. */
struct cli_type {
	const char *name;
	const char *what; /* "a node list" */
	/* completion: "nodes", "roles", "files", "dirs", a list of words in '(', or "" */
	const char *complete;
	int (*check)(const char *text, struct phx_err *err); /* NULL: anything but "" */
};
/** Type of a name; NULL for choices ("on|off"). */
const struct cli_type *cli_type_find(const char *name);

/** Number of a signal by its name (USR1, SIGUSR1) or number; 0 when it is none. */
int cli_signal(const char *text);

/* ---- arguments ---- */

enum { CLI_REPEAT_MAX = 64, CLI_WORDS_MAX = 64 };
struct cli_values {
	const char *v[CLI_REPEAT_MAX];
	unsigned n;
};
struct cli_args {
	const struct cli_command *command;
	struct cli_values opt[CLI_OPT_COUNT_];
	const char *const *arg; /* positional, n_args of them; borrowed from argv */
	unsigned n_args;
	bool foreign; /* they stood behind "--" */
	/* --selector stands in place of the node list: as a list of groups, in front of the words
	 * of argv */
	char selector[512];
	const char *selected[CLI_WORDS_MAX];
};

/** Parse options before the command, the command, its options and arguments; every value is checked
 * by its type. argv is permuted. 0, or CLI_USAGE with a text. With --help or without a command,
 * `command` may be NULL. ret->arg points into argv, or with --selector into *ret, which then must
 * not be copied. */
int cli_args_parse(int argc, char **argv, struct cli_args *ret, struct phx_err *err);

/** CLI_USAGE with a text for words that begin no command, and the one that was meant. */
int cli_no_command(int argc, const char *const *argv, struct phx_err *err);

/** Options from other words (words[0] is skipped) that the command itself takes, where `args` has
 * them not yet. They are borrowed; words are permuted. 0, or CLI_USAGE with a text. */
int cli_args_add(struct cli_args *args, int n_words, char **words, struct phx_err *err);

/* ---- words.c: what words of arguments mean ---- */

/** The item of `items` whose `key` comes nearest to `name`; NULL when nothing is near. Borrowed. */
const char *cli_nearest(const json_t *items, const char *key, const char *name);
/** The values of --selector as a node list: "@a=1&@b=2!@c=3". -1 when it does not fit. */
int cli_selector_list(const struct cli_values *values, char *ret, size_t ret_size);
/** Jobs with numbers in a row. */
struct cli_job_row {
	uint64_t from, to;
};
/** Rows of numbers ("10-20,25") appended to a list of struct cli_job_row, or only judged where
 * `ret` is NULL. -EINVAL. */
int cli_job_rows(const char *text, struct phx_list *ret);

/* ---- one run ---- */

enum cli_format {
	CLI_TABLE,
	CLI_WIDE,
	CLI_JSON,
	CLI_YAML,
	CLI_NAME,
	CLI_TSV,
	CLI_CSV,
	CLI_MARKDOWN
};
extern const struct phx_enum cli_format_names;

struct cli {
	char *const *argv; /* the command line as it was given; borrowed */
	struct cli_args args;
	enum cli_format format;
	bool color;    /* stdout is a terminal and NO_COLOR is not set */
	bool progress; /* stderr is a terminal */
	bool ask;      /* stdin and stderr are terminals: questions can be asked */
	/* of phx alone */
	struct phx_config config;
	bool has_config;
	struct phx_http_client *http;
	bool remote; /* by HTTPS, not by the socket of this machine */
	/* {"config": [{key, value}]} of the head (phx/head.c), NULL before it was wanted */
	json_t *head;
	bool head_answers; /* phxd told it */
	/* what to exit with where cli_head_value() or cli_head_dir() gave NULL */
	int head_code;
};

/** One of the programs. */
struct cli_program {
	/* by the rows of the table; NULL: another program does that */
	cli_run_fn run[CLI_COMMAND_COUNT_];
	void (*fini)(struct cli *cli); /* at the end, or NULL */
};
/** All of a program: parses, runs the command, tells when standard output did not take everything.
 * What to exit with. */
int cli_main(const struct cli_program *program, int argc, char **argv);

/** Value of an option (the last one given), or `fallback`. */
const char *cli_opt(const struct cli *cli, enum cli_option_id id, const char *fallback);
bool cli_has(const struct cli *cli, enum cli_option_id id);
/** Positional argument `i`, NULL beyond. */
const char *cli_arg(const struct cli *cli, unsigned i);

/** "phx: TEXT" to stderr, whichever program it is; returns `code`. */
int cli_fail(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** What a library's negative errno means for the exit status. */
int cli_exit_of(int error);
/** "phx: TEXT" of a failed library call; returns cli_exit_of(). */
int cli_fail_err(int error, const struct phx_err *err);

/* ---- output.c ---- */

/** A column: `path` is a member ("name", "facts.cpus"); `put` formats it (NULL: as it is). */
struct cli_column {
	const char *head;
	const char *path;
	void (*put)(struct phx_buf *b, const json_t *value, const json_t *row);
	bool wide, right;
};
/** What the column has of the row, as programs are given it: sizes and times as numbers. NULL: out
 * of memory, or nothing. The caller frees it. */
char *cli_cell_plain(const struct cli_column *c, const json_t *row);
/** Print `rows` as the format says; JSON and YAML print `whole` instead, NAME the first column. */
int cli_print_rows(struct cli *cli, const struct cli_column *columns, size_t n_columns,
		   const json_t *rows, const json_t *whole);
/** A table on stdout whatever the format, indented by `indent` blanks. */
int cli_print_table(struct cli *cli, const struct cli_column *columns, size_t n_columns,
		    const json_t *rows, unsigned indent);
/** "  Label        value" a line for each column that has something to say. */
void cli_print_lines(const struct cli_column *columns, size_t n_columns, const json_t *row);
/** JSON or YAML of anything. */
int cli_print_value(struct cli *cli, const json_t *value);
/** Is the format JSON or YAML? */
bool cli_structured(const struct cli *cli);
/** Member by path ("facts.cpus"); NULL when absent. Borrowed. */
const json_t *cli_member(const json_t *j, const char *path);
/** Copy into the buffer (NULL: nothing). What steers the terminal, but the newline, is written as
 * "\x1b": nothing that a node or a user says may do that. */
void cli_put_clean(struct phx_buf *b, const char *text);
/** The same of what has to stay in its line. */
void cli_put_line(struct phx_buf *b, const char *text);
/** The same of JSON as a text, whose own newlines stay: "\u009b". */
void cli_put_json(struct phx_buf *b, const char *text);
/** Are cells for programs now (tsv, csv)? Then numbers stand without units: bytes, seconds, shares
 * of one. */
bool cli_plain(void);
/* formats of columns */
void cli_put_size(struct phx_buf *b, const json_t *value, const json_t *row); /* bytes */
/* a duration in milliseconds */
void cli_put_ms(struct phx_buf *b, const json_t *value, const json_t *row);
/** Words with blanks between them: strings, or objects with a member `text`. */
void cli_put_words(struct phx_buf *b, const json_t *value, const json_t *row);
void cli_put_when(struct phx_buf *b, const json_t *value, const json_t *row);  /* local time */
void cli_put_since(struct phx_buf *b, const json_t *value, const json_t *row); /* age of a time */
void cli_put_yes(struct phx_buf *b, const json_t *value, const json_t *row);   /* yes or no */
/* first 12 digits */
void cli_put_digest(struct phx_buf *b, const json_t *value, const json_t *row);
/** "12 ms", "1.5 s", "3 min 12 s", "2 h 5 min". */
void cli_put_duration(struct phx_buf *b, int64_t ms);

/** Folded text of the "name" members, malloc'd. */
char *cli_nodes_fold(const json_t *nodes);

/** YAML of a JSON value (yaml.c). */
void cli_yaml(struct phx_buf *b, const json_t *value);

/* ---- help.c ---- */

/** Help: of phx, of a noun, or of one command. */
void cli_help(FILE *out, const char *const *words, unsigned n_words);

/* ---- the commands, each in the program that does it ---- */
#define COMMAND(id, ...) int cmd_##id(struct cli *cli);
#include "cli/commands.def"
#undef COMMAND

#endif
