/* Whether swap space keeps what is in it (lib/disk/swap.c): made-up machines. */
#include <sys/sysmacros.h>

#include "base/tree.h"
#include "unit/disk/help.h"
#include "unit/inventory/tree.h"

#define DEV "sys/dev/block/"

static bool keeps(const char *tree, unsigned maj, unsigned min)
{
	char root[] = "/tmp/phx-test-swap-XXXXXX";
	assert_non_null(mkdtemp(root));
	assert_int_equal(tree_make(root, "", tree), 0);
	bool is = phx_swap_keeps_secret(root, makedev(maj, min));
	phx_dir_remove(root, NULL);
	return is;
}

static void a_disk_and_a_partition_do_not(void **state)
{
	(void)state;
	assert_false(keeps(DEV "8:0/size = 4194304\n" DEV "8:0/slaves/\n", 8, 0));
	assert_false(keeps(DEV "8:2/partition = 2\n", 8, 2));
	/* of a file system that has no device, nothing is known */
	assert_false(keeps(DEV "8:2/partition = 2\n", 0, 40));
}

static void what_the_kernel_encrypts_does(void **state)
{
	(void)state;
	assert_true(keeps(DEV "254:0/dm/uuid = CRYPT-PLAIN-swap\n", 254, 0));
	assert_true(keeps(DEV "254:0/dm/uuid = CRYPT-LUKS2-12-swap\n", 254, 0));
	assert_false(keeps(DEV "254:0/dm/uuid = LVM-abc\n", 254, 0));
}

static void memory_does_unless_a_disk_is_behind_it(void **state)
{
	(void)state;
	assert_true(keeps(DEV "252:0/comp_algorithm = zstd\n", 252, 0));
	assert_true(keeps(DEV "252:0/comp_algorithm = zstd\n" DEV "252:0/backing_dev = none\n", 252,
			  0));
	assert_false(keeps(DEV "252:0/comp_algorithm = zstd\n" DEV "252:0/backing_dev = /dev/sda\n",
			   252, 0));
}

/* A volume group on an encrypted partition, one on two partitions, and one that lies on itself. */
static void a_volume_does_where_all_below_it_does(void **state)
{
	(void)state;
	static const char one[] =
		DEV "254:1/dm/uuid = LVM-abc\n" DEV "254:1/slaves/dm-0/dev = 254:0\n" DEV
		    "254:0/dm/uuid = CRYPT-LUKS2-12-pv\n";
	static const char two[] =
		DEV "254:1/dm/uuid = LVM-abc\n" DEV "254:1/slaves/dm-0/dev = 254:0\n" DEV
		    "254:1/slaves/sdb1/dev = 8:17\n" DEV "254:0/dm/uuid = CRYPT-LUKS2-12-pv\n" DEV
		    "8:17/partition = 1\n";
	static const char round[] = DEV "9:0/slaves/md0/dev = 9:0\n";
	assert_true(keeps(one, 254, 1));
	assert_false(keeps(two, 254, 1));
	assert_false(keeps(round, 9, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_disk_and_a_partition_do_not),
		cmocka_unit_test(what_the_kernel_encrypts_does),
		cmocka_unit_test(memory_does_unless_a_disk_is_behind_it),
		cmocka_unit_test(a_volume_does_where_all_below_it_does),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
