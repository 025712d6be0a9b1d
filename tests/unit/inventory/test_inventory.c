/* The inventory on made-up machines, broken ones, and the one the tests run on. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <utmp.h>
#include <cmocka.h>

#include "base/json.h"
#include "base/tree.h"
#include "inventory/internal.h"
#include "types/pci.h"
#include "unit/inventory/tree.h"

#define FIXTURES TEST_DIR "/unit/inventory/fixtures"

struct machine {
	char root[40];
	struct phx_facts facts;
	struct phx_err err;
};

static int setup(void **state)
{
	struct machine *m = calloc(1, sizeof(*m));
	strcpy(m->root, "/tmp/phx-test-inventory-XXXXXX");
	assert_non_null(mkdtemp(m->root));
	*state = m;
	return 0;
}

static int teardown(void **state)
{
	struct machine *m = *state;
	phx_record_fini(&phx_facts_record, &m->facts);
	phx_dir_remove(m->root, NULL);
	free(m);
	return 0;
}

static void make(struct machine *m, const char *text)
{
	assert_int_equal(tree_make(m->root, FIXTURES, text), 0);
}

static void load(struct machine *m, const char *fixture)
{
	PHX_AUTO_FREE char *path = phx_path(FIXTURES "/%s", fixture), *text = NULL;
	size_t n;
	assert_int_equal(phx_file_read(path, 1 << 20, &text, &n, NULL), 0);
	make(m, text);
}

static void read_facts(struct machine *m)
{
	phx_record_fini(&phx_facts_record, &m->facts);
	assert_int_equal(phx_inventory_read(m->root, &m->facts, &m->err), 0);
}

static void test_bios_machine(void **state)
{
	struct machine *m = *state;
	struct phx_facts *f = &m->facts;
	load(m, "bios.tree");
	read_facts(m);
	assert_string_equal(f->arch, "x86_64");
	assert_int_equal(f->cpus, 2);
	assert_int_equal(f->cores, 2);
	assert_int_equal(f->sockets, 1);
	assert_string_equal(f->cpu_model, "QEMU Virtual CPU version 2.5+");
	assert_int_equal(f->memory_bytes, 512ull << 20);
	assert_string_equal(f->vendor, "QEMU");
	assert_string_equal(f->product, "Standard PC (i440FX + PIIX, 1996)");
	assert_string_equal(f->serial, "lab-node1");
	assert_string_equal(f->uuid, "4c4c4544-0001-0002-0003-0123456789ab");
	assert_string_equal(f->firmware, "SeaBIOS 1.16.2-debian");
	assert_int_equal(f->boot_mode, PHX_BOOT_BIOS);
	assert_string_equal(f->os, "Debian GNU/Linux 12 (bookworm)");
	assert_string_equal(f->kernel, "6.1.0-18-amd64");
	assert_string_equal(f->bmc_address, "");
	assert_int_equal(phx_facts_check(f, &m->err), 0);
}

static void test_bios_devices(void **state)
{
	struct machine *m = *state;
	load(m, "bios.tree");
	read_facts(m);
	assert_int_equal(m->facts.disks.n, 1);
	const struct phx_disk_facts *d = phx_facts_disk(&m->facts, "serial-virtio-node1-root");
	assert_non_null(d);
	assert_int_equal(d->size_bytes, 2048ull << 20);
	assert_true(d->can_discard);
	assert_int_equal(m->facts.nics.n, 1);
	const struct phx_nic_facts *nic = m->facts.nics.items;
	assert_string_equal(nic->mac, "52:54:00:12:34:01");
	assert_string_equal(nic->dev, "eth0");
	assert_string_equal(nic->driver, "virtio_net");
	assert_true(nic->link);
	assert_int_equal(nic->speed_mbps, 0);
}

static void test_server(void **state)
{
	struct machine *m = *state;
	struct phx_facts *f = &m->facts;
	load(m, "server.tree");
	read_facts(m);
	assert_int_equal(f->cpus, 16);
	assert_int_equal(f->cores, 8);
	assert_int_equal(f->sockets, 2);
	assert_string_equal(f->cpu_model, "Model 9  32-Core Processor");
	assert_int_equal(f->memory_bytes, 64ull << 30);
	assert_int_equal(f->boot_mode, PHX_BOOT_UEFI);
	/* placeholders name nobody */
	assert_string_equal(f->vendor, "");
	assert_string_equal(f->product, "R-1000");
	assert_string_equal(f->serial, "");
	assert_string_equal(f->uuid, "");
	assert_string_equal(f->firmware, "American Firmware");
	assert_string_equal(f->os, "");
	assert_int_equal(phx_facts_check(f, &m->err), 0);
}

