/* A small machine for tests of what touches disks, mounts and the kernel: a mount namespace in
 * which "/" is in memory, as in the deploy initramfs, and in which there is none of the real
 * machine's disks: below /dev are loop devices, in /sys the disks that a test has put in, each a
 * file behind a loop device. So what a broken guard would erase here is a file. Ends with the
 * program.
 *
 * The program runs there as DIR/bin/phx-agent of a bundle: the agent installs what it was started
 * from. */
#ifndef TEST_AGENT_MACHINE_H
#define TEST_AGENT_MACHINE_H

#include "base/tree.h"
#include "unit/agent/scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/loop.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "agent/copy.h"
#include "disk/internal.h"

#define MACHINE_BUNDLE "/bundle"
#define MACHINE_PROGRAM MACHINE_BUNDLE "/bin/phx-agent"
/* where the test alone finds the real ones */
#define MACHINE_REAL_DEV "/real/dev"
#define MACHINE_REAL_SYS "/real/sys"

/* ---- building it ---- */

static inline bool machine_is_own(const char *name)
{
	static const char *const own[] = {".",   "..",      "dev",    "sys",
					  "run", "newroot", "bundle", "real"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(own); i++)
		if (phx_str_eq(name, own[i]))
			return true;
	return false;
}

/* One directory of the real root: read-only but for /tmp, so that nothing of a test stays. */
static inline bool machine_bind(const char *from, const char *to, const char *name)
{
	bool tmp = phx_str_eq(name, "tmp"), proc = phx_str_eq(name, "proc");
	if (mkdir(to, 0755) < 0 || mount(from, to, NULL, MS_BIND | (tmp ? 0 : MS_REC), NULL) < 0)
		return false;
	return tmp || proc || mount(NULL, to, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) == 0;
}

static inline bool machine_take_entry(const char *name)
{
	char from[300], to[300], target[300] = "";
	struct stat st;
	snprintf(from, sizeof(from), "/%s", name);
	snprintf(to, sizeof(to), "/run/%s", name);
	if (lstat(from, &st) < 0)
		return false;
	if (S_ISLNK(st.st_mode))
		return readlink(from, target, sizeof(target) - 1) > 0 && symlink(target, to) == 0;
	return !S_ISDIR(st.st_mode) || machine_bind(from, to, name);
}

static inline bool machine_take_root(void)
{
	bool ok = true;
	DIR *d = opendir("/");
	for (const struct dirent *e; ok && d && (e = readdir(d));)
		ok = machine_is_own(e->d_name) || machine_take_entry(e->d_name);
	if (d)
		closedir(d);
	return ok && d;
}

static inline bool machine_real(const char *from, const char *to)
{
	return phx_dir_make(to, 0700, NULL) == 0 &&
		mount(from, to, NULL, MS_BIND | MS_REC, NULL) == 0;
}

static inline bool machine_node(const char *name, mode_t kind, unsigned major, unsigned minor)
{
	char path[64];
	snprintf(path, sizeof(path), "/dev/%s", name);
	return mknod(path, kind | 0600, makedev(major, minor)) == 0;
}

/* No device mapper: its devices would be the real machine's. */
static inline bool machine_make_dev(void)
{
	char name[16];
	bool ok = machine_node("null", S_IFCHR, 1, 3) && machine_node("zero", S_IFCHR, 1, 5) &&
		machine_node("random", S_IFCHR, 1, 8) && machine_node("urandom", S_IFCHR, 1, 9) &&
		machine_node("loop-control", S_IFCHR, 10, 237) &&
		symlink("/proc/self/fd", "/dev/fd") == 0 &&
		symlink(MACHINE_REAL_DEV "/shm", "/dev/shm") == 0 &&
		/* reports of sanitizers */ mkdir("/dev/mapper", 0755) == 0 &&
		mount("tmpfs", "/dev/mapper", "tmpfs", MS_RDONLY | MS_NODEV, "") == 0;
	for (unsigned i = 0; ok && i < 64; i++) {
		snprintf(name, sizeof(name), "loop%u", i);
		ok = machine_node(name, S_IFBLK, 7, i);
	}
	return ok;
}

