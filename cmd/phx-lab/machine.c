/* The lab's machines: QEMU by software emulation, each with a directory of its
 * own for disks, firmware variables, console log and QMP socket. Power here is
 * the process: on = it runs, a power cut = SIGKILL. Called by main.c for
 * people and by bmc.c for the virtual BMC. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/spawn.h"
#include "phx-lab/lab.h"

#define OVMF_CODE "/usr/share/OVMF/OVMF_CODE_4M.fd"
#define OVMF_VARS "/usr/share/OVMF/OVMF_VARS_4M.fd"

enum {
	ARGS_MAX = 96,
	START_WAIT_MS = 5000,
	QMP_SECONDS = 5,
	VARS_MAX = 1 << 20,
	BMC_SERIAL_PORT = 9000, /* + index: where QEMU finds its BMC */
};

/* ---- files ---- */

static int make_disk(const struct lab *lab, const struct lab_machine *m, uint32_t i, uint64_t size,
		     struct phx_err *err)
{
	char name[16];
	snprintf(name, sizeof(name), "disk%u.raw", i);
	PHX_AUTO_FREE char *path = lab_machine_path(lab, m, name);
	PHX_AUTO_CLOSE int fd =
		path ? open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
	if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
		return phx_err_set(err, -errno, "%s: %s", path ? path : name, strerror(errno));
	return 0;
}

/* UEFI keeps its variables in a file of its own per machine. */
static int make_vars(const struct lab *lab, const struct lab_machine *m, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = lab_machine_path(lab, m, "vars.fd");
	PHX_AUTO_FREE char *data = NULL;
	size_t n;
	int r = path ? phx_file_read(OVMF_VARS, VARS_MAX, &data, &n, err) : -ENOMEM;
	return r < 0 ? r : phx_file_write(path, data, n, 0600, err);
}

int lab_machine_make(const struct lab *lab, const struct lab_machine *m, struct phx_err *err)
{
	PHX_AUTO_FREE char *dir = lab_machine_path(lab, m, "");
	uint32_t i = 0;
	int r = dir ? phx_dir_make(dir, 0755, err) : -ENOMEM;
	PHX_LIST_EACH(struct lab_disk, d, &m->disks)
		if (r == 0)
			r = make_disk(lab, m, i++, d->size_bytes, err);
	if (r == 0 && m->firmware == LAB_UEFI)
		r = make_vars(lab, m, err);
	return r;
}

/* ---- the next boot ---- */

int lab_machine_boot_set(const struct lab *lab, const struct lab_machine *m, const char *device,
			 struct phx_err *err)
{
	PHX_AUTO_FREE char *path = lab_machine_path(lab, m, "bootdev");
	return path ? phx_file_write(path, device, strlen(device), 0644, err) : -ENOMEM;
}

void lab_machine_boot_get(const struct lab *lab, const struct lab_machine *m, char ret_device[16])
{
	PHX_AUTO_FREE char *path = lab_machine_path(lab, m, "bootdev");
	PHX_AUTO_FREE char *text = NULL;
	size_t n;
	if (!path || phx_file_read(path, 15, &text, &n, NULL) < 0 ||
	    phx_str_copy(ret_device, 16, text) < 0)
		strcpy(ret_device, LAB_BOOT_NONE);
}

/* ---- QEMU's arguments ---- */

/* The vector and the memory of its words. */
struct args {
	const char *v[ARGS_MAX];
	size_t n;
	char *own[ARGS_MAX];
	size_t n_own;
	bool failed;
};

static void args_fini(struct args *a)
{
	for (size_t i = 0; i < a->n_own; i++)
		free(a->own[i]);
}

static void add(struct args *a, const char *word)
{
	if (a->n == ARGS_MAX - 1)
		a->failed = true;
	else
		a->v[a->n++] = word;
}

