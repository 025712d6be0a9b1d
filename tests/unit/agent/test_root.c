/* The installed system: what of it the deploy environment takes over, of a disk whose tenant may
 * have had root, and what the agent writes into a root that it is about to enter. In a machine of
 * its own (machine.h). */
#include "base/tree.h"
#include "unit/agent/machine.h"

#include "agent/install.h"
#include "agent/root.h"
#include "agent/state.h"

struct stand {
	struct scratch *s;
	struct machine_disk disk;
	struct phx_disk_system sys;
	struct agent a;
	struct phx_err err;
};

static int setup(void **state)
{
	struct stand *t = calloc(1, sizeof(*t));
	struct agent_config *c = &t->a.cfg;
	scratch_setup((void **)&t->s);
	t->a.env = PHX_ENV_DEPLOY;
	PHX_STR_SET(t->a.node, "n1");
	PHX_STR_SET(c->server, "10.0.0.1:8443");
	PHX_STR_SET(c->http, "10.0.0.1:8080");
	PHX_STR_SET(c->state_dir, scratch_path(t->s, "state"));
	PHX_STR_SET(c->ca, scratch_path(t->s, "ca.pem"));
	PHX_STR_SET(c->site_pub, scratch_path(t->s, "site.pub"));
	PHX_STR_SET(c->package_keys, scratch_path(t->s, "packages.pub"));
	PHX_STR_SET(c->images_signed, scratch_path(t->s, "images.signed"));
	write_text(c->ca, "ca", 0644);
	write_text(c->site_pub, "site", 0644);
	write_text(c->package_keys, "ring", 0644);
	assert_int_equal(loop_new(&t->a.loop, NULL), 0);
	assert_int_equal(step_log_open(&t->a.step_log, c->state_dir, NULL), 0);
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct stand *t = *state;
	umount2("/run/mnt", 0);
	assert_int_equal(root_unmount(NULL), 0);
	machine_disk_remove(&t->disk);
	loop_free(t->a.loop);
	scratch_teardown((void **)&t->s);
	free(t);
	return 0;
}

static char *state_file(const struct stand *t, const char *name)
{
	char path[64];
	snprintf(path, sizeof(path), "state/%s", name);
	return scratch_path(t->s, path);
}

/* A disk with a system, whose state partition is mounted at /run/mnt. */
static void with_disk(struct stand *t)
{
	char root[64];
	machine_disk_add(&t->disk, t->s->dir, "1", 129 * PHX_MIB);
	assert_int_equal(phx_disk_layout(t->disk.path, NULL, 0, NULL, root, NULL), 0);
	assert_int_equal(phx_disk_find_system(&t->sys, NULL), 0);
	assert_int_equal(mount(t->sys.state, "/run/mnt", "ext4", 0, ""), 0);
}

static void of_tenant(const char *name, const char *text)
{
	char path[64];
	snprintf(path, sizeof(path), "/run/mnt/%s", name);
	write_text(path, text, 0600);
}

static void leave_disk(void)
{
	assert_int_equal(umount2("/run/mnt", 0), 0);
}

/* ---- taking over ---- */

static void test_no_system_is_no_error(void **state)
{
	struct stand *t = *state;
	assert_int_equal(root_adopt(&t->a, true, &t->err), 0);
	with_disk(t);
	of_tenant("system.json", "s");
	leave_disk();
	assert_int_equal(root_adopt(&t->a, true, &t->err), 0); /* without a key it is nobody's */
	assert_false(exists(state_file(t, "system.json")));
}

static void test_key_and_system_are_taken(void **state)
{
	struct stand *t = *state;
	with_disk(t);
	of_tenant("agent.key", "key");
	of_tenant("agent.pem", "pem");
	of_tenant("system.json", "s");
	of_tenant("epoch", "9");
	leave_disk();
	for (int i = 0; i < 2; i++) {
		assert_int_equal(root_adopt(&t->a, false, &t->err), 0);
		assert_false(exists(state_file(t, "agent.key")));
		assert_false(exists(state_file(t, "agent.pem")));
		assert_text(state_file(t, "system.json"), "s");
	}
	for (int i = 0; i < 2; i++) {
		assert_int_equal(root_adopt(&t->a, true, &t->err), 0);
		assert_text(state_file(t, "agent.key"), "key");
		assert_text(state_file(t, "agent.pem"), "pem");
		assert_false(exists(state_file(t, "epoch")));
	}
	/* the disk is free again */
	assert_int_equal(phx_disk_check_free(t->disk.path, &t->err), 0);
}

static void as_fifo(const char *path)
{
	assert_int_equal(mkfifo(path, 0600), 0);
}

static void as_link(const char *path)
{
	assert_int_equal(symlink("/bundle/share/bundle.id", path), 0);
}

static void as_device(const char *path)
{
	assert_int_equal(mknod(path, S_IFCHR | 0600, makedev(1, 5)), 0);
}

