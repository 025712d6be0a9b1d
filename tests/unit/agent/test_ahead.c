/* Services that run ahead of their role, with real programs: they start when their packages are
 * there, idle; the start of the very role takes them over as they are; whatever else comes stops
 * them, also by an agent that did not start them. */
#include "unit/agent/scratch.h"

#include <sys/resource.h>

#include "base/json.h"
#include "base/process.h"
#include "agent/ahead.h"
#include "agent/config.h"
#include "agent/prefetch.h"
#include "agent/service.h"
#include "agent/service_backend.h"
#include "agent/state.h"

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

struct world {
	struct scratch *scratch;
	struct agent_config cfg;
	struct loop *loop;
	struct services *services;
	struct ahead *ahead;
	struct phx_role batch, web;
};

/* At each start one more into NAME.starts, then its pid into NAME: who finds that finds both. */
static void add_noting(struct world *w, struct phx_role *role, const char *name)
{
	char script[256];
	const char *dir = w->scratch->dir;
	snprintf(script, sizeof(script),
		 "echo x >>%s/%s.starts; echo $$ >%s/%s; while :; do sleep 0.05; done", dir, name,
		 dir, name);
	add_service(role, name, script, NULL);
}

static void begin(struct world *w)
{
	struct services_config config = {w->loop, w->cfg.pkg_root, scratch_path(w->scratch, "run"),
					 AGENT_SUPERVISOR_OWN};
	assert_int_equal(services_new(&config, &w->services, NULL), 0);
	assert_int_equal(ahead_new(w->loop, &w->cfg, w->services, &w->ahead, NULL), 0);
}

static void end(struct world *w)
{
	ahead_free(w->ahead);
	services_free(w->services);
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	scratch_setup((void **)&w->scratch);
	PHX_STR_SET(w->cfg.state_dir, scratch_path(w->scratch, "state"));
	PHX_STR_SET(w->cfg.cache_dir, scratch_path(w->scratch, "cache"));
	PHX_STR_SET(w->cfg.pkg_root, scratch_path(w->scratch, "pkg"));
	phx_dir_make(w->cfg.state_dir, 0700, NULL);
	phx_dir_make(w->cfg.cache_dir, 0700, NULL);
	PHX_STR_SET(w->batch.name, "batch");
	PHX_STR_SET(w->web.name, "web");
	add_noting(w, &w->batch, "engine");
	add_noting(w, &w->web, "nginx");
	w->loop = loop_started();
	begin(w);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	end(w);
	loop_free(w->loop);
	phx_record_fini(&phx_role_record, &w->batch);
	phx_record_fini(&phx_role_record, &w->web);
	scratch_teardown((void **)&w->scratch);
	free(w);
	return 0;
}

static pid_t pid_of(struct world *w, const char *name)
{
	PHX_AUTO_FREE char *text = read_text(scratch_path(w->scratch, name));
	return atoi(text);
}

static size_t starts(struct world *w, const char *name)
{
	char file[40];
	snprintf(file, sizeof(file), "%s.starts", name);
	PHX_AUTO_FREE char *text = read_text(scratch_path(w->scratch, file));
	return strlen(text) / 2;
}

static bool runs(struct world *w, const char *name)
{
	pid_t pid = pid_of(w, name);
	return pid && phx_process_since(pid);
}

static bool is_written(struct world *w)
{
	struct phx_role role;
	if (ahead_state_read(w->cfg.state_dir, &role, NULL) < 0)
		return false;
	phx_record_fini(&phx_role_record, &role);
	return true;
}

static bool is_told(struct world *w)
{
	PHX_AUTO_JSON json_t *j = json_object();
	ahead_monitor(w->ahead, j);
	return phx_str_eq(phx_json_str(j, "ahead", ""), "web");
}

static void make_active(struct world *w, const struct phx_role *role)
{
	struct role_state s = {.run = true, .role = *role};
	assert_int_equal(role_state_write(w->cfg.state_dir, &s, NULL), 0);
	assert_int_equal(services_start(w->services, role, NULL), 0);
}

