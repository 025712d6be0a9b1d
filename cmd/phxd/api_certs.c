/* Certificates of people that count no more. They are issued by the command line
 * on the head, which is where the CA is; here they end. */
#include "phxd/daemon.h"

#include <errno.h>

#include "phxd/parse.h"

void api_certs(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	PHX_AUTO_JSON json_t *list = json_array();
	const struct phx_state *s = engine_lock(d->engine);
	PHX_LIST_EACH(struct phx_revoked, c, &s->revoked)
		json_array_append_new(list, phx_json_from_record(&phx_revoked_record, c));
	engine_unlock(d->engine);
	PHX_AUTO_JSON json_t *j = json_pack("{s:O}", "revoked", list);
	phx_http_reply_json(q, 200, j);
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
	PHX_AUTO_JSON json_t *j = json_pack("{s:b}", "changed", out.changed);
	phx_outcome_fini(&out);
	phx_http_reply_json(q, 200, j);
}
