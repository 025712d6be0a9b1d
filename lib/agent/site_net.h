/* The network's files of a bundle (phx_site_is_network()): they are put in place while the node is
 * in use, and if the head is not heard from then, the former ones come back. The trial is recorded
 * in STATE/site-network.json, with the content of the former files, before one is touched
 * (site_trial.h). Called by site.c, in a worker. */
#ifndef PHX_AGENT_SITE_NET_H
#define PHX_AGENT_SITE_NET_H

#include "agent/site_trial.h"

/** One whole exchange with the head, by a connection of its own, with the node's certificate. */
typedef bool (*site_heard_fn)(void *arg);

struct site_net_config {
	const char *root, *state_dir, *boot; /* borrowed */
	site_heard_fn heard;
	void *arg;
	struct site_trial_times times;
};

struct site_net;
/** Takes up the trial of an earlier agent. */
int site_net_new(const struct site_net_config *config, struct site_net **ret, struct phx_err *err);
void site_net_free(struct site_net *n);

/** Is a trial of an earlier agent to be gone on with? */
bool site_net_pending(const struct site_net *n);
/** Goes on with it, until the head is heard or the former files are back: blocks. -EHOSTUNREACH:
 * they are back; other errors: they are not, and it is tried again by the next agent. */
int site_net_resume(struct site_net *n, struct phx_err *err);

/** Puts the bundle's files in place, and removes those of `before` (struct phx_site_out) that it
 * lacks: blocks. 1: some changed, and the head is heard; 0: all are so already; -EHOSTUNREACH: the
 * former ones are back; -EPERM: they are the files that were refused, and nothing is touched;
 * others with a text. */
int site_net_apply(struct site_net *n, const struct phx_site_bundle *b,
		   const struct phx_list *before, struct phx_err *err);

#endif
