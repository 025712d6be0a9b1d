/* What an agent reports with a beat, parsed in place, as ten thousand agents may beat every two
 * seconds. Pure. */
#ifndef PHXD_BEAT_H
#define PHXD_BEAT_H

#include "base/json.h"
#include "types/order_kind.h"
#include "types/told.h"

enum { BEAT_ERROR_MAX = 160 };

/* Limits of a beat or another body: what phxd keeps of it and shows must be readable by clients;
 * and a MiB of "{}" becomes 200 MB of records, a MiB of "" 30 MB. */
#define BODY_SHAPE (&(const struct phx_json_shape){32, 20000, 60000})

/** An order that the agent has: a step, a run of a job, or what stands ("table"). */
struct beat_running {
	enum phx_order_kind kind; /* none: the agent is newer than this head */
	int64_t id,
		run; /* `run` of what is no job: the form of it that the agent knows; 0 at first */
};
/** The first of the kind in a list of them; NULL: none. Borrowed. */
static inline const struct beat_running *beat_running_of(const struct phx_list *running,
							 enum phx_order_kind kind)
{
	PHX_LIST_EACH(const struct beat_running, r, running)
		if (r->kind == kind)
			return r;
	return NULL;
}

/** What the core is told when it changes. */
struct beat_report {
	PHX_MEMBERS(beat_report, PHX_TOLD_REPORT_FIELDS)
	char ca[72]; /* not reported: the CA of the agent's certificate */
};

/** What the node claims of its machine, for metrics: members of its monitor (phx_monitor). */
#define BEAT_FIGURES(F) \
	F(cpu_permille) \
	F(load1_centi) \
	F(memory_total_bytes) \
	F(memory_available_bytes) \
	F(swap_total_bytes) \
	F(swap_used_bytes) \
	F(disk_read_bytes) \
	F(disk_written_bytes) \
	F(net_rx_bytes) \
	F(net_tx_bytes) \
	F(uptime_s)
enum {
#define F(name) BEAT_FIGURE_##name,
	BEAT_FIGURES(F)
#undef F
		BEAT_N_FIGURES
};
/** Each 0 or more, or -1: not told, or no such number. */
struct beat_figures {
	int64_t of[BEAT_N_FIGURES];
};
static inline void beat_figures_none(struct beat_figures *f)
{
	for (int i = 0; i < BEAT_N_FIGURES; i++)
		f->of[i] = -1;
}

struct beat {
	struct beat_report report;
	int64_t wait_ms;
	char version[PHX_TOLD_VERSION_MAX]; /* "": an older agent, which says it in its hello */
	struct phx_list running;            /* struct beat_running */
	/* JSON texts; NULL: not reported. Logins are shown to fewer people than the rest */
	char *monitor, *sessions;
	/* of the monitor: the use of a web RE's instance (-1: none) and why; whether there is a
	 * balancer */
	int64_t use_ppm;
	char use_error[BEAT_ERROR_MAX];
	struct beat_figures figures;
	char site_error[BEAT_ERROR_MAX]; /* why the bundle of the site's settings failed */
	bool balancer;
};

/** Parses a beat. Texts that are too long are cut, members of a wrong type count as absent, unknown
 * ones are skipped. -EINVAL: no JSON object, or nested too deep; -E2BIG: of too many parts. Call
 * beat_fini() even after an error. */
int beat_parse(const char *text, struct beat *ret, struct phx_err *err);
/** Safe on a zeroed beat. */
void beat_fini(struct beat *b);

#endif
