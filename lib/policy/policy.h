/* Resource-management policies: how nodes move between the free pool, a batch
 * RE and its coordinated web RE (000 5, 001 II-B, 003 3.5, and the baselines
 * they are compared with). A policy is one file and one row of policy.def. It
 * sees counts and answers with wishes; lib/ledger turns wishes into grants,
 * reclaims and kills, as far as bounds allow. Pure; integers only, ratios in
 * thousandths. */
#ifndef PHX_POLICY_POLICY_H
#define PHX_POLICY_POLICY_H

#include "base/util.h"

enum phx_policy_id {
#define POLICY(name, ...) PHX_POLICY_##name,
#include "policy/policy.def"
#undef POLICY
	PHX_POLICY_COUNT_
};
/* "dcs", "fb", "flb-nub", "coop2008", "dr", "ec2-rightscale", "deelman", "evangelinos" */
extern const struct phx_enum phx_policy_names;

/** Parameters by the papers' letters; a policy's row names those it uses. */
struct phx_policy_params {
	int64_t lease_ms; /* L (000), C (003): lease time unit; 0 = at once */
	int64_t cycle_ms; /* S (003): check and scheduling cycle; 0 = event-driven */
	uint32_t u_milli; /* U: request threshold */
	uint32_t v_milli; /* V: release threshold */
	uint32_t g_milli; /* G: elastic factor */
	uint32_t r_milli; /* R: threshold ratio of obtaining */
	/* DR: a lease may release any idle dynamic node, not only its own (policies.md, reading
	 * 16) */
	bool release_pool;
	bool release_by_idle; /* DR: obtain Q - idle, not Q - owned (reading 16) */
	bool return_full;     /* FB: reclaim the whole request, not the shortfall (reading 10) */
};

/** Where nodes are: in the free pool, or with one of the sides that coordinate. The kind of an RE
 * says which side it is. */
enum phx_policy_place { PHX_PLACE_FREE, PHX_PLACE_BATCH, PHX_PLACE_WEB, PHX_PLACE_COUNT_ };

/** One of the coordinating sides, as a policy sees it. */
struct phx_policy_side {
	bool there;     /* the RE exists and is active */
	uint32_t owned; /* idle + busy */
	uint32_t idle;
	uint32_t coming;          /* granted, on the way */
	uint32_t owed;            /* must be given back, but not idle yet */
	uint32_t lower, upper;    /* bounds; upper UINT32_MAX = none */
	uint32_t want;            /* web: instances wanted now */
	uint64_t waiting_nodes;   /* batch: Q */
	uint32_t waiting_biggest; /* batch: big */
	uint32_t n_waiting;
};

struct phx_policy_view {
	int64_t now_ms;
	bool unlimited; /* the provider grants whatever is asked (public cloud) */
	uint32_t free;  /* nodes this pair could be granted now without another's reservation */
	/* nodes within this pair's bounds that others hold by grace: they come back on demand (000
	 * Fig. 2) */
	uint32_t lent;
	struct phx_policy_side side[PHX_PLACE_COUNT_]; /* PHX_PLACE_FREE: not used */
};

/** Why nodes move; one row each in reason.def (name, sentence for `phx events`). */
enum phx_policy_reason {
#define REASON(name, ...) PHX_REASON_##name,
#include "policy/reason.def"
#undef REASON
	PHX_REASON_COUNT_
};
extern const struct phx_enum phx_policy_reason_names;
/** The sentence of a reason; "?" outside the table. */
const char *phx_policy_reason_text(int reason);

/** A wish to move n nodes. BATCH → WEB is a forced return: idle nodes go first, then jobs are
 * killed. */
struct phx_policy_move {
	int from, to; /* enum phx_policy_place */
	uint32_t n;
	int reason;  /* enum phx_policy_reason */
	bool forced; /* jobs may be killed for it */
	bool lease;  /* open a lease of n nodes, which ends lease_ms later (003 3.5) */
};
#define PHX_POLICY_MOVES_MAX 8
struct phx_policy_moves {
	struct phx_policy_move move[PHX_POLICY_MOVES_MAX];
	uint32_t n;
};

/** What a policy wishes on each occasion; NULL = nothing. Wishes are done in their order. */
struct phx_policy {
	const char *name, *text, *source; /* source: paper and section */
	const char *params;               /* letters it uses: "L", "U V G L", "R S C" */
	/* each job leases its own nodes for whole units (000 6.6.1; Deelman) */
	bool per_job_lease;
	bool fixed;       /* nodes never move (DCS, Evangelinos) */
	bool same_bounds; /* both bounds of an RE are the same: its lower one */
	bool no_upper;    /* an RE has no upper bound */
	/* L may be 0: then there is no timer, and its work is done at once */
	bool lease_optional;
	/* one cluster of fixed size: the web takes what it lacks from its batch partner */
	bool shares_cluster;
	/* true: each RE holds its own lower bound, and missing nodes are replaced as nodes come
	 * free. false: the pair holds the sum, which the policy's timers or the web's wishes
	 * refill. */
	bool keeps_lower;
	void (*start)(const struct phx_policy_params *p, const struct phx_policy_view *v,
		      struct phx_policy_moves *ret);
	/** The web RE wants k more nodes. */
	void (*web_request)(const struct phx_policy_params *p, const struct phx_policy_view *v,
			    uint32_t k, struct phx_policy_moves *ret);
	/** The web RE gives k nodes back. */
	void (*web_release)(const struct phx_policy_params *p, const struct phx_policy_view *v,
			    uint32_t k, struct phx_policy_moves *ret);
	/** There are free nodes after an event (coop2008: they go to batch at once). */
	void (*freed)(const struct phx_policy_params *p, const struct phx_policy_view *v,
		      struct phx_policy_moves *ret);
	/** Every lease_ms (RPS timer and PBJ adjust timer of 000, in this order). */
	void (*lease_unit)(const struct phx_policy_params *p, const struct phx_policy_view *v,
			   struct phx_policy_moves *ret);
	/** Every cycle_ms, before the scheduling pass (003 3.5). */
	void (*cycle)(const struct phx_policy_params *p, const struct phx_policy_view *v,
		      struct phx_policy_moves *ret);
	/** A lease of `size` nodes ends, `idle_of_lease` of its own nodes are idle. Returns how
	 * many nodes to release now; the rest is leased again. */
	uint32_t (*lease_end)(const struct phx_policy_params *p, const struct phx_policy_view *v,
			      uint32_t size, uint32_t idle_of_lease);
};
const struct phx_policy *phx_policy(enum phx_policy_id id);

#endif
