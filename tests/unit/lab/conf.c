/* lab.conf: what it may say, what it leaves out, what is refused and how. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/tree.h"
#include "phx-lab/conf.c" /* part of a program, not of the library */

static char dir[] = "/tmp/phx-lab-conf.XXXXXX";
static char conf[64];

static int setup(void **state)
{
	(void)state;
	snprintf(conf, sizeof(conf), "%s/lab.conf", mkdtemp(dir));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return phx_dir_remove(dir, NULL);
}

static int load(const char *text, const char *name, struct lab *ret, struct phx_err *err)
{
	phx_err_clear(err);
	assert_int_equal(phx_file_write(conf, text, strlen(text), 0644, NULL), 0);
	return lab_conf_load(conf, name, ret, err);
}

static void shipped_file_is_read(void **state)
{
	(void)state;
	LAB_AUTO struct lab lab = {0};
	struct phx_err err = {0};
	assert_int_equal(lab_conf_load(TEST_DIR "/../etc/lab.conf", NULL, &lab, &err), 0);
	assert_string_equal(lab.name, "phoenix");
	assert_int_equal(lab.machines.n, 4);
	unsigned uefi = 0;
	PHX_LIST_EACH(struct lab_machine, m, &lab.machines)
		uefi += m->firmware == LAB_UEFI;
	assert_int_equal(uefi, 2);
}

static void gaps_are_filled(void **state)
{
	(void)state;
	LAB_AUTO struct lab lab = {0};
	struct phx_err err = {0};
	assert_int_equal(load("machines = ( { name = \"a\"; disks = ( { bus = \"nvme\"; size = \"1 "
			      "GiB\"; } ); },"
			      " { name = \"b\"; bmc = false; mac = \"AA-BB-CC-00-11-22\"; } );",
			      "second", &lab, &err),
			 0);
	const struct lab_machine *a = lab_machine_find(&lab, "a"), *b = lab_machine_find(&lab, "b");
	assert_string_equal(lab.name, "second");
	assert_string_equal(a->ip, "10.77.0.11");
	assert_string_equal(a->bmc_ip, "10.77.0.201");
	assert_string_equal(a->serial, "PHX-second-a");
	assert_int_equal(a->cpus, 1);
	assert_int_equal(strlen(a->uuid), 36);
	const struct lab_disk *d = PHX_LIST_AT(&a->disks, struct lab_disk, 0);
	assert_int_equal(d->size_bytes, 1ULL << 30);
	assert_string_equal(d->serial, "a-D0");
	assert_string_equal(b->mac, "aa:bb:cc:00:11:22");
	assert_string_equal(b->bmc_ip, "");
}

static void two_labs_differ(void **state)
{
	(void)state;
	LAB_AUTO struct lab one = {0};
	LAB_AUTO struct lab two = {0};
	struct phx_err err = {0};
	assert_int_equal(load("machines = ( { name = \"a\"; } );", "one", &one, &err), 0);
	assert_int_equal(load("machines = ( { name = \"a\"; } );", "two", &two, &err), 0);
	assert_string_not_equal(lab_machine_find(&one, "a")->mac, lab_machine_find(&two, "a")->mac);
	assert_string_not_equal(lab_machine_find(&one, "a")->uuid,
				lab_machine_find(&two, "a")->uuid);
}

static void bad_files_are_refused(void **state)
{
	(void)state;
	static const struct {
		const char *text, *said;
	} bad[] = {
		{"name = \"x\";", "machines"},
		{"machines = ( );", "1 to 48 machines"},
		{"machines = ( { cpus = 1; } );", "name"},
		{"machines = ( { name = \"a\"; firmware = \"efi\"; } );", "bios, uefi"},
		{"machines = ( { name = \"a\"; memory = \"64 MiB\"; } );", "at least 128 MiB"},
		{"machines = ( { name = \"a\"; cpus = 99; } );", "1 to 16"},
		{"machines = ( { name = \"a\"; mac = \"12:34\"; } );", "no MAC address"},
		{"machines = ( { name = \"a\"; speed = 3; } );", "speed"},
		{"machines = ( { name = \"a\"; share = \"tmp\"; } );", "absolute path"},
		{"machines = ( { name = \"a\"; share = \"/tmp,x\"; } );", "without a comma"},
		{"machines = ( { name = \"a\"; share = \"/none/here\"; } );",
		 "is no directory here"},
		{"machines = ( { name = \"a\"; }, { name = \"a\"; } );",
		 "two machines are called 'a'"},
		{"machines = ( { name = \"a\"; mac = \"525400000001\"; }, { name = \"b\"; mac = "
		 "\"525400000001\"; } );",
		 "same MAC"},
		{"machines = ( { name = \"a\"; disks = ( { bus = \"floppy\"; size = \"1 GiB\"; } "
		 "); } );",
		 "virtio, ahci"},
		{"machines = ( { name = \"a\"; disks = ( { bus = \"virtio\"; size = \"1 MiB\"; } "
		 "); } );",
		 "16 MiB"},
		{"machines = ( { name = \"a\"; disks = ( { bus = \"virtio\"; size = \"1 GiB\"; "
		 "serial = \"a,b\"; } ); "
		 "} );",
		 "serial"},
		{"machines = ( { name = \"a\"; disks = ( { bus = \"ahci\"; size = \"1 GiB\"; wwn = "
		 "\"5000\"; } ); } );",
		 "16 small hexadecimal"},
		{"machines = ( { name = \"a\"; firmware = \"uefi\"; disks = ( { bus = \"ide\"; "
		 "size = \"1 GiB\"; } ); "
		 "} );",
		 "no IDE"},
		{"subnet = \"10.77.0.0/16\"; machines = ( { name = \"a\"; } );", "10.77.0.0/24"},
		{"machines = ( { name = \"a\"; }", "lab.conf:1"},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		struct lab lab = {.name = "untouched"};
		struct phx_err err = {0};
		if (load(bad[i].text, NULL, &lab, &err) >= 0)
			fail_msg("accepted: %s", bad[i].text);
		if (!strstr(err.text, bad[i].said))
			fail_msg("%s: '%s' does not say '%s'", bad[i].text, err.text, bad[i].said);
		assert_string_equal(lab.name, "untouched");
	}
}

