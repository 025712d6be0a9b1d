/* Range and If-None-Match of a request for a file. The first byte chooses its size, the first line
 * is the range, the second the list of tags. What is sent lies within the file.
 * Parsers: lib/http/range.c */
#include "fuzz/fuzz.h"
#include "http/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const uint64_t sizes[] = {0, 1, 100, 4096, 5000000000, INT64_MAX};
	if (!n)
		return 0;
	char *text = fuzz_text(data + 1, n - 1), *tags = fuzz_line(text);
	uint64_t size = sizes[data[0] % PHX_ARRAY_SIZE(sizes)], from = 0, part = 0;
	enum phx_http_range kind = phx_http_range_parse(text, size, &from, &part);
	if (kind == PHX_HTTP_RANGE_PART)
		fuzz_never(!part || from >= size || part > size - from);
	else
		fuzz_never(from || part);
	bool listed = phx_http_etag_listed(tags, "\"0f3a\"");
	fuzz_never(listed != (!strcmp(tags, "*") || strstr(tags, "\"0f3a\"")) && listed);
	phx_http_range_parse(NULL, size, &from, &part);
	free(text);
	return 0;
}