static void test_server_disks(void **state)
{
	struct machine *m = *state;
	static const char *const ids[] = {"serial-OTHER-B7", "wwn-0x0025385b71b00b2a",
					  "wwn-0x5000c500a1b2c3d4"};
	static const char *const buses[] = {"nvme", "nvme", "ata"};
	load(m, "server.tree");
	read_facts(m);
	assert_int_equal(m->facts.disks.n, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_string_equal(PHX_LIST_AT(&m->facts.disks, struct phx_disk_facts, i)->id,
				    ids[i]);
		assert_string_equal(PHX_LIST_AT(&m->facts.disks, struct phx_disk_facts, i)->bus,
				    buses[i]);
	}
	assert_string_equal(PHX_LIST_AT(&m->facts.disks, struct phx_disk_facts, 2)->serial,
			    "ZC1234AB");
}

static void test_server_nics(void **state)
{
	struct machine *m = *state;
	load(m, "server.tree");
	read_facts(m);
	assert_int_equal(m->facts.nics.n, 2);
	const struct phx_nic_facts *nic = m->facts.nics.items;
	assert_string_equal(nic[0].mac, "3c:ec:ef:00:00:01");
	assert_false(nic[0].link);
	assert_string_equal(nic[1].mac, "3c:ec:ef:00:00:02"); /* its own, not the bond's */
	assert_true(nic[1].link);
	assert_int_equal(nic[1].speed_mbps, 10000);
	assert_string_equal(nic[1].driver, "ixgbe");
}

static void test_nics_cannot_be_listed(void **state)
{
	struct machine *m = *state;
	make(m, "sys/class/net = no directory\nproc/\n");
	assert_int_equal(phx_inventory_read(m->root, &m->facts, &m->err), -ENOTDIR);
	assert_non_null(strstr(m->err.text, "/sys/class/net: Not a directory"));
}

/* The report survives its way over the network. */
static void test_report_as_json(void **state)
{
	struct machine *m = *state;
	struct phx_facts again;
	load(m, "server.tree");
	make(m, "sys/class/dmi/id/product_name = caf\\xe9 \\xff\\x01\n");
	read_facts(m);
	assert_string_equal(m->facts.product, "caf? ??");
	PHX_AUTO_JSON json_t *j = phx_json_from_record(&phx_facts_record, &m->facts);
	assert_non_null(j);
	assert_int_equal(phx_json_to_record(&phx_facts_record, j, &again, &m->err), 0);
	assert_true(phx_record_equal(&phx_facts_record, &again, &m->facts));
	phx_record_fini(&phx_facts_record, &again);
}

static void test_two_disks_with_one_serial(void **state)
{
	struct machine *m = *state;
	load(m, "bios.tree");
	make(m,
	     "sys/block/vdb -> ../../sys/devices/pci0/virtio9/block/vdb\n"
	     "sys/devices/pci0/virtio9/block/vdb/size = 100\n"
	     "sys/devices/pci0/virtio9/block/vdb/serial = node1-root\n");
	read_facts(m);
	assert_int_equal(m->facts.disks.n, 2);
	assert_int_equal(phx_facts_check(&m->facts, &m->err), -EINVAL);
	assert_non_null(strstr(m->err.text, "serial-virtio-node1-root"));
}

static void test_almost_nothing(void **state)
{
	struct machine *m = *state;
	make(m, "sys/kernel/\nproc/self/\n");
	read_facts(m);
	assert_int_equal(m->facts.cpus, 0);
	assert_int_equal(m->facts.memory_bytes, 0);
	assert_int_equal(m->facts.boot_mode, PHX_BOOT_UNKNOWN);
	assert_int_equal(m->facts.disks.n, 0);
	assert_int_equal(m->facts.nics.n, 0);
}

