/* phx re: runtime environments ordered, waited for, looked at; re_agreement.c asks for them. What
 * may be done is phxd's to say. */
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "config/agreement.h"
#include "phx/cli.h"

enum {
	CALL_MS = 60000,
	USE_MS = 5000,
	USE_FIRST_MS = 100,
	USE_MOST_MS = 1000,
	HISTORY_MAX = 10000
};

/* ---- orders ---- */

/* What came of it: the sentences of the core. */
int cli_re_done(struct cli *cli, const json_t *answer)
{
	size_t i;
	json_t *note;
	if (cli_structured(cli))
		return cli_print_value(cli, answer);
	if (phx_json_bool(answer, "dry_run", false))
		printf("it would come to this; nothing was done\n");
	json_array_foreach(json_object_get(answer, "notes"), i, note) {
		PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
		cli_put_clean(&b, json_string_value(note));
		printf("%s\n", b.data ? b.data : "");
	}
	PHX_AUTO_JSON json_t *results = json_pack("[O]", answer);
	cli_ends_print(results, NULL);
	return CLI_OK;
}

static int post(struct cli *cli, const char *path, json_t *body)
{
	PHX_AUTO_JSON json_t *answer = NULL;
	if (cli_has(cli, CLI_OPT_dry_run))
		json_object_set_new(body, "dry_run", json_true());
	int code = cli_call(cli, "POST", path, body, &answer);
	return code ? code : cli_re_done(cli, answer);
}

/* Path of an order; malloc'd. */
static char *order_path(const char *what, const char *name)
{
	PHX_AUTO_FREE char *escaped = cli_url_escape(name);
	return escaped ? phx_path("/v1/res/%s/%s", escaped, what) : NULL;
}

/* `body`: borrowed, what belongs to the order beside its name. */
static int order_with(struct cli *cli, const char *what, const char *name, json_t *body)
{
	PHX_AUTO_FREE char *path = order_path(what, name);
	return path ? post(cli, path, body) : cli_fail(CLI_PARTIAL, "out of memory");
}

int cli_re_order(struct cli *cli, const char *what, const char *name, const char *text)
{
	PHX_AUTO_JSON json_t *body = json_object();
	if (text)
		json_object_set_new(body, "text", json_string(text));
	return order_with(cli, what, name, body);
}

int cmd_re_refuse(struct cli *cli)
{
	return cli_re_order(cli, "refuse", cli_arg(cli, 0), cli_opt(cli, CLI_OPT_reason, NULL));
}

int cmd_re_withdraw(struct cli *cli)
{
	return cli_re_order(cli, "withdraw", cli_arg(cli, 0), NULL);
}

/* ---- waiting ---- */

/* Now, or when it has come to `until` (NULL: to nothing) or `hold_s` are over. */
static int ask_re(struct cli *cli, const char *name, const char *until, int hold_s, json_t **ret,
		  struct phx_err *err)
{
	PHX_AUTO_FREE char *escaped = cli_url_escape(name);
	PHX_AUTO_FREE char *path = escaped ? phx_path("/v1/res/%s?wait=%d%s%s", escaped, hold_s,
						      until ? "&until=" : "", until ? until : "")
					   : NULL;
	return path ? cli_call_quiet(cli, "GET", path, NULL, CALL_MS, ret, err)
		    : phx_err_set(err, CLI_PARTIAL, "out of memory");
}

static int get_re(struct cli *cli, const char *name, json_t **ret)
{
	struct phx_err err = {0};
	int code = ask_re(cli, name, NULL, 0, ret, &err);
	/* a bad configuration has been told already */
	return code && err.text[0] ? cli_fail(code, "%s", err.text) : code;
}

static int wait_for(struct cli *cli, const char *name, const char *until)
{
	int64_t end = cli_deadline_ms(cli);
	struct phx_again again = cli_away_again();
	for (bool away = false;;) {
		PHX_AUTO_JSON json_t *re = NULL;
		struct phx_err err = {0};
		int64_t asked = phx_clock_ms();
		int code = ask_re(cli, name, until, away ? 0 : cli_hold_s(end), &re, &err);
		if (code && !cli_passes(code))
			return err.text[0] ? cli_fail(code, "%s", err.text) : code;
		cli_tell_away(&away, code, &err);
		if (phx_json_bool(re, "reached", false))
			return CLI_OK;
		if (phx_clock_ms() >= end)
			return cli_fail(CLI_TIMEOUT, "RE %s is not there in time; it goes on",
					name);
		cli_pause(&again, asked, end);
	}
}

