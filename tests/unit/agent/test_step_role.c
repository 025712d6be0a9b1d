/* The steps about a role, with packages that are built and signed and come from a real head: all is
 * switched or nothing, what a role leaves goes when it may, and a step that is done twice is done
 * once. What /srv is to a node lies below the directory of the test. */
#include "base/tree.h"
#include "unit/agent/step_bench.h"

#include <signal.h>
#include <stdarg.h>

#include "repo/repo.h"
#include "agent/health.h"
#include "agent/jobs.h"
#include "agent/service.h"
#include "agent/state.h"
#include "agent/web.h"

enum { NOBODY = 65534 };

static struct phx_role *role_of(struct bench *b)
{
	return &b->o.role;
}

static int setup(void **state)
{
	bench_setup(state);
	struct bench *b = *state;
	struct services_config config = {b->a.loop, b->a.cfg.pkg_root, scratch_path(b->s, "run"),
					 AGENT_SUPERVISOR_OWN};
	b->a.env = PHX_ENV_OS;
	PHX_STR_SET(b->a.cfg.root, scratch_path(b->s, "node"));
	assert_int_equal(loop_work(b->a.loop, turn_loop, b->a.loop), 0);
	assert_int_equal(services_new(&config, &b->a.services, NULL), 0);
	assert_int_equal(web_new(b->a.loop, false, &b->a.web), 0);
	assert_int_equal(health_new(b->a.loop, b->a.cfg.pkg_root, &b->a.health, NULL), 0);
	PHX_STR_SET(role_of(b)->name, "web");
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;
	health_free(b->a.health);
	services_end(b->a.services);
	services_free(b->a.services);
	web_free(b->a.web);
	return bench_teardown(state);
}

/* ---- packages ---- */

static void put(const char *text, mode_t mode, const char *fmt, ...)
{
	char path[300];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	write_text(path, text, mode);
}

/* The head has the package NAME-VERSION; `leave` (NULL: none) is its program of that name. */
static struct phx_package_ref build(struct bench *b, const char *name, const char *version,
				    const char *leave)
{
	char conf[200];
	struct phx_package made;
	struct phx_err err = {0};
	PHX_AUTO_FREE char *out = phx_path("%s/files", b->head->dir), *path = NULL;
	PHX_AUTO_FREE char *key = phx_path("%s/pki/site.key", b->head->dir);
	const char *src = scratch_path(b->s, "src");
	phx_dir_remove(src, NULL);
	assert_int_equal(phx_dir_make(scratch_path(b->s, "src/files/bin"), 0755, NULL), 0);
	snprintf(conf, sizeof(conf),
		 "name = \"%s\";\nversion = \"%s\";\narch = \"all\";\nsummary = \"A tool\";\n",
		 name, version);
	put(conf, 0644, "%s/package.conf", src);
	put("#!/bin/sh\n", 0755, "%s/files/bin/tool", src);
	if (leave)
		put(leave, 0755, "%s/files/leave", src);
	if (phx_package_build(src, out, &path, &err) < 0 ||
	    phx_package_inspect(path, &made, &err) < 0 || phx_package_sign(path, key, &err) < 0)
		fail_msg("%s", err.text);
	struct phx_package_ref ref = {.size_bytes = made.size_bytes};
	PHX_STR_SET(ref.name, name);
	PHX_STR_SET(ref.version, version);
	PHX_STR_SET(ref.sha256, made.sha256);
	return ref;
}

/* The package is one of the role's. */
static void add(struct phx_role *role, struct phx_package_ref ref)
{
	struct phx_package_ref *p = phx_list_push(&role->packages, sizeof(*p));
	assert_non_null(p);
	*p = ref;
}

static void add_built(struct bench *b, const char *name, const char *version)
{
	add(role_of(b), build(b, name, version, NULL));
}

/* A new order, for another role, which is empty. */
static void order_role(struct bench *b, const char *name)
{
	phx_record_fini(&phx_role_record, role_of(b));
	*role_of(b) = (struct phx_role){0};
	PHX_STR_SET(role_of(b)->name, name);
}

static void assert_current(struct bench *b, const char *name, const char *version)
{
	char now[PHX_NAME_MAX] = "";
	phx_package_current(b->a.cfg.pkg_root, name, now, NULL);
	assert_string_equal(now, version);
}

