/* Who is signed in with a browser: words that are good once, for a minute, and the sessions that
 * begin with them. Kept in memory alone, as digests: who reads the memory of the process, or a
 * copy of it, signs in as nobody, and a start anew signs everybody out. An identity has few of
 * both; the oldest goes. All are thread-safe. */
#ifndef PHX_HTTP_SESSIONS_H
#define PHX_HTTP_SESSIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/util.h"

enum {
	PHX_HTTP_SECRET_MAX = 65, /* 256 bits of chance as hexadecimal digits, and a NUL */
	PHX_HTTP_WORD_MS = 60 * 1000,
	PHX_HTTP_IDLE_MS = 2 * 3600 * 1000,
	PHX_HTTP_SESSION_MS = 12 * 3600 * 1000,
	PHX_HTTP_WORDS_EACH = 4,     /* of one user, not used yet */
	PHX_HTTP_SESSIONS_EACH = 16, /* of one user */
	PHX_HTTP_ADDRESS_MAX = 64,
	PHX_HTTP_AGENT_MAX = 160, /* of what a browser says that it is */
};

struct phx_http_session {
	uint64_t id; /* by which it is ended and asked for; opens nothing. Never 0 */
	uid_t uid;   /* a user of this machine */
	gid_t gid;
	/* what a request that changes something shows beside its cookie */
	char token[PHX_HTTP_SECRET_MAX];
};
/* Where somebody signs in. Borrowed. */
struct phx_http_place {
	const char *how; /* "link", "password" */
	const char *address, *agent;
};
/* What its user is told of a session. */
struct phx_http_session_view {
	uint64_t id;
	char how[16], agent[PHX_HTTP_AGENT_MAX];
	char address[PHX_HTTP_ADDRESS_MAX]; /* where it began */
	char used_at[PHX_HTTP_ADDRESS_MAX]; /* where it was used last, when it was: */
	int64_t began_ms, used_ms, until_ms;
};
struct phx_http_sessions;

/** -ENOMEM. */
int phx_http_sessions_new(struct phx_http_sessions **ret);
/** Safe on NULL. */
void phx_http_sessions_free(struct phx_http_sessions *s);

/** A word that signs this user in once, within PHX_HTTP_WORD_MS of `now_ms`, a clock that never
 * goes back. -ENOMEM, -EIO. */
int phx_http_sessions_offer(struct phx_http_sessions *s, uid_t uid, gid_t gid, int64_t now_ms,
			    char ret_word[PHX_HTTP_SECRET_MAX]);
/** Whose word it is; it stays good. False: nobody's, used, or too old. */
bool phx_http_sessions_whose(struct phx_http_sessions *s, const char *word, int64_t now_ms,
			     uid_t *ret_uid);
/** Signs in by a word, which is used then. `ret_secret` is for the browser alone. -ENOENT: as
 * phx_http_sessions_whose(); -ENOMEM, -EIO. */
int phx_http_sessions_begin(struct phx_http_sessions *s, const char *word,
			    const struct phx_http_place *at, int64_t now_ms,
			    char ret_secret[PHX_HTTP_SECRET_MAX]);
/** Signs this user in, whom the caller knows otherwise. */
int phx_http_sessions_open(struct phx_http_sessions *s, uid_t uid, gid_t gid,
			   const struct phx_http_place *at, int64_t now_ms,
			   char ret_secret[PHX_HTTP_SECRET_MAX]);
/** The session of a secret, used from `address`. `acts`: its user did something, else it is only
 * looked at and grows idle. `ret_from`: where it was used before, if that was elsewhere; else "".
 * False: there is none, or it has ended. */
bool phx_http_sessions_find(struct phx_http_sessions *s, const char *secret, const char *address,
			    bool acts, int64_t now_ms, struct phx_http_session *ret,
			    char ret_from[PHX_HTTP_ADDRESS_MAX]);
/** Is there one of this number still? */
bool phx_http_sessions_has(struct phx_http_sessions *s, uint64_t id, int64_t now_ms);
/** Those of a user, as struct phx_http_session_view, the oldest first. -ENOMEM. */
int phx_http_sessions_list(struct phx_http_sessions *s, uid_t uid, int64_t now_ms,
			   struct phx_list *ret);
/** The session of that number of this user ends. False: he has none. */
bool phx_http_sessions_end_one(struct phx_http_sessions *s, uid_t uid, uint64_t id, int64_t now_ms);
/** The session of a secret ends. Safe twice. */
void phx_http_sessions_end(struct phx_http_sessions *s, const char *secret);
/** All sessions and words of a user end; how many sessions there were. */
unsigned phx_http_sessions_end_all(struct phx_http_sessions *s, uid_t uid);

#endif
