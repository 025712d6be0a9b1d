/* Logs of services on nodes, which people ask for: see asks.c. Decides nothing. */
#include "phxd/daemon.h"

#include <errno.h>
#include <string.h>

#include "base/utf8.h"
#include "phxd/parse.h"
#include "types/logs.h"

enum { LINES_MAX = 10000, LINES = 50, WAIT_MAX_S = 25 };

static int check_node(struct daemon *d, struct phx_http_request *q, const char *node,
		      struct phx_err *err)
{
	const struct phx_http_peer *peer = phx_http_peer(q);
	bool all = person_has_all(d, peer, PHX_RIGHT_logs);
	struct person person;
	/* before the engine is locked: it may ask the user database */
	person_of(d, peer, &person);
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_node *n = phx_state_node(s, node);
	int r = 0;
	if (!n)
		r = phx_err_set(err, -ENOENT, "there is no node '%s'", node);
	else if (!all && !person_holds(s, &person, n))
		r = phx_err_set(err, -EACCES,
				"%s: what its services write is for the resource provider and the "
				"owner of the RE that has it",
				node);
	else if (!n->up)
		r = phx_err_set(err, -EAGAIN, "%s is not heard: its agent cannot be asked", node);
	else if (n->env != PHX_ENV_OS)
		r = phx_err_set(err, -EBUSY, "%s is not in its system: no services run there",
				node);
	engine_unlock(d->engine);
	return r;
}

static const struct asks_kind kind = {PHX_ORDER_logs, PHX_RIGHT_logs, check_node};

/* The question for the agent; NULL after answering. */
static json_t *words_of(struct phx_http_request *q, uint64_t *ret_wait_s)
{
	const char *service = phx_http_query(q, "service"), *after = phx_http_query(q, "after");
	uint64_t lines;
	struct phx_logs_ask a = {0};
	PHX_STR_SET(a.service, service ? service : "");
	PHX_STR_SET(a.cursor, after ? after : "");
	phx_utf8_repair(a.cursor);
	if (service && *service && !phx_name_valid(service)) {
		phx_http_reply_error(q, -EINVAL, "service: not a name");
		return NULL;
	}
	if (after && strcmp(a.cursor, after) != 0) {
		phx_http_reply_error(q, -EINVAL, "after: not what an earlier answer had as cursor");
		return NULL;
	}
	if (!parse_query_number(q, "lines", LINES_MAX, LINES, &lines) ||
	    !parse_query_number(q, "wait", WAIT_MAX_S, 0, ret_wait_s))
		return NULL;
	a.lines = (int64_t)lines;
	a.wait_ms = (int64_t)*ret_wait_s * 1000;
	return phx_json_from_record(&phx_logs_ask_record, &a);
}

void api_node_logs(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct phx_err err = {0};
	uint64_t wait_s;
	struct asks_wish wish = {.kind = &kind, .node = phx_http_param(q, 0), .rights = d->rights};
	int r = check_node(d, q, wish.node, &err);
	if (r < 0) {
		phx_http_reply_error(q, r, err.text);
		return;
	}
	wish.words = words_of(q, &wait_s);
	if (!wish.words)
		return;
	wish.wait_ms = (int64_t)wait_s * 1000;
	asks_put(d->asks, q, &wish);
}

void api_agent_logs(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	char node[PHX_NAME_MAX];
	if (!person_agent(d, q, node))
		return;
	struct phx_logs_told told;
	PHX_AUTO_JSON json_t *j = body_json(q);
	if (!j || !parse_message(q, j, &phx_logs_told_record, &told))
		return;
	PHX_AUTO_JSON json_t *answer =
		json_pack("{s:s,s:s,s:s,s:s}", "node", node, "service", told.service, "text",
			  phx_text(told.text), "cursor", told.cursor);
	asks_told(d->asks, &kind, node, told.id, phx_text(told.error), answer);
	phx_record_fini(&phx_logs_told_record, &told);
	PHX_AUTO_JSON json_t *empty = json_object();
	phx_http_reply_json(q, 200, empty);
}
