/* The launcher, and the head that it starts. The launcher is the process that was started as phxd,
 * by root where phxd is a service: it makes directories, binds sockets, starts the head, the
 * process that holds the keys, dnsmasq and in.tftpd, and starts them again. It reads the
 * configuration and what the head asks, which are messages of one shape (launch.def), and nothing
 * else: no byte that came from a network. The head asks over a socket that is its standard input;
 * when either of the two ends, so does the other. */
#ifndef PHXD_LAUNCH_H
#define PHXD_LAUNCH_H

#include "config/config.h"
#include "http/http.h"
#include "phxd/re_place.h"

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

/** What the head tells of itself, for the service manager. */
enum launch_saying {
	LAUNCH_READY,
	LAUNCH_RELOADING,
	LAUNCH_STOPPING,
	LAUNCH_ALIVE, /* as often as WatchdogSec= asks */
};

/** Of launch_re_look(). */
struct launch_re {
	bool there, marked; /* its data; its marker, which is: */
	struct re_marker marker;
};

struct launch_re_make {
	struct re_marker marker;
	char login[PHX_NAME_MAX];
};

/** Of launch_re_open(). */
struct launch_re_opened {
	uid_t uid; /* whose it is */
	gid_t gid;
	bool helper; /* `fd` is the socket of a helper (helper.h) that is this user and is there */
	int fd;      /* else the directory, which is our own user's */
};

/* ---- the launcher ---- */

/** Be the launcher until the head ends, or is ended: the exit status. `argv`: of this program,
 * which the head gets, too. `serves`: the head serves, and is started again after a crash; else it
 * does what its options say, and ends. */
int launcher_run(const struct phx_config *cfg, char **argv, bool new_journal, bool serves);
/** Is a head started again that was ended by this signal? A test says no. */
bool launcher_restarts(int signal);

/** What the listeners of phxd are, as far as a socket goes. */
struct phx_http_server_config launch_listeners(const struct phx_config *cfg);

/* ---- the head's side; any thread ---- */

struct launch;

/** `fd`: the socket, taken. -ENOTSOCK: nobody has started this process as a head. */
int launch_new(int fd, struct launch **ret, struct phx_err *err);
/** Safe on NULL. */
void launch_free(struct launch *l);
/** A new process that holds the keys: its socket, the caller's. For phx_vault_config.start. */
int launch_vault(void *launch, int *ret_fd, pid_t *ret_pid, struct phx_err *err);
/** Likewise the process that talks to BMCs, for phx_hands_config.start. */
int launch_hands(void *launch, int *ret_fd, pid_t *ret_pid, struct phx_err *err);
/** A socket that listens; the caller's. */
int launch_listen(struct launch *l, enum phx_http_listener which, int *ret_fd, struct phx_err *err);
/** What a phxd that was killed was writing is removed: by who has opened the journal, before
 * anything else is written. */
int launch_sweep(struct launch *l, struct phx_err *err);
/** Start what machines boot from, for so many nodes; what runs already goes on. */
int launch_boot(struct launch *l, uint32_t n_nodes, struct phx_err *err);
/** Host files have changed: dnsmasq is told where `again`, and started anew where its limits are
 * those of fewer nodes. */
int launch_hosts(struct launch *l, uint32_t n_nodes, bool again, struct phx_err *err);
/** As phx_children_status(). */
int launch_children(struct launch *l, struct phx_list *ret);
void launch_say(struct launch *l, enum launch_saying what);

/** An anchor of the journal goes to the end of the file that is number `which` of anchor_file. */
int launch_anchor(struct launch *l, uint32_t which, const char *line, struct phx_err *err);

/** Does somebody keep this machine's clock right? Who is not answered does not know it. */
bool launch_clock_is_kept(struct launch *l);

/** A new runner (runner.h): its socket, the caller's. */
int launch_runner(struct launch *l, int *ret_fd, struct phx_err *err);
/** A process that asks PAM once (door/door.h): its socket, the caller's. -EPERM: portal_pam is off;
 * -EBUSY: so many are at it already. */
int launch_door(struct launch *l, int *ret_fd, struct phx_err *err);

/* As re_place.h has them; any of them may also fail since the launcher does not answer. */
int launch_re_look(struct launch *l, const char *re, struct launch_re *ret, struct phx_err *err);
int launch_re_list(struct launch *l, struct phx_list *ret);
int launch_re_make(struct launch *l, const struct re_marker *m, const char *login,
		   struct phx_err *err);
int launch_re_remove(struct launch *l, const char *re, struct phx_err *err);
int launch_re_set_aside(struct launch *l, const struct re_marker *m, char **ret_to,
			struct phx_err *err);
/** The descriptor is the caller's. */
int launch_re_open(struct launch *l, const struct re_place_whose *w, struct launch_re_opened *ret,
		   struct phx_err *err);
/** A watcher there: its socket, the caller's. */
int launch_re_watch(struct launch *l, const struct re_place_whose *w, int *ret_fd,
		    struct phx_err *err);
int launch_re_users(struct launch *l, const char *re, struct phx_list *ret);

#endif
