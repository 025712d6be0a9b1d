/* The launcher, and the head that it starts. The launcher is the process that was started as phxd,
 * by root if phxd is a service: it makes directories, binds sockets, starts the head and the other
 * processes (the vault, the hands, dnsmasq, in.tftpd), and restarts them. It reads nothing but the
 * configuration and the head's questions, messages of one form (launch.def): no byte from a
 * network. The head asks over a socket that is its standard input; when one of the two ends, so
 * does the other. */
#ifndef PHXD_LAUNCH_H
#define PHXD_LAUNCH_H

#include "config/config.h"
#include "http/http.h"
#include "phxd/re_owners.h"
#include "phxd/re_place.h"
#include "site/site.h"

enum launch_op {
#define OP(name, function, alone) LAUNCH_##name,
#include "phxd/launch.def"
#undef OP
	N_LAUNCH_OPS
};

/* processes that ask PAM, at a time, whatever the head asks for */
enum { LAUNCH_DOORS_MAX = 8 };
/* removing a large directory takes long */
enum { LAUNCH_ANSWER_MS = 3600 * 1000, LAUNCH_BODY_MAX = 4 << 20 };

/** Programs that answer machines which boot, whose logs the head reads. */
enum launch_log { LAUNCH_LOG_DHCP, LAUNCH_LOG_TFTP, LAUNCH_LOGS };

/** States of the head that the launcher passes on to the service manager. */
enum launch_saying {
	LAUNCH_READY,
	LAUNCH_RELOADING,
	LAUNCH_STOPPING,
	LAUNCH_ALIVE, /* as often as WatchdogSec= asks */
};

/** Result of launch_re_look(). */
struct launch_re {
	bool there, marked; /* does its data exist; does its marker, `marker` */
	struct re_marker marker;
	struct re_owners owners;
};

struct launch_re_make {
	struct re_marker marker;
	char login[PHX_NAME_MAX];
};

/** Result of launch_re_open(). */
struct launch_re_opened {
	uid_t uid; /* the owner */
	gid_t gid;
	/* `fd` is the socket of a helper (helper.h) that is the owner */
	bool helper;
	int fd; /* else a descriptor of the directory, which our own user owns */
};

/** A network of the site as the launcher is told of it (site/network.h), which checks it again. */
struct launch_network {
	char name[PHX_NAME_MAX], subnet[32], gateway[46], domain[128], first[46], last[46];
	char interface[16], head[46], dns[8][46];
	uint32_t n_dns, mtu, boot, relay; /* the last two: 0 or not */
};

/** What stands before them. */
struct launch_names {
	char domain[128];
	uint32_t serve_names, forward_dns; /* 0 or not */
};

/* ---- the launcher ---- */

/** Runs as the launcher until the head ends or is stopped; returns the exit status. `argv`: of this
 * program, passed on to the head. `serves`: the head serves, and is started again after a crash;
 * else it does what its options say, and ends. */
int launcher_run(const struct phx_config *cfg, char **argv, bool new_journal, bool serves);
/** Is a head that was ended by this signal started again? The test programs replace this function.
 */
bool launcher_restarts(int signal);

/** The listeners of phxd, as far as their sockets need it. Borrows from `cfg`. */
struct phx_http_server_config launch_listeners(const struct phx_config *cfg);

/* ---- the head's side; any thread ---- */

struct launch;

/** `fd`: the socket to the launcher, taken. -ENOTSOCK: no launcher started this process. */
int launch_new(int fd, struct launch **ret, struct phx_err *err);
/** Safe on NULL. */
void launch_free(struct launch *l);
/** Starts a new vault: its socket, owned by the caller. For phx_vault_config.start. */
int launch_vault(void *launch, int *ret_fd, pid_t *ret_pid, struct phx_err *err);
/** Likewise the hands, for phx_hands_config.start. */
int launch_hands(void *launch, int *ret_fd, pid_t *ret_pid, struct phx_err *err);
/** Likewise the process that has the consoles, for phx_consoles_config.start. */
int launch_consoles(void *launch, int *ret_fd, pid_t *ret_pid, struct phx_err *err);
/** A listening socket, owned by the caller. */
int launch_listen(struct launch *l, enum phx_http_listener which, int *ret_fd, struct phx_err *err);
/** Has unfinished files of a killed phxd removed. Call it when the journal is open, before anything
 * else is written. */
