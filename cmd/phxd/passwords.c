/* Signing in to the portal with name and password (portal_pam). Clients that guess must wait; for
 * each other attempt a process is started that asks PAM (lib/door), on threads of their own: PAM
 * may take long, and no listener waits for it. A password exists in the request's body, in one
 * attempt and in that process, and is wiped in each. Called by api_portal.c. */
#include "phxd/daemon.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/account.h"
#include "base/clock.h"
#include "door/door.h"

enum { THREADS = 4, WAITING_MAX = 32 };

struct attempt {
	struct phx_http_request *q;
	char name[PHX_DOOR_NAME_MAX], password[PHX_DOOR_PASSWORD_MAX];
};

struct passwords {
	struct daemon *d;
	session_begin_fn begin;
	struct phx_attempts *attempts;
	pthread_mutex_t lock;
	pthread_cond_t filled;
	struct attempt waiting[WAITING_MAX]; /* the next first */
	unsigned n_waiting, n_threads;
	bool stopped;
	pthread_t threads[THREADS];
};

/* ---- one attempt ---- */

static void tell_wrong(struct daemon *d, const struct phx_http_peer *peer, const char *name)
{
	char text[PHX_NAME_MAX + 120];
	struct seldom_fact f = {.who = peer->address, .kind = "password", .text = text};
	PHX_AUTO_FREE char *texts = NULL;
	struct passwd pw;
	/* a name that no user has may be a password in the wrong field: do not journal it */
	bool known = phx_user_named(name, &pw, &texts) == 0;
	snprintf(text, sizeof(text), "somebody at %s is refused: a wrong password for %s",
		 peer->address, known ? name : "a name that is nobody's");
	seldom_tell(d->seldom, &f);
}

static void refuse(struct daemon *d, const struct attempt *a, enum phx_door_said said)
{
	static const char *const texts[PHX_DOOR_SAID_COUNT_] = {
		[PHX_DOOR_WRONG] = "name or password is wrong; root never signs in with a "
				   "password",
		[PHX_DOOR_SHUT] = "the password is right, but this account has expired, or may "
				  "not sign in now: ask who runs the head",
		[PHX_DOOR_CHANGE] = "the password is right, but has expired: log in to the head "
				    "and change it (passwd), then sign in here",
		[PHX_DOOR_UNABLE] = "the head cannot look at passwords now: ask for a link with "
				    "phx portal, or try again later",
	};
	const struct phx_http_peer *peer = phx_http_peer(a->q);
	if (said == PHX_DOOR_WRONG)
		tell_wrong(d, peer, a->name);
	phx_http_reply_error(a->q, said == PHX_DOOR_UNABLE ? -EAGAIN : -EACCES, texts[said]);
}

static enum phx_door_said ask_pam(struct daemon *d, const struct attempt *a,
				  char ret_name[PHX_DOOR_NAME_MAX])
{
	const struct phx_door_who who = {a->name, a->password, phx_http_peer(a->q)->address};
	enum phx_door_said said = PHX_DOOR_UNABLE;
	struct phx_err err = {0};
	int fd = -1, r = launch_door(d->launch, &fd, &err);
	r = r ? r : phx_door_ask(fd, &who, &said, ret_name, &err);
	if (r < 0 || said == PHX_DOOR_UNABLE)
		fprintf(stderr, "phxd: PAM cannot be asked: %s\n",
			err.text[0] ? err.text : "the system's log says why (service phoenix)");
	return r < 0 ? PHX_DOOR_UNABLE : said;
}

static void carry_out(struct passwords *p, struct attempt *a)
{
	char name[PHX_DOOR_NAME_MAX] = "", address[64];
	PHX_STR_SET(address, phx_http_peer(a->q)->address);
	enum phx_door_said said = phx_http_gone(a->q) ? PHX_DOOR_UNABLE : ask_pam(p->d, a, name);
	if (said != PHX_DOOR_WRONG)
		phx_attempts_right(p->attempts, a->name, address);
	if (said == PHX_DOOR_IN)
		p->begin(p->d, a->q, name);
	else
		refuse(p->d, a, said);
}

/* ---- its threads ---- */

