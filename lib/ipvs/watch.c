/* Telling the network whose an address is now (gratuitous ARP), so that who
 * knew another machine under it does not go on asking that one. See ipvs.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/if_ether.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "ipvs/ipvs.h"

static int hardware_address(int fd, const char *interface, uint8_t ret[ETH_ALEN])
{
	struct ifreq req = {0};
	int r = PHX_STR_SET(req.ifr_name, interface);
	if (r < 0 || ioctl(fd, SIOCGIFHWADDR, &req) < 0)
		return r < 0 ? r : -errno;
	memcpy(ret, req.ifr_hwaddr.sa_data, ETH_ALEN);
	return 0;
}

/* A request for one's own address: what everybody learns from. */
static void fill(struct ether_arp *arp, const uint8_t mac[ETH_ALEN], const uint8_t address[4])
{
	*arp = (struct ether_arp){.arp_pln = 4, .arp_hln = ETH_ALEN};
	arp->arp_hrd = htons(ARPHRD_ETHER);
	arp->arp_pro = htons(ETHERTYPE_IP);
	arp->arp_op = htons(ARPOP_REQUEST);
	memcpy(arp->arp_sha, mac, ETH_ALEN);
	memcpy(arp->arp_spa, address, 4);
	memcpy(arp->arp_tpa, address, 4);
}

int phx_ipvs_address_announce(const char *interface, const char *address, struct phx_err *err)
{
	struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_protocol = htons(ETHERTYPE_ARP), .sll_halen = ETH_ALEN};
	struct ether_arp arp;
	uint8_t mac[ETH_ALEN], bytes[4];
	PHX_AUTO_CLOSE int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (phx_web_address_parse(address, bytes) < 0)
		return phx_err_set(err, -EINVAL, "'%s' must be an IPv4 address", address);
	int r = fd < 0 ? -errno : hardware_address(fd, interface, mac);
	if (r == 0) {
		fill(&arp, mac, bytes);
		memset(to.sll_addr, 0xff, ETH_ALEN);
		to.sll_ifindex = (int)if_nametoindex(interface);
		r = sendto(fd, &arp, sizeof(arp), 0, (struct sockaddr *)&to, sizeof(to)) < 0 ? -errno : 0;
	}
	return r < 0 ? phx_err_set(err, r, "announcing %s on %s: %s", address, interface, strerror(-r)) : 0;
}
