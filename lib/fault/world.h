/* What the files of the fault simulation share: the head (phxd without its
 * sockets), machines with agents, BMCs and disks, the network between them, the
 * people who give orders, and the observer who checks. Nobody else includes this.
 *
 *   queue ─▶ fault.c ─┬▶ machine.c (power, boot)   ┐
 *                     ├▶ driver_results.c (BMCs)   ├─▶ head.c: lib/journal: apply, commit, act
 *                     ├▶ net.c ─▶ agent.c          │        │
 *                     ├▶ keeper.c (tasks)          │        │
 *                     ├▶ load.c (orders, jobs)     │        └─▶ check.c, after every event
 *                     ├▶ slurm_worker.c            │
 *                     └▶ inject.c (fault.def)      ┘
 *
 * What the observer knows of a machine is kept in the machine, never in core state. */
#ifndef PHX_FAULT_WORLD_H
#define PHX_FAULT_WORLD_H

#include "agent/decide.h"
#include "agent/job_book.h"
#include "agent/result_queue.h"
#include "agent/step_book.h"
#include "agent/task_book.h"
#include "base/heap.h"
#include "base/mix.h"
#include "base/rng.h"
#include "core/core.h"
#include "fault/fault.h"
#include "journal/journal.h"

enum {
	SECOND = 1000,
	MINUTE = 60 * SECOND,
	HOUR = 60 * MINUTE,
	FAULT_DISKS = 3,
	FAULT_RESIDUES = 10,
	FAULT_DONE = 16, /* finished steps that an agent keeps: few, so that some are forgotten */
	FAULT_RUNS_KEPT = 16, /* of jobs that it remembers: few, as above */
	FAULT_RUNS = 40,      /* that have room on its disk */
	FAULT_PARTS = 4,      /* of jobs on one machine */
	FAULT_POWER = 8,      /* operations that wait for one BMC */
	FAULT_ENGINE_JOBS = 48,
	FAULT_ENGINE_HOSTS = 4,
	FAULT_ROLES = 8,
	FAULT_PUT_POOLS = 8, /* pools of the site; behind them those of REs */
	FAULT_POOLS = 12,
	FAULT_RES = 4,
	FAULT_RE_OF_FLOWS = 3, /* which of them */
	SILENT_MS = 6000,      /* after which a node is missing */
	FAULT_BEAT_MS = 2 * SECOND,
	FAULT_BMC_STAGE_MS = 2 * SECOND,
	FAULT_TIMEOUT_LOOK_MS = 5 * SECOND, /* a keeper looks for the heartbeat timeout */
	FAULT_QUIET_MS = 15 * SECOND,       /* between two questions to an engine, at most */
};

/* ---- the queue of what is going to happen ---- */

enum fault_what {
	WHAT_STAGE,    /* machine: the next stage of its start */
	WHAT_ENROL,    /* agent asks for a certificate */
	WHAT_HELLO,    /* agent registers */
	WHAT_ENTER,    /* agent has entered the installed system */
	WHAT_STEP_END, /* agent ends its step */
	WHAT_JOB_END,  /* a: job */
	WHAT_SERVED,   /* services of the role run again after a start */
	WHAT_BEAT,     /* first beat after a change */
	WHAT_SILENCE,  /* head notices that an agent is silent */
	WHAT_ORDERS,   /* orders reach the agent */
	WHAT_LATE,     /* a: slot of an order that was held up */
	WHAT_SEND,     /* agent sends the first of its results; a: after it waited to try again */
	WHAT_COPY,     /* a: slot of a copy of a result that the network held up */
	WHAT_POWER,    /* BMC: the operation at the head of its queue goes on */
	WHAT_COMES_ON, /* a machine whose plug was pulled has its power back */
	WHAT_LEAVES,   /* a tenant that has hidden a disk is told to leave */
	WHAT_GOES_OFF, /* a machine that was told 'off' a while ago is off now */
	WHAT_KEY,      /* a: slot of a disk-key operation */
	WHAT_TICK,     /* head: a deadline */
	WHAT_HEAD_UP,  /* head starts again */
	WHAT_LOAD,     /* a: row of the table of loads */
	WHAT_FAULT,    /* a: row of fault.def */
	WHAT_HEAL,     /* a cut line is whole again */
	WHAT_ENGINE,   /* a: what the engine that is not ours, or who asks it, does next */
	WHAT_TASK_END, /* a: number of a run of a task */
	WHAT_HEARTBEAT_TIMEOUT, /* tasks of a machine that does not hear the head */
	WHAT_TASK_ORDER,        /* a: slot of an order of tasks that was held up */
	WHAT_TASK_SYNC,         /* a keeper syncs its notes; gen: its start */
	WHAT_KEEPER,            /* another keeper of tasks begins */
	WHAT_COUNT_
};

