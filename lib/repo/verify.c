/* Signatures of packages, and what a package says of itself. Called by the
 * repository, unpack and the CLI. An archive whose signature is wrong is never
 * given to the archive reader. */
#include "repo/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

/* What is signed names its kind, so that no other signature of the site's key fits. */
static void signed_text(const char hex[PHX_SHA256_HEX], char *buf, size_t buf_size)
{
	snprintf(buf, buf_size, "phoenix package sha256 %s\n", hex);
}

static int digest_rest(int fd, struct phx_sha256 *d, uint64_t *ret_size)
{
	char chunk[65536];
	for (uint64_t size = 0;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0) {
			*ret_size = size;
			return 0;
		}
		int r = phx_sha256_add(d, chunk, (size_t)n);
		if (r < 0)
			return r;
		size += (uint64_t)n;
	}
}

/* SHA-256 of `fd` from its beginning, and its size. */
static int digest_fd(int fd, char ret_hex[PHX_SHA256_HEX], uint64_t *ret_size, struct phx_err *err)
{
	struct phx_sha256 *d;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return phx_err_set(err, -errno, "%s", strerror(errno));
	int r = phx_sha256_new(&d);
	if (r < 0)
		return r;
	uint64_t size = 0;
	r = digest_rest(fd, d, &size);
	if (r == 0) {
		phx_sha256_hex(d, ret_hex);
		*ret_size = size;
	}
	phx_sha256_free(d);
	return r < 0 ? phx_err_set(err, r, "%s", strerror(-r)) : 0;
}

static int open_package(const char *path, int *ret_fd, struct phx_err *err)
{
	struct stat st;
	PHX_AUTO_CLOSE int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return phx_err_set(err, -errno, "%s", strerror(errno));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return phx_err_set(err, -EINVAL, "not a file");
	*ret_fd = fd;
	fd = -1;
	return 0;
}

/* The open package, its digest and size. */
static int open_digested(const char *path, int *ret_fd, char ret_hex[PHX_SHA256_HEX],
			 uint64_t *ret_size, struct phx_err *err)
{
	int r = open_package(path, ret_fd, err);
	return r ? r : digest_fd(*ret_fd, ret_hex, ret_size, err);
}

static int check_signature(const char *path, const char *ring, const char hex[PHX_SHA256_HEX],
			   char ret_signer[PHX_NAME_MAX], struct phx_err *err)
{
	PHX_AUTO_FREE char *sig_path = phx_path("%s.sig", path);
	if (!sig_path)
		return -ENOMEM;
	PHX_AUTO_FREE char *sig = NULL;
	size_t n = 0;
	struct phx_err why = {0};
	int r = phx_file_read(sig_path, PHX_SIG_SIZE, &sig, &n, &why);
	if (r == -ENOENT)
		return phx_err_set(err, -EKEYREJECTED, "no signature (%s)", sig_path);
	if (r < 0 && r != -EFBIG)
		return phx_err_set(err, r, "%s", why.text);
	if (r == -EFBIG || n != PHX_SIG_SIZE)
		return phx_err_set(err, -EKEYREJECTED, "%s: not a signature (%d bytes expected)",
				   sig_path, PHX_SIG_SIZE);
	char text[128];
	signed_text(hex, text, sizeof(text));
	r = phx_ring_verify(ring, text, strlen(text), (const uint8_t *)sig, ret_signer, &why);
	if (r == -EKEYREJECTED)
		return phx_err_set(err, r, "altered, or not signed by a key of %s", ring);
	return r < 0 ? phx_err_set(err, r, "%s", why.text) : 0;
}

int phx_package_open_signed(const char *path, const char *ring, int *ret_fd,
			    struct phx_package *ret, struct phx_err *err)
{
	PHX_AUTO_CLOSE int fd = -1;
	struct phx_package p = {0};
	int r = open_digested(path, &fd, p.sha256, &p.size_bytes, err);
	if (r == 0)
		r = check_signature(path, ring, p.sha256, p.signed_by, err);
	if (r < 0)
		return phx_err_prefix(err, r, "%s", path);
	*ret_fd = fd;
	fd = -1;
	*ret = p;
	return 0;
}

void phx_package_was_opened(struct phx_package *p, const struct phx_package *opened)
{
	PHX_STR_SET(p->sha256, opened->sha256);
	PHX_STR_SET(p->signed_by, opened->signed_by);
}

char *phx_repo_ring(const char *package_key_dir, const char *pki_dir)
{
	return access(package_key_dir, F_OK) == 0 ? strdup(package_key_dir)
						  : phx_path("%s/site.pub", pki_dir);
}

int phx_package_sign(const char *path, const char *key_pem_path, struct phx_err *err)
{
	PHX_AUTO_CLOSE int fd = -1;
	char hex[PHX_SHA256_HEX], text[128];
	uint64_t size;
	uint8_t sig[PHX_SIG_SIZE];
	int r = open_digested(path, &fd, hex, &size, err);
	if (r < 0)
		return phx_err_prefix(err, r, "%s", path);
	signed_text(hex, text, sizeof(text));
	r = phx_sign(key_pem_path, text, strlen(text), sig, err);
	if (r < 0)
		return r;
	PHX_AUTO_FREE char *sig_path = phx_path("%s.sig", path);
	return sig_path ? phx_file_write(sig_path, sig, sizeof(sig), 0644, err) : -ENOMEM;
}

/* Manifest of the open package; everything is read when `whole`. */
static int read_package(int fd, bool whole, const char hex[PHX_SHA256_HEX], struct phx_package *ret,
			struct phx_err *err)
{
	struct phx_package_walk w;
	int r = phx_walk_open(&w, fd, NULL, err);
	if (r < 0)
		return r;
	if (whole)
		r = phx_walk_all(&w, err);
	if (r == 0) {
		*ret = w.manifest;
		PHX_STR_SET(ret->sha256, hex);
	}
	phx_walk_close(&w);
	return r;
}

int phx_package_verify(const char *path, const char *ring, struct phx_package *ret,
		       struct phx_err *err)
{
	PHX_AUTO_CLOSE int fd = -1;
	struct phx_package opened;
	int r = phx_package_open_signed(path, ring, &fd, &opened, err);
	if (r < 0)
		return r;
	r = read_package(fd, false, opened.sha256, ret, err);
	if (r == 0)
		phx_package_was_opened(ret, &opened);
	return r < 0 ? phx_err_prefix(err, r, "%s", path) : 0;
}

int phx_package_inspect(const char *path, struct phx_package *ret, struct phx_err *err)
{
	PHX_AUTO_CLOSE int fd = -1;
	char hex[PHX_SHA256_HEX];
	uint64_t size;
	int r = open_digested(path, &fd, hex, &size, err);
	if (r == 0)
		r = read_package(fd, true, hex, ret, err);
	return r < 0 ? phx_err_prefix(err, r, "%s", path) : 0;
}
