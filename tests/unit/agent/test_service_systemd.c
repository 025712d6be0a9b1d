/* Services as units of systemd (service_systemd.c): what systemd is asked, in which order, and what
 * its answers mean. Another thread is the bus and systemd at once, over a real socket: it keeps
 * what it was asked, and answers what the test wants. Main processes are real. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "agent/service_backend.h"
#include "base/file.h"
#include "base/tree.h"

#define UNIT "phx-web.service"
#define SLICE "phx-web.slice"

/* ---- systemd ---- */

static struct {
	const char *state;   /* of UNIT; NULL: it is not loaded */
	const char *becomes; /* its state when a job has started it */
	const char *describes;
	uint32_t pid;
	int32_t code, status; /* of the main process */
	bool has_invocation;
	const char *job;      /* how jobs end */
	const char *fails;    /* the method that is refused */
	const char *hangs_up; /* the method after which the bus is gone */
} fake;

static struct phx_buf said; /* all that it was asked but properties, in order */

static void read_value(sd_bus_message *m, const char *name)
{
	const char *s, *type;
	uint64_t number;
	char kind;
	int no;
	assert_true(sd_bus_message_peek_type(m, &kind, &type) > 0 && kind == 'v');
	sd_bus_message_enter_container(m, 'v', type);
	phx_buf_addf(&said, " %s=", name);
	if (!strcmp(type, "s")) {
		sd_bus_message_read(m, "s", &s);
		phx_buf_addf(&said, "%s", s);
	} else if (!strcmp(type, "t")) {
		sd_bus_message_read(m, "t", &number);
		phx_buf_addf(&said, "%llu", (unsigned long long)number);
	} else {
		bool exec = !strcmp(type, "a(sasb)");
		sd_bus_message_enter_container(m, 'a', exec ? "(sasb)" : "s");
		if (exec) {
			sd_bus_message_enter_container(m, 'r', "sasb");
			sd_bus_message_read(m, "s", &s);
			phx_buf_addf(&said, "%s:", s);
			sd_bus_message_enter_container(m, 'a', "s");
		}
		while (sd_bus_message_read(m, "s", &s) > 0)
			phx_buf_addf(&said, "[%s]", s);
		if (exec) {
			sd_bus_message_exit_container(m);
			sd_bus_message_read(m, "b", &no);
			phx_buf_addf(&said, no ? "-" : "");
			sd_bus_message_exit_container(m);
		}
		sd_bus_message_exit_container(m);
	}
	sd_bus_message_exit_container(m);
}

static void read_properties(sd_bus_message *m)
{
	const char *name;
	sd_bus_message_enter_container(m, 'a', "(sv)");
	while (sd_bus_message_enter_container(m, 'r', "sv") > 0) {
		sd_bus_message_read(m, "s", &name);
		read_value(m, name);
		sd_bus_message_exit_container(m);
	}
	sd_bus_message_exit_container(m);
}

static int end_job(sd_bus_message *m)
{
	static const char path[] = "/org/freedesktop/systemd1/job/7";
	sd_bus *bus = sd_bus_message_get_bus(m);
	const struct {
		const char *path, *result;
	} ends[] = {{"/org/freedesktop/systemd1/job/6", "failed"}, {path, fake.job}};
	int r = sd_bus_reply_method_return(m, "o", path);
	for (size_t i = 0; r >= 0 && i < PHX_ARRAY_SIZE(ends); i++) {
		sd_bus_message *signal = NULL;
		r = sd_bus_message_new_signal(bus, &signal, "/org/freedesktop/systemd1",
					      "org.freedesktop.systemd1.Manager", "JobRemoved");
		sd_bus_message_set_sender(signal, "org.freedesktop.systemd1");
		sd_bus_message_append(signal, "uoss", 6 + (uint32_t)i, ends[i].path, UNIT,
				      ends[i].result);
		r = r < 0 ? r : sd_bus_send(bus, signal, NULL);
		sd_bus_message_unref(signal);
	}
	return r;
}

