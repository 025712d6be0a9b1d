/* Reads an archive of the head and puts it in place: see backup.h. Called by phx restore. What an
 * archive holds is a stranger's until its signature, or the seal of its passphrase, says otherwise;
 * every byte that is placed is one that the manifest has the digest of. */
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
#include "base/file.h"
#include "base/tree.h"

struct restoring {
	const struct phx_restore_how *how;
	struct archive *a;
	struct phx_backup_in *in;
	int failed;
	struct phx_err why; /* of `failed` */
	char *state, *etc;  /* the staging areas; etc NULL: it is not restored */
	struct phx_backup_done *done;
};

static la_ssize_t get_bytes(struct archive *a, void *arg, const void **ret)
{
	struct restoring *r = arg;
	ssize_t n = phx_backup_in_read(r->in, ret, &r->why);
	if (n < 0) {
		r->failed = (int)n;
		archive_set_error(a, EIO, "%s", r->why.text);
	}
	return n < 0 ? -1 : n;
}

static int not_read(struct restoring *r, const char *what, struct phx_err *err)
{
	const char *why = archive_error_string(r->a);
	if (r->failed < 0)
		return phx_err_set(err, r->failed, "%s: %s", what, r->why.text);
	return phx_err_set(err, -EBADMSG, "%s: cut off or altered: %s", what,
			   why ? why : "it ends too early");
}

/* ---- the first two entries ---- */

static int next_entry(struct restoring *r, const char *name, struct archive_entry **ret,
		      struct phx_err *err)
{
	int n = archive_read_next_header(r->a, ret);
	if (n != ARCHIVE_OK && n != ARCHIVE_WARN)
		return not_read(r, name, err);
	const char *is = archive_entry_pathname(*ret);
	if (!is || strcmp(is, name) || archive_entry_filetype(*ret) != AE_IFREG ||
	    archive_entry_hardlink(*ret))
		return phx_err_set(err, -EBADMSG, "%s: another entry stands in its place: altered",
				   name);
	return 0;
}

static int read_text(struct restoring *r, const char *name, size_t max, char **ret, size_t *ret_n,
		     struct phx_err *err)
{
	struct archive_entry *e;
	int code = next_entry(r, name, &e, err);
	la_int64_t size = code < 0 ? 0 : archive_entry_size(e);
	if (code < 0)
		return code;
	if (size < 0 || (uint64_t)size > max)
		return phx_err_set(err, -EBADMSG, "%s: has %lld bytes, the most is %zu", name,
				   (long long)size, max);
	PHX_AUTO_FREE char *text = malloc((size_t)size + 1);
	if (!text)
		return -ENOMEM;
	if (archive_read_data(r->a, text, (size_t)size) != size)
		return not_read(r, name, err);
	text[size] = '\0';
	*ret_n = (size_t)size;
	*ret = PHX_TAKE(text);
	return 0;
}

/* A sealed one is proven by its seal; a key that is given is asked in any case. */
static int check_signature(struct restoring *r, const char *text, size_t n, struct phx_err *err)
{
	PHX_AUTO_FREE char *sig = NULL;
	size_t n_sig = 0;
	int code = read_text(r, PHX_BACKUP_SIGNATURE, PHX_SIG_SIZE, &sig, &n_sig, err);
	if (code < 0)
		return code;
	if (n_sig != PHX_SIG_SIZE)
		return phx_err_set(err, -EBADMSG, "%s: that is no signature", PHX_BACKUP_SIGNATURE);
	if (!r->how->pub)
		return phx_backup_in_sealed(r->in)
			? 0
			: phx_err_set(
				  err, -EKEYREJECTED,
				  "it is not sealed: say by --pub with which key of the site "
				  "it must be signed (pki/site.pub of the head, kept elsewhere)");
	struct phx_err why = {0};
	code = phx_verify(r->how->pub, text, n, (const uint8_t *)sig, &why);
	if (code == -EKEYREJECTED)
		return phx_err_set(err, code, "%s: altered, or not signed with %s",
				   PHX_BACKUP_MANIFEST, r->how->pub);
	return code < 0 ? phx_err_set(err, code, "%s", why.text) : 0;
}

