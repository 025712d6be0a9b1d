/* The first request of an agent after its start: what machine it is on, how it was started, and its
 * version; it is answered with the role that the node is to have. Called by way of routes.def. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/version.h"
#include "phxd/api_agent.h"
#include "phxd/parse.h"
#include "phxd/starts.h"
#include "state/node_sets.h"

/* The role that the node is to have; null: none. */
static json_t *role_wanted(const struct phx_state *s, const struct phx_node *n)
{
	struct phx_role store;
	const struct phx_role *role = n ? phx_core_role_wanted(s, n, &store) : NULL;
	json_t *j = role ? phx_json_from_record(&phx_role_record, role) : json_null();
	if (n && !n->kernels) { /* an older agent would not know what they are */
		json_object_del(j, "image_kernel");
		json_object_del(j, "kernel_args");
	}
	if (n && !n->shares)
		json_object_del(json_object_get(j, "web"), "more");
	return j;
}

static void reply_hello(struct daemon *d, struct phx_http_request *q, const char *node)
{
	struct phx_told_welcome w = {.beat_ms = d->cfg.heartbeat_ms};
	struct phx_kernel kernel = {0};
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_node *n = phx_state_node(s, node);
	bool local = n && n->env == PHX_ENV_DEPLOY && phx_node_boots_local(s, n);
	if (local && n->role[0]) /* what serves nobody may run under any */
		phx_kernel_of(s, n, &kernel);
	PHX_STR_SET(w.node, node);
	PHX_STR_SET(w.boot, local ? "local" : "wait");
	PHX_STR_SET(w.disk_key_id, n ? n->disk_key_id : "");
	PHX_STR_SET(w.state, n ? phx_enum_name(&phx_node_state_names, n->state) : "");
	PHX_STR_SET(w.kernel_release, kernel.release);
	json_t *role = role_wanted(s, n);
	engine_unlock(d->engine);
	PHX_AUTO_JSON json_t *j = phx_json_from_record(&phx_told_welcome_record, &w);
	json_object_set_new(j, "role", role);
	phx_http_reply_json(q, 200, j);
}

/* Head and agent work together one minor version apart. Whose version is not told is of before. */
static bool fits_version(struct daemon *d, struct phx_http_request *q, const char *node,
			 const char *version)
{
	struct phx_err err = {0};
	int ahead = version[0] ? phx_version_ahead(version, PHX_VERSION) : 0;
	live_told_version(d->live, node, version);
	if (ahead >= -1 && ahead <= 1)
		return true;
	phx_err_set(&err, -EAGAIN,
		    "the agent is version %s and this head " PHX_VERSION
		    ": they work together one minor version apart; upgrade the %s first "
		    "(phoenix-upgrade(7))",
		    version, ahead > 0 ? "head" : "agent");
	phx_http_reply_error(q, -EAGAIN, err.text);
	return false;
}

/* False after answering. */
static bool parse_hello(struct phx_http_request *q, const json_t *j, struct phx_event_hello *p,
			char ret_version[PHX_TOLD_VERSION_MAX])
{
	struct phx_told_hello h;
	if (!parse_message(q, j, &phx_told_hello_record, &h))
		return false;
	phx_str_copy(ret_version, PHX_TOLD_VERSION_MAX, h.version);
	PHX_MEMBERS_COPY(PHX_TOLD_BOOT_FIELDS, p, &h);
	PHX_MEMBERS_COPY(PHX_TOLD_HELLO_RUN_FIELDS, p, &h);
	p->facts = h.facts;
	/* an agent of before, which does not sign for its next key, gets one by a start */
	p->rekeys = h.rekeys && h.proves;
	return true;
}

void api_hello(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct phx_event ev = {.kind = PHX_EV_hello};
	char version[PHX_TOLD_VERSION_MAX];
	struct phx_err err = {0};
	if (!person_agent(d, q, ev.node))
		return;
	PHX_AUTO_JSON json_t *j = body_json(q);
	if (!j)
		return;
	snprintf(ev.by, sizeof(ev.by), "node:%.50s", ev.node);
	PHX_STR_SET(ev.hello.address, phx_http_peer(q)->address);
	if (parse_hello(q, j, &ev.hello, version) && agent_may_tell(d, q, ev.node) &&
	    fits_version(d, q, ev.node, version)) {
		live_heard(d->live, ev.node);
		/* what it reported before is outdated: its next beat is told in full */
		live_untold(d->live, ev.node);
		int r = engine_submit(d->engine, &ev, NULL, &err);
		starts_say(d->starts, ev.node, PHX_START_hello, "%s, from %s",
			   phx_enum_name(&phx_node_env_names, ev.hello.env), ev.hello.address);
		live_wake(d->live, ev.node);
		if (r < 0)
			phx_http_reply_error(q, r, err.text);
		else
			reply_hello(d, q, ev.node);
	}
	phx_event_fini(&ev);
}
