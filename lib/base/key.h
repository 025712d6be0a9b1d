/* Keys of configuration files. A row of a record's table (base/record.h) may say how people write
 * its member; the reader (config/conf.h), the default, the text that is shown and the manual all
 * come from that row. Pure.
 *
 *	F(S, port, U32, KEY(port, NUMBER(1, 65535), "80", "Where it listens."))
 *
 * describes the member `port`: in files the key `port`, a number within these bounds, 80 if the
 * file does not have the key. The default is written as in a file; PHX_REQUIRED: there is none, and
 * a file without the key is refused; "": the member stays as it is. The last text is for the
 * manual. */
#ifndef PHX_BASE_KEY_H
#define PHX_BASE_KEY_H

#include "base/record.h"

/** How a value is written, and the kind of its member. */
enum phx_key_form {
	PHX_KEY_TEXT,     /* STR: one printable line of min to max bytes; max 0: what fits */
	PHX_KEY_NAME,     /* STR: phx_name_valid() */
	PHX_KEY_IDENTITY, /* STR: phx_identity_parse(), with a kind or without */
	PHX_KEY_PATH,     /* STR: an absolute path of min to max bytes */
	/* STR: the same, or a path that begins with {config_dir}/, {state_dir}/ or {run_dir}/ */
	PHX_KEY_PLACE,
	PHX_KEY_ADDRESS,  /* STR: an IPv4 address, or "" */
	PHX_KEY_PEER,     /* STR: ADDRESS:PORT */
	PHX_KEY_RANGE,    /* REC(phx_ip_range): "FIRST,LAST" or "FIRST-LAST", or "" */
	PHX_KEY_NUMBER,   /* U32, from min to max */
	PHX_KEY_BOUND,    /* U32, from 1 to max, or none: 0 */
	PHX_KEY_TIME,     /* U32: seconds from min to max, 30 or "30s", "5m" */
	PHX_KEY_SPAN,     /* U32, I64: milliseconds, written as seconds (0.25 too) or "15m" */
	PHX_KEY_FRACTION, /* U32, U64: thousandths, written as 1.25 */
	PHX_KEY_SIZE,     /* U64: bytes, 5000 or "5 GiB" */
	PHX_KEY_YES,      /* BOOL: true or false */
	PHX_KEY_CHOICE,   /* ENUM: one of its names */
	PHX_KEY_WORDS,    /* LIST(phx_word): [ "a", "b" ], at most max; 0: any number */
	/* REC(r): { ... } with the keys of its record. Default "{}": its defaults, otherwise all
	 * zero */
	PHX_KEY_GROUP,
	PHX_KEY_OTHER, /* a key with a reader of its own */
};
#define PHX_FORM_TEXT(min_, max_) .form = PHX_KEY_TEXT, .min = min_, .max = max_
#define PHX_FORM_LINE .form = PHX_KEY_TEXT
#define PHX_FORM_NAME .form = PHX_KEY_NAME
#define PHX_FORM_IDENTITY .form = PHX_KEY_IDENTITY
#define PHX_FORM_PATH(min_, max_) .form = PHX_KEY_PATH, .min = min_, .max = max_
#define PHX_FORM_PLACE(min_, max_) .form = PHX_KEY_PLACE, .min = min_, .max = max_
#define PHX_FORM_ADDRESS .form = PHX_KEY_ADDRESS
#define PHX_FORM_PEER .form = PHX_KEY_PEER
#define PHX_FORM_RANGE .form = PHX_KEY_RANGE
#define PHX_FORM_NUMBER(min_, max_, ...) \
	.form = PHX_KEY_NUMBER, .min = min_, .max = max_, .unit = "" __VA_ARGS__
#define PHX_FORM_COUNT .form = PHX_KEY_NUMBER, .max = UINT32_MAX
#define PHX_FORM_BOUND(max_) .form = PHX_KEY_BOUND, .min = 1, .max = max_
#define PHX_FORM_TIME(min_, max_) .form = PHX_KEY_TIME, .min = min_, .max = max_
#define PHX_FORM_SPAN .form = PHX_KEY_SPAN
#define PHX_FORM_FRACTION .form = PHX_KEY_FRACTION
#define PHX_FORM_SIZE .form = PHX_KEY_SIZE
#define PHX_FORM_YES .form = PHX_KEY_YES
#define PHX_FORM_CHOICE .form = PHX_KEY_CHOICE
#define PHX_FORM_WORDS(max_) .form = PHX_KEY_WORDS, .max = max_
#define PHX_FORM_GROUP .form = PHX_KEY_GROUP
#define PHX_FORM_OTHER .form = PHX_KEY_OTHER

struct phx_key {
	const char *name;
	enum phx_key_form form;
	uint32_t min, max;
	const char *unit;     /* of a number, or NULL or "" */
	const char *fallback; /* the default as in a file; NULL = the key must be there */
	const char *prose;    /* for the manual: whole sentences */
};
#define PHX_REQUIRED NULL

/* PHX_ROW_() expands the fourth word of a row to this */
#define PHX_HAS_KEY(name_, form_, fallback_, prose_) \
	.key = &(const struct phx_key) \
	{ \
		.name = #name_, PHX_FORM_##form_, .fallback = fallback_, .prose = prose_ \
	}

/** A word of an argument vector, a service name, a path. */
#define PHX_WORD_FIELDS(F, S) F(S, text, STR(256))
PHX_RECORD_STRUCT(phx_word, PHX_WORD_FIELDS);

/** First and last IPv4 address, both inclusive; empty strings = none. */
#define PHX_IP_RANGE_FIELDS(F, S) \
	F(S, first, STR(46)) \
	F(S, last, STR(46))
PHX_RECORD_STRUCT(phx_ip_range, PHX_IP_RANGE_FIELDS);

/** The row of a key; NULL when the record has none such. */
const struct phx_field *phx_key_find(const struct phx_record *rec, const char *name);

/** Parses `text` into the member of a row that has a key. Not for WORDS, GROUP and OTHER, which
 * take no text but "". -EINVAL, -ENAMETOOLONG: `err` says what would be right, to follow the value
 * in a sentence: "must be true or false". */
int phx_key_parse(const struct phx_field *f, const char *text, void *member, struct phx_err *err);

/** Puts thousandths into the member of a row of the form SPAN or FRACTION; errors as
 * phx_key_parse(). */
int phx_key_put_milli(const struct phx_field *f, uint64_t milli, void *member, struct phx_err *err);

/** Formats the member as phx_key_parse() takes it, truncated to `size`; WORDS are separated by
 * blanks, a GROUP is "". */
void phx_key_format(const struct phx_field *f, const void *member, char *buf, size_t size);

/** Sets the member to the default of its row, unless that is "" or required. -EINVAL: the table is
 * wrong. */
int phx_key_default(const struct phx_field *f, void *member, struct phx_err *err);

/** Sets all members of `obj` to their defaults. */
int phx_key_defaults(const struct phx_record *rec, void *obj, struct phx_err *err);

#endif
