/* The RE agreement (000 4.1, Fig. 3): what a service provider asks for and the
 * resource provider grants. Typed; read from libconfig or the papers' XML by
 * lib/config, kept in core state. Pure. */
#ifndef PHX_TYPES_AGREEMENT_H
#define PHX_TYPES_AGREEMENT_H

#include "base/identity.h"
#include "base/key.h"
#include "types/setup.h"
#include "policy/policy.h"
#include "web/table.h"

enum phx_re_relationship {
#define RELATIONSHIP(id, name, one_person, apart) PHX_RE_##id,
#include "types/relationship.def"
#undef RELATIONSHIP
};
/** Its workload, which determines its kind of RE (re_kind.h). */
enum phx_re_type {
#define KIND(id, name, text) PHX_RE_##id,
#include "types/re_kind.def"
#undef KIND
	PHX_RE_TYPE_COUNT_
};
enum phx_re_coordination {
	PHX_RE_COORDINATED_NONE,
	PHX_RE_COORDINATED_OWN,
	PHX_RE_COORDINATED_OTHER
};
extern const struct phx_enum phx_re_relationship_names, phx_re_type_names,
	phx_re_coordination_names;

/** The engine that runs the jobs of a batch RE: the agents, or Slurm on the RE's nodes. */
enum phx_re_engine { PHX_RE_ENGINE_BUILTIN, PHX_RE_ENGINE_SLURM };
extern const struct phx_enum phx_re_engine_names;
#define PHX_SLURM_CONF_DEFAULT "/etc/slurm/slurm.conf"

/** An extension field, kept as given. */
#define PHX_RE_EXTENSION_FIELDS(F, S) \
	F(S, key, STR(PHX_NAME_MAX)) \
	F(S, value, STR(256))
PHX_RECORD_STRUCT(phx_re_extension, PHX_RE_EXTENSION_FIELDS);

/* bytes for the list of users, and for that of groups */
enum { PHX_MEMBERS_MAX = 1024 };

