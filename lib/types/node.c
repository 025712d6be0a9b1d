/* Tables of nodes, steps and plans, and which node state may follow which.
 * Called by the core, the API and the CLI. Pure. */
#include "types/node.h"

#include <errno.h>
#include <string.h>

static const char *const node_states[] = {"new",       "commissioning", "ready",
					  "deploying", "active",        "draining",
					  "cleaning",  "quarantined",   "maintenance"};
const struct phx_enum phx_node_state_names = {"node state", node_states,
					      PHX_ARRAY_SIZE(node_states)};

static const char *const node_envs[] = {"none", "deploy", "os"};
const struct phx_enum phx_node_env_names = {"environment", node_envs, PHX_ARRAY_SIZE(node_envs)};

static const char *const step_names[] = {
#define STEP(name, ...) #name,
#include "types/step.def"
#undef STEP
};
const struct phx_enum phx_step_kind_names = {"step", step_names, PHX_ARRAY_SIZE(step_names)};

static const char *const step_statuses[] = {"pending", "issued", "done", "failed"};
const struct phx_enum phx_step_status_names = {"step status", step_statuses,
					       PHX_ARRAY_SIZE(step_statuses)};

static const char *const tiers[] = {"none", "in-place", "deploy", "kexec", "power"};
const struct phx_enum phx_tier_names = {"tier", tiers, PHX_ARRAY_SIZE(tiers)};

static const char *const requests[] = {
	"",
#define REQUEST(name) #name,
#include "types/request.def"
#undef REQUEST
};
const struct phx_enum phx_request_names = {"request", requests, PHX_ARRAY_SIZE(requests)};

static const struct phx_step_info step_infos[] = {
#define STEP(name, phase, executor, needs, deadline, attempts, expected, on_fail, text) \
	{#name, \
	 PHX_NODE_##phase, \
	 PHX_EXEC_##executor, \
	 PHX_NEEDS_##needs, \
	 deadline, \
	 attempts, \
	 expected, \
	 PHX_ON_FAIL_##on_fail, \
	 text},
#include "types/step.def"
#undef STEP
};

const struct phx_step_info *phx_step_info(enum phx_step_kind kind)
{
	return &step_infos[kind];
}

bool phx_step_starts(int kind)
{
	return kind == PHX_STEP_kexec || kind == PHX_STEP_kernel || kind == PHX_STEP_boot;
}

bool phx_step_leaves(int kind)
{
	return kind == PHX_STEP_kexec || kind == PHX_STEP_kernel || kind == PHX_STEP_enter;
}

bool phx_step_checks(int kind, enum phx_check_part *ret_part)
{
	static const struct {
		enum phx_step_kind kind;
		enum phx_check_part part;
	} rows[] = {
#define PART(name) {PHX_STEP_check_##name, PHX_CHECK_##name},
		PHX_CHECK_PARTS(PART)
#undef PART
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		if ((int)rows[i].kind == kind) {
			if (ret_part)
				*ret_part = rows[i].part;
			return true;
		}
	return false;
}

PHX_RECORD_TABLE(phx_step, PHX_STEP_FIELDS);
PHX_RECORD_TABLE(phx_plan, PHX_PLAN_FIELDS);
PHX_RECORD_TABLE(phx_mac, PHX_MAC_FIELDS);
PHX_RECORD_TABLE(phx_label, PHX_LABEL_FIELDS);
PHX_RECORD_TABLE(phx_node_note, PHX_NODE_NOTE_FIELDS);
PHX_RECORD_TABLE(phx_node_tpm, PHX_NODE_TPM_FIELDS);
PHX_RECORD_TABLE(phx_unfit, PHX_UNFIT_FIELDS);
static bool is_gone(const void *item)
{
	return phx_node_is_gone(item);
}

PHX_RECORD_TABLE(phx_node, PHX_NODE_FIELDS, .is_gone = is_gone);

static const char *const allocations[] = {"outside", "free", "held", "coming", "away"};
const struct phx_enum phx_node_allocation_names = {"allocation", allocations,
						   PHX_ARRAY_SIZE(allocations)};

/* The states that may follow `from`, as bits. */
static unsigned successors(enum phx_node_state from)
{
	static const struct {
		enum phx_node_state from, to;
	} rows[] = {
#define LIFE(from, to) {PHX_NODE_##from, PHX_NODE_##to},
#include "types/node_life.def"
#undef LIFE
	};
	unsigned bits = 1u << from | 1u << PHX_NODE_QUARANTINED;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		bits |= rows[i].from == from ? 1u << rows[i].to : 0;
	return bits;
}

bool phx_node_state_may(enum phx_node_state from, enum phx_node_state to)
{
	return successors(from) & 1u << to;
}

int phx_node_become(struct phx_node *n, enum phx_node_state to)
{
	if (!phx_node_state_may((enum phx_node_state)n->state, to))
		return -EPROTO;
	n->state = (int)to;
	return 0;
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

void phx_node_job_ended(struct phx_node *n, int64_t now_ms)
{
	struct phx_step *step = phx_node_step(n);
	if (step && n->plan.waits && step->kind == PHX_STEP_drain &&
	    step->status == PHX_STEP_PENDING && !step->attempt)
		step->deadline_ms = now_ms;
}

struct phx_known_disk *phx_known_disk(const struct phx_node *n, const char *id)
{
	PHX_LIST_EACH(struct phx_known_disk, k, &n->known_disks)
		if (!strcmp(k->id, id))
			return k;
	return NULL;
}

bool phx_node_has_mac(const struct phx_node *n, const char *mac)
{
	PHX_LIST_EACH(struct phx_mac, m, &n->macs)
		if (!strcmp(m->mac, mac))
			return true;
	return false;
}

bool phx_node_has_bmc(const struct phx_node *n)
{
	return n->bmc.driver[0] && strcmp(n->bmc.driver, "none");
}

bool phx_node_by_mac_alone(const struct phx_node *n)
{
	return n->macs.n && !n->token_sha256[0] && !n->ip[0] && !n->serial[0] && !n->key_fp[0];
}
