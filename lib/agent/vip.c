/* Virtual addresses of a director: see vip.h. Called by director.c. When another
 * machine has an address too, the thread does what lib/web/claim.c decides. Never
 * decides which addresses there are. */
#include "agent/vip.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "ipvs/ipvs.h"
#include "agent/log.h"

/* PAUSE_MS: frames that come faster are looked at together */
enum { PAUSE_MS = 20, BEAT_MS = 2000 };

struct held {
	char address[PHX_WEB_ADDRESS_MAX];
	char interface[16];
	struct phx_ipvs_watch *watch;
	struct phx_web_hold hold;
	char other[18]; /* the last machine that said it has the address */
};

struct vips {
	pthread_mutex_t lock;
	struct phx_list held; /* struct held */
	struct phx_web_head head;
	char note[160];
	bool given_up;
	bool watched, stop; /* there is a thread; it is to end */
	pthread_t thread;
	int wake_fd; /* wakes the thread: a new address, the head is back, or its end */
};

int vip_new(struct vips **ret)
{
	struct vips *v = calloc(1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	v->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (v->wake_fd < 0) {
		int r = -errno;
		free(v);
		return r;
	}
	v->head = (struct phx_web_head){.heard_ms = phx_clock_ms(), .beat_ms = BEAT_MS};
	pthread_mutex_init(&v->lock, NULL);
	*ret = v;
	return 0;
}

static struct held *held_at(const struct vips *v, uint32_t i)
{
	return PHX_LIST_AT(&v->held, struct held, i);
}

static void wake_thread(struct vips *v)
{
	uint64_t one = 1;
	(void)!write(v->wake_fd, &one, sizeof(one));
}

void vip_free(struct vips *v)
{
	if (!v)
		return;
	pthread_mutex_lock(&v->lock);
	v->stop = true;
	wake_thread(v);
	pthread_mutex_unlock(&v->lock);
	if (v->watched)
		pthread_join(v->thread, NULL);
	PHX_LIST_EACH(struct held, h, &v->held)
		phx_ipvs_watch_close(h->watch);
	phx_list_fini(&v->held);
	close(v->wake_fd);
	pthread_mutex_destroy(&v->lock);
	free(v);
}

/* ---- watching ---- */

static void forget(struct vips *v, uint32_t i)
{
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

static int ms_until(int64_t due_ms)
{
	int64_t ms = due_ms - phx_clock_ms();
	return ms < 0 ? 0 : ms > INT_MAX ? INT_MAX : (int)ms;
}

/* Waits until a frame comes, until a look is due, or until the thread is woken. A socket that
 * is closed meanwhile only ends the wait. */
static void wait_for_sight(struct vips *v)
{
	struct pollfd fds[PHX_WEB_SERVICES_MAX + 1] = {{.fd = v->wake_fd, .events = POLLIN}};
	nfds_t n = 1;
	int64_t due_ms = INT64_MAX;
	uint64_t woken;
	pthread_mutex_lock(&v->lock);
	PHX_LIST_EACH(struct held, h, &v->held) {
		int64_t at_ms = phx_web_hold_due_ms(&h->hold, &v->head);
		due_ms = at_ms < due_ms ? at_ms : due_ms;
		if (n < PHX_ARRAY_SIZE(fds))
			fds[n++] = (struct pollfd){.fd = phx_ipvs_watch_fd(h->watch),
						   .events = POLLIN};
	}
	pthread_mutex_unlock(&v->lock);
	poll(fds, n, due_ms == INT64_MAX ? -1 : ms_until(due_ms));
	(void)!read(v->wake_fd, &woken, sizeof(woken));
}

static void *watch_thread(void *arg)
{
	struct vips *v = arg;
	for (bool stop = false; !stop;) {
		wait_for_sight(v);
		pthread_mutex_lock(&v->lock);
		for (uint32_t i = v->held.n; i > 0; i--)
			look(v, i - 1);
		stop = v->stop;
		pthread_mutex_unlock(&v->lock);
		phx_sleep_ms(PAUSE_MS);
	}
	return NULL;
}

static int start_watching(struct vips *v)
{
	int r = v->watched ? 0 : -pthread_create(&v->thread, NULL, watch_thread, v);
	v->watched = v->watched || r == 0;
	return r;
}

/* ---- taking and giving back ---- */

static uint32_t ipv4_of(const struct sockaddr *a)
{
	return ((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr;
}

/* Finds the network card in whose network the address is. */
static int find_interface(const char *address, char ret[16], struct phx_err *err)
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

static int take(struct vips *v, const char *address, struct phx_err *err)
{
	struct held h = {0};
	if (holds(v, address))
		return 0;
	int r = find_interface(address, h.interface, err);
	r = r ? r : phx_ipvs_watch_open(h.interface, address, &h.watch, err);
	r = r ? r : start_watching(v);
	r = r ? r : phx_ipvs_address_add(h.interface, address, err);
	struct held *item = r == 0 ? phx_list_push(&v->held, sizeof(*item)) : NULL;
	if (!item) {
		phx_ipvs_watch_close(h.watch);
		return r ? r : -ENOMEM;
	}
	PHX_STR_SET(h.address, address);
	*item = h;
	look(v, v->held.n - 1); /* the network is told at once */
	wake_thread(v);
	return 0;
}

int vip_take(struct vips *v, const char *address, struct phx_err *err)
{
	pthread_mutex_lock(&v->lock);
	int r = take(v, address, err);
	pthread_mutex_unlock(&v->lock);
	return r;
}

static bool in_table(const struct phx_web_table *t, const char *address)
{
	PHX_LIST_EACH(struct phx_web_service, s, &t->services)
		if (phx_str_eq(s->address, address))
			return true;
	return false;
}

int vip_keep_only(struct vips *v, const struct phx_web_table *keep, struct phx_err *err)
{
	int r = 0;
	pthread_mutex_lock(&v->lock);
	for (uint32_t i = v->held.n; r == 0 && i > 0; i--) {
		const struct held *h = held_at(v, i - 1);
		if (in_table(keep, h->address))
			continue;
		r = phx_ipvs_address_remove(h->interface, h->address, err);
		if (r == 0)
			forget(v, i - 1);
	}
	pthread_mutex_unlock(&v->lock);
	return r;
}

/* ---- the head ---- */

void vip_heard(struct vips *v, uint32_t beat_ms)
{
	pthread_mutex_lock(&v->lock);
	if (phx_web_head_lost(&v->head, phx_clock_ms()))
		wake_thread(v);
	v->head = (struct phx_web_head){.heard_ms = phx_clock_ms(), .beat_ms = beat_ms};
	pthread_mutex_unlock(&v->lock);
}

bool vip_given_up(struct vips *v)
{
	pthread_mutex_lock(&v->lock);
	bool is = v->given_up;
	pthread_mutex_unlock(&v->lock);
	return is;
}

void vip_settled(struct vips *v)
{
	pthread_mutex_lock(&v->lock);
	v->given_up = false;
	pthread_mutex_unlock(&v->lock);
}

void vip_note(struct vips *v, char ret[160])
{
	pthread_mutex_lock(&v->lock);
	phx_str_copy(ret, 160, v->note);
	pthread_mutex_unlock(&v->lock);
}

void vip_told(struct vips *v, const char *text)
{
	pthread_mutex_lock(&v->lock);
	if (!v->given_up && phx_str_eq(v->note, text))
		v->note[0] = '\0';
	pthread_mutex_unlock(&v->lock);
}
