/* Facts, measurements and sessions of a machine from what its kernel and firmware say: files below
 * a root directory, each as "=== PATH" and its text, or "=== PATH -> TARGET" for a link. Whatever
 * comes: every text of the report is one that JSON can have.
 * Parsers: lib/inventory/board.c lib/inventory/key_value.c lib/inventory/monitor.c
 * Parsers: lib/inventory/nics.c lib/inventory/session.c lib/inventory/inventory.c lib/base/sysfs.c
 * Parsers: lib/disk/transport.c
 * Parsers: lib/inventory/pci.c lib/inventory/memory.c
 */
#include "base/json.h"
#include "base/tree.h"
#include "fuzz/fuzz.h"
#include "inventory/internal.h"

enum { FILES_MAX = 64 };

/* Below the root, and nothing that a library of others would read. */
static bool path_fits(const char *p)
{
	return p[0] && p[0] != '/' && strlen(p) < 120 && !strstr(p, "..") && !strstr(p, "//") &&
		strcmp(p, "hwloc.xml") && p[strlen(p) - 1] != '/';
}

static void put(const char *root, char *path, const char *body, size_t n)
{
	char full[400], target[400];
	char *to = strstr(path, " -> ");
	if (to) {
		*to = '\0';
		to += 4;
	}
	if (!path_fits(path) || (to && !path_fits(to)))
		return;
	snprintf(full, sizeof(full), "%s/%s", root, path);
	*strrchr(full, '/') = '\0';
	if (phx_dir_make(full, 0755, NULL) < 0)
		return;
	snprintf(full, sizeof(full), "%s/%s", root, path);
	snprintf(target, sizeof(target), "%s/%s", root, to ? to : "");
	FILE *f = to ? NULL : fopen(full, "w");
	if (f) {
		fwrite(body, 1, n, f);
		fclose(f);
	} else if (to && symlink(target, full) < 0) {
		return;
	}
}

/* Makes the files that the text says. */
static void make_tree(const char *root, char *text, size_t n)
{
	static const char mark[] = "=== ";
	char *end = text + n;
	for (unsigned i = 0; i < FILES_MAX && text < end && !strncmp(text, mark, 4); i++) {
		char *path = text + 4;
		char *body = memchr(path, '\n', (size_t)(end - path));
		if (!body)
			return;
		*body++ = '\0';
		char *next = !strncmp(body, mark, 4)
			? body - 1
			: memmem(body, (size_t)(end - body), "\n=== ", 5);
		size_t size = next < body && next ? 0 : (size_t)((next ? next : end) - body);
		put(root, path, body, size);
		text = next ? next + 1 : end;
	}
}

static void check_record(const struct phx_record *rec, const void *obj)
{
	PHX_AUTO_FREE char *text = phx_json_record_text(rec, obj);
	PHX_AUTO_JSON json_t *j = NULL;
	fuzz_never(!text || phx_json_parse(text, strlen(text), &j, NULL) < 0);
}

static void read_machine(const char *root)
{
	struct phx_facts facts;
	struct phx_monitor first = {0}, second;
	struct phx_list sessions = {0};
	struct phx_err err = {0};
	char boot_id[40];
	if (phx_inventory_read(root, &facts, &err) == 0) {
		check_record(&phx_facts_record, &facts);
		PHX_LIST_EACH(const struct phx_nic_facts, nic, &facts.nics)
			fuzz_never(strlen(nic->mac) != 17);
		phx_record_fini(&phx_facts_record, &facts);
	} else {
		fuzz_never(!err.text[0]);
	}
	if (phx_monitor_read(root, NULL, &first, NULL) == 0) {
		fuzz_never(first.cpu_permille > 1000);
		check_record(&phx_monitor_record, &first);
	}
	phx_monitor_read(root, &first, &second, NULL);
	phx_sessions_read(root, &sessions);
	PHX_LIST_EACH(const struct phx_session, s, &sessions)
		check_record(&phx_session_record, s);
	phx_list_fini(&sessions);
	phx_boot_id_read(root, boot_id, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	PHX_AUTO_FREE char *text = fuzz_text(data, n);
	PHX_AUTO_FREE char *root = phx_path("%s/root", fuzz_dir());
	struct phx_list modules = {0};
	uint32_t n_slots;
	phx_dmi_memory(data, n, &modules, &n_slots);
	fuzz_never(modules.n > n_slots);
	phx_list_fini(&modules);
	fuzz_never(!root || phx_dir_make(root, 0755, NULL) < 0);
	make_tree(root, text, n);
	read_machine(root);
	fuzz_never(phx_dir_remove(root, NULL) < 0);
	return 0;
}
