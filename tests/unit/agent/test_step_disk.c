/* The steps wipe, image, ram and enter in a machine of their own (machine.h), whose disks are files
 * behind loop devices: what they erase and write, and above all when they do not. */
#include "unit/agent/machine.h"
#include "unit/agent/step_bench.h"

#include <sys/utsname.h>
#include <zstd.h>

#include "base/spawn.h"
#include "unit/disk/array_help.h"
#include "agent/root.h"
#include "agent/state.h"

#define SIZE (129 * PHX_MIB)
#define OF_DISK "what somebody had on it"

struct stand {
	struct bench *b;
	struct machine_disk disk, other;
};

static int setup(void **state)
{
	struct stand *t = calloc(1, sizeof(*t));
	bench_setup((void **)&t->b);
	t->b->a.env = PHX_ENV_DEPLOY;
	t->b->o.step.method = PHX_WIPE_DISCARD;
	machine_disk_add(&t->disk, t->b->s->dir, "1", SIZE);
	machine_disk_put(&t->disk, 0, OF_DISK);
	machine_disk_put(&t->disk, 70 * PHX_MIB, OF_DISK);
	PHX_STR_SET(t->b->o.step.disk, t->disk.id);
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct stand *t = *state;
	umount2("/run/mnt", 0);
	umount2(ROOT_DIR "/var/lib/phoenix", 0);
	umount2(ROOT_DIR, 0);
	umount2("/run/phoenix/ram/lower", 0);
	umount2("/run/phoenix/ram", 0);
	machine_disk_remove(&t->disk);
	machine_disk_remove(&t->other);
	bench_teardown((void **)&t->b);
	free(t);
	return 0;
}

static void add_other(struct stand *t, const char *serial)
{
	machine_disk_add(&t->other, t->b->s->dir, serial, SIZE);
	machine_disk_put(&t->other, 0, OF_DISK);
	machine_disk_put(&t->other, 70 * PHX_MIB, OF_DISK);
}

static void assert_untouched(const struct machine_disk *d)
{
	assert_true(machine_disk_has(d, 0, OF_DISK));
	assert_true(machine_disk_has(d, 70 * PHX_MIB, OF_DISK));
}

static bool has_system(const struct stand *t)
{
	struct system_state sys;
	return system_state_read(t->b->a.cfg.state_dir, &sys, NULL) == 0;
}

static void put_system(const struct stand *t)
{
	const struct system_state sys = {.image = "old", .version = "1", .digest = "d0"};
	assert_int_equal(system_state_write(t->b->a.cfg.state_dir, &sys, NULL), 0);
}

static bool is_mounted(const char *dir)
{
	struct stat st, above;
	PHX_AUTO_FREE char *parent = phx_path("%s/..", dir);
	return stat(dir, &st) == 0 && stat(parent, &above) == 0 && st.st_dev != above.st_dev;
}

static void make_ext4(const char *device)
{
	const char *const argv[] = {"mkfs.ext4", "-q", "-F", device, NULL};
	assert_int_equal(phx_run_check(&(struct phx_run){.argv = argv}, NULL, NULL), 0);
}

/* ---- wipe ---- */

static void test_wipe_erases_that_disk_alone(void **state)
{
	struct stand *t = *state;
	add_other(t, "2");
	put_system(t);
	for (int i = 0; i < 2; i++) { /* twice is once */
		assert_step(t->b, PHX_STEP_wipe, 0);
		assert_true(t->b->run.has_wipe && t->b->run.wipe.verified);
		assert_string_equal(t->b->run.wipe.disk_id, t->disk.id);
		assert_false(machine_disk_has(&t->disk, 0, "what"));
		assert_false(machine_disk_has(&t->disk, 70 * PHX_MIB, "what"));
		assert_untouched(&t->other);
		assert_false(has_system(t));
	}
}

