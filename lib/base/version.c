/* See version.h. */
#include "base/version.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Weight of a character outside digit runs: '~' before the end, the end before
 * letters, letters before all else. */
static int weigh(char c)
{
	if (c == '~')
		return -1;
	if (c == '\0' || isdigit((unsigned char)c))
		return 0;
	return isalpha((unsigned char)c) ? (unsigned char)c : (unsigned char)c + 256;
}

/* Compares the digit runs at *a and *b as numbers of any length and steps over them. */
static int compare_digits(const char **a, const char **b)
{
	*a += strspn(*a, "0");
	*b += strspn(*b, "0");
	size_t n_a = strspn(*a, "0123456789"), n_b = strspn(*b, "0123456789");
	int r = n_a != n_b ? (n_a < n_b ? -1 : 1) : strncmp(*a, *b, n_a);
	*a += n_a;
	*b += n_b;
	return r;
}

int phx_version_compare(const char *a, const char *b)
{
	while (*a || *b) {
		while ((*a && !isdigit((unsigned char)*a)) || (*b && !isdigit((unsigned char)*b))) {
			int r = weigh(*a) - weigh(*b);
			if (r)
				return r;
			a++;
			b++;
		}
		int r = compare_digits(&a, &b);
		if (r)
			return r;
	}
	return 0;
}

/* "MAJOR.MINOR" at the beginning; -1: it is none. */
static long minor_of(const char *text, long *ret_major)
{
	char *end;
	if (!isdigit((unsigned char)*text))
		return -1;
	*ret_major = strtol(text, &end, 10);
	if (*end != '.' || !isdigit((unsigned char)end[1]))
		return -1;
	long minor = strtol(end + 1, &end, 10);
	return minor < PHX_VERSION_FAR && (!*end || strchr(".~+-", *end)) ? minor : -1;
}

int phx_version_ahead(const char *a, const char *b)
{
	long major_a = -1, major_b = -1;
	long minor_a = minor_of(a, &major_a), minor_b = minor_of(b, &major_b);
	if (minor_a >= 0 && minor_b >= 0 && major_a == major_b)
		return (int)(minor_a - minor_b);
	return minor_a < 0 || (minor_b >= 0 && major_a < major_b) ? -PHX_VERSION_FAR
								  : PHX_VERSION_FAR;
}
