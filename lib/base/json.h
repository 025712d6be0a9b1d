/* Records to JSON and back (jansson). Used by the journal, the API, the agent
 * and the CLI. A driver: pure rooms do not include it. */
#ifndef PHX_BASE_JSON_H
#define PHX_BASE_JSON_H

#include <jansson.h>

#include "base/record.h"

/** The JSON object of `obj` as compact text, malloc'd: every field, in table order. NULL on ENOMEM.
 * Bytes of a string that are not valid UTF-8 become '?', since fixed arrays may hold truncated
 * texts. */
char *phx_json_record_text(const struct phx_record *rec, const void *obj);

/** As phx_json_record_text(), without fields that are zero, empty or false (but records in lists
 * keep all fields): for the journal, whose events use few of their fields. Parses back to the same
 * record. */
char *phx_json_record_text_sparse(const struct phx_record *rec, const void *obj);

/** As phx_json_record_text_sparse(), but sparse in lists, too: for snapshots, which consist mostly
 * of lists of records that are mostly zero. */
char *phx_json_record_text_least(const struct phx_record *rec, const void *obj);

/** A list of records as JSON text, each sparse: the form in which the journal keeps the actions of
 * an event. malloc'd, NULL on ENOMEM. */
char *phx_json_list_text(const struct phx_record *rec, const struct phx_list *list);

/** What phx_json_record_text() gives, as an object: a new reference, NULL on ENOMEM. */
json_t *phx_json_from_record(const struct phx_record *rec, const void *obj);
/** The array of a list of records, likewise. */
json_t *phx_json_from_list(const struct phx_record *rec, const struct phx_list *list);

/** Fields that are not written, wherever they occur. Zero-initialise. */
struct phx_json_less {
	const struct phx_field *fields[64];
	size_t n;
	/* also leave out what is 0, false or empty, except in lists; enums are always written */
	bool empty;
};
/** Adds the field at `path` ("facts.disks.serial") below `rec`. -EINVAL: there is no such field, or
 * there are too many. */
int phx_json_less_add(struct phx_json_less *less, const struct phx_record *rec, const char *path);

/** Appends `"name":` to the object that is being written, after a comma unless it is the first
 * member. */
void phx_json_put_member(struct phx_buf *b, const char *name);
/** Appends a comma, unless the next item is the first of the list that is being written. */
void phx_json_put_item(struct phx_buf *b);
/** Appends a value as compact text. Sets b->failed if `j` is NULL or memory is lacking. */
void phx_json_put_tree(struct phx_buf *b, const json_t *j);
/** Appends a quoted string; invalid UTF-8 is replaced as in phx_json_record_text(). */
void phx_json_put_text(struct phx_buf *b, const char *text);
/** Appends field `f` of `obj` as a member, without the fields in `less` (may be NULL). */
void phx_json_put_field(struct phx_buf *b, const struct phx_field *f, const void *obj,
			const struct phx_json_less *less);

/** Fill `ret_obj` (zeroed first) from `j`. Absent fields stay zero, unknown
 * keys, wrong types, over-long strings and unknown enum names are -EINVAL with
 * a text that names the path ("disks[1].size_bytes: ..."); ret_obj is then
 * zero. The caller owns ret_obj: phx_record_fini(). */
int phx_json_to_record(const struct phx_record *rec, const json_t *j, void *ret_obj,
		       struct phx_err *err);

/** The same of a message of another program, which may be newer or older than this one: members
 * that their records do not have are skipped at any depth, and null is as no member. What is known
 * is read as strictly as above. For what is told: what orders something is read by the above. */
int phx_json_to_message(const struct phx_record *rec, const json_t *j, void *ret_obj,
			struct phx_err *err);

/** As phx_json_to_record(), from text, which is parsed in place, so memory is needed for the record
 * alone. Duplicate keys and trailing text are errors, too. */
int phx_json_text_to_record(const struct phx_record *rec, const char *text, void *ret_obj,
			    struct phx_err *err);

/** Limits of a text from an untrusted writer: a parsed tree may take a hundred times the memory of
 * its text. */
struct phx_json_shape {
	unsigned depth;      /* how deep objects and lists are nested */
	unsigned containers; /* objects and lists */
	unsigned values;     /* of all kinds; 0: any number */
};
/** Checks such a text before it is parsed: -EINVAL if it is nested deeper than `max` says, -E2BIG
 * if it has more objects and lists, or more values. Does not check that it is valid JSON. */
int phx_json_check_shape(const char *text, size_t n, const struct phx_json_shape *max,
			 struct phx_err *err);
/** Parses text of `n` bytes; duplicate keys and trailing text are errors (-EINVAL with line and
 * column). The caller owns the reference. */
int phx_json_parse(const char *text, size_t n, json_t **ret_json, struct phx_err *err);
/** The same for answers of phxd. They may contain measurements exactly as a node sent them, and a
 * key that a node wrote twice must not make the whole answer unreadable: the last one counts. */
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