static int order_and_wait(struct cli *cli, const char *what, json_t *body, const char *until)
{
	int code = order_with(cli, what, cli_arg(cli, 0), body);
	bool wait = cli_has(cli, CLI_OPT_wait) && !cli_has(cli, CLI_OPT_dry_run);
	return code || !wait ? code : wait_for(cli, cli_arg(cli, 0), until);
}

/* Has every node of a web RE told its use, or why there is none? They do so with a beat or two
 * after they serve. */
static bool use_is_known(const json_t *re)
{
	size_t i;
	json_t *it;
	json_array_foreach(json_object_get(json_object_get(re, "use"), "unknown"), i, it)
		if (phx_json_bool(it, "waits", false))
			return false;
	return true;
}

static int get_with_use(struct cli *cli, const char *name, json_t **ret)
{
	int code = get_re(cli, name, ret);
	int64_t end = phx_clock_ms() + USE_MS;
	struct phx_again again = {USE_FIRST_MS, USE_MOST_MS, 0}; /* beats are no events */
	while (code == CLI_OK && !use_is_known(*ret) && phx_again(&again, end)) {
		json_decref(PHX_TAKE(*ret));
		code = get_re(cli, name, ret);
	}
	return code;
}

/* Once its nodes serve it is known where its load cannot be seen; before, some of that. */
static int print_unmeasured(struct cli *cli)
{
	PHX_AUTO_JSON json_t *re = NULL;
	size_t i;
	json_t *it;
	int code = get_with_use(cli, cli_arg(cli, 0), &re);
	json_array_foreach(json_object_get(json_object_get(re, "use"), "unknown"), i, it) {
		PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
		const char *node = phx_json_str(it, "node", "");
		if (phx_json_bool(it, "waits", false) || !node[0])
			continue; /* a role's is said at once */
		cli_put_clean(&b, phx_json_str(it, "reason", ""));
		fprintf(stderr,
			"phx: the RE cannot follow its load: use of %s cannot be measured: %s\n",
			node, b.data ? b.data : "");
	}
	return code;
}

int cmd_re_activate(struct cli *cli)
{
	PHX_AUTO_JSON json_t *body = json_object();
	int code = order_and_wait(cli, "activate", body, "serves");
	bool waited = cli_has(cli, CLI_OPT_wait) && !cli_has(cli, CLI_OPT_dry_run);
	return code || !waited ? code : print_unmeasured(cli);
}

int cmd_re_suspend(struct cli *cli)
{
	return cli_re_order(cli, "suspend", cli_arg(cli, 0), NULL);
}

int cmd_re_resume(struct cli *cli)
{
	return cli_re_order(cli, "resume", cli_arg(cli, 0), NULL);
}

static int confirm(struct cli *cli, const char *fmt)
{
	PHX_AUTO_FREE char *question = NULL;
	if (cli_has(cli, CLI_OPT_dry_run))
		return CLI_OK;
	if (asprintf(&question, "%s RE %s", fmt, cli_arg(cli, 0)) < 0)
		return cli_fail(CLI_PARTIAL, "out of memory");
	return cli_confirm(cli, question, 1);
}

/* What becomes of the jobs that end: their RE may keep some, to run again. */
static void put_for_good(struct phx_buf *b, const struct cli_ends *e)
{
	size_t n_again = 0, i;
	json_t *job;
	json_array_foreach(e->jobs, i, job)
		n_again += phx_json_bool(job, "requeue", false);
	if (!n_again)
		phx_buf_addf(b, ", for good");
	else if (n_again == json_array_size(e->jobs))
		phx_buf_addf(b, ", to run again when it is active");
	else
		phx_buf_addf(b, ", %zu of them to run again when it is active, the others for good",
			     n_again);
}

