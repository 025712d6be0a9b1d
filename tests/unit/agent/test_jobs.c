/* Jobs with real programs as another user: once, whole, over a restart of the agent, run after
 * run. */
#include "unit/agent/scratch.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "agent/job_group.h"
#include "agent/job_keeper.h"
#include "agent/jobs.h"
#include "base/process.h"
#include "base/clock.h"

enum { NOBODY = 65534, HOUR_MS = 3600 * 1000 };

struct world {
	struct scratch *scratch;
	struct loop *loop;
	struct jobs *jobs;
	pthread_mutex_t lock;
	struct job_end ends[64];
	_Atomic uint32_t n_ends;
};

static void on_end(void *arg, const struct job_end *end)
{
	struct world *w = arg;
	pthread_mutex_lock(&w->lock);
	w->ends[w->n_ends++ % 64] = *end;
	pthread_mutex_unlock(&w->lock);
}

static void start_agent(struct world *w)
{
	struct jobs_config config = {
		.loop = w->loop,
		.state_dir = scratch_path(w->scratch, "state"),
		.cache_dir = scratch_path(w->scratch, "cache"),
		.run_dir = scratch_path(w->scratch, "run"),
		.hosts_file = scratch_path(w->scratch, "hosts"),
		.ended = on_end,
		.arg = w,
	};
	struct phx_err err = {0};
	assert_int_equal(jobs_new(&config, &w->jobs, &err), 0);
	jobs_heard(w->jobs, phx_clock_boot_ms());
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	pthread_mutex_init(&w->lock, NULL);
	scratch_setup((void **)&w->scratch);
	assert_int_equal(mkdir(scratch_path(w->scratch, "out"), 0777), 0);
	assert_int_equal(chmod(scratch_path(w->scratch, "out"), 0777), 0);
	w->loop = loop_started();
	start_agent(w);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	jobs_free(w->jobs);
	loop_free(w->loop);
	scratch_teardown((void **)&w->scratch);
	free(w);
	return 0;
}

static void add_text(struct phx_list *l, const char *text)
{
	assert_int_equal(phx_text_push(l, text), 0);
}

static struct phx_job make_job(uint64_t id, const char *script)
{
	struct phx_job job = {.id = id, .uid = NOBODY, .gid = NOBODY, .grace_ms = 5000};
	add_text(&job.argv, "sh");
	add_text(&job.argv, "-c");
	add_text(&job.argv, script);
	static const char *const nodes[] = {"n1", "n2", "n3"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(nodes); i++) {
		struct phx_job_part *p = phx_list_push(&job.parts, sizeof(*p));
		PHX_STR_SET(p->node, nodes[i]);
	}
	return job;
}

static int start(struct world *w, uint64_t id, const char *script, struct phx_err *err)
{
	struct phx_job job = make_job(id, script);
	int r = jobs_start(w->jobs, &job, "n2", err);
	phx_record_fini(&phx_job_record, &job);
	return r;
}

static bool ended(struct world *w, uint64_t id, struct job_end *ret)
{
	bool found = false;
	pthread_mutex_lock(&w->lock);
	for (uint32_t i = 0; i < w->n_ends; i++)
		if (w->ends[i].run.id == id) {
			*ret = w->ends[i];
			found = true;
		}
	pthread_mutex_unlock(&w->lock);
	return found;
}

static struct job_end run(struct world *w, uint64_t id, const char *script)
{
	struct job_end end = {0};
	struct phx_err err = {0};
	assert_int_equal(start(w, id, script, &err), 0);
	WAIT_FOR(ended(w, id, &end));
	return end;
}

static void check_output(const struct job_end *end, const char *expected)
{
	PHX_AUTO_FREE char *text = read_text(end->output);
	assert_string_equal(text, expected);
}

static void test_runs_as_its_user(void **state)
{
	struct world *w = *state;
	char expected[400];
	struct job_end end =
		run(w, 5,
		    "id -u; id -g; id -G; [ $PWD = $PHX_JOB_DIR ]; pwd; ls -A; echo $PHX_JOB_ID "
		    "$PHX_JOB_RUN $PHX_JOB_RANK $PHX_JOB_NODES; cat $PHX_JOB_NODEFILE; "
		    "echo to stderr >&2; exit 7");
	assert_int_equal(end.status, 7);
	assert_string_equal(end.text, "");
	snprintf(expected, sizeof(expected),
		 "%d\n%d\n%d\n%s\n5 0 1 n[1-3]\nn1\nn2\nn3\nto stderr\n", NOBODY, NOBODY, NOBODY,
		 scratch_path(w->scratch, "cache-jobs/5.0"));
	check_output(&end, expected);
}

