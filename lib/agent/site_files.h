/* Files that the settings of the site put onto this node. Every directory on the way must be
 * root's, and writable by root alone: so no name that a user made is ever resolved, and no file of
 * root comes into a place of his. Called by site.c. */
#ifndef PHX_AGENT_SITE_FILES_H
#define PHX_AGENT_SITE_FILES_H

#include "site/site.h"

/** Makes the file as it should be, whole or not at all, and directories that are missing. 1: it was
 * another, 0: it was so already; -EPERM, -ENOTDIR, ... with a text. */
int site_file_write(const char *root, const struct phx_site_out *f, struct phx_err *err);
/** What a file is: its text, of at most 64 KiB, owner and mode; the caller frees it by
 * phx_record_fini(&phx_site_out_record, ret). 1: it is there, 0: it is not; -EINVAL: it is no
 * file, or no text; -EFBIG, -EPERM, ... with a text. */
int site_file_read(const char *root, const char *path, struct phx_site_out *ret,
		   struct phx_err *err);
/** Removes a file. 1: it was there, 0: it was not. */
int site_file_remove(const char *root, const char *path, struct phx_err *err);

#endif
