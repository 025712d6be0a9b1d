/* What the disk tests share: scratch directories, backing files, loop devices. */
#ifndef PHX_TESTS_DISK_HELP_H
#define PHX_TESTS_DISK_HELP_H

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/spawn.h"
#include "base/tree.h"
#include "disk/internal.h"

#define MIB (1024ull * 1024)

struct place {
	char dir[40];
	char file[64]; /* backing file */
	char loop[64]; /* "" when there is none */
	struct phx_disk_facts facts;
	struct phx_err err;
};

static inline void make_file(const char *path, uint64_t size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	close(fd);
}

static inline void put(const char *path, uint64_t offset, const void *data, size_t n)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, data, n, (off_t)offset), n);
	assert_int_equal(fsync(fd), 0);
	close(fd);
}

static inline void get(const char *path, uint64_t offset, void *data, size_t n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, data, n, (off_t)offset), n);
	close(fd);
}

/* Where the bytes first occur in the file, -1 = nowhere. */
static inline int64_t search(const char *path, const void *what, size_t n)
{
	size_t window = 4 * MIB, keep = n - 1, have = 0;
	int64_t base = 0, found = -1;
	char *data = malloc(window + keep);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t r;
	assert_true(fd >= 0 && data);
	while (found < 0 && (r = read(fd, data + have, window)) > 0) {
		have += (size_t)r;
		char *hit = memmem(data, have, what, n);
		if (hit)
			found = base + (hit - data);
		size_t drop = have > keep ? have - keep : 0;
		memmove(data, data + drop, have - drop);
		base += (int64_t)drop;
		have -= drop;
	}
	close(fd);
	free(data);
	return found;
}

static inline struct place *place_new(uint64_t size)
{
	struct place *p = calloc(1, sizeof(*p));
	strcpy(p->dir, "/tmp/phx-test-disk-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	snprintf(p->file, sizeof(p->file), "%s/disk", p->dir);
	make_file(p->file, size);
	p->facts = (struct phx_disk_facts){
		.id = "serial-test-1", .size_bytes = size, .can_discard = true};
	return p;
}

/* Attaches the backing file; false when this kernel has no loop devices. */
static inline bool place_attach(struct place *p)
{
	const char *const argv[] = {"losetup", "-P", "-f", "--show", p->file, NULL};
	struct phx_run_result res;
	if (phx_run_check(&(struct phx_run){.argv = argv}, &res, NULL) < 0)
		return false;
	snprintf(p->loop, sizeof(p->loop), "%.*s", (int)strcspn(res.out, "\n"), res.out);
	phx_run_result_fini(&res);
	return true;
}

static inline void place_free(struct place *p)
{
	if (p->loop[0]) {
		const char *const argv[] = {"losetup", "-d", p->loop, NULL};
		phx_table_forget(p->loop, NULL);
		phx_run_check(&(struct phx_run){.argv = argv}, NULL, NULL);
	}
	phx_dir_remove(p->dir, NULL);
	free(p);
}

static inline int run(const char *const *argv)
{
	return phx_run_check(&(struct phx_run){.argv = argv}, NULL, NULL);
}
#define RUN(...) run((const char *const[]){__VA_ARGS__, NULL})

#define assert_text(err, part) assert_non_null(strstr((err).text, part))

#endif
