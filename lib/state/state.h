/* The core's state: all that phxd knows and must keep beyond its own end. It is the result of
 * applying the journal's events. Records describe it, so that snapshot, journal and API come from
 * the same tables. Pure. */
#ifndef PHX_STATE_STATE_H
#define PHX_STATE_STATE_H

#include "flow/progress.h"
#include "flow/trigger.h"
#include "ledger/ledger.h"
#include "types/disk_select.h"
#include "types/node.h"
#include "types/re_life.h"
#include "types/rights.h"
#include "types/task.h"

#define PHX_POOL_FREE "free"

#define PHX_POOL_FIELDS(F, S) \
	F(S, name, STR(PHX_NAME_MAX), \
	  KEY(name, NAME, PHX_REQUIRED, "Of the pool. It belongs in one file.")) \
	F(S, owner, STR(PHX_IDENTITY_MAX), \
	  KEY(owner, IDENTITY, "", \
	      "Whose nodes they are: unix:NAME, a user of the head, or cert:NAME, a certificate. " \
	      "A name without a kind is that user if there is one when it is read first, else " \
	      "the certificate.")) \
	F(S, setup, REC(phx_setup), \
	  KEY(setup, GROUP, "", \
	      "What is done to a node at a hand-over unless phx node assign --setup says " \
	      "otherwise; without it, what leaves the pool is wiped.")) \
	F(S, needs_check_s, U32, \
	  KEY(needs_check, TIME(0, UINT32_MAX), "0s", \
	      "A node comes into the pool only if it passed a check (phx node check) of " \
	      "processors, memory and each of its disks no longer ago than this, such as 30d; " \
	      "0s: whether it did or not."))
PHX_RECORD_STRUCT(phx_pool, PHX_POOL_FIELDS);

/** The heartbeat timeout, unless the settings say otherwise: an agent that has not heard the head
 * for so long ends its jobs. */
#define PHX_JOB_HEARTBEAT_TIMEOUT_MS 60000

#define PHX_SETTINGS_FIELDS(F, S) \
	/* accepted nodes are deployed by rules.conf, without an order */ \
	F(S, auto_assign, BOOL) \
	F(S, missing_after_ms, U32) /* silence after which a node is missing */ \
	F(S, repairs_max, U32)      /* per plan */ \
	F(S, power_off_quarantined, BOOL) \
	F(S, image_deploy, STR(PHX_NAME_MAX)) \
	/* an agent that does not hear the head for this long ends its jobs; 0 = 60 s */ \
	F(S, job_heartbeat_timeout_ms, U32, AS(job_lease_ms)) \
	/* MiB of a job's output that a node keeps; 0 = the agent's default */ \
	F(S, job_output_max_mb, U32) \
	/* time after which a quiet web node is taken out of the balancers; 0 = at once */ \
	F(S, balance_rest_ms, U32) \
	/* open jobs of one user, and their stored words in MiB; 0 = no limit */ \
	F(S, jobs_per_user, U32) \
	F(S, job_mb_per_user, U32) \
	/* erases are planned from what the deploy environment sees, for all disks that a node was \
	 * ever seen with; false in older journals */ \
	F(S, looks, BOOL) \
	/* a known node gets a certificate for another key only with the token of a start that the \
	 * head ordered or awaits (node/start.c); false in older journals */ \
	F(S, tokens, BOOL) \
	/* an erase counts only if the deploy environment signed it, and a hand-over with erases \
	 * ends in an attestation; false in older journals */ \
	F(S, attests, BOOL) \
	/* an erase counts only if enough of the disk was read back (types/readback.h), not some \
	 * of it; false in older journals */ \
	F(S, measures, BOOL) \
	/* a hand-over in place between two owners gives the node a new key; false in older \
	 * journals */ \
	F(S, rekeys, BOOL) \
	/* an erase between two owners begins with a reset, unless the setup policy names another \
	 * start, and is done only by an agent that came with the token of its start; false in \
	 * older journals */ \
	F(S, resets, BOOL) \
	/* a hand-over that goes on with a power cycle does so although the agent does not take \
	 * the former role off (node/take_back.c); false in older journals */ \
	F(S, takes_back, BOOL) \
	/* a node whose agent does not say that a job has ended, which was told to for it, is \
	 * ordered away (node/unheard.c); false in older journals */ \
	F(S, takes_unheard, BOOL) \
	/* one user has at most a share of the triggers that wait for files; false in older \
	 * journals */ \
	F(S, shares_triggers, BOOL) \
	/* that somebody asks for the certificate of a silent node from its address, without its \
	 * key, changes nothing of the node (node/lost.c); false in older journals */ \
	F(S, doubts_claims, BOOL) \
	/* a node with a BMC that is silent for so long is started again; 0 = never */ \
	F(S, restart_silent_s, U32) \
	F(S, triggers_per_user, U32) /* 0 = no limit */ \
	F(S, soft_off_s, U32)        /* how long a system that was asked to may take to end */ \
	/* protected disks are neither written nor erased (node/protect.c); false in older \
	 * journals, whose erases took every disk */ \
	F(S, protects, BOOL) \
	F(S, protect, REC(phx_protect)) \
	/* what was protected when the plan was made is left, also where it is not protected any \
	 * more; false in older journals */ \
	F(S, keeps_left, BOOL) \
	/* what left maintenance outside its system, its services stopped, has them started once \
	 * it is there; false in older journals, where nobody did */ \
	F(S, serves_late, BOOL) \
	/* a machine that reports the system UUID of a known node changes nothing of that one, and \
	 * a UUID is a node's once it is proven (node/facts.c); false in older journals */ \
	F(S, doubts_uuids, BOOL) \
	/* what was done in a system in memory is done again in the one that is fetched after a \
	 * reset (node/ram_system.c); false in older journals, where that hand-over failed */ \
	F(S, redoes_role, BOOL) \
	/* virtual addresses are shared by all directors (node/share.c); false in older journals, \
	 * where one director has all of them */ \
	F(S, shares_addresses, BOOL) \
	/* a director that is one for so long is given addresses of those that have more; 0: it \
	 * is not */ \
	F(S, address_back_s, U32)