static void test_nothing(void **state)
{
	struct machine *m = *state;
	m->facts.cpus = 7;
	assert_int_equal(phx_inventory_read(m->root, &m->facts, &m->err), -ENOENT);
	assert_non_null(strstr(m->err.text, "mount them first"));
	assert_int_equal(m->facts.cpus, 7);
	assert_int_equal(phx_inventory_read("/tmp/no-such-root", &m->facts, NULL), -ENOENT);
}

/* Garbage where numbers are expected. */
static void test_broken_files(void **state)
{
	struct machine *m = *state;
	load(m, "bios.tree");
	make(m,
	     "proc/meminfo = MemTotal: lots kB\nproc/cpuinfo = nothing\n"
	     "sys/devices/pci0000:00/0000:00:03.0/virtio0/net/eth0/speed = fast\n"
	     "sys/devices/pci0000:00/0000:00:03.0/virtio0/net/eth0/address = 52:54:00\n"
	     "sys/class/dmi/id/product_uuid = short\n"
	     "sys/devices/pci0000:00/0000:00:04.0/virtio1/block/vda/size = -5\n"
	     "sys/firmware/dmi/tables/DMI = \\x11\n");
	read_facts(m);
	assert_int_equal(m->facts.memory_bytes, 0);
	assert_int_equal(m->facts.cpus, 0);
	assert_string_equal(m->facts.uuid, "");
	assert_int_equal(m->facts.nics.n, 0);
	assert_int_equal(m->facts.disks.n, 0);
	assert_int_equal(phx_facts_check(&m->facts, &m->err), -EINVAL);
}

static void test_broken_topology(void **state)
{
	struct machine *m = *state;
	load(m, "bios.tree");
	make(m, "hwloc.xml = <topology\n");
	read_facts(m);
	assert_int_equal(m->facts.cpus, 2);
}

/* ---- DMI ---- */

/* Of an SMBIOS table; slots that it names into *ret_slots. */
static uint64_t installed(const uint8_t *table, size_t n, uint32_t *ret_slots)
{
	struct phx_list modules = {0};
	uint64_t sum = 0;
	assert_int_equal(phx_dmi_memory(table, n, &modules, ret_slots), 0);
	PHX_LIST_EACH(const struct phx_memory_module, m, &modules)
		sum += m->size_bytes;
	phx_list_fini(&modules);
	return sum;
}

static void test_dmi_sizes(void **state)
{
	uint32_t n_slots;
	(void)state;
	uint8_t t[0x22] = {17, 0x20}; /* one memory device, no strings */
	struct {
		uint16_t size;
		uint32_t extended;
		uint64_t bytes;
	} cases[] = {{0, 0, 0},
		     {0xffff, 0, 0},
		     {4096, 0, 4ull << 30},
		     {0x8000 | 512, 0, 512 << 10},
		     {0x7fff, 65536, 64ull << 30},
		     {0x7fff, 0x80000000 | 1024, 1ull << 30}};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		memcpy(t + 0x0c, &cases[i].size, 2);
		memcpy(t + 0x1c, &cases[i].extended, 4);
		assert_int_equal(installed(t, sizeof(t), &n_slots), cases[i].bytes);
		assert_int_equal(n_slots, 1);
	}
}

/* Two modules and an empty slot; the second names no serial, a string that is not there, and a
 * speed that is not known. */
