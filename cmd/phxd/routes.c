/* The route table of phxd, made of routes.def. The right that a row asks for is checked here, when
 * the head of a request has arrived and nothing of its body has: so no handler can forget it. For
 * an upload the conditions of its handler are checked then, too. */
#include "phxd/api_journal.h"
#include "phxd/metrics.h"
#include "phxd/site.h"
#include "phxd/timeline.h"
#include "phxd/whatif.h"
#include "types/beacon.h"

#include <errno.h>
#include <stdio.h>

enum {
	U = 1u << PHX_HTTP_UNIX,
	T = 1u << PHX_HTTP_TLS,
	P = 1u << PHX_HTTP_PLAIN,
	R = 1u << 16,
	B = PHX_HTTP_UNCOUNTED
};
enum {
	BEACON = PHX_BEACON_MAX,
	SMALL = 64 << 10,
	LARGE = 1 << 20,
	SITE = 16 << 20,
	STAGE_MAX_MB = 16384
};

/* The handlers whose bodies are spooled to a file, each with the function that says whether the
 * body may come. */
static const struct {
	phx_http_handler handler;
	phx_http_gate gate;
} uploads[] = {
	{api_re_data_put, re_data_may_put},       {api_stage_out, stage_out_may_put},
	{api_job_output_put, job_output_may_put}, {api_workflow_submit, workflow_may_post},
	{api_workflow_check, workflow_may_post},  {api_workflow_convert, workflow_may_post},
	{api_trigger_create, workflow_may_post},
};

static bool may_spool(phx_http_handler handler, struct phx_http_request *q, void *arg)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(uploads); i++)
		if (uploads[i].handler == handler)
			return uploads[i].gate(q, arg);
	phx_http_reply_error(q, -EPERM, "not permitted: nobody uploads here");
	return false;
}

/* What people order is journalled, so the number of their orders has a limit (quota.c). */
static bool may_write(const char *method, enum phx_right right, struct phx_http_request *q,
		      struct daemon *d)
{
	bool writes = method[0] != 'G' && right != PHX_RIGHT_agent && right != PHX_RIGHT_public;
	return !writes || quota_may_write(d->quota, q);
}

#define ROUTE(method, path, via, handler, right, body_max, body_file) \
	static bool gate_##handler(struct phx_http_request *q, void *arg) \
	{ \
		return person_require(arg, q, PHX_RIGHT_##right) && \
			(!(body_file) || may_spool(handler, q, arg)); \
	} \
	/* reads stand in a line: when its turn comes, the right may be gone */ \
	static void late_##handler(struct phx_http_request *q, void *arg) \
	{ \
		if (person_require(arg, q, PHX_RIGHT_##right)) \
			handler(q, arg); \
	} \
	static void guarded_##handler(struct phx_http_request *q, void *arg) \
	{ \
		if ((body_file) && /* the upload may have taken long */ \
		    !person_require(arg, q, PHX_RIGHT_##right)) \
			return; \
		if (((via)&R) != 0) \
			reads_take(((struct daemon *)arg)->reads, q, late_##handler); \
		else if (may_write(method, PHX_RIGHT_##right, q, arg)) \
			handler(q, arg); \
	}
#include "phxd/routes.def"
#undef ROUTE

const struct phx_http_route routes[] = {
#define ROUTE(method, path, via, handler, right, body_max, body_file) \
	{method, \
	 path, \
	 ((via) & (U | T | P | B)) | (PHX_RIGHT_##right != PHX_RIGHT_public ? PHX_HTTP_CERT : 0), \
	 guarded_##handler, \
	 body_max, \
	 body_file, \
	 gate_##handler},
#include "phxd/routes.def"
#undef ROUTE
};
const size_t n_routes = PHX_ARRAY_SIZE(routes);

/* By what the row says: a handler that reads much, one that changes something, files for nodes. */
static enum metrics_class class_of(const char *method, const char *path, unsigned via)
{
	if (phx_str_starts(path, "/v1/agent/"))
		return via & B ? METRICS_beat : METRICS_agent;
	if (method[0] != 'G')
		return METRICS_write;
	if (!phx_str_starts(path, "/v1/"))
		return METRICS_file;
	return via & R ? METRICS_read : METRICS_look;
}

enum metrics_class routes_class(const struct phx_http_route *route)
{
	static const unsigned via[] = {
#define ROUTE(method, path, via, ...) via,
#include "phxd/routes.def"
#undef ROUTE
	};
	return route ? class_of(route->method, route->path, via[route - routes]) : METRICS_none;
}

static void print_scope(enum phx_scope scope)
{
	printf("\t%s", phx_enum_name(&phx_scope_names, (int)scope));
}

/* Prints how far a right goes for each role, for members of an RE, and for callers without a name.
 */
static void print_scopes(enum phx_right right)
{
	for (int who = 0; who < PHX_WHO_COUNT_; who++) {
		if (who == PHX_WHO_USER)
			print_scope(phx_right_member(right));
		print_scope(phx_right_cell(right, (enum phx_who)who));
	}
	print_scope(phx_right_scope(right, 0));
	printf("\n");
}

void routes_print(void)
{
	static const struct {
		const char *method, *path;
		unsigned via;
		enum phx_right right;
	} rows[] = {
#define ROUTE(method, path, via, handler, right, body_max, body_file) \
	{method, path, via, PHX_RIGHT_##right},
#include "phxd/routes.def"
#undef ROUTE
	};
	printf("method\tpath\tvia\tright");
	for (int who = 0; who < PHX_WHO_COUNT_; who++)
		printf("\t%s%s", who == PHX_WHO_USER ? "member\t" : "",
		       phx_enum_name(&phx_who_names, who));
	printf("\tnobody\n");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		printf("%s\t%s\t%s%s%s\t%s", rows[i].method, rows[i].path,
		       rows[i].via & U ? "U" : "", rows[i].via & T ? "T" : "",
		       rows[i].via & P ? "P" : "",
		       phx_enum_name(&phx_right_names, (int)rows[i].right));
		print_scopes(rows[i].right);
	}
}