PHX_RECORD_STRUCT(phx_settings, PHX_SETTINGS_FIELDS);

/** A runtime environment: its agreement and its state. The ledger counts the nodes it holds; its
 * pool has its name. */
#define PHX_RE_FIELDS(F, S) \
	F(S, name, STR(PHX_NAME_MAX)) \
	F(S, agreement, REC(phx_agreement)) \
	F(S, state, ENUM(phx_re_state)) \
	F(S, active, BOOL)   /* the ledger knows it */ \
	F(S, number, U32)    /* its number in the ledger, while active */ \
	F(S, leaving, BOOL)  /* a safe deactivation waits for its jobs */ \
	F(S, asked_ms, I64)  /* time of the request, or of a creation without request */ \
	F(S, asked_seq, U64) /* number of that event */ \
	F(S, created_ms, I64) \
	F(S, changed_ms, I64) \
	/* its external engine, as last reported (job/external.c), may still run jobs on nodes of \
	 * the RE */ \
	F(S, attached, BOOL) \
	/* why the engine does not answer; the RE keeps its nodes meanwhile */ \
	F(S, trouble, STR(200)) \
	F(S, engine_nodes, LIST(phx_engine_node)) /* by name */ \
	/* the engine's partitions: may they take new jobs? */ \
	F(S, engine_partitions, LIST(phx_engine_node))
PHX_RECORD_STRUCT(phx_re, PHX_RE_FIELDS);

/** A refused request for an RE, kept for its owner, who has no other record of it. The newest comes
 * last; at most PHX_RE_REFUSALS_MAX for one service provider. */
#define PHX_RE_REFUSAL_FIELDS(F, S) \
	F(S, name, STR(PHX_NAME_MAX)) /* of the RE */ \
	F(S, owner, STR(PHX_IDENTITY_MAX)) \
	F(S, text, STR(256)) /* why; may be "" */ \
	F(S, by, STR(PHX_NAME_MAX)) \
	F(S, asked_ms, I64) \
	F(S, at_ms, I64)
