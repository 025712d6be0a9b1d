/* See news.h. Called by phxd's outlets; reads no file. */
#include "outlet/news.h"

#include <errno.h>
#include <stdio.h>
#include <syslog.h>

#include "base/json.h"
#include "base/utf8.h"
#include "outlet/internal.h"

enum when { ALWAYS, CAME, ASKED };

/* initialised by kind: a kind without a row has no id (tests/unit/outlet/news.c) */
static const struct row {
	enum when when;
	int priority;
	const char *id;
} rows[PHX_EV_COUNT_] = {
#define NEWS(kind, when, priority, id) [PHX_EV_##kind] = {when, LOG_##priority, id},
#include "outlet/news.def"
#undef NEWS
};

void phx_news_fini(struct phx_news *n)
{
	phx_list_fini(&n->nodes);
	phx_list_fini(&n->res);
	free(PHX_TAKE(n->json));
}

const char *phx_news_id(enum phx_event_kind kind)
{
	return rows[kind].id;
}

/* ---- which ---- */

static int kind_of(const char *name)
{
	int kind;
	return phx_enum_parse(&phx_event_kind_names, name, &kind, NULL) < 0 ? -ENOENT : kind;
}

bool phx_news_may_be(const struct phx_store_event *ev, const bool asked[PHX_EV_COUNT_])
{
	int kind = kind_of(ev->kind);
	if (kind < 0)
		return false;
	switch (rows[kind].when) {
	case ALWAYS:
		return true;
	case CAME:
		return strstr(ev->actions, "\"note\"") || (asked && asked[kind]);
	case ASKED:
		return asked && asked[kind];
	}
	return false;
}

static bool names(const struct phx_list *kinds, enum phx_event_kind kind)
{
	PHX_LIST_EACH(struct phx_word, w, kinds)
		if (kind_of(w->text) == (int)kind)
			return true;
	return false;
}

bool phx_news_wanted(const struct phx_news *n, const struct phx_list *kinds)
{
	return kinds->n ? names(kinds, n->kind) : !n->asked;
}

void phx_news_ask(const struct phx_list *kinds, bool asked[PHX_EV_COUNT_])
{
	PHX_LIST_EACH(struct phx_word, w, kinds) {
		int kind = kind_of(w->text);
		if (kind >= 0 && rows[kind].when != ALWAYS)
			asked[kind] = true;
	}
}

/* ---- what it says ---- */

static int note_name(struct phx_list *to, const char *name)
{
	if (!*name || to->n >= PHX_NEWS_NAMES_MAX)
		return 0;
	PHX_LIST_EACH(struct phx_word, w, to)
		if (!strcmp(w->text, name))
			return 0;
	struct phx_word *w = phx_list_push(to, sizeof(*w));
	if (w)
		PHX_STR_SET(w->text, name);
	return w ? 0 : -ENOMEM;
}

/* The sentences that came of it: {node, re, text}. */
static json_t *notes_of(const json_t *actions)
{
	json_t *notes = json_array();
	size_t i;
	json_t *act;
	json_array_foreach((json_t *)actions, i, act) {
		if (!strcmp(phx_json_str(act, "kind", ""), "note"))
			json_array_append_new(notes,
					      json_pack("{s:s,s:s,s:s}", "node",
							phx_json_str(act, "node", ""), "re",
							phx_json_str(act, "re", ""), "text",
							phx_json_str(act, "text", "")));
	}
	return notes;
}

/* The RE that an event of REs is about. */
static const char *re_of(const json_t *event, const char *kind)
{
	const json_t *agreement = json_object_get(json_object_get(event, kind), "agreement");
	const char *name = phx_json_str(event, "re", "");
	return *name ? name : phx_json_str(agreement, "name", "");
}