#define PHX_AGREEMENT_FIELDS(F, S) \
	F(S, name, STR(PHX_NAME_MAX), \
	  KEY(name, NAME, "", "Of the RE; its pool has that name too. Default: the file's name.")) \
	F(S, owner, STR(PHX_IDENTITY_MAX), \
	  KEY(owner, IDENTITY, "", \
	      "The service provider: unix:NAME, a user of the head, or cert:NAME, a certificate. " \
	      "A name without a kind is that user if there is one when the RE is asked for, else " \
	      "the certificate. Default: whoever asks for the RE. The resource provider must " \
	      "name " \
	      "it, unless the relationship is same.")) \
	F(S, users, STR(PHX_MEMBERS_MAX), \
	  KEY(users, TEXT(1, 1023), "", \
	      "Members of the RE beside its owner, with blanks or commas between them, each " \
	      "written as the owner; \"*\" means all users of the head. Default: nobody.")) \
	F(S, groups, STR(PHX_MEMBERS_MAX), \
	  KEY(groups, TEXT(1, 1023), "", \
	      "The same by groups of the head: everybody who is in one of them is a member.")) \
	F(S, relationship, ENUM(phx_re_relationship), \
	  KEY(relationship, CHOICE, "same", \
	      "Of the service provider to the resource provider; same: one person is both; " \
	      "business: whatever setup_policy says, no node comes to the RE from another " \
	      "owner, or leaves it for one, but erased, from a reset. See OWNERS.")) \
	F(S, type, ENUM(phx_re_type), KEY(type, CHOICE, "parallel_batch_jobs", "Its workload.")) \
	F(S, coordination, ENUM(phx_re_coordination), \
	  KEY(coordinated_RE, CHOICE, "none", \
	      "With whom it shares nodes. none (or no): with nobody; own (or yes): with an RE of " \
	      "the same owner; other: with an RE of anybody who consents likewise.")) \
	F(S, partner, STR(PHX_NAME_MAX), \
	  KEY(partner, NAME, "", \
	      "The RE to share with. Without it, the first RE of the other type that allows it " \
	      "is found when this one is activated.")) \
	F(S, role, STR(PHX_NAME_MAX), \
	  KEY(role, NAME, "", \
	      "What its nodes run. Default: batch-compute or web-server, by the type; of " \
	      "many_tasks " \
	      "batch-compute.")) \
	F(S, operating_system, STR(PHX_NAME_MAX), \
	  KEY(operating_system, TEXT(1, 63), "", \
	      "The operating system asked for, its type and, if it matters, its version: " \
	      "\"debian 12\". See IMAGES. Default: the role's.")) \
	F(S, image, STR(PHX_NAME_MAX), \
	  KEY(image, NAME, "", \
	      "The image that its nodes run, one of phx image list. See IMAGES. Default: the " \
	      "role's.")) \
	F(S, image_version, STR(PHX_NAME_MAX), \
	  KEY(image_version, NAME, "", \
	      "And the version of the image. Default: the newest when the RE is asked for.")) \
	/* of the chosen image; "": the role's, as in older journals */ \
	F(S, image_digest, STR(65)) \
	F(S, image_kernel, STR(PHX_RELEASE_MAX)) /* as of a role */ \
	/* enum phx_policy_id */ \
	F(S, model, ENUM(phx_policy), \
	  KEY(resource_coordination_model, CHOICE, "fb", \
	      "The rule by which it gets and returns nodes: fb has fixed bounds, flb-nub a fixed " \
	      "lower bound and no upper bound, dr is that of DawningCloud; phx policy list tells " \
	      "of each. Partners have one model. Default: fb, of many_tasks dr.")) \
	/* rigid: these nodes are held or reserved as long as the RE is active */ \
	F(S, lower, U32, \
	  KEY(lower_bound_size, NUMBER(0, 65536, "nodes"), "", \
	      "The one field that has no default. Nodes that are guaranteed, to it or its " \
	      "partner. See BOUNDS.")) \
	/* flexible: between the bounds nodes are lent out while idle and come back on demand */ \
	F(S, upper, U32, \
	  KEY(upper_bound_size, BOUND(65536), "", \
	      "Nodes that it may have; none or null: no limit. See BOUNDS. Default: none.")) \
	F(S, replace_after_s, U32, \
	  KEY(replace_after, TIME(0, UINT32_MAX), "5m", \
	      "For how long a node of the RE may be off, silent or starting again before another " \
	      "one takes its place, at most 366 days; 0s: at once. See NODES THAT ARE NOT " \
	      "HEARD.")) \
	F(S, needs_check_s, U32, \
	  KEY(needs_check, TIME(0, UINT32_MAX), "0s", \
	      "It gets only nodes that passed a check (phx node check) of processors, memory and " \
	      "each of their disks no longer ago than this, at most 366 days; 0s: whether they " \
	      "did or not. A node that it has stays when its check grows older.")) \
	/* policy parameters: phx_agreement_params() */ \
	F(S, lease_s, U32, \
	  KEY(lease, TIME(0, UINT32_MAX), "1h", \
	      "Time unit of leasing (fb: idle nodes go to batch so often; dr: how long a lease " \
	      "lasts).")) \
	F(S, cycle_s, U32, \
	  KEY(cycle, TIME(0, UINT32_MAX), "60s", \
	      "dr: how often the manager checks and schedules (S). Default: 60s, of many_tasks " \
	      "1s.")) \
	F(S, u_milli, U32, KEY(request_threshold, FRACTION, "1.2", "flb-nub: U.")) \
	F(S, v_milli, U32, KEY(release_threshold, FRACTION, "0.2", "flb-nub: V.")) \
	F(S, g_milli, U32, KEY(elastic_factor, FRACTION, "0.5", "flb-nub: G.")) \
	F(S, r_milli, U32, KEY(obtain_threshold, FRACTION, "1.5", "dr: R.")) \
	/* reading 16 */ \
	F(S, release_own, BOOL, \
	  KEY(release_own, YES, "false", "dr: a lease releases idle nodes of its own only.")) \
	/* reading 16 */ \
	F(S, obtain_by_idle, BOOL, \
	  KEY(obtain_by_idle, YES, "false", \
	      "dr: what is idle is subtracted from the queue, not what is held.")) \
	/* reading 10 */ \
	F(S, return_full, BOOL, \
	  KEY(return_full, YES, "false", \
	      "fb, coop2008: batch returns all that the web asks for, not the shortfall.")) \
	/* batch */ \
	F(S, engine, ENUM(phx_re_engine), \
	  KEY(engine, CHOICE, "builtin", \
	      "Who runs the jobs of a batch RE. builtin: jobs are submitted by phx job submit, " \
	      "agents start them; slurm: jobs are submitted by sbatch, see SLURM below.")) \
	/* older agreements may have a path, of which the last part counts */ \
	F(S, slurm_conf, STR(200), \
	  KEY(slurm_conf, TEXT(1, 199), "", \
	      "With engine slurm: the name of the Slurm that runs the jobs of this RE. NAME " \
	      "stands for NAME.conf in the slurm_dir of phoenix.conf(5) (/etc/phoenix/slurm), " \
	      "where the resource provider has put it; a path is refused. Default: the head's " \
	      "own, /etc/slurm/slurm.conf.")) \
	F(S, scheduler, ENUM(phx_scheduler), \
	  KEY(scheduler, CHOICE, "first-fit", "Of a batch RE: in which order its jobs start.")) \
	F(S, kill_order, ENUM(phx_kill_order), \
	  KEY(kill_order, CHOICE, "smallest-latest", \
	      "Whose job ends first when nodes must be returned.")) \
	F(S, no_requeue, BOOL, KEY(no_requeue, YES, "false", "Killed jobs are not queued again.")) \
	/* false in older journals: all jobs end */ \
	F(S, keep_jobs, BOOL, \
	  KEY(keep_jobs, YES, "false", \
	      "Jobs outlive a deactivation: those that run get their checkpoint signal, end as " \
	      "when " \
	      "nodes are returned, and wait with the others until the RE is activated again. See " \
	      "DEACTIVATION.")) \
	F(S, kill_grace_s, U32, \
	  KEY(kill_grace, TIME(0, UINT32_MAX), "5s", \
	      "From SIGTERM to SIGKILL, for jobs that were submitted without a --grace; at most " \
	      "1h.")) \
	/* many tasks */ \
	F(S, data_directory, STR(200), \
	  KEY(data_directory, TEXT(1, 199), "", \
	      "Of an RE for workflows: the directory that all its nodes share, absolute, below " \
	      "which tasks find their files. Default: one of each node by itself, which is " \
	      "enough " \
	      "where an RE has one node, or tasks have no files.")) \
	F(S, data_max_mb, U32, \
	  KEY(data_max_mb, NUMBER(0, 1073741824, "MiB"), "0", \
	      "So much its data directory on the head may hold, directories of its users " \
	      "included; 0: data_max_mb of phoenix.conf(5).")) \
	/* web */ \
	F(S, window_s, U32, \
	  KEY(window, TIME(0, UINT32_MAX), "20s", \
	      "Of a web RE: the time over which the mean use of its instances is taken. Use is " \
	      "the CPU time of the services of the role, with all that they start, against all " \
	      "CPUs of the node, or against cpu_milli of the role. phx re show tells it, or why " \
	      "it is not known; phx re activate warns where it cannot be measured.")) \
	F(S, threshold_milli, U32, \
	  KEY(threshold, FRACTION, "0.8", \
	      "Of a web RE: mean use above it adds an instance; use below threshold x (n - 1) / " \
	      "n removes one.")) \
	/* 0, as in older journals: as many as its lower bound */ \
	F(S, initial, U32, \
	  KEY(initial_instances, NUMBER(0, 65536, "instances"), "", \
	      "Of a web RE: how many instances it begins with when it is activated, before any " \
	      "use is measured, never fewer than its lower bound; 0: as many as that. Default: " \
	      "2, within its bounds.")) \
	F(S, address, STR(16), \
	  KEY(address, NAME, "", \
	      "Of a web RE: the virtual address of its service, IPv4, on the director and on " \
	      "each of its nodes, whatever their role says (web in phoenix-role(5)): so that " \
	      "several web REs share roles and one director. No two REs have the same address " \
	      "and port. Default: the role's.")) \
	F(S, addresses, STR(PHX_WEB_ADDRESSES_TEXT_MAX), \
	  KEY(addresses, TEXT(1, 127), "", \
	      "Of a web RE: instead of address several of them, at most 8, with blanks or commas " \
	      "between them. Each is held by another director, as far as there are so many, and " \
	      "the name of the RE stands for all of them. See DIRECTORS.")) \
	/* 0: 80; an agreement without an address uses its role's port */ \
	F(S, port, U32, \
	  KEY(port, NUMBER(1, 65535), "", \
	      "Of a web RE: the port at that address. Default: 80; without an address the " \
	      "role's.")) \
	/* what happens to nodes at grant and reclaim; files have three keys for it: \
	 * config/agreement.c */ \
	F(S, setup, REC(phx_setup)) \
	F(S, noop_between_owners, BOOL, \
	  KEY(noop_between_owners, YES, "false", \
	      "A node that passes between REs of two owners is wiped if one of both agreements " \
	      "wants it. With this set in both, it is left as it is where one of them asks for " \
	      "noop, and given a new key (phxd(8)): for owners who trust each other.")) \
	F(S, start_ahead, BOOL, \
	  KEY(start_ahead, YES, "false", \
	      "With this in the agreements of both partners, nodes of the RE with jobs run the " \
	      "services of the web RE ahead of a hand-over. See STARTED AHEAD.")) \
	F(S, extensions, LIST(phx_re_extension))
