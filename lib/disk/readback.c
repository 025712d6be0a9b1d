/* Reading a disk back after a wipe: see internal.h. Called by wipe.c; believes
 * the medium and nobody else. Only phx_samples_mark() writes. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>

#include "disk/internal.h"

enum {
	END_BYTES = 16 * PHX_MIB,
	CHUNK = PHX_SAMPLE_BYTES,
	PIECE = CHUNK / PHX_SAMPLE_PIECES,
	MARK_BYTES = PHX_BLOCK_ALIGN,
};
#define FULL_MAX (1024ull * PHX_MIB)

struct range {
	uint64_t begin, end;
};

static int add_range(struct phx_list *ranges, uint64_t begin, uint64_t n, uint64_t size)
{
	struct range *r = phx_list_push(ranges, sizeof(*r));
	if (!r)
		return -ENOMEM;
	begin -= begin % PHX_BLOCK_ALIGN;
	r->begin = begin < size ? begin : size;
	r->end = n < size - r->begin ? r->begin + n : size;
	return 0;
}

static int add_even(struct phx_list *ranges, uint64_t size, uint64_t budget)
{
	uint64_t n = (budget + CHUNK - 1) / CHUNK, stride = size / (n ? n : 1);
	for (uint64_t i = 0; i < n; i++)
		if (add_range(ranges, i * stride, CHUNK, size) < 0)
			return -ENOMEM;
	return 0;
}

static int by_begin(const void *a, const void *b)
{
	const struct range *x = a, *y = b;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Ranges, sorted and without overlap, in chunks. */
static int cut(struct phx_list *ranges, struct phx_list *ret_samples)
{
	uint64_t at = 0;
	qsort(ranges->items, ranges->n, sizeof(struct range), by_begin);
	PHX_LIST_EACH(struct range, r, ranges) {
		at = r->begin > at ? r->begin : at;
		while (at < r->end) {
			struct phx_sample *s = phx_list_push(ret_samples, sizeof(*s));
			if (!s)
				return -ENOMEM;
			s->offset = at;
			s->n_bytes = r->end - at < CHUNK ? (uint32_t)(r->end - at) : CHUNK;
			at += s->n_bytes;
		}
	}
	return 0;
}

static int collect(struct phx_list *ranges, uint64_t size, const struct phx_part_table *table,
		   bool full)
{
	uint64_t budget = full ? FULL_MAX : size / 100;
	int r = add_range(ranges, 0, END_BYTES, size);
	if (r == 0)
		r = add_range(ranges, size > END_BYTES ? size - END_BYTES : 0,
			      END_BYTES + PHX_BLOCK_ALIGN, size);
	for (uint32_t i = 0; r == 0 && i < table->n; i++)
		r = add_range(ranges, table->parts[i].start_bytes, CHUNK, size);
	if (r < 0)
		return r;
	return budget >= size ? add_range(ranges, 0, size, size) : add_even(ranges, size, budget);
}

int phx_samples_plan(uint64_t size_bytes, const struct phx_part_table *table, bool full,
		     struct phx_samples *ret, struct phx_err *err)
{
	PHX_AUTO(phx_list_fini) struct phx_list ranges = {0};
	struct phx_samples s = {0};
	int r = collect(&ranges, size_bytes, table, full);
	if (r == 0)
		r = cut(&ranges, &s.list);
	if (r < 0) {
		phx_list_fini(&s.list);
		return phx_err_set(err, r, "out of memory");
	}
	*ret = s;
	return 0;
}

static int dirty(const struct phx_block *b, const struct phx_sample *s, const uint8_t *data,
		 struct phx_err *err)
{
	uint32_t i = 0;
	while (i < s->n_bytes - 1 && !data[i])
		i++;
	return phx_err_set(err, -EUCLEAN,
			   "%s: byte %" PRIu64 " reads 0x%02x after the wipe, not zero", b->path,
			   s->offset + i, data[i]);
}

int phx_samples_read_zero(const struct phx_block *b, const struct phx_samples *s,
			  uint64_t *ret_bytes, struct phx_err *err)
{
	PHX_AUTO_FREE uint8_t *data = phx_block_buffer(CHUNK);
	if (!data)
		return phx_err_set(err, -ENOMEM, "out of memory");
	*ret_bytes = 0;
	PHX_LIST_EACH(struct phx_sample, p, &s->list) {
		int r = phx_block_read(b, p->offset, data, p->n_bytes, err);
		if (r < 0)
			return r;
		*ret_bytes += p->n_bytes;
		if (!phx_block_is_all(data, p->n_bytes, 0))
			return dirty(b, p, data, err);
	}
	return 0;
}

