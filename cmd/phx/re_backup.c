/* phx re backup: the data directory of an RE as one archive, with directories, modes, links and
 * names that begin with a dot, by what phx re ls and get use: whoever may read it may take it.
 * Whole or not at all; no link is followed. re_restore.c puts it back. */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "phx/cli.h"

struct backup {
	struct cli *cli;
	const char *re;
	struct archive *a;
	int file; /* what is fetched, before its size is known */
	uint64_t n_files, n_links, n_bytes;
};

static int not_packed(struct backup *b, const char *path)
{
	const char *why = archive_error_string(b->a);
	return cli_fail(CLI_PARTIAL, "%s: %s", path, why ? why : "cannot be packed");
}

static bool open_archive(struct backup *b, int fd)
{
	b->a = archive_write_new();
	return b->a && archive_write_add_filter_zstd(b->a) >= ARCHIVE_WARN &&
		archive_write_set_format_gnutar(b->a) >= ARCHIVE_WARN &&
		archive_write_open_fd(b->a, fd) >= ARCHIVE_WARN;
}

/* An older phxd tells of files alone, and not of their modes. */
static int put_header(struct backup *b, const json_t *row, const char *path, off_t size)
{
	struct archive_entry *e = archive_entry_new();
	const char *type = phx_json_str(row, "type", "file");
	mode_t mode = (mode_t)phx_json_int(row, "mode", 0644) & 0777;
	if (!e)
		return cli_fail(CLI_PARTIAL, "out of memory");
	archive_entry_copy_pathname(e, path);
	if (!strcmp(type, "link"))
		archive_entry_copy_symlink(e, phx_json_str(row, "target", ""));
	archive_entry_set_mode(e,
			       (!strcmp(type, "dir")            ? S_IFDIR
					: !strcmp(type, "link") ? S_IFLNK
								: S_IFREG) |
				       mode);
	archive_entry_set_size(e, size);
	archive_entry_set_mtime(e, phx_json_int(row, "modified_ms", 0) / 1000, 0);
	int r = archive_write_header(b->a, e);
	archive_entry_free(e);
	return r < ARCHIVE_WARN ? not_packed(b, path) : CLI_OK;
}

static int put_content(struct backup *b, const char *path)
{
	char chunk[65536];
	ssize_t n;
	while ((n = read(b->file, chunk, sizeof(chunk))) > 0 || (n < 0 && errno == EINTR))
		if (n > 0 && archive_write_data(b->a, chunk, (size_t)n) != n)
			return not_packed(b, path);
	return n < 0 ? cli_fail(CLI_PARTIAL, "%s: %s", path, strerror(errno)) : CLI_OK;
}

/* One that was removed since it was listed is told, and is no error. */
static int add_content(struct backup *b, const json_t *row)
{
	const char *path = phx_json_str(row, "path", "");
	struct phx_err err = {0};
	struct stat st;
	PHX_AUTO_FREE char *url = cli_re_data_url(b->re, path);
	if (!url || ftruncate(b->file, 0) < 0 || lseek(b->file, 0, SEEK_SET) < 0)
		return cli_fail(CLI_PARTIAL, "%s: %s", path, strerror(url ? errno : ENOMEM));
	int r = cli_fetch(b->cli, url, &b->file, &err);
	if (r == -ENOENT) {
		fprintf(stderr, "phx: %s: was removed meanwhile\n", path);
		return CLI_OK;
	}
	if (r < 0)
		return cli_fail_err(r, &err);
	if (fstat(b->file, &st) < 0 || lseek(b->file, 0, SEEK_SET) < 0)
		return cli_fail(CLI_PARTIAL, "%s: %s", path, strerror(errno));
	int code = put_header(b, row, path, st.st_size);
	b->n_files++;
	b->n_bytes += (uint64_t)st.st_size;
	return code ? code : put_content(b, path);
}

static int add_file(struct backup *b, const json_t *row)
{
	const char *path = phx_json_str(row, "path", ""), *type = phx_json_str(row, "type", "file");
	if (!strcmp(type, "file"))
		return add_content(b, row);
	if (!strcmp(type, "other")) {
		fprintf(stderr, "phx: %s: is neither file, directory nor link: left out\n", path);
		return CLI_OK;
	}
	b->n_links += !strcmp(type, "link");
	return put_header(b, row, path, 0);
}

static int list_all(struct backup *b, json_t **ret)
{
	PHX_AUTO_FREE char *base = cli_re_data_url(b->re, "");
	PHX_AUTO_FREE char *url = base ? phx_path("%s?whole=true", base) : NULL;
	int code = url ? cli_get(b->cli, url, ret) : cli_fail(CLI_PARTIAL, "out of memory");
	if (code)
		return code;
	return phx_json_bool(*ret, "more", false)
		? cli_fail(CLI_PARTIAL,
			   "RE %s has more files than phxd lists, or some that it cannot read: "
			   "have its directory copied on the head (re_dir of phoenix.conf)",
			   b->re)
		: CLI_OK;
}

static int add_all(struct backup *b, const json_t *files)
{
	int code = CLI_OK;
	size_t i;
	json_t *row;
	json_array_foreach((json_t *)files, i, row) {
		if (!code)
			code = add_file(b, row);
	}
	if (!code && archive_write_close(b->a) < ARCHIVE_WARN)
		code = not_packed(b, "the archive");
	return code;
}

/* Into `part`, which becomes `to` when all is in it and on the disk. */
static int write_backup(struct backup *b, const json_t *files, const char *part, const char *to)
{
	PHX_AUTO_CLOSE int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return cli_fail(CLI_PARTIAL, "%s: %s", to, strerror(errno));
	int code = open_archive(b, fd) ? add_all(b, files) : cli_fail(CLI_PARTIAL, "out of memory");
	archive_write_free(b->a); /* takes NULL */
	if (!code && (fsync(fd) < 0 || rename(part, to) < 0))
		code = cli_fail(CLI_PARTIAL, "%s: %s", to, strerror(errno));
	if (code)
		unlink(part);
	return code;
}

int cmd_re_backup(struct cli *cli)
{
	struct backup b = {.cli = cli, .re = cli_arg(cli, 0)};
	PHX_AUTO_FREE char *own = phx_path("%s.tar.zst", b.re);
	const char *to = cli_arg(cli, 1) ? cli_arg(cli, 1) : own;
	PHX_AUTO_FREE char *part = to ? phx_path("%s.phx-part", to) : NULL;
	PHX_AUTO_JSON json_t *answer = NULL;
	PHX_AUTO(phx_buf_fini) struct phx_buf size = {0};
	int code = part ? list_all(&b, &answer) : cli_fail(CLI_PARTIAL, "out of memory");
	if (code)
		return code;
	FILE *fetched = tmpfile();
	if (!fetched)
		return cli_fail(CLI_PARTIAL, "no file for what is fetched: %s", strerror(errno));
	b.file = fileno(fetched);
	code = write_backup(&b, json_object_get(answer, "files"), part, to);
	fclose(fetched);
	if (code)
		return code;
	PHX_AUTO_JSON json_t *bytes = json_integer((json_int_t)b.n_bytes);
	cli_put_size(&size, bytes, NULL);
	fprintf(stderr, "phx: %s: %llu files, %s", to, (unsigned long long)b.n_files,
		size.data ? size.data : "");
	if (b.n_links)
		fprintf(stderr, ", %llu links", (unsigned long long)b.n_links);
	fprintf(stderr, "\n");
	return CLI_OK;
}
