/* Packages: signed tar.zst with a manifest (see repo.h's users: phxd serves
 * them, agents unpack them, `phx package` makes them). Never executes what is
 * in a package. */
#ifndef PHX_REPO_REPO_H
#define PHX_REPO_REPO_H

#include "base/json.h"
#include "base/key.h"

/** What package.conf says: the rows with a key. */
#define PHX_PACKAGE_CONF_FIELDS(F, S) \
	F(S, name, STR(PHX_NAME_MAX), \
	  KEY(name, NAME, PHX_REQUIRED, "Letters, digits, -, _, .; at most 63.")) \
	F(S, version, STR(PHX_NAME_MAX), \
	  KEY(version, NAME, PHX_REQUIRED, \
	      "Begins with a digit; letters, digits, ., _, no -. Runs of digits compare as " \
	      "numbers: 1.10 is newer than 1.9.")) \
	F(S, arch, STR(16), \
	  KEY(arch, NAME, PHX_REQUIRED, \
	      "amd64, arm64, armhf, i386, ppc64el, riscv64, s390x; or all: for every machine. A " \
	      "node of another kind refuses the package.")) \
	F(S, summary, STR(160), KEY(summary, LINE, PHX_REQUIRED, "One line of UTF-8.")) \
	F(S, operating_system, STR(PHX_NAME_MAX), \
	  KEY(operating_system, LINE, "", \
	      "What it was built for, its type and maybe version: \"debian 12\". An RE whose " \
	      "agreement chooses an image of another one is refused. Default: it runs on any. " \
	      "Agents of before there was this key refuse packages that have it."))
extern const struct phx_record phx_package_conf_record;

/** The manifest, first entry of the archive ("PHX/manifest.conf", libconfig) and shown by `phx
 * package list`: that, and what build adds. */
#define PHX_PACKAGE_FIELDS(F, S) \
	PHX_PACKAGE_CONF_FIELDS(F, S) \
	F(S, size_bytes, U64) /* of the .tar.zst */ \
	F(S, unpacked_bytes, U64, KEY(unpacked_bytes, SIZE, PHX_REQUIRED, "Of all entries.")) \
	F(S, n_entries, U32, KEY(n_entries, COUNT, PHX_REQUIRED, "How many there are.")) \
	F(S, sha256, STR(65))              /* of the .tar.zst */ \
	F(S, signed_by, STR(PHX_NAME_MAX)) /* the name of the key; "" unsigned, or not asked */
PHX_RECORD_STRUCT(phx_package, PHX_PACKAGE_FIELDS);

/** Limits of unpacking; zero fields take the defaults (2 GiB, 100,000 entries, ratio 200). */
struct phx_package_limits {
	uint64_t bytes_max;
	uint32_t entries_max;
	uint32_t ratio_max;
};

/** A source directory: package.conf (libconfig: name, version, arch, summary) and files/, or an
 * executable `build` that fills the empty directory given as its one argument (it runs with the
 * caller's rights; 15 minutes). The package root is what is in files/; the name PHX at its top is
 * reserved. Versions hold no '-'. Build NAME-VERSION.tar.zst in `out_dir` from SRC (holding
 * package.conf and files/), entries sorted, times zeroed (SOURCE_DATE_EPOCH), owner root, modes
 * 0755 or 0644: the same tree gives the same bytes. Refuses what unpack would refuse. ret_path
 * malloc'd. */
int phx_package_build(const char *src_dir, const char *out_dir, char **ret_path,
		      struct phx_err *err);
/** Write PATH.sig (64 bytes: Ed25519 over the text "phoenix package sha256 HEX\n") with the PEM
 * key. */
int phx_package_sign(const char *path, const char *key_pem_path, struct phx_err *err);
/** Check the signature by the keys at `ring` (pki/ring.h), then read and check the manifest.
 * -EKEYREJECTED wrong or missing signature, -EBADMSG damaged. */
