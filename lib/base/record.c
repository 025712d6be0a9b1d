/* Generic free, copy and compare of records: see record.h. Pure. */
#include "base/record.h"

#include <errno.h>
#include <string.h>

PHX_RECORD_TABLE(phx_text, PHX_TEXT_FIELDS);

int phx_text_push(struct phx_list *l, const char *text)
{
	char *copy = strdup(text);
	struct phx_text *t = copy ? phx_list_push(l, sizeof(*t)) : NULL;
	if (!t) {
		free(copy);
		return -ENOMEM;
	}
	t->text = copy;
	return 0;
}

const char *phx_text_at(const struct phx_list *l, uint32_t i)
{
	return phx_text(PHX_LIST_AT(l, struct phx_text, i)->text);
}

static void *member(const struct phx_field *f, void *obj)
{
	return (char *)obj + f->offset;
}

static const void *member_const(const struct phx_field *f, const void *obj)
{
	return (const char *)obj + f->offset;
}

const struct phx_record *phx_case_of(const struct phx_field *f, const void *obj)
{
	int tag = *(const int *)((const char *)obj + f->cases->tag);
	return f->cases->records[tag > 0 && (size_t)tag < f->cases->n ? tag : 0];
}

static void list_fini(const struct phx_record *rec, struct phx_list *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		phx_record_fini(rec, (char *)l->items + (size_t)i * rec->size);
	phx_list_fini(l);
}

void *phx_live_image(const struct phx_live *live, const void *object)
{
	void *image = calloc(1, live->image->size);
	if (image && live->save(object, image) < 0) {
		free(image);
		return NULL;
	}
	return image;
}

void phx_live_image_free(const struct phx_live *live, void *image)
{
	if (image)
		phx_record_fini(live->image, image);
	free(image);
}

static void live_fini(const struct phx_live *live, void **object)
{
	if (*object)
		live->free(*object);
	*object = NULL;
}

static int live_copy(const struct phx_live *live, void **dst, void *const *src)
{
	if (!*src)
		return 0;
	void *image = phx_live_image(live, *src);
	if (!image)
		return -ENOMEM;
	int r = live->restore(image, dst);
	phx_live_image_free(live, image);
	return r;
}

static bool live_equal(const struct phx_live *live, void *const *a, void *const *b)
{
	if (!*a || !*b)
		return *a == *b;
	void *image_a = phx_live_image(live, *a), *image_b = phx_live_image(live, *b);
	bool equal = image_a && image_b && phx_record_equal(live->image, image_a, image_b);
	phx_live_image_free(live, image_a);
	phx_live_image_free(live, image_b);
	return equal;
}

void phx_record_fini(const struct phx_record *rec, void *obj)
{
	for (size_t i = 0; i < rec->n_fields; i++) {
		const struct phx_field *f = &rec->fields[i];
		if (f->type == PHX_F_LIST)
			list_fini(f->record, member(f, obj));
		else if (f->type == PHX_F_REC)
			phx_record_fini(f->record, member(f, obj));
		else if (f->type == PHX_F_CASE)
			phx_record_fini(phx_case_of(f, obj), member(f, obj));
		else if (f->type == PHX_F_TEXT)
			free(*(char **)member(f, obj));
		else if (f->type == PHX_F_LIVE)
			live_fini(f->live, member(f, obj));
	}
	memset(obj, 0, rec->size);
}

const void *phx_record_next(const struct phx_record *rec, const struct phx_list *l, uint32_t *at)
{
	while (*at < l->n) {
		const void *item = (const char *)l->items + (size_t)(*at)++ * rec->size;
		if (!rec->is_gone || !rec->is_gone(item))
			return item;
	}
	return NULL;
}

