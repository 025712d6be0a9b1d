/* Events: what happens to the state. One row of event.def is one kind of event: its name, a phrase
 * for people, its payload and the function of the core that applies it. A payload is one struct and
 * one table of members, from which its JSON in the journal comes; kinds with the same members share
 * a payload. Pure.
 *
 * In JSON an event is one flat object: the members of its head, then those of its payload; members
 * that are zero are left out. */
#ifndef PHX_STATE_EVENT_H
#define PHX_STATE_EVENT_H

#include <assert.h>

#include "state/state.h"
#include "types/erased.h"
#include "types/told.h"

enum phx_event_kind {
#define EVENT(name, text, payload, handler) PHX_EV_##name,
#include "state/event.def"
	PHX_EV_COUNT_
};
extern const struct phx_enum phx_event_kind_names;
/** One phrase for people ("agent registered"). */
const char *phx_event_text(enum phx_event_kind kind);

/* ---- what payloads are made of ---- */

enum phx_engine_job_state {
	PHX_ENGINE_JOB_WAITING,
	PHX_ENGINE_JOB_HELD, /* waits, but not for nodes */
	PHX_ENGINE_JOB_RUNNING,
	PHX_ENGINE_JOB_ENDING, /* still on its nodes */
	PHX_ENGINE_JOB_DONE,
	PHX_ENGINE_JOB_FAILED,
	PHX_ENGINE_JOB_CANCELLED,
};
extern const struct phx_enum phx_engine_job_state_names;

/** A node that a job has. */
#define PHX_ENGINE_HOST_FIELDS(F, S) F(S, node, STR(PHX_NAME_MAX))
PHX_RECORD_STRUCT(phx_engine_host, PHX_ENGINE_HOST_FIELDS);

/** A job as an external engine reports it. */
#define PHX_ENGINE_JOB_FIELDS(F, S) \
	F(S, id, STR(32)) /* its name in the engine, as people know it */ \
	F(S, user, STR(PHX_NAME_MAX)) \
	F(S, uid, U32) \
	F(S, state, ENUM(phx_engine_job_state)) \
	F(S, nodes, U32) /* wanted */ \
	F(S, submitted_ms, I64) \
	F(S, started_ms, I64) /* of the present run; both by the engine's clock */ \
	F(S, limit_ms, I64)   /* 0 = none */ \
	/* WAITING, HELD: the begin time that the job waits for, by the engine's clock; 0 = it \
	 * waits for something else */ \
	F(S, begin_ms, I64) \
	F(S, restarts, U32) \
	F(S, no_requeue, BOOL)             /* cannot run again: a kill ends it for good */ \
	F(S, status, I64)                  /* exit status, if it has ended */ \
	F(S, hosts, LIST(phx_engine_host)) /* RUNNING, ENDING */
PHX_RECORD_STRUCT(phx_engine_job, PHX_ENGINE_JOB_FIELDS);

/** Indices of an array: from, from + step, ... up to `to`. */
#define PHX_INDEX_ROW_FIELDS(F, S) \
	F(S, from, U32) \
	F(S, to, U32) \
	F(S, step, U32)
PHX_RECORD_STRUCT(phx_index_row, PHX_INDEX_ROW_FIELDS);

/** A file that a trigger waits for: it is there with this digest, or it is gone. */
#define PHX_TRIGGER_FILE_FIELDS(F, S) \
	F(S, path, TEXT)              /* relative to the watched directory */ \
	F(S, digest, STR(65))         /* as in a cause: flow/trigger.h */ \
	F(S, old, BOOL)               /* it was there before the trigger */ \
	F(S, gone, STR(PHX_SEEN_KEY)) /* not "": the file is gone; key of its path, flow/seen.h */
PHX_RECORD_STRUCT(phx_trigger_file, PHX_TRIGGER_FILE_FIELDS);
#define PHX_TRIGGER_ROWS_MAX 256 /* of one event */

/* ---- payloads: PHX_EVENT_FIELDS_name is struct phx_event_name ---- */