static bool in_cache(struct bench *b, const char *file)
{
	PHX_AUTO_FREE char *path = phx_path("%s/packages/%s", b->a.cfg.cache_dir, file);
	return exists(path);
}

static void remove_at_head(struct bench *b, const char *file)
{
	PHX_AUTO_FREE char *path = phx_path("%s/files/%s", b->head->dir, file);
	assert_int_equal(unlink(path), 0);
}

/* "" when there is none. */
static void assert_role(struct bench *b, const char *name, bool run)
{
	struct role_state now = {0};
	if (role_state_read(b->a.cfg.state_dir, &now, NULL) < 0)
		now = (struct role_state){0};
	assert_string_equal(now.role.name, name);
	assert_int_equal(now.run, run);
	phx_record_fini(&role_state_record, &now);
}

/* ---- prefetch, activate ---- */

static void test_activate(void **state)
{
	struct bench *b = *state;
	add_built(b, "tool", "1.0");
	add_built(b, "more", "2.0");
	assert_step(b, PHX_STEP_prefetch, 0);
	assert_true(in_cache(b, "tool-1.0.tar.zst") && in_cache(b, "more-2.0.tar.zst"));
	assert_current(b, "tool", "");
	/* from now on nothing is fetched */
	remove_at_head(b, "tool-1.0.tar.zst");
	for (int i = 0; i < 2; i++) {
		assert_step(b, PHX_STEP_activate, 0);
		assert_current(b, "tool", "1.0");
		assert_current(b, "more", "2.0");
		assert_role(b, "web", false);
		assert_step(b, PHX_STEP_prefetch, 0);
	}
}

static void test_a_package_that_is_not_there(void **state)
{
	struct bench *b = *state;
	add_built(b, "tool", "1.0");
	add_built(b, "more", "2.0");
	remove_at_head(b, "more-2.0.tar.zst");
	assert_step(b, PHX_STEP_activate, -ENOENT);
	assert_current(b, "tool", "");
	assert_role(b, "", false);
	assert_false(in_cache(b, "more-2.0.tar.zst"));
}

/* Signed by nobody that this node believes: neither unpacked nor kept. */
static void test_a_package_of_a_stranger(void **state)
{
	struct bench *b = *state;
	char key[96];
	struct phx_pki *stranger = NULL;
	PHX_AUTO_FREE char *path = phx_path("%s/files/tool-1.0.tar.zst", b->head->dir);
	add_built(b, "tool", "1.0");
	assert_int_equal(phx_pki_open(scratch_path(b->s, "stranger"), NULL, 0, &stranger, NULL), 0);
	phx_pki_free(stranger);
	snprintf(key, sizeof(key), "%s/stranger/site.key", b->s->dir);
	assert_int_equal(phx_package_sign(path, key, NULL), 0);
	assert_step(b, PHX_STEP_prefetch, -EKEYREJECTED);
	assert_step(b, PHX_STEP_activate, -EKEYREJECTED);
	assert_false(in_cache(b, "tool-1.0.tar.zst"));
	assert_current(b, "tool", "");
}

/* The order names other bytes of the same name. */
static void test_a_package_that_is_another(void **state)
{
	struct bench *b = *state;
	struct phx_package_ref ref = build(b, "tool", "1.0", NULL);
	ref.sha256[0] = ref.sha256[0] == '0' ? '1' : '0';
	add(role_of(b), ref);
	assert_step(b, PHX_STEP_activate, -EBADMSG);
	assert_current(b, "tool", "");
	assert_role(b, "", false);
}

static void test_names_lead_nowhere(void **state)
{
	struct bench *b = *state;
	struct phx_package_ref ref = {.name = "../tool", .version = "1.0"};
	add(role_of(b), ref);
	assert_step(b, PHX_STEP_prefetch, -EINVAL);
	assert_step(b, PHX_STEP_activate, -EINVAL);
}

static void test_given_up(void **state)
{
	struct bench *b = *state;
	add_built(b, "tool", "1.0");
	atomic_store(&b->a.stop, true);
	assert_step(b, PHX_STEP_prefetch, -ECANCELED);
	assert_false(in_cache(b, "tool-1.0.tar.zst"));
	/* nor is what was fetched before switched to */
	atomic_store(&b->a.stop, false);
	assert_step(b, PHX_STEP_prefetch, 0);
	atomic_store(&b->a.stop, true);
	assert_step(b, PHX_STEP_activate, -ECANCELED);
	assert_current(b, "tool", "");
}

