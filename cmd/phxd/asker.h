/* The relation of the asker, who sent a request, to an RE: the resource provider, its service
 * provider (the owner that its agreement names), or nobody, to whom the RE does not exist. */
#ifndef PHXD_ASKER_H
#define PHXD_ASKER_H

#include "phxd/daemon.h"

struct asker {
	bool all;      /* has the right for all REs */
	bool provider; /* has the right where the resource provider is the service provider, too */
	bool packages; /* may read of packages, whatever `right` is */
	struct person person;
};

/** The asker's relation as far as `right` goes. Call it before the engine is locked: it may ask the
 * user database. */
struct asker asker_of(struct daemon *d, const struct phx_http_request *q, enum phx_right right);
/** Is the asker the RE's service provider? If the resource provider is that as well, the agreement
 * says so (000 4.2: the relationship 'same'). */
bool asker_is_service(const struct asker *a, const struct phx_agreement *g);
bool asker_may_see(const struct asker *a, const struct phx_agreement *g);

/** May the asker put and fetch files of the RE that parameter 0 of the path names? *ret_all: all of
 * its files, for its service provider; else only the asker's own, for a user who submits jobs to
 * it. `take`: the RE must accept jobs now. False after answering. */
bool re_of_user(struct daemon *d, struct phx_http_request *q, bool take, char ret[PHX_NAME_MAX],
		bool *ret_all);

/** Reads a new agreement from the body's member `agreement`; members that are absent get their
 * defaults. Owned by the caller: phx_record_fini(). False after answering. */
bool agreement_parse(struct daemon *d, struct phx_http_request *q, const json_t *j,
		     struct phx_agreement *ret);
/** Settles the owner of a new agreement. Without one, it becomes a service provider's own; the
 * resource provider must name the owner, unless both are the same. -EINVAL; -EPERM if a service
 * provider names somebody else: "owner: ..." */
int agreement_settle_owner(const struct asker *asker, struct phx_agreement *g, struct phx_err *err);
/** As whom the asker acts. `create`: the resource provider always acts as such, whose requests need
 * no grant; otherwise the owner acts as the service provider. */
enum phx_re_who agreement_who(const struct asker *asker, const struct phx_agreement *g,
			      bool create);

#endif
