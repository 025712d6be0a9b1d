/* See neighbors.h. */
#include "agent/neighbors.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/log.h"
#include "base/clock.h"
#include "base/file.h"
#include "inventory/inventory.h"

/* switches speak twice a minute: whoever says more waits */
enum { FRAMES_AT_ONCE = 16, PAUSE_MS = 1000, FRAME_MAX = 1600, CARDS_MAX = PHX_FACTS_NICS_MAX };

struct card {
	char dev[IFNAMSIZ];
	int index; /* on which the socket listens */
	struct phx_lldp_neighbor heard;
};

struct neighbors {
	struct loop *loop;
	int fd;
	sd_event_source *frames, *pause;
	struct phx_list cards; /* struct card */
};

static struct card *find(struct neighbors *n, const char *dev)
{
	PHX_LIST_EACH(struct card, c, &n->cards)
		if (!strcmp(c->dev, dev))
			return c;
	return NULL;
}

static void hear(struct neighbors *n, int index, const void *frame, size_t size)
{
	struct phx_lldp_neighbor heard;
	if (phx_lldp_parse(frame, size, &heard) < 0)
		return;
	PHX_LIST_EACH(struct card, c, &n->cards)
		if (c->index == index)
			c->heard = heard.ends ? (struct phx_lldp_neighbor){0} : heard;
}

static void receive(void *neighbors)
{
	struct neighbors *n = neighbors;
	for (int i = 0; i < FRAMES_AT_ONCE; i++) {
		uint8_t frame[FRAME_MAX];
		struct sockaddr_ll from;
		socklen_t from_size = sizeof(from);
		ssize_t size = recvfrom(n->fd, frame, sizeof(frame), MSG_DONTWAIT,
					(struct sockaddr *)&from, &from_size);
		if (size < 0)
			break;
		if (from.sll_pkttype != PACKET_OUTGOING)
			hear(n, from.sll_ifindex, frame, (size_t)size);
	}
	loop_arm(n->loop, n->pause, phx_clock_ms() + PAUSE_MS);
}

static void listen_again(void *neighbors)
{
	struct neighbors *n = neighbors;
	loop_watch_again(n->loop, n->frames);
}

/* Switches speak to an address that no card listens to by itself. */
static void listen_on(struct neighbors *n, struct card *c, const char *dev)
{
	struct packet_mreq to = {.mr_ifindex = (int)if_nametoindex(dev),
				 .mr_type = PACKET_MR_MULTICAST,
				 .mr_alen = ETH_ALEN,
				 .mr_address = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e}};
	if (to.mr_ifindex && to.mr_ifindex != c->index &&
	    setsockopt(n->fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &to, sizeof(to)) == 0)
		c->index = to.mr_ifindex;
}

void neighbors_add(struct neighbors *n, struct phx_list *nics)
{
	if (!n || n->fd < 0)
		return;
	PHX_LIST_EACH(struct phx_nic_facts, nic, nics) {
		struct card *c = find(n, nic->dev);
		if (!c && strlen(nic->dev) < sizeof(c->dev) && n->cards.n < CARDS_MAX) {
			c = phx_list_push(&n->cards, sizeof(*c));
			if (c)
				PHX_STR_SET(c->dev, nic->dev);
		}
		if (!c)
			continue;
		listen_on(n, c, nic->dev);
		PHX_STR_SET(nic->neighbor, c->heard.system);
		PHX_STR_SET(nic->neighbor_port, c->heard.port);
	}
}

/* A card in a bond is named, not the bond. */
static int open_socket(void)
{
	int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(ETH_P_LLDP)), on = 1;
	if (fd >= 0)
		setsockopt(fd, SOL_PACKET, PACKET_ORIGDEV, &on, sizeof(on));
	return fd;
}

int neighbors_new(struct loop *loop, struct neighbors **ret)
{
	struct neighbors *n = calloc(1, sizeof(*n));
	if (!n)
		return -ENOMEM;
	n->loop = loop;
	n->fd = open_socket();
	if (n->fd < 0)
		agent_log("what switches say of themselves cannot be heard: %s", strerror(errno));
	LOOP_HELD(loop);
	int r = n->fd < 0 ? 0 : loop_timer(loop, listen_again, n, &n->pause);
	if (r == 0 && n->fd >= 0)
		r = loop_watch(loop, n->fd, receive, n, &n->frames);
	if (r < 0) {
		neighbors_free(n);
		return r;
	}
	*ret = n;
	return 0;
}

void neighbors_free(struct neighbors *n)
{
	if (!n)
		return;
	loop_forget(n->loop, &n->frames);
	loop_forget(n->loop, &n->pause);
	phx_close_fd(&n->fd);
	phx_list_fini(&n->cards);
	free(n);
}
