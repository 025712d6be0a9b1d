/* The starts of nodes, for `phx node why`, `phx node log` and `phx node report`: all parts of phxd
 * tell what they see of a machine, and a thread of its own writes it beside the journal
 * (lib/starts). No commit, beat or transfer waits for it, and what goes wrong with it ends
 * nothing. */
#ifndef PHXD_STARTS_H
#define PHXD_STARTS_H

#include "phxd/daemon.h"
#include "starts/starts.h"

struct starts;

/** Starts the thread. Trouble with the database becomes a message and is no error. */
int starts_new(struct daemon *d, struct starts **ret);
/** Writes what was told, and ends the thread. Safe on NULL. */
void starts_free(struct starts *s);
/** What is seen of a node: `row` is copied. row->node is its name, a MAC of it, or the address that
 * it has (starts_at()), of which the thread finds the name; row->at_us 0: now; row->start is not
 * looked at. On any thread, whatever it has locked; waits for no disk. When more comes than can be
 * written, rows are dropped, and a row of kind `lost` says how many. Safe on NULL. */
void starts_tell(struct starts *s, const struct phx_start_row *row);
/** That machine has that address: rows that name the address are its own from then on. On any
 * thread. Safe on NULL. */
void starts_at(struct starts *s, const char *address, const char *mac);
/** Is it one of the machines with these MACs (struct phx_mac) that has that address, by what
 * starts_at() was told? On any thread. Safe on NULL. */
bool starts_is_at(struct starts *s, const char *address, const struct phx_list *macs);
/** The same as starts_tell(), but of each node one row of a kind a minute: what can be brought
 * about as often as somebody likes. One that is told too soon is left out. */
void starts_tell_seldom(struct starts *s, const struct phx_start_row *row);
/** The same as starts_tell() for what the head itself has seen (proven): a kind and a text. */
void starts_say(struct starts *s, const char *node, enum phx_start_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* ---- starts_dhcp.c ---- */

struct starts_dhcp;

/** Starts a thread that follows what dnsmasq and in.tftpd write, where phxd runs them. */
int starts_dhcp_new(struct daemon *d, struct starts_dhcp **ret);
/** Ends it. Safe on NULL. */
void starts_dhcp_free(struct starts_dhcp *s);

/* ---- starts_seen.c: what the parts of phxd see, in rows ---- */

/** The `sent` of the listeners: of files that machines boot, how much of them went out. `arg` is
 * the daemon. */
void starts_sent(void *arg, const struct phx_http_sent *sent);
/** A boot script was asked for and answered, with what it boots, or refused: `refused` says why. */
void starts_script(struct daemon *d, const struct phx_http_request *q, const char *mac,
		   const char *what, const char *refused);
/** A machine asked for a file and was not given it. */
void starts_no_file(struct daemon *d, const struct phx_http_request *q, const char *why);
/** Tells what is lost of files that are on their way to the node (a name, or the MAC of a machine
 * that has none) at this moment: one that does not get on does not end, either. */
void starts_look(struct daemon *d, const char *node);
/** A node showed a certificate that does not count, and why. */
void starts_no_cert(struct daemon *d, const struct phx_http_request *q, const char *why);
/** The `undated` of the listeners: a node showed its present certificate, whose dates are not of
 * now by the head's clock, and why. `arg` is the daemon. */
void starts_undated(void *arg, const struct phx_http_peer *peer, const char *why);
/** A step of the node ended as its agent says: `result` 0 or negative errno. */
void starts_step(struct daemon *d, const char *node, uint64_t step_id, int64_t result,
		 const char *text);
/** An order is out: the step that the node is at begins. */
void starts_step_begins(struct daemon *d, const char *node);
/** Its power was asked for, and came to this: `result` 0 or negative errno. */
void starts_power_asked(struct daemon *d, const char *node, enum phx_power_op op);
void starts_power(struct daemon *d, const char *node, enum phx_power_op op, int result,
		  const char *text);
/** What a node reports of its role. */
void starts_report(struct daemon *d, const char *node, bool healthy, const char *role,
		   const char *text);

/** Returns when all that was told until now is written, or after `ms`: whoever asks why wants what
 * happened just now, too. */
void starts_settle(struct starts *s, int64_t ms);
/** The path of the database, for phx_starts_reader_open(); borrowed. */
const char *starts_path(const struct starts *s);

#endif
