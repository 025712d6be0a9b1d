/* phx events: what happened, a sentence an event. Reads the journal by way of
 * phxd; with -f by long poll. */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/clock.h"
#include "base/json.h"
#include "state/event.h"
#include "phx/cli.h"

enum { FOLLOW_SECONDS = 25, LINES = 50 };

/* Details worth telling, by kind: members of the event and what stands before them. */
struct detail {
	const char *kind, *key, *before;
};
static const struct detail details[] = {
	{"assign", "role", "role "},
	{"assign", "setup.mode", "setup "},
	{"assign", "pool", "pool "},
	{"assign", "pin", "pinned"},
	{"release", "setup.mode", "setup "},
	{"rebuild", "setup.mode", "setup "},
	{"wipe", "setup.method", "method "},
	{"hello", "env", "from "},
	{"node_accept", "name", "as "},
	{"report", "actual_identity", ""},
	{"role_put", "role_put.name", ""},
	{"role_remove", "name", ""},
	{"pool_put", "pool_put.name", ""},
	{"pool_remove", "name", ""},
	{"power", "op", ""},
	{"power_result", "power", "observed "},
	{"job_submit", "job", "job "},
	{"job_submit", "job_nodes", "nodes "},
	{"job_submit", "user", "user "},
	{"job_submit", "re", "RE "},
	{"job_hold", "job", "job "},
	{"re_use", "re", "RE "},
	{"re_use", "use_ppm", "millionths "},
	{"job_result", "job", "job "},
	{"job_cancel", "job", "job "},
};

static void put_clock(struct phx_buf *b, int64_t ms)
{
	time_t t = (time_t)(ms / 1000);
	struct tm tm;
	char text[40];
	localtime_r(&t, &tm);
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	phx_buf_addf(b, "%s.%03d", text, (int)(ms % 1000));
}

/* Empty, zero or false: nothing to tell. */
static bool nothing(const json_t *value)
{
	const char *text = json_string_value(value);
	if (text)
		return !*text;
	return !json_is_true(value) && json_integer_value(value) == 0;
}

static void put_detail(struct phx_buf *b, const struct detail *d, const json_t *event,
		       const char **separator)
{
	const json_t *value = cli_member(event, d->key);
	if (phx_str_starts(d->key, "setup.") && !phx_json_bool(event, "has_setup", false))
		return;
	if (nothing(value))
		return;
	phx_buf_addf(b, "%s%s", *separator, d->before);
	if (json_is_string(value))
		cli_put_clean(b, json_string_value(value));
	else if (json_is_integer(value))
		phx_buf_addf(b, "%lld", (long long)json_integer_value(value));
	*separator = ", ";
}

/* The phrase of the event table with the details that tell something. */
static void put_details(struct phx_buf *b, const char *kind, const json_t *row)
{
	const json_t *event = json_object_get(row, "event");
	const char *separator = ": ", *why = phx_json_str(event, "text", "");
	int64_t result = phx_json_int(event, "result", 0);
	if (phx_str_eq(kind, "power_result") && result >= 0 && *why) { /* "off: done" */
		phx_buf_addf(b, ": ");
		cli_put_clean(b, why);
		separator = ", ";
		why = "";
	}
	if (phx_str_eq(kind, "step_result"))
		phx_buf_addf(b, ": %s", phx_json_str(row, "step", "?"));
	for (size_t i = 0; i < PHX_ARRAY_SIZE(details); i++)
		if (phx_str_eq(details[i].kind, kind))
			put_detail(b, &details[i], event, &separator);
	phx_buf_addf(b, "%s", result < 0 ? ", failed" : "");
	if (*why || result < 0)
		phx_buf_addf(b, ": ");
	cli_put_clean(b, *why ? why : result < 0 ? strerror((int)-result) : "");
}

/* What phxd noted of the event, or the phrase for its kind with details. */
static void put_sentence(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)value;
	const char *kind = phx_json_str(row, "kind", ""), *text = phx_json_str(row, "text", "");
	const char *phrase = kind;
	int number;
	if (phx_enum_parse(&phx_event_kind_names, kind, &number, NULL) == 0)
		phrase = phx_event_text((enum phx_event_kind)number);
	bool note = *text && !phx_str_eq(text, phrase);
	cli_put_clean(b, note ? cli_without_name(text, phx_json_str(row, "node", "")) : phrase);
	if (!note)
		put_details(b, kind, row);
}

/* Which role an order gives, where what it came to does not say it. */
static void put_role(struct phx_buf *b, const json_t *ev, const char *note)
{
	const char *role = phx_json_str(json_object_get(ev, "event"), "role", "");
	if (!phx_str_eq(phx_json_str(ev, "kind", ""), "assign") || !*role || strstr(note, role))
		return;
	phx_buf_addf(b, ", role ");
	cli_put_clean(b, role);
}

/* "... ordered by uid:0" has said it. */
static bool names_whom(const char *sentence, const char *by)
{
	const char *at = strstr(sentence, by);
	return at && at - sentence >= 3 && !strncmp(at - 3, "by ", 3);
}