PHX_RECORD_STRUCT(phx_re_refusal, PHX_RE_REFUSAL_FIELDS);
enum { PHX_RE_REFUSALS_MAX = 16, PHX_RE_REFUSALS_ALL_MAX = 1000 };

/** May an external engine start jobs on a node, or take new jobs in a partition? */
enum phx_engine_node_state {
	PHX_ENGINE_NODE_ABSENT, /* the engine does not know the node */
	PHX_ENGINE_NODE_OPEN,
	PHX_ENGINE_NODE_CLOSED, /* drained */
};
extern const struct phx_enum phx_engine_node_state_names;

#define PHX_ENGINE_NODE_FIELDS(F, S) \
	F(S, name, STR(PHX_NAME_MAX)) \
	F(S, state, ENUM(phx_engine_node_state)) \
	/* a CLOSED node: closed by us, so that we may open it; an OPEN partition: we may have \
	 * ordered its close */ \
	F(S, ours, BOOL) \
	/* the engine reported this state after our last order for the node, which is thereby \
	 * done */ \
	F(S, sure, BOOL)
PHX_RECORD_STRUCT(phx_engine_node, PHX_ENGINE_NODE_FIELDS);

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
#define PHX_JOB_PART_FIELDS(F, S) \
	F(S, node, STR(PHX_NAME_MAX)) \
	F(S, ended, BOOL) \
	F(S, status, I64) /* exit status; 128 + signal */ \
	F(S, cpu_ms, U64) /* CPU time of all its processes; reported with its end */ \
	/* peak of its control group, or of its largest process if there is no group */ \
	F(S, memory_peak_bytes, U64) \
	/* its node is not heard: the time when the part has surely ended; 0 = the node is \
	 * heard */ \
	F(S, lost_ms, I64) \
	F(S, address, STR(64))      /* address of its node; only in orders for agents */ \
	F(S, output_cut_bytes, U64) /* output that was dropped; reported with its end */ \
	/* a worker of several nodes: the node has answered for the task that the worker has */ \
	F(S, answered, BOOL)
PHX_RECORD_STRUCT(phx_job_part, PHX_JOB_PART_FIELDS);

/** Why the run of a job is told to end, also when it has ended. A later one overrules those before
 * it: phx_job_end_for(). Jobs of older journals may have several in JSON: the last one counts. */
enum phx_job_end {
	PHX_JOB_END_NONE,
	/* its RE must return nodes, a node broke, or a node was ordered away: it runs again */
	PHX_JOB_END_KILLED,
	PHX_JOB_END_OVERDUE,   /* it ran longer than its limit: it ends for good */
	PHX_JOB_END_CANCELLED, /* it ends for good, and is cancelled however it ends */
};
extern const struct phx_enum phx_job_end_names;

/** How a task of several nodes ends: the worst of what its nodes have answered. */
enum phx_task_end {
	PHX_TASK_END_GOOD,
	PHX_TASK_END_LOST, /* a node was lost, or gave it up: it runs again */
	PHX_TASK_END_FAILED,
};
extern const struct phx_enum phx_task_end_names;

/** Marks of a job beside its state (job/job_life.def). */
#define PHX_JOB_MARKS(F, S) \
	/* while it is queued: what holds it back */ \
	F(S, held, BOOL)      /* waits until a user releases it */ \
	F(S, throttled, BOOL) /* waits until another member of its array has ended */ \
	/* its RE was deactivated and keeps it: the job is in no queue until its RE is active \
	 * again; a running job is told to end, and is kept then */ \
	F(S, kept, BOOL) \
	/* while it runs */ \
	F(S, end, ONEOF(phx_job_end)) \
	F(S, broken, BOOL) /* a part failed: the other parts are told to end */ \
	/* its result */ \
	F(S, timed_out, BOOL) /* its time limit ended it */ \
	/* of an external engine: it is ending, and has parts on the nodes that it still uses */ \
	F(S, ending, BOOL) \
	/* of an external engine: queued again because of us, so it need not wait for its begin \
	 * time */ \
	F(S, expedite, BOOL, WAS(hurry)) \
	/* for its whole life */ \
	F(S, no_requeue, BOOL) /* a killed run is not queued again */ \
	/* first member of an array: its words count as its user's until the last member has \
	 * ended */ \
	F(S, words_stay, BOOL)

