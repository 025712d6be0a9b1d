/* The manifest of a backup. What is taken names the journal, and no file outside of its two trees,
 * each once, and is written and read back the same.
 * Parsers: lib/backup/manifest.c */
#include "backup/manifest.h"
#include "base/json.h"
#include "fuzz/fuzz.h"

#include <errno.h>
#include <string.h>

static void check_path(const char *path)
{
	fuzz_never(strncmp(path, "state/", 6) && strncmp(path, "etc/", 4));
	fuzz_never(strstr(path, "/../") || strstr(path, "//") || !strncmp(path, "../", 3));
	fuzz_never(path[strlen(path) - 1] == '/' || strchr(path, '\n') || strchr(path, '\033'));
}

static void check(struct phx_backup_manifest *m)
{
	struct phx_backup_manifest again;
	struct phx_err err = {0};
	const char *before = "";
	bool journal = false;
	PHX_LIST_EACH(struct phx_backup_file, f, &m->files) {
		check_path(f->path);
		fuzz_never(strcmp(before, f->path) >= 0 || strlen(f->sha256) != 64 ||
			   f->mode > 0777);
		before = f->path;
		journal |= !strcmp(f->path, PHX_BACKUP_JOURNAL);
	}
	fuzz_never(!journal || m->format != PHX_BACKUP_FORMAT);
	PHX_AUTO_FREE char *text = phx_json_record_text(&phx_backup_manifest_record, m);
	fuzz_never(!text || phx_backup_manifest_parse(text, strlen(text), &again, &err) < 0);
	fuzz_never(!phx_record_equal(&phx_backup_manifest_record, m, &again));
	phx_record_fini(&phx_backup_manifest_record, &again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	PHX_AUTO_FREE char *text = fuzz_text(data, n);
	struct phx_backup_manifest m;
	struct phx_err err = {0};
	if (phx_backup_manifest_parse(text, n, &m, &err) == 0) {
		check(&m);
		phx_record_fini(&phx_backup_manifest_record, &m);
	} else {
		fuzz_never(!err.text[0]);
	}
	return 0;
}
