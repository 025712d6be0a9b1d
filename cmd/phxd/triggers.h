/* Triggers: calls that fire them, and watching the files that they wait for. Included by daemon.h.
 */
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
/** Call it when no other thread uses `h`. Safe on NULL. */
void hooks_free(struct hooks *h);

enum { HOOK_TOKEN_MAX = 48 };
/** Makes a new token and its digest; only the digest is kept. -EIO. */
int hooks_token(char ret_token[HOOK_TOKEN_MAX], char ret_sha256[65]);

/* ---- watches.c: files that triggers wait for ---- */

enum { WATCH_TOLD_MAX = 240 };

int watches_new(struct daemon *d, struct watches **ret);
/** Ends the watchers. Safe on NULL. */
void watches_free(struct watches *w);
/** Triggers may have been made, removed or paused. Returns at once. */
void watches_tick(struct watches *w);
/** What people should know about the watch of trigger `id`; "": nothing, or there is none. */
void watches_told(struct watches *w, uint64_t id, char ret[WATCH_TOLD_MAX]);

/* ---- quota.c ---- */

/** May `n` bytes be journalled for this identity, without a request of its own? 0 after counting
 * them, else the seconds after which they may. */
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