/* As the prefetch's worker does. */
static void work(struct world *w)
{
	ahead_stop_unwanted(w->ahead);
	ahead_start_wanted(w->ahead);
}

static void start_ahead(struct world *w)
{
	make_active(w, &w->batch);
	assert_int_equal(ahead_want(w->ahead, 7, &w->web, NULL), 0);
	work(w);
	WAIT_FOR(runs(w, "nginx") && runs(w, "engine"));
}

static void it_runs_beside_the_active_role(void **state)
{
	struct world *w = *state;
	char text[160], name[PHX_NAME_MAX] = "nginx";
	PHX_AUTO(phx_buf_fini) struct phx_buf log = {0};
	char cursor[SERVICE_TEXT_MAX];
	assert_int_equal(ahead_id(w->ahead), 0);
	start_ahead(w);
	assert_int_equal(ahead_id(w->ahead), 7);
	assert_true(is_written(w) && is_told(w));
	assert_int_equal(getpriority(PRIO_PROCESS, (id_t)pid_of(w, "nginx")), 19);
	assert_int_equal(getpriority(PRIO_PROCESS, (id_t)pid_of(w, "engine")),
			 getpriority(PRIO_PROCESS, 0));
	/* it is nobody's business yet */
	assert_true(services_ok(w->services, text, sizeof(text)));
	assert_int_equal(services_log(w->services, name, &(struct service_log_ask){.lines = 1},
				      &log, cursor, NULL),
			 -ENOENT);
	pid_t before = pid_of(w, "nginx");
	work(w); /* twice is once */
	assert_int_equal(pid_of(w, "nginx"), before);
	assert_int_equal(starts(w, "nginx"), 1);
}

static void its_start_finds_it_running(void **state)
{
	struct world *w = *state;
	start_ahead(w);
	pid_t before = pid_of(w, "nginx");
	assert_int_equal(services_stop(w->services, &w->batch, NULL), 0);
	assert_false(runs(w, "engine"));
	assert_true(runs(w, "nginx"));
	assert_int_equal(ahead_over(w->ahead, &w->web, NULL), 0);
	assert_int_equal(services_start(w->services, &w->web, NULL), 0);
	assert_int_equal(pid_of(w, "nginx"), before);
	assert_true(runs(w, "nginx") && starts(w, "nginx") == 1);
	assert_int_equal(getpriority(PRIO_PROCESS, (id_t)before), 0);
	assert_false(is_written(w) || is_told(w));
	assert_int_equal(ahead_id(w->ahead), 0);
	/* it is a service as any other: the head's next word does not end it, its stop does */
	assert_int_equal(ahead_want(w->ahead, 8, &(struct phx_role){0}, NULL), 0);
	work(w);
	assert_true(runs(w, "nginx"));
	kill(before, SIGKILL);
	WAIT_FOR(starts(w, "nginx") == 2);
	assert_int_equal(services_stop(w->services, &w->web, NULL), 0);
	assert_false(runs(w, "nginx"));
}

static void one_that_died_is_started(void **state)
{
	struct world *w = *state;
	start_ahead(w);
	kill(pid_of(w, "nginx"), SIGKILL);
	WAIT_FOR(!runs(w, "nginx"));
	assert_int_equal(services_stop(w->services, &w->batch, NULL), 0);
	assert_int_equal(ahead_over(w->ahead, &w->web, NULL), 0);
	assert_int_equal(services_start(w->services, &w->web, NULL), 0);
	WAIT_FOR(runs(w, "nginx") && starts(w, "nginx") == 2);
	assert_int_equal(getpriority(PRIO_PROCESS, (id_t)pid_of(w, "nginx")),
			 getpriority(PRIO_PROCESS, 0));
}

