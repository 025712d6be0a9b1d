/* The history of a runtime environment: the notes of the core about it, from the journal. A request
 * looks at a limited number of events, by its own connection to the journal, and says how far it
 * got. */
#include "phxd/daemon.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "phxd/view_hide.h"

enum {
	HISTORY_MAX = 10000,
	CHUNK = 1000,       /* events looked at in one go */
	LOOKED_MAX = 50000, /* in one request */
};

struct history {
	const char *re;
	char quoted[PHX_NAME_MAX + 2];
	bool all; /* of who sees all hardware and logs, too */
	json_t *rows;
	uint64_t last; /* event looked at */
};

static bool is_about(const json_t *act, const char *re)
{
	return !strcmp(phx_json_str(act, "kind", ""), "note") &&
		(!strcmp(phx_json_str(act, "re", ""), re) ||
		 !strcmp(phx_json_str(act, "other_re", ""), re));
}

/* A service provider does not hold each node that his RE was to get, nor runs what another RE ran
 * there. */
static json_t *row_of(const struct history *h, const struct phx_store_event *ev, const char *by,
		      const json_t *act)
{
	bool own = !strcmp(phx_json_str(act, "re", ""), h->re);
	PHX_AUTO_FREE char *text = strdup(phx_json_str(act, "text", ""));
	if (text && !h->all)
		view_hide(text, own ? VIEW_HIDE_HARDWARE : VIEW_HIDE_ALL, false);
	if (!h->all && view_is_address(by, strlen(by)))
		by = "";
	return json_pack("{s:I,s:I,s:s,s:s,s:s,s:s}", "seq", (json_int_t)ev->seq, "time_ms",
			 (json_int_t)ev->time_ms, "kind", ev->kind, "text", text ? text : "",
			 "node", phx_json_str(act, "node", ""), "by", by);
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
		if (is_about(act, h->re))
			json_array_append_new(h->rows,
					      row_of(h, ev, phx_json_str(event, "by", ""), act));
	/* the newest are kept */
	while (json_array_size(h->rows) > HISTORY_MAX)
		json_array_remove(h->rows, 0);
	return 0;
}

/* From which event on the asker may see the history: an owner the whole life of the present RE;
 * earlier REs of that name only the resource provider (*ret_all). False: nothing. */
static bool may_know(struct daemon *d, const struct phx_http_request *q, const char *name,
		     uint64_t *ret_after, bool *ret_all)
{
	struct person person;
	const struct phx_http_peer *peer = phx_http_peer(q);
	bool provider = person_has_all(d, peer, PHX_RIGHT_re_history);
	person_of(d, peer, &person);
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_re *re = phx_state_re(s, name);
	bool own = re && person_is(&person, re->agreement.owner);
	*ret_after = own && !provider ? re->asked_seq - 1 : 0;
	*ret_all = provider;
	engine_unlock(d->engine);
	return provider || own;
}

/* *ret_more: it stopped before the end of the journal. */
static int read_history(struct phx_store_reader *reader, struct history *h, bool *ret_more,
			struct phx_err *err)
{
	*ret_more = true;
	for (uint32_t n_looked = 0; n_looked < LOOKED_MAX; n_looked += CHUNK) {
		uint64_t before = h->last;
		int r = reads_page(reader, h->last, CHUNK, h->re, add_notes, h, err);
		if (r < 0)
			return r;
		if (h->last == before) {
			*ret_more = false;
			return 0;
		}
		reads_breathe(phx_clock_us());
	}
	return 0;
}

/* Tells somebody whose request for this RE was refused the refusal, and nothing else. */
static bool tell_refusal(struct daemon *d, struct phx_http_request *q, const char *name)
{
	struct person person;
	PHX_AUTO_JSON json_t *rows = json_array();
	person_of(d, phx_http_peer(q), &person);
	const struct phx_state *s = engine_lock(d->engine);
	PHX_LIST_EACH(struct phx_re_refusal, it, &s->refusals)
		if (!strcmp(it->name, name) && person_is(&person, it->owner))
			json_array_append_new(
				rows,
				json_pack("{s:i,s:I,s:s,s:o,s:s,s:s}", "seq", 0, "time_ms",
					  (json_int_t)it->at_ms, "kind", "re_refuse", "text",
					  json_sprintf("the request for RE %s is refused%s%s", name,
						       it->text[0] ? ": " : "", it->text),
					  "node", "", "by", it->by));
	engine_unlock(d->engine);
	PHX_AUTO_JSON json_t *j =
		json_pack("{s:O,s:i,s:b}", "history", rows, "last", 0, "more", false);
	if (json_array_size(rows))
		phx_http_reply_json(q, 200, j);
	return json_array_size(rows) > 0;
}

static bool re_is_there(struct daemon *d, const char *name)
{
	const struct phx_state *s = engine_lock(d->engine);
	bool there = phx_state_re(s, name) != NULL;
	engine_unlock(d->engine);
	return there;
}

void api_re_history(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct phx_err err = {0};
	struct phx_store_reader *reader = NULL;
	bool more = false, all = false;
	uint64_t first = 0, after = 0;
	const char *name = phx_http_param(q, 0), *asked = phx_http_query(q, "after");
	PHX_AUTO_JSON json_t *rows = json_array();
	if (!phx_name_valid(name) || !may_know(d, q, name, &first, &all)) {
		if (tell_refusal(d, q, name))
			return;
		phx_http_reply_error(q, -ENOENT, "there is no such RE");
		return;
	}
	if (asked && phx_u64_parse(asked, 0, INT64_MAX, &after) < 0) {
		phx_http_reply_error(q, -EINVAL, "after: must be the number of an event");
		return;
	}
	struct history h = {.re = name, .all = all, .rows = rows};
	h.last = after > first ? after : first;
	snprintf(h.quoted, sizeof(h.quoted), "\"%.63s\"", name);
	int r = phx_store_reader_open(d->cfg.journal, &reader, &err);
	r = r ? r : read_history(reader, &h, &more, &err);
	phx_store_reader_close(reader);
	if (r < 0) {
		phx_http_reply_error(q, r, err.text);
		return;
	}
	if (!more && !asked && !json_array_size(rows) && !re_is_there(d, name)) {
		phx_http_reply_error(q, -ENOENT, "there is no such RE, and no history of one");
		return;
	}
	PHX_AUTO_JSON json_t *j = json_pack("{s:O,s:I,s:b}", "history", rows, "last",
					    (json_int_t)h.last, "more", more);
	phx_http_reply_json(q, 200, j);
}
