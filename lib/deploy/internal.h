/* Shared inside lib/deploy only. */
#ifndef PHX_DEPLOY_INTERNAL_H
#define PHX_DEPLOY_INTERNAL_H

#include "deploy/deploy.h"

/* iPXE as its package names it */
#define PHX_TFTP_BIOS "undionly.kpxe"
#define PHX_TFTP_UEFI "snponly.efi"

/** Copy words into a vector of its own. -ENOMEM. */
int phx_argv_make(struct phx_argv *ret, const char *const *words, size_t n);

#endif
