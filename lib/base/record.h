/* Records: one table says what a struct holds; the journal, the snapshots, the API and the CLI's
 * JSON all follow from it. base/json.h writes and reads the JSON form. Pure: tables and memory.
 *
 * A record holds fixed-size character arrays, texts of any length (malloc'd), integers, booleans,
 * enums, embedded records, lists (struct phx_list) of records, unions of records and live objects
 * (struct phx_live). It owns nothing else, so freeing, copying and comparing are generic. */
#ifndef PHX_BASE_RECORD_H
#define PHX_BASE_RECORD_H

#include "base/util.h"

enum phx_field_type {
	PHX_F_STR,  /* char[size] */
	PHX_F_TEXT, /* char *, malloc'd, NULL = ""; at most PHX_TEXT_MAX bytes in JSON */
	PHX_F_U32,  /* uint32_t */
	PHX_F_U64,  /* uint64_t, at most INT64_MAX in JSON */
	PHX_F_I64,  /* int64_t */
	PHX_F_BOOL, /* bool */
	PHX_F_ENUM, /* int, by name in JSON */
	/* int; in JSON a boolean for each name but the first. Of several the last is read */
	PHX_F_ONEOF,
	PHX_F_REC,  /* embedded struct */
	PHX_F_LIST, /* struct phx_list of structs */
	/* union of structs, of which an enum of the record says the valid one; in JSON its members
	 * are members of the record itself */
	PHX_F_CASE,
	PHX_F_LIVE, /* pointer to an object with indexes of its own; NULL = none, null in JSON */
};

/** Longest text that is accepted from JSON. */
#define PHX_TEXT_MAX (128u << 10)

struct phx_record;
struct phx_cases;
struct phx_key;

struct phx_field {
	const char *name;
	enum phx_field_type type;
	size_t offset;
	size_t size;                     /* of the member */
	const struct phx_enum *names;    /* PHX_F_ENUM, PHX_F_ONEOF */
	const struct phx_record *record; /* PHX_F_REC, PHX_F_LIST */
	const struct phx_live *live;     /* PHX_F_LIVE */
	const struct phx_cases *cases;   /* PHX_F_CASE */
	/* its key in configuration files (base/key.h); NULL: none */
	const struct phx_key *key;
	/* its former name in older JSON; NULL: none */
	const char *was;
};

struct phx_record {
	size_t size;
	const struct phx_field *fields;
	size_t n_fields;
	/* Was the item of a list removed, though its place is kept? Such an item is neither written
	 * nor copied nor compared: another list without its place is the same list. NULL: no item
	 * of this record ever is */
	bool (*is_gone)(const void *item);
};

/** Which struct a union holds: the record at the index that is the enum's value. Only the last
 * member of a record may be a union: PHX_ROW_CASE(). In JSON, members of other cases than the one
 * that the enum says mean nothing and are skipped; a member that no case has is an error. */
struct phx_cases {
	size_t tag; /* offset of the enum (int) in the record; all its values have a case */
	const struct phx_record *const *records;
	size_t n;
};
/** The record of what the union `f` holds in `obj`; the first one if the enum's value has none. */
const struct phx_record *phx_case_of(const struct phx_field *f, const void *obj);

/** An object that for speed is more than a record: it is kept whole in memory, and copied, compared
 * and written as its image, a plain record. An object restored from an image must behave like the
 * one that was saved. */
struct phx_live {
	const struct phx_record *image;
	/** Deep copy of the contents of `live` (ret_image is zeroed memory of image->size).
	 * -ENOMEM: ret_image is zeroed again. */
	int (*save)(const void *live, void *ret_image);
	/** -EINVAL for an inconsistent image, -ENOMEM. */
	int (*restore)(const void *image, void **ret_live);
	void (*free)(void *live);
};

