/* The records of what agents tell: see told.h. Pure. */
#include "types/told.h"

PHX_RECORD_TABLE(phx_told_report, PHX_TOLD_REPORT_FIELDS);
PHX_RECORD_TABLE(phx_told_hello, PHX_TOLD_HELLO_FIELDS);
PHX_RECORD_TABLE(phx_told_beat, PHX_TOLD_BEAT_FIELDS);
PHX_RECORD_TABLE(phx_told_welcome, PHX_TOLD_WELCOME_FIELDS);
