/* Reading a disk back after a wipe: see internal.h. Called by wipe.c; believes
 * the medium and nobody else. Only phx_samples_mark() writes. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>

#include "base/mix.h"
#include "disk/internal.h"

enum {
	END_BYTES = PHX_READBACK_END_BYTES,
	CHUNK = PHX_SAMPLE_BYTES,
	PIECE = CHUNK / PHX_SAMPLE_PIECES,
	MARK_BYTES = PHX_BLOCK_ALIGN,
};

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

static int add_drawn(struct phx_list *ranges, uint64_t size, uint64_t seed)
{
	PHX_AUTO(phx_list_fini) struct phx_list drawn = {0};
	int r = phx_readback_drawn(size, seed, &drawn);
	for (uint32_t i = 0; r == 0 && i < drawn.n; i++)
		r = add_range(ranges, *PHX_LIST_AT(&drawn, uint64_t, i), CHUNK, size);
	return r;
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
		   uint64_t seed)
{
	int r = add_range(ranges, 0, END_BYTES, size);
	if (r == 0)
		r = add_range(ranges, size > END_BYTES ? size - END_BYTES : 0,
			      END_BYTES + PHX_BLOCK_ALIGN, size);
	for (uint32_t i = 0; r == 0 && i < table->n; i++)
		r = add_range(ranges, table->parts[i].start_bytes, CHUNK, size);
	return r < 0 ? r : add_drawn(ranges, size, seed);
}

int phx_samples_plan(uint64_t size_bytes, const struct phx_part_table *table, uint64_t seed,
		     struct phx_samples *ret, struct phx_err *err)
{
	PHX_AUTO(phx_list_fini) struct phx_list ranges = {0};
	struct phx_samples s = {0};
	int r = collect(&ranges, size_bytes, table, seed);
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

/* Reads one place of the disk; what it reads counts. */
static int read_place(const struct phx_block *b, uint64_t offset, uint32_t n, uint8_t *data,
		      struct phx_readback *rb, struct phx_err *err)
{
	int r = phx_block_read(b, offset, data, n, err);
	if (r == 0 && (r = phx_readback_add(rb, offset, data, n)) < 0)
		phx_err_set(err, r, "%s: what was read cannot be summed", b->path);
	return r;
}

/* The places of the samples, or else of the whole disk, one after the other; false: no more. */
static bool next_place(const struct phx_block *b, const struct phx_samples *s, uint64_t i,
		       struct phx_sample *ret)
{
	if (s && i < s->list.n)
		*ret = *PHX_LIST_AT(&s->list, struct phx_sample, (uint32_t)i);
	if (s)
		return i < s->list.n;
	uint64_t left = i * CHUNK < b->size_bytes ? b->size_bytes - i * CHUNK : 0;
	*ret = (struct phx_sample){.offset = i * CHUNK,
				   .n_bytes = left < CHUNK ? (uint32_t)left : CHUNK};
	return left;
}

int phx_samples_read_zero(const struct phx_block *b, const struct phx_samples *s,
			  struct phx_readback *rb, struct phx_err *err)
{
	PHX_AUTO_FREE uint8_t *data = phx_block_buffer(CHUNK);
	struct phx_sample p = {0};
	if (!data)
		return phx_err_set(err, -ENOMEM, "out of memory");
	int r = phx_readback_begin(rb, err);
	for (uint64_t i = 0; r == 0 && next_place(b, s, i, &p); i++) {
		r = read_place(b, p.offset, p.n_bytes, data, rb, err);
		if (r == 0 && !phx_block_is_all(data, p.n_bytes, 0))
			r = dirty(b, &p, data, err);
	}
	return r;
}

/* Tells contents apart, no more: nobody forges what a drive forgets to erase. */
static uint64_t fingerprint(const uint8_t *data, size_t n)
{
	uint64_t h = PHX_MIX_NONE;
	for (size_t i = 0; i + 8 <= n; i += 8) {
		uint64_t word;
		memcpy(&word, data + i, 8);
		h = phx_mix_number(h, word);
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
			     bool *ret_all_zero, struct phx_readback *rb, struct phx_err *err)
{
	PHX_AUTO_FREE uint8_t *data = phx_block_buffer(CHUNK);
	if (!data)
		return phx_err_set(err, -ENOMEM, "out of memory");
	*ret_all_zero = true;
	int r = phx_readback_begin(rb, err);
	if (r < 0)
		return r;
	PHX_LIST_EACH(struct phx_sample, p, &s->list) {
		r = read_place(b, p->offset, p->n_bytes, data, rb, err);
		if (r < 0)
			return r;
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