static void test_dmi_modules(void **state)
{
#define MODULE(size, texts, speed, more, configured) \
	"\x11\x22\0\0\0\0\0\0\0\0\0\0" size "\x09\0" texts "\x1a\x80\0" speed more \
	"\0\0\0\0\0" configured
	static const uint8_t table[] =
		MODULE("\x00\x40", "\1\2", "\x80\x0c", "\3\4\0\5", "\x60\x09") /* 16 GiB */
		"DIMM_A1\0BANK 0\0Maker\0"
		"00CE1234\0M393A2K40  \0\0" /* serial, part */
		MODULE("\x00\x20", "\1\0", "\xff\xff", "\0\0\0\7", "\0\0") "DIMM_B1\0\0" MODULE(
			"\x00\x00", "\1\0", "\0\0", "\0\0\0\0", "\0\0") "DIMM_C1\0\0"
									"\x7f\4\0\0\0";
	struct phx_list modules = {0};
	uint32_t n_slots;
	(void)state;
	assert_int_equal(phx_dmi_memory(table, sizeof(table), &modules, &n_slots), 0);
	assert_int_equal(n_slots, 3);
	assert_int_equal(modules.n, 2);
	const struct phx_memory_module *m = modules.items;
	assert_string_equal(m[0].slot, "DIMM_A1");
	assert_int_equal(m[0].size_bytes, 16ull << 30);
	assert_int_equal(m[0].speed_mts, 2400);
	assert_string_equal(m[0].serial, "00CE1234");
	assert_string_equal(m[0].part, "M393A2K40");
	assert_string_equal(m[1].slot, "DIMM_B1");
	assert_int_equal(m[1].size_bytes, 8ull << 30);
	assert_int_equal(m[1].speed_mts, 0);
	assert_string_equal(m[1].serial, "");
	assert_string_equal(m[1].part, "");
	phx_list_fini(&modules);
}

/* ---- PCI ---- */

static void test_pci(void **state)
{
	struct machine *m = *state;
	static const struct {
		const char *address, *kind, *driver;
		uint32_t vendor, device;
		bool computes;
	} want[] = {
		{"0000:00:17.0", "storage", "ahci", 0x8086, 0xa182, false},
		{"0000:3b:00.0", "network", "", 0x8086, 0x1593, false},
		{"0000:65:00.0", "GPU", "nvidia", 0x10de, 0x20b0, true},
		{"0000:66:00.0", "GPU", "amdgpu", 0x1002, 0x73bf, true},
		{"0000:c1:00.0", "display", "ast", 0x1a03, 0x2000, false},
	};
	load(m, "pci.tree");
	read_facts(m);
	assert_int_equal(m->facts.pci.n, PHX_ARRAY_SIZE(want));
	for (uint32_t i = 0; i < m->facts.pci.n; i++) {
		const struct phx_pci_facts *d = PHX_LIST_AT(&m->facts.pci, struct phx_pci_facts, i);
		assert_string_equal(d->address, want[i].address);
		assert_string_equal(phx_pci_kind(d), want[i].kind);
		assert_string_equal(d->driver, want[i].driver);
		assert_int_equal(d->vendor, want[i].vendor);
		assert_int_equal(d->device, want[i].device);
		assert_int_equal(phx_pci_computes(d), want[i].computes);
	}
}

/* Every table cut anywhere, and noise: no crash, no read beyond (run under the sanitizers too). */
static void test_dmi_damaged(void **state)
{
	uint32_t n_slots;
	(void)state;
	static const uint8_t whole[] = {0, 4, 0, 0,  'a', 0,  0,   17, 0x15, 1, 0, 0,
					0, 0, 0, 64, 0,   64, 0,   0,  2,    9, 0, 1,
					0, 0, 0, 0,  0,   0,  127, 4,  0,    0, 0, 0};
	for (size_t n = 0; n <= sizeof(whole); n++) {
		PHX_AUTO_FREE uint8_t *copy = malloc(n ? n : 1);
		memcpy(copy, whole, n);
		uint64_t bytes = installed(copy, n, &n_slots);
		assert_true(bytes == 0 || bytes == 512ull << 20);
	}
	uint32_t x = 7;
	for (int round = 0; round < 2000; round++) {
		uint8_t noise[64];
		for (size_t i = 0; i < sizeof(noise); i++)
			noise[i] = (uint8_t)((x = x * 1664525 + 1013904223) >> 24);
		PHX_AUTO_FREE uint8_t *copy = malloc(sizeof(noise));
		memcpy(copy, noise, sizeof(noise));
		installed(copy, sizeof(noise), &n_slots);
	}
}

/* ---- BMC ---- */

/* A BMC whose channels are these: what they are, and their addresses. */
struct fake_bmc {
	struct {
		uint8_t medium; /* 0: there is no such channel */
		uint8_t address[4];
		int error; /* of the question for the address */
	} channels[12];
	int hangs_at; /* the so-manieth question is not answered */
	int asked;
};

