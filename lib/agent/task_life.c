/* What becomes of a task, from its order to the row of its result: see task_keep.h. The book
 * decides, and says what is noted; this file acts, and writes that down. Never talks to the
 * agent. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/task_keep.h"
#include "pki/pki.h"
#include "base/clock.h"
#include "base/file.h"

enum { ROW_BYTES = 512, KILL_AGAIN_MS = 1000 };

static struct task_body *body_of(const struct task_keep *k, uint32_t i)
{
	return task_book_at(&k->book, i)->body;
}

static void common_release(struct task_common *c)
{
	if (c && --c->n == 0)
		free(c);
}

/* ---- what the book asks for ---- */

static void drop_body(void *keep, void *body)
{
	struct task_body *t = body;
	(void)keep;
	if (!t)
		return;
	common_release(t->common);
	phx_record_fini(&phx_task_record, &t->task);
	phx_sha256_free(t->sum);
	free(t);
}

static void *make_body(void *keep, const struct phx_task *task)
{
	const struct task_keep *k = keep;
	struct task_body *t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	*t = (struct task_body){.from = -1, .out = -1, .why = -1, .due_ms = INT64_MAX};
	if (task && phx_record_copy(&phx_task_record, &t->task, task) < 0) {
		free(t);
		return NULL;
	}
	if (task) {
		t->common = k->common;
		t->common->n++;
	}
	return t;
}

static struct phx_task_result *result_of(void *body)
{
	return &((struct task_body *)body)->result;
}

static void note(void *keep, const struct task_note *n)
{
	struct task_keep *k = keep;
	task_log_add(&k->log, n);
}

static void tell_to_end(void *keep, uint32_t i, enum phx_task_outcome why);
static void ended(void *keep, uint32_t i);

static struct task_owner owner_of(struct task_keep *k)
{
	return (struct task_owner){.arg = k,
				   .make = make_body,
				   .drop = drop_body,
				   .result = result_of,
				   .note = note,
				   .tell = tell_to_end,
				   .ended = ended};
}

/* ---- the end of a task ---- */

/* Kept output is bounded: the oldest is removed. */
static void keep_output(struct task_keep *k, const struct task_key *key, uint64_t bytes)
{
	struct task_kept *one = bytes ? phx_list_push(&k->kept, sizeof(*one)) : NULL;
	if (!one)
		return;
	task_run_name(key, one->name);
	one->bytes = bytes;
	k->kept_bytes += bytes;
	while (k->kept_bytes > TASK_LEFT_BYTES) {
		const struct task_kept *oldest = PHX_LIST_AT(&k->kept, struct task_kept, 0);
		unlinkat(k->site.out_dir, oldest->name, 0);
		k->kept_bytes -= oldest->bytes;
		phx_list_remove(&k->kept, sizeof(*oldest), 0);
	}
}

static void ended(void *keep, uint32_t i)
{
	struct task_keep *k = keep;
	const struct task_body *t = body_of(k, i);
	if (!k->n_news++)
		k->sync_ms = phx_clock_ms() + TASK_ROW_MS;
	uint64_t bytes = t->result.printed_bytes;
	if (bytes && t->common)
		keep_output(k, &task_book_at(&k->book, i)->key,
			    bytes < t->common->print_max ? bytes : t->common->print_max);
}

/* Ends a task with this outcome. The caller has put all else into t->result. */
static void finish(struct task_keep *k, uint32_t i, enum phx_task_outcome outcome, uint32_t status)
{
	const struct task_owner owner = owner_of(k);
	task_book_finish(&k->book, &owner, i, outcome, status, phx_wall_ms());
}

/* Makes the last line of output the text of the result: it says more than a status. */
static void tell_tail(struct task_body *t)
{
	while (t->n_tail && (unsigned char)t->tail[t->n_tail - 1] <= ' ')
		t->n_tail--;
	t->tail[t->n_tail] = '\0';
	const char *line = strrchr(t->tail, '\n');
	snprintf(t->result.text, sizeof(t->result.text), "%s", line ? line + 1 : t->tail);
	task_book_make_printable(t->result.text);
}

