/* Systems in roots: see system.h. Called by the import and by what compares images. Writes nothing
 * but the locks of rpm. */
#include "deploy/system.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/spawn.h"
#include "deploy/packages.h"

enum { OS_RELEASE_MAX = 64 << 10, RPM_OUTPUT_MAX = 16 << 20, RPM_TIMEOUT_MS = 300000 };

/* ---- inside a root ---- */

/* A device of the root is the machine's: to open it can do something already, as with a watchdog.
 * A pipe would be waited for. */
static int open_again(int at, int flags)
{
	struct stat st;
	char path[64];
	if (fstat(at, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return -EINVAL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", at);
	int fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int phx_rooted_open(const char *root, const char *path, int flags)
{
	PHX_AUTO_CLOSE int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct open_how how = {.flags = O_PATH | O_CLOEXEC | (uint64_t)(flags & O_DIRECTORY),
			       .resolve = RESOLVE_IN_ROOT};
	int at = dir < 0 ? -1 : (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
	if (at < 0 || flags & O_PATH)
		return at < 0 ? -errno : at;
	int fd = open_again(at, flags);
	close(at);
	return fd;
}

int phx_rooted_read(const char *root, const char *path, size_t max, char **ret, size_t *ret_n)
{
	PHX_AUTO_CLOSE int fd = phx_rooted_open(root, path, O_RDONLY);
	struct stat st;
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -EINVAL;
	PHX_AUTO_FREE char *at = phx_path("/proc/self/fd/%d", fd);
	return at ? phx_file_read(at, max, ret, ret_n, NULL) : -ENOMEM;
}

/* ---- os-release ---- */

/* What installs in it what an image must have, by the words of ID and ID_LIKE; the first row that
 * fits. */
static const struct family {
	const char *id, *add_kernel;
} families[] = {
	{"ubuntu", "apt-get install linux-image-generic systemd-sysv"},
	{"debian", "apt-get install linux-image-amd64 systemd-sysv"},
	{"rhel", "dnf install kernel systemd"},
	{"fedora", "dnf install kernel systemd"},
	{"suse", "zypper install kernel-default systemd-sysvinit"},
	{"opensuse", "zypper install kernel-default systemd-sysvinit"},
};

static bool has_word(const char *words, const char *word)
{
	size_t n = strlen(word);
	for (const char *p = words; *p;) {
		size_t len = strcspn(p, " ");
		if (len == n && !memcmp(p, word, n))
			return true;
		p += len + strspn(p + len, " ");
	}
	return false;
}

/* The value of KEY= at the beginning of a line, without its quotes; what does not belong between
 * those of a manifest is left out. */
static void read_value(const char *text, const char *key, char *ret, size_t size)
{
	size_t n = strlen(key), k = 0;
	for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n') {
		if (strncmp(p, key, n) || p[n] != '=')
			continue;
		const char *v = p + n + 1, *end = v + strcspn(v, "\n");
		for (; v < end && k + 1 < size; v++)
			if ((unsigned char)*v >= ' ' && !strchr("\"'\\\x7f", *v))
				ret[k++] = *v;
		break;
	}
	ret[k] = '\0';
}

void phx_system_parse(const char *text, struct phx_system *ret)
{
	char like[128], words[192];
	read_value(text, "ID", ret->id, sizeof(ret->id));
	read_value(text, "ID_LIKE", like, sizeof(like));
	read_value(text, "PRETTY_NAME", ret->name, sizeof(ret->name));
	snprintf(words, sizeof(words), "%s %s", ret->id, like);
	ret->add_kernel = "";
	for (size_t i = 0; i < PHX_ARRAY_SIZE(families); i++) {
		if (has_word(words, families[i].id)) {
			ret->add_kernel = families[i].add_kernel;
			break;
		}
	}
}

void phx_system_read(const char *root, struct phx_system *ret)
{
	static const char *const places[] = {"etc/os-release", "usr/lib/os-release"};
	PHX_AUTO_FREE char *text = NULL;
	for (size_t i = 0; !text && i < PHX_ARRAY_SIZE(places); i++)
		if (phx_rooted_read(root, places[i], OS_RELEASE_MAX, &text, NULL) < 0)
			text = NULL;
	phx_system_parse(text ? text : "", ret);
}

/* ---- the processor ---- */

static void name_machine(unsigned number, char ret[PHX_MACHINE_MAX])
{
	static const struct {
		unsigned number;
		const char *name;
	} rows[] = {
		{EM_X86_64, "x86_64"}, {EM_AARCH64, "aarch64"}, {EM_386, "i686"},
		{EM_ARM, "armv7l"},    {EM_RISCV, "riscv64"},
	};
	snprintf(ret, PHX_MACHINE_MAX, "one of number %u", number);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		if (rows[i].number == number)
			snprintf(ret, PHX_MACHINE_MAX, "%s", rows[i].name);
}

void phx_system_machine(const char *root, char ret[PHX_MACHINE_MAX])
{
	static const char *const places[] = {"usr/lib/systemd/systemd", "lib/systemd/systemd"};
	/* the fields are at one place for words of 32 and of 64 bits */
	unsigned char head[offsetof(Elf64_Ehdr, e_machine) + 2];
	ret[0] = '\0';
	for (size_t i = 0; !ret[0] && i < PHX_ARRAY_SIZE(places); i++) {
		PHX_AUTO_CLOSE int fd = phx_rooted_open(root, places[i], O_RDONLY);
		if (fd < 0 || read(fd, head, sizeof(head)) != sizeof(head) ||
		    memcmp(head, ELFMAG, SELFMAG))
			continue;
		const unsigned char *n = head + offsetof(Elf64_Ehdr, e_machine);
		bool big = head[EI_DATA] == ELFDATA2MSB;
		name_machine(big ? n[0] << 8 | n[1] : n[1] << 8 | n[0], ret);
	}
}

/* ---- packages ---- */

static bool has(const char *root, const char *path)
{
	PHX_AUTO_CLOSE int fd = phx_rooted_open(root, path, O_PATH);
	return fd >= 0;
}

static int ask_rpm(const char *root, struct phx_list *ret, struct phx_err *err)
{
	const char *const argv[] = {
		"rpm",
		"--root",
		root,
		"-qa",
		"--queryformat",
		"%{NAME} %{ARCH} %|EPOCH?{%{EPOCH}:}:{}|%{VERSION}-%{RELEASE}\\n",
		NULL};
	const struct phx_run job = {.argv = argv,
				    .timeout_ms = RPM_TIMEOUT_MS,
				    .output_max = RPM_OUTPUT_MAX,
				    .dies_with_us = true};
	struct phx_run_result res = {0};
	struct phx_err why = {0};
	int r = phx_run_check(&job, &res, &why);
	if (r == -ENOENT)
		return 1;
	if (r == 0)
		r = phx_packages_parse(res.out, strlen(res.out), "rpm -qa", ret, err);
	else
		r = phx_err_set(err, -EINVAL, "its packages: %s", why.text);
	phx_run_result_fini(&res);
	return r;
}

int phx_system_packages(const char *root, struct phx_list *ret, struct phx_err *err)
{
	static const char *const rpm_places[] = {
		"var/lib/rpm/rpmdb.sqlite", "var/lib/rpm/Packages", "var/lib/rpm/Packages.db",
		"usr/lib/sysimage/rpm/rpmdb.sqlite", "usr/lib/sysimage/rpm/Packages.db"};
	static const char status[] = "var/lib/dpkg/status";
	PHX_AUTO_FREE char *text = NULL;
	size_t n;
	*ret = (struct phx_list){0};
	int r = phx_rooted_read(root, status, PHX_OS_PACKAGES_TEXT_MAX, &text, &n);
	if (r == 0)
		return phx_dpkg_parse(text, n, status, ret, err);
	if (r != -ENOENT)
		return phx_err_set(err, -EINVAL, "its %s: %s", status, strerror(-r));
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rpm_places); i++)
		if (has(root, rpm_places[i]))
			return ask_rpm(root, ret, err);
	return 0;
}