static int list_copy(const struct phx_record *rec, struct phx_list *dst, const struct phx_list *src)
{
	if (!src->n)
		return 0;
	dst->items = calloc(src->n, rec->size);
	if (!dst->items)
		return -ENOMEM;
	dst->cap = src->n;
	uint32_t at = 0;
	for (const void *item; (item = phx_record_next(rec, src, &at)); dst->n++) {
		char *to = (char *)dst->items + (size_t)dst->n * rec->size;
		int r = phx_record_copy(rec, to, item);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool is_plain(const struct phx_field *f)
{
	return f->type != PHX_F_TEXT && f->type != PHX_F_LIST && f->type != PHX_F_REC &&
		f->type != PHX_F_CASE && f->type != PHX_F_LIVE;
}

static int text_copy(char **dst, char *const *src)
{
	*dst = *src ? strdup(*src) : NULL;
	return *src && !*dst ? -ENOMEM : 0;
}

static bool text_equal(char *const *a, char *const *b)
{
	return !strcmp(*a ? *a : "", *b ? *b : "");
}

/* Copies adjacent plain fields at once: most of a record. Returns the last of them. */
static size_t copy_plain(const struct phx_record *rec, size_t first, void *dst, const void *src)
{
	size_t from = rec->fields[first].offset, to = from, i = first;
	do
		to = rec->fields[i].offset + rec->fields[i].size;
	while (++i < rec->n_fields && is_plain(&rec->fields[i]) && rec->fields[i].offset == to);
	memcpy((char *)dst + from, (const char *)src + from, to - from);
	return i - 1;
}

int phx_record_copy(const struct phx_record *rec, void *ret_dst, const void *src)
{
	memset(ret_dst, 0, rec->size);
	for (size_t i = 0; i < rec->n_fields; i++) {
		const struct phx_field *f = &rec->fields[i];
		int r = 0;
		if (f->type == PHX_F_LIST)
			r = list_copy(f->record, member(f, ret_dst), member_const(f, src));
		else if (f->type == PHX_F_REC)
			r = phx_record_copy(f->record, member(f, ret_dst), member_const(f, src));
		else if (f->type == PHX_F_CASE)
			r = phx_record_copy(phx_case_of(f, src), member(f, ret_dst),
					    member_const(f, src));
		else if (f->type == PHX_F_TEXT)
			r = text_copy(member(f, ret_dst), member_const(f, src));
		else if (f->type == PHX_F_LIVE)
			r = live_copy(f->live, member(f, ret_dst), member_const(f, src));
		else
			i = copy_plain(rec, i, ret_dst, src);
		if (r < 0) {
			phx_record_fini(rec, ret_dst);
			return r;
		}
	}
	return 0;
}

static bool list_equal(const struct phx_record *rec, const struct phx_list *a,
		       const struct phx_list *b)
{
	uint32_t at_a = 0, at_b = 0;
	for (;;) {
		const void *item_a = phx_record_next(rec, a, &at_a),
			   *item_b = phx_record_next(rec, b, &at_b);
		if (!item_a || !item_b)
			return item_a == item_b;
		if (!phx_record_equal(rec, item_a, item_b))
			return false;
	}
}

static bool field_equal(const struct phx_field *f, const void *obj_a, const void *obj_b)
{
	const void *a = member_const(f, obj_a), *b = member_const(f, obj_b);
	switch (f->type) {
	case PHX_F_LIST:
		return list_equal(f->record, a, b);
	case PHX_F_REC:
		return phx_record_equal(f->record, a, b);
	case PHX_F_CASE: /* the enums were compared before */
		return phx_record_equal(phx_case_of(f, obj_a), a, b);
	case PHX_F_LIVE:
		return live_equal(f->live, a, b);
	case PHX_F_TEXT:
		return text_equal(a, b);
	case PHX_F_STR:
		return strncmp(a, b, f->size) == 0;
	case PHX_F_U32:
	case PHX_F_U64:
	case PHX_F_I64:
	case PHX_F_BOOL:
	case PHX_F_ENUM:
	case PHX_F_ONEOF:
		return memcmp(a, b, f->size) == 0;
	}
	return false;
}

bool phx_record_equal(const struct phx_record *rec, const void *a, const void *b)
{
	for (size_t i = 0; i < rec->n_fields; i++) {
		const struct phx_field *f = &rec->fields[i];
		if (!field_equal(f, a, b))
			return false;
	}
	return true;
}
