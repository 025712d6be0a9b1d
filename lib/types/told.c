/* The records of what agents tell: see told.h. Pure. */
#include "types/told.h"

PHX_RECORD_TABLE(phx_told_report, PHX_TOLD_REPORT_FIELDS);
PHX_RECORD_TABLE(phx_told_hello, PHX_TOLD_HELLO_FIELDS);
PHX_RECORD_TABLE(phx_told_beat, PHX_TOLD_BEAT_FIELDS);
PHX_RECORD_TABLE(phx_told_welcome, PHX_TOLD_WELCOME_FIELDS);
PHX_RECORD_TABLE(phx_next_key, PHX_NEXT_KEY_FIELDS);
PHX_RECORD_TABLE(phx_told_enrol, PHX_TOLD_ENROL_FIELDS);
PHX_RECORD_TABLE(phx_told_rekey, PHX_TOLD_REKEY_FIELDS);
PHX_RECORD_TABLE(phx_told_certified, PHX_TOLD_CERTIFIED_FIELDS);
