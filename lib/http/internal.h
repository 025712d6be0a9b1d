/* What the files of this room share. */
#ifndef PHX_HTTP_INTERNAL_H
#define PHX_HTTP_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <gnutls/abstract.h>
#include <microhttpd.h>

#include "http/guard.h"
#include "http/http.h"

#define PHX_HTTP_SEGMENTS_MAX 16
#define PHX_HTTP_PARAMS_MAX 2
#define PHX_HTTP_QUERY_MAX 32
#define PHX_HTTP_BODY_MAX (64u * 1024 * 1024) /* of an answer taken by the client */

/* ---- route.c ---- */

/** A request's path, cut at '/' and decoded piece by piece. */
struct phx_http_path {
	char *segments[PHX_HTTP_SEGMENTS_MAX]; /* owned */
	size_t n;
};
/** -EINVAL for what no route may see: bad escapes, control characters, "%2f", "." and "..", too
 * many segments. */
int phx_http_path_parse(const char *raw, struct phx_http_path *ret, struct phx_err *err);
void phx_http_path_fini(struct phx_http_path *p);
/** Does a route's pattern stand for this path? ret_params (malloc'd, NULL where unused) only when
 * true. False too on ENOMEM. */
bool phx_http_path_match(const char *pattern, const struct phx_http_path *p,
			 char *ret_params[PHX_HTTP_PARAMS_MAX]);
/** Percent-decode; malloc'd. -EINVAL for bad escapes and control characters, NUL included. */
int phx_http_decode(const char *s, size_t n, char **ret_text);

/* ---- range.c ---- */

enum phx_http_range { PHX_HTTP_RANGE_NONE, PHX_HTTP_RANGE_PART, PHX_HTTP_RANGE_BAD };

/** "bytes=a-b", "bytes=a-", "bytes=-n" (`s` may be NULL) of a file of `size` bytes. PART: ret_n
 * bytes from ret_from, all within the file; BAD: none of it is there. What is not understood,
 * several ranges among it, is NONE as the standard allows: the whole file is the answer. */
enum phx_http_range phx_http_range_parse(const char *s, uint64_t size, uint64_t *ret_from,
					 uint64_t *ret_n);
/** Is `etag` (quoted) in the list of If-None-Match? */
bool phx_http_etag_listed(const char *list, const char *etag);

/* ---- status.c ---- */

int phx_http_status_of(int code);
/** Name of an errno for the "code" member of an error answer; "EIO" for one not in the table. */
const char *phx_http_code_name(int code);

/* ---- server ---- */

struct phx_http_arg {
	char *name, *value;
};

/** One TCP or Unix connection; made when it is accepted, freed by libmicrohttpd's notification of
 * its end. */
struct phx_http_connection {
	struct phx_http_listener_state *listener;
	struct phx_http_peer peer;
	struct phx_http_entry entry; /* in the books of its listener */
	int fd;
	unsigned thread; /* of those of its listener, which serves it */
	bool cert_checked;
	uid_t signed_in; /* of a session that it brought last; (uid_t)-1 */
	int refused;     /* 0, or why its identity may have no more: each request is told so */
};

struct phx_http_request {
	struct phx_http_server *server;
	struct MHD_Connection *mhd;
	struct phx_http_connection *connection;
	const struct phx_http_route *route;   /* NULL: refused before any was found */
	struct phx_http_signed_in *signed_in; /* browser.c; NULL: no session */
	char method[16];
	char *path; /* as sent, without the query */
	char *params[PHX_HTTP_PARAMS_MAX];
	struct phx_list args; /* struct phx_http_arg */
	struct phx_buf body;
	size_t n_body;
	int body_error; /* negative errno: the rest is read and dropped */
	int spool_fd;
	char *spool_path;
	bool handled; /* the handler was called */
	int64_t began_us;
	unsigned claims[PHX_HTTP_CLAIMS];
	uint64_t spool_claim; /* bytes */
	/* under server->lock: */
	struct MHD_Response *response;
	bool constant; /* it is the server's */
	/* sent.c: of a file that is the answer: its bytes, and what was counted before them */
	bool sends;
	uint64_t sends_bytes, acked_before;
	uint32_t segments_before, again_before;
	struct phx_http_request *sends_prev, *sends_next; /* of the server's list */
	unsigned status;
	bool suspended;
	bool brief; /* no news may be told without a body; known once it is suspended */
	struct phx_http_request *next, *prev;
};

struct phx_http_listener_state {
	struct phx_http_server *server;
	enum phx_http_listener which;
	int fd;
	uint16_t port;
	struct phx_http_guard *guard;
	/* each with a thread of its own; of the Unix listener the second half is the
	 * administrators' */
	struct MHD_Daemon **daemons;
	unsigned n_daemons, next_daemon;
	/* accept.c */
	pthread_t acceptor;
	bool accepting;
	int stop_fd;
	pthread_mutex_t lock; /* of the next two */
	/* by descriptor: given to libmicrohttpd, not heard of yet */
	struct phx_http_connection **arrivals;
	size_t n_arrivals;
};

struct phx_http_server {
	const struct phx_http_route *routes;
	size_t n_routes;
	void *arg;
	char *unix_path, *spool_dir;
	struct phx_http_sessions *sessions;
	gid_t admin_gid;
	enum phx_http_rank (*rank)(void *arg, const struct phx_http_peer *peer);
	void (*moved)(void *arg, const struct phx_http_peer *peer, const char *from);
	void (*undated)(void *arg, const struct phx_http_peer *peer, const char *why);
	phx_http_sent_fn sent;
	void (*answered)(void *arg, const struct phx_http_route *route, unsigned status, int64_t us,
			 bool held);
	struct phx_http_listener_state listeners[PHX_HTTP_LISTENERS];
	struct phx_http_credential *_Atomic credential; /* credential.c: the newest */
	/* the hand-over of answers between threads, and the list of requests */
	pthread_mutex_t lock;
	pthread_cond_t drained;
	struct phx_http_request *requests, *sending;
	/* of phx_http_reply_all(), the second without a body */
	struct MHD_Response *constant, *constant_none;
	const char *constant_text;
};

