/* Packages of systems: dpkg's database and our own lists read, written, compared; os-release. */
#include "unit/deploy/help.h"

#include "deploy/packages.h"
#include "deploy/system.h"

static void parse(const char *text, struct phx_list *ret)
{
	struct phx_err err = {0};
	int r = phx_dpkg_parse(text, strlen(text), "status", ret, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(r, 0);
}

static void test_what_dpkg_has(void **state)
{
	(void)state;
	static const char status[] =
		"Package: zsh\nStatus: install ok half-configured\nArchitecture: amd64\n"
		"Description: a shell\n with lines\n Package: no\nVersion: 5.9-4\n"
		"\n\n"
		"Package: gone\nStatus: deinstall ok config-files\nArchitecture: amd64\nVersion: "
		"1\n"
		"\n"
		"Package: never\nStatus: unknown ok not-installed\n"
		"\n"
		"Package: libc6\r\nStatus: install ok installed\nArchitecture:\tamd64 \nVersion: "
		"2.36-9\n\n"
		"Package: libc6\nStatus: install ok installed\nArchitecture: i386\nVersion: 2.36-9";
	struct phx_list list;
	parse(status, &list);
	PHX_AUTO_FREE char *text = phx_packages_format(&list);
	assert_string_equal(text, "libc6 amd64 2.36-9\nlibc6 i386 2.36-9\nzsh amd64 5.9-4\n");
	struct phx_list again;
	assert_int_equal(phx_packages_parse(text, strlen(text), "x", &again, NULL), 0);
	assert_int_equal(again.n, 3);
	phx_list_fini(&again);
	phx_list_fini(&list);
	parse("", &list);
	assert_int_equal(list.n, 0);
	parse("\n\n", &list);
	assert_int_equal(list.n, 0);
}

static void test_what_is_no_database(void **state)
{
	(void)state;
	char long_name[400];
	snprintf(long_name, sizeof(long_name), "Package: %0200d\n", 7);
	const struct {
		const char *text, *says;
	} bads[] = {
		{"Package: a\n\n", "status:2: a package without Package, Architecture or Version"},
		{"Package: a\nVersion: 1\nArchitecture: all", "" /* taken */},
		{"nonsense\n", "status:1: no line of dpkg"},
		{"Package: a b\n", "status:1: a name, architecture or version is missing"},
		{"Package:\n", "status:1: a name, architecture or version is missing"},
		{"Package: a\nVersion: -\nArchitecture: all\n", "a version that is \"-\""},
		{long_name, "status:1: a name, architecture or version is too long"},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bads); i++) {
		struct phx_list list = {0};
		struct phx_err err = {0};
		int r = phx_dpkg_parse(bads[i].text, strlen(bads[i].text), "status", &list, &err);
		assert_int_equal(r, bads[i].says[0] ? -EINVAL : 0);
		assert_contains(err.text, bads[i].says);
		assert_int_equal(list.n, r == 0);
		phx_list_fini(&list);
	}
}

static void read_list(const char *text, struct phx_list *ret)
{
	assert_int_equal(phx_packages_parse(text, strlen(text), "list", ret, NULL), 0);
}

static void test_what_differs(void **state)
{
	(void)state;
	struct phx_list a, b, changes, again;
	read_list("same all 1\ngone all 1\nnewer all 1\nkernel x 1\nkernel x 2\n", &a);
	read_list("same all 1\ncame all 3\nnewer all 2\nkernel x 2\nkernel x 3\nkernel x 4\n", &b);
	assert_int_equal(phx_packages_compare(&a, &b, &changes), 0);
	PHX_AUTO_FREE char *text = phx_changes_format(&changes);
	assert_string_equal(text,
			    "came all - 3\ngone all 1 -\nkernel x 1 3\nkernel x - 4\n"
			    "newer all 1 2\n");
	assert_int_equal(phx_changes_parse(text, strlen(text), "changes", &again, NULL), 0);
	PHX_AUTO_FREE char *twice = phx_changes_format(&again);
	assert_string_equal(text, twice);
	phx_list_fini(&changes);
	phx_list_fini(&again);
	assert_int_equal(phx_packages_compare(&a, &a, &changes), 0);
	assert_int_equal(changes.n, 0);
	phx_list_fini(&a);
	phx_list_fini(&b);
}

