/* Roles: what a node is to do (roles/NAME.conf). lib/config reads them, the core
 * keeps them in its state, the agent gets them as JSON. Pure. */
#ifndef PHX_TYPES_ROLE_H
#define PHX_TYPES_ROLE_H

#include "base/key.h"
#include "types/facts.h"
#include "types/setup.h"

/** A package as a role wants it; version and digest are resolved against the
 * repository when the role is loaded, so that a node's state can be compared. */
#define PHX_PACKAGE_REF_FIELDS(F, S) \
	F(S, name, STR(PHX_NAME_MAX)) \
	F(S, version, STR(PHX_NAME_MAX)) \
	F(S, sha256, STR(65)) \
	F(S, size_bytes, U64)
PHX_RECORD_STRUCT(phx_package_ref, PHX_PACKAGE_REF_FIELDS);

/** The signal that a service gets when the requests of its node are to end. */
enum phx_drain_signal {
	PHX_DRAIN_NONE,
	PHX_DRAIN_HUP,
	PHX_DRAIN_QUIT,
	PHX_DRAIN_USR1,
	PHX_DRAIN_USR2,
	PHX_DRAIN_WINCH
};
extern const struct phx_enum phx_drain_signal_names;

/** One supervised program. argv[0] relative = inside the package `package`. */
#define PHX_SERVICE_FIELDS(F, S) \
	F(S, name, STR(PHX_NAME_MAX), KEY(name, NAME, PHX_REQUIRED, "Its name in the role.")) \
	F(S, package, STR(PHX_NAME_MAX), \
	  KEY(package, NAME, "", \
	      "One of the role's packages, by its name without version: where the service " \
	      "starts.")) \
	F(S, user, STR(32), KEY(user, LINE, "", "Whom it runs as; empty: root.")) \
	F(S, restart, BOOL, \
	  KEY(restart, YES, "true", \
	      "Started again when it ends, and with it the services that come after it.")) \
	F(S, stop_grace_s, U32, KEY(stop_grace, TIME(1, 3600), "10s", "From SIGTERM to SIGKILL.")) \
	/* resolved at load: the default depends on the role's health check */ \
	F(S, settle_s, U32, \
	  KEY(settle, TIME(0, 60), "", \
	      "How long it must have run before its start counts as done.")) \
	F(S, drain_signal, ENUM(phx_drain_signal), \
	  KEY(drain_signal, CHOICE, "none", \
	      "Sent to its main process when clients stay connected while the node drains.")) \
	F(S, argv, LIST(phx_word), \
	  KEY(exec, WORDS(0), PHX_REQUIRED, \
	      "The words of its command line; no shell reads them.")) \
	F(S, env, LIST(phx_word), \
	  KEY(env, WORDS(0), "", \
	      "NAME=value of each variable, beside those that every service has.")) \
	F(S, after, LIST(phx_word), \
	  KEY(after, WORDS(0), "", "Services of the role that must run before."))
PHX_RECORD_STRUCT(phx_service, PHX_SERVICE_FIELDS);

enum phx_health_kind { PHX_HEALTH_NONE, PHX_HEALTH_HTTP, PHX_HEALTH_TCP, PHX_HEALTH_EXEC };
extern const struct phx_enum phx_health_kind_names;

/** Healthy = one success; unhealthy = `failures` failures in a row. */
#define PHX_HEALTH_FIELDS(F, S) \
	F(S, kind, ENUM(phx_health_kind), \
	  KEY(kind, CHOICE, PHX_REQUIRED, "How the node is checked.")) \
	F(S, target, STR(256), \
	  KEY(target, LINE, "", \
	      "http: a URL, like http://127.0.0.1:80/health; tcp: ADDRESS:PORT.")) \
	F(S, argv, LIST(phx_word), KEY(exec, WORDS(0), "", "exec: the words of a command line.")) \
	F(S, interval_s, U32, KEY(interval, TIME(1, 86400), "5s", "How often it is checked.")) \
	F(S, timeout_s, U32, KEY(timeout, TIME(1, 3600), "2s", "How long one check may take.")) \
	F(S, failures, U32, \
	  KEY(failures, NUMBER(1, 1000), "3", \
	      "After so many failures in a row the node is unhealthy."))
PHX_RECORD_STRUCT(phx_health, PHX_HEALTH_FIELDS);

enum phx_role_boot { PHX_ROLE_BOOT_DISK, PHX_ROLE_BOOT_RAM };
extern const struct phx_enum phx_role_boot_names;

/** What the balancer knows of an instance of a web service. A role without an address, whose RE has
 * none either, is behind no balancer. */
#define PHX_ROLE_WEB_FIELDS(F, S) \
	/* the node accepts packets for this address, but answers no ARP for it */ \
	F(S, address, STR(16), \
	  KEY(address, LINE, "", "The virtual address of the service, IPv4.")) \
	F(S, port, U32, KEY(port, NUMBER(1, 65535), "80", "Its port.")) \
	F(S, scheduler, STR(16), \
	  KEY(scheduler, LINE, "wlc", \
	      "How the kernel's balancer chooses (web/table.h has the names).")) \
	F(S, cpu_milli, U32, \
	  KEY(cpu_milli, NUMBER(10, 256000), "", \
	      "What its services get of one CPU, in thousandths, and of which their use is told; " \
	      "0: all CPUs of the node."))
PHX_RECORD_STRUCT(phx_role_web, PHX_ROLE_WEB_FIELDS);

/** What is done to a director that is not heard, before another director takes its place: nothing,
 * or power off by its BMC. */
enum phx_role_fence { PHX_ROLE_FENCE_NONE, PHX_ROLE_FENCE_POWER };
extern const struct phx_enum phx_role_fence_names;