static int reply_property(sd_bus_message *m, const char *name)
{
	static const uint8_t id[16] = {0xab, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xef};
	sd_bus_message *reply = NULL;
	int r;
	if (!fake.state)
		return sd_bus_reply_method_errorf(m, SD_BUS_ERROR_UNKNOWN_OBJECT, "no such unit");
	if (!strcmp(name, "ActiveState"))
		return sd_bus_reply_method_return(m, "v", "s", fake.state);
	if (!strcmp(name, "Description"))
		return sd_bus_reply_method_return(m, "v", "s", fake.describes);
	if (!strcmp(name, "MainPID"))
		return sd_bus_reply_method_return(m, "v", "u", fake.pid);
	if (!strcmp(name, "ExecMainCode"))
		return sd_bus_reply_method_return(m, "v", "i", fake.code);
	if (!strcmp(name, "ExecMainStatus"))
		return sd_bus_reply_method_return(m, "v", "i", fake.status);
	assert_string_equal(name, "InvocationID");
	r = sd_bus_message_new_method_return(m, &reply);
	r = r < 0 ? r : sd_bus_message_open_container(reply, 'v', "ay");
	r = r < 0 ? r : sd_bus_message_append_array(reply, 'y', id, fake.has_invocation ? 16 : 0);
	r = r < 0 ? r : sd_bus_message_close_container(reply);
	r = r < 0 ? r : sd_bus_send(NULL, reply, NULL);
	sd_bus_message_unref(reply);
	return r;
}

static int manage(sd_bus_message *m, const char *method)
{
	const char *unit, *a;
	int number;
	if (!strcmp(method, "Subscribe"))
		return sd_bus_reply_method_return(m, "");
	sd_bus_message_read(m, "s", &unit);
	phx_buf_addf(&said, "%s %s", method, unit);
	if (!strcmp(method, "StartTransientUnit") || !strcmp(method, "StopUnit")) {
		sd_bus_message_read(m, "s", &a);
		phx_buf_addf(&said, " %s", a);
	}
	if (!strcmp(method, "StartTransientUnit")) {
		read_properties(m);
		fake.state = fake.becomes;
	} else if (!strcmp(method, "SetUnitProperties")) {
		sd_bus_message_read(m, "b", &number);
		phx_buf_addf(&said, number ? " runtime" : "");
		read_properties(m);
	} else if (!strcmp(method, "KillUnit")) {
		sd_bus_message_read(m, "si", &a, &number);
		phx_buf_addf(&said, " %s %d", a, number);
	}
	phx_buf_addf(&said, "\n");
	if (fake.fails && !strcmp(fake.fails, method))
		return sd_bus_reply_method_errorf(m, SD_BUS_ERROR_ACCESS_DENIED, "not that");
	if (!strcmp(method, "StopUnit") && !fake.state)
		return sd_bus_reply_method_errorf(m, "org.freedesktop.systemd1.NoSuchUnit",
						  "not loaded");
	return !strcmp(method, "StartTransientUnit") || !strcmp(method, "StopUnit")
		? end_job(m)
		: sd_bus_reply_method_return(m, "");
}

static int answer(sd_bus_message *m, void *arg, sd_bus_error *unused)
{
	const char *method = sd_bus_message_get_member(m), *interface, *name;
	(void)arg, (void)unused;
	if (sd_bus_message_is_method_call(m, NULL, NULL) <= 0)
		return 0;
	if (fake.hangs_up && !strcmp(fake.hangs_up, method)) {
		sd_bus_close(sd_bus_message_get_bus(m));
		return 1;
	}
	if (sd_bus_message_is_method_call(m, "org.freedesktop.DBus", "Hello") > 0)
		return sd_bus_reply_method_return(m, "s", ":1.1");
	if (sd_bus_message_is_method_call(m, "org.freedesktop.DBus", NULL) > 0)
		return sd_bus_reply_method_return(m, "");
	if (sd_bus_message_is_method_call(m, "org.freedesktop.DBus.Properties", "Get") > 0) {
		sd_bus_message_read(m, "ss", &interface, &name);
		assert_string_equal(sd_bus_message_get_path(m),
				    "/org/freedesktop/systemd1/unit/phx_2dweb_2eservice");
		return reply_property(m, name);
	}
	return manage(m, method);
}