/* A long word, a script with its interpreter and its arguments, an environment of its user's. */
static void test_scripts_and_environment(void **state)
{
	struct world *w = *state;
	struct job_end end = {0};
	struct phx_job job = make_job(45, "");
	char script[100000], expected[400];
	snprintf(script, sizeof(script), "#!/bin/sed -ne2p;4,9p\nsecond\n%*s\nfourth\n", 90000,
		 "#");
	PHX_LIST_EACH(struct phx_text, word, &job.argv)
		phx_record_fini(&phx_text_record, word);
	job.argv.n = 0;
	add_text(&job.argv, "print-me");
	job.script = strdup(script);
	assert_int_equal(jobs_start(w->jobs, &job, "n2", NULL), 0);
	WAIT_FOR(ended(w, 45, &end));
	assert_int_equal(end.status, 0);
	check_output(&end, "second\nfourth\n");
	jobs_reported(w->jobs, end.run);
	assert_false(exists(scratch_path(w->scratch, "cache-jobs/45.0.script")));
	job.id = 46;
	free(job.script);
	job.script = strdup("#!/bin/sh\nstat -c '%a %u' $0; echo $# \"$2\"; env | grep -E "
			    "'^(A|HOME|PHX_JOB_ID|OMPI_MCA_orte_default_hostfile)='\n");
	add_text(&job.argv, "x");
	add_text(&job.argv, "y z");
	add_text(&job.env, "A=overruled");
	add_text(&job.env, "A=b c");
	add_text(&job.env, "HOME=/elsewhere");
	add_text(&job.env, "OMPI_MCA_orte_default_hostfile=none");
	assert_int_equal(jobs_start(w->jobs, &job, "n2", NULL), 0);
	WAIT_FOR(ended(w, 46, &end));
	PHX_AUTO_FREE char *text = read_text(end.output);
	snprintf(expected, sizeof(expected), "500 %d\n2 y z\n", NOBODY);
	assert_int_equal(strncmp(text, expected, strlen(expected)), 0);
	assert_non_null(strstr(text, "\nA=b c\n"));
	assert_non_null(strstr(text, "\nHOME=/elsewhere\n"));
	assert_non_null(strstr(text, "\nPHX_JOB_ID=46\n"));
	assert_non_null(strstr(text, "\nOMPI_MCA_orte_default_hostfile=none\n"));
	phx_record_fini(&phx_job_record, &job);
}

static void check_hosts(struct world *w, const char *expected)
{
	PHX_AUTO_FREE char *text = read_text(scratch_path(w->scratch, "hosts"));
	assert_string_equal(text, expected);
}

static void set_address(struct phx_job *job, uint32_t i, const char *address)
{
	PHX_STR_SET(PHX_LIST_AT(&job->parts, struct phx_job_part, i)->address, address);
}

/* The nodes of running jobs are in the file of hosts for as long as these run; the rest of it is
 * nobody's business. */
static void test_names_of_its_nodes(void **state)
{
#define BEGIN "# nodes of the jobs of this node: begin (kept by phx-agent)\n"
#define END "# nodes of the jobs of this node: end (kept by phx-agent)\n"
	struct world *w = *state;
	struct job_end end = {0}, other_end = {0};
	static const char mine[] = "127.0.0.1 localhost\n10.9.9.9 n3";
	assert_int_equal(phx_file_write(scratch_path(w->scratch, "hosts"), mine, sizeof(mine) - 1,
					0644, NULL),
			 0);
	struct phx_job job = make_job(47, "cat $0.hosts"), other = make_job(48, "sleep 100");
	set_address(&job, 0, "10.0.0.1");
	set_address(&job, 1, "fd00::2");
	set_address(&job, 2, "10.0.0.3 evil\n");
	set_address(&other, 0, "10.0.0.1");
	set_address(&other, 1, "10.0.0.22");
	assert_int_equal(jobs_start(w->jobs, &job, "n2", NULL), 0);
	check_hosts(w,
		    "127.0.0.1 localhost\n10.9.9.9 n3\n" BEGIN "10.0.0.1\tn1\nfd00::2\tn2\n" END);
	assert_int_equal(jobs_start(w->jobs, &other, "n2", NULL), 0);
	check_hosts(w,
		    "127.0.0.1 localhost\n10.9.9.9 n3\n" BEGIN
		    "10.0.0.1\tn1\nfd00::2\tn2\n10.0.0.22\tn2\n" END);
	WAIT_FOR(ended(w, 47, &end));
	jobs_reported(w->jobs, end.run);
	check_hosts(w,
		    "127.0.0.1 localhost\n10.9.9.9 n3\n" BEGIN "10.0.0.1\tn1\n10.0.0.22\tn2\n" END);
	/* an agent that starts anew keeps what its jobs want, one whose machine did has none */
	jobs_free(w->jobs);
	start_agent(w);
	check_hosts(w,
		    "127.0.0.1 localhost\n10.9.9.9 n3\n" BEGIN "10.0.0.1\tn1\n10.0.0.22\tn2\n" END);
	assert_int_equal(jobs_kill(w->jobs, (struct job_run){48, 0}, false, NULL), 0);
	WAIT_FOR(ended(w, 48, &other_end));
	jobs_free(w->jobs);
	assert_int_equal(unlink(scratch_path(w->scratch, "run/jobs/48.hosts")), 0);
	start_agent(w);
	check_hosts(w, "127.0.0.1 localhost\n10.9.9.9 n3\n");
	phx_record_fini(&phx_job_record, &job);
	phx_record_fini(&phx_job_record, &other);
}

/* "127.0.1.1 NODE" would win over the node's address: it is a comment for as long as a job wants
 * the name. What else the line says stays in force, and what an administrator writes meanwhile is
 * kept. */
