/* The program of a console, on a terminal of its own. Called by lines.c, on the loop's thread. */
#include "console/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

/* A terminal that changes no byte: its two ends. */
static int open_pty(int *ret_master, int *ret_slave)
{
	PHX_AUTO_CLOSE int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	int unlocked = 0;
	if (master < 0 || fcntl(master, F_SETFL, O_NONBLOCK) < 0 ||
	    ioctl(master, TIOCSPTLCK, &unlocked) < 0)
		return -errno;
	PHX_AUTO_CLOSE int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	struct termios t;
	if (slave < 0 || tcgetattr(slave, &t) < 0)
		return -errno;
	cfmakeraw(&t);
	if (tcsetattr(slave, TCSANOW, &t) < 0)
		return -errno;
	*ret_master = master;
	*ret_slave = slave;
	master = slave = -1;
	return 0;
}

/* The file that has what no command line may have; without one there is none. */
static int put_secret(const char *path, const struct phx_console_run *run, struct phx_err *err)
{
	if (run->secret)
		return phx_file_write(path, run->secret, strlen(run->secret), 0600, err);
	unlink(path);
	return 0;
}

static int start_on(struct consoles *c, struct node_line *l, uint32_t at,
		    const struct phx_console_run *run, struct phx_err *err)
{
	int slave = -1, r = open_pty(&l->pty, &slave);
	if (r < 0)
		return phx_err_set(err, r, "there is no terminal for it: %s", strerror(-r));
	const struct phx_launch how = {.argv = run->argv,
				       .in = slave,
				       .out = slave,
				       .errout = slave,
				       .group = PHX_GROUP_SESSION,
				       .death_signal = SIGKILL};
	r = phx_process_start(&how, &l->program, err);
	close(slave);
	if (r < 0)
		l->program = (struct phx_process){.pidfd = -1};
	r = r ? r : consoles_watch(c, l->pty, OF_PTY, at);
	return r ? r : consoles_watch(c, l->program.pidfd, OF_END, at);
}

int consoles_program_start(struct consoles *c, struct node_line *l, uint32_t at,
			   struct phx_err *err)
{
	PHX_AUTO(phx_console_run_fini) struct phx_console_run run = {0};
	PHX_AUTO_FREE char *secret = phx_path("%s/%s", c->secrets, l->node);
	int r = secret ? phx_console_run_make(&l->bmc, secret, l->steal, &run, err) : -ENOMEM;
	r = r ? r : put_secret(secret, &run, err);
	r = r ? r : start_on(c, l, at, &run, err);
	if (r < 0)
		consoles_program_end(l);
	l->started_ms = phx_clock_ms();
	l->steal = false;
	l->n_tail = 0;
	return r;
}

/* The whole session goes, so that nothing that a script has started stays. */
void consoles_program_end(struct node_line *l)
{
	if (l->program.pidfd >= 0) {
		kill(-l->program.pid, SIGKILL);
		phx_process_signal(l->program.pidfd, SIGKILL);
		phx_process_status(l->program.pidfd);
	}
	phx_close_fd(&l->program.pidfd);
	phx_close_fd(&l->pty);
	l->paused = false;
}
