/* The launcher (cmd/phxd/launcher.c, restarts.c): in which order it prepares and gives up rights,
 * that nothing is started after a step that failed, what it passes on to the head, when a head that
 * has ended is started again, and that neither outlives the other. Processes and signals are real:
 * a child of the test is the launcher, and this program, started by it with --head, is a head that
 * does what its words say. What is prepared, and what listens to the head, are fakes that tell it
 * over standard error, which the test reads. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/tree.h"

static uid_t fake_uid;
#define geteuid() fake_uid
#define phx_confine_caps fake_confine_caps
#define phx_calls_keep fake_calls_keep
#include "phxd/launcher.c" /* parts of a program, not of the library */
#include "phxd/restarts.c"
#undef geteuid

/* ---- what it calls: each tells its name, and fails where the test wants it ---- */

static const char *fake_fails; /* the step that does; NULL: none */
static int fake_passes;        /* so often before it fails */
static uint64_t fake_kept;

static int step(const char *name, struct phx_err *err)
{
	dprintf(STDERR_FILENO, "%s\n", name);
	return fake_fails && !strcmp(fake_fails, name) && fake_passes-- == 0
		? phx_err_set(err, -EPERM, "no %s", name)
		: 0;
}

int apart_check_users(const struct phx_config *cfg, struct phx_err *err)
{
	(void)cfg;
	return step("users", err);
}
int begin_check(const struct phx_config *cfg, bool new_journal, struct phx_err *err)
{
	(void)cfg;
	return step(new_journal ? "check new" : "check", err);
}
int begin_make_dirs(const struct phx_config *cfg, struct phx_err *err)
{
	(void)cfg;
	return step("dirs", err);
}
int head_user_give(const struct phx_config *cfg, struct phx_err *err)
{
	(void)cfg;
	return step("give", err);
}
int re_place_give(const struct phx_config *cfg, struct phx_err *err)
{
	(void)cfg;
	return step("place", err);
}
int fake_confine_caps(uint64_t caps_kept, const char *what, struct phx_err *err)
{
	assert_string_equal(what, "the launcher");
	fake_kept = caps_kept;
	return step("caps", err);
}
int fake_calls_keep(uint32_t groups, const char *what, struct phx_err *err)
{
	(void)what;
	return step(groups == PHX_CALLS_launcher ? "calls" : "calls of another", err);
}
int begin_status(int r)
{
	return 40 - r;
}
int launcher_answer(void *arg, const struct phx_apart_question *q, struct phx_apart_reply *ret,
		    struct phx_err *err)
{
	(void)arg, (void)q, (void)ret, (void)err;
	return -ENOSYS;
}
void launcher_end_planner(struct launcher *l)
{
	(void)l;
}
void launcher_collect(struct phx_process *p)
{
	if (p->pid)
		dprintf(STDERR_FILENO, "collect %d\n", (int)p->pid);
}

enum { BY_ITSELF = 3, VAULT = 66, DOOR = 77 };

static struct launcher *heard_by;
static int n_heads;

/* Hears one byte: R: the head serves. L: it listens, and others have been started for it. Answers
 * with how many heads there were. */
static void *hear(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char byte;
	while (read(fd, &byte, 1) == 1) {
		pthread_mutex_lock(&heard_by->lock);
		heard_by->ready = heard_by->ready || byte == 'R';
		if (byte == 'L') {
			heard_by->listening[PHX_HTTP_UNIX] = open("/dev/null", O_RDONLY);
			heard_by->vault.pid = VAULT;
			heard_by->doors[LAUNCH_DOORS_MAX - 1].pid = DOOR;
		}
		pthread_mutex_unlock(&heard_by->lock);
		byte = (char)('0' + n_heads);
		(void)!write(fd, &byte, 1);
	}
	close(fd);
	return NULL;
}

int launcher_hear(struct launcher *l, int fd, struct phx_err *err)
{
	pthread_t thread;
	heard_by = l;
	n_heads++;
	if (step("hear", err) < 0)
		return -EPERM;
	return -pthread_create(&thread, NULL, hear, (void *)(intptr_t)fd);
}

/* ---- the head ---- */

static int say(char byte)
{
	if (write(STDIN_FILENO, &byte, 1) != 1 || read(STDIN_FILENO, &byte, 1) != 1)
		_exit(99);
	return byte - '0';
}