static int ask_fake(void *arg, uint8_t netfn, uint8_t command, const uint8_t *data, size_t n,
		    uint8_t ret[PHX_BMC_ANSWER_MAX])
{
	struct fake_bmc *b = arg;
	uint8_t channel = data[0];
	assert_true(n > 0 && channel < 12);
	b->asked++;
	if (b->asked == b->hangs_at)
		return -ETIMEDOUT;
	if (netfn == 0x06 && command == 0x42 && n == 1) {
		const uint8_t answer[] = {b->channels[channel].medium ? 0 : 0xcc, channel,
					  b->channels[channel].medium};
		memcpy(ret, answer, sizeof(answer));
		return b->channels[channel].medium ? (int)sizeof(answer) : 1;
	}
	assert_true(netfn == 0x0c && command == 0x02 && n == 4 && data[1] == 3);
	ret[0] = (uint8_t)b->channels[channel].error;
	ret[1] = 0x11;
	memcpy(ret + 2, b->channels[channel].address, 4);
	return ret[0] ? 1 : 6;
}

static void test_bmc_address(void **state)
{
	static const struct {
		struct fake_bmc bmc;
		const char *address;
		int asked;
	} cases[] = {
		{{.channels = {[1] = {4, {10, 9, 0, 4}, 0}}}, "10.9.0.4", 2},
		/* as Dell's: the first is none, a serial one comes, then the LAN */
		{{.channels = {[2] = {5, {1, 1, 1, 1}, 0}, [8] = {4, {10, 9, 0, 5}, 0}}},
		 "10.9.0.5",
		 9},
		/* one without an address, one that says an error, one that has one */
		{{.channels = {[1] = {4, {0}, 0},
			       [2] = {4, {255, 255, 255, 255}, 0},
			       [3] = {4, {1, 1, 1, 1}, 0xc9},
			       [4] = {4, {10, 9, 0, 6}, 0}}},
		 "10.9.0.6",
		 8},
		{{.channels = {[2] = {5, {0}, 0}}}, "", 11},
		{{.channels = {[1] = {4, {10, 9, 0, 4}, 0}}, .hangs_at = 1}, "", 1},
		{{.channels = {[1] = {4, {10, 9, 0, 4}, 0}}, .hangs_at = 2}, "", 2},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		struct fake_bmc bmc = cases[i].bmc;
		char address[64];
		phx_bmc_find_address(&(struct phx_bmc_line){ask_fake, &bmc}, address);
		assert_string_equal(address, cases[i].address);
		assert_int_equal(bmc.asked, cases[i].asked);
	}
}

static void test_line_value(void **state)
{
	char v[8];
	(void)state;
	assert_int_equal(phx_line_value("A=1\nB = \"two\" \nAB=3", "B", '=', v, sizeof(v)), 0);
	assert_string_equal(v, "two");
	assert_int_equal(phx_line_value("AB=3", "A", '=', v, sizeof(v)), -ENOENT);
	assert_string_equal(v, "");
	assert_int_equal(phx_line_value("A=0123456789", "A", '=', v, sizeof(v)), 0);
	assert_string_equal(v, "0123456");
	assert_int_equal(phx_line_value("A", "A", '=', v, sizeof(v)), -ENOENT);
}

/* ---- this machine ---- */

static void test_here(void **state)
{
	struct machine *m = *state;
	assert_int_equal(phx_inventory_read("", &m->facts, &m->err), 0);
	assert_int_equal(m->facts.cpus, sysconf(_SC_NPROCESSORS_CONF));
	assert_true(m->facts.cores >= 1 && m->facts.cores <= m->facts.cpus);
	assert_true(m->facts.memory_bytes >=
		    (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));
	assert_true(m->facts.kernel[0] && m->facts.arch[0]);
	PHX_AUTO_JSON json_t *j = phx_json_from_record(&phx_facts_record, &m->facts);
	assert_non_null(j);
}

