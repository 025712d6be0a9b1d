/* Makes an archive of the head: see backup.h. Called by phx backup. All that the head may change is
 * read into memory or copied first; the journal is copied in one transaction, after the anchors, so
 * that no anchor is ahead of it, and before the keys, so that a key that was destroyed meanwhile is
 * not in it. */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backup/internal.h"
#include "backup/stream.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "store/store.h"

enum { JOURNAL_MODE = 0640, PIECE = 1 << 18 };

void phx_backup_done_fini(struct phx_backup_done *d)
{
	phx_record_fini(&phx_backup_manifest_record, &d->manifest);
	*d = (struct phx_backup_done){0};
}

/* ---- what goes in ---- */

static bool lies_in(const char *path, const char *dir)
{
	size_t n = strlen(dir);
	return !strncmp(path, dir, n) && (path[n] == '/' || !path[n]);
}

static int collect_etc(struct backup_collection *c, const struct phx_backup_places *p,
		       struct phx_err *err)
{
	const struct {
		const char *dir, *prefix;
	} others[] = {
		{p->role_dir, "etc/roles"}, {p->site_dir, "etc/site"}, {p->bmc_dir, "etc/bmc"}};
	int r = backup_collect(c, p->config_dir, "etc", BACKUP_CONFIG, err);
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(others); i++)
		if (!lies_in(others[i].dir, p->config_dir))
			r = backup_collect(c, others[i].dir, others[i].prefix, BACKUP_CONFIG, err);
	return r;
}

static int collect_stores(struct backup_collection *c, const struct phx_backup_places *p,
			  bool whole, struct phx_err *err)
{
	enum backup_kind kind = whole ? BACKUP_STORE : BACKUP_LIST;
	int r = backup_collect(c, p->image_dir, "state/images", kind, err);
	return r < 0 ? r : backup_collect(c, p->package_dir, "state/packages", kind, err);
}

/* The journal's copy is the file `copy`. */
static int collect(struct backup_collection *c, const struct phx_backup_places *p,
		   const struct phx_backup_how *how, const char *copy,
		   struct phx_store_copied *ret_copied, struct phx_err *err)
{
	int r = backup_collect(c, p->state_dir, "state", BACKUP_STATE, err);
	r = r < 0 ? r : phx_store_copy(p->journal, copy, ret_copied, err);
	r = r < 0 ? r : backup_collect_file(c, copy, PHX_BACKUP_JOURNAL, JOURNAL_MODE, err);
	/* what came into being until then */
	r = r < 0 ? r : backup_collect(c, p->state_dir, "state", BACKUP_STATE, err);
	r = r < 0 ? r : backup_collect(c, p->pki_dir, "state/pki", BACKUP_PKI, err);
	r = r < 0 ? r
		  : backup_collect(c, p->package_key_dir, "state/package-keys", BACKUP_PUBLIC, err);
	if (r == 0 && how->disk_keys)
		r = backup_collect(c, p->key_dir, "state/keys", BACKUP_KEYS, err);
	r = r < 0 ? r : collect_etc(c, p, err);
	return r < 0 ? r : collect_stores(c, p, how->images, err);
}

static int make_manifest(struct backup_collection *c, const struct phx_backup_how *how,
			 const struct phx_store_copied *copied, struct phx_backup_manifest *ret)
{
	*ret = (struct phx_backup_manifest){.format = PHX_BACKUP_FORMAT,
					    .made_ms = phx_wall_ms(),
					    .seq = copied->seq,
					    .keys = c->secrets,
					    .disk_keys = how->disk_keys,
					    .images = how->images};
	PHX_STR_SET(ret->version, how->version);
	PHX_STR_SET(ret->journal, copied->id);
	ret->left_out = c->left_out;
	ret->catalog = c->catalog;
	c->left_out = c->catalog = (struct phx_list){0};
	PHX_LIST_EACH(struct backup_item, i, &c->items) {
		struct phx_backup_file *f = phx_list_push(&ret->files, sizeof(*f));
		if (!f)
			return -ENOMEM;
		*f = i->row;
	}
	return 0;
}

