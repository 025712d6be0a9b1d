/* RE agreements as text again, in both formats, and texts of what people fill in: see agreement.h.
 * Called by phx re show, and by phxd. */
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

bool phx_agreement_row_is_told(const struct phx_field *f)
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
	for (size_t i = 0; i < PHX_ARRAY_SIZE(always); i++)
		if (!strcmp(always[i], f->key->name))
			return true;
	return false;
}

/* What Fig. 3 has stands there in any case, and what is not always the same if it does not; a word
 * that is empty never does. */
static bool is_told(const struct phx_field *f, const void *member, const void *fallback)
{
	bool text = f->type == PHX_F_STR;
	if (text && !*(const char *)member)
		return false;
	return phx_agreement_row_is_told(f) || memcmp(member, fallback, text ? 1 : f->size) != 0;
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

/* ---- what people give ---- */

/* Written without quotes; a number that is too large for libconfig is one in quotes. */
static bool is_bare(const char *value)
{
	enum { DIGITS_MAX = 9 };
	size_t n = strlen(value);
	return !strcmp(value, "true") || !strcmp(value, "false") ||
		(n && n <= DIGITS_MAX && strspn(value, "0123456789") == n &&
		 (value[0] != '0' || n == 1));
}

/* Could it be the name of a setting of libconfig? */
static bool is_key(const char *key)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ*";
	static const char more[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_*";
	return key[0] && strchr(letters, key[0]) && !key[strspn(key, more)];
}

static int check_given(const struct phx_agreement_given *g, struct phx_err *err)
{
	for (const char *p = g->value; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return phx_err_set(err, -EINVAL, "%s: must be one printable line", g->key);
	return is_key(g->key) ? 0 : phx_err_set(err, -EINVAL, "'%s' is no key", g->key);
}

static void put_given(struct phx_buf *b, const struct phx_agreement_given *g)
{
	put_conf(b, g->key, g->value, !is_bare(g->value), g->extension);
}

static bool has_row(const char *key)
{
	const struct phx_field *f;
	for (size_t i = 0; (f = phx_agreement_row(i)); i++)
		if (!strcmp(f->key->name, key))
			return true;
	return false;
}

static void put_fields(struct phx_buf *b, const struct phx_list *given)
{
	const struct phx_field *f;
	for (size_t i = 0; (f = phx_agreement_row(i)); i++)
		PHX_LIST_EACH(struct phx_agreement_given, g, given)
			if (!g->extension && g->value[0] && !strcmp(g->key, f->key->name))
				put_given(b, g);
	PHX_LIST_EACH(struct phx_agreement_given, g, given)
		if (!g->extension && g->value[0] && !has_row(g->key))
			put_given(b, g);
}

int phx_agreement_write_given(const struct phx_list *given, struct phx_buf *buf,
			      struct phx_err *err)
{
	bool extends = false;
	PHX_LIST_EACH(struct phx_agreement_given, g, given) {
		int r = check_given(g, err);
		if (r < 0)
			return r;
		extends |= g->extension;
	}
	put_fields(buf, given);
	if (extends)
		phx_buf_addf(buf, "%s", conf_writer.extensions_begin);
	PHX_LIST_EACH(struct phx_agreement_given, g, given)
		if (g->extension)
			put_given(buf, g);
	if (extends)
		phx_buf_addf(buf, "%s", conf_writer.extensions_end);
	return buf->failed ? -ENOMEM : 0;
}
