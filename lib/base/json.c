/* Records to JSON and back: see json.h. Called by the journal, the API, the
 * agent and the CLI; does no I/O. */
#include "base/json.h"

#include <errno.h>
#include <string.h>

#include "base/json_scan.h"

enum { FIELDS_MAX = 128 }; /* of a record that is read */

/* Where in the document an error is: "disks[1].size_bytes". */
struct path {
	const struct path *up;
	const char *name; /* NULL for a list index */
	uint32_t index;
};

/* ---- records to text ---- */

/* What a writer leaves out. */
struct style {
	bool sparse;
	bool in_lists;                    /* also in lists */
	const struct phx_json_less *less; /* NULL: nothing */
};

static void put_integer(struct phx_buf *b, int64_t value)
{
	char digits[24], *at = digits + sizeof(digits);
	uint64_t v = value < 0 ? -(uint64_t)value : (uint64_t)value;
	do
		*--at = (char)('0' + v % 10);
	while (v /= 10);
	if (value < 0)
		*--at = '-';
	phx_buf_add(b, at, (size_t)(digits + sizeof(digits) - at));
}

static void put_word(struct phx_buf *b, const char *word)
{
	phx_buf_add(b, word, strlen(word));
}

static void put_record(struct phx_buf *b, const struct phx_record *rec, const void *obj,
		       struct style style);

static void put_list(struct phx_buf *b, const struct phx_record *rec, const struct phx_list *l,
		     struct style style)
{
	phx_buf_add(b, "[", 1);
	uint32_t at = 0, n = 0;
	for (const void *item; (item = phx_record_next(rec, l, &at));) {
		phx_buf_add(b, ",", n++ > 0);
		put_record(b, rec, item, style);
	}
	phx_buf_add(b, "]", 1);
}

static void put_live(struct phx_buf *b, const struct phx_live *live, void *const *object,
		     struct style style)
{
	if (!*object) {
		put_word(b, "null");
		return;
	}
	void *image = phx_live_image(live, *object);
	b->failed = b->failed || !image;
	if (image)
		put_record(b, live->image, image, style);
	phx_live_image_free(live, image);
}

static void put_value(struct phx_buf *b, const struct phx_field *f, const void *at,
		      struct style style)
{
	struct style whole = style.in_lists ? style : (struct style){.less = style.less};
	switch (f->type) {
	case PHX_F_STR:
		phx_json_put_text(b, at);
		return;
	case PHX_F_TEXT:
		phx_json_put_text(b, *(char *const *)at ? *(char *const *)at : "");
		return;
	case PHX_F_U32:
		put_integer(b, *(const uint32_t *)at);
		return;
	case PHX_F_U64:
		put_integer(b, (int64_t)(*(const uint64_t *)at & INT64_MAX));
		return;
	case PHX_F_I64:
		put_integer(b, *(const int64_t *)at);
		return;
	case PHX_F_BOOL:
		put_word(b, *(const bool *)at ? "true" : "false");
		return;
	case PHX_F_ENUM:
		phx_json_put_text(b, phx_enum_name(f->names, *(const int *)at));
		return;
	case PHX_F_REC:
		put_record(b, f->record, at, style);
		return;
	case PHX_F_LIST:
		put_list(b, f->record, at, whole);
		return;
	case PHX_F_LIVE:
		put_live(b, f->live, at, whole);
		return;
	case PHX_F_ONEOF: /* put_field() and put_fields() write these: they have no name */
	case PHX_F_CASE:
		return;
	}
}

static bool is_zero(const char *at, size_t n)
{
	return !n || (!at[0] && !memcmp(at, at + 1, n - 1));
}

/* Is the field not zero, empty or false? A record that is not all zero may still turn out to be
 * empty when it is written. With `less`, enums are always written, since readers without the table
 * of fields do not know which name is the default. */
