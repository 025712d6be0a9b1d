/* The crypto wipe: what makes an encrypted disk readable is destroyed, the
 * rest may stay. See internal.h; called by wipe.c. Needs no key, never opens
 * one. Written so that it can be cut off at any point and done again: the
 * table, which says where everything is, goes last. */
#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "disk/internal.h"

enum {
	HEADER_BYTES = 32 * PHX_MIB,          /* ours: 16 MiB of LUKS2 headers and key slots */
	FOREIGN_HEADER_BYTES = 136 * PHX_MIB, /* the most a LUKS2 header can take */
	MAGIC_BYTES = PHX_BLOCK_ALIGN,        /* by which an encrypted partition is known */
	TABLE_BYTES = PHX_READBACK_TABLE_BYTES,
	BLANK_BYTES = 65 * PHX_MIB, /* table and state partition */
};

static bool is_state(const struct phx_part *p)
{
	return phx_str_eq(p->label, PHX_DISK_STATE_LABEL);
}

static bool is_root(const struct phx_part *p)
{
	return phx_str_eq(p->label, PHX_DISK_ROOT_LABEL);
}

static uint64_t destroyed_bytes(const struct phx_part *p)
{
	uint64_t n = is_root(p) ? HEADER_BYTES : FOREIGN_HEADER_BYTES;
	return is_state(p) || p->size_bytes < n ? p->size_bytes : n;
}

/* rb: what is read counts there; NULL: nowhere. */
static int check_zero(const struct phx_block *b, uint64_t offset, uint64_t n,
		      struct phx_readback *rb, struct phx_err *err)
{
	PHX_AUTO_FREE uint8_t *data = phx_block_buffer(PHX_MIB);
	if (!data)
		return phx_err_set(err, -ENOMEM, "out of memory");
	for (uint64_t end = offset + n; offset < end;) {
		size_t now = end - offset < PHX_MIB ? (size_t)(end - offset) : PHX_MIB;
		int r = phx_block_read(b, offset, data, now, err);
		if (r == 0 && rb)
			r = phx_readback_add(rb, offset, data, now);
		if (r < 0)
			return r;
		if (!phx_block_is_all(data, now, 0))
			return phx_err_set(err, -EUCLEAN,
					   "%s: data remains between bytes %" PRIu64
					   " and %" PRIu64,
					   b->path, offset, offset + now);
		offset += now;
	}
	return 0;
}

static int check_part(const struct phx_block *b, const struct phx_part *p, struct phx_err *err)
{
	char type[32];
	if (is_state(p))
		return 0;
	int r = phx_signature_read(b->path, p->start_bytes, p->size_bytes, type, err);
	if (r < 0 || phx_str_eq(type, "crypto_LUKS"))
		return r;
	/* destroyed before the power went away */
	if (is_root(p) && check_zero(b, p->start_bytes, destroyed_bytes(p), NULL, NULL) == 0)
		return 0;
	return phx_err_set(
		err, -EOPNOTSUPP,
		"%s: partition %u (%s) is not encrypted: a crypto wipe would leave what it holds",
		b->path, p->number, type[0] ? type : "unknown contents");
}

/* No table: either the wipe came to its end and was not reported, or this never was ours. */
static int check_blank(const struct phx_block *b, struct phx_err *err)
{
	uint64_t head = b->size_bytes < BLANK_BYTES ? b->size_bytes : BLANK_BYTES;
	uint64_t tail = b->size_bytes < TABLE_BYTES ? 0 : b->size_bytes - TABLE_BYTES;
	if (check_zero(b, 0, head, NULL, NULL) == 0 &&
	    check_zero(b, tail, b->size_bytes - tail, NULL, NULL) == 0)
		return 0;
	return phx_err_set(err, -EOPNOTSUPP,
			   "%s: holds no encrypted partition: a crypto wipe would erase nothing",
			   b->path);
}

