/* The image sink: whole, cut, altered, too large, sparse, given up. */
#include <openssl/evp.h>
#include <sys/syscall.h>
#include <zstd.h>

#include "unit/disk/help.h"

enum { DEVICE = 24 * MIB };

struct image {
	struct place *p;
	uint8_t *plain;
	size_t n_plain;
	uint8_t *packed;
	size_t n_packed;
	size_t n_announced; /* the manifest says so many bytes more */
	char sha256[65];
	struct phx_err err;
};

static void digest(const void *data, size_t n, char ret[65])
{
	uint8_t md[32];
	assert_int_equal(EVP_Digest(data, n, md, NULL, EVP_sha256(), NULL), 1);
	for (int i = 0; i < 32; i++)
		snprintf(ret + 2 * i, 3, "%02x", md[i]);
}

/* Neither all zero nor incompressible: noise, text and holes. */
static void make_image(struct image *m, size_t n, int window_log)
{
	m->plain = calloc(1, n);
	m->n_plain = n;
	uint32_t x = 12345;
	for (size_t i = 0; i < n; i++) {
		x = x * 1103515245 + 12345;
		size_t unit = i / (256 * 1024);
		m->plain[i] = unit % 4 == 1 ? (uint8_t)(x >> 16)
			: unit % 4 == 2     ? (uint8_t)("phoenix "[i % 8])
					    : 0;
	}
	memcpy(m->plain + 1080, "\x53\xef", 2);
	if (n > 4 * MIB) /* a hole that is none: its end holds something */
		m->plain[3 * MIB + 256 * 1024 - 1] = 7;
	m->packed = malloc(ZSTD_compressBound(n));
	ZSTD_CCtx *c = ZSTD_createCCtx();
	ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, window_log);
	m->n_packed = ZSTD_compress2(c, m->packed, ZSTD_compressBound(n), m->plain, n);
	assert_false(ZSTD_isError(m->n_packed));
	ZSTD_freeCCtx(c);
	digest(m->packed, m->n_packed, m->sha256);
}

static int setup(void **state)
{
	struct image *m = calloc(1, sizeof(*m));
	m->p = place_new(DEVICE);
	*state = m;
	return 0;
}

static int teardown(void **state)
{
	struct image *m = *state;
	place_free(m->p);
	free(m->plain);
	free(m->packed);
	free(m);
	return 0;
}

/* Feeds `n` bytes in pieces; stops at the first error as a download would. */
static int feed(struct image *m, const char *device, bool sparse, size_t n, size_t piece)
{
	struct phx_image_sink *s;
	int r = phx_image_sink_open(device, sparse, &s, &m->err);
	if (r < 0)
		return r;
	for (size_t at = 0; at < n && r == 0; at += piece)
		r = phx_image_sink_write(s, m->packed + at, n - at < piece ? n - at : piece,
					 &m->err);
	int f = phx_image_sink_finish(s, m->sha256, m->n_packed + m->n_announced, m->n_plain,
				      &m->err);
	return r < 0 ? r : f;
}

static void assert_device_holds(struct image *m, const char *device)
{
	uint8_t *data = malloc(m->n_plain);
	get(device, 0, data, m->n_plain);
	assert_memory_equal(data, m->plain, m->n_plain);
	free(data);
}

static void assert_not_mountable(const char *device)
{
	static uint8_t head[MIB];
	char type[32];
	get(device, 0, head, sizeof(head));
	assert_true(phx_block_is_all(head, sizeof(head), 0));
	assert_int_equal(phx_signature_read(device, 0, 0, type, NULL), 0);
	assert_string_equal(type, "");
}

static void test_whole(void **state)
{
	struct image *m = *state;
	static const size_t pieces[] = {1 << 30, 16384, 100003, 262144};
	make_image(m, 10 * MIB, 0);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(pieces); i++) {
		make_file(m->p->file, DEVICE);
		assert_int_equal(feed(m, m->p->file, false, m->n_packed, pieces[i]), 0);
		assert_device_holds(m, m->p->file);
	}
}

/* Sizes around the block, the head and the sector. */
static void test_sizes(void **state)
{
	struct image *m = *state;
	static const size_t sizes[] = {4096,    MIB - 512,   MIB,     MIB + 1,
				       2 * MIB, 2 * MIB + 7, 4 * MIB, DEVICE};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(sizes); i++) {
		free(m->plain);
		free(m->packed);
		make_image(m, sizes[i], 0);
		make_file(m->p->file, DEVICE);
		assert_int_equal(feed(m, m->p->file, false, m->n_packed, 65536), 0);
		assert_device_holds(m, m->p->file);
	}
}

