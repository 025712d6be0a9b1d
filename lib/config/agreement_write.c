/* RE agreements as text again, in both formats: see agreement.h. Called by phx
 * re show. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/agreement_internal.h"
#include "types/re_kind.h"

/* How each format writes; what is between is the same. */
struct writer {
	const char *begin, *end;
	void (*field)(struct phx_buf *b, const char *key, const char *value, bool quoted,
		      unsigned depth);
	const char *extensions_begin, *extensions_end;
};

static void put_escaped(struct phx_buf *b, const char *text, const char *chars,
			const char *const *instead)
{
	for (; *text; text++) {
		const char *at = strchr(chars, *text);
		if (at)
			phx_buf_addf(b, "%s", instead[at - chars]);
		else
			phx_buf_add(b, text, 1);
	}
}

static void put_conf(struct phx_buf *b, const char *key, const char *value, bool quoted,
		     unsigned depth)
{
	static const char *const instead[] = {"\\\"", "\\\\"};
	phx_buf_addf(b, "%*s%s = %s", (int)depth * 2, "", key, quoted ? "\"" : "");
	put_escaped(b, value, "\"\\", instead);
	phx_buf_addf(b, "%s;\n", quoted ? "\"" : "");
}

static void put_xml(struct phx_buf *b, const char *key, const char *value, bool quoted,
		    unsigned depth)
{
	static const char *const instead[] = {"&amp;", "&lt;", "&gt;"};
	(void)quoted;
	phx_buf_addf(b, "%*s<%s>", (int)depth * 2 + 2, "", key);
	put_escaped(b, value, "&<>", instead);
	phx_buf_addf(b, "</%s>\n", key);
}

static const struct writer conf_writer = {"", "", put_conf, "extensions = {\n", "};\n"};
static const struct writer xml_writer = {"<RE_agreement>\n", "</RE_agreement>\n", put_xml,
					 "  <extensions>\n", "  </extensions>\n"};

/* Numbers and true or false are written without quotes; that there is no bound is a word. */
static bool is_quoted(const struct phx_field *f, const void *member)
{
	enum phx_key_form form = f->key->form;
	if (form == PHX_KEY_BOUND)
		return !*(const uint32_t *)member;
	return form != PHX_KEY_NUMBER && form != PHX_KEY_FRACTION && form != PHX_KEY_YES;
}

/* What Fig. 3 has stands there in any case, and what is not always the same if it does not; a word
 * that is empty never does. */
static bool is_told(const struct phx_field *f, const void *member, const void *fallback)
{
	static const char *const always[] = {"name",
					     "relationship",
					     "type",
					     "granularity",
					     "coordinated_RE",
					     "resource_coordination_model",
					     "lower_bound_size",
					     "upper_bound_size",
					     "setup_policy",
					     "initial_instances"};
	bool text = f->type == PHX_F_STR;
	if (text && !*(const char *)member)
		return false;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(always); i++)
		if (!strcmp(always[i], f->key->name))
			return true;
	return memcmp(member, fallback, text ? 1 : f->size) != 0;
}

static int write_agreement(const struct writer *w, const struct phx_agreement *a, struct phx_buf *b)
{
	struct phx_agreement fallback;
	char value[256];
	const struct phx_field *f;
	phx_agreement_init(&fallback);
	phx_buf_addf(b, "%s", w->begin);
	for (size_t i = 0; (f = phx_agreement_row(i)); i++) {
		const void *member = (const char *)a + f->offset;
		if (!phx_re_kind_may_have(phx_re_kind(a), f->key->name) ||
		    !is_told(f, member, (const char *)&fallback + f->offset))
			continue;
		phx_key_format(f, member, value, sizeof(value));
		w->field(b, f->key->name, f->key->form == PHX_KEY_OTHER ? f->key->fallback : value,
			 is_quoted(f, member), 0);
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
