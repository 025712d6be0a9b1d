/* The image sink: see disk.h. Called by the agent's image step with what comes
 * from the network; the image is checked while it streams.
 *
 *   caller -> [chunks] -> hash                       (SHA-256 of what came)
 *                      -> decode -> [blocks] -> write (large, direct)
 *
 * The first MiB of the file system, without which nothing mounts, stays in
 * memory until digest and sizes are right: a power cut in the middle leaves
 * as little behind as a wrong image. Never reads the device. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <zstd.h>

#include "disk/internal.h"

enum {
	CHUNK = 256 * 1024,
	N_CHUNKS = 16,
	BLOCK = 2 * PHX_MIB,
	N_BLOCKS = 4,
	HEAD = PHX_MIB,
	SPARSE_UNIT = 64 * 1024,
	WINDOW_LOG_MAX = 25, /* 32 MiB */
};

enum reader { HASH, DECODE, WRITE, N_READERS };

/* A bounded queue of buffers that one thread fills and `n_readers` others each see whole. */
struct queue {
	uint8_t *buffers[N_CHUNKS];
	size_t lengths[N_CHUNKS];
	uint32_t n_slots;
	uint64_t filled;           /* buffers put so far */
	uint64_t taken[N_READERS]; /* by each reader */
	enum reader first, last;   /* who reads it */
	bool closed;
};

struct phx_image_sink {
	struct phx_block block;
	bool sparse;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct queue chunks, blocks;
	bool running;
	pthread_t threads[N_READERS];
	uint32_t n_threads;
	int failed; /* first error of any stage; all stages end */
	struct phx_err err;
	EVP_MD_CTX *md;
	ZSTD_DStream *zstd;
	uint64_t compressed_bytes, plain_bytes, written_bytes;
	uint8_t *head; /* the first MiB of the file system */
	size_t n_head;
	uint8_t *fill; /* the chunk being collected by the caller, NULL = none */
	size_t n_fill;
};

/* ---- queues; all under sink->lock ---- */