/* All that came of it; where nothing did, the phrase of its kind with the event's own text. */
static int put_message(const struct phx_store_event *ev, const json_t *event, const json_t *notes,
		       struct phx_news *n)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	const char *text = phx_json_str(event, "text", "");
	size_t i;
	json_t *note;
	if (!json_array_size(notes)) {
		phx_buf_addf(&b, "%s", *ev->node ? "node " : "");
		outlet_put_clean(&b, ev->node);
		phx_buf_addf(&b, "%s%s%s", *ev->node ? ": " : "", phx_event_text(n->kind),
			     *text ? ": " : "");
		outlet_put_clean(&b, text);
	}
	json_array_foreach((json_t *)notes, i, note) {
		if (b.n >= sizeof(n->message))
			break;
		phx_buf_addf(&b, "%s", i ? "; " : "");
		outlet_put_clean(&b, phx_json_str(note, "text", ""));
	}
	if (b.failed)
		return -ENOMEM;
	snprintf(n->message, sizeof(n->message), "%s", b.data ? b.data : "");
	phx_utf8_repair(n->message); /* may be cut within a character */
	return 0;
}

static int put_names(const struct phx_store_event *ev, const json_t *event, const json_t *notes,
		     struct phx_news *n)
{
	size_t i;
	json_t *note;
	int r = note_name(&n->nodes, ev->node);
	r = r ? r : note_name(&n->res, re_of(event, ev->kind));
	json_array_foreach((json_t *)notes, i, note) {
		r = r ? r : note_name(&n->nodes, phx_json_str(note, "node", ""));
		r = r ? r : note_name(&n->res, phx_json_str(note, "re", ""));
	}
	return r;
}

static int put_json(const struct phx_store_event *ev, json_t *event, json_t *notes,
		    struct phx_news *n)
{
	const char *re = n->res.n ? PHX_LIST_AT(&n->res, struct phx_word, 0)->text : "";
	PHX_AUTO_JSON json_t *j =
		json_pack("{s:I,s:I,s:s,s:i,s:s,s:s,s:s,s:s,s:O,s:O}", "seq", (json_int_t)n->seq,
			  "time_ms", (json_int_t)n->time_ms, "kind", ev->kind, "priority",
			  n->priority, "text", n->message, "node", ev->node, "re", re, "by", n->by,
			  "notes", notes, "event", event);
	n->json = j ? phx_json_text(j) : NULL;
	if (n->json && strlen(n->json) >= PHX_NEWS_JSON_MAX) {
		free(PHX_TAKE(n->json));
		json_object_del(j, "notes");
		json_object_del(j, "event");
		json_object_set_new(j, "cut", json_true());
		n->json = phx_json_text(j);
	}
	return n->json ? 0 : -ENOMEM;
}

int phx_news_of(const struct phx_store_event *ev, struct phx_news *ret, struct phx_err *err)
{
	PHX_AUTO_JSON json_t *event = json_loads(ev->event, 0, NULL);
	PHX_AUTO_JSON json_t *actions = json_loads(ev->actions, 0, NULL);
	int kind = kind_of(ev->kind);
	if (kind < 0 || !json_is_object(event) || !json_is_array(actions))
		return phx_err_set(err, -EBADMSG, "event %llu of the journal cannot be read",
				   (unsigned long long)ev->seq);
	PHX_AUTO_JSON json_t *notes = notes_of(actions);
	PHX_AUTO(phx_news_fini) struct phx_news n = {.seq = ev->seq, .time_ms = ev->time_ms};
	n.kind = (enum phx_event_kind)kind;
	n.asked = rows[kind].when == ASKED || (rows[kind].when == CAME && !json_array_size(notes));
	n.priority = phx_json_int(event, "result", 0) < 0 && rows[kind].priority > LOG_WARNING
		? LOG_WARNING
		: rows[kind].priority;
	PHX_STR_SET(n.by, phx_json_str(event, "by", ""));
	int r = notes ? put_names(ev, event, notes, &n) : -ENOMEM;
	r = r ? r : put_message(ev, event, notes, &n);
	r = r ? r : put_json(ev, event, notes, &n);
	if (r == 0) {
		*ret = n;
		n = (struct phx_news){0};
	}
	return r;
}
