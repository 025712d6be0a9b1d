/* What the launcher answers a head that somebody else has taken over
 * (cmd/phxd/launcher_answer.c): it may ask these questions and no others, with arguments that
 * are checked before anything is done. What is done is a fake that says so; sockets, files and
 * the head's process are real. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/tree.h"
#include "apart/internal.h"
/* parts of a program, not of the library */
#include "phxd/launcher_answer.c"
#include "phxd/launcher_networks.c"

static struct phx_config cfg;
static struct launcher l;
static struct phx_apart_reply reply;
static struct phx_err err;
static char dir[64];
static struct phx_buf fake_done; /* what was done */

enum { OURS = 500, THEIRS = 1000 };

/* what of the daemon it calls */

static uid_t fake_owner; /* of the directory that is opened */
static int fake_refusal; /* of who owns it */

struct phx_vault_config keys_config(const struct phx_config *of)
{
	(void)of;
	return (struct phx_vault_config){0};
}
struct phx_hands_config hands_config(const struct phx_config *of)
{
	(void)of;
	return (struct phx_hands_config){0};
}
struct phx_consoles_config consoles_config(const struct phx_config *of)
{
	(void)of;
	return (struct phx_consoles_config){0};
}
struct phx_http_server_config launch_listeners(const struct phx_config *of)
{
	return (struct phx_http_server_config){.unix_path = of->socket, .unix_gid = getegid()};
}
void begin_sweep(const struct phx_config *of)
{
	(void)of;
	phx_buf_addf(&fake_done, "sweep ");
}
void catalog_sweep(const struct phx_config *of)
{
	(void)of;
}
bool clock_is_kept(void)
{
	return true;
}
int runner_spawn(const struct phx_config *of, int *ret_fd, struct phx_err *e)
{
	(void)of, (void)ret_fd;
	return phx_err_set(e, -ENOENT, "no engine_user");
}
int outlet_spawn(const struct phx_config *of, enum outlet_process which, int *ret_fd,
		 struct phx_err *e)
{
	(void)of, (void)ret_fd;
	return phx_err_set(e, -ENOENT, "no event_user for %d", (int)which);
}
int planner_spawn(struct phx_process *ret, int *ret_fd, struct phx_err *e)
{
	(void)ret, (void)ret_fd;
	return phx_err_set(e, -ENOENT, "no planner here");
}
void head_user_find(const struct phx_config *of, uid_t *ret_uid, gid_t *ret_gid)
{
	(void)of;
	*ret_uid = OURS;
	*ret_gid = OURS;
}
int head_user_refuse(const struct phx_config *of, uid_t uid, struct phx_err *e)
{
	(void)of, (void)uid;
	return fake_refusal ? phx_err_set(e, fake_refusal, "that is a user of ours") : 0;
}
static int spawned(const char *what, uid_t uid, gid_t gid, int *ret_fd)
{
	phx_buf_addf(&fake_done, "%s(%u,%u) ", what, (unsigned)uid, (unsigned)gid);
	*ret_fd = dup(STDERR_FILENO);
	return 0;
}
int helper_spawn(int at, uid_t uid, gid_t gid, int *ret_fd, struct phx_err *e)
{
	(void)at, (void)e;
	return spawned("helper", uid, gid, ret_fd);
}
int watcher_spawn(int at, uid_t uid, gid_t gid, int *ret_fd, struct phx_err *e)
{
	(void)at, (void)e;
	return spawned("watcher", uid, gid, ret_fd);
}
bool re_place_look(const struct phx_config *of, const char *re, bool *ret_marked,
		   struct re_marker *ret)
{
	(void)of, (void)ret;
	*ret_marked = false;
	phx_buf_addf(&fake_done, "look(%s) ", re);
	return true;
}
void re_owners_look(const struct phx_config *of, const char *re, struct re_owners *ret)
{
	(void)of;
	phx_buf_addf(&fake_done, "owners(%s) ", re);
	ret->n_lost = 2;
}
void re_place_list(const struct phx_config *of, struct phx_list *ret)
{
	(void)of;
	for (int i = 0; i < 2; i++)
		((struct re_marker *)phx_list_push(ret, sizeof(struct re_marker)))->created_ms = i;
}
int re_place_make(const struct phx_config *of, const struct re_marker *m, const char *login,
		  struct phx_err *e)
{
	(void)of, (void)e;
	phx_buf_addf(&fake_done, "make(%s,%s,%s) ", m->name, m->site, login);
	return 0;
}
int re_place_remove(const struct phx_config *of, const char *re, struct phx_err *e)
{
	(void)of, (void)e;
	phx_buf_addf(&fake_done, "remove(%s) ", re);
	return 0;
}
int re_place_set_aside(const struct phx_config *of, const struct re_marker *m, char **ret_to,
		       struct phx_err *e)
{
	(void)of, (void)e;
	phx_buf_addf(&fake_done, "aside(%s) ", m->name);
	*ret_to = strdup("/lost+found/x");
	return 0;
}
int re_place_open(const struct phx_config *of, const struct re_place_whose *w, struct stat *ret,
		  struct phx_err *e)
{
	(void)of, (void)e;
	phx_buf_addf(&fake_done, "open(%s,%s) ", w->re, w->user);
	*ret = (struct stat){.st_uid = fake_owner, .st_gid = fake_owner + 1};
	return open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}
