/* What comes in and what comes of it: events, actions, the outcome of an event. Every event is
 * applied to the state by phx_core_apply() (core/core.h), and told of by drivers, tests and the
 * simulator. Pure. */
#ifndef PHX_STATE_EVENT_H
#define PHX_STATE_EVENT_H

#include "state/state.h"

enum phx_event_kind {
#define EVENT(name, text) PHX_EV_##name,
#include "state/event.def"
#undef EVENT
	PHX_EV_COUNT_
};
extern const struct phx_enum phx_event_kind_names;
/** One phrase for people ("agent registered"). */
const char *phx_event_text(enum phx_event_kind kind);

enum phx_engine_job_state {
	PHX_ENGINE_JOB_WAITING,
	PHX_ENGINE_JOB_HELD, /* waits, and not for nodes */
	PHX_ENGINE_JOB_RUNNING,
	PHX_ENGINE_JOB_ENDING, /* on its nodes still */
	PHX_ENGINE_JOB_DONE,
	PHX_ENGINE_JOB_FAILED,
	PHX_ENGINE_JOB_CANCELLED,
};
extern const struct phx_enum phx_engine_job_state_names;

/** A node that a job has. */
struct phx_engine_host {
	char node[PHX_NAME_MAX];
};
extern const struct phx_record phx_engine_host_record;

/** A job as an engine that is not ours tells of it. */
struct phx_engine_job {
	char id[32]; /* its name there, as people know it */
	char user[PHX_NAME_MAX];
	uint32_t uid;
	int state;                        /* enum phx_engine_job_state */
	uint32_t nodes;                   /* wanted */
	int64_t submitted_ms, started_ms; /* of the present run; by its clock */
	int64_t limit_ms;                 /* 0 = none */
	/* WAITING, HELD: for that time, by its clock; 0 = for something else */
	int64_t begin_ms;
	uint32_t restarts;
	bool no_requeue;       /* cannot run again: a kill is its end */
	int64_t status;        /* exit status of one that ended */
	struct phx_list hosts; /* struct phx_engine_host: RUNNING, ENDING */
};
extern const struct phx_record phx_engine_job_record;

/** What an order says of jobs that it would end. */
enum phx_jobs_say {
	PHX_JOBS_UNSAID, /* nothing: an order from before this was asked, or of the core itself */
	PHX_JOBS_SPARE,  /* refused where one would end */
	PHX_JOBS_NAMED,  /* these may end, and no other */
	PHX_JOBS_ANY,
};
extern const struct phx_enum phx_jobs_say_names;

/** A job by its number. */
struct phx_job_ref {
	uint64_t id;
};
extern const struct phx_record phx_job_ref_record;

/** Indices of an array: from, from + step, ... up to `to`. */
struct phx_index_row {
	uint32_t from, to, step;
};
extern const struct phx_record phx_index_row_record;

/** What ended a run of a job, as its agent tells. */
enum phx_job_ended_by {
	PHX_ENDED_UNKNOWN,
	PHX_ENDED_ITSELF,
	PHX_ENDED_TOLD,
	PHX_ENDED_LIMIT,
	PHX_ENDED_LEASE
};
extern const struct phx_enum phx_job_ended_by_names;

/** One event; which fields count depends on the kind, the rest stay zero and
 * are left out of its JSON. `now_ms` is core time (milliseconds, never going back). */