struct fault_item {
	int64_t at;
	uint64_t order; /* among equals: first come, first served */
	uint16_t what, m;
	uint32_t gen;
	uint64_t a;
};

static inline bool phx_fault_before(const struct fault_item *a, const struct fault_item *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}
PHX_HEAP(phx_fault_item, struct fault_item, phx_fault_before)

/* ---- machines ---- */

/** Data of somebody on a disk: true until it is overwritten or its key is gone. */
struct fault_residue {
	int8_t pool;               /* it was written in; its owner's it is */
	uint16_t known;            /* owners that have had it by an agreement without wipe */
	bool must_wipe;            /* the agreement at that time wants it erased on release */
	char key_id[PHX_NAME_MAX]; /* "" = plain */
};

/* What a machine was started with; FAULT_KERNEL_DISK: with what its firmware found. */
#define FAULT_KERNEL_DISK "disk"
#define FAULT_KERNEL "kernel-d" /* of the image whose digest begins with d */
struct fault_kernel {
	char word[PHX_KERNEL_WORD_MAX], release[16];
};

struct fault_task {
	uint64_t id, epoch, nonce;
	uint32_t attempt;
	int kind, method;
	char disk[48];
	char key_id[PHX_NAME_MAX];
	int8_t role;
	uint32_t role_version;
	char digest[16];
	struct fault_kernel kernel; /* of a start; the one that it is to have for its system */
};

struct fault_done {
	uint64_t id;
	uint32_t attempt;
	int result;
	struct fault_task task;
	uint64_t bytes, verified;
	enum fault_seal { FAULT_SEAL_ITS, FAULT_SEAL_NONE, FAULT_SEAL_ANOTHER } seal;
};

/** The record of a job, and what lies beside it of the end of its run. */
struct fault_run {
	struct job_record rec;
	bool has_end;
	int status; /* then */
};

/** What an agent has written down. */
struct fault_memory {
	uint64_t epoch;                         /* the highest that it has written */
	struct fault_done done[2 * FAULT_DONE]; /* its step log; more than kept during a copy */
	uint32_t n_done;
	struct fault_run runs[FAULT_RUNS]; /* one a job */
	uint32_t n_runs;
	uint64_t task_log; /* number of the log of tasks that lies there; 0: none */
};

/* ---- tasks on machines (keeper.c) ---- */

/** A task that a keeper has: the body of an entry of its book. */
struct fault_body {
	struct phx_task_result row;
	uint64_t number; /* of this run, of all machines; 0: it never begins */
	uint32_t heartbeat_timeout_ms, grace_ms;
	int64_t limit_ms;
	int why; /* enum phx_task_outcome: it is told to end for that; -1: it is not */
};

/** The keeper of the tasks of a machine. Its log lies with the agent's memory; its book is made
 * from that when it begins. */
struct fault_keeper {
	struct task_book book;
	uint64_t log;          /* number of the log; 0: nothing was noted */
	struct phx_list notes; /* struct task_note: what is in it, */
	uint32_t n_synced;     /* on the disk: so many of them */
	uint32_t long_from;    /* it is rewritten when it has more */
	bool up, telling;
	bool syncs;     /* it is about to */
	uint32_t start; /* how often one began: nobody takes what another one said for its own */
};

struct fault_task_order {
	bool used;
	uint32_t link_gen; /* of the line that it came by */
	uint64_t number;
	struct phx_task_order is; /* its tasks share their words */
	struct phx_list argv;     /* struct phx_text: those */
};

/** What the observer knows of a task of a run of a workflow. */
struct fault_flow_task {
	uint32_t begun;   /* the last attempt that really began, */
	uint64_t log;     /* and by which log */
	uint32_t good;    /* the last attempt that really ended well */
	bool done, acked; /* the head says so; and an agent has heard that it knows */
};

struct fault_flow {
	uint64_t id;
	int64_t submitted_ms;
	uint32_t n_tasks;
	struct fault_flow_task *tasks;
	uint64_t seen; /* sum of what was seen of it last */
};