/* Tells contents apart, no more: nobody forges what a drive forgets to erase. */
static uint64_t fingerprint(const uint8_t *data, size_t n)
{
	uint64_t h = 0xcbf29ce484222325u;
	for (size_t i = 0; i + 8 <= n; i += 8) {
		uint64_t word;
		memcpy(&word, data + i, 8);
		h = (h ^ word) * 0x100000001b3u;
		h ^= h >> 29;
	}
	return h;
}

/* Part `i` of a sample, behind the mark; 0 bytes where the sample has ended. */
static size_t piece(const struct phx_sample *p, uint32_t i, size_t *ret_begin)
{
	size_t begin = i ? (size_t)i * PIECE : MARK_BYTES, end = (size_t)(i + 1) * PIECE;
	end = end < p->n_bytes ? end : p->n_bytes;
	*ret_begin = begin;
	return begin < end ? end - begin : 0;
}

static int mark_one(const struct phx_block *b, const struct phx_samples *s, struct phx_sample *p,
		    uint8_t *data, struct phx_err *err)
{
	size_t n = p->n_bytes < MARK_BYTES ? p->n_bytes : MARK_BYTES;
	int r = phx_block_read(b, p->offset, data, p->n_bytes, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i + sizeof(s->mark) <= n; i += sizeof(s->mark))
		memcpy(data + i, s->mark, sizeof(s->mark));
	for (uint32_t i = 0; i < PHX_SAMPLE_PIECES; i++) {
		size_t begin, n_piece = piece(p, i, &begin);
		p->prints[i] = fingerprint(data + begin, n_piece);
	}
	return phx_block_write(b, p->offset, data, n, err);
}

int phx_samples_mark(const struct phx_block *b, struct phx_samples *s, struct phx_err *err)
{
	PHX_AUTO_FREE uint8_t *data = phx_block_buffer(CHUNK);
	if (!data)
		return phx_err_set(err, -ENOMEM, "out of memory");
	if (getrandom(s->mark, sizeof(s->mark), 0) != (ssize_t)sizeof(s->mark))
		return phx_err_set(err, -EIO, "the kernel gives no random bytes");
	PHX_LIST_EACH(struct phx_sample, p, &s->list) {
		int r = mark_one(b, s, p, data, err);
		if (r < 0)
			return r;
	}
	return phx_block_flush(b, err);
}

/* Does it hold anything that was there before the erase? What is of one byte value says nothing:
 * the mark does. */
static bool holds_old(const struct phx_samples *s, const struct phx_sample *p, const uint8_t *data)
{
	if (!memcmp(data, s->mark, sizeof(s->mark)))
		return true;
	for (uint32_t i = 0; i < PHX_SAMPLE_PIECES; i++) {
		size_t begin, n = piece(p, i, &begin);
		if (n && !phx_block_is_all(data + begin, n, data[begin]) &&
		    fingerprint(data + begin, n) == p->prints[i])
			return true;
	}
	return false;
}

int phx_samples_read_changed(const struct phx_block *b, const struct phx_samples *s,
			     bool *ret_all_zero, uint64_t *ret_bytes, struct phx_err *err)
{
	PHX_AUTO_FREE uint8_t *data = phx_block_buffer(CHUNK);
	if (!data)
		return phx_err_set(err, -ENOMEM, "out of memory");
	*ret_bytes = 0;
	*ret_all_zero = true;
	PHX_LIST_EACH(struct phx_sample, p, &s->list) {
		int r = phx_block_read(b, p->offset, data, p->n_bytes, err);
		if (r < 0)
			return r;
		*ret_bytes += p->n_bytes;
		if (!phx_block_is_all(data, p->n_bytes, 0))
			*ret_all_zero = false;
		if (holds_old(s, p, data))
			return phx_err_set(err, -EUCLEAN,
					   "%s: byte %" PRIu64
					   " still reads what was there before the erase that the "
					   "drive reported as done",
					   b->path, p->offset);
	}
	return 0;
}
