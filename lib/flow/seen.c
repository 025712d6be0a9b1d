/* Files that have fired: see seen.h. Pure. */
#include "flow/seen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mix.h"

enum { DIGITS = 16, ROW = 2 * DIGITS, ROWS_OF_PIECE = 1024, LEAST = 64 };

PHX_RECORD_TABLE(phx_seen_image, PHX_SEEN_IMAGE_FIELDS);

struct phx_seen *phx_seen_new(void)
{
	return calloc(1, sizeof(struct phx_seen));
}

void phx_seen_free(struct phx_seen *s)
{
	if (s)
		free(s->files);
	free(s);
}

uint64_t phx_seen_path(const char *path)
{
	return phx_mix(PHX_MIX_NONE, path, strlen(path));
}

void phx_seen_format(uint64_t path, char ret[PHX_SEEN_KEY])
{
	snprintf(ret, PHX_SEEN_KEY, "%016llx", (unsigned long long)path);
}

/* The value of the first sixteen digits; the others do not count. */
static int digits_of(const char *text, uint64_t *ret)
{
	uint64_t value = 0;
	for (int i = 0; i < DIGITS; i++) {
		static const char digits[] = "0123456789abcdef";
		const char *at = text[i] ? strchr(digits, text[i]) : NULL;
		if (!at)
			return -EINVAL;
		value = value << 4 | (uint64_t)(at - digits);
	}
	*ret = value;
	return 0;
}

int phx_seen_parse(const char *text, uint64_t *ret)
{
	int r = digits_of(text, ret);
	return r == 0 && text[DIGITS] ? -EINVAL : r;
}

/* Index of the path, or where it would be inserted. */
static uint32_t place_of(const struct phx_seen *s, uint64_t path)
{
	uint32_t low = 0, high = s->n;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (s->files[middle].path < path)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_at(const struct phx_seen *s, uint32_t at, uint64_t path)
{
	return at < s->n && s->files[at].path == path;
}

bool phx_seen_has(const struct phx_seen *s, uint64_t path, const char *digest)
{
	uint64_t is;
	uint32_t at = s ? place_of(s, path) : 0;
	return s && is_at(s, at, path) && digits_of(digest, &is) == 0 && s->files[at].digest == is;
}

static int grow(struct phx_seen *s)
{
	uint32_t cap = s->cap ? 2 * s->cap : LEAST;
	struct phx_seen_file *files = realloc(s->files, cap * sizeof(*files));
	if (!files)
		return -ENOMEM;
	s->files = files;
	s->cap = cap;
	return 0;
}

int phx_seen_put(struct phx_seen *s, uint64_t path, const char *digest)
{
	uint64_t is;
	uint32_t at = place_of(s, path);
	if (digits_of(digest, &is) < 0)
		return -EINVAL;
	if (is_at(s, at, path)) {
		bool news = s->files[at].digest != is;
		s->files[at].digest = is;
		return news;
	}
	if (s->n >= PHX_SEEN_MAX)
		return -ENOSPC;
	if (s->n == s->cap && grow(s) < 0)
		return -ENOMEM;
	memmove(s->files + at + 1, s->files + at, (s->n - at) * sizeof(*s->files));
	s->files[at] = (struct phx_seen_file){path, is};
	s->n++;
	return 1;
}

bool phx_seen_drop(struct phx_seen *s, uint64_t path)
{
	uint32_t at = place_of(s, path);
	if (!is_at(s, at, path))
		return false;
	s->n--;
	memmove(s->files + at, s->files + at + 1, (s->n - at) * sizeof(*s->files));
	return true;
}

/* ---- its image ---- */

static int save(const void *live, void *ret_image)
{
	const struct phx_seen *s = live;
	struct phx_seen_image image = {.n = s->n};
	int r = 0;
	for (uint32_t i = 0; r == 0 && i < s->n; i += ROWS_OF_PIECE) {
		PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
		for (uint32_t k = i; k < s->n && k < i + ROWS_OF_PIECE; k++)
			phx_buf_addf(&b, "%016llx%016llx", (unsigned long long)s->files[k].path,
				     (unsigned long long)s->files[k].digest);
		phx_buf_add(&b, "", 1);
		r = b.failed ? -ENOMEM : phx_text_push(&image.files, b.data);
	}
	if (r < 0)
		phx_record_fini(&phx_seen_image_record, &image);
	*(struct phx_seen_image *)ret_image = image;
	return r;
}

static int read_piece(struct phx_seen *s, const char *text)
{
	size_t n = strlen(text);
	if (n % ROW)
		return -EINVAL;
	for (size_t at = 0; at < n; at += ROW) {
		uint64_t path;
		int r = digits_of(text + at, &path);
		/* they are sorted by path, so each must be appended */
		r = r ? r : phx_seen_put(s, path, text + at + DIGITS);
		if (r != 1)
			return r < 0 ? r : -EINVAL;
	}
	return 0;
}

static int restore(const void *image, void **ret_live)
{
	const struct phx_seen_image *from = image;
	struct phx_seen *s = phx_seen_new();
	int r = s ? 0 : -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < from->files.n; i++)
		r = read_piece(s, phx_text_at(&from->files, i));
	if (r == 0 && s->n != from->n)
		r = -EINVAL;
	if (r < 0)
		phx_seen_free(s);
	else
		*ret_live = s;
	return r;
}

static void release(void *live)
{
	phx_seen_free(live);
}

const struct phx_live phx_seen_live = {&phx_seen_image_record, save, restore, release};
