/* See viewer.h. Called by the handlers of jobs, workflows and triggers, and by waits.c. */
#include "phxd/viewer.h"

#include <string.h>

struct viewer viewer_of(struct daemon *d, const struct phx_http_peer *peer, enum phx_right right)
{
	struct viewer v = {
		.all = person_has_all(d, peer, right),
		.provider = person_roles(d, peer) & 1u << PHX_WHO_PROVIDER &&
			phx_right_scope(right, 1u << PHX_WHO_PROVIDER) != PHX_SCOPE_NONE,
		.is_user = person_is_user(peer),
		.uid = peer->uid,
	};
	person_of(d, peer, &v.person);
	return v;
}

bool viewer_owns(const struct viewer *v, uint32_t uid, const char *user)
{
	return v->all ||
		(v->is_user ? uid == v->uid : v->person.login[0] && !strcmp(user, v->person.login));
}

bool viewer_sees(const struct viewer *v, const struct phx_state *s, const char *re,
		 int64_t since_ms, uint32_t uid, const char *user)
{
	const struct phx_re *of = re[0] && v->provider ? phx_state_re(s, re) : NULL;
	return viewer_owns(v, uid, user) ||
		(of && person_is(&v->person, of->agreement.owner) && since_ms >= of->created_ms);
}

bool viewer_sees_flowrun(const struct viewer *v, const struct phx_state *s,
			 const struct phx_flowrun *w)
{
	return viewer_sees(v, s, w->re, w->submitted_ms, w->uid, w->user);
}

bool viewer_sees_trigger(const struct viewer *v, const struct phx_state *s,
			 const struct phx_trigger *t)
{
	return viewer_sees(v, s, t->re, INT64_MAX, t->uid, t->user);
}
