/* dpkg's database, our lists of packages and of changes, os-release: what root filesystems of
 * others hold. What is taken is written and read back the same.
 * Parsers: lib/deploy/packages.c */
#include "deploy/packages.h"
#include "deploy/system.h"
#include "fuzz/fuzz.h"

static void check_words(const struct phx_list *list)
{
	PHX_LIST_EACH(struct phx_os_package, p, list)
		fuzz_never(!p->name[0] || !p->architecture[0] || !p->version[0] ||
			   strpbrk(p->name, " \n") || strpbrk(p->version, " \n"));
}

/* A list, written and read: the same; and what differs from nothing is all of it. */
static void check_list(const struct phx_list *list)
{
	struct phx_list again, changes, read, none = {0};
	PHX_AUTO_FREE char *text = phx_packages_format(list);
	check_words(list);
	fuzz_never(phx_packages_parse(text, strlen(text), "again", &again, NULL) < 0);
	fuzz_never(again.n != list->n);
	fuzz_never(phx_packages_compare(list, &again, &changes) < 0 || changes.n != 0);
	fuzz_never(phx_packages_compare(&none, list, &changes) < 0 || changes.n != list->n);
	PHX_AUTO_FREE char *lines = phx_changes_format(&changes);
	fuzz_never(phx_changes_parse(lines, strlen(lines), "changes", &read, NULL) < 0);
	PHX_AUTO_FREE char *twice = phx_changes_format(&read);
	fuzz_never(strcmp(lines, twice) != 0);
	phx_list_fini(&again);
	phx_list_fini(&changes);
	phx_list_fini(&read);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static int (*const parsers[])(const char *text, size_t n, const char *what,
				      struct phx_list *ret,
				      struct phx_err *err) = {phx_dpkg_parse, phx_packages_parse};
	PHX_AUTO_FREE char *text = fuzz_text(data, n);
	struct phx_list list = {0};
	struct phx_system system;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(parsers); i++) {
		struct phx_err err = {0};
		if (parsers[i](text, n, "fuzz", &list, &err) == 0) {
			check_list(&list);
			phx_list_fini(&list);
		} else {
			fuzz_never(!err.text[0] || list.items);
		}
	}
	if (phx_changes_parse(text, n, "fuzz", &list, NULL) == 0)
		phx_list_fini(&list);
	phx_system_parse(text, &system);
	fuzz_never(strpbrk(system.id, "\"\\\n") || strpbrk(system.name, "\"\\\n"));
	return 0;
}