int launch_sweep(struct launch *l, struct phx_err *err);
/** Has in.tftpd and dnsmasq started for so many nodes, if configured; those that run are left
 * alone. */
int launch_boot(struct launch *l, uint32_t n_nodes, struct phx_err *err);
/** Would dnsmasq take what these settings say of networks and names? Changes nothing. -EINVAL with
 * what is wrong; also if the launcher does not answer. */
int launch_networks_try(struct launch *l, const struct phx_site *site, uint32_t n_nodes,
			struct phx_err *err);
/** They are in force from now on: dnsmasq, if it runs, is started anew where its text changes.
 * -EINVAL as above: what was in force stays. Another error: its text could not be written; it is
 * with the next call that finds it other than it is to be. */
int launch_networks(struct launch *l, const struct phx_site *site, uint32_t n_nodes,
		    struct phx_err *err);
/** Host files have changed: dnsmasq reads all of them again if `again`, and is restarted if its
 * limits are too low for so many nodes. */
int launch_hosts(struct launch *l, uint32_t n_nodes, bool again, struct phx_err *err);
/** As phx_children_status(). */
int launch_children(struct launch *l, struct phx_list *ret);
/** What that program has written and writes, open for reading; owned by the caller. -ENOENT: it was
 * not started. */
int launch_boot_log(struct launch *l, enum launch_log which, int *ret_fd, struct phx_err *err);
void launch_say(struct launch *l, enum launch_saying what);

/** Has an anchor of the journal appended to the file that is number `which` of anchor_file. */
int launch_anchor(struct launch *l, uint32_t which, const char *line, struct phx_err *err);

/** Is this machine's clock synchronised? False also if the launcher does not answer. */
bool launch_clock_is_kept(struct launch *l);

/** A new runner (runner.h): its socket, owned by the caller. */
int launch_runner(struct launch *l, int *ret_fd, struct phx_err *err);
/** A process that runs programs of event_dir, or one that sends to webhooks (outlets.h): its
 * socket, owned by the caller. */
int launch_programs(struct launch *l, int *ret_fd, struct phx_err *err);
int launch_webhooks(struct launch *l, int *ret_fd, struct phx_err *err);
/** A process that asks PAM once (door/door.h): its socket, owned by the caller. -EPERM: portal_pam
 * is off; -EBUSY: LAUNCH_DOORS_MAX of them run. */
int launch_door(struct launch *l, int *ret_fd, struct phx_err *err);

/** A process that simulates (planner.h), in place of a former one: its socket, owned by the
 * caller. */
int launch_planner(struct launch *l, int *ret_fd, struct phx_err *err);

/* As the functions of re_place.h; each may also fail because the launcher does not answer. */
int launch_re_look(struct launch *l, const char *re, struct launch_re *ret, struct phx_err *err);
int launch_re_list(struct launch *l, struct phx_list *ret);
int launch_re_make(struct launch *l, const struct re_marker *m, const char *login,
		   struct phx_err *err);
int launch_re_remove(struct launch *l, const char *re, struct phx_err *err);
int launch_re_set_aside(struct launch *l, const struct re_marker *m, char **ret_to,
			struct phx_err *err);
/** The descriptor in `ret` is owned by the caller. */
int launch_re_open(struct launch *l, const struct re_place_whose *w, struct launch_re_opened *ret,
		   struct phx_err *err);
/** A watcher (watcher.h) in that directory: its socket, owned by the caller. */
int launch_re_watch(struct launch *l, const struct re_place_whose *w, int *ret_fd,
		    struct phx_err *err);
int launch_re_users(struct launch *l, const char *re, struct phx_list *ret);

#endif
