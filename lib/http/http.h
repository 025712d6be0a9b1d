/* HTTP: server glue over libmicrohttpd, client glue over libcurl.
 *
 * Server: listeners of three kinds share one route table; handlers run on
 * libmicrohttpd's threads. A handler answers at once or suspends (long poll). */
#ifndef PHX_HTTP_HTTP_H
#define PHX_HTTP_HTTP_H

#include <poll.h>
#include <sys/types.h>
#include <jansson.h>

#include "base/util.h"
#include "http/sessions.h"
#include "pki/pki.h"

/* ---- server ---- */

enum phx_http_listener {
	/* administrators and users of this machine: identified by peer credentials */
	PHX_HTTP_UNIX,
	PHX_HTTP_TLS,   /* agents and remote CLIs: client certificate, or none (enrolment) */
	PHX_HTTP_PLAIN, /* provisioning network: boot scripts, images; trusts nobody */
};
enum { PHX_HTTP_LISTENERS = 3 };

/** Who asks. */
struct phx_http_peer {
	enum phx_http_listener via;
	uid_t uid; /* UNIX: of the peer; TLS/PLAIN: (uid_t)-1 */
	gid_t gid;
	pid_t pid;
	bool has_cert; /* TLS: verified against the site's CA */
	/* TLS, without a certificate: signed in with a browser as the user `uid`, of group `gid` */
	bool has_session;
	uint64_t session; /* its number (sessions.h); 0: none */
	struct phx_cert_info cert;
	char address[64]; /* of a TCP peer */
};

struct phx_http_request; /* opaque; valid until answered */

/** As sent: without the query, not decoded. */
const char *phx_http_path(const struct phx_http_request *q);
const struct phx_http_peer *phx_http_peer(const struct phx_http_request *q);
/** Part of the path that stood for '*' in the route, decoded; "" if none. Up to 2: index 0, 1.
 * Never empty for a '*' that matched; never holds '/' (but "**" does), control characters or NUL,
 * and is never "." or "..". */
const char *phx_http_param(const struct phx_http_request *q, int index);
/** Query argument, decoded; NULL when absent, "" without a value. */
const char *phx_http_query(const struct phx_http_request *q, const char *name);
/** A header of the request, as sent; NULL when absent. */
const char *phx_http_header(const struct phx_http_request *q, const char *name);
/** Request body (NUL-terminated beyond n). */
const char *phx_http_body(const struct phx_http_request *q, size_t *ret_n);

/** Answers; each ends the request, exactly one per request. Do not touch `q` after one given from
 * another thread. A handler that neither answers nor suspends is answered for with 500. `j` is
 * borrowed; NULL (no memory for it): 500, or the status of a refusal. */
void phx_http_reply_json(struct phx_http_request *q, int status, const json_t *j);
/** The same of a text that is JSON already; takes it (malloc'd). NULL: 500. */
void phx_http_reply_json_text(struct phx_http_request *q, int status, char *text);
void phx_http_reply_text(struct phx_http_request *q, int status, const char *type,
			 const char *text);
/** One constant, JSON already, that has no news, to `n` requests of the same server: 200, or 204
 * without it to what was suspended of phx_http_call_brief(), which costs less. libmicrohttpd looks
 * at all that are suspended whenever one is answered, but at those that are answered together once;
 * and of the first `text` that is given a server makes the answer only once. */
void phx_http_reply_all(struct phx_http_request *const *q, size_t n, const char *text);
/** 429 with `text`, and when to come again. */
void phx_http_reply_later(struct phx_http_request *q, unsigned wait_s, const char *text);
/** {"error": text, "code": "EINVAL"} with a status derived from the code: -EINVAL 400,
 * -EPERM/-EACCES 403, -ENOENT 404, -EEXIST/-EBUSY/-ESTALE/-ENOTUNIQ 409, -E2BIG/-EFBIG 413, -EDQUOT
 * 429 and -EAGAIN 503 (both to come again in half a minute), -ENOSPC/-EROFS 507, else 500. */
