/* What people have journalled: the journal keeps everything, and one user who submits and cancels
 * without end must not fill the head's disk. Each has a bucket that empties with time. Asked by
 * routes.c before a request that changes something; administrators are never asked. */
#include "phxd/daemon.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum {
	BESIDE_BYTES = 512, /* of an event, beyond the request's body */
	EMPTIES_S = 1024,   /* a full bucket is empty again after so long */
};

struct bucket {
	char who[PHX_IDENTITY_MAX];
	int64_t n_bytes, at_ms;
};

struct quota {
	struct daemon *d;
	pthread_mutex_t lock;
	struct phx_list buckets; /* struct bucket: of identities that wrote lately */
};

int quota_new(struct daemon *d, struct quota **ret)
{
	struct quota *u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	u->d = d;
	pthread_mutex_init(&u->lock, NULL);
	*ret = u;
	return 0;
}

void quota_free(struct quota *u)
{
	if (!u)
		return;
	phx_list_fini(&u->buckets);
	pthread_mutex_destroy(&u->lock);
	free(u);
}

static int64_t size_of(const struct quota *u)
{
	return (int64_t)u->d->cfg.journal_mb_per_user << 20;
}

/* The bucket of `who`, made if it is new; removes others that are empty by now. NULL on ENOMEM. */
static struct bucket *bucket_of(struct quota *u, const char *who, int64_t now)
{
	struct bucket *found = NULL;
	for (uint32_t i = u->buckets.n; i-- > 0;) {
		struct bucket *b = PHX_LIST_AT(&u->buckets, struct bucket, i);
		b->n_bytes -= (now - b->at_ms) * (size_of(u) / EMPTIES_S) / 1000;
		b->at_ms = now;
		if (!strcmp(b->who, who))
			b->n_bytes = b->n_bytes > 0 ? b->n_bytes : 0;
		else if (b->n_bytes <= 0)
			phx_list_remove(&u->buckets, sizeof(*b), i);
	}
	PHX_LIST_EACH(struct bucket, b, &u->buckets)
		found = strcmp(b->who, who) ? found : b;
	if (!found && (found = phx_list_push(&u->buckets, sizeof(*found)))) {
		PHX_STR_SET(found->who, who);
		found->at_ms = now;
	}
	return found;
}

int64_t quota_take(struct quota *u, const char *who, int64_t n)
{
	int64_t now = engine_now(u->d->engine), wait_s = 0;
	pthread_mutex_lock(&u->lock);
	struct bucket *b = bucket_of(u, who, now);
	if (b && b->n_bytes + n > size_of(u))
		wait_s = (b->n_bytes + n - size_of(u)) / (size_of(u) / EMPTIES_S) + 1;
	else if (b)
		b->n_bytes += n;
	pthread_mutex_unlock(&u->lock);
	return wait_s;
}

bool quota_may_write(struct quota *u, struct phx_http_request *q)
{
	char who[PHX_IDENTITY_MAX], text[200];
	size_t n = 0;
	const struct phx_http_peer *peer = phx_http_peer(q);
	phx_http_body(q, &n);
	if (person_is_admin(u->d, peer))
		return true;
	if (!person_identity(peer, who))
		person_name(peer, who, sizeof(who));
	int64_t wait_s = quota_take(u, who, (int64_t)n + BESIDE_BYTES);
	if (!wait_s)
		return true;
	snprintf(text, sizeof(text),
		 "you had %u MiB journalled in a short time, as much as one may "
		 "(journal_mb_per_user): try again "
		 "in %lld s",
		 u->d->cfg.journal_mb_per_user, (long long)wait_s);
	phx_http_reply_later(q, (unsigned)wait_s, text);
	return false;
}