static void test_what_is_no_list(void **state)
{
	(void)state;
	static const char *const lists[] = {"a b\n", "a b c d\n", "a  c\n", "\n", "a b -\n"};
	static const char *const changes[] = {"a b 1\n", "a b - -\n", "a b 1 2 3\n"};
	struct phx_list list = {0};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(lists); i++)
		assert_int_equal(phx_packages_parse(lists[i], strlen(lists[i]), "x", &list, NULL),
				 -EINVAL);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(changes); i++)
		assert_int_equal(
			phx_changes_parse(changes[i], strlen(changes[i]), "x", &list, NULL),
			-EINVAL);
	assert_null(list.items);
}

static void test_os_release(void **state)
{
	(void)state;
	static const struct {
		const char *text, *id, *name, *add;
	} rows[] = {
		{"NAME=x\nID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n", "debian",
		 "Debian GNU/Linux 12 (bookworm)", "linux-image-amd64"},
		{"ID=ubuntu\nID_LIKE=debian\n", "ubuntu", "", "linux-image-generic"},
		{"ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n", "rocky", "",
		 "dnf install kernel"},
		{"ID='almalinux'\nID_LIKE='rhel centos fedora'\n", "almalinux", "",
		 "dnf install kernel"},
		{"ID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"\n", "opensuse-leap", "",
		 "zypper install kernel-default"},
		{"ID=own\nPRETTY_NAME=\"a\\\"b\"\n", "own", "ab", ""},
		{"MY_ID=debian\n", "", "", ""},
		{"", "", "", ""},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		struct phx_system s;
		phx_system_parse(rows[i].text, &s);
		assert_string_equal(s.id, rows[i].id);
		assert_string_equal(s.name, rows[i].name);
		assert_contains(s.add_kernel, rows[i].add);
		assert_int_equal(!s.add_kernel[0], !rows[i].add[0]);
	}
}

/* A root of somebody else: its links are followed inside it, and its pipes wait for nobody. */
static void test_files_inside_a_root(void **state)
{
	(void)state;
	struct place p = {.dir = "/tmp/phx-test-XXXXXX"};
	char path[256], *text;
	struct phx_system s;
	struct phx_list list;
	struct phx_err err = {0};
	assert_non_null(mkdtemp(p.dir));
	place_write(&p, "secret", "ID=secret\n");
	place_write(&p, "root/usr/lib/os-release", "ID=inside\n");
	place_write(&p, "root/etc/x", "");
	char root[256];
	place_path(&p, "root", root);
	assert_int_equal(symlink("../../secret", place_path(&p, "root/etc/os-release", path)), 0);
	phx_system_read(root, &s);
	assert_string_equal(s.id,
			    "inside"); /* that link leads to root/secret, which is not there */
	assert_int_equal(mkfifo(place_path(&p, "root/pipe", path), 0600), 0);
	assert_int_equal(phx_rooted_read(root, "pipe", 10, &text, NULL), -EINVAL);
	assert_int_equal(phx_system_packages(root, &list, &err), 0);
	assert_int_equal(list.n, 0);
	place_write(&p, "root/var/lib/dpkg/status", "Package: a\n");
	assert_int_equal(phx_system_packages(root, &list, &err), -EINVAL);
	assert_contains(err.text, "var/lib/dpkg/status:1: a package without");
	phx_dir_remove(p.dir, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_dpkg_has), cmocka_unit_test(test_what_is_no_database),
		cmocka_unit_test(test_what_differs),  cmocka_unit_test(test_what_is_no_list),
		cmocka_unit_test(test_os_release),    cmocka_unit_test(test_files_inside_a_root),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
