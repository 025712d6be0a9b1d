/* Paths of requests against the routes of phxd. What a route sees has no '/', no control character
 * and no way upward in it, and is never empty.
 * Parsers: lib/http/route.c */
#include "fuzz/fuzz.h"
#include "http/internal.h"

static const char *const patterns[] = {
#define ROUTE(method, path, via, handler, person, body_max, body_file) path,
#include "phxd/routes.def"
};

static void check_text(const char *s, bool rest)
{
	for (const char *p = s; *p; p++)
		fuzz_never((unsigned char)*p < 0x20 || *p == 0x7f || (!rest && *p == '/'));
	fuzz_never(!strcmp(s, ".") || !strcmp(s, ".."));
}

static void check_match(const struct phx_http_path *p, const char *pattern)
{
	char *params[PHX_HTTP_PARAMS_MAX];
	if (!phx_http_path_match(pattern, p, params))
		return;
	for (size_t i = 0; i < PHX_HTTP_PARAMS_MAX; i++) {
		fuzz_never(params[i] && (!params[i][0] || params[i][0] == '/'));
		if (params[i])
			check_text(params[i], strstr(pattern, "**"));
		free(params[i]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text = fuzz_text(data, n), *decoded = NULL;
	struct phx_http_path p = {0};
	struct phx_err err = {0};
	if (phx_http_path_parse(text, &p, &err) == 0) {
		for (size_t i = 0; i < p.n; i++)
			check_text(p.segments[i], false);
		for (size_t i = 0; i < PHX_ARRAY_SIZE(patterns); i++)
			check_match(&p, patterns[i]);
	} else {
		fuzz_never(!err.text[0] || p.n);
	}
	phx_http_path_fini(&p);
	if (phx_http_decode(text, strlen(text), &decoded) == 0)
		check_text(*decoded == '.' ? "" : decoded, true);
	free(decoded);
	free(text);
	return 0;
}
