/* The table of steps: see step_table.h. Called by the worker only. */
#include "agent/step_table.h"

#include <errno.h>

#include "agent/decide.h"

static const struct {
	int (*run)(struct step_run *s, struct phx_err *err);
	bool whole_machine; /* touches disks, mounts or the kernel: refused below --root */
} table[PHX_STEP_COUNT_] = {
	[PHX_STEP_prefetch] = {step_prefetch, false},
	[PHX_STEP_drain] = {step_drain, false},
	[PHX_STEP_stop] = {step_stop, false},
	[PHX_STEP_leave] = {step_leave, false},
	[PHX_STEP_kexec] = {step_kexec, true},
	[PHX_STEP_wipe] = {step_wipe, true},
	[PHX_STEP_image] = {step_image, true},
	[PHX_STEP_ram] = {step_ram, true},
	[PHX_STEP_enter] = {step_enter, true},
	[PHX_STEP_activate] = {step_activate, false},
	[PHX_STEP_start] = {step_start, false},
	[PHX_STEP_health] = {step_health, false},
	[PHX_STEP_rekey] = {step_rekey, false},
	[PHX_STEP_scratch] = {step_scratch, false},
	[PHX_STEP_kernel] = {step_kexec, true},
	[PHX_STEP_layout] = {step_layout, true},
	[PHX_STEP_check_cpu] = {step_check_cpu, false},
	[PHX_STEP_check_memory] = {step_check_memory, false},
	[PHX_STEP_check_disk] = {step_check_disk, true},
};

int step_run(struct step_run *s, struct phx_err *err)
{
	unsigned kind = (unsigned)s->order->step.kind;
	const char *name = phx_enum_name(&phx_step_kind_names, (int)kind);
	if (kind >= PHX_STEP_COUNT_ || !table[kind].run)
		return phx_err_set(err, -EOPNOTSUPP, "step %s is not the agent's", name);
	if (!decide_here(phx_step_info((enum phx_step_kind)kind)->needs, s->agent->env))
		return phx_err_set(err, -EPERM, "step %s is not done in environment %s", name,
				   phx_enum_name(&phx_node_env_names, (int)s->agent->env));
	if (table[kind].whole_machine && !s->agent->cfg.whole_machine)
		return phx_err_set(err, -EOPNOTSUPP,
				   "step %s: this agent has no machine of its own (--root)", name);
	return table[kind].run(s, err);
}
