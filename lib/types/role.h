/* Roles: what a node is to do (roles/NAME.conf). lib/config reads them, the core
 * keeps them in its state, the agent gets them as JSON. Pure. */
#ifndef PHX_TYPES_ROLE_H
#define PHX_TYPES_ROLE_H

#include "base/key.h"
#include "types/facts.h"
#include "types/layout.h"
#include "types/setup.h"
#include "web/table.h"

/** A package as a role wants it; version and digest are resolved against the
 * repository when the role is loaded, so that a node's state can be compared. */
#define PHX_PACKAGE_REF_FIELDS(F, S) \
	F(S, name, STR(PHX_NAME_MAX)) \
	F(S, version, STR(PHX_NAME_MAX)) \
	F(S, sha256, STR(65)) \
	F(S, size_bytes, U64)
PHX_RECORD_STRUCT(phx_package_ref, PHX_PACKAGE_REF_FIELDS);
/** The file of a package, with PHX_PACKAGE_ARCHIVE as the format of its name and version. */
#define PHX_PACKAGE_SUFFIX ".tar.zst"
#define PHX_PACKAGE_ARCHIVE "%s-%s" PHX_PACKAGE_SUFFIX

/** The signal by which a service is told to end its requests while the node drains. */
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
	F(S, name, STR(PHX_NAME_MAX), KEY(name, NAME, PHX_REQUIRED, "Of the service.")) \
	F(S, package, STR(PHX_NAME_MAX), \
	  KEY(package, NAME, "", \
	      "One of the role's packages, by its name without version. Its directory, " \
	      "/opt/phoenix/pkg/NAME/VERSION, is where the service starts, and belongs to root.")) \
	F(S, user, STR(32), \
	  KEY(user, LINE, "", \
	      "Whom it runs as. The image, or nobody, knows the user: a package makes none. " \
	      "Default: root.")) \
	F(S, restart, BOOL, \
	  KEY(restart, YES, "true", \
	      "It is started again when it ends, after 0.1 s, when it goes on dying up to 10 s; " \
	      "services that come after it with it. phx node show tells how often, and how the " \
	      "last one ended (Restarts): a node may be healthy whenever one looks.")) \
	F(S, stop_grace_s, U32, KEY(stop_grace, TIME(1, 3600), "10s", "From SIGTERM to SIGKILL.")) \
	/* resolved at load: the default depends on the role's health check */ \
	F(S, settle_s, U32, \
	  KEY(settle, TIME(0, 60), "", \
	      "How long it must have run before its start counts as done. One that ends before " \
	      "(and is not to end: restart = false, status 0) fails the hand-over, with what it " \
	      "wrote last. Services of a role settle side by side; when the node or its agent " \
	      "starts again, nobody waits for it. Default: 1s in a role without a health check; " \
	      "0s where there is one, which says more.")) \
	F(S, drain_signal, ENUM(phx_drain_signal), \
	  KEY(drain_signal, CHOICE, "none", \
	      "Sent to its main process when clients stay connected while the node drains, see " \
	      "WEB; a service that ends by it is not started again.")) \
	F(S, argv, LIST(phx_word), \
	  KEY(exec, WORDS(0), PHX_REQUIRED, \
	      "The words of its command line; no shell reads them. A program that is not an " \
	      "absolute path lies in the service's package. It stays in the foreground: its end " \
	      "is the end of the service.")) \
	F(S, env, LIST(phx_word), \
	  KEY(env, WORDS(0), "", \
	      "A list of \"NAME=value\". PHX_PACKAGE (the package's directory), PHX_ROLE and " \
	      "PATH are set, and of the agent's own environment nothing.")) \
	F(S, after, LIST(phx_word), \
	  KEY(after, WORDS(0), "", \
	      "Services of the role that must run before. They stop in the opposite order."))
PHX_RECORD_STRUCT(phx_service, PHX_SERVICE_FIELDS);

enum phx_health_kind { PHX_HEALTH_NONE, PHX_HEALTH_HTTP, PHX_HEALTH_TCP, PHX_HEALTH_EXEC };
extern const struct phx_enum phx_health_kind_names;

/** Healthy = one success; unhealthy = `failures` failures in a row. */
#define PHX_HEALTH_FIELDS(F, S) \
	F(S, kind, ENUM(phx_health_kind), \
	  KEY(kind, CHOICE, PHX_REQUIRED, \
	      "none: the services run. http: GET of target answers with a status from 200 to " \
	      "299. tcp: target takes connections. exec: the program ends with status 0.")) \
	F(S, target, STR(256), \
	  KEY(target, LINE, "", "\"http://127.0.0.1:80/health\", or \"127.0.0.1:80\".")) \
	F(S, argv, LIST(phx_word), \
	  KEY(exec, WORDS(0), "", \
	      "The words of a command line; a program that is not an absolute path is looked for " \
	      "in the role's packages.")) \
	F(S, interval_s, U32, KEY(interval, TIME(1, 86400), "5s", "How often it is checked.")) \
	F(S, timeout_s, U32, KEY(timeout, TIME(1, 3600), "2s", "How long one check may take.")) \
	F(S, failures, U32, \
	  KEY(failures, NUMBER(1, 1000), "3", \
	      "After so many failures in a row the node is unhealthy."))
