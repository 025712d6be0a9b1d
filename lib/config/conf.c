/* libconfig files against tables of keys: see conf.h. Called by the readers of
 * this room; never changes a file. */
#include "config/conf.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"

int phx_conf_parse(const char *text, size_t n, const char *what, struct phx_conf *ret,
		   struct phx_err *err)
{
	if (n > PHX_CONF_FILE_MAX)
		return phx_err_set(err, -EFBIG, "%s: the file is larger than %u bytes", what,
				   PHX_CONF_FILE_MAX);
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
		r = phx_err_set(err, -EINVAL, "%s:%d: %s", what, config_error_line(&c.cfg),
				config_error_text(&c.cfg));
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

static int is_conf(const struct dirent *e)
{
	size_t n = strlen(e->d_name);
	return e->d_name[0] != '.' && n > 5 && !strcmp(e->d_name + n - 5, ".conf");
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

int phx_conf_each(const char *dir, int max,
		  int (*fn)(void *arg, const char *path, struct phx_err *err), void *arg,
		  struct phx_err *err)
{
	struct dirent **names = NULL;
	int n = scandir(dir, &names, is_conf, by_bytes);
	int r = n < 0     ? phx_err_set(err, -errno, "%s: %s", dir, strerror(errno))
		: n > max ? phx_err_set(err, -E2BIG, "%s: there are more than %d files", dir, max)
			  : 0;
	for (int i = 0; i < n; i++) {
		PHX_AUTO_FREE char *path = phx_path("%s/%s", dir, names[i]->d_name);
		if (r == 0)
			r = path ? fn(arg, path, err) : -ENOMEM;
		free(names[i]);
	}
	free(names);
	return r;
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

int phx_conf_place(const struct phx_conf *c, const config_setting_t *s, int code,
		   struct phx_err *err)
{
	uint32_t line = phx_conf_line(s);
	return line ? phx_err_prefix(err, code, "%s:%u", c->file, line)
		    : phx_err_prefix(err, code, "%s", c->file);
}

int phx_conf_fail(const struct phx_conf *c, const config_setting_t *s, int code,
		  struct phx_err *err, const char *fmt, ...)
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
	static const char *const names[] = {"nothing",   "a group",    "a number",
					    "a number",  "a fraction", "a text",
					    "a boolean", "an array",   "a list"};
	size_t t = (size_t)config_setting_type(s);
	return t < PHX_ARRAY_SIZE(names) ? names[t] : "unknown";
}

static int wrong_type(const struct phx_conf *c, const config_setting_t *s, const char *wanted,
		      struct phx_err *err)
{
	return phx_conf_fail(c, s, -EINVAL, err, "%s is %s; it must be %s", name_of(s), type_of(s),
			     wanted);
}

int phx_conf_text(const struct phx_conf *c, const config_setting_t *s, const char **ret,
		  struct phx_err *err)
{
	if (config_setting_type(s) != CONFIG_TYPE_STRING)
		return wrong_type(c, s, "a text: \"...\"", err);
	const char *text = config_setting_get_string(s);
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return phx_conf_fail(c, s, -EINVAL, err,
					     "%s holds a control character (\\x%02x); it must be "
					     "one printable line",
					     name_of(s), (unsigned char)*p);
	*ret = text;
	return 0;
}

int phx_conf_number(const struct phx_conf *c, const config_setting_t *s, uint64_t min, uint64_t max,
		    uint64_t *ret, struct phx_err *err)
{
	int type = config_setting_type(s);
	char wanted[96];
	snprintf(wanted, sizeof(wanted), "a whole number from %" PRIu64 " to %" PRIu64, min, max);
	if (type != CONFIG_TYPE_INT && type != CONFIG_TYPE_INT64)
		return wrong_type(c, s, wanted, err);
	long long v =
		type == CONFIG_TYPE_INT ? config_setting_get_int(s) : config_setting_get_int64(s);
	if (v < 0 || (uint64_t)v < min || (uint64_t)v > max)
		return phx_conf_fail(c, s, -EINVAL, err, "%s is %lld; it must be %s", name_of(s), v,
				     wanted);
	*ret = (uint64_t)v;
	return 0;
}

/* Text into the member; errors tell the key and what it is. */
static int get_text(const struct phx_conf *c, const config_setting_t *s, const struct phx_field *f,
		    void *member, struct phx_err *err)
{
	struct phx_err why = {0};
	const char *text;
	int r = phx_conf_text(c, s, &text, err);
	if (r < 0)
		return r;
	r = phx_key_parse(f, text, member, &why);
	if (r == 0)
		return 0;
	if (f->key->form == PHX_KEY_CHOICE)
		return phx_conf_fail(c, s, -EINVAL, err, "%s: %s", name_of(s), why.text);
	if (r == -ENAMETOOLONG)
		return phx_conf_fail(c, s, -EINVAL, err, "%s %s", name_of(s), why.text);
	return phx_conf_fail(c, s, -EINVAL, err, "%s = \"%s\" %s", name_of(s), text, why.text);
}

static int get_number(const struct phx_conf *c, const config_setting_t *s,
		      const struct phx_field *f, void *member, struct phx_err *err)
{
	bool text = config_setting_type(s) == CONFIG_TYPE_STRING;
	uint64_t v;
	if (text && f->key->form != PHX_KEY_NUMBER)
		return get_text(c, s, f, member, err);
	int r = phx_conf_number(c, s, f->key->min, f->key->max, &v, err);
	if (r == 0)
		*(uint32_t *)member = (uint32_t)v;
	return r;
}

static int get_size(const struct phx_conf *c, const config_setting_t *s, const struct phx_field *f,
		    void *member, struct phx_err *err)
{
	if (config_setting_type(s) == CONFIG_TYPE_STRING)
		return get_text(c, s, f, member, err);
	return phx_conf_number(c, s, 0, INT64_MAX, member, err);
}

/* Numbers that libconfig has in three types, into thousandths. */
static int get_milli(const struct phx_conf *c, const config_setting_t *s, const struct phx_field *f,
		     void *member, struct phx_err *err)
{
	int type = config_setting_type(s);
	double v = type == CONFIG_TYPE_FLOAT ? config_setting_get_float(s) : -1;
	double max = f->key->form == PHX_KEY_FRACTION ? 1000000 : 1e9;
	struct phx_err why = {0};
	if (type == CONFIG_TYPE_STRING && f->key->form == PHX_KEY_SPAN)
		return get_text(c, s, f, member, err);
	if (type == CONFIG_TYPE_INT)
		v = config_setting_get_int(s);
	else if (type == CONFIG_TYPE_INT64)
		v = (double)config_setting_get_int64(s);
	if (!(v >= 0 && v <= max))
		return phx_conf_fail(c, s, -EINVAL, err,
				     "%s must be a number from 0 to %.0f, like 1.5", name_of(s),
				     max);
	if (phx_key_put_milli(f, (uint64_t)(v * 1000 + 0.5), member, &why) < 0)
		return phx_conf_fail(c, s, -EINVAL, err, "%s %s", name_of(s), why.text);
	return 0;
}

static int get_yes(const struct phx_conf *c, const config_setting_t *s, const struct phx_field *f,
		   void *member, struct phx_err *err)
{
	(void)f;
	if (config_setting_type(s) != CONFIG_TYPE_BOOL)
		return wrong_type(c, s, "true or false", err);
	*(bool *)member = config_setting_get_bool(s);
	return 0;
}

static int get_words(const struct phx_conf *c, const config_setting_t *s, const struct phx_field *f,
		     void *member, struct phx_err *err)
{
	const struct phx_key key = {.name = f->key->name, .form = PHX_KEY_TEXT};
	const struct phx_field word = {.size = f->record->size, .key = &key};
	int type = config_setting_type(s), n = config_setting_length(s);
	if (type != CONFIG_TYPE_ARRAY && type != CONFIG_TYPE_LIST)
		return wrong_type(c, s, "a list of texts: [ \"...\", \"...\" ]", err);
	if (f->key->max && (uint32_t)n > f->key->max)
		return phx_conf_fail(c, s, -EINVAL, err, "%s has more than %u items", f->key->name,
				     f->key->max);
	phx_list_fini(member);
	for (int i = 0; i < n; i++) {
		void *item = phx_list_push(member, word.size);
		if (!item)
			return -ENOMEM;
		int r = get_text(c, config_setting_get_elem(s, (unsigned)i), &word, item, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int get_group(const struct phx_conf *c, const config_setting_t *s, const struct phx_field *f,
		     void *member, struct phx_err *err)
{
	return phx_conf_group(c, s, f->record, member, err);
}

static int get_other(const struct phx_conf *c, const config_setting_t *s, const struct phx_field *f,
		     void *member, struct phx_err *err)
{
	(void)c, (void)s, (void)f, (void)member, (void)err;
	return 0;
}

typedef int (*get_fn)(const struct phx_conf *c, const config_setting_t *s,
		      const struct phx_field *f, void *member, struct phx_err *err);

int phx_conf_value(const struct phx_conf *c, const config_setting_t *s, const struct phx_field *f,
		   void *member, struct phx_err *err)
{
	static const get_fn getters[] = {
		[PHX_KEY_TEXT] = get_text,     [PHX_KEY_NAME] = get_text,
		[PHX_KEY_PATH] = get_text,     [PHX_KEY_PLACE] = get_text,
		[PHX_KEY_ADDRESS] = get_text,  [PHX_KEY_PEER] = get_text,
		[PHX_KEY_RANGE] = get_text,    [PHX_KEY_NUMBER] = get_number,
		[PHX_KEY_BOUND] = get_number,  [PHX_KEY_TIME] = get_number,
		[PHX_KEY_SPAN] = get_milli,    [PHX_KEY_FRACTION] = get_milli,
		[PHX_KEY_SIZE] = get_size,     [PHX_KEY_YES] = get_yes,
		[PHX_KEY_CHOICE] = get_text,   [PHX_KEY_WORDS] = get_words,
		[PHX_KEY_GROUP] = get_group,   [PHX_KEY_OTHER] = get_other,
		[PHX_KEY_IDENTITY] = get_text,
	};
	return getters[f->key->form](c, s, f, member, err);
}

static int unknown_key(const struct phx_conf *c, const config_setting_t *s,
		       const struct phx_record *rec, struct phx_err *err)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	for (size_t i = 0; i < rec->n_fields; i++)
		if (rec->fields[i].key)
			phx_buf_addf(&b, "%s%s", b.n ? ", " : "", rec->fields[i].key->name);
	return phx_conf_fail(c, s, -EINVAL, err, "unknown key '%s'; known here: %s", name_of(s),
			     b.data ? b.data : "none");
}

int phx_conf_some(const struct phx_conf *c, const config_setting_t *s, const struct phx_record *rec,
		  void *obj, struct phx_err *err)
{
	int r = 0;
	for (size_t i = 0; i < rec->n_fields && r == 0; i++) {
		const struct phx_field *f = &rec->fields[i];
		void *member = (char *)obj + f->offset;
		const config_setting_t *m =
			f->key ? config_setting_get_member(s, f->key->name) : NULL;
		if (m)
			r = phx_conf_value(c, m, f, member, err);
		else if (f->key && !f->key->fallback)
			r = phx_conf_fail(c, s, -EINVAL, err, "%s is missing", f->key->name);
		else
			r = phx_key_default(f, member, err);
	}
	return r;
}

int phx_conf_group(const struct phx_conf *c, const config_setting_t *s,
		   const struct phx_record *rec, void *obj, struct phx_err *err)
{
	if (config_setting_type(s) != CONFIG_TYPE_GROUP)
		return wrong_type(c, s, "a group: { key = value; ... }", err);
	for (int i = 0; i < config_setting_length(s); i++) {
		const config_setting_t *m = config_setting_get_elem(s, (unsigned)i);
		if (!phx_key_find(rec, config_setting_name(m)))
			return unknown_key(c, m, rec, err);
	}
	return phx_conf_some(c, s, rec, obj, err);
}

int phx_conf_list(const struct phx_conf *c, const config_setting_t *group, const char *key,
		  config_setting_t **ret, struct phx_err *err)
{
	config_setting_t *s = config_setting_get_member(group, key);
	if (s && config_setting_type(s) != CONFIG_TYPE_LIST)
		return wrong_type(c, s, "a list: ( ..., ... )", err);
	*ret = s;
	return 0;
}