static void test_loopback_does_not_hide_a_node(void **state)
{
#define HIDDEN "# away while jobs run here (kept by phx-agent): "
#define INSTEAD " # for the line above (kept by phx-agent)\n"
	struct world *w = *state;
	struct job_end end = {0};
	const char *hosts = scratch_path(w->scratch, "hosts");
	static const char mine[] = "127.0.0.1\tlocalhost N1 # here\n127.0.1.1 n1.site n1\n::1 "
				   "n2\n127.0.1.1 n10 n3\n# 127.0.1.1 n1\n10.0.0.9 n1\n";
	static const char during[] =
		HIDDEN "127.0.0.1\tlocalhost N1 # here\n127.0.0.1 localhost" INSTEAD HIDDEN
		       "127.0.1.1 n1.site n1\n127.0.1.1 n1.site" INSTEAD HIDDEN
		       "::1 n2\n127.0.1.1 n10 n3\n# 127.0.1.1 n1\n10.0.0.9 n1\n";
	static const char block[] = BEGIN "10.0.0.1\tn1\nfd00::2\tn2\n127.0.0.1\tn3\n" END;
	char all[1000];
	assert_int_equal(phx_file_write(hosts, mine, sizeof(mine) - 1, 0644, NULL), 0);
	struct phx_job job = make_job(47, "sleep 100");
	set_address(&job, 0, "10.0.0.1");
	set_address(&job, 1, "fd00::2");
	set_address(&job, 2, "127.0.0.1"); /* all on one machine, for a try */
	assert_int_equal(jobs_start(w->jobs, &job, "n2", NULL), 0);
	snprintf(all, sizeof(all), "%s%s", during, block);
	check_hosts(w, all);
	/* twice is as once, also of an agent that starts anew; the administrator adds a line */
	snprintf(all, sizeof(all), "%s%s10.0.0.77 new\n", during, block);
	assert_int_equal(phx_file_write(hosts, all, strlen(all), 0644, NULL), 0);
	jobs_free(w->jobs);
	start_agent(w);
	snprintf(all, sizeof(all), "%s10.0.0.77 new\n%s", during, block);
	check_hosts(w, all);
	assert_int_equal(jobs_kill(w->jobs, (struct job_run){47, 0}, false, NULL), 0);
	WAIT_FOR(ended(w, 47, &end));
	jobs_reported(w->jobs, end.run);
	snprintf(all, sizeof(all), "%s10.0.0.77 new\n", mine);
	check_hosts(w, all);
	phx_record_fini(&phx_job_record, &job);
}

/* An agent that was killed while it wrote the file leaves what it had begun; what others have there
 * stays. */
static void test_what_was_begun_is_swept(void **state)
{
	struct world *w = *state;
	/* no thread has such a number */
	static const char *const names[] = {"hosts.4194305.tmp", "hosts.1.tmp", "hosts.tmp",
					    "hosts.old.4194305.tmp", "other.4194305.tmp"};
	assert_int_equal(phx_file_write(scratch_path(w->scratch, "hosts"), "x\n", 2, 0644, NULL),
			 0);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(names); i++)
		assert_int_equal(
			phx_file_write(scratch_path(w->scratch, names[i]), "x", 1, 0644, NULL), 0);
	jobs_free(w->jobs);
	start_agent(w);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(names); i++)
		assert_int_equal(exists(scratch_path(w->scratch, names[i])), i > 0);
	check_hosts(w, "x\n");
}

/* Its script is in the way of itself: of a job that did not start nothing stays. */
static void test_names_of_one_that_did_not_start(void **state)
{
	struct world *w = *state;
	static const char mine[] = "127.0.0.1 localhost\n";
	assert_int_equal(phx_file_write(scratch_path(w->scratch, "hosts"), mine, sizeof(mine) - 1,
					0644, NULL),
			 0);
	struct phx_job job = make_job(49, "true");
	job.script = strdup("#!/bin/sh\n");
	set_address(&job, 1, "10.0.0.2");
	assert_int_equal(
		phx_dir_make(scratch_path(w->scratch, "cache-jobs/49.0.script/full"), 0755, NULL),
		0);
	assert_true(jobs_start(w->jobs, &job, "n2", NULL) < 0);
	check_hosts(w, mine);
	assert_false(exists(scratch_path(w->scratch, "run/jobs/49.nodes")));
	assert_false(exists(scratch_path(w->scratch, "run/jobs/49.hosts")));
	phx_record_fini(&phx_job_record, &job);
}

static void test_never_as_root(void **state)
{
	struct world *w = *state;
	struct phx_err err = {0};
	struct phx_job job = make_job(6, "true");
	job.uid = 0;
	assert_int_equal(jobs_start(w->jobs, &job, "n2", &err), -EPERM);
	assert_non_null(strstr(err.text, "never run as root"));
	job.uid = NOBODY;
	job.gid = 0;
	assert_int_equal(jobs_start(w->jobs, &job, "n2", NULL), -EPERM);
	job.gid = UINT32_MAX; /* "leave it as it is", and the agent is root */
	assert_int_equal(jobs_start(w->jobs, &job, "n2", NULL), -EPERM);
	job.gid = NOBODY;
	job.uid = UINT32_MAX;
	assert_int_equal(jobs_start(w->jobs, &job, "n2", NULL), -EPERM);
	phx_record_fini(&phx_job_record, &job);
	assert_int_equal(jobs_list(w->jobs, NULL, 0), 0);
}

static void test_no_descriptors_inherited(void **state)
{
	struct world *w = *state;
	struct job_end end = run(w, 7, "ls /proc/self/fd | wc -l");
	PHX_AUTO_FREE char *text = read_text(end.output);
	assert_in_range(atoi(text), 3, 5); /* 0, 1, 2, and what ls itself opens */
}

static void test_program_missing(void **state)
{
	struct world *w = *state;
	struct phx_job job = make_job(8, "");
	struct job_end end = {0};
	phx_record_fini(&phx_text_record, PHX_LIST_AT(&job.argv, struct phx_text, 0));
	PHX_LIST_AT(&job.argv, struct phx_text, 0)->text = strdup("no-such-program");
	assert_int_equal(jobs_start(w->jobs, &job, "n2", NULL), 0);
	phx_record_fini(&phx_job_record, &job);
	WAIT_FOR(ended(w, 8, &end));
	assert_int_equal(end.status, 126);
	check_output(&end, "no-such-program: No such file or directory\n");
}