struct fault_disk {
	char id[48];
	uint64_t size_bytes;
	bool can_discard, can_secure;
	/* what its tenant has made of it; the truth is that it is there and fixed */
	enum fault_hides {
		FAULT_HIDES_NOT,
		FAULT_HIDES_IN_SYSTEM, /* the tenant's system does not report it */
		FAULT_HIDES_EVERYWHERE,
		FAULT_HIDES_REMOVABLE, /* it calls itself removable */
		FAULT_HIDES_REMOTE,    /* the tenant's system says that it is a LUN */
	} hides;
	/* what is on it */
	bool has_state; /* the partition with the agent's key and memory */
	struct fault_memory memory;
	uint32_t state_key, next_key; /* next_key: of a step rekey, until it is certified */
	bool state_certified;
	char digest[16];           /* installed image, "" none */
	char key_id[PHX_NAME_MAX]; /* its root is encrypted with */
	int8_t role;               /* active role in the installed system, -1 none */
	uint32_t role_version;
	bool role_run;
	struct fault_residue residues[FAULT_RESIDUES];
	uint32_t n_residues;
	/* faults */
	uint8_t erase_fails;   /* so many erases fail */
	uint8_t erase_ignored; /* so many erases change nothing and are reported done */
	uint8_t erase_claimed; /* the same, as read back, and not signed by its key */
};

/** The agent's step, and the memory of those done. */
enum fault_stage {
	STAGE_OFF,
	STAGE_POST,
	STAGE_FETCH,
	STAGE_KEXEC,
	STAGE_DEPLOY,
	STAGE_ENTERING,
	STAGE_OS,
	STAGE_DEAD
};

struct fault_op {
	int op; /* enum phx_power_op */
	uint64_t step_id, epoch;
	uint32_t stage;
};

struct fault_part {
	uint64_t job; /* FAULT_RUN(): a run of a job; 0 = none */
};

/** One run of a job as machines and messages carry it: jobs are numbered from 1, and none is killed
 * 65,536 times. */
#define FAULT_RUN(job, run) ((job) | (uint64_t)(run) << 48)
#define FAULT_RUN_JOB(key) ((key) & ((1ULL << 48) - 1))
#define FAULT_RUN_RUN(key) ((uint32_t)((key) >> 48))

/** What the observer knows and remembers of a node. */
struct fault_seen {
	int state;
	bool plan;
	uint64_t epoch;
	uint64_t granted; /* the epoch that somebody ordered */
	uint64_t step_id; /* of the current step */
	uint32_t n_steps;
	char uuid[40]; /* last reported and taken */
	char key[72];  /* that it is known by */
	/* the last key that its owner may have copied, of each pool */
	uint32_t copied[FAULT_POOLS];
	bool unread, awaited;
	bool told;                 /* an event said that it is erased or installed anew, and why */
	uint64_t told_epoch;       /* the plan that this was said of */
	char its_re[PHX_NAME_MAX]; /* held by it, or away from it */
	int64_t gone_at;           /* that: since when it was not there, core time; 0 = it is */
	bool in_pair;              /* held by, or on its way to, one of the coordinated REs */
	bool cleaning_failed;      /* must be off until somebody wants otherwise */
	int64_t plan_since;
	int64_t cause_at;                 /* of the last fault that explains a quarantine */
	uint64_t image_epoch, image_step; /* of the last installation */
	int64_t stale_at;                 /* its answers are doubled until then */
	/* of the agent that runs now */
	uint64_t ordered;          /* the highest epoch of an order that it was given */
	uint64_t done[FAULT_DONE]; /* steps of that epoch that it has done and written down */
	uint32_t n_done;
};