void re_place_users(const struct phx_config *of, const char *re, struct phx_list *ret)
{
	(void)of, (void)ret;
	phx_buf_addf(&fake_done, "users(%s) ", re);
}

static unsigned n_open;

static unsigned count_open(void)
{
	DIR *at = opendir("/proc/self/fd");
	unsigned n = 0;
	while (readdir(at))
		n++;
	closedir(at);
	return n;
}

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/phx-launcher.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	cfg = (struct phx_config){0};
	snprintf(cfg.socket, sizeof(cfg.socket), "%s/socket", dir);
	snprintf(cfg.run_dir, sizeof(cfg.run_dir), "%s/run", dir);
	l = (struct launcher){.cfg = &cfg,
			      .head.pidfd = -1,
			      .vault.pidfd = -1,
			      .hands.pidfd = -1,
			      .server = {.body_max = LAUNCH_BODY_MAX,
					 .threads = 2,
					 .answer = launcher_answer,
					 .arg = &l}};
	pthread_mutex_init(&l.lock, NULL);
	fake_owner = THEIRS;
	fake_refusal = 0;
	n_open = count_open();
	return 0;
}

/* No descriptor stays behind, whatever was asked. */
static int teardown(void **state)
{
	(void)state;
	phx_apart_reply_fini(&reply);
	phx_buf_fini(&fake_done);
	fake_done = (struct phx_buf){0};
	for (size_t i = 0; i < PHX_HTTP_LISTENERS; i++)
		if (l.listening[i])
			close(l.listening[i]);
	phx_list_fini(&cfg.anchor_file);
	pthread_mutex_destroy(&l.lock);
	int r = phx_dir_remove(dir, NULL);
	return count_open() == n_open ? r : -1;
}

static int ask(uint32_t op, uint64_t number, const void *body, size_t n)
{
	PHX_AUTO_FREE char *copy = calloc(1, n + 1); /* as it arrives */
	if (n)
		memcpy(copy, body, n);
	const struct phx_apart_question q = {
		.op = op, .number = number, .body = copy, .n = (uint32_t)n};
	phx_err_clear(&err);
	phx_apart_reply_fini(&reply);
	reply = (struct phx_apart_reply){0};
	return launcher_answer(&l, &q, &reply, &err);
}

static int ask_text(uint32_t op, uint64_t number, const char *text)
{
	return ask(op, number, text, strlen(text));
}

static void assert_done(const char *want)
{
	assert_string_equal(fake_done.n ? fake_done.data : "", want);
}

/* ---- any question ---- */

static void what_is_no_question_is_not_answered(void **state)
{
	(void)state;
	assert_int_equal(ask(N_LAUNCH_OPS, 0, NULL, 0), -ENOSYS);
	assert_int_equal(ask(UINT32_MAX, 0, NULL, 0), -ENOSYS);
	assert_int_equal(ask(LAUNCH_clock, 0, NULL, 0), 0);
	assert_int_equal(reply.number, 1);
}

