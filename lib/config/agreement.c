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

/* What a file has instead of the member `setup`, and a word that is kept nowhere. */
#define SETUP_ROWS(F, S) \
	F(S, setup.mode, ENUM(phx_setup_mode), \
	  KEY(setup_policy, CHOICE, "noop", \
	      "What is done to a node that changes hands; see " \
	      "OWNERS.")) \
	F(S, setup.method, ENUM(phx_wipe_method), \
	  KEY(setup_method, CHOICE, "auto", "How wipe erases; refused where nothing is erased.")) \
	F(S, setup.when, ENUM(phx_setup_when), \
	  KEY(setup_moment, CHOICE, "release", \
	      "When that is done: as the node leaves, as it comes, or both; refused with noop.")) \
	F(S, setup.start, ENUM(phx_setup_start), \
	  KEY(setup_start, CHOICE, "auto", \
	      "How an erase begins. auto: with a power cycle where the node comes from another " \
	      "owner and has a BMC, else by kexec, through the system of whoever had it; kexec: " \
	      "always so, where the other agreement says it too; power: always with a power " \
	      "cycle, and a node without a BMC is not taken."))
#define UNIT_ROWS(F, S) \
	F(S, name, STR(PHX_NAME_MAX), \
	  KEY(granularity, OTHER, "node", \
	      "Of what the agreement counts: node. Anything virtual is refused: the unit is the " \
	      "physical machine."))
static const struct phx_field setup_rows[] = {SETUP_ROWS(PHX_ROW_, phx_agreement)};
static const struct phx_field unit_rows[] = {UNIT_ROWS(PHX_ROW_, phx_agreement)};

const struct phx_field *phx_agreement_row(size_t i)
{
	static const struct {
		size_t behind, n; /* which member they stand */
		const struct phx_field *rows;
	} others[] = {
		{offsetof(struct phx_agreement, type), PHX_ARRAY_SIZE(unit_rows), unit_rows},
		{offsetof(struct phx_agreement, setup), PHX_ARRAY_SIZE(setup_rows), setup_rows},
	};
	for (size_t k = 0; k < phx_agreement_record.n_fields; k++) {
		const struct phx_field *f = &phx_agreement_record.fields[k];
		if (f->key && i-- == 0)
			return f;
		for (size_t o = 0; o < PHX_ARRAY_SIZE(others); o++) {
			if (others[o].behind != f->offset)
				continue;
			if (i < others[o].n)
				return &others[o].rows[i];
			i -= others[o].n;
		}
	}
	return NULL;
}

static const struct phx_field *find_row(const char *key)
{
	const struct phx_field *f;
	for (size_t i = 0; (f = phx_agreement_row(i)); i++)
		if (!strcmp(f->key->name, key))
			return f;
	return NULL;
}

/* ---- findings ---- */

void phx_agreement_find(struct agreement_reading *rd, uint32_t line, const char *field,
			const char *fmt, ...)
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
	PHX_LIST_EACH(struct phx_agreement_given, g, &rd->given)
		if (!g->extension && !strcmp(g->key, key))
			return g->line;
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
		{"none", PHX_RE_COORDINATED_NONE},   {"no", PHX_RE_COORDINATED_NONE},
		{"own", PHX_RE_COORDINATED_OWN},     {"yes", PHX_RE_COORDINATED_OWN},
		{"other", PHX_RE_COORDINATED_OTHER},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(words); i++)
		if (same_word(words[i].word, value)) {
			*ret = words[i].value;
			return true;
		}
	phx_err_set(err, -EINVAL,
		    "'%.60s' must be none (or no), own (or yes: with an RE of the same service "
		    "provider), or other (with "
		    "an RE of any service provider that consents)",
		    value);
	return false;
}

static bool get_granularity(const char *value, struct phx_err *err)
{
	if (same_word(value, "node") || same_word(value, "nodes"))
		return true;
	phx_err_set(err, -EINVAL,
		    "'%.60s' is refused: the unit here is the physical node; there is no virtual "
		    "machine to give, since "
		    "nothing is virtualised; write node",
		    value);
	return false;
}