void phx_http_reply_error(struct phx_http_request *q, int code, const char *text);
/** A regular file, with Range (single range), ETag (sha256 given, or NULL: made from inode, size
 * and time), If-None-Match, If-Range, HEAD. 404 when it cannot be opened. */
void phx_http_reply_file(struct phx_http_request *q, const char *path, const char *etag,
			 const char *type);
/** The same of a file that is open for reading, whoever may open it: takes `fd`. */
void phx_http_reply_fd(struct phx_http_request *q, int fd, const char *type);
/** A page, or a part of one, from memory, which is borrowed until the server's end; with what
 * browsers are told of pages: no script but our own, no frame, nothing from elsewhere. */
struct phx_http_page {
	const void *data, *gzip; /* gzip: the same compressed, for who takes it; NULL: not there */
	size_t n, n_gzip;
	const char *type, *etag; /* etag: without quotes */
	bool immutable;          /* another content has another name */
};
void phx_http_reply_page(struct phx_http_request *q, const struct phx_http_page *page);
/** A text that others read, too: it is borrowed until `done` is called with `arg`, on any thread,
 * perhaps at once. */
struct phx_http_shared {
	const void *data;
	size_t n;
	bool gzip; /* it is compressed so; ask phx_http_takes_gzip() before */
	const char *type;
	void (*done)(void *arg);
	void *arg;
};
void phx_http_reply_shared(struct phx_http_request *q, const struct phx_http_shared *text);
bool phx_http_takes_gzip(const struct phx_http_request *q);
/** JSON, and the cookie of a session with this secret; NULL: the cookie goes. */
void phx_http_reply_session(struct phx_http_request *q, const json_t *j, const char *secret);
/** Of who is signed in: what his pages show when they change something; "" else. */
const char *phx_http_session_token(const struct phx_http_request *q);
/** Of who is signed in: the session ends. */
void phx_http_session_end(struct phx_http_request *q);
/** What the browser says that it is, printable and cut; "" nothing. */
void phx_http_user_agent(const struct phx_http_request *q, char ret[PHX_HTTP_AGENT_MAX]);
/** Leave the request open; another thread (or the same) later calls one of the reply functions,
 * which resumes it. The caller keeps `q`; it stays valid until then even if the peer hangs up
 * (phx_http_gone() tells, and the reply must still be called). Returns from the handler after
 * this. */
void phx_http_suspend(struct phx_http_request *q);
bool phx_http_gone(const struct phx_http_request *q);
/** Which thread of its listener serves the request, from 0: what is answered together is best of
 * one (phx_http_reply_all()). */
unsigned phx_http_thread(const struct phx_http_request *q);
/** What to poll() for to be told so: `revents` will not be 0 then. Valid as long as `q` is. */
struct pollfd phx_http_hang_up(const struct phx_http_request *q);
/** Its body is not needed any more: what is held for long should cost little. */
void phx_http_drop_body(struct phx_http_request *q);

/** What one identity may have under way only so often, from the claim to the last byte of the
 * answer. */
enum phx_http_claim {
	PHX_HTTP_HEAVY, /* reads much, or answers with much */
	PHX_HTTP_POLL,  /* is held until something happens */
	PHX_HTTP_CLAIMS,
};
/** Count this request among those of its identity. False after answering 429, when there are `max`
 * already; an administrator may have any number. Twice counts twice. */
bool phx_http_claim(struct phx_http_request *q, enum phx_http_claim what, unsigned max);
/** What Content-Length says; 0 when there is no body, UINT64_MAX when its sender does not tell
 * (chunked): then it is refused. */
uint64_t phx_http_body_announced(const struct phx_http_request *q);

typedef void (*phx_http_handler)(struct phx_http_request *q, void *arg);
/** May this request come? Asked when its head is there, before any byte of its body is taken. False
 * after answering. */
