/* A fake disk under SQLite: a VFS in front of the real one, whose writes and syncs fail when told
 * to. Register it before the store is opened. One user at a time. */
#ifndef TESTS_FAKE_FAILING_VFS_H
#define TESTS_FAKE_FAILING_VFS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <string.h>

enum failing_vfs_way { FAKE_VFS_SOUND, FAKE_VFS_FULL, FAKE_VFS_SHORT, FAKE_VFS_SYNC };

static struct {
	enum failing_vfs_way way;
	int after; /* so many writes (or syncs) pass before */
	int n_failed;
	sqlite3_vfs *real, vfs;
} failing_vfs;

struct failing_file {
	sqlite3_file base;
};

/* What the real file keeps lies behind ours. */
static sqlite3_file *real_file(sqlite3_file *f)
{
	return (sqlite3_file *)((struct failing_file *)f + 1);
}

static bool fails_now(enum failing_vfs_way way)
{
	if (failing_vfs.way != way || failing_vfs.after-- > 0)
		return false;
	failing_vfs.n_failed++;
	return true;
}

static int failing_write(sqlite3_file *f, const void *data, int n, sqlite3_int64 at)
{
	if (fails_now(FAKE_VFS_FULL))
		return SQLITE_FULL;
	if (fails_now(FAKE_VFS_SHORT)) {
		real_file(f)->pMethods->xWrite(real_file(f), data, n / 2, at);
		return SQLITE_IOERR_WRITE;
	}
	return real_file(f)->pMethods->xWrite(real_file(f), data, n, at);
}

static int failing_sync(sqlite3_file *f, int flags)
{
	return fails_now(FAKE_VFS_SYNC) ? SQLITE_IOERR_FSYNC
					: real_file(f)->pMethods->xSync(real_file(f), flags);
}

#define PASS(ret, name, args, call) \
	static ret passing_##name args \
	{ \
		return real_file(f)->pMethods->x##name call; \
	}
PASS(int, Read, (sqlite3_file * f, void *to, int n, sqlite3_int64 at), (real_file(f), to, n, at))
PASS(int, Truncate, (sqlite3_file * f, sqlite3_int64 n), (real_file(f), n))
PASS(int, FileSize, (sqlite3_file * f, sqlite3_int64 *ret), (real_file(f), ret))
PASS(int, Lock, (sqlite3_file * f, int how), (real_file(f), how))
PASS(int, Unlock, (sqlite3_file * f, int how), (real_file(f), how))
PASS(int, CheckReservedLock, (sqlite3_file * f, int *ret), (real_file(f), ret))
PASS(int, FileControl, (sqlite3_file * f, int op, void *arg), (real_file(f), op, arg))
PASS(int, SectorSize, (sqlite3_file * f), (real_file(f)))
PASS(int, DeviceCharacteristics, (sqlite3_file * f), (real_file(f)))
PASS(int, ShmMap, (sqlite3_file * f, int i, int n, int more, void volatile **ret),
     (real_file(f), i, n, more, ret))
PASS(int, ShmLock, (sqlite3_file * f, int at, int n, int how), (real_file(f), at, n, how))
PASS(int, ShmUnmap, (sqlite3_file * f, int gone), (real_file(f), gone))

static int passing_Close(sqlite3_file *f)
{
	return real_file(f)->pMethods ? real_file(f)->pMethods->xClose(real_file(f)) : SQLITE_OK;
}

static void passing_ShmBarrier(sqlite3_file *f)
{
	real_file(f)->pMethods->xShmBarrier(real_file(f));
}

static int failing_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags,
			int *ret_flags)
{
	static const struct sqlite3_io_methods methods = {
		2,
		passing_Close,
		passing_Read,
		failing_write,
		passing_Truncate,
		failing_sync,
		passing_FileSize,
		passing_Lock,
		passing_Unlock,
		passing_CheckReservedLock,
		passing_FileControl,
		passing_SectorSize,
		passing_DeviceCharacteristics,
		passing_ShmMap,
		passing_ShmLock,
		passing_ShmBarrier,
		passing_ShmUnmap,
		NULL,
		NULL,
	};
	(void)vfs;
	memset(real_file(f), 0, (size_t)failing_vfs.real->szOsFile);
	int rc = failing_vfs.real->xOpen(failing_vfs.real, name, real_file(f), flags, ret_flags);
	f->pMethods = rc == SQLITE_OK ? &methods : NULL;
	return rc;
}

/** From now on every database is opened through it. Twice is once. */
static inline void failing_vfs_register(void)
{
	if (failing_vfs.real)
		return;
	failing_vfs.real = sqlite3_vfs_find(NULL);
	failing_vfs.vfs = *failing_vfs.real;
	failing_vfs.vfs.zName = "failing";
	failing_vfs.vfs.pNext = NULL;
	failing_vfs.vfs.szOsFile = (int)sizeof(struct failing_file) + failing_vfs.real->szOsFile;
	failing_vfs.vfs.xOpen = failing_open;
	sqlite3_vfs_register(&failing_vfs.vfs, 1);
}

/** The write (or sync) after the next `after` ones fails, and all that follow, until
 * FAKE_VFS_SOUND. */
static inline void failing_vfs_fail(enum failing_vfs_way way, int after)
{
	failing_vfs.way = way;
	failing_vfs.after = after;
	failing_vfs.n_failed = 0;
}

#endif
