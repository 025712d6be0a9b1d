/* The sections of phx-sim(1) that come from tables: policies, schedulers,
 * what phx sim iaas chooses among, metrics. Called by manual.c; prints only. */
#include "cli/help.h"
#include "phx/policy_rows.h"
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

/* One entry a row, with what counts for it. */
static void put_row(FILE *out, const struct policy_row *row)
{
	char text[512];
	bool tells = row->looks_at && *row->looks_at;
	snprintf(text, sizeof(text), "%s%s%s%s", row->text, tells ? " Looks at: " : "",
		 tells ? row->looks_at : "", tells ? "." : "");
	put_entry(out, row->name, text, row->source);
}

static void put_kind(FILE *out, const char *heading, const char *kind)
{
	const struct policy_row *rows;
	size_t n = policy_rows(&rows);
	fprintf(out, "# %s\n\n", heading);
	for (size_t i = 0; i < n; i++)
		if (phx_str_eq(rows[i].kind, kind))
			put_row(out, &rows[i]);
}

static void put_workloads(FILE *out)
{
	static const struct policy_row workloads[] = {
#define WORKLOAD(id, name, nodes, text, source) {"workload", name, "", text, source, NULL},
#include "iaas/workload.def"
#undef WORKLOAD
	};
	fputs("# WORKLOADS\n\n", out);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(workloads); i++)
		put_row(out, &workloads[i]);
}

void sim_manual(FILE *out)
{
	const struct phx_sim_metric *table;
	size_t n = phx_sim_metric_table(&table);
	put_policies(out);
	put_kind(out, "SCHEDULERS", "scheduler");
	put_kind(out, "PROVISIONING POLICIES", "provisioning");
	put_kind(out, "ALLOCATION POLICIES", "allocation");
	put_workloads(out);
	fputs("# METRICS\n\nMeans are over completed jobs. What has no value (a mean over no job) "
	      "is empty, in JSON "
	      "null.\n\n",
	      out);
	for (size_t i = 0; i < n; i++)
		put_entry(out, table[i].name, table[i].text, table[i].source);
}
