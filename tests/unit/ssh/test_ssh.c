/* Push over SSH against a real sshd on the loopback: who is let in, who is trusted, what arrives.
 * Needs root. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/spawn.h"
#include "base/tree.h"
#include "ssh/ssh.h"

struct lab {
	char dir[64];
	uint16_t port;
	pid_t sshd;
	bool made_run_dir;
};

static char *in_dir(const struct lab *l, const char *name)
{
	char *path = phx_path("%s/%s", l->dir, name);
	assert_non_null(path);
	return path;
}

static void write_file(const struct lab *l, const char *name, const char *text)
{
	PHX_AUTO_FREE char *path = in_dir(l, name);
	assert_int_equal(phx_file_write(path, text, strlen(text), 0600, NULL), 0);
}

static char *read_file(const struct lab *l, const char *name)
{
	PHX_AUTO_FREE char *path = in_dir(l, name);
	char *text = NULL;
	assert_int_equal(phx_file_read(path, 65536, &text, NULL, NULL), 0);
	return text;
}

static void make_key(const struct lab *l, const char *name)
{
	PHX_AUTO_FREE char *path = in_dir(l, name);
	const char *const argv[] = {"ssh-keygen", "-q",   "-t", "ed25519", "-N", "",
				    "-C",         "test", "-f", path,      NULL};
	const struct phx_run run = {.argv = argv};
	assert_int_equal(phx_run_check(&run, NULL, NULL), 0);
}

/* A listening socket on a free port of 127.0.0.1. */
static int listen_somewhere(uint16_t *ret_port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, n), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
	*ret_port = ntohs(a.sin_port);
	return fd;
}

static void write_known(const struct lab *l, const char *name, const char *key_name)
{
	PHX_AUTO_FREE char *pub = read_file(l, key_name);
	PHX_AUTO_FREE char *line = phx_path("# ours\n\n[127.0.0.1]:%u %s", l->port, pub);
	write_file(l, name, line);
}

static void write_config(const struct lab *l)
{
	PHX_AUTO_FREE char *text =
		phx_path("ListenAddress 127.0.0.1\nPort %u\nHostKey %s/host\nPidFile none\n"
			 "AuthorizedKeysFile %s/authorized\nStrictModes no\nUsePAM no\n"
			 "PasswordAuthentication no\nKbdInteractiveAuthentication no\n"
			 "PermitRootLogin prohibit-password\nLogLevel QUIET\n",
			 l->port, l->dir, l->dir);
	write_file(l, "sshd_config", text);
}

static void start_sshd(struct lab *l)
{
	PHX_AUTO_FREE char *config = in_dir(l, "sshd_config");
	l->made_run_dir = mkdir("/run/sshd", 0755) == 0;
	l->sshd = fork();
	if (l->sshd == 0) {
		execl("/usr/sbin/sshd", "/usr/sbin/sshd", "-D", "-f", config, (char *)NULL);
		_exit(127);
	}
	assert_true(l->sshd > 0);
}

static void wait_answering(const struct lab *l)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				.sin_port = htons(l->port)};
	for (int i = 0; i < 200; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		int r = connect(fd, (struct sockaddr *)&a, sizeof(a));
		close(fd);
		if (r == 0)
			return;
		usleep(20000);
	}
	fail_msg("sshd does not answer (is openssh-server installed?)");
}

/* A full place: a small tmpfs that only this process and its children see. */
static void mount_full(const struct lab *l)
{
	PHX_AUTO_FREE char *path = in_dir(l, "full");
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(unshare(CLONE_NEWNS), 0);
	assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	assert_int_equal(mount("full", path, "tmpfs", 0, "size=64k"), 0);
}

