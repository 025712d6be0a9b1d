/* Packs the text of a snapshot, so that it is written quickly: for ten thousand nodes it has 28 MB,
 * most of it repetitive, and writing it keeps everybody waiting. Small texts are not packed. */
#include <errno.h>
#include <string.h>
#include <zstd.h>

#include "store/internal.h"

enum { LEVEL = 1, SMALL = 1 << 20 };
#define TEXT_MAX (4ull << 30)

int phx_store_pack(const char *text, void **ret, size_t *ret_n)
{
	size_t n = strlen(text), room = ZSTD_compressBound(n);
	*ret = NULL;
	*ret_n = 0;
	if (n < SMALL)
		return 0;
	void *packed = malloc(room);
	size_t n_packed = packed ? ZSTD_compress(packed, room, text, n, LEVEL) : 0;
	if (!packed || ZSTD_isError(n_packed)) {
		free(packed);
		return -ENOMEM;
	}
	*ret = packed;
	*ret_n = n_packed;
	return 0;
}

/* NULL: the data is invalid, or out of memory. */
static char *unpack(const void *data, size_t n)
{
	unsigned long long size = ZSTD_getFrameContentSize(data, n);
	bool told = size != ZSTD_CONTENTSIZE_ERROR && size != ZSTD_CONTENTSIZE_UNKNOWN;
	char *text = told && size < TEXT_MAX ? malloc(size + 1) : NULL;
	if (text && ZSTD_decompress(text, size, data, n) != size) {
		free(text);
		return NULL;
	}
	if (text)
		text[size] = '\0';
	return text;
}

int phx_store_unpack(sqlite3_stmt *st, int at, char **ret_text, struct phx_err *err)
{
	if (sqlite3_column_type(st, at) == SQLITE_BLOB) {
		const void *data = sqlite3_column_blob(st, at);
		*ret_text = unpack(data, (size_t)sqlite3_column_bytes(st, at));
		return *ret_text ? 0 : phx_err_set(err, -EBADMSG, "it cannot be unpacked");
	}
	const char *text = (const char *)sqlite3_column_text(st, at);
	*ret_text = text ? strdup(text) : NULL;
	return *ret_text ? 0 : -ENOMEM;
}
