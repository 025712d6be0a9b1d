/* The vault's log, for whoever reads it: the vault itself, and people with copies of its files. A
 * line for each certificate, signature and key, with the digest of the line before in its own:
 *
 *	HASH MS TEXT		HASH = SHA-256(HASH of the line before, "MS TEXT")
 *
 * The present file is vault.log; one that was long has its date behind that name. Each anchor of
 * the journal (pki/anchor.h) says how many lines there were, and the last one's digest. */
#ifndef PHX_VAULT_LOG_H
#define PHX_VAULT_LOG_H

#include "pki/anchor.h"

/** A line. Texts are borrowed. */
struct phx_vault_line {
	uint64_t number; /* of the log, from 1 on, over all its files */
	const char *hash;
	int64_t time_ms; /* by the clock of then */
	const char *text;
};

/** Where a reader is; zeroed before the oldest file. */
struct phx_vault_reader {
	char hash[PHX_ANCHOR_HASH_MAX]; /* of the last line */
	uint64_t number, first;         /* of the last line, and of the first */
	bool begun;
	char *complaint; /* the first line that does not follow; malloc'd, the caller's */
};
/** Reads a file that follows those before it. The first line of all is believed where it says that
 * it is not the first of the log (or the file is vault.log.1, of before they said so); what is
 * behind it must follow. `each` (may be NULL) gets the lines, also those that do not. *ret_whole
 * (may be NULL): bytes of whole lines; what is behind them is half a line that a power cut left.
 */
int phx_vault_log_read(struct phx_vault_reader *r, const char *path,
		       void (*each)(void *arg, const struct phx_vault_line *line), void *arg,
		       size_t *ret_whole, struct phx_err *err);

/** A file of it. */
struct phx_vault_file {
	char path[1280];
	uint64_t first;  /* number of its first line */
	int64_t time_ms; /* of that line */
};
/** The files in `dir` that were turned, the oldest first (struct phx_vault_file; the caller:
 * phx_list_fini(), after errors, too). */
int phx_vault_log_turned(const char *dir, struct phx_list *ret, struct phx_err *err);
/** Puts paths of files of one log into their order. */
void phx_vault_log_sort(const char **paths, size_t n);

/** What an audit has found. */
struct phx_vault_audit {
	uint64_t first, last; /* lines that are there */
	unsigned n_proofs;    /* anchors that fit */
	unsigned n_before;    /* that are of lines before the first */
	uint64_t proven;      /* the last line that an anchor has proven */
	int64_t proven_ms;    /* the time of that anchor */
	char text[512];       /* what is wrong */
};
/** 0: the lines of these files, in their order, follow each other, and anchors (struct phx_anchor,
 * whose signatures were verified) that say how far the log was fit; 1: a line does not follow; 2:
 * an anchor says otherwise: lines are gone, at the end, or at the beginning and no line says so, or
 * were written anew. `text` says which. What was before the first line, no anchor that fits
 * being given, is not known. Errors: -ENOENT, ... */
int phx_vault_log_audit(const char *const *paths, size_t n, const struct phx_list *anchors,
			struct phx_vault_audit *ret, struct phx_err *err);

#endif
