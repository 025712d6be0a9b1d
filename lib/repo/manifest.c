/* The manifest of a package: libconfig text to struct and back. Called by
 * build, walk and the repository. Reads no file: an "@include" is refused. */
#include "repo/internal.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <libconfig.h>
#include <string.h>

#include "base/json.h"

PHX_RECORD_TABLE(phx_package, PHX_PACKAGE_FIELDS);
PHX_RECORD_TABLE(phx_package_bad, PHX_PACKAGE_BAD_FIELDS);
static const struct phx_field conf_fields[] = {PHX_PACKAGE_CONF_FIELDS(PHX_ROW_, phx_package)};
const struct phx_record phx_package_conf_record = {.size = sizeof(struct phx_package),
						   .fields = conf_fields,
						   .n_fields = PHX_ARRAY_SIZE(conf_fields)};

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

/* What the form of a key does not say. */
static const struct {
	const char *key;
	bool (*valid)(const char *value);
	const char *right;
} checks[] = {
	{"name", phx_name_valid, "letters, digits, '-', '_', '.'"},
	{"version", phx_version_valid, "a digit, then letters, digits, '.', '_' (no '-')"},
	{"arch", arch_valid, "one of amd64, arm64, armhf, i386, ppc64el, riscv64, s390x, all"},
	{"summary", summary_valid, "one line of UTF-8"},
};

/* Counts are strings in the text, too, since libconfig cuts large integers silently. */
static int read_key(const config_setting_t *s, const struct phx_record *rec, struct phx_package *p,
		    struct phx_err *err)
{
	const char *name = config_setting_name(s), *value = config_setting_get_string(s);
	unsigned int line = config_setting_source_line(s);
	const struct phx_field *f = name ? phx_key_find(rec, name) : NULL;
	if (!f)
		return phx_err_set(err, -EINVAL,
				   "line %u: unknown key \"%s\" (name, version, arch, summary, "
				   "operating_system)",
				   line, name ? name : "");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(checks); i++)
		if (phx_str_eq(checks[i].key, name) && (!value || !checks[i].valid(value)))
			return phx_err_set(err, -EINVAL, "line %u: %s must be %s", line, name,
					   checks[i].right);
	int r = value ? phx_key_parse(f, value, (char *)p + f->offset, err)
		      : phx_err_set(err, -EINVAL, "must be a text in quotes");
	return r < 0 ? phx_err_prefix(err, -EINVAL, "line %u: %s", line, name) : 0;
}

static int read_keys(const config_t *c, const struct phx_record *rec, struct phx_package *p,
		     struct phx_err *err)
{
	const config_setting_t *root = config_root_setting(c);
	int n = config_setting_length(root), r = 0;
	/* first those that are there: a key that is misspelt is told as that, not as missing */
	for (int i = 0; r == 0 && i < n; i++)
		r = read_key(config_setting_get_elem(root, (unsigned int)i), rec, p, err);
	for (size_t i = 0; r == 0 && i < rec->n_fields; i++) {
		const struct phx_key *k = rec->fields[i].key;
		if (k && !k->fallback && !config_setting_get_member(root, k->name))
			r = phx_err_set(err, -EINVAL, "%s is missing", k->name);
	}
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
		r = read_keys(&c, generated ? &phx_package_record : &phx_package_conf_record, &p,
			      err);
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
	if (p->operating_system[0])
		add_string(&b, "operating_system", p->operating_system);
	phx_buf_addf(&b, "unpacked_bytes = \"%" PRIu64 "\";\nn_entries = \"%" PRIu32 "\";\n",
		     p->unpacked_bytes, p->n_entries);
	return phx_buf_take(&b);
}