PHX_RECORD_STRUCT(phx_agreement, PHX_AGREEMENT_FIELDS);

/** An agreement with every default in place (tables of the papers: L 3600 s, U 1.2, V 0.2, G 0.5, R
 * 1.5, S 60 s, W 20 s, T 0.8); batch, FB, not coordinated. Parameters that the model does not use
 * have no effect while they have their default. */
void phx_agreement_init(struct phx_agreement *a);
/** Does the list (`users` or `groups` of an agreement) contain `name`, or "*" (all)? */
bool phx_agreement_lists(const char *list, const char *name);
/** Is the service provider the resource provider himself? */
bool phx_agreement_one_person(const struct phx_agreement *a);
/** Sets what the relationship requires, whatever the agreement says. Only for an agreement that is
 * checked and new: older ones stay as they are. True: something changed. Safe twice. */
bool phx_agreement_settle(struct phx_agreement *a);
/** Is this user of the head the owner? In old journals an owner without a kind is a user. */
bool phx_agreement_is_of_user(const struct phx_agreement *a, const char *user);
/** Is a user of the head a member: the owner, or named by the agreement, himself or by `group`, one
 * of his groups ("": none)? Members submit jobs, stage files and may see the RE. In `users`, a name
 * without a kind is a user's. */
bool phx_agreement_has_member(const struct phx_agreement *a, const char *user, const char *group);
/** Is this identity (with its kind) the owner, or in the list of users? */
bool phx_agreement_names(const struct phx_agreement *a, const char *identity);
/** Is the image `image` of the requested operating system (debian, "debian 12")? Names of images
 * begin with both parts: debian-12, debian-12-gpu. "": any image is. */
