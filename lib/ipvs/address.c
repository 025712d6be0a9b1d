/* Host addresses of interfaces, over rtnetlink: the virtual address of a
 * service on the director's network card and on the loopback of its servers.
 * See ipvs.h. Changes no route and no setting. */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <string.h>

#include "ipvs/internal.h"

static int build(int type, unsigned interface, const uint8_t bytes[4], struct nl_msg **ret)
{
	struct ifaddrmsg head = {
		.ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_index = interface};
	int flags = type == RTM_NEWADDR ? NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL : NLM_F_ACK;
	struct nl_msg *m = nlmsg_alloc_simple(type, flags);
	if (!m)
		return -ENOMEM;
	if (nlmsg_append(m, &head, sizeof(head), NLMSG_ALIGNTO) < 0 ||
	    nla_put(m, IFA_LOCAL, 4, bytes) < 0 || nla_put(m, IFA_ADDRESS, 4, bytes) < 0) {
		nlmsg_free(m);
		return -ENOMEM;
	}
	*ret = m;
	return 0;
}

/* `is_so`: libnl's code for what was so already. */
static int change(int type, const char *interface, const char *address, int is_so,
		  struct phx_err *err)
{
	uint8_t bytes[4];
	struct nl_msg *m;
	unsigned index = if_nametoindex(interface);
	if (!index)
		return errno == ENODEV
			? phx_err_set(err, -ENODEV, "there is no network interface '%s'", interface)
			: phx_err_set(err, -errno, "%s: %s", interface, strerror(errno));
	if (phx_web_address_parse(address, bytes) < 0)
		return phx_err_set(err, -EINVAL, "'%s' must be an IPv4 address", address);
	struct nl_sock *sock = nl_socket_alloc();
	if (!sock)
		return -ENOMEM;
	int r = nl_connect(sock, NETLINK_ROUTE);
	if (r == 0 && (r = build(type, index, bytes, &m)) == 0)
		r = nl_send_sync(sock, m); /* frees it */
	nl_socket_free(sock);
	if (r >= 0 || r == -is_so)
		return 0;
	return phx_err_set(err, r == -NLE_PERM ? -EPERM : -EIO, "address %s of %s: %s", address,
			   interface, nl_geterror(r));
}

int phx_ipvs_address_add(const char *interface, const char *address, struct phx_err *err)
{
	return change(RTM_NEWADDR, interface, address, NLE_EXIST, err);
}

int phx_ipvs_address_remove(const char *interface, const char *address, struct phx_err *err)
{
	int r = change(RTM_DELADDR, interface, address, NLE_NOADDR, err);
	if (r != -ENODEV)
		return r;
	phx_err_clear(err); /* a card that is gone has taken its addresses with it */
	return 0;
}
