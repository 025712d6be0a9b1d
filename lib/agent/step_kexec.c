/* The steps kexec and kernel: from the running system into the deploy environment, and from there
 * into the kernel of a system, without firmware. All files
 * are fetched over TLS and checked before the kernel gets them. Called through the table of
 * step_table.c. */
#include "agent/step.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kexec.h>
#include <linux/reboot.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/file.h"
#include "base/spawn.h"
#include "agent/fetch.h"
#include "agent/log.h"
#include "agent/order.h"

#define FILE_SIZE_MAX (512ull << 20)
enum { SITE_MAX = 1 << 20, SYSTEMD_WAIT_MS = 20000, CMDLINE_MAX = 2048 };

struct starting {
	struct phx_image deploy, system;
	const struct phx_image_own *own; /* of `system`; NULL: the deploy image's kernel */
	const char *cmdline;
};

static void starting_fini(struct starting *st)
{
	phx_record_fini(&phx_image_record, &st->deploy);
	phx_record_fini(&phx_image_record, &st->system);
}

/* Opens an unnamed file on the disk, so that memory holds the data only once. A system in memory
 * has no disk, and its overlay has no unnamed files: there the file is in memory. */
static int open_scratch(const struct agent *a, struct phx_err *err)
{
	int r = phx_dir_make(a->cfg.cache_dir, 0755, err);
	int fd = r == 0 ? open(a->cfg.cache_dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : r;
	if (fd < 0 && r == 0 && errno == EOPNOTSUPP)
		fd = memfd_create("phx-kexec", MFD_CLOEXEC);
	return fd < 0 && r == 0
		? phx_err_set(err, -errno, "%s: %s", a->cfg.cache_dir, strerror(errno))
		: fd;
}

static int fetch_part(struct phx_http_client *c, const struct phx_image *image, const char *name,
		      int fd, struct phx_err *err)
{
	const struct phx_image_file *f = phx_image_file(image, name);
	if (!f)
		return phx_err_set(err, -ENOENT, "image %s %s has no %s", image->name,
				   image->version, name);
	PHX_AUTO_FREE char *path = phx_path("/images/%s/%s/%s", image->name, image->version, name);
	return path ? fetch_append(c, path, fd, f->size, FILE_SIZE_MAX, f->sha256, err) : -ENOMEM;
}

/* The kernel sees the second archive only if it begins on a multiple of four. */
static int pad_to_four(int fd)
{
	off_t n = lseek(fd, 0, SEEK_END);
	return n < 0 || ftruncate(fd, (n + 3) & ~3) < 0 ? -errno : 0;
}

static int fetch_initrd(struct phx_http_client *c, const struct starting *st, int fd,
			struct phx_err *err)
{
	int r = fetch_part(c, &st->deploy, PHX_IMAGE_INITRD, fd, err);
	if (r == 0)
		r = pad_to_four(fd);
	if (r == 0 && st->own)
		r = fetch_part(c, &st->system, st->own->modules, fd, err);
	if (r == 0)
		r = pad_to_four(fd);
	return r ? r : fetch_append(c, "/site.cpio", fd, 0, SITE_MAX, "", err);
}

/* The kernel loads no file that is open for writing: replaces the descriptor by a read-only one. */
static int seal(int *fd, struct phx_err *err)
{
	char path[32];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", *fd);
	int reader = open(path, O_RDONLY | O_CLOEXEC);
	if (reader < 0)
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	close(*fd);
	*fd = reader;
	return 0;
}

static int load_kernel(int kernel, int initrd, const char *cmdline, struct phx_err *err)
{
	if (syscall(SYS_kexec_file_load, kernel, initrd, strlen(cmdline) + 1, cmdline, 0ul) == 0)
		return 0;
	return phx_err_set(err, -errno, "kexec_file_load: %s", strerror(errno));
}

static int load_image(struct step_run *s, const struct starting *st, struct phx_err *err)
{
	struct phx_http_client *c;
	PHX_AUTO_CLOSE int kernel = open_scratch(s->agent, err);
	PHX_AUTO_CLOSE int initrd = kernel < 0 ? -1 : open_scratch(s->agent, err);
	if (kernel < 0 || initrd < 0)
		return kernel < 0 ? kernel : initrd;
	int r = step_http(s, &c, err);
	if (r == 0)
		r = fetch_part(c, st->own ? &st->system : &st->deploy,
			       st->own ? st->own->kernel : PHX_IMAGE_KERNEL, kernel, err);
	if (r == 0)
		r = fetch_initrd(c, st, initrd, err);
	r = r ? r : seal(&kernel, err);
	r = r ? r : seal(&initrd, err);
	return r ? r : load_kernel(kernel, initrd, st->cmdline, err);
}

/* systemd ends all services in order, this agent too. If that takes too long, or there is no
 * systemd, the agent stops its services and enters the new kernel itself. */
static int reboot_into_it(struct agent *a, struct phx_err *err)
{
	const char *argv[] = {"systemctl", "--no-block", "kexec", NULL};
	struct phx_run run = {.argv = argv, .timeout_ms = 10000};
	struct phx_err why = {0};
	if (sd_booted() > 0 && phx_run_check(&run, NULL, &why) == 0)
		agent_wait_ms(a, SYSTEMD_WAIT_MS);
	else if (why.text[0])
		agent_log("%s", why.text);
	if (agent_stopping(a))
		return STEP_LEAVES;
	services_stop(a->services, NULL, NULL);
	sync();
	reboot(LINUX_REBOOT_CMD_KEXEC);
	return phx_err_set(err, -errno, "kexec: %s", strerror(errno));
}

/* The system's image and which of its kernels is started, if the order names one. */
static int find_own(struct step_run *s, struct starting *st, struct phx_err *err)
{
	const char *release = phx_json_str(s->extra, "kernel_release", "");
	if (!release[0])
		return 0;
	int r = order_image_believed(&s->agent->cfg, s->extra, "kernel", &st->system, err);
	if (r < 0)
		return r;
	st->own = phx_image_own(&st->system, release);
	return st->own ? 0
		       : phx_err_set(err, -ENOENT, "image %s %s has no kernel %s", st->system.name,
				     st->system.version, release);
}

int step_kexec(struct step_run *s, struct phx_err *err)
{
	PHX_AUTO(starting_fini) struct starting st = {0};
	st.cmdline = phx_json_str(json_object_get(s->extra, "deploy"), "cmdline", "");
	int r = order_image_believed(&s->agent->cfg, s->extra, "deploy", &st.deploy, err);
	if (r == 0 && (!st.cmdline[0] || strlen(st.cmdline) >= CMDLINE_MAX))
		r = phx_err_set(err, -EINVAL, "deploy.cmdline: missing or too long");
	r = r ? r : find_own(s, &st, err);
	r = r ? r : load_image(s, &st, err);
	if (r == 0)
		r = reboot_into_it(s->agent, err);
	return r;
}
