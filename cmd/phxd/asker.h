/* What who asks is to an RE: the resource provider, its service provider (the owner that its
 * agreement names), or nobody, for whom it is not there. */
#ifndef PHXD_ASKER_H
#define PHXD_ASKER_H

#include "phxd/daemon.h"

struct asker {
	bool provider; /* the right that was asked about goes for all REs */
	struct person person;
};

/** Found out before the engine is locked: it may ask the user database. */
struct asker asker_of(struct daemon *d, const struct phx_http_request *q, enum phx_right right);
/** One who is both says so in the agreement (000 4.2: the relationship 'same'). */
bool asker_is_service(const struct asker *a, const struct phx_agreement *g);
bool asker_may_see(const struct asker *a, const struct phx_agreement *g);

/** Who puts and fetches files of the RE of the path's first word: *ret_all, its service provider
 * and the resource provider, who have all of it, or a user who submits jobs to it, who has his
 * own. `take`: it must take jobs now. False after answering. */
bool re_of_user(struct daemon *d, struct phx_http_request *q, bool take, char ret[PHX_NAME_MAX],
		bool *ret_all);

/** An agreement that is asked for now, from the body's member `agreement`: the members that are
 * given, over an agreement's defaults. Owned: phx_record_fini(). False after answering. */
bool agreement_parse(struct daemon *d, struct phx_http_request *q, const json_t *j,
		     struct phx_agreement *ret);
/** Whose it is: a service provider's own, whatever it says; the resource provider names whose it
 * is, unless it is his own. -EINVAL, -EPERM: "owner: ..." */
int agreement_settle_owner(const struct asker *asker, struct phx_agreement *g, struct phx_err *err);
/** Does the resource provider act, who grants what he asks for (`create`)? Else a service provider
 * asks. */
enum phx_re_who agreement_who(const struct asker *asker, const struct phx_agreement *g,
			      bool create);

#endif