static inline bool machine_make_dirs(void)
{
	static const char *const dirs[] = {"/sys/block", "/sys/dev/block", "/sys/devices/pci0",
					   "/run/phoenix", "/run/mnt"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(dirs); i++)
		if (phx_dir_make(dirs[i], 0755, NULL) < 0)
			return false;
	return symlink(MACHINE_REAL_SYS "/class", "/sys/class") == 0 &&
		symlink(MACHINE_REAL_SYS "/devices/system", "/sys/devices/system") == 0;
}

static inline bool machine_make_bundle(void)
{
	return phx_dir_make(MACHINE_BUNDLE "/bin", 0755, NULL) == 0 &&
		phx_dir_make(MACHINE_BUNDLE "/share", 0755, NULL) == 0 &&
		phx_file_write(MACHINE_BUNDLE "/share/phx-agent.service", "[Unit]\n", 7, 0644,
			       NULL) == 0 &&
		phx_file_write(MACHINE_BUNDLE "/share/bundle.id", "one\n", 4, 0644, NULL) == 0 &&
		copy_file("/proc/self/exe", MACHINE_PROGRAM, NULL) == 0;
}

static inline bool machine_build(void)
{
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", "/run", "tmpfs", 0, "mode=0755") < 0)
		return false;
	bool ok = machine_take_root() && mkdir("/run/dev", 0755) == 0 &&
		mkdir("/run/sys", 0755) == 0 && machine_real("/dev", "/run" MACHINE_REAL_DEV) &&
		machine_real("/sys", "/run" MACHINE_REAL_SYS) && chdir("/run") == 0 &&
		syscall(SYS_pivot_root, ".", ".") == 0 && umount2(".", MNT_DETACH) == 0 &&
		chdir("/") == 0;
	return ok && machine_make_dev() && machine_make_dirs() && machine_make_bundle();
}

/* Begins main(): returns in the machine, in a program that was started anew there, or false where
 * none may be built: then nothing is tested. Ends the program where one may, and cannot. */
static inline bool machine_enter(char **argv)
{
	char self[300] = "", here[PATH_MAX];
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return false;
	if (phx_str_eq(self, MACHINE_PROGRAM))
		return true;
	/* libraries of a build may be named from where it was started */
	errno = 0;
	if (geteuid() == 0 && getcwd(here, sizeof(here)) && machine_build() && chdir(here) == 0)
		execv(MACHINE_PROGRAM, argv);
	if (geteuid() != 0 || errno == EPERM)
		return false;
	perror("the small machine cannot be built");
	exit(1);
}

/* ---- its disks ---- */

static inline void make_file(const char *path, uint64_t size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	close(fd);
}

struct machine_disk {
	char file[128], name[16], path[32], id[64];
	int fd; /* the loop device is there while this is open */
};

static inline void machine_attach(struct machine_disk *d)
{
	struct loop_config config = {.info = {.lo_flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_PARTSCAN}};
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), number, r = -1;
	int file = open(d->file, O_RDWR | O_CLOEXEC);
	assert_true(control >= 0 && file >= 0);
	config.fd = (uint32_t)file;
	/* another program may take the free one first */
	for (int i = 0; i < 64 && r < 0; i++) {
		number = ioctl(control, LOOP_CTL_GET_FREE);
		assert_in_range(number, 0, 63);
		snprintf(d->name, sizeof(d->name), "loop%d", number);
		snprintf(d->path, sizeof(d->path), "/dev/%s", d->name);
		d->fd = open(d->path, O_RDWR | O_CLOEXEC);
		r = d->fd < 0 ? -1 : ioctl(d->fd, LOOP_CONFIGURE, &config);
		if (r < 0)
			close(d->fd);
	}
	close(control);
	close(file);
	assert_int_equal(r, 0);
}

