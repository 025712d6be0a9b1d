/* What the files of phx share beyond cli/cli.h: the connection to phxd, its
 * nodes, orders. One file a noun implements the commands. */
#ifndef PHX_CLI_H
#define PHX_CLI_H

#include "base/clock.h"
#include "cli/cli.h"
#include "deploy/store.h"

/* ---- config.c ---- */

/** The configuration of this head (--config, $PHX_CONFIG, or the default path; without a file the
 * defaults). NULL: the message was printed, exit with CLI_CONFIG. Borrowed. */
const struct phx_config *cli_config(struct cli *cli);

/* ---- other.c ---- */

/** Every command of `phx sim`: phx-sim does them. Returns only when it cannot be run. */
int cli_become_sim(struct cli *cli);

/* ---- re.c ---- */

/** An order for the RE `name`; `text` (may be NULL) goes with it. Prints what came of it. */
int cli_re_order(struct cli *cli, const char *what, const char *name, const char *text);
/** Print the answer to one: the sentences of the core. */
int cli_re_done(struct cli *cli, const json_t *answer);

/* ---- why.c ---- */

/** Appends why a node did not boot, with what was seen where `answer` has it, as text for people.
 */
void cli_why_put(struct phx_buf *b, const json_t *answer);

/* ---- client.c ---- */

/** One call to phxd. Returns an exit code; other than 0 leaves the reason in err (never printed
 * here). ret_json may be NULL. */
int cli_call_quiet(struct cli *cli, const char *method, const char *path, const json_t *body,
		   uint32_t timeout_ms, json_t **ret_json, struct phx_err *err);
/** The same, with the reason printed. */
int cli_call(struct cli *cli, const char *method, const char *path, const json_t *body,
	     json_t **ret_json);
/** The same for GET. */
int cli_get(struct cli *cli, const char *path, json_t **ret_json);
/** GET of what is no JSON: *ret_n bytes in *ret_text (malloc'd). */
int cli_get_text(struct cli *cli, const char *path, char **ret_text, size_t *ret_n);
/** Send a file as the body of PUT; fetch one into `file`, which is there whole or not at all. An
 * exit code, the reason printed. */
int cli_upload(struct cli *cli, const char *path, const char *file, json_t **ret_json);
int cli_download(struct cli *cli, const char *path, const char *file);
/** Fetch what is at `path` into `fd`, after a call that went well. A negative errno with its text.
 */
int cli_fetch(struct cli *cli, const char *path, int *fd, struct phx_err *err);
/** "/v1/res/RE/data/PATH", each part of it escaped; with "" the directory. malloc'd, NULL on
 * ENOMEM. */
char *cli_re_data_url(const char *re, const char *path);
/** Percent-encode a path segment or query value; malloc'd, NULL on ENOMEM. */
char *cli_url_escape(const char *text);
/** Find out where phxd is, for the calls; again is no harm. 0 or an exit code; no text: it was told
 * already. */
int cli_client_open(struct cli *cli, struct phx_err *err);
void cli_client_close(struct cli *cli);

/** ~/.config/phoenix/NAME, malloc'd. */
char *cli_own_file(const char *name);

/** What is said of a silent node that somebody claims to be (`claimed_ms`). */
#define CLI_CLAIMED ", and asked for without its key (phx events says what to do)"

/* ---- package_key.c ---- */

/** The keys by which packages and images are believed here (pki/ring.h): --pub, else the head's.
 * malloc'd; NULL: told, cli->head_code says what to exit with. */
char *cli_package_ring(struct cli *cli);
/** How images are believed here; the caller frees ret->ring. An exit code, told. */
int cli_image_trust(struct cli *cli, struct phx_image_trust *ret);
/** The key to sign packages and images with: --sign-key, $PHX_SIGN_KEY, ~/.config/phoenix/
 * package.key. malloc'd. */
char *cli_sign_key(struct cli *cli);

/* ---- follow.c: what goes on ---- */

/** An exit code that passes by itself: who follows goes on. */
bool cli_passes(int code);
/** "TEXT; still waiting" on stderr where `code` is the first in a row that is not 0; `*away`:
 * whether it was one. */
