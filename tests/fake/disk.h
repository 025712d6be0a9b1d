/* A fake disk in front of the real one: notes, in their order, the calls that write, bring to the
 * disk and rename, and fails when told to. It takes the place of libc's functions in the program
 * that includes it, libraries included. */
#ifndef TESTS_FAKE_DISK_H
#define TESTS_FAKE_DISK_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum fake_kind { FAKE_WRITE, FAKE_SYNC, FAKE_RENAME /* or a link: it has a name */ };
enum { FAKE_CALLS = 4096 };

static struct {
	enum fake_kind kind;
	ino_t ino;
} fake_calls[FAKE_CALLS];
static int fake_n;
static bool fake_disk_fails;
static void (*fake_disk_on_sync)(void); /* what happens meanwhile, once; may be NULL */
static pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;

static inline void fake_disk_begin(void)
{
	fake_n = 0;
}

/* The first such call from `from` on; -1: there is none. */
static inline int fake_disk_find(enum fake_kind kind, ino_t ino, int from)
{
	for (int i = from < 0 ? 0 : from; i < fake_n; i++)
		if (fake_calls[i].kind == kind && fake_calls[i].ino == ino)
			return i;
	return -1;
}

static void fake_note_ino(enum fake_kind kind, ino_t ino)
{
	pthread_mutex_lock(&fake_lock);
	if (fake_n < FAKE_CALLS) {
		fake_calls[fake_n].kind = kind;
		fake_calls[fake_n++].ino = ino;
	}
	pthread_mutex_unlock(&fake_lock);
}

static void fake_note(enum fake_kind kind, int dir, const char *path)
{
	struct stat st;
	if ((path ? fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) : fstat(dir, &st)) == 0)
		fake_note_ino(kind, st.st_ino);
}

static int fake_sync(int fd, long number)
{
	if (fake_disk_fails) {
		errno = EIO;
		return -1;
	}
	fake_note(FAKE_SYNC, fd, NULL);
	void (*happens)(void) = fake_disk_on_sync;
	fake_disk_on_sync = NULL;
	if (happens)
		happens();
	return (int)syscall(number, fd);
}

int fsync(int fd)
{
	return fake_sync(fd, SYS_fsync);
}

int fdatasync(int fd)
{
	return fake_sync(fd, SYS_fdatasync);
}

ssize_t write(int fd, const void *data, size_t n)
{
	fake_note(FAKE_WRITE, fd, NULL);
	return syscall(SYS_write, fd, data, n);
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t at)
{
	fake_note(FAKE_WRITE, fd, NULL);
	return syscall(SYS_pwrite64, fd, data, n, at);
}

ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at)
{
	fake_note(FAKE_WRITE, fd, NULL);
	return syscall(SYS_pwrite64, fd, data, n, at);
}

int rename(const char *from, const char *to)
{
	fake_note(FAKE_RENAME, AT_FDCWD, from);
	return (int)syscall(SYS_rename, from, to);
}

/* The link is to the open file, not to its entry below /proc. */
int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
	struct stat st;
	if (fstatat(from_dir, from, &st, flags & AT_SYMLINK_FOLLOW ? 0 : AT_SYMLINK_NOFOLLOW) == 0)
		fake_note_ino(FAKE_RENAME, st.st_ino);
	return (int)syscall(SYS_linkat, from_dir, from, to_dir, to, flags);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	fake_note(FAKE_RENAME, from_dir, from);
	return (int)syscall(SYS_renameat, from_dir, from, to_dir, to);
}

#endif
