/* Virtual addresses of a director: see vip.h. Called by director.c. lib/web/claim.c decides what is
 * done when another machine has an address too. Never decides which addresses there are. The loop
 * is held while the kernel answers, which it does at once. */
#include "agent/vip.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "ipvs/ipvs.h"
#include "agent/log.h"

/* PAUSE_MS: frames that come within it are looked at together */
enum { PAUSE_MS = 20, BEAT_MS = 2000 };

struct held {
	char address[PHX_WEB_ADDRESS_MAX];
	char interface[16];
	struct phx_ipvs_watch *watch;
	sd_event_source *frames; /* of the watch */
	struct phx_web_hold hold;
	char other[18]; /* the last machine that said it has the address */
};

struct vips {
	struct loop *loop;
	sd_event_source *due;
	struct phx_list held; /* struct held */
	struct phx_web_head head;
	char note[160];
	bool given_up;
};

static struct held *held_at(const struct vips *v, uint32_t i)
{
	return PHX_LIST_AT(&v->held, struct held, i);
}

/* ---- watching ---- */

static void forget(struct vips *v, uint32_t i)
{
	loop_forget(v->loop, &held_at(v, i)->frames);
	phx_ipvs_watch_close(held_at(v, i)->watch);
	phx_list_remove(&v->held, sizeof(struct held), i);
}

/* Gives an address up. If it cannot be removed now, the next look tries again. */
static void give_up(struct vips *v, uint32_t i)
{
	const struct held *h = held_at(v, i);
	struct phx_err err = {0};
	if (phx_ipvs_address_remove(h->interface, h->address, &err) < 0) {
		agent_log("%s", err.text);
		return;
	}
	snprintf(v->note, sizeof(v->note), "%s was given up to %s: the head was not heard",
		 h->address, h->other);
	agent_log("%s", v->note);
	v->given_up = true;
	forget(v, i);
}

/* Looks at one address. A network card without link cannot send: the next look tries again. */
static void look(struct vips *v, uint32_t i)
{
	struct held *h = held_at(v, i);
	struct phx_web_sight seen;
	phx_ipvs_watch_read(h->watch, &seen, h->other);
	struct phx_web_acts acts = phx_web_hold_look(&h->hold, &v->head, &seen, phx_clock_ms());
	if (acts.probe)
		phx_ipvs_watch_probe(h->watch, NULL);
	if (acts.announce)
		phx_ipvs_watch_announce(h->watch, NULL);
	if (acts.yield)
		give_up(v, i);
}

/* Sets the next look: when a frame comes, or when a look has something to do without one. */
static void arm(struct vips *v)
{
	int64_t due_ms = INT64_MAX, soon_ms = phx_clock_ms() + PAUSE_MS;
	PHX_LIST_EACH(struct held, h, &v->held) {
		int64_t at_ms = phx_web_hold_due_ms(&h->hold, &v->head);
		due_ms = at_ms < due_ms ? at_ms : due_ms;
		loop_watch_again(v->loop, h->frames);
	}
	loop_arm(v->loop, v->due, due_ms < soon_ms ? soon_ms : due_ms);
}

static void look_at_all(void *vips)
{
	struct vips *v = vips;
	for (uint32_t i = v->held.n; i > 0; i--)
		look(v, i - 1);
	arm(v);
}

/* ---- life ---- */