static void test_never_twice(void **state)
{
	struct world *w = *state;
	char script[200];
	snprintf(script, sizeof(script), "echo run >>%s/out/runs", w->scratch->dir);
	run(w, 9, script);
	uint32_t told = w->n_ends;
	assert_int_equal(start(w, 9, script, NULL), 0); /* its end is on its way */
	assert_int_equal(jobs_kill(w->jobs, (struct job_run){9, 0}, false, NULL), 0);
	phx_sleep_ms(200);
	assert_int_equal(w->n_ends, told);
	jobs_reported(w->jobs, (struct job_run){9, 0});
	assert_int_equal(jobs_list(w->jobs, NULL, 0), 0);
	assert_int_equal(start(w, 9, script, NULL), 0); /* told again, not run again */
	WAIT_FOR(w->n_ends > told);
	PHX_AUTO_FREE char *runs = read_text(scratch_path(w->scratch, "out/runs"));
	assert_string_equal(runs, "run\n");
}

static void test_kill_takes_all(void **state)
{
	struct world *w = *state;
	char script[400], file[96];
	struct job_end end = {0};
	/* one child in its session, one that fled to a session of its own */
	snprintf(script, sizeof(script),
		 "sleep 300 & echo $! >%s/out/a; setsid sh -c 'echo $$ >%s/out/b; exec sleep 300' "
		 "& wait",
		 w->scratch->dir, w->scratch->dir);
	assert_int_equal(start(w, 10, script, NULL), 0);
	snprintf(file, sizeof(file), "%s/out/b", w->scratch->dir);
	WAIT_FOR(({
		PHX_AUTO_FREE char *t = read_text(file);
		*t;
	}));
	assert_int_equal(jobs_kill(w->jobs, (struct job_run){10, 0}, false, NULL), 0);
	WAIT_FOR(ended(w, 10, &end));
	assert_int_equal(end.status, 128 + SIGTERM);
	PHX_AUTO_FREE char *a = read_text(scratch_path(w->scratch, "out/a"));
	PHX_AUTO_FREE char *b = read_text(file);
	assert_int_equal(phx_process_since(atoi(a)), 0);
	assert_int_equal(phx_process_since(atoi(b)), 0);
}

static void test_kill_of_unknown(void **state)
{
	struct world *w = *state;
	struct job_end end = {0};
	char script[200];
	assert_int_equal(jobs_kill(w->jobs, (struct job_run){11, 0}, false, NULL), 0);
	WAIT_FOR(ended(w, 11, &end));
	assert_int_equal(end.status, 143);
	/* the order to start it came late: it is not started */
	snprintf(script, sizeof(script), "touch %s/out/late", w->scratch->dir);
	assert_int_equal(start(w, 11, script, NULL), 0);
	phx_sleep_ms(300);
	assert_false(exists(scratch_path(w->scratch, "out/late")));
}

static void test_goes_on_over_a_restart(void **state)
{
	struct world *w = *state;
	struct job_end end = {0};
	assert_int_equal(start(w, 12, "echo begun; sleep 0.6; echo done; exit 3", NULL), 0);
	phx_sleep_ms(100);
	jobs_free(w->jobs);
	start_agent(w);
	assert_int_equal(jobs_list(w->jobs, NULL, 0), 1);
	WAIT_FOR(ended(w, 12, &end));
	assert_int_equal(end.status, 3);
	check_output(&end, "begun\ndone\n");
}

static void test_ended_while_the_agent_was_away(void **state)
{
	struct world *w = *state;
	struct job_end end = {0};
	assert_int_equal(start(w, 13, "sleep 0.1; exit 4", NULL), 0);
	jobs_free(w->jobs);
	phx_sleep_ms(400);
	start_agent(w);
	WAIT_FOR(ended(w, 13, &end));
	assert_int_equal(end.status, 4);
	jobs_reported(w->jobs, (struct job_run){13, 0});
	w->n_ends = 0;
	jobs_free(w->jobs);
	start_agent(w); /* reported is reported */
	phx_sleep_ms(200);
	assert_int_equal(w->n_ends, 0);
}

static void test_lost(void **state)
{
	struct world *w = *state;
	struct job_end end = {0};
	jobs_free(w->jobs);
	/* an agent wrote it down and then everything went dark */
	write_text(scratch_path(w->scratch, "state/jobs/14.json"),
		   "{\"id\": 14, \"run\": 0, \"reported\": false, \"goodbye_ms\": 0}", 0600);
	start_agent(w);
	WAIT_FOR(ended(w, 14, &end));
	assert_int_equal(end.status, 255);
	assert_non_null(strstr(end.text, "gone"));
	assert_true(end.forced);
	char script[200];
	snprintf(script, sizeof(script), "touch %s/out/again", w->scratch->dir);
	assert_int_equal(start(w, 14, script, NULL), 0);
	phx_sleep_ms(200);
	assert_false(exists(scratch_path(w->scratch, "out/again")));
}

static bool never(void *arg)
{
	(void)arg;
	return false;
}

static bool always(void *arg)
{
	(void)arg;
	return true;
}

static bool is_late(void *arg)
{
	return phx_clock_ms() >= ((const struct jobs_until *)arg)->due_ms;
}

