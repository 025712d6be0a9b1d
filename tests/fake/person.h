/* Who asks, for the unit tests of phxd's handlers: his roles and his identity are the test's, and
 * what they may is in the real table of rights. Nothing that may ask the user database is called
 * under the engine's lock. The body of a request is what the test put there. */
#ifndef TESTS_FAKE_PERSON_H
#define TESTS_FAKE_PERSON_H

#include "fake/engine.h"
#include "fake/request.h"
#include "phxd/daemon.h"

enum {
	FAKE_ADMIN = 1u << PHX_WHO_ADMIN | 1u << PHX_WHO_USER,
	FAKE_OPERATOR = 1u << PHX_WHO_OPERATOR | 1u << PHX_WHO_USER,
	FAKE_AUDITOR = 1u << PHX_WHO_AUDITOR | 1u << PHX_WHO_USER,
	FAKE_PROVIDER = 1u << PHX_WHO_PROVIDER | 1u << PHX_WHO_USER,
	FAKE_USER = 1u << PHX_WHO_USER,
};

static unsigned fake_roles;
static const char *fake_identity; /* "" none */

enum phx_scope person_scope(struct daemon *d, const struct phx_http_peer *peer,
			    enum phx_right right)
{
	(void)d, (void)peer;
	return phx_right_scope(right, fake_roles);
}

bool person_has_all(struct daemon *d, const struct phx_http_peer *peer, enum phx_right right)
{
	return person_scope(d, peer, right) == PHX_SCOPE_ALL;
}

bool person_require(struct daemon *d, struct phx_http_request *q, enum phx_right right)
{
	bool may = person_scope(d, phx_http_peer(q), right) != PHX_SCOPE_NONE;
	if (!may)
		phx_http_reply_error(q, -EPERM, "not permitted");
	return may;
}

unsigned person_roles(struct daemon *d, const struct phx_http_peer *peer)
{
	(void)d, (void)peer;
	return fake_roles;
}

void person_of(struct daemon *d, const struct phx_http_peer *peer, struct person *ret)
{
	(void)d, (void)peer;
	assert_false(fake_engine_held);
	*ret = (struct person){0};
	PHX_STR_SET(ret->identity, fake_identity);
}

/* He is one where the test gave the request a number of one. */
bool person_is_user(const struct phx_http_peer *peer)
{
	return peer->uid != 0;
}

bool person_is(const struct person *p, const char *owner)
{
	return owner[0] && !strcmp(p->identity, owner);
}

bool person_holds(const struct phx_state *s, const struct person *p, const struct phx_node *n)
{
	const struct phx_re *re = phx_state_re(s, n->pool);
	assert_true(fake_engine_held);
	return re && person_is(p, re->agreement.owner);
}

bool person_identity(const struct phx_http_peer *peer, char ret[PHX_IDENTITY_MAX])
{
	(void)peer;
	assert_false(fake_engine_held);
	return phx_str_copy(ret, PHX_IDENTITY_MAX, fake_identity) == 0 && ret[0];
}

void person_name(const struct phx_http_peer *peer, char *ret, size_t ret_size)
{
	(void)peer;
	snprintf(ret, ret_size, "by %s", fake_identity);
}

json_t *body_json(struct phx_http_request *q)
{
	json_t *j = json_loads(q->body ? q->body : "{}", 0, NULL);
	if (!json_is_object(j)) {
		json_decref(j);
		phx_http_reply_error(q, -EINVAL, "the body must be a JSON object");
		return NULL;
	}
	return j;
}

#endif
