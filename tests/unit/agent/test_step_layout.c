/* The step layout in a machine of its own (machine.h), whose disks are files behind loop devices:
 * what it makes, finds again and mounts, and above all what it makes nothing over. RAID and LVM,
 * which want their kernel modules, are in tests/lab/layout.sh. */
#include "unit/agent/machine.h"
#include "unit/agent/step_bench.h"

#include "agent/layout.h"
#include "agent/root.h"
#include "base/spawn.h"

#define SIZE (129 * PHX_MIB)
#define HELD "what somebody had on it"
#define PLACE ROOT_DIR "/data/sets"

struct stand {
	struct bench *b;
	struct machine_disk disk;
	struct phx_layout layout;
};

static void add_volume(struct stand *t, const char *name, const char *mount, uint64_t bytes)
{
	struct phx_layout_volume *v = phx_list_push(&t->layout.volumes, sizeof(*v));
	struct phx_layout_part *p = phx_list_push(&t->layout.parts, sizeof(*p));
	PHX_STR_SET(v->name, name);
	PHX_STR_SET(v->mount, mount);
	PHX_STR_SET(v->options, "noatime");
	PHX_STR_SET(p->volume, name);
	PHX_STR_SET(p->disk, t->disk.id);
	p->size_bytes = bytes;
}

static void order(struct stand *t, bool keeps, bool erased)
{
	if (!t->b->extra)
		t->b->extra = json_object();
	json_object_set_new(t->b->extra, "layout",
			    phx_json_from_record(&phx_layout_record, &t->layout));
	json_object_set_new(t->b->extra, "keeps_layout", json_boolean(keeps));
	json_object_set_new(t->b->extra, "layout_erased", json_boolean(erased));
}

static int setup(void **state)
{
	struct stand *t = calloc(1, sizeof(*t));
	bench_setup((void **)&t->b);
	t->b->a.env = PHX_ENV_DEPLOY;
	machine_disk_add(&t->disk, t->b->s->dir, "1", SIZE);
	/* a system, already mounted */
	assert_int_equal(phx_dir_make(ROOT_DIR, 0755, NULL), 0);
	assert_int_equal(mount("tmpfs", ROOT_DIR, "tmpfs", 0, ""), 0);
	assert_int_equal(phx_dir_make(ROOT_STATE_DIR, 0755, NULL), 0);
	/* the inner one is written first: order of places, not of the file */
	add_volume(t, "sets", "/data/sets", 32 * PHX_MIB);
	add_volume(t, "data", "/data", 64 * PHX_MIB);
	PHX_LIST_AT(&t->layout.volumes, struct phx_layout_volume, 0)->scratch = true;
	order(t, false, false);
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct stand *t = *state;
	assert_int_equal(layout_close(NULL), 0);
	umount2(ROOT_DIR, 0);
	machine_disk_remove(&t->disk);
	phx_record_fini(&phx_layout_record, &t->layout);
	bench_teardown((void **)&t->b);
	free(t);
	return 0;
}

static bool is_mounted(const char *dir)
{
	struct stat st, above;
	PHX_AUTO_FREE char *parent = phx_path("%s/..", dir);
	return stat(dir, &st) == 0 && stat(parent, &above) == 0 && st.st_dev != above.st_dev;
}

static void write_note(void)
{
	assert_int_equal(phx_file_write(PLACE "/note", HELD, strlen(HELD), 0600, NULL), 0);
}

static void assert_note(void)
{
	PHX_AUTO_FREE char *text = NULL;
	assert_int_equal(phx_file_read(PLACE "/note", 100, &text, NULL, NULL), 0);
	assert_string_equal(text, HELD);
}

static mode_t mode_of(const char *dir)
{
	struct stat st;
	assert_int_equal(stat(dir, &st), 0);
	return st.st_mode & 07777;
}

static void test_it_is_made_and_found_again(void **state)
{
	struct stand *t = *state;
	assert_step(t->b, PHX_STEP_layout, 0);
	assert_true(is_mounted(ROOT_DIR "/data") && is_mounted(PLACE));
	assert_int_equal(mode_of(PLACE), 01777);
	assert_int_equal(mode_of(ROOT_DIR "/data"), 0755);
	write_note();
	/* as at the next start of the system */
	assert_int_equal(layout_close(NULL), 0);
	assert_false(is_mounted(ROOT_DIR "/data"));
	assert_int_equal(phx_disk_check_free(t->disk.path, NULL), 0);
	for (int i = 0; i < 2; i++) { /* twice is once */
		assert_int_equal(layout_mount_saved(ROOT_STATE_DIR, ROOT_DIR, NULL), 0);
		assert_note();
	}
}

/* Made once, it holds data: an order to make it is refused, one to keep it opens it. */
static void test_it_is_not_made_over_itself(void **state)
{
	struct stand *t = *state;
	assert_step(t->b, PHX_STEP_layout, 0);
	write_note();
	assert_step(t->b, PHX_STEP_layout, -EEXIST);
	assert_says(t->b,
		    "disk serial-T-1 was not erased: no layout is made over it (phx node "
		    "wipe): it holds: a table of partitions (gpt)");
	order(t, true, false);
	assert_step(t->b, PHX_STEP_layout, 0);
	assert_note();
}

static void test_an_attempt_that_was_cut_off_is_repeated(void **state)
{
	struct stand *t = *state;
	struct phx_list parts = {0};
	struct phx_part *p = phx_list_push(&parts, sizeof(*p));
	PHX_STR_SET(p->label, "phxn-data");
	p->size_bytes = 64 * PHX_MIB;
	assert_int_equal(phx_table_write_parts(t->disk.path, &parts, NULL), 0);
	assert_step(t->b, PHX_STEP_layout, 0);
	assert_true(is_mounted(PLACE));
	phx_list_fini(&parts);
}