/* Ends a task that was told to end: the outcome says all, so there is no text. */
static void finish_ended(struct task_keep *k, uint32_t i)
{
	struct task_body *t = body_of(k, i);
	t->result.text[0] = '\0';
	finish(k, i, (enum phx_task_outcome)t->why, 0);
}

/* ---- beginning ---- */

static void look_by(struct task_keep *k, int64_t due_ms)
{
	if (due_ms < k->due_ms)
		k->due_ms = due_ms;
}

/* When the head was last heard. Without the contact file it counts as just heard, so that no
 * timeout ends. */
static int64_t heard_ms(const struct task_keep *k)
{
	int64_t heard = 0;
	if (k->contact < 0)
		return phx_clock_boot_ms();
	return pread(k->contact, &heard, sizeof(heard), 0) == (ssize_t)sizeof(heard) ? heard : 0;
}

/* Starts the process of a stage. False: it could not be started, and the task has ended. */
static bool start_stage(struct task_keep *k, uint32_t i, enum task_stage stage)
{
	struct task_body *t = body_of(k, i);
	t->stage = stage;
	int r = task_run_start(&k->site, t);
	if (r == 0 && (r = phx_hash_put(&k->pids, (uint32_t)t->pid, i)) < 0)
		task_run_signal(t, SIGKILL);
	if (r < 0) {
		finish(k, i, PHX_TASK_UNSTARTED, 0);
		return false;
	}
	struct epoll_event e = {.events = EPOLLIN, .data.u64 = i};
	epoll_ctl(k->poll, EPOLL_CTL_ADD, t->from, &e);
	if (t->due_ms != INT64_MAX)
		look_by(k, t->due_ms);
	return true;
}

static void begin_one(struct task_keep *k, uint32_t i)
{
	struct task_body *t = body_of(k, i);
	const struct task_owner owner = owner_of(k);
	task_book_begun(&k->book, &owner, i, phx_wall_ms());
	t->due_ms = t->task.limit_ms ? phx_clock_boot_ms() + t->task.limit_ms : INT64_MAX;
	if (t->common->heartbeat_timeout_ms)
		look_by(k, phx_clock_boot_ms() + t->common->heartbeat_timeout_ms);
	start_stage(k, i, t->task.had_sha256[0] ? TASK_LOOKS : TASK_WORKS);
}

void task_life_begin(struct task_keep *k)
{
	for (uint32_t i; (i = task_book_begin(&k->book)) != TASK_NONE;)
		begin_one(k, i);
}

/* ---- a process has ended ---- */

static void looked(struct task_keep *k, uint32_t i)
{
	struct task_body *t = body_of(k, i);
	const struct task_outputs *o = &t->outputs;
	struct phx_task_result *w = &t->result;
	bool before = t->stage == TASK_LOOKS;
	if (t->why >= 0) {
		finish_ended(k, i);
		return;
	}
	if (before && (o->failed || strcmp(o->sha256, t->task.had_sha256) != 0)) {
		start_stage(k, i, TASK_WORKS);
		return;
	}
	w->n_outputs = o->n;
	w->output_bytes = o->bytes;
	w->was_there = before;
	PHX_STR_SET(w->outputs_sha256, o->sha256);
	PHX_STR_SET(w->text, o->failed ? o->text : "");
	if (o->failed)
		w->outputs_sha256[0] = '\0';
	finish(k, i, o->failed ? PHX_TASK_MISSING : PHX_TASK_EXITED, 0);
}

static void worked(struct task_keep *k, uint32_t i, int status)
{
	struct task_body *t = body_of(k, i);
	bool well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	if (t->why >= 0) {
		finish_ended(k, i);
		return;
	}
	if (well && t->task.outputs.n) {
		start_stage(k, i, TASK_CHECKS);
		return;
	}
	if (!well)
		tell_tail(t);
	if (WIFSIGNALED(status))
		finish(k, i, PHX_TASK_KILLED, (uint32_t)WTERMSIG(status));
	else
		finish(k, i, PHX_TASK_EXITED, (uint32_t)WEXITSTATUS(status));
}