static int listener = -1;

static void *be_systemd(void *arg)
{
	sd_bus *bus = NULL;
	(void)arg;
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), r;
	if (fd < 0)
		return NULL;
	sd_bus_new(&bus);
	sd_bus_set_fd(bus, fd, fd);
	sd_bus_set_server(bus, 1, (sd_id128_t){.qwords = {1, 2}});
	sd_bus_set_anonymous(bus, 1);
	sd_bus_set_trusted(bus, 1);
	sd_bus_add_filter(bus, NULL, answer, NULL);
	r = sd_bus_start(bus);
	while (r >= 0) {
		r = sd_bus_process(bus, NULL);
		if (r == 0)
			r = sd_bus_wait(bus, UINT64_MAX);
	}
	sd_bus_flush_close_unref(bus);
	return NULL;
}

/* ---- the test ---- */

static const struct service_backend *backend;
static void *self;
static struct phx_err err;
static pthread_t thread;
static char dir[64];
static struct service_proc proc;
static pid_t child;

static char *const argv[] = {"/srv/web/bin/web", "-p", "80", NULL};
static char *const env[] = {"A=1", "B=two words", NULL};

static struct service_command command(void)
{
	return (struct service_command){.name = "web",
					.description = "web 1",
					.cwd = "/srv/web",
					.user = "",
					.argv = argv,
					.env = env};
}

static int begin_systemd(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	char address[128];
	snprintf(at.sun_path, sizeof(at.sun_path), "%s/bus", dir);
	snprintf(address, sizeof(address), "unix:path=%s", at.sun_path);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listener, (const struct sockaddr *)&at, sizeof(at)) < 0 || listen(listener, 1) < 0)
		return -1;
	setenv("DBUS_SYSTEM_BUS_ADDRESS", address, 1);
	return pthread_create(&thread, NULL, be_systemd, NULL);
}

static int setup(void **state)
{
	(void)state;
	memset(&fake, 0, sizeof(fake));
	fake.job = "done";
	fake.becomes = "active";
	fake.describes = "web 1";
	fake.has_invocation = true;
	phx_err_clear(&err);
	proc = (struct service_proc){.pidfd = -1};
	said = (struct phx_buf){0};
	child = 0;
	strcpy(dir, "/tmp/phx-systemd.XXXXXX");
	if (!mkdtemp(dir) || begin_systemd() != 0)
		return -1;
	if (service_systemd_new(&backend, &self, &err) < 0)
		fail_msg("%s", err.text);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	if (backend)
		backend->free(self);
	backend = NULL;
	shutdown(listener, SHUT_RDWR);
	pthread_join(thread, NULL);
	close(listener);
	phx_close_fd(&proc.pidfd);
	phx_buf_fini(&said);
	if (child) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	return phx_dir_remove(dir, NULL);
}

/* A process that is the unit's main one, until it is told to end. */
static void give_main(void)
{
	child = fork();
	if (child == 0) {
		close_range(STDERR_FILENO + 1, ~0U, 0);
		pause();
		_exit(0);
	}
	fake.pid = (uint32_t)child;
}