static bool next(struct passwords *p, struct attempt *ret)
{
	pthread_mutex_lock(&p->lock);
	while (!p->n_waiting && !p->stopped)
		pthread_cond_wait(&p->filled, &p->lock);
	bool is = p->n_waiting && !p->stopped;
	if (is) {
		*ret = p->waiting[0];
		memmove(p->waiting, p->waiting + 1, --p->n_waiting * sizeof(*ret));
		explicit_bzero(&p->waiting[p->n_waiting], sizeof(*ret));
	}
	pthread_mutex_unlock(&p->lock);
	return is;
}

static void *run(void *arg)
{
	struct passwords *p = arg;
	struct attempt a;
	while (next(p, &a)) {
		carry_out(p, &a);
		explicit_bzero(&a, sizeof(a));
	}
	return NULL;
}

/* jansson has copies of a body's members and gnutls of decrypted records, which would stay in freed
 * memory. The header of gnutls has a macro gnutls_free, too. */
#undef gnutls_free
static void free_wiped(void *p)
{
	if (p)
		explicit_bzero(p, malloc_usable_size(p));
	free(p);
}

int passwords_new(struct daemon *d, session_begin_fn begin, struct passwords **ret)
{
	struct passwords *p = d->cfg.portal_pam ? calloc(1, sizeof(*p)) : NULL;
	if (!p)
		return d->cfg.portal_pam ? -ENOMEM : 0;
	p->d = d;
	p->begin = begin;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->filled, NULL);
	*ret = p;
	json_set_alloc_funcs(malloc, free_wiped);
	gnutls_free = free_wiped;
	int r = phx_attempts_new(&p->attempts);
	while (r == 0 && p->n_threads < THREADS) {
		r = -pthread_create(&p->threads[p->n_threads], NULL, run, p);
		p->n_threads += r == 0;
	}
	return r;
}

static void wait_for(struct phx_http_request *q, unsigned wait_s)
{
	char text[200];
	snprintf(text, sizeof(text),
		 "there were too many wrong passwords for this name, or from your address: wait "
		 "%u s, or ask for a link with phx portal",
		 wait_s);
	phx_http_reply_later(q, wait_s, text);
}

void passwords_take(struct passwords *p, struct phx_http_request *q, const char *name,
		    const char *password)
{
	if (!p) {
		phx_http_reply_error(q, -EACCES,
				     "nobody signs in with a password here (portal_pam): ask for a "
				     "link with phx portal");
		return;
	}
	char address[64];
	PHX_STR_SET(address, phx_http_peer(q)->address);
	unsigned wait_s = phx_attempts_begin(p->attempts, name, address, phx_clock_ms());
	if (wait_s) {
		wait_for(q, wait_s);
		return;
	}
	phx_http_suspend(q);
	pthread_mutex_lock(&p->lock);
	bool room = !p->stopped && p->n_waiting < WAITING_MAX;
	if (room) {
		struct attempt *to = &p->waiting[p->n_waiting++];
		*to = (struct attempt){.q = q};
		PHX_STR_SET(to->name, name);
		PHX_STR_SET(to->password, password);
	}
	pthread_cond_signal(&p->filled);
	pthread_mutex_unlock(&p->lock);
	if (room)
		return;
	phx_attempts_right(p->attempts, name, address);
	phx_http_reply_error(q, -EAGAIN, "many sign in just now: try again in some seconds");
}

void passwords_stop(struct passwords *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->stopped = true;
	pthread_cond_broadcast(&p->filled);
	pthread_mutex_unlock(&p->lock);
	for (unsigned i = 0; i < p->n_threads; i++)
		pthread_join(p->threads[i], NULL);
	for (unsigned i = 0; i < p->n_waiting; i++)
		phx_http_reply_error(p->waiting[i].q, -EAGAIN, "phxd is ending");
	explicit_bzero(p->waiting, sizeof(p->waiting));
	p->n_threads = p->n_waiting = 0;
}

void passwords_free(struct passwords *p)
{
	if (!p)
		return;
	passwords_stop(p);
	phx_attempts_free(p->attempts);
	pthread_cond_destroy(&p->filled);
	pthread_mutex_destroy(&p->lock);
	free(p);
}
