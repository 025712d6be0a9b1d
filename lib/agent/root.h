/* The system that this node is to enter: finds it, mounts it, hands over to it. Deploy environment
 * only. */
#ifndef PHX_AGENT_ROOT_H
#define PHX_AGENT_ROOT_H

#include "disk/disk.h"
#include "agent/agent.h"

/* not below /run, which is moved into the new root when it is entered */
#define ROOT_DIR "/newroot"
#define ROOT_STATE_DIR ROOT_DIR "/var/lib/phoenix"

/** Copy system.json from the installed system's state partition into RAM and, if asked for, its
 * key, its certificate and the file of an unfinished step rekey. Nothing else is copied: no steps,
 * no epoch. 0 also when there is no system, or its state has no key. */
int root_adopt(struct agent *a, bool with_key, struct phx_err *err);
/** The same, from the state directory `dir`, which has a key and a certificate. */
int root_adopt_from(struct agent *a, const char *dir, bool with_key, struct phx_err *err);

/** Get the disk key `key_id` by way of the head, which cannot read it (pki/sealed.h). The caller
 * overwrites `ret_key` after use. */
int root_disk_key(const struct agent *a, struct phx_http_client *c, const char *key_id,
		  uint8_t ret_key[PHX_DISK_KEY_SIZE], struct phx_err *err);

/** Mount the root (`device`) and its state partition at ROOT_DIR. On failure neither is mounted. */
int root_mount(const char *device, const char *state_device, struct phx_err *err);

/** Unmount all file systems at and below ROOT_DIR and close the encrypted root. No mounted system
 * is no error. */
int root_unmount(struct phx_err *err);

/** Put key, certificate and step log on a state partition that is not mounted, so that a reset does
 * not lose them. */
int root_keep_state(struct agent *a, const char *state_device, struct phx_err *err);

/** Is a system mounted at ROOT_DIR? */
bool root_mounted(void);

/** Find, unlock (key from the head) and mount the installed system, without its layout. */
int root_open(struct agent *a, struct phx_http_client *c, struct phx_err *err);
/** The same with the file systems of its layout, if it has one. On failure nothing is mounted. */
int root_open_installed(struct agent *a, struct phx_http_client *c, struct phx_err *err);

/** Does the kernel run that the head promised for the system? -ENOEXEC names both. `release` "": it
 * promised none. */
int root_check_kernel(const char *release, struct phx_err *err);

/** Refresh the agent and its state in the mounted root, and write /run/phoenix/next; then the agent
 * may end. */
int root_enter(struct agent *a, struct phx_err *err);
/** Of the deploy environment: write /run/phoenix/next, by which the machine is off when the agent
 * has ended. */
int root_power_off(struct agent *a, struct phx_err *err);

#endif
