/* What is left to one who takes the vault over, seen from inside. */
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "unit/vault/world.h"

/* What one who took the vault over could do: bits of what he must not, and of what is needed and
 * does not work. */
static int what_is_open(void)
{
	char own[128], *const argv[] = {"true", NULL};
	int open_ways = 0, fd;
	if (vault_confine(&config, NULL) < 0)
		return 255;
	snprintf(own, sizeof(own), "%s/n1-k1", key_dir);
	open_ways |= (fd = open(own, O_RDWR | O_CREAT, 0600)) < 0 ? 1 : 0;
	open_ways |= write(fd, "x", 1) != 1 || unlink(own) < 0 ? 2 : 0;
	open_ways |= open("/etc/passwd", O_RDONLY) >= 0 ? 4 : 0;
	open_ways |= open(dir, O_RDONLY | O_DIRECTORY) >= 0 ? 8 : 0;
	open_ways |= socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0
		? 16
		: 0;
	open_ways |= ptrace(PTRACE_TRACEME, 0, NULL, NULL) >= 0 || kill(getppid(), 0) == 0 ? 32 : 0;
	open_ways |= fork() >= 0 ? 64 : 0;
	execv("/bin/true", argv);
	return open_ways | 128;
}

static void it_opens_nothing_else(void **state)
{
	int status;
	(void)state;
	pid_t pid = fork();
	if (pid == 0)
		_exit(what_is_open());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	/* true(1) would have ended with 0, too: it must not have been reached */
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 128);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(it_opens_nothing_else, world_make, world_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
