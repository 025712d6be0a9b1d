/* The RE agreement (000 4.1, Fig. 3): what a service provider asks for and the
 * resource provider grants. Typed; read from libconfig or the papers' XML by
 * lib/config, kept in core state. Pure. */
#ifndef PHX_TYPES_AGREEMENT_H
#define PHX_TYPES_AGREEMENT_H

#include "base/key.h"
#include "types/setup.h"
#include "policy/policy.h"

enum phx_re_relationship { PHX_RE_SAME, PHX_RE_AFFILIATED, PHX_RE_BUSINESS };
/** Its workload, and so its kind of RE (kind.h). */
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

#define PHX_AGREEMENT_FIELDS(F, S) \
	F(S, name, STR(PHX_NAME_MAX), \
	  KEY(name, NAME, "", "Of the RE; its pool has that name too. Default: the file's name.")) \
	F(S, owner, STR(PHX_NAME_MAX), \
	  KEY(owner, NAME, "", "The service provider. Default: whoever asks for the RE.")) \
	F(S, relationship, ENUM(phx_re_relationship), \
	  KEY(relationship, CHOICE, "same", "Of the service provider to the resource provider.")) \
	F(S, type, ENUM(phx_re_type), KEY(type, CHOICE, "parallel_batch_jobs", "Its workload.")) \
	F(S, coordination, ENUM(phx_re_coordination), \
	  KEY(coordinated_RE, CHOICE, "none", \
	      "Whether it shares nodes with an RE of its own owner, or of any that consents " \
	      "likewise.")) \
	F(S, partner, STR(PHX_NAME_MAX), \
	  KEY(partner, NAME, "", "The RE to share with; empty: to be found at the activation.")) \
	F(S, role, STR(PHX_NAME_MAX), \
	  KEY(role, NAME, "", "What its nodes run. Default: what its type of workload wants.")) \
	F(S, image, STR(PHX_NAME_MAX), \
	  KEY(image, NAME, "", "The operating system asked for. Default: the role's.")) \
	F(S, image_version, STR(PHX_NAME_MAX), KEY(image_version, NAME, "", "And its version.")) \
	/* enum phx_policy_id */ \
	F(S, model, ENUM(phx_policy), \
	  KEY(resource_coordination_model, CHOICE, "fb", \
	      "The rule by which it gets and returns nodes; partners have one.")) \
	/* rigid: these nodes are held or reserved as long as the RE is active */ \
	F(S, lower, U32, \
	  KEY(lower_bound_size, NUMBER(0, 65536, "nodes"), "", \
	      "Nodes that are guaranteed, to it or its partner.")) \
	/* flexible: between the bounds nodes are lent out while idle and come back on demand */ \
	F(S, upper, U32, \
	  KEY(upper_bound_size, BOUND(65536), "", "Nodes that it may have; 0: no limit.")) \
	F(S, replace_after_s, U32, \
	  KEY(replace_after, TIME(0, UINT32_MAX), "5m", \
	      "A node that is not heard for so long is replaced, and cleaned when it comes; 0: " \
	      "at once.")) \
	/* policy parameters: phx_agreement_params() */ \
	F(S, lease_s, U32, KEY(lease, TIME(0, UINT32_MAX), "1h", "L, C: time unit of leasing.")) \
	F(S, cycle_s, U32, \
	  KEY(cycle, TIME(0, UINT32_MAX), "60s", \
	      "S of dr: how often the manager checks and schedules.")) \
	F(S, u_milli, U32, KEY(request_threshold, FRACTION, "1.2", "U of flb-nub.")) \
	F(S, v_milli, U32, KEY(release_threshold, FRACTION, "0.2", "V of flb-nub.")) \
	F(S, g_milli, U32, KEY(elastic_factor, FRACTION, "0.5", "G of flb-nub.")) \
	F(S, r_milli, U32, KEY(obtain_threshold, FRACTION, "1.5", "R of dr.")) \
	/* reading 16 */ \
	F(S, release_own, BOOL, \
	  KEY(release_own, YES, "false", "dr: a lease releases idle nodes of its own only.")) \
	/* reading 16 */ \
	F(S, obtain_by_idle, BOOL, \
	  KEY(obtain_by_idle, YES, "false", \
	      "dr: what is idle is subtracted from the queue, not what is owned.")) \
	/* reading 10 */ \
	F(S, return_full, BOOL, \
	  KEY(return_full, YES, "false", \
	      "fb, coop2008: batch returns all that the web asks for, not the shortfall.")) \
	/* batch */ \
	F(S, engine, ENUM(phx_re_engine), KEY(engine, CHOICE, "builtin", "Who runs its jobs.")) \
	/* older agreements may hold a path, whose last part counts */ \
	F(S, slurm_conf, STR(200), \
	  KEY(slurm_conf, TEXT(1, 199), "", \
	      "Engine slurm: the name of what the resource provider has put on the head.")) \
	F(S, scheduler, ENUM(phx_scheduler), \
	  KEY(scheduler, CHOICE, "first-fit", "In which order jobs start.")) \
	F(S, kill_order, ENUM(phx_kill_order), \
	  KEY(kill_order, CHOICE, "smallest-latest", \
	      "Whose job ends first when nodes must be returned.")) \
	F(S, no_requeue, BOOL, KEY(no_requeue, YES, "false", "Killed jobs are not queued again.")) \
	F(S, kill_grace_s, U32, \
	  KEY(kill_grace, TIME(0, UINT32_MAX), "5s", \
	      "From SIGTERM to SIGKILL, for jobs that ask for nothing else.")) \
	/* web */ \
	F(S, window_s, U32, \
	  KEY(window, TIME(0, UINT32_MAX), "20s", \
	      "W: over which the use of its instances is measured.")) \
	F(S, threshold_milli, U32, \
	  KEY(threshold, FRACTION, "0.8", "T: the use above which one is added.")) \
	F(S, address, STR(16), \
	  KEY(address, NAME, "", \
	      "The virtual address of its service, IPv4. Default: the role's.")) \
	/* 0: 80; an agreement without an address uses its role's port */ \
	F(S, port, U32, KEY(port, NUMBER(1, 65535), "", "The port at that address.")) \
	/* cleaning at grant and reclaim; files hold it as three keys: config/agreement.c */ \
	F(S, setup, REC(phx_setup)) \
	F(S, noop_between_owners, BOOL, \
	  KEY(noop_between_owners, YES, "false", \
	      "Consents to noop with REs of other owners that consent too.")) \
	F(S, extensions, LIST(phx_re_extension))