static void test_boot_id(void **state)
{
	struct machine *m = *state;
	char id[40] = "untouched", here[40], again[40];
	assert_int_equal(phx_boot_id_read(m->root, id, &m->err), -ENOENT);
	make(m, "proc/sys/kernel/random/boot_id = short\n");
	assert_int_equal(phx_boot_id_read(m->root, id, NULL), -EBADMSG);
	assert_string_equal(id, "untouched");
	load(m, "bios.tree");
	assert_int_equal(phx_boot_id_read(m->root, id, NULL), 0);
	assert_string_equal(id, "8b5ae07e-31f2-44d4-9d85-0f1e3a2e9e1f");
	assert_int_equal(phx_boot_id_read("", here, NULL), 0);
	assert_int_equal(phx_boot_id_read("", again, NULL), 0);
	assert_string_equal(here, again);
}

/* ---- monitor ---- */

static void test_monitor(void **state)
{
	struct machine *m = *state;
	struct phx_monitor s;
	load(m, "bios.tree");
	assert_int_equal(phx_monitor_read(m->root, NULL, &s, &m->err), 0);
	assert_int_equal(s.cpu_total_ticks, 910);
	assert_int_equal(s.cpu_busy_ticks, 160);
	assert_int_equal(s.cpu_permille, 175);
	assert_int_equal(s.memory_total_bytes, 486968ull << 10);
	assert_int_equal(s.memory_available_bytes, 380004ull << 10);
	assert_int_equal(s.swap_total_bytes, 102400ull << 10);
	assert_int_equal(s.swap_used_bytes, 10000ull << 10);
	assert_int_equal(s.disk_read_bytes, 1000 * 512);
	assert_int_equal(s.disk_written_bytes, 2000 * 512);
	assert_int_equal(s.net_rx_bytes, 123456);
	assert_int_equal(s.net_tx_bytes, 65432);
	assert_int_equal(s.load1_centi, 125);
	assert_int_equal(s.uptime_s, 321);
}

static void test_monitor_share(void **state)
{
	struct machine *m = *state;
	struct phx_monitor a, b, c;
	load(m, "bios.tree");
	assert_int_equal(phx_monitor_read(m->root, NULL, &a, NULL), 0);
	make(m, "proc/stat = cpu  170 20 30 730 50 0 10 0 0 0\\n\n");
	assert_int_equal(phx_monitor_read(m->root, &a, &b, NULL), 0);
	assert_int_equal(b.cpu_permille, 700);
	assert_int_equal(phx_monitor_read(m->root, &b, &c, NULL), 0);
	assert_int_equal(c.cpu_permille, 0);
	/* another boot: counters went back */
	make(m, "proc/stat = cpu  50 0 0 50 0 0 0 0 0 0\\n\n");
	assert_int_equal(phx_monitor_read(m->root, &b, &c, NULL), 0);
	assert_int_equal(c.cpu_permille, 500);
}

static void test_monitor_broken(void **state)
{
	struct machine *m = *state;
	struct phx_monitor s = {.uptime_s = 7};
	assert_int_equal(phx_monitor_read(m->root, NULL, &s, &m->err), -ENOENT);
	assert_non_null(strstr(m->err.text, "proc/stat"));
	make(m, "proc/stat = intr 5\n");
	assert_int_equal(phx_monitor_read(m->root, NULL, &s, NULL), -EBADMSG);
	make(m, "proc/stat = cpu 1 2 3 4\nproc/meminfo = empty\n");
	assert_int_equal(phx_monitor_read(m->root, NULL, &s, NULL), -EBADMSG);
	assert_int_equal(s.uptime_s, 7);
	make(m,
	     "proc/meminfo = MemTotal: 5 kB\nproc/uptime = x\nproc/loadavg = y\nproc/diskstats = "
	     "z\n");
	assert_int_equal(phx_monitor_read(m->root, NULL, &s, NULL), 0);
	assert_int_equal(s.uptime_s, 0);
}

static void test_monitor_here(void **state)
{
	struct phx_monitor a, b;
	(void)state;
	assert_int_equal(phx_monitor_read("", NULL, &a, NULL), 0);
	for (volatile int i = 0; i < 100000000; i++)
		;
	assert_int_equal(phx_monitor_read("", &a, &b, NULL), 0);
	assert_true(b.cpu_total_ticks > a.cpu_total_ticks);
	assert_true(b.cpu_permille > 0 && b.cpu_permille <= 1000);
	assert_true(b.memory_available_bytes > 0 &&
		    b.memory_available_bytes <= b.memory_total_bytes);
	PHX_AUTO_JSON json_t *j = phx_json_from_record(&phx_monitor_record, &b);
	assert_non_null(j);
}