static void end_main(void)
{
	siginfo_t info;
	kill(child, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
}

static void assert_said(const char *want)
{
	assert_string_equal(said.n ? said.data : "", want);
	phx_buf_fini(&said);
	said = (struct phx_buf){0};
}

static int start(const struct service_command *c)
{
	phx_err_clear(&err);
	phx_close_fd(&proc.pidfd);
	return backend->start(self, c, &proc, &err);
}

#define STOPPED "StopUnit " UNIT " replace\nResetFailedUnit " UNIT "\n"
#define COMMON(slice, grace) \
	"StartTransientUnit " UNIT " replace Description=web 1 Slice=" slice \
	" Type=exec WorkingDirectory=/srv/web TimeoutStopUSec=" grace
#define RUNS \
	" Environment=[A=1][B=two words] ExecStart=/srv/web/bin/web:[/srv/web/bin/web][-p][80]\n"

/* ---- start ---- */

/* What failed before keeps the name of the unit, so it is cleared away first. */
static void a_service_is_one_unit_with_all_that_it_needs(void **state)
{
	struct service_command c = command();
	(void)state;
	give_main();
	assert_int_equal(start(&c), 0);
	assert_said(STOPPED COMMON("phx.slice", "10000000") RUNS);
	assert_true(proc.pidfd >= 0);
	assert_string_equal(proc.invocation, "ab0102030405060708090a0b0c0d0eef");
	fake.state = "failed";
	c.user = "www";
	c.stop_grace_s = 7;
	c.ahead = true;
	assert_int_equal(start(&c), 0);
	assert_said(STOPPED COMMON("phx.slice", "7000000") " CPUWeight=1 User=www" RUNS);
}

static void a_unit_that_does_not_start_is_an_error_whose_output_can_be_found(void **state)
{
	struct service_command c = command();
	(void)state;
	fake.job = "failed";
	fake.becomes = "failed";
	assert_int_equal(start(&c), -EIO);
	assert_non_null(strstr(err.text, "failed"));
	assert_int_equal(proc.pidfd, -1);
	assert_string_equal(proc.invocation, "ab0102030405060708090a0b0c0d0eef");
	fake.has_invocation = false;
	assert_int_equal(start(&c), -EIO);
	assert_string_equal(proc.invocation, "");
	phx_buf_fini(&said);
	said = (struct phx_buf){0};
	fake.state = NULL;
	fake.fails = "StartTransientUnit";
	assert_true(start(&c) < 0);
	assert_non_null(strstr(err.text, "not that"));
	assert_int_equal(proc.pidfd, -1);
}

static void what_cannot_be_stopped_is_not_started(void **state)
{
	struct service_command c = command();
	(void)state;
	fake.state = "failed";
	fake.fails = "StopUnit";
	assert_true(start(&c) < 0);
	assert_said(STOPPED);
	fake.fails = NULL;
	fake.job = "timeout";
	assert_int_equal(start(&c), -EIO);
	assert_said(STOPPED);
}

/* ---- one that runs already ---- */

/* Services outlive the agent. */
static void an_equal_one_that_runs_is_taken_over(void **state)
{
	static const char *const states[] = {"active", "activating", "reloading"};
	struct service_command c = command();
	(void)state;
	give_main();
	for (size_t i = 0; i < PHX_ARRAY_SIZE(states); i++) {
		fake.state = states[i];
		assert_int_equal(start(&c), 0);
		/* an earlier agent may have started it ahead */
		assert_said("SetUnitProperties " UNIT " runtime CPUWeight=100\n");
		assert_true(proc.pidfd >= 0);
		assert_string_equal(proc.invocation, "ab0102030405060708090a0b0c0d0eef");
	}
	c.ahead = true;
	assert_int_equal(start(&c), 0);
	assert_said("");
	c.ahead = false;
	c.cpu_milli = 500;
	c.first = true;
	assert_int_equal(start(&c), 0);
	assert_said("SetUnitProperties " UNIT " runtime CPUWeight=100\n"
		    "SetUnitProperties " SLICE " runtime CPUWeight=100\n");
}

static void another_one_or_one_that_ends_is_not_taken_over(void **state)
{
	static const char *const states[] = {"inactive", "failed", "deactivating"};
	struct service_command c = command();
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(states); i++) {
		fake.state = states[i];
		assert_int_equal(start(&c), 0);
		assert_said(STOPPED COMMON("phx.slice", "10000000") RUNS);
	}
	fake.state = "active";
	fake.describes = "web 2";
	assert_int_equal(start(&c), 0);
	assert_said(STOPPED COMMON("phx.slice", "10000000") RUNS);
}

/* ---- the quota of a role ---- */

#define NO_QUOTA "SetUnitProperties " SLICE " runtime CPUQuotaPerSecUSec=18446744073709551615\n"
#define SLICE_WEIGHS(n) "SetUnitProperties " SLICE " runtime CPUWeight=" n "\n"

