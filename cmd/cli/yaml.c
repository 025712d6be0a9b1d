/* YAML of a JSON value: block style, strings in double quotes (JSON's own escapes) wherever a
 * plain scalar could be read as something else. Called by output.c; prints nothing. */
#include <string.h>

#include "base/json.h"
#include "cli/cli.h"

static void put_node(struct phx_buf *b, const json_t *value, unsigned depth, bool in_list);

/* Letters first, then what no YAML reader takes for syntax. */
static bool plain(const char *s)
{
	static const char *const words[] = {"null", "true", "false", "yes", "no",  "on",
					    "off",  "y",    "n",     "nan", "inf", "~"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(words); i++)
		if (!strcasecmp(s, words[i]))
			return false;
	size_t n = strlen(s);
	bool letter = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || *s == '/';
	return letter && s[n - 1] != ' ' &&
		strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./ ") ==
		n;
}

static void put_scalar(struct phx_buf *b, const json_t *value)
{
	if (json_is_string(value) && plain(json_string_value(value))) {
		phx_buf_addf(b, "%s", json_string_value(value));
		return;
	}
	PHX_AUTO_FREE char *text = phx_json_text(value);
	cli_put_json(b, text ? text : "null");
}

static bool is_nested(const json_t *value)
{
	return (json_is_object(value) && json_object_size(value)) ||
		(json_is_array(value) && json_array_size(value));
}

static void put_object(struct phx_buf *b, const json_t *value, unsigned depth, bool in_list)
{
	const char *key;
	json_t *item;
	json_object_foreach((json_t *)value, key, item) {
		/* the first key of a list item stands behind its dash */
		phx_buf_addf(b, "%*s", in_list ? 0 : (int)depth * 2, "");
		in_list = false;
		json_t *name = json_string(key);
		put_scalar(b, name);
		json_decref(name);
		phx_buf_addf(b, ":%s", is_nested(item) ? "\n" : " ");
		put_node(b, item, depth + (json_is_object(item) ? 1 : 0), false);
	}
}

static void put_array(struct phx_buf *b, const json_t *value, unsigned depth)
{
	size_t i;
	json_t *item;
	json_array_foreach((json_t *)value, i, item) {
		phx_buf_addf(b, "%*s- ", (int)depth * 2, "");
		if (json_is_array(item) && json_array_size(item))
			phx_buf_addf(b, "\n");
		put_node(b, item, depth + 1, true);
	}
}

static void put_node(struct phx_buf *b, const json_t *value, unsigned depth, bool in_list)
{
	if (!is_nested(value)) {
		put_scalar(b, value);
		phx_buf_addf(b, "\n");
	} else if (json_is_object(value)) {
		put_object(b, value, depth, in_list);
	} else {
		put_array(b, value, depth);
	}
}

void cli_yaml(struct phx_buf *b, const json_t *value)
{
	put_node(b, value, 0, false);
}
