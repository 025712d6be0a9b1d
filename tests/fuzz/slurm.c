/* What squeue and sinfo print. Whatever it is: nodes have names, jobs ids, and those that run have
 * hosts; text that is refused is told.
 * Parsers: lib/slurm/parse.c */
#include "fuzz/fuzz.h"
#include "slurm/slurm.h"

static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct phx_engine_job *)a)->id,
		      ((const struct phx_engine_job *)b)->id);
}

static void read_jobs(const char *text)
{
	struct phx_slurm_report report = {0};
	struct phx_err err = {0};
	if (phx_slurm_parse_jobs(text, &report.jobs, &err) < 0)
		fuzz_never(!err.text[0]);
	PHX_LIST_EACH(const struct phx_engine_job, j, &report.jobs) {
		bool there =
			j->state == PHX_ENGINE_JOB_RUNNING || j->state == PHX_ENGINE_JOB_ENDING;
		fuzz_never(!j->id[0] || !j->nodes || there != (j->hosts.n > 0));
		fuzz_never(j->state >= PHX_ENGINE_JOB_DONE || j->limit_ms < 0);
	}
	if (report.jobs.n)
		qsort(report.jobs.items, report.jobs.n, sizeof(struct phx_engine_job), by_id);
	phx_slurm_parse_ends(text, &report.jobs, NULL);
	phx_slurm_report_fini(&report);
}

static void read_nodes(const char *text)
{
	struct phx_slurm_report report = {0};
	struct phx_err err = {0};
	if (phx_slurm_parse_nodes(text, &report, &err) < 0)
		fuzz_never(!err.text[0]);
	PHX_LIST_EACH(const struct phx_engine_node, node, &report.nodes)
		fuzz_never(!phx_name_valid(node->name));
	PHX_LIST_EACH(const struct phx_engine_node, p, &report.partitions)
		fuzz_never(!p->name[0] || strpbrk(p->name, " ,='\"|"));
	phx_slurm_report_fini(&report);
}

/* Ends of jobs that are known, too. */
static void read_ends(const char *text)
{
	static struct phx_engine_job known[] = {
		{.id = "17"}, {.id = "17_4"}, {.id = "7"}, {.id = "8"}};
	struct phx_list list = {.items = known, .n = PHX_ARRAY_SIZE(known)};
	phx_slurm_parse_ends(text, &list, NULL);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(known); i++)
		fuzz_never(known[i].status < 0 || known[i].status > 255);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text = fuzz_text(data, n);
	int64_t ms = -1;
	read_jobs(text);
	read_nodes(text);
	read_ends(text);
	text[strcspn(text, "\n")] = '\0';
	if (phx_slurm_parse_limit(text, &ms) == 0)
		fuzz_never(ms < 0);
	free(text);
	return 0;
}
