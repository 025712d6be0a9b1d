/* Waiting: follows node records and events until the plan of every node has
 * ended, failed, or the time is up. Orders nothing; a daemon that is restarted
 * meanwhile is waited for.
 *
 *   going ──▶ ended well      idle, wanted role held
 *         ──▶ failed          quarantined, last step failed, order replaced, node gone */
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "phx/cli.h"

enum { POLL_SECONDS = 3, PAUSE_MS = 150, CALL_SLACK_MS = 10000 };

/* One node that is waited for. */
struct going {
	const char *name; /* borrowed from the results */
	int64_t epoch;
	bool ended;
	bool heard;      /* the result of the power operation came */
	char error[256]; /* of the last step that ended badly, "" when it then went well */
	char now[64];    /* what it is at, for the progress line */
};

struct waiting {
	struct cli *cli;
	const struct cli_goal *goal;
	struct cli_report *report;
	struct going *nodes;
	size_t n, n_ended;
	int64_t after;            /* last event seen */
	int64_t begun_ms, end_ms; /* by phx_clock_ms(); end 0 = no limit */
	bool away;                /* the daemon did not answer */
};

static struct going *find_going(struct waiting *w, const char *name)
{
	for (size_t i = 0; i < w->n; i++)
		if (phx_str_eq(w->nodes[i].name, name))
			return &w->nodes[i];
	return NULL;
}

static void end_node(struct waiting *w, struct going *g, const char *error)
{
	g->ended = true;
	w->n_ended++;
	if (error)
		cli_report_add(w->report, g->name, *error ? error : "failed");
}

/* ---- events: why a step failed ---- */

/* Is it the end of a step of this order, or of the power operation ordered by hand? */
static bool is_result(const struct waiting *w, const struct going *g, const char *kind,
		      const json_t *details)
{
	static const char *const kinds[] = {"step_result", "power_result", "key_result"};
	const char *text = phx_json_str(details, "text", ""), *op = w->goal->power;
	bool any = false;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(kinds); i++)
		any |= phx_str_eq(kind, kinds[i]);
	if (!any)
		return false;
	if (op)
		return phx_json_int(details, "step_id", 0) == 0 && phx_str_starts(text, op);
	return phx_json_int(details, "step_id", 1) != 0 &&
		phx_json_int(details, "epoch", g->epoch) == g->epoch;
}

static void take_event(struct waiting *w, const json_t *ev)
{
	int64_t seq = phx_json_int(ev, "seq", 0);
	if (seq > w->after)
		w->after = seq;
	struct going *g = find_going(w, phx_json_str(ev, "node", ""));
	const json_t *details = json_object_get(ev, "event");
	if (!g || !is_result(w, g, phx_json_str(ev, "kind", ""), details))
		return;
	int64_t result = phx_json_int(details, "result", 0);
	g->heard = true;
	const char *text = phx_json_str(details, "text", "");
	if (result >= 0)
		g->error[0] = '\0';
	else
		snprintf(g->error, sizeof(g->error), "%s", *text ? text : strerror((int)-result));
}

static int poll_events(struct waiting *w, int seconds, struct phx_err *err)
{
	PHX_AUTO_JSON json_t *answer = NULL;
	int code = cli_events(w->cli, NULL, w->after, seconds, &answer, err);
	size_t i;
	json_t *ev;
	json_array_foreach(json_object_get(answer, "events"), i, ev)
		take_event(w, ev);
	int64_t last = phx_json_int(answer, "last", w->after); /* beyond what is not for us */
	w->after = last > w->after ? last : w->after;
	return code;
}

/* ---- node records: has the plan ended? ---- */

/* Is it over? Power operations follow no plan, and a node that was accepted has yet to enrol. */
static bool is_over(const struct waiting *w, const struct going *g, const char *state, bool busy)
{
	if (w->goal->power)
		return g->heard;
	bool enrols = phx_str_eq(state, "commissioning") ||
		(w->goal->accepted && phx_str_eq(state, "new"));
	return !busy && !enrols;
}

static void judge_idle(struct waiting *w, struct going *g, const json_t *node)
{
	const char *role = phx_json_str(node, "role", "");
	const char *back = phx_json_str(json_object_get(node, "plan"), "back", "");
	char text[400];
	if (*back) {
		snprintf(
			text, sizeof(text), "went back to %s: %s",
			phx_json_str(json_object_get(node, "plan"), "from_identity", "what it ran"),
			back);
		end_node(w, g, text);
	} else if (w->goal->role && !phx_str_eq(role, w->goal->role)) {
		snprintf(text, sizeof(text), "went back to %s%s%s", *role ? role : "no role",
			 g->error[0] ? ": " : "", g->error);
		end_node(w, g, text);
	} else {
		end_node(w, g, g->error[0] ? g->error : NULL);
	}
}