static bool is_set(void *arg)
{
	return atomic_load((atomic_bool *)arg);
}

struct giving_up {
	struct loop *loop;
	atomic_bool now;
};

static void *give_up_soon(void *arg)
{
	struct giving_up *g = arg;
	phx_sleep_ms(100);
	atomic_store(&g->now, true);
	loop_news(g->loop);
	return NULL;
}

/* Nothing ends, and its time is far: who waits hears at once that he is to give up. */
static void test_drain_given_up(void **state)
{
	struct world *w = *state;
	pthread_t thread;
	struct giving_up g = {.loop = w->loop};
	struct jobs_until until = {is_set, &g.now, INT64_MAX};
	assert_int_equal(start(w, 17, "exec sleep 100", NULL), 0);
	assert_int_equal(pthread_create(&thread, NULL, give_up_soon, &g), 0);
	assert_int_equal(jobs_drain(w->jobs, HOUR_MS, &until, NULL), -ECANCELED);
	assert_true(atomic_load(&g.now));
	pthread_join(thread, NULL);
	/* and when its own time is up, though nobody wakes it */
	until = (struct jobs_until){is_late, NULL, phx_clock_ms() + 200};
	until.arg = &until;
	assert_int_equal(jobs_drain(w->jobs, HOUR_MS, &until, NULL), -ECANCELED);
}

/* How often threads of this process went to sleep. */
static unsigned long sleeps(void)
{
	unsigned long sum = 0, n;
	char line[128];
	DIR *d = opendir("/proc/self/task");
	assert_non_null(d);
	for (const struct dirent *e; (e = readdir(d));) {
		char path[300];
		snprintf(path, sizeof(path), "/proc/self/task/%s/status", e->d_name);
		FILE *f = fopen(path, "r");
		while (f && fgets(line, sizeof(line), f))
			sum += sscanf(line, "voluntary_ctxt_switches: %lu", &n) == 1 ? n : 0;
		if (f)
			fclose(f);
	}
	closedir(d);
	return sum;
}

static void count_sleeps(unsigned most)
{
	phx_sleep_ms(300);
	unsigned long before = sleeps();
	phx_sleep_ms(1000);
	assert_in_range(sleeps() - before, 0, most);
}

/* A job that runs wakes nobody, neither the agent that started it nor the next. */
static void test_sleeps(void **state)
{
	struct world *w = *state;
	struct job_end end = {0};
	assert_int_equal(start(w, 18, "exec sleep 100", NULL), 0);
	count_sleeps(3);
	jobs_free(w->jobs);
	start_agent(w);
	count_sleeps(3);
	assert_int_equal(jobs_kill(w->jobs, (struct job_run){18, 0}, false, NULL), 0);
	WAIT_FOR(ended(w, 18, &end));
	assert_int_equal(end.status, 128 + SIGTERM);
}

static void test_drain(void **state)
{
	struct world *w = *state;
	struct job_end end = {0};
	const struct jobs_until never_ends = {never, NULL, INT64_MAX},
				over = {always, NULL, INT64_MAX};
	assert_int_equal(jobs_drain(w->jobs, 0, &never_ends, NULL), 0);
	assert_int_equal(start(w, 15, "sleep 0.3; exit 0", NULL), 0);
	assert_int_equal(jobs_drain(w->jobs, 5000, &never_ends, NULL), 0); /* ends by itself */
	assert_true(ended(w, 15, &end));
	assert_int_equal(end.status, 0);
	assert_int_equal(start(w, 16, "exec sleep 100", NULL), 0);
	assert_int_equal(jobs_drain(w->jobs, 5000, &over, NULL), -ECANCELED);
	assert_int_equal(jobs_drain(w->jobs, 100, &never_ends, NULL), 0); /* is killed */
	WAIT_FOR(ended(w, 16, &end));
	assert_int_equal(end.status, 128 + SIGTERM);
}

static void test_closed(void **state)
{
	struct world *w = *state;
	jobs_close(w->jobs);
	assert_int_equal(start(w, 17, "true", NULL), -ECANCELED);
	assert_false(exists(scratch_path(w->scratch, "state/jobs/17.json")));
}

static void test_much_output(void **state)
{
	struct world *w = *state;
	struct stat st;
	struct job_end end = run(w, 18, "head -c 3000000 /dev/zero");
	assert_int_equal(end.status, 0);
	assert_int_equal(stat(end.output, &st), 0);
	assert_int_equal(st.st_size, 3000000);
	assert_int_equal(st.st_mode & 0777, 0600);
	jobs_reported(w->jobs, (struct job_run){18, 0});
	assert_false(exists(end.output));
}

/* What is beyond the bound is lost, and its end says how much; what just fits is whole. */
static void test_output_is_cut(void **state)
{
	static const char note[] =
		"\n[output cut here: what is beyond job_output_max_mb is lost]\n";
	struct world *w = *state;
	struct stat st;
	for (uint32_t more = 0; more <= 70000; more += 70000) {
		struct job_end end = {0};
		char script[64];
		snprintf(script, sizeof(script), "head -c %u /dev/zero", (2u << 20) + more);
		struct phx_job job = make_job(50 + more, script);
		job.output_max_mb = 2;
		assert_int_equal(jobs_start(w->jobs, &job, "n2", NULL), 0);
		WAIT_FOR(ended(w, job.id, &end));
		assert_int_equal(end.status, 0);
		assert_int_equal(end.output_cut_bytes, more);
		assert_int_equal(stat(end.output, &st), 0);
		assert_int_equal(st.st_size, (2 << 20) + (more ? sizeof(note) - 1 : 0));
		phx_record_fini(&phx_job_record, &job);
	}
}

