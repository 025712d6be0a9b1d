/* How the partitions of a volume become one device, stay one, and are taken apart. mdadm and lvm
 * are scripts that write down what they are told: no disk is touched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "disk/internal.h"

enum { PLACE = 7 }; /* of the volume in its layout: none of this machine has such a device */

static char dir[] = "/tmp/phx-join-XXXXXX";
static const struct phx_volume_parts parts = {.nodes = {"/dev/vdb1", "/dev/vdc1"}, .n = 2};

/* What was told since the last call, without the configuration of LVM. Valid until the next. */
static const char *told(void)
{
	static char text[2048];
	char path[64];
	snprintf(path, sizeof(path), "%s/told", dir);
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	text[n] = '\0';
	if (f)
		fclose(f);
	unlink(path);
	return text;
}

static void program(const char *name)
{
	char path[64], text[256];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	snprintf(text, sizeof(text),
		 "#!/bin/sh\nfor word in %s \"$@\"; do case $word in devices*) ;; *) printf '%%s ' "
		 "\"$word\";; esac; done >>%s/told\necho >>%s/told\n",
		 name, dir, dir);
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(path, 0755), 0);
}

static int setup(void **state)
{
	char words[4096];
	(void)state;
	assert_non_null(mkdtemp(dir));
	program("mdadm");
	program("lvm");
	snprintf(words, sizeof(words), "%s:%.4000s", dir, getenv("PATH"));
	return setenv("PATH", words, 1);
}

static int teardown(void **state)
{
	static const char *const names[] = {"mdadm", "lvm"};
	char path[64];
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	return rmdir(dir);
}

static struct phx_layout_volume volume(enum phx_layout_join join)
{
	struct phx_layout_volume v = {.name = "scratch", .join = (int)join};
	return v;
}

static void made_again_and_apart(enum phx_layout_join join, const char *device, const char *made,
				 const char *again)
{
	const struct phx_layout_volume v = volume(join);
	char node[PHX_VOLUME_DEVICE_MAX] = "";
	struct phx_err err = {0};
	assert_int_equal(phx_volume_join(&v, PLACE, &parts, node, &err), 0);
	assert_string_equal(node, device);
	assert_string_equal(told(), made);
	node[0] = '\0';
	assert_int_equal(phx_volume_rejoin(&v, PLACE, &parts, node, &err), 0);
	assert_string_equal(node, device);
	assert_string_equal(told(), again);
	/* it is not joined, so there is nothing to do */
	assert_int_equal(phx_volume_part(&v, PLACE, &err), 0);
	assert_string_equal(told(), "");
}

static void plain_is_its_partition(void **state)
{
	(void)state;
	made_again_and_apart(PHX_LAYOUT_PLAIN, "/dev/vdb1", "", "");
}

#define RAID_MADE(level) \
	"mdadm --create /dev/md107 --run --quiet --metadata=1.2 --homehost=any " \
	"--name=phx-scratch " \
	"--level " level " --raid-devices=2 /dev/vdb1 /dev/vdc1 \n"
#define RAID_AGAIN "mdadm --assemble /dev/md107 --run --quiet /dev/vdb1 /dev/vdc1 \n"

static void raid_is_an_array(void **state)
{
	(void)state;
	made_again_and_apart(PHX_LAYOUT_RAID0, "/dev/md107", RAID_MADE("0"), RAID_AGAIN);
	made_again_and_apart(PHX_LAYOUT_RAID1, "/dev/md107", RAID_MADE("1"), RAID_AGAIN);
	made_again_and_apart(PHX_LAYOUT_RAID10, "/dev/md107", RAID_MADE("10"), RAID_AGAIN);
}

static void lvm_is_a_logical_volume(void **state)
{
	(void)state;
	made_again_and_apart(
		PHX_LAYOUT_LVM, "/dev/phx_scratch/data",
		"lvm vgcreate --config --quiet --yes phx_scratch /dev/vdb1 /dev/vdc1 \n"
		"lvm lvcreate --config --quiet --yes --extents 100%FREE --name data phx_scratch \n",
		"lvm vgchange --config --quiet --yes --activate y phx_scratch \n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_is_its_partition),
		cmocka_unit_test(raid_is_an_array),
		cmocka_unit_test(lvm_is_a_logical_volume),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
