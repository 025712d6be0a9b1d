/* phx re restore: an archive of phx re backup is put into the data directory of an RE, entry by
 * entry, by what phx re put uses. What phxd does not take is told, and the others are put. */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "phx/cli.h"

static const char users[] = "users/";

struct restore {
	struct cli *cli;
	const char *re;
	struct archive *a;
	char temp[64]; /* the content of one entry */
	uint64_t n_put, n_failed, n_users;
	struct phx_list closed; /* struct dir: those in which their owner may not write */
};

struct dir {
	char path[1024];
	unsigned mode;
};

static int write_content(struct restore *r, const struct archive_entry *e, const char *path)
{
	const char *target = archive_entry_symlink((struct archive_entry *)e);
	char chunk[65536];
	la_ssize_t n = 0;
	int fd = open(r->temp, O_WRONLY | O_TRUNC | O_CLOEXEC);
	int why = fd < 0 ? -errno : 0;
	if (why == 0 && target)
		why = phx_write_all(fd, target, strlen(target));
	while (why == 0 && !target && (n = archive_read_data(r->a, chunk, sizeof(chunk))) > 0)
		why = phx_write_all(fd, chunk, (size_t)n);
	phx_close_fd(&fd);
	if (n < 0)
		return cli_fail(CLI_PARTIAL, "%s: %s", path, archive_error_string(r->a));
	return why < 0 ? cli_fail(CLI_PARTIAL, "%s: %s", path, strerror(-why)) : CLI_OK;
}

static const char *kind_of(const struct archive_entry *e)
{
	switch (archive_entry_filetype((struct archive_entry *)e)) {
	case AE_IFREG:
		return "file";
	case AE_IFDIR:
		return "dir";
	case AE_IFLNK:
		return "link";
	default:
		return NULL;
	}
}

/* Directories end with a slash in archives, and begin with ./ in those of others. */
static void plain_path(const char *from, char *ret, size_t size)
{
	while (!strncmp(from, "./", 2))
		from += 2;
	snprintf(ret, size, "%s", from);
	for (size_t n = strlen(ret); n && ret[n - 1] == '/'; n--)
		ret[n - 1] = '\0';
}

static char *url_of(const struct restore *r, const char *path, const char *kind, unsigned mode)
{
	PHX_AUTO_FREE char *base = cli_re_data_url(r->re, path);
	return base ? phx_path("%s?kind=%s&mode=%o", base, kind, mode) : NULL;
}

/* A directory gets its mode when all is in it, if nothing could be put there with it. */
static int open_wide(struct restore *r, const char *path, unsigned *mode)
{
	if ((*mode & 0700) == 0700)
		return CLI_OK;
	struct dir *d = phx_list_push(&r->closed, sizeof(*d));
	if (!d)
		return cli_fail(CLI_PARTIAL, "out of memory");
	PHX_STR_SET(d->path, path);
	d->mode = *mode;
	*mode |= 0700;
	return CLI_OK;
}

static void close_dirs(struct restore *r)
{
	for (uint32_t i = r->closed.n; i-- > 0;) {
		const struct dir *d = PHX_LIST_AT(&r->closed, struct dir, i);
		PHX_AUTO_FREE char *url = url_of(r, d->path, "dir", d->mode ? d->mode : 0500);
		r->n_failed += !url || cli_upload(r->cli, url, r->temp, NULL) != CLI_OK;
	}
	phx_list_fini(&r->closed);
}

static int put_entry(struct restore *r, struct archive_entry *e, const char *path)
{
	struct phx_err err = {0};
	const char *kind = kind_of(e);
	if (!kind || archive_entry_hardlink(e))
		return cli_fail(CLI_PARTIAL, "%s: is neither file, directory nor link", path);
	if (phx_beneath_check(path, &err) < 0)
		return cli_fail(CLI_PARTIAL, "%s", err.text);
	unsigned mode = archive_entry_perm(e) & 0777;
	int code = !strcmp(kind, "dir") ? open_wide(r, path, &mode) : CLI_OK;
	PHX_AUTO_FREE char *url = url_of(r, path, kind, mode ? mode : 0600);
	if (code || !url)
		return code ? code : cli_fail(CLI_PARTIAL, "out of memory");
	code = write_content(r, e, path);
	return code ? code : cli_upload(r->cli, url, r->temp, NULL);
}

static void take_entry(struct restore *r, struct archive_entry *e)
{
	char path[1024];
	const char *name = archive_entry_pathname(e);
	plain_path(name ? name : "", path, sizeof(path));
	if (!path[0])
		return; /* the directory itself */
	if (!strncmp(path, users, sizeof(users) - 1) || !strcmp(path, "users"))
		r->n_users++;
	else if (put_entry(r, e, path))
		r->n_failed++;
	else
		r->n_put++;
}

static int read_all(struct restore *r, const char *from)
{
	struct archive_entry *e;
	int n;
	if (archive_read_open_filename(r->a, from, 65536) != ARCHIVE_OK)
		return cli_fail(CLI_USAGE, "%s: %s", from, archive_error_string(r->a));
	while ((n = archive_read_next_header(r->a, &e)) == ARCHIVE_OK || n == ARCHIVE_WARN)
		take_entry(r, e);
	return n == ARCHIVE_EOF ? CLI_OK
				: cli_fail(CLI_PARTIAL, "%s: %s", from, archive_error_string(r->a));
}

static int restore(struct restore *r, const char *from)
{
	r->a = archive_read_new();
	if (!r->a || archive_read_support_filter_all(r->a) < ARCHIVE_WARN ||
	    archive_read_support_format_tar(r->a) < ARCHIVE_WARN)
		return cli_fail(CLI_PARTIAL, "out of memory");
	int code = read_all(r, from);
	close_dirs(r);
	fprintf(stderr, "phx: %s: %llu put\n", from, (unsigned long long)r->n_put);
	if (r->n_users)
		fprintf(stderr,
			"phx: %llu below users/ are left out: users alone put files there\n",
			(unsigned long long)r->n_users);
	return code ? code : r->n_failed || r->n_users ? CLI_PARTIAL : CLI_OK;
}

int cmd_re_restore(struct cli *cli)
{
	struct restore r = {.cli = cli, .re = cli_arg(cli, 0)};
	const char *dir = getenv("TMPDIR");
	if (snprintf(r.temp, sizeof(r.temp), "%s/phx-restore.XXXXXX", dir ? dir : "/tmp") >=
	    (int)sizeof(r.temp))
		snprintf(r.temp, sizeof(r.temp), "/tmp/phx-restore.XXXXXX");
	int fd = mkstemp(r.temp);
	if (fd < 0)
		return cli_fail(CLI_PARTIAL, "%s: %s", r.temp, strerror(errno));
	close(fd);
	int code = restore(&r, cli_arg(cli, 1));
	archive_read_free(r.a); /* takes NULL */
	unlink(r.temp);
	return code;
}
