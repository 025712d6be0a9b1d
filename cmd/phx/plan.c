/* Plans for people: the steps with their phases and expected times, equal plans
 * of several nodes once. What a kind of step means comes from the step table. */
#include <string.h>

#include "base/json.h"
#include "node/node.h"
#include "phx/cli.h"

/* Row of the step table for a step of the API; NULL for a kind this phx does not know. */
static const struct phx_step_info *step_info(const json_t *step)
{
	int kind;
	if (phx_enum_parse(&phx_step_kind_names, phx_json_str(step, "kind", ""), &kind, NULL) < 0)
		return NULL;
	return phx_step_info((enum phx_step_kind)kind);
}

static void put_phase(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)value;
	const struct phx_step_info *info = step_info(row);
	phx_buf_addf(b, "%s", info ? phx_enum_name(&phx_node_state_names, (int)info->phase) : "?");
}

static void put_what(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)value;
	const struct phx_step_info *info = step_info(row);
	const char *kind = phx_json_str(row, "kind", ""), *disk = phx_json_str(row, "disk", "");
	phx_buf_addf(b, "%s", info ? info->text : "");
	if (phx_str_eq(kind, "wipe"))
		phx_buf_addf(b, " (%s)", phx_json_str(row, "method", ""));
	if (*disk) {
		phx_buf_addf(b, ": ");
		cli_put_clean(b, disk);
	}
}

/* How long a step took or has been running. */
static void put_took(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)value;
	int64_t begin = phx_json_int(row, "issued_ms", 0), end = phx_json_int(row, "ended_ms", 0);
	bool running = phx_str_eq(phx_json_str(row, "status", ""), "issued");
	if (begin > 0 && running)
		end = cli_now_ms();
	if (begin > 0 && end >= begin)
		cli_put_duration(b, end - begin);
}

static const struct cli_column step_columns[] = {
	{.head = "STEP", .path = "kind"},
	{.head = "PHASE", .path = "", .put = put_phase},
	{.head = "EXPECTED", .path = "expected_ms", .put = cli_put_ms, .right = true},
	{.head = "WHAT", .path = "", .put = put_what},
};

static const struct cli_column progress_columns[] = {
	{.head = "STEP", .path = "kind"},
	{.head = "PHASE", .path = "", .put = put_phase},
	{.head = "STATUS", .path = "status"},
	{.head = "ATTEMPT", .path = "attempt", .right = true},
	{.head = "EXPECTED", .path = "expected_ms", .put = cli_put_ms, .right = true},
	{.head = "TOOK", .path = "", .put = put_took, .right = true},
	{.head = "WHAT", .path = "", .put = put_what},
	{.head = "ERROR", .path = "error"},
};

int cli_plan_steps(struct cli *cli, const json_t *plan)
{
	return cli_print_table(cli, progress_columns, PHX_ARRAY_SIZE(progress_columns), json_object_get(plan, "steps"),
			       2);
}

bool cli_plan_destroys(const json_t *plan)
{
	static const char *const kinds[] = {"wipe", "destroy_key", "image"};
	size_t i;
	json_t *step;
	json_array_foreach(json_object_get(plan, "steps"), i, step)
	{
		for (size_t k = 0; k < PHX_ARRAY_SIZE(kinds); k++)
			if (phx_str_eq(phx_json_str(step, "kind", ""), kinds[k]))
				return true;
	}
	return false;
}

bool cli_plan_active(const json_t *plan)
{
	/* what a node has done stays to be seen, with the cursor behind the last step */
	return (size_t)phx_json_int(plan, "cursor", 0) < json_array_size(json_object_get(plan, "steps"));
}

void cli_plan_short(struct phx_buf *b, const json_t *plan)
{
	const json_t *steps = json_object_get(plan, "steps");
	size_t n = json_array_size(steps), cursor = (size_t)phx_json_int(plan, "cursor", 0);
	const json_t *step = json_array_get(steps, cursor);
	if (!cli_plan_active(plan))
		return;
	phx_buf_addf(b, "%s %zu/%zu", phx_json_str(step, "kind", "?"), cursor + 1, n);
	int64_t attempt = phx_json_int(step, "attempt", 0);
	if (attempt > 1)
		phx_buf_addf(b, " (attempt %lld)", (long long)attempt);
}

/* The plan without what differs from node to node: number and disks. */
static char *plan_key(const json_t *plan)
{
	PHX_AUTO_JSON json_t *copy = json_deep_copy(plan);
	json_object_del(copy, "epoch");
	size_t i;
	json_t *step;
	json_array_foreach(json_object_get(copy, "steps"), i, step)
	{
		json_object_del(step, "disk");
		json_object_del(step, "id");
	}
	return copy ? phx_json_text(copy) : NULL;
}

static int print_plan(struct cli *cli, const json_t *plan, const json_t *names)
{
	PHX_AUTO_FREE char *folded = cli_nodes_fold(names);
	const char *to_role = phx_json_str(plan, "to_role", ""), *reason = phx_json_str(plan, "reason", "");
	const json_t *steps = json_object_get(plan, "steps");
	if (!json_array_size(steps)) {
		printf("%s: nothing to do\n", folded ? folded : "?");
		return CLI_OK;
	}
	PHX_AUTO(phx_buf_fini) struct phx_buf head = {0};
	phx_buf_addf(&head, "%s: %s -> %s", folded ? folded : "?", phx_json_str(plan, "from_pool", "-"),
		     phx_json_str(plan, "to_pool", "-"));
	if (*to_role)
		phx_buf_addf(&head, ", role %s", to_role);
	phx_buf_addf(&head, "; %s%s%s; about ", phx_json_str(plan, "tier", "?"), *reason ? ": " : "", reason);
	cli_put_duration(&head, phx_json_int(plan, "expected_ms", 0));
	printf("%s\n", head.data ? head.data : "");
	return cli_print_table(cli, step_columns, PHX_ARRAY_SIZE(step_columns), steps, 2);
}

int cli_plan_print(struct cli *cli, const json_t *results)
{
	PHX_AUTO_JSON json_t *groups = json_object(); /* key → {plan, names} */
	size_t i;
	json_t *result;
	json_array_foreach((json_t *)results, i, result)
	{
		json_t *plan = json_object_get(result, "plan");
		if (phx_json_int(result, "code", 0) < 0)
			continue;
		PHX_AUTO_FREE char *key = plan ? plan_key(plan) : strdup("none");
		json_t *group = json_object_get(groups, key ? key : "");
		if (!group) {
			group = json_pack("{s:O?, s:[]}", "plan", plan, "names");
			json_object_set_new(groups, key ? key : "", group);
		}
		json_array_append(json_object_get(group, "names"), json_object_get(result, "node"));
	}
	const char *key;
	json_t *group;
	json_object_foreach(groups, key, group)
		print_plan(cli, json_object_get(group, "plan"), json_object_get(group, "names"));
	return CLI_OK;
}
