/* What the files of lib/ipvs share. Nobody else includes this but its tests. */
#ifndef PHX_IPVS_INTERNAL_H
#define PHX_IPVS_INTERNAL_H

#include <netlink/msg.h>

#include "ipvs/ipvs.h"

struct phx_ipvs {
	struct nl_sock *sock;
	int family;
};

/* ---- ipvs.c ---- */

/** Sends a message, which it frees. -EEXIST, -ENOENT, -EPERM and others without a text. */
int ipvs_send(struct phx_ipvs *v, struct nl_msg *m);
/** Sends a message that asks for a list, which it frees, and calls `item` for each answer; the
 * first failure of a call is the result, with a text. */
struct ipvs_list_calls {
	int (*item)(void *arg, struct nlmsghdr *h);
	void *arg;
	int r;
};
int ipvs_list(struct phx_ipvs *v, struct nl_msg *m, struct ipvs_list_calls *calls,
	      struct phx_err *err);

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

/** A thread of the kernel that tells other directors of connections (IP_VS_STATE_MASTER), or hears
 * of theirs (IP_VS_STATE_BACKUP). */
struct ipvs_daemon {
	uint32_t state, sync_id;
	char interface[16];
};
/** The request to start it, or (begins: false) to end that of its state. */
int ipvs_build_daemon(int family, const struct ipvs_daemon *d, bool begins, struct nl_msg **ret);
/** The request for those that run. */
int ipvs_build_daemons(int family, struct nl_msg **ret);
/** One out of an answer; -EBADMSG. */
int ipvs_parse_daemon(struct nlmsghdr *h, struct ipvs_daemon *ret);

#endif