int phx_package_verify(const char *path, const char *ring, struct phx_package *ret,
		       struct phx_err *err);
/** Manifest without signature check, and everything read as unpack would (for `phx package build`'s
 * output): -EPERM, -E2BIG, -EBADMSG. */
int phx_package_inspect(const char *path, struct phx_package *ret, struct phx_err *err);

/** Unpack a verified archive: into DEST/.VERSION.tmp, checked, fsynced, renamed to DEST/VERSION
 * (DEST = ROOT/NAME). Refused (-EPERM, entry named): absolute or escaping paths, links out of the
 * package, devices, fifos, set-id bits; (-E2BIG): over limits. -ENOEXEC: made for another machine.
 * -EEXIST: VERSION is there from other bytes. Nothing of a failed unpack remains, and leftovers of
 * an interrupted one are removed by the next. Already unpacked with the same digest: 0, nothing
 * done. ROOT is locked (flock) meanwhile; thread-safe; `ret` may be NULL. */
int phx_package_unpack(const char *path, const char *ring, const char *root,
		       const struct phx_package_limits *limits, struct phx_package *ret,
		       struct phx_err *err);
/** SHA-256 of the archive that ROOT/NAME/VERSION was unpacked from: it is there, whole, and was
 * verified then. -ENOENT. */
int phx_package_unpacked(const char *root, const char *name, const char *version,
			 char ret_sha256[65]);
/** Make VERSION current: ROOT/NAME/current -> VERSION by one rename; ROOT/NAME/previous keeps what
 * was. */
int phx_package_activate(const char *root, const char *name, const char *version,
			 struct phx_err *err);
/** Version that is current; -ENOENT none. */
int phx_package_current(const char *root, const char *name, char ret_version[PHX_NAME_MAX],
			struct phx_err *err);
/** Remove one version (-EBUSY when it is the current one), or all and the links when version is
 * NULL. Missing is no error; an interrupted removal never leaves half a version that looks
 * whole. */
int phx_package_remove(const char *root, const char *name, const char *version,
		       struct phx_err *err);

/** The ring by which a head believes packages: the directory `package_key_dir`, where there is one;
 * else the key of the site in `pki_dir`, which signed packages before there were others. malloc'd,
 * NULL on ENOMEM. */
char *phx_repo_ring(const char *package_key_dir, const char *pki_dir);

/** The head's repository directory: list what is there (verified by ring; bad ones are skipped
 * and named in `ret_bad`, a list of struct phx_package_bad). */
#define PHX_PACKAGE_BAD_FIELDS(F, S) \
	F(S, file, STR(256)) \
	F(S, reason, STR(256))
PHX_RECORD_STRUCT(phx_package_bad, PHX_PACKAGE_BAD_FIELDS);
int phx_repo_list(const char *dir, const char *ring, struct phx_list *ret_packages,
		  struct phx_list *ret_bad, struct phx_err *err);
/** The same as {packages: [PACKAGE], bad: [{file, reason}]}, a new reference. */
int phx_repo_json(const char *dir, const char *ring, json_t **ret, struct phx_err *err);
/** Add a package file and its .sig (verified and read whole first; copied in; `ret` may be NULL;
 * -EEXIST if the same name-version is there with other bytes). */
int phx_repo_add(const char *dir, const char *ring, const char *path, struct phx_package *ret,
		 struct phx_err *err);
/** Remove what pushes and builds that were killed have left in the repository: "FILE.TID.tmp" whose
 * thread is gone. Best effort; phx_repo_add() does it too. */
void phx_repo_sweep(const char *dir);
/** Path of NAME[-VERSION] in the repository (newest version when NULL), malloc'd. Newest =
 * Debian-like version order. -ENOENT; a file that is there and does not verify is an error, never
 * passed over. `ret_path`, `ret` may be NULL. */
int phx_repo_find(const char *dir, const char *ring, const char *name, const char *version,
		  char **ret_path, struct phx_package *ret, struct phx_err *err);

#endif
