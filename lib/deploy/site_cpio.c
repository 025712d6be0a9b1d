/* site.cpio: see deploy.h. Called by phxd at start. Loaders put it behind the
 * deploy image's own archive, so that the image is the same at every site. */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "deploy/internal.h"

enum { CPIO_MAX = 1 << 20, CPIO_BLOCK = 512 };

struct item {
	const char *path, *text; /* a directory when text is NULL */
};

static int add_item(struct archive *a, const struct item *item)
{
	struct archive_entry *e = archive_entry_new();
	if (!e)
		return -ENOMEM;
	size_t n = item->text ? strlen(item->text) : 0;
	archive_entry_set_pathname(e, item->path);
	archive_entry_set_filetype(e, item->text ? AE_IFREG : AE_IFDIR);
	archive_entry_set_perm(e, item->text ? 0644 : 0755);
	archive_entry_set_nlink(e, item->text ? 1 : 2);
	archive_entry_set_size(e, (la_int64_t)n);
	archive_entry_set_mtime(e, 0, 0);
	bool ok = archive_write_header(a, e) >= ARCHIVE_WARN &&
		(!n || archive_write_data(a, item->text, n) == (la_ssize_t)n);
	archive_entry_free(e);
	return ok ? 0 : -EIO;
}

static int write_items(struct archive *a, const struct item *items, size_t n, void *buf,
		       size_t *used)
{
	if (archive_write_set_format_cpio_newc(a) != ARCHIVE_OK ||
	    archive_write_set_bytes_per_block(a, CPIO_BLOCK) != ARCHIVE_OK ||
	    archive_write_set_bytes_in_last_block(a, CPIO_BLOCK) != ARCHIVE_OK ||
	    archive_write_open_memory(a, buf, CPIO_MAX, used) != ARCHIVE_OK)
		return -EIO;
	int r = 0;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = add_item(a, &items[i]);
	return r == 0 && archive_write_close(a) != ARCHIVE_OK ? -EIO : r;
}

int phx_site_cpio_write(const char *path, const struct phx_site_files *files, struct phx_err *err)
{
	const struct item items[] = {
		{"etc", NULL},
		{"etc/phoenix", NULL},
		{"etc/phoenix/ca.pem", files->ca},
		{"etc/phoenix/packages.pub", files->package_keys},
		{"etc/phoenix/site.pub", files->site_pub},
		{"etc/phoenix/images.signed", ""},
	};
	const size_t n_items = PHX_ARRAY_SIZE(items) - (files->images_signed ? 0 : 1);
	PHX_AUTO_FREE char *buf = calloc(1, CPIO_MAX);
	struct archive *a = archive_write_new();
	if (!buf || !a) {
		archive_write_free(a);
		return -ENOMEM;
	}
	size_t used = 0;
	int r = write_items(a, items, n_items, buf, &used);
	if (r < 0)
		phx_err_set(err, r, "%s: %s", path,
			    archive_error_string(a) ? archive_error_string(a) : strerror(-r));
	archive_write_free(a);
	return r < 0 ? r : phx_file_write(path, buf, used, 0644, err);
}
