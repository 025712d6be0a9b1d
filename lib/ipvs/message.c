/* Messages of the kernel's balancer: built and taken apart (<linux/ip_vs.h>).
 * Called by ipvs.c; opens no socket. Addresses and ports are in network order,
 * the other numbers in the machine's. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/ip_vs.h>
#include <netlink/attr.h>
#include <netlink/genl/genl.h>
#include <stdio.h>

#include "ipvs/internal.h"

static const struct {
	uint8_t command;
	bool whole;  /* the service with all that can be set */
	bool server; /* with a server */
} commands[] = {
	[PHX_WEB_SERVICE_ADD] = {IPVS_CMD_NEW_SERVICE, true, false},
	[PHX_WEB_SERVICE_EDIT] = {IPVS_CMD_SET_SERVICE, true, false},
	[PHX_WEB_SERVER_ADD] = {IPVS_CMD_NEW_DEST, false, true},
	[PHX_WEB_SERVER_EDIT] = {IPVS_CMD_SET_DEST, false, true},
	[PHX_WEB_SERVER_REMOVE] = {IPVS_CMD_DEL_DEST, false, true},
	[PHX_WEB_SERVICE_REMOVE] = {IPVS_CMD_DEL_SERVICE, false, false},
};

/* ---- building ---- */

static int put_address(struct nl_msg *m, int attr, const char *text)
{
	uint8_t bytes[16] = {0};
	int r = phx_web_address_parse(text, bytes);
	return r < 0 ? r : nla_put(m, attr, sizeof(bytes), bytes);
}

static int put_service(struct nl_msg *m, const char *address, uint32_t port, const char *scheduler)
{
	struct ip_vs_flags flags = {0, ~0u};
	struct nlattr *nest = nla_nest_start(m, IPVS_CMD_ATTR_SERVICE);
	int r = nest ? 0 : -ENOMEM;
	r = r ? r : nla_put_u16(m, IPVS_SVC_ATTR_AF, AF_INET);
	r = r ? r : nla_put_u16(m, IPVS_SVC_ATTR_PROTOCOL, IPPROTO_TCP);
	r = r ? r : put_address(m, IPVS_SVC_ATTR_ADDR, address);
	r = r ? r : nla_put_u16(m, IPVS_SVC_ATTR_PORT, htons((uint16_t)port));
	if (scheduler) {
		r = r ? r : nla_put_string(m, IPVS_SVC_ATTR_SCHED_NAME, scheduler);
		r = r ? r : nla_put(m, IPVS_SVC_ATTR_FLAGS, sizeof(flags), &flags);
		r = r ? r : nla_put_u32(m, IPVS_SVC_ATTR_TIMEOUT, 0);
		r = r ? r : nla_put_u32(m, IPVS_SVC_ATTR_NETMASK, ~0u);
	}
	if (r == 0)
		nla_nest_end(m, nest);
	return r;
}

static int put_server(struct nl_msg *m, const struct phx_web_server *s, uint32_t port, bool whole)
{
	struct nlattr *nest = nla_nest_start(m, IPVS_CMD_ATTR_DEST);
	int r = nest ? 0 : -ENOMEM;
	r = r ? r : put_address(m, IPVS_DEST_ATTR_ADDR, s->address);
	r = r ? r : nla_put_u16(m, IPVS_DEST_ATTR_PORT, htons((uint16_t)port));
	r = r ? r : nla_put_u16(m, IPVS_DEST_ATTR_ADDR_FAMILY, AF_INET);
	if (whole) {
		r = r ? r : nla_put_u32(m, IPVS_DEST_ATTR_FWD_METHOD, IP_VS_CONN_F_DROUTE);
		r = r ? r : nla_put_u32(m, IPVS_DEST_ATTR_WEIGHT, s->weight);
		r = r ? r : nla_put_u32(m, IPVS_DEST_ATTR_U_THRESH, 0);
		r = r ? r : nla_put_u32(m, IPVS_DEST_ATTR_L_THRESH, 0);
	}
	if (r == 0)
		nla_nest_end(m, nest);
	return r;
}

static struct nl_msg *begin(int family, int flags, uint8_t command)
{
	struct nl_msg *m = nlmsg_alloc();
	if (m &&
	    !genlmsg_put(m, NL_AUTO_PORT, NL_AUTO_SEQ, family, 0, flags, command,
			 IPVS_GENL_VERSION)) {
		nlmsg_free(m);
		m = NULL;
	}
	return m;
}

