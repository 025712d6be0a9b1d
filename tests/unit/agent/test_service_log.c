/* What services write: in the reason when they fail, and read back, with our own supervision. */
#include "unit/agent/scratch.h"

#include "agent/config.h"
#include "agent/service.h"
#include "agent/service_backend.h"
#include "agent/service_internal.h"

struct world {
	struct scratch *scratch;
	struct loop *loop;
	struct services *services;
	struct phx_role role;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct phx_err err = {0};
	scratch_setup((void **)&w->scratch);
	PHX_STR_SET(w->role.name, "web");
	w->loop = loop_started();
	struct services_config config = {w->loop, scratch_path(w->scratch, "pkg"),
					 scratch_path(w->scratch, "run"), AGENT_SUPERVISOR_OWN};
	assert_int_equal(services_new(&config, &w->services, &err), 0);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	services_free(w->services);
	loop_free(w->loop);
	phx_record_fini(&phx_role_record, &w->role);
	scratch_teardown((void **)&w->scratch);
	free(w);
	return 0;
}

static void test_reason(void **state)
{
	struct world *w = *state;
	struct phx_err err = {0};
	add_service(
		&w->role, "web",
		"echo first; echo second >&2; echo; printf 'no \\033[31mconfig\\377' >&2; exit 3",
		NULL);
	assert_int_equal(services_start(w->services, &w->role, &err), -EIO);
	assert_string_equal(
		err.text,
		"service web ended at once with status 3: first / second / no ?[31mconfig?");
	/* the same again: what the start before wrote is not this one's */
	assert_int_equal(services_start(w->services, &w->role, &err), -EIO);
	assert_string_equal(
		err.text,
		"service web ended at once with status 3: first / second / no ?[31mconfig?");
}

/* Of what systemd says of a unit only that which tells why: not that it failed. */
static void test_reason_of_systemd(void **state)
{
	static const char said[] =
		"Starting phx-web.service - Phoenix web of role web: /opt/x/busybox httpd -f -p "
		"8080 -h www...\n"
		"phx-web.service: Failed to determine user credentials: No such process\n"
		"phx-web.service: Main process exited, code=exited, status=217/USER\n"
		"phx-web.service: Failed with result 'exit-code'.\n"
		"Failed to start phx-web.service - Phoenix web of role web: /opt/x/busybox httpd "
		"-f -p 8080 -h www.\n";
	char reason[SERVICE_SAID_MAX];
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0}, own = {0};
	(void)state;
	phx_buf_addf(&b, "%s", said);
	service_reason(&b, true, reason, sizeof(reason));
	assert_string_equal(reason,
			    "Failed to determine user credentials: No such process / "
			    "Main process exited, code=exited, status=217/USER");
	/* a service may well say that it is starting */
	phx_buf_addf(&own, "Starting to listen\nno such address\n");
	service_reason(&own, false, reason, sizeof(reason));
	assert_string_equal(reason, "Starting to listen / no such address");
}

static void test_long_reason_keeps_its_end(void **state)
{
	struct world *w = *state;
	struct phx_err err = {0};
	add_service(&w->role, "web", "printf '%0200d the end\\n' 7; exit 1", NULL);
	assert_int_equal(services_start(w->services, &w->role, &err), -EIO);
	assert_non_null(strstr(err.text, "status 1: ...000"));
	assert_non_null(strstr(err.text, "7 the end"));
	assert_true(strlen(err.text) < 200);
}

static void test_dies_later(void **state)
{
	struct world *w = *state;
	char text[SERVICE_TEXT_MAX];
	add_service(&w->role, "web", "sleep 0.3; echo 'disk is full'; exit 4", NULL);
	PHX_LIST_AT(&w->role.services, struct phx_service, 0)->restart = false;
	assert_int_equal(services_start(w->services, &w->role, NULL), 0);
	WAIT_FOR(!services_ok(w->services, text, sizeof(text)));
	assert_string_equal(text, "not running: web (status 4: disk is full)");
}

static int ask(struct world *w, const char *name, struct service_log_ask a, char **ret,
	       char *cursor)
{
	struct phx_buf b = {0};
	struct phx_err err = {0};
	char service[PHX_NAME_MAX];
	PHX_STR_SET(service, name);
	int r = services_log(w->services, service, &a, &b, cursor, &err);
	*ret = r < 0 ? strdup(err.text) : phx_buf_take(&b);
	phx_buf_fini(&b);
	return r;
}

