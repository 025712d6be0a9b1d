/* See task_run.h. A task is a session of its own, and a control group where there are such. The
 * file of its output is made with the first byte: most tasks print nothing. Never decides which
 * task runs, nor what its end means. */
#include "agent/task_run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/job_env.h"
#include "agent/job_private.h"
#include "base/beneath.h"
#include "base/file.h"
#include "base/nodeset.h"
#include "pki/pki.h"

enum { NOT_STARTED = 126, BLOCK = 65536 };

/* ---- in the new process ---- */

static int enter_group(const void *arg)
{
	const struct task_body *t = arg;
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	(void)!write(fd, "0", 1);
	if (fd >= 0)
		close(fd);
	job_group_enter(t->group);
	umask(022);
	return 0;
}

static int enter_places(const struct task_common *c)
{
	return c->is_private ? job_private_join(c->mounts, c->ipc) : 0;
}

/* Writes the reason to the task's output, and ends as a shell would. */
static void __attribute__((noreturn)) fail(int out, const char *what, int r)
{
	char text[160];
	int n = snprintf(text, sizeof(text), "%s: %s\n", what, strerror(-r));
	(void)!write(out, text, n < (int)sizeof(text) ? (size_t)n : sizeof(text) - 1);
	_exit(NOT_STARTED);
}

struct words {
	const char **argv, **env;
};

static void __attribute__((noreturn))
work(const struct task_body *t, const struct words *w, int out, pid_t keeper)
{
	const struct task_common *c = t->common;
	char below[AGENT_PATH_MAX + 400];
	snprintf(below, sizeof(below), "%s%s%s", c->own ? "." : c->data, t->task.dir[0] ? "/" : "",
		 t->task.dir);
	const struct phx_launch l = {
		.argv = w->argv,
		.env = w->env,
		.dir = c->own ? c->data : NULL,
		.user_dir = below,
		.as = &c->as,
		.out = out,
		.errout = out,
		.group = PHX_GROUP_SESSION,
		.death_signal = SIGKILL,
		.prepare = enter_group,
		.arg = t,
	};
	const char *what = "places of its own";
	int r = enter_places(c);
	fail(out, what, r ? r : phx_process_become(&l, keeper, &what));
}

static void __attribute__((noreturn)) look(const struct task_body *t, int out, pid_t keeper)
{
	const struct task_common *c = t->common;
	struct task_outputs said = {0};
	setsid();
	enter_group(t);
	int r = enter_places(c);
	/* closes the descriptors of other tasks */
	if (dup2(out, 3) < 0 || close_range(4, ~0U, 0) < 0)
		_exit(NOT_STARTED);
	out = 3;
	if (r == 0 && c->own)
		r = chdir(c->data) < 0 ? -errno : 0;
	r = r ? r : phx_process_take_rights(&c->as);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != keeper)
		_exit(NOT_STARTED);
	int dir = r ? r : open(c->own ? "." : c->data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0) {
		said.failed = r ? r : -errno;
		snprintf(said.text, sizeof(said.text), "the data directory: %s",
			 strerror(-said.failed));
	} else {
		task_run_look(dir, &t->task.outputs, &said);
	}
	(void)!write(out, &said, sizeof(said));
	_exit(0);
}

/* ---- outputs ---- */

static int digest_file(int fd, char ret_hex[PHX_SHA256_HEX], uint64_t *ret_size)
{
	struct phx_sha256 *d = NULL;
	PHX_AUTO_FREE char *block = malloc(BLOCK);
	uint64_t size = 0;
	int r = block ? phx_sha256_new(&d) : -ENOMEM;
	for (ssize_t n; r == 0 && (n = read(fd, block, BLOCK)) != 0;) {
		if (n < 0 && errno == EINTR)
			continue;
		r = n < 0 ? -errno : phx_sha256_add(d, block, (size_t)n);
		size += n > 0 ? (uint64_t)n : 0;
	}
	if (r == 0)
		phx_sha256_hex(d, ret_hex);
	phx_sha256_free(d);
	*ret_size = size;
	return r;
}

