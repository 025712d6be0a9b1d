/* The keeper of tasks as a process of its own, spoken to over its socket: every way in which a task
 * ends, orders that come twice, a keeper that is killed, what a user puts in the way. Prints how
 * many empty tasks a second one keeper runs. */
#include "unit/agent/scratch.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "agent/task_keeper.h"
#include "agent/task_talk.h"
#include "pki/pki.h"

enum { WAIT_MS = 20000, ROWS = 4096, UID = 65534 };

static struct world {
	struct scratch *s;
	char state[80], cache[80], run[80];
	int dir, fd;
	pid_t keeper;
	uint64_t order;
	struct phx_task_result rows[ROWS];
	uint32_t n_rows;
	struct task_tell last; /* that was no row */
	bool no_acks;
} w;

static void start_keeper(void)
{
	w.keeper = fork();
	assert_true(w.keeper >= 0);
	if (w.keeper == 0) {
		char none[] = "";
		char *words[] = {w.state, w.cache, w.run, none, none};
		_exit(task_keeper_main(words));
	}
	PHX_AUTO_FREE char *socket = phx_path("%s/tasks/socket", w.state);
	assert_int_equal(phx_file_await(socket, -1, WAIT_MS), 0);
	w.fd = task_talk_connect(w.dir);
	assert_true(w.fd >= 0);
}

static void end_keeper(int sig)
{
	phx_close_fd(&w.fd);
	kill(w.keeper, sig);
	assert_int_equal(waitpid(w.keeper, NULL, 0), w.keeper);
	unlinkat(w.dir, "socket", 0);
}