/* Of a system's kernel the head knows nothing: what it erases it has the deploy image's erase. */
static void test_wipe_under_the_kernel_of_a_system(void **state)
{
	struct stand *t = *state;
	PHX_STR_SET(t->b->a.cfg.kernel_word, "6.1-rt,01234567");
	put_system(t);
	assert_step(t->b, PHX_STEP_wipe, -EPERM);
	assert_says(t->b, "this is kernel 6.1-rt,01234567, of an image of a system");
	assert_false(t->b->run.has_wipe);
	assert_untouched(&t->disk);
	assert_true(has_system(t));
	t->b->a.cfg.kernel_word[0] = '\0';
	assert_step(t->b, PHX_STEP_wipe, 0);
}

/* ---- protected disks ---- */

static void order_protects(struct stand *t, const char *selectors)
{
	if (!t->b->extra)
		t->b->extra = json_object();
	json_object_set_new(t->b->extra, "protect",
			    json_pack("{s:b,s:s}", "remote", 1, "selectors", selectors));
}

/* The head may be wrong: the agent looks for itself. */
static void test_protected_disk_is_not_erased(void **state)
{
	struct stand *t = *state;
	order_protects(t, "id=x\nid=serial-T-1");
	assert_step(t->b, PHX_STEP_wipe, -EPERM);
	assert_non_null(strstr(t->b->err.text,
			       "serial-T-1 is protected: setting protected_disks: id=serial-T-1"));
	assert_untouched(&t->disk);
	json_object_set_new(t->b->extra, "protect", json_pack("{s:s}", "selector", "id=x"));
	assert_step(t->b, PHX_STEP_wipe, -EINVAL);
	assert_untouched(&t->disk);
	order_protects(t, "id=x\ncolour=red"); /* of a newer head */
	assert_step(t->b, PHX_STEP_wipe, -EINVAL);
	assert_untouched(&t->disk);
	order_protects(t, "id=x");
	assert_step(t->b, PHX_STEP_wipe, 0);
}

/* A disk of a RAID of which another is protected: what is erased of one is lost to the other. */
static void test_disk_of_a_protected_array_is_not_erased(void **state)
{
	struct stand *t = *state;
	uint8_t block[ARRAY_BLOCK];
	add_other(t, "2");
	order_protects(t, "id=serial-T-2");
	array_raid(block, 1);
	assert_int_equal(pwrite(t->disk.fd, block, sizeof(block), ARRAY_RAID_AT), ARRAY_BLOCK);
	assert_int_equal(pwrite(t->other.fd, block, sizeof(block), ARRAY_RAID_AT), ARRAY_BLOCK);
	assert_int_equal(fsync(t->disk.fd) | fsync(t->other.fd), 0);
	assert_step(t->b, PHX_STEP_wipe, -EBUSY);
	assert_non_null(strstr(t->b->err.text, "beside serial-T-2, which is protected"));
	assert_untouched(&t->disk);
	array_raid(block, 2);
	assert_int_equal(pwrite(t->other.fd, block, sizeof(block), ARRAY_RAID_AT), ARRAY_BLOCK);
	assert_int_equal(fsync(t->other.fd), 0);
	assert_step(t->b, PHX_STEP_wipe, 0);
	assert_untouched(&t->other);
}

/* The head believes an erase by what the node's key signed of it, for this attempt. */
static void test_wipe_is_signed(void **state)
{
	struct stand *t = *state;
	const struct step_run *run = &t->b->run;
	char fp[PHX_FINGERPRINT_MAX];
	t->b->o.step.verify = PHX_VERIFY_FULL;
	PHX_STR_SET(t->b->a.cfg.image_sha256, "of-the-image");
	assert_step(t->b, PHX_STEP_wipe, 0);
	struct phx_statement said = {.node = "n1",
				     .step_id = 7,
				     .epoch = 1,
				     .nonce = 99,
				     .boot_id = "boot-1",
				     .image_sha256 = "of-the-image",
				     .method = "discard",
				     .size_bytes = SIZE,
				     .verified_bytes = SIZE,
				     .places = run->wipe.places};
	PHX_STR_SET(said.disk_id, t->disk.id);
	PHX_STR_SET(said.used, phx_enum_name(&phx_wipe_method_names, run->wipe.used));
	PHX_STR_SET(said.read_sha256, run->wipe.read_sha256);
	PHX_STR_SET(said.detail, run->wipe.detail);
	assert_int_equal(phx_statement_verify(&said, run->seal.key, run->seal.signature, fp, NULL),
			 0);
	said.nonce = 98;
	assert_int_equal(phx_statement_verify(&said, run->seal.key, run->seal.signature, fp, NULL),
			 -EKEYREJECTED);
}