static bool worth_writing(const struct phx_field *f, const void *at, struct style style)
{
	switch (f->type) {
	case PHX_F_STR:
		return *(const char *)at;
	case PHX_F_TEXT:
		return *(char *const *)at && **(char *const *)at;
	case PHX_F_U32:
		return *(const uint32_t *)at;
	case PHX_F_U64:
		return *(const uint64_t *)at & INT64_MAX;
	case PHX_F_I64:
		return *(const int64_t *)at;
	case PHX_F_BOOL:
		return *(const bool *)at;
	case PHX_F_ENUM:
		return style.less || *(const int *)at;
	case PHX_F_ONEOF:
		return *(const int *)at;
	case PHX_F_LIST:
		return phx_record_next(f->record, at, &(uint32_t){0});
	case PHX_F_LIVE:
		return *(void *const *)at;
	case PHX_F_REC:
		return style.less || !is_zero(at, f->size);
	case PHX_F_CASE:
		return true;
	}
	return true;
}

static bool is_left_out(const struct phx_json_less *less, const struct phx_field *f)
{
	for (size_t i = 0; less && i < less->n; i++)
		if (less->fields[i] == f)
			return true;
	return false;
}

void phx_json_put_member(struct phx_buf *b, const char *name)
{
	bool first = !b->n || b->data[b->n - 1] == '{';
	size_t n = strlen(name), before = first ? 1 : 2;
	char *to = phx_buf_extend(b, before + n + 2);
	if (!to)
		return;
	memcpy(to, first ? "\"" : ",\"", before);
	memcpy(to + before, name, n);
	memcpy(to + before + n, "\":", 2);
}

/* Its members in JSON; those that are false are left out if `sparse`. */
static void put_oneof(struct phx_buf *b, const struct phx_field *f, int value, bool sparse)
{
	for (int i = 1; i < f->names->n_names; i++) {
		if (sparse && i != value)
			continue;
		phx_json_put_member(b, f->names->names[i]);
		put_word(b, i == value ? "true" : "false");
	}
}

static void put_field(struct phx_buf *b, const struct phx_field *f, const void *obj,
		      struct style style)
{
	const void *at = (const char *)obj + f->offset;
	if (is_left_out(style.less, f) || (style.sparse && !worth_writing(f, at, style)))
		return;
	if (f->type == PHX_F_ONEOF) {
		put_oneof(b, f, *(const int *)at, style.sparse);
		return;
	}
	size_t before = b->n;
	phx_json_put_member(b, f->name);
	size_t value = b->n;
	put_value(b, f, at, style);
	if (style.sparse && f->type == PHX_F_REC && b->n == value + strlen("{}"))
		b->n = before;
}

static void put_fields(struct phx_buf *b, const struct phx_record *rec, const void *obj,
		       struct style style)
{
	for (size_t i = 0; i < rec->n_fields; i++) {
		const struct phx_field *f = &rec->fields[i];
		if (f->type == PHX_F_CASE)
			put_fields(b, phx_case_of(f, obj), (const char *)obj + f->offset, style);
		else
			put_field(b, f, obj, style);
	}
}

static void put_record(struct phx_buf *b, const struct phx_record *rec, const void *obj,
		       struct style style)
{
	phx_buf_add(b, "{", 1);
	put_fields(b, rec, obj, style);
	phx_buf_add(b, "}", 1);
}

void phx_json_put_field(struct phx_buf *b, const struct phx_field *f, const void *obj,
			const struct phx_json_less *less)
{
	put_field(b, f, obj, (struct style){.sparse = less && less->empty, .less = less});
}

char *phx_json_record_text(const struct phx_record *rec, const void *obj)
{
	struct phx_buf b = {0};
	put_record(&b, rec, obj, (struct style){0});
	return phx_buf_take(&b);
}

char *phx_json_record_text_sparse(const struct phx_record *rec, const void *obj)
{
	struct phx_buf b = {0};
	put_record(&b, rec, obj, (struct style){.sparse = true});
	return phx_buf_take(&b);
}

char *phx_json_record_text_least(const struct phx_record *rec, const void *obj)
{
	struct phx_buf b = {0};
	put_record(&b, rec, obj, (struct style){.sparse = true, .in_lists = true});
	return phx_buf_take(&b);
}

char *phx_json_list_text(const struct phx_record *rec, const struct phx_list *list)
{
	struct phx_buf b = {0};
	put_list(&b, rec, list, (struct style){.sparse = true});
	return phx_buf_take(&b);
}

