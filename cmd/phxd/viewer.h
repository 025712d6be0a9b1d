/* Which jobs, workflows and triggers a person sees: a user sees his own, a service provider also
 * those of his REs, the resource provider all. */
#ifndef PHXD_VIEWER_H
#define PHXD_VIEWER_H

#include "phxd/daemon.h"

struct viewer {
	bool all;      /* he sees everybody's */
	bool provider; /* he sees those of his REs, too */
	bool is_user;  /* a user of this machine, known by uid; else known by person.login */
	uint32_t uid;
	struct person person;
};

/** Call it before the engine is locked: it may ask the user database. */
struct viewer viewer_of(struct daemon *d, const struct phx_http_peer *peer, enum phx_right right);
/** Does the viewer own what runs as that user of the head, or see everybody's? */
bool viewer_owns(const struct viewer *v, uint32_t uid, const char *user);
/** Does the viewer see what that user submitted to RE `re` ("": none) at `since_ms`? Submissions to
 * an earlier RE of the same name are not shown to the present service provider. */
bool viewer_sees(const struct viewer *v, const struct phx_state *s, const char *re,
		 int64_t since_ms, uint32_t uid, const char *user);

bool viewer_sees_flowrun(const struct viewer *v, const struct phx_state *s,
			 const struct phx_flowrun *w);
/** A trigger goes with its RE. */
bool viewer_sees_trigger(const struct viewer *v, const struct phx_state *s,
			 const struct phx_trigger *t);

#endif
