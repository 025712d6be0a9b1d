/* The records of the ledger: of an RE, its debts, leases and sums, and of the ledger's image in a
 * snapshot of the core. Used by code that stores or shows a ledger. Pure. */
#include "ledger/internal.h"

static const char *const re_states[] = {"gone", "active", "leaving"};
static const struct phx_enum re_state_names = {"state in the ledger", re_states,
					       PHX_ARRAY_SIZE(re_states)};

PHX_RECORD_TABLE(phx_ledger_debt, PHX_LEDGER_DEBT_FIELDS);
PHX_RECORD_TABLE(phx_ledger_lease, PHX_LEDGER_LEASE_FIELDS);
PHX_RECORD_TABLE(phx_ledger_part, PHX_LEDGER_PART_FIELDS);
PHX_RECORD_TABLE(phx_ledger_ask, PHX_LEDGER_ASK_FIELDS);
PHX_RECORD_TABLE(phx_ledger_gone, PHX_LEDGER_GONE_FIELDS);
PHX_RECORD_TABLE(phx_ledger_unfit, PHX_LEDGER_UNFIT_FIELDS);
PHX_RECORD_TABLE(phx_ledger_meter, PHX_LEDGER_METER_FIELDS);
PHX_RECORD_TABLE(phx_ledger_re, PHX_LEDGER_RE_FIELDS);
PHX_RECORD_TABLE(phx_ledger_image, PHX_LEDGER_IMAGE_FIELDS);
