/* The step scratch on a small machine of its own: a root in memory with nothing but what a test
 * puts there, in mount and process namespaces. What it destroys, what it leaves, and above all
 * when it says that nothing of a person is left: never, where it could not see that. */
#include "fake/ioctl.h"
#include "unit/agent/scratch.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "agent/step_table.h"
#include "agent/task_talk.h"

enum { PERSON = 4242, DAEMON = 101, SOON_MS = 100, LONG_MS = 60000 };

/* ---- a directory that cannot be read to its end ---- */

static const char *bad_dir; /* NULL: none */

/* In the place of libc's. */
struct dirent *readdir(DIR *d)
{
	static struct dirent *(*real)(DIR *);
	struct stat bad, st;
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "readdir");
	if (bad_dir && stat(bad_dir, &bad) == 0 && fstat(dirfd(d), &st) == 0 &&
	    st.st_ino == bad.st_ino && st.st_dev == bad.st_dev) {
		errno = EIO;
		return NULL;
	}
	return real(d);
}

/* ---- the machine ---- */

static bool enter_root(void)
{
	static const char *const dirs[] = {"/mnt/proc", "/mnt/tmp", "/mnt/srv", "/mnt/aside"};
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", "/mnt", "tmpfs", 0, "mode=0755") < 0)
		return false;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(dirs); i++)
		if (mkdir(dirs[i], 0755) < 0)
			return false;
	return mount("proc", "/mnt/proc", "proc", 0, NULL) == 0 && chdir("/mnt") == 0 &&
		syscall(SYS_pivot_root, ".", ".") == 0 && umount2(".", MNT_DETACH) == 0 &&
		chdir("/") == 0;
}

/* ---- the agent in it ---- */

struct node {
	struct scratch *s;
	struct agent a;
	struct phx_order o;
	struct step_run run;
	struct phx_err err;
	int64_t time_ms;    /* that the step has */
	atomic_int n_ended; /* jobs */
};

static void on_end(void *arg, const struct job_end *end)
{
	struct node *n = arg;
	(void)end;
	n->n_ended++;
}

static void put(struct node *n, const char *name, uid_t owner)
{
	char *path = scratch_path(n->s, name), *slash = strrchr(path, '/');
	*slash = '\0';
	assert_int_equal(phx_dir_make(path, 0755, NULL), 0);
	*slash = '/';
	write_text(path, "mine", 0600);
	assert_int_equal(chown(path, owner, owner), 0);
}

static bool has(struct node *n, const char *name)
{
	return exists(scratch_path(n->s, name));
}

static void configure(struct node *n)
{
	struct agent_config *c = &n->a.cfg;
	c->whole_machine = true;
	PHX_STR_SET(c->state_dir, scratch_path(n->s, "state"));
	PHX_STR_SET(c->cache_dir, scratch_path(n->s, "cache"));
	PHX_STR_SET(c->root, scratch_path(n->s, "root"));
}

static void start_parts(struct node *n)
{
	struct jobs_config jobs = {.loop = n->a.loop,
				   .state_dir = n->a.cfg.state_dir,
				   .cache_dir = n->a.cfg.cache_dir,
				   .run_dir = scratch_path(n->s, "run"),
				   .hosts_file = "",
				   .ended = on_end,
				   .arg = n};
	struct tasks_config tasks = {.loop = n->a.loop,
				     .state_dir = n->a.cfg.state_dir,
				     .cache_dir = n->a.cfg.cache_dir,
				     .run_dir = scratch_path(n->s, "run")};
	assert_int_equal(jobs_new(&jobs, &n->a.jobs, NULL), 0);
	assert_int_equal(tasks_new(&tasks, &n->a.tasks, NULL), 0);
}

static int setup(void **state)
{
	struct node *n = calloc(1, sizeof(*n));
	scratch_setup((void **)&n->s);
	n->time_ms = LONG_MS;
	n->a.loop = loop_started();
	n->a.env = PHX_ENV_OS;
	configure(n);
	start_parts(n);
	n->o = (struct phx_order){.id = 7, .epoch = 1, .step = {.id = 7}};
	n->o.step.kind = PHX_STEP_scratch;
	put(n, "cache-jobs/5.0/output", PERSON);
	put(n, "cache-tasks/hpc.4242/data", PERSON);
	put(n, "cache/jobs/5", 0);
	put(n, "cache/tasks/deep/er/6", PERSON);
	put(n, "cache/packages/p", 0);
	*state = n;
	return 0;
}