PHX_RECORD_STRUCT(phx_health, PHX_HEALTH_FIELDS);

/** Where the system of a role runs, one row a kind: K(ID, "name", is it on a disk, so that it
 * survives a reset and can be encrypted; text for a node whose system is elsewhere). */
#define PHX_ROLE_BOOTS(K) \
	K(DISK, "disk", true, "the role runs from disk, the system is in memory") \
	K(RAM, "ram", false, "the role runs in memory, the system is on disk")

enum phx_role_boot {
#define K(id, ...) PHX_ROLE_BOOT_##id,
	PHX_ROLE_BOOTS(K)
#undef K
};
extern const struct phx_enum phx_role_boot_names;
struct phx_role_boot_kind {
	bool on_disk;
	const char *elsewhere;
};

/** What the balancer knows of an instance of a web service. If neither the role nor its RE has an
 * address, the node is behind no balancer. */
#define PHX_ROLE_WEB_FIELDS(F, S) \
	/* the node accepts packets for this address, but answers no ARP for it */ \
	F(S, address, STR(16), \
	  KEY(address, LINE, "", \
	      "The virtual address, IPv4, unless the agreement of its RE has one.")) \
	/* and further ones, by its agreement: phx_role_web_address() */ \
	F(S, more, STR(PHX_WEB_ADDRESSES_TEXT_MAX)) \
	F(S, port, U32, KEY(port, NUMBER(1, 65535), "80", "Its port.")) \
	F(S, scheduler, STR(16), \
	  KEY(scheduler, LINE, "wlc", \
	      "How the kernel's balancer chooses: rr, wrr, lc, wlc, sh, dh, sed, nq or mh.")) \
	F(S, cpu_milli, U32, \
	  KEY(cpu_milli, NUMBER(10, 256000), "", \
	      "In thousandths of a CPU: all that its services get from their first good health " \
	      "check on (where systemd runs them; elsewhere it limits nothing), and the whole " \
	      "against which a web RE measures their use. Default: all CPUs of the node."))
PHX_RECORD_STRUCT(phx_role_web, PHX_ROLE_WEB_FIELDS);
/** Its virtual address `i`; false: it has no such. */
bool phx_role_web_address(const struct phx_role_web *w, uint32_t i, char ret[PHX_WEB_ADDRESS_MAX]);

/** What is done to a director that is silent before another one takes its place: nothing, or power
 * off by its BMC. */
enum phx_role_fence { PHX_ROLE_FENCE_NONE, PHX_ROLE_FENCE_POWER };
extern const struct phx_enum phx_role_fence_names;

#define PHX_KERNEL_ARGS_MAX 256

