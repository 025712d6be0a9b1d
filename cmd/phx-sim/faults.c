/* phx sim faults: the whole core under faults, one life by its seed. Needs no
 * phxd, and touches no machine. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "phx-sim/sim.h"
#include "fault/fault.h"

static json_t *injected_json(const struct phx_fault_result *r)
{
	uint32_t n;
	json_t *list = json_array();
	const struct phx_fault_info *infos = phx_fault_infos(&n);
	for (uint32_t i = 0; i < n; i++)
		json_array_append_new(list,
				      json_pack("{s:i, s:s, s:I, s:s, s:s}", "fault",
						(int)infos[i].number, "name", infos[i].name,
						"times", (json_int_t)r->injected[i], "what",
						infos[i].what, "holds", infos[i].holds));
	return list;
}

static json_t *lines_json(const struct phx_fault_result *r)
{
	json_t *list = json_array();
	PHX_LIST_EACH(struct phx_fault_line, l, &r->lines)
		json_array_append_new(list,
				      json_pack("{s:I, s:s}", "time_ms", (json_int_t)l->time_ms,
						"text", l->text));
	return list;
}

static int print_json(struct cli *cli, const struct phx_fault_result *r)
{
	char hash[24];
	snprintf(hash, sizeof(hash), "%016llx", (unsigned long long)r->hash);
	json_t *j = json_pack(
		"{s:I, s:b, s:s, s:s, s:f, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}",
		"seed", (json_int_t)r->seed, "ok", r->ok, "invariant", r->invariant, "violation",
		r->violation, "hours", (double)r->time_ms / 3600000, "hash", hash, "events",
		(json_int_t)r->events, "journalled", (json_int_t)r->journalled, "checks",
		(json_int_t)r->checks, "handovers", (json_int_t)r->plans, "erasures",
		(json_int_t)r->erasures, "jobs", (json_int_t)r->jobs, "crashes",
		(json_int_t)r->crashes, "quarantines", (json_int_t)r->quarantines, "faults",
		injected_json(r), "lines", lines_json(r));
	int code = cli_print_value(cli, j);
	json_decref(j);
	return code;
}

static void print_faults(const struct phx_fault_result *r)
{
	uint32_t n;
	const struct phx_fault_info *infos = phx_fault_infos(&n);
	for (uint32_t i = 0; i < n; i++)
		if (r->injected[i])
			printf("%5llu x %3u  %s: %s\n", (unsigned long long)r->injected[i],
			       infos[i].number, infos[i].what, infos[i].holds);
}

static void print_lines(const struct phx_fault_result *r)
{
	PHX_LIST_EACH(struct phx_fault_line, l, &r->lines)
		printf("%12.3f  %s\n", (double)l->time_ms / 1000, l->text);
	if (r->ok)
		print_faults(r);
	printf("seed %llu: %.1f h, %llu events, %llu hand-overs, %llu erases, %llu jobs, %llu "
	       "deaths of phxd; trace %016llx\n",
	       (unsigned long long)r->seed, (double)r->time_ms / 3600000,
	       (unsigned long long)r->events, (unsigned long long)r->plans,
	       (unsigned long long)r->erasures, (unsigned long long)r->jobs,
	       (unsigned long long)r->crashes, (unsigned long long)r->hash);
	if (r->ok)
		printf("every invariant held after every event\n");
	else
		printf("invariant '%s' does not hold: %s\n", r->invariant, r->violation);
}

static uint64_t number(const struct cli *cli, enum cli_option_id id, const char *fallback)
{
	uint64_t value = 0;
	phx_u64_parse(cli_opt(cli, id, fallback), 0, UINT32_MAX, &value);
	return value;
}

int cmd_sim_faults(struct cli *cli)
{
	struct phx_fault_result result;
	struct phx_err err = {0};
	struct phx_fault_options o = {
		.seed = number(cli, CLI_OPT_seed, "1"),
		.hours = (uint32_t)number(cli, CLI_OPT_hours, "24"),
		.nodes = (uint32_t)number(cli, CLI_OPT_nodes, "64"),
		.only = (uint32_t)number(cli, CLI_OPT_fault, "0"),
	};
	int r = phx_fault_run(&o, &result, &err);
	if (r < 0) {
		fprintf(stderr, "phx: %s\n", err.text);
		return r == -EINVAL ? CLI_USAGE : CLI_TRY_AGAIN;
	}
	int code = CLI_OK;
	if (cli_structured(cli))
		code = print_json(cli, &result);
	else
		print_lines(&result);
	if (!code && !result.ok)
		code = CLI_PARTIAL;
	phx_fault_result_fini(&result);
	return code;
}
