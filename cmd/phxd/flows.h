/* Texts of workflows, and the orders of tasks to nodes. Included by daemon.h. */
#ifndef PHXD_FLOWS_H
#define PHXD_FLOWS_H

#include "flow/flow.h"
#include "phxd/people.h"
#include "pki/pki.h"

struct daemon;
struct flows; /* flows.c */
struct tasks; /* tasks.c */

/* ---- tasks.c ---- */

int tasks_new(struct daemon *d, struct tasks **ret);
/** Safe on NULL, as flows_free(). */
void tasks_free(struct tasks *t);
/** Appends orders for the tasks that the agent has not taken yet, according to `running` (struct
 * beat_running). Not under the engine's lock. */
void tasks_orders_put(struct tasks *t, const char *node, const struct phx_list *running,
		      struct phx_buf *b);

/* ---- flows.c ---- */

/* Size of a workflow's text; of one that is only checked or converted. */
enum { FLOW_TEXT_MAX_MB = 64, FLOW_LOOK_MAX_MB = 16 };

/** Also removes texts that no run and no trigger has. */
int flows_new(struct daemon *d, struct flows **ret);
void flows_free(struct flows *f);
/** Reads the file `path` (WfFormat) and its digest. -EFBIG, and as phx_wfformat_read(). Owned by
 * the caller: phx_flow_fini(). */
int flows_read(const char *path, char ret_digest[PHX_SHA256_HEX], struct phx_flow *ret,
	       struct phx_err *err);
/** The same from a text with a NUL at n. */
int flows_read_text(const char *text, size_t n, char ret_digest[PHX_SHA256_HEX],
		    struct phx_flow *ret, struct phx_err *err);
/** Keeps the file `from` (flows_keep_text(): a text) as the text of `digest`; safe twice. After
 * success the caller must call flows_settle(). */
int flows_keep(struct flows *f, const char *from, const char *digest, struct phx_err *err);
int flows_keep_text(struct flows *f, const char *text, size_t n, const char *digest,
		    struct phx_err *err);
/** Ends flows_keep(): the engine has accepted the run or trigger of the text (`r` is 0), or refused
 * it (-errno). In the latter case the text is removed if no run or trigger has it and no other
 * caller keeps it. */
void flows_settle(struct flows *f, const char *digest, int r);
/** The path of a text: malloc'd, NULL on ENOMEM. */
char *flows_path(const struct flows *f, const char *digest);
/** The workflow of that digest, borrowed until flows_unlock(). NULL, and nothing to unlock, if it
 * cannot be read: `err` says why. */
const struct phx_flow *flows_lock(struct flows *f, const char *digest, struct phx_err *err);
void flows_unlock(struct flows *f);

/* ---- flow_check.c ---- */

/** Calls `found` for each reason for which the head would refuse to run the workflow: the findings
 * of phx_flow_check(), and tasks that an order cannot hold. Returns how many there were. */
uint32_t flow_check(const struct phx_flow *f, phx_flow_found_fn *found, void *arg);
/** The first of these findings as an error: -EINVAL with a text that names its line. */
int flow_check_first(const struct phx_flow *f, struct phx_err *err);

/* ---- api_flows.c ---- */

/** The user as whom a submitted workflow runs, and why that is allowed. */
struct flow_user {
	struct person_login login;
	bool must_be_member;
	char group[PHX_NAME_MAX];
	char identity[PHX_IDENTITY_MAX];
};
/** Finds it for the asker, or for query argument `user`, who submits to RE `re`. False after
 * answering. */
bool flow_user_find(struct daemon *d, struct phx_http_request *q, const char *re,
		    struct flow_user *ret);

/* ---- handlers of routes.def ---- */

/* May this body be sent? As in daemon.h. */
bool workflow_may_post(struct phx_http_request *q, void *arg);
/* api_flows.c */
void api_workflow_submit(struct phx_http_request *q, void *arg);
void api_workflows(struct phx_http_request *q, void *arg);
void api_workflow(struct phx_http_request *q, void *arg);
void api_workflow_text(struct phx_http_request *q, void *arg);
void api_workflow_order(struct phx_http_request *q, void *arg);
void api_workflow_output(struct phx_http_request *q, void *arg);
void api_tasks(struct phx_http_request *q, void *arg);
void api_task_output(struct phx_http_request *q, void *arg);
/* flow_check.c */
void api_workflow_check(struct phx_http_request *q, void *arg);
void api_workflow_convert(struct phx_http_request *q, void *arg);

#endif
