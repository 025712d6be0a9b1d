/* Writes strings, checks and parses JSON texts of others, and reads members of objects: see json.h.
 * Called by code that reads from the network or a file without a record; does no I/O. */
#include "base/json.h"

#include <errno.h>
#include <string.h>

#include "base/utf8.h"

static void put_escaped(struct phx_buf *b, unsigned char c)
{
	static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
	const char *at = strchr(from, c);
	if (at)
		phx_buf_add(b, (char[]){'\\', to[at - from]}, 2);
	else
		phx_buf_addf(b, "\\u%04X", c);
}

/* Writes a string that is valid UTF-8. */
static void put_valid(struct phx_buf *b, const char *s)
{
	const char *from = s;
	phx_buf_add(b, "\"", 1);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;
		if (c >= 0x20 && c != '"' && c != '\\')
			continue;
		phx_buf_add(b, from, (size_t)(s - from));
		put_escaped(b, c);
		from = s + 1;
	}
	phx_buf_add(b, from, (size_t)(s - from));
	phx_buf_add(b, "\"", 1);
}

/* Has one of eight bytes the high bit, or is one below 0x20, a quote or a backslash? */
static bool any_special(uint64_t eight)
{
	const uint64_t ones = 0x0101010101010101, high = ones << 7;
	uint64_t quote = eight ^ ones * '"', backslash = eight ^ ones * '\\';
	return (eight | (eight - ones * 0x20) | (quote - ones) | (backslash - ones)) & high;
}

/* Is it printable ASCII with nothing to escape? */
static bool is_plain(const char *s, size_t n)
{
	uint64_t eight;
	for (; n >= sizeof(eight); s += sizeof(eight), n -= sizeof(eight)) {
		memcpy(&eight, s, sizeof(eight));
		if (any_special(eight))
			return false;
	}
	memset(&eight, ' ', sizeof(eight));
	memcpy(&eight, s, n);
	return !any_special(eight);
}

static void put_plain(struct phx_buf *b, const char *s, size_t n)
{
	char *to = phx_buf_extend(b, n + 2);
	if (!to)
		return;
	to[0] = to[n + 1] = '"';
	memcpy(to + 1, s, n);
}

/* A text that was truncated within a character must not prevent the state from being written. */
void phx_json_put_text(struct phx_buf *b, const char *text)
{
	size_t n = strlen(text);
	if (is_plain(text, n)) {
		put_plain(b, text, n);
		return;
	}
	PHX_AUTO_FREE char *copy = strdup(text);
	b->failed = b->failed || !copy;
	if (!copy)
		return;
	phx_utf8_repair(copy);
	put_valid(b, copy);
}

void phx_json_put_item(struct phx_buf *b)
{
	phx_buf_add(b, ",", b->n && b->data[b->n - 1] != '[');
}

void phx_json_put_tree(struct phx_buf *b, const json_t *j)
{
	PHX_AUTO_FREE char *text = phx_json_text(j);
	b->failed = b->failed || !text;
	if (text)
		phx_buf_add(b, text, strlen(text));
}

/* Checks the counts so far: every value follows a comma, or is the first one of its container. */
static int exceeds(const struct phx_json_shape *met, const struct phx_json_shape *max,
		   struct phx_err *err)
{
	if (met->depth > max->depth)
		return phx_err_set(err, -EINVAL, "JSON: nested deeper than %u", max->depth);
	if (met->containers > max->containers)
		return phx_err_set(err, -E2BIG, "JSON: more than %u objects and lists",
				   max->containers);
	if (max->values && met->values > max->values)
		return phx_err_set(err, -E2BIG, "JSON: more than %u values", max->values);
	return 0;
}

int phx_json_check_shape(const char *text, size_t n, const struct phx_json_shape *max,
			 struct phx_err *err)
{
	struct phx_json_shape met = {.values = n > 0};
	bool quoted = false;
	int r = 0;
	for (size_t i = 0; r == 0 && i < n; i++) {
		char c = text[i];
		bool opens = !quoted && (c == '{' || c == '[');
		if (quoted && c == '\\')
			i++;
		else if (c == '"')
			quoted = !quoted;
		else if (!quoted && met.depth && (c == '}' || c == ']'))
			met.depth--;
		met.depth += opens;
		met.containers += opens;
		met.values += opens || (!quoted && c == ',');
		r = exceeds(&met, max, err);
	}
	return r;
}

static int parse(const char *text, size_t n, size_t flags, json_t **ret_json, struct phx_err *err)
{
	json_error_t why;
	json_t *j = json_loadb(text, n, flags, &why);
	if (!j)
		return phx_err_set(err, -EINVAL, "JSON line %d, column %d: %s", why.line,
				   why.column, why.text);
	*ret_json = j;
	return 0;
}

int phx_json_parse(const char *text, size_t n, json_t **ret_json, struct phx_err *err)
{
	return parse(text, n, JSON_REJECT_DUPLICATES, ret_json, err);
}

int phx_json_parse_answer(const char *text, size_t n, json_t **ret_json, struct phx_err *err)
{
	return parse(text, n, 0, ret_json, err);
}

char *phx_json_text(const json_t *j)
{
	return json_dumps(j, JSON_COMPACT | JSON_ENCODE_ANY);
}

const char *phx_json_str(const json_t *j, const char *key, const char *fallback)
{
	const char *s = json_string_value(json_object_get(j, key));
	return s ? s : fallback;
}

int64_t phx_json_int(const json_t *j, const char *key, int64_t fallback)
{
	const json_t *v = json_object_get(j, key);
	return json_is_integer(v) ? json_integer_value(v) : fallback;
}

bool phx_json_bool(const json_t *j, const char *key, bool fallback)
{
	const json_t *v = json_object_get(j, key);
	return json_is_boolean(v) ? json_is_true(v) : fallback;
}

void phx_json_unref(json_t **j)
{
	json_decref(*j);
}
