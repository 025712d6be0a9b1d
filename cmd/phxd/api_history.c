/* The history of a runtime environment: what the core noted about it, a
 * sentence each, out of the journal. */
#include "phxd/daemon.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	HISTORY_MAX = 10000,
	CHUNK = 1000, /* events looked at in one go: between two the journal is written */
};

struct history {
	const char *re;
	char quoted[PHX_NAME_MAX + 2];
	json_t *rows;
	uint64_t last; /* event looked at */
};

static bool is_about(const json_t *act, const char *re)
{
	return !strcmp(phx_json_str(act, "kind", ""), "note") &&
	       (!strcmp(phx_json_str(act, "re", ""), re) || !strcmp(phx_json_str(act, "other_re", ""), re));
}

static int add_notes(void *arg, const struct phx_store_event *ev)
{
	struct history *h = arg;
	h->last = ev->seq;
	if (!strstr(ev->actions, h->quoted))
		return 0;
	PHX_AUTO_JSON json_t *event = json_loads(ev->event, 0, NULL);
	PHX_AUTO_JSON json_t *actions = json_loads(ev->actions, 0, NULL);
	size_t i;
	json_t *act;
	json_array_foreach(actions, i, act)
	{
		if (!is_about(act, h->re))
			continue;
		json_array_append_new(h->rows, json_pack("{s:I,s:I,s:s,s:s,s:s,s:s}", "seq", (json_int_t)ev->seq, "time_ms",
							 (json_int_t)ev->time_ms, "kind", ev->kind, "text",
							 phx_json_str(act, "text", ""), "node",
							 phx_json_str(act, "node", ""), "by",
							 phx_json_str(event, "by", "")));
	}
	/* the newest are kept */
	while (json_array_size(h->rows) > HISTORY_MAX)
		json_array_remove(h->rows, 0);
	return 0;
}

/* From which event on the asker may know: the whole life of an RE its owner; of others of that name, before it or gone,
 * only the resource provider. False: nothing. */
static bool may_know(struct daemon *d, const struct phx_http_request *q, const char *name, uint64_t *ret_after)
{
	char account[PHX_NAME_MAX];
	const struct phx_http_peer *peer = phx_http_peer(q);
	bool provider = person_of(d, peer) == PERSON_PROVIDER, known = person_account(peer, account);
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_re *re = phx_state_re(s, name);
	bool own = re && known && !strcmp(re->agreement.owner, account);
	*ret_after = own && !provider ? re->asked_seq - 1 : 0;
	engine_unlock(d->engine);
	return provider || own;
}

static int read_history(struct daemon *d, struct history *h, struct phx_err *err)
{
	struct phx_store *store = engine_store(d->engine);
	for (uint64_t before = UINT64_MAX; h->last != before;) {
		before = h->last;
		int r = phx_store_events(store, h->last, CHUNK, NULL, add_notes, h, err);
		if (r < 0)
			return r;
	}
	return 0;
}

void api_re_history(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct phx_err err = { 0 };
	const char *name = phx_http_param(q, 0);
	PHX_AUTO_JSON json_t *rows = json_array();
	struct history h = { .re = name, .rows = rows };
	if (!phx_name_valid(name) || !may_know(d, q, name, &h.last)) {
		phx_http_reply_error(q, -ENOENT, "there is no such RE");
		return;
	}
	snprintf(h.quoted, sizeof(h.quoted), "\"%.63s\"", name);
	int r = read_history(d, &h, &err);
	if (r < 0) {
		phx_http_reply_error(q, r, err.text);
		return;
	}
	PHX_AUTO_JSON json_t *j = json_pack("{s:O}", "history", rows);
	phx_http_reply_json(q, 200, j);
}