static int add_output(struct phx_sha256 *all, int dir, const char *path, struct task_outputs *ret)
{
	struct phx_err err = {0};
	char hex[PHX_SHA256_HEX], size_text[24];
	uint64_t size = 0;
	PHX_AUTO_CLOSE int fd = phx_beneath_open(dir, path, UINT64_MAX, &size, &err);
	int r = fd < 0 ? fd : digest_file(fd, hex, &size);
	if (r < 0) {
		snprintf(ret->text, sizeof(ret->text), "%s", err.text[0] ? err.text : strerror(-r));
		return r;
	}
	snprintf(size_text, sizeof(size_text), "%" PRIu64, size);
	r = phx_sha256_add(all, path, strlen(path) + 1);
	r = r ? r : phx_sha256_add(all, size_text, strlen(size_text) + 1);
	r = r ? r : phx_sha256_add(all, hex, strlen(hex) + 1);
	ret->n++;
	ret->bytes += size;
	return r;
}

void task_run_look(int dir, const struct phx_list *paths, struct task_outputs *ret)
{
	struct phx_sha256 *all = NULL;
	*ret = (struct task_outputs){0};
	int r = phx_sha256_new(&all);
	for (uint32_t i = 0; r == 0 && i < paths->n; i++)
		r = add_output(all, dir, phx_text_at(paths, i), ret);
	if (r == 0)
		phx_sha256_hex(all, ret->sha256);
	phx_sha256_free(all);
	ret->failed = r;
}

/* ---- starting ---- */

static bool is_set(const struct phx_list *env, const char *word)
{
	size_t n = strcspn(word, "=") + 1;
	for (uint32_t i = 0; i < env->n; i++)
		if (!strncmp(phx_text_at(env, i), word, n))
			return true;
	return false;
}

static void nodes_name(const struct task_body *t, char ret[80])
{
	snprintf(ret, 80, TASK_NODES_PREFIX "%" PRIu64 ".%u.%u.nodes", t->task.run, t->task.task,
		 t->task.attempt);
}

/* The file with the nodes of a task of several, one name a line, as a job has it. */
static int write_nodes(const struct task_site *site, const struct task_body *t)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf lines = {0};
	struct phx_nodeset set = {0};
	char name[80];
	nodes_name(t, name);
	int r = phx_nodeset_parse(t->task.nodes, NULL, NULL, &set, NULL);
	for (uint32_t i = 0; r == 0 && i < set.n; i++)
		phx_buf_addf(&lines, "%s\n", set.names[i]);
	phx_nodeset_fini(&set);
	if (r < 0 || lines.failed)
		return r < 0 ? r : -ENOMEM;
	PHX_AUTO_CLOSE int fd = openat(site->nodes_dir, name,
				       O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	return fd < 0 ? -errno : phx_write_all(fd, lines.data, lines.n);
}

/* What a job of several nodes is told of them. */
static void put_nodes(const struct task_site *site, const struct task_body *t, struct phx_buf *b)
{
	static const char *const files[] = {JOB_ENV_NODEFILES};
	char name[80];
	nodes_name(t, name);
	phx_buf_addf(b, "PHX_JOB_NODES=%s", t->task.nodes);
	phx_buf_add(b, "", 1);
	phx_buf_addf(b, "PHX_JOB_RANK=%u", t->task.rank);
	phx_buf_add(b, "", 1);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(files); i++) {
		phx_buf_addf(b, "%s=%s/%s", files[i], site->nodes_path, name);
		phx_buf_add(b, "", 1);
	}
}

/* The environment of a task, as one text with NULs. Variables that its workflow sets replace
 * ours. */