/* Erased, but nobody can sign that: no success, and what was done is told all the same. */
static void test_wipe_without_a_key_is_no_success(void **state)
{
	struct stand *t = *state;
	PHX_AUTO_FREE char *key = phx_path("%s/agent.key", t->b->a.cfg.state_dir);
	assert_int_equal(unlink(key), 0);
	assert_true(bench_step(t->b, PHX_STEP_wipe) < 0);
	assert_true(t->b->run.has_wipe);
	assert_string_equal(t->b->run.seal.signature, "");
}

static void no_such_disk(struct stand *t)
{
	PHX_STR_SET(t->b->o.step.disk, "serial-T-3");
}

static void no_disk_named(struct stand *t)
{
	t->b->o.step.disk[0] = '\0';
}

static void path_for_a_name(struct stand *t)
{
	PHX_STR_SET(t->b->o.step.disk, t->disk.path);
}

static void two_of_a_name(struct stand *t)
{
	add_other(t, "1");
}

static void read_only(struct stand *t)
{
	machine_sys_put(t->disk.name, "ro", "1\n");
}

static void held_by_another(struct stand *t)
{
	machine_sys_put(t->disk.name, "holders/dm-0", "");
}

/* The facts that the head decided by say another size. */
static void of_another_size(struct stand *t)
{
	char text[300];
	snprintf(text, sizeof(text),
		 "{\"disks\": [{\"id\": \"%s\", \"serial\": \"1\", \"size_bytes\": %llu}]}",
		 t->disk.id, (unsigned long long)SIZE / 2);
	PHX_STR_SET(t->b->a.cfg.facts_file, scratch_path(t->b->s, "facts.json"));
	write_text(t->b->a.cfg.facts_file, text, 0600);
}

static void facts_unreadable(struct stand *t)
{
	PHX_STR_SET(t->b->a.cfg.facts_file, scratch_path(t->b->s, "facts.json"));
	write_text(t->b->a.cfg.facts_file, "{\"disks\": [", 0600);
}

static const struct refusal {
	void (*make)(struct stand *t);
	int error;
	const char *says;
} refusals[] = {
	{no_such_disk, -ENODEV, "no such disk"},
	{no_disk_named, -ENODEV, "no such disk"},
	{path_for_a_name, -ENODEV, "no such disk"},
	{two_of_a_name, -ENODEV, "or two of them"},
	{read_only, -EROFS, "read-only"},
	{held_by_another, -EBUSY, "held by dm-0"},
	{of_another_size, -EMEDIUMTYPE, "expected were"},
	{facts_unreadable, -EINVAL, "facts.json"},
};

static json_t *root_image(struct stand *t, uint64_t size);

/* On any doubt whether this is the disk that was meant nothing is erased, and what is installed
 * counts as before. */
static void test_on_doubt_no_disk_is_touched(void **state)
{
	static const enum phx_step_kind kinds[] = {PHX_STEP_wipe, PHX_STEP_image};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(refusals) * PHX_ARRAY_SIZE(kinds); i++) {
		const struct refusal *f = &refusals[i / 2];
		struct stand *t;
		setup((void **)&t);
		if (kinds[i % 2] == PHX_STEP_image)
			bench_image(t->b, "image", json_pack("[o]", root_image(t, 4 * PHX_MIB)));
		put_system(t);
		f->make(t);
		assert_step(t->b, kinds[i % 2], f->error);
		assert_says(t->b, f->says);
		assert_false(t->b->run.has_wipe);
		assert_untouched(&t->disk);
		if (t->other.name[0])
			assert_untouched(&t->other);
		assert_true(has_system(t));
		teardown((void **)&t);
	}
}