/* Its jobs end: which, and is that wanted? What was agreed to goes with the order. */
static int permit_end(struct cli *cli, json_t *body)
{
	PHX_AUTO_JSON json_t *answer = NULL, *dry = json_pack("{s:b}", "dry_run", true);
	PHX_AUTO_FREE char *path = order_path("deactivate", cli_arg(cli, 0));
	PHX_AUTO(cli_ends_fini) struct cli_ends ends;
	PHX_AUTO(phx_buf_fini) struct phx_buf question = {0};
	cli_ends_init(&ends);
	if (cli_has(cli, CLI_OPT_yes) || cli_has(cli, CLI_OPT_dry_run)) {
		json_object_set_new(body, "kill_jobs", json_true());
		return CLI_OK;
	}
	int code = path ? cli_call(cli, "POST", path, dry, &answer)
			: cli_fail(CLI_PARTIAL, "out of memory");
	if (code)
		return code;
	cli_ends_add(&ends, answer);
	json_object_set_new(body, "kill_jobs", cli_ends_ids(&ends));
	if (!cli_ends_any(&ends))
		return CLI_OK;
	phx_buf_addf(&question, "deactivate RE %s: ", cli_arg(cli, 0));
	cli_ends_put(&question, &ends);
	put_for_good(&question, &ends);
	return cli_confirm(cli, question.data ? question.data : "deactivate", 1);
}

/* Without --safe running jobs are killed: for good, unless the agreement keeps them. */
int cmd_re_deactivate(struct cli *cli)
{
	bool safe = cli_has(cli, CLI_OPT_safe);
	PHX_AUTO_JSON json_t *body = json_object();
	int code = safe ? CLI_OK : permit_end(cli, body);
	return code
		? code
		: order_and_wait(cli, safe ? "safe-deactivate" : "deactivate", body, "returned");
}

int cmd_re_destroy(struct cli *cli)
{
	int code = confirm(cli, "remove the data of");
	return code ? code : cli_re_order(cli, "destroy", cli_arg(cli, 0), NULL);
}

/* ---- looking ---- */

static void put_upper(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)row;
	if (json_integer_value(value))
		phx_buf_addf(b, "%lld", (long long)json_integer_value(value));
	else
		phx_buf_addf(b, "-");
}

static const struct cli_column re_columns[] = {
	{.head = "RE", .path = "name"},
	{.head = "STATE", .path = "state"},
	{.head = "TYPE", .path = "agreement.type"},
	{.head = "OWNER", .path = "owner_name"},
	{.head = "MODEL", .path = "agreement.model"},
	{.head = "LOWER", .path = "agreement.lower", .right = true},
	{.head = "UPPER", .path = "agreement.upper", .put = put_upper, .right = true},
	{.head = "HELD", .path = "nodes.held", .right = true},
	{.head = "BUSY", .path = "nodes.busy", .right = true},
	{.head = "COMING", .path = "nodes.coming", .right = true},
	{.head = "WANT", .path = "nodes.want", .right = true},
	{.head = "RUNNING", .path = "jobs.running", .right = true},
	{.head = "WAITING", .path = "jobs.waiting", .right = true},
	{.head = "WITH", .path = "paired_with"},
	{.head = "HOSTS", .path = "hosts", .wide = true},
	{.head = "AWAY", .path = "nodes.away", .wide = true, .right = true},
	{.head = "PINNED", .path = "nodes.pinned", .wide = true, .right = true},
	{.head = "NODE-HOURS", .path = "meter.node_hours", .wide = true, .right = true},
	{.head = "KILLS", .path = "meter.n_kills", .wide = true, .right = true},
};

/* What a user is told who only submits jobs. */
static const struct cli_column brief_columns[] = {
	{.head = "RE", .path = "name"},
	{.head = "STATE", .path = "state"},
	{.head = "TYPE", .path = "type"},
	{.head = "IDLE", .path = "nodes.idle", .right = true},
	{.head = "BUSY", .path = "nodes.busy", .right = true},
	{.head = "MOST", .path = "nodes.most", .right = true},
};