/* The head says when it waits no longer, and why that was in vain. */
static void judge_soft(struct waiting *w, struct going *g, const json_t *node)
{
	const char *failed = phx_json_str(node, "soft_failed", "");
	snprintf(g->now, sizeof(g->now), "%s", "its system ends");
	if (*failed)
		end_node(w, g, failed);
	else if (phx_str_eq(phx_json_str(node, "power", ""), "off"))
		end_node(w, g, NULL);
	else if (!phx_json_int(node, "soft_until_ms", 0))
		end_node(w, g, "another order took its place");
}

/* How the reason of a node begins that did not do what was ordered. */
static bool says_failed(const char *reason)
{
	static const char *const starts[] = {"its reboot failed", "its check failed",
					     "hand-over given up"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(starts); i++)
		if (phx_str_starts(reason, starts[i]))
			return true;
	return false;
}

static void judge(struct waiting *w, struct going *g, const json_t *node)
{
	const char *state = phx_json_str(node, "state", "");
	const json_t *plan = json_object_get(node, "plan");
	/* a plan that has ended stays to be read, its cursor behind the last step */
	bool busy = json_array_size(json_object_get(plan, "steps")) >
		(size_t)phx_json_int(plan, "cursor", 0);
	int64_t epoch = phx_json_int(plan, "epoch", 0);
	const json_t *turn = json_object_get(node, "turn");
	const char *stopped = phx_json_str(turn, "stopped", ""),
		   *reason = phx_json_str(node, "reason", "");
	PHX_AUTO(phx_buf_fini) struct phx_buf now = {0};
	if (busy)
		cli_plan_short(&now, plan);
	snprintf(g->now, sizeof(g->now), "%s", now.data ? now.data : state);
	if (phx_str_eq(state, "quarantined") && !w->goal->power) {
		char text[400];
		snprintf(text, sizeof(text), "quarantined: %s", *reason ? reason : g->error);
		end_node(w, g, text);
	} else if (w->goal->tells && !busy && says_failed(reason)) {
		end_node(w, g, reason);
	} else if (*stopped) {
		end_node(w, g, stopped);
	} else if (json_is_object(turn)) {
		snprintf(g->now, sizeof(g->now), "waits for its turn");
	} else if (busy && g->epoch && epoch > g->epoch && w->goal->follows) {
		g->epoch = epoch; /* ours has ended, and a rule has given it a role */
		g->error[0] = '\0';
	} else if (busy && g->epoch && epoch > g->epoch) {
		end_node(w, g, "another order took its place");
	} else if (is_over(w, g, state, busy)) {
		judge_idle(w, g, node);
	}
}

static int poll_nodes(struct waiting *w, struct phx_err *err)
{
	PHX_AUTO_JSON json_t *nodes = NULL;
	PHX_AUTO(phx_nodeset_fini) struct phx_nodeset names = {0};
	for (size_t i = 0; i < w->n; i++)
		if (!w->nodes[i].ended)
			phx_nodeset_add(&names, w->nodes[i].name);
	if (!names.n)
		return CLI_OK;
	int code = cli_nodes_ask(w->cli, &names,
				 "name,state,role,plan,reason,power,soft_until_ms,soft_failed,turn",
				 CALL_SLACK_MS, &nodes, err);
	PHX_AUTO_JSON json_t *by_name = cli_nodes_by_name(nodes);
	for (size_t i = 0; !code && i < w->n; i++) {
		struct going *g = &w->nodes[i];
		const json_t *node = json_object_get(by_name, g->name);
		if (g->ended)
			continue;
		if (node && phx_str_eq(w->goal->power ? w->goal->power : "", "soft"))
			judge_soft(w, g, node);
		else if (node)
			judge(w, g, node);
		else
			end_node(w, g, w->goal->gone ? NULL : "the node is gone");
	}
	return code;
}

/* ---- progress ---- */

