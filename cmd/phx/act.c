/* Commands that change nodes: names first, then the dry run or the question,
 * then the order, then waiting and the report.
 *
 *   select ─▶ (dry run: print plans) ─▶ permit ─▶ POST ─▶ (wait) ─▶ report
 *
 * An unknown name stops the command before anything is ordered. */
#include <string.h>

#include "base/json.h"
#include "phx/cli.h"

enum { FORCE_ABOVE = 16 };

/* ---- permission ---- */

int cli_confirm(struct cli *cli, const char *question, size_t n)
{
	if (n > FORCE_ABOVE && !cli_has(cli, CLI_OPT_force))
		return cli_fail(CLI_USAGE, "%s: %zu nodes are more than %d; that needs --force",
				question, n, FORCE_ABOVE);
	if (cli_has(cli, CLI_OPT_yes))
		return CLI_OK;
	if (!cli->ask)
		return cli_fail(
			CLI_USAGE,
			"%s: this cannot be undone and needs --yes where there is no terminal",
			question);
	fprintf(stderr, "phx: %s? Type yes to go on: ", question);
	char line[16] = "";
	if (fgets(line, sizeof(line), stdin) &&
	    (phx_str_eq(line, "yes\n") || phx_str_eq(line, "y\n")))
		return CLI_OK;
	return cli_fail(CLI_USAGE, "nothing was done");
}

/* Is there something on the node that somebody uses? */
static bool in_use(const json_t *node)
{
	static const char *const idle[] = {"new", "commissioning", "ready"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(idle); i++)
		if (phx_str_eq(phx_json_str(node, "state", ""), idle[i]))
			return false;
	return true;
}

static int post(struct cli *cli, const char *action, const json_t *body, bool dry_run, json_t **ret)
{
	PHX_AUTO_FREE char *path = NULL;
	if (asprintf(&path, "/v1/actions/%s", action) < 0)
		return cli_fail(CLI_PARTIAL, "out of memory");
	PHX_AUTO_JSON json_t *copy = json_copy((json_t *)body);
	if (dry_run)
		json_object_set_new(copy, "dry_run", json_true());
	return cli_call(cli, "POST", path, copy, ret);
}

/* Names of nodes in use whose disk the order would erase or rewrite, and what else ends by it. */
static int find_ended(struct cli *cli, const char *action, const json_t *nodes, const json_t *body,
		      json_t *ret_destroyed, struct cli_ends *ret)
{
	PHX_AUTO_JSON json_t *answer = NULL, *by_name = cli_nodes_by_name(nodes);
	PHX_AUTO_JSON json_t *question = json_copy((json_t *)body);
	json_object_set_new(question, "ends_only", json_true());
	int code = post(cli, action, question, true, &answer);
	size_t i;
	json_t *result;
	json_array_foreach(json_object_get(answer, "results"), i, result) {
		const char *name = phx_json_str(result, "node", "");
		cli_ends_add(ret, result);
		if (cli_plan_destroys(json_object_get(result, "plan")) &&
		    in_use(json_object_get(by_name, name)))
			json_array_append_new(ret_destroyed, json_string(name));
	}
	return code;
}

/* "rebuild n1: job 12 of alice ends"; what is asked, as one sentence. */
static void put_question(struct phx_buf *b, const char *verb, const json_t *nodes,
			 const json_t *destroyed, const struct cli_ends *ends)
{
	phx_buf_addf(b, "%s", verb);
	if (nodes) {
		PHX_AUTO_FREE char *folded = cli_nodes_fold(nodes);
		phx_buf_addf(b, " %s", folded ? folded : "?");
	}
	if (json_array_size(destroyed) && !nodes) {
		PHX_AUTO_FREE char *folded = cli_nodes_fold(destroyed);
		phx_buf_addf(b, ": the disks of %s are in use and will be erased",
			     folded ? folded : "?");
	}
	if (cli_ends_any(ends))
		phx_buf_addf(b, json_array_size(destroyed) && !nodes ? "; " : ": ");
	cli_ends_put(b, ends);
}

/* May it be done? What was agreed to goes with the order: phxd refuses where something else would
 * end by now. */
