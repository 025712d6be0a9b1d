/* See fetch.h. Called by steps, packages and job_stage.c, in workers. */
#include "agent/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

struct sink {
	int fd;
	uint64_t n, max;
	struct phx_sha256 *digest;
	const struct fetch_stop *stop; /* may be NULL */
};

static int take(void *arg, const void *data, size_t n, struct phx_err *err)
{
	struct sink *s = arg;
	if (s->stop && s->stop->wanted && s->stop->wanted(s->stop->arg))
		return phx_err_set(err, -ECANCELED, "given up while it came in");
	if (n > s->max - s->n)
		return phx_err_set(err, -EFBIG, "longer than the %" PRIu64 " bytes expected",
				   s->max);
	int r = phx_sha256_add(s->digest, data, n);
	if (r == 0)
		r = phx_write_all(s->fd, data, n);
	if (r < 0)
		return phx_err_set(err, r, "cannot be written: %s", strerror(-r));
	s->n += n;
	return 0;
}

static int check(const struct sink *s, uint64_t size, const char *sha256, const char *found,
		 struct phx_err *err)
{
	if (size && s->n != size)
		return phx_err_set(err, -EBADMSG, "%" PRIu64 " bytes instead of %" PRIu64, s->n,
				   size);
	if (sha256[0] && !phx_str_eq(found, sha256))
		return phx_err_set(err, -EBADMSG, "SHA-256 is %s instead of %s", found, sha256);
	return 0;
}

static int append(struct phx_http_client *c, const char *path, int fd, uint64_t size, uint64_t max,
		  const char *sha256, const struct fetch_stop *stop, struct phx_err *err)
{
	struct sink s = {.fd = fd, .max = size ? size : max, .stop = stop};
	char found[PHX_SHA256_HEX];
	off_t start = lseek(fd, 0, SEEK_END);
	int r = start < 0 ? -errno : phx_sha256_new(&s.digest);
	if (r == 0)
		r = phx_http_fetch(c, path, take, &s, NULL, err);
	if (r == 0) {
		phx_sha256_hex(s.digest, found);
		r = check(&s, size, sha256, found, err);
	}
	phx_sha256_free(s.digest);
	if (r < 0 && start >= 0 && ftruncate(fd, start) < 0)
		r = -errno;
	return r < 0 ? phx_err_prefix(err, r, "%s", path) : 0;
}

int fetch_append(struct phx_http_client *c, const char *path, int fd, uint64_t size, uint64_t max,
		 const char *sha256, struct phx_err *err)
{
	return append(c, path, fd, size, max, sha256, NULL, err);
}

static bool already_right(const char *dest, uint64_t size, const char *sha256)
{
	char found[PHX_SHA256_HEX];
	uint64_t n = 0;
	return sha256[0] && phx_sha256_file(dest, found, &n, NULL) == 0 &&
		phx_str_eq(found, sha256) && (!size || n == size);
}

int fetch_file(struct phx_http_client *c, const char *path, const char *dest, uint64_t size,
	       uint64_t max, const char *sha256, const struct fetch_stop *stop, struct phx_err *err)
{
	if (already_right(dest, size, sha256))
		return 0;
	PHX_AUTO_FREE char *tmp = phx_path("%s.tmp", dest);
	if (!tmp)
		return -ENOMEM;
	PHX_AUTO_CLOSE int fd = open(tmp, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return phx_err_set(err, -errno, "%s: %s", tmp, strerror(errno));
	int r = append(c, path, fd, size, max, sha256, stop, err);
	if (r == 0 && (fsync(fd) < 0 || rename(tmp, dest) < 0))
		r = phx_err_set(err, -errno, "%s: %s", dest, strerror(errno));
	if (r < 0)
		unlink(tmp);
	return r;
}
