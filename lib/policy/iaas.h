/* Provisioning policies of the IaaS study (002 3.1): when to lease nodes from a
 * provider and when to release them, for tasks that need one node each. A
 * policy is one file and one row of provisioning.def. It sees a view and answers
 * with a wish; the model (lib/iaas/iaas.c) leases and releases. Pure; integers
 * only, times in milliseconds.
 *
 * Occasions: start (before the first task), change (tasks came or ended, nodes
 * became ready or have been idle for the idle time; after the allocation of
 * that instant), tick (every control period, 20 s in 002). After the last task
 * the experiment ends and everything is released: no policy decides that. */
#ifndef PHX_POLICY_IAAS_H
#define PHX_POLICY_IAAS_H

#include "base/util.h"

enum phx_provisioning {
#define PROVISIONING(id, ...) PHX_PROVISIONING_##id,
#include "policy/provisioning.def"
#undef PROVISIONING
	PHX_PROVISIONING_COUNT_
};
extern const struct phx_enum phx_provisioning_names; /* "startup", "od-s", ... */

/** Class of a task, and of the pool of nodes that serves it (002 3.2, FCFS-2Q). With one pool all
 * tasks are short. */
enum phx_iaas_class { PHX_IAAS_SHORT, PHX_IAAS_LONG, PHX_IAAS_CLASS_COUNT_ };

enum { PHX_IAAS_NEIGHBOURS_MAX = 16 };
/** The longest time of a task or a parameter: sums over a queue stay within 64 bits. */
#define PHX_IAAS_TIME_MAX_MS (366 * INT64_C(86400000))

/** Parameters; a policy's row names those it uses. */
struct phx_iaas_params {
	/* a node idle for so long is released, by pool; 0 = at once */
	int64_t idle_ms[PHX_IAAS_CLASS_COUNT_];
	/* time to lease and boot a node, until one was observed */
	int64_t boot_ms;
	/* run time of a task before one has ended (od-execavg, od-execkn) */
	int64_t guess_ms;
	uint32_t growth; /* n of od-g, at least 2 */
	/* queued work must exceed this many mean boots; 5 in 002 */
	uint32_t factor;
	/* k of od-execkn, 1 to PHX_IAAS_NEIGHBOURS_MAX; 002 gives none, we take 5 */
	uint32_t neighbours;
	/* od-g: true: the number of nodes grows and shrinks (002 5.4); false: it restarts at 1
	 * (3.1) */
	bool adaptive;
};
/** The parameters of 002, as far as the paper gives them: idle 600 s and 30 s (5.3), factor 5,
 * growth 2, boot 600 s. */
void phx_iaas_params_default(struct phx_iaas_params *ret);
/** -EINVAL with a text that names the parameter. */
int phx_iaas_params_check(const struct phx_iaas_params *p, struct phx_err *err);

/** A task as a policy may see it. */
struct phx_iaas_task {
	int64_t submit_ms;
	int64_t run_ms; /* -1 unless the policy's row says that it knows run times */
	uint64_t input; /* size of its input, for od-execkn; any measure */
};

/** One pool of leased nodes and the tasks that wait for it. */
struct phx_iaas_pool_view {
	uint32_t booting, busy, idle;
	uint32_t expired;      /* nodes that have been idle for the pool's idle_ms or longer */
	const uint32_t *queue; /* waiting tasks in order of submission: indexes into `tasks` */
	uint32_t n_queued;
};

struct phx_iaas_view {
	int64_t now_ms;
	uint32_t max; /* M: nodes that may be leased together, over all pools */
	const struct phx_iaas_task *tasks;
	struct phx_iaas_pool_view pool[PHX_IAAS_CLASS_COUNT_];
};
/** Nodes leased now, booting ones included. */
uint32_t phx_iaas_leased(const struct phx_iaas_view *v);

/** What a policy wants, by pool. The sum of `lease` is at most max - leased. `release` is at most
 * idle: nodes that were idle longest go first. `cancel` is at most booting: nodes that were asked
 * for last go first. */
struct phx_iaas_wish {
	uint32_t lease[PHX_IAAS_CLASS_COUNT_];
	uint32_t release[PHX_IAAS_CLASS_COUNT_];
	uint32_t cancel[PHX_IAAS_CLASS_COUNT_];
};

/** The state that a policy keeps; zero-initialise. */
struct phx_iaas_state {
	uint32_t grow,
		/* od-g: how often it leased or released in a row; with `adaptive`, grow is the
		 * number itself */
		shrink;
	uint32_t n_boots, n_ended;
	int64_t boot_sum_ms, run_sum_ms;
	struct phx_list groups; /* struct phx_iaas_group, by input: od-execkn only */
};
/** Finished tasks of one input size: the run times of the latest. */
struct phx_iaas_group {
	uint64_t input;
	uint32_t n; /* tasks that ended; run_ms[i % PHX_IAAS_NEIGHBOURS_MAX] is the i-th's */
	int64_t run_ms[PHX_IAAS_NEIGHBOURS_MAX];
};
void phx_iaas_state_fini(struct phx_iaas_state *s);

/** A node became ready `boot_ms` after it was asked for. */
void phx_iaas_booted(struct phx_iaas_state *s, int64_t boot_ms);
/** A task ended after running for run_ms. -ENOMEM: nothing was noted. */
int phx_iaas_ended(enum phx_provisioning policy, struct phx_iaas_state *s, uint64_t input,
		   int64_t run_ms);
/** Mean of the boots observed, or boot_ms of the parameters. */
int64_t phx_iaas_boot_mean(const struct phx_iaas_params *p, const struct phx_iaas_state *s);

typedef void (*phx_iaas_rule_fn)(const struct phx_iaas_params *p, const struct phx_iaas_view *v,
				 struct phx_iaas_state *s, struct phx_iaas_wish *ret);

/** The rule for each occasion; NULL = the policy decides nothing then. */
struct phx_iaas_rules {
	phx_iaas_rule_fn start, change, tick;
};

/** One policy: its row and its rules. */
struct phx_iaas_policy {
	const char *name;
	uint32_t n_pools;
	bool knows_run; /* wants exact run times */
	const struct phx_iaas_rules *rules;
};
/** Constant, never NULL. */
const struct phx_iaas_policy *phx_iaas_policy(enum phx_provisioning policy);

#endif