/* ---- runs ---- */

static int start_run(struct world *w, uint64_t id, uint32_t run, const char *script,
		     struct phx_err *err)
{
	struct phx_job job = make_job(id, script);
	job.kills = run;
	int r = jobs_start(w->jobs, &job, "n2", err);
	phx_record_fini(&phx_job_record, &job);
	return r;
}

static bool run_ended(struct world *w, uint64_t id, uint32_t run, struct job_end *ret)
{
	struct job_end end = {0};
	if (!ended(w, id, &end) || end.run.run != run)
		return false;
	*ret = end;
	return true;
}

static void test_next_run_is_another(void **state)
{
	struct world *w = *state;
	struct job_end end = {0};
	struct phx_err err = {0};
	assert_int_equal(start_run(w, 20, 0, "echo first; exec sleep 100", NULL), 0);
	assert_int_equal(jobs_kill(w->jobs, (struct job_run){20, 0}, true, NULL), 0);
	WAIT_FOR(run_ended(w, 20, 0, &end));
	assert_int_equal(end.status, 143);
	assert_int_equal(start_run(w, 20, 1, "echo run $PHX_JOB_RUN", NULL), 0);
	WAIT_FOR(run_ended(w, 20, 1, &end));
	assert_int_equal(end.status, 0);
	check_output(&end, "run 1\n");
	/* what the network held up of the first one does nothing */
	assert_int_equal(start_run(w, 20, 0, "exit 5", &err), -ESTALE);
	assert_int_equal(jobs_kill(w->jobs, (struct job_run){20, 0}, false, &err), -ESTALE);
	assert_non_null(strstr(err.text, "run 0"));
	jobs_reported(w->jobs, (struct job_run){20, 0});
	assert_true(exists(end.output));
	jobs_reported(w->jobs, (struct job_run){20, 1});
	assert_false(exists(end.output));
	assert_int_equal(start_run(w, 20, 0, "exit 5", &err), -ESTALE);
	assert_int_equal(jobs_list(w->jobs, NULL, 0), 0);
}

static void test_older_run_goes_first(void **state)
{
	struct world *w = *state;
	struct job_end end = {0};
	struct phx_err err = {0};
	assert_int_equal(start_run(w, 21, 0, "exec sleep 100", NULL), 0);
	assert_int_equal(start_run(w, 21, 1, "exit 6", &err), -EAGAIN);
	assert_int_equal(jobs_kill(w->jobs, (struct job_run){21, 2}, false, &err), -EAGAIN);
	WAIT_FOR(start_run(w, 21, 1, "exit 6", NULL) == 0);
	WAIT_FOR(run_ended(w, 21, 1, &end));
	assert_int_equal(end.status, 6);
	/* the next one is cancelled before its order came */
	assert_int_equal(jobs_kill(w->jobs, (struct job_run){21, 2}, false, NULL), 0);
	WAIT_FOR(run_ended(w, 21, 2, &end));
	assert_int_equal(end.status, 143);
	assert_int_equal(start_run(w, 21, 1, "exit 6", NULL), -ESTALE);
}

static int submitted(struct world *w, int64_t at_ms, const char *script)
{
	struct phx_job job = make_job(22, script);
	job.submitted_ms = at_ms;
	int r = jobs_start(w->jobs, &job, "n2", NULL);
	phx_record_fini(&phx_job_record, &job);
	return r;
}

static bool ended_with(struct world *w, int64_t status)
{
	struct job_end end = {0};
	return ended(w, 22, &end) && end.status == status;
}

/* a head that has lost its journal gives numbers again: what that of old did is no answer */
static void test_another_job_of_the_same_number(void **state)
{
	struct world *w = *state;
	assert_int_equal(submitted(w, 1000, "exit 3"), 0);
	WAIT_FOR(ended_with(w, 3));
	assert_int_equal(submitted(w, 1000, "exit 3"), 0); /* the same one: told again */
	assert_int_equal(submitted(w, 2000, "exit 4"), 0);
	WAIT_FOR(ended_with(w, 4));
	jobs_reported(w->jobs, (struct job_run){22, 0});
	assert_int_equal(submitted(w, 500, "exec sleep 100"), 0);
	/* one that still runs ends first */
	assert_int_equal(submitted(w, 3000, "exit 5"), -EAGAIN);
	WAIT_FOR(submitted(w, 3000, "exit 5") == 0);
	WAIT_FOR(ended_with(w, 5));
}

/* ---- how it ends ---- */

static int start_as(struct world *w, struct phx_job *job)
{
	int r = jobs_start(w->jobs, job, "n2", NULL);
	phx_record_fini(&phx_job_record, job);
	return r;
}

static void test_time_limit_without_a_head(void **state)
{
	struct world *w = *state;
	struct job_end end = {0};
	struct phx_job job = make_job(22, "exec sleep 100");
	job.estimate_ms = 300;
	int64_t begin = phx_clock_ms();
	assert_int_equal(start_as(w, &job), 0);
	jobs_free(w->jobs); /* not even an agent is needed */
	phx_sleep_ms(600);
	start_agent(w);
	WAIT_FOR(ended(w, 22, &end));
	assert_in_range(phx_clock_ms() - begin, 300, 3000);
	assert_int_equal(end.status, 143);
	assert_false(end.forced);
	assert_non_null(strstr(end.text, "as long as it may"));
}