/* no members: the event's head says everything */
#define PHX_EVENT_FIELDS_none(F, S)

#define PHX_EVENT_FIELDS_site(F, S) F(S, settings, REC(phx_settings))
/* the version as a whole, without by and at_ms, which are the event's */
#define PHX_EVENT_FIELDS_site_apply(F, S) \
	F(S, digest, STR(65)) \
	F(S, users, U32) \
	F(S, groups, U32) \
	F(S, files, U32) \
	F(S, portion, U32) /* how many nodes are told at once; 0 = all, as in older journals */ \
	F(S, max_failed, U32) \
	/* each node in at most one; none in older journals */ \
	F(S, protects, LIST(phx_protect_group))
/* the portion of nodes that was told the settings has applied them, or failed */
#define PHX_SITE_FAILURE_FIELDS(F, S) \
	F(S, node, STR(PHX_NAME_MAX)) \
	F(S, why, STR(160))
PHX_RECORD_STRUCT(phx_site_failure, PHX_SITE_FAILURE_FIELDS);
#define PHX_SITE_FAILURES_MAX 64 /* of one event; more are counted alone */
#define PHX_EVENT_FIELDS_site_portion(F, S) \
	F(S, digest, STR(65)) /* of which settings */ \
	F(S, from, U64)       /* of which portion */ \
	F(S, n_failed, U32) \
	F(S, failures, LIST(phx_site_failure))
#define PHX_EVENT_FIELDS_pool(F, S) F(S, pool_put, REC(phx_pool))
#define PHX_EVENT_FIELDS_role(F, S) \
	F(S, role_put, REC(phx_role)) \
	/* refuse it if an image or package would become older without permission; false in older \
	 * journals */ \
	F(S, not_older, BOOL)
/* all trusted keys */
#define PHX_EVENT_FIELDS_package_keys(F, S) F(S, keys, LIST(phx_trusted_key))
/* the image that machines are started with from now on */
#define PHX_EVENT_FIELDS_deploy_image(F, S) \
	F(S, name, STR(PHX_NAME_MAX)) \
	F(S, version, STR(PHX_NAME_MAX)) \
	F(S, may_be_older, BOOL)           /* the configuration allows this older version */ \
	F(S, kernel, STR(PHX_RELEASE_MAX)) /* its release; "" in older journals */
#define PHX_EVENT_FIELDS_rules_put(F, S) F(S, rules, LIST(phx_rule))
/* name of the pool or role; node_accept: the node's new name, or "" */
#define PHX_EVENT_FIELDS_named(F, S) F(S, name, STR(PHX_NAME_MAX))

/* what identifies a machine */
#define PHX_EVENT_MACHINE(F, S) \
	F(S, macs, LIST(phx_mac)) \
	PHX_TOLD_MACHINE_FIELDS(F, S) \
	F(S, token_sha256, STR(65))

#define PHX_EVENT_FIELDS_node_add(F, S) \
	PHX_EVENT_MACHINE(F, S) \
	F(S, ip, STR(46)) \
	F(S, hold, BOOL) \
	F(S, bmc, REC(phx_bmc))

#define PHX_EVENT_FIELDS_enrol(F, S) \
	PHX_EVENT_MACHINE(F, S) \
	F(S, name, STR(PHX_NAME_MAX)) /* for a machine that nobody announced */ \
	F(S, key_fp, STR(72)) \
	/* the start whose token the machine showed, checked by phxd; 0 = none */ \
	F(S, start, U64) \
	/* the request came from the head itself: over loopback or from one of its own \
	 * addresses */ \
	F(S, local, BOOL) \
	F(S, local_ok, BOOL) /* the head's configuration lets machines enrol so */ \
	/* where the request came from; "" in older journals, whose machines were checked less \
	 * strictly */ \
	F(S, address, STR(64)) \
	/* a machine that comes with the key which the node has already adds no MAC addresses: the \
	 * node's owner has that key, too; false in older journals */ \
	F(S, macs_by_start, BOOL) \
	PHX_TOLD_BOOT_FIELDS(F, S) /* for people */

