/* Records: one table that says what a struct holds, from which the journal,
 * the snapshots, the API and the CLI's JSON all come. Pure: tables and memory.
 * The JSON form is written and read by base/json.h.
 *
 * A record holds fixed-size character arrays, integers, booleans, enums,
 * embedded records and lists (struct phx_list) of records. Nothing else is
 * owned, so that freeing, copying and comparing are generic. */
#ifndef PHX_BASE_RECORD_H
#define PHX_BASE_RECORD_H

#include "base/util.h"

enum phx_field_type {
	PHX_F_STR,  /* char[size] */
	PHX_F_U32,  /* uint32_t */
	PHX_F_U64,  /* uint64_t, at most INT64_MAX in JSON */
	PHX_F_I64,  /* int64_t */
	PHX_F_BOOL, /* bool */
	PHX_F_ENUM, /* int, by name in JSON */
	PHX_F_REC,  /* embedded struct */
	PHX_F_LIST, /* struct phx_list of structs */
};

struct phx_record;

struct phx_field {
	const char *name;
	enum phx_field_type type;
	size_t offset;
	size_t size; /* of the member */
	const struct phx_enum *names;   /* PHX_F_ENUM */
	const struct phx_record *record; /* PHX_F_REC, PHX_F_LIST */
};

struct phx_record {
	const char *name;
	size_t size;
	const struct phx_field *fields;
	size_t n_fields;
};

#define PHX_FIELD_(type_, s, m, names_, rec_) \
	{ #m, type_, offsetof(s, m), sizeof(((s *)0)->m), names_, rec_ }
#define PHX_STR(s, m) PHX_FIELD_(PHX_F_STR, s, m, NULL, NULL)
#define PHX_U32(s, m) PHX_FIELD_(PHX_F_U32, s, m, NULL, NULL)
#define PHX_U64(s, m) PHX_FIELD_(PHX_F_U64, s, m, NULL, NULL)
#define PHX_I64(s, m) PHX_FIELD_(PHX_F_I64, s, m, NULL, NULL)
#define PHX_BOOL(s, m) PHX_FIELD_(PHX_F_BOOL, s, m, NULL, NULL)
#define PHX_ENUM(s, m, names) PHX_FIELD_(PHX_F_ENUM, s, m, names, NULL)
#define PHX_REC(s, m, rec) PHX_FIELD_(PHX_F_REC, s, m, NULL, rec)
#define PHX_LIST(s, m, rec) PHX_FIELD_(PHX_F_LIST, s, m, NULL, rec)
#define PHX_RECORD(name_, s, fields_) { name_, sizeof(s), fields_, PHX_ARRAY_SIZE(fields_) }

/** Free every list inside `obj` and zero it. Safe on a zeroed object. */
void phx_record_fini(const struct phx_record *rec, void *obj);

/** Deep copy of `src` into `ret_dst` (uninitialised memory is fine).
 * -ENOMEM leaves ret_dst zeroed. */
int phx_record_copy(const struct phx_record *rec, void *ret_dst, const void *src);

/** Same contents, field by field. */
bool phx_record_equal(const struct phx_record *rec, const void *a, const void *b);

#endif
