/* phx sim replay: a journal of phxd through the same core again. Needs no phxd,
 * and changes nothing in the journal. */

#include "journal/compare.h"
#include "phx-sim/sim.h"

static int print_json(struct cli *cli, const struct phx_comparison *r)
{
	json_t *j = json_pack(
		"{s:b, s:I, s:I, s:I, s:I, s:f, s:I, s:I}", "identical", r->identical, "events",
		(json_int_t)r->n_events, "actions", (json_int_t)r->n_actions, "first",
		(json_int_t)r->first, "last", (json_int_t)r->last, "hours",
		(double)(r->last_ms - r->first_ms) / 3600000, "from_snapshot",
		(json_int_t)r->from_snapshot, "checked_snapshot", (json_int_t)r->checked_snapshot);
	if (!r->identical)
		json_object_set_new(j, "difference",
				    json_pack("{s:I, s:s, s:s, s:s?, s:s?}", "event",
					      (json_int_t)r->seq, "kind", r->kind, "reason",
					      r->reason, "recorded", r->recorded, "now", r->now));
	int code = cli_print_value(cli, j);
	json_decref(j);
	return code;
}

/* What a journal holds may be anything: cleaned, and cut to a screen. */
static void print_text(const char *label, const char *text)
{
	enum { SHOWN = 2000 };
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	cli_put_clean(&b, text ? text : "");
	printf("  %-9s %.*s%s\n", label, SHOWN, b.data ? b.data : "", b.n > SHOWN ? " ..." : "");
}

static void print_lines(const char *path, const struct phx_comparison *r)
{
	printf("%s: %llu events (%llu to %llu), %llu actions", path,
	       (unsigned long long)r->n_events, (unsigned long long)r->first,
	       (unsigned long long)r->last, (unsigned long long)r->n_actions);
	if (r->from_snapshot)
		printf(", from the snapshot of event %llu", (unsigned long long)r->from_snapshot);
	if (r->identical) {
		printf(": identical%s\n", r->checked_snapshot ? ", the newest snapshot too" : "");
		return;
	}
	printf(": different\nfirst difference at event %llu (%s): %s\n", (unsigned long long)r->seq,
	       r->kind, r->reason);
	print_text("recorded", r->recorded);
	print_text("now", r->now);
}

int cmd_sim_replay(struct cli *cli)
{
	struct phx_comparison result = {0};
	struct phx_err err = {0};
	int r = phx_journal_compare(cli_arg(cli, 0), &result, &err);
	if (r < 0)
		return sim_fail(r, &err);
	int code = CLI_OK;
	if (cli_structured(cli))
		code = print_json(cli, &result);
	else
		print_lines(cli_arg(cli, 0), &result);
	if (!code && !result.identical)
		code = CLI_PARTIAL;
	phx_comparison_fini(&result);
	return code;
}
