/* Network boot: what dnsmasq, in.tftpd and iPXE are told. Makes texts and files; runs and decides
 * nothing (child.h runs the programs, core_apply() decides who boots what). */
#ifndef PHX_DEPLOY_DEPLOY_H
#define PHX_DEPLOY_DEPLOY_H

#include "config/config.h"
#include "config/image.h"
#include "site/site.h"

/** An argument vector with its own memory; NULL-terminated `v`. */
struct phx_argv {
	char **v;
	size_t n;
};
void phx_argv_fini(struct phx_argv *a);

/* ---- dnsmasq (RUN_DIR/dnsmasq/{dnsmasq.conf,hosts/}; leases in STATE_DIR/dnsmasq.leases) ---- */

/** What the settings of the site say to DHCP. Borrowed. */
struct phx_dhcp_site {
	const struct phx_list *networks; /* struct phx_site_network, as phx_site_check() wants it */
	bool serve_names, forward_dns;   /* as in site.conf */
	const char *domain;              /* of the whole site, or "" */
};
/** The domain of a node with that address: of its network, of phoenix.conf, of the site; "". */
const char *phx_dhcp_domain(const struct phx_config *cfg, const struct phx_dhcp_site *site,
			    const char *address);
/** Do they fit this head? Says all that does not, and returns how much that is: the head's own
 * network is another one, nobody knows how a network reaches the head, the head does not listen or
 * is not believed where it says that it is. */
int phx_dhcp_site_check(const struct phx_config *cfg, const struct phx_dhcp_site *site,
			phx_site_say_fn say, void *arg);
/** The address of this head for a machine with that address. */
const char *phx_dhcp_head(const struct phx_config *cfg, const struct phx_list *networks,
			  const char *address);

/** The text of dnsmasq.conf for `n_nodes` known nodes, malloc'd. `site`: NULL: the network of
 * phoenix.conf is all. Limits are sized from the number of nodes in steps of two, so that the text
 * seldom changes. */
int phx_dnsmasq_conf(const struct phx_config *cfg, const struct phx_dhcp_site *site,
		     uint32_t n_nodes, char **ret_text, struct phx_err *err);
/** Would dnsmasq take that text? Runs it (`dnsmasq --test`, 10 s at most); what it says against the
 * text is in `err`. Leaves nothing behind. */
int phx_dnsmasq_try(const struct phx_config *cfg, const struct phx_dhcp_site *site,
		    uint32_t n_nodes, struct phx_err *err);
/** Make the directories and publish dnsmasq.conf. Returns 1 when the file changed (dnsmasq must be
 * restarted), 0 when it is as it was. */
int phx_dnsmasq_write(const struct phx_config *cfg, const struct phx_dhcp_site *site,
		      uint32_t n_nodes, struct phx_err *err);
/** Arguments to run it in the foreground. */
int phx_dnsmasq_argv(const struct phx_config *cfg, struct phx_argv *ret);

/** What a node is told by DHCP. */
struct phx_dhcp_host {
	char mac[PHX_MAC_MAX]; /* normalised */
	char ip[46];           /* "" = from the range */
	char name[PHX_NAME_MAX];
};

#define PHX_DHCP_SAME 0   /* nothing changed */
#define PHX_DHCP_LIVE 1   /* only new files: dnsmasq has seen them by itself */
#define PHX_DHCP_SIGHUP 2 /* something changed or went: dnsmasq needs SIGHUP */
#define PHX_DHCP_ALL 3    /* cards went from node to node: all files are to be made to agree */

/** Make the host files (one a node, named after it) say `hosts`; files of other nodes go. Returns
 * PHX_DHCP_SAME, _LIVE or _SIGHUP, or -EINVAL (bad MAC, IP or name; a MAC or IP twice: both named)
 * with nothing touched. */
int phx_dhcp_hosts_sync(const struct phx_config *cfg, const struct phx_dhcp_host *hosts,
			size_t n_hosts, struct phx_err *err);
/** Make the host file of one node say `host`, which no other has a MAC or IP in common with; NULL:
 * it has none. The files of others are not looked at. Returns as phx_dhcp_hosts_sync(), or
 * PHX_DHCP_ALL with nothing touched: that is to be called. */
int phx_dhcp_host_sync(const struct phx_config *cfg, const char *name,
		       const struct phx_dhcp_host *host, struct phx_err *err);

/** A name that dnsmasq's DNS serves (RUN_DIR/dnsmasq/names/). */
struct phx_dhcp_name {
	char name[PHX_NAME_MAX], ip[46], domain[128];
};
/** Make the files say these names and no others; sorts the list. One that is wrong or cannot be
 * written keeps its file as it was, and holds up no other: the first such is the error then, with
 * how many more there are. */
int phx_dhcp_names_sync(const struct phx_config *cfg, struct phx_dhcp_name *names, size_t n,
			struct phx_err *err);
/** A name that stands for all of several addresses, which dnsmasq tells by turns
 * (RUN_DIR/dnsmasq/services/); addresses as phx_web_address_at() reads them. */