/* The last of three cannot be switched: of the others one has its version of before, one is as new
 * as it was. */
static void test_all_or_none(void **state)
{
	struct bench *b = *state;
	PHX_AUTO_FREE char *in_the_way = phx_path("%s/stuck/current/x", b->a.cfg.pkg_root);
	add_built(b, "tool", "1.0");
	assert_step(b, PHX_STEP_activate, 0);
	order_role(b, "web");
	add_built(b, "tool", "2.0");
	add_built(b, "new", "1.0");
	add_built(b, "stuck", "1.0");
	assert_int_equal(phx_dir_make(in_the_way, 0755, NULL), 0);
	assert_true(bench_step(b, PHX_STEP_activate) < 0);
	assert_current(b, "tool", "1.0");
	assert_current(b, "new", "");
	struct role_state now;
	assert_int_equal(role_state_read(b->a.cfg.state_dir, &now, NULL), 0);
	assert_string_equal(PHX_LIST_AT(&now.role.packages, struct phx_package_ref, 0)->version,
			    "1.0");
	phx_record_fini(&role_state_record, &now);
	/* the next attempt passes */
	assert_step(b, PHX_STEP_activate, 0);
	assert_current(b, "tool", "2.0");
	assert_current(b, "new", "1.0");
	assert_current(b, "stuck", "1.0");
}

static void test_nothing_older(void **state)
{
	struct bench *b = *state;
	add_built(b, "tool", "2.0");
	assert_step(b, PHX_STEP_activate, 0);
	order_role(b, "web");
	add_built(b, "tool", "1.0");
	assert_step(b, PHX_STEP_activate, -ESTALE);
	assert_current(b, "tool", "2.0");
	/* but for the way back of an update that failed */
	b->o.step.former = true;
	assert_step(b, PHX_STEP_activate, 0);
	assert_current(b, "tool", "1.0");
}

/* ---- what a role leaves ---- */

/* Notes its words in DIR/left; fails while there is DIR/fails. */
static struct phx_package_ref build_leaving(struct bench *b, const char *name, const char *version)
{
	char script[400];
	snprintf(script, sizeof(script),
		 "#!/bin/sh\n[ ! -e %s/fails ] || { echo 'still in use' >&2; exit 1; }\n"
		 "echo \"$PHX_ROLE ${PHX_PACKAGE#%s/}\" >>%s/left\n",
		 b->s->dir, b->a.cfg.pkg_root, b->s->dir);
	return build(b, name, version, script);
}

static void assert_left(struct bench *b, const char *want)
{
	PHX_AUTO_FREE char *text = read_text(scratch_path(b->s, "left"));
	assert_string_equal(text, want);
}

static void put_on_node(struct bench *b, const char *dir)
{
	assert_int_equal(phx_dir_make(scratch_path(b->s, dir), 0755, NULL), 0);
}

static void test_leave(void **state)
{
	struct bench *b = *state;
	add(role_of(b), build_leaving(b, "first", "1.0"));
	add(role_of(b), build_leaving(b, "second", "1.0"));
	add_word(&role_of(b)->leave_remove, "/srv/www");
	put_on_node(b, "node/srv/www/pages");
	put_on_node(b, "node/srv/other");
	assert_step(b, PHX_STEP_activate, 0);
	for (int i = 0; i < 2; i++) { /* twice is once */
		assert_step(b, PHX_STEP_leave, 0);
		assert_left(b, "web second/1.0\nweb first/1.0\n");
		assert_current(b, "first", "");
		assert_role(b, "", false);
		assert_false(exists(scratch_path(b->s, "node/srv/www")));
		assert_true(exists(scratch_path(b->s, "node/srv/other")));
		assert_false(in_cache(b, "first-1.0.tar.zst"));
	}
}

/* Where the package cannot undo what it did, the node has its role still. */
static void test_leave_that_fails(void **state)
{
	struct bench *b = *state;
	add(role_of(b), build_leaving(b, "tool", "1.0"));
	add_word(&role_of(b)->leave_remove, "/srv/www");
	put_on_node(b, "node/srv/www");
	assert_step(b, PHX_STEP_activate, 0);
	write_text(scratch_path(b->s, "fails"), "", 0600);
	assert_step(b, PHX_STEP_leave, -EIO);
	assert_says(b, "leave of tool-1.0: ");
	assert_says(b, "still in use");
	assert_current(b, "tool", "1.0");
	assert_role(b, "web", false);
	assert_true(exists(scratch_path(b->s, "node/srv/www")));
	assert_true(in_cache(b, "tool-1.0.tar.zst"));
	assert_int_equal(unlink(scratch_path(b->s, "fails")), 0);
	assert_step(b, PHX_STEP_leave, 0);
	assert_left(b, "web tool/1.0\n");
}