static void each_kind_of_outlet_has_its_process(void **state)
{
	(void)state;
	assert_int_equal(ask(LAUNCH_programs, 0, NULL, 0), -ENOENT);
	assert_string_equal(err.text, "no event_user for 0");
	assert_int_equal(ask(LAUNCH_webhooks, 0, NULL, 0), -ENOENT);
	assert_string_equal(err.text, "no event_user for 1");
}

static void a_number_that_is_none_of_the_table_is_refused(void **state)
{
	(void)state;
	assert_int_equal(ask(LAUNCH_listen, PHX_HTTP_LISTENERS, NULL, 0), -EINVAL);
	assert_int_equal(ask(LAUNCH_listen, UINT64_MAX, NULL, 0), -EINVAL);
	assert_int_equal(ask(LAUNCH_say, LAUNCH_ALIVE + 1, NULL, 0), -EINVAL);
	assert_int_equal(ask(LAUNCH_say, UINT64_MAX, NULL, 0), -EINVAL);
	assert_int_equal(ask(LAUNCH_boot_log, LAUNCH_LOGS, NULL, 0), -EINVAL);
	assert_int_equal(ask(LAUNCH_boot_log, UINT64_MAX, NULL, 0), -EINVAL);
	assert_int_equal(ask(LAUNCH_boot_log, LAUNCH_LOG_TFTP, NULL, 0), -ENOENT);
	assert_false(l.ready);
}

/* A head that is started again gets the socket that is there, at which clients wait. */
static void each_head_gets_the_same_socket(void **state)
{
	struct stat first, second, file;
	(void)state;
	assert_int_equal(ask(LAUNCH_listen, PHX_HTTP_UNIX, NULL, 0), 0);
	assert_int_equal(fstat(reply.fd, &first), 0);
	assert_true(reply.fd > STDERR_FILENO);
	assert_int_equal(ask(LAUNCH_listen, PHX_HTTP_UNIX, NULL, 0), 0);
	assert_int_equal(fstat(reply.fd, &second), 0);
	assert_int_equal(first.st_ino, second.st_ino);
	assert_int_equal(stat(cfg.socket, &file), 0);
	assert_int_equal(file.st_mode & 0777, 0666);
}

static void files_are_swept_only_before_the_head_serves(void **state)
{
	(void)state;
	assert_int_equal(ask(LAUNCH_sweep, 0, NULL, 0), 0);
	assert_done("sweep ");
	assert_int_equal(ask(LAUNCH_say, LAUNCH_RELOADING, NULL, 0), 0);
	assert_false(l.ready);
	assert_int_equal(ask(LAUNCH_say, LAUNCH_READY, NULL, 0), 0);
	assert_int_equal(ask(LAUNCH_sweep, 0, NULL, 0), -EPERM);
	assert_int_equal(ask(LAUNCH_say, LAUNCH_STOPPING, NULL, 0), 0);
	assert_int_equal(ask(LAUNCH_sweep, 0, NULL, 0), -EPERM);
	assert_done("sweep ");
}

static void nobody_asks_pam_where_that_is_off(void **state)
{
	(void)state;
	assert_int_equal(ask(LAUNCH_door, 0, NULL, 0), -EPERM);
	assert_int_equal(reply.fd, 0);
}

/* Whatever the head asks for: each is a process of root. */
static void so_many_ask_pam_and_no_more(void **state)
{
	int pipes[2];
	(void)state;
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	cfg.portal_pam = true;
	/* none has ended, nor hangs for long */
	for (int i = 0; i < LAUNCH_DOORS_MAX; i++) {
		l.doors[i] = (struct phx_process){.pid = getpid(), .pidfd = pipes[0]};
		l.doors_ms[i] = phx_clock_ms();
	}
	assert_int_equal(ask(LAUNCH_door, 0, NULL, 0), -EBUSY);
	memset(l.doors, 0, sizeof(l.doors));
	close(pipes[0]);
	close(pipes[1]);
}

/* ---- anchors ---- */

static void add_file(const char *name)
{
	struct phx_word *w = phx_list_push(&cfg.anchor_file, sizeof(*w));
	snprintf(w->text, sizeof(w->text), "%s/%s", dir, name);
}

