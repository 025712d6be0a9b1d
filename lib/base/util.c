/* Strings, numbers, enum tables, lists and buffers: see util.h. Called from
 * everywhere, pure rooms included; opens nothing, prints nothing. */
#include "base/util.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int phx_str_copy(char *dst, size_t dst_size, const char *src)
{
	size_t n = src ? strlen(src) : 0;
	if (n >= dst_size)
		return -ENAMETOOLONG;
	if (n)
		memmove(dst, src, n);
	dst[n] = '\0';
	return 0;
}

bool phx_str_eq(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

bool phx_str_starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* Not fnmatch(), which depends on the locale. */
bool phx_str_matches(const char *pattern, const char *s)
{
	const char *star = NULL, *resume = NULL;
	while (*s) {
		if (*pattern == '*') {
			star = pattern++;
			resume = s;
		} else if (*pattern == '?' || *pattern == *s) {
			pattern++;
			s++;
		} else if (star) {
			pattern = star + 1;
			s = ++resume;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

/* Not isalnum(): names are ASCII whatever the locale. */
static bool name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool phx_name_valid(const char *s)
{
	if (!s || !name_char(s[0]) || strlen(s) >= PHX_NAME_MAX || strstr(s, ".."))
		return false;
	for (; *s; s++)
		if (!name_char(*s) && !strchr("-_.", *s))
			return false;
	return true;
}

/* Leading decimal digits of `s` into `ret_value`; returns how many, or -ERANGE. */
static int scan_digits(const char *s, uint64_t *ret_value)
{
	uint64_t v = 0;
	int n = 0;
	for (; s[n] >= '0' && s[n] <= '9'; n++)
		if (__builtin_mul_overflow(v, (uint64_t)10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(s[n] - '0'), &v))
			return -ERANGE;
	*ret_value = v;
	return n;
}

int phx_u64_parse(const char *s, uint64_t min, uint64_t max, uint64_t *ret_value)
{
	uint64_t v = 0;
	int n = s ? scan_digits(s, &v) : 0;
	if (n < 0)
		return n;
	if (n == 0 || s[n])
		return -EINVAL;
	if (v < min || v > max)
		return -ERANGE;
	*ret_value = v;
	return 0;
}

struct unit {
	const char *name;
	uint64_t factor;
};

/* "NUMBER [UNIT]" with the units of a table. */
static int parse_with_unit(const char *s, const struct unit *units, size_t n_units,
			   uint64_t *ret_value)
{
	uint64_t v = 0;
	int n = s ? scan_digits(s, &v) : 0;
	if (n < 0)
		return n;
	if (n == 0)
		return -EINVAL;
	s += n;
	while (*s == ' ')
		s++;
	for (size_t i = 0; i < n_units; i++) {
		if (strcmp(s, units[i].name))
			continue;
		if (__builtin_mul_overflow(v, units[i].factor, &v))
			return -ERANGE;
		*ret_value = v;
		return 0;
	}
	return -EINVAL;
}

int phx_size_parse(const char *s, uint64_t *ret_bytes)
{
	static const struct unit units[] = {
		{"", 1},
		{"B", 1},
		{"K", 1ULL << 10},
		{"KiB", 1ULL << 10},
		{"KB", 1000ULL},
		{"M", 1ULL << 20},
		{"MiB", 1ULL << 20},
		{"MB", 1000000ULL},
		{"G", 1ULL << 30},
		{"GiB", 1ULL << 30},
		{"GB", 1000000000ULL},
		{"T", 1ULL << 40},
		{"TiB", 1ULL << 40},
		{"TB", 1000000000000ULL},
	};
	return parse_with_unit(s, units, PHX_ARRAY_SIZE(units), ret_bytes);
}

const char *phx_size_format(uint64_t bytes, char *buf, size_t buf_size)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double v = (double)bytes;
	size_t u = 0;
	for (; v >= 1024 && u + 1 < PHX_ARRAY_SIZE(units); u++)
		v /= 1024;
	snprintf(buf, buf_size, u ? "%.1f %s" : "%.0f %s", v, units[u]);
	return buf;
}

int phx_duration_parse(const char *s, uint64_t *ret_seconds)
{
	static const struct unit units[] = {
		{"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
	return parse_with_unit(s, units, PHX_ARRAY_SIZE(units), ret_seconds);
}

int phx_mac_parse(const char *s, char ret_mac[PHX_MAC_MAX])
{
	size_t n = s ? strlen(s) : 0;
	size_t step = n == 17 ? 3 : 2; /* 17 characters: with separators, all alike; else without */
	if (n != 17 && n != 12)
		return -EINVAL;
	char mac[PHX_MAC_MAX] = "";
	for (size_t i = 0; i < 6; i++) {
		const char *pair = s + i * step;
		if (!isxdigit((unsigned char)pair[0]) || !isxdigit((unsigned char)pair[1]))
			return -EINVAL;
		if (step == 3 && i < 5 && (pair[2] != s[2] || !strchr(":-", s[2])))
			return -EINVAL;
		mac[i * 3] = (char)tolower((unsigned char)pair[0]);
		mac[i * 3 + 1] = (char)tolower((unsigned char)pair[1]);
		mac[i * 3 + 2] = i < 5 ? ':' : '\0';
	}
	memcpy(ret_mac, mac, sizeof(mac));
	return 0;
}

bool phx_is_hex(const char *text, size_t digits)
{
	return strlen(text) == digits && strspn(text, "0123456789abcdef") == digits;
}

bool phx_is_sha256(const char *text)
{
	return phx_is_hex(text, 64);
}

void phx_hex(const void *bytes, size_t n, char *ret)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *b = bytes;
	for (size_t i = 0; i < n; i++) {
		ret[2 * i] = digits[b[i] >> 4];
		ret[2 * i + 1] = digits[b[i] & 15];
	}
	ret[2 * n] = '\0';
}

static uint8_t digit_of(char c)
{
	return (uint8_t)(c >= 'a' ? c - 'a' + 10 : c - '0');
}

bool phx_unhex(const char *text, size_t n, void *ret)
{
	uint8_t *b = ret;
	if (strspn(text, "0123456789abcdef") < 2 * n)
		return false;
	for (size_t i = 0; i < n; i++)
		b[i] = (uint8_t)(digit_of(text[2 * i]) << 4 | digit_of(text[2 * i + 1]));
	return true;
}

const char *phx_enum_name(const struct phx_enum *e, int value)
{
	return value >= 0 && value < e->n_names ? e->names[value] : "?";
}

int phx_enum_parse(const struct phx_enum *e, const char *name, int *ret_value, struct phx_err *err)
{
	for (int i = 0; name && i < e->n_names; i++)
		if (!strcmp(e->names[i], name)) {
			*ret_value = i;
			return 0;
		}
	PHX_AUTO(phx_buf_fini) struct phx_buf list = {0};
	for (int i = 0; i < e->n_names; i++)
		phx_buf_addf(&list, "%s%s", i ? ", " : "", e->names[i]);
	return phx_err_set(err, -EINVAL, "'%s' is no %s; there are: %s", name ? name : "", e->what,
			   list.data ? list.data : "");
}

void *phx_list_push(struct phx_list *l, size_t item_size)
{
	if (l->n == l->cap) {
		/* lists of large items (disks, steps) mostly have one */
		uint32_t cap = l->cap ? l->cap * 2 : item_size < 128 ? 4 : 1;
		void *items = cap > l->cap ? reallocarray(l->items, cap, item_size) : NULL;
		if (!items)
			return NULL;
		l->items = items;
		l->cap = cap;
	}
	void *item = (char *)l->items + (size_t)l->n++ * item_size;
	memset(item, 0, item_size);
	return item;
}

void phx_list_remove(struct phx_list *l, size_t item_size, uint32_t i)
{
	char *at = (char *)l->items + (size_t)i * item_size;
	memmove(at, at + item_size, (size_t)(l->n - i - 1) * item_size);
	l->n--;
}

uint32_t phx_list_place(const struct phx_list *l, size_t item_size, phx_list_key *key_of,
			uint64_t key)
{
	uint32_t low = 0, high = l->n;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (key_of((const char *)l->items + (size_t)middle * item_size) < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void phx_list_fini(struct phx_list *l)
{
	free(l->items);
	*l = (struct phx_list){0};
}

bool phx_buf_reserve(struct phx_buf *b, size_t n)
{
	if (b->failed)
		return false;
	if (b->n + n + 1 <= b->cap)
		return true;
	size_t cap = b->cap ? b->cap * 2 : 128;
	while (cap < b->n + n + 1)
		cap *= 2;
	char *data = realloc(b->data, cap);
	if (!data) {
		b->failed = true;
		return false;
	}
	b->data = data;
	b->cap = cap;
	return true;
}

void phx_buf_addf(struct phx_buf *b, const char *fmt, ...)
{
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		b->failed = true;
	else if (phx_buf_reserve(b, (size_t)n)) {
		vsnprintf(b->data + b->n, (size_t)n + 1, fmt, again);
		b->n += (size_t)n;
	}
	va_end(again);
}

void phx_buf_fini(struct phx_buf *b)
{
	free(b->data);
	*b = (struct phx_buf){0};
}

char *phx_buf_take(struct phx_buf *b)
{
	phx_buf_add(b, "", 0);
	char *data = b->failed ? NULL : PHX_TAKE(b->data);
	char *less =
		data ? realloc(data, b->n + 1) : NULL; /* shrunk, since it may be kept for long */
	phx_buf_fini(b);
	return less ? less : data;
}

/* ---- paths below a directory ---- */

enum { BENEATH_MAX = 255 };

static bool part_is_good(const char *part, size_t n)
{
	bool dots = (n == 1 && part[0] == '.') || (n == 2 && part[0] == '.' && part[1] == '.');
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)part[i] < 0x20 || part[i] == 0x7f)
			return false;
	return n && !dots;
}

int phx_beneath_check(const char *path, struct phx_err *err)
{
	bool good = strlen(path) <= BENEATH_MAX;
	for (const char *part = path; good && part;) {
		const char *slash = strchr(part, '/');
		good = part_is_good(part, slash ? (size_t)(slash - part) : strlen(part));
		part = slash ? slash + 1 : NULL;
	}
	return good ? 0
		    : phx_err_set(err, -EINVAL,
				  "'%.80s' must be a path within the data directory: relative, "
				  "printable, without '.' and '..'",
				  path);
}