/* What was asked for and is not there, with the answer: below the table, for people. */
static void print_refused(struct cli *cli, const json_t *answer)
{
	size_t i;
	json_t *it;
	json_array_foreach(json_object_get(answer, "refused"), i, it) {
		PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
		if (cli->format != CLI_TABLE)
			return;
		cli_put_clean(&b, phx_json_str(it, "text", ""));
		fprintf(stderr, "refused: RE %s of %s%s%s\n", phx_json_str(it, "name", "?"),
			phx_json_str(it, "owner", "?"), b.n ? ": " : "", b.n ? b.data : "");
	}
}

int cmd_re_list(struct cli *cli)
{
	PHX_AUTO_JSON json_t *answer = NULL;
	int code = cli_get(cli, "/v1/res", &answer);
	const json_t *first = json_array_get(json_object_get(answer, "res"), 0);
	if (!code && first && !json_object_get(first, "agreement"))
		return cli_print_rows(cli, brief_columns, PHX_ARRAY_SIZE(brief_columns),
				      json_object_get(answer, "res"), answer);
	code = code ? code
		    : cli_print_rows(cli, re_columns, PHX_ARRAY_SIZE(re_columns),
				     json_object_get(answer, "res"), answer);
	print_refused(cli, answer);
	return code;
}

/* "43.1 % of 2 nodes; n3 unknown: why"; a batch RE has none */
static void put_use(struct phx_buf *b, const json_t *value, const json_t *row)
{
	const json_t *ppm = json_object_get(value, "ppm");
	size_t i;
	json_t *it;
	(void)row;
	if (json_is_integer(ppm))
		phx_buf_addf(b, "%.1f %% of %d node%s", (double)json_integer_value(ppm) / 10000,
			     (int)phx_json_int(value, "nodes", 0),
			     phx_json_int(value, "nodes", 0) == 1 ? "" : "s");
	json_array_foreach(json_object_get(value, "unknown"), i, it) {
		const char *node = phx_json_str(it, "node", "");
		phx_buf_addf(b, "%s%s%s unknown: ", b->n ? "; " : "", node[0] ? "" : "role ",
			     node[0] ? node : phx_json_str(it, "role", "?"));
		cli_put_clean(b, phx_json_str(it, "reason", ""));
	}
}

static const struct cli_column re_lines[] = {
	{.head = "State", .path = "state"},
	{.head = "Shares with", .path = "paired_with"},
	{.head = "Nodes", .path = "hosts"},
	{.head = "Coming", .path = "coming_hosts"},
	{.head = "Away", .path = "away_hosts"},
	{.head = "Held", .path = "nodes.held"},
	{.head = "Busy", .path = "nodes.busy"},
	{.head = "Wanted", .path = "nodes.want"},
	{.head = "Use", .path = "use", .put = put_use},
	{.head = "To return", .path = "nodes.owed"},
	{.head = "Pinned", .path = "nodes.pinned"},
	{.head = "Jobs running", .path = "jobs.running"},
	{.head = "Jobs waiting", .path = "jobs.waiting"},
	{.head = "Jobs held", .path = "jobs.held"},
	{.head = "Jobs killed", .path = "meter.n_kills"},
	{.head = "Created", .path = "created_ms", .put = cli_put_when},
	{.head = "Changed", .path = "changed_ms", .put = cli_put_when},
};

static int print_agreement(const json_t *re, bool xml)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	struct phx_agreement a;
	struct phx_err err = {0};
	int r = phx_json_to_record(&phx_agreement_record, json_object_get(re, "agreement"), &a,
				   &err);
	if (r < 0)
		return cli_fail_err(r, &err);
	r = xml ? phx_agreement_write_xml(&a, &b) : phx_agreement_write_conf(&a, &b);
	phx_record_fini(&phx_agreement_record, &a);
	if (r < 0)
		return cli_fail_err(r, &err);
	printf("%s", b.data);
	return CLI_OK;
}

int cmd_re_show(struct cli *cli)
{
	PHX_AUTO_JSON json_t *re = NULL;
	bool conf = cli_has(cli, CLI_OPT_conf), xml = cli_has(cli, CLI_OPT_xml);
	int code = get_re(cli, cli_arg(cli, 0), &re);
	if (code)
		return code;
	if (conf || xml)
		return print_agreement(re, xml);
	if (cli_structured(cli))
		return cli_print_value(cli, re);
	printf("RE %s\n", phx_json_str(re, "name", "?"));
	cli_print_lines(re_lines, PHX_ARRAY_SIZE(re_lines), re);
	printf("\n");
	return print_agreement(re, false);
}

