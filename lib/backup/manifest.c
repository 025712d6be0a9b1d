/* The manifest of an archive: see manifest.h. Called by restore.c with what may come from anybody.
 * Touches no file. */
#include "backup/manifest.h"

#include <errno.h>
#include <string.h>

#include "base/beneath.h"
#include "base/json.h"

PHX_RECORD_TABLE(phx_backup_file, PHX_BACKUP_FILE_FIELDS);
PHX_RECORD_TABLE(phx_backup_name, PHX_BACKUP_NAME_FIELDS);
PHX_RECORD_TABLE(phx_backup_manifest, PHX_BACKUP_MANIFEST_FIELDS);

static bool is_digest(const char *text)
{
	return strlen(text) == PHX_SHA256_HEX - 1 &&
		strspn(text, "0123456789abcdef") == PHX_SHA256_HEX - 1;
}

static bool is_printable(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return false;
	return true;
}

static int check_file(const struct phx_backup_file *f, struct phx_err *err)
{
	if (!is_printable(f->path))
		return phx_err_set(err, -EINVAL, "manifest: a path holds control characters");
	if (!phx_str_starts(f->path, PHX_BACKUP_STATE) && !phx_str_starts(f->path, PHX_BACKUP_ETC))
		return phx_err_set(err, -EINVAL, "manifest: %s: it lies neither in %s nor in %s",
				   f->path, PHX_BACKUP_STATE, PHX_BACKUP_ETC);
	int r = phx_beneath_check(f->path, err);
	if (r < 0)
		return phx_err_prefix(err, -EINVAL, "manifest");
	if (f->mode & ~0777u)
		return phx_err_set(err, -EINVAL, "manifest: %s: mode %o is none of a file", f->path,
				   f->mode);
	return is_digest(f->sha256)
		? 0
		: phx_err_set(err, -EINVAL, "manifest: %s: sha256 must be 64 hexadecimal digits",
			      f->path);
}

/* In their order none comes twice. */
static int check_files(const struct phx_list *files, bool *ret_journal, struct phx_err *err)
{
	const char *before = "";
	*ret_journal = false;
	PHX_LIST_EACH(struct phx_backup_file, f, files) {
		int r = check_file(f, err);
		if (r < 0)
			return r;
		if (strcmp(before, f->path) >= 0)
			return phx_err_set(err, -EINVAL, "manifest: %s: it stands behind %s",
					   f->path, before);
		before = f->path;
		*ret_journal |= !strcmp(f->path, PHX_BACKUP_JOURNAL);
	}
	return 0;
}

static int check(const struct phx_backup_manifest *m, struct phx_err *err)
{
	bool journal;
	if (m->format > PHX_BACKUP_FORMAT)
		return phx_err_set(err, -EPROTONOSUPPORT,
				   "manifest: format %u is of a newer Phoenix (this one reads %d): "
				   "restore with the version that made it, or a newer one",
				   m->format, PHX_BACKUP_FORMAT);
	if (!m->format)
		return phx_err_set(err, -EINVAL, "manifest: it says no format");
	if (!is_printable(m->version) || !is_printable(m->journal))
		return phx_err_set(err, -EINVAL, "manifest: it holds control characters");
	int r = check_files(&m->files, &journal, err);
	if (r == 0 && !journal)
		r = phx_err_set(err, -EINVAL, "manifest: no journal (%s) is in it",
				PHX_BACKUP_JOURNAL);
	PHX_LIST_EACH(struct phx_backup_name, name, &m->left_out) {
		if (r == 0 && !is_printable(name->path))
			r = phx_err_set(err, -EINVAL,
					"manifest: left_out holds control characters");
	}
	PHX_LIST_EACH(struct phx_backup_file, f, &m->catalog) {
		if (r == 0 && !is_printable(f->path))
			r = phx_err_set(err, -EINVAL, "manifest: catalog holds control characters");
	}
	return r;
}

int phx_backup_manifest_parse(const char *text, size_t n, struct phx_backup_manifest *ret,
			      struct phx_err *err)
{
	const struct phx_json_shape max = {4, PHX_BACKUP_FILES_MAX, 5 * PHX_BACKUP_FILES_MAX};
	struct phx_backup_manifest m = {0};
	PHX_AUTO_JSON json_t *j = NULL;
	int r = phx_json_check_shape(text, n, &max, err);
	r = r < 0 ? r : phx_json_parse(text, n, &j, err);
	r = r < 0 ? r : phx_json_to_message(&phx_backup_manifest_record, j, &m, err);
	if (r < 0)
		return phx_err_prefix(err, r == -ENOMEM ? r : -EINVAL, "manifest");
	r = check(&m, err);
	if (r < 0) {
		phx_record_fini(&phx_backup_manifest_record, &m);
		return r;
	}
	*ret = m;
	return 0;
}
