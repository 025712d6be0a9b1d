/* What agents tell the head, and some of what it answers: one table a message. The agent fills the
 * struct and writes it by its record (base/json.h); phxd reads it by the same record, by
 * phx_json_to_message(). What of it goes into the journal is a run of members, PHX_..._FIELDS
 * without a struct of its own, of which the payload of the event (state/event.h) is made, in the
 * same order: a member is typed once. Members may be added, and none may change its name or its
 * meaning: agent and head may be of different versions, and a member that is absent is zero. Tables
 * only. Pure. */
#ifndef PHX_TYPES_TOLD_H
#define PHX_TYPES_TOLD_H

#include "types/check.h"
#include "types/erased.h"
#include "types/facts.h"
#include "types/node.h"

/* ---- what runs on the node: hello and beat ---- */

/** This start of the machine. */
#define PHX_TOLD_BOOT_FIELDS(F, S) \
	F(S, env, ENUM(phx_node_env)) \
	F(S, boot_id, STR(40))

/** The role that runs; "": none. */
#define PHX_TOLD_RUNS_FIELDS(F, S) \
	F(S, actual_role, STR(PHX_NAME_MAX)) \
	F(S, actual_identity, STR(200)) /* of what its image and packages are */ \
	F(S, healthy, BOOL)

/** What hello and beat have in common. */
#define PHX_TOLD_REPORT_FIELDS(F, S) \
	PHX_TOLD_BOOT_FIELDS(F, S) \
	PHX_TOLD_RUNS_FIELDS(F, S) \
	/* what keeps the node from serving, or, of a healthy node, what people should know */ \
	F(S, health_text, STR(160))
struct phx_told_report {
	PHX_MEMBERS(phx_told_report, PHX_TOLD_REPORT_FIELDS)
};

/** What the agent can do. One that does not say so is older, and is not asked for it. */
#define PHX_TOLD_SKILLS_FIELDS(F, S) \
	F(S, echoes, BOOL)    /* its answers carry the nonces of attempts */ \
	F(S, rekeys, BOOL)    /* it knows the step rekey */ \
	F(S, scratches, BOOL) /* it knows the step scratch */ \
	F(S, checker, BOOL)   /* and those of a check */ \
	F(S, protects, BOOL)  /* it says how disks are reached, and leaves protected ones alone */ \
	F(S, kernels, BOOL)   /* it starts kernels of images */ \
	F(S, layouts, BOOL)   /* it knows the step layout */ \
	F(S, shares, BOOL)    /* it takes some of the addresses of a table, and has several */

/** What of a hello is journalled, beside this start and the facts. */
#define PHX_TOLD_HELLO_RUN_FIELDS(F, S) \
	F(S, system_image, STR(PHX_NAME_MAX)) /* that is installed; "": none */ \
	F(S, system_digest, STR(65)) \
	PHX_TOLD_RUNS_FIELDS(F, S) \
	PHX_TOLD_SKILLS_FIELDS(F, S) /* `rekeys`: and proves, see below */ \
	F(S, kernel_word, STR(112))  /* phx.kernel of its command line */

enum { PHX_TOLD_VERSION_MAX = 32 };

/** The first message of an agent to a head: POST /v1/agent/hello. */
#define PHX_TOLD_HELLO_FIELDS(F, S) \
	PHX_TOLD_BOOT_FIELDS(F, S) \
	PHX_TOLD_HELLO_RUN_FIELDS(F, S) \
	F(S, health_text, STR(160)) \
	F(S, proves, BOOL) /* in the step rekey its key signs for the next one */ \
	/* of the agent; "": of before versions were told. No start of a system changes with it */ \
	F(S, version, STR(PHX_TOLD_VERSION_MAX)) \
	F(S, facts, REC(phx_facts))
PHX_RECORD_STRUCT(phx_told_hello, PHX_TOLD_HELLO_FIELDS);

/** A beat: POST /v1/agent/beat. It has two members more, which no table can have: "running", the
 * orders that the node has (agent/report.h), and "monitor", measurements of many makers. */
#define PHX_TOLD_BEAT_FIELDS(F, S) \
	PHX_TOLD_REPORT_FIELDS(F, S) \
	F(S, wait_ms, I64) /* how long the head may hold the answer */ \
	/* of the agent, as in its hello: a head that was started again hears no other one */ \
	F(S, version, STR(PHX_TOLD_VERSION_MAX))
PHX_RECORD_STRUCT(phx_told_beat, PHX_TOLD_BEAT_FIELDS);

/** The head's answer to a hello. Its words are texts, since a newer head may have others. Besides
 * there is "role", the role that the node is to have or null, which is read by itself: what is odd
 * in it must not keep the node from being registered. */
#define PHX_TOLD_WELCOME_FIELDS(F, S) \
	F(S, node, STR(PHX_NAME_MAX)) \
	/* to a deploy environment: "local", enter the system that is installed; or "wait" */ \
	F(S, boot, STR(16)) \
	F(S, disk_key_id, STR(PHX_NAME_MAX)) \
	F(S, beat_ms, I64) \
	F(S, state, STR(32)) /* of the node */ \
	/* "local": of the kernel that is promised for it; "": any */ \
	F(S, kernel_release, STR(PHX_RELEASE_MAX))
PHX_RECORD_STRUCT(phx_told_welcome, PHX_TOLD_WELCOME_FIELDS);

