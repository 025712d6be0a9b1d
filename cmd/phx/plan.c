/* Plans for people: the steps with their phases and expected times, equal plans of several nodes
 * once. What a kind of step means comes from the step table. Called by the commands that show
 * plans. Decides nothing. */
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "types/node.h"
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
		end = phx_wall_ms();
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
	return cli_print_table(cli, progress_columns, PHX_ARRAY_SIZE(progress_columns),
			       json_object_get(plan, "steps"), 2);
}

bool cli_plan_destroys(const json_t *plan)
{
	static const char *const kinds[] = {"wipe", "scratch", "destroy_key", "image"};
	size_t i;
	json_t *step;
	json_array_foreach(json_object_get(plan, "steps"), i, step) {
		for (size_t k = 0; k < PHX_ARRAY_SIZE(kinds); k++)
			if (phx_str_eq(phx_json_str(step, "kind", ""), kinds[k]))
				return true;
	}
	return false;
}

bool cli_plan_active(const json_t *plan)
{
	/* what a node has done stays to be seen, with the cursor behind the last step */
	return (size_t)phx_json_int(plan, "cursor", 0) <
		json_array_size(json_object_get(plan, "steps"));
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
	json_object_del(copy, "left");
	json_object_del(copy, "layout");
	size_t i;
	json_t *step;
	json_array_foreach(json_object_get(copy, "steps"), i, step) {
		json_object_del(step, "disk");
		json_object_del(step, "id");
	}
	return copy ? phx_json_text(copy) : NULL;
}

/* "about 33.0 s", or what it hangs on. */
static void put_expected(struct phx_buf *b, const json_t *plan, const json_t *results)
{
	size_t i;
	json_t *result;
	cli_put_duration(b, phx_json_int(plan, "expected_ms", 0));
	if (phx_json_bool(plan, "has_grace", false))
		return;
	json_array_foreach((json_t *)results, i, result) {
		const json_t *job = json_array_get(json_object_get(result, "jobs"), 0);
		if (!job || phx_json_int(job, "limit_ms", 0) > 0)
			continue;
		phx_buf_addf(b, " after the last job has ended");
		return;
	}
}

/* The steps as all of them have them; without the disks, which each has its own of. */
static json_t *steps_of_all(const json_t *plan, size_t n)
{
	json_t *steps = json_deep_copy(json_object_get(plan, "steps"));
	size_t i;
	json_t *step;
	json_array_foreach(steps, i, step) {
		if (n > 1)
			json_object_del(step, "disk");
	}
	return steps;
}

/* Which disk is whose: a line for each node and step that destroys one. */
static void print_disks(const json_t *results)
{
	size_t i, k;
	json_t *result, *step;
	if (json_array_size(results) < 2)
		return;
	json_array_foreach((json_t *)results, i, result) {
		json_array_foreach(json_object_get(json_object_get(result, "plan"), "steps"), k,
				   step) {
			PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
			cli_put_clean(&b, phx_json_str(step, "disk", ""));
			if (b.n)
				printf("  %s: %s of %s\n", phx_json_str(result, "node", "?"),
				       phx_json_str(step, "kind", "?"), b.data);
		}
	}
}

/* Which disks are left alone, by node: whoever has the node next sees what is on them. */
static void print_protected(const json_t *results)
{
	size_t i, k;
	json_t *result, *disk;
	json_array_foreach((json_t *)results, i, result) {
		json_array_foreach(json_object_get(json_object_get(result, "plan"), "left"), k,
				   disk) {
			PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
			cli_put_clean(&b, phx_json_str(disk, "id", "?"));
			phx_buf_addf(&b, " by ");
			cli_put_clean(&b, phx_json_str(disk, "why", "?"));
			printf("  %s: left as protected, with all data: %s\n",
			       phx_json_str(result, "node", "?"), b.data);
		}
	}
}

/* "data1 (wwn-1, wwn-2): raid1, ext4 at /data" */
static void put_volume(struct phx_buf *b, const json_t *volume, const json_t *parts)
{
	size_t i, n = 0;
	json_t *part;
	const char *name = phx_json_str(volume, "name", "?"),
		   *mount = phx_json_str(volume, "mount", "");
	cli_put_clean(b, name);
	json_array_foreach((json_t *)parts, i, part) {
		char size[32];
		if (!phx_str_eq(phx_json_str(part, "volume", ""), name))
			continue;
		phx_size_format((uint64_t)phx_json_int(part, "size_bytes", 0), size, sizeof(size));
		phx_buf_addf(b, "%s%s of ", n++ ? ", " : ": ", size);
		cli_put_clean(b, phx_json_str(part, "disk", "?"));
	}
	phx_buf_addf(b, "; %s, %s", phx_json_str(volume, "join", "?"),
		     phx_json_str(volume, "type", "?"));
	if (*mount)
		phx_buf_addf(b, " at %s", mount);
}

