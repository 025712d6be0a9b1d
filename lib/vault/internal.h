/* What the files of this room share; nobody outside it includes this. */
#ifndef PHX_VAULT_INTERNAL_H
#define PHX_VAULT_INTERNAL_H

#include "apart/apart.h"
#include "base/hash.h"
#include "vault/log.h"
#include "vault/vault.h"

enum vault_op {
#define OP(name, function) VAULT_##name,
#include "vault/ops.def"
#undef OP
	N_VAULT_OPS
};
enum { VAULT_BODY_MAX = 4 << 20 };
enum { VAULT_WITH_END = 1 /* number of the question `sign`: with how far the log is */ };

/* ---- log.c: what the vault has done, each line chained to the one before ---- */

#define VAULT_LOG_NAME "vault.log"
/* first word of a file that follows others, before the number of their lines */
#define VAULT_TURNED "turned"
/* first word of the line that says which file goes: its name ends with its last line's number */
#define VAULT_DROPPED "drop"
enum { VAULT_PATH_MAX = 1100 };
struct vault_log {
	int fd;
	char dir[1024], path[1040];
	char hash[PHX_ANCHOR_HASH_MAX]; /* of the last line */
	uint64_t n_lines;               /* over all files */
	uint64_t n_bytes, max_bytes;    /* longer files are turned */
	uint32_t keep;                  /* files that were turned; 0: all */
};
/** Opens DIR/vault.log, and reads it and the file before it. `ret_complaint` (malloc'd, NULL: none)
 * names the first line that was altered; new lines go on from the last. */
int vault_log_open(struct vault_log *l, const char *dir, uint32_t keep, char **ret_complaint,
		   struct phx_err *err);
/** One line; `text` has no line end in it. */
int vault_log_add(struct vault_log *l, struct phx_err *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/** The digest of a line behind another. */
int vault_log_chain(const char before[PHX_ANCHOR_HASH_MAX], const char *text,
		    char ret[PHX_ANCHOR_HASH_MAX]);

/* ---- confine.c ---- */

/** Become the user, and be without anything but the two directories. What the kernel has not, is
 * left out: who runs it sees by `phxd --check`. */
int vault_confine(const struct phx_vault_config *config, struct phx_err *err);

/* ---- texts.c: texts in a row, each with its '\0' ---- */

void vault_add_text(struct phx_buf *b, const char *text);
/** Text `i` of them; NULL beyond the end. */
const char *vault_text_at(const char *texts, size_t n, unsigned i);

/* ---- certified.c: the key of each node ---- */

enum { VAULT_WHY_MAX = 16 };
#define VAULT_OF_BEFORE "before" /* there was this table: why is not known */
struct vault_node {
	char name[PHX_NAME_MAX];
	char key[PHX_FINGERPRINT_MAX]; /* that was certified last; "": the node is gone */
	char why[VAULT_WHY_MAX];
	uint64_t start; /* whose token the last key was given for; 0: none */
	int64_t ms;     /* when, by the clock */
};
struct vault_certified {
	int fd;
	char path[1024];
	struct phx_list nodes; /* struct vault_node */
	struct phx_hash by_name;
	uint64_t n_lines, n_bytes; /* of the file */
};
/** Opens DIR/certified, or makes it of what the log says. After errors it is empty. */
int vault_certified_open(struct vault_certified *c, const char *dir, struct phx_err *err);
void vault_certified_fini(struct vault_certified *c);
/** Borrowed until the next vault_certified_put(); NULL: no key of it was ever certified. */
const struct vault_node *vault_certified_find(const struct vault_certified *c, const char *name);
/** On the disk when this returns; `ms` is set. */
int vault_certified_put(struct vault_certified *c, const struct vault_node *n, struct phx_err *err);

/* ---- answer.c ---- */

enum { VAULT_GRANTED = 4096 };

/** What the process has; filled by its first question. */
struct vault {
	const struct phx_vault_config *config;
	struct phx_pki *pki;
	struct phx_buf names; /* of the head, with which the site was opened: texts in a row */
	struct vault_log log;
	bool logging;
	char *complaint; /* about the log; NULL: none */
	struct vault_certified certified;
	bool tabled; /* it is open */
	/* numbers of starts whose tokens were logged, by a hash of the node: they are asked for
	 * again and again */
	uint64_t granted[VAULT_GRANTED];
	/* keys that were refused since then */
	int64_t refusals_ms;
	unsigned n_refusals;
};
/** Answer one question, whatever was asked: a struct phx_apart_server's answer(), `arg` is a struct
 * vault. */
int vault_answer(void *arg, const struct phx_apart_question *q, struct phx_apart_reply *ret,
		 struct phx_err *err);
void vault_fini(struct vault *v);

/* ---- held.c ---- */

/** -ENODATA: the site was not opened yet. */
int vault_need_site(const struct vault *v, struct phx_err *err);
/** Opens the log if it is not: the journal is opened before the site, the log with the first thing
 * that is logged. */
int vault_open_log(struct vault *v, struct phx_err *err);
#define VAULT_LOGGED(v, err, ...) \
	(vault_open_log(v, err) ?: vault_log_add(&(v)->log, err, __VA_ARGS__))

/* ---- given.c ---- */

/** Is that the key of a disk of that node? Their names begin with it (lib/node/keys.c). */
bool vault_key_is_of(const char *key_id, const char *node);
/** The key is given to a machine with that boot id once more: noted on the disk when this returns.
 * `ret_n`: the how manieth time. -EPERM: it was given often enough. */
int vault_note_given(const struct vault *v, const char *key_id, const char *boot_id,
		     unsigned *ret_n, struct phx_err *err);
/** The key is destroyed: nothing was given of another one of its name. */
void vault_forget_given(const struct vault *v, const char *key_id);
/** A line of the log says what was refused and why, of which a head does not get any number;
 * `which` may be "". */
void vault_log_refusal(struct vault *v, const char *what, const char *which, const char *why);

/* ---- cert.c: ops.def ---- */

int vault_op_cert(struct vault *v, const struct phx_apart_question *q, struct phx_buf *ret,
		  struct phx_err *err);
int vault_op_start(struct vault *v, const struct phx_apart_question *q, struct phx_buf *ret,
		   struct phx_err *err);
int vault_op_shown(struct vault *v, const struct phx_apart_question *q, struct phx_buf *ret,
		   struct phx_err *err);
int vault_op_forget(struct vault *v, const struct phx_apart_question *q, struct phx_buf *ret,
		    struct phx_err *err);
/** Is that the key by which the node was certified last? Of one that is not known any is. */
bool vault_key_is_its(struct vault *v, const struct phx_cert_info *node);

#endif
