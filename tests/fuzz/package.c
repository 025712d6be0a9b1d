/* Fuzzing of the package reader: any bytes as archive, and any bytes as the tar inside one.
 * Whatever comes, nothing may be written outside the directory given, nothing special may be made,
 * and nobody may crash.
 * Parsers: lib/repo/walk.c lib/repo/manifest.c lib/repo/entry.c */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/file.h"
#include "base/tree.h"
#include "fuzz/fuzz.h"
#include "repo/internal.h"

static const struct phx_package_limits limits = {.bytes_max = 1 << 20, .entries_max = 64};

static int memory_file(const void *data, size_t n)
{
	int fd = memfd_create("package", MFD_CLOEXEC);
	if (fd >= 0 && phx_write_all(fd, data, n) < 0)
		abort();
	return fd;
}

/* Only files, directories and links of our two modes are there. */
static void check_tree(int dir_fd)
{
	DIR *d = fdopendir(dir_fd);
	for (struct dirent *e; d && (e = readdir(d));) {
		struct stat st;
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			abort();
		if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) && !S_ISLNK(st.st_mode))
			abort();
		if (!S_ISLNK(st.st_mode) && (st.st_mode & 07022))
			abort();
		if (S_ISDIR(st.st_mode))
			check_tree(openat(dirfd(d), e->d_name,
					  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	}
	closedir(d);
}

/* Two levels deep, so that the first steps out of it are seen in the upper one. */
static void extract(struct phx_package_walk *w)
{
	char top[] = "/dev/shm/phx-fuzz-XXXXXX";
	if (!mkdtemp(top))
		abort();
	PHX_AUTO_FREE char *dir = phx_path("%s/in", top);
	if (mkdir(dir, 0755) < 0)
		abort();
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	phx_walk_extract(w, fd, NULL);
	check_tree(fd);
	if (rmdir(top) == 0 || phx_dir_remove(dir, NULL) < 0 || rmdir(top) < 0)
		abort(); /* something beside "in" was made */
}

static void read_archive(const void *data, size_t n)
{
	PHX_AUTO_CLOSE int fd = memory_file(data, n);
	struct phx_package_walk w;
	struct phx_err err = {0};
	if (phx_walk_open(&w, fd, &limits, &err) == 0) {
		phx_walk_all(&w, &err);
		phx_walk_close(&w);
	} else if (!err.text[0]) {
		abort();
	}
	if (phx_walk_open(&w, fd, &limits, NULL) == 0) {
		extract(&w);
		phx_walk_close(&w);
	}
}

/* Right checksums for whatever looks like a tar header, so that mutations get past the first
 * check. */
static void repair_headers(uint8_t *tar, size_t n)
{
	for (size_t at = 0; at + 512 <= n; at += 512) {
		uint8_t *h = tar + at;
		if (memcmp(h + 257, "ustar", 5) != 0)
			continue;
		unsigned int sum = 0;
		memset(h + 148, ' ', 8);
		for (size_t i = 0; i < 512; i++)
			sum += h[i];
		snprintf((char *)h + 148, 8, "%06o", sum);
	}
}

/* What is taken is written and read back the same. */
static void read_manifest(const char *text, size_t n)
{
	struct phx_package p, again;
	struct phx_err err = {0};
	if (phx_manifest_parse(text, n, true, &p, &err) < 0) {
		fuzz_never(!err.text[0]);
		return;
	}
	PHX_AUTO_FREE char *written = phx_manifest_format(&p);
	fuzz_never(!written ||
		   phx_manifest_parse(written, strlen(written), true, &again, NULL) < 0);
	fuzz_never(!phx_record_equal(&phx_package_record, &p, &again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	read_manifest((const char *)data, n);
	read_archive(data, n);
	size_t room = ZSTD_compressBound(n);
	PHX_AUTO_FREE char *packed = malloc(room);
	PHX_AUTO_FREE uint8_t *tar = malloc(n + 1);
	if (!packed || !tar)
		return 0;
	memcpy(tar, data, n);
	repair_headers(tar, n);
	size_t n_packed = ZSTD_compress(packed, room, tar, n, 1);
	if (!ZSTD_isError(n_packed))
		read_archive(packed, n_packed);
	return 0;
}
