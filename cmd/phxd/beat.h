/* What an agent tells with a beat, read in place: ten thousand agents beat every two seconds. */
#ifndef PHXD_BEAT_H
#define PHXD_BEAT_H

#include "base/json.h"

enum { BEAT_ERROR_MAX = 160 };

/* Of a beat and of any other body: what is kept of it, and shown to others, must be what they can
 * read; and a MiB of "{}" is 200 MB of records, one of "" 30 MB. */
#define BODY_SHAPE (&(const struct phx_json_shape){32, 20000, 60000})

/** Something that runs on a node: a step, a run of a job, or what stands by its kind ("table"). */
struct beat_running {
	char kind[16]; /* "" of a step, "job" */
	int64_t id, run;
};

/** What the core hears of when it changes. */
struct beat_report {
	char role[PHX_NAME_MAX], identity[200], text[151];
	char ca[72]; /* not told, but seen: the CA of the certificate that it shows */
	bool healthy;
};

struct beat {
	char boot_id[64], env[32];
	struct beat_report report;
	int64_t wait_ms;
	struct phx_list running; /* struct beat_running */
	/* JSON texts; NULL: it tells none. Who is logged in is for other eyes than the rest */
	char *monitor, *sessions;
	/* of the monitor: the use of a web RE, -1 none told, and why; whether it has a balancer */
	int64_t use_ppm;
	char use_error[BEAT_ERROR_MAX];
	bool balancer;
};

/** Texts that are too long are cut, members of another type than they should have count as absent,
 * unknown ones are passed over. -EINVAL: no JSON object, or nested too deep; -E2BIG: of too many
 * parts. Then, too: beat_fini(). */
int beat_parse(const char *text, struct beat *ret, struct phx_err *err);
/** Safe on a zeroed one. */
void beat_fini(struct beat *b);

#endif
