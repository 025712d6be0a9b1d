/* Tables of nodes, steps and plans, and which state may follow which.
 * Called by the core, the API and the CLI. Pure. */
#include "node/node.h"

#include <string.h>

static const char *const node_states[] = { "new",      "commissioning", "ready",       "deploying",	"active",
					   "draining", "cleaning",	"quarantined", "maintenance" };
const struct phx_enum phx_node_state_names = { "node state", node_states, PHX_ARRAY_SIZE(node_states) };

static const char *const node_envs[] = { "none", "deploy", "os" };
const struct phx_enum phx_node_env_names = { "environment", node_envs, PHX_ARRAY_SIZE(node_envs) };

static const char *const step_names[] = {
#define STEP(name, ...) #name,
#include "node/step.def"
#undef STEP
};
const struct phx_enum phx_step_kind_names = { "step", step_names, PHX_ARRAY_SIZE(step_names) };

static const char *const step_statuses[] = { "pending", "issued", "done", "failed" };
const struct phx_enum phx_step_status_names = { "step status", step_statuses, PHX_ARRAY_SIZE(step_statuses) };

static const char *const tiers[] = { "none", "in-place", "deploy", "kexec", "power" };
const struct phx_enum phx_tier_names = { "tier", tiers, PHX_ARRAY_SIZE(tiers) };

static const struct phx_step_info step_infos[] = {
#define STEP(name, phase, executor, needs, deadline, attempts, expected, on_fail, text)                        \
	{ #name,    PHX_NODE_##phase, PHX_EXEC_##executor, PHX_NEEDS_##needs, deadline, attempts, expected, \
	  PHX_ON_FAIL_##on_fail, text },
#include "node/step.def"
#undef STEP
};

const struct phx_step_info *phx_step_info(enum phx_step_kind kind)
{
	return &step_infos[kind];
}

PHX_RECORD_TABLE(phx_step, PHX_STEP_FIELDS);
PHX_RECORD_TABLE(phx_plan, PHX_PLAN_FIELDS);
PHX_RECORD_TABLE(phx_mac, PHX_MAC_FIELDS);
PHX_RECORD_TABLE(phx_label, PHX_LABEL_FIELDS);
PHX_RECORD_TABLE(phx_unfit, PHX_UNFIT_FIELDS);
PHX_RECORD_TABLE(phx_node, PHX_NODE_FIELDS);

static const char *const powers[] = { "unknown", "on", "off" };
const struct phx_enum phx_power_names = { "power state", powers, PHX_ARRAY_SIZE(powers) };

static const char *const shares[] = { "outside", "free", "held", "coming", "away" };
const struct phx_enum phx_node_share_names = { "share", shares, PHX_ARRAY_SIZE(shares) };

#define BIT(state) (1u << PHX_NODE_##state)

/* From a state (index) to the states that may follow. Quarantined is added to all. */
static const unsigned successors[] = {
	[PHX_NODE_NEW] = BIT(COMMISSIONING),
	[PHX_NODE_COMMISSIONING] = BIT(READY),
	[PHX_NODE_READY] = BIT(DRAINING) | BIT(CLEANING) | BIT(DEPLOYING) | BIT(MAINTENANCE),
	[PHX_NODE_DEPLOYING] = BIT(ACTIVE) | BIT(READY) | BIT(DRAINING) | BIT(CLEANING),
	[PHX_NODE_ACTIVE] = BIT(DRAINING) | BIT(CLEANING) | BIT(DEPLOYING) | BIT(MAINTENANCE) | BIT(READY),
	[PHX_NODE_DRAINING] = BIT(CLEANING) | BIT(DEPLOYING) | BIT(READY) | BIT(MAINTENANCE) | BIT(ACTIVE),
	[PHX_NODE_CLEANING] = BIT(DEPLOYING) | BIT(READY) | BIT(DRAINING) | BIT(ACTIVE),
	[PHX_NODE_QUARANTINED] = BIT(CLEANING) | BIT(READY) | BIT(COMMISSIONING),
	[PHX_NODE_MAINTENANCE] = BIT(ACTIVE) | BIT(READY) | BIT(DRAINING) | BIT(CLEANING) | BIT(DEPLOYING),
};

bool phx_node_state_may(enum phx_node_state from, enum phx_node_state to)
{
	return from == to || to == PHX_NODE_QUARANTINED || (successors[from] & (1u << to));
}

bool phx_node_state_transient(enum phx_node_state s)
{
	return s == PHX_NODE_DRAINING || s == PHX_NODE_CLEANING || s == PHX_NODE_DEPLOYING;
}

struct phx_step *phx_node_step(const struct phx_node *n)
{
	if (n->plan.cursor >= n->plan.steps.n)
		return NULL;
	return PHX_LIST_AT(&n->plan.steps, struct phx_step, n->plan.cursor);
}

bool phx_node_has_mac(const struct phx_node *n, const char *mac)
{
	PHX_LIST_EACH(struct phx_mac, m, &n->macs)
		if (!strcmp(m->mac, mac))
			return true;
	return false;
}

bool phx_node_by_mac_alone(const struct phx_node *n)
{
	return n->macs.n && !n->token_sha256[0] && !n->ip[0] && !n->serial[0] && !n->key_fp[0];
}
