/* Ed25519 signatures and SHA-256 digests. Called for packages, images and erase records by the
 * daemon, the agent and the CLI; reads keys and files, writes nothing. */
#include "pki/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <openssl/pem.h>

#include "base/file.h"

#define FILE_CHUNK (256u * 1024)

int phx_sign(const char *key_pem_path, const void *data, size_t n, uint8_t ret_sig[PHX_SIG_SIZE],
	     struct phx_err *err)
{
	PHX_AUTO_SECRET char *pem = NULL;
	int r = phx_file_read(key_pem_path, PHX_PEM_MAX, &pem, NULL, err);
	if (r < 0)
		return r;
	PHX_AUTO_KEY EVP_PKEY *key = phx_pki_key_parse(pem, key_pem_path, err);
	if (!key)
		return -EINVAL;
	if (!EVP_PKEY_is_a(key, "ED25519"))
		return phx_err_set(err, -EINVAL, "%s: not an Ed25519 key", key_pem_path);
	PHX_AUTO_MD EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	uint8_t sig[PHX_SIG_SIZE];
	size_t n_sig = sizeof(sig);
	if (!ctx || EVP_DigestSignInit(ctx, NULL, NULL, NULL, key) != 1 ||
	    EVP_DigestSign(ctx, sig, &n_sig, data, n) != 1 || n_sig != sizeof(sig))
		return phx_pki_fail(err, -EIO, "%s: cannot sign", key_pem_path);
	memcpy(ret_sig, sig, sizeof(sig));
	return 0;
}

static int read_public(const char *path, EVP_PKEY **ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *pem = NULL;
	int r = phx_file_read(path, PHX_PEM_MAX, &pem, NULL, err);
	if (r < 0)
		return r;
	PHX_AUTO_BIO BIO *bio = BIO_new_mem_buf(pem, -1);
	PHX_AUTO_KEY EVP_PKEY *key = bio ? PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL) : NULL;
	if (!key || !EVP_PKEY_is_a(key, "ED25519"))
		return phx_pki_fail(err, -EINVAL, "%s: not an Ed25519 public key in PEM", path);
	*ret = PHX_TAKE(key);
	return 0;
}

int phx_pki_verify(EVP_PKEY *key, const void *data, size_t n, const uint8_t sig[PHX_SIG_SIZE])
{
	PHX_AUTO_MD EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	if (!ctx || EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, key) != 1)
		return -EIO;
	return EVP_DigestVerify(ctx, sig, PHX_SIG_SIZE, data, n) == 1 ? 0 : -EKEYREJECTED;
}

int phx_verify(const char *pub_pem_path, const void *data, size_t n,
	       const uint8_t sig[PHX_SIG_SIZE], struct phx_err *err)
{
	PHX_AUTO_KEY EVP_PKEY *key = NULL;
	int r = read_public(pub_pem_path, &key, err);
	if (r < 0)
		return r;
	r = phx_pki_verify(key, data, n, sig);
	if (r == -EKEYREJECTED)
		return phx_pki_fail(err, r, "signature is wrong: not made with the key of %s",
				    pub_pem_path);
	return r < 0 ? phx_pki_fail(err, r, "%s: cannot verify", pub_pem_path) : 0;
}

int phx_pub_fingerprint(const char *pub_pem_path, char ret_fp[PHX_FINGERPRINT_MAX],
			struct phx_err *err)
{
	PHX_AUTO_KEY EVP_PKEY *key = NULL;
	int r = read_public(pub_pem_path, &key, err);
	return r < 0 ? r : phx_pki_fingerprint(key, ret_fp, err);
}

struct phx_sha256 {
	EVP_MD_CTX *ctx;
	bool ended;
};

int phx_sha256_new(struct phx_sha256 **ret)
{
	struct phx_sha256 *d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->ctx = EVP_MD_CTX_new();
	if (!d->ctx || EVP_DigestInit_ex2(d->ctx, EVP_sha256(), NULL) != 1) {
		phx_sha256_free(d);
		return -ENOMEM;
	}
	*ret = d;
	return 0;
}

int phx_sha256_add(struct phx_sha256 *d, const void *data, size_t n)
{
	return !d->ended && EVP_DigestUpdate(d->ctx, data, n) == 1 ? 0 : -EIO;
}

void phx_sha256_hex(struct phx_sha256 *d, char ret_hex[PHX_SHA256_HEX])
{
	unsigned char digest[32] = {0};
	unsigned n = 0;
	/* A second call gives an empty text, which equals no digest. */
	ret_hex[0] = '\0';
	if (d->ended || EVP_DigestFinal_ex(d->ctx, digest, &n) != 1)
		return;
	d->ended = true;
	phx_hex(digest, n, ret_hex);
}

void phx_sha256_free(struct phx_sha256 *d)
{
	if (!d)
		return;
	EVP_MD_CTX_free(d->ctx);
	free(d);
}

static void free_sha256(struct phx_sha256 **d)
{
	phx_sha256_free(*d);
}

static int digest_fd(int fd, struct phx_sha256 *d, uint64_t *ret_size)
{
	PHX_AUTO_FREE char *chunk = malloc(FILE_CHUNK);
	if (!chunk)
		return -ENOMEM;
	uint64_t size = 0;
	for (;;) {
		ssize_t n = read(fd, chunk, FILE_CHUNK);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		int r = phx_sha256_add(d, chunk, (size_t)n);
		if (r < 0)
			return r;
		size += (uint64_t)n;
	}
	*ret_size = size;
	return 0;
}

int phx_sha256_of(const void *data, size_t n, char ret_hex[PHX_SHA256_HEX])
{
	struct phx_sha256 *d = NULL;
	int r = phx_sha256_new(&d);
	if (r == 0)
		r = phx_sha256_add(d, data, n);
	if (r == 0)
		phx_sha256_hex(d, ret_hex);
	phx_sha256_free(d);
	return r;
}

int phx_sha256_file(const char *path, char ret_hex[PHX_SHA256_HEX], uint64_t *ret_size,
		    struct phx_err *err)
{
	PHX_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	PHX_AUTO(free_sha256) struct phx_sha256 *d = NULL;
	uint64_t size = 0;
	int r = phx_sha256_new(&d);
	if (r == 0)
		r = digest_fd(fd, d, &size);
	if (r < 0)
		return phx_err_set(err, r, "%s: %s", path, strerror(-r));
	phx_sha256_hex(d, ret_hex);
	if (ret_size)
		*ret_size = size;
	return 0;
}