/* ---- members ---- */

static const struct cli_column member_columns[] = {
	{.head = "MEMBER", .path = "member"},
	{.head = "BY", .path = "by"},
};

static void add_members(json_t *rows, const char *list, const char *prefix, const char *by)
{
	char word[PHX_IDENTITY_MAX];
	for (const char *at = list; phx_words_next(&at, word, sizeof(word));)
		json_array_append_new(rows,
				      json_pack("{s:s+,s:s}", "member", prefix, word, "by", by));
}

static int show_members(struct cli *cli)
{
	PHX_AUTO_JSON json_t *re = NULL, *rows = json_array();
	int code = get_re(cli, cli_arg(cli, 0), &re);
	if (code)
		return code;
	const json_t *g = json_object_get(re, "agreement");
	add_members(rows, phx_json_str(g, "owner", ""), "", "owner");
	add_members(rows, phx_json_str(g, "users", ""), "", "users");
	add_members(rows, phx_json_str(g, "groups", ""), "group:", "groups");
	PHX_AUTO_JSON json_t *whole = json_pack("{s:O}", "members", rows);
	return cli_print_rows(cli, member_columns, PHX_ARRAY_SIZE(member_columns), rows, whole);
}

/* MEMBER names one, MEMBER- strikes him out. */
int cmd_re_members(struct cli *cli)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf add = {0}, remove = {0};
	if (cli->args.n_args == 1)
		return show_members(cli);
	for (unsigned i = 1; i < cli->args.n_args; i++) {
		const char *word = cli_arg(cli, i);
		size_t n = strlen(word);
		bool off = n > 1 && word[n - 1] == '-';
		phx_buf_addf(off ? &remove : &add, "%.*s ", (int)(n - off), word);
	}
	PHX_AUTO_JSON json_t *body = json_pack("{s:s,s:s}", "add", add.data ? add.data : "",
					       "remove", remove.data ? remove.data : "");
	return order_with(cli, "members", cli_arg(cli, 0), body);
}

/* ---- history ---- */

static const struct cli_column history_columns[] = {
	{.head = "TIME", .path = "time_ms", .put = cli_put_when},
	{.head = "BY", .path = "by"},
	{.head = "TEXT", .path = "text"},
};

/* The journal is looked through in portions; of all that is told the newest are kept. */
static int get_history(struct cli *cli, const char *name, json_t *rows)
{
	PHX_AUTO_FREE char *escaped = cli_url_escape(name);
	int64_t after = 0;
	for (bool more = true; more;) {
		PHX_AUTO_JSON json_t *answer = NULL;
		PHX_AUTO_FREE char *path = NULL;
		if (!escaped ||
		    asprintf(&path, "/v1/res/%s/history?after=%lld", escaped, (long long)after) < 0)
			return cli_fail(CLI_PARTIAL, "out of memory");
		int code = cli_get(cli, path, &answer);
		if (code)
			return code;
		json_array_extend(rows, json_object_get(answer, "history"));
		while (json_array_size(rows) > HISTORY_MAX)
			json_array_remove(rows, 0);
		after = phx_json_int(answer, "last", after);
		more = phx_json_bool(answer, "more", false);
	}
	return CLI_OK;
}

int cmd_re_history(struct cli *cli)
{
	PHX_AUTO_JSON json_t *rows = json_array();
	PHX_AUTO_JSON json_t *answer = json_pack("{s:O}", "history", rows);
	PHX_AUTO_JSON json_t *re = NULL;
	int code = get_history(cli, cli_arg(cli, 0), rows);
	/* nothing is kept of one that is gone: then it is a name that does not exist */
	if (!code && !json_array_size(rows))
		code = get_re(cli, cli_arg(cli, 0), &re);
	return code ? code
		    : cli_print_rows(cli, history_columns, PHX_ARRAY_SIZE(history_columns), rows,
				     answer);
}
