/* Whose jobs, workflows and triggers a person sees: his own; a service provider those of his REs;
 * the resource provider all. */
#ifndef PHXD_VIEWER_H
#define PHXD_VIEWER_H

#include "phxd/daemon.h"

struct viewer {
	bool all;      /* everybody's */
	bool provider; /* those of his REs, too */
	bool is_user;  /* of this machine, by that number; else by the name of person.login */
	uint32_t uid;
	struct person person;
};

/** Found out before the engine is locked: it may ask the user database. */
struct viewer viewer_of(struct daemon *d, const struct phx_http_peer *peer, enum phx_right right);
/** Is it his, or is everybody's his to see? By the user of the head as whom it runs. */
bool viewer_owns(const struct viewer *v, uint32_t uid, const char *user);
/** Does he see what that user gave to RE `re` ("" none) at `since_ms`? What an RE that had the name
 * before was given is not the present service provider's. */
bool viewer_sees(const struct viewer *v, const struct phx_state *s, const char *re,
		 int64_t since_ms, uint32_t uid, const char *user);

bool viewer_sees_flowrun(const struct viewer *v, const struct phx_state *s,
			 const struct phx_flowrun *w);
/** A trigger goes with its RE. */
bool viewer_sees_trigger(const struct viewer *v, const struct phx_state *s,
			 const struct phx_trigger *t);

#endif
