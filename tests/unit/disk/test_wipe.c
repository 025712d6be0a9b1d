/* Wiping by discard, overwrite and crypto; disks in use; wrong disks; read-back. */
#include <libfdisk.h>
#include <sys/mount.h>
#include <sys/swap.h>

#include "unit/disk/help.h"

enum { SIZE = 200 * MIB };
static const char canary[] = "the customer's secret records";
static const char key[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde";

struct bench {
	struct place *p;
	char dir[64];
	uint64_t seed;
	struct phx_wipe_result result;
	struct phx_err err;
};

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	b->p = place_new(SIZE);
	snprintf(b->dir, sizeof(b->dir), "%s/mnt", b->p->dir);
	mkdir(b->dir, 0755);
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;
	umount2(b->dir, 0); /* where a test ended before it did so itself */
	place_free(b->p);
	free(b);
	return 0;
}

static void scatter(struct bench *b)
{
	for (uint64_t at = 0; at < SIZE; at += 3 * MIB)
		put(b->p->file, at + 4711, canary, sizeof(canary));
	put(b->p->file, SIZE - sizeof(canary), canary, sizeof(canary));
}

static int wipe(struct bench *b, const char *path, enum phx_wipe_method method, bool full)
{
	phx_err_clear(&b->err);
	const struct phx_wipe_order order = {.method = method, .full = full, .seed = b->seed};
	return phx_disk_wipe(path, &b->p->facts, &order, NULL, NULL, &b->result, &b->err);
}

static void assert_blank(struct bench *b)
{
	assert_int_equal(search(b->p->file, canary, sizeof(canary)), -1);
	assert_true(b->result.verified);
	assert_int_equal(b->result.size_bytes, SIZE);
	assert_string_equal(b->result.disk_id, b->p->facts.id);
}

static void test_overwrite_file(void **state)
{
	struct bench *b = *state;
	scatter(b);
	assert_int_equal(wipe(b, b->p->file, PHX_WIPE_OVERWRITE, false), 0);
	assert_blank(b);
	assert_int_equal(b->result.method, PHX_WIPE_OVERWRITE);
	/* both ends; drawn places may lie within them */
	assert_true(b->result.verified_bytes >= 32 * MIB && b->result.verified_bytes < 40 * MIB);
}

static void test_full_read_back(void **state)
{
	struct bench *b = *state;
	scatter(b);
	assert_int_equal(wipe(b, b->p->file, PHX_WIPE_OVERWRITE, true), 0);
	assert_int_equal(b->result.verified_bytes, SIZE);
}

/* A size that is no multiple of anything large. */
static void test_odd_size(void **state)
{
	struct bench *b = *state;
	b->p->facts.size_bytes = SIZE - 4096 * 3 - 512;
	assert_int_equal(truncate(b->p->file, (off_t)b->p->facts.size_bytes), 0);
	put(b->p->file, b->p->facts.size_bytes - sizeof(canary), canary, sizeof(canary));
	assert_int_equal(wipe(b, b->p->file, PHX_WIPE_OVERWRITE, true), 0);
	assert_int_equal(b->result.verified_bytes, b->p->facts.size_bytes);
	assert_int_equal(search(b->p->file, canary, sizeof(canary)), -1);
}

static void test_discard_and_overwrite_loop(void **state)
{
	struct bench *b = *state;
	if (!place_attach(b->p))
		skip();
	scatter(b);
	assert_int_equal(wipe(b, b->p->loop, PHX_WIPE_DISCARD, false), 0);
	assert_blank(b);
	assert_string_equal(b->result.detail, "discard, reads zero");
	assert_int_equal(b->result.method, PHX_WIPE_DISCARD);
	scatter(b);
	assert_int_equal(wipe(b, b->p->loop, PHX_WIPE_OVERWRITE, false), 0);
	assert_blank(b);
}

static void test_discard_unable(void **state)
{
	struct bench *b = *state;
	scatter(b);
	b->p->facts.can_discard = false;
	assert_int_equal(wipe(b, b->p->file, PHX_WIPE_DISCARD, false), -EOPNOTSUPP);
	assert_text(b->err, "cannot discard");
	assert_int_equal(search(b->p->file, canary, sizeof(canary)), 4711);
	assert_string_equal(b->result.disk_id, "");
}