/* ---- who the machine is: enrol and rekey ---- */

/** What goes with a request for the next key: pki/next_key.h. */
#define PHX_NEXT_KEY_FIELDS(F, S) \
	F(S, signature, STR(PHX_STATEMENT_SIGNATURE_MAX)) /* by the former key; "": none */ \
	F(S, cert, STR(PHX_STATEMENT_CERT_MAX))           /* of the former key, PEM */
PHX_RECORD_STRUCT(phx_next_key, PHX_NEXT_KEY_FIELDS);

/** What the machine says that it is, beside its MAC addresses. */
#define PHX_TOLD_MACHINE_FIELDS(F, S) \
	F(S, serial, STR(64)) \
	F(S, uuid, STR(40))

/** What a certificate is asked for with. */
#define PHX_TOLD_ASK_FIELDS(F, S) \
	F(S, csr, TEXT) \
	F(S, start, STR(96)) /* token of the start that the head ordered; "": none */ \
	F(S, next, REC(phx_next_key))

/** POST /v1/agent/enrol. It has another member, "macs": a list of MAC addresses. */
#define PHX_TOLD_ENROL_FIELDS(F, S) \
	PHX_TOLD_ASK_FIELDS(F, S) \
	PHX_TOLD_MACHINE_FIELDS(F, S) \
	PHX_TOLD_BOOT_FIELDS(F, S) \
	F(S, token, STR(256)) /* that the node was announced with; "": none */
PHX_RECORD_STRUCT(phx_told_enrol, PHX_TOLD_ENROL_FIELDS);

/** Of which order the request is, beside its step. */
#define PHX_TOLD_REKEY_RUN_FIELDS(F, S) \
	F(S, epoch, U64) \
	F(S, nonce, U64) /* of the order that the agent followed */

/** POST /v1/agent/rekey, in the step rekey. */
#define PHX_TOLD_REKEY_FIELDS(F, S) \
	PHX_TOLD_ASK_FIELDS(F, S) \
	F(S, step_id, U64, AS(id)) \
	PHX_TOLD_REKEY_RUN_FIELDS(F, S)
PHX_RECORD_STRUCT(phx_told_rekey, PHX_TOLD_REKEY_FIELDS);

/** The answer to both. */
#define PHX_TOLD_CERTIFIED_FIELDS(F, S) \
	F(S, node, STR(PHX_NAME_MAX)) \
	F(S, cert, TEXT) \
	F(S, ca, TEXT) /* the CAs to be believed from now on, the one that signs first */
PHX_RECORD_STRUCT(phx_told_certified, PHX_TOLD_CERTIFIED_FIELDS);

/* ---- what came of orders: POST /v1/agent/result ---- */

enum phx_told_kind { PHX_TOLD_STEP, PHX_TOLD_JOB };
extern const struct phx_enum phx_told_kind_names;

/** What of the result of a step is journalled as it is told. */
#define PHX_TOLD_STEP_RUN_FIELDS(F, S) \
	F(S, epoch, U64) \
	F(S, attempt, U32) /* which one at the step; 0 = not known */ \
	F(S, nonce, U64)   /* of the order that the agent followed; 0 = none */ \
	F(S, result, I64)  /* 0 or negative errno */

/** A step. An agent leaves out what the step has not: `wipe` and `seal`, `quote`, `check`. */
#define PHX_TOLD_STEP_FIELDS(F, S) \
	F(S, kind, ENUM(phx_told_kind)) \
	F(S, step_id, U64, AS(id)) \
	PHX_TOLD_STEP_RUN_FIELDS(F, S) \
	F(S, text, TEXT) \
	F(S, wipe, REC(phx_wipe_result)) \
	F(S, seal, REC(phx_seal)) /* the deploy environment's signed statement of the wipe */ \
	F(S, quote, REC(phx_quote)) \
	F(S, check, REC(phx_check))
PHX_RECORD_STRUCT(phx_told_step, PHX_TOLD_STEP_FIELDS);

/** What ended a run of a job, as the agent reports it. */
enum phx_job_ended_by {
	PHX_ENDED_UNKNOWN,
	PHX_ENDED_ITSELF,
	PHX_ENDED_TOLD,
	PHX_ENDED_LIMIT,
	PHX_ENDED_HEARTBEAT_TIMEOUT
};
extern const struct phx_enum phx_job_ended_by_names;

/** What of the end of a run of a job is journalled as it is told. */
#define PHX_TOLD_JOB_RUN_FIELDS(F, S) \
	F(S, run, U32)    /* number of the run of the job */ \
	F(S, result, I64) /* exit status, or negative errno */ \
	/* the agent ended it by itself (timeout, drain of the node): it may run again */ \
	F(S, forced, BOOL) \
	F(S, ended_by, ENUM(phx_job_ended_by)) \
	F(S, cpu_ms, U64) \
	F(S, memory_peak_bytes, U64) \
	F(S, output_cut_bytes, U64)

/** A part of a job. */
#define PHX_TOLD_JOB_FIELDS(F, S) \
	F(S, kind, ENUM(phx_told_kind)) \
	F(S, job, U64, AS(id)) \
	PHX_TOLD_JOB_RUN_FIELDS(F, S) \
	F(S, text, TEXT)
PHX_RECORD_STRUCT(phx_told_job, PHX_TOLD_JOB_FIELDS);

#endif