static void test_heartbeat_timeout(void **state)
{
	struct world *w = *state;
	struct job_end end = {0};
	struct phx_job job = make_job(23, "exec sleep 100");
	job.heartbeat_timeout_ms = 500;
	assert_int_equal(start_as(w, &job), 0);
	/* as long as the head is heard it goes on */
	for (int i = 0; i < 8; i++) {
		jobs_heard(w->jobs, phx_clock_boot_ms());
		phx_sleep_ms(150);
	}
	assert_false(ended(w, 23, &end));
	int64_t begin = phx_clock_ms();
	jobs_free(w->jobs); /* the agent hangs, or is gone: the keeper sees to it */
	phx_sleep_ms(900);
	start_agent(w);
	WAIT_FOR(ended(w, 23, &end));
	assert_in_range(phx_clock_ms() - begin, 300, 3000);
	assert_true(end.forced);
	assert_non_null(strstr(end.text, "heartbeat timeout"));
}

/* An order that was on its way for longer than the heartbeat timeout. */
static void test_timeout_is_over_before_it_starts(void **state)
{
	struct world *w = *state;
	struct job_end end = {0};
	struct phx_job job = make_job(24, "sleep 100");
	job.heartbeat_timeout_ms = 1000;
	jobs_heard(w->jobs, phx_clock_boot_ms() - 2000);
	assert_int_equal(start_as(w, &job), 0);
	WAIT_FOR(ended(w, 24, &end));
	assert_true(end.forced);
}

static void test_checkpoint_comes_first(void **state)
{
	struct world *w = *state;
	struct job_end end = {0};
	struct phx_job job = make_job(
		25, "trap 'echo saved; exit 75' USR2; echo begun; while :; do sleep 0.05; done");
	char out[200];
	job.checkpoint_signal = SIGUSR2;
	job.checkpoint_ms = 5000;
	snprintf(out, sizeof(out), "%s/cache/jobs/25.0.out", w->scratch->dir);
	assert_int_equal(start_as(w, &job), 0);
	WAIT_FOR(({
		PHX_AUTO_FREE char *t = read_text(out);
		*t;
	}));
	int64_t begin = phx_clock_ms();
	assert_int_equal(jobs_kill(w->jobs, (struct job_run){25, 0}, true, NULL), 0);
	/* twice is once */
	assert_int_equal(jobs_kill(w->jobs, (struct job_run){25, 0}, true, NULL), 0);
	WAIT_FOR(ended(w, 25, &end));
	assert_in_range(phx_clock_ms() - begin, 0, 4000);
	assert_int_equal(end.status, 75);
	PHX_AUTO_FREE char *text = read_text(end.output);
	assert_non_null(strstr(text, "saved\n")); /* beside what the shell says of its child */
}

/* It saves for too long, then will not end: SIGTERM after its time, SIGKILL after its grace. */
static void test_checkpoint_and_grace_are_over(void **state)
{
	struct world *w = *state;
	struct job_end end = {0};
	struct phx_job job = make_job(26,
				      "trap 'echo saving' USR2; trap 'echo term' TERM; echo begun; "
				      "while :; do sleep 0.05; done");
	char out[200];
	job.checkpoint_signal = SIGUSR2;
	job.checkpoint_ms = 400;
	job.grace_ms = 400;
	snprintf(out, sizeof(out), "%s/cache/jobs/26.0.out", w->scratch->dir);
	assert_int_equal(start_as(w, &job), 0);
	WAIT_FOR(({
		PHX_AUTO_FREE char *t = read_text(out);
		*t;
	}));
	int64_t begin = phx_clock_ms();
	assert_int_equal(jobs_kill(w->jobs, (struct job_run){26, 0}, true, NULL), 0);
	WAIT_FOR(ended(w, 26, &end));
	assert_in_range(phx_clock_ms() - begin, 750, 4000);
	assert_int_equal(end.status, 137);
	PHX_AUTO_FREE char *text = read_text(end.output);
	assert_non_null(strstr(text, "saving\n"));
	assert_non_null(strstr(text, "term\n"));
}

/* Cancelled while it saves: nobody waits for that any more. */
static void test_cancel_cuts_the_checkpoint(void **state)
{
	struct world *w = *state;
	struct job_end end = {0};
	struct phx_job job = make_job(27, "trap : USR2; echo begun; while :; do sleep 0.05; done");
	job.checkpoint_signal = SIGUSR2;
	job.checkpoint_ms = 60000;
	assert_int_equal(start_as(w, &job), 0);
	phx_sleep_ms(200);
	assert_int_equal(jobs_kill(w->jobs, (struct job_run){27, 0}, true, NULL), 0);
	phx_sleep_ms(200);
	assert_false(ended(w, 27, &end));
	assert_int_equal(jobs_kill(w->jobs, (struct job_run){27, 0}, false, NULL), 0);
	WAIT_FOR(ended(w, 27, &end));
	assert_int_equal(end.status, 143);
}

/* The shell goes at once, what it has begun takes its time. */
static void test_children_have_the_grace_too(void **state)
{
	struct world *w = *state;
	struct job_end end = {0};
	struct phx_job job = make_job(28,
				      "(trap 'sleep 0.4; echo child done; exit 0' TERM; echo "
				      "begun; while :; do sleep 0.05; done) & wait");
	char out[200];
	snprintf(out, sizeof(out), "%s/cache/jobs/28.0.out", w->scratch->dir);
	assert_int_equal(start_as(w, &job), 0);
	WAIT_FOR(({
		PHX_AUTO_FREE char *t = read_text(out);
		*t;
	}));
	assert_int_equal(jobs_kill(w->jobs, (struct job_run){28, 0}, false, NULL), 0);
	WAIT_FOR(ended(w, 28, &end));
	PHX_AUTO_FREE char *text = read_text(end.output);
	assert_non_null(strstr(text, "child done\n"));
}

