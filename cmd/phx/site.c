/* phx site: settings of the site, read here, checked, compared and handed to phxd, which keeps
 * them. Nothing is sent that is wrong. */
#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "base/spawn.h"
#include "config/site.h"
#include "phx/cli.h"

enum { VISUDO_MS = 10000, HOLD_S = 5, SLACK_MS = 10000 };

static void say(void *arg, const char *text)
{
	(void)arg;
	cli_fail(CLI_CONFIG, "%s", text);
}

/* ---- sudo ---- */

/* 0: right, or nobody here can tell; else how many complaints. */
static int check_rules(const struct phx_site *s, const struct phx_site_user *u, bool *told)
{
	static const char *const programs[] = {"visudo", "/usr/sbin/visudo"};
	PHX_AUTO_FREE char *text = phx_site_sudoers(s, u);
	struct phx_run_result result = {0};
	int r = -ENOENT;
	for (size_t i = 0; text && i < PHX_ARRAY_SIZE(programs) && r == -ENOENT; i++) {
		const char *const argv[] = {programs[i], "-c", "-f", "-", NULL};
		const struct phx_run run = {.argv = argv, .input = text, .timeout_ms = VISUDO_MS};
		r = phx_run(&run, &result, NULL);
	}
	if (r < 0 && !*told)
		fprintf(stderr,
			"phx: warning: there is no visudo here: rules of sudo are not "
			"checked\n");
	*told = *told || r < 0;
	bool wrong = r == 0 && result.status;
	if (wrong)
		cli_fail(CLI_CONFIG, "%s: user %s: visudo refuses his sudo_rules: %.*s", u->place,
			 u->name, (int)strcspn(result.errout, "\n"), result.errout);
	phx_run_result_fini(&result);
	return wrong;
}

static int check_sudo(const struct phx_site *s)
{
	bool told = false;
	int wrong = 0;
	PHX_LIST_EACH(struct phx_site_user, u, &s->users)
		wrong += u->sudo_rules.n ? check_rules(s, u, &told) : 0;
	return wrong;
}

/* ---- reading ---- */

/* Checked settings; an exit code, told. */
static int load(struct cli *cli, const char **ret_dir, struct phx_site *ret)
{
	struct phx_err err = {0};
	const struct phx_config *cfg = cli_arg(cli, 0) ? NULL : cli_config(cli);
	if (!cli_arg(cli, 0) && !cfg)
		return CLI_CONFIG;
	const char *dir = cfg ? cfg->site_dir : cli_arg(cli, 0);
	int r = phx_site_load(dir, say, NULL, ret, &err);
	if (r < 0)
		return cli_fail(CLI_CONFIG, "%s", err.text[0] ? err.text : strerror(-r));
	int wrong = r;
	if (r == 0 && (wrong = check_sudo(ret)) > 0)
		phx_record_fini(&phx_site_record, ret);
	*ret_dir = dir;
	return wrong ? CLI_CONFIG : CLI_OK;
}

int cmd_site_check(struct cli *cli)
{
	struct phx_site site;
	const char *dir;
	int code = load(cli, &dir, &site);
	if (code)
		return code;
	if (site.profiles.n || site.nodes.n)
		fprintf(stderr,
			"phx: whether every node has the variables of its files, phx site "
			"diff asks the head\n");
	printf("%s: %u users, %u groups, %u networks and %u files are right\n", dir, site.users.n,
	       site.groups.n, site.networks.n, site.files.n);
	phx_record_fini(&phx_site_record, &site);
	return CLI_OK;
}

/* ---- handing over ---- */

static int print_answer(struct cli *cli, const json_t *answer, bool dry_run)
{
	const json_t *errors = json_object_get(answer, "errors"),
		     *changes = json_object_get(answer, "changes");
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	int64_t portion = phx_json_int(answer, "portion", 0);
	size_t i;
	json_t *text;
	json_array_foreach((json_t *)errors, i, text)
		cli_fail(CLI_CONFIG, "%s", json_string_value(text));
	if (cli_structured(cli))
		return cli_print_value(cli, answer) ? CLI_PARTIAL : i ? CLI_CONFIG : CLI_OK;
	if (i)
		return CLI_CONFIG;
	json_array_foreach((json_t *)changes, i, text) {
		cli_put_line(&b, json_string_value(text));
		phx_buf_addf(&b, "\n");
	}
	phx_buf_addf(&b, "%s\n",
		     phx_json_bool(answer, "applied", false) ? portion
				     ? "told to the first nodes: phx site show says how far it is"
				     : "applied"
			     : dry_run && i ? "nothing is applied yet: phx site apply"
			     : dry_run      ? "nothing would change"
					    : "nothing has changed");
	if (portion && dry_run && i)
		phx_buf_addf(&b, "%lld nodes would be told at once\n", (long long)portion);
	fputs(b.data ? b.data : "", stdout);
	return CLI_OK;
}

