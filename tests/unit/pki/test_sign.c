/* Signatures, digests, the disk-key store: right, wrong, cut, destroyed. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/tree.h"
#include "pki/pki.h"

struct place {
	char dir[64];
	char key[96], pub[96], keys[96];
	struct phx_pki *pki;
};

static int setup(void **state)
{
	struct place *t = calloc(1, sizeof(*t));
	strcpy(t->dir, "/tmp/phx-test-sign-XXXXXX");
	assert_non_null(mkdtemp(t->dir));
	assert_int_equal(phx_pki_open(t->dir, NULL, 0, &t->pki, NULL), 0);
	snprintf(t->key, sizeof(t->key), "%s/site.key", t->dir);
	snprintf(t->pub, sizeof(t->pub), "%s/site.pub", t->dir);
	snprintf(t->keys, sizeof(t->keys), "%s/keys", t->dir);
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct place *t = *state;
	phx_pki_free(t->pki);
	phx_dir_remove(t->dir, NULL);
	free(t);
	return 0;
}

static void test_sign_and_verify(void **state)
{
	struct place *t = *state;
	uint8_t sig[PHX_SIG_SIZE];
	assert_int_equal(phx_sign(t->key, "hello", 5, sig, NULL), 0);
	assert_int_equal(phx_verify(t->pub, "hello", 5, sig, NULL), 0);
	assert_int_equal(phx_sign(t->key, "", 0, sig, NULL), 0);
	assert_int_equal(phx_verify(t->pub, "", 0, sig, NULL), 0);
}

static void test_wrong_signatures(void **state)
{
	struct place *t = *state;
	uint8_t sig[PHX_SIG_SIZE];
	struct phx_err err = {0};
	assert_int_equal(phx_sign(t->key, "hello", 5, sig, NULL), 0);
	assert_int_equal(phx_verify(t->pub, "hellp", 5, sig, &err), -EKEYREJECTED);
	assert_non_null(strstr(err.text, "signature is wrong"));
	assert_int_equal(phx_verify(t->pub, "hell", 4, sig, NULL), -EKEYREJECTED);
	for (size_t i = 0; i < sizeof(sig); i++) {
		sig[i] ^= 0x10;
		assert_int_equal(phx_verify(t->pub, "hello", 5, sig, NULL), -EKEYREJECTED);
		sig[i] ^= 0x10;
	}
	memset(sig, 0, sizeof(sig));
	assert_int_equal(phx_verify(t->pub, "hello", 5, sig, NULL), -EKEYREJECTED);
}

static void test_wrong_keys(void **state)
{
	struct place *t = *state;
	uint8_t sig[PHX_SIG_SIZE];
	struct phx_err err = {0};
	char path[128];
	snprintf(path, sizeof(path), "%s/ca.key", t->dir);
	assert_int_equal(phx_sign(path, "x", 1, sig, &err), -EINVAL);
	assert_non_null(strstr(err.text, "not an Ed25519 key"));
	phx_err_clear(&err);
	assert_int_equal(phx_sign(t->pub, "x", 1, sig, &err), -EINVAL);
	assert_non_null(strstr(err.text, "site.pub"));
	phx_err_clear(&err);
	assert_int_equal(phx_verify(t->key, "x", 1, sig, &err), -EINVAL);
	assert_non_null(strstr(err.text, "not an Ed25519 public key"));
	assert_int_equal(phx_sign("/nonexistent/key", "x", 1, sig, NULL), -ENOENT);
	assert_int_equal(phx_verify("/nonexistent/key", "x", 1, sig, NULL), -ENOENT);
	/* another site's key */
	struct phx_pki *other = NULL;
	snprintf(path, sizeof(path), "%s/other", t->dir);
	assert_int_equal(phx_pki_open(path, NULL, 0, &other, NULL), 0);
	phx_pki_free(other);
	snprintf(path, sizeof(path), "%s/other/site.pub", t->dir);
	assert_int_equal(phx_sign(t->key, "hello", 5, sig, NULL), 0);
	assert_int_equal(phx_verify(path, "hello", 5, sig, NULL), -EKEYREJECTED);
}

