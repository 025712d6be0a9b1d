/* Layout, LUKS2, finding the system again, growing. What needs the device
 * mapper is skipped where the kernel has none. */
#include <libcryptsetup.h>
#include <sys/mount.h>

#include "unit/disk/help.h"

enum { SIZE = 300 * MIB };
static const uint8_t key[64] = {1, 2, 3, 0, 5, 6, 255, 8, [63] = 77};
static const uint8_t other_key[64] = {1, 2, 3, 0, 5, 6, 255, 9, [63] = 77};

struct bench {
	struct place *p;
	struct phx_err err;
};

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	b->p = place_new(SIZE);
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;
	place_free(b->p);
	free(b);
	return 0;
}

static bool has_device_mapper(void)
{
	PHX_AUTO_FREE char *text = NULL;
	size_t n;
	return phx_file_read("/proc/misc", 65536, &text, &n, NULL) == 0 &&
		strstr(text, "device-mapper");
}

static void assert_signature(const char *path, const char *type)
{
	char now[32];
	assert_int_equal(phx_signature_read(path, 0, 0, now, NULL), 0);
	assert_string_equal(now, type);
}

/* ---- LUKS on a regular file ---- */

/* 0 when the key opens a slot, -EPERM when it does not; needs no device mapper. */
static int try_key(const char *device, const void *k, size_t n)
{
	struct crypt_device *cd = NULL;
	assert_int_equal(crypt_init(&cd, device), 0);
	int r = crypt_load(cd, CRYPT_LUKS2, NULL);
	r = r < 0 ? r : crypt_activate_by_passphrase(cd, NULL, CRYPT_ANY_SLOT, k, n, 0);
	crypt_free(cd);
	return r == -ENOENT ? -EPERM : r < 0 ? r : 0;
}

static void test_luks_format(void **state)
{
	struct bench *b = *state;
	char id[64];
	assert_int_equal(phx_luks_format(b->p->file, key, sizeof(key), "node1-7", &b->err), 0);
	assert_signature(b->p->file, "crypto_LUKS");
	assert_int_equal(phx_luks_key_id(b->p->file, id, &b->err), 0);
	assert_string_equal(id, "node1-7");
	assert_int_equal(try_key(b->p->file, key, sizeof(key)), 0);
}

static void test_luks_wrong_keys(void **state)
{
	struct bench *b = *state;
	assert_int_equal(phx_luks_format(b->p->file, key, sizeof(key), "node1-7", &b->err), 0);
	assert_int_equal(try_key(b->p->file, other_key, sizeof(key)), -EPERM);
	assert_int_equal(try_key(b->p->file, key, sizeof(key) - 1), -EPERM);
	assert_int_equal(try_key(b->p->file, "", 0), -EPERM);
}

static void test_luks_cheap_slots(void **state)
{
	struct bench *b = *state;
	static char head[65536];
	assert_int_equal(phx_luks_format(b->p->file, key, sizeof(key), "node1-7", &b->err), 0);
	get(b->p->file, 4096, head, sizeof(head) - 1);
	assert_non_null(strstr(head, "\"type\":\"pbkdf2\""));
	assert_non_null(strstr(head, "\"iterations\":1000"));
	assert_null(strstr(head, "argon2"));
	assert_non_null(strstr(head, "\"key_id\":\"node1-7\""));
}

static void test_luks_key_is_not_on_the_disk(void **state)
{
	struct bench *b = *state;
	assert_int_equal(phx_luks_format(b->p->file, key, sizeof(key), "node1-7", &b->err), 0);
	assert_int_equal(search(b->p->file, key, 16), -1);
}

static void test_luks_destroyed(void **state)
{
	struct bench *b = *state;
	assert_int_equal(phx_luks_format(b->p->file, key, sizeof(key), "node1-7", &b->err), 0);
	assert_int_equal(phx_luks_destroy(b->p->file, &b->err), 1);
	assert_int_equal(try_key(b->p->file, key, sizeof(key)), -EPERM);
	assert_int_equal(phx_luks_destroy(b->p->file, &b->err), 0);
}

static void test_luks_is_not_there(void **state)
{
	struct bench *b = *state;
	char id[64] = "untouched", root[64];
	assert_int_equal(phx_luks_key_id(b->p->file, id, &b->err), -ENOENT);
	assert_text(b->err, "LUKS2");
	assert_string_equal(id, "untouched");
	assert_int_equal(phx_luks_destroy(b->p->file, NULL), -ENOENT);
	assert_int_equal(phx_luks_open(b->p->file, key, sizeof(key), root, NULL), -ENOENT);
}

/* One damaged header is healed from its copy, two are the end. */
static void test_luks_damaged(void **state)
{
	struct bench *b = *state;
	static uint8_t zeros[4096];
	char id[64];
	assert_int_equal(phx_luks_format(b->p->file, key, sizeof(key), "node1-7", &b->err), 0);
	put(b->p->file, 0, zeros, sizeof(zeros));
	assert_int_equal(phx_luks_key_id(b->p->file, id, &b->err), 0);
	put(b->p->file, 0, zeros, sizeof(zeros));
	put(b->p->file, 16384, zeros, sizeof(zeros));
	assert_int_equal(phx_luks_key_id(b->p->file, id, NULL), -ENOENT);
}

