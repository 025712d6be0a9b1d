/* See ring.h. Called for packages and images by the daemon, the agent and the CLI. Knows no
 * private key but the one that it makes. */
#include "pki/ring.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/pem.h>

#include "base/file.h"
#include "pki/internal.h"

PHX_RECORD_TABLE(phx_ring_key, PHX_RING_KEY_FIELDS);

#define SUFFIX ".pub"
#define BEGIN "-----BEGIN PUBLIC KEY-----"
#define END "-----END PUBLIC KEY-----"
#define BLANK " \t\r\n"

static EVP_PKEY *public_of(const char *pem)
{
	PHX_AUTO_BIO BIO *bio = BIO_new_mem_buf(pem, -1);
	return bio ? PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL) : NULL;
}

static char *public_pem(EVP_PKEY *key)
{
	PHX_AUTO_BIO BIO *bio = BIO_new(BIO_s_mem());
	return bio && PEM_write_bio_PUBKEY(bio, key) ? phx_pki_bio_text(bio) : NULL;
}

static int add_key(EVP_PKEY *key, const char *name, const char *path, struct phx_list *keys,
		   struct phx_err *err)
{
	if (!EVP_PKEY_is_a(key, "ED25519"))
		return phx_err_set(err, -EINVAL, "%s: not an Ed25519 public key in PEM", path);
	if (keys->n >= PHX_RING_MAX)
		return phx_err_set(err, -E2BIG, "%s: more than %d keys", path, PHX_RING_MAX);
	PHX_AUTO_FREE char *pem = public_pem(key);
	struct phx_ring_key *k = pem ? phx_list_push(keys, sizeof(*k)) : NULL;
	if (!k)
		return -ENOMEM;
	PHX_STR_SET(k->pem, pem);
	PHX_STR_SET(k->name, name);
	return phx_pki_fingerprint(key, k->id, err);
}

/* The key that begins at *at, which goes behind it; NULL: none does. */
static EVP_PKEY *next_key(const char **at)
{
	const char *end = phx_str_starts(*at, BEGIN) ? strstr(*at, END) : NULL;
	if (!end)
		return NULL;
	PHX_AUTO_FREE char *pem = strndup(*at, (size_t)(end - *at) + strlen(END));
	*at = end + strlen(END);
	EVP_PKEY *key = pem ? public_of(pem) : NULL;
	ERR_clear_error();
	return key;
}

/* The keys of one file: one, as `name`; or, where that is NULL, any number of them. */
static int read_file(const char *path, const char *name, struct phx_list *keys, struct phx_err *err)
{
	PHX_AUTO_FREE char *text = NULL;
	char number[16];
	int r = phx_file_read(path, PHX_PEM_MAX, &text, NULL, err);
	if (r < 0)
		return r;
	const char *at = text + strspn(text, BLANK);
	if (name && !*at)
		return phx_err_set(err, -EINVAL, "%s: holds no key", path);
	for (unsigned n = 1; r == 0 && *at; n++, at += strspn(at, BLANK)) {
		PHX_AUTO_KEY EVP_PKEY *key = next_key(&at);
		snprintf(number, sizeof(number), "%u", n);
		if (!key)
			r = phx_err_set(err, -EINVAL, "%s: not an Ed25519 public key in PEM", path);
		else if (name && n > 1)
			r = phx_err_set(err, -EINVAL, "%s: holds more than one key", path);
		else
			r = add_key(key, name ? name : number, path, keys, err);
	}
	return r;
}

static int is_pub(const struct dirent *e)
{
	size_t n = strlen(e->d_name), n_suffix = strlen(SUFFIX);
	return e->d_name[0] != '.' && n > n_suffix && !strcmp(e->d_name + n - n_suffix, SUFFIX);
}

/* One NAME.pub of a directory. */
static int read_entry(const char *dir, const char *file, struct phx_list *keys, struct phx_err *err)
{
	char name[PHX_NAME_MAX] = "";
	PHX_AUTO_FREE char *path = phx_path("%s/%s", dir, file);
	size_t n = strlen(file) - strlen(SUFFIX);
	if (!path)
		return -ENOMEM;
	if (n < sizeof(name))
		memcpy(name, file, n);
	if (!phx_name_valid(name))
		return phx_err_set(err, -EINVAL, "%s: its name is no name of a key", path);
	int r = phx_file_trusted(path, err);
	return r ? r : read_file(path, name, keys, err);
}

