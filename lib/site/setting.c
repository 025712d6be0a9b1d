/* Records of what profiles and nodes say: see setting.h. Pure. */
#include "site/setting.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

PHX_RECORD_TABLE(phx_site_value, PHX_SITE_VALUE_FIELDS);
PHX_RECORD_TABLE(phx_site_mount, PHX_SITE_MOUNT_FIELDS);
PHX_RECORD_TABLE(phx_site_nic, PHX_SITE_NIC_FIELDS);
PHX_RECORD_TABLE(phx_site_set, PHX_SITE_SET_FIELDS);

static const struct {
	const char *key;
	enum phx_site_form form;
	size_t list; /* offset in struct phx_site_set */
} kinds[] = {
#define VALUE(name, form) {#name, PHX_SITE_##form, offsetof(struct phx_site_set, name)},
	PHX_SITE_VALUES(VALUE)
#undef VALUE
};

const char *phx_site_value_key(enum phx_site_value_kind kind)
{
	return kinds[kind].key;
}

enum phx_site_form phx_site_value_form(enum phx_site_value_kind kind)
{
	return kinds[kind].form;
}

const struct phx_list *phx_site_values(const struct phx_site_set *s, enum phx_site_value_kind kind)
{
	return (const struct phx_list *)(const void *)((const char *)s + kinds[kind].list);
}

struct phx_list *phx_site_values_in(struct phx_site_set *s, enum phx_site_value_kind kind)
{
	return (struct phx_list *)(void *)((char *)s + kinds[kind].list);
}

int phx_site_value_parse(enum phx_site_form form, const char *text, struct phx_site_value *ret,
			 struct phx_err *err)
{
	struct phx_site_value v = {.line = ret->line};
	size_t n = form == PHX_SITE_TEXTS ? 0 : strcspn(text, "=");
	bool pair = form == PHX_SITE_SPLIT;
	while (pair && n && text[n - 1] == ' ')
		n--;
	if (pair && (!n || !strchr(text, '=')))
		return phx_err_set(err, -EINVAL, "\"%.100s\" must be as \"NAME=value\"", text);
	if (n >= sizeof(v.name))
		return phx_err_set(err, -ENAMETOOLONG, "the name in \"%.100s\" is longer than %zu",
				   text, sizeof(v.name) - 1);
	memcpy(v.name, text, n);
	const char *value = pair ? strchr(text, '=') + 1 : text;
	value += pair ? strspn(value, " ") : 0;
	if (PHX_STR_SET(v.text, value) < 0)
		return phx_err_set(err, -ENAMETOOLONG, "\"%.100s...\" is longer than %zu", text,
				   sizeof(v.text) - 1);
	*ret = v;
	return 0;
}

void phx_site_place(const struct phx_site_set *s, uint32_t line, char ret[PHX_SITE_PLACE_MAX])
{
	const char *colon = strrchr(s->place, ':');
	int n = colon ? (int)(colon - s->place) : (int)strlen(s->place);
	snprintf(ret, PHX_SITE_PLACE_MAX, "%.*s:%u", n > 300 ? 300 : n, s->place, line);
}
