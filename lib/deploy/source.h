/* What `phx image import` takes: a tar of a root file system, or a container. Inside lib/deploy. */
#ifndef PHX_DEPLOY_SOURCE_H
#define PHX_DEPLOY_SOURCE_H

#include "base/util.h"

/** Where a source is unpacked. */
struct phx_source_place {
	const char *source;
	const char *work; /* a directory for this alone, on the same file system as root */
	const char *root; /* an empty directory */
	uint64_t max_bytes;
};

/** What a source says of itself. */
struct phx_source_found {
	char source[256]; /* what it is, @, its SHA-256 */
	/* a container's labels; "" where it has none. They may be no names */
	char title[256], version[256];
};

/** Is the text FILE, oci:DIR[:TAG], oci-archive:FILE[:TAG], docker-archive:FILE[:TAG] or
 * docker://REF, and what it names there, and the programs for it, too? -EINVAL, -ENOENT, -EACCES;
 * the text says what would be right, or which package is missing. */
int phx_source_check(const char *source, struct phx_err *err);

/** Is it one that may say its own name and version? A tar does not. */
bool phx_source_is_container(const char *source);

/** Unpacks it, with owners and devices, after it was looked at: nothing in it leads out of the
 * root, and there is place for it and the image. Blocks for minutes; needs root. -EINVAL it is no
 * such source, was cut short or altered, or is of other machines; -E2BIG more than max_bytes;
 * -ENOSPC; -EIO a program failed. On failure the root holds whatever there was. */
int phx_source_unpack(const struct phx_source_place *at, struct phx_source_found *ret,
		      struct phx_err *err);

#endif