static void test_loop_device(void **state)
{
	struct image *m = *state;
	if (!place_attach(m->p))
		skip();
	make_image(m, 11 * MIB + 4096, 0);
	assert_int_equal(feed(m, m->p->loop, false, m->n_packed, 16384), 0);
	assert_device_holds(m, m->p->loop);
	assert_device_holds(m, m->p->file);
}

static void test_sparse_leaves_holes(void **state)
{
	struct image *m = *state;
	struct stat st;
	make_image(m, 20 * MIB, 0);
	assert_int_equal(feed(m, m->p->file, true, m->n_packed, 65536), 0);
	assert_device_holds(m, m->p->file);
	assert_int_equal(stat(m->p->file, &st), 0);
	assert_true((uint64_t)st.st_blocks * 512 < 13 * MIB);
}

/* Without `sparse` zeros are written: what lay on the device does not show through. */
static void test_dense_writes_zeros(void **state)
{
	struct image *m = *state;
	make_image(m, 20 * MIB, 0);
	for (uint64_t at = 0; at < DEVICE; at += MIB)
		put(m->p->file, at + 300000, "old data", 8);
	assert_int_equal(feed(m, m->p->file, false, m->n_packed, 65536), 0);
	assert_device_holds(m, m->p->file);
}

static void test_cut_short(void **state)
{
	struct image *m = *state;
	make_image(m, 10 * MIB, 0);
	const size_t cuts[] = {0, 1, 100, m->n_packed / 2, m->n_packed - 1};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cuts); i++) {
		phx_err_clear(&m->err);
		put(m->p->file, 0, m->plain, MIB);
		assert_int_equal(feed(m, m->p->file, false, cuts[i], 65536), -EBADMSG);
		assert_text(m->err, "cut short");
		assert_not_mountable(m->p->file);
	}
}

static void test_altered(void **state)
{
	struct image *m = *state;
	make_image(m, 10 * MIB, 0);
	for (size_t i = 0; i < 40; i++) {
		size_t at = m->n_packed * i / 40;
		m->packed[at] ^= 0x10;
		assert_int_equal(feed(m, m->p->file, false, m->n_packed, 65536), -EBADMSG);
		assert_not_mountable(m->p->file);
		m->packed[at] ^= 0x10;
	}
}

static void test_wrong_digest_and_sizes(void **state)
{
	struct image *m = *state;
	make_image(m, 3 * MIB, 0);
	m->sha256[5] = m->sha256[5] == '0' ? '1' : '0';
	assert_int_equal(feed(m, m->p->file, false, m->n_packed, 65536), -EBADMSG);
	assert_text(m->err, "SHA-256");
	assert_not_mountable(m->p->file);
	digest(m->packed, m->n_packed, m->sha256);
	m->n_plain++;
	phx_err_clear(&m->err);
	assert_int_equal(feed(m, m->p->file, false, m->n_packed, 65536), -EBADMSG);
	assert_text(m->err, "unpacks to");
	assert_not_mountable(m->p->file);
	m->n_plain--;
	m->n_announced = 1;
	phx_err_clear(&m->err);
	assert_int_equal(feed(m, m->p->file, false, m->n_packed, 65536), -EBADMSG);
	assert_text(m->err, "came with");
	assert_not_mountable(m->p->file);
}

static void test_no_zstd(void **state)
{
	struct image *m = *state;
	make_image(m, 3 * MIB, 0);
	memcpy(m->packed,
	       "\x7f"
	       "ELF",
	       4);
	assert_int_equal(feed(m, m->p->file, false, m->n_packed, 65536), -EBADMSG);
	assert_text(m->err, "zstd");
	assert_not_mountable(m->p->file);
}

static void test_bytes_after_the_end(void **state)
{
	struct image *m = *state;
	make_image(m, 3 * MIB, 0);
	m->packed = realloc(m->packed, m->n_packed + 10);
	memset(m->packed + m->n_packed, 'x', 10);
	assert_int_equal(feed(m, m->p->file, false, m->n_packed + 10, 65536), -EBADMSG);
	assert_not_mountable(m->p->file);
}

static void test_larger_than_device(void **state)
{
	struct image *m = *state;
	make_image(m, DEVICE + 4096, 0);
	assert_int_equal(feed(m, m->p->file, false, m->n_packed, 65536), -ENOSPC);
	assert_text(m->err, "larger than the device");
	assert_not_mountable(m->p->file);
}

/* A stream of a few bytes that would unpack without end. */
static void test_bomb(void **state)
{
	struct image *m = *state;
	m->n_plain = 400 * MIB;
	m->plain = calloc(1, m->n_plain);
	m->packed = malloc(MIB);
	m->n_packed = ZSTD_compress(m->packed, MIB, m->plain, m->n_plain, 1);
	assert_false(ZSTD_isError(m->n_packed));
	digest(m->packed, m->n_packed, m->sha256);
	assert_int_equal(feed(m, m->p->file, true, m->n_packed, 65536), -ENOSPC);
	assert_not_mountable(m->p->file);
}