typedef bool (*phx_http_gate)(struct phx_http_request *q, void *arg);

/** In `via`: over TLS only for peers with a certificate of the site, or who are signed in; others
 * get 403 (401 with a cookie of a session that has ended) before their body is taken. */
#define PHX_HTTP_CERT (1u << 8)
/** In `via`: not counted against requests_per_s. */
#define PHX_HTTP_UNCOUNTED (1u << 9)

/** One row a route: the table is also what API documentation is made from. The first row that fits
 * is taken. HEAD is served by GET rows. */
struct phx_http_route {
	const char *method;
	/* "/v1/nodes/" "*": a star stands for one segment; a final "**" for the rest */
	const char *path;
	unsigned via; /* bits 1u << enum phx_http_listener, and those above */
	phx_http_handler handler;
	size_t body_max;    /* bytes; 0 = no body taken; streaming uploads: see body_file */
	bool body_file;     /* body is spooled to a temporary file (phx_http_body_path) */
	phx_http_gate gate; /* NULL: whoever comes */
};
/** Path of the spooled upload; unlinked when the request ends unless renamed away by the
 * handler. */
const char *phx_http_body_path(const struct phx_http_request *q);

/** What an identity is to a listener. */
enum phx_http_rank {
	PHX_HTTP_STRANGER, /* of a network, without a certificate that counts */
	PHX_HTTP_KNOWN,    /* a user of this machine, or the holder of a certificate */
	PHX_HTTP_ADMIN,    /* limited by the reserve alone */
};

/** How the sending of a file ended, as the kernel counts it. */
struct phx_http_sent {
	const struct phx_http_peer *peer;
	const char *path;
	bool whole;               /* all of it was given to the kernel; else the peer has gone */
	uint64_t bytes, total;    /* what the peer has acknowledged, of how many */
	uint32_t segments, again; /* how many segments left, and how many of these more than once */
};
typedef void (*phx_http_sent_fn)(void *arg, const struct phx_http_sent *sent);

struct phx_http_server_config {
	const struct phx_http_route *routes;
	size_t n_routes;
	void *arg;             /* given to every handler */
	const char *unix_path; /* NULL: no Unix listener. Mode 0660, group unix_gid */
	gid_t unix_gid;
	const char *tls_address; /* "10.77.0.1" or "0.0.0.0"; NULL: no TLS listener */
	uint16_t tls_port;       /* 0: any; phx_http_server_port() tells */
	const char *plain_address;
	uint16_t plain_port;
	const struct phx_pki *pki; /* for TLS; borrowed until its end */
	const char *spool_dir;     /* for body_file */
	/* who is signed in with a browser, on the TLS listener; borrowed. NULL: nobody */
	struct phx_http_sessions *sessions;
	unsigned threads;         /* per listener; 0 = 1 */
	unsigned connections_max; /* per listener, of all but administrators; 0 = 4096 */
	unsigned reserve;         /* beside these, for administrators; 0 = 64 */
	/* of these, from one address without a certificate; 0 = no limit. More are refused */
	unsigned per_address_max;
	/* of these, by one user of this machine, the certificates of one name, or one node; 0 =
	 * no limit */
	unsigned per_person_max;
	/* of one identity that is no administrator, over some time; 0 = no limit. More get 429 */
	unsigned requests_per_s;
	uint64_t spool_bytes_max; /* of body_file, of one identity at once; 0 = no limit */
	/* administrators on the Unix listener beside root; (gid_t)-1: none */
	gid_t admin_gid;
	/* what the holder of a certificate is: asked once a connection, after the handshake. NULL:
	 * known */
	enum phx_http_rank (*rank)(void *arg, const struct phx_http_peer *peer);
	/** The session with which `peer` asks was used elsewhere before, at `from`: called on any
	 * thread. May be NULL. */
	void (*moved)(void *arg, const struct phx_http_peer *peer, const char *from);
	/** A client showed a certificate that this site's CA has signed, whose key it has, and
	 * which only its dates keep from being believed: `peer` has it (cert), though has_cert is
	 * false; `why` says which. Called once a connection, on a thread of the listener, must
	 * return soon. May be NULL. */
	void (*undated)(void *arg, const struct phx_http_peer *peer, const char *why);
	/** A file was sent, or so much of it: called on a thread of the listener, must return at
	 * once. May be NULL. */
	phx_http_sent_fn sent;
	/** Somebody was refused because of a limit: called on any thread, must return at once. May
	 * be NULL. */
	void (*refused)(void *arg);
	/** A request was answered, `us` after its head had come; `held`: it had been held for a
	 * time that says nothing of the server. `route` NULL: it was refused before one was found.
	 * Called on any thread, must return at once. May be NULL. */
	void (*answered)(void *arg, const struct phx_http_route *route, unsigned status, int64_t us,
			 bool held);
	unsigned idle_timeout_s; /* for a request's head to come, and for any silence; 0 = 60 */
	/* by enum phx_http_listener: of phx_http_listen(), taken; 0 = to be made. A socket that was
	 * given leaves its file when the server ends */
	int listening[PHX_HTTP_LISTENERS];
};
struct phx_http_server;

