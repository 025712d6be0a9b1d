/* Core state: everything phxd knows that must survive it. State is what you
 * get by applying the journal. Pure; described by records, so that snapshot,
 * journal and API come from the same tables. */
#ifndef PHX_CORE_STATE_H
#define PHX_CORE_STATE_H

#include "node/node.h"

#define PHX_POOL_FREE "free"

struct phx_pool {
	char name[PHX_NAME_MAX];
	char owner[PHX_NAME_MAX];
	struct phx_setup setup;
};
extern const struct phx_record phx_pool_record;

struct phx_settings {
	bool auto_assign;	   /* rules.conf deploys accepted nodes by itself */
	uint32_t missing_after_ms; /* silence after which a node is missing */
	uint32_t repairs_max;	   /* per plan */
	bool power_off_quarantined;
	char image_deploy[PHX_NAME_MAX];
};
extern const struct phx_record phx_settings_record;

enum phx_job_state { PHX_JOB_QUEUED, PHX_JOB_RUNNING, PHX_JOB_DONE, PHX_JOB_FAILED, PHX_JOB_CANCELLED };
extern const struct phx_enum phx_job_state_names;

/** One node's part of a job. */
struct phx_job_part {
	char node[PHX_NAME_MAX];
	bool ended;
	int64_t status; /* exit status; 128 + signal */
};
extern const struct phx_record phx_job_part_record;

struct phx_job {
	uint64_t id;
	int state;
	uint32_t nodes; /* wanted */
	uint32_t uid, gid;
	char user[PHX_NAME_MAX];
	bool cancel; /* asked for */
	bool broken; /* a part failed: the others are told to end */
	int64_t submitted_ms, started_ms, ended_ms;
	int64_t status;		 /* the worst part's */
	struct phx_list argv;	 /* struct phx_word */
	struct phx_list parts;	 /* struct phx_job_part */
};
extern const struct phx_record phx_job_record;

struct phx_state {
	uint64_t seq;	   /* of the last applied event */
	int64_t now_ms;	   /* of the last applied event: never goes back */
	uint64_t last_step_id;
	uint64_t last_job_id;
	uint32_t last_node_number;
	struct phx_settings settings;
	struct phx_list pools; /* struct phx_pool; "free" is always there */
	struct phx_list roles; /* struct phx_role */
	struct phx_list rules; /* struct phx_rule */
	struct phx_list nodes; /* struct phx_node, by number */
	struct phx_list jobs;  /* struct phx_job */
};
extern const struct phx_record phx_state_record;

/** Zeroed state with the free pool and default settings. */
int phx_state_init(struct phx_state *s);
void phx_state_fini(struct phx_state *s);

struct phx_node *phx_state_node(const struct phx_state *s, const char *name);
struct phx_node *phx_state_node_by_mac(const struct phx_state *s, const char *mac);
struct phx_pool *phx_state_pool(const struct phx_state *s, const char *name);
struct phx_role *phx_state_role(const struct phx_state *s, const char *name);
struct phx_job *phx_state_job(const struct phx_state *s, uint64_t id);

/** Invariants of faults.md that hold after every event; -EPROTO with the first that does not. For tests and for
 * the daemon's start. */
int phx_state_check(const struct phx_state *s, struct phx_err *err);

#endif
