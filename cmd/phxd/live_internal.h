/* What live.c and live_told.c share: what is known of each node, and where it is kept. */
#ifndef PHXD_LIVE_INTERNAL_H
#define PHXD_LIVE_INTERNAL_H

#include <pthread.h>

#include "base/hash.h"
#include "base/wheel.h"
#include "node/lateness.h"
#include "phxd/daemon.h"

/* What is known of one node. */
struct contact {
	char node[PHX_NAME_MAX];
	uint32_t place;            /* index in `contacts` */
	int64_t heard_ms, away_ms; /* and late.away_ms then */
	int64_t free_ms; /* when its last poll was answered; 0: unknown, or a beat came since */
	bool missing;    /* told to the core */
	bool quiet;      /* told to the core as quiet; until it is heard */
	bool fresh;      /* not heard yet, or the core is to be told again */
	bool wake;       /* orders may have changed since the last answer */
	int64_t looked_ms, again_ms; /* again_ms: no silence is told before; the last was not */
	char *monitor, *sessions;
	char version[PHX_TOLD_VERSION_MAX]; /* of its agent */
	int64_t use_ppm;                    /* of the monitor; -1: none */
	char *use_error;                    /* why; NULL: no reason */
	int64_t site;     /* its bundle of the site's settings, by its id; or enum live_site */
	char *site_error; /* why that failed; NULL: it did not */
	bool reported;    /* to the core, since the last hello: */
	struct beat_report report;
	struct phx_http_request *held;
	int64_t held_until_ms;
	struct phx_list running;     /* struct beat_running: what its agent runs that is held */
	int64_t told_bytes, told_ms; /* bytes journalled lately, and as of when */
	struct phx_wheel_entry due;
};

struct live {
	struct daemon *d;
	live_orders_fn orders;
	pthread_mutex_t lock;
	struct phx_list contacts; /* struct contact * */
	struct phx_hash places;   /* of contacts, by their names */
	struct phx_wheel wheel;
	struct phx_lateness late;
	struct phx_list back; /* struct phx_word: nodes that are back */
	bool adopted;         /* used by the loop's thread alone */
	bool stopped;         /* nothing is held any more */
};

/** The contact of `node`; NULL: there is none. Under the lock, as the next one. */
struct contact *live_find(const struct live *l, const char *node);
/** The same, made when it is new; NULL on ENOMEM. */
struct contact *live_contact(struct live *l, const char *node, int64_t now);

#endif
