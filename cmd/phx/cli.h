/* What the files of phx share: exit codes, the command table, arguments, the
 * connection to phxd, output. One file a noun implements the commands. */
#ifndef PHX_CLI_H
#define PHX_CLI_H

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
#include "phx/options.def"
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

struct cli;
/** Does a command and returns what phx exits with; has printed what there is to say. */
typedef int (*cli_run_fn)(struct cli *cli);

/** One row of commands.def. Grammar: words like NODES, [NODES], FILE..., [FILE...], on|off, and "--" before words of a
 * foreign command. Options: long names; those of the connection are always there. */
struct cli_command {
	const char *path; /* "node list" */
	const char *grammar;
	const char *options;
	cli_run_fn run;
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
	const char *what;     /* "a node list" */
	const char *complete; /* completion: "nodes", "roles", "files", "dirs", a list of words in '(', or "" */
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
	/* --selector stands in place of the node list: as a list of groups, in front of the words of argv */
	char selector[512];
	const char *selected[CLI_WORDS_MAX];
};

/** Parse options before the command, the command, its options and arguments; every value is checked by its type.
 * argv is permuted. 0, or CLI_USAGE with a text. With --help or without a command, `command` may be NULL.
 * ret->arg points into argv, or with --selector into *ret, which then must not be copied. */
int cli_args_parse(int argc, char **argv, struct cli_args *ret, struct phx_err *err);

/** Options from other words (words[0] is skipped) that the command itself takes, where `args` has them not yet. They are
 * borrowed; words are permuted. 0, or CLI_USAGE with a text. */
int cli_args_add(struct cli_args *args, int n_words, char **words, struct phx_err *err);

/* ---- one run of phx ---- */

enum cli_format { CLI_TABLE, CLI_WIDE, CLI_JSON, CLI_YAML, CLI_NAME, CLI_TSV, CLI_CSV, CLI_MARKDOWN };
extern const struct phx_enum cli_format_names;

struct cli {
	struct cli_args args;
	enum cli_format format;
	bool color;    /* stdout is a terminal and NO_COLOR is not set */
	bool progress; /* stderr is a terminal */
	bool ask;      /* stdin and stderr are terminals: questions can be asked */
	struct phx_config config;
	bool has_config;
	struct phx_http_client *http;
	bool remote; /* by HTTPS, not by the socket of this machine */
	json_t *head; /* {"config": [{key, value}]} of the head (head.c), NULL before it was wanted */
	bool head_answers; /* phxd told it */
	int head_code;     /* what to exit with where cli_head_value() or cli_head_dir() gave NULL */
};

/** Value of an option (the last one given), or `fallback`. */
const char *cli_opt(const struct cli *cli, enum cli_option_id id, const char *fallback);
bool cli_has(const struct cli *cli, enum cli_option_id id);
/** Positional argument `i`, NULL beyond. */
const char *cli_arg(const struct cli *cli, unsigned i);
/** The configuration of this head (--config, $PHX_CONFIG, or the default path; without a file the defaults). NULL: the
 * message was printed, exit with CLI_CONFIG. Borrowed. */
const struct phx_config *cli_config(struct cli *cli);