int vip_new(struct loop *loop, struct vips **ret)
{
	struct vips *v = calloc(1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	v->loop = loop;
	v->head = (struct phx_web_head){.heard_ms = phx_clock_ms(), .beat_ms = BEAT_MS};
	int r = loop_timer(loop, look_at_all, v, &v->due);
	if (r < 0) {
		free(v);
		return r;
	}
	*ret = v;
	return 0;
}

void vip_free(struct vips *v)
{
	if (!v)
		return;
	loop_hold(v->loop);
	while (v->held.n)
		forget(v, v->held.n - 1);
	loop_forget(v->loop, &v->due);
	loop_release(v->loop);
	phx_list_fini(&v->held);
	free(v);
}

/* ---- taking and giving back ---- */

static uint32_t ipv4_of(const struct sockaddr *a)
{
	return ((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr;
}

/* Finds the network card in whose network the address is. */
int vip_card(const char *address, char ret[16], struct phx_err *err)
{
	struct ifaddrs *all;
	uint32_t wanted = 0;
	int r = -ENODEV;
	if (inet_pton(AF_INET, address, &wanted) != 1 || getifaddrs(&all) < 0)
		return phx_err_set(err, -EINVAL, "address %s: cannot be looked for", address);
	for (const struct ifaddrs *a = all; a && r < 0; a = a->ifa_next) {
		if (!a->ifa_addr || !a->ifa_netmask || a->ifa_addr->sa_family != AF_INET ||
		    (a->ifa_flags & IFF_LOOPBACK) || ipv4_of(a->ifa_netmask) == UINT32_MAX)
			continue;
		if (((ipv4_of(a->ifa_addr) ^ wanted) & ipv4_of(a->ifa_netmask)) == 0)
			r = phx_str_copy(ret, 16, a->ifa_name);
	}
	freeifaddrs(all);
	return r < 0 ? phx_err_set(err, r, "no network card of this node is in the network of %s",
				   address)
		     : 0;
}

static bool holds(const struct vips *v, const char *address)
{
	PHX_LIST_EACH(struct held, h, &v->held)
		if (phx_str_eq(h->address, address))
			return true;
	return false;
}

static int watch(struct vips *v, struct held *h, const char *address, struct phx_err *err)
{
	int r = phx_ipvs_watch_open(h->interface, address, &h->watch, err);
	r = r ? r : loop_watch(v->loop, phx_ipvs_watch_fd(h->watch), look_at_all, v, &h->frames);
	return r ? r : sd_event_source_set_ratelimit(h->frames, PAUSE_MS * 1000, 1);
}

static int take(struct vips *v, const char *address, struct phx_err *err)
{
	if (holds(v, address))
		return 0;
	struct held *h = phx_list_push(&v->held, sizeof(*h));
	if (!h)
		return -ENOMEM;
	int r = vip_card(address, h->interface, err);
	r = r ? r : watch(v, h, address, err);
	r = r ? r : phx_ipvs_address_add(h->interface, address, err);
	PHX_STR_SET(h->address, address);
	if (r < 0)
		forget(v, v->held.n - 1);
	else
		look(v, v->held.n - 1); /* announces the address at once */
	arm(v);
	return r < 0 ? r : 0;
}

int vip_take(struct vips *v, const char *address, struct phx_err *err)
{
	LOOP_HELD(v->loop);
	return take(v, address, err);
}

int vip_keep_only(struct vips *v, const struct phx_web_table *keep,
		  const struct phx_web_share *share, struct phx_err *err)
{
	int r = 0;
	LOOP_HELD(v->loop);
	for (uint32_t i = v->held.n; r == 0 && i > 0; i--) {
		const struct held *h = held_at(v, i - 1);
		if (phx_web_share_takes(share, h->address) && phx_web_table_has(keep, h->address))
			continue;
		r = phx_ipvs_address_remove(h->interface, h->address, err);
		if (r == 0)
			forget(v, i - 1);
	}
	return r;
}

int vip_leave(struct vips *v, const char *address, struct phx_err *err)
{
	char card[16];
	LOOP_HELD(v->loop);
	for (uint32_t i = v->held.n; i > 0; i--) {
		const struct held *h = held_at(v, i - 1);
		if (!phx_str_eq(h->address, address))
			continue;
		int r = phx_ipvs_address_remove(h->interface, address, err);
		if (r == 0)
			forget(v, i - 1);
		return r;
	}
	/* without a card in its network nobody has put it there */
	return vip_card(address, card, NULL) < 0 ? 0 : phx_ipvs_address_remove(card, address, err);
}

/* ---- the head ---- */

void vip_heard(struct vips *v, uint32_t beat_ms)
{
	LOOP_HELD(v->loop);
	bool lost = phx_web_head_lost(&v->head, phx_clock_ms());
	v->head = (struct phx_web_head){.heard_ms = phx_clock_ms(), .beat_ms = beat_ms};
	if (lost)
		look_at_all(v);
	else
		arm(v);
}

bool vip_given_up(struct vips *v)
{
	LOOP_HELD(v->loop);
	return v->given_up;
}

void vip_settled(struct vips *v)
{
	LOOP_HELD(v->loop);
	v->given_up = false;
}

void vip_note(struct vips *v, char ret[160])
{
	LOOP_HELD(v->loop);
	phx_str_copy(ret, 160, v->note);
}

void vip_told(struct vips *v, const char *text)
{
	LOOP_HELD(v->loop);
	if (!v->given_up && phx_str_eq(v->note, text))
		v->note[0] = '\0';
}
