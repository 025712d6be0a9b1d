/* What an order ends that somebody uses, in words: jobs and people who are logged in, as the dry
 * run of phxd tells them. Called by the commands that give such orders. Orders nothing. */

#include "base/clock.h"
#include "base/json.h"
#include "phx/cli.h"

enum { NAMED_MAX = 8 };

static bool has_job(const json_t *jobs, int64_t id)
{
	size_t i;
	json_t *job;
	json_array_foreach((json_t *)jobs, i, job) {
		if (phx_json_int(job, "id", 0) == id)
			return true;
	}
	return false;
}

/* A job on several nodes is one; it keeps the first of them as member "on". */
static void add_jobs(struct cli_ends *e, const json_t *jobs, const char *node)
{
	size_t i;
	json_t *job;
	json_array_foreach((json_t *)jobs, i, job) {
		json_t *list = phx_json_bool(job, "ends", false) ? e->jobs : e->waits;
		if (has_job(list, phx_json_int(job, "id", 0)))
			continue;
		json_t *copy = json_copy(job);
		if (node)
			json_object_set_new(copy, "on", json_string(node));
		json_array_append_new(list, copy);
	}
}

static void add_sessions(struct cli_ends *e, const json_t *sessions, const char *node)
{
	size_t i;
	json_t *session;
	if (json_is_null(sessions))
		json_array_append_new(e->unknown, json_string(node));
	json_array_foreach((json_t *)sessions, i, session) {
		json_t *copy = json_copy(session);
		json_object_set_new(copy, "on", json_string(node));
		json_array_append_new(e->sessions, copy);
	}
}

static void add_serves(struct cli_ends *e, const char *at, const char *node)
{
	if (!json_object_get(e->serves, at))
		json_object_set_new(e->serves, at, json_array());
	json_array_append_new(json_object_get(e->serves, at), json_string(node));
}

void cli_ends_init(struct cli_ends *ret)
{
	*ret = (struct cli_ends){json_array(), json_array(),  json_array(),
				 json_array(), json_object(), 0};
}

void cli_ends_fini(struct cli_ends *e)
{
	json_decref(e->jobs);
	json_decref(e->waits);
	json_decref(e->sessions);
	json_decref(e->unknown);
	json_decref(e->serves);
	*e = (struct cli_ends){0};
}

void cli_ends_add(struct cli_ends *e, const json_t *result)
{
	const char *node = phx_json_str(result, "node", NULL),
		   *at = phx_json_str(result, "serves", "");
	size_t before = json_array_size(e->jobs) + json_array_size(e->sessions);
	if (phx_json_int(result, "code", 0) < 0)
		return;
	add_jobs(e, json_object_get(result, "jobs"), node);
	add_sessions(e, json_object_get(result, "sessions"), node);
	if (*at)
		add_serves(e, at, node);
	e->n_nodes += *at || json_array_size(e->jobs) + json_array_size(e->sessions) > before;
}

bool cli_ends_any(const struct cli_ends *e)
{
	return json_array_size(e->jobs) || json_array_size(e->sessions) ||
		json_object_size(e->serves);
}

json_t *cli_ends_ids(const struct cli_ends *e)
{
	json_t *ids = json_array();
	size_t i;
	json_t *job;
	json_array_foreach(e->jobs, i, job)
		json_array_append(ids, json_object_get(job, "id"));
	return ids;
}

/* "job 12 of alice (sleep) on node2, for 2 min 5 s" */
static void put_job(struct phx_buf *b, const json_t *job)
{
	const char *engine = phx_json_str(job, "engine_id", ""),
		   *user = phx_json_str(job, "user", "");
	const char *command = phx_json_str(job, "command", ""), *on = phx_json_str(job, "on", "");
	int64_t started = phx_json_int(job, "started_ms", 0);
	if (*engine)
		phx_buf_addf(b, "job %s", engine);
	else
		phx_buf_addf(b, "job %lld", (long long)phx_json_int(job, "id", 0));
	phx_buf_addf(b, " of ");
	cli_put_clean(b, *user ? user : "?");
	if (*command) {
		phx_buf_addf(b, " (");
		cli_put_clean(b, command);
		phx_buf_addf(b, ")");
	}
	if (*on)
		phx_buf_addf(b, " on %s", on);
	if (!started) {
		phx_buf_addf(b, ", which waits");
		return;
	}
	phx_buf_addf(b, ", for ");
	cli_put_duration(b, phx_wall_ms() > started ? phx_wall_ms() - started : 0);
}