/* Of who wants no body where it would tell nothing: RFC 7240. */
#define PHX_HTTP_PREFER "Prefer"
#define PHX_HTTP_PREFER_MINIMAL "return=minimal"

/* credential.c */
/** What is shown in a handshake: called by GnuTLS. */
int phx_http_credential_retrieve(gnutls_session_t session, const gnutls_datum_t *authorities,
				 int n_authorities, const gnutls_pk_algorithm_t *algorithms,
				 int n_algorithms, gnutls_pcert_st **ret_certs, unsigned *ret_n,
				 gnutls_privkey_t *ret_key);
/** The certificate that a client shows: as phx_pki_believe(). */
int phx_http_credential_check(const struct phx_http_server *s, const gnutls_datum_t *cert,
			      struct phx_cert_info *ret);
/** The same, of one that is not believed: as phx_pki_undated(). */
int phx_http_credential_undated(const struct phx_http_server *s, const gnutls_datum_t *cert,
				struct phx_cert_info *ret, struct phx_err *err);
/** When nobody asks any more. */
void phx_http_credential_free(struct phx_http_server *s);

/* listen.c */
/** Of a TCP socket that is bound; of any other 0. */
uint16_t phx_http_listen_port(int fd);

/* accept.c: takes connections, and gives them to libmicrohttpd when the books allow it. */
int phx_http_accept_start(struct phx_http_listener_state *l, struct phx_err *err);
/** No connection is taken from then on. Safe twice. */
void phx_http_accept_stop(struct phx_http_listener_state *l);

/* arrival.c: connections that were given to libmicrohttpd, and not heard of yet. */
/** Noted by its descriptor: owned there until it is taken. False on ENOMEM: it stays the
 * caller's. */
bool phx_http_arrival_put(struct phx_http_listener_state *l, struct phx_http_connection *c);
/** The connection of this number, which is the caller's now; NULL: none. */
struct phx_http_connection *phx_http_arrival_take(struct phx_http_listener_state *l, int fd);
/** Out of the books of its listener, and freed. NULL is fine. */
void phx_http_connection_free(struct phx_http_connection *c);

/* peer.c: who asks. */
/** The peer of a connection just accepted; malloc'd, or NULL. */
struct phx_http_connection *phx_http_peer_new(struct phx_http_listener_state *l, int fd,
					      const struct sockaddr *sa);
/** Its identity, and what that is to the listener. */
enum phx_http_rank phx_http_peer_rank(const struct phx_http_connection *c,
				      char ret_key[PHX_HTTP_KEY_MAX]);
/* called by libmicrohttpd at both ends of a connection */
void phx_http_on_connection(void *cls, struct MHD_Connection *mhd, void **socket_context,
			    enum MHD_ConnectionNotificationCode code);
/** Look at the client's certificate, once per connection and after the handshake. */
void phx_http_peer_check(struct phx_http_connection *c, struct MHD_Connection *mhd);

/* request.c: called by libmicrohttpd for each request. */
enum MHD_Result phx_http_on_request(void *cls, struct MHD_Connection *mhd, const char *url,
				    const char *method, const char *version,
				    const char *upload_data, size_t *upload_data_size,
				    void **request_context);
void phx_http_on_completed(void *cls, struct MHD_Connection *mhd, void **request_context,
			   enum MHD_RequestTerminationCode code);

/* browser.c: what comes from pages. */
/** One request of a session: who asks, in place of its connection's peer. */
struct phx_http_signed_in {
	struct phx_http_peer peer;
	struct phx_http_session session;
};
/** Is it a page of our own that asks, and whose session does it bring? q->signed_in, or an answer
 * in place: of another origin's page, and of one that changes something without the token. */
void phx_http_browser_check(struct phx_http_request *q);
/** Has it a cookie of a session, ended or not? */
bool phx_http_browser_has_cookie(const struct phx_http_request *q);

/* upload.c: the body on its way in. */
/** May this body come at all, and where to? 0, -EFBIG, -EDQUOT (its sender has as much on the way
 * as one may), -ENOSPC, -EDESTADDRREQ (its length is not told), or another negative errno. */
int phx_http_body_begin(struct phx_http_request *q);
void phx_http_body_take(struct phx_http_request *q, const char *data, size_t n);
void phx_http_body_end(struct phx_http_request *q);
void phx_http_body_fini(struct phx_http_request *q);
/** Remove spooled uploads that a crash left in `dir`. */
void phx_http_spool_clean(const char *dir);

/* reply.c */
/** Give `response` (taken) as the answer; from any thread. */
void phx_http_give(struct phx_http_request *q, int status, struct MHD_Response *response);
/** JSON with one more header. */
void phx_http_reply_json_with(struct phx_http_request *q, int status, const json_t *j,
			      const char *header, const char *value);
/** {"error": text, "code": name of code} with this status. `allow` is for 405, else NULL. */
void phx_http_refuse(struct phx_http_request *q, int status, int code, const char *text,
		     const char *allow);

/* ---- sent.c ---- */

/** The answer is so many bytes of a file: counting begins. */
void phx_http_sent_begin(struct phx_http_request *q, uint64_t bytes);
/** The request has ended: tells of the file, if its answer was one. */
void phx_http_sent_end(struct phx_http_request *q, bool whole);

#endif