/* ---- into the file ---- */

struct packing {
	struct archive *a;
	struct phx_backup_out *out;
	int failed;
};

static la_ssize_t put_bytes(struct archive *a, void *arg, const void *data, size_t n)
{
	struct packing *p = arg;
	p->failed = phx_backup_out_write(p->out, data, n);
	if (p->failed < 0)
		archive_set_error(a, -p->failed, "%s", strerror(-p->failed));
	return p->failed < 0 ? -1 : (la_ssize_t)n;
}

static int not_packed(struct packing *p, const char *path, struct phx_err *err)
{
	const char *why = archive_error_string(p->a);
	return phx_err_set(err, p->failed < 0 ? p->failed : -EIO, "%s: %s", path,
			   why ? why : "cannot be packed");
}

static int put_header(struct packing *p, const char *path, unsigned mode, uint64_t size,
		      struct phx_err *err)
{
	struct archive_entry *e = archive_entry_new();
	if (!e)
		return -ENOMEM;
	archive_entry_copy_pathname(e, path);
	archive_entry_set_mode(e, S_IFREG | mode);
	archive_entry_set_size(e, (la_int64_t)size);
	int r = archive_write_header(p->a, e);
	archive_entry_free(e);
	return r < ARCHIVE_WARN ? not_packed(p, path, err) : 0;
}

static int put_text(struct packing *p, const char *path, unsigned mode, const void *data, size_t n,
		    struct phx_err *err)
{
	int r = put_header(p, path, mode, n, err);
	if (r == 0 && n && archive_write_data(p->a, data, n) != (la_ssize_t)n)
		return not_packed(p, path, err);
	return r;
}

static void free_sum(struct phx_sha256 **sum)
{
	phx_sha256_free(*sum);
}