#define PHX_EVENT_FIELDS_node_bmc(F, S) \
	F(S, bmc, REC(phx_bmc)) \
	/* its members that are changed; none: all, as in older journals */ \
	F(S, only, LIST(phx_word))

/* what is known of the machine is changed by hand */
#define PHX_EVENT_FIELDS_node_edit(F, S) \
	F(S, macs, LIST(phx_mac)) /* in place of all; none: as they are */ \
	F(S, has_serial, BOOL)    /* `serial` is changed; "": it has none */ \
	F(S, serial, STR(64)) \
	F(S, has_ip, BOOL) /* the same of `ip` */ \
	F(S, ip, STR(46))

#define PHX_EVENT_FIELDS_node_label(F, S) \
	F(S, labels, LIST(phx_label)) /* to add, or to give another value */ \
	F(S, unlabel, LIST(phx_word)) /* keys to remove, before `labels` are added */

#define PHX_EVENT_FIELDS_report(F, S) \
	PHX_TOLD_RUNS_FIELDS(F, S) \
	F(S, ca, STR(72)) /* fingerprint of the CA of its certificate; "" in older journals */

#define PHX_EVENT_FIELDS_hello(F, S) \
	PHX_TOLD_BOOT_FIELDS(F, S) \
	F(S, address, STR(64)) /* where it came from */ \
	PHX_TOLD_HELLO_RUN_FIELDS(F, S) \
	F(S, facts, REC(phx_facts))

/* the agent asked over a connection that its present key secures */
#define PHX_EVENT_FIELDS_rekey(F, S) \
	F(S, step_id, U64) \
	PHX_TOLD_REKEY_RUN_FIELDS(F, S) \
	F(S, key_fp, STR(72)) \
	F(S, address, STR(64)) /* where it came from */

#define PHX_EVENT_FIELDS_inventory(F, S) F(S, facts, REC(phx_facts))

/* an order of a person on a node */
#define PHX_EVENT_FIELDS_order(F, S) \
	F(S, role, STR(PHX_NAME_MAX)) \
	F(S, pool, STR(PHX_NAME_MAX)) \
	F(S, has_setup, BOOL) /* a setup was asked for by hand */ \
	F(S, setup, REC(phx_setup)) \
	F(S, encrypt, BOOL) \
	F(S, pin, BOOL) \
	F(S, power_cycle, BOOL) \
	F(S, force, BOOL) \
	F(S, jobs, ENUM(phx_jobs_say))   /* may the order end jobs? */ \
	F(S, may_end, LIST(phx_job_ref)) /* NAMED; by id, ascending */ \
	F(S, has_grace, BOOL)            /* a job may go on for grace_ms, and is then killed */ \
	F(S, grace_ms, U32) \
	F(S, op, ENUM(phx_power_op)) /* power; none in older journals, whose `text` names it */ \
	F(S, when_idle, BOOL)        /* reboot: a job is waited for, however long it takes */ \
	F(S, line, U64)              /* reboot: of the line that it joins; 0 = at once */ \
	F(S, line_most, U32)         /* nodes of the line that may be away at once */ \
	F(S, until_ms, I64)          /* drain: the maintenance ends then by itself; 0 = never */ \
	F(S, with, STR(32))          /* check: of which parts, as in "cpu,disk"; "" = all */ \
	F(S, for_s, U32)             /* check: how long each part is loaded; 0 = by default */