/* An option and its value, made by printf. */
static void addf(struct args *a, const char *option, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void addf(struct args *a, const char *option, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	va_start(ap, fmt);
	if (a->n_own == ARGS_MAX || vasprintf(&text, fmt, ap) < 0)
		a->failed = true;
	else
		a->own[a->n_own++] = text;
	va_end(ap);
	add(a, option);
	add(a, text ? text : "");
}

static void add_board(struct args *a, const struct lab *lab, const struct lab_machine *m)
{
	addf(a, "-name", "%s", m->name);
	/* the default CPU is the fastest that is emulated; 64 MiB of translated code are enough */
	addf(a, "-accel", "tcg,tb-size=64");
	addf(a, "-machine", "%s", m->firmware == LAB_UEFI ? "q35" : "pc");
	addf(a, "-smp", "%u", m->cpus);
	addf(a, "-m", "%llu", (unsigned long long)(m->memory_bytes >> 20));
	addf(a, "-uuid", "%s", m->uuid);
	addf(a, "-smbios", "type=1,manufacturer=Phoenix,product=Lab,serial=%s,uuid=%s", m->serial,
	     m->uuid);
	for (const char *const *w = (const char *const[]){"-nodefaults", "-display", "none", NULL};
	     *w; w++)
		add(a, *w);
	if (m->firmware == LAB_UEFI) {
		addf(a, "-drive", "if=pflash,format=raw,unit=0,readonly=on,file=" OVMF_CODE);
		addf(a, "-drive", "if=pflash,format=raw,unit=1,file=%s/machines/%s/vars.fd",
		     lab->dir, m->name);
	}
	addf(a, "-chardev", "file,id=console,append=on,path=%s/machines/%s/console.log", lab->dir,
	     m->name);
	addf(a, "-serial", "chardev:console");
	addf(a, "-qmp", "unix:%s/machines/%s/qmp.sock,server=on,wait=off", lab->dir, m->name);
	/* UEFI network boot refuses to work without a source of randomness */
	addf(a, "-device", "virtio-rng-pci");
}

/* The card is the first boot device unless the BMC was told otherwise. A UEFI
 * machine has no option ROM, so that its firmware itself does PXE. */
static void add_nic(struct args *a, const struct lab_machine *m, bool disk_first)
{
	static const char *const models[] = {
		[LAB_NIC_VIRTIO] = "virtio-net-pci", [LAB_NIC_E1000] = "e1000"};
	char tap[16];
	uint32_t i = 0;
	lab_tap(m, i, tap);
	addf(a, "-netdev", "tap,id=net0,ifname=%s,script=no,downscript=no", tap);
	addf(a, "-device", "%s,netdev=net0,mac=%s,bootindex=%d%s", models[m->nic], m->mac,
	     disk_first ? 50 : 1, m->firmware == LAB_UEFI ? ",romfile=" : "");
	PHX_LIST_EACH(struct lab_card, c, &m->nics) {
		lab_tap(m, ++i, tap);
		addf(a, "-netdev", "tap,id=net%u,ifname=%s,script=no,downscript=no", i, tap);
		/* nothing boots over these */
		addf(a, "-device", "%s,netdev=net%u,mac=%s,romfile=", models[m->nic], i, c->mac);
	}
}

static bool has_bus(const struct lab_machine *m, enum lab_bus bus)
{
	PHX_LIST_EACH(struct lab_disk, d, &m->disks)
		if (d->bus == (int)bus)
			return true;
	return false;
}

static void add_disk(struct args *a, const struct lab *lab, const struct lab_machine *m,
		     const struct lab_disk *d, uint32_t i)
{
	static const char *const devices[] = {
		[LAB_DISK_VIRTIO] = "virtio-blk-pci",
		[LAB_DISK_AHCI] = "ide-hd",
		[LAB_DISK_NVME] = "nvme",
		[LAB_DISK_IDE] = "ide-hd",
		[LAB_DISK_SCSI] = "scsi-hd",
	};
	char place[32] = "";
	if (d->bus == LAB_DISK_AHCI)
		snprintf(place, sizeof(place), ",bus=ahci0.%u", i % 6);
	else if (d->bus == LAB_DISK_SCSI)
		snprintf(place, sizeof(place), ",bus=scsi0.0");
	/* the host does not crash in a power cut of the lab: what the guest wrote is in its page
	 * cache */
	addf(a, "-drive",
	     "file=%s/machines/%s/"
	     "disk%u.raw,if=none,id=disk%u,format=raw,cache=unsafe,discard=unmap",
	     lab->dir, m->name, i, i);
	addf(a, "-device", "%s,drive=disk%u,serial=%s%s%s%s,bootindex=%u", devices[d->bus], i,
	     d->serial,
	     d->wwn[0] && d->bus != LAB_DISK_VIRTIO && d->bus != LAB_DISK_NVME ? ",wwn=" : "",
	     d->bus != LAB_DISK_VIRTIO && d->bus != LAB_DISK_NVME ? d->wwn : "", place, 2 + i);
}

static void add_disks(struct args *a, const struct lab *lab, const struct lab_machine *m)
{
	uint32_t i = 0;
	if (has_bus(m, LAB_DISK_AHCI))
		addf(a, "-device", "ich9-ahci,id=ahci0");
	if (has_bus(m, LAB_DISK_SCSI))
		addf(a, "-device", "virtio-scsi-pci,id=scsi0");
	PHX_LIST_EACH(struct lab_disk, d, &m->disks)
		add_disk(a, lab, m, d, i++);
}

/* The guest's own way to its BMC: /dev/ipmi0. */
static void add_bmc(struct args *a, const struct lab_machine *m)
{
	if (!m->bmc)
		return;
	addf(a, "-chardev", "socket,id=ipmi0,host=127.0.0.1,port=%u,reconnect=10",
	     BMC_SERIAL_PORT + m->index);
	addf(a, "-device", "ipmi-bmc-extern,id=bmc0,chardev=ipmi0");
	addf(a, "-device", "isa-ipmi-kcs,bmc=bmc0,irq=5");
}

/* Owners of files are those that the guest says, as on a file server that believes its clients. */
static void add_share(struct args *a, const struct lab_machine *m)
{
	if (m->share[0])
		addf(a, "-virtfs", "local,path=%s,mount_tag=share,security_model=passthrough",
		     m->share);
}

/* ---- power ---- */

static char *pid_file(const struct lab *lab, const struct lab_machine *m)
{
	return lab_machine_path(lab, m, "qemu.pid");
}

bool lab_machine_is_on(const struct lab *lab, const struct lab_machine *m)
{
	PHX_AUTO_FREE char *pid = pid_file(lab, m);
	return pid && phx_process_noted(pid);
}

/* Ready is when its socket can be reached; it tells in its log why it is not. */
static int wait_started(const struct lab_machine *m, const char *pid_path, const char *sock,
			const char *what, const char *log, struct phx_err *err)
{
	pid_t pid = phx_process_noted(pid_path);
	PHX_AUTO_CLOSE int pidfd = pid ? pidfd_open(pid, 0) : -1;
	if (pidfd >= 0 && phx_file_await(sock, pidfd, START_WAIT_MS) == 0)
		return 0;
	return phx_err_set(err, -EIO, "%s: %s did not start; see %s", m->name, what, log);
}

static void add_tpm(struct args *a, const struct lab *lab, const struct lab_machine *m)
{
	if (!m->tpm)
		return;
	addf(a, "-chardev", "socket,id=tpm,path=%s/machines/%s/tpm.sock", lab->dir, m->name);
	addf(a, "-tpmdev", "emulator,id=tpm0,chardev=tpm");
	addf(a, "-device", "tpm-tis,tpmdev=tpm0");
}

/* The chip keeps what it knows in the machine's directory, and ends when QEMU does. */
static int start_tpm(const struct lab *lab, const struct lab_machine *m, struct phx_err *err)
{
	char ns[LAB_NAME_MAX + 8];
	PHX_AUTO_FREE char *dir = lab_machine_path(lab, m, "tpm");
	PHX_AUTO_FREE char *sock = lab_machine_path(lab, m, "tpm.sock");
	PHX_AUTO_FREE char *pid = lab_machine_path(lab, m, "tpm.pid");
	PHX_AUTO_FREE char *log = lab_machine_path(lab, m, "tpm.log");
	PHX_AUTO_FREE char *state = dir ? phx_path("dir=%s", dir) : NULL;
	PHX_AUTO_FREE char *ctrl = sock ? phx_path("type=unixio,path=%s", sock) : NULL;
	if (!pid || !log || !state || !ctrl)
		return -ENOMEM;
	const char *const argv[] = {"swtpm",  "socket", "--tpm2",      "--tpmstate", state,
				    "--ctrl", ctrl,     "--terminate", NULL};
	const struct lab_program p = {
		.argv = argv, .netns = lab_netns(lab, ns), .pid_file = pid, .log_file = log};
	int r = phx_process_end_noted(pid, false, 0, err);
	r = r < 0 ? r : phx_dir_make(dir, 0700, err);
	unlink(sock);
	r = r < 0 ? r : lab_start(&p, err);
	return r < 0 ? r : wait_started(m, pid, sock, "swtpm", log, err);
}

static int start(const struct lab *lab, const struct lab_machine *m, const struct args *a,
		 struct phx_err *err)
{
	char ns[LAB_NAME_MAX + 8];
	PHX_AUTO_FREE char *pid = pid_file(lab, m);
	PHX_AUTO_FREE char *log = lab_machine_path(lab, m, "qemu.log");
	PHX_AUTO_FREE char *sock = lab_machine_path(lab, m, "qmp.sock");
	if (!pid || !log || !sock || a->failed)
		return phx_err_set(err, -ENOMEM, "%s: too many devices", m->name);
	const struct lab_program p = {
		.argv = a->v, .netns = lab_netns(lab, ns), .pid_file = pid, .log_file = log};
	unlink(sock);
	int r = lab_start(&p, err);
	return r < 0 ? r : wait_started(m, pid, sock, "QEMU", log, err);
}

int lab_machine_on(const struct lab *lab, const struct lab_machine *m, struct phx_err *err)
{
	if (lab_machine_is_on(lab, m))
		return 0;
	char device[16];
	lab_machine_boot_get(lab, m, device);
	PHX_AUTO(args_fini) struct args a = {.v = {"qemu-system-x86_64"}, .n = 1};
	add_board(&a, lab, m);
	add_nic(&a, m, !strcmp(device, LAB_BOOT_DISK));
	add_disks(&a, lab, m);
	add_bmc(&a, m);
	add_tpm(&a, lab, m);
	add_share(&a, m);
	int r = m->tpm ? start_tpm(lab, m, err) : 0;
	r = r < 0 ? r : start(lab, m, &a, err);
	return r < 0 ? r : lab_machine_boot_set(lab, m, LAB_BOOT_NONE, err); /* it holds once */
}

int lab_machine_off(const struct lab *lab, const struct lab_machine *m, struct phx_err *err)
{
	PHX_AUTO_FREE char *pid = pid_file(lab, m);
	return pid ? phx_process_end_noted(pid, false, 0, err) : -ENOMEM;
}

/* ---- QMP ---- */

static int qmp_open(const char *sock)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	if (PHX_STR_SET(a.sun_path, sock) < 0)
		return -ENAMETOOLONG;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0) {
		close(fd);
		fd = -1;
	}
	return fd < 0 ? -errno : fd;
}