static int teardown(void **state)
{
	struct node *n = *state;
	bad_dir = NULL;
	fake_kernel = (struct fake_kernel){0};
	tasks_free(n->a.tasks);
	jobs_free(n->a.jobs);
	loop_free(n->a.loop);
	scratch_teardown((void **)&n->s);
	free(n);
	return 0;
}

static int step(struct node *n)
{
	phx_err_clear(&n->err);
	n->run = (struct step_run){
		.agent = &n->a, .order = &n->o, .deadline_ms = phx_clock_ms() + n->time_ms};
	return step_run(&n->run, &n->err);
}

#define assert_step(n, result) \
	do { \
		int r_ = step(n); \
		if (r_ != (result)) \
			fail_msg("step: %d instead of %d: %s", r_, (int)(result), (n)->err.text); \
	} while (0)
#define assert_says(text, part) \
	do { \
		if (!strstr(text, part)) \
			fail_msg("'%s' lacks '%s'", text, part); \
	} while (0)

static void assert_nothing_destroyed(struct node *n)
{
	assert_true(has(n, "cache-jobs/5.0/output") && has(n, "cache-tasks/hpc.4242/data") &&
		    has(n, "cache/jobs/5") && has(n, "cache/tasks/deep/er/6"));
}

/* ---- what it destroys ---- */

static void test_all_of_jobs_goes_and_nothing_else(void **state)
{
	struct node *n = *state;
	assert_step(n, 0);
	assert_says(n->run.said, "4 left by jobs removed");
	assert_says(n->run.said, "free blocks stay; no disk was erased");
	assert_false(has(n, "cache-jobs/5.0") || has(n, "cache-tasks/hpc.4242") ||
		     has(n, "cache/jobs/5") || has(n, "cache/tasks/deep"));
	/* others hold these open, or they are file systems of their own */
	assert_true(has(n, "cache-jobs") && has(n, "cache-tasks") && has(n, "cache/jobs") &&
		    has(n, "cache/tasks"));
	assert_true(has(n, "cache/packages/p"));
	assert_step(n, 0); /* twice is once */
	assert_says(n->run.said, "0 left by jobs removed");
}

static void test_a_disk_that_can_discards(void **state)
{
	struct node *n = *state;
	fake_kernel.trims = true;
	assert_step(n, 0);
	assert_says(n->run.said, "free blocks discarded; no disk was erased");
	assert_true(fake_kernel.trimmed == UINT64_MAX);
}

/* A link is removed, and what it leads to is not the job's. */
static void test_links_are_not_followed(void **state)
{
	struct node *n = *state;
	put(n, "keep/file", 0);
	assert_int_equal(
		symlink(scratch_path(n->s, "keep"), scratch_path(n->s, "cache-jobs/5.0/l")), 0);
	assert_int_equal(symlink(scratch_path(n->s, "keep"), scratch_path(n->s, "cache-jobs/l")),
			 0);
	assert_step(n, 0);
	assert_true(has(n, "keep/file"));
	assert_false(has(n, "cache-jobs/l") || has(n, "cache-jobs/5.0"));
}

/* What is mounted there is nobody's scratch: it stays, and there is no success. */
static void test_what_is_mounted_below_stays(void **state)
{
	struct node *n = *state;
	char *at = scratch_path(n->s, "cache-jobs/5.0/m");
	assert_int_equal(mkdir(at, 0755), 0);
	assert_int_equal(mount("tmpfs", at, "tmpfs", 0, "mode=0755"), 0);
	put(n, "cache-jobs/5.0/m/file", 0);
	assert_step(n, -EXDEV);
	assert_says(n->err.text, "cache-jobs/5.0");
	assert_true(has(n, "cache-jobs/5.0/m/file"));
	assert_int_equal(umount2(scratch_path(n->s, "cache-jobs/5.0/m"), 0), 0);
	assert_step(n, 0);
}

/* ---- what it finds ---- */

