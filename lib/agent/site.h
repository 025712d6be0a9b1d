/* The settings of the site on this node: accounts and files of the bundle that the head has for it
 * (site/site.h). A bundle is applied as a whole; files and accounts that it lacks, and that an
 * earlier one brought, are removed, and who loses his account, or is locked, loses his processes.
 * Homes stay. What is about to be made is first recorded in STATE/site.json, which has no content
 * of files, so that the next agent can remove it after a crash. What fails does not hold up the
 * rest: it is reported, and tried again; but a network over which the
 * head was not heard is not (site_net.h). The link has a worker do it: beats go on meanwhile. */
#ifndef PHX_AGENT_SITE_H
#define PHX_AGENT_SITE_H

#include <jansson.h>

#include "agent/accounts.h"
#include "agent/config.h"
#include "agent/loop.h"
#include "http/http.h"
#include "site/site.h"

struct site;

/** A client with the node's certificate, for one worker. */
typedef int (*site_client_fn)(void *arg, struct phx_http_client **ret, struct phx_err *err);

/** All borrowed. */
struct site_config {
	struct loop *loop;
	const struct agent_config *cfg;
	struct accounts *accounts;
	site_client_fn client;
	void *arg;
	const char *boot; /* the start of the machine */
};

/** Takes up what an earlier agent made. */
int site_new(const struct site_config *config, struct site **ret, struct phx_err *err);
/** When no worker is at work. */
void site_free(struct site *s);

/** Has a worker fetch the bundle from the head, and apply it unless it is the present one; returns
 * at once. One that is at work goes on. The functions below treat NULL as no settings.
 * -EOPNOTSUPP: `s` is NULL; -EAGAIN: there is no worker. */
int site_fetch(struct site *s, struct phx_err *err);
/** Applies a bundle, in the caller's thread. The first of the things that failed; the others are
 * done. */
int site_apply(struct site *s, const struct phx_site_bundle *b, struct phx_err *err);
/** Now and then has what failed fetched and applied again. Called with each beat. */
void site_settle(struct site *s);
/** Waits until no worker is at work, at most so long: a role's services find their files. */
void site_wait(struct site *s, uint32_t timeout_ms);

/** Adds ["site", ID] to the list of what runs here: of the last bundle, also one of which a part
 * failed; 0: none, or one is being applied for the first time. */
void site_running(struct site *s, json_t *list);
/** Adds to the monitor why a part of that failed, and the public host key of this node's sshd. */
void site_monitor(struct site *s, json_t *monitor);

/** The node passes to another owner in place: who was root on it may have a copy of the host key of
 * its sshd, which makes another one. Nothing happens where there is none; a failure is logged. */
void site_host_key_forget(const char *root);

#endif