/* A list with one word that may not be: nothing of it is removed. */
static void test_leave_asks_before(void **state)
{
	struct bench *b = *state;
	add(role_of(b), build_leaving(b, "tool", "1.0"));
	add_word(&role_of(b)->leave_remove, "/srv/www");
	add_word(&role_of(b)->leave_remove, "/srv/../etc");
	put_on_node(b, "node/srv/www");
	put_on_node(b, "node/etc");
	assert_step(b, PHX_STEP_activate, 0);
	assert_step(b, PHX_STEP_leave, -EPERM);
	assert_left(b, "");
	assert_current(b, "tool", "1.0");
	assert_role(b, "web", false);
	assert_true(exists(scratch_path(b->s, "node/srv/www")));
	assert_true(exists(scratch_path(b->s, "node/etc")));
}

/* A hand-over that was cut off left the former role: the next one removes it, but for what both
 * need. */
static void test_the_role_before(void **state)
{
	struct bench *b = *state;
	struct phx_package_ref shared = build_leaving(b, "shared", "1.0");
	add(role_of(b), shared);
	add(role_of(b), build_leaving(b, "tool", "1.0"));
	add_word(&role_of(b)->leave_remove, "/srv/www");
	put_on_node(b, "node/srv/www");
	assert_step(b, PHX_STEP_activate, 0);
	order_role(b, "batch");
	add(role_of(b), shared);
	write_text(scratch_path(b->s, "fails"), "", 0600);
	assert_step(b, PHX_STEP_activate, -EIO);
	assert_role(b, "web", false);
	assert_current(b, "tool", "1.0");
	assert_int_equal(unlink(scratch_path(b->s, "fails")), 0);
	for (int i = 0; i < 2; i++) {
		assert_step(b, PHX_STEP_activate, 0);
		assert_role(b, "batch", false);
		assert_left(b, "web tool/1.0\n");
		assert_current(b, "tool", "");
		assert_current(b, "shared", "1.0");
		assert_false(exists(scratch_path(b->s, "node/srv/www")));
	}
}

/* ---- services ---- */

/* A service that notes its start, and lives. */
static void add_living(struct bench *b)
{
	char script[200];
	snprintf(script, sizeof(script), "echo x >>%s/starts; exec sleep 600", b->s->dir);
	add_service(role_of(b), "one", script, NULL);
}

static bool started(struct bench *b, const char *want)
{
	PHX_AUTO_FREE char *text = read_text(scratch_path(b->s, "starts"));
	return phx_str_eq(text, want);
}

static void test_start_and_stop(void **state)
{
	struct bench *b = *state;
	char text[SERVICE_TEXT_MAX];
	add_living(b);
	assert_step(b, PHX_STEP_activate, 0);
	for (int i = 0; i < 2; i++) {
		assert_step(b, PHX_STEP_start, 0);
		assert_role(b, "web", true);
		WAIT_FOR(started(b, "x\n"));
		assert_true(services_ok(b->a.services, text, sizeof(text)));
	}
	for (int i = 0; i < 2; i++) {
		assert_step(b, PHX_STEP_stop, 0);
		assert_role(b, "web", false);
	}
	assert_step(b, PHX_STEP_start, 0);
	WAIT_FOR(started(b, "x\nx\n"));
}

/* A service that cannot run, or does not while it settles, is no role that runs: the next agent
 * does not start it. */
static void test_start_that_fails(void **state)
{
	static const char *const scripts[] = {"echo no such luck >&2; exit 3",
					      "sleep 0.3; echo no such luck >&2; exit 3"};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(scripts); i++) {
		struct bench *b;
		setup((void **)&b);
		struct phx_service *s = add_service(role_of(b), "one", scripts[i], NULL);
		s->restart = false;
		s->settle_s = 10;
		assert_step(b, PHX_STEP_activate, 0);
		assert_true(bench_step(b, PHX_STEP_start) < 0);
		assert_says(b, "no such luck");
		assert_role(b, "web", false);
		teardown((void **)&b);
	}
}

