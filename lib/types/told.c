/* The records of what agents tell: see told.h. Pure. */
#include "types/told.h"

static const char *const kinds[] = {"step", "job"};
const struct phx_enum phx_told_kind_names = {"kind of result", kinds, PHX_ARRAY_SIZE(kinds)};

/* "lease" is the heartbeat timeout: agents of other versions have no other word for it. */
static const char *const ended_bys[] = {"unknown", "itself", "told", "limit", "lease"};
const struct phx_enum phx_job_ended_by_names = {"end", ended_bys, PHX_ARRAY_SIZE(ended_bys)};

PHX_RECORD_TABLE(phx_told_hello, PHX_TOLD_HELLO_FIELDS);
PHX_RECORD_TABLE(phx_told_beat, PHX_TOLD_BEAT_FIELDS);
PHX_RECORD_TABLE(phx_told_welcome, PHX_TOLD_WELCOME_FIELDS);
PHX_RECORD_TABLE(phx_next_key, PHX_NEXT_KEY_FIELDS);
PHX_RECORD_TABLE(phx_told_enrol, PHX_TOLD_ENROL_FIELDS);
PHX_RECORD_TABLE(phx_told_rekey, PHX_TOLD_REKEY_FIELDS);
PHX_RECORD_TABLE(phx_told_certified, PHX_TOLD_CERTIFIED_FIELDS);
PHX_RECORD_TABLE(phx_told_step, PHX_TOLD_STEP_FIELDS);
PHX_RECORD_TABLE(phx_told_job, PHX_TOLD_JOB_FIELDS);
