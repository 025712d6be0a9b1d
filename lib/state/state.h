/* Core state: everything phxd knows that must survive it. State is what you
 * get by applying the journal. Pure; described by records, so that snapshot,
 * journal and API come from the same tables. */
#ifndef PHX_STATE_STATE_H
#define PHX_STATE_STATE_H

#include "ledger/ledger.h"
#include "types/node.h"
#include "types/re_life.h"

#define PHX_POOL_FREE "free"

#define PHX_POOL_FIELDS(F, S) \
	F(S, name, STR(PHX_NAME_MAX), KEY(name, NAME, PHX_REQUIRED, "Of the pool.")) \
	F(S, owner, STR(PHX_NAME_MAX), KEY(owner, NAME, "", "The service provider.")) \
	F(S, setup, REC(phx_setup), KEY(setup, GROUP, "", "What is done to a node at a hand-over."))
PHX_RECORD_STRUCT(phx_pool, PHX_POOL_FIELDS);

/** How long an agent that hears nothing of the head goes on with its jobs, if nothing else is
 * set. */
#define PHX_JOB_LEASE_MS 60000

struct phx_settings {
	bool auto_assign;          /* rules.conf deploys accepted nodes by itself */
	uint32_t missing_after_ms; /* silence after which a node is missing */
	uint32_t repairs_max;      /* per plan */
	bool power_off_quarantined;
	char image_deploy[PHX_NAME_MAX];
	/* what is kept of a job's output on a node; 0 = what the agent keeps by itself */
	uint32_t job_output_max_mb;
	/* an agent that hears nothing of the head for so long ends its jobs; 0 = 60 s */
	uint32_t job_lease_ms;
	/* open jobs of one user, and their words in MiB; 0 = no limit */
	uint32_t jobs_per_user, job_mb_per_user;
	/* a quiet web node is taken out of the balancers after so long; 0 = at once */
	uint32_t balance_rest_ms;
};
extern const struct phx_record phx_settings_record;

/** A runtime environment: its agreement and where it is in its life. What it holds is in the
 * ledger; its pool has its name. */
struct phx_re {
	char name[PHX_NAME_MAX];
	struct phx_agreement agreement;
	int state;          /* enum phx_re_state */
	bool active;        /* the ledger knows it */
	uint32_t number;    /* by which, while active */
	bool leaving;       /* a safe deactivation waits for its jobs */
	int64_t asked_ms;   /* the request, or the creation without one */
	uint64_t asked_seq; /* that event */
	int64_t created_ms, changed_ms;
	/* of an engine that is not ours, as it was last told of (foreign.c) */
	bool attached;     /* it may still run something on nodes of the RE */
	char trouble[200]; /* it does not answer: why; nothing is taken from it meanwhile */
	struct phx_list engine_nodes;      /* struct phx_engine_node, by name */
	struct phx_list engine_partitions; /* the same of its partitions: may they take new jobs? */
};
extern const struct phx_record phx_re_record;

/** May an engine that is not ours start jobs on a node, or take them in a partition? */
enum phx_engine_node_state {
	PHX_ENGINE_NODE_ABSENT, /* it does not know it, or no more */
	PHX_ENGINE_NODE_OPEN,
	PHX_ENGINE_NODE_CLOSED, /* drained */
};
extern const struct phx_enum phx_engine_node_state_names;

struct phx_engine_node {
	char name[PHX_NAME_MAX];
	int state; /* enum phx_engine_node_state */
	/* CLOSED: by us, so that we may open it; an OPEN partition: we may have told it to close */
	bool ours;
	/* told so since its node was last ordered away: what we said before has been done */
	bool sure;
};
extern const struct phx_record phx_engine_node_record;

enum phx_job_state {
	PHX_JOB_QUEUED,
	PHX_JOB_RUNNING,
	PHX_JOB_DONE,
	PHX_JOB_FAILED,
	PHX_JOB_CANCELLED,
	PHX_JOB_TIMEOUT
};
extern const struct phx_enum phx_job_state_names;

/** One node's part of a job. */
struct phx_job_part {
	char node[PHX_NAME_MAX];
	bool ended;
	int64_t status;  /* exit status; 128 + signal */
	uint64_t cpu_ms; /* used by all its processes; told with its end */
	/* of its control group, or of its largest process where there is none */
	uint64_t memory_peak_bytes;
	uint64_t output_cut_bytes; /* what it wrote beyond what is kept; told with its end */
	char address[64];          /* of its node; in orders for agents alone */
	/* its node is not heard: from then on it surely does not run any more; 0 = it is heard */
	int64_t lost_ms;
};
extern const struct phx_record phx_job_part_record;

