/* libconfig files against tables of keys: see conf.h. Called by the readers of
 * this room; never changes a file. */
#include "config/conf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"

int phx_conf_parse(const char *text, size_t n, const char *what, struct phx_conf *ret, struct phx_err *err)
{
	if (n > PHX_CONF_FILE_MAX)
		return phx_err_set(err, -EFBIG, "%s: larger than %u bytes", what, PHX_CONF_FILE_MAX);
	/* with one NUL beyond the end, whatever the caller has there */
	PHX_AUTO_FREE char *copy = malloc(n + 1);
	struct phx_conf c = {.file = strdup(what)};
	if (!copy || !c.file) {
		free(c.file);
		return -ENOMEM;
	}
	memcpy(copy, text, n);
	copy[n] = '\0';
	int r = phx_conf_scan(copy, n, what, err);
	config_init(&c.cfg);
	if (r == 0 && !config_read_string(&c.cfg, copy))
		r = phx_err_set(err, -EINVAL, "%s:%d: %s", what, config_error_line(&c.cfg), config_error_text(&c.cfg));
	if (r < 0)
		phx_conf_fini(&c);
	else
		*ret = c;
	return r;
}

int phx_conf_read(const char *path, struct phx_conf *ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *text = NULL;
	size_t n = 0;
	int r = phx_file_read(path, PHX_CONF_FILE_MAX, &text, &n, err);
	return r < 0 ? r : phx_conf_parse(text, n, path, ret, err);
}

void phx_conf_fini(struct phx_conf *c)
{
	if (!c->file)
		return;
	config_destroy(&c->cfg);
	free(c->file);
	c->file = NULL;
}

uint32_t phx_conf_line(const config_setting_t *s)
{
	return config_setting_source_line(s);
}

int phx_conf_place(const struct phx_conf *c, const config_setting_t *s, int code, struct phx_err *err)
{
	uint32_t line = phx_conf_line(s);
	return line ? phx_err_prefix(err, code, "%s:%u", c->file, line) : phx_err_prefix(err, code, "%s", c->file);
}

int phx_conf_fail(const struct phx_conf *c, const config_setting_t *s, int code, struct phx_err *err, const char *fmt,
		  ...)
{
	char text[PHX_ERR_TEXT_MAX];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	phx_err_set(err, code, "%s", text);
	return phx_conf_place(c, s, code, err);
}

/* Name of a setting for errors; items of lists have none. */
static const char *name_of(const config_setting_t *s)
{
	const config_setting_t *list = config_setting_parent(s);
	const char *name = config_setting_name(s);
	if (!name && list) /* an item of it */
		name = config_setting_name(list);
	return name ? name : "this item";
}

static const char *type_of(const config_setting_t *s)
{
	static const char *const names[] = {"nothing", "a group",   "a number", "a number", "a fraction",
					    "a text",  "a boolean", "an array", "a list"};
	size_t t = (size_t)config_setting_type(s);
	return t < PHX_ARRAY_SIZE(names) ? names[t] : "unknown";
}

static int wrong_type(const struct phx_conf *c, const config_setting_t *s, const char *wanted, struct phx_err *err)
{
	return phx_conf_fail(c, s, -EINVAL, err, "%s is %s; it must be %s", name_of(s), type_of(s), wanted);
}

int phx_conf_text(const struct phx_conf *c, const config_setting_t *s, const char **ret, struct phx_err *err)
{
	if (config_setting_type(s) != CONFIG_TYPE_STRING)
		return wrong_type(c, s, "a text: \"...\"", err);
	const char *text = config_setting_get_string(s);
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return phx_conf_fail(c, s, -EINVAL, err,
					     "%s holds a control character (\\x%02x); it must be one printable line",
					     name_of(s), (unsigned char)*p);
	*ret = text;
	return 0;
}

