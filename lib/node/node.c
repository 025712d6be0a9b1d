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

static const struct phx_field step_fields[] = {
#define S struct phx_step
	PHX_U64(S, id),	       PHX_ENUM(S, kind, &phx_step_kind_names), PHX_ENUM(S, status, &phx_step_status_names),
	PHX_U32(S, attempt),   PHX_U32(S, silences),			PHX_U32(S, expected_ms),
	PHX_I64(S, issued_ms),
	PHX_I64(S, ended_ms),  PHX_I64(S, deadline_ms),			PHX_BOOL(S, started),
	PHX_BOOL(S, turned_up), PHX_STR(S, role), PHX_BOOL(S, former),
	PHX_STR(S, disk),      PHX_ENUM(S, method, &phx_wipe_method_names), PHX_STR(S, key_id),
	PHX_STR(S, error),
#undef S
};
const struct phx_record phx_step_record = PHX_RECORD("step", struct phx_step, step_fields);

static const struct phx_field plan_fields[] = {
#define P struct phx_plan
	PHX_U64(P, epoch),	  PHX_ENUM(P, tier, &phx_tier_names), PHX_ENUM(P, from_state, &phx_node_state_names), PHX_I64(P, started_ms), PHX_U32(P, cursor),
	PHX_U32(P, repairs),	  PHX_U32(P, expected_ms),	      PHX_STR(P, to_role),    PHX_STR(P, to_pool),
	PHX_STR(P, from_pool),	  PHX_STR(P, request),		      PHX_STR(P, reason),
	PHX_STR(P, by),		  PHX_BOOL(P, waits),		      PHX_BOOL(P, has_grace), PHX_U32(P, grace_ms),
	PHX_I64(P, kill_at_ms),
	PHX_STR(P, from_identity), PHX_STR(P, back),
	PHX_STR(P, cause),
	PHX_LIST(P, steps, &phx_step_record),
#undef P
};
const struct phx_record phx_plan_record = PHX_RECORD("plan", struct phx_plan, plan_fields);

static const struct phx_field mac_fields[] = { PHX_STR(struct phx_mac, mac) };
const struct phx_record phx_mac_record = PHX_RECORD("mac", struct phx_mac, mac_fields);

static const struct phx_field label_fields[] = { PHX_STR(struct phx_label, key), PHX_STR(struct phx_label, value) };
const struct phx_record phx_label_record = PHX_RECORD("label", struct phx_label, label_fields);

static const struct phx_field unfit_fields[] = { PHX_STR(struct phx_unfit, re), PHX_STR(struct phx_unfit, why) };
const struct phx_record phx_unfit_record = PHX_RECORD("unfit", struct phx_unfit, unfit_fields);

static const struct phx_field node_fields[] = {
#define N struct phx_node
	PHX_STR(N, name),
	PHX_U32(N, number),
	PHX_ENUM(N, state, &phx_node_state_names),
	PHX_STR(N, reason),
	PHX_STR(N, pool),
	PHX_STR(N, role),
	PHX_LIST(N, labels, &phx_label_record),
	PHX_BOOL(N, pinned),
	PHX_BOOL(N, accepted),
	PHX_BOOL(N, hold),
	PHX_BOOL(N, asked),
	PHX_STR(N, token_sha256),
	PHX_LIST(N, macs, &phx_mac_record),
	PHX_STR(N, serial),
	PHX_STR(N, uuid),
	PHX_STR(N, ip),
	PHX_STR(N, key_fp),
	PHX_BOOL(N, window),
	PHX_I64(N, window_until_ms),
	PHX_I64(N, refused_ms),
	PHX_BOOL(N, unserved),
	PHX_BOOL(N, awaited),
	PHX_REC(N, bmc, &phx_bmc_record),
	PHX_ENUM(N, env, &phx_node_env_names),
	PHX_BOOL(N, up),
	PHX_BOOL(N, quiet),
	PHX_I64(N, rests_until_ms),
	PHX_I64(N, up_since_ms),
	PHX_I64(N, missing_since_ms),
	PHX_STR(N, boot_id),
	PHX_STR(N, address),
	PHX_ENUM(N, power, &phx_power_names),
	PHX_BOOL(N, off_wanted),
	PHX_I64(N, off_again_ms),
	PHX_STR(N, cut_by),
	PHX_BOOL(N, inspect),
	PHX_STR(N, system_image),
	PHX_STR(N, system_digest),
	PHX_STR(N, system_disk),
	PHX_STR(N, disk_key_id),
	PHX_BOOL(N, key_unread),
	PHX_BOOL(N, dirty),
	PHX_STR(N, tenant),
	PHX_STR(N, tenant_pool),
	PHX_BOOL(N, mixed),
	PHX_BOOL(N, owes_wipe),
	PHX_BOOL(N, plain),
	PHX_STR(N, actual_role),
	PHX_STR(N, actual_identity),
	PHX_BOOL(N, healthy),
	PHX_STR(N, health_text),
	PHX_U32(N, jobs_running),
	PHX_ENUM(N, share, &phx_node_share_names),
	PHX_STR(N, share_re),
	PHX_STR(N, share_from),
	PHX_U64(N, share_job),
	PHX_I64(N, away_since_ms),
	PHX_I64(N, away_until_ms),
	PHX_STR(N, gave_up),
	PHX_LIST(N, unfit_for, &phx_unfit_record),
	PHX_BOOL(N, unfit),
	PHX_U64(N, epoch),
	PHX_REC(N, facts, &phx_facts_record),
	PHX_REC(N, plan, &phx_plan_record),
#undef N
};
const struct phx_record phx_node_record = PHX_RECORD("node", struct phx_node, node_fields);

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
