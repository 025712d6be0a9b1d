/* phx job submit --array --wait: all members are waited for. phxd may forget those
 * that ended long ago while others still run: what each came to is kept here. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "phx/job.h"

enum { CALL_MS = 60000 };

struct array {
	int64_t first, last;
	json_t **ended; /* by number from `first`; NULL: it has not, as far as is known */
};

static int64_t next_open(const struct array *a, int64_t from)
{
	while (from <= a->last && a->ended[from - a->first])
		from++;
	return from;
}

/* Members that were passed over in a list are not there any more. */
static void keep_forgotten(struct array *a, int64_t from, int64_t to)
{
	for (int64_t id = from; id < to && id <= a->last; id++)
		if (!a->ended[id - a->first])
			a->ended[id - a->first] = json_pack(
				"{s:I,s:s,s:s}", "id", (json_int_t)id, "state", "unknown", "reason",
				"phxd has forgotten how it ended: see phx events");
}

static void keep_ended(struct array *a, const json_t *jobs, int64_t from, bool more)
{
	int64_t next = from;
	size_t i;
	json_t *job;
	json_array_foreach((json_t *)jobs, i, job) {
		int64_t id = phx_json_int(job, "id", 0);
		keep_forgotten(a, next, id);
		next = id + 1;
		if (id >= a->first && id <= a->last && cli_job_ended(job) &&
		    !a->ended[id - a->first])
			a->ended[id - a->first] = json_incref(job);
	}
	if (!more)
		keep_forgotten(a, next, a->last + 1);
}

/* Those that have not ended, page by page. */
static int look(struct cli *cli, struct array *a, struct phx_err *err)
{
	int64_t from = next_open(a, a->first);
	for (bool more = true; more && from <= a->last;) {
		PHX_AUTO_JSON json_t *answer = NULL;
		PHX_AUTO_FREE char *path = phx_path("/v1/jobs?after=%lld", (long long)from - 1);
		int code = path ? cli_call_quiet(cli, "GET", path, NULL, CALL_MS, &answer, err)
				: phx_err_set(err, CLI_PARTIAL, "out of memory");
		if (code)
			return code;
		more = phx_json_bool(answer, "more", false);
		keep_ended(a, json_object_get(answer, "jobs"), from, more);
		from = next_open(a, phx_json_int(answer, "last", a->last) + 1);
	}
	return CLI_OK;
}

/* Until the last of those that go on has ended, which most often is the last of all: that one
 * request tells of the end of all the others, too. */
static void await(struct cli *cli, const struct array *a, int64_t end)
{
	struct phx_err err = {0};
	int64_t id = a->last;
	while (id > a->first && a->ended[id - a->first])
		id--;
	PHX_AUTO_JSON json_t *job = NULL;
	PHX_AUTO_FREE char *path =
		phx_path("/v1/jobs/%lld?wait=%d", (long long)id, cli_hold_s(end));
	if (path)
		cli_call_quiet(cli, "GET", path, NULL, CALL_MS, &job, &err);
}

static int wait_all(struct cli *cli, struct array *a)
{
	int64_t end = cli_deadline_ms(cli);
	struct phx_again again = cli_away_again();
	for (bool away = false;;) {
		struct phx_err err = {0};
		int code = look(cli, a, &err);
		if (code && !cli_passes(code))
			return cli_fail(code, "%s", err.text);
		cli_tell_away(&away, code, &err);
		int64_t open = next_open(a, a->first);
		if (open > a->last)
			return CLI_OK;
		if (phx_clock_ms() >= end)
			return cli_fail(CLI_TIMEOUT,
					"job %lld has not ended in time; it goes on, and so may "
					"others of its array",
					(long long)open);
		int64_t asked = phx_clock_ms();
		if (!away)
			await(cli, a, end);
		cli_pause(&again, asked, end);
	}
}

/* Why one did not end well, in a text that is the same for all that ended alike. */
static void put_end(struct phx_buf *b, const json_t *job)
{
	const char *reason = phx_json_str(job, "reason", "");
	phx_buf_addf(b, "%s", phx_json_str(job, "state", "?"));
	if (*reason)
		phx_buf_addf(b, ": %s", reason);
	else
		phx_buf_addf(b, ": exit status %lld", (long long)phx_json_int(job, "status", 0));
}

/* As of one job: 1 when one of them ended badly. */
static int report(const struct array *a)
{
	PHX_AUTO(cli_report_fini) struct cli_report r = {0};
	for (int64_t id = a->first; id <= a->last; id++) {
		const json_t *job = a->ended[id - a->first];
		PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
		char name[32];
		if (phx_str_eq(phx_json_str(job, "state", ""), "done"))
			continue;
		snprintf(name, sizeof(name), "job%lld", (long long)id);
		put_end(&b, job);
		cli_report_add(&r, name, b.data ? b.data : "failed");
	}
	cli_report_print(&r);
	return r.n_failed ? CLI_PARTIAL : CLI_OK;
}

int cli_job_follow_array(struct cli *cli, int64_t first, int64_t last)
{
	struct array a = {first, last, calloc((size_t)(last - first) + 1, sizeof(json_t *))};
	if (!a.ended)
		return cli_fail(CLI_PARTIAL, "out of memory");
	int code = wait_all(cli, &a);
	if (!code && cli_structured(cli)) {
		PHX_AUTO_JSON json_t *jobs = json_array(),
				     *whole = json_pack("{s:O}", "jobs", jobs);
		for (int64_t id = first; id <= last; id++)
			json_array_append(jobs, a.ended[id - first]);
		code = cli_print_value(cli, whole);
	}
	code = code ? code : report(&a);
	for (int64_t id = first; id <= last; id++)
		json_decref(a.ended[id - first]);
	free(a.ended);
	return code;
}