static int setup(void **state)
{
	scratch_setup(state);
	memset(&w, 0, sizeof(w));
	w.s = *state;
	snprintf(w.state, sizeof(w.state), "%s/state", w.s->dir);
	snprintf(w.cache, sizeof(w.cache), "%s/cache", w.s->dir);
	snprintf(w.run, sizeof(w.run), "%s/run", w.s->dir);
	PHX_AUTO_FREE char *tasks = phx_path("%s/tasks", w.state);
	assert_int_equal(phx_dir_make(tasks, 0700, NULL), 0);
	w.dir = open(tasks, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	start_keeper();
	return 0;
}

static int teardown(void **state)
{
	if (w.fd >= 0)
		end_keeper(SIGKILL);
	close(w.dir);
	return scratch_teardown(state);
}

/* ---- talking ---- */

static void ack(uint64_t number)
{
	struct task_say m = {.what = "ack", .number = number};
	assert_int_equal(task_talk_send(w.fd, &task_say_record, &m), 0);
}

/* The next message; false: none came in time, or the keeper is gone. */
static bool hear(int wait_ms)
{
	struct task_tell m = {0};
	if (poll(&(struct pollfd){w.fd, POLLIN, 0}, 1, wait_ms) <= 0 ||
	    task_talk_receive(w.fd, &task_tell_record, &m) < 0)
		return false;
	PHX_LIST_EACH(struct phx_task_result, r, &m.rows)
		w.rows[w.n_rows++ % ROWS] = *r;
	const struct phx_task_results all = {m.rows};
	assert_int_equal(phx_task_results_check(&all, NULL), 0);
	if (phx_str_eq(m.what, "rows") && !w.no_acks)
		ack(m.number);
	if (!phx_str_eq(m.what, "rows"))
		w.last = m;
	w.last.rows = (struct phx_list){0};
	phx_record_fini(&task_tell_record, &m);
	return true;
}

static void hear_rows(uint32_t n)
{
	while (w.n_rows < n)
		if (!hear(WAIT_MS))
			fail_msg("%u rows of %u came", w.n_rows, n);
}

static void hear_answer(const char *what, uint64_t number)
{
	while (hear(WAIT_MS))
		if (phx_str_eq(w.last.what, what) && w.last.number == number)
			return;
	fail_msg("no \"%s\" %llu: \"%s\" %s", what, (unsigned long long)number, w.last.what,
		 w.last.text);
}

static struct phx_task_order new_order(void)
{
	return (struct phx_task_order){.since_ms = 1,
				       .re = "mtc",
				       .user = "nobody",
				       .uid = UID,
				       .gid = UID,
				       .cores = 4,
				       .grace_ms = 200};
}

static struct phx_task *add(struct phx_task_order *o, uint32_t number, const char *script)
{
	struct phx_task *t = phx_list_push(&o->tasks, sizeof(*t));
	t->run = 7;
	t->submitted_ms = 5;
	t->task = number;
	t->cores = 1;
	const char *const sh[] = {"sh", "-c", script};
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(phx_text_push(&t->argv, sh[i]), 0);
	return t;
}

static void send_order(struct phx_task_order *o, uint64_t number)
{
	struct task_say m = {.what = "order", .number = number, .order = *o};
	assert_int_equal(task_talk_send(w.fd, &task_say_record, &m), 0);
	phx_record_fini(&task_say_record, &m);
}

static void give(struct phx_task_order *o)
{
	send_order(o, ++w.order);
	hear_answer("taken", w.order);
}

static const struct phx_task_result *row_of(uint32_t task)
{
	const struct phx_task_result *found = NULL;
	for (uint32_t i = 0; i < w.n_rows; i++)
		if (w.rows[i].task == task)
			found = &w.rows[i];
	if (!found)
		fail_msg("no row of task %u", task);
	return found;
}

static void assert_row(uint32_t task, enum phx_task_outcome outcome, uint32_t status)
{
	const struct phx_task_result *r = row_of(task);
	if (r->outcome != (int)outcome || r->status != status)
		fail_msg("task %u: %s %u \"%s\"", task,
			 phx_enum_name(&phx_task_outcome_names, r->outcome), r->status, r->text);
}

static char *data_path(const char *name)
{
	static char path[2][256];
	static int i;
	char *p = path[i++ % 2];
	snprintf(p, 256, "%s-tasks/mtc.%d/%s", w.cache, UID, name);
	return p;
}

/* ---- ends ---- */

static void test_every_end(void **state)
{
	(void)state;
	struct phx_task_order o = new_order();
	add(&o, 1, "id -u; pwd; echo $PHX_TASK.$PHX_TASK_RUN");
	add(&o, 2, "echo first; echo why it failed >&2; exit 3");
	add(&o, 3, "kill -9 $$");
	add(&o, 4, "sleep 100")->limit_ms = 100;
	phx_text_push(&add(&o, 5, "exit 0")->outputs, "nowhere");
	struct phx_task *no_program = add(&o, 6, "");
	free(PHX_LIST_AT(&no_program->argv, struct phx_text, 0)->text);
	PHX_LIST_AT(&no_program->argv, struct phx_text, 0)->text = strdup("no-such-program");
	add(&o, 7, "true")->cores = 5;
	phx_text_push(&add(&o, 8, "touch ../8")->inputs, "../\na"); /* no other waits for it */
	char longer[200] = "../";
	memset(longer + 3, 'x', sizeof(longer) - 4);
	phx_text_push(&add(&o, 9, "true")->inputs, longer);
	give(&o);
	hear_rows(9);
	assert_row(1, PHX_TASK_EXITED, 0);
	assert_row(2, PHX_TASK_EXITED, 3);
	assert_string_equal(row_of(2)->text, "why it failed");
	assert_row(3, PHX_TASK_KILLED, 9);
	assert_row(4, PHX_TASK_OVERDUE, 0);
	assert_row(5, PHX_TASK_MISSING, 0);
	assert_non_null(strstr(row_of(5)->text, "nowhere"));
	assert_row(6, PHX_TASK_EXITED, 126);
	assert_non_null(strstr(row_of(6)->text, "no-such-program"));
	assert_row(7, PHX_TASK_UNSTARTED, 0);
	assert_row(8, PHX_TASK_UNSTARTED, 0);
	assert_non_null(strstr(row_of(8)->text, "inputs: "));
	assert_non_null(strstr(row_of(9)->text, "inputs: "));
	char said[512] = "", want[256];
	PHX_AUTO_FREE char *out = phx_path("%s/tasks/7.1.0.out", w.cache);
	PHX_AUTO_CLOSE int fd = open(out, O_RDONLY);
	assert_true(read(fd, said, sizeof(said) - 1) > 0);
	snprintf(want, sizeof(want), "%d\n%s-tasks/mtc.%d\n1.7\n", UID, w.cache, UID);
	assert_string_equal(said, want);
}

static void assert_gone(pid_t pid)
{
	for (int tries = 0; kill(pid, 0) == 0; tries++) {
		assert_true(tries < 1000);
		poll(NULL, 0, 5);
	}
}

/* What a task leaves behind ends with it, and what has left the session, with
 * the last that runs where there are no control groups. */
static void test_nothing_outlives_its_task(void **state)
{
	(void)state;
	struct phx_task_order o = new_order();
	add(&o, 1, "sleep 1000 & echo $! >pid; setsid sleep 1001 & echo $! >>pid; chmod 644 pid");
	add(&o, 2, "while [ ! -e go ]; do sleep 0.01; done");
	give(&o);
	hear_rows(1);
	assert_row(1, PHX_TASK_EXITED, 0);
	int pids[2] = {0, 0};
	FILE *f = fopen(data_path("pid"), "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d %d", &pids[0], &pids[1]), 2);
	fclose(f);
	assert_gone(pids[0]); /* of its session: while others run, too */
	assert_int_equal(w.n_rows, 1);
	write_text(data_path("go"), "", 0644);
	hear_rows(2);
	assert_gone(pids[1]);
}

