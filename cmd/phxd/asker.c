/* See asker.h. Called by the handlers of REs. */
#include "phxd/asker.h"

struct asker asker_of(struct daemon *d, const struct phx_http_request *q, enum phx_right right)
{
	const struct phx_http_peer *peer = phx_http_peer(q);
	unsigned roles = person_roles(d, peer);
	struct asker a = {.all = phx_right_scope(right, roles) == PHX_SCOPE_ALL,
			  .provider = phx_right_as_provider(right, roles),
			  .packages = phx_right_scope(PHX_RIGHT_packages, roles) == PHX_SCOPE_ALL};
	person_of(d, peer, &a.person);
	return a;
}

bool asker_is_service(const struct asker *a, const struct phx_agreement *g)
{
	return person_is(&a->person, g->owner) || (a->provider && phx_agreement_one_person(g));
}

bool asker_may_see(const struct asker *a, const struct phx_agreement *g)
{
	return a->all || asker_is_service(a, g);
}