/* Somebody kills the keeper: the job goes with it, and may run again. */
static void test_keeper_is_killed(void **state)
{
	struct world *w = *state;
	struct job_end end = {0};
	int keeper = 0;
	assert_int_equal(start(w, 29, "sleep 301 & exec sleep 300", NULL), 0);
	WAIT_FOR(({
		PHX_AUTO_FREE char *t = read_text(scratch_path(w->scratch, "state/jobs/29.0.run"));
		keeper = atoi(t);
		keeper > 0;
	}));
	phx_sleep_ms(200);
	assert_int_equal(kill(keeper, SIGKILL), 0);
	WAIT_FOR(ended(w, 29, &end));
	assert_int_equal(end.status, 255);
	assert_true(end.forced);
	WAIT_FOR(system("pgrep -u 65534 -f 'sleep 30[01]$' >/dev/null") != 0);
}

/* ---- what it used ---- */

static void test_usage(void **state)
{
	struct world *w = *state;
	struct job_end end = run(w, 30, "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done");
	assert_in_range(end.cpu_ms, 20, 60000);
	assert_in_range(end.memory_peak_bytes, 100 << 10, 1 << 30);
	struct job_end idle = run(w, 31, "exec sleep 0.3");
	assert_in_range(idle.cpu_ms, 0, 250);
}

static void test_group_holds_all(void **state)
{
	struct world *w = *state;
	char script[400];
	struct job_groups groups;
	struct job_end end = {0};
	job_group_find(scratch_path(w->scratch, "state/jobs"), false, &groups);
	if (!groups.base[0])
		skip();
	/* a daemon: its parent is gone and its session is its own */
	snprintf(script, sizeof(script),
		 "setsid sh -c 'sleep 302 & echo $! >%s/out/daemon' & cat /proc/self/cgroup; exec "
		 "sleep 300",
		 w->scratch->dir);
	assert_int_equal(start(w, 32, script, NULL), 0);
	WAIT_FOR(({
		PHX_AUTO_FREE char *t = read_text(scratch_path(w->scratch, "out/daemon"));
		*t;
	}));
	phx_sleep_ms(100);
	PHX_AUTO_FREE char *daemon = read_text(scratch_path(w->scratch, "out/daemon"));
	assert_int_equal(kill(atoi(daemon), 0), 0);
	assert_int_equal(jobs_kill(w->jobs, (struct job_run){32, 0}, false, NULL), 0);
	WAIT_FOR(ended(w, 32, &end));
	assert_int_equal(phx_process_since(atoi(daemon)), 0);
	PHX_AUTO_FREE char *text = read_text(end.output);
	assert_non_null(strstr(text, "/32.0\n"));
	char dir[JOB_GROUP_MAX + 8];
	snprintf(dir, sizeof(dir), "%s/32.0", groups.base);
	WAIT_FOR(!exists(dir));
	assert_false(exists(groups.base)); /* the last one has gone */
}

static void test_hosts_for_mpi(void **state)
{
	struct world *w = *state;
	struct job_end end = run(
		w, 33,
		"for f in $HYDRA_HOST_FILE $I_MPI_HYDRA_HOST_FILE $OMPI_MCA_orte_default_hostfile "
		"$PRTE_MCA_prte_default_hostfile; do cat $f; done | sort | uniq -c | tr -s ' '; "
		"env | grep -c SLURM");
	check_output(&end, " 4 n1\n 4 n2\n 4 n3\n0\n");
	struct phx_job job = make_job(34, "true");
	struct phx_err err = {0};
	assert_int_equal(jobs_start(w->jobs, &job, "n9", &err), -EINVAL);
	assert_non_null(strstr(err.text, "n9"));
	phx_record_fini(&phx_job_record, &job);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_runs_as_its_user),
		TEST(test_scripts_and_environment),
		TEST(test_names_of_its_nodes),
		TEST(test_loopback_does_not_hide_a_node),
		TEST(test_what_was_begun_is_swept),
		TEST(test_names_of_one_that_did_not_start),
		TEST(test_never_as_root),
		TEST(test_no_descriptors_inherited),
		TEST(test_program_missing),
		TEST(test_never_twice),
		TEST(test_kill_takes_all),
		TEST(test_kill_of_unknown),
		TEST(test_goes_on_over_a_restart),
		TEST(test_ended_while_the_agent_was_away),
		TEST(test_lost),
		TEST(test_drain),
		TEST(test_drain_given_up),
		TEST(test_sleeps),
		TEST(test_closed),
		TEST(test_much_output),
		TEST(test_output_is_cut),
		TEST(test_next_run_is_another),
		TEST(test_older_run_goes_first),
		TEST(test_another_job_of_the_same_number),
		TEST(test_time_limit_without_a_head),
		TEST(test_heartbeat_timeout),
		TEST(test_timeout_is_over_before_it_starts),
		TEST(test_checkpoint_comes_first),
		TEST(test_checkpoint_and_grace_are_over),
		TEST(test_cancel_cuts_the_checkpoint),
		TEST(test_children_have_the_grace_too),
		TEST(test_keeper_is_killed),
		TEST(test_usage),
		TEST(test_group_holds_all),
		TEST(test_hosts_for_mpi),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
