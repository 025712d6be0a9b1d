/* REs for batch jobs: a queue, whose engine is ours or Slurm. Called through its row, by
 * agreement.c. Pure. */
#include "types/agreement_findings.h"

/* With engine slurm, the agreement must not set what Slurm decides. */
static void check(struct phx_agreement_findings *f)
{
	static const char its[] = "is Slurm's with this engine: slurm.conf says it";
	const struct phx_agreement *a = f->a;
	bool slurm = a->engine == PHX_RE_ENGINE_SLURM;

	wrong_if(f, slurm && a->scheduler != f->def->scheduler, "scheduler", its);
	wrong_if(f, slurm && a->keep_jobs, "keep_jobs",
		 "has no effect with this engine: what waits in Slurm's queue stays there");
	wrong_if(f, slurm && a->kill_grace_s != f->def->kill_grace_s, "kill_grace", its);
	wrong_if(f, a->kill_grace_s > 3600, "kill_grace", "must be at most 1 h");
}

static const char *const keys[] = {"engine",    "scheduler",  "kill_order", "no_requeue",
				   "keep_jobs", "kill_grace", NULL};

const struct phx_re_kind phx_re_kind_batch = {
	.text = "batch jobs",
	.has_jobs = true,
	.model = PHX_POLICY_fb,
	.cycle_s = 60,
	.side = PHX_PLACE_BATCH,
	.roles = {[PHX_RE_ENGINE_BUILTIN] = "batch-compute",
		  [PHX_RE_ENGINE_SLURM] = "slurm-compute"},
	.keys = keys,
	.check = check,
};