static void test_output_is_bounded(void **state)
{
	(void)state;
	struct stat st;
	struct phx_task_order o = new_order();
	o.output_max_kb = 4;
	add(&o, 1, "head -c 1000000 /dev/zero");
	give(&o);
	hear_rows(1);
	PHX_AUTO_FREE char *out = phx_path("%s/tasks/7.1.0.out", w.cache);
	assert_int_equal(stat(out, &st), 0);
	assert_int_equal(st.st_size, 4096);
	assert_int_equal(row_of(1)->printed_bytes, 1000000);
}

/* A task of several nodes knows them as a job does; the file of their names goes with it. */
static void test_knows_its_nodes(void **state)
{
	(void)state;
	struct phx_task_order o = new_order();
	struct phx_task *t =
		add(&o, 1,
		    "cp $PHX_JOB_NODEFILE lines; cmp lines $HYDRA_HOST_FILE || exit 1; "
		    "echo $PHX_JOB_NODES $PHX_JOB_RANK >said");
	t->nodes = strdup("n[8-10]");
	t->rank = 2;
	add(&o, 2, "test -z \"$PHX_JOB_NODES$PHX_JOB_NODEFILE\"");
	struct phx_task *wrong = add(&o, 3, "true");
	wrong->rank = 1;
	give(&o);
	hear_rows(3);
	assert_row(1, PHX_TASK_EXITED, 0);
	assert_row(2, PHX_TASK_EXITED, 0);
	assert_row(3, PHX_TASK_UNSTARTED, 0);
	assert_non_null(strstr(row_of(3)->text, "rank: must be less"));
	PHX_AUTO_FREE char *lines = NULL, *said = NULL;
	assert_int_equal(phx_file_read(data_path("lines"), 100, &lines, NULL, NULL), 0);
	assert_string_equal(lines, "n8\nn9\nn10\n");
	assert_int_equal(phx_file_read(data_path("said"), 100, &said, NULL, NULL), 0);
	assert_string_equal(said, "n[8-10] 2\n");
	PHX_AUTO_FREE char *file = phx_path("%s/jobs/task-7.1.0.nodes", w.run);
	assert_true(access(file, F_OK) < 0);
}

