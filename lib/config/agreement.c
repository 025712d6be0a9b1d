/* RE agreements from libconfig files, and the table by which texts of both
 * formats become an agreement: see agreement.h. Called by phx. */
#include "config/agreement.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "batch/batch.h"
#include "config/agreement_internal.h"
#include "config/conf.h"

static const struct phx_field finding_fields[] = {
	PHX_U32(struct phx_agreement_finding, line),
	PHX_STR(struct phx_agreement_finding, field),
	PHX_STR(struct phx_agreement_finding, text),
};
const struct phx_record phx_agreement_finding_record =
	PHX_RECORD("finding", struct phx_agreement_finding, finding_fields);

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

static uint32_t line_of(const struct agreement_reading *rd, const char *key)
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
	uint32_t before = line_of(rd, key);
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

/* ---- libconfig ---- */

/* A scalar as text; false for what is none. */
static bool scalar_text(const config_setting_t *s, char *ret, size_t size)
{
	switch (config_setting_type(s)) {
	case CONFIG_TYPE_STRING:
		return snprintf(ret, size, "%s", config_setting_get_string(s)) < (int)size;
	case CONFIG_TYPE_BOOL:
		snprintf(ret, size, "%s", config_setting_get_bool(s) ? "true" : "false");
		return true;
	case CONFIG_TYPE_INT:
	case CONFIG_TYPE_INT64:
		snprintf(ret, size, "%lld", config_setting_get_int64(s));
		return true;
	case CONFIG_TYPE_FLOAT:
		snprintf(ret, size, "%.6f", config_setting_get_float(s));
		return true;
	default: /* libconfig's own numbers: groups, arrays, lists */
		return false;
	}
}

static bool is_line(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return false;
	return true;
}

static void put_setting(struct agreement_reading *rd, const config_setting_t *s, bool extension)
{
	char text[256];
	const char *name = config_setting_name(s);
	uint32_t line = phx_conf_line(s);
	if (!scalar_text(s, text, sizeof(text)) || !is_line(text))
		phx_agreement_find(rd, line, name,
				   "must be one value of one printable line, of at most 255 characters");
	else if (extension)
		phx_agreement_extend(rd, name, text, line);
	else
		phx_agreement_put(rd, name, text, line);
}

static void read_extensions(struct agreement_reading *rd, const config_setting_t *s)
{
	if (config_setting_type(s) != CONFIG_TYPE_GROUP) {
		phx_agreement_find(rd, phx_conf_line(s), "extensions", "must be a group: { key = \"value\"; }");
		return;
	}
	for (int i = 0; i < config_setting_length(s); i++)
		put_setting(rd, config_setting_get_elem(s, (unsigned)i), true);
}

/* "FILE:LINE: text" of the parser, taken apart. */
static void find_syntax(struct agreement_reading *rd, const char *what, const char *text)
{
	size_t n = strlen(what);
	unsigned line = 0;
	int used = 0;
	if (!strncmp(text, what, n) && sscanf(text + n, ":%u: %n", &line, &used) == 1 && used)
		text += n + (size_t)used;
	phx_agreement_find(rd, line, "", "%s", text);
}

static void read_conf(struct agreement_reading *rd, const char *text, size_t n, const char *what)
{
	struct phx_conf c;
	struct phx_err why = {0};
	if (phx_conf_parse(text, n, what, &c, &why) < 0) {
		find_syntax(rd, what, why.text);
		return;
	}
	const config_setting_t *root = config_root_setting(&c.cfg);
	for (int i = 0; i < config_setting_length(root); i++) {
		const config_setting_t *s = config_setting_get_elem(root, (unsigned)i);
		if (!strcmp(config_setting_name(s), "extensions"))
			read_extensions(rd, s);
		else
			put_setting(rd, s, false);
	}
	phx_conf_fini(&c);
}

/* ---- the whole ---- */

static void found(void *arg, const char *field, const char *text)
{
	struct agreement_reading *rd = arg;
	uint32_t line = line_of(rd, field);
	phx_agreement_find(rd, line ? line : rd->line, field, "%s", text);
}