struct phx_dhcp_service {
	char name[PHX_NAME_MAX], domain[128], addresses[PHX_WEB_ADDRESSES_TEXT_MAX];
};
/** Make the files say these services and no others; one that is wrong keeps what it had, and holds
 * up no other. The first error. */
int phx_dhcp_services_sync(const struct phx_config *cfg, const struct phx_dhcp_service *services,
			   size_t n, struct phx_err *err);
/** Make that of one node say `name`; NULL: it has none. */
int phx_dhcp_name_sync(const struct phx_config *cfg, const char *node,
		       const struct phx_dhcp_name *name, struct phx_err *err);

/* ---- a DHCP server that is not ours ---- */

enum phx_dhcp_server { PHX_DHCP_KEA, PHX_DHCP_ISC, PHX_DHCP_DNSMASQ };
extern const struct phx_enum phx_dhcp_server_names;
/** What it is to be told of networks that machines boot over, of what they boot, and of nodes;
 * malloc'd. The text can be a whole file of that server, and is meant as a part of one. -ENOMEM. */
int phx_dhcp_foreign(enum phx_dhcp_server server, const struct phx_config *cfg,
		     const struct phx_dhcp_site *site, const struct phx_dhcp_host *hosts,
		     size_t n_hosts, char **ret_text);

/* ---- TFTP (TFTP_DIR holds iPXE for BIOS and UEFI and nothing that changes) ---- */

/** Fill TFTP_DIR from IPXE_DIR (undionly.kpxe, snponly.efi). -ENOENT names the package to install.
 * Idempotent. phxd serves the same files as GET /ipxe/FILE (P) for UEFI HTTP boot:
 * phx_tftp_path(). */
int phx_tftp_prepare(const struct phx_config *cfg, struct phx_err *err);
/** Words that start in.tftpd as tftp_user, in TFTP_DIR alone: of a program that does
 * phx_tftpd_become() with them. -ENOMEM. */
int phx_tftpd_argv(const struct phx_config *cfg, struct phx_argv *ret);
enum { PHX_TFTPD_WORDS = 6 };
/** By these words, where they are our own (argv[1] is "--tftpd"): becomes in.tftpd, without what
 * root may but to bind its port. Returns, with an exit status, only when it could not, told on
 * stderr. */
int phx_tftpd_become(char **argv);
/** Path of a file that TFTP serves, malloc'd; NULL when `file` is none of them. */
char *phx_tftp_path(const struct phx_config *cfg, const char *file);

/* ---- iPXE scripts (templates PXE_DIR/{boot,boot-own,refuse}.ipxe; @WORD@ is replaced) ---- */

struct phx_ipxe_boot {
	const struct phx_config *cfg;
	const struct phx_image *image; /* kind initramfs */
	const char *mac;               /* normalised */
	const char *node;              /* name, or "" when unknown */
	const char *token;             /* of its start, or "" */
	const char *head;              /* address of the head for it */
	/* whose kernel it is and which; NULL: the deploy image's */
	const struct phx_image *system;
	const struct phx_image_own *own;
	const char *args; /* for the command line, behind those of the head */
	const char *site; /* the same of the settings of the site, behind these */
	const char *word; /* phx.kernel: by what the kernel and its arguments are told; "": none */
};
enum { PHX_BOOT_WORDS_MAX = 512 };
/** The words of a deploy kernel's command line that say where the head is, which image it is, as
 * what runs there says again of each erase, and what the machine shows the head: the token of its
 * start, or "". `head`: its address for that machine. `word`: which kernel it is, "" for that of
 * the deploy image. They come last: of two words of one name the last counts. */
void phx_boot_words(const struct phx_config *cfg, const char *head, const struct phx_image *image,
		    const char *token, const char *word, char ret[PHX_BOOT_WORDS_MAX]);

/** Arguments of a kernel: those of phoenix.conf, of the role and of the settings of the site, in
 * this order, each may be "" or NULL; malloc'd, NULL: -ENOMEM. */
char *phx_kernel_line(const char *head, const char *role, const char *site);
/** Script that boots the deploy initramfs, under the kernel of a system if there is one, and asks
 * again when a fetch fails; malloc'd. The token is the only secret in it. */
int phx_ipxe_boot_script(const struct phx_ipxe_boot *b, char **ret_text, struct phx_err *err);
/** Script that shows `reason`, waits and asks again; malloc'd. */
int phx_ipxe_refuse_script(const struct phx_config *cfg, const char *head, const char *mac,
			   const char *reason, char **ret_text, struct phx_err *err);

/* ---- site.cpio ---- */

/** What a deploy image has of its site, in PEM. */
struct phx_site_files {
	const char *ca, *site_pub;
	const char *package_keys; /* one behind the other: by them packages are believed */
	bool images_signed;       /* images without a signature are not */
};
/** Publish at `path` a newc archive holding etc/phoenix/{ca.pem,site.pub,packages.pub}, and
 * images.signed where that is so, padded to 512 bytes; the same input gives the same bytes. */
int phx_site_cpio_write(const char *path, const struct phx_site_files *files, struct phx_err *err);

#endif