/* a hole: it needs no room on the disk, but in memory */
static void as_much(const char *path)
{
	make_file(path, 16ull << 30);
}

/* The agent of the deploy environment is not held up, nor its memory filled, by what a tenant left
 * for it: the node is enrolled anew then, and erased. A key alone would count as one that was made
 * here. */
static void test_a_tenant_holds_nobody_up(void **state)
{
	static void (*const kinds[])(const char *path) = {as_fifo, as_link, as_device, as_much};
	static const char *const names[] = {"agent.key", "agent.pem", "next-key.json",
					    "system.json"};
	struct stand *t = *state;
	alarm(60); /* whoever opens a FIFO waits for ever */
	for (size_t i = 0; i < PHX_ARRAY_SIZE(kinds) * PHX_ARRAY_SIZE(names); i++) {
		const char *name = names[i / 4], *dir = scratch_path(t->s, "old");
		char *path = phx_path("%s/%s", dir, name);
		assert_int_equal(phx_dir_remove(dir, NULL), 0);
		assert_int_equal(mkdir(dir, 0700), 0);
		write_text(scratch_path(t->s, "old/agent.key"), "key", 0600);
		write_text(scratch_path(t->s, "old/agent.pem"), "pem", 0600);
		unlink(path);
		unlink(state_file(t, "agent.pem"));
		kinds[i % 4](path);
		assert_true(root_adopt_from(&t->a, dir, true, &t->err) < 0);
		assert_false(exists(state_file(t, "agent.key")));
		assert_false(exists(state_file(t, name)));
		free(path);
	}
	alarm(0);
}

/* ---- keeping ---- */