static void test_read_back(void **state)
{
	struct world *w = *state;
	char cursor[SERVICE_CURSOR_MAX], *text;
	add_service(&w->role, "web", "for i in 1 2 3 4; do echo line $i; done; sleep 100", NULL);
	assert_int_equal(ask(w, "", (struct service_log_ask){.lines = 5}, &text, cursor), -ENOENT);
	free(text);
	assert_int_equal(services_start(w->services, &w->role, NULL), 0);
	WAIT_FOR(ask(w, "", (struct service_log_ask){.lines = 2}, &text, cursor) == 0 && ({
			 bool is = phx_str_eq(text, "line 3\nline 4\n");
			 free(text);
			 is;
		 }));
	assert_int_equal(ask(w, "nosuch", (struct service_log_ask){.lines = 2}, &text, cursor),
			 -ENOENT);
	assert_string_equal(text, "no service 'nosuch' here, but: web");
	free(text);
	/* stopped: what it wrote is still known */
	assert_int_equal(services_stop(w->services, &w->role, NULL), 0);
	assert_int_equal(ask(w, "", (struct service_log_ask){.lines = 1000}, &text, cursor), 0);
	assert_true(phx_str_starts(text, "line 1\nline 2\nline 3\nline 4\n"));
	free(text);
}

static void test_follow(void **state)
{
	struct world *w = *state;
	char cursor[SERVICE_CURSOR_MAX], *text;
	add_service(&w->role, "web", "echo old; sleep 1; echo new; sleep 100", NULL);
	assert_int_equal(services_start(w->services, &w->role, NULL), 0);
	WAIT_FOR(ask(w, "web", (struct service_log_ask){.lines = 2}, &text, cursor) == 0 && ({
			 bool is = phx_str_eq(text, "old\n");
			 free(text);
			 is;
		 }));
	struct service_log_ask next = {.wait_ms = 20000};
	PHX_STR_SET(next.cursor, cursor);
	assert_int_equal(ask(w, "web", next, &text, cursor), 0);
	assert_string_equal(text, "new\n");
	free(text);
	PHX_STR_SET(next.cursor, cursor);
	next.wait_ms = 50;
	assert_int_equal(ask(w, "web", next, &text, cursor), 0);
	assert_string_equal(text, ""); /* nothing more in its time */
	free(text);
	PHX_STR_SET(next.cursor, "77:12"); /* of another agent: the last lines instead */
	next.lines = 1;
	assert_int_equal(ask(w, "web", next, &text, cursor), 0);
	assert_string_equal(text, "new\n");
	free(text);
}

/* More than is kept, and more than is told at once. */
static void test_much(void **state)
{
	struct world *w = *state;
	char cursor[SERVICE_CURSOR_MAX], *text;
	add_service(&w->role, "web",
		    "head -c 1000000 /dev/zero | tr '\\0' x; echo; echo the end; sleep 100", NULL);
	assert_int_equal(services_start(w->services, &w->role, NULL), 0);
	WAIT_FOR(ask(w, "web", (struct service_log_ask){.lines = 100}, &text, cursor) == 0 && ({
			 size_t n = strlen(text);
			 bool is = n <= SERVICE_LOG_MAX && n > 8 &&
				 phx_str_eq(text + n - 8, "the end\n");
			 free(text);
			 is;
		 }));
}

static void test_several(void **state)
{
	struct world *w = *state;
	char cursor[SERVICE_CURSOR_MAX], *text;
	add_service(&w->role, "web", "sleep 100", NULL);
	add_service(&w->role, "db", "echo base; sleep 100", NULL);
	assert_int_equal(services_start(w->services, &w->role, NULL), 0);
	assert_int_equal(ask(w, "", (struct service_log_ask){.lines = 5}, &text, cursor), -EINVAL);
	assert_non_null(strstr(text, "which service? It has: "));
	free(text);
	char said[SERVICE_TEXT_MAX];
	WAIT_FOR((services_said(w->services, said, sizeof(said)), phx_str_eq(said, "db: base")));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_reason),
		TEST(test_reason_of_systemd),
		TEST(test_long_reason_keeps_its_end),
		TEST(test_dies_later),
		TEST(test_read_back),
		TEST(test_follow),
		TEST(test_much),
		TEST(test_several),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