static int setup(void **state)
{
	struct lab *l = calloc(1, sizeof(*l));
	strcpy(l->dir, "/tmp/phx-test-ssh-XXXXXX");
	assert_non_null(mkdtemp(l->dir));
	close(listen_somewhere(&l->port));
	static const char *const names[] = {"host", "other_host", "user", "stranger"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(names); i++)
		make_key(l, names[i]);
	PHX_AUTO_FREE char *pub = read_file(l, "user.pub");
	write_file(l, "authorized", pub);
	write_known(l, "known", "host.pub");
	write_config(l);
	mount_full(l);
	start_sshd(l);
	wait_answering(l);
	*state = l;
	return 0;
}

static int teardown(void **state)
{
	struct lab *l = *state;
	kill(l->sshd, SIGTERM);
	waitpid(l->sshd, NULL, 0);
	if (l->made_run_dir)
		rmdir("/run/sshd");
	PHX_AUTO_FREE char *full = in_dir(l, "full");
	umount2(full, MNT_DETACH);
	assert_int_equal(phx_dir_remove(l->dir, NULL), 0);
	free(l);
	return 0;
}

/* Open with the named key and known_hosts file; the text of a failure is checked for `says`. */
static int open_as(const struct lab *l, const char *key, const char *known, struct phx_ssh **ret,
		   const char *says)
{
	PHX_AUTO_FREE char *key_path = in_dir(l, key);
	PHX_AUTO_FREE char *known_path = in_dir(l, known);
	const struct phx_ssh_config config = {.host = "127.0.0.1",
					      .port = l->port,
					      .user = "root",
					      .key_path = key_path,
					      .known_hosts_path = known_path,
					      .timeout_ms = 5000};
	struct phx_err err = {0};
	int r = phx_ssh_open(&config, ret, &err);
	if (r < 0 && says && !strstr(err.text, says))
		fail_msg("\"%s\" does not say \"%s\"", err.text, says);
	if (r < 0 && !says)
		print_error("%s\n", err.text);
	return r;
}

static struct phx_ssh *open_session(const struct lab *l)
{
	struct phx_ssh *s = NULL;
	assert_int_equal(open_as(l, "user", "known", &s, NULL), 0);
	return s;
}

static void refused(const struct lab *l, const char *key, const char *known, int code,
		    const char *says)
{
	struct phx_ssh *s = NULL;
	assert_int_equal(open_as(l, key, known, &s, says), code);
	assert_null(s);
}

static void status_and_output(void **state)
{
	struct phx_ssh *s = open_session(*state);
	char *out = NULL;
	int status = -1;
	assert_int_equal(phx_ssh_run(s, "echo out; echo err >&2; exit 3", &status, &out, NULL), 0);
	assert_int_equal(status, 3);
	assert_non_null(strstr(out, "out\n"));
	assert_non_null(strstr(out, "err\n"));
	free(out);
	assert_int_equal(phx_ssh_run(s, "true", &status, NULL, NULL), 0);
	assert_int_equal(status, 0);
	assert_int_equal(phx_ssh_run(s, "kill -9 $$", &status, NULL, NULL), 0);
	assert_int_equal(status, 255);
	phx_ssh_close(s);
}

/* What a command reads from its input is empty, so that none waits for it. */
static void input_is_closed(void **state)
{
	struct phx_ssh *s = open_session(*state);
	PHX_AUTO_FREE char *out = NULL;
	int status = -1;
	assert_int_equal(phx_ssh_run(s, "cat; echo end", &status, &out, NULL), 0);
	assert_string_equal(out, "end\n");
	phx_ssh_close(s);
}

static void output_is_limited(void **state)
{
	struct phx_ssh *s = open_session(*state);
	PHX_AUTO_FREE char *out = NULL;
	int status = -1;
	assert_int_equal(
		phx_ssh_run(s, "head -c 3000000 /dev/zero | tr '\\0' x", &status, &out, NULL), 0);
	assert_int_equal(status, 0);
	assert_int_equal(strlen(out), 1 << 20);
	phx_ssh_close(s);
	s = open_session(*state);
	struct phx_err err = {0};
	assert_int_equal(phx_ssh_run(s, "head -c 90000000 /dev/zero", &status, NULL, &err), -E2BIG);
	assert_non_null(strstr(err.text, "output"));
	phx_ssh_close(s);
}