/* A role that was mended since it was activated: the next start of the node is by what was started,
 * not by what failed. */
static void test_what_was_started_is_kept(void **state)
{
	struct bench *b = *state;
	struct role_state now;
	struct phx_service *s = add_service(role_of(b), "one", "exit 3", NULL);
	s->restart = false;
	s->settle_s = 1;
	assert_step(b, PHX_STEP_activate, 0);
	assert_true(bench_step(b, PHX_STEP_start) < 0);
	order_role(b, "web");
	add_living(b);
	assert_step(b, PHX_STEP_start, 0);
	assert_role(b, "web", true);
	assert_int_equal(role_state_read(b->a.cfg.state_dir, &now, NULL), 0);
	assert_true(phx_record_equal(&phx_role_record, &now.role, role_of(b)));
	phx_record_fini(&role_state_record, &now);
}

static void test_stop_without_a_role(void **state)
{
	struct bench *b = *state;
	assert_step(b, PHX_STEP_stop, 0);
	assert_string_equal(b->err.text, "");
	assert_role(b, "", false);
	/* and one that cannot be read is not taken for none */
	put("{", 0600, "%s/role.json", b->a.cfg.state_dir);
	assert_true(bench_step(b, PHX_STEP_stop) < 0);
}

/* Who comes next needs the port. */
static void test_stop_with_a_port_open(void **state)
{
	struct bench *b = *state;
	char port[8];
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t n = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, n), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
	snprintf(port, sizeof(port), "%u", ntohs(at.sin_port));
	add_word(&role_of(b)->ports, port);
	atomic_store(&b->a.stop, true); /* no more waiting */
	assert_step(b, PHX_STEP_stop, -EBUSY);
	assert_says(b, port);
	close(fd);
	assert_step(b, PHX_STEP_stop, 0);
}

static void test_health(void **state)
{
	struct bench *b = *state;
	role_of(b)->health.kind = PHX_HEALTH_EXEC;
	role_of(b)->health.timeout_s = 5;
	add_word(&role_of(b)->health.argv, "/bin/sh");
	add_word(&role_of(b)->health.argv, "-c");
	PHX_AUTO_FREE char *script =
		phx_path("[ -e %s/well ] || { echo unwell >&2; exit 1; }", b->s->dir);
	add_word(&role_of(b)->health.argv, script);
	atomic_store(&b->a.stop, true);
	assert_step(b, PHX_STEP_health, -ETIMEDOUT);
	assert_says(b, "not healthy: ");
	assert_says(b, "unwell");
	write_text(scratch_path(b->s, "well"), "", 0600);
	for (int i = 0; i < 2; i++)
		assert_step(b, PHX_STEP_health, 0);
}

/* A check that passes says nothing of a service that does not run. */
static void test_health_of_a_dead_service(void **state)
{
	struct bench *b = *state;
	char script[200], text[SERVICE_TEXT_MAX];
	snprintf(script, sizeof(script), "while [ ! -e %s/dies ]; do sleep 0.02; done; exit 3",
		 b->s->dir);
	add_service(role_of(b), "one", script, NULL)->restart = false;
	assert_step(b, PHX_STEP_activate, 0);
	assert_step(b, PHX_STEP_start, 0);
	write_text(scratch_path(b->s, "dies"), "", 0600);
	WAIT_FOR(!services_ok(b->a.services, text, sizeof(text)));
	atomic_store(&b->a.stop, true);
	assert_step(b, PHX_STEP_health, -ETIMEDOUT);
	assert_says(b, "not running: ");
}

/* ---- drain ---- */

static void on_end(void *arg, const struct job_end *end)
{
	*(struct job_end *)arg = *end;
}

/* The node has the job "sh -c SCRIPT" of nobody, whose end will be in `end`. */
static void works(struct bench *b, const char *script, struct job_end *end)
{
	struct jobs_config config = {.loop = b->a.loop,
				     .state_dir = b->a.cfg.state_dir,
				     .cache_dir = b->a.cfg.cache_dir,
				     .run_dir = scratch_path(b->s, "run"),
				     .hosts_file = "",
				     .ended = on_end,
				     .arg = end};
	struct phx_job job = {.id = 5, .uid = NOBODY, .gid = NOBODY, .grace_ms = 5000};
	struct phx_job_part *part = phx_list_push(&job.parts, sizeof(*part));
	PHX_STR_SET(part->node, "n1");
	assert_int_equal(phx_text_push(&job.argv, "sh"), 0);
	assert_int_equal(phx_text_push(&job.argv, "-c"), 0);
	assert_int_equal(phx_text_push(&job.argv, script), 0);
	assert_int_equal(jobs_new(&config, &b->a.jobs, NULL), 0);
	jobs_heard(b->a.jobs, phx_clock_boot_ms());
	assert_int_equal(jobs_start(b->a.jobs, &job, "n1", NULL), 0);
	phx_record_fini(&phx_job_record, &job);
}

