/* A made-up machine that enrols with a real phxd: what swarm and share have in common. */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

#include <jansson.h>

#include "base/util.h"
#include "http/http.h"

struct machine {
	unsigned number; /* from 1; everything else follows from it */
	char name[32], mac[PHX_MAC_MAX], serial[32], uuid[40], boot_id[40];
	char *key, *cert; /* PEM, malloc'd */
};

/** What the machine is called and identified by. */
void machine_init(struct machine *m, const char *prefix, unsigned number);
void machine_fini(struct machine *m);
/** POST /v1/nodes through the administrators' socket. */
int machine_announce(const struct machine *m, struct phx_http_client *admin, struct phx_err *err);
/** Key, request, certificate. `head` has no certificate of its own. */
int machine_enrol(struct machine *m, struct phx_http_client *head, struct phx_err *err);
/** Body of a hello from the installed system; new reference. */
json_t *machine_hello(const struct machine *m, const char *role, const char *identity,
		      const char *image, const char *digest);
/** Body of a beat; `running` (reference taken) may be NULL for none. `tick` makes the counters
 * move. */
json_t *machine_beat(const struct machine *m, const char *role, const char *identity,
		     json_t *running, unsigned tick);

/** Monotonic milliseconds. */
double machine_now_ms(void);
/** Print and end with status 1. */
void machine_die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
