/* News: an event of the journal as it leaves the head, to the system's log, to programs of
 * event_dir and to webhooks. What may leave, and how urgent it is, is one table (news.def). Texts
 * in it were partly written by nodes and services: no control character of theirs gets into a
 * message, and no line of theirs into another field. Whoever is told is the administrator, or whom
 * he chose: nothing is left out. */
#ifndef PHX_OUTLET_NEWS_H
#define PHX_OUTLET_NEWS_H

#include "state/event.h"
#include "store/store.h"

enum {
	PHX_NEWS_MESSAGE_MAX = 2048,
	PHX_NEWS_NAMES_MAX = 16,        /* of nodes, and of REs, in the log's fields */
	PHX_NEWS_JSON_MAX = 256 * 1024, /* of what a program or a webhook gets */
	PHX_NEWS_KINDS_MAX = 32,        /* of one outlet's `kinds` */
	PHX_NEWS_FIELDS_MAX = 12 + 2 * PHX_NEWS_NAMES_MAX,
};

struct phx_news {
	uint64_t seq;
	int64_t time_ms;
	enum phx_event_kind kind;
	bool asked;   /* only for outlets whose kinds name it */
	int priority; /* as of syslog(3) */
	char by[PHX_IDENTITY_MAX];
	char message[PHX_NEWS_MESSAGE_MAX];
	struct phx_list nodes, res; /* struct phx_word: whom it is about, the event's own first */
	/* one line: {seq, time_ms, kind, priority, text, node, re, by, notes: [{node, re, text}],
	 * event}; where that is too long, without notes and event, and with cut: true */
	char *json;
};
/** Safe twice, and on a zeroed one. */
void phx_news_fini(struct phx_news *n);

/** Is a row of the journal of this kind news for anybody? Looks at its kind and at whether
 * anything came of it; parses nothing. `asked`: by kind, which of those that must be asked for
 * somebody asks for. */
bool phx_news_may_be(const struct phx_store_event *ev, const bool asked[PHX_EV_COUNT_]);

/** The news of a row. -ENOMEM; -EBADMSG: it is no row of a journal. */
int phx_news_of(const struct phx_store_event *ev, struct phx_news *ret, struct phx_err *err);

/** Does an outlet with these `kinds` (struct phx_word; none: all but those to be asked for) get
 * it? */
bool phx_news_wanted(const struct phx_news *n, const struct phx_list *kinds);

/** Sets the kinds that must be asked for and that `kinds` name. */
void phx_news_ask(const struct phx_list *kinds, bool asked[PHX_EV_COUNT_]);

/** The MESSAGE_ID of a kind: 32 hexadecimal digits. */
const char *phx_news_id(enum phx_event_kind kind);

/** The fields of the system's log, "NAME=value" each (struct phx_text, the caller's). Names are
 * fixed; a value is whatever stands behind the first '=', and has no control character. -ENOMEM. */
int phx_news_fields(const struct phx_news *n, struct phx_list *ret);
/** Frees them. */
void phx_news_fields_fini(struct phx_list *fields);

/** Is standard error this process's connection to the system's log (JOURNAL_STREAM)? */
bool phx_news_log_is_there(void);
/** Writes it to the system's log. A negative errno: the log does not take it just now. */
int phx_news_log(const struct phx_news *n);

#endif