static void put_env(const struct task_body *t, struct phx_buf *b)
{
	const struct task_common *c = t->common;
	char words[8][AGENT_PATH_MAX + 160];
	snprintf(words[0], sizeof(words[0]), "PATH=/usr/local/bin:/usr/bin:/bin");
	snprintf(words[1], sizeof(words[1]), "HOME=%s", c->data);
	snprintf(words[2], sizeof(words[2]), "USER=%s", c->user);
	snprintf(words[3], sizeof(words[3]), "LOGNAME=%s", c->user);
	snprintf(words[4], sizeof(words[4]), "PHX_TASK_RUN=%" PRIu64, t->task.run);
	snprintf(words[5], sizeof(words[5]), "PHX_TASK=%u", t->task.task);
	snprintf(words[6], sizeof(words[6]), "PHX_TASK_ATTEMPT=%u", t->task.attempt);
	snprintf(words[7], sizeof(words[7]), "PHX_TASK_CORES=%u",
		 t->task.cores ? t->task.cores : c->cores);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(words); i++)
		if (!is_set(&t->task.env, words[i]))
			phx_buf_add(b, words[i], strlen(words[i]) + 1);
	for (uint32_t i = 0; i < t->task.env.n; i++)
		phx_buf_add(b, phx_text_at(&t->task.env, i),
			    strlen(phx_text_at(&t->task.env, i)) + 1);
}

static const char **list_of(const struct phx_buf *b)
{
	uint32_t n = 0;
	for (size_t i = 0; i < b->n; i++)
		n += !b->data[i];
	const char **list = b->failed ? NULL : calloc(n + 1, sizeof(*list));
	const char *at = b->data;
	for (uint32_t i = 0; list && i < n; i++, at += strlen(at) + 1)
		list[i] = at;
	return list;
}

/* Makes the control group of a task. Without a group, or a memory limit, the task runs all the
 * same. */
static void make_group(const struct task_site *site, struct task_body *t)
{
	char path[JOB_GROUP_MAX + 16];
	t->group[0] = '\0';
	if (!site->group[0])
		return;
	snprintf(t->group, sizeof(t->group), "%s/%" PRIu64 ".%u.%u", site->group, t->task.run,
		 t->task.task, t->task.attempt);
	if (mkdir(t->group, 0755) < 0 && errno != EEXIST)
		t->group[0] = '\0';
	if (!t->group[0] || !t->task.memory_bytes)
		return;
	snprintf(path, sizeof(path), "%s/memory.max", t->group);
	PHX_AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		dprintf(fd, "%" PRIu64, t->task.memory_bytes);
}

static int not_started(struct task_body *t, int r)
{
	snprintf(t->result.text, sizeof(t->result.text), "%s", strerror(-r));
	return r;
}

static int fork_task(const struct task_site *site, struct task_body *t, const struct words *w)
{
	int ends[2];
	pid_t keeper = getpid();
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	make_group(site, t);
	/* not phx_process_start(): a task enters its group and its places first, and says on the
	 * pipe what keeps it from beginning; and who looks at its outputs is no program */
	pid_t pid = fork();
	if (pid == 0) {
		fcntl(ends[1], F_SETFL, 0);
		if (t->stage == TASK_WORKS)
			work(t, w, ends[1], keeper);
		look(t, ends[1], keeper);
	}
	int r = pid < 0 ? -errno : 0;
	close(ends[1]);
	if (r < 0) {
		close(ends[0]);
		return r;
	}
	t->pid = pid;
	t->from = ends[0];
	return 0;
}

int task_run_start(const struct task_site *site, struct task_body *t)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf env = {0};
	PHX_AUTO_FREE const char **argv = calloc(t->task.argv.n + 1, sizeof(*argv));
	if (t->task.nodes && t->stage == TASK_WORKS) {
		int why = write_nodes(site, t);
		if (why < 0)
			return not_started(t, why);
		put_nodes(site, t, &env);
	}
	put_env(t, &env);
	if (t->task.sums && t->stage == TASK_WORKS && phx_sha256_new(&t->sum) < 0)
		return not_started(t, -ENOMEM);
	PHX_AUTO_FREE const char **env_list = list_of(&env);
	if (!argv || !env_list)
		return not_started(t, -ENOMEM);
	for (uint32_t i = 0; i < t->task.argv.n; i++)
		argv[i] = phx_text_at(&t->task.argv, i);
	t->n_said = 0;
	t->outputs = (struct task_outputs){.failed = -EIO, .text = "they could not be looked at"};
	int r = fork_task(site, t, &(struct words){argv, env_list});
	return r < 0 ? not_started(t, r) : 0;
}

/* ---- what comes from it ---- */

void task_run_name(const struct task_key *key, char ret[80])
{
	snprintf(ret, 80, "%" PRIu64 ".%u.%u.out", key->run, key->task, key->attempt);
}

