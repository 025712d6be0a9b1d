/* Records to JSON and back: see json.h. Called by the journal, the API, the
 * agent and the CLI; does no I/O. */
#include "base/json.h"

#include <errno.h>
#include <string.h>

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
	bool in_lists;                    /* there, too */
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
	for (uint32_t i = 0; i < l->n; i++) {
		phx_buf_add(b, ",", i > 0);
		put_record(b, rec, (const char *)l->items + (size_t)i * rec->size, style);
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
	case PHX_F_CASE: /* it has no name: put_fields() */
		return;
	}
}

/* A number that is not 0, a list or text that is not empty, true. Whether a record is, is seen when
 * it is written. Who reads without the table of fields does not know the first word of an enum. */
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
	case PHX_F_LIST:
		return ((const struct phx_list *)at)->n;
	case PHX_F_LIVE:
		return *(void *const *)at;
	case PHX_F_REC:
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
	phx_buf_add(b, ",", !first);
	phx_buf_add(b, "\"", 1);
	put_word(b, name);
	phx_buf_add(b, "\":", 2);
}

static void put_field(struct phx_buf *b, const struct phx_field *f, const void *obj,
		      struct style style)
{
	const void *at = (const char *)obj + f->offset;
	if (is_left_out(style.less, f) || (style.sparse && !worth_writing(f, at, style)))
		return;
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

/* ---- text to records ---- */

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

static int record_from_json(const struct phx_record *rec, const json_t *j, void *obj,
			    const struct path *up, struct phx_err *err);

static int list_from_json(const struct phx_record *rec, const json_t *j, struct phx_list *l,
			  const struct path *p, struct phx_err *err)
{
	if (!json_is_array(j))
		return bad(p, err, "must be a list");
	for (size_t i = 0; i < json_array_size(j); i++) {
		struct path here = {p, NULL, l->n};
		void *item = phx_list_push(l, rec->size);
		if (!item)
			return -ENOMEM;
		int r = record_from_json(rec, json_array_get(j, i), item, &here, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int integer_from_json(const struct phx_field *f, const json_t *j, void *at,
			     const struct path *p, struct phx_err *err)
{
	if (!json_is_integer(j))
		return bad(p, err, "must be a whole number");
	json_int_t v = json_integer_value(j);
	if (f->type != PHX_F_I64 && v < 0)
		return bad(p, err, "must not be negative");
	if (f->type == PHX_F_U32 && v > UINT32_MAX)
		return bad(p, err, "is too large");
	if (f->type == PHX_F_U32)
		*(uint32_t *)at = (uint32_t)v;
	else
		*(int64_t *)at = v;
	return 0;
}

static int string_from_json(const struct phx_field *f, const json_t *j, void *at,
			    const struct path *p, struct phx_err *err)
{
	if (!json_is_string(j))
		return bad(p, err, "must be a string");
	if (phx_str_copy(at, f->size, json_string_value(j)) < 0)
		return bad(p, err, "is too long");
	return 0;
}

static int text_from_json(const json_t *j, char **at, const struct path *p, struct phx_err *err)
{
	if (!json_is_string(j))
		return bad(p, err, "must be a string");
	if (json_string_length(j) > PHX_TEXT_MAX)
		return bad(p, err, "is too long");
	free(*at);
	*at = json_string_length(j) ? strdup(json_string_value(j)) : NULL;
	return json_string_length(j) && !*at ? -ENOMEM : 0;
}

static int enum_from_json(const struct phx_field *f, const json_t *j, void *at,
			  const struct path *p, struct phx_err *err)
{
	struct phx_err why = {0};
	if (phx_enum_parse(f->names, json_string_value(j), at, &why) < 0)
		return bad(p, err, why.text);
	return 0;
}

static int live_from_json(const struct phx_live *live, const json_t *j, void **object,
			  const struct path *p, struct phx_err *err)
{
	if (json_is_null(j))
		return 0;
	PHX_AUTO_FREE void *image = calloc(1, live->image->size);
	if (!image)
		return -ENOMEM;
	int r = record_from_json(live->image, j, image, p, err);
	if (r == 0) {
		r = live->restore(image, object);
		if (r == -EINVAL)
			bad(p, err, "contradicts itself");
	}
	phx_record_fini(live->image, image);
	return r;
}

static int field_from_json(const struct phx_field *f, const json_t *j, void *at,
			   const struct path *p, struct phx_err *err)
{
	switch (f->type) {
	case PHX_F_STR:
		return string_from_json(f, j, at, p, err);
	case PHX_F_TEXT:
		return text_from_json(j, at, p, err);
	case PHX_F_U32:
	case PHX_F_U64:
	case PHX_F_I64:
		return integer_from_json(f, j, at, p, err);
	case PHX_F_BOOL:
		if (!json_is_boolean(j))
			return bad(p, err, "must be true or false");
		*(bool *)at = json_is_true(j);
		return 0;
	case PHX_F_ENUM:
		return enum_from_json(f, j, at, p, err);
	case PHX_F_REC:
		return record_from_json(f->record, j, at, p, err);
	case PHX_F_LIST:
		return list_from_json(f->record, j, at, p, err);
	case PHX_F_LIVE:
		return live_from_json(f->live, j, at, p, err);
	case PHX_F_CASE: /* it has no name */
		break;
	}
	return -EINVAL;
}

static bool is_called(const char *field, const char *name, size_t n)
{
	return field && strlen(field) == n && !memcmp(field, name, n);
}

static const struct phx_field *find_field(const struct phx_record *rec, const char *name, size_t n)
{
	for (size_t i = 0; i < rec->n_fields; i++)
		if (rec->fields[i].type != PHX_F_CASE &&
		    (is_called(rec->fields[i].name, name, n) ||
		     is_called(rec->fields[i].was, name, n)))
			return &rec->fields[i];
	return NULL;
}

int phx_json_less_add(struct phx_json_less *less, const struct phx_record *rec, const char *path)
{
	size_t n = strcspn(path, ".");
	const struct phx_field *f = find_field(rec, path, n);
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

/* A member of the record, or of any case of its union. */
static bool is_known(const struct phx_record *rec, const char *name)
{
	const struct phx_field *cases = cases_of(rec);
	bool found = find_field(rec, name, strlen(name));
	for (size_t i = 0; !found && cases && i < cases->cases->n; i++)
		found = find_field(cases->cases->records[i], name, strlen(name));
	return found;
}

/* Members of `rec`; others are let pass if `later`, or if they are of the union's record
 * `whole`. */
static int members_from_json(const struct phx_record *rec, const struct phx_record *whole,
			     bool later, const json_t *j, void *obj, const struct path *up,
			     struct phx_err *err)
{
	const char *key;
	json_t *value;
	json_object_foreach((json_t *)j, key, value) {
		struct path here = {up, key, 0};
		const struct phx_field *f = find_field(rec, key, strlen(key));
		if (!f && !later && !(whole && is_known(whole, key)))
			return bad(&here, err, "is not known here");
		int r = f ? field_from_json(f, value, (char *)obj + f->offset, &here, err) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

/* What a union holds is read when the enum is known that says so. */
static int record_from_json(const struct phx_record *rec, const json_t *j, void *obj,
			    const struct path *up, struct phx_err *err)
{
	if (!json_is_object(j))
		return bad(up, err, "must be an object");
	const struct phx_field *cases = cases_of(rec);
	int r = members_from_json(rec, NULL, cases, j, obj, up, err);
	if (r == 0 && cases)
		r = members_from_json(phx_case_of(cases, obj), rec, false, j,
				      (char *)obj + cases->offset, up, err);
	return r;
}

int phx_json_to_record(const struct phx_record *rec, const json_t *j, void *ret_obj,
		       struct phx_err *err)
{
	memset(ret_obj, 0, rec->size);
	int r = record_from_json(rec, j, ret_obj, NULL, err);
	if (r < 0)
		phx_record_fini(rec, ret_obj);
	return r;
}

/* ---- a large record, part by part: the tree of one part is there at a time ---- */

struct parts {
	const char *text, *at, *end;
	const struct phx_record *rec;
	uint64_t seen; /* bit i: field i was there */
	struct phx_err *err;
};

static bool take(struct parts *p, char c)
{
	while (p->at < p->end && strchr(" \t\r\n", *p->at))
		p->at++;
	if (p->at == p->end || *p->at != c)
		return false;
	p->at++;
	return true;
}

static int malformed(const struct parts *p, const char *want)
{
	return phx_err_set(p->err, -EINVAL, "JSON, byte %zu: %s", (size_t)(p->at - p->text), want);
}

/* One value, whatever it is. */
static int take_part(struct parts *p, json_t **ret)
{
	json_error_t why;
	size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK;
	*ret = json_loadb(p->at, (size_t)(p->end - p->at), flags, &why);
	if (!*ret)
		return malformed(p, why.text);
	p->at += why.position;
	return 0;
}

static int take_items(struct parts *p, const struct phx_field *f, struct phx_list *l,
		      const struct path *path)
{
	if (take(p, ']'))
		return 0;
	do {
		PHX_AUTO_JSON json_t *item = NULL, *one = json_array();
		int r = take_part(p, &item);
		r = r ? r
			: json_array_append(one, item)
			? -ENOMEM
			: list_from_json(f->record, one, l, path, p->err);
		if (r < 0)
			return r;
	} while (take(p, ','));
	return take(p, ']') ? 0 : malformed(p, "',' or ']' is expected");
}

static int take_member(struct parts *p, void *obj)
{
	PHX_AUTO_JSON json_t *key = NULL, *value = NULL;
	int r = take_part(p, &key);
	if (r < 0)
		return r;
	if (!json_is_string(key) || !take(p, ':'))
		return malformed(p, "a member is expected");
	struct path path = {NULL, json_string_value(key), 0};
	const struct phx_field *f = find_field(p->rec, path.name, strlen(path.name));
	if (!f)
		return bad(&path, p->err, "is not known here");
	uint64_t bit = 1ULL << (f - p->rec->fields);
	if (p->seen & bit)
		return bad(&path, p->err, "is there twice");
	p->seen |= bit;
	void *at = (char *)obj + f->offset;
	if (f->type == PHX_F_LIST && take(p, '['))
		return take_items(p, f, at, &path);
	r = take_part(p, &value);
	return r ? r : field_from_json(f, value, at, &path, p->err);
}

static int take_members(struct parts *p, void *obj)
{
	if (!take(p, '{'))
		return malformed(p, "an object is expected");
	if (!take(p, '}')) {
		do {
			int r = take_member(p, obj);
			if (r < 0)
				return r;
		} while (take(p, ','));
		if (!take(p, '}'))
			return malformed(p, "',' or '}' is expected");
	}
	take(p, '\0'); /* blanks */
	return p->at == p->end ? 0 : malformed(p, "the end is expected");
}

int phx_json_text_to_record(const struct phx_record *rec, const char *text, void *ret_obj,
			    struct phx_err *err)
{
	struct parts p = {
		.text = text, .at = text, .end = text + strlen(text), .rec = rec, .err = err};
	memset(ret_obj, 0, rec->size);
	int r = rec->n_fields > 64 ? -E2BIG : take_members(&p, ret_obj);
	if (r < 0)
		phx_record_fini(rec, ret_obj);
	return r;
}
