/* The process that holds the keys (lib/vault), as phxd uses it: what is signed, the certificates of
 * nodes, and the site's CA, which can be changed while phxd serves. */
#ifndef PHXD_KEYS_H
#define PHXD_KEYS_H

#include "config/config.h"
#include "vault/vault.h"

struct daemon;
struct keys;

/** What the process is started with. Borrows from `cfg`. */
struct phx_vault_config keys_config(const struct phx_config *cfg);
/** Has the process started; opens nothing yet. */
int keys_new(struct daemon *d, struct keys **ret, struct phx_err *err);
/** Ends it. Safe on NULL. */
void keys_free(struct keys *k);
/** Borrowed. */
struct phx_vault *keys_vault(struct keys *k);
/** Signs by it, on any thread, whatever lock it holds. */
struct phx_signer keys_signer(struct keys *k);
/** Likewise attestations of erases. */
struct phx_signer keys_attester(struct keys *k);
/** Opens the site's keys there, or makes them, and sets d->pki. */
int keys_open(struct keys *k, struct phx_err *err);
/** What is to be said of the life of the site's CA, by this head's clock; "" nothing. */
void keys_ca_said(struct daemon *d, char ret[PHX_CA_TEXT_MAX]);
/** Journals that it was started again. Returns ms to the next call. */
int keys_tick(struct keys *k);
/** A certificate for a node, and the CAs that the node is to believe; both malloc'd. */
int keys_certify(struct keys *k, const char *csr_pem, const char *node, char **ret_cert,
		 char **ret_ca, struct phx_err *err);
/** Append the order to have its certificate renewed for an agent that believes other CAs than it
 * should, or whose certificate is of the former one (`running`: struct beat_running). */
void keys_orders_put(struct keys *k, const struct phx_list *running, struct phx_buf *b);
/** Change the site's CA, and all that the head serves with. -EBUSY, -ENOENT: as phx_pki_rotate(),
 * phx_pki_retire(). 0 also where the vault ended before it said so; after an error the head serves
 * with what there is. */
int keys_change_ca(struct keys *k, enum phx_vault_change change, struct phx_err *err);

#endif