json_t *phx_json_from_record(const struct phx_record *rec, const void *obj)
{
	PHX_AUTO_FREE char *text = phx_json_record_text(rec, obj);
	return text ? json_loads(text, 0, NULL) : NULL;
}

json_t *phx_json_from_list(const struct phx_record *rec, const struct phx_list *list)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	put_list(&b, rec, list, (struct style){0});
	return b.failed ? NULL : json_loads(b.data, 0, NULL);
}

/* ---- text to records ---- */

struct reader {
	struct phx_scan s;
	struct phx_err *err;
	bool message; /* of a program of another version */
};

static void path_text(const struct path *p, struct phx_buf *b)
{
	if (!p)
		return;
	path_text(p->up, b);
	if (p->name)
		phx_buf_addf(b, "%s%s", b->n ? "." : "", p->name);
	else
		phx_buf_addf(b, "[%u]", p->index);
}

static int bad(const struct path *p, struct phx_err *err, const char *want)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	path_text(p, &b);
	return phx_err_set(err, -EINVAL, "%s: %s", b.data ? b.data : "document", want);
}

/* 0, or the error that stopped the scan. */
static int scanned(const struct reader *r)
{
	return r->s.want ? phx_err_set(r->err, -EINVAL, "JSON, byte %zu: %s",
				       (size_t)(r->s.at - r->s.text), r->s.want)
			 : 0;
}

static int read_record(struct reader *r, const struct phx_record *rec, void *obj,
		       const struct path *up);

static int read_list(struct reader *r, const struct phx_record *rec, struct phx_list *l,
		     const struct path *p)
{
	if (phx_scan_peek(&r->s) != '[')
		return bad(p, r->err, "must be a list");
	for (bool began = false; phx_scan_item(&r->s, &began);) {
		struct path here = {p, NULL, l->n};
		void *item = phx_list_push(l, rec->size);
		int code = item ? read_record(r, rec, item, &here) : -ENOMEM;
		if (code < 0)
			return code;
	}
	return scanned(r);
}

static int read_integer(struct reader *r, const struct phx_field *f, void *at, const struct path *p)
{
	int64_t v = 0;
	char c = phx_scan_peek(&r->s);
	bool whole = (c == '-' || (c >= '0' && c <= '9')) && phx_scan_integer(&r->s, &v) == 0;
	if (!whole)
		return r->s.want ? scanned(r) : bad(p, r->err, "must be a whole number");
	if (f->type != PHX_F_I64 && v < 0)
		return bad(p, r->err, "must not be negative");
	if (f->type == PHX_F_U32 && v > UINT32_MAX)
		return bad(p, r->err, "is too large");
	if (f->type == PHX_F_U32)
		*(uint32_t *)at = (uint32_t)v;
	else
		*(int64_t *)at = v;
	return 0;
}

static int read_string(struct reader *r, char *dst, size_t size, const struct path *p)
{
	if (phx_scan_peek(&r->s) != '"')
		return bad(p, r->err, "must be a string");
	int64_t n = phx_scan_string(&r->s, dst, size);
	if (n < 0)
		return scanned(r);
	return (size_t)n < size ? 0 : bad(p, r->err, "is too long");
}

static int read_text(struct reader *r, char **at, const struct path *p)
{
	struct phx_scan ahead = r->s;
	int64_t n = phx_scan_string(&ahead, NULL, 0);
	free(PHX_TAKE(*at));
	if (n > PHX_TEXT_MAX)
		return bad(p, r->err, "is too long");
	*at = n > 0 ? malloc((size_t)n + 1) : NULL;
	if (n > 0 && !*at)
		return -ENOMEM;
	return read_string(r, *at ? *at : (char[1]){""}, (size_t)(n > 0 ? n : 0) + 1, p);
}

static int read_bool(struct reader *r, bool *at, const struct path *p)
{
	char c = phx_scan_peek(&r->s);
	if (c != 't' && c != 'f')
		return bad(p, r->err, "must be true or false");
	phx_scan_word(&r->s, c == 't' ? "true" : "false");
	*at = c == 't';
	return scanned(r);
}

static bool is_called(const char *field, const char *name, size_t n)
{
	return field && !strncmp(field, name, n) && !field[n];
}