/* How many nodes are told at once. */
static int add_batch(struct cli *cli, json_t *body)
{
	uint64_t n = 0;
	bool batch = cli_has(cli, CLI_OPT_batch);
	if (!batch && (cli_has(cli, CLI_OPT_max_failures) || cli_has(cli, CLI_OPT_wait)))
		return cli_fail(CLI_USAGE, "--max-failures and --wait are of --batch");
	if (phx_u64_parse(cli_opt(cli, CLI_OPT_max_failures, "0"), 0, UINT32_MAX, &n) < 0)
		return cli_fail(CLI_USAGE, "--max-failures: a number of nodes");
	if (!batch)
		return CLI_OK;
	json_object_set_new(body, "batch", json_string(cli_opt(cli, CLI_OPT_batch, "")));
	json_object_set_new(body, "max_failures", json_integer((json_int_t)n));
	return CLI_OK;
}

/* No other portion begins: an exit code, and why it is not 0. */
static int portions_over(const json_t *site)
{
	const char *stopped = phx_json_str(site, "stopped", "");
	if (*stopped)
		return cli_fail(CLI_PARTIAL, "%s; %lld nodes wait and keep what they have", stopped,
				(long long)phx_json_int(cli_member(site, "nodes"), "waiting", 0));
	if (phx_json_int(site, "failed", 0))
		return cli_fail(CLI_PARTIAL, "%lld nodes failed: phx events",
				(long long)phx_json_int(site, "failed", 0));
	return CLI_OK;
}

/* Until the journal has gone on, or some seconds, at most until end_ms. */
static int hold(struct cli *cli, int64_t *after, int64_t end_ms)
{
	struct phx_err err = {0};
	PHX_AUTO_JSON json_t *answer = NULL;
	int left_s = cli_hold_s(end_ms), seconds = left_s < HOLD_S ? left_s : HOLD_S;
	int code = cli_events(cli, NULL, *after, seconds, &answer, &err);
	*after = phx_json_int(answer, "last", *after);
	return code == CLI_OK || cli_passes(code) ? CLI_OK : cli_fail(code, "%s", err.text);
}

static int wait_for_portions(struct cli *cli)
{
	int64_t end_ms = cli_deadline_ms(cli), after = INT64_MAX;
	struct phx_again again = cli_away_again();
	for (;;) {
		PHX_AUTO_JSON json_t *site = NULL, *status = NULL;
		struct phx_err err = {0};
		int64_t asked_ms = phx_clock_ms();
		int code = cli_call_quiet(cli, "GET", "/v1/status", NULL, SLACK_MS, &status, &err);
		code = code ? code
			    : cli_call_quiet(cli, "GET", "/v1/site", NULL, SLACK_MS, &site, &err);
		if (code && !cli_passes(code))
			return cli_fail(code, "%s", err.text);
		if (!code && (!phx_json_int(site, "last", 0) || *phx_json_str(site, "stopped", "")))
			return portions_over(site);
		if (phx_clock_ms() >= end_ms)
			return cli_fail(CLI_TIMEOUT, "it is not over yet: phx site show");
		after = phx_json_int(status, "seq", after);
		code = hold(cli, &after, end_ms);
		if (code)
			return code;
		cli_pause(&again, asked_ms, end_ms);
	}
}

static int hand_over(struct cli *cli, bool dry_run)
{
	struct phx_site site;
	const char *dir;
	PHX_AUTO_JSON json_t *answer = NULL, *body = NULL;
	int code = load(cli, &dir, &site);
	if (code)
		return code;
	body = json_pack("{s:o,s:b,s:b}", "site", phx_json_from_record(&phx_site_record, &site),
			 "dry_run", dry_run, "again", cli_has(cli, CLI_OPT_again));
	phx_record_fini(&phx_site_record, &site);
	if (!body)
		return cli_fail(CLI_PARTIAL, "out of memory");
	code = add_batch(cli, body);
	code = code ? code : cli_call(cli, "POST", "/v1/site", body, &answer);
	code = code ? code : print_answer(cli, answer, dry_run);
	return code || dry_run || !cli_has(cli, CLI_OPT_wait) ? code : wait_for_portions(cli);
}

int cmd_site_diff(struct cli *cli)
{
	return hand_over(cli, true);
}

int cmd_site_apply(struct cli *cli)
{
	return hand_over(cli, cli_has(cli, CLI_OPT_dry_run));
}

