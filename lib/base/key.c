/* Parses and formats values of configuration files: see key.h. Called by the readers of files, by
 * code that shows a configuration, and by lib/re for the defaults of an agreement. Pure. */
#include "base/key.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/identity.h"
#include "base/ip.h"

PHX_RECORD_TABLE(phx_word, PHX_WORD_FIELDS);
PHX_RECORD_TABLE(phx_ip_range, PHX_IP_RANGE_FIELDS);

const struct phx_field *phx_key_find(const struct phx_record *rec, const char *name)
{
	for (size_t i = 0; i < rec->n_fields; i++)
		if (rec->fields[i].key && !strcmp(rec->fields[i].key->name, name))
			return &rec->fields[i];
	return NULL;
}

/* ---- text into a member ---- */

static bool is_ipv4(const char *text)
{
	uint32_t address;
	return phx_ipv4_parse(text, &address);
}

/* HOST:PORT of letters, digits, dots, dashes; IPv6 in brackets. */
static bool is_peer(const char *text)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-[]:";
	const char *colon = strrchr(text, ':');
	uint64_t port;
	return colon && colon != text && phx_u64_parse(colon + 1, 1, 65535, &port) == 0 &&
		strspn(text, allowed) == strlen(text);
}

static int copy_text(const struct phx_field *f, const char *text, void *member, struct phx_err *err)
{
	if (phx_str_copy(member, f->size, text) < 0)
		return phx_err_set(err, -ENAMETOOLONG, "has %zu bytes; at most %zu fit",
				   strlen(text), f->size - 1);
	return 0;
}

static int parse_name(const struct phx_field *f, const char *text, void *member,
		      struct phx_err *err)
{
	if (!phx_name_valid(text))
		return phx_err_set(err, -EINVAL,
				   "is no name: a letter or digit, then letters, digits, '-', '_', "
				   "'.', at most %d",
				   PHX_NAME_MAX - 1);
	return copy_text(f, text, member, err);
}

static int parse_identity(const struct phx_field *f, const char *text, void *member,
			  struct phx_err *err)
{
	struct phx_identity is;
	int r = phx_identity_parse(text, &is, err);
	return r ? r : copy_text(f, text, member, err);
}

static int parse_path(const struct phx_field *f, const char *text, void *member,
		      struct phx_err *err)
{
	if (text[0] != '/')
		return phx_err_set(err, -EINVAL, "must be an absolute path");
	return copy_text(f, text, member, err);
}

static int parse_place(const struct phx_field *f, const char *text, void *member,
		       struct phx_err *err)
{
	if (text[0] != '/' && !phx_str_starts(text, "{config_dir}/") &&
	    !phx_str_starts(text, "{state_dir}/") && !phx_str_starts(text, "{run_dir}/"))
		return phx_err_set(err, -EINVAL,
				   "must be an absolute path (it may begin with {config_dir}/, "
				   "{state_dir}/ or "
				   "{run_dir}/)");
	const char *bad = strpbrk(text, " \t\"\\,#");
	return bad ? phx_err_set(err, -EINVAL, "must not hold '%c'", *bad)
		   : copy_text(f, text, member, err);
}

static int parse_address(const struct phx_field *f, const char *text, void *member,
			 struct phx_err *err)
{
	if (*text && !is_ipv4(text))
		return phx_err_set(err, -EINVAL, "must be an IPv4 address, like \"192.168.1.1\"");
	return copy_text(f, text, member, err);
}

static int parse_peer(const struct phx_field *f, const char *text, void *member,
		      struct phx_err *err)
{
	return is_peer(text) ? copy_text(f, text, member, err)
			     : phx_err_set(err, -EINVAL, "must be ADDRESS:PORT");
}

static int parse_range(const struct phx_field *f, const char *text, void *member,
		       struct phx_err *err)
{
	struct phx_ip_range range = {0};
	const char *comma = strpbrk(text, ",-");
	(void)f;
	if (comma && (size_t)(comma - text) < sizeof(range.first)) {
		memcpy(range.first, text, (size_t)(comma - text));
		comma += 1 + strspn(comma + 1, " ");
		PHX_STR_SET(range.last, comma);
	}
	if (*text && (!is_ipv4(range.first) || !is_ipv4(range.last)))
		return phx_err_set(
			err, -EINVAL,
			"must be two IPv4 addresses, like \"192.168.1.100,192.168.1.199\"");
	*(struct phx_ip_range *)member = range;
	return 0;
}

static int parse_number(const struct phx_field *f, const char *text, void *member,
			struct phx_err *err)
{
	const struct phx_key *k = f->key;
	bool unit = k->unit && *k->unit;
	uint64_t v;
	if (phx_u64_parse(text, k->min, k->max, &v) < 0)
		return phx_err_set(err, -EINVAL, "must be a whole number%s%s from %u to %u",
				   unit ? " of " : "", unit ? k->unit : "", k->min, k->max);
	*(uint32_t *)member = (uint32_t)v;
	return 0;
}

