/* phx node check, and what came of checks: a word in phx node list, a table in phx node show, and
 * figures in phx node deviations that differ from those of most machines that are alike. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "phx/cli.h"

/* A figure that is so much less or more than the middle one of machines that are alike deviates. */
enum { DEVIATES_PERCENT = 20 };

int cmd_node_check(struct cli *cli)
{
	PHX_AUTO_JSON json_t *body = json_object();
	const char *text = cli_opt(cli, CLI_OPT_for, NULL);
	uint64_t seconds = 0;
	if (text && (phx_duration_parse(text, &seconds) < 0 || !seconds || seconds > UINT32_MAX))
		return cli_fail(CLI_USAGE, "--for: '%s' is no time such as 90s or 2h", text);
	if (text)
		json_object_set_new(body, "for_s", json_integer((json_int_t)seconds));
	if (cli_has(cli, CLI_OPT_with))
		json_object_set_new(body, "with", json_string(cli_opt(cli, CLI_OPT_with, "")));
	return cli_act(cli, "check", cli_arg(cli, 0), body, CLI_SAFE, "check");
}

/* ---- what came of it ---- */

/* Which part failed, or how long ago the oldest that passed did: that is how old the check is. */
void cli_put_checked(struct phx_buf *b, const json_t *value, const json_t *row)
{
	const json_t *oldest = NULL;
	size_t i;
	json_t *check;
	json_array_foreach((json_t *)value, i, check) {
		if (!phx_json_bool(check, "passed", false)) {
			phx_buf_addf(b, "failed: ");
			cli_put_clean(b, phx_json_str(check, "part", "?"));
			return;
		}
		if (!oldest ||
		    phx_json_int(check, "ended_ms", 0) < phx_json_int(oldest, "ended_ms", 0))
			oldest = check;
	}
	if (!oldest)
		return;
	phx_buf_addf(b, "passed ");
	cli_put_since(b, json_object_get(oldest, "ended_ms"), row);
	phx_buf_addf(b, " ago");
}

static void put_result(struct phx_buf *b, const json_t *value, const json_t *row)
{
	const char *text = phx_json_str(row, "text", "");
	phx_buf_addf(b, "%s%s", json_is_true(value) ? "passed" : "FAILED", *text ? ": " : "");
	cli_put_clean(b, text);
}

static void put_rate(struct phx_buf *b, const json_t *value, const json_t *row)
{
	char text[32];
	uint64_t n = (uint64_t)json_integer_value(value);
	if (!n)
		return;
	if (phx_str_eq(phx_json_str(row, "part", ""), "cpu"))
		phx_buf_addf(b, "%llu ops/s", (unsigned long long)n);
	else
		phx_buf_addf(b, "%s/s", phx_size_format(n, text, sizeof(text)));
}

static void put_bytes(struct phx_buf *b, const json_t *value, const json_t *row)
{
	if (json_integer_value(value) > 0)
		cli_put_size(b, value, row);
}

static void put_time(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)row;
	if (json_integer_value(value) > 0)
		cli_put_duration(b, json_integer_value(value) * 1000);
}

static const struct cli_column columns[] = {
	{.head = "CHECK", .path = "part"},
	{.head = "DISK", .path = "disk"},
	{.head = "RESULT", .path = "passed", .put = put_result},
	{.head = "SPEED", .path = "rate", .put = put_rate, .right = true},
	{.head = "WRITING", .path = "write_rate", .put = put_rate, .right = true},
	{.head = "SIZE", .path = "bytes", .put = put_bytes, .right = true},
	{.head = "FOR", .path = "seconds", .put = put_time, .right = true},
	{.head = "WHEN", .path = "ended_ms", .put = cli_put_when},
	{.head = "BY", .path = "tool"},
};

int cli_checks_print(struct cli *cli, const json_t *checks)
{
	if (!json_array_size(checks))
		return CLI_OK;
	putchar('\n');
	return cli_print_table(cli, columns, PHX_ARRAY_SIZE(columns), checks, 2);
}

/* ---- figures that deviate ---- */

/* The figure of one node: of disks that of its slowest. */
struct figure {
	const json_t *node;
	uint64_t rate;
};

static int by_rate(const void *a, const void *b)
{
	const struct figure *x = a, *y = b;
	return x->rate < y->rate ? -1 : x->rate > y->rate;
}

static uint64_t slowest(const json_t *node, const char *part, const char *member)
{
	uint64_t ret = 0;
	size_t i;
	json_t *check;
	json_array_foreach(json_object_get(node, "checks"), i, check) {
		uint64_t rate = (uint64_t)phx_json_int(check, member, 0);
		if (phx_str_eq(phx_json_str(check, "part", ""), part) && rate &&
		    (!ret || rate < ret))
			ret = rate;
	}
	return ret;
}

static void put_figure(struct phx_buf *b, const char *part, uint64_t rate)
{
	PHX_AUTO_JSON json_t *row = json_pack("{s:s}", "part", part);
	PHX_AUTO_JSON json_t *value = json_integer((json_int_t)rate);
	put_rate(b, value, row);
}

static void add_row(json_t *rows, const struct figure *f, const char *fact, const char *part,
		    uint64_t middle, size_t agree, size_t n)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf has = {0}, others = {0};
	put_figure(&has, part, f->rate);
	put_figure(&others, part, middle);
	json_array_append_new(rows,
			      json_pack("{s:s,s:s,s:s,s:s,s:I,s:I}", "node",
					phx_json_str(f->node, "name", ""), "fact", fact, "has",
					has.data ? has.data : "", "others_have",
					others.data ? others.data : "", "agree", (json_int_t)agree,
					"of", (json_int_t)n));
}

static bool is_near(uint64_t rate, uint64_t middle)
{
	uint64_t apart = rate > middle ? rate - middle : middle - rate;
	return apart * 100 <= middle * DEVIATES_PERCENT;
}

static void compare(struct figure *f, size_t n, const char *fact, const char *part, json_t *rows)
{
	size_t agree = 0;
	if (n < CLI_ALIKE_MIN)
		return;
	qsort(f, n, sizeof(*f), by_rate);
	uint64_t middle = f[n / 2].rate;
	for (size_t i = 0; i < n; i++)
		agree += is_near(f[i].rate, middle);
	for (size_t i = 0; 2 * agree > n && i < n; i++)
		if (!is_near(f[i].rate, middle))
			add_row(rows, &f[i], fact, part, middle, agree, n);
}

int cli_checks_compare(const json_t *alike, json_t *rows)
{
	static const struct {
		const char *fact, *part, *member;
	} figures[] = {
		{"CPU speed", "cpu", "rate"},
		{"disk reading", "disk", "rate"},
		{"disk writing", "disk", "write_rate"},
	};
	struct figure *f = calloc(json_array_size(alike) + 1, sizeof(*f));
	for (size_t k = 0; f && k < PHX_ARRAY_SIZE(figures); k++) {
		size_t i, n = 0;
		json_t *node;
		json_array_foreach((json_t *)alike, i, node) {
			uint64_t rate = slowest(node, figures[k].part, figures[k].member);
			if (rate)
				f[n++] = (struct figure){node, rate};
		}
		compare(f, n, figures[k].fact, figures[k].part, rows);
	}
	bool done = f;
	free(f);
	return done ? 0 : -1;
}