/** What a listener refuses for. */
enum phx_http_limit {
	PHX_HTTP_LIMIT_CONNECTIONS, /* connections_max */
	PHX_HTTP_LIMIT_ADDRESS,     /* per_address_max */
	PHX_HTTP_LIMIT_PERSON,      /* per_person_max */
	PHX_HTTP_LIMIT_FILES,       /* of the process or the system */
	PHX_HTTP_LIMIT_REQUESTS,    /* requests_per_s */
	PHX_HTTP_LIMITS
};
enum { PHX_HTTP_KEY_MAX = 80 };
/** How often it did since the start, and whom last: "uid:1000", "addr:10.0.0.9",
 * "cert:campus", "node:FINGERPRINT"; "" it was not known. */
struct phx_http_refused {
	uint64_t n;
	char whom[PHX_HTTP_KEY_MAX];
};
void phx_http_server_refused(struct phx_http_server *s, enum phx_http_listener which,
			     enum phx_http_limit limit, struct phx_http_refused *ret);
/** Calls `fn` for each file that is being sent at this moment, as far as it has come (never whole):
 * a transfer that does not get on has no end that could be told. With a lock of the server, so that
 * it must return at once and ask the server for nothing. Costs what is being sent. */
void phx_http_server_sending(struct phx_http_server *s, phx_http_sent_fn fn, void *arg);

/** A listening socket for that listener of a server to be, made from its addresses alone: for one
 * who may bind it, and hands it to the process that serves. A descriptor, or a negative errno. */
int phx_http_listen(const struct phx_http_server_config *config, enum phx_http_listener which,
		    struct phx_err *err);

/** Begins to answer. `*ret`, which the caller frees, is there before the first request is; it is
 * NULL after an error. */
int phx_http_server_start(const struct phx_http_server_config *config, struct phx_http_server **ret,
			  struct phx_err *err);
/** From the next handshake on the TLS listener shows the certificate of this PKI and believes its
 * CAs; connections that stand stay. Borrowed until the server's end, as each before it. On any
 * thread. -EINVAL: it is none (NULL), or has no server certificate; then nothing changes. */
int phx_http_server_renew(struct phx_http_server *s, const struct phx_pki *pki,
			  struct phx_err *err);
uint16_t phx_http_server_port(const struct phx_http_server *s, enum phx_http_listener which);
/** Stops listening, waits (5 s at most) for requests under way, cuts what is left. Suspended
 * requests must have been answered before, or their owner may no longer touch them: they are
 * dropped. */
void phx_http_server_free(struct phx_http_server *s);