static void end_by(int sig)
{
	const struct rlimit none = {0};
	sigset_t all;
	sigfillset(&all);
	setrlimit(RLIMIT_CORE, &none);
	signal(sig, SIG_DFL);
	kill(getpid(), sig);
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	_exit(98);
}

static const char *env_of(const char *name)
{
	return getenv(name) ? getenv(name) : "-";
}

/* Signals that it gets are told. The first of them ends it so. */
static void wait_for_signals(int ends_it, int with)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	dprintf(STDERR_FILENO, "waits\n");
	for (int sig = 0; sigwait(&set, &sig) == 0 && sig != ends_it;)
		dprintf(STDERR_FILENO, "signal %d\n", sig);
	dprintf(STDERR_FILENO, "ends\n");
	if (with)
		end_by(with);
	_exit(BY_ITSELF);
}

/* argv: WORD NUMBER ... */
static void be_head(int argc, char **argv)
{
	const char *word = argv[2];
	int number = argc > 3 ? atoi(argv[3]) : 0;
	dprintf(STDERR_FILENO, "head\n");
	int nth = say('?'); /* until it is heard */
	if (!strcmp(word, "once") && nth > 1)
		end_by(number);
	if (!strcmp(word, "exit"))
		_exit(number);
	if (!strcmp(word, "die"))
		end_by(number);
	if (!strcmp(word, "slow"))
		wait_for_signals(SIGTERM, 0);
	if (!strcmp(word, "words")) {
		for (int i = 1; i < argc; i++)
			dprintf(STDERR_FILENO, "%s ", argv[i]);
		dprintf(STDERR_FILENO, "NOTIFY_SOCKET %s WATCHDOG_PID %s WATCHDOG_USEC %s\n",
			env_of("NOTIFY_SOCKET"), env_of("WATCHDOG_PID"), env_of("WATCHDOG_USEC"));
		_exit(0);
	}
	if (!strcmp(word, "listen")) {
		say('L');
		_exit(0);
	}
	say('R');
	if (nth > 1)
		_exit(BY_ITSELF + nth);
	if (!strcmp(word, "serve") || !strcmp(word, "once"))
		end_by(number);
	if (!strcmp(word, "stubborn")) /* until SIGTERM, and then it crashes */
		wait_for_signals(SIGTERM, SIGKILL);
	if (!strcmp(word, "reload")) /* crashes by a reload */
		wait_for_signals(SIGHUP, SIGSEGV);
	wait_for_signals(number ? number : SIGTERM, 0);
}

/* ---- the test ---- */

static struct phx_config cfg;
static char dir[64];
static int said; /* what launcher and head say */
static pid_t pid;
static int n_left; /* bytes of `text` not read yet */
static char text[4096];

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/phx-launcher.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	cfg = (struct phx_config){.dhcp_mode = PHX_DHCP_NONE, .tftp = PHX_TFTP_NONE};
	snprintf(cfg.socket, sizeof(cfg.socket), "%s/socket", dir);
	fake_fails = NULL;
	fake_passes = 0;
	fake_uid = 0;
	n_left = 0;
	pid = 0;
	said = -1;
	return 0;
}

/* A launcher that a failed test left behind ends its head, too. */
static int teardown(void **state)
{
	(void)state;
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	phx_close_fd(&said);
	return phx_dir_remove(dir, NULL);
}

struct start {
	const char *words[40];
	bool new_journal, by_hand;
	const char *notify; /* where the service manager listens; NULL: there is none */
};

static void launch(const struct start *s)
{
	int pipes[2];
	char *argv[42] = {"phxd"};
	for (size_t i = 0; s->words[i]; i++)
		argv[i + 1] = (char *)(uintptr_t)s->words[i];
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		char number[16];
		snprintf(number, sizeof(number), "%d", (int)getpid());
		dup2(pipes[1], STDERR_FILENO);
		if (s->notify) {
			setenv("NOTIFY_SOCKET", s->notify, 1);
			setenv("WATCHDOG_PID", number, 1);
			setenv("WATCHDOG_USEC", "20000", 1);
		}
		_exit(launcher_run(&cfg, argv, s->new_journal, !s->by_hand));
	}
	close(pipes[1]);
	said = pipes[0];
}

enum { PATIENCE_MS = 20000 };