int phx_conf_number(const struct phx_conf *c, const config_setting_t *s, uint64_t min, uint64_t max, uint64_t *ret,
		    struct phx_err *err)
{
	int type = config_setting_type(s);
	char wanted[96];
	snprintf(wanted, sizeof(wanted), "a whole number from %" PRIu64 " to %" PRIu64, min, max);
	if (type != CONFIG_TYPE_INT && type != CONFIG_TYPE_INT64)
		return wrong_type(c, s, wanted, err);
	long long v = type == CONFIG_TYPE_INT ? config_setting_get_int(s) : config_setting_get_int64(s);
	if (v < 0 || (uint64_t)v < min || (uint64_t)v > max)
		return phx_conf_fail(c, s, -EINVAL, err, "%s is %lld; it must be %s", name_of(s), v, wanted);
	*ret = (uint64_t)v;
	return 0;
}

static int get_str(const struct phx_conf *c, const config_setting_t *s, const struct phx_conf_key *key, void *member,
		   struct phx_err *err)
{
	const char *text;
	int r = phx_conf_text(c, s, &text, err);
	if (r == 0 && phx_str_copy(member, key->size, text) < 0)
		r = phx_conf_fail(c, s, -EINVAL, err, "%s has %zu bytes; at most %zu fit", name_of(s), strlen(text),
				  key->size - 1);
	return r;
}

static int get_name(const struct phx_conf *c, const config_setting_t *s, const struct phx_conf_key *key, void *member,
		    struct phx_err *err)
{
	const char *text;
	int r = phx_conf_text(c, s, &text, err);
	if (r == 0 && !phx_name_valid(text))
		r = phx_conf_fail(
			c, s, -EINVAL, err,
			"%s = \"%s\" is no name: a letter or digit, then letters, digits, '-', '_', '.', at most %d",
			name_of(s), text, PHX_NAME_MAX - 1);
	return r < 0 ? r : get_str(c, s, key, member, err);
}

static int get_u32(const struct phx_conf *c, const config_setting_t *s, const struct phx_conf_key *key, void *member,
		   struct phx_err *err)
{
	uint64_t v;
	int r = phx_conf_number(c, s, key->min, key->max, &v, err);
	if (r == 0)
		*(uint32_t *)member = (uint32_t)v;
	return r;
}

static int get_duration(const struct phx_conf *c, const config_setting_t *s, const struct phx_conf_key *key,
			void *member, struct phx_err *err)
{
	if (config_setting_type(s) != CONFIG_TYPE_STRING)
		return get_u32(c, s, key, member, err);
	const char *text = config_setting_get_string(s);
	uint64_t v;
	if (phx_duration_parse(text, &v) < 0 || v < key->min || v > key->max)
		return phx_conf_fail(c, s, -EINVAL, err,
				     "%s = \"%s\" must be a time from %us to %us, like \"30s\", \"5m\", \"1h\"",
				     name_of(s), text, key->min, key->max);
	*(uint32_t *)member = (uint32_t)v;
	return 0;
}

static int get_size(const struct phx_conf *c, const config_setting_t *s, const struct phx_conf_key *key, void *member,
		    struct phx_err *err)
{
	(void)key;
	if (config_setting_type(s) != CONFIG_TYPE_STRING)
		return phx_conf_number(c, s, 0, INT64_MAX, member, err);
	const char *text = config_setting_get_string(s);
	uint64_t v;
	if (phx_size_parse(text, &v) < 0 || v > INT64_MAX)
		return phx_conf_fail(c, s, -EINVAL, err, "%s = \"%s\" must be a size, like \"5 GiB\" or 4096",
				     name_of(s), text);
	*(uint64_t *)member = v;
	return 0;
}

static int get_bool(const struct phx_conf *c, const config_setting_t *s, const struct phx_conf_key *key, void *member,
		    struct phx_err *err)
{
	(void)key;
	if (config_setting_type(s) != CONFIG_TYPE_BOOL)
		return wrong_type(c, s, "true or false", err);
	*(bool *)member = config_setting_get_bool(s);
	return 0;
}

