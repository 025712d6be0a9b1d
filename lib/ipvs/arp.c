/* Whose an address is, by ARP: telling the network that it is here (so that who
 * knew another machine under it does not go on asking that one), asking who has
 * it, and seeing who else says so. See ipvs.h. Decides nothing: lib/web/claim.c. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/if_ether.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ipvs/ipvs.h"

enum { FRAMES_MAX = 64 };

struct phx_ipvs_watch {
	int fd;
	int interface;
	uint8_t address[4], mac[ETH_ALEN];
	char text[PHX_WEB_ADDRESS_MAX]; /* the address */
};

/* ---- opening ---- */

static int hardware_address(int fd, const char *interface, uint8_t ret[ETH_ALEN])
{
	struct ifreq req = {0};
	int r = PHX_STR_SET(req.ifr_name, interface);
	if (r < 0 || ioctl(fd, SIOCGIFHWADDR, &req) < 0)
		return r < 0 ? r : -errno;
	memcpy(ret, req.ifr_hwaddr.sa_data, ETH_ALEN);
	return 0;
}

/* What says that the sender has the address, and what asks for it without one: all other ARP stays
 * in the kernel. */
static int filter(int fd, const uint8_t address[4])
{
	uint32_t bytes;
	memcpy(&bytes, address, sizeof(bytes));
	const uint32_t wanted = ntohl(bytes), sender = offsetof(struct ether_arp, arp_spa),
		       target = offsetof(struct ether_arp, arp_tpa);
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, sender),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, wanted, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, target),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, wanted, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, sizeof(struct ether_arp)),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog program = {PHX_ARRAY_SIZE(code), code};
	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0 ? -errno
											   : 0;
}

/* Nothing is received before the filter is there. */
static int open_socket(struct phx_ipvs_watch *w, const char *interface)
{
	struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETHERTYPE_ARP)};
	w->interface = at.sll_ifindex = (int)if_nametoindex(interface);
	if (!w->interface)
		return -ENODEV;
	w->fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r = w->fd < 0 ? -errno : hardware_address(w->fd, interface, w->mac);
	r = r ? r : filter(w->fd, w->address);
	return r == 0 && bind(w->fd, (struct sockaddr *)&at, sizeof(at)) < 0 ? -errno : r;
}

int phx_ipvs_watch_open(const char *interface, const char *address, struct phx_ipvs_watch **ret,
			struct phx_err *err)
{
	struct phx_ipvs_watch *w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->fd = -1;
	PHX_STR_SET(w->text, address);
	int r = phx_web_address_parse(address, w->address);
	r = r ? r : open_socket(w, interface);
	if (r < 0) {
		phx_ipvs_watch_close(w);
		return phx_err_set(err, r, "watching %s on %s: %s", address, interface,
				   strerror(-r));
	}
	*ret = w;
	return 0;
}

void phx_ipvs_watch_close(struct phx_ipvs_watch *w)
{
	if (w && w->fd >= 0)
		close(w->fd);
	free(w);
}

int phx_ipvs_watch_fd(const struct phx_ipvs_watch *w)
{
	return w->fd;
}

/* ---- telling and asking ---- */

/* A request for the address: from one who has it everybody learns from it; from nobody it is only
 * answered. */
static int send_request(const struct phx_ipvs_watch *w, bool ours, struct phx_err *err)
{
	struct sockaddr_ll to = {.sll_family = AF_PACKET,
				 .sll_protocol = htons(ETHERTYPE_ARP),
				 .sll_halen = ETH_ALEN,
				 .sll_ifindex = w->interface};
	struct ether_arp arp = {.arp_pln = 4, .arp_hln = ETH_ALEN};
	memset(to.sll_addr, 0xff, ETH_ALEN);
	arp.arp_hrd = htons(ARPHRD_ETHER);
	arp.arp_pro = htons(ETHERTYPE_IP);
	arp.arp_op = htons(ARPOP_REQUEST);
	memcpy(arp.arp_sha, w->mac, ETH_ALEN);
	memcpy(arp.arp_tpa, w->address, 4);
	if (ours)
		memcpy(arp.arp_spa, w->address, 4);
	if (sendto(w->fd, &arp, sizeof(arp), 0, (struct sockaddr *)&to, sizeof(to)) < 0)
		return phx_err_set(err, -errno, "%s %s: %s", ours ? "announcing" : "asking for",
				   w->text, strerror(errno));
	return 0;
}

int phx_ipvs_watch_announce(const struct phx_ipvs_watch *w, struct phx_err *err)
{
	return send_request(w, true, err);
}

int phx_ipvs_watch_probe(const struct phx_ipvs_watch *w, struct phx_err *err)
{
	return send_request(w, false, err);
}

/* ---- seeing ---- */

static void add_sight(const struct phx_ipvs_watch *w, const struct ether_arp *arp,
		      struct phx_web_sight *seen, char other[18])
{
	static const uint8_t nobody[4];
	const uint8_t *m = arp->arp_sha;
	int above = memcmp(m, w->mac, ETH_ALEN);
	bool ethernet = arp->arp_pln == 4 && arp->arp_hln == ETH_ALEN &&
		arp->arp_pro == htons(ETHERTYPE_IP);
	if (!ethernet || above == 0)
		return;
	if (!memcmp(arp->arp_spa, w->address, 4)) {
		seen->holds = true;
		snprintf(other, 18, "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4],
			 m[5]);
	} else if (arp->arp_op == htons(ARPOP_REQUEST) && !memcmp(arp->arp_spa, nobody, 4)) {
		seen->asks = true;
		seen->lower = seen->lower || above < 0;
	}
}

void phx_ipvs_watch_read(const struct phx_ipvs_watch *w, struct phx_web_sight *ret,
			 char ret_other[18])
{
	*ret = (struct phx_web_sight){0};
	for (int i = 0; i < FRAMES_MAX; i++) {
		struct ether_arp arp;
		struct sockaddr_ll from = {0};
		socklen_t n = sizeof(from);
		ssize_t got = recvfrom(w->fd, &arp, sizeof(arp), 0, (struct sockaddr *)&from, &n);
		if (got < 0)
			return;
		if (got == sizeof(arp) && from.sll_pkttype != PACKET_OUTGOING)
			add_sight(w, &arp, ret, ret_other);
	}
}
