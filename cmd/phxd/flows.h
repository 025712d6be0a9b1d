/* What workflows run, and what of it nodes were told. Included by daemon.h. */
#ifndef PHXD_FLOWS_H
#define PHXD_FLOWS_H

#include "flow/flow.h"
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

enum { FLOW_TEXT_MAX_MB = 64 }; /* of one workflow, as text */

/** Texts of runs that are forgotten are removed. */
int flows_new(struct daemon *d, struct flows **ret);
void flows_free(struct flows *f);
/** Read the file `path` (WfFormat) and its digest. -EFBIG, and as phx_wfformat_read(). Owned:
 * phx_flow_fini(). */
int flows_read(const char *path, char ret_digest[PHX_SHA256_HEX], struct phx_flow *ret,
	       struct phx_err *err);
/** The file `from` becomes the text of that digest; twice is once. */
int flows_keep(struct flows *f, const char *from, const char *digest, struct phx_err *err);
/** Where it is: malloc'd, NULL on ENOMEM. */
char *flows_path(const struct flows *f, const char *digest);
/** The workflow of that digest, until flows_unlock(); NULL with a text: it cannot be read, and
 * there is nothing to unlock. */
const struct phx_flow *flows_lock(struct flows *f, const char *digest, struct phx_err *err);
void flows_unlock(struct flows *f);

#endif