void cli_tell_away(bool *away, int code, const struct phx_err *err);
/** Whoever read standard output is gone ("phx events -f | head -1"), or goes within `wait_ms`: told
 * by the pipe itself, since nothing may happen that would be written. Flushes it. */
bool cli_nobody_reads(uint32_t wait_ms);
/** Calls end when that is so, from now on. A bad configuration is an exit code, told already. */
int cli_follow_begin(struct cli *cli);
/** Until when --timeout lets wait: phx_clock_ms(); INT64_MAX without. */
int64_t cli_deadline_ms(const struct cli *cli);
/** For how many seconds a request is to be held until end_ms of phx_clock_ms(), at most a portion
 * of them: what lies between may cut a silent connection. */
int cli_hold_s(int64_t end_ms);
/** GET /v1/events: at most a thousand after number `after`, of `node` (NULL: of all), for which
 * phxd waits as many seconds. An exit code, not told. */
int cli_events(struct cli *cli, const char *node, int64_t after, int seconds, json_t **ret,
	       struct phx_err *err);
/** Before one asks again who asked at `asked_ms` and was told nothing new: a pause where that came
 * at once, of a head that is away or ends. */
void cli_pause(struct phx_again *a, int64_t asked_ms, int64_t end_ms);
/** The pauses of one who asks a head that is away for a moment. */
struct phx_again cli_away_again(void);

/* ---- head.c: the head's own files ---- */

/** Ask phxd for its configuration, once; where it does not answer and no socket or server was named
 * (or a configuration was too), that of this machine is taken. An exit code, the reason printed. */
int cli_head(struct cli *cli);
/** Value of a key of that configuration, as text; NULL: told, cli->head_code says what to exit
 * with. Borrowed. */
const char *cli_head_value(struct cli *cli, const char *key);
/** The same of a path that is worked on here: NULL, and told, when the head is another machine
 * (--server). */
const char *cli_head_dir(struct cli *cli, const char *key);

/* ---- names.c: node lists against what phxd knows ---- */

/** GET /v1/nodes, the array alone (new reference): the nodes of `names` that there are (NULL: all),
 * and maybe more; of each the members `fields` ("name,state"; NULL: all). An exit code, the reason
 * printed. */
int cli_nodes_get(struct cli *cli, const struct phx_nodeset *names, const char *fields,
		  json_t **ret_nodes);
/** The same, the reason in `err`. */
int cli_nodes_ask(struct cli *cli, const struct phx_nodeset *names, const char *fields,
		  int timeout_ms, json_t **ret_nodes, struct phx_err *err);
/** The node records that `list` names (NULL: all), in a new array, sorted by name, with the members
 * `fields` at least (NULL: all; "name" must be among them). Groups @all, @up, @missing, @role:X,
 * @pool:X, @state:X, @KEY=VALUE (a label), @X (the pool X, or else the role). A name that does not
 * exist: CLI_USAGE, message with the nearest one. */
int cli_nodes_select(struct cli *cli, const char *list, const char *fields, json_t **ret_nodes);
/** An object of nodes by their names, for whoever looks for many. New reference. */
json_t *cli_nodes_by_name(const json_t *nodes);
/** The names alone, of nodes that are gone too; the caller phx_nodeset_fini()s them. */
int cli_nodes_names(struct cli *cli, const char *list, struct phx_nodeset *ret);
/** The node called `name` in an array of nodes; borrowed, NULL when there is none. */
json_t *cli_node_find(const json_t *nodes, const char *name);
/** 0 when GET `path` lists `name` under `list`; else CLI_USAGE with a message ("there is no ROLE
 * 'x'; did you mean 'y'?"). */
int cli_known(struct cli *cli, const char *what, const char *path, const char *list,
	      const char *name);

/* ---- label.c ---- */

/** A column of labels: "a=1,b=2". */
void cli_put_labels(struct phx_buf *b, const json_t *value, const json_t *row);

/* ---- note.c ---- */

/** The notes of a node, the newest last, as a table behind an empty line; nothing without any. */
int cli_print_notes(struct cli *cli, const json_t *notes);

/* ---- node_check.c ---- */