/* ---- layout ---- */

static void test_layout_plain(void **state)
{
	struct bench *b = *state;
	struct phx_part_table t;
	struct phx_disk_system sys;
	char root[64], part[64];
	if (!place_attach(b->p))
		skip();
	assert_int_equal(phx_disk_layout(b->p->loop, NULL, 0, NULL, root, &b->err), 0);
	assert_int_equal(phx_part_path(b->p->loop, 2, part), 0);
	assert_string_equal(root, part);
	assert_int_equal(phx_table_read(b->p->loop, &t, &b->err), 0);
	assert_string_equal(t.type, "gpt");
	assert_int_equal(t.n, 2);
	assert_string_equal(t.parts[0].label, "phx-state");
	assert_string_equal(t.parts[1].label, "phx-root");
	assert_int_equal(t.parts[0].size_bytes, 64 * MIB);
	assert_int_equal(t.parts[0].start_bytes, MIB);
	assert_true(t.parts[1].size_bytes > 233 * MIB && t.parts[1].start_bytes % MIB == 0);
	assert_int_equal(phx_disk_system_on(b->p->loop, &sys, &b->err), 0);
	assert_signature(sys.state, "ext4");
	assert_signature(sys.root, "");
	assert_string_equal(sys.root, root);
	assert_string_equal(sys.luks_key_id, "");
	assert_int_equal(phx_disk_unlock(&sys, key, sizeof(key), part, NULL), -EINVAL);
}

