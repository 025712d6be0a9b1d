/* Triggers: what calls them, and who watches files for them. Included by daemon.h. */
#ifndef PHXD_TRIGGERS_H
#define PHXD_TRIGGERS_H

#include <stdint.h>

#include "base/util.h"

struct daemon;
struct phx_http_request;
struct quota;
struct hooks;   /* hooks.c */
struct watches; /* watches.c */

/* ---- hooks.c: calls of /hook/NAME ---- */

int hooks_new(struct daemon *d, struct hooks **ret);
/** When nobody asks any more. Safe on NULL. */
void hooks_free(struct hooks *h);

enum { HOOK_TOKEN_MAX = 48 };
/** A new token, and its digest, which is all that is kept of it. -EIO. */
int hooks_token(char ret_token[HOOK_TOKEN_MAX], char ret_sha256[65]);

/* ---- watches.c: files that triggers wait for ---- */

enum { WATCH_TOLD_MAX = 240 };

int watches_new(struct daemon *d, struct watches **ret);
/** Ends the watchers. Safe on NULL. */
void watches_free(struct watches *w);
/** Something happened: triggers may have come, gone, or been paused. Returns at once. */
void watches_tick(struct watches *w);
/** What is to say of the watch of a trigger; "" there is none. */
void watches_told(struct watches *w, uint64_t id, char ret[WATCH_TOLD_MAX]);

/* ---- quota.c ---- */

/** May `n` bytes be journalled for this identity, which does not ask for it now? Counts them. 0, or
 * the seconds after which they may. */
int64_t quota_take(struct quota *u, const char *identity, int64_t n);

/* ---- handlers of routes.def ---- */

/* api_triggers.c */
void api_triggers(struct phx_http_request *q, void *arg);
void api_trigger_create(struct phx_http_request *q, void *arg);
void api_trigger(struct phx_http_request *q, void *arg);
void api_trigger_text(struct phx_http_request *q, void *arg);
void api_trigger_order(struct phx_http_request *q, void *arg);
/* hooks.c */
void api_hook(struct phx_http_request *q, void *arg);

#endif