static void test_wrong_size(void **state)
{
	struct bench *b = *state;
	scatter(b);
	b->p->facts.size_bytes += 512;
	assert_int_equal(wipe(b, b->p->file, PHX_WIPE_OVERWRITE, false), -EMEDIUMTYPE);
	assert_int_equal(search(b->p->file, canary, sizeof(canary)), 4711);
}

static void test_auto_is_no_method(void **state)
{
	struct bench *b = *state;
	scatter(b);
	assert_int_equal(wipe(b, b->p->file, PHX_WIPE_AUTO, false), -EINVAL);
	assert_int_equal(search(b->p->file, canary, sizeof(canary)), 4711);
}

static void test_what_is_no_disk(void **state)
{
	struct bench *b = *state;
	assert_int_equal(wipe(b, "/tmp/no-such-disk", PHX_WIPE_OVERWRITE, false), -ENOENT);
	assert_int_equal(wipe(b, "/dev/null", PHX_WIPE_OVERWRITE, false), -ENOTBLK);
}

static void test_samples(void **state)
{
	struct bench *b = *state;
	static struct phx_part_table t;
	struct phx_samples s;
	uint64_t size = 100 * 1024 * MIB, total = 0, at = 0;
	uint32_t inside = 0;
	t = (struct phx_part_table){.n = 1,
				    .parts = {{.start_bytes = 50 * MIB, .size_bytes = MIB}}};
	assert_int_equal(phx_samples_plan(size, &t, 99, &s, &b->err), 0);
	bool first = false, last = false, part = false;
	PHX_LIST_EACH(struct phx_sample, p, &s.list) {
		assert_true(p->offset >= at && p->n_bytes && p->n_bytes <= MIB &&
			    p->offset % 512 == 0);
		at = p->offset + p->n_bytes;
		assert_true(at <= size);
		total += p->n_bytes;
		first |= p->offset == 0;
		last |= at == size;
		part |= p->offset <= 50 * MIB && at > 50 * MIB;
		inside += p->offset >= size / 2 && p->offset < size - 32 * MIB;
	}
	assert_true(first && last && part && total >= size / 100);
	/* about half of the places that are drawn lie in the upper half */
	assert_true(inside > 400 && inside < 620);
	phx_list_fini(&s.list);
}

/* Whoever judges an erase asks for no more than is read, whatever the number; and hardly less. */
static void test_no_less_is_read_than_asked(void **state)
{
	static const uint64_t sizes[] = {MIB / 2,          20 * MIB,       40 * MIB + 4096,
					 4096 * MIB + 512, 9 * 1024 * MIB, 100 * 1024 * MIB};
	struct bench *b = *state;
	static struct phx_part_table none;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(sizes); i++)
		for (uint64_t seed = 1; seed < 8; seed++) {
			struct phx_samples s;
			uint64_t read = 0;
			assert_int_equal(phx_samples_plan(sizes[i], &none, seed, &s, &b->err), 0);
			PHX_LIST_EACH(struct phx_sample, p, &s.list)
				read += p->n_bytes;
			phx_list_fini(&s.list);
			uint64_t least =
				phx_readback_least(sizes[i], PHX_WIPE_OVERWRITE, PHX_VERIFY_SAMPLE);
			assert_in_range(read, least, least + 33 * MIB);
		}
}

/* Of two lists of places those that are in both. */
static uint32_t in_both(const struct phx_samples *x, const struct phx_samples *y)
{
	uint32_t n = 0;
	PHX_LIST_EACH(struct phx_sample, p, &x->list)
		PHX_LIST_EACH(struct phx_sample, q, &y->list)
			n += p->offset == q->offset;
	return n;
}

/* Nobody knows the places before, everybody who has the number afterwards; and no stride. */
static void test_places_follow_from_the_number(void **state)
{
	struct bench *b = *state;
	static struct phx_part_table none;
	struct phx_samples one, same, other;
	uint64_t size = 100 * 1024 * MIB, strides = 0, before = 0;
	assert_int_equal(phx_samples_plan(size, &none, 7, &one, &b->err), 0);
	assert_int_equal(phx_samples_plan(size, &none, 7, &same, &b->err), 0);
	assert_int_equal(phx_samples_plan(size, &none, 8, &other, &b->err), 0);
	assert_int_equal(one.list.n, same.list.n);
	assert_int_equal(in_both(&one, &same), one.list.n);
	/* what an attestation's nonce tells of them is what is read */
	PHX_AUTO(phx_list_fini) struct phx_list drawn = {0};
	uint32_t read = 0;
	assert_int_equal(phx_readback_drawn(size, 7, &drawn), 0);
	assert_int_equal(drawn.n, 1024);
	for (uint32_t i = 0; i < drawn.n; i++)
		PHX_LIST_EACH(struct phx_sample, p, &one.list)
			read += p->offset == *PHX_LIST_AT(&drawn, uint64_t, i);
	assert_int_equal(read, drawn.n);
	/* the ends are in both, and of the others no more than chance has it */
	assert_true(in_both(&one, &other) < 33 + 40);
	PHX_LIST_EACH(struct phx_sample, p, &one.list) {
		strides += p->offset - before == size / 1024;
		before = p->offset;
	}
	assert_true(strides < 50);
	phx_list_fini(&one.list);
	phx_list_fini(&same.list);
	phx_list_fini(&other.list);
}