#define PHX_JOB_FIELDS(F, S) \
	F(S, id, U64) \
	F(S, state, ENUM(phx_job_state)) \
	F(S, nodes, U32) /* wanted */ \
	F(S, uid, U32) \
	F(S, gid, U32) \
	F(S, user, STR(PHX_NAME_MAX)) \
	/* the RE that it was submitted to; "" = it runs on nodes of no RE */ \
	F(S, re, STR(PHX_NAME_MAX)) \
	F(S, estimate_ms, I64) /* time limit of its run, from its user; 0 = no limit */ \
	/* how often it was killed and queued again, which is also the number of its run */ \
	F(S, kills, U32) \
	/* setting of the run: job_heartbeat_timeout_ms when it was started */ \
	F(S, heartbeat_timeout_ms, U32, AS(lease_ms)) \
	/* setting of the run: job_output_max_mb when it was started */ \
	F(S, output_max_mb, U32) \
	F(S, grace_ms, U32)          /* from SIGTERM to SIGKILL */ \
	F(S, checkpoint_signal, U32) /* sent before SIGTERM if it is to run again; 0 = none */ \
	F(S, checkpoint_ms, U32)     /* from that signal to SIGTERM */ \
	/* who ended its present or last run early; "" = neither a person nor an RE */ \
	F(S, killed_by, STR(PHX_NAME_MAX)) \
	F(S, killed_why, STR(200)) \
	F(S, killed_ms, I64) \
	/* when its nodes are taken back whose agents have not said by then that its run has \
	 * ended, which was told to for them; 0 = nobody waits for that */ \
	F(S, unheard_ms, I64) \
	F(S, submitted_ms, I64) \
	F(S, started_ms, I64) \
	F(S, ended_ms, I64) \
	F(S, status, I64) /* status of the worst part */ \
	F(S, argv, LIST(phx_text)) \
	F(S, env, LIST(phx_text)) /* "NAME=value": replaces variables that every job gets */ \
	F(S, script, TEXT)        /* NULL, or a program text that runs in place of argv[0] */ \
	/* start directory on its nodes; "" = the directory of the run */ \
	F(S, chdir, STR(256)) \
	/* files of the RE's data directory that each of its nodes gets */ \
	F(S, stage_in, LIST(phx_word)) \
	F(S, stage_out, LIST(phx_word)) /* files that come back from its first node */ \
	/* why its last run ended; NULL if it ended well, or its status says enough */ \
	F(S, why, TEXT) \
	/* number of the first member of its array; 0 = no array. Members have consecutive \
	 * numbers, and only the first has their words (argv, env, script, files) */ \
	F(S, array, U64) \
	F(S, array_index, U32) \
	/* first member: the number of members, of those that have not ended, and which one may \
	 * start next */ \
	F(S, array_n, U32) \
	F(S, array_open, U32) \
	F(S, array_next, U32) \
	/* a job of the head's own that keeps a node of an RE with workflows, for tasks \
	 * (job/workers.c) */ \
	F(S, worker, BOOL) \
	/* a running worker: since when it has had no task; 0 = it has one */ \
	F(S, idle_ms, I64) \
	F(S, cores, U32)        /* a worker: cores that its tasks may use together */ \
	F(S, memory_bytes, U64) /* the same; 0 = not known, and not counted */ \
	/* a worker of several nodes: the task that it has, as run and place (job/wide.c); run 0 = \
	 * none; and how that ends once all its nodes have answered */ \
	F(S, run, U64) \
	F(S, task, U32) \
	F(S, task_end, ENUM(phx_task_end)) \
	/* a worker of one node that is given no more tasks: its node is wanted for one of several \
	 */ \
	F(S, leaves, BOOL) \
	F(S, parts, LIST(phx_job_part)) \
	/* name of the job in the external engine that starts and ends it; "" = our own engine */ \
	F(S, engine_id, STR(32)) \
	/* of an external engine: the time that it waits for, by the engine's clock; 0 = none */ \
	F(S, begin_ms, I64) \
	PHX_JOB_MARKS(F, S)