/* "alice on node2 (pts/0 from 10.0.0.5)" */
static void put_session(struct phx_buf *b, const json_t *session)
{
	const char *tty = phx_json_str(session, "tty", ""),
		   *from = phx_json_str(session, "from", "");
	cli_put_clean(b, phx_json_str(session, "user", "?"));
	phx_buf_addf(b, " on %s", phx_json_str(session, "on", "?"));
	if (!*tty && !*from)
		return;
	phx_buf_addf(b, " (");
	cli_put_clean(b, tty);
	phx_buf_addf(b, "%s", *tty && *from ? " from " : *from ? "from " : "");
	cli_put_clean(b, from);
	phx_buf_addf(b, ")");
}

static void put_list(struct phx_buf *b, const json_t *list, const char *more,
		     void (*put)(struct phx_buf *b, const json_t *item))
{
	size_t n = json_array_size(list), i;
	json_t *item;
	json_array_foreach((json_t *)list, i, item) {
		if (i == NAMED_MAX) {
			phx_buf_addf(b, " and %zu more %s", n - i, more);
			return;
		}
		phx_buf_addf(b, "%s", i ? ", " : "");
		put(b, item);
	}
}

/* "24 nodes are active (n[1-24]); 1 node is in the middle of rebuild (n25)" */
static void put_serves(struct phx_buf *b, const struct cli_ends *e)
{
	const char *at, *between = "";
	json_t *names;
	json_object_foreach(e->serves, at, names) {
		size_t n = json_array_size(names);
		PHX_AUTO_FREE char *folded = cli_nodes_fold(names);
		phx_buf_addf(b, "%s%zu node%s %s", between, n, n == 1 ? "" : "s",
			     n == 1 ? "is " : "are ");
		phx_buf_addf(b, "%s", phx_str_eq(at, "active") ? "" : "in the middle of ");
		cli_put_clean(b, at);
		phx_buf_addf(b, " (%s)", folded ? folded : "?");
		between = "; ";
	}
}

void cli_ends_put(struct phx_buf *b, const struct cli_ends *e)
{
	put_serves(b, e);
	if (json_object_size(e->serves) &&
	    (json_array_size(e->jobs) || json_array_size(e->sessions)))
		phx_buf_addf(b, "; ");
	if (json_array_size(e->jobs)) {
		put_list(b, e->jobs, "jobs", put_job);
		phx_buf_addf(b, json_array_size(e->jobs) > 1 ? " end" : " ends");
	}
	if (!json_array_size(e->sessions))
		return;
	phx_buf_addf(b, "%s", json_array_size(e->jobs) ? "; " : "");
	put_list(b, e->sessions, "sessions", put_session);
	phx_buf_addf(b, json_array_size(e->sessions) > 1 ? " are logged out" : " is logged out");
}

/* What becomes of it, after the words for it. */
static void print_job(const json_t *job, bool ends, const char *grace)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	put_job(&b, job);
	printf("  %s: ", b.data ? b.data : "?");
	if (!ends)
		printf("it is waited for until it has ended\n");
	else
		printf("it ends%s%s; %s\n", *grace ? " after " : "", grace,
		       phx_json_bool(job, "requeue", false) ? "it is queued again"
							    : "it does not run again");
}

void cli_ends_print(const json_t *results, const json_t *plan)
{
	PHX_AUTO(cli_ends_fini) struct cli_ends e;
	PHX_AUTO(phx_buf_fini) struct phx_buf grace = {0};
	size_t i;
	json_t *item;
	cli_ends_init(&e);
	json_array_foreach((json_t *)results, i, item)
		cli_ends_add(&e, item);
	if (phx_json_bool(plan, "has_grace", false))
		cli_put_duration(&grace, phx_json_int(plan, "grace_ms", 0));
	json_array_foreach(e.jobs, i, item)
		print_job(item, true, grace.data ? grace.data : "");
	json_array_foreach(e.waits, i, item)
		print_job(item, false, "");
	json_array_foreach(e.sessions, i, item) {
		PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
		put_session(&b, item);
		printf("  %s: logged out\n", b.data ? b.data : "?");
	}
	PHX_AUTO(phx_buf_fini) struct phx_buf serves = {0};
	put_serves(&serves, &e);
	if (serves.data)
		printf("  %s\n", serves.data);
	PHX_AUTO_FREE char *unknown = json_array_size(e.unknown) ? cli_nodes_fold(e.unknown) : NULL;
	if (unknown)
		printf("  %s: who is logged in there is not known\n", unknown);
}
