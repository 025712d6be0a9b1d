/* Whom a listener serves, how much of it, and how long it waits for them: connections, polls, heavy
 * answers and spooled bytes are counted by identity ("uid:1000", "addr:10.0.0.9", "cert:NAME",
 * "node:FINGERPRINT"), so that one that takes all it can get takes its own share only. Knows
 * sockets as numbers to be cut; takes the time as an argument. Thread-safe. */
#ifndef PHX_HTTP_GUARD_H
#define PHX_HTTP_GUARD_H

#include "http/http.h"

/** What a connection keeps its listener waiting for. */
enum phx_http_pause {
	PHX_HTTP_NO_PAUSE, /* the listener works, or sends */
	PHX_HTTP_HEADER,   /* a request's head, or a handshake */
	PHX_HTTP_BODY,
};

struct phx_http_guard_limits {
	unsigned connections_max;  /* of all who are not administrators */
	unsigned reserve;          /* for administrators, beside those */
	unsigned per_known_max;    /* 0 = no limit */
	unsigned per_stranger_max; /* from one address; 0 = no limit */
	unsigned header_ms;
	unsigned requests_per_s;    /* 0 = no limit */
	uint64_t spool_bytes_max;   /* of one identity at once; 0 = no limit */
	void (*refused)(void *arg); /* somebody was; under the guard's lock. May be NULL */
	void *arg;
};

struct phx_http_guard;
struct phx_http_party; /* one identity that has connections */

/** A connection's place in the books; zeroed before it is admitted. Guard's own. */
struct phx_http_entry {
	struct phx_http_party *party; /* NULL: not in the books */
	enum phx_http_rank rank;
	enum phx_http_pause pause;
	int fd;
	int64_t until_ms;
	struct phx_http_entry *next, *prev; /* among those that are waited for */
};

/** NULL on ENOMEM. */
struct phx_http_guard *phx_http_guard_new(const struct phx_http_guard_limits *limits);
/** When no entry is left. Safe on NULL. */
void phx_http_guard_free(struct phx_http_guard *g);

/** Takes a new connection into the books; it is waited for from now on. Where the listener is full,
 * the stranger who was waited for longest is cut for it. -EDQUOT: this identity has its share;
 * -EAGAIN: full; -ENOMEM. */
int phx_http_guard_admit(struct phx_http_guard *g, struct phx_http_entry *e, int fd,
			 const char *key, enum phx_http_rank rank, int64_t now_ms);
/** It has shown who it is: from now on it counts there. Errors as above; it stays in the books as
 * what it was. */
int phx_http_guard_know(struct phx_http_guard *g, struct phx_http_entry *e, const char *key,
			enum phx_http_rank rank);
/** Out of the books; before its socket is closed. Safe twice. */
void phx_http_guard_leave(struct phx_http_guard *g, struct phx_http_entry *e);

/** What is waited for now; a body of `n` bytes has a time that a slow line needs. */
void phx_http_guard_wait(struct phx_http_guard *g, struct phx_http_entry *e,
			 enum phx_http_pause pause, uint64_t n, int64_t now_ms);
/** Cuts who kept the listener waiting for too long; how many. */
unsigned phx_http_guard_tick(struct phx_http_guard *g, int64_t now_ms);
/** Nobody is in the books: until somebody is admitted a tick has nothing to do. */
bool phx_http_guard_idle(struct phx_http_guard *g);

/** One more of these is under way for the identity behind `e`, for which at most `max` may be (0:
 * no limit; of an administrator any number). False: it has its share. To be given back. */
bool phx_http_guard_claim(struct phx_http_guard *g, struct phx_http_entry *e,
			  enum phx_http_claim what, unsigned max);
/** The same with bytes to be spooled. */
bool phx_http_guard_spool(struct phx_http_guard *g, struct phx_http_entry *e, uint64_t n);
/** Gives back what a request claimed, a count of each kind, and bytes. */
void phx_http_guard_give_back(struct phx_http_guard *g, struct phx_http_entry *e,
			      const unsigned claims[PHX_HTTP_CLAIMS], uint64_t n_spooled);
/** Bytes that all identities together have claimed. */
uint64_t phx_http_guard_spooled(struct phx_http_guard *g);

/** One more request of the identity behind `e`. 0, or the seconds after which it may come: it has
 * had its share of requests, which is some time's worth at once (an administrator may have any
 * number). */
unsigned phx_http_guard_request(struct phx_http_guard *g, struct phx_http_entry *e, int64_t now_ms);

/** How often somebody was refused for this. */
void phx_http_guard_refused(struct phx_http_guard *g, enum phx_http_limit limit,
			    struct phx_http_refused *ret);
/** One more of them that the books do not know of. */
void phx_http_guard_refuse(struct phx_http_guard *g, enum phx_http_limit limit, const char *whom);

#endif
