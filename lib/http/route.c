/* Paths and the route table. Called by request.c for every request; pure: memory and strings. */
#include "http/internal.h"

#include <errno.h>
#include <string.h>

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int phx_http_decode(const char *s, size_t n, char **ret_text)
{
	PHX_AUTO_FREE char *text = malloc(n + 1);
	if (!text)
		return -ENOMEM;
	size_t out = 0;
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];
		if (c == '%') {
			int high = i + 2 < n ? hex_digit(s[i + 1]) : -1;
			int low = i + 2 < n ? hex_digit(s[i + 2]) : -1;
			if (high < 0 || low < 0)
				return -EINVAL;
			c = (unsigned char)(high * 16 + low);
			i += 2;
		}
		if (c < 0x20 || c == 0x7f)
			return -EINVAL;
		text[out++] = (char)c;
	}
	text[out] = '\0';
	*ret_text = PHX_TAKE(text);
	return 0;
}

void phx_http_path_fini(struct phx_http_path *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->segments[i]);
	*p = (struct phx_http_path){0};
}

static int add_segment(struct phx_http_path *p, const char *s, size_t n, struct phx_err *err)
{
	if (p->n == PHX_HTTP_SEGMENTS_MAX)
		return phx_err_set(err, -EINVAL, "path: more than %d segments",
				   PHX_HTTP_SEGMENTS_MAX);
	char *text = NULL;
	int r = phx_http_decode(s, n, &text);
	if (r < 0)
		return phx_err_set(err, r,
				   "path: segment %zu has a bad escape or a control character",
				   p->n + 1);
	p->segments[p->n++] = text;
	if (strchr(text, '/') || !strcmp(text, ".") || !strcmp(text, ".."))
		return phx_err_set(err, -EINVAL,
				   "path: segment %zu may not be '.' or '..' or hold a '/'", p->n);
	return 0;
}

int phx_http_path_parse(const char *raw, struct phx_http_path *ret, struct phx_err *err)
{
	PHX_AUTO(phx_http_path_fini) struct phx_http_path p = {0};
	if (raw[0] != '/')
		return phx_err_set(err, -EINVAL, "path: must begin with '/'");
	for (const char *s = raw + 1; raw[1];) {
		size_t n = strcspn(s, "/");
		int r = add_segment(&p, s, n, err);
		if (r < 0)
			return r;
		if (!s[n])
			break;
		s += n + 1;
	}
	*ret = p;
	p = (struct phx_http_path){0};
	return 0;
}

/* Segments from `from` on, joined again; NULL when one is empty or memory is out. */
static char *join_rest(const struct phx_http_path *p, size_t from)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	for (size_t i = from; i < p->n; i++) {
		if (!p->segments[i][0])
			return NULL;
		phx_buf_addf(&b, "%s%s", i > from ? "/" : "", p->segments[i]);
	}
	return phx_buf_take(&b);
}

/* The text that pattern piece `at` of length `n` takes from segment `i`: malloc'd for a wildcard,
 * NULL for a literal. False when it does not fit. */
static bool match_piece(const char *at, size_t n, const struct phx_http_path *p, size_t i,
			char **ret_param)
{
	*ret_param = NULL;
	if (i >= p->n)
		return false;
	if (n == 2 && !strncmp(at, "**", 2))
		*ret_param = join_rest(p, i);
	else if (n == 1 && *at == '*')
		*ret_param = p->segments[i][0] ? strdup(p->segments[i]) : NULL;
	else
		return strlen(p->segments[i]) == n && !strncmp(p->segments[i], at, n);
	return *ret_param != NULL;
}

/* Does the path differ before the pattern's first wildcard? A request is compared with every
 * route, and most differ in their first letters: nothing is measured or copied for these. */
static bool begins_otherwise(const char *pattern, const struct phx_http_path *p)
{
	const char *at = pattern + 1;
	for (size_t i = 0; i < p->n && *at != '*'; i++) {
		const char *text = p->segments[i];
		for (; *text && *text == *at; at++)
			text++;
		if (*text || (*at && *at != '/'))
			return true;
		at += *at == '/';
	}
	return false;
}

bool phx_http_path_match(const char *pattern, const struct phx_http_path *p,
			 char *ret_params[PHX_HTTP_PARAMS_MAX])
{
	if (begins_otherwise(pattern, p))
		return false;
	char *params[PHX_HTTP_PARAMS_MAX] = {0};
	size_t n_params = 0, i = 0;
	bool fits = true, rest = false;
	for (const char *at = pattern[1] ? pattern + 1 : NULL; fits && at; i++) {
		size_t n = strcspn(at, "/");
		char *param = NULL;
		rest = n == 2 && !strncmp(at, "**", 2);
		fits = match_piece(at, n, p, i, &param);
		if (param && n_params < PHX_HTTP_PARAMS_MAX)
			params[n_params++] = PHX_TAKE(param);
		free(param);
		at = at[n] ? at + n + 1 : NULL;
	}
	fits = fits && (rest || i == p->n);
	for (size_t k = 0; k < PHX_HTTP_PARAMS_MAX; k++) {
		if (fits)
			ret_params[k] = params[k];
		else
			free(params[k]);
	}
	return fits;
}