static void assert_refused(struct stand *t, const char *says)
{
	assert_step(t->b, PHX_STEP_layout, -EEXIST);
	assert_says(t->b, says);
	assert_false(is_mounted(ROOT_DIR "/data"));
}

static void test_nothing_is_made_over_data(void **state)
{
	struct stand *t = *state;
	const char *const argv[] = {"mkfs.ext4", "-q", "-F", t->disk.path, NULL};
	machine_disk_put(&t->disk, 70, HELD);
	assert_refused(t, "data that nobody knows");
	assert_true(machine_disk_has(&t->disk, 70, HELD));
	machine_disk_put(&t->disk, 70, "                       ");
	assert_int_equal(phx_run_check(&(struct phx_run){.argv = argv}, NULL, NULL), 0);
	order(t, false, true); /* whoever says that it was erased */
	assert_refused(t, "ext4");
}

/* What a drive leaves of itself after its own erase need not be zero. */
static void test_an_erased_disk_may_read_otherwise(void **state)
{
	struct stand *t = *state;
	machine_disk_put(&t->disk, SIZE - 100, HELD);
	assert_refused(t, "data that nobody knows");
	order(t, false, true);
	assert_step(t->b, PHX_STEP_layout, 0);
}

static void test_a_protected_disk_gets_none(void **state)
{
	struct stand *t = *state;
	json_object_set_new(t->b->extra, "protect",
			    json_pack("{s:s}", "selectors", "id=serial-T-1"));
	assert_step(t->b, PHX_STEP_layout, -EPERM);
	assert_says(t->b, "serial-T-1 is protected");
	assert_true(machine_disk_has(&t->disk, 512, "\0\0"));
	struct phx_part_table table;
	assert_int_equal(phx_table_read(t->disk.path, &table, NULL), 0);
	assert_int_equal(table.n, 0);
}

static void test_a_wrong_order_touches_nothing(void **state)
{
	struct stand *t = *state;
	struct phx_part_table table;
	PHX_STR_SET(PHX_LIST_AT(&t->layout.volumes, struct phx_layout_volume, 0)->mount, "/etc");
	order(t, false, false);
	assert_step(t->b, PHX_STEP_layout, -EINVAL);
	json_object_set_new(t->b->extra, "layout", json_object());
	assert_step(t->b, PHX_STEP_layout, -EINVAL);
	json_object_del(t->b->extra, "layout");
	assert_step(t->b, PHX_STEP_layout, -EINVAL);
	assert_int_equal(phx_table_read(t->disk.path, &table, NULL), 0);
	assert_int_equal(table.n, 0);
}

/* An owner is root on his system: neither a link of his nor his file leads out of it. */
static void test_what_an_owner_wrote_leads_nowhere(void **state)
{
	struct stand *t = *state;
	struct phx_err err = {0};
	assert_step(t->b, PHX_STEP_layout, 0);
	assert_int_equal(layout_close(NULL), 0);
	assert_int_equal(rmdir(ROOT_DIR "/data"), 0);
	assert_int_equal(symlink("/run/mnt", ROOT_DIR "/data"), 0);
	assert_true(layout_mount_saved(ROOT_STATE_DIR, ROOT_DIR, &err) < 0);
	assert_contains(err.text, "/newroot/data: must be a directory, not a link");
	assert_false(is_mounted("/run/mnt"));
	PHX_STR_SET(PHX_LIST_AT(&t->layout.volumes, struct phx_layout_volume, 0)->mount,
		    "/data/../../etc");
	assert_int_equal(layout_save(&t->layout, ROOT_STATE_DIR, NULL), 0);
	assert_int_equal(layout_mount_saved(ROOT_STATE_DIR, ROOT_DIR, NULL), -EINVAL);
}

static void test_without_a_file_there_is_none(void **state)
{
	(void)state;
	assert_int_equal(layout_mount_saved(ROOT_STATE_DIR, ROOT_DIR, NULL), 0);
	assert_false(is_mounted(ROOT_DIR "/data"));
}

/* The disk was taken out, or another is there. */
static void test_a_disk_that_is_gone_is_named(void **state)
{
	struct stand *t = *state;
	struct phx_err err = {0};
	assert_step(t->b, PHX_STEP_layout, 0);
	assert_int_equal(layout_close(NULL), 0);
	machine_disk_remove(&t->disk);
	assert_int_equal(layout_mount_saved(ROOT_STATE_DIR, ROOT_DIR, &err), -ENODEV);
	assert_contains(err.text, "layout: volume 'sets': disk serial-T-1");
}

int main(int argc, char **argv)
{
	(void)argc;
	if (!machine_enter(argv)) {
		puts("skip step_layout: needs root and a mount namespace");
		return 0;
	}
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_it_is_made_and_found_again),
		TEST(test_it_is_not_made_over_itself),
		TEST(test_an_attempt_that_was_cut_off_is_repeated),
		TEST(test_nothing_is_made_over_data),
		TEST(test_an_erased_disk_may_read_otherwise),
		TEST(test_a_protected_disk_gets_none),
		TEST(test_a_wrong_order_touches_nothing),
		TEST(test_what_an_owner_wrote_leads_nowhere),
		TEST(test_without_a_file_there_is_none),
		TEST(test_a_disk_that_is_gone_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