#define PHX_ROLE_FIELDS(F, S) \
	F(S, name, STR(PHX_NAME_MAX)) /* the name of its file */ \
	F(S, summary, STR(160), KEY(summary, LINE, "", "One line for people.")) \
	F(S, pool, STR(PHX_NAME_MAX), \
	  KEY(pool, NAME, PHX_REQUIRED, \
	      "Where nodes of this role land unless phx node assign --pool names another: one of " \
	      "phoenix.conf(5), or free, or that of an RE.")) \
	F(S, boot, ENUM(phx_role_boot), \
	  KEY(boot, CHOICE, "disk", \
	      "disk: the image is written to a disk, and the system comes back from there after " \
	      "a reset. ram: it runs in memory, no disk is touched, and it is fetched anew after " \
	      "a reset.")) \
	F(S, image, STR(PHX_NAME_MAX), \
	  KEY(image, NAME, PHX_REQUIRED, \
	      "The system: a name of phx image list. Nodes run it with its own kernel, or with " \
	      "that of the deploy image: see phoenix-image(5).")) \
	/* resolved at load */ \
	F(S, image_version, STR(PHX_NAME_MAX), \
	  KEY(image_version, NAME, "", "The version of the image. Default: the newest.")) \
	F(S, image_digest, STR(65)) /* resolved: SHA-256 of the image's manifest */ \
	/* resolved: the release of the image's own kernel, under which its nodes run it; "": it \
	 * has none, they run the deploy image's */ \
	F(S, image_kernel, STR(PHX_RELEASE_MAX), \
	  KEY(kernel, TEXT(0, PHX_RELEASE_MAX - 1), "", \
	      "Which of the image's own kernels its nodes run: a release of phx image kernels. " \
	      "Default: the one that the image names as its default.")) \
	F(S, kernel_args, STR(PHX_KERNEL_ARGS_MAX), \
	  KEY(kernel_args, TEXT(0, 255), "", \
	      "Words for the kernel command line of its nodes, behind kernel_args of " \
	      "phoenix.conf(5), from the next start of a node on. No word begins with phx., " \
	      "initrd= or BOOTIF=, which the head sets. While disks are erased they do not " \
	      "hold.")) \
	F(S, runs_jobs, BOOL, \
	  KEY(runs_jobs, YES, "false", "The agent takes jobs of users while the role is active.")) \
	F(S, drain_grace_s, U32, \
	  KEY(drain_grace, TIME(0, 604800), "30s", \
	      "How long jobs, or requests of a web service, may go on when the node is called " \
	      "back.")) \
	F(S, packages, LIST(phx_package_ref), \
	  KEY(packages, OTHER, "", \
	      "A list of \"NAME\" or \"NAME-VERSION\": the newest version that the head has at " \
	      "the reload unless one is named. At most 64.")) \
	F(S, allow_older, LIST(phx_word), \
	  KEY(allow_older, WORDS(0), "", \
	      "What may be older than what the role had: \"NAME-VERSION\" of a package, or of " \
	      "the image. All else that is older is refused, by phxd and by the agent: going " \
	      "back is said, and never happens by itself.")) \
	F(S, services, LIST(phx_service), \
	  KEY(services, OTHER, "", "A list of groups, at most 64: what runs. See SERVICES.")) \
	/* see phx_role_removal_check() */ \
	F(S, leave_remove, LIST(phx_word), \
	  KEY(leave, OTHER, "", \
	      "{ remove = [ ... ] }: paths that go when the role goes. They lie below /var/lib, " \
	      "/var/cache, /var/log, /srv or /etc/opt, are written plainly (no \"..\", no " \
	      "\"//\"), and are none of what the system or Phoenix lives by (such as " \
	      "/var/lib/dpkg or /var/lib/phoenix); others are refused when the role is read. " \
	      "What else its services changed in the system stays after a hand-over in place, " \
	      "unless a package takes it back with a program leave: phoenix-package(5).")) \
	F(S, ports, LIST(phx_word), \
	  KEY(ports, OTHER, "", \
	      "TCP ports that must be closed after the services have stopped: [ 80, 443 ].")) \
	F(S, health, REC(phx_health), \
	  KEY(health, GROUP, "{}", "How one sees that it works. See HEALTH.")) \
	F(S, web, REC(phx_role_web), \
	  KEY(web, GROUP, "", \
	      "The node is an instance of a service behind a virtual address. See WEB.")) \
	F(S, director, BOOL, \
	  KEY(director, YES, "false", \
	      "Its nodes balance the load of all roles that have a web. See WEB.")) \
	F(S, fence, ENUM(phx_role_fence), \
	  KEY(fence, CHOICE, "none", \
	      "Beside director = true: what is done to a director that is not heard, before " \
	      "another one takes its place. See WEB.")) \
	F(S, layout, LIST(phx_layout_volume), \
	  KEY(layout, OTHER, "", \
	      "A list of groups: file systems on the disks of its nodes beside the system's. " \
	      "With boot = \"disk\". See LAYOUT."))
PHX_RECORD_STRUCT(phx_role, PHX_ROLE_FIELDS);

/** The row of the kind of boot that the role has. */
const struct phx_role_boot_kind *phx_role_boot(const struct phx_role *r);
/** The image and packages of a role as a text to compare, "IMAGE@VERSION NAME-VERSION …", truncated
 * to ret_size. Equal texts: the node runs what it should. */
void phx_role_identity(const struct phx_role *r, char *ret, size_t ret_size);

/** Does the list (struct phx_word) of what may be older contain "NAME-VERSION"? */
bool phx_older_allowed(const struct phx_list *allow, const char *name, const char *version);
/** Checks that the new role `put` takes nothing back: -ESTALE names a package, or the image, that
 * is older than in `had`, its former version, and not in put->allow_older. */
int phx_role_not_older(const struct phx_role *had, const struct phx_role *put, struct phx_err *err);

/** Order in which services start: dependencies first, otherwise as written.
 * ret_order: n indexes. -ELOOP names the cycle, -ENOENT an unknown dependency. */
int phx_role_order(const struct phx_role *r, uint32_t *ret_order, struct phx_err *err);

/** May the words stand on the command line of a kernel that the head starts? -EINVAL names what may
 * not. */
int phx_kernel_args_check(const char *args, struct phx_err *err);

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

/** Facts: cpus cores sockets memory_bytes modules (of memory) disks disk_bytes (largest) nics gpus
 * arch vendor product serial boot_mode name mac */
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
	  KEY(when, OTHER, "", \
	      "A list of at most 32 terms, \"FACT OPERATOR VALUE\"; without any the rule always " \
	      "holds."))
PHX_RECORD_STRUCT(phx_rule, PHX_RULE_FIELDS);

/** Find the first rule that holds for `name` and `facts`. Returns its index, -ENOENT or -ENOMEM.
 * `ret_reason` says why, e.g. "rules.conf:12: memory_bytes 8589934592 >= 4 GiB -> batch-compute",
 * or which term failed in each rule. */
int phx_rules_match(const struct phx_list *rules, const char *name, const struct phx_facts *facts,
		    char *ret_reason, size_t ret_reason_size);
/** Check one term's fact name, operator and value. */
int phx_rule_term_check(const struct phx_rule_term *t, struct phx_err *err);

#endif