static void test_window_too_large(void **state)
{
	struct image *m = *state;
	m->n_plain = 70 * MIB;
	m->plain = calloc(1, m->n_plain);
	m->packed = malloc(MIB);
	ZSTD_CCtx *c = ZSTD_createCCtx();
	ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, 27);
	m->n_packed = ZSTD_compress2(c, m->packed, MIB, m->plain, m->n_plain);
	ZSTD_freeCCtx(c);
	assert_false(ZSTD_isError(m->n_packed));
	digest(m->packed, m->n_packed, m->sha256);
	assert_int_equal(feed(m, m->p->file, false, m->n_packed, 65536), -EBADMSG);
	assert_text(m->err, "window up to 32 MiB");
}

static void test_several_frames(void **state)
{
	struct image *m = *state;
	struct image two = {0};
	make_image(m, 4 * MIB, 0);
	make_image(&two, 2 * MIB, 0);
	m->plain = realloc(m->plain, 6 * MIB);
	memcpy(m->plain + 4 * MIB, two.plain, 2 * MIB);
	m->packed = realloc(m->packed, m->n_packed + two.n_packed);
	memcpy(m->packed + m->n_packed, two.packed, two.n_packed);
	m->n_packed += two.n_packed;
	m->n_plain = 6 * MIB;
	digest(m->packed, m->n_packed, m->sha256);
	assert_int_equal(feed(m, m->p->file, false, m->n_packed, 4096), 0);
	assert_device_holds(m, m->p->file);
	free(two.plain);
	free(two.packed);
}

static void test_given_up(void **state)
{
	struct image *m = *state;
	struct phx_image_sink *s;
	make_image(m, 10 * MIB, 0);
	put(m->p->file, 0, m->plain, MIB);
	assert_int_equal(phx_image_sink_open(m->p->file, false, &s, &m->err), 0);
	assert_int_equal(phx_image_sink_write(s, m->packed, m->n_packed, &m->err), 0);
	phx_image_sink_free(s);
	assert_not_mountable(m->p->file);
	phx_image_sink_free(NULL);
}

static void test_no_device(void **state)
{
	struct image *m = *state;
	struct phx_image_sink *s;
	assert_int_equal(phx_image_sink_open("/tmp/no-such-disk", false, &s, &m->err), -ENOENT);
	assert_text(m->err, "/tmp/no-such-disk");
	phx_err_clear(&m->err);
	assert_int_equal(phx_image_sink_open("/dev/null", false, &s, &m->err), -ENOTBLK);
}

/* ---- what is on the medium when ---- */

/* In the place of the C library's, for this program: notes whether the head of a file system was
 * written while anything behind it had not been flushed, or was yet to come. */
static struct {
	bool watching, unflushed, behind_unflushed, head_too_early;
	uint32_t heads;
} medium;

ssize_t pwrite(int fd, const void *data, size_t n, off_t offset)
{
	bool head = (uint64_t)offset < MIB && !phx_block_is_all(data, n, 0),
	     behind = (uint64_t)offset + n > MIB;
	if (medium.watching) {
		medium.heads += head;
		medium.head_too_early |=
			(head && medium.behind_unflushed) || (behind && medium.heads);
	}
	medium.unflushed = true;
	medium.behind_unflushed |= behind;
	return syscall(SYS_pwrite64, fd, data, n, offset);
}

int fsync(int fd)
{
	medium.unflushed = medium.behind_unflushed = false;
	return (int)syscall(SYS_fsync, fd);
}

/* A power cut may keep any of the writes since the last flush: the head must not be among them. */
static void test_the_head_is_written_last(void **state)
{
	struct image *m = *state;
	make_image(m, 10 * MIB, 0);
	medium = (typeof(medium)){.watching = true};
	assert_int_equal(feed(m, m->p->file, false, m->n_packed, 65536), 0);
	assert_true(medium.heads > 0);
	assert_false(medium.head_too_early);
	assert_false(medium.unflushed);
	medium.watching = false;
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_whole),
		T(test_sizes),
		T(test_loop_device),
		T(test_sparse_leaves_holes),
		T(test_dense_writes_zeros),
		T(test_cut_short),
		T(test_altered),
		T(test_wrong_digest_and_sizes),
		T(test_no_zstd),
		T(test_bytes_after_the_end),
		T(test_larger_than_device),
		T(test_bomb),
		T(test_window_too_large),
		T(test_several_frames),
		T(test_given_up),
		T(test_no_device),
		T(test_the_head_is_written_last),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
