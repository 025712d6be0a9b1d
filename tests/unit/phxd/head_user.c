/* What a head with a user of its own is given, and may not do (cmd/phxd/head_user.c): files are
 * real and the user is "nobody"; what the head may still do a child tries that has become it.
 * Only root can give anything away. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/tree.h"
#include "deploy/internal.h"
#include "phxd/head_user.c" /* a part of a program, not of the library */

#define NOBODYS "phx-no-such-user"

static struct phx_config cfg;
static struct phx_err err;
static char dir[64];
static uid_t uid; /* of nobody */
static gid_t gid;

#define SET_PATH(member, name) snprintf(cfg.member, sizeof(cfg.member), "%s/%s", dir, name)

static const char *path_of(const char *name)
{
	static char path[200];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void write_file(const char *name, mode_t mode)
{
	assert_int_equal(phx_file_write(path_of(name), "x", 1, mode, NULL), 0);
}

static int setup(void **state)
{
	static const char *const dirs[] = {"state",         "run",          "images", "packages",
					   "packages/keys", "state/output", "etc",    "pxe",
					   "roles",         "slurm"};
	struct passwd pw;
	PHX_AUTO_FREE char *texts = NULL;
	(void)state;
	if (phx_user_named("nobody", &pw, &texts) < 0)
		return -1;
	uid = pw.pw_uid;
	gid = pw.pw_gid;
	strcpy(dir, "/tmp/phx-head.XXXXXX");
	if (!mkdtemp(dir) || chmod(dir, 0755) < 0)
		return -1;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(dirs); i++)
		if (phx_dir_make(path_of(dirs[i]), 0755, NULL) < 0)
			return -1;
	cfg = (struct phx_config){.dhcp_mode = PHX_DHCP_NONE};
	SET_PATH(state_dir, "state");
	SET_PATH(run_dir, "run");
	SET_PATH(journal, "state/journal.db");
	SET_PATH(re_dir, "state/re");
	SET_PATH(tftp_dir, "state/tftp");
	SET_PATH(image_dir, "images");
	SET_PATH(package_dir, "packages");
	SET_PATH(package_key_dir, "packages/keys");
	SET_PATH(output_dir, "state/output");
	SET_PATH(pxe_dir, "pxe");
	SET_PATH(role_dir, "roles");
	SET_PATH(rules_file, "etc/rules.conf");
	SET_PATH(slurm_dir, "slurm");
	PHX_STR_SET(cfg.head_user, "nobody");
	phx_err_clear(&err);
	write_file("state/journal.db", 0640);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return phx_dir_remove(dir, NULL);
}

static void give(int want)
{
	phx_err_clear(&err);
	int r = head_user_give(&cfg, &err);
	if (r != want)
		fail_msg("%d: %s", r, err.text);
}

static void assert_owner(const char *name, uid_t of, gid_t group)
{
	struct stat st;
	assert_int_equal(lstat(path_of(name), &st), 0);
	assert_int_equal(st.st_uid, of);
	assert_int_equal(st.st_gid, group);
}

static void assert_dir(const char *name, gid_t group, mode_t mode)
{
	struct stat st;
	assert_int_equal(stat(path_of(name), &st), 0);
	assert_int_equal(st.st_uid, 0);
	assert_int_equal(st.st_gid, group);
	assert_int_equal(st.st_mode & 07777, mode);
}

/* ---- who it is ---- */

static void the_head_is_its_user_or_we(void **state)
{
	uid_t is_uid;
	gid_t is_gid;
	(void)state;
	head_user_find(&cfg, &is_uid, &is_gid);
	assert_int_equal(is_uid, uid);
	assert_int_equal(is_gid, gid);
	PHX_STR_SET(cfg.head_user, NOBODYS);
	head_user_find(&cfg, &is_uid, &is_gid);
	assert_int_equal(is_uid, 0);
	cfg.head_user[0] = '\0';
	head_user_find(&cfg, &is_uid, &is_gid);
	assert_int_equal(is_uid, 0);
}

static void nothing_else_runs_as_a_user_of_our_processes(void **state)
{
	(void)state;
	assert_int_equal(head_user_refuse(&cfg, uid, &err), -EPERM);
	assert_non_null(strstr(err.text, "nobody"));
	assert_int_equal(head_user_refuse(&cfg, uid - 1, &err), 0);
	PHX_STR_SET(cfg.head_user, NOBODYS);
	PHX_STR_SET(cfg.hands_user, "nobody");
	assert_int_equal(head_user_refuse(&cfg, uid, &err), -EPERM);
	cfg.hands_user[0] = '\0';
	PHX_STR_SET(cfg.vault_user, "nobody");
	assert_int_equal(head_user_refuse(&cfg, uid, &err), -EPERM);
	cfg.vault_user[0] = '\0';
	assert_int_equal(head_user_refuse(&cfg, uid, &err), 0);
}