/* ---- what is in force ---- */

/* As long as they are under way. */
static void put_portion(struct phx_buf *b, const json_t *value, const json_t *site)
{
	if (phx_json_int(site, "last", 0))
		phx_buf_addf(b, "%lld", (long long)json_integer_value(value));
}

static const struct cli_column lines[] = {
	{.head = "Version", .path = "digest", .put = cli_put_digest},
	{.head = "Applied", .path = "at_ms", .put = cli_put_when},
	{.head = "  by", .path = "by"},
	{.head = "Users", .path = "users"},
	{.head = "Groups", .path = "groups"},
	{.head = "Files", .path = "files"},
	{.head = "Nodes", .path = "nodes.current"},
	{.head = "  waiting", .path = "nodes.waiting"},
	{.head = "  applying", .path = "nodes.applying"},
	{.head = "  failed", .path = "nodes.failed"},
	{.head = "Portions of", .path = "portion", .put = put_portion},
	{.head = "Stopped", .path = "stopped"},
};

static const struct cli_column origins[] = {
	{.head = "SETTING", .path = "key"},
	{.head = "NAME", .path = "name"},
	{.head = "VALUE", .path = "value"},
	{.head = "FROM", .path = "from"},
};

/* What counts for one node, and where it is written. */
static int show_node(struct cli *cli, const char *node)
{
	PHX_AUTO_JSON json_t *answer = NULL;
	PHX_AUTO_FREE char *path = NULL;
	if (!phx_name_valid(node))
		return cli_fail(CLI_USAGE, "'%s' is no name of a node", node);
	if (asprintf(&path, "/v1/site/nodes/%s", node) < 0)
		return cli_fail(CLI_PARTIAL, "out of memory");
	int code = cli_get(cli, path, &answer);
	return code ? code
		    : cli_print_rows(cli, origins, PHX_ARRAY_SIZE(origins),
				     json_object_get(answer, "settings"), answer);
}

int cmd_site_show(struct cli *cli)
{
	PHX_AUTO_JSON json_t *answer = NULL;
	if (cli_arg(cli, 0))
		return show_node(cli, cli_arg(cli, 0));
	int code = cli_get(cli, "/v1/site", &answer);
	if (code)
		return code;
	if (cli_structured(cli))
		return cli_print_value(cli, answer);
	if (!*phx_json_str(answer, "digest", "")) {
		puts("no settings of the site are applied");
		return CLI_OK;
	}
	cli_print_lines(lines, PHX_ARRAY_SIZE(lines), answer);
	return CLI_OK;
}

/* ---- phx node hostkeys ---- */

static const struct cli_column key_columns[] = {
	{.head = "HOST", .path = "host"},
	{.head = "TYPE", .path = "type"},
	{.head = "KEY", .path = "key"},
};

/* What a node says is no line of its own: only what is a key is taken, its type and its digits. */
static void add_key(json_t *rows, const json_t *node, const char *key)
{
	const char *address = phx_json_str(node, "address", "");
	if (!key || phx_site_key_check(key, NULL) < 0 || !*address || strpbrk(address, " ,*?!@\n"))
		return;
	size_t n_type = strcspn(key, " ");
	const char *digits = key + n_type + strspn(key + n_type, " ");
	PHX_AUTO_FREE char *host = NULL;
	if (asprintf(&host, "%s,%s", phx_json_str(node, "name", ""), address) < 0)
		return;
	json_array_append_new(rows,
			      json_pack("{s:s,s:s%,s:s%}", "host", host, "type", key, n_type, "key",
					digits, strcspn(digits, " ")));
}

int cmd_node_hostkeys(struct cli *cli)
{
	PHX_AUTO_JSON json_t *nodes = NULL, *rows = json_array();
	int code = cli_nodes_select(cli, cli_arg(cli, 0), "name,address,monitor", &nodes);
	size_t i, k;
	json_t *node, *key;
	if (code)
		return code;
	json_array_foreach(nodes, i, node) {
		json_array_foreach((json_t *)cli_member(node, "monitor.host_keys"), k, key)
			add_key(rows, node, json_string_value(key));
	}
	if (cli->format != CLI_TABLE) {
		PHX_AUTO_JSON json_t *whole = json_pack("{s:O}", "host_keys", rows);
		return cli_print_rows(cli, key_columns, PHX_ARRAY_SIZE(key_columns), rows, whole);
	}
	puts("# reported by the agents of the nodes over their certificates");
	json_array_foreach(rows, i, node)
		printf("%s %s %s\n", phx_json_str(node, "host", ""), phx_json_str(node, "type", ""),
		       phx_json_str(node, "key", ""));
	return CLI_OK;
}