/* The value of a PHX_F_ONEOF for which a member of this name stands; 0: none. */
static int oneof_value(const struct phx_field *f, const char *name, size_t n)
{
	int value = f->names->n_names;
	while (--value > 0 && !is_called(f->names->names[value], name, n))
		;
	return value;
}

static int read_oneof(struct reader *r, const struct phx_field *f, int *at, const struct path *p)
{
	bool is = false;
	int code = read_bool(r, &is, p), value = oneof_value(f, p->name, strlen(p->name));
	if (code == 0 && is && value > *at)
		*at = value;
	return code;
}

static int read_enum(struct reader *r, const struct phx_enum *names, int *at, const struct path *p)
{
	struct phx_err why = {0};
	char name[PHX_SCAN_NAME_MAX];
	bool text = phx_scan_peek(&r->s) == '"';
	if (text && phx_scan_string(&r->s, name, sizeof(name)) < 0)
		return scanned(r);
	return phx_enum_parse(names, text ? name : NULL, at, &why) < 0 ? bad(p, r->err, why.text)
								       : 0;
}

static int read_live(struct reader *r, const struct phx_live *live, void **object,
		     const struct path *p)
{
	if (phx_scan_peek(&r->s) == 'n') {
		phx_scan_word(&r->s, "null");
		return scanned(r);
	}
	PHX_AUTO_FREE void *image = calloc(1, live->image->size);
	if (!image)
		return -ENOMEM;
	int code = read_record(r, live->image, image, p);
	if (code == 0) {
		code = live->restore(image, object);
		if (code == -EINVAL)
			bad(p, r->err, "contradicts itself");
	}
	phx_record_fini(live->image, image);
	return code;
}

static int read_field(struct reader *r, const struct phx_field *f, void *at, const struct path *p)
{
	switch (f->type) {
	case PHX_F_STR:
		return read_string(r, at, f->size, p);
	case PHX_F_TEXT:
		return read_text(r, at, p);
	case PHX_F_U32:
	case PHX_F_U64:
	case PHX_F_I64:
		return read_integer(r, f, at, p);
	case PHX_F_BOOL:
		return read_bool(r, at, p);
	case PHX_F_ENUM:
		return read_enum(r, f->names, at, p);
	case PHX_F_ONEOF:
		return read_oneof(r, f, at, p);
	case PHX_F_REC:
		return read_record(r, f->record, at, p);
	case PHX_F_LIST:
		return read_list(r, f->record, at, p);
	case PHX_F_LIVE:
		return read_live(r, f->live, at, p);
	case PHX_F_CASE: /* it has no name */
		break;
	}
	return -EINVAL;
}

static bool has_name(const struct phx_field *f, const char *name, size_t n)
{
	if (f->type == PHX_F_ONEOF)
		return oneof_value(f, name, n) > 0;
	return f->type != PHX_F_CASE && (is_called(f->name, name, n) || is_called(f->was, name, n));
}

/* Index of the field `name`, rec->n_fields if there is none. The search begins at `from`, since
 * writers follow the table's order. */
static size_t find_field(const struct phx_record *rec, size_t from, const char *name, size_t n)
{
	for (size_t k = 0; k < rec->n_fields; k++) {
		size_t i = from + k < rec->n_fields ? from + k : from + k - rec->n_fields;
		if (has_name(&rec->fields[i], name, n))
			return i;
	}
	return rec->n_fields;
}

int phx_json_less_add(struct phx_json_less *less, const struct phx_record *rec, const char *path)
{
	size_t n = strcspn(path, "."), i = find_field(rec, 0, path, n);
	const struct phx_field *f = i < rec->n_fields ? &rec->fields[i] : NULL;
	if (!f || (path[n] && !f->record) || less->n == PHX_ARRAY_SIZE(less->fields))
		return -EINVAL;
	if (path[n])
		return phx_json_less_add(less, f->record, path + n + 1);
	less->fields[less->n++] = f;
	return 0;
}

static const struct phx_field *cases_of(const struct phx_record *rec)
{
	const struct phx_field *last = rec->n_fields ? &rec->fields[rec->n_fields - 1] : NULL;
	return last && last->type == PHX_F_CASE ? last : NULL;
}

