/* RE agreements as text again, in both formats: see agreement.h. Called by phx
 * re show. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/agreement_internal.h"

/* How each format writes; what is between is the same. */
struct writer {
	const char *begin, *end;
	void (*field)(struct phx_buf *b, const char *key, const char *value, bool quoted, unsigned depth);
	const char *extensions_begin, *extensions_end;
};

static void put_escaped(struct phx_buf *b, const char *text, const char *chars, const char *const *instead)
{
	for (; *text; text++) {
		const char *at = strchr(chars, *text);
		if (at)
			phx_buf_addf(b, "%s", instead[at - chars]);
		else
			phx_buf_add(b, text, 1);
	}
}

static void put_conf(struct phx_buf *b, const char *key, const char *value, bool quoted, unsigned depth)
{
	static const char *const instead[] = {"\\\"", "\\\\"};
	phx_buf_addf(b, "%*s%s = %s", (int)depth * 2, "", key, quoted ? "\"" : "");
	put_escaped(b, value, "\"\\", instead);
	phx_buf_addf(b, "%s;\n", quoted ? "\"" : "");
}

static void put_xml(struct phx_buf *b, const char *key, const char *value, bool quoted, unsigned depth)
{
	static const char *const instead[] = {"&amp;", "&lt;", "&gt;"};
	(void)quoted;
	phx_buf_addf(b, "%*s<%s>", (int)depth * 2 + 2, "", key);
	put_escaped(b, value, "&<>", instead);
	phx_buf_addf(b, "</%s>\n", key);
}

static const struct writer conf_writer = {"", "", put_conf, "extensions = {\n", "};\n"};
static const struct writer xml_writer = {"<RE_agreement>\n", "</RE_agreement>\n", put_xml, "  <extensions>\n",
					 "  </extensions>\n"};

static void milli_text(uint32_t v, char *ret, size_t size)
{
	snprintf(ret, size, "%u.%03u", v / 1000, v % 1000);
	size_t n = strlen(ret);
	while (ret[n - 1] == '0' && ret[n - 2] != '.')
		ret[--n] = '\0';
}

static void value_text(const struct item *it, const void *member, char *ret, size_t size, bool *ret_quoted)
{
	*ret_quoted = false;
	switch (it->kind) {
	case ITEM_NAME:
	case ITEM_TEXT:
		*ret_quoted = true;
		snprintf(ret, size, "%s", (const char *)member);
		return;
	case ITEM_ENUM:
	case ITEM_COORDINATION:
		*ret_quoted = true;
		snprintf(ret, size, "%s", phx_enum_name(it->names, *(const int *)member));
		return;
	case ITEM_GRANULARITY:
		*ret_quoted = true;
		snprintf(ret, size, "node");
		return;
	case ITEM_COUNT_OR_NONE:
		*ret_quoted = !*(const uint32_t *)member;
		if (*ret_quoted) {
			snprintf(ret, size, "null");
			return;
		}
		snprintf(ret, size, "%u", *(const uint32_t *)member);
		return;
	case ITEM_COUNT:
	case ITEM_PORT:
		snprintf(ret, size, "%u", *(const uint32_t *)member);
		return;
	case ITEM_DURATION:
		*ret_quoted = true;
		snprintf(ret, size, "%us", *(const uint32_t *)member);
		return;
	case ITEM_MILLI:
		milli_text(*(const uint32_t *)member, ret, size);
		return;
	case ITEM_BOOL:
		snprintf(ret, size, "%s", *(const bool *)member ? "true" : "false");
		return;
	}
}

/* What Fig. 3 has stands there in any case; a word that is empty never does. */
static bool is_told(const struct item *it, const void *member, const void *fallback)
{
	static const char *const always[] = {"name",
					     "relationship",
					     "type",
					     "granularity",
					     "coordinated_RE",
					     "resource_coordination_model",
					     "lower_bound_size",
					     "upper_bound_size",
					     "setup_policy"};
	bool text = it->kind == ITEM_NAME || it->kind == ITEM_TEXT;
	if (text && !*(const char *)member)
		return false;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(always); i++)
		if (!strcmp(always[i], it->key))
			return true;
	return memcmp(member, fallback, text ? 1 : it->size) != 0;
}

static int write_agreement(const struct writer *w, const struct phx_agreement *a, struct phx_buf *b)
{
	struct phx_agreement fallback;
	char value[256];
	bool quoted;
	size_t n;
	const struct item *items = phx_agreement_items(&n);
	phx_agreement_init(&fallback);
	phx_buf_addf(b, "%s", w->begin);
	for (size_t i = 0; i < n; i++) {
		const void *member = (const char *)a + items[i].offset;
		if (!is_told(&items[i], member, (const char *)&fallback + items[i].offset))
			continue;
		value_text(&items[i], member, value, sizeof(value), &quoted);
		w->field(b, items[i].key, value, quoted, 0);
	}
	if (a->extensions.n)
		phx_buf_addf(b, "%s", w->extensions_begin);
	PHX_LIST_EACH(struct phx_re_extension, e, &a->extensions)
	w->field(b, e->key, e->value, true, 1);
	if (a->extensions.n)
		phx_buf_addf(b, "%s", w->extensions_end);
	phx_buf_addf(b, "%s", w->end);
	return b->data ? 0 : -ENOMEM;
}

int phx_agreement_write_conf(const struct phx_agreement *a, struct phx_buf *buf)
{
	return write_agreement(&conf_writer, a, buf);
}

int phx_agreement_write_xml(const struct phx_agreement *a, struct phx_buf *buf)
{
	return write_agreement(&xml_writer, a, buf);
}