#define PHX_ROLE_FIELDS(F, S) \
	F(S, name, STR(PHX_NAME_MAX)) /* the name of its file */ \
	F(S, summary, STR(160), KEY(summary, LINE, "", "One line for people.")) \
	F(S, pool, STR(PHX_NAME_MAX), \
	  KEY(pool, NAME, PHX_REQUIRED, "Where nodes of this role land unless told otherwise.")) \
	F(S, boot, ENUM(phx_role_boot), \
	  KEY(boot, CHOICE, "disk", "Whether the system lies on a disk or in memory.")) \
	F(S, image, STR(PHX_NAME_MAX), KEY(image, NAME, PHX_REQUIRED, "The system.")) \
	/* resolved at load */ \
	F(S, image_version, STR(PHX_NAME_MAX), \
	  KEY(image_version, NAME, "", "The version of the image; empty: the newest.")) \
	F(S, image_digest, STR(65)) /* resolved: SHA-256 of the image's manifest */ \
	F(S, runs_jobs, BOOL, \
	  KEY(runs_jobs, YES, "false", "The agent takes jobs of users while the role is active.")) \
	F(S, drain_grace_s, U32, \
	  KEY(drain_grace, TIME(0, 604800), "30s", \
	      "How long jobs, or requests, may go on when the node is called back.")) \
	F(S, packages, LIST(phx_package_ref), \
	  KEY(packages, OTHER, "", "NAME or NAME-VERSION of each package.")) \
	F(S, services, LIST(phx_service), KEY(services, OTHER, "", "What runs.")) \
	/* see phx_role_removal_check() */ \
	F(S, leave_remove, LIST(phx_word), \
	  KEY(leave, OTHER, "", "Paths that are removed on leave.")) \
	F(S, ports, LIST(phx_word), \
	  KEY(ports, OTHER, "", "TCP ports that must be closed after the services have stopped.")) \
	F(S, health, REC(phx_health), KEY(health, GROUP, "{}", "How one sees that it works.")) \
	F(S, web, REC(phx_role_web), \
	  KEY(web, GROUP, "", "Its nodes are instances of a web service.")) \
	F(S, director, BOOL, \
	  KEY(director, YES, "false", "Its nodes balance the load of all roles that have a web.")) \
	F(S, fence, ENUM(phx_role_fence), \
	  KEY(fence, CHOICE, "none", \
	      "What is done to a director that is not heard, before another one takes its " \
	      "place."))
PHX_RECORD_STRUCT(phx_role, PHX_ROLE_FIELDS);

/** The image and packages that a role runs, as a text to compare: "IMAGE@VERSION NAME-VERSION …",
 * truncated to ret_size. Equal texts: the node runs what it should. */
void phx_role_identity(const struct phx_role *r, char *ret, size_t ret_size);

/** Order in which services start: dependencies first, otherwise as written.
 * ret_order: n indexes. -ELOOP names the cycle, -ENOENT an unknown dependency. */
int phx_role_order(const struct phx_role *r, uint32_t *ret_order, struct phx_err *err);

/** Check the structure of a role: names valid and unique, dependencies, argv, health, paths. The
 * loader checks that image, packages and pool exist. */
int phx_role_check(const struct phx_role *r, struct phx_err *err);

/** May a role have `path` removed when it leaves a node? It must be a plain path (no "//", ".",
 * "..", final "/") below /var/lib, /var/cache, /var/log, /srv or /etc/opt, and no path that the
 * system or Phoenix needs. -EINVAL with a text that names the path. Asked when the role is loaded,
 * and again by the agent before it removes the path. */
int phx_role_removal_check(const char *path, struct phx_err *err);

/* ---- automatic role assignment (roles/rules.conf) ---- */

enum phx_rule_op { PHX_RULE_EQ, PHX_RULE_NE, PHX_RULE_GE, PHX_RULE_LE, PHX_RULE_MATCH };
extern const struct phx_enum phx_rule_op_names; /* "==", "!=", ">=", "<=", "~" (shell pattern) */

/** fact: cpus cores sockets memory_bytes disks disk_bytes (largest) nics arch vendor product serial
 * boot_mode name mac */
#define PHX_RULE_TERM_FIELDS(F, S) \
	F(S, fact, STR(32)) \
	F(S, op, ENUM(phx_rule_op)) \
	F(S, value, STR(128)) /* numbers may carry units ("4 GiB") */
PHX_RECORD_STRUCT(phx_rule_term, PHX_RULE_TERM_FIELDS);

#define PHX_RULE_FIELDS(F, S) \
	F(S, role, STR(PHX_NAME_MAX), \
	  KEY(role, NAME, PHX_REQUIRED, "The role of machines of which all terms hold.")) \
	F(S, line, U32) /* of rules.conf, for reasons */ \
	/* all must hold; none = always */ \
	F(S, terms, LIST(phx_rule_term), \
	  KEY(when, OTHER, "", "The terms; without any the rule always holds."))
PHX_RECORD_STRUCT(phx_rule, PHX_RULE_FIELDS);

/** Find the first rule that holds for `name` and `facts`. Returns its index, -ENOENT or -ENOMEM.
 * `ret_reason` says why, e.g. "rules.conf:12: memory_bytes 8589934592 >= 4 GiB -> batch-compute",
 * or which term failed in each rule. */
int phx_rules_match(const struct phx_list *rules, const char *name, const struct phx_facts *facts,
		    char *ret_reason, size_t ret_reason_size);
/** Check one term's fact name, operator and value. */
int phx_rule_term_check(const struct phx_rule_term *t, struct phx_err *err);

#endif
