/* The emulated cluster: what the files of phx-lab share. One lab is one network
 * namespace and one directory (LABS/NAME); nothing of it lives elsewhere. Used
 * by `phx lab` only. */
#ifndef PHX_LAB_H
#define PHX_LAB_H

#include "base/nodeset.h"
#include "config/lab.h"

enum {
	LAB_MACHINES_MAX = 48,
	LAB_DISKS_MAX = 8,
	LAB_CARDS_MAX = 7, /* beside the first */
	LAB_NETWORKS_MAX = 16,
	LAB_HOST_HEAD = 1,    /* last byte of the head's address */
	LAB_HOST_NODES = 10,  /* machine i has .11 + i */
	LAB_HOST_RANGE = 100, /* unknown machines: .100 to .199 */
	LAB_HOST_BMCS = 200,  /* BMC i has .201 + i */
	LAB_HOST_RELAY = 254, /* a router of other networks counts down from here */
	LAB_HOST_ROUTER = 1,  /* of another network: its router, or the head */
};

#define LAB_AUTO PHX_AUTO(lab_fini)
void lab_fini(struct lab *lab);

/** Name of the namespace: "phx-NAME", or with a number behind it where a lab of another directory
 * has that. */
const char *lab_netns(const struct lab *lab, char buf[LAB_NAME_MAX + 8]);
#define LAB_BRIDGE "phxbr0"
/** Machine by name; NULL when there is none. Borrowed. */
struct lab_machine *lab_machine_find(const struct lab *lab, const char *name);
/** LABS/NAME/machines/MACHINE/FILE, malloc'd. */
char *lab_machine_path(const struct lab *lab, const struct lab_machine *m, const char *file);

/* ---- conf.c: lab.conf, and the lab as it was made (LABS/NAME/lab.json) ---- */

/** Read lab.conf, fill in what it leaves out and check it. "FILE:LINE: ..." in err. `name` replaces
 * the file's unless NULL. ret untouched on failure. The members source, images and dir stay
 * empty. */
int lab_conf_load(const char *path, const char *name, struct lab *ret, struct phx_err *err);
/** Append machines like `like`, named by the list. -EEXIST, -E2BIG. */
int lab_conf_add(struct lab *lab, const struct phx_nodeset *names, const struct lab_machine *like,
		 struct phx_err *err);
int lab_save(const struct lab *lab, struct phx_err *err);
/** The network of that name; NULL: there is none ("" is the lab's own). Borrowed. */
const struct lab_network *lab_network_find(const struct lab *lab, const char *name);
/** Host `host` of a subnet "10.78.0.0/24". */
void lab_address(const char *subnet, uint32_t host, char ret[16]);
/** Name of the only lab that was made in this directory. -ENOENT none, -EINVAL several, with their
 * names. */
int lab_only(const char *labs_dir, char ret_name[LAB_NAME_MAX], struct phx_err *err);
/** -ENOENT: there is no such lab. */
int lab_load(const char *labs_dir, const char *name, struct lab *ret, struct phx_err *err);

/* ---- proc.c: long-running programs, known by pid and start time ---- */

struct lab_program {
	const char *const *argv; /* argv[0] is looked up in PATH */
	const char *netns;       /* to enter, or NULL */
	const char *pid_file;
	const char *log_file; /* appended to */
	const char *work_dir; /* or NULL */
};
/** Start it as a session of its own. -ENOENT no such program. */
int lab_start(const struct lab_program *p, struct phx_err *err);
/** `PROGRAM -n NETNS WORD...` with the words of one line divided by blanks; netns NULL: without.
 * None of them may come from a user unchecked. */
int lab_ip(const char *program, const char *netns, struct phx_err *err, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* ---- nets.c: networks beside the lab's own (in the lab's namespace) ---- */

