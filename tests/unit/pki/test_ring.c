/* Rings of keys: which are believed, from a directory and from a file; what is no ring; making a
 * key. */
#include <errno.h>
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
#include "pki/ring.h"

struct place {
	char dir[64];
	char ring[96], file[96];
	char key[3][96], pub[3][96]; /* a, b, c: the last is in no ring */
	char *pem[3];
};

static void write_text(const char *path, const char *text)
{
	assert_int_equal(phx_file_write(path, text, strlen(text), 0644, NULL), 0);
}

static void add(struct place *t, int i, const char *name)
{
	char path[160];
	snprintf(path, sizeof(path), "%s/%s.pub", t->ring, name);
	write_text(path, t->pem[i]);
}

static int setup(void **state)
{
	struct place *t = calloc(1, sizeof(*t));
	strcpy(t->dir, "/tmp/phx-test-ring-XXXXXX");
	assert_non_null(mkdtemp(t->dir));
	snprintf(t->ring, sizeof(t->ring), "%s/ring", t->dir);
	snprintf(t->file, sizeof(t->file), "%s/ring.pub", t->dir);
	assert_int_equal(mkdir(t->ring, 0755), 0);
	for (int i = 0; i < 3; i++) {
		PHX_AUTO_FREE char *pub = NULL;
		PHX_AUTO_FREE char *key = phx_path("%s/%c.key", t->dir, 'a' + i);
		strcpy(t->key[i], key);
		assert_int_equal(phx_sign_key_new(key, &pub, NULL), 0);
		strcpy(t->pub[i], pub);
		assert_int_equal(phx_file_read(pub, 4096, &t->pem[i], NULL, NULL), 0);
	}
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct place *t = *state;
	for (int i = 0; i < 3; i++)
		free(t->pem[i]);
	phx_dir_remove(t->dir, NULL);
	free(t);
	return 0;
}

/* Whose signature of "hello" is believed there: "" nobody's. */
static const char *believed(const char *path, const char *key)
{
	static char name[PHX_NAME_MAX];
	uint8_t sig[PHX_SIG_SIZE];
	name[0] = '\0';
	assert_int_equal(phx_sign(key, "hello", 5, sig, NULL), 0);
	int r = phx_ring_verify(path, "hello", 5, sig, name, NULL);
	assert_true(r == 0 || r == -EKEYREJECTED);
	assert_int_equal(phx_ring_verify(path, "hellp", 5, sig, NULL, NULL), -EKEYREJECTED);
	return name;
}

static void any_key_of_a_directory_is_believed(void **state)
{
	struct place *t = *state;
	add(t, 0, "old");
	assert_string_equal(believed(t->ring, t->key[0]), "old");
	assert_string_equal(believed(t->ring, t->key[1]), "");
	add(t, 1, "new");
	assert_string_equal(believed(t->ring, t->key[0]), "old");
	assert_string_equal(believed(t->ring, t->key[1]), "new");
	assert_string_equal(believed(t->ring, t->key[2]), "");
}

static void a_file_holds_several(void **state)
{
	struct place *t = *state;
	PHX_AUTO(phx_list_fini) struct phx_list keys = {0}, again = {0};
	add(t, 0, "a");
	add(t, 1, "b");
	assert_int_equal(phx_ring_read(t->ring, &keys, NULL), 0);
	assert_int_equal(keys.n, 2);
	PHX_AUTO_FREE char *text = phx_ring_text(&keys);
	write_text(t->file, text);
	assert_string_equal(believed(t->file, t->key[0]), "1");
	assert_string_equal(believed(t->file, t->key[1]), "2");
	assert_string_equal(believed(t->file, t->key[2]), "");
	assert_int_equal(phx_ring_read(t->file, &again, NULL), 0);
	for (uint32_t i = 0; i < 2; i++)
		assert_string_equal(PHX_LIST_AT(&keys, struct phx_ring_key, i)->id,
				    PHX_LIST_AT(&again, struct phx_ring_key, i)->id);
}

static void an_empty_ring_believes_nobody(void **state)
{
	struct place *t = *state;
	struct phx_list none = {0};
	PHX_AUTO_FREE char *text = phx_ring_text(&none);
	assert_string_equal(text, "");
	write_text(t->file, text);
	assert_string_equal(believed(t->file, t->key[0]), "");
	assert_string_equal(believed(t->ring, t->key[0]), "");
}

static void refused(const char *path, int code, const char *why)
{
	struct phx_list keys = {0};
	struct phx_err err = {0};
	assert_int_equal(phx_ring_read(path, &keys, &err), code);
	if (!strstr(err.text, why))
		fail_msg("'%s' has no '%s'", err.text, why);
	assert_null(keys.items);
}

static void what_is_no_ring(void **state)
{
	struct place *t = *state;
	char both[2048], cut[512];
	refused("/nonexistent/ring", -ENOENT, "/nonexistent/ring");
	snprintf(both, sizeof(both), "%s\n%s", t->pem[0], t->pem[1]);
	snprintf(cut, sizeof(cut), "%s%.60s", t->pem[0], t->pem[1]);
	const char *const bad[] = {"no key\n", cut,
				   "-----BEGIN PUBLIC KEY-----\nxx\n"
				   "-----END PUBLIC KEY-----\n"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		write_text(t->file, bad[i]);
		refused(t->file, -EINVAL, "not an Ed25519 public key");
	}
	refused(t->key[0], -EINVAL, "not an Ed25519 public key"); /* a private one */
	add(t, 0, "a");
	write_text(t->file, both);
	char path[160];
	snprintf(path, sizeof(path), "%s/b.pub", t->ring);
	write_text(path, both);
	refused(t->ring, -EINVAL, "more than one key");
	write_text(path, "\n");
	refused(t->ring, -EINVAL, "holds no key");
}

/* Whoever may write there says by whom packages are signed. */
static void others_may_not_write_it(void **state)
{
	struct place *t = *state;
	char path[160];
	add(t, 0, "a");
	snprintf(path, sizeof(path), "%s/a.pub", t->ring);
	assert_int_equal(chmod(path, 0666), 0);
	refused(t->ring, -EPERM, "a.pub");
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(chmod(t->ring, 0777), 0);
	refused(t->ring, -EPERM, "ring");
}

static void a_key_is_never_overwritten(void **state)
{
	struct place *t = *state;
	struct phx_err err = {0};
	struct stat st;
	char path[160];
	PHX_AUTO_FREE char *pub = NULL, *odd = NULL;
	assert_int_equal(stat(t->key[0], &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(phx_sign_key_new(t->key[0], &pub, &err), -EEXIST);
	assert_int_equal(unlink(t->key[0]), 0);
	phx_err_clear(&err);
	assert_int_equal(phx_sign_key_new(t->key[0], &pub, &err), -EEXIST);
	assert_non_null(strstr(err.text, "a.pub"));
	assert_true(access(t->key[0], F_OK) < 0);
	snprintf(path, sizeof(path), "%s/mine", t->dir);
	assert_int_equal(phx_sign_key_new(path, &odd, &err), 0);
	assert_non_null(strstr(odd, "/mine.pub"));
	assert_int_equal(phx_sign_key_new("/nonexistent/k.key", &pub, &err), -ENOENT);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(any_key_of_a_directory_is_believed),
		TEST(a_file_holds_several),
		TEST(an_empty_ring_believes_nobody),
		TEST(what_is_no_ring),
		TEST(others_may_not_write_it),
		TEST(a_key_is_never_overwritten),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