/* ---- what it is given ---- */

static void the_head_gets_what_it_writes_and_root_keeps_the_directories(void **state)
{
	(void)state;
	write_file("state/journal.db-wal", 0640);
	write_file("state/journal.db.lock", 0640);
	write_file("state/anchors", 0640);
	write_file("state/timeline.db", 0640);
	write_file("state/timeline.db-shm", 0640);
	write_file("state/starts.db-wal", 0640);
	write_file("state/other", 0600);
	write_file("run/site.pub", 0644);
	write_file("state/output/1.out", 0600);
	give(0);
	/* it may make files there, and remove none of root's */
	assert_dir("state", gid, SHARED);
	assert_dir("run", gid, SHARED);
	assert_owner("state/journal.db", uid, gid);
	assert_owner("state/journal.db-wal", uid, gid);
	assert_owner("state/journal.db.lock", uid, gid);
	assert_owner("state/anchors", uid, gid);
	assert_owner("state/timeline.db", uid, gid);
	assert_owner("state/timeline.db-shm", uid, gid);
	assert_owner("state/starts.db-wal", uid, gid);
	assert_owner("run/site.pub", uid, gid);
	assert_owner("state/output", uid, gid);
	assert_owner("state/output/1.out", uid, gid);
	assert_owner("state/other", 0, 0);
	/* made before the head can put something else in their place */
	assert_owner("state/lost+found", 0, 0);
	assert_owner("state/re", 0, 0);
	assert_owner("state/tftp", 0, 0);
	assert_owner("state/dnsmasq.leases", 0, 0);
	assert_owner("run/boot", 0, 0);
	assert_owner("run/hands", 0, 0);
	assert_owner("run/dnsmasq", 0, 0);
	give(0); /* twice is once */
}