/* The slice outlives the services of the role before, and so would its quota. */
static void the_first_service_of_a_role_ends_the_quota_of_the_role_before(void **state)
{
	struct service_command c = command();
	(void)state;
	c.cpu_milli = 500;
	c.first = true;
	assert_int_equal(start(&c), 0);
	assert_said(STOPPED NO_QUOTA SLICE_WEIGHS("100") COMMON(SLICE, "10000000") RUNS);
	fake.state = NULL;
	c.ahead = true;
	assert_int_equal(start(&c), 0);
	assert_said(STOPPED NO_QUOTA SLICE_WEIGHS("1")
			    COMMON(SLICE, "10000000") " CPUWeight=1" RUNS);
	fake.state = NULL;
	c.ahead = c.first = false;
	assert_int_equal(start(&c), 0);
	assert_said(STOPPED COMMON(SLICE, "10000000") RUNS);
	/* not without it */
	fake.state = NULL;
	fake.fails = "SetUnitProperties";
	c.first = true;
	assert_true(start(&c) < 0);
	assert_non_null(strstr(err.text, SLICE ": not that"));
	assert_said(STOPPED NO_QUOTA);
}

static void a_limit_is_of_the_slice(void **state)
{
	(void)state;
	assert_int_equal(backend->limit(self, 1500, &err), 0);
	assert_said("SetUnitProperties " SLICE " runtime CPUQuotaPerSecUSec=1500000\n");
	/* more than 32 bits of microseconds */
	assert_int_equal(backend->limit(self, 128000 * 1000u, &err), 0);
	assert_said("SetUnitProperties " SLICE " runtime CPUQuotaPerSecUSec=128000000000\n");
	assert_int_equal(backend->weigh(self, "web", &proc, false, &err), 0);
	assert_said("SetUnitProperties " UNIT " runtime CPUWeight=100\n");
	fake.fails = "SetUnitProperties";
	assert_true(backend->limit(self, 1500, &err) < 0);
	assert_true(backend->weigh(self, "web", &proc, true, &err) < 0);
}

/* ---- does it run ---- */

static int running(int *ret_status)
{
	*ret_status = -7;
	return backend->running(self, "web", &proc, ret_status);
}

static void the_end_of_a_service_is_that_of_its_main_process(void **state)
{
	static const struct {
		int32_t code, status;
		int want;
	} ends[] = {{CLD_EXITED, 0, 0},
		    {CLD_EXITED, 3, 3},
		    {CLD_KILLED, SIGKILL, 128 + SIGKILL},
		    {CLD_DUMPED, SIGSEGV, 128 + SIGSEGV},
		    {0, 0, 0}};
	int status;
	(void)state;
	fake.state = "active";
	assert_int_equal(running(&status), 1);
	assert_int_equal(status, -7);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(ends); i++) {
		fake.state = "failed";
		fake.code = ends[i].code;
		fake.status = ends[i].status;
		assert_int_equal(running(&status), 0);
		assert_int_equal(status, ends[i].want);
	}
	fake.state = NULL; /* nobody knows any more */
	assert_int_equal(running(&status), 0);
	assert_int_equal(status, 0);
}

/* Whoever watches the descriptor of a process that has ended would turn in circles. */
static void while_systemd_ends_the_rest_the_main_process_is_not_watched(void **state)
{
	struct service_command c = command();
	int status;
	(void)state;
	give_main();
	assert_int_equal(start(&c), 0);
	assert_int_equal(running(&status), 1);
	assert_true(proc.pidfd >= 0);
	end_main();
	fake.state = "deactivating";
	assert_int_equal(running(&status), 1);
	assert_int_equal(proc.pidfd, -1);
	fake.state = "inactive";
	fake.code = CLD_EXITED;
	assert_int_equal(running(&status), 0);
	assert_int_equal(status, 0);
}

static void a_unit_without_a_main_process_is_not_watched(void **state)
{
	struct service_command c = command();
	(void)state;
	fake.pid = 0;
	assert_int_equal(start(&c), 0);
	assert_int_equal(proc.pidfd, -1);
	/* it has ended meanwhile */
	fake.pid = 4194304;
	assert_int_equal(start(&c), 0);
	assert_int_equal(proc.pidfd, -1);
}

/* ---- the end ---- */

