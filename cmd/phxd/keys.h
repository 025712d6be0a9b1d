/* How phxd uses the vault (lib/vault): signatures, certificates of nodes, and the site's CA, which
 * can be changed while phxd serves. */
#ifndef PHXD_KEYS_H
#define PHXD_KEYS_H

#include "config/config.h"
#include "vault/vault.h"

struct daemon;
struct keys;

/** The configuration of the vault. Borrows from `cfg`. */
struct phx_vault_config keys_config(const struct phx_config *cfg);
/** Has the vault started; does not open the site's keys yet. */
int keys_new(struct daemon *d, struct keys **ret, struct phx_err *err);
/** Ends the vault. Safe on NULL. */
void keys_free(struct keys *k);
/** Borrowed. */
struct phx_vault *keys_vault(struct keys *k);
/** Signs with the site's key in the vault; on any thread, whatever lock it holds. */
struct phx_signer keys_signer(struct keys *k);
/** Likewise, for attestations of erases. */
struct phx_signer keys_attester(struct keys *k);
/** Has the vault open the site's keys, or make them, and sets d->pki. */
int keys_open(struct keys *k, struct phx_err *err);
/** A warning about the lifetime of the site's CA, by this head's clock; "": none. */
void keys_ca_said(struct daemon *d, char ret[PHX_CA_TEXT_MAX]);
/** Journals that the vault was started again. Returns WAKE_NEVER. */
int keys_tick(struct keys *k);
/** A certificate for a node, and the CAs that the node is to trust; both malloc'd. */
int keys_certify(struct keys *k, const struct phx_cert_ask *ask, char **ret_cert, char **ret_ca,
		 struct phx_err *err);
/** The token of a start of the node; "" where there is none (start 0), and with a word on stderr
 * where it cannot be made. */
void keys_start_token(struct keys *k, const char *node, uint64_t start,
		      char ret[PHX_START_TOKEN_MAX]);
/** The start whose token the node shows; 0: of none. */
uint64_t keys_start_shown(struct keys *k, const char *node, const char *token);
/** The node is no more, or another machine has its name: it begins with any key. */
void keys_forget(struct keys *k, const char *node);
/** Appends an order to renew its certificate, for an agent that trusts other CAs than it should, or
 * whose certificate is from the former CA (`running`: struct beat_running). */
void keys_orders_put(struct keys *k, const struct phx_list *running, struct phx_buf *b);
/** Changes the site's CA, and what the head serves with. -EBUSY, -ENOENT: as phx_pki_rotate(),
 * phx_pki_retire(). 0 also if the vault made the change but ended before it answered. After an
 * error the head serves with the keys that the vault has. */
int keys_change_ca(struct keys *k, enum phx_vault_change change, struct phx_err *err);

#endif