/* Stops watching the output: a child that has the pipe open would keep epoll reporting it. */
void task_life_deaf(struct task_keep *k, struct task_body *t)
{
	if (t->from >= 0)
		epoll_ctl(k->poll, EPOLL_CTL_DEL, t->from, NULL);
	phx_close_fd(&t->from);
}

void task_life_reaped(struct task_keep *k, pid_t pid, int status, const struct rusage *used)
{
	uint32_t at = (uint32_t)pid, i;
	if (!phx_hash_next(&k->pids, (uint32_t)pid, &at, &i))
		return; /* a process that a task left behind */
	struct task_body *t = body_of(k, i);
	phx_hash_drop(&k->pids, (uint32_t)pid, i);
	task_run_over(&k->site, t, used);
	task_life_deaf(k, t);
	if (t->stage == TASK_WORKS)
		worked(k, i, status);
	else
		looked(k, i);
}

/* ---- ending ---- */

/* Tells a task to end: a program gets SIGTERM, and is killed when its grace is over; a process that
 * only looks at outputs is killed at once. */
static void tell_to_end(void *keep, uint32_t i, enum phx_task_outcome why)
{
	struct task_keep *k = keep;
	struct task_body *t = body_of(k, i);
	if (t->why >= 0)
		return;
	t->why = (int)why;
	t->told = true;
	task_run_signal(t, t->stage == TASK_WORKS ? SIGTERM : SIGKILL);
	task_run_signal(t, SIGCONT);
	t->due_ms = phx_clock_boot_ms() + (t->common ? t->common->grace_ms : 0);
	look_by(k, t->due_ms);
}

void task_life_end_all(struct task_keep *k, enum phx_task_outcome why)
{
	const struct task_owner owner = owner_of(k);
	task_book_stop_all(&k->book, &owner, why);
}

struct silence {
	struct task_keep *keep;
	int64_t heard_ms;
};

static void look_at_heartbeat(void *silence, uint32_t i)
{
	const struct silence *s = silence;
	struct task_keep *k = s->keep;
	const struct task_common *c = body_of(k, i)->common;
	const struct task_owner owner = owner_of(k);
	int64_t end_ms =
		c && c->heartbeat_timeout_ms ? s->heard_ms + c->heartbeat_timeout_ms : INT64_MAX;
	if (end_ms <= phx_clock_boot_ms())
		task_book_stop(&k->book, &owner, i, PHX_TASK_LOST);
	else
		look_by(k, end_ms);
}

static void look_at_limit(struct task_keep *k, uint32_t i, int64_t now_ms)
{
	struct task_body *t = body_of(k, i);
	if (now_ms >= t->due_ms && t->why < 0)
		tell_to_end(k, i, PHX_TASK_OVERDUE);
	else if (now_ms >= t->due_ms) {
		task_run_signal(t, SIGKILL);
		t->due_ms = now_ms + KILL_AGAIN_MS;
	}
	look_by(k, t->due_ms);
}

void task_life_look(struct task_keep *k)
{
	int64_t now_ms = phx_clock_boot_ms(), heard = heard_ms(k);
	if (now_ms < k->due_ms)
		return;
	k->due_ms = INT64_MAX;
	task_book_each_open(&k->book, look_at_heartbeat, &(struct silence){k, heard});
	for (uint32_t i = k->book.first[TASK_RUNS]; i != TASK_NONE;
	     i = task_book_at(&k->book, i)->next)
		look_at_limit(k, i, now_ms);
}

/* ---- orders ---- */

