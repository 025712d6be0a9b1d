/* The portal: its pages (portal.c), and signing in with a browser (api_portal.c). Included by
 * daemon.h. */
#ifndef PHXD_PORTAL_H
#define PHXD_PORTAL_H

#include "config/config.h"
#include "http/http.h"

struct portal;

/** Reads the pages (portal_dir) into memory; call it before rights are given up. Pages that are
 * missing are answered with 404. -ENOMEM. */
int portal_new(const struct phx_config *cfg, struct portal **ret);
/** Safe on NULL. */
void portal_free(struct portal *p);
/** A list of the files whose names hold their digests, new reference: an open page whose files are
 * not in it is outdated. NULL on ENOMEM. */
json_t *portal_names(const struct portal *p);

/* ---- passwords.c ---- */

struct daemon;
struct passwords;
struct feed;

/** Answers `q` with a session of user `name`, whose password was right. */
typedef void (*session_begin_fn)(struct daemon *d, struct phx_http_request *q, const char *name);

/** `ret` is NULL if portal_pam is off. */
int passwords_new(struct daemon *d, session_begin_fn begin, struct passwords **ret);
/** Answers all waiting attempts; none is accepted after that. */
void passwords_stop(struct passwords *p);
/** Safe on NULL. */
void passwords_free(struct passwords *p);
/** Answers `q`, now or later: with a session if PAM accepts name and password, which the caller
 * must wipe. `p` NULL: this way to sign in is off. */
void passwords_take(struct passwords *p, struct phx_http_request *q, const char *name,
		    const char *password);

/* ---- api_portal.c ---- */

/** A session_begin_fn. */
void session_begin_as(struct daemon *d, struct phx_http_request *q, const char *name);
/** For phx_http_server_config.moved: journals that a session changed its address. */
void session_moved(void *arg, const struct phx_http_peer *peer, const char *from);

/* ---- feed.c ---- */

int feed_new(struct daemon *d, struct feed **ret, struct phx_err *err);
/** Events up to `seq` were committed; 0: rights have changed. On any thread; costs nothing while no
 * browser reads. */
void feed_wake(struct feed *f, uint64_t seq);
/** Ends all streams; no other begins. */
void feed_stop(struct feed *f);
/** Call it after the HTTP server has ended. Safe on NULL. */
void feed_free(struct feed *f);

/* all: phx_http_handler with arg = struct daemon */
void api_feed(struct phx_http_request *q, void *arg);
void api_portal(struct phx_http_request *q, void *arg);
void api_portal_page(struct phx_http_request *q, void *arg);
void api_portal_file(struct phx_http_request *q, void *arg);
void api_portal_link(struct phx_http_request *q, void *arg);
void api_portal_sign_out(struct phx_http_request *q, void *arg);
void api_session(struct phx_http_request *q, void *arg);
void api_session_begin(struct phx_http_request *q, void *arg);
void api_session_end(struct phx_http_request *q, void *arg);
void api_sessions(struct phx_http_request *q, void *arg);
void api_sessions_end(struct phx_http_request *q, void *arg);

#endif