PHX_RECORD_STRUCT(phx_job, PHX_JOB_FIELDS);

/** A run of a workflow: job/flowruns.c. phxd keeps the text of the workflow in the file of its
 * digest. */
#define PHX_FLOWRUN_FIELDS(F, S) \
	F(S, id, U64) \
	F(S, name, STR(PHX_NAME_MAX)) /* the workflow's name in its file; may be "" */ \
	F(S, re, STR(PHX_NAME_MAX)) \
	F(S, uid, U32) \
	F(S, gid, U32) \
	F(S, user, STR(PHX_NAME_MAX)) \
	F(S, digest, STR(65)) /* SHA-256 of the workflow's text */ \
	F(S, n_tasks, U32) \
	F(S, submitted_ms, I64) \
	F(S, ended_ms, I64) /* 0 = it has not ended */ \
	F(S, status, ENUM(phx_flow_status)) \
	/* numbers of tasks in each state */ \
	F(S, n_waiting, U32) \
	F(S, n_ready, U32) \
	F(S, n_running, U32) /* on a node, where they may wait for a core */ \
	F(S, n_done, U32) \
	F(S, n_failed, U32) \
	F(S, n_skipped, U32) \
	F(S, n_runs, U64)   /* starts of all its tasks */ \
	F(S, n_losses, U64) /* how many of these starts were lost with their node */ \
	/* how often a task did not run, since its outputs were there as they had been */ \
	F(S, n_there, U64) \
	F(S, cpu_ms, U64) \
	F(S, n_resumes, U32) \
	F(S, why, TEXT) /* the first failure since it began or was resumed; NULL */ \
	F(S, cancelled_by, STR(PHX_NAME_MAX)) \
	F(S, trigger, U64) /* number of the trigger that began it; 0 = a person did */ \
	F(S, looks, BOOL)  /* it is the trigger's command, whose output may fire the trigger */ \
	/* "NAME=value", for the environment of each task: what fired the trigger \
	 * (flow/trigger.h) */ \
	F(S, vars, LIST(phx_text)) \
	/* in place of `live`, if all tasks are done: phx_flow_places_read() */ \
	F(S, places, LIST(phx_text)) \
	/* NULL if all tasks are done */ \
	F(S, live, LIVE(struct phx_flow_progress, flow_live))
PHX_RECORD_STRUCT(phx_flowrun, PHX_FLOWRUN_FIELDS);

/** A disk key that no longer belongs to a node, and whose destruction is not confirmed yet. */
#define PHX_DOOMED_KEY_FIELDS(F, S) \
	F(S, key_id, STR(PHX_NAME_MAX)) /* "": an empty place (state/doomed.h) */ \
	F(S, again_ms, I64)             /* when its destruction is ordered again */
PHX_RECORD_STRUCT(phx_doomed_key, PHX_DOOMED_KEY_FIELDS);

/** A person's certificate that was revoked. */
#define PHX_REVOKED_FIELDS(F, S) \
	F(S, serial, STR(64))         /* lower-case hexadecimal digits */ \
	F(S, name, STR(PHX_NAME_MAX)) /* its owner, if the order named one */ \
	F(S, at_ms, I64)
PHX_RECORD_STRUCT(phx_revoked, PHX_REVOKED_FIELDS);

/** What a person is granted beyond what the groups of the head and his certificate say: a role or,
 * for a certificate, a login: the user of the head as whom it works. */
#define PHX_GRANT_FIELDS(F, S) \
	F(S, identity, STR(PHX_IDENTITY_MAX)) \
	F(S, role, ENUM(phx_who)) /* counts only if login is "" */ \
	F(S, login, STR(PHX_NAME_MAX)) \
	F(S, by, STR(PHX_NAME_MAX)) /* who gave it */ \
	F(S, at_ms, I64)
PHX_RECORD_STRUCT(phx_grant, PHX_GRANT_FIELDS);

