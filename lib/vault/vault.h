/* The vault: a process of its own that holds the site's private keys and the
 * keys of encrypted disks, so that the process that listens to the network has
 * none of them. It signs what the head may have signed and nothing else: node
 * certificates of PHX_NODE_CERT_DAYS at most, erase records, lines about the
 * journal. Started by the head (`phxd --vault`), asked over a socketpair, without
 * network, without exec, seeing two directories; ended when the head ends. */
#ifndef PHX_VAULT_VAULT_H
#define PHX_VAULT_VAULT_H

#include "apart/apart.h"
#include "pki/anchor.h"
#include "pki/next_key.h"
#include "pki/pki.h"
#include "pki/sealed.h"
#include "pki/token.h"

/** What the vault does and where. Texts are borrowed for its whole life. */
struct phx_vault_config {
	const char *program; /* which is the vault when its first argument is --vault */
	const char *pki_dir; /* the site's keys, and the vault's own log */
	const char *key_dir; /* keys of disks */
	const char *user;    /* whom it becomes; "" or not there: nobody else */
	uint32_t log_keep;   /* files of its log that were turned and are kept; 0: all */
	/* on any thread, which may hold any lock: the vault has ended and was started again. NULL
	 * is fine */
	void (*restarted)(void *arg);
	void *arg;
	/* where another process starts it, by phx_vault_spawn(). NULL: phx_vault_start() does */
	phx_apart_start_fn start;
	void *start_arg;
};

/* ---- the head's side; any thread ---- */

struct phx_vault;

/** Start the process; makes nothing yet. */
int phx_vault_start(const struct phx_vault_config *config, struct phx_vault **ret,
		    struct phx_err *err);
/** Start the process for somebody else: the socket over which it is asked. */
int phx_vault_spawn(const struct phx_vault_config *config, struct phx_process *ret, int *ret_fd,
		    struct phx_err *err);
/** Ends the process and waits for its end. Safe on NULL. */
void phx_vault_end(struct phx_vault *v);
/** Its pid, for messages; another one after a restart. */
pid_t phx_vault_pid(struct phx_vault *v);

/** The site's PKI as phx_pki_open() makes and finds it, without the keys of CA and site: whoever
 * has it can serve TLS and issues nothing. `ret_complaint` (malloc'd): what is wrong with the
 * vault's own log, NULL when nothing is. */
int phx_vault_site(struct phx_vault *v, const char *const *server_names, size_t n_names,
		   struct phx_pki **ret, char **ret_complaint, struct phx_err *err);
/** The change of the site's CA. */
enum phx_vault_change {
	PHX_VAULT_ROTATE, /* as phx_pki_rotate() */
	PHX_VAULT_RETIRE  /* as phx_pki_retire() */
};
/** Change it, and the site's PKI as it is then. After an error that is none of these functions' it
 * may have happened: phx_vault_site() tells. */
int phx_vault_change_ca(struct phx_vault *v, enum phx_vault_change change, struct phx_pki **ret,
			struct phx_err *err);
/** The certificates of people that were issued here (struct phx_issued, the caller:
 * phx_list_fini(), after errors, too). */
int phx_vault_people(struct phx_vault *v, struct phx_list *ret, struct phx_err *err);
/** What is certified, and what speaks for it. Texts are borrowed; NULL is "". */
struct phx_cert_ask {
	const char *csr, *node;
	uint32_t days;                   /* PHX_NODE_CERT_DAYS at most */
	const char *token;               /* that the machine showed, of a start */
	const struct phx_next_key *next; /* what the node's key has signed for it; NULL: nothing */
};
/** A certificate for the node, malloc'd PEM: for the key that it has, or for another by one of
 * these. -EPERM: it has a key, and neither speaks for the other one. */
int phx_vault_cert(struct phx_vault *v, const struct phx_cert_ask *ask, char **ret_pem,
		   struct phx_err *err);
/** The token of a start of the node (pki/token.h), good for one key other than it has now. It is
 * logged. */
int phx_vault_start_token(struct phx_vault *v, const char *node, uint64_t start,
			  char ret[PHX_START_TOKEN_MAX], struct phx_err *err);
/** Is it one of this node, with the key that it has? -EACCES: no. */
int phx_vault_start_shown(struct phx_vault *v, const char *node, const char *token,
			  struct phx_err *err);
/** The node is no more: the next key of this name is that of another machine. */
int phx_vault_forget(struct phx_vault *v, const char *node, struct phx_err *err);
/** What signs what: -EPERM of any other text, and of an attestation that proves no erase, or not
 * with keys that were certified here for that node. */
enum phx_vault_key {
	PHX_VAULT_SITE,  /* erase records (JSON), lines about a journal (pki/anchor.h) */
	PHX_VAULT_ATTEST /* attestations of erases (pki/attestation.h) */
};
int phx_vault_sign(struct phx_vault *v, enum phx_vault_key key, const char *text,
		   uint8_t ret_sig[PHX_SIG_SIZE], struct phx_err *err);
/** Sign the line of an anchor with the site's key, and in it how far the vault's log is: these
 * words are the vault's (pki/anchor.h). */
int phx_vault_sign_end(struct phx_vault *v, const char *text, char ret_end[PHX_ANCHOR_END_MAX],
		       uint8_t ret_sig[PHX_SIG_SIZE], struct phx_err *err);
/** As phx_diskkey_make() and phx_diskkey_destroy(). */
int phx_vault_key_make(struct phx_vault *v, const char *key_id, struct phx_err *err);
/** The key for the node that asks (phx_key_ask_make()), which alone can open it. -ENOENT: there is
 * none; -EINVAL, -EKEYREJECTED: it is not asked for by a node; -EPERM: it is not that node's, or
 * was given to this start of the machine often enough. */
int phx_vault_key_give(struct phx_vault *v, const char *key_id, const struct phx_key_ask *ask,
		       struct phx_key_sealed *ret, struct phx_err *err);
int phx_vault_key_destroy(struct phx_vault *v, const char *key_id, struct phx_err *err);

/* ---- the process ---- */

/** Be the vault: give up all rights that it does not need, then answer on `fd` until the head
 * closes it. Never returns. */
void phx_vault_serve(int fd, const struct phx_vault_config *config) __attribute__((noreturn));

#endif
