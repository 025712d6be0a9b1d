/* Shared inside lib/deploy only. */
#ifndef PHX_DEPLOY_INTERNAL_H
#define PHX_DEPLOY_INTERNAL_H

#include "deploy/deploy.h"

/* iPXE as its package names it */
#define PHX_TFTP_BIOS "undionly.kpxe"
#define PHX_TFTP_UEFI "snponly.efi"

/** A file of one line in a directory that dnsmasq watches: written without a temporary that it
 * would read, and what it says ("": there is none). Negative errno. */
int dnsmasq_entry_write(int dir, const char *name, const char *line);
void dnsmasq_entry_read(int dir, const char *name, char *line, size_t size);

/** Copy words into a vector of its own. -ENOMEM. */
int phx_argv_make(struct phx_argv *ret, const char *const *words, size_t n);

/* ---- dnsmasq.conf ---- */

/* ${...} is iPXE's: the card it booted from. */
#define BOOT_URL "http://%s:%u/boot/${netX/mac:hexhyp}"
#define IPXE_URL "http://%s:%u/ipxe/" PHX_TFTP_UEFI

enum { DNSMASQ_WORDS_MAX = 8 * 48 };
/** The network of the site that the head's own address lies in; NULL. */
const struct phx_site_network *dnsmasq_own(const struct phx_config *cfg,
					   const struct phx_dhcp_site *site);
/** Addresses of version 4 of a list, with commas. */
void dnsmasq_words(const struct phx_list *words, char *ret, size_t size);
/** The lines of the other networks of the site that machines boot over (`site` may be NULL): the
 * head's cards in them, what they are told, the same beside a DHCP server that is not ours, and
 * from where they boot. */
void dnsmasq_add_cards(struct phx_buf *b, const struct phx_config *cfg,
		       const struct phx_dhcp_site *site);
void dnsmasq_add_networks(struct phx_buf *b, const struct phx_config *cfg,
			  const struct phx_dhcp_site *site);
void dnsmasq_add_proxies(struct phx_buf *b, const struct phx_config *cfg,
			 const struct phx_dhcp_site *site);
void dnsmasq_add_boots(struct phx_buf *b, const struct phx_config *cfg,
		       const struct phx_dhcp_site *site);
/** Names of nodes, served from port 53; where questions go that are about others, if anywhere. */
void dnsmasq_add_names(struct phx_buf *b, const struct phx_config *cfg,
		       const struct phx_dhcp_site *site);
/** All that machines are told in all networks: who they are, addresses, what they boot. */
void dnsmasq_add_served(struct phx_buf *b, const struct phx_config *cfg,
			const struct phx_dhcp_site *site);
/** Who serves TFTP to machines that reach the head at that address. */
const char *dnsmasq_tftp(const struct phx_config *cfg, const char *head);
/** What machines load, from the head at that address; `tag`: "" for all, or "tag:NAME,". */
void dnsmasq_add_boot(struct phx_buf *b, const struct phx_config *cfg, const char *tag,
		      const char *head);

#endif
