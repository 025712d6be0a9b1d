/* Tokens of starts: what a machine shows that comes for a certificate after a start that the head
 * ordered or awaits (node/start.c). Each is made from the number of the start, the node, the key
 * that the node has, and a key of the site, "NUMBER.DIGITS": it is the same whenever it is given,
 * and worth nothing once the node has another key. No journal, snapshot or list of nodes holds it.
 * The key of the site is the vault's: nobody else makes or checks a token. */
#ifndef PHX_PKI_TOKEN_H
#define PHX_PKI_TOKEN_H

#include "pki/pki.h"

/** "18446744073709551615." + 64 hex digits + NUL, rounded up. */
#define PHX_START_TOKEN_MAX 96

/** A start of a machine. Texts are borrowed. */
struct phx_start {
	uint64_t number;
	const char *node;
	const char *key_fp; /* of the key that the node has until then; "": none */
};
/** The token of the start; number 0 has none: "". -EIO when it cannot be made, ret is "" then, and
 * -EPERM where `p` is without keys. Thread-safe. */
int phx_start_token(const struct phx_pki *p, const struct phx_start *start,
		    char ret[PHX_START_TOKEN_MAX]);
/** Is it that of a start of this node with this key (`start->number` is not looked at)? Its number;
 * 0: it is not. Takes as long for a wrong one as for a right one. Thread-safe. */
uint64_t phx_start_of_token(const struct phx_pki *p, const struct phx_start *start,
			    const char *token);
/** The number that a token says it is of, which nobody has checked; 0: it is no token. */
uint64_t phx_start_said(const char *token);

#endif