/* What the record says of the read-back: of the same places and the same bytes the same sum. */
static void test_the_sum_of_what_was_read(void **state)
{
	struct bench *b = *state;
	char first[65];
	b->seed = 7;
	assert_int_equal(wipe(b, b->p->file, PHX_WIPE_OVERWRITE, false), 0);
	assert_int_equal(strlen(b->result.read_sha256), 64);
	assert_true(b->result.places >= 33);
	strcpy(first, b->result.read_sha256);
	assert_int_equal(wipe(b, b->p->file, PHX_WIPE_OVERWRITE, false), 0);
	assert_string_equal(b->result.read_sha256, first);
	b->seed = 8;
	assert_int_equal(wipe(b, b->p->file, PHX_WIPE_OVERWRITE, false), 0);
	assert_string_not_equal(b->result.read_sha256, first);
	/* without a number they are drawn at the time */
	b->seed = 0;
	assert_int_equal(wipe(b, b->p->file, PHX_WIPE_OVERWRITE, false), 0);
	strcpy(first, b->result.read_sha256);
	assert_int_equal(wipe(b, b->p->file, PHX_WIPE_OVERWRITE, false), 0);
	assert_string_not_equal(b->result.read_sha256, first);
}

static void test_read_back_finds_one_byte(void **state)
{
	struct bench *b = *state;
	struct phx_block block;
	PHX_AUTO(phx_readback_fini) struct phx_readback rb = {0};
	put(b->p->file, 123456789, "x", 1);
	assert_int_equal(phx_block_open(b->p->file, false, false, &block, &b->err), 0);
	assert_int_equal(phx_samples_read_zero(&block, NULL, &rb, &b->err), -EUCLEAN);
	assert_text(b->err, "byte 123456789");
	assert_text(b->err, "0x78");
	phx_block_close(&block);
}

/* ---- in use ---- */

static void assert_busy(struct bench *b, const char *path, const char *why)
{
	phx_err_clear(&b->err);
	assert_int_equal(phx_disk_check_free(path, &b->err), -EBUSY);
	assert_text(b->err, why);
	assert_int_equal(wipe(b, path, PHX_WIPE_OVERWRITE, false), -EBUSY);
	char root[64];
	assert_int_equal(phx_disk_layout(path, NULL, 0, NULL, root, NULL), -EBUSY);
}

static void test_mounted(void **state)
{
	struct bench *b = *state;
	if (!place_attach(b->p))
		skip();
	assert_int_equal(RUN("mkfs.ext4", "-q", "-F", b->p->loop), 0);
	assert_int_equal(phx_disk_check_free(b->p->loop, &b->err), 0);
	if (mount(b->p->loop, b->dir, "ext4", 0, NULL) < 0)
		skip();
	assert_busy(b, b->p->loop, "mounted on");
	assert_text(b->err, b->dir);
	assert_int_equal(umount(b->dir), 0);
	assert_int_equal(phx_disk_check_free(b->p->loop, NULL), 0);
}

static void test_partition_mounted(void **state)
{
	struct bench *b = *state;
	char part[64], root[64];
	if (!place_attach(b->p))
		skip();
	assert_int_equal(phx_disk_layout(b->p->loop, NULL, 0, NULL, root, &b->err), 0);
	assert_int_equal(phx_part_path(b->p->loop, 1, part), 0);
	assert_int_equal(mount(part, b->dir, "ext4", 0, NULL), 0);
	assert_busy(b, b->p->loop, "mounted on");
	assert_int_equal(umount(b->dir), 0);
}

