/* The load balancer of the kernel (IPVS) over generic netlink: TCP services with IPv4 addresses,
 * servers by direct routing. What is in the kernel's table and is none of these (UDP, IPv6, marks)
 * is neither seen nor touched. */
#ifndef PHX_IPVS_IPVS_H
#define PHX_IPVS_IPVS_H

#include "web/claim.h"
#include "web/table.h"

struct phx_ipvs;

/** Load the kernel's module; it being there already is success. -ENOENT: this system has none for
 * its kernel. */
int phx_ipvs_load(struct phx_err *err);

/** Open a socket to the kernel's balancer. -EOPNOTSUPP: this kernel has none (ip_vs is not loaded);
 * -EPERM and others with a text. Not to be used by two threads at once. */
int phx_ipvs_open(struct phx_ipvs **ret, struct phx_err *err);
/** Leaves the table as it is. NULL is fine. */
void phx_ipvs_close(struct phx_ipvs *v);

/** The whole table, in order, with connections. Caller: phx_web_table_fini(). A server that is not
 * reached by direct routing is given weight UINT32_MAX, so that it differs from every wanted
 * one. */
int phx_ipvs_read(struct phx_ipvs *v, struct phx_web_table *ret, struct phx_err *err);

/** Make the kernel's table the wanted one: only what differs is touched, so that connections stay.
 * ret_changes (may be NULL): how many changes that took, 0 when it was so already. Stops at the
 * first failure; to be called again then. */
int phx_ipvs_apply(struct phx_ipvs *v, const struct phx_web_table *want, uint32_t *ret_changes,
		   struct phx_err *err);

/** Tell other directors of connections, and hear of theirs, by multicast on the network of
 * `interface` under a number from 1 to 255; 0: neither. What runs already under that number stays,
 * and what runs under another one, or elsewhere, ends. */
int phx_ipvs_sync(struct phx_ipvs *v, const char *interface, uint32_t sync_id, struct phx_err *err);

/* ---- local addresses (rtnetlink) ---- */

/** Give the interface an address as a host address (/32); it being there already is success.
 * -ENODEV. */
int phx_ipvs_address_add(const char *interface, const char *address, struct phx_err *err);
/** Take it away; it, or the interface, not being there is success. */
int phx_ipvs_address_remove(const char *interface, const char *address, struct phx_err *err);

/* ---- whose an address is (ARP) ---- */

struct phx_ipvs_watch;

/** See what other machines on the interface's network say of the address, and speak for it.
 * -ENODEV, -EINVAL, -EPERM. */
int phx_ipvs_watch_open(const char *interface, const char *address, struct phx_ipvs_watch **ret,
			struct phx_err *err);
/** NULL is fine. */
void phx_ipvs_watch_close(struct phx_ipvs_watch *w);
/** Readable when there is something to see. */
int phx_ipvs_watch_fd(const struct phx_ipvs_watch *w);
/** Tell the network that the address is here now (one gratuitous ARP). */
int phx_ipvs_watch_announce(const struct phx_ipvs_watch *w, struct phx_err *err);
/** Ask the network who else has it; nobody learns from the question. */
int phx_ipvs_watch_probe(const struct phx_ipvs_watch *w, struct phx_err *err);
/** What was seen since the last call; never waits. ret_other: the hardware address of the last
 * machine that said it has the address; untouched where there was none. */
void phx_ipvs_watch_read(const struct phx_ipvs_watch *w, struct phx_web_sight *ret,
			 char ret_other[18]);

#endif
