/* What the files of lib/ipvs share. Nobody else includes this but its tests. */
#ifndef PHX_IPVS_INTERNAL_H
#define PHX_IPVS_INTERNAL_H

#include <netlink/msg.h>

#include "ipvs/ipvs.h"

/* ---- message.c: bytes only, no socket ---- */

/** The request for one change; caller: nlmsg_free(). -EINVAL an address that is none, -ENOMEM. */
int ipvs_build_change(int family, const struct phx_web_change *c, struct nl_msg **ret);
/** The request for all services, or (service given) for all servers of one. */
int ipvs_build_list(int family, const struct phx_web_service *service, struct nl_msg **ret);
/** A service out of an answer. 1 with ret filled; 0: it is none of ours (UDP, IPv6, a mark);
 * -EBADMSG. */
int ipvs_parse_service(struct nlmsghdr *h, struct phx_web_service *ret);
/** A server out of an answer. As ipvs_parse_service(). */
int ipvs_parse_server(struct nlmsghdr *h, struct phx_web_server *ret);

#endif
