/* The head's images: IMAGE_DIR/NAME/VERSION/ with manifest.conf and the files it names. An image
 * exists when its directory has a valid manifest, and a directory gets its name last, by one
 * rename. */
#ifndef PHX_DEPLOY_STORE_H
#define PHX_DEPLOY_STORE_H

#include "config/image.h"

/** An image that is there but cannot be used. */
struct phx_image_bad {
	char path[256];
	char reason[PHX_ERR_TEXT_MAX];
};

/** All images, by name, then version; ret_images: struct phx_image. The sizes of the files are
 * checked, their digests not (phx_images_verify()). Bad ones are skipped and named in ret_bad
 * (struct phx_image_bad, may be NULL). A missing dir is empty. */
int phx_images_list(const char *dir, struct phx_list *ret_images, struct phx_list *ret_bad,
		    struct phx_err *err);
/** Free a list of struct phx_image with what they own. */
void phx_images_fini(struct phx_list *images);

/** One image; version NULL = newest. -ENOENT; -EBADMSG its files do not have the sizes of the
 * manifest. */
int phx_images_find(const char *dir, const char *name, const char *version, struct phx_image *ret,
		    struct phx_err *err);

/** Read every byte and compare digests. -EBADMSG names the file and what is wrong. */
int phx_images_verify(const char *dir, const char *name, const char *version, struct phx_err *err);

/** Path of a file that the image's manifest names, malloc'd. -ENOENT. For GET
 * /images/NAME/VERSION/FILE (manifest.conf included); ret_sha256 is its ETag. */
int phx_images_file(const char *dir, const char *name, const char *version, const char *file,
		    char **ret_path, char ret_sha256[65], struct phx_err *err);

/** Take in an image made by its recipe (`src` holds manifest.conf and files): copied, verified,
 * published. -EEXIST when the same name and version is there with another digest; the same digest:
 * 0, nothing done. */
int phx_images_add(const char *dir, const char *src, struct phx_image *ret, struct phx_err *err);

/** How the images of a head are believed. */
struct phx_image_trust {
	char *ring;  /* pki/ring.h; NULL: nobody looks, and nobody is told as who signed */
	bool wanted; /* one without a signature is refused */
};
/** Who signed the image `im` of the store: ret_name, "" nobody. ret_hex (may be NULL): the
 * signature. -EKEYREJECTED names the image: its signature is wrong, or it has none and one is
 * wanted. */
int phx_images_signed_by(const char *dir, const struct phx_image *im,
			 const struct phx_image_trust *trust, char ret_name[PHX_NAME_MAX],
			 char ret_hex[PHX_SIG_HEX], struct phx_err *err);
/** Sign the image whose manifest is in directory `path` (not the store): it is read whole first.
 * `ret` (may be NULL) is owned. */
int phx_image_dir_sign(const char *path, const char *key_pem_path, struct phx_image *ret,
		       struct phx_err *err);

/** A device that machines have, and whose driver they need before they have their system. */
struct phx_needed_driver {
	char driver[24]; /* as the kernel that runs there calls it */
	char alias[64];  /* as modules name what they drive: "pci:v00008086d0000100E..." */
	char what[200];  /* for an administrator, one line: "network 8086:100e of n[1-4]" */
};

struct phx_image_import {
	/* a tar of a root file system (gzip, bzip2, xz, zstd, or none), oci:DIR[:TAG],
	 * oci-archive:FILE[:TAG], docker-archive:FILE[:TAG] or docker://REF */
	const char *source;
	/* NULL: what a container says of itself, where that is a name; of the version else 1 */
	const char *name, *version;
	uint64_t disk_bytes; /* of the ext4 file system; 0 = what it needs and a quarter */
	uint64_t max_bytes;  /* that it may unpack to; 0 = 64 GiB */
	bool no_squashfs;    /* only for disks */
	int zstd_level;      /* 0 = 6 */
	const char *tools;   /* directory with pack-modules and deploy/modules */
	const char *kernel;  /* release of the default kernel; NULL: the newest by version */
	/* the default where `kernel` is NULL and it is there; NULL: the newest */
	const char *kernel_of_parent;
	/* struct phx_needed_driver: each kernel must have them, and its archive gets them, too */
	struct phx_list drivers;
	/* what else fills the directory `root`, with `work`, beside it, for what it needs
	 * meanwhile; the source is a name in errors then. A positive number: no image is made, and
	 * that is returned. NULL: the source is unpacked */
	int (*fill)(const struct phx_image_import *im, const char *work, const char *root,
		    struct phx_err *err);
	void *arg;                              /* of fill */
	const char *parent;                     /* identity of the image it is made of; or NULL */
	const struct phx_list *parent_packages; /* its packages (packages.h); or NULL */
};
/** Make an image of it: root.ext4.zst (mkfs.ext4 -d, zstd), root.squashfs (mksquashfs), of each
 * kernel, /boot/vmlinuz-RELEASE or lib/modules/RELEASE/vmlinuz, that and the archive of its
 * modules, and the list of its packages. Needs root (owners, devices). Blocks; minutes. -EINVAL
 * when there is no kernel in it, or one without its modules or without a driver that is needed, no
 * /sbin/init or no systemd, or one for another processor, no name for it; or the source is none
 * (deploy/source.h); -E2BIG; -ENOSPC; -EEXIST. */
int phx_images_import(const char *dir, const struct phx_image_import *im, struct phx_image *ret,
		      struct phx_err *err);

struct phx_image_exec {
	const char *name, *version; /* of what is changed; version NULL: the newest */
	const char *new_version;    /* NULL: the old one, counted: 12-r1, 12-r2 */
	const char *const *argv;    /* NULL-terminated; with our stdin, stdout and stderr */
	bool no_network;            /* else that of the machine */
	const char *tools, *kernel; /* as of an import */
};
/* what phx_images_exec() returns where it makes no image */
enum { PHX_EXEC_FAILED = 1, PHX_EXEC_SAME = 2 };
/** Runs a program in a copy of an image and makes what it left a new version, as
 * phx_images_import() does. The program is apart from the machine (deploy/inside.h). Needs root;
 * blocks. PHX_EXEC_FAILED: it ended with ret_status, which is not 0; PHX_EXEC_SAME: nothing
 * changed; nothing is made in both cases, nor on failure. -ENOENT: no such image, or program in it;
 * -EBADMSG: the image was altered; -EEXIST; as phx_images_import(). */
int phx_images_exec(const char *dir, const struct phx_image_exec *ex, struct phx_image *ret,
		    int *ret_status, struct phx_err *err);

/** Remove what imports, builds and removals that were killed have left in the store: ".WORD.TID"
 * whose thread is gone. Best effort; each of them does it too. */
void phx_images_sweep(const char *dir);

/** Remove one version; the caller has checked that nothing refers to it. First renamed away, so
 * that it is there whole or not at all. -ENOENT. */
int phx_images_remove(const char *dir, const char *name, const char *version, struct phx_err *err);

#endif
