/* Settings of the site, from files that people write:
 *
 *	DIR/site.conf            domain, ntp
 *	DIR/users.conf           root_keys, groups, users
 *	DIR/networks.conf        networks
 *	DIR/files.conf           files: owner, mode, secret, what to run
 *	DIR/profiles.conf        profiles: named sets of keys
 *	DIR/nodes.conf           groups of nodes: their profiles, and keys of their own
 *	DIR/nodes.csv            the same, one group a line; they count after those of nodes.conf
 *	DIR/files/all/PATH       a file for every node
 *	DIR/files/profile/P/PATH for nodes with profile P
 *	DIR/files/role/R/PATH    for nodes of role R
 *	DIR/files/label/K=V/PATH for nodes with that label
 *	DIR/files/node/N/PATH    for node N; the last in this order counts
 *
 * Each of them may be missing. Reads, and keeps nothing. */
#ifndef PHX_CONFIG_SITE_H
#define PHX_CONFIG_SITE_H

#include "site/site.h"

/** Reads the settings and checks them, phx_site_check() included; says everything that is wrong,
 * as "FILE:LINE: what". 0: nothing is wrong, and the caller frees *ret by
 * phx_record_fini(&phx_site_record, ret); above 0: how much is, *ret is untouched; -ENOENT there is
 * no such directory, -EACCES, -ENOMEM with a text. */
int phx_site_load(const char *dir, phx_site_say_fn say, void *arg, struct phx_site *ret,
		  struct phx_err *err);

#endif
