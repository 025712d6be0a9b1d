/* Records to JSON and back (jansson). Used by the journal, the API, the agent
 * and the CLI. A driver: pure rooms do not include it. */
#ifndef PHX_BASE_JSON_H
#define PHX_BASE_JSON_H

#include <jansson.h>

#include "base/record.h"

/** The JSON object of `obj` as compact text, malloc'd: every field, in table order. NULL on ENOMEM.
 * Bytes of a string that are not valid UTF-8 become '?': fixed arrays hold texts that were cut. */
char *phx_json_record_text(const struct phx_record *rec, const void *obj);

/** As phx_json_record_text(), leaving out what is zero, empty or false (but in lists all is kept):
 * for the journal, whose events use few of their fields. Reads back to the same record. */
char *phx_json_record_text_sparse(const struct phx_record *rec, const void *obj);

/** The same in lists, too: for snapshots, of which most is lists of records that are mostly
 * zero. */
char *phx_json_record_text_least(const struct phx_record *rec, const void *obj);

/** A list of records as text, each sparse: as the journal keeps the actions of an event. malloc'd,
 * NULL on ENOMEM. */
char *phx_json_list_text(const struct phx_record *rec, const struct phx_list *list);

/** What phx_json_record_text() gives, as an object: a new reference, NULL on ENOMEM. */
json_t *phx_json_from_record(const struct phx_record *rec, const void *obj);
/** The same of a list of records: an array. */
json_t *phx_json_from_list(const struct phx_record *rec, const struct phx_list *list);

/** Fields that are not written, wherever they occur. Zero-initialise. */
struct phx_json_less {
	const struct phx_field *fields[24];
	size_t n;
	/* nor what is 0, false or empty; but in lists all is written, and the words of enums always
	 * are */
	bool empty;
};
/** Add the field at `path` ("facts.disks.serial") below `rec`. -EINVAL: there is none, or there are
 * too many. */
int phx_json_less_add(struct phx_json_less *less, const struct phx_record *rec, const char *path);

/** Append `"name":` to an object that is being written, and a comma before it where it is not the
 * first member. */
void phx_json_put_member(struct phx_buf *b, const char *name);
/** Append a comma, where this is not the first item of a list that is being written. */
void phx_json_put_item(struct phx_buf *b);
/** Append a value as compact text; NULL, or lack of memory: b->failed. */
void phx_json_put_tree(struct phx_buf *b, const json_t *j);
/** Append a string, quoted; as phx_json_record_text() for what is not UTF-8. */
void phx_json_put_text(struct phx_buf *b, const char *text);
/** Append the member that field `f` of `obj` is, without what `less` (may be NULL) names. */
void phx_json_put_field(struct phx_buf *b, const struct phx_field *f, const void *obj,
			const struct phx_json_less *less);

/** Fill `ret_obj` (zeroed first) from `j`. Absent fields stay zero, unknown
 * keys, wrong types, over-long strings and unknown enum names are -EINVAL with
 * a text that names the path ("disks[1].size_bytes: ..."); ret_obj is then
 * zero. The caller owns ret_obj: phx_record_fini(). */
int phx_json_to_record(const struct phx_record *rec, const json_t *j, void *ret_obj,
		       struct phx_err *err);

/** The same of a text, which is taken apart in place: memory is needed for the record alone.
 * Duplicate keys and trailing text are errors, too. */
int phx_json_text_to_record(const struct phx_record *rec, const char *text, void *ret_obj,
			    struct phx_err *err);

/** The most that a text which somebody else wrote may hold: what is made of two of its bytes takes
 * a hundred times as much memory. */
struct phx_json_shape {
	unsigned depth;      /* how deep objects and lists are nested */
	unsigned containers; /* objects and lists */
	unsigned values;     /* of all kinds; 0: any number */
};
/** Before such a text is parsed: -EINVAL when it is nested deeper than `max` says, -E2BIG when it
 * has more objects and lists, or more values. Whether it is JSON is not looked at. */
int phx_json_check_shape(const char *text, size_t n, const struct phx_json_shape *max,
			 struct phx_err *err);
/** Parse text of at most `n` bytes; duplicate keys and trailing text are
 * errors (-EINVAL with line and column). Caller owns the reference. */
int phx_json_parse(const char *text, size_t n, json_t **ret_json, struct phx_err *err);
/** The same of what phxd answers. It passes on what nodes measure as they said it: a node that says
 * a member twice must not cost the reader the others, so the last of the two counts. */
int phx_json_parse_answer(const char *text, size_t n, json_t **ret_json, struct phx_err *err);

/** Compact text, malloc'd, keys in insertion order. NULL on ENOMEM. */
char *phx_json_text(const json_t *j);

/** String member, or `fallback` when absent or not a string. Borrowed. */
const char *phx_json_str(const json_t *j, const char *key, const char *fallback);
/** Integer member, or `fallback`. */
int64_t phx_json_int(const json_t *j, const char *key, int64_t fallback);
/** Boolean member, or `fallback`. */
bool phx_json_bool(const json_t *j, const char *key, bool fallback);

void phx_json_unref(json_t **j);
/** json_t variable released at scope exit. */
#define PHX_AUTO_JSON PHX_AUTO(phx_json_unref)

#endif
