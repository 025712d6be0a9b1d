/* Tokens of starts: what a machine shows that comes for a certificate after a start that the head
 * ordered or awaits (node/start.c). Each is made from the number of the start and a key of the
 * site, "NUMBER.DIGITS": it is the same whenever it is given, and no journal, snapshot or list of
 * nodes holds it. */
#ifndef PHX_PKI_TOKEN_H
#define PHX_PKI_TOKEN_H

#include "pki/pki.h"

/** "18446744073709551615." + 64 hex digits + NUL, rounded up. */
#define PHX_START_TOKEN_MAX 96

/** The token of a start; 0 has none: "". -EIO when it cannot be made, ret is "" then. Thread-safe.
 */
int phx_start_token(const struct phx_pki *p, uint64_t start, char ret[PHX_START_TOKEN_MAX]);
/** The start whose token this is; 0: of none. Takes as long for a wrong one as for a right one.
 * Thread-safe. */
uint64_t phx_start_of_token(const struct phx_pki *p, const char *token);

#endif