static void assert_found(struct node *n, const char *path)
{
	char want[300];
	snprintf(want, sizeof(want), "%s is of user 4242, and not in the scratch", path);
	assert_step(n, -EUCLEAN);
	assert_says(n->err.text, want);
	assert_true(exists(path)); /* whose it is, and why, the head's people may want to see */
}

static void test_what_a_person_left_elsewhere_is_found(void **state)
{
	struct node *n = *state;
	put(n, "var/daemon", DAEMON);
	put(n, "var/nobody", 65534);
	assert_step(n, 0); /* those are no persons */
	put(n, "var/a/b/mine", PERSON);
	assert_found(n, scratch_path(n->s, "var/a/b/mine"));
	assert_int_equal(chown(scratch_path(n->s, "var/a/b/mine"), 0, 0), 0);
	assert_step(n, 0);
}

/* Of a link it counts whose it is, not what it leads to. */
static void test_a_link_of_a_person_is_found(void **state)
{
	struct node *n = *state;
	char *link = scratch_path(n->s, "link");
	assert_int_equal(symlink("/proc", link), 0);
	assert_int_equal(lchown(link, PERSON, PERSON), 0);
	assert_found(n, link);
}

/* Whoever has the node next may mount it elsewhere, or not at all. */
static void test_other_file_systems_are_searched(void **state)
{
	struct node *n = *state;
	assert_int_equal(mount("none", "/srv", "tmpfs", 0, "mode=0755"), 0);
	write_text("/srv/mine", "mine", 0600);
	assert_int_equal(chown("/srv/mine", PERSON, PERSON), 0);
	assert_found(n, "/srv/mine");
	assert_int_equal(umount2("/srv", 0), 0);
	assert_step(n, 0);
}

static void test_below_a_root_only_that_is_searched(void **state)
{
	struct node *n = *state;
	n->a.cfg.whole_machine = false;
	put(n, "elsewhere", PERSON);
	put(n, "root/file", 0);
	fake_kernel.trims = true;
	assert_step(n, 0);
	assert_says(n->run.said, "free blocks stay"); /* they are not this node's */
	put(n, "root/mine", PERSON);
	assert_found(n, scratch_path(n->s, "root/mine"));
}

static void test_too_deep_to_look_is_no_success(void **state)
{
	struct node *n = *state;
	assert_int_equal(chdir(n->s->dir), 0);
	for (int i = 0; i < 300; i++)
		assert_true(mkdir("d", 0755) == 0 && chdir("d") == 0);
	assert_int_equal(chdir("/"), 0);
	assert_step(n, -ELOOP);
}

/* ---- what it cannot see ---- */

/* A disk fails while a place is emptied: what it has still is not known to be gone. */
static void test_a_place_that_cannot_be_read_is_not_empty(void **state)
{
	struct node *n = *state;
	bad_dir = scratch_path(n->s, "cache-tasks");
	assert_step(n, -EIO);
	assert_says(n->err.text, "cache-tasks: ");
	assert_true(has(n, "cache-tasks/hpc.4242/data"));
}

static void test_what_cannot_be_read_may_be_anybodys(void **state)
{
	struct node *n = *state;
	put(n, "var/a/mine", PERSON);
	bad_dir = scratch_path(n->s, "var/a");
	assert_step(n, -EIO);
	assert_says(n->err.text, "var/a: ");
}

/* Nobody can say that no person's process runs. */
static void test_unseen_processes_are_no_absent_ones(void **state)
{
	struct node *n = *state;
	bad_dir = "/proc";
	assert_step(n, -EIO);
	assert_nothing_destroyed(n);
	bad_dir = NULL;
	assert_int_equal(mount("/proc", "/aside", NULL, MS_MOVE, NULL), 0);
	assert_int_equal(rmdir("/proc"), 0);
	int r = step(n);
	assert_int_equal(mkdir("/proc", 0755), 0);
	assert_int_equal(mount("/aside", "/proc", NULL, MS_MOVE, NULL), 0);
	assert_int_equal(r, -ENOENT);
	assert_says(n->err.text, "/proc: ");
	assert_nothing_destroyed(n);
}

/* ---- what runs ---- */

