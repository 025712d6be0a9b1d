/* Records to JSON and back: see json.h. Called by the journal, the API, the
 * agent and the CLI; does no I/O. */
#include "base/json.h"
#include "base/utf8.h"

#include <errno.h>
#include <string.h>

/* Where in the document an error is: "disks[1].size_bytes". */
struct path {
	const struct path *up;
	const char *name; /* NULL for a list index */
	uint32_t index;
};

static json_t *list_to_json(const struct phx_record *rec, const struct phx_list *l)
{
	json_t *a = json_array();
	for (uint32_t i = 0; a && i < l->n; i++) {
		json_t *item = phx_json_from_record(rec, (const char *)l->items + (size_t)i * rec->size);
		if (!item || json_array_append_new(a, item)) {
			json_decref(a);
			return NULL;
		}
	}
	return a;
}

/* A text that was cut within a character must not keep the state from being written. */
static json_t *text_to_json(const char *text)
{
	json_t *j = json_string(text);
	PHX_AUTO_FREE char *copy = j ? NULL : strdup(text);
	if (!copy)
		return j;
	phx_utf8_repair(copy);
	return json_string(copy);
}

static json_t *live_to_json(const struct phx_live *live, void *const *object)
{
	if (!*object)
		return json_null();
	void *image = phx_live_image(live, *object);
	json_t *j = image ? phx_json_from_record(live->image, image) : NULL;
	phx_live_image_free(live, image);
	return j;
}

static json_t *field_to_json(const struct phx_field *f, const void *at)
{
	switch (f->type) {
	case PHX_F_STR:
		return text_to_json(at);
	case PHX_F_TEXT:
		return text_to_json(*(char *const *)at ? *(char *const *)at : "");
	case PHX_F_U32:
		return json_integer(*(const uint32_t *)at);
	case PHX_F_U64:
		return json_integer((json_int_t)(*(const uint64_t *)at & INT64_MAX));
	case PHX_F_I64:
		return json_integer(*(const int64_t *)at);
	case PHX_F_BOOL:
		return json_boolean(*(const bool *)at);
	case PHX_F_ENUM:
		return json_string(phx_enum_name(f->names, *(const int *)at));
	case PHX_F_REC:
		return phx_json_from_record(f->record, at);
	case PHX_F_LIST:
		return list_to_json(f->record, at);
	case PHX_F_LIVE:
		return live_to_json(f->live, at);
	}
	return NULL;
}

json_t *phx_json_from_record(const struct phx_record *rec, const void *obj)
{
	json_t *j = json_object();
	for (size_t i = 0; j && i < rec->n_fields; i++) {
		const struct phx_field *f = &rec->fields[i];
		json_t *v = field_to_json(f, (const char *)obj + f->offset);
		if (!v || json_object_set_new(j, f->name, v)) {
			json_decref(j);
			return NULL;
		}
	}
	return j;
}

/* A number that is not 0, a list or object or text that is not empty, true. */
static bool worth_writing(const struct phx_field *f, const void *at, const json_t *v)
{
	if (f->type == PHX_F_ENUM)
		return *(const int *)at != 0;
	if (json_is_string(v))
		return json_string_length(v) > 0;
	if (json_is_object(v))
		return json_object_size(v) > 0;
	if (json_is_array(v))
		return json_array_size(v) > 0;
	return json_is_integer(v) ? json_integer_value(v) != 0 : json_is_true(v);
}

json_t *phx_json_from_record_sparse(const struct phx_record *rec, const void *obj)
{
	json_t *j = json_object();
	for (size_t i = 0; j && i < rec->n_fields; i++) {
		const struct phx_field *f = &rec->fields[i];
		const void *at = (const char *)obj + f->offset;
		json_t *v = f->type == PHX_F_REC ? phx_json_from_record_sparse(f->record, at) : field_to_json(f, at);
		if (!v || (worth_writing(f, at, v) && json_object_set(j, f->name, v))) {
			json_decref(v);
			json_decref(j);
			return NULL;
		}
		json_decref(v);
	}
	return j;
}

char *phx_json_list_text(const struct phx_record *rec, const struct phx_list *list)
{
	PHX_AUTO_JSON json_t *all = json_array();
	for (uint32_t i = 0; i < list->n; i++)
		if (json_array_append_new(all, phx_json_from_record_sparse(rec, (const char *)list->items + i * rec->size)))
			return NULL;
	return phx_json_text(all);
}

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
	PHX_AUTO(phx_buf_fini) struct phx_buf b = { 0 };
	path_text(p, &b);
	return phx_err_set(err, -EINVAL, "%s: %s", b.data ? b.data : "document", want);
}

