/* What differs between two images of a store. For `phx image diff`. */
#ifndef PHX_DEPLOY_DIFFERENCE_H
#define PHX_DEPLOY_DIFFERENCE_H

#include "config/image.h"
#include "deploy/packages.h"

/** A file that differs: "came", "went", or what of it changed: type, mode, owner, size, content,
 * target (of a link), device; several separated by blanks. */
#define PHX_FILE_CHANGE_FIELDS(F, S) \
	F(S, path, TEXT) \
	F(S, change, STR(64))
PHX_RECORD_STRUCT(phx_file_change, PHX_FILE_CHANGE_FIELDS);

struct phx_image_difference {
	struct phx_list packages; /* struct phx_os_change */
	struct phx_list files;    /* struct phx_file_change, by path */
	bool no_packages;         /* one of them has no list of packages, and none can be made */
};
void phx_image_difference_fini(struct phx_image_difference *d);

/** Compares `a` with `b` of the store `dir`: the lists of packages that the images have, or those
 * of the roots where they lack one; and with `files` every file, for which both are verified and
 * unpacked: that needs root, place for both, and minutes. ret is owned. -EINVAL, -EBADMSG, -EPERM
 * (root is needed), as phx_root_unpack(). */
int phx_images_compare(const char *dir, const struct phx_image *a, const struct phx_image *b,
		       bool files, struct phx_image_difference *ret, struct phx_err *err);

/** What phx image exec noted of packages that the parent of `im` had otherwise: ret_changes, struct
 * phx_os_change, owned; empty where nothing was noted. */
int phx_image_changes(const char *dir, const struct phx_image *im, struct phx_list *ret_changes,
		      struct phx_err *err);

#endif
