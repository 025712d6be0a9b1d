/* Declarations that the files of lib/core share. No other file includes this one. */
#ifndef PHX_CORE_INTERNAL_H
#define PHX_CORE_INTERNAL_H

#include "state/apply.h"

/* people.c: a handler */
int phx_apply_cert_revoke(struct phx_apply *a);

#endif
