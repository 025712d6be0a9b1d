/* Revoked certificates of people. They are identified by serial number, since a person may get a
 * new certificate under the same name. Called by apply.c. Pure. */
#include "state/apply.h"

#include <errno.h>
#include <string.h>

enum { REVOKED_MAX = 10000 };

static bool is_serial(const char *s)
{
	size_t n = strlen(s);
	return n >= 2 && n % 2 == 0 && strspn(s, "0123456789abcdef") == n;
}

int phx_apply_cert_revoke(struct phx_apply *a, const struct phx_event_cert_revoke *p)
{
	if (!is_serial(p->serial))
		return phx_err_set(a->err, -EINVAL,
				   "serial: '%s' is no number of a certificate: that has pairs of "
				   "hexadecimal digits",
				   p->serial);
	if (p->name[0] && !phx_name_valid(p->name))
		return phx_err_set(a->err, -EINVAL, "name: '%s' is no name", p->name);
	if (phx_state_revoked(a->s, p->serial))
		return 0;
	if (a->s->revoked.n >= REVOKED_MAX)
		return phx_err_set(a->err, -ENOSPC, "%d certificates are revoked: make a new CA",
				   REVOKED_MAX);
	struct phx_revoked *c = phx_grow(a, &a->s->revoked, sizeof(*c));
	if (!c)
		return -ENOMEM;
	PHX_STR_SET(c->serial, p->serial);
	PHX_STR_SET(c->name, p->name);
	c->at_ms = a->s->now_ms;
	a->out->changed = true;
	phx_note(a, NULL, "certificate %s%s%s is revoked%s%.120s", c->serial,
		 c->name[0] ? " of " : "", c->name, a->ev->text[0] ? ": " : "", a->ev->text);
	return 0;
}
