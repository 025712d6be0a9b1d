/* The table by which texts of both formats become an agreement: see
 * agreement_internal.h. Called by agreement_read.c and agreement_xml.c. */
#include "config/agreement.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "batch/batch.h"
#include "config/agreement_internal.h"

PHX_RECORD_TABLE(phx_agreement_finding, PHX_AGREEMENT_FINDING_FIELDS);

const struct item *phx_agreement_items(size_t *ret_n)
{
	static const struct item items[] = {
#define ITEM(key, kind, member, names)                                                                                 \
	{#key, ITEM_##kind, offsetof(struct phx_agreement, member), sizeof(((struct phx_agreement *)0)->member), names},
#include "config/agreement.def"
#undef ITEM
	};
	*ret_n = PHX_ARRAY_SIZE(items);
	return items;
}

static const struct item *find_item(const char *key)
{
	size_t n;
	const struct item *items = phx_agreement_items(&n);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(items[i].key, key))
			return &items[i];
	return NULL;
}

/* ---- findings ---- */

void phx_agreement_find(struct agreement_reading *rd, uint32_t line, const char *field, const char *fmt, ...)
{
	if (rd->findings.n >= PHX_AGREEMENT_FINDINGS_MAX)
		return;
	struct phx_agreement_finding *f = phx_list_push(&rd->findings, sizeof(*f));
	if (!f) {
		rd->error = -ENOMEM;
		return;
	}
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
	snprintf(f->field, sizeof(f->field), "%.60s", field);
	f->line = line;
}

uint32_t phx_agreement_line(const struct agreement_reading *rd, const char *key)
{
	PHX_LIST_EACH(struct agreement_place, p, &rd->lines)
	if (!strcmp(p->key, key))
		return p->line;
	return 0;
}

/* ---- one value ---- */

/* As the papers write them: " parallel_batch_jobs ", FLB_NUB, NOOP. */
static bool same_word(const char *a, const char *b)
{
	for (; *a && *b; a++, b++) {
		char x = *a == '_' ? '-' : (char)tolower((unsigned char)*a);
		char y = *b == '_' ? '-' : (char)tolower((unsigned char)*b);
		if (x != y)
			return false;
	}
	return !*a && !*b;
}

static bool get_enum(const struct phx_enum *names, const char *value, int *ret, struct phx_err *err)
{
	for (int i = 0; i < names->n_names; i++)
		if (same_word(names->names[i], value)) {
			*ret = i;
			return true;
		}
	return phx_enum_parse(names, value, ret, err) == 0;
}

static bool get_coordination(const char *value, int *ret, struct phx_err *err)
{
	static const struct {
		const char *word;
		int value;
	} words[] = {
		{"none", PHX_RE_COORDINATED_NONE}, {"no", PHX_RE_COORDINATED_NONE},     {"own", PHX_RE_COORDINATED_OWN},
		{"yes", PHX_RE_COORDINATED_OWN},   {"other", PHX_RE_COORDINATED_OTHER},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(words); i++)
		if (same_word(words[i].word, value)) {
			*ret = words[i].value;
			return true;
		}
	phx_err_set(
		err, -EINVAL,
		"'%.60s' must be none (or no), own (or yes: with an RE of the same service provider), or other (with "
		"an RE of any service provider that consents)",
		value);
	return false;
}

static bool get_granularity(const char *value, struct phx_err *err)
{
	if (same_word(value, "node") || same_word(value, "nodes"))
		return true;
	phx_err_set(
		err, -EINVAL,
		"'%.60s' is refused: the unit here is the physical node; there is no virtual machine to give, since "
		"nothing is virtualised; write node",
		value);
	return false;
}

static bool get_count(const char *value, uint32_t *ret, struct phx_err *err)
{
	uint64_t v;
	if (phx_u64_parse(value, 0, 65536, &v) < 0) {
		phx_err_set(err, -EINVAL, "'%.60s' must be a whole number of nodes from 0 to 65536", value);
		return false;
	}
	*ret = (uint32_t)v;
	return true;
}

static bool get_port(const char *value, uint32_t *ret, struct phx_err *err)
{
	uint64_t v;
	if (phx_u64_parse(value, 1, 65535, &v) < 0) {
		phx_err_set(err, -EINVAL, "'%.60s' must be a port, a whole number from 1 to 65535", value);
		return false;
	}
	*ret = (uint32_t)v;
	return true;
}

static bool get_count_or_none(const char *value, uint32_t *ret, struct phx_err *err)
{
	if (same_word(value, "none") || same_word(value, "null")) {
		*ret = 0;
		return true;
	}
	if (!get_count(value, ret, err))
		return false;
	if (*ret)
		return true;
	phx_err_set(err, -EINVAL, "'0' is no bound: write none, or at least 1");
	return false;
}

static bool get_duration(const char *value, uint32_t *ret, struct phx_err *err)
{
	uint64_t v;
	if (phx_duration_parse(value, &v) < 0 || v > UINT32_MAX) {
		phx_err_set(err, -EINVAL, "'%.60s' must be a time, like \"30s\", \"5m\", \"1h\"", value);
		return false;
	}
	*ret = (uint32_t)v;
	return true;
}