/* the result of a step of a plan, of a power operation or of the destruction of a key */
#define PHX_EVENT_FIELDS_answer(F, S) \
	F(S, step_id, U64) \
	PHX_TOLD_STEP_RUN_FIELDS(F, S)     /* text: the error */ \
	F(S, power, ENUM(phx_power_state)) /* power_result */ \
	F(S, op, ENUM(phx_power_op))       /* power_result: of what; older journals do not say */ \
	F(S, name, STR(PHX_NAME_MAX))      /* key_result without step: key id */ \
	/* wipe done: what was erased and read back, for the signed record */ \
	F(S, erased_disk, STR(160)) \
	F(S, setup, REC(phx_setup)) /* the method that was ordered */ \
	F(S, erased_bytes, U64) \
	F(S, verified_bytes, U64) \
	/* with what the deploy environment signed about it, and the TPM's quote for that: phxd \
	 * says here what it thinks of either */ \
	PHX_ERASED_FIELDS(F, S) \
	F(S, cert, TEXT) /* of `signer`, in PEM; NULL if there is none, and in older journals */ \
	/* without a quote that is for just this, 0 and "" */ \
	F(S, tpm_resets, U32) \
	F(S, tpm_sum, STR(65)) /* SHA-256 of the TPM's registers */ \
	/* a step of a check done: what came of it */ \
	F(S, has_check, BOOL) \
	F(S, check, REC(phx_check))

#define PHX_EVENT_FIELDS_job_submit(F, S) \
	/* the number that the job was given, for people: a replay numbers it again */ \
	F(S, job, U64) \
	F(S, job_nodes, U32) \
	F(S, must_fit, BOOL) /* refuse it if no present node could ever run it */ \
	F(S, hold, BOOL)     /* hold it until it is released */ \
	/* refuse it if its user is no member of the RE; not set for an administrator, nor in \
	 * journals from before there were members */ \
	F(S, must_be_member, BOOL) \
	/* the user's group that makes him a member; "" = his own name does */ \
	F(S, group, STR(PHX_NAME_MAX)) \
	/* identity of the person who submits it, which may also make him a member; "" in older \
	 * journals */ \
	F(S, identity, STR(PHX_IDENTITY_MAX)) \
	/* the rows of an array, in order: a member for each index */ \
	F(S, array_rows, LIST(phx_index_row)) \
	/* the only row, in events from before there were several; step 0: none */ \
	F(S, array_from, U32) \
	F(S, array_to, U32) \
	F(S, array_step, U32) \
	F(S, array_at_once, U32) /* how many members run at a time; 0 = any number */ \
	F(S, uid, U32) \
	F(S, gid, U32) \
	F(S, user, STR(PHX_NAME_MAX)) \
	F(S, argv, LIST(phx_text)) \
	F(S, job_env, LIST(phx_text)) /* "NAME=value" */ \
	F(S, script, TEXT)            /* NULL, or a program text that runs in place of argv[0] */ \
	F(S, estimate_ms, I64) \
	F(S, no_requeue, BOOL) \
	F(S, grace_ms, U32) /* from SIGTERM to SIGKILL; 0 = 5 s */ \
	F(S, checkpoint_signal, U32) \
	F(S, checkpoint_ms, U32) \
	F(S, chdir, STR(256)) /* absolute, or "" */ \
	F(S, stage_in, LIST(phx_word)) \
	F(S, stage_out, LIST(phx_word))

#define PHX_EVENT_FIELDS_job_order(F, S) \
	F(S, job, U64) \
	F(S, job_last, U64) /* job_cancel: cancel all from `job` to this one; 0 = only `job` */ \
	F(S, hold, BOOL)    /* job_hold: hold it until it is released; false: release it */

#define PHX_EVENT_FIELDS_job_result(F, S) \
	F(S, job, U64) \
	PHX_TOLD_JOB_RUN_FIELDS(F, S) /* text: the error */

/* who: what the person who asks is to this RE */
#define PHX_EVENT_FIELDS_ask(F, S) \
	F(S, who, ENUM(phx_re_who)) \
	/* re_create: without a name, the request that `re` names is granted */ \
	F(S, agreement, REC(phx_agreement))

#define PHX_EVENT_FIELDS_re_order(F, S) \
	F(S, who, ENUM(phx_re_who)) \
	F(S, jobs, ENUM(phx_jobs_say)) /* re_deactivate: may it end jobs? */ \
	/* re_deactivate: the RE's history gets the number of jobs that end; false in older \
	 * journals */ \
	F(S, tells, BOOL) \
	F(S, may_end, LIST(phx_job_ref)) /* NAMED; by id, ascending */