static void test_a_disk_in_use_is_not_touched(void **state)
{
	struct stand *t = *state;
	make_ext4(t->disk.path);
	assert_int_equal(mount(t->disk.path, "/run/mnt", "ext4", 0, ""), 0);
	write_text("/run/mnt/file", "kept", 0644);
	assert_step(t->b, PHX_STEP_wipe, -EBUSY);
	assert_says(t->b, "mounted on /run/mnt");
	PHX_AUTO_FREE char *text = read_text("/run/mnt/file");
	assert_string_equal(text, "kept");
}

/* The method is the plan's: what the disk cannot is refused before it is touched, and "auto" is no
 * method. The system counts no more all the same: whoever was to erase it meant to. */
static void test_a_method_that_it_cannot_touches_nothing(void **state)
{
	struct stand *t = *state;
	t->b->o.step.method = PHX_WIPE_SECURE_ERASE;
	assert_step(t->b, PHX_STEP_wipe, -EOPNOTSUPP);
	assert_untouched(&t->disk);
	t->b->o.step.method = PHX_WIPE_AUTO;
	assert_step(t->b, PHX_STEP_wipe, -EINVAL);
	assert_untouched(&t->disk);
	assert_false(t->b->run.has_wipe);
}

/* ---- image ---- */

/* A root file system of `size` bytes with /sbin/init, compressed, at the head. */
static json_t *root_image(struct stand *t, uint64_t size)
{
	char *file = scratch_path(t->b->s, "root.ext4"), *tree = scratch_path(t->b->s, "tree");
	const char *const argv[] = {"mkfs.ext4", "-q", "-F", "-d", tree, file, NULL};
	char *plain = NULL;
	size_t n;
	assert_int_equal(phx_dir_make(scratch_path(t->b->s, "tree/sbin"), 0755, NULL), 0);
	write_text(scratch_path(t->b->s, "tree/sbin/init"), "#!/bin/sh\n", 0755);
	make_file(file, size);
	assert_int_equal(phx_run_check(&(struct phx_run){.argv = argv}, NULL, NULL), 0);
	assert_int_equal(phx_file_read(file, size, &plain, &n, NULL), 0);
	plain[n - 1] = 1; /* an image too long for the disk has something to write there */
	size_t most = ZSTD_compressBound(n);
	char *packed = malloc(most);
	size_t packed_n = ZSTD_compress(packed, most, plain, n, 1);
	assert_false(ZSTD_isError(packed_n));
	json_t *entry = bench_image_file(t->b, PHX_IMAGE_ROOT_DISK, packed, packed_n, n);
	free(packed);
	free(plain);
	return entry;
}

static void assert_text_of(const char *path, const char *part)
{
	PHX_AUTO_FREE char *text = read_text(path);
	assert_contains(text, part);
}

static void assert_installed(struct stand *t)
{
	struct system_state sys;
	assert_true(is_mounted(ROOT_DIR) && is_mounted(ROOT_STATE_DIR));
	assert_true(exists(ROOT_DIR "/sbin/init"));
	assert_true(exists(ROOT_DIR "/opt/phoenix/agent/bin/phx-agent"));
	assert_text_of(ROOT_DIR "/etc/hostname", "n1\n");
	assert_text_of(ROOT_DIR "/etc/phoenix/agent.conf", t->b->a.cfg.server);
	assert_true(exists(ROOT_STATE_DIR "/agent.key"));
	assert_int_equal(system_state_read(ROOT_STATE_DIR, &sys, NULL), 0);
	assert_string_equal(sys.digest, "d1");
	assert_int_equal(system_state_read(t->b->a.cfg.state_dir, &sys, NULL), 0);
	assert_string_equal(sys.digest, "d1");
}

