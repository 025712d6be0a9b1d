/* Core state: all knowledge of phxd that must survive its end. Applying the events
 * of the journal gives the state. Described by records, so that snapshot, journal
 * and API come from the same tables. Pure. */
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

/** How long an agent that does not hear the head goes on with its jobs, unless the settings say
 * otherwise. */
#define PHX_JOB_LEASE_MS 60000

struct phx_settings {
	bool auto_assign;          /* rules.conf deploys accepted nodes by itself */
	uint32_t missing_after_ms; /* silence after which a node is missing */
	uint32_t repairs_max;      /* per plan */
	bool power_off_quarantined;
	char image_deploy[PHX_NAME_MAX];
	/* MiB of a job's output that a node keeps; 0 = the agent's default */
	uint32_t job_output_max_mb;
	/* an agent that does not hear the head for this long ends its jobs; 0 = 60 s */
	uint32_t job_lease_ms;
	/* open jobs of one user, and their stored words in MiB; 0 = no limit */
	uint32_t jobs_per_user, job_mb_per_user;
	/* time after which a quiet web node is taken out of the balancers; 0 = at once */
	uint32_t balance_rest_ms;
};
extern const struct phx_record phx_settings_record;

/** A runtime environment: its agreement and its state. The ledger has its holdings; its pool has
 * its name. */
struct phx_re {
	char name[PHX_NAME_MAX];
	struct phx_agreement agreement;
	int state;          /* enum phx_re_state */
	bool active;        /* the ledger knows it */
	uint32_t number;    /* its number in the ledger, while active */
	bool leaving;       /* a safe deactivation waits for its jobs */
	int64_t asked_ms;   /* time of the request, or of a creation without request */
	uint64_t asked_seq; /* number of that event */
	int64_t created_ms, changed_ms;
	/* its external engine, by its last report (foreign.c) */
	bool attached;     /* the engine may still run jobs on nodes of the RE */
	char trouble[200]; /* why the engine does not answer; it keeps its nodes meanwhile */
	struct phx_list engine_nodes;      /* struct phx_engine_node, by name */
	struct phx_list engine_partitions; /* the same of its partitions: may they take new jobs? */
};
extern const struct phx_record phx_re_record;

/** May an external engine start jobs on a node, or take new jobs in a partition? */
enum phx_engine_node_state {
	PHX_ENGINE_NODE_ABSENT, /* the engine does not know the node, or no more */
	PHX_ENGINE_NODE_OPEN,
	PHX_ENGINE_NODE_CLOSED, /* drained */
};
extern const struct phx_enum phx_engine_node_state_names;

struct phx_engine_node {
	char name[PHX_NAME_MAX];
	int state; /* enum phx_engine_node_state */
	/* CLOSED: by us, so that we may open it; an OPEN partition: we may have ordered its close
	 */
	bool ours;
	/* the engine reported this after the last order for the node, which is done then */
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
	uint64_t cpu_ms; /* CPU time of all its processes; reported with its end */
	/* peak of its control group, or of its largest process if there is no group */
	uint64_t memory_peak_bytes;
	uint64_t output_cut_bytes; /* output that was dropped; reported with its end */
	char address[64];          /* address of its node; only in orders for agents */
	/* its node is not heard: when the part surely has ended; 0 = the node is heard */
	int64_t lost_ms;
};
extern const struct phx_record phx_job_part_record;

