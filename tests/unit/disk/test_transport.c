/* How disks are reached, and which block devices are paths to one disk: made-up machines of the
 * shapes that /sys has for adapters of all kinds. */
#include "unit/disk/help.h"
#include "unit/inventory/tree.h"

#define PCI "sys/devices/pci0000:00/0000:00:02.0/0000:04:00.0"
#define WWN "naa.600a098038303053453f463045727654"
#define WWN_ID "wwn-0x600a098038303053453f463045727654"

struct fake_machine {
	char root[48];
	struct phx_list disks;
	struct phx_err err;
};

static int setup(void **state)
{
	struct fake_machine *m = calloc(1, sizeof(*m));
	strcpy(m->root, "/tmp/phx-test-transport-XXXXXX");
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

static void add(struct fake_machine *m, const char *fmt, ...)
{
	char tree[2048];
	va_list args;
	va_start(args, fmt);
	vsnprintf(tree, sizeof(tree), fmt, args);
	va_end(args);
	assert_int_equal(tree_make(m->root, "", tree), 0);
}

/* A SCSI disk of 2 GiB; `where`: of its unit, "PCI/host7/.../7:0:0:1". */
static void add_scsi(struct fake_machine *m, const char *dev, const char *where, const char *wwid,
		     const char *serial)
{
	add(m,
	    "sys/block/%s -> ../../%s/block/%s\n%s/block/%s/size = 4194304\n"
	    "%s/block/%s/device -> ../..\n%s/type = 0\n%s/vendor = NETAPP  \n"
	    "%s/model = LUN C-Mode      \n%s/wwid = %s\n%s/serial = %s\n",
	    dev, where, dev, where, dev, where, dev, where, where, where, where, wwid, where,
	    serial);
}

static const struct phx_disk_facts *list(struct fake_machine *m, uint32_t n)
{
	phx_list_fini(&m->disks);
	assert_int_equal(phx_disk_list(m->root, &m->disks, &m->err), 0);
	assert_int_equal(m->disks.n, n);
	return m->disks.items;
}

static void assert_reached(const struct phx_disk_facts *d, const char *transport, bool remote,
			   uint32_t n_paths, const char *path)
{
	assert_string_equal(d->transport, transport);
	assert_int_equal(d->remote, remote);
	assert_int_equal(d->n_paths, n_paths);
	assert_string_equal(d->path, path);
}

static void test_scsi_transports(void **state)
{
	static const struct {
		const char *where, *class, *transport, *path;
		bool remote;
	} cases[] = {
		{PCI "/host7/rport-7:0-0/target7:0:0/7:0:0:1", "", "fc",
		 "pci-0000:04:00.0-fc-rport-7:0-0-lun-1", true},
		{PCI "/host7/rport-7:0-0/target7:0:0/7:0:0:1",
		 "sys/class/fc_remote_ports/rport-7:0-0/port_name = 0x5006016b08602b4c", "fc",
		 "pci-0000:04:00.0-fc-0x5006016b08602b4c-lun-1", true},
		{PCI "/host7/vport-7:0-1/host9/rport-9:0-2/target9:0:2/9:0:2:0", "", "fc",
		 "pci-0000:04:00.0-fc-rport-9:0-2-lun-0", true},
		/* an adapter that shows its units without the ports between */
		{PCI "/host7/target7:0:0/7:0:0:1", "sys/class/fc_host/host7/", "fc",
		 "pci-0000:04:00.0-scsi-0:0:1", true},
		{"sys/devices/platform/host6/session1/target6:0:0/6:0:0:3", "", "iscsi",
		 "iscsi-session1-lun-3", true},
		{"sys/devices/platform/host6/session1/target6:0:0/6:0:0:3",
		 "sys/class/iscsi_session/session1/targetname = iqn.1992-08.com.netapp:sn.1",
		 "iscsi", "iscsi-iqn.1992-08.com.netapp:sn.1-lun-3", true},
		{PCI "/host5/session2/target5:0:0/5:0:0:0", "", "iscsi",
		 "pci-0000:04:00.0-iscsi-session2-lun-0", true},
		{PCI "/host8/port-8:1/target8:0:0/8:0:0:0", "sys/class/srp_remote_ports/port-8:1/",
		 "srp", "pci-0000:04:00.0-port-8:1", true},
		{PCI "/host0/port-0:2/end_device-0:2/target0:0:2/0:0:2:0",
		 "sys/class/sas_device/end_device-0:2/sas_address = 0x5000c500a1b2c3d5", "sas",
		 "pci-0000:04:00.0-sas-0x5000c500a1b2c3d5-lun-0", false},
		{PCI "/host0/target0:2:0/0:2:0:0", "sys/class/sas_host/host0/", "sas",
		 "pci-0000:04:00.0-scsi-2:0:0", false},
		{PCI "/ata3/host2/target2:0:0/2:0:0:0", "", "sata", "pci-0000:04:00.0-ata3", false},
		{PCI "/usb2/2-1/2-1:1.0/host10/target10:0:0/10:0:0:0", "", "usb",
		 "pci-0000:04:00.0-scsi-0:0:0", false},
		{PCI "/virtio2/host3/target3:0:0/3:0:0:4", "", "virtio",
		 "pci-0000:04:00.0-scsi-0:0:4", false},
		/* a RAID adapter that says nothing: as before */
		{PCI "/host0/target0:2:0/0:2:0:0", "", "", "pci-0000:04:00.0-scsi-2:0:0", false},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		void *one;
		setup(&one);
		add_scsi(one, "sdb", cases[i].where, WWN, "80S0C5");
		add(one, "%s\n", cases[i].class);
		assert_reached(list(one, 1), cases[i].transport, cases[i].remote, 1, cases[i].path);
		teardown(&one);
	}
	(void)state;
}

/* A SATA drive is one behind a SAS adapter, too; one behind a bridge is the bridge's. */
static void test_sata_drive_elsewhere(void **state)
{
	struct fake_machine *m = *state;
	const char *sas = PCI "/host0/port-0:0/end_device-0:0/target0:0:0/0:0:0:0";
	const char *usb = PCI "/usb1/1-4/1-4:1.0/host9/target9:0:0/9:0:0:0";
	add_scsi(m, "sda", sas, "naa.5000c500a1b2c3d4", "S1");
	add(m, "%s/vendor = ATA     \n", sas);
	assert_string_equal(list(m, 1)->transport, "sata");
	add_scsi(m, "sdb", usb, "naa.5000c500a1b2c3d5", "S2");
	add(m, "%s/vendor = ATA     \n", usb);
	assert_string_equal(list(m, 2)[1].transport, "usb");
	assert_string_equal(list(m, 2)[1].bus, "ata");
}

#define UNIT PCI "/host%u/rport-%u:0-0/target%u:0:0/%u:0:0:1"

static void add_lun(struct fake_machine *m, const char *dev, unsigned host, const char *serial)
{
	char where[160];
	snprintf(where, sizeof(where), UNIT, host, host, host, host);
	add_scsi(m, dev, where, WWN, serial);
}

static void test_paths_of_a_lun_are_one_disk(void **state)
{
	struct fake_machine *m = *state;
	char path[64];
	for (unsigned i = 0; i < 4; i++)
		add_lun(m, (const char *[]){"sdb", "sdc", "sdd", "sde"}[i], 7 + i, "80S0C5");
	/* the device of multipathd is none of the hardware's */
	add(m,
	    "sys/block/dm-0 -> ../../sys/devices/virtual/block/dm-0\n"
	    "sys/devices/virtual/block/dm-0/size = 4194304\n");
	const struct phx_disk_facts *d = list(m, 1);
	assert_string_equal(d->id, WWN_ID);
	assert_string_equal(d->dev, "sdb");
	assert_reached(d, "fc", true, 4,
		       "pci-0000:04:00.0-fc-rport-7:0-0-lun-1 "
		       "pci-0000:04:00.0-fc-rport-8:0-0-lun-1 "
		       "pci-0000:04:00.0-fc-rport-9:0-0-lun-1 "
		       "pci-0000:04:00.0-fc-rport-10:0-0-lun-1");
	assert_int_equal(phx_disk_find_below(m->root, d, path, &m->err), 0);
	assert_string_equal(path, "/dev/sdb");
}

/* Of many paths those are named that have room; all are counted. */
static void test_many_paths(void **state)
{
	struct fake_machine *m = *state;
	for (unsigned i = 0; i < 16; i++) {
		char dev[8];
		snprintf(dev, sizeof(dev), "sd%c", 'b' + (char)i);
		add_lun(m, dev, 7 + i, "80S0C5");
	}
	const struct phx_disk_facts *d = list(m, 1);
	assert_int_equal(d->n_paths, 16);
	assert_in_range(strlen(d->path), 180, 255);
}

static void test_two_ports_of_a_sas_disk(void **state)
{
	struct fake_machine *m = *state;
	add_scsi(m, "sda", PCI "/host0/port-0:0/end_device-0:0/target0:0:0/0:0:0:0",
		 "naa.5000c500a1b2c3d4", "Z1");
	add_scsi(m, "sdb", PCI "/host1/port-1:0/end_device-1:0/target1:0:0/1:0:0:0",
		 "naa.5000c500a1b2c3d4", "Z1");
	assert_reached(list(m, 1), "sas", false, 2,
		       "pci-0000:04:00.0-sas-end_device-0:0-lun-0 "
		       "pci-0000:04:00.0-sas-end_device-1:0-lun-0");
}

static void assert_two(struct fake_machine *m, const char *id)
{
	const struct phx_disk_facts *d = list(m, 2);
	char path[64];
	assert_string_equal(d[0].id, id);
	assert_string_equal(d[1].id, id);
	phx_err_clear(&m->err);
	assert_int_equal(phx_disk_find_below(m->root, d, path, &m->err), -ENOTUNIQ);
	assert_text(m->err, "must be unambiguous");
}

/* What differs in anything is two disks, and a target is ambiguous as ever. */
static void test_what_is_no_path(void **state)
{
	struct fake_machine *m = *state;
	add_lun(m, "sdb", 7, "80S0C5");
	add_lun(m, "sdc", 8, "80S0C6");
	assert_two(m, WWN_ID);
	for (unsigned host = 7; host < 9; host++) /* neither says which it is */
		add(m, UNIT "/serial = \n", host, host, host, host);
	assert_two(m, WWN_ID);
	for (unsigned host = 7; host < 9; host++)
		add(m, UNIT "/serial = 80S0C5\n", host, host, host, host);
	list(m, 1);
	add(m, UNIT "/block/sdc/size = 4194305\n", 8, 8, 8, 8);
	assert_two(m, WWN_ID);
}

/* Bridges that give all their disks one number: two disks on two cables, whatever they say. */
static void test_one_cable_is_one_path(void **state)
{
	struct fake_machine *m = *state;
	add_scsi(m, "sda", PCI "/usb1/1-1/1-1:1.0/host9/target9:0:0/9:0:0:0",
		 "naa.5000000000000001", "DD5641988396B");
	add_scsi(m, "sdb", PCI "/usb1/1-2/1-2:1.0/host10/target10:0:0/10:0:0:0",
		 "naa.5000000000000001", "DD5641988396B");
	assert_two(m, "wwn-0x5000000000000001");
}

/* ---- NVMe ---- */

#define LOCAL PCI "/nvme/nvme0"
#define SUBSYSTEM "sys/devices/virtual/nvme-subsystem/nvme-subsys1"
#define FABRICS "sys/devices/virtual/nvme-fabrics/ctl"
#define NGUID "eui.36344730543053620025384700000001"

static void add_namespace(struct fake_machine *m, const char *name, const char *dir)
{
	add(m,
	    "sys/block/%s -> ../../%s/%s\n%s/%s/size = 8388608\n%s/%s/nsid = 1\n%s/%s/wwid = "
	    "" NGUID "\n%s/%s/device -> ..\n%s/serial = S4YNNE0M\n%s/model = SAMSUNG MZ\n",
	    name, dir, name, dir, name, dir, name, dir, name, dir, name, dir, dir);
}

static void test_local_nvme(void **state)
{
	struct fake_machine *m = *state;
	add_namespace(m, "nvme0n1", LOCAL);
	add(m, LOCAL "/transport = pcie\n" LOCAL "/address = 0000:04:00.0\n");
	assert_reached(list(m, 1), "nvme", false, 1, "pci-0000:04:00.0-nvme");
}

/* The kernel's own multipath: one block device of a subsystem, whose controllers are the paths. */
static void test_nvme_subsystem(void **state)
{
	struct fake_machine *m = *state;
	add_namespace(m, "nvme1n1", SUBSYSTEM);
	add(m,
	    SUBSYSTEM "/nvme1 -> ../../../pci0000:00/0000:00:02.0/0000:04:00.0/nvme/nvme1\n" PCI
		      "/nvme/nvme1/transport = pcie\n");
	assert_reached(list(m, 1), "nvme", false, 1, "pci-0000:04:00.0-nvme");
	add(m,
	    SUBSYSTEM "/nvme2 -> ../../nvme-fabrics/ctl/nvme2\n" FABRICS
		      "/nvme2/transport = tcp\n" FABRICS
		      "/nvme2/address = traddr=192.0.2.7,trsvcid=4420\n");
	assert_reached(list(m, 1), "nvme-tcp", true, 2,
		       "pci-0000:04:00.0-nvme nvme-tcp-traddr=192.0.2.7,trsvcid=4420");
}

/* Without it, each controller has a block device of its own, which is no disk of the machine. */
static void test_nvme_fabrics(void **state)
{
	struct fake_machine *m = *state;
	add_namespace(m, "nvme1n1", FABRICS "/nvme1");
	add(m, FABRICS "/nvme1/transport = rdma\n" FABRICS "/nvme1/address = traddr=192.0.2.7\n");
	assert_reached(list(m, 1), "nvme-rdma", true, 1, "nvme-rdma-traddr=192.0.2.7");
	add_namespace(m, "nvme2n1", FABRICS "/nvme2");
	add(m, FABRICS "/nvme2/transport = rdma\n" FABRICS "/nvme2/address = traddr=192.0.2.8\n");
	assert_reached(list(m, 1), "nvme-rdma", true, 2,
		       "nvme-rdma-traddr=192.0.2.7 nvme-rdma-traddr=192.0.2.8");
}

static void test_rbd(void **state)
{
	struct fake_machine *m = *state;
	add(m,
	    "sys/block/rbd0 -> ../../sys/devices/rbd/0/block/rbd0\n"
	    "sys/devices/rbd/0/block/rbd0/size = 100\n");
	assert_reached(list(m, 1), "rbd", true, 1, "rbd0");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scsi_transports),
		T(test_sata_drive_elsewhere),
		T(test_paths_of_a_lun_are_one_disk),
		T(test_many_paths),
		T(test_two_ports_of_a_sas_disk),
		T(test_what_is_no_path),
		T(test_one_cable_is_one_path),
		T(test_local_nvme),
		T(test_nvme_subsystem),
		T(test_nvme_fabrics),
		T(test_rbd),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