/* ---- outputs ---- */

static void test_outputs(void **state)
{
	(void)state;
	char hex[PHX_SHA256_HEX], all[PHX_SHA256_HEX], text[256];
	struct phx_task_order o = new_order();
	phx_text_push(&add(&o, 1, "mkdir -p a; printf hello >a/b")->outputs, "a/b");
	give(&o);
	hear_rows(1);
	assert_row(1, PHX_TASK_EXITED, 0);
	assert_int_equal(row_of(1)->n_outputs, 1);
	assert_int_equal(row_of(1)->output_bytes, 5);
	assert_int_equal(phx_sha256_of("hello", 5, hex), 0);
	int n = snprintf(text, sizeof(text), "a/b%c5%c%s%c", 0, 0, hex, 0);
	assert_int_equal(phx_sha256_of(text, (size_t)n, all), 0);
	assert_string_equal(row_of(1)->outputs_sha256, all);

	/* what is there with its digest does not run again; with another one it does */
	struct phx_task_order again = new_order();
	again.cores = 1; /* one after the other */
	struct phx_task *same = add(&again, 2, "echo ran >ran");
	phx_text_push(&same->outputs, "a/b");
	PHX_STR_SET(same->had_sha256, all);
	struct phx_task *other = add(&again, 3, "printf other >a/b");
	phx_text_push(&other->outputs, "a/b");
	memset(other->had_sha256, '0', 64);
	give(&again);
	hear_rows(3);
	assert_true(row_of(2)->was_there);
	assert_string_equal(row_of(2)->outputs_sha256, all);
	assert_true(access(data_path("ran"), F_OK) < 0);
	assert_false(row_of(3)->was_there);
	assert_row(3, PHX_TASK_EXITED, 0);
	assert_string_not_equal(row_of(3)->outputs_sha256, all);
}

/* The data directory is full: what could not write says so in its last words, and has failed; who
 * said that all is well, though its output is not there, has too; and the keeper goes on. */