static int get_enum(const struct phx_conf *c, const config_setting_t *s, const struct phx_conf_key *key, void *member,
		    struct phx_err *err)
{
	const char *text;
	int r = phx_conf_text(c, s, &text, err);
	if (r < 0)
		return r;
	r = phx_enum_parse(key->names, text, member, err);
	return r < 0 ? phx_conf_place(c, s, r, err) : 0;
}

static int get_words(const struct phx_conf *c, const config_setting_t *s, const struct phx_conf_key *key, void *member,
		     struct phx_err *err)
{
	struct phx_conf_key word = {.key = key->key, .type = PHX_CONF_STR, .size = key->size};
	int type = config_setting_type(s);
	if (type != CONFIG_TYPE_ARRAY && type != CONFIG_TYPE_LIST)
		return wrong_type(c, s, "a list of texts: [ \"...\", \"...\" ]", err);
	for (int i = 0; i < config_setting_length(s); i++) {
		void *item = phx_list_push(member, key->size);
		if (!item)
			return -ENOMEM;
		int r = get_str(c, config_setting_get_elem(s, (unsigned)i), &word, item, err);
		if (r < 0)
			return phx_err_prefix(err, r, "%s", key->key);
	}
	return 0;
}

typedef int (*get_fn)(const struct phx_conf *c, const config_setting_t *s, const struct phx_conf_key *key, void *member,
		      struct phx_err *err);

int phx_conf_value(const struct phx_conf *c, const config_setting_t *s, const struct phx_conf_key *key, void *member,
		   struct phx_err *err)
{
	static const get_fn getters[] = {
		[PHX_CONF_STR] = get_str,           [PHX_CONF_NAME] = get_name,   [PHX_CONF_U32] = get_u32,
		[PHX_CONF_DURATION] = get_duration, [PHX_CONF_SIZE] = get_size,   [PHX_CONF_BOOL] = get_bool,
		[PHX_CONF_ENUM] = get_enum,         [PHX_CONF_WORDS] = get_words, [PHX_CONF_OTHER] = NULL,
	};
	return getters[key->type] ? getters[key->type](c, s, key, member, err) : 0;
}

static const struct phx_conf_key *find_key(const struct phx_conf_key *keys, size_t n_keys, const char *name)
{
	for (size_t i = 0; i < n_keys; i++)
		if (!strcmp(keys[i].key, name))
			return &keys[i];
	return NULL;
}

static int unknown_key(const struct phx_conf *c, const config_setting_t *s, const struct phx_conf_key *keys,
		       size_t n_keys, struct phx_err *err)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	for (size_t i = 0; i < n_keys; i++)
		phx_buf_addf(&b, "%s%s", i ? ", " : "", keys[i].key);
	return phx_conf_fail(c, s, -EINVAL, err, "unknown key '%s'; known here: %s", name_of(s),
			     b.data ? b.data : "none");
}

int phx_conf_group(const struct phx_conf *c, const config_setting_t *s, const struct phx_conf_key *keys, size_t n_keys,
		   void *obj, struct phx_err *err)
{
	if (config_setting_type(s) != CONFIG_TYPE_GROUP)
		return wrong_type(c, s, "a group: { key = value; ... }", err);
	for (int i = 0; i < config_setting_length(s); i++) {
		const config_setting_t *m = config_setting_get_elem(s, (unsigned)i);
		const struct phx_conf_key *key = find_key(keys, n_keys, config_setting_name(m));
		if (!key)
			return unknown_key(c, m, keys, n_keys, err);
		int r = phx_conf_value(c, m, key, (char *)obj + key->offset, err);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < n_keys; i++)
		if (keys[i].required && !config_setting_get_member(s, keys[i].key))
			return phx_conf_fail(c, s, -EINVAL, err, "%s is missing", keys[i].key);
	return 0;
}

int phx_conf_list(const struct phx_conf *c, const config_setting_t *group, const char *key, config_setting_t **ret,
		  struct phx_err *err)
{
	config_setting_t *s = config_setting_get_member(group, key);
	if (s && config_setting_type(s) != CONFIG_TYPE_LIST)
		return wrong_type(c, s, "a list: ( ..., ... )", err);
	*ret = s;
	return 0;
}