/* The next line; "": they have ended, all of them. */
static const char *next_line(void)
{
	static char line[sizeof(text)];
	for (;;) {
		char *end = memchr(text, '\n', (size_t)n_left);
		if (end) {
			size_t n = (size_t)(end - text);
			memcpy(line, text, n);
			line[n] = '\0';
			n_left -= (int)n + 1;
			memmove(text, end + 1, (size_t)n_left);
			return line;
		}
		struct pollfd p = {.fd = said, .events = POLLIN};
		if (poll(&p, 1, PATIENCE_MS) <= 0)
			fail_msg("nothing more is said");
		ssize_t n = read(said, text + n_left, sizeof(text) - (size_t)n_left);
		if (n <= 0)
			return "";
		n_left += (int)n;
	}
}

/* They say this next, line by line. */
static void expect(const char *lines)
{
	PHX_AUTO_FREE char *copy = strdup(lines);
	char *save = NULL;
	for (char *want = strtok_r(copy, "|", &save); want; want = strtok_r(NULL, "|", &save))
		assert_string_equal(next_line(), want);
}

static void expect_end(int status)
{
	int is;
	assert_string_equal(next_line(), "");
	assert_int_equal(waitpid(pid, &is, 0), pid);
	pid = 0;
	assert_true(WIFEXITED(is));
	assert_int_equal(WEXITSTATUS(is), status);
	phx_close_fd(&said);
}

#define PREPARED "users|check|dirs|give|place|caps|calls|"
/* a head may speak before it is listened to */
static void expect_head(void)
{
	const char *a = next_line();
	bool heard = !strcmp(a, "hear");
	assert_string_equal(heard ? "head" : a, "head");
	assert_string_equal(next_line(), heard ? "head" : "hear");
}

/* ---- the start ---- */

static void all_is_prepared_before_the_head_starts(void **state)
{
	(void)state;
	launch(&(struct start){.words = {"slow"}});
	expect(PREPARED);
	expect_head();
	expect("waits");
	kill(pid, SIGTERM);
	expect("ends");
	expect_end(BY_ITSELF);
}

static void after_a_step_that_fails_nothing_is_done(void **state)
{
	static const char *const steps[] = {"users", "check", "dirs", "give",
					    "place", "caps",  "calls"};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(steps); i++) {
		fake_fails = steps[i];
		launch(&(struct start){.words = {"exit", "0"}});
		for (size_t k = 0; k <= i; k++)
			expect(steps[k]);
		PHX_AUTO_FREE char *why = phx_path("phxd: no %s", steps[i]);
		expect(why);
		expect_end(40 + EPERM);
	}
	/* a head that nobody hears is not left running */
	fake_fails = "hear";
	launch(&(struct start){.words = {"slow"}});
	expect(PREPARED);
	for (const char *line; *(line = next_line());)
		assert_true(!strcmp(line, "hear") || !strcmp(line, "head") ||
			    !strcmp(line, "phxd: no hear"));
	expect_end(40 + EPERM);
}

static void a_new_journal_is_asked_for_once(void **state)
{
	(void)state;
	launch(&(struct start){.words = {"serve", "11"}, .new_journal = true});
	expect("users|check new|dirs|give|place|caps|calls");
	expect_head();
	assert_non_null(strstr(next_line(), "was ended by signal 11"));
	expect("check|give|place");
	expect_head();
	expect_end(BY_ITSELF + 2);
}

/* It would tell the service manager what the launcher is to tell it. */
static void the_head_has_our_words_and_does_not_know_the_service_manager(void **state)
{
	(void)state;
	launch(&(struct start){.words = {"words", "-c", "a b"}, .notify = "/nowhere"});
	expect(PREPARED);
	expect_head();
	expect("--head words -c a b NOTIFY_SOCKET - WATCHDOG_PID - WATCHDOG_USEC 20000");
	expect_end(0);
}

/* A word that is lost may have been the one that keeps the head from serving. */
static void no_word_is_lost_however_many_there_are(void **state)
{
	struct start s = {.words = {"words"}};
	(void)state;
	for (size_t i = 1; i < 36; i += 2) {
		s.words[i] = "-c";
		s.words[i + 1] = "x";
	}
	s.words[37] = "--accept-journal";
	launch(&s);
	expect(PREPARED);
	expect_head();
	assert_non_null(strstr(next_line(), " -c x --accept-journal NOTIFY_SOCKET"));
	expect_end(0);
}

/* ---- the end ---- */