static void bad_names_are_refused(void **state)
{
	(void)state;
	struct lab lab = {0};
	struct phx_err err = {0};
	static const char text[] = "machines = ( { name = \"a\"; } );";
	assert_int_equal(load(text, "../x", &lab, &err), -EINVAL);
	assert_int_equal(load(text, "a-name-that-is-far-too-long", &lab, &err), -EINVAL);
}

static void machines_are_added(void **state)
{
	(void)state;
	LAB_AUTO struct lab lab = {0};
	PHX_AUTO(phx_nodeset_fini) struct phx_nodeset names = {0};
	struct phx_err err = {0};
	assert_int_equal(load("machines = ( { name = \"a\"; disks = ( { bus = \"nvme\"; size = \"1 "
			      "GiB\"; serial = \"S1\"; "
			      "} ); } );",
			      NULL, &lab, &err),
			 0);
	assert_int_equal(phx_nodeset_parse("b[1-2]", NULL, NULL, &names, &err), 0);
	assert_int_equal(lab_conf_add(&lab, &names, lab_machine_find(&lab, "a"), &err), 0);
	const struct lab_machine *b = lab_machine_find(&lab, "b2");
	assert_int_equal(lab.machines.n, 3);
	assert_string_equal(b->ip, "10.77.0.13");
	assert_string_not_equal(b->mac, lab_machine_find(&lab, "b1")->mac);
	assert_string_equal(PHX_LIST_AT(&b->disks, struct lab_disk, 0)->serial, "b2-D0");
	assert_int_equal(lab_conf_add(&lab, &names, b, &err), -EEXIST);
}

static void a_lab_is_full_at_its_limit(void **state)
{
	(void)state;
	LAB_AUTO struct lab lab = {0};
	PHX_AUTO(phx_nodeset_fini) struct phx_nodeset names = {0};
	struct phx_err err = {0};
	assert_int_equal(load("machines = ( { name = \"a\"; } );", NULL, &lab, &err), 0);
	assert_int_equal(phx_nodeset_parse("b[1-60]", NULL, NULL, &names, &err), 0);
	assert_int_equal(lab_conf_add(&lab, &names, lab_machine_find(&lab, "a"), &err), -E2BIG);
	assert_int_equal(lab.machines.n, LAB_MACHINES_MAX);
}

static void what_was_made_is_found_again(void **state)
{
	(void)state;
	LAB_AUTO struct lab lab = {0};
	LAB_AUTO struct lab again = {0};
	struct phx_err err = {0};
	assert_int_equal(load("machines = ( { name = \"a\"; disks = ( { bus = \"scsi\"; size = \"1 "
			      "GiB\"; } ); } );",
			      "s", &lab, &err),
			 0);
	snprintf(lab.dir, sizeof(lab.dir), "%s/s", dir);
	assert_int_equal(phx_dir_make(lab.dir, 0755, &err), 0);
	assert_int_equal(lab_save(&lab, &err), 0);
	assert_int_equal(lab_load(dir, "s", &again, &err), 0);
	assert_true(phx_record_equal(&lab_record, &lab, &again));
	struct lab none = {0};
	assert_int_equal(lab_load(dir, "other", &none, &err), -ENOENT);
	PHX_AUTO_FREE char *path = phx_path("%s/lab.json", lab.dir);
	assert_int_equal(truncate(path, 40), 0);
	phx_err_clear(&err);
	assert_true(lab_load(dir, "s", &none, &err) < 0);
	assert_non_null(strstr(err.text, "lab.json"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shipped_file_is_read),
		cmocka_unit_test(gaps_are_filled),
		cmocka_unit_test(two_labs_differ),
		cmocka_unit_test(bad_files_are_refused),
		cmocka_unit_test(bad_names_are_refused),
		cmocka_unit_test(machines_are_added),
		cmocka_unit_test(a_lab_is_full_at_its_limit),
		cmocka_unit_test(what_was_made_is_found_again),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
