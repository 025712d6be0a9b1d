/* The mark beside the journal (PATH.mark): which journal this is, and its last acknowledged event.
 * A journal that ends before its mark is an older copy, or has lost its write-ahead log; the
 * database alone cannot know that. One line of fixed size, written in place at each commit; after a
 * power failure it may be older than the journal, never newer. It is synced about once a second, so
 * that commits need not wait for it. Called by store.c. Never judges. */
#include "store/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

enum { MARK_SIZE = 256, SYNC_MS = 1000, HEX = 2 * PHX_CHAIN_HASH };

static const char form[] = "phoenix journal %s event %020llu hash %s";

static int mark_path(const char *journal, char *ret, size_t size, struct phx_err *err)
{
	if (snprintf(ret, size, "%s.mark", journal) >= (int)size)
		return phx_err_set(err, -ENAMETOOLONG, "journal: the path is too long");
	return 0;
}

/* Formats the line, with its own hash at the end. */
static int format(const struct phx_mark *m, char ret[MARK_SIZE + 1])
{
	uint8_t sum[PHX_CHAIN_HASH];
	char hash[HEX + 1], hex[HEX + 1], text[MARK_SIZE];
	phx_chain_hex(m->chain.hash, hash);
	snprintf(text, sizeof(text), form, m->id, (unsigned long long)m->chain.seq, hash);
	int r = phx_chain_sum(m->chain.seq, text, sum);
	if (r < 0)
		return r;
	phx_chain_hex(sum, hex);
	int n = snprintf(ret, MARK_SIZE + 1, "%s sum %.16s", text, hex);
	memset(ret + n, ' ', (size_t)(MARK_SIZE - 1 - n));
	ret[MARK_SIZE - 1] = '\n';
	ret[MARK_SIZE] = '\0';
	return 0;
}

static bool from_hex(const char *hex, uint8_t ret[PHX_CHAIN_HASH])
{
	for (size_t i = 0; i < PHX_CHAIN_HASH; i++) {
		unsigned byte;
		if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
			return false;
		ret[i] = (uint8_t)byte;
	}
	return true;
}

int phx_mark_read(const char *journal, struct phx_mark *ret, struct phx_err *err)
{
	char path[PHX_STORE_PATH_MAX], text[MARK_SIZE + 1], again[MARK_SIZE + 1],
		hash[HEX + 1] = "";
	unsigned long long seq = 0;
	struct phx_mark m = {0};
	int r = mark_path(journal, path, sizeof(path), err);
	if (r < 0)
		return r;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return errno == ENOENT ? -ENOENT
				       : phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	ssize_t n = read(fd, text, sizeof(text));
	close(fd);
	text[n < 0 ? 0 : n < MARK_SIZE ? n : MARK_SIZE] = '\0';
	bool sound = n == MARK_SIZE &&
		sscanf(text, "phoenix journal %32s event %llu hash %64s", m.id, &seq, hash) == 3 &&
		from_hex(hash, m.chain.hash);
	m.chain.seq = seq;
	if (sound && (r = format(&m, again)) < 0)
		return r;
	if (!sound || memcmp(text, again, MARK_SIZE))
		return phx_err_set(err, -EBADMSG, "%s: damaged", path);
	*ret = m;
	return 0;
}

/* Creates the file, and syncs its directory. */
static int make_file(struct phx_store *s, struct phx_err *err)
{
	char path[PHX_STORE_PATH_MAX], dir[PHX_STORE_PATH_MAX];
	int r = mark_path(s->path, path, sizeof(path), err);
	if (r < 0)
		return r;
	s->marks.fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (s->marks.fd < 0)
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	snprintf(dir, sizeof(dir), "%s", path);
	int parent = open(dirname(dir), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = parent < 0 || fsync(parent) < 0
		? phx_err_set(err, -errno, "%s: %s", dir, strerror(errno))
		: 0;
	if (parent >= 0)
		close(parent);
	return r;
}

int phx_mark_write(struct phx_store *s, bool sync, struct phx_err *err)
{
	struct phx_mark m = {.chain = s->end};
	char text[MARK_SIZE + 1];
	if (!s->path[0])
		return 0;
	snprintf(m.id, sizeof(m.id), "%s", s->id);
	int r = format(&m, text);
	r = r == 0 && s->marks.fd < 0 ? make_file(s, err) : r;
	if (r < 0)
		return r;
	if (pwrite(s->marks.fd, text, MARK_SIZE, 0) != MARK_SIZE)
		return phx_err_set(err, errno ? -errno : -EIO, "%s.mark: %s", s->path,
				   strerror(errno));
	int64_t now = phx_clock_ms();
	if (!sync && now < s->marks.synced_ms + SYNC_MS)
		return 0;
	s->marks.synced_ms = now;
	return fdatasync(s->marks.fd) < 0
		? phx_err_set(err, -errno, "%s.mark: %s", s->path, strerror(errno))
		: 0;
}

void phx_mark_close(struct phx_store *s)
{
	if (s->marks.fd < 0)
		return;
	fdatasync(s->marks.fd);
	close(s->marks.fd);
	s->marks.fd = -1;
}