static void test_image_is_written_and_personal(void **state)
{
	struct stand *t = *state;
	struct phx_disk_system sys;
	bench_image(t->b, "image", json_pack("[o]", root_image(t, 16 * PHX_MIB)));
	assert_step(t->b, PHX_STEP_image, 0);
	assert_installed(t);
	assert_int_equal(phx_disk_find_system(&sys, NULL), 0);
	assert_string_equal(sys.disk, t->disk.path);
	/* the agent died before its answer was heard: again, over a system that is mounted */
	write_text(ROOT_DIR "/left", "x", 0644);
	assert_step(t->b, PHX_STEP_image, 0);
	assert_installed(t);
	assert_false(exists(ROOT_DIR "/left"));
}

/* What is wrong with the image, before the disk is touched. */
static void test_an_order_without_its_image_touches_nothing(void **state)
{
	struct stand *t = *state;
	put_system(t);
	assert_step(t->b, PHX_STEP_image, -ENOENT);
	bench_image(t->b, "image", json_array());
	assert_step(t->b, PHX_STEP_image, -ENOENT);
	assert_says(t->b, "has no root.ext4.zst");
	bench_image(t->b, "image", json_pack("[o]", root_image(t, 4 * PHX_MIB)));
	write_text(t->b->a.cfg.images_signed, "", 0600);
	assert_step(t->b, PHX_STEP_image, -EKEYREJECTED);
	assert_untouched(&t->disk);
	assert_true(has_system(t));
	assert_false(root_mounted());
}

/* Where the head gives no key, the disk is as it was. */
static void test_no_key_no_layout(void **state)
{
	struct stand *t = *state;
	bench_image(t->b, "image", json_pack("[o]", root_image(t, 4 * PHX_MIB)));
	PHX_STR_SET(t->b->o.step.key_id, "n1-7");
	assert_true(bench_step(t->b, PHX_STEP_image) < 0);
	assert_says(t->b, "disk key n1-7");
	assert_untouched(&t->disk);
}

/* Nothing mounts, no record says that there is a system, and the node's key is kept. */
static void assert_half_done(struct stand *t)
{
	struct phx_disk_system sys;
	char type[32];
	assert_false(root_mounted());
	assert_false(is_mounted(ROOT_STATE_DIR));
	assert_false(has_system(t));
	assert_int_equal(phx_disk_find_system(&sys, NULL), 0);
	assert_int_equal(phx_signature_read(sys.root, 0, 0, type, NULL), 0);
	assert_string_equal(type, "");
	assert_int_equal(root_mount(sys.root, sys.state, NULL), -EINVAL);
	assert_int_equal(mount(sys.state, "/run/mnt", "ext4", MS_RDONLY, ""), 0);
	assert_true(exists("/run/mnt/agent.key"));
	assert_false(exists("/run/mnt/system.json"));
	assert_int_equal(umount2("/run/mnt", 0), 0);
}

static json_t *gone_at_the_head(struct stand *t)
{
	json_t *entry = root_image(t, 4 * PHX_MIB);
	PHX_AUTO_FREE char *path = phx_path("%s/files/root.ext4.zst", t->b->head->dir);
	assert_int_equal(unlink(path), 0);
	return entry;
}

static json_t *altered(struct stand *t)
{
	json_t *entry = root_image(t, 4 * PHX_MIB);
	json_object_set_new(
		entry, "sha256",
		json_string("0000000000000000000000000000000000000000000000000000000000000000"));
	return entry;
}

static json_t *cut_off(struct stand *t)
{
	json_t *entry = root_image(t, 4 * PHX_MIB);
	PHX_AUTO_FREE char *path = phx_path("%s/files/root.ext4.zst", t->b->head->dir);
	assert_int_equal(truncate(path, phx_json_int(entry, "size", 0) / 2), 0);
	return entry;
}

static json_t *too_long_for_the_disk(struct stand *t)
{
	return root_image(t, 70 * PHX_MIB);
}

static json_t *no_file_system(struct stand *t)
{
	char plain[8192] = "text", packed[1024];
	size_t n = ZSTD_compress(packed, sizeof(packed), plain, sizeof(plain), 1);
	assert_false(ZSTD_isError(n));
	return bench_image_file(t->b, PHX_IMAGE_ROOT_DISK, packed, n, sizeof(plain));
}

