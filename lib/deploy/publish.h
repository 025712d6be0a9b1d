/* Directories of images on their way into the store; inside lib/deploy only. */
#ifndef PHX_DEPLOY_PUBLISH_H
#define PHX_DEPLOY_PUBLISH_H

#include "config/image.h"

/** -EINVAL: no names that an image and its version may have. */
int phx_image_names_check(const char *name, const char *version, struct phx_err *err);
/** Manifest of the image in directory `path`, sizes checked. */
int phx_image_dir_read(const char *path, struct phx_image *ret, struct phx_err *err);
/** As phx_image_dir_read() and every digest. -EBADMSG. */
int phx_image_dir_verify(const char *path, struct phx_image *ret, struct phx_err *err);
/** Give the verified image in `tmp` (on the file system of `dir`) its name DIR/NAME/VERSION:
 * synced, then one rename. When that image is there already: 0 with the same digest, -EEXIST else;
 * `tmp` then stays for the caller to remove. */
int phx_image_publish(const char *dir, const char *tmp, const struct phx_image *im,
		      struct phx_err *err);

#endif
