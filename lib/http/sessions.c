/* Words and sessions: see sessions.h. Called by browser.c for each request that brings a cookie,
 * and by the daemon. Reads no clock. */
#include "http/sessions.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>

#include "base/util.h"
#include "pki/pki.h"

enum { SECRET_BYTES = (PHX_HTTP_SECRET_MAX - 1) / 2 };

struct word {
	char digest[PHX_SHA256_HEX];
	uid_t uid;
	gid_t gid;
	int64_t until_ms;
};

struct session {
	char digest[PHX_SHA256_HEX];
	struct phx_http_session is;
	struct phx_http_session_view view; /* until_ms: when it ends in any case */
	int64_t idle_ms;                   /* when if nobody acts */
};

struct phx_http_sessions {
	pthread_mutex_t lock;
	struct phx_list words;    /* struct word, the oldest first */
	struct phx_list sessions; /* struct session, the oldest first */
	uint64_t last_id;
};

int phx_http_sessions_new(struct phx_http_sessions **ret)
{
	struct phx_http_sessions *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	*ret = s;
	return 0;
}

void phx_http_sessions_free(struct phx_http_sessions *s)
{
	if (!s)
		return;
	phx_list_fini(&s->words);
	phx_list_fini(&s->sessions);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static int draw(char ret[PHX_HTTP_SECRET_MAX])
{
	unsigned char bytes[SECRET_BYTES];
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -EIO;
	phx_hex(bytes, sizeof(bytes), ret);
	explicit_bzero(bytes, sizeof(bytes));
	return 0;
}

/* Both are looked for by their digests: how long that takes tells nothing of a secret. False of
 * what is none. */
static bool digest_of(const char *secret, char ret[PHX_SHA256_HEX])
{
	return strlen(secret) == PHX_HTTP_SECRET_MAX - 1 &&
		phx_sha256_of(secret, PHX_HTTP_SECRET_MAX - 1, ret) == 0;
}

static struct word *find_word(struct phx_http_sessions *s, const char *secret, int64_t now_ms)
{
	char digest[PHX_SHA256_HEX];
	if (!digest_of(secret, digest))
		return NULL;
	PHX_LIST_EACH(struct word, w, &s->words)
		if (!strcmp(w->digest, digest))
			return now_ms < w->until_ms ? w : NULL;
	return NULL;
}

static bool is_over(const struct session *x, int64_t now_ms)
{
	return now_ms >= x->view.until_ms || now_ms >= x->idle_ms;
}

static struct session *find_session(struct phx_http_sessions *s, const char *secret, int64_t now_ms)
{
	char digest[PHX_SHA256_HEX];
	if (!digest_of(secret, digest))
		return NULL;
	PHX_LIST_EACH(struct session, x, &s->sessions)
		if (!strcmp(x->digest, digest))
			return is_over(x, now_ms) ? NULL : x;
	return NULL;
}

/* Those that are over go; of this user so many stay at most, the newest. */
static void trim_words(struct phx_http_sessions *s, uid_t uid, unsigned most, int64_t now_ms)
{
	unsigned n = 0;
	for (uint32_t i = s->words.n; i-- > 0;) {
		const struct word *w = PHX_LIST_AT(&s->words, struct word, i);
		if (now_ms >= w->until_ms || (w->uid == uid && ++n > most))
			phx_list_remove(&s->words, sizeof(*w), i);
	}
}

static unsigned trim_sessions(struct phx_http_sessions *s, uid_t uid, unsigned most, int64_t now_ms)
{
	unsigned n = 0, ended = 0;
	for (uint32_t i = s->sessions.n; i-- > 0;) {
		const struct session *x = PHX_LIST_AT(&s->sessions, struct session, i);
		bool over = is_over(x, now_ms);
		bool many = !over && x->is.uid == uid && ++n > most;
		if (over || many)
			phx_list_remove(&s->sessions, sizeof(*x), i);
		ended += many;
	}
	return ended;
}

int phx_http_sessions_offer(struct phx_http_sessions *s, uid_t uid, gid_t gid, int64_t now_ms,
			    char ret_word[PHX_HTTP_SECRET_MAX])
{
	char digest[PHX_SHA256_HEX];
	int r = draw(ret_word);
	r = r ? r : digest_of(ret_word, digest) ? 0 : -EIO;
	if (r < 0)
		return r;
	pthread_mutex_lock(&s->lock);
	trim_words(s, uid, PHX_HTTP_WORDS_EACH - 1, now_ms);
	struct word *w = phx_list_push(&s->words, sizeof(*w));
	if (w) {
		*w = (struct word){.uid = uid, .gid = gid, .until_ms = now_ms + PHX_HTTP_WORD_MS};
		PHX_STR_SET(w->digest, digest);
	}
	pthread_mutex_unlock(&s->lock);
	return w ? 0 : -ENOMEM;
}

bool phx_http_sessions_whose(struct phx_http_sessions *s, const char *word, int64_t now_ms,
			     uid_t *ret_uid)
{
	pthread_mutex_lock(&s->lock);
	const struct word *w = find_word(s, word, now_ms);
	if (w)
		*ret_uid = w->uid;
	pthread_mutex_unlock(&s->lock);
	return w;
}

/* Of a session to be: drawn before the lock is taken. */
struct drawn {
	char digest[PHX_SHA256_HEX], token[PHX_HTTP_SECRET_MAX];
};

static int draw_session(char ret_secret[PHX_HTTP_SECRET_MAX], struct drawn *ret)
{
	int r = draw(ret_secret);
	r = r ? r : draw(ret->token);
	return r ? r : digest_of(ret_secret, ret->digest) ? 0 : -EIO;
}

/* With the lock held. */
static int add_session(struct phx_http_sessions *s, uid_t uid, gid_t gid, const struct drawn *d,
		       const struct phx_http_place *at, int64_t now_ms)
{
	trim_sessions(s, uid, PHX_HTTP_SESSIONS_EACH - 1, now_ms);
	struct session *x = phx_list_push(&s->sessions, sizeof(*x));
	if (!x)
		return -ENOMEM;
	*x = (struct session){.is = {.id = ++s->last_id, .uid = uid, .gid = gid},
			      .view = {.id = s->last_id,
				       .began_ms = now_ms,
				       .used_ms = now_ms,
				       .until_ms = now_ms + PHX_HTTP_SESSION_MS},
			      .idle_ms = now_ms + PHX_HTTP_IDLE_MS};
	PHX_STR_SET(x->digest, d->digest);
	PHX_STR_SET(x->is.token, d->token);
	PHX_STR_SET(x->view.how, at->how);
	PHX_STR_SET(x->view.agent, at->agent);
	PHX_STR_SET(x->view.address, at->address);
	PHX_STR_SET(x->view.used_at, at->address);
	return 0;
}

int phx_http_sessions_begin(struct phx_http_sessions *s, const char *word,
			    const struct phx_http_place *at, int64_t now_ms,
			    char ret_secret[PHX_HTTP_SECRET_MAX])
{
	struct drawn d;
	int r = draw_session(ret_secret, &d);
	if (r < 0)
		return r;
	pthread_mutex_lock(&s->lock);
	struct word *w = find_word(s, word, now_ms);
	r = w ? add_session(s, w->uid, w->gid, &d, at, now_ms) : -ENOENT;
	if (w)
		w->until_ms = INT64_MIN; /* used */
	pthread_mutex_unlock(&s->lock);
	return r;
}

int phx_http_sessions_open(struct phx_http_sessions *s, uid_t uid, gid_t gid,
			   const struct phx_http_place *at, int64_t now_ms,
			   char ret_secret[PHX_HTTP_SECRET_MAX])
{
	struct drawn d;
	int r = draw_session(ret_secret, &d);
	if (r < 0)
		return r;
	pthread_mutex_lock(&s->lock);
	r = add_session(s, uid, gid, &d, at, now_ms);
	pthread_mutex_unlock(&s->lock);
	return r;
}

static void use(struct session *x, const char *address, bool acts, int64_t now_ms,
		char ret_from[PHX_HTTP_ADDRESS_MAX])
{
	ret_from[0] = '\0';
	if (strcmp(x->view.used_at, address) != 0) {
		phx_str_copy(ret_from, PHX_HTTP_ADDRESS_MAX, x->view.used_at);
		PHX_STR_SET(x->view.used_at, address);
	}
	x->view.used_ms = now_ms;
	if (acts)
		x->idle_ms = now_ms + PHX_HTTP_IDLE_MS;
}

bool phx_http_sessions_find(struct phx_http_sessions *s, const char *secret, const char *address,
			    bool acts, int64_t now_ms, struct phx_http_session *ret,
			    char ret_from[PHX_HTTP_ADDRESS_MAX])
{
	pthread_mutex_lock(&s->lock);
	struct session *x = find_session(s, secret, now_ms);
	if (x) {
		*ret = x->is;
		use(x, address, acts, now_ms, ret_from);
	}
	pthread_mutex_unlock(&s->lock);
	return x;
}

/* With the lock held. NULL: it is not there, or is over. */
static struct session *numbered(struct phx_http_sessions *s, uint64_t id, int64_t now_ms)
{
	PHX_LIST_EACH(struct session, x, &s->sessions)
		if (x->is.id == id)
			return is_over(x, now_ms) ? NULL : x;
	return NULL;
}

bool phx_http_sessions_has(struct phx_http_sessions *s, uint64_t id, int64_t now_ms)
{
	pthread_mutex_lock(&s->lock);
	bool has = numbered(s, id, now_ms);
	pthread_mutex_unlock(&s->lock);
	return has;
}

int phx_http_sessions_list(struct phx_http_sessions *s, uid_t uid, int64_t now_ms,
			   struct phx_list *ret)
{
	int r = 0;
	pthread_mutex_lock(&s->lock);
	PHX_LIST_EACH(struct session, x, &s->sessions) {
		if (x->is.uid != uid || is_over(x, now_ms))
			continue;
		struct phx_http_session_view *to = phx_list_push(ret, sizeof(*to));
		if (to)
			*to = x->view;
		else
			r = -ENOMEM;
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

bool phx_http_sessions_end_one(struct phx_http_sessions *s, uid_t uid, uint64_t id, int64_t now_ms)
{
	pthread_mutex_lock(&s->lock);
	struct session *x = numbered(s, id, now_ms);
	bool ends = x && x->is.uid == uid;
	if (ends)
		x->view.until_ms = INT64_MIN;
	pthread_mutex_unlock(&s->lock);
	return ends;
}

void phx_http_sessions_end(struct phx_http_sessions *s, const char *secret)
{
	pthread_mutex_lock(&s->lock);
	struct session *x = find_session(s, secret, INT64_MIN);
	if (x)
		x->view.until_ms = INT64_MIN;
	pthread_mutex_unlock(&s->lock);
}

unsigned phx_http_sessions_end_all(struct phx_http_sessions *s, uid_t uid)
{
	pthread_mutex_lock(&s->lock);
	trim_words(s, uid, 0, INT64_MIN);
	unsigned n = trim_sessions(s, uid, 0, INT64_MIN);
	pthread_mutex_unlock(&s->lock);
	return n;
}
