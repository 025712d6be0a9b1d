/* Sealed and plain bytes of an archive: see stream.h. Called by make.c and restore.c. Keeps
 * nothing, and wipes what it had. */
#include "backup/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

enum { CHUNK = 65536, TAG = 16, SALT = 16, KEY = 32, NONCE = 12, MAGIC = 16 };
enum { SCRYPT_N = 1 << 17, SCRYPT_R = 8, SCRYPT_P = 1, SCRYPT_MEMORY = 256 << 20 };
static const char magic[MAGIC + 1] = "phoenix-backup-1";

int phx_passphrase_read(const char *path, char ret[PHX_PASSPHRASE_MAX], struct phx_err *err)
{
	struct stat st;
	PHX_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (S_ISREG(st.st_mode) && (st.st_mode & 077))
		return phx_err_set(err, -EPERM, "%s: others may read it: make its mode 0600", path);
	ssize_t n = read(fd, ret, PHX_PASSPHRASE_MAX - 1);
	if (n < 0)
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	ret[n] = '\0';
	ret[strcspn(ret, "\r\n")] = '\0';
	if (strlen(ret) >= PHX_PASSPHRASE_MIN)
		return 0;
	explicit_bzero(ret, PHX_PASSPHRASE_MAX);
	return phx_err_set(err, -EINVAL,
			   "%s: a passphrase has %d characters or more, in the first line", path,
			   PHX_PASSPHRASE_MIN);
}

/* ---- what both directions have ---- */

struct sealing {
	EVP_CIPHER_CTX *ctx;
	uint8_t key[KEY];
	uint64_t chunk; /* number of the next one */
};

static void sealing_fini(struct sealing *s)
{
	EVP_CIPHER_CTX_free(s->ctx);
	explicit_bzero(s, sizeof(*s));
}

static int sealing_init(struct sealing *s, const char *passphrase, const uint8_t salt[SALT],
			struct phx_err *err)
{
	s->ctx = EVP_CIPHER_CTX_new();
	if (s->ctx &&
	    EVP_PBE_scrypt(passphrase, strlen(passphrase), salt, SALT, SCRYPT_N, SCRYPT_R, SCRYPT_P,
			   SCRYPT_MEMORY, s->key, KEY) == 1)
		return 0;
	return phx_err_set(err, -ENOMEM,
			   "no key can be made of the passphrase: 128 MiB are needed");
}

/* The number of the next chunk, and whether it is the last one. */
static void next_nonce(struct sealing *s, bool last, uint8_t ret[NONCE])
{
	memset(ret, 0, NONCE);
	for (int i = 0; i < 8; i++)
		ret[i] = (uint8_t)(s->chunk >> (56 - 8 * i));
	ret[NONCE - 1] = last;
	s->chunk++;
}

static bool seal(struct sealing *s, const uint8_t *from, size_t n, bool last, uint8_t *to)
{
	uint8_t nonce[NONCE];
	int len = 0, end = 0;
	next_nonce(s, last, nonce);
	return EVP_EncryptInit_ex(s->ctx, EVP_aes_256_gcm(), NULL, s->key, nonce) == 1 &&
		EVP_EncryptUpdate(s->ctx, to, &len, from, (int)n) == 1 &&
		EVP_EncryptFinal_ex(s->ctx, to + len, &end) == 1 &&
		EVP_CIPHER_CTX_ctrl(s->ctx, EVP_CTRL_GCM_GET_TAG, TAG, to + n) == 1;
}

static bool unseal(struct sealing *s, uint8_t *from, size_t n, bool last, uint8_t *to)
{
	uint8_t nonce[NONCE];
	int len = 0, end = 0;
	next_nonce(s, last, nonce);
	return EVP_DecryptInit_ex(s->ctx, EVP_aes_256_gcm(), NULL, s->key, nonce) == 1 &&
		EVP_DecryptUpdate(s->ctx, to, &len, from, (int)n) == 1 &&
		EVP_CIPHER_CTX_ctrl(s->ctx, EVP_CTRL_GCM_SET_TAG, TAG, from + n) == 1 &&
		EVP_DecryptFinal_ex(s->ctx, to + len, &end) == 1;
}

/* ---- into a file ---- */

struct phx_backup_out {
	int fd, failed;
	bool sealed;
	struct sealing seal;
	size_t n;
	uint8_t plain[CHUNK], cipher[CHUNK + TAG];
};

static int begin_sealed(struct phx_backup_out *o, const char *passphrase, struct phx_err *err)
{
	uint8_t salt[SALT];
	o->sealed = true;
	if (RAND_bytes(salt, SALT) != 1)
		return phx_err_set(err, -EIO, "no random numbers");
	int r = sealing_init(&o->seal, passphrase, salt, err);
	r = r < 0 ? r : phx_write_all(o->fd, magic, MAGIC);
	return r < 0 ? r : phx_write_all(o->fd, salt, SALT);
}