#define PHX_EVENT_FIELDS_re_use(F, S) \
	F(S, who, ENUM(phx_re_who)) \
	F(S, use_ppm, U32) /* CPU use of one instance, millionths of its share */

/* what changed since the last report; text: why nothing is known any more */
#define PHX_EVENT_FIELDS_re_queue(F, S) \
	F(S, whole, BOOL) /* a complete report: what it does not name is gone */ \
	F(S, engine_jobs, LIST(phx_engine_job)) \
	F(S, engine_nodes, LIST(phx_engine_node)) \
	/* `ours`: closed by a drain, which may be our own */ \
	F(S, engine_partitions, LIST(phx_engine_node))

#define PHX_EVENT_FIELDS_cert_revoke(F, S) \
	F(S, serial, STR(64))         /* the certificate's serial number */ \
	F(S, name, STR(PHX_NAME_MAX)) /* its owner's name, or "" */

/* who: what the person who asks is to this RE. Lists of words separated by blanks: identities, and
 * group:NAME for a group of the head */
#define PHX_EVENT_FIELDS_re_members(F, S) \
	F(S, who, ENUM(phx_re_who)) \
	F(S, add, STR(PHX_MEMBERS_MAX)) \
	F(S, remove, STR(PHX_MEMBERS_MAX))

/* grants or revokes a role, or the login of a certificate */
#define PHX_EVENT_FIELDS_access(F, S) \
	F(S, identity, STR(PHX_IDENTITY_MAX)) \
	F(S, role, ENUM(phx_who)) \
	/* not "": the certificate works as this user of the head */ \
	F(S, login, STR(PHX_NAME_MAX)) \
	F(S, revoke, BOOL)

/* the identity that the head found for an owner who was written without a kind */
#define PHX_EVENT_FIELDS_identity(F, S) \
	F(S, word, STR(PHX_NAME_MAX)) \
	F(S, identity, STR(PHX_IDENTITY_MAX))

#define PHX_EVENT_FIELDS_notice(F, S) \
	/* number of job ids that lost events may have given */ \
	F(S, skip_jobs, U64)

/* phxd keeps the text of the workflow in the file of its digest; who may submit: as in
 * job_submit */
#define PHX_EVENT_FIELDS_workflow_submit(F, S) \
	F(S, name, STR(PHX_NAME_MAX)) \
	F(S, digest, STR(65)) \
	F(S, n_tasks, U32) \
	F(S, shape, LIST(phx_text)) /* flow/shape.h */ \
	F(S, hold, BOOL) \
	F(S, must_be_member, BOOL) \
	F(S, group, STR(PHX_NAME_MAX)) \
	F(S, identity, STR(PHX_IDENTITY_MAX)) \
	F(S, uid, U32) \
	F(S, gid, U32) \
	F(S, user, STR(PHX_NAME_MAX))

#define PHX_EVENT_FIELDS_workflow_order(F, S) \
	F(S, workflow, U64) \
	/* resume: are outputs still what they were? Older journals do not ask */ \
	F(S, check, BOOL)

/* counted are tasks that the node was given and that run; other rows are ignored */
#define PHX_EVENT_FIELDS_task_results(F, S) F(S, rows, LIST(phx_task_result))

/* phxd keeps the workflows of its runs in the files of their digests; who may: as in
 * workflow_submit */
#define PHX_EVENT_FIELDS_trigger_create(F, S) \
	F(S, name, STR(PHX_NAME_MAX)) \
	F(S, trigger_kind, ENUM(phx_trigger_kind)) \
	PHX_TRIGGER_USER_FIELDS(F, S) \
	PHX_TRIGGER_HOW_FIELDS(F, S) \
	F(S, workflow, STR(PHX_NAME_MAX)) \
	F(S, flow, REC(phx_trigger_flow)) \
	F(S, look, REC(phx_trigger_flow)) \
	F(S, token_sha256, STR(65))

/* trigger_hook: `what` is the caller; `once`: ignore the call if one with this digest came
 * lately */
