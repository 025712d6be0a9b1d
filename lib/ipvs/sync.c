/* Threads of the kernel by which directors tell each other of connections, so that who gets an
 * address of another one goes on with its connections. See ipvs.h. Called by the agent of a
 * director; never decides who the others are. */
#include <errno.h>
#include <string.h>

#include <linux/ip_vs.h>

#include "ipvs/internal.h"

/* What runs, by its state. */
struct running {
	struct ipvs_daemon daemons[2];
	uint32_t n;
};

static int take(void *arg, struct nlmsghdr *h)
{
	struct running *running = arg;
	struct ipvs_daemon d;
	int r = ipvs_parse_daemon(h, &d);
	if (r == 0 && running->n < PHX_ARRAY_SIZE(running->daemons))
		running->daemons[running->n++] = d;
	return r;
}

static int find_running(struct phx_ipvs *v, struct running *ret, struct phx_err *err)
{
	struct ipvs_list_calls calls = {.item = take, .arg = ret};
	struct nl_msg *m;
	int r = ipvs_build_daemons(v->family, &m);
	return r < 0 ? r : ipvs_list(v, m, &calls, err);
}

static bool is_same(const struct ipvs_daemon *a, const struct ipvs_daemon *b)
{
	return a->state == b->state && a->sync_id == b->sync_id &&
		!strcmp(a->interface, b->interface);
}

static int order(struct phx_ipvs *v, const struct ipvs_daemon *d, bool begins, struct phx_err *err)
{
	struct nl_msg *m;
	int r = ipvs_build_daemon(v->family, d, begins, &m);
	r = r ? r : ipvs_send(v, m);
	if (r == 0 || (begins && r == -EEXIST) || (!begins && (r == -ENOENT || r == -ESRCH)))
		return 0;
	return phx_err_set(err, r, "%s of connections on %s: %s",
			   d->state == IP_VS_STATE_MASTER ? "telling others" : "hearing others",
			   d->interface, strerror(-r));
}

/* Has the kernel do what `want` says, and nothing else of its state. */
static int make_one(struct phx_ipvs *v, const struct running *has, const struct ipvs_daemon *want,
		    struct phx_err *err)
{
	bool there = false;
	int r = 0;
	for (uint32_t i = 0; r == 0 && i < has->n; i++) {
		const struct ipvs_daemon *d = &has->daemons[i];
		if (d->state != want->state)
			continue;
		there = want->sync_id && is_same(d, want);
		r = there ? 0 : order(v, d, false, err);
	}
	return r || there || !want->sync_id ? r : order(v, want, true, err);
}

int phx_ipvs_sync(struct phx_ipvs *v, const char *interface, uint32_t sync_id, struct phx_err *err)
{
	static const uint32_t states[] = {IP_VS_STATE_MASTER, IP_VS_STATE_BACKUP};
	struct running has = {.n = 0};
	int r = find_running(v, &has, err);
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(states); i++) {
		struct ipvs_daemon want = {.state = states[i], .sync_id = sync_id};
		r = PHX_STR_SET(want.interface, interface);
		r = r ? r : make_one(v, &has, &want, err);
	}
	return r;
}