static void test_swap(void **state)
{
	struct bench *b = *state;
	if (!place_attach(b->p))
		skip();
	assert_int_equal(RUN("mkswap", b->p->loop), 0);
	if (swapon(b->p->loop, 0) < 0)
		skip();
	assert_busy(b, b->p->loop, "swap");
	assert_int_equal(swapoff(b->p->loop), 0);
}

static void test_claimed_by_another_program(void **state)
{
	struct bench *b = *state;
	if (!place_attach(b->p))
		skip();
	int fd = open(b->p->loop, O_RDONLY | O_EXCL | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_busy(b, b->p->loop, "in use by the kernel");
	close(fd);
}

/* ---- crypto ---- */

/* The layout of an encrypted node, as far as it goes without a device mapper. */
static void lay_out_encrypted(struct bench *b)
{
	char part[64];
	assert_int_equal(phx_table_write(b->p->loop, &b->err), 0);
	assert_int_equal(phx_part_path(b->p->loop, 1, part), 0);
	assert_int_equal(RUN("mkfs.ext4", "-q", "-F", part), 0);
	put(part, 30 * MIB, canary, sizeof(canary));
	assert_int_equal(phx_part_path(b->p->loop, 2, part), 0);
	assert_int_equal(phx_luks_format(part, key, sizeof(key), "key-1", &b->err), 0);
}

static void assert_crypto_gone(struct bench *b)
{
	struct phx_part_table t;
	assert_true(b->result.verified);
	assert_int_equal(search(b->p->file, "LUKS\xba\xbe", 6), -1);
	assert_int_equal(search(b->p->file, "SKUL\xba\xbe", 6), -1);
	assert_int_equal(search(b->p->file, canary, sizeof(canary)), -1);
	assert_int_equal(search(b->p->file, "EFI PART", 8), -1);
	assert_int_equal(phx_table_read(b->p->file, &t, NULL), 0);
	assert_int_equal(t.n, 0);
}

static void test_crypto(void **state)
{
	struct bench *b = *state;
	static uint8_t mib[MIB];
	char part[64];
	if (!place_attach(b->p))
		skip();
	lay_out_encrypted(b);
	put(b->p->file, 150 * MIB, "ciphertext stays", 16);
	assert_int_equal(wipe(b, b->p->loop, PHX_WIPE_CRYPTO, false), 0);
	assert_crypto_gone(b);
	assert_non_null(strstr(b->result.detail, "1 key slots destroyed"));
	for (uint64_t at = 0; at < 97 * MIB; at += MIB) {
		get(b->p->file, at, mib, MIB);
		assert_true(phx_block_is_all(mib, MIB, 0));
	}
	assert_int_equal(search(b->p->file, "ciphertext stays", 16), 150 * MIB);
	assert_int_equal(phx_part_path(b->p->loop, 2, part), 0);
	assert_int_equal(access(part, F_OK), -1);
}

static void test_crypto_again_after_its_end(void **state)
{
	struct bench *b = *state;
	if (!place_attach(b->p))
		skip();
	lay_out_encrypted(b);
	assert_int_equal(wipe(b, b->p->loop, PHX_WIPE_CRYPTO, false), 0);
	assert_int_equal(wipe(b, b->p->loop, PHX_WIPE_CRYPTO, false), 0);
	assert_string_equal(b->result.detail, "was already destroyed, reads zero");
	assert_crypto_gone(b);
}

/* Power lost after the headers, before the table. */
static void test_crypto_resumed(void **state)
{
	struct bench *b = *state;
	char part[64];
	struct phx_block block;
	if (!place_attach(b->p))
		skip();
	lay_out_encrypted(b);
	assert_int_equal(phx_part_path(b->p->loop, 2, part), 0);
	assert_int_equal(phx_block_open(part, true, false, &block, &b->err), 0);
	assert_int_equal(phx_block_zero(&block, 0, 32 * MIB, NULL, NULL, &b->err), 0);
	assert_int_equal(phx_block_flush(&block, &b->err), 0);
	phx_block_close(&block);
	assert_int_equal(wipe(b, b->p->loop, PHX_WIPE_CRYPTO, false), 0);
	assert_crypto_gone(b);
}

/* As on a machine whose kernel sees no partition nodes: by offsets alone. */
static void test_crypto_without_nodes(void **state)
{
	struct bench *b = *state;
	if (!place_attach(b->p))
		skip();
	lay_out_encrypted(b);
	assert_int_equal(phx_table_forget(b->p->loop, &b->err), 0);
	assert_int_equal(RUN("losetup", "-d", b->p->loop), 0);
	b->p->loop[0] = '\0';
	assert_int_equal(wipe(b, b->p->file, PHX_WIPE_CRYPTO, false), 0);
	assert_crypto_gone(b);
}

static void test_crypto_on_a_plain_disk(void **state)
{
	struct bench *b = *state;
	char root[64];
	if (!place_attach(b->p))
		skip();
	assert_int_equal(phx_disk_layout(b->p->loop, NULL, 0, NULL, root, &b->err), 0);
	put(root, 5 * MIB, canary, sizeof(canary));
	assert_int_equal(wipe(b, b->p->loop, PHX_WIPE_CRYPTO, false), -EOPNOTSUPP);
	assert_text(b->err, "not encrypted");
	assert_true(search(b->p->file, canary, sizeof(canary)) > 0);
	assert_true(search(b->p->file, "EFI PART", 8) > 0);
}

/* A disk of our layout with a third partition that somebody added. */
static void add_partition(struct bench *b)
{
	struct fdisk_context *c = fdisk_new_context();
	struct fdisk_script *script = fdisk_new_script(c);
	assert_non_null(script);
	assert_int_equal(fdisk_assign_device(c, b->p->file, 0), 0);
	assert_int_equal(fdisk_script_set_header(script, "label", "gpt"), 0);
	struct fdisk_table *t = fdisk_script_get_table(script);
	assert_non_null(t);
	static const char *const names[] = {PHX_DISK_STATE_LABEL, PHX_DISK_ROOT_LABEL, "scratch"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(names); i++) {
		struct fdisk_partition *p = fdisk_new_partition();
		fdisk_partition_set_partno(p, i);
		fdisk_partition_set_name(p, names[i]);
		fdisk_partition_set_start(p, 2048 + i * 100000);
		fdisk_partition_set_size(p, 90000);
		assert_int_equal(fdisk_table_add_partition(t, p), 0);
		fdisk_unref_partition(p);
	}
	assert_int_equal(fdisk_apply_script(c, script), 0);
	assert_int_equal(fdisk_write_disklabel(c), 0);
	fdisk_deassign_device(c, 1);
	fdisk_unref_script(script);
	fdisk_unref_context(c);
}

static void test_crypto_with_a_plain_neighbour(void **state)
{
	struct bench *b = *state;
	put(b->p->file, (2048 + 200000) * 512 + 4096, canary, sizeof(canary));
	add_partition(b);
	assert_int_equal(wipe(b, b->p->file, PHX_WIPE_CRYPTO, false), -EOPNOTSUPP);
	assert_text(b->err, "partition 3");
	assert_text(b->err, "not encrypted");
	assert_true(search(b->p->file, canary, sizeof(canary)) > 0);
}

static void test_crypto_on_no_table(void **state)
{
	struct bench *b = *state;
	put(b->p->file, 64 * MIB, canary, sizeof(canary));
	assert_int_equal(wipe(b, b->p->file, PHX_WIPE_CRYPTO, false), -EOPNOTSUPP);
	assert_text(b->err, "no encrypted partition");
	assert_int_equal(search(b->p->file, canary, sizeof(canary)), 64 * MIB);
}

static void test_result_record(void **state)
{
	struct phx_wipe_result a = {.disk_id = "x", .method = PHX_WIPE_DISCARD, .verified = true},
			       c;
	(void)state;
	assert_int_equal(phx_record_copy(&phx_wipe_result_record, &c, &a), 0);
	assert_true(phx_record_equal(&phx_wipe_result_record, &a, &c));
	phx_record_fini(&phx_wipe_result_record, &c);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_overwrite_file),
		T(test_full_read_back),
		T(test_odd_size),
		T(test_discard_and_overwrite_loop),
		T(test_discard_unable),
		T(test_wrong_size),
		T(test_auto_is_no_method),
		T(test_what_is_no_disk),
		T(test_samples),
		T(test_no_less_is_read_than_asked),
		T(test_places_follow_from_the_number),
		T(test_the_sum_of_what_was_read),
		T(test_read_back_finds_one_byte),
		T(test_mounted),
		T(test_partition_mounted),
		T(test_swap),
		T(test_claimed_by_another_program),
		T(test_crypto),
		T(test_crypto_again_after_its_end),
		T(test_crypto_resumed),
		T(test_crypto_without_nodes),
		T(test_crypto_on_a_plain_disk),
		T(test_crypto_with_a_plain_neighbour),
		T(test_crypto_on_no_table),
		T(test_result_record),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