/* One line: of the event, or of one of its notes, which then stands for it. */
static void print_line(const json_t *ev, const char *node, const char *note)
{
	const char *by = phx_json_str(ev, "by", "");
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	put_clock(&b, phx_json_int(ev, "time_ms", 0));
	phx_buf_addf(&b, "  ");
	cli_put_clean(&b, node);
	phx_buf_addf(&b, "%s", *node ? ": " : "");
	if (note)
		cli_put_clean(&b, cli_without_name(note, node));
	else
		put_sentence(&b, NULL, ev);
	if (note && phx_str_eq(node, phx_json_str(ev, "node", "")))
		put_role(&b, ev, note);
	if (*by && !phx_str_eq(by, "phxd") && !phx_str_starts(by, "node:") &&
	    !(b.data && names_whom(b.data, by)))
		phx_buf_addf(&b, " (by %s)", by);
	printf("%s\n", b.data ? b.data : "");
}

/* All that came of it, a line each under the node that it came to: what caused it stands above. An
 * event without a word about its own node says first what it is. */
static void print_event(const json_t *ev)
{
	const json_t *notes = json_object_get(ev, "notes");
	const char *node = phx_json_str(ev, "node", "");
	size_t i;
	json_t *note;
	bool own = false;
	json_array_foreach((json_t *)notes, i, note)
		own |= phx_str_eq(phx_json_str(note, "node", ""), node);
	if (!own)
		print_line(ev, node, NULL);
	json_array_foreach((json_t *)notes, i, note)
		print_line(ev, phx_json_str(note, "node", ""), phx_json_str(note, "text", ""));
}

static void put_when(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)row;
	put_clock(b, json_integer_value(value));
}

static const struct cli_column columns[] = {
	{.head = "SEQ", .path = "seq", .right = true},
	{.head = "TIME", .path = "time_ms", .put = put_when},
	{.head = "NODE", .path = "node"},
	{.head = "KIND", .path = "kind"},
	{.head = "BY", .path = "by"},
	{.head = "TEXT", .path = "", .put = put_sentence},
};

/* What kind of step ended, as far as the plan of its node still says; else "step 12". malloc'd. */
static char *step_name(const json_t *by_name, const json_t *ev)
{
	int64_t id = phx_json_int(json_object_get(ev, "event"), "step_id", 0);
	const json_t *plan =
		json_object_get(json_object_get(by_name, phx_json_str(ev, "node", "")), "plan");
	size_t i;
	json_t *step;
	json_array_foreach(json_object_get(plan, "steps"), i, step) {
		if (phx_json_int(step, "id", 0) == id)
			return strdup(phx_json_str(step, "kind", "?"));
	}
	return phx_path("step %lld", (long long)id);
}

static bool is_step_end(const json_t *ev)
{
	return phx_str_eq(phx_json_str(ev, "kind", ""), "step_result");
}

/* Give each end of a step the member "step". */
static void name_steps(struct cli *cli, json_t *events)
{
	PHX_AUTO_JSON json_t *nodes = NULL;
	PHX_AUTO(phx_nodeset_fini) struct phx_nodeset names = {0};
	size_t i;
	json_t *ev;
	json_array_foreach(events, i, ev)
		if (is_step_end(ev))
			phx_nodeset_add(&names, phx_json_str(ev, "node", ""));
	if (!names.n || cli_nodes_get(cli, &names, "name,plan", &nodes) != CLI_OK)
		return;
	PHX_AUTO_JSON json_t *by_name = cli_nodes_by_name(nodes);
	json_array_foreach(events, i, ev) {
		if (!is_step_end(ev))
			continue;
		PHX_AUTO_FREE char *name = step_name(by_name, ev);
		json_object_set_new(ev, "step", json_string(name ? name : "?"));
	}
}

/* A look at the clock after which nothing was decided. People are not told; programs get every
 * event. */
static void drop_idle_ticks(const struct cli *cli, json_t *events)
{
	const char *phrase = phx_event_text(PHX_EV_tick);
	for (size_t i = json_array_size(events); cli->format == CLI_TABLE && i-- > 0;) {
		const json_t *ev = json_array_get(events, i);
		const char *text = phx_json_str(ev, "text", "");
		if (phx_str_eq(phx_json_str(ev, "kind", ""), "tick") &&
		    (!*text || phx_str_eq(text, phrase)))
			json_array_remove(events, i);
	}
}

/* Who asks for one node is told what came to it, also of an event of another. */
static void turn_to(const char *name, json_t *events)
{
	size_t i, k;
	json_t *ev, *note;
	json_array_foreach(events, i, ev) {
		if (phx_str_eq(phx_json_str(ev, "node", ""), name))
			continue;
		json_t *own = json_array();
		json_array_foreach(json_object_get(ev, "notes"), k, note) {
			if (!phx_str_eq(phx_json_str(note, "node", ""), name))
				continue;
			json_array_append(own, note);
			json_object_set(ev, "text", json_object_get(note, "text"));
		}
		json_object_set_new(ev, "notes", own);
		json_object_set_new(ev, "node", json_string(name));
	}
}