/* ---- the table of a record's fields ----
 *
 * A record is written down once, as a macro with a row for each member; the struct and the record
 * both come from it:
 *
 *	#define PHX_CAT_FIELDS(F, S) \
 *		F(S, name, STR(64)) \
 *		F(S, age_s, U32) \
 *		F(S, mood, ENUM(phx_mood)) \
 *		F(S, kittens, LIST(phx_kitten))
 *	PHX_RECORD_STRUCT(phx_cat, PHX_CAT_FIELDS);	in the header: its struct and its record
 *	PHX_RECORD_TABLE(phx_cat, PHX_CAT_FIELDS);	in one .c file
 *
 * The order of the rows is that of the members and of the JSON form. Kinds of members, and what
 * they are in C:
 *
 *	STR(n)		char[n]
 *	TEXT		char *, see PHX_F_TEXT
 *	U32 U64 I64	uint32_t, uint64_t, int64_t
 *	BOOL		bool
 *	ENUM(e)		int, of the names e_names
 *	ONEOF(e)	the same, but in JSON a boolean for each name: see PHX_F_ONEOF
 *	REC(r)		struct r, of the record r_record
 *	LIST(r)		struct phx_list of struct r, of the record r_record
 *	LIVE(t, l)	t *, an object of the struct phx_live `l`
 *
 * A row may have a fourth word: KEY(...), how configuration files have the member, see base/key.h;
 * WAS(name), its former name in JSON, which is still read; or AS(name), its name in JSON where that
 * is not the member's. */
#define PHX_TYPE_STR(n) __typeof__(char[n])
#define PHX_TYPE_TEXT __typeof__(char *)
#define PHX_TYPE_U32 uint32_t
#define PHX_TYPE_U64 uint64_t
#define PHX_TYPE_I64 int64_t
#define PHX_TYPE_BOOL bool
#define PHX_TYPE_ENUM(e) int
#define PHX_TYPE_ONEOF(e) int
#define PHX_TYPE_REC(r) struct r
#define PHX_TYPE_LIST(r) struct phx_list
#define PHX_TYPE_LIVE(t, l) __typeof__(t *)

#define PHX_KIND_STR(n) .type = PHX_F_STR
#define PHX_KIND_TEXT .type = PHX_F_TEXT
#define PHX_KIND_U32 .type = PHX_F_U32
#define PHX_KIND_U64 .type = PHX_F_U64
#define PHX_KIND_I64 .type = PHX_F_I64
#define PHX_KIND_BOOL .type = PHX_F_BOOL
#define PHX_KIND_ENUM(e) .type = PHX_F_ENUM, .names = &e##_names
#define PHX_KIND_ONEOF(e) .type = PHX_F_ONEOF, .names = &e##_names
#define PHX_KIND_REC(r) .type = PHX_F_REC, .record = &r##_record
#define PHX_KIND_LIST(r) .type = PHX_F_LIST, .record = &r##_record
#define PHX_KIND_LIVE(t, l) .type = PHX_F_LIVE, .live = &l

