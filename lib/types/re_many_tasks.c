/* REs for workflows of many tasks (003 3.1): they obtain nodes as tasks wait, and a node runs
 * several tasks side by side. Called through its row, by agreement.c. Pure. */
#include <string.h>

#include "types/agreement_findings.h"

static void check(struct phx_agreement_findings *f)
{
	const struct phx_agreement *a = f->a;

	wrong_if(f, a->kill_grace_s > 3600, "kill_grace", "must be at most 1 h");
	wrong_if(f,
		 a->data_directory[0] &&
			 (a->data_directory[0] != '/' ||
			  phx_beneath_check(a->data_directory + 1, NULL) < 0),
		 "data_directory", "must be an absolute path, printable and without ..");
}

static const char *const keys[] = {"kill_grace", "data_directory", NULL};

const struct phx_re_kind phx_re_kind_many_tasks = {
	.text = "workflows",
	.has_jobs = true,
	.has_tasks = true,
	.model = PHX_POLICY_dr,
	.cycle_s = 1, /* 003 4.4: S of MTC */
	.side = PHX_PLACE_BATCH,
	.roles = {[PHX_RE_ENGINE_BUILTIN] = "batch-compute",
		  [PHX_RE_ENGINE_SLURM] = "slurm-compute"},
	.keys = keys,
	.check = check,
};
