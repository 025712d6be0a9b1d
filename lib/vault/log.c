/* The vault's own log, as it is written: see log.h. The head cannot write it; whoever becomes root
 * on the head later cannot take a line out unseen. Called by the vault. When it is long it gets
 * its date behind its name, and the next file goes on with its digests, and says with how many
 * lines. */
#include "vault/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

enum { LOG_MAX = 64 << 20, LINE_MAX_ = 1024 };

/* The last file that was turned, and the present one. */
static int read_both(struct vault_log *l, char **ret_complaint, struct phx_err *err)
{
	PHX_AUTO(phx_list_fini) struct phx_list turned = {0};
	struct phx_vault_reader reader = {0};
	size_t whole = 0;
	int r = phx_vault_log_turned(l->dir, &turned, err);
	if (r == 0 && turned.n)
		r = phx_vault_log_read(
			&reader, PHX_LIST_AT(&turned, struct phx_vault_file, turned.n - 1)->path,
			NULL, NULL, NULL, err);
	r = r ? r : phx_vault_log_read(&reader, l->path, NULL, NULL, &whole, err);
	*ret_complaint = reader.complaint;
	if (r < 0)
		return r;
	PHX_STR_SET(l->hash, reader.hash);
	l->n_lines = reader.number;
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

int vault_log_open(struct vault_log *l, const char *dir, uint32_t keep, char **ret_complaint,
		   struct phx_err *err)
{
	*l = (struct vault_log){.fd = -1, .max_bytes = LOG_MAX, .keep = keep};
	*ret_complaint = NULL;
	if (PHX_STR_SET(l->dir, dir) < 0 ||
	    snprintf(l->path, sizeof(l->path), "%s/" VAULT_LOG_NAME, dir) >= (int)sizeof(l->path))
		return phx_err_set(err, -ENAMETOOLONG, "%s: too long", dir);
	int r = open_file(l, err);
	return r ? r : read_both(l, ret_complaint, err);
}

/* ---- turning ---- */

/* Its date, and the number of its last line: no file is ever written over. */
static void dated_path(const struct vault_log *l, char ret[VAULT_PATH_MAX])
{
	time_t now = (time_t)(phx_wall_ms() / 1000);
	struct tm tm;
	char date[24] = "-";
	if (gmtime_r(&now, &tm))
		strftime(date, sizeof(date), "%Y%m%dT%H%M%SZ", &tm);
	snprintf(ret, VAULT_PATH_MAX, "%s.%s-%" PRIu64, l->path, date, l->n_lines);
}

/* The oldest go where an administrator wants no more than so many; the line is there before. */
static void drop_oldest(struct vault_log *l)
{
	PHX_AUTO(phx_list_fini) struct phx_list turned = {0};
	if (!l->keep || phx_vault_log_turned(l->dir, &turned, NULL) < 0)
		return;
	for (uint32_t i = 0; i + l->keep < turned.n; i++) {
		const char *path = PHX_LIST_AT(&turned, struct phx_vault_file, i)->path;
		if (vault_log_add(l, NULL, VAULT_DROPPED " %.80s: vault_log_keep is %u",
				  strrchr(path, '/') + 1, l->keep) == 0)
			unlink(path);
	}
}

static int add_line(struct vault_log *l, const char *said, struct phx_err *err)
{
	char text[LINE_MAX_ - PHX_ANCHOR_HASH_MAX - 2], hash[PHX_ANCHOR_HASH_MAX], line[LINE_MAX_];
	snprintf(text, sizeof(text), "%lld %s", (long long)phx_wall_ms(), said);
	int r = vault_log_chain(l->hash, text, hash);
	if (r < 0)
		return phx_err_set(err, r, "%s: cannot be chained", l->path);
	int n = snprintf(line, sizeof(line), "%s %s\n", hash, text);
	ssize_t written = l->fd < 0 ? -1 : write(l->fd, line, (size_t)n);
	if (written != n) {
		r = written < 0 && errno ? -errno : -ENOSPC;
		if (ftruncate(l->fd, (off_t)l->n_bytes) < 0)
			r = -EIO;
		return phx_err_set(err, r, "%s: cannot be written; what is not logged is not done",
				   l->path);
	}
	l->n_bytes += (uint64_t)n;
	l->n_lines++;
	PHX_STR_SET(l->hash, hash);
	return 0;
}

static int turn(struct vault_log *l, struct phx_err *err)
{
	char old[VAULT_PATH_MAX];
	dated_path(l, old);
	close(l->fd);
	l->fd = -1;
	int r = access(old, F_OK) == 0 ? -EEXIST : rename(l->path, old) < 0 ? -errno : 0;
	if (r < 0) {
		open_file(l, NULL);
		return phx_err_set(err, r, "%s: %s", old, strerror(-r));
	}
	l->n_bytes = 0;
	return open_file(l, err);
}

/* A file that is not the first one begins with how many lines were before it, also if the disk was
 * full when it should have. */
static int begin_file(struct vault_log *l, struct phx_err *err)
{
	char said[64];
	snprintf(said, sizeof(said), VAULT_TURNED " %" PRIu64 " lines", l->n_lines);
	int r = add_line(l, said, err);
	if (r == 0)
		drop_oldest(l);
	return r;
}

int vault_log_add(struct vault_log *l, struct phx_err *err, const char *fmt, ...)
{
	char said[LINE_MAX_ - PHX_ANCHOR_HASH_MAX - 2 - 24];
	int r = l->n_bytes > l->max_bytes ? turn(l, err) : 0;
	r = r == 0 && !l->n_bytes && l->n_lines ? begin_file(l, err) : r;
	if (r < 0)
		return r;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(said, sizeof(said), fmt, ap);
	va_end(ap);
	return add_line(l, said, err);
}
