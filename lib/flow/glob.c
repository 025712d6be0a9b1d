/* Patterns of files: see glob.h. Pure. */
#include "flow/glob.h"

#include <errno.h>
#include <string.h>

size_t phx_glob_part(const char *path, unsigned i, const char **ret)
{
	const char *at = path;
	for (; i && at; i--) {
		at = strchr(at, '/');
		at = at ? at + 1 : NULL;
	}
	*ret = at;
	return at ? strcspn(at, "/") : 0;
}

/* Is `c` in the set at `*at`, which points behind its '['? If so, *at moves behind its ']'. A set
 * without an end matches nothing. */
static bool in_set(const char **at, const char *end, unsigned char c)
{
	const char *p = *at;
	bool other = p < end && *p == '!', found = false;
	p += other;
	for (bool first = true; p < end && (*p != ']' || first); first = false) {
		unsigned char from = (unsigned char)*p, to = from;
		if (p + 2 < end && p[1] == '-' && p[2] != ']') {
			to = (unsigned char)p[2];
			p += 2;
		}
		found = found || (from <= c && c <= to);
		p++;
	}
	if (p >= end)
		return false;
	*at = p + 1;
	return found != other;
}

/* Matches one element of the pattern, other than '*', against one byte; *at moves behind it. */
static bool sign_meets(const char **at, const char *end, char c)
{
	char sign = *(*at)++;
	if (sign == '?')
		return true;
	if (sign == '[')
		return in_set(at, end, (unsigned char)c);
	if (sign == '\\' && *at < end)
		sign = *(*at)++;
	return sign == c;
}

/* On a mismatch the last '*' takes one byte more, so the time is at most the pattern's length times
 * the name's. */
bool phx_glob_meets(const char *part, size_t n_part, const char *name, size_t n)
{
	const char *end = part + n_part, *last = name + n, *star = NULL, *from = NULL;
	if (n && name[0] == '.' && !(n_part && part[0] == '.'))
		return false;
	while (name < last) {
		const char *next = part;
		if (part < end && *part == '*') {
			star = ++part;
			from = name;
		} else if (part < end && sign_meets(&next, end, *name)) {
			part = next;
			name++;
		} else if (star) {
			part = star;
			name = ++from;
		} else {
			return false;
		}
	}
	while (part < end && *part == '*')
		part++;
	return part == end;
}

bool phx_glob_meets_path(const char *pattern, const char *path)
{
	const char *part, *name;
	size_t n_part, n;
	for (unsigned i = 0;; i++) {
		n_part = phx_glob_part(pattern, i, &part);
		n = phx_glob_part(path, i, &name);
		if (!n_part || !n)
			return !n_part && !n;
		if (!phx_glob_meets(part, n_part, name, n))
			return false;
	}
}

/* Is every set closed, and no '\' the last byte? */
static bool is_closed(const char *part, size_t n)
{
	const char *end = part + n, *p = part;
	while (p < end) {
		if (*p == '[') {
			const char *set = p + 1 + (p + 1 < end && p[1] == '!');
			const char *close = set + 1 < end
				? memchr(set + 1, ']', (size_t)(end - set - 1))
				: NULL;
			if (!close)
				return false;
			p = close;
		} else if (*p == '\\' && ++p == end) {
			return false;
		}
		p++;
	}
	return true;
}

int phx_glob_check(const char *pattern, struct phx_err *err)
{
	const char *part;
	unsigned n_parts = 0;
	int r = phx_beneath_check(pattern, err);
	if (r < 0)
		return r;
	for (size_t n; (n = phx_glob_part(pattern, n_parts, &part)); n_parts++)
		if (!is_closed(part, n))
			return phx_err_set(err, -EINVAL,
					   "'%.80s' has a '[' without its ']', or ends in a '\\'",
					   pattern);
	if (n_parts > PHX_GLOB_PARTS_MAX)
		return phx_err_set(err, -EINVAL, "'%.80s' has more than %d directories", pattern,
				   PHX_GLOB_PARTS_MAX - 1);
	return 0;
}
