/* The step kexec up to the kernel, which is asked for nothing: what would load another kernel and
 * start it ends in the test (seccomp), for this program and all that it starts. In a machine of its
 * own (machine.h), whose systemd is the test's, too. */
#include "base/tree.h"
#include "unit/agent/machine.h"
#include "unit/agent/step_bench.h"

#include <linux/reboot.h>
#include <pthread.h>
#include <seccomp.h>
#include <signal.h>
#include <ucontext.h>

#include "agent/service.h"

#define SITE "070701 of the site"

static struct {
	int refuses; /* errno of the kernel that does not like what it is to load */
	/* what it was asked */
	int n_loads, n_reboots;
	long how;
	char kernel[64], initrd[64], cmdline[64];
	bool writable;
} fake_kernel;

static void take_file(int fd, char ret[64])
{
	ssize_t n = pread(fd, ret, 63, 0);
	ret[n < 0 ? 0 : n] = '\0';
	fake_kernel.writable = fake_kernel.writable || (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY;
}

/* The call did not reach the kernel: answers in its place. */
static void on_call(int signal, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	(void)signal;
	if (info->si_syscall == SYS_reboot) {
		fake_kernel.n_reboots++;
		fake_kernel.how = (uint32_t)r[REG_RDX];
		r[REG_RAX] = -EPERM;
		return;
	}
	fake_kernel.n_loads++;
	take_file((int)r[REG_RDI], fake_kernel.kernel);
	take_file((int)r[REG_RSI], fake_kernel.initrd);
	PHX_STR_SET(fake_kernel.cmdline, (const char *)r[REG_R10]);
	r[REG_RAX] = -fake_kernel.refuses;
}

/* From now on no thread or child of this program starts another kernel. */
static bool without_a_kernel(void)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ALLOW);
	bool ok = f && seccomp_rule_add(f, SCMP_ACT_TRAP, SCMP_SYS(kexec_file_load), 0) == 0 &&
		seccomp_rule_add(f, SCMP_ACT_TRAP, SCMP_SYS(reboot), 0) == 0 &&
		seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(kexec_load), 0) == 0 &&
		seccomp_load(f) == 0;
	seccomp_release(f);
	return ok;
}

/* Carries the step out; cmocka has a handler of its own for each test. */
static void assert_kexec(struct bench *b, int result)
{
	static const struct sigaction ours = {.sa_sigaction = on_call, .sa_flags = SA_SIGINFO};
	struct sigaction before;
	assert_int_equal(sigaction(SIGSYS, &ours, &before), 0);
	int r = bench_step(b, PHX_STEP_kexec);
	assert_int_equal(sigaction(SIGSYS, &before, NULL), 0);
	if (r != result)
		fail_msg("kexec: %d instead of %d: %s", r, result, b->err.text);
}

/* ---- a node that runs ---- */

static json_t *part(struct bench *b, const char *name, const char *text)
{
	return bench_image_file(b, name, text, strlen(text), 0);
}

static void order(struct bench *b, json_t *kernel, json_t *initrd, const char *cmdline)
{
	bench_image(b, "deploy", json_pack("[o*,o*]", kernel, initrd));
	json_object_set_new(json_object_get(b->extra, "deploy"), "cmdline", json_string(cmdline));
}

static void put_at_head(struct bench *b, const char *name, const char *text)
{
	PHX_AUTO_FREE char *path = phx_path("%s/files/%s", b->head->dir, name);
	write_text(path, text, 0644);
}

static void remove_at_head(struct bench *b, const char *name)
{
	PHX_AUTO_FREE char *path = phx_path("%s/files/%s", b->head->dir, name);
	assert_int_equal(unlink(path), 0);
}

static int setup(void **state)
{
	bench_setup(state);
	struct bench *b = *state;
	struct services_config config = {b->a.loop, b->a.cfg.pkg_root, scratch_path(b->s, "run"),
					 AGENT_SUPERVISOR_OWN};
	assert_int_equal(services_new(&config, &b->a.services, NULL), 0);
	b->a.env = PHX_ENV_OS;
	memset(&fake_kernel, 0, sizeof(fake_kernel));
	put_at_head(b, "site.cpio", SITE);
	order(b, part(b, PHX_IMAGE_KERNEL, "kernel"), part(b, PHX_IMAGE_INITRD, "initrd"),
	      "phx.server=h");
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;
	services_free(b->a.services);
	phx_dir_remove("/run/systemd", NULL);
	return bench_teardown(state);
}

/* ---- into the kernel ---- */

