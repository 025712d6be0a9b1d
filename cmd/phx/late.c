/* Libraries that most commands never call, loaded at the first call: libcurl
 * (with Kerberos, LDAP and more behind it), by which phx reaches phxd, and
 * libxml2 (with ICU), by which it reads agreements. They take twice as long to
 * load as all the rest of phx to start, and `phx sim`, which needs neither of
 * phx, would start them for nothing. The functions here stand
 * before those of the libraries and pass every call on. phx is linked without
 * the two, so that the linker tells when a function is missing here. Decides
 * nothing. */
#include <curl/curl.h>
#include <dlfcn.h>
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <stdarg.h>
#include <stdatomic.h>

#include "phx/cli.h"

/* Not for the libraries: they go on calling their own. */
#define LATE __attribute__((visibility("hidden")))

static void *find(const char *library, const char *name)
{
	void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL); /* the same one each time */
	void *function = handle ? dlsym(handle, name) : NULL;
	if (!function)
		exit(cli_fail(CLI_PARTIAL, "%s", dlerror()));
	return function;
}

/* The function `name` of `library` as `type`, looked up once; two threads may find it at the same
 * time. */
#define FOUND(library, type, name) \
	({ \
		static _Atomic(__typeof__(type)) known_; \
		__typeof__(type) function_ = atomic_load(&known_); \
		if (!function_) { \
			function_ = (__typeof__(type))find(library, name); \
			atomic_store(&known_, function_); \
		} \
		function_; \
	})

/* ---- libcurl ---- */

#define CURL_FOUND(name, result, ...) FOUND("libcurl.so.4", result (*)(__VA_ARGS__), name)

LATE CURLcode curl_global_init(long flags)
{
	return CURL_FOUND("curl_global_init", CURLcode, long)(flags);
}

LATE void curl_global_cleanup(void)
{
	CURL_FOUND("curl_global_cleanup", void, void)();
}

LATE CURL *curl_easy_init(void)
{
	return CURL_FOUND("curl_easy_init", CURL *, void)();
}

LATE void curl_easy_cleanup(CURL *curl)
{
	CURL_FOUND("curl_easy_cleanup", void, CURL *)(curl);
}

LATE void curl_easy_reset(CURL *curl)
{
	CURL_FOUND("curl_easy_reset", void, CURL *)(curl);
}

/* The one value is a long, an offset or a pointer: all of them eight bytes where phx is built
 * for. */
_Static_assert(sizeof(void *) == sizeof(curl_off_t) && sizeof(void *) == sizeof(long),
	       "values of curl_easy_setopt()");

LATE CURLcode(curl_easy_setopt)(CURL *curl, CURLoption option, ...)
{
	va_list ap;
	va_start(ap, option);
	void *value = va_arg(ap, void *);
	va_end(ap);
	return CURL_FOUND("curl_easy_setopt", CURLcode, CURL *, CURLoption, ...)(curl, option,
										 value);
}

LATE CURLcode(curl_easy_getinfo)(CURL *curl, CURLINFO info, ...)
{
	va_list ap;
	va_start(ap, info);
	void *value = va_arg(ap, void *);
	va_end(ap);
	return CURL_FOUND("curl_easy_getinfo", CURLcode, CURL *, CURLINFO, ...)(curl, info, value);
}

LATE CURLcode curl_easy_perform(CURL *curl)
{
	return CURL_FOUND("curl_easy_perform", CURLcode, CURL *)(curl);
}

LATE CURLM *curl_multi_init(void)
{
	return CURL_FOUND("curl_multi_init", CURLM *, void)();
}

LATE CURLMcode curl_multi_cleanup(CURLM *multi)
{
	return CURL_FOUND("curl_multi_cleanup", CURLMcode, CURLM *)(multi);
}

LATE CURLMcode curl_multi_add_handle(CURLM *multi, CURL *curl)
{
	return CURL_FOUND("curl_multi_add_handle", CURLMcode, CURLM *, CURL *)(multi, curl);
}

