/* Webhooks of phoenix.conf: addresses that are told events. The process that tells them
 * (outlet/outlet.h) reads them from the same file as phxd. */
#ifndef PHX_CONFIG_WEBHOOK_H
#define PHX_CONFIG_WEBHOOK_H

#include "config/conf.h"

enum { PHX_WEBHOOKS_MAX = 16 };

#define PHX_WEBHOOK_FIELDS(F, S) \
	F(S, name, STR(PHX_NAME_MAX), \
	  KEY(name, NAME, PHX_REQUIRED, "By which phx events outlets and messages call it.")) \
	F(S, url, STR(512), \
	  KEY(url, TEXT(8, 511), PHX_REQUIRED, \
	      "Where each event is sent to, by POST: http:// or https://, without a user. A " \
	      "redirect is not followed: it counts as a failure.")) \
	F(S, kinds, LIST(phx_word), \
	  KEY(kinds, WORDS(32), "", \
	      "The kinds of events that are sent, as phx events -o wide names them; empty: all " \
	      "but those of jobs, workflows and measurements.")) \
	F(S, secret_file, STR(256), \
	  KEY(secret_file, TEXT(0, 255), "", \
	      "A file of root's, of mode 0600, whose text (16 bytes at least) signs each event; " \
	      "empty: none is signed.")) \
	F(S, ca_file, STR(256), \
	  KEY(ca_file, TEXT(0, 255), "", \
	      "Certificates (PEM) of which one must have issued the server's; empty: those that " \
	      "the system trusts.")) \
	F(S, timeout_s, U32, \
	  KEY(timeout_s, NUMBER(1, 300, "s"), "30", \
	      "After what time without a whole answer the attempt has failed.")) \
	F(S, link_local, BOOL, \
	  KEY(link_local, YES, "false", \
	      "Whether it may be at a link-local address (169.254.0.0/16, fe80::/10) or another " \
	      "at which clouds give their machines credentials."))
PHX_RECORD_STRUCT(phx_webhook, PHX_WEBHOOK_FIELDS);

struct phx_config;

/** Each of `kinds` (struct phx_word) must be the name of a kind of event. -EINVAL with the one that
 * is none. */
int phx_event_kinds_check(const struct phx_list *kinds, struct phx_err *err);

/** Adds the list `webhooks` of a file. -EINVAL "FILE:LINE: ...". */
int phx_webhooks_read(const struct phx_conf *c, struct phx_config *cfg, struct phx_err *err);
/** Adds a line (struct phx_config_line) for each; its origin is "FILE:LINE". */
int phx_webhooks_show(const struct phx_config *cfg, struct phx_list *lines);
/** Safe twice. */
void phx_webhooks_fini(struct phx_config *cfg);

#endif
