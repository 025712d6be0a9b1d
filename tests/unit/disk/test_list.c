/* The list of disks and what names them: made-up machines, and the real one. */
#include "base/tree.h"
#include "unit/disk/help.h"
#include "unit/inventory/tree.h"

#define VDA "sys/devices/pci0000:00/0000:00:04.0/virtio1/block/vda"
#define SDA "sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda"
#define NVME "sys/devices/pci0000:00/0000:00:05.0/nvme/nvme0/nvme0n1"

static const char virtio_disk[] =
	"sys/block/vda -> ../../" VDA "\n" VDA "/size = 4194304\\n\n" VDA
	"/serial = node1-root\n" VDA "/queue/discard_max_bytes = 2147483136\n" VDA
	"/queue/rotational = 1\n" VDA "/ro = 0\n";
static const char ata_disk[] =
	"sys/block/sda -> ../../" SDA "\n" SDA "/size = 4194304\n" SDA
	"/device/vendor = ATA     \n" SDA "/device/model = QEMU HARDDISK   \n" SDA
	"/device/type = 0\n" SDA "/device/wwid = t10.ATA     QEMU HARDDISK                         "
	"  node2-root          \n" SDA "/device/vpd_pg80 = \\0\\x80\\0\\x14          node2-root\n";
static const char nvme_disk[] =
	"sys/block/nvme0n1 -> ../../" NVME "\n" NVME "/size = 8388608\n" NVME "/nsid = 1\n" NVME
	"/wwid = eui.5254000000000001\n" NVME "/device/serial = node3-root          \n" NVME
	"/device/model = QEMU NVMe Ctrl                          \n";

struct fake_machine {
	char root[40];
	struct phx_list disks;
	struct phx_err err;
};

static int setup(void **state)
{
	struct fake_machine *m = calloc(1, sizeof(*m));
	strcpy(m->root, "/tmp/phx-test-list-XXXXXX");
	assert_non_null(mkdtemp(m->root));
	*state = m;
	return 0;
}

static int teardown(void **state)
{
	struct fake_machine *m = *state;
	phx_list_fini(&m->disks);
	phx_dir_remove(m->root, NULL);
	free(m);
	return 0;
}

static void add(struct fake_machine *m, const char *tree)
{
	assert_int_equal(tree_make(m->root, "", tree), 0);
}

static const struct phx_disk_facts *list(struct fake_machine *m, uint32_t n)
{
	phx_list_fini(&m->disks);
	assert_int_equal(phx_disk_list(m->root, &m->disks, &m->err), 0);
	assert_int_equal(m->disks.n, n);
	return m->disks.items;
}

static void test_virtio(void **state)
{
	struct fake_machine *m = *state;
	add(m, virtio_disk);
	const struct phx_disk_facts *d = list(m, 1);
	assert_string_equal(d->id, "serial-virtio-node1-root");
	assert_string_equal(d->serial, "node1-root");
	assert_string_equal(d->bus, "virtio");
	assert_string_equal(d->dev, "vda");
	assert_int_equal(d->size_bytes, 2048 * MIB);
	assert_true(d->can_discard && d->rotational && !d->read_only && !d->removable);
}

static void test_ata_serial(void **state)
{
	struct fake_machine *m = *state;
	add(m, ata_disk);
	const struct phx_disk_facts *d = list(m, 1);
	assert_string_equal(d->bus, "ata");
	assert_string_equal(d->serial, "node2-root");
	assert_string_equal(d->model, "QEMU HARDDISK");
	assert_string_equal(d->wwn, "");
	assert_string_equal(d->id, "serial-QEMU_HARDDISK-node2-root");
	assert_false(d->can_discard);
}

static void test_ata_wwn_first(void **state)
{
	struct fake_machine *m = *state;
	add(m, ata_disk);
	add(m, SDA "/wwid = naa.5000c500a1b2c3d4\n");
	const struct phx_disk_facts *d = list(m, 1);
	assert_string_equal(d->wwn, "0x5000c500a1b2c3d4");
	assert_string_equal(d->id, "wwn-0x5000c500a1b2c3d4");
	assert_string_equal(d->serial, "node2-root");
}

static void test_nvme_emulated_eui_is_no_name(void **state)
{
	struct fake_machine *m = *state;
	add(m, nvme_disk);
	const struct phx_disk_facts *d = list(m, 1);
	assert_string_equal(d->wwn, "");
	assert_string_equal(d->id, "serial-QEMU_NVMe_Ctrl-node3-root");
	assert_string_equal(d->bus, "nvme");
}