/** "tap3"; of a further card "tap3-1". */
void lab_tap(const struct lab_machine *m, uint32_t card, char ret[16]);
/** A bridge each, and the head's card there or a router with a relay. -ENOENT: no dhcrelay. */
int lab_nets_up(const struct lab *lab, struct phx_err *err);
/** The bridge of the network of that name; "": the lab's own. */
void lab_nets_bridge(const struct lab *lab, const char *network, char ret[16]);
/** Namespace number `i` of a router; false: there is no more. */
bool lab_nets_netns(const struct lab *lab, uint32_t i, char ret[LAB_NAME_MAX + 12]);
/** networks.conf of the lab; malloc'd, NULL: no memory. */
char *lab_nets_conf(const struct lab *lab);
/** What phoenix.conf needs for them: addresses of the head there. Likewise. */
char *lab_nets_head_conf(const struct lab *lab);

/* ---- net.c ---- */

/** Namespace, bridge, addresses, a tap a machine. Undone on failure. */
int lab_net_up(const struct lab *lab, struct phx_err *err);
/** Tap and BMC address of one more machine. */
int lab_net_add(const struct lab *lab, const struct lab_machine *m, struct phx_err *err);
/** It is there, and this lab's. */
bool lab_net_exists(const struct lab *lab);
/** There is a namespace of its name, whosever it is. */
bool lab_net_is_taken(const struct lab *lab);
/** End what still runs in the namespace, then remove it with all that is in it. A missing one, or
 * another lab's, is no error. */
int lab_net_down(const struct lab *lab, struct phx_err *err);
/** Enter the namespace with the calling process. */
int lab_net_enter(const struct lab *lab, struct phx_err *err);

/* ---- machine.c: the machines ---- */

/** Directory, blank disks, firmware variables. */
int lab_machine_make(const struct lab *lab, const struct lab_machine *m, struct phx_err *err);
bool lab_machine_is_on(const struct lab *lab, const struct lab_machine *m);
/** Start QEMU (in the namespace); being on already is success. */
int lab_machine_on(const struct lab *lab, const struct lab_machine *m, struct phx_err *err);
/** Power cut: SIGKILL. Being off already is success. */
int lab_machine_off(const struct lab *lab, const struct lab_machine *m, struct phx_err *err);
/** The power button (ACPI). */
int lab_machine_button(const struct lab *lab, const struct lab_machine *m, struct phx_err *err);
/* what it boots next, in ipmi_sim's words; kept in a file */
#define LAB_BOOT_NONE "none"    /* no override: network, then disk */
#define LAB_BOOT_DISK "default" /* "default hard drive" */
int lab_machine_boot_set(const struct lab *lab, const struct lab_machine *m, const char *device,
			 struct phx_err *err);
void lab_machine_boot_get(const struct lab *lab, const struct lab_machine *m, char ret_device[16]);

/* ---- bmc.c: a virtual BMC a machine (ipmi_sim) ---- */

#define LAB_BMC_USER "phoenix"
/** File with the password of all BMCs of the lab, malloc'd. */
char *lab_bmc_password_path(const struct lab *lab);
/** Make the password, once. */
int lab_bmc_password_make(const struct lab *lab, struct phx_err *err);
int lab_bmc_start(const struct lab *lab, const struct lab_machine *m, struct phx_err *err);
int lab_bmc_stop(const struct lab *lab, const struct lab_machine *m, struct phx_err *err);
bool lab_bmc_runs(const struct lab *lab, const struct lab_machine *m);
/** Called by ipmi_sim as `phx-lab bmc LAB_DIR MACHINE get|set|check WORD...`; answers on stdout as
 * it expects. Returns an exit status. */
int lab_bmc_chassis(const struct lab *lab, const struct lab_machine *m, int n_words, char **words);

/* ---- head.c: phxd ---- */

/** Its configuration, and all built images into its store. */
int lab_head_prepare(const struct lab *lab, struct phx_err *err);
/** Start phxd unless it runs; waits until it serves. */
int lab_head_start(const struct lab *lab, struct phx_err *err);
/** Has it take the networks of the lab as settings of its site, with what else is in DIR/etc/site.
 */
int lab_head_networks(const struct lab *lab, struct phx_err *err);
int lab_head_stop(const struct lab *lab, struct phx_err *err);
/** pid of phxd, 0 when it does not run. */
int lab_head_pid(const struct lab *lab);
/** Tell phxd of a machine and its BMC; it is still to be accepted. */
int lab_head_announce(const struct lab *lab, const struct lab_machine *m, struct phx_err *err);

#endif
