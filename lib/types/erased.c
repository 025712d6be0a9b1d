/* The records of what agents tell of an erase: see erased.h. Pure. */
#include "types/erased.h"

PHX_RECORD_TABLE(phx_wipe_result, PHX_WIPE_RESULT_FIELDS);
PHX_RECORD_TABLE(phx_seal, PHX_SEAL_FIELDS);
PHX_RECORD_TABLE(phx_quote, PHX_QUOTE_FIELDS);