static void test_wwids(void **state)
{
	static const struct {
		const char *wwid, *wwn;
	} cases[] = {
		{"eui.0025385b71b00b2a", "0x0025385b71b00b2a"},
		{"eui.5254000000000001", ""}, /* locally administered */
		{"eui.0000000000000000", ""}, /* never set */
		{"eui.36344730543053620025384700000001", "0x36344730543053620025384700000001"},
		{"eui.36344730543053625254000000000001", ""},
		{"eui.00253", ""},
		{"naa.600508b1001c4f2a1d3c5e7f90a1b2c3", "0x600508b1001c4f2a1d3c5e7f90a1b2c3"},
		{"naa.3000000000000001", ""}, /* locally assigned */
		{"naa.5000c500zzzzzzzz", ""},
		{"nvme.1b36-6e6f6465332d726f6f74-51454d55204e564d65204374726c-00000001", ""},
		{"uuid.aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee", ""},
		{"naa", ""},
		{"", ""},
	};
	struct fake_machine *m = *state;
	add(m, nvme_disk);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		char line[256];
		snprintf(line, sizeof(line), NVME "/wwid = %s\n", cases[i].wwid);
		add(m, line);
		assert_string_equal(list(m, 1)->wwn, cases[i].wwn);
	}
}

static void test_second_namespace_has_its_own_id(void **state)
{
	struct fake_machine *m = *state;
	add(m, nvme_disk);
	add(m,
	    "sys/block/nvme0n2 -> ../../sys/devices/pci0/nvme/nvme0/nvme0n2\n"
	    "sys/devices/pci0/nvme/nvme0/nvme0n2/size = 100\n"
	    "sys/devices/pci0/nvme/nvme0/nvme0n2/nsid = 2\n"
	    "sys/devices/pci0/nvme/nvme0/nvme0n2/device/serial = node3-root\n"
	    "sys/devices/pci0/nvme/nvme0/nvme0n2/device/model = QEMU NVMe Ctrl\n");
	const struct phx_disk_facts *d = list(m, 2);
	assert_string_equal(d[1].id, "serial-QEMU_NVMe_Ctrl-node3-root-n2");
}

static void test_what_is_no_disk(void **state)
{
	struct fake_machine *m = *state;
	add(m, virtio_disk);
	add(m,
	    "sys/block/loop0 -> ../../sys/devices/virtual/block/loop0\n"
	    "sys/devices/virtual/block/loop0/size = 100\n"
	    "sys/block/dm-0 -> "
	    "../../sys/devices/virtual/block/dm-0\nsys/devices/virtual/block/dm-0/size = 100\n"
	    "sys/block/sr0 -> "
	    "../../sys/devices/pci0/ata2/block/sr0\nsys/devices/pci0/ata2/block/sr0/size = 100\n"
	    "sys/devices/pci0/ata2/block/sr0/device/type = 5\n"
	    "sys/block/fd0 -> ../../sys/devices/platform/floppy.0/block/fd0\n"
	    "sys/devices/platform/floppy.0/block/fd0/size = 8\n"
	    "sys/block/mmcblk0boot0 -> ../../sys/devices/mmc/mmcblk0boot0\n"
	    "sys/devices/mmc/mmcblk0boot0/size = 8\n"
	    "sys/block/sdc -> "
	    "../../sys/devices/pci0/usb1/block/sdc\nsys/devices/pci0/usb1/block/sdc/size = 0\n"
	    "sys/devices/pci0/usb1/block/sdc/device/type = 0\n"
	    "sys/block/sdd -> "
	    "../../sys/devices/pci0/usb2/block/sdd\nsys/devices/pci0/usb2/block/sdd/size = 9\n"
	    "sys/devices/pci0/usb2/block/sdd/removable = 1\n"
	    "sys/block/nvme1c0n1 -> ../../sys/devices/pci0/nvme/nvme1/nvme1c0n1\n"
	    "sys/devices/pci0/nvme/nvme1/nvme1c0n1/size = "
	    "8\nsys/devices/pci0/nvme/nvme1/nvme1c0n1/hidden = 1\n");
	assert_string_equal(list(m, 1)->dev, "vda");
}

/* A disk without any name is shown, so that the report as a whole is refused: it must not escape a
 * wipe. */
static void test_nameless_disk_is_not_hidden(void **state)
{
	struct fake_machine *m = *state;
	add(m,
	    "sys/block/vdb -> ../../sys/devices/pci0/virtio2/block/vdb\n"
	    "sys/devices/pci0/virtio2/block/vdb/size = 2048\n");
	assert_string_equal(list(m, 1)->id, "");
}