struct fault_machine {
	uint16_t i;
	char node[PHX_NAME_MAX]; /* as the head calls it */
	char mac[PHX_MAC_MAX];
	char address[24];
	char serial[24];
	char uuid[40], shown_uuid[40];
	bool bmc;
	bool falls_to_disk; /* firmware that goes on to the disk when the network is silent */
	struct fault_disk disks[FAULT_DISKS];
	uint32_t n_disks;
	bool twins; /* two disks show one id */
	/* now */
	enum fault_stage stage;
	/* of the boot or environment: what was planned for an older one does not happen */
	uint32_t gen;
	uint32_t boots;
	uint32_t key, keys; /* of the agent, 0 = none; made so far */
	uint32_t next_key;  /* as that of a disk, of an agent whose files are in memory */
	uint64_t next_of;   /* for which attempt it was made */
	bool certified, registered, boot_local;
	struct fault_kernel kernel;
	uint64_t start;  /* whose token it has: by its order, or by the head's answer; 0 = none */
	bool tries_disk; /* its token was refused: it uses the key on its disk */
	char system_digest[16]; /* what the agent in the deploy environment knows to be installed */
	bool ram;               /* a system in memory: its image */
	char ram_digest[16];
	int8_t ram_role;
	uint32_t ram_role_version;
	bool ram_run;
	int8_t entered;             /* disk whose system runs, -1 memory or none */
	bool serves;                /* services of the role run */
	int8_t serves_pool;         /* for whom */
	struct fault_memory memory; /* of an agent whose files are in memory */
	struct step_epochs epochs;
	struct fault_task tasks[DECIDE_STEPS_MAX]; /* the first is done, or begins next */
	uint32_t n_tasks;
	bool busy, hung; /* in the first of them */
	bool ending;     /* which has ended so, and this is to be done next */
	struct fault_done end;
	enum decide_end act;
	uint32_t asked;              /* for a disk key, in this step */
	int64_t hang_next;           /* the next step begun before this time hangs */
	int64_t refuses_until;       /* until then it does not take its role off */
	struct result_queue results; /* of the agent: its bodies are struct fault_message */
	struct fault_part parts[FAULT_PARTS];
	struct fault_keeper keeper;
	/* line */
	bool linked;
	uint32_t link_gen;
	int64_t heard_ms;   /* not linked: the head was heard until then, */
	uint32_t n_unheard; /* for the so-manieth time */
	int64_t cut_until;
	bool missing_told, fresh;
	char reported[200]; /* last report that the head took */
	/* BMC */
	struct fault_op ops[FAULT_POWER];
	uint32_t n_ops, op_gen;
	int64_t bmc_dead_until, bmc_busy_until, early_off_until;
	int fetch_fails;
	/* faults */
	int64_t lose_answers_until;
	int64_t loop_until; /* restarts from the network until then */
	/* in the engine that is not ours: it may start no jobs there; and as that was saved, asked
	 * for, told */
	bool engine_closed, engine_saved, engine_asked, engine_told;
	bool engine_news;               /* there was an order for it: it is told of anew */
	char engine_name[PHX_NAME_MAX]; /* by which it was told of */
	int64_t engine_waits;           /* since when its hand-over waits for that engine */
	struct fault_seen seen;
};

/* ---- the head ---- */

enum fault_crash { CRASH_NONE, CRASH_APPLY, CRASH_COMMIT, CRASH_ACT };

struct fault_key {
	char id[PHX_NAME_MAX];
};

struct fault_key_op {
	bool used, make;
	struct phx_action act;
};

/** What the observer notes before the core sees an event. */
struct fault_before {
	uint64_t seq;
	bool is_current; /* a result: of the step that is current */
	int kind;
};

struct fault_head {
	struct phx_memory memory; /* the store */
	/* of the running daemon; of a dead one until the next starts */
	struct phx_journal *journal;
	const struct phx_state *s; /* of it; borrowed */
	bool up;
	uint32_t starts;
	int64_t up_at;
	int64_t core_ahead_ms; /* core time - simulated time, of this process */
	int64_t wall_ahead_ms; /* the wall clock - simulated time */
	bool wall_wrong;       /* it is months ahead, */
	int64_t wall_wrong_ms; /* by so much */
	int64_t time_ms;       /* of the last event that was committed */
	int64_t tick_at;       /* of the tick that is in the queue */
	uint32_t tick_gen;
	bool readonly;
	/* the event that is submitted now */
	struct fault_before before;
	bool observed;
	/* the last transaction is of the events after the one, up to the other */
	uint64_t whole_from, whole_to;
	enum fault_crash crash_now;
	/* faults */
	int64_t full_until;        /* the store has no room, */
	int32_t full_in;           /* but for so many writes */
	enum phx_memory_fate fate; /* of one of the next writes, */
	uint32_t fate_writes;      /* of these kinds (bits by enum phx_memory_write), */
	int32_t fate_in;           /* after so many of them */
	bool lose_action;          /* the next one cannot be queued */
	enum fault_crash crash;    /* at the next commit that fits */
	int32_t crash_in;          /* so many commits later */
	bool crash_in_plan;        /* only at an event of a node with a plan */
	bool crash_in_flow;        /* only at one of workflows */
	uint32_t fate_row, lose_row, crash_row; /* of the table: counted when it happens */
	struct phx_list keys;                   /* struct fault_key: the store of disk keys */
	struct phx_list key_ops;                /* struct fault_key_op */
	bool snapshot_due;
};

