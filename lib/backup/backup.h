/* The head's state as one file, and back. phx_backup_make() is run by root beside a head that
 * serves and asks it nothing: no process that listens to the network gains a right by it, and none
 * ever sees a key or the passphrase. The vault could not do it: it would have to give all keys,
 * sealed for whoever the head says, and the head is what the vault is there to be safe from.
 *
 * A file is a tar.zst (backup/stream.h seals it) of manifest.json, manifest.sig and the files that
 * the manifest lists, in its order. Restoring refuses all of it before a file is placed, or places
 * all of it, by renames, after the journal has proven itself by replay. */
#ifndef PHX_BACKUP_BACKUP_H
#define PHX_BACKUP_BACKUP_H

#include "backup/manifest.h"

/** Where a head has its things; borrowed. */
struct phx_backup_places {
	const char *state_dir, *journal, *pki_dir, *key_dir, *image_dir, *package_dir,
		*package_key_dir;
	/* config_dir: the directory of phoenix.conf; the others are skipped where they lie in it */
	const char *config_dir, *role_dir, *site_dir, *bmc_dir;
};

struct phx_backup_how {
	const char *passphrase; /* NULL: not sealed, and without anything secret */
	bool disk_keys;         /* only with a passphrase */
	bool images;            /* images and packages whole */
	const char *version;    /* of Phoenix */
};

/** What was made, or is read: the manifest, and sums. The caller: phx_backup_done_fini(). */
struct phx_backup_done {
	struct phx_backup_manifest manifest;
	uint64_t bytes; /* of all files, unpacked */
	bool sealed;
	/* of a restore: */
	uint64_t n_events, n_actions; /* that were replayed */
	/* another version decided this event, otherwise than this one: what it led to is taken from
	 * the snapshot, and only what came after that was replayed. 0: all came out the same */
	uint64_t taken;
	char taken_version[64];
	uint64_t first, last; /* events of the journal, as they were written */
	uint32_t n_anchors;   /* that fit */
	char old_state[PHX_BACKUP_PATH_MAX],
		old_etc[PHX_BACKUP_PATH_MAX]; /* moved there; "" none */
};
void phx_backup_done_fini(struct phx_backup_done *d);

/** Make the archive `to`, which is there whole (mode 0600) or as it was. -EINVAL: disk keys without
 * a passphrase; -EACCES: something may not be read here (the text names it). */
int phx_backup_make(const struct phx_backup_places *places, const struct phx_backup_how *how,
		    const char *to, struct phx_backup_done *ret, struct phx_err *err);

struct phx_restore_how {
	const char *state_dir;  /* becomes the archive's state */
	const char *etc_dir;    /* and its configuration; NULL: is not restored */
	const char *passphrase; /* of a sealed one */
	const char *pub;        /* the site's public key; needed for one that is not sealed */
	bool force;             /* directories that hold something are moved aside */
	/* with force: what the archive has not (keys, images, packages, data of REs, output) is
	 * taken over from the directory that is moved aside */
	bool keep;
	bool check; /* everything but placing it */
};
/** Restore `from`. -EBUSY: a head runs on state_dir; -ENOTEMPTY: a directory holds something;
 * -EBADMSG: the archive was altered or cut off; -EKEYREJECTED: it is not signed with that key;
 * -ENOKEY: it is sealed; -EPROTO: its journal does not replay as recorded; -EPROTONOSUPPORT: a
 * newer Phoenix made it. After an error all is as it was. */
int phx_backup_restore(const char *from, const struct phx_restore_how *how,
		       struct phx_backup_done *ret, struct phx_err *err);

#endif