static void test_a_broken_image_leaves_no_system(void **state)
{
	static const struct {
		json_t *(*make)(struct stand *t);
		int error;
	} broken[] = {{gone_at_the_head, -ENOENT},
		      {altered, -EBADMSG},
		      {cut_off, -EBADMSG},
		      {too_long_for_the_disk, -ENOSPC},
		      {no_file_system, -EMEDIUMTYPE}};
	struct stand *t = *state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(broken); i++) {
		put_system(t);
		bench_image(t->b, "image", json_pack("[o]", broken[i].make(t)));
		assert_step(t->b, PHX_STEP_image, broken[i].error);
		assert_half_done(t);
	}
	/* and the next try is as good as the first */
	bench_image(t->b, "image", json_pack("[o]", root_image(t, 16 * PHX_MIB)));
	assert_step(t->b, PHX_STEP_image, 0);
	assert_installed(t);
}

/* Written, and then this node's own cannot be put in: it is no system either. */
static void test_an_image_without_a_name_is_none(void **state)
{
	struct stand *t = *state;
	struct phx_disk_system sys;
	bench_image(t->b, "image", json_pack("[o]", root_image(t, 16 * PHX_MIB)));
	t->b->a.node[0] = '\0';
	assert_step(t->b, PHX_STEP_image, -EINVAL);
	assert_says(t->b, "name");
	assert_false(root_mounted());
	assert_false(has_system(t));
	assert_int_equal(phx_disk_find_system(&sys, NULL), 0);
	assert_int_equal(mount(sys.state, "/run/mnt", "ext4", MS_RDONLY, ""), 0);
	assert_false(exists("/run/mnt/system.json"));
	assert_int_equal(umount2("/run/mnt", 0), 0);
}

/* From now on the path of its device leads through an FC adapter. */
static void on_storage_network(const struct machine_disk *d)
{
	static const char *const links[] = {"/sys/block/%s", "/sys/dev/block/7:%s"};
	char from[64], to[64], link[64];
	snprintf(from, sizeof(from), "/sys/devices/pci0/%s", d->name);
	snprintf(to, sizeof(to), "/sys/devices/pci0/rport-1:0-0/%s", d->name);
	assert_int_equal(phx_dir_make("/sys/devices/pci0/rport-1:0-0", 0755, NULL), 0);
	assert_int_equal(rename(from, to), 0);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(links); i++) {
		snprintf(link, sizeof(link), links[i], i ? d->name + 4 : d->name);
		assert_int_equal(unlink(link), 0);
		assert_int_equal(symlink(to, link), 0);
	}
}

/* A former owner wrote a system to a LUN, which is protected: it is there still, and is no system
 * of this machine. */
static void test_a_system_on_a_lun_is_none(void **state)
{
	struct stand *t = *state;
	struct phx_disk_system sys;
	char root[64];
	add_other(t, "2");
	assert_int_equal(phx_disk_layout(t->other.path, NULL, 0, NULL, root, NULL), 0);
	on_storage_network(&t->other);
	assert_int_equal(phx_disk_find_system(&sys, NULL), 0);
	assert_string_equal(sys.disk, t->other.path);
	assert_int_equal(phx_disk_layout(t->disk.path, NULL, 0, NULL, root, NULL), 0);
	assert_int_equal(phx_disk_find_system(&sys, NULL), 0);
	assert_string_equal(sys.disk, t->disk.path);
	phx_dir_remove("/sys/devices/pci0/rport-1:0-0", NULL);
}

/* With two systems in the machine the next start could enter the wrong one. */
static void test_a_second_system_is_refused(void **state)
{
	struct stand *t = *state;
	char root[64];
	add_other(t, "2");
	assert_int_equal(phx_disk_layout(t->other.path, NULL, 0, NULL, root, NULL), 0);
	machine_disk_put(&t->other, 100 * PHX_MIB, OF_DISK);
	bench_image(t->b, "image", json_pack("[o]", root_image(t, 4 * PHX_MIB)));
	assert_step(t->b, PHX_STEP_image, -ENOTUNIQ);
	assert_true(machine_disk_has(&t->other, 100 * PHX_MIB, OF_DISK));
	assert_false(has_system(t));
	assert_false(root_mounted());
}