/* Reads until it has answered `n` commands. */
static int qmp_answers(int fd, unsigned n)
{
	static const char answer[] = "\"return\"";
	const struct timeval most = {.tv_sec = QMP_SECONDS};
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	char part[1024];
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
	while (n) {
		ssize_t got = read(fd, part, sizeof(part));
		if (got <= 0)
			return got < 0 ? -errno : -EPIPE;
		phx_buf_add(&b, part, (size_t)got);
		if (b.failed)
			return -ENOMEM;
		unsigned told = 0;
		for (const char *at = b.data; (at = strstr(at, answer)); at += sizeof(answer) - 1)
			told++;
		n = told >= n ? 0 : n;
	}
	return 0;
}

int lab_machine_button(const struct lab *lab, const struct lab_machine *m, struct phx_err *err)
{
	static const char talk[] =
		"{\"execute\":\"qmp_capabilities\"}\n{\"execute\":\"system_powerdown\"}\n";
	PHX_AUTO_FREE char *sock = lab_machine_path(lab, m, "qmp.sock");
	PHX_AUTO_CLOSE int fd = sock ? qmp_open(sock) : -ENOMEM;
	/* what it has not answered it may not have read when the socket closes */
	if (fd < 0 || phx_write_all(fd, talk, sizeof(talk) - 1) < 0 || qmp_answers(fd, 2) < 0)
		return phx_err_set(err, -EIO, "%s: QEMU does not answer", m->name);
	return 0;
}