/** A public key whose packages are accepted; phxd keeps the key itself. */
#define PHX_TRUSTED_KEY_FIELDS(F, S) \
	F(S, name, STR(PHX_NAME_MAX)) \
	F(S, id, STR(72)) /* its fingerprint */
PHX_RECORD_STRUCT(phx_trusted_key, PHX_TRUSTED_KEY_FIELDS);

/** A deploy image that machines were started with: the last version of its name. */
#define PHX_USED_IMAGE_FIELDS(F, S) \
	F(S, name, STR(PHX_NAME_MAX)) \
	F(S, version, STR(PHX_NAME_MAX)) \
	F(S, kernel, STR(PHX_RELEASE_MAX))
PHX_RECORD_STRUCT(phx_used_image, PHX_USED_IMAGE_FIELDS);

/** The settings of the site (site/site.h) that nodes are to have. Their content is kept by phxd. */
#define PHX_SITE_VERSION_FIELDS(F, S) \
	F(S, digest, STR(65)) /* of the content; "" = none yet */ \
	F(S, users, U32) \
	F(S, groups, U32) \
	F(S, files, U32) \
	F(S, by, STR(PHX_NAME_MAX)) \
	F(S, at_ms, I64) \
	/* nodes are told in portions (core/site.c), in the order of their numbers: the portion \
	 * under way has the numbers from `from` to before `next`, and those up to `last` wait */ \
	F(S, portion, U32)    /* nodes of a portion */ \
	F(S, max_failed, U32) /* with more failures no other portion begins */ \
	F(S, failed, U32) \
	F(S, from, U64) \
	F(S, next, U64) \
	F(S, last, U64)         /* 0 = nobody waits, and no portion is under way */ \
	F(S, told_ms, I64)      /* when the portion under way was told */ \
	F(S, stopped, STR(300)) /* why no other begins; "" = others do */
PHX_RECORD_STRUCT(phx_site_version, PHX_SITE_VERSION_FIELDS);

/** What an order says about jobs that it would end. */
enum phx_jobs_say {
	PHX_JOBS_UNSAID, /* nothing: an order of the core itself, or one in an older journal */
	PHX_JOBS_SPARE,  /* the order is refused if a job would end */
	PHX_JOBS_NAMED,  /* only the jobs that are named may end */
	PHX_JOBS_ANY,
};
extern const struct phx_enum phx_jobs_say_names;

/** A job by its number. */
#define PHX_JOB_REF_FIELDS(F, S) F(S, id, U64)
PHX_RECORD_STRUCT(phx_job_ref, PHX_JOB_REF_FIELDS);

/** WAITS for its turn; AWAY: its reboot is under way; DONE: it serves again. */
enum phx_line_stage { PHX_LINE_WAITS, PHX_LINE_AWAY, PHX_LINE_DONE };
extern const struct phx_enum phx_line_stage_names;

#define PHX_LINE_NODE_FIELDS(F, S) \
	F(S, name, STR(PHX_NAME_MAX)) \
	F(S, stage, ENUM(phx_line_stage))
PHX_RECORD_STRUCT(phx_line_node, PHX_LINE_NODE_FIELDS);

/** Nodes that are rebooted by one order, of which at most some are away at once (node/line.c). It
 * is there until no node of it waits or is away. */
#define PHX_LINE_FIELDS(F, S) \
	F(S, id, U64) \
	F(S, most, U32) /* nodes of it that may be away at once */ \
	F(S, done, U32) \
	F(S, nodes, LIST(phx_line_node)) /* in the order of the order */ \
	F(S, stopped, STR(200))          /* why no other begins; "" = others do */ \
	/* the order */ \
	F(S, by, STR(PHX_NAME_MAX)) \
	F(S, text, STR(200)) \
	F(S, power_cycle, BOOL) \
	F(S, when_idle, BOOL) \
	F(S, has_grace, BOOL) \
	F(S, grace_ms, U32) \
	F(S, jobs, ENUM(phx_jobs_say)) \
	F(S, may_end, LIST(phx_job_ref))
PHX_RECORD_STRUCT(phx_line, PHX_LINE_FIELDS);