static int record_from_json(const struct phx_record *rec, const json_t *j, void *obj, const struct path *up,
			    struct phx_err *err);

static int list_from_json(const struct phx_record *rec, const json_t *j, struct phx_list *l, const struct path *p,
			  struct phx_err *err)
{
	if (!json_is_array(j))
		return bad(p, err, "must be a list");
	for (size_t i = 0; i < json_array_size(j); i++) {
		struct path here = { p, NULL, (uint32_t)i };
		void *item = phx_list_push(l, rec->size);
		if (!item)
			return -ENOMEM;
		int r = record_from_json(rec, json_array_get(j, i), item, &here, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int integer_from_json(const struct phx_field *f, const json_t *j, void *at, const struct path *p,
			     struct phx_err *err)
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

static int string_from_json(const struct phx_field *f, const json_t *j, void *at, const struct path *p,
			    struct phx_err *err)
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

static int enum_from_json(const struct phx_field *f, const json_t *j, void *at, const struct path *p,
			  struct phx_err *err)
{
	struct phx_err why = { 0 };
	if (phx_enum_parse(f->names, json_string_value(j), at, &why) < 0)
		return bad(p, err, why.text);
	return 0;
}

static int live_from_json(const struct phx_live *live, const json_t *j, void **object, const struct path *p,
			  struct phx_err *err)
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

static int field_from_json(const struct phx_field *f, const json_t *j, void *at, const struct path *p,
			   struct phx_err *err)
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
	}
	return -EINVAL;
}

static const struct phx_field *find_field(const struct phx_record *rec, const char *name)
{
	for (size_t i = 0; i < rec->n_fields; i++)
		if (!strcmp(rec->fields[i].name, name))
			return &rec->fields[i];
	return NULL;
}

static int record_from_json(const struct phx_record *rec, const json_t *j, void *obj, const struct path *up,
			    struct phx_err *err)
{
	if (!json_is_object(j))
		return bad(up, err, "must be an object");
	const char *key;
	json_t *value;
	json_object_foreach((json_t *)j, key, value)
	{
		struct path here = { up, key, 0 };
		const struct phx_field *f = find_field(rec, key);
		if (!f)
			return bad(&here, err, "is not known here");
		int r = field_from_json(f, value, (char *)obj + f->offset, &here, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int phx_json_to_record(const struct phx_record *rec, const json_t *j, void *ret_obj, struct phx_err *err)
{
	memset(ret_obj, 0, rec->size);
	int r = record_from_json(rec, j, ret_obj, NULL, err);
	if (r < 0)
		phx_record_fini(rec, ret_obj);
	return r;
}

int phx_json_check_shape(const char *text, size_t n, unsigned depth_max, unsigned containers_max, struct phx_err *err)
{
	unsigned depth = 0, n_containers = 0;
	bool quoted = false;
	for (size_t i = 0; i < n; i++) {
		char c = text[i];
		if (quoted && c == '\\')
			i++;
		else if (c == '"')
			quoted = !quoted;
		else if (!quoted && (c == '{' || c == '[')) {
			n_containers++;
			if (++depth > depth_max)
				return phx_err_set(err, -EINVAL, "JSON: nested deeper than %u", depth_max);
			if (n_containers > containers_max)
				return phx_err_set(err, -E2BIG, "JSON: more than %u objects and lists", containers_max);
		} else if (!quoted && depth && (c == '}' || c == ']'))
			depth--;
	}
	return 0;
}

int phx_json_parse(const char *text, size_t n, json_t **ret_json, struct phx_err *err)
{
	json_error_t why;
	json_t *j = json_loadb(text, n, JSON_REJECT_DUPLICATES, &why);
	if (!j)
		return phx_err_set(err, -EINVAL, "JSON line %d, column %d: %s", why.line, why.column, why.text);
	*ret_json = j;
	return 0;
}

char *phx_json_text(const json_t *j)
{
	return json_dumps(j, JSON_COMPACT | JSON_ENCODE_ANY);
}

const char *phx_json_str(const json_t *j, const char *key, const char *fallback)
{
	const char *s = json_string_value(json_object_get(j, key));
	return s ? s : fallback;
}

int64_t phx_json_int(const json_t *j, const char *key, int64_t fallback)
{
	const json_t *v = json_object_get(j, key);
	return json_is_integer(v) ? json_integer_value(v) : fallback;
}

bool phx_json_bool(const json_t *j, const char *key, bool fallback)
{
	const json_t *v = json_object_get(j, key);
	return json_is_boolean(v) ? json_is_true(v) : fallback;
}

void phx_json_unref(json_t **j)
{
	json_decref(*j);
}