static void test_announce_twice(void **state)
{
	struct bench *b = *state;
	char root[64];
	if (!place_attach(b->p))
		skip();
	assert_int_equal(phx_disk_layout(b->p->loop, NULL, 0, NULL, root, &b->err), 0);
	assert_int_equal(phx_table_announce(b->p->loop, &b->err), 0);
	assert_int_equal(access(root, F_OK), 0);
	assert_int_equal(phx_table_forget(b->p->loop, &b->err), 0);
	assert_int_equal(access(root, F_OK), -1);
	/* a partition in use stays */
	assert_int_equal(phx_table_announce(b->p->loop, &b->err), 0);
	int fd = open(root, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(phx_table_announce(b->p->loop, &b->err), -EBUSY);
	assert_text(b->err, "partition 2");
	close(fd);
}

/* The new layout shows nothing of the old one, and may follow it at once. */
static void test_layout_again(void **state)
{
	struct bench *b = *state;
	char root[64];
	if (!place_attach(b->p))
		skip();
	assert_int_equal(phx_disk_layout(b->p->loop, NULL, 0, NULL, root, &b->err), 0);
	assert_int_equal(RUN("mkfs.ext4", "-q", "-F", root), 0);
	assert_int_equal(phx_disk_layout(b->p->loop, NULL, 0, NULL, root, &b->err), 0);
	assert_signature(root, "");
}

static void test_layout_encrypted(void **state)
{
	struct bench *b = *state;
	struct phx_disk_system sys;
	char root[64] = "untouched";
	if (!place_attach(b->p))
		skip();
	put(b->p->file, 250 * MIB, "plain data of old", 17);
	int r = phx_disk_layout(b->p->loop, key, sizeof(key), "node1-7", root, &b->err);
	assert_int_equal(phx_disk_system_on(b->p->loop, &sys, NULL), 0);
	assert_string_equal(sys.luks_key_id, "node1-7");
	assert_signature(sys.root, "crypto_LUKS");
	assert_int_equal(try_key(sys.root, key, sizeof(key)), 0);
	assert_int_equal(try_key(sys.root, other_key, sizeof(key)), -EPERM);
	assert_int_equal(search(b->p->file, "plain data of old", 17), -1);
	assert_int_equal(phx_disk_unlock(&sys, other_key, sizeof(key), root, NULL), -EPERM);
	assert_int_equal(phx_disk_lock(NULL), 0);
	if (!has_device_mapper()) {
		assert_true(r < 0);
		assert_text(b->err, "opening LUKS2");
		assert_string_equal(root, "untouched");
		skip();
	}
	assert_int_equal(r, 0);
	assert_string_equal(root, "/dev/mapper/phx-root");
}

static void test_unlock_and_lock(void **state)
{
	struct bench *b = *state;
	struct phx_disk_system sys;
	char root[64];
	if (!has_device_mapper() || !place_attach(b->p))
		skip();
	assert_int_equal(phx_disk_layout(b->p->loop, key, sizeof(key), "node1-7", root, &b->err),
			 0);
	assert_int_equal(phx_disk_system_on(b->p->loop, &sys, NULL), 0);
	assert_int_equal(phx_disk_check_free(b->p->loop, NULL), -EBUSY);
	assert_int_equal(phx_disk_unlock(&sys, key, sizeof(key), root, &b->err), 0);
	assert_int_equal(phx_disk_unlock(&sys, other_key, sizeof(key), root, NULL), -EPERM);
	assert_int_equal(phx_disk_lock(&b->err), 0);
	assert_int_equal(phx_disk_lock(&b->err), 0);
	assert_int_equal(phx_disk_check_free(b->p->loop, &b->err), 0);
}

static void test_layout_refuses(void **state)
{
	struct bench *b = *state;
	char root[64] = "untouched";
	assert_int_equal(phx_disk_layout(b->p->file, key, 0, "id", root, &b->err), -EINVAL);
	assert_int_equal(phx_disk_layout(b->p->file, key, 64, "", root, NULL), -EINVAL);
	make_file(b->p->file, 100 * MIB);
	put(b->p->file, 0, "data", 4);
	phx_err_clear(&b->err);
	assert_int_equal(phx_disk_layout(b->p->file, NULL, 0, NULL, root, &b->err), -ENOSPC);
	assert_int_equal(search(b->p->file, "data", 4), 0);
	assert_string_equal(root, "untouched");
}

static void test_no_system(void **state)
{
	struct bench *b = *state;
	struct phx_disk_system sys = {.disk = "untouched"};
	assert_int_equal(phx_disk_system_on(b->p->file, &sys, &b->err), -ENOENT);
	assert_text(b->err, "phx-state");
	assert_string_equal(sys.disk, "untouched");
	assert_int_equal(phx_disk_system_on("/tmp/no-such-disk", &sys, NULL), -ENOENT);
}

/* This machine has no system of ours: whatever is found must be none. */
static void test_find_system_here(void **state)
{
	struct phx_disk_system sys;
	struct phx_err err = {0};
	(void)state;
	int r = phx_disk_find_system(&sys, &err);
	assert_true(r == 0 || r == -ENOENT || r == -ENOTUNIQ);
	assert_true(r == 0 || err.text[0]);
}

static void test_part_path(void **state)
{
	char path[64];
	(void)state;
	assert_int_equal(phx_part_path("/dev/vda", 2, path), 0);
	assert_string_equal(path, "/dev/vda2");
	assert_int_equal(phx_part_path("/dev/nvme0n1", 2, path), 0);
	assert_string_equal(path, "/dev/nvme0n1p2");
	assert_int_equal(
		phx_part_path("/dev/a-very-long-name-of-a-device-that-nobody-would-ever-think-of",
			      1, path),
		-ENAMETOOLONG);
}

/* ---- growing ---- */

static void test_grow(void **state)
{
	struct bench *b = *state;
	char root[64];
	if (!place_attach(b->p))
		skip();
	assert_int_equal(phx_disk_layout(b->p->loop, NULL, 0, NULL, root, &b->err), 0);
	assert_int_equal(RUN("mkfs.ext4", "-q", "-F", "-b", "4096", root, "20000"), 0);
	assert_int_equal(phx_disk_grow(root, &b->err), 0);
	PHX_AUTO_FREE char *dump = NULL;
	struct phx_run_result res;
	const char *const argv[] = {"dumpe2fs", "-h", root, NULL};
	assert_int_equal(phx_run_check(&(struct phx_run){.argv = argv}, &res, NULL), 0);
	dump = PHX_TAKE(res.out);
	phx_run_result_fini(&res);
	assert_non_null(strstr(dump, "phx-root"));
	assert_true(strtoul(strstr(dump, "Block count:") + 12, NULL, 10) > 59000);
}

/* Mounted since its last check: the check is made up for. */
static void test_grow_after_use(void **state)
{
	struct bench *b = *state;
	char root[64], dir[64];
	if (!place_attach(b->p))
		skip();
	assert_int_equal(phx_disk_layout(b->p->loop, NULL, 0, NULL, root, &b->err), 0);
	assert_int_equal(RUN("mkfs.ext4", "-q", "-F", "-b", "4096", root, "20000"), 0);
	snprintf(dir, sizeof(dir), "%s/mnt", b->p->dir);
	assert_int_equal(mkdir(dir, 0755), 0);
	sleep(1); /* its times count in seconds */
	assert_int_equal(mount(root, dir, "ext4", 0, NULL), 0);
	assert_int_equal(umount(dir), 0);
	assert_int_equal(phx_disk_grow(root, &b->err), 0);
}

static void test_grow_refuses(void **state)
{
	struct bench *b = *state;
	assert_int_equal(phx_disk_grow(b->p->file, &b->err), -EMEDIUMTYPE);
	assert_text(b->err, "not ext4");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_luks_format),
		T(test_luks_wrong_keys),
		T(test_luks_cheap_slots),
		T(test_luks_key_is_not_on_the_disk),
		T(test_luks_destroyed),
		T(test_luks_is_not_there),
		T(test_luks_damaged),
		T(test_layout_plain),
		T(test_layout_again),
		T(test_announce_twice),
		T(test_layout_encrypted),
		T(test_unlock_and_lock),
		T(test_layout_refuses),
		T(test_no_system),
		T(test_find_system_here),
		T(test_part_path),
		T(test_grow),
		T(test_grow_after_use),
		T(test_grow_refuses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