static void fail(struct phx_image_sink *s, int code, const char *text)
{
	pthread_mutex_lock(&s->lock);
	if (!s->failed) {
		s->failed = code;
		phx_err_set(&s->err, code, "%s", text);
	}
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static bool has_room(const struct queue *q)
{
	for (enum reader r = q->first; r <= q->last; r++)
		if (q->filled - q->taken[r] >= q->n_slots)
			return false;
	return true;
}

/* The next buffer to fill; NULL when the sink failed. */
static uint8_t *begin_put(struct phx_image_sink *s, struct queue *q)
{
	pthread_mutex_lock(&s->lock);
	while (!s->failed && !has_room(q))
		pthread_cond_wait(&s->changed, &s->lock);
	uint8_t *buffer = s->failed ? NULL : q->buffers[q->filled % q->n_slots];
	pthread_mutex_unlock(&s->lock);
	return buffer;
}

static void end_put(struct phx_image_sink *s, struct queue *q, size_t n)
{
	pthread_mutex_lock(&s->lock);
	q->lengths[q->filled % q->n_slots] = n;
	q->filled++;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static void close_queue(struct phx_image_sink *s, struct queue *q)
{
	pthread_mutex_lock(&s->lock);
	q->closed = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

/* The reader's next buffer; NULL at the end of the stream or when the sink failed. */
static uint8_t *begin_take(struct phx_image_sink *s, struct queue *q, enum reader r, size_t *ret_n)
{
	uint8_t *buffer = NULL;
	pthread_mutex_lock(&s->lock);
	while (!s->failed && !q->closed && q->taken[r] == q->filled)
		pthread_cond_wait(&s->changed, &s->lock);
	if (!s->failed && q->taken[r] < q->filled) {
		buffer = q->buffers[q->taken[r] % q->n_slots];
		*ret_n = q->lengths[q->taken[r] % q->n_slots];
	}
	pthread_mutex_unlock(&s->lock);
	return buffer;
}

static void end_take(struct phx_image_sink *s, struct queue *q, enum reader r)
{
	pthread_mutex_lock(&s->lock);
	q->taken[r]++;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

/* ---- stages ---- */

static void *hash_stage(void *arg)
{
	struct phx_image_sink *s = arg;
	uint8_t *data;
	size_t n;
	while ((data = begin_take(s, &s->chunks, HASH, &n))) {
		if (EVP_DigestUpdate(s->md, data, n) != 1)
			fail(s, -EIO, "SHA-256 failed");
		end_take(s, &s->chunks, HASH);
	}
	return NULL;
}

/* Decoded bytes go through this: whole blocks to the writer. */
struct outlet {
	uint8_t *block;
	size_t n;
};

/* Decode one chunk; *ret_rest is 0 where a zstd frame just ended. False when the sink failed. */
static bool decode_chunk(struct phx_image_sink *s, ZSTD_inBuffer *in, struct outlet *o,
			 size_t *ret_rest)
{
	bool full;
	do {
		if (!o->block)
			o->block = begin_put(s, &s->blocks);
		if (!o->block)
			return false;
		ZSTD_outBuffer out = {o->block, BLOCK, o->n};
		*ret_rest = ZSTD_decompressStream(s->zstd, &out, in);
		if (ZSTD_isError(*ret_rest)) {
			char text[160];
			snprintf(
				text, sizeof(text),
				"the image is no intact zstd stream with a window up to 32 MiB: %s",
				ZSTD_getErrorName(*ret_rest));
			fail(s, -EBADMSG, text);
			return false;
		}
		o->n = out.pos;
		full = o->n == BLOCK;
		if (full) {
			end_put(s, &s->blocks, o->n);
			*o = (struct outlet){0};
		}
		/* a full block may have left decoded bytes inside zstd, unless its frame just
		 * ended */
	} while (in->pos < in->size || (full && *ret_rest));
	return true;
}

static void *decode_stage(void *arg)
{
	struct phx_image_sink *s = arg;
	struct outlet o = {0};
	size_t n, rest = 1;
	uint8_t *data;
	while ((data = begin_take(s, &s->chunks, DECODE, &n))) {
		ZSTD_inBuffer in = {data, n, 0};
		if (!decode_chunk(s, &in, &o, &rest))
			return NULL;
		end_take(s, &s->chunks, DECODE);
	}
	if (rest)
		fail(s, -EBADMSG,
		     "the image ends in the middle of its zstd stream: it was cut short");
	if (o.n)
		end_put(s, &s->blocks, o.n);
	close_queue(s, &s->blocks);
	return NULL;
}

/* Direct writes want whole sectors: the odd end of an image goes through the cache. */
static int write_run(struct phx_image_sink *s, uint64_t offset, const uint8_t *data, size_t n)
{
	struct phx_err err = {0};
	if (n % PHX_BLOCK_ALIGN || offset % PHX_BLOCK_ALIGN)
		fcntl(s->block.fd, F_SETFL, fcntl(s->block.fd, F_GETFL) & ~O_DIRECT);
	int r = phx_block_write(&s->block, offset, data, n, &err);
	if (r < 0)
		fail(s, r, err.text);
	return r;
}

/* Only what is not zero, in runs of SPARSE_UNIT. */
static int write_sparse(struct phx_image_sink *s, uint64_t offset, const uint8_t *data, size_t n)
{
	size_t begin = 0;
	for (size_t at = 0; at < n; at += SPARSE_UNIT) {
		size_t unit = n - at < SPARSE_UNIT ? n - at : SPARSE_UNIT;
		if (!phx_block_is_all(data + at, unit, 0))
			continue;
		if (at > begin && write_run(s, offset + begin, data + begin, at - begin) < 0)
			return -EIO;
		begin = at + unit;
	}
	return begin < n ? write_run(s, offset + begin, data + begin, n - begin) : 0;
}

/* One decoded block: its share of the head is kept back, the rest goes to the device. */
static int write_block(struct phx_image_sink *s, const uint8_t *data, size_t n)
{
	uint64_t offset = s->written_bytes;
	size_t head = offset < HEAD ? (n < HEAD - offset ? n : (size_t)(HEAD - offset)) : 0;
	if (n > s->block.size_bytes - offset) {
		fail(s, -ENOSPC, "the image is larger than the device");
		return -ENOSPC;
	}
	memcpy(s->head + s->n_head, data, head);
	s->n_head += head;
	s->written_bytes += n;
	if (head == n)
		return 0;
	return s->sparse ? write_sparse(s, offset + head, data + head, n - head)
			 : write_run(s, offset + head, data + head, n - head);
}

static void *write_stage(void *arg)
{
	struct phx_image_sink *s = arg;
	uint8_t *data;
	size_t n;
	while ((data = begin_take(s, &s->blocks, WRITE, &n))) {
		if (write_block(s, data, n) < 0)
			return NULL;
		end_take(s, &s->blocks, WRITE);
	}
	return NULL;
}

/* ---- the sink ---- */

static int make_queue(struct queue *q, uint32_t n_slots, size_t size, enum reader first,
		      enum reader last)
{
	*q = (struct queue){.n_slots = n_slots, .first = first, .last = last};
	for (uint32_t i = 0; i < n_slots; i++)
		if (!(q->buffers[i] = phx_block_buffer(size)))
			return -ENOMEM;
	return 0;
}

static void free_queue(struct queue *q)
{
	for (uint32_t i = 0; i < q->n_slots; i++)
		free(q->buffers[i]);
}

static int make_codecs(struct phx_image_sink *s)
{
	s->md = EVP_MD_CTX_new();
	s->zstd = ZSTD_createDStream();
	s->head = phx_block_buffer(HEAD);
	if (!s->md || !s->zstd || !s->head || EVP_DigestInit_ex(s->md, EVP_sha256(), NULL) != 1 ||
	    ZSTD_isError(ZSTD_DCtx_setParameter(s->zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX)))
		return -ENOMEM;
	int r = make_queue(&s->chunks, N_CHUNKS, CHUNK, HASH, DECODE);
	return r < 0 ? r : make_queue(&s->blocks, N_BLOCKS, BLOCK, WRITE, WRITE);
}

static int start_threads(struct phx_image_sink *s)
{
	static void *(*const stages[N_READERS])(void *) = {hash_stage, decode_stage, write_stage};
	for (; s->n_threads < N_READERS; s->n_threads++) {
		int r = pthread_create(&s->threads[s->n_threads], NULL, stages[s->n_threads], s);
		if (r)
			return -r;
	}
	return 0;
}

static void join_threads(struct phx_image_sink *s)
{
	while (s->n_threads)
		pthread_join(s->threads[--s->n_threads], NULL);
}

/* Nothing mounts without its first MiB. */
static int spoil(struct phx_image_sink *s, struct phx_err *err)
{
	uint64_t n = s->block.size_bytes < HEAD ? s->block.size_bytes : HEAD;
	int r = phx_block_zero(&s->block, 0, n, NULL, NULL, err);
	return r < 0 ? r : phx_block_flush(&s->block, err);
}

static void free_all(struct phx_image_sink *s)
{
	free_queue(&s->chunks);
	free_queue(&s->blocks);
	free(s->head);
	EVP_MD_CTX_free(s->md);
	ZSTD_freeDStream(s->zstd);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	phx_block_close(&s->block);
	free(s);
}

int phx_image_sink_open(const char *device, bool sparse, struct phx_image_sink **ret,
			struct phx_err *err)
{
	struct phx_image_sink *s = calloc(1, sizeof(*s));
	if (!s)
		return phx_err_set(err, -ENOMEM, "out of memory");
	s->block.fd = -1;
	s->sparse = sparse;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	int r = make_codecs(s);
	if (r == 0)
		r = phx_block_open(device, true, true, &s->block, err);
	if (r == 0)
		r = spoil(s, err);
	if (r == 0)
		r = start_threads(s);
	if (r < 0) {
		fail(s, r, "not started");
		join_threads(s);
		free_all(s);
		return phx_err_set(err, r, "%s: %s", device, strerror(-r));
	}
	*ret = s;
	return 0;
}

/* The first error any stage met, as this call's own. */
static int report(struct phx_image_sink *s, struct phx_err *err)
{
	pthread_mutex_lock(&s->lock);
	int r = s->failed;
	if (r < 0)
		phx_err_set(err, r, "%s: %s", s->block.path, s->err.text);
	pthread_mutex_unlock(&s->lock);
	return r;
}

static void flush_fill(struct phx_image_sink *s)
{
	if (s->fill)
		end_put(s, &s->chunks, s->n_fill);
	s->fill = NULL;
	s->n_fill = 0;
}

int phx_image_sink_write(struct phx_image_sink *s, const void *data, size_t n, struct phx_err *err)
{
	const uint8_t *p = data;
	while (n) {
		if (!s->fill)
			s->fill = begin_put(s, &s->chunks);
		if (!s->fill)
			return report(s, err);
		size_t now = n < CHUNK - s->n_fill ? n : CHUNK - s->n_fill;
		memcpy(s->fill + s->n_fill, p, now);
		s->n_fill += now;
		s->compressed_bytes += now;
		p += now;
		n -= now;
		if (s->n_fill == CHUNK)
			flush_fill(s);
	}
	return report(s, err);
}

static int check_digest(struct phx_image_sink *s, const char *sha256, struct phx_err *err)
{
	uint8_t digest[EVP_MAX_MD_SIZE];
	char hex[65] = "";
	unsigned int n;
	if (EVP_DigestFinal_ex(s->md, digest, &n) != 1 || n != 32)
		return phx_err_set(err, -EIO, "SHA-256 failed");
	phx_hex(digest, n, hex);
	if (strcasecmp(hex, sha256))
		return phx_err_set(err, -EBADMSG, "the image's SHA-256 is %s, the manifest says %s",
				   hex, sha256);
	return 0;
}

static int check_sizes(const struct phx_image_sink *s, uint64_t compressed, uint64_t plain,
		       struct phx_err *err)
{
	if (s->compressed_bytes != compressed)
		return phx_err_set(err, -EBADMSG,
				   "the image came with %" PRIu64
				   " bytes, the manifest says %" PRIu64,
				   s->compressed_bytes, compressed);
	if (s->written_bytes != plain)
		return phx_err_set(err, -EBADMSG,
				   "the image unpacks to %" PRIu64
				   " bytes, the manifest says %" PRIu64,
				   s->written_bytes, plain);
	return 0;
}

/* Everything behind it is on the medium before the head makes it a file system. */
static int write_head(struct phx_image_sink *s, struct phx_err *err)
{
	int r = phx_block_flush(&s->block, err);
	if (r < 0)
		return r;
	if (write_run(s, 0, s->head, s->n_head) < 0)
		return report(s, err);
	return phx_block_flush(&s->block, err);
}

int phx_image_sink_finish(struct phx_image_sink *s, const char *sha256, uint64_t compressed_bytes,
			  uint64_t plain_bytes, struct phx_err *err)
{
	flush_fill(s);
	close_queue(s, &s->chunks);
	join_threads(s);
	int r = report(s, err);
	if (r == 0)
		r = check_sizes(s, compressed_bytes, plain_bytes, err);
	if (r == 0)
		r = check_digest(s, sha256, err);
	if (r == 0)
		r = write_head(s, err);
	if (r < 0)
		spoil(s, NULL);
	free_all(s);
	return r;
}

void phx_image_sink_free(struct phx_image_sink *s)
{
	if (!s)
		return;
	fail(s, -ECANCELED, "given up");
	join_threads(s);
	free_all(s);
}