static void test_sha256(void **state)
{
	struct place *t = *state;
	struct phx_sha256 *d = NULL;
	char hex[PHX_SHA256_HEX];
	assert_int_equal(phx_sha256_new(&d), 0);
	assert_int_equal(phx_sha256_add(d, "a", 1), 0);
	assert_int_equal(phx_sha256_add(d, "bc", 2), 0);
	phx_sha256_hex(d, hex);
	assert_string_equal(hex,
			    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	phx_sha256_hex(d, hex);
	assert_string_equal(hex, "");
	phx_sha256_free(d);
	phx_sha256_free(NULL);
	char path[128];
	uint64_t size = 0;
	snprintf(path, sizeof(path), "%s/file", t->dir);
	assert_int_equal(phx_file_write(path, "abc", 3, 0600, NULL), 0);
	assert_int_equal(phx_sha256_file(path, hex, &size, NULL), 0);
	assert_string_equal(hex,
			    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	assert_int_equal(size, 3);
	assert_int_equal(phx_sha256_file("/nonexistent", hex, &size, NULL), -ENOENT);
	assert_int_equal(phx_sha256_file(t->dir, hex, &size, NULL), -EISDIR);
}

static void test_sha256_big_file(void **state)
{
	struct place *t = *state;
	char path[128], hex[PHX_SHA256_HEX];
	uint64_t size = 0;
	size_t n = 1000000;
	PHX_AUTO_FREE char *data = malloc(n);
	memset(data, 'a', n);
	snprintf(path, sizeof(path), "%s/big", t->dir);
	assert_int_equal(phx_file_write(path, data, n, 0600, NULL), 0);
	assert_int_equal(phx_sha256_file(path, hex, &size, NULL), 0);
	/* the million-a vector of FIPS 180 */
	assert_string_equal(hex,
			    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	assert_int_equal(size, n);
}

/* ---- disk keys ---- */

static void test_key_life(void **state)
{
	struct place *t = *state;
	uint8_t a[PHX_DISK_KEY_SIZE], b[PHX_DISK_KEY_SIZE];
	struct phx_err err = {0};
	struct stat st;
	char path[128];
	assert_int_equal(phx_diskkey_make(t->keys, "node1-1", NULL), 0);
	assert_int_equal(stat(t->keys, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	snprintf(path, sizeof(path), "%s/node1-1", t->keys);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_size, PHX_DISK_KEY_SIZE);
	assert_int_equal(phx_diskkey_read(t->keys, "node1-1", a, NULL), 0);
	assert_int_equal(phx_diskkey_make(t->keys, "node1-1", &err), -EEXIST);
	assert_non_null(strstr(err.text, "exists already"));
	assert_int_equal(phx_diskkey_read(t->keys, "node1-1", b, NULL), 0);
	assert_memory_equal(a, b, sizeof(a));
	assert_int_equal(phx_diskkey_make(t->keys, "node2-1", NULL), 0);
	assert_int_equal(phx_diskkey_read(t->keys, "node2-1", b, NULL), 0);
	assert_memory_not_equal(a, b, sizeof(a));
	assert_int_equal(phx_diskkey_destroy(t->keys, "node1-1", NULL), 0);
	assert_int_equal(phx_diskkey_destroy(t->keys, "node1-1", NULL), 0);
	assert_int_equal(access(path, F_OK), -1);
	phx_err_clear(&err);
	memset(b, 7, sizeof(b));
	assert_int_equal(phx_diskkey_read(t->keys, "node1-1", b, &err), -ENOENT);
	assert_int_equal(b[0], 7);
	assert_non_null(strstr(err.text, "never made, or destroyed"));
	/* made anew, it is another key */
	assert_int_equal(phx_diskkey_make(t->keys, "node1-1", NULL), 0);
	assert_int_equal(phx_diskkey_read(t->keys, "node1-1", b, NULL), 0);
	assert_memory_not_equal(a, b, sizeof(a));
}

/* The blocks themselves are overwritten: a second name of the file shows what they hold. */
static void test_destroy_overwrites_in_place(void **state)
{
	struct place *t = *state;
	char path[128], second[128];
	uint8_t zeros[PHX_DISK_KEY_SIZE] = {0};
	assert_int_equal(phx_diskkey_make(t->keys, "k", NULL), 0);
	snprintf(path, sizeof(path), "%s/k", t->keys);
	snprintf(second, sizeof(second), "%s/second", t->dir);
	assert_int_equal(link(path, second), 0);
	assert_int_equal(phx_diskkey_destroy(t->keys, "k", NULL), 0);
	char *data = NULL;
	size_t n = 0;
	assert_int_equal(phx_file_read(second, 4096, &data, &n, NULL), 0);
	assert_int_equal(n, sizeof(zeros));
	assert_memory_equal(data, zeros, sizeof(zeros));
	free(data);
}

static void put_key(struct place *t, const char *id, const void *data, size_t n)
{
	char path[128];
	assert_int_equal(phx_dir_make(t->keys, 0700, NULL), 0);
	snprintf(path, sizeof(path), "%s/%s", t->keys, id);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, n), (ssize_t)n);
	close(fd);
}

static void test_crashes_in_between(void **state)
{
	struct place *t = *state;
	uint8_t key[PHX_DISK_KEY_SIZE], long_key[PHX_DISK_KEY_SIZE + 1];
	uint8_t zeros[PHX_DISK_KEY_SIZE] = {0};
	struct phx_err err = {0};
	/* cut while making: empty, short */
	put_key(t, "empty", "", 0);
	put_key(t, "short", "0123456789", 10);
	/* cut while destroying: overwritten, not yet unlinked */
	put_key(t, "zeros", zeros, sizeof(zeros));
	static const char *const ids[] = {"empty", "short", "zeros"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(ids); i++) {
		assert_int_equal(phx_diskkey_read(t->keys, ids[i], key, NULL), -ENOENT);
		assert_int_equal(phx_diskkey_make(t->keys, ids[i], NULL), 0);
		assert_int_equal(phx_diskkey_read(t->keys, ids[i], key, NULL), 0);
		assert_int_equal(phx_diskkey_destroy(t->keys, ids[i], NULL), 0);
	}
	memset(long_key, 1, sizeof(long_key));
	put_key(t, "long", long_key, sizeof(long_key));
	assert_int_equal(phx_diskkey_read(t->keys, "long", key, &err), -EBADMSG);
	assert_int_equal(phx_diskkey_make(t->keys, "long", NULL), -EEXIST);
	assert_int_equal(phx_diskkey_destroy(t->keys, "long", NULL), 0);
}

static void test_bad_key_ids(void **state)
{
	struct place *t = *state;
	uint8_t key[PHX_DISK_KEY_SIZE];
	static const char *const bad[] = {"", ".", "..", "../site.key", "a/b", ".hidden"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		struct phx_err err = {0};
		assert_int_equal(phx_diskkey_make(t->keys, bad[i], &err), -EINVAL);
		assert_non_null(strstr(err.text, "is not a key id"));
		assert_int_equal(phx_diskkey_read(t->keys, bad[i], key, NULL), -EINVAL);
		assert_int_equal(phx_diskkey_destroy(t->keys, bad[i], NULL), -EINVAL);
	}
	assert_int_equal(access(t->key, F_OK), 0);
}

static void test_symlinks_refused(void **state)
{
	struct place *t = *state;
	uint8_t key[PHX_DISK_KEY_SIZE];
	char path[128];
	assert_int_equal(phx_dir_make(t->keys, 0700, NULL), 0);
	snprintf(path, sizeof(path), "%s/link", t->keys);
	assert_int_equal(symlink(t->key, path), 0);
	assert_int_equal(phx_diskkey_make(t->keys, "link", NULL), -ELOOP);
	assert_int_equal(phx_diskkey_read(t->keys, "link", key, NULL), -ELOOP);
	assert_int_equal(phx_diskkey_destroy(t->keys, "link", NULL), -ELOOP);
	assert_int_equal(phx_diskkey_destroy("/nonexistent/dir", "k", NULL), 0);
}

static void *make_once(void *arg)
{
	struct place *t = arg;
	return (void *)(intptr_t)phx_diskkey_make(t->keys, "race", NULL);
}

static void test_two_makers(void **state)
{
	struct place *t = *state;
	for (int round = 0; round < 20; round++) {
		pthread_t threads[4];
		int made = 0;
		for (size_t i = 0; i < PHX_ARRAY_SIZE(threads); i++)
			assert_int_equal(pthread_create(&threads[i], NULL, make_once, t), 0);
		for (size_t i = 0; i < PHX_ARRAY_SIZE(threads); i++) {
			void *r = NULL;
			pthread_join(threads[i], &r);
			made += (intptr_t)r == 0;
			assert_true((intptr_t)r == 0 || (intptr_t)r == -EEXIST);
		}
		assert_int_equal(made, 1);
		assert_int_equal(phx_diskkey_destroy(t->keys, "race", NULL), 0);
	}
}

#define PLACE_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLACE_TEST(test_sign_and_verify),
		PLACE_TEST(test_wrong_signatures),
		PLACE_TEST(test_wrong_keys),
		PLACE_TEST(test_sha256),
		PLACE_TEST(test_sha256_big_file),
		PLACE_TEST(test_key_life),
		PLACE_TEST(test_destroy_overwrites_in_place),
		PLACE_TEST(test_crashes_in_between),
		PLACE_TEST(test_bad_key_ids),
		PLACE_TEST(test_symlinks_refused),
		PLACE_TEST(test_two_makers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