/* The unit has UMask=0027, and dnsmasq is neither root nor the head. */
static void dnsmasq_may_read_what_it_is_told(void **state)
{
	static const char *const dirs[] = {"run/dnsmasq", "run/dnsmasq/hosts", "run/dnsmasq/names",
					   "run/dnsmasq/services"};
	struct stat st;
	(void)state;
	mode_t mask = umask(027);
	int made = phx_dir_make(path_of("run/dnsmasq/hosts"), OWN, NULL);
	made = made ? made : phx_dir_make(path_of("run/dnsmasq/names"), OWN, NULL);
	made = made ? made : phx_dir_make(path_of("run/dnsmasq/services"), OWN, NULL);
	made = made ? made : head_user_give(&cfg, &err);
	int fd = open(path_of("run/dnsmasq/hosts"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int written = dnsmasq_entry_write(fd, "n1", "x");
	close(fd);
	umask(mask);
	assert_int_equal(made, 0);
	assert_int_equal(written, 0);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(dirs); i++) {
		assert_int_equal(stat(path_of(dirs[i]), &st), 0);
		assert_int_equal(st.st_mode & 0777, OWN);
	}
	assert_int_equal(stat(path_of("run/dnsmasq/hosts/n1"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
}

static void all_may_read_what_nodes_fetch(void **state)
{
	struct stat st;
	(void)state;
	assert_int_equal(chmod(path_of("images"), 0700), 0);
	give(0);
	assert_int_equal(stat(path_of("images"), &st), 0);
	assert_int_equal(st.st_mode & 0777, OWN);
	/* but what the head put in the place of a directory is not touched */
	write_file("secret", 0600);
	SET_PATH(image_dir, "secret");
	give(0);
	assert_int_equal(stat(path_of("secret"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

/* Somebody who has taken over the head could otherwise have any file given to him. */
static void what_is_no_file_of_its_own_is_not_given(void **state)
{
	char target[200];
	(void)state;
	write_file("shadow", 0600);
	snprintf(target, sizeof(target), "%s", path_of("shadow"));
	/* a link */
	assert_int_equal(symlink(target, path_of("state/anchors")), 0);
	give(-ELOOP);
	assert_owner("shadow", 0, 0);
	assert_int_equal(unlink(path_of("state/anchors")), 0);
	/* a second name */
	assert_int_equal(link(target, path_of("state/journal.db-wal")), 0);
	give(-EPERM);
	assert_non_null(strstr(err.text, "is no file of its own"));
	assert_owner("shadow", 0, 0);
	assert_int_equal(unlink(path_of("state/journal.db-wal")), 0);
	/* no file, and nobody waits for who opens its other end */
	assert_int_equal(mkfifo(path_of("run/site.pub"), 0600), 0);
	give(-EPERM);
	assert_owner("run/site.pub", 0, 0);
}

static void a_directory_that_all_may_write_in_is_refused(void **state)
{
	(void)state;
	assert_int_equal(chmod(path_of("state"), 01777), 0);
	give(-EPERM);
	assert_non_null(strstr(err.text, "everybody may write in"));
	assert_owner("state/journal.db", 0, 0);
	assert_int_equal(chmod(path_of("state"), 0755), 0);
	assert_int_equal(chmod(path_of("run"), 0777), 0);
	give(-EPERM);
}

static void a_journal_elsewhere_needs_a_directory_of_its_own(void **state)
{
	(void)state;
	assert_int_equal(mkdir(path_of("disk"), 0755), 0);
	SET_PATH(journal, "disk/journal.db");
	write_file("disk/journal.db", 0640);
	write_file("disk/journal.db-wal", 0640);
	assert_int_equal(mkdir(path_of("disk/lost+found"), 0700), 0);
	write_file("disk/passwords", 0600);
	give(-EPERM);
	assert_non_null(strstr(err.text, "holds passwords beside the journal"));
	assert_dir("disk", 0, 0755);
	assert_owner("disk/journal.db", 0, 0);
	assert_int_equal(unlink(path_of("disk/passwords")), 0);
	give(0);
	assert_dir("disk", gid, SHARED);
	assert_owner("disk/journal.db", uid, gid);
	assert_owner("disk/lost+found", 0, 0);
	/* what the head itself puts beside it later is its own */
	write_file("disk/core", 0600);
	give(0);
	assert_owner("disk/core", 0, 0);
}

static void a_user_who_is_not_there_is_given_nothing(void **state)
{
	(void)state;
	PHX_STR_SET(cfg.head_user, NOBODYS);
	give(-ENOENT);
	assert_non_null(strstr(err.text, NOBODYS));
	assert_dir("state", 0, 0755);
}

/* Else a user whom an older configuration named could go on writing the journal. */
static void a_head_that_is_root_again_gets_all_back(void **state)
{
	(void)state;
	write_file("state/anchors", 0640);
	give(0);
	cfg.head_user[0] = '\0';
	assert_int_equal(chmod(path_of("state"), 0755), 0); /* as systemd does */
	give(0);
	assert_dir("state", 0, OWN);
	assert_dir("run", 0, OWN);
	assert_owner("state/journal.db", 0, 0);
	assert_owner("state/anchors", 0, 0);
	assert_owner("state/output", 0, 0);
}

static void what_was_never_given_is_left_alone(void **state)
{
	(void)state;
	cfg.head_user[0] = '\0';
	assert_int_equal(chmod(path_of("state"), 0700), 0);
	give(0);
	assert_dir("state", 0, 0700);
	assert_true(access(path_of("state/lost+found"), F_OK) < 0);
}

/* ---- what it may not do ---- */

enum {
	NO_HEAD = 1, /* it is not that user, or has rights left */
	WRITES_NOT,  /* where it must */
	WRITES,      /* where it must not */
	REMOVES,     /* what is root's */
	READS,       /* what is none of its business */
	RISES,       /* to root again */
	GIVES,       /* files to others */
};

static bool can_write(const char *name)
{
	int fd = open(path_of(name), O_WRONLY | O_CREAT, 0600);
	return fd >= 0 && close(fd) == 0;
}

static bool can_read(const char *name)
{
	int fd = open(name, O_RDONLY);
	return fd >= 0 && close(fd) == 0;
}

/* As who has taken over the head. */
static int try_all(void)
{
	if (getuid() != uid || geteuid() != uid || getegid() != gid)
		return NO_HEAD;
	if (!can_write("state/new") || !can_write("run/new") || !can_write("state/journal.db"))
		return WRITES_NOT;
	if (can_write("images/new") || can_write("packages/keys/new") || can_write("open/new"))
		return WRITES;
	if (unlink(path_of("state/root's")) == 0 || rmdir(path_of("state/lost+found")) == 0)
		return REMOVES;
	if (can_read(path_of("open/secret")))
		return READS;
	if (setuid(0) == 0 || setresuid(0, 0, 0) == 0 || setgid(0) == 0)
		return RISES;
	if (chown(path_of("state/new"), 0, 0) == 0)
		return GIVES;
	return 0;
}

static int as_head(int (*fn)(void))
{
	int status;
	pid_t pid = fork();
	if (pid == 0) {
		struct phx_err why = {0};
		int r = head_user_become(&cfg, path_of("etc/phoenix.conf"), &why);
		if (r < 0)
			fprintf(stderr, "%d: %s\n", r, why.text);
		_exit(r < 0 ? 99 : fn());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* The program would end with 1. */
static int try_running(void)
{
	char *const argv[] = {"false", NULL};
	execve("/bin/false", argv, NULL);
	return 0;
}

static bool has_landlock(void)
{
	char lsm[300] = "";
	FILE *f = fopen("/sys/kernel/security/lsm", "r");
	bool read = f && fgets(lsm, sizeof(lsm), f);
	if (f)
		fclose(f);
	return read && strstr(lsm, "landlock");
}

static void who_takes_over_the_head_gains_nothing_else(void **state)
{
	(void)state;
	write_file("state/root's", 0644);
	assert_int_equal(mkdir(path_of("open"), 0755), 0);
	write_file("open/secret", has_landlock() ? 0644 : 0600);
	if (has_landlock())
		assert_int_equal(chmod(path_of("open"), 0777), 0);
	give(0);
	assert_int_equal(as_head(try_all), 0);
	assert_int_equal(as_head(try_running), 0);
}

/* It is killed when its launcher ends, before anybody else hears of that. */
static void a_head_ends_with_its_launcher(void **state)
{
	int pid_of[2], is_head[2], goes_on[2], status;
	char byte = 'x';
	(void)state;
	give(0);
	assert_int_equal(pipe(pid_of) | pipe(is_head) | pipe(goes_on), 0);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	pid_t launcher = fork(), head;
	if (launcher == 0) {
		pid_t pid = fork();
		if (pid > 0) {
			(void)!read(is_head[0], &byte, 1);
			_exit(write(pid_of[1], &pid, sizeof(pid)) != sizeof(pid));
		}
		int r = head_user_become(&cfg, path_of("etc/phoenix.conf"), NULL);
		_exit(r < 0 || write(is_head[1], &byte, 1) != 1 || read(goes_on[0], &byte, 1) != 1);
	}
	assert_int_equal(waitpid(launcher, &status, 0), launcher);
	assert_int_equal(read(pid_of[0], &head, sizeof(head)), sizeof(head));
	assert_int_equal(write(goes_on[1], &byte, 1), 1); /* who still hears it ends well */
	assert_int_equal(waitpid(head, &status, 0), head);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	for (int i = 0; i < 2; i++) {
		close(pid_of[i]);
		close(is_head[i]);
		close(goes_on[i]);
	}
}

static int is_still_root(void)
{
	char *const argv[] = {"false", NULL};
	if (geteuid() != 0)
		return NO_HEAD;
	/* it has its system calls, and no more of them */
	return socket(AF_PACKET, SOCK_RAW, 0) >= 0 ? RISES : execve("/bin/false", argv, NULL) == 0;
}

static void a_head_that_stays_root_has_its_system_calls_alone(void **state)
{
	(void)state;
	cfg.head_user[0] = '\0';
	assert_int_equal(as_head(is_still_root), 0);
}

static void a_user_who_is_not_there_cannot_be_become(void **state)
{
	(void)state;
	PHX_STR_SET(cfg.head_user, NOBODYS);
	assert_int_equal(as_head(try_running), 99);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_head_is_its_user_or_we),
		TEST(nothing_else_runs_as_a_user_of_our_processes),
		TEST(the_head_gets_what_it_writes_and_root_keeps_the_directories),
		TEST(all_may_read_what_nodes_fetch),
		TEST(dnsmasq_may_read_what_it_is_told),
		TEST(what_is_no_file_of_its_own_is_not_given),
		TEST(a_directory_that_all_may_write_in_is_refused),
		TEST(a_journal_elsewhere_needs_a_directory_of_its_own),
		TEST(a_user_who_is_not_there_is_given_nothing),
		TEST(a_head_that_is_root_again_gets_all_back),
		TEST(what_was_never_given_is_left_alone),
		TEST(who_takes_over_the_head_gains_nothing_else),
		TEST(a_head_ends_with_its_launcher),
		TEST(a_head_that_stays_root_has_its_system_calls_alone),
		TEST(a_user_who_is_not_there_cannot_be_become),
	};
	if (geteuid() != 0) {
		puts("only root can give files away: skipped");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
