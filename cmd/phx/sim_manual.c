/* The sections of phx-sim(1) that come from tables: policies, schedulers,
 * what phx sim iaas chooses among, metrics. Printed by phx completion sim-manual; prints only. */
#include "phx/help.h"
#include "sim/metrics.h"

static void put_entry(FILE *out, const char *name, const char *text, const char *source)
{
	fputc('*', out);
	cli_scd(out, name);
	fputs("*\n\t", out);
	cli_scd(out, text);
	if (*source && *source != '-') {
		fputs(" [", out);
		cli_scd(out, source);
		fputc(']', out);
	}
	fputs("\n\n", out);
}

static void put_policies(FILE *out)
{
	fputs("# POLICIES\n\n", out);
	for (int id = 0; id < PHX_POLICY_COUNT_; id++) {
		const struct phx_policy *p = phx_policy((enum phx_policy_id)id);
		put_entry(out, p->name, p->text, p->source);
	}
}

static void put_schedulers(FILE *out)
{
	static const char *const sources[] = {
#define SCHEDULER(name, label, order, pass, source, text) source,
#include "batch/scheduler.def"
#undef SCHEDULER
	};
	fputs("# SCHEDULERS\n\n", out);
	for (int id = 0; id < PHX_SCHEDULER_COUNT_; id++)
		put_entry(out, phx_enum_name(&phx_scheduler_names, id), phx_scheduler_text((enum phx_scheduler)id),
			  sources[id]);
}

/* One entry a row: name, text, what counts, source. */
struct manual_row {
	const char *name, *text, *params, *source;
};

static void put_rows(FILE *out, const char *heading, const struct manual_row *rows, size_t n)
{
	fprintf(out, "# %s\n\n", heading);
	for (size_t i = 0; i < n; i++) {
		char text[512];
		snprintf(text, sizeof(text), "%s%s%s%s", rows[i].text, *rows[i].params ? " Looks at: " : "",
			 rows[i].params, *rows[i].params ? "." : "");
		put_entry(out, rows[i].name, text, rows[i].source);
	}
}

static void put_iaas(FILE *out)
{
	static const struct manual_row policies[] = {
#define PROVISIONING(id, name, params, pools, knows, trigger, text, source) {name, text, trigger, source},
#include "policy/provisioning.def"
#undef PROVISIONING
	};
	static const struct manual_row allocations[] = {
#define ALLOCATION(id, name, scheduler, pools, text, source) {name, text, "", source},
#include "sim/allocation.def"
#undef ALLOCATION
	};
	static const struct manual_row workloads[] = {
#define WORKLOAD(id, name, nodes, text, source) {name, text, "", source},
#include "sim/iaas_workload.def"
#undef WORKLOAD
	};
	put_rows(out, "PROVISIONING POLICIES", policies, PHX_ARRAY_SIZE(policies));
	put_rows(out, "ALLOCATION POLICIES", allocations, PHX_ARRAY_SIZE(allocations));
	put_rows(out, "WORKLOADS", workloads, PHX_ARRAY_SIZE(workloads));
}

void sim_manual(FILE *out)
{
	const struct phx_sim_metric *table;
	size_t n = phx_sim_metric_table(&table);
	put_policies(out);
	put_schedulers(out);
	put_iaas(out);
	fputs("# METRICS\n\nMeans are over completed jobs. What has no value (a mean over no job) is empty, in JSON "
	      "null.\n\n",
	      out);
	for (size_t i = 0; i < n; i++)
		put_entry(out, table[i].name, table[i].text, table[i].source);
}