/* Another version of it, to be exact. */
static void another_role_stops_it(void **state)
{
	struct world *w = *state;
	start_ahead(w);
	pid_t before = pid_of(w, "nginx");
	assert_int_equal(services_stop(w->services, &w->batch, NULL), 0);
	w->web.web.port = 81;
	assert_int_equal(ahead_over(w->ahead, &w->web, NULL), 0);
	assert_false(runs(w, "nginx") || is_written(w));
	assert_int_equal(services_start(w->services, &w->web, NULL), 0);
	WAIT_FOR(runs(w, "nginx") && pid_of(w, "nginx") != before);
}

static void services_alone_stop_it_too(void **state)
{
	struct world *w = *state;
	start_ahead(w);
	pid_t before = pid_of(w, "nginx");
	w->web.web.port = 81;
	assert_int_equal(services_start(w->services, &w->web, NULL), 0);
	assert_true(phx_process_since(before) == 0);
	WAIT_FOR(runs(w, "nginx"));
	assert_false(runs(w, "engine"));
}

static void wanted_no_more_it_stops(void **state)
{
	struct world *w = *state;
	start_ahead(w);
	assert_int_equal(ahead_want(w->ahead, 8, &(struct phx_role){0}, NULL), 0);
	assert_true(runs(w, "nginx")); /* not before the worker */
	work(w);
	assert_false(runs(w, "nginx") || is_written(w) || is_told(w));
	assert_true(runs(w, "engine"));
}

static void it_waits_for_its_packages(void **state)
{
	struct world *w = *state;
	struct phx_package_ref *p = phx_list_push(&w->web.packages, sizeof(*p));
	*p = (struct phx_package_ref){.name = "nginx", .version = "1.0", .sha256 = DIGEST};
	make_active(w, &w->batch);
	assert_int_equal(ahead_want(w->ahead, 7, &w->web, NULL), 0);
	work(w);
	assert_false(is_written(w));
	assert_int_equal(starts(w, "nginx"), 0);
	assert_int_equal(phx_dir_make(scratch_path(w->scratch, "pkg/nginx/1.0/PHX"), 0755, NULL),
			 0);
	write_text(scratch_path(w->scratch, "pkg/nginx/1.0/PHX/sha256"), DIGEST, 0644);
	work(w);
	WAIT_FOR(runs(w, "nginx"));
}

static void the_active_role_is_left_alone(void **state)
{
	struct world *w = *state;
	make_active(w, &w->web);
	WAIT_FOR(runs(w, "nginx"));
	assert_int_equal(ahead_want(w->ahead, 7, &w->web, NULL), 0);
	work(w);
	assert_int_equal(starts(w, "nginx"), 1);
	assert_false(is_written(w));
	/* nor is it stopped because an earlier agent wrote down that it had started it ahead */
	assert_int_equal(ahead_state_write(w->cfg.state_dir, &w->web, NULL), 0);
	ahead_free(w->ahead);
	assert_int_equal(ahead_new(w->loop, &w->cfg, w->services, &w->ahead, NULL), 0);
	assert_int_equal(ahead_want(w->ahead, 8, &(struct phx_role){0}, NULL), 0);
	work(w);
	assert_true(runs(w, "nginx"));
	assert_false(is_written(w));
}

/* A killed agent's are found by what it wrote down. */
static void what_another_agent_left_is_stopped(void **state)
{
	struct world *w = *state;
	make_active(w, &w->batch);
	struct phx_process p;
	const char *const argv[] = {"/bin/sleep", "1000", NULL};
	struct phx_launch l = {.argv = argv, .group = PHX_GROUP_SESSION};
	assert_int_equal(phx_process_start(&l, &p, NULL), 0);
	assert_int_equal(
		phx_process_note(scratch_path(w->scratch, "run/services/nginx.pid"), p.pid, NULL),
		0);
	assert_int_equal(ahead_state_write(w->cfg.state_dir, &w->web, NULL), 0);
	ahead_free(w->ahead);
	assert_int_equal(ahead_new(w->loop, &w->cfg, w->services, &w->ahead, NULL), 0);
	work(w); /* the head has said nothing yet */
	assert_int_equal(phx_process_wait(p.pidfd, 0), -ETIMEDOUT);
	assert_int_equal(ahead_want(w->ahead, 8, &(struct phx_role){0}, NULL), 0);
	work(w);
	assert_int_equal(phx_process_wait(p.pidfd, 5000), 0);
	assert_false(is_written(w));
	phx_process_status(p.pidfd);
	phx_close_fd(&p.pidfd);
}