/** "phx: TEXT" to stderr; returns `code`. */
int cli_fail(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** What a library's negative errno means for the exit status. */
int cli_exit_of(int error);
/** "phx: TEXT" of a failed library call; returns cli_exit_of(). */
int cli_fail_err(int error, const struct phx_err *err);

/* ---- client.c ---- */

/** One call to phxd. Returns an exit code; other than 0 leaves the reason in err (never printed here).
 * ret_json may be NULL. */
int cli_call_quiet(struct cli *cli, const char *method, const char *path, const json_t *body, uint32_t timeout_ms,
		   json_t **ret_json, struct phx_err *err);
/** The same, with the reason printed. */
int cli_call(struct cli *cli, const char *method, const char *path, const json_t *body, json_t **ret_json);
/** The same for GET. */
int cli_get(struct cli *cli, const char *path, json_t **ret_json);
/** GET of what is no JSON: *ret_n bytes in *ret_text (malloc'd). */
int cli_get_text(struct cli *cli, const char *path, char **ret_text, size_t *ret_n);
/** Send a file as the body of PUT; fetch one into `file`, which is there whole or not at all. An exit code, the reason printed. */
int cli_upload(struct cli *cli, const char *path, const char *file);
int cli_download(struct cli *cli, const char *path, const char *file);
/** Percent-encode a path segment or query value; malloc'd, NULL on ENOMEM. */
char *cli_url_escape(const char *text);
void cli_client_close(struct cli *cli);

/* ---- follow.c: what goes on ---- */

/** An exit code that passes by itself: who follows goes on. */
bool cli_passes(int code);
/** "TEXT; still waiting" on stderr where `code` is the first in a row that is not 0; `*away`: whether it was one. */
void cli_tell_away(bool *away, int code, const struct phx_err *err);
/** Whoever read the pipe is gone ("phx events -f | head -1"): told by the pipe itself, since nothing may happen that would be
 * written. Flushes standard output. */
bool cli_nobody_reads(void);
/** For how long to wait for news at once, at most `seconds`: of a pipe it is to be seen soon that its reader is gone. */
int cli_patience(int seconds);

/* ---- head.c: the head's own files ---- */

/** Ask phxd for its configuration, once; where it does not answer and no socket or server was named (or a configuration was
 * too), that of this machine is taken. An exit code, the reason printed. */
int cli_head(struct cli *cli);
/** Value of a key of that configuration, as text; NULL: told, cli->head_code says what to exit with. Borrowed. */
const char *cli_head_value(struct cli *cli, const char *key);
/** The same of a path that is worked on here: NULL, and told, when the head is another machine (--server). */
const char *cli_head_dir(struct cli *cli, const char *key);

/* ---- names.c: node lists against what phxd knows ---- */

/** GET /v1/nodes, the array alone (new reference). */
int cli_nodes_get(struct cli *cli, json_t **ret_nodes);
/** The node records that `list` names (NULL: all), in a new array, sorted by name. Groups @all, @up, @missing, @role:X,
 * @pool:X, @state:X, @KEY=VALUE (a label), @X (the pool X, or else the role). A name that does not exist: CLI_USAGE, message with the nearest one. */
int cli_nodes_select(struct cli *cli, const char *list, json_t **ret_nodes);
/** The names alone, of nodes that are gone too; the caller phx_nodeset_fini()s them. */
int cli_nodes_names(struct cli *cli, const char *list, struct phx_nodeset *ret);
/** Value of a node's label, NULL without it; the key is `n_key` bytes long. Borrowed. */
const char *cli_label(const json_t *node, const char *key, size_t n_key);
/** Folded text of the "name" members, malloc'd. */
char *cli_nodes_fold(const json_t *nodes);
/** The node called `name` in an array of nodes; borrowed, NULL when there is none. */
json_t *cli_node_find(const json_t *nodes, const char *name);
/** The item of `items` whose `key` comes nearest to `name`; NULL when nothing is near. Borrowed. */
const char *cli_nearest(const json_t *items, const char *key, const char *name);
/** 0 when GET `path` lists `name` under `list`; else CLI_USAGE with a message ("there is no ROLE 'x'; did you mean
 * 'y'?"). */
int cli_known(struct cli *cli, const char *what, const char *path, const char *list, const char *name);

/* ---- label.c ---- */

/** The values of --selector as a node list: "@a=1&@b=2!@c=3". -1 when it does not fit. */
int cli_selector_list(const struct cli_values *values, char *ret, size_t ret_size);
/** A column of labels: "a=1,b=2". */
void cli_put_labels(struct phx_buf *b, const json_t *value, const json_t *row);

/* ---- output.c ---- */

/** A column: `path` is a member ("name", "facts.cpus"); `put` formats it (NULL: as it is). */
struct cli_column {
	const char *head;
	const char *path;
	void (*put)(struct phx_buf *b, const json_t *value, const json_t *row);
	bool wide, right;
};
/** Print `rows` as the format says; JSON and YAML print `whole` instead, NAME the first column. */
int cli_print_rows(struct cli *cli, const struct cli_column *columns, size_t n_columns, const json_t *rows,
		   const json_t *whole);
/** A table on stdout whatever the format, indented by `indent` blanks. */
int cli_print_table(struct cli *cli, const struct cli_column *columns, size_t n_columns, const json_t *rows,
		    unsigned indent);
/** "  Label        value" a line for each column that has something to say. */
void cli_print_lines(const struct cli_column *columns, size_t n_columns, const json_t *row);
/** JSON or YAML of anything. */
int cli_print_value(struct cli *cli, const json_t *value);
/** Is the format JSON or YAML? */
bool cli_structured(const struct cli *cli);
/** Member by path ("facts.cpus"); NULL when absent. Borrowed. */
const json_t *cli_member(const json_t *j, const char *path);
/** Copy without control characters other than the newline into the buffer: nothing a node says may steer the terminal.
 */
void cli_put_clean(struct phx_buf *b, const char *text);
/** Are cells for programs now (tsv, csv)? Then numbers stand without units: bytes, seconds, shares of one. */
bool cli_plain(void);
/* formats of columns */
void cli_put_size(struct phx_buf *b, const json_t *value, const json_t *row);   /* bytes */
void cli_put_ms(struct phx_buf *b, const json_t *value, const json_t *row);     /* a duration in milliseconds */
void cli_put_when(struct phx_buf *b, const json_t *value, const json_t *row);   /* local time */
void cli_put_since(struct phx_buf *b, const json_t *value, const json_t *row);  /* age of a time */
void cli_put_yes(struct phx_buf *b, const json_t *value, const json_t *row);    /* yes or no */
void cli_put_digest(struct phx_buf *b, const json_t *value, const json_t *row); /* first 12 digits */
/** "12 ms", "1.5 s", "3 min 12 s", "2 h 5 min". */
void cli_put_duration(struct phx_buf *b, int64_t ms);
/** Milliseconds since 1970. */
int64_t cli_now_ms(void);
/** Milliseconds of a clock that never goes back. */
int64_t cli_clock_ms(void);

/** YAML of a JSON value (yaml.c). */
void cli_yaml(struct phx_buf *b, const json_t *value);

/* ---- act.c, wait.c, plan.c: commands that change nodes ---- */

enum cli_danger {
	CLI_SAFE,    /* never asks */
	CLI_BY_PLAN, /* asks when it erases or rewrites a disk of a node in use, ends a job, or logs somebody out */
	CLI_ALWAYS,  /* always asks */
};
/** POST /v1/actions/ACTION for `list` with the members of `body` (borrowed): dry run, confirmation, waiting and the
 * report are done here. `verb` is what the question and the report say ("assign web-server to"). */
int cli_act(struct cli *cli, const char *action, const char *list, json_t *body, enum cli_danger danger,
	    const char *verb);
/** Warn of a node that its MAC address alone tells from other machines. */
void cli_warn_by_mac(const char *node);
/** Ask on a terminal, or want --yes (and --force above 16). 0 = go on. */
int cli_confirm(struct cli *cli, const char *question, size_t n);

/** Nodes that failed, by reason. Zero-initialise. */
struct cli_report {
	json_t *reasons; /* reason → array of names */
	unsigned n_failed;
};
/** Add one; where the reason begins with the node's name, that is left out, so that equal reasons meet. */
void cli_report_add(struct cli_report *r, const char *node, const char *reason);
/** What of `text` stands behind "NODE: ", "NODE " or "node NODE "; borrowed. */
const char *cli_without_name(const char *text, const char *node);
/** One line a reason: "phx: node[1-2]: REASON" on stderr. */
void cli_report_print(const struct cli_report *r);
void cli_report_fini(struct cli_report *r);

/** What a waited-for order is to lead to. */
struct cli_goal {
	const char *role;  /* the node must hold it in the end, or NULL */
	const char *power; /* operation by hand whose result must be heard of, or NULL */
	int64_t after;     /* events after this one count */
	bool gone;         /* the node is to be forgotten */
	bool accepted;     /* the node is new until it has enrolled */
	bool follows;      /* what begins by itself afterwards (automatic assignment) is waited for too */
};
/** Follow the nodes of `results` (members node, epoch) until their plans ended. Failures are added to the report.
 * Returns CLI_OK or CLI_TIMEOUT (told). A daemon that is away is waited for. */
int cli_wait(struct cli *cli, const json_t *results, const struct cli_goal *goal, struct cli_report *report);

/** The head's store of images or packages has changed: phxd reads it again. What it finds wrong in its catalogue is told
 * as warnings; the change was made all the same. `warn`: also what it takes
 * and may surprise, as kernels that are not an image's own. Prints nothing on stdout. CLI_OK, or why phxd could not be told. */
int cli_tell_changed(struct cli *cli, bool warn);

/** What an order ends that somebody uses, gathered from the results of its dry run: ends.c. */
struct cli_ends {
	json_t *jobs;     /* those that end: as phxd tells them, with the node as member "on" */
	json_t *waits;    /* those that are waited for */
	json_t *sessions; /* of people who are logged in */
	json_t *unknown;  /* names of nodes that do not tell who is */
	size_t n_nodes;   /* on which something ends */
};
void cli_ends_init(struct cli_ends *ret);
void cli_ends_fini(struct cli_ends *e);
/** `result`: members node, code, jobs, sessions; of one that was refused, nothing. */
void cli_ends_add(struct cli_ends *e, const json_t *result);
bool cli_ends_any(const struct cli_ends *e);
/** What ends, as part of a sentence. */
void cli_ends_put(struct phx_buf *b, const struct cli_ends *e);
/** Numbers of the jobs: what may end, for the order (new reference). */
json_t *cli_ends_ids(const struct cli_ends *e);
/** A line each, with what becomes of it by `plan` (may be NULL or null). */
void cli_ends_print(const json_t *results, const json_t *plan);

/** Print plans of results (members node, plan), equal plans once with their nodes folded. */
int cli_plan_print(struct cli *cli, const json_t *results);
/** Does the plan erase or rewrite a disk? */
bool cli_plan_destroys(const json_t *plan);
/** Has the plan steps that are not done? */
bool cli_plan_active(const json_t *plan);
/** Table of the steps of one plan, indented. */
int cli_plan_steps(struct cli *cli, const json_t *plan);
/** "image 4/9", "" when idle. */
void cli_plan_short(struct phx_buf *b, const json_t *plan);

/* ---- help.c, completion.c ---- */

/** Help: of phx, of a noun, or of one command. */
void cli_help(FILE *out, const char *const *words, unsigned n_words);
/** "phx node assign NODES ROLE [options]". */
void cli_usage_line(FILE *out, const struct cli_command *c);

/* ---- the commands ---- */
#define COMMAND(id, ...) int cmd_##id(struct cli *cli);
#include "phx/commands.def"
#undef COMMAND

#endif