static void keep_tail(struct task_body *t, const char *data, size_t n)
{
	size_t room = sizeof(t->tail) - 1, old = t->n_tail;
	if (n >= room) {
		memcpy(t->tail, data + n - room, room);
		t->n_tail = (uint32_t)room;
		return;
	}
	size_t drop = old + n > room ? old + n - room : 0;
	memmove(t->tail, t->tail + drop, old - drop);
	memcpy(t->tail + old - drop, data, n);
	t->n_tail = (uint32_t)(old - drop + n);
}

static void keep_printed(const struct task_site *site, struct task_body *t, const char *data,
			 size_t n)
{
	char name[80];
	uint64_t had = t->result.printed_bytes, max = t->common->print_max;
	struct task_key key = TASK_KEY(&t->task);
	task_run_name(&key, name);
	if (t->out < 0)
		t->out = openat(site->out_dir, name,
				O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	size_t kept = had >= max ? 0 : had + n > max ? (size_t)(max - had) : n;
	if (t->out >= 0 && kept)
		(void)!phx_write_all(t->out, data, kept);
	t->result.printed_bytes = had + n;
	if (t->sum)
		phx_sha256_add(t->sum, data, n);
	keep_tail(t, data, n);
}

static void keep_said(struct task_body *t, const char *data, size_t n)
{
	size_t room = sizeof(t->outputs) - t->n_said;
	memcpy((char *)&t->outputs + t->n_said, data, n < room ? n : room);
	t->n_said += (uint32_t)(n < room ? n : room);
}

bool task_run_read(const struct task_site *site, struct task_body *t)
{
	char block[16384];
	ssize_t n;
	/* a task that prints without end must not keep the others waiting */
	for (int i = 0; i < 4 && (n = read(t->from, block, sizeof(block))) != 0; i++) {
		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		if (t->stage == TASK_WORKS)
			keep_printed(site, t, block, (size_t)n);
		else
			keep_said(t, block, (size_t)n);
	}
	return n != 0;
}

void task_run_signal(const struct task_body *t, int sig)
{
	if (t->pid <= 0)
		return;
	if (sig == SIGKILL)
		job_group_kill(t->group);
	else
		job_group_signal(t->group, sig);
	/* before its setsid() the task is in no process group of its own */
	if (kill(-t->pid, sig) < 0)
		kill(t->pid, sig);
}

/* ---- its end ---- */

static uint64_t ms_of(const struct timeval *tv)
{
	return (uint64_t)tv->tv_sec * 1000 + (uint64_t)tv->tv_usec / 1000;
}

static void drop_nodes(const struct task_site *site, const struct task_body *t)
{
	char name[80];
	nodes_name(t, name);
	unlinkat(site->nodes_dir, name, 0);
}

void task_run_over(const struct task_site *site, struct task_body *t, const struct rusage *used)
{
	struct phx_task_result *w = &t->result;
	job_group_kill(t->group);
	kill(-t->pid, SIGKILL);
	/* reads what is in the pipe; other processes may hold it open, but say nothing more */
	for (int i = 0; i < 4 && t->from >= 0 && task_run_read(site, t); i++)
		;
	phx_close_fd(&t->out);
	if (t->sum)
		phx_sha256_hex(t->sum, w->printed_sha256);
	phx_sha256_free(PHX_TAKE(t->sum));
	if (t->stage == TASK_WORKS) {
		if (t->task.nodes)
			drop_nodes(site, t);
		w->cpu_ms = ms_of(&used->ru_utime) + ms_of(&used->ru_stime);
		w->memory_peak_bytes = (uint64_t)used->ru_maxrss * 1024;
		job_group_usage(t->group, &w->cpu_ms, &w->memory_peak_bytes);
	}
	if (t->group[0])
		rmdir(t->group);
	t->pid = 0;
	if (t->stage != TASK_WORKS && t->n_said != sizeof(t->outputs))
		t->outputs = (struct task_outputs){.failed = -EIO,
						   .text = "they could not be looked at"};
	t->outputs.text[sizeof(t->outputs.text) - 1] = '\0';
	t->outputs.sha256[sizeof(t->outputs.sha256) - 1] = '\0';
}