static int permit(struct cli *cli, const char *action, const json_t *nodes, json_t *body,
		  enum cli_danger danger, const char *verb)
{
	PHX_AUTO_JSON json_t *destroyed = json_array();
	PHX_AUTO(cli_ends_fini) struct cli_ends ends;
	PHX_AUTO(phx_buf_fini) struct phx_buf question = {0};
	bool yes = cli_has(cli, CLI_OPT_yes), always = danger == CLI_ALWAYS;
	cli_ends_init(&ends);
	if (danger == CLI_SAFE)
		return CLI_OK;
	int code = always && yes ? CLI_OK : find_ended(cli, action, nodes, body, destroyed, &ends);
	if (code)
		return code;
	json_object_set_new(body, "kill_jobs", yes ? json_true() : cli_ends_ids(&ends));
	if (!always && !json_array_size(destroyed) && !cli_ends_any(&ends))
		return CLI_OK;
	put_question(&question, verb, always ? nodes : NULL, destroyed, &ends);
	size_t n = json_array_size(destroyed) > ends.n_nodes ? json_array_size(destroyed)
							     : ends.n_nodes;
	return cli_confirm(cli, question.data ? question.data : verb,
			   always ? json_array_size(nodes) : n);
}

/* ---- results ---- */

/* Sort results into failures and what goes on; say what was ordered. Returns the number of nodes
 * told to try again. */
static unsigned sort_results(const json_t *results, struct cli_report *report, json_t *ret_going)
{
	unsigned busy = 0;
	PHX_AUTO_JSON json_t *already = json_array();
	size_t i;
	json_t *result;
	json_array_foreach((json_t *)results, i, result) {
		int64_t code = phx_json_int(result, "code", 0);
		const char *node = phx_json_str(result, "node", "?");
		const char *text = phx_json_str(result, "error", "");
		if (code < 0) {
			cli_report_add(report, node, *text ? text : strerror((int)-code));
			busy += cli_exit_of((int)code) == CLI_TRY_AGAIN;
			continue;
		}
		json_array_append(ret_going, result);
		if (*phx_json_str(result, "text", ""))
			fprintf(stderr, "phx: %s\n", phx_json_str(result, "text", ""));
		if (!phx_json_bool(result, "changed", true))
			json_array_append_new(already, json_string(node));
	}
	if (json_array_size(already)) {
		PHX_AUTO_FREE char *folded = cli_nodes_fold(already);
		fprintf(stderr, "phx: %s: this is so already\n", folded ? folded : "?");
	}
	return busy;
}

int cli_results(const json_t *results)
{
	PHX_AUTO(cli_report_fini) struct cli_report report = {0};
	PHX_AUTO_JSON json_t *going = json_array();
	unsigned busy = sort_results(results, &report, going);
	cli_report_print(&report);
	if (busy && busy == json_array_size(results))
		return CLI_TRY_AGAIN;
	if (report.n_failed && json_array_size(results) == 1)
		return cli_exit_of((int)phx_json_int(json_array_get(results, 0), "code", 0));
	return report.n_failed ? CLI_PARTIAL : CLI_OK;
}

/* What has no plan is done at once: say so. */
static void print_at_once(const json_t *results, const char *verb)
{
	PHX_AUTO_JSON json_t *would = json_array(), *already = json_array();
	size_t i;
	json_t *result;
	json_array_foreach((json_t *)results, i, result) {
		if (phx_json_int(result, "code", 0) >= 0)
			json_array_append(phx_json_bool(result, "changed", true) ? would : already,
					  json_object_get(result, "node"));
	}
	PHX_AUTO_FREE char *now = cli_nodes_fold(would), *so = cli_nodes_fold(already);
	if (json_array_size(would))
		printf("%s: %s at once, without steps\n", now ? now : "?", verb);
	if (json_array_size(already))
		printf("%s: this is so already\n", so ? so : "?");
}

/* What an order comes to that was tried on a copy: the plans that it begins, what is done at once,
 * and what is told of it. */
static int print_tried(struct cli *cli, const json_t *results, const char *verb)
{
	PHX_AUTO_JSON json_t *planned = json_array(), *rest = json_array();
	size_t i, k;
	json_t *result, *note;
	json_array_foreach((json_t *)results, i, result)
		json_array_append(json_is_object(json_object_get(result, "plan")) ? planned : rest,
				  result);
	print_at_once(rest, verb);
	int code = cli_plan_print(cli, planned);
	json_array_foreach((json_t *)results, i, result) {
		json_array_foreach(json_object_get(result, "notes"), k, note) {
			PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
			cli_put_clean(&b, json_string_value(note));
			printf("  %s\n", b.data ? b.data : "");
		}
	}
	cli_ends_print(rest, NULL);
	return code;
}

static bool has_plan(const char *action)
{
	static const char *const planned[] = {"assign", "release", "rebuild", "wipe",
					      "drain",  "reboot",  "check"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(planned); i++)
		if (phx_str_eq(planned[i], action))
			return true;
	return false;
}

static int print_dry_run(struct cli *cli, const char *action, const json_t *answer,
			 const char *verb)
{
	const json_t *results = json_object_get(answer, "results");
	if (cli_structured(cli))
		return cli_print_value(cli, answer);
	return has_plan(action) ? cli_plan_print(cli, results) : print_tried(cli, results, verb);
}

