/* Declarations that the files of lib/backup share. */
#ifndef PHX_BACKUP_INTERNAL_H
#define PHX_BACKUP_INTERNAL_H

#include "backup/backup.h"

/** A file that goes into an archive. */
struct backup_item {
	struct phx_backup_file row;
	char *bytes; /* what it holds, wiped when done; NULL: it lies at `from` */
	char *from;
};

struct backup_collection {
	struct phx_list items;    /* struct backup_item */
	struct phx_list left_out; /* struct phx_backup_name */
	struct phx_list catalog;  /* struct phx_backup_file */
	bool secrets;             /* secret files are taken, not left out */
};
void backup_collection_fini(struct backup_collection *c);

/** What may be in a directory, and whether it is secret: what others may not read is, unless... */
enum backup_kind {
	BACKUP_CONFIG, /* ... nothing */
	BACKUP_STATE,  /* ... it is called anchors; directories below are passed over */
	BACKUP_PKI,    /* ... it is a certificate, a public key or the vault's log */
	BACKUP_KEYS,   /* all is secret */
	BACKUP_PUBLIC, /* nothing is */
	BACKUP_STORE,  /* nothing is; large files are read when they are packed */
	BACKUP_LIST,   /* the same, only for the catalogue */
};
/** Take the files below `dir` as PREFIX/NAME; one that was taken stays as it was. No directory is
 * none. */
int backup_collect(struct backup_collection *c, const char *dir, const char *prefix,
		   enum backup_kind kind, struct phx_err *err);
/** Take a file that lies at `path` and does not change. */
int backup_collect_file(struct backup_collection *c, const char *path, const char *name,
			unsigned mode, struct phx_err *err);
/** Their order in an archive. */
void backup_collection_sort(struct backup_collection *c);

/** May DIR be replaced? Takes the lock of a head on it into *ret_lock (-1: there is none), to be
 * closed by the caller when all is done. */
int backup_place_check(const struct phx_restore_how *how, int *ret_lock, struct phx_err *err);
/** Replace state_dir by `state`, and etc_dir (may be NULL) by `etc`, the old aside: all, or
 * nothing. Fills in where the old ones are. */
int backup_place(const struct phx_restore_how *how, const char *state, const char *etc,
		 struct phx_backup_done *done, struct phx_err *err);

/** Replay the journal below the staging area `state`, and verify its chain and the anchors beside
 * it. Leaves nothing beside the journal. */
int backup_prove(const char *state, struct phx_backup_done *done, struct phx_err *err);

#endif
