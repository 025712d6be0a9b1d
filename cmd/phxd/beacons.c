/* Beacons: machines that cannot yet prove who they are say how far they got (types/beacon.h).
 * Called by way of routes.def, by anybody on the provisioning network. What they say becomes a row
 * of the machine's start, marked as unproven (starts.h), and changes nothing else: no node, no
 * event, no file. An address may send so many, and all together so many; who sends more is told to
 * come later, and nothing is kept of it. */
#include "phxd/beacons.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/mix.h"
#include "phxd/starts.h"
#include "state/known.h"
#include "types/beacon.h"

enum {
	SLOTS = 4096, /* addresses; two that share one push each other out */
	OF_ADDRESS_BURST = 6,
	OF_ADDRESS_EVERY_MS = 5000,
	OF_ALL_BURST = 2000,
	OF_ALL_EVERY_US = 2500, /* 400 a second: 10,000 machines that boot within two minutes */
	LATER_S = 5,
};

/* What is left is a time: how much of it lies in the past is how many more may come. */
struct slot {
	uint64_t key; /* 0: nobody */
	int64_t free_ms;
};

struct beacons {
	struct daemon *d;
	uint64_t seed; /* nobody outside knows who shares a slot with whom */
	pthread_mutex_t lock;
	struct slot slots[SLOTS];
	int64_t free_us; /* of all */
};

int beacons_new(struct daemon *d, struct beacons **ret)
{
	struct beacons *b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->d = d;
	(void)!getrandom(&b->seed, sizeof(b->seed), GRND_NONBLOCK);
	pthread_mutex_init(&b->lock, NULL);
	*ret = b;
	return 0;
}

void beacons_free(struct beacons *b)
{
	if (!b)
		return;
	pthread_mutex_destroy(&b->lock);
	free(b);
}

static uint64_t key_of(const struct beacons *b, const char *address)
{
	uint64_t key = phx_mix_text(phx_mix_number(PHX_MIX_NONE, b->seed), address);
	key ^= key >> 32; /* the low bits choose the slot */
	return key ? key : 1;
}

/* May one more come now? Counts it if so. `free_at` is when all that came is forgotten. */
static bool take(int64_t *free_at, int64_t now, int64_t every, int64_t burst)
{
	int64_t from = *free_at > now ? *free_at : now;
	if (from + every - now > burst * every)
		return false;
	*free_at = from + every;
	return true;
}

bool beacons_may(struct beacons *b, const char *address, int64_t now_ms)
{
	uint64_t key = key_of(b, address);
	pthread_mutex_lock(&b->lock);
	struct slot *s = &b->slots[key % SLOTS];
	if (s->key != key)
		*s = (struct slot){.key = key};
	bool may = take(&s->free_ms, now_ms, OF_ADDRESS_EVERY_MS, OF_ADDRESS_BURST) &&
		take(&b->free_us, now_ms * 1000, OF_ALL_EVERY_US, OF_ALL_BURST);
	pthread_mutex_unlock(&b->lock);
	return may;
}

/* "own": it came from the address that the head reserved for that machine; "other": it did not;
 * "": there is none. */
static const char *whose_address(struct daemon *d, const char *mac, const char *address)
{
	const char *whose = "";
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_node *n = phx_known_next(s, PHX_KNOWN_MAC, mac, 0);
	if (n && n->ip[0])
		whose = strcmp(n->ip, address) ? "other" : "own";
	engine_unlock(d->engine);
	return whose;
}

static void keep(struct daemon *d, const char *mac, const char *address, const struct phx_beacon *b)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf words = {0};
	struct phx_start_row row = {.kind = PHX_START_beacon, .proven = false};
	const char *whose = whose_address(d, mac, address);
	phx_beacon_words(b, &words);
	phx_buf_addf(&words, " by=%s%s%s", address, whose[0] ? " by_address=" : "", whose);
	if (words.failed)
		return;
	PHX_STR_SET(row.node, mac);
	phx_start_clean(row.text, sizeof(row.text), words.data);
	starts_tell(d->starts, &row);
}

void api_beacon(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	const char *address = phx_http_peer(q)->address;
	char mac[PHX_MAC_MAX];
	struct phx_beacon b;
	struct phx_err err = {0};
	size_t n;
	if (!beacons_may(d->beacons, address, phx_clock_ms())) {
		phx_http_reply_later(q, LATER_S, "too many beacons");
		return;
	}
	const char *body = phx_http_body(q, &n);
	int r = phx_mac_parse(phx_http_param(q, 0), mac);
	if (r < 0)
		phx_err_set(&err, -EINVAL, "beacon/MAC: that is no MAC address");
	r = r < 0 ? -EINVAL : phx_beacon_parse(body ? body : "", body ? n : 0, &b, &err);
	if (r < 0) {
		phx_http_reply_error(q, r, err.text);
		return;
	}
	keep(d, mac, address, &b);
	phx_record_fini(&phx_beacon_record, &b);
	phx_http_reply_text(q, 200, "text/plain", "");
}
