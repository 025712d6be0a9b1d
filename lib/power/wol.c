/* Wake-on-LAN: the magic packet, as an Ethernet frame on the interface named in
 * the record, or as UDP broadcast where none is named. Called by power.c. It
 * can only wake: nothing answers, so the state stays unknown. */
#include "power/driver.h"

#include <errno.h>
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"

enum {
	MAC_N = 6,
	MAGIC_N = MAC_N + 16 * MAC_N,
	ETHERTYPE_WOL = 0x0842,
	WOL_PORT = 9,
	REPEAT = 3, /* nothing tells whether one arrived */
};

static void parse_mac(const char *text, uint8_t ret[MAC_N])
{
	unsigned b[MAC_N] = {0};
	sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5]);
	for (int i = 0; i < MAC_N; i++)
		ret[i] = (uint8_t)b[i];
}

static void make_magic(const uint8_t mac[MAC_N], uint8_t ret[MAGIC_N])
{
	memset(ret, 0xff, MAC_N);
	for (int i = 1; i <= 16; i++)
		memcpy(ret + i * MAC_N, mac, MAC_N);
}

static int check(const struct phx_bmc *bmc, struct phx_err *err)
{
	char mac[PHX_MAC_MAX];
	struct phx_power_host host;
	struct in_addr ip;
	if (phx_mac_parse(bmc->mac, mac) < 0)
		return phx_err_set(
			err, -EINVAL,
			"mac: '%s' is no MAC; the driver wol needs the one of the NIC to wake",
			bmc->mac);
	if (!bmc->address[0])
		return 0;
	int r = phx_power_host_parse(bmc->address, WOL_PORT, &host, err);
	if (r == 0 && inet_pton(AF_INET, host.name, &ip) != 1)
		return phx_err_set(err, -EINVAL,
				   "address '%s': wol needs an IPv4 broadcast address or nothing",
				   bmc->address);
	return r;
}

static int send_all(int fd, const void *data, size_t n, const void *to, socklen_t to_n)
{
	for (int i = 0; i < REPEAT; i++)
		if (sendto(fd, data, n, 0, to, to_n) < 0)
			return -errno;
	return 0;
}

static int send_frame(const char *interface, const uint8_t magic[MAGIC_N], struct phx_err *err)
{
	struct sockaddr_ll to = {.sll_family = AF_PACKET,
				 .sll_protocol = htons(ETHERTYPE_WOL),
				 .sll_ifindex = (int)if_nametoindex(interface),
				 .sll_halen = MAC_N};
	if (!to.sll_ifindex)
		return phx_err_set(err, -EINVAL, "interface: there is no '%s' here", interface);
	memset(to.sll_addr, 0xff, MAC_N);
	PHX_AUTO_CLOSE int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int r = fd < 0 ? -errno : send_all(fd, magic, MAGIC_N, &to, sizeof(to));
	return r < 0 ? phx_err_set(err, r == -EPERM ? -EACCES : r, "interface %s: %s", interface,
				   strerror(-r))
		     : 0;
}

static int send_datagram(const struct phx_bmc *bmc, const uint8_t magic[MAGIC_N],
			 struct phx_err *err)
{
	struct phx_power_host host = {"255.255.255.255", WOL_PORT};
	int r = bmc->address[0] ? phx_power_host_parse(bmc->address, WOL_PORT, &host, err) : 0;
	if (r < 0)
		return r;
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(host.port)};
	inet_pton(AF_INET, host.name, &to.sin_addr);
	const int on = 1;
	PHX_AUTO_CLOSE int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof(on)) < 0)
		r = -errno;
	else
		r = send_all(fd, magic, MAGIC_N, &to, sizeof(to));
	return r < 0 ? phx_err_set(err, r, "%s port %u: %s", host.name, host.port, strerror(-r))
		     : 0;
}

static int status(const struct phx_bmc *bmc, uint32_t timeout_ms, enum phx_power_state *ret_state,
		  struct phx_err *err)
{
	(void)bmc;
	(void)timeout_ms;
	(void)err;
	*ret_state = PHX_POWER_UNKNOWN;
	return 0;
}

static int can(enum phx_power_op op, struct phx_err *err)
{
	bool has = op == PHX_POWER_ON || op == PHX_POWER_STATUS;
	return has ? 0 : phx_err_set(err, -EOPNOTSUPP, "wake-on-LAN can only switch on");
}

static int order(const struct phx_bmc *bmc, enum phx_power_op op, uint32_t timeout_ms,
		 struct phx_err *err)
{
	(void)timeout_ms;
	int r = can(op, err);
	if (r < 0)
		return r;
	char text[PHX_MAC_MAX];
	uint8_t mac[MAC_N], magic[MAGIC_N];
	if (phx_mac_parse(bmc->mac, text) < 0)
		return phx_err_set(err, -EINVAL, "mac: '%s' is no MAC", bmc->mac);
	parse_mac(text, mac);
	make_magic(mac, magic);
	return bmc->interface[0] ? send_frame(bmc->interface, magic, err)
				 : send_datagram(bmc, magic, err);
}

const struct phx_power_driver phx_power_wol = {
	.check = check, .status = status, .can = can, .order = order};
