/* Selectors of disks, and which disks are protected. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "types/disk_select.h"

static const struct phx_disk_facts lun = {
	.id = "wwn-0x600a098038303053453f463045727654",
	.serial = "80S0C5",
	.model = "LUN C-Mode",
	.size_bytes = 2ULL << 40,
	.transport = "fc",
	.remote = true,
	.n_paths = 2,
	.path = "pci-0000:04:00.0-fc-0x50-lun-1 pci-0000:05:00.0-fc-0x51-lun-1",
};
static const struct phx_disk_facts unknown = {.id = "serial-virtio-root", .size_bytes = 1 << 30};

static bool meets(const char *selector, const struct phx_disk_facts *d)
{
	struct phx_protect p = {0};
	char why[PHX_PROTECTED_WHY_MAX];
	assert_int_equal(PHX_STR_SET(p.selectors, selector), 0);
	return phx_disk_protected(&p, d, why);
}

static void each_term_selects(void **state)
{
	static const struct {
		const char *selector;
		bool meets;
	} cases[] = {
		{"id=wwn-0x600a098038303053453f463045727654", true},
		{"id=wwn-0x600a0980*", true},
		{"id=wwn-0x600a0980", false},
		{"serial=80S0C?", true},
		{"serial=80S0C", false},
		{"model=LUN*", true},
		{"model=LUN C-Mode", true},
		{"model=lun*", false},
		{"transport=fc", true},
		{"transport=nvme-*", false},
		{"path=pci-0000:05:00.0-*", true}, /* any of them */
		{"path=pci-0000:04:00.0-fc-0x50-lun-1", true},
		{"path=*lun-1 pci*", false}, /* not across two of them */
		{"path=pci-0000:06:00.0-*", false},
		{"size=2TiB", true},
		{"size=2 TiB", true},
		{"size=2TB", false},
		{"size=1TiB..", true},
		{"size=..2TiB", true},
		{"size=..2TB", false},
		{"size=2TiB..2TiB", true},
		{"size=3TiB..", false},
		/* all of them */
		{"transport=fc, size=1TiB.., model=LUN*", true},
		{"transport=fc,size=3TiB..", false},
		{"transport=iscsi, size=1TiB..", false},
		/* one of them */
		{"transport=iscsi\nserial=80S0C5", true},
		{"transport=iscsi\nserial=80S0C6", false},
		/* what cannot be read means no disk, and is refused before */
		{"", false},
		{"size=many", false},
		{"colour=*", false},
		{"transport", false},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++)
		if (meets(cases[i].selector, &lun) != cases[i].meets)
			fail_msg("%s", cases[i].selector);
}

/* An older agent says nothing of transport and paths: no pattern is met by that. */
static void what_is_unknown_meets_nothing(void **state)
{
	(void)state;
	assert_false(meets("transport=*", &unknown));
	assert_false(meets("serial=*", &unknown));
	assert_false(meets("model=*", &unknown));
	assert_false(meets("path=*", &unknown));
	assert_true(meets("id=*", &unknown));
	assert_false(meets("size=..1TiB", &(struct phx_disk_facts){.id = "a"}));
}

static void it_says_by_which_setting(void **state)
{
	const struct phx_protect both = {.remote = true, .selectors = "id=x\nserial=80S0C5"},
				 listed = {.selectors = "id=x\nserial=80S0C5"}, none = {0};
	char why[PHX_PROTECTED_WHY_MAX] = "untouched";
	(void)state;
	assert_false(phx_disk_protected(&none, &lun, why));
	assert_false(phx_disk_protected(&both, &unknown, why));
	assert_string_equal(why, "untouched");
	assert_true(phx_disk_protected(&both, &lun, why));
	assert_string_equal(why, "remote (fc), setting protect_remote_disks");
	assert_true(phx_disk_protected(&listed, &lun, why));
	assert_string_equal(why, "setting protected_disks: serial=80S0C5");
}

static void wrong_selectors_are_refused(void **state)
{
	static const char *const right[] = {"id=a", "size=..5 GiB", "size=1GB..2GB, model=a b",
					    " transport=fc "};
	static const struct {
		const char *selector, *says;
	} wrong[] = {
		{"", "KEY=VALUE"},
		{"id", "KEY=VALUE"},
		{"id=", "KEY=VALUE"},
		{"=a", "KEY=VALUE"},
		{"id=a,", "KEY=VALUE"},
		{"bus=fc", "keys are id, serial"},
		{"id=a\nid=b", "one line"},
		{"size=..", "size=100GiB..2TiB"},
		{"size=2TiB..1TiB", "size=100GiB..2TiB"},
		{"size=1TiB...", "size=100GiB..2TiB"},
		{"size=-1..", "size=100GiB..2TiB"},
	};
	char much[PHX_SELECTOR_MAX + 8] = "id=";
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(right); i++)
		assert_int_equal(phx_disk_selector_check(right[i], NULL), 0);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(wrong); i++) {
		struct phx_err err = {0};
		assert_int_equal(phx_disk_selector_check(wrong[i].selector, &err), -EINVAL);
		if (!strstr(err.text, wrong[i].says))
			fail_msg("%s: %s", wrong[i].selector, err.text);
	}
	memset(much + 3, 'a', sizeof(much) - 4);
	assert_int_equal(phx_disk_selector_check(much, NULL), -EINVAL);
	much[PHX_SELECTOR_MAX - 1] = '\0';
	assert_int_equal(phx_disk_selector_check(much, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_term_selects),
		cmocka_unit_test(what_is_unknown_meets_nothing),
		cmocka_unit_test(it_says_by_which_setting),
		cmocka_unit_test(wrong_selectors_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
