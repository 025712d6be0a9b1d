/* The layout of a role on this machine's disks: its volumes are joined and mounted below the root
 * of the system before that is entered, so that the system itself needs neither mdadm nor LVM for
 * it. Deploy environment only. */
#ifndef PHX_AGENT_LAYOUT_H
#define PHX_AGENT_LAYOUT_H

#include "disk/disk.h"

#define LAYOUT_FILE "layout.json"

/** Joins the volumes of `l`, whose disks are among `disks`, and mounts them below `root`, parents
 * first; directories that are missing are made, links are not followed. `fresh`: they were made
 * just now, and get their modes. What is mounted already stays. On failure all of it is closed. */
int layout_mount(const struct phx_layout *l, const struct phx_list *disks, const char *root,
		 bool fresh, struct phx_err *err);

/** Unmounts and takes apart what layout_mount() has opened since the machine started. Nothing is no
 * error. */
int layout_close(struct phx_err *err);

/** Writes the layout into the state directory of a system, for its next starts. */
int layout_save(const struct phx_layout *l, const char *state_dir, struct phx_err *err);
/** Mounts the layout that the state directory of the system in `root` names, if it does. An owner
 * may have written that file: it is checked as one that an order brings. */
int layout_mount_saved(const char *state_dir, const char *root, struct phx_err *err);

#endif