static void test_what_the_kernel_gets(void **state)
{
	struct bench *b = *state;
	for (int i = 1; i <= 2; i++) { /* loaded twice, the second counts */
		assert_kexec(b, -EPERM);
		assert_says(b, "kexec: ");
		assert_int_equal(fake_kernel.n_loads, i);
		assert_string_equal(fake_kernel.kernel, "kernel");
		/* the site's archive begins where the kernel looks for one */
		assert_memory_equal(fake_kernel.initrd, "initrd\0\0" SITE, 8 + sizeof(SITE));
		assert_string_equal(fake_kernel.cmdline, "phx.server=h");
		assert_false(fake_kernel.writable);
		assert_int_equal(fake_kernel.n_reboots, i);
		assert_int_equal(fake_kernel.how, LINUX_REBOOT_CMD_KEXEC);
	}
	/* nothing lies about on the disk */
	assert_int_equal(rmdir(b->a.cfg.cache_dir), 0);
}

/* An initrd that needs no filling gets none. */
static void test_no_gap(void **state)
{
	struct bench *b = *state;
	order(b, part(b, PHX_IMAGE_KERNEL, "kernel"), part(b, PHX_IMAGE_INITRD, "initrd.."), "x");
	assert_kexec(b, -EPERM);
	assert_string_equal(fake_kernel.initrd, "initrd.." SITE);
}

/* An agent that ends leaves the rest to whoever ends it. */
static void test_an_agent_that_ends(void **state)
{
	struct bench *b = *state;
	atomic_store(&b->a.stop, true);
	assert_kexec(b, STEP_LEAVES);
	assert_int_equal(fake_kernel.n_loads, 1);
	assert_int_equal(fake_kernel.n_reboots, 0);
}

/* ---- systemd ---- */

/* A systemctl that notes what it was told, and a machine that was started by systemd. */
static void with_systemd(struct bench *b, int status)
{
	char script[200];
	assert_int_equal(phx_dir_make("/run/systemd/system", 0755, NULL), 0);
	assert_int_equal(phx_dir_make(scratch_path(b->s, "bin"), 0755, NULL), 0);
	snprintf(script, sizeof(script), "#!/bin/sh\necho \"$@\" >%s/told\nexit %d\n", b->s->dir,
		 status);
	write_text(scratch_path(b->s, "bin/systemctl"), script, 0755);
	PHX_AUTO_FREE char *path = phx_path("%s/bin:%s", b->s->dir, getenv("PATH"));
	setenv("PATH", path, 1);
}

static void *end_when_told(void *arg)
{
	struct bench *b = arg;
	const char *told = scratch_path(b->s, "told");
	int64_t end_ms = phx_clock_ms() + 10000;
	while (!exists(told) && phx_clock_ms() < end_ms)
		phx_sleep_ms(5);
	atomic_store(&b->a.stop, true);
	loop_news(b->a.loop);
	return NULL;
}

static void test_systemd_ends_all(void **state)
{
	struct bench *b = *state;
	pthread_t thread;
	with_systemd(b, 0);
	assert_int_equal(pthread_create(&thread, NULL, end_when_told, b), 0);
	assert_kexec(b, STEP_LEAVES);
	pthread_join(thread, NULL);
	PHX_AUTO_FREE char *told = read_text(scratch_path(b->s, "told"));
	assert_string_equal(told, "--no-block kexec\n");
	assert_int_equal(fake_kernel.n_loads, 1);
	assert_int_equal(fake_kernel.n_reboots, 0);
}

static void test_systemd_cannot(void **state)
{
	struct bench *b = *state;
	with_systemd(b, 1);
	assert_kexec(b, -EPERM);
	assert_int_equal(fake_kernel.n_reboots, 1);
}

/* ---- not at all ---- */

static json_t *bad_digest(json_t *entry)
{
	json_object_set_new(
		entry, "sha256",
		json_string("0000000000000000000000000000000000000000000000000000000000000000"));
	return entry;
}

static json_t *kernel_of(struct bench *b)
{
	return part(b, PHX_IMAGE_KERNEL, "kernel");
}

static json_t *initrd_of(struct bench *b)
{
	return part(b, PHX_IMAGE_INITRD, "initrd");
}

static void no_image(struct bench *b)
{
	json_object_del(b->extra, "deploy");
}

static void no_cmdline(struct bench *b)
{
	order(b, kernel_of(b), initrd_of(b), "");
}

static void long_cmdline(struct bench *b)
{
	char text[2049];
	memset(text, 'x', 2048);
	text[2048] = '\0';
	order(b, kernel_of(b), initrd_of(b), text);
}

static void image_without_kernel(struct bench *b)
{
	order(b, NULL, initrd_of(b), "x");
}

static void image_without_initrd(struct bench *b)
{
	order(b, kernel_of(b), NULL, "x");
}

