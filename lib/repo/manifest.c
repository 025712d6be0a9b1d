/* The manifest of a package: libconfig text to struct and back. Called by
 * build, walk and the repository. Reads no file: an "@include" is refused. */
#include "repo/internal.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <libconfig.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

PHX_RECORD_TABLE(phx_package, PHX_PACKAGE_FIELDS);

bool phx_version_valid(const char *s)
{
	return phx_name_valid(s) && isdigit((unsigned char)s[0]) && !strchr(s, '-');
}

static bool arch_valid(const char *s)
{
	static const char *const known[] = {"all",  "amd64",   "arm64",   "armhf",
					    "i386", "ppc64el", "riscv64", "s390x"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(known); i++)
		if (phx_str_eq(s, known[i]))
			return true;
	return false;
}

static bool summary_valid(const char *s)
{
	for (const char *p = s; *p; p++)
		if (iscntrl((unsigned char)*p))
			return false;
	PHX_AUTO_JSON json_t *text = json_string(s); /* NULL unless UTF-8 */
	return text != NULL;
}

static bool count_valid(const char *s)
{
	uint64_t value;
	return phx_u64_parse(s, 0, INT64_MAX, &value) == 0;
}

struct key {
	const char *name;
	size_t offset, size; /* of the string member; size 0: a count */
	bool generated;      /* written by build, not by people */
	bool (*valid)(const char *value);
	const char *right;
};

#define STRING(m) offsetof(struct phx_package, m), sizeof(((struct phx_package *)0)->m)
static const struct key keys[] = {
	{"name", STRING(name), false, phx_name_valid, "letters, digits, '-', '_', '.'"},
	{"version", STRING(version), false, phx_version_valid,
	 "a digit, then letters, digits, '.', '_' (no '-')"},
	{"arch", STRING(arch), false, arch_valid,
	 "one of amd64, arm64, armhf, i386, ppc64el, riscv64, s390x, all"},
	{"summary", STRING(summary), false, summary_valid, "one line of UTF-8"},
	{"unpacked_bytes", offsetof(struct phx_package, unpacked_bytes), 0, true, count_valid,
	 "a number in quotes"},
	{"n_entries", offsetof(struct phx_package, n_entries), 0, true, count_valid,
	 "a number in quotes"},
};
#undef STRING

static const struct key *find_key(const char *name, bool generated)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(keys); i++)
		if (phx_str_eq(keys[i].name, name))
			return keys[i].generated && !generated ? NULL : &keys[i];
	return NULL;
}

/* Counts are strings in the text, since libconfig cuts large integers silently. */
static int store_count(const struct key *k, const char *value, struct phx_package *p)
{
	uint64_t count;
	bool narrow = k->offset == offsetof(struct phx_package, n_entries);
	int r = phx_u64_parse(value, 0, narrow ? UINT32_MAX : INT64_MAX, &count);
	if (r < 0)
		return r;
	if (narrow)
		p->n_entries = (uint32_t)count;
	else
		p->unpacked_bytes = count;
	return 0;
}

static int read_key(const config_setting_t *s, bool generated, struct phx_package *p,
		    struct phx_err *err)
{
	const char *name = config_setting_name(s);
	unsigned int line = config_setting_source_line(s);
	const struct key *k = name ? find_key(name, generated) : NULL;
	if (!k)
		return phx_err_set(err, -EINVAL,
				   "line %u: unknown key \"%s\" (name, version, arch, summary)",
				   line, name ? name : "");
	const char *value = config_setting_get_string(s);
	if (!value || !k->valid(value))
		return phx_err_set(err, -EINVAL, "line %u: %s must be %s", line, name, k->right);
	int r = k->size ? phx_str_copy((char *)p + k->offset, k->size, value)
			: store_count(k, value, p);
	return r < 0 ? phx_err_set(err, -EINVAL, "line %u: %s is too large", line, name) : 0;
}

static int read_keys(const config_t *c, bool generated, struct phx_package *p, struct phx_err *err)
{
	const config_setting_t *root = config_root_setting(c);
	int n = config_setting_length(root), r = 0;
	/* first those that are there: a key that is misspelt is told as that, not as missing */
	for (int i = 0; r == 0 && i < n; i++)
		r = read_key(config_setting_get_elem(root, (unsigned int)i), generated, p, err);
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(keys); i++)
		if ((generated || !keys[i].generated) &&
		    !config_setting_get_member(root, keys[i].name))
			r = phx_err_set(err, -EINVAL, "%s is missing", keys[i].name);
	return r;
}

int phx_manifest_parse(const char *text, size_t n, bool generated, struct phx_package *ret,
		       struct phx_err *err)
{
	if (n > PHX_MANIFEST_MAX)
		return phx_err_set(err, -EINVAL, "larger than %d bytes", PHX_MANIFEST_MAX);
	if (memchr(text, '\0', n))
		return phx_err_set(err, -EINVAL, "holds a NUL byte");
	if (memmem(text, n, "@include", strlen("@include")))
		return phx_err_set(err, -EINVAL, "@include is not allowed");
	PHX_AUTO_FREE char *copy = strndup(text, n);
	if (!copy)
		return -ENOMEM;
	config_t c;
	config_init(&c);
	struct phx_package p = {0};
	int r;
	if (config_read_string(&c, copy) != CONFIG_TRUE)
		r = phx_err_set(err, -EINVAL, "line %d: %s", config_error_line(&c),
				config_error_text(&c));
	else
		r = read_keys(&c, generated, &p, err);
	config_destroy(&c);
	if (r == 0)
		*ret = p;
	return r;
}

static void add_string(struct phx_buf *b, const char *key, const char *value)
{
	phx_buf_addf(b, "%s = \"", key);
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			phx_buf_add(b, "\\", 1);
		phx_buf_add(b, value, 1);
	}
	phx_buf_addf(b, "\";\n");
}

char *phx_manifest_format(const struct phx_package *p)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	add_string(&b, "name", p->name);
	add_string(&b, "version", p->version);
	add_string(&b, "arch", p->arch);
	add_string(&b, "summary", p->summary);
	phx_buf_addf(&b, "unpacked_bytes = \"%" PRIu64 "\";\nn_entries = \"%" PRIu32 "\";\n",
		     p->unpacked_bytes, p->n_entries);
	return phx_buf_take(&b);
}
