/* Which key the vault has certified for each node, and why: what it asks before it certifies
 * another. A file of lines beside the log, the last one of a node counts; the whole of it in memory
 * (10,000 nodes: 3 MB). Called by cert.c. Certifies nothing itself.
 *
 *	NODE KEY START WHY MS		KEY "-": none, the node is gone
 *
 * Without the file the nodes of before are read out of the log. */
#include "vault/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

enum { FILE_MAX = 256 << 20, LINE_MAX_ = 256 };
#define NO_KEY "-"

static struct vault_node *at(const struct vault_certified *c, uint32_t i)
{
	return PHX_LIST_AT(&c->nodes, struct vault_node, i);
}

const struct vault_node *vault_certified_find(const struct vault_certified *c, const char *name)
{
	uint32_t hash = phx_hash_text(name), i;
	for (uint32_t slot = hash; phx_hash_next(&c->by_name, hash, &slot, &i);)
		if (!strcmp(at(c, i)->name, name))
			return at(c, i);
	return NULL;
}

/* Its place in memory; NULL: there is no memory. */
static struct vault_node *take(struct vault_certified *c, const char *name)
{
	struct vault_node *n = (struct vault_node *)vault_certified_find(c, name);
	if (n || phx_hash_put(&c->by_name, phx_hash_text(name), c->nodes.n) < 0)
		return n;
	n = phx_list_push(&c->nodes, sizeof(*n));
	if (n)
		PHX_STR_SET(n->name, name);
	else
		phx_hash_drop(&c->by_name, phx_hash_text(name), c->nodes.n);
	return n;
}

/* ---- the file ---- */

static int format_line(const struct vault_node *n, char ret[LINE_MAX_])
{
	return snprintf(ret, LINE_MAX_, "%s %s %" PRIu64 " %s %" PRId64 "\n", n->name,
			n->key[0] ? n->key : NO_KEY, n->start, n->why, n->ms);
}

static int read_line(struct vault_certified *c, const char *line)
{
	struct vault_node said = {0};
	_Static_assert(PHX_NAME_MAX == 64 && PHX_FINGERPRINT_MAX == 72, "the widths below");
	if (sscanf(line, "%63s %71s %" SCNu64 " %15s %" SCNd64, said.name, said.key, &said.start,
		   said.why, &said.ms) != 5 ||
	    !phx_name_valid(said.name))
		return -EBADMSG;
	if (!strcmp(said.key, NO_KEY))
		said.key[0] = '\0';
	struct vault_node *n = take(c, said.name);
	if (n)
		*n = said;
	return n ? 0 : -ENOMEM;
}

/* A power cut may have left half of a last line, for which nobody was given a certificate. */
static int read_lines(struct vault_certified *c, char *text, struct phx_err *err)
{
	unsigned long number = 1;
	char *line = text;
	for (char *end; (end = strchr(line, '\n')); line = end + 1, number++) {
		*end = '\0';
		int r = read_line(c, line);
		if (r < 0)
			return phx_err_set(err, r, "%s: line %lu is not what the vault writes",
					   c->path, number);
	}
	c->n_lines = number - 1;
	c->n_bytes = (uint64_t)(line - text);
	return 0;
}

static int write_all(struct vault_certified *c, struct phx_err *err)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	char line[LINE_MAX_];
	PHX_LIST_EACH(struct vault_node, n, &c->nodes)
		phx_buf_add(&b, line, (size_t)format_line(n, line));
	int r = b.failed ? -ENOMEM : phx_file_write(c->path, b.n ? b.data : "", b.n, 0600, err);
	c->n_lines = c->nodes.n;
	c->n_bytes = b.n;
	return r;
}

/* ---- nodes of before ---- */

/* "HASH MS cert node NAME serial S days D key KEY" */
static int take_logged(struct vault_certified *c, const char *line)
{
	struct vault_node said = {.why = VAULT_OF_BEFORE};
	if (sscanf(line, "%*64s %" SCNd64 " cert node %63s serial %*63s days %*u key %71s",
		   &said.ms, said.name, said.key) != 3 ||
	    !phx_name_valid(said.name))
		return 0;
	struct vault_node *n = take(c, said.name);
	if (n)
		*n = said;
	return n ? 0 : -ENOMEM;
}

static int read_log(struct vault_certified *c, const char *path, struct phx_err *err)
{
	PHX_AUTO_FREE char *text = NULL;
	int r = phx_file_read(path, FILE_MAX, &text, NULL, err);
	if (r == -ENOENT)
		return 0;
	for (char *line = text, *end; r == 0 && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		r = take_logged(c, line);
	}
	return r;
}

static int begin(struct vault_certified *c, const char *dir, struct phx_err *err)
{
	static const char *const logs[] = {"vault.log.1", "vault.log"}; /* as it was turned then */
	int r = 0;
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(logs); i++) {
		PHX_AUTO_FREE char *path = phx_path("%s/%s", dir, logs[i]);
		r = path ? read_log(c, path, NULL) : -ENOMEM;
	}
	return r < 0 ? phx_err_set(err, r, "%s/vault.log: cannot be read", dir) : write_all(c, err);
}

/* ---- opening ---- */

static int open_file(struct vault_certified *c, struct phx_err *err)
{
	c->fd = open(c->path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	if (c->fd < 0 || ftruncate(c->fd, (off_t)c->n_bytes) < 0)
		return phx_err_set(err, -errno, "%s: %s", c->path, strerror(errno));
	return 0;
}

int vault_certified_open(struct vault_certified *c, const char *dir, struct phx_err *err)
{
	PHX_AUTO_FREE char *text = NULL;
	*c = (struct vault_certified){.fd = -1};
	if (snprintf(c->path, sizeof(c->path), "%s/certified", dir) >= (int)sizeof(c->path))
		return phx_err_set(err, -ENAMETOOLONG, "%s: too long", dir);
	int r = phx_file_read(c->path, FILE_MAX, &text, NULL, err);
	if (r == 0)
		r = read_lines(c, text, err);
	else if (r == -ENOENT)
		r = begin(c, dir, err);
	/* lines that others have replaced go when there are more of them than nodes */
	if (r == 0 && c->n_lines > 2 * (uint64_t)c->nodes.n + 1000)
		r = write_all(c, err);
	r = r ? r : open_file(c, err);
	if (r < 0)
		vault_certified_fini(c);
	return r;
}

void vault_certified_fini(struct vault_certified *c)
{
	if (c->fd > 0)
		close(c->fd);
	phx_hash_fini(&c->by_name);
	phx_list_fini(&c->nodes);
	*c = (struct vault_certified){.fd = -1};
}

/* ---- writing ---- */

int vault_certified_put(struct vault_certified *c, const struct vault_node *said,
			struct phx_err *err)
{
	char line[LINE_MAX_];
	struct vault_node now = *said;
	now.ms = phx_wall_ms();
	int n = format_line(&now, line);
	struct vault_node *to = take(c, now.name);
	if (!to)
		return -ENOMEM;
	ssize_t written = write(c->fd, line, (size_t)n);
	if (written != n || fdatasync(c->fd) < 0) {
		int r = written < 0 && errno ? -errno : -ENOSPC;
		if (ftruncate(c->fd, (off_t)c->n_bytes) < 0)
			r = -EIO;
		return phx_err_set(err, r, "%s: cannot be written: no certificate without it",
				   c->path);
	}
	c->n_bytes += (uint64_t)n;
	c->n_lines++;
	*to = now;
	return 0;
}