static void test_a_full_disk(void **state)
{
	struct phx_task_order o = new_order();
	(void)state;
	end_keeper(SIGTERM);
	/* of this process alone: it goes with it */
	assert_int_equal(unshare(CLONE_NEWNS), 0);
	assert_int_equal(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	PHX_AUTO_FREE char *data = phx_path("%s/small", w.s->dir);
	assert_int_equal(mkdir(data, 0755), 0);
	assert_int_equal(mount("none", data, "tmpfs", 0, "size=64k,mode=1777"), 0);
	start_keeper();
	PHX_STR_SET(o.data, data);
	o.cores = 1; /* one after the other */
	phx_text_push(&add(&o, 1, "head -c 1000000 /dev/zero >big")->outputs, "big");
	phx_text_push(&add(&o, 2, "cp big copy 2>/dev/null; rm -f copy; exit 0")->outputs, "copy");
	phx_text_push(&add(&o, 3, "rm big; echo x >little")->outputs, "little");
	give(&o);
	hear_rows(3);
	assert_row(1, PHX_TASK_EXITED, 1);
	assert_non_null(strstr(row_of(1)->text, "No space left on device"));
	assert_string_equal(row_of(1)->outputs_sha256, "");
	assert_row(2, PHX_TASK_MISSING, 0);
	assert_non_null(strstr(row_of(2)->text, "copy"));
	assert_row(3, PHX_TASK_EXITED, 0);
	assert_int_equal(row_of(3)->n_outputs, 1);
	assert_int_equal(umount2(data, MNT_DETACH), 0);
}

/* An output behind a link is none, and what only root may read is not read. */
static void test_outputs_lead_nowhere_else(void **state)
{
	(void)state;
	char *secret = scratch_path(w.s, "secret");
	char script[200];
	write_text(secret, "of root", 0600);
	struct phx_task_order o = new_order();
	snprintf(script, sizeof(script), "ln -s %s link; ln -s %s way; mkfifo fifo", secret,
		 w.s->dir);
	phx_text_push(&add(&o, 1, script)->outputs, "link");
	give(&o);
	hear_rows(1);
	struct phx_task_order next = new_order();
	phx_text_push(&add(&next, 2, "true")->outputs, "way/secret");
	phx_text_push(&add(&next, 3, "true")->outputs, "fifo");
	give(&next);
	hear_rows(3);
	for (uint32_t i = 1; i <= 3; i++) {
		assert_row(i, PHX_TASK_MISSING, 0);
		assert_string_equal(row_of(i)->outputs_sha256, "");
	}
	/* a plain file, but not his to read */
	write_text(data_path("of-root"), "of root", 0600);
	struct phx_task_order unreadable = new_order();
	phx_text_push(&add(&unreadable, 6, "true")->outputs, "of-root");
	give(&unreadable);
	hear_rows(4);
	assert_row(6, PHX_TASK_MISSING, 0);
	struct phx_task_order bad = new_order();
	phx_text_push(&add(&bad, 4, "true")->outputs, "../secret");
	give(&bad);
	hear_rows(5);
	assert_row(4, PHX_TASK_UNSTARTED, 0);
	struct phx_task_order root = new_order();
	root.uid = 0;
	add(&root, 5, "true");
	send_order(&root, ++w.order);
	hear_answer("refused", w.order);
	assert_int_equal(w.last.code, -EPERM);
}

/* ---- twice ---- */

static void test_an_order_twice_runs_once(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct phx_task_order o = new_order();
		add(&o, 1, "echo ran >>ran");
		send_order(&o, 1);
		hear_answer("taken", 1);
	}
	/* another order with the same task, while a head has counted anew, and after a restart */
	struct phx_task_order other = new_order();
	other.since_ms = 2;
	add(&other, 1, "echo ran >>ran");
	send_order(&other, 1);
	hear_answer("taken", 1);
	hear_rows(1);
	struct phx_task_order nothing = new_order();
	nothing.since_ms = 3;
	send_order(&nothing, 1); /* behind the ack: without it the row is told again */
	hear_answer("taken", 1);
	end_keeper(SIGTERM);
	start_keeper();
	struct phx_task_order third = new_order();
	third.since_ms = 2;
	add(&third, 1, "echo ran >>ran");
	add(&third, 2, "echo ran >>ran");
	send_order(&third, 2);
	hear_answer("taken", 2);
	hear_rows(2);
	assert_int_equal(w.n_rows, 2);
	struct stat st;
	assert_int_equal(stat(data_path("ran"), &st), 0);
	assert_int_equal(st.st_size, 8); /* once each */
}

static void test_side_by_side(void **state)
{
	(void)state;
	struct phx_task_order o = new_order();
	o.cores = 2;
	for (uint32_t i = 0; i < 6; i++)
		add(&o, i,
		    "mkdir r.$$; ls -d r.* 2>/dev/null | wc -l >n.$$; sleep 0.1; rmdir r.$$; "
		    "cat n.$$");
	give(&o);
	hear_rows(6);
	bool two = false;
	for (uint32_t i = 0; i < 6; i++) {
		char said[16] = "";
		PHX_AUTO_FREE char *out = phx_path("%s/tasks/7.%u.0.out", w.cache, i);
		PHX_AUTO_CLOSE int fd = open(out, O_RDONLY);
		assert_true(read(fd, said, sizeof(said) - 1) > 0);
		assert_true(said[0] == '1' || said[0] == '2');
		two = two || said[0] == '2';
	}
	assert_true(two);
}

