/* Pages and shared texts from memory, with what browsers are told of them. Called by handlers, of
 * pages on the threads of a listener. */
#include "http/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* What a page may do: show its own files and ask its own head. */
static const struct {
	const char *name, *value;
} rules[] = {
	{"Content-Security-Policy",
	 "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src "
	 "'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors "
	 "'none'"},
	{"X-Content-Type-Options", "nosniff"},
	{"X-Frame-Options", "DENY"},
	{"Referrer-Policy", "no-referrer"},
	{"Cross-Origin-Opener-Policy", "same-origin"},
	{"Cross-Origin-Resource-Policy", "same-origin"},
	{"Vary", "Accept-Encoding"},
};

static const char *header(const struct phx_http_request *q, const char *name)
{
	return MHD_lookup_connection_value(q->mhd, MHD_HEADER_KIND, name);
}

bool phx_http_takes_gzip(const struct phx_http_request *q)
{
	const char *list = header(q, MHD_HTTP_HEADER_ACCEPT_ENCODING);
	const char *at = list ? strcasestr(list, "gzip") : NULL;
	return at && !phx_str_starts(at + strlen("gzip"), ";q=0");
}

static void add_headers(struct MHD_Response *r, const struct phx_http_page *page, const char *etag,
			bool gzip)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rules); i++)
		MHD_add_response_header(r, rules[i].name, rules[i].value);
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, page->type);
	MHD_add_response_header(r, MHD_HTTP_HEADER_ETAG, etag);
	MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL,
				page->immutable ? "max-age=31536000, immutable" : "no-cache");
	if (gzip)
		MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
}

void phx_http_reply_page(struct phx_http_request *q, const struct phx_http_page *page)
{
	bool gzip = page->gzip && phx_http_takes_gzip(q);
	char etag[96];
	snprintf(etag, sizeof(etag), "\"%.80s%s\"", page->etag, gzip ? "-gz" : "");
	const char *known = header(q, MHD_HTTP_HEADER_IF_NONE_MATCH);
	bool same = known && phx_http_etag_listed(known, etag);
	size_t n = same ? 0 : gzip ? page->n_gzip : page->n;
	/* it is only read, whatever the type says */
	void *data = (void *)(uintptr_t)(gzip ? page->gzip : page->data);
	struct MHD_Response *r = MHD_create_response_from_buffer(n, data, MHD_RESPMEM_PERSISTENT);
	if (!r) {
		phx_http_reply_error(q, -ENOMEM, "out of memory");
		return;
	}
	add_headers(r, page, etag, gzip);
	phx_http_give(q, same ? 304 : 200, r);
}

void phx_http_reply_shared(struct phx_http_request *q, const struct phx_http_shared *text)
{
	struct MHD_Response *r = MHD_create_response_from_buffer_with_free_callback_cls(
		text->n, (void *)(uintptr_t)text->data, text->done, text->arg);
	if (!r) {
		text->done(text->arg);
		phx_http_reply_error(q, -ENOMEM, "out of memory");
		return;
	}
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, text->type);
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(r, "Vary", MHD_HTTP_HEADER_ACCEPT_ENCODING);
	if (text->gzip)
		MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
	phx_http_give(q, 200, r);
}
