/* The journal for auditors: searching it, and what the head knows about its integrity. A search
 * uses an index if there is one, looks at a limited number of events per request, by its own
 * connection, and says how far it got. The proof of integrity is phx journal verify, elsewhere:
 * whoever controls the head controls its answers. Called by way of routes.def. Changes nothing. */
#include "phxd/api_journal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/account.h"
#include "base/clock.h"
#include "phxd/parse.h"

enum {
	FOUND_MAX = 200,     /* in one answer */
	LOOKED_MAX = 20000,  /* events, in one request */
	PAGE = 500,          /* in one go */
	BYTES_MAX = 1 << 20, /* of events in one answer; one at least */
};

struct search {
	struct phx_store_reader *reader;
	struct phx_store_search of;
	char who[PHX_NAME_MAX], quoted[PHX_NAME_MAX + 2];
	json_t *rows;
	uint32_t limit, n_looked;
	size_t n_bytes;
	bool full;
};

static void search_fini(struct search *s)
{
	phx_store_reader_close(s->reader);
}

/* ---- what is found ---- */

/* Turns "uid:1000" into the present name of that user; "": there is none. */
static void name_of(const char *by, char ret[PHX_NAME_MAX])
{
	PHX_AUTO_FREE char *texts = NULL;
	struct passwd pw;
	uint64_t uid = 0;
	ret[0] = '\0';
	if (phx_str_starts(by, "uid:") &&
	    phx_u64_parse(by + strlen("uid:"), 0, UINT32_MAX - 1, &uid) == 0 &&
	    phx_user_numbered((uid_t)uid, &pw, &texts) == 0)
		phx_str_copy(ret, PHX_NAME_MAX, pw.pw_name);
}