static pid_t run_as(uid_t uid)
{
	int ready[2];
	char one;
	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		if (setuid(uid) < 0 || write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &one, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void end_it(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_beside_a_process_of_a_person_nothing_is_done(void **state)
{
	struct node *n = *state;
	pid_t his = run_as(PERSON);
	int r = step(n);
	end_it(his);
	assert_int_equal(r, -EBUSY);
	assert_says(n->err.text, "of user 4242 runs");
	assert_nothing_destroyed(n);
	pid_t daemon = run_as(DAEMON);
	r = step(n);
	end_it(daemon);
	assert_int_equal(r, 0);
}

/* A job that the head does not know to have ended. */
static void end_untold(struct node *n)
{
	assert_int_equal(jobs_kill(n->a.jobs, (struct job_run){9, 2}, false, NULL), 0);
	WAIT_FOR(n->n_ended == 1);
}

static void test_an_untold_end_is_waited_for_half_the_time(void **state)
{
	struct node *n = *state;
	end_untold(n);
	n->time_ms = 400;
	int64_t begun = phx_clock_ms();
	assert_step(n, -ETIMEDOUT);
	assert_true(phx_clock_ms() - begun >= 200);
	assert_says(n->err.text, "job 9 runs, or its end is not told yet");
	assert_nothing_destroyed(n);
}

static void *report_soon(void *arg)
{
	struct node *n = arg;
	phx_sleep_ms(SOON_MS);
	jobs_reported(n->a.jobs, (struct job_run){9, 2});
	return NULL;
}

/* The step while another thread does something. */
static int step_meanwhile(struct node *n, void *(*fn)(void *))
{
	pthread_t t;
	assert_int_equal(pthread_create(&t, NULL, fn, n), 0);
	int r = step(n);
	pthread_join(t, NULL);
	return r;
}

static void test_once_the_end_is_told_it_goes_on(void **state)
{
	struct node *n = *state;
	end_untold(n);
	assert_int_equal(step_meanwhile(n, report_soon), 0);
	assert_false(has(n, "cache-jobs/5.0"));
}

static void *give_up_soon(void *arg)
{
	struct node *n = arg;
	phx_sleep_ms(SOON_MS);
	LOOP_HELD(n->a.loop);
	n->a.step_log.epoch = n->o.epoch + 1;
	loop_news(n->a.loop);
	return NULL;
}

static void test_a_newer_plan_ends_the_wait(void **state)
{
	struct node *n = *state;
	end_untold(n);
	int64_t begun = phx_clock_ms();
	assert_int_equal(step_meanwhile(n, give_up_soon), -ECANCELED);
	assert_true(phx_clock_ms() - begun < LONG_MS / 2);
	assert_nothing_destroyed(n);
}

/* ---- the keeper of tasks: a fake one ---- */

struct keeper {
	struct node *n;
	int dir, listener;
	int deaths;       /* so often it dies, and another one has its socket */
	bool stays;       /* the last one does not end */
	bool early;       /* something was destroyed while it ran */
	atomic_bool over; /* nobody comes any more */
	atomic_int seen;  /* agents that it had */
	pthread_t thread;
};

/* Has an agent, and says that it had no order. */
static int serve(struct keeper *k)
{
	int fd = -1;
	while ((fd = accept4(k->listener, NULL, NULL, SOCK_CLOEXEC)) < 0 && errno == EAGAIN &&
	       !k->over)
		phx_sleep_ms(5);
	if (fd < 0)
		return fd;
	task_talk_send(fd, &task_tell_record, &(struct task_tell){.what = "taken"});
	phx_sleep_ms(SOON_MS);
	k->seen++;
	k->early = k->early || !has(k->n, "cache-jobs/5.0/output");
	return fd;
}

static void *keep(void *arg)
{
	struct keeper *k = arg;
	for (int i = 0; i < k->deaths; i++)
		close(serve(k));
	int fd = serve(k);
	while (k->stays && recv(fd, &(char){0}, 1, MSG_PEEK) > 0)
		phx_sleep_ms(5); /* until the agent is gone */
	unlinkat(k->dir, "socket", 0);
	close(fd);
	return NULL;
}

static void keeper_begin(struct keeper *k)
{
	k->dir = open(scratch_path(k->n->s, "state/tasks"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(k->dir >= 0);
	k->listener = task_talk_listen(k->dir);
	assert_true(k->listener >= 0);
	assert_int_equal(pthread_create(&k->thread, NULL, keep, k), 0);
}

/* The step while this keeper runs. */
static int step_beside(struct keeper *k)
{
	keeper_begin(k);
	int r = step(k->n);
	k->over = true;
	tasks_free(PHX_TAKE(k->n->a.tasks));
	pthread_join(k->thread, NULL);
	close(k->listener);
	close(k->dir);
	return r;
}

static void test_the_keeper_is_waited_for(void **state)
{
	struct keeper k = {.n = *state};
	assert_int_equal(step_beside(&k), 0);
	assert_false(k.early);
	assert_int_equal(k.seen, 1);
	assert_false(has(k.n, "cache-jobs/5.0"));
}

/* Another one takes the place of one that died, for it may not have told everything. */
static void test_a_keeper_that_died_is_followed_by_another(void **state)
{
	struct keeper k = {.n = *state, .deaths = 1};
	assert_int_equal(step_beside(&k), 0);
	assert_false(k.early);
	assert_int_equal(k.seen, 2);
}

static void test_keepers_that_die_end_the_step(void **state)
{
	struct keeper k = {.n = *state, .deaths = 2};
	assert_int_equal(step_beside(&k), -EPIPE);
	assert_says(k.n->err.text, "the keeper of tasks died, and another one, too");
	assert_nothing_destroyed(k.n);
}

static void test_a_keeper_that_stays_is_waited_for_half_the_time(void **state)
{
	struct keeper k = {.n = *state, .stays = true};
	k.n->time_ms = 1000;
	int64_t begun = phx_clock_ms();
	assert_int_equal(step_beside(&k), -ETIMEDOUT);
	assert_true(phx_clock_ms() - begun >= 500);
	assert_says(k.n->err.text, "the keeper of tasks runs");
	assert_nothing_destroyed(k.n);
}

/* Nobody listens, and no keeper can be started: what became of the tasks is not known. */
static void test_a_dead_socket_is_no_end(void **state)
{
	struct node *n = *state;
	put(n, "state/tasks/socket", 0);
	assert_true(step(n) < 0);
	assert_says(n->err.text, "/proc/self/exe");
	assert_nothing_destroyed(n);
}

int main(void)
{
	int status = 1;
	if (geteuid() != 0 || unshare(CLONE_NEWNS | CLONE_NEWPID) < 0) {
		puts("skip step_scratch: needs root and namespaces");
		return 0;
	}
	pid_t child = fork();
	if (child == 0) /* it is the first of its processes, and hears no other signal */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (child >
	    0) /* without a search for leaks, which needs a process: it can have none any more */
		_exit(waitpid(child, &status, 0) == child && status == 0 ? 0 : 1);
	if (child < 0 || !enter_root()) {
		perror("the small machine cannot be built");
		return 1;
	}
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_all_of_jobs_goes_and_nothing_else),
		TEST(test_a_disk_that_can_discards),
		TEST(test_links_are_not_followed),
		TEST(test_what_is_mounted_below_stays),
		TEST(test_what_a_person_left_elsewhere_is_found),
		TEST(test_a_link_of_a_person_is_found),
		TEST(test_other_file_systems_are_searched),
		TEST(test_below_a_root_only_that_is_searched),
		TEST(test_too_deep_to_look_is_no_success),
		TEST(test_a_place_that_cannot_be_read_is_not_empty),
		TEST(test_what_cannot_be_read_may_be_anybodys),
		TEST(test_unseen_processes_are_no_absent_ones),
		TEST(test_beside_a_process_of_a_person_nothing_is_done),
		TEST(test_an_untold_end_is_waited_for_half_the_time),
		TEST(test_once_the_end_is_told_it_goes_on),
		TEST(test_a_newer_plan_ends_the_wait),
		TEST(test_the_keeper_is_waited_for),
		TEST(test_a_keeper_that_died_is_followed_by_another),
		TEST(test_keepers_that_die_end_the_step),
		TEST(test_a_keeper_that_stays_is_waited_for_half_the_time),
		TEST(test_a_dead_socket_is_no_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