/* Is `name` a member of the record, or of any case of its union? */
static bool is_known(const struct phx_record *rec, const char *name)
{
	const struct phx_field *cases = cases_of(rec);
	size_t n = strlen(name);
	bool found = find_field(rec, 0, name, n) < rec->n_fields;
	for (size_t i = 0; !found && cases && i < cases->cases->n; i++) {
		const struct phx_record *one = cases->cases->records[i];
		found = find_field(one, 0, name, n) < one->n_fields;
	}
	return found;
}

/* Reads the members of `rec`. Unknown ones are skipped if `later` (they may belong to the union,
 * which is read later), if they are known to `whole`, the record with the union, and in a message,
 * whose own members are as unknown where they are null. */
static int read_members(struct reader *r, const struct phx_record *rec,
			const struct phx_record *whole, bool later, void *obj,
			const struct path *up)
{
	char name[PHX_SCAN_NAME_MAX];
	uint64_t seen[FIELDS_MAX / 64] = {0};
	size_t next = 0;
	if (rec->n_fields > FIELDS_MAX)
		return -E2BIG;
	for (bool began = false; phx_scan_member(&r->s, &began, name);) {
		struct path here = {up, name, 0};
		size_t i = find_field(rec, next, name, strlen(name));
		bool skips = r->message;
		bool none = r->message && !up && phx_scan_peek(&r->s) == 'n';
		bool found = i < rec->n_fields && !none;
		if (!found && !later && !skips && !(whole && is_known(whole, name)))
			return bad(&here, r->err, "is not known here");
		if (found && seen[i / 64] >> i % 64 & 1 && rec->fields[i].type != PHX_F_ONEOF)
			return bad(&here, r->err, "is there twice");
		const struct phx_field *f = &rec->fields[i];
		int code = found ? read_field(r, f, (char *)obj + f->offset, &here)
				 : phx_scan_skip(&r->s);
		if (code < 0)
			return found ? code : scanned(r);
		if (found) {
			seen[i / 64] |= 1ull << i % 64;
			next = i + 1;
		}
	}
	return scanned(r);
}

/* Reads an object; if it has a union, twice: the second time the enum is known that says which case
 * the union holds. */
static int read_record(struct reader *r, const struct phx_record *rec, void *obj,
		       const struct path *up)
{
	if (phx_scan_peek(&r->s) != '{')
		return bad(up, r->err, "must be an object");
	const struct phx_field *cases = cases_of(rec);
	struct phx_scan again = r->s;
	int code = read_members(r, rec, NULL, cases, obj, up);
	if (code < 0 || !cases)
		return code;
	r->s = again;
	return read_members(r, phx_case_of(cases, obj), rec, false, (char *)obj + cases->offset,
			    up);
}

static int read_whole(struct reader *r, const struct phx_record *rec, void *ret_obj)
{
	memset(ret_obj, 0, rec->size);
	int code = read_record(r, rec, ret_obj, NULL);
	if (code == 0 && !phx_scan_end(&r->s))
		code = scanned(r);
	if (code < 0)
		phx_record_fini(rec, ret_obj);
	return code;
}

int phx_json_text_to_record(const struct phx_record *rec, const char *text, void *ret_obj,
			    struct phx_err *err)
{
	struct reader r = {.s = phx_scan_of(text), .err = err};
	return read_whole(&r, rec, ret_obj);
}

static int tree_to_record(const struct phx_record *rec, const json_t *j, bool message,
			  void *ret_obj, struct phx_err *err)
{
	PHX_AUTO_FREE char *text = j ? phx_json_text(j) : strdup("null");
	struct reader r = {.s = phx_scan_of(text), .err = err, .message = message};
	memset(ret_obj, 0, rec->size);
	return text ? read_whole(&r, rec, ret_obj) : -ENOMEM;
}

int phx_json_to_record(const struct phx_record *rec, const json_t *j, void *ret_obj,
		       struct phx_err *err)
{
	return tree_to_record(rec, j, false, ret_obj, err);
}

int phx_json_to_message(const struct phx_record *rec, const json_t *j, void *ret_obj,
			struct phx_err *err)
{
	return tree_to_record(rec, j, true, ret_obj, err);
}