static void a_head_that_ends_by_itself_is_the_end(void **state)
{
	static const char *const codes[] = {"0", "1", "78", "127", "128"};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(codes); i++) {
		launch(&(struct start){.words = {"exit", codes[i]}});
		expect(PREPARED);
		expect_head();
		expect_end(atoi(codes[i]));
	}
	launch(&(struct start){.words = {"wait"}});
	expect(PREPARED);
	expect_head();
	expect("waits");
	kill(pid, SIGINT);
	expect("signal 2");
	kill(pid, SIGTERM);
	expect("ends");
	expect_end(BY_ITSELF);
}

static void a_head_that_served_is_started_again_after_a_crash(void **state)
{
	static const int crashes[] = {SIGKILL, SIGSEGV, SIGABRT, SIGBUS, SIGHUP};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(crashes); i++) {
		char number[8];
		snprintf(number, sizeof(number), "%d", crashes[i]);
		launch(&(struct start){.words = {"serve", number}});
		expect(PREPARED);
		expect_head();
		const char *line = next_line();
		PHX_AUTO_FREE char *want =
			phx_path("was ended by signal %d: it is started again", crashes[i]);
		if (!strstr(line, want))
			fail_msg("%s", line);
		/* what root gave up stays given up, and is not given up twice */
		expect("check|give|place");
		expect_head();
		expect_end(BY_ITSELF + 2);
	}
}

static void a_head_that_somebody_ended_stays_ended(void **state)
{
	static const char *const signals[] = {"15", "2"};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(signals); i++) {
		launch(&(struct start){.words = {"serve", signals[i]}});
		expect(PREPARED);
		expect_head();
		expect_end(EXIT_FAILURE);
	}
}

/* It would do so for ever, and the service manager can wait. */
static void a_head_that_never_served_is_not_started_again(void **state)
{
	(void)state;
	launch(&(struct start){.words = {"die", "11"}});
	expect(PREPARED);
	expect_head();
	expect_end(EXIT_FAILURE);
	/* that the one before it served says nothing of it */
	launch(&(struct start){.words = {"once", "11"}});
	expect(PREPARED);
	expect_head();
	assert_non_null(strstr(next_line(), "was ended by signal 11"));
	expect("check|give|place");
	expect_head();
	expect_end(EXIT_FAILURE);
}

/* What is done by hand once is not done twice. */
static void what_does_not_serve_is_not_started_again(void **state)
{
	(void)state;
	launch(&(struct start){.words = {"serve", "9"}, .by_hand = true});
	expect(PREPARED);
	expect_head();
	expect_end(EXIT_FAILURE);
}

static void a_crash_on_the_way_to_the_end_is_the_end(void **state)
{
	(void)state;
	launch(&(struct start){.words = {"stubborn"}});
	expect(PREPARED);
	expect_head();
	expect("waits");
	kill(pid, SIGHUP);
	expect("signal 1");
	kill(pid, SIGTERM);
	expect("ends");
	expect_end(EXIT_FAILURE);
}

static void a_crash_by_a_reload_is_none_of_the_end(void **state)
{
	(void)state;
	launch(&(struct start){.words = {"reload"}});
	expect(PREPARED);
	expect_head();
	expect("waits");
	kill(pid, SIGHUP);
	expect("ends");
	assert_non_null(strstr(next_line(), "was ended by signal 11"));
	expect("check|give|place");
	expect_head();
	expect_end(BY_ITSELF + 2);
}

/* The journal may have gone with its file system. */
static void what_is_missing_after_a_crash_is_not_made_anew(void **state)
{
	static const char *const steps[] = {"check", "give", "place"};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(steps); i++) {
		fake_fails = steps[i];
		fake_passes = 1;
		launch(&(struct start){.words = {"serve", "9"}});
		expect(PREPARED);
		expect_head();
		assert_non_null(strstr(next_line(), "was ended by signal 9"));
		for (size_t k = 0; k <= i; k++)
			expect(steps[k]);
		PHX_AUTO_FREE char *why = phx_path("phxd: no %s", steps[i]);
		expect(why);
		expect_end(40 + EPERM);
	}
}

/* It would go on with the sockets, and a second phxd beside it. */
static void a_head_does_not_outlive_the_launcher(void **state)
{
	(void)state;
	launch(&(struct start){.words = {"wait"}});
	expect(PREPARED);
	expect_head();
	expect("waits");
	kill(pid, SIGKILL);
	assert_string_equal(next_line(), "");
}

/* ---- what is left ---- */