static bool get_bool(const char *value, bool *ret, struct phx_err *err)
{
	*ret = same_word(value, "true") || same_word(value, "yes");
	if (*ret || same_word(value, "false") || same_word(value, "no"))
		return true;
	phx_err_set(err, -EINVAL, "'%.60s' must be true or false", value);
	return false;
}

/* What people write more freely here than in other files; the rest is as everywhere. */
static bool get_value(const struct phx_field *f, const char *value, void *member,
		      struct phx_err *err)
{
	struct phx_err why = {0};
	if (f->key->form == PHX_KEY_OTHER)
		return get_granularity(value, err);
	if (f->names == &phx_re_coordination_names)
		return get_coordination(value, member, err);
	if (f->key->form == PHX_KEY_CHOICE)
		return get_enum(f->names, value, member, err);
	if (f->key->form == PHX_KEY_YES)
		return get_bool(value, member, err);
	if (f->key->form == PHX_KEY_BOUND && (same_word(value, "none") || same_word(value, "null")))
		value = "none";
	int r = phx_key_parse(f, value, member, &why);
	if (r == -ENAMETOOLONG)
		phx_err_set(err, -EINVAL, "%s", why.text);
	else if (r < 0)
		phx_err_set(err, -EINVAL, "'%.60s' %s", value, why.text);
	return r == 0;
}

/* A key that is longer than any is, is none: its finding says so. */
static bool note_given(struct agreement_reading *rd, const char *key, const char *value,
		       uint32_t line, bool extension)
{
	struct phx_agreement_given *g = phx_list_push(&rd->given, sizeof(*g));
	if (!g) {
		rd->error = -ENOMEM;
		return false;
	}
	g->line = line;
	g->extension = extension;
	snprintf(g->key, sizeof(g->key), "%.63s", key);
	snprintf(g->value, sizeof(g->value), "%.255s", value);
	return true;
}

/* Notes where `key` is; false when it was given before. */
static bool note_place(struct agreement_reading *rd, const char *key, const char *value,
		       uint32_t line)
{
	uint32_t before = phx_agreement_line(rd, key);
	if (!before)
		return note_given(rd, key, value, line, false);
	phx_agreement_find(rd, line, key, "is given twice; first in line %u", before);
	return false;
}

static void unknown_key(struct agreement_reading *rd, const char *key, uint32_t line)
{
	phx_agreement_find(rd, line, key,
			   "is no field of an agreement (phoenix-agreement(5) has them all); what "
			   "is yours goes into "
			   "extensions");
}

void phx_agreement_put(struct agreement_reading *rd, const char *key, const char *value,
		       uint32_t line)
{
	struct phx_err why = {0};
	const struct phx_field *f = find_row(key);
	if (!f)
		unknown_key(rd, key, line);
	if (note_place(rd, key, value, line) && f &&
	    !get_value(f, value, (char *)&rd->a + f->offset, &why))
		phx_agreement_find(rd, line, key, "%s", why.text);
}

void phx_agreement_extend(struct agreement_reading *rd, const char *key, const char *value,
			  uint32_t line)
{
	PHX_LIST_EACH(struct phx_re_extension, e, &rd->a.extensions)
		if (!strcmp(e->key, key))
			phx_agreement_find(rd, line, "extensions", "'%.60s' is given twice", key);
	struct phx_re_extension *e = phx_list_push(&rd->a.extensions, sizeof(*e));
	note_given(rd, key, value, line, true);
	if (!e)
		rd->error = -ENOMEM;
	else if (!phx_name_valid(key) || PHX_STR_SET(e->key, key) < 0 ||
		 PHX_STR_SET(e->value, value) < 0)
		phx_agreement_find(rd, line, "extensions",
				   "'%.60s' must be a name, its value at most %zu characters", key,
				   sizeof(e->value) - 1);
}

/* ---- the whole ---- */
