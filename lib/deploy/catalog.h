/* The store of images as the API and `phx image list` show it: one function for phxd and for phx on
 * a directory. */
#ifndef PHX_DEPLOY_CATALOG_H
#define PHX_DEPLOY_CATALOG_H

#include <jansson.h>

#include "deploy/store.h"

/** {"images": [IMAGE], "bad": [{path, reason}]} of `dir`, believed by `trust`; new reference, NULL
 * on ENOMEM or when `dir` cannot be read (err). Each IMAGE has beside its manifest "runs_kernel",
 * the kernel that its nodes run ("" where `deploy_image`, the newest of that name in `dir`, is not
 * there), and "kernel_warning" where that is not the one it brings; and "signed_by", the name of
 * the key, or "". */
json_t *phx_images_json(const char *dir, const char *deploy_image,
			const struct phx_image_trust *trust, struct phx_err *err);

#endif