/* A node without jobs, tasks and clients is drained. */
static void test_drain_of_an_idle_node(void **state)
{
	struct bench *b = *state;
	struct job_end end = {0};
	works(b, "true", &end);
	assert_step(b, PHX_STEP_drain, 0);
	assert_int_equal(end.run.id, 5);
	assert_step(b, PHX_STEP_drain, 0); /* twice is once */
	jobs_free(b->a.jobs);
}

/* What ends by itself within the grace of the role is not told to end. */
static void test_drain_waits_for_what_ends(void **state)
{
	struct bench *b = *state;
	struct job_end end = {0};
	works(b, "sleep 0.2; exit 3", &end);
	role_of(b)->drain_grace_s = 3600;
	assert_step(b, PHX_STEP_drain, 0);
	assert_int_equal(end.status, 3);
	assert_false(end.forced);
	jobs_free(b->a.jobs);
}

/* After the grace of the role a job is told to end, and the step waits for that. */
static void test_drain_ends_what_does_not_end(void **state)
{
	struct bench *b = *state;
	struct job_end end = {0};
	works(b, "exec sleep 1000", &end);
	role_of(b)->drain_grace_s = 0;
	assert_step(b, PHX_STEP_drain, 0);
	assert_int_equal(end.run.id, 5);
	assert_int_equal(end.status, 128 + SIGTERM);
	assert_true(end.forced); /* it may run again elsewhere */
	jobs_free(b->a.jobs);
}

/* Within the grace nobody is told to end; and a newer plan, or the agent's end, ends the wait. */
static void test_drain_that_is_given_up(void **state)
{
	struct bench *b = *state;
	struct job_end end = {0};
	struct job_run run = {5, 0};
	works(b, "exec sleep 1000", &end);
	role_of(b)->drain_grace_s = 3600;
	b->a.step_log.epoch = b->o.epoch + 1;
	assert_step(b, PHX_STEP_drain, -ECANCELED);
	b->a.step_log.epoch = b->o.epoch;
	atomic_store(&b->a.stop, true);
	assert_step(b, PHX_STEP_drain, -ECANCELED);
	atomic_store(&b->a.stop, false);
	assert_int_equal(end.run.id, 0);
	assert_int_equal(jobs_kill(b->a.jobs, run, false, NULL), 0);
	assert_step(b, PHX_STEP_drain, 0);
	assert_int_equal(end.status, 128 + SIGTERM);
	jobs_free(b->a.jobs);
}

/* The deploy environment has none of it to drain: the head asks the system. */
static void test_drain_is_a_step_of_the_system(void **state)
{
	struct bench *b = *state;
	b->a.env = PHX_ENV_DEPLOY;
	assert_step(b, PHX_STEP_drain, -EPERM);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_activate),
		TEST(test_a_package_that_is_not_there),
		TEST(test_a_package_of_a_stranger),
		TEST(test_a_package_that_is_another),
		TEST(test_names_lead_nowhere),
		TEST(test_given_up),
		TEST(test_all_or_none),
		TEST(test_nothing_older),
		TEST(test_leave),
		TEST(test_leave_that_fails),
		TEST(test_leave_asks_before),
		TEST(test_the_role_before),
		TEST(test_start_and_stop),
		cmocka_unit_test(test_start_that_fails),
		TEST(test_what_was_started_is_kept),
		TEST(test_stop_without_a_role),
		TEST(test_stop_with_a_port_open),
		TEST(test_health),
		TEST(test_health_of_a_dead_service),
		TEST(test_drain_of_an_idle_node),
		TEST(test_drain_waits_for_what_ends),
		TEST(test_drain_ends_what_does_not_end),
		TEST(test_drain_that_is_given_up),
		TEST(test_drain_is_a_step_of_the_system),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