static void test_cancel(void **state)
{
	(void)state;
	struct phx_task_order o = new_order();
	o.cores = 1;
	add(&o, 1, "trap 'echo told; exit 1' TERM; sleep 100 & wait");
	add(&o, 2, "echo ran >ran2");
	give(&o);
	struct phx_task_order end = new_order();
	for (uint32_t i = 1; i <= 3; i++) {
		struct phx_task_cancel *c = phx_list_push(&end.cancels, sizeof(*c));
		c->run = 7;
		c->submitted_ms = 5;
		c->task = i;
	}
	give(&end);
	hear_rows(3);
	for (uint32_t i = 1; i <= 3; i++)
		assert_row(i, PHX_TASK_CANCELLED, 0);
	assert_true(row_of(1)->begin_ms > 0);
	assert_int_equal(row_of(2)->begin_ms, 0);
	/* one that was cancelled before it came never begins */
	struct phx_task_order late = new_order();
	add(&late, 3, "echo ran >ran3");
	add(&late, 4, "true");
	give(&late);
	hear_rows(4);
	assert_int_equal(w.n_rows, 4);
	assert_true(access(data_path("ran2"), F_OK) < 0 && access(data_path("ran3"), F_OK) < 0);
}

static void test_a_newer_attempt_ends_the_older(void **state)
{
	(void)state;
	struct phx_task_order o = new_order();
	add(&o, 1, "trap '' TERM; sleep 100 & wait; sleep 100");
	give(&o);
	struct phx_task_order next = new_order();
	add(&next, 1, "true")->attempt = 1;
	give(&next);
	hear_rows(2);
	assert_int_equal(w.rows[0].attempt, 0);
	assert_int_equal(w.rows[0].outcome, PHX_TASK_CANCELLED);
	assert_int_equal(w.rows[1].attempt, 1);
	assert_int_equal(w.rows[1].outcome, PHX_TASK_EXITED);
	assert_true(w.rows[1].begin_ms >= w.rows[0].end_ms);
}

/* ---- keepers and agents that end ---- */

static void test_a_killed_keeper_loses_what_runs(void **state)
{
	(void)state;
	struct phx_task_order o = new_order();
	o.cores = 2;
	w.no_acks = true;
	add(&o, 1, "true");
	add(&o, 2, "echo $$ >pid; chmod 644 pid; exec sleep 1000");
	add(&o, 3, "sleep 1000");
	add(&o, 4, "echo ran >ran");
	give(&o);
	hear_rows(1);
	PHX_AUTO_FREE char *pid_file = strdup(data_path("pid"));
	assert_int_equal(phx_file_await(pid_file, -1, WAIT_MS), 0);
	end_keeper(SIGKILL);
	w.n_rows = 0;
	w.no_acks = false;
	start_keeper();
	hear_rows(4);
	assert_row(1, PHX_TASK_EXITED, 0); /* its row was not taken: it is said again */
	for (uint32_t i = 2; i <= 4; i++)
		assert_row(i, PHX_TASK_LOST, 0);
	assert_true(access(data_path("ran"), F_OK) < 0);
	struct phx_task_order nothing = new_order();
	give(&nothing); /* behind the ack, and synced with it */
	end_keeper(SIGKILL);
	w.n_rows = 0;
	start_keeper();
	struct phx_task_order again = new_order();
	add(&again, 4, "echo ran >ran");
	add(&again, 5, "true");
	give(&again);
	hear_rows(1);
	assert_int_equal(w.n_rows, 1); /* what was said is not said again, nor run */
	assert_row(5, PHX_TASK_EXITED, 0);
}

static void test_tasks_outlive_the_agent(void **state)
{
	(void)state;
	struct phx_task_order o = new_order();
	add(&o, 1, "while [ ! -e go ]; do sleep 0.01; done");
	give(&o);
	phx_close_fd(&w.fd);
	write_text(data_path("go"), "", 0644);
	poll(NULL, 0, 300);
	w.fd = task_talk_connect(w.dir);
	assert_true(w.fd >= 0);
	hear_rows(1);
	assert_row(1, PHX_TASK_EXITED, 0);
}