static void test_strange_characters_in_names(void **state)
{
	struct fake_machine *m = *state;
	add(m, virtio_disk);
	add(m, VDA "/serial = a b/\\xff\"c\n");
	const struct phx_disk_facts *d = list(m, 1);
	assert_string_equal(d->serial, "a b/?\"c");
	assert_string_equal(d->id, "serial-virtio-a_b___c");
}

static void test_damaged_serial_page(void **state)
{
	struct fake_machine *m = *state;
	add(m, ata_disk);
	add(m, SDA "/device/vpd_pg80 = \\0\\x80\\0\n");
	assert_string_equal(list(m, 1)->serial, "");
	add(m, SDA "/device/vpd_pg80 = \\0\\x80\\xff\\xffshort\n");
	assert_string_equal(list(m, 1)->serial, "short");
	add(m, SDA "/device/vpd_pg80 = \\0\\x80\\0\\x03abcdef\n");
	assert_string_equal(list(m, 1)->serial, "abc");
}

static void test_no_sysfs(void **state)
{
	struct fake_machine *m = *state;
	assert_int_equal(phx_disk_list(m->root, &m->disks, &m->err), -ENOENT);
	assert_text(m->err, "sys/block");
}

static void test_find(void **state)
{
	struct fake_machine *m = *state;
	char path[64] = "untouched";
	struct phx_disk_facts want = {.id = "serial-virtio-node1-root", .size_bytes = 2048 * MIB};
	add(m, virtio_disk);
	add(m, ata_disk);
	assert_int_equal(phx_disk_find_below(m->root, &want, path, &m->err), 0);
	assert_string_equal(path, "/dev/vda");
}

static void test_find_refuses(void **state)
{
	struct fake_machine *m = *state;
	char path[64] = "untouched";
	struct phx_disk_facts want = {.id = "serial-virtio-node1-root", .size_bytes = 2047 * MIB};
	add(m, virtio_disk);
	assert_int_equal(phx_disk_find_below(m->root, &want, path, &m->err), -EMEDIUMTYPE);
	assert_text(m->err, "/dev/vda");
	strcpy(want.id, "serial-virtio-other");
	phx_err_clear(&m->err);
	assert_int_equal(phx_disk_find_below(m->root, &want, path, &m->err), -ENOENT);
	assert_text(m->err, "serial-virtio-other");
	want.id[0] = '\0';
	phx_err_clear(&m->err);
	assert_int_equal(phx_disk_find_below(m->root, &want, path, &m->err), -EINVAL);
	assert_string_equal(path, "untouched");
}

static void test_find_two_with_one_serial(void **state)
{
	struct fake_machine *m = *state;
	char path[64] = "untouched";
	struct phx_disk_facts want = {.id = "serial-virtio-node1-root", .size_bytes = 2048 * MIB};
	add(m, virtio_disk);
	add(m,
	    "sys/block/vdb -> ../../sys/devices/pci0/virtio2/block/vdb\n"
	    "sys/devices/pci0/virtio2/block/vdb/size = 4194304\n"
	    "sys/devices/pci0/virtio2/block/vdb/serial = node1-root\n");
	assert_int_equal(phx_disk_find_below(m->root, &want, path, &m->err), -ENOTUNIQ);
	assert_text(m->err, "/dev/vda and /dev/vdb");
	assert_string_equal(path, "untouched");
}

static void test_find_read_only(void **state)
{
	struct fake_machine *m = *state;
	char path[64];
	struct phx_disk_facts want = {.id = "serial-virtio-node1-root", .size_bytes = 2048 * MIB};
	add(m, virtio_disk);
	add(m, VDA "/ro = 1\n");
	assert_int_equal(phx_disk_find_below(m->root, &want, path, &m->err), -EROFS);
}

static void test_this_machine(void **state)
{
	struct fake_machine *m = *state;
	assert_int_equal(phx_disk_list("", &m->disks, &m->err), 0);
	PHX_LIST_EACH(struct phx_disk_facts, d, &m->disks) {
		char path[64];
		assert_true(d->size_bytes > 0);
		assert_false(phx_str_starts(d->dev, "loop"));
		if (d->id[0] && !d->read_only)
			assert_int_equal(phx_disk_find(d, path, &m->err), 0);
	}
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_virtio),
		T(test_ata_serial),
		T(test_ata_wwn_first),
		T(test_nvme_emulated_eui_is_no_name),
		T(test_wwids),
		T(test_second_namespace_has_its_own_id),
		T(test_what_is_no_disk),
		T(test_nameless_disk_is_not_hidden),
		T(test_strange_characters_in_names),
		T(test_damaged_serial_page),
		T(test_no_sysfs),
		T(test_find),
		T(test_find_refuses),
		T(test_find_two_with_one_serial),
		T(test_find_read_only),
		T(test_this_machine),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