/* What another disk has is no matter of this one's erase. */
static void test_wipe_of_another_disk_keeps_the_system(void **state)
{
	struct stand *t = *state;
	bench_image(t->b, "image", json_pack("[o]", root_image(t, 16 * PHX_MIB)));
	assert_step(t->b, PHX_STEP_image, 0);
	add_other(t, "2");
	PHX_STR_SET(t->b->o.step.disk, t->other.id);
	assert_step(t->b, PHX_STEP_wipe, 0);
	assert_true(has_system(t));
	PHX_STR_SET(t->b->o.step.disk, t->disk.id);
	assert_step(t->b, PHX_STEP_wipe, 0);
	assert_false(has_system(t));
}

/* ---- ram ---- */

static json_t *ram_image(struct stand *t)
{
	char *file = scratch_path(t->b->s, "root.squashfs"), *tree = scratch_path(t->b->s, "ram");
	const char *const argv[] = {"mksquashfs", tree, file, "-noappend", "-quiet", NULL};
	char *data = NULL;
	size_t n;
	assert_int_equal(phx_dir_make(scratch_path(t->b->s, "ram/sbin"), 0755, NULL), 0);
	assert_int_equal(phx_dir_make(scratch_path(t->b->s, "ram/var/lib/phoenix"), 0755, NULL), 0);
	write_text(scratch_path(t->b->s, "ram/sbin/init"), "#!/bin/sh\n", 0755);
	assert_int_equal(phx_run_check(&(struct phx_run){.argv = argv}, NULL, NULL), 0);
	assert_int_equal(phx_file_read(file, PHX_MIB, &data, &n, NULL), 0);
	json_t *entry = bench_image_file(t->b, PHX_IMAGE_ROOT_RAM, data, n, 0);
	free(data);
	return entry;
}

static void test_ram_is_mounted(void **state)
{
	struct stand *t = *state;
	bench_image(t->b, "image", json_pack("[o]", ram_image(t)));
	for (int i = 0; i < 2; i++) { /* a second one takes the place of the first */
		assert_step(t->b, PHX_STEP_ram, 0);
		assert_true(is_mounted(ROOT_DIR));
		assert_true(exists(ROOT_DIR "/sbin/init"));
		assert_text_of(ROOT_DIR "/etc/hostname", "n1\n");
		assert_text_of(ROOT_STATE_DIR "/system.json", "d1");
		assert_true(has_system(t));
		assert_false(exists(ROOT_DIR "/left"));
		write_text(ROOT_DIR "/left", "x", 0644);
	}
	assert_untouched(&t->disk);
}

static json_t *ram_altered(struct stand *t)
{
	json_t *entry = ram_image(t);
	json_object_set_new(
		entry, "sha256",
		json_string("0000000000000000000000000000000000000000000000000000000000000000"));
	return entry;
}

static json_t *ram_no_squashfs(struct stand *t)
{
	static const char data[8192] = "neither squashfs nor anything";
	return bench_image_file(t->b, PHX_IMAGE_ROOT_RAM, data, sizeof(data), 0);
}

static json_t *ram_other_file(struct stand *t)
{
	return root_image(t, 4 * PHX_MIB);
}

/* A node that cannot have its system has its memory back, all of it. */
static void test_a_broken_ram_image_leaves_no_mount(void **state)
{
	static const struct {
		json_t *(*make)(struct stand *t);
		int error;
	} broken[] = {
		{ram_altered, -EBADMSG}, {ram_no_squashfs, -EINVAL}, {ram_other_file, -ENOENT}};
	struct stand *t = *state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(broken); i++) {
		bench_image(t->b, "image", json_pack("[o]", broken[i].make(t)));
		assert_step(t->b, PHX_STEP_ram, broken[i].error);
		assert_false(root_mounted());
		assert_false(is_mounted("/run/phoenix/ram"));
		assert_false(has_system(t));
	}
}