static char *content_of(const char *name)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s", dir, name);
	char *text = NULL;
	return phx_file_read(path, 4096, &text, NULL, NULL) == 0 ? text : NULL;
}

#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define SIGNATURE HASH HASH
#define LINE \
	"phoenix anchor journal 0123456789abcdef0123456789abcdef event 7 hash " HASH \
	" time 1 snapshot - signature " SIGNATURE

static void an_anchor_goes_into_the_file_of_its_number(void **state)
{
	(void)state;
	add_file("a");
	add_file("b");
	assert_int_equal(ask_text(LAUNCH_anchor, 1, LINE), 0);
	PHX_AUTO_FREE char *a = content_of("a"), *b = content_of("b");
	assert_null(a);
	assert_string_equal(b, LINE "\n");
}

/* Whoever has the head could write what he likes into a file of root otherwise. */
static void what_is_no_anchor_goes_into_no_file(void **state)
{
	static const char *const lines[] = {
		"",
		"root::0:0::/:/bin/sh",
		LINE "\nroot::0:0::/:/bin/sh",
		"\n" LINE,
		LINE " and more",
		"phoenix anchor journal 0123456789abcdef0123456789abcdef event 7 hash " HASH
		" time 1 snapshot - signature", /* cut off */
		"phoenix anchor journal 0123456789abcdef0123456789abcdef event 7",
		"phoenix anchor journal ../../etc event 7 hash " HASH
		" time 1 snapshot - signature " SIGNATURE};
	char much[PHX_ANCHOR_LINE_MAX + 200];
	(void)state;
	add_file("a");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(lines); i++) {
		if (ask_text(LAUNCH_anchor, 0, lines[i]) != -EINVAL)
			fail_msg("it is taken: %s", lines[i]);
		assert_null(content_of("a"));
	}
	memset(much, 'a', sizeof(much));
	assert_int_equal(ask(LAUNCH_anchor, 0, much, sizeof(much)), -EINVAL);
	assert_int_equal(ask_text(LAUNCH_anchor, 1, LINE), -EINVAL);
	assert_int_equal(ask_text(LAUNCH_anchor, UINT64_MAX, LINE), -EINVAL);
	assert_null(content_of("a"));
}

/* ---- data of REs ---- */

static void a_name_that_leads_elsewhere_is_none(void **state)
{
	static const char *const names[] = {"",     ".",   "..", "../x", "a/b",
					    "/etc", "a b", "-x", ".x",   "a..b"};
	static const uint32_t asked[] = {LAUNCH_re_look, LAUNCH_re_remove, LAUNCH_re_users};
	char many[PHX_NAME_MAX + 1];
	(void)state;
	memset(many, 'a', sizeof(many));
	for (size_t k = 0; k < PHX_ARRAY_SIZE(asked); k++) {
		for (size_t i = 0; i < PHX_ARRAY_SIZE(names); i++)
			assert_int_equal(ask_text(asked[k], 0, names[i]), -EINVAL);
		assert_int_equal(ask(asked[k], 0, many, sizeof(many)), -EINVAL);
		assert_int_equal(ask(asked[k], 0, many, PHX_NAME_MAX), -EINVAL);
	}
	assert_done("");
	assert_int_equal(ask_text(LAUNCH_re_look, 0, "hpc"), 0);
	assert_int_equal(reply.body.n, sizeof(struct launch_re));
	assert_int_equal(ask_text(LAUNCH_re_remove, 0, "hpc"), 0);
	assert_done("look(hpc) owners(hpc) remove(hpc) ");
}

static struct launch_re_make wish(const char *name, const char *site, const char *login)
{
	struct launch_re_make m = {0};
	PHX_STR_SET(m.marker.name, name);
	PHX_STR_SET(m.marker.site, site);
	PHX_STR_SET(m.login, login);
	return m;
}