static inline void machine_sys_put(const char *name, const char *file, const char *text)
{
	char path[128];
	snprintf(path, sizeof(path), "/sys/devices/pci0/%s/%s", name, file);
	write_text(path, text, 0644);
}

/* The kernel's loop devices are no hardware: here one is a disk with a serial number. */
static inline void machine_sys_disk(const struct machine_disk *d, const char *serial, uint64_t size)
{
	char path[128], target[128], text[32];
	static const char *const dirs[] = {"device", "queue", "holders"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(dirs); i++) {
		snprintf(path, sizeof(path), "/sys/devices/pci0/%s/%s", d->name, dirs[i]);
		assert_int_equal(phx_dir_make(path, 0755, NULL), 0);
	}
	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)size / 512);
	machine_sys_put(d->name, "size", text);
	machine_sys_put(d->name, "serial", serial);
	machine_sys_put(d->name, "device/model", "T");
	machine_sys_put(d->name, "queue/discard_max_bytes", "4096");
	snprintf(target, sizeof(target), "/sys/devices/pci0/%s", d->name);
	snprintf(path, sizeof(path), "/sys/block/%s", d->name);
	assert_int_equal(symlink(target, path), 0);
	snprintf(path, sizeof(path), "/sys/dev/block/7:%s", d->name + 4);
	assert_int_equal(symlink(target, path), 0);
}

/* Its nodes below /dev, which come and go with the partitions. */
static inline void machine_dev_parts(const struct machine_disk *d)
{
	char path[64], target[64];
	for (int i = 1; i <= 2; i++) {
		snprintf(path, sizeof(path), "/dev/%sp%d", d->name, i);
		snprintf(target, sizeof(target), MACHINE_REAL_DEV "/%sp%d", d->name, i);
		assert_int_equal(symlink(target, path), 0);
	}
}

/* A disk of `size` zero bytes; id "serial-T-SERIAL". */
static inline void machine_disk_add(struct machine_disk *d, const char *dir, const char *serial,
				    uint64_t size)
{
	snprintf(d->file, sizeof(d->file), "%s/disk-%s-%d", dir, serial, rand());
	snprintf(d->id, sizeof(d->id), "serial-T-%s", serial);
	make_file(d->file, size);
	machine_attach(d);
	machine_sys_disk(d, serial, size);
	machine_dev_parts(d);
}

static inline void machine_disk_remove(struct machine_disk *d)
{
	char path[128];
	if (!d->name[0])
		return;
	phx_table_forget(d->path, NULL);
	for (int i = 1; i <= 2; i++) {
		snprintf(path, sizeof(path), "/dev/%sp%d", d->name, i);
		unlink(path);
	}
	snprintf(path, sizeof(path), "/sys/block/%s", d->name);
	unlink(path);
	snprintf(path, sizeof(path), "/sys/dev/block/7:%s", d->name + 4);
	unlink(path);
	snprintf(path, sizeof(path), "/sys/devices/pci0/%s", d->name);
	phx_dir_remove(path, NULL);
	close(d->fd);
	unlink(d->file);
	*d = (struct machine_disk){0};
}

/* Through the device: what its cache has counts. */
static inline void machine_disk_put(const struct machine_disk *d, uint64_t at, const char *text)
{
	assert_int_equal(pwrite(d->fd, text, strlen(text), (off_t)at), (ssize_t)strlen(text));
	assert_int_equal(fsync(d->fd), 0);
}

static inline bool machine_disk_has(const struct machine_disk *d, uint64_t at, const char *text)
{
	char data[64] = "";
	size_t n = strlen(text);
	assert_true(n < sizeof(data));
	assert_int_equal(posix_fadvise(d->fd, 0, 0, POSIX_FADV_DONTNEED), 0);
	assert_int_equal(pread(d->fd, data, n, (off_t)at), (ssize_t)n);
	return memcmp(data, text, n) == 0;
}

#endif