int phx_crypto_check(const struct phx_block *b, const struct phx_part_table *table,
		     struct phx_err *err)
{
	bool encrypted = false;
	if (!table->n)
		return check_blank(b, err);
	for (uint32_t i = 0; i < table->n; i++) {
		int r = check_part(b, &table->parts[i], err);
		if (r < 0)
			return r;
		encrypted |= !is_state(&table->parts[i]);
	}
	return encrypted
		? 0
		: phx_err_set(err, -EOPNOTSUPP,
			      "%s: holds no encrypted partition: a crypto wipe would erase nothing",
			      b->path);
}

/* Through the format first, where the kernel shows the partition: it knows where its slots are. */
static int destroy_slots(const struct phx_block *b, const struct phx_part *p)
{
	char node[64];
	struct stat st;
	if (b->is_file || phx_part_path(b->path, p->number, node) < 0 || stat(node, &st) < 0)
		return 0;
	int n = phx_luks_destroy(node, NULL);
	return n > 0 ? n : 0;
}

/* What says that it is encrypted goes last: cut off before, it is still known for what it is, and
 * the wipe can be done again. */
static int zero_header(const struct phx_block *b, const struct phx_part *p, struct phx_err *err)
{
	uint64_t n = destroyed_bytes(p), magic = n < MAGIC_BYTES ? n : MAGIC_BYTES;
	int r = phx_block_zero(b, p->start_bytes + magic, n - magic, NULL, NULL, err);
	if (r == 0)
		r = phx_block_flush(b, err);
	return r < 0 ? r : phx_block_zero(b, p->start_bytes, magic, NULL, NULL, err);
}

static int zero_parts(const struct phx_block *b, const struct phx_part_table *table, bool state,
		      struct phx_err *err)
{
	for (uint32_t i = 0; i < table->n; i++) {
		const struct phx_part *p = &table->parts[i];
		if (is_state(p) != state)
			continue;
		int r = zero_header(b, p, err);
		if (r < 0)
			return r;
	}
	return phx_block_flush(b, err);
}

/* The copy at the end first: a half-erased table still finds the partitions. */
static int zero_table(const struct phx_block *b, struct phx_err *err)
{
	uint64_t n = b->size_bytes < TABLE_BYTES ? b->size_bytes : TABLE_BYTES;
	int r = phx_block_zero(b, b->size_bytes - n, n, NULL, NULL, err);
	if (r == 0)
		r = phx_block_flush(b, err);
	if (r == 0)
		r = phx_block_zero(b, 0, n, NULL, NULL, err);
	return r < 0 ? r : phx_block_flush(b, err);
}

int phx_crypto_wipe(const struct phx_block *b, const struct phx_part_table *table, int *ret_slots,
		    struct phx_err *err)
{
	int slots = 0;
	for (uint32_t i = 0; i < table->n; i++)
		if (!is_state(&table->parts[i]))
			slots += destroy_slots(b, &table->parts[i]);
	int r = zero_parts(b, table, false, err);
	if (r == 0)
		r = zero_parts(b, table, true, err);
	if (r == 0)
		r = zero_table(b, err);
	if (r == 0)
		*ret_slots = slots;
	return r;
}

int phx_crypto_verify(const struct phx_block *b, const struct phx_part_table *table,
		      struct phx_readback *rb, struct phx_err *err)
{
	uint64_t n = b->size_bytes < TABLE_BYTES ? b->size_bytes : TABLE_BYTES;
	int r = phx_readback_begin(rb, err);
	if (r == 0)
		r = check_zero(b, 0, n, rb, err);
	if (r == 0)
		r = check_zero(b, b->size_bytes - n, n, rb, err);
	for (uint32_t i = 0; r == 0 && i < table->n; i++) {
		const struct phx_part *p = &table->parts[i];
		r = check_zero(b, p->start_bytes, destroyed_bytes(p), rb, err);
	}
	return r;
}