static void a_marker_that_is_none_makes_nothing(void **state)
{
	struct launch_re_make bad[] = {wish("../x", "s", ""), wish("", "s", ""),
				       wish("hpc", "a b", ""), wish("hpc", "a\nb", "")};
	struct launch_re_make m = wish("hpc", "site", "alice"), open_end = m;
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		assert_int_equal(ask(LAUNCH_re_make, 0, &bad[i], sizeof(m)), -EINVAL);
		assert_int_equal(
			ask(LAUNCH_re_set_aside, 0, &bad[i].marker, sizeof(struct re_marker)),
			-EINVAL);
	}
	/* of another size, or without an end of a text */
	assert_int_equal(ask(LAUNCH_re_make, 0, &m, sizeof(m) - 1), -EPROTO);
	assert_int_equal(ask(LAUNCH_re_make, 0, NULL, 0), -EPROTO);
	assert_int_equal(ask(LAUNCH_re_set_aside, 0, &m, sizeof(m)), -EPROTO);
	memset(open_end.marker.name, 'a', sizeof(open_end.marker.name));
	assert_int_equal(ask(LAUNCH_re_make, 0, &open_end, sizeof(m)), -EINVAL);
	open_end = m;
	memset(open_end.marker.site, 'a', sizeof(open_end.marker.site));
	assert_int_equal(ask(LAUNCH_re_make, 0, &open_end, sizeof(m)), -EINVAL);
	open_end = m;
	memset(open_end.login, 'a', sizeof(open_end.login));
	assert_int_equal(ask(LAUNCH_re_make, 0, &open_end, sizeof(m)), -EPROTO);
	assert_done("");
	assert_int_equal(ask(LAUNCH_re_make, 0, &m, sizeof(m)), 0);
	assert_int_equal(ask(LAUNCH_re_set_aside, 0, &m.marker, sizeof(m.marker)), 0);
	assert_done("make(hpc,site,alice) aside(hpc) ");
	assert_memory_equal(reply.body.data, "/lost+found/x", reply.body.n);
}

static int ask_open(uint32_t op, const char *user)
{
	struct re_place_whose w = {.re = "hpc"};
	PHX_STR_SET(w.user, user);
	return ask(op, 0, &w, sizeof(w));
}

/* The head works in a directory of somebody else only through a process that is he. */
static void a_directory_is_given_to_its_owner_alone(void **state)
{
	struct launch_re_opened opened;
	struct stat st;
	(void)state;
	assert_int_equal(ask_open(LAUNCH_re_open, "alice"), 0);
	assert_done("open(hpc,alice) helper(1000,1001) ");
	memcpy(&opened, reply.body.data, sizeof(opened));
	assert_true(opened.helper);
	assert_int_equal(opened.uid, THEIRS);
	assert_int_equal(fstat(reply.fd, &st), 0);
	assert_false(S_ISDIR(st.st_mode));
	fake_owner = OURS;
	fake_done.n = 0;
	assert_int_equal(ask_open(LAUNCH_re_open, ""), 0);
	assert_done("open(hpc,) ");
	memcpy(&opened, reply.body.data, sizeof(opened));
	assert_false(opened.helper);
	assert_int_equal(fstat(reply.fd, &st), 0);
	assert_true(S_ISDIR(st.st_mode));
}

static void nobody_helps_as_a_user_of_our_own_processes(void **state)
{
	(void)state;
	fake_refusal = -EPERM;
	assert_int_equal(ask_open(LAUNCH_re_open, "vault"), -EPERM);
	assert_int_equal(ask_open(LAUNCH_re_watch, "vault"), -EPERM);
	assert_done("open(hpc,vault) open(hpc,vault) ");
	assert_int_equal(reply.fd, 0);
}

/* Also the head's own directories are watched by somebody who sees nothing else. */
static void a_directory_is_watched_by_its_owner(void **state)
{
	(void)state;
	assert_int_equal(ask_open(LAUNCH_re_watch, "alice"), 0);
	fake_owner = OURS;
	assert_int_equal(ask_open(LAUNCH_re_watch, ""), 0);
	assert_done("open(hpc,alice) watcher(1000,1001) open(hpc,) watcher(500,501) ");
}

