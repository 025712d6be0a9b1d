/* Packages that no honest builder makes, for the tests of this room: written by libarchive itself,
 * signed with the site's real key. Each test program includes this once. */
#ifndef TESTS_UNIT_REPO_HOSTILE_H
#define TESTS_UNIT_REPO_HOSTILE_H

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include <archive.h>
#include <archive_entry.h>

#include "base/file.h"
#include "base/spawn.h"
#include "base/tree.h"
#include "pki/pki.h"
#include "repo/repo.h"

#define MAYBE_UNUSED __attribute__((unused))

/* A site's key, a stranger's, a place to unpack, one archive. */
struct place {
	char dir[64];
	char key[96], pub[96], stranger_key[96];
	char root[96], archive[96], repo[96], src[96], out[96];
};

struct item {
	const char *path;
	mode_t mode; /* with type */
	const char *data;
	const char *target; /* symbolic link */
	const char *hard;   /* hard link */
	uint64_t n_zeros;   /* content of that many zeros instead of data */
	uint64_t says;      /* size in the header instead of the true one */
};

struct shape {
	const char *manifest; /* NULL: right counts for the items */
	const char *arch;     /* NULL: "all" */
	bool manifest_last, no_manifest;
	bool plain, twice; /* no zstd; zstd in zstd */
	bool pax;
};

static char *in_place(const struct place *p, const char *name)
{
	char *path = phx_path("%s/%s", p->dir, name);
	assert_non_null(path);
	return path;
}

static void make_keys(const char *dir, char *key, size_t n_key, char *pub, size_t n_pub)
{
	struct phx_pki *pki = NULL;
	struct phx_err err = {0};
	if (phx_pki_open(dir, NULL, 0, &pki, &err) < 0)
		fail_msg("%s", err.text);
	phx_pki_free(pki);
	snprintf(key, n_key, "%s/site.key", dir);
	if (pub)
		snprintf(pub, n_pub, "%s/site.pub", dir);
}

static MAYBE_UNUSED int place_setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	strcpy(p->dir, "/tmp/phx-test-repo-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	PHX_AUTO_FREE char *site = in_place(p, "site"), *stranger = in_place(p, "stranger");
	make_keys(site, p->key, sizeof(p->key), p->pub, sizeof(p->pub));
	make_keys(stranger, p->stranger_key, sizeof(p->stranger_key), NULL, 0);
	snprintf(p->root, sizeof(p->root), "%s/pkg", p->dir);
	snprintf(p->archive, sizeof(p->archive), "%s/made.tar.zst", p->dir);
	snprintf(p->repo, sizeof(p->repo), "%s/repo", p->dir);
	snprintf(p->src, sizeof(p->src), "%s/src", p->dir);
	snprintf(p->out, sizeof(p->out), "%s/out", p->dir);
	*state = p;
	return 0;
}

static MAYBE_UNUSED int place_teardown(void **state)
{
	struct place *p = *state;
	assert_int_equal(phx_dir_remove(p->dir, NULL), 0);
	free(p);
	return 0;
}

/* ---- archives ---- */

static void write_item(struct archive *a, const struct item *item)
{
	struct archive_entry *e = archive_entry_new();
	uint64_t n = item->data ? strlen(item->data) : item->n_zeros;
	archive_entry_copy_pathname(e, item->path);
	archive_entry_set_mode(e, item->mode ? item->mode : S_IFREG | 0644);
	archive_entry_set_size(e, (int64_t)n);
	if (item->target)
		archive_entry_copy_symlink(e, item->target);
	if (item->hard)
		archive_entry_copy_hardlink(e, item->hard);
	if (S_ISCHR(item->mode) || S_ISBLK(item->mode))
		archive_entry_set_rdev(e, 0x0103);
	assert_true(archive_write_header(a, e) >= ARCHIVE_WARN);
	archive_entry_free(e);
	static const char zeros[65536];
	for (uint64_t left = item->data ? 0 : n; left;) {
		size_t k = left < sizeof(zeros) ? (size_t)left : sizeof(zeros);
		assert_int_equal(archive_write_data(a, zeros, k), k);
		left -= k;
	}
	if (item->data)
		assert_int_equal(archive_write_data(a, item->data, n), n);
}