static int finish(struct nl_msg *m, int r, struct nl_msg **ret)
{
	if (r < 0)
		nlmsg_free(m);
	else
		*ret = m;
	return r == -NLE_NOMEM ? -ENOMEM : r;
}

int ipvs_build_change(int family, const struct phx_web_change *c, struct nl_msg **ret)
{
	struct nl_msg *m = begin(family, NLM_F_ACK, commands[c->kind].command);
	if (!m)
		return -ENOMEM;
	int r = put_service(m, c->address, c->port, commands[c->kind].whole ? c->scheduler : NULL);
	if (r == 0 && commands[c->kind].server)
		r = put_server(m, &c->server, c->port, c->kind != PHX_WEB_SERVER_REMOVE);
	return finish(m, r, ret);
}

int ipvs_build_list(int family, const struct phx_web_service *service, struct nl_msg **ret)
{
	struct nl_msg *m =
		begin(family, NLM_F_DUMP, service ? IPVS_CMD_GET_DEST : IPVS_CMD_GET_SERVICE);
	if (!m)
		return -ENOMEM;
	return finish(m, service ? put_service(m, service->address, service->port, NULL) : 0, ret);
}

int ipvs_build_daemon(int family, const struct ipvs_daemon *d, bool begins, struct nl_msg **ret)
{
	struct nl_msg *m =
		begin(family, NLM_F_ACK, begins ? IPVS_CMD_NEW_DAEMON : IPVS_CMD_DEL_DAEMON);
	if (!m)
		return -ENOMEM;
	struct nlattr *nest = nla_nest_start(m, IPVS_CMD_ATTR_DAEMON);
	int r = nest ? 0 : -ENOMEM;
	r = r ? r : nla_put_u32(m, IPVS_DAEMON_ATTR_STATE, d->state);
	r = r ? r : nla_put_string(m, IPVS_DAEMON_ATTR_MCAST_IFN, d->interface);
	r = r ? r : nla_put_u32(m, IPVS_DAEMON_ATTR_SYNC_ID, d->sync_id);
	if (r == 0)
		nla_nest_end(m, nest);
	return finish(m, r, ret);
}

int ipvs_build_daemons(int family, struct nl_msg **ret)
{
	struct nl_msg *m = begin(family, NLM_F_DUMP, IPVS_CMD_GET_DAEMON);
	return m ? finish(m, 0, ret) : -ENOMEM;
}

/* ---- taking apart ---- */

static int open_nest(struct nlmsghdr *h, int attr, struct nlattr **ret, int max,
		     const struct nla_policy *policy)
{
	struct nlattr *outer[IPVS_CMD_ATTR_MAX + 1];
	if (genlmsg_parse(h, 0, outer, IPVS_CMD_ATTR_MAX, NULL) < 0 || !outer[attr] ||
	    nla_parse_nested(ret, max, outer[attr], policy) < 0)
		return -EBADMSG;
	return 0;
}

static void format_address(struct nlattr *a, char ret[PHX_WEB_ADDRESS_MAX])
{
	const uint8_t *b = nla_data(a);
	snprintf(ret, PHX_WEB_ADDRESS_MAX, "%u.%u.%u.%u", b[0], b[1], b[2], b[3]);
}

int ipvs_parse_service(struct nlmsghdr *h, struct phx_web_service *ret)
{
	static const struct nla_policy policy[IPVS_SVC_ATTR_MAX + 1] = {
		[IPVS_SVC_ATTR_AF] = {.type = NLA_U16},
		[IPVS_SVC_ATTR_PROTOCOL] = {.type = NLA_U16},
		[IPVS_SVC_ATTR_ADDR] = {.minlen = 4},
		[IPVS_SVC_ATTR_PORT] = {.type = NLA_U16},
		[IPVS_SVC_ATTR_SCHED_NAME] = {.type = NLA_STRING, .maxlen = PHX_WEB_SCHEDULER_MAX},
	};
	struct nlattr *a[IPVS_SVC_ATTR_MAX + 1];
	struct phx_web_service s = {0};
	int r = open_nest(h, IPVS_CMD_ATTR_SERVICE, a, IPVS_SVC_ATTR_MAX, policy);
	if (r < 0 || !a[IPVS_SVC_ATTR_AF])
		return -EBADMSG;
	if (nla_get_u16(a[IPVS_SVC_ATTR_AF]) != AF_INET || !a[IPVS_SVC_ATTR_PROTOCOL] ||
	    nla_get_u16(a[IPVS_SVC_ATTR_PROTOCOL]) != IPPROTO_TCP)
		return 0;
	if (!a[IPVS_SVC_ATTR_ADDR] || !a[IPVS_SVC_ATTR_PORT] || !a[IPVS_SVC_ATTR_SCHED_NAME])
		return -EBADMSG;
	format_address(a[IPVS_SVC_ATTR_ADDR], s.address);
	s.port = ntohs(nla_get_u16(a[IPVS_SVC_ATTR_PORT]));
	nla_strlcpy(s.scheduler, a[IPVS_SVC_ATTR_SCHED_NAME], sizeof(s.scheduler));
	*ret = s;
	return 1;
}