static void what_is_no_place_is_not_opened(void **state)
{
	struct re_place_whose w = {.re = "hpc"};
	static const uint32_t asked[] = {LAUNCH_re_open, LAUNCH_re_watch};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(asked); i++) {
		struct re_place_whose open_end = w;
		assert_int_equal(ask(asked[i], 0, &w, sizeof(w) - 1), -EPROTO);
		assert_int_equal(ask(asked[i], 0, NULL, 0), -EPROTO);
		memset(open_end.re, 'a', sizeof(open_end.re));
		assert_int_equal(ask(asked[i], 0, &open_end, sizeof(w)), -EPROTO);
		open_end = w;
		memset(open_end.user, 'a', sizeof(open_end.user));
		assert_int_equal(ask(asked[i], 0, &open_end, sizeof(w)), -EPROTO);
	}
	assert_done("");
}

static void lists_are_of_whole_records(void **state)
{
	struct re_marker m;
	(void)state;
	assert_int_equal(ask(LAUNCH_re_list, 0, NULL, 0), 0);
	assert_int_equal(reply.body.n, 2 * sizeof(m));
	memcpy(&m, reply.body.data + sizeof(m), sizeof(m));
	assert_int_equal(m.created_ms, 1);
	assert_int_equal(ask(LAUNCH_children, 0, NULL, 0), 0);
	assert_int_equal(reply.body.n, 0);
}

/* ---- what is no message ---- */

/* A head that listens, and its socket to us. */
static pid_t head(int ret[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ret), 0);
	pid_t pid = fork();
	if (pid == 0) {
		char byte;
		close(ret[1]);
		(void)!read(ret[0], &byte, 1);
		_exit(0);
	}
	l.head = (struct phx_process){.pid = pid, .pidfd = (int)syscall(SYS_pidfd_open, pid, 0)};
	assert_true(l.head.pidfd >= 0);
	return pid;
}

static void a_head_that_sends_no_question_is_killed(void **state)
{
	struct apart_message m = {.op = LAUNCH_clock, .n = LAUNCH_BODY_MAX + 1};
	int ends[2], theirs[2], status;
	(void)state;
	pid_t pid = head(theirs);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	assert_int_equal(launcher_hear(&l, ends[1], &err), 0);
	assert_int_equal(send(ends[0], &m, sizeof(m), 0), sizeof(m));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	/* and not heard any more */
	struct pollfd p = {.fd = ends[0], .events = POLLRDHUP};
	assert_int_equal(poll(&p, 1, -1), 1);
	close(ends[0]);
	close(theirs[0]);
	close(theirs[1]);
	close(l.head.pidfd);
}