struct phx_job {
	uint64_t id;
	int state;
	uint32_t nodes; /* wanted */
	uint32_t uid, gid;
	char user[PHX_NAME_MAX];
	/* the batch RE it was submitted to; "" = the nodes that are in none */
	char re[PHX_NAME_MAX];
	int64_t estimate_ms; /* of its run, by its user: it ends after that; 0 = no limit */
	bool held;           /* waits until it is let go */
	bool overdue;        /* ran for longer than it may: ends for good */
	bool no_requeue;     /* a kill is its end */
	/* how often it was killed and queued again; the number of its run */
	uint32_t kills;
	uint32_t output_max_mb;     /* the same of what it writes */
	uint32_t lease_ms;          /* of this run: the setting when it was started */
	uint32_t grace_ms;          /* from SIGTERM to SIGKILL */
	uint32_t checkpoint_signal; /* sent first when it is to run again; 0 = none */
	uint32_t checkpoint_ms;     /* from there to SIGTERM */
	/* its RE must return nodes, one broke, or one was ordered away: it ends to run again */
	bool killing;
	/* who ended its present or last run before its time; "" = nobody */
	char killed_by[PHX_NAME_MAX];
	char killed_why[200];
	int64_t killed_ms;
	bool cancel;    /* asked for */
	bool timed_out; /* its time limit ended it, and not it itself */
	bool broken;    /* a part failed: the others are told to end */
	int64_t submitted_ms, started_ms, ended_ms;
	int64_t status; /* the worst part's */
	/* of its last run: what ended it, NULL for a good end or what a status says alone */
	char *why;
	struct phx_list argv; /* struct phx_text */
	/* struct phx_text, "NAME=value": beside and before what every job finds */
	struct phx_list env;
	char *script;    /* NULL, or a program text that runs in place of argv[0] */
	char chdir[256]; /* where it starts on its nodes; "" = in a directory of its own */
	/* struct phx_word: files of the RE's data directory that each of its nodes gets */
	struct phx_list stage_in;
	struct phx_list stage_out; /* struct phx_word: files that come back from its first node */
	struct phx_list parts;     /* struct phx_job_part */
	/* a member of an array; its members have numbers in a row, and their words are in the first
	 * one alone */
	uint64_t array; /* the number of the first; 0 = of none */
	uint32_t array_index;
	bool throttled; /* waits until another member has ended */
	/* of the first: its words count as its user's until the last member has ended */
	bool words_stay;
	/* of the first: members, those that have not ended, who is let go next */
	uint32_t array_n, array_open, array_next;
	/* of an engine that is not ours, which starts and ends it: its name there; "" = ours */
	char engine_id[32];
	bool ending; /* there: it ends, its parts are where it still is */
	/* there: queued again because of us, so that it need not wait for its time */
	bool hurry;
	/* there: the time that it waits for, by that engine's clock; 0 = for none */
	int64_t begin_ms;
};
extern const struct phx_record phx_job_record;

/** A disk key that belongs to no node any more and is not yet known to be destroyed. */
struct phx_doomed_key {
	char key_id[PHX_NAME_MAX];
	int64_t again_ms; /* when its destruction is asked for again */
};
extern const struct phx_record phx_doomed_key_record;

/** A person's certificate that counts no more. */
struct phx_revoked {
	char serial[64];         /* lower-case hexadecimal digits */
	char name[PHX_NAME_MAX]; /* whose it was, as far as it was said */
	int64_t at_ms;
};
extern const struct phx_record phx_revoked_record;

struct phx_index; /* state/index.h */

struct phx_state {
	uint64_t seq;   /* of the last applied event */
	int64_t now_ms; /* of the last applied event: never goes back */
	/* of the head that last changed something; 0 = of the time before they were drawn */
	uint64_t incarnation;
	uint64_t last_step_id;
	uint64_t last_job_id;
	uint32_t last_node_number;
	struct phx_settings settings;
	struct phx_list pools;       /* struct phx_pool; "free" is always there */
	struct phx_list roles;       /* struct phx_role */
	struct phx_list formers;     /* struct phx_role: replaced, and still run by nodes */
	struct phx_list rules;       /* struct phx_rule */
	struct phx_list nodes;       /* struct phx_node, by number */
	struct phx_list jobs;        /* struct phx_job, by id */
	struct phx_list doomed_keys; /* struct phx_doomed_key */
	struct phx_list res;         /* struct phx_re */
	struct phx_list revoked;     /* struct phx_revoked, as they were */
	int64_t refused_ms;          /* when a refused enrolment was last told */
	/* the node that has the virtual addresses for as long as it is heard */
	char director[PHX_NAME_MAX];
	struct phx_ledger *ledger; /* NULL until there was an RE */
	/* follows from the rest, in no record; NULL until the first event is applied */
	struct phx_index *index;
};
extern const struct phx_record phx_state_record;

/** Zeroed state with the free pool and default settings. */
int phx_state_init(struct phx_state *s);
void phx_state_fini(struct phx_state *s);

struct phx_node *phx_state_node(const struct phx_state *s, const char *name);
struct phx_node *phx_state_node_by_mac(const struct phx_state *s, const char *mac);
struct phx_pool *phx_state_pool(const struct phx_state *s, const char *name);
struct phx_role *phx_state_role(const struct phx_state *s, const char *name);
struct phx_re *phx_state_re(const struct phx_state *s, const char *name);
/** NULL: the certificate of this number is not revoked. */
const struct phx_revoked *phx_state_revoked(const struct phx_state *s, const char *serial);
struct phx_job *phx_state_job(const struct phx_state *s, uint64_t id);
/** Place in its list of the first job, or node, with this number or one above: for who goes through
 * a long list in portions. */
uint32_t phx_state_job_place(const struct phx_state *s, uint64_t id);
uint32_t phx_state_node_place(const struct phx_state *s, uint64_t number);
static inline bool phx_job_is_open(const struct phx_job *j)
{
	return j->state == PHX_JOB_QUEUED || j->state == PHX_JOB_RUNNING;
}

/** Invariants of faults.md that hold after every event; -EPROTO with the first that does not. For
 * tests and for the daemon's start. */
int phx_state_check(const struct phx_state *s, struct phx_err *err);

#endif
