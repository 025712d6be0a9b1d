/* What the headers Range and If-None-Match of a request for a file say. Called by file.c; pure:
 * memory and strings. */
#include "http/internal.h"

#include <errno.h>
#include <string.h>

/* Digits at *s; steps over them. -EINVAL when there are none or too many. */
static int take_number(const char **s, uint64_t *ret)
{
	size_t n = strspn(*s, "0123456789");
	char digits[20];
	if (n == 0 || n >= sizeof(digits))
		return -EINVAL;
	memcpy(digits, *s, n);
	digits[n] = '\0';
	*s += n;
	return phx_u64_parse(digits, 0, INT64_MAX, ret);
}

enum phx_http_range phx_http_range_parse(const char *s, uint64_t size, uint64_t *ret_from,
					 uint64_t *ret_n)
{
	uint64_t first = 0, last = UINT64_MAX, n = 0;
	if (!s || !phx_str_starts(s, "bytes="))
		return PHX_HTTP_RANGE_NONE;
	s += strlen("bytes=");
	if (*s == '-') {
		s++;
		if (take_number(&s, &n) < 0 || *s)
			return PHX_HTTP_RANGE_NONE;
		first = n < size ? size - n : 0;
		last = n ? UINT64_MAX : 0;
		if (n == 0)
			return PHX_HTTP_RANGE_BAD;
	} else {
		if (take_number(&s, &first) < 0 || *s++ != '-' ||
		    (*s && take_number(&s, &last) < 0) || *s || last < first)
			return PHX_HTTP_RANGE_NONE;
	}
	if (first >= size)
		return PHX_HTTP_RANGE_BAD;
	*ret_from = first;
	*ret_n = (last < size ? last + 1 : size) - first;
	return PHX_HTTP_RANGE_PART;
}

bool phx_http_etag_listed(const char *list, const char *etag)
{
	size_t n = strlen(etag);
	for (const char *p = list; (p = strstr(p, etag)); p += n)
		if (strchr(", ", p[n]) || !p[n])
			return true;
	return !strcmp(list, "*");
}
