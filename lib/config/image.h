/* image.conf (how an image is made) and manifest.conf (what it is) as typed structs. Used by
 * lib/deploy (the store on the head) and by the agent (which gets the manifest over TLS together
 * with its digest). */
#ifndef PHX_CONFIG_IMAGE_H
#define PHX_CONFIG_IMAGE_H

#include "base/key.h"
#include "pki/ring.h"

#define PHX_IMAGE_MANIFEST "manifest.conf"
#define PHX_IMAGE_SIGNATURE "manifest.sig"
/* names of the files an image may have */
#define PHX_IMAGE_KERNEL "vmlinuz"
#define PHX_IMAGE_INITRD "initrd.zst"       /* kind initramfs */
#define PHX_IMAGE_CHECK "check.squashfs"    /* programs of phx node check, of a deploy image */
#define PHX_IMAGE_ROOT_DISK "root.ext4.zst" /* kind rootfs: for disks */
#define PHX_IMAGE_ROOT_RAM "root.squashfs"  /* kind rootfs: for RAM boot */
#define PHX_IMAGE_PACKAGES "packages.txt"   /* kind rootfs: what its package manager has */
#define PHX_IMAGE_CHANGES "changes.txt" /* kind rootfs: packages that its parent had otherwise */
#define PHX_IMAGE_MODULES "modules.zst" /* kind rootfs: for the start of its own kernel */

/** What an image is for, one row a kind; images/NAME.sh is the recipe of each.
 * K(ID, "name", does a node boot it over the network as it is, files of which it has at least one
 * beside the kernel). Of an image that is not booted so, nodes run a kernel of its own if it has
 * one (struct phx_image_own), else that of the deploy image. */
#define PHX_IMAGE_KINDS(K) \
	K(INITRAMFS, "initramfs", true, PHX_IMAGE_INITRD, NULL) \
	K(ROOTFS, "rootfs", false, PHX_IMAGE_ROOT_DISK, PHX_IMAGE_ROOT_RAM)

enum phx_image_kind {
#define K(id, ...) PHX_IMAGE_##id,
	PHX_IMAGE_KINDS(K)
#undef K
};
extern const struct phx_enum phx_image_kind_names; /* "initramfs", "rootfs" */

#define PHX_IMAGE_FILE_FIELDS(F, S) \
	F(S, name, STR(PHX_NAME_MAX), \
	  KEY(name, NAME, PHX_REQUIRED, \
	      "vmlinuz, which every image has; of an initramfs initrd.zst; of a rootfs " \
	      "root.ext4.zst (for disks), root.squashfs (for memory), or both, and the files of " \
	      "its kernels; and what it may have beside, packages.txt and changes.txt.")) \
	F(S, size, U64, KEY(size, SIZE, PHX_REQUIRED, "Bytes of the file as it is.")) \
	F(S, sha256, STR(65), KEY(sha256, LINE, PHX_REQUIRED, "Digest of the file as it is.")) \
	F(S, raw_size, U64, \
	  KEY(raw_size, SIZE, "0", "Bytes when it is decompressed; 0: it is not compressed."))
PHX_RECORD_STRUCT(phx_image_file, PHX_IMAGE_FILE_FIELDS);

/** A kernel of an image of kind rootfs that its nodes start with, and the archive with the modules
 * of it that a machine needs before it has its system (newc, zstd, whole blocks of 512 bytes): it
 * stands behind the deploy image's archive. */
#define PHX_IMAGE_OWN_FIELDS(F, S) \
	F(S, release, STR(96), \
	  KEY(release, LINE, PHX_REQUIRED, "What uname -r says where it runs.")) \
	F(S, kernel, STR(PHX_NAME_MAX), \
	  KEY(kernel, NAME, PHX_REQUIRED, \
	      "Its file: vmlinuz of the default, vmlinuz-RELEASE of the others.")) \
	F(S, modules, STR(PHX_NAME_MAX), \
	  KEY(modules, NAME, PHX_REQUIRED, \
	      "The archive of its modules: modules.zst, or modules-RELEASE.zst."))
PHX_RECORD_STRUCT(phx_image_own, PHX_IMAGE_OWN_FIELDS);

/** What of image.conf the programs need; the recipe reads the rest itself. */
#define PHX_IMAGE_CONF_FIELDS(F, S) \
	F(S, name, STR(PHX_NAME_MAX), KEY(name, NAME, PHX_REQUIRED, "Of the image.")) \
	F(S, version, STR(PHX_NAME_MAX), KEY(version, NAME, PHX_REQUIRED, "Of the image.")) \
	F(S, kind, ENUM(phx_image_kind), KEY(kind, CHOICE, PHX_REQUIRED, "What it is for.")) \
	F(S, architecture, STR(16), \
	  KEY(architecture, NAME, PHX_REQUIRED, "Of the machines: amd64."))