/* Which disks get which file systems, by node. */
static void print_layout(const json_t *results)
{
	size_t i, k;
	json_t *result, *volume;
	json_array_foreach((json_t *)results, i, result) {
		const json_t *plan = json_object_get(result, "plan"),
			     *layout = json_object_get(plan, "layout");
		json_array_foreach(json_object_get(layout, "volumes"), k, volume) {
			PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
			put_volume(&b, volume, json_object_get(layout, "parts"));
			printf("  %s: layout%s: %s\n", phx_json_str(result, "node", "?"),
			       phx_json_bool(plan, "keeps_layout", false) ? ", kept" : "", b.data);
		}
	}
}

/* A role that leaves in place leaves more than its packages. */
static void print_left(const json_t *steps)
{
	size_t i;
	json_t *step;
	json_array_foreach((json_t *)steps, i, step) {
		if (phx_str_eq(phx_json_str(step, "kind", ""), "leave"))
			printf("  not undone: what the services changed outside of their packages "
			       "(users, interfaces, mounts, "
			       "settings), unless a leave program does; a wipe would\n");
	}
}

/* An empty plan: a drain takes the node out at once, of anything else there is nothing to do. */
static void print_empty(const json_t *results, const char *names)
{
	const json_t *plan = json_object_get(json_array_get(results, 0), "plan");
	if (!phx_json_bool(plan, "waits", false) || phx_json_bool(plan, "has_grace", false))
		printf("%s: there is nothing to do\n", names);
	else
		printf("%s: goes into maintenance at once, without steps\n", names);
	cli_ends_print(results, plan);
}

/* Where it leads, and by which tier: "batch -> web, role web-server; in-place: ...". A drain leads
 * out of service. */
static void put_way(struct phx_buf *b, const json_t *plan)
{
	const char *to_role = phx_json_str(plan, "to_role", ""),
		   *reason = phx_json_str(plan, "reason", "");
	const char *from = phx_json_str(plan, "from_pool", "");
	if (phx_str_eq(phx_json_str(plan, "request", ""), "drain")) {
		phx_buf_addf(b, "into maintenance");
		return;
	}
	phx_buf_addf(b, "%s -> %s", *from ? from : "-", phx_json_str(plan, "to_pool", "-"));
	if (*to_role)
		phx_buf_addf(b, ", role %s", to_role);
	phx_buf_addf(b, "; %s%s%s", phx_json_str(plan, "tier", "?"), *reason ? ": " : "", reason);
}

/* Results whose plans are equal but for what differs from node to node. */
static int print_group(struct cli *cli, const json_t *results)
{
	PHX_AUTO_JSON json_t *names = json_array();
	size_t i;
	json_t *result;
	json_array_foreach((json_t *)results, i, result)
		json_array_append(names, json_object_get(result, "node"));
	PHX_AUTO_FREE char *folded = cli_nodes_fold(names);
	const json_t *plan = json_object_get(json_array_get(results, 0), "plan");
	PHX_AUTO_JSON json_t *steps = steps_of_all(plan, json_array_size(results));
	if (!json_array_size(steps)) {
		print_empty(results, folded ? folded : "?");
		return CLI_OK;
	}
	PHX_AUTO(phx_buf_fini) struct phx_buf head = {0};
	phx_buf_addf(&head, "%s: ", folded ? folded : "?");
	put_way(&head, plan);
	phx_buf_addf(&head, "; about ");
	put_expected(&head, plan, results);
	printf("%s\n", head.data ? head.data : "");
	const char *kernel = phx_json_str(plan, "runs_kernel", ""),
		   *warning = phx_json_str(plan, "kernel_warning", "");
	if (*kernel)
		printf("  kernel: %s\n", kernel);
	if (*warning)
		printf("  warning: %s\n", warning);
	int code = cli_print_table(cli, step_columns, PHX_ARRAY_SIZE(step_columns), steps, 2);
	print_disks(results);
	print_protected(results);
	print_layout(results);
	print_left(steps);
	cli_ends_print(results, plan);
	return code;
}

int cli_plan_print(struct cli *cli, const json_t *results)
{
	PHX_AUTO_JSON json_t *groups = json_object(); /* key → results */
	size_t i;
	json_t *result;
	json_array_foreach((json_t *)results, i, result) {
		json_t *plan = json_object_get(result, "plan");
		if (phx_json_int(result, "code", 0) < 0)
			continue;
		PHX_AUTO_FREE char *key = plan ? plan_key(plan) : strdup("none");
		json_t *group = json_object_get(groups, key ? key : "");
		if (!group) {
			group = json_array();
			json_object_set_new(groups, key ? key : "", group);
		}
		json_array_append(group, result);
	}
	const char *key;
	json_t *group;
	json_object_foreach(groups, key, group)
		print_group(cli, group);
	return CLI_OK;
}