/* ---- enter ---- */

static void test_enter_needs_a_system(void **state)
{
	struct stand *t = *state;
	assert_step(t->b, PHX_STEP_enter, -ENOENT);
	assert_false(exists("/run/phoenix/next"));
	assert_false(atomic_load(&t->b->a.leave));
}

static void test_enter(void **state)
{
	struct stand *t = *state;
	bench_image(t->b, "image", json_pack("[o]", root_image(t, 16 * PHX_MIB)));
	assert_step(t->b, PHX_STEP_image, 0);
	/* the agent was started again meanwhile: it finds the system on the disk */
	assert_int_equal(root_unmount(NULL), 0);
	assert_step(t->b, PHX_STEP_enter, STEP_LEAVES);
	assert_true(is_mounted(ROOT_DIR) && is_mounted(ROOT_STATE_DIR));
	assert_text_of("/run/phoenix/next", "switch_root " ROOT_DIR " /sbin/init\n");
	assert_true(atomic_load(&t->b->a.leave));
	assert_int_equal(unlink("/run/phoenix/next"), 0);
	/* a system that cannot start is not entered */
	atomic_store(&t->b->a.leave, false);
	assert_int_equal(unlink(ROOT_DIR "/sbin/init"), 0);
	assert_step(t->b, PHX_STEP_enter, -ENOENT);
	assert_says(t->b, "/sbin/init");
	assert_false(exists("/run/phoenix/next"));
	assert_false(atomic_load(&t->b->a.leave));
}

static void test_enter_under_another_kernel(void **state)
{
	struct stand *t = *state;
	struct utsname u;
	uname(&u);
	bench_image(t->b, "image", json_pack("[o]", root_image(t, 16 * PHX_MIB)));
	assert_step(t->b, PHX_STEP_image, 0);
	json_object_set_new(t->b->extra, "kernel_release", json_string("6.1-rt"));
	assert_step(t->b, PHX_STEP_enter, -ENOEXEC);
	assert_says(t->b, "6.1-rt");
	assert_says(t->b, u.release);
	assert_false(exists("/run/phoenix/next"));
	assert_false(atomic_load(&t->b->a.leave));
	json_object_set_new(t->b->extra, "kernel_release", json_string(u.release));
	assert_step(t->b, PHX_STEP_enter, STEP_LEAVES);
	assert_int_equal(unlink("/run/phoenix/next"), 0);
}

int main(int argc, char **argv)
{
	(void)argc;
	if (!machine_enter(argv)) {
		puts("skip step_disk: needs root and a mount namespace");
		return 0;
	}
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_wipe_erases_that_disk_alone),
		TEST(test_wipe_under_the_kernel_of_a_system),
		TEST(test_protected_disk_is_not_erased),
		TEST(test_disk_of_a_protected_array_is_not_erased),
		TEST(test_wipe_is_signed),
		TEST(test_wipe_without_a_key_is_no_success),
		cmocka_unit_test(test_on_doubt_no_disk_is_touched),
		TEST(test_a_disk_in_use_is_not_touched),
		TEST(test_a_method_that_it_cannot_touches_nothing),
		TEST(test_image_is_written_and_personal),
		TEST(test_an_order_without_its_image_touches_nothing),
		TEST(test_no_key_no_layout),
		TEST(test_a_broken_image_leaves_no_system),
		TEST(test_an_image_without_a_name_is_none),
		TEST(test_a_system_on_a_lun_is_none),
		TEST(test_a_second_system_is_refused),
		TEST(test_wipe_of_another_disk_keeps_the_system),
		TEST(test_ram_is_mounted),
		TEST(test_a_broken_ram_image_leaves_no_mount),
		TEST(test_enter_needs_a_system),
		TEST(test_enter),
		TEST(test_enter_under_another_kernel),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