/* "1.25" is 1250; the whole part and three decimals, zeros behind them. */
static bool get_milli(const char *value, uint32_t *ret, struct phx_err *err)
{
	uint64_t v = 0;
	unsigned whole = 0, decimals = 0;
	const char *p = value;
	for (; isdigit((unsigned char)*p) && whole < 6; p++, whole++)
		v = v * 10 + (uint64_t)(*p - '0');
	if (*p == '.')
		for (p++; isdigit((unsigned char)*p) && decimals < 3; p++, decimals++)
			v = v * 10 + (uint64_t)(*p - '0');
	while (decimals && *p == '0')
		p++;
	if (!whole || *p) {
		phx_err_set(err, -EINVAL, "'%.60s' must be a number like 1.2, of at most three decimals", value);
		return false;
	}
	for (; decimals < 3; decimals++)
		v *= 10;
	*ret = (uint32_t)v;
	return v <= UINT32_MAX;
}

static bool get_bool(const char *value, bool *ret, struct phx_err *err)
{
	*ret = same_word(value, "true") || same_word(value, "yes");
	if (*ret || same_word(value, "false") || same_word(value, "no"))
		return true;
	phx_err_set(err, -EINVAL, "'%.60s' must be true or false", value);
	return false;
}

static bool get_name(const char *value, char *ret, size_t size, struct phx_err *err)
{
	if (!phx_name_valid(value) || phx_str_copy(ret, size, value) < 0) {
		phx_err_set(err, -EINVAL,
			    "'%.60s' is no name: a letter or digit, then letters, digits, '-', '_', '.', at most %d",
			    value, PHX_NAME_MAX - 1);
		return false;
	}
	return true;
}

static bool get_text(const char *value, char *ret, size_t size, struct phx_err *err)
{
	if (value[0] && phx_str_copy(ret, size, value) == 0)
		return true;
	phx_err_set(err, -EINVAL, "must have from 1 to %zu characters", size - 1);
	return false;
}

static bool get_value(const struct item *it, const char *value, void *member, struct phx_err *err)
{
	switch (it->kind) {
	case ITEM_NAME:
		return get_name(value, member, it->size, err);
	case ITEM_TEXT:
		return get_text(value, member, it->size, err);
	case ITEM_ENUM:
		return get_enum(it->names, value, member, err);
	case ITEM_GRANULARITY:
		return get_granularity(value, err);
	case ITEM_COORDINATION:
		return get_coordination(value, member, err);
	case ITEM_COUNT:
		return get_count(value, member, err);
	case ITEM_COUNT_OR_NONE:
		return get_count_or_none(value, member, err);
	case ITEM_PORT:
		return get_port(value, member, err);
	case ITEM_DURATION:
		return get_duration(value, member, err);
	case ITEM_MILLI:
		return get_milli(value, member, err);
	case ITEM_BOOL:
		return get_bool(value, member, err);
	}
	return false;
}

/* Notes where `key` is; false when it was given before. */
static bool note_place(struct agreement_reading *rd, const char *key, uint32_t line)
{
	uint32_t before = phx_agreement_line(rd, key);
	if (before) {
		phx_agreement_find(rd, line, key, "is given twice; first in line %u", before);
		return false;
	}
	struct agreement_place *p = phx_list_push(&rd->lines, sizeof(*p));
	if (!p) {
		rd->error = -ENOMEM;
		return false;
	}
	p->line = line;
	return phx_str_copy(p->key, sizeof(p->key), key) == 0;
}

static void unknown_key(struct agreement_reading *rd, const char *key, uint32_t line)
{
	phx_agreement_find(rd, line, key,
			   "is no field of an agreement (phoenix-agreement(5) has them all); what is yours goes into "
			   "extensions");
}

void phx_agreement_put(struct agreement_reading *rd, const char *key, const char *value, uint32_t line)
{
	struct phx_err why = {0};
	const struct item *it = find_item(key);
	if (!it)
		unknown_key(rd, key, line);
	else if (note_place(rd, key, line) && !get_value(it, value, (char *)&rd->a + it->offset, &why))
		phx_agreement_find(rd, line, key, "%s", why.text);
}

void phx_agreement_extend(struct agreement_reading *rd, const char *key, const char *value, uint32_t line)
{
	PHX_LIST_EACH(struct phx_re_extension, e, &rd->a.extensions)
	if (!strcmp(e->key, key))
		phx_agreement_find(rd, line, "extensions", "'%.60s' is given twice", key);
	struct phx_re_extension *e = phx_list_push(&rd->a.extensions, sizeof(*e));
	if (!e)
		rd->error = -ENOMEM;
	else if (!phx_name_valid(key) || PHX_STR_SET(e->key, key) < 0 || PHX_STR_SET(e->value, value) < 0)
		phx_agreement_find(rd, line, "extensions", "'%.60s' must be a name, its value at most %zu characters",
				   key, sizeof(e->value) - 1);
}

/* ---- the whole ---- */
