/* The packages of the shipped roles, as `make packages` prepared them: built, signed, unpacked, and
 * run the way a node runs them. Skipped where they are not prepared. Needs root (a network
 * namespace of its own). */
#include "hostile.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

/* BUILD/packages/src/NAME, from BUILD/tests/unit/repo/PROGRAM; skips the test when it is not
 * there. */
static char *source_of(const char *name)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	assert_true(n > 0);
	self[n] = '\0';
	for (int i = 0; i < 4; i++)
		*strrchr(self, '/') = '\0';
	char *path = phx_path("%s/packages/src/%s", self, name);
	if (access(path, F_OK) < 0) {
		free(path);
		skip();
	}
	return path;
}

/* Built twice (same bytes), signed, unpacked, made current. */
static void install(const struct place *p, const char *name)
{
	PHX_AUTO_FREE char *src = source_of(name), *one = NULL, *two = NULL;
	struct phx_package first, second;
	struct phx_err err = {0};
	if (phx_package_build(src, p->out, &one, &err) < 0 ||
	    phx_package_inspect(one, &first, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(phx_package_build(src, p->repo, &two, NULL), 0);
	assert_int_equal(phx_package_inspect(two, &second, NULL), 0);
	assert_string_equal(first.sha256, second.sha256);
	assert_int_equal(phx_package_sign(one, p->key, NULL), 0);
	if (phx_package_unpack(one, p->pub, p->root, NULL, NULL, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(phx_package_activate(p->root, name, first.version, NULL), 0);
}

static int run(const char *const *argv, const char *const *env, char **ret_out)
{
	const struct phx_run program = {.argv = argv, .env_add = env};
	struct phx_run_result r = {0};
	assert_int_equal(phx_run(&program, &r, NULL), 0);
	*ret_out = PHX_TAKE(r.out);
	int status = r.status;
	phx_run_result_fini(&r);
	return status;
}

static void batch_tools(void **state)
{
	struct place *p = *state;
	install(p, "batch-tools");
	PHX_AUTO_FREE char *base = in_place(p, "batch"), *job = in_place(p, "batch/17");
	PHX_AUTO_FREE char *env = phx_path("PHX_BATCH_DIR=%s", base);
	const char *const envs[] = {env, NULL};
	PHX_AUTO_FREE char *hello = phx_path("%s/batch-tools/current/bin/phx-hello", p->root);
	PHX_AUTO_FREE char *prolog = phx_path("%s/batch-tools/current/libexec/prolog", p->root);
	PHX_AUTO_FREE char *epilog = phx_path("%s/batch-tools/current/libexec/epilog", p->root);
	PHX_AUTO_FREE char *said = NULL, *dir = NULL, *none = NULL, *bad = NULL;
	char host[256];
	assert_int_equal(gethostname(host, sizeof(host)), 0);
	const char *const hello_argv[] = {hello, NULL};
	assert_int_equal(run(hello_argv, NULL, &said), 0);
	assert_non_null(strstr(said, host));
	const char *const prolog_argv[] = {prolog, "17", "nobody", NULL};
	assert_int_equal(run(prolog_argv, envs, &dir), 0);
	dir[strcspn(dir, "\n")] = '\0';
	assert_string_equal(dir, job);
	struct stat st;
	assert_int_equal(stat(job, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_not_equal(st.st_uid, 0);
	const char *const epilog_argv[] = {epilog, "17", NULL};
	assert_int_equal(run(epilog_argv, envs, &none), 0);
	assert_int_not_equal(access(job, F_OK), 0);
	const char *const bad_argv[] = {epilog, "../..", NULL};
	assert_int_equal(run(bad_argv, envs, &bad), 64);
}

static int fetch(const char *url, char **ret_body)
{
	const char *const argv[] = {"curl", "-sf", "--max-time", "10", url, NULL};
	return run(argv, NULL, ret_body);
}

/* In a namespace of its own, port 80 is free and nobody else sees it. */
static void own_network(void)
{
	PHX_AUTO_FREE char *out = NULL;
	const char *const up[] = {"ip", "link", "set", "lo", "up", NULL};
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	assert_int_equal(run(up, NULL, &out), 0);
}

static pid_t start_web(const struct place *p, const char *run_dir)
{
	PHX_AUTO_FREE char *program = phx_path("%s/web-nginx/current/bin/web-nginx", p->root);
	PHX_AUTO_FREE char *env = phx_path("PHX_RUN_DIR=%s", run_dir);
	pid_t pid = fork();
	if (pid == 0) {
		char *const argv[] = {program, NULL},
			    *const envp[] = {env, "PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
		execve(program, argv, envp);
		_exit(127);
	}
	return pid;
}

static void wait_healthy(void)
{
	for (int i = 0; i < 100; i++, usleep(50000)) {
		PHX_AUTO_FREE char *body = NULL;
		if (fetch("http://127.0.0.1/health", &body) == 0) {
			assert_memory_equal(body, "ok ", 3);
			return;
		}
	}
	fail_msg("no answer from /health");
}

static void check_pages(void)
{
	char host[256];
	assert_int_equal(gethostname(host, sizeof(host)), 0);
	PHX_AUTO_FREE char *page = NULL, *one = NULL, *twelve = NULL, *none = NULL,
			   *too_many = NULL;
	assert_int_equal(fetch("http://127.0.0.1/", &page), 0);
	assert_non_null(strstr(page, host));
	assert_int_equal(fetch("http://127.0.0.1/work/1", &one), 0);
	assert_int_equal(fetch("http://127.0.0.1/work/12", &twelve), 0);
	assert_true(strlen(one) > 32768);
	assert_int_equal(strlen(twelve), 12 * strlen(one));
	assert_int_not_equal(fetch("http://127.0.0.1/work/1000", &too_many), 0);
	assert_int_not_equal(fetch("http://127.0.0.1/../etc/passwd", &none), 0);
}

static void web_nginx(void **state)
{
	struct place *p = *state;
	install(p, "web-nginx");
	PHX_AUTO_FREE char *run_dir = in_place(p, "run"), *before = list_tree(p->root);
	/* workers are www-data */
	assert_int_equal(chmod(p->dir, 0755), 0);
	own_network();
	pid_t pid = start_web(p, run_dir);
	wait_healthy();
	check_pages();
	int status;
	assert_int_equal(kill(pid, SIGTERM), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	/* it wrote below its run directory and nowhere in the package */
	PHX_AUTO_FREE char *after = list_tree(p->root), *body = NULL;
	assert_string_equal(before, after);
	assert_int_not_equal(fetch("http://127.0.0.1/health", &body), 0);
}

/* The programs find their libraries in the package, and say what they lack. */
static void slurm_compute(void **state)
{
	struct place *p = *state;
	install(p, "slurm-compute");
	PHX_AUTO_FREE char *base = phx_path("%s/slurm-compute/current", p->root), *out = NULL,
			   *version = NULL;
	PHX_AUTO_FREE char *slurmd = phx_path("%s/sbin/slurmd", base),
			   *run_slurmd = phx_path("%s/bin/run-slurmd", base);
	PHX_AUTO_FREE char *run_munged = phx_path("%s/bin/run-munged", base);
	PHX_AUTO_FREE char *libs = phx_path("LD_LIBRARY_PATH=%s/lib/slurm-wlm", base);
	const char *const ask[] = {slurmd, "-V", NULL}, *const start[] = {run_slurmd, NULL},
			  *const munged[] = {run_munged, NULL};
	const char *const env[] = {libs, NULL},
			  *const nowhere[] = {"PHX_MUNGE_KEY=/nonexistent", "PHX_SLURMCTLD=", NULL};
	assert_int_equal(run(ask, env, &version), 0);
	assert_non_null(strstr(version, "slurm"));
	assert_int_equal(run(start, nowhere, &out), 78);
	free(PHX_TAKE(out));
	if (access("/etc/munge/munge.key", F_OK) < 0)
		assert_int_equal(run(munged, nowhere, &out), 78);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, place_setup, place_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(batch_tools), TEST(web_nginx), TEST(slurm_compute)};
	return cmocka_run_group_tests_name("role packages", tests, NULL, NULL);
}