#define PHX_EVENT_FIELDS_trigger_order(F, S) \
	F(S, trigger, U64) \
	F(S, what, STR(96)) \
	F(S, digest, STR(65)) \
	F(S, once, BOOL)

/* what the watcher saw since the last such event */
#define PHX_EVENT_FIELDS_trigger_files(F, S) \
	F(S, trigger, U64) \
	F(S, rows, LIST(phx_trigger_file))

#define PAYLOAD(name) PHX_RECORD_STRUCT(phx_event_##name, PHX_EVENT_FIELDS_##name);
#include "state/event.def"

/** The payload of a kind: PHX_PAYLOAD_order is member `order` of the event, and so on. */
enum phx_payload {
#define PAYLOAD(name) PHX_PAYLOAD_##name,
#include "state/event.def"
};
enum phx_payload phx_event_payload(enum phx_event_kind kind);

/* ---- the event ---- */

/** The head: the members of every event, whatever its kind. */
#define PHX_EVENT_HEAD_FIELDS(F, S) \
	F(S, kind, ENUM(phx_event_kind)) \
	F(S, now_ms, I64)             /* core time: milliseconds, never goes back */ \
	F(S, by, STR(PHX_NAME_MAX))   /* who asked: "uid:0", "node:n1", "phxd" */ \
	F(S, node, STR(PHX_NAME_MAX)) /* the node that the event is about, or "" */ \
	F(S, re, STR(PHX_NAME_MAX))   /* the RE, or ""; for a job: the RE in whose queue it is */ \
	/* reason, error or observation, in words */ \
	F(S, text, STR(256)) \
	/* The number that the head drew at its start, above the one before; 0 in older journals. \
	 * Step ids and epochs go on above it, so that none is used again after a journal was \
	 * restored. */ \
	F(S, incarnation, U64) \
	/* A random number, up to INT64_MAX, for what nobody may know before (phx_draw()); 0 = \
	 * none: an event of an older journal, or one that did not use it. */ \
	F(S, random, U64)
struct phx_event_head {
	PHX_MEMBERS(phx_event_head, PHX_EVENT_HEAD_FIELDS)
};

/** One event. Only the payload of its kind may be touched: code that does names the kind, or says
 * PHX_CARRIES(); tests/check-events proves it. */
