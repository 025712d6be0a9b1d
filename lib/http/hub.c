/* Streams: see hub.h. A channel is a list of events, the oldest first; a reader is a place in it.
 * One who has read all sleeps (libmicrohttpd looks at him no more) until something is published;
 * then all who sleep are woken together. Called by handlers, by the thread that publishes, and by
 * libmicrohttpd when a reader takes more.
 *
 *   reads ──nothing left──▶ sleeps ──published, or ended──▶ reads ──ended, or hung up──▶ gone
 *
 * The lock is held while libmicrohttpd suspends or resumes, never the other way round. */
#include "http/hub.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/file.h"
#include "http/internal.h"

enum { BLOCK_BYTES = 64 << 10 };

static const char lost_text[] = "event: lost\ndata: {}\n\n";

struct event {
	uint64_t number; /* of its channel, from 1 */
	char *text;
	size_t n;
};

struct channel {
	struct phx_list events; /* struct event, the oldest first */
	uint64_t last;          /* number of the newest */
	size_t n_bytes;
	_Atomic unsigned n_readers;
};

struct reader {
	struct phx_http_hub *hub;
	struct phx_http_request *q; /* as long as the reader is in the list */
	struct phx_http_peer peer;
	unsigned channel;
	uint64_t id, next; /* the event that is read */
	size_t at;         /* so much of it is read */
	bool sleeps, ends;
	struct reader *prev, *following;
};

struct phx_http_hub {
	pthread_mutex_t lock;
	size_t keep_bytes;
	unsigned n_channels;
	struct reader *readers;
	uint64_t last_id;
	bool ended;
	int news; /* eventfd */
	struct channel channels[];
};

int phx_http_hub_new(unsigned n_channels, size_t keep_bytes, struct phx_http_hub **ret)
{
	struct phx_http_hub *h = calloc(1, sizeof(*h) + n_channels * sizeof(h->channels[0]));
	if (!h)
		return -ENOMEM;
	h->n_channels = n_channels;
	h->keep_bytes = keep_bytes;
	h->news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (h->news < 0) {
		int r = -errno;
		free(h);
		return r;
	}
	pthread_mutex_init(&h->lock, NULL);
	*ret = h;
	return 0;
}

static void drop_oldest(struct channel *c)
{
	struct event *e = PHX_LIST_AT(&c->events, struct event, 0);
	c->n_bytes -= e->n;
	free(e->text);
	phx_list_remove(&c->events, sizeof(*e), 0);
}

void phx_http_hub_free(struct phx_http_hub *h)
{
	if (!h)
		return;
	for (unsigned i = 0; i < h->n_channels; i++) {
		while (h->channels[i].events.n)
			drop_oldest(&h->channels[i]);
		phx_list_fini(&h->channels[i].events);
	}
	pthread_mutex_destroy(&h->lock);
	phx_close_fd(&h->news);
	free(h);
}

/* ---- a reader ---- */

static void unlink_reader(struct phx_http_hub *h, struct reader *r)
{
	*(r->prev ? &r->prev->following : &h->readers) = r->following;
	if (r->following)
		r->following->prev = r->prev;
	h->channels[r->channel].n_readers--;
}

/* Called by libmicrohttpd, when nobody reads any more. */
static void free_reader(void *cls)
{
	struct reader *r = cls;
	pthread_mutex_lock(&r->hub->lock);
	unlink_reader(r->hub, r);
	pthread_mutex_unlock(&r->hub->lock);
	free(r);
}

/* NULL: he has read all. */
static const struct event *event_of(const struct channel *c, uint64_t number)
{
	uint64_t first = c->last - c->events.n + 1;
	return number >= first && number <= c->last
		? PHX_LIST_AT(&c->events, struct event, (uint32_t)(number - first))
		: NULL;
}

/* What he wanted next is gone; an event that he has half of is not cut. */
static bool has_lost(const struct channel *c, const struct reader *r)
{
	return r->next + c->events.n <= c->last;
}

static size_t take_event(struct reader *r, const struct event *e, char *buf, size_t max)
{
	size_t n = e->n - r->at < max ? e->n - r->at : max;
	memcpy(buf, e->text + r->at, n);
	r->at += n;
	if (r->at == e->n) {
		r->next++;
		r->at = 0;
	}
	return n;
}

/* As much as there is and fits. With the lock. */
static ssize_t take(struct reader *r, char *buf, size_t max)
{
	const struct channel *c = &r->hub->channels[r->channel];
	size_t n = 0;
	if (has_lost(c, r)) {
		if (r->at || max < strlen(lost_text)) /* half of an event: it begins anew */
			return MHD_CONTENT_READER_END_WITH_ERROR;
		r->next = c->last + 1;
		memcpy(buf, lost_text, strlen(lost_text));
		return (ssize_t)strlen(lost_text);
	}
	for (const struct event *e; n < max && (e = event_of(c, r->next));)
		n += take_event(r, e, buf + n, max - n);
	return (ssize_t)n;
}

static ssize_t read_more(void *cls, uint64_t pos, char *buf, size_t max)
{
	struct reader *r = cls;
	(void)pos;
	pthread_mutex_lock(&r->hub->lock);
	ssize_t n = r->ends ? MHD_CONTENT_READER_END_OF_STREAM : take(r, buf, max);
	if (n == 0) {
		r->sleeps = true;
		MHD_suspend_connection(r->q->mhd);
	}
	pthread_mutex_unlock(&r->hub->lock);
	return n;
}

