/* What the files of this room share; nobody outside it includes this. */
#ifndef PHX_VAULT_INTERNAL_H
#define PHX_VAULT_INTERNAL_H

#include "apart/apart.h"
#include "vault/vault.h"

enum vault_op {
#define OP(name, function) VAULT_##name,
#include "vault/ops.def"
#undef OP
	N_VAULT_OPS
};
enum { VAULT_BODY_MAX = 4 << 20 };

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

/* ---- texts.c: texts in a row, each with its '\0' ---- */

void vault_add_text(struct phx_buf *b, const char *text);
/** Text `i` of them; NULL beyond the end. */
const char *vault_text_at(const char *texts, size_t n, unsigned i);

/* ---- answer.c ---- */

/** What the process has; filled by its first question. */
struct vault {
	const struct phx_vault_config *config;
	struct phx_pki *pki;
	struct phx_buf names; /* of the head, with which the site was opened: texts in a row */
	struct vault_log log;
	bool logging;
	char *complaint; /* about the log; NULL: none */
	/* keys that were refused since then */
	int64_t refusals_ms;
	unsigned n_refusals;
};
/** Answer one question, whatever was asked: a struct phx_apart_server's answer(), `arg` is a struct
 * vault. */
int vault_answer(void *arg, const struct phx_apart_question *q, struct phx_apart_reply *ret,
		 struct phx_err *err);
void vault_fini(struct vault *v);

/* ---- given.c ---- */

/** Is that the key of a disk of that node? Their names begin with it (lib/node/keys.c). */
bool vault_key_is_of(const char *key_id, const char *node);
/** The key is given to a machine with that boot id once more: noted on the disk when this returns.
 * `ret_n`: the how manieth time. -EPERM: it was given often enough. */
int vault_note_given(const struct vault *v, const char *key_id, const char *boot_id,
		     unsigned *ret_n, struct phx_err *err);
/** The key is destroyed: nothing was given of another one of its name. */
void vault_forget_given(const struct vault *v, const char *key_id);
/** Is another refusal logged? `ret_unsaid`: so many were not before it. */
bool vault_tells_refusal(struct vault *v, unsigned *ret_unsaid);

#endif