static void print_json(const char *text)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	cli_put_json(&b, text);
	printf("%s\n", b.data ? b.data : "");
}

/* Print a batch: sentences, or as the format says (JSON: an object a line, so that a stream can be
 * read). */
static int print_batch(struct cli *cli, json_t *events)
{
	size_t i;
	json_t *ev;
	drop_idle_ticks(cli, events);
	if (!cli_structured(cli) && cli_has(cli, CLI_OPT_node))
		turn_to(cli_opt(cli, CLI_OPT_node, ""), events);
	if (!cli_structured(cli))
		name_steps(cli, events);
	if (cli->format != CLI_TABLE && !cli_structured(cli)) {
		int code = cli_print_rows(cli, columns, PHX_ARRAY_SIZE(columns), events, events);
		cli->args.opt[CLI_OPT_no_header].n = 1; /* a stream has one heading */
		return code;
	}
	if (cli->format == CLI_YAML && json_array_size(events))
		return cli_print_value(cli, events);
	json_array_foreach(events, i, ev) {
		PHX_AUTO_FREE char *line = cli->format == CLI_JSON ? phx_json_text(ev) : NULL;
		if (line)
			print_json(line);
		else if (cli->format == CLI_TABLE)
			print_event(ev);
	}
	return CLI_OK;
}

static int get_batch(struct cli *cli, int64_t after, int seconds, json_t **ret, struct phx_err *err)
{
	return cli_events(cli, cli_opt(cli, CLI_OPT_node, NULL), after, seconds, ret, err);
}

/* How far phxd has looked: it ends a batch early where there is much that is not for us. */
static int64_t last_seq(const json_t *answer, int64_t fallback)
{
	const json_t *events = json_object_get(answer, "events");
	size_t n = json_array_size(events);
	int64_t listed =
		n ? phx_json_int(json_array_get(events, n - 1), "seq", fallback) : fallback;
	int64_t last = phx_json_int(answer, "last", listed);
	return last > listed ? last : listed;
}

/* Everything after *after, in batches; the last `keep` of it are printed (0: all). */
static int print_past(struct cli *cli, int64_t *after, size_t keep)
{
	PHX_AUTO_JSON json_t *kept = json_array();
	for (;;) {
		PHX_AUTO_JSON json_t *answer = NULL;
		struct phx_err err = {0};
		int code = get_batch(cli, *after, 0, &answer, &err);
		if (code)
			return err.text[0] ? cli_fail(code, "%s", err.text) : code;
		const json_t *events = json_object_get(answer, "events");
		json_array_extend(kept, (json_t *)events);
		while (keep && json_array_size(kept) > keep)
			json_array_remove(kept, 0);
		*after = last_seq(answer, *after);
		if (!phx_json_bool(answer, "more", false))
			return print_batch(cli, kept);
	}
}

static int follow(struct cli *cli, int64_t after)
{
	bool away = false;
	struct phx_again again = cli_away_again();
	int code = cli_follow_begin(cli);
	if (code)
		return code;
	while (!cli_nobody_reads(away ? phx_again_ms(&again) : 0)) {
		PHX_AUTO_JSON json_t *answer = NULL;
		struct phx_err err = {0};
		code = get_batch(cli, after, FOLLOW_SECONDS, &answer, &err);
		if (cli_nobody_reads(0))
			break;
		if (code && !cli_passes(code))
			return cli_fail(code, "%s", err.text);
		cli_tell_away(&away, code, &err);
		json_t *events = json_object_get(answer, "events");
		after = last_seq(answer, after);
		print_batch(cli, events);
		if (!away)
			again.last_ms = 0;
	}
	return CLI_OK; /* what could not be written, main tells */
}

/* Older events than there are were asked for: from when on they are kept. */
static void tell_first(const json_t *status, int64_t after)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf when = {0};
	int64_t first = phx_json_int(status, "first_seq", 0);
	if (first <= after + 1)
		return;
	put_clock(&when, phx_json_int(status, "first_ms", 0));
	fprintf(stderr,
		"phx: the journal begins with event %lld of %s; older events are not kept\n",
		(long long)first, when.data ? when.data : "?");
}

int cmd_events(struct cli *cli)
{
	uint64_t lines = LINES;
	phx_u64_parse(cli_opt(cli, CLI_OPT_lines, ""), 0, UINT32_MAX, &lines);
	PHX_AUTO_JSON json_t *status = NULL;
	int code = cli_get(cli, "/v1/status", &status);
	if (code)
		return code;
	int64_t seq = phx_json_int(status, "seq", 0), after = 0;
	/* of one node, the last ones may lie far back */
	if (lines && !cli_has(cli, CLI_OPT_node) && seq > (int64_t)lines)
		after = seq - (int64_t)lines;
	tell_first(status, after);
	code = print_past(cli, &after, (size_t)lines);
	return code || !cli_has(cli, CLI_OPT_follow) ? code : follow(cli, after);
}