struct phx_event {
	int kind;
	int64_t now_ms;
	char by[PHX_NAME_MAX]; /* who asked: "uid:0", "node:n1", "phxd" */
	char node[PHX_NAME_MAX];
	/* pool_remove, role_remove; node_accept: new name or ""; enrol: of a machine that nobody
	 * announced; key_result without step: key id */
	char name[PHX_NAME_MAX];
	/* node_add, enrol */
	struct phx_list macs; /* struct phx_mac */
	char serial[64];      /* cert_revoke: the certificate's number; `name` is whose it was */
	char uuid[40];
	char ip[46];
	char token_sha256[65];
	char key_fp[72];
	/* enrol: asked for on the head itself, over loopback or from one of its own addresses */
	bool local;
	bool local_ok;      /* enrol: its configuration lets machines enrol so */
	bool hold;          /* job_hold, job_submit too: held back until let go */
	struct phx_bmc bmc; /* node_add, node_bmc */
	/* node_label */
	struct phx_list labels;  /* struct phx_label: put on, or given another value */
	struct phx_list unlabel; /* struct phx_word: keys taken off, before the others are put on */
	/* hello, back, report, inventory */
	int env;
	char boot_id[40];
	/* hello; enrol: where it came from ("" in journals of before: who asks is known by less
	 * then) */
	char address[64];
	char actual_role[PHX_NAME_MAX];
	char actual_identity[200];
	char system_image[PHX_NAME_MAX];
	char system_digest[65];
	bool healthy;
	struct phx_facts facts;
	/* assign, release, rebuild, wipe, drain, resume */
	char role[PHX_NAME_MAX];
	char pool[PHX_NAME_MAX];
	bool has_setup; /* setup was asked for by hand */
	struct phx_setup setup;
	bool encrypt, pin, power_cycle, force;
	/* enum phx_jobs_say: may jobs end by the order? re_deactivate too */
	int jobs;
	struct phx_list may_end; /* struct phx_job_ref: NAMED; by id, ascending */
	/* assign, release, rebuild, wipe, drain: a job has grace_ms, and is killed then */
	bool has_grace;
	/* results */
	uint64_t step_id;
	uint64_t epoch;
	uint32_t attempt;      /* step_result: which of the step's attempts failed; 0 = not known */
	int64_t result;        /* 0 or negative errno */
	char text[256];        /* error or reason; power: operation asked for */
	int power;             /* power_result: 0 unknown, 1 on, 2 off */
	char erased_disk[160]; /* wipe done: what was erased and read back, for the signed record */
	uint64_t erased_bytes, verified_bytes;
	/* jobs */
	uint64_t job;
	uint32_t run; /* job_result: of which run of the job */
	/* job_result: the agent ended it itself (its lease, its node's drain): it may run again */
	bool forced;
	int ended_by; /* job_result: enum phx_job_ended_by */
	uint64_t cpu_ms, memory_peak_bytes, output_cut_bytes; /* job_result */
	uint32_t job_nodes;
	/* job_submit: struct phx_index_row, one behind the other: a member for each index */
	struct phx_list array_rows;
	/* such a row, in events of before there were several; step 0: none */
	uint32_t array_from, array_to, array_step;
	uint32_t array_at_once; /* job_submit: so many members run at a time; 0 = any */
	uint64_t job_last;      /* job_cancel: all from `job` to this one; 0 = that one */
	bool must_fit; /* job_submit: refuse it where no node that is there could ever run it */
	uint32_t uid, gid;
	char user[PHX_NAME_MAX];
	struct phx_list argv;    /* struct phx_text */
	struct phx_list job_env; /* job_submit: struct phx_text, "NAME=value" */
	char *script;            /* job_submit: NULL, or a program text in place of argv[0] */
	int64_t estimate_ms;
	bool no_requeue;
	/* job_submit: from SIGTERM to SIGKILL; 0 = 5 s. Orders on nodes: with has_grace */
	uint32_t grace_ms;
	uint32_t checkpoint_signal, checkpoint_ms; /* job_submit */
	char chdir[256];                           /* job_submit: absolute, or "" */
	struct phx_list stage_in, stage_out;       /* job_submit: struct phx_word */
	/* runtime environments; the RE of a job */
	char re[PHX_NAME_MAX];
	int who; /* enum phx_re_who: what the one who asks is to this RE */
	/* re_request; re_create: without a name, the request `re` is granted */
	struct phx_agreement agreement;
	uint32_t use_ppm; /* re_use: CPU use of one instance, millionths of its share */
	/* re_queue: what changed since the last one; text: why nothing is known any more */
	bool whole;                   /* all there is: what is not named is gone */
	struct phx_list engine_jobs;  /* struct phx_engine_job */
	struct phx_list engine_nodes; /* struct phx_engine_node */
	/* struct phx_engine_node; ours: somebody drained it, maybe we */
	struct phx_list engine_partitions;
	/* configuration */
	struct phx_settings settings;
	struct phx_pool pool_put;
	struct phx_role role_put;
	struct phx_list rules; /* struct phx_rule */
	/* any: a number that the head drew at its start, above the one before; 0 = as before. Step
	 * ids and epochs go on above it, so that none comes again after a journal was restored */
	uint64_t incarnation;
	/* notice: so many job ids may have been given by events that are lost */
	uint64_t skip_jobs;
};
extern const struct phx_record phx_event_record;
void phx_event_fini(struct phx_event *ev);

enum phx_action_kind {
	PHX_ACT_ORDER, /* node has new orders: wake its long poll */
	/* op in text: "boot" (off, observed; network boot; on), "on", "off", "cycle", "status" */
	PHX_ACT_POWER,
	PHX_ACT_KEY_MAKE, /* key_id */
	/* key_id; step_id 0: answered by a key_result with the key id as name */
	PHX_ACT_KEY_DESTROY,
	PHX_ACT_ERASED, /* write a signed erase record (in the same transaction) */
	PHX_ACT_DHCP,   /* host entries changed */
	PHX_ACT_NOTE,   /* a sentence for `phx events` */
};
extern const struct phx_enum phx_action_kind_names;

struct phx_action {
	int kind;
	char node[PHX_NAME_MAX];
	uint64_t step_id; /* id by which a repeated action is known; 0 for hints */
	uint64_t epoch;
	char key_id[PHX_NAME_MAX];
	char disk[160];
	int method;
	uint64_t size_bytes, verified_bytes;
	char text[256];
	char re[PHX_NAME_MAX], other_re[PHX_NAME_MAX]; /* whose history a note belongs to */
};
extern const struct phx_record phx_action_record;

/** What enrolment was answered with. */
enum phx_enrol_answer { PHX_ENROL_PENDING, PHX_ENROL_CERTIFY, PHX_ENROL_REFUSED };

struct phx_outcome {
	struct phx_list actions; /* struct phx_action */
	char node[PHX_NAME_MAX]; /* enrol: who it is; node_add */
	int enrol;               /* enum phx_enrol_answer */
	uint64_t job;            /* job_submit: its id */
	bool changed;            /* false: nothing to do, it already was so */
	char text[256];
	/* -ENOMEM as soon as something could not be stored; never seen by the caller */
	int error;
};
void phx_outcome_fini(struct phx_outcome *o);

#endif
