/* An instance of a web service behind a balancer: see web.h. Called by steps
 * (worker) and by the link. The quota itself is set where services are started
 * (service_systemd.c). Never decides when to leave. */
#include "agent/web.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "ipvs/ipvs.h"
#include "agent/log.h"
#include "agent/service.h"
#include "agent/sysctl.h"
#include "agent/vip.h"
#include "agent/web_internal.h"

enum { QUIET_MS = 1000, LOOK_FIRST_MS = 20, LOOK_MOST_MS = 200, TCP_TEXT_MAX = 16 << 20 };
enum { TIME_WAIT_TICKS = 6000, TICK_MS = 10 };

int web_new(struct loop *loop, bool touch, struct web **ret)
{
	struct web *w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->loop = loop;
	w->touch = touch;
	if (vip_new(loop, &w->vips) < 0) {
		web_free(w);
		return -ENOMEM;
	}
	*ret = w;
	return 0;
}

void web_free(struct web *w)
{
	if (!w)
		return;
	vip_free(w->vips);
	free(w);
}

/* ---- being an instance ---- */

static void measure_against(struct web *w, uint32_t whole_milli)
{
	LOOP_TAKEN(w->loop, &w->busy);
	w->whole_milli = whole_milli;
	w->read_us = 0;
}

int web_enter(struct web *w, const struct phx_role *role, struct phx_err *err)
{
	if (!role->web.address[0] || !w->touch)
		return 0;
	char address[PHX_WEB_ADDRESS_MAX];
	/* the addresses are directors': this node must not answer ARP for them */
	int r = sysctl_write("net/ipv4/conf/all/arp_ignore", "1", err);
	r = r ? r : sysctl_write("net/ipv4/conf/all/arp_announce", "2", err);
	for (uint32_t i = 0; r == 0 && phx_role_web_address(&role->web, i, address); i++)
		r = phx_ipvs_address_add("lo", address, err);
	return r;
}

void web_measure(struct web *w, uint32_t whole_milli)
{
	measure_against(w, whole_milli);
}

bool web_measures(struct web *w)
{
	LOOP_TAKEN(w->loop, &w->busy);
	return w->whole_milli;
}

int web_leave(struct web *w, const struct phx_role *role, struct phx_err *err)
{
	measure_against(w, 0);
	if (!role->web.address[0] || !w->touch)
		return 0;
	char address[PHX_WEB_ADDRESS_MAX];
	int r = 0;
	for (uint32_t i = 0; r == 0 && phx_role_web_address(&role->web, i, address); i++)
		r = phx_ipvs_address_remove("lo", address, err);
	r = r ? r : sysctl_write("net/ipv4/conf/all/arp_ignore", "0", err);
	return r ? r : sysctl_write("net/ipv4/conf/all/arp_announce", "0", err);
}

/* ---- draining ---- */

void web_connections(const char *proc_net_tcp, const char *address, uint32_t port,
		     struct web_connections *ret)
{
	enum { TIME_WAIT = 6, LISTEN = 10 };
	uint8_t b[4] = {0};
	uint32_t local_address;
	phx_web_address_parse(address, b);
	memcpy(&local_address, b, sizeof(local_address));
	*ret = (struct web_connections){.closed_ms = UINT32_MAX};
	for (const char *line = proc_net_tcp; line;
	     line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
		unsigned local, local_port, state, queue, timer;
		unsigned long left;
		if (sscanf(line, " %*u: %8X:%4X %*8X:%*4X %2X %*8X:%8X %2X:%8lX", &local,
			   &local_port, &state, &queue, &timer, &left) != 6 ||
		    local_port != port)
			continue;
		if (state == LISTEN)
			ret->unaccepted += queue;
		if (local != local_address || state == LISTEN)
			continue;
		uint32_t closed_ms =
			left < TIME_WAIT_TICKS ? (uint32_t)(TIME_WAIT_TICKS - left) * TICK_MS : 0;
		if (state != TIME_WAIT)
			++ret->open;
		else if (closed_ms < ret->closed_ms)
			ret->closed_ms = closed_ms;
	}
}

/* Connections to all addresses of the role. */
static void count_all(const char *text, const struct phx_role_web *web, struct web_connections *ret)
{
	char address[PHX_WEB_ADDRESS_MAX];
	*ret = (struct web_connections){.closed_ms = UINT32_MAX};
	for (uint32_t i = 0; phx_role_web_address(web, i, address); i++) {
		struct web_connections c;
		web_connections(text, address, web->port, &c);
		ret->open += c.open;
		ret->unaccepted = c.unaccepted; /* of all addresses */
		ret->closed_ms = c.closed_ms < ret->closed_ms ? c.closed_ms : ret->closed_ms;
	}
}