static void quoting(void **state)
{
	struct phx_ssh *s = open_session(*state);
	static const char nasty[] = "a'b\"c $(touch /tmp/no) `id` \\ ;|&\n* ~";
	PHX_AUTO_FREE char *quoted = phx_ssh_quote(nasty);
	PHX_AUTO_FREE char *command = phx_path("printf %%s %s", quoted);
	PHX_AUTO_FREE char *out = NULL;
	int status;
	assert_int_equal(phx_ssh_run(s, command, &status, &out, NULL), 0);
	assert_string_equal(out, nasty);
	phx_ssh_close(s);
	PHX_AUTO_FREE char *empty = phx_ssh_quote("");
	assert_string_equal(empty, "''");
}

static void unknown_host(void **state)
{
	write_file(*state, "empty", "# nobody\n");
	refused(*state, "user", "empty", -EKEYREJECTED, "unknown");
	refused(*state, "user", "no-such-file", -ENOENT, "no-such-file");
}

/* The entry of another port is not ours. */
static void other_port_is_another_host(void **state)
{
	const struct lab *l = *state;
	PHX_AUTO_FREE char *pub = read_file(l, "host.pub");
	PHX_AUTO_FREE char *line = phx_path("[127.0.0.1]:%u %s", l->port == 1 ? 2 : 1, pub);
	write_file(l, "port", line);
	refused(l, "user", "port", -EKEYREJECTED, "unknown");
}

static void changed_key(void **state)
{
	write_known(*state, "changed", "other_host.pub");
	refused(*state, "user", "changed", -EKEYREJECTED, "changed");
}

static void hashed_entry(void **state)
{
	const struct lab *l = *state;
	write_known(l, "hashed", "host.pub");
	PHX_AUTO_FREE char *path = in_dir(l, "hashed");
	const char *const argv[] = {"ssh-keygen", "-H", "-f", path, NULL};
	const struct phx_run run = {.argv = argv};
	assert_int_equal(phx_run_check(&run, NULL, NULL), 0);
	struct phx_ssh *s = NULL;
	int r = open_as(l, "user", "hashed", &s, NULL);
	assert_int_equal(r, 0);
	phx_ssh_close(s);
}

static void bad_known_hosts(void **state)
{
	const struct lab *l = *state;
	PHX_AUTO_FREE char *pub = read_file(l, "host.pub");
	PHX_AUTO_FREE char *revoked = phx_path("[127.0.0.1]:%u %s@revoked * %s", l->port, pub, pub);
	write_file(l, "revoked", revoked);
	refused(l, "user", "revoked", -EINVAL, "revoked:2:");
	write_file(l, "garbage", "# first\nwhat\n");
	refused(l, "user", "garbage", -EINVAL, "garbage:2:");
}

static void wrong_user_key(void **state)
{
	refused(*state, "stranger", "known", -EACCES, "not accepted");
	refused(*state, "no-such-key", "known", -ENOENT, "no-such-key");
}

static void key_that_others_read(void **state)
{
	PHX_AUTO_FREE char *path = in_dir(*state, "user");
	assert_int_equal(chmod(path, 0644), 0);
	refused(*state, "user", "known", -EPERM, "chmod 600");
	assert_int_equal(chmod(path, 0600), 0);
}