/* Of a file, what the manifest says that it is. */
static int put_file(struct packing *p, const struct backup_item *i, struct phx_err *err)
{
	PHX_AUTO_CLOSE int fd = open(i->from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	PHX_AUTO_FREE char *piece = malloc(PIECE);
	PHX_AUTO(free_sum) struct phx_sha256 *sum = NULL;
	char hex[PHX_SHA256_HEX];
	uint64_t left = i->row.size;
	if (fd < 0)
		return phx_err_set(err, -errno, "%s: %s", i->from, strerror(errno));
	int r = piece ? phx_sha256_new(&sum) : -ENOMEM;
	r = r < 0 ? r : put_header(p, i->row.path, i->row.mode, i->row.size, err);
	while (r == 0 && left) {
		ssize_t n = read(fd, piece, left < PIECE ? (size_t)left : PIECE);
		if (n <= 0)
			break;
		left -= (uint64_t)n;
		r = phx_sha256_add(sum, piece, (size_t)n);
		if (r == 0 && archive_write_data(p->a, piece, (size_t)n) != n)
			r = not_packed(p, i->row.path, err);
	}
	phx_sha256_hex(sum, hex);
	return r < 0 || (!left && !strcmp(hex, i->row.sha256))
		? r
		: phx_err_set(err, -EAGAIN,
			      "%s was changed while it was read: make the backup again", i->from);
}

static int sign(const char *pki_dir, const char *text, uint8_t ret[PHX_SIG_SIZE],
		struct phx_err *err)
{
	PHX_AUTO_FREE char *key = phx_path("%s/site.key", pki_dir);
	return key ? phx_sign(key, text, strlen(text), ret, err) : -ENOMEM;
}

static int put_all(struct packing *p, const struct backup_collection *c, const char *pki_dir,
		   const struct phx_backup_manifest *m, struct phx_err *err)
{
	PHX_AUTO_FREE char *text = phx_json_record_text(&phx_backup_manifest_record, m);
	uint8_t sig[PHX_SIG_SIZE];
	int r = text ? sign(pki_dir, text, sig, err) : -ENOMEM;
	r = r < 0 ? r : put_text(p, PHX_BACKUP_MANIFEST, 0600, text, strlen(text), err);
	r = r < 0 ? r : put_text(p, PHX_BACKUP_SIGNATURE, 0600, sig, sizeof(sig), err);
	PHX_LIST_EACH(struct backup_item, i, &c->items) {
		if (r == 0)
			r = i->from
				? put_file(p, i, err)
				: put_text(p, i->row.path, i->row.mode, i->bytes, i->row.size, err);
	}
	if (r == 0 && archive_write_close(p->a) < ARCHIVE_WARN)
		r = not_packed(p, "the archive", err);
	return r < 0 ? r : phx_backup_out_end(p->out);
}

static bool open_packing(struct packing *p)
{
	p->a = archive_write_new();
	return p->a && archive_write_add_filter_zstd(p->a) >= ARCHIVE_WARN &&
		archive_write_set_format_gnutar(p->a) >= ARCHIVE_WARN &&
		archive_write_set_bytes_in_last_block(p->a, 1) >= ARCHIVE_WARN &&
		archive_write_open(p->a, p, NULL, put_bytes, NULL) >= ARCHIVE_WARN;
}

static int pack(const struct backup_collection *c, const struct phx_backup_how *how,
		const char *pki_dir, const struct phx_backup_manifest *m, const char *part,
		struct phx_err *err)
{
	struct packing p = {0};
	PHX_AUTO_CLOSE int fd =
		open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return phx_err_set(err, -errno, "%s: %s", part, strerror(errno));
	int r = fchmod(fd, 0600) < 0 ? -errno : 0;
	r = r < 0 ? r : phx_backup_out_open(fd, how->passphrase, &p.out, err);
	if (r == 0)
		r = open_packing(&p) ? put_all(&p, c, pki_dir, m, err) : -ENOMEM;
	archive_write_free(p.a); /* takes NULL */
	phx_backup_out_free(p.out);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	return r < 0 && !err->text[0] ? phx_err_set(err, r, "%s: %s", part, strerror(-r)) : r;
}

static int check_how(const struct phx_backup_how *how, const char *to, struct phx_err *err)
{
	struct stat st;
	if (how->disk_keys && !how->passphrase)
		return phx_err_set(err, -EINVAL,
				   "keys of disks are only in a backup that is sealed: say "
				   "--passphrase-file");
	return stat(to, &st) == 0 && !S_ISREG(st.st_mode)
		? phx_err_set(err, -EINVAL, "%s: that is no file", to)
		: 0;
}

static int make(const struct phx_backup_places *places, const struct phx_backup_how *how,
		const char *part, const char *copy, struct phx_backup_done *done,
		struct phx_err *err)
{
	PHX_AUTO(backup_collection_fini)
	struct backup_collection c = {.secrets = how->passphrase != NULL};
	struct phx_store_copied copied = {0};
	int r = collect(&c, places, how, copy, &copied, err);
	if (r < 0)
		return r;
	backup_collection_sort(&c);
	r = make_manifest(&c, how, &copied, &done->manifest);
	r = r < 0 ? r : pack(&c, how, places->pki_dir, &done->manifest, part, err);
	PHX_LIST_EACH(struct backup_item, i, &c.items)
		done->bytes += i->row.size;
	return r;
}

int phx_backup_make(const struct phx_backup_places *places, const struct phx_backup_how *how,
		    const char *to, struct phx_backup_done *ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *part = phx_path("%s.%d.phx-part", to, (int)getpid());
	PHX_AUTO_FREE char *copy = phx_path("%s.%d.phx-journal", to, (int)getpid());
	struct phx_backup_done done = {.sealed = how->passphrase != NULL};
	mode_t mask = umask(077);
	int r = part && copy ? check_how(how, to, err) : -ENOMEM;
	r = r < 0 ? r : make(places, how, part, copy, &done, err);
	r = r < 0 ? r : phx_file_publish(part, to, err);
	umask(mask);
	if (copy)
		unlink(copy);
	if (r < 0) {
		if (part)
			unlink(part);
		phx_backup_done_fini(&done);
		return r;
	}
	*ret = done;
	return 0;
}