/* What is not said: the name is the file's, the role that of its workload. */
static void complete(struct agreement_reading *rd, const char *name)
{
	static const char *const roles[] = {[PHX_RE_BATCH] = "batch-compute", [PHX_RE_WEB] = "web-server"};
	if (!rd->a.name[0])
		phx_str_copy(rd->a.name, sizeof(rd->a.name), name);
	if (!rd->a.role[0])
		phx_str_copy(rd->a.role, sizeof(rd->a.role),
			     rd->a.engine == PHX_RE_ENGINE_SLURM ? "slurm-compute" : roles[rd->a.type]);
}

/* Everything has a default but how many nodes it is about: a file that says nothing asks for nothing. */
static void need_lower(struct agreement_reading *rd)
{
	bool leases = phx_policy((enum phx_policy_id)rd->a.model)->per_job_lease;
	if (!rd->findings.n && !leases && !line_of(rd, "lower_bound_size"))
		phx_agreement_find(rd, rd->line, "lower_bound_size", "is missing: how many nodes are guaranteed");
}

static int first_finding(const struct agreement_reading *rd, const char *what, struct phx_err *err)
{
	const struct phx_agreement_finding *f = PHX_LIST_AT(&rd->findings, struct phx_agreement_finding, 0);
	const char *field = f->field, *between = *field ? ": " : "";
	if (!f->line)
		return phx_err_set(err, -EINVAL, "%s: %s%s%s", what, field, between, f->text);
	return phx_err_set(err, -EINVAL, "%s:%u: %s%s%s", what, f->line, field, between, f->text);
}

static bool is_xml(const char *text, size_t n)
{
	size_t i = n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0;
	while (i < n && isspace((unsigned char)text[i]))
		i++;
	return i < n && text[i] == '<';
}

int phx_agreement_parse(const char *text, size_t n, const char *what, const char *name, struct phx_agreement *ret,
			struct phx_list *ret_findings, struct phx_err *err)
{
	struct agreement_reading rd = {.line = 1};
	if (n > PHX_AGREEMENT_FILE_MAX)
		return phx_err_set(err, -EFBIG, "%s: an agreement has at most %u bytes", what, PHX_AGREEMENT_FILE_MAX);
	phx_agreement_init(&rd.a);
	if (is_xml(text, n))
		phx_agreement_read_xml(&rd, text, n);
	else
		read_conf(&rd, text, n, what);
	complete(&rd, name);
	if (!rd.findings.n)
		phx_agreement_check_new(&rd.a, found, &rd);
	need_lower(&rd);
	int r = rd.error ? rd.error : rd.findings.n ? first_finding(&rd, what, err) : 0;
	phx_list_fini(&rd.lines);
	if (r == 0)
		*ret = rd.a;
	else
		phx_record_fini(&phx_agreement_record, &rd.a);
	if (ret_findings)
		*ret_findings = rd.findings;
	else
		phx_list_fini(&rd.findings);
	return r;
}

/* "dir/batch.conf" is the RE batch; "" where that is no name. */
static void name_of_file(const char *path, char ret[PHX_NAME_MAX])
{
	const char *base = strrchr(path, '/');
	base = base ? base + 1 : path;
	const char *dot = strrchr(base, '.');
	size_t n = dot && dot != base ? (size_t)(dot - base) : strlen(base);
	snprintf(ret, PHX_NAME_MAX, "%.*s", n < PHX_NAME_MAX ? (int)n : 0, base);
	if (!phx_name_valid(ret))
		ret[0] = '\0';
}

int phx_agreement_load(const char *path, struct phx_agreement *ret, struct phx_list *ret_findings, struct phx_err *err)
{
	PHX_AUTO_FREE char *text = NULL;
	char name[PHX_NAME_MAX];
	size_t n = 0;
	if (ret_findings)
		*ret_findings = (struct phx_list){0};
	int r = phx_file_read(path, PHX_AGREEMENT_FILE_MAX, &text, &n, err);
	if (r < 0)
		return r;
	name_of_file(path, name);
	return phx_agreement_parse(text, n, path, name, ret, ret_findings, err);
}
