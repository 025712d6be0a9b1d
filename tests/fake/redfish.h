/* A fake Redfish service for tests, on libmicrohttpd: one ComputerSystem with
 * PowerState, the Reset action and the boot override, HTTP basic authentication
 * (admin, secret), and faults that a test can switch on. The paths, names and
 * answers are those of DMTF's Redfish schema; there is no machine behind it. */
#ifndef TESTS_FAKE_REDFISH_H
#define TESTS_FAKE_REDFISH_H

#include <jansson.h>
#include <microhttpd.h>
#include <pthread.h>

#include "unit/power/help.h"

#define FAKE_SYSTEM "/redfish/v1/Systems/1"

struct fake_redfish {
	struct MHD_Daemon *daemon;
	pthread_mutex_t lock;
	bool on;               /* the truth */
	char boot_target[16];  /* "Pxe", "Hdd"; "" none */
	char boot_enabled[16]; /* "Once" */
	char last_type[32];    /* ResetType of the last order taken */
	int n_orders;          /* taken */
	/* faults */
	int n_busy;  /* so many requests are answered 503 */
	int n_stale; /* so many readings of the system report `stale` instead */
	const char *stale;
	int slow_ms; /* before each answer */
	int n_systems;
	bool refuse_same;    /* 400 to an order for what is so already */
	bool deaf;           /* takes orders and does nothing */
	const char *allowed; /* JSON list of the reset types; NULL: not told */
	const char *raw;     /* this text instead of the system */
};

/* A request on its way: its body so far. */
struct fake_request {
	char body[4096];
	size_t n;
};

static enum MHD_Result fake_reply(struct MHD_Connection *c, unsigned status, const char *text)
{
	struct MHD_Response *r =
		MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_MUST_COPY);
	MHD_add_response_header(r, "Content-Type", "application/json");
	enum MHD_Result ok = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return ok;
}

static enum MHD_Result fake_error(struct MHD_Connection *c, unsigned status, const char *message)
{
	char text[512];
	snprintf(text, sizeof(text),
		 "{\"error\":{\"code\":\"Base.1.8.GeneralError\",\"message\":\"general\","
		 "\"@Message.ExtendedInfo\":[{\"MessageId\":\"x\",\"Message\":\"%s\"}]}}",
		 message);
	return fake_reply(c, status, text);
}

static bool fake_may_enter(struct MHD_Connection *c)
{
	char *password = NULL;
	char *user = MHD_basic_auth_get_username_password(c, &password);
	bool ok = phx_str_eq(user, "admin") && phx_str_eq(password, "secret");
	MHD_free(user);
	MHD_free(password);
	return ok;
}

static enum MHD_Result fake_get_collection(struct fake_redfish *f, struct MHD_Connection *c)
{
	char text[1024];
	int n = snprintf(text, sizeof(text), "{\"Members@odata.count\":%d,\"Members\":[",
			 f->n_systems);
	for (int i = 1; i <= f->n_systems; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n,
			      "%s{\"@odata.id\":\"/redfish/v1/Systems/%d\"}", i > 1 ? "," : "", i);
	snprintf(text + n, sizeof(text) - (size_t)n, "]}");
	return fake_reply(c, 200, text);
}

static enum MHD_Result fake_get_system(struct fake_redfish *f, struct MHD_Connection *c)
{
	const char *state = f->on ? "On" : "Off";
	if (f->n_stale > 0) {
		f->n_stale--;
		state = f->stale;
	}
	if (f->raw)
		return fake_reply(c, 200, f->raw);
	char text[2048];
	snprintf(text, sizeof(text),
		 "{\"@odata.id\":\"" FAKE_SYSTEM "\",\"Id\":\"1\",\"PowerState\":\"%s\","
		 "\"Boot\":{\"BootSourceOverrideTarget\":\"%s\",\"BootSourceOverrideEnabled\":\"%"
		 "s\"},"
		 "\"Actions\":{\"#ComputerSystem.Reset\":{\"target\":\"" FAKE_SYSTEM
		 "/Actions/ComputerSystem.Reset\"%s%s}}}",
		 state, f->boot_target, f->boot_enabled,
		 f->allowed ? ",\"ResetType@Redfish.AllowableValues\":" : "",
		 f->allowed ? f->allowed : "");
	return fake_reply(c, 200, text);
}