static void it_ends_with_its_agent(void **state)
{
	struct world *w = *state;
	start_ahead(w);
	end(w);
	assert_false(runs(w, "nginx") || runs(w, "engine"));
	begin(w);
	assert_int_equal(ahead_want(w->ahead, 7, &w->web, NULL), 0);
	work(w);
	WAIT_FOR(runs(w, "nginx"));
}

static void one_that_cannot_start_leaves_nothing(void **state)
{
	struct world *w = *state;
	struct phx_service *broken = add_service(&w->web, "broken", "exit 3", NULL);
	PHX_STR_SET(PHX_LIST_AT(&broken->argv, struct phx_word, 0)->text, "/no/such/program");
	make_active(w, &w->batch);
	assert_int_equal(ahead_want(w->ahead, 7, &w->web, NULL), 0);
	work(w);
	assert_false(runs(w, "nginx") || is_told(w));
	assert_true(runs(w, "engine"));
	/* another role is another try */
	assert_int_equal(ahead_want(w->ahead, 8, &(struct phx_role){0}, NULL), 0);
	work(w);
	assert_false(is_written(w));
}

static void there_is_none_in_the_deploy_environment(void **state)
{
	(void)state;
	struct phx_role role = {0};
	assert_int_equal(ahead_want(NULL, 7, &role, NULL), -EOPNOTSUPP);
	assert_int_equal(ahead_id(NULL), 0);
	assert_int_equal(ahead_over(NULL, &role, NULL), 0);
	ahead_stop_unwanted(NULL);
	ahead_start_wanted(NULL);
	ahead_free(NULL);
}

/* ---- within the prefetch, which has the worker ---- */

static int no_client(void *arg, struct phx_http_client **ret, struct phx_err *err)
{
	(void)arg, (void)ret;
	return phx_err_set(err, -ECONNREFUSED, "there is no head");
}

static void steps_come_first(void **state)
{
	struct world *w = *state;
	struct prefetch *prefetch;
	make_active(w, &w->batch);
	assert_int_equal(prefetch_new(w->loop, &w->cfg, w->ahead, no_client, NULL, &prefetch, NULL),
			 0);
	prefetch_pause(prefetch, &w->batch);
	assert_int_equal(ahead_want(w->ahead, 7, &w->web, NULL), 0);
	prefetch_look_ahead(prefetch);
	assert_int_equal(starts(w, "nginx"), 0);
	prefetch_resume(prefetch);
	WAIT_FOR(runs(w, "nginx"));
	assert_int_equal(ahead_want(w->ahead, 8, &(struct phx_role){0}, NULL), 0);
	prefetch_look_ahead(prefetch);
	WAIT_FOR(!runs(w, "nginx"));
	prefetch_free(prefetch);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(it_runs_beside_the_active_role),
		TEST(its_start_finds_it_running),
		TEST(one_that_died_is_started),
		TEST(another_role_stops_it),
		TEST(services_alone_stop_it_too),
		TEST(wanted_no_more_it_stops),
		TEST(it_waits_for_its_packages),
		TEST(the_active_role_is_left_alone),
		TEST(what_another_agent_left_is_stopped),
		TEST(it_ends_with_its_agent),
		TEST(one_that_cannot_start_leaves_nothing),
		TEST(there_is_none_in_the_deploy_environment),
		TEST(steps_come_first),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