static int read_manifest(struct restoring *r, struct phx_err *err)
{
	PHX_AUTO_FREE char *text = NULL;
	size_t n = 0;
	int code = read_text(r, PHX_BACKUP_MANIFEST, PHX_BACKUP_MANIFEST_MAX, &text, &n, err);
	code = code < 0 ? code : check_signature(r, text, n, err);
	return code < 0 ? code : phx_backup_manifest_parse(text, n, &r->done->manifest, err);
}

/* ---- the files ---- */

/* Where the file goes, malloc'd; NULL: nowhere. */
static char *place_of(const struct restoring *r, const char *path)
{
	if (phx_str_starts(path, PHX_BACKUP_STATE))
		return phx_path("%s/%s", r->state, path + strlen(PHX_BACKUP_STATE));
	return r->etc ? phx_path("%s/%s", r->etc, path + strlen(PHX_BACKUP_ETC)) : NULL;
}

static int make_above(const char *path, struct phx_err *err)
{
	PHX_AUTO_FREE char *dir = strdup(path);
	char *slash = dir ? strrchr(dir, '/') : NULL;
	if (!slash)
		return -ENOMEM;
	*slash = '\0';
	const char *own = strrchr(dir, '/');
	bool closed =
		own && (!strcmp(own, "/pki") || !strcmp(own, "/keys") || !strcmp(own, "/bmc"));
	return phx_dir_make(dir, closed ? 0700 : 0755, err);
}

/* -1: it goes nowhere. */
static int open_target(const struct restoring *r, const struct phx_backup_file *f, int *ret_fd,
		       struct phx_err *err)
{
	PHX_AUTO_FREE char *path = place_of(r, f->path);
	*ret_fd = -1;
	if (!path)
		return 0;
	int code = make_above(path, err);
	if (code < 0)
		return code;
	*ret_fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	return *ret_fd < 0 || fchmod(*ret_fd, f->mode) < 0
		? phx_err_set(err, -errno, "%s: %s", path, strerror(errno))
		: 0;
}

static int copy_content(struct restoring *r, const struct phx_backup_file *f, int fd,
			struct phx_sha256 *sum, struct phx_err *err)
{
	char piece[65536];
	uint64_t got = 0;
	la_ssize_t n;
	int code = 0;
	while (code == 0 && (n = archive_read_data(r->a, piece, sizeof(piece))) > 0) {
		got += (uint64_t)n;
		code = phx_sha256_add(sum, piece, (size_t)n);
		if (code == 0 && fd >= 0)
			code = phx_write_all(fd, piece, (size_t)n);
	}
	if (code == 0 && n < 0)
		return not_read(r, f->path, err);
	if (code == 0 && fd >= 0 && fsync(fd) < 0)
		code = -errno;
	if (code < 0)
		return phx_err_set(err, code, "%s: %s", f->path, strerror(-code));
	r->done->bytes += got;
	return got == f->size ? 0 : phx_err_set(err, -EBADMSG, "%s: cut off or altered", f->path);
}

static int take_file(struct restoring *r, const struct phx_backup_file *f, struct phx_err *err)
{
	struct archive_entry *e;
	struct phx_sha256 *sum = NULL;
	PHX_AUTO_CLOSE int fd = -1;
	char hex[PHX_SHA256_HEX];
	int code = next_entry(r, f->path, &e, err);
	if (code == 0 && archive_entry_size(e) != (la_int64_t)f->size)
		code = phx_err_set(err, -EBADMSG, "%s: has another size than the manifest says",
				   f->path);
	code = code < 0 ? code : phx_sha256_new(&sum);
	code = code < 0 ? code : open_target(r, f, &fd, err);
	code = code < 0 ? code : copy_content(r, f, fd, sum, err);
	if (code == 0) {
		phx_sha256_hex(sum, hex);
		if (strcmp(hex, f->sha256))
			code = phx_err_set(
				err, -EBADMSG,
				"%s: its digest is another than the manifest says: altered",
				f->path);
	}
	phx_sha256_free(sum);
	return code;
}