static enum MHD_Result fake_reset(struct fake_redfish *f, struct MHD_Connection *c,
				  const json_t *body)
{
	const char *type = json_string_value(json_object_get(body, "ResetType"));
	bool on = phx_str_eq(type, "On") || phx_str_eq(type, "ForceOn");
	bool off = phx_str_eq(type, "ForceOff");
	if (!on && !off && !phx_str_eq(type, "ForceRestart") && !phx_str_eq(type, "PowerCycle") &&
	    !phx_str_eq(type, "GracefulShutdown"))
		return fake_error(c, 400, "ResetType is not known");
	if (f->refuse_same && ((on && f->on) || (off && !f->on)))
		return fake_error(c, 400, "The system is in that state already");
	PHX_STR_SET(f->last_type, type);
	f->n_orders++;
	if (!f->deaf && (on || off))
		f->on = on;
	return fake_reply(c, 204, "");
}

static enum MHD_Result fake_patch(struct fake_redfish *f, struct MHD_Connection *c,
				  const json_t *body)
{
	const json_t *boot = json_object_get(body, "Boot");
	const char *target = json_string_value(json_object_get(boot, "BootSourceOverrideTarget"));
	const char *enabled = json_string_value(json_object_get(boot, "BootSourceOverrideEnabled"));
	if (!target || !enabled)
		return fake_error(c, 400, "Boot is incomplete");
	PHX_STR_SET(f->boot_target, target);
	PHX_STR_SET(f->boot_enabled, enabled);
	f->n_orders++;
	return fake_reply(c, 200, "{}");
}

static enum MHD_Result fake_answer(struct fake_redfish *f, struct MHD_Connection *c,
				   const char *method, const char *url, const json_t *body)
{
	if (!fake_may_enter(c))
		return fake_error(c, 401, "Who are you?");
	if (f->n_busy > 0) {
		f->n_busy--;
		return fake_error(c, 503, "The service is busy");
	}
	if (!strcmp(method, "GET") && !strcmp(url, "/redfish/v1/Systems"))
		return fake_get_collection(f, c);
	if (!strcmp(method, "GET") && !strcmp(url, FAKE_SYSTEM))
		return fake_get_system(f, c);
	if (!strcmp(method, "PATCH") && !strcmp(url, FAKE_SYSTEM))
		return fake_patch(f, c, body);
	if (!strcmp(method, "POST") && !strcmp(url, FAKE_SYSTEM "/Actions/ComputerSystem.Reset"))
		return fake_reset(f, c, body);
	return fake_error(c, 404, "No such resource");
}

static enum MHD_Result fake_handle(void *arg, struct MHD_Connection *c, const char *url,
				   const char *method, const char *version, const char *data,
				   size_t *n, void **state)
{
	(void)version;
	struct fake_redfish *f = arg;
	struct fake_request *q = *state;
	if (!q) {
		*state = calloc(1, sizeof(*q));
		return *state ? MHD_YES : MHD_NO;
	}
	if (*n) {
		if (q->n + *n >= sizeof(q->body))
			return MHD_NO;
		memcpy(q->body + q->n, data, *n);
		q->n += *n;
		*n = 0;
		return MHD_YES;
	}
	if (f->slow_ms)
		sleep_ms(f->slow_ms);
	json_t *body = json_loadb(q->body, q->n, 0, NULL);
	pthread_mutex_lock(&f->lock);
	enum MHD_Result r = fake_answer(f, c, method, url, body);
	pthread_mutex_unlock(&f->lock);
	json_decref(body);
	return r;
}

static void fake_forget(void *arg, struct MHD_Connection *c, void **state,
			enum MHD_RequestTerminationCode why)
{
	(void)arg;
	(void)c;
	(void)why;
	free(*state);
	*state = NULL;
}

/* Start it on a free port of loopback; with a certificate it speaks TLS. */
static inline uint16_t fake_redfish_start(struct fake_redfish *f, const char *cert_pem,
					  const char *key_pem)
{
	uint16_t port = free_port(SOCK_STREAM);
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	*f = (struct fake_redfish){
		.lock = PTHREAD_MUTEX_INITIALIZER, .n_systems = 1, .stale = "Off"};
	unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION |
		(cert_pem ? MHD_USE_TLS : 0);
	f->daemon = MHD_start_daemon(flags, port, NULL, NULL, fake_handle, f, MHD_OPTION_SOCK_ADDR,
				     &at, MHD_OPTION_NOTIFY_COMPLETED, fake_forget, NULL,
				     cert_pem ? MHD_OPTION_HTTPS_MEM_CERT : MHD_OPTION_END,
				     cert_pem, MHD_OPTION_HTTPS_MEM_KEY, key_pem, MHD_OPTION_END);
	assert_non_null(f->daemon);
	return port;
}

static inline void fake_redfish_stop(struct fake_redfish *f)
{
	MHD_stop_daemon(f->daemon);
}

#endif
