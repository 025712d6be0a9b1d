/* phx node hardware and phx node deviations: the parts of machines, and what one of many that are
 * alike has otherwise. The daemon is a fake; phx is the real program. */
#include <stdlib.h>
#include <unistd.h>

#include "fake/phxd.h"

#define GPU \
	"{'address':'0000:65:00.0','class_code':197120,'vendor':4318,'device':8368,'driver':'" \
	"nvidia'}"
#define CARD(driver) \
	"{'address':'0000:3b:00.0','class_code':131072,'vendor':32902,'device':5523,'driver':" \
	"'" driver "'}"
#define MODULE(slot) \
	"{'slot':'" slot \
	"','size_bytes':17179869184,'speed_mts':2400,'part':'M393','serial':'S-" slot "'}"
#define DISK(size) "{'id':'d','model':'SSD','size_bytes':" size "}"
#define ALIKE(name, product, driver, firmware, modules, size) \
	"{'name':'" name "','facts':{'vendor':'Maker','product':'" product \
	"','cpus':64,'cpu_model':'Model 9','memory_bytes':34359738368,'firmware':'" firmware \
	"','boot_mode':'uefi','pci':[" CARD( \
		driver) "," GPU "],'modules':[" modules \
			"],'disks':[" DISK( \
				size) "],'nics':[{'mac':'m','driver':'ice','link':true}]}}"
#define TWO MODULE("A1") "," MODULE("B1")
#define SOUND(name, product) ALIKE(name, product, "ice", "2.1", TWO, "960197124096")

static const char alike[] = "{'nodes':[" SOUND("n1", "R-1") "," SOUND("n10", "R-1") ","           //
	ALIKE("n2", "R-1", "", "2.1", TWO, "960197124096") ","                                    //
	ALIKE("n3", "R-1", "ice", "2.0", MODULE("B1"), "480103981056") "," SOUND("n4", "R-1") "," //
	/* two are not enough to say who is right; and no product is no kind of machine */
	SOUND("o1", "R-2") "," ALIKE("o2", "R-2", "", "1", TWO, "1") "," //
	ALIKE("p1", "", "", "1", TWO, "1") "," SOUND("p2", "") "," SOUND("p3", "") "]}";

static void parts_are_listed(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/nodes", "{'nodes':[" ALIKE("n2", "R-1", "", "2.1", TWO, "1") "]}");
	PHX_SAID s = phx(f, "node hardware n2");
	assert_int_equal(s.status, 0);
	assert_has(s.out, "NODE  KIND     WHERE         WHAT       DRIVER      SIZE  MT/S  SERIAL");
	assert_has(s.out, "n2    network  0000:3b:00.0  8086:1593  none");
	assert_has(s.out, "n2    GPU      0000:65:00.0  10de:20b0  nvidia");
	assert_has(s.out, "n2    memory   A1            M393               16.0 GiB  2400  S-A1");
	PHX_SAID bare = phx(f, "node hardware n2 --no-driver -o tsv --no-header");
	assert_string_equal(bare.out, "n2\tnetwork\t0000:3b:00.0\t8086:1593\t\t\t\t\n");
}

static void unused_devices_are_shown(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/nodes", "{'nodes':[" ALIKE("n2", "R-1", "", "2.1", TWO, "1") "]}");
	PHX_SAID s = phx(f, "node show n2");
	assert_has(s.out, "No driver");
	assert_has(s.out, "network 8086:1593\n");
	fake_answer(f, "GET /v1/nodes", "{'nodes':[" SOUND("n1", "R-1") "]}");
	PHX_SAID sound = phx(f, "node show n1");
	assert_null(strstr(sound.out, "No driver"));
}

/* The names are those of the file that the distribution has; scripts get the numbers. */
static void devices_have_names(void **state)
{
	struct fake_phxd *f = *state;
	static const char ids[] = "# of the test\n"
				  "10de  NVIDIA Corporation\n"
				  "\t1593  Not this one\n"
				  "8086  Intel Corporation\n"
				  "\t1592  Nor this\n"
				  "\t1593  Ethernet Controller E810-C for SFP\n"
				  "\t\t1137 0001  Nor this board\n";
	char path[] = "/tmp/phx-pci-ids-XXXXXX";
	int fd = mkstemp(path);
	assert_int_equal(write(fd, ids, sizeof(ids) - 1), sizeof(ids) - 1);
	close(fd);
	setenv("PHX_PCI_IDS", path, 1);
	fake_answer(f, "GET /v1/nodes", "{'nodes':[" ALIKE("n2", "R-1", "", "2.1", TWO, "1") "]}");
	PHX_SAID s = phx(f, "node hardware n2");
	assert_has(s.out, "Intel Corporation Ethernet Controller E810-C for SFP (8086:1593)  none");
	assert_has(s.out,
		   "NVIDIA Corporation device (10de:20b0)                             nvidia");
	PHX_SAID json = phx(f, "node hardware n2 --no-driver -o json");
	assert_has(json.out, "\"name\": \"Intel Corporation Ethernet Controller E810-C for SFP\"");
	unlink(path);
	PHX_SAID none = phx(f, "node hardware n2");
	assert_int_equal(none.status, 0);
	assert_has(none.errout, "cannot be read: devices have no names");
	assert_has(none.out, "8086:1593  none");
	setenv("PHX_PCI_IDS", "/dev/null", 1);
}