/* ---- runtime environments ---- */

/** One of the site. */
struct fault_re {
	int pool; /* index; the pool has the RE's name */
	int type, model;
	const char *role, *partner;
	uint32_t percent; /* of the nodes: the lower bound */
};

/* ---- an engine that is not ours (fake_slurm.c, slurm_worker.c) ---- */

/** What it, or who asks it for the head, does next. */
enum fault_phase { PHASE_LIVE, PHASE_NODES, PHASE_JOBS, PHASE_TELL, PHASE_OBEY };

struct fault_engine_job {
	uint32_t id; /* 0: there is none */
	int state;   /* enum phx_engine_job_state */
	uint32_t nodes, restarts;
	bool no_requeue, cancelled;
	bool for_head; /* its run was ended because the head wanted that */
	int64_t submitted, started, ends;
	int64_t begin, since; /* waits until then; since when */
	uint16_t on[FAULT_ENGINE_HOSTS];
	uint32_t on_gen[FAULT_ENGINE_HOSTS]; /* the machines' boots */
	uint32_t n_on;
};

struct fault_engine {
	struct fault_engine_job jobs[FAULT_ENGINE_JOBS];
	uint32_t last_id;
	bool refuses; /* new jobs */
	int64_t silent_until, well_since;
	bool starts_anew; /* when it answers again */
	/* who asks it for the head */
	uint32_t gen;
	bool told, troubled, news, asked_refuses, told_refuses;
	struct fault_engine_job asked[FAULT_ENGINE_JOBS], known[FAULT_ENGINE_JOBS];
	struct phx_list orders; /* struct phx_engine_order */
	uint32_t obeyed;
};

/* ---- messages ---- */

/** What an agent tells of a step, a run of a job or tasks: the body of an item of its queue. */
struct fault_message {
	struct result_subject about;
	int64_t status;         /* of a run of a job */
	bool refused;           /* it was not started: its record does not say that this was told */
	struct fault_done done; /* of a step */
	struct phx_list rows;   /* of tasks: struct phx_task_result */
};

/** A copy that the network gives out when it likes. */
struct fault_copy {
	bool used;
	uint16_t m;
	struct fault_message message;
};

/** A run of a job, one of its parts, really began on a machine. */
struct fault_begun {
	uint64_t run; /* FAULT_RUN() */
	int64_t submitted_ms;
	uint16_t m;
};

struct fault_late {
	bool used, is_job;
	struct fault_task task;
	struct job_order job;
	uint32_t link_gen; /* of the line that it came by */
};

/* ---- the whole ---- */

struct fault_note {
	int64_t at;
	uint16_t what, kind;
	int32_t m;
	int32_t result;
	uint64_t a, b;
	char text[96];
};

struct fault_sim {
	struct phx_fault_options o;
	struct phx_fault_result *ret;
	struct phx_rng rng;
	int64_t now, end;  /* of the faults */
	bool calm;         /* faults and orders have stopped */
	struct phx_list q; /* struct fault_item: a heap */
	uint64_t orders;
	uint32_t row; /* of the fault that is injected now */
	bool armed;   /* it is counted when it happens */
	struct fault_head head;
	struct fault_engine engine;
	struct fault_machine *m;
	uint32_t n;
	struct phx_list copies; /* struct fault_copy */
	struct phx_list lates;  /* struct fault_late */
	/* the observer's: runs of jobs that began on machines, struct fault_begun, by their hash */
	struct phx_list begun;
	struct phx_hash begun_index;
	/* workflows */
	struct phx_list flows;       /* struct fault_flow */
	struct phx_list task_orders; /* struct fault_task_order: held up */
	uint64_t n_task_orders, n_task_runs, n_task_logs;
	bool flows_must_end;
	uint32_t role_version[FAULT_ROLES];
	uint64_t last_line; /* of nodes that are rebooted in turn */
	struct phx_setup pool_setup[FAULT_POOLS];
	uint64_t last_ok_seq;  /* of the last answered command */
	int64_t head_cause_at; /* of the last fault of the head */
	uint32_t full_check_in;
	struct fault_note *notes;
	uint32_t n_notes, notes_cap;
	uint64_t hash;
	bool failed;
};

#endif