static int parse_bound(const struct phx_field *f, const char *text, void *member,
		       struct phx_err *err)
{
	bool none = phx_str_eq(text, "none") || phx_str_eq(text, "null");
	uint64_t v = 0;
	if (!none && phx_u64_parse(text, 0, f->key->max, &v) < 0)
		return phx_err_set(err, -EINVAL, "must be a whole number from 1 to %u, or none",
				   f->key->max);
	if (!none && !v)
		return phx_err_set(err, -EINVAL, "is no bound: write none, or at least 1");
	*(uint32_t *)member = (uint32_t)v;
	return 0;
}

static int parse_time(const struct phx_field *f, const char *text, void *member,
		      struct phx_err *err)
{
	const struct phx_key *k = f->key;
	char bounds[48] = "";
	uint64_t v;
	if (k->min || k->max != UINT32_MAX)
		snprintf(bounds, sizeof(bounds), " from %us to %us", k->min, k->max);
	if (phx_duration_parse(text, &v) < 0 || v < k->min || v > k->max)
		return phx_err_set(err, -EINVAL, "must be a time%s, like \"30s\", \"5m\", \"1h\"",
				   bounds);
	*(uint32_t *)member = (uint32_t)v;
	return 0;
}

int phx_key_put_milli(const struct phx_field *f, uint64_t v, void *member, struct phx_err *err)
{
	if (f->type == PHX_F_U32 && v > UINT32_MAX)
		return phx_err_set(err, -EINVAL, "is %s",
				   f->key->form == PHX_KEY_SPAN ? "longer than 49 days"
								: "too large");
	if (f->type == PHX_F_U32)
		*(uint32_t *)member = (uint32_t)v;
	else
		*(int64_t *)member = (int64_t)v;
	return 0;
}

static int parse_span(const struct phx_field *f, const char *text, void *member,
		      struct phx_err *err)
{
	uint64_t seconds;
	if (phx_duration_parse(text, &seconds) < 0 || seconds > 1000000000)
		return phx_err_set(err, -EINVAL, "must be a time, like \"90s\", \"15m\", \"14d\"");
	return phx_key_put_milli(f, seconds * 1000, member, err);
}

/* Parses "1.25" as 1250: a whole part and at most three decimals, then only zeros. */
static int parse_fraction(const struct phx_field *f, const char *text, void *member,
			  struct phx_err *err)
{
	uint64_t v = 0;
	unsigned whole = 0, decimals = 0;
	const char *p = text;
	for (; *p >= '0' && *p <= '9' && whole < 6; p++, whole++)
		v = v * 10 + (uint64_t)(*p - '0');
	if (*p == '.')
		for (p++; *p >= '0' && *p <= '9' && decimals < 3; p++, decimals++)
			v = v * 10 + (uint64_t)(*p - '0');
	while (decimals && *p == '0')
		p++;
	if (!whole || *p)
		return phx_err_set(err, -EINVAL,
				   "must be a number like 1.2, of at most three decimals");
	for (; decimals < 3; decimals++)
		v *= 10;
	return phx_key_put_milli(f, v, member, err);
}

static int parse_size(const struct phx_field *f, const char *text, void *member,
		      struct phx_err *err)
{
	uint64_t v;
	(void)f;
	if (phx_size_parse(text, &v) < 0 || v > INT64_MAX)
		return phx_err_set(err, -EINVAL, "must be a size, like \"5 GiB\" or 4096");
	*(uint64_t *)member = v;
	return 0;
}

static int parse_yes(const struct phx_field *f, const char *text, void *member, struct phx_err *err)
{
	bool yes = phx_str_eq(text, "true");
	(void)f;
	if (!yes && !phx_str_eq(text, "false"))
		return phx_err_set(err, -EINVAL, "must be true or false");
	*(bool *)member = yes;
	return 0;
}

static int parse_choice(const struct phx_field *f, const char *text, void *member,
			struct phx_err *err)
{
	return phx_enum_parse(f->names, text, member, err);
}

static int parse_nothing(const struct phx_field *f, const char *text, void *member,
			 struct phx_err *err)
{
	(void)f;
	(void)member;
	return *text ? phx_err_set(err, -EINVAL, "has no text") : 0;
}

typedef int (*parse_fn)(const struct phx_field *f, const char *text, void *member,
			struct phx_err *err);