bool phx_agreement_is_system(const char *operating_system, const char *image);
/** Virtual address `i` of the RE; false: it has no such. */
bool phx_agreement_address(const struct phx_agreement *a, uint32_t i,
			   char ret[PHX_WEB_ADDRESS_MAX]);
/** Port of the RE's virtual addresses. */
uint32_t phx_agreement_port(const struct phx_agreement *a);
/** The least number of instances of a web RE, whatever is measured; and the number that it begins
 * with. */
uint32_t phx_agreement_least(const struct phx_agreement *a);
uint32_t phx_agreement_begins(const struct phx_agreement *a);
/** The default of initial_instances for an agreement of this kind. */
uint32_t phx_agreement_initial(const struct phx_agreement *a);
/** The defaults of the model and of the cycle for an agreement of this kind; the latter depends on
 * the agreement's model. */
int phx_agreement_model(const struct phx_agreement *a);
uint32_t phx_agreement_cycle(const struct phx_agreement *a);
/** The most nodes that the RE may have by itself; 0 = no bound. The lower bound, if the model has
 * equal bounds. */
uint32_t phx_agreement_upper(const struct phx_agreement *a);
/** Checks one agreement by itself: bounds, ranges, fields that the model or the type does not use.
 * Calls `found` (may be NULL) with (field, text) for each finding; returns their number. */
typedef void (*phx_agreement_found_fn)(void *arg, const char *field, const char *text);
unsigned phx_agreement_check(const struct phx_agreement *a, phx_agreement_found_fn found,
			     void *arg);
/** The same for a new agreement: a path as slurm_conf, which older agreements may still have, is a
 * finding, too. */
unsigned phx_agreement_check_new(const struct phx_agreement *a, phx_agreement_found_fn found,
				 void *arg);
/** Do two agreements with engine slurm mean the same Slurm? */
bool phx_agreement_same_slurm(const struct phx_agreement *a, const struct phx_agreement *b);
/** May the two be a coordinated pair, in either order? One must have jobs and the other a demand
 * (types/re_kind.h); both want coordination; each names the other or no partner; they have one
 * model, and one owner if either of them insists on it. 0, or -EINVAL with a text. */
int phx_agreement_check_pair(const struct phx_agreement *a, const struct phx_agreement *b,
			     struct phx_err *err);
/** The parameters for the policy. Times that the model does not use are 0, so only DR and
 * Evangelinos have a scheduling cycle, and all others schedule by events (reading 5). In a pair,
 * those of the RE with jobs apply. */
struct phx_policy_params phx_agreement_params(const struct phx_agreement *a);

#endif