/* ---- who is logged in ---- */

static void write_below(const struct machine *m, const char *path, const void *data, size_t n)
{
	PHX_AUTO_FREE char *full = phx_path("%s/%s", m->root, path);
	tree_parent(full);
	assert_int_equal(phx_file_write(full, data, n, 0644, NULL), 0);
}

static void test_sessions_of_logind(void **state)
{
	static const char alice[] =
		"# private data of systemd-logind\nUID=1000\nUSER=alice\nACTIVE=1\nSTATE=active\n"
		"REMOTE=1\nTYPE=tty\nCLASS=user\nTTY=pts/"
		"0\nREMOTE_HOST=10.0.0.9\nREALTIME=1700000000123456\n";
	static const char gone[] = "USER=bob\nSTATE=closing\nCLASS=user\n",
			  greeter[] = "USER=gdm\nSTATE=active\nCLASS=greeter\n";
	struct machine *m = *state;
	PHX_AUTO(phx_list_fini) struct phx_list list = {0};
	write_below(m, "run/systemd/sessions/3", alice, strlen(alice));
	write_below(m, "run/systemd/sessions/3.ref", "", 0);
	write_below(m, "run/systemd/sessions/4", gone, strlen(gone));
	write_below(m, "run/systemd/sessions/c1", greeter, strlen(greeter));
	write_below(m, "run/systemd/sessions/5", "\xff\xfe", 2);
	assert_int_equal(phx_sessions_read(m->root, &list), 0);
	assert_int_equal(list.n, 1);
	const struct phx_session *s = PHX_LIST_AT(&list, struct phx_session, 0);
	assert_string_equal(s->user, "alice");
	assert_string_equal(s->tty, "pts/0");
	assert_string_equal(s->from, "10.0.0.9");
	assert_int_equal(s->since_ms, 1700000000123);
}

static void test_sessions_of_utmp(void **state)
{
	struct machine *m = *state;
	PHX_AUTO(phx_list_fini) struct phx_list list = {0};
	struct utmp rows[3] = {{.ut_type = BOOT_TIME, .ut_user = "reboot"},
			       {.ut_type = USER_PROCESS},
			       {.ut_type = DEAD_PROCESS}};
	/* nobody knows, and nobody says that there are none */
	assert_true(phx_sessions_read(m->root, &list) < 0);
	/* as long as it can be: no end of its own */
	memset(rows[1].ut_user, 'u', sizeof(rows[1].ut_user));
	memcpy(rows[1].ut_line, "tty1", 4);
	rows[1].ut_tv.tv_sec = 1700000000;
	write_below(m, "run/utmp", rows, sizeof(rows) - 7); /* the last one is cut */
	assert_int_equal(phx_sessions_read(m->root, &list), 0);
	assert_int_equal(list.n, 1);
	const struct phx_session *s = PHX_LIST_AT(&list, struct phx_session, 0);
	assert_int_equal(strlen(s->user), sizeof(rows[1].ut_user));
	assert_string_equal(s->tty, "tty1");
	assert_int_equal(s->since_ms, 1700000000000);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_bios_machine),
		T(test_bios_devices),
		T(test_server),
		T(test_server_disks),
		T(test_server_nics),
		T(test_nics_cannot_be_listed),
		T(test_report_as_json),
		T(test_two_disks_with_one_serial),
		T(test_almost_nothing),
		T(test_nothing),
		T(test_broken_files),
		T(test_broken_topology),
		T(test_dmi_sizes),
		T(test_dmi_modules),
		T(test_dmi_damaged),
		T(test_pci),
		T(test_bmc_address),
		T(test_line_value),
		T(test_here),
		T(test_boot_id),
		T(test_monitor),
		T(test_monitor_share),
		T(test_monitor_broken),
		T(test_monitor_here),
		T(test_sessions_of_logind),
		T(test_sessions_of_utmp),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
