/* What the files of this room share; nobody outside it includes this. */
#ifndef PHX_VAULT_INTERNAL_H
#define PHX_VAULT_INTERNAL_H

#include "vault/vault.h"

enum vault_op {
#define OP(name, function) VAULT_##name,
#include "vault/ops.def"
#undef OP
	N_VAULT_OPS
};

/** A question or its answer: of one shape, followed by `n` bytes. */
struct vault_message {
	uint32_t op;    /* enum vault_op; an answer has its question's */
	int32_t result; /* of an answer: 0, or negative errno; the bytes are then its text */
	uint32_t days;  /* cert */
	uint32_t n;     /* at most VAULT_BODY_MAX */
	char name[PHX_NAME_MAX]; /* cert: the node; key_*: the key */
};
enum { VAULT_BODY_MAX = 4 << 20 };

/* ---- message.c ---- */

/** Both block. -EPIPE when the other side has ended, -ETIMEDOUT (socket option), -EPROTO for what
 * is no message. `ret_body` is malloc'd, with a '\0' behind its n bytes; the caller wipes it. */
int vault_send(int fd, const struct vault_message *m, const void *body);
int vault_receive(int fd, struct vault_message *ret, char **ret_body);

/* ---- log.c: what the vault has done, each line chained to the one before ---- */

enum { VAULT_HASH_MAX = 65 };
struct vault_log {
	int fd;
	char path[1024], old_path[1040];
	char hash[VAULT_HASH_MAX];   /* of the last line */
	uint64_t n_bytes, max_bytes; /* longer ones are turned */
};
/** Opens DIR/vault.log, and reads it whole. `ret_complaint` (malloc'd, NULL: none) names the first
 * line that was altered; new lines go on from the last. */
int vault_log_open(struct vault_log *l, const char *dir, char **ret_complaint, struct phx_err *err);
/** One line; `text` has no line end in it. */
int vault_log_add(struct vault_log *l, struct phx_err *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- confine.c ---- */

/** Become the user, and be without anything but the two directories. What the kernel has not, is
 * left out: who runs it sees by `phxd --check`. */
int vault_confine(const struct phx_vault_config *config, struct phx_err *err);

/* ---- answer.c ---- */

/** What the process has; filled by its first question. */
struct vault {
	const struct phx_vault_config *config;
	struct phx_pki *pki;
	struct vault_log log;
	bool logging;
	char *complaint; /* about the log; NULL: none */
};
/** Answer one question: the answer's head in `ret`, its bytes in `ret_body`, whatever was asked. */
void vault_answer(struct vault *v, const struct vault_message *q, const char *body,
		  struct vault_message *ret, struct phx_buf *ret_body);
void vault_fini(struct vault *v);

#endif