int phx_backup_out_open(int fd, const char *passphrase, struct phx_backup_out **ret,
			struct phx_err *err)
{
	struct phx_backup_out *o = calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	o->fd = fd;
	int r = passphrase ? begin_sealed(o, passphrase, err) : 0;
	if (r < 0) {
		phx_backup_out_free(o);
		return r;
	}
	*ret = o;
	return 0;
}

static int put_chunk(struct phx_backup_out *o, bool last)
{
	int r = seal(&o->seal, o->plain, o->n, last, o->cipher)
		? phx_write_all(o->fd, o->cipher, o->n + TAG)
		: -EIO;
	o->n = 0;
	return r;
}

int phx_backup_out_write(struct phx_backup_out *o, const void *data, size_t n)
{
	const uint8_t *from = data;
	if (!o->sealed && !o->failed)
		o->failed = phx_write_all(o->fd, data, n);
	while (o->sealed && n && !o->failed) {
		size_t part = n < CHUNK - o->n ? n : CHUNK - o->n;
		memcpy(o->plain + o->n, from, part);
		o->n += part, from += part, n -= part;
		if (o->n == CHUNK)
			o->failed = put_chunk(o, false);
	}
	return o->failed;
}

int phx_backup_out_end(struct phx_backup_out *o)
{
	if (o->sealed && !o->failed)
		o->failed = put_chunk(o, true);
	return o->failed;
}

void phx_backup_out_free(struct phx_backup_out *o)
{
	if (!o)
		return;
	sealing_fini(&o->seal);
	explicit_bzero(o->plain, sizeof(o->plain));
	free(o);
}

/* ---- out of a file ---- */

struct phx_backup_in {
	int fd;
	bool sealed, ended;
	struct sealing seal;
	size_t n; /* bytes in `cipher` */
	uint8_t cipher[CHUNK + TAG +
		       1]; /* a chunk, and one byte that says whether it is the last */
	uint8_t plain[CHUNK];
};

/* Fills `cipher` as far as the file goes. */
static int fill(struct phx_backup_in *i, size_t upto)
{
	while (i->n < upto) {
		ssize_t n = read(i->fd, i->cipher + i->n, upto - i->n);
		if (n == 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		i->n += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int begin_reading(struct phx_backup_in *i, const char *passphrase, struct phx_err *err)
{
	int r = fill(i, MAGIC + SALT);
	if (r < 0)
		return phx_err_set(err, r, "%s", strerror(-r));
	i->sealed = i->n >= MAGIC && !memcmp(i->cipher, magic, MAGIC);
	if (!i->sealed)
		return 0;
	if (!passphrase)
		return phx_err_set(err, -ENOKEY, "it is sealed: say --passphrase-file");
	if (i->n < MAGIC + SALT)
		return phx_err_set(err, -EBADMSG, "it is cut off");
	i->n = 0;
	return sealing_init(&i->seal, passphrase, i->cipher + MAGIC, err);
}

int phx_backup_in_open(int fd, const char *passphrase, struct phx_backup_in **ret,
		       struct phx_err *err)
{
	struct phx_backup_in *i = calloc(1, sizeof(*i));
	if (!i)
		return -ENOMEM;
	i->fd = fd;
	int r = begin_reading(i, passphrase, err);
	if (r < 0) {
		phx_backup_in_free(i);
		return r;
	}
	*ret = i;
	return 0;
}

bool phx_backup_in_sealed(const struct phx_backup_in *i)
{
	return i->sealed;
}

static ssize_t read_plain(struct phx_backup_in *i, const void **ret, struct phx_err *err)
{
	ssize_t n = (ssize_t)i->n;
	*ret = i->cipher;
	i->n = 0;
	if (n)
		return n;
	while ((n = read(i->fd, i->plain, CHUNK)) < 0 && errno == EINTR)
		continue;
	*ret = i->plain;
	return n < 0 ? phx_err_set(err, -errno, "%s", strerror(errno)) : n;
}

ssize_t phx_backup_in_read(struct phx_backup_in *i, const void **ret, struct phx_err *err)
{
	if (!i->sealed)
		return read_plain(i, ret, err);
	if (i->ended)
		return 0;
	int r = fill(i, sizeof(i->cipher));
	if (r < 0)
		return phx_err_set(err, r, "%s", strerror(-r));
	bool last = i->n < sizeof(i->cipher);
	size_t n = i->n - (last ? 0 : 1);
	if (n < TAG || !unseal(&i->seal, i->cipher, n - TAG, last, i->plain))
		return phx_err_set(err, -EBADMSG,
				   i->seal.chunk > 1
					   ? "it was altered or cut off"
					   : "it was altered or cut off, or the passphrase is "
					     "another one");
	i->cipher[0] = i->cipher[n];
	i->n = last ? 0 : 1;
	i->ended = last;
	*ret = i->plain;
	return (ssize_t)(n - TAG);
}

void phx_backup_in_free(struct phx_backup_in *i)
{
	if (!i)
		return;
	sealing_fini(&i->seal);
	explicit_bzero(i->plain, sizeof(i->plain));
	free(i);
}
