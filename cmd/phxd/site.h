/* The settings of the site that nodes are to have (lib/site), in one version: its content is a file
 * beside the journal, {state_dir}/site-DIGEST.json of mode 0600; the journal has its digest. Nodes
 * are told by an order of kind "site" which bundle they are to have, and fetch it. Thread-safe.
 *
 * Lock order: the engine's, then this one's. */
#ifndef PHXD_SITE_H
#define PHXD_SITE_H

#include "deploy/deploy.h"
#include "phxd/daemon.h"
#include "site/effective.h"

/** Reads the version that the journal names. A file that is not there is told on stderr: nodes are
 * told nothing then, and keep what they have. */
int site_new(struct daemon *d, struct site **ret);
/** Call it when no other thread uses `s`. Safe on NULL. */
void site_free(struct site *s);

/** What the bundle of a node depends on, copied from the state. */
struct site_facts {
	char name[PHX_NAME_MAX], address[64], role[PHX_NAME_MAX], pool[PHX_NAME_MAX];
	char os[96];
	bool waits;             /* for its turn to be told: phx_site_waits() */
	struct phx_list labels; /* struct phx_label, owned */
};
/** Fills `ret`; the caller frees it by site_facts_fini(). False: the node gets none now: it is new,
 * quarantined, or on its way to another role that it has not begun to activate. Under the engine's
 * lock. */
bool site_facts_of(const struct phx_state *s, const struct phx_node *n, struct site_facts *ret);
void site_facts_fini(struct site_facts *f);
/** The same as lib/site has them; borrowed from `f`. */
struct phx_site_node site_node_of(const struct site_facts *f);

/** Appends the order for a node with these facts, if its agent knows of bundles and has another
 * (`running`: struct beat_running). One that waits for its turn is told none, unless it has
 * none. */
void site_orders_put(struct site *s, const struct site_facts *f, const struct phx_list *running,
		     struct phx_buf *b);
/** The id of the bundle that the node is to have; 0: there are no settings, or no memory. ret_lacks
 * (may be NULL): which file it does not get, because it lacks a variable; "" it gets all. */
uint64_t site_wanted(struct site *s, const struct site_facts *f, char ret_lacks[BEAT_ERROR_MAX]);
/** How a node stands with the bundle that it is to have. */
enum site_standing {
	SITE_NONE,    /* no settings, no bundle for it now, or an agent that knows of none */
	SITE_WAITING, /* for its turn */
	SITE_APPLYING,
	SITE_FAILED,
	SITE_CURRENT,
	SITE_STANDING_COUNT_
};
/** ret_error: why it failed, else "". Under the engine's lock. */
enum site_standing site_standing(struct daemon *d, const struct phx_state *s,
				 const struct phx_node *n, char ret_error[BEAT_ERROR_MAX]);
/** The same of facts of a node whose system runs, under no lock. */
enum site_standing site_standing_of(struct daemon *d, const struct site_facts *f,
				    char ret_error[BEAT_ERROR_MAX]);
/** Makes that bundle. -ENOENT: there are no settings; -ENOMEM. */
int site_bundle(struct site *s, const struct site_facts *f, struct phx_site_bundle *ret);

/** May this address be reserved for a node: phx_config_check_ip(), or one of a network of the site
 * that machines boot over. -EINVAL with a text, which begins with "ip: ". */
int site_check_ip(struct daemon *d, const char *ip, struct phx_err *err);
/** The address of this head as a machine with that address reaches it. */
void site_head(struct daemon *d, const char *address, char ret[PHX_IPV4_MAX]);
/** The name of the node in our DNS. False: names are not served, or it has no reserved address.
 * Under the engine's lock. */
bool site_name(struct daemon *d, const struct phx_node *n, struct phx_dhcp_name *ret);
/** Are names served? With the domain that a service at this address has, or "". */
bool site_serves(struct daemon *d, const char *address, char ret_domain[128]);
/** Tells the launcher the networks in force, of so many nodes; complains on stderr if dnsmasq does
 * not take them any more. */
void site_tell_networks(struct daemon *d, uint32_t n_nodes);
/** What profiles and groups say of a node, in the settings that are in force: see
 * phx_site_origins(). -ENOENT: there are none. */
int site_origins(struct site *s, const char *node, phx_site_origin_fn fn, void *arg);

/** Does what nodes get follow from their labels of that key? As phx_site_goes_by_label(). */
bool site_goes_by_label(struct site *s, const char *key);

/** The kernel's arguments of the node's profiles and groups, as phx_site_kernel_args(). */
char *site_kernel_args(struct site *s, const char *node);

/* ---- site_portions.c ---- */

int site_portions_new(struct daemon *d, struct site_portions **ret);
/** Safe on NULL. */
void site_portions_free(struct site_portions *p);
/** A node stands otherwise than before. On any thread, whatever it has locked. */
void site_portions_heard(struct site_portions *p);
/** Has the core begin the next portion when one is over. By the loop; returns ms until the next
 * look. */
int site_portions_tick(struct site_portions *p);

/* ---- live.c ---- */

enum live_site { LIVE_SITE_NONE = -1, LIVE_SITE_UNHEARD = -2 };
/** The id of the bundle of the site's settings that the node's agent reports that it has or has
 * tried (NONE: it knows of none; UNHEARD: this head has not heard it yet), and why that could not
 * be applied ("": it was). Also under the engine's lock. */
int64_t live_site(struct live *l, const char *node, char ret_error[BEAT_ERROR_MAX]);

/* ---- api_site.c: phx_http_handler with arg = struct daemon ---- */

void api_site(struct phx_http_request *q, void *arg);
void api_site_node(struct phx_http_request *q, void *arg);
void api_site_apply(struct phx_http_request *q, void *arg);
void api_agent_site(struct phx_http_request *q, void *arg);

#endif