PHX_RECORD_STRUCT(phx_agreement, PHX_AGREEMENT_FIELDS);

/** An agreement with every default in place (tables of the papers: L 3600 s, U 1.2, V 0.2, G 0.5, R
 * 1.5, S 60 s, W 20 s, T 0.8); batch, FB, not coordinated. Parameters that the model does not use
 * have no effect while they have their default. */
void phx_agreement_init(struct phx_agreement *a);
/** Port of the RE's virtual address. */
uint32_t phx_agreement_port(const struct phx_agreement *a);
/** The most nodes that the RE may have by itself; 0 = no bound. Its lower bound, where the model
 * makes both bounds the same. */
uint32_t phx_agreement_upper(const struct phx_agreement *a);
/** Findings on one agreement by itself: bounds, values out of range, fields that the model or the
 * type does not use. Calls `found` (may be NULL) for each (field, text); returns how many. */
typedef void (*phx_agreement_found_fn)(void *arg, const char *field, const char *text);
unsigned phx_agreement_check(const struct phx_agreement *a, phx_agreement_found_fn found,
			     void *arg);
/** As phx_agreement_check(), for an agreement that is asked for now: a path as slurm_conf, which
 * older agreements may still hold, is a finding too. */
unsigned phx_agreement_check_new(const struct phx_agreement *a, phx_agreement_found_fn found,
				 void *arg);
/** Do two agreements with engine slurm mean the same Slurm? */
bool phx_agreement_same_slurm(const struct phx_agreement *a, const struct phx_agreement *b);
/** May the two be a coordinated pair, in any order? One has jobs and one a demand
 * (types/re_kind.h), both want coordination, each names the other or no partner, they have one
 * owner where one of them insists on it, and one model. 0, or -EINVAL with a text. */
int phx_agreement_check_pair(const struct phx_agreement *a, const struct phx_agreement *b,
			     struct phx_err *err);
/** The parameters as the policy takes them. Times that the model does not use are 0, so only DR and
 * Evangelinos have a scheduling cycle, and all others schedule by events (reading 5). Those of the
 * RE with jobs hold for a pair. */
struct phx_policy_params phx_agreement_params(const struct phx_agreement *a);

#endif
