/* The mapping of an encrypted root (lib/disk/luks.c), also where the kernel has no device
 * mapper: the header, its key slots and the layout are real, the mapping is a fake that
 * remembers on which device it is open. */
#include <dlfcn.h>
#include <libcryptsetup.h>

#include "unit/disk/help.h"

enum { SIZE = 200 * MIB };
static const uint8_t key[64] = {1, 2, 3, 0, 5, 6, 255, 8, [63] = 77};
static const uint8_t other_key[64] = {1, 2, 3, 0, 5, 6, 255, 9, [63] = 77};

/* ---- the mapping ---- */

static char fake_open_on[64]; /* "": it is not open */
static unsigned fake_n_opened, fake_n_closed;
static int fake_result; /* of the kernel */

crypt_status_info crypt_status(struct crypt_device *cd, const char *name)
{
	(void)cd;
	assert_string_equal(name, "phx-root");
	return fake_open_on[0] ? CRYPT_ACTIVE : CRYPT_INACTIVE;
}

int crypt_init_by_name(struct crypt_device **cd, const char *name)
{
	assert_string_equal(name, "phx-root");
	return crypt_init(cd, fake_open_on);
}

int crypt_deactivate(struct crypt_device *cd, const char *name)
{
	(void)cd;
	assert_string_equal(name, "phx-root");
	fake_n_closed++;
	if (fake_result == 0)
		fake_open_on[0] = '\0';
	return fake_result;
}

/* Without a name the key is tried alone, which needs no mapping. */
int crypt_activate_by_passphrase(struct crypt_device *cd, const char *name, int slot,
				 const char *passphrase, size_t size, uint32_t flags)
{
	static int (*real)(struct crypt_device * cd, const char *name, int slot, const char *p,
			   size_t n, uint32_t flags);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "crypt_activate_by_passphrase");
	int r = real(cd, NULL, slot, passphrase, size, 0);
	if (r < 0 || !name)
		return r;
	assert_string_equal(name, "phx-root");
	assert_int_equal(flags,
			 CRYPT_ACTIVATE_NO_READ_WORKQUEUE | CRYPT_ACTIVATE_NO_WRITE_WORKQUEUE);
	assert_string_equal(fake_open_on, ""); /* twice would fail */
	fake_n_opened++;
	if (fake_result == 0)
		PHX_STR_SET(fake_open_on, crypt_get_device_name(cd));
	return fake_result < 0 ? fake_result : r;
}

static struct place *p;
static struct phx_disk_system sys;

static int setup(void **state)
{
	(void)state;
	fake_open_on[0] = '\0';
	fake_n_opened = fake_n_closed = 0;
	fake_result = 0;
	p = place_new(SIZE);
	sys = (struct phx_disk_system){0};
	PHX_STR_SET(sys.root, p->file);
	PHX_STR_SET(sys.luks_key_id, "node1-7");
	return phx_luks_format(p->file, key, sizeof(key), "node1-7", &p->err);
}

static int teardown(void **state)
{
	(void)state;
	place_free(p);
	return 0;
}

static int unlocks(const uint8_t k[64], char root[64])
{
	phx_err_clear(&p->err);
	return phx_disk_unlock(&sys, k, 64, root, &p->err);
}

static void an_open_root_is_opened_once(void **state)
{
	char root[64];
	(void)state;
	assert_int_equal(unlocks(key, root), 0);
	assert_string_equal(root, "/dev/mapper/phx-root");
	assert_string_equal(fake_open_on, p->file);
	assert_int_equal(unlocks(key, root), 0);
	assert_string_equal(root, "/dev/mapper/phx-root");
	assert_int_equal(fake_n_opened, 1);
}

/* Who has another key gets nothing, whoever has opened it before. */
static void a_key_that_does_not_fit_opens_nothing(void **state)
{
	char root[64] = "untouched";
	(void)state;
	assert_int_equal(unlocks(other_key, root), -EPERM);
	assert_text(p->err, "the key fits no key slot");
	assert_int_equal(fake_n_opened, 0);
	PHX_STR_SET(fake_open_on, p->file);
	assert_int_equal(unlocks(other_key, root), -EPERM);
	assert_string_equal(root, "untouched");
	assert_string_equal(fake_open_on, p->file);
}

/* An image would be written over somebody else's disk. */
static void a_mapping_of_another_disk_is_not_taken_for_ours(void **state)
{
	char root[64] = "untouched", other[80];
	(void)state;
	snprintf(other, sizeof(other), "%s/other", p->dir);
	make_file(other, MIB);
	PHX_STR_SET(fake_open_on, other);
	assert_int_equal(unlocks(key, root), -EBUSY);
	assert_text(p->err, "is open on another device than");
	assert_string_equal(root, "untouched");
	assert_int_equal(fake_n_opened, 0);
	assert_string_equal(fake_open_on, other);
}

static void a_mapping_that_the_kernel_refuses_is_an_error(void **state)
{
	char root[64] = "untouched";
	(void)state;
	fake_result = -ENODEV;
	assert_int_equal(unlocks(key, root), -ENODEV);
	assert_text(p->err, "opening LUKS2");
	assert_string_equal(root, "untouched");
}

static void a_root_is_closed_if_it_is_open(void **state)
{
	char root[64];
	(void)state;
	assert_int_equal(phx_disk_lock(&p->err), 0);
	assert_int_equal(fake_n_closed, 0);
	assert_int_equal(unlocks(key, root), 0);
	fake_result = -EBUSY; /* somebody has it mounted */
	assert_int_equal(phx_disk_lock(&p->err), -EBUSY);
	assert_text(p->err, "closing");
	fake_result = 0;
	assert_int_equal(phx_disk_lock(&p->err), 0);
	assert_string_equal(fake_open_on, "");
}

/* What the image is written to is the mapping, and not the partition below it. */
static void an_encrypted_layout_ends_with_an_open_root(void **state)
{
	char root[64], part[64];
	(void)state;
	if (!place_attach(p))
		skip();
	assert_int_equal(phx_disk_layout(p->loop, key, sizeof(key), "node1-8", root, &p->err), 0);
	assert_int_equal(phx_part_path(p->loop, 2, part), 0);
	assert_string_equal(root, "/dev/mapper/phx-root");
	assert_string_equal(fake_open_on, part);
	assert_int_equal(phx_disk_system_on(p->loop, &sys, &p->err), 0);
	assert_string_equal(sys.luks_key_id, "node1-8");
	assert_int_equal(unlocks(other_key, root), -EPERM);
	assert_int_equal(phx_disk_lock(NULL), 0);
	assert_int_equal(unlocks(key, root), 0);
	assert_string_equal(fake_open_on, part);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(an_open_root_is_opened_once),
		TEST(a_key_that_does_not_fit_opens_nothing),
		TEST(a_mapping_of_another_disk_is_not_taken_for_ours),
		TEST(a_mapping_that_the_kernel_refuses_is_an_error),
		TEST(a_root_is_closed_if_it_is_open),
		TEST(an_encrypted_layout_ends_with_an_open_root),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
