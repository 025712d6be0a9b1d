/* What becomes of a task, from its order to the row of its result: see task_keep.h. The book
 * decides; this file acts, and notes it in the log. Never talks to the agent. */
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

static void body_free(struct task_body *t)
{
	if (!t)
		return;
	if (t->common && --t->common->n == 0)
		free(t->common);
	phx_record_fini(&phx_task_record, &t->task);
	phx_sha256_free(t->sum);
	free(t);
}

static void note(struct task_keep *k, enum task_note_kind kind, const struct task_key *key)
{
	task_log_add(&k->log, &(struct task_note){.kind = kind, .key = *key});
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

/* Ends a task with this outcome. The caller has put all else into t->result. */
static void finish(struct task_keep *k, uint32_t i, enum phx_task_outcome outcome, uint32_t status)
{
	struct task_body *t = body_of(k, i);
	t->result.outcome = outcome;
	t->result.status = status;
	if (t->result.begin_ms) {
		int64_t now = phx_wall_ms(); /* the clock may have been set back */
		t->result.end_ms = now > t->result.begin_ms ? now : t->result.begin_ms;
	}
	task_book_end(&k->book, i);
	task_log_add(&k->log, &(struct task_note){.kind = TASK_NOTE_ENDED, .result = t->result});
	if (!k->n_news++)
		k->sync_ms = phx_clock_ms() + TASK_ROW_MS;
	uint64_t bytes = t->result.printed_bytes;
	if (bytes && t->common)
		keep_output(k, &task_book_at(&k->book, i)->key,
			    bytes < t->common->print_max ? bytes : t->common->print_max);
}

static void make_printable(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

/* Makes the last line of output the text of the result: it says more than a status. */
static void tell_tail(struct task_body *t)
{
	while (t->n_tail && (unsigned char)t->tail[t->n_tail - 1] <= ' ')
		t->n_tail--;
	t->tail[t->n_tail] = '\0';
	const char *line = strrchr(t->tail, '\n');
	snprintf(t->result.text, sizeof(t->result.text), "%s", line ? line + 1 : t->tail);
	make_printable(t->result.text);
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
	t->result.begin_ms = phx_wall_ms();
	t->due_ms = t->task.limit_ms ? phx_clock_boot_ms() + t->task.limit_ms : INT64_MAX;
	task_log_add(&k->log,
		     &(struct task_note){.kind = TASK_NOTE_BEGUN,
					 .key = task_book_at(&k->book, i)->key,
					 .begin_ms = t->result.begin_ms});
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
static void tell_to_end(struct task_keep *k, struct task_body *t, enum phx_task_outcome why)
{
	if (t->why >= 0)
		return;
	t->why = (int)why;
	t->told = true;
	task_run_signal(t, t->stage == TASK_WORKS ? SIGTERM : SIGKILL);
	task_run_signal(t, SIGCONT);
	t->due_ms = phx_clock_boot_ms() + (t->common ? t->common->grace_ms : 0);
	look_by(k, t->due_ms);
}

static void end_one(struct task_keep *k, uint32_t i, enum phx_task_outcome why)
{
	struct task_body *t = body_of(k, i);
	if (task_book_at(&k->book, i)->state == TASK_RUNS)
		tell_to_end(k, t, why);
	else if (task_book_at(&k->book, i)->state == TASK_WAITS)
		finish(k, i, why, 0);
}

/* Calls `end` for each waiting or running task; it may change the state of the task that it is
 * called with. */
static void each_open(struct task_keep *k, void (*end)(struct task_keep *k, uint32_t i, void *arg),
		      void *arg)
{
	static const enum task_state states[] = {TASK_WAITS, TASK_RUNS};
	for (size_t s = 0; s < PHX_ARRAY_SIZE(states); s++)
		for (uint32_t i = k->book.first[states[s]], next; i != TASK_NONE; i = next) {
			next = task_book_at(&k->book, i)->next;
			end(k, i, arg);
		}
}

static void end_for(struct task_keep *k, uint32_t i, void *why)
{
	end_one(k, i, *(enum phx_task_outcome *)why);
}

void task_life_end_all(struct task_keep *k, enum phx_task_outcome why)
{
	each_open(k, end_for, &why);
}

static void look_at_heartbeat(struct task_keep *k, uint32_t i, void *heard)
{
	const struct task_common *c = body_of(k, i)->common;
	int64_t end_ms = c && c->heartbeat_timeout_ms ? *(int64_t *)heard + c->heartbeat_timeout_ms
						      : INT64_MAX;
	if (end_ms <= phx_clock_boot_ms())
		end_one(k, i, PHX_TASK_LOST);
	else
		look_by(k, end_ms);
}

static void look_at_limit(struct task_keep *k, uint32_t i, int64_t now_ms)
{
	struct task_body *t = body_of(k, i);
	if (now_ms >= t->due_ms && t->why < 0)
		tell_to_end(k, t, PHX_TASK_OVERDUE);
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
	each_open(k, look_at_heartbeat, &heard);
	for (uint32_t i = k->book.first[TASK_RUNS]; i != TASK_NONE;
	     i = task_book_at(&k->book, i)->next)
		look_at_limit(k, i, now_ms);
}

/* ---- orders ---- */

/* Puts a task into the book; NULL: no memory. */
static struct task_body *put_task(struct task_keep *k, const struct task_key *key, uint32_t cores,
				  uint64_t memory, uint32_t after, uint32_t *ret_i)
{
	struct task_body *t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	*t = (struct task_body){.from = -1, .out = -1, .why = -1, .due_ms = INT64_MAX};
	t->result.run = key->run;
	t->result.submitted_ms = key->submitted_ms;
	t->result.task = key->task;
	t->result.attempt = key->attempt;
	*ret_i = task_book_put(&k->book, key, cores, memory, after, t);
	if (*ret_i == TASK_NONE) {
		free(t);
		return NULL;
	}
	note(k, TASK_NOTE_TAKEN, key);
	return t;
}

static int take_task(struct task_keep *k, const struct phx_task *task, struct task_common *common)
{
	struct task_key key = TASK_KEY(task);
	uint32_t known, i;
	enum decide_job is = task_book_judge(&k->book, &key, &known);
	if (is == DECIDE_JOB_SAME || is == DECIDE_JOB_OF_PAST)
		return 0;
	if (is == DECIDE_JOB_NEWER)
		end_one(k, known, PHX_TASK_CANCELLED);
	struct task_body *t = put_task(k, &key, task->cores, task->memory_bytes, known, &i);
	int r = t ? phx_record_copy(&phx_task_record, &t->task, task) : -ENOMEM;
	if (r < 0)
		return r;
	t->common = common;
	common->n++;
	struct phx_err err = {0};
	if (phx_task_check(task, &err) == 0 &&
	    !task_book_fits(&k->book, task->cores, task->memory_bytes))
		phx_err_set(&err, -E2BIG,
			    "it wants more cores or memory than this node has for tasks");
	if (err.text[0]) {
		snprintf(t->result.text, sizeof(t->result.text), "%s", err.text);
		make_printable(t->result.text);
		finish(k, i, PHX_TASK_UNSTARTED, 0);
	}
	return 0;
}

struct cancelling {
	const struct phx_task_cancel *cancel;
};

static void cancel_if_meant(struct task_keep *k, uint32_t i, void *arg)
{
	const struct cancelling *c = arg;
	if (task_book_cancels(c->cancel, &task_book_at(&k->book, i)->key))
		end_one(k, i, PHX_TASK_CANCELLED);
}

/* Cancels a task. One that is not known yet never begins, but is reported all the same. */
static int cancel(struct task_keep *k, const struct phx_task_cancel *c)
{
	struct task_key key = TASK_KEY(c);
	uint32_t known, i;
	if (c->whole) {
		each_open(k, cancel_if_meant, &(struct cancelling){c});
		return 0;
	}
	enum decide_job is = task_book_judge(&k->book, &key, &known);
	if (known != TASK_NONE && is != DECIDE_JOB_OF_PAST)
		end_one(k, known, PHX_TASK_CANCELLED);
	if (is != DECIDE_JOB_NEW && is != DECIDE_JOB_NEWER)
		return 0;
	if (!put_task(k, &key, 1, 0, TASK_NONE, &i))
		return -ENOMEM;
	finish(k, i, PHX_TASK_CANCELLED, 0);
	return 0;
}

static void give_node(struct task_keep *k, const struct phx_task_order *o)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN), pages = sysconf(_SC_PHYS_PAGES);
	uint64_t memory = (uint64_t)(pages > 0 ? pages : 0) * (uint64_t)sysconf(_SC_PAGESIZE);
	task_book_give(&k->book, o->cores ? o->cores : (uint32_t)(cpus > 0 ? cpus : 1),
		       o->memory_bytes ? o->memory_bytes : memory);
}

static void note_order(struct task_keep *k, uint64_t number, int64_t since_ms)
{
	task_book_taken(&k->book, since_ms, number);
	memmove(k->told, k->told + 1, sizeof(k->told) - sizeof(k->told[0]));
	k->told[PHX_TASKS_TOLD - 1] = number;
}

static int take_all(struct task_keep *k, const struct phx_task_order *o, struct phx_err *err)
{
	struct task_common *common = NULL;
	int r = 0;
	if (o->tasks.n)
		give_node(k, o);
	if (o->tasks.n)
		r = task_common_make(k, o, &common, err);
	if (r < 0)
		return r;
	PHX_LIST_EACH(struct phx_task, t, &o->tasks)
		r = r ? r : take_task(k, t, common);
	if (common && !common->n)
		free(common);
	PHX_LIST_EACH(struct phx_task_cancel, c, &o->cancels)
		r = r ? r : cancel(k, c);
	k->failed = k->failed || r < 0; /* half of the order is in the book */
	return r;
}

int task_life_order(struct task_keep *k, uint64_t number, const struct phx_task_order *o,
		    struct phx_err *err)
{
	if (!task_book_is_new(&k->book, o->since_ms, number))
		return 0;
	if (!task_book_has_room(&k->book, o->tasks.n + o->cancels.n))
		return phx_err_set(err, -EBUSY, "this node has %d tasks already", TASKS_HELD_MAX);
	int r = take_all(k, o, err);
	if (r < 0)
		return r;
	note_order(k, number, o->since_ms);
	task_log_add(&k->log,
		     &(struct task_note){
			     .kind = TASK_NOTE_ORDER, .number = number, .since_ms = o->since_ms});
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
	/* from the last one back: all before a synced one are synced, too */
	for (uint32_t i = k->book.last[TASK_ENDED]; i != TASK_NONE && !body_of(k, i)->synced;
	     i = task_book_at(&k->book, i)->prev)
		body_of(k, i)->synced = true;
	k->n_news = 0;
	k->sync_ms = INT64_MAX;
}

uint32_t task_life_rows(struct task_keep *k, struct phx_list *ret)
{
	uint32_t most = PHX_TASK_ROWS_MAX;
	if (most > PHX_TASK_ROWS_BYTES / ROW_BYTES)
		most = PHX_TASK_ROWS_BYTES / ROW_BYTES;
	for (uint32_t i = k->book.first[TASK_ENDED];
	     i != TASK_NONE && ret->n < most && body_of(k, i)->synced;
	     i = task_book_at(&k->book, i)->next) {
		struct phx_task_result *w = phx_list_push(ret, sizeof(*w));
		if (!w)
			break;
		*w = body_of(k, i)->result;
	}
	return ret->n;
}

void task_life_said(struct task_keep *k, uint32_t n)
{
	for (; n && k->book.first[TASK_ENDED] != TASK_NONE; n--) {
		uint32_t i = k->book.first[TASK_ENDED];
		body_free(body_of(k, i));
		note(k, TASK_NOTE_SAID, &task_book_at(&k->book, i)->key);
		task_book_said(&k->book, i);
	}
}

void task_life_fini(struct task_keep *k)
{
	for (uint32_t i = 0; i < k->book.n_entries; i++)
		body_free(body_of(k, i));
	task_book_fini(&k->book);
	task_log_close(&k->log);
	phx_hash_fini(&k->pids);
	phx_list_fini(&k->kept);
}

/* ---- the log of an earlier keeper ---- */

static uint32_t find_same(const struct task_keep *k, const struct task_key *key)
{
	uint32_t known;
	return task_book_judge(&k->book, key, &known) == DECIDE_JOB_SAME ? known : TASK_NONE;
}

static void replay_end(struct task_keep *k, uint32_t i, const struct phx_task_result *w)
{
	struct task_body *t = body_of(k, i);
	if (task_book_at(&k->book, i)->state != TASK_WAITS)
		return;
	t->result = *w;
	t->synced = true;
	task_book_end(&k->book, i);
}

void task_life_replay(void *keep, const struct task_note *n)
{
	struct task_keep *k = keep;
	uint32_t i = TASK_NONE;
	if (n->kind == TASK_NOTE_ORDER) {
		note_order(k, n->number, n->since_ms);
		return;
	}
	i = find_same(k, &n->key);
	if (i == TASK_NONE && n->kind != TASK_NOTE_SAID)
		(void)put_task(k, &n->key, 1, 0, TASK_NONE, &i);
	if (i == TASK_NONE && n->kind == TASK_NOTE_SAID)
		(void)task_book_remember(&k->book, &n->key);
	if (i == TASK_NONE || task_book_at(&k->book, i)->state == TASK_SAID)
		return;
	if (n->kind == TASK_NOTE_BEGUN)
		body_of(k, i)->result.begin_ms = n->begin_ms;
	else if (n->kind == TASK_NOTE_ENDED)
		replay_end(k, i, &n->result);
	else if (n->kind == TASK_NOTE_SAID) {
		if (task_book_at(&k->book, i)->state == TASK_WAITS)
			task_book_end(&k->book, i);
		body_free(body_of(k, i));
		task_book_said(&k->book, i);
	}
}

void task_life_lost(struct task_keep *k)
{
	for (uint32_t i; (i = k->book.first[TASK_WAITS]) != TASK_NONE;) {
		PHX_STR_SET(body_of(k, i)->result.text,
			    "the node, or what keeps its tasks, started anew");
		finish(k, i, PHX_TASK_LOST, 0);
	}
}

static void fill(void *keep, struct task_log *fresh)
{
	struct task_keep *k = keep;
	task_log_add(fresh,
		     &(struct task_note){.kind = TASK_NOTE_ORDER,
					 .number = k->book.order,
					 .since_ms = k->book.since_ms});
	for (int s = 0; s < TASK_STATES; s++)
		for (uint32_t i = k->book.first[s]; i != TASK_NONE;
		     i = task_book_at(&k->book, i)->next) {
			struct task_note n = {.kind = s == TASK_SAID ? TASK_NOTE_SAID
								     : TASK_NOTE_TAKEN,
					      .key = task_book_at(&k->book, i)->key};
			task_log_add(fresh, &n);
			n.kind = s == TASK_ENDED ? TASK_NOTE_ENDED : TASK_NOTE_BEGUN;
			if (s == TASK_ENDED)
				n.result = body_of(k, i)->result;
			if (s == TASK_RUNS)
				n.begin_ms = body_of(k, i)->result.begin_ms;
			if (s == TASK_ENDED || s == TASK_RUNS)
				task_log_add(fresh, &n);
		}
}

int task_life_renew(struct task_keep *k, struct phx_err *err)
{
	return task_log_renew(&k->log, fill, k, err);
}