int phx_key_parse(const struct phx_field *f, const char *text, void *member, struct phx_err *err)
{
	static const parse_fn parsers[] = {
		[PHX_KEY_TEXT] = copy_text,          [PHX_KEY_NAME] = parse_name,
		[PHX_KEY_PATH] = parse_path,         [PHX_KEY_PLACE] = parse_place,
		[PHX_KEY_ADDRESS] = parse_address,   [PHX_KEY_PEER] = parse_peer,
		[PHX_KEY_RANGE] = parse_range,       [PHX_KEY_NUMBER] = parse_number,
		[PHX_KEY_BOUND] = parse_bound,       [PHX_KEY_TIME] = parse_time,
		[PHX_KEY_SPAN] = parse_span,         [PHX_KEY_FRACTION] = parse_fraction,
		[PHX_KEY_SIZE] = parse_size,         [PHX_KEY_YES] = parse_yes,
		[PHX_KEY_CHOICE] = parse_choice,     [PHX_KEY_WORDS] = parse_nothing,
		[PHX_KEY_GROUP] = parse_nothing,     [PHX_KEY_OTHER] = parse_nothing,
		[PHX_KEY_IDENTITY] = parse_identity,
	};
	const struct phx_key *k = f->key;
	size_t n = strlen(text);
	if (f->type == PHX_F_STR && k->max && (n < k->min || n > k->max))
		return phx_err_set(err, -ENAMETOOLONG, "has %zu characters; it must have %u to %u",
				   n, k->min, k->max);
	return parsers[k->form](f, text, member, err);
}

int phx_key_default(const struct phx_field *f, void *member, struct phx_err *err)
{
	const char *text = f->key ? f->key->fallback : NULL;
	if (!text || !*text)
		return 0;
	if (f->key->form == PHX_KEY_GROUP)
		return phx_key_defaults(f->record, member, err);
	int r = phx_key_parse(f, text, member, err);
	return r < 0 ? phx_err_prefix(err, r, "%s", f->key->name) : 0;
}

int phx_key_defaults(const struct phx_record *rec, void *obj, struct phx_err *err)
{
	int r = 0;
	for (size_t i = 0; i < rec->n_fields && r == 0; i++)
		r = phx_key_default(&rec->fields[i], (char *)obj + rec->fields[i].offset, err);
	return r;
}

/* ---- a member as text ---- */

static void format_words(const struct phx_list *words, char *buf, size_t size)
{
	size_t n = 0;
	PHX_LIST_EACH(struct phx_word, w, words) {
		int k = snprintf(buf + n, size - n, "%s%s", n ? " " : "", w->text);
		if (k < 0 || (size_t)k >= size - n)
			return;
		n += (size_t)k;
	}
}

static void format_fraction(uint64_t v, char *buf, size_t size)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%" PRIu64 ".%03u", v / 1000, (unsigned)(v % 1000));
	while (n > 1 && text[n - 1] == '0' && text[n - 2] != '.')
		text[--n] = '\0';
	snprintf(buf, size, "%s", text);
}

static uint64_t integer_of(const struct phx_field *f, const void *member)
{
	return f->type == PHX_F_U32 ? *(const uint32_t *)member : *(const uint64_t *)member;
}

void phx_key_format(const struct phx_field *f, const void *member, char *buf, size_t size)
{
	const struct phx_ip_range *range = member;
	buf[0] = '\0';
	switch (f->key->form) {
	case PHX_KEY_TEXT:
	case PHX_KEY_NAME:
	case PHX_KEY_IDENTITY:
	case PHX_KEY_PATH:
	case PHX_KEY_PLACE:
	case PHX_KEY_ADDRESS:
	case PHX_KEY_PEER:
		snprintf(buf, size, "%s", (const char *)member);
		return;
	case PHX_KEY_RANGE:
		snprintf(buf, size, "%s%s%s", range->first, range->first[0] ? "," : "",
			 range->last);
		return;
	case PHX_KEY_BOUND:
		if (!*(const uint32_t *)member) {
			snprintf(buf, size, "null");
			return;
		}
		snprintf(buf, size, "%u", *(const uint32_t *)member);
		return;
	case PHX_KEY_NUMBER:
	case PHX_KEY_SIZE:
		snprintf(buf, size, "%" PRIu64, integer_of(f, member));
		return;
	case PHX_KEY_TIME:
		snprintf(buf, size, "%us", *(const uint32_t *)member);
		return;
	case PHX_KEY_SPAN:
	case PHX_KEY_FRACTION:
		format_fraction(integer_of(f, member), buf, size);
		return;
	case PHX_KEY_YES:
		snprintf(buf, size, "%s", *(const bool *)member ? "true" : "false");
		return;
	case PHX_KEY_CHOICE:
		snprintf(buf, size, "%s", phx_enum_name(f->names, *(const int *)member));
		return;
	case PHX_KEY_WORDS:
		format_words(member, buf, size);
		return;
	case PHX_KEY_GROUP:
	case PHX_KEY_OTHER:
		return;
	}
}
