/* conserver, as the process that has the consoles keeps it running: its configuration, its
 * password, its restarts. Called by turn.c; under the lock.
 *
 * conserver is a process that has forked some: one that is killed leaves them, and they would fight
 * with those of its successor for the consoles. They are one process group, which is ended. */
#include "console/internal.h"

#include <crypt.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

enum {
	GATHER_MS = 200, /* nodes that come together are one change */
	BEGIN_MS = 5000, /* it looks for its groups and signals by then */
	STEADY_MS = 10000,
	BACKOFF_MIN_MS = 100,
	BACKOFF_MAX_MS = 30000,
	LOG_MAX = 1 << 20,
	MEMBERS = 64, /* consoles of one of its processes */
	SALT_BYTES = 8,
};

int consoles_keep_password(struct consoles *c, struct phx_err *err)
{
	uint8_t raw[PASSWORD_HEX / 2], salt_raw[SALT_BYTES];
	char salt[2 * SALT_BYTES + 20] = "$6$rounds=1000$";
	struct crypt_data *data = calloc(1, sizeof(*data));
	int r = !data ? -ENOMEM
		: getrandom(raw, sizeof(raw), 0) != sizeof(raw) ||
			getrandom(salt_raw, sizeof(salt_raw), 0) != sizeof(salt_raw)
		? -EIO
		: 0;
	if (r == 0) {
		phx_hex(raw, sizeof(raw), c->password);
		phx_hex(salt_raw, sizeof(salt_raw), salt + strlen(salt));
	}
	const char *hash = r == 0 ? crypt_r(c->password, salt, data) : NULL;
	PHX_AUTO_FREE char *line =
		hash && hash[0] == '$' ? phx_path("%s:%s\n", CONSOLES_USER, hash) : NULL;
	if (r == 0 && !line)
		r = phx_err_set(err, -EIO, "no password for conserver could be made");
	r = r ? r : phx_file_write(c->passwd, line, strlen(line), 0600, err);
	free(data);
	return r;
}

void consoles_keep_changed(struct consoles *c)
{
	if (c->conf_due_ms == INT64_MAX)
		c->conf_due_ms = phx_clock_ms() + GATHER_MS;
	consoles_wake(c);
}

static int write_conf(struct consoles *c)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	PHX_AUTO_FREE const char **nodes = calloc(c->n_lines + 1, sizeof(*nodes));
	struct phx_console_conf conf = {.dir = c->sockets,
					.passwd = c->passwd,
					.user = CONSOLES_USER,
					.port = (uint16_t)c->config->port,
					.nodes = nodes};
	if (!nodes)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->n_lines; i++)
		if (c->lines[i])
			nodes[conf.n_nodes++] = c->lines[i]->node;
	phx_console_conf_put(&conf, &b);
	int r = b.failed ? -ENOMEM : phx_file_write(c->conf, b.data, b.n, 0600, NULL);
	return r ? r : conf.n_nodes ? 1 : 0;
}

static int open_log(const struct consoles *c)
{
	struct stat st;
	int fd = open(c->conserver_log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
		      0600);
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > LOG_MAX)
		(void)!ftruncate(fd, 0);
	return fd;
}

static void start(struct consoles *c, int64_t now)
{
	char port[8], members[8];
	PHX_AUTO_CLOSE int log = open_log(c);
	snprintf(port, sizeof(port), "%u", c->config->port);
	snprintf(members, sizeof(members), "%d", MEMBERS);
	const char *const argv[] = {c->config->conserver,
				    "-M",
				    "127.0.0.1",
				    "-p",
				    port,
				    "-m",
				    members,
				    "-C",
				    c->conf,
				    NULL};
	const struct phx_launch how = {.argv = argv,
				       .dir = "/",
				       .out = log >= 0 ? log : 0,
				       .errout = log >= 0 ? log : 0,
				       .group = PHX_GROUP_SESSION,
				       .death_signal = SIGTERM};
	struct phx_err err = {0};
	int r = phx_process_start(&how, &c->conserver, &err);
	if (r < 0)
		c->conserver = (struct phx_process){.pidfd = -1};
	r = r ? r : consoles_watch(c, c->conserver.pidfd, OF_CONSERVER, 0);
	c->conserver_ms = now;
	if (r < 0) {
		fprintf(stderr, "phxd: conserver: %s\n", err.text[0] ? err.text : strerror(-r));
		c->conserver_due_ms = now + BACKOFF_MAX_MS;
	}
}

void consoles_keep_ended(struct consoles *c)
{
	if (c->conserver.pidfd < 0 || phx_process_wait(c->conserver.pidfd, 0) < 0)
		return;
	int64_t now = phx_clock_ms();
	int status = phx_process_status(c->conserver.pidfd);
	kill(-c->conserver.pid, SIGKILL);
	phx_close_fd(&c->conserver.pidfd);
	bool steady = now - c->conserver_ms >= STEADY_MS;
	c->conserver_backoff_ms = steady || !c->conserver_backoff_ms ? BACKOFF_MIN_MS
		: c->conserver_backoff_ms < BACKOFF_MAX_MS / 2       ? c->conserver_backoff_ms * 2
								     : BACKOFF_MAX_MS;
	c->conserver_due_ms = now + c->conserver_backoff_ms;
	fprintf(stderr, "phxd: conserver ended with status %d: it is started again\n", status);
}

int64_t consoles_keep_due(struct consoles *c, int64_t now_ms)
{
	/* one that has just started would be ended by SIGHUP */
	if (c->conf_due_ms <= now_ms && c->conserver.pidfd >= 0 &&
	    now_ms - c->conserver_ms < BEGIN_MS)
		c->conf_due_ms = c->conserver_ms + BEGIN_MS;
	if (c->conf_due_ms <= now_ms) {
		int r = write_conf(c);
		c->conf_due_ms = r < 0 ? now_ms + BACKOFF_MAX_MS : INT64_MAX;
		if (r == 1 && c->conserver.pidfd < 0 && c->conserver_due_ms == INT64_MAX)
			c->conserver_due_ms = now_ms;
		else if (r >= 0 && c->conserver.pidfd >= 0)
			phx_process_signal(c->conserver.pidfd, SIGHUP);
	}
	if (c->conserver_due_ms <= now_ms) {
		c->conserver_due_ms = INT64_MAX;
		start(c, now_ms);
	}
	return c->conf_due_ms < c->conserver_due_ms ? c->conf_due_ms : c->conserver_due_ms;
}