static void a_service_is_stopped_and_its_name_freed(void **state)
{
	struct service_command c = command();
	(void)state;
	give_main();
	assert_int_equal(start(&c), 0);
	phx_buf_fini(&said);
	said = (struct phx_buf){0};
	assert_int_equal(backend->stop(self, "web", &proc, 5, &err), 0);
	assert_said(STOPPED);
	assert_int_equal(proc.pidfd, -1);
	/* also by an agent that did not start it, and where it does not run */
	fake.state = NULL;
	assert_int_equal(backend->stop(self, "web", NULL, 5, &err), 0);
	assert_said(STOPPED);
	fake.state = "active";
	fake.job = "canceled";
	assert_int_equal(backend->stop(self, "web", NULL, 5, &err), -EIO);
	assert_non_null(strstr(err.text, "canceled"));
}

static void a_signal_goes_to_the_main_process_alone(void **state)
{
	(void)state;
	assert_int_equal(backend->signal(self, "web", &proc, SIGHUP, &err), 0);
	assert_said("KillUnit " UNIT " main 1\n");
	fake.fails = "KillUnit";
	assert_true(backend->signal(self, "web", &proc, SIGHUP, &err) < 0);
	assert_string_equal(err.text, UNIT ": not that");
}

/* ---- a bus that goes ---- */

static void nobody_waits_for_a_systemd_that_is_gone(void **state)
{
	struct service_command c = command();
	int status;
	(void)state;
	fake.hangs_up = "StartTransientUnit";
	assert_true(start(&c) < 0);
	assert_true(err.text[0]);
	assert_int_equal(proc.pidfd, -1);
	phx_err_clear(&err);
	assert_true(backend->stop(self, "web", NULL, 5, &err) < 0);
	assert_true(backend->signal(self, "web", &proc, SIGHUP, &err) < 0);
	assert_true(backend->limit(self, 5, &err) < 0);
	assert_int_equal(running(&status), 0);
}

static void without_systemd_there_are_no_services(void **state)
{
	const struct service_backend *none = NULL;
	void *no_self = NULL;
	(void)state;
	strcpy(dir, "/tmp/phx-systemd.XXXXXX");
	assert_non_null(mkdtemp(dir));
	memset(&fake, 0, sizeof(fake));
	fake.hangs_up = "Subscribe";
	phx_err_clear(&err);
	assert_int_equal(begin_systemd(), 0);
	assert_true(service_systemd_new(&none, &no_self, &err) < 0);
	assert_non_null(strstr(err.text, "system bus: "));
	assert_null(none);
	assert_null(no_self);
	pthread_join(thread, NULL);
	close(listener);
	assert_int_equal(phx_dir_remove(dir, NULL), 0);
}

static void time_that_no_cgroup_tells_is_an_error(void **state)
{
	const struct service_id ids[] = {{.name = "no-such-service-1"},
					 {.name = "no-such-service-2"}};
	uint64_t us = 7;
	(void)state;
	assert_int_equal(backend->used(self, ids, 2, &us, &err), -ENOENT);
	assert_non_null(strstr(err.text, "phx-no-such-service-1.service"));
	assert_int_equal(us, 7);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_service_is_one_unit_with_all_that_it_needs),
		TEST(a_unit_that_does_not_start_is_an_error_whose_output_can_be_found),
		TEST(what_cannot_be_stopped_is_not_started),
		TEST(an_equal_one_that_runs_is_taken_over),
		TEST(another_one_or_one_that_ends_is_not_taken_over),
		TEST(the_first_service_of_a_role_ends_the_quota_of_the_role_before),
		TEST(a_limit_is_of_the_slice),
		TEST(the_end_of_a_service_is_that_of_its_main_process),
		TEST(while_systemd_ends_the_rest_the_main_process_is_not_watched),
		TEST(a_unit_without_a_main_process_is_not_watched),
		TEST(a_service_is_stopped_and_its_name_freed),
		TEST(a_signal_goes_to_the_main_process_alone),
		TEST(nobody_waits_for_a_systemd_that_is_gone),
		cmocka_unit_test(without_systemd_there_are_no_services),
		TEST(time_that_no_cgroup_tells_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