static json_t *notes_of(const json_t *actions)
{
	json_t *notes = json_array(), *act;
	size_t i;
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

static bool fits(const struct search *s, const struct phx_store_event *ev, const json_t *event)
{
	if (s->of.kind && strcmp(s->of.kind, ev->kind) != 0)
		return false;
	if (s->of.who && strcmp(s->of.who, phx_json_str(event, "by", "")) != 0)
		return false;
	return !s->of.name || !strcmp(s->of.name, ev->node) || strstr(ev->event, s->quoted) ||
		strstr(ev->actions, s->quoted);
}

static int add(void *arg, const struct phx_store_event *ev)
{
	struct search *s = arg;
	PHX_AUTO_JSON json_t *event = json_loads(ev->event, 0, NULL);
	s->n_looked++;
	s->of.before = ev->seq;
	if (!fits(s, ev, event))
		return 0;
	PHX_AUTO_JSON json_t *actions = json_loads(ev->actions, 0, NULL);
	char person[PHX_NAME_MAX];
	int kind = 0;
	const char *by = phx_json_str(event, "by", "");
	name_of(by, person);
	phx_enum_parse(&phx_event_kind_names, ev->kind, &kind, NULL);
	json_t *j = json_pack("{s:I,s:I,s:s,s:s,s:s,s:s,s:s,s:O,s:o}", "seq", (json_int_t)ev->seq,
			      "time_ms", (json_int_t)ev->time_ms, "kind", ev->kind, "text",
			      phx_event_text((enum phx_event_kind)kind), "node", ev->node, "by", by,
			      "person", person, "event", event ? event : json_null(), "notes",
			      notes_of(actions));
	if (!j || json_array_append_new(s->rows, j))
		return -ENOMEM;
	s->n_bytes += strlen(ev->event);
	s->full = json_array_size(s->rows) >= s->limit || s->n_bytes >= BYTES_MAX;
	return s->full; /* ends the walk */
}

/* *ret_more: there may be more to find. */
static int look(struct search *s, bool *ret_more, struct phx_err *err)
{
	*ret_more = true;
	while (!s->full && s->n_looked < LOOKED_MAX) {
		uint32_t before = s->n_looked;
		int64_t began_us = phx_clock_us();
		int r = phx_store_search(s->reader, &s->of, add, s, err);
		if (r < 0)
			return r;
		if (r == 0 && s->n_looked - before < PAGE) {
			*ret_more = false;
			return 0;
		}
		reads_breathe(began_us);
	}
	return 0;
}

/* ---- what is asked ---- */

/* A user of the head is given by name, others as events name them ("provider:campus", "phxd"). */
static void set_who(const char *who, char ret[PHX_NAME_MAX])
{
	struct person_login login;
	if (person_login(who, &login))
		snprintf(ret, PHX_NAME_MAX, "uid:%u", (unsigned)login.uid);
	else
		phx_str_copy(ret, PHX_NAME_MAX, who);
}

static const char *given(const struct phx_http_request *q, const char *name)
{
	const char *text = phx_http_query(q, name);
	return text && *text ? text : NULL;
}

/* -EINVAL with a text that says what is allowed. */
static int set_words(const struct phx_http_request *q, struct search *s, struct phx_err *err)
{
	const char *who = given(q, "who");
	int kind;
	s->of.name = given(q, "name");
	s->of.kind = given(q, "kind");
	if (s->of.name && !phx_name_valid(s->of.name))
		return phx_err_set(err, -EINVAL, "name: it is that of a node or an RE");
	if (who && strlen(who) >= PHX_NAME_MAX)
		return phx_err_set(err, -EINVAL, "who: nobody has so long a name");
	snprintf(s->quoted, sizeof(s->quoted), "\"%s\"", s->of.name ? s->of.name : "");
	if (who) {
		set_who(who, s->who);
		s->of.who = s->who;
	}
	return s->of.kind ? phx_enum_parse(&phx_event_kind_names, s->of.kind, &kind, err) : 0;
}

static int set_times(struct search *s, uint64_t from_ms, uint64_t until_ms, struct phx_err *err)
{
	uint64_t first = 0, end = 0;
	int r = from_ms ? phx_store_search_time(s->reader, (int64_t)from_ms, &first, err) : 0;
	if (r == 0 && until_ms)
		r = phx_store_search_time(s->reader, (int64_t)until_ms, &end, err);
	s->of.after = first ? first - 1 : 0;
	if (until_ms && (!s->of.before || end < s->of.before))
		s->of.before = end;
	return r;
}

/* False after answering. */
static bool begin(struct daemon *d, struct phx_http_request *q, struct search *s)
{
	struct phx_err err = {0};
	uint64_t from_ms, until_ms, limit;
	if (!parse_query_number(q, "from", INT64_MAX, 0, &from_ms) ||
	    !parse_query_number(q, "until", INT64_MAX, 0, &until_ms) ||
	    !parse_query_number(q, "before", INT64_MAX, 0, &s->of.before) ||
	    !parse_query_number(q, "limit", FOUND_MAX, 50, &limit))
		return false;
	s->limit = limit ? (uint32_t)limit : 1;
	s->of.limit = PAGE;
	int r = set_words(q, s, &err);
	r = r ? r : phx_store_reader_open(d->cfg.journal, &s->reader, &err);
	r = r ? r : set_times(s, from_ms, until_ms, &err);
	if (r < 0)
		phx_http_reply_error(q, r, err.text);
	return r == 0;
}

void api_journal(struct phx_http_request *q, void *arg)
{
	PHX_AUTO(search_fini) struct search s = {0};
	PHX_AUTO_JSON json_t *rows = json_array();
	struct phx_err err = {0};
	bool more;
	s.rows = rows;
	if (!begin(arg, q, &s))
		return;
	int r = look(&s, &more, &err);
	if (r < 0) {
		phx_http_reply_error(q, r, err.text);
		return;
	}
	PHX_AUTO_JSON json_t *j = json_pack("{s:O,s:I,s:b}", "events", rows, "before",
					    (json_int_t)s.of.before, "more", more);
	phx_http_reply_json(q, 200, j);
}

/* ---- its state ---- */

void api_journal_state(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct phx_store *store = engine_store(d->engine);
	struct phx_err err = {0};
	uint64_t first = 0, uncovered = 0, verified = engine_verified(d->engine, &uncovered);
	int64_t first_ms = 0;
	json_t *kinds = json_array();
	int r = phx_store_first(store, &first, &first_ms, &err);
	if (r < 0) {
		json_decref(kinds);
		phx_http_reply_error(q, r, err.text);
		return;
	}
	for (int i = 0; i < phx_event_kind_names.n_names; i++)
		json_array_append_new(kinds, json_string(phx_event_kind_names.names[i]));
	PHX_AUTO_JSON json_t *j = json_pack(
		"{s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:s,s:o}", "journal", phx_store_id(store), "first",
		(json_int_t)first, "first_ms", (json_int_t)first_ms, "last",
		(json_int_t)phx_store_last(store), "verified", (json_int_t)verified, "verified_ms",
		(json_int_t)d->started_ms, "uncovered", (json_int_t)uncovered, "site_key",
		phx_pki_site_pub_pem(d->pki), "kinds", kinds);
	phx_http_reply_json(q, 200, j);
}