/* ---- client ---- */

struct phx_http_client_config {
	const char *unix_path; /* or NULL and: */
	const char *base_url;  /* "https://10.77.0.1:8443" or "http://unix" with unix_path */
	const char *ca_pem_path, *cert_pem_path, *key_pem_path; /* may be NULL */
	const char *user, *password; /* HTTP basic authentication (Redfish); NULL none */
	uint32_t connect_timeout_ms; /* 0 = 5000 */
	/* skip server verification: only for BMCs, per BMC, by configuration */
	bool insecure;
};
/** One client = one kept-alive connection; used by one thread at a time. */
struct phx_http_client;
int phx_http_client_new(const struct phx_http_client_config *config, struct phx_http_client **ret,
			struct phx_err *err);
void phx_http_client_free(struct phx_http_client *c);
/** From now on a call ends with -ECANCELED once whoever is at the other end of `fd` (a pipe, a
 * socket, a terminal; borrowed) is gone. Not uploads nor phx_http_fetch(). */
void phx_http_client_watch(struct phx_http_client *c, int fd);

struct phx_http_response {
	long status;
	char *body; /* malloc'd, NUL-terminated */
	size_t n;
	uint32_t retry_after_s; /* what the server asks for; 0: nothing */
};
void phx_http_response_fini(struct phx_http_response *r);

/** The code of an error answer: by the name the server gave (member "code"; may be NULL), else by
 * the status. */
int phx_http_code_of(long status, const char *name);

/** One request. `json` (borrowed) may be NULL. Body limited to 64 MiB. 0 whatever the status;
 * -ECONNREFUSED (no socket file too: -ENOENT is for a 404 alone), -EACCES, -ETIMEDOUT, -EPROTO
 * (TLS), -ECONNRESET. timeout_ms: 0 = 30 s. */
int phx_http_call(struct phx_http_client *c, const char *method, const char *path,
		  const json_t *json, uint32_t timeout_ms, struct phx_http_response *ret,
		  struct phx_err *err);
/** The same, where an answer without news may be 204, without a body (RFC 7240). */
int phx_http_call_brief(struct phx_http_client *c, const char *method, const char *path,
			const json_t *json, uint32_t timeout_ms, struct phx_http_response *ret,
			struct phx_err *err);
/** POST of a text, else as phx_http_call(). */
int phx_http_call_text(struct phx_http_client *c, const char *path, const char *text,
		       uint32_t timeout_ms, struct phx_http_response *ret, struct phx_err *err);
/** As phx_http_call(), and a status of 2xx is parsed as JSON into *ret_json (may be NULL when there
 * is no body); other statuses: the server's {"error"} becomes err text and the code is the inverse
 * of phx_http_reply_error(). 405 is -EOPNOTSUPP, an answer that is not JSON -EBADMSG. */
int phx_http_call_json(struct phx_http_client *c, const char *method, const char *path,
		       const json_t *json, uint32_t timeout_ms, json_t **ret_json,
		       struct phx_err *err);

/** Body consumer: 0 to go on, negative to abort with that code. */
typedef int (*phx_http_sink_fn)(void *arg, const void *data, size_t n, struct phx_err *err);
/** Stream a file's bytes to `sink`. A stalled or cut transfer (under 1 KiB/s for 10 s) is resumed
 * by Range up to 5 times; a changed ETag in between is -ESTALE. total may be NULL. A refused first
 * connection is not retried. */
int phx_http_fetch(struct phx_http_client *c, const char *path, phx_http_sink_fn sink, void *arg,
		   uint64_t *ret_total, struct phx_err *err);
/** Upload a file as the body of PUT; answer as phx_http_call_json. -ENODATA: the file itself cannot
 * be read to its end, whatever the server does. */
int phx_http_upload(struct phx_http_client *c, const char *path, const char *file,
		    json_t **ret_json, struct phx_err *err);

#endif