PHX_RECORD_STRUCT(phx_image_conf, PHX_IMAGE_CONF_FIELDS);

/** Where an image comes from and what is in it, as far as who made it knows; "" where not. */
#define PHX_IMAGE_ORIGIN_FIELDS(F, S) \
	F(S, source, STR(256), \
	  KEY(source, LINE, "", \
	      "What it was imported from: file or container, @, and the SHA-256 of it.")) \
	F(S, parent, STR(65), \
	  KEY(parent, LINE, "", "Identity of the image that it was made of by phx image exec.")) \
	F(S, os_id, STR(32), KEY(os_id, LINE, "", "ID of its os-release: debian, ubuntu, rocky.")) \
	F(S, os, STR(128), KEY(os, LINE, "", "PRETTY_NAME of its os-release."))

/** What manifest.conf says: the above, and the files. */
#define PHX_IMAGE_FIELDS(F, S) \
	PHX_IMAGE_CONF_FIELDS(F, S) \
	PHX_IMAGE_ORIGIN_FIELDS(F, S) \
	F(S, kernel_release, STR(96), \
	  KEY(kernel_release, LINE, PHX_REQUIRED, \
	      "Of the kernel in it; of several, the default.")) \
	/* none: nodes run the kernel of the deploy image, as of images from older tools */ \
	F(S, kernels, LIST(phx_image_own), \
	  KEY(kernels, OTHER, "", \
	      "Of a rootfs: a list of groups, one a kernel that its nodes can start with. " \
	      "Without it they run the kernel of the deploy image.")) \
	F(S, digest, STR(65)) /* SHA-256 of manifest.conf: the image's identity */ \
	F(S, files, LIST(phx_image_file), \
	  KEY(files, OTHER, PHX_REQUIRED, "A list of groups, one a file: see below."))
PHX_RECORD_STRUCT(phx_image, PHX_IMAGE_FIELDS);

/** Parse the text of a manifest; `what` (a path or URL) begins every error text. The digest is
 * computed over the text. -EINVAL: unknown key, bad name, size or digest, a file twice, a kind
 * without its files. ret untouched on failure, else owned: phx_record_fini(&phx_image_record,
 * ret). */
int phx_image_parse(const char *text, size_t n, const char *what, struct phx_image *ret,
		    struct phx_err *err);

/** The text of a manifest for `im`, malloc'd; what phx_image_parse() reads. NULL on ENOMEM. */
char *phx_image_format(const struct phx_image *im);

/** Sign what the manifest of `im` says, its identity and the digest of each file, with the key of a
 * PEM file: hexadecimal digits. */
int phx_image_sign(const struct phx_image *im, const char *key_pem_path, char ret_hex[PHX_SIG_HEX],
		   struct phx_err *err);
/** Is that signature of a key at `ring` (pki/ring.h)? ret_name (may be NULL): of which.
 * -EKEYREJECTED names the image. */
int phx_image_verify(const struct phx_image *im, const char *hex, const char *ring,
		     char ret_name[PHX_NAME_MAX], struct phx_err *err);

/** Does a node boot it over the network as it is? By the row of its kind. */
bool phx_image_boots(const struct phx_image *im);

/** The file `name` of an image; NULL when it has none such. */
const struct phx_image_file *phx_image_file(const struct phx_image *im, const char *name);

/** The kernel of that release that nodes with the system `im` can start with; `release` NULL or "":
 * the default. NULL: the image has none of its own. Borrowed from `im`. */
const struct phx_image_own *phx_image_own(const struct phx_image *im, const char *release);
/** May that be the release of a kernel? It stands on command lines, in paths and in scripts of
 * firmware. -EINVAL says what may not be in it. */
int phx_image_release_check(const char *release, struct phx_err *err);
/** Is `name` a file of a kernel in im->kernels? Firmware fetches those, without any identity. */
bool phx_image_is_own(const struct phx_image *im, const char *name);

/** Does a node with the system `im` run another kernel than the one in it? So it is where an image
 * brings no archive of its modules, and the kernel of the deploy image (`deploy`) is another. Then
 * true and, in ret_why, a sentence with both. False for what is no root file system. */
bool phx_image_kernel_differs(const struct phx_image *im, const struct phx_image *deploy,
			      char *ret_why, size_t n_why);

/** Read images/NAME/image.conf; further keys belong to the recipe. "FILE:LINE: ..." in err. */
int phx_image_conf_load(const char *path, struct phx_image_conf *ret, struct phx_err *err);

#endif