#define PHX_MEMBER_(S, m, type, ...) PHX_TYPE_##type m;
#define PHX_ROW_(S, m, kind, ...) \
	{.name = PHX_FIRST_(PHX_CALLED_##__VA_ARGS__ #m), \
	 .offset = offsetof(struct S, m), \
	 .size = sizeof(((struct S *)0)->m), \
	 PHX_KIND_##kind, \
	 PHX_HAS_##__VA_ARGS__},
#define PHX_HAS_
#define PHX_HAS_WAS(name_) .was = #name_
#define PHX_HAS_AS(name_)
#define PHX_CALLED_
#define PHX_CALLED_KEY(...)
#define PHX_CALLED_WAS(name_)
#define PHX_CALLED_AS(name_) #name_,
#define PHX_FIRST_(...) PHX_FIRST_OF_(__VA_ARGS__, )
#define PHX_FIRST_OF_(first, ...) first
/** The row of a union, which must be the last row; `m` is any of the union's members. */
#define PHX_ROW_CASE(S, m, cases_) \
	{.name = #m, .type = PHX_F_CASE, .offset = offsetof(struct S, m), .cases = &cases_},

/** The members alone, for a struct that has further ones. */
#define PHX_MEMBERS(tag, FIELDS) FIELDS(PHX_MEMBER_, tag)
/** Declares the struct and its record. */
#define PHX_RECORD_STRUCT(tag, FIELDS) \
	struct tag { \
		PHX_MEMBERS(tag, FIELDS) \
	}; \
	extern const struct phx_record tag##_record
/** Defines the record of a struct that PHX_RECORD_STRUCT() declared. What follows FIELDS sets
 * further members of the record: .is_gone = ... */
#define PHX_RECORD_TABLE(tag, FIELDS, ...) \
	static const struct phx_field tag##_fields[] = {FIELDS(PHX_ROW_, tag)}; \
	const struct phx_record tag##_record = {.size = sizeof(struct tag), \
						.fields = tag##_fields, \
						.n_fields = PHX_ARRAY_SIZE(tag##_fields), \
						__VA_ARGS__}
/** Copies the members of a table from one struct to another, which both have them: the table is a
 * part of theirs. A member that either lacks, or has as another type, does not compile, nor does
 * one that owns memory. Within a function. */
#define PHX_MEMBERS_COPY(FIELDS, to, from) \
	do { \
		FIELDS(PHX_MEMBER_COPY_, (to, from)) \
	} while (0)
#define PHX_MEMBER_COPY_(S, m, type, ...) \
	PHX_FLAT_##type _Static_assert( \
		__builtin_types_compatible_p(__typeof__(PHX_COPY_TO_ S->m), \
					     __typeof__(PHX_COPY_FROM_ S->m)), \
		#m ": two types"); \
	memcpy(&PHX_COPY_TO_ S->m, &PHX_COPY_FROM_ S->m, sizeof(PHX_COPY_TO_ S->m));
#define PHX_COPY_TO_(to, from) (to)
#define PHX_COPY_FROM_(to, from) (from)
/* the kinds of members that own no memory */
#define PHX_FLAT_STR(n)
#define PHX_FLAT_U32
#define PHX_FLAT_U64
#define PHX_FLAT_I64
#define PHX_FLAT_BOOL
#define PHX_FLAT_ENUM(e)

/** As PHX_RECORD_TABLE(), static to one file. The struct may declare its members by PHX_MEMBERS()
 * or by hand; in the latter case rows may name members of members, and `name` tells several tables
 * of one struct apart. */
#define PHX_RECORD_LOCAL(name, tag, FIELDS) \
	static const struct phx_field name##_fields[] = {FIELDS(PHX_ROW_, tag)}; \
	static const struct phx_record name##_record = {.size = sizeof(struct tag), \
							.fields = name##_fields, \
							.n_fields = PHX_ARRAY_SIZE(name##_fields)}

/** An item of a list of words of any length, such as those of a job. Free such lists by
 * phx_record_fini(), never by phx_list_fini() alone. */
#define PHX_TEXT_FIELDS(F, S) F(S, text, TEXT)
PHX_RECORD_STRUCT(phx_text, PHX_TEXT_FIELDS);
/** Append a copy of `text` to a list of struct phx_text; -ENOMEM: the list is as before. */
int phx_text_push(struct phx_list *l, const char *text);
/** A TEXT as a string, never NULL; borrowed. */
static inline const char *phx_text(const char *text)
{
	return text ? text : "";
}
/** Make a TEXT empty, and free it. */
static inline void phx_text_clear(char **text)
{
	free(*text);
	*text = NULL;
}
/** The text of item `i`, never NULL; borrowed. */
const char *phx_text_at(const struct phx_list *l, uint32_t i);

/** Free every list and text inside `obj` and zero it. Safe on a zeroed object. */
void phx_record_fini(const struct phx_record *rec, void *obj);

/** Deep copy of `src` into `ret_dst` (uninitialised memory is fine).
 * -ENOMEM leaves ret_dst zeroed. */
int phx_record_copy(const struct phx_record *rec, void *ret_dst, const void *src);

/** The first item of a list of `rec` from place *at on that is not gone (struct phx_record),
 * borrowed; *at becomes the place behind it. NULL: there is no further one. */
const void *phx_record_next(const struct phx_record *rec, const struct phx_list *l, uint32_t *at);

/** Same contents, field by field? False also if saving a live object failed for lack of memory. */
bool phx_record_equal(const struct phx_record *rec, const void *a, const void *b);

/** The image of a live object, malloc'd; freed by phx_live_image_free(). NULL on ENOMEM. */
void *phx_live_image(const struct phx_live *live, const void *object);
/** Frees an image of phx_live_image(). NULL is fine. */
void phx_live_image_free(const struct phx_live *live, void *image);

#endif