/* One that ends its side is about to end: how, the launcher sees. */
static void a_head_that_hangs_up_is_left_alone(void **state)
{
	int ends[2], theirs[2], status;
	(void)state;
	pid_t pid = head(theirs);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	assert_int_equal(launcher_hear(&l, ends[1], &err), 0);
	assert_int_equal(shutdown(ends[0], SHUT_WR), 0);
	struct pollfd p = {.fd = ends[0], .events = POLLRDHUP};
	assert_int_equal(poll(&p, 1, -1), 1); /* by then it would be killed */
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	close(theirs[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	close(ends[0]);
	close(theirs[0]);
	close(l.head.pidfd);
}

/* ---- networks ---- */

struct networks {
	struct launch_names names;
	struct launch_network one;
};

static const struct networks far = {
	.names = {.domain = "example.org"},
	.one = {.name = "far", .subnet = "10.2.0.0/16", .boot = 1, .relay = 1},
};

static void give_address(void)
{
	PHX_STR_SET(cfg.address, "10.9.0.1");
	PHX_STR_SET(cfg.interface, "v0");
	PHX_STR_SET(cfg.dnsmasq, "/bin/true");
	cfg.prefix = 24;
}

static void networks_are_taken_whole(void **state)
{
	(void)state;
	give_address();
	assert_int_equal(ask(LAUNCH_networks_try, 3, &far, sizeof(far)), 0);
	assert_int_equal(l.networks.n, 0);
	assert_int_equal(ask(LAUNCH_networks, 3, &far, sizeof(far)), 0);
	assert_int_equal(l.networks.n, 1);
	assert_string_equal(PHX_LIST_AT(&l.networks, struct phx_site_network, 0)->subnet,
			    "10.2.0.0/16");
	assert_string_equal(l.names.domain, "example.org");
	assert_int_equal(ask(LAUNCH_networks, 3, &far.names, sizeof(far.names)), 0);
	assert_int_equal(l.networks.n, 0);
}

/* dnsmasq becomes root before it becomes anybody else: no line of its file is the head's. */
static void a_network_is_no_line_of_dnsmasq(void **state)
{
	static const struct {
		size_t offset;
		const char *text;
	} bad[] = {
#define AT(member) offsetof(struct networks, member)
		{AT(names.domain), "x\ndhcp-script=/tmp/x"},
		{AT(one.name), "x\nuser=root"},
		{AT(one.name), "x,y"},
		{AT(one.subnet), "10.2.0.0/16\nx"},
		{AT(one.gateway), "10.2.0.1\nx"},
		{AT(one.domain), "x\ndhcp-script=/tmp/x"},
		{AT(one.domain), "x,10.0.0.0/8"},
		{AT(one.first), "10.2.0.9\nx"},
		{AT(one.interface), "v1\nx=y"},
		{AT(one.head), "10.2.0.1\nx"},
	};
	(void)state;
	give_address();
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		struct networks n = far;
		strcpy((char *)&n + bad[i].offset, bad[i].text);
		if (ask(LAUNCH_networks, 3, &n, sizeof(n)) != -EINVAL || l.networks.n)
			fail_msg("%s is taken", bad[i].text);
	}
	struct networks n = far;
	n.one.n_dns = 1;
	strcpy(n.one.dns[0], "10.2.0.3\nx");
	assert_int_equal(ask(LAUNCH_networks, 3, &n, sizeof(n)), -EINVAL);
	PHX_STR_SET(cfg.dnsmasq, "/bin/false");
	assert_int_equal(ask(LAUNCH_networks, 3, &far, sizeof(far)), -EINVAL);
	assert_int_equal(l.networks.n, 0);
}

static void what_is_no_network_is_not_taken(void **state)
{
	struct networks n = far;
	(void)state;
	give_address();
	assert_int_equal(ask(LAUNCH_networks, 3, &n, sizeof(n) - 1), -EPROTO);
	assert_int_equal(ask(LAUNCH_networks, 3, &n, sizeof(n.names) - 1), -EPROTO);
	assert_int_equal(ask(LAUNCH_networks, 3, NULL, 0), -EPROTO);
	memset(n.one.domain, 'x', sizeof(n.one.domain));
	assert_int_equal(ask(LAUNCH_networks, 3, &n, sizeof(n)), -EPROTO);
	n = far;
	memset(n.names.domain, 'x', sizeof(n.names.domain));
	assert_int_equal(ask(LAUNCH_networks, 3, &n, sizeof(n)), -EPROTO);
	n = far;
	n.one.n_dns = 9;
	assert_int_equal(ask(LAUNCH_networks, 3, &n, sizeof(n)), -EPROTO);
	assert_int_equal(l.networks.n, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(what_is_no_question_is_not_answered),
		TEST(each_kind_of_outlet_has_its_process),
		TEST(a_number_that_is_none_of_the_table_is_refused),
		TEST(each_head_gets_the_same_socket),
		TEST(files_are_swept_only_before_the_head_serves),
		TEST(nobody_asks_pam_where_that_is_off),
		TEST(so_many_ask_pam_and_no_more),
		TEST(an_anchor_goes_into_the_file_of_its_number),
		TEST(what_is_no_anchor_goes_into_no_file),
		TEST(a_name_that_leads_elsewhere_is_none),
		TEST(a_marker_that_is_none_makes_nothing),
		TEST(a_directory_is_given_to_its_owner_alone),
		TEST(nobody_helps_as_a_user_of_our_own_processes),
		TEST(a_directory_is_watched_by_its_owner),
		TEST(what_is_no_place_is_not_opened),
		TEST(lists_are_of_whole_records),
		TEST(networks_are_taken_whole),
		TEST(a_network_is_no_line_of_dnsmasq),
		TEST(what_is_no_network_is_not_taken),
		TEST(a_head_that_sends_no_question_is_killed),
		TEST(a_head_that_hangs_up_is_left_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