struct phx_job {
	uint64_t id;
	int state;
	uint32_t nodes; /* wanted */
	uint32_t uid, gid;
	char user[PHX_NAME_MAX];
	/* the batch RE that it was submitted to; "" = nodes of no RE */
	char re[PHX_NAME_MAX];
	int64_t estimate_ms; /* time limit of its run, from its user; 0 = no limit */
	bool held;           /* waits until a user releases it */
	bool overdue;        /* ran longer than its limit: ends for good */
	bool no_requeue;     /* a killed run is not queued again */
	/* how often it was killed and queued again; the number of its run */
	uint32_t kills;
	uint32_t output_max_mb;     /* setting of the run: job_output_max_mb when it was started */
	uint32_t lease_ms;          /* setting of the run: job_lease_ms when it was started */
	uint32_t grace_ms;          /* from SIGTERM to SIGKILL */
	uint32_t checkpoint_signal; /* sent first when it is to run again; 0 = none */
	uint32_t checkpoint_ms;     /* from there to SIGTERM */
	/* its RE must return nodes, one broke, or one was ordered away: it ends to run again */
	bool killing;
	/* who ended its present or last run early; "" = no person or RE did */
	char killed_by[PHX_NAME_MAX];
	char killed_why[200];
	int64_t killed_ms;
	bool cancel;    /* its cancellation was asked for */
	bool timed_out; /* its time limit ended it */
	bool broken;    /* a part failed: the other parts are told to end */
	int64_t submitted_ms, started_ms, ended_ms;
	int64_t status; /* status of the worst part */
	/* why its last run ended; NULL if it ended well, or its status says enough */
	char *why;
	struct phx_list argv; /* struct phx_text */
	/* struct phx_text, "NAME=value": replaces variables that every job gets */
	struct phx_list env;
	char *script;    /* NULL, or a program text that runs in place of argv[0] */
	char chdir[256]; /* start directory on its nodes; "" = the directory of the run */
	/* struct phx_word: files of the RE's data directory that each of its nodes gets */
	struct phx_list stage_in;
	struct phx_list stage_out; /* struct phx_word: files that come back from its first node */
	struct phx_list parts;     /* struct phx_job_part */
	/* a member of an array; members have consecutive numbers, and only the first has their
	 * words (argv, env, script, files) */
	uint64_t array; /* number of the first member; 0 = no array */
	uint32_t array_index;
	bool throttled; /* waits until another member has ended */
	/* first member: its words count as its user's until the last member has ended */
	bool words_stay;
	/* first member: how many members there are, how many have not ended, which one may start
	 * next */
	uint32_t array_n, array_open, array_next;
	/* name of the job in the external engine that starts and ends it; "" = built-in engine */
	char engine_id[32];
	bool ending; /* in the engine: it ends, and has parts on the nodes it still uses */
	/* in the engine: queued again because of us, so it need not wait for its begin time */
	bool hurry;
	/* in the engine: the time that it waits for, by the engine's clock; 0 = none */
	int64_t begin_ms;
};
extern const struct phx_record phx_job_record;

/** A disk key that belongs to no node any more, and whose destruction is not confirmed yet. */
struct phx_doomed_key {
	char key_id[PHX_NAME_MAX];
	int64_t again_ms; /* when its destruction is asked for again */
};
extern const struct phx_record phx_doomed_key_record;

/** A person's certificate that was revoked. */
struct phx_revoked {
	char serial[64];         /* lower-case hexadecimal digits */
	char name[PHX_NAME_MAX]; /* its owner, if the order named one */
	int64_t at_ms;
};
extern const struct phx_record phx_revoked_record;

struct phx_index; /* state/index.h */

struct phx_state {
	uint64_t seq;   /* number of the last applied event */
	int64_t now_ms; /* time of the last applied event: never goes back */
	/* incarnation of the head that last changed the state; 0 = from before there were any */
	uint64_t incarnation;
	uint64_t last_step_id;
	uint64_t last_job_id;
	uint32_t last_node_number;
	struct phx_settings settings;
	struct phx_list pools;       /* struct phx_pool; "free" is always there */
	struct phx_list roles;       /* struct phx_role */
	struct phx_list formers;     /* struct phx_role: replaced, but nodes still run them */
	struct phx_list rules;       /* struct phx_rule */
	struct phx_list nodes;       /* struct phx_node, by number */
	struct phx_list jobs;        /* struct phx_job, by id */
	struct phx_list doomed_keys; /* struct phx_doomed_key */
	struct phx_list res;         /* struct phx_re */
	struct phx_list revoked;     /* struct phx_revoked, in order of time */
	int64_t refused_ms;          /* when a refused enrolment was last noted */
	/* the node that keeps the virtual addresses as long as it is heard */
	char director[PHX_NAME_MAX];
	struct phx_ledger *ledger; /* NULL until an RE was created */
	/* follows from the other fields, is in no record; NULL until the first event is applied */
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
/** The revoked certificate of this number; NULL: it is not revoked. */
const struct phx_revoked *phx_state_revoked(const struct phx_state *s, const char *serial);
struct phx_job *phx_state_job(const struct phx_state *s, uint64_t id);
/** Place in its list of the first job, or node, with this number or a higher one: for readers that
 * go through a long list in portions. */
uint32_t phx_state_job_place(const struct phx_state *s, uint64_t id);
uint32_t phx_state_node_place(const struct phx_state *s, uint64_t number);
static inline bool phx_job_is_open(const struct phx_job *j)
{
	return j->state == PHX_JOB_QUEUED || j->state == PHX_JOB_RUNNING;
}

/** Check the invariants of faults.md, which hold after every event; -EPROTO with the first that
 * does not. For tests and for the daemon's start. */
int phx_state_check(const struct phx_state *s, struct phx_err *err);

#endif