static int read_dir(const char *path, struct phx_list *keys, struct phx_err *err)
{
	struct dirent **names;
	int r = phx_file_trusted(path, err);
	if (r < 0)
		return r;
	int n = scandir(path, &names, is_pub, alphasort);
	if (n < 0)
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	for (int i = 0; i < n; i++) {
		r = r ? r : read_entry(path, names[i]->d_name, keys, err);
		free(names[i]);
	}
	free(names);
	return r;
}

int phx_ring_read(const char *path, struct phx_list *ret_keys, struct phx_err *err)
{
	PHX_AUTO(phx_list_fini) struct phx_list keys = {0};
	struct stat st;
	if (stat(path, &st) < 0)
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	int r = S_ISDIR(st.st_mode) ? read_dir(path, &keys, err)
				    : read_file(path, NULL, &keys, err);
	if (r < 0)
		return r;
	*ret_keys = keys;
	keys = (struct phx_list){0};
	return 0;
}

char *phx_ring_text(const struct phx_list *keys)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	phx_buf_add(&b, "", 0);
	PHX_LIST_EACH(struct phx_ring_key, k, keys)
		phx_buf_addf(&b, "%s", k->pem);
	return b.n ? phx_buf_take(&b) : strdup("");
}

int phx_ring_verify(const char *path, const void *data, size_t n, const uint8_t sig[PHX_SIG_SIZE],
		    char ret_name[PHX_NAME_MAX], struct phx_err *err)
{
	PHX_AUTO(phx_list_fini) struct phx_list keys = {0};
	int r = phx_ring_read(path, &keys, err);
	if (r < 0)
		return r;
	PHX_LIST_EACH(struct phx_ring_key, k, &keys) {
		PHX_AUTO_KEY EVP_PKEY *key = public_of(k->pem);
		if (!key || phx_pki_verify(key, data, n, sig) < 0)
			continue;
		return ret_name ? phx_str_copy(ret_name, PHX_NAME_MAX, k->name) : 0;
	}
	return keys.n ? phx_err_set(err, -EKEYREJECTED,
				    "signature is wrong: not made with a key of %s", path)
		      : phx_err_set(err, -EKEYREJECTED, "%s holds no key", path);
}

int phx_ring_verify_text(const char *path, const char *text, const char *hex,
			 char ret_name[PHX_NAME_MAX], struct phx_err *err)
{
	uint8_t sig[PHX_SIG_SIZE];
	if (phx_pki_unhex(hex, sig, sizeof(sig)) != sizeof(sig))
		return phx_err_set(err, -EKEYREJECTED, "that is no signature");
	return phx_ring_verify(path, text, strlen(text), sig, ret_name, err);
}

int phx_ring_sign(const char *key_pem_path, const char *text, char ret_hex[PHX_SIG_HEX],
		  struct phx_err *err)
{
	uint8_t sig[PHX_SIG_SIZE];
	int r = phx_sign(key_pem_path, text, strlen(text), sig, err);
	if (r == 0)
		phx_hex(sig, sizeof(sig), ret_hex);
	return r;
}

/* ---- making one ---- */

/* Both halves, or none. */
static int write_pair(const char *path, const char *pub_path, EVP_PKEY *key, struct phx_err *err)
{
	PHX_AUTO_SECRET char *pem = phx_pki_key_pem(key);
	PHX_AUTO_FREE char *pub = public_pem(key);
	if (!pem || !pub)
		return phx_pki_fail(err, -EIO, "%s: the key cannot be made", path);
	int r = phx_file_write(path, pem, strlen(pem), 0600, err);
	if (r < 0)
		return r;
	r = phx_file_write(pub_path, pub, strlen(pub), 0644, err);
	if (r < 0)
		unlink(path);
	return r;
}

int phx_sign_key_new(const char *path, char **ret_pub_path, struct phx_err *err)
{
	size_t n = strlen(path);
	bool named = n > 4 && !strcmp(path + n - 4, ".key");
	PHX_AUTO_FREE char *pub = phx_path("%.*s" SUFFIX, (int)(named ? n - 4 : n), path);
	if (!pub)
		return -ENOMEM;
	const char *const both[] = {path, pub};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(both); i++)
		if (access(both[i], F_OK) == 0)
			return phx_err_set(err, -EEXIST, "%s is there: a key is never overwritten",
					   both[i]);
	PHX_AUTO_KEY EVP_PKEY *key = phx_pki_key_new("ED25519", err);
	int r = key ? write_pair(path, pub, key, err) : -EIO;
	if (r == 0)
		*ret_pub_path = PHX_TAKE(pub);
	return r;
}