LATE CURLMcode curl_multi_remove_handle(CURLM *multi, CURL *curl)
{
	return CURL_FOUND("curl_multi_remove_handle", CURLMcode, CURLM *, CURL *)(multi, curl);
}

LATE CURLMcode curl_multi_perform(CURLM *multi, int *running)
{
	return CURL_FOUND("curl_multi_perform", CURLMcode, CURLM *, int *)(multi, running);
}

LATE CURLMcode curl_multi_poll(CURLM *multi, struct curl_waitfd fds[], unsigned n, int timeout_ms,
			       int *ret)
{
	return CURL_FOUND("curl_multi_poll", CURLMcode, CURLM *, struct curl_waitfd *, unsigned,
			  int, int *)(multi, fds, n, timeout_ms, ret);
}

LATE CURLMsg *curl_multi_info_read(CURLM *multi, int *ret_left)
{
	return CURL_FOUND("curl_multi_info_read", CURLMsg *, CURLM *, int *)(multi, ret_left);
}

LATE const char *curl_easy_strerror(CURLcode code)
{
	return CURL_FOUND("curl_easy_strerror", const char *, CURLcode)(code);
}

LATE struct curl_slist *curl_slist_append(struct curl_slist *list, const char *text)
{
	return CURL_FOUND("curl_slist_append", struct curl_slist *, struct curl_slist *,
			  const char *)(list, text);
}

LATE void curl_slist_free_all(struct curl_slist *list)
{
	CURL_FOUND("curl_slist_free_all", void, struct curl_slist *)(list);
}

/* ---- libxml2 ---- */

#define XML_FOUND(name, result, ...) FOUND("libxml2.so.2", result (*)(__VA_ARGS__), name)

/* its texts come from malloc() as long as nobody tells it otherwise */
LATE xmlFreeFunc xmlFree = free;

LATE xmlParserCtxtPtr xmlNewParserCtxt(void)
{
	return XML_FOUND("xmlNewParserCtxt", xmlParserCtxtPtr, void)();
}

LATE void xmlFreeParserCtxt(xmlParserCtxtPtr ctxt)
{
	XML_FOUND("xmlFreeParserCtxt", void, xmlParserCtxtPtr)(ctxt);
}

LATE xmlDocPtr xmlCtxtReadMemory(xmlParserCtxtPtr ctxt, const char *text, int size, const char *url,
				 const char *encoding, int options)
{
	return XML_FOUND("xmlCtxtReadMemory", xmlDocPtr, xmlParserCtxtPtr, const char *, int,
			 const char *, const char *, int)(ctxt, text, size, url, encoding, options);
}

LATE xmlErrorPtr xmlCtxtGetLastError(void *ctxt)
{
	return XML_FOUND("xmlCtxtGetLastError", xmlErrorPtr, void *)(ctxt);
}

LATE void xmlFreeDoc(xmlDocPtr doc)
{
	XML_FOUND("xmlFreeDoc", void, xmlDocPtr)(doc);
}

LATE xmlNodePtr xmlDocGetRootElement(const xmlDoc *doc)
{
	return XML_FOUND("xmlDocGetRootElement", xmlNodePtr, const xmlDoc *)(doc);
}

LATE long xmlGetLineNo(const xmlNode *node)
{
	return XML_FOUND("xmlGetLineNo", long, const xmlNode *)(node);
}

LATE xmlChar *xmlGetNoNsProp(const xmlNode *node, const xmlChar *name)
{
	return XML_FOUND("xmlGetNoNsProp", xmlChar *, const xmlNode *, const xmlChar *)(node, name);
}

LATE xmlChar *xmlNodeGetContent(const xmlNode *node)
{
	return XML_FOUND("xmlNodeGetContent", xmlChar *, const xmlNode *)(node);
}

LATE int xmlIsBlankNode(const xmlNode *node)
{
	return XML_FOUND("xmlIsBlankNode", int, const xmlNode *)(node);
}