static int dry_run(struct cli *cli, const char *action, const json_t *body, const char *verb)
{
	PHX_AUTO_JSON json_t *answer = NULL;
	PHX_AUTO(cli_report_fini) struct cli_report report = {0};
	int code = post(cli, action, body, true, &answer);
	if (code)
		return code;
	const json_t *results = json_object_get(answer, "results");
	size_t i;
	json_t *result;
	json_array_foreach((json_t *)results, i, result) {
		if (phx_json_int(result, "code", 0) < 0)
			cli_report_add(&report, phx_json_str(result, "node", "?"),
				       phx_json_str(result, "error", "refused"));
	}
	code = print_dry_run(cli, action, answer, verb);
	cli_report_print(&report);
	return report.n_failed ? CLI_PARTIAL : code;
}

/* What leaves a node without a role: rules may give it one at once. */
static bool leaves_idle(const char *action)
{
	static const char *const idle[] = {"accept", "release", "resume", "wipe", "check"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(idle); i++)
		if (phx_str_eq(idle[i], action))
			return true;
	return false;
}

/* A question of the power state is answered only by its result. */
static bool waits(const struct cli *cli, const json_t *body)
{
	return cli_has(cli, CLI_OPT_wait) || phx_str_eq(phx_json_str(body, "op", ""), "status");
}

static int finish(struct cli *cli, const json_t *answer, const json_t *body, const char *action,
		  int64_t after)
{
	PHX_AUTO(cli_report_fini) struct cli_report report = {0};
	PHX_AUTO_JSON json_t *going = json_array();
	const json_t *results = json_object_get(answer, "results");
	unsigned busy = sort_results(results, &report, going);
	bool only_busy = busy && busy == json_array_size(results);
	int code = CLI_OK;
	if (cli_structured(cli))
		cli_print_value(cli, answer);
	if (waits(cli, body) && json_array_size(going)) {
		struct cli_goal goal = {
			.role = phx_str_eq(action, "assign") ? phx_json_str(body, "role", NULL)
							     : NULL,
			.power = phx_json_str(body, "op", NULL),
			.after = after,
			.gone = phx_str_eq(action, "rm"),
			.accepted = phx_str_eq(action, "accept"),
			.tells = phx_str_eq(action, "reboot") || phx_str_eq(action, "check"),
			.follows = leaves_idle(action) || phx_str_eq(action, "reboot"),
		};
		code = cli_wait(cli, going, &goal, &report);
	}
	cli_report_print(&report);
	if (code)
		return code;
	if (only_busy)
		return CLI_TRY_AGAIN;
	return report.n_failed ? CLI_PARTIAL : CLI_OK;
}

static int order(struct cli *cli, const char *action, const json_t *body)
{
	PHX_AUTO_JSON json_t *status = NULL, *answer = NULL;
	int code = waits(cli, body) ? cli_get(cli, "/v1/status", &status) : CLI_OK;
	if (!code)
		code = post(cli, action, body, false, &answer);
	return code ? code : finish(cli, answer, body, action, phx_json_int(status, "seq", 0));
}

void cli_warn_by_mac(const char *node)
{
	fprintf(stderr,
		"phx: warning: %s is known by its MAC address alone, which any machine of its "
		"network can take on: the first that "
		"asks with it is given the node's certificate. --ip or --token-file of phx node "
		"add keep others away, see phxd(8)\n",
		node);
}

static void warn_of_accepted(const json_t *nodes)
{
	size_t i;
	json_t *node;
	json_array_foreach((json_t *)nodes, i, node) {
		if (phx_json_bool(node, "by_mac_alone", false))
			cli_warn_by_mac(phx_json_str(node, "name", "?"));
	}
}

int cli_act(struct cli *cli, const char *action, const char *list, json_t *body,
	    enum cli_danger danger, const char *verb)
{
	PHX_AUTO_JSON json_t *nodes = NULL;
	int code = cli_nodes_select(cli, list, "name,state,by_mac_alone", &nodes);
	if (code)
		return code;
	if (!json_array_size(nodes)) {
		fprintf(stderr, "phx: %s names no node: nothing to do\n", list);
		return CLI_OK;
	}
	PHX_AUTO_FREE char *folded = cli_nodes_fold(nodes);
	json_object_set_new(body, "nodes", json_string(folded ? folded : ""));
	if (phx_str_eq(action, "accept"))
		warn_of_accepted(nodes);
	if (cli_has(cli, CLI_OPT_dry_run))
		return dry_run(cli, action, body, verb);
	code = permit(cli, action, nodes, body, danger, verb);
	return code ? code : order(cli, action, body);
}