static void kernel_gone(struct bench *b)
{
	remove_at_head(b, PHX_IMAGE_KERNEL);
}

static void another_kernel(struct bench *b)
{
	order(b, bad_digest(kernel_of(b)), initrd_of(b), "x");
}

static void longer_kernel(struct bench *b)
{
	put_at_head(b, PHX_IMAGE_KERNEL, "kernel and more");
}

static void another_initrd(struct bench *b)
{
	order(b, kernel_of(b), bad_digest(initrd_of(b)), "x");
}

static void shorter_initrd(struct bench *b)
{
	put_at_head(b, PHX_IMAGE_INITRD, "in");
}

static void no_site(struct bench *b)
{
	remove_at_head(b, "site.cpio");
}

static void signature_demanded(struct bench *b)
{
	write_text(b->a.cfg.images_signed, "", 0600);
}

static void file_for_the_cache(struct bench *b)
{
	write_text(b->a.cfg.cache_dir, "x", 0600);
}

static void full_disk(struct bench *b)
{
	char *filler = calloc(1, 64 << 10);
	PHX_AUTO_FREE char *path = phx_path("%s/filler", b->a.cfg.cache_dir);
	assert_int_equal(mkdir(b->a.cfg.cache_dir, 0755), 0);
	assert_int_equal(mount("none", b->a.cfg.cache_dir, "tmpfs", 0, "size=64k"), 0);
	assert_int_equal(phx_file_write(path, filler, 64 << 10, 0600, NULL), 0);
	free(filler);
}

static void test_refused(void **state)
{
	static const struct {
		void (*make)(struct bench *b);
		int error;
		const char *says;
	} rows[] = {{no_image, -ENOENT, "no image"},
		    {no_cmdline, -EINVAL, "deploy.cmdline"},
		    {long_cmdline, -EINVAL, "deploy.cmdline"},
		    {image_without_kernel, -ENOENT, "has no vmlinuz"},
		    {image_without_initrd, -ENOENT, "has no initrd.zst"},
		    {kernel_gone, -ENOENT, "vmlinuz"},
		    {another_kernel, -EBADMSG, "vmlinuz"},
		    {longer_kernel, -EFBIG, "vmlinuz"},
		    {another_initrd, -EBADMSG, "initrd.zst"},
		    {shorter_initrd, -EBADMSG, "initrd.zst"},
		    {no_site, -ENOENT, "site.cpio"},
		    {signature_demanded, -EKEYREJECTED, "not signed"},
		    {file_for_the_cache, -ENOTDIR, "cache"},
		    {full_disk, -ENOSPC, "vmlinuz"}};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		struct bench *b;
		setup((void **)&b);
		rows[i].make(b);
		assert_kexec(b, rows[i].error);
		assert_says(b, rows[i].says);
		assert_int_equal(fake_kernel.n_loads, 0);
		assert_int_equal(fake_kernel.n_reboots, 0);
		umount2(b->a.cfg.cache_dir, 0);
		teardown((void **)&b);
	}
}

/* What this kernel does not load it does not start: services go on. */
static void test_the_kernel_refuses(void **state)
{
	struct bench *b = *state;
	fake_kernel.refuses = ENOEXEC;
	assert_kexec(b, -ENOEXEC);
	assert_says(b, "kexec_file_load");
	assert_int_equal(fake_kernel.n_reboots, 0);
}

/* A system in memory has no file without a name on its disk: the files are in memory then. */
static void test_a_disk_without_unnamed_files(void **state)
{
	struct bench *b = *state;
	assert_int_equal(mkdir(b->a.cfg.cache_dir, 0755), 0);
	assert_int_equal(mount("none", b->a.cfg.cache_dir, "devpts", 0, ""), 0);
	assert_int_equal(open(b->a.cfg.cache_dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600), -1);
	assert_int_equal(errno, EOPNOTSUPP);
	assert_kexec(b, -EPERM);
	assert_int_equal(fake_kernel.n_loads, 1);
	assert_string_equal(fake_kernel.kernel, "kernel");
	assert_int_equal(umount2(b->a.cfg.cache_dir, 0), 0);
}

int main(int argc, char **argv)
{
	(void)argc;
	if (!machine_enter(argv) || !without_a_kernel()) {
		puts("skip step_kexec: needs root, a mount namespace and seccomp");
		return 0;
	}
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_what_the_kernel_gets), TEST(test_no_gap),
		TEST(test_an_agent_that_ends),   TEST(test_systemd_ends_all),
		TEST(test_systemd_cannot),       cmocka_unit_test(test_refused),
		TEST(test_the_kernel_refuses),   TEST(test_a_disk_without_unnamed_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
