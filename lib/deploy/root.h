/* The root file system of an image in the store, unpacked again. Inside lib/deploy. */
#ifndef PHX_DEPLOY_ROOT_H
#define PHX_DEPLOY_ROOT_H

#include "config/image.h"

/** Unpacks the root of `im`, whose digests were checked, from the store `dir` into the empty
 * directory `root`, with owners, devices and attributes; `work`, beside it, is for what it needs
 * meanwhile. Blocks; needs root. -EINVAL: it is of a kind that has none; -ENOENT: a program is
 * missing; -EIO: a program failed. */
int phx_root_unpack(const char *dir, const struct phx_image *im, const char *work, const char *root,
		    struct phx_err *err);

#endif
