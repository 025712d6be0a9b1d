/* The vault's own log: a line for each certificate, signature and key, with the digest of the line
 * before in its own. The head cannot write it; whoever becomes root on the head later cannot take
 * a line out unseen. Called by the vault. When it is long it becomes vault.log.1, and the next
 * file goes on with its digests.
 *
 *	HASH MS TEXT		HASH = SHA-256(HASH of the line before, "MS TEXT") */
#include "vault/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

enum { LOG_MAX = 64 << 20, LINE_MAX_ = 1024, DIGITS = VAULT_HASH_MAX - 1 };

static int chain(const char before[VAULT_HASH_MAX], const char *text, char ret[VAULT_HASH_MAX])
{
	struct phx_sha256 *d;
	int r = phx_sha256_new(&d);
	if (r < 0)
		return r;
	r = phx_sha256_add(d, before, strlen(before));
	r = r ? r : phx_sha256_add(d, text, strlen(text));
	phx_sha256_hex(d, ret);
	phx_sha256_free(d);
	return r;
}

/* Does this line follow the one whose digest is in the log? */
static bool follows(struct vault_log *l, char *line, bool believed)
{
	char hash[VAULT_HASH_MAX];
	if (strlen(line) < DIGITS + 2 || line[DIGITS] != ' ')
		return false;
	line[DIGITS] = '\0';
	bool good = chain(l->hash, line + DIGITS + 1, hash) == 0 && !strcmp(hash, line);
	PHX_STR_SET(l->hash, line);
	return good || believed;
}

/* Reads the lines of a file after one another; the first is `believed` where what was before it is
 * gone. *ret_whole: so many bytes are whole lines. */
static int read_lines(struct vault_log *l, const char *path, bool believed, size_t *ret_whole,
		      char **ret_complaint, struct phx_err *err)
{
	PHX_AUTO_FREE char *text = NULL;
	unsigned long number = 0;
	int r = phx_file_read(path, LOG_MAX + LINE_MAX_, &text, NULL, err);
	if (r < 0)
		return r;
	char *line = text;
	for (char *end; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		bool good = follows(l, line, believed && !number);
		number++;
		if (!good && !*ret_complaint &&
		    asprintf(ret_complaint,
			     "%s: line %lu does not follow the one before it: the log was "
			     "altered or cut",
			     path, number) < 0)
			return -ENOMEM;
	}
	*ret_whole = (size_t)(line - text);
	return 0;
}

static int read_both(struct vault_log *l, char **ret_complaint, struct phx_err *err)
{
	size_t whole;
	int r = 0;
	if (access(l->old_path, F_OK) == 0)
		r = read_lines(l, l->old_path, true, &whole, ret_complaint, err);
	r = r ? r : read_lines(l, l->path, false, &whole, ret_complaint, err);
	if (r < 0)
		return r;
	/* a power cut may have left half of a last line, which nobody was answered for */
	l->n_bytes = whole;
	return ftruncate(l->fd, (off_t)whole) < 0
		? phx_err_set(err, -errno, "%s: %s", l->path, strerror(errno))
		: 0;
}

static int open_file(struct vault_log *l, struct phx_err *err)
{
	l->fd = open(l->path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	return l->fd < 0 ? phx_err_set(err, -errno, "%s: %s", l->path, strerror(errno)) : 0;
}

int vault_log_open(struct vault_log *l, const char *dir, char **ret_complaint, struct phx_err *err)
{
	*l = (struct vault_log){.fd = -1, .max_bytes = LOG_MAX};
	*ret_complaint = NULL;
	if (snprintf(l->path, sizeof(l->path), "%s/vault.log", dir) >= (int)sizeof(l->path))
		return phx_err_set(err, -ENAMETOOLONG, "%s: too long", dir);
	snprintf(l->old_path, sizeof(l->old_path), "%s.1", l->path);
	int r = open_file(l, err);
	return r ? r : read_both(l, ret_complaint, err);
}

static int turn(struct vault_log *l, struct phx_err *err)
{
	close(l->fd);
	l->fd = -1;
	if (rename(l->path, l->old_path) < 0)
		return phx_err_set(err, -errno, "%s: %s", l->old_path, strerror(errno));
	l->n_bytes = 0;
	return open_file(l, err);
}

int vault_log_add(struct vault_log *l, struct phx_err *err, const char *fmt, ...)
{
	char text[LINE_MAX_ - VAULT_HASH_MAX - 2], hash[VAULT_HASH_MAX], line[LINE_MAX_];
	int r = l->n_bytes > l->max_bytes ? turn(l, err) : 0;
	if (r < 0)
		return r;
	int n = snprintf(text, sizeof(text), "%lld ", (long long)phx_wall_ms());
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, ap);
	va_end(ap);
	r = chain(l->hash, text, hash);
	if (r < 0)
		return phx_err_set(err, r, "%s: cannot be chained", l->path);
	n = snprintf(line, sizeof(line), "%s %s\n", hash, text);
	ssize_t written = l->fd < 0 ? -1 : write(l->fd, line, (size_t)n);
	if (written != n) {
		r = written < 0 && errno ? -errno : -ENOSPC;
		if (ftruncate(l->fd, (off_t)l->n_bytes) < 0)
			r = -EIO;
		return phx_err_set(err, r, "%s: cannot be written; what is not logged is not done",
				   l->path);
	}
	l->n_bytes += (uint64_t)n;
	PHX_STR_SET(l->hash, hash);
	return 0;
}
