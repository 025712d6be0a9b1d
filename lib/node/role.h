/* Roles: what a node is to do (roles/NAME.conf). Read by lib/config, kept in
 * core state, carried to the agent as JSON. Pure. */
#ifndef PHX_NODE_ROLE_H
#define PHX_NODE_ROLE_H

#include "node/facts.h"
#include "node/setup.h"

/** A word of an argument vector, a service name, a path. */
struct phx_word {
	char text[256];
};
extern const struct phx_record phx_word_record;

/** A package as a role wants it; version and digest are resolved against the
 * repository when the role is loaded, so that a node's state can be compared. */
struct phx_package_ref {
	char name[PHX_NAME_MAX];
	char version[PHX_NAME_MAX];
	char sha256[65];
	uint64_t size_bytes;
};
extern const struct phx_record phx_package_ref_record;

/** What a service is sent when the requests of its node are to end. */
enum phx_drain_signal { PHX_DRAIN_NONE, PHX_DRAIN_HUP, PHX_DRAIN_QUIT, PHX_DRAIN_USR1, PHX_DRAIN_USR2, PHX_DRAIN_WINCH };
extern const struct phx_enum phx_drain_signal_names;

/** One supervised program. argv[0] relative = inside the package `package`. */
struct phx_service {
	char name[PHX_NAME_MAX];
	char package[PHX_NAME_MAX];
	char user[32];	       /* "" = root */
	bool restart;	       /* restart when it dies, with those that depend on it */
	uint32_t stop_grace_s; /* SIGTERM to SIGKILL */
	uint32_t settle_s;     /* it must run so long before its start counts as done; resolved at load */
	int drain_signal;      /* enum phx_drain_signal: to its main process, if clients stay connected while it drains */
	struct phx_list argv;  /* struct phx_word */
	struct phx_list env;   /* struct phx_word, "NAME=value" */
	struct phx_list after; /* struct phx_word: services that must run before */
};
extern const struct phx_record phx_service_record;

enum phx_health_kind { PHX_HEALTH_NONE, PHX_HEALTH_HTTP, PHX_HEALTH_TCP, PHX_HEALTH_EXEC };
extern const struct phx_enum phx_health_kind_names;

/** Healthy = one success; unhealthy = `failures` failures in a row. */
struct phx_health {
	int kind;	      /* enum phx_health_kind */
	char target[256];     /* http: "http://127.0.0.1:80/health"; tcp: "127.0.0.1:80" */
	struct phx_list argv; /* exec: struct phx_word */
	uint32_t interval_s;
	uint32_t timeout_s;
	uint32_t failures;
};
extern const struct phx_record phx_health_record;

enum phx_role_boot { PHX_ROLE_BOOT_DISK, PHX_ROLE_BOOT_RAM };
extern const struct phx_enum phx_role_boot_names;

/** What an instance of a web service is to its balancer. No address, and none of its RE = it is behind none. */
struct phx_role_web {
	char address[16];    /* virtual address, IPv4; the node takes it for its own and answers no ARP for it */
	uint32_t port;
	char scheduler[16];  /* "wlc": web/table.h */
	uint32_t cpu_milli;  /* share of one CPU that its services get, thousandths, and of which their use is told; 0 = all CPUs of the node */
};
extern const struct phx_record phx_role_web_record;

/** What is done to a director that is not heard, before another one takes its place: nothing, or off by its BMC. */
enum phx_role_fence { PHX_ROLE_FENCE_NONE, PHX_ROLE_FENCE_POWER };
extern const struct phx_enum phx_role_fence_names;

struct phx_role {
	char name[PHX_NAME_MAX];
	char summary[160];
	char pool[PHX_NAME_MAX]; /* where nodes of this role land unless told otherwise */
	int boot;		 /* enum phx_role_boot */
	char image[PHX_NAME_MAX];
	char image_version[PHX_NAME_MAX]; /* resolved at load */
	char image_digest[65];		  /* resolved: SHA-256 of the image's manifest */
	bool runs_jobs;			  /* the agent takes jobs while the role is active */
	uint32_t drain_grace_s;		  /* jobs get this long before they are killed */
	struct phx_list packages;	  /* struct phx_package_ref */
	struct phx_list services;	  /* struct phx_service */
	struct phx_list leave_remove;	  /* struct phx_word: paths removed on leave, see phx_role_removal_check() */
	struct phx_list ports;		  /* struct phx_word: TCP ports that must be closed after stop ("80") */
	struct phx_health health;
	struct phx_role_web web;
	bool director; /* its nodes balance the load of all roles that have a `web` */
	int fence;     /* of a director: enum phx_role_fence */
};
extern const struct phx_record phx_role_record;

/** Digest-like identity of what a node should run: "IMAGE@VERSION NAME-VERSION …" truncated into `ret`;
 * equal strings mean nothing to do. */
void phx_role_identity(const struct phx_role *r, char *ret, size_t ret_size);

/** Order in which services start: dependencies first, otherwise as written.
 * ret_order: n indexes. -ELOOP names the cycle, -ENOENT an unknown dependency. */
int phx_role_order(const struct phx_role *r, uint32_t *ret_order, struct phx_err *err);

/** Structure of a role: names valid and unique, dependencies, argv, health, paths.
 * Existence of image, packages and pool is checked by the loader. */
int phx_role_check(const struct phx_role *r, struct phx_err *err);

/** May a role have `path` removed when it leaves a node? It must be a plain path (no "//", ".", "..", final "/") below
 * /var/lib, /var/cache, /var/log, /srv or /etc/opt, and none of what the system or Phoenix itself lives by. -EINVAL
 * with a text names it. Asked when the role is loaded and again by the agent before it removes anything. */
int phx_role_removal_check(const char *path, struct phx_err *err);

/* ---- automatic role assignment (roles/rules.conf) ---- */

enum phx_rule_op { PHX_RULE_EQ, PHX_RULE_NE, PHX_RULE_GE, PHX_RULE_LE, PHX_RULE_MATCH };
extern const struct phx_enum phx_rule_op_names; /* "==", "!=", ">=", "<=", "~" (shell pattern) */

/** fact: cpus cores sockets memory_bytes disks disk_bytes (largest) nics arch vendor product serial boot_mode name mac */
struct phx_rule_term {
	char fact[32];
	int op;
	char value[128]; /* numbers may carry units ("4 GiB") */
};
extern const struct phx_record phx_rule_term_record;

struct phx_rule {
	char role[PHX_NAME_MAX];
	uint32_t line;	       /* of rules.conf, for reasons */
	struct phx_list terms; /* struct phx_rule_term, all must hold; none = always */
};
extern const struct phx_record phx_rule_record;

/** First rule that holds for `name`/`facts`. Returns its index, or -ENOENT. `ret_reason` says why, e.g.
 * "rules.conf:12: memory_bytes 8589934592 >= 4 GiB -> batch-compute", or which term failed in each rule. */
int phx_rules_match(const struct phx_list *rules, const char *name, const struct phx_facts *facts, char *ret_reason,
		    size_t ret_reason_size);
/** Check one term's fact name, operator and value. */
int phx_rule_term_check(const struct phx_rule_term *t, struct phx_err *err);

#endif
