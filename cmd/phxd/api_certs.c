/* Revoking certificates of people. The command line issues them on the head, where the CA is.
 * Called by way of routes.def. */
#include "phxd/daemon.h"

#include <errno.h>

#include "phxd/parse.h"

void api_certs(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	const struct phx_state *s = engine_lock(d->engine);
	PHX_AUTO_JSON json_t *j =
		json_pack("{s:o}", "revoked", phx_json_from_list(&phx_revoked_record, &s->revoked));
	engine_unlock(d->engine);
	phx_http_reply_json(q, 200, j);
}

/* The command line issues a certificate with the CA's key, and reports it here. */
void api_cert_issued(struct phx_http_request *q, void *arg)
{
	static const char *const members[] = {"serial", "name", "kind"};
	struct daemon *d = arg;
	struct phx_event ev = {.kind = PHX_EV_notice};
	struct phx_err err = {0};
	char serial[PHX_SERIAL_MAX], name[PHX_NAME_MAX], kind[32];
	PHX_AUTO_JSON json_t *body = body_json(q);
	if (!body || !parse_only(q, body, members, PHX_ARRAY_SIZE(members)) ||
	    !TAKE(q, body, "serial", serial) || !TAKE(q, body, "name", name) ||
	    !TAKE(q, body, "kind", kind))
		return;
	person_name(phx_http_peer(q), ev.by, sizeof(ev.by));
	snprintf(ev.text, sizeof(ev.text), "certificate %s was issued to %s (%s)", serial, name,
		 kind);
	int r = engine_submit(d->engine, &ev, NULL, &err);
	PHX_AUTO_JSON json_t *empty = json_object();
	if (r < 0)
		phx_http_reply_error(q, r, err.text);
	else
		phx_http_reply_json(q, 200, empty);
}

void api_cert_revoke(struct phx_http_request *q, void *arg)
{
	static const char *const members[] = {"name", "reason"};
	struct daemon *d = arg;
	struct phx_err err = {0};
	struct phx_outcome out = {0};
	struct phx_event ev = {.kind = PHX_EV_cert_revoke};
	PHX_AUTO_JSON json_t *body = body_json(q);
	if (!body || !parse_only(q, body, members, PHX_ARRAY_SIZE(members)) ||
	    !TAKE(q, body, "name", ev.cert_revoke.name) || !TAKE(q, body, "reason", ev.text))
		return;
	person_name(phx_http_peer(q), ev.by, sizeof(ev.by));
	if (PHX_STR_SET(ev.cert_revoke.serial, phx_http_param(q, 0)) < 0) {
		phx_http_reply_error(q, -EINVAL,
				     "serial: that is longer than the number of a certificate");
		return;
	}
	int r = engine_submit(d->engine, &ev, &out, &err);
	if (r < 0) {
		phx_http_reply_error(q, r, err.text);
		return;
	}
	if (out.changed)
		access_changed(d);
	PHX_AUTO_JSON json_t *j = json_pack("{s:b}", "changed", out.changed);
	phx_outcome_fini(&out);
	phx_http_reply_json(q, 200, j);
}
