/* The table of policies. Called by lib/ledger, which executes wishes; never moves a
 * node itself. Pure. */
#include "policy/internal.h"

static const char *const names[] = {
#define POLICY(name, text) text,
#include "policy/policy.def"
#undef POLICY
};
const struct phx_enum phx_policy_names = {"resource coordination model", names,
					  PHX_ARRAY_SIZE(names)};

static const char *const reasons[] = {
#define REASON(name, text, sentence) text,
#include "policy/reason.def"
#undef REASON
};
const struct phx_enum phx_policy_reason_names = {"reason", reasons, PHX_ARRAY_SIZE(reasons)};

static const char *const sentences[] = {
#define REASON(name, text, sentence) sentence,
#include "policy/reason.def"
#undef REASON
};

const char *phx_policy_reason_text(int reason)
{
	return reason >= 0 && reason < PHX_REASON_COUNT_ ? sentences[reason] : "?";
}

static const struct phx_policy *const policies[] = {
#define POLICY(name, ...) &phx_policy_##name,
#include "policy/policy.def"
#undef POLICY
};

const struct phx_policy *phx_policy(enum phx_policy_id id)
{
	return policies[id];
}
