/* Names of PCI devices: lib/inventory/pci_names.c, on a file of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "inventory/pci_names.h"

static char path[] = "/tmp/phx-pci-names-XXXXXX";

static void put(const char *text)
{
	FILE *f = fopen(path, "w");
	fputs(text, f);
	fclose(f);
}

static struct phx_list asked(void)
{
	static const struct phx_pci_name some[] = {
		{.vendor = 0x8086, .device = 0x1593},
		{.vendor = 0x15b3, .device = 0x1017},
		{.vendor = 0x8086, .device = 0x0001},
		{.vendor = 0xffff, .device = 0x1593},
	};
	struct phx_list l = {0};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(some); i++)
		*(struct phx_pci_name *)phx_list_push(&l, sizeof(some[i])) = some[i];
	return l;
}

static void names_are_of_their_vendor(void **state)
{
	(void)state;
	struct phx_list l = asked();
	put("# a comment\n\n"
	    "0e11  Compaq\n\t1593  Another's\n"
	    "15b3  Mellanox Technologies\n\t1017  MT27800 Family [ConnectX-5]\n"
	    "\t\t15b3 0006  A board\n"
	    "8086  Intel Corporation\n\t1593  E810-C\r\n"
	    "C 02  Network controller\n\t0001  A class\n");
	assert_int_equal(phx_pci_names_read(path, &l), 0);
	const struct phx_pci_name *n = phx_pci_name_of(&l, 0x15b3, 0x1017);
	assert_string_equal(n->vendor_name, "Mellanox Technologies");
	assert_string_equal(n->device_name, "MT27800 Family [ConnectX-5]");
	assert_string_equal(phx_pci_name_of(&l, 0x8086, 0x1593)->device_name, "E810-C");
	/* the vendor is known, the device is not: a class is none */
	n = phx_pci_name_of(&l, 0x8086, 0x0001);
	assert_string_equal(n->vendor_name, "Intel Corporation");
	assert_string_equal(n->device_name, "");
	assert_string_equal(phx_pci_name_of(&l, 0xffff, 0x1593)->vendor_name, "");
	assert_null(phx_pci_name_of(&l, 0x15b3, 0x1593));
	phx_list_fini(&l);
}

static void long_and_broken_lines_do_no_harm(void **state)
{
	(void)state;
	struct phx_list l = asked();
	char text[4096];
	/* cut within a character of two bytes */
	memset(text, 'x', sizeof(text));
	memcpy(text, "8086  Intel\n\t1593  ", 19);
	for (size_t i = 19 + 94; i + 3 < sizeof(text); i += 2)
		memcpy(text + i, "\xc3\xa9", 2);
	strcpy(text + sizeof(text) - 5, "\n80\n");
	put(text);
	assert_int_equal(phx_pci_names_read(path, &l), 0);
	const struct phx_pci_name *n = phx_pci_name_of(&l, 0x8086, 0x1593);
	assert_int_equal(strlen(n->device_name), 95);
	assert_int_equal(n->device_name[94], '?');
	phx_list_fini(&l);
}

static void no_file_is_told(void **state)
{
	(void)state;
	struct phx_list l = asked(), empty = {0};
	assert_true(phx_pci_names_read("/nonexistent/pci.ids", &l) < 0);
	/* sorted all the same: what is looked for is found, without a name */
	assert_string_equal(phx_pci_name_of(&l, 0x15b3, 0x1017)->vendor_name, "");
	put("8086  Intel\n");
	assert_int_equal(phx_pci_names_read(path, &empty), 0);
	assert_null(phx_pci_name_of(&empty, 0x8086, 0x1593));
	phx_list_fini(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_of_their_vendor),
		cmocka_unit_test(long_and_broken_lines_do_no_harm),
		cmocka_unit_test(no_file_is_told),
	};
	int fd = mkstemp(path);
	if (fd < 0)
		return 1;
	close(fd);
	int r = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return r;
}