int ipvs_parse_server(struct nlmsghdr *h, struct phx_web_server *ret)
{
	static const struct nla_policy policy[IPVS_DEST_ATTR_MAX + 1] = {
		[IPVS_DEST_ATTR_ADDR] = {.minlen = 4},
		[IPVS_DEST_ATTR_ADDR_FAMILY] = {.type = NLA_U16},
		[IPVS_DEST_ATTR_FWD_METHOD] = {.type = NLA_U32},
		[IPVS_DEST_ATTR_WEIGHT] = {.type = NLA_U32},
		[IPVS_DEST_ATTR_ACTIVE_CONNS] = {.type = NLA_U32},
		[IPVS_DEST_ATTR_INACT_CONNS] = {.type = NLA_U32},
	};
	struct nlattr *a[IPVS_DEST_ATTR_MAX + 1];
	struct phx_web_server s = {0};
	int r = open_nest(h, IPVS_CMD_ATTR_DEST, a, IPVS_DEST_ATTR_MAX, policy);
	if (r < 0)
		return r;
	if (a[IPVS_DEST_ATTR_ADDR_FAMILY] && nla_get_u16(a[IPVS_DEST_ATTR_ADDR_FAMILY]) != AF_INET)
		return 0;
	if (!a[IPVS_DEST_ATTR_ADDR] || !a[IPVS_DEST_ATTR_FWD_METHOD] || !a[IPVS_DEST_ATTR_WEIGHT])
		return -EBADMSG;
	format_address(a[IPVS_DEST_ATTR_ADDR], s.address);
	bool direct = (nla_get_u32(a[IPVS_DEST_ATTR_FWD_METHOD]) & IP_VS_CONN_F_FWD_MASK) ==
		IP_VS_CONN_F_DROUTE;
	s.weight = direct ? nla_get_u32(a[IPVS_DEST_ATTR_WEIGHT]) : UINT32_MAX;
	s.active = a[IPVS_DEST_ATTR_ACTIVE_CONNS] ? nla_get_u32(a[IPVS_DEST_ATTR_ACTIVE_CONNS]) : 0;
	s.inactive = a[IPVS_DEST_ATTR_INACT_CONNS] ? nla_get_u32(a[IPVS_DEST_ATTR_INACT_CONNS]) : 0;
	*ret = s;
	return 1;
}

int ipvs_parse_daemon(struct nlmsghdr *h, struct ipvs_daemon *ret)
{
	static const struct nla_policy policy[IPVS_DAEMON_ATTR_MAX + 1] = {
		[IPVS_DAEMON_ATTR_STATE] = {.type = NLA_U32},
		[IPVS_DAEMON_ATTR_MCAST_IFN] = {.type = NLA_STRING,
						.maxlen = sizeof(ret->interface)},
		[IPVS_DAEMON_ATTR_SYNC_ID] = {.type = NLA_U32},
	};
	struct nlattr *a[IPVS_DAEMON_ATTR_MAX + 1];
	struct ipvs_daemon d = {0};
	int r = open_nest(h, IPVS_CMD_ATTR_DAEMON, a, IPVS_DAEMON_ATTR_MAX, policy);
	if (r < 0 || !a[IPVS_DAEMON_ATTR_STATE] || !a[IPVS_DAEMON_ATTR_MCAST_IFN] ||
	    !a[IPVS_DAEMON_ATTR_SYNC_ID])
		return -EBADMSG;
	d.state = nla_get_u32(a[IPVS_DAEMON_ATTR_STATE]);
	d.sync_id = nla_get_u32(a[IPVS_DAEMON_ATTR_SYNC_ID]);
	nla_strlcpy(d.interface, a[IPVS_DAEMON_ATTR_MCAST_IFN], sizeof(d.interface));
	*ret = d;
	return 0;
}