/* With the lock. */
static void wake(struct reader *r)
{
	if (r->sleeps)
		MHD_resume_connection(r->q->mhd);
	r->sleeps = false;
}

static struct reader *new_reader(struct phx_http_hub *h, struct phx_http_request *q,
				 unsigned channel)
{
	struct reader *r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	*r = (struct reader){.hub = h, .q = q, .peer = *phx_http_peer(q), .channel = channel};
	pthread_mutex_lock(&h->lock);
	r->id = ++h->last_id;
	r->next = h->channels[channel].last + 1;
	r->ends = h->ended;
	r->following = h->readers;
	if (r->following)
		r->following->prev = r;
	h->readers = r;
	h->channels[channel].n_readers++;
	pthread_mutex_unlock(&h->lock);
	phx_http_hub_tell(h); /* that he hangs up is waited for, too */
	return r;
}

void phx_http_hub_read(struct phx_http_hub *h, struct phx_http_request *q, unsigned channel)
{
	struct reader *r = new_reader(h, q, channel);
	struct MHD_Response *response = r
		? MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_more, r,
						    free_reader)
		: NULL;
	if (!response) {
		if (r)
			free_reader(r);
		phx_http_reply_error(q, -ENOMEM, "out of memory");
		return;
	}
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/event-stream");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	phx_http_give(q, 200, response);
}

/* ---- who publishes ---- */

void phx_http_hub_publish(struct phx_http_hub *h, unsigned channel, char *event, size_t n)
{
	struct channel *c = &h->channels[channel];
	pthread_mutex_lock(&h->lock);
	struct event *e = event ? phx_list_push(&c->events, sizeof(*e)) : NULL;
	c->last++; /* also of one that is lost for want of memory: its readers are told */
	if (e) {
		*e = (struct event){c->last, event, n};
		c->n_bytes += n;
	} else {
		free(event);
		while (c->events.n)
			drop_oldest(c);
	}
	while (c->n_bytes > h->keep_bytes && c->events.n > 1)
		drop_oldest(c);
	for (struct reader *r = h->readers; r; r = r->following)
		if (r->channel == channel)
			wake(r);
	pthread_mutex_unlock(&h->lock);
}

unsigned phx_http_hub_readers(struct phx_http_hub *h, unsigned channel)
{
	return h->channels[channel].n_readers;
}

/* ---- the end ---- */

struct copy {
	uint64_t id;
	unsigned channel;
	struct phx_http_peer peer;
};

static struct phx_list copy_readers(struct phx_http_hub *h)
{
	struct phx_list list = {0};
	pthread_mutex_lock(&h->lock);
	for (const struct reader *r = h->readers; r; r = r->following) {
		struct copy *to = phx_list_push(&list, sizeof(*to));
		if (to)
			*to = (struct copy){r->id, r->channel, r->peer};
	}
	pthread_mutex_unlock(&h->lock);
	return list;
}

/* With the lock. */
static struct reader *find_reader(struct phx_http_hub *h, uint64_t id)
{
	for (struct reader *r = h->readers; r; r = r->following)
		if (r->id == id)
			return r;
	return NULL;
}

static void end_reader(struct phx_http_hub *h, uint64_t id)
{
	pthread_mutex_lock(&h->lock);
	struct reader *r = find_reader(h, id);
	if (r) {
		r->ends = true;
		wake(r);
	}
	pthread_mutex_unlock(&h->lock);
}

void phx_http_hub_end(struct phx_http_hub *h,
		      bool (*may)(void *arg, const struct phx_http_peer *peer, unsigned channel),
		      void *arg)
{
	pthread_mutex_lock(&h->lock);
	h->ended = h->ended || !may;
	pthread_mutex_unlock(&h->lock);
	struct phx_list list = copy_readers(h);
	PHX_LIST_EACH(struct copy, c, &list)
		if (!may || !may(arg, &c->peer, c->channel))
			end_reader(h, c->id);
	phx_list_fini(&list);
}

void phx_http_hub_tell(struct phx_http_hub *h)
{
	static const uint64_t one = 1;
	(void)!write(h->news, &one, sizeof(one));
}

/* Who sleeps is not heard of by libmicrohttpd. */
static nfds_t watched(struct phx_http_hub *h, struct pollfd **ret_fds, uint64_t **ret_ids)
{
	nfds_t n = 1, room = 1;
	pthread_mutex_lock(&h->lock);
	for (const struct reader *r = h->readers; r; r = r->following)
		room++;
	struct pollfd *fds = calloc(room, sizeof(*fds));
	uint64_t *ids = calloc(room, sizeof(*ids));
	for (const struct reader *r = h->readers; fds && ids && r; r = r->following)
		if (r->sleeps) {
			fds[n] = phx_http_hang_up(r->q);
			ids[n++] = r->id;
		}
	pthread_mutex_unlock(&h->lock);
	*ret_fds = fds;
	*ret_ids = ids;
	return n;
}

void phx_http_hub_wait(struct phx_http_hub *h, int ms)
{
	PHX_AUTO_FREE struct pollfd *fds = NULL;
	PHX_AUTO_FREE uint64_t *ids = NULL;
	struct pollfd news = {.fd = h->news, .events = POLLIN};
	uint64_t n_news;
	nfds_t n = watched(h, &fds, &ids);
	if (fds)
		fds[0] = news;
	poll(fds && ids ? fds : &news, fds && ids ? n : 1, ms);
	(void)!read(h->news, &n_news, sizeof(n_news));
	for (nfds_t i = 1; fds && ids && i < n; i++)
		if (fds[i].revents)
			end_reader(h, ids[i]);
}
