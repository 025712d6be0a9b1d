/* Commands and files over an open session. Called by whoever pushes. Files go
 * through a plain `cat` on the other side, so that it needs a POSIX shell and
 * nothing else; they are written beside, counted, synced and then renamed. */
#include "ssh/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define OUTPUT_MAX (1U << 20)
#define OUTPUT_READ_MAX (64U << 20) /* a server that never stops talking is cut off */
#define STATUS_SIZE_DIFFERS 77
#define STATUS_KILLED 255

char *phx_ssh_quote(const char *arg)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	phx_buf_add(&b, "'", 1);
	for (; *arg; arg++) {
		if (*arg == '\'')
			phx_buf_addf(&b, "'\\''");
		else
			phx_buf_add(&b, arg, 1);
	}
	phx_buf_add(&b, "'", 1);
	return phx_buf_take(&b);
}

static int open_command(struct phx_ssh *s, const char *command, LIBSSH2_CHANNEL **ret,
			struct phx_err *err)
{
	LIBSSH2_CHANNEL *c = libssh2_channel_open_session(s->session);
	if (!c)
		return phx_ssh_fail(s, "no channel", err);
	libssh2_channel_handle_extended_data2(c, LIBSSH2_CHANNEL_EXTENDED_DATA_MERGE);
	if (libssh2_channel_exec(c, command) < 0) {
		int r = phx_ssh_fail(s, "the command was not started", err);
		libssh2_channel_free(c);
		return r;
	}
	*ret = c;
	return 0;
}

static int read_output(struct phx_ssh *s, LIBSSH2_CHANNEL *c, struct phx_buf *out,
		       struct phx_err *err)
{
	char chunk[16384];
	for (size_t total = 0;;) {
		ssize_t n = libssh2_channel_read(c, chunk, sizeof(chunk));
		if (n < 0)
			return phx_ssh_fail(s, "reading output", err);
		if (n == 0 && libssh2_channel_eof(c))
			return 0;
		total += (size_t)n;
		if (total > OUTPUT_READ_MAX)
			return phx_err_set(err, -E2BIG, "%s: more than %u bytes of output",
					   s->where, OUTPUT_READ_MAX);
		size_t room = OUTPUT_MAX - out->n;
		phx_buf_add(out, chunk, (size_t)n < room ? (size_t)n : room);
	}
}

/* Everything the command says, then its status. */
static int finish_command(struct phx_ssh *s, LIBSSH2_CHANNEL *c, int *ret_status, char **ret_out,
			  struct phx_err *err)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf out = {0};
	int r = read_output(s, c, &out, err);
	if (r == 0 && (libssh2_channel_close(c) < 0 || libssh2_channel_wait_closed(c) < 0))
		r = phx_ssh_fail(s, "no end of the command", err);
	if (r < 0)
		return r;
	char *signal_name = NULL;
	libssh2_channel_get_exit_signal(c, &signal_name, NULL, NULL, NULL, NULL, NULL);
	int status = signal_name ? STATUS_KILLED : libssh2_channel_get_exit_status(c);
	libssh2_free(s->session, signal_name);
	char *text = phx_buf_take(&out);
	if (!text)
		return -ENOMEM;
	*ret_status = status;
	*ret_out = text;
	return 0;
}

int phx_ssh_run(struct phx_ssh *s, const char *command, int *ret_status, char **ret_out,
		struct phx_err *err)
{
	LIBSSH2_CHANNEL *c;
	int status;
	char *out;
	int r = open_command(s, command, &c, err);
	if (r < 0)
		return r;
	r = libssh2_channel_send_eof(c) < 0 ? phx_ssh_fail(s, "closing input", err) : 0;
	if (r == 0)
		r = finish_command(s, c, &status, &out, err);
	libssh2_channel_free(c);
	if (r < 0)
		return r;
	*ret_status = status;
	if (ret_out)
		*ret_out = out;
	else
		free(out);
	return 0;
}

/* ---- files ---- */

/* Where the bytes of a put come from: `fd`, or memory when it is -1. */
struct source {
	int fd;
	const char *data;
	uint64_t size_bytes, done;
	char chunk[65536];
};

static int next_bytes(struct source *f, const char **ret_data, size_t *ret_n, struct phx_err *err)
{
	uint64_t left = f->size_bytes - f->done;
	size_t n = left < sizeof(f->chunk) ? (size_t)left : sizeof(f->chunk);
	*ret_data = f->data ? f->data + f->done : f->chunk;
	if (!f->data) {
		ssize_t got = read(f->fd, f->chunk, n);
		if (got < 0 || (got == 0 && n))
			return phx_err_set(err, -EIO, "the local file cannot be read to its end");
		n = (size_t)got;
	}
	f->done += n;
	*ret_n = n;
	return 0;
}