struct phx_index; /* state/index.h */
struct phx_crew;  /* state/crew.h */
struct phx_named; /* state/named.h */

/** A virtual address, and the director that has it as long as it is heard. */
#define PHX_HELD_FIELDS(F, S) \
	F(S, address, STR(PHX_WEB_ADDRESS_MAX)) \
	F(S, director, STR(PHX_NAME_MAX)) /* "": none has had it */ \
	F(S, since_ms, I64)               /* when it got it */ \
	/* its service has ended: when the address is forgotten; 0: it has not */ \
	F(S, until_ms, I64)
PHX_RECORD_STRUCT(phx_held, PHX_HELD_FIELDS);

/** A director among which addresses are shared, and since when it is one that is heard. */
#define PHX_SHARER_FIELDS(F, S) \
	F(S, director, STR(PHX_NAME_MAX)) \
	F(S, since_ms, I64)
PHX_RECORD_STRUCT(phx_sharer, PHX_SHARER_FIELDS);

#define PHX_STATE_FIELDS(F, S) \
	F(S, seq, U64)    /* number of the last applied event */ \
	F(S, now_ms, I64) /* time of the last applied event: never goes back */ \
	/* incarnation of the head that last changed the state; 0 in older journals */ \
	F(S, incarnation, U64) \
	F(S, last_step_id, U64) \
	F(S, last_job_id, U64) \
	F(S, last_workflow_id, U64) \
	F(S, last_trigger_id, U64) \
	F(S, last_node_number, U32) \
	F(S, settings, REC(phx_settings)) \
	F(S, pools, LIST(phx_pool)) /* "free" is always there */ \
	F(S, roles, LIST(phx_role)) \
	F(S, formers, LIST(phx_role)) /* replaced roles that nodes still run */ \
	F(S, rules, LIST(phx_rule)) \
	F(S, nodes, LIST(phx_node))        /* by number */ \
	F(S, jobs, LIST(phx_job))          /* by id */ \
	F(S, workflows, LIST(phx_flowrun)) /* by id */ \
	F(S, triggers, LIST(phx_trigger))  /* the same */ \
	F(S, doomed_keys, LIST(phx_doomed_key)) \
	F(S, res, LIST(phx_re)) \
	F(S, refusals, LIST(phx_re_refusal)) \
	F(S, revoked, LIST(phx_revoked)) /* in order of time */ \
	F(S, grants, LIST(phx_grant))    /* the same */ \
	/* by name; none in older journals: the site's key is then trusted without being named */ \
	F(S, package_keys, LIST(phx_trusted_key)) \
	F(S, deploy_used, LIST(phx_used_image)) /* one for each name; none in older journals */ \
	F(S, lines, LIST(phx_line))             /* of nodes that are rebooted in turn */ \
	F(S, refused_ms, I64)                   /* when a refused enrolment was last noted */ \
	/* the director that keeps the virtual addresses as long as it is heard */ \
	F(S, director, STR(PHX_NAME_MAX)) \
	/* where they share them: who has which, by address */ \
	F(S, held, LIST(phx_held)) \
	F(S, sharers, LIST(phx_sharer))   /* in the order of the nodes */ \
	F(S, site, REC(phx_site_version)) /* none in older journals */ \
	/* which disks the settings of the site protect besides, by node; also of nodes that are \
	 * yet to come; none in older journals */ \
	F(S, site_protects, LIST(phx_protect_node)) \
	/* NULL until an RE was created */ \
	F(S, ledger, LIVE(struct phx_ledger, ledger_live))
struct phx_state {
	PHX_MEMBERS(phx_state, PHX_STATE_FIELDS)
	/* follows from the other fields and is in no record; NULL until phx_core_ready() or the
	 * first event */
	struct phx_index *index;
	struct phx_crew *crew;   /* the same */
	struct phx_named *named; /* the same */
	uint32_t n_gone;         /* removed nodes that still have their places: state/gone.h */
};
extern const struct phx_record phx_state_record;

/** Make `s` an empty state with the free pool and default settings. -ENOMEM. */
int phx_state_init(struct phx_state *s);
void phx_state_fini(struct phx_state *s);

