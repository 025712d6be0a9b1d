/* A medium that is cut off, or that takes a write and does not keep it: pwrite() of this program is
 * ours. A wipe by key that was cut off at any of its writes can be done again, and what a medium
 * did not keep is found by reading it back. */
#include <sys/syscall.h>

#include "unit/disk/help.h"

enum { SIZE = 120 * MIB };
static const char canary[] = "the customer's secret records";
static const char key[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde";

static struct {
	uint32_t n_writes;
	uint32_t cut_after;          /* so many writes are done, then none; 0 = all are */
	uint64_t lost_from, lost_to; /* writes that begin here are reported as done, and are not */
} medium;

ssize_t pwrite(int fd, const void *data, size_t n, off_t offset)
{
	uint64_t at = (uint64_t)offset;
	if (medium.cut_after && medium.n_writes >= medium.cut_after) {
		errno = EIO;
		return -1;
	}
	medium.n_writes++;
	if (at >= medium.lost_from && at < medium.lost_to)
		return (ssize_t)n;
	return syscall(SYS_pwrite64, fd, data, n, offset);
}

struct bench {
	struct place *p;
	char kept[128]; /* the encrypted disk, as it was */
	struct phx_wipe_result result;
	struct phx_err err;
};

static void lay_out_encrypted(struct bench *b)
{
	char part[64];
	assert_int_equal(phx_table_write(b->p->loop, &b->err), 0);
	assert_int_equal(phx_part_path(b->p->loop, 1, part), 0);
	assert_int_equal(RUN("mkfs.ext4", "-q", "-F", part), 0);
	put(part, 30 * MIB, canary, sizeof(canary));
	assert_int_equal(phx_part_path(b->p->loop, 2, part), 0);
	assert_int_equal(phx_luks_format(part, key, sizeof(key), "key-1", &b->err), 0);
	assert_int_equal(phx_table_forget(b->p->loop, &b->err), 0);
	assert_int_equal(RUN("losetup", "-d", b->p->loop), 0);
	b->p->loop[0] = '\0';
}

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	medium = (typeof(medium)){0};
	b->p = place_new(SIZE);
	snprintf(b->kept, sizeof(b->kept), "%s/kept", b->p->dir);
	if (place_attach(b->p)) {
		lay_out_encrypted(b);
		assert_int_equal(RUN("cp", "--sparse=always", b->p->file, b->kept), 0);
	}
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;
	medium = (typeof(medium)){0};
	unlink(b->kept);
	place_free(b->p);
	free(b);
	return 0;
}

static bool laid_out(const struct bench *b)
{
	return access(b->kept, R_OK) == 0;
}

static void restore(struct bench *b)
{
	assert_int_equal(RUN("cp", "--sparse=always", b->kept, b->p->file), 0);
}

static int wipe(struct bench *b)
{
	phx_err_clear(&b->err);
	medium.n_writes = 0;
	const struct phx_wipe_order order = {.method = PHX_WIPE_CRYPTO};
	return phx_disk_wipe(b->p->file, &b->p->facts, &order, NULL, NULL, &b->result, &b->err);
}

static void assert_gone(struct bench *b)
{
	assert_true(b->result.verified);
	assert_int_equal(search(b->p->file, "LUKS\xba\xbe", 6), -1);
	assert_int_equal(search(b->p->file, "SKUL\xba\xbe", 6), -1);
	assert_int_equal(search(b->p->file, canary, sizeof(canary)), -1);
	assert_int_equal(search(b->p->file, "EFI PART", 8), -1);
}

static void test_cut_off_anywhere(void **state)
{
	struct bench *b = *state;
	if (!laid_out(b))
		skip();
	assert_int_equal(wipe(b), 0);
	uint32_t writes = medium.n_writes;
	assert_true(writes > 3);
	for (uint32_t cut = 1; cut < writes; cut++) {
		restore(b);
		medium.cut_after = cut;
		assert_int_equal(wipe(b), -EIO);
		medium.cut_after = 0;
		int r = wipe(b);
		if (r != 0)
			fail_msg("cut off after write %u of %u it cannot be done again: %s", cut,
				 writes, b->err.text);
		assert_gone(b);
	}
}

static void test_lost_writes_are_found(void **state)
{
	struct bench *b = *state;
	static const struct {
		const char *what;
		uint64_t from, to;
	} lost[] = {{"the first header", 65 * MIB, 66 * MIB},
		    {"the state partition", MIB, 65 * MIB},
		    {"the table", 0, MIB},
		    {"the table's copy", SIZE - MIB, SIZE}};
	if (!laid_out(b))
		skip();
	for (size_t i = 0; i < PHX_ARRAY_SIZE(lost); i++) {
		restore(b);
		medium.lost_from = lost[i].from;
		medium.lost_to = lost[i].to;
		if (wipe(b) != -EUCLEAN)
			fail_msg("%s was not erased, and nobody noticed", lost[i].what);
		assert_false(b->result.verified);
	}
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_cut_off_anywhere),
		T(test_lost_writes_are_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