static void put_large(void **state)
{
	const struct lab *l = *state;
	PHX_AUTO_FREE char *from = in_dir(l, "large"), *to = in_dir(l, "arrived's copy");
	const size_t n = 24 << 20;
	PHX_AUTO_FREE char *data = malloc(n), *back = NULL;
	uint32_t x = 7;
	for (size_t i = 0; i < n; i++)
		data[i] = (char)((x = x * 1664525 + 1013904223) >> 24);
	assert_int_equal(phx_file_write(from, data, n, 0600, NULL), 0);
	struct phx_ssh *s = open_session(l);
	struct phx_err err = {0};
	assert_int_equal(phx_ssh_put(s, from, to, 0751, &err), 0);
	phx_ssh_close(s);
	struct stat st;
	assert_int_equal(stat(to, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0751);
	size_t n_back;
	assert_int_equal(phx_file_read(to, n, &back, &n_back, NULL), 0);
	assert_int_equal(n_back, n);
	assert_memory_equal(data, back, n);
}

static void put_replaces(void **state)
{
	const struct lab *l = *state;
	PHX_AUTO_FREE char *to = in_dir(l, "conf");
	struct phx_ssh *s = open_session(l);
	assert_int_equal(phx_ssh_put_data(s, "one", 3, to, 0600, NULL), 0);
	assert_int_equal(phx_ssh_put_data(s, "second", 6, to, 0644, NULL), 0);
	PHX_AUTO_FREE char *text = read_file(l, "conf");
	assert_string_equal(text, "second");
	assert_int_equal(phx_ssh_put_data(s, NULL, 0, to, 0644, NULL), 0);
	PHX_AUTO_FREE char *empty = read_file(l, "conf");
	assert_string_equal(empty, "");
	phx_ssh_close(s);
}

static size_t count_names(const char *dir)
{
	PHX_AUTO_FREE char *list = NULL;
	const char *const argv[] = {"ls", "-A", dir, NULL};
	const struct phx_run run = {.argv = argv};
	struct phx_run_result r = {0};
	assert_int_equal(phx_run_check(&run, &r, NULL), 0);
	size_t n = 0;
	for (char *p = r.out; *p; p++)
		n += *p == '\n';
	phx_run_result_fini(&r);
	return n;
}

static void put_where_it_cannot_be(void **state)
{
	const struct lab *l = *state;
	PHX_AUTO_FREE char *absent = in_dir(l, "absent/file"), *full = in_dir(l, "full"),
			   *in_full = in_dir(l, "full/f");
	const size_t n = 8 << 20;
	PHX_AUTO_FREE char *data = calloc(1, n);
	struct phx_ssh *s = open_session(l);
	struct phx_err err = {0};
	assert_int_equal(phx_ssh_put_data(s, data, n, absent, 0600, &err), -EIO);
	assert_non_null(strstr(err.text, "absent"));
	assert_int_equal(phx_ssh_put_data(s, "kept", 4, in_full, 0600, NULL), 0);
	phx_err_clear(&err);
	assert_int_equal(phx_ssh_put_data(s, data, n, in_full, 0600, &err), -EIO);
	assert_non_null(strstr(err.text, "No space"));
	PHX_AUTO_FREE char *kept = read_file(l, "full/f");
	assert_string_equal(kept, "kept");
	assert_int_equal(count_names(full), 1);
	phx_err_clear(&err);
	assert_int_equal(phx_ssh_put_data(s, data, n, full, 0600, &err), -EIO);
	assert_non_null(strstr(err.text, "directory"));
	assert_int_equal(phx_ssh_put_data(s, data, 1, "relative", 0600, NULL), -EINVAL);
	assert_int_equal(phx_ssh_put_data(s, data, 1, "/", 0600, NULL), -EINVAL);
	assert_int_equal(phx_ssh_put(s, absent, in_full, 0600, NULL), -ENOENT);
	assert_int_equal(phx_ssh_put(s, full, in_full, 0600, NULL), -EINVAL);
	phx_ssh_close(s);
}

static uint64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static int open_at(const struct lab *l, uint16_t port, uint32_t timeout_ms, struct phx_err *err)
{
	PHX_AUTO_FREE char *key = in_dir(l, "user"), *known = in_dir(l, "known");
	const struct phx_ssh_config config = {.host = "127.0.0.1",
					      .port = port,
					      .user = "root",
					      .key_path = key,
					      .known_hosts_path = known,
					      .timeout_ms = timeout_ms};
	struct phx_ssh *s = NULL;
	int r = phx_ssh_open(&config, &s, err);
	phx_ssh_close(s);
	return r;
}

static void silent_server(void **state)
{
	uint16_t port;
	int fd = listen_somewhere(&port);
	struct phx_err err = {0};
	uint64_t begin = now_ms();
	assert_int_equal(open_at(*state, port, 500, &err), -ETIMEDOUT);
	assert_in_range(now_ms() - begin, 400, 4000);
	close(fd);
	assert_int_equal(open_at(*state, port, 500, NULL), -ECONNREFUSED);
}

/* Something that is no SSH server talks, then hangs up. */
static void server_that_babbles(void **state)
{
	uint16_t port;
	int fd = listen_somewhere(&port);
	pid_t pid = fork();
	if (pid == 0) {
		int c = accept(fd, NULL, NULL);
		static const char text[] = "HTTP/1.0 400 what\r\n\r\n";
		_exit(write(c, text, sizeof(text)) > 0 ? 0 : 1);
	}
	close(fd);
	struct phx_err err = {0};
	assert_true(open_at(*state, port, 2000, &err) < 0);
	assert_true(err.text[0]);
	waitpid(pid, NULL, 0);
}

static void silent_command(void **state)
{
	const struct lab *l = *state;
	PHX_AUTO_FREE char *key = in_dir(l, "user"), *known = in_dir(l, "known");
	const struct phx_ssh_config config = {.host = "127.0.0.1",
					      .port = l->port,
					      .user = "root",
					      .key_path = key,
					      .known_hosts_path = known,
					      .timeout_ms = 4000};
	struct phx_ssh *s = NULL;
	struct phx_err err = {0};
	int status;
	assert_int_equal(phx_ssh_open(&config, &s, &err), 0);
	assert_int_equal(phx_ssh_run(s, "sleep 60", &status, NULL, &err), -ETIMEDOUT);
	phx_ssh_close(s);
}

static void incomplete_configuration(void **state)
{
	(void)state;
	struct phx_ssh *s = NULL;
	struct phx_err err = {0};
	const struct phx_ssh_config no_host = {.user = "root"};
	assert_int_equal(phx_ssh_open(&no_host, &s, &err), -EINVAL);
	const struct phx_ssh_config no_user = {.host = "127.0.0.1"};
	assert_int_equal(phx_ssh_open(&no_user, &s, NULL), -EINVAL);
	const struct phx_ssh_config no_key = {.host = "127.0.0.1", .user = "root"};
	assert_int_equal(phx_ssh_open(&no_key, &s, NULL), -EINVAL);
	const struct phx_ssh_config no_such = {.host = "no-such-host.invalid",
					       .user = "root",
					       .key_path = "/k",
					       .known_hosts_path = "/h"};
	assert_int_equal(phx_ssh_open(&no_such, &s, NULL), -EHOSTUNREACH);
	phx_ssh_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(status_and_output),
		cmocka_unit_test(input_is_closed),
		cmocka_unit_test(output_is_limited),
		cmocka_unit_test(quoting),
		cmocka_unit_test(unknown_host),
		cmocka_unit_test(other_port_is_another_host),
		cmocka_unit_test(changed_key),
		cmocka_unit_test(hashed_entry),
		cmocka_unit_test(bad_known_hosts),
		cmocka_unit_test(wrong_user_key),
		cmocka_unit_test(key_that_others_read),
		cmocka_unit_test(put_large),
		cmocka_unit_test(put_replaces),
		cmocka_unit_test(put_where_it_cannot_be),
		cmocka_unit_test(silent_server),
		cmocka_unit_test(server_that_babbles),
		cmocka_unit_test(silent_command),
		cmocka_unit_test(incomplete_configuration),
	};
	return cmocka_run_group_tests_name("ssh", tests, setup, teardown);
}
