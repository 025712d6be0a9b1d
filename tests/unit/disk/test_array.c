/* Do two disks belong to one array? Files with the signatures of RAID and LVM. */
#include "unit/disk/array_help.h"
#include "unit/disk/help.h"

struct two {
	char dir[48], a[80], b[80];
	struct phx_err err;
};

static int setup(void **state)
{
	struct two *t = calloc(1, sizeof(*t));
	strcpy(t->dir, "/tmp/phx-test-array-XXXXXX");
	assert_non_null(mkdtemp(t->dir));
	snprintf(t->a, sizeof(t->a), "%s/a", t->dir);
	snprintf(t->b, sizeof(t->b), "%s/b", t->dir);
	make_file(t->a, 8 * MIB);
	make_file(t->b, 8 * MIB);
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct two *t = *state;
	phx_dir_remove(t->dir, NULL);
	free(t);
	return 0;
}

static void put_raid(const char *path, uint8_t set)
{
	uint8_t block[ARRAY_BLOCK];
	array_raid(block, set);
	put(path, ARRAY_RAID_AT, block, sizeof(block));
}

static void put_lvm(const char *path, char letter)
{
	uint8_t block[ARRAY_BLOCK];
	array_lvm(block, letter);
	put(path, ARRAY_LVM_AT, block, sizeof(block));
}

static int apart(struct two *t)
{
	phx_err_clear(&t->err);
	return phx_disk_check_apart(t->a, t->b, &t->err);
}

static void test_two_of_one_raid(void **state)
{
	struct two *t = *state;
	assert_int_equal(apart(t), 0);
	put_raid(t->a, 1);
	assert_int_equal(apart(t), 0);
	put_raid(t->b, 2);
	assert_int_equal(apart(t), 0);
	put_raid(t->b, 1);
	assert_int_equal(apart(t), -EBUSY);
	assert_text(t->err, "linux_raid_member");
}

/* On the second disk the whole, on the first a partition. */
static void test_a_partition_of_one_raid(void **state)
{
	struct two *t = *state;
	uint8_t block[ARRAY_BLOCK];
	make_file(t->a, 129 * MIB);
	assert_int_equal(phx_table_write(t->a, &t->err), 0);
	array_raid(block, 1);
	put(t->a, 65 * MIB + ARRAY_RAID_AT, block, sizeof(block));
	assert_int_equal(apart(t), 0);
	put_raid(t->b, 1);
	assert_int_equal(apart(t), -EBUSY);
}

static void test_two_of_one_volume_group(void **state)
{
	struct two *t = *state;
	static const char group[] = "vg0 {\nphysical_volumes {\npv0 {\n"
				    "id = \"bbbbbb-bbbb-bbbb-bbbb-bbbb-bbbb-bbbbbb\"\n";
	put_lvm(t->a, 'a');
	assert_int_equal(apart(t), 0);
	put_lvm(t->b, 'b');
	assert_int_equal(apart(t), 0);
	put(t->a, 8192, group, sizeof(group));
	assert_int_equal(apart(t), -EBUSY);
	put_lvm(t->b, 'c');
	assert_int_equal(apart(t), 0);
	put_lvm(t->b, 'a'); /* a copy */
	assert_int_equal(apart(t), -EBUSY);
}

/* What cannot be read is not excluded, where it matters. */
static void test_doubt(void **state)
{
	struct two *t = *state;
	assert_int_equal(unlink(t->b), 0);
	assert_int_equal(apart(t), 0);
	put_raid(t->a, 1);
	assert_true(apart(t) < 0);
	assert_text(t->err, "cannot be seen");
	assert_int_equal(unlink(t->a), 0);
	assert_int_equal(apart(t), -ENOENT);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_two_of_one_raid),
		T(test_a_partition_of_one_raid),
		T(test_two_of_one_volume_group),
		T(test_doubt),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
