/* What an archive of the head says of itself: its first entry, signed by the site's key. Written by
 * backup/make.c, read by backup/restore.c, which believes nothing of it that is not checked
 * here. */
#ifndef PHX_BACKUP_MANIFEST_H
#define PHX_BACKUP_MANIFEST_H

#include "base/record.h"
#include "pki/pki.h"

enum {
	PHX_BACKUP_FORMAT = 1,
	PHX_BACKUP_PATH_MAX = 512,
	PHX_BACKUP_MANIFEST_MAX = 256 << 20,
	PHX_BACKUP_FILES_MAX = 1000000
};
#define PHX_BACKUP_MANIFEST "manifest.json"
#define PHX_BACKUP_SIGNATURE "manifest.sig"
/** Trees of an archive: what lies below state_dir, and what configures the head. */
#define PHX_BACKUP_STATE "state/"
#define PHX_BACKUP_ETC "etc/"
#define PHX_BACKUP_JOURNAL PHX_BACKUP_STATE "journal.db"

/** A file of the archive. */
#define PHX_BACKUP_FILE_FIELDS(F, S) \
	F(S, path, STR(PHX_BACKUP_PATH_MAX)) /* "state/pki/ca.pem" */ \
	F(S, mode, U32) \
	F(S, size, U64) \
	F(S, sha256, STR(PHX_SHA256_HEX))
PHX_RECORD_STRUCT(phx_backup_file, PHX_BACKUP_FILE_FIELDS);

/** A name of something that is not in it. */
#define PHX_BACKUP_NAME_FIELDS(F, S) F(S, path, STR(PHX_BACKUP_PATH_MAX))
PHX_RECORD_STRUCT(phx_backup_name, PHX_BACKUP_NAME_FIELDS);

#define PHX_BACKUP_MANIFEST_FIELDS(F, S) \
	F(S, format, U32)                  /* PHX_BACKUP_FORMAT; a reader refuses a higher one */ \
	F(S, version, STR(64))             /* of Phoenix, which made it */ \
	F(S, made_ms, I64)                 /* since 1970 */ \
	F(S, journal, STR(40))             /* identity of the journal */ \
	F(S, seq, U64)                     /* its last event */ \
	F(S, keys, BOOL)                   /* the site's private keys are in it */ \
	F(S, disk_keys, BOOL)              /* those of encrypted disks are */ \
	F(S, images, BOOL)                 /* images and packages are in it whole */ \
	F(S, files, LIST(phx_backup_file)) /* by path, ascending; each comes in this order */ \
	F(S, left_out, LIST(phx_backup_name)) /* for being secret, or no file */ \
	F(S, catalog, LIST(phx_backup_file))  /* images and packages that the head had */
PHX_RECORD_STRUCT(phx_backup_manifest, PHX_BACKUP_MANIFEST_FIELDS);

/** Read one. -EINVAL names what is wrong; -EPROTONOSUPPORT: a newer Phoenix made it. Members that
 * it does not know are passed over. The caller: phx_record_fini(). */
int phx_backup_manifest_parse(const char *text, size_t n, struct phx_backup_manifest *ret,
			      struct phx_err *err);

#endif