struct phx_node *phx_state_node(const struct phx_state *s, const char *name);
struct phx_pool *phx_state_pool(const struct phx_state *s, const char *name);
struct phx_role *phx_state_role(const struct phx_state *s, const char *name);
/** The role (may be NULL) as nodes of a pool have it: an RE's agreement may choose another image.
 * The role with that image is put into *store, which borrows all else from `role`; otherwise
 * returns `role` itself. */
const struct phx_role *phx_state_role_in(const struct phx_state *s, const struct phx_role *role,
					 const char *pool, struct phx_role *store);
struct phx_re *phx_state_re(const struct phx_state *s, const char *name);
/** The revoked certificate with this serial number; NULL: it is not revoked. */
const struct phx_revoked *phx_state_revoked(const struct phx_state *s, const char *serial);
/** The set of roles (bits 1u << enum phx_who) that an identity was granted. */
unsigned phx_state_granted(const struct phx_state *s, const char *identity);
/** The user of the head as whom a certificate works; "": none. */
const char *phx_state_login(const struct phx_state *s, const char *identity);
struct phx_job *phx_state_job(const struct phx_state *s, uint64_t id);
struct phx_flowrun *phx_state_flowrun(const struct phx_state *s, uint64_t id);
struct phx_line *phx_state_line(const struct phx_state *s, uint64_t id);
struct phx_trigger *phx_state_trigger(const struct phx_state *s, uint64_t id);
struct phx_trigger *phx_state_trigger_named(const struct phx_state *s, const char *name);
/** The place in its list of the first job, or node, with this number or a higher one; for readers
 * that go through a long list in portions. */
uint32_t phx_state_job_place(const struct phx_state *s, uint64_t id);
uint32_t phx_state_node_place(const struct phx_state *s, uint64_t number);
/** The node of that number; NULL: there is none, or none any more. */
struct phx_node *phx_state_node_numbered(const struct phx_state *s, uint64_t number);
/** The first node at or after that place of the list; NULL: none. Places of removed nodes, which
 * are kept for some time (state/gone.h), are passed by: whoever goes through the list asks here. */
struct phx_node *phx_nodes_next(const struct phx_state *s, uint32_t place);
/** Each node, by number; the loop may change nodes, but neither add nor remove them. */
#define PHX_NODES_EACH(n, s) \
	for (struct phx_node *n = phx_nodes_next((s), 0); n; n = phx_nodes_after((s), n))
static inline struct phx_node *phx_nodes_after(const struct phx_state *s, const struct phx_node *n)
{
	return phx_nodes_next(s, (uint32_t)(n - (const struct phx_node *)s->nodes.items) + 1);
}
/** How many nodes there are. */
static inline uint32_t phx_nodes_count(const struct phx_state *s)
{
	return s->nodes.n - s->n_gone;
}
/** Is its run told to end, and runs the job again then, unless it may not? */
static inline bool phx_job_is_killed(const struct phx_job *j)
{
	return j->end == PHX_JOB_END_KILLED;
}
/** Is its run told to end for good, so that it does not run again? */
static inline bool phx_job_ends_for_good(const struct phx_job *j)
{
	return j->end > PHX_JOB_END_KILLED;
}
/** Is its run told to end, for whatever reason? */
static inline bool phx_job_is_told(const struct phx_job *j)
{
	return j->end || j->broken;
}
/** Does the run go on, or is it held? Otherwise it is over, until somebody resumes it. */
static inline bool phx_flowrun_is_open(const struct phx_flowrun *w)
{
	return !w->ended_ms;
}
static inline bool phx_job_is_open(const struct phx_job *j)
{
	return j->state == PHX_JOB_QUEUED || j->state == PHX_JOB_RUNNING;
}
/** Is it a worker of several nodes, for one task of as many? */
static inline bool phx_job_is_wide(const struct phx_job *j)
{
	return j->worker && j->nodes > 1;
}

/** Check the invariants of faults.md, which hold after every event. -EPROTO with the first that
 * does not hold. For tests, the fault simulation and the daemon's start. */
int phx_state_check(const struct phx_state *s, struct phx_err *err);

#endif