static void give_node(struct task_keep *k, const struct phx_task_order *o)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN), pages = sysconf(_SC_PHYS_PAGES);
	uint64_t memory = (uint64_t)(pages > 0 ? pages : 0) * (uint64_t)sysconf(_SC_PAGESIZE);
	task_book_give(&k->book, o->cores ? o->cores : (uint32_t)(cpus > 0 ? cpus : 1),
		       o->memory_bytes ? o->memory_bytes : memory);
}

/* The head is told which orders were taken. */
static void remember_order(struct task_keep *k, uint64_t number)
{
	memmove(k->told, k->told + 1, sizeof(k->told) - sizeof(k->told[0]));
	k->told[PHX_TASKS_TOLD - 1] = number;
}

static int take_all(struct task_keep *k, uint64_t number, const struct phx_task_order *o,
		    struct phx_err *err)
{
	const struct task_owner owner = owner_of(k);
	if (o->tasks.n) {
		give_node(k, o);
		int r = task_common_make(k, o, &k->common, err);
		if (r < 0)
			return r;
		k->common->n = 1; /* the order, until it is taken */
	}
	int r = task_book_order(&k->book, &owner, number, o);
	k->failed = k->failed || r < 0; /* half of the order is in the book */
	common_release(PHX_TAKE(k->common));
	return r;
}

int task_life_order(struct task_keep *k, uint64_t number, const struct phx_task_order *o,
		    struct phx_err *err)
{
	int r = task_book_admits(&k->book, number, o, err);
	if (r <= 0)
		return r;
	r = take_all(k, number, o, err);
	if (r < 0)
		return r;
	remember_order(k, number);
	task_life_sync(k);
	return k->failed ? phx_err_set(err, -EIO, "the log of tasks cannot be written") : 0;
}

/* ---- rows ---- */

void task_life_sync(struct task_keep *k)
{
	struct phx_err err = {0};
	if (task_log_sync(&k->log, &err) < 0) {
		k->failed = true;
		return;
	}
	task_book_synced(&k->book);
	k->n_news = 0;
	k->sync_ms = INT64_MAX;
}

uint32_t task_life_rows(struct task_keep *k, struct phx_list *ret)
{
	uint32_t most = PHX_TASK_ROWS_MAX;
	if (most > PHX_TASK_ROWS_BYTES / ROW_BYTES)
		most = PHX_TASK_ROWS_BYTES / ROW_BYTES;
	const struct task_owner owner = owner_of(k);
	return task_book_rows(&k->book, &owner, most, ret);
}

void task_life_said(struct task_keep *k, uint32_t n)
{
	const struct task_owner owner = owner_of(k);
	task_book_told(&k->book, &owner, n);
}

void task_life_fini(struct task_keep *k)
{
	for (uint32_t i = 0; i < k->book.n_entries; i++)
		drop_body(k, body_of(k, i));
	task_book_fini(&k->book);
	task_log_close(&k->log);
	phx_hash_fini(&k->pids);
	phx_list_fini(&k->kept);
	phx_close_fd(&k->site.nodes_dir);
	free(k->nodes_path);
}

/* ---- the log of an earlier keeper ---- */

void task_life_replay(void *keep, const struct task_note *n)
{
	struct task_keep *k = keep;
	const struct task_owner owner = owner_of(k);
	if (n->kind == TASK_NOTE_ORDER)
		remember_order(k, n->number);
	task_book_replay(&k->book, &owner, n);
}

void task_life_lost(struct task_keep *k)
{
	const struct task_owner owner = owner_of(k);
	task_book_lose(&k->book, &owner, phx_wall_ms());
}

static void add_note(void *fresh, const struct task_note *n)
{
	task_log_add(fresh, n);
}

static void fill(void *keep, struct task_log *fresh)
{
	struct task_keep *k = keep;
	const struct task_owner owner = owner_of(k);
	task_book_each_note(&k->book, &owner, add_note, fresh);
}

int task_life_renew(struct task_keep *k, struct phx_err *err)
{
	return task_log_renew(&k->log, fill, k, err);
}
