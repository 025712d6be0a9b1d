/* What workflows run, and what of it nodes were told. Included by daemon.h. */
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
/** Append the orders of tasks that the agent has not taken yet, as it says by `running` (struct
 * beat_running). Not under the engine's lock. */
void tasks_orders_put(struct tasks *t, const char *node, const struct phx_list *running,
		      struct phx_buf *b);

/* ---- flows.c ---- */

/* Of one workflow, as text; of one that is only looked at. */
enum { FLOW_TEXT_MAX_MB = 64, FLOW_LOOK_MAX_MB = 16 };

/** Texts of runs that are forgotten are removed. */
int flows_new(struct daemon *d, struct flows **ret);
void flows_free(struct flows *f);
/** Read the file `path` (WfFormat) and its digest. -EFBIG, and as phx_wfformat_read(). Owned:
 * phx_flow_fini(). */
int flows_read(const char *path, char ret_digest[PHX_SHA256_HEX], struct phx_flow *ret,
	       struct phx_err *err);
/** The same of a text, which ends with a NUL at n. */
int flows_read_text(const char *text, size_t n, char ret_digest[PHX_SHA256_HEX],
		    struct phx_flow *ret, struct phx_err *err);
/** The file `from` becomes the text of that digest; twice is once. If that went well, the caller
 * ends with flows_settle(). */
int flows_keep(struct flows *f, const char *from, const char *digest, struct phx_err *err);
int flows_keep_text(struct flows *f, const char *text, size_t n, const char *digest,
		    struct phx_err *err);
/** The engine has taken the run or trigger that the text was kept for (`r` is 0), or refused it
 * (-errno): a text that no run and no trigger has is removed, unless another caller keeps it. */
void flows_settle(struct flows *f, const char *digest, int r);
/** Where it is: malloc'd, NULL on ENOMEM. */
char *flows_path(const struct flows *f, const char *digest);
/** The workflow of that digest, until flows_unlock(); NULL with a text: it cannot be read, and
 * there is nothing to unlock. */
const struct phx_flow *flows_lock(struct flows *f, const char *digest, struct phx_err *err);
void flows_unlock(struct flows *f);

/* ---- flow_check.c ---- */

/** Tells each thing for which the head would refuse to carry it out: what phx_flow_check() tells,
 * and what an agent could not be told of a task. How many there were. */
uint32_t flow_check(const struct phx_flow *f, phx_flow_found_fn *found, void *arg);
/** The same of the first of them alone: -EINVAL with a text that names its line. */
int flow_check_first(const struct phx_flow *f, struct phx_err *err);

/* ---- api_flows.c ---- */

/** As whom workflows that somebody submits run, and by which right. */
struct flow_user {
	struct person_login login;
	bool must_be_member;
	char group[PHX_NAME_MAX];
	char identity[PHX_IDENTITY_MAX];
};
/** Of who asks, or of query argument `user`, who submits to that RE. False after answering. */
bool flow_user_find(struct daemon *d, struct phx_http_request *q, const char *re,
		    struct flow_user *ret);

/* ---- handlers of routes.def ---- */

/* May this body come? As in daemon.h. */
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