static int send_source(struct phx_ssh *s, LIBSSH2_CHANNEL *c, struct source *f, struct phx_err *err)
{
	while (f->done < f->size_bytes) {
		const char *data = NULL;
		size_t n = 0;
		int r = next_bytes(f, &data, &n, err);
		if (r < 0)
			return r;
		while (n) {
			ssize_t sent = libssh2_channel_write(c, data, n);
			if (sent < 0)
				return phx_ssh_fail(s, "sending", err);
			data += sent;
			n -= (size_t)sent;
		}
	}
	return libssh2_channel_send_eof(c) < 0 ? phx_ssh_fail(s, "sending", err) : 0;
}

/* A failed `cat` is followed by one that swallows the rest, else the sender would
 * wait for a window that never opens. */
static char *put_command(const char *remote, mode_t mode, uint64_t size)
{
	PHX_AUTO_FREE char *beside = phx_path("%s.phx-%d.tmp", remote, (int)getpid());
	PHX_AUTO_FREE char *tmp = beside ? phx_ssh_quote(beside) : NULL;
	PHX_AUTO_FREE char *dest = phx_ssh_quote(remote);
	if (!tmp || !dest)
		return NULL;
	return phx_path("t=%s d=%s; umask 077; "
			"if test -d \"$d\"; then echo \"it is a directory\"; cat >/dev/null; "
			"elif cat >\"$t\"; then "
			"if test \"$(wc -c <\"$t\")\" -eq %" PRIu64 "; then "
			"chmod %o \"$t\" && { sync \"$t\" 2>/dev/null || sync; } && mv -f \"$t\" "
			"\"$d\" && exit 0; "
			"else rm -f \"$t\"; exit %d; fi; "
			"else cat >/dev/null; fi; rm -f \"$t\"; exit 1",
			tmp, dest, size, (unsigned int)(mode & 0777), STATUS_SIZE_DIFFERS);
}

static void first_line(char *text)
{
	text[strcspn(text, "\r\n")] = '\0';
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < 0x20 || (unsigned char)*p > 0x7e)
			*p = '?';
}

static int judge_put(struct phx_ssh *s, const char *remote, int status, char *out,
		     struct phx_err *err)
{
	if (status == 0)
		return 0;
	if (status == STATUS_SIZE_DIFFERS)
		return phx_err_set(err, -EBADMSG, "%s: %s: other size there than sent", s->where,
				   remote);
	first_line(out);
	return phx_err_set(err, -EIO, "%s: %s: not written: %.200s", s->where, remote,
			   *out ? out : "the remote shell failed");
}

static int put_source(struct phx_ssh *s, struct source *f, const char *remote, mode_t mode,
		      struct phx_err *err)
{
	if (remote[0] != '/' || remote[strlen(remote) - 1] == '/')
		return phx_err_set(err, -EINVAL, "%s: an absolute path of a file is needed",
				   remote);
	PHX_AUTO_FREE char *command = put_command(remote, mode, f->size_bytes);
	PHX_AUTO_FREE char *out = NULL;
	LIBSSH2_CHANNEL *c;
	int status;
	if (!command)
		return -ENOMEM;
	int r = open_command(s, command, &c, err);
	if (r < 0)
		return r;
	r = send_source(s, c, f, err);
	if (r == 0)
		r = finish_command(s, c, &status, &out, err);
	libssh2_channel_free(c);
	return r < 0 ? r : judge_put(s, remote, status, out, err);
}

int phx_ssh_put(struct phx_ssh *s, const char *local, const char *remote, mode_t mode,
		struct phx_err *err)
{
	struct stat st;
	PHX_AUTO_CLOSE int fd = open(local, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return phx_err_set(err, -errno, "%s: %s", local, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return phx_err_set(err, -EINVAL, "%s: not a file", local);
	PHX_AUTO_FREE struct source *f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->fd = fd;
	f->size_bytes = (uint64_t)st.st_size;
	return put_source(s, f, remote, mode, err);
}

int phx_ssh_put_data(struct phx_ssh *s, const void *data, size_t n, const char *remote, mode_t mode,
		     struct phx_err *err)
{
	PHX_AUTO_FREE struct source *f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->fd = -1;
	f->data = n ? data : "";
	f->size_bytes = n;
	return put_source(s, f, remote, mode, err);
}