static void test_state_is_kept_on_the_disk(void **state)
{
	struct stand *t = *state;
	with_disk(t);
	leave_disk();
	/* without a key there is nothing to keep, and the partition is left alone */
	assert_int_equal(root_keep_state(&t->a, t->sys.state, &t->err), -ENOENT);
	assert_int_equal(phx_disk_check_free(t->disk.path, NULL), 0);
	write_text(state_file(t, "agent.key"), "key", 0600);
	write_text(state_file(t, "agent.pem"), "pem", 0600);
	assert_int_equal(step_log_keep_epoch(&t->a.step_log, 5, NULL), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(root_keep_state(&t->a, t->sys.state, &t->err), 0);
	assert_int_equal(phx_disk_check_free(t->disk.path, NULL), 0);
	assert_int_equal(mount(t->sys.state, "/run/mnt", "ext4", MS_RDONLY, ""), 0);
	struct step_log kept;
	assert_text("/run/mnt/agent.key", "key");
	assert_text("/run/mnt/agent.pem", "pem");
	leave_disk();
	assert_int_equal(mount(t->sys.state, "/run/mnt", "ext4", 0, ""), 0);
	assert_int_equal(step_log_open(&kept, "/run/mnt", NULL), 0);
	assert_int_equal(kept.epoch, 5);
	leave_disk();
}

static void test_keep_state_needs_a_file_system(void **state)
{
	struct stand *t = *state;
	with_disk(t);
	leave_disk();
	assert_int_equal(root_keep_state(&t->a, t->sys.root, &t->err), -EINVAL);
	assert_non_null(strstr(t->err.text, "cannot be mounted"));
	assert_int_equal(phx_disk_check_free(t->disk.path, NULL), 0);
}

/* ---- mounting ---- */

/* Both or none: a root without its state would begin a life of its own. */
static void test_mount_is_both_or_none(void **state)
{
	struct stand *t = *state;
	with_disk(t);
	leave_disk();
	assert_int_equal(root_mount(t->sys.state, t->sys.root, &t->err), -EINVAL);
	assert_false(root_mounted());
	assert_int_equal(root_mount(t->sys.state, "/dev/none", NULL), -ENOENT);
	assert_false(root_mounted());
	assert_int_equal(phx_disk_check_free(t->disk.path, NULL), 0);
}

static void test_a_root_in_use_stays(void **state)
{
	struct stand *t = *state;
	with_disk(t);
	leave_disk();
	assert_int_equal(mount(t->sys.state, ROOT_DIR, "ext4", 0, ""), 0);
	int fd = open(ROOT_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(root_unmount(&t->err), -EBUSY);
	close(fd);
	assert_int_equal(root_unmount(&t->err), 0);
	assert_int_equal(root_unmount(&t->err), 0);
}

/* ---- installing ---- */

static char *in_root(const struct stand *t, const char *name)
{
	char path[160];
	snprintf(path, sizeof(path), "root/%s", name);
	return scratch_path(t->s, path);
}

static int install(struct stand *t)
{
	phx_err_clear(&t->err);
	return install_agent(&t->a, scratch_path(t->s, "root"), &t->err);
}

static void test_install(void **state)
{
	struct stand *t = *state;
	char target[64] = "";
	write_text(t->a.cfg.images_signed, "", 0600);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(install(t), 0);
		assert_true(exists(in_root(t, "opt/phoenix/agent/bin/phx-agent")));
		assert_text(in_root(t, "opt/phoenix/agent/share/bundle.id"), "one\n");
		assert_text(in_root(t, "etc/systemd/system/phx-agent.service"), "[Unit]\n");
		assert_true(readlink(in_root(t,
					     "etc/systemd/system/multi-user.target.wants/"
					     "phx-agent.service"),
				     target, sizeof(target) - 1) > 0);
		assert_string_equal(target, "../phx-agent.service");
		assert_text(in_root(t, "etc/phoenix/ca.pem"), "ca");
		assert_text(in_root(t, "etc/phoenix/site.pub"), "site");
		assert_text(in_root(t, "etc/phoenix/packages.pub"), "ring");
		assert_true(exists(in_root(t, "etc/phoenix/images.signed")));
		assert_text(in_root(t, "etc/hostname"), "n1\n");
	}
	PHX_AUTO_FREE char *conf = read_text(in_root(t, "etc/phoenix/agent.conf"));
	assert_non_null(strstr(conf, "server = \"10.0.0.1:8443\";\nhttp = \"10.0.0.1:8080\";\n"));
}

/* A bundle that is there already is not copied again; another one takes its place whole. */
static void test_install_another_bundle(void **state)
{
	struct stand *t = *state;
	assert_int_equal(install(t), 0);
	write_text(in_root(t, "opt/phoenix/agent/left"), "x", 0644);
	assert_int_equal(install(t), 0);
	assert_true(exists(in_root(t, "opt/phoenix/agent/left")));
	write_text(in_root(t, "opt/phoenix/agent/share/bundle.id"), "other\n", 0644);
	assert_int_equal(install(t), 0);
	assert_false(exists(in_root(t, "opt/phoenix/agent/left")));
	/* one that was cut off has none */
	assert_int_equal(unlink(in_root(t, "opt/phoenix/agent/share/bundle.id")), 0);
	write_text(in_root(t, "opt/phoenix/agent/left"), "x", 0644);
	assert_int_equal(install(t), 0);
	assert_false(exists(in_root(t, "opt/phoenix/agent/left")));
}

static void no_name(struct stand *t)
{
	t->a.node[0] = '\0';
}

static void no_ca(struct stand *t)
{
	assert_int_equal(unlink(t->a.cfg.ca), 0);
}

static void no_ring(struct stand *t)
{
	assert_int_equal(unlink(t->a.cfg.package_keys), 0);
	assert_int_equal(unlink(t->a.cfg.site_pub), 0);
}

static void file_for_a_directory(struct stand *t)
{
	assert_int_equal(phx_dir_make(in_root(t, "opt"), 0755, NULL), 0);
	write_text(in_root(t, "opt/phoenix"), "x", 0644);
}

static void test_install_refused(void **state)
{
	static const struct {
		void (*make)(struct stand *t);
		int error;
	} rows[] = {{no_name, -EINVAL},
		    {no_ca, -ENOENT},
		    {no_ring, -ENOENT},
		    {file_for_a_directory, -ENOTDIR}};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		struct stand *t;
		setup((void **)&t);
		rows[i].make(t);
		assert_int_equal(install(t), rows[i].error);
		assert_true(t->err.text[0]);
		assert_false(exists(in_root(t, "etc/hostname")));
		teardown((void **)&t);
	}
}

/* The key only with its certificate and the other way round: -ENOENT, not half of it as success. */
static void test_install_state_is_whole(void **state)
{
	struct stand *t = *state;
	char *to = scratch_path(t->s, "new");
	write_text(state_file(t, "agent.key"), "key", 0600);
	assert_int_equal(install_state(&t->a, to, &t->err), -ENOENT);
	write_text(state_file(t, "agent.pem"), "pem", 0600);
	for (int i = 0; i < 2; i++)
		assert_int_equal(install_state(&t->a, to, &t->err), 0);
	struct stat st;
	assert_int_equal(stat(scratch_path(t->s, "new/agent.key"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

int main(int argc, char **argv)
{
	(void)argc;
	if (!machine_enter(argv)) {
		puts("skip root: needs root and a mount namespace");
		return 0;
	}
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_no_system_is_no_error),
		TEST(test_key_and_system_are_taken),
		TEST(test_a_tenant_holds_nobody_up),
		TEST(test_state_is_kept_on_the_disk),
		TEST(test_keep_state_needs_a_file_system),
		TEST(test_mount_is_both_or_none),
		TEST(test_a_root_in_use_stays),
		TEST(test_install),
		TEST(test_install_another_bundle),
		cmocka_unit_test(test_install_refused),
		TEST(test_install_state_is_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