static int look(const struct phx_role *role, struct web_connections *ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *text = NULL;
	int r = phx_file_read("/proc/net/tcp", TCP_TEXT_MAX, &text, NULL, err);
	if (r == 0)
		count_all(text, &role->web, ret);
	return r;
}

/* A drain under way. */
struct draining {
	int64_t began, end;
	int64_t quiet_since;
	bool let_go;
};

/* Has the services close connections that are still open after a while: their clients may only keep
 * them for later. */
static int let_go(struct draining *d, const struct web_connections *c, int64_t now,
		  const struct web_drain_calls *calls, struct phx_err *err)
{
	if (d->let_go || !c->open || c->unaccepted || now - d->began < QUIET_MS)
		return 0;
	d->let_go = true;
	return calls->let_go(calls->arg, err);
}

static int look_again(struct draining *d, const struct phx_role *role,
		      const struct web_drain_calls *calls, int64_t now, struct phx_err *err)
{
	struct web_connections c = {0};
	int r = look(role, &c, err);
	if (r < 0)
		return r;
	if (c.open)
		d->quiet_since = now;
	else if (c.closed_ms < QUIET_MS && now - c.closed_ms > d->quiet_since)
		d->quiet_since = now - c.closed_ms;
	return let_go(d, &c, now, calls, err);
}

int web_drain(struct web *w, const struct phx_role *role, uint32_t grace_ms,
	      const struct web_drain_calls *calls, struct phx_err *err)
{
	if (!role->web.address[0] || !w->touch)
		return 0;
	int64_t now = phx_clock_ms();
	struct draining d = {.began = now,
			     .end = now + (grace_ms > QUIET_MS ? grace_ms : QUIET_MS),
			     .quiet_since = now};
	struct phx_again again = {LOOK_FIRST_MS, LOOK_MOST_MS, 0};
	while (now < d.end && now - d.quiet_since < QUIET_MS) {
		now = phx_clock_ms();
		int r = look_again(&d, role, calls, now, err);
		if (r < 0)
			return r;
		int64_t quiet_ms = QUIET_MS - (now - d.quiet_since), ms = phx_again_ms(&again);
		if (calls->wait_ms(calls->arg,
				   (uint32_t)(ms < quiet_ms || quiet_ms < 0 ? ms : quiet_ms)))
			return phx_err_set(err, -ECANCELED, "given up while requests were served");
	}
	if (now >= d.end)
		agent_log("requests are still under way after %u ms; their time is up", grace_ms);
	return 0;
}

/* ---- use ---- */

uint32_t web_share_ppm(uint64_t used_us, uint64_t passed_us, uint32_t whole_milli)
{
	double share_us = (double)passed_us * whole_milli / 1000;
	double ppm = share_us > 0 ? (double)used_us * 1e6 / share_us : 0;
	return ppm < 1e6 ? (uint32_t)ppm : 1000000;
}

/* 1 with the use since the last call; 0: none yet; negative with a text: it cannot be measured. */
static int measure(struct web *w, struct services *services, uint32_t *ret_ppm, struct phx_err *err)
{
	uint64_t used;
	int measured = 0;
	LOOP_TAKEN(w->loop, &w->busy);
	if (w->whole_milli)
		measured = services_used(services, &used, err);
	if (w->whole_milli && measured == 0) {
		int64_t now = phx_clock_us();
		/* a service that was started again counts from zero: the sum may have fallen */
		if (w->read_us && now > w->read_us && used >= w->used_us) {
			*ret_ppm = web_share_ppm(used - w->used_us, (uint64_t)(now - w->read_us),
						 w->whole_milli);
			measured = 1;
		}
		w->used_us = used;
		w->read_us = now;
	}
	return measured;
}

void web_monitor(struct web *w, struct services *services, json_t *monitor)
{
	uint32_t ppm = 0;
	struct phx_err err = {0};
	json_t *view = director_view(w);
	int r = measure(w, services, &ppm, &err);
	if (r == 1)
		json_object_set_new(monitor, "web_use_ppm", json_integer(ppm));
	else if (r < 0)
		json_object_set_new(monitor, "web_use_error", json_string(err.text));
	if (view)
		json_object_set_new(monitor, "balancer", view);
}