/* "2/4 done, 12.0 s; image 4/9: node[1-2]" in one line of the terminal. */
static void show_progress(const struct waiting *w)
{
	if (!w->cli->progress)
		return;
	PHX_AUTO_JSON json_t *groups = json_object();
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	for (size_t i = 0; i < w->n; i++) {
		const struct going *g = &w->nodes[i];
		if (g->ended)
			continue;
		if (!json_object_get(groups, g->now))
			json_object_set_new(groups, g->now, json_array());
		json_array_append_new(json_object_get(groups, g->now), json_string(g->name));
	}
	phx_buf_addf(&b, "%zu/%zu done, ", w->n_ended, w->n);
	cli_put_duration(&b, phx_clock_ms() - w->begun_ms);
	if (w->away)
		phx_buf_addf(&b, "; phxd does not answer");
	const char *now;
	json_t *names;
	json_object_foreach(groups, now, names) {
		PHX_AUTO_FREE char *folded = cli_nodes_fold(names);
		phx_buf_addf(&b, "; %s: %s", now, folded ? folded : "?");
	}
	struct winsize size = {0};
	int width = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20
		? size.ws_col - 1
		: 79;
	fprintf(stderr, "\r\033[K%.*s", width, b.data ? b.data : "");
}

static void end_progress(const struct waiting *w)
{
	if (w->cli->progress)
		fputs("\r\033[K", stderr);
}

/* ---- the loop ---- */

static int seconds_left(const struct waiting *w)
{
	if (!w->end_ms)
		return POLL_SECONDS;
	int64_t left = (w->end_ms - phx_clock_ms() + 999) / 1000;
	return left < 0 ? 0 : left < POLL_SECONDS ? (int)left : POLL_SECONDS;
}

static bool time_is_up(const struct waiting *w)
{
	return w->end_ms && phx_clock_ms() >= w->end_ms;
}

static void told_away(struct waiting *w, int code, const struct phx_err *err)
{
	if (code && !w->away && !w->cli->progress)
		fprintf(stderr, "phx: %s; still waiting\n", err->text);
	w->away = code != CLI_OK;
}

static int fail_timeout(const struct waiting *w)
{
	PHX_AUTO_JSON json_t *open = json_array();
	for (size_t i = 0; i < w->n; i++)
		if (!w->nodes[i].ended)
			json_array_append_new(open, json_string(w->nodes[i].name));
	PHX_AUTO_FREE char *folded = cli_nodes_fold(open);
	return cli_fail(CLI_TIMEOUT, "%s: this is not done in time; it goes on",
			folded ? folded : "?");
}

static int follow(struct waiting *w)
{
	struct phx_again again = cli_away_again();
	while (w->n_ended < w->n) {
		struct phx_err err = {0};
		int code = poll_events(w, w->away ? 0 : w->begun_ms ? seconds_left(w) : 0, &err);
		if (code == CLI_OK)
			code = poll_nodes(w, &err);
		if (code == CLI_NOT_PERMITTED || code == CLI_CONFIG || code == CLI_USAGE) {
			end_progress(w);
			return cli_fail(code, "%s", err.text);
		}
		told_away(w, code, &err);
		show_progress(w);
		if (w->n_ended < w->n && time_is_up(w))
			break;
		if (code)
			phx_again(&again, w->end_ms ? w->end_ms : INT64_MAX);
		else
			phx_sleep_ms(PAUSE_MS); /* events that come together are looked at once */
	}
	end_progress(w);
	return w->n_ended < w->n ? fail_timeout(w) : CLI_OK;
}

static void tell_done(const struct waiting *w)
{
	size_t n_good = w->n > w->report->n_failed ? w->n - w->report->n_failed : 0;
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	cli_put_duration(&b, phx_clock_ms() - w->begun_ms);
	bool query = w->goal->power && phx_str_eq(w->goal->power, "status");
	if (n_good && !query)
		fprintf(stderr, "phx: %zu of %zu nodes are done after %s\n", n_good, w->n,
			b.data ? b.data : "?");
}

int cli_wait(struct cli *cli, const json_t *results, const struct cli_goal *goal,
	     struct cli_report *report)
{
	struct waiting w = {
		.cli = cli, .goal = goal, .report = report, .n = json_array_size(results)};
	struct going *nodes = calloc(w.n ? w.n : 1, sizeof(*nodes));
	if (!nodes)
		return cli_fail(CLI_PARTIAL, "out of memory");
	for (size_t i = 0; i < w.n; i++) {
		const json_t *result = json_array_get(results, i);
		nodes[i].name = phx_json_str(result, "node", "?");
		nodes[i].epoch = phx_json_int(result, "epoch", 0);
	}
	uint64_t seconds = 0;
	phx_duration_parse(cli_opt(cli, CLI_OPT_timeout, "0"), &seconds);
	w.nodes = nodes;
	w.after = goal->after;
	w.begun_ms = phx_clock_ms();
	w.end_ms = seconds ? w.begun_ms + (int64_t)seconds * 1000 : 0;
	unsigned failed_before = report->n_failed;
	int code = follow(&w);
	if (code == CLI_OK && report->n_failed - failed_before < w.n)
		tell_done(&w);
	free(nodes);
	return code;
}
