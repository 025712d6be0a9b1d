/* What the files of this room share; nobody outside it includes this. */
#ifndef PHX_REPO_INTERNAL_H
#define PHX_REPO_INTERNAL_H

#include <limits.h>
#include <sys/types.h>

#include "base/version.h"
#include "pki/ring.h"
#include "repo/repo.h"
#include "types/role.h"

struct archive;
struct archive_entry;

/* Names below PHX/ belong to us: the manifest, and in an unpacked package the digest of its
 * archive. */
#define PHX_PACKAGE_RESERVED "PHX"
#define PHX_PACKAGE_MANIFEST "PHX/manifest.conf"
#define PHX_PACKAGE_DIGEST "PHX/sha256"
#define PHX_MANIFEST_MAX 65536

/* ---- manifest.c ---- */

/** Parse a manifest (`generated`: with counts, as in an archive) or a package.conf. -EINVAL names
 * line and key. */
int phx_manifest_parse(const char *text, size_t n, bool generated, struct phx_package *ret,
		       struct phx_err *err);
/** The manifest's text, malloc'd; NULL on ENOMEM. */
char *phx_manifest_format(const struct phx_package *p);
/** A version: a digit, then letters, digits, '.', '_' (no '-', so that NAME-VERSION has one
 * reading). */
bool phx_version_valid(const char *s);

/* ---- entry.c: what may be in a package; the same rules for building and unpacking ---- */

struct phx_package_entry {
	const char *path;   /* relative to the package root */
	const char *target; /* of a symbolic link, else NULL */
	const char *hard;   /* of a hard link, else NULL */
	mode_t mode;        /* with the type bits */
	uint64_t size_bytes;
};
/** 0, -EPERM (entry named: path, type, link or mode not allowed). */
int phx_entry_check(const struct phx_package_entry *e, struct phx_err *err);
/** The mode an entry gets on disk and in archives: 0755 or 0644, nothing else. */
mode_t phx_entry_mode(mode_t mode);
/** `path` for a message: control characters and bytes above 0x7e as \xNN, cut to fit. Returns
 * buf. */
const char *phx_entry_show(const char *path, char *buf, size_t buf_size);

/* ---- walk.c: reading an archive entry by entry under limits ---- */

struct phx_package_walk {
	struct archive *a; /* owned */
	struct phx_package manifest;
	struct phx_package_limits limits;
	uint64_t packed_bytes;
	uint64_t unpacked_bytes;
	uint32_t n_entries;
	uint64_t entry_bytes; /* of the entry at hand */
	char last[PATH_MAX];  /* entries come in strictly ascending order */
};
/** Open the archive in `fd` (borrowed, rewound) and read its manifest. -EBADMSG: no package. */
int phx_walk_open(struct phx_package_walk *w, int fd, const struct phx_package_limits *limits,
		  struct phx_err *err);
/** Next entry, checked; 0, 1 at the end (counts compared with the manifest), -EPERM, -E2BIG,
 * -EBADMSG. */
int phx_walk_next(struct phx_package_walk *w, struct phx_package_entry *ret,
		  struct archive_entry **ret_entry, struct phx_err *err);
/** Next block of the entry's content; 0, 1 at its end, -EBADMSG. Borrowed until the next call. */
int phx_walk_block(struct phx_package_walk *w, const void **ret_data, size_t *ret_n,
		   int64_t *ret_offset, struct phx_err *err);
/** Read everything, keep nothing: 0 when it could be unpacked. */
int phx_walk_all(struct phx_package_walk *w, struct phx_err *err);
void phx_walk_close(struct phx_package_walk *w);

/* ---- verify.c ---- */

/** Open `path` and check PATH.sig by the keys of `ring`: the descriptor, and in `ret` what was
 * found before the manifest is read: digest, size, who signed it. */
int phx_package_open_signed(const char *path, const char *ring, int *ret_fd,
			    struct phx_package *ret, struct phx_err *err);
/** Put what was found out when it was opened into what its manifest says. */
void phx_package_was_opened(struct phx_package *p, const struct phx_package *opened);

/* ---- unpack.c ---- */

/** Write the entries of an opened walk into the empty directory `dir_fd` (borrowed). */
int phx_walk_extract(struct phx_package_walk *w, int dir_fd, struct phx_err *err);

/* ---- installed.c ---- */

/** Make ROOT and lock it against other processes until the descriptor is closed. */
int phx_package_lock(const char *root, int *ret_fd, struct phx_err *err);

#endif