static void deviations_are_those_of_a_few(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/nodes", alike);
	PHX_SAID s = phx(f, "node deviations -o tsv --no-header");
	assert_int_equal(s.status, 0);
	assert_string_equal(
		s.out,
		"n2\tPCI devices\t1 x 10de:20b0 with nvidia, 1 x 8086:1593 without driver\t"
		"1 x 10de:20b0 with nvidia, 1 x 8086:1593 with ice\n"
		"n3\tmemory modules\t1 x 16.0 GiB M393\t2 x 16.0 GiB M393\n"
		"n3\tdisks\t1 x 447.1 GiB SSD\t1 x 894.3 GiB SSD\n"
		"n3\tfirmware\t2.0\t2.1\n");
	PHX_SAID table = phx(f, "node deviations");
	assert_has(table.out, "2 x 16.0 GiB M393 (4 of 5)");
}

/* The nodes that are named are compared with all. */
static void only_what_is_named_is_shown(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/nodes", alike);
	PHX_SAID s = phx(f, "node deviations n[1-2] -o json");
	json_t *j = NULL;
	assert_int_equal(phx_json_parse(s.out, strlen(s.out), &j, NULL), 0);
	const json_t *rows = json_object_get(j, "deviations");
	assert_int_equal(json_array_size(rows), 1);
	assert_int_equal(phx_json_int(json_array_get(rows, 0), "agree", 0), 4);
	assert_string_equal(phx_json_str(json_array_get(rows, 0), "node", ""), "n2");
	json_decref(j);
}

/* ---- checks ---- */

#define CHECKED(name, cpu, disk, slow) \
	"{'name':'" name "','facts':{'vendor':'Maker','product':'R-1'},'checks':[" \
	"{'part':'cpu','passed':true,'rate':" cpu ",'ended_ms':1,'seconds':600,'tool':'s 1'}," \
	"{'part':'disk','disk':'d1','passed':true,'rate':" disk ",'ended_ms':1}," \
	"{'part':'disk','disk':'d2','passed':true,'rate':" slow ",'ended_ms':1}]}"

/* By more than a fifth from the middle; of several disks the slowest counts. */
static void slow_parts_deviate(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/nodes",
		    "{'nodes':[" CHECKED("n1", "1000", "1048576", "1048576") "," //
		    CHECKED("n2", "800", "1048576", "1048576") ","               //
		    CHECKED("n3", "1100", "1048576", "524288") ","               //
		    CHECKED("n4", "799", "1048576", "1048576") "]}");
	PHX_SAID s = phx(f, "node deviations -o tsv --no-header");
	assert_string_equal(s.out,
			    "n3\tdisk reading\t512.0 KiB/s\t1.0 MiB/s\n"
			    "n4\tCPU speed\t799 ops/s\t1000 ops/s\n");
}

static void what_came_of_checks_is_shown(void **state)
{
	struct fake_phxd *f = *state;
	static const char broken[] =
		"{'nodes':[{'name':'n1','checks':[{'part':'cpu','passed':true,'ended_ms':1},"
		"{'part':'memory','passed':false,'errors':3,'text':'3 errors','ended_ms':2}]}]}";
	fake_answer(f, "GET /v1/nodes", broken);
	PHX_SAID s = phx(f, "node show n1");
	assert_has(s.out, "  Check        failed: memory\n");
	assert_has(s.out, "FAILED: 3 errors");
	fake_answer(f, "GET /v1/nodes", broken);
	PHX_SAID list = phx(f, "node list --columns node,check -o tsv --no-header");
	assert_string_equal(list.out, "n1\tfailed: memory\n");
}

static void a_check_is_ordered(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/nodes", "{'nodes':[{'name':'n1','state':'ready'}]}");
	fake_answer(f, "POST /v1/actions/check", "{'results':[{'node':'n1','code':0}]}");
	PHX_SAID s = phx(f, "node check n1 --with cpu,disk --for 90m");
	assert_int_equal(s.status, 0);
	assert_has(f->log, "\"with\":\"cpu,disk\"");
	assert_has(f->log, "\"for_s\":5400");
	PHX_SAID wrong = phx(f, "node check n1 --for 0");
	assert_int_equal(wrong.status, 64);
	assert_has(wrong.errout, "--for: '0' is no time such as 90s or 2h");
}

/* Where no more than half agree, nobody is said to deviate. */
static void half_is_no_majority(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/nodes",
		    "{'nodes':[" SOUND("n1", "R-1") "," SOUND("n2", "R-1") "," //
		    ALIKE("n3", "R-1", "ice", "2.0", TWO, "960197124096") ","  //
		    ALIKE("n4", "R-1", "ice", "2.0", TWO, "960197124096") "]}");
	PHX_SAID s = phx(f, "node deviations -o tsv --no-header");
	assert_string_equal(s.out, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(parts_are_listed, fake_clean),
		cmocka_unit_test_teardown(devices_have_names, fake_clean),
		cmocka_unit_test_teardown(unused_devices_are_shown, fake_clean),
		cmocka_unit_test_teardown(deviations_are_those_of_a_few, fake_clean),
		cmocka_unit_test_teardown(only_what_is_named_is_shown, fake_clean),
		cmocka_unit_test_teardown(half_is_no_majority, fake_clean),
		cmocka_unit_test_teardown(slow_parts_deviate, fake_clean),
		cmocka_unit_test_teardown(what_came_of_checks_is_shown, fake_clean),
		cmocka_unit_test_teardown(a_check_is_ordered, fake_clean),
	};
	setenv("PHX_PCI_IDS", "/dev/null", 1); /* whatever this machine has */
	return cmocka_run_group_tests(tests, fake_setup, fake_teardown);
}
