/* The route table of phxd, made of routes.def. Whoever a row asks for is checked
 * here, before the handler: no handler can forget it. */
#include "phxd/daemon.h"

enum { U = 1u << PHX_HTTP_UNIX, T = 1u << PHX_HTTP_TLS, P = 1u << PHX_HTTP_PLAIN };
enum { SMALL = 64 << 10, LARGE = 1 << 20, FILE_MAX_MB = 64, STAGE_MAX_MB = 16384 };

#define ROUTE(method, path, via, handler, person, body_max, body_file)                   \
	static void guarded_##handler(struct phx_http_request *q, void *arg)             \
	{                                                                                \
		if (PERSON_##person == PERSON_NOBODY || person_require(arg, q, PERSON_##person)) \
			handler(q, arg);                                                 \
	}
#include "phxd/routes.def"
#undef ROUTE

const struct phx_http_route routes[] = {
#define ROUTE(method, path, via, handler, person, body_max, body_file) \
	{ method, path, (via) | (PERSON_##person != PERSON_NOBODY ? PHX_HTTP_CERT : 0), guarded_##handler, body_max, \
	  body_file },
#include "phxd/routes.def"
#undef ROUTE
};
const size_t n_routes = PHX_ARRAY_SIZE(routes);