/** So many nodes at least are compared with each other. */
enum { CLI_ALIKE_MIN = 3 };
/** What came of the checks of a node, in a word: "passed 3d ago", "failed: memory"; nothing for a
 * node that was never checked. */
void cli_put_checked(struct phx_buf *b, const json_t *value, const json_t *row);
/** The same as a table with all figures; nothing for none. */
int cli_checks_print(struct cli *cli, const json_t *checks);
/** Adds to the rows of phx node deviations the figures of checks that differ by more than a fifth
 * from the middle one of the nodes, which are alike; where most of at least CLI_ALIKE_MIN do not.
 * 0, or -1: out of memory. */
int cli_checks_compare(const json_t *alike, json_t *rows);

/* ---- node_list.c ---- */

/** "waits for its reboot (3 of 20 done)", with why no other begins; nothing for null. */
void cli_put_turn(struct phx_buf *b, const json_t *value, const json_t *row);

/* ---- act.c, wait.c, plan.c: commands that change nodes ---- */

enum cli_danger {
	CLI_SAFE, /* never asks */
	/* asks when it erases or rewrites a disk of a node in use, ends a job, or logs somebody
	 * out */
	CLI_BY_PLAN,
	CLI_ALWAYS, /* always asks */
};
/** POST /v1/actions/ACTION for `list` with the members of `body` (borrowed): dry run, confirmation,
 * waiting and the report are done here. `verb` is what the question and the report say ("assign
 * web-server to"). */
int cli_act(struct cli *cli, const char *action, const char *list, json_t *body,
	    enum cli_danger danger, const char *verb);
/** Say what an order has come to that needs no waiting: which nodes failed, and why, and for which
 * it was so already. An exit code. */
int cli_results(const json_t *results);
/** Warn of a node that its MAC address alone tells from other machines. */
void cli_warn_by_mac(const char *node);
/** Ask on a terminal, or want --yes (and --force above 16). 0 = go on. */
int cli_confirm(struct cli *cli, const char *question, size_t n);

/** Nodes that failed, by reason. Zero-initialise. */
struct cli_report {
	json_t *reasons; /* reason → array of names */
	unsigned n_failed;
};
/** Add one; where the reason begins with the node's name, that is left out, so that equal reasons
 * meet. */
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
	bool tells;        /* a reboot, a check: the node's reason says afterwards that it failed */
	/* what begins by itself afterwards (automatic assignment) is waited for too */
	bool follows;
};
/** Follow the nodes of `results` (members node, epoch) until their plans ended. Failures are added
 * to the report. Returns CLI_OK or CLI_TIMEOUT (told). A daemon that is away is waited for. */
int cli_wait(struct cli *cli, const json_t *results, const struct cli_goal *goal,
	     struct cli_report *report);

/** The head's store of images or packages has changed: phxd reads it again. What it finds wrong in
 * its catalogue is told as warnings; the change was made all the same. `warn`: also what it takes
 * and may surprise, as kernels that are not an image's own. Prints nothing on stdout. CLI_OK, or
 * why phxd could not be told. */
int cli_tell_changed(struct cli *cli, bool warn);

/** What an order ends that somebody uses, gathered from the results of its dry run: ends.c. */
struct cli_ends {
	json_t *jobs;     /* those that end: as phxd tells them, with the node as member "on" */
	json_t *waits;    /* those that are waited for */
	json_t *sessions; /* of people who are logged in */
	json_t *unknown;  /* names of nodes that do not tell who is */
	json_t *serves;   /* what nodes are at ("active", "rebuild"), each with their names */
	size_t n_nodes;   /* on which something ends */
};
void cli_ends_init(struct cli_ends *ret);
void cli_ends_fini(struct cli_ends *e);
/** `result`: members node, code, jobs, sessions, serves; of one that was refused, nothing. */
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

/* ---- cert.c ---- */

/** Certificates of people that are known: members serial, name, kind, expires_s, revoked. On the
 * head all that were issued there, from elsewhere those that are revoked. A new list. */
int cli_cert_rows(struct cli *cli, json_t **ret);

/* ---- manual.c ---- */

/** Prints the part of the manual that comes from the table `part`; NULL: of commands. Returns an
 * exit status. */
int phx_manual(const char *part);

#endif