static void test_drain(void **state)
{
	(void)state;
	struct phx_task_order o = new_order();
	add(&o, 1, "trap '' TERM; sleep 1000 & wait; sleep 1000");
	give(&o);
	struct task_say m = {.what = "drain"};
	assert_int_equal(task_talk_send(w.fd, &task_say_record, &m), 0);
	hear_answer("drained", 0);
	hear_rows(1);
	assert_row(1, PHX_TASK_LOST, 0);
}

/* The head was heard long ago: another node may have the task by now. */
static void test_heartbeat_timeout(void **state)
{
	(void)state;
	int64_t heard = phx_clock_boot_ms();
	PHX_AUTO_FREE char *dir = phx_path("%s/jobs", w.run);
	PHX_AUTO_FREE char *contact = phx_path("%s/contact", dir);
	end_keeper(SIGTERM);
	assert_int_equal(phx_dir_make(dir, 0755, NULL), 0);
	assert_int_equal(phx_file_write(contact, &heard, sizeof(heard), 0600, NULL), 0);
	start_keeper();
	struct phx_task_order o = new_order();
	o.heartbeat_timeout_ms = 300;
	add(&o, 1, "exec sleep 1000");
	give(&o);
	hear_rows(1);
	assert_row(1, PHX_TASK_LOST, 0);
}

/* ---- how much it costs ---- */

/* What the keeper itself has used of a CPU, without its children. */
static long long cpu_ms(void)
{
	char path[64], text[512] = "";
	unsigned long user = 0, system = 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)w.keeper);
	PHX_AUTO_CLOSE int fd = open(path, O_RDONLY);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	assert_int_equal(sscanf(strrchr(text, ')'),
				") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
				&system),
			 2);
	return (long long)(user + system) * 1000 / sysconf(_SC_CLK_TCK);
}

static void test_empty_tasks(void **state)
{
	(void)state;
	enum { TASKS = 2000, AT_ONCE = 500 };
	int64_t began = phx_clock_ms();
	for (uint32_t n = 0; n < TASKS;) {
		struct phx_task_order o = new_order();
		o.cores = 8;
		for (uint32_t i = 0; i < AT_ONCE; i++, n++) {
			struct phx_task *t = phx_list_push(&o.tasks, sizeof(*t));
			t->run = 8;
			t->task = n;
			t->cores = 1;
			phx_text_push(&t->argv, "/bin/true");
		}
		give(&o);
	}
	hear_rows(TASKS);
	int64_t took = phx_clock_ms() - began;
	print_message("  %d empty tasks in %lld ms: %lld a second; the keeper itself used %lld us "
		      "of a CPU for each\n",
		      TASKS, (long long)took, (long long)(TASKS * 1000LL / (took ? took : 1)),
		      cpu_ms() * 1000 / TASKS);
	for (uint32_t i = 0; i < TASKS; i++)
		assert_int_equal(w.rows[i].status, 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	if (geteuid() != 0) {
		print_message("1..0 # SKIP: tasks run as other users: needs root\n");
		return 0;
	}
	const struct CMUnitTest tests[] = {
		CASE(test_every_end),
		CASE(test_nothing_outlives_its_task),
		CASE(test_output_is_bounded),
		CASE(test_knows_its_nodes),
		CASE(test_a_full_disk),
		CASE(test_outputs),
		CASE(test_outputs_lead_nowhere_else),
		CASE(test_an_order_twice_runs_once),
		CASE(test_side_by_side),
		CASE(test_cancel),
		CASE(test_a_newer_attempt_ends_the_older),
		CASE(test_a_killed_keeper_loses_what_runs),
		CASE(test_tasks_outlive_the_agent),
		CASE(test_drain),
		CASE(test_heartbeat_timeout),
		CASE(test_empty_tasks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