/* Nothing stands behind the last file, and the file ends as it was ended. */
static int check_end(struct restoring *r, struct phx_err *err)
{
	struct archive_entry *e;
	const void *rest;
	ssize_t n = 1;
	int code = archive_read_next_header(r->a, &e);
	if (code == ARCHIVE_OK || code == ARCHIVE_WARN)
		return phx_err_set(err, -EBADMSG,
				   "an entry stands in it that the manifest has not");
	if (code != ARCHIVE_EOF)
		return not_read(r, "the end", err);
	while (n > 0)
		n = phx_backup_in_read(r->in, &rest, err);
	return (int)n;
}

static int unpack(struct restoring *r, struct phx_err *err)
{
	int code = read_manifest(r, err);
	if (code < 0)
		return code;
	PHX_LIST_EACH(struct phx_backup_file, f, &r->done->manifest.files) {
		if (code == 0)
			code = take_file(r, f, err);
	}
	return code < 0 ? code : check_end(r, err);
}

static int read_archive(struct restoring *r, const char *from, struct phx_err *err)
{
	PHX_AUTO_CLOSE int fd = open(from, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return phx_err_set(err, -errno, "%s", strerror(errno));
	int code = phx_backup_in_open(fd, r->how->passphrase, &r->in, err);
	if (code < 0)
		return code;
	r->done->sealed = phx_backup_in_sealed(r->in);
	r->a = archive_read_new();
	if (!r->a || archive_read_support_filter_zstd(r->a) < ARCHIVE_WARN ||
	    archive_read_support_format_gnutar(r->a) < ARCHIVE_WARN)
		code = -ENOMEM;
	else if (archive_read_open(r->a, r, NULL, get_bytes, NULL) < ARCHIVE_WARN)
		code = r->failed < 0 ? phx_err_set(err, r->failed, "%s", r->why.text)
				     : phx_err_set(err, -EBADMSG,
						   "that is no backup of a head, or it was "
						   "altered or cut off: %s",
						   archive_error_string(r->a));
	code = code < 0 ? code : unpack(r, err);
	archive_read_free(r->a); /* takes NULL */
	phx_backup_in_free(r->in);
	return code;
}

/* ---- the whole ---- */

/* What a restore that was killed left is nobody's. */
static int begin_staging(const char *dir, char **ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s.restoring", dir);
	int r = path ? phx_dir_remove(path, err) : -ENOMEM;
	if (r < 0)
		return r;
	if (mkdir(path, 0700) < 0)
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	*ret = PHX_TAKE(path);
	return 0;
}

static int restore(struct restoring *r, const char *from, struct phx_err *err)
{
	int code = begin_staging(r->how->state_dir, &r->state, err);
	if (code == 0 && r->how->etc_dir)
		code = begin_staging(r->how->etc_dir, &r->etc, err);
	if (code < 0)
		return code;
	code = read_archive(r, from, err);
	if (code < 0)
		return phx_err_prefix(err, code, "%s", from);
	code = backup_prove(r->state, r->done, err);
	if (code < 0 || r->how->check)
		return phx_err_prefix(err, code, "%s", from);
	return backup_place(r->how, r->state, r->etc, r->done, err);
}

int phx_backup_restore(const char *from, const struct phx_restore_how *how,
		       struct phx_backup_done *ret, struct phx_err *err)
{
	struct phx_backup_done done = {0};
	struct restoring r = {.how = how, .done = &done};
	PHX_AUTO_CLOSE int lock = -1;
	mode_t mask = umask(022);
	int code = backup_place_check(how, &lock, err);
	code = code < 0 ? code : restore(&r, from, err);
	if (r.state)
		phx_dir_remove(r.state, NULL); /* gone where it was placed */
	if (r.etc)
		phx_dir_remove(r.etc, NULL);
	free(r.state);
	free(r.etc);
	umask(mask);
	if (code < 0) {
		phx_backup_done_fini(&done);
		return code;
	}
	*ret = done;
	return 0;
}