struct phx_event {
	union {
		struct phx_event_head head;
		struct {
			PHX_MEMBERS(phx_event_head, PHX_EVENT_HEAD_FIELDS)
		};
	};
	union {
#define PAYLOAD(name) struct phx_event_##name name;
#include "state/event.def"
	};
};
/** Assert that event `ev` carries payload `name`; another payload is a bug of the caller. */
#define PHX_CARRIES(ev, name) \
	assert(phx_event_payload((enum phx_event_kind)(ev)->kind) == PHX_PAYLOAD_##name)
/** The table of events. A member of another kind's payload reads as if it were absent. */
extern const struct phx_record phx_event_record;
void phx_event_fini(struct phx_event *ev);

/* ---- what comes of it ---- */

enum phx_action_kind {
	PHX_ACT_ORDER,    /* the node has new orders: wake its long poll */
	PHX_ACT_POWER,    /* op */
	PHX_ACT_KEY_MAKE, /* key_id */
	/* key_id; with step_id 0 the answer is a key_result with the key id as name */
	PHX_ACT_KEY_DESTROY,
	PHX_ACT_ERASED, /* write a signed erase record (in the same transaction) */
	/* write the attestation of the hand-over that ends with this erase: of the erases from step
	 * first_id to step_id */
	PHX_ACT_ATTEST,
	PHX_ACT_DHCP, /* host entries changed */
	PHX_ACT_NOTE, /* a sentence for `phx events` */
};
extern const struct phx_enum phx_action_kind_names;

#define PHX_ACTION_FIELDS(F, S) \
	F(S, kind, ENUM(phx_action_kind)) \
	F(S, node, STR(PHX_NAME_MAX)) \
	F(S, step_id, U64) /* identifies a repeated action; 0 for hints */ \
	F(S, epoch, U64) \
	F(S, key_id, STR(PHX_NAME_MAX)) \
	F(S, disk, STR(160)) \
	F(S, method, ENUM(phx_wipe_method)) \
	F(S, size_bytes, U64) \
	F(S, verified_bytes, U64) \
	F(S, verify, ENUM(phx_verify)) /* erased: how much was to be read back */ \
	F(S, nonce, U64)               /* erased: that of the attempt */ \
	/* erased: as in the answer; attest: `tpm` of the last erase */ \
	PHX_ERASED_FIELDS(F, S) \
	F(S, from_owner, STR(PHX_IDENTITY_MAX)) /* owner of the erased data */ \
	F(S, to_owner, STR(PHX_IDENTITY_MAX))   /* next owner of the node; "" = none yet */ \
	F(S, first_id, U64)                     /* attest: step of the first erase */ \
	F(S, reset, STR(16))                    /* attest: pki/attestation.h */ \
	F(S, reset_ms, I64) \
	F(S, ordered_by, STR(PHX_IDENTITY_MAX)) /* attest: who ordered the plan */
/* of a power operation */
#define PHX_ACTION_POWER_FIELDS(F, S) F(S, op, ENUM(phx_power_op), AS(text))
/* of all others */
#define PHX_ACTION_WORDS_FIELDS(F, S) \
	F(S, text, STR(256)) \
	F(S, re, STR(PHX_NAME_MAX)) \
	F(S, other_re, STR(PHX_NAME_MAX)) /* a note belongs to the history of this RE and of `re` */
PHX_RECORD_STRUCT(phx_action_power, PHX_ACTION_POWER_FIELDS);
PHX_RECORD_STRUCT(phx_action_words, PHX_ACTION_WORDS_FIELDS);
/** One action. Only the members of its kind may be touched. */
struct phx_action {
	PHX_MEMBERS(phx_action, PHX_ACTION_FIELDS)
	union {
		struct {
			PHX_MEMBERS(phx_action_power, PHX_ACTION_POWER_FIELDS)
		};
		struct {
			PHX_MEMBERS(phx_action_words, PHX_ACTION_WORDS_FIELDS)
		};
	};
};
extern const struct phx_record phx_action_record;

/** The answer to an enrolment. */
enum phx_enrol_answer { PHX_ENROL_PENDING, PHX_ENROL_CERTIFY, PHX_ENROL_REFUSED };

/** A step of a hand-over that ended within an event: for metrics, and in no record. */
struct phx_step_end {
	char node[PHX_NAME_MAX];
	int kind;        /* enum phx_step_kind */
	int method;      /* wipe: enum phx_wipe_method, as ordered */
	bool failed;     /* an attempt of it; else it is done */
	int64_t took_ms; /* this attempt */
	/* the plan is done with it: its setup policy (enum phx_setup_mode), how long all took, and
	 * each kind of step in it */
	bool last;
	int mode;
	int64_t plan_ms, took_of_ms[PHX_STEP_COUNT_];
};

struct phx_outcome {
	struct phx_list actions; /* struct phx_action */
	struct phx_list ended;   /* struct phx_step_end; what had no memory is missing */
	char node[PHX_NAME_MAX]; /* enrol: the node that the machine is; node_add: the new node */
	int enrol;               /* enum phx_enrol_answer */
	uint64_t job;            /* job_submit: its id */
	uint64_t workflow;       /* workflow_submit: its number */
	uint64_t trigger;        /* trigger_create: its number */
	bool changed;            /* false: the event changed nothing */
	bool drew;               /* the event's random number was used */
	char text[256];
	/* of a refused event: the node that was about to take a state that no table lists; or "" */
	char never[PHX_NAME_MAX];
	/* -ENOMEM as soon as something could not be stored, -EPROTO when something cannot be;
	 * callers of the core never see it */
	int error;
};
void phx_outcome_fini(struct phx_outcome *o);

#endif