static void all_that_was_started_is_collected_and_the_socket_goes(void **state)
{
	(void)state;
	assert_int_equal(phx_file_write(cfg.socket, "", 0, 0666, NULL), 0);
	launch(&(struct start){.words = {"exit", "0"}});
	expect(PREPARED);
	expect_head();
	expect_end(0);
	/* this launcher did not listen: the socket is another's */
	assert_int_equal(access(cfg.socket, F_OK), 0);
	launch(&(struct start){.words = {"listen"}});
	expect(PREPARED);
	expect_head();
	expect("collect 66|collect 77");
	expect_end(0);
	assert_int_equal(access(cfg.socket, F_OK), -1);
}

/* ---- the service manager ---- */

/* A long journal takes the head minutes, in which it feeds no watchdog. */
static void the_watchdog_is_fed_while_the_head_does_not_serve_yet(void **state)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	char words[64];
	(void)state;
	snprintf(at.sun_path, sizeof(at.sun_path), "%s/notify", dir);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
	launch(&(struct start){.words = {"slow"}, .notify = at.sun_path});
	for (int i = 0; i < 3; i++) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
		ssize_t n = recv(fd, words, sizeof(words) - 1, 0);
		assert_true(n > 0);
		words[n] = '\0';
		assert_string_equal(words, "WATCHDOG=1");
	}
	expect(PREPARED);
	expect_head();
	expect("waits");
	kill(pid, SIGTERM);
	expect("ends");
	expect_end(BY_ITSELF);
	close(fd);
}

/* ---- rights ---- */

#define CAP(name) (1ull << CAP_##name)

static uint64_t kept(enum phx_dhcp_mode dhcp, enum phx_tftp_mode tftp)
{
	struct phx_err err = {0};
	cfg.dhcp_mode = dhcp;
	cfg.tftp = tftp;
	fake_kept = 0;
	assert_int_equal(keep_caps(&cfg, &err), 0);
	return fake_kept;
}

static void no_more_is_kept_than_what_is_started_needs(void **state)
{
	const uint64_t always = CAP(NET_RAW) | CAP(NET_BIND_SERVICE) | CAP(SETUID) | CAP(SETGID) |
		CAP(SETPCAP) | CAP(CHOWN) | CAP(FOWNER) | CAP(DAC_OVERRIDE) | CAP(DAC_READ_SEARCH) |
		CAP(KILL);
	(void)state;
	assert_true(kept(PHX_DHCP_NONE, PHX_TFTP_NONE) == always);
	assert_true(kept(PHX_DHCP_SERVE, PHX_TFTP_NONE) == (always | CAP(NET_ADMIN)));
	assert_true(kept(PHX_DHCP_PROXY, PHX_TFTP_NONE) == (always | CAP(NET_ADMIN)));
	assert_true(kept(PHX_DHCP_NONE, PHX_TFTP_DNSMASQ) == (always | CAP(NET_ADMIN)));
	/* in.tftpd is a user from its first moment, in no directory of its own */
	assert_true(kept(PHX_DHCP_NONE, PHX_TFTP_INTFTPD) == always);
	assert_true(kept(PHX_DHCP_SERVE, PHX_TFTP_INTFTPD) == (always | CAP(NET_ADMIN)));
	/* who is not root has none to give up */
	fake_uid = 1000;
	assert_true(kept(PHX_DHCP_SERVE, PHX_TFTP_INTFTPD) == 0);
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "--head"))
		be_head(argc, argv);
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(all_is_prepared_before_the_head_starts),
		TEST(after_a_step_that_fails_nothing_is_done),
		TEST(a_new_journal_is_asked_for_once),
		TEST(the_head_has_our_words_and_does_not_know_the_service_manager),
		TEST(no_word_is_lost_however_many_there_are),
		TEST(a_head_that_ends_by_itself_is_the_end),
		TEST(a_head_that_served_is_started_again_after_a_crash),
		TEST(a_head_that_somebody_ended_stays_ended),
		TEST(a_head_that_never_served_is_not_started_again),
		TEST(what_does_not_serve_is_not_started_again),
		TEST(a_crash_on_the_way_to_the_end_is_the_end),
		TEST(a_crash_by_a_reload_is_none_of_the_end),
		TEST(what_is_missing_after_a_crash_is_not_made_anew),
		TEST(a_head_does_not_outlive_the_launcher),
		TEST(all_that_was_started_is_collected_and_the_socket_goes),
		TEST(the_watchdog_is_fed_while_the_head_does_not_serve_yet),
		TEST(no_more_is_kept_than_what_is_started_needs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