static void write_manifest(struct archive *a, const struct shape *s, const struct item *items,
			   size_t n)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < n; i++)
		bytes += items[i].data ? strlen(items[i].data) : items[i].n_zeros;
	PHX_AUTO_FREE char *right =
		phx_path("name = \"made\";\nversion = \"1.0\";\narch = \"%s\";\nsummary = \"m\";\n"
			 "unpacked_bytes = \"%" PRIu64 "\";\nn_entries = \"%zu\";\n",
			 s->arch ? s->arch : "all", bytes, n);
	const struct item item = {.path = "PHX/manifest.conf",
				  .data = s->manifest ? s->manifest : right};
	write_item(a, &item);
}

static struct archive *open_for_writing(const struct place *p, const struct shape *s)
{
	struct archive *a = archive_write_new();
	assert_non_null(a);
	for (int i = s->plain ? 2 : s->twice ? 0 : 1; i < 2; i++)
		assert_int_equal(archive_write_add_filter_zstd(a), ARCHIVE_OK);
	assert_int_equal(s->pax ? archive_write_set_format_pax(a)
				: archive_write_set_format_gnutar(a),
			 ARCHIVE_OK);
	assert_int_equal(archive_write_open_filename(a, p->archive), ARCHIVE_OK);
	return a;
}

/* p->archive from the items, and its right signature. */
static MAYBE_UNUSED void make_archive(const struct place *p, const struct shape *shape,
				      const struct item *items, size_t n)
{
	const struct shape s = shape ? *shape : (struct shape){0};
	struct archive *a = open_for_writing(p, &s);
	if (!s.manifest_last && !s.no_manifest)
		write_manifest(a, &s, items, n);
	for (size_t i = 0; i < n; i++)
		write_item(a, &items[i]);
	if (s.manifest_last)
		write_manifest(a, &s, items, n);
	archive_write_close(a);
	assert_int_equal(archive_write_free(a), ARCHIVE_OK);
	assert_int_equal(phx_package_sign(p->archive, p->key, NULL), 0);
}

#define MAKE(p, shape, ...) \
	do { \
		const struct item items_[] = {__VA_ARGS__}; \
		make_archive(p, shape, items_, sizeof(items_) / sizeof(items_[0])); \
	} while (0)

/* ---- looking at results ---- */

/* Everything below `dir`, "TYPE MODE PATH" a line, sorted; "" when there is no such directory. */
static MAYBE_UNUSED char *list_tree(const char *dir)
{
	const char *const argv[] = {"find", dir, "-mindepth", "1", "-printf", "%y %m %P\\n", NULL};
	const struct phx_run run = {.argv = argv};
	struct phx_run_result found = {0};
	assert_int_equal(phx_run(&run, &found, NULL), 0);
	const char *const sort_argv[] = {"env", "LC_ALL=C", "sort", NULL};
	const struct phx_run sort = {.argv = sort_argv, .input = found.out};
	struct phx_run_result sorted = {0};
	assert_int_equal(phx_run(&sort, &sorted, NULL), 0);
	char *text = PHX_TAKE(sorted.out);
	phx_run_result_fini(&found);
	phx_run_result_fini(&sorted);
	return text;
}

/* Unpack p->archive. A failure must say `says` and leave nothing below the root. */
static MAYBE_UNUSED int unpack(const struct place *p, const struct phx_package_limits *limits,
			       const char *says)
{
	struct phx_err err = {0};
	PHX_AUTO_FREE char *before = list_tree(p->root);
	int r = phx_package_unpack(p->archive, p->pub, p->root, limits, NULL, &err);
	if (r == 0) {
		if (says)
			fail_msg("was unpacked, but should be refused: %s", says);
		return 0;
	}
	if (!says)
		print_error("%s\n", err.text);
	else if (!strstr(err.text, says))
		fail_msg("\"%s\" does not say \"%s\"", err.text, says);
	PHX_AUTO_FREE char *after = list_tree(p->root);
	assert_string_equal(after, before);
	return r;
}

static MAYBE_UNUSED char *read_text(const char *dir, const char *name)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s", dir, name);
	char *text = NULL;
	if (phx_file_read(path, 1 << 20, &text, NULL, NULL) < 0)
		fail_msg("%s cannot be read", path);
	return text;
}

static MAYBE_UNUSED void write_text(const char *dir, const char *name, const char *text,
				    mode_t mode)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s", dir, name);
	PHX_AUTO_FREE char *parent = strdup(path);
	*strrchr(parent, '/') = '\0';
	assert_int_equal(phx_dir_make(parent, 0755, NULL), 0);
	assert_int_equal(phx_file_write(path, text, strlen(text), mode, NULL), 0);
}

#endif
